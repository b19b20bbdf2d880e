"""General solvers of SciPy for small programs: a reference for tests of other back ends.

Everything linear is made exact first: what inequalities fix is fixed, and the equations are eliminated, ``z = origin +
basis y``, so that what is left has inequalities only, and every iterate meets the equations to machine precision.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from maxent.constraints.lifting import LiftedProgram, restrict
from maxent.models.arrays import BoolArray, FloatArray
from maxent.models.errors import UnknownBackend
from maxent.models.hints import close_to
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.solution import Solution, Stop

if TYPE_CHECKING:
    from maxent.solvers.backend import Options

METHODS = ("trust-constr", "slsqp")
# Variables up to which a program counts as small: all matrices are dense.
MOST = 200
# Complementarity (nats) at which an inequality is met exactly; one that is only just met keeps its root's distance.
BARRIER = 1e-13
# Largest derivative of the Lagrangian at an optimum, nats per individual.
OPTIMAL = 1e-8
# Slack (individuals, impurity units) up to which an inequality counts as met with equality.
ACTIVE = 1e-8
# Largest multiplier that is believed, nats per individual; where a row's gradient vanishes, any would do.
STEEPEST = 1e3
# SLSQP's status.
ITERATIONS_USED_UP = 9
# Share of a sum that is rounding.
ROUNDING = 1e-9
# Share of the slack at an interior point that the starting point keeps.
INSIDE = 0.1


class ScipyBackend:
    """``trust-constr``, a barrier method with exact second derivatives, or ``scipy:slsqp``.

    Either hands over to the other where it does not converge, as where masses of chosen splits are best at 0.
    """

    solves = f"small programs (up to {MOST} variables), with local optima where they are not convex; a reference"

    def __init__(self, method: str = METHODS[0]) -> None:
        if method not in METHODS:
            expected = f"scipy, or scipy:METHOD with one of {', '.join(METHODS)}"
            raise UnknownBackend(expected, f"{method!r}{close_to(method, METHODS)}")
        self.name = "scipy" if method == METHODS[0] else f"scipy:{method}"
        self._method = method

    def version(self) -> str:
        """The version of SciPy."""
        return metadata.version("scipy")

    def refuses(self, program: LiftedProgram) -> str | None:
        """Refuses programs that are not small."""
        if program.n <= MOST:
            return None
        return f"a program with {program.n:,} variables; its matrices are dense, and it takes at most {MOST}"

    def solve(self, program: LiftedProgram, start: FloatArray, options: Options) -> Solution:
        """Solve from ``start``; see `maxent.solvers.backend.Backend`."""
        reduced = reduce(program)
        if reduced is None:
            return Solution(None, Stop.INFEASIBLE, np.inf, 0, "the linear constraints contradict each other", self.name)
        y = reduced.interior(start)
        if not len(y):
            return self._solution(program, reduced.origin, Stop.CONVERGED, 0, "a single point", options)
        iterations = 0
        for method in METHODS if self._method == METHODS[0] else (self._method,):
            watch = _Watch(options, y)
            stop, message = _minimise(reduced, method, watch, options.iterations_for(program))
            iterations += watch.iterations
            found = self._solution(program, reduced.point(watch.y), stop, iterations, message, options)
            if found.stop is Stop.CONVERGED or options.clock.stop() is not None:
                break
        return found

    def _solution(
        self, program: LiftedProgram, z: FloatArray, stop: Stop, iterations: int, message: str, options: Options
    ) -> Solution:
        """A point with its violation, converged only within the tolerance."""
        point = np.clip(z, program.lower, program.upper)
        violation = Derivatives(program).violation(point)
        if stop is Stop.CONVERGED and violation > options.tolerance:
            stop = Stop.NUMERICAL
        return Solution(point, stop, violation, iterations, message, self.name)


@dataclass(frozen=True, slots=True, eq=False)
class Reduced:
    """A program in the coordinates ``y`` of its equations' solutions, shape (n_free,)."""

    program: LiftedProgram
    origin: FloatArray
    basis: FloatArray
    matrix: FloatArray
    lower: FloatArray
    upper: FloatArray

    def point(self, y: FloatArray) -> FloatArray:
        """The point of the program, shape (n,)."""
        z: FloatArray = self.origin + self.basis @ y
        return z

    def interior(self, start: FloatArray) -> FloatArray:
        """Coordinates of a point on the way from ``origin`` to ``start``, strictly within all linear inequalities."""
        y: FloatArray = self.basis.T @ (start - self.origin)
        along = self.matrix @ y
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(along > 0, self.upper / along, np.where(along < 0, self.lower / along, np.inf))
        return y * float(min(1.0, (1.0 - INSIDE) * room.min(initial=np.inf)))


