"""Numbers that a release predicts of a numeric target: the means of leaves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maxent.models.arrays import FloatArray, IntArray
from maxent.models.release import Release, Tree
from maxent.models.tables.columns.numeric_classes import class_of_numbers
from maxent.models.trees.places import number_places


def predicts_numbers(release: Release) -> bool:
    """Whether a release predicts numbers: its target is numeric, and every leaf states a mean."""
    if release.target.numbers is None or release.predicts not in (None, "mean"):
        return False
    return all(leaf.mean is not None for tree in release.trees for leaf in tree.leaves)


def predicted_numbers(release: Release, reached: Sequence[IntArray]) -> FloatArray:
    """The mean of the trees' numbers, each times its weight, shape (n,); NaN where no tree has one.

    ``reached`` has the place of each record in every tree. A place without a leaf has the mean of what is published
    below the nearest node with any, each leaf weighted by its records where all state them.
    """
    total, weight = np.zeros((2, len(reached[0])))
    for tree, place in zip(release.trees, reached, strict=True):
        found = numbers_of(tree)[place]
        there = ~np.isnan(found)
        total[there] += tree.weight * found[there]
        weight[there] += tree.weight
    return np.asarray(np.divide(total, weight, out=np.full(len(total), np.nan), where=weight > 0))


def numbers_of(tree: Tree) -> FloatArray:
    """The number that each place of a tree answers with, shape (n_places,)."""
    places = number_places(tree)
    sized = all(leaf.n is not None for leaf in tree.leaves)
    sums, sizes = np.zeros((2, len(places)))
    for place, node in enumerate(tree.nodes):
        if node.is_leaf and node.mean is not None:
            sizes[place] = float(node.n or 0) if sized else 1.0
            sums[place] = node.mean * sizes[place]
    for level in reversed(places.levels[1:]):
        np.add.at(sums, places.parent[level], sums[level])
        np.add.at(sizes, places.parent[level], sizes[level])
    found = np.divide(sums, sizes, out=np.full(len(places), np.nan), where=sizes > 0)
    for place, node in enumerate(tree.nodes):
        if node.is_leaf and node.mean is not None:
            found[place] = node.mean  # as it is stated, without a rounding error
    for level in places.levels[1:]:
        silent = level[np.isnan(found[level])]
        found[silent] = found[places.parent[silent]]
    return np.asarray(found)


def predicted_classes(release: Release, numbers: FloatArray) -> IntArray:
    """The class of each predicted number, shape (n,): the nearest, as means lie between the values of a target."""
    stands_for = np.array(release.target.numbers, np.float64)
    found = class_of_numbers(numbers, [tuple(pair) for pair in stands_for.tolist()])
    open_ = np.flatnonzero(found < 0)
    away = np.maximum(stands_for[:, 0] - numbers[open_, None], numbers[open_, None] - stands_for[:, 1])
    found[open_] = np.nan_to_num(away, nan=0.0).argmin(axis=1)
    return found
