"""Fitted trees, forests and bags of scikit-learn: their arrays, and the records that they count.

A tree that was fitted with weights, or on a part of the rows, does not hold the records' counts. Its shares of classes
are then only what it answers, and no statement: they are scores.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.draws import ANSWERS, MOST_ROWS, MOST_SEED, SEEDS, STATE, Draws
from maxent.models.errors import invalid
from maxent.models.formats.scikit_learn.models import check_model
from maxent.models.release import Boosting, Predicts
from maxent.models.trees.places import single_at_most

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeClassifier


# Fitted trees of scikit-learn as arrays: their tests, and the weight of their records.

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
    """Thresholds with which values of single precision are compared, as doubles; short ones stay as they are."""
    moved, which = np.unique(thresholds, return_inverse=True)  # of a column many nodes have the same
    for at in np.flatnonzero(np.isfinite(moved)).tolist():
        threshold = float(moved[at])
        if float(np.float32(threshold)) != threshold or float(f"{threshold:.{_DIGITS}g}") != threshold:
            moved[at] = single_at_most(threshold)
    return moved[which.reshape(thresholds.shape)]


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


# The records behind weighted counts of trees that were fitted with class weights.

_ROUNDING = 1e-6  # by how much a recovered count may be off a whole number


def counts_without(model: Any, tree: Any) -> IntArray | None:
    """Records of each class at the nodes of a ``tree_``, None where the class weights of its model do not tell them.

    Stated weights are divided by; balanced ones, n / (K n_c), follow as the records of nodes add up. Numbers have to be
    whole.
    """
    weights, totals = weighed(tree), np.asarray(tree.n_node_samples, np.float64)
    if isinstance(model.class_weight, Mapping):
        asked = np.array([float(model.class_weight.get(c, 1.0)) for c in model.classes_.tolist()])
        if not (asked > 0).all():
            return None
        each = 1 / asked
    elif model.class_weight in ("balanced", "balanced_subsample"):
        found = _balanced(weights, totals)
        if found is None:
            return None
        each = found
    else:
        return None
    counts = np.rint(weights * each)
    if np.abs(weights * each - counts).max() > _ROUNDING or not np.array_equal(counts.sum(axis=1), totals):
        return None
    return counts.astype(np.int64)


def unweighed(model: Any) -> bool:
    """Whether every node of the trees of a model weighs as much as it has rows."""
    fitted = getattr(model, "estimators_", None)
    members = [model] if fitted is None else np.asarray(fitted, object).ravel().tolist()
    trees = [each.tree_ for each in members if hasattr(each, "tree_")]
    plain = all(np.array_equal(tree.weighted_n_node_samples, tree.n_node_samples) for tree in trees)
    return len(trees) == len(members) and plain


def hyperparameters_of(model: Any) -> dict[str, Any]:
    """The settings of the training that a model states and that are plain values, with its kind as ``model``."""
    from inspect import signature

    stored = {name: value.item() if isinstance(value, np.generic) else value for name, value in vars(model).items()}
    plain = {name: value for name, value in stored.items() if isinstance(value, (str, int, float, type(None)))}
    return {"model": type(model).__name__} | {n: plain[n] for n in signature(type(model)).parameters if n in plain}


def grown_from(model: Any, rows: int) -> bool:
    """Whether every tree of a model was grown from so many rows, all that weighed something; no fraction counts others.

    Trees leave out rows that weigh nothing; draws, and ``min_samples_leaf`` as a share of the rows, do not.
    """
    fitted = getattr(model, "estimators_", None)
    members = [model] if fitted is None else np.asarray(fitted, object).ravel().tolist()
    drawn = getattr(model, "bootstrap", False) or (getattr(model, "subsample", None) or 1.0) < 1
    return not drawn and all(
        hasattr(each, "tree_")
        and int(each.tree_.n_node_samples[0]) == rows
        and not isinstance(each.min_samples_leaf, float)
        for each in members
    )


def weighed_alike(model: Any, y: Any) -> bool | None:
    """Whether, but for the weights of their classes, all rows had the same weight in training.

    None where a model does not tell: its nodes have to weigh whole numbers of rows, as many as it was grown from.
    """
    fitted = getattr(model, "estimators_", None)
    members = [model] if fitted is None else np.asarray(fitted, object).ravel().tolist()
    if not all(hasattr(each, "tree_") for each in members):
        return None
    trees = [each.tree_ for each in members]
    if unweighed(model):
        return True
    if hasattr(model, "estimator_weights_"):  # of boosting: the first tree is grown before any row weighs more
        rows = weighed(trees[0]) * len(y) / trees[0].weighted_n_node_samples[0]
        counted = np.array_equal(np.rint(rows).sum(axis=1), trees[0].n_node_samples)
        return counted and bool(np.abs(rows - np.rint(rows)).max() <= _ROUNDING)
    drawn = getattr(model, "_n_samples_bootstrap", None) or len(y)
    asked = getattr(model, "class_weight", None)
    kept = getattr(model, "_sample_weight", None)  # of forests since scikit-learn 1.9, those of classes included
    if kept is not None and np.shape(kept) == (len(y),):
        return all(np.ptp(np.asarray(kept)[np.asarray(y) == klass]) <= 1e-12 for klass in model.classes_)
    if asked is not None and not getattr(model, "bootstrap", False):
        return all(counts_without(each, each.tree_) is not None for each in members)
    if asked == "balanced_subsample":
        return False
    from sklearn.utils.class_weight import compute_class_weight

    if asked is None:
        counts = [np.asarray(tree.weighted_n_node_samples, np.float64)[:, None] for tree in trees]
    else:
        each_class = compute_class_weight(asked, classes=model.classes_, y=np.asarray(y))
        counts = [weighed(tree) / each_class for tree in trees]
    off = max(float(np.abs(each - np.rint(each)).max()) for each in counts)
    return off <= _ROUNDING and all(round(float(each[0].sum())) == drawn for each in counts)


def _balanced(weights: FloatArray, totals: FloatArray) -> FloatArray | None:
    """One over the balanced weight of each class, shape (n_classes,)."""
    n, n_classes = totals[0], weights.shape[1]
    # The records of all classes together are n, which is one equation more.
    sums = np.append(totals, n_classes)
    solved, _, rank, _ = np.linalg.lstsq(np.vstack([weights, np.ones(n_classes)]), sums, rcond=1e-9)
    records = np.rint(solved * n / n_classes)
    if rank < n_classes or records.min() < 1 or records.sum() != n:
        return None
    return np.asarray(n_classes * records / n)


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A tree of a model, and what its nodes say, by indices into the model's columns and classes.

    ``counts`` are negative where they are not known; ``rows`` are records, or of draws how many different ones there
    are.
    """

    splits: Splits
    features: IntArray
    classes: IntArray
    counts: IntArray | None = None
    rows: IntArray | None = None
    values: FloatArray | None = None
    weight: float = 1.0
    tree: DecisionTreeClassifier | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Ensemble:
    """The trees of a model, and how they predict together; ``draws`` are what each of them counts."""

    members: tuple[Member, ...]
    predicts: Predicts | None = None
    draws: int | None = None
    boosting: Boosting | None = None
    base: FloatArray | None = None
    weights: FloatArray | None = None
    told: Draws | None = None


