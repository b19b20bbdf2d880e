"""Independent parts solved and bounded in several processes or together, with bitwise equal results."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from maxent.constraints.lifting import LiftedPart, LiftedProgram, single_point
from maxent.models.arguments import LARGEST_COUNT, is_whole
from maxent.models.arrays import FloatArray
from maxent.models.errors import MaxentError
from maxent.solvers.backend import FEW, Backend, Options, Stacks
from maxent.solvers.control import LAST, POLL, Clock, OutOfTime, foretell, in_time
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.solution import Solution, Stop
from maxent.solvers.solve import attempt
from maxent.solvers.solve.attempt import (
    AGAIN,
    MANY_STARTS,
    Attempt,
    PartSolver,
    Task,
    attempt_part,
    attempt_tight,
    certify,
    gap_of,
    refusal,
    tangled,
)
from maxent.solvers.workers import (
    WorkerLost,
    can_fork,
    cores,
    deaf,
    ended,
    kill,
    make_calls,
    next_call,
    nothing,
    one_thread,
    processes_for,
    received,
    serve,
    started,
)

if TYPE_CHECKING:
    from concurrent.futures import Future
    from multiprocessing.connection import Connection

    from maxent.solvers.solve.dask_cluster import Cluster

# Solves small parts together, from all of their starts at once.

# Unknowns of parts that one process solves together, about a third of a second.
SHARED = 5_000


def stacks(tasks: Sequence[Task], backend: Backend, options: Options) -> list[list[int]]:
    """The numbers of the tasks that are solved together: small ones, with comparisons of one measure each.

    Where they have many unknowns, several processes can share them.
    """
    if not isinstance(backend, Stacks) or options.max_iterations is not None:
        return []
    by_measure: dict[str, list[int]] = {}
    for i, task in enumerate(tasks):
        program = task.part.program
        if (
            0 < program.n <= FEW
            and backend.stackable(program)
            and not tangled(program)
            and single_point(program) is None
        ):
            by_measure.setdefault(program.terms[0].phi, []).append(i)
    found = list[list[int]]()
    for numbers in by_measure.values():
        several = 1 + sum(tasks[i].part.program.n for i in numbers) // SHARED
        found.extend(numbers[first::several] for first in range(min(several, len(numbers))))
    return found


def attempt_stack(tasks: Sequence[Task], backend: Backend, options: Options) -> list[Attempt | None]:
    """Attempts to solve tasks together, None for those that have to be solved alone: no start led anywhere."""
    try:
        found = in_time(options.clock, lambda: _solved(tasks, backend, options))
    except (MaxentError, MemoryError):
        raise
    except Exception:  # as where a part is solved alone: that will tell
        return [None] * len(tasks)
    if found is None:
        return [Attempt(None, 0, stopped=options.clock.stop())] * len(tasks)
    return [_attempt(task, solution, backend, options) for task, solution in zip(tasks, found, strict=True)]


def _solved(tasks: Sequence[Task], backend: Backend, options: Options) -> list[Solution]:
    """The best solution of each task, moved to the optimum that it is near."""
    from maxent.solvers.solve.finish import all_finished

    assert isinstance(backend, Stacks)
    programs = [task.part.program for task in tasks]
    begin = [_starts(task, options.starts or MANY_STARTS, options) for task in tasks]
    again = AGAIN if options.starts is None else -1.0  # none is as near: so many starts as are asked for
    near = again * np.array([task.individuals for task in tasks])
    solutions = backend.stack(programs, list(zip(*begin, strict=True)), near, options)
    found = [_checked(task, solution) for task, solution in zip(tasks, solutions, strict=True)]
    good = [i for i, solution in enumerate(found) if solution.stop is Stop.CONVERGED and _feasible(solution, options)]
    exact = all_finished([programs[i] for i in good], [found[i] for i in good], options)
    for i, solution in zip(good, exact, strict=True):
        # One that cannot be made exact may be far from the optimum, where rows hardly change across their bounds.
        found[i] = replace(solution, stop=Stop.NUMERICAL) if solution is found[i] else solution
    return found


def _starts(task: Task, number: int, options: Options) -> list[FloatArray]:
    rng = np.random.default_rng(options.seed)
    return [task.part.point(attempt.start(i, task.part, task.first, rng)) for i in range(number)]


def _checked(task: Task, solution: Solution) -> Solution:
    """A solution with the violation of its masses."""
    point = task.part.point(task.part.masses(np.asarray(solution.point)))
    return replace(solution, point=point, violation=Derivatives(task.part.program).violation(point))


def _feasible(solution: Solution, options: Options) -> bool:
    return solution.violation <= options.tolerance


def _attempt(task: Task, solution: Solution, backend: Backend, options: Options) -> Attempt | None:
    """The attempt that a solution makes."""
    program, feasible = task.part.program, _feasible(solution, options)
    if solution.stop is Stop.CONVERGED and feasible:
        inside = PartSolver(backend, task.part, program).better_inside(solution, task.first, options)
        if inside is not solution:
            from maxent.solvers.solve.finish import finished

            solution = finished(program, inside, options)
        return certify(task, program, Attempt(solution, solution.iterations), backend, options)
    stopped = options.clock.stop()
    if stopped is None:
        return None
    better = feasible or solution.violation < Derivatives(program).violation(task.part.point(task.first))
    best = replace(solution, stop=stopped) if better else None
    return Attempt(best, solution.iterations, stopped=stopped)


# Makes calls here or in several processes, with bitwise equal results.

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
    *,
    own: bool = False,
) -> Generator[tuple[int, Y], None, None]:
    """The results of work on items, with their numbers, as they are finished; the largest begin first, late ones lack.

    With ``own`` this process works, too, where others are copies of it. They go to ``options.jobs`` processes, or to
    the workers of a cluster, where linear algebra keeps to `one_thread`.
    """
    order = sorted(range(len(items)), key=lambda i: -sizes[i])
    jobs = min(asked(options, sizes), len(items))
    if options.cluster is not None and items:
        return _on_cluster(work, items, order, options)
    if jobs < 2:
        return ((i, work(items[i], options)) for i in order)
    return elsewhere(work, items, order, jobs, options, meanwhile, own=own)


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
    *,
    own: bool = False,
) -> Generator[tuple[int, Y], None, None]:
    """Results of work in other processes on this machine; those that are late are ended."""
    from concurrent.futures import BrokenExecutor

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
        found = None if more is None else further
        make = partial(forked, meanwhile=meanwhile, more=found, own=own) if copied else pickled
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
    *,
    own: bool = False,
) -> Generator[tuple[int, Y], None, None]:
    """Results of calls in copies of this process, as they are done, until it is time to give up; see `can_fork`.

    This process does something else ``meanwhile``, which may find ``more`` calls, and with ``own`` makes calls itself.
    """
    from concurrent.futures import BrokenExecutor
    from multiprocessing import get_context
    from multiprocessing.connection import wait

    context = get_context("fork")
    turn, later = context.Value("q", 0), context.Value("q", 0)
    first = _as_arguments(calls)
    number = max(1, min(jobs - (own or more is not None), len(calls)))
    workers = started(number, partial(make_calls, turn, _made, first))
    running = set(workers)
    try:
        meanwhile()
        left = _as_arguments(more()) if more is not None else []

        def join(number: int) -> None:
            """Copies that make the calls that are left."""
            new = started(min(number, len(left) - later.value), partial(make_calls, later, _made, left), beside=workers)
            workers.update(new)
            running.update(new)

        if not own:
            join(jobs - len(running))
        mine = next_call(turn, len(first), POLL) if own else None
        with one_thread() if own else nullcontext():  # libraries are looked for each time
            while (running or mine is not None) and not give_up():
                for pipe in cast("list[Connection]", wait(list(running), POLL if mine is None else 0)):
                    answer = received(pipe)
                    if answer is None:
                        running.remove(pipe)
                        join(1)
                        continue
                    i, found, error = answer
                    if error is not None:
                        raise error
                    yield i, found
                if mine is not None:
                    yield first[mine][0], first[mine][1][0]()
                    mine = next_call(turn, len(first), POLL)
    except (EOFError, ConnectionError) as error:
        raise BrokenExecutor("a process was ended") from error
    finally:
        ended(workers, running)


def load_for_solving() -> None:
    """Import modules once, before forking, that every copy needs to solve parts."""
    import scipy.sparse.linalg  # noqa: F401

    import maxent.solvers.newton.augmented_lagrangian
    import maxent.solvers.newton.quadratic_model
    import maxent.solvers.newton.stacked
    import maxent.solvers.solve.finish  # noqa: F401


def load_for_bounds() -> None:
    """Import modules once, before forking, that every copy needs for bounds of nonconvex parts."""
    import maxent.solvers.gap.bound
    import maxent.solvers.gap.branch_and_bound
    import maxent.solvers.gap.certificate
    import maxent.solvers.gap.divergence
    import maxent.solvers.gap.lagrangian  # noqa: F401


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
    from concurrent.futures import FIRST_COMPLETED, wait

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


# Calls of a function of an installed module, made again where a worker is lost.

# Called with how many calls are done, and how many there are.
Told = Callable[[int, int], None]
# Times in a row that workers are lost without any call being done in between, before that is an error.
PATIENCE = 8


@dataclass(frozen=True, slots=True)
class Workers:
    """``jobs`` processes on this machine, or the workers of a ``cluster``; ``number`` is how many there are."""

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
        function: Callable[..., Y],
        arguments: Sequence[tuple[Any, ...]],
        told: Told,
        first: Callable[[], object] = nothing,
    ) -> list[Y]:
        """The results of a function of an installed module, in the order of its arguments.

        This process does something ``first`` while others begin; a call whose worker is lost is made again.
        """
        from maxent.solvers.solve.dask_cluster import ClusterLost, SchedulerLost

        done: dict[int, Y] = {}
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
        self, function: Callable[..., Y], calls: Mapping[int, tuple[Any, ...]], first: Callable[[], object]
    ) -> Iterator[tuple[int, Y]]:
        if self.cluster is not None:
            for i, answer in self.cluster.run({i: (function, each) for i, each in calls.items()}, first=first):
                yield i, answer()
        elif self.jobs == 1 or len(calls) == 1:
            first()
            with one_thread():
                for i, arguments in calls.items():
                    yield i, function(*arguments)
        else:
            from concurrent.futures import BrokenExecutor

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

    They are not ``copied`` from a process that may have begun threads.
    """
    if dask is not None:
        from maxent.solvers.solve.dask_cluster import connected

        with connected(dask, limit) as cluster:
            yield Workers(1, cluster)
        return
    # None is one, and what is no number is refused where solving begins.
    number = processes_for(jobs) if is_whole(jobs, -LARGEST_COUNT) and jobs else 1
    with warnings.catch_warnings():  # a process that grew is replaced, and its calls are made again
        warnings.filterwarnings("ignore", message="A worker stopped while some jobs", category=UserWarning)
        yield Workers(number, copied=copied)


