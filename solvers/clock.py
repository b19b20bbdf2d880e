"""When to stop: a time limit, and Ctrl-C, which back ends ask about between iterations."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from maxent.solvers.solution import Stop


class Clock:
    """Tells a solver that is running whether it has to stop, with the best point so far.

    ``limit`` is in seconds from now on, None for no limit. A copy in another process has the same deadline (the
    monotonic clock is the machine's), and hears of an interruption while the original is `shared`.
    """

    def __init__(self, limit: float | None = None) -> None:
        self._deadline = None if limit is None else time.monotonic() + limit
        self._interrupted = False
        self._flag: str | None = None

    def stop(self) -> Stop | None:
        """Why to stop now, None to go on; cheap enough to be asked in every iteration."""
        if self._interrupted or (self._flag is not None and os.path.exists(self._flag)):
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
        if self._flag is not None:
            os.close(os.open(self._flag, os.O_CREAT | os.O_WRONLY))

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Let copies of the clock that are made meanwhile hear of an interruption: it leaves a file behind."""
        with tempfile.TemporaryDirectory(prefix="maxent-") as folder:
            self._flag = os.path.join(folder, "interrupted")
            if self._interrupted:
                self.interrupt()
            try:
                yield
            finally:
                self._flag = None

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
