"""Intervals of groups in the order of the leaves: groups below one place of a tree are neighbours.

A place is then a slice of an order, so that sets of groups need not be written out to be linked, counted or compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maxent.constraints.cells import Cells
from maxent.models.arrays import BoolArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class PlacedInTree:
    """Groups by the leaves of one tree: those below a place are ``order[low:high]`` for its `span`."""

    order: IntArray
    rank: IntArray  # of the leaf of order[i], increasing
    first: IntArray  # first and last rank of the leaves below each place
    last: IntArray

    def spans(self, places: IntArray) -> tuple[IntArray, IntArray]:
        """Starts and ends of places, shapes (n,)."""
        low, high = np.searchsorted(self.rank, self.first[places]), np.searchsorted(self.rank, self.last[places])
        return low.astype(np.int64), high.astype(np.int64)

    def at(self, low: int, high: int) -> IntArray:
        """Groups in a span, increasing."""
        result: IntArray = np.sort(self.order[low:high])
        return result

    def linked(self, low: IntArray, high: IntArray) -> BoolArray:
        """Whether some span has both positions i and i + 1, shape (n_groups - 1,)."""
        return self.covered(low, np.maximum(high - 1, low))[:-1]

    def covered(self, low: IntArray, high: IntArray) -> BoolArray:
        """Whether position i is in some span, shape (n_groups,)."""
        change = np.zeros(len(self.order) + 1, np.int64)
        np.add.at(change, low, 1)
        np.add.at(change, high, -1)
        result: BoolArray = np.cumsum(change)[:-1] > 0
        return result


def placed(cells: Cells, examples: IntArray) -> tuple[PlacedInTree, ...]:
    """Places of groups in every tree, from one cell of each."""
    found = []
    for t, tree in enumerate(cells.trees):
        rank = tree.places.first[cells.leaf[examples, t]]
        order = np.argsort(rank, kind="stable")
        found.append(PlacedInTree(order, rank[order], tree.places.first, tree.places.last))
    return tuple(found)


def spans_of(trees: tuple[PlacedInTree, ...], places: Sequence[tuple[int, int]]) -> tuple[IntArray, IntArray, IntArray]:
    """Tree, start and end of each (tree, place), shapes (n,)."""
    tree, place = np.array(places, np.int64).reshape(-1, 2).T
    low, high = np.zeros(len(tree), np.int64), np.zeros(len(tree), np.int64)
    for t, held in enumerate(trees):
        mine = tree == t
        low[mine], high[mine] = held.spans(place[mine])
    return tree, low, high
