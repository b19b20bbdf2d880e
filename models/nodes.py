"""Nodes held as arrays, each made an object only when somebody asks for it, and what nodes of any kind state.

A release of millions of nodes is read into `Columns`. A `Nodes` of them stands where a tuple of nodes does, and equals
it. Whoever goes through very many nodes takes `links_of` and `statements_of` in place of the objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import overload

import numpy as np

from maxent.models.arrays import FloatArray, IntArray, run_ends
from maxent.models.columns import NOTHING, Columns, Statements, positive_counts
from maxent.models.release import Node, Tree


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
    def made(self) -> bool:
        """Whether all nodes are there as objects."""
        return self._made is not None

    @property
    def _all(self) -> tuple[Node, ...]:
        """All nodes as objects."""
        if self._made is None:
            self._made = tuple(self.columns.nodes(np.arange(len(self))))
        return self._made


_TOGETHER = 2**11  # nodes that `each` makes at the same time


def each(nodes: Sequence[Node]) -> Iterator[Node]:
    """Every node, of those that are arrays not many objects at the same time: for whoever goes through them once."""
    if not isinstance(nodes, Nodes) or nodes.made:
        return iter(nodes)
    starts = range(0, len(nodes), _TOGETHER)
    return chain.from_iterable(
        nodes.columns.nodes(np.arange(start, min(start + _TOGETHER, len(nodes)))) for start in starts
    )


def nodes_at(nodes: Sequence[Node], positions: IntArray) -> dict[int, Node]:
    """Some of the nodes, by their positions."""
    if isinstance(nodes, Nodes):
        return dict(zip(positions.tolist(), nodes.columns.nodes(positions), strict=True))
    return {i: nodes[i] for i in positions.tolist()}


def links_of(nodes: Sequence[Node]) -> tuple[IntArray, IntArray]:
    """Number of branches of each node, shape (n_nodes,), and the ends of all of them, one after the other."""
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


def parts_of(nodes: Sequence[Node]) -> Sequence[str | None]:
    """The leaf of the tool that each node is a part of; empty where none is."""
    if isinstance(nodes, Nodes):
        return nodes.columns.parts
    found = [node.part_of for node in nodes]
    return found if any(found) else ()


def parts_in_words(trees: Sequence[Tree]) -> tuple[str, ...]:
    """The sentence on leaves that are parts of leaves of the tool; none where no leaf is."""
    parts = sum(part is not None for tree in trees for part in parts_of(tree.nodes))
    told = f"leaf sizes are the tool's: {parts:,} leaves are parts of its leaves, as it sends people without a value "
    return (f"{told}by other splits, or tests several columns at once",) if parts else ()


def state_scores(nodes: Sequence[Node]) -> bool:
    """Whether a node states what it adds to a score."""
    if isinstance(nodes, Nodes):
        return nodes.columns.scores is not None or not bool(np.isnan(nodes.columns.value).all())
    return any(node.value is not None for node in nodes)


def scores_of(nodes: Sequence[Node], classes: Sequence[str]) -> FloatArray:
    """What nodes add to the score of each class, NaN for one that is not named; shape (n_nodes, n_classes)."""
    if isinstance(nodes, Nodes) and nodes.columns.scores is not None and tuple(nodes.columns.classes) == tuple(classes):
        return nodes.columns.scores
    found = np.full((len(nodes), len(classes)), np.nan)
    for row, node in zip(found, each(nodes), strict=True):
        if isinstance(node.value, Mapping):
            row[:] = [node.value.get(c, np.nan) for c in classes]
    return found


def records_of(nodes: Sequence[Node]) -> IntArray:
    """The ``n`` that nodes state, `NOTHING` where they state none, shape (n_nodes,)."""
    if isinstance(nodes, Nodes):
        return nodes.columns.statements.n
    return np.array([NOTHING if node.n is None else node.n for node in nodes], np.int64)


def moments_of(nodes: Sequence[Node]) -> tuple[FloatArray, FloatArray]:
    """Means and variances of nodes, NaN where they are not stated, shapes (n_nodes,)."""
    if isinstance(nodes, Nodes):
        none = np.full(len(nodes), np.nan)
        held = nodes.columns
        return none if held.mean is None else held.mean, none if held.variance is None else held.variance
    pairs = [(np.nan if n.mean is None else n.mean, np.nan if n.variance is None else n.variance) for n in nodes]
    mean, variance = np.array(pairs, np.float64).reshape(-1, 2).T
    return mean, variance


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
