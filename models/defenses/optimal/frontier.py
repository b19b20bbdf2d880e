"""Trees that nothing beats: their worth against what their leaves sum up to, by dynamic programming over the tree.

The points of a place are its trees of which no other is worth as much and costs no more. Those of an inner place are
sums of one point of each branch, so that no tree is missed. Of a place, points stay out that cannot become part of a
tree within the limits that is better than one that is known: what the rest of the tree adds is bounded by its best
value at any prices of what is limited (Lagrange). Where too many are left, some stay out without such a reason, and the
most that they could have been worth is kept in mind.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.defenses.optimal.places import Candidates
from maxent.models.defenses.optimal.prices import (
    Bound,
    FoundSubtree,
    all_kept,
    cheapest,
    first_found,
    found_of,
    keeps,
    without_removed,
)

MANY = {0: 1024, 1: 1024, 2: 512}  # points of one place, at most, by the number of limits
FEWER = 128  # the same for more limits, and where leaves may be removed

# What a tree that is a leaf, or a branch that is a removed leaf, has in place of points of branches
LEAF, GONE = -1, -2


@dataclass(frozen=True, slots=True, eq=False)
class FrontierPoints:
    """Trees below a place: their worth, shape (n,), their costs (n, n_limits), and what they consist of.

    ``held``, shape (n, n_answers), is what their leaves add to the answer for removed ones above. ``of``, shape (n,
    n_branches), has the number of a point of each of the ``branches``; `LEAF` where the tree is a leaf, and `GONE` for
    a removed one. ``due``, shape (n, n_answers), is what these are worth by the answer of the place, as long as it is
    not known. ``left_out`` is the most that trees within limits can be worth that consist of points which stayed out
    for being too many.
    """

    worth: FloatArray
    costs: FloatArray
    held: FloatArray
    of: IntArray
    due: FloatArray
    branches: tuple[FrontierPoints, ...] = ()
    left_out: float = -np.inf

    def __getitem__(self, rows: IntArray | BoolArray) -> FrontierPoints:
        own = (self.worth[rows], self.costs[rows], self.held[rows], self.of[rows], self.due[rows])
        return FrontierPoints(*own, self.branches, self.left_out)


def within_limits(candidates: Candidates) -> FoundSubtree | None:
    """The tree of the largest worth within limits, and the most that any can be worth; None where there is none."""
    known, bounds = first_found(candidates)
    if known is not None and known.proved:
        return known
    if any(cheapest(candidates, i) > most for i, most in enumerate(candidates.kept)):
        return None
    for other in _others(candidates) if candidates.removable.any() else ():
        known = other if known is None or other.worth > known.worth else known
    points = frontier(candidates, bounds, -np.inf if known is None else candidates.better(known.worth))
    inside = np.flatnonzero((points.costs <= candidates.kept).all(axis=1))
    if len(inside):
        top = int(inside[np.argmax(points.worth[inside])])
        if known is None or points.worth[top] > known.worth:
            known = FoundSubtree(*_tree(candidates, points, top), float(points.worth[top]), points.costs[top], np.inf)
    if known is None:
        return None
    return FoundSubtree(known.splits, known.gone, known.worth, known.costs, max(known.worth, points.left_out))


def _others(candidates: Candidates) -> Iterator[FoundSubtree]:
    """The best tree without removed leaves, and the whole tree without those that break a limit."""
    plain = within_limits(without_removed(candidates))
    if plain is not None:
        yield plain
    whole = all_kept(candidates)
    if whole is not None and keeps(candidates, (found := found_of(candidates, *whole)).costs):
        yield found


def frontier(candidates: Candidates, bounds: Sequence[Bound], least: float = -np.inf) -> FrontierPoints:
    """The points of the root, but for those that ``bounds`` prove to be worth less than ``least`` within limits."""
    places = candidates.places
    found: dict[int, FrontierPoints] = {}
    for place in reversed(places.top_down):
        branches = [found.pop(child) for child in places.children[place]]
        found[place] = _joined(candidates, place, branches, bounds, least)
    return found[0]


def _joined(
    candidates: Candidates, place: int, branches: Sequence[FrontierPoints], bounds: Sequence[Bound], least: float
) -> FrontierPoints:
    """The points of a place: the leaf, if it may be one, and the sums of one point of each branch."""
    leaf = _leaf(candidates, place, len(branches))
    if not branches or not candidates.divisible[place]:
        return replace(leaf, branches=tuple(branches))
    many = FEWER if candidates.held.shape[1] else MANY.get(len(candidates.names), FEWER)
    children = candidates.places.children[place]
    sums = replace(leaf[np.zeros(0, np.int64)], left_out=max(branch.left_out for branch in branches))
    for i, (child, branch) in enumerate(zip(children, branches, strict=True)):
        options = _options(candidates, child, branch)
        sums = options if not i else _sums(sums, options)
        if i < len(branches) - 1:
            most = _least_of(
                [bound.before(place, children[i + 1 :], sums.due, sums.worth, sums.costs) for bound in bounds]
            )
            sums, most = _unbeaten(candidates, sums, most, least)
            sums = sums if len(most) <= many else _thinned(sums, most, many)
    sums = sums[(sums.of != GONE).any(axis=1)]
    answer = candidates.answer_of(sums.held)
    worth = sums.worth + sums.due[np.arange(len(answer)), answer]
    sums = replace(sums, worth=worth, due=np.zeros_like(sums.due))
    sums, _ = _unbeaten(candidates, sums, _most(candidates, bounds, place, sums), least)
    left_out = max(sums.left_out, *(branch.left_out for branch in branches))
    both = FrontierPoints(
        np.concatenate([leaf.worth, sums.worth]),
        np.concatenate([leaf.costs, sums.costs]),
        np.concatenate([leaf.held, sums.held]),
        np.concatenate([leaf.of, sums.of]),
        np.concatenate([leaf.due, sums.due]),
        tuple(branches),
        left_out,
    )
    both, most = _unbeaten(candidates, both, _most(candidates, bounds, place, both), least)
    return both if len(most) <= many else _thinned(both, most, many)


def _leaf(candidates: Candidates, place: int, branches: int) -> FrontierPoints:
    """The point of a leaf, none where it is not allowed."""
    may = slice(place, place + int(candidates.allowed[place]))
    due = np.zeros((may.stop - place, candidates.removed_worth.shape[1]))
    of = np.full((len(due), branches), LEAF)
    return FrontierPoints(candidates.worth[may], candidates.costs[may], candidates.held[may], of, due)


def _options(candidates: Candidates, place: int, points: FrontierPoints) -> FrontierPoints:
    """What a branch may be: a point, each by its number, or a removed leaf."""
    of = np.arange(len(points.worth))[:, None]
    if not candidates.removable[place]:
        return replace(points, of=of)
    return FrontierPoints(
        np.append(points.worth, 0.0),
        np.vstack([points.costs, candidates.removed_costs[place]]),
        np.vstack([points.held, np.zeros((1, points.held.shape[1]))]),
        np.vstack([of, [[GONE]]]),
        np.vstack([points.due, candidates.removed_worth[place]]),
        left_out=points.left_out,
    )


def _sums(these: FrontierPoints, others: FrontierPoints) -> FrontierPoints:
    """The sums of all pairs."""
    one = np.repeat(np.arange(len(these.worth)), len(others.worth))
    other = np.tile(np.arange(len(others.worth)), len(these.worth))
    return FrontierPoints(
        these.worth[one] + others.worth[other],
        these.costs[one] + others.costs[other],
        these.held[one] + others.held[other],
        np.hstack([these.of[one], others.of[other]]),
        these.due[one] + others.due[other],
        left_out=max(these.left_out, others.left_out),
    )


def _thinned(points: FrontierPoints, most: FloatArray, many: int) -> FrontierPoints:
    """Some of too many points: those that promise the most, and others of all costs."""
    promising = np.argsort(-most, kind="stable")
    others = np.random.default_rng(0).permutation(promising[many // 2 :])  # evenly spaced ones add up to few sums
    stay = np.sort(np.concatenate([promising[: many // 2], others[: many // 2]]))
    out = np.ones(len(most), bool)
    out[stay] = False
    return replace(points[stay], left_out=max(points.left_out, float(most[out].max())))


def _most(candidates: Candidates, bounds: Sequence[Bound], place: int, points: FrontierPoints) -> FloatArray:
    """The most that trees within limits can be worth that have these below a place."""
    answer = candidates.answer_of(points.held)
    return _least_of([bound.at(place, answer, points.worth, points.costs) for bound in bounds])


def _least_of(most: Sequence[FloatArray]) -> FloatArray:
    return np.asarray(np.minimum.reduce(most))


def _unbeaten(
    candidates: Candidates, points: FrontierPoints, most: FloatArray, least: float
) -> tuple[FrontierPoints, FloatArray]:
    """Points that may be worth as much as is asked for, and that none beats which does the same to removed leaves."""
    stay = np.flatnonzero(most >= least)
    points, most = points[stay], most[stay]
    if candidates.held.shape[1] or points.due.any():
        gone = (points.of == GONE).all(axis=1)[:, None]
        alike = np.unique(np.hstack([points.held, points.due, gone]), axis=0, return_inverse=True)[1].ravel()
    else:
        alike = (points.of == GONE).all(axis=1).astype(np.int64)
    stay = unbeaten_alike(points.worth, points.costs, alike)
    return points[stay], most[stay]


def unbeaten_alike(worth: FloatArray, costs: FloatArray, alike: IntArray) -> IntArray:
    """Points that no other of their group beats, see `unbeaten`; ``alike``, shape (n,), is the group of each."""
    if not alike.any():
        return unbeaten(worth, costs)
    if costs.shape[1] <= 1:
        cost = costs[:, 0] if costs.shape[1] else np.zeros(len(worth))
        apart = float(np.ptp(cost)) + 1.0
        order = np.lexsort([cost, -worth, alike])
        lower = np.ones(len(order), bool)
        before = cost[order] - alike[order] * apart  # those of later groups are lower than all of earlier ones
        lower[1:] = before[1:] < np.minimum.accumulate(before)[:-1]
        return np.asarray(order[lower])
    order = np.argsort(alike, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(alike[order])) + 1)
    return np.concatenate([group[unbeaten(worth[group], costs[group])] for group in groups])


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


def _tree(candidates: Candidates, points: FrontierPoints, top: int) -> tuple[BoolArray, BoolArray]:
    """Where the tree of one point of the root splits, and which of its leaves are removed."""
    splits, gone = np.zeros((2, len(candidates.places)), bool)
    stack = [(0, points, top)]
    while stack:
        place, here, number = stack.pop()
        of = here.of[number].tolist()
        if not of or of[0] == LEAF:
            continue
        splits[place] = True
        for child, branch, each in zip(candidates.places.children[place], here.branches, of, strict=True):
            if each == GONE:
                gone[child] = True
            else:
                stack.append((child, branch, each))
    return splits, gone
