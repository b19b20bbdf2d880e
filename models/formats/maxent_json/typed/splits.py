"""Whether nodes held as arrays are trees, and whether their branches divide exactly the values that can reach them.

Vectorised over the nodes of all trees. What is not sure to be sound is left to
`maxent.models.formats.maxent_json.check_tree`, which has the rules and words what is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray, IntArray, ranges
from maxent.models.columns import NOTHING, Columns

DEEPEST = 5_000  # levels of trees that are looked at level by level
MOST_CELLS = 200_000_000  # nodes times values that are looked at in all
BLOCK = 4_000_000  # nodes times values that are looked at together


def levels_of(nodes: Columns, starts: IntArray) -> tuple[IntArray, ...]:
    """The nodes of each depth, the roots first; none when nodes are no trees, or trees that are very deep.

    ``nodes``: of all trees. ``starts`` of shape (n_trees,): the position of each root.
    """
    parents = np.ones(len(nodes), np.int64)
    parents[starts] = 0
    kids = nodes.child[nodes.child != NOTHING]
    if (np.bincount(kids, minlength=len(nodes)) != parents).any():
        return ()
    levels: list[IntArray] = []
    level, reached = starts, 0
    while len(level) and len(levels) < DEEPEST:
        levels.append(level)
        reached += len(level)
        below = nodes.child[ranges(nodes.branch_ends[level], nodes.branch_ends[level + 1])]
        level = below[below != NOTHING]
    return tuple(levels) if reached == len(nodes) else ()


@dataclass(frozen=True, slots=True, eq=False)
class _Above:
    """Nodes and branches above each node.

    ``owner`` (n_branches,) has the node of each branch, ``leads`` (n_nodes,) the branch that leads to each node,
    `NOTHING` for roots.
    """

    nodes: Columns
    owner: IntArray
    leads: IntArray

    def branches(self, place: IntArray, attribute: int) -> Iterator[tuple[IntArray, IntArray]]:
        """The branches of an attribute on the ways from some nodes up to their roots, step by step.

        Yields which of the nodes a step is of, and the branch.
        """
        rows, up = np.arange(len(place)), self.leads[place]
        while len(rows := rows[up != NOTHING]):
            up = up[up != NOTHING]
            node = self.owner[up]
            same = self.nodes.attribute[node] == attribute
            if same.any():
                yield rows[same], up[same]
            up = self.leads[node]


def sound_splits(nodes: Columns) -> bool:
    """Whether the branches of every inner node are sure not to overlap, and to cover what can reach it.

    They need a finite interval, or values, each; trees are those of `levels_of`.
    """
    owner = np.repeat(np.arange(len(nodes)), np.diff(nodes.branch_ends))
    leads = np.full(len(nodes), NOTHING)
    led = np.flatnonzero(nodes.child != NOTHING)
    leads[nodes.child[led]] = led
    above = _Above(nodes, owner, leads)
    for j in np.unique(nodes.attribute).tolist():
        if j != NOTHING:
            place = np.flatnonzero(nodes.attribute == j)
            domain = nodes.attributes[j].values
            sound = _numeric(above, j, place) if domain is None else _categorical(above, j, place, len(domain))
            if not sound:
                return False
    return True


def _numeric(above: _Above, attribute: int, place: IntArray) -> bool:
    """Whether the nodes that test a numeric attribute divide its numbers."""
    nodes = above.nodes
    if not _missing(above, attribute, place):
        return False
    start, end = nodes.branch_ends[place], nodes.branch_ends[place + 1]
    # As nearly all of them: two branches, at most a number and above it.
    first, last = start, end - 1
    halves = (end - start == 2) & (nodes.le[first] == nodes.gt[last]) & np.isnan(nodes.gt[first])
    halves &= np.isnan(nodes.le[last])
    place, start, end = place[~halves], start[~halves], end[~halves]
    if not len(place):
        return True
    at = ranges(start, end)
    low = np.where(np.isnan(nodes.gt[at]), -np.inf, nodes.gt[at])
    high = np.where(np.isnan(nodes.le[at]), np.inf, nodes.le[at])
    low[(nodes.missing[at] == 1) & np.isneginf(low) & np.isposinf(high)] = np.inf  # only missing values: no numbers
    row = np.repeat(np.arange(len(place)), end - start)
    order = np.lexsort((high, low, row))
    row, low, high = row[order], low[order], high[order]
    head = np.append(True, row[1:] != row[:-1])
    tail = np.append(head[1:], True)
    before = np.where(head, -np.inf, np.append(-np.inf, high[:-1]))
    if (low < before).any():
        return False
    gap = before < low
    gap[tail] |= high[tail] < np.inf
    open_ = np.unique(row[gap])
    least, most = _reached(above, attribute, place[open_])
    of = np.full(len(place), -1)
    of[open_] = np.arange(len(open_))
    seen = of[row] >= 0
    row, low, high, before, tail = of[row[seen]], low[seen], high[seen], before[seen], tail[seen]
    missed = np.maximum(least[row], before) < np.minimum(low, most[row])
    missed |= tail & (np.maximum(least[row], high) < most[row])
    return not missed.any()


def _missing(above: _Above, attribute: int, place: IntArray) -> bool:
    """Whether missing values of a numeric attribute, if it has some, take one branch of each node that they reach."""
    nodes = above.nodes
    if not nodes.attributes[attribute].missing:
        return True
    taken = np.concatenate([[0], np.cumsum(nodes.missing == 1)])
    taking = taken[nodes.branch_ends[place + 1]] - taken[nodes.branch_ends[place]]
    open_ = place[taking == 0]
    reached = np.ones(len(open_), bool)
    for rows, branch in above.branches(open_, attribute):
        reached[rows] &= nodes.missing[branch] == 1
    return not ((taking > 1).any() or reached.any())


def _reached(above: _Above, attribute: int, place: IntArray) -> tuple[FloatArray, FloatArray]:
    """The interval of a numeric attribute that can reach each of some nodes."""
    least, most = np.full(len(place), -np.inf), np.full(len(place), np.inf)
    for rows, branch in above.branches(place, attribute):
        least[rows] = np.fmax(least[rows], above.nodes.gt[branch])
        most[rows] = np.fmin(most[rows], above.nodes.le[branch])
    return least, most


def _categorical(above: _Above, attribute: int, place: IntArray, size: int) -> bool:
    """Whether the nodes that test a categorical attribute, of so many values, divide those that can reach them."""
    if len(place) * size > MOST_CELLS:
        return False
    step = max(BLOCK // size, 1)
    return all(_divided(above, attribute, place[i : i + step], size) for i in range(0, len(place), step))


def _divided(above: _Above, attribute: int, place: IntArray, size: int) -> bool:
    """As `_categorical`, of a block of nodes."""
    nodes = above.nodes
    start, end = nodes.value_ends[nodes.branch_ends[place]], nodes.value_ends[nodes.branch_ends[place + 1]]
    cell = np.repeat(np.arange(len(place)) * size, end - start) + nodes.values[ranges(start, end)]
    times = np.bincount(cell, minlength=len(place) * size).reshape(-1, size)
    if times.max() > 1:
        return False
    missing: BoolArray = times == 0
    open_ = np.flatnonzero(missing.any(axis=1))
    missing = missing[open_]  # of these, what can reach the node must be none
    for rows, branch in above.branches(place[open_], attribute):
        first, last = nodes.value_ends[branch], nodes.value_ends[branch + 1]
        taken = np.zeros((len(rows), size), bool)
        taken[np.repeat(np.arange(len(rows)), last - first), nodes.values[ranges(first, last)]] = True
        missing[rows] &= taken
        if not missing.any():
            return True
    return not missing.any()
