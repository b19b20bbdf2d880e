"""Newton systems of an interior point method: symmetric, indefinite, all of one pattern."""

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

REFINEMENTS, REFINED = 4, 1e-8
"""Steps of iterative refinement, and the share of the right side up to which a system counts as solved."""


@dataclass(slots=True, eq=False)
class Systems:
    """State of solving one system after another: the order of rows and columns that keeps the factors sparse."""

    order: IntArray | None = None

    def factored(self, system: sparse.csc_matrix) -> Callable[[FloatArray], FloatArray | None]:
        """A function from right sides to the solutions of a system, None where it has none that is accurate."""
        sparsely = self._sparsely(system)

        def solved(right: FloatArray) -> FloatArray | None:
            found = sparsely(right)
            if found is None and len(right) <= LARGE:
                found = _factored(system, np.arange(len(right)), STABLY)(right)
            return found

        return solved

    def _sparsely(self, system: sparse.csc_matrix) -> Callable[[FloatArray], FloatArray | None]:
        from scipy.sparse.linalg import splu

        if self.order is None:  # found once: that takes as long as the factors
            try:
                self.order = np.argsort(splu(system, permc_spec="MMD_AT_PLUS_A", **SPARSELY).perm_c)
            except RuntimeError:
                return lambda right: None
        return _factored(system, self.order, {"permc_spec": "NATURAL", **SPARSELY})


def _factored(
    system: sparse.csc_matrix, order: IntArray, settings: dict[str, Any]
) -> Callable[[FloatArray], FloatArray | None]:
    """Solutions by factors of the system with rows and columns in an order."""
    from scipy.sparse.linalg import splu

    ordered = system[order][:, order].tocsc()
    try:
        factor = splu(ordered, **settings)
    except RuntimeError:  # a pivot is exactly 0
        return lambda right: None

    def solved(right: FloatArray) -> FloatArray | None:
        right = right[order]
        found: FloatArray = factor.solve(right)
        for _ in range(REFINEMENTS):
            off = right - ordered @ found
            if not np.isfinite(off).all():
                return None
            if np.abs(off).max(initial=0.0) <= REFINED * np.abs(right).max(initial=0.0):
                out = np.empty(len(found))
                out[order] = found
                return out
            found = found + factor.solve(off)
        return None

    return solved
