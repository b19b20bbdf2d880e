"""Where points are run: here, in processes, or on a cluster; each row as it comes."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import closing, contextmanager, suppress
from functools import partial
from typing import Any, Protocol, TypeVar

from maxent.models.arguments import LARGEST_COUNT, is_whole, shorten, up_to_largest
from maxent.models.errors import ARGUMENT, InvalidInput, MaxentError, Problem
from maxent.models.files.output import scratch
from maxent.solvers.control import POLL, Clock, OutOfTime
from maxent.solvers.solve.dask_cluster import SchedulerLost, connected
from maxent.solvers.solve.parallel import forked
from maxent.solvers.workers import WorkerLost, apart, can_fork, deaf, kill, one_thread, serve
from maxent.studies.data import Packed


class OfData(Hashable, Protocol):
    """A point: something to run on the data of a name."""

    @property
    def data(self) -> str: ...


P = TypeVar("P", bound=OfData)
Row = Mapping[str, Any]
Work = Callable[[P, Packed], Row]
Failed = Callable[[P, MaxentError], Row]
Rows = Generator[Row, None, None]
Done = Iterator[tuple[P, Row]]

LOST = "the process that ran it was ended from outside, perhaps for want of memory"


def check_jobs(jobs: object) -> None:
    """Refuse what is no number of processes."""
    if not is_whole(jobs, -LARGEST_COUNT) or jobs == 0:
        expected = up_to_largest("a whole number other than 0", jobs)
        raise InvalidInput("options", [Problem(ARGUMENT, "jobs", expected, shorten(jobs))])


def run_all(
    points: Sequence[P],
    pickled: dict[str, bytes],
    work: Work[P],
    failed: Failed[P],
    jobs: int = 1,
    dask: str | None = None,
    clock: Clock | None = None,
) -> Rows:
    """The rows of points, as they come; where there is a ``clock``, those that are done when it says to stop.

    Pickled data go to every process or worker once; ``failed`` makes the row of a point whose process was lost.
    """
    if not points:
        return
    clock = clock or Clock()
    if dask is not None:
        yield from _on_cluster(points, pickled, work, failed, dask, clock)
        return
    from joblib import effective_n_jobs

    count = min(effective_n_jobs(jobs), len(points))
    if count == 1 and not clock.runs:
        with one_thread():
            for point in points:
                yield work(point, pickled[point.data])
        return
    left = Counter(point.data for point in points)
    with scratch() as folder, suppress(OutOfTime):
        packed = {name: folder / str(i) for i, name in enumerate(pickled)}
        for name, path in packed.items():
            path.write_bytes(pickled.pop(name))
        files = {name: str(path) for name, path in packed.items()}
        rows = _apart(points, files, work, failed, clock) if count == 1 else None
        for point, row in rows or _in_processes(points, files, work, failed, count, clock):
            left[point.data] -= 1
            if not left[point.data]:  # records are there no longer than they are needed
                packed[point.data].unlink()
            yield row


def _apart(
    points: Sequence[P], packed: Mapping[str, Packed], work: Work[P], failed: Failed[P], clock: Clock
) -> Done[P]:
    """Rows from a process that runs one point after another, and that the clock can end in the middle of one."""
    if can_fork():  # a copy of this process is there at once
        yield from _in_copy(points, packed, work, failed, clock)
        return
    for point in points:
        try:
            row = apart(_in_another, (work, point, packed[point.data]), clock, lambda told: None, keep=True)
        except WorkerLost as error:
            row = failed(point, error)
        if row is None:
            return
        yield point, row


def _in_copy(
    points: Sequence[P], packed: Mapping[str, Packed], work: Work[P], failed: Failed[P], clock: Clock
) -> Done[P]:
    calls = {i: partial(work, point, packed[point.data]) for i, point in enumerate(points)}
    while calls:
        try:
            with closing(forked(calls, 1, lambda: clock.stop() is not None)) as rows:
                for i, row in rows:
                    del calls[i]
                    yield points[i], row
            clock.check()
        except BrokenExecutor:
            i = next(iter(calls))
            del calls[i]
            yield points[i], failed(points[i], WorkerLost(LOST))


def _in_another(work: Work[P], point: P, packed: Packed, clock: Clock, tell: Callable[[Any], None]) -> Row:
    return work(point, packed)


def _on_cluster(
    points: Sequence[P], pickled: Mapping[str, bytes], work: Work[P], failed: Failed[P], address: str, clock: Clock
) -> Rows:
    """Rows from the workers of a Dask cluster; a point that they do not survive has failed."""
    with connected(address, clock.left()) as cluster:
        shared = {name: cluster.share(content) for name, content in pickled.items()}
        calls = {point: (work, (point, shared[point.data])) for point in points}
        with closing(cluster.run(calls, lambda: clock.stop() is not None)) as answers:
            for point, answer in answers:
                try:
                    row = answer()
                except SchedulerLost:
                    raise
                except MaxentError as error:
                    row = failed(point, error)
                yield row


def _in_processes(
    points: Iterable[P], packed: Mapping[str, Packed], work: Work[P], failed: Failed[P], jobs: int, clock: Clock
) -> Done[P]:
    """Rows from processes of joblib. If a process dies, all running points are run again, each alone."""
    waiting = deque(points)
    while waiting:
        lost: list[P] = []
        with _processes(jobs) as submit:
            running: dict[Future[Row], P] = {}
            while waiting or running:
                while waiting and len(running) < jobs and not lost:
                    point = waiting.popleft()
                    try:
                        running[submit(_alone, work, point, packed[point.data])] = point
                    except BrokenExecutor:
                        lost.append(point)
                done, _ = wait(running, POLL if clock.runs else None, FIRST_COMPLETED)
                if not done:
                    clock.check()
                for future in done:
                    point = running.pop(future)
                    try:
                        row = future.result()
                    except BrokenExecutor:
                        lost.append(point)
                    else:
                        yield point, row
                if lost and not running:
                    break
        for point in lost:
            if jobs > 1:
                yield from _in_processes([point], packed, work, failed, 1, clock)
            else:
                yield point, failed(point, WorkerLost(LOST))


def _alone(work: Work[P], point: P, packed: Packed) -> Row:
    with one_thread():
        return work(point, packed)


@contextmanager
def _processes(jobs: int) -> Iterator[Callable[..., Future[Row]]]:
    """Processes of joblib's, by the function that gives them work; they do not outlive it."""
    from joblib.externals.loky import ProcessPoolExecutor

    executor = ProcessPoolExecutor(max_workers=jobs, initializer=serve, initargs=(os.getpid(),))

    def submit(*call: Any) -> Future[Row]:
        with deaf():
            future: Future[Row] = executor.submit(*call)
            return future

    try:
        yield submit
    except BaseException:
        kill(executor)
        raise
    executor.shutdown(wait=True)
