"""The levels of proof, the cheapest first: each asks only what those before it have left open."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from maxent.constraints.program import Program
from maxent.models.arrays import BoolArray
from maxent.solvers.certainty.bounds import Bounds
from maxent.solvers.clock import Clock

Tighten = Callable[[Program, Bounds, BoolArray, Clock], Bounds]
"""Program, bounds, questions, clock -> tighter bounds: only for the pairs in ``questions``, a mask of shape
(n_quasi_identifiers, n_classes), only by what is proved, and only until the clock stops it."""


class Level(NamedTuple):
    """A level: its name, as in results, and how it tightens bounds."""

    name: str
    tighten: Tighten


def _closed(program: Program, bounds: Bounds, questions: BoolArray, clock: Clock) -> Bounds:
    from maxent.solvers.certainty.closed import tighten

    return tighten(program, bounds, questions, clock)


def _linear(program: Program, bounds: Bounds, questions: BoolArray, clock: Clock) -> Bounds:
    from maxent.solvers.certainty.linear.level import tighten

    return tighten(program, bounds, questions, clock)


LEVELS: tuple[Level, ...] = (Level("closed", _closed), Level("linear", _linear))
"""All levels, in the order in which they are asked."""


def level_names() -> tuple[str, ...]:
    """Names of all levels, in the order in which they are asked."""
    return tuple(level.name for level in LEVELS)
