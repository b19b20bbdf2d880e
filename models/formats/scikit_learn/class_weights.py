"""The records behind weighted counts of trees that were fitted with class weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from maxent.models.arrays import FloatArray, IntArray
from maxent.models.formats.scikit_learn.splits import weighed

_ROUNDING = 1e-6
"""By how much a recovered count may be off a whole number."""


def counts_without(model: Any, tree: Any) -> IntArray | None:
    """Records of each class at the nodes of a ``tree_``, None where the class weights of its model do not tell them.

    Weights that are stated are divided by. Balanced ones are n / (K n_c), with the n_c records of a class unknown: that
    the records of nodes add up is linear in these. Whatever is found has to be whole numbers at every node.

    Parameters
    ----------
    model : classifier
        With ``class_weight`` and ``classes_``; the tree was grown from all its rows, each once.
    tree : sklearn.tree._tree.Tree

    Returns
    -------
    int64, shape (n_nodes, n_classes), or None
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
