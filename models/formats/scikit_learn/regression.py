"""Fitted regression trees and forests of scikit-learn as releases: means and variances of a numeric target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from maxent.models.errors import invalid
from maxent.models.formats.scikit_learn.columns import Feature
from maxent.models.formats.scikit_learn.drafts import Splits, drafts_of, exact, splits_of
from maxent.models.formats.scikit_learn.ensemble import Ensemble, Member, is_monotonic
from maxent.models.release import Node
from maxent.models.tables.frame import shorten
from maxent.models.trees.draft import Publish, freeze

MEANS = ("squared_error", "friedman_mse", "poisson")
"""Criteria under which the value of a node is the mean of its records."""

VARIANCES = ("squared_error", "friedman_mse")
"""Those under which its impurity is their variance."""


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
    """The trees of a regression.

    Raises
    ------
    InvalidInput
        For several targets, trees of draws or of some of the records, weights, and values that are no means.
    """
    trees = [(model, None)] if hasattr(model, "tree_") else list(_members(model))
    if model.n_outputs_ != 1 if hasattr(model, "n_outputs_") else False:
        raise invalid(source, "model", "outputs", "one target", str(model.n_outputs_))
    if getattr(model, "bootstrap", False) and trees[0][0] is not model:
        expected = "trees that were grown from all records: bootstrap=False"
        raise invalid(source, "model", "bootstrap", expected, "draws, whose means are not those of the records")
    # Forests and bags keep how many rows they were given; a bag draws by its weights, whatever its trees then weigh.
    given = getattr(model, "_n_samples", trees[0][0].tree_.n_node_samples[0])
    drawn = getattr(model, "_sample_weight", None) is not None
    members = []
    for tree, features in trees:
        if tree.criterion not in MEANS:
            expected = f"one of {', '.join(MEANS)}, whose leaves state means"
            raise invalid(source, "model", "criterion", expected, tree.criterion)
        if is_monotonic(tree):
            expected = "no constraints, which clip means to those of the nodes above"
            raise invalid(source, "model", "monotonic_cst", expected, shorten(list(tree.monotonic_cst)))
        grown = tree.tree_
        rows = np.asarray(grown.n_node_samples, np.int64)
        if drawn or rows[0] != given or not np.array_equal(rows, grown.weighted_n_node_samples):
            raise invalid(source, "model", "sample_weight", "every record once", "weights, or some of the records")
        splits = splits_of(grown)
        splits = Splits(splits.left, splits.right, splits.feature, exact(splits.threshold), splits.missing_left)
        known = np.arange(tree.n_features_in_) if features is None else np.asarray(features, np.int64)
        members.append(Member(splits, known, np.empty(0, np.int64), rows=rows, tree=tree))
    return Ensemble(tuple(members), "mean" if len(members) > 1 else None)


def _members(model: Any) -> Any:
    """The trees of a forest or bag, and the columns of each."""
    features = getattr(model, "estimators_features_", [None] * len(model.estimators_))
    return zip(model.estimators_, features, strict=True)


def numeric_nodes(member: Member, coding: Sequence[Feature], publish: Publish, *, inner: bool) -> tuple[Node, ...]:
    """The nodes of a regression tree with means, and unless only these are published (``labels``) n and variance."""
    tree = member.tree
    assert tree is not None  # regression_of has it
    assert member.rows is not None
    drafts = drafts_of(member.splits, coding, np.zeros((len(member.rows), 1), np.int64))
    means = np.asarray(tree.tree_.value[:, 0, 0], np.float64)
    spread = np.maximum(np.asarray(tree.tree_.impurity, np.float64), 0.0) if tree.criterion in VARIANCES else None
    found = []
    for node, draft in zip(freeze(drafts, [""], "labels"), drafts, strict=True):
        full = publish != "labels" and (node.is_leaf or inner)
        found.append(
            Node(
                node.id,
                node.attribute,
                node.branches,
                n=int(member.rows[draft.at]) if full else None,
                mean=float(means[draft.at]) if node.is_leaf or inner else None,
                variance=float(spread[draft.at]) if full and spread is not None else None,
            )
        )
    return tuple(found)
