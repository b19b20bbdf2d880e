"""The conic form of a program for CVXPY, and the convex-concave procedure for its nonconvex rows.

Every nonlinear row ``sum_T phi - sum_U phi + const >= 0`` keeps its convex side U as cones. Of its other side, the
convex phi of T are replaced by their tangents at a point, which lie below them: what satisfies the rows with tangents
satisfies the rows. The tangents are parameters, so that CVXPY puts the program into standard form only once.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from maxent.constraints.lifting import LiftedProgram, LiftedTerms, tangents
from maxent.constraints.program.impurity_numpy import PHI
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.solvers.conic.kkt import Active
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.solution import Stop

# Rows of a program for CVXPY, in shares: linear rows, cones, and tangents.

# Tangents touch phi at shares of the branch no smaller than this: an entropy has none at 0.
TOUCH = 1e-9


def cvxpy_module() -> Any:
    """CVXPY, imported when it is needed; its own types leave out most of what it exports."""
    with no_word_of_missing_solvers():
        import cvxpy

    return cvxpy


@contextmanager
def no_word_of_missing_solvers() -> Iterator[None]:
    """Keep CVXPY from warning of installed solvers that it cannot load, such as a newer OR-Tools: none is asked."""
    log = logging.getLogger("__cvxpy__")

    def told(record: logging.LogRecord) -> bool:
        return "importing solver" not in record.getMessage()

    log.addFilter(told)
    try:
        yield
    finally:
        log.removeFilter(told)


class ConicShares:
    """Variables that are not fixed, as shares of the ``largest`` that each could be: ``z = matrix x + fixed``."""

    def __init__(self, program: LiftedProgram) -> None:
        n = program.n_masses
        free = program.upper > program.lower
        free[:n] &= program.mass_weight > 0
        largest = np.where(np.isfinite(program.upper), program.upper, 1.0)
        largest[:n] = program.mass_weight
        self.free: BoolArray = free
        self.columns: IntArray = np.flatnonzero(free)
        self.scale: FloatArray = largest[free]
        self.fixed: FloatArray = np.where(free, 0.0, program.lower)
        self.largest: FloatArray = np.where(free, largest, self.fixed)
        self.matrix = sparse.csr_matrix(
            (self.scale, (self.columns, np.arange(len(self.columns)))), shape=(program.n, len(self.columns))
        )

    def point(self, x: FloatArray) -> FloatArray:
        """The program's variables, shape (n,), individuals."""
        values: FloatArray = self.matrix @ x + self.fixed
        return values