# Answer of a part: its solution or, if its statements contradict each other, the nearest point to them.


@dataclass(frozen=True, slots=True, eq=False)
class PartAnswer:
    """The answer of a part: masses of its groups, None where the clock stopped before there was anything near.

    ``convex`` says what was solved, ``inconsistent`` whether statements had to give way, ``trouble`` what went wrong,
    in words; ``by`` names the back end. ``gap`` and ``stopped`` are those of `Attempt`; ``open`` is a program that is
    not convex, a feasible point of it, whose gap is still to be found, and the point that it was solved from.
    """

    masses: FloatArray | None
    convex: bool
    inconsistent: bool
    trouble: tuple[str, ...]
    iterations: int
    gap: float
    by: str
    stopped: Stop | None
    open: tuple[LiftedProgram, FloatArray, FloatArray] | None = None


def answer_part(
    task: Task, attempt: Attempt, loosely: Callable[[], LiftedPart], backend: Backend, options: Options
) -> PartAnswer:
    """The answer of a part after an attempt to solve it as it is."""
    if attempt.solved or attempt.stopped is not None:
        return _answer(task, attempt)
    if attempt.refused:
        return replace(_answer(task, attempt, attempt.message), masses=task.first, by=backend.name)
    return _reconcile(task, attempt, loosely, backend, options)


