"""The experiments of Friedman, Schuster and Wolff (2006), section 4, and what their trees disclose.

    MAXENT_DATA=/path/to/data PYTHONPATH=examples .venv/bin/python -m papers.friedman_2006.study [FOLDER]

puts its tables into FOLDER/README.md (default: that of this module) and draws FOLDER/figures/kadet_*.svg. Words and
numbers outside of the tables are left alone. The same data give the same bytes. adult.csv is read from the folder
MAXENT_DATA; the numbers of the protocol are in examples/papers/friedman_2006/paper.toml.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import maxent
from maxent.models.defenses.kadet import kadet
from maxent.models.defenses.parameters import Kadet
from maxent.models.induction.growth import Growth
from maxent.models.induction.inducers import induce
from maxent.models.release import Impurity, Release
from maxent.models.tables.hierarchies import Hierarchy, read_hierarchy
from maxent.models.tables.training import Training, read_training
from papers.friedman_2006.figures import save_figures
from papers.friedman_2006.page import NAMED, Point, Results, diversity, tables
from papers.friedman_2006.tds import specialise
from papers.study_files import ROOT, protocol
from papers.tables import fill

if TYPE_CHECKING:
    from pandas import DataFrame

TARGET = "class"
CATEGORICAL = (
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native-country",
)
NUMERIC = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
KS: tuple[int, ...] = tuple(protocol("friedman-2006")["ks"])
LIMITS: tuple[float, ...] = tuple(protocol("friedman-2006")["limits"])
"""Confidence limits: what no class of a span may have a larger share than."""


@dataclass(frozen=True, eq=False)
class Adult:
    """People without missing values, as the data set divides them, and the hierarchies of examples/hierarchies."""

    train: DataFrame
    test: DataFrame
    hierarchies: Mapping[str, Hierarchy] = field(
        default_factory=lambda: {
            name: read_hierarchy(ROOT / "examples" / "hierarchies" / f"{name}.csv") for name in CATEGORICAL
        }
    )

    @staticmethod
    def read(folder: str | None) -> Adult:
        import pandas as pd

        if not folder:
            raise FileNotFoundError("set the environment variable MAXENT_DATA to the folder that holds adult.csv")
        people = pd.read_csv(Path(folder) / "adult.csv")
        people = people[~(people == "?").any(axis=1)]
        return Adult(people[people["fold"] == "train"], people[people["fold"] == "test"])

    @cache  # noqa: B019 (there is one Adult)
    def training(self, attributes: tuple[str, ...]) -> Training:
        domains = {name: self.hierarchies[name].values for name in attributes if name in self.hierarchies}
        return read_training(self.train, target=TARGET, qi=attributes, domains=domains)

    def generalised(self, attributes: tuple[str, ...], k: int, growth: Growth) -> Release:
        """A tree grown on the table that top-down specialisation makes k-anonymous, over the values before."""
        levels = {
            name: np.array(self.hierarchies[name].levels, object).T for name in attributes if name in self.hierarchies
        }
        table = self.train[[*attributes, TARGET]]
        recoding = specialise(table, TARGET, k, levels)
        domains = {name: list(dict.fromkeys(names.values())) for name, names in recoding.names.items()}
        training = read_training(recoding.apply(table), target=TARGET, qi=attributes, domains=domains)
        return recoding.restore(induce(training, growth))

    def measure(self, x: float, release: Release) -> Point:
        """Everything about a release at once."""
        qi = [attribute.name for attribute in release.attributes]
        row = maxent.compare([release], self.train[qi], self.train[[*qi, TARGET]], self.test).rows[0]
        if row["status"] != "optimal" or row["certificate"] != "global":
            raise RuntimeError(f"no proved optimum for {x}: {row['status']}, {row['certificate']}")
        tree = release.trees[0]
        return Point(
            x,
            tree.root.attribute or "none",
            sum(bool(leaf.n) for leaf in tree.leaves),
            1 - row["test_accuracy"],
            row["min_population"],
            row["exposed"],
            row["certain"],
            row["divergence"],
            row["bayes_vulnerability"],
            row["max_posterior"],
        )


@dataclass(frozen=True)
class Inducer:
    """How the paper grows its trees: ID3 on the categorical attributes, or C4.5 on all, with either selection."""

    name: str
    attributes: tuple[str, ...]
    growth: Growth
    impurity: Impurity
    confidence: float | None

    def anonymous(self, adult: Adult, asked: Kadet, *, flat: bool = False) -> Release:
        """A tree that keeps what is asked, with hierarchies unless it is to be ``flat``."""
        known = {name: hierarchy for name, hierarchy in adult.hierarchies.items() if name in self.attributes}
        how = {"impurity": self.impurity, "confidence": self.confidence, "hierarchies": {} if flat else known}
        return kadet(adult.training(self.attributes), replace(asked, selection=self.growth.selection, **how))

    def series(self, adult: Adult) -> Iterator[tuple[str, Iterator[tuple[float, Release]]]]:
        """The trees of every method of `kadet_page.Results`, by what they are grown for."""
        training = adult.training(self.attributes)
        yield "plain", iter([(1, induce(training, self.growth))])
        yield "none", iter([(1, induce(training, replace(self.growth, max_depth=0)))])
        yield "flat", ((k, self.anonymous(adult, Kadet(k), flat=True)) for k in KS)
        yield "kadet", ((k, self.anonymous(adult, Kadet(k))) for k in KS)
        yield "tds", ((k, adult.generalised(self.attributes, k, self.growth)) for k in KS)
        yield "diverse", ((limit, self.anonymous(adult, Kadet(1, diversity(limit)))) for limit in LIMITS)


INDUCERS = (
    Inducer("id3", CATEGORICAL, Growth("id3"), "entropy", None),
    Inducer("c45", (*CATEGORICAL, *NUMERIC), Growth("c45"), "gain_ratio", 0.25),
    Inducer("quinlan", (*CATEGORICAL, *NUMERIC), Growth("c45", selection="quinlan"), "gain_ratio", 0.25),
)


def measure(adult: Adult) -> Results:
    """All points, by inducer and method."""
    found: dict[tuple[str, str], list[Point]] = {}
    for inducer in INDUCERS:
        for method, releases in inducer.series(adult):
            found[inducer.name, method] = []
            for x, release in releases:
                print(f"{inducer.name} {method} {x:g} ...", file=sys.stderr, flush=True)
                found[inducer.name, method].append(adult.measure(x, release))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent, metavar="FOLDER")
    folder: Path = parser.parse_args(arguments).folder
    page = folder / "README.md"
    if not {*NAMED} <= {*KS}:
        print(f"the paper speaks of k = {NAMED}, which the study file lacks", file=sys.stderr)
        return 2
    try:
        text = page.read_text(encoding="utf-8")
        adult = Adult.read(os.environ.get("MAXENT_DATA"))
    except OSError as error:
        print(error, file=sys.stderr)
        return 2
    results = measure(adult)
    page.write_text(fill(text, tables(results)), encoding="utf-8")
    save_figures(results, folder / "figures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
