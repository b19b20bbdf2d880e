"""The best subtree whose limits are those of its leaves: dynamic programming, level by level, exact and linear."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.defenses.optimal.places import Candidates
from maxent.models.trees.places import Places


@dataclass(frozen=True, slots=True, eq=False)
class Best:
    """The best value of the subtree below each place, -inf where none is allowed, and whether it splits there."""

    value: FloatArray
    splits: BoolArray


def best(found: Candidates, prices: FloatArray) -> Best:
    """The most that ``worth - prices @ costs`` of allowed leaves sums up to below each place.

    Of equal values a leaf is preferred, so that the tree is the smallest that is best.
    """
    places = found.places
    own = np.where(found.allowed, found.worth - found.costs @ prices, -np.inf)
    value, splits = own.copy(), np.zeros(len(own), bool)
    for level in reversed(places.levels[:-1]):
        inner = level[places.n_branches[level] > 0]
        value_below = below(places, inner, value)
        splits[inner] = value_below > own[inner]
        value[inner] = np.maximum(own[inner], value_below)
    return Best(value, splits)


def below(places: Places, inner: IntArray, amount: FloatArray) -> FloatArray:
    """The sums of an amount over the branches of each of these inner places, shape (n_inner,)."""
    branches = places.n_branches[inner]
    start = (np.cumsum(places.n_branches) - places.n_branches)[inner]
    within = np.arange(int(branches.sum())) - np.repeat(np.cumsum(branches) - branches, branches)
    children = places.below[np.repeat(start, branches) + within]
    return np.asarray(np.add.reduceat(amount[children], np.cumsum(branches) - branches))


def outside(places: Places, chosen: Best) -> FloatArray:
    """The best value of the rest of a tree that splits above each place, shape (n_places,)."""
    rest = np.zeros(len(places))
    for level in places.levels[1:]:
        above = places.parent[level]
        together = np.zeros(len(places))
        parents = np.unique(above)
        together[parents] = below(places, parents, chosen.value)
        with np.errstate(invalid="ignore"):
            rest[level] = rest[above] + together[above] - chosen.value[level]
    return np.where(np.isnan(rest), -np.inf, rest)


def leaves_of(places: Places, splits: BoolArray) -> IntArray:
    """The leaves of the tree that splits where it says, increasing."""
    open_, leaves = np.zeros(1, np.int64), []
    while len(open_):
        inner = open_[splits[open_]]
        leaves.append(open_[~splits[open_]])
        open_ = np.array([child for place in inner.tolist() for child in places.children[place]], np.int64)
    return np.sort(np.concatenate(leaves))
