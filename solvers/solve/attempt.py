"""The solution of one part: starting points, retries, checks and repair of answers, and contradictory statements."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from maxent.constraints.lifting import SOLVED, LiftedPart, LiftedProgram, Restricted, restrict, single_point
from maxent.models.arrays import FloatArray, IntArray
from maxent.models.errors import MaxentError
from maxent.models.packages import installed
from maxent.solvers.backend import EXACT, FEW, Backend, Keeps, Options
from maxent.solvers.backends.ipopt_run import run
from maxent.solvers.control import Clock, in_time, keeping, watched
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.solution import Solution, Stop
from maxent.solvers.workers import Tell, WorkerLost, apart, may_be_ended

# Starting points of a part: random changes of an answer.
#
# The closed form is no start for a part that is not convex: it is symmetric in the classes, and can be a saddle. All
# starts keep the total of every group; other linear statements they miss by a little.

# Standard deviations (of a split: the size) of the changes to the masses' logarithms.
NOISE, WIDER, TILT, SPLIT = 0.1, 0.3, 0.3, 0.5
# The same of a start near an optimum with fewer comparisons.
LITTLE = 0.01


def start(number: int, part: LiftedPart, masses: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Start ``number`` (0, 1, ...) of a part, near ``masses`` of its groups; both of shape (n_groups, n_classes).

    In turn: a little noise, more of it, a tilt of the classes in each branch of the chosen splits, and classes of their
    own for each of these branches. Each looks for optima of another kind.
    """
    departures = (
        lambda: noise(part, NOISE, rng),
        lambda: noise(part, WIDER, rng),
        lambda: tilts(part, TILT, rng),
        lambda: splits(part, SPLIT, rng),
    )
    return depart(part, masses, departures[number % len(departures)]())


def depart(part: LiftedPart, masses: FloatArray, change: FloatArray) -> FloatArray:
    """Add ``change``, shape (n_masses,), to the logarithms of the free masses, keeping every group's total."""
    free = np.zeros(masses.shape, bool)
    at = part.program.group, part.program.klass
    free[at] = True
    changed = np.zeros(masses.shape)
    changed[at] = masses[at] * np.exp(change)
    total, wanted = changed.sum(axis=1, keepdims=True), np.where(free, masses, 0.0).sum(axis=1, keepdims=True)
    scaled: FloatArray = changed * np.divide(wanted, total, out=np.ones_like(total), where=total > 0)
    return scaled


def noise(part: LiftedPart, size: float, rng: np.random.Generator) -> FloatArray:
    """Every free mass on its own, shape (n_masses,)."""
    return size * rng.standard_normal(part.program.n_masses)


def tilts(part: LiftedPart, size: float, rng: np.random.Generator) -> FloatArray:
    """The groups of each branch of a chosen split change alike, each class by its own amount, shape (n_masses,)."""
    chosen, _, _ = _chosen(part)
    change = np.zeros(part.program.n)
    change[chosen] = size * rng.standard_normal(len(chosen))
    return part.elimination.spread(change) + noise(part, 0.2 * NOISE, rng)


def splits(part: LiftedPart, size: float, rng: np.random.Generator) -> FloatArray:
    """Each class grows in one branch, at random, of every chosen split, shape (n_masses,)."""
    chosen, row, which = _chosen(part)
    by_draw = np.argsort(rng.random(len(chosen))[which], kind="stable")
    klass = _classes(part)[chosen[which]]
    _, first = np.unique(np.column_stack([row, klass])[by_draw], axis=0, return_index=True)
    change = np.zeros(part.program.n)
    change[chosen[which[by_draw[first]]]] = size
    return part.elimination.spread(change) + noise(part, 0.2 * NOISE, rng)


def _chosen(part: LiftedPart) -> tuple[IntArray, IntArray, IntArray]:
    """The variables on the chosen splits' side, once each; and for each of their terms its row and which it is."""
    rows = [terms.row[terms.coef > 0] for terms in part.program.terms]
    variables = [terms.var[terms.coef > 0] for terms in part.program.terms]
    chosen, which = np.unique(np.concatenate([*variables, np.empty(0, np.int64)]), return_inverse=True)
    return chosen, np.concatenate([*rows, np.empty(0, np.int64)]), which.reshape(-1)


