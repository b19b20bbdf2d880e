"""Worker processes: child processes that can be killed, forked copies, and their threads and memory.

For libraries that neither look at the clock nor let other threads of Python run, that take streams and signals of the
whole process, or that may crash. The process reads calls from its standard input, runs them in its main thread and
answers on its standard output; it ends with the process that started it.
"""

from __future__ import annotations

import atexit
import gc
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from maxent.models.arrays import FloatArray
from maxent.models.errors import MaxentError
from maxent.models.files.output import remove_dead
from maxent.solvers.control import ASKED_TO_END, POLL, SOON, Clock
from maxent.solvers.solution import Solution

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess
    from multiprocessing.sharedctypes import Synchronized

    from maxent.constraints.lifting import LiftedProgram
    from maxent.solvers.backend import Options


# Threads of linear algebra, processors to run on, and memory that a process keeps for its next array.

# What libraries of linear algebra read their number of threads from, as they are loaded.
_THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
# The variable from which the GNU C library reads, when a process starts, how many bytes it keeps for later.
KEEPING = "MALLOC_TRIM_THRESHOLD_"
# Parameters of ``mallopt``: bytes that are kept, and those from which an array is mapped by itself.
_TRIM, _MAP = -1, -3
# Bytes for these two, and for the second one otherwise, as the library has it.
_KEPT, _MAPPED, _MAPPED_BEFORE = 1 << 30, 1 << 25, 1 << 17


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep linear algebra to one thread, so that it makes sums in the same order everywhere.

    A library that is loaded meanwhile keeps to one for good.
    """
    from threadpoolctl import threadpool_limits

    before = {name: os.environ.get(name) for name in _THREADS}
    with threadpool_limits(1):
        os.environ.update(dict.fromkeys(_THREADS, "1"))
        try:
            yield
        finally:
            for name, number in before.items():
                if number is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = number


def keep_to_one_thread() -> None:
    """Keep linear algebra to one thread until this process ends, that of libraries not loaded yet included."""
    from threadpoolctl import threadpool_limits

    os.environ.update(dict.fromkeys(_THREADS, "1"))
    threadpool_limits(1)


@cache
def _library() -> Any:
    """The GNU C library, where this process has been told to keep no memory; None elsewhere."""
    if not os.environ.get(KEEPING, "").isdecimal():
        return None
    import ctypes

    try:
        found = ctypes.CDLL(None)
    except (OSError, TypeError):  # not Linux
        return None
    return found if hasattr(found, "mallopt") and hasattr(found, "malloc_trim") else None


@contextmanager
def memory_kept() -> Iterator[None]:
    """Keep freed memory for the next arrays, as the system takes long to map and clear every array of more than 128 KB.

    Dask has the C library release it at once in workers.
    """
    library = _library()
    if library is None:
        yield
        return
    library.mallopt(_TRIM, _KEPT)
    library.mallopt(_MAP, _MAPPED)
    try:
        yield
    finally:
        library.mallopt(_TRIM, int(os.environ[KEEPING]))
        library.mallopt(_MAP, _MAPPED_BEFORE)
        library.malloc_trim(0)


# Forked workers: copies of this process that make calls.
#
# Light to import: whoever wants copies early, or many, has not to wait for solvers.

T = TypeVar("T")


def nothing() -> None:
    """Do nothing."""


class WorkerLost(MaxentError, RuntimeError):
    """A process that computed for this one was ended from outside, as systems do that are short of memory."""


def processes_for(jobs: int) -> int:
    """How many processes ``jobs`` are, -1 one for each core, -2 one less, and so on."""
    return jobs if jobs > 0 else max(cores() + 1 + jobs, 1)


def can_fork() -> bool:
    """Whether this process can be copied with all that it has in memory: a copy has a single thread."""
    return sys.platform == "linux" and threading.active_count() == 1


def started(
    number: int, work: Callable[[Connection], None], beside: Collection[Connection] = ()
) -> dict[Connection, BaseProcess]:
    """Forks ``number`` workers; returns the parent's end of each pipe with its worker."""
    from multiprocessing import get_context

    context = get_context("fork")
    found: dict[Connection, BaseProcess] = {}
    with undisturbed(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
        for _ in range(number):
            ours, theirs = context.Pipe()
            copy = context.Process(target=_serving, args=(work, theirs, (ours, *found, *beside), os.getpid()))
            copy.start()
            theirs.close()
            found[ours] = copy
    return found


def received(pipe: Connection) -> Any:
    """The next message of a copy."""
    try:
        return pipe.recv()
    except OSError as error:
        raise EOFError from error


def ended(copies: Mapping[Connection, BaseProcess], busy: Collection[Connection]) -> None:
    """Wait for the end of copies; those that are busy are killed."""
    for pipe, copy in copies.items():
        if pipe in busy:
            copy.kill()
        pipe.close()  # others end by themselves
    for copy in copies.values():
        copy.join()


def _serving(
    work: Callable[[Connection], None], pipe: Connection, inherited: Collection[Connection], parent: int
) -> None:
    serve(parent)
    for other in inherited:  # open here, they would not close when the other process closes them
        other.close()
    gc.freeze()  # what is there already is not looked through, which would copy it
    keep_to_one_thread()
    with suppress(EOFError, ConnectionError):
        work(pipe)


def next_call(turn: Synchronized[int], calls: int, patience: float | None = None) -> int | None:
    """The number of the next call that nobody has begun, None where there is none."""
    # A process that is killed at the wrong moment keeps the others out: ``patience`` is in seconds, None for ever.
    lock = turn.get_lock()
    if not lock.acquire(True, patience):
        return None
    try:
        number = turn.value
        turn.value = number + 1
    finally:
        lock.release()
    return number if number < calls else None


def make_calls(
    turn: Synchronized[int],
    function: Callable[..., Any],
    calls: Sequence[tuple[int, tuple[Any, ...]]],
    pipe: Connection,
) -> None:
    """In a copy: make calls that no other one has begun; send number, result and error of each, and None at the end."""
    while (number := next_call(turn, len(calls))) is not None:
        i, arguments = calls[number]
        found, failed = None, None
        try:
            found = function(*arguments)
        except Exception as error:
            failed = error
        pipe.send((i, found, failed))
    pipe.send(None)


def serve(parent: int) -> None:
    """Let this process, which another one started, be ended by that one alone, and when that one is gone."""
    # Ctrl-C in a terminal reaches every process, as `timeout` does: this one hears of it from the other.
    for number in ASKED_TO_END:
        signal.signal(number, signal.SIG_IGN)
    _end_with(parent)


@cache
def _end_with(parent: int) -> None:
    """End this process when the one that it works for is gone: killed, it could not say so."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def deaf() -> Iterator[None]:
    """Hold back Ctrl-C and its like; processes started meanwhile inherit that, and live until they ignore it."""
    if hasattr(signal, "pthread_sigmask"):
        from multiprocessing import resource_tracker

        resource_tracker.ensure_running()  # would let Ctrl-C through again if it was started on the way
    with undisturbed():
        yield


def kill(executor: Any) -> None:
    """Kill the processes of joblib at once.

    Its own thread has dropped all calls by then, and fails at the next one that it finds in the queue: we empty that.
    """
    waiting = getattr(executor, "_work_ids", None)
    with suppress(queue.Empty):
        while waiting is not None:
            waiting.get_nowait()
    executor.shutdown(wait=True, kill_workers=True)


@contextmanager
def undisturbed() -> Iterator[None]:
    """As `deaf`, where processes are copies of this one: threads of libraries take signals, handlers take note."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    arrived: list[int] = []
    ours = threading.current_thread() is threading.main_thread()
    handled = [n for n in (*ASKED_TO_END, signal.SIGHUP) if ours and callable(signal.getsignal(n))]
    before = {n: signal.signal(n, lambda number, frame: arrived.append(number)) for n in handled}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ASKED_TO_END)
    try:
        yield
    finally:
        for held, handler in before.items():
            signal.signal(held, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number in arrived:
            signal.raise_signal(number)


Tell = Callable[[Any], None]
# Variables and rows of a program from which on a step of such a library may take a good part of a second.
LARGE = 4_000
_TOLD, _RETURNED, _RAISED, _UNREADABLE, _ENDED, _LATE = range(6)
# Bytes of the length of a call, which stands before it.
_LENGTH = 8
# Signals by which others end a process; the rest, and an end without one, it brings upon itself.
_FROM_OUTSIDE = frozenset({"SIGKILL", "SIGTERM", "SIGINT", "SIGHUP"})


class Crashed(WorkerLost):
    """A child process crashed in a library; this process goes on."""


def apart(
    function: Callable[..., Any], arguments: tuple[Any, ...], clock: Clock, heard: Tell, *, keep: bool | str = False
) -> Any:
    """The result of ``function(*arguments, clock, tell)`` in another process, None where the process had to be ended.

    A process may be kept for the next call; raises `Crashed` or `WorkerLost` where one ended.
    """
    with clock.shared():
        call = pickle.dumps((function, (*arguments, clock)))
        process, kind = (_kept(str(keep)) if keep else None) or _Process(), _LATE
        try:
            kind, found = process.call(call, clock, heard)
        finally:
            if keep and kind in (_RETURNED, _RAISED):
                _IDLE.setdefault(str(keep), []).append(process)
            else:
                process.end()
    if kind in (_RAISED, _UNREADABLE):
        raise found
    if kind == _ENDED:
        raise process.lost()
    return found


def may_be_ended(program: LiftedProgram, clock: Clock) -> bool:
    """Whether a step on this program may take so long that the clock must be able to kill it."""
    return clock.runs and program.n + len(program.row_lower) + len(program.nl_const) > LARGE


class Here(Protocol):
    """A back end that solves in this process, and tells points on the way."""

    def solve_here(self, program: LiftedProgram, start: FloatArray, options: Options, tell: Tell) -> Solution: ...


def solve_apart(
    backend: Here, program: LiftedProgram, start: FloatArray, options: Options, heard: Tell, *, keep: bool = False
) -> Solution | None:
    """The result of ``backend.solve_here`` from another process, None where that was ended."""
    arguments = (backend, program, start, replace(options, cluster=None))
    found: Solution | None = apart(_solve_there, arguments, options.clock, heard, keep=keep)
    return found


def solve_apart_if_large(
    backend: Here, program: LiftedProgram, start: FloatArray, options: Options, heard: Tell
) -> Solution | None:
    """`solve_apart` for programs that `may_be_ended`; other programs are solved in this process."""
    if not may_be_ended(program, options.clock):
        return backend.solve_here(program, start, options, heard)
    return solve_apart(backend, program, start, options, heard)


def _solve_there(
    backend: Here, program: LiftedProgram, start: FloatArray, options: Options, clock: Clock, tell: Tell
) -> Solution:
    return backend.solve_here(program, start, replace(options, clock=clock), tell)


def _surroundings() -> tuple[str, str, str | None]:
    """Module path, folder and PATH of this process, for a child that loads the same modules."""
    here = os.getcwd()
    return os.pathsep.join(path or here for path in sys.path), here, os.environ.get("PATH")


class _Process:
    """A process that answers calls, one after another; ``spent`` are its processor seconds until its last answer."""

    def __init__(self) -> None:
        self.surroundings, self.of = _surroundings(), os.getpid()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "maxent.solvers.workers"],
            stdin=subprocess.PIPE,  # stays open: it closes when this process ends, and the other ends with it
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": self.surroundings[0]},
            start_new_session=True,  # Ctrl-C in a terminal is for us
        )
        self._reader: threading.Thread | None = None
        self.spent = 0.0
        _ALL.add(self)

    def call(self, call: bytes, clock: Clock, heard: Tell) -> tuple[int, Any]:
        """How a call ended, and its result; unless `_LATE`, the thread that waits for it has ended."""
        messages: SimpleQueue[tuple[int, Any]] = SimpleQueue()
        self._reader = threading.Thread(target=self._talk, args=(call, messages), daemon=True)
        self._reader.start()
        while clock.late() <= SOON:
            try:
                kind, what = messages.get(timeout=POLL)
            except Empty:
                continue
            if kind != _TOLD:
                self._reader.join()
                return kind, what
            heard(what)
        return _LATE, None

    def _talk(self, call: bytes, messages: SimpleQueue[tuple[int, Any]]) -> None:
        """Hand over a call, which a process takes when it has started, and pass on its messages."""
        calls, answers = self._process.stdin, self._process.stdout
        assert calls is not None
        assert answers is not None
        kind, what = _TOLD, None
        try:
            calls.write(len(call).to_bytes(_LENGTH, "little"))
            calls.write(call)
            calls.flush()
            while kind == _TOLD:
                kind, what, self.spent = pickle.load(answers)
                messages.put((kind, what))
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):  # in the middle of an answer, perhaps
            messages.put((_ENDED, None))
        except Exception as error:  # what the function raised can be one that does not unpickle
            messages.put((_UNREADABLE, error))

    def fits(self) -> bool:
        """Whether it would answer as a new one would: a copy of this process has none of its own."""
        alive = self.of == os.getpid() and self._process.poll() is None
        return alive and self.surroundings == _surroundings()

    def lost(self) -> WorkerLost:
        """The error that describes its end."""
        code = self._process.returncode
        try:
            how = signal.Signals(-code).name
        except ValueError:
            how = f"exit status {code}"
        if how in _FROM_OUTSIDE:
            return WorkerLost(f"the solver ended ({how}): it was ended from outside, perhaps for want of memory")
        return Crashed(f"the solver ended ({how}): a library crashed, in a process of its own")

    def kill(self) -> None:
        """End it at once, unless somebody has waited for its end, with the solvers that it has started."""
        if not hasattr(os, "killpg"):  # Windows
            self._process.kill()
        elif self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> None:
        """End it, and remove its temporary files."""
        self.kill()
        self._process.wait()
        remove_dead()  # the temporary folders that it had no time to remove
        calls, answers = self._process.stdin, self._process.stdout
        assert calls is not None
        assert answers is not None
        with suppress(OSError):  # what it has not read
            calls.close()
        if self._reader is not None:
            self._reader.join(SOON)
        if self._reader is None or not self._reader.is_alive():  # a process that nobody ended may hold the other end
            answers.close()
        _ALL.discard(self)


