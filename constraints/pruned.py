"""What the k of leaf pruning tells of the leaves of a tree, where these do not state how many records they have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from maxent.models.defenses.pruning import PRUNE_LEAF, PRUNE_PARENT, stated_k
from maxent.models.errors import Origin
from maxent.models.release import Release
from maxent.models.routing import Layout


@dataclass(frozen=True, slots=True)
class SizeBound:
    """How many records a leaf, or a removed one, of the only tree can have; ``says`` is the bound in words."""

    place: int
    origin: Origin
    low: float
    high: float
    says: str


def pruned_sizes(release: Release, places: Layout) -> Iterator[SizeBound]:
    """Bounds on the records of leaves (Wakabayashi et al. 2024, section 4); ``places`` are those of the only tree.

    Method 1 removed the leaves of fewer than k records and no others; method 2 left none, unless the root is the only
    leaf. The k of a sample is not one of the individuals, and nothing follows, nor from the trees of a forest.
    """
    if release.sampling_rate < 1.0 or len(release.trees) > 1:
        return
    tree = release.trees[0]
    by_leaf, by_parent = stated_k(release, PRUNE_LEAF), stated_k(release, PRUNE_PARENT)
    least = by_leaf or (by_parent if len(tree.nodes) > 1 else None)
    if least is None:
        return
    for place, node in enumerate(tree.nodes):
        if node.is_leaf and node.n is None and node.counts is None:
            says = f"at least k = {least} records, as the leaf was not pruned"
            yield SizeBound(place, Origin("leaf", node.id), float(least), np.inf, says)
    if by_leaf is None:
        return
    for node, below in zip(tree.nodes, places.children, strict=False):
        for number, child in enumerate(below, 1):
            if child >= len(tree.nodes):
                says = f"fewer than k = {least} records, as the leaf was removed"
                yield SizeBound(child, Origin("removed leaf of", f"{node.id}, branch {number}"), 0.0, least - 1.0, says)
