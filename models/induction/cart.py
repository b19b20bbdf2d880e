"""CART as scikit-learn grows it, on a stated encoding of the attributes."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import FloatArray
from maxent.models.formats.scikit_learn.columns import Feature
from maxent.models.formats.scikit_learn.nodes.states import bare
from maxent.models.formats.scikit_learn.splits import counts_of, splits_of
from maxent.models.induction.parameters import CodedAs, Growth
from maxent.models.nodes import Nodes
from maxent.models.tables.training import Training
from maxent.models.trees.draft import Draft


def grow(training: Training, growth: Growth) -> list[Draft]:
    """Fit a ``DecisionTreeClassifier`` and write its thresholds back as sets of values; in depth-first order."""
    from sklearn.tree import DecisionTreeClassifier

    if growth.max_depth == 0:  # scikit-learn grows no tree of a single leaf
        counts = np.bincount(training.y, minlength=len(training.target.classes))
        return [Draft(counts, int(counts.argmax()))]
    coding, inputs = encode(training, growth.encoding)
    model = DecisionTreeClassifier(
        criterion=growth.measure,
        max_depth=growth.max_depth,
        min_samples_split=max(growth.min_samples_split, 2),
        min_samples_leaf=growth.least,
        max_leaf_nodes=growth.max_leaf_nodes,
        min_impurity_decrease=growth.min_impurity_decrease,
        ccp_alpha=growth.ccp_alpha,
        random_state=growth.seed,
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The number of unique classes is greater", category=UserWarning)
        model.fit(inputs, training.y)  # it takes a class per person for a regression; the target says what it is
    found = counts_of(model.tree_)
    assert found is not None, "no weights were given"
    counts = np.zeros((len(found), len(training.target.classes)), np.int64)
    counts[:, model.classes_] = found
    splits = replace(splits_of(model.tree_), threshold=_thresholds(model.tree_, training, coding))
    nodes, order = bare("cart", splits, coding, training.attributes, training.target.classes)
    drafts = []
    below = nodes.child.tolist()
    for at, node, first in zip(order.order.tolist(), Nodes(nodes), nodes.branch_ends.tolist(), strict=False):
        branches = tuple(replace(branch, child=None) for branch in node.branches)
        children = below[first : first + len(branches)]
        drafts.append(Draft(counts[at], int(counts[at].argmax()), node.attribute, branches, children))
    return drafts


def encode(training: Training, encoding: CodedAs) -> tuple[list[Feature], FloatArray]:
    """Input of scikit-learn: the meaning of each column, and float64 of shape (n, n_columns).

    A categorical attribute is one column of codes, or with ``onehot`` a column for each value of its domain, as
    scikit-learn's ``OneHotEncoder`` makes them: two for an attribute of two values.
    """
    coding: list[Feature] = []
    columns: list[npt.NDArray[Any]] = []
    for attribute, column in zip(training.attributes, training.columns, strict=True):
        if attribute.values is None or encoding != "onehot":
            coding.append(Feature(attribute.name, attribute.name, attribute.values))
            columns.append(column)
            continue
        for code, value in enumerate(attribute.values):
            coding.append(Feature(f"{attribute.name}={value}", attribute.name, attribute.values, value))
            columns.append(column == code)
    return coding, np.column_stack(columns).astype(np.float64)


def _thresholds(tree: Any, training: Training, coding: list[Feature]) -> FloatArray:
    """The thresholds, moved where a number that scikit-learn rounded to single precision went to the other side."""
    thresholds: FloatArray = tree.threshold.copy()
    for i, feature in enumerate(coding):
        if feature.values is not None:
            continue
        (column,) = (c for a, c in zip(training.attributes, training.columns, strict=True) if a.name == feature.name)
        seen = np.unique(column)
        nodes = np.flatnonzero(tree.feature == i)
        below = np.searchsorted(seen.astype(np.float32).astype(np.float64), thresholds[nodes], side="right")
        moved = below != np.searchsorted(seen, thresholds[nodes], side="right")
        thresholds[nodes[moved]] = seen[below[moved] - 1]
    return thresholds
