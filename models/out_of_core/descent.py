"""Descent of many rows in one or many trees, level by level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import IntArray
from maxent.models.nodes import nodes_at
from maxent.models.release import Attribute, Branch, Node, Tree
from maxent.models.trees.places import Places, interval_of, missing_branch

Small = npt.NDArray[np.int32]

LOST = -1


@dataclass(frozen=True, slots=True, eq=False)
class Descent:
    """A tree as arrays over its places, for rows of codes.

    ``column`` is the attribute that a place tests, -1 for a leaf. The codes of the attribute are in runs that take the
    same branch: those of place i begin at the codes ``begin[first[i]:first[i + 1]]``, increasing from 0, and lead to
    the places ``below``, `LOST` where no branch takes them. ``steps`` is the largest number of runs of a place that is
    searched; of a place in ``direct`` each code is a run of its own. ``rank`` numbers the leaves depth-first, -1 for
    other places.
    """

    column: Small
    first: IntArray
    begin: Small
    below: Small
    direct: npt.NDArray[np.bool_]
    steps: int
    rank: Small

    @property
    def leaves(self) -> int:
        """Number of leaves, removed ones included."""
        return int(self.rank.max()) + 1

    def __call__(self, codes: npt.NDArray[Any]) -> tuple[Small, IntArray]:
        """The rank of the leaf of each row of codes, shapes (n_rows, n_attributes) and (n_rows,).

        Rows that no branch takes have the rank `LOST`; the second result is the place where each of them was.
        """
        place = np.zeros(len(codes), np.int32)
        rows = np.arange(len(codes))
        lost_rows, lost_at = [rows[:0]], [rows[:0]]
        while True:
            at = place[rows]
            tests = self.column[at] >= 0
            rows, at = rows[tests], at[tests]
            if not len(rows):
                break
            code = codes[rows, self.column[at]]
            run = self.first[at]
            quick = self.direct[at]
            run = run + code if quick.all() else np.where(quick, run + code, self._searched(at, code))
            below = self.below[run]
            lost = below == LOST
            if lost.any():
                lost_rows.append(rows[lost])
                lost_at.append(at[lost].astype(np.int64))
                rows, below = rows[~lost], below[~lost]
            place[rows] = below
        found = self.rank[place]
        gone, where = np.concatenate(lost_rows), np.concatenate(lost_at)
        found[gone] = LOST
        return found, where[np.argsort(gone, kind="stable")]

    def _searched(self, at: Small, code: IntArray) -> IntArray:
        """The run of each code at a place, by bisection."""
        low, high = self.first[at], self.first[at + 1]
        for _ in range(self.steps.bit_length()):
            middle = (low + high) // 2
            up = self.begin[middle] <= code
            low, high = np.where(up, middle, low), np.where(up, high, middle)
        return low


@dataclass(frozen=True, slots=True, eq=False)
class Numbered:
    """A tree whose places are numbered, whatever the table."""

    nodes: Mapping[int, Node]
    below: Sequence[Sequence[int]]
    rank: Small


def numbered(tree: Tree, places: Places) -> Numbered:
    """A tree with the numbers of its places."""
    rank = np.full(len(places), -1, np.int32)
    rank[places.leaves] = places.first[places.leaves]
    return Numbered(nodes_at(tree.nodes, np.flatnonzero(places.n_branches > 0)), places.children, rank)


def descent_of(tree: Numbered, attributes: Sequence[Attribute], levels: Sequence[npt.NDArray[Any]]) -> Descent:
    """A tree over the codes of public attributes; ``levels`` are what these mean, as in a `QITable`."""
    number = {attribute.name: j for j, attribute in enumerate(attributes)}
    codes = [
        {} if attribute.values is None else {value: i for i, value in enumerate(level)}
        for attribute, level in zip(attributes, levels, strict=True)
    ]
    column = np.full(len(tree.rank), -1, np.int32)
    direct = np.zeros(len(column), bool)
    begins: list[Small] = []
    belows: list[Small] = []
    lengths = np.zeros(len(column), np.int64)
    for place, node in tree.nodes.items():
        below = tree.below[place]
        j = column[place] = number[node.attribute or ""]
        if attributes[j].values is not None:
            taken = np.full(len(levels[j]), LOST, np.int32)
            for child, branch in zip(below, node.branches, strict=True):
                taken[[codes[j][value] for value in branch.values or ()]] = child
            begin, direct[place] = np.arange(len(taken), dtype=np.int32), True
        else:
            begin, taken = _runs(attributes[j], node.branches, below, levels[j])
        lengths[place] = len(begin)
        begins.append(begin)
        belows.append(taken)
    none = np.zeros(0, np.int32)
    return Descent(
        column,
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.concatenate([none, *begins]),
        np.concatenate([none, *belows]),
        direct,
        int(lengths[~direct].max(initial=1)),
        tree.rank,
    )


def _runs(
    attribute: Attribute, branches: Sequence[Branch], below: Sequence[int], levels: npt.NDArray[Any]
) -> tuple[Small, Small]:
    """Where the runs of codes of a numeric attribute begin, and the place below each."""
    missing = attribute.missing and len(levels) > 0 and bool(np.isnan(levels[-1]))
    numbers = len(levels) - missing
    spans = [
        (*np.searchsorted(levels[:numbers], interval_of(branch), side="right").tolist(), child)
        for branch, child in zip(branches, below, strict=True)
    ]
    taken = {0: LOST}
    for low, high, child in sorted(span for span in spans if span[0] < span[1]):
        taken[low] = child
        taken.setdefault(high, LOST)
    if missing:
        to = missing_branch(tuple(branches))
        taken[numbers] = LOST if to < 0 else below[to]
    begin = sorted(taken)
    return np.array(begin, np.int32), np.array([taken[at] for at in begin], np.int32)


# Many rows in many trees: which leaf each row reaches, in a few steps for each level of a tree.
#
# Of an attribute a tree tells apart only so many *bins* of codes. A place with a test is a row of numbers, one for each
# bin of the attribute that it tests: where the row of the place below begins. So a step down is a matter of two looks
# into short arrays, whatever the branches are; leaves lead to themselves.

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
    """Whether any bin for which a place has no branch comes to that place at all."""
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
