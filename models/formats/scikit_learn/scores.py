"""Boosted models of scikit-learn: gradient boosting, histogram gradient boosting and AdaBoost of trees.

Leaves of gradient boosting add to log-odds; rate and penalty are stated where the values are Newton steps of all
records alike, for then they tell how many of a class a leaf has. Trees of AdaBoost vote with weights.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from maxent.models.arrays import TINY, FloatArray, IntArray
from maxent.models.errors import invalid
from maxent.models.formats.boosting.class_weights import FirstTree, balanced, number_of_second
from maxent.models.formats.scikit_learn.columns import Feature
from maxent.models.formats.scikit_learn.ensemble import (
    Ensemble,
    Member,
    exact_splits,
    is_monotonic,
    shares_of,
    sizes_of,
)
from maxent.models.formats.scikit_learn.models import check_model
from maxent.models.formats.scikit_learn.splits import Splits, weighed
from maxent.models.release import Boosting, Link
from maxent.models.tables.frame import shorten

# By how much the records of a class may be off a whole number, as the scores before the first tree tell them
_WHOLE = 1e-6


def is_boosted(model: object) -> bool:
    """Whether a model is a fitted classifier of one of these kinds."""
    from sklearn import ensemble
    from sklearn.tree import DecisionTreeClassifier

    if isinstance(model, ensemble.AdaBoostClassifier):
        trees = getattr(model, "estimators_", ())
        return bool(len(trees)) and all(isinstance(tree, DecisionTreeClassifier) for tree in trees)
    if isinstance(model, ensemble.HistGradientBoostingClassifier):
        return hasattr(model, "_predictors")
    return isinstance(model, ensemble.GradientBoostingClassifier) and hasattr(model, "estimators_")


def boosted_of(source: str, model: Any, rows: int | None) -> Ensemble:
    """The trees of a boosted model, see `maxent.models.formats.scikit_learn.ensemble.trees_of`."""
    if hasattr(model, "_predictors"):
        return _histograms(source, model, rows)
    return _adaboost(source, model, rows) if hasattr(model, "estimator_weights_") else _gradients(source, model, rows)


def _gradients(source: str, model: Any, rows: int | None) -> Ensemble:
    """Gradient boosting: regression trees for each iteration and class."""
    n_classes = len(model.classes_)
    several = n_classes > 2
    stumps = np.asarray(model.estimators_, object)
    trees = [tree.tree_ for tree in stumps.ravel()]
    exponential = model.loss == "exponential"
    part = model.subsample < 1 or model.n_iter_no_change is not None
    sizes = [None] * len(trees) if part else sizes_of(trees, rows)
    every = np.arange(model.n_features_in_)
    members = []
    for number, (tree, n) in enumerate(zip(trees, sizes, strict=True)):
        values = model.learning_rate * np.asarray(tree.value[:, 0, :1], np.float64)
        of = np.array([number % n_classes if several else 1])
        # Of the exponential loss the score is half the log-odds.
        members.append(Member(exact_splits(tree), every, of, None, n, values, 2.0 if exponential else 1.0))
    base = _first_scores(source, model) * (2.0 if exponential else 1.0)
    whole = all(np.array_equal(tree.weighted_n_node_samples, tree.n_node_samples) for tree in trees)
    rate = None
    if not part and not exponential and whole:
        rate = float(model.learning_rate) * ((n_classes - 1) / n_classes if several else 1.0)
    return _gradient(members, base, rate, None if rate is None else 0.0)


def _first_scores(source: str, model: Any) -> FloatArray:
    """The scores before the first tree of gradient boosting, shape (1,) or (n_classes,)."""
    n_classes = len(model.classes_)
    if isinstance(model.init_, str):
        return np.zeros(n_classes if n_classes > 2 else 1)
    if type(model.init_).__name__ != "DummyClassifier" or model.init_.strategy != "prior":
        expected = "None or 'zero': scores before the first tree that depend on the row cannot be stated; fit again"
        raise invalid(source, "model", "init", expected, shorten(model.init_))
    small = np.finfo(np.float64).eps
    shares = np.clip(np.asarray(model.init_.class_prior_, np.float64), small, 1 - small)
    if n_classes > 2:
        return np.asarray(np.log(shares) - np.log(shares).mean())
    odds = float(np.log(shares[1] / (1 - shares[1])))
    return np.array([odds / 2 if model.loss == "exponential" else odds])


def _gradient(members: Sequence[Member], base: FloatArray, rate: float | None, penalty: float | None) -> Ensemble:
    """Trees that add to log-odds."""
    link: Link = "logit" if len(base) == 1 else "softmax"
    return Ensemble(tuple(members), "score", None, Boosting(link, rate, penalty), base)


def _histograms(source: str, model: Any, rows: int | None) -> Ensemble:
    """Histogram gradient boosting, whose trees compare doubles and test sets of categories."""
    n_classes = len(model.classes_)
    several = n_classes > 2
    order = histogram_columns(model)
    members = []
    for iteration in model._predictors:
        for number, predictor in enumerate(iteration):
            nodes = predictor.nodes
            inner = nodes["is_leaf"] == 0
            codes = {
                node: _codes(predictor.raw_left_cat_bitsets[int(nodes["bitset_idx"][node])])
                for node in np.flatnonzero(inner & (nodes["is_categorical"] == 1)).tolist()
            }
            splits = Splits(
                np.where(inner, nodes["left"].astype(np.int64), -1),
                np.where(inner, nodes["right"].astype(np.int64), -1),
                order[nodes["feature_idx"].astype(np.int64)],
                np.asarray(nodes["num_threshold"], np.float64),
                np.asarray(nodes["missing_go_to_left"], bool),
                codes,
            )
            values = np.asarray(nodes["value"], np.float64)[:, None]
            of = np.array([number if several else 1])
            members.append(
                Member(splits, np.arange(model.n_features_in_), of, None, nodes["count"].astype(np.int64), values)
            )
    base = np.asarray(model._baseline_prediction, np.float64).ravel()
    part = bool(getattr(model, "do_early_stopping_", False)) and model.validation_fraction is not None
    part = part or len({int(m.rows[0]) for m in members if m.rows is not None}) > 1
    if part:
        members = [replace(member, rows=None) for member in members]
    weights = _weights_of(model, base, members)
    # Weights of records multiply both sums: only a penalty would show them where all records have the same.
    plain = not part and not getattr(model, "_fitted_with_sw", False) and not is_monotonic(model)
    if not plain or weights is None or not _of_whole_records(base, members[0].rows, weights):
        return _gradient(members, base, None, None)
    found = _gradient(members, base, float(model.learning_rate), float(model.l2_regularization))
    return found if getattr(model, "class_weight", None) is None else replace(found, weights=weights)


def _weights_of(model: Any, base: FloatArray, members: Sequence[Member]) -> FloatArray | None:
    """What records of each class weigh, shape (n_classes,); None where it is not known."""
    asked, n_classes = getattr(model, "class_weight", None), len(model.classes_)
    if asked is None and members:
        return np.ones(n_classes)
    if isinstance(asked, Mapping):  # the keys are the numbers of the classes, which may be their names, too
        keys, numbers, names = set(asked), set(range(n_classes)), set(model.classes_.tolist())
        if not keys <= numbers or (keys <= names and names != numbers):
            return None
        stated = np.array([float(asked.get(x, 1.0)) for x in range(n_classes)])
        return stated if (stated > 0).all() else None
    rows = members[0].rows if members else None
    if asked != "balanced" or n_classes > 2 or rows is None or abs(float(base[0])) > _WHOLE:
        return None
    first, leaves = members[0], np.flatnonzero(members[0].splits.left < 0)
    if first.values is None:
        return None
    penalty = np.full(len(leaves), float(model.l2_regularization))
    tree = FirstTree(rows[leaves].astype(np.float64), first.values[leaves, 0], penalty, float(model.learning_rate))
    found = number_of_second(tree, balanced, averaged=False)
    if found is None:
        return None
    return np.concatenate(balanced(np.array([found[0]]), float(rows[0])))


def _of_whole_records(base: FloatArray, rows: IntArray | None, weights: FloatArray) -> bool:
    """Whether scores before the first tree are those of whole records of classes with these weights."""
    if rows is None:
        return False
    odds = np.exp(np.append(0.0, base) if len(weights) == 2 else base) / weights
    records = odds / odds.sum() * float(rows[0])
    return bool(np.abs(records - np.rint(records)).max() <= _WHOLE * max(float(rows[0]), 1.0))


def _codes(bits: Any) -> frozenset[int]:
    """The numbers of the bits that are set in words of 32."""
    found = np.unpackbits(np.asarray(bits, "<u4").view(np.uint8), bitorder="little")
    return frozenset(np.flatnonzero(found).tolist())


def histogram_columns(model: Any) -> IntArray:
    """The column of the input that each column inside of histogram boosting is: categories come first there."""
    every = np.arange(model.n_features_in_)
    if getattr(model, "_preprocessor", None) is None:
        return every
    chosen = np.asarray(model.is_categorical_, bool)
    return np.concatenate([every[chosen], every[~chosen]])


def histogram_coding(source: str, model: Any, coding: Sequence[Feature]) -> list[Feature]:
    """The columns of histogram boosting, which takes missing values and categories as they are."""
    found = [feature if feature.values is not None else replace(feature, missing=True) for feature in coding]
    if getattr(model, "is_categorical_", None) is None:
        return found
    where = np.flatnonzero(model.is_categorical_).tolist()
    for i, values in zip(where, _categories(model, where), strict=True):
        names = coding[i].values
        if names is None:
            names = tuple(_text(value) for value in values)
        elif not all(isinstance(v, (float, int)) for v in values) or max(values) >= len(names):
            expected = f"no description: the model has {len(values)} categories of its own"
            raise invalid(source, f"categories {shorten(coding[i].name)}", "values", expected, shorten(list(names)))
        elif getattr(model, "_preprocessor", None) is not None:
            names = tuple(names[int(value)] for value in values)
        if len(set(names)) < len(names) or {"(missing)", "(other)"} & set(names):
            expected = "categories that read differently, and not as (missing) or (other)"
            raise invalid(source, f"column {shorten(coding[i].name)}", "categories", expected, shorten(list(names)))
        found[i] = replace(coding[i], values=names, missing=True, unseen=True)
    return found


def _categories(model: Any, where: Sequence[int]) -> list[list[Any]]:
    """The categories of each categorical column, in the order of their codes, without missing ones."""
    if getattr(model, "_preprocessor", None) is not None:
        stored = model._preprocessor.named_transformers_["encoder"].categories_
        return [[v for v in values.tolist() if v is not None and v == v] for values in stored]
    known = [model._bin_mapper.bin_thresholds_[i] for i in where]
    return [list(range(int(max(values)) + 1)) if len(values) else [] for values in known]


def _text(value: object) -> str:
    """A category as it stands in a table: codes, which are stored as doubles, are whole numbers."""
    return (
        repr(value)
        if isinstance(value, float) and not value.is_integer()
        else str(int(value) if isinstance(value, float) else value)
    )


def _adaboost(source: str, model: Any, rows: int | None) -> Ensemble:
    """AdaBoost: each tree votes for the class of its leaf, or by the logarithms of its shares (SAMME.R)."""
    n_classes = len(model.classes_)
    for tree in model.estimators_:
        check_model(source, tree)
    weights = np.asarray(model.estimator_weights_, np.float64)
    trees = [tree.tree_ for tree in model.estimators_]
    first = weighed(trees[0]) / max(float(trees[0].weighted_n_node_samples[0]), TINY)
    first *= float(trees[0].n_node_samples[0])
    alike = bool(np.abs(first - np.rint(first)).max() <= _WHOLE) and not is_monotonic(model.estimators_[0])
    roots = {int(tree.n_node_samples[0]) for tree in trees}
    sized = len(roots) == 1 and (alike or rows in roots)
    every = np.arange(model.n_features_in_)
    members = []
    for number, (tree, weight) in enumerate(zip(model.estimators_, weights / weights.sum(), strict=False)):
        n = np.asarray(tree.tree_.n_node_samples, np.int64) if sized else None
        # The first tree is grown before any record has more weight than another.
        counts = np.rint(first).astype(np.int64) if number == 0 and alike and sized else None
        splits, classes = exact_splits(tree.tree_), np.arange(n_classes)
        members.append(Member(splits, every, classes, counts, n, _votes(model, tree), float(weight), tree))
    return Ensemble(tuple(members), "score", None, Boosting("softmax"))


def _votes(model: Any, tree: Any) -> FloatArray:
    """The terms of the scores of AdaBoost at each node of a tree, shape (n_nodes, n_classes)."""
    shares = shares_of(tree)
    others = shares.shape[1] - 1
    if getattr(model, "algorithm", "SAMME") == "SAMME.R":
        logs = np.log(np.clip(shares, np.finfo(np.float64).eps, None))
        return np.asarray(logs - logs.mean(axis=1, keepdims=True))
    won = shares.argmax(axis=1)[:, None] == np.arange(others + 1)
    if not _votes_against(model):
        return np.asarray(won - 0.5 if others == 1 else won / others)
    return np.asarray(np.where(won, 1.0, -1 / others) / others)


def _votes_against(model: Any) -> bool:
    """Whether a tree votes against the classes that it does not predict: since scikit-learn 1.3."""
    found = re.match(r"1\.[0-2]\b", str(vars(model).get("_sklearn_version", "")))
    return found is None
