"""Sorted runs: coded rows of a table in the order of leaves, in files, in groups that fit in memory.

A run is what a process holds at a time. Its rows are sorted by leaf, then by quasi-identifier, so that those of any
group of leaves are one slice of it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import BoolArray, IntArray
from maxent.models.out_of_core.coding import ColumnCodes, KeptRows
from maxent.models.out_of_core.descent import LOST, Descent, Steps

AT_ONCE = 1 << 16  # rows that are routed together
_FITS = 2**62  # numbers below it are whole in an int64, with room to add


@dataclass(frozen=True, slots=True)
class Packing:
    """Codes of a quasi-identifier as few whole numbers, *words*, that are ordered as the codes are."""

    sizes: tuple[int, ...]
    words: tuple[tuple[int, ...], ...]
    room: int = 1

    def pack(self, codes: npt.NDArray[Any]) -> IntArray:
        """The words of rows of codes, shapes (n_rows, n_attributes) and (n_words, n_rows)."""
        found = np.zeros((len(self.words), len(codes)), np.int64)
        for word, columns in zip(found, self.words, strict=True):
            for j in columns:
                word *= self.sizes[j]
                word += codes[:, j]
        return found

    def unpack(self, words: IntArray) -> IntArray:
        """The codes of words, shapes (n_words, n_rows) and (n_rows, n_attributes), as small as those of tables."""
        kind = np.min_scalar_type(-1 - max(self.sizes, default=0))
        codes = np.zeros((len(self.sizes), words.shape[1]), kind)
        for word, columns in zip(words, self.words, strict=True):
            left = word
            for j in reversed(columns):
                left, codes[j] = np.divmod(left, self.sizes[j])
        return codes.T


def packing_of(sizes: Sequence[int], room: int) -> Packing:
    """Pack attributes with so many codes each, and room for further values in the last word."""
    words: list[tuple[int, ...]] = [()]
    span = 1
    for j, size in enumerate(sizes):
        if span * max(size, 1) * room >= _FITS:
            words.append(())
            span = 1
        words[-1] = (*words[-1], j)
        span *= max(size, 1)
    return Packing(tuple(max(size, 1) for size in sizes), tuple(words), room)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of a table: the rank of the ``leaf``, ``words`` and ``count`` (people); (n,), (n_words, n) and (n,).

    With a truth ``classes``, shape (n, n_classes), are the people of each class.
    """

    leaf: npt.NDArray[Any]
    words: IntArray
    count: IntArray
    classes: IntArray | None = None

    def __len__(self) -> int:
        return len(self.leaf)

    def some(self, keep: BoolArray | IntArray | slice) -> Rows:
        """Some of the rows."""
        classes = None if self.classes is None else self.classes[keep]
        return Rows(self.leaf[keep], self.words[:, keep], self.count[keep], classes)

    def merged(self) -> Rows:
        """The same, sorted by leaf, then by words, with equal rows merged."""
        if not len(self):
            return self
        order, new = self.order()
        start = np.flatnonzero(new)
        first = order[start]
        return Rows(self.leaf[first], self.words[:, first], np.add.reduceat(self.count[order], start))

    def numbered(self) -> tuple[IntArray, IntArray]:
        """The number of each row among those that differ, in their order, and a row of each number."""
        order, new = self.order()
        number = np.empty(len(order), np.int64)
        number[order] = np.cumsum(new) - 1
        return number, order[new]

    def order(self) -> tuple[IntArray, BoolArray]:
        """The rows by leaf, then by words, and which of these are not as the one before; shapes (n_rows,)."""
        order = self._order()
        leaf, words = self.leaf[order], self.words[:, order]
        new = np.ones(len(order), bool)
        new[1:] = leaf[1:] != leaf[:-1]
        for word in words:
            new[1:] |= word[1:] != word[:-1]
        return order, new

    def _order(self) -> IntArray:
        if len(self) and len(self.words) == 1:
            (word,) = self.words
            span = int(word.max()) + 1
            if span * (int(self.leaf.max()) + 1) < _FITS:
                return np.argsort(self.leaf.astype(np.int64) * span + word)
        return np.lexsort((*self.words[::-1], self.leaf))


@dataclass(frozen=True, slots=True)
class Plan:
    """What a process does with some rows: codes of attributes, then of classes where they are wanted."""

    codes: tuple[ColumnCodes, ...]
    descent: Descent
    packing: Packing
    folder: Path
    most: int

    @property
    def classes(self) -> bool:
        """Whether rows have classes."""
        return len(self.codes) > len(self.packing.sizes)


