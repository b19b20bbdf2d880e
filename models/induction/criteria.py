"""Privacy criteria of a group of people who cannot be distinguished: tests that every split must pass."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from maxent.models.arrays import BoolArray, IntArray
from maxent.models.induction.split_scores import TIE, Criterion


def too_small(k: int) -> Criterion:
    """k-anonymity (Sweeney 2002): a group has at least ``k`` records."""

    def breach(counts: IntArray) -> BoolArray:
        n = counts.sum(axis=1)
        return np.asarray((n > 0) & (n < k))

    return breach


def low_entropy(l: float) -> Criterion:  # noqa: E741 (the l of l-diversity)
    """Entropy l-diversity (Machanavajjhala et al. 2006): the entropy of a group's classes is at least log ``l``."""

    def breach(counts: IntArray) -> BoolArray:
        n = counts.sum(axis=1)
        logs = np.log(np.maximum(counts, 1))
        entropy = np.log(np.maximum(n, 1)) - (counts * logs).sum(axis=1) / np.maximum(n, 1)
        return np.asarray((n > 0) & (entropy < np.log(l) - TIE))

    return breach


def few_classes(l: float) -> Criterion:  # noqa: E741 (the l of l-diversity)
    """Distinct l-diversity (Machanavajjhala et al. 2006): a group has at least ``l`` different classes."""

    def breach(counts: IntArray) -> BoolArray:
        present = np.count_nonzero(counts, axis=1)
        return np.asarray((present > 0) & (present < l))

    return breach


def frequent_class(alpha: float) -> Criterion:
    """The alpha of (alpha, k)-anonymity (Wong et al. 2006): no class has more than that share of a group."""

    def breach(counts: IntArray) -> BoolArray:
        return np.asarray(counts.max(axis=1) > alpha * counts.sum(axis=1) * (1 + TIE))

    return breach


def any_of(criteria: Sequence[Criterion]) -> Criterion:
    """A group breaches when it breaches one of the criteria."""
    return lambda counts: np.logical_or.reduce([breach(counts) for breach in criteria])
