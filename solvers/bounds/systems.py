"""Newton systems of an interior-point method: symmetric, indefinite, with one sparsity pattern.

Unknowns that meet each other nowhere are eliminated first, by their own pivots; what is left is a third of the system.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from maxent.models.arrays import FloatArray, IntArray, ranges

SPARSELY: dict[str, Any] = {
    "diag_pivot_thresh": 1e-12,
    "relax": 1,
    "panel_size": 5,
    "options": {"SymmetricMode": True},
}
# How systems are factored: with pivots from the diagonal, or, small ones where that is not accurate, with others.
STABLY: dict[str, Any] = {"permc_spec": "COLAMD", "diag_pivot_thresh": 0.1}
# Rows of a system that would take too long to factor stably.
LARGE = 4000
# Steps of iterative refinement, and the share of the right side up to which a system counts as solved.
REFINEMENTS, REFINED = 4, 1e-8
Solve = Callable[[FloatArray], FloatArray | None]


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """Where the entries of systems of ``size`` rows are: entry k of their values is added at ``row[k], column[k]``.

    The rows ``alone`` have no entries in each other's columns, and positive ones on the diagonal. Many of the ``last``
    ones meet each other: factors are sparse where these come last.
    """

    size: int
    row: IntArray
    column: IntArray
    alone: IntArray
    last: IntArray

    def product(self, values: FloatArray, x: FloatArray) -> FloatArray:
        """A matrix of the pattern times a vector."""
        return np.bincount(self.row, values * x[self.column], self.size).astype(np.float64, copy=False)


@dataclass(frozen=True, slots=True, eq=False)
class _Places:
    """Where values go once rows ``alone`` are eliminated: into compressed columns of the others, in their ``order``.

    Those of the others are ``inside``, at ``inside_at`` of the entries. From these the products of the values ``one``
    and ``other``, of the same row alone, ``of``, are taken, over its ``pivot``, at ``product_at``. What others have in
    the columns of rows alone is ``beside``.
    """

    order: IntArray
    alone: IntArray
    indptr: IntArray
    indices: IntArray
    entries: IntArray  # of the compressed columns, in the order in which places count them
    inside: IntArray
    inside_at: IntArray
    one: IntArray
    other: IntArray
    of: IntArray
    product_at: IntArray
    pivot: IntArray
    pivot_of: IntArray
    beside: IntArray
    beside_row: IntArray
    beside_of: IntArray

    @classmethod
    def of_pattern(cls, pattern: Pattern) -> _Places:
        """The places, in the order in which the pattern has the rows."""
        rest = np.setdiff1d(np.arange(pattern.size), pattern.alone)
        n = len(rest)
        number = np.full(pattern.size, -1)
        number[rest] = np.arange(n)
        place = np.full(pattern.size, -1)
        place[pattern.alone] = np.arange(len(pattern.alone))
        row, of = number[pattern.row], place[pattern.column]
        inside = np.flatnonzero((row >= 0) & (of < 0))
        pivot = np.flatnonzero((row < 0) & (of >= 0))
        beside = np.flatnonzero((row >= 0) & (of >= 0))
        beside = beside[np.argsort(of[beside], kind="stable")]
        begin = np.searchsorted(of[beside], np.arange(len(pattern.alone) + 1))
        first, behind = begin[of[beside]], begin[of[beside] + 1]
        one, other = np.repeat(beside, behind - first), beside[ranges(first, behind)]
        at = np.concatenate([number[pattern.column[inside]] * n + row[inside], row[other] * n + row[one]])
        key, at = np.unique(at, return_inverse=True)
        columns, indices = np.divmod(key, max(n, 1))
        return cls(
            order=rest,
            alone=pattern.alone,
            indptr=np.searchsorted(columns, np.arange(n + 1)).astype(np.int32),
            indices=indices.astype(np.int32),
            entries=np.arange(len(key)),
            inside=inside,
            inside_at=at[: len(inside)],
            one=one,
            other=other,
            of=of[one],
            product_at=at[len(inside) :],
            pivot=pivot,
            pivot_of=of[pivot],
            beside=beside,
            beside_row=row[beside],
            beside_of=of[beside],
        )

    def ordered(self, order: IntArray) -> _Places:
        """The places with the rows that are left in another order."""
        n = len(order)
        moved = sparse.csc_matrix((self.entries, self.indices, self.indptr), shape=(n, n))[order][:, order].tocsc()
        moved.sort_indices()
        number = np.empty(n, np.int64)
        number[order] = np.arange(n)
        return replace(
            self,
            order=self.order[order],
            indptr=moved.indptr,
            indices=moved.indices,
            entries=moved.data,
            beside_row=number[self.beside_row],
        )

    def condensed(self, values: FloatArray) -> _Condensed:
        """The system without the rows alone."""
        n, n_alone = len(self.order), len(self.alone)
        pivots = np.bincount(self.pivot_of, values[self.pivot], n_alone).astype(np.float64, copy=False)
        products = values[self.one] * values[self.other] / pivots[self.of]
        data = np.bincount(self.inside_at, values[self.inside], len(self.entries))
        data -= np.bincount(self.product_at, products, len(self.entries))
        left = sparse.csc_matrix((data[self.entries], self.indices, self.indptr), shape=(n, n))
        return _Condensed(self, left, pivots, values[self.beside])


@dataclass(frozen=True, slots=True, eq=False)
class _Condensed:
    """A system without rows alone: the ``left`` ones, their ``beside`` in the columns of these, and the pivots."""

    places: _Places
    left: sparse.csc_matrix
    pivots: FloatArray
    beside: FloatArray

    def solved(self, right: FloatArray, solve: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Solution of the whole system from that of the reduced system."""
        places = self.places
        row, of = places.beside_row, places.beside_of
        alone = right[places.alone]
        moved = np.bincount(row, self.beside * (alone / self.pivots)[of], len(places.order))
        found = solve(right[places.order] - moved)
        out = np.empty(len(right))
        out[places.order] = found
        out[places.alone] = (alone - np.bincount(of, self.beside * found[row], len(alone))) / self.pivots
        return out


