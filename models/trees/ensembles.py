"""Scores of boosted trees: their sum, and the probabilities that it stands for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from maxent.models.arrays import TINY, FloatArray, IntArray
from maxent.models.release import Boosting, Release, Tree
from maxent.models.trees.means import predicts_numbers
from maxent.models.trees.places import number_places

_LARGEST = 1e300  # stands for scores that are beyond all numbers


def sum_of_scores(release: Release, reached: Sequence[IntArray], n: int) -> FloatArray:
    """The scores of records, shape (n, n_classes); 0 of the other class where all trees add to one of two.

    ``release``: with `Release.boosting`, and a value at every leaf. ``reached`` of shape (n,): the place where each
    record ends; a removed leaf, or an inner node, adds nothing. ``n``: records.
    """
    total = np.tile(base_scores(release), (n, 1))
    with np.errstate(over="ignore", invalid="ignore"):  # numbers of a file may be as large as they like
        for terms, place in zip(score_terms(release), reached, strict=True):
            total += terms[place]
    return np.asarray(np.nan_to_num(total, posinf=_LARGEST, neginf=-_LARGEST))


def base_scores(release: Release) -> FloatArray:
    """The scores of the classes before the first tree, shape (n_classes,)."""
    boosting = release.boosting or Boosting("none")
    named = {tree.of_class for tree in release.trees}
    return _by_class(boosting.base, named.pop() if len(named) == 1 else None, release.target.classes)


def score_terms(release: Release) -> Iterator[FloatArray]:
    """What each place of each tree adds to the scores, shape (n_places, n_classes)."""
    with np.errstate(over="ignore", invalid="ignore"):
        for tree in release.trees:
            yield tree.weight * _values(tree, release.target.classes)


def _by_class(value: float | Mapping[str, float] | None, of: str | None, classes: tuple[str, ...]) -> FloatArray:
    """A score as one for each class, shape (n_classes,): that of the class that it is of, or else of all of them."""
    if value is None:
        return np.zeros(len(classes))
    if isinstance(value, Mapping):
        return np.array([value.get(c, 0.0) for c in classes])
    return np.array([value if of is None or c == of else 0.0 for c in classes])


def _values(tree: Tree, classes: tuple[str, ...]) -> FloatArray:
    """Terms of the scores at each place of a tree, shape (n_places, n_classes)."""
    found = np.zeros((len(number_places(tree)), len(classes)))
    for place, node in enumerate(tree.nodes):
        if node.value is not None:
            found[place] = _by_class(node.value, tree.of_class, classes)
    return found


def linked(scores: FloatArray, boosting: Boosting | None) -> FloatArray:
    """The probabilities that scores stand for, shape (n, n_classes): all of it on the best class without a link.

    A softmax of two scores of which one is 0 is the logistic function of the other.
    """
    if boosting is None or boosting.link == "none":
        return np.asarray(np.eye(scores.shape[1])[scores.argmax(axis=1)])
    if boosting.link == "share":
        return _shares(scores)
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _shares(scores: FloatArray) -> FloatArray:
    """Each row divided by its sum, what is below 0 being nothing; equal parts of a row of nothing."""
    above = np.maximum(scores, 0.0)
    above /= np.maximum(above.max(axis=1, keepdims=True), TINY)  # the sum of large scores may be infinite
    total = above.sum(axis=1, keepdims=True)
    equal = np.full(scores.shape, 1 / scores.shape[1])
    return np.asarray(np.divide(above, total, out=equal, where=total > 0))


def states_shares(release: Release) -> bool:
    """Whether the probabilities that a release predicts follow from its statements."""
    if predicts_numbers(release):
        return False
    if release.predicts == "score":
        return release.boosting is not None and release.boosting.link != "none"
    if release.predicts == "vote" and len(release.trees) > 1:
        return True
    two = len(release.target.classes) <= 2
    return all(
        leaf.counts is not None or leaf.rates is not None or (two and leaf.error_rate is not None) or leaf.n == 0
        for tree in release.trees
        for leaf in tree.leaves
    )
