"""How the trees of Wakabayashi et al. (2024) and Waseda et al. (2025, Appendix A) are grown, pruned and attacked.

Ten times, with seeds 0 to 9 for the split and for the tree: scikit-learn's ``train_test_split`` sets a fifth of the
records aside, and its ``DecisionTreeClassifier`` grows a tree on the others. Data sets are read from the folder in the
environment variable MAXENT_DATA, numbers from examples/papers/wakabayashi_2024/paper.toml.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

import maxent
from maxent.models.defenses.pruning import prune_leaf, prune_parent
from maxent.models.induction.growth import CodedAs, Growth
from maxent.models.induction.inducers import induce
from maxent.models.release import Node, Release
from maxent.models.tables.training import Training, read_training
from maxent.models.trees.places import assign
from maxent.models.trees.predict import Removed, predict_columns
from papers.study_files import protocol

if TYPE_CHECKING:
    import pandas as pd

PROTOCOL = protocol("wakabayashi-2024")
SPLITS = range(PROTOCOL["runs"])
DEPTH: int = PROTOCOL["depth"]
"""Splits between the root and the deepest leaf of the trees that are pruned."""

PRUNE = {"prune-leaf": prune_leaf, "prune-parent": prune_parent}
"""Methods 1 and 2 of Wakabayashi et al. (2024)."""

Measures: TypeAlias = Mapping[str, float]
Forest: TypeAlias = Sequence[Sequence[Release]]
"""For each split its tree, and maybe other trees that are as good."""


class Found(NamedTuple):
    """A measure over the splits: its mean and standard deviation (of n - 1), and the range of the mean over ties."""

    mean: float
    deviation: float
    low: float
    high: float


Summary: TypeAlias = Mapping[str, Found]


@dataclass(frozen=True)
class Data:
    """A data set and what its trees are grown from."""

    file: str
    target: str
    dropped: tuple[str, ...] = ()
    encoding: CodedAs = "ordinal"
    numbered: bool = False
    """Whether the number of a record is one more attribute, the first."""

    @cached_property
    def frame(self) -> pd.DataFrame:
        """All records with their attributes and class; a missing value is one that is called "?"."""
        import pandas as pd

        folder = os.environ.get("MAXENT_DATA")
        if not folder:
            raise FileNotFoundError(f"set the environment variable MAXENT_DATA to the folder that holds {self.file}")
        frame = pd.read_csv(Path(folder) / self.file, keep_default_na=False)
        if "fold" in frame:
            frame = frame.sort_values("fold", kind="stable", ignore_index=True)  # the test file of UCI Adult is first
        frame = frame.drop(columns=[*self.dropped])
        if self.numbered:
            frame.insert(0, "record", np.arange(len(frame)))
        return frame

    @cached_property
    def training(self) -> Training:
        """All records, coded; a part of them has the same codes."""
        qi = [column for column in self.frame if column != self.target]
        return read_training(self.frame, target=self.target, qi=qi, order=Growth("cart", encoding=self.encoding).order)

    def split(self, seed: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The rows a tree is grown from, and those that it is tested on."""
        from sklearn.model_selection import train_test_split

        train, test = train_test_split(
            np.arange(len(self.training)), test_size=PROTOCOL["test_share"], random_state=seed
        )
        return train, test

    def tested(self, split: int) -> Training:
        """The records that the tree of a split is tested on."""
        return self.training.take(self.split(split)[1])

    def grow(self, depth: int | None, split: int, seed: int | None = None) -> Release:
        """A tree; another ``seed`` than that of the split decides otherwise between splits that are equally good."""
        growth = Growth("cart", max_depth=depth, encoding=self.encoding, seed=split if seed is None else seed)
        return induce(self.training.take(self.split(split)[0]), growth)

    def forest(self, depth: int | None, others: Iterable[int] = ()) -> Forest:
        """The tree of every split, and those of the same split with other seeds."""
        return [[self.grow(depth, split, seed) for seed in (None, *others)] for split in SPLITS]


