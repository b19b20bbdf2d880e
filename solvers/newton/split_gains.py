"""Values and derivatives of the internal constraints as functions of the masses.

With the masses ``A = incidence @ m + const`` of the blocks, constraint k is

    c_k = sum_b factor[k, b] sum_x phi(A[b, x], w_b) + constant_k >= 0,    E_U - E_T times the node's individuals.

Its gradient is ``incidence' (factor_k phi')``; the Hessian of ``sum_k a_k c_k`` in the masses is ``incidence' H
incidence``, with H diagonal but for blocks whose size w is itself a sum of masses.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from maxent.constraints.impurity_numpy import PHI
from maxent.models.arrays import INVERTIBLE, FloatArray, IntArray, ranges
from maxent.solvers.newton.block_form import Blocks, fast


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """The blocks' masses ``a`` (n_blocks, n_classes), their sizes ``w`` alike, and the constraints' values."""

    a: FloatArray
    w: FloatArray
    value: FloatArray  # (n_constraints,), individuals


@dataclass(frozen=True, slots=True, eq=False)
class Slopes:
    """Derivatives of each block's ``sum_x phi`` by its masses and, where sizes are open, by its size."""

    by_mass: FloatArray  # (n_blocks, n_classes)
    by_size: FloatArray | None = None  # (n_blocks,)


@dataclass(frozen=True, slots=True, eq=False)
class _Spread:
    """Constraints and the groups that they look at, a pair each; ``of_factors`` adds up the factors of each pair."""

    row: IntArray
    group: IntArray
    of_factors: Any  # (n_pairs, number of factors), 0/1


class Comparisons:
    """The internal constraints of a program, evaluated together."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks
        self.incidence, self.transposed = fast(blocks.incidence), fast(blocks.transposed)
        self.factor, self.factor_transposed = fast(blocks.factor), fast(blocks.factor_transposed)
        self.all_seen = bool(blocks.seen.all())
        self.any_open = bool(blocks.size_rows.nnz)
        self.closed = self._sizes(blocks.size)

    def __len__(self) -> int:
        return len(self.blocks.constant)

    def at(self, m: FloatArray) -> Sums:
        """The sums that the constraints look at, and their values, at masses of shape (n_groups, n_classes)."""
        blocks = self.blocks
        a = np.maximum(self.incidence @ m + blocks.const, INVERTIBLE)
        w = self._sizes(blocks.size + blocks.size_rows @ m.ravel()) if self.any_open else self.closed
        value = self._visible(self._phi("value", a, w)).sum(axis=1)
        return Sums(a, w, self.factor @ value + blocks.constant)

    def slopes(self, sums: Sums) -> Slopes:
        """Derivatives of each block's ``sum_x phi``."""
        by_mass = self._visible(self._phi("d_a", sums.a, sums.w))
        if not self.any_open:
            return Slopes(by_mass)
        return Slopes(by_mass, self._visible(self._phi("d_w", sums.a, sums.w)).sum(axis=1))

    def weighted(self, a: FloatArray, slopes: Slopes) -> FloatArray:
        """The gradient of ``sum_k a_k c_k``, shape (n_groups, n_classes)."""
        weight = self.factor_transposed @ a
        gradient: FloatArray = self.transposed @ (weight[:, None] * slopes.by_mass)
        if slopes.by_size is not None:
            gradient = gradient + (self.blocks.size_transposed @ (weight * slopes.by_size)).reshape(gradient.shape)
        return gradient

    def curvature(self, a: FloatArray, sums: Sums) -> Curvature:
        """The Hessian of ``sum_k a_k c_k`` in the masses, as an operator."""
        weight = (self.factor_transposed @ a)[:, None]
        straight = self._visible(weight * self._phi("d_aa", sums.a, sums.w))
        if not self.any_open:
            return Curvature(self, straight)
        across = self._visible(weight * self._phi("d_aw", sums.a, sums.w))
        down = self._visible(weight * self._phi("d_ww", sums.a, sums.w)).sum(axis=1)
        return Curvature(self, straight, across, down)

    def gradients(self, rows: IntArray, slopes: Slopes) -> FloatArray:
        """Gradients of some constraints, shape (n_rows, n_groups, n_classes)."""
        place = np.full(len(self), -1)
        place[rows] = np.arange(len(rows))
        factor, spread = self.blocks.factor, self._spread
        row = place[spread.row]
        chosen = row >= 0
        each = spread.of_factors @ (factor.data[:, None] * slopes.by_mass[factor.indices])
        out = np.zeros((len(rows), self.blocks.incidence.shape[1], slopes.by_mass.shape[1]))
        out[row[chosen], spread.group[chosen]] = each[chosen]
        if slopes.by_size is not None:
            weight = self.blocks.factor[rows].multiply(slopes.by_size).tocsr()
            out += (weight @ self.blocks.size_rows).toarray().reshape(out.shape)
        return out

    def _sizes(self, size: FloatArray) -> FloatArray:
        """The size of each block beside each of its masses, shape (n_blocks, n_classes)."""
        return np.repeat(np.maximum(size, INVERTIBLE)[:, None], self.blocks.const.shape[1], axis=1)

    @cached_property
    def _spread(self) -> _Spread:
        incidence, factor = self.blocks.incidence, self.blocks.factor
        begin, end = incidence.indptr[factor.indices], incidence.indptr[factor.indices + 1]
        of_factor = np.repeat(np.arange(factor.nnz), end - begin)
        row = np.repeat(np.arange(len(self)), np.diff(factor.indptr))[of_factor]
        n_groups = incidence.shape[1]
        pairs, pair = np.unique(row * n_groups + incidence.indices[ranges(begin, end)], return_inverse=True)
        matrix = sparse.csr_matrix((np.ones(len(pair)), (pair, of_factor)), shape=(len(pairs), factor.nnz))
        return _Spread(*np.divmod(pairs, max(n_groups, 1)), fast(matrix))

    def _visible(self, values: FloatArray) -> FloatArray:
        return values if self.all_seen else np.where(self.blocks.seen, values, 0.0)

    def _phi(self, which: str, a: FloatArray, w: FloatArray) -> FloatArray:
        if len(self.blocks.phis) == 1:
            found: FloatArray = getattr(PHI[self.blocks.phis[0][0]], which)(a, w)
            return found
        out = np.empty_like(a)
        for name, part in self.blocks.phis:
            out[part] = getattr(PHI[name], which)(a[part], w[part])
        return out


@dataclass(frozen=True, slots=True, eq=False)
class Curvature:
    """``incidence' H incidence``, H diagonal (``straight``); where sizes are open, masses and sizes mix."""

    of: Comparisons
    straight: FloatArray  # (n_blocks, n_classes)
    across: FloatArray | None = None  # (n_blocks, n_classes): mass against size
    down: FloatArray | None = None  # (n_blocks,): size against size

    def __call__(self, change: FloatArray) -> FloatArray:
        """The product with a change of the masses, shape (n_groups, n_classes)."""
        moved = self.of.incidence @ change
        turned = self.straight * moved
        if self.across is None or self.down is None:
            product: FloatArray = self.of.transposed @ turned
            return product
        blocks = self.of.blocks
        grown = blocks.size_rows @ change.ravel()
        turned += self.across * grown[:, None]
        by_size = (self.across * moved).sum(axis=1) + self.down * grown
        product = self.of.transposed @ turned + (blocks.size_transposed @ by_size).reshape(change.shape)
        return product
