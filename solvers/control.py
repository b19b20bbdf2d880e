"""Control of long work: time limits, best solution so far, early notice; and the result of a back end.

The threads: the main thread waits and work runs in a second one. `in_time` starts that thread (named `WORK`) if a time
limit or a listener is there, and looks at the clock every `POLL` seconds. Work itself asks `Clock.stop` between its
iterations, or calls `Clock.check`, which raises `OutOfTime`. Ctrl-C sets a flag of the clock, nothing else. Work that
does not end `GRACE` seconds after the time limit is left behind: its thread goes on, and Python waits for it at its end
(`end_left_behind`). What it has found by then is where it put it with `keep`; the one who waits made that place with
`keeping`. Both share a context, which is copied to the thread; so do `hearing`, `foretell` and `watched`, which tell a
listener once that a solve takes long. Libraries that hold Python's lock, or may crash, run in a process of their own
(`maxent.solvers.workers`), which is killed; copies of this process (`maxent.solvers.workers`) hear of an interruption
by a file, see `Clock.shared`.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from types import FrameType
from typing import ClassVar, NoReturn, TypeVar

from maxent.models.arrays import FloatArray
from maxent.models.files.output import scratch
from maxent.solvers.solution import Stop

T = TypeVar("T")
# Seconds after which what is left to do for an answer is not worth it, and which work may take to end; see `in_time`.
SOON, GRACE = 0.5, 0.75
# The same for processes, which leave work of their own behind before: then they are ended; and for what has to be done
# before there can be any answer.
LAST = GRACE + 0.5
# Seconds that measuring an answer may take after the time limit: what takes longer begins before, `Clock.reserve`.
FINISHING = 0.5
# Signals that ask a process to end: Ctrl-C, and what `kill` and batch systems send first.
ASKED_TO_END = (signal.SIGINT, signal.SIGTERM)
# Seconds between looks at whether to wait any longer.
POLL = 0.05
# The name of threads that work while another one looks at the clock.
WORK = "maxent-work"
# Seconds that Python waits at its end, all in all, for work that was left behind: see `end_left_behind`.
AT_THE_END = 10.0
_LEFT_BEHIND: list[threading.Thread] = []
# Bytes that a process holds from which freed memory is given back to the system between steps.
LARGE = 1 << 30


class OutOfTime(Exception):
    """Work was given up halfway, because the clock said so."""

    def __init__(self, why: Stop) -> None:
        super().__init__(why.value)
        self.why = why


class Clock:
    """Tells a solver that is running whether it has to stop, with the best point so far.

    ``limit`` is in seconds from now on, None for no limit. A copy in another process has the same deadline (the
    monotonic clock is the machine's), and hears of an interruption while the original is `shared`. So does one that is
    made while another is `listening`.
    """

    _LISTENING: ClassVar[list[Clock]] = []

    def __init__(self, limit: float | None = None) -> None:
        self.limit = limit
        self._deadline = None if limit is None else time.monotonic() + limit
        self._reserved = 0.0
        self._interrupted: float | None = None
        self._flag: str | None = None
        self._heard = False
        self._outer = self._LISTENING[-1] if self._LISTENING else None

    def stop(self) -> Stop | None:
        """The reason to stop now, None to go on; cheap enough to be asked in every iteration."""
        if self._interrupted is None and self._flag is not None and os.path.exists(self._flag):
            self._interrupted = time.monotonic()
        if self._interrupted is None and self._outer is not None:
            self._interrupted = self._outer._interrupted
        if self._interrupted is not None:
            return Stop.INTERRUPTED
        if self._deadline is not None and time.monotonic() >= self._deadline - self._reserved:
            return Stop.TIME_LIMIT
        return None

    def reserve(self, seconds: float) -> None:
        """Stop earlier, so that the last ``seconds`` of work end at most `FINISHING` after the limit."""
        self._reserved = max(0.0, seconds - FINISHING)

    def check(self, late: float = 0.0) -> None:
        """Raise `OutOfTime` if it is time to stop, and has been for ``late`` seconds.

        Raises
        ------
        OutOfTime
            With the reason.
        """
        why = self.stop()
        if why is not None and self.late() >= late:
            raise OutOfTime(why)

    def late(self) -> float:
        """Seconds since it was time to stop, 0 before."""
        limit = None if self._deadline is None else self._deadline - self._reserved
        since = [at for at in (limit, self._interrupted) if at is not None]
        return max(0.0, time.monotonic() - min(since)) if self.stop() is not None and since else 0.0

    def left(self) -> float | None:
        """Seconds until the time limit, at least 0; None without one."""
        return None if self._deadline is None else max(0.0, self._deadline - self._reserved - time.monotonic())

    @property
    def runs(self) -> bool:
        """Whether anything can make it say to stop: a limit, or somebody who is listening."""
        heard = self._heard or self._interrupted is not None or self._outer is not None
        return heard or self._flag is not None or self._deadline is not None

    def interrupt(self) -> None:
        """Ask the running work to stop."""
        if self._interrupted is None:
            self._interrupted = time.monotonic()
        if self._flag is not None:
            os.close(os.open(self._flag, os.O_CREAT | os.O_WRONLY))

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Let copies of the clock that are made meanwhile hear of an interruption: it leaves a file behind."""
        if self._flag is not None:  # a copy, whose copies hear the same
            yield
            return
        with scratch() as folder:
            self._flag = os.path.join(folder, "interrupted")
            if self._interrupted is not None:
                self.interrupt()
            try:
                yield
            finally:
                self._flag = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take Ctrl-C and a request to terminate as `interrupt`; a second one does what it did before."""
        if threading.current_thread() is not threading.main_thread() or self._interrupted is not None:
            yield
            return

        def on_signal(number: int, frame: FrameType | None) -> None:
            signal.signal(number, before[signal.Signals(number)])
            self.interrupt()

        before = {number: signal.signal(number, on_signal) for number in ASKED_TO_END}
        self._heard = True
        self._LISTENING.append(self)
        try:
            yield
        finally:
            self._heard = False
            self._LISTENING.remove(self)
            for number, handler in before.items():
                signal.signal(number, handler)


class Watch:
    """Looks at a clock for work that has to be done before there is any answer, and remembers how far it came."""

    def __init__(self, clock: Clock, far: str) -> None:
        self.clock, self.far = clock, far

    def __call__(self, far: str = "") -> None:
        """As `Clock.check`, `LAST` seconds late: small problems have an answer, whatever the limit.

        Raises `OutOfTime` with the reason.
        """
        self.far = far or self.far
        self.clock.check(LAST)


def give_back() -> None:
    """Give what was freed back to the system, where this process holds much: each thread keeps what it freed."""
    with suppress(OSError, AttributeError, TypeError):  # neither Linux nor the GNU C library
        with open("/proc/self/statm") as held:
            pages = int(held.read().split()[1])
        if pages * os.sysconf("SC_PAGE_SIZE") > LARGE:
            import ctypes

            ctypes.CDLL(None).malloc_trim(0)


def in_time(clock: Clock, work: Callable[[], T], late: float = GRACE) -> T | None:
    """The result of ``work``, None when it does not end within some seconds of the moment when the clock says so.

    It is done by another thread, which is left behind, as no factorisation of a matrix looks at the clock.
    """
    if not clock.runs:
        return work()
    found: list[T] = []
    failed: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:
            failed.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=copy_context().run, args=(run,), name=WORK, daemon=True)
    thread.start()
    try:
        while not done.wait(POLL):
            if clock.late() > late:
                return None
    except BaseException:
        clock.interrupt()
        raise
    finally:
        if not done.is_set():
            _LEFT_BEHIND[:] = [thread, *(other for other in _LEFT_BEHIND if other.is_alive())]
    if failed:
        raise failed[0]
    return found[0]


def given_up(clock: Clock, work: Callable[[], T], late: float = GRACE) -> T:
    """The result of ``work``; `OutOfTime` when it does not end within some seconds of the clock saying so."""
    found = in_time(clock, work, late)
    if found is None:
        raise OutOfTime(clock.stop() or Stop.TIME_LIMIT)
    return found


@atexit.register
def end_left_behind() -> None:
    """Wait for threads that were left behind, so that they end before Python does.

    One that comes back from a library in C++ or Rust later aborts the process, or keeps it from ending.
    """
    end = time.monotonic() + AT_THE_END
    with suppress(KeyboardInterrupt):  # who does not want to wait
        for thread in _LEFT_BEHIND:
            thread.join(max(0.0, end - time.monotonic()))


def end_process(status: int) -> NoReturn:
    """End this process with a status, after its output is written and its exit functions have run.

    Python is not taken down around threads that are still at work, which would abort the process.
    """
    if not any(thread.is_alive() for thread in _LEFT_BEHIND):
        threading._shutdown()  # type: ignore[attr-defined]  # as Python does: executors end their work
    atexit.unregister(end_left_behind)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # closed, or nobody reads it
            stream.flush()
    os._exit(status)


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """A point with its multipliers, see `Solution`, and by how much it misses the program."""

    point: FloatArray
    multipliers: FloatArray | None
    missed: float


# The best point, or none.
SoFar = list[Kept]
_PLACE: ContextVar[SoFar | None] = ContextVar("place", default=None)


@contextmanager
def keeping() -> Iterator[SoFar]:
    """A place for the best solution that `keep` is called with meanwhile."""
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


# Seconds that are worth a word.
LONG = 60.0
# Seconds after which what nobody foretold is worth one.
PATIENCE = 20.0


@dataclass(slots=True)
class _Listener:
    hear: Callable[[str], None]
    told: bool = False


_LISTENER: ContextVar[_Listener | None] = ContextVar("listener", default=None)


@contextmanager
def hearing(hear: Callable[[str], None]) -> Iterator[None]:
    """Call a function once if a solve takes long meanwhile."""
    token = _LISTENER.set(_Listener(hear))
    try:
        yield
    finally:
        _LISTENER.reset(token)


def foretell(seconds: float, what: str, shorter: str, clock: Clock) -> None:
    """Say that solving will take so many seconds, if that is long and the clock will not end it soon."""
    if seconds < LONG:
        return
    minutes = round(seconds / 60)
    time = "a minute" if minutes == 1 else f"{minutes} minutes" if minutes < 100 else f"{minutes / 60:.0f} hours"
    _tell(f"solving will take about {time}: {what}; {shorter}", clock)


@contextmanager
def watched(doing: str, what: Callable[[], str], shorter: str, clock: Clock) -> Iterator[None]:
    """Tell the listener once if the work takes long; ``what`` then says how far it is."""
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
