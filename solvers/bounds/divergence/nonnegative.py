"""Nonnegative least squares."""

from __future__ import annotations

import numpy as np

from maxent.models.arrays import TINY, BoolArray, FloatArray

# Times that a variable may be let go, on average, before the search ends where it is.
STEPS = 3


def nonnegative(matrix: FloatArray, value: FloatArray) -> FloatArray:
    """The ``x >= 0`` with the least ``|matrix x - value|``, shape (n,), for a few variables.

    The active-set method of Lawson and Hanson, *Solving Least Squares Problems* (1974), chapter 23. SciPy has it, too,
    in a package that each process takes 0.15 s to load.
    """
    n = matrix.shape[1]
    x, free = np.zeros(n), np.zeros(n, bool)
    small = 10 * max(matrix.shape) * np.finfo(np.float64).eps * float(np.abs(matrix).sum(axis=0).max(initial=0.0))
    for _ in range(STEPS * n):
        pull = np.where(free, -np.inf, matrix.T @ (value - matrix @ x))
        if not n or pull.max() <= small:
            break
        free[int(pull.argmax())] = True
        best = _best(matrix, value, free)
        while (free & (best <= 0)).any():
            out = np.flatnonzero(free & (best <= 0))
            share = x[out] / np.maximum(x[out] - best[out], TINY)
            x += float(share.min()) * (best - x)
            free[out[share.argmin()]] = False
            x = np.where(free, np.maximum(x, 0.0), 0.0)
            best = _best(matrix, value, free)
        x = best
    return x


def _best(matrix: FloatArray, value: FloatArray, free: BoolArray) -> FloatArray:
    """Least squares over the free variables, 0 for the others."""
    found = np.zeros(len(free))
    found[free] = np.linalg.lstsq(matrix[:, free], value, rcond=None)[0]
    return found
