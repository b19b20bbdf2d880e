"""Nodes that are made one after the other, as arrays: whoever reads a large model keeps few of them at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice

import numpy as np

from maxent.models.arrays import FloatArray, IntArray, run_ends
from maxent.models.columns import NOTHING, Columns, Statements
from maxent.models.errors import InvalidInput, invalid
from maxent.models.nodes import Nodes
from maxent.models.release_content import Attribute, Branch, Node
from maxent.models.sparse_counts import positive_counts
from maxent.models.tables.frame import shorten

_TOGETHER = 2**11  # nodes that are objects at the same time
_LARGE = 2**24  # scores of nodes and classes, most of them not there, that would take too much memory
Codes = dict[str, int]


def packed(
    source: str, nodes: Iterable[Node], attributes: Sequence[Attribute] = (), classes: Sequence[str] = ()
) -> Nodes:
    """The nodes of a tree as arrays.

    ``source``: what errors call the model. ``nodes``: each is let go when it is packed. ``attributes``: what the nodes
    test; by default, with the values that branches name in place of domains, what they are seen to. ``classes``:
    likewise.
    """
    if isinstance(nodes, Nodes):
        held = [(attribute.name, attribute.values) for attribute in nodes.columns.attributes]
        if held == [(a.name, a.values) for a in attributes] and [*nodes.columns.classes] == [*classes]:
            return nodes
    packing = _Packing(attributes, classes)
    left = iter(nodes)
    try:
        while some := list(islice(left, _TOGETHER)):
            packing.add(some)
    except OverflowError:
        raise invalid(source, "document", "nodes", "whole numbers of at most 2**53", "a larger one") from None
    return packing.nodes(source, complete=bool(classes))


class _Packing:
    """Arrays of some nodes after the others."""

    def __init__(self, attributes: Sequence[Attribute], classes: Sequence[str]) -> None:
        self._given = tuple(attributes)
        self._attributes: Codes = {attribute.name: i for i, attribute in enumerate(attributes)}
        self._values: list[Codes] = [{v: i for i, v in enumerate(attribute.values or ())} for attribute in attributes]
        self._classes: Codes = {name: i for i, name in enumerate(classes)}
        self._n_classes = len(classes)
        self._ids: list[str] = []
        self._shares: list[Mapping[str, float] | None] = []
        self._part_of: list[str | None] = []
        self._empty = False
        self._parts: dict[str, list[IntArray | FloatArray]] = {}

    def _keep(self, name: str, numbers: Iterable[float | int | bool | None], none: float | int) -> None:
        """Numbers of some nodes or branches, with something in the place of None."""
        found = [none if number is None else number for number in numbers]
        part = np.array(found, np.float64) if isinstance(none, float) else np.array(found, np.int64)
        self._parts.setdefault(name, []).append(part)

    def _joined(self, name: str) -> np.typing.NDArray[np.generic]:
        """All numbers of a name."""
        return np.concatenate(self._parts.pop(name)) if name in self._parts else np.zeros(0, np.int64)

    def add(self, nodes: Sequence[Node]) -> None:
        """Pack some more nodes."""
        self._ids += [node.id for node in nodes]
        self._shares += [node.rates for node in nodes]
        self._part_of += [node.part_of for node in nodes]
        tested = [_code(self._attributes, node.attribute) for node in nodes]
        self._values += [{} for _ in range(len(self._attributes) - len(self._values))]
        self._keep("attribute", tested, NOTHING)
        self._keep("n_branches", [len(node.branches) for node in nodes], 0)
        for name in ("error_rate", "hessian", "mean", "variance"):
            self._keep(name, [getattr(node, name) for node in nodes], np.nan)
        for name in ("n", "distinct"):
            self._keep(name, [getattr(node, name) for node in nodes], NOTHING)
        self._keep("label", [_code(self._classes, node.label) for node in nodes], NOTHING)
        self._keep("value", [None if isinstance(node.value, Mapping) else node.value for node in nodes], np.nan)
        scores = [node.value if isinstance(node.value, Mapping) else {} for node in nodes]
        self._by_class("score", scores, 0.0)
        self._keep("counted", [node.counts is not None for node in nodes], 0)
        for each in nodes:
            if each.counts is not None and not each.counts.keys() <= self._classes.keys():
                for name in each.counts:
                    _code(self._classes, name)
        self._by_class("count", [{} if node.counts is None else positive_counts(node.counts) for node in nodes], 0)
        self._add_branches([(j, branch) for j, node in zip(tested, nodes, strict=True) for branch in node.branches])

    def _by_class(self, name: str, held: Sequence[Mapping[str, float]], none: float | int) -> None:
        """Numbers by class of some nodes."""
        self._keep(f"n_{name}", map(len, held), 0)
        self._keep(f"{name}_class", [_code(self._classes, key) for each in held for key in each], NOTHING)
        self._keep(name, chain.from_iterable(each.values() for each in held), none)

    def _add_branches(self, branches: Sequence[tuple[int | None, Branch]]) -> None:
        self._keep("child", [None if b.child is None else hash(b.child) for _, b in branches], 0)
        self._keep("led", [b.child is not None for _, b in branches], 0)
        self._keep("le", [b.le for _, b in branches], np.nan)
        self._keep("gt", [b.gt for _, b in branches], np.nan)
        self._keep("missing", [b.missing for _, b in branches], NOTHING)
        self._keep("n_values", [len(b.values or ()) for _, b in branches], 0)
        self._empty = self._empty or any(b.values is not None and not b.values for _, b in branches)
        named = [
            _code(self._values[j], value)
            for j, branch in branches
            if branch.values and j is not None
            for value in branch.values
        ]
        self._keep("values", named, NOTHING)

    def nodes(self, source: str, *, complete: bool) -> Nodes:
        """All nodes; ``complete`` says that no other classes may be there than were given."""
        if self._empty:
            raise invalid(source, "document", "branches", "values that each branch takes", "a branch without any")
        if complete and len(self._classes) > self._n_classes:
            expected = f"classes among {', '.join([*self._classes][: self._n_classes])}"
            raise invalid(source, "document", "classes", expected, [*self._classes][-1])
        integer = {name: self._joined(name).astype(np.int64) for name in _WHOLE}
        real = {name: self._joined(name).astype(np.float64) for name in _REAL}
        said = Statements(
            integer["label"],
            real["error_rate"],
            integer["n"],
            integer["distinct"],
            integer["counted"].astype(bool),
            run_ends(integer["n_count"]),
            integer["count_class"],
            integer["count"],
            self._shares if any(each is not None for each in self._shares) else (),
        )
        told = {name: None if np.isnan(real[name]).all() else real[name] for name in ("hessian", "mean", "variance")}
        attributes = self._given + tuple(
            Attribute(name, "categorical" if self._values[j] else "numeric", tuple(self._values[j]) or None)
            for name, j in self._attributes.items()
            if j >= len(self._given)
        )
        columns = Columns(
            attributes,
            dict.fromkeys(self._classes, 0),
            self._ids,
            integer["attribute"],
            run_ends(integer["n_branches"]),
            self._linked(source, integer["child"], integer["led"], integer["n_branches"]),
            real["le"],
            real["gt"],
            integer["missing"],
            run_ends(integer["n_values"]),
            integer["values"],
            real["value"],
            said,
            self._scores(source, integer["n_score"], integer["score_class"], real["score"]),
            **told,
            parts=self._part_of if any(self._part_of) else (),
        )
        return Nodes(columns)

    def _linked(self, source: str, child: IntArray, led: IntArray, n_branches: IntArray) -> IntArray:
        """The position of each child, by the order of hashes; children lead down."""
        hashes = np.fromiter(map(hash, self._ids), np.int64, len(self._ids))
        order = np.argsort(hashes)
        hashes = hashes[order]
        at = np.minimum(np.searchsorted(hashes, child), len(hashes) - 1)
        there = hashes[at] == child if len(hashes) else np.zeros(len(child), bool)
        if (hashes[1:] == hashes[:-1]).any() or not there[led == 1].all():
            raise _links(source)
        if not len(child):
            return child
        found = np.where(led == 1, order[at], NOTHING)
        owner = np.repeat(np.arange(len(hashes)), n_branches)
        check_tree(source, owner[led == 1], found[led == 1], self._ids)
        return found

    def _scores(self, source: str, n: IntArray, named: IntArray, scores: FloatArray) -> FloatArray | None:
        """What nodes add to the scores of several classes, shape (n_nodes, n_classes)."""
        if not len(scores):
            return None
        size = len(n) * len(self._classes)
        if size > _LARGE and size > 4 * len(scores):
            raise invalid(source, "document", "scores", f"at most {_LARGE:,} of nodes and classes", f"{size:,}")
        found = np.full((len(n), len(self._classes)), np.nan)
        found[np.repeat(np.arange(len(n)), n), named] = scores
        return found


_WHOLE = (
    *("attribute", "n_branches", "n", "distinct", "label", "n_score", "score_class", "counted", "n_count"),
    *("count_class", "count", "child", "led", "missing", "n_values", "values"),
)
_REAL = ("error_rate", "hessian", "mean", "variance", "value", "score", "le", "gt")


def _code(codes: Codes, name: str | None) -> int | None:
    """The number of a name, which it is given when it is new; None for None."""
    return None if name is None else codes.setdefault(name, len(codes))


def check_tree(source: str, parent: IntArray, child: IntArray, ids: Sequence[str | int]) -> None:
    """Refuse links that are no tree below the first node, before anybody walks along them.

    ``source``: what errors call the model. ``parent``, ``child`` of shape (n_links,): positions of nodes. ``ids``: what
    nodes are called.
    """
    expected = "each node below one other, the root first"
    if not len(ids):
        raise invalid(source, "document", "nodes", expected, "no node")
    if len(lost := np.flatnonzero((child < 0) | (child >= len(ids)))):
        at = int(parent[lost[0]])
        raise invalid(source, f"node {shorten(ids[at])}", "children", expected, "one that is not there")
    above = np.bincount(child, minlength=len(ids))
    above[0] += 1  # the root is below nothing
    wrong = np.flatnonzero(above != 1)
    if not len(wrong):
        up = np.zeros(len(ids), np.int64)
        up[child] = parent
        for _ in range(len(ids).bit_length()):  # twice as far up each time
            up = up[up]
        wrong = np.flatnonzero(up)
    if len(wrong):
        at = int(wrong[np.argmax(above[wrong])])
        found = "none" if not above[at] else f"{int(above[at])} of them" if above[at] > 1 else "itself, in a cycle"
        raise invalid(source, f"node {shorten(ids[at])}", "children", expected, found)


def _links(source: str) -> InvalidInput:
    return invalid(source, "document", "nodes", "nodes of different ids, each branch to one that is there", "others")
