"""The places of a tree, numbered: what lies above and below each, level by level and depth-first."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from maxent.models.arrays import IntArray, ranges, run_ends
from maxent.models.columns import NOTHING
from maxent.models.nodes import links_of, parts_of
from maxent.models.release import Branch, Node, Tree


@dataclass(frozen=True, eq=False)
class Places:
    """The places of a tree, numbered: its nodes in the order of the release, then its removed leaves.

    Attributes
    ----------
    tree : Tree
    parent, branch : shape (n_places,)
        The node above each place, and which of its branches leads there (from 0); -1 for the root.
    n_branches : shape (n_places,)
        How many places are below each; none of a leaf.
    below : shape (n_places - 1,)
        The places below the first node, in the order of its branches, then those below the second, and so on.
    levels : tuple of arrays
        The places of each depth, the root's first. Those below one node are consecutive, in the order of its branches,
        and the nodes are in the order of their own level.
    """

    tree: Tree
    parent: IntArray
    branch: IntArray
    n_branches: IntArray
    below: IntArray
    levels: tuple[IntArray, ...]

    def __len__(self) -> int:
        return len(self.parent)

    @property
    def n_nodes(self) -> int:
        """Number of published places; the others are removed leaves."""
        return len(self.tree.nodes)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The places below each, one per branch; none of leaves and removed leaves."""
        below = self.below.tolist()
        ends = run_ends(self.n_branches).tolist()
        return tuple(tuple(below[start:stop]) for start, stop in pairwise(ends))

    @property
    def first(self) -> IntArray:
        """The leaves below place i have in depth-first order the ranks ``first[i] <= rank < last[i]``; (n_places,)."""
        return self._depth_first[0]

    @property
    def last(self) -> IntArray:
        """See `first`."""
        return self._depth_first[1]

    @property
    def top_down(self) -> tuple[int, ...]:
        """All places in depth-first order, each before those below."""
        return self._depth_first[2]

    @property
    def leaves(self) -> IntArray:
        """Published and removed leaves, increasing."""
        return np.flatnonzero(self.n_branches == 0)

    @cached_property
    def whole(self) -> IntArray:
        """For each place the one that stands for the leaf of the tool that it is a part of, or itself; (n_places,).

        It is the part that has the tool's name, or else the first.
        """
        found, first = np.arange(len(self)), dict[str, int]()
        parts = parts_of(self.tree.nodes)
        for place, part in enumerate(parts):
            if part is not None and (part not in first or self.tree.nodes[place].id == part):
                first[part] = place
        for place, part in enumerate(parts):
            if part is not None:
                found[place] = first[part]
        return found

    @property
    def published(self) -> IntArray:
        """Published leaves, increasing."""
        return np.flatnonzero(self.n_branches[: self.n_nodes] == 0)

    def node(self, place: int) -> Node | None:
        """The node at a place, None for a removed leaf."""
        return self.tree.nodes[place] if place < self.n_nodes else None

    def path(self, place: int) -> list[tuple[str, Branch]]:
        """The attributes tested on the way from the root to a place, each with the branch taken."""
        steps = []
        while (above := int(self.parent[place])) >= 0:
            node = self.tree.nodes[above]
            steps.append((node.attribute or "", node.branches[int(self.branch[place])]))
            place = above
        return steps[::-1]

    @cached_property
    def _depth_first(self) -> tuple[IntArray, IntArray, tuple[int, ...]]:
        """`first`, `last` and `top_down` (no recursion: trees may be 10,000 deep)."""
        children = self.children
        first, last = [0] * len(children), [0] * len(children)
        rank = 0
        top_down: list[int] = []
        stack = [(0, False)]
        while stack:
            place, done = stack.pop()
            if done:
                last[place] = rank
                continue
            first[place] = rank
            top_down.append(place)
            if children[place]:
                stack.append((place, True))
                stack.extend((child, False) for child in reversed(children[place]))
            else:
                rank += 1
                last[place] = rank
        return np.array(first, np.int64), np.array(last, np.int64), tuple(top_down)


def number_places(tree: Tree) -> Places:
    """Number the places of a tree."""
    n_branches, below = links_of(tree.nodes)
    removed = np.flatnonzero(below == NOTHING)
    below = below.copy()
    below[removed] = np.arange(len(n_branches), len(n_branches) + len(removed))
    n_branches = np.concatenate([n_branches, np.zeros(len(removed), np.int64)])
    start = np.cumsum(n_branches) - n_branches
    parent, branch = np.full(len(n_branches), -1), np.full(len(n_branches), -1)
    owner = np.repeat(np.arange(len(n_branches)), n_branches)
    parent[below], branch[below] = owner, np.arange(len(below)) - start[owner]
    levels = [np.zeros(1, np.int64)]
    while len(level := below[ranges(start[levels[-1]], start[levels[-1]] + n_branches[levels[-1]])]):
        levels.append(level)
    return Places(tree, parent, branch, n_branches, below, tuple(levels))
