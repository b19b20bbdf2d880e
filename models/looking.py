"""Looks at the clock, for work that knows nothing of clocks: it calls a function again and again, which may raise."""

from __future__ import annotations

from typing import Protocol


class Check(Protocol):
    """Called again and again by work that takes long, with how far it has come; it may raise, to end it."""

    def __call__(self, far: str = "") -> None: ...


def unchecked(far: str = "") -> None:
    """Let the work go on: nobody waits for it."""
