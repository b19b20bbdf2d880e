"""Induction of a scikit-learn tree: the splits that competed, as far as the model or its caller proves it.

A fitted tree does not keep how it was fitted. It shows sums of weights and numbers of rows by node, but neither the
weights themselves, nor the rows of weight 0, nor missing values in features that it does not test. Whatever is
not proved is left out of the induction: that is sound, only weaker.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.models.errors import invalid
from maxent.models.formats.scikit_learn.columns import Feature
from maxent.models.release import Encoding, Impurity, Induction
from maxent.models.tables.frame import shorten

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeClassifier

    from maxent.models.arrays import BoolArray, FloatArray, IntArray

_IMPURITIES: Mapping[str, Impurity] = {"gini": "gini", "entropy": "entropy", "log_loss": "entropy"}


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """The data that a tree was fitted on, as far as they are known.

    ``rows``: rows that ``fit`` was given, those of weight 0 too; None: unknown. ``weight`` of shape (rows,): how many
    records each row stood for; None: every row that is in the tree stood for one. ``whole`` of shape (n_features,):
    which features had no missing values; None: what the tree itself shows is all that is known.
    """

    rows: int | None = None
    weight: FloatArray | None = None
    whole: BoolArray | None = None


def read_fit(source: str, model: DecisionTreeClassifier, X: Any, sample_weight: Any) -> Fit:
    """Check the caller's statements about the data against the fitted tree.

    ``source``: what errors call the call. ``model``: fitted. ``X`` of shape (n_rows, n_features): what ``fit`` was
    given. ``sample_weight`` of shape (n_rows,): what ``fit`` was given.
    """
    weight = None if sample_weight is None else _weights(source, model, sample_weight)
    if X is None:
        return Fit(None if weight is None else len(weight), weight)
    whole = _check_rows(source, model, X, weight)
    return Fit(np.shape(X)[0], weight, whole)


def _weights(source: str, model: DecisionTreeClassifier, given: Any) -> FloatArray:
    """Weights that are whole and can be those of the tree."""
    expected = "a whole number, at least 0, for each row, since a release counts records"
    try:
        weight = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise invalid(source, "argument", "sample_weight", expected, shorten(given)) from None
    if weight.ndim != 1:
        raise invalid(source, "argument", "sample_weight", expected, f"an array of shape {weight.shape}")
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0) & (weight == np.floor(weight))))
    if len(bad):
        raise invalid(source, "argument", "sample_weight", expected, f"{weight[bad[0]]:g} for row {bad[0]}")
    rows, total = int(model.tree_.n_node_samples[0]), float(model.tree_.weighted_n_node_samples[0])
    if np.count_nonzero(weight) != rows or weight.sum() != total:
        expected = f"the weights that fit was given: {rows} rows above 0 that weigh {total:g}"
        found = f"{np.count_nonzero(weight)} rows above 0 that weigh {weight.sum():g}"
        raise invalid(source, "argument", "sample_weight", expected, found)
    return weight


def _check_rows(source: str, model: DecisionTreeClassifier, X: Any, weight: FloatArray | None) -> BoolArray:
    """Check that the tree holds these rows; which features have no missing value in them, shape (n_features,)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # names of columns that only one of model and X has
            reached = model.decision_path(X)
    except (TypeError, ValueError) as error:
        expected = f"the rows that fit was given, {model.n_features_in_} features"
        raise invalid(source, "argument", "X", expected, shorten(str(error), 200)) from None
    if weight is not None and len(weight) != reached.shape[0]:
        expected = f"as many rows as sample_weight, {len(weight)}"
        raise invalid(source, "argument", "X", expected, str(reached.shape[0]))
    weight = np.ones(reached.shape[0]) if weight is None else weight
    for what, theirs, ours in (
        ("rows", model.tree_.n_node_samples, reached.T @ (weight > 0).astype(np.float64)),
        ("weight", model.tree_.weighted_n_node_samples, reached.T @ weight),
    ):
        for at in np.flatnonzero(theirs != ours)[:1].tolist():
            expected = f"the rows that fit was given: {what} {theirs[at]:g} at node {at} of the tree"
            raise invalid(source, "argument", "X", expected, f"{ours[at]:g}")
    if hasattr(X, "tocsr"):  # sparse, which holds no missing values
        return np.ones(model.n_features_in_, bool)
    missing = np.isnan(np.asarray(X, dtype=np.float64)[weight > 0])
    return np.asarray(~missing.any(axis=0), dtype=np.bool_)


