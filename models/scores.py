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

_SHORT = 256
"""Distinct numbers up to which it is faster to count them all than to sort those of a node."""


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
        x = np.arange(n + 1)
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
            return np.divide(gain, (self.xlogx[n] - sizes) / n, out=np.full(len(gain), -np.inf), where=gain > TIE)
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
        sizes = [len(a.values) if a.values is not None else len(n) for a, n in zip(attributes, levels, strict=True)]
        named = [i for i, a in enumerate(attributes) if a.values is not None]
        short = [i for i, a in enumerate(attributes) if a.values is None and sizes[i] <= _SHORT]
        long = [i for i, a in enumerate(attributes) if a.values is None and sizes[i] > _SHORT]
        # What has few codes is counted: one number per attribute and record, of its code and the class of the record.
        counted = [*named, *short]
        first = np.cumsum([0, *(sizes[i] for i in counted)])
        self._joint = _stack(
            [(codes[i] + at) * self.n_classes + self.y for i, at in zip(counted, first, strict=False)], np.int64, self.y
        )
        self._n_cells = int(first[-1])
        self._named, self._first = np.array(named, np.int64), first[: len(named)]
        self._short = np.repeat(np.arange(len(short)), [sizes[i] for i in short])
        self._short_attribute = np.array(short, np.int64)
        # What has many is sorted.
        self._long = np.array(long, np.int64)
        width = np.min_scalar_type(max((sizes[i] for i in long), default=0))
        self._ranks = _stack([codes[i] for i in long], width, self.y)

    def scores(
        self, rows: IntArray, counts: IntArray, breach: Criterion | None = None, tested: BoolArray | None = None
    ) -> FloatArray:
        """The score of the best split of each attribute among some records, shape (n_attributes,).

        Categorical ones are divided into all their values, numeric ones at the best cut; of those that are ``tested``,
        shape (n_attributes,), no branch may ``breach``.
        """
        found = np.full(len(self.codes), -np.inf)
        cells = np.bincount(self._joint[:, rows].ravel(), minlength=self._n_cells * self.n_classes)
        cells = cells.reshape(self._n_cells, self.n_classes)
        if len(self._named):
            values = cells[: len(cells) - len(self._short)]
            size = values.sum(axis=1)
            inside = np.add.reduceat(self.measure.purity(values, size), self._first)
            sizes = np.add.reduceat(self.measure.xlogx[size], self._first)
            found[self._named] = self.measure.score(inside, sizes, counts)
            if breach is not None and tested is not None:
                bad = np.logical_or.reduceat(breach(values), self._first)
                found[self._named[bad & tested[self._named]]] = -np.inf
        cuts = []
        if len(self._short):
            cuts.append(self._counted_cuts(cells[len(cells) - len(self._short) :], counts))
        if len(self._long):
            cuts.append(self._sorted_cuts(rows))
        for attribute, left in cuts:
            score = self.cut_scores(left, counts)
            if breach is not None and tested is not None:
                score[tested[attribute] & (breach(left) | breach(counts - left))] = -np.inf
            np.maximum.at(found, attribute, score)
        return found

    def _counted_cuts(self, cells: IntArray, counts: IntArray) -> tuple[IntArray, IntArray]:
        """The cuts of attributes with few numbers: of which attribute each is, and the class counts below it.

        Shapes (n_cuts,) and (n_cuts, n_classes); ``cells`` are the records of each number and class.
        """
        below = np.cumsum(cells, axis=0) - self._short[:, None] * counts
        cuts = np.flatnonzero(cells.any(axis=1) & (below < counts).any(axis=1))
        return self._short_attribute[self._short[cuts]], below[cuts]

    def _sorted_cuts(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """The cuts of the other numeric attributes, as in `_counted_cuts`."""
        ranks = self._ranks[:, rows]
        order = np.argsort(ranks, axis=1, kind="stable")
        ranks = np.take_along_axis(ranks, order, axis=1)
        of, last = np.nonzero(ranks[:, 1:] != ranks[:, :-1])  # the last record below each cut
        y = self.y[rows][order]
        below = np.stack([np.cumsum(y == c, axis=1)[of, last] for c in range(self.n_classes)], axis=1)
        return self._long[of], below

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
