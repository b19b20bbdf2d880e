"""Solves and bounds independent parts in several processes, with bitwise equal results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.models.arrays import FloatArray
from maxent.solvers.backend import FEW, Backend, Options
from maxent.solvers.clock import foretell
from maxent.solvers.copies import can_fork
from maxent.solvers.solve.answer import PartAnswer
from maxent.solvers.solve.attempt import Attempt, Task, attempt_part, gap_of, refusal
from maxent.solvers.solve.processes import asked, each, elsewhere
from maxent.solvers.solve.small.attempts import attempt_stack, stacks

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

    Small ones are solved together as far as the back end does so. All are spread as `each` does. Where copies of this
    process solve them, they begin with large tasks, and it makes the rest meanwhile.

    Raises
    ------
    WorkerLost
        When a process did not survive.
    Exception
        What making the rest raises.
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
    while units:
        again: list[int] = []
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
                    if attempt is None:
                        again.append(i)
                        continue
                    found[i] = attempt
                    done(len(found))
                    solved += tasks[i].part.program.n
                gone, sizes = time.monotonic() - begin, [task.part.program.n for task in tasks]
                if gone > WARM and 0 < solved < sum(sizes):
                    what = f"{len(tasks)} parts, the largest of {max(sizes):,} unknowns"
                    shorter = "more jobs, or fewer starts, take less"
                    foretell(gone * (sum(sizes) - solved) / solved, what, shorter, options.clock)
        units, more = [_Unit.of(tasks, [i]) for i in again], None
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


def _attempts(backend: Backend, unit: _Unit, options: Options) -> Sequence[Attempt | None]:
    """Attempts to solve a unit's tasks; None for those that were not to be solved together."""
    if unit.together:
        return attempt_stack(unit.tasks, backend, options)
    return [attempt_part(task, backend, options) for task in unit.tasks]


def bounded_parts(
    answers: Sequence[PartAnswer], options: Options, meanwhile: Callable[[], object] = lambda: None
) -> list[PartAnswer]:
    """Answers with their gaps, infinite where there is no time for them. They are spread as `each` does.

    Where copies of this process find them it does something else ``meanwhile``.

    Raises
    ------
    WorkerLost
        When a process did not survive.
    """
    found = list(answers)
    waiting = [(i, *answer.open) for i, answer in enumerate(answers) if answer.open is not None]
    points = [(program, point, without) for _, program, point, without in waiting]
    sizes = [program.n for program, _, _ in points]
    with closing(each(_gap, points, sizes, options, meanwhile)) as gaps:
        for number, gap in gaps:
            i = waiting[number][0]
            found[i] = replace(found[i], gap=gap, open=None)
    return [replace(answer, open=None) for answer in found]


def _gap(point: tuple[LiftedProgram, FloatArray, FloatArray], options: Options) -> float:
    program, answer, without = point
    return gap_of(program, answer, options, without=without)