def reduce(program: LiftedProgram) -> Reduced | None:
    """Eliminate the linear equations of a program, None when the linear constraints contradict each other."""
    from scipy.linalg import lstsq, null_space

    restricted = restrict(program)
    if restricted is None or not restricted.possible:
        return None
    found = restricted.program
    free, equation = found.upper > found.lower, found.row_lower == found.row_upper
    matrix = found.matrix.toarray()
    equations = matrix[np.ix_(equation, free)]
    origin, basis = restricted.point.copy(), np.zeros((found.n, int(free.sum())))
    basis[free] = np.eye(int(free.sum()))
    if len(equations) and free.any():
        origin[free] += lstsq(equations, found.row_lower[equation] - matrix[equation] @ origin)[0]
        basis = basis @ null_space(equations)
    low, high = _needed(program)
    rows = np.vstack([basis[free], matrix[~equation] @ basis])
    lower = np.where(low, found.lower - origin, -np.inf)[free]
    upper = np.where(high, found.upper - origin, np.inf)[free]
    lower = np.concatenate([lower, (found.row_lower - matrix @ origin)[~equation]])
    upper = np.concatenate([upper, (found.row_upper - matrix @ origin)[~equation]])
    some = np.isfinite(lower) | np.isfinite(upper)
    return Reduced(found, origin, basis, rows[some], lower[some], upper[some])


def _needed(program: LiftedProgram) -> tuple[BoolArray, BoolArray]:
    """Masks of the lower and upper bounds that totals and definitions do not already imply."""
    n, defining = program.n_masses, len(program.row_lower) - program.n_aggregates
    low, high = np.ones(program.n, bool), np.ones(program.n, bool)
    if (program.lower[:n] >= 0).all():
        high[:n] = program.upper[:n] < program.total[program.owner] * (1 - ROUNDING)
    terms = sparse.eye(program.n_aggregates, program.n, k=n, format="csr") - program.matrix[defining:]
    terms.eliminate_zeros()
    more, less = terms.maximum(0), terms.minimum(0)
    constant = program.row_lower[defining:]
    least = constant + more @ program.lower + less @ program.upper
    most = constant + more @ program.upper + less @ program.lower
    slack = ROUNDING * (1 + np.abs(most))
    low[n:] = program.lower[n:] > least + slack
    high[n:] = program.upper[n:] < most - slack
    return low, high


class _Enough(Exception):
    """Ends SciPy's iterations."""


class _Watch:
    """Called by SciPy after every iteration: ends it at the optimum, or when the clock says so."""

    def __init__(self, options: Options, y: FloatArray) -> None:
        self._clock, self._tolerance = options.clock, options.tolerance
        self.y, self.iterations, self.stop = y, 0, Stop.CONVERGED

    def __call__(self, y: FloatArray, state: Any = None) -> None:
        self.y, self.iterations = y.copy(), self.iterations + 1
        stop = self._clock.stop()
        if stop is not None:
            self.stop = stop
            raise _Enough
        # SciPy's own test of trust-constr forgets the barrier, which can still be high.
        if (
            state is not None
            and state.barrier_parameter <= BARRIER
            and state.optimality <= OPTIMAL
            and state.constr_violation <= self._tolerance
        ):
            raise _Enough


