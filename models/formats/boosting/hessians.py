"""Whether scores are of a training table: sums of hessians at leaves follow from the scores of the trees before.

The hessian of a record is p (1 - p) times `Boosting.hessian` (Chen and Guestrin, 2016, section 2.2); p is what the
trees of all iterations before predict. A table, a base score and an order of categories that give the sums that a file
states at all leaves are those of the training.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

import numpy as np

from maxent.models.arrays import FloatArray
from maxent.models.errors import InvalidInput
from maxent.models.formats.proof import training_places
from maxent.models.formats.training_columns import TrainingColumns
from maxent.models.nodes import each, links_of
from maxent.models.release import Node, Release, Tree

_SMALLEST = 1e-16  # the least hessian of a record
_SHARED = 1e-5  # by how much a sum of equal hessians may be off, in parts of it
_ROUNDING = 1e-4  # by how much a sum may be off, in parts of it, and besides: tools compute in single precision

SPARE = 3  # numbers of leaves that have to follow from others, for records, or those of a class, to have had one weight


def weighed_alike(trees: Iterable[Sequence[Node]]) -> bool:
    """Whether the leaves of the first tree of each class have one sum of hessians per record.

    All records have the same score before these trees, so that it is as large as their mean weight is.
    """
    spare = 0
    for tree in trees:
        leaves = [(node.hessian or 0.0, node.n or 0) for node in each(tree) if node.is_leaf]
        (first, n), *others = leaves
        if any(not h * n > 0 or abs(h * n - first * many) > _SHARED * h * n for h, many in others):
            return False
        spare += len(others)
    return spare >= SPARE


def follows_gradients(
    release: Release, iterations: Sequence[int], training: TrainingColumns, first: FloatArray | None = None
) -> bool:
    """Whether the first trees raise the scores of the records of their classes: else classes are in another order.

    ``first`` are the scores before the first tree, where they are not the base, shape (n_classes,).
    """
    boosting = release.boosting
    reached, y = training_places(release, training)
    if boosting is None or not training.classes:
        return False
    scores = _starts(release, len(y)) if first is None else np.tile(first, (len(y), 1))
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    residuals = np.eye(scores.shape[1])[y] - odds / odds.sum(axis=1, keepdims=True)
    classes, told = release.target.classes, False
    for t, tree in enumerate(release.trees):
        if iterations[t] == iterations[0]:
            of = classes.index(tree.of_class or classes[-1])
            along = float((residuals[:, of] * _values(tree)[reached[t]]).sum())
            if along < 0:
                return False
            told = told or along > 0
    return told or all(not _values(tree).any() for tree in release.trees)


def _starts(release: Release, n: int) -> FloatArray:
    """The scores before the first tree, shape (n, n_classes); 0 of the first of two classes."""
    boosting, classes = release.boosting, release.target.classes
    base = 0.0 if boosting is None else boosting.base
    starts = [float(base) if isinstance(base, float | int) else base.get(c, 0.0) for c in classes]
    if boosting is not None and boosting.link == "logit":
        starts[0] = 0.0
    return np.tile(np.array(starts), (n, 1))


def agrees(
    release: Release,
    covers: Sequence[FloatArray],
    iterations: Sequence[int],
    training: TrainingColumns,
    first: FloatArray | None = None,
) -> bool:
    """Whether the sums of hessians at all leaves are those of a training table.

    ``release``: of scores, with a base; `Tree.weight` is not looked at, as all trees were trained on the sum of those
    before. ``covers`` of shape (n_nodes,): the sums that nodes state. ``training``: with the target, classes may have
    weights of their own (``scale_pos_weight``), which the first root tells. ``first`` of shape (n_classes,): the scores
    before the first tree, where its values contain them.
    """
    boosting = release.boosting
    if boosting is None or boosting.link == "none":
        return False
    try:
        reached, y = training_places(release, training)
    except InvalidInput:
        return False
    classes = release.target.classes
    scores = _starts(release, len(y))
    weights = np.ones(len(y))
    for iteration, group in groupby(range(len(covers)), key=lambda t: iterations[t]):
        members = list(group)
        before = scores if first is None or iteration != iterations[0] else np.tile(first, (len(y), 1))
        hessian = boosting.hessian * np.maximum(_hessians(before), _SMALLEST)
        if iteration == iterations[0] and boosting.link == "logit" and training.classes:
            weights = _class_weights(hessian[:, 1], y == 1, float(covers[members[0]][0]))
        for t in members:
            of = classes.index(release.trees[t].of_class or classes[-1])
            sums = np.bincount(reached[t], weights * hessian[:, of], minlength=len(covers[t]))
            leaves = links_of(release.trees[t].nodes)[0] == 0
            if not np.allclose(sums[: len(leaves)][leaves], covers[t][leaves], rtol=_ROUNDING, atol=_ROUNDING):
                return False
        for t in members:
            of = classes.index(release.trees[t].of_class or classes[-1])
            scores[:, of] += _values(release.trees[t])[reached[t]]
    return True


def _hessians(scores: FloatArray) -> FloatArray:
    """P (1 - p) of each class, shape (n, n_classes)."""
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares = odds / odds.sum(axis=1, keepdims=True)
    return np.asarray(shares * (1 - shares))


def _class_weights(hessian: FloatArray, second: np.ndarray[tuple[int], np.dtype[np.bool_]], cover: float) -> FloatArray:
    """Weights of records, 1 but for those of the second class, that make the sum at the root what it is."""
    others, own = float(hessian[~second].sum()), float(hessian[second].sum())
    weight = (cover - others) / own if own else 1.0
    return np.where(second, weight if weight > 0 else 1.0, 1.0)


def _values(tree: Tree) -> FloatArray:
    """Scores at the nodes, shape (n_nodes,)."""
    return np.array([node.value if isinstance(node.value, float) else 0.0 for node in each(tree.nodes)])
