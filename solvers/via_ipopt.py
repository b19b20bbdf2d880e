"""Ipopt through cyipopt: the Pyomo NLP while the program is small, the program's own derivatives when it is large."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from maxent.constraints.lifted import LiftedProgram
from maxent.solvers.backend import Options
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.solution import Solution, Stop

FloatArray = npt.NDArray[np.float64]

FLOOR = 1e-5
"""Lower bound on aggregates inside the chosen split's logarithms, as a share of the branch, in the first solve."""

_STOPS = {
    0: Stop.CONVERGED,
    1: Stop.CONVERGED,  # acceptable level: what it is worth is measured, not believed
    2: Stop.INFEASIBLE,
    -1: Stop.ITERATION_LIMIT,
}


class Callbacks(Protocol):
    """What cyipopt asks of a problem object."""

    def objective(self, z: FloatArray) -> float: ...
    def gradient(self, z: FloatArray) -> FloatArray: ...
    def constraints(self, z: FloatArray) -> FloatArray: ...
    def jacobian(self, z: FloatArray) -> FloatArray: ...
    def hessian(self, z: FloatArray, multipliers: FloatArray, objective_factor: float) -> FloatArray: ...


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """How one run of Ipopt ended; ``feasible`` is the best feasible point on the way, ``stopped`` is by the clock."""

    point: FloatArray
    status: int
    iterations: int
    feasible: FloatArray | None
    stopped: Stop | None


class IpoptBackend:
    """Interior-point solves of a part; for entropy first with a floor under the chosen split's logarithms."""

    name = "ipopt"
    solves = "every program; a reference where parts are small"

    def version(self) -> str:
        """The version of Ipopt."""
        import cyipopt

        return ".".join(map(str, cyipopt.IPOPT_VERSION))

    def refuses(self, program: LiftedProgram) -> str | None:
        """Ipopt takes every program."""
        return None

    def solve(self, program: LiftedProgram, start: FloatArray, options: Options) -> Solution:
        """Solve from ``start``; see `maxent.solvers.backend.Backend`."""
        own = Derivatives(program)
        callbacks: Callbacks = own
        if options.form == "pyomo":
            from maxent.solvers.pyomo_model import PyomoDerivatives

            callbacks = PyomoDerivatives(program, start)
        floor = _floor(program)
        entropic = bool((floor > program.lower).any())
        runs = []
        if entropic:
            runs.append(run(callbacks, own, np.maximum(program.lower, floor), program.upper, start, options))
            start = runs[0].point if own.violation(runs[0].point) < 1e-4 else start
        if not runs or runs[0].stopped is None:
            runs.append(run(callbacks, own, program.lower, program.upper, start, options, monotone=entropic))
        last = runs[-1]
        point, stop = last.point, last.stopped or _STOPS.get(last.status, Stop.NUMERICAL)
        if program.convex and last.status == 0:
            runs.append(run(callbacks, own, program.lower, program.upper, point, options, fine=True))
            if runs[-1].status == 0 and own.violation(runs[-1].point) <= options.tolerance:
                point = runs[-1].point
        if stop is not Stop.CONVERGED:
            point = _best(own, [point, *(r.feasible for r in runs if r.feasible is not None)], options.tolerance)
        iterations = sum(r.iterations for r in runs)
        return Solution(point, stop, own.violation(point), iterations, f"Ipopt status {last.status}", self.name)


def _best(own: Derivatives, points: list[FloatArray], tolerance: float) -> FloatArray:
    """The feasible point with the largest entropy, the first one where none is feasible."""
    feasible = [point for point in points if own.violation(point) <= tolerance]
    return min(feasible, key=own.objective) if feasible else points[0]


def _floor(program: LiftedProgram) -> FloatArray:
    """Lower bounds for aggregates whose logarithm stands on the side that the solver makes smaller."""
    floor = program.lower.copy()
    for terms in program.terms:
        if terms.phi == "entropy":
            mine = (terms.coef > 0) & (terms.size_var < 0)
            np.maximum.at(floor, terms.var[mine], FLOOR * terms.size[mine])
    return np.minimum(floor, 0.5 * program.upper)


def run(
    callbacks: Callbacks,
    own: Derivatives,
    lower: FloatArray,
    upper: FloatArray,
    start: FloatArray,
    options: Options,
    *,
    monotone: bool = False,
    fine: bool = False,
) -> Run:
    """One Ipopt run, which the clock may end early.

    ``fine`` goes on from a solution: a constraint that is only just met (no slack, no multiplier) keeps an interior
    point away by the square root of the complementarity that is left, so that has to be far below the tolerance.
    """
    import cyipopt

    problem = _Problem(callbacks, options)
    row_lower, row_upper = own.bounds()
    solver = cyipopt.Problem(
        n=len(lower), m=len(row_lower), problem_obj=problem, lb=lower, ub=upper, cl=row_lower, cu=row_upper
    )
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
        "max_iter": options.iterations_for(own.program),
    }
    if fine:
        settings |= {"mu_strategy": "monotone", "mu_init": 1e-9, "compl_inf_tol": 1e-15, "dual_inf_tol": 1e-6}
        settings |= {"mu_target": 0.0, "bound_push": 1e-12, "bound_frac": 1e-12, "slack_bound_push": 1e-12}
        settings |= {"slack_bound_frac": 1e-12, "tol": 1e-12, "acceptable_iter": 0, "max_iter": 100}
    for key, value in settings.items():
        solver.add_option(key, value)
    problem.solver = solver
    point, info = solver.solve(np.clip(start, lower, upper))
    return Run(point, int(info["status"]), problem.iterations, problem.feasible, problem.stopped)


class _Problem:
    """The callbacks with cyipopt's interface; counts iterations, keeps the best feasible one, and asks the clock."""

    def __init__(self, callbacks: Callbacks, options: Options) -> None:
        for name in (
            "objective",
            "gradient",
            "constraints",
            "jacobian",
            "jacobianstructure",
            "hessian",
            "hessianstructure",
        ):
            setattr(self, name, getattr(callbacks, name))
        self.options = options
        self.solver: Any = None
        self.iterations = 0
        self.feasible: FloatArray | None = None
        self.stopped: Stop | None = None
        self._least = np.inf

    def intermediate(self, mode: int, iteration: int, objective: float, violation: float, *progress: float) -> bool:
        """Called by Ipopt after every iteration."""
        self.iterations = iteration
        if violation <= self.options.tolerance and objective < self._least:
            current = self.solver.get_current_iterate()
            if current is not None:
                self._least, self.feasible = objective, current["x"]
        self.stopped = self.options.clock.stop()
        return self.stopped is None
