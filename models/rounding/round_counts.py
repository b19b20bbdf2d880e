"""A release whose numbers of records are rounded to a base."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from maxent.models.arrays import IntArray
from maxent.models.errors import Problem
from maxent.models.release import Node, Release
from maxent.models.rounding.rounded import Rounded
from maxent.models.trees.restate import node_place, refuse

# Statements of nodes that would tell what rounding hides
UNROUNDED = ("error_rate", "rates", "value", "hessian", "mean", "variance")


def round_counts(release: Release, rounded: Rounded, seed: int | None = None) -> Release:
    """The same release with every n and count rounded, each for itself; labels stay those of all records.

    ``release``: its nodes state labels, n and counts of all records, and nothing else about them. ``rounded``: of two
    multiples that are as near, the larger one is the nearest. By chance the larger neighbour is taken with the
    probability that leaves the mean as it is. ``seed``: of chance.
    """
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
