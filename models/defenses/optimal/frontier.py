"""Trees that nothing beats: their worth against what their leaves sum up to, by dynamic programming over the tree.

The points of a place are its trees of which no other is worth as much and costs no more. Those of an inner place are
sums of one point of each branch, so that no tree is missed. Of a place, points stay out that cannot become part of a
tree within the limits that is better than one that is known: what the rest of the tree adds is bounded by its best
value at any prices of what is limited (Lagrange). Where too many are left, some stay out without such a reason, and the
most that they could have been worth is kept in mind.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.defenses.optimal.places import Candidates
from maxent.models.defenses.optimal.prices import Bound, Found, cheapest, first_found

MANY = {1: 1024, 2: 512}
"""Points of one place, at most, by the number of limits."""

FEWER = 128
"""The same for more limits."""

LEAF = -1
"""What a tree that is a leaf has in place of points of branches."""


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Trees below a place: their worth, shape (n,), their costs (n, n_limits), and what they consist of.

    ``of``, shape (n, n_branches), has the number of a point of each of the ``branches``; -1 where the tree is a leaf.
    ``left_out`` is the most that trees within limits can be worth that consist of points which stayed out for being
    too many.
    """

    worth: FloatArray
    costs: FloatArray
    of: IntArray
    branches: tuple[Points, ...] = ()
    left_out: float = -np.inf

    def __getitem__(self, rows: IntArray | BoolArray) -> Points:
        return Points(self.worth[rows], self.costs[rows], self.of[rows], self.branches, self.left_out)


def within_limits(candidates: Candidates) -> Found | None:
    """The tree of the largest worth within limits, and the most that any can be worth; None where there is none."""
    known, bounds = first_found(candidates)
    if known is not None and known.proved:
        return known
    if any(cheapest(candidates, i) > most for i, most in enumerate(candidates.kept)):
        return None
    points = frontier(candidates, bounds, -np.inf if known is None else candidates.better(known.worth))
    inside = np.flatnonzero((points.costs <= candidates.kept).all(axis=1))
    if len(inside):
        top = int(inside[np.argmax(points.worth[inside])])
        if known is None or points.worth[top] > known.worth:
            splits = _splits(candidates, points, top)
            known = Found(splits, float(points.worth[top]), points.costs[top], np.inf)
    if known is None:
        return None
    return Found(known.splits, known.worth, known.costs, max(known.worth, points.left_out))


def frontier(candidates: Candidates, bounds: Sequence[Bound], least: float = -np.inf) -> Points:
    """The points of the root, but for those that ``bounds`` prove to be worth less than ``least`` within limits."""
    places = candidates.places
    found: dict[int, Points] = {}
    for place in reversed(places.top_down):
        branches = [found.pop(child) for child in places.children[place]]
        found[place] = _joined(candidates, place, branches, bounds, least)
    return found[0]


def _joined(
    candidates: Candidates, place: int, branches: Sequence[Points], bounds: Sequence[Bound], least: float
) -> Points:
    """The points of a place: the leaf, if it may be one, and the sums of one point of each branch."""
    may = slice(place, place + int(candidates.allowed[place]))
    leaf = Points(candidates.worth[may], candidates.costs[may], np.full((may.stop - place, len(branches)), LEAF))
    if not branches:
        return leaf
    sums = Points(branches[0].worth, branches[0].costs, np.arange(len(branches[0].worth))[:, None])
    for i, branch in enumerate(branches[1:], 2):
        one = np.repeat(np.arange(len(sums.worth)), len(branch.worth))
        other = np.tile(np.arange(len(branch.worth)), len(sums.worth))
        worth, costs = sums.worth[one] + branch.worth[other], sums.costs[one] + branch.costs[other]
        if i == len(branches):
            stay = np.flatnonzero(_most(bounds, place, worth, costs) >= least)
            one, other, worth, costs = one[stay], other[stay], worth[stay], costs[stay]
        stay = unbeaten(worth, costs)
        sums = Points(worth[stay], costs[stay], np.column_stack([sums.of[one[stay]], other[stay]]))
    both = Points(
        np.concatenate([leaf.worth, sums.worth]),
        np.concatenate([leaf.costs, sums.costs]),
        np.concatenate([leaf.of, sums.of]),
        tuple(branches),
        max(branch.left_out for branch in branches),
    )
    both = both[unbeaten(both.worth, both.costs)]
    most = _most(bounds, place, both.worth, both.costs)
    both, most = both[most >= least], most[most >= least]
    many = MANY.get(len(candidates.names), FEWER)
    return both if len(most) <= many else _thinned(both, most, many)


def _thinned(points: Points, most: FloatArray, many: int) -> Points:
    """Some of too many points: those that promise the most, and others of all costs."""
    promising = np.argsort(-most, kind="stable")
    others = np.random.default_rng(0).permutation(promising[many // 2 :])  # evenly spaced ones add up to few sums
    stay = np.sort(np.concatenate([promising[: many // 2], others[: many // 2]]))
    out = np.ones(len(most), bool)
    out[stay] = False
    kept = points[stay]
    left_out = max(points.left_out, float(most[out].max()))
    return Points(kept.worth, kept.costs, kept.of, kept.branches, left_out)


def _most(bounds: Sequence[Bound], place: int, worth: FloatArray, costs: FloatArray) -> FloatArray:
    """The most that trees within limits can be worth that have these below a place."""
    most = np.full(len(worth), np.inf)
    for bound in bounds:
        most = np.minimum(most, bound.at(place, worth, costs))
    return most


def unbeaten(worth: FloatArray, costs: FloatArray) -> IntArray:
    """Points that no other beats, which is worth as much and costs no more; of equal ones the first."""
    order = np.lexsort([*costs.T[::-1], -worth])  # the most worth first, then the cheapest
    if costs.shape[1] <= 1:
        first = costs[order, 0] if costs.shape[1] else np.zeros(len(order))
        lower = np.ones(len(order), bool)
        lower[1:] = first[1:] < np.minimum.accumulate(first)[:-1]
        return np.asarray(order[lower])
    kept: list[int] = []
    if costs.shape[1] == 2:
        steps: list[tuple[float, float]] = []  # cheaper in one and dearer in the other
        for at, (one, other) in zip(order.tolist(), costs[order].tolist(), strict=True):
            after = bisect_right(steps, (one, np.inf))
            if after and steps[after - 1][1] <= other:
                continue
            beaten = after
            while beaten < len(steps) and steps[beaten][1] >= other:
                beaten += 1
            steps[after:beaten] = [(one, other)]
            kept.append(at)
        return np.array(kept, np.int64)
    known = np.empty((len(order), costs.shape[1]))
    for at in order.tolist():
        if not (known[: len(kept)] <= costs[at]).all(axis=1).any():
            known[len(kept)] = costs[at]
            kept.append(at)
    return np.array(kept, np.int64)


def _splits(candidates: Candidates, points: Points, top: int) -> BoolArray:
    """Where the tree of one point of the root splits."""
    splits = np.zeros(len(candidates.places), bool)
    stack = [(0, points, top)]
    while stack:
        place, here, number = stack.pop()
        of = here.of[number].tolist()
        if of and of[0] != LEAF:
            splits[place] = True
            stack += zip(candidates.places.children[place], here.branches, of, strict=True)
    return splits