_ALL: set[_Process] = set()
_IDLE: dict[str, list[_Process]] = {}


def _kept(of: str) -> _Process | None:
    """A process that was kept for such calls, and suits one from here and now."""
    while True:
        try:
            process = _IDLE[of].pop()  # by one thread alone
        except (KeyError, IndexError):
            return None
        if process.fits():
            return process
        if process.of == os.getpid():
            process.end()


def seconds_spent() -> float:
    """Processor seconds of the processes that are kept: the system knows those of ended ones alone."""
    return sum(process.spent for process in list(_ALL))


@atexit.register
def end_all() -> None:
    """End all solver processes of this process: idle ones, and those still at work."""
    for process in list(_ALL):
        if process.of == os.getpid():  # not those of the process that this one is a copy of
            process.end()
    for idle in _IDLE.values():
        idle[:] = [process for process in idle if process in _ALL]


def main() -> None:
    """Answer the calls on standard input."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever libraries print
    calls: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_read, args=(calls,), daemon=True).start()

    def answer(kind: int, what: Any) -> None:
        answers.write(pickle.dumps((kind, what, sum(os.times()[:4]))))
        answers.flush()

    keep_to_one_thread()
    while True:
        try:
            function, arguments = pickle.loads(calls.get())
            found = function(*arguments, lambda what: answer(_TOLD, what))
        except Exception as error:
            answer(_RAISED, error)
        else:
            answer(_RETURNED, found)


def _read(calls: SimpleQueue[bytes]) -> None:
    """Take calls as they come, and end with the process that makes them, solvers that this one has started included."""
    while len(length := sys.stdin.buffer.read(_LENGTH)) == _LENGTH:
        calls.put(sys.stdin.buffer.read(int.from_bytes(length, "little")))
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


if __name__ == "__main__":
    main()
