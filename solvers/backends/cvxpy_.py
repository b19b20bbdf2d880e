"""CVXPY: a conic program if convex, else the convex-concave procedure; answers are made exact.

While conic solvers order and factorise what is large, no other thread of Python runs: that is done in a process.
"""

from __future__ import annotations

from importlib import metadata
from importlib.util import find_spec
from typing import Any

import numpy as np

from maxent.constraints.lifting import LiftedProgram
from maxent.models.arrays import FloatArray
from maxent.models.errors import MissingExtra
from maxent.models.packages import need
from maxent.solvers.backend import Options
from maxent.solvers.conic.polish import polish, restore
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.solution import Solution, Stop
from maxent.solvers.workers import Tell, solve_apart_if_large

DEFAULT = "CLARABEL"
# Solvers with exponential cones, also the names of their packages; others that CVXPY finds may do as well.
KNOWN = ("clarabel", "scs", "mosek", "ecos")
# Variables up to which a program is taken; one that is not convex is solved many times over.
LARGEST, LARGEST_NOT_CONVEX = 200_000, 20_000
# Relative accuracy asked of a conic solver, and the iterations that a first-order one may take for it.
ACCURACY, FIRST_ORDER = 1e-8, 20_000
# Share of the entropy that a step gains when it pays to try to polish; how much less for another try.
CLOSE, CLOSER = 1e-3, 0.1
# Share of the entropy that the last step of the convex-concave procedure gains.
STILL = 1e-9
# Share of the entropy by which a conic solver's answers, not quite feasible, can look better than they are.
ROUNDING = 1e-6


class CvxpyBackend:
    """Conic solvers through CVXPY: Clarabel, or the one named after the colon (``cvxpy:scs``).

    Raises `MissingExtra` when CVXPY has no such solver here, or one without exponential cones.
    """

    solves = "convex programs, the others locally by the convex-concave procedure"

    def __init__(self, solver: str | None = None) -> None:
        need("cvxpy", "backend 'cvxpy' needs CVXPY")
        self.name = "cvxpy" if solver is None else f"cvxpy:{solver}"
        self._solver = DEFAULT if solver is None else _find(solver)

    @staticmethod
    def available() -> tuple[str, ...]:
        """Names of solvers that are installed."""
        return tuple(name for name in KNOWN if find_spec(name) is not None)

    def version(self) -> str:
        """The versions of CVXPY and of the solver."""
        return f"CVXPY {metadata.version('cvxpy')}, {self._solver} {_version(self._solver)}".rstrip()

    def refuses(self, program: LiftedProgram) -> str | None:
        """Refuses large programs; see `LARGEST`."""
        most = LARGEST if program.convex else LARGEST_NOT_CONVEX
        if program.n <= most:
            return None
        kind = "convex" if program.convex else "not convex"
        return f"a program with {program.n:,} variables that is {kind}; it takes at most {most:,} of these"

    def solve(self, program: LiftedProgram, start: FloatArray, options: Options) -> Solution:
        """Solve from ``start``, which a convex program does not need; see `maxent.solvers.backend.Backend`."""
        start = np.clip(start, program.lower, program.upper)
        if not (program.upper > program.lower).any():
            return _measured(program, start, Stop.CONVERGED, 0, options)
        stop = options.clock.stop()
        if stop is not None:
            return _measured(program, start, stop, 0, options)
        steps: list[FloatArray] = []
        found = solve_apart_if_large(self, program, start, options, steps.append)
        if found is not None:
            return found
        ended = options.clock.stop() or Stop.NUMERICAL
        return _measured(program, steps[-1], ended, len(steps), options) if steps else self._nothing(ended, 0)

    def solve_here(self, program: LiftedProgram, start: FloatArray, options: Options, tell: Tell) -> Solution:
        """Solve from ``start`` in this process; the points that the procedure comes to are told."""
        return self._convex(program, options) if program.convex else self._not_convex(program, start, options, tell)

    def _convex(self, program: LiftedProgram, options: Options) -> Solution:
        from maxent.solvers.conic.model import ConicModel

        answer = ConicModel(program).solve(self._solver, _settings(self._solver, program, options))
        if answer.point is None or answer.active is None:
            return self._nothing(options.clock.stop() or answer.stop, answer.iterations)
        if answer.stop is not Stop.ITERATION_LIMIT:
            exact = polish(program, answer.point, answer.active, options.tolerance, options.clock)
            if exact is not None:
                return _measured(program, exact, Stop.CONVERGED, answer.iterations, options)
        return _measured(program, answer.point, options.clock.stop() or answer.stop, answer.iterations, options)

    def _not_convex(self, program: LiftedProgram, start: FloatArray, options: Options, tell: Tell) -> Solution:
        from maxent.solvers.conic.model import NO_SLACK, ConicModel, convex_concave

        own = Derivatives(program)
        best, value, lacking = start, np.inf, np.inf
        close, iterations = CLOSE, 0
        feasible = own.violation(start) <= options.tolerance
        steps = convex_concave(
            ConicModel(program),
            start,
            feasible,
            lambda model: model.solve(self._solver, _settings(self._solver, program, options)),
        )
        most = options.iterations_for(program)
        for count, answer in enumerate(steps, 1):
            iterations += answer.iterations
            if answer.point is None or answer.active is None:
                failed = options.clock.stop() or answer.stop
                if count == 1 and not feasible:
                    return self._nothing(failed, iterations)
                return _measured(program, best, failed, iterations, options)
            now = own.objective(answer.point)
            scale = max(abs(now), 1.0)
            gain = (value - now) / scale if max(answer.slack, lacking) <= NO_SLACK else np.inf
            if gain < -ROUNDING:
                return _measured(program, best, options.clock.stop() or Stop.NUMERICAL, iterations, options)
            best, value, lacking = answer.point, now, answer.slack
            tell(best)
            if gain <= close:
                exact = polish(program, best, answer.active, options.tolerance, options.clock)
                if exact is not None and own.objective(exact) <= now + ROUNDING * scale:
                    return _measured(program, exact, Stop.CONVERGED, iterations, options)
                close = CLOSER * min(gain, close)
            limit = options.clock.stop() or (Stop.ITERATION_LIMIT if count >= most else None)
            stop = Stop.CONVERGED if gain <= STILL else limit
            if stop is not None:
                return _measured(program, best, stop, iterations, options)
        return _measured(program, best, Stop.INFEASIBLE, iterations, options)

    def _nothing(self, stop: Stop, iterations: int) -> Solution:
        return Solution(None, stop, np.inf, iterations, f"{self._solver} has no answer")


