"""How random trees are drawn and filled, and what that guarantees (Waseda et al. 2025)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import numpy as np

from maxent.models.defenses.random_trees.accounting import (
    composed,
    kanon_delta,
    smallest_epsilon,
    smallest_valid_epsilon,
)
from maxent.models.defenses.random_trees.composition import forest_delta
from maxent.models.errors import Problem
from maxent.models.tables.frame import shorten
from maxent.models.text.arguments import is_number, is_whole, whole_number

USUAL_DELTA = 1e-6
"""The delta of the guarantee that is stated when no epsilon is asked for."""


@dataclass(frozen=True, slots=True)
class RandomTrees:
    """How random trees are drawn and filled.

    Attributes
    ----------
    trees : int
        At least 1.
    depth : int, optional
        Splits on every path, unless nothing is left to test, at least 0; default half the number of attributes.
    beta : float
        Probability with which a record enters the sample of a tree, above 0 and at most 1.
    k : int
        Counts below are published as 0, records; at least 0.
    epsilon : float, optional
        Nats, of all trees together: where the guarantee is stated; default the smallest one with a delta of at most
        `USUAL_DELTA`.
    seed : int, optional
        Makes trees and samples repeatable: there is no guarantee against those who know or guess it. Without one,
        samples are drawn from the operating system's cryptographic source. The same seed gives the same trees for any
        data, the same samples for any k, smaller samples within larger ones, and the first trees of a larger forest.
    """

    trees: int = 10
    depth: int | None = None
    beta: float = 0.1
    k: int = 20
    epsilon: float | None = None
    seed: int | None = None


def random_trees_problems(asked: RandomTrees) -> Iterator[Problem]:
    """List the parameters that are not as they should be."""
    for name, least, optional in (("trees", 1, False), ("depth", 0, True), ("k", 0, False), ("seed", 0, True)):
        value = getattr(asked, name)
        if not (optional and value is None) and not is_whole(value, least):
            expected = f"{'None or ' if optional else ''}{whole_number(least)}"
            yield Problem("argument", name, expected, shorten(value))
    if not (is_number(asked.beta) and 0 < asked.beta <= 1):
        yield Problem("argument", "beta", "a probability above 0 and at most 1", shorten(asked.beta))
    if asked.epsilon is not None and not (is_number(asked.epsilon) and 0 < asked.epsilon < inf):
        yield Problem("argument", "epsilon", "None or a finite number above 0 (nats)", shorten(asked.epsilon))


def plain(value: Any) -> Any:
    """A number of NumPy's as one of Python's, which JSON can write."""
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True, slots=True)
class Guarantee:
    """(beta, epsilon, delta)-differential privacy under sampling, of all trees together.

    Attributes
    ----------
    beta : float
        Probability with which a record entered the sample of a tree.
    epsilon : float
        Nats.
    delta : float or None
        Of Waseda et al. (2025, Corollary 1); None where their theorem does not apply.
    tight_delta : float
        Of the same trees, by `maxent.models.defenses.random_trees.composition.forest_delta`; at most ``delta``.
    """

    beta: float
    epsilon: float
    delta: float | None
    tight_delta: float


def guarantee(asked: RandomTrees) -> Guarantee | None:
    """What holds for trees over stated domains, against whoever does not know the samples; None when nothing does.

    There is none without sampling, and without an ``epsilon`` to state it for none when no epsilon has a delta as small
    as `USUAL_DELTA`: k people who are all alike are published by one of the trees with a probability of about
    ``trees * beta**k``.
    """
    if asked.beta >= 1:
        return None
    k = max(asked.k, 1)  # no count is below 1 but 0
    epsilon = asked.epsilon
    if epsilon is None:
        epsilon = asked.trees * float(smallest_epsilon(k, asked.beta, USUAL_DELTA / asked.trees))
        if not isfinite(epsilon):
            return None
    each, delta, tight_delta = epsilon / asked.trees, None, forest_delta(asked.trees, k, asked.beta, epsilon)
    if each >= smallest_valid_epsilon(asked.beta) * (1 - 1e-12):
        delta = composed(asked.trees, each, kanon_delta(k, asked.beta, each))[1]
        tight_delta = min(tight_delta, delta)
    return Guarantee(asked.beta, epsilon, delta, tight_delta)
