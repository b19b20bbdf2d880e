"""Private random trees: printed accuracies recomputed, noise in place of suppression, and how long it all takes.

    MAXENT_DATA=/path/to/data python benchmarks/rdt.py tables [--seeds 10]
    MAXENT_DATA=/path/to/data python benchmarks/rdt.py noise [--seeds 10]
    python benchmarks/rdt.py speed [--rows 1000000] [--trees 100] [--depth 9] [--beta 0.1] [--k 20]

``tables`` puts the accuracies of Waseda et al. (2025, Tables 6 and 7) beside ours: a fifth of the records is set aside,
and forests are drawn anew, for every seed. ``sums`` is their Algorithm 2, ``trees`` a vote of the trees; z is how many
standard deviations ours are above what is printed, over all cells.

``noise`` compares with random trees without sampling whose counts all get Laplace noise (Jagannathan et al. 2012), at
the same epsilon; ours have a delta of at most 1e-6 besides, and an adversary who does not know the samples.

``speed`` writes people with six numeric and eight categorical attributes to a Parquet file, a part at a time, and fills
trees from it in the same way.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
import pandas as pd
from rdt_published import TABLE_6, TABLE_7, Cells

from maxent.models.composition import forest_delta
from maxent.models.domains import Domains
from maxent.models.predict import predict_columns
from maxent.models.random_paths import leaf_keys, space_of
from maxent.models.random_trees import RandomTrees, draw_batches, random_trees, vote_shares
from maxent.models.release import Release
from maxent.models.risk import Ranges, ranges_of
from maxent.models.training import Training, read_training

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

BETA_6 = 0.4
"""The sampling rate of Table 6: the text says delta = 0.4."""

DEPTH_7 = {"nursery": 2, "mushroom": 4}
"""Depths of Table 7, which are not printed: those whose accuracies come close."""

VOTES: Mapping[str, Callable[[Release, Training], npt.NDArray[np.int64]]] = {
    "sums": lambda release, people: predict_columns(release, people.attributes, people.columns, len(people)),
    "trees": lambda release, people: vote_shares(release, people.attributes, people.columns, len(people)).argmax(
        axis=1
    ),
}


def load(name: str) -> Training:
    """All records of a data set; what is no number is a category, and so is a missing value."""
    file, target = FILES[name]
    people = pd.read_csv(Path(os.environ["MAXENT_DATA"]) / file).drop(columns="fold", errors="ignore")
    if name.startswith("nursery"):
        people = people.astype(str)
    if name == "nursery, three classes":
        people[target] = people[target].replace(MERGED)
    return read_training(people, target=target, qi=[column for column in people if column != target])


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
        return Split(
            people.take(order[fifth:]), people.take(order[:fifth]), ranges_of(people.attributes, people.columns)
        )

    def release(self, asked: RandomTrees) -> Release:
        return random_trees(self.train, asked, Domains({}, self.ranges))

    def accuracy(self, release: Release, vote: str) -> float:
        return float((VOTES[vote](release, self.test) == self.test.y).mean())


Found = dict[tuple[str, tuple[float, ...]], list[float]]
"""(Vote, cell) -> the accuracy for each seed."""


def table_6(people: Training, cells: Cells, seeds: int) -> Found:
    """Accuracies by (trees, k, depth)."""
    found: Found = {}
    most = int(max(trees for trees, _, _ in cells))
    for seed in range(seeds):
        split = Split.of(people, seed)
        for depth, k in sorted({(depth, k) for _, k, depth in cells}):
            forest = split.release(RandomTrees(most, int(depth), BETA_6, int(k), 1.0, seed))
            for trees in sorted({trees for trees, _, _ in cells}):
                part = replace(forest, trees=forest.trees[: int(trees)])
                for vote in VOTES:
                    found.setdefault((vote, (trees, k, depth)), []).append(split.accuracy(part, vote))
    return found


def table_7(people: Training, cells: Cells, depth: int, seeds: int) -> Found:
    """Accuracies by (k, beta)."""
    found: Found = {}
    for seed in range(seeds):
        split = Split.of(people, seed)
        for k, beta in cells:
            forest = split.release(RandomTrees(10, depth, beta, int(k), 1.0, seed))
            for vote in VOTES:
                found.setdefault((vote, (k, beta)), []).append(split.accuracy(forest, vote))
    return found


def scores(cells: Cells, found: Found, vote: str) -> npt.NDArray[np.float64]:
    """How many standard deviations of a forest our mean is above each printed accuracy, shape (n_cells,)."""
    ours = np.array([found[vote, cell] for cell in cells])
    return np.asarray(
        (ours.mean(axis=1) - [float(p) for p in cells.values()]) / np.maximum(ours.std(axis=1, ddof=1), 1e-9)
    )


def show(title: str, names: str, cells: Cells, found: Found) -> None:
    print(f"\n{title}\n{names:>16}  printed  " + "".join(f"{vote:>17}" for vote in VOTES))
    for cell, printed in cells.items():
        ours = [np.array(found[vote, cell]) for vote in VOTES]
        row = "".join(f"  {a.mean():.3f} +- {a.std(ddof=1):.3f}" for a in ours)
        print(f"{', '.join(f'{x:g}' for x in cell):>16}  {printed:>7}{row}")
    for vote in VOTES:
        z = scores(cells, found, vote)
        gap = np.mean([np.mean(found[vote, cell]) - float(printed) for cell, printed in cells.items()])
        print(f"{vote}: {(abs(z) <= 2).sum()} of {len(z)} within |z| = 2; on average ours are {gap:+.3f} above")


def tables(seeds: int) -> None:
    for name, cells in TABLE_6.items():
        show(f"Table 6, {name}, beta {BETA_6}", "trees, k, depth", cells, table_6(load(name), cells, seeds))
    for name, cells in TABLE_7.items():
        people = load("nursery, three classes" if name == "nursery" else name)
        found = table_7(people, cells, DEPTH_7[name], seeds)
        show(f"Table 7, {name}, depth {DEPTH_7[name]}", "k, beta", cells, found)


def noisy(split: Split, trees: int, depth: int, epsilon: float, seed: int) -> float:
    """The accuracy of random trees whose counts all have Laplace noise.

    Every leaf there could be has noise, also where nobody is; it is drawn for those that test records come to.
    """
    people, rng = split.train, np.random.default_rng(seed)
    space = space_of(people.attributes, split.ranges)
    train, test = (np.column_stack(part.columns).astype(np.float64) for part in (split.train, split.test))
    n_classes = len(people.target.classes)
    total = np.zeros((len(test), n_classes))
    for root in rng.integers(0, 2**64, trees, np.uint64):
        keys = np.concatenate([leaf_keys(space, root, depth, x) for x in (train, test)])
        leaf = np.unique(keys, return_inverse=True)[1]
        counts = np.zeros((leaf.max() + 1, n_classes))
        np.add.at(counts, (leaf[: len(train)], people.y), 1.0)
        total += np.maximum(counts + rng.laplace(0.0, trees / epsilon, counts.shape), 0.0)[leaf[len(train) :]]
    return float((total.argmax(axis=1) == split.test.y).mean())


def private(epsilon: float, beta: float, trees: int) -> int:
    """The smallest k with a delta of at most 1e-6."""
    return next(k for k in range(2, 10_000) if forest_delta(trees, k, beta, epsilon) <= 1e-6)


def noise(seeds: int, trees: int = 10) -> None:
    rates = (0.05, 0.1, 0.2, 0.4)
    for name in ("nursery", "mushroom", "adult"):
        people = load(name)
        depth = max(len(people.attributes) // 2, 1)
        splits = [Split.of(people, seed) for seed in range(seeds)]
        depths = sorted({2, 3, depth // 2 + 1, depth})
        print(f"\n{name}, {trees} trees: best mean accuracy over depths {depths}, with its standard deviation")
        print(f"{'epsilon':>8}{'noise':>24}" + "".join(f"{f'beta {rate}':>30}" for rate in rates))
        for epsilon in (0.5, 1.0, 2.0, 4.0):
            row = [best({d: [noisy(s, trees, d, epsilon, i) for i, s in enumerate(splits)] for d in depths})]
            for rate in rates:
                k = private(epsilon, rate, trees)
                asked = {d: RandomTrees(trees, d, rate, k, epsilon) for d in depths}
                found = {
                    d: [s.accuracy(s.release(replace(a, seed=i)), "sums") for i, s in enumerate(splits)]
                    for d, a in asked.items()
                }
                row.append(f"k {k}, {best(found)}")
            print(f"{epsilon:8g}{row[0]:>24}" + "".join(f"{cell:>30}" for cell in row[1:]), flush=True)


def best(found: Mapping[int, Sequence[float]]) -> str:
    depth = max(found, key=lambda d: float(np.mean(found[d])))
    return f"{np.mean(found[depth]):.3f} +- {np.std(found[depth], ddof=1):.3f} (d {depth})"


CATEGORIES = (9, 16, 7, 15, 6, 5, 2, 42)
PART = 100_000


def made_up(rows: int, seed: int) -> pd.DataFrame:
    """People with a class that depends on some of their attributes."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({f"n{j}": rng.normal(size=rows).clip(-4, 4) for j in range(6)})
    for j, size in enumerate(CATEGORIES):
        frame[f"c{j}"] = pd.Categorical.from_codes(
            (size * rng.random(rows) ** 2).astype(int), [f"v{i}" for i in range(size)]
        )
    likely = 1 / (1 + np.exp(-(frame["n0"] + frame["c4"].cat.codes - 2)))
    return frame.assign(y=np.where(rng.random(rows) < likely, "yes", "no"))


