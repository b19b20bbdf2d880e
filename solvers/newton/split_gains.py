"""Values and derivatives of the internal constraints in the masses: phi of blocks, by the statements in SymPy.

With the masses ``A = incidence @ m + const`` of the blocks, constraint k is

    c_k = sum_b factor[k, b] sum_x phi(A[b, x], w_b) + constant_k >= 0,    E_U - E_T times the node's individuals.

Its gradient is ``incidence' (factor_k phi')``; the Hessian of ``sum_k a_k c_k`` in the masses is ``incidence' H
incidence``, with H diagonal but for blocks whose size w is itself a sum of masses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxent.constraints.impurity_numpy import PHI
from maxent.models.arrays import INVERTIBLE, FloatArray, IntArray
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


class Comparisons:
    """The internal constraints of a program, evaluated together."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks
        self.incidence, self.transposed = fast(blocks.incidence), fast(blocks.transposed)
        self.factor, self.factor_transposed = fast(blocks.factor), fast(blocks.factor_transposed)
        self.all_seen = bool(blocks.seen.all())
        self.any_open = bool(blocks.size_rows.nnz)
        self._own: list[tuple[Any, FloatArray, IntArray]] | None = None

    def __len__(self) -> int:
        return len(self.blocks.constant)

    def at(self, m: FloatArray) -> Sums:
        """The sums that the constraints look at, and their values, at masses of shape (n_groups, n_classes)."""
        blocks = self.blocks
        a = np.maximum(self.incidence @ m + blocks.const, INVERTIBLE)
        size = blocks.size
        if self.any_open:
            size = size + blocks.size_rows @ m.ravel()
        w = np.broadcast_to(np.maximum(size, INVERTIBLE)[:, None], a.shape)
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
        if self._own is None:
            factor = self.blocks.factor
            self._own = []
            for k in range(len(self)):
                inside = slice(factor.indptr[k], factor.indptr[k + 1])
                mine = factor.indices[inside]
                self._own.append((fast(self.blocks.transposed[:, mine]), factor.data[inside][:, None], mine))
        out = np.empty((len(rows), self.blocks.incidence.shape[1], slopes.by_mass.shape[1]))
        for i, k in enumerate(rows):
            spread, factor, mine = self._own[k]
            out[i] = spread @ (factor * slopes.by_mass[mine])
        if slopes.by_size is not None:
            weight = self.blocks.factor[rows].multiply(slopes.by_size).tocsr()
            out += (weight @ self.blocks.size_rows).toarray().reshape(out.shape)
        return out

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
