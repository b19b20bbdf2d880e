"""The records behind weighted counts of trees that were fitted with class weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from maxent.models.arrays import FloatArray, IntArray
from maxent.models.formats.scikit_learn.splits import weighed

_ROUNDING = 1e-6  # by how much a recovered count may be off a whole number


def counts_without(model: Any, tree: Any) -> IntArray | None:
    """Records of each class at the nodes of a ``tree_``, None where the class weights of its model do not tell them.

    Weights that are stated are divided by. Balanced ones are n / (K n_c), with the n_c records of a class unknown: that
    the records of nodes add up is linear in these. Whatever is found has to be whole numbers at every node.

    ``model``: with ``class_weight`` and ``classes_``; the tree was grown from all its rows, each once.
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


def weighed_alike(model: Any, y: Any) -> bool | None:
    """Whether, but for the weights of their classes, all rows had the same weight in training.

    None where a model does not tell. What its nodes weigh has to be whole numbers of rows, as many as it was grown
    from. ``y`` are the classes of the rows, as ``fit`` was given them.
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
        return bool(np.abs(rows - np.rint(rows)).max() <= _ROUNDING)
    drawn = getattr(model, "_n_samples_bootstrap", None) or len(y)
    asked = getattr(model, "class_weight", None)
    kept = getattr(model, "_sample_weight", None)  # of forests since scikit-learn 1.9, those of classes included
    if kept is not None and len(kept) == len(y):
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
