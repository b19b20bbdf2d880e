"""Fitted trees of scikit-learn as arrays: their tests, and the weight of their records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.trees.thresholds import single_at_most

_DIGITS = 7  # decimal digits that single precision tells apart


@dataclass(frozen=True, slots=True, eq=False)
class Splits:
    """The tests of a fitted tree, all arrays of shape (n_nodes,).

    ``left``, ``right``: numbers of the children, -1 of a leaf. ``feature``: the column that an inner node tests.
    ``threshold``: the largest double that goes left; infinite where every number does. ``missing_left``: whether what
    is missing, or not known, goes left. ``codes``: codes of categories that go left, of nodes that test sets of them.
    """

    left: IntArray
    right: IntArray
    feature: IntArray
    threshold: FloatArray
    missing_left: BoolArray
    codes: Mapping[int, frozenset[int]] = field(default_factory=dict)


def splits_of(tree: Any) -> Splits:
    """The tests of a ``tree_``, with its thresholds as they are; before scikit-learn 1.3 no direction is stored."""
    stored = getattr(tree, "missing_go_to_left", None)
    left = np.asarray(tree.children_left, np.int64)
    return Splits(
        left,
        np.asarray(tree.children_right, np.int64),
        np.asarray(tree.feature, np.int64),
        np.asarray(tree.threshold, np.float64),
        np.zeros(len(left), bool) if stored is None else np.asarray(stored, bool),
    )


def exact(thresholds: FloatArray) -> FloatArray:
    """Thresholds with which values of single precision are compared, as those of doubles.

    One of a few digits that single precision holds, such as 37.5, stays: only numbers of more than seven digits would
    go elsewhere.
    """
    moved = thresholds.copy()
    for at in np.flatnonzero(np.isfinite(thresholds)).tolist():
        threshold = float(thresholds[at])
        if float(np.float32(threshold)) != threshold or float(f"{threshold:.{_DIGITS}g}") != threshold:
            moved[at] = single_at_most(threshold)
    return moved


def counts_of(tree: Any) -> IntArray | None:
    """Records per node and class of a ``tree_``, shape (n_nodes, n_classes); None where they are no whole numbers."""
    records = weighed(tree)
    whole = np.rint(records)
    return whole.astype(np.int64) if np.allclose(records, whole, rtol=0, atol=1e-6) else None


def weighed(tree: Any) -> FloatArray:
    """The weight of the records of each class at each node of a ``tree_``, shape (n_nodes, n_classes)."""
    value, weight = np.asarray(tree.value[:, 0, :]), np.asarray(tree.weighted_n_node_samples)[:, None]
    # Since scikit-learn 1.3 the values are shares of the node's weighted records.
    total = value.sum(axis=1, keepdims=True)
    return np.asarray(value / np.where(total > 0, total, 1.0) * weight)
