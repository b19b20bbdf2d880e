"""How this folder's README.md measures accuracy: data, splits, forests, and what these predict for any k and size.

A fifth of the records is set aside, and a forest is drawn anew, for every seed. Forests of fewer trees are the first
trees of a larger one, and all k are of the same samples, as `maxent.models.defenses.parameters.RandomTrees`
makes them.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from maxent.models.arrays import IntArray
from maxent.models.defenses.parameters import RandomTrees
from maxent.models.defenses.random_trees import DrawnTree as Drawn
from maxent.models.defenses.random_trees import draw, leaf_keys
from maxent.models.tables.domains import Domains, Ranges
from maxent.models.tables.training import Training, read_training
from maxent.models.trees.predict import predict_columns
from maxent.models.trees.reidentification import ranges_of
from papers.waseda_2025.published import Cells

MERGED = {"very_recom": "recommend", "spec_prior": "priority"}
"""What makes three classes of the five of Nursery; which these are is not said."""

FILES: Mapping[str, tuple[str, str]] = {
    "nursery": ("nursery.csv", "assessment"),
    "nursery, three classes": ("nursery.csv", "assessment"),
    "adult": ("adult.csv", "class"),
    "mushroom": ("mushroom.csv", "class"),
    "loan": ("lending_club.csv", "not.fully.paid"),
}
"""Data set -> file and column of the class."""

READINGS = ("sums", "means", "trees", "guesses")
"""What predicts: the counts of all trees together (Algorithm 2), the mean of their shares in each tree, a vote of those
that have counts for a record, or a vote of all, for which the others guess."""


def load(name: str) -> Training:
    """All records of a data set; what is no number is a category, and so is a missing value."""
    file, target = FILES[name]
    people = pd.read_csv(Path(os.environ["MAXENT_DATA"]) / file).drop(columns="fold", errors="ignore")
    if name.startswith("nursery"):
        people = people.astype(str)
    if name == "nursery, three classes":
        people[target] = people[target].replace(MERGED)
    return read_training(people, target=target, qi=[column for column in people if column != target])


def numbers(people: Training) -> npt.NDArray[np.float64]:
    """Records as numbers, shape (n, n_attributes)."""
    return np.column_stack(people.columns).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Split:
    """The records that trees are filled from, and a fifth of all that they are tested on; ranges are those of all."""

    train: Training
    test: Training
    ranges: Ranges

    @staticmethod
    def of(people: Training, seed: int) -> Split:
        order = np.random.default_rng(seed).permutation(len(people))
        fifth = len(people) // 5
        ranges = ranges_of(people.attributes, people.columns)
        return Split(people.take(order[fifth:]), people.take(order[:fifth]), ranges)

    def forest(self, trees: int, depth: int, beta: float, seed: int) -> Forest:
        asked = RandomTrees(trees, depth, beta, 0, 1.0, seed)
        return Forest(draw(self.train, asked, Domains({}, self.ranges)), self.test)

    @property
    def constant(self) -> float:
        """The accuracy of who always predicts the most frequent class of the training records."""
        return float((self.test.y == np.bincount(self.train.y).argmax()).mean())


@dataclass(frozen=True, eq=False)
class Forest:
    """Random trees with all counts of their samples, and the records that they are tested on."""

    drawn: Drawn
    test: Training

    @cached_property
    def counts(self) -> IntArray:
        """What the leaf of each test record counts in each tree, shape (n_trees, n, n_classes)."""
        x, found = numbers(self.test), []
        for root, leaves in zip(self.drawn.roots, self.drawn.leaves, strict=True):
            keys = leaf_keys(self.drawn.space, root, self.drawn.depth, x)
            at = np.searchsorted(leaves.key, keys) % max(len(leaves.key), 1)
            there = leaves.key[at] == keys if len(leaves.key) else np.zeros(len(x), bool)
            counted = leaves.counts[at] if len(leaves.key) else np.zeros((len(x), leaves.counts.shape[1]), np.int64)
            found.append(np.where(there[:, None], counted, 0))
        return np.array(found)

    def accuracies(self, k: int, trees: Collection[int]) -> Iterator[tuple[int, str, float]]:
        """(Trees, reading, accuracy) of the first trees with counts from k on, as what is published predicts."""
        shown = np.where(self.counts >= k, self.counts, 0)
        told, n_classes = shown.any(axis=2), shown.shape[2]
        shares = shown / np.maximum(shown.sum(axis=2, keepdims=True), 1)
        best, guess = shown.argmax(axis=2), np.random.default_rng(k).integers(0, n_classes, told.shape)
        votes = np.eye(n_classes)[best] * told[..., None]
        guesses = np.eye(n_classes)[np.where(told, best, guess)]
        release = None
        for number in sorted(trees):
            sums = shown[:number].sum(axis=0)
            silent = np.flatnonzero(~sums.any(axis=1))
            if len(silent):  # the leaves below their nearest ancestors decide
                release = release or self.drawn.release(k)
                people = self.test.take(silent)
                part = replace(release, trees=release.trees[:number])
                others = predict_columns(part, people.attributes, people.columns, len(people))
            each = (sums, *(part[:number].sum(axis=0) for part in (shares, votes, guesses)))
            for reading, scores in zip(READINGS, each, strict=True):
                predicted = scores.argmax(axis=1)
                if len(silent) and reading != "guesses":
                    predicted[silent] = others
                yield number, reading, float((predicted == self.test.y).mean())


Found = dict[tuple[str, tuple[float, ...]], list[float]]
"""(Reading, cell) -> the accuracy for each seed."""


def table_6(people: Training, cells: Collection[tuple[float, ...]], beta: float, seeds: int) -> Found:
    """Accuracies by (trees, k, depth)."""
    found: Found = {}
    sizes = sorted({int(trees) for trees, _, _ in cells})
    for seed in range(seeds):
        split = Split.of(people, seed)
        for depth in sorted({depth for _, _, depth in cells}):
            forest = split.forest(sizes[-1], int(depth), beta, seed)
            for k in sorted({k for _, k, _ in cells}):
                for trees, reading, accuracy in forest.accuracies(int(k), sizes):
                    found.setdefault((reading, (trees, k, depth)), []).append(accuracy)
    return found


def table_7(people: Training, cells: Collection[tuple[float, ...]], depth: int, seeds: int, trees: int = 10) -> Found:
    """Accuracies by (k, beta); all records are counted where k is 0."""
    found: Found = {}
    for seed in range(seeds):
        split = Split.of(people, seed)
        forests = {rate: split.forest(trees, depth, rate, seed) for rate in {1.0, *(beta for _, beta in cells)}}
        for k, beta in cells:
            for _, reading, accuracy in forests[beta if k else 1.0].accuracies(int(k), [trees]):
                found.setdefault((reading, (k, beta)), []).append(accuracy)
    return found


def scores(cells: Cells, found: Found, reading: str) -> npt.NDArray[np.float64]:
    """How many standard deviations of a forest our mean is above each printed accuracy, shape (n_cells,)."""
    ours = np.array([found[reading, cell] for cell in cells])
    gap = ours.mean(axis=1) - [float(printed) for printed in cells.values()]
    return np.asarray(gap / np.maximum(ours.std(axis=1, ddof=1), 1e-9))
