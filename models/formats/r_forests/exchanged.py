"""Classes that ``treeInfo`` of ranger exchanged, as it does up to version 0.14.1.

Where classes first appear in the data in another order than that of the levels, it calls the first that appears by the
first level, and so on. The training table shows that order, and by how many of its rows each reading is right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from maxent.models.errors import invalid
from maxent.models.formats.proof import counts_in_leaves
from maxent.models.formats.training_columns import TrainingColumns
from maxent.models.release import Node, Release, Tree

_MARGIN = 0.05  # by what share of the rows one reading has to be better than the other


def with_true_classes(source: str, release: Release, training: TrainingColumns | None) -> Release:
    """The release with the classes that were meant."""
    if training is None or not training.classes:
        expected = (
            "train= and target=: treeInfo of ranger up to 0.14.1 exchanges classes that first appear in the data in "
            "another order than that of the levels, which the training table tells"
        )
        raise invalid(source, "document", "classes", expected, "none")
    classes = release.target.classes
    column = training.frame.columns[release.target.name]
    texts = column.texts()
    seen = column.codes[column.codes >= 0]
    _, first = np.unique(seen, return_index=True)
    appearing = [texts[code] for code in seen[np.sort(first)].tolist()]
    if list(classes) == appearing or len(appearing) != len(classes):
        return release
    meant = dict(zip(classes, appearing, strict=True))
    other = replace(release, trees=tuple(_renamed(tree, meant) for tree in release.trees))
    counts = [here.tolist() for here in counts_in_leaves(release, training)]
    rows = sum(map(sum, (row for tree in counts for row in tree)))
    right = [
        sum(
            here[classes.index(label)]
            for tree, numbers in zip(reading.trees, counts, strict=True)
            for node, here in zip(tree.nodes, numbers, strict=True)
            if (label := _label(node)) is not None
        )
        for reading in (release, other)
    ]
    if abs(right[0] - right[1]) < _MARGIN * rows:
        expected = f"classes that fit the training table: {right[0]} of {rows} rows as printed"
        raise invalid(source, "document", "classes", expected, f"{right[1]} in the order in which classes appear")
    return release if right[0] > right[1] else other


def _label(node: Node) -> str | None:
    """The class of a leaf: that of its largest share."""
    if isinstance(node.value, Mapping):
        return max(node.value, key=node.value.__getitem__)
    return node.label


def _renamed(tree: Tree, meant: Mapping[str, str]) -> Tree:
    def node(of: Node) -> Node:
        if isinstance(of.value, Mapping):
            return replace(of, value={meant[c]: share for c, share in of.value.items()})
        return of if of.label is None else replace(of, label=meant[of.label])

    nodes: Sequence[Node] = tree.nodes
    return replace(tree, nodes=tuple(map(node, nodes)))
