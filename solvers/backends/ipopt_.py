"""Back ends with Ipopt through cyipopt: with a Pyomo model, or with our own derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxent.constraints.lifting import LiftedProgram
from maxent.constraints.program.program import Program
from maxent.constraints.program.residuals import Evaluator
from maxent.constraints.textbook import refusal, textbook_model
from maxent.models.arrays import FloatArray, IntArray
from maxent.models.errors import UnknownBackend
from maxent.models.packages import installed, need
from maxent.solvers.backend import FEW, Options
from maxent.solvers.backends.ipopt_run import Callbacks, Multipliers, run
from maxent.solvers.backends.pyomo_model import build_model
from maxent.solvers.conic.kkt import Active
from maxent.solvers.conic.polish import polish
from maxent.solvers.control import OutOfTime
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.solution import Solution, Stop

# Stands after the colon for the derivatives of our own.
OWN = "own"
# Lower bound on aggregates inside the chosen split's logarithms, as a share of the branch, in the first solve.
FLOOR = 1e-5
# Variables up to which it pays to polish; and entropy, nats per individual, that it may cost.
POLISHED, SAME = 20_000, 1e-9
_STOPS = {
    0: Stop.CONVERGED,
    1: Stop.CONVERGED,  # acceptable level: what it is worth is measured, not believed
    2: Stop.INFEASIBLE,
    -1: Stop.ITERATION_LIMIT,
}


class IpoptBackend:
    """Interior-point solves of a part; for entropy first with a floor under the chosen split's logarithms.

    Ipopt gets the Pyomo model, or after the colon (``ipopt:own``) the derivatives of `maxent.solvers.derivatives`, in
    less time.
    """

    name = "ipopt"
    solves = "every program; a reference where parts are small"

    def __init__(self, derivatives: str | None = None) -> None:
        if derivatives not in (None, OWN):
            raise UnknownBackend(f"ipopt or ipopt:{OWN}", f"'ipopt:{derivatives}'")
        need("cyipopt", "backend 'ipopt' needs cyipopt")
        self._own = derivatives is not None
        if self._own:
            self.name = f"ipopt:{OWN}"
        else:
            need("pyomo", f"backend 'ipopt' needs Pyomo, which 'ipopt:{OWN}' does not")

    @staticmethod
    def available() -> tuple[str, ...]:
        """Sources of derivatives other than the Pyomo model."""
        return (OWN,) if installed("cyipopt") else ()

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
        if not self._own:
            try:
                callbacks = PyomoDerivatives(program, options.clock.check)
            except OutOfTime as error:
                return Solution(None, error.why, np.inf, 0, "the Pyomo model was not ready in time", self.name)
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
            exact = None
            if last.stopped is None and last.multipliers is not None:
                exact = _polished(own, point, last.multipliers, options)
            points = [point, *(r.feasible for r in runs if r.feasible is not None)]
            point, stop = (_best(own, points, options.tolerance), stop) if exact is None else (exact, Stop.CONVERGED)
        iterations = sum(r.iterations for r in runs)
        return Solution(point, stop, own.violation(point), iterations, f"Ipopt status {last.status}", self.name)


def _best(own: Derivatives, points: list[FloatArray], tolerance: float) -> FloatArray:
    """The feasible point with the largest entropy, the first one where none is feasible."""
    feasible = [point for point in points if own.violation(point) <= tolerance]
    return min(feasible, key=own.objective) if feasible else points[0]


def _polished(own: Derivatives, point: FloatArray, multipliers: Multipliers, options: Options) -> FloatArray | None:
    """The optimum next to a feasible point at which Ipopt gave up, None when there is none."""
    # Where masses have to vanish, or rows depend on each other, it often stops with the optimum at hand.
    program, found = own.program, multipliers
    if program.n > POLISHED or own.violation(point) > options.tolerance:
        return None
    lower, upper = own.bounds()
    value, size = own.constraints(point), np.concatenate([np.ones(own.n_linear), program.nl_size])
    at_lower = (lower == upper) | (value - lower < np.maximum(-found.rows, 0.0) / size)
    side = np.where(at_lower, -1, np.where(upper - value < np.maximum(found.rows, 0.0) / size, 1, 0))
    bound = np.where(point - program.lower < found.lower, -1, np.where(program.upper - point < found.upper, 1, 0))
    exact = polish(program, point, Active(found.rows, side, bound), options.tolerance, options.clock)
    if exact is None or own.objective(exact) > own.objective(point) + SAME * float(program.total.sum()):
        return None
    return exact


def _floor(program: LiftedProgram) -> FloatArray:
    """Lower bounds for aggregates whose logarithm stands on the side that the solver makes smaller."""
    floor = program.lower.copy()
    for terms in program.terms:
        if terms.phi == "entropy":
            mine = (terms.coef > 0) & (terms.size_var < 0)
            np.maximum.at(floor, terms.var[mine], FLOOR * terms.size[mine])
    return np.minimum(floor, 0.5 * program.upper)


@dataclass(frozen=True, slots=True)
class _PyomoRows:
    """Bounds of the rows of a Pyomo model, each of shape (n_rows,)."""

    lower: FloatArray
    upper: FloatArray

    @property
    def n_rows(self) -> int:
        return len(self.lower)

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bounds of all rows."""
        return self.lower, self.upper


