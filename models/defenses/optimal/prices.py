"""Prices of what is limited: trees within limits that they lead to, and bounds on what any can be worth (Lagrange)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray
from maxent.models.defenses.optimal.best import Best, best, leaves_of, outside
from maxent.models.defenses.optimal.places import Candidates

HALVINGS = 30
"""Steps of looking for the price of one limit."""

TURNS = 3
"""How often the price of each of several limits is looked for."""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A tree within limits: whether each place splits, its worth and costs, and the most that any is worth."""

    splits: BoolArray
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

    ``rest``, shape (n_places,), is the best value of what is not below each place.
    """

    prices: FloatArray
    rest: FloatArray
    allowance: float

    def at(self, place: int, worth: FloatArray, costs: FloatArray) -> FloatArray:
        """The most that trees with these below a place can be worth, shape (n,)."""
        return np.asarray(worth - costs @ self.prices + self.rest[place] + self.allowance)


def first_found(candidates: Candidates) -> tuple[Found | None, list[Bound]]:
    """The best tree within limits that prices lead to, None if none does, and bounds at the prices found."""
    n = len(candidates.names)
    free = best(candidates, np.zeros(n))
    bounds = [_bound(candidates, np.zeros(n), free)]
    known = _tree(candidates, free)
    if known is None:
        return None, bounds
    if keeps(candidates, known.costs):
        return replace(known, most=known.worth), bounds
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
    alone = replace(candidates, worth=-candidates.costs[:, limit])
    return -float(best(alone, np.zeros(len(candidates.names))).value[0])


def keeps(candidates: Candidates, costs: FloatArray) -> bool:
    """Whether these are within the limits."""
    return bool((costs <= candidates.kept).all())


def _bound(candidates: Candidates, prices: FloatArray, chosen: Best) -> Bound:
    return Bound(prices, outside(candidates.places, chosen), float(prices @ candidates.kept))


def _tree(candidates: Candidates, chosen: Best) -> Found | None:
    """The tree of the best values, None where there is none."""
    if chosen.value[0] == -np.inf:
        return None
    leaves = leaves_of(candidates.places, chosen.splits)
    worth, costs = candidates.worth[leaves].sum(), candidates.costs[leaves].sum(axis=0)
    return Found(chosen.splits, float(worth), costs, np.inf)
