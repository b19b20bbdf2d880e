"""Costs of decisions that are made from a tree: for each leaf, the cheapest decision by its statements.

A cost matrix c[w, x] says what the decision w costs about somebody of the class x. A leaf that states counts n_x, or
weights that stand for them, leads to the first decision w with the least sum over x of n_x c[w, x].
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.models.arrays import FloatArray, IntArray
from maxent.models.errors import ARGUMENT, invalid
from maxent.models.reading import Reader
from maxent.models.release import Target
from maxent.models.tables.truth_and_facts import read_stakes

if TYPE_CHECKING:
    from maxent.models.defenses.optimal.limits import SubtreeLimits
    from maxent.models.trees.draft import Publish


@dataclass(frozen=True, slots=True, eq=False)
class CostFile:
    """A table of costs that is to be read when the classes are known, as the data are."""

    source: Any
    reader: Reader


def with_costs(limits: SubtreeLimits, target: Target) -> SubtreeLimits:
    """The same limits with their cost matrix read, shape (n_decisions, n_classes), and the objective that it makes."""
    if limits.cost is None:
        return limits
    return replace(limits, cost=read_costs(limits.cost, target), objective="cost")


def read_costs(cost: Any, target: Target) -> FloatArray:
    """A cost matrix from a table, a `CostFile`, an array or rows; shape (n_decisions, n_classes)."""
    found = cost if isinstance(cost, CostFile) else CostFile(cost, Reader())
    if isinstance(found.source, (np.ndarray, list, tuple)):
        return _checked(found.source, target)
    return read_stakes(found.source, "cost", target, found.reader, decision="decision", unit="cost")


def _checked(stated: Any, target: Target) -> FloatArray:
    """An array of costs, or rows of them."""
    expected = f"numbers of at least 0, a row for each decision and {len(target.classes)} columns, of classes"
    try:
        costs = np.asarray(stated)
    except ValueError:  # numpy's, of rows that differ in length
        raise invalid("options", ARGUMENT, "cost", expected, "rows of different lengths") from None
    suits = costs.dtype.kind in "iuf" and costs.ndim == 2 and costs.shape[0] > 0
    if not suits or costs.shape[1] != len(target.classes) or not (np.isfinite(costs) & (costs >= 0)).all():
        raise invalid("options", ARGUMENT, "cost", expected, f"an array of shape {costs.shape}")
    return np.asarray(costs, np.float64)


def weights_stated(counts: FloatArray | IntArray, label: IntArray, publish: Publish) -> FloatArray:
    """What leaves say of the classes of their people.

    A label alone counts for one record; with a rate all other classes are as likely.
    """
    classes = counts.shape[-1]
    if publish == "counts" or (publish == "rates" and classes == 2):
        return np.asarray(counts, np.float64)
    named = np.eye(classes)[label]
    if publish == "labels" or classes == 1:
        return named
    right = (counts * named).sum(axis=-1, keepdims=True)
    errors = (counts.sum(axis=-1, keepdims=True) - right) / (classes - 1)
    return np.asarray(np.where(named > 0, right, errors))


def least_cost(counts: FloatArray | IntArray, weights: FloatArray, costs: FloatArray) -> FloatArray:
    """What the people of leaves cost where the decision is the cheapest for the weights; (..., n_classes) to (...)."""
    decision = (weights @ costs.T).argmin(axis=-1)
    return np.asarray(np.take_along_axis(counts @ costs.T, decision[..., None], axis=-1)[..., 0])
