"""Nodes held as arrays, each made an object only when somebody asks for it, and what nodes of any kind state.

A release of millions of nodes is read into `Columns`. A `Nodes` of them stands where a tuple of nodes does, and equals
it. Whoever goes through very many nodes takes `links_of` and `statements_of` in place of the objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import overload

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray, IntArray, ranges, run_ends
from maxent.models.release_content import Attribute, Branch, Node
from maxent.models.sparse_counts import complete_counts, positive_counts

NOTHING = -1
"""Stands for an attribute, a child, a label or a number of records that is not there."""


@dataclass(frozen=True, slots=True, eq=False)
class Statements:
    """Statements of nodes about their records.

    Attributes
    ----------
    label : shape (n_nodes,)
        Index of the class, `NOTHING` without a label.
    rate : shape (n_nodes,)
        Error rate, NaN where none is stated.
    n, distinct : shape (n_nodes,), records
        All, and different ones among draws; `NOTHING` where they are not stated.
    counted : shape (n_nodes,)
        Whether a node states its counts.
    count_ends : shape (n_nodes + 1,)
        The counts above 0 of node i are ``count_ends[i]`` up to, not including, ``count_ends[i + 1]`` of the next two.
    count_class, count : shape (n_counts,)
        Index of a class, and its records.
    shares : sequence of mappings of class to share
        The rates of each node, None where it states none; empty where no node does.
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

    def take(self, rows: IntArray) -> Statements:
        """The statements of some of the nodes."""
        start, end = self.count_ends[rows], self.count_ends[rows + 1]
        at = ranges(start, end)
        return Statements(
            self.label[rows],
            self.rate[rows],
            self.n[rows],
            self.distinct[rows],
            self.counted[rows],
            run_ends(end - start),
            self.count_class[at],
            self.count[at],
            [self.shares[i] for i in rows.tolist()] if self.shares else (),
        )

    def between(self, begin: int, end: int) -> Statements:
        """The statements of consecutive nodes."""
        ends = self.count_ends[begin : end + 1]
        held, rows = slice(int(ends[0]), int(ends[-1])), slice(begin, end)
        return Statements(
            self.label[rows],
            self.rate[rows],
            self.n[rows],
            self.distinct[rows],
            self.counted[rows],
            ends - ends[0],
            self.count_class[held],
            self.count[held],
            self.shares[rows],
        )

    def table(self, n_classes: int) -> FloatArray:
        """Records of each class, 0 also where no counts are stated; shape (n_nodes, n_classes)."""
        found = np.zeros((len(self), n_classes))
        found[self.owner, self.count_class] = self.count
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Nodes as arrays.

    Attributes
    ----------
    attributes : tuple of Attribute
    classes : mapping of class to 0
        The classes in their order.
    ids : sequence of str
    attribute : shape (n_nodes,)
        Index of the attribute that an inner node tests, `NOTHING` of a leaf.
    branch_ends : shape (n_nodes + 1,)
        The branches of node i are ``branch_ends[i]`` up to, not including, ``branch_ends[i + 1]`` of all branches.
    child : shape (n_branches,)
        Position of the node that a branch leads to, `NOTHING` for a leaf that was removed.
    le, gt : shape (n_branches,)
        Bounds of numeric branches, NaN without one.
    missing : shape (n_branches,)
        Whether branches take missing values, 1 or 0, `NOTHING` where they do not say.
    value_ends : shape (n_branches + 1,)
        The values of categorical branches, as ``branch_ends`` has branches.
    values : shape (n_values,)
        Indices of `Attribute.values`.
    value : shape (n_nodes,)
        What leaves add to a score, NaN of others.
    statements : Statements
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

    def __len__(self) -> int:
        return len(self.ids)

    def between(self, begin: int, end: int) -> Columns:
        """Consecutive nodes that are a tree of their own: their branches lead to each other alone."""
        ends = self.branch_ends[begin : end + 1]
        below = slice(int(ends[0]), int(ends[-1]))
        value_ends = self.value_ends[below.start : below.stop + 1]
        child = self.child[below]
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
        for identity, j, (first, last), label, rate, n, distinct, counted, (low, high), value in found:
            counts = complete_counts(every, {classes[x]: number for x, number in held[low:high]}) if counted else None
            yield Node(
                identity,
                names[j],
                tuple(branches[first:last]),
                labels[label],
                None if rate != rate else rate,
                None if n == NOTHING else n,
                counts,
                None,
                None if distinct == NOTHING else distinct,
                None if value != value else value,
            )

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
            here = None if domain is None else tuple(domain[x] for x in values[first:last])
            below = None if child == NOTHING else self.ids[child]
            yield Branch(below, here, None if le != le else le, None if gt != gt else gt, taken[missing])


