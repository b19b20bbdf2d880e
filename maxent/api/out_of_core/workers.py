"""Calls that are made in this process, in others, or on a Dask cluster, with the same results in the same order."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from maxent.models.arguments import LARGEST_COUNT, is_whole
from maxent.solvers.solve.dask_cluster import Cluster, ClusterLost, SchedulerLost, connected
from maxent.solvers.solve.parallel import forked, pickled
from maxent.solvers.workers import WorkerLost, can_fork, nothing, one_thread, processes_for

T = TypeVar("T")
# Called with how many calls are done, and how many there are.
Told = Callable[[int, int], None]
# Times in a row that workers are lost without any call being done in between, before that is an error.
PATIENCE = 8


@dataclass(frozen=True, slots=True)
class Workers:
    """``jobs`` processes on this machine, or the workers of a ``cluster``; ``number`` is how many there are.

    Where this process can be ``copied``, it is one of these processes.
    """

    jobs: int
    cluster: Cluster | None = None
    copied: bool = False

    @property
    def number(self) -> int:
        """How many calls are made at the same time."""
        return self.jobs if self.cluster is None else self.cluster.workers

    @property
    def others(self) -> bool:
        """Whether others than this process make calls."""
        return self.cluster is not None or self.jobs > 1

    def map(
        self,
        function: Callable[..., T],
        arguments: Sequence[tuple[Any, ...]],
        told: Told,
        first: Callable[[], object] = nothing,
    ) -> list[T]:
        """The results of a function of an installed module, in the order of its arguments.

        What this process does ``first`` it does while others begin, if there are others.

        A call whose worker is lost is made again: it has to do the same again. Results are those of the calls, whoever
        made them.
        """
        done: dict[int, T] = {}
        told(0, len(arguments))
        failures = 0
        while len(done) < len(arguments):
            left = {i: each for i, each in enumerate(arguments) if i not in done}
            before = len(done)
            try:
                for i, result in self._made(function, left, first):
                    done[i] = result
                    told(len(done), len(arguments))
            except SchedulerLost:
                raise
            except (WorkerLost, ClusterLost):
                first = nothing
                failures = 1 if len(done) > before else failures + 1
                if failures > PATIENCE:
                    raise
        return [done[i] for i in range(len(arguments))]

    def _made(
        self, function: Callable[..., T], calls: Mapping[int, tuple[Any, ...]], first: Callable[[], object]
    ) -> Iterator[tuple[int, T]]:
        if self.cluster is not None:
            for i, answer in self.cluster.run({i: (function, each) for i, each in calls.items()}, first=first):
                yield i, answer()
        elif self.jobs == 1 or len(calls) == 1:
            first()
            with one_thread():
                for i, arguments in calls.items():
                    yield i, function(*arguments)
        else:
            made = {i: partial(function, *each) for i, each in calls.items()}
            make = partial(forked, own=True) if self.copied and can_fork() else pickled
            try:
                with closing(make(made, self.jobs, meanwhile=first)) as results:
                    yield from results
            except BrokenExecutor as error:
                text = "a process was ended from outside again and again, perhaps for want of memory: try less memory="
                raise WorkerLost(text) from error


@contextmanager
def workers_of(
    jobs: int | None, dask: str | None, limit: float | None = None, *, copied: bool = True
) -> Iterator[Workers]:
    """The workers that options ask for: ``jobs`` processes (default: one; -1: one for each core), or a Dask cluster.

    Connecting to a cluster takes the ``limit`` of the call at most, as for `connected`. Processes are not ``copied``
    from this one where it may have begun threads by then.
    """
    if dask is not None:
        with connected(dask, limit) as cluster:
            yield Workers(1, cluster)
        return
    # None is one, and what is no number is refused where solving begins.
    number = processes_for(jobs) if is_whole(jobs, -LARGEST_COUNT) and jobs else 1
    with warnings.catch_warnings():  # a process that grew is replaced, and its calls are made again
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs", category=UserWarning)
        yield Workers(number, copied=copied)