@dataclass(frozen=True, slots=True)
class Routed:
    """What became of some rows.

    ``runs`` are the paths of runs, without what each of their files ends in. ``people``, shape (n_leaves,) or, with
    classes, (n_leaves, n_classes), are the individuals of each leaf; ``first``, shape (n_leaves,), is the first row
    of these in it, -1 for none. ``lost`` is the first row that no branch took, with its place and codes; ``unknown``
    are the people of rows with a value that the table has not, and the codes of the first of these.
    """

    runs: tuple[str, ...]
    people: IntArray
    first: IntArray
    lost: tuple[int, int, tuple[int, ...]] | None
    unknown: tuple[int, tuple[int, ...]] | None


def route_rows(kept: KeptRows, plan: Plan) -> Routed:
    """Route rows to leaves, and write them as sorted runs."""
    leaves, attributes = plan.descent.leaves, len(plan.packing.sizes)
    people = np.zeros(leaves * (plan.packing.room if plan.classes else 1))
    first = np.full(leaves, -1)
    lost: tuple[int, int, tuple[int, ...]] | None = None
    strangers, stranger = 0, ()
    runs: list[str] = []
    waiting: list[Rows] = []
    before, rows = 0, 0
    for table, count in _tables(kept, plan):
        before, rows = rows, rows + len(table)
        keep = np.flatnonzero(count > 0)
        table, count = table[keep], count[keep]
        if table.min(initial=0) < 0:
            strange = (table < 0).any(axis=1)
            stranger = stranger or tuple(table[strange][0].tolist())
            strangers += int(count[strange].sum())
            keep, table, count = keep[~strange], table[~strange], count[~strange]
        codes = table[:, :attributes]
        leaf, where = plan.descent(codes)
        if len(where):
            at = int(np.flatnonzero(leaf == LOST)[0])
            lost = lost or (before + int(keep[at]), int(where[0]), tuple(codes[at].tolist()))
            keep, count, codes, table, leaf = (part[leaf != LOST] for part in (keep, count, codes, table, leaf))
        words = plan.packing.pack(codes)
        here = np.full(leaves, -1)
        here[leaf[::-1]] = np.arange(len(leaf))[::-1]  # of several rows the last one written stays, which is the first
        new = np.flatnonzero((here >= 0) & (first < 0))
        first[new] = before + keep[here[new]]
        cell = leaf.astype(np.int64)
        if plan.classes:
            klass = table[:, attributes]
            words[-1] = words[-1] * plan.packing.room + klass
            cell = cell * plan.packing.room + klass
        people += np.bincount(cell, count, len(people))
        waiting.append(Rows(leaf, words, count))
        if sum(map(len, waiting)) >= plan.most:
            runs.append(written(waiting, plan.folder))
            waiting = []
    if waiting:
        runs.append(written(waiting, plan.folder))
    totals = people.astype(np.int64).reshape((leaves, -1) if plan.classes else leaves)
    return Routed(tuple(runs), totals, first, lost, (strangers, stranger) if strangers else None)


def _tables(kept: KeptRows, plan: Plan) -> Iterator[tuple[npt.NDArray[np.int32], IntArray]]:
    """Yield the codes of rows, shape (n_rows, n_columns), and their people, up to `AT_ONCE`."""
    known: list[Any] = [(None, None)] * len(plan.codes)
    for columns, people in kept:
        for j, (cells, _) in enumerate(columns):
            if known[j][0] is None or not known[j][0].equals(cells):
                known[j] = cells, plan.codes[j].numbered(cells)
        for begin in range(0, len(people), AT_ONCE):
            here = slice(begin, begin + AT_ONCE)
            table = np.empty((len(people[here]), len(known)), np.int32)
            for j, (_, numbers) in enumerate(columns):
                table[:, j] = known[j][1][numbers[here]]
            yield table, people[here].astype(np.int64)


def joined(parts: Sequence[Rows]) -> Rows:
    """Rows one after another."""
    return Rows(
        np.concatenate([part.leaf for part in parts]),
        np.concatenate([part.words for part in parts], axis=1),
        np.concatenate([part.count for part in parts]),
    )


def written(waiting: Sequence[Rows], folder: Path) -> str:
    """Write a run; a process that is lost while it writes leaves files that nobody knows of."""
    rows = joined(waiting).merged()
    path = str(folder / secrets.token_hex(8))
    np.save(f"{path}.leaf.npy", rows.leaf)
    np.save(f"{path}.words.npy", rows.words)
    np.save(f"{path}.count.npy", rows.count.astype(np.min_scalar_type(int(rows.count.max(initial=0)))))
    return path


# Groups of leaves that are evaluated together, each as large as memory allows.


