"""SCIP through PySCIPOpt: the global optimum of small programs that are not convex, by branch and bound.

The referee of the other back ends: the bound that it proves holds for every point, not only near one.

SCIP has a process of its own, and solves in the main thread there. CppAD, which differentiates for it, numbers all
threads that a process ever has, and writes beyond its arrays from the 64th on; METIS, which orders its matrices, takes
the signals of the process meanwhile. Either may end the process.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.models.arrays import FloatArray
from maxent.models.packages import need
from maxent.solvers.backends.ipopt_run import refined
from maxent.solvers.control import GRACE, SOON, Clock
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.solution import Solution, Stop
from maxent.solvers.workers import Tell, solve_apart

if TYPE_CHECKING:
    from maxent.constraints.lifting import LiftedProgram
    from maxent.solvers.backend import Options

# Variables up to which a program is taken: branch and bound takes exponential time in the worst case.
MOST = 200
# Largest violation of a constraint that SCIP accepts (individuals, impurity units); smaller ones strain its LP solver.
# The answer is `refined`.
FEASIBLE = 1e-7
# Gap at which SCIP stops, nats per individual.
GAP = 1e-7
# Seconds for the best point on the way, where SCIP did not end in time.
LITTLE = 0.5 * (GRACE - SOON)
# Individuals that a branch of unknown size has at least, for the logarithm of its size. Emptier branches are excluded
# with it, which changes no constraint by more than SCIP's own tolerance.
SMALLEST = 1e-9
_STOPS = {
    "optimal": Stop.CONVERGED,
    "gaplimit": Stop.CONVERGED,
    "infeasible": Stop.INFEASIBLE,
    "timelimit": Stop.TIME_LIMIT,
}


class ScipBackend:
    """Global optimisation; starting points are not used."""

    name = "scip"
    solves = f"small programs (up to {MOST} variables), globally also where they are not convex"
    finds_global = True

    def __init__(self) -> None:
        need("pyscipopt", "backend 'scip' needs PySCIPOpt")

    def version(self) -> str:
        """The version of PySCIPOpt, whose wheels contain SCIP."""
        return f"PySCIPOpt {metadata.version('pyscipopt')}"

    def refuses(self, program: LiftedProgram) -> str | None:
        """Refuses programs that are not small, and likelihoods of draws."""
        if program.likely:
            return "the likelihood of draws or noise (--noise likelihood): it takes entropies only"
        if program.n <= MOST:
            return None
        return f"a program with {program.n:,} variables; branch and bound takes at most {MOST}"

    def solve(self, program: LiftedProgram, start: FloatArray, options: Options) -> Solution:
        """Solve globally; ``message`` tells the proven bound. See `maxent.solvers.backend.Backend`."""
        stop = options.clock.stop()
        if stop is not None:
            return Solution(None, stop, np.inf, 0, "", self.name)
        best: list[FloatArray] = []
        found = solve_apart(self, program, start, options, best.append, keep=True)
        if found is not None:
            return found
        point = refined(program, best[-1], replace(options, clock=Clock(LITTLE))) if best else None
        violation = np.inf if point is None else Derivatives(program).violation(point)
        stop = options.clock.stop() or Stop.NUMERICAL
        return Solution(point, stop, violation, 0, "did not stop in time", self.name)

    def solve_here(self, program: LiftedProgram, start: FloatArray, options: Options, tell: Tell) -> Solution:
        """Solve in this process, and tell the best points on the way."""
        model, z = _model(program)
        try:
            return self._solved(model, z, program, options, tell)
        finally:
            model.free()  # it and its event handler refer to each other

    def _solved(self, model: Any, z: Sequence[Any], program: LiftedProgram, options: Options, tell: Tell) -> Solution:
        model.setParam("limits/absgap", GAP * max(1.0, float(program.total.sum())))
        left = options.clock.left()
        if left is not None:
            model.setParam("limits/time", left)
        _watch(model, options.clock, lambda best: tell(_point(best, z)))
        model.optimizeNogil()  # who has made this process can end it meanwhile
        stop = _STOPS.get(model.getStatus(), options.clock.stop() or Stop.NUMERICAL)
        nodes, bound = int(model.getNTotalNodes()), float(model.getDualbound())
        message = f"{nodes} nodes; the entropy is at most {-bound:.9g} nats times individuals"
        if not model.getNSols():
            return Solution(None, stop, np.inf, nodes, message, self.name)
        point = refined(program, _point(model.getBestSol(), z), options)
        violation = Derivatives(program).violation(point)
        if stop is Stop.CONVERGED and violation > options.tolerance:
            stop = Stop.NUMERICAL
        return Solution(point, stop, violation, nodes, message, self.name)


def _scip() -> Any:
    """The package, whose types are of no help."""
    return import_module("pyscipopt")


def _model(program: LiftedProgram) -> tuple[Any, list[Any]]:
    """The program as a `pyscipopt.Model`, and its variables: numbers where they are fixed."""
    scip = _scip()
    model = scip.Model()
    model.hideOutput()
    model.setParam("misc/catchctrlc", False)  # the clock does
    model.setParam("numerics/feastol", FEASIBLE)
    model.setParam("limits/gap", 0.0)
    # SoPlex's solutions miss SCIP's check by their scaling, and unsolved LPs give no bounds. What bounds the objective
    # is the dual solution, whose check stays.
    model.setParam("lp/checkprimfeas", False)
    lower = program.lower.copy()
    for terms in program.terms:
        sizes = terms.size_var[(terms.phi == "entropy") & (terms.size_var >= 0)]
        lower[sizes] = np.maximum(lower[sizes], np.minimum(SMALLEST, program.upper[sizes]))
    z: list[Any] = [
        low if low == high else model.addVar(lb=low, ub=high if np.isfinite(high) else None)
        for low, high in zip(lower.tolist(), program.upper.tolist(), strict=True)
    ]
    objective = model.addVar(lb=None, ub=None)  # SCIP's own is linear
    model.setObjective(objective)
    masses = zip(z, program.mass_weight.tolist(), strict=False)
    model.addCons(scip.quicksum(_entropy(m, weight) for m, weight in masses) <= objective)
    matrix = program.matrix.tocsr()
    for r, (low, high) in enumerate(zip(program.row_lower.tolist(), program.row_upper.tolist(), strict=True)):
        at = slice(matrix.indptr[r], matrix.indptr[r + 1])
        used = zip(matrix.data[at].tolist(), matrix.indices[at].tolist(), strict=True)
        body = scip.quicksum(coef * z[j] for coef, j in used)
        if low == high:
            model.addCons(body == low)
            continue
        if np.isfinite(low):
            model.addCons(body >= low)
        if np.isfinite(high):
            model.addCons(body <= high)
    for row, const in zip(_nonlinear_sums(model, program, z), program.nl_const.tolist(), strict=True):
        model.addCons(scip.quicksum(row) >= -const)
    return model, z


def _nonlinear_sums(model: Any, program: LiftedProgram, z: Sequence[Any]) -> list[list[Any]]:
    """The terms of each nonlinear row, as expressions."""
    sums: list[list[Any]] = [[] for _ in program.nl_const]
    for terms in program.terms:
        columns = (terms.row, terms.var, terms.coef, terms.size, terms.size_var)
        for row, var, coef, size, size_var in zip(*(c.tolist() for c in columns), strict=True):
            a, w = z[var], size if size_var < 0 else z[size_var]
            if isinstance(a, float) and a == 0:
                continue
            if terms.phi == "entropy":
                sums[row].append(coef * _entropy(a, w))
            elif isinstance(w, float):
                sums[row].append(coef / w * (a * a))
            else:
                sums[row].append(coef * _quotient(model, a, w, below=coef > 0))
    return sums


def _entropy(a: Any, w: Any) -> Any:
    """``a ln(a / w)`` as ``a ln a - a ln w``: SCIP knows that ``a ln a`` is convex, and its value at 0."""
    log = _scip().log
    if isinstance(a, float) and a == 0:
        return 0.0
    own = a * (math.log(a) if isinstance(a, float) else log(a))
    return own - a * (math.log(w) if isinstance(w, float) else log(w))


def _quotient(model: Any, a: Any, w: Any, *, below: bool) -> Any:
    """A variable at most (``below``) or at least ``a^2 / w``, free of divisions; no class is larger than its branch."""
    square = model.addVar(lb=0.0, ub=None)
    if below:
        model.addCons(square * w <= a * a)
        model.addCons(square <= a)  # else anything where the branch is empty
    else:
        model.addCons(square * w >= a * a)
    return square


def _point(solution: Any, z: Sequence[Any]) -> FloatArray:
    """The values of variables in a solution of SCIP."""
    return np.array([v if isinstance(v, float) else solution[v] for v in z])


def _watch(model: Any, clock: Clock, found: Callable[[Any], None]) -> None:
    """End SCIP's run when the clock says so, asked when a relaxation or a node was solved; pass on better points."""
    scip = _scip()
    kinds = scip.SCIP_EVENTTYPE
    events = kinds.PRESOLVEROUND | kinds.FIRSTLPSOLVED | kinds.LPSOLVED
    events |= kinds.NODEFEASIBLE | kinds.NODEINFEASIBLE | kinds.NODEBRANCHED | kinds.BESTSOLFOUND

    class Watch(scip.Eventhdlr):  # type: ignore[misc, name-defined]
        def eventinit(self) -> None:
            self.model.catchEvent(events, self)

        def eventexit(self) -> None:
            self.model.dropEvent(events, self)

        def eventexec(self, event: Any) -> None:
            if event.getType() & kinds.BESTSOLFOUND:
                found(self.model.getBestSol())
            if clock.stop() is not None:
                self.model.interruptSolve()

    model.includeEventhdlr(Watch(), "clock", "asks the clock")
