"""Nodes as arrays: tests, children, and stated numbers, with class counts that are dense or sparse."""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, repeat

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray, IntArray, ranges, run_ends
from maxent.models.errors import invalid
from maxent.models.release import Attribute, Branch, Node

# Records per class where there are very many classes: what is not 0 is held, all of them are there.

FEW_CLASSES = 64  # up to so many classes the counts of a node are a dictionary of all of them

# Numbers of a table with a column per class, unless the environment variable `LIMIT` says otherwise: 0.4 GB each
LARGEST = 50_000_000

LIMIT = "MAXENT_LARGEST_TABLE"


class SparseCounts(Mapping[str, int]):
    """Records of every class, in the order of the classes; only counts above 0 take memory."""

    __slots__ = ("every", "positive")

    def __init__(self, every: Mapping[str, int], positive: dict[str, int]) -> None:
        self.every, self.positive = every, positive

    def __getitem__(self, label: str) -> int:
        found = self.positive.get(label)
        return found if found is not None else 0 * self.every[label]

    def __iter__(self) -> Iterator[str]:
        return iter(self.every)

    def __len__(self) -> int:
        return len(self.every)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SparseCounts):  # without a look at each 0
            return self.positive == other.positive and (self.every is other.every or self.every == other.every)
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment] # as of any mapping

    def __repr__(self) -> str:
        return f"{self.positive!r} of {len(self.every)} classes"


def complete_counts(every: dict[str, int], stated: dict[str, int]) -> Mapping[str, int]:
    """Counts of all classes, 0 where none is stated; ``every`` has a 0 for each class."""
    if len(every) <= FEW_CLASSES:
        return every | stated
    return SparseCounts(every, {label: count for label, count in stated.items() if count})


def positive_counts(counts: Mapping[str, int]) -> dict[str, int]:
    """The counts that are not 0."""
    if isinstance(counts, SparseCounts):
        return counts.positive
    return {label: count for label, count in counts.items() if count}


def total_count(counts: Mapping[str, int]) -> int:
    """The records of all classes together."""
    return sum(counts.positive.values() if isinstance(counts, SparseCounts) else counts.values())


CELLS = "cells of distinct quasi-identifiers"


def check_size(what: str, rows: int, classes: int) -> None:
    """Refuse a table of numbers that would not fit: a row for each of ``what``, a column per class."""
    most = largest()
    if rows * classes > most:
        raise invalid(
            "memory",
            f"{rows:,d} {what}",
            "classes",
            f"at most {most:,d} numbers, {what} times classes ({LIMIT}=N raises the limit; each takes 8 bytes or more, "
            "several times over)",
            f"{classes:,d} classes: {rows * classes:,d} numbers",
        )


def largest() -> int:
    """Numbers that a table with a column per class may have."""
    stated = os.environ.get(LIMIT, "")
    if not stated:
        return LARGEST
    if not stated.isdecimal():
        raise invalid("environment", "variable", LIMIT, "a whole number", repr(stated))
    return int(stated)


NOTHING = -1  # stands for an attribute, a child, a label or a number of records that is not there