def _classes(part: LiftedPart) -> IntArray:
    """The class of each variable, shape (n,); aggregates over all classes get a number between."""
    klass = part.program.klass.astype(np.float64)
    number = part.elimination.sums(np.ones(len(klass)))
    mean: IntArray = np.rint(part.elimination.sums(klass) / np.maximum(number, 1.0)).astype(np.int64)
    return mean


# Finds the smallest weighted slack that reconciles contradictory statements.
#
# Linear statements first, as a linear program; then the internal ones, as the same nonlinear program with a slack
# variable in every row and a penalty on it. The totals of quasi-identifiers and the definitions never give way.

# Individuals (linear rows) or impurity units (internal rows) below which a slack is rounding.
NO_SLACK = 1e-7
# Further starts of small programs while slack is left.
SLACK_RETRIES = 4
# Nats that an individual of slack costs; multipliers of the internal rows stay near 1.
PENALTY = 100.0


def relax_linear(program: LiftedProgram, clock: Clock) -> LiftedProgram | None:
    """The program with the fewest individuals of slack in its linear statements that lets all of them hold."""
    if not may_be_ended(program, clock):
        return in_time(clock, lambda: _relax_linear(program, clock.left()))
    found: LiftedProgram | None = apart(_relax_linear_there, (program,), clock, lambda nothing: None)
    return found


def _relax_linear_there(program: LiftedProgram, clock: Clock, tell: Tell) -> LiftedProgram | None:
    return _relax_linear(program, clock.left())


