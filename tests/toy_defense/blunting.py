"""The algorithm of a third party's defense: no leaf is surer of a class than a share."""

from __future__ import annotations

from dataclasses import replace

from maxent.models.defenses.error_risk import collapse
from maxent.models.release import Defense, Release


def blunted(release: Release, share: float) -> Release:
    """Make leaves of the nodes above leaves in which a class has more than a share, until there is none."""
    (tree,) = release.trees
    while len(tree.nodes) > 1:
        sure = {leaf.id for leaf in tree.leaves if max(leaf.counts.values()) > share * sum(leaf.counts.values())}
        above = {node.id for node in tree.nodes if sure & {branch.child for branch in node.branches}}
        if not above:
            break
        tree = collapse(replace(release, trees=(tree,)), above)
    return replace(release, trees=(tree,), defense=Defense("blunt", {"share": share}))