@dataclass(slots=True, eq=False)
class Systems:
    """State of solving systems of one pattern: the order of rows and columns that keeps the factors sparse."""

    pattern: Pattern
    _places: _Places | None = None

    def factored(self, values: FloatArray) -> Solve:
        """A function from right sides to the solutions of a system, None where it has none that is accurate."""
        solves = [self._sparsely(values)]

        def solved(right: FloatArray) -> FloatArray | None:
            found = self._refined(solves[0], values, right)
            if found is None and self.pattern.size <= LARGE:
                if len(solves) == 1:
                    solves.append(self._stably(values))
                found = self._refined(solves[1], values, right)
            return found

        return solved

    def _sparsely(self, values: FloatArray) -> Solve:
        from scipy.sparse.linalg import splu

        if self._places is None:
            self._places = _ordered(self.pattern, values)
        condensed = self._places.condensed(values)
        try:
            factor = splu(condensed.left, permc_spec="NATURAL", **SPARSELY)
        except RuntimeError:  # a pivot is exactly 0
            return lambda right: None
        return lambda right: condensed.solved(right, factor.solve)

    def _stably(self, values: FloatArray) -> Solve:
        from scipy.sparse.linalg import splu

        n = self.pattern.size
        try:
            factor = splu(sparse.csc_matrix((values, (self.pattern.row, self.pattern.column)), shape=(n, n)), **STABLY)
        except RuntimeError:
            return lambda right: None
        return factor.solve  # type: ignore[no-any-return]

    def _refined(self, straight: Solve, values: FloatArray, right: FloatArray) -> FloatArray | None:
        """A solution, refined until it is accurate."""
        found = straight(right)
        for _ in range(REFINEMENTS):
            if found is None:
                return None
            off = right - self.pattern.product(values, found)
            if not np.isfinite(off).all():
                return None
            if np.abs(off).max(initial=0.0) <= REFINED * np.abs(right).max(initial=0.0):
                return found
            more = straight(off)
            found = None if more is None else found + more
        return None


def _ordered(pattern: Pattern, values: FloatArray) -> _Places:
    """The places, in an order that keeps the factors sparse. It is found once: that takes as long as some factors."""
    from scipy.sparse.linalg import splu

    places = _Places.of_pattern(pattern)
    last = np.flatnonzero(np.isin(places.order, pattern.last))
    others = np.setdiff1d(np.arange(len(places.order)), last)
    left = places.condensed(values).left[others][:, others]
    try:
        order = np.argsort(splu(left, permc_spec="MMD_AT_PLUS_A", **SPARSELY).perm_c)
    except RuntimeError:
        order = np.arange(len(others))
    return places.ordered(np.concatenate([others[order], last]))
