"""Proves bounds level by level, within the time limit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from maxent.constraints.program import Program
from maxent.models.arrays import IntArray
from maxent.solvers.certainty.bounds import Bounds, unbounded
from maxent.solvers.certainty.levels import LEVELS
from maxent.solvers.clock import Clock
from maxent.solvers.solution import Stop

# ``proved``: every level was asked all that was open; ``time_limit``, ``interrupted``, ``solver_ended``: it was not,
# and bounds may be loose; ``inconsistent``: no data agree with all statements, and no bound says anything.
Status = Literal["proved", "time_limit", "interrupted", "solver_ended", "inconsistent"]


@dataclass(frozen=True, slots=True, eq=False)
class Proved:
    """Bounds, and whether everything was asked."""

    bounds: Bounds
    status: Status


def prove(program: Program, last: str, clock: Clock) -> Proved:
    """Bounds by all levels up to ``last``, each asked about what is open after those before it."""
    bounds = unbounded(program)
    if program.contradictions:
        return Proved(bounds, "inconsistent")
    for number, level in enumerate(LEVELS):
        questions = bounds.open
        if not questions.any():
            break
        why = clock.stop() if number else None  # the first level always answers
        if why is not None:
            bounds = replace(bounds, unasked=bounds.unasked | questions)
        else:
            bounds = level.tighten(program, bounds, questions, clock).stamped(bounds, number)
        if bounds.contradicted:
            return Proved(unbounded(program), "inconsistent")
        if level.name == last:
            break
    if not bounds.unasked.any():
        return Proved(bounds, "proved")
    if clock.stop() is Stop.INTERRUPTED:
        return Proved(bounds, "interrupted")
    return Proved(bounds, "solver_ended" if bounds.ended else "time_limit")


def prove_alike(program: Program, times: IntArray, clock: Clock) -> Proved:
    """Bounds by the level ``closed`` of quasi-identifiers that are alike, in the same leaf with as many people each.

    Each row of the table stands for ``times`` of them, shape (n_qi,), and has all their people; the bounds are those of
    one of them, and the same as if each had a row.
    """
    from maxent.solvers.certainty.closed import tighten

    start = unbounded(program)
    start = replace(start, high=start.high / times[:, None])
    if program.contradictions:
        return Proved(start, "inconsistent")
    found = tighten(program, start, start.open, clock, times).stamped(start, 0)
    return Proved(start, "inconsistent") if found.contradicted else Proved(found, "proved")
