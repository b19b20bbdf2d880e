"""Prices of what is limited: trees within limits that they lead to, and bounds on what any can be worth (Lagrange)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.defenses.optimal.best import Best, best, outside, tree_of
from maxent.models.defenses.optimal.places import Candidates
from maxent.models.defenses.optimal.removed import answered

HALVINGS = 30  # steps of looking for the price of one limit
ROUNDING = 1e-11  # share of a worth by which sums of the same leaves may differ
TURNS = 3  # how often the price of each of several limits is looked for


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A tree within limits, its worth and costs, and the most that any is worth.

    ``splits`` and ``gone``, shape (n_places,), say whether a place splits, or is a removed leaf.
    """

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
        """The same of some branches of a place, before those ``to_come``.

        ``due``, shape (n, n_answers), is what the removed among them are worth by the answer of the place.
        """
        others = self.either[list(to_come)].sum(axis=0) + self.rest[place]
        most = np.full(len(worth), -np.inf)
        for answer, more in enumerate(others.tolist()):
            most = np.maximum(most, due[:, answer] + more)
        return np.asarray(worth - costs @ self.prices + most + self.allowance)


def first_found(candidates: Candidates) -> tuple[Found | None, list[Bound]]:
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


def _tree(candidates: Candidates, chosen: Best) -> Found | None:
    """The tree of the best values, None where there is none."""
    if chosen.value[0].max() == -np.inf:
        return None
    return found_of(candidates, *tree_of(candidates, chosen))


def found_of(candidates: Candidates, splits: BoolArray, gone: BoolArray) -> Found:
    """A tree with its worth and costs, and nothing known of others."""
    return Found(splits, gone, *answered(candidates, splits, gone), np.inf)