def unanswered(why: Stop) -> PartAnswer:
    """The answer of a part that there was no time for."""
    return PartAnswer(None, False, False, (), 0, np.inf, "", why)


def _answer(task: Task, attempt: Attempt, *trouble: str, inconsistent: bool = False, before: int = 0) -> PartAnswer:
    point = None if attempt.best is None else attempt.best.point
    program = task.part.program
    waits = not program.convex and np.isinf(attempt.gap) and attempt.solved and not inconsistent
    return PartAnswer(
        masses=None if point is None else task.part.masses(point),
        convex=program.convex,
        inconsistent=inconsistent,
        trouble=trouble,
        iterations=before + attempt.iterations,
        gap=np.inf if inconsistent else attempt.gap,
        by="" if attempt.best is None else attempt.best.by,
        stopped=attempt.stopped,
        open=(program, point, task.part.point(task.first)) if waits and point is not None else None,
    )


def _reconcile(
    task: Task, attempt: Attempt, loosely: Callable[[], LiftedPart], backend: Backend, options: Options
) -> PartAnswer:
    """Relax linear statements, then internal ones, by as little as lets all of them hold."""
    program, inconsistent, before = task.part.program, False, 0
    if not attempt.possible:
        inconsistent, before = True, attempt.iterations
        try:
            task = replace(task, part=loosely())
        except OutOfTime as error:
            return replace(unanswered(error.why), inconsistent=True, iterations=before)
        from maxent.solvers.solve.attempt import relax_linear

        relaxed = relax_linear(task.part.program, options.clock)
        program = task.part.program if relaxed is None else relaxed
        attempt = attempt_tight(task, program, backend, options)
        if attempt.solved or attempt.stopped is not None:
            return _answer(task, attempt, inconsistent=True, before=before)
    where = _where(task.part.program)
    loose = attempt.loose
    if loose is not None and attempt.best is None:
        solution = PartSolver(backend, task.part, loose.program).solve(loose.point, options)
        before += attempt.iterations
        feasible = solution.point is not None and solution.violation <= options.tolerance
        attempt = Attempt(solution if feasible else None, solution.iterations, message=solution.message)
        if feasible and loose.gave and program.convex:
            return _answer(task, attempt, inconsistent=True, before=before)
        if feasible and loose.gave:
            text = f"internal constraints not met together: {where}"
            return _answer(task, attempt, text, inconsistent=inconsistent, before=before)
        attempt = certify(task, program, attempt, backend, options)
        if attempt.solved:
            return _answer(task, attempt, inconsistent=inconsistent, before=before)
    attempt = replace(attempt, stopped=options.clock.stop())
    if attempt.stopped is not None:
        return _answer(task, attempt, inconsistent=inconsistent, before=before)
    if attempt.best is None:
        said = f" ({backend.name}: {attempt.message})" if attempt.message else ""
        failed = _answer(
            task, attempt, f"no feasible point found{said}: {where}", inconsistent=inconsistent, before=before
        )
        return replace(failed, masses=task.first, by=backend.name)
    off = attempt.gap / task.individuals
    far = f", at most {off:.1e} per individual from it" if np.isfinite(off) else ""
    text = f"stopped before the optimum ({attempt.best.stop.value}{far}): {where}"
    return _answer(task, attempt, text, inconsistent=inconsistent, before=before)