ADULT = Data("adult.csv", "class", ("fold",))
LOAN = Data("bank_loan.csv", "Personal Loan", ("ID",))
LENDING_CLUB = Data("lending_club.csv", "not.fully.paid")
MUSHROOM = Data("mushroom.csv", "class")
NURSERY = Data("nursery.csv", "assessment")
NURSERY_IN_ORDER = Data("nursery.csv", "assessment", encoding="appearance")
ADULT_NUMBERED = Data("adult.csv", "class", ("fold",), numbered=True)
LOAN_NUMBERED = Data("bank_loan.csv", "Personal Loan", ("ID",), numbered=True)


def attacked(release: Release) -> Measures:
    """What `maxent.audit` finds of U, H_u and H_leaf."""
    found = maxent.audit(release)
    homogeneous = found["homogeneity"]
    return {
        "unique": found["uniqueness"]["leaves"],
        "people": homogeneous["individuals"],
        "leaves": homogeneous["leaves"],
    }


def measure(data: Data, split: int, release: Release) -> Measures:
    """U, H_u, H_leaf and the test accuracy of a release."""
    return {**attacked(release), "accuracy": float(right(release, data.tested(split)).mean())}


def measured(data: Data, forest: Forest) -> Summary:
    """`measure` over the splits."""
    return summarise(lambda split, tree: measure(data, split, tree), forest)


def right(release: Release, records: Training, removed: Removed = "ancestor") -> npt.NDArray[np.bool_]:
    """Whether the class of each record is predicted right, shape (n,)."""
    codes = predict_columns(release, records.attributes, records.columns, len(records), removed=removed)
    return np.asarray(codes == records.y)


def rules(release: Release, records: Training) -> Measures:
    """The accuracy of a release by what is made of records that reach a removed leaf."""
    tree = release.trees[0]
    stayed = assign(tree, records.attributes, records.columns) < len(tree.nodes)
    ancestor = right(release, records)
    return {
        "ancestor": float(ancestor.mean()),
        "majority": float(right(release, records, "majority").mean()),
        "error": float((ancestor & stayed).mean()),
        "left out": float(ancestor[stayed].mean()),
    }


def without_small_siblings(release: Release, s: int) -> Measures:
    """H_u and H_leaf over the leaves of a grown tree that have more than s records and no sibling with fewer.

    Method 2 leaves fewer: when a node becomes a leaf, all leaves below it go, also those far below, counted here.
    """
    nodes = {node.id: node for node in release.trees[0].nodes}

    def below(node: Node) -> list[Node]:
        return [nodes[branch.child] for branch in node.branches if branch.child is not None]

    def size(node: Node) -> int:
        return sum(map(size, below(node))) if node.counts is None else sum(node.counts.values())

    families = [family for family in map(below, nodes.values()) if all(size(child) > s for child in family)]
    counted = [
        size(leaf) for family in families for leaf in family if sum(map(bool, (leaf.counts or {}).values())) == 1
    ]
    return {"people": sum(counted), "leaves": len(counted)}


def large_siblings(forest: Forest, s: int) -> Summary:
    """`without_small_siblings` of grown trees."""
    return summarise(lambda _, tree: without_small_siblings(tree, s), forest)


def summarise(measure: Callable[[int, Release], Measures], forest: Forest) -> Summary:
    """What ``measure(split, release)`` finds."""
    runs = [[measure(split, tree) for tree in trees] for split, trees in enumerate(forest)]
    return {name: found([[run[name] for run in ties] for ties in runs]) for name in runs[0][0]}


def found(runs: Sequence[Sequence[float]]) -> Found:
    """A measure of each split, first of its tree, then of those that are as good."""
    own = np.array([ties[0] for ties in runs], np.float64)
    low, high = (float(np.mean([extreme(ties) for ties in runs])) for extreme in (min, max))
    return Found(float(own.mean()), float(own.std(ddof=1)), low, high)
