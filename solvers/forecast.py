"""A word ahead: a solve that will take minutes says so early, to whoever wants to hear it.

Solvers call `foretell` where they know enough. It reaches the one who listens by the context that they run in, which
threads of `maxent.solvers.clock.in_time` share; other processes have nobody who listens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from maxent.solvers.clock import Clock

LONG = 60.0
"""Seconds that are worth a word."""


@dataclass(slots=True)
class _Listener:
    hear: Callable[[str], None]
    told: bool = False


_LISTENER: ContextVar[_Listener | None] = ContextVar("listener", default=None)


@contextmanager
def hearing(hear: Callable[[str], None]) -> Iterator[None]:
    """Let a function hear, once, that what is solved meanwhile takes long."""
    token = _LISTENER.set(_Listener(hear))
    try:
        yield
    finally:
        _LISTENER.reset(token)


def foretell(seconds: float, what: str, shorter: str, clock: Clock) -> None:
    """Say that solving will take so many seconds, if that is long and the clock will not end it soon.

    ``what`` there is to solve, and what would be ``shorter``, are words without a capital.
    """
    listener, left = _LISTENER.get(), clock.left()
    if listener is None or listener.told or seconds < LONG or (left is not None and left < LONG):
        return
    listener.told = True
    minutes = round(seconds / 60)
    time = "a minute" if minutes == 1 else f"{minutes} minutes" if minutes < 100 else f"{minutes / 60:.0f} hours"
    listener.hear(f"solving will take about {time}: {what}; {shorter}")