@dataclass(frozen=True, slots=True)
class LeafGroup:
    """The leaves ``low`` to ``high - 1``; of a single large one only some rows, ``part`` of so many ``parts``."""

    low: int
    high: int
    part: int = 0
    parts: int = 1


@dataclass(frozen=True, slots=True)
class Different:
    """How many quasi-identifiers of a group have other people in the truth; the first, by codes, with both numbers."""

    number: int
    first: tuple[tuple[tuple[int, ...], int, int], ...]


@dataclass(frozen=True, slots=True)
class Runs:
    """People on disk: paths of runs of the table and, with a truth, of that, whose last words hold the class, too."""

    own: tuple[str, ...]
    truth: tuple[str, ...] | None
    packing: Packing

    @property
    def rows(self) -> int:
        """Rows of all runs of the table."""
        return sum(len(np.load(f"{run}.leaf.npy", mmap_mode="r")) for run in self.own)

    def groups(self, leaves: int, most: int) -> tuple[LeafGroup, ...]:
        """Consecutive leaves in groups of up to ``most`` rows; leaves that have more are divided."""
        rows = np.zeros(leaves, np.int64)
        for run in self.own:
            rows += np.bincount(np.load(f"{run}.leaf.npy", mmap_mode="r"), minlength=leaves)
        return tuple(_groups(rows.tolist(), most))

    def smallest(self, leaves: int) -> IntArray:
        """The words of the smallest row of each leaf, shape (n_words, n_leaves); 0 of leaves without any."""
        words = np.zeros((len(self.packing.words), leaves), np.int64)
        found = Rows(np.zeros(0, np.int32), words[:, :0], np.zeros(0, np.int64))
        for run in self.own:
            leaf = np.load(f"{run}.leaf.npy", mmap_mode="r")
            head = np.flatnonzero(np.diff(leaf, prepend=-1))
            found = joined([found, Rows(leaf[head], np.load(f"{run}.words.npy", mmap_mode="r")[:, head], head)])
            order, _ = found.order()
            found = found.some(order[np.flatnonzero(np.diff(found.leaf[order], prepend=-1))])
        words[:, found.leaf] = found.words
        return words

    def read(self, group: LeafGroup) -> Rows | Different | None:
        """The people of a group by leaf and quasi-identifier, equal ones merged; None where there are none."""
        own = [rows for rows, _ in _slices(self.own, group, 1)]
        if not own or self.truth is None:
            return joined(own).merged() if own else None
        theirs, room, n = list(_slices(self.truth, group, self.packing.room)), self.packing.room, sum(map(len, own))
        every = joined([*own, *(rows for rows, _ in theirs)])
        klass = np.concatenate([np.zeros(0, np.int64), *(each for _, each in theirs)])
        number, first = every.numbered()
        count = np.bincount(number[:n], every.count[:n], len(first)).astype(np.int64)
        classes = np.bincount(number[n:] * room + klass, every.count[n:], len(first) * room).astype(np.int64)
        rows = Rows(every.leaf[first], every.words[:, first], count, classes.reshape(-1, room))
        known = classes.reshape(-1, room).sum(axis=1)
        if (count == known).all():
            return rows
        wrong = np.flatnonzero(count != known)
        shown = wrong[np.lexsort(rows.words[::-1, wrong])][:11]
        codes = map(tuple, self.packing.unpack(rows.words[:, shown]).tolist())
        return Different(len(wrong), tuple(zip(codes, count[shown].tolist(), known[shown].tolist(), strict=True)))

    def remove(self) -> None:
        """Remove the files."""
        for run in (*self.own, *(self.truth or ())):
            for end in ("leaf", "words", "count"):
                os.unlink(f"{run}.{end}.npy")


