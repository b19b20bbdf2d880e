"""Input of `maxent.solvers.gap.interior_point`: entropy, rows of curves, and their allowed curvature."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from maxent.constraints.program.impurity_numpy import PHI
from maxent.models.arrays import INVERTIBLE, FloatArray, IntArray
from maxent.solvers.newton.block_form import fast


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """Terms ``coef * phi(x[var] - shift, size)`` of rows, all of one phi; arrays of one length."""

    phi: str
    row: IntArray
    var: IntArray
    coef: FloatArray
    size: FloatArray
    shift: FloatArray

    def a(self, x: FloatArray) -> FloatArray:
        """The first argument of phi, kept off 0."""
        return np.maximum(x[self.var] - self.shift, INVERTIBLE)


@dataclass(frozen=True, eq=False)
class Bent:
    """Matrices ``sum_c weight[r, c] v_c v_c'`` of rows r, from ``vectors`` v, shape (n_vectors, a)."""

    vectors: FloatArray
    weight: sparse.csr_matrix

    def __len__(self) -> int:
        return int(self.weight.shape[0])

    @cached_property
    def _weights(self) -> tuple[Any, Any]:
        """The weights and their transpose, in the format with the fastest products."""
        return fast(self.weight), fast(self.weight.T.tocsr())

    def total(self, multipliers: FloatArray) -> FloatArray:
        """The sum of the matrices times multipliers, shape (a, a)."""
        found: FloatArray = (self.vectors.T * (self._weights[1] @ multipliers)) @ self.vectors
        return found

    def products(self, matrix: FloatArray) -> FloatArray:
        """The inner products of the matrices with another one, shape (n_rows,)."""
        found: FloatArray = self._weights[0] @ ((self.vectors @ matrix) * self.vectors).sum(axis=1)
        return found

    def between(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """``trace(A_r left A_s right)`` of any two of the matrices A, shape (n_rows, n_rows)."""
        one, other = (self.vectors @ matrix @ self.vectors.T for matrix in (left, right))
        weight = self._weights[0]
        found: FloatArray = weight @ (weight @ (one * other)).T
        return found


@dataclass(frozen=True, eq=False)
class GapProblem:
    """See the text of `maxent.solvers.gap.interior_point`.

    ``weight``, shape (n,), is 0 for what is no mass, which come last; ``lower`` and ``upper`` may be infinite.
    ``curves`` count rows as ``rows``, shape (n_rows, n), does. ``bent`` has matrices of the first rows. The masses of
    each ``owner``, shape (n_masses,), add up to its ``total``.
    """

    weight: FloatArray
    cost: FloatArray
    lower: FloatArray
    upper: FloatArray
    equal: sparse.csr_matrix
    value: FloatArray
    rows: sparse.csr_matrix
    const: FloatArray
    curves: tuple[Curves, ...]
    bent: Bent
    owner: IntArray
    total: FloatArray

    def objective(self, x: FloatArray) -> float:
        """The objective, which is minimised, nats."""
        masses = self.weight > 0
        m = np.maximum(x[masses], INVERTIBLE)
        return float((m * np.log(m / self.weight[masses])).sum() + self.cost @ x)

    def left(self, x: FloatArray) -> FloatArray:
        """The rows' left sides."""
        out: FloatArray = self._rows[0] @ x + self.const
        for terms in self.curves:
            a = terms.a(x)
            out += np.bincount(terms.row, terms.coef * PHI[terms.phi].value(a, terms.size), len(out))
        return out

    def missed(self, x: FloatArray) -> FloatArray:
        """By how much the equations are missed."""
        found: FloatArray = self._equal[0] @ x - self.value
        return found

    def pulled(self, y: FloatArray) -> FloatArray:
        """Gradient of the equations times their multipliers, shape (n,)."""
        found: FloatArray = self._equal[1] @ y
        return found

    def paid(self, multipliers: FloatArray) -> FloatArray:
        """Gradient of the rows times their multipliers, shape (n,)."""
        found: FloatArray = self._rows[1] @ multipliers
        return found

    @cached_property
    def squared(self) -> Any:
        """The squares of the equations' coefficients."""
        return fast(self.equal.power(2))

    @cached_property
    def _equal(self) -> tuple[Any, Any]:
        return fast(self.equal), fast(self.equal.T.tocsr())

    @cached_property
    def _rows(self) -> tuple[Any, Any]:
        return fast(self.rows), fast(self.rows.T.tocsr())

    @cached_property
    def slope_places(self) -> tuple[IntArray, IntArray]:
        """Rows and columns of what `slope_values` are; some places come twice."""
        rows = self.rows.tocoo()
        parts = [(rows.row, rows.col), *((terms.row, terms.var) for terms in self.curves)]
        row, column = (np.concatenate(some).astype(np.int64) for some in zip(*parts, strict=True))
        return row, column

    def slope_values(self, x: FloatArray) -> FloatArray:
        """The entries of the rows' gradients, to be added up."""
        parts = [self.rows.data]
        for terms in self.curves:
            parts.append(terms.coef * PHI[terms.phi].d_a(terms.a(x), terms.size))
        return np.concatenate(parts)

    def slopes(self, x: FloatArray) -> sparse.csr_matrix:
        """The rows' gradients."""
        return sparse.csr_matrix((self.slope_values(x), self.slope_places), shape=self.rows.shape)

    def gradient(self, x: FloatArray) -> FloatArray:
        """The objective's gradient."""
        masses = self.weight > 0
        out = self.cost.copy()
        out[masses] += np.log(np.maximum(x[masses], INVERTIBLE) / self.weight[masses]) + 1.0
        return out

    def lowered(self, x: FloatArray, gradient: FloatArray) -> float:
        """Frank-Wolfe gap: the most by which a convex function can be lower than at x."""
        by_mass, rest = np.split(gradient, [len(self.owner)])
        m, others = np.split(x, [len(self.owner)])
        least = np.full(len(self.total), np.inf)
        np.minimum.at(least, self.owner, by_mass)
        some = np.isfinite(least)
        return float(m @ by_mass - self.total[some] @ least[some] + np.abs(others * rest).sum())

    def bend_left(self, multipliers: FloatArray) -> FloatArray:
        """``1 - sum lam A``: what is left for rows to bend at some multipliers of them, shape (a, a)."""
        found: FloatArray = np.eye(self.bent.vectors.shape[1]) - self.bent.total(multipliers[: len(self.bent)])
        return found

    def bend(self, x: FloatArray, multipliers: FloatArray) -> FloatArray:
        """The diagonal of the Lagrangian's Hessian."""
        out = np.where(self.weight > 0, 1.0 / np.maximum(x, INVERTIBLE), 0.0)
        for terms in self.curves:
            a = terms.a(x)
            by_aa = multipliers[terms.row] * terms.coef * PHI[terms.phi].d_aa(a, terms.size)
            out -= np.bincount(terms.var, by_aa, len(out))
        return out
