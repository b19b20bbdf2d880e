"""Stand-ins for the people of leaves, with as many people of each value of each attribute, and far fewer of them.

Choices of splits compare sums over a node by the value of an attribute at a time. So where the people of a leaf have
one posterior, any people with the same numbers of each value will do. They are made as one fills a table of
transportation from its north-west corner: the people of the leaf stand in a row for each attribute, sorted by its
value, and wherever any of these rows comes to another value, the next stand-in begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from maxent.api.parts.posteriors import Evaluated, Evaluation, differences, unpickled
from maxent.models.arrays import IntArray
from maxent.models.tables.parts.groups import Group, positions, read_group
from maxent.models.tables.parts.runs import Rows


@dataclass(frozen=True, slots=True, eq=False)
class StandIns:
    """Stand-ins of a group: ``leaf`` (n,), ``codes`` (n, n_attributes) and ``count`` (n,) people of each.

    ``real`` are the leaves whose own people these are. ``classes``, shape (n, n_classes), are people of each class,
    with a truth; of a leaf that has stand-ins only their sum is that of its people.
    """

    leaf: IntArray
    codes: IntArray
    count: IntArray
    real: IntArray
    classes: IntArray | None


def stand_ins(group: Group, path: Path, wanted: Path) -> StandIns | Evaluated | None:
    """Stand-ins of a group; in leaves that are ``wanted``, or have no more people that differ, these themselves.

    ``path`` is that of an `Evaluation`, ``wanted`` of booleans, shape (n_leaves,). None for a group without people;
    where people are not those of the truth, how they differ.
    """
    how: Evaluation = unpickled(path)
    rows = read_group(how.runs, group)
    if rows is None or not len(rows):
        return None
    n_classes = np.load(how.posterior, mmap_mode="r").shape[1]
    truth = None if how.truth is None else read_group(how.truth, group, how.packing.room)
    codes = how.packing.unpack(rows.words)
    if how.truth is not None and (wrong := differences(rows, truth, how.packing)) is not None:
        return wrong
    made = _made(rows, codes, truth, n_classes)
    leaves = len(np.load(wanted, mmap_mode="r"))
    own, theirs = (np.bincount(leaf, minlength=leaves) for leaf in (rows.leaf, made.leaf))
    real = np.load(wanted) | ((own <= theirs) & (group.parts == 1))
    kept, stands = real[rows.leaf], ~real[made.leaf]
    classes = None
    if truth is not None and made.classes is not None:
        classes = np.concatenate([made.classes[stands], _classes(rows, truth, how.packing.room, n_classes)[kept]])
    return StandIns(
        np.concatenate([made.leaf[stands], rows.leaf[kept]]).astype(np.int64),
        np.concatenate([made.codes[stands], codes[kept]]),
        np.concatenate([made.count[stands], rows.count[kept]]),
        np.flatnonzero(real & (own > 0)),
        classes,
    )


def _made(rows: Rows, codes: IntArray, truth: Rows | None, n_classes: int) -> StandIns:
    """Stand-ins for sorted rows of several leaves."""
    standing = [_runs(rows.leaf, column, rows.count) for column in codes.T]
    if truth is not None:
        standing.append(_runs(truth.leaf, truth.words[-1] % n_classes, truth.count))
    leaf_ends, leaves = _runs(rows.leaf, rows.leaf, rows.count)
    ends = np.unique(np.concatenate([leaf_ends, *(end for end, _ in standing)]))
    values = [value[np.searchsorted(end, ends)] for end, value in standing]
    count = np.diff(ends, prepend=0)
    classes = None
    if truth is not None:
        classes = np.zeros((len(ends), n_classes), np.int64)
        classes[np.arange(len(ends)), values.pop()] = count
    found = np.column_stack([np.zeros((len(ends), 0), np.int64), *values])
    leaf = leaves[np.searchsorted(leaf_ends, ends)].astype(np.int64)
    return StandIns(leaf, found, count, leaf[:0], classes)


def _runs(leaf: IntArray, value: IntArray, count: IntArray) -> tuple[IntArray, IntArray]:
    """The people of leaves in a row, by value: where each run of one value ends, counted in people, and its value."""
    order = np.lexsort((value, leaf))
    leaf, value, end = leaf[order], value[order], np.cumsum(count[order])
    last = np.ones(len(order), bool)
    last[:-1] = (leaf[1:] != leaf[:-1]) | (value[1:] != value[:-1])
    return end[last], value[last]


def _classes(rows: Rows, truth: Rows, room: int, n_classes: int) -> IntArray:
    """People of each class of each quasi-identifier, shape (n_rows, n_classes)."""
    found = np.zeros((len(rows), n_classes), np.int64)
    words = truth.words.copy()
    words[-1] //= room
    at, _ = positions(rows, Rows(truth.leaf, words, truth.count))
    found[at, truth.words[-1] % n_classes] = truth.count
    return found
