"""Other solvers through Pyomo: ``pyomo:ipopt``, ``pyomo:knitroampl``, ``pyomo:baron``, ...

Most are executables on PATH that speak AMPL's ``.nl`` and ``.sol`` formats, a few are Python packages.
"""

from __future__ import annotations

import io
import logging
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata, util
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.models.arrays import FloatArray
from maxent.models.errors import MissingExtra, UnknownBackend
from maxent.models.files.output import scratch
from maxent.models.hints import close_to
from maxent.models.packages import need
from maxent.solvers.backends.ipopt_run import refined
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.solution import Solution, Stop
from maxent.solvers.workers import Tell, solve_apart

if TYPE_CHECKING:
    from maxent.constraints.lifting import LiftedProgram
    from maxent.solvers.backend import Options

# Seconds of the shortest time limit; some solvers take 0 for none.
SHORTEST = 0.01


@dataclass(frozen=True, slots=True)
class KnownSolver:
    """A solver that takes logarithms: what it ``needs`` (on PATH, or a Python package), and its options.

    ``time`` and ``iterations`` name its own limits, as Pyomo's may kill it without an answer.
    """

    needs: str
    package: bool = False
    time: str | None = None
    iterations: str | None = None
    globally: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)


# By Pyomo's names, which are those of executables for AMPL where it has no interface of the name.
KNOWN = {
    # Masses that may fall a little below 0 have no logarithm.
    "ipopt": KnownSolver("ipopt", time="max_cpu_time", iterations="max_iter", settings={"bound_relax_factor": 0.0}),
    "knitroampl": KnownSolver("knitroampl", time="maxtime_real", iterations="maxit"),
    "conopt": KnownSolver("conopt"),
    "snopt": KnownSolver("snopt"),
    "minos": KnownSolver("minos"),
    "loqo": KnownSolver("loqo"),
    "bonmin": KnownSolver("bonmin", time="bonmin.time_limit"),
    "couenne": KnownSolver("couenne", globally=True),
    "baron": KnownSolver("baron", time="MaxTime", globally=True),
    "scip": KnownSolver("scip", globally=True),
    "knitro_direct": KnownSolver("knitro", package=True),
    # See `maxent.solvers.backends.scip_` for the check that is left out. Nobody reads the log.
    "scip_direct": KnownSolver(
        "pyscipopt",
        package=True,
        globally=True,
        settings={"numerics/feastol": 1e-7, "limits/gap": 1e-7, "lp/checkprimfeas": False, "display/verblevel": 0},
    ),
    "gurobi_direct_minlp": KnownSolver(
        "gurobipy", package=True, globally=True, settings={"FeasibilityTol": 1e-9, "MIPGap": 1e-6}
    ),
}

# Solvers to which Pyomo's interfaces (``highs``, ``appsi_highs``, ``gurobi_direct``, ...) pass no logarithms.
LINEAR = frozenset({"cbc", "cplex", "cuopt", "glpk", "gurobi", "highs", "mosek", "xpress"})
_STOPS = {
    "optimal": Stop.CONVERGED,
    "locallyOptimal": Stop.CONVERGED,
    "globallyOptimal": Stop.CONVERGED,
    "infeasible": Stop.INFEASIBLE,
    "maxTimeLimit": Stop.TIME_LIMIT,
    "maxIterations": Stop.ITERATION_LIMIT,
    "maxEvaluations": Stop.ITERATION_LIMIT,
    "userInterrupt": Stop.INTERRUPTED,
    "resourceInterrupt": Stop.INTERRUPTED,
}


