"""Independent parts, solved one after the other or in several processes, with the same result bit for bit."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cache

from maxent.models.errors import MaxentError
from maxent.solvers.backend import Backend, Options
from maxent.solvers.clock import Clock
from maxent.solvers.parts import Attempt, Task, attempt_part, refusal
from maxent.solvers.solution import Stop

_Numbered = Sequence[tuple[int, Task]]
_Attempts = Generator[tuple[int, Attempt], None, None]


class WorkerLost(MaxentError, RuntimeError):
    """A process that solved a part was ended from outside, as systems do that are short of memory."""


def attempt_parts(
    tasks: Sequence[Task], backend: Backend, options: Options, done: Callable[[int], None]
) -> list[Attempt]:
    """`attempt_part` of every task, in their order; ``done`` is told how many are finished.

    The largest begin first. With ``options.jobs`` other than 1 they go to as many processes of joblib's (-1: one for
    each core), and with ``options.cluster`` to its workers. There linear algebra keeps to `one_thread`; the caller does
    so for this process.

    Raises
    ------
    WorkerLost
        When a process did not survive.
    """
    refusals = [reason for task in tasks if (reason := refusal(task, backend)) is not None]
    if refusals:  # without that part there is no answer to rely on: the others are not worth the time
        return [Attempt(None, 0, refused=True, message=refusals[0]) for _ in tasks]
    order = sorted(range(len(tasks)), key=lambda i: -tasks[i].part.program.n)
    found: dict[int, Attempt] = {}
    if options.cluster is not None and tasks:
        solve = _on_cluster
    else:
        solve = _here if options.jobs == 1 or len(tasks) < 2 else _elsewhere
    with closing(solve([(i, tasks[i]) for i in order], backend, options)) as attempts:
        for i, attempt in attempts:
            found[i] = attempt
            done(len(found))
    return [found[i] for i in range(len(tasks))]


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep linear algebra to one thread, so that it makes sums in the same order everywhere."""
    import scipy.linalg  # noqa: F401  (what is not loaded yet cannot be limited)
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


def _here(numbered: _Numbered, backend: Backend, options: Options) -> _Attempts:
    """Attempts of numbered tasks in this process."""
    for i, task in numbered:
        yield i, attempt_part(task, backend, options)


def _elsewhere(numbered: _Numbered, backend: Backend, options: Options) -> _Attempts:
    """Attempts of numbered tasks, in the order in which other processes finish them."""
    from joblib import Parallel, delayed, effective_n_jobs

    with options.clock.shared():
        work = Parallel(
            n_jobs=min(effective_n_jobs(options.jobs), len(numbered)),
            backend="loky",
            return_as="generator_unordered",
            pre_dispatch="all",
            batch_size=1,
            max_nbytes=None,  # arrays in shared memory could not be written to
        )
        solve, parent = delayed(_numbered_attempt), os.getpid()
        try:
            with deaf():
                attempts = work(solve(i, task, backend, options, parent) for i, task in numbered)
            yield from attempts
        except BrokenExecutor as error:
            text = "a process that solved a part was ended from outside, perhaps for want of memory: try fewer jobs"
            raise WorkerLost(text) from error


def _on_cluster(numbered: _Numbered, backend: Backend, options: Options) -> _Attempts:
    """Attempts of numbered tasks, in the order in which the workers of a Dask cluster finish them."""
    assert options.cluster is not None
    clock, left = options.clock, options.clock.left()
    deadline = None if left is None else time.time() + left  # the monotonic clock is that of this machine
    away = replace(options, cluster=None, jobs=1, clock=Clock())
    calls = {i: (_attempt_there, (task, backend, away, deadline)) for i, task in numbered}
    waiting = set(calls)
    with closing(options.cluster.run(calls, give_up=lambda: clock.stop() is Stop.INTERRUPTED)) as answers:
        for i, answer in answers:
            waiting.remove(i)
            yield i, answer()
    for i in waiting:
        yield i, Attempt(None, 0, stopped=Stop.INTERRUPTED)


def _attempt_there(task: Task, backend: Backend, options: Options, deadline: float | None) -> Attempt:
    left = None if deadline is None else max(0.0, deadline - time.time())
    return attempt_part(task, backend, replace(options, clock=Clock(left)))


def _numbered_attempt(i: int, task: Task, backend: Backend, options: Options, parent: int) -> tuple[int, Attempt]:
    if os.getpid() != parent:  # joblib may decide that another process is not worth it
        serve(parent)
    with one_thread():
        return i, attempt_part(task, backend, options)


def serve(parent: int) -> None:
    """Let this process, which another one started, be ended by that one alone, and when that one is gone."""
    # Ctrl-C in a terminal reaches every process: this one hears of it from the other.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
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
    """Hold Ctrl-C back; processes started meanwhile inherit that, and so survive it before they can ignore it."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # would let Ctrl-C through again if it was started on the way
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
