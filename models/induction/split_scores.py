"""Split scores of a node, vectorised, and the privacy criteria that exclude some splits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.release import Impurity

if TYPE_CHECKING:
    from maxent.models.tables.training import Training

# Class counts of groups, shape (n_groups, n_classes), records -> which groups breach, shape (n_groups,). A group of
# nobody never does.
Criterion: TypeAlias = Callable[[IntArray], BoolArray]

TIE = 1e-12  # gains, ratios and impurities that differ by less are one and the same number, summed in another order


def above_average(gain: FloatArray, score: FloatArray) -> FloatArray:
    """Scores of splits that gain at least as much as a node's do on average, else -inf (Quinlan 1993, section 2.2)."""
    competes = gain > -np.inf
    average = np.where(competes, gain, 0.0).sum(axis=0) / np.maximum(competes.sum(axis=0), 1)
    return np.where(gain >= average - TIE, score, -np.inf)


@dataclass(frozen=True, slots=True)
class ImpurityMeasure:
    """Score of a split: the gain in Gini or entropy (nats), or the gain / split information."""

    impurity: Impurity
    xlogx: FloatArray  # x ln x of 0, 1, ... up to the number of records

    @staticmethod
    def of(impurity: Impurity, n: int) -> ImpurityMeasure:
        """Prepare a measure for counts of up to ``n`` records."""
        x = np.arange(n + 1, dtype=np.float64)
        return ImpurityMeasure(impurity, x * np.log(np.maximum(x, 1)))

    def purity(self, counts: IntArray, size: IntArray) -> FloatArray:
        """Minus the impurity of groups times their size; class counts (..., n_classes) and sizes (...)."""
        if self.impurity == "gini":
            return np.asarray((counts * counts).sum(axis=-1) / np.maximum(size, 1) - size)
        return np.asarray(self.xlogx[counts].sum(axis=-1) - self.xlogx[size])

    def judge(self, inside: FloatArray, sizes: FloatArray, counts: IntArray) -> tuple[FloatArray, FloatArray]:
        """Gains and scores of splits of a node, from the purities of their branches and `xlogx` of their sizes.

        A score is -inf where the gain is at most 1e-12, a ratio where all records take one branch.
        """
        n = counts.sum()
        gain = np.asarray((inside - self.purity(counts, n)) / n)
        score = np.full(len(gain), -np.inf)
        if self.impurity != "gain_ratio":
            score[gain > TIE] = gain[gain > TIE]
            return score, score
        information = (self.xlogx[n] - sizes) / n
        np.divide(gain, information, out=score, where=gain > TIE)
        gain[information <= TIE] = -np.inf
        return gain, score