def is_ensemble(model: object) -> bool:
    """Whether a model is a fitted forest, or a fitted bag of trees."""
    from sklearn import ensemble
    from sklearn.tree import DecisionTreeClassifier

    kinds = (ensemble.RandomForestClassifier, ensemble.ExtraTreesClassifier, ensemble.BaggingClassifier)
    trees = getattr(model, "estimators_", ()) if isinstance(model, kinds) else ()
    return bool(len(trees)) and all(isinstance(tree, DecisionTreeClassifier) for tree in trees)


def trees_of(source: str, model: Any, rows: int | None, *, weighted: bool = False) -> Ensemble:
    """The trees of a tree, or of a fitted forest or bag; ``weighted`` by whole weights that are stated."""
    if not is_ensemble(model):
        check_model(source, model)
        return _single(model, rows, weighted)
    if getattr(model, "n_outputs_", 1) != 1:
        raise invalid(
            source, "argument", "model", "one output (maxent.review takes several)", f"{model.n_outputs_} outputs"
        )
    for tree in model.estimators_:
        check_model(source, tree)
    return _several(model, rows)


def exact_splits(tree: Any) -> Splits:
    """The tests of a ``tree_`` that compares in single precision."""
    found = splits_of(tree)
    return replace(found, threshold=exact(found.threshold))


def sizes_of(trees: Sequence[Any], rows: int | None) -> list[IntArray] | list[None]:
    """Records at the nodes of each ``tree_``, None where some may have had no weight."""
    roots = {int(tree.n_node_samples[0]) for tree in trees}
    whole = all(np.array_equal(tree.weighted_n_node_samples, tree.n_node_samples) for tree in trees)
    if len(roots) > 1 or not (whole or rows in roots):
        return [None] * len(trees)
    return [np.asarray(tree.n_node_samples, np.int64) for tree in trees]


