"""What the tree predicts that only k cuts back, and how much better others are beyond chance.

Without removed leaves that tree is `maxent.models.defenses.leaf_pruning.prune_parent`'s, with them `prune_leaf`'s. A
leaf that `prune_leaf` removes has fewer than k people. More of them may be right with another prediction by chance: of
many such leaves some have most people of another class. The sign test says how many have to be for it to be no chance,
with a probability of 95 % for all of these leaves together (Bonferroni).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.trees.places import Places

CHANCE = 0.05  # the probability that any removed leaf has so many people of another class by chance


@dataclass(frozen=True, slots=True, eq=False)
class CutBack:
    """The leaves of that tree, removed or not, by their places: ``ends``, ``predicted`` and ``small``, (n_ends,).

    ``predicted`` are classes, ``small`` is whether a leaf is removed.
    """

    places: Places
    ends: IntArray
    predicted: IntArray
    small: BoolArray


def cut_back(places: Places, large: BoolArray, label: IntArray, weights: FloatArray | None) -> CutBack:
    """The tree of places that are ``large`` enough, of which each predicts its ``label``; shapes (n_places,).

    ``weights``, shape (n_places, n_classes), is what leaves state of their classes, which answers for removed ones:
    None where none is removed.
    """
    if weights is None:
        splits = places.n_branches > 0
        for level in places.levels[1:]:
            np.logical_and.at(splits, places.parent[level], large[level])
        reached = np.ones(len(places), bool)
        for level in places.levels[1:]:
            reached[level] = (reached & splits)[places.parent[level]]
        ends = np.flatnonzero(reached & ~splits)
        return CutBack(places, ends, label[ends], np.zeros(len(ends), bool))
    ends = np.flatnonzero(places.n_branches == 0)
    small = ~large[ends]
    held = np.zeros(weights.shape)
    held[ends] = np.where(small[:, None], 0.0, weights[ends])
    for level in reversed(places.levels[1:]):
        np.add.at(held, places.parent[level], held[level])
    answer = np.where(held.any(axis=1), held.argmax(axis=1), label[0])
    for level in places.levels[1:]:
        silent = level[~held[level].any(axis=1)]
        answer[silent] = answer[places.parent[silent]]
    return CutBack(places, ends, np.where(small, answer[ends], label[ends]), small)


def otherwise(tree: CutBack, n_classes: int) -> IntArray:
    """Leaves of that tree at or below each place that predict another class than each, and their number.

    Shape (n_places, n_classes + 1).
    """
    found = np.zeros((len(tree.places), n_classes), np.int64)
    found[tree.ends, tree.predicted] = 1
    found = _summed(tree.places, found)
    many = found.sum(axis=1, keepdims=True)
    return np.hstack([many - found, many])


def by_chance(tree: CutBack, counts: IntArray) -> IntArray:
    """People below each place who may be right with each class by chance, shape (n_places, n_classes).

    Of a removed leaf these are the people who are more than with what that tree predicts, but for those above the
    number with which the sign test begins to tell the two apart. ``counts``, of the same shape, are people of each
    class.
    """
    of_class = counts[tree.ends]
    own = of_class[np.arange(len(tree.ends)), tree.predicted][:, None]
    leaves = int((tree.small & of_class.any(axis=1)).sum())
    more = np.maximum(of_class - own, 0)
    sure = np.maximum(of_class - _fewest(own, int(of_class.max(initial=0)), leaves) + 1, 0)
    found = np.zeros(counts.shape, np.int64)
    found[tree.ends] = np.where(tree.small[:, None], more - np.minimum(more, sure), 0)
    return _summed(tree.places, found)


def _fewest(others: IntArray, most: int, leaves: int) -> IntArray:
    """The fewest people, up to ``most``, who are so many more than these others that it is no chance; else one more."""
    from scipy.special import bdtrc

    low, high = np.ones_like(others), np.full_like(others, most + 1)
    while (low < high).any():
        middle = (low + high) // 2
        told = leaves * bdtrc(middle - 1, middle + others, 0.5) < CHANCE
        low, high = np.where(told, low, np.minimum(middle + 1, high)), np.where(told, middle, high)
    return np.asarray(low)


def _summed(places: Places, of_ends: IntArray) -> IntArray:
    """The sums at and below each place."""
    for level in reversed(places.levels[1:]):
        np.add.at(of_ends, places.parent[level], of_ends[level])
    return of_ends
