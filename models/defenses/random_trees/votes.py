"""Predictions of a forest by a vote of its trees, in place of the sum of their counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import FloatArray, IntArray
from maxent.models.release import Attribute, Release
from maxent.models.trees.places import number_places
from maxent.models.trees.predict import predict_columns
from maxent.models.trees.routing import assign


def vote_shares(
    release: Release, attributes: Sequence[Attribute], columns: Sequence[npt.NDArray[Any]], n: int
) -> FloatArray:
    """The share of the trees that vote for each class, for each record, shape (n, n_classes).

    A tree votes for the most frequent class (the first of them) of the leaf that a record comes to, when that has
    counts above 0. Where none has, what `maxent.models.trees.predict.predict_columns`, which has the same arguments,
    predicts
    is the only vote.
    """
    n_classes = len(release.target.classes)
    votes = np.zeros((n, n_classes), np.int64)
    for tree in release.trees:
        counts = np.zeros((len(number_places(tree).children), n_classes), np.int64)
        for place, node in enumerate(tree.nodes):
            if node.counts is not None:
                counts[place] = [node.counts[c] for c in release.target.classes]
        here = np.zeros(n, np.int64) if tree.root.is_leaf else assign(tree, attributes, columns)
        told = np.flatnonzero(counts.max(axis=1)[here])
        votes[told, counts.argmax(axis=1)[here[told]]] += 1
    silent = np.flatnonzero(~votes.any(axis=1))
    votes[silent, predict_columns(release, attributes, columns, n)[silent]] = 1
    return np.asarray(votes / votes.sum(axis=1, keepdims=True))


def predict_votes(
    release: Release, attributes: Sequence[Attribute], columns: Sequence[npt.NDArray[Any]], n: int
) -> IntArray:
    """The class that has the most votes (the first of them), as an index, shape (n,); arguments of `vote_shares`."""
    return np.asarray(vote_shares(release, attributes, columns, n).argmax(axis=1))
