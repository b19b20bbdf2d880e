"""Levels of proof, cheapest first: each level works on questions that earlier levels left open."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from typing import NamedTuple

from maxent.constraints.program import Program
from maxent.models.arrays import BoolArray
from maxent.models.packages import installed
from maxent.solvers.certainty.bounds import Bounds
from maxent.solvers.clock import Clock

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
    from maxent.solvers.certainty.linear.level import tighten

    return tighten(program, bounds, questions, clock)


def _convex(program: Program, bounds: Bounds, questions: BoolArray, clock: Clock) -> Bounds:
    from maxent.solvers.certainty.convex.level import tighten

    return tighten(program, bounds, questions, clock)


def _integer(program: Program, bounds: Bounds, questions: BoolArray, clock: Clock) -> Bounds:
    from maxent.solvers.worlds.integer import tighten

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