class Nodes(Sequence[Node]):
    """Nodes of a tree that are held as `Columns`: like a tuple of `Node`, which it equals.

    Single nodes are made when they are asked for. Whoever goes through all of them, or asks for many, makes all, once.
    """

    __slots__ = ("_asked", "_made", "columns")

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self._asked = 0
        self._made: tuple[Node, ...] | None = None

    def __len__(self) -> int:
        return len(self.columns)

    @overload
    def __getitem__(self, index: int) -> Node: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Node, ...]: ...

    def __getitem__(self, index: int | slice) -> Node | tuple[Node, ...]:
        self._asked += 1
        # One by one they take about thirty times as long as all together.
        if isinstance(index, slice) or self._made is not None or 32 * self._asked > len(self):
            return self._all[index]
        at = range(len(self))[index]
        return next(self.columns.nodes(np.array([at])))

    def __iter__(self) -> Iterator[Node]:
        return iter(self._all)

    def __eq__(self, other: object) -> bool:
        return self._all == tuple(other) if isinstance(other, (Nodes, tuple)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._all)

    def __repr__(self) -> str:
        return repr(self._all)

    @property
    def _all(self) -> tuple[Node, ...]:
        """All nodes as objects."""
        if self._made is None:
            self._made = tuple(self.columns.nodes(np.arange(len(self))))
        return self._made


def nodes_at(nodes: Sequence[Node], positions: IntArray) -> dict[int, Node]:
    """Some of the nodes, by their positions."""
    if isinstance(nodes, Nodes):
        return dict(zip(positions.tolist(), nodes.columns.nodes(positions), strict=True))
    return {i: nodes[i] for i in positions.tolist()}


def links_of(nodes: Sequence[Node]) -> tuple[IntArray, IntArray]:
    """Number of branches of each node, shape (n_nodes,), and the ends of all of them, one after the other.

    Children are positions, `NOTHING` for removed leaves; shape (n_branches,).
    """
    if isinstance(nodes, Nodes):
        return np.diff(nodes.columns.branch_ends), nodes.columns.child
    position = {node.id: i for i, node in enumerate(nodes)}
    n_branches = np.array([len(node.branches) for node in nodes], np.int64)
    below = [branch.child for node in nodes for branch in node.branches]
    return n_branches, np.array([NOTHING if child is None else position[child] for child in below], np.int64)


def attributes_of(nodes: Sequence[Node]) -> set[str]:
    """The names of the attributes that nodes test."""
    if isinstance(nodes, Nodes):
        held = nodes.columns
        return {held.attributes[j].name for j in np.unique(held.attribute).tolist() if j != NOTHING}
    return {node.attribute for node in nodes if node.attribute is not None}


def state_scores(nodes: Sequence[Node]) -> bool:
    """Whether a node states what it adds to a score."""
    if isinstance(nodes, Nodes):
        return not bool(np.isnan(nodes.columns.value).all())
    return any(node.value is not None for node in nodes)


def statements_of(nodes: Sequence[Node], classes: Sequence[str]) -> Statements:
    """Statements of nodes about these classes."""
    if isinstance(nodes, Nodes) and tuple(nodes.columns.classes) == tuple(classes):
        return nodes.columns.statements
    index = {name: x for x, name in enumerate(classes)}
    held = [None if node.counts is None else positive_counts(node.counts) for node in nodes]
    counts = [{} if each is None else each for each in held]
    n_counts = np.array([len(each) for each in counts], np.int64)
    size = int(n_counts.sum())
    shares = [node.rates for node in nodes]
    return Statements(
        np.array([NOTHING if node.label is None else index[node.label] for node in nodes], np.int64),
        np.array([np.nan if node.error_rate is None else node.error_rate for node in nodes], np.float64),
        np.array([NOTHING if node.n is None else node.n for node in nodes], np.int64),
        np.array([NOTHING if node.distinct is None else node.distinct for node in nodes], np.int64),
        np.array([each is not None for each in held], bool),
        run_ends(n_counts),
        np.fromiter((index[name] for name in chain.from_iterable(counts)), np.int64, size),
        np.fromiter(chain.from_iterable(each.values() for each in counts), np.int64, size),
        shares if any(shares) else (),
    )