class TextbookBackend:
    """Ipopt on the constraints as the paper prints them (`maxent.constraints.textbook`): a reference for the others."""

    name = "textbook"
    reference = True
    solves = "small programs of labels, rates, Gini and entropy, as the paper prints them: nothing presolved"

    def __init__(self) -> None:
        need("cyipopt", "backend 'textbook' needs cyipopt")
        need("pyomo", "backend 'textbook' needs Pyomo")

    version = IpoptBackend.version

    def refuses(self, program: LiftedProgram) -> str | None:
        """No lifted program is solved."""
        return "it solves programs as they were compiled, not the lifted program of a part"

    def solve(self, program: LiftedProgram, start: FloatArray, options: Options) -> Solution:
        """No lifted program is solved."""
        return Solution(None, Stop.NUMERICAL, np.inf, 0, str(self.refuses(program)), self.name)

    def refuses_whole(self, program: Program) -> str | None:
        """The refusal that names statements beyond the paper's constraints, None where there are none."""
        return refusal(program)

    def solve_whole(self, program: Program, start: FloatArray, options: Options) -> Solution:
        """The best of several starts, which is one where no splits are compared; see `Whole`."""
        model = textbook_model(program)
        rows = [*model.qi.values(), *model.label.values(), *model.rate.values(), *model.internal.values()]
        ends = np.array([(row.lb, row.ub) for row in rows], np.float64)  # None is no bound: NaN
        # An interior is where a logarithm can be: what must vanish is left a tenth of the tolerance.
        room = np.where(np.arange(len(rows)) < len(model.qi), 0.0, 0.1 * options.tolerance)
        lower, upper = np.nan_to_num(ends[:, 0], nan=-np.inf) - room, np.nan_to_num(ends[:, 1], nan=np.inf) + room
        bounds = _PyomoRows(lower, upper)
        expressions = [-model.entropy.expr, *(row.body for row in rows)]
        callbacks = PyomoDerivatives.of_model(list(model.p.values()), expressions, options.clock.check)
        weight, rng, evaluator = program.weight[:, None], np.random.default_rng(options.seed), Evaluator(program)
        several = options.starts or (5 if start.size <= FEW else 1) if program.internal else 1
        found: list[Solution] = []
        for number in range(several):
            begin = start / weight
            if number or program.internal:  # where all classes are alike, no comparison of splits has a slope
                begin = begin * rng.uniform(0.5, 1.5, begin.shape)
            ran = run(
                callbacks, bounds, np.zeros(start.size), np.ones(start.size), begin.ravel(), options, monotone=True
            )
            masses = np.clip(ran.point, 0.0, 1.0).reshape(start.shape) * weight
            missed, stop = evaluator.max_violation(masses), ran.stopped or _STOPS.get(ran.status, Stop.NUMERICAL)
            found.append(Solution(masses, stop, missed, ran.iterations, f"status {ran.status}", self.name))
            if ran.stopped is not None:
                break
        solved = [each for each in found if each.violation <= options.tolerance]
        if not solved:
            return min(found, key=lambda each: each.violation)
        converged = [each for each in solved if each.stop is Stop.CONVERGED] or solved
        return max(converged, key=lambda each: program.entropy(np.asarray(each.point)))


# Derivatives of a Pyomo model for cyipopt, by symbolic differentiation.
#
# Pyomo's interface to cyipopt needs the ASL library, which no wheel ships. So Pyomo's symbolic differentiation states
# every first and second derivative, and Python's compiler makes functions of them.

# Stands for 0, which has no logarithm; second derivatives divide by its fourth power, which must not underflow.
LEAST = 1e-60


def _sums(index: IntArray, values: FloatArray, size: int) -> FloatArray:
    """Sums of values by index, shape (size,)."""
    return np.asarray(np.bincount(index, values, size), np.float64)


