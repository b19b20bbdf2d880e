"""The trees of this folder's README.md, and what is measured of one of them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import maxent
from maxent.api.estimate import compile_release
from maxent.constraints.kinds.registry import kinds_of
from maxent.models.arrays import FloatArray
from maxent.models.induction.multiway import GrowthRules as Rules
from maxent.models.induction.multiway import grow
from maxent.models.release import Impurity, Induction, Release, Tree
from maxent.models.tables.training import Training, read_training
from maxent.models.trees.draft import freeze
from maxent.models.trees.predict import predict

if TYPE_CHECKING:
    from pandas import DataFrame


TARGET = "education"
QI = ("workclass", "marital-status", "occupation", "relationship", "race", "sex", "native-country", "class")

KNOWLEDGE = {
    "labels": "label",
    "labels, splits": "label,internal",
    "rates": "label,rate",
    "rates, splits": "label,rate,internal",
    "counts": "label,rate,counts",
    "counts, splits": "label,rate,counts,internal",
}
"""What leaves state, with the choice of splits or without, as the option --knowledge says it."""


@dataclass(frozen=True)
class Stop:
    """When a multiway tree stops growing: too few records to split or in a branch (in every one, or all but two)."""

    split: int = 2
    branch: int = 1
    two_suffice: bool = False
    depth: int | None = None

    def tree(self, training: Training, impurity: Impurity) -> Release:
        """The tree, which states the counts of its leaves.

        Where only two branches need enough records, `maxent` compiles the candidates all of whose branches have them:
        these competed, too.
        """
        drafts = grow(training, Rules(impurity, self.depth, self.split, self.branch, self.two_suffice))
        induction = Induction("c45" if self.two_suffice else "id3", impurity, "unused", self.branch)
        tree = Tree(freeze(drafts, training.target.classes), induction)
        return Release(training.target, training.attributes, (tree,))


STOPS = {
    "nothing": Stop(),
    "8 records to split": Stop(split=8),
    "2 records in two branches (C4.5)": Stop(branch=2, two_suffice=True),
    "5 records in every branch": Stop(branch=5),
    "three levels, 50 records to split": Stop(split=50, depth=3),
}
"""Rules by what they ask for at least."""

TREES: dict[str, tuple[Impurity, Stop]] = {
    "Gini": ("gini", STOPS["5 records in every branch"]),
    "Gini, three levels": ("gini", STOPS["three levels, 50 records to split"]),
    "information gain": ("entropy", STOPS["2 records in two branches (C4.5)"]),
}
"""The trees that stand for the published ones."""


@dataclass(frozen=True, eq=False)
class People:
    """Adult without missing values, as the data set divides it."""

    train: DataFrame
    test: DataFrame

    @staticmethod
    def read(folder: str | None) -> People:
        import pandas as pd

        if not folder:
            raise FileNotFoundError("set the environment variable MAXENT_DATA to the folder that holds adult.csv")
        people = pd.read_csv(Path(folder) / "adult.csv")
        people = people[~(people == "?").any(axis=1)]
        by_fold = {fold: people.loc[people["fold"] == fold, [*QI, TARGET]] for fold in ("train", "test")}
        return People(by_fold["train"], by_fold["test"])

    @staticmethod
    def from_environment() -> People:
        return People.read(os.environ.get("MAXENT_DATA"))

    def training(self) -> Training:
        return read_training(self.train, target=TARGET, qi=QI)


@dataclass(frozen=True, eq=False)
class Found:
    """What an adversary finds out; entropies and divergences in nats.

    ``individual`` (n_quasi_identifiers,) are the divergences from the truth, ``people`` (n_quasi_identifiers,) how many
    individuals have them; ``bound`` is the most that the entropy can be, ``top`` the mean of the ten largest
    divergences, ``right`` the share of right guesses that the adversary expects.
    """

    combinations: int
    classes: int
    internal: int
    certificate: str
    entropy: float
    bound: float
    violation: float
    overall: float
    top: float
    certain: int
    right: float
    individual: FloatArray
    people: FloatArray

    @property
    def gap(self) -> float:
        """How much larger the entropy can be."""
        return 0.0 if self.certificate == "global" else self.bound - self.entropy


def measure(people: People, release: Release, knowledge: str, *, seed: int = 0, floor: float = 1e-6) -> Found:
    """What an adversary finds out who uses one of `KNOWLEDGE`.

    Raises
    ------
    RuntimeError
        When the answer cannot be relied on.
    """
    how = {"knowledge": KNOWLEDGE[knowledge], "seed": seed, "floor": floor}
    result = maxent.estimate(release, people.train[list(QI)], people.train, **how)  # type: ignore[arg-type]
    summary, found = result.summary, result.disclosure
    if summary["status"] != "optimal" or found.divergence is None or found.individual is None:
        raise RuntimeError(f"no answer to rely on with {how}: {summary['status']}")
    return Found(
        summary["distinct_qi"],
        summary["classes"],
        summary["constraints"]["internal"],
        summary["certificate"],
        found.entropy,
        summary.get("entropy_upper_bound", found.entropy),
        summary["max_violation"],
        float(np.average(found.individual, weights=result.program.table.counts)),
        float(np.sort(found.individual)[::-1][:10].mean()),
        found.certain,
        found.bayes_vulnerability,
        found.individual,
        np.asarray(result.program.table.counts, np.float64),
    )


@dataclass(frozen=True)
class Size:
    """A tree in numbers: leaves with records, and all of them; comparisons as the paper counts them, one at each inner
    node for each attribute that is still unused, and those that the engine compiles; the share of people whose
    education it predicts right.
    """

    leaves: int
    all_leaves: int
    comparisons: int
    compiled: int
    accuracy: float
    test_accuracy: float

    @staticmethod
    def of(release: Release, people: People) -> Size:
        found = release.trees[0].leaves
        compiled = compile_release(release, people.train[list(QI)])
        return Size(
            sum(bool(leaf.n) for leaf in found),
            len(found),
            comparisons(release),
            kinds_of(compiled)["internal"],
            accuracy(release, people.train),
            accuracy(release, people.test),
        )


def accuracy(release: Release, people: DataFrame) -> float:
    """The share of people whose education the tree predicts right."""
    return float((predict(release, people[list(QI)]) == people[TARGET].to_numpy()).mean())


def comparisons(release: Release) -> int:
    """Internal-constraints as the paper counts them: at each inner node one for each attribute that is unused below."""
    nodes = {node.id: node for node in release.trees[0].nodes}
    total, below = 0, [(release.trees[0].root, 1)]
    while below:
        node, used = below.pop()
        if not node.is_leaf:
            total += len(release.attributes) - used
            below += [(nodes[branch.child], used + 1) for branch in node.branches if branch.child is not None]
    return total
