"""Centred directions, and gradients of rows, for all items at once.

The gradient of a row is dense over the groups of its item: a *pair* of a row and a group has an entry for each class.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from maxent.models.arrays import FloatArray, IntArray, ranges, run_ends
from maxent.solvers.newton.stacked.operators import Operators

# Entries up to which gradients of rows are one dense matrix.
DENSE = 30_000


class Centring:
    """The projection of directions onto those that keep totals and equations, at some masses."""

    def __init__(self, stack: Operators, m: FloatArray) -> None:
        self.m, self.of = m, stack.manifold
        self.per = 1.0 / self.of.total[:, 0]
        self.equations = self.of.separate
        if self.equations is not None:
            n_rows = len(stack.form.equal) + 1
            self.gradient = self._totals(self.equations.gradient.copy())
            self.weight = m * self.gradient
            length = np.bincount(self.equations.row, np.einsum("gx,gx->g", self.weight, self.gradient), n_rows)
            self.inverse = np.divide(1.0, length, out=np.zeros(n_rows), where=length > 1e-12)

    def __call__(self, b: FloatArray) -> FloatArray:
        """A direction centred; it is changed."""
        u = self._totals(b)
        if self.equations is not None:
            row = self.equations.row
            sums = np.bincount(row, np.einsum("gx,gx->g", self.weight, u), len(self.inverse))
            u -= (sums * self.inverse)[row][:, None] * self.gradient
        return u

    def _totals(self, b: FloatArray) -> FloatArray:
        mean = np.einsum("gx,gx->g", self.m, b)
        if not self.of.single:
            mean = np.add.reduceat(mean, self.of.form.start)[self.of.form.owner]
        b -= (mean * self.per)[:, None]
        return b


class Gradients:
    """Gradients of rows, each dense over the groups of its item: a *pair* of row and group has an entry per class."""

    def __init__(self, stack: Operators, active: IntArray) -> None:
        layout, form = stack.layout, stack.form
        n, n_classes = stack.n_rows, form.free.shape[1]
        rows = np.concatenate([np.arange(n), n + active])
        self.rows = rows[np.argsort(stack.of_row[rows], kind="stable")]
        self.item = stack.of_row[self.rows]
        begin, end = layout.groups[self.item], layout.groups[self.item + 1]
        ends = run_ends(end - begin)
        self.group = ranges(begin, end)
        self.row = np.repeat(np.arange(len(self.rows)), end - begin)
        columns = (self.group[:, None] * n_classes + np.arange(n_classes)).ravel()
        shape = (len(self.rows), form.free.size)
        self.by_row: Any
        self.weighted: Any
        self.transposed: Any
        self.dense = shape[0] * shape[1] <= DENSE
        if self.dense:
            self.at = np.repeat(np.arange(shape[0]), (end - begin) * n_classes), columns
            self.by_row, self.weighted = np.zeros(shape), np.zeros(shape)
            self.transposed = self.by_row.T
        else:
            self.by_row = sparse.csr_matrix((np.empty(len(columns)), columns, ends * n_classes), shape=shape)
            self.weighted = sparse.csr_matrix((np.empty(len(columns)), columns, ends * n_classes), shape=shape)
            self.transposed = self.by_row.T
        # The places of an internal row's factors, and of a linear row's coefficients.
        place = np.full(len(stack.people), -1)
        place[self.rows] = ends[:-1] - begin  # of a group, when its number is added
        incidence, factor = form.blocks.incidence, form.blocks.factor
        first, last = incidence.indptr[factor.indices], incidence.indptr[factor.indices + 1]
        of_factor = np.repeat(np.arange(factor.nnz), last - first)
        of_row = np.repeat(np.arange(n), np.diff(factor.indptr))[of_factor]
        pair = place[of_row] + incidence.indices[ranges(first.astype(np.int64), last.astype(np.int64))]
        self.of_factors = sparse.csr_matrix(
            (factor.data[of_factor], (pair, factor.indices[of_factor])), shape=(len(self.group), factor.shape[1])
        )
        chosen = form.least.matrix[active].tocoo()
        pair = place[n + active[chosen.row]] + chosen.col // n_classes
        self.still_at, self.still = pair * n_classes + chosen.col % n_classes, chosen.data
        # Rows of one item, by their number in it.
        self.number = np.arange(len(self.rows)) - np.searchsorted(self.item, self.item)
        self.most = int(self.number.max()) + 1
        of_item = np.bincount(self.item, minlength=stack.n_items)
        one = np.repeat(np.arange(len(self.rows)), of_item[self.item])
        first_row = np.arange(len(self.rows)) - self.number
        other = ranges(first_row, first_row + of_item[self.item])
        keep = other <= one
        self.n_items, self.one, self.other = stack.n_items, one[keep], other[keep]
        self.gram_one = ranges(ends[self.one], ends[self.one + 1])
        self.gram_other = ranges(ends[self.other], ends[self.other + 1])
        self.gram_begin = run_ends(ends[self.one + 1] - ends[self.one])[:-1]
        separate = stack.manifold.separate
        self.key: IntArray | None = None
        if separate is not None:
            pairs = self.row * (len(form.equal) + 1) + separate.row[self.group]
            found, self.key = np.unique(pairs, return_inverse=True)
            self.equation = found % (len(form.equal) + 1)

    def put(self, c: FloatArray, weighted: FloatArray) -> None:
        """Lay gradients, and these times the masses, out as matrices, `by_row` transposed as well."""
        if self.dense:
            self.by_row[self.at] = c.ravel()
            self.weighted[self.at] = weighted.ravel()
        else:
            self.by_row.data = self.transposed.data = c.ravel()
            self.weighted.data = weighted.ravel()

    def gram(self, c: FloatArray, weighted: FloatArray) -> FloatArray:
        """Inner products of gradients of the same item, shape (n_items, most, most), 0 where there are fewer rows."""
        products = np.einsum("px,px->p", weighted[self.gram_one], c[self.gram_other])
        sums = np.add.reduceat(products, self.gram_begin)
        gram = np.zeros((self.n_items, self.most, self.most))
        item, one, other = self.item[self.one], self.number[self.one], self.number[self.other]
        gram[item, one, other] = gram[item, other, one] = sums
        return gram

    def centred(self, centre: Centring, by_mass: FloatArray) -> FloatArray:
        """The gradients, centred, shape (n_pairs, n_classes); ``by_mass`` are the blocks' slopes."""
        u: FloatArray = self.of_factors @ by_mass
        u.ravel()[self.still_at] += self.still
        m = centre.m[self.group]
        mean = np.einsum("px,px->p", m, u)
        u -= (mean * centre.per[self.group])[:, None]
        if self.key is not None:
            along = np.bincount(self.key, np.einsum("px,px->p", centre.weight[self.group], u), len(self.equation))
            u -= (along * centre.inverse[self.equation])[self.key][:, None] * centre.gradient[self.group]
        return u
