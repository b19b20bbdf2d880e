"""Many rows in many trees: which leaf each row reaches, in a few steps for each level of a tree.

Of an attribute a tree tells apart only so many *bins* of codes. A place with a test is a row of numbers, one for each
bin of the attribute that it tests: where the row of the place below begins. So a step down is a matter of two looks
into short arrays, whatever the branches are; leaves lead to themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import IntArray
from maxent.models.tables.parts.descent import LOST, Descent, Small
from maxent.models.trees.places import Places

BLOCK = 1 << 14  # rows that go down a tree together: few enough for what they need to stay near the processor
LOOK = 4  # steps after which rows that are in leaves are left out of the others


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """A tree as one array: from ``begin[k]`` on, state by state, where each bin of the attribute leads.

    ``tested`` are the attributes that the tree tests. Of ``tested[k]``, the first ``codes[k][0]`` codes are in the bin
    ``bins[k][0]``, the next ``codes[k][1]`` ones in ``bins[k][1]``, and so on. ``down[state + bin]`` is the next state.

    By state: ``which`` is the number in ``tested`` of what is tested, ``len(tested)`` in leaves; ``rank`` that of the
    leaf. The last state is of those whom no branch took; ``loses`` is whether there may be any. ``steps`` is the most
    from the root to a leaf.
    """

    tested: tuple[int, ...]
    codes: tuple[Small, ...]
    bins: tuple[Small, ...]
    down: Small
    which: Small
    rank: Small
    root: int
    leaves: int
    steps: int
    loses: bool

    def __call__(self, columns: Sequence[npt.NDArray[Any]]) -> Small:
        """The rank of the leaf of each row, `LOST` of one that no branch takes, shape (n_rows,).

        ``columns`` are the codes of each attribute, shape (n_rows,).
        """
        n, width = len(columns[0]) if columns else 0, len(self.tested)
        bin_of = [np.repeat(bins, codes) for codes, bins in zip(self.codes, self.bins, strict=True)]
        found = np.empty(n, np.int32)
        held = np.zeros((width + 1, BLOCK), np.int32)  # bins; a last row of 0 for leaves
        row = np.arange(BLOCK, dtype=np.int32)
        which = self.which * BLOCK
        for begin in range(0, n, BLOCK):
            here = slice(begin, begin + BLOCK)
            size = min(BLOCK, n - begin)
            for k, j in enumerate(self.tested):
                bin_of[k].take(columns[j][here], out=held[k, :size], mode="clip")
            found[here] = self._down(held.ravel(), which, row[:size])
        return found

    def _down(self, held: Small, which: Small, row: Small) -> Small:
        """The rank of the leaf of each row of a block, whose bins are ``held``."""
        state = np.full(len(row), self.root, np.int32)
        ended = None
        at, back = np.empty_like(state), np.arange(len(row))
        for step in range(self.steps):
            if step and not step % LOOK:
                there = which[state] < which[-1]  # a leaf tests what the lost do: nothing
                if 2 * np.count_nonzero(there) < len(state):
                    ended = np.empty(len(row), np.int32) if ended is None else ended
                    ended[back] = state
                    back, row, state = back[there], row[there], state[there]
                    at = np.empty_like(state)
            which.take(state, out=at, mode="clip")
            at += row
            bins = held.take(at, mode="clip")
            bins += state
            self.down.take(bins, out=state, mode="clip")
        if ended is None:
            return self.rank[state]
        ended[back] = state
        return self.rank[ended]


def steps_of(descent: Descent, places: Places, sizes: Sequence[int]) -> Steps:
    """The steps of a tree, from what its places lead to; ``sizes`` are how many codes each attribute has."""
    tested = np.unique(descent.column[descent.column >= 0]).tolist()
    n = len(descent.column)
    width = np.ones(n + 1, np.int64)  # the last one is for whoever is lost
    lead: list[tuple[IntArray, Small]] = []
    codes: list[Small] = []
    bins: list[Small] = []
    for j in tested:
        at: IntArray = np.flatnonzero(descent.column == j)
        cuts, below = _table(descent, at, sizes[j])
        below, bin_of = np.unique(below, axis=1, return_inverse=True)
        changes = np.flatnonzero(np.diff(bin_of, prepend=-1))
        codes.append(np.diff(np.append(cuts[changes], sizes[j])).astype(np.int32))
        bins.append(bin_of[changes].astype(np.int32))
        width[at] = below.shape[1]
        lead.append((at, below))
    begin = np.cumsum(width) - width
    down = np.repeat(begin, width)  # of leaves and of the lost, to themselves
    which = np.full(len(down), len(tested), np.int32)
    for k, (at, below) in enumerate(lead):
        span = begin[at, None] + np.arange(below.shape[1])
        down[span], which[begin[at]] = begin[below], k  # of no place, -1, the last: that of the lost
    rank = np.zeros(len(down), np.int32)
    rank[begin[:n]], rank[begin[n]] = descent.rank, LOST
    return Steps(
        tuple(tested),
        tuple(codes),
        tuple(bins),
        down.astype(np.int32),
        which,
        rank,
        int(begin[0]),
        descent.leaves,
        len(places.levels) - 1,
        any(_loses(at, below, places.parent) for at, below in lead),
    )


def _loses(places: IntArray, below: Small, parent: IntArray) -> bool:
    """Whether any bin for which a place has no branch comes to that place at all.

    ``places`` are all that test an attribute, and ``below`` where its bins lead, as `_table` has it.
    """
    row = {place: i for i, place in enumerate(places.tolist())}
    for i in np.flatnonzero((below == LOST).any(axis=1)).tolist():
        comes = below[i] == LOST
        place = int(places[i])
        while comes.any() and (above := int(parent[place])) >= 0:
            if above in row:
                comes &= below[row[above]] == place
            place = above
        if comes.any():
            return True
    return False


def _table(descent: Descent, places: IntArray, size: int) -> tuple[Small, Small]:
    """The first codes of runs that all of some places treat alike, and the place below each, (n_places, n_runs)."""
    begins = [descent.begin[descent.first[p] : descent.first[p + 1]] for p in places.tolist()]
    cuts = np.unique(np.concatenate(begins))
    cuts = cuts[cuts < size]  # the last run of numbers may be of none
    below = np.empty((len(places), len(cuts)), np.int32)
    for i, (place, begin) in enumerate(zip(places.tolist(), begins, strict=True)):
        below[i] = descent.below[descent.first[place] + np.searchsorted(begin, cuts, side="right") - 1]
    return cuts, below
