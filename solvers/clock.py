"""When to stop: a time limit, and Ctrl-C, which back ends ask about between iterations."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from maxent.solvers.solution import Stop


class Clock:
    """Tells a solver that is running whether it has to stop, with the best point so far.

    ``limit`` is in seconds from now on, None for no limit.
    """

    def __init__(self, limit: float | None = None) -> None:
        self._deadline = None if limit is None else time.monotonic() + limit
        self._interrupted = False

    def stop(self) -> Stop | None:
        """Why to stop now, None to go on; cheap enough to be asked in every iteration."""
        if self._interrupted:
            return Stop.INTERRUPTED
        if self._deadline is not None and time.monotonic() >= self._deadline:
            return Stop.TIME_LIMIT
        return None

    def left(self) -> float | None:
        """Seconds until the time limit, at least 0; None without one."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def interrupt(self) -> None:
        """Ask whoever solves to stop."""
        self._interrupted = True

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take Ctrl-C as `interrupt`; a second one raises KeyboardInterrupt. Without effect outside the main thread."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def on_signal(number: int, frame: FrameType | None) -> None:
            signal.signal(signal.SIGINT, before)
            self.interrupt()

        before = signal.signal(signal.SIGINT, on_signal)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
