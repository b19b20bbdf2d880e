"""A tree as arrays: what lies above each of its places, and the places level by level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxent.models.arrays import IntArray
from maxent.models.release import Branch, Node, Tree


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """The places of a tree, numbered as `maxent.models.trees.routing.layout` does: its nodes, then its removed leaves.

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
        """How many places are published; the others are removed leaves."""
        return len(self.tree.nodes)

    @property
    def leaves(self) -> IntArray:
        """Published and removed leaves, increasing."""
        return np.flatnonzero(self.n_branches == 0)

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


def number_places(tree: Tree) -> Places:
    """Number the places of a tree."""
    nodes = tree.nodes
    index = {node.id: i for i, node in enumerate(nodes)}
    n_branches = np.array([len(node.branches) for node in nodes], np.int64)
    children = [branch.child for node in nodes for branch in node.branches]
    below = np.array([-1 if child is None else index[child] for child in children], np.int64)
    removed = np.flatnonzero(below < 0)
    below[removed] = np.arange(len(nodes), len(nodes) + len(removed))
    n_branches = np.concatenate([n_branches, np.zeros(len(removed), np.int64)])
    start = np.cumsum(n_branches) - n_branches
    parent, branch = np.full(len(n_branches), -1), np.full(len(n_branches), -1)
    owner = np.repeat(np.arange(len(n_branches)), n_branches)
    parent[below], branch[below] = owner, np.arange(len(below)) - start[owner]
    levels = [np.zeros(1, np.int64)]
    while len(level := below[_ranges(start[levels[-1]], n_branches[levels[-1]])]):
        levels.append(level)
    return Places(tree, parent, branch, n_branches, below, tuple(levels))


def _ranges(start: IntArray, length: IntArray) -> IntArray:
    """The numbers from each start on, as many as its length says, one after the other."""
    ends = np.cumsum(length)
    return np.repeat(start - (ends - length), length) + np.arange(ends[-1] if len(ends) else 0)
