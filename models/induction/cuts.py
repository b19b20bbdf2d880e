"""Cuts of a numeric attribute that would breach, and the best of all others.

Cuts are between whole numbers: cut r has what is at most r on its lower side. Those that must not be made come as
disjoint, increasing intervals ``start <= r < stop``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from maxent.models.arrays import IntArray
from maxent.models.induction.split_scores import TIE, Criterion, Scorer

Intervals: TypeAlias = tuple[IntArray, IntArray]


def breaching_cuts(values: IntArray, counts: IntArray, breach: Criterion) -> Intervals:
    """Find the cuts that divide a span so that one of its parts breaches.

    ``values`` of shape (n_values,): distinct values in the span, increasing. ``counts`` of shape (n_values, n_classes):
    the records of each.
    """
    below = np.cumsum(counts, axis=0)
    bad = np.zeros(len(values) + 1, bool)
    bad[1:-1] = breach(below[:-1]) | breach(below[-1] - below[:-1])
    change = np.flatnonzero(bad[1:] != bad[:-1])  # a cut up to the next value does the same as one at this
    return values[change[::2]], values[change[1::2]]


def union(intervals: Sequence[Intervals]) -> Intervals:
    """The cuts that are in some of the intervals."""
    start = np.concatenate([np.empty(0, np.int64), *(first for first, _ in intervals)])
    if len(intervals) < 2 or not len(start):
        return intervals[0] if intervals else (start, start)
    order = np.argsort(start)
    start, stop = start[order], np.concatenate([last for _, last in intervals])[order]
    stop = np.maximum.accumulate(stop)
    first = np.flatnonzero(np.append(True, start[1:] > stop[:-1]))
    return start[first], stop[np.append(first[1:], len(stop)) - 1]


@dataclass(frozen=True, slots=True)
class Cut:
    """Numbers up to ``threshold``, the one with a rank of ``rank``, are on the lower side."""

    gain: float
    score: float
    rank: int
    threshold: float


def best_cut(scorer: Scorer, attribute: int, rows: IntArray, counts: IntArray, bad: Intervals) -> Cut | None:
    """Find the cut of a node with the best score (or gain, as the scorer has it), None when there is none.

    It is at a number that occurs in the data, as Quinlan's: of the cuts that divide the node alike, and may be made,
    the nearest to the largest number up to the middle between the node's own.

    ``attribute``: which one, numeric; what is cut are its ranks. ``rows``, ``counts``: the records of the node, and how
    many they are of each class. ``bad``: cuts that must not be made.
    """
    levels = scorer.levels[attribute]
    own, place = np.unique(scorer.codes[attribute][rows], return_inverse=True)
    below = np.cumsum(scorer.table(rows, place, len(own)), axis=0)[:-1]
    low, high = own[:-1], own[1:]
    middle = np.searchsorted(levels, levels[low] / 2 + levels[high] / 2, side="right") - 1
    rank = _nearest(np.clip(middle, low, high - 1), low, high, bad)
    gain, score = scorer.judge_cuts(below, counts)
    wanted = np.where(rank < 0, -np.inf, gain if scorer.by_gain else score)
    if wanted.max(initial=-np.inf) == -np.inf:
        return None
    best = int(np.argmax(wanted >= wanted.max() - TIE))
    return Cut(float(gain[best]), float(score[best]), int(rank[best]), float(levels[rank[best]]))


def _nearest(wanted: IntArray, low: IntArray, high: IntArray, bad: Intervals) -> IntArray:
    """The nearest to some wanted cuts, ``low <= cut < high``, that is not bad; -1 where all are; shape (n,)."""
    start, stop = bad
    if not len(start):
        return wanted
    at = np.maximum(np.searchsorted(start, wanted, side="right") - 1, 0)
    before, after = start[at] - 1, stop[at]
    down = np.where(before >= low, wanted - before, np.inf)
    up = np.where(after < high, after - wanted, np.inf)
    moved = np.where(np.isinf(down) & np.isinf(up), -1, np.where(down <= up, before, after))
    return np.where((wanted < start[at]) | (wanted >= stop[at]), wanted, moved)
