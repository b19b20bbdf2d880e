"""How much every split of a node gains, for many splits at once: records as integers, classes counted by `bincount`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from maxent.models.breach import Criterion
from maxent.models.release import Impurity
from maxent.models.training import Training

IntArray: TypeAlias = npt.NDArray[np.int64]
FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

TIE = 1e-12
"""Gains that differ by less are one and the same number, summed in another order."""


@dataclass(frozen=True, slots=True)
class Measure:
    """What splits are compared by: the gain in Gini or entropy (nats), or the gain / split information.

    A split that gains at most 1e-12 has the score -inf.
    """

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

    def score(self, inside: FloatArray, sizes: FloatArray, counts: IntArray) -> FloatArray:
        """Scores of splits of a node with some class counts, shape (n_splits,).

        ``inside`` is the sum of the purities of a split's branches, ``sizes`` that of `xlogx` of their sizes.
        """
        n = counts.sum()
        gain = (inside - self.purity(counts, n)) / n
        if self.impurity == "gain_ratio":
            # What gains divides: split information is positive where it is used.
            out = np.full(len(gain), -np.inf)
            return np.asarray(np.divide(gain, (self.xlogx[n] - sizes) / n, out=out, where=gain > TIE))
        return np.where(gain > TIE, gain, -np.inf)


class Scorer:
    """The best score of each attribute in a node.

    Attributes
    ----------
    codes : tuple of int32 arrays, each of shape (n,)
        Per attribute: codes of its values, or ranks of its numbers in ``levels``.
    levels : tuple of float64 arrays, one per attribute
        The sorted distinct numbers; empty for a categorical one.
    """

    def __init__(self, training: Training, measure: Measure) -> None:
        self.measure = measure
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
    ) -> FloatArray:
        """The score of the best split of each attribute among some records, shape (n_attributes,).

        Categorical ones are divided into all their values, numeric ones at the best cut; of those that are ``tested``,
        shape (n_attributes,), no branch may ``breach``.
        """
        found = np.full(len(self.codes), -np.inf)
        if len(self._named):
            cells = np.bincount(self._joint[:, rows].ravel(), minlength=self._n_values * self.n_classes)
            cells = cells.reshape(self._n_values, self.n_classes)
            size = cells.sum(axis=1)
            inside = np.add.reduceat(self.measure.purity(cells, size), self._first)
            sizes = np.add.reduceat(self.measure.xlogx[size], self._first)
            found[self._named] = self.measure.score(inside, sizes, counts)
            if breach is not None and tested is not None:
                bad = np.logical_or.reduceat(breach(cells), self._first)
                found[self._named[bad & tested[self._named]]] = -np.inf
        if len(self._numeric):
            attribute, below = self._cuts(rows)
            score = self.cut_scores(below, counts)
            if breach is not None and tested is not None:
                score[tested[attribute] & (breach(below) | breach(counts - below))] = -np.inf
            np.maximum.at(found, attribute, score)
        return found

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

    def cut_scores(self, left: IntArray, counts: IntArray) -> FloatArray:
        """Scores of splits in two, from the class counts of one side, shape (n_splits, n_classes)."""
        right, low = counts - left, left.sum(axis=1)
        high = counts.sum() - low
        inside = self.measure.purity(left, low) + self.measure.purity(right, high)
        return self.measure.score(inside, self.measure.xlogx[low] + self.measure.xlogx[high], counts)

    def split_score(self, table: IntArray, counts: IntArray) -> float:
        """The score of one split from the class counts of its branches, shape (n_branches, n_classes)."""
        size = table.sum(axis=1)
        inside, sizes = self.measure.purity(table, size), self.measure.xlogx[size]
        return float(self.measure.score(inside.sum(keepdims=True), sizes.sum(keepdims=True), counts)[0])

    def table(self, rows: IntArray, code: IntArray, n_codes: int) -> IntArray:
        """Records of each code and class, shape (n_codes, n_classes); ``code`` has the shape of ``rows``."""
        cells = np.bincount(code * self.n_classes + self.y[rows], minlength=n_codes * self.n_classes)
        return cells.reshape(n_codes, self.n_classes)


def _stack(arrays: Sequence[npt.NDArray[Any]], dtype: Any, like: IntArray) -> npt.NDArray[Any]:
    """The arrays, which have the shape of ``like``, as rows of one."""
    return np.stack(arrays).astype(dtype) if arrays else np.zeros((0, len(like)), dtype)
