"""Gains of all splits of a node, vectorised: records as integers, classes counted by `bincount`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.release import Impurity
from maxent.models.tables.training import Training

# Class counts of groups, shape (n_groups, n_classes), records -> which groups breach, shape (n_groups,). A group of
# nobody never does.
Criterion: TypeAlias = Callable[[IntArray], BoolArray]

TIE = 1e-12  # gains, ratios and impurities that differ by less are one and the same number, summed in another order


def above_average(gain: FloatArray, score: FloatArray) -> FloatArray:
    """Leave their scores to the splits that gain at least as much as all of a node's do on average, else -inf.

    Shapes (n_attributes,) or (n_attributes, n_nodes); a gain is -inf where an attribute has no split. The rule is
    Quinlan's (1993, section 2.2).
    """
    competes = gain > -np.inf
    average = np.where(competes, gain, 0.0).sum(axis=0) / np.maximum(competes.sum(axis=0), 1)
    return np.where(gain >= average - TIE, score, -np.inf)


@dataclass(frozen=True, slots=True)
class Measure:
    """Score of a split: the gain in Gini or entropy (nats), or the gain / split information."""

    impurity: Impurity
    xlogx: FloatArray  # x ln x of 0, 1, ... up to the number of records

    @staticmethod
    def of(impurity: Impurity, n: int) -> Measure:
        """Prepare a measure for counts of up to ``n`` records."""
        x = np.arange(n + 1, dtype=np.float64)
        return Measure(impurity, x * np.log(np.maximum(x, 1)))

    def purity(self, counts: IntArray, size: IntArray) -> FloatArray:
        """Minus the impurity of groups times their size; class counts (..., n_classes) and sizes (...)."""
        if self.impurity == "gini":
            return np.asarray((counts * counts).sum(axis=-1) / np.maximum(size, 1) - size)
        return np.asarray(self.xlogx[counts].sum(axis=-1) - self.xlogx[size])

    def judge(self, inside: FloatArray, sizes: FloatArray, counts: IntArray) -> tuple[FloatArray, FloatArray]:
        """Gains and scores of splits of a node with some class counts, each of shape (n_splits,).

        ``inside`` is the sum of the purities of a split's branches, ``sizes`` that of `xlogx` of their sizes. The score
        is -inf where the gain is at most 1e-12. The gain is the same, unless the score is a ratio: then it is -inf
        where all records take one branch.
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
    """Score of the best split of each attribute in a node.

    ``by_gain``: whether the best cut of a number is the one that gains most, whatever its score. ``codes`` of shape
    (n,): per attribute: codes of its values, or ranks of its numbers in ``levels``. ``levels``: the sorted distinct
    numbers; empty for a categorical one.
    """

    def __init__(self, training: Training, measure: Measure, *, by_gain: bool = False) -> None:
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
        """Gain and score of the best split of each attribute among some records, each of shape (n_attributes,).

        Categorical ones are divided into all their values, numeric ones at the best cut; of those that are ``tested``,
        shape (n_attributes,), no branch may ``breach``. Both are -inf where there is no split.
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
        """The cuts between numbers of some records: of which attribute each is, and the class counts below it.

        Shapes (n_cuts,) and (n_cuts, n_classes).
        """
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
