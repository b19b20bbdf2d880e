"""OR-Tools CP-SAT.

OR-Tools comes with a HiGHS of its own, under the name of that of highspy: whichever is loaded first serves both, and
the other one cannot be imported. So CP-SAT runs in processes of its own (`maxent.solvers.worlds.elsewhere`).
"""

from __future__ import annotations

from typing import Any

from maxent.models.packages import need


def need_cp_sat() -> None:
    """Refuse to go on without OR-Tools; it is not imported.

    Raises
    ------
    MissingExtra
        Where it is not installed.
    """
    need("ortools", "bounds for whole people need OR-Tools")


def cp_sat() -> Any:
    """The module of CP-SAT, in a process that has not loaded highspy and never will."""
    from ortools.sat.python import cp_model

    return cp_model


def new_solver() -> Any:
    """A solver without probing, by which OR-Tools 9.15 takes some programs that have an answer to have none."""
    solver = cp_sat().CpSolver()
    solver.parameters.cp_model_probing_level = 0
    solver.parameters.catch_sigint_signal = False
    return solver
