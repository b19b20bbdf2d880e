"""Limits on leaves and on all of them together, by their definitions, and random ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxent.models.defenses.optimal.limits import Limits

CLASSES = ("yes", "no", "perhaps")


def entropy(leaf: Any) -> float:
    shares = [c / sum(leaf) for c in leaf if c]
    return -sum(leaf) * sum(s * np.log(s) for s in shares)


def keeps(leaves: list[Any], limits: Limits, truth: float) -> bool:
    """The definitions of the limits, one by one."""
    named = range(3) if limits.sensitive is None else [CLASSES.index(c) for c in limits.sensitive.split(",")]
    for leaf in leaves:
        n = sum(leaf)
        if n < limits.k:
            return False
        shares = [leaf[i] / n for i in named]
        if max(shares) > min(limits.max_posterior or 1, limits.alpha or 1) + 1e-9:
            return False
        if limits.l is not None and limits.diversity == "distinct" and sum(c > 0 for c in leaf) < limits.l:
            return False
        if limits.l is not None and limits.diversity == "entropy" and entropy(leaf) / n < np.log(limits.l) - 1e-9:
            return False
    n = sum(map(sum, leaves))
    if limits.max_certain is not None and sum(sum(x) for x in leaves if max(x) == sum(x)) > limits.max_certain:
        return False
    if limits.max_right_guesses is not None and sum(map(max, leaves)) > limits.max_right_guesses * n + 1e-9:
        return False
    overall = (sum(map(entropy, leaves)) - truth) / n
    return limits.min_divergence is None or overall >= limits.min_divergence - 1e-9


def random_limits(random: np.random.Generator) -> Limits:
    """Some limits."""

    def one_of(*values: Any) -> Any:
        return values[int(random.integers(len(values)))]

    shares = one_of(None, None, 0.5, 0.75, 0.9)
    return Limits(
        k=int(random.integers(1, 9)),
        max_posterior=shares,
        sensitive=None if shares is None else one_of(None, "yes", "no,perhaps"),
        alpha=one_of(None, None, None, 0.8),
        l=one_of(None, None, 1.5, 2.0),
        diversity=one_of("entropy", "distinct"),
        max_certain=one_of(None, None, 0, 3, 8),
        min_divergence=one_of(None, None, 0.1, 0.3),
        max_right_guesses=one_of(None, None, 0.6, 0.8),
        objective=one_of("accuracy", "impurity"),
    )
