"""What random trees of Adult disclose, by k, sampling rate and number of trees, and how long it takes to find out.

    MAXENT_DATA=FOLDER PYTHONPATH=examples python -m papers.waseda_2025.disclosure [--data people|census] [--by-trees]

``people`` are the 30,162 training records without missing values, education given eight public attributes (those of
examples/adult.py; 16 classes); ``census`` all 48,842 records, income given all 14 attributes. Who is audited is who the
trees are filled from.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path

import numpy as np
import pandas as pd

import maxent
from maxent.models.defenses.parameters import RandomTrees
from maxent.models.defenses.random_trees import DrawnTree as Drawn
from maxent.models.defenses.random_trees import draw
from maxent.models.tables.domains import Domains
from maxent.models.tables.training import Training, read_training
from maxent.models.trees.predict import predict_columns
from maxent.models.trees.reidentification import ranges_of

EDUCATION = ["workclass", "marital-status", "occupation", "relationship", "race", "sex", "native-country", "class"]
KS = (0, 5, 10, 20)
BETAS = (0.01, 0.1, 0.4, 1.0)
TREES = (1, 2, 5, 10, 20)


@dataclass(frozen=True, eq=False)
class People:
    """Who trees are filled from, as records and as a table, and others whose classes they predict."""

    train: Training
    test: Training
    table: pd.DataFrame


@dataclass(frozen=True)
class Row:
    """A forest: D_overall (nats), people with a posterior of at least 0.999, the largest posterior, test accuracy.

    ``gap`` is how far the entropy may be from the maximum, nats per person; ``seconds`` are of the processor, from the
    release to the posterior.
    """

    k: int
    beta: float
    trees: int
    seed: int
    divergence: float
    certain: int
    max_posterior: float
    accuracy: float
    status: str
    gap: float
    seconds: float


def load(name: str) -> People:
    """``people`` or ``census``, see the module's text."""
    people = pd.read_csv(Path(os.environ["MAXENT_DATA"]) / "adult.csv")
    if name == "people":
        people = people[~(people == "?").any(axis=1)].reset_index(drop=True)
        names, target = EDUCATION, "education"
    else:
        names, target = [column for column in people if column not in ("class", "fold")], "class"
    inside = (people["fold"] == "train").to_numpy() if name == "people" else np.ones(len(people), bool)
    every = read_training(people[[*names, target]], target=target, qi=names)
    others = inside if inside.all() else ~inside
    table = people.loc[inside, [*names, target]].reset_index(drop=True)
    return People(every.take(np.flatnonzero(inside)), every.take(np.flatnonzero(others)), table)


def disclosed(people: People, drawn: Drawn, k: int, trees: int) -> Row:
    """What the first trees of a forest say, with counts below k suppressed."""
    release = drawn.release(k)
    release = replace(release, trees=release.trees[:trees])
    target = release.target.name
    begin = time.process_time()
    found = maxent.estimate(release, people.table.drop(columns=target), people.table).summary
    seconds = time.process_time() - begin
    test = people.test
    right = predict_columns(release, test.attributes, test.columns, len(test)) == test.y
    known = found["disclosure"]
    return Row(
        k,
        drawn.asked.beta,
        trees,
        drawn.asked.seed or 0,
        found["divergence"]["overall"],
        known["certain"],
        known["max_posterior"],
        float(right.mean()),
        found["status"],
        found.get("duality_gap", np.inf),
        seconds,
    )


def forests(people: People, trees: int, depth: int, betas: Sequence[float], seeds: int) -> Iterator[Drawn]:
    """A forest for each sampling rate and seed; domains are stated."""
    ranges = ranges_of(people.train.attributes, people.train.columns)
    for beta in betas:
        for seed in range(seeds):
            yield draw(people.train, RandomTrees(trees, depth, beta, 0, 1.0, seed), Domains({}, ranges))


def by_k(
    people: People, *, trees: int, depth: int, ks: Sequence[int] = KS, betas: Sequence[float] = BETAS, seeds: int = 1
) -> Iterator[Row]:
    """A row for each sampling rate, seed and k."""
    for drawn in forests(people, trees, depth, betas, seeds):
        for k in ks:
            yield disclosed(people, drawn, k, trees)


def by_trees(
    people: People, *, trees: Sequence[int] = TREES, depth: int, k: int, beta: float, seeds: int = 1
) -> Iterator[Row]:
    """A row for each seed and number of trees: the first of the same forest."""
    for drawn in forests(people, max(trees), depth, [beta], seeds):
        for number in trees:
            yield disclosed(people, drawn, k, number)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", choices=["people", "census"], default="people")
    for option, default in (("trees", 10), ("depth", 7), ("seeds", 1), ("k", 5)):
        parser.add_argument(f"--{option}", type=int, default=default)
    parser.add_argument("--beta", type=float, default=0.4, help="with --by-trees")
    parser.add_argument("--by-trees", action="store_true", help="with the --k and --beta given")
    call = parser.parse_args(arguments)
    if not os.environ.get("MAXENT_DATA"):
        print("set the environment variable MAXENT_DATA to the folder with the data sets", file=sys.stderr)
        return 2
    people = load(call.data)
    common = {"depth": call.depth, "seeds": call.seeds}
    rows = (
        by_trees(people, k=call.k, beta=call.beta, **common)
        if call.by_trees
        else by_k(people, trees=call.trees, **common)
    )
    print(" ".join(f"{field.name:>13}" for field in fields(Row)))
    for row in rows:
        print(" ".join(f"{value:13.4g}" if isinstance(value, float) else f"{value!s:>13}" for value in astuple(row)))
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