class PyomoBackend:
    """The solver that Pyomo knows by a name, or the executable for AMPL of that name; its answer is `refined`.

    Raises `UnknownBackend` for an interface without logarithms, `MissingExtra` for a solver that is not found.
    """

    solves = "programs of any kind, as far as the solver goes"

    def __init__(self, solver: str) -> None:
        need("pyomo", "backend 'pyomo' needs Pyomo")
        reason = _unsuitable(solver)
        if reason is not None:
            raise UnknownBackend(f"pyomo:NAME with a NAME such as {', '.join(KNOWN)}", f"'pyomo:{solver}': {reason}")
        if not solver or not _found(solver):
            raise MissingExtra(f"backend 'pyomo:{solver}': {_wanted(solver)}")
        self.name, self._solver = f"pyomo:{solver}", solver
        self._known = KNOWN.get(solver, KnownSolver(solver))
        self.finds_global = self._known.globally

    @staticmethod
    def available() -> tuple[str, ...]:
        """Solvers that seem to be here, by their executables and packages: neither Pyomo nor they are loaded."""
        need("pyomo", "backend 'pyomo' needs Pyomo")
        here = tuple(
            name
            for name, known in KNOWN.items()
            if (util.find_spec(known.needs) if known.package else shutil.which(known.needs)) is not None
        )
        if not here:
            needs = ", ".join(dict.fromkeys(known.needs for known in KNOWN.values()))
            raise MissingExtra(f"none of the solvers for Pyomo is on PATH or installed ({needs})")
        return here

    @staticmethod
    def version() -> str:
        """The version of Pyomo."""
        return f"Pyomo {metadata.version('pyomo')}"

    def refuses(self, program: LiftedProgram) -> str | None:
        """Passes on every program."""
        return None

    def solve(self, program: LiftedProgram, start: FloatArray, options: Options) -> Solution:
        """Solve from ``start``, where the solver takes one; see `maxent.solvers.backend.Backend`."""
        early = options.clock.stop()
        if early is not None:
            return Solution(None, early, np.inf, 0, "", self.name)
        if not (self._known.package or options.clock.runs):
            return self.solve_here(program, start, options, lambda point: None)
        # Pyomo takes the streams of the whole process while a package solves, and is not made for threads; packages may
        # crash, and executables outlive whoever no longer waits for them.
        found = solve_apart(self, program, start, options, lambda point: None, keep=True)
        if found is not None:
            return found
        return Solution(None, options.clock.stop() or Stop.NUMERICAL, np.inf, 0, "did not stop in time", self.name)

    def solve_here(self, program: LiftedProgram, start: FloatArray, options: Options, tell: Tell) -> Solution:
        """Solve in this process; nothing is told on the way."""
        from maxent.solvers.backends.pyomo_model import build_model

        model = build_model(program, np.clip(start, program.lower, program.upper), expanded=self._known.globally)
        found, stop, message = self._run(model, program, options)
        if stop is not Stop.CONVERGED:
            stop = options.clock.stop() or stop
        if not found:
            return Solution(None, stop, np.inf, 0, message, self.name)
        values = [variable.value for variable in (*model.mass.values(), *model.aggregate.values())]
        point = refined(program, np.array(values, np.float64), options)
        violation = Derivatives(program).violation(point)
        if stop is Stop.CONVERGED and violation > options.tolerance:
            stop = Stop.NUMERICAL
        return Solution(point, stop, violation, 0, message, self.name)

    def _run(self, model: Any, program: LiftedProgram, options: Options) -> tuple[bool, Stop, str]:
        """Solve a model; returns whether there is a new point, the reason to stop, and the solver's message."""
        from pyomo.common.errors import ApplicationError
        from pyomo.common.tempfiles import TempfileManager
        from pyomo.environ import SolverFactory

        limits: dict[str, float] = {}
        with _quiet():
            solver = SolverFactory(self._solver)
            if self._solver == "scip_direct":
                _lets_others_run(solver)
            solver.options.update(self._known.settings)
            if self._known.iterations is not None:
                solver.options[self._known.iterations] = options.iterations_for(program)
            left = options.clock.left()
            if left is not None:
                limits["timelimit"] = max(left, SHORTEST)
                if self._known.time is not None:
                    solver.options[self._known.time] = max(left, SHORTEST)
            try:
                with scratch() as folder:
                    TempfileManager.tempdir = str(folder)
                    results = solver.solve(model, load_solutions=False, **limits)
            except subprocess.TimeoutExpired:
                return False, Stop.TIME_LIMIT, f"{self._solver}: killed at the time limit"
            except ApplicationError as error:
                return False, Stop.NUMERICAL, f"{self._solver}: {error}"
            finally:
                TempfileManager.tempdir = None
            if len(results.solution):
                model.solutions.load_from(results)
        condition = str(results.solver.termination_condition)
        said = [condition, *(text for text in (results.solver.message,) if isinstance(text, str) and text)]
        return bool(len(results.solution)), _STOPS.get(condition, Stop.NUMERICAL), ": ".join([self._solver, *said])


def _lets_others_run(solver: Any) -> None:
    """Have PySCIPOpt release Python's lock while it solves."""
    # Pyomo reads what SCIP writes in another thread, and SCIP waits where a pipe is full. Not all of it can be kept
    # quiet: its LP solver says on standard error what tolerances it cannot have, again and again.
    create = solver._create_solver_model

    def created(*arguments: Any) -> tuple[Any, ...]:
        model, *others = create(*arguments)
        return _Unlocked(model), *others

    solver._create_solver_model = created


class _Unlocked:
    """A model of PySCIPOpt that does not hold Python's lock while it is solved."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def optimize(self) -> None:
        self._model.optimizeNogil()


def _unsuitable(solver: str) -> str | None:
    """The reason why a solver cannot be used, even where Pyomo says that it is available."""
    if solver == "cyipopt":
        return "Pyomo's interface to it needs the ASL library, which its wheels lack; the back end 'ipopt' uses it"
    if solver not in KNOWN and solver.removeprefix("appsi_").split("_")[0] in LINEAR:
        return "Pyomo passes it linear and quadratic programs only, and ours have logarithms"
    return None


def _found(solver: str) -> bool:
    """Whether Pyomo finds a solver."""
    from pyomo.common.errors import ApplicationError
    from pyomo.environ import SolverFactory

    with _quiet():
        try:
            return bool(SolverFactory(solver).available(exception_flag=False))
        except (ApplicationError, OSError):
            return False


def _wanted(solver: str) -> str:
    """The names that were looked for in vain."""
    if solver in KNOWN:
        needs = KNOWN[solver].needs
        if KNOWN[solver].package:
            return f"expected the Python package {needs!r}, which cannot be imported, or has no licence here"
        return f"expected the executable {needs!r} on PATH, found none that Pyomo can use"
    known = f"the name of a solver that Pyomo can use ({', '.join(KNOWN)}, ...) or of an executable for AMPL on PATH"
    return f"expected {known}, found {solver!r}{close_to(solver, KNOWN)}"


_LOCK = threading.Lock()
# Who keeps Pyomo quiet now: threads that do may overlap, and its logger must be given back by the last of them.
_SILENT: list[Any] = []


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence Pyomo's log while it looks for solvers: our errors say the same."""
    from pyomo.common.log import LoggingIntercept

    with _LOCK:
        if not _SILENT:
            first = LoggingIntercept(io.StringIO(), "pyomo", logging.WARNING)
            first.__enter__()
            _SILENT.append(first)
        _SILENT.append(None)
    try:
        yield
    finally:
        with _LOCK:
            _SILENT.pop()
            if len(_SILENT) == 1:
                _SILENT.pop().__exit__(None, None, None)
