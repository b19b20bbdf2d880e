"""Mondrian, the baseline of Yang et al. (2019): multidimensional partitions of records into groups of at least k.

Records are cut in two, again and again, between two values of one attribute (the codes of a categorical one count as
numbers: there are no hierarchies), as long as both sides hold at least k records. Two ways to choose the cut:

`median_cut`            at the median of the attribute that spans the largest share of its domain; when that leaves too
                        few on a side, of the next one (LeFevre et al. 2006, strict partitioning)
`information_gain_cut`  the cut of the smallest weighted entropy of the classes, and on until there is none that leaves
                        enough records on both sides (LeFevre et al. 2008)
`positive_gain_cut`     the same, but on only until no cut tells anything of the classes

A partition is published as a release, whose leaves are the groups: `maxent.models.trees.places.assign` finds the
group of
a record, and `maxent.models.defenses.generalization.uniform` generalises them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from maxent.models.release import Attribute, Branch, Induction, Release, Tree
from maxent.models.tables.training import Training
from maxent.models.trees.draft import Draft, freeze

Cut = tuple[int, float]
"""An attribute and the largest value (or code) of the left side."""

Chooser = Callable[[Training, np.ndarray, int], Cut | None]


def median_cut(training: Training, rows: np.ndarray, k: int) -> Cut | None:
    """The median of the widest attribute that leaves at least k records on both sides."""
    spans = [np.ptp(column[rows]) / max(np.ptp(column), 1e-300) for column in training.columns]
    for j in np.argsort(-np.array(spans), kind="stable").tolist():
        values = training.columns[j][rows]
        cut = np.sort(values)[(len(values) - 1) // 2]
        left = np.count_nonzero(values <= cut)
        if k <= left <= len(values) - k:
            return j, cut
    return None


def information_gain_cut(training: Training, rows: np.ndarray, k: int, *, below: float = np.inf) -> Cut | None:
    """The cut with the smallest weighted entropy, if that is below a limit; of equally good ones the first."""
    best, chosen = below, None
    n, classes = len(rows), training.y[rows]
    for j, column in enumerate(training.columns):
        values = column[rows]
        order = np.argsort(values, kind="stable")
        ordered = values[order]
        left = np.arange(1, n)
        allowed = np.flatnonzero((ordered[1:] > ordered[:-1]) & (left >= k) & (n - left >= k))
        if not len(allowed):
            continue
        counts = np.cumsum(classes[order][:, None] == np.arange(len(training.target.classes)), axis=0)
        sides = counts[allowed], counts[-1] - counts[allowed]
        entropy = sum(xlogx(side.sum(axis=1)) - xlogx(side).sum(axis=1) for side in sides)
        at = int(entropy.argmin())
        if entropy[at] < best - 1e-9:
            best, chosen = entropy[at], (j, ordered[allowed[at]])
    return chosen


def positive_gain_cut(training: Training, rows: np.ndarray, k: int) -> Cut | None:
    """The cut with the smallest weighted entropy, if that is smaller than it was."""
    counts = np.bincount(training.y[rows], minlength=len(training.target.classes))
    return information_gain_cut(training, rows, k, below=float(xlogx(counts.sum()) - xlogx(counts).sum()))


def xlogx(counts: np.ndarray) -> np.ndarray:
    return counts * np.log2(np.maximum(counts, 1))


def partition(training: Training, k: int, choose: Chooser) -> Release:
    """The partition as a release, whose leaves state their counts."""
    drafts: list[Draft] = []
    whole: dict[str, Any] = {a.name: a.values for a in training.attributes}
    stack = [(np.arange(len(training)), whole, -1)]
    while stack:
        rows, domain, parent = stack.pop()
        if parent >= 0:
            drafts[parent].children.append(len(drafts))
        counts = np.bincount(training.y[rows], minlength=len(training.target.classes))
        drafts.append(draft := Draft(counts, int(counts.argmax())))
        cut = choose(training, rows, k) if len(rows) >= 2 * k else None
        if cut is None:
            continue
        attribute, column = training.attributes[cut[0]], training.columns[cut[0]]
        draft.attribute = attribute.name
        draft.branches = branches_of(attribute, domain[attribute.name], cut[1])
        below = column[rows] <= cut[1]
        parts = [
            (rows[side], {**domain, attribute.name: b.values})
            for side, b in zip((below, ~below), draft.branches, strict=True)
        ]
        stack += [(*part, len(drafts) - 1) for part in reversed(parts)]
    nodes = freeze(drafts, training.target.classes)
    return Release(training.target, training.attributes, (Tree(nodes, Induction("mondrian")),))


def branches_of(attribute: Attribute, domain: tuple[str, ...] | None, cut: float) -> tuple[Branch, Branch]:
    """Both sides of a cut, of a categorical attribute among the values that are still possible."""
    if attribute.values is None:
        return Branch(None, le=float(cut)), Branch(None, gt=float(cut))
    left = set(attribute.values[: int(cut) + 1])
    values = domain or ()
    return (
        Branch(None, values=tuple(v for v in values if v in left)),
        Branch(None, values=tuple(v for v in values if v not in left)),
    )