class PyomoDerivatives:
    """Objective, constraints, Jacobian and Hessian of the Lagrangian, as `Derivatives` has them.

    ``check`` is called for every row, and may raise; pickles without the model.
    """

    def __init__(self, program: LiftedProgram, check: Callable[[], None] = lambda: None) -> None:
        model = build_model(program)
        rows = [*model.linear.values(), *model.internal.values()]
        variables = [*model.mass.values(), *model.aggregate.values()]
        self._differentiate(variables, [model.negative_entropy.expr, *(row.body for row in rows)], check)

    @classmethod
    def of_model(
        cls, variables: Sequence[Any], expressions: Sequence[Any], check: Callable[[], None]
    ) -> PyomoDerivatives:
        """Derivatives of any model: the expressions are the objective to be made small, then the body of each row."""
        made = cls.__new__(cls)
        made._differentiate(variables, expressions, check)
        return made

    def _differentiate(self, variables: Sequence[Any], expressions: Sequence[Any], check: Callable[[], None]) -> None:
        """State every first and second derivative of the objective and the rows."""
        column = {id(variable): at for at, variable in enumerate(variables)}
        values, slopes, curvatures = (_Entries(column) for _ in range(3))
        for owner, body in enumerate(expressions):
            check()
            for term in _terms(body):
                values.add(term, owner)
                for by, slope in _derivatives(term):
                    slopes.add(slope, owner, by)
                    for beside, curvature in _derivatives(slope):
                        if column[id(by)] >= column[id(beside)]:
                            curvatures.add(curvature, owner, by, beside)
        self._n, self._n_rows = len(variables), len(expressions) - 1
        self._value, (self._value_of,) = values.compiled(1)
        self._slope, (self._slope_of, self._slope_by) = slopes.compiled(2)
        self._curvature, (self._curvature_of, *self._curvature_by) = curvatures.compiled(3)

    def objective(self, z: FloatArray) -> float:
        return float(self._value(z)[self._value_of == 0].sum())

    def gradient(self, z: FloatArray) -> FloatArray:
        mine = self._slope_of == 0
        return _sums(self._slope_by[mine], self._slope(z)[mine], self._n)

    def constraints(self, z: FloatArray) -> FloatArray:
        return _sums(self._value_of, self._value(z), 1 + self._n_rows)[1:]

    def jacobianstructure(self) -> tuple[IntArray, IntArray]:
        mine = self._slope_of > 0
        return self._slope_of[mine] - 1, self._slope_by[mine]

    def jacobian(self, z: FloatArray) -> FloatArray:
        found: FloatArray = self._slope(z)[self._slope_of > 0]
        return found

    def hessianstructure(self) -> tuple[IntArray, IntArray]:
        row, column = self._curvature_by
        return row, column

    def hessian(self, z: FloatArray, multipliers: FloatArray, objective_factor: float) -> FloatArray:
        factors = np.concatenate([[objective_factor], multipliers])
        found: FloatArray = factors[self._curvature_of] * self._curvature(z)
        return found


class _Entries:
    """Expressions, each with its owner (0: the objective, r + 1: row r) and the variables it is a derivative by."""

    def __init__(self, column: dict[int, int]) -> None:
        self._column = column
        self._texts: list[str] = []
        self._places: list[tuple[int, ...]] = []

    def add(self, expression: Any, owner: int, *by: Any) -> None:
        from pyomo.core.expr import expression_to_string

        named = expression_to_string(expression, labeler=lambda variable: f"z[{self._column[id(variable)]}]")
        self._texts.append(named)
        self._places.append((owner, *(self._column[id(variable)] for variable in by)))

    def compiled(self, n_places: int) -> tuple[_Values, IntArray]:
        """A function of all variables with the values of all expressions, and their places, a row for each kind."""
        return _Values(", ".join(self._texts)), np.array(self._places, np.int64).reshape(-1, n_places).T


class _Values:
    """The values of expressions in ``z[0]``, ``z[1]``, ..., as a function of all variables; pickles as its text."""

    def __init__(self, text: str) -> None:
        self._text = text
        # Arithmetic and our own names is all there is in the text.
        self._evaluate = eval(f"lambda z: [{text}]", {"log": math.log})

    def __call__(self, z: FloatArray) -> FloatArray:
        return np.array(self._evaluate(np.maximum(z, LEAST).tolist()), np.float64)

    def __reduce__(self) -> tuple[type[_Values], tuple[str]]:
        return _Values, (self._text,)


def _terms(body: Any) -> Iterator[Any]:
    """The terms of a sum that depend on variables."""
    from pyomo.core.expr.numeric_expr import SumExpression

    for term in body.args if isinstance(body, SumExpression) else (body,):
        if _varies(term):
            yield term


def _derivatives(expression: Any) -> Iterator[tuple[Any, Any]]:
    """The variables of an expression, each with the derivative by it, where that is not 0."""
    from pyomo.core.expr.calculus.derivatives import Modes, differentiate
    from pyomo.core.expr.numeric_expr import MonomialTermExpression
    from pyomo.core.expr.visitor import identify_variables

    if isinstance(expression, MonomialTermExpression):  # most terms: not worth a walk
        coefficient, variable = expression.args
        yield variable, coefficient
    elif _varies(expression):
        variables = list(identify_variables(expression))
        found = differentiate(expression, wrt_list=variables, mode=Modes.reverse_symbolic)
        yield from zip(variables, found, strict=True)


def _varies(expression: Any) -> bool:
    """Whether an expression is more than a number."""
    from pyomo.core.expr.numvalue import is_potentially_variable

    return bool(is_potentially_variable(expression))
