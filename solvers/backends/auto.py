"""The default back end: newton, and Ipopt where that gives up or equations overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from maxent.models.arrays import FloatArray
from maxent.models.packages import installed
from maxent.solvers.backend import FEW, Backend, Options
from maxent.solvers.backends.newton_ import KeptStart, NewtonBackend
from maxent.solvers.solution import Solution, Stop

if TYPE_CHECKING:
    from maxent.constraints.lifting import LiftedProgram

# Variables up to which Ipopt takes programs whose equations overlap, because a private attribute is tested or by
# several trees; with more it takes long. Over several trees ours takes many times as long, and often ends nowhere.
PRIVATE, SEVERAL = 1_000, 3_000
# The same of people who are in one cell or out of the data: Newton's method ends at worse optima, in more time.
REGISTER = 20_000
# Newton steps from where Ipopt gave up; where more are needed, they rarely lead anywhere.
STEPS = 40


class AutoBackend:
    """Ipopt where a program is not convex and equations overlap, else Newton; the other where the first gives up."""

    name = "auto"
    solves = "every program: newton, and ipopt:own where equations overlap or newton gives up"

    def __init__(self) -> None:
        self.newton = NewtonBackend()

    @cached_property
    def _may_use_ipopt(self) -> bool:
        return installed("cyipopt")

    @cached_property
    def ipopt(self) -> Backend:
        """Ipopt, loaded when the first program is for it."""
        from maxent.solvers.backends.ipopt_ import OWN, IpoptBackend

        return IpoptBackend(OWN)

    def refuses(self, program: LiftedProgram) -> str | None:
        """Takes every program."""
        return None

    def solve(self, program: LiftedProgram, start: FloatArray, options: Options) -> Solution:
        """Solve from ``start``; see `maxent.solvers.backend.Backend`."""
        return self.solve_from(self.init(program, options), start, options)

    def init(self, program: LiftedProgram, options: Options) -> KeptStart:
        """The state of Newton's method; see `maxent.solvers.backend.Keeps`."""
        return self.newton.init(program, options)

    def solve_from(self, state: KeptStart, start: FloatArray, options: Options) -> Solution:
        """Solve from ``start``; see `maxent.solvers.backend.Keeps`."""
        program = state.program
        if not self._may_use_ipopt or program.noise is not None:  # whose likelihood has kinks
            return self._first(self.newton, state, start, options)
        if for_ipopt(program):
            best = self._first(self.ipopt, state, start, options)
            if best.stop is Stop.INFEASIBLE and not _feasible(best, options):
                return best  # whether statements contradict each other is found out at less cost
            return self._then(self.newton, best, state, start, replace(options, max_iterations=STEPS))
        best = self._first(self.newton, state, start, options)
        if best.stop is Stop.CONVERGED or best.contradiction or (_feasible(best, options) and program.n > FEW):
            return best  # the optimum, near one, or there is none: Ipopt would take minutes to say no more
        return self._then(self.ipopt, best, state, start, options)

    def stackable(self, program: LiftedProgram) -> bool:
        """Whether Newton's method solves a program, and many together; see `maxent.solvers.backend.Stacks`."""
        return self.newton.stackable(program) and not (self._may_use_ipopt and for_ipopt(program))

    def stack(
        self,
        programs: Sequence[LiftedProgram],
        starts: Sequence[Sequence[FloatArray]],
        near: FloatArray,
        options: Options,
    ) -> list[Solution]:
        """Solve programs together; see `maxent.solvers.backend.Stacks`."""
        return self.newton.stack(programs, starts, near, options)

    def _first(self, backend: Backend, state: KeptStart, start: FloatArray, options: Options) -> Solution:
        if isinstance(backend, NewtonBackend):
            found = backend.solve_from(state, start, options)
        else:
            found = backend.solve(state.program, start, options)
        return replace(found, by=backend.name)

    def _then(
        self, backend: Backend, best: Solution, state: KeptStart, start: FloatArray, options: Options
    ) -> Solution:
        """The answer of another back end where the first one's is not converged, from there if that is feasible."""
        if best.stop is Stop.CONVERGED or options.clock.stop() is not None:
            return best
        feasible = _feasible(best, options)
        again = best.point if feasible and best.point is not None else start
        other = self._first(backend, state, again, options)
        return other if other.stop is Stop.CONVERGED or not feasible else best


def _feasible(found: Solution, options: Options) -> bool:
    return found.point is not None and found.violation <= options.tolerance


def for_ipopt(program: LiftedProgram) -> bool:
    """Whether a program is not convex, not large, and has quasi-identifiers with several equations beside the total."""
    if program.convex or program.n > (REGISTER if of_register(program) else SEVERAL):
        return False
    if len(np.unique(program.group)) > len(np.unique(program.owner)):
        return program.n <= PRIVATE or of_register(program)
    said = np.array([origin is not None for origin in program.origins], bool)
    rows = program.matrix[said & (program.row_lower == program.row_upper)].tocoo()
    pairs = np.unique(program.owner[rows.col] * rows.shape[0] + rows.row)
    return bool(len(np.unique(pairs // max(rows.shape[0], 1))) < len(pairs))


def of_register(program: LiftedProgram) -> bool:
    """Whether each quasi-identifier has one group, or two of which one is of a single mass: those out of the data."""
    n = int(program.group.max(initial=0)) + 1
    pairs, masses = np.unique(program.owner * n + program.group, return_counts=True)
    groups = np.bincount(pairs // n, minlength=len(program.total))
    alone = np.bincount(pairs // n, masses == 1, len(program.total))
    return bool((groups <= 2).all() and (groups == 2).any() and (alone[groups == 2] >= 1).all())
