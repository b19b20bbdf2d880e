"""Counts of the samples of random trees, leaf by leaf, before any is suppressed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from maxent.models.arrays import FloatArray, IntArray
from maxent.models.defenses.random_trees.paths import Space, Words, leaf_keys
from maxent.models.tables.training import Training

Source = Callable[[int], Words]  # so many random numbers of 64 bits
_CHUNK = 2**16  # records that walk together


@dataclass(frozen=True, slots=True, eq=False)
class Leaves:
    """The leaves that a sample reaches: their keys, shape (n,), and their records per class, shape (n, n_classes).

    ``some`` has one of the records of each, shape (n, n_attributes): it tells the path to the leaf.
    """

    key: Words
    counts: IntArray
    some: FloatArray

    def add(self, key: Words, y: IntArray, x: FloatArray) -> Leaves:
        """Count more records, with the keys of their leaves and their classes."""
        found, first, at = np.unique(np.concatenate([self.key, key]), return_index=True, return_inverse=True)
        old, n_classes = self.counts.shape
        counts = np.bincount(at[old:] * n_classes + y, minlength=len(found) * n_classes).reshape(-1, n_classes)
        counts[at[:old]] += self.counts
        return Leaves(found, counts, np.concatenate([self.some, x])[first])

    def suppressed(self, k: int) -> Leaves:
        """The leaves that have a count of at least k, and counts of 0 for those below."""
        counts = np.where(self.counts >= k, self.counts, 0)
        shown = counts.any(axis=1)
        return Leaves(self.key[shown], counts[shown], self.some[shown])


def randomness(seed: int | None, tree: int) -> tuple[np.uint64, Source]:
    """The key of a tree's root, and where the random numbers of its sample come from, independent of each other.

    Without a seed that is the operating system, whose numbers are fit for cryptography.
    """

    def stream(use: int) -> np.random.PCG64:
        return np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(tree, use)))

    return np.uint64(stream(0).random_raw()), _system_words if seed is None else stream(1).random_raw


def count_leaves(
    batches: Iterable[Training],
    random: Sequence[tuple[np.uint64, Source]],
    beta: float,
    space: Space,
    depth: int,
    n_classes: int,
) -> tuple[Leaves, ...]:
    """Count a sample of all records in each of the trees that have this `randomness`."""
    n_attributes = len(space.sizes)
    nobody = Leaves(np.empty(0, np.uint64), np.empty((0, n_classes), np.int64), np.empty((0, n_attributes)))
    leaves = [nobody] * len(random)
    for x, y in _chunks(batches):
        for t, (root, source) in enumerate(random):
            rows = _sample(len(y), beta, source)
            here = x[rows]
            leaves[t] = leaves[t].add(leaf_keys(space, root, depth, here), y[rows], here)
    return tuple(leaves)


def _chunks(batches: Iterable[Training]) -> Iterator[tuple[FloatArray, IntArray]]:
    """The records as numbers, shape (n, n_attributes), and their classes, shape (n,), a few at a time."""
    for batch in batches:
        for begin in range(0, len(batch), _CHUNK):
            chunk = slice(begin, begin + _CHUNK)
            y = batch.y[chunk]
            yield np.column_stack([np.empty((len(y), 0)), *(column[chunk] for column in batch.columns)]), y


def _sample(n: int, beta: float, source: Source) -> IntArray:
    """The indices of a Bernoulli sample of n records."""
    return np.arange(n) if beta >= 1 else np.flatnonzero(source(n) < np.uint64(int(beta * 2.0**64)))


def _system_words(n: int) -> Words:
    """Random numbers from the operating system."""
    return np.frombuffer(os.urandom(8 * n), np.uint64)
