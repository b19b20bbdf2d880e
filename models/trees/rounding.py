"""Rounding of the published counts of a release to a base: the result, and possible true counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from maxent.models.arrays import FloatArray, IntArray
from maxent.models.errors import Problem
from maxent.models.release import Node, Release, Rounded
from maxent.models.trees.restate import node_place, refuse

# Statements of nodes that would tell what rounding hides
UNROUNDED = ("error_rate", "rates", "value", "hessian", "mean", "variance")


def round_counts(release: Release, rounded: Rounded, seed: int | None = None) -> Release:
    """The same release with every n and count rounded, each for itself; labels stay those of all records."""
    refuse(list(_problems(release)))
    dice = np.random.default_rng(seed)
    trees = tuple(
        replace(tree, nodes=tuple(_rounded(node, rounded, dice) for node in tree.nodes)) for tree in release.trees
    )
    return replace(release, trees=trees, rounded=rounded)


def rounded_numbers(numbers: IntArray, rounded: Rounded, dice: np.random.Generator | None = None) -> IntArray:
    """Numbers of records as they are published, shape as given; only chance needs a generator."""
    base = rounded.base
    over = numbers % base
    if rounded.method == "random" and dice is not None:
        up = dice.integers(base, size=over.shape) < over
    else:
        up = 2 * over >= base if rounded.method == "nearest" else np.zeros(over.shape, bool)
    return np.asarray(numbers - over + base * up, np.int64)


def _rounded(node: Node, rounded: Rounded, dice: np.random.Generator) -> Node:
    """A node with its numbers rounded."""
    counts = {} if node.counts is None else dict(node.counts)
    stated = [*counts.values(), *([] if node.n is None else [node.n])]
    if not stated:
        return node
    found = rounded_numbers(np.array(stated, np.int64), rounded, dice).tolist()
    n = None if node.n is None else found[-1]
    by_class = None if node.counts is None else dict(zip(counts, found, strict=False))
    return replace(node, n=n, counts=by_class)


def _problems(release: Release) -> Iterator[Problem]:
    """Reasons why the numbers of a release cannot be rounded."""
    if release.sampled or release.blurred:
        yield Problem("release", "counts", "counts of all records, as they are", "others, or some that were changed")
    for t, tree in enumerate(release.trees):
        for node in tree.nodes:
            for field in UNROUNDED:
                if getattr(node, field) is not None:
                    expected = "nothing but labels, n and counts beside rounded numbers"
                    yield Problem(node_place(release, t, node), field, expected, str(getattr(node, field)))


# What is known, and what is inferred, of the people of leaves whose counts are rounded, if nothing else tells.

ROUNDS = 64  # halvings after which a level is known


def possible_counts(counts: IntArray, label: IntArray, rounded: Rounded) -> FloatArray:
    """The most people of each class that rounded counts allow a leaf, at the worst, if its size is known."""
    low, high = _intervals(counts, label, rounded)
    others = low.sum(axis=1, keepdims=True) - low
    return np.asarray(np.minimum(high, counts.sum(axis=1, keepdims=True) - others))


def inferred_counts(counts: IntArray, label: IntArray, rounded: Rounded) -> FloatArray:
    """The people of each class by the largest entropy that rounded counts allow a leaf; arguments of `possible_counts`.

    Of chance, which is not drawn here, the true counts: no draw lets anybody infer more.

    Notes
    -----
    Every class has the same number of people, as far as its interval lets it: ``clip(level, low, high)``, with the
    level at which they add up. All other numbers within the intervals majorise these (Marshall, Olkin & Arnold 2011).
    """
    if rounded.method == "random":
        return counts.astype(np.float64)
    n = counts.sum(axis=1, keepdims=True).astype(np.float64)
    low, high = _intervals(counts, label, rounded)
    below, above = np.zeros_like(n), n.copy()
    for _ in range(ROUNDS):
        level = (below + above) / 2
        short = np.clip(level, low, high).sum(axis=1, keepdims=True) < n
        below, above = np.where(short, level, below), np.where(short, above, level)
    found = np.clip(above, low, high)
    free = (low < above) & (above < high)
    left = n[:, 0] - np.where(free, 0.0, found).sum(axis=1)
    level = np.divide(left, free.sum(axis=1), out=np.zeros(len(n)), where=free.any(axis=1))
    return np.asarray(np.where(free, level[:, None], found))


def _intervals(counts: IntArray, label: IntArray, rounded: Rounded) -> tuple[FloatArray, FloatArray]:
    """Fewest and most people of each class, by the counts and the labels of leaves."""
    least = most = rounded_numbers(counts, rounded)
    if rounded.method == "random":
        least = counts - counts % rounded.base
        most = least + rounded.base * (counts % rounded.base > 0)
    low, high = rounded.behind(least)[0].astype(np.float64), rounded.behind(most)[1].astype(np.float64)
    rows = np.flatnonzero(counts[np.arange(len(counts)), label] >= counts.max(axis=1))
    named = label[rows]
    low[rows, named] = low[rows].max(axis=1)
    high[rows] = np.minimum(high[rows], high[rows, named][:, None])
    return low, np.minimum(high, counts.sum(axis=1, keepdims=True))
