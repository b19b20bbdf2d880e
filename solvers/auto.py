"""The default back end: for each part the one that suits it.

Closed forms are taken before any back end is asked. What presolve leaves of a small problem goes to Ipopt through the
Pyomo model, the form that can be read and exported; large parts go to our own solver, which needs no linear system of
their size. Where the first does not converge, the other tries from the best point so far.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from maxent.constraints.lifted import LiftedProgram
from maxent.solvers.backend import FEW, Options
from maxent.solvers.solution import Solution, Stop
from maxent.solvers.via_ipopt import IpoptBackend
from maxent.solvers.via_newton import NewtonBackend

FloatArray = npt.NDArray[np.float64]


class AutoBackend:
    """Ipopt on the Pyomo model while that is the form, else Newton; the other one where the first gives up."""

    name = "auto"
    solves = "every program: ipopt where it is small, newton where it is large or ipopt gives up"

    def __init__(self) -> None:
        self.small, self.large = IpoptBackend(), NewtonBackend()

    def refuses(self, program: LiftedProgram) -> str | None:
        """Takes every program."""
        return None

    def solve(self, program: LiftedProgram, start: FloatArray, options: Options) -> Solution:
        """Solve from ``start``; see `maxent.solvers.backend.Backend`."""
        order = (self.small, self.large) if options.form == "pyomo" else (self.large, self.small)
        best = replace(order[0].solve(program, start, options), by=order[0].name)
        if best.stop is Stop.CONVERGED or options.clock.stop() is not None:
            return best
        feasible = best.point is not None and best.violation <= options.tolerance
        if feasible and order[0] is self.large and program.n > FEW:
            return best  # near an optimum; Ipopt would take minutes to say no more
        again = start if best.point is None or not feasible else best.point
        other = replace(order[1].solve(program, again, options), by=order[1].name)
        return other if other.stop is Stop.CONVERGED or not feasible else best