def speed(rows: int, asked: RandomTrees) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"n{j}" for j in range(6)] + [f"c{j}" for j in range(len(CATEGORIES))]
    domains = {f"c{j}": [f"v{i}" for i in range(size)] for j, size in enumerate(CATEGORIES)} | {"y": ["no", "yes"]}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "people.parquet"
        writer = None
        for seed, begin in enumerate(range(0, rows, PART)):
            part = pa.Table.from_pandas(made_up(min(PART, rows - begin), seed), preserve_index=False)
            writer = writer or pq.ParquetWriter(path, part.schema)
            writer.write_table(part)
        if writer is not None:
            writer.close()

        def batches() -> Iterator[Training]:
            for part in pq.ParquetFile(path).iter_batches(PART):
                yield read_training(part.to_pandas(), target="y", qi=names, domains=domains)

        first = next(batches())
        before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, time.process_time()
        ranges = {f"n{j}": (-4.0, 4.0) for j in range(6)}
        release = draw_batches(batches(), first.target, first.attributes, asked, ranges).release()
        seconds = time.process_time() - begin
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        right = predict_columns(release, first.attributes, first.columns, len(first)) == first.y
        size = path.stat().st_size / 2**20
    leaves = sum(any((leaf.counts or {}).values()) for tree in release.trees for leaf in tree.leaves)
    print(f"{rows} rows ({size:.0f} MiB), {asked}")
    print(f"{seconds:.1f} s of the processor, at most {after:.0f} MiB (before {before:.0f})")
    print(f"{leaves} leaves with counts")
    print(f"accuracy on the first {len(first)}: {right.mean():.4f}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("tables", "noise"):
        commands.add_parser(name).add_argument("--seeds", type=int, default=10)
    timed = commands.add_parser("speed")
    for option, default in (("rows", 1_000_000), ("trees", 100), ("depth", 9), ("k", 20)):
        timed.add_argument(f"--{option}", type=int, default=default)
    timed.add_argument("--beta", type=float, default=0.1)
    call = parser.parse_args(arguments)
    if call.command == "speed":
        speed(call.rows, RandomTrees(call.trees, call.depth, call.beta, call.k))
    elif not os.environ.get("MAXENT_DATA"):
        print("set the environment variable MAXENT_DATA to the folder with the data sets", file=sys.stderr)
        return 2
    else:
        (tables if call.command == "tables" else noise)(call.seeds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
