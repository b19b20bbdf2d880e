r"""Rigorous bounds of linear programs by weak duality: valid for any multipliers, so no solver is trusted.

With rows ``l <= A z <= u`` and a box ``a <= z <= b``, every y and every feasible z have

    c'z = y'A z + (c - A'y)'z <= sum_r max(y_r l_r, y_r u_r) + sum_j max(d_j a_j, d_j b_j),    d = c - A'y.

The right side is evaluated here in floating point and rounded up by more than its error (Neumaier & Shcherbina, "Safe
bounds in linear and mixed-integer linear programming", Math. Program. 99, 2004; Higham, "Accuracy and stability of
numerical algorithms", 2002, section 3.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from maxent.models.arrays import FloatArray

EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Feasible:
    """Points ``z``, shape (n,), with ``lower <= matrix z <= upper`` in the box from ``least`` to ``most``, finite."""

    matrix: sparse.csr_matrix
    lower: FloatArray
    upper: FloatArray
    least: FloatArray
    most: FloatArray

    @cached_property
    def _transposed(self) -> sparse.csr_matrix:
        return sparse.csr_matrix(self.matrix.T)

    @cached_property
    def _sizes(self) -> tuple[sparse.csr_matrix, FloatArray, FloatArray]:
        """Absolute coefficients, transposed; terms of each column; largest size of each variable."""
        transposed = self._transposed
        return abs(transposed), np.diff(transposed.indptr).astype(float), np.maximum(abs(self.least), abs(self.most))

    def priced(self, y: FloatArray) -> Priced:
        """Bound from prices of the rows, shape (n_rows,); a price for a missing side becomes 0."""
        y = np.where(np.where(y > 0, np.isinf(self.upper), np.isinf(self.lower)), 0.0, y)
        side = np.where(y > 0, self.upper, self.lower)
        sides = np.where(y == 0, 0.0, y * np.where(np.isfinite(side), side, 0.0))
        absolute, terms, size = self._sizes
        d = -(self._transposed @ y)
        reach = absolute @ np.abs(y)
        box = np.maximum(d * self.least, d * self.most)
        error = EPSILON * (len(y) + 2) * float(np.abs(sides).sum())
        error += EPSILON * float(((terms + 4) * reach * size).sum())
        error += EPSILON * len(d) * float(np.abs(box).sum())
        return Priced(self, d, float(sides.sum() + box.sum()), error)


@dataclass(frozen=True, slots=True, eq=False)
class Priced:
    """Prices of the rows: ``-A'y``, and the bound that they are of 0 by themselves, with its error."""

    feasible: Feasible
    d: FloatArray
    value: float
    error: float

    @property
    def contradiction(self) -> bool:
        """Whether the prices prove that there is no feasible point: 0 would be less than 0."""
        return self.value < -2 * self.error - 1e-9 * (1 + abs(self.error))

    def of(self, aims: sparse.csr_matrix) -> FloatArray:
        """Proved upper bounds of linear functions, rows of a matrix of shape (n_aims, n); shape (n_aims,)."""
        f, j, c = self.feasible, aims.indices, aims.data
        least, most, d = f.least[j], f.most[j], self.d[j]
        before = np.maximum(d * least, d * most)
        after = np.maximum((d + c) * least, (d + c) * most)
        row = np.repeat(np.arange(aims.shape[0]), np.diff(aims.indptr))
        change = np.bincount(row, after - before, aims.shape[0])
        size = np.maximum(np.abs(least), np.abs(most)) * (np.abs(d) + np.abs(c))
        error = 8 * EPSILON * np.bincount(row, size, aims.shape[0]) * (np.diff(aims.indptr) + 1)
        result: FloatArray = self.value + self.error + change + error + EPSILON * (abs(self.value) + np.abs(change))
        return result
