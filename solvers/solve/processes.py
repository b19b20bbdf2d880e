"""Makes calls here or in several processes, with bitwise equal results."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import closing
from dataclasses import replace
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from typing import TypeVar, cast

from maxent.solvers.backend import Options
from maxent.solvers.clock import LAST, POLL, Clock
from maxent.solvers.copies import (
    WorkerLost,
    can_fork,
    deaf,
    ended,
    kill,
    make_calls,
    processes_for,
    received,
    serve,
    started,
)
from maxent.solvers.solution import Stop
from maxent.solvers.threads import cores, one_thread

X = TypeVar("X")
Y = TypeVar("Y")
Calls = Mapping[int, Callable[[], Y]]
# Unknowns of parts beside the largest one from which several processes pay, about a fifth of a second; and the
# processes that are taken then, at most.
WORTH, MOST = 5_000, 8


def each(
    work: Callable[[X, Options], Y],
    items: Sequence[X],
    sizes: Sequence[int],
    options: Options,
    meanwhile: Callable[[], object] = lambda: None,
) -> Generator[tuple[int, Y], None, None]:
    """The results of work on items, with their numbers, as they are finished; those that are late are left out.

    The largest begin first. With ``options.jobs`` other than 1 they go to as many processes (-1: one for each core;
    None: as many as pay), and with ``options.cluster`` to its workers. There linear algebra keeps to `one_thread`; the
    caller does so for this process. Where processes cannot be `forked`, all are pickled.

    Raises
    ------
    WorkerLost
        When a process did not survive.
    """
    order = sorted(range(len(items)), key=lambda i: -sizes[i])
    jobs = min(asked(options, sizes), len(items))
    if options.cluster is not None and items:
        return _on_cluster(work, items, order, options)
    if jobs < 2:
        return ((i, work(items[i], options)) for i in order)
    return elsewhere(work, items, order, jobs, options, meanwhile)


def asked(options: Options, sizes: Sequence[int]) -> int:
    """How many processes are to work on things of some sizes."""
    return processes_for(options.jobs) if options.jobs is not None else _that_pay(sizes)


def _that_pay(sizes: Sequence[int]) -> int:
    """How many processes take less time than one, where nobody said how many."""
    # Only copies are there at once; one of several processes of a study makes none: it watches the one it works for.
    shared = sum(sizes) - max(sizes, default=0)
    return min(cores(), MOST) if shared >= WORTH and can_fork() else 1


def elsewhere(
    work: Callable[[X, Options], Y],
    items: Sequence[X],
    order: Sequence[int],
    jobs: int,
    options: Options,
    meanwhile: Callable[[], object] = lambda: None,
    more: Callable[[], Sequence[X]] | None = None,
) -> Generator[tuple[int, Y], None, None]:
    """Results of work in other processes on this machine; those that are late are ended.

    Where processes are copies of this one, it may make ``more`` items meanwhile, which have the next numbers.
    """
    clock = options.clock

    def further() -> Calls[Y]:
        """The calls for more items."""
        begin = len(items)  # before it may grow
        new = [] if more is None else list(more())
        load_for_bounds()
        return {begin + i: partial(work, item, options) for i, item in enumerate(new)}

    with clock.shared():
        calls = {i: partial(work, items[i], options) for i in order}
        copied = can_fork()
        if copied:
            load_for_solving()
            if more is None:
                load_for_bounds()
        make = partial(forked, meanwhile=meanwhile, more=None if more is None else further) if copied else pickled
        try:
            with closing(make(calls, jobs, lambda: clock.late() > LAST)) as results:
                yield from results
        except BrokenExecutor as error:
            text = "a process that solved a part was ended from outside, perhaps for want of memory: try fewer jobs"
            raise WorkerLost(text) from error


def forked(
    calls: Calls[Y],
    jobs: int,
    give_up: Callable[[], bool] = lambda: False,
    meanwhile: Callable[[], object] = lambda: None,
    more: Callable[[], Calls[Y]] | None = None,
) -> Generator[tuple[int, Y], None, None]:
    """Results of calls in copies of this process, as they are done, until it is time to give up; see `can_fork`.

    The calls are in the copies' memory, so that only results are pickled; with one thread of linear algebra. This
    process does something else ``meanwhile``, before it waits. Where it may find ``more`` calls then, one copy fewer
    begins; copies that are made later, each in place of one that has ended, make these.

    Raises
    ------
    BrokenExecutor
        When a process was ended.
    Exception
        What a call raises.
    """
    context = multiprocessing.get_context("fork")
    turn, later = context.Value("q", 0), context.Value("q", 0)
    busy = more is not None
    workers = started(max(1, min(jobs - busy, len(calls))), partial(make_calls, turn, _made, _as_arguments(calls)))
    running = set(workers)
    try:
        meanwhile()
        left = _as_arguments(more()) if more is not None else []

        def join(number: int) -> None:
            """Copies that make the calls that are left."""
            new = started(min(number, len(left) - later.value), partial(make_calls, later, _made, left), beside=workers)
            workers.update(new)
            running.update(new)

        join(jobs - len(running))
        while running and not give_up():
            for pipe in cast(list[Connection], wait_for(list(running), POLL)):
                answer = received(pipe)
                if answer is None:
                    running.remove(pipe)
                    join(1)
                    continue
                i, found, error = answer
                if error is not None:
                    raise error
                yield i, found
    except (EOFError, ConnectionError) as error:
        raise BrokenExecutor("a process was ended") from error
    finally:
        ended(workers, running)


def load_for_solving() -> None:
    """Import modules once, before forking, that every copy needs to solve parts."""
    import maxent.solvers.newton.augmented_lagrangian
    import maxent.solvers.newton.projection
    import maxent.solvers.newton.stacked.together
    import maxent.solvers.solve.finish  # noqa: F401


def load_for_bounds() -> None:
    """Import modules once, before forking, that every copy needs for bounds of nonconvex parts."""
    import maxent.solvers.bounds.alike
    import maxent.solvers.bounds.boxes.search
    import maxent.solvers.bounds.certificate
    import maxent.solvers.bounds.divergence.proof
    import maxent.solvers.bounds.gap  # noqa: F401


def _as_arguments(calls: Calls[Y]) -> list[tuple[int, tuple[Callable[[], Y]]]]:
    """Calls as arguments of `_made`."""
    return [(i, (call,)) for i, call in calls.items()]


def _made(call: Callable[[], Y]) -> Y:
    return call()


def pickled(
    calls: Calls[Y],
    jobs: int,
    give_up: Callable[[], bool] = lambda: False,
    meanwhile: Callable[[], object] = lambda: None,
) -> Generator[tuple[int, Y], None, None]:
    """As `forked`, in processes of joblib's, which are started anew, and pickle the calls."""
    from joblib.externals.loky import get_reusable_executor

    executor = get_reusable_executor(max_workers=jobs, initializer=serve, initargs=(os.getpid(),))
    running: dict[Future[Y], int] = {}
    try:
        with deaf():
            for i, call in calls.items():
                running[executor.submit(_alone, call)] = i
        meanwhile()
        while running and not give_up():
            done, _ = wait(running, timeout=POLL, return_when=FIRST_COMPLETED)
            for future in done:
                i = running[future]
                result = future.result()
                del running[future]
                yield i, result
    finally:
        if running:
            kill(executor)


def _on_cluster(
    work: Callable[[X, Options], Y], items: Sequence[X], order: Sequence[int], options: Options
) -> Generator[tuple[int, Y], None, None]:
    """Results of work by the workers of a Dask cluster."""
    assert options.cluster is not None
    clock, left = options.clock, options.clock.left()
    deadline = None if left is None else time.time() + left  # the monotonic clock is that of this machine
    away = replace(options, cluster=None, jobs=1, clock=Clock())
    calls = {i: (_work_there, (work, items[i], away, deadline)) for i in order}
    # Workers know the time limit, but cannot hear of an interruption.
    with closing(
        options.cluster.run(calls, give_up=lambda: clock.stop() is Stop.INTERRUPTED or clock.late() > LAST)
    ) as answers:
        for i, answer in answers:
            yield i, answer()


def _work_there(work: Callable[[X, Options], Y], item: X, options: Options, deadline: float | None) -> Y:
    left = None if deadline is None else max(0.0, deadline - time.time())
    return work(item, replace(options, clock=Clock(left)))


def _alone(call: Callable[[], Y]) -> Y:
    with one_thread():
        return call()
