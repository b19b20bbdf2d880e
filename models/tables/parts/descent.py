"""Descent of many rows in a tree together, level by level, whatever the number of its nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import IntArray
from maxent.models.nodes import nodes_at
from maxent.models.release import Attribute, Branch, Node, Tree
from maxent.models.trees.places import Places
from maxent.models.trees.routing import interval_of, missing_branch

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
    """A tree whose places are numbered, whatever the table.

    ``nodes`` are those that test an attribute, ``below`` the places below, by place; ``rank`` is that of `Descent`.
    """

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
