"""Reasons not to rely on a result, in words, and the warning with them in Python."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from maxent.models.errors import UnreliableResult

# Status of an estimate -> why it is not to be relied on.
REASONS = {
    "inconsistent": "the statements contradict each other or the table; the result is the nearest to all of them",
    "not_converged": "the solver did not converge",
    "time_limit": "stopped at the time limit; the result is the best so far",
    "interrupted": "interrupted; the result is the best so far",
}
NOT_ABOUT_THEM = "not to be relied on: the release and the table are not about the same people"


def not_reliable(status: str) -> str:
    """Say why an estimate of a status other than ``optimal`` is not to be relied on."""
    return f"not to be relied on: {REASONS.get(status, status)} (status {status})"


def warn_unreliable(text: str) -> None:
    """Warn, in the name of the line outside this package that asked for the result."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("maxent."):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, UnreliableResult, stacklevel=level)


@contextmanager
def unwarned() -> Iterator[None]:
    """Leave it to the caller to say which results are not to be relied on: once, and in its own words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreliableResult)
        yield
