"""What forests disclose to who knows everybody's attributes, and how well they predict, as k, beta and trees change.

The records that the trees are filled from are those that are audited: their attributes are the adversary's table, and
their classes the truth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

import maxent
from maxent.models.release import Release
from maxent.models.tables.training import Training
from papers.waseda_2025.protocol import Forest, Split, load

DEPTHS = {"nursery": 4, "mushroom": 4}
KS = (0, 5, 10, 20)
BETAS = (0.01, 0.1, 0.4, 1.0)
SIZES = (1, 2, 5, 10, 20)
TREES = 10
GAP = 1e-3
"""Nats that an estimate may be away from the bound on what is possible."""

PAIRS = ((0, 1.0), (5, 0.4), (10, 0.1), (20, 0.01))
"""(k, beta) for which the number of trees changes."""


@dataclass(frozen=True)
class Told:
    """Of a forest: D_overall (nats), shares of the people, and test accuracy; means over seeds.

    ``right`` is how often somebody is right who guesses from the posterior, as the posterior has it; ``certain`` are
    people whose posterior is at least 0.999; of ``predicted`` the forest itself predicts the class right. ``deviation``
    is the standard deviation of the test accuracy.
    """

    divergence: float
    right: float
    certain: float
    predicted: float
    accuracy: float
    deviation: float


Grid = Mapping[tuple[int, float, int], Told]
"""(k, beta, trees) -> what is told."""


def frame(people: Training) -> pd.DataFrame:
    """Records with their classes, in words."""
    columns = {
        a.name: column if a.values is None else np.array(a.values, object)[column]
        for a, column in zip(people.attributes, people.columns, strict=True)
    }
    return pd.DataFrame(columns | {people.target.name: np.array(people.target.classes, object)[people.y]})


def told(release: Release, truth: pd.DataFrame) -> tuple[float, float, float]:
    """D_overall, the share of classes guessed right, and of those that are certain."""
    found = maxent.estimate(release, truth.drop(columns=release.target.name), truth=truth).summary
    left = found["entropy"]
    if found["status"] != "optimal" or found.get("entropy_upper_bound", left) - left > GAP:
        raise RuntimeError(f"no proved optimum: {found['status']}, {found['certificate']}")
    known = found["disclosure"]
    return found["divergence"]["overall"], known["bayes_vulnerability"], known["certain"] / found["individuals"]


def grid(name: str, seeds: int) -> Grid:
    """All k and beta for ten trees, and all numbers of trees for some."""
    people, depth = load(name), DEPTHS[name]
    asked = [(k, beta, TREES) for k in KS for beta in BETAS]
    asked += [(k, beta, trees) for k, beta in PAIRS for trees in SIZES if trees != TREES]
    found: dict[tuple[int, float, int], list[tuple[float, ...]]] = {cell: [] for cell in asked}
    for seed in range(seeds):
        split = Split.of(people, seed)
        truth = frame(split.train)
        forests = {beta: split.forest(max(SIZES), depth, beta, seed) for beta in BETAS}
        inside = {beta: replace(forest, test=split.train) for beta, forest in forests.items()}
        for k, beta, trees in asked:
            release = forests[beta].drawn.release(k)
            part = replace(release, trees=release.trees[:trees])
            scores = [accuracy_of(which[beta], k, trees) for which in (inside, forests)]
            found[k, beta, trees].append((*told(part, truth), *scores))
    return {cell: summary(rows) for cell, rows in found.items()}


def accuracy_of(forest: Forest, k: int, trees: int) -> float:
    """The accuracy of Algorithm 2."""
    ((_, _, accuracy), *_) = forest.accuracies(k, [trees])
    return accuracy


def summary(rows: Sequence[tuple[float, ...]]) -> Told:
    """Means over seeds, and the standard deviation of the last."""
    return Told(*np.mean(rows, axis=0).tolist(), float(np.std(rows, axis=0, ddof=1)[-1]))
