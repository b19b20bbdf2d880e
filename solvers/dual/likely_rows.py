r"""The linear entropy problem with the likelihood of draws, and its dual.

To the problem of `maxent.solvers.dual.linear_entropy` come rows that were drawn: ``d_r ln(a_r + s_r)`` is added to what
is maximised, with ``a = C m``, within ``l_r <= a_r <= u_r``. Such a row has a multiplier of either sign, and adds

    phi_r(y_r) = max over l_r <= a <= u_r of  d_r ln(a + s_r) - y_r a

to the dual function, in place of what a row without draws adds, the same with d = 0. The maximum is where
``a = d_r / y_r - s_r``, or at an end. ``D(y)`` bounds the maximum whatever y is, by weak duality.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from maxent.models.arrays import TINY, BoolArray, FloatArray
from maxent.solvers.dual.linear_entropy import LinearEntropy


@dataclass(frozen=True, eq=False)
class LikelyEntropy:
    """Maximise the entropy and ``sum draws ln(C m + shift)``, drawn rows within ``low <= C m <= high``.

    ``linear`` has all rows; both sides of drawn ones are 0 in it. Arrays have the shape (n_rows,), and are only looked
    at for rows with draws, where ``low + shift`` is not negative and ``high`` finite. ``shares`` are
    the draws as shares of those of all classes of the same leaf.
    """

    linear: LinearEntropy
    draws: FloatArray
    shift: FloatArray
    low: FloatArray
    high: FloatArray
    shares: FloatArray

    @cached_property
    def drawn(self) -> BoolArray:
        """Which rows were drawn."""
        return self.draws > 0

    @cached_property
    def transposed(self) -> sparse.csr_matrix:
        """The matrix of all rows, transposed."""
        return sparse.csr_matrix(self.linear.matrix.T)

    @cached_property
    def ends(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of all rows, infinite where there are none."""
        low = np.where(self.drawn, np.where(self.low + self.shift > 0, self.low, -np.inf), self.linear.lower)
        return low, np.where(self.drawn, self.high, self.linear.upper)

    def allowed(self, y: FloatArray) -> FloatArray:
        """Multipliers with 0 for those that price a side that is not there, or a row that says nothing."""
        missing = np.where(y > 0, np.isinf(self.linear.lower), np.isinf(self.linear.upper))
        return np.where((missing & ~self.drawn) | self.linear.empty, 0.0, y)

    def sums(self, y: FloatArray) -> FloatArray:
        """The sum at which each drawn row's maximum is, shape (n_rows,), individuals; 0 for other rows."""
        positive = np.maximum(y, TINY)
        best = np.where(y > 0, self.draws / positive, np.inf) - self.shift
        return np.where(self.drawn, np.clip(best, self.low, self.high), 0.0)

    def value(self, y: FloatArray) -> float:
        """``D(y)``, nats: an upper bound of the maximum for every y of shape (n_rows,), up to ``rounding(y)``."""
        return self.linear.value(y) + float(self._phi(y).sum())

    def rounding(self, y: FloatArray) -> float:
        """How far ``value(y)`` can be off because of floating-point arithmetic, nats."""
        return self.linear.rounding(y) + float(8 * np.finfo(float).eps * np.abs(self._phi(y)).sum())

    def objective(self, masses: FloatArray) -> float:
        """The objective, which is maximised, nats."""
        sums = (self.linear.matrix @ masses + self.shift)[self.drawn]
        return self.linear.entropy(masses) + float(self.draws[self.drawn] @ np.log(np.maximum(sums, TINY)))

    def _phi(self, y: FloatArray) -> FloatArray:
        sums, drawn = self.sums(y), self.drawn
        logarithm = np.log(np.maximum(sums + self.shift, TINY))
        return np.where(drawn, self.draws * logarithm - y * sums, 0.0)
