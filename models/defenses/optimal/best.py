"""The best subtree whose limits are those of its leaves: dynamic programming, level by level, and linear.

A removed leaf answers with what the leaves that are published below the node above it hold together. So a place has a
best value for each answer that it may give. Which answer leaves give together is not known before they are chosen; of
branches that all give the same answer it is that one. What else is taken to be possible makes values too large, if
anything; without removed leaves, and where these are worth the same under any answer, values are exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.defenses.optimal.places import Candidates
from maxent.models.trees.places import Places

NEVER = -1


@dataclass(frozen=True, slots=True, eq=False)
class Best:
    """The best value of what is below each place, by the answer that it gives, and what it consists of.

    ``own`` of shape (n_places,): of a leaf. ``value``, ``split`` of shape (n_places, n_answers): of what is published
    there, and of what splits there; -inf where none is allowed. ``removed`` of shape (n_places, n_answers): of a
    removed leaf, by the answer that the node above gives. ``leads`` of shape (n_places, n_answers, 2): of a split, the
    branch that gives its answer, and -1; or two branches that may give it together.
    """

    own: FloatArray
    value: FloatArray
    split: FloatArray
    removed: FloatArray
    leads: IntArray

    @property
    def either(self) -> FloatArray:
        """The best value of each place, published or removed, by the answer of the node above; as ``value``."""
        return np.asarray(np.maximum(self.value.max(axis=1)[:, None], self.removed))


def best(found: Candidates, prices: FloatArray) -> Best:
    """The most that ``worth - prices @ costs`` of allowed leaves sums up to below each place.

    Of equal values a leaf is preferred, so that the tree is the smallest of all that are best.
    """
    places = found.places
    n, answers = len(places), found.removed_worth.shape[1]
    own = np.where(found.allowed, found.worth - found.costs @ prices, -np.inf)
    removed = found.removed_worth - (found.removed_costs @ prices)[:, None]
    chosen = Best(
        own,
        np.full((n, answers), -np.inf),
        np.full((n, answers), -np.inf),
        np.where(found.removable[:, None], removed, -np.inf),
        np.full((n, answers, 2), NEVER),
    )
    chosen.value[np.arange(n), found.answer] = own
    for level in reversed(places.levels[:-1]):
        inner = level[places.n_branches[level] > 0]
        children, start = children_of(places, inner)
        one, both = _needed(chosen, children, start)
        total = np.add.reduceat(chosen.either[children], start, axis=0)
        alone = one.least <= both.least + both.next
        lost = np.where(alone, one.least, both.least + both.next)
        chosen.split[inner] = np.where(found.divisible[inner][:, None], total - lost, -np.inf)
        chosen.leads[inner, :, 0] = children[np.where(alone, one.at, both.at)]
        chosen.leads[inner, :, 1] = np.where(alone, NEVER, children[both.next_at])
        chosen.value[inner] = np.maximum(chosen.value[inner], chosen.split[inner])
    return chosen


@dataclass(frozen=True, slots=True, eq=False)
class _Least:
    """The least of each run, and the next, with where they are; shape (n_runs, n_answers) each."""

    least: FloatArray
    at: IntArray
    next: FloatArray
    next_at: IntArray


def _needed(chosen: Best, children: IntArray, start: IntArray) -> tuple[_Least, _Least]:
    """What is lost where a branch is to give an answer; and where it is to be published at all, of three answers on."""
    either, value = chosen.either[children], chosen.value[children]
    kept = np.broadcast_to(value.max(axis=1)[:, None], either.shape)
    with np.errstate(invalid="ignore"):
        gives, stays = either - value, either - kept
    one = _least(np.where(np.isnan(gives), np.inf, gives), start)
    several = (np.isnan(stays) | (either.shape[1] < 3), np.inf, stays)
    return one, _least(np.where(*several), start)


def _least(amount: FloatArray, start: IntArray) -> _Least:
    """The two least of each run."""
    at = _first_least(amount, start)
    column = np.arange(amount.shape[1])
    others = amount.copy()
    others[at, column] = np.inf
    next_at = _first_least(others, start)
    return _Least(amount[at, column], at, others[next_at, column], next_at)


def _first_least(amount: FloatArray, start: IntArray) -> IntArray:
    """Where the least of each run is, the first of several."""
    size = np.diff(np.append(start, len(amount)))
    least = np.repeat(np.minimum.reduceat(amount, start, axis=0), size, axis=0)
    at = np.where(amount <= least, np.arange(len(amount))[:, None], len(amount))
    return np.asarray(np.minimum.reduceat(at, start, axis=0))


def children_of(places: Places, inner: IntArray) -> tuple[IntArray, IntArray]:
    """The places below each of these inner places, one after the other, and where those of each start."""
    branches = places.n_branches[inner]
    start = (np.cumsum(places.n_branches) - places.n_branches)[inner]
    within = np.arange(int(branches.sum())) - np.repeat(np.cumsum(branches) - branches, branches)
    return places.below[np.repeat(start, branches) + within], np.cumsum(branches) - branches


def outside(found: Candidates, chosen: Best) -> FloatArray:
    """The best value of the rest of a tree that splits above each place, by the answer of the place."""
    places, rest = found.places, np.full(chosen.value.shape, -np.inf)
    rest[0] = 0.0
    either = chosen.either
    for level in places.levels[:-1]:
        inner = level[places.n_branches[level] > 0]
        children, start = children_of(places, inner)
        above = np.repeat(np.arange(len(inner)), places.n_branches[inner])
        one, both = _needed(chosen, children, start)
        here = np.arange(len(children))[:, None]
        others = [np.where(least.at[above] == here, least.next[above], least.least[above]) for least in (one, both)]
        total = np.add.reduceat(either[children], start, axis=0)
        with np.errstate(invalid="ignore"):
            free = (
                np.where(found.divisible[inner][:, None], rest[inner], -np.inf)[above] + total[above] - either[children]
            )
        free = np.where(np.isnan(free), -np.inf, free)
        given = (free - np.minimum(*others)).max(axis=1)  # another branch gives the answer
        rest[children] = np.maximum(free, given[:, None])
    return rest


def tree_of(found: Candidates, chosen: Best) -> tuple[BoolArray, BoolArray]:
    """Where the tree of the best value splits, and which of its leaves are removed, shape (n_places,) each."""
    places, either = found.places, chosen.either
    splits, gone = np.zeros((2, len(places)), bool)
    wanted = np.full(len(places), NEVER)
    wanted[0] = chosen.value[0].argmax()
    kept = chosen.value.max(axis=1)
    for level in places.levels:
        inner = level[(wanted[level] >= 0) & (places.n_branches[level] > 0)]
        split = chosen.split[inner, wanted[inner]]
        inner = inner[split > np.where(found.answer[inner] == wanted[inner], chosen.own[inner], -np.inf)]
        splits[inner] = True
        children, _ = children_of(places, inner)
        answer = np.repeat(wanted[inner], places.n_branches[inner])
        leads = chosen.leads[inner, wanted[inner]]
        first, second = leads[:, 0], leads[leads[:, 1] >= 0, 1]
        out = kept[children] < either[children, answer]
        out &= ~np.isin(children, first) & ~np.isin(children, second)
        gone[children[out]] = True
        wanted[children[~out]] = chosen.value[children[~out]].argmax(axis=1)
        alone = leads[:, 1] < 0
        wanted[first[alone]] = wanted[inner[alone]]
    return splits, gone


def leaves_of(places: Places, splits: BoolArray) -> IntArray:
    """The leaves of the tree that splits where it says, increasing, those that are removed among them."""
    open_, leaves = np.zeros(1, np.int64), []
    while len(open_):
        inner = open_[splits[open_]]
        leaves.append(open_[~splits[open_]])
        open_ = np.array([child for place in inner.tolist() for child in places.children[place]], np.int64)
    return np.sort(np.concatenate(leaves))
