"""Arrays by what they hold, and the numbers that stand for 0 where it will not do."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

TINY = 1e-300
"""Stands for 0 inside logarithms, and in divisors of what vanishes with them."""

INVERTIBLE = 1e-100
"""Stands for 0 where its reciprocal is multiplied, or taken to the third power: far enough from underflow."""
