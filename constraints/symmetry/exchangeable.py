"""Finds exchangeable classes: swapping them maps every feasible point to a feasible point.

The measures of splits are symmetric functions of the classes, so that comparisons of splits treat all classes alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from maxent.constraints.presolve.merge import EXACT
from maxent.constraints.presolve.statements import StatementRows, statement_rows
from maxent.constraints.program import Program
from maxent.models.arrays import BoolArray, FloatArray, IntArray, ranges

Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class _Hashed:
    """Rows by hashes of 64 bits: a row's is a number of what it is about, and one for each of its terms.

    ``whole``, shape (n_rows,), are these hashes, ``of_class`` and ``factor``, shapes (n_classes,) and (n_terms,), the
    numbers whose products are those of the terms; ``at``, shape (n_rows, n_classes), is 1 more than a term's index.
    """

    whole: Hashes
    of_class: Hashes
    factor: Hashes
    at: sparse.csc_matrix

    def swapped(self, one: int, other: int) -> bool:
        """Whether swapping two classes maps the rows to themselves."""
        change = np.zeros(len(self.whole), np.uint64)
        forth = np.subtract(self.of_class[[other]], self.of_class[[one]])
        for x, by in ((one, forth), (other, np.uint64(0) - forth)):
            terms = slice(self.at.indptr[x], self.at.indptr[x + 1])
            change[self.at.indices[terms]] += self.factor[self.at.data[terms] - 1] * by
        changed = np.flatnonzero(change)
        before = self.whole[changed]
        return bool(np.array_equal(np.sort(before), np.sort(before + change[changed])))


class Exchangeable:
    """Classes that sets of linear constraints treat alike; the constraints are read once for all sets."""

    def __init__(self, program: Program) -> None:
        constraints = program.linear
        self._program = program
        self._table = statement_rows(constraints, program.n_classes)
        self._ends = np.searchsorted(self._table.of, np.arange(len(constraints) + 1))
        self._region = np.array([constraint.region for constraint in constraints], np.int64)
        self._known: dict[bytes, IntArray] = {}
        self._label = np.array([c.coef[0].argmax() if c.kind == "label" else -1 for c in constraints], np.int64)

    def blocks(self, linear: IntArray) -> IntArray:
        """Blocks of classes that some linear constraints treat alike: equal numbers from 0, shape (n_classes,).

        Two classes are in a block when swapping them turns the constraints' rows into each other.
        """
        key = linear.tobytes()
        if key not in self._known:
            self._known[key] = self._found(linear)
        return self._known[key]

    def _found(self, linear: IntArray) -> IntArray:
        n = self._program.n_classes
        hashed, role = self._hashed(linear)
        block, first = np.full(n, -1, np.int64), list[int]()
        for x in range(n):
            like = (i for i, other in enumerate(first) if role[other] == role[x] and hashed.swapped(other, x))
            block[x] = next(like, len(first))
            if block[x] == len(first):
                first.append(x)
        return block

    def _hashed(self, linear: IntArray) -> tuple[_Hashed, Hashes]:
        """The rows of constraints, and a hash of what each class is in them, equal for classes that can be swapped."""
        n, table = self._program.n_classes, self._table.take(ranges(self._ends[linear], self._ends[linear + 1]))
        settled, totals = self._settled(linear, table)
        table = table.take(np.flatnonzero(~np.isin(self._region[table.of], settled) | table.weighted))
        number, random = np.repeat(np.arange(len(table)), np.diff(table.ends)), np.random.default_rng(0)
        added = len(table) + np.arange(totals.size)
        row, klass = np.concatenate([number, added]), np.concatenate([table.klass, np.tile(np.arange(n), len(settled))])
        said = np.round(totals.ravel() / EXACT) * EXACT
        about = sum(
            _numbered(np.concatenate(values), random)
            for values in (
                (self._region[table.of], np.repeat(settled, n)),
                (table.lower, said),
                (table.upper, said),
            )
        )
        factor = _numbered(np.concatenate([table.coef, np.ones(totals.size)]), random)
        factor[: len(number)] *= _numbered(self._alike(table, number), random) | np.uint64(1)
        of_class = random.integers(1, 2**63, n, np.uint64)
        whole, role = np.array(about, np.uint64), np.zeros(n, np.uint64)
        np.add.at(role, klass, (whole[row] | np.uint64(1)) * factor)
        np.add.at(whole, row, factor * of_class[klass])
        at = sparse.csc_matrix((np.arange(1, len(row) + 1), (row, klass)), shape=(len(whole), n))
        return _Hashed(whole, of_class, factor, at), role

    def _alike(self, table: StatementRows, row: IntArray) -> IntArray:
        """Equal numbers for the terms whose factors are the same in every cell, shape (n_terms,)."""
        known: dict[bytes, int] = {}
        out = np.zeros(len(row), np.int64)
        for i in np.flatnonzero(table.weighted[row]).tolist():
            weights = self._program.linear[table.of[row[i]]].weights
            assert weights is not None
            out[i] = known.setdefault(weights[:, table.klass[i]].tobytes(), len(known) + 1)
        return out

    def _settled(self, linear: IntArray, table: StatementRows) -> tuple[IntArray, FloatArray]:
        """Regions with a single possible total for every class, and these totals, shape (n_settled, n_classes)."""
        # A label with the smallest rate that it can have says, for one, that all classes are equally many.
        n = self._program.n_classes
        if not len(linear) or not self._program.single:
            return np.empty(0, np.int64), np.empty((0, n))
        regions, of = np.unique(self._region[linear], return_inverse=True)
        size = self._program.region_size[regions][:, None]
        low, high = np.zeros((len(regions), n)), np.repeat(size, n, axis=1)
        one = table.alone >= 0
        at = np.searchsorted(regions, self._region[table.of[one]]), table.alone[one]
        np.maximum.at(low, at, table.lower[one])
        np.minimum.at(high, at, table.upper[one])
        labels = self._label[linear] >= 0
        at = of[labels], self._label[linear[labels]]
        np.minimum.at(high, at[0], high[at][:, None])
        high = np.minimum(high, size - (low.sum(axis=1, keepdims=True) - low))
        low = np.maximum(low, size - (high.sum(axis=1, keepdims=True) - high))
        exact: BoolArray = (high - low <= EXACT).all(axis=1)
        return regions[exact], low[exact]


def _numbered(values: npt.NDArray[np.generic], random: np.random.Generator) -> Hashes:
    """A random number for each distinct value, shape (n,)."""
    distinct, inverse = np.unique(values, return_inverse=True)
    found: Hashes = random.integers(1, 2**63, len(distinct), np.uint64)[inverse]
    return found
