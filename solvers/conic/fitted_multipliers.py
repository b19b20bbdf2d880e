"""Multipliers of rows fitted to a gradient, with the signs of the optimality conditions.

Where rows depend on each other many multipliers fit, and those of least norm may have wrong signs although others have
none: three masses that sum to 3, each at most 1, are all at their bound, and any two bounds seem one too many.
"""

from __future__ import annotations

import numpy as np

from maxent.models.arrays import FloatArray, IntArray

# Share of the largest singular value, and of the largest slope, that counts as 0.
RANK, PULL = 1e-10, 1e-10


def fitted(rows: FloatArray, gradient: FloatArray, sign: IntArray) -> FloatArray:
    """``y``, shape (n_rows,), with the least ``|gradient + rows' y|`` and ``sign * y >= 0``.

    ``sign`` is 0 where either will do: of equations.
    """
    free, held = np.flatnonzero(sign == 0), np.flatnonzero(sign)
    columns = np.column_stack([-gradient, rows[held].T * sign[held]])
    weights = np.linalg.lstsq(rows[free].T, columns, rcond=RANK)[0]
    left = columns - rows[free].T @ weights
    size = _not_negative(left[:, 1:], left[:, 0])
    y = np.zeros(len(rows))
    y[held], y[free] = sign[held] * size, weights[:, 0] - weights[:, 1:] @ size
    return y


def _not_negative(columns: FloatArray, target: FloatArray) -> FloatArray:
    """``x >= 0`` with the least ``|columns x - target|``, by active sets (Lawson & Hanson, 1974, chapter 23)."""
    n = columns.shape[1]
    x, inside = np.zeros(n), np.zeros(n, bool)
    norm = np.sqrt((columns * columns).sum(axis=0))
    enough = PULL * float(np.linalg.norm(target))
    for _ in range(3 * n):
        slope = np.divide(columns.T @ (target - columns @ x), norm, out=np.zeros(n), where=norm > RANK)
        slope[inside] = -np.inf
        if slope.max(initial=-np.inf) <= enough:
            break
        inside[slope.argmax()] = True
        while True:
            new = np.zeros(n)
            new[inside] = np.linalg.lstsq(columns[:, inside], target, rcond=RANK)[0]
            down = inside & (new <= 0)
            if not down.any():
                break
            share = np.divide(x, x - new, out=np.full(n, np.inf), where=down & (x > new))
            step = float(share[down].min())
            x = x + (min(step, 1.0) if np.isfinite(step) else 0.0) * (new - x)
            inside &= ~(down & (share <= step))
            x[~inside] = 0.0
        x = new
    return x
