"""Newton systems of an interior point method: symmetric, indefinite, all of one pattern.

Rows of many variables, which make factors dense, are left out of these, and come in by their Schur complement.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from maxent.models.arrays import FloatArray, IntArray

SPARSELY: dict[str, Any] = {"diag_pivot_thresh": 1e-8, "options": {"SymmetricMode": True}}
STABLY: dict[str, Any] = {"permc_spec": "COLAMD", "diag_pivot_thresh": 0.1}
"""How systems are factored: with pivots from the diagonal, or, small ones where that is not accurate, with others."""

LARGE = 4000
"""Rows of a system that would take too long to factor stably."""

WIDE, MANY = 100, 40
"""Entries of a row that makes factors dense, and how many of them are left out at most."""

REFINEMENTS, REFINED = 4, 1e-8
"""Steps of iterative refinement, and the share of the right side up to which a system counts as solved."""

Solve = Callable[[FloatArray], FloatArray | None]


@dataclass(frozen=True, slots=True, eq=False)
class Pattern:
    """Where the entries of systems of ``size`` rows are: entry k of their values is added at ``row[k], column[k]``."""

    size: int
    row: IntArray
    column: IntArray

    def wide(self) -> IntArray:
        """The rows that are left out, shape (n_wide,)."""
        entries = np.bincount(self.row, minlength=self.size)
        largest = np.argsort(-entries, kind="stable")[:MANY]
        return np.sort(largest[entries[largest] > WIDE])


@dataclass(frozen=True, slots=True, eq=False)
class _Places:
    """Where values go: into compressed columns of the narrow rows in an ``order``, and beside them, those of wide ones.

    ``inside`` are the values of narrow rows and columns, ``beside`` those of narrow rows and wide columns, ``corner``
    those of wide ones; the ``*_at`` are their places in flat arrays.
    """

    order: IntArray
    wide: IntArray
    indptr: IntArray
    indices: IntArray
    inside: IntArray
    inside_at: IntArray
    beside: IntArray
    beside_at: IntArray
    corner: IntArray
    corner_at: IntArray

    @classmethod
    def of(cls, pattern: Pattern, order: IntArray, wide: IntArray) -> _Places:
        n, n_wide = len(order), len(wide)
        number = np.empty(pattern.size, np.int64)
        number[order], number[wide] = np.arange(n), n + np.arange(n_wide)
        row, column = number[pattern.row], number[pattern.column]
        inside = np.flatnonzero((row < n) & (column < n))
        beside = np.flatnonzero((row < n) & (column >= n))
        corner = np.flatnonzero((row >= n) & (column >= n))
        key, inside_at = np.unique(column[inside] * n + row[inside], return_inverse=True)
        columns, indices = np.divmod(key, max(n, 1))
        indptr = np.searchsorted(columns, np.arange(n + 1))
        return cls(
            order,
            wide,
            indptr.astype(np.int32),
            indices.astype(np.int32),
            inside,
            inside_at,
            beside,
            row[beside] + n * (column[beside] - n),
            corner,
            (row[corner] - n) * n_wide + column[corner] - n,
        )

    def blocks(self, values: FloatArray) -> tuple[sparse.csc_matrix, FloatArray, FloatArray]:
        """The narrow rows and columns, the wide columns beside them, and these in their own rows."""
        n, n_wide = len(self.order), len(self.wide)
        data = np.bincount(self.inside_at, values[self.inside], len(self.indices))
        narrow = sparse.csc_matrix((data, self.indices, self.indptr), shape=(n, n))
        beside = np.bincount(self.beside_at, values[self.beside], n * n_wide).reshape((n_wide, n)).T
        corner = np.bincount(self.corner_at, values[self.corner], n_wide * n_wide).reshape((n_wide, n_wide))
        return narrow, np.asarray(beside, np.float64), np.asarray(corner, np.float64)


@dataclass(slots=True, eq=False)
class Systems:
    """State of solving systems of one pattern: the order of rows and columns that keeps the factors sparse."""

    pattern: Pattern
    _places: _Places | None = None

    def factored(self, values: FloatArray) -> Solve:
        """A function from right sides to the solutions of a system, None where it has none that is accurate."""
        sparsely = self._sparsely(values)

        def solved(right: FloatArray) -> FloatArray | None:
            found = sparsely(right)
            if found is None and self.pattern.size <= LARGE:
                places = _Places.of(self.pattern, np.arange(self.pattern.size), np.empty(0, np.int64))
                found = _factored(places, values, STABLY)[0](right)
            return found

        return solved

    def _sparsely(self, values: FloatArray) -> Solve:
        if self._places is not None:
            return _factored(self._places, values, {"permc_spec": "NATURAL", **SPARSELY})[0]
        # The order is found once: that takes as long as the factors.
        wide = self.pattern.wide()
        narrow = np.setdiff1d(np.arange(self.pattern.size), wide)
        settings = {"permc_spec": "MMD_AT_PLUS_A", **SPARSELY}
        solve, order = _factored(_Places.of(self.pattern, narrow, wide), values, settings)
        if order is not None:
            self._places = _Places.of(self.pattern, narrow[order], wide)
        return solve


def _factored(places: _Places, values: FloatArray, settings: dict[str, Any]) -> tuple[Solve, IntArray | None]:
    """Solutions by factors of the narrow rows and columns, and of the Schur complement of the wide ones.

    The second is the order of the factors' columns, None where there are none.
    """
    from scipy.sparse.linalg import splu

    narrow, beside, corner = places.blocks(values)
    n = len(places.order)
    try:
        factor = splu(narrow, **settings)
    except RuntimeError:  # a pivot is exactly 0
        return lambda right: None, None
    through: FloatArray = factor.solve(beside) if beside.size else beside
    complement = corner - beside.T @ through
    order = np.concatenate([places.order, places.wide])

    def straight(right: FloatArray) -> FloatArray:
        first: FloatArray = factor.solve(right[:n])
        if not len(corner):
            return first
        last = np.linalg.solve(complement, right[n:] - beside.T @ first)
        return np.concatenate([first - through @ last, last])

    def solved(right: FloatArray) -> FloatArray | None:
        right = right[order]
        try:
            found = straight(right)
            for _ in range(REFINEMENTS):
                inside, outside = found[:n], found[n:]
                off = right - np.concatenate([narrow @ inside + beside @ outside, beside.T @ inside + corner @ outside])
                if not np.isfinite(off).all():
                    return None
                if np.abs(off).max(initial=0.0) <= REFINED * np.abs(right).max(initial=0.0):
                    out = np.empty(len(found))
                    out[order] = found
                    return out
                found = found + straight(off)
        except np.linalg.LinAlgError:  # the complement is singular
            return None
        return None

    return solved, np.argsort(factor.perm_c)