class ConicRows:
    """Linear rows and bounds in shares, rows scaled by their largest coefficient: ``equal`` and ``less``."""

    def __init__(self, program: LiftedProgram, shares: ConicShares) -> None:
        self._shares = shares
        self._n, self._n_rows = program.n, program.matrix.shape[0]
        matrix = sparse.csr_matrix(program.matrix @ shares.matrix)
        largest = np.zeros(self._n_rows)
        np.maximum.at(largest, matrix.tocoo().row, abs(matrix.tocoo().data))
        used = largest > 0
        self._factor = np.divide(1.0, largest, out=np.zeros(self._n_rows), where=used)
        matrix = sparse.csr_matrix(sparse.diags(self._factor) @ matrix)
        moved, factor = program.matrix @ shares.fixed, np.where(used, self._factor, 1.0)
        lower, upper = factor * (program.row_lower - moved), factor * (program.row_upper - moved)
        both = program.row_lower == program.row_upper
        self._equal = np.flatnonzero(used & both)
        self._low = np.flatnonzero(used & ~both & np.isfinite(lower))
        self._high = np.flatnonzero(used & ~both & np.isfinite(upper))
        x_lower, x_upper = program.lower[shares.columns] / shares.scale, program.upper[shares.columns] / shares.scale
        # The cone of its entropy keeps a mass at or above 0.
        self._x_low = np.flatnonzero(np.isfinite(x_lower) & ~((shares.columns < program.n_masses) & (x_lower <= 0)))
        self._x_high = np.flatnonzero(np.isfinite(x_upper))
        eye = sparse.identity(len(shares.columns), format="csr")
        self.equal = matrix[self._equal], lower[self._equal]
        self.less = (
            sparse.vstack([-matrix[self._low], matrix[self._high], -eye[self._x_low], eye[self._x_high]], format="csr"),
            np.concatenate([-lower[self._low], upper[self._high], -x_lower[self._x_low], x_upper[self._x_high]]),
        )

    def duals(
        self, x: FloatArray, of_equal: FloatArray, of_less: FloatArray, people: float
    ) -> tuple[FloatArray, IntArray, IntArray]:
        """Multipliers and sides of the program's linear rows, and the sides of its bounds, from those of ``x``.

        Nats are per individual, of ``people``, in those of ``x`` and in all in the program's. A side is -1 at the lower
        bound (and for equations), 1 at the upper one, 0 for neither.
        """
        multipliers = np.zeros(self._n_rows)
        side, bound = np.zeros(self._n_rows, np.int64), np.zeros(self._n, np.int64)
        of_less = np.maximum(of_less, 0.0)
        multipliers[self._equal], side[self._equal] = of_equal, -1
        tight = self.less[1] - self.less[0] @ x < of_less
        ends = np.cumsum([len(self._low), len(self._high), len(self._x_low)])
        low, high, *_ = np.split(of_less, ends)
        multipliers[self._low] -= low
        multipliers[self._high] += high
        at_low, at_high, at_x_low, at_x_high = np.split(tight, ends)
        side[self._low[at_low]], side[self._high[at_high]] = -1, 1
        bound[self._shares.columns[self._x_low[at_x_low]]] = -1
        bound[self._shares.columns[self._x_high[at_x_high]]] = 1
        return people * multipliers * self._factor, side, bound


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """Terms of one phi on one side of the rows, each once however many rows it is in.

    ``a`` and ``w``, shares of ``largest`` individuals, are their CVXPY arguments; ``matrix``, shape (n_rows, n_terms),
    says what phi of these counts in the rows.
    """

    phi: str
    var: IntArray
    size: FloatArray
    size_var: IntArray
    block: IntArray
    largest: FloatArray
    a: Any
    w: Any
    matrix: sparse.csr_matrix


