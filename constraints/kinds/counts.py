"""Counts: the records of each class in a node, exact or as intervals after sampling, suppression and rounding."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from maxent.constraints.kinds.context import Context, Kind
from maxent.constraints.kinds.sampling import left_out_of, true_count_bounds
from maxent.constraints.program.program import Linear
from maxent.models.arrays import IntArray
from maxent.models.columns import positive_counts
from maxent.models.defenses.registry import stated
from maxent.models.errors import Origin
from maxent.models.release import Node


def counts(context: Context) -> Iterator[Linear]:
    """The mass of each class in a node equals its count, or lies in the interval of a sampled or rounded count."""
    if context.release.resampled is not None:
        return  # draws are no records: see `maxent.constraints.kinds.bootstrap`
    classes, each = context.release.target.classes, np.eye(context.n_classes)
    stating = [(t, place, node) for t, place, node in context.nodes() if node.counts is not None]
    number = {label: x for x, label in enumerate(classes)}
    published = np.zeros((len(stating), len(classes)), np.int64)
    for row, (_, _, node) in zip(published, stating, strict=True):
        for label, count in positive_counts(node.counts or {}).items():
            row[number[label]] = count
    lower, upper = _true_counts(context, published, stating)
    for (t, place, node), low, high in zip(stating, lower, upper, strict=True):
        says = "counts " + _counted(classes, low.tolist(), high.tolist())
        region = context.region(t, place)
        yield Linear("counts", context.origin(t, node), region, each, low.astype(float), high.astype(float), says)
    yield from left_out(context)


def _true_counts(
    context: Context, published: IntArray, stating: list[tuple[int, int, Node]]
) -> tuple[IntArray, IntArray]:
    """Smallest and largest true counts behind those of some places, shapes (n_places, n_classes)."""
    if not context.sampled and not context.release.blurred:
        return published, published
    sizes = (context.size(t, place) for t, place, _ in stating)
    most = np.array([context.individuals if size is None else size for size in sizes], np.int64)
    low, high = true_count_bounds(published.ravel(), np.repeat(most, context.n_classes), context.counting)
    return low.reshape(published.shape), high.reshape(published.shape)


def left_out(context: Context) -> Iterator[Linear]:
    """Bounds from a random tree that was left out: it suppressed every count, and all who are alike share one."""
    if not stated(context.release).left_out_suppressed:
        return
    unseen = [left_out_of(context.cells, t, len(tree.nodes)) for t, tree in enumerate(context.release.trees)]
    rows = np.unique(np.concatenate(unseen))
    _, most = true_count_bounds(np.zeros(len(rows), np.int64), context.table.counts[rows], context.counting)
    each, none = np.eye(context.n_classes), np.zeros(context.n_classes)
    for row, high in zip(rows.tolist(), most.tolist(), strict=True):
        if high < context.table.counts[row]:
            region = context.regions.add(("unseen", row), np.flatnonzero(context.cells.owner == row))
            origin = Origin(f"{context.table.source}, {context.table.unit} {context.table.lines[row]}")
            says = f"in a part of a tree that was left out: at most {high} of each class"
            yield Linear("counts", origin, region, each, none, np.full(context.n_classes, float(high)), says)


def _counted(classes: tuple[str, ...], lower: list[int], upper: list[int]) -> str:
    """A statement of counts in words: ``a: 4, b: 0 to 2, of other classes 0``."""
    shown = [
        f"{c}: {low}" if low == high else f"{c}: {low} to {high}"
        for c, low, high in zip(classes, lower, upper, strict=True)
        if high
    ]
    return ", ".join([*shown, "of other classes 0"] if len(shown) < len(classes) else shown)


KIND = Kind(
    "counts",
    "counts: so many of a node's people have this class",
    r"m_{\Lambda,x} = n_{\Lambda,x} \quad \text{or within what sampling, suppression and rounding leave of it}",
    counts,
    "counts",
)
