"""The best solution so far of work that somebody waits for, and may have to leave behind.

A factorisation cannot be interrupted. Whoever works keeps what there is before one; whoever waits finds it there. Both
run in one context, see `maxent.solvers.clock.in_time`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from maxent.models.arrays import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """A point with its multipliers, see `maxent.solvers.solution.Solution`, and by how much it misses the program."""

    point: FloatArray
    multipliers: FloatArray | None
    missed: float


SoFar = list[Kept]
"""The best point, or none."""

_PLACE: ContextVar[SoFar | None] = ContextVar("place", default=None)


@contextmanager
def keeping() -> Iterator[SoFar]:
    """A place for what is kept meanwhile."""
    place: SoFar = []
    token = _PLACE.set(place)
    try:
        yield place
    finally:
        _PLACE.reset(token)


def keep(point: FloatArray, multipliers: FloatArray | None, missed: float) -> None:
    """Keep a point of the program that is solved, unless one that misses it less is kept already; any unit will do."""
    place = _PLACE.get()
    if place is not None and not (place and place[0].missed < missed):
        place[:] = [Kept(point, multipliers, missed)]