def _relax_linear(program: LiftedProgram, seconds: float | None) -> LiftedProgram | None:
    from scipy.optimize import linprog

    soft = np.array([origin is not None for origin in program.origins])
    n, n_soft = program.n, int(soft.sum())
    pick = sparse.csr_matrix((np.ones(n_soft), (np.flatnonzero(soft), np.arange(n_soft))), shape=(len(soft), n_soft))
    matrix = sparse.hstack([program.matrix, pick, -pick], format="csr")
    finite_low, finite_high = np.isfinite(program.row_lower), np.isfinite(program.row_upper)
    result = linprog(
        np.concatenate([np.zeros(n), np.ones(2 * n_soft)]),
        A_ub=sparse.vstack([matrix[finite_high], -matrix[finite_low]], format="csr"),
        b_ub=np.concatenate([program.row_upper[finite_high], -program.row_lower[finite_low]]),
        bounds=np.column_stack(
            [
                np.concatenate([program.lower, np.zeros(2 * n_soft)]),
                np.concatenate([program.upper, np.full(2 * n_soft, np.inf)]),
            ]
        ),
        method="highs",
        options={"time_limit": seconds},
    )
    if result.status != SOLVED:
        return None
    up, down = np.zeros(len(soft)), np.zeros(len(soft))
    up[soft], down[soft] = result.x[n : n + n_soft], result.x[n + n_soft :]
    gave = np.maximum(up, down) > NO_SLACK
    return replace(
        program,
        row_lower=np.where(gave, program.row_lower - up, program.row_lower),
        row_upper=np.where(gave, program.row_upper + down, program.row_upper),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Loose:
    """A program with the slack that its internal rows were found to need, and a point that all but meets it."""

    program: LiftedProgram
    point: FloatArray
    gave: bool
    slack: float


def relax_internal(part: LiftedPart, program: LiftedProgram, first: FloatArray, options: Options) -> Loose | None:
    """The least slack found in the internal rows, from several starts; None without time or Ipopt."""
    if not installed("cyipopt"):
        return None
    rng = np.random.default_rng(options.seed)
    least: Loose | None = None
    for number in range(1 if program.convex or program.n > FEW else 1 + SLACK_RETRIES):
        masses = first if number == 0 else start(number - 1, part, first, rng)
        found = in_time(options.clock, partial(_relax_internal, program, part.point(masses), options))
        if found is None or options.clock.stop() is not None:
            return least
        if least is None or found.slack < least.slack:
            least = found
        if not found.gave:
            break
    return least


def _relax_internal(program: LiftedProgram, start: FloatArray, options: Options) -> Loose:
    derivatives = _WithSlack(program)
    wide = np.concatenate(
        [start, np.maximum(-derivatives.plain.constraints(start)[derivatives.first :] - program.nl_const, 0.0) + 1e-3]
    )
    point = run(
        derivatives,
        derivatives,
        np.concatenate([program.lower, np.zeros(derivatives.n_slack)]),
        np.concatenate([program.upper, np.full(derivatives.n_slack, np.inf)]),
        wide,
        options,
    ).point
    slack = point[program.n :]
    needed = slack > 1e-6
    relaxed = replace(program, nl_const=np.where(needed, program.nl_const + slack * (1 + 1e-6), program.nl_const))
    total = float(np.where(needed, slack * program.nl_size, 0.0).sum())
    return Loose(relaxed, point[: program.n], bool(needed.any()), total)


class _WithSlack(Derivatives):
    """A program's derivatives with a slack variable, at a price, in every nonlinear row."""

    def __init__(self, program: LiftedProgram) -> None:
        super().__init__(program)
        self.plain = Derivatives(program)
        self.first, self.n_slack = self.n_linear, len(program.nl_const)
        rows, columns = self.plain.jacobianstructure()
        own = np.arange(self.n_slack)
        self._jacobian = (np.concatenate([rows, self.first + own]), np.concatenate([columns, program.n + own]))
        self._price = PENALTY * program.nl_size

    def objective(self, z: FloatArray) -> float:
        n = self.program.n
        return super().objective(z[:n]) + float(self._price @ z[n:])

    def gradient(self, z: FloatArray) -> FloatArray:
        return np.concatenate([super().gradient(z[: self.program.n]), self._price])

    def constraints(self, z: FloatArray) -> FloatArray:
        value = super().constraints(z[: self.program.n])
        value[self.first :] += z[self.program.n :]
        return value

    def jacobian(self, z: FloatArray) -> FloatArray:
        return np.concatenate([super().jacobian(z[: self.program.n]), np.ones(self.n_slack)])

    def hessian(self, z: FloatArray, multipliers: FloatArray, objective_factor: float) -> FloatArray:
        return super().hessian(z[: self.program.n], multipliers, objective_factor)

    def hessianstructure(self) -> tuple[IntArray, IntArray]:
        return self._hessian


# Checks answers of back ends: repairs the point, and computes its violation anew.

# Share of its quasi-identifier's people below which a mass hardly moves with its score.
EDGE = 1e-5
# How far from such an answer to other masses a solve begins again.
INSIDE = 0.2
# Nats per individual by which an answer is better than another.
MORE = 1e-7


@dataclass(slots=True)
class PartSolver:
    """A back end that works on a program of a ``part``, with its state for further starts."""

    backend: Backend
    part: LiftedPart
    program: LiftedProgram
    _state: Any = None

    def solve(self, start: FloatArray, options: Options) -> Solution:
        """The back end's solution from a start, with a violation that can be relied on: that of its masses alone.

        A back end that fails, crashes, or does not end in time has found nothing, and its message says why.
        """
        backend, program = self.backend, self.program
        try:
            with self._watched(options), keeping() as so_far:
                found = in_time(options.clock, lambda: self._solve(start, options))
        except WorkerLost as error:
            return _nothing(backend, Stop.NUMERICAL, str(error))
        except (MaxentError, MemoryError):
            raise
        except Exception as error:
            return _nothing(backend, Stop.NUMERICAL, f"{type(error).__name__}: {error}")
        late = options.clock.stop() if found is None else None
        if late is not None and so_far:
            kept = so_far[-1]
            found = Solution(kept.point, late, np.inf, 0, "did not stop in time", multipliers=kept.multipliers)
        elif late is not None:
            return _nothing(backend, late, "did not stop in time")
        if not isinstance(found, Solution) or not isinstance(found.stop, Stop):
            return _nothing(backend, Stop.NUMERICAL, f"returned {type(found).__name__} without a reason to stop")
        masses = _masses(found.point, program)
        if masses is None:
            stop = Stop.NUMERICAL if found.stop is Stop.CONVERGED else found.stop
            return _nothing(backend, stop, found.message or "returned no point")
        point = self.part.point(self.part.masses(masses))
        violation = Derivatives(program).violation(point)
        trusted = found.stop is not Stop.CONVERGED or violation <= options.tolerance
        return replace(
            found,
            point=point,
            stop=found.stop if trusted else Stop.NUMERICAL,
            violation=violation,
            iterations=int(found.iterations),
            by=found.by or backend.name,
        )

    def better_inside(self, found: Solution, masses: FloatArray, options: Options) -> Solution:
        """A solution, or a better one from a start nearer to some masses, where the program is not convex.

        Solvers move scores, and small masses move little with theirs: at the edge they can end too early.
        """
        if found.stop is not Stop.CONVERGED or self.program.convex:
            return found
        program, point = self.program, np.asarray(found.point)
        n = program.n_masses
        edge = (point[:n] < EDGE * program.total[program.owner]) & (program.lower[:n] < program.upper[:n])
        if not edge.any() or options.clock.stop() is not None:
            return found
        start = (1.0 - INSIDE) * self.part.masses(point) + INSIDE * masses
        again, value = self.solve(self.part.point(start), options), Derivatives(program)
        if again.point is None or again.stop is not Stop.CONVERGED:
            return found
        more = value.objective(point) - value.objective(again.point)
        return again if more > MORE * float(program.total.sum()) else found

    def _watched(self, options: Options) -> AbstractContextManager[None]:
        """Early notice for a large program."""
        program = self.program
        if not may_be_ended(program, options.clock):
            return nullcontext()
        what = f"{program.n:,} unknowns in {len(program.row_lower):,} statements, by {self.backend.name}"
        return watched("solving", lambda: what, self._shorter(), options.clock)

    def _shorter(self) -> str:
        """Advice on how to make the problem smaller."""
        origins = filter(None, (*self.program.origins, *self.program.nl_origins))
        several = any(origin.tree is not None for origin in origins)
        ways = ["fewer trees or private attributes"] if several else []
        if self.program.terms or not several:
            ways.append("less --knowledge")
        if self.backend.name not in ("auto", "newton"):
            ways.append("the back end auto")
        return f"{', or '.join(ways)}{',' * (len(ways) > 1)} {'take' if several else 'takes'} less"

    def _solve(self, start: FloatArray, options: Options) -> Solution:
        if not isinstance(self.backend, Keeps):
            return self.backend.solve(self.program, start, options)
        if self._state is None:
            self._state = self.backend.init(self.program, options)
        return self.backend.solve_from(self._state, start, options)


def _nothing(backend: Backend, stop: Stop, message: str) -> Solution:
    return Solution(None, stop, np.inf, 0, message, backend.name)


def _masses(point: object, program: LiftedProgram) -> FloatArray | None:
    """The masses of a point within their bounds, shape (n_masses,); None when it is no point of the program."""
    try:
        z = np.asarray(point, np.float64)
    except (TypeError, ValueError):
        return None
    if z.shape != (program.n,) or not np.isfinite(z).all():
        return None
    n = program.n_masses
    clipped: FloatArray = np.clip(z[:n], program.lower[:n], program.upper[:n])
    return clipped


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
    """A part to solve: ``first`` are masses of its groups to start from or near.

    ``last`` are those of an optimum with fewer comparisons, where there is one.
    """

    part: LiftedPart
    first: FloatArray
    last: FloatArray | None = None

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

    Small programs whose statements overlap are first looked at as linear programs, as contradictions take long to find.
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
    first, known = best, Attempt(None, 0)
    solver, value = PartSolver(backend, task.part, program), Derivatives(program)
    iterations, message, stopped, entropies, gap = 0, "", None, list[float](), np.inf
    stuck: FloatArray | None = None
    for number in range(begin, wanted + retries):
        stopped = options.clock.stop()
        if stopped is not None:
            break
        again = number == 0 and task.last is not None and not (small or program.convex or options.starts)
        masses = _again(task, rng) if again else _begin(task, program, number, stuck, rng)
        solution = solver.solve(task.part.point(masses), replace(options, near=again))
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
    return start(number - int(program.convex), task.part, task.first if stuck is None else stuck, rng)


def _again(task: Task, rng: np.random.Generator) -> FloatArray:
    """Masses near those of the optimum with fewer comparisons."""
    assert task.last is not None
    return depart(task.part, task.last, noise(task.part, LITTLE, rng))


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
    near, far = PROVED * task.individuals, DOUBTED * task.individuals
    said, gap = best.stop, _gap(program, best, options)
    if said is Stop.CONVERGED and gap > near and program.convex and not program.likely:
        tight = replace(options, tolerance=TIGHTER * options.tolerance)
        finer = PartSolver(backend, task.part, program).solve(np.asarray(best.point), tight)
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
    """`maxent.solvers.gap.bound.gap` in time, not below the ``least``; infinite without an answer."""
    from maxent.solvers.gap.bound import gap

    found = in_time(options.clock, lambda: gap(program, point, options.clock, multipliers, without))
    return max(found, least) if found is not None and np.isfinite(found) else np.inf
