"""Dependence between attributes and class: a tree in which each attribute depends on one other (Chow and Liu 1968).

Of all such trees it is the one of greatest likelihood: the spanning tree with the largest sum of mutual informations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csgraph

from maxent.models.arrays import BoolArray, FloatArray, IntArray

# Of each attribute the shares of its values in each pattern, shape (n_patterns, n_values); the class is last.
Shares = Sequence[FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """An attribute given another: the logarithms of probabilities, shape (n_values, n_values of ``parent``), nats."""

    attribute: int
    parent: int
    log: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Dependence:
    """All attributes given one other, each behind its parent, and the class by itself, shape (n_classes,)."""

    given: tuple[Given, ...]
    of_class: FloatArray


def independent(shares: Shares, people: FloatArray) -> Dependence:
    """No dependence: the probabilities of each attribute are the same in every class."""
    root = len(shares) - 1
    of_class = _smoothed(people @ shares[root])
    given = (
        Given(j, root, np.log(np.repeat(_smoothed(people @ shares[j])[:, None], len(of_class), axis=1)))
        for j in range(root)
    )
    return Dependence(tuple(given), np.log(of_class))


def dependence(shares: Shares, people: FloatArray) -> Dependence:
    """The tree of greatest likelihood for an expected number of people of each pattern, shape (n_patterns,)."""
    n, root = len(shares), len(shares) - 1
    together: dict[tuple[int, int], FloatArray] = {}
    information = np.zeros((n, n))
    for a in range(n):
        weighted = (shares[a] * people[:, None]).T
        for b in range(a):
            joint = _smoothed(weighted @ shares[b])
            apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
            together[a, b], together[b, a] = joint, joint.T
            information[a, b] = float((joint * np.log(joint / apart)).sum())
    # A weight of 0 would be no edge at all; one nat more of each makes no tree better than another.
    tree = csgraph.minimum_spanning_tree(-np.tril(information + 1.0, -1))
    order, parents = csgraph.breadth_first_order(tree, root, directed=False)
    given = []
    for j in order[1:].tolist():
        joint = together[j, int(parents[j])]
        given.append(Given(j, int(parents[j]), np.log(joint / joint.sum(axis=0, keepdims=True))))
    return Dependence(tuple(given), np.log(_smoothed(people @ shares[root])))


def _smoothed(people: FloatArray) -> FloatArray:
    """Probabilities from counts, with one more person spread evenly (smoothing)."""
    return np.asarray((people + 1 / people.size) / (people.sum() + 1), np.float64)


def likeliest_values(held: Sequence[BoolArray], depends: Dependence) -> tuple[FloatArray, IntArray]:
    """The likeliest values in each pattern, and the logarithm of their probability.

    Parameters
    ----------
    held : of each attribute the values that are possible in each pattern, shape (n_patterns, n_values); of the class,
        which is last, one only
    depends : Dependence

    Returns
    -------
    float64, shape (n_patterns,), nats, and int64, shape (n_patterns, n_attributes), the class last.
    """
    n = len(held[-1])
    best = [np.where(has, 0.0, -np.inf) for has in held]
    best[-1] = best[-1] + depends.of_class
    choice: dict[int, IntArray] = {}
    for each in reversed(depends.given):
        j, parent = each.attribute, each.parent
        choice[j] = np.empty((n, each.log.shape[1]), np.int64)
        for v in range(each.log.shape[1]):
            total = best[j] + each.log[:, v]
            choice[j][:, v] = total.argmax(axis=1)
            best[parent][:, v] += total.max(axis=1)
    value = np.empty((n, len(held)), np.int64)
    value[:, -1] = best[-1].argmax(axis=1)
    for each in depends.given:
        value[:, each.attribute] = choice[each.attribute][np.arange(n), value[:, each.parent]]
    return best[-1].max(axis=1), value
