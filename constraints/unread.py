"""Ledger of the statements that no constraint reads, so that no verdict ignores them."""

from __future__ import annotations

import numpy as np

from maxent.constraints.kinds.boosting.leaf_counts import LeafCounts
from maxent.constraints.program import Unread
from maxent.models.arrays import BoolArray
from maxent.models.nodes import Nodes, links_of, state_scores, statements_of
from maxent.models.release import Release, Tree

SCORES = "scores"
SHARES = "weighted shares of classes"
LABELS = "labels that were decided otherwise than by the most frequent class"


def unread_of(release: Release, scored: LeafCounts) -> tuple[Unread, ...]:
    """What the leaves of a release state that is in no constraint, whatever an adversary is said to know.

    Counts, rates and means of a leaf are always compiled, as exact numbers, intervals or a likelihood. A score is where
    it proves a count or a sum (``scored``); a label is where it is the most frequent class.
    """
    read = scored.read
    kind = SCORES if release.boosting is not None or release.predicts == "score" else SHARES
    found: dict[str, list[tuple[int, int]]] = {}
    for t, tree in enumerate(release.trees):
        values, labels = _silent(tree, release)
        many = sum((t, at) not in read for at in np.flatnonzero(values).tolist())
        if many:
            found.setdefault(kind, []).append((t, many))
        if release.labels == "decided" and labels.any():
            found.setdefault(LABELS, []).append((t, int(labels.sum())))
    return tuple(Unread(what, len(of), sum(many for _, many in of), tuple(of)) for what, of in found.items())


def _silent(tree: Tree, release: Release) -> tuple[BoolArray, BoolArray]:
    """Nodes that state a value, and leaves that state a label, beside no number of classes; shapes (n_nodes,)."""
    said = statements_of(tree.nodes, release.target.classes)
    counted = said.counted | (~np.isnan(said.rate) & (not release.sampled))
    if said.shares and not release.sampled:
        counted = counted | np.array([each is not None for each in said.shares], bool)
    leaf = links_of(tree.nodes)[0] == 0
    labels = leaf & ~counted & (said.label >= 0)
    if not state_scores(tree.nodes):
        return np.zeros(len(labels), bool), labels
    return leaf & ~counted & _valued(tree), labels


def _valued(tree: Tree) -> BoolArray:
    """Whether nodes state their contribution to a score."""
    if not isinstance(tree.nodes, Nodes):
        return np.array([node.value is not None for node in tree.nodes], bool)
    held = tree.nodes.columns
    valued = ~np.isnan(held.value)
    return valued if held.scores is None else valued | ~np.isnan(held.scores).all(axis=1)
