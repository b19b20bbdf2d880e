"""Solves one part as it is: starting points, retries, implicit equalities, and the optimality gap."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from maxent.constraints.lifting.implicit_equalities import Restricted, restrict
from maxent.constraints.lifting.lift import LiftedPart
from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.constraints.lifting.single_point import single_point
from maxent.models.arrays import FloatArray
from maxent.solvers.apart import Tell, apart, may_be_ended
from maxent.solvers.backend import EXACT, FEW, Backend, Options
from maxent.solvers.clock import Clock, in_time
from maxent.solvers.copies import WorkerLost
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.solution import Solution, Stop
from maxent.solvers.solve import starts
from maxent.solvers.solve.checked import Solver

if TYPE_CHECKING:
    from maxent.solvers.solve.slack import Loose

# Starts of a small part that is not convex; fewer where the best answer comes twice, or the first is proved.
MANY_STARTS = 5
# Entropies nearer than this, nats per individual, are of one and the same optimum.
AGAIN = 1e-7
# Further starting points when none was solved; one for large parts.
RETRIES = 4
# Starts that lead nowhere before it is looked into whether internal constraints can be met together.
LOST = 2
# How far the optimum may lie above an answer, nats per individual: an answer nearer than the first is the optimum; a
# convex program whose answer is further off than the second was not solved, whatever the back end says.
PROVED, DOUBTED = 1e-6, 1e-4
# Share of the tolerance with which a convex program is solved again when its first answer is not the optimum.
TIGHTER = 1e-2
# Stands for the back end of a part whose statements leave a single answer.
PRESOLVE = "presolve"
_CLOCK = (Stop.TIME_LIMIT, Stop.INTERRUPTED)


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A part to solve: ``first`` are masses of its groups to start from or near."""

    part: LiftedPart
    first: FloatArray

    @property
    def individuals(self) -> float:
        """Individuals that the part is about."""
        return float(self.part.known.sum() + self.part.program.total.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """The outcome of solving a part as it is, perhaps in another process.

    ``best`` is the best feasible solution. It is None where none was found, unless the clock ended the attempt: then it
    is the one that misses the rows by least, if by less than the start. ``gap`` is how much more entropy the optimum
    can have, nats times individuals. ``possible`` is whether the linear rows can be met, ``refused`` whether the back
    end takes such programs, ``stopped`` why the clock ended the attempt, ``message`` what the back end said last.
    ``loose`` is what the internal rows were found to need where no start led to a feasible point.
    """

    best: Solution | None
    iterations: int
    gap: float = np.inf
    possible: bool = True
    refused: bool = False
    stopped: Stop | None = None
    message: str = ""
    loose: Loose | None = None

    @property
    def solved(self) -> bool:
        return self.best is not None and self.best.stop is Stop.CONVERGED


def attempt_part(task: Task, backend: Backend, options: Options) -> Attempt:
    """Solve a part as it is: from several starts where optima may be several."""
    program = task.part.program
    if not program.n:
        return Attempt(Solution(np.empty(0), Stop.CONVERGED, 0.0, 0, by=PRESOLVE), 0, 0.0)
    return attempt_program(task, program, backend, options)


def refusal(task: Task, backend: Backend) -> str | None:
    """Reason for which a back end does not take a part, None when it does."""
    reason = backend.refuses(task.part.program) if task.part.program.n else None
    return None if reason is None else f"{backend.name} refuses: {reason}"


def attempt_program(task: Task, program: LiftedProgram, backend: Backend, options: Options) -> Attempt:
    """Solve a program over the part's variables; failing that, with the equalities that inequalities imply explicit.

    Statements that contradict each other let no start lead anywhere, and each takes long to find that out. So small
    programs whose statements overlap are first looked at as linear programs, others after a start that led nowhere.
    """
    only = single_point(program)
    settled = None if only is None else _single(program, only, options)
    if settled is not None:
        return settled
    restricted = _restrict(program, options.clock) if program.n <= FEW and tangled(program) else None
    if restricted is not None and not restricted.possible:
        return Attempt(None, 0, possible=False)
    rng = np.random.default_rng(options.seed)
    first = _search(task, program, backend, options, rng)
    if first.solved or first.stopped is not None or not first.possible:
        return first
    restricted = restricted or _restrict(program, options.clock)
    if restricted is None:
        return replace(first, stopped=options.clock.stop())
    if not restricted.possible:
        return replace(first, possible=False)
    if restricted.single:
        return _single(program, restricted.point, options) or first
    if restricted.changed:
        program = restricted.program
        again = _search(task, program, backend, options, np.random.default_rng(options.seed), lost=LOST)
    elif first.best is None and program.terms:
        again = _search(task, program, backend, options, rng, begin=1)
    else:
        return first
    found = _later(first, again)
    return _loosened(found, task, program, backend, options) if found.best is None else found


def attempt_tight(task: Task, program: LiftedProgram, backend: Backend, options: Options) -> Attempt:
    """`attempt_program` where statements have given way just so that all can hold: there are implicit equalities."""
    restricted = _restrict(program, options.clock)
    if restricted is None or not restricted.possible:
        return Attempt(None, 0, stopped=options.clock.stop())
    if restricted.single:
        return _single(program, restricted.point, options) or Attempt(None, 0)
    if program.terms:  # which may have to give way, too
        return _loosened(Attempt(None, 0), task, restricted.program, backend, options)
    return _search(task, restricted.program, backend, options, np.random.default_rng(options.seed))


def tangled(program: LiftedProgram) -> bool:
    """Whether statements overlap, so that they may contradict each other although each alone can be met."""
    said = np.array([origin is not None for origin in program.origins], bool) & (program.row_lower > -np.inf)
    stated = program.matrix[said & (program.row_upper < np.inf)]
    twice = np.bincount(stated.indices, minlength=program.n).max(initial=0) > 1
    groups = len(np.unique(program.group))
    return bool(twice or groups > len(np.unique(program.owner)))


def _restrict(program: LiftedProgram, clock: Clock) -> Restricted | None:
    """`restrict` in time; the linear program of a large one may look at the clock seldom."""
    if not may_be_ended(program, clock):
        return in_time(clock, lambda: restrict(program, clock.left()))
    with suppress(WorkerLost):  # what a start found stands without it
        found: Restricted | None = apart(_restrict_there, (program,), clock, lambda nothing: None)
        return found
    return None


def _restrict_there(program: LiftedProgram, clock: Clock, tell: Tell) -> Restricted | None:
    return restrict(program, clock.left())


def _single(program: LiftedProgram, point: FloatArray, options: Options) -> Attempt | None:
    """The only point that some of the rows leave, unless it breaks others."""
    violation = Derivatives(program).violation(point)
    if violation > options.tolerance:
        return None
    return Attempt(Solution(point, Stop.CONVERGED, violation, 0, by=PRESOLVE), 0, 0.0)


def _later(first: Attempt, again: Attempt) -> Attempt:
    """The better of two attempts, the second unless the first alone has a point."""
    better = again if again.best is not None or first.best is None else replace(first, stopped=again.stopped)
    return replace(better, iterations=first.iterations + again.iterations)


def _loosened(found: Attempt, task: Task, program: LiftedProgram, backend: Backend, options: Options) -> Attempt:
    """Go on from the point where the internal rows need the least slack, while they need none."""
    if found.stopped is not None or not program.terms:
        return found
    from maxent.solvers.solve.slack import relax_internal

    loose = relax_internal(task.part, program, task.first, options)
    if loose is None or loose.gave:
        return replace(found, loose=loose, stopped=options.clock.stop())
    near, rng = task.part.masses(loose.point), np.random.default_rng(options.seed)
    again = _search(replace(task, first=near), program, backend, options, rng, lost=LOST)
    return replace(_later(found, again), loose=loose)


def _search(
    task: Task,
    program: LiftedProgram,
    backend: Backend,
    options: Options,
    rng: np.random.Generator,
    *,
    begin: int = 0,
    lost: int = 1,
) -> Attempt:
    """The best feasible solution over several starts, with its gap; stops when the first ``lost`` starts find none."""
    small = program.n <= FEW
    single = program.convex or getattr(backend, "finds_global", False)
    wanted = 1 if single else options.starts or (MANY_STARTS if small else 1)
    retries = RETRIES if small else 1
    best: Solution | None = None
    nearest: Solution | None = None
    value = Derivatives(program)
    solver = Solver(backend, task.part, program)
    iterations, message, stopped, entropies, gap = 0, "", None, list[float](), np.inf
    stuck: FloatArray | None = None
    first, known = best, Attempt(None, 0)
    for number in range(begin, wanted + retries):
        stopped = options.clock.stop()
        if stopped is not None:
            break
        masses = _begin(task, program, number, stuck, rng)
        solution = solver.solve(task.part.point(masses), options)
        iterations += solution.iterations
        if solution.contradiction:
            return Attempt(None, iterations, possible=False, message=solution.message)
        message, stuck = solution.message, None
        if solution.point is not None and solution.violation <= options.tolerance:
            if _better(solution, best, value):
                best = solution
            if solution.stop is Stop.CONVERGED:
                entropies.append(-value.objective(solution.point))
                if first is None and small and wanted > 1 and options.starts is None:
                    first, known = solution, _proved(program, solution, options)
                    if known.gap <= AGAIN * task.individuals:
                        return replace(known, iterations=iterations)
            else:
                stuck = task.part.masses(solution.point)  # feasible, but stuck on the way: go on from near there
        elif solution.point is not None and (nearest is None or solution.violation < nearest.violation):
            nearest = solution
        if solution.stop in _CLOCK:
            stopped = solution.stop
            break
        twice = options.starts is None and _twice(entropies, AGAIN * task.individuals)
        if (number + 1 >= wanted or twice) and best is not None and best.stop is Stop.CONVERGED:
            break
        if not program.terms:
            break  # linear statements only: another start changes nothing
        if best is None and number + 1 - begin >= lost:
            break
    if best is not None and small:
        best = solver.better_inside(best, task.first, options)
    if best is not None and best is first:
        best, gap = known.best, known.gap
    elif best is not None and best.stop is Stop.CONVERGED and program.n <= EXACT and not program.convex:
        from maxent.solvers.solve.finish import finished

        best = finished(program, best, options)
        proved = None if known.best is None else known.best.point
        if proved is not None and best.point is not None:
            more = value.objective(proved) - value.objective(best.point)
            gap = max(known.gap - more, 0.0) if abs(more) <= AGAIN * task.individuals else np.inf
    if best is None and stopped is not None and nearest is not None:
        best = nearest if nearest.violation < value.violation(task.part.point(task.first)) else None
    if np.isfinite(gap):
        return Attempt(best, iterations, gap, stopped=stopped, message=message)
    return certify(task, program, Attempt(best, iterations, stopped=stopped, message=message), backend, options)


def _proved(program: LiftedProgram, solution: Solution, options: Options) -> Attempt:
    """The exact optimum near a solution, with its gap."""
    from maxent.solvers.solve.finish import finished

    exact = finished(program, solution, options)
    return Attempt(exact, 0, _gap(program, exact, options))


def _begin(
    task: Task, program: LiftedProgram, number: int, stuck: FloatArray | None, rng: np.random.Generator
) -> FloatArray:
    """The masses that the solve of some number starts from."""
    if number == 0 and program.convex:
        return task.first
    return starts.start(number - int(program.convex), task.part, task.first if stuck is None else stuck, rng)


def _twice(entropies: list[float], near: float) -> bool:
    """Whether the largest entropy came out more than once."""
    return sum(entropy >= max(entropies) - near for entropy in entropies) > 1


def _better(solution: Solution, best: Solution | None, value: Derivatives) -> bool:
    if best is None or best.point is None or solution.point is None:
        return True
    if (solution.stop is Stop.CONVERGED) != (best.stop is Stop.CONVERGED):
        return solution.stop is Stop.CONVERGED
    return value.objective(solution.point) < value.objective(best.point)


def certify(task: Task, program: LiftedProgram, found: Attempt, backend: Backend, options: Options) -> Attempt:
    """The certificate of a solution by our own bound: the optimum, or not solved although the back end says so."""
    best, iterations = found.best, found.iterations
    if best is None:
        return found
    if found.stopped is not None:  # where there are multipliers, their bound takes no time
        known = program.convex and best.multipliers is not None
        return replace(found, gap=_gap(program, best, options, least=-np.inf)) if known else found
    if program.terms and not program.convex_rows.any():
        return found  # its bound takes long and decides nothing: it waits until no further rows are activated
    said, gap = best.stop, _gap(program, best, options)
    near, far = PROVED * task.individuals, DOUBTED * task.individuals
    if program.convex and program.draws is None and said is Stop.CONVERGED and gap > near:
        tight = replace(options, tolerance=TIGHTER * options.tolerance)
        finer = Solver(backend, task.part, program).solve(np.asarray(best.point), tight)
        iterations += finer.iterations
        if finer.point is not None and finer.violation <= options.tolerance:
            gap, best = min((_gap(program, finer, options), finer), (gap, best), key=lambda pair: pair[0])
    if gap <= near:
        stop = Stop.CONVERGED
    else:
        doubted = program.convex and said is Stop.CONVERGED and far < gap < np.inf
        stop = Stop.NUMERICAL if doubted else said
    return replace(found, best=replace(best, stop=stop), gap=gap, iterations=iterations)


def _gap(program: LiftedProgram, solution: Solution, options: Options, least: float = 0.0) -> float:
    """Most entropy that a solution can lack to the optimum, nats times individuals, and at ``least`` so much."""
    # One that was stopped on the way, and misses rows, can have more entropy than the optimum.
    assert solution.point is not None
    return gap_of(program, solution.point, options, solution.multipliers, least)


def gap_of(
    program: LiftedProgram,
    point: FloatArray,
    options: Options,
    multipliers: FloatArray | None = None,
    least: float = 0.0,
    without: FloatArray | None = None,
) -> float:
    """`maxent.solvers.bounds.gap.gap` in time, not below the ``least``; infinite without an answer."""
    from maxent.solvers.bounds.gap import gap

    found = in_time(options.clock, lambda: gap(program, point, options.clock, multipliers, without))
    return max(found, least) if found is not None and np.isfinite(found) else np.inf
