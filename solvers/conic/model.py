"""The conic form of a program: exponential cones for its entropies, second-order cones for its Gini impurities.

Every nonlinear row ``sum_T phi - sum_U phi + const >= 0`` keeps its convex side U as cones. Of its other side, the
convex phi of T are replaced by their tangents at a point, which lie below them: what satisfies the rows with tangents
satisfies the rows. The tangents are parameters, so that CVXPY puts the program into standard form only once.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.models.arrays import FloatArray
from maxent.solvers.conic.kkt import Active
from maxent.solvers.conic.rows import LinearRows, NonlinearRows, Shares, cvxpy_module
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.solution import Stop


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """A conic solver's answer: ``point``, shape (n,), None without one, and what it says of the optimality conditions.

    ``slack`` is the most that a nonlinear row lacks in the sum of impurities, individuals.
    """

    stop: Stop
    iterations: int
    point: FloatArray | None = None
    active: Active | None = None
    slack: float = np.inf


class ConicModel:
    """A program as a CVXPY problem. Where it is not convex, its rows have tangents and a slack at a price.

    Variables are shares of the largest value that each could have, the objective is per individual.
    """

    def __init__(self, program: LiftedProgram) -> None:
        cp = cvxpy_module()

        self._program = program
        self._shares = Shares(program)
        self._linear = LinearRows(program, self._shares)
        x = self._x = cp.Variable(len(self._shares.columns))
        n_masses = int(np.searchsorted(self._shares.columns, program.n_masses))
        self._people = float(self._shares.scale[:n_masses].sum()) or 1.0
        objective: Any = cp.Constant(0.0)
        if n_masses:
            objective = -(self._shares.scale[:n_masses] / self._people) @ cp.entr(x[:n_masses])
        if program.draws is not None:
            draws = program.draws[self._shares.columns]
            drawn = np.flatnonzero(draws)
            objective -= (draws[drawn] / self._people) @ cp.log(x[drawn])
        self._equal = self._linear.equal[0] @ x == self._linear.equal[1]
        self._less = self._linear.less[0] @ x <= self._linear.less[1]
        constraints = [c for c in (self._equal, self._less) if c.size]
        n_nonlinear = len(program.nl_const)
        self._price = cp.Parameter(nonneg=True, value=1.0)
        self._slack: Any = np.zeros(n_nonlinear)
        if n_nonlinear:
            self._nonlinear = NonlinearRows(program, self._shares, x)
            if not program.convex:
                self._slack = cp.Variable(n_nonlinear, nonneg=True)
                objective += self._price * ((program.nl_size / self._people) @ self._slack)
            self._row = self._nonlinear.value + self._slack >= 0
            constraints += [self._row, *self._nonlinear.constraints]
        self._problem = cp.Problem(cp.Minimize(objective), constraints)

    def linearise(self, point: FloatArray, price: float) -> None:
        """Place the tangents at a point of shape (n,), and set the price of an individual's slack, nats."""
        self._nonlinear.linearise(point)
        self._price.value = price

    def solve(self, solver: str, settings: dict[str, Any]) -> Answer:
        """Solve with a solver that CVXPY knows and with its own settings; trouble is told by the answer's ``stop``."""
        cp = cvxpy_module()

        with warnings.catch_warnings():
            # About inaccurate answers, which are measured. Only theirs: a solve that is late goes on in a thread, and
            # what is said of the result meanwhile has to be heard.
            warnings.filterwarnings("ignore", module=r"cvxpy|maxent\.solvers\.conic")
            try:
                self._problem.solve(solver=solver, **settings)
            except cp.error.SolverError:
                return Answer(Stop.NUMERICAL, 0)
        iterations = int(self._problem.solver_stats.num_iters or 0)
        status = self._problem.status
        if status not in cp.settings.SOLUTION_PRESENT or not np.isfinite(self._x.value).all():
            infeasible = status == cp.settings.INFEASIBLE
            return Answer(Stop.INFEASIBLE if infeasible else Stop.NUMERICAL, iterations)
        stops = {cp.settings.OPTIMAL: Stop.CONVERGED, cp.settings.USER_LIMIT: Stop.ITERATION_LIMIT}
        return self._answer(stops.get(status, Stop.NUMERICAL), iterations)

    def _answer(self, stop: Stop, iterations: int) -> Answer:
        program, x = self._program, np.asarray(self._x.value, np.float64)
        point = np.clip(self._shares.point(x), program.lower, program.upper)
        multipliers, side, bound = self._linear.duals(x, _dual(self._equal), _dual(self._less), self._people)
        slack = 0.0
        if len(program.nl_const):
            dual = self._people * np.maximum(_dual(self._row), 0.0)
            # A row with tangents can be tight where the row itself is not.
            room = Derivatives(program).constraints(point)[len(side) :] + program.nl_const
            multipliers = np.concatenate([multipliers, -dual])
            side = np.concatenate([side, np.where(room < dual / program.nl_size, -1, 0)])
            slack = float((program.nl_size * getattr(self._slack, "value", self._slack)).max())
        return Answer(stop, iterations, point, Active(multipliers, side, bound), slack)


def _dual(constraint: Any) -> FloatArray:
    """The multipliers of a constraint, 0 where the solver gives none."""
    value = constraint.dual_value
    return np.zeros(constraint.size) if value is None else np.asarray(value, np.float64).reshape(-1)