class NonlinearRows:
    """The left sides of the nonlinear rows: a CVXPY ``value`` of cones and of tangents, see `linearise`."""

    def __init__(self, program: LiftedProgram, shares: ConicShares, x: Any) -> None:
        cp = cvxpy_module()

        self._shares, self._x = shares, x
        self._const = program.nl_const.copy()
        self._tangents: list[tuple[_Side, Any, Any]] = []
        self._offset = cp.Parameter(len(self._const))
        self.constraints: list[Any] = []
        self.value: Any = self._offset
        for terms in program.terms:
            known = self._known(terms)
            for chosen, add in ((terms.coef < 0, self._cones), (terms.coef > 0, self._tangent)):
                if (chosen & ~known).any():
                    self.value = self.value + add(self._side(terms, chosen & ~known))
        self._offset.value = self._const

    def linearise(self, point: FloatArray) -> None:
        """Place the tangents at a point of shape (n,)."""
        offset = self._const.copy()
        for side, slope, slope_w in self._tangents:
            sized = side.size_var >= 0
            w = np.where(sized, point[side.size_var], side.size) / side.largest
            w = np.maximum(w, TOUCH)
            a = np.maximum(point[side.var] / side.largest, TOUCH * w)
            slope.value, by_w, const = tangents(side.phi, a, w, sized)
            if slope_w is not None:
                slope_w.value = by_w
            offset += side.matrix @ const
        self._offset.value = offset

    def _known(self, terms: LiftedTerms) -> BoolArray:
        """The terms of fixed variables, which become constants; those where nobody is are 0."""
        sized, fixed = terms.size_var >= 0, self._shares.fixed
        still = ~self._shares.free[terms.var]
        a, w = fixed[terms.var], np.where(sized, fixed[terms.size_var], terms.size)
        nobody = still & (a <= 0)
        known: BoolArray = nobody | (still & ~(sized & self._shares.free[terms.size_var]))
        counted = known & ~nobody & (w > 0)
        value = terms.coef[counted] * PHI[terms.phi].value(a[counted], w[counted])
        self._const += np.bincount(terms.row[counted], value, len(self._const))
        return known

    def _side(self, terms: LiftedTerms, chosen: BoolArray) -> _Side:
        # A variable can be a class of several blocks; each has a cone of its own.
        key = np.column_stack([terms.block, terms.var])[chosen]
        _, first, which = np.unique(key, axis=0, return_index=True, return_inverse=True)
        at = np.flatnonzero(chosen)[first]
        var, size, size_var = terms.var[at], terms.size[at], terms.size_var[at]
        sized = size_var >= 0
        largest = np.where(sized, self._shares.largest[size_var], size)
        largest = np.where(largest > 0, largest, 1.0)
        coef = (
            terms.coef[chosen] * largest[which.reshape(-1)]
        )  # both phi are homogeneous: phi(a, w) / c = phi(a/c, w/c)
        matrix = sparse.csr_matrix((coef, (terms.row[chosen], which.reshape(-1))), shape=(len(self._const), len(at)))
        a = self._shares_of(var, 1 / largest, self._shares.fixed[var] / largest)
        w: Any = np.ones(len(at))
        if sized.any():
            constant = np.where(sized, self._shares.fixed[size_var], size) / largest
            w = self._shares_of(size_var, sized / largest, constant)
        return _Side(terms.phi, var, size, size_var, terms.block[at], largest, a, w, matrix)

    def _shares_of(self, var: IntArray, factor: FloatArray, constant: FloatArray) -> Any:
        return sparse.csr_matrix(sparse.diags(factor) @ self._shares.matrix[var]) @ self._x + constant

    def _cones(self, side: _Side) -> Any:
        """The concave function of the rows' convex side: minus relative entropies, or minus sums of squares."""
        cp = cvxpy_module()

        if side.phi == "entropy":
            return side.matrix @ cp.rel_entr(side.a, side.w)
        # The classes of a block share a cone: the sum of their a^2 is at most the product of w and an epigraph t.
        blocks, first, which = np.unique(side.block, return_index=True, return_inverse=True)
        which = which.reshape(-1)
        order = np.argsort(which, kind="stable")
        rank = np.empty(len(which), np.int64)
        rank[order] = np.arange(len(which)) - np.searchsorted(which[order], which[order])
        height = int(rank.max()) + 1
        place = sparse.csr_matrix(
            (np.full(len(which), 2.0), (which * height + rank, np.arange(len(which)))),
            shape=(height * len(blocks), len(which)),
        )
        t, w = cp.Variable(len(blocks)), side.w[first]
        difference = cp.reshape(w - t, (1, len(blocks)), order="F")
        squared = cp.reshape(place @ side.a, (height, len(blocks)), order="F")
        self.constraints.append(cp.SOC(w + t, cp.vstack([difference, squared]), axis=0))
        return side.matrix[:, first] @ t

    def _tangent(self, side: _Side) -> Any:
        """The tangents of the side that makes rows larger; their constants are in the offset."""
        cp = cvxpy_module()

        slope = cp.Parameter(len(side.var))
        slope_w = cp.Parameter(len(side.var)) if (side.size_var >= 0).any() else None
        self._tangents.append((side, slope, slope_w))
        value = cp.multiply(slope, side.a)
        return side.matrix @ (value if slope_w is None else value + cp.multiply(slope_w, side.w))