def _where(program: LiftedProgram, length: int = 160) -> str:
    """Origins of the statements of a program, in words."""
    text = ", ".join(dict.fromkeys(str(origin) for origin in (*program.origins, *program.nl_origins) if origin))
    return text if len(text) <= length else text[: length - 3] + "..."


# Seconds after which the pace so far tells how long all parts will take.
WARM = 5.0


@dataclass(frozen=True, slots=True, eq=False)
class _Unit:
    """Tasks with their numbers, solved one after the other or together."""

    numbers: tuple[int, ...]
    tasks: tuple[Task, ...]
    together: bool = False

    @classmethod
    def of(cls, tasks: Sequence[Task], numbers: Iterable[int], *, together: bool = False) -> _Unit:
        """The unit of the tasks with some numbers."""
        some = tuple(numbers)
        return cls(some, tuple(tasks[i] for i in some), together)

    @property
    def size(self) -> int:
        """Its unknowns."""
        return sum(task.part.program.n for task in self.tasks)


def attempt_parts(
    tasks: Sequence[Task],
    backend: Backend,
    options: Options,
    done: Callable[[int], None],
    rest: Callable[[], Sequence[Task]] | None = None,
) -> list[Attempt]:
    """`attempt_part` of every task and of the ``rest``, in their order; ``done`` is told how many are finished.

    Small ones are solved together; copies of this process begin with large ones while it makes the rest.
    """
    tasks, units, refusals = list(tasks), list[_Unit](), list[str]()
    found: dict[int, Attempt] = {}
    begin, solved = time.monotonic(), 0
    jobs, first = _ahead([task.part.program.n for task in tasks], options) if rest is not None else (1, [])

    def others() -> list[_Unit]:
        """The remaining units when all tasks are made; none if the back end refuses a task."""
        tasks.extend(() if rest is None else rest())
        refusals.extend(reason for task in tasks if (reason := refusal(task, backend)) is not None)
        if refusals:  # without that part there is no answer to rely on: the others are not worth the time
            return []
        together = stacks(tasks, backend, options)
        alone = sorted({*range(len(tasks))}.difference(first, *together))
        new = [*(_Unit.of(tasks, some, together=True) for some in together), *(_Unit.of(tasks, [i]) for i in alone)]
        new.sort(key=lambda unit: -unit.size)
        units.extend(new)
        return new

    units.extend(_Unit.of(tasks, [i]) for i in first)
    more = others if first else None
    if more is None:
        others()
    work = partial(_attempts, backend)
    with closing(
        each(work, units, [unit.size for unit in units], options)
        if more is None
        else elsewhere(work, units, range(len(units)), jobs, options, more=more)
    ) as ends:
        for number, attempts in ends:
            if refusals:
                break
            for i, attempt in zip(units[number].numbers, attempts, strict=True):
                found[i] = attempt
                done(len(found))
                solved += tasks[i].part.program.n
            gone, sizes = time.monotonic() - begin, [task.part.program.n for task in tasks]
            if gone > WARM and 0 < solved < sum(sizes):
                what = f"{len(tasks)} parts, the largest of {max(sizes):,} unknowns"
                shorter = "more jobs, or fewer starts, take less"
                foretell(gone * (sum(sizes) - solved) / solved, what, shorter, options.clock)
    if refusals:
        return [Attempt(None, 0, refused=True, message=refusals[0]) for _ in tasks]
    for i in range(len(tasks)):
        if i not in found:
            found[i] = Attempt(None, 0, stopped=options.clock.stop())
            done(len(found))
    return [found[i] for i in range(len(tasks))]


