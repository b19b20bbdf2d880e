"""A release about several sensitive columns as one about a single of them: what its statements say of that one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from maxent.models.release import Node, Release, Tree
from maxent.models.tables.columns.product_classes import marginal, part_codes
from maxent.models.trees.restate import CountsReader, counts_reader, majority


def of_target(release: Release, part: int) -> Release:
    """The same trees about one column: classes are its own, and counts are sums over those of the others.

    Labels and rates of combinations say nothing alone of one column, unless they imply counts. Nor do counts that are
    rounded or may have been suppressed, and splits were compared for all columns together: all of these are left out,
    which is sound. A label is then only what a leaf predicts: the class that the label of a combination has.

    ``release``: whose target has parts. ``part``: which of ``release.target.of``.
    """
    implied = counts_reader(release)
    of = release.target.of[part].classes
    named = {c: of[code] for c, code in zip(release.target.classes, part_codes(release.target, part), strict=True)}
    trees = tuple(
        Tree(tuple(_of_node(node, release, part, implied, named) for node in tree.nodes)) for tree in release.trees
    )
    return Release(
        release.target.of[part],
        release.attributes,
        trees,
        release.sampling_rate,
        release.suppressed_below,
        # What it states are sizes of leaves; of rows alike in the class, too, it is about combinations.
        None if release.defense and release.defense.parameters.get("class") == "public" else release.defense,
        release.resampled,
        labels="decided",
        rounded=release.rounded,
    )


def _of_node(node: Node, release: Release, part: int, implied: CountsReader, named: Mapping[str, str]) -> Node:
    """A node with its test, and with what is known of one column; ``named`` is its class of each combination."""
    found = implied(node)
    label = node.label if node.label is not None or found is None else majority(release.target.classes, found)
    label = named[label] if label is not None and node.is_leaf else None
    bare = Node(node.id, node.attribute, node.branches, label, n=node.n, distinct=node.distinct, part_of=node.part_of)
    if found is None:
        return bare
    counts = marginal(np.array(found, np.int64), release.target, part).tolist()
    return replace(bare, counts=dict(zip(release.target.of[part].classes, counts, strict=True)))