def _measured(program: LiftedProgram, point: FloatArray, stop: Stop, iterations: int, options: Options) -> Solution:
    """A point projected onto the constraints, and its value."""
    own = Derivatives(program)
    if own.violation(point) > 0.01 * options.tolerance:
        point = restore(program, point, options.tolerance, options.clock)
    violation = own.violation(point)
    if stop is Stop.CONVERGED and violation > options.tolerance:
        stop = Stop.NUMERICAL
    return Solution(point, stop, violation, iterations)


def _settings(solver: str, program: LiftedProgram, options: Options) -> dict[str, Any]:
    """A solver's own names for its accuracy, its iteration limit and its time limit."""
    most, left = options.iterations_for(program), options.clock.left()
    accuracy = min(ACCURACY, options.tolerance)
    if solver == "CLARABEL":
        # Without its presolve, a second solve only replaces numbers. Answers that it gives up on are measured as well.
        settings: dict[str, Any] = {"max_iter": most, "presolve_enable": False, "accept_unknown": True}
        settings |= dict.fromkeys(("tol_feas", "tol_gap_abs", "tol_gap_rel"), accuracy)
        return settings if left is None else settings | {"time_limit": left}
    if solver == "SCS":
        settings = {"eps_abs": accuracy, "eps_rel": accuracy, "max_iters": options.max_iterations or FIRST_ORDER}
        return settings if left is None else settings | {"time_limit_secs": left}
    if solver == "MOSEK":
        parameters: dict[str, Any] = {"MSK_IPAR_INTPNT_MAX_ITERATIONS": most}
        return {"mosek_params": parameters if left is None else parameters | {"MSK_DPAR_OPTIMIZER_MAX_TIME": left}}
    return {"max_iters": most} if solver == "ECOS" else {}


def _find(name: str) -> str:
    """CVXPY's name of a solver with exponential cones."""
    from maxent.solvers.conic.model import cvxpy_module

    solver = name.upper()
    installed = solver in cvxpy_module().installed_solvers()
    if installed and _takes_cones(solver):
        return solver
    here = ", ".join(CvxpyBackend.available())
    what = "has no exponential cones" if installed else "is not installed"
    raise MissingExtra(f"backend 'cvxpy:{name}': CVXPY's solver {solver} {what}; installed: {here}")


def _takes_cones(solver: str) -> bool:
    """Whether a solver that is installed can maximise an entropy."""
    from maxent.solvers.conic.model import cvxpy_module

    cp = cvxpy_module()
    x = cp.Variable(2)
    try:
        cp.Problem(cp.Maximize(cp.sum(cp.entr(x))), [cp.sum(x) == 1]).get_problem_data(solver)
    except cp.error.SolverError:
        return False
    return True


def _version(solver: str) -> str:
    """The version of a solver's package, empty when it cannot be told."""
    try:
        return metadata.version(solver.lower())
    except metadata.PackageNotFoundError:
        return ""
