"""Numbers of bytes as people write them: ``500MB``, ``2 GB``, ``1.5GiB``."""

from __future__ import annotations

import re

_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)\s*", re.IGNORECASE)
_LARGEST = 2**53  # the largest number of bytes: more than any machine has, and less than what other programs count with
_UNITS = {"": 1, "b": 1}
_UNITS |= {f"{prefix}b": 1000**i for i, prefix in enumerate("kmgt", 1)}
_UNITS |= {f"{prefix}ib": 1024**i for i, prefix in enumerate("kmgt", 1)}


def parse_size(text: object) -> int | None:
    """Return a number of bytes, given as one or as text with a unit; None for what is neither, or no usable number."""
    if isinstance(text, str):
        match = _SIZE.fullmatch(text)
        unit = _UNITS.get(match[2].lower()) if match else None
        size = float(match[1]) * unit if match and unit else 0.0
        text = round(size) if size <= _LARGEST else None
    return text if isinstance(text, int) and not isinstance(text, bool) and 0 < text <= _LARGEST else None


def size_text(size: float) -> str:
    """Return a number of bytes in the largest unit that leaves at least 1: ``2 GB``, ``1.5 MB``, ``17 bytes``."""
    for power, unit in ((4, "TB"), (3, "GB"), (2, "MB"), (1, "kB")):
        if size >= 1000**power:
            return f"{size / 1000**power:.3g} {unit}"
    return f"{size:.0f} bytes"
