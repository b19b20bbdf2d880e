"""Figures that are the same but for what another processor does to the last digits of coordinates."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

_NUMBER = re.compile(r"-?\d+\.\d+")


def check_same_drawing(found: Path, expected: Path) -> None:
    """Everything that is no decimal number is the same, and these are within two of the last digit that is written."""
    ours, theirs = (path.read_text(encoding="utf-8") for path in (found, expected))
    assert _NUMBER.sub("#", ours) == _NUMBER.sub("#", theirs)
    numbers = [np.array(_NUMBER.findall(text), np.float64) for text in (ours, theirs)]
    np.testing.assert_allclose(*numbers, rtol=0, atol=0.0201)