def induction_of(model: DecisionTreeClassifier, coding: Sequence[Feature], fit: Fit) -> Induction:
    """The induction of a fitted tree; without impurity where the format cannot state all of it.

    ``coding``: what each column of its input means. ``fit``: what is known of its data.
    """
    impurity = _IMPURITIES.get(model.criterion) if isinstance(model.criterion, str) else None
    encoding = _encoding(coding)
    if (
        impurity is None
        or encoding is None
        or model.splitter != "best"
        or model.max_features_ < model.n_features_in_
        or (fit.whole is None and len(missing_seen(model.tree_)) > 0)
    ):
        return Induction("cart")
    compared = tuple(_compared(model.tree_, coding, fit.whole))
    if not compared:
        return Induction("cart")
    every = len(compared) == len({feature.attribute for feature in coding})
    least = fewest_records(model, fit)
    return Induction("cart", impurity, "thresholds", least, encoding=encoding, compared=None if every else compared)


def _encoding(coding: Sequence[Feature]) -> Encoding | None:
    """Encoding of attributes with three or more values; None when the format has no name for it.

    With two values both encodings have the same single split.
    """
    encodings: set[Encoding] = set()
    for attribute in {f.attribute for f in coding if f.values is not None}:
        columns = [f for f in coding if f.attribute == attribute]
        values = columns[0].values or ()
        if len(values) > 2:
            if columns[0].indicates is not None and len(columns) < len(values):
                return None  # the value without an indicator did not stand against the rest
            encodings.add("ordinal" if columns[0].indicates is None else "onehot")
    if len(encodings) > 1:
        return None
    return encodings.pop() if encodings else "ordinal"


def _compared(tree: Any, coding: Sequence[Feature], whole: BoolArray | None) -> Iterator[str]:
    """The attributes whose splits are known to have been judged by all records of each node.

    scikit-learn lets missing values compete on either side of every cut, or alone. Where the data are unknown, only
    a feature that is tested would have shown where missing values went.
    """
    known = np.isin(np.arange(len(coding)), tree.feature) if whole is None else whole
    for attribute in dict.fromkeys(feature.attribute for feature in coding):
        mine = np.array([known[i] for i, feature in enumerate(coding) if feature.attribute == attribute])
        if mine.all() if whole is not None else mine.any():
            yield attribute


def fewest_records(model: DecisionTreeClassifier, fit: Fit) -> int:
    """Records on each side of a split that are enough for it to have competed.

    scikit-learn takes a fraction of all rows, those of weight 0 too, and compares it with rows, not with their weights.
    """
    tree = model.tree_
    if isinstance(model.min_samples_leaf, Integral):
        rows = int(model.min_samples_leaf)
    elif fit.rows is not None:
        rows = math.ceil(model.min_samples_leaf * fit.rows)
    else:
        rows = int(tree.n_node_samples.min())  # no node has fewer than were asked for, however many rows there were
    records = rows
    if fit.weight is not None:
        # As many rows have to be there even if the heaviest ones are.
        records = int(np.sort(fit.weight)[::-1][: rows - 1].sum()) + 1
    lightest = math.ceil(model.min_weight_fraction_leaf * float(tree.weighted_n_node_samples[0]))
    return max(records, int(lightest))


def missing_seen(tree: Any) -> IntArray:
    """The columns of a ``tree_`` with a test that sent missing values where it would not have without any.

    Without any, they would go to the larger child; an infinite threshold sends them alone.
    """
    stored = getattr(tree, "missing_go_to_left", None)
    if stored is None:
        return np.zeros(0, np.int64)
    inner = np.flatnonzero(tree.children_left >= 0)
    rows = tree.n_node_samples
    larger_left = rows[tree.children_left[inner]] > rows[tree.children_right[inner]]
    odd = (stored[inner].astype(bool) != larger_left) | ~np.isfinite(tree.threshold[inner])
    return np.unique(np.asarray(tree.feature[inner][odd], np.int64))
