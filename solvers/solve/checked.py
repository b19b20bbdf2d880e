"""Checks answers of back ends: repairs the point, and computes its violation anew."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxent.constraints.lifting.lift import LiftedPart
from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.models.arrays import FloatArray
from maxent.models.errors import MaxentError
from maxent.solvers.apart import may_be_ended
from maxent.solvers.backend import Backend, Keeps, Options
from maxent.solvers.clock import in_time, keeping, watched
from maxent.solvers.copies import WorkerLost
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.solution import Solution, Stop

# Share of its quasi-identifier's people below which a mass hardly moves with its score.
EDGE = 1e-5
# How far from such an answer to other masses a solve begins again.
INSIDE = 0.2
# Nats per individual by which an answer is better than another.
MORE = 1e-7


@dataclass(slots=True)
class Solver:
    """A back end that works on a program of a ``part``, with its state for further starts."""

    backend: Backend
    part: LiftedPart
    program: LiftedProgram
    _state: Any = None

    def solve(self, start: FloatArray, options: Options) -> Solution:
        """The back end's solution from a start, with a violation that can be relied on.

        The masses alone count: they are clipped to their bounds and the aggregates computed from them. ``CONVERGED`` is
        left only to a point within the tolerance. A back end that fails (an ordinary exception, no point, a point of
        another shape or with NaNs) has found nothing, and its message says why. So has one that does not end in time,
        or whose own process crashes or is ended.

        Raises
        ------
        MaxentError, MemoryError
            From the back end: what is missing on this machine is no matter of this program.
        """
        backend, program = self.backend, self.program
        try:
            with keeping() as so_far, self._watched(options):
                found = in_time(options.clock, lambda: self._solve(start, options))
        except WorkerLost as error:
            return _nothing(backend, Stop.NUMERICAL, str(error))
        except (MaxentError, MemoryError):
            raise
        except Exception as error:
            return _nothing(backend, Stop.NUMERICAL, f"{type(error).__name__}: {error}")
        late = options.clock.stop() if found is None else None
        if late is not None and so_far:
            kept = so_far[-1]
            found = Solution(kept.point, late, np.inf, 0, "did not stop in time", multipliers=kept.multipliers)
        elif late is not None:
            return _nothing(backend, late, "did not stop in time")
        if not isinstance(found, Solution) or not isinstance(found.stop, Stop):
            return _nothing(backend, Stop.NUMERICAL, f"returned {type(found).__name__} without a reason to stop")
        masses = _masses(found.point, program)
        if masses is None:
            stop = Stop.NUMERICAL if found.stop is Stop.CONVERGED else found.stop
            return _nothing(backend, stop, found.message or "returned no point")
        point = self.part.point(self.part.masses(masses))
        violation = Derivatives(program).violation(point)
        trusted = found.stop is not Stop.CONVERGED or violation <= options.tolerance
        return replace(
            found,
            point=point,
            stop=found.stop if trusted else Stop.NUMERICAL,
            violation=violation,
            iterations=int(found.iterations),
            by=found.by or backend.name,
        )

    def better_inside(self, found: Solution, masses: FloatArray, options: Options) -> Solution:
        """A solution, or a better one that a solve finds which begins nearer to some masses.

        It begins again where a program is not convex, and masses of a solution that converged are at the edge. Solvers
        move scores, and the less a mass is, the less it moves with its score: there they can end although more of it
        would have more entropy.
        """
        if found.stop is not Stop.CONVERGED or self.program.convex:
            return found
        program, point = self.program, np.asarray(found.point)
        n = program.n_masses
        edge = (point[:n] < EDGE * program.total[program.owner]) & (program.lower[:n] < program.upper[:n])
        if not edge.any() or options.clock.stop() is not None:
            return found
        start = (1.0 - INSIDE) * self.part.masses(point) + INSIDE * masses
        again, value = self.solve(self.part.point(start), options), Derivatives(program)
        if again.point is None or again.stop is not Stop.CONVERGED:
            return found
        more = value.objective(point) - value.objective(again.point)
        return again if more > MORE * float(program.total.sum()) else found

    def _watched(self, options: Options) -> AbstractContextManager[None]:
        """Early notice for a large program."""
        program = self.program
        if not may_be_ended(program, options.clock):
            return nullcontext()
        what = f"{program.n:,} unknowns in {len(program.row_lower):,} statements, by {self.backend.name}"
        return watched("solving", lambda: what, self._shorter(), options.clock)

    def _shorter(self) -> str:
        """Advice on how to make the problem smaller."""
        origins = filter(None, (*self.program.origins, *self.program.nl_origins))
        several = any(origin.tree is not None for origin in origins)
        ways = ["fewer trees or private attributes"] if several else []
        if self.program.terms or not several:
            ways.append("less --knowledge")
        if self.backend.name not in ("auto", "newton"):
            ways.append("the back end auto")
        return f"{', or '.join(ways)}{',' * (len(ways) > 1)} {'take' if several else 'takes'} less"

    def _solve(self, start: FloatArray, options: Options) -> Solution:
        if not isinstance(self.backend, Keeps):
            return self.backend.solve(self.program, start, options)
        if self._state is None:
            self._state = self.backend.init(self.program, options)
        return self.backend.solve_from(self._state, start, options)


def _nothing(backend: Backend, stop: Stop, message: str) -> Solution:
    return Solution(None, stop, np.inf, 0, message, backend.name)


def _masses(point: object, program: LiftedProgram) -> FloatArray | None:
    """The masses of a point within their bounds, shape (n_masses,); None when it is no point of the program."""
    try:
        z = np.asarray(point, np.float64)
    except (TypeError, ValueError):
        return None
    if z.shape != (program.n,) or not np.isfinite(z).all():
        return None
    n = program.n_masses
    clipped: FloatArray = np.clip(z[:n], program.lower[:n], program.upper[:n])
    return clipped
