"""How Table 2 of Yang et al. (2019) is measured again: groups, classifiers, and what the paper leaves open.

By 10-fold cross-validation on Contraceptive (1,473 records) and Adult (45,222 without missing values), from the folder
MAXENT_DATA. The training records of a fold are generalised

mondrian  uniformly, in groups by Mondrian, cut by information gain (examples/papers/yang_2019/mondrian.py),
erp       uniformly, in the leaves of a tree after error-risk pruning,
tiered    in tiers of the same tree, which is the proposed method,

and so are the test records, by themselves, but with the tree or the groups of the training records. C4.5 learns from
the former and is tested on the latter.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from maxent.models.defenses.error_risk import prune_erp
from maxent.models.defenses.generalization import tiered, uniform
from maxent.models.induction.growth import Growth
from maxent.models.induction.inducers import induce
from maxent.models.release import Attribute, Release
from maxent.models.tables.generalized_records import GeneralizedTable
from maxent.models.tables.hierarchies import read_hierarchy
from maxent.models.tables.training import Training, read_training
from maxent.models.trees.places import assign
from maxent.models.trees.reidentification import ranges_of
from papers.study_files import ROOT, protocol
from papers.yang_2019 import mondrian

DATA = ("contraceptive", "adult")
KS = (10, 20, 30)
FOLDS = 10
HELD_OUT: Mapping[str, int] = protocol("yang-2019")["held_out"]
"""How many of the ten blocks are held out, one after the other."""
FLAGS = ("isMuslim", "isNotWorking", "husband_occupation", "isNotExposedToMedia")
"""Categorical attributes of Contraceptive; its ages, educations, children and standards of living are numbers."""

C45 = Growth("c45", selection="quinlan")
"""What stands for J48, with its defaults: two records in a leaf, and pruning with a confidence factor of 0.25."""

TREES: Mapping[str, Callable[[int], Growth]] = {
    "2 in a leaf": lambda k: Growth("cart", min_samples_leaf=2, seed=0),
    "full": lambda k: Growth("cart", seed=0),
    "entropy": lambda k: Growth("cart", impurity="entropy", min_samples_leaf=2, seed=0),
    "k/2": lambda k: Growth("cart", min_samples_leaf=k // 2, seed=0),
    "k": lambda k: Growth("cart", min_samples_leaf=k, seed=0),
    "C4.5": lambda k: Growth("c45", selection="quinlan", confidence=None),
    "C4.5 pruned": lambda k: C45,
}
"""What the unpruned tree may be, the first being what the other tables use."""

Groups = Callable[[Training, int], Release]

PARTITIONS: Mapping[str, Groups] = {
    "gain": lambda train, k: mondrian.partition(train, k, mondrian.information_gain_cut),
    "positive gain": lambda train, k: mondrian.partition(train, k, mondrian.positive_gain_cut),
    "median": lambda train, k: mondrian.partition(train, k, mondrian.median_cut),
}
"""What Mondrian may be, the first being what the other tables use."""


@cache
def load(name: str) -> Training:
    """A data set; codes of Contraceptive that have no order are categories.

    Raises
    ------
    FileNotFoundError
        When MAXENT_DATA is not set.
    """
    folder = os.environ.get("MAXENT_DATA")
    if not folder:
        raise FileNotFoundError("set MAXENT_DATA to a folder with adult.csv and contraceptive.csv")
    people = pd.read_csv(Path(folder) / f"{name}.csv")
    if name == "adult":
        people = people[~(people == "?").any(axis=1)].drop(columns="fold")
        return read_training(people, target="class", qi=[c for c in people if c != "class"])
    target = "contraceptive_method_used"
    return read_training(people, target=target, qi=[c for c in people if c != target], categorical=FLAGS)


@dataclass(frozen=True)
class Generalized:
    """The records of a fold.

    Attributes
    ----------
    table : GeneralizedTable
        The training records.
    test : Training
        The test records.
    own : int64, shape (n_test,)
        The box of ``table`` that a test record would have as a training record.
    regroup : callable
        Generalises the test records by themselves.
    """

    table: GeneralizedTable
    test: Training
    own: np.ndarray
    regroup: Callable[[], GeneralizedTable]

    @cached_property
    def alone(self) -> GeneralizedTable:
        """The test records by themselves."""
        return self.regroup()

    def error(self, features: Callable[..., tuple[Attribute, list[np.ndarray]]], *, alone: bool = True) -> float:
        """The share of test records that C4.5 misclassifies; these have boxes of their own, or those of the table."""
        boxes, box = (self.alone.boxes, self.alone.box) if alone else (self.table.boxes, self.own)
        seen = [
            feature
            for attribute, here, there in zip(self.table.attributes, self.table.boxes, boxes, strict=True)
            for feature in features(attribute, here, self.table.box, there, box)
        ]
        attributes, train, test = zip(*seen, strict=True)
        target = self.table.target
        return error(Training(target, attributes, train, self.table.y), Training(target, attributes, test, self.test.y))


def names(attribute: Attribute, *sides: np.ndarray) -> Iterator[tuple[Attribute, np.ndarray, np.ndarray]]:
    """A classifier sees a range or a set as one name among others."""
    train, train_box, test, test_box = sides
    _, code = np.unique(np.concatenate([train, test]), axis=0, return_inverse=True)
    values = tuple(map(str, range(code.max() + 1)))
    yield Attribute(attribute.name, values=values), code[: len(train)][train_box], code[len(train) :][test_box]


def ends(attribute: Attribute, *sides: np.ndarray) -> Iterator[tuple[Attribute, np.ndarray, np.ndarray]]:
    """A classifier sees both ends of a range, and of a set whether each value is in it."""
    train, train_box, test, test_box = sides
    for i, (here, there) in enumerate(zip(train.T, test.T, strict=True)):
        yield Attribute(f"{attribute.name} {i}", "numeric"), here[train_box] * 1.0, there[test_box] * 1.0


SEEN = {
    "names, alone": (names, True),
    "names, as trained": (names, False),
    "ends, alone": (ends, True),
    "ends, as trained": (ends, False),
}
"""How the error may be meant: what a classifier sees, and whose boxes test records have; the first is the others'."""


