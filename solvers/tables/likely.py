"""Expected frequencies of patterns under the release: shares of values and their dependence.

The shares maximise the likelihood of independent attributes as far as a few rounds go. Each round fits the expected
number of people of every pattern to the exact counts, by proportional fitting from the shares so far (the distribution
of maximum entropy relative to them), and takes the shares that it has. The last one tells how attributes depend on each
other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from maxent.constraints.patterns.atoms import Atoms
from maxent.constraints.patterns.join import Patterns
from maxent.constraints.patterns.stated import TreeCounts
from maxent.models.arrays import TINY, BoolArray, FloatArray, IntArray
from maxent.solvers.tables.dependence import dependence, independent, likeliest_values

# Rounds of shares; sweeps over all trees in each, fewer where counts are met so nearly, as a share of each.
ROUNDS, SWEEPS, NEAR = 3, 30, 0.01
# Patterns times values of attributes up to which it is looked at how they depend on each other.
AFFORDABLE = 4_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Likely:
    """Expected frequencies of patterns.

    Attributes
    ----------
    people : shape (n_patterns,), expected individuals
    cost : shape (n_patterns,), minus the logarithm of the likelihood of the likeliest values of each, nats
    value : shape (n_patterns, n_attributes), the likeliest atom of each attribute
    """

    people: FloatArray
    cost: FloatArray
    value: IntArray


def likely_patterns(
    atoms: Atoms,
    patterns: Patterns,
    trees: tuple[TreeCounts, ...],
    weight: IntArray,
    late: Callable[[], bool] = lambda: False,
) -> Likely:
    """What is expected of patterns; ``weight``, shape (n_owners,), are the individuals of each owner.

    It is less exact where it is ``late``.
    """
    held = {j: atoms.held(patterns.box, j) for j, of in enumerate(atoms.of) if len(of) > 1}
    shares = {j: np.full(has.shape[1], 1 / has.shape[1]) for j, has in held.items()}
    people = np.zeros(len(patterns))
    for _ in range(ROUNDS):
        start = np.zeros(len(patterns))
        for j, has in held.items():
            start += np.log(np.maximum(has @ shares[j], TINY))
        people = _fitted(np.exp(start - start.max(initial=-np.inf)), patterns, trees, weight, late)
        shares = {j: _shares(has, shares[j], people) for j, has in held.items()}
    numbers = sorted(held)
    every = [*(held[j] for j in numbers), patterns.klass[:, None] == np.arange(trees[0].low.shape[1])]
    inside = [*(_inside(held[j], shares[j]) for j in numbers), every[-1].astype(np.float64)]
    size = len(patterns) * sum(has.shape[1] for has in every)
    known = dependence if size <= AFFORDABLE and not late() else independent
    log_likelihood, likeliest = likeliest_values(every, known(inside, people))
    value = np.zeros((len(patterns), len(atoms.of)), np.int64)
    value[:, numbers] = likeliest[:, :-1]
    return Likely(people, -log_likelihood, value)


def _inside(has: BoolArray, shares: FloatArray) -> FloatArray:
    """Shares of the atoms of an attribute in each pattern, shape (n_patterns, n_atoms)."""
    inside = has * shares
    return np.asarray(inside / np.maximum(inside.sum(axis=1, keepdims=True), TINY), np.float64)


def _shares(has: BoolArray, shares: FloatArray, people: FloatArray) -> FloatArray:
    """Shares of the atoms of an attribute among the people of patterns, half a person more of each."""
    found = people @ _inside(has, shares) + 0.5
    return np.asarray(found / found.sum(), np.float64)


def _fitted(
    start: FloatArray, patterns: Patterns, trees: tuple[TreeCounts, ...], weight: IntArray, late: Callable[[], bool]
) -> FloatArray:
    """People of every pattern, fitted to the exact counts of leaves and to the owners."""
    n_classes = trees[0].low.shape[1]
    margins = [(patterns.owner, weight.astype(np.float64))]
    for t, counts in enumerate(trees):
        exact = (counts.low == counts.high).ravel()
        target = np.where(exact, counts.low.ravel(), np.nan)
        margins.append((patterns.leaf[:, t] * n_classes + patterns.klass, target))
    people = start.copy()
    for _ in range(SWEEPS):
        worst = 0.0
        for group, target in margins:
            total = np.bincount(group, people, len(target))
            factor = np.where(np.isnan(target), 1.0, target / np.maximum(total, TINY))
            present = (total > 0) & ~np.isnan(target) & (target > 0)
            worst = max(worst, float(np.abs(total[present] / target[present] - 1).max(initial=0.0)))
            people *= factor[group]
        if worst < NEAR or late():
            break
    return people
