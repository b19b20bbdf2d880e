"""Trees, forests and bags of scikit-learn: what each tree was given, and what it counts.

A tree that was fitted with weights, or on a part of the rows, does not hold the records' counts. Its shares of classes
are then only what it answers, and no statement: they are scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.models.arrays import FloatArray, IntArray
from maxent.models.errors import invalid
from maxent.models.formats.scikit_learn.class_weights import counts_without
from maxent.models.formats.scikit_learn.models import check_model
from maxent.models.formats.scikit_learn.splits import Splits, counts_of, exact, splits_of
from maxent.models.release import Boosting, Predicts

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeClassifier


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A tree of a model, and what its nodes say.

    Attributes
    ----------
    splits : Splits
    features, classes : int64
        The columns of the input, and the classes of the values, that it was given, as indices into the model's.
    counts : int64, shape (n_nodes, n_classes), optional
        Records of its classes, or draws.
    rows : int64, shape (n_nodes,), optional
        Records, or of draws how many different ones there are.
    values : float64, shape (n_nodes, n_classes), optional
        Terms of the scores of its classes.
    weight : float
        How much its values count.
    tree : DecisionTreeClassifier, optional
        Where how it was grown is of interest.
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
    """The trees of a model, and how they predict together; ``draws`` with replacement are what each of them counts.

    ``base`` are the scores before the first tree, of the one class that all trees add to or of each. ``weights`` are
    those of the records of each class, where the model was told to weigh them.
    """

    members: tuple[Member, ...]
    predicts: Predicts | None = None
    draws: int | None = None
    boosting: Boosting | None = None
    base: FloatArray | None = None
    weights: FloatArray | None = None


def is_ensemble(model: object) -> bool:
    """Whether a model is a fitted forest, or a fitted bag of trees."""
    from sklearn import ensemble
    from sklearn.tree import DecisionTreeClassifier

    kinds = (ensemble.RandomForestClassifier, ensemble.ExtraTreesClassifier, ensemble.BaggingClassifier)
    trees = getattr(model, "estimators_", ()) if isinstance(model, kinds) else ()
    return bool(len(trees)) and all(isinstance(tree, DecisionTreeClassifier) for tree in trees)


def trees_of(source: str, model: Any, rows: int | None, *, weighted: bool = False) -> Ensemble:
    """The trees of a tree, or of a fitted forest or bag.

    ``source``: what errors call the call. ``rows``: how many rows ``fit`` was given. ``weighted``: whether the caller
    says with which whole weights a tree was fitted, so that it counts repeated records.
    """
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
    plain = not part and not any(is_monotonic(tree) for tree in model.estimators_)
    weighted = getattr(model, "_sample_weight", None) is not None
    own = [tree.class_weight is not None for tree in model.estimators_]  # of a bag, whose trees weigh by themselves
    balanced = any(own) or getattr(model, "class_weight", None) is not None
    found: list[IntArray | None] = []
    if plain and balanced and not model.bootstrap and not (weighted and any(own)):
        found = [counts_without(tree if any(own) else model, tree.tree_) for tree in model.estimators_]
    elif plain and not balanced and not weighted and weights == {float(drawn)}:
        found = [counts_of(tree) for tree in trees]
    if not found or any(each is None for each in found):
        sizes = [None] * len(trees) if model.bootstrap or part else sizes_of(trees, rows)
        return _answering([replace(m, rows=n) for m, n in zip(members, sizes, strict=True)])
    distinct = [np.asarray(tree.n_node_samples, np.int64) if model.bootstrap else None for tree in trees]
    counted = [replace(m, counts=c, rows=n) for m, c, n in zip(members, found, distinct, strict=True)]
    if balanced:
        return _answering(counted)
    return Ensemble(tuple(counted), None if len(counted) == 1 else "mean", drawn if model.bootstrap else None)


_SEEDS = "seeds, from which follows who was drawn for each tree (ONNX, PMML and `maxent convert` write none)"


def aside_of(model: object) -> str:
    """What a model keeps beside its trees and tells of single rows, in words; empty where it keeps nothing.

    Since scikit-learn 1.9 forests keep the weights of their rows: under weights of classes, the class of each row.
    Integers that draws were made from say how often each row was drawn for each tree, and counts of draws then are
    equations about single rows.
    """
    found = []
    if getattr(model, "_sample_weight", None) is not None and getattr(model, "class_weight", None) is not None:
        found.append("weights of the rows, which tell their classes (`del model._sample_weight` before it is saved)")
    trees = np.ravel(np.asarray(getattr(model, "estimators_", ()), object)).tolist()
    seeded = bool(trees) and all(_is_seed(getattr(tree, "random_state", None)) for tree in trees)
    drawn = getattr(model, "bootstrap", False) or getattr(model, "max_samples", 1.0) not in (None, 1.0)
    sampled = (getattr(model, "subsample", None) or 1.0) < 1 and _is_seed(getattr(model, "random_state", None))
    if sampled or (drawn and (seeded or getattr(model, "_seeds", None) is not None)):
        found.append(_SEEDS)
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
