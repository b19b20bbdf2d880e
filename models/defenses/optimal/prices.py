"""Prices of limits (Lagrange multipliers): trees and bounds that they give, also where leaves are removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.defenses.optimal.best import Best, best, leaves_of, outside, tree_of
from maxent.models.defenses.optimal.places import ROUNDING as ROUNDING_places
from maxent.models.defenses.optimal.places import Candidates

if TYPE_CHECKING:
    from maxent.models.defenses.optimal.limits import SubtreeLimits

# Removed leaves in the search: what is inferred of their people, and what is predicted for them.
#
# Nothing is stated of a removed leaf. Somebody who knows who is in it can only hold every class for equally likely. Its
# people are predicted the class that the leaves below the nearest node above with any answer together, as
# `maxent.models.trees.predict.predict_proba` does it.


def with_removed(found: Candidates, limits: SubtreeLimits) -> Candidates:
    """The same candidates where every place but the root may be a removed leaf."""
    n, classes = found.counts.shape
    shares = [share for share in (limits.max_posterior, limits.alpha) if share is not None]
    unknown = (
        1 / classes <= min([1.0, *shares]) + ROUNDING_places
        and (limits.l or 1) <= classes + ROUNDING_places
        and classes > 1
    )
    removable = np.full(n, unknown)
    removable[0] = False
    people = found.counts.sum(axis=1)
    costs = {
        "max_certain": np.zeros(n),
        "max_right_guesses": found.counts.max(axis=1),
        "min_divergence": -people * np.log(classes),
    }
    counted = replace(
        found,
        removable=removable,
        removed_costs=np.array([costs[name] for name in found.names], np.float64).reshape(len(found.names), n).T,
    )
    if found.objective == "impurity":
        return replace(counted, removed_worth=np.asarray(people[:, None] / classes, np.float64))
    held = found.weights if found.objective == "accuracy" else -found.weights @ limits.cost.T
    worth = (
        found.counts * found.record - found.trifle if found.objective == "accuracy" else -found.counts @ limits.cost.T
    )
    return replace(counted, answer=held.argmax(axis=1), held=held, removed_worth=np.asarray(worth, np.float64))


def without_removed(found: Candidates) -> Candidates:
    """The same candidates where no leaf may be removed."""
    n = len(found.places)
    return replace(
        found,
        answer=np.zeros(n, np.int64),
        held=np.zeros((n, 0)),
        removable=np.zeros(n, bool),
        removed_worth=np.zeros((n, 1)),
    )


def answered(found: Candidates, splits: BoolArray, gone: BoolArray) -> tuple[float, FloatArray]:
    """The worth and the costs of a tree, each removed leaf with the answer that is given for it."""
    places, leaves = found.places, leaves_of(found.places, splits)
    kept, out = leaves[~gone[leaves]], leaves[gone[leaves]]
    worth, costs = float(found.worth[kept].sum()), found.costs[kept].sum(axis=0)
    if not len(out):
        return worth, costs
    held = np.zeros((len(places), found.held.shape[1]))
    held[kept] = found.held[kept]
    for level in reversed(places.levels[1:]):
        np.add.at(held, places.parent[level], held[level])
    answer = found.answer_of(held)[places.parent[out]]
    return worth + float(found.removed_worth[out, answer].sum()), costs + found.removed_costs[out].sum(axis=0)


def all_kept(found: Candidates) -> tuple[BoolArray, BoolArray] | None:
    """The whole tree without the leaves that break a limit, where they may be removed; as `best.tree_of`."""
    places = found.places
    ends = places.n_branches == 0
    gone = ends & ~found.allowed
    for level in reversed(places.levels[:-1]):
        inner = level[places.n_branches[level] > 0]
        for place in inner.tolist():
            gone[place] = all(gone[child] for child in places.children[place])
    if gone[0] or not found.removable[np.flatnonzero(gone)].all():
        return None
    splits = ~ends & ~gone
    if not found.divisible[splits].all():
        return None
    for level in places.levels[1:]:
        above = places.parent[level]
        splits[level] &= splits[above]
        gone[level] &= splits[above]
    return splits, gone


HALVINGS = 30  # steps of looking for the price of one limit
ROUNDING = 1e-11  # share of a worth by which sums of the same leaves may differ
TURNS = 3  # how often the price of each of several limits is looked for


@dataclass(frozen=True, slots=True, eq=False)
class FoundSubtree:
    """A tree within limits, its worth and costs, and the most that any is worth."""

    splits: BoolArray
    gone: BoolArray
    worth: float
    costs: FloatArray
    most: float

    @property
    def proved(self) -> bool:
        """Whether no tree within limits is worth more."""
        return self.worth >= self.most


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """A bound on the worth of every tree within limits, from one set of prices, shape (n_limits,).

    ``rest`` is the best value of what is not below each place, by the answer of what is, and ``either`` that of each
    place by the answer of the node above; shape (n_places, n_answers) both.
    """

    prices: FloatArray
    rest: FloatArray
    either: FloatArray
    allowance: float

    def at(self, place: int, answer: IntArray, worth: FloatArray, costs: FloatArray) -> FloatArray:
        """The most that trees with these below a place, and this answer there, can be worth, shape (n,)."""
        return np.asarray(worth - costs @ self.prices + self.rest[place, answer] + self.allowance)

    def before(
        self, place: int, to_come: Sequence[int], due: FloatArray, worth: FloatArray, costs: FloatArray
    ) -> FloatArray:
        """The same of some branches of a place, before those ``to_come``."""
        others = self.either[list(to_come)].sum(axis=0) + self.rest[place]
        most = np.full(len(worth), -np.inf)
        for answer, more in enumerate(others.tolist()):
            most = np.maximum(most, due[:, answer] + more)
        return np.asarray(worth - costs @ self.prices + most + self.allowance)


def first_found(candidates: Candidates) -> tuple[FoundSubtree | None, list[Bound]]:
    """The best tree within limits that prices lead to, None if none does, and bounds at the prices found."""
    n = len(candidates.names)
    free = best(candidates, np.zeros(n))
    bounds = [_bound(candidates, np.zeros(n), free)]
    known = _tree(candidates, free)
    if known is None:
        return None, bounds
    if keeps(candidates, known.costs):
        most = float(free.value[0].max())
        same = abs(most - known.worth) <= ROUNDING * (1.0 + abs(most))  # the same leaves in another order
        return replace(known, most=known.worth if same else most), bounds
    known = None
    apart = np.ptp(candidates.costs, axis=0)
    scale = np.ptp(candidates.worth) / np.where(apart > 0, apart, 1.0)
    prices = np.zeros(n)
    for _ in range(1 if n == 1 else TURNS):
        for i in range(n):
            low, high = 0.0, 4.0 * scale[i]
            for _ in range(HALVINGS):
                prices[i] = (low + high) / 2
                tree = _tree(candidates, best(candidates, prices))
                if tree is None:
                    return None, bounds
                if keeps(candidates, tree.costs) and (known is None or tree.worth > known.worth):
                    known = tree
                low, high = (low, prices[i]) if tree.costs[i] <= candidates.kept[i] else (prices[i], high)
            prices[i] = high
            bounds.append(_bound(candidates, prices.copy(), best(candidates, prices)))
    return known, bounds


def cheapest(candidates: Candidates, limit: int) -> float:
    """The least of what one limit is about that any tree has."""
    removed = np.broadcast_to(-candidates.removed_costs[:, [limit]], candidates.removed_worth.shape)
    alone = replace(candidates, worth=-candidates.costs[:, limit], removed_worth=removed)
    return -float(best(alone, np.zeros(len(candidates.names))).value[0].max())


def keeps(candidates: Candidates, costs: FloatArray) -> bool:
    """Whether these are within the limits."""
    return bool((costs <= candidates.kept).all())


def _bound(candidates: Candidates, prices: FloatArray, chosen: Best) -> Bound:
    return Bound(prices, outside(candidates, chosen), chosen.either, float(prices @ candidates.kept))


def _tree(candidates: Candidates, chosen: Best) -> FoundSubtree | None:
    """The tree of the best values, None where there is none."""
    if chosen.value[0].max() == -np.inf:
        return None
    return found_of(candidates, *tree_of(candidates, chosen))


def found_of(candidates: Candidates, splits: BoolArray, gone: BoolArray) -> FoundSubtree:
    """A tree with its worth and costs, and nothing known of others."""
    return FoundSubtree(splits, gone, *answered(candidates, splits, gone), np.inf)
