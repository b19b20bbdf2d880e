"""Statements that contradict each other: find the smallest weighted slack that reconciles them.

Linear statements first, as a linear program; then the internal ones, as the same nonlinear program with a slack
variable in every row and a penalty on it. The totals of quasi-identifiers and the definitions never give way.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy import sparse

from maxent.constraints.lifted import LiftedProgram
from maxent.solvers.backend import Options
from maxent.solvers.derivatives import Derivatives, IntArray
from maxent.solvers.via_ipopt import run

FloatArray = npt.NDArray[np.float64]

NO_SLACK = 1e-7
"""Individuals (linear rows) or impurity units (internal rows) below which a slack is rounding."""

PENALTY = 100.0
"""Nats that an individual of slack costs; multipliers of the internal rows stay near 1."""


def relax_linear(program: LiftedProgram) -> LiftedProgram:
    """The program with the fewest individuals of slack in its linear statements that lets all of them hold."""
    from scipy.optimize import linprog

    soft = np.array([origin is not None for origin in program.origins])
    n, n_soft = program.n, int(soft.sum())
    pick = sparse.csr_matrix((np.ones(n_soft), (np.flatnonzero(soft), np.arange(n_soft))), shape=(len(soft), n_soft))
    matrix = sparse.hstack([program.matrix, pick, -pick], format="csr")
    finite_low, finite_high = np.isfinite(program.row_lower), np.isfinite(program.row_upper)
    result = linprog(
        np.concatenate([np.zeros(n), np.ones(2 * n_soft)]),
        A_ub=sparse.vstack([matrix[finite_high], -matrix[finite_low]], format="csr"),
        b_ub=np.concatenate([program.row_upper[finite_high], -program.row_lower[finite_low]]),
        bounds=np.column_stack(
            [
                np.concatenate([program.lower, np.zeros(2 * n_soft)]),
                np.concatenate([program.upper, np.full(2 * n_soft, np.inf)]),
            ]
        ),
        method="highs",
    )
    if result.x is None:
        return program
    up, down = np.zeros(len(soft)), np.zeros(len(soft))
    up[soft], down[soft] = result.x[n : n + n_soft], result.x[n + n_soft :]
    gave = np.maximum(up, down) > NO_SLACK
    return replace(
        program,
        row_lower=np.where(gave, program.row_lower - up, program.row_lower),
        row_upper=np.where(gave, program.row_upper + down, program.row_upper),
    )


def relax_internal(
    program: LiftedProgram, start: FloatArray, options: Options
) -> tuple[LiftedProgram, FloatArray, bool]:
    """The program with just enough slack in its internal rows, a point near feasibility, and whether any was needed."""
    derivatives = _WithSlack(program)
    wide = np.concatenate(
        [start, np.maximum(-derivatives.plain.constraints(start)[derivatives.first :] - program.nl_const, 0.0) + 1e-3]
    )
    point = run(
        derivatives,
        derivatives,
        np.concatenate([program.lower, np.zeros(derivatives.n_slack)]),
        np.concatenate([program.upper, np.full(derivatives.n_slack, np.inf)]),
        wide,
        options,
    ).point
    slack = point[program.n :]
    needed = slack > 1e-6
    relaxed = replace(program, nl_const=np.where(needed, program.nl_const + slack * (1 + 1e-6), program.nl_const))
    return relaxed, point[: program.n], bool(needed.any())


class _WithSlack(Derivatives):
    """A program's derivatives with a slack variable, at a price, in every nonlinear row."""

    def __init__(self, program: LiftedProgram) -> None:
        super().__init__(program)
        self.plain = Derivatives(program)
        self.first, self.n_slack = self.n_linear, len(program.nl_const)
        rows, columns = self.plain.jacobianstructure()
        own = np.arange(self.n_slack)
        self._jacobian = (np.concatenate([rows, self.first + own]), np.concatenate([columns, program.n + own]))
        self._price = PENALTY * program.nl_size

    def objective(self, z: FloatArray) -> float:
        n = self.program.n
        return super().objective(z[:n]) + float(self._price @ z[n:])

    def gradient(self, z: FloatArray) -> FloatArray:
        return np.concatenate([super().gradient(z[: self.program.n]), self._price])

    def constraints(self, z: FloatArray) -> FloatArray:
        value = super().constraints(z[: self.program.n])
        value[self.first :] += z[self.program.n :]
        return value

    def jacobian(self, z: FloatArray) -> FloatArray:
        return np.concatenate([super().jacobian(z[: self.program.n]), np.ones(self.n_slack)])

    def hessian(self, z: FloatArray, multipliers: FloatArray, objective_factor: float) -> FloatArray:
        return super().hessian(z[: self.program.n], multipliers, objective_factor)

    def hessianstructure(self) -> tuple[IntArray, IntArray]:
        return self._hessian