def _groups(rows: Sequence[int], most: int) -> Iterator[LeafGroup]:
    low, held = 0, 0
    for leaf, size in enumerate(rows):
        if held and held + size > most:
            yield LeafGroup(low, leaf)
            low, held = leaf, 0
        if size > most:
            parts = -(-size // most)
            yield from (LeafGroup(leaf, leaf + 1, part, parts) for part in range(parts))
            low = leaf + 1
        else:
            held += size
    if held:
        yield LeafGroup(low, len(rows))


def _slices(runs: Sequence[str], group: LeafGroup, room: int) -> Iterator[tuple[Rows, IntArray]]:
    """Yield the rows of each run that are in a group, with what is in the room of their last words."""
    for run in runs:
        leaf = np.load(f"{run}.leaf.npy", mmap_mode="r")
        begin, end = np.searchsorted(leaf, [group.low, group.high]).tolist()
        if begin < end:
            words = np.array(np.load(f"{run}.words.npy", mmap_mode="r")[:, begin:end])
            count = np.load(f"{run}.count.npy", mmap_mode="r")[begin:end].astype(np.int64)
            words[-1], inside = np.divmod(words[-1], room)
            rows = Rows(np.array(leaf[begin:end]), words, count)
            if group.parts > 1:
                keep = _in_part(words, group)
                rows, inside = rows.some(keep), inside[keep]
            yield rows, inside


def _in_part(words: IntArray, group: LeafGroup) -> BoolArray:
    """Whether rows belong to a part of their leaf: quasi-identifiers that are alike in some columns are spread."""
    mixed = np.zeros(words.shape[1], np.uint64)
    for word in words:
        mixed = (mixed ^ word.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    return np.asarray(mixed % np.uint64(group.parts) == group.part)


def positions(of: Rows, wanted: Rows) -> tuple[IntArray, BoolArray]:
    """Where rows are among sorted ones that differ, shape (n_wanted,), and whether they are there."""
    ends = [int(wanted.leaf.min()), int(wanted.leaf.max()) + 1] if len(wanted) else [0, 0]
    low, high = np.searchsorted(of.leaf, ends).tolist()  # others are in other leaves
    leaf = np.concatenate([of.leaf[low:high], wanted.leaf])
    both = Rows(leaf, np.concatenate([of.words[:, low:high], wanted.words], axis=1), wanted.count)
    number, first = both.numbered()
    where = np.full(len(first), -1)
    where[number[: high - low]] = np.arange(low, high)
    at = where[number[high - low :]]
    return at, at >= 0


# Cells of several trees: rows that lie in the same leaf of every tree, found tree by tree.
#
# What is kept of a row is its cell so far, one whole number; a tree divides cells by its leaves. A row that is alone in
# its cell stays so: it goes down no other tree. So most rows go down few trees where there are many.

_REFINEMENT_FITS = 2**62  # numbers below it are whole in an int64, with room to add
Columns = list[npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Lost:
    """The first row that no branch of a tree takes."""

    tree: int
    row: int


def columns_of(words: IntArray, packing: Packing) -> Columns:
    """The codes of each attribute, each of shape (n_rows,), in the smallest numbers that hold them."""
    columns: Columns = [np.zeros(0)] * len(packing.sizes)
    for word, own in zip(words, packing.words, strict=True):
        left = word
        for j in reversed(own):
            left, code = np.divmod(left, packing.sizes[j])
            columns[j] = code.astype(np.min_scalar_type(packing.sizes[j] - 1))
    return columns


def cells_of(words: IntArray, packing: Packing, trees: Sequence[Steps]) -> IntArray | Lost:
    """The cell of each row, by the first row that is in it, shape (n_rows,)."""
    n = words.shape[1]
    columns = columns_of(words, packing)
    first, rows = np.zeros(n, np.int64), np.arange(n)  # the rows that share a cell
    order = sorted(range(len(trees)), key=lambda t: not trees[t].loses)
    for some in _batches(trees, order, n):
        # Cells have the numbers of rows, below n, so that a key of them and of leaves is a whole number.
        key = first[rows]
        for t in some:
            leaf = trees[t](columns)
            if trees[t].loses and (leaf == LOST).any():
                return Lost(t, int(np.flatnonzero(leaf == LOST)[0]))
            key = key * trees[t].leaves + leaf
        own, size = _cells(key)
        first[rows] = rows[own]
        if not any(trees[t].loses for t in some):
            shared = np.flatnonzero(size > 1)
            if 4 * len(shared) < 3 * len(rows):
                rows = rows[shared]
                columns = [column[shared] for column in columns]
        if not len(rows):
            break
    return first


def _batches(trees: Sequence[Steps], order: Sequence[int], cells: int) -> Iterator[list[int]]:
    """As many trees at a time as have keys that fit."""
    some: list[int] = []
    span = max(cells, 1)
    for t in order:
        if some and (span * trees[t].leaves >= _REFINEMENT_FITS or trees[t].loses != trees[some[0]].loses):
            yield some
            some, span = [], max(cells, 1)
        some.append(t)
        span *= trees[t].leaves
    if some:
        yield some


def _cells(key: IntArray) -> tuple[IntArray, IntArray]:
    """The first row with the key of each row, and how many rows have it; shapes (n_rows,)."""
    order = np.argsort(key)
    start = np.flatnonzero(np.diff(key[order], prepend=-1))
    length = np.diff(np.append(start, len(order)))
    first, size = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
    first[order] = np.repeat(np.minimum.reduceat(order, start), length)
    size[order] = np.repeat(length, length)
    return first, size
