"""The guarantee of random trees (Waseda et al. 2025)."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from maxent.models.defenses.random_trees.accounting import (
    composed,
    kanon_delta,
    smallest_epsilon,
    smallest_valid_epsilon,
)
from maxent.models.defenses.random_trees.composition import forest_delta
from maxent.models.defenses.random_trees.parameters import RandomTrees

USUAL_DELTA = 1e-6  # the delta of the guarantee that is stated when no epsilon is asked for


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
    """The guarantee of trees over stated domains against an adversary without the samples; None for none.

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
