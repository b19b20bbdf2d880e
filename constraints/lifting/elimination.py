"""Removes the aggregates of a program: writes every variable as a sum of free masses.

An aggregate is a sum of masses and of aggregates before it. So ``z = definitions z + shift``, repeated as often as
aggregates are nested, leaves only free masses on the right.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.models.arrays import BoolArray, FloatArray, IntArray, ranges


@dataclass(frozen=True, eq=False)
class Elimination:
    """Variables in terms of the ``free`` ones, which have no definition and no shift.

    ``definitions``, shape (n, n), has rows for aggregates only, each with entries for variables before it. ``shift``,
    shape (n,), are the constants of these, and the values of variables that are fixed.
    """

    definitions: sparse.csr_matrix
    shift: FloatArray
    free: IntArray

    def point(self, masses: FloatArray) -> FloatArray:
        """Every variable, shape (n,), at some free masses."""
        start = self.shift.copy()
        start[self.free] = masses
        return _accumulated(self.definitions, start)

    def sums(self, values: FloatArray) -> FloatArray:
        """Sums of values of the free masses in every variable, without constants, shape (n,)."""
        start = np.zeros(len(self.shift))
        start[self.free] = values
        return _accumulated(self.definitions, start)

    def spread(self, values: FloatArray) -> FloatArray:
        """Values of all variables, shape (n,), at each free mass: the sum over the variables it is in."""
        return _accumulated(self.definitions.T, values)[self.free]

    def over_free(self, matrix: sparse.csr_matrix) -> tuple[sparse.csr_matrix, FloatArray]:
        """Linear expressions in all variables, one per row, as expressions in the free masses and constants."""
        over, constant = self.variables
        found = (matrix @ over).tocsr()
        found.eliminate_zeros()
        found.sort_indices()
        return found, matrix @ constant

    @cached_property
    def variables(self) -> tuple[sparse.csr_matrix, FloatArray]:
        """Every variable as an expression in the free masses, shape (n, n_free), and its constant."""
        constant, more = self.shift, self.definitions
        n, n_free = len(constant), len(self.free)
        ends = np.zeros(n + 1, np.int32)
        ends[self.free + 1] = 1
        at = np.arange(n_free, dtype=np.int32), np.cumsum(ends, dtype=np.int32)
        found = sparse.csr_matrix((np.ones(n_free), *at), shape=(n, n_free))
        while more.nnz:
            found, constant = found + more[:, self.free], constant + more @ self.shift
            more = more @ self.definitions
            more.eliminate_zeros()
        return found, constant


def eliminate(program: LiftedProgram, fixed: BoolArray) -> tuple[Elimination, IntArray]:
    """The elimination of a program's aggregates, and the rows that define them; ``fixed`` variables have their value.

    A definition is an equation whose last variable that is not fixed is an aggregate. The shift of an aggregate without
    one is NaN, and so becomes the constant of whatever refers to it.
    """
    n, n_masses, matrix = program.n, program.n_masses, program.matrix
    known = np.where(fixed, program.lower, 0.0)
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    some = np.flatnonzero(~fixed[matrix.indices] & (matrix.data != 0))
    some = some[np.lexsort((matrix.indices[some], row[some]))]
    row, column, value = row[some], matrix.indices[some], matrix.data[some]
    begin = np.searchsorted(row, np.arange(matrix.shape[0] + 1))
    filled = np.flatnonzero(np.diff(begin))
    last = np.full(matrix.shape[0], -1)
    last[filled] = column[begin[filled + 1] - 1]
    equations = np.flatnonzero((last >= n_masses) & (program.row_lower == program.row_upper))
    aggregates, first = np.unique(last[equations], return_index=True)
    defining = equations[first]
    factor = value[begin[defining + 1] - 1]
    count = np.diff(begin)[defining] - 1
    others = ranges(begin[defining], begin[defining] + count)
    ends = np.zeros(n + 1, np.int64)
    ends[aggregates + 1] = count
    definitions = sparse.csr_matrix(
        (-(np.repeat(1 / factor, count) * value[others]), column[others], np.cumsum(ends)), shape=(n, n)
    )
    shift = np.where(fixed | (np.arange(n) < n_masses), known, np.nan)
    shift[aggregates] = (program.row_lower - matrix @ known)[defining] / factor
    return Elimination(definitions, shift, np.flatnonzero(~fixed[:n_masses])), defining


def passive_chain(jacobian: sparse.csr_matrix | FloatArray, passive: BoolArray) -> list[tuple[IntArray, IntArray]]:
    """Rows and columns that can be solved for one by one, in the order in which they follow from each other.

    A passive column in a single row is what that row makes it, and the row has no multiplier. Without both, further
    columns are in a single row: the aggregates that they were made of. Most comparisons are not active, and leaving out
    their aggregates is what makes a large system sparse.
    """
    row, column = jacobian.nonzero()
    chain: list[tuple[IntArray, IntArray]] = []
    here = np.ones(len(row), bool)
    while True:
        single = passive & (np.bincount(column[here], minlength=len(passive)) == 1)
        at = np.flatnonzero(here & single[column])
        rows, first = np.unique(row[at], return_index=True)
        if not len(rows):
            return chain
        chain.append((rows, column[at[first]]))
        here &= ~np.isin(row, rows)


def _accumulated(matrix: sparse.spmatrix, start: FloatArray) -> FloatArray:
    """The sum of ``start``, ``matrix @ start``, ``matrix @ matrix @ start``, ..., which ends where nesting does."""
    found, more = start, matrix @ start
    while more.any():
        found, more = found + more, matrix @ more
    return found
