"""Independent parts, solved one after the other or in several processes, with the same result bit for bit."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cache

from maxent.solvers.apart import WorkerLost
from maxent.solvers.backend import Backend, Options
from maxent.solvers.clock import ASKED_TO_END, LAST, POLL, Clock
from maxent.solvers.forecast import foretell
from maxent.solvers.solution import Stop
from maxent.solvers.solve.attempt import Attempt, Task, attempt_part, refusal
from maxent.solvers.threads import one_thread

WARM = 5.0
"""Seconds after which the pace so far tells how long all parts will take."""

_Numbered = Sequence[tuple[int, Task]]
_Attempts = Generator[tuple[int, Attempt], None, None]


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
    size, begin, solved = sum(task.part.program.n for task in tasks), time.monotonic(), 0
    with closing(solve([(i, tasks[i]) for i in order], backend, options)) as attempts:
        for i, attempt in attempts:
            found[i] = attempt
            done(len(found))
            solved += tasks[i].part.program.n
            gone = time.monotonic() - begin
            if gone > WARM and solved < size:
                what = f"{len(tasks)} parts, the largest of {tasks[order[0]].part.program.n:,} unknowns"
                foretell(gone * (size - solved) / solved, what, "more jobs, or fewer starts, take less", options.clock)
    return [found[i] for i in range(len(tasks))]


def _here(numbered: _Numbered, backend: Backend, options: Options) -> _Attempts:
    """Attempts of numbered tasks in this process."""
    for i, task in numbered:
        yield i, attempt_part(task, backend, options)


def _elsewhere(numbered: _Numbered, backend: Backend, options: Options) -> _Attempts:
    """Attempts of numbered tasks, in the order in which other processes finish them; those that are late are ended."""
    from joblib import effective_n_jobs
    from joblib.externals.loky import get_reusable_executor

    clock = options.clock
    with clock.shared():
        executor = get_reusable_executor(
            max_workers=min(effective_n_jobs(options.jobs), len(numbered)), initializer=serve, initargs=(os.getpid(),)
        )
        running: dict[Future[Attempt], int] = {}
        try:
            with deaf():
                for i, task in numbered:
                    running[executor.submit(_attempt_alone, task, backend, options)] = i
            while running and clock.late() <= LAST:
                done, _ = wait(running, timeout=POLL, return_when=FIRST_COMPLETED)
                for future in done:
                    yield running.pop(future), future.result()
        except BrokenExecutor as error:
            text = "a process that solved a part was ended from outside, perhaps for want of memory: try fewer jobs"
            raise WorkerLost(text) from error
        finally:
            if running:
                executor.shutdown(wait=True, kill_workers=True)
    for i in running.values():
        yield i, Attempt(None, 0, stopped=clock.stop())


def _on_cluster(numbered: _Numbered, backend: Backend, options: Options) -> _Attempts:
    """Attempts of numbered tasks, in the order in which the workers of a Dask cluster finish them."""
    assert options.cluster is not None
    clock, left = options.clock, options.clock.left()
    deadline = None if left is None else time.time() + left  # the monotonic clock is that of this machine
    away = replace(options, cluster=None, jobs=1, clock=Clock())
    calls = {i: (_attempt_there, (task, backend, away, deadline)) for i, task in numbered}
    waiting = set(calls)
    # Workers know the time limit, but cannot hear of an interruption.
    with closing(
        options.cluster.run(calls, give_up=lambda: clock.stop() is Stop.INTERRUPTED or clock.late() > LAST)
    ) as answers:
        for i, answer in answers:
            waiting.remove(i)
            yield i, answer()
    for i in waiting:
        yield i, Attempt(None, 0, stopped=clock.stop())


def _attempt_there(task: Task, backend: Backend, options: Options, deadline: float | None) -> Attempt:
    left = None if deadline is None else max(0.0, deadline - time.time())
    return attempt_part(task, backend, replace(options, clock=Clock(left)))


def _attempt_alone(task: Task, backend: Backend, options: Options) -> Attempt:
    with one_thread():
        return attempt_part(task, backend, options)


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
    """Hold back Ctrl-C and its like; processes started meanwhile inherit that, and live until they ignore it.

    The system gives a signal that one thread holds back to another one, of a library, say, and Python handles it in the
    main thread whatever that holds back. So its handlers only take note meanwhile.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # would let Ctrl-C through again if it was started on the way
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
