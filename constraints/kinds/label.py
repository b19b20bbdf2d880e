"""Labels: no class is more frequent in a leaf than its label."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np

from maxent.constraints.kinds.context import Context, Kind, read_directly
from maxent.constraints.program.program import Linear
from maxent.models.arrays import FloatArray
from maxent.models.columns import check_size, positive_counts
from maxent.models.release import Node


def stated_label(context: Context, node: Node) -> str | None:
    """The label of a leaf, as stated or as its counts imply (the first of the most frequent classes)."""
    if node.label is not None or not node.is_leaf or node.counts is None or context.release.blurred:
        return node.label
    positive = positive_counts(node.counts)
    best = max(positive.values(), default=0)
    return next((c for c in context.release.target.classes if best > 0 and positive.get(c) == best), None)


def labels(context: Context) -> Iterator[Linear]:
    """The label's mass in a leaf is at least every other class's (Zhu & Du 2010, section 4.1)."""
    if context.sampled:
        return  # a majority of the sample need not be one of the population
    if context.release.labels == "decided":
        return  # under costs, weights or priors a label need not be a majority
    number = {label: x for x, label in enumerate(context.release.target.classes)}

    @cache
    def ahead(label: str) -> FloatArray:
        """A row for every other class, shape (n_classes - 1, n_classes)."""
        check_size("comparisons of labels with classes", len(number) * ahead.cache_info().misses, len(number))
        one = np.eye(len(number))
        return np.delete(one[number[label]] - one, number[label], axis=0)

    lower, upper = np.zeros(context.n_classes - 1), np.full(context.n_classes - 1, np.inf)
    for t, place, node in context.nodes():
        label = stated_label(context, node)
        if label is None or context.n_classes == 1 or not read_directly(context, node, "label"):
            continue
        if context.suppressed and node.counts is not None and not node.counts[label] and any(node.counts.values()):
            continue  # a class that is shown has more records than a suppressed label: it was decided by something else
        says = f"label {label}: no other class is more frequent"
        yield Linear("label", context.origin(t, node), context.region(t, place), ahead(label), lower, upper, says)


KIND = Kind(
    "label",
    "labels: no class is more frequent in a leaf than its label",
    r"m_{\Lambda,\ell} \ge m_{\Lambda,x} \quad \text{for every class } x \text{ but the label } \ell",
    labels,
    "label",
)
