"""Tests of a fitted tree in the attributes and values of people."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maxent.models.arrays import FloatArray, IntArray
from maxent.models.columns import NOTHING
from maxent.models.errors import InvalidInput, Problem
from maxent.models.formats.scikit_learn.columns import Feature
from maxent.models.formats.scikit_learn.nodes.depth_first import DepthFirst
from maxent.models.formats.scikit_learn.nodes.reach import Taken, ends_of, reached
from maxent.models.formats.scikit_learn.splits import Splits
from maxent.models.tables.frame import shorten


@dataclass(frozen=True, slots=True, eq=False)
class Tests:
    """The tests of the inner nodes of a tree, two branches each, as `maxent.models.columns.Columns` has them.

    ``attribute`` of shape (n_inner,). ``le``, ``gt`` of shape (n_inner, 2). ``missing`` of shape (n_inner, 2).
    ``value_ends`` of shape (2 n_inner + 1,). ``values`` of shape (n_values,).
    """

    attribute: IntArray
    le: FloatArray
    gt: FloatArray
    missing: IntArray
    value_ends: IntArray
    values: IntArray


def tests_of(source: str, splits: Splits, order: DepthFirst, coding: Sequence[Feature], names: Sequence[str]) -> Tests:
    """The tests of a tree.

    ``source``: what problems call the model. ``splits``: of which thresholds are in the codes of ``coding``. ``order``:
    of the same tree. ``coding``: what each column of the input means. ``names``: the attributes.
    """
    at = order.order[order.inner]
    tested, threshold, to_left = splits.feature[at], splits.threshold[at], splits.missing_left[at]
    index = {name: j for j, name in enumerate(names)}
    of = np.array([index[feature.attribute] for feature in coding], np.int64)
    attribute = of[tested]
    numeric = np.array([feature.values is None for feature in coding], bool)[tested]
    gaps = np.array([feature.missing for feature in coding], bool)[tested]
    bounded = numeric & np.isfinite(threshold)
    alone = numeric & (threshold == math.inf) & gaps & ~to_left
    le, gt = np.full((len(at), 2), np.nan), np.full((len(at), 2), np.nan)
    le[bounded, 0] = gt[bounded, 1] = threshold[bounded]
    missing = np.full((len(at), 2), NOTHING)
    missing[bounded & gaps, np.where(to_left, 0, 1)[bounded & gaps]] = 1
    missing[alone] = 0, 1
    problems: dict[str, tuple[int, Problem]] = {}
    for row in np.flatnonzero(numeric & ~bounded & ~alone).tolist():
        name = coding[tested[row]].name
        expected = "a finite threshold, or an infinite one that missing values are above"
        problem = Problem(f"model, node {at[row]}", name, expected, f"{threshold[row]}")
        problems.setdefault(name, (row, problem))
    taken = Taken(len(at))
    if not numeric.all():
        end = ends_of(len(order), order.inner.tolist(), order.right.tolist())
        for j in np.unique(attribute[~numeric]).tolist():
            rows = np.flatnonzero(attribute == j)
            _take(rows, splits, order, coding, names[j], end, taken, problems)
    if problems:
        raise InvalidInput(source, [problem for _, problem in sorted(problems.values(), key=lambda each: each[0])])
    return Tests(attribute, le, gt, missing, *taken.arrays())


def _take(
    rows: IntArray,
    splits: Splits,
    order: DepthFirst,
    coding: Sequence[Feature],
    name: str,
    end: Sequence[int],
    taken: Taken,
    problems: dict[str, tuple[int, Problem]],
) -> None:
    """What the branches of all nodes take that test a categorical attribute."""
    domain = next(feature.domain or () for feature in reversed(coding) if feature.attribute == name)
    bit = {value: 1 << i for i, value in enumerate(domain)}
    nodes, right = order.inner[rows], order.right[rows]
    at = order.order[nodes]
    tested = splits.feature[at].tolist()
    features = [coding[i] for i in tested]
    made: dict[tuple[object, ...], int] = {}
    chosen = []
    for node, column, feature in zip(at.tolist(), tested, features, strict=True):
        threshold, to_left = float(splits.threshold[node]), bool(splits.missing_left[node])
        codes = splits.codes.get(node)
        key = (column, to_left, threshold if codes is None else codes)  # several columns may have one name
        if key not in made or threshold != threshold:
            made[key] = sum(bit.get(value, 0) for value in _chosen(feature, threshold, to_left, codes))
        chosen.append(made[key])
    sides = reached((1 << len(domain)) - 1, nodes.tolist(), right.tolist(), chosen, end)
    lacking = False
    for row, (low, high), feature, node in zip(rows.tolist(), sides, features, at.tolist(), strict=True):
        if (low and high) or (lacking and not low and not high):  # no value reaches what is below a problem
            continue
        lacking = True
        problems.setdefault(feature.name, (row, _one_sided(feature, float(splits.threshold[node]), node)))
    taken.take(rows, sides)


def _chosen(feature: Feature, threshold: float, to_left: bool, codes: frozenset[int] | None) -> set[str]:
    """The values that a test sends to the left, of all."""
    assert feature.values is not None
    if codes is not None:
        chosen = {feature.values[code] for code in codes if code < len(feature.values)}
    elif math.isnan(threshold):
        chosen = set()
    else:
        chosen = set(feature.split(max(-1.0, min(threshold, len(feature.values))))[0])
    return chosen | {*feature.others} if to_left else chosen


def _one_sided(feature: Feature, threshold: float, node: int) -> Problem:
    assert feature.values is not None
    expected = (
        f"codes 0 to {len(feature.values) - 1} of {shorten(list(feature.values))}"
        if feature.indicates is None
        else f"0 or 1, with exactly one 1 among the indicators of {shorten(feature.attribute)}"
    )
    found = f"a split at {threshold:g} that leaves a side without values"
    return Problem(f"model, node {node}", feature.name, expected, found)
