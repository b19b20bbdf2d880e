"""Weights of two classes that depend on how many records each has, told by the first tree of a boosted model.

All records have the same score s before it, p being its probability. With weights w of the two classes, a leaf of n
records, m of them of the second class, has ``G = w_0 p (n - m) - w_1 (1 - p) m``, ``H = p (1 - p) (w_0 (n - m) + w_1
m)`` and the value ``-rate G / (H + l2)``. So each number of records of the second class, in all, which the weights
depend on, gives an m for each leaf; these have to be whole numbers that add up to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray

# The weights of two classes, from the records of the second, shape (n,), and those of both
Weighing = Callable[[FloatArray, float], tuple[FloatArray, FloatArray]]

_OFF = 1e-6  # by how much what is computed of each record may be off, as a share of its weight
_MOST = 10**7  # leaves of the first tree times records, up to which numbers of records are tried
_TOGETHER = 1 << 20  # numbers that are looked at together


@dataclass(frozen=True, slots=True, eq=False)
class FirstTree:
    """The leaves of the first tree: records, values and L2 penalties, shapes (n_leaves,), and the learning rate."""

    records: FloatArray
    value: FloatArray
    penalty: FloatArray
    rate: float


def balanced(second: FloatArray, n: float) -> tuple[FloatArray, FloatArray]:
    """The weights ``n / (2 n_x)`` of two classes, the second of so many records."""
    return n / (2 * (n - second)), n / (2 * second)


def unbalanced(second: FloatArray, n: float) -> tuple[FloatArray, FloatArray]:
    """The weights of ``is_unbalance`` of LightGBM: 1 of the more frequent class, their ratio of the other."""
    ratio = (n - second) / second
    return np.maximum(1 / ratio, 1.0), np.maximum(ratio, 1.0)


def number_of_second(
    tree: FirstTree, weights: Weighing, *, averaged: bool, contained: bool = False, weighed: bool = False
) -> tuple[float, float] | None:
    """How many records are of the second class, and the score before the tree; None unless one number alone fits.

    ``weights``: the weights of both classes, from the records of the second, shape (n,), and those of both.
    ``averaged``: whether the score is the logarithm of the odds of the second class among the records, else 0.
    ``contained``: whether the values of the tree contain that score.
    ``weighed``: whether the odds of that score are those of the weights of both classes.
    """
    n = float(tree.records.sum())
    if len(tree.records) < 2 or n * len(tree.records) > _MOST:
        return None

    def base(second: FloatArray) -> FloatArray:
        first, other = weights(second, n) if weighed else (np.ones(len(second)), np.ones(len(second)))
        return np.log(other * second / (first * (n - second))) if averaged else np.zeros(len(second))

    found: list[float] = []
    step = max(1, _TOGETHER // len(tree.records))
    for begin in range(1, int(n), step):
        second = np.arange(begin, min(begin + step, int(n)), dtype=np.float64)
        fits = _fits(tree, weights(second, n), base(second), second, contained=contained)
        found += second[fits].tolist()
    return (found[0], float(base(np.array(found))[0])) if len(found) == 1 else None


def _fits(
    tree: FirstTree, weights: tuple[FloatArray, FloatArray], base: FloatArray, second: FloatArray, *, contained: bool
) -> BoolArray:
    """Whether so many records of the second class, each with its score, make whole numbers, shape (n,)."""
    first, other, base = weights[0][:, None], weights[1][:, None], base[:, None]
    p = 1 / (1 + np.exp(-base))
    s = (tree.value - (base if contained else 0.0)) / tree.rate
    a = p + s * p * (1 - p)
    with np.errstate(divide="ignore", invalid="ignore"):
        divisor = other + (first - other) * a
        m = (first * a * tree.records + s * tree.penalty) / divisor
        wide = _OFF * (1 + np.abs((first * (tree.records - m) + other * m) / divisor))
    whole = np.abs(m - np.rint(m)) <= wide
    inside = (m > -0.5) & (m < tree.records + 0.5)
    total = np.abs(m.sum(axis=1) - second) <= wide.sum(axis=1)
    result: BoolArray = (whole & inside).all(axis=1) & total
    return result
