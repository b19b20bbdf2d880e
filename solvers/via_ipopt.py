"""Ipopt through cyipopt: the Pyomo NLP while the program is small, the program's own derivatives when it is large."""

from __future__ import annotations

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
    -4: Stop.TIME_LIMIT,
    5: Stop.INTERRUPTED,
}


class Callbacks(Protocol):
    """What cyipopt asks of a problem object."""

    def objective(self, z: FloatArray) -> float: ...
    def gradient(self, z: FloatArray) -> FloatArray: ...
    def constraints(self, z: FloatArray) -> FloatArray: ...
    def jacobian(self, z: FloatArray) -> FloatArray: ...
    def hessian(self, z: FloatArray, multipliers: FloatArray, objective_factor: float) -> FloatArray: ...


class IpoptBackend:
    """Interior-point solves of a part; for entropy first with a floor under the chosen split's logarithms."""

    name = "ipopt"

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
        iterations = 0
        if entropic:
            point, _, iterations = run(callbacks, own, np.maximum(program.lower, floor), program.upper, start, options)
            start = point if own.violation(point) < 1e-4 else start
        point, status, more = run(callbacks, own, program.lower, program.upper, start, options, monotone=entropic)
        if program.convex and status == 0:
            finer, status_finer, extra = run(callbacks, own, program.lower, program.upper, point, options, fine=True)
            more += extra
            if status_finer == 0 and own.violation(finer) <= options.tolerance:
                point = finer
        violation = own.violation(point)
        stop = _STOPS.get(status, Stop.NUMERICAL)
        return Solution(point, stop, violation, iterations + more, f"Ipopt status {status}")


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
) -> tuple[FloatArray, int, int]:
    """One Ipopt run: (point, status, iterations).

    ``fine`` goes on from a solution: a constraint that is only just met (no slack, no multiplier) keeps an interior
    point away by the square root of the complementarity that is left, so that has to be far below the tolerance.
    """
    import cyipopt

    problem = _Problem(callbacks)
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
    point, info = solver.solve(np.clip(start, lower, upper))
    return point, int(info["status"]), problem.iterations


class _Problem:
    """The callbacks with cyipopt's interface, counting iterations."""

    def __init__(self, callbacks: Callbacks) -> None:
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
        self.iterations = 0

    def intermediate(self, *progress: Any) -> bool:
        """Called by Ipopt after every iteration."""
        self.iterations = int(progress[1])
        return True