def error(train: Training, test: Training) -> float:
    """The share of test records that C4.5, trained on the others, misclassifies."""
    model = induce(train, C45).trees[0]
    code = {label: i for i, label in enumerate(train.target.classes)}
    label = np.array([code.get(node.label or "", -1) for node in model.nodes])
    return float((label[assign(model, test.attributes, test.columns)] != test.y).mean())


@dataclass(frozen=True)
class Fold:
    """One division of the records into training and test records, and what is made of them for a k."""

    train: Training
    test: Training

    def grown(self, growth: Growth) -> Release:
        """The unpruned tree; those of former calls are kept."""
        return _grown(self, growth)

    def mondrian(self, k: int, groups: Groups = PARTITIONS["gain"]) -> Generalized:
        return self.by_groups(groups(self.train, k), k)

    def erp(self, k: int, growth: Growth | None = None) -> Generalized:
        ranges = ranges_of(self.train.attributes, self.train.columns)
        return self.by_groups(prune_erp(self.grown(growth or MAIN), k, ranges=ranges), k)

    def tiered(self, k: int, growth: Growth | None = None) -> Generalized:
        """In tiers; the boxes of leaves come first, in the order of their places."""
        grown = self.grown(growth or MAIN)
        train, test = self.places(grown)
        own = np.searchsorted(np.unique(train), test)
        return Generalized(tiered(self.train, grown, k), self.test, own, lambda: tiered(self.test, grown, k))

    def by_groups(self, release: Release, k: int) -> Generalized:
        """When the leaves of a release are the groups."""
        train, test = self.places(release)
        own = np.searchsorted(np.unique(train), test)
        return Generalized(uniform(self.train, train, k), self.test, own, lambda: uniform(self.test, test, 1))

    def places(self, release: Release) -> list[np.ndarray]:
        """Where training and test records are; values not met where a tree was grown go with its largest leaf."""
        train, test = (assign(release.trees[0], t.attributes, t.columns) for t in (self.train, self.test))
        used, sizes = np.unique(train, return_counts=True)
        return [train, np.where(np.isin(test, used), test, used[sizes.argmax()])]


MAIN = TREES["2 in a leaf"](0)
METHODS: Mapping[str, Callable[[Fold, int], Generalized]] = {
    "mondrian": Fold.mondrian,
    "erp": Fold.erp,
    "tiered": Fold.tiered,
}


@cache
def _grown(fold: Fold, growth: Growth) -> Release:
    return induce(fold.train, growth)


def folds(training: Training) -> Iterator[Fold]:
    """Ten blocks of records, drawn at random, of which each is the test records once."""
    block = np.random.default_rng(0).permutation(len(training)) % FOLDS
    for number in range(FOLDS):
        yield Fold(training.take(block != number), training.take(block == number))


def hierarchical_gcp(table: GeneralizedTable) -> float:
    """GCP when a set of categories is published as the lowest group of a hierarchy that holds all of it.

    The hierarchies are those of Adult, examples/hierarchies; numbers are ranges as ever.
    """
    penalties = table.ncp()
    for j, (attribute, boxes) in enumerate(zip(table.attributes, table.boxes, strict=True)):
        if attribute.values is None:
            continue
        hierarchy = read_hierarchy(ROOT / "examples" / "hierarchies" / f"{attribute.name}.csv")
        place = {value: i for i, value in enumerate(hierarchy.values)}
        present = boxes.any(axis=0)
        sizes = np.full(len(boxes), float(present.sum()))
        for level in reversed(hierarchy.levels):
            group = np.unique([level[place[value]] for value in attribute.values], return_inverse=True)[1]
            members: Any = np.bincount(group, present)
            held = np.zeros((len(boxes), len(members)), bool)
            for value, of_value in enumerate(group):
                held[:, of_value] |= boxes[:, value]
            alone = held.sum(axis=1) == 1
            sizes[alone] = members[held.argmax(axis=1)][alone]
        penalties[:, j] = np.where(sizes > 1, sizes / present.sum(), 0.0)
    return float(penalties[table.box].mean())