def _single(model: Any, rows: int | None, weighted: bool) -> Ensemble:
    tree = model.tree_
    member = Member(exact_splits(tree), np.arange(model.n_features_in_), np.arange(len(model.classes_)), tree=model)
    plain = weighted or np.array_equal(tree.weighted_n_node_samples, tree.n_node_samples)
    if plain and model.class_weight is None and not is_monotonic(model):
        counts = counts_of(tree)
        if counts is not None:
            return Ensemble((replace(member, counts=counts),))
        if weighted:
            expected = "whole numbers of records (without sample weights what leaves answer is stated, and no counts)"
            raise invalid("from_sklearn", "argument", "sample_weight", expected, "sums that are no whole numbers")
    (sizes,) = sizes_of([tree], rows)
    found = None if is_monotonic(model) else counts_without(model, tree)
    if found is not None:
        return _answering([replace(member, counts=found)])
    return _answering([replace(member, rows=sizes)])


def _several(model: Any, rows: int | None) -> Ensemble:
    given = getattr(model, "estimators_features_", [np.arange(model.n_features_in_)] * len(model.estimators_))
    members = [
        Member(exact_splits(tree.tree_), np.asarray(columns, np.int64), np.asarray(tree.classes_, np.int64), tree=tree)
        for tree, columns in zip(model.estimators_, given, strict=True)
    ]
    trees = [tree.tree_ for tree in model.estimators_]
    known = getattr(model, "_n_samples", None)
    weights = {float(tree.weighted_n_node_samples[0]) for tree in trees}
    drawn = drawn_rows(model, trees)
    part = not model.bootstrap and known is not None and drawn < int(known)
    plain = not any(is_monotonic(tree) for tree in model.estimators_)
    weighted = were_weighed(model)
    own = [tree.class_weight is not None for tree in model.estimators_]  # of a bag, whose trees weigh by themselves
    balanced = any(own) or getattr(model, "class_weight", None) is not None
    found: list[IntArray | None] = []
    if plain and balanced and not model.bootstrap and not part and not (weighted and any(own)):
        found = [counts_without(tree if any(own) else model, tree.tree_) for tree in model.estimators_]
    elif plain and not balanced and not weighted and weights == {float(drawn)} and (not part or unweighed(model)):
        found = [counts_of(tree) for tree in trees]
    if not found or any(each is None for each in found):
        sizes = [None] * len(trees) if model.bootstrap or part else sizes_of(trees, rows)
        return _answering([replace(m, rows=n) for m, n in zip(members, sizes, strict=True)])
    draws = drawn if model.bootstrap or part else None
    distinct = [None if draws is None else np.asarray(tree.n_node_samples, np.int64) for tree in trees]
    counted = [replace(m, counts=c, rows=n) for m, c, n in zip(members, found, distinct, strict=True)]
    if balanced:
        return _answering(counted)
    return Ensemble(tuple(counted), None if len(counted) == 1 else "mean", draws, told=told_draws(model))


def were_weighed(model: Any) -> bool:
    """Whether rows of a forest or bag may have had weights, by which scikit-learn draws them: its nodes do not show it.

    Since these versions it keeps them, and None without any: where neither is there, somebody removed it.
    """
    if not hasattr(model, "bootstrap"):
        return False
    bag = hasattr(model, "bootstrap_features")
    since = (1, 8) if bag else (1, 9)
    stored = vars(model).get("_sklearn_version") or import_module("sklearn").__version__
    kept = tuple(map(int, re.findall("[0-9]{1,4}", str(stored))[:2])) >= since
    if "_sample_weight" in vars(model):
        return vars(model)["_sample_weight"] is not None
    return kept and (bag or bool(model.bootstrap))


def told_draws(model: Any) -> Draws | None:
    """Who was drawn for each tree of a forest or bag, where its seeds tell it and its nodes count these draws.

    They do not where rows had weights, by which scikit-learn draws since 1.9, or classes had some.
    """
    members = getattr(model, "estimators_", ())
    if not hasattr(model, "bootstrap") or not all(hasattr(tree, "tree_") for tree in members) or not len(members):
        return None
    trees, bag = [tree.tree_ for tree in members], hasattr(model, "bootstrap_features")
    drawn = drawn_rows(model, trees)
    n = getattr(model, "_n_samples", None) or (drawn if getattr(model, "max_samples", 0) is None else 0)
    width = model.n_features_in_
    given = getattr(model, "_max_features", 0) if bag else width
    seeds = np.ravel(getattr(model, "_seeds", ())).tolist() if bag else [tree.random_state for tree in members]
    if len(seeds) != len(members) or not all(_is_seed(each) for each in (n, given, *seeds)):
        return None
    if not 0 < drawn <= MOST_ROWS or not 0 < n <= MOST_ROWS or not (model.bootstrap or drawn < n):
        return None
    if not 0 < given <= width or min(seeds) < 0 or max(seeds) > MOST_SEED or not _counts_draws(model, trees, drawn):
        return None
    stored, again = vars(model).get("_sklearn_version"), bag and bool(model.bootstrap_features)
    version = stored if isinstance(stored, str) and stored else import_module("sklearn").__version__
    generator = "scikit-learn-bagging" if bag else "scikit-learn-forest"
    columns = None if given == width and not again else (int(width), int(given), again)
    return Draws(int(n), drawn, bool(model.bootstrap), generator, version, tuple(map(int, seeds)), features=columns)


