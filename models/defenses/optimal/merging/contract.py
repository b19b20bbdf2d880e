"""A tree of groups as it is published: a split that was opened step by step is one split again."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from maxent.models.release import Branch, Node


def contracted(nodes: Sequence[Node], groups: Collection[str]) -> tuple[Node, ...]:
    """The same tree, where the branches of groups that are split are branches of the node above.

    A group stays a split of its own where a leaf below it was removed: what is predicted there is what the rest of the
    group says.

    ``nodes``: the tree, each node after the one above it. ``groups``: the ids of nodes that stand for groups.
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
