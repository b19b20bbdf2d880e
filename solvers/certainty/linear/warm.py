"""A linear program that HiGHS solves for several objectives, each from the last basis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from maxent.models.arrays import FloatArray
from maxent.solvers.certainty.linear.duality import Feasible
from maxent.solvers.clock import Clock
from maxent.solvers.dual.quiet_highs import quiet_highs

# Simplex methods of HiGHS, by their number in its option ``simplex_strategy``.
DUAL, PRIMAL = 1, 4


@dataclass(frozen=True, slots=True, eq=False)
class Vertex:
    """A point, shape (n,), and prices of the rows, shape (n_rows,); no point where there is none.

    ``meets`` is whether the point meets everything that is known, not only the rows.
    """

    point: FloatArray | None
    prices: FloatArray
    meets: bool = True


class WarmProgram:
    """A linear program over feasible points, by HiGHS' simplex method, without presolve: a basis serves all aims."""

    def __init__(self, feasible: Feasible, clock: Clock) -> None:
        import highspy

        self.feasible = feasible
        self._clock, self._columns = clock, np.arange(len(feasible.least), dtype=np.int32)
        matrix = feasible.matrix.tocsc()
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = matrix.shape[1], matrix.shape[0]
        lp.col_cost_ = np.zeros(matrix.shape[1])
        lp.col_lower_, lp.col_upper_ = feasible.least, feasible.most
        lp.row_lower_, lp.row_upper_ = feasible.lower, feasible.upper
        lp.sense_ = highspy.ObjSense.kMaximize
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
        self._optimal = highspy.HighsModelStatus.kOptimal
        self._solver = quiet_highs(solver="simplex", presolve="off")
        if clock.runs:
            self._solver.cbSimplexInterrupt += lambda event: event.interrupt(clock.stop() is not None)
        self._solver.passModel(lp)
        self._method = DUAL
        self.solves = 0

    def largest(self, aim: FloatArray) -> Vertex | None:
        """A point where an aim, shape (n,), is largest, and prices that prove it; None when there was no time."""
        self._solver.changeColsCost(len(aim), self._columns, aim)
        return self._solved()

    def add_rows(self, matrix: sparse.csr_matrix, lower: FloatArray) -> None:
        """Further rows ``matrix z >= lower``."""
        old, new = self.feasible, np.full(len(lower), np.inf)
        rows = sparse.csr_matrix(sparse.vstack([old.matrix, matrix]))
        sides = np.append(old.lower, lower), np.append(old.upper, new)
        self.feasible = Feasible(rows, *sides, old.least, old.most)
        start = matrix.indptr[:-1].astype(np.int32)
        self._solver.addRows(len(lower), lower, new, matrix.nnz, start, matrix.indices.astype(np.int32), matrix.data)
        self._method = DUAL

    def _solved(self) -> Vertex | None:
        self._solver.setOptionValue("simplex_strategy", self._method)
        self._solver.run()
        self.solves += 1
        # Now the basis is feasible, and another aim leaves it so: the primal method goes on from it.
        self._method = PRIMAL
        solution = self._solver.getSolution()
        if self._clock.stop() is not None:
            return None
        prices = np.array(solution.row_dual) if solution.dual_valid else np.zeros(self._solver.getNumRow())
        if self._solver.getModelStatus() == self._optimal:
            return Vertex(np.array(solution.col_value), prices)
        ray = self._solver.getDualRay()
        return Vertex(None, -np.array(ray[2]) if ray[1] else prices)
