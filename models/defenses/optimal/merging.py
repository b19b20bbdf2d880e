"""Merged branches: splits that open step by step along hierarchies, and the tree that is published.

A split with a branch for each value becomes a split with a branch for each group of the top level, below which the same
attribute is split again, group by group, down to the branches that there were. A subtree that has one of these splits
as a leaf has the branches of a group merged; and every cut through the hierarchy is a subtree. So a search among
subtrees is one among all cuts at all nodes, and as exact.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

import numpy as np

from maxent.models.arrays import IntArray
from maxent.models.defenses.optimal.places import counts_below
from maxent.models.defenses.pruning import STATEMENTS, new_leaf
from maxent.models.errors import InvalidInput
from maxent.models.release import Branch, Node, Release
from maxent.models.tables.hierarchies import Hierarchy, HierarchySource, hierarchy_problems, read_hierarchy
from maxent.models.tables.training import Training
from maxent.models.trees.places import Places, branch_taken, number_places
from maxent.models.trees.places import divided as by_branch

# A tree of groups as it is published: a split that was opened step by step is one split again.


def contracted(nodes: Sequence[Node], groups: Collection[str]) -> tuple[Node, ...]:
    """The same tree, where the branches of ``groups`` that are split are branches of the node above.

    A group stays a split where a leaf below it was removed: what is predicted there is what the rest of the group says.
    """
    split: dict[str, tuple[Branch, ...]] = {}
    made: list[Node] = []
    for node in reversed(nodes):
        branches = tuple(each for branch in node.branches for each in split.pop(branch.child or "", (branch,)))
        if node.id in groups and branches and all(branch.child is not None for branch in branches):
            split[node.id] = branches
        else:
            made.append(replace(node, branches=branches) if branches else node)
    return tuple(reversed(made))


# What the branches of a split are divided into along a hierarchy: groups, smaller groups and single branches.


@dataclass(frozen=True, slots=True)
class MergedPart:
    """Some branches of a split: divided into ``parts``, or going on as branch ``lead``, or with neither a leaf."""

    name: str
    members: tuple[int, ...]
    n: int
    lead: int | None = None
    parts: tuple[MergedPart, ...] = ()


def divided(held: Sequence[Sequence[str]], n: Sequence[int], hierarchy: Hierarchy, least: int) -> MergedPart:
    """All branches of a split, divided so that no part has fewer than ``least`` records, if all have as many.

    What has fewer joins the largest part of the smallest group that has enough, or that whole group becomes one part.
    """
    row = {value: i for i, value in enumerate(hierarchy.values)}
    rows = [[row[value] for value in values] for values in held]
    levels = [
        [level[at[0]] if len({level[i] for i in at}) == 1 else None for at in rows]
        for level in reversed(hierarchy.levels)
    ]
    return _settled("", _below(range(len(held)), levels, n, least), least)


def _below(
    members: Sequence[int], levels: Sequence[Sequence[str | None]], n: Sequence[int], least: int
) -> list[MergedPart]:
    """The parts of some branches: a group for each name of the coarsest level, or a branch alone in its group."""
    if not levels:
        return [MergedPart("", (i,), n[i], i) for i in members]
    groups: dict[str | int, list[int]] = {}
    for i in members:
        name = levels[0][i]
        groups.setdefault(i if name is None else name, []).append(i)
    if len(groups) == 1:
        return _below(members, levels[1:], n, least)
    return [
        MergedPart("", (of[0],), n[of[0]], of[0])
        if len(of) == 1
        else _settled(str(name), _below(of, levels[1:], n, least), least)
        for name, of in groups.items()
    ]


def _settled(name: str, parts: Sequence[MergedPart], least: int) -> MergedPart:
    """One part made of several, of which none that stays has too few records."""
    members = tuple(i for part in parts for i in part.members)
    n = sum(part.n for part in parts)
    large = [part for part in parts if part.n >= least]
    if not large:
        return MergedPart(name, members, n)
    most = max(range(len(large)), key=lambda at: large[at].n)
    for part in parts:
        if part.n < least:
            large[most] = _joined(large[most], part)
    return large[0] if len(large) == 1 else MergedPart(name, members, n, parts=tuple(large))


def _joined(part: MergedPart, small: MergedPart) -> MergedPart:
    """A part with another that goes where most of its records go."""
    more = replace(part, members=part.members + small.members, n=part.n + small.n)
    if not part.parts:
        return more
    most = max(range(len(part.parts)), key=lambda at: part.parts[at].n)
    below = [_joined(each, small) if at == most else each for at, each in enumerate(part.parts)]
    return replace(more, parts=tuple(below))


def opened(
    release: Release, hierarchies: Mapping[str, HierarchySource], training: Training, least: int
) -> tuple[Release, Mapping[str, int]]:
    """Open the splits of a tree step by step along hierarchies; also of how many branches each group is, by its node.

    A branch of fewer than ``least`` records is joined to others (`divided`). Splits in two stay, and so do those below
    which the same attribute is tested again, or of which less than two branches would be left.
    """
    read = {name: read_hierarchy(source, name) for name, source in hierarchies.items()}
    domains = {a.name: a.values for a in release.attributes if a.values is not None}
    if problems := list(hierarchy_problems(read, domains)):
        raise InvalidInput("options", problems)
    (tree,) = release.trees
    places = number_places(tree)
    counts_below(release, 0, places)  # refuses what cannot be searched
    made, divisible = _made(release), frozenset(_divisible(places, read))
    stack = [(tree.root.id, np.arange(len(training)))]
    while stack:
        name, rows = stack.pop()
        node = made.nodes[name]
        made.count(name, training.y[rows])
        if node.is_leaf:
            continue
        node = made.nodes[name]
        parts = [rows[here] for here in _divided(node, training, rows)]
        if name in divisible:
            hierarchy, values = read[node.attribute or ""], domains[node.attribute or ""]
            held = [branch.values or () for branch in node.branches]
            whole = divided(held, [len(part) for part in parts], hierarchy, least)
            if whole.parts:
                split = _MergedSplit(node, parts, training.y, values)
                made.nodes[name] = replace(node, branches=tuple(made.branch(split, part) for part in whole.parts))
                stack += [(node.branches[i].child or "", rows) for i, rows in split.onward(whole)]
                continue
        stack += [(branch.child or "", part) for branch, part in zip(node.branches, parts, strict=True)]
    nodes = tuple(_depth_first(made.nodes, tree.root.id))
    return replace(release, trees=(replace(tree, nodes=nodes),)), made.merged


@dataclass(frozen=True, slots=True, eq=False)
class _MergedSplit:
    """A split as it was: its node, the records that each branch takes, the classes of all, and the order of values."""

    node: Node
    rows: Sequence[IntArray]
    y: IntArray
    order: Sequence[str]

    def taken(self, part: MergedPart) -> IntArray:
        """The records of a part."""
        return np.concatenate([self.rows[i] for i in part.members])

    def to(self, child: str | None, part: MergedPart) -> Branch:
        """The branch of the values of a part."""
        held = {value for i in part.members for value in self.node.branches[i].values or ()}
        return Branch(child, tuple(value for value in self.order if value in held))

    def onward(self, part: MergedPart) -> Iterator[tuple[int, IntArray]]:
        """The branches that parts of it go on as, by number, with the records that go there."""
        if part.lead is not None:
            yield part.lead, self.taken(part)
        for each in part.parts:
            yield from self.onward(each)


@dataclass(frozen=True, slots=True, eq=False)
class _MergedTree:
    """The nodes by id, with those of groups; ``stated`` is what leaves state, ``merged`` as `opened` returns it."""

    classes: tuple[str, ...]
    stated: Collection[str]
    nodes: dict[str, Node]
    merged: dict[str, int] = field(default_factory=dict)

    def count(self, name: str, y: IntArray) -> None:
        """Have a node state other records, if they are others; an inner one as much of them as it did."""
        counts = np.bincount(y, minlength=len(self.classes)).tolist()
        node = self.nodes[name]
        if not node.is_leaf:
            n = None if node.n is None else sum(counts)
            by_class = None if node.counts is None else dict(zip(self.classes, counts, strict=True))
            self.nodes[name] = replace(node, n=n, counts=by_class)
        elif node.counts is None or [node.counts[c] for c in self.classes] != counts:
            self.nodes[name] = new_leaf(name, tuple(counts), self.classes, self.stated)

    def branch(self, split: _MergedSplit, part: MergedPart) -> Branch:
        """The branch that leads to a part of a split, whose groups are made."""
        if part.lead is not None:
            return split.to(split.node.branches[part.lead].child, part)
        name = self._unused(f"{split.node.id}:{part.name}")
        self.nodes[name] = Node(name)  # so that no smaller group takes the name
        self.merged[name] = sum(len(split.rows[i]) > 0 for i in part.members)
        if part.parts:
            self.nodes[name] = Node(name, split.node.attribute, tuple(self.branch(split, each) for each in part.parts))
        else:
            self.count(name, split.y[split.taken(part)])
        return split.to(name, part)

    def _unused(self, name: str) -> str:
        return next(each for i in count(1) if (each := name if i == 1 else f"{name}:{i}") not in self.nodes)


def _made(release: Release) -> _MergedTree:
    (tree,) = release.trees
    stated = {name for name in STATEMENTS if any(getattr(leaf, name) is not None for leaf in tree.leaves)}
    return _MergedTree(release.target.classes, stated | {"counts"}, {node.id: node for node in tree.nodes})


def _divided(node: Node, training: Training, rows: IntArray) -> Iterator[IntArray]:
    """Which of some records take each branch of a node."""
    j = [attribute.name for attribute in training.attributes].index(node.attribute or "")
    went = branch_taken(training.attributes[j], node.branches, training.columns[j][rows])
    return by_branch(went, len(node.branches))


def _divisible(places: Places, named: Collection[str]) -> Iterator[str]:
    """The nodes with three branches or more of attributes that are named, and not tested again below."""
    nodes, nearest = places.tree.nodes, dict[int, Mapping[str, int]]()
    found, again = [], set()
    for place in places.top_down:
        tested = nearest.get(int(places.parent[place]), {})
        name = nodes[place].attribute
        if name is not None and name in named:
            again.add(tested.get(name, -1))
            tested = {**tested, name: place}
            found += [place] if len(places.children[place]) > 2 else []
        nearest[place] = tested
    yield from (nodes[place].id for place in found if place not in again)


def _depth_first(nodes: Mapping[str, Node], root: str) -> Iterator[Node]:
    """The nodes below one, itself first."""
    stack = [root]
    while stack:
        node = nodes[stack.pop()]
        yield node
        stack += [branch.child for branch in reversed(node.branches) if branch.child is not None]
