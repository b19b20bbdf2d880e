"""What each place of a tree adds to the prediction of its release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.release import Node, Release, Tree
from maxent.models.trees.places import Places, number_places

Removed = Literal["ancestor", "majority"]


@dataclass(frozen=True, slots=True)
class Terms:
    """What the places of a tree add to the weights of classes; the trees' terms are summed.

    ``own`` (n_places, n_classes) are those of places with an answer, 0 elsewhere. ``instead`` (n_places, n_classes) are
    those that count when no tree has an answer. ``label`` (n_places,) is the code of the label that a leaf states,
    else -1: the prediction of a single tree.
    """

    own: FloatArray
    instead: FloatArray
    label: IntArray


def terms_of(release: Release, removed: Removed = "ancestor") -> Iterator[Terms]:
    """The terms of each tree, see `maxent.models.trees.predict.predict_proba`; not of a release that adds scores."""
    counted = all(leaf.counts is not None for tree in release.trees for leaf in tree.leaves)
    added = counted and release.predicts is None
    heaviest = max(tree.weight for tree in release.trees) or 1.0
    for tree in release.trees:
        answers = _answers(tree, release.target.classes, removed)
        weights = _votes(answers) if release.predicts == "vote" else answers.weights
        weights = weights if added else tree.weight / heaviest * shares_of(weights)
        yield Terms(np.where(answers.own[:, None], weights, 0.0), weights[answers.substitute], answers.label)


def shares_of(weights: FloatArray) -> FloatArray:
    """Rows divided by their sums; those of zeros stay."""
    total = weights.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(weights, total, out=np.zeros_like(weights), where=total > 0))


@dataclass(frozen=True, slots=True)
class _Answers:
    """Class shares of the prediction at each place of a tree.

    ``weights`` (n_places, n_classes) are those of the leaves below a place together, ``own`` (n_places,) says whether
    a place is a leaf with an answer, ``label`` (n_places,) is the code of the label it states, else -1, and
    ``substitute`` (n_places,) is the place that answers for one without an answer.
    """

    weights: FloatArray
    own: BoolArray
    label: IntArray
    substitute: IntArray


def _votes(answers: _Answers) -> FloatArray:
    """One vote of each place that has an answer, shape (n_places, n_classes): for its label, or the likeliest class."""
    best = np.where(answers.label < 0, answers.weights.argmax(axis=1), answers.label)
    return np.eye(answers.weights.shape[1])[best] * (answers.weights.any(axis=1) | (answers.label >= 0))[:, None]


def _answers(tree: Tree, classes: tuple[str, ...], removed: Removed) -> _Answers:
    """The answers of a tree."""
    places = number_places(tree)
    n_places, code = len(places.children), {c: x for x, c in enumerate(classes)}
    leaves, label = np.zeros((int(places.last[0]) + 1, len(classes))), np.full(n_places, -1)
    answering = [leaf for leaf in tree.leaves if leaf.label is not None or leaf.rates is not None]
    sized = all(leaf.n is not None or leaf.counts is not None for leaf in answering)
    own = np.zeros(n_places, bool)
    for place, node in enumerate(tree.nodes):
        if node.is_leaf:
            found = _leaf_weights(node, classes, sized)
            leaves[places.first[place]], own[place] = found, any(found)
            label[place] = -1 if node.label is None else code[node.label]
    below = np.column_stack([places.first, places.last]).ravel()
    weights = np.add.reduceat(leaves, below, axis=0)[::2]
    return _Answers(weights, own, label, _substitutes(places, weights.sum(axis=1) > 0, removed))


def _leaf_weights(leaf: Node, classes: tuple[str, ...], sized: bool) -> Sequence[float]:
    """Records of each class that a leaf states, or their shares unless ``sized``; zeros when it states none."""
    if leaf.counts is not None:
        counts = [float(leaf.counts[c]) for c in classes]
        return counts if sized else [count / max(sum(counts), 1.0) for count in counts]
    if leaf.rates is not None:
        return [leaf.rates.get(c, 0.0) * (float(leaf.n) if sized and leaf.n is not None else 1.0) for c in classes]
    if leaf.label is None or leaf.n == 0:
        return [0.0] * len(classes)
    n = float(leaf.n) if sized and leaf.n is not None else 1.0
    errors = n * (leaf.error_rate or 0.0)
    return [n - errors if c == leaf.label else errors / (len(classes) - 1) for c in classes]


def _substitutes(places: Places, answers: BoolArray, removed: Removed) -> IntArray:
    """The place that answers for each place, shape (n_places,); ``answers`` says which have leaves with an answer."""
    found = np.zeros(len(answers), np.int64)
    if removed == "ancestor":
        for place in places.top_down:
            if answers[place]:
                found[place] = place
            for child in places.children[place]:
                found[child] = found[place]
    return found