class _Functions:
    """Objective and nonlinear rows of a program, with their derivatives by the reduced coordinates, all dense."""

    def __init__(self, reduced: Reduced) -> None:
        self._reduced, self._own = reduced, Derivatives(reduced.program)
        self._first = self._own.n_linear
        self.n_rows = self._own.n_rows - self._first

    def objective(self, y: FloatArray) -> float:
        return self._own.objective(self._reduced.point(y))

    def gradient(self, y: FloatArray) -> FloatArray:
        slope: FloatArray = self._reduced.basis.T @ self._own.gradient(self._reduced.point(y))
        return slope

    def rows(self, y: FloatArray) -> FloatArray:
        """Values of the nonlinear rows, which are to be at least 0."""
        return self._own.constraints(self._reduced.point(y))[self._first :] + self._reduced.program.nl_const

    def jacobian(self, y: FloatArray) -> FloatArray:
        shape = (self._own.n_rows, self._reduced.program.n)
        values = self._own.jacobian(self._reduced.point(y))
        rows = sparse.csr_matrix((values, self._own.jacobianstructure()), shape=shape)[self._first :]
        return np.asarray(rows @ self._reduced.basis)

    def hessian(self, y: FloatArray, multipliers: FloatArray, factor: float) -> FloatArray:
        n, basis = self._reduced.program.n, self._reduced.basis
        values = self._own.hessian(self._reduced.point(y), np.concatenate([np.zeros(self._first), multipliers]), factor)
        below = sparse.csr_matrix((values, self._own.hessianstructure()), shape=(n, n))
        return np.asarray(basis.T @ ((below + sparse.tril(below, -1).T) @ basis))


def _minimise(reduced: Reduced, method: str, watch: _Watch, iterations: int) -> tuple[Stop, str]:
    """Run a method from ``watch.y``; the answer is left there."""
    run = _trust_constr if method == "trust-constr" else _slsqp
    try:
        found, stop = run(reduced, _Functions(reduced), watch, iterations)
    except _Enough:
        return watch.stop, f"{method} at the optimum" if watch.stop is Stop.CONVERGED else f"{method} stopped"
    watch.y = found.x
    return stop, str(found.message)


def _trust_constr(reduced: Reduced, functions: _Functions, watch: _Watch, iterations: int) -> tuple[Any, Stop]:
    from scipy.optimize import LinearConstraint, NonlinearConstraint, minimize

    constraints: list[Any] = [LinearConstraint(reduced.matrix, reduced.lower, reduced.upper, keep_feasible=True)]
    if functions.n_rows:
        constraints.append(
            NonlinearConstraint(
                functions.rows, 0.0, np.inf, jac=functions.jacobian, hess=lambda y, v: functions.hessian(y, v, 0.0)
            )
        )
    zero = np.zeros(functions.n_rows)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Singular Jacobian matrix")  # near the end; SciPy copes
        found = minimize(
            functions.objective,
            watch.y,
            jac=functions.gradient,
            hess=lambda y: functions.hessian(y, zero, 1.0),
            method="trust-constr",
            constraints=constraints,
            callback=watch,
            options={"maxiter": iterations, "gtol": 0.0, "xtol": 1e-14, "barrier_tol": BARRIER},
        )
    if found.status == 0:
        return found, Stop.ITERATION_LIMIT
    return found, Stop.CONVERGED if found.optimality <= np.sqrt(OPTIMAL) else Stop.NUMERICAL


def _slsqp(reduced: Reduced, functions: _Functions, watch: _Watch, iterations: int) -> tuple[Any, Stop]:
    from scipy.optimize import lsq_linear, minimize

    matrix = np.vstack([reduced.matrix, -reduced.matrix])
    side = np.concatenate([reduced.lower, -reduced.upper])
    matrix, side = matrix[np.isfinite(side)], side[np.isfinite(side)]
    constraints: list[Any] = [{"type": "ineq", "fun": lambda y: matrix @ y - side, "jac": lambda y: matrix}]
    if functions.n_rows:
        constraints.append({"type": "ineq", "fun": functions.rows, "jac": functions.jacobian})
    found = minimize(
        functions.objective,
        watch.y,
        jac=functions.gradient,
        method="SLSQP",
        constraints=constraints,
        callback=watch,
        options={"maxiter": iterations, "ftol": 1e-15},
    )
    if found.status == ITERATIONS_USED_UP:
        return found, Stop.ITERATION_LIMIT
    # Its own tests of progress fail at the last digits: whether it got there is tested here.
    rows = np.vstack([matrix, functions.jacobian(found.x)])
    slack = np.concatenate([matrix @ found.x - side, functions.rows(found.x)])
    most = np.concatenate([np.full(len(matrix), STEEPEST), STEEPEST * reduced.program.nl_size])
    active, left = slack <= ACTIVE, functions.gradient(found.x)
    if active.any():
        multipliers = lsq_linear(rows[active].T, left, bounds=(0.0, most[active])).x
        left = left - rows[active].T @ multipliers
    return found, Stop.CONVERGED if np.linalg.norm(left) <= np.sqrt(OPTIMAL) else Stop.NUMERICAL
