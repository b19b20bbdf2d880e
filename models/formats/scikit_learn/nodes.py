"""Nodes of a release from the trees of a model of scikit-learn: what they count, or what they add to scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from maxent.models.arrays import FloatArray
from maxent.models.formats.scikit_learn.columns import Feature
from maxent.models.formats.scikit_learn.drafts import drafts_of
from maxent.models.formats.scikit_learn.ensemble import Ensemble, Member
from maxent.models.release import Boosting, Node
from maxent.models.trees.draft import Draft, Publish, freeze


def nodes_of(
    member: Member,
    coding: Sequence[Feature],
    classes: Sequence[str],
    publish: Publish,
    *,
    inner_counts: bool,
    draws: bool,
) -> tuple[Node, ...]:
    """The nodes of a tree, in the attributes of ``coding``, which has the columns that the tree was given.

    Parameters
    ----------
    member : Member
    coding : sequence of Feature
    classes : sequence of str
        Those of the ensemble.
    publish, inner_counts
        What the nodes state, see `maxent.models.trees.draft.freeze`; scores are stated in any case.
    draws : bool
        Whether counts are of draws.
    """
    counts = np.zeros((len(member.splits.left), len(classes)), np.int64)
    if member.counts is not None:
        counts[:, member.classes] = member.counts
    drafts = drafts_of(member.splits, coding, counts, member.rows if draws else None)
    if member.values is None:
        return freeze(drafts, classes, publish, inner_counts=inner_counts)
    nodes = freeze(drafts, classes, "labels")
    names = [classes[i] for i in member.classes.tolist()]
    return tuple(
        _scored(node, draft, member, member.values, classes, names, publish, inner_counts, draws)
        for node, draft in zip(nodes, drafts, strict=True)
    )


def _scored(
    node: Node,
    draft: Draft,
    member: Member,
    values: FloatArray,
    classes: Sequence[str],
    names: Sequence[str],
    publish: Publish,
    inner_counts: bool,
    draws: bool,
) -> Node:
    """A node with what is known of its records, a leaf with its score."""
    n, counts = None, None
    if publish != "labels" and (node.is_leaf or inner_counts):
        if member.counts is not None:
            n = int(draft.counts.sum())
            counts = dict(zip(classes, draft.counts.tolist(), strict=True)) if publish == "counts" else None
        elif member.rows is not None and not draws:
            n = int(member.rows[draft.at])
    distinct = draft.distinct if n is not None else None
    if not node.is_leaf:
        return replace(node, n=n, counts=counts, distinct=distinct)
    score: float | Mapping[str, float] = float(values[draft.at, 0])
    if values.shape[1] > 1:
        score = dict(zip(names, values[draft.at].tolist(), strict=True))
    return replace(node, label=None, n=n, counts=counts, distinct=distinct, value=score)


def boosting_of(ensemble: Ensemble, classes: Sequence[str]) -> Boosting | None:
    """The rule of an ensemble, whose first scores are by class where they are several."""
    if ensemble.boosting is None or ensemble.base is None:
        return ensemble.boosting
    base = ensemble.base.tolist()
    return replace(ensemble.boosting, base=base[0] if len(base) == 1 else dict(zip(classes, base, strict=True)))
