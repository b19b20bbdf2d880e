"""The best solution so far of work that somebody waits for, and may have to leave behind.

A factorisation cannot be interrupted. Whoever works keeps what there is before one; whoever waits finds it there. Both
run in one context, see `maxent.solvers.clock.in_time`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from maxent.models.arrays import FloatArray

SoFar = list[tuple[FloatArray, FloatArray | None]]
"""Points with their multipliers, the last one the best; see `maxent.solvers.solution.Solution`."""

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


def keep(point: FloatArray, multipliers: FloatArray | None) -> None:
    """Keep a point of the program that is solved, in place of the one before."""
    place = _PLACE.get()
    if place is not None:
        place[:] = [(point, multipliers)]
