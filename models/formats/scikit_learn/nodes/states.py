"""Nodes of a release from the trees of a model of scikit-learn: what they count, or what they add to scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray, IntArray, run_ends
from maxent.models.columns import NOTHING, Columns, Statements
from maxent.models.formats.scikit_learn.columns import Feature
from maxent.models.formats.scikit_learn.ensemble import Ensemble, Member
from maxent.models.formats.scikit_learn.nodes.depth_first import DepthFirst, depth_first
from maxent.models.formats.scikit_learn.nodes.tests import tests_of
from maxent.models.formats.scikit_learn.splits import Splits
from maxent.models.nodes import Nodes
from maxent.models.release import Attribute, Boosting
from maxent.models.trees.draft import Publish


def bare(
    source: str,
    splits: Splits,
    coding: Sequence[Feature],
    attributes: Sequence[Attribute],
    classes: Sequence[str],
) -> tuple[Columns, DepthFirst]:
    """The nodes of a fitted tree in depth-first order, without anything that they state.

    ``source``: what problems call the model. ``splits``: of which thresholds are in the codes of ``coding``.
    ``coding``: what each column of the input means. ``attributes``: those of ``coding``, and perhaps others.
    ``classes``: those of the ensemble.
    """
    order = depth_first(splits.left, splits.right)
    tests = tests_of(source, splits, order, coding, [attribute.name for attribute in attributes])
    n = len(order)
    attribute, n_branches = np.full(n, NOTHING), np.zeros(n, np.int64)
    attribute[order.inner], n_branches[order.inner] = tests.attribute, 2
    return Columns(
        tuple(attributes),
        dict.fromkeys(classes, 0),
        order.ids,
        attribute,
        run_ends(n_branches),
        np.column_stack([order.inner + 1, order.right]).ravel(),
        tests.le.ravel(),
        tests.gt.ravel(),
        tests.missing.ravel(),
        tests.value_ends,
        tests.values,
        np.full(n, np.nan),
        stated(n),
    ), order


def stated(
    size: int, *, label: IntArray | None = None, rate: FloatArray | None = None, n: IntArray | None = None
) -> Statements:
    """Statements of nodes without counts, none where they are not given."""
    none = np.full(size, NOTHING)
    return Statements(
        none if label is None else label,
        np.full(size, np.nan) if rate is None else rate,
        none if n is None else n,
        none,
        np.zeros(size, bool),
        np.zeros(size + 1, np.int64),
        np.zeros(0, np.int64),
        np.zeros(0, np.int64),
    )


def nodes_of(
    member: Member,
    coding: Sequence[Feature],
    attributes: Sequence[Attribute],
    classes: Sequence[str],
    publish: Publish,
    *,
    inner_counts: bool,
    draws: bool,
) -> Nodes:
    """The nodes of a tree, in the attributes of ``coding``, which has the columns that the tree was given.

    ``coding``, ``attributes``, ``classes``: see `bare`. ``publish``, ``inner_counts``: what the nodes state, see
    `maxent.models.trees.draft.freeze`; scores are stated in any case. ``draws``: whether counts are of draws.
    """
    nodes, order = bare("from_sklearn", member.splits, coding, attributes, classes)
    leaf = nodes.attribute == NOTHING
    counts = None
    if member.counts is not None:
        counts = np.zeros((len(nodes), len(classes)), np.int64)
        counts[:, member.classes] = member.counts[order.order]
    sizes = None if member.rows is None else member.rows[order.order]
    if member.values is None:
        assert counts is not None
        return Nodes(
            replace(nodes, statements=_counting(counts, sizes if draws else None, leaf, publish, inner_counts))
        )
    sized = np.zeros(len(leaf), bool) if publish == "labels" else leaf | inner_counts
    said = stated(len(leaf))
    if counts is not None:
        said = _counted(said, counts, sized, publish == "counts")
        said = replace(said, distinct=np.where(sized, sizes, NOTHING)) if draws and sizes is not None else said
    elif sizes is not None and not draws:
        said = replace(said, n=np.where(sized, sizes, NOTHING))
    values = np.where(leaf[:, None], member.values[order.order], np.nan)
    if values.shape[1] == 1:
        return Nodes(replace(nodes, value=values[:, 0], statements=said))
    scores = np.full((len(leaf), len(classes)), np.nan)
    scores[:, member.classes] = values
    return Nodes(replace(nodes, scores=scores, statements=said))


def _counting(
    counts: IntArray, distinct: IntArray | None, leaf: BoolArray, publish: Publish, inner_counts: bool
) -> Statements:
    """Statements of nodes whose counts are known, as `maxent.models.trees.draft.freeze` makes them."""
    size, total, best = len(leaf), counts.sum(axis=1), counts.argmax(axis=1)
    said = stated(size, label=np.where(leaf, best, NOTHING))
    whole = leaf & (publish == "counts") | ~leaf & inner_counts
    said = _counted(said, counts, whole, True)
    if distinct is not None:
        said = replace(said, distinct=np.where(whole, distinct, NOTHING))
    if publish == "rates":
        missed = total - counts[np.arange(size), best]
        rate = np.where(leaf & (total > 0), missed / np.maximum(total, 1), np.nan)
        said = replace(said, rate=rate, n=np.where(leaf | whole, total, NOTHING))
    return said


def _counted(said: Statements, counts: IntArray, sized: BoolArray, by_class: bool) -> Statements:
    """Statements with the sizes of some nodes, and how many of each class they have."""
    said = replace(said, n=np.where(sized, counts.sum(axis=1), NOTHING))
    if not by_class:
        return said
    above = sized[:, None] & (counts > 0)
    return replace(
        said,
        counted=sized,
        count_ends=run_ends(above.sum(axis=1)),
        count_class=np.nonzero(above)[1],
        count=counts[above],
    )


def boosting_of(ensemble: Ensemble, classes: Sequence[str]) -> Boosting | None:
    """The rule of an ensemble, whose first scores are by class where they are several."""
    if ensemble.boosting is None or ensemble.base is None:
        return ensemble.boosting
    base = ensemble.base.tolist()
    rule = replace(ensemble.boosting, base=base[0] if len(base) == 1 else dict(zip(classes, base, strict=True)))
    if ensemble.weights is None:
        return rule
    return replace(rule, weights=dict(zip(classes, ensemble.weights.tolist(), strict=True)))
