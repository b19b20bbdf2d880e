"""Results as strict JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite


def strict(value: object) -> object:
    """A summary as strict JSON has it: NumPy scalars as numbers, NaN and infinities as None."""
    if isinstance(value, Mapping):
        return {str(key): strict(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [strict(item) for item in value]
    if hasattr(value, "tolist"):  # NumPy scalars and arrays
        return strict(value.tolist())
    return None if isinstance(value, float) and not isfinite(value) else value


def as_json_text(value: object) -> str:
    """One JSON object as ASCII text without control characters, fit for any output encoding and for a terminal."""
    return json.dumps(strict(value), allow_nan=False, indent=2).replace("\x7f", r"\u007f")
