"""Learning rate and L2 penalty that the values of XGBoost's trees were computed with, as weights of inner nodes tell.

A leaf has the value ``-rate G / (H + lambda)``, an inner node the weight ``-G / (H + lambda)`` without the rate, each
with its H, the sum of second derivatives (Chen & Guestrin 2016, eq. 5). The G of two nodes add up to that of the node
above: an equation for each inner node, in two unknowns. Under an L1 penalty, or a limit of steps, they do not hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from maxent.models.arrays import FloatArray, IntArray

_OFF = 1e-6  # relative error of sums in single precision
_DIGITS = 5  # digits of the numbers that people choose
_APART = 1e-3  # relative distance of numbers that the equations have to tell apart
_LARGEST = 1e30  # weights and sums from which on nothing is computed
_FEWEST = 3  # equations that prove two numbers: one more than there are unknowns


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """The nodes of a tree: children, weights (with the rate at leaves), and sums of second derivatives; shapes (n,)."""

    left: IntArray
    right: IntArray
    weight: FloatArray
    hessian: FloatArray


def training_of(trees: Iterable[Weights | None], rate: float | None, l2: float | None) -> tuple[float, float] | None:
    """The learning rate and the L2 penalty of all trees; None where their weights do not prove them.

    ``trees``: none of a tree whose weights are not there: then nothing is proved. ``rate``, ``l2``: those that are
    known, which only have to agree.
    """
    every = list(trees)
    found = [_equations(tree) for tree in every if tree is not None]
    rows = np.concatenate([np.zeros((0, 8)), *found])
    if len(found) < len(every) or len(rows) < _FEWEST or not (np.abs(rows) < _LARGEST).all():
        return None
    for penalty in (l2,) if l2 is not None else (1.0, 0.0, *_guesses(rows)):
        terms = _terms(rows, penalty)
        best = rate if rate is not None else _rate(terms)
        for digits in range(1, _DIGITS + 1) if rate is None else (17,):
            rounded = float(f"{best:.{digits}g}")
            if _fits(terms, rounded) and not (_fits(terms, rounded * (1 + _APART)) or _fits_others(rows, penalty)):
                return rounded, penalty
    return None


def _rate(terms: FloatArray) -> float:
    """The rate that fits best."""
    return float(terms[:, 0] @ terms[:, 1] / max(float(terms[:, 1] @ terms[:, 1]), 1e-300))


def _fits(terms: FloatArray, rate: float) -> bool:
    """Whether all equations hold with this rate."""
    off = np.abs(terms[:, 0] - rate * terms[:, 1])
    return bool(rate > 0 and (off <= _OFF * (terms[:, 2] + rate * terms[:, 3])).all())


def _fits_others(rows: FloatArray, penalty: float) -> bool:
    """Whether all equations hold with another penalty, too, which then is not known."""
    others = (_terms(rows, penalty + sign * _APART * (1 + penalty)) for sign in (1, -1))
    return any(_fits(terms, _rate(terms)) for terms in others)


def _equations(tree: Weights) -> FloatArray:
    """Weight and H of an inner node, and of the two below, with whether each is a leaf: shape (n_inner, 8)."""
    inner = np.flatnonzero(tree.left >= 0)
    below = [tree.left[inner], tree.right[inner]]
    if len(inner) and not all((child >= 0).all() and (child < len(tree.left)).all() for child in below):
        return np.zeros((0, 8))
    parts: list[Sequence[float] | FloatArray] = [tree.weight[inner], tree.hessian[inner]]
    for child in below:
        parts += [tree.weight[child], tree.hessian[child], (tree.left[child] < 0).astype(np.float64)]
    return np.column_stack(parts)


def _terms(rows: FloatArray, penalty: float) -> FloatArray:
    """Both sides of ``a = rate b``, and the sums of the absolute terms of each; shape (n, 4)."""
    above = rows[:, 0] * (rows[:, 1] + penalty)
    a, b = np.zeros(len(rows)), above.copy()
    size_a, size_b = np.zeros(len(rows)), np.abs(above)
    for first in (2, 5):
        term = rows[:, first] * (rows[:, first + 1] + penalty)
        leaf = rows[:, first + 2] > 0
        a += np.where(leaf, term, 0.0)
        size_a += np.where(leaf, np.abs(term), 0.0)
        b -= np.where(leaf, 0.0, term)
        size_b += np.where(leaf, 0.0, np.abs(term))
    return np.column_stack([a, b, size_a, size_b])


def _guesses(rows: FloatArray) -> list[float]:
    """Penalties near the one that fits nodes above two leaves best, rounded to ever more digits."""
    pair = rows[(rows[:, 4] > 0) & (rows[:, 7] > 0)]
    w, h, left, h_left, right, h_right = (pair[:, i] for i in (0, 1, 2, 3, 5, 6))
    # rate w H + rate lambda w - lambda (v + v') = v H + v' H', linear in rate, rate lambda and lambda.
    matrix = np.column_stack([w * h, w, -(left + right)])
    if len(pair) < _FEWEST:
        return []
    fit, *_ = np.linalg.lstsq(matrix, left * h_left + right * h_right, rcond=None)
    return [float(f"{fit[2]:.{digits}g}") for digits in range(1, _DIGITS + 1) if fit[2] >= 0]