def _counts_draws(model: Any, trees: Sequence[Any], drawn: int) -> bool:
    """Whether the nodes of a model weigh as much as they have draws, and stay as they were."""
    if were_weighed(model) or getattr(model, "n_outputs_", 1) != 1:
        return False
    if any(getattr(each, "class_weight", None) is not None for each in (model, *model.estimators_)):
        return False
    if any(is_monotonic(tree) for tree in model.estimators_) or not (model.bootstrap or unweighed(model)):
        return False
    if {float(tree.weighted_n_node_samples[0]) for tree in trees} != {float(drawn)}:
        return False
    if not hasattr(model, "classes_"):
        return all(np.array_equal(n, np.rint(n)) for n in (tree.weighted_n_node_samples for tree in trees))
    return all(counts_of(tree) is not None for tree in trees)


_ERRORS = "impurities of nodes, which no leaf value tells (ONNX, PMML and `maxent convert` write none)"
_DEVIANCES = "impurities of nodes, which are no variances (ONNX, PMML and `maxent convert` write none)"


def aside_of(model: object) -> str:
    """What a model keeps beside its trees and tells of single rows, in words; empty where it keeps nothing.

    Since scikit-learn 1.9 forests keep the weights of rows: under weights of classes, the class of each. Integers that
    draws were made from say how often each row was drawn, and counts of draws are equations about rows; so do
    generators. Gradient boosting keeps impurities, the mean squares of residuals, which after the first round tell more
    than the sums that leaves state. Gains and values of inner nodes are functions of the sums of leaves, and tell
    nothing more; neither do the weighted shares of AdaBoost, as the worst case knows who shares the leaves of all
    trees.
    """
    found = []
    if np.ndim(getattr(model, "_sample_weight", 0)) and getattr(model, "class_weight", None) is not None:
        found.append("weights of the rows, which tell their classes (`del model._sample_weight` before it is saved)")
    trees = np.ravel(np.asarray(getattr(model, "estimators_", ()), object)).tolist()
    seeded = bool(trees) and all(_is_seed(getattr(tree, "random_state", None)) for tree in trees)
    asked = getattr(model, "max_samples", None)
    drawn = getattr(model, "bootstrap", False) or not (asked is None or (isinstance(asked, float) and asked == 1))
    if drawn and (seeded or getattr(model, "_seeds", None) is not None) and told_draws(model) is None:
        found.append(SEEDS)
    if any(getattr(model, f"oob_{what}_", None) is not None for what in ("decision_function", "prediction", "score")):
        found.append(ANSWERS)
    gradient = bool(trees) and hasattr(model, "n_iter_no_change") and hasattr(model, "subsample")
    if gradient and (getattr(model, "subsample", 1.0) < 1 or getattr(model, "n_iter_no_change", None) is not None):
        found.append(STATE)
    if gradient and len(getattr(model, "estimators_", ())) > 1:
        found.append(_ERRORS)
    if getattr(model, "do_early_stopping_", False):  # of histogram boosting
        found.append(STATE)
    if any(getattr(each, "criterion", "") == "poisson" for each in (model, *trees)):
        found.append(_DEVIANCES)
    return "; ".join(found)


def _is_seed(value: object) -> bool:
    return isinstance(value, (int, np.integer))


def drawn_rows(model: Any, trees: Sequence[Any]) -> int:
    """How many rows each ``tree_`` of a forest or bag was given, -1 where the model does not keep it."""
    known = getattr(model, "_n_samples", None)
    asked = getattr(model, "_n_samples_bootstrap", None) or getattr(model, "_max_samples", None) or known
    if asked is not None:
        return int(asked)
    least = min(float(tree.weighted_n_node_samples[0]) for tree in trees)
    return int(least) if getattr(model, "max_samples", 0) is None else -1


def is_monotonic(tree: Any) -> bool:
    """Whether a tree has monotonic constraints: it then stores shares clipped to those of the nodes above."""
    asked = getattr(tree, "monotonic_cst", None)
    return asked is not None and bool(np.any(asked))


def _answering(members: Sequence[Member]) -> Ensemble:
    """Trees whose shares of classes are what they answer, and not those of the records."""
    scored = tuple(replace(m, values=shares_of(m.tree)) for m in members)
    return Ensemble(scored, "score", None, Boosting("share"))


def shares_of(model: Any) -> FloatArray:
    """The shares of classes that each node answers with, shape (n_nodes, n_classes)."""
    value = np.asarray(model.tree_.value[:, 0, :], np.float64)
    total = value.sum(axis=1, keepdims=True)
    return np.asarray(value / np.where(total > 0, total, 1.0))