def _ahead(sizes: Sequence[int], options: Options) -> tuple[int, list[int]]:
    """How many processes solve parts of some sizes, and which of these begin before all parts are known."""
    large = sorted((i for i, size in enumerate(sizes) if size > FEW), key=lambda i: -sizes[i])
    jobs = asked(options, [sizes[i] for i in large])
    return jobs, large if jobs > 1 and options.cluster is None and can_fork() else []


def _attempts(backend: Backend, unit: _Unit, options: Options) -> list[Attempt]:
    """Attempts to solve a unit's tasks; those that are not to be solved together alone."""
    found = attempt_stack(unit.tasks, backend, options) if unit.together else [None] * len(unit.tasks)
    pairs = zip(unit.tasks, found, strict=True)
    return [attempt_part(task, backend, options) if attempt is None else attempt for task, attempt in pairs]


def bounded_parts(
    answers: Sequence[PartAnswer], options: Options, meanwhile: Callable[[], object] = lambda: None
) -> list[PartAnswer]:
    """Answers with their gaps, infinite where there is no time for them, spread as `each` does."""
    found = list(answers)
    waiting = [(i, *answer.open) for i, answer in enumerate(answers) if answer.open is not None]
    points = [(program, point, without) for _, program, point, without in waiting]
    sizes = [program.n for program, _, _ in points]
    # It is our own code alone, which needs no process that may crash.
    with closing(each(_gap, points, sizes, options, meanwhile, own=True)) as gaps:
        for number, gap in gaps:
            i = waiting[number][0]
            found[i] = replace(found[i], gap=gap, open=None)
    return [replace(answer, open=None) for answer in found]


def _gap(point: tuple[LiftedProgram, FloatArray, FloatArray], options: Options) -> float:
    program, answer, without = point
    return gap_of(program, answer, options, without=without)
