"""Levels of proof, cheapest first: each works on the questions that earlier levels left open, within a time limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from maxent.constraints.program.program import Program
from maxent.models.arrays import BoolArray, IntArray
from maxent.models.columns import CELLS, check_size
from maxent.models.packages import installed
from maxent.solvers.certainty.bounds import Bounds, unbounded
from maxent.solvers.certainty.bounds import Proved as Proved
from maxent.solvers.certainty.bounds import Status as Status
from maxent.solvers.control import Clock
from maxent.solvers.solution import Stop

# Program, bounds, questions, clock -> tighter bounds: only for the pairs in ``questions``, a mask of shape
# (n_quasi_identifiers, n_classes), only by what is proved, and only until the clock stops it.
Tighten = Callable[[Program, Bounds, BoolArray, Clock], Bounds]


class Level(NamedTuple):
    """A level: its name, as in results, how it tightens bounds, and the module of an extra that it needs, if any."""

    name: str
    tighten: Tighten
    module: str | None = None


def _closed(program: Program, bounds: Bounds, questions: BoolArray, clock: Clock) -> Bounds:
    from maxent.solvers.certainty.closed import tighten

    return tighten(program, bounds, questions, clock)


def _linear(program: Program, bounds: Bounds, questions: BoolArray, clock: Clock) -> Bounds:
    from maxent.solvers.certainty.linear import tighten

    return tighten(program, bounds, questions, clock)


def _convex(program: Program, bounds: Bounds, questions: BoolArray, clock: Clock) -> Bounds:
    from maxent.solvers.certainty.convex import tighten

    return tighten(program, bounds, questions, clock)


def _integer(program: Program, bounds: Bounds, questions: BoolArray, clock: Clock) -> Bounds:
    from maxent.solvers.certainty.integer import tighten

    return tighten(program, bounds, questions, clock)


# All levels, in the order in which they are asked.
LEVELS: tuple[Level, ...] = (
    Level("closed", _closed),
    Level("linear", _linear),
    Level("convex", _convex),
    Level("integer", _integer, "ortools"),
)


def level_names() -> tuple[str, ...]:
    """Names of all levels, in the order in which they are asked."""
    return tuple(level.name for level in LEVELS)


def last_level() -> str:
    """Name of the last level that can be asked here, where what it needs is installed."""
    there = takewhile(lambda level: level.module is None or installed(level.module), LEVELS)
    return [level.name for level in there][-1]


# Proves bounds level by level, within the time limit.


# Share of the people that a statement is about by which known classes may miss it: it was computed.
MISSED = 1e-6


def prove(
    program: Program, last: str, clock: Clock, asked: BoolArray | None = None, start: Bounds | None = None
) -> Proved:
    """Bounds by all levels up to ``last``, each asked about what is open after those before it.

    ``asked`` of shape (n_quasi_identifiers,) are those that all levels but the first are asked about, by default all.
    ``start`` are bounds that hold already. Statements that are linear for each value of some sums are taken by cases.
    """
    check_size(CELLS, len(program.cells), program.n_classes)
    statements, everybody = program.release.statements, np.ones(len(program.table), bool) if asked is None else asked
    if last == LEVELS[0].name or not statements:
        return _prove(program, last, clock, asked, start)
    from maxent.solvers.certainty.cases import by_cases, cases_of
    from maxent.solvers.certainty.refits import by_tables, is_refitted, refitted
    from maxent.solvers.certainty.settled import more_is_known

    unsettled, fitted = np.ones((len(program.table), program.n_classes), bool), last == LEVELS[-1].name
    fitted = fitted and is_refitted(program)
    if fitted and cases_of(program) is None:
        found = _prove(program, LEVELS[-2].name, clock, asked, start)
        if found.status != "proved":
            return found
        bounds, unsettled, listed = by_tables(program, found.bounds, everybody, clock)
        if not unsettled.any() or (listed and not program.internal and not more_is_known(program)):
            return refitted(program, replace(found, bounds=bounds), unsettled, more=False)
        start, asked = bounds, np.asarray(unsettled.any(axis=1))
    found = _prove(program, last, clock, asked, start)
    if found.status != "proved":
        return found

    def of_case(piece: Program, level: str, who: BoolArray, at: Bounds) -> Proved:
        return _prove(piece, level, clock, who & everybody, at)

    found = by_cases(program, last, found, of_case, clock)
    return refitted(program, found, unsettled & everybody[:, None]) if fitted and found.status == "proved" else found


# What is said of proofs that ended although the call had time left, or no limit.
UNTIMED = (
    "not the time limit of the call ended the proofs: a method's own limit did (tables, cases, or seconds that it may "
    "take), or a table of people too near to a printed digit to tell"
)


def untimed(found: Proved, clock: Clock) -> Proved:
    """The same, with a note where the call has time left though its status is ``time_limit``."""
    if found.status != "time_limit" or clock.stop() is not None:
        return found
    return replace(found, bounds=replace(found.bounds, notes=(*found.bounds.notes, UNTIMED)))


def _prove(program: Program, last: str, clock: Clock, asked: BoolArray | None, start: Bounds | None) -> Proved:
    bounds = unbounded(program) if start is None else replace(start, unasked=np.zeros(start.low.shape, bool))
    if program.contradictions:
        return Proved(bounds, "inconsistent")
    for number, level in enumerate(LEVELS):
        questions = bounds.open if asked is None or not number else bounds.open & asked[:, None]
        if not questions.any():
            break
        why = clock.stop() if number else None  # the first level always answers
        if why is not None:
            bounds = replace(bounds, unasked=bounds.unasked | questions)
        else:
            bounds = level.tighten(program, bounds, questions, clock).stamped(bounds, number)
        if bounds.contradicted:
            return Proved(replace(unbounded(program), notes=bounds.notes), "inconsistent")
        if level.name == last:
            break
    if not bounds.open.any() and _missed(program, bounds):
        return Proved(replace(unbounded(program), notes=bounds.notes), "inconsistent")
    if not bounds.unasked.any():
        return Proved(bounds, "proved")
    if clock.stop() is Stop.INTERRUPTED:
        return Proved(bounds, "interrupted")
    return Proved(bounds, "solver_ended" if bounds.ended else "time_limit")


def _missed(program: Program, bounds: Bounds) -> bool:
    """Whether people whose classes are all known miss a statement that weighs them, which lower levels do not read."""
    if not program.single or all(said.weights is None for said in program.linear):
        return False
    from maxent.constraints.program.residuals import LinearRows

    return bool((LinearRows(program).violation(bounds.low[program.cells.owner]) > MISSED).any())


def prove_alike(program: Program, times: IntArray, clock: Clock) -> Proved:
    """Bounds by the level ``closed`` of quasi-identifiers that are alike, ``times`` of them for each row of the table.

    They are the same as if each had a row.
    """
    from maxent.solvers.certainty.closed import tighten

    start = unbounded(program)
    start = replace(start, high=start.high / times[:, None])
    if program.contradictions:
        return Proved(start, "inconsistent")
    found = tighten(program, start, start.open, clock, times).stamped(start, 0)
    return Proved(start, "inconsistent") if found.contradicted else Proved(found, "proved")