@dataclass(frozen=True, slots=True, eq=False)
class Statements:
    """Statements of nodes about their records.

    ``label``, shape (n_nodes,): index of the class, `NOTHING` without a label. ``rate``, shape (n_nodes,): Error rate,
    NaN where none is stated. ``n``, ``distinct``, shape (n_nodes,), records: all, and different ones among draws;
    `NOTHING` where they are not stated. ``counted``, shape (n_nodes,): whether a node states its counts.
    ``count_ends``, shape (n_nodes + 1,): the counts above 0 of node i are ``count_ends[i]`` up to, not including,
    ``count_ends[i + 1]`` of the next two. ``count_class``, ``count``, shape (n_counts,): index of a class, and its
    records. ``shares``: the rates of each node, None where it states none; empty where no node does.
    """

    label: IntArray
    rate: FloatArray
    n: IntArray
    distinct: IntArray
    counted: BoolArray
    count_ends: IntArray
    count_class: IntArray
    count: IntArray
    shares: Sequence[Mapping[str, float] | None] = ()

    def __len__(self) -> int:
        return len(self.label)

    @property
    def total(self) -> IntArray:
        """The records of all classes together, 0 where no counts are stated; shape (n_nodes,)."""
        before = np.concatenate([[0], np.cumsum(self.count)])
        return np.diff(before[self.count_ends])

    @property
    def owner(self) -> IntArray:
        """The node of each count above 0, shape (n_counts,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.count_ends))

    def known(self, kinds: Container[str], *, exact: bool = True) -> Statements:
        """What somebody knows of these who has some kinds of knowledge: ``label``, ``rate`` and ``counts``.

        ``exact``: whether counts are what they say, so that they imply a label, and that a node is pure.
        """
        label, rate, n, shares = self.label, self.rate, self.n, self.shares
        nobody = np.empty(0, np.int64)
        told = (self.counted, self.count_ends, self.count_class, self.count)
        if "counts" not in kinds:
            total, owner, most = self.total, self.owner, np.zeros(len(self), np.int64)
            np.maximum.at(most, owner, self.count)
            first, at = np.full(len(self), NOTHING), np.flatnonzero(self.count == most[owner])[::-1]
            first[owner[at]] = self.count_class[at]  # of several, the first
            label = np.where((label == NOTHING) & exact, first, label)
            pure = np.isnan(rate) & (total > 0) & (most == total) & exact
            rate, n = np.where(pure, 0.0, rate), np.where((n == NOTHING) & self.counted, total, n)
            told = (np.zeros(len(self), bool), np.zeros(len(self) + 1, np.int64), nobody, nobody)
        if "rate" not in kinds:
            rate, shares = np.full(len(self), np.nan), ()
        if "label" not in kinds and "rate" not in kinds:
            label = np.full(len(self), NOTHING)
        return Statements(label, rate, n, self.distinct, *told, shares)

    def unsaid(self) -> Statements:
        """The same nodes, which state nothing."""
        nothing = np.full(len(self), NOTHING)
        return replace(self.known(()), n=nothing, distinct=nothing)

    def take(self, rows: IntArray) -> Statements:
        """The statements of some of the nodes."""
        start, end = self.count_ends[rows], self.count_ends[rows + 1]
        shares = [self.shares[i] for i in rows.tolist()] if self.shares else ()
        return self._some(rows, run_ends(end - start), ranges(start, end), shares)

    def between(self, begin: int, end: int) -> Statements:
        """The statements of consecutive nodes."""
        ends, rows = self.count_ends[begin : end + 1], slice(begin, end)
        return self._some(rows, ends - ends[0], slice(int(ends[0]), int(ends[-1])), self.shares[rows])

    def _some(
        self,
        rows: IntArray | slice,
        count_ends: IntArray,
        counts: IntArray | slice,
        shares: Sequence[Mapping[str, float] | None],
    ) -> Statements:
        own = (self.label[rows], self.rate[rows], self.n[rows], self.distinct[rows], self.counted[rows])
        return Statements(*own, count_ends, self.count_class[counts], self.count[counts], shares)

    def table(self, n_classes: int) -> FloatArray:
        """Records of each class, 0 also where no counts are stated; shape (n_nodes, n_classes)."""
        found = np.zeros((len(self), n_classes))
        found[self.owner, self.count_class] = self.count
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Tests:
    """What nodes test, and what their branches take, as `Columns` has them.

    ``attribute``: of each node; all others of each branch, one after the other.
    """

    attribute: IntArray
    le: FloatArray
    gt: FloatArray
    missing: IntArray
    value_ends: IntArray
    values: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Nodes as arrays.

    * ``classes``: the classes in their order.
    * ``attribute`` (n_nodes,): index of the attribute that an inner node tests, `NOTHING` of a leaf.
    * ``branch_ends`` (n_nodes + 1,): the branches of node i are ``branch_ends[i]`` up to, not including,
      ``branch_ends[i + 1]`` of all branches.
    * ``child`` (n_branches,): position of the node that a branch leads to, `NOTHING` for a leaf that was removed.
    * ``le``, ``gt`` (n_branches,): bounds of numeric branches, NaN without one.
    * ``missing`` (n_branches,): whether branches take missing values, 1 or 0, `NOTHING` where they do not say.
    * ``value_ends`` (n_branches + 1,): the values of categorical branches, as ``branch_ends`` has branches.
    * ``values`` (n_values,): indices of `Attribute.values`.
    * ``value`` (n_nodes,): what leaves add to a score, NaN of others.
    * ``scores`` (n_nodes, n_classes): what leaves add to the scores of classes, NaN of others; None where no leaf has
      several scores.
    * ``hessian``, ``mean``, ``variance`` (n_nodes,): see `maxent.models.release.Node`, NaN where they are not stated;
      None where no node states them.
    * ``parts``: the leaf of the tool that each node is a part of; empty where none is.
    * ``noisy``: the counts of each node with noise in them, None where it states none; empty where no node does.
    """

    attributes: tuple[Attribute, ...]
    classes: Mapping[str, int]
    ids: Sequence[str]
    attribute: IntArray
    branch_ends: IntArray
    child: IntArray
    le: FloatArray
    gt: FloatArray
    missing: IntArray
    value_ends: IntArray
    values: IntArray
    value: FloatArray
    statements: Statements
    scores: FloatArray | None = None
    hessian: FloatArray | None = None
    mean: FloatArray | None = None
    variance: FloatArray | None = None
    parts: Sequence[str | None] = ()
    noisy: Sequence[Mapping[str, float] | None] = ()

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def tests(self) -> Tests:
        """What the nodes test."""
        return Tests(self.attribute, self.le, self.gt, self.missing, self.value_ends, self.values)

    @property
    def inner(self) -> IntArray:
        """Positions of the nodes that test an attribute, increasing."""
        return np.flatnonzero(self.attribute != NOTHING)

    def between(self, begin: int, end: int) -> Columns:
        """Consecutive nodes that are a tree of their own: their branches lead to each other alone."""
        ends = self.branch_ends[begin : end + 1]
        below = slice(int(ends[0]), int(ends[-1]))
        value_ends = self.value_ends[below.start : below.stop + 1]
        child = self.child[below]
        scores, hessian, mean, variance = (
            None if each is None else each[begin:end] for each in (self.scores, self.hessian, self.mean, self.variance)
        )
        return Columns(
            self.attributes,
            self.classes,
            self.ids[begin:end],
            self.attribute[begin:end],
            ends - ends[0],
            np.where(child == NOTHING, NOTHING, child - begin),
            self.le[below],
            self.gt[below],
            self.missing[below],
            value_ends - value_ends[0],
            self.values[int(value_ends[0]) : int(value_ends[-1])],
            self.value[begin:end],
            self.statements.between(begin, end),
            scores,
            hessian,
            mean,
            variance,
            self.parts[begin:end],
            self.noisy[begin:end],
        )

    def nodes(self, rows: IntArray) -> Iterator[Node]:
        """Some of the nodes as objects."""
        said = self.statements.take(rows)
        classes, every = tuple(self.classes), dict(self.classes)
        labels, names = (*classes, None), (*(attribute.name for attribute in self.attributes), None)
        held = list(zip(said.count_class.tolist(), said.count.tolist(), strict=True))
        start, end = self.branch_ends[rows], self.branch_ends[rows + 1]
        attribute = self.attribute[rows]
        branches = list(self._branches(np.repeat(attribute, end - start), ranges(start, end)))
        found = zip(
            map(self.ids.__getitem__, rows.tolist()),
            attribute.tolist(),
            pairwise(run_ends(end - start).tolist()),
            said.label.tolist(),
            said.rate.tolist(),
            said.n.tolist(),
            said.distinct.tolist(),
            said.counted.tolist(),
            pairwise(said.count_ends.tolist()),
            self.value[rows].tolist(),
            strict=True,
        )
        listed = ([held[i] for i in rows.tolist()] if held else repeat(None) for held in (self.parts, self.noisy))
        more = zip(said.shares or repeat(None), self._by_class(rows), *self._seldom(rows), *listed, strict=False)
        for one, (shares, scores, hessian, mean, variance, part, noisy) in zip(found, more, strict=False):
            identity, j, (first, last), label, rate, n, distinct, counted, (low, high), value = one
            counts = complete_counts(every, {classes[x]: number for x, number in held[low:high]}) if counted else None
            yield Node(
                identity,
                names[j],
                tuple(branches[first:last]),
                labels[label],
                None if rate != rate else rate,
                None if n == NOTHING else n,
                counts,
                shares,
                None if distinct == NOTHING else distinct,
                scores or (None if value != value else value),
                hessian,
                mean,
                variance,
                part,
                noisy,
            )

    def _by_class(self, rows: IntArray) -> Iterator[dict[str, float] | None]:
        """The scores of some of the nodes, of the classes that have one."""
        if self.scores is None:
            return repeat(None)
        names = tuple(self.classes)
        every = (zip(names, scores, strict=True) for scores in self.scores[rows].tolist())
        return ({name: score for name, score in each if score == score} for each in every)

    def _seldom(self, rows: IntArray) -> Iterator[Iterator[float | None]]:
        """The hessians, means and variances of some of the nodes."""
        for held in (self.hessian, self.mean, self.variance):
            yield repeat(None) if held is None else (None if x != x else x for x in held[rows].tolist())

    def _branches(self, attribute: IntArray, at: IntArray) -> Iterator[Branch]:
        """Some of the branches, of nodes that test these attributes."""
        start, end = self.value_ends[at], self.value_ends[at + 1]
        values = self.values[ranges(start, end)].tolist()
        rows = zip(
            attribute.tolist(),
            self.child[at].tolist(),
            self.le[at].tolist(),
            self.gt[at].tolist(),
            self.missing[at].tolist(),
            pairwise(run_ends(end - start).tolist()),
            strict=True,
        )
        taken = (False, True, None)
        for j, child, le, gt, missing, (first, last) in rows:
            domain = self.attributes[j].values
            here = None if domain is None or first == last else tuple(domain[x] for x in values[first:last])
            below = None if child == NOTHING else self.ids[child]
            yield Branch(below, here, None if le != le else le, None if gt != gt else gt, taken[missing])
