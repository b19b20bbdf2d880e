"""Answer of a part: its solution or, if its statements contradict each other, the nearest point to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from maxent.constraints.lifting.lift import LiftedPart
from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.models.arrays import FloatArray
from maxent.solvers.backend import Backend, Options
from maxent.solvers.clock import OutOfTime
from maxent.solvers.solution import Stop
from maxent.solvers.solve.attempt import Attempt, Task, attempt_tight, certify
from maxent.solvers.solve.checked import Solver


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
    """The answer of a part after an attempt to solve it as it is.

    ``loosely`` lifts the part again with every statement free to give way, for when they contradict each other.
    """
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
    waits = attempt.solved and not inconsistent and not program.convex and np.isinf(attempt.gap)
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
        from maxent.solvers.solve.slack import relax_linear

        relaxed = relax_linear(task.part.program, options.clock)
        program = task.part.program if relaxed is None else relaxed
        attempt = attempt_tight(task, program, backend, options)
        if attempt.solved or attempt.stopped is not None:
            return _answer(task, attempt, inconsistent=True, before=before)
    where = _where(task.part.program)
    loose = attempt.loose
    if loose is not None and attempt.best is None:
        solution = Solver(backend, task.part, loose.program).solve(loose.point, options)
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
    far = f", at most {off:.1e} nats per individual from it" if np.isfinite(off) else ""
    text = f"stopped before the optimum ({attempt.best.stop.value}{far}): {where}"
    return _answer(task, attempt, text, inconsistent=inconsistent, before=before)


def _where(program: LiftedProgram, length: int = 160) -> str:
    """Origins of the statements of a program, in words."""
    text = ", ".join(dict.fromkeys(str(origin) for origin in (*program.origins, *program.nl_origins) if origin))
    return text if len(text) <= length else text[: length - 3] + "..."
