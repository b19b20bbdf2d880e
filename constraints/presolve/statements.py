"""Rows of several linear constraints as arrays, for vectorised code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maxent.constraints.program import Linear
from maxent.models.arrays import BoolArray, FloatArray, IntArray, ranges, run_ends


@dataclass(frozen=True, slots=True, eq=False)
class StatementRows:
    """Rows ``lower <= sum over a region of coef @ masses <= upper``, in the order of their constraints.

    ``of`` are indices into the constraints given, shape (n_rows,); ``alone`` is the class of a row that bounds the mass
    of one class, -1 where it is about several, or weighs cells. ``coef`` are the coefficients that are not 0, of the
    classes ``klass``: those of row r are ``coef[ends[r]:ends[r + 1]]``. In rows that are ``weighted``, shape (n_rows,),
    each cell has a factor besides (`Linear.weights`).
    """

    of: IntArray
    lower: FloatArray
    upper: FloatArray
    alone: IntArray
    ends: IntArray
    klass: IntArray
    coef: FloatArray
    weighted: BoolArray

    def __len__(self) -> int:
        return len(self.of)

    def take(self, rows: IntArray) -> StatementRows:
        """Some of the rows."""
        start, stop = self.ends[rows], self.ends[rows + 1]
        entry = ranges(start, stop)
        return StatementRows(
            self.of[rows],
            self.lower[rows],
            self.upper[rows],
            self.alone[rows],
            run_ends(stop - start),
            self.klass[entry],
            self.coef[entry],
            self.weighted[rows],
        )


def statement_rows(constraints: Sequence[Linear], n_classes: int) -> StatementRows:
    """All rows of some constraints; of their arrays of coefficients, few differ, and each is read once."""
    number: dict[bytes, int] = {}  # one copy of each: there can be as many numbers as constraints times classes
    matrices: list[FloatArray] = []
    held: dict[int, int] = {}  # most constraints of a kind share the very array
    numbers: list[int] = []
    for coef in (constraint.coef for constraint in constraints):
        if (known := held.get(id(coef))) is None:
            known = held[id(coef)] = number.setdefault(coef.tobytes(), len(number))
            if known == len(matrices):
                matrices.append(coef)
        numbers.append(known)
    which = np.array(numbers, np.int64)
    stacked = np.concatenate([np.zeros((0, n_classes)), *matrices])
    row, klass = np.nonzero(stacked)
    coef, length = stacked[row, klass], np.bincount(row, minlength=len(stacked))
    ends = run_ends(length)
    alone = np.full(len(stacked), -1, np.int64)
    only = ends[:-1][length == 1]
    alone[length == 1] = np.where(coef[only] == 1, klass[only], -1)
    first = run_ends(np.array([len(matrix) for matrix in matrices], np.int64))
    source = ranges(first[which], first[which + 1])  # the row of `stacked` that each row is
    entry = ranges(ends[source], ends[source + 1])
    nothing = np.empty(0)
    of = np.repeat(np.arange(len(which)), first[which + 1] - first[which])
    weighted = np.array([c.weights is not None for c in constraints], bool)[of]
    return StatementRows(
        of,
        np.concatenate([nothing, *(c.lower for c in constraints)]),
        np.concatenate([nothing, *(c.upper for c in constraints)]),
        np.where(weighted, -1, alone[source]),
        run_ends(length[source]),
        klass[entry],
        coef[entry],
        weighted,
    )
