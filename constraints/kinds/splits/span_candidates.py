"""Candidate splits that left every span with at least k people, found from the finished tree and the table.

Splits of kADET (Friedman, Schuster and Wolff 2006) make spans finer and never coarser. So a candidate that divides the
spans of the finished tree into parts of at least k people breached at no time: it was in the queue when its node was
split, and lost.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from maxent.constraints.cells import Cells
from maxent.models.arrays import IntArray
from maxent.models.induction.criteria import too_small
from maxent.models.induction.cuts import Intervals, breaching_cuts, union
from maxent.models.tables.qi_table import QITable


class FinalSpans:
    """The people of a table by their spans in a tree (Definition 5), and what leaves fewer than k in a part of one."""

    def __init__(self, cells: Cells, table: QITable, tree: int, k: int) -> None:
        self._owner, self._held, self._table = cells.owner, cells.trees[tree], table
        self._breach = too_small(k)
        self._of = _span_of_owner(cells.owner, cells.leaf[:, tree])
        by_span = np.argsort(self._of, kind="stable")
        self._people = np.split(by_span, np.cumsum(np.bincount(self._of))[:-1])
        self._divided = cache(self._divide)

    def kept(self, place: int, column: int, form: str, options: IntArray) -> IntArray:
        """Options of a node to split by a public attribute that keep k-anonymity.

        Options are what `maxent.constraints.program.Internal` calls codes; there is one for the form ``values``.
        """
        spans = np.unique(self._of[self._owner[self._held.at(place)]]).tolist()
        divided = [self._divided(span, column) for span in spans]
        if form == "values":
            return options[:0] if any(breaches for breaches, _ in divided) else options
        start, stop = union([bad for _, bad in divided])
        outside = np.searchsorted(start, options, side="right") == np.searchsorted(stop, options, side="right")
        return np.asarray(options[outside])

    def _divide(self, span: int, column: int) -> tuple[bool, Intervals]:
        """Whether a span breaches when divided into all values of an attribute, and the cuts after which it does."""
        people = self._people[span]
        codes, place = np.unique(self._table.codes[people, column], return_inverse=True)
        size = np.bincount(place, weights=self._table.counts[people]).astype(np.int64)[:, None]
        return bool(self._breach(size).any()), breaching_cuts(codes, size, self._breach)


def _span_of_owner(owner: IntArray, leaf: IntArray) -> IntArray:
    """The number of the set of leaves of each owner, from the owner and the leaf of all cells; shape (n_owners,)."""
    pairs = np.unique(np.column_stack([owner, leaf]), axis=0)
    numbers: dict[bytes, int] = {}
    sets = np.split(pairs[:, 1], np.flatnonzero(np.diff(pairs[:, 0])) + 1)
    return np.array([numbers.setdefault(leaves.tobytes(), len(numbers)) for leaves in sets], np.int64)
