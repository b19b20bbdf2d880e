"""Fitted regression trees and forests of scikit-learn as releases: means and variances of a numeric target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from maxent.models.columns import NOTHING
from maxent.models.errors import invalid
from maxent.models.formats.scikit_learn.columns import Feature
from maxent.models.formats.scikit_learn.ensemble import Ensemble, Member, drawn_rows, is_monotonic
from maxent.models.formats.scikit_learn.nodes.states import bare, stated
from maxent.models.formats.scikit_learn.splits import Splits, exact, splits_of
from maxent.models.nodes import Nodes
from maxent.models.release import Attribute, Target
from maxent.models.tables.frame import shorten
from maxent.models.trees.draft import Publish

# Criteria under which the value of a node is the mean of its records
MEANS = ("squared_error", "friedman_mse", "poisson")

VARIANCES = ("squared_error", "friedman_mse")  # those under which its impurity is their variance


def is_regression(model: object) -> bool:
    """Whether a model is a regression tree, or a forest or bag of regression trees."""
    from sklearn import ensemble
    from sklearn.tree import DecisionTreeRegressor

    kinds = (ensemble.RandomForestRegressor, ensemble.ExtraTreesRegressor, ensemble.BaggingRegressor)
    if isinstance(model, DecisionTreeRegressor):
        return hasattr(model, "tree_")
    trees = getattr(model, "estimators_", ()) if isinstance(model, kinds) else ()
    return bool(len(trees)) and all(isinstance(tree, DecisionTreeRegressor) for tree in trees)


def regression_of(source: str, model: Any) -> Ensemble:
    """The trees of a regression."""
    trees = [(model, None)] if hasattr(model, "tree_") else list(_members(model))
    if model.n_outputs_ != 1 if hasattr(model, "n_outputs_") else False:
        raise invalid(source, "model", "outputs", "one target", str(model.n_outputs_))
    # Forests and bags keep how many rows they were given; a bag draws by its weights, whatever its trees then weigh.
    forest = trees[0][0] is not model
    given = getattr(model, "_n_samples", trees[0][0].tree_.n_node_samples[0])
    draws = drawn_rows(model, [tree.tree_ for tree, _ in trees]) if forest and model.bootstrap else None
    weighed = getattr(model, "_sample_weight", None) is not None
    members = []
    for tree, features in trees:
        if tree.criterion not in MEANS:
            expected = f"one of {', '.join(MEANS)}, whose leaves state means"
            raise invalid(source, "model", "criterion", expected, tree.criterion)
        if is_monotonic(tree):
            expected = "no constraints, which clip means to those of the nodes above"
            raise invalid(source, "model", "monotonic_cst", expected, shorten(list(tree.monotonic_cst)))
        grown = tree.tree_
        rows, records = (np.asarray(n, np.float64) for n in (grown.n_node_samples, grown.weighted_n_node_samples))
        whole = np.array_equal(records, np.rint(records)) if draws is not None else np.array_equal(rows, records)
        if weighed or not whole or records[0] != (given if draws is None else draws):
            raise invalid(source, "model", "sample_weight", "every record once", "weights, or some of the records")
        splits = splits_of(grown)
        splits = Splits(splits.left, splits.right, splits.feature, exact(splits.threshold), splits.missing_left)
        known = np.arange(tree.n_features_in_) if features is None else np.asarray(features, np.int64)
        members.append(Member(splits, known, np.empty(0, np.int64), rows=rows.astype(np.int64), tree=tree))
    return Ensemble(tuple(members), "mean" if len(members) > 1 else None, draws)


def check_covered(source: str, ensemble: Ensemble, target: Target) -> None:
    """Refuse bins, or values, outside of which leaves have means: they are not those of the target."""
    low, high = (ends for ends in zip(*(target.numbers or ()), strict=True))
    trees = [member.tree.tree_ for member in ensemble.members if member.tree is not None]
    means = np.concatenate([tree.value[tree.children_left < 0, 0, 0] for tree in trees])
    slack = 1e-6 * float(np.abs(means).max())
    if means.min() < min(low) - slack or means.max() > max(high) + slack:
        of_values = all(least == most for least, most in target.numbers or ())
        expected = f"numbers that cover the target: means of leaves are from {means.min():g} to {means.max():g}"
        found = f"{min(low):g} to {max(high):g}"
        raise invalid(source, "argument", "values" if of_values else "bins", expected, found)


def _members(model: Any) -> Any:
    """The trees of a forest or bag, and the columns of each."""
    features = getattr(model, "estimators_features_", [None] * len(model.estimators_))
    return zip(model.estimators_, features, strict=True)


def numeric_nodes(
    member: Member,
    coding: Sequence[Feature],
    attributes: Sequence[Attribute],
    classes: Sequence[str],
    publish: Publish,
    *,
    inner: bool,
    draws: bool,
) -> Nodes:
    """The nodes of a regression tree with means, and unless only these are published (``labels``) n and variance.

    ``draws``: they are of draws, and n counts these; ``distinct`` says of how many records.
    """
    tree = member.tree
    assert tree is not None  # regression_of has it
    assert member.rows is not None
    nodes, order = bare("from_sklearn", member.splits, coding, attributes, classes)
    shown = (nodes.attribute == NOTHING) | inner
    full = shown & (publish != "labels")
    mean = np.asarray(tree.tree_.value[:, 0, 0], np.float64)[order.order]
    spread = np.maximum(np.asarray(tree.tree_.impurity, np.float64), 0.0)[order.order]
    rows = member.rows[order.order]
    drawn = np.asarray(tree.tree_.weighted_n_node_samples, np.float64)[order.order].astype(np.int64) if draws else rows
    said = stated(len(nodes), n=np.where(full, drawn, NOTHING))
    return Nodes(
        replace(
            nodes,
            statements=replace(said, distinct=np.where(full, rows, NOTHING)) if draws else said,
            mean=np.where(shown, mean, np.nan),
            variance=np.where(full, spread, np.nan) if tree.criterion in VARIANCES else None,
        )
    )
