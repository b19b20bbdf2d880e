"""Forked workers: copies of this process that make calls.

Light to import: whoever wants copies early, or many, has not to wait for solvers.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import queue
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any, TypeVar, cast

from maxent.models.errors import MaxentError
from maxent.solvers.clock import ASKED_TO_END, POLL
from maxent.solvers.threads import cores, keep_to_one_thread, one_thread

if TYPE_CHECKING:
    from multiprocessing.sharedctypes import Synchronized

T = TypeVar("T")


def nothing() -> None:
    """Do nothing."""


class WorkerLost(MaxentError, RuntimeError):
    """A process that computed for this one was ended from outside, as systems do that are short of memory."""


def processes_for(jobs: int) -> int:
    """How many processes ``jobs`` are, -1 one for each core, -2 one less, and so on."""
    return jobs if jobs > 0 else max(cores() + 1 + jobs, 1)


def can_fork() -> bool:
    """Whether this process can be copied with all that it has in memory: a copy has a single thread.

    Other threads would leave their locks to it. Those of linear algebra and of Arrow end before, or are started again.
    """
    return sys.platform == "linux" and threading.active_count() == 1


def started(
    number: int, work: Callable[[Connection], None], beside: Collection[Connection] = ()
) -> dict[Connection, BaseProcess]:
    """Forks ``number`` workers; returns the parent's end of each pipe with its worker.

    ``beside`` are the pipes to copies that there are already.
    """
    context = multiprocessing.get_context("fork")
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
    """The next message of a copy.

    Raises
    ------
    EOFError
        When it was ended, even in the middle of what it was sending.
    """
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


class Copies:
    """Copies of this process that make calls together with it; they are made when there is something to do.

    Each takes the next call that nobody has begun, so that none waits for another, nor for this process while that is
    busy. At the end of ``with`` they are gone.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self._all: dict[Connection, BaseProcess] = {}
        self._turn: Synchronized[int] | None = None

    def __enter__(self) -> Copies:
        return self

    def __exit__(self, *error: object) -> None:
        self._end(())

    def _end(self, busy: Collection[Connection]) -> None:
        ended(self._all, busy)
        self._all = {}

    def run(
        self, function: Callable[..., T], arguments: Mapping[int, tuple[Any, ...]], first: Callable[[], object]
    ) -> Generator[tuple[int, T], None, None]:
        """The results of a function of an installed module for some arguments, as they are done.

        While copies work, this process does something else ``first``, and then makes calls, too.

        Raises
        ------
        WorkerLost
            When a copy was ended.
        Exception
            What a call raises.
        """
        calls = list(arguments.items())
        busy: set[Connection] = set()
        try:
            turn = self._begun()
            for pipe in self._all:
                pipe.send((function, calls))
                busy.add(pipe)
            first()
            with one_thread():
                mine = _next(turn, len(calls), POLL)
                while mine is not None or busy:
                    for pipe in cast(list[Connection], wait_for(list(busy), POLL if mine is None else 0)):
                        answer = received(pipe)
                        if answer is None:
                            busy.remove(pipe)
                            continue
                        i, found, error = answer
                        if error is not None:
                            raise error
                        yield i, found
                    if mine is not None:
                        i, given = calls[mine]
                        yield i, function(*given)
                        mine = _next(turn, len(calls), POLL)
        except (EOFError, ConnectionError) as error:
            busy.update(self._all)
            text = "a process was ended from outside, perhaps for want of memory: try fewer processes, or less memory="
            raise WorkerLost(text) from error
        finally:
            if busy:
                self._end([*self._all])

    def _begun(self) -> Synchronized[int]:
        """The number of the next call, from 0; the copies are there, and wait for calls."""
        if self._turn is None or not self._all:
            self._turn = multiprocessing.get_context("fork").Value("q", 0)
            self._all = started(self.number, partial(_answering, self._turn))
        self._turn.value = 0
        return self._turn


def _next(turn: Synchronized[int], calls: int, patience: float | None = None) -> int | None:
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


def _answering(turn: Synchronized[int], pipe: Connection) -> None:
    """Make calls that another process has: a function with a list of arguments, and again."""
    while True:
        function, calls = pipe.recv()
        make_calls(turn, function, calls, pipe)


def make_calls(
    turn: Synchronized[int],
    function: Callable[..., Any],
    calls: Sequence[tuple[int, tuple[Any, ...]]],
    pipe: Connection,
) -> None:
    """In a copy: make calls that no other one has begun; send number, result and error of each, and None at the end."""
    while (number := _next(turn, len(calls))) is not None:
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
    """As `deaf`, where the processes are copies of this one.

    The system gives a signal that one thread holds back to another one, of a library, say, and Python handles it in the
    main thread whatever that holds back. So its handlers only take note meanwhile.
    """
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
