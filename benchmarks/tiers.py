"""Table 2 of Yang et al. (2019): GCP and classification error of generalised records, python benchmarks/tiers.py.

Contraceptive (1,473 records) and Adult (45,222 without missing values), from the folder MAXENT_DATA, by 10-fold
cross-validation. In every fold a tree is grown on the training records (scikit-learn's CART), and they are generalised:

mondrian  uniformly, in groups by Mondrian (benchmarks/mondrian.py), cut by information gain; median: by medians
erp       uniformly, in the leaves of the tree after error-risk pruning; literal: by the rule as printed
stopped   uniformly, in the leaves of a tree that was not allowed smaller ones
tiered    in tiers of the same tree as erp

GCP is that of the generalised training records. A test record is generalised as those of its group, or leaf, were. C4.5
is trained on the generalised training records, and its error is that on the generalised test records: of a numeric
attribute it sees both ends of the range, of a categorical one whether each value is in the set. The paper says neither
which tree is pruned, nor how a classifier sees ranges and sets.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import mondrian
import numpy as np
import pandas as pd

from maxent.models.boxes import Boxes, GeneralizedTable
from maxent.models.erp import prune_erp
from maxent.models.generalize import tiered, uniform
from maxent.models.growth import Growth
from maxent.models.inducers import induce
from maxent.models.release import Attribute, Release
from maxent.models.risk import ranges_of
from maxent.models.routing import assign
from maxent.models.training import Training, read_training

PUBLISHED = {
    ("contraceptive", "original", 0): (None, 0.4779),
    ("contraceptive", "mondrian", 10): (0.4174, 0.5848),
    ("contraceptive", "erp", 10): (0.4093, 0.4902),
    ("contraceptive", "tiered", 10): (0.4071, 0.4827),
    ("contraceptive", "mondrian", 20): (0.5136, 0.5989),
    ("contraceptive", "erp", 20): (0.5131, 0.5936),
    ("contraceptive", "tiered", 20): (0.5127, 0.5655),
    ("contraceptive", "mondrian", 30): (0.5771, 0.6028),
    ("contraceptive", "erp", 30): (0.5728, 0.6029),
    ("contraceptive", "tiered", 30): (0.5602, 0.5906),
    ("adult", "original", 0): (None, 0.1462),
    ("adult", "mondrian", 10): (0.4711, 0.2481),
    ("adult", "erp", 10): (0.4251, 0.2109),
    ("adult", "tiered", 10): (0.3648, 0.1663),
    ("adult", "mondrian", 20): (0.5010, 0.2509),
    ("adult", "erp", 20): (0.4262, 0.2448),
    ("adult", "tiered", 20): (0.3696, 0.1708),
    ("adult", "mondrian", 30): (0.5195, 0.2776),
    ("adult", "erp", 30): (0.4695, 0.2493),
    ("adult", "tiered", 30): (0.3737, 0.1744),
}
"""GCP and error that the paper prints; its Mondrian is the one by information gain."""


def load(name: str) -> Training:
    """A data set; the codes of Contraceptive that have no order are categories."""
    folder = os.environ.get("MAXENT_DATA")
    if not folder:
        raise SystemExit("set MAXENT_DATA to a folder with adult.csv and contraceptive.csv")
    people = pd.read_csv(Path(folder) / f"{name}.csv")
    if name == "adult":
        people = people[~(people == "?").any(axis=1)].drop(columns="fold")
        return read_training(people, target="class", qi=[c for c in people if c != "class"])
    target = "contraceptive_method_used"
    flags = ["isMuslim", "isNotWorking", "husband_occupation", "isNotExposedToMedia"]
    return read_training(people, target=target, qi=[c for c in people if c != target], categorical=flags)


def features(boxes: Boxes, box: np.ndarray) -> tuple[np.ndarray, ...]:
    """What a classifier sees of boxes: ends of ranges, and whether values are in sets; columns of numbers."""
    return tuple(column for of_attribute in boxes for column in of_attribute[box].T.astype(float))


def error(train: Training, test: Training) -> float:
    """The share of test records that C4.5, trained on the others, misclassifies."""
    model = induce(train, Growth("c45")).trees[0]
    code = {label: i for i, label in enumerate(train.target.classes)}
    label = np.array([code.get(node.label or "", -1) for node in model.nodes])
    return float((label[assign(model, test.attributes, test.columns)] != test.y).mean())


def generalized_error(table: GeneralizedTable, test: Training, box: np.ndarray) -> float:
    """The error on test records with these boxes of the table."""
    train_columns, test_columns = features(table.boxes, table.box), features(table.boxes, box)
    attributes = tuple(Attribute(f"x{j}", "numeric") for j in range(len(train_columns)))
    return error(
        Training(table.target, attributes, train_columns, table.y),
        Training(table.target, attributes, test_columns, test.y),
    )


def by_groups(train: Training, test: Training, release: Release, k: int) -> tuple[float, float]:
    """GCP and error when the leaves of a release are the groups."""
    train_groups, test_groups = (assign(release.trees[0], t.attributes, t.columns) for t in (train, test))
    table = uniform(train, train_groups, k)
    return table.gcp(), generalized_error(table, test, np.searchsorted(np.unique(train_groups), test_groups))


def in_tiers(train: Training, test: Training, grown: Release, k: int) -> tuple[float, float]:
    """GCP and error of tiers; the boxes of leaves come first, in the order of their places."""
    train_leaves, test_leaves = (assign(grown.trees[0], t.attributes, t.columns) for t in (train, test))
    table = tiered(train, grown, k)
    return table.gcp(), generalized_error(table, test, np.searchsorted(np.unique(train_leaves), test_leaves))


def fold_results(train: Training, test: Training, ks: list[int], seed: int) -> Iterator[tuple[str, int, float, float]]:
    """Method, k, GCP and error of everything in one fold."""
    yield "original", 0, np.nan, error(train, test)
    grown = induce(train, Growth("cart", seed=seed))
    ranges = ranges_of(train.attributes, train.columns)
    for k in ks:
        yield "mondrian", k, *by_groups(train, test, mondrian.partition(train, k, mondrian.information_gain_cut), k)
        yield "median", k, *by_groups(train, test, mondrian.partition(train, k, mondrian.median_cut), k)
        yield "erp", k, *by_groups(train, test, prune_erp(grown, k, ranges=ranges), k)
        yield "literal", k, *by_groups(train, test, prune_erp(grown, k, ranges=ranges, rule="literal"), k)
        yield "stopped", k, *by_groups(train, test, induce(train, Growth("cart", min_samples_leaf=k, seed=seed)), k)
        yield "tiered", k, *in_tiers(train, test, grown, k)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["contraceptive", "adult"])
    parser.add_argument("--k", type=int, nargs="+", default=[10, 20, 30])
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--only", type=int, help="run this many of the folds")
    parser.add_argument("--seed", type=int, default=0)
    call = parser.parse_args()
    for name in call.data:
        training = load(name)
        block = np.random.default_rng(call.seed).permutation(len(training)) % call.folds
        found = []
        begin = time.process_time()
        for fold in range(call.only or call.folds):
            train, test = training.take(block != fold), training.take(block == fold)
            found += list(fold_results(train, test, call.k, call.seed))
            print(f"{name}: fold {fold + 1}, {time.process_time() - begin:.0f} s", file=sys.stderr, flush=True)
        means = pd.DataFrame(found, columns=["method", "k", "GCP", "error"]).groupby(["k", "method"], sort=False).mean()
        constant = 1 - np.bincount(training.y).max() / len(training)
        print(f"{name}, {len(training)} records; the most frequent class alone errs on {constant:.4f}")
        print(f"{'method':>10} {'k':>3} {'GCP':>7} {'printed':>8} {'error':>7} {'printed':>8}")
        for (k, method), row in means.iterrows():
            gcp, err = PUBLISHED.get((name, method, k), (None, None))
            printed = [format(value, "8.4f") if value else " " * 8 for value in (gcp, err)]
            print(f"{method:>10} {k:3d} {row['GCP']:7.4f} {printed[0]} {row['error']:7.4f} {printed[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
