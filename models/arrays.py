"""Arrays by what they hold, runs of them, and the numbers that stand for 0 where it will not do."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

TINY = 1e-300  # stands for 0 inside logarithms, and in divisors of what vanishes with them

# Stands for 0 where its reciprocal is multiplied, or taken to the third power: far enough from underflow
INVERTIBLE = 1e-100


def ranges(start: IntArray, stop: IntArray) -> IntArray:
    """``start[0], ..., stop[0] - 1, start[1], ..., stop[1] - 1, ...``."""
    length = stop - start
    before = np.cumsum(length) - length
    result: IntArray = np.repeat(start - before, length) + np.arange(int(length.sum()))
    return result


def run_ends(length: IntArray) -> IntArray:
    """0 and the cumulative sums of ``length``, shape (n + 1,): where runs of these lengths start and end."""
    return np.concatenate([[0], np.cumsum(length)]).astype(np.int64)