@dataclass(frozen=True, slots=True, eq=False)
class ConicAnswer:
    """A conic solver's answer: ``point``, shape (n,), None without one, and what it says of the optimality conditions.

    ``slack`` is the most that a nonlinear row lacks in the sum of impurities, individuals.
    """

    stop: Stop
    iterations: int
    point: FloatArray | None = None
    active: Active | None = None
    slack: float = np.inf


class ConicModel:
    """A program as a CVXPY problem. Where it is not convex, its rows have tangents and a slack at a price."""

    def __init__(self, program: LiftedProgram) -> None:
        cp = cvxpy_module()

        self._program = program
        self._shares = ConicShares(program)
        self._linear = ConicRows(program, self._shares)
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

    def solve(self, solver: str, settings: dict[str, Any]) -> ConicAnswer:
        """Solve with a solver that CVXPY knows and with its own settings; trouble is told by the answer's ``stop``."""
        cp = cvxpy_module()

        with warnings.catch_warnings():
            # About inaccurate answers, which are measured. Only theirs: a solve that is late goes on in a thread, and
            # what is said of the result meanwhile has to be heard.
            warnings.filterwarnings("ignore", module=r"cvxpy|maxent\.solvers\.conic")
            try:
                self._problem.solve(solver=solver, **settings)
            except cp.error.SolverError:
                return ConicAnswer(Stop.NUMERICAL, 0)
        iterations = int(self._problem.solver_stats.num_iters or 0)
        status = self._problem.status
        if status not in cp.settings.SOLUTION_PRESENT or not np.isfinite(self._x.value).all():
            infeasible = status == cp.settings.INFEASIBLE
            return ConicAnswer(Stop.INFEASIBLE if infeasible else Stop.NUMERICAL, iterations)
        stops = {cp.settings.OPTIMAL: Stop.CONVERGED, cp.settings.USER_LIMIT: Stop.ITERATION_LIMIT}
        return self._answer(stops.get(status, Stop.NUMERICAL), iterations)

    def _answer(self, stop: Stop, iterations: int) -> ConicAnswer:
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
        return ConicAnswer(stop, iterations, point, Active(multipliers, side, bound), slack)


def _dual(constraint: Any) -> FloatArray:
    """The multipliers of a constraint, 0 where the solver gives none."""
    value = constraint.dual_value
    return np.zeros(constraint.size) if value is None else np.asarray(value, np.float64).reshape(-1)


# Convex-concave procedure: replaces nonconvex terms by tangents, solves, and repeats.
#
# All points of the procedure meet the nonlinear rows once one does, and their entropies increase. While none does, the
# rows have a slack whose price grows (Lipp & Boyd, "Variations and extension of the convex-concave procedure",
# Optimization and Engineering 17, 2016).

# Nats that an individual of slack costs, step by step while there is some.
PRICES = (1.0, 10.0, 100.0, 1e3, 1e4)
# Individuals of slack in a sum of impurities that are the solver's rounding.
NO_SLACK = 1e-6
# At the highest price, slack has to shrink to this share in every step, else there is no way to a feasible point.
FEWER = 0.99


def convex_concave(
    model: ConicModel, start: FloatArray, feasible: bool, solve: Callable[[ConicModel], ConicAnswer]
) -> Iterator[ConicAnswer]:
    """Steps from a point of shape (n,), without end unless one fails or slack cannot be removed."""
    level = 2 if feasible else 0
    point, slack = start, np.inf
    while True:
        model.linearise(point, PRICES[level])
        answer = solve(model)
        yield answer
        stuck = answer.slack > max(NO_SLACK, FEWER * slack) and level == len(PRICES) - 1
        if answer.point is None or stuck:
            return
        if answer.slack > NO_SLACK:
            if level == len(PRICES) - 1:
                slack = answer.slack
            level = min(level + 1, len(PRICES) - 1)
        point = answer.point
