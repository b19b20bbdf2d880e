"""From records to the release of an optimal tree within limits on its leaves."""

from __future__ import annotations

from functools import reduce

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.defenses.certainty import CERTAIN
from maxent.models.defenses.optimal.costs import least_cost, weights_stated, with_costs
from maxent.models.defenses.optimal.growing.depth_two import LEAF, Worth
from maxent.models.defenses.optimal.growing.search import PROVED, Grown, Progress, Search
from maxent.models.defenses.optimal.growing.splits import Split, records_of
from maxent.models.defenses.optimal.limits import Limits
from maxent.models.defenses.optimal.places import ROUNDING, sensitive_classes
from maxent.models.defenses.optimal.subtree import NAME, Searched
from maxent.models.errors import InvalidInput, Problem
from maxent.models.release import Defense, Induction, Release, Tree
from maxent.models.tables.training import Training
from maxent.models.trees.draft import Draft, Publish, depth_first, freeze

DEPTH = 4  # splits above the deepest leaf unless asked for


def optimal_tree(
    training: Training,
    limits: Limits,
    max_depth: int | None = None,
    progress: Progress | None = None,
    publish: Publish = "counts",
) -> Searched:
    """Grow the tree that is best within limits on its leaves.

    Splits are binary: one category against the others, or a cut of numbers, of which the cuts between quantiles are
    compared where there are many.

    ``limits``: without limits on sums. ``max_depth``: splits above the deepest leaf; default `DEPTH`. Up to `PROVED`
    the tree is proved to be the best; deeper ones take their splits from optimal trees that look ahead. ``publish``:
    what leaves are to state in the end: decisions that cost something are made from it. The result: ``most`` is 1, or 0
    for impurities and costs, where nothing is proved. With a complexity both are less or more what the leaves cost.
    """
    depth = DEPTH if max_depth is None else max_depth
    classes = training.target.classes
    limits = with_costs(limits, training.target)
    records, splits = records_of(training)
    sensitive = sensitive_classes(training.target, limits)
    worth, most = leaf_worth(
        limits, sensitive, exact=len(training) < 2**24, publish=publish, price=limits.complexity * len(training)
    )
    found = Search(worth, most, limits.k).tree(records, depth, progress)
    if found is None:
        whole = np.bincount(training.y, minlength=len(classes))
        told = f"the whole table as one leaf has {len(training):,} records, of which {whole.max():,} are of one class"
        expected = f"limits that a tree of depth {depth} keeps"
        raise InvalidInput("options", [Problem("limits", "leaves", expected, told)])
    drafts = _drafts(training, found, splits)
    nodes = freeze(drafts, classes)
    kept = {**limits.as_dict(), "objective": limits.objective, "max_depth": depth}
    release = Release(
        training.target, training.attributes, (Tree(nodes, Induction(NAME)),), defense=Defense(NAME, kept)
    )
    share = found.worth / len(training)
    reached = {"accuracy": share, "impurity": 1 - share, "cost": -share}[limits.objective]
    unknown = 1.0 if limits.objective == "accuracy" else 0.0
    return Searched(release, reached, reached if depth <= PROVED else unknown)


def leaf_worth(
    limits: Limits, sensitive: IntArray, *, exact: bool = True, publish: Publish = "counts", price: float = 0.0
) -> tuple[Worth, Worth]:
    """What leaves are worth with limits, and what people are worth at most.

    ``exact`` is whether single precision holds all counts, ``publish`` what leaves are to state, and ``price`` what
    every leaf costs, records.
    """
    kind = np.float32 if exact and limits.objective == "accuracy" and not price else np.float64
    never = kind(-np.inf)
    share = min(each for each in (limits.max_posterior, limits.alpha, 1.0) if each is not None)

    def free(counts: FloatArray) -> FloatArray:
        if limits.objective == "accuracy":
            return np.asarray(reduce(np.maximum, counts))
        if limits.objective == "cost":
            by_class = np.moveaxis(counts.astype(np.float64), 0, -1)
            return -least_cost(by_class, weights_stated(by_class, by_class.argmax(axis=-1), publish), limits.cost)
        n = reduce(np.add, counts)
        return np.asarray(reduce(np.add, (each.astype(np.float64) ** 2 for each in counts)) / np.maximum(n, 1))

    def worth(counts: FloatArray) -> FloatArray:
        n = reduce(np.add, counts)
        kept = n >= limits.k
        if share < 1:
            kept &= reduce(np.maximum, counts[sensitive]) <= np.float64(share + ROUNDING) * n
        if limits.max_certain == 0:
            kept &= reduce(np.maximum, counts) < np.float64(CERTAIN) * n
        if limits.l is not None and limits.diversity == "distinct":
            kept &= reduce(np.add, (each > 0 for each in counts), 0) >= limits.l
        elif limits.l is not None:
            logs = (
                each * np.log(np.where(each > 0, each / np.maximum(n, 1), 1.0)) for each in counts.astype(np.float64)
            )
            kept &= -reduce(np.add, logs) >= (np.log(limits.l) - ROUNDING) * n
        return np.where(kept, free(counts) - np.float64(price) if price else free(counts), never)

    def most(counts: FloatArray) -> FloatArray:
        if limits.objective != "cost":
            return free(counts)
        by_class = np.moveaxis(counts, 0, -1)
        return -least_cost(by_class, by_class, limits.cost)  # as if all counts of every different record were stated

    return worth, most


def _drafts(training: Training, found: Grown, splits: tuple[Split, ...]) -> list[Draft]:
    """The tree with its records, nodes before those below them."""
    drafts: list[Draft] = []
    stack: list[tuple[Grown, IntArray, int]] = [(found, np.arange(len(training)), -1)]
    while stack:
        tree, rows, above = stack.pop()
        counts = np.bincount(training.y[rows], minlength=len(training.target.classes))
        if above >= 0:
            drafts[above].children.append(len(drafts))
        drafts.append(Draft(counts, int(counts.argmax())))
        if tree.split == LEAF:
            continue
        split = splits[tree.split]
        drafts[-1].attribute, drafts[-1].branches = training.attributes[split.attribute].name, split.branches
        first = _goes_first(training, split, rows)
        at = len(drafts) - 1
        stack += [(tree.sides[1], rows[~first], at), (tree.sides[0], rows[first], at)]
    return depth_first(drafts)


def _goes_first(training: Training, split: Split, rows: IntArray) -> BoolArray:
    """Which of the records take the first branch, shape (n_rows,)."""
    column, branch = training.columns[split.attribute][rows], split.branches[0]
    if branch.le is not None:
        return np.asarray(column <= branch.le)
    values = training.attributes[split.attribute].values or ()
    (value,) = branch.values or ("",)
    return np.asarray(column == values.index(value))
