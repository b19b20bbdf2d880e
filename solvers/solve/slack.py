"""Finds the smallest weighted slack that reconciles contradictory statements.

Linear statements first, as a linear program; then the internal ones, as the same nonlinear program with a slack
variable in every row and a penalty on it. The totals of quasi-identifiers and the definitions never give way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import sparse

from maxent.constraints.lifting.implicit_equalities import SOLVED
from maxent.constraints.lifting.lift import LiftedPart
from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.models.arrays import FloatArray, IntArray
from maxent.models.packages import installed
from maxent.solvers.apart import Tell, apart, may_be_ended
from maxent.solvers.backend import FEW, Options
from maxent.solvers.backends.ipopt_run import run
from maxent.solvers.clock import Clock, in_time
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.solve import starts

# Individuals (linear rows) or impurity units (internal rows) below which a slack is rounding.
NO_SLACK = 1e-7
# Further starts of small programs while slack is left.
RETRIES = 4
# Nats that an individual of slack costs; multipliers of the internal rows stay near 1.
PENALTY = 100.0


def relax_linear(program: LiftedProgram, clock: Clock) -> LiftedProgram | None:
    """The program with the fewest individuals of slack in its linear statements that lets all of them hold.

    None when that is not known in time.
    """
    if not may_be_ended(program, clock):
        return in_time(clock, lambda: _relax_linear(program, clock.left()))
    found: LiftedProgram | None = apart(_relax_linear_there, (program,), clock, lambda nothing: None)
    return found


def _relax_linear_there(program: LiftedProgram, clock: Clock, tell: Tell) -> LiftedProgram | None:
    return _relax_linear(program, clock.left())


def _relax_linear(program: LiftedProgram, seconds: float | None) -> LiftedProgram | None:
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
        options={"time_limit": seconds},
    )
    if result.status != SOLVED:
        return None
    up, down = np.zeros(len(soft)), np.zeros(len(soft))
    up[soft], down[soft] = result.x[n : n + n_soft], result.x[n + n_soft :]
    gave = np.maximum(up, down) > NO_SLACK
    return replace(
        program,
        row_lower=np.where(gave, program.row_lower - up, program.row_lower),
        row_upper=np.where(gave, program.row_upper + down, program.row_upper),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Loose:
    """A program with the slack that its internal rows were found to need, and a point that all but meets it.

    ``gave`` is whether they needed any, ``slack`` how much in all, impurity times individuals.
    """

    program: LiftedProgram
    point: FloatArray
    gave: bool
    slack: float


def relax_internal(part: LiftedPart, program: LiftedProgram, first: FloatArray, options: Options) -> Loose | None:
    """The least slack found in the internal rows, from several starts where it may be a local minimum.

    ``program`` is over the variables of ``part``, and ``first`` are masses of its groups. None when there is no time,
    or Ipopt is not installed.
    """
    if not installed("cyipopt"):
        return None
    rng = np.random.default_rng(options.seed)
    least: Loose | None = None
    for number in range(1 if program.convex or program.n > FEW else 1 + RETRIES):
        masses = first if number == 0 else starts.start(number - 1, part, first, rng)
        found = in_time(options.clock, partial(_relax_internal, program, part.point(masses), options))
        if found is None or options.clock.stop() is not None:
            return least
        if least is None or found.slack < least.slack:
            least = found
        if not found.gave:
            break
    return least


def _relax_internal(program: LiftedProgram, start: FloatArray, options: Options) -> Loose:
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
    total = float(np.where(needed, slack * program.nl_size, 0.0).sum())
    return Loose(relaxed, point[: program.n], bool(needed.any()), total)


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
