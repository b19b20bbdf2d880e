"""A word ahead: what will take minutes says so early, to whoever wants to hear it.

Solvers call `foretell` where they know enough, and what cannot know is `watched`. The word reaches the one who listens
by the context that they run in, which threads of `maxent.solvers.clock.in_time` share; other processes have nobody who
listens.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass

from maxent.solvers.clock import Clock

LONG = 60.0
"""Seconds that are worth a word."""

PATIENCE = 20.0
"""Seconds after which what nobody foretold is worth one."""


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
    if seconds < LONG:
        return
    minutes = round(seconds / 60)
    time = "a minute" if minutes == 1 else f"{minutes} minutes" if minutes < 100 else f"{minutes / 60:.0f} hours"
    _tell(f"solving will take about {time}: {what}; {shorter}", clock)


@contextmanager
def watched(doing: str, what: Callable[[], str], shorter: str, clock: Clock) -> Iterator[None]:
    """Say that what goes on meanwhile takes long, once it does; ``what`` says then how far it came."""
    if _LISTENER.get() is None:
        yield
        return

    def late() -> None:
        _tell(f"{doing} has taken {PATIENCE:.0f} s, and may take minutes: {what()}; {shorter}", clock)

    timer = threading.Timer(PATIENCE, copy_context().run, (late,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _tell(text: str, clock: Clock) -> None:
    """Let the listener hear a text, unless it heard one, or the clock ends the work soon."""
    listener, left = _LISTENER.get(), clock.left()
    if listener is None or listener.told or (left is not None and left < LONG):
        return
    listener.told = True
    listener.hear(text)
