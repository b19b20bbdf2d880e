"""Solves small parts together, from all of their starts at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from maxent.constraints.lifting.single_point import single_point
from maxent.models.arrays import FloatArray
from maxent.models.errors import MaxentError
from maxent.solvers.backend import FEW, Backend, Options, Stacks
from maxent.solvers.clock import in_time
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.solution import Solution, Stop
from maxent.solvers.solve import starts
from maxent.solvers.solve.attempt import AGAIN, MANY_STARTS, Attempt, Task, certify, tangled
from maxent.solvers.solve.checked import Solver


def stacks(tasks: Sequence[Task], backend: Backend, options: Options) -> list[list[int]]:
    """The numbers of the tasks that are solved together: small ones, with comparisons of one measure each."""
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
    return list(by_measure.values())


def attempt_stack(tasks: Sequence[Task], backend: Backend, options: Options) -> list[Attempt | None]:
    """Attempts to solve tasks together, None for those that have to be solved alone: no start led anywhere.

    A failure of the back end leaves all of them to be solved alone.
    """
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
    return [task.part.point(starts.start(i, task.part, task.first, rng)) for i in range(number)]


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
        inside = Solver(backend, task.part, program).better_inside(solution, task.first, options)
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
