"""Fitted trees of scikit-learn as arrays, and as drafts of nodes in the attributes and values of people."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.errors import InvalidInput, Problem
from maxent.models.formats.scikit_learn.columns import Feature
from maxent.models.release import Branch
from maxent.models.tables.frame import shorten
from maxent.models.trees.draft import Draft
from maxent.models.trees.thresholds import single_at_most

_DIGITS = 7
"""Decimal digits that single precision tells apart."""

Reach = dict[str, tuple[str, ...]]
"""The values of each categorical attribute that can reach a node."""


@dataclass(frozen=True, slots=True, eq=False)
class Splits:
    """The tests of a fitted tree, all arrays of shape (n_nodes,).

    Attributes
    ----------
    left, right : int64
        Numbers of the children, -1 of a leaf.
    feature : int64
        The column that an inner node tests.
    threshold : float64
        The largest double that goes left; infinite where every number does.
    missing_left : bool
        Whether what is missing, or not known, goes left.
    codes : mapping of node to codes
        Codes of categories that go left, of nodes that test sets of them.
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


def drafts_of(
    splits: Splits,
    coding: Sequence[Feature],
    counts: IntArray,
    distinct: IntArray | None = None,
    *,
    source: str = "from_sklearn",
) -> list[Draft]:
    """The nodes of a fitted tree in depth-first order.

    Parameters
    ----------
    splits : Splits
        Of which thresholds are in the codes of ``coding``.
    coding : sequence of Feature
        What each column of the input means.
    counts : int64, shape (n_nodes, n_classes)
        Records, or draws.
    distinct : int64, shape (n_nodes,), optional
        Different records among the draws.
    source : str
        What problems call the model.

    Raises
    ------
    InvalidInput
        When a threshold does not fit the encoding described.
    """
    left, right, tested = splits.left.tolist(), splits.right.tolist(), splits.feature.tolist()
    labels = counts.argmax(axis=1).tolist()
    drafts: list[Draft] = []
    problems: dict[str, Problem] = {}
    # A node to come: scikit-learn's number, the parent's position, and the values left of each categorical attribute.
    domains = {f.attribute: f.domain for f in coding if f.domain is not None}
    stack: list[tuple[int, int, Reach]] = [(0, -1, domains)]
    while stack:
        node, parent, reach = stack.pop()
        position = len(drafts)
        draft = Draft(counts[node], labels[node], at=node, distinct=None if distinct is None else int(distinct[node]))
        drafts.append(draft)
        if parent >= 0:
            drafts[parent].children.append(position)
        if left[node] < 0:
            continue
        feature = coding[tested[node]]
        found = _branches(feature, splits, node, reach.get(feature.attribute, ()))
        if isinstance(found, Problem):
            problems.setdefault(feature.name, found)
            continue
        draft.attribute, draft.branches = feature.attribute, found
        below = above = reach
        if (low := found[0].values) is not None and (high := found[1].values) is not None:
            below, above = reach | {feature.attribute: low}, reach | {feature.attribute: high}
        stack += [(right[node], position, above), (left[node], position, below)]
    if problems:
        raise InvalidInput(source, problems.values())
    return drafts


def _branches(feature: Feature, splits: Splits, node: int, reach: tuple[str, ...]) -> tuple[Branch, Branch] | Problem:
    """The branches of a node, without children; or the reason why its test is none of the attribute."""
    threshold, to_left = float(splits.threshold[node]), bool(splits.missing_left[node])
    if feature.values is None:
        return _numeric(feature, threshold, to_left, node)
    if node in splits.codes:
        chosen = {feature.values[code] for code in splits.codes[node] if code < len(feature.values)}
    elif math.isnan(threshold):
        chosen = set()
    else:
        chosen = set(feature.split(max(-1.0, min(threshold, len(feature.values))))[0])
    if to_left:
        chosen.update(feature.others)
    low, high = tuple(v for v in reach if v in chosen), tuple(v for v in reach if v not in chosen)
    if low and high:
        return Branch(None, low), Branch(None, high)
    expected = (
        f"codes 0 to {len(feature.values) - 1} of {shorten(list(feature.values))}"
        if feature.indicates is None
        else f"0 or 1, with exactly one 1 among the indicators of {shorten(feature.attribute)}"
    )
    found = f"a split at {threshold:g} that leaves a side without values"
    return Problem(f"model, node {node}", feature.name, expected, found)


def _numeric(feature: Feature, threshold: float, to_left: bool, node: int) -> tuple[Branch, Branch] | Problem:
    """The branches of a test of numbers; an infinite threshold sends the missing ones alone to the right."""
    if math.isfinite(threshold):
        low, high = (None, None) if not feature.missing else (True, None) if to_left else (None, True)
        return Branch(None, le=threshold, missing=low), Branch(None, gt=threshold, missing=high)
    if threshold == math.inf and feature.missing and not to_left:
        return Branch(None, missing=False), Branch(None, missing=True)
    expected = "a finite threshold, or an infinite one that missing values are above"
    return Problem(f"model, node {node}", feature.name, expected, f"{threshold}")