class Scorer:
    """Score of the best split of each attribute in a node; ``by_gain``: a number is cut where it gains most."""

    def __init__(self, training: Training, measure: ImpurityMeasure, *, by_gain: bool = False) -> None:
        self.measure, self.by_gain = measure, by_gain
        self.y, self.n_classes = training.y, len(training.target.classes)
        codes: list[npt.NDArray[Any]] = []
        levels: list[FloatArray] = []
        attributes = training.attributes
        for attribute, column in zip(attributes, training.columns, strict=True):
            numbers, ranks = np.unique(column, return_inverse=True) if attribute.values is None else ([], column)
            levels.append(np.asarray(numbers, np.float64))
            codes.append(ranks.astype(np.int32))
        self.codes, self.levels = tuple(codes), tuple(levels)
        named = [i for i, a in enumerate(attributes) if a.values is not None]
        numeric = [i for i, a in enumerate(attributes) if a.values is None]
        first = np.cumsum([0, *(len(attributes[i].values or ()) for i in named)])
        self._named, self._first, self._n_values = np.array(named, np.int64), first[:-1], int(first[-1])
        # One number per categorical attribute and record: its value and the class of the record.
        joint = [(codes[i] + at) * self.n_classes + self.y for i, at in zip(named, first, strict=False)]
        self._joint = _stack(joint, np.int64, self.y)
        self._numeric = np.array(numeric, np.int64)
        width = np.min_scalar_type(max((len(levels[i]) for i in numeric), default=0))
        self._ranks = _stack([codes[i] for i in numeric], width, self.y)

    def scores(
        self, rows: IntArray, counts: IntArray, breach: Criterion | None = None, tested: BoolArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Gain and score of the best split of each attribute among some records, -inf where there is none.

        Of attributes that are ``tested`` no branch may ``breach``.
        """
        gains, scores = np.full((2, len(self.codes)), -np.inf)
        if len(self._named):
            cells = np.bincount(self._joint[:, rows].ravel(), minlength=self._n_values * self.n_classes)
            cells = cells.reshape(self._n_values, self.n_classes)
            size = cells.sum(axis=1)
            inside = np.add.reduceat(self.measure.purity(cells, size), self._first)
            sizes = np.add.reduceat(self.measure.xlogx[size], self._first)
            gains[self._named], scores[self._named] = self.measure.judge(inside, sizes, counts)
            if breach is not None and tested is not None:
                bad = np.logical_or.reduceat(breach(cells), self._first) & tested[self._named]
                gains[self._named[bad]] = scores[self._named[bad]] = -np.inf
        if len(self._numeric):
            attribute, below = self._cuts(rows)
            gain, score = self.judge_cuts(below, counts)
            if breach is not None and tested is not None:
                bad = tested[attribute] & (breach(below) | breach(counts - below))
                gain[bad] = score[bad] = -np.inf
            wanted = gain if self.by_gain else score
            start = np.flatnonzero(np.diff(attribute, prepend=-1))
            best = np.maximum.reduceat(wanted, start)
            equal = np.flatnonzero(wanted >= np.repeat(best, np.diff(start, append=len(wanted))) - TIE)
            chosen = equal[np.searchsorted(equal, start)]
            gains[attribute[start]], scores[attribute[start]] = gain[chosen], score[chosen]
        return gains, scores

    def _cuts(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """The cuts between numbers of some records: of which attribute each is, and the class counts below it."""
        ranks = self._ranks[:, rows]
        order = np.argsort(ranks, axis=1, kind="stable")
        ranks = np.take_along_axis(ranks, order, axis=1)
        of, last = np.nonzero(ranks[:, 1:] != ranks[:, :-1])  # the last record below each cut
        y = self.y[rows][order]
        below = np.stack([np.cumsum(y == c, axis=1)[of, last] for c in range(self.n_classes)], axis=1)
        return self._numeric[of], below

    def judge_cuts(self, left: IntArray, counts: IntArray) -> tuple[FloatArray, FloatArray]:
        """Gains and scores of splits in two, from the class counts of one side, shape (n_splits, n_classes)."""
        right, low = counts - left, left.sum(axis=1)
        high = counts.sum() - low
        inside = self.measure.purity(left, low) + self.measure.purity(right, high)
        return self.measure.judge(inside, self.measure.xlogx[low] + self.measure.xlogx[high], counts)

    def judge_split(self, table: IntArray, counts: IntArray) -> tuple[float, float]:
        """Gain and score of one split from the class counts of its branches, shape (n_branches, n_classes)."""
        size = table.sum(axis=1)
        inside, sizes = self.measure.purity(table, size), self.measure.xlogx[size]
        gain, score = self.measure.judge(inside.sum(keepdims=True), sizes.sum(keepdims=True), counts)
        return float(gain[0]), float(score[0])

    def table(self, rows: IntArray, code: IntArray, n_codes: int) -> IntArray:
        """Records of each code and class, shape (n_codes, n_classes); ``code`` has the shape of ``rows``."""
        cells = np.bincount(code * self.n_classes + self.y[rows], minlength=n_codes * self.n_classes)
        return cells.reshape(n_codes, self.n_classes)


def _stack(arrays: Sequence[npt.NDArray[Any]], dtype: Any, like: IntArray) -> npt.NDArray[Any]:
    """The arrays, which have the shape of ``like``, as rows of one."""
    return np.stack(arrays).astype(dtype) if arrays else np.zeros((0, len(like)), dtype)


# Privacy criteria of a group of people who cannot be distinguished: tests that every split must pass.


def too_small(k: int) -> Criterion:
    """k-anonymity (Sweeney 2002): a group has at least ``k`` records."""

    def breach(counts: IntArray) -> BoolArray:
        n = counts.sum(axis=1)
        return np.asarray((n > 0) & (n < k))

    return breach


def low_entropy(l: float) -> Criterion:  # noqa: E741 (the l of l-diversity)
    """Entropy l-diversity (Machanavajjhala et al. 2006): the entropy of a group's classes is at least log ``l``."""

    def breach(counts: IntArray) -> BoolArray:
        n = counts.sum(axis=1)
        logs = np.log(np.maximum(counts, 1))
        entropy = np.log(np.maximum(n, 1)) - (counts * logs).sum(axis=1) / np.maximum(n, 1)
        return np.asarray((n > 0) & (entropy < np.log(l) - TIE))

    return breach


def few_classes(l: float) -> Criterion:  # noqa: E741 (the l of l-diversity)
    """Distinct l-diversity (Machanavajjhala et al. 2006): a group has at least ``l`` different classes."""

    def breach(counts: IntArray) -> BoolArray:
        present = np.count_nonzero(counts, axis=1)
        return np.asarray((present > 0) & (present < l))

    return breach


def frequent_class(alpha: float) -> Criterion:
    """The alpha of (alpha, k)-anonymity (Wong et al. 2006): no class has more than that share of a group."""

    def breach(counts: IntArray) -> BoolArray:
        return np.asarray(counts.max(axis=1) > alpha * counts.sum(axis=1) * (1 + TIE))

    return breach


def any_of(criteria: Sequence[Criterion]) -> Criterion:
    """A group breaches when it breaches one of the criteria."""
    return lambda counts: np.logical_or.reduce([breach(counts) for breach in criteria])


# Cuts of a numeric attribute that would breach, and the best of all others.
#
# Cuts are between whole numbers: cut r has what is at most r on its lower side. Those that must not be made come as
# disjoint, increasing intervals ``start <= r < stop``.

Intervals: TypeAlias = tuple[IntArray, IntArray]


def breaching_cuts(values: IntArray, counts: IntArray, breach: Criterion) -> Intervals:
    """Find the cuts that divide a span so that one of its parts breaches."""
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

    Of cuts that divide the node alike it is the nearest to the largest number up to the middle, as Quinlan's.
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
