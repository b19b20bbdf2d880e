"""Proof that a boosted model is of a training table: leaf hessians, class weights, and trees listed in CSV.

The hessian of a record is p (1 - p) times `Boosting.hessian` (Chen and Guestrin, 2016, section 2.2); p is what the
trees of all iterations before predict. A table, a base score and an order of categories that give the sums that a file
states at all leaves are those of the training.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from os import PathLike

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray
from maxent.models.errors import InvalidInput, invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import read_text
from maxent.models.formats.proof import TrainingColumns, training_places
from maxent.models.nodes import each, links_of
from maxent.models.release import Node, Release, Tree

_SMALLEST = 1e-16  # the least hessian of a record
_SHARED = 1e-5  # by how much a sum of equal hessians may be off, in parts of it
_ROUNDING = 1e-4  # by how much a sum may be off, in parts of it, and besides: tools compute in single precision

SPARE = 3  # numbers of leaves that have to follow from others, for records, or those of a class, to have had one weight


def weighed_alike(trees: Iterable[Sequence[Node]]) -> bool:
    """Whether the leaves of the first tree of each class have one sum of hessians per record."""
    spare = 0
    for tree in trees:
        leaves = [(node.hessian or 0.0, node.n or 0) for node in each(tree) if node.is_leaf]
        (first, n), *others = leaves
        if any(not h * n > 0 or abs(h * n - first * many) > _SHARED * h * n for h, many in others):
            return False
        spare += len(others)
    return spare >= SPARE


def follows_gradients(
    release: Release, iterations: Sequence[int], training: TrainingColumns, first: FloatArray | None = None
) -> bool:
    """Whether the first trees raise the scores of the records of their classes: else classes are in another order."""
    boosting = release.boosting
    reached, y = training_places(release, training)
    if boosting is None or not training.classes:
        return False
    scores = _starts(release, len(y)) if first is None else np.tile(first, (len(y), 1))
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    residuals = np.eye(scores.shape[1])[y] - odds / odds.sum(axis=1, keepdims=True)
    classes, told = release.target.classes, False
    for t, tree in enumerate(release.trees):
        if iterations[t] == iterations[0]:
            of = classes.index(tree.of_class or classes[-1])
            along = float((residuals[:, of] * _values(tree)[reached[t]]).sum())
            if along < 0:
                return False
            told = told or along > 0
    return told or all(not _values(tree).any() for tree in release.trees)


def _starts(release: Release, n: int) -> FloatArray:
    """The scores before the first tree, shape (n, n_classes); 0 of the first of two classes."""
    boosting, classes = release.boosting, release.target.classes
    base = 0.0 if boosting is None else boosting.base
    starts = [float(base) if isinstance(base, float | int) else base.get(c, 0.0) for c in classes]
    if boosting is not None and boosting.link == "logit":
        starts[0] = 0.0
    return np.tile(np.array(starts), (n, 1))


def agrees(
    release: Release,
    covers: Sequence[FloatArray],
    iterations: Sequence[int],
    training: TrainingColumns,
    first: FloatArray | None = None,
    second: float | None = None,
) -> bool:
    """Whether the sums of hessians at all leaves are those of a training table.

    ``first`` are the scores before the first tree, where its values contain them; ``second`` the weight of a record of
    the second class, where known.
    """
    boosting = release.boosting
    if boosting is None or boosting.link == "none":
        return False
    try:
        reached, y = training_places(release, training)
    except InvalidInput:
        return False
    classes = release.target.classes
    scores = _starts(release, len(y))
    weights = np.ones(len(y)) if second is None else np.where(y == 1, second, 1.0)
    for iteration, group in groupby(range(len(covers)), key=lambda t: iterations[t]):
        members = list(group)
        before = scores if first is None or iteration != iterations[0] else np.tile(first, (len(y), 1))
        hessian = boosting.hessian * np.maximum(_hessians(before), _SMALLEST)
        if second is None and iteration == iterations[0] and boosting.link == "logit" and training.classes:
            weights = _class_weights(hessian[:, 1], y == 1, float(covers[members[0]][0]))
        for t in members:
            of = classes.index(release.trees[t].of_class or classes[-1])
            sums = np.bincount(reached[t], weights * hessian[:, of], minlength=len(covers[t]))
            leaves = links_of(release.trees[t].nodes)[0] == 0
            if not np.allclose(sums[: len(leaves)][leaves], covers[t][leaves], rtol=_ROUNDING, atol=_ROUNDING):
                return False
        for t in members:
            of = classes.index(release.trees[t].of_class or classes[-1])
            scores[:, of] += _values(release.trees[t])[reached[t]]
    return True


def _hessians(scores: FloatArray) -> FloatArray:
    """P (1 - p) of each class, shape (n, n_classes)."""
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares = odds / odds.sum(axis=1, keepdims=True)
    return np.asarray(shares * (1 - shares))


def _class_weights(hessian: FloatArray, second: np.ndarray[tuple[int], np.dtype[np.bool_]], cover: float) -> FloatArray:
    """Weights of records, 1 but for those of the second class, that make the sum at the root what it is."""
    others, own = float(hessian[~second].sum()), float(hessian[second].sum())
    weight = (cover - others) / own if own else 1.0
    return np.where(second, weight if weight > 0 else 1.0, 1.0)


def _values(tree: Tree) -> FloatArray:
    """Scores at the nodes, shape (n_nodes,)."""
    return np.array([node.value if isinstance(node.value, float) else 0.0 for node in each(tree.nodes)])


# Weights of two classes that depend on how many records each has, told by the first tree of a boosted model.
#
# All records have the same score s before it, p being its probability. With weights w of the two classes, a leaf of n
# records, m of them of the second class, has ``G = w_0 p (n - m) - w_1 (1 - p) m``, ``H = p (1 - p) (w_0 (n - m) + w_1
# m)`` and the value ``-rate G / (H + l2)``. So each number of records of the second class, in all, which the weights
# depend on, gives an m for each leaf; these have to be whole numbers that add up to it.

# The weights of two classes, from the records of the second, shape (n,), and those of both
Weighing = Callable[[FloatArray, float], tuple[FloatArray, FloatArray]]

_OFF = 1e-6  # by how much what is computed of each record may be off, as a share of its weight
_MOST = 10**7  # leaves of the first tree times records, up to which numbers of records are tried
_TOGETHER = 1 << 20  # numbers that are looked at together


@dataclass(frozen=True, slots=True, eq=False)
class FirstTree:
    """The leaves of the first tree: records, values and L2 penalties, shapes (n_leaves,), and the learning rate."""

    records: FloatArray
    value: FloatArray
    penalty: FloatArray
    rate: float


def balanced(second: FloatArray, n: float) -> tuple[FloatArray, FloatArray]:
    """The weights ``n / (2 n_x)`` of two classes, the second of so many records."""
    return n / (2 * (n - second)), n / (2 * second)


def unbalanced(second: FloatArray, n: float) -> tuple[FloatArray, FloatArray]:
    """The weights of ``is_unbalance`` of LightGBM: 1 of the more frequent class, their ratio of the other."""
    ratio = (n - second) / second
    return np.maximum(1 / ratio, 1.0), np.maximum(ratio, 1.0)


def number_of_second(
    tree: FirstTree, weights: Weighing, *, averaged: bool, contained: bool = False, weighed: bool = False
) -> tuple[float, float] | None:
    """How many records are of the second class, and the score before the tree; None unless one number alone fits.

    ``averaged``: whether that score is the log odds of the second class, ``weighed`` of the weights; ``contained``:
    whether the tree's values contain it.
    """
    n = float(tree.records.sum())
    if len(tree.records) < 2 or n * len(tree.records) > _MOST:
        return None

    def base(second: FloatArray) -> FloatArray:
        first, other = weights(second, n) if weighed else (np.ones(len(second)), np.ones(len(second)))
        return np.log(other * second / (first * (n - second))) if averaged else np.zeros(len(second))

    found: list[float] = []
    step = max(1, _TOGETHER // len(tree.records))
    for begin in range(1, int(n), step):
        second = np.arange(begin, min(begin + step, int(n)), dtype=np.float64)
        fits = _fits(tree, weights(second, n), base(second), second, contained=contained)
        found += second[fits].tolist()
    return (found[0], float(base(np.array(found))[0])) if len(found) == 1 else None


def _fits(
    tree: FirstTree, weights: tuple[FloatArray, FloatArray], base: FloatArray, second: FloatArray, *, contained: bool
) -> BoolArray:
    """Whether so many records of the second class, each with its score, make whole numbers, shape (n,)."""
    first, other, base = weights[0][:, None], weights[1][:, None], base[:, None]
    p = 1 / (1 + np.exp(-base))
    s = (tree.value - (base if contained else 0.0)) / tree.rate
    a = p + s * p * (1 - p)
    with np.errstate(divide="ignore", invalid="ignore"):
        divisor = other + (first - other) * a
        m = (first * a * tree.records + s * tree.penalty) / divisor
        wide = _OFF * (1 + np.abs((first * (tree.records - m) + other * m) / divisor))
    whole = np.abs(m - np.rint(m)) <= wide
    inside = (m > -0.5) & (m < tree.records + 0.5)
    total = np.abs(m.sum(axis=1) - second) <= wide.sum(axis=1)
    result: BoolArray = (whole & inside).all(axis=1) & total
    return result


# Rows of a CSV file that a program wrote of its trees, as columns.


def read_rows(path: str | PathLike[str], header: tuple[str, ...], optional: str = "") -> dict[str, list[str]]:
    """The cells of each column of a header, which a file may write in any order, and beside others."""
    source = shown_path(path)
    try:
        rows = [row for row in csv.reader(read_text(path).split("\n"), strict=True) if row]
    except csv.Error as error:
        raise invalid(source, "file", "content", "CSV of trees_to_dataframe", str(error)) from None
    names = rows[0] if rows else []
    missing = [name for name in header if name not in names and name != optional]
    if missing or len({*names}) < len(names) or len(rows) < 2:
        expected = f"columns {', '.join(header)}, and a row for each node"
        raise invalid(source, "line 1", "columns", expected, f"no {missing[0]}" if missing else f"{len(rows)} rows")
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(names):
            raise invalid(source, f"row {number}", "cells", f"{len(names)}, as the header has", str(len(row)))
    found = dict(zip(names, map(list, zip(*rows[1:], strict=True)), strict=True))
    return {name: found.get(name, [""] * (len(rows) - 1)) for name in header}


def numbers(source: str, name: str, cells: list[str]) -> FloatArray:
    """The finite numbers in cells, NaN for empty ones; shape (n_rows,)."""
    try:
        found = np.array([float(cell) if cell else np.nan for cell in cells], np.float64)
    except ValueError:
        found = np.array([np.inf])
    if np.isinf(found).any():
        raise invalid(source, "document", name, "finite numbers", "something else")
    return found
