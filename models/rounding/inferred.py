"""What is known, and what is inferred, of the people of leaves whose counts are rounded, if nothing else tells."""

from __future__ import annotations

import numpy as np

from maxent.models.arrays import FloatArray, IntArray
from maxent.models.rounding.round_counts import rounded_numbers
from maxent.models.rounding.rounded import Rounded

ROUNDS = 64  # halvings after which a level is known


def possible_counts(counts: IntArray, label: IntArray, rounded: Rounded) -> FloatArray:
    """The most people of each class that rounded counts allow a leaf, shape as of ``counts``; by chance, at the worst.

    ``counts`` of shape (n_leaves, n_classes): the true ones. It is known how many people are in each leaf. ``label`` of
    shape (n_leaves,): the class that each leaf names, which tells something where it is a most frequent one.
    """
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
