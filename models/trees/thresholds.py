"""Thresholds as tools compare with them, as the largest double that a branch ``le`` takes: routing stays the tool's.

A release tests ``value <= le`` in double precision. Tools test ``<`` as well, and many round the value to single
precision first; each such test holds exactly up to some double.
"""

from __future__ import annotations

from math import inf, nextafter

import numpy as np

_LARGEST = float(np.finfo(np.float32).max)
_BEYOND = _LARGEST + 2.0**103  # the smallest number that is rounded to infinity


def less_than(threshold: float) -> float:
    """The largest double that is less than a threshold: ``x < threshold`` is ``x <= less_than(threshold)``."""
    return nextafter(threshold, -inf)


def single_at_most(threshold: float) -> float:
    """The largest double that, rounded to single precision, is at most a threshold."""
    return _up_to(_single_below(threshold, strictly=False))


def single_less_than(threshold: float) -> float:
    """The largest double that, rounded to single precision, is less than a threshold."""
    return _up_to(_single_below(threshold, strictly=True))


def _single_below(threshold: float, *, strictly: bool) -> float:
    """The largest number of single precision that is at most, or less than, a threshold; perhaps infinite."""
    near = np.float32(np.copysign(inf, threshold)) if abs(threshold) >= _BEYOND else np.float32(threshold)
    found = float(near)
    if found > threshold or (strictly and found == threshold):
        found = float(np.nextafter(near, np.float32(-inf)))
    return found


def _up_to(single: float) -> float:
    """The largest double that is rounded to a number of single precision, of two as near to the even one."""
    if single == inf:
        return inf
    if single == -inf:
        return -_BEYOND
    near = np.float32(single)
    if single == _LARGEST:
        return nextafter(_BEYOND, -inf)
    middle = single + (float(np.nextafter(near, np.float32(inf))) - single) / 2  # exact
    even = int(near.view(np.uint32)) % 2 == 0
    return middle if even else nextafter(middle, -inf)
