"""Runs of Ipopt through cyipopt, in a process of their own for large programs, and refinement of rough answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from maxent.models.arrays import FloatArray, IntArray
from maxent.solvers.control import SOON, Clock
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.solution import Stop
from maxent.solvers.workers import LARGE, Tell, apart

if TYPE_CHECKING:
    from maxent.constraints.lifting import LiftedProgram
    from maxent.solvers.backend import Options

# The status of a run that was ended; Ipopt itself has others.
NO_TIME = -100


class IpoptRows(Protocol):
    """The rows of a program, as `run` looks at them."""

    @property
    def n_rows(self) -> int: ...
    def bounds(self) -> tuple[FloatArray, FloatArray]: ...


class Callbacks(Protocol):
    """The callbacks of cyipopt's problem object."""

    def objective(self, z: FloatArray) -> float: ...
    def gradient(self, z: FloatArray) -> FloatArray: ...
    def constraints(self, z: FloatArray) -> FloatArray: ...
    def jacobian(self, z: FloatArray) -> FloatArray: ...
    def jacobianstructure(self) -> tuple[IntArray, IntArray]: ...
    def hessian(self, z: FloatArray, multipliers: FloatArray, objective_factor: float) -> FloatArray: ...
    def hessianstructure(self) -> tuple[IntArray, IntArray]: ...


@dataclass(frozen=True, slots=True, eq=False)
class Multipliers:
    """Of the rows, and of the lower and upper bounds of the variables, the last two not negative; nats per unit."""

    rows: FloatArray
    lower: FloatArray
    upper: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """End of one run of Ipopt; ``feasible`` is the best feasible point on the way, ``stopped`` is by the clock."""

    point: FloatArray
    status: int
    iterations: int
    feasible: FloatArray | None
    stopped: Stop | None
    multipliers: Multipliers | None = None


def run(
    callbacks: Callbacks,
    own: IpoptRows,
    lower: FloatArray,
    upper: FloatArray,
    start: FloatArray,
    options: Options,
    *,
    monotone: bool = False,
    fine: bool = False,
) -> Run:
    """One Ipopt run, which the clock may end early; ``fine`` goes on from a solution.

    Near a constraint that is only just met the complementarity that is left has to be far below the tolerance.
    """
    settings: dict[str, Any] = {
        "sb": "yes",
        "print_level": 0,
        "mu_strategy": "monotone" if monotone else "adaptive",
        "bound_relax_factor": 0.0,  # else masses go below 0 and their logarithm fails
        "honor_original_bounds": "no",
        "tol": 1e-8,
        "constr_viol_tol": 0.1 * options.tolerance,
        "acceptable_tol": 1e-6,
        "acceptable_constr_viol_tol": 0.1 * options.tolerance,
        "max_iter": options.iterations(len(lower)),
    }
    if fine:
        settings |= {"mu_strategy": "monotone", "mu_init": 1e-9, "compl_inf_tol": 1e-15, "dual_inf_tol": 1e-6}
        settings |= {"mu_target": 0.0, "bound_push": 1e-12, "bound_frac": 1e-12, "slack_bound_push": 1e-12}
        settings |= {"slack_bound_frac": 1e-12, "tol": 1e-12, "acceptable_iter": 0, "max_iter": 100}
    arguments = callbacks, own.bounds(), lower, upper, np.clip(start, lower, upper), settings, options.tolerance
    clock = options.clock
    if not clock.runs or len(lower) + own.n_rows <= LARGE:
        return _run(*arguments, clock, lambda point: None)
    best: list[FloatArray] = []
    found: Run | None = apart(_run, arguments, clock, best.append)
    if found is not None:
        return found
    feasible = best[-1] if best else None
    return Run(start if feasible is None else feasible, NO_TIME, 0, feasible, clock.stop())


def _run(
    callbacks: Callbacks,
    rows: tuple[FloatArray, FloatArray],
    lower: FloatArray,
    upper: FloatArray,
    start: FloatArray,
    settings: Mapping[str, Any],
    tolerance: float,
    clock: Clock,
    tell: Tell,
) -> Run:
    import cyipopt

    problem = _Problem(callbacks, tolerance, clock, tell)
    row_lower, row_upper = rows
    solver = cyipopt.Problem(
        n=len(lower), m=len(row_lower), problem_obj=problem, lb=lower, ub=upper, cl=row_lower, cu=row_upper
    )
    for key, value in settings.items():
        solver.add_option(key, value)
    problem.solver = solver
    point, info = solver.solve(start)
    multipliers = Multipliers(info["mult_g"], info["mult_x_L"], info["mult_x_U"])
    return Run(point, int(info["status"]), problem.iterations, problem.feasible, problem.stopped, multipliers)


class _Problem:
    """The callbacks with cyipopt's interface; counts iterations, keeps the best feasible one, and asks the clock."""

    def __init__(self, callbacks: Callbacks, tolerance: float, clock: Clock, tell: Tell) -> None:
        self.objective, self.gradient, self.constraints = callbacks.objective, callbacks.gradient, callbacks.constraints
        self.jacobian, self.jacobianstructure = callbacks.jacobian, callbacks.jacobianstructure
        self.hessian, self.hessianstructure = callbacks.hessian, callbacks.hessianstructure
        self._tolerance, self._clock, self._tell = tolerance, clock, tell
        self.solver: Any = None
        self.iterations = 0
        self.feasible: FloatArray | None = None
        self.stopped: Stop | None = None
        self._least = np.inf

    def intermediate(self, mode: int, iteration: int, objective: float, violation: float, *progress: float) -> bool:
        """Called by Ipopt after every iteration."""
        self.iterations = iteration
        if violation <= self._tolerance and objective < self._least:
            current = self.solver.get_current_iterate()
            if current is not None:
                self._least, self.feasible = objective, current["x"]
                self._tell(self.feasible)
        self.stopped = self._clock.stop()
        return self.stopped is None


# Refines the answer of a solver with wide tolerances to ours, near the same optimum, with Ipopt.

# Share of the individuals by which the answer may move; further off lies another optimum.
NEAR = 1e-2


def refined(program: LiftedProgram, point: FloatArray, options: Options) -> FloatArray:
    """A few interior-point steps (Ipopt) from an answer to a program, which comes back where they find nothing better.

    Global solvers stop within 1e-6 of the best entropy, which leaves the probabilities 1e-3 to move.
    """
    own = Derivatives(program)
    near = np.clip(point, program.lower, program.upper)
    if not (program.upper > program.lower).any():
        return near
    late = options.clock.late()
    if options.clock.stop() is not None:  # the best point so far is of use only where it meets all constraints
        options = replace(options, clock=Clock(max(0.0, SOON - late)))
    finer = run(own, own, program.lower, program.upper, near, options, fine=True).point
    if not np.isfinite(finer).all() or np.abs(finer - near).max(initial=0.0) > NEAR * max(1.0, program.total.sum()):
        return near
    before, after = own.violation(near), own.violation(finer)
    if after > options.tolerance:
        return finer if after < before else near
    return finer if before > 0.01 * options.tolerance or own.objective(finer) <= own.objective(near) else near
