"""Solution of a compiled program: closed forms, independent parts, lazily activated internal constraints.

The flow: answer without internal constraints, check them all at once, activate the violated ones, merge and split
again, solve the parts that changed, and repeat until none is violated. The entropy is bounded from above by that of
the first answer, and by the sum of the bounds of the parts.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from maxent.constraints.lifting import LiftedPart, lift
from maxent.constraints.presolve.merge import (
    Merged,
    Part,
    Totals,
    compared,
    convex_rows,
    drawn,
    everything_about,
    known_totals,
    merge,
    needed,
    parts,
    poolable,
    pooled,
    unmerged,
)
from maxent.constraints.presolve.parts import solve_leafwise
from maxent.constraints.program.program import Program
from maxent.constraints.program.residuals import Evaluator, InternalRows
from maxent.models.arrays import TINY, BoolArray, FloatArray, IntArray, ranges
from maxent.models.columns import CELLS, check_size
from maxent.solvers.backend import Backend, Options, WholeBackend
from maxent.solvers.control import LAST, SOON, Clock, OutOfTime, given_up, in_time
from maxent.solvers.solution import Solution, Stop
from maxent.solvers.solve.attempt import DOUBTED, PRESOLVE, PROVED, Task
from maxent.solvers.solve.parallel import PartAnswer, answer_part, attempt_parts, bounded_parts, unanswered
from maxent.solvers.solve.price import NEAR, at_price, balanced, free_leaves, members_row
from maxent.solvers.workers import one_thread

if TYPE_CHECKING:
    from maxent.solvers.dual.relaxation import MostLikely

# Splits the program into independent parts, within the time limit.

# Parts that nothing compares that are solved as one, where cells are of people in and out of the data.
BUNDLE = 400

# What makes a part the same as one of an earlier round.
Key = tuple[bytes, bytes, int]
# How many times as long as evaluating a point measuring an answer takes at most, see `prepare`.
MEASURING = 3.0


@dataclass(frozen=True, eq=False)
class Point:
    """An answer: ``masses``, individuals, of the cells of the program that ``evaluator`` is of.

    Where ``merged`` is given, that program is over groups of cells, as people who are alike have one answer.
    """

    evaluator: Evaluator
    masses: FloatArray
    merged: Merged | None = None

    @property
    def program(self) -> Program:
        """The program whose cells these masses are of."""
        return self.evaluator.program

    @cached_property
    def missed(self) -> FloatArray:
        """By how much it misses each comparison of splits, shape (n_rows,), impurity units."""
        return self.evaluator.internal.violation(self.masses)

    def of_everybody(self, program: Program) -> IntArray:
        """The row of its own program that each quasi-identifier of the whole one is in."""
        row = np.arange(len(program.table))
        if self.merged is not None:
            row[program.cells.owner] = self.merged.group
        return row

    @classmethod
    def of(cls, run: _SolveRun, merged: Merged, masses: FloatArray) -> Point:
        """An answer from masses of groups, shape (n_groups, n_classes)."""
        if run.start.merged is None:
            return cls(run.evaluator, merged.expand(masses, run.program.weight))
        return cls(run.evaluator.at(pooled(run.program, merged)), masses, merged)

    def over(self, merged: Merged) -> FloatArray:
        """Masses of groups that are no coarser, shape (n_groups, n_classes)."""
        if self.merged is None:
            return merged.pool(self.masses)
        mine = self.merged.group[merged.cell]
        return np.asarray(self.masses[mine] * (merged.of_group / self.merged.of_group[mine])[:, None])

    def cells(self, program: Program) -> FloatArray:
        """Masses of the cells of the whole program, shape (n_cells, n_classes)."""
        return self.masses if self.merged is None else self.merged.expand(self.masses, program.weight)


@dataclass(frozen=True, slots=True, eq=False)
class Ready:
    """Start of a solve: the uniform answer, and its violation of the constraints."""

    uniform: Point
    violation: float


def prepare(program: Program, clock: Clock, *, whole: bool = False) -> Ready:
    """Evaluate a program at the uniform answer, and reserve the time that measuring another one will take."""
    merged = None if whole else alike(program)
    if merged is None:  # each has an answer of their own
        check_size(CELLS, len(program.cells), program.n_classes)
    coarse = program if merged is None else pooled(program, merged)
    evaluator = Evaluator(coarse)
    uniform = Point(evaluator, uniform_answer(coarse), merged)
    begin = time.monotonic()
    violation = evaluator.max_violation(uniform.masses)
    if clock.limit is not None:
        coarse.posterior(uniform.masses)
        coarse.entropy(uniform.masses)
        clock.reserve(MEASURING * (time.monotonic() - begin))
    return Ready(uniform, violation)


def alike(program: Program) -> Merged | None:
    """The groups of people whom nothing but choices of splits tells apart, where these are far fewer than cells."""
    if not program.single:
        return None
    merged = merge(program)
    return merged if poolable(program, merged) else None


def what_is_needed(program: Program, evaluator: Evaluator) -> tuple[tuple[Totals, ...], IntArray]:
    """Class totals that statements fix, and the statements that others do not imply."""
    totals = known_totals(program)
    return totals, needed(program, totals, evaluator.linear)


def uniform_answer(program: Program) -> FloatArray:
    """Every bin of a quasi-identifier alike: the maximum of the entropy when nothing is stated."""
    bins = program.cells_of[program.cells.owner] * program.n_classes
    return np.repeat((program.weight / bins)[:, None], program.n_classes, axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class SplitProgram:
    """A merged program, the closed forms of its groups, and the parts that are left, with their keys."""

    merged: Merged
    pooled: FloatArray
    parts: list[Part]
    keys: list[Key]


def split(
    program: Program,
    rows: InternalRows,
    keep: IntArray,
    active: IntArray,
    check: Callable[[], None],
    *,
    bundling: bool = True,
) -> SplitProgram:
    """Merge a program with some internal rows active, and divide it; ``check`` is called meanwhile, and may raise."""
    merged = merge(program, rows, active, check)
    check()
    masses, simple = solve_leafwise(program, merged, keep, check)
    check()
    simple &= ~compared(program, merged, rows, active) & ~drawn(program, merged)
    pieces = parts(program, merged, keep, rows, active, ~simple, check) if not simple.all() else []
    if bundling and not program.single:
        pieces = bundled(pieces)
    keys = [(each.linear.tobytes(), each.internal.tobytes(), int(merged.cell[each.groups[0]])) for each in pieces]
    return SplitProgram(merged, masses, pieces, keys)


def bundled(pieces: list[Part]) -> list[Part]:
    """Parts with those together, many at a time, that nothing compares: each on its own takes longer to set up."""
    plain = [piece for piece in pieces if not len(piece.internal) and not len(piece.likely)]
    if len(plain) <= BUNDLE:
        return pieces
    others = [piece for piece in pieces if len(piece.internal) or len(piece.likely)]
    for i in range(0, len(plain), BUNDLE):
        some = plain[i : i + BUNDLE]
        groups, linear = (
            np.sort(np.concatenate(each)) for each in zip(*((p.groups, p.linear) for p in some), strict=True)
        )
        others.append(Part(groups, linear, plain[0].internal))
    return others


def large_and_small(pieces: Sequence[Part]) -> tuple[list[int], list[int]]:
    """The largest parts, which have half of the groups, and the others in their order."""
    sizes = np.array([len(piece.groups) for piece in pieces])
    order = np.argsort(-sizes, kind="stable")
    before = np.cumsum(sizes[order]) - sizes[order]
    large = order[before < sizes.sum() / 2]
    return large.tolist(), np.setdiff1d(order, large).tolist()


# Answer when time is up before any point is feasible: proportional fitting of the cells.
#
# It needs neither presolve nor a back end, and its first rounds take about as long as evaluating the statements: each
# sum of masses in turn is scaled into its interval, the sums of a depth of a tree together, and afterwards everybody
# back to their individuals (Darroch & Ratcliff, "Generalized iterative scaling for log-linear models", Ann. Math.
# Statist. 43, 1972; for inequalities Bregman, 1967). What meets the statements already stays as it is. In 0.8 processor
# seconds an answer that misses statements of a forest of 30 trees (Adult, 4,942 cells) by 0.5 comes to miss them by
# 0.013; without it, it misses them by 0.5.

# Rounds of fitting every sum once, at most, and those of each start that are worth being a little late.
ROUNDS, FEW = 100, 3
# Processor seconds that these few rounds may take in all.
QUICK = 0.75
# Change of a factor that is none.
CLOSE = 1e-9
# Sets of facts that overlap, at most; those in none are not fitted.
SETS = 3


@dataclass(frozen=True, slots=True, eq=False)
class _FittedBlock:
    """Sums that share no mass, over the regions of each, and their intervals, shapes (n, n_classes) or (n, 1)."""

    region: IntArray
    low: FloatArray
    high: FloatArray


def nearer(
    program: Program, evaluator: Evaluator, masses: FloatArray, tolerance: float, late: Callable[[], bool]
) -> FloatArray:
    """The masses that miss the constraints least, of all that there is time for.

    Where linear ones are missed, the uniform answer and these are fitted, except to sums of several classes, and to
    coefficients other than 1.
    """
    begin = time.thread_time()
    if evaluator.linear.violation(masses).max(initial=0.0) <= tolerance:
        return masses

    def quick() -> bool:
        return late() and time.thread_time() - begin > QUICK

    blocks, best = _blocks(program), _Best(masses, evaluator.max_violation(masses))
    uniform = uniform_answer(program)
    fits = [_Fit(program, evaluator, blocks, uniform)]
    if not np.array_equal(uniform, masses):
        fits.append(_Fit(program, evaluator, blocks, np.maximum(masses, 0.0)))
    for fit in fits:
        for _ in range(FEW):
            best = fit.next(best, quick)
    nearest = min(fits, key=lambda fit: fit.violation)
    for _ in range(FEW, ROUNDS):
        if late() or nearest.settled:
            break
        best = nearest.next(best, late)
    return best.masses


@dataclass(frozen=True, slots=True, eq=False)
class _Best:
    """Masses, and by how much they miss the constraints."""

    masses: FloatArray
    violation: float


@dataclass(slots=True, eq=False)
class _Fit:
    """Masses that are fitted, round by round, until a round changes nothing."""

    program: Program
    evaluator: Evaluator
    blocks: list[_FittedBlock]
    masses: FloatArray
    violation: float = np.inf
    settled: bool = False

    def next(self, best: _Best, late: Callable[[], bool]) -> _Best:
        """The better of some masses and those after another round, or as much of it as there is time for."""
        if self.settled or late():
            return best
        self.masses, change = _round(self.program, self.blocks, self.masses.copy(), late)
        self.violation = self.evaluator.max_violation(self.masses)
        self.settled = change <= CLOSE
        return _Best(self.masses, self.violation) if self.violation < best.violation else best


def _round(
    program: Program, blocks: list[_FittedBlock], masses: FloatArray, late: Callable[[], bool]
) -> tuple[FloatArray, float]:
    """Masses after a round, in place, and by how much a factor of it differs from 1 at most."""
    regions, owner, change = program.regions, program.cells.owner, 0.0
    counts = program.table.counts.astype(np.float64)
    for block in blocks:
        if late():
            break
        start, stop = regions.indptr[block.region], regions.indptr[block.region + 1]
        cells, length = regions.indices[ranges(start, stop)], stop - start
        inside = masses[cells]
        sums = np.add.reduceat(inside, np.cumsum(length) - length, axis=0)
        if block.low.shape[1] == 1:
            sums = sums.sum(axis=1, keepdims=True)
        factor = np.clip(sums, block.low, block.high) / np.maximum(sums, TINY)
        factor[sums <= TINY] = 1.0
        change = max(change, float(np.abs(factor - 1.0).max()))
        off = (factor != 1.0).any(axis=1)
        if not off.all():  # of intervals few are
            held, factor, length = np.repeat(off, length), factor[off], length[off]
            cells, inside = cells[held], inside[held]
        fitted = inside * np.repeat(factor, length, axis=0)
        if program.single:
            masses[cells] = fitted * (program.weight[cells] / np.maximum(fitted.sum(axis=1), TINY))[:, None]
        else:
            masses[cells] = fitted
            total = np.bincount(owner, masses.sum(axis=1), len(counts))[owner]
            masses *= (program.weight / np.maximum(total, TINY))[:, None]
    return masses, change


def _blocks(program: Program) -> list[_FittedBlock]:
    """The sums of a program in blocks: those of single classes, and then those of all classes together."""
    table, region = program.rows, program.region_of[program.rows.of]
    length, ones = np.diff(table.ends), np.ones(len(table), bool)
    np.logical_and.at(ones, np.repeat(np.arange(len(table)), length), table.coef == 1.0)
    filled, blocks = np.diff(program.regions.indptr)[region] > 0, []
    whole = ones & ~table.weighted & (length == program.n_classes)
    for rows, single in ((table.alone >= 0, True), (whole & (table.alone < 0), False)):
        those = np.flatnonzero(rows & filled)
        for regions in _apart(program, np.unique(region[those])):
            mine = those[np.isin(region[those], regions)]
            at = np.searchsorted(regions, region[mine]), table.alone[mine] if single else np.zeros(len(mine), np.int64)
            shape = len(regions), program.n_classes if single else 1
            low, high = np.full(shape, -np.inf), np.full(shape, np.inf)
            np.maximum.at(low, at, table.lower[mine])
            np.minimum.at(high, at, table.upper[mine])
            blocks.append(_FittedBlock(regions, low, np.maximum(low, high)))
    return blocks


def _apart(program: Program, regions: IntArray) -> list[IntArray]:
    """Sets of regions that share no cell: inner nodes by depth, leaves, and facts as far as a few sets hold them."""
    group = np.empty((len(regions), 2), np.int64)
    depths: dict[int, IntArray] = {}
    for i, region in enumerate(regions.tolist()):
        place = program.regions.places[region]
        if place is not None and place[0] not in depths:
            places = program.cells.trees[place[0]].places
            depths[place[0]] = np.empty(len(places), np.int64)
            for depth, level in enumerate(places.levels):
                depths[place[0]][level] = np.where(places.n_branches[level] > 0, depth, len(places.levels))
        group[i] = (-1, 0) if place is None else (place[0], depths[place[0]][place[1]])
    facts, told = regions[group[:, 0] < 0], group[group[:, 0] >= 0]
    number = np.unique(told, axis=0, return_inverse=True)[1].ravel()
    order = np.argsort(number, kind="stable")
    found = np.split(regions[group[:, 0] >= 0][order], np.flatnonzero(np.diff(number[order])) + 1)
    for _ in range(SETS):
        start, stop = program.regions.indptr[facts], program.regions.indptr[facts + 1]
        cells, of = program.regions.indices[ranges(start, stop)], np.repeat(np.arange(len(facts)), stop - start)
        taken = np.full(len(program.cells), len(facts))
        np.minimum.at(taken, cells, of)
        free = np.ones(len(facts), bool)
        free[of[taken[cells] < of]] = False
        found.append(facts[free])
        facts = facts[~free]
    return [regions for regions in found if len(regions)]


Progress = Callable[[str, int, int], None]


def silent(text: str, done: int, total: int) -> None:
    """Tell nobody of progress."""


# Internal rows violated by more than this share of the tolerance are activated.
ACTIVATE = 0.1
MAX_ROUNDS = 50
# Back ends whose parts may have a price of members in their objective.
PRICED = ("auto", "newton")


@dataclass(frozen=True, eq=False)
class Outcome:
    """The answer to a program, in its cells, and how it was reached.

    ``status``: ``optimal``, ``inconsistent`` (statements contradict each other; the nearest point to them),
    ``not_converged`` (``trouble`` says where), ``time_limit`` or ``interrupted`` (the best answer so far). ``convex``
    is whether what was solved is convex. The objective (nats per individual) is at most ``entropy_upper_bound``, and
    ``duality_gap`` is how much the answer's is below that; both are infinite where nothing is proved. ``backends``
    counts the parts that each back end solved; ``active`` are the internal rows that were activated.
    """

    program: Program = field(repr=False)
    point: Point
    status: str
    convex: bool
    entropy_upper_bound: float
    duality_gap: float
    violation: float
    trouble: tuple[str, ...]
    iterations: int
    rounds: int
    parts: int
    active: IntArray
    backends: dict[str, int]
    stated: IntArray | None = None  # linear constraints that others do not imply, where they were found

    @cached_property
    def masses(self) -> FloatArray:
        """The answer, individuals, shape (n_cells, n_classes)."""
        return self.point.cells(self.program)

    @property
    def closed_form(self) -> bool:
        """Whether presolve answered everything, so that no back end was used."""
        return self.parts == self.backends.get(PRESOLVE, 0)

    @property
    def used(self) -> str:
        """The back ends that ``auto`` gave parts to, ``closed_form`` where there was nothing to give."""
        used = "+".join(name for name in self.backends if name != PRESOLVE)
        return "closed_form" if self.closed_form else used or "auto"


@dataclass(slots=True)
class _SolveRun:
    """State of the rounds of one solve; ``cache`` holds the masses of the cells of solved parts."""

    program: Program
    backend: Backend
    options: Options
    progress: Progress
    start: Point
    cache: dict[Key, tuple[FloatArray, PartAnswer]] = field(default_factory=dict)
    price: float | None = None  # of a member, the last one; and the answers of parts at their prices
    priced: dict[Key, tuple[float, PartAnswer]] = field(default_factory=dict)
    iterations: int = 0
    stopped: Stop | None = None
    meanwhile: Callable[[Outcome], object] = lambda outcome: None
    stated: IntArray | None = None

    @property
    def evaluator(self) -> Evaluator:
        return self.start.evaluator

    def note(self, answer: PartAnswer) -> None:
        """Count the iterations of an answer, and note whether the clock ended it."""
        self.iterations += answer.iterations
        self.stopped = self.stopped or answer.stopped


def solve_program(
    program: Program,
    backend: Backend,
    options: Options,
    progress: Progress = silent,
    meanwhile: Callable[[Outcome], object] = lambda outcome: None,
) -> Outcome:
    """The maximum-entropy point of a program, or the best one so far when the options' clock says to stop.

    Raises `OutOfTime` before it is known how much the uniform answer misses; ``meanwhile`` hears the outcome but for
    its gap.
    """
    whole = not options.presolve or isinstance(backend, WholeBackend)
    ready = given_up(options.clock, partial(prepare, program, options.clock, whole=whole), LAST)
    options.clock.check(LAST)
    evaluator = ready.uniform.evaluator
    scaled = program.scaling is not None and all(constraint.kind == "counts" for constraint in program.linear)
    if scaled and options.presolve and backend.name == "auto":
        return _scaled(program, options, progress)
    if options.presolve and backend.name == "auto" and not program.unfinished and program.likelihood is not None:
        found = _by_class(program, ready.uniform, options, progress)
        if found is not None:
            return found
    stopped = (options.clock.stop() or Stop.TIME_LIMIT) if program.unfinished else None
    run = _SolveRun(program, backend, options, progress, ready.uniform, stopped=stopped, meanwhile=meanwhile)
    uniform = ready.uniform
    if isinstance(backend, WholeBackend):
        return _solve_as_compiled(run, backend, uniform)
    if options.presolve and program.likelihood is None and ready.violation <= 1e-12:
        return _outcome(run, uniform, [], np.empty(0, np.int64), 0, np.inf)
    solve = _solve_lazily if options.presolve else _solve_whole
    try:
        first = partial(what_is_needed, uniform.program, evaluator)
        with one_thread():
            totals, keep = given_up(options.clock, first)
            run.stated = keep
            return solve(run, uniform, keep, totals)
    except OutOfTime as error:  # before any part was known
        run.stopped = error.why
        return _outcome(run, uniform, [unanswered(error.why)], np.empty(0, np.int64), 1, np.inf)


def _scaled(program: Program, options: Options, progress: Progress) -> Outcome:
    """The answer to a program that is solved by scaling."""
    from maxent.solvers.dual.matrix_scaling import NAME, scale

    found, evaluator = scale(program, options, progress), Evaluator(program)
    violation = evaluator.max_violation(found.masses)
    gap = found.gap / program.individuals
    solved = violation <= options.tolerance and gap <= PROVED
    stopped = options.clock.stop()
    consistent = not program.contradictions
    status = "optimal" if solved else "not_converged" if stopped is None else stopped.value
    if not consistent:
        status = "inconsistent"
    entropy = program.entropy(found.masses)
    by = {NAME: found.several, PRESOLVE: found.components - found.several}
    return Outcome(
        program=program,
        point=Point(evaluator, found.masses),
        status=status,
        convex=True,
        entropy_upper_bound=entropy + gap if consistent else np.inf,
        duality_gap=gap if solved and consistent else np.inf,
        violation=violation,
        trouble=("scaling ended early",) if status == "not_converged" else (),
        iterations=found.steps,
        rounds=1,
        parts=found.components,
        active=np.empty(0, np.int64),
        backends={name: number for name, number in by.items() if number},
    )


def _by_class(whole: Program, uniform: Point, options: Options, progress: Progress) -> Outcome | None:
    """The answer to a program with draws whose statements are each about one class; None where others are quicker."""
    from maxent.solvers.dual.by_class import MANY, by_class
    from maxent.solvers.dual.relaxation import most_likely

    program, evaluator = uniform.program, uniform.evaluator
    if whole.contradictions or len(program.cells) * program.n_classes <= MANY:
        return None
    clock = options.clock
    merged = given_up(clock, partial(merge, program, evaluator.internal, np.empty(0, np.int64), clock.check), LAST)
    problem = by_class(program, merged)
    if problem is None or problem.linear.weight.size <= MANY:
        return None
    progress("counts of all classes together", 0, 1)
    kept: list[MostLikely] = []
    with one_thread():
        found = in_time(clock, partial(most_likely, problem, clock, kept.append)) or (kept[-1] if kept else None)
    if found is None:
        return None
    grouped = np.empty_like(found.masses)
    grouped[np.argsort(merged.owner, kind="stable")] = found.masses
    masses = merged.expand(grouped, program.weight)
    violation, stopped = evaluator.max_violation(masses), clock.stop()
    if violation > options.tolerance and stopped is None:
        return None  # statements that contradict each other are for others to find
    if stopped is not None:
        masses = nearer(program, evaluator, masses, options.tolerance, lambda: clock.late() > LAST)
        violation = evaluator.max_violation(masses)
    gap = max(found.bound - problem.objective(found.masses), 0.0) / program.individuals
    ended = "optimal" if gap <= DOUBTED else "not_converged"
    return Outcome(
        program=whole,
        point=Point(evaluator, masses, uniform.merged),
        status=ended if stopped is None else stopped.value,
        convex=True,
        entropy_upper_bound=program.objective(masses) + gap,
        duality_gap=gap if violation <= options.tolerance else np.inf,
        violation=violation,
        trouble=(),
        iterations=found.iterations,
        rounds=1,
        parts=1,
        active=np.empty(0, np.int64),
        backends={"newton": 1},
    )


def _solve_as_compiled(run: _SolveRun, backend: WholeBackend, uniform: Point) -> Outcome:
    """The answer of a back end that takes the program as it is; nothing bounds its entropy."""
    program, options = run.program, run.options
    reason = backend.refuses_whole(program)
    answer, masses = PartAnswer(None, False, False, (), 0, np.inf, backend.name, None), uniform.masses
    if reason is not None:
        answer = replace(answer, trouble=(f"{backend.name} refuses: {reason}",))
    else:
        try:
            found = in_time(options.clock, lambda: backend.solve_whole(program, uniform.masses, options))
        except OutOfTime as error:
            found = Solution(None, error.why, np.inf, 0)
        early = options.clock.stop()
        if found is not None and found.point is not None:
            masses = found.point
        if found is None or early is not None:
            answer = replace(answer, stopped=early)
        elif found.stop is not Stop.CONVERGED or found.violation > options.tolerance:
            answer = replace(answer, trouble=(f"no optimum found ({backend.name}: {found.message})",))
        answer = replace(answer, convex=not program.internal, iterations=0 if found is None else found.iterations)
    run.note(answer)
    point = Point(run.evaluator, masses)
    return _outcome(run, point, [answer], np.arange(run.evaluator.internal.n_rows), 1, np.inf)


def _solve_whole(run: _SolveRun, uniform: Point, keep: IntArray, totals: tuple[Totals, ...]) -> Outcome:
    """The whole program in one piece, started from the answer without internal constraints."""
    program, rows = run.program, run.evaluator.internal
    none, active = np.empty(0, np.int64), np.arange(rows.n_rows)
    masses, answers = _solve_round(run, uniform, None, keep, none, totals)
    bound = _bound(run, masses, answers)
    if run.stopped is not None:
        return _outcome(run, masses, answers, none, 1, bound)
    merged = unmerged(program)
    likely = np.arange(0 if program.likelihood is None else len(program.likelihood))
    part = Part(np.arange(len(merged.owner)), keep, active, likely)
    lifting = partial(lift, program, merged, rows=rows, totals=totals, check=run.options.clock.check)
    run.progress("the whole program", 0, 1)
    try:
        task = Task(given_up(run.options.clock, partial(lifting, part)), masses.over(merged))
    except OutOfTime as error:
        run.stopped = error.why
        return _outcome(run, masses, answers, none, 1, bound)
    [attempt] = attempt_parts([task], run.backend, run.options, lambda done: None)
    loosely = partial(_loosely, run, lifting, merged, part)
    answer = answer_part(task, attempt, loosely, run.backend, run.options)
    run.note(answer)
    if answer.masses is not None:
        masses = Point.of(run, merged, answer.masses)
    return _bounded(run, masses, [answer], active, 1, bound)


def _solve_lazily(run: _SolveRun, uniform: Point, keep: IntArray, totals: tuple[Totals, ...]) -> Outcome:
    """Activate internal constraints as they are found violated, until none is."""
    active = np.empty(0, np.int64)
    masses, answers = _solve_round(run, uniform, None, keep, active, totals)
    first, bound, rounds = masses, _bound(run, masses, answers), 1
    while run.stopped is None:
        missed = np.flatnonzero(masses.missed > ACTIVATE * run.options.tolerance)
        new = np.setdiff1d(missed, active)
        if not len(new):
            break
        rounds += 1
        if rounds > MAX_ROUNDS:
            break
        more = np.union1d(active, new)
        try:
            # Small parts start from the answer without internal constraints: the last one lies at the boundary.
            masses, answers = _solve_round(run, first, masses, keep, more, totals)
        except OutOfTime as error:
            run.stopped = error.why
            break
        active = more
    return _bounded(run, masses, answers, active, rounds, bound)


def _bounded(
    run: _SolveRun, masses: Point, answers: list[PartAnswer], active: IntArray, rounds: int, bound: float
) -> Outcome:
    """`_outcome` with the gaps of the last answers, as far as there is time."""
    now = partial(_outcome, run, masses, active=active, rounds=rounds, bound=bound)
    if run.options.proved:
        answers = bounded_parts(answers, run.options, lambda: run.meanwhile(now(answers=answers)))
    return now(answers=answers)


def _solve_round(
    run: _SolveRun,
    first: Point,
    last: Point | None,
    keep: IntArray,
    active: IntArray,
    totals: tuple[Totals, ...],
) -> tuple[Point, list[PartAnswer]]:
    """The answer with some internal rows active, started from a ``first`` one; unchanged parts are not solved again."""
    # Parts that the clock leaves no time for keep the answer of the ``last`` round, or without one the uniform one.
    program, rows = run.program, run.evaluator.internal
    # Before there is any answer, the closed forms are worth a moment.
    check = partial(run.options.clock.check, SOON if last is None else 0.0)
    priced = _priced(run, first, last, keep, active, totals, check)
    if priced is not None:
        return priced
    found = given_up(run.options.clock, partial(split, program, rows, keep, active, check))
    merged, masses, pieces = found.merged, found.pooled, found.parts
    new = [i for i, key in enumerate(found.keys) if key not in run.cache]
    text, n_old = f"{len(pieces)} parts, {len(active)} internal constraints active", len(pieces) - len(new)

    def progress(done: int) -> None:
        run.progress(text, n_old + done, len(pieces))

    fresh = _solve_parts(run, merged, [pieces[i] for i in new], first, last, totals, check, progress)
    solved = dict(zip(new, fresh, strict=True))
    answers = []
    for i, (key, piece) in enumerate(zip(found.keys, pieces, strict=True)):
        if i in solved:
            held = solved[i].masses
            if held is None:
                held = masses[piece.groups] if last is None else last.over(merged)[piece.groups]
            run.cache[key] = held, solved[i]
        masses[piece.groups], answer = run.cache[key]
        answers.append(answer)
    return Point.of(run, merged, masses), answers


def _priced(
    run: _SolveRun,
    first: Point,
    last: Point | None,
    keep: IntArray,
    active: IntArray,
    totals: tuple[Totals, ...],
    check: Callable[[], None],
) -> tuple[Point, list[PartAnswer]] | None:
    """`_solve_round` of a register with a price in the place of the number of members; None where that is no help."""
    program, rows = run.program, run.evaluator.internal
    row = members_row(program, keep) if last is not None and run.backend.name in PRICED else None
    if row is None or convex_rows(program, totals)[rows.constraint_of(active)].all():
        return None
    apart = given_up(run.options.clock, partial(split, program, rows, keep[keep != row], active, check, bundling=False))
    merged, begin = apart.merged, first.over(apart.merged)
    leaves, tied = free_leaves(program, merged, apart.parts, begin)
    if leaves is None:
        return None
    pieces, keys, out = [apart.parts[i] for i in tied], [apart.keys[i] for i in tied], program.n_classes - 1
    groups = np.concatenate([piece.groups for piece in pieces])
    weight, masses = merged.of_group, np.where(_in_parts(apart)[:, None], begin, apart.pooled)
    answers: list[PartAnswer] = []

    def solve(price: float) -> tuple[float, float] | None:
        # A part that no round changed is not solved again, unless this round has looked for another price.
        some = [] if answers else list(run.priced.items())
        known = {key: answer for key, (at, answer) in some if abs(at - price) <= NEAR}
        new = [i for i, key in enumerate(keys) if key not in known]

        def progress(done: int) -> None:
            text = f"{len(pieces)} parts, {len(active)} internal constraints active"
            run.progress(text, len(pieces) - len(new) + done, len(pieces))

        changed = partial(at_price, price=price, out=out)
        found = _solve_parts(run, merged, [pieces[i] for i in new], first, last, totals, check, progress, changed)
        known |= {keys[i]: answer for i, answer in zip(new, found, strict=True)}
        run.price, answers[:] = price, [known[key] for key in keys]
        run.priced |= {keys[i]: (price, answer) for i, answer in zip(new, found, strict=True)}
        for piece, answer in zip(pieces, answers, strict=True):
            if answer.masses is not None:
                masses[piece.groups] = answer.masses
        if run.stopped is not None:
            return None
        inside = masses[groups, :-1].sum(axis=1)
        share = inside / weight[groups]
        return float(inside.sum()), float((weight[groups] * share * (1.0 - share)).sum())

    begin_at = leaves.price if run.price is None else run.price
    found = balanced(leaves, float(program.linear[row].lower[0]), begin_at, solve)
    if found is None and run.stopped is None:
        return None
    masses = leaves.changed(masses, leaves.price if found is None else found[0])
    trouble = () if found is None or found[1] else ("no price of a member was found at which parts have all members",)
    answers = [replace(answer, gap=np.inf, open=None, trouble=(*answer.trouble, *trouble)) for answer in answers]
    return Point.of(run, merged, masses), answers


def _in_parts(found: SplitProgram) -> BoolArray:
    """Mask of the groups of parts, shape (n_groups,)."""
    inside = np.zeros(len(found.pooled), bool)
    inside[np.concatenate([piece.groups for piece in found.parts])] = True
    return inside


def _solve_parts(
    run: _SolveRun,
    merged: Merged,
    pieces: list[Part],
    first: Point,
    last: Point | None,
    totals: tuple[Totals, ...],
    check: Callable[[], None],
    progress: Callable[[int], None],
    changed: Callable[[LiftedPart], LiftedPart] = lambda part: part,
) -> list[PartAnswer]:
    """The answers of parts, ``changed`` once they are lifted, each started from ``first`` masses, or near ``last``."""
    progress(0)
    if not pieces:
        return []

    def lifting(piece: Part, **how: bool) -> LiftedPart:
        rows = run.evaluator.internal
        return changed(lift(run.program, merged, piece, rows=rows, totals=totals, check=check, **how))

    begin, tasks = first.over(merged), dict[int, Task]()
    before = None if last is None or last is first else last.over(merged)

    def task(piece: Part) -> Task:
        some = piece.groups
        return Task(lifting(piece), begin[some], None if before is None else before[some])

    def lifted(numbers: Sequence[int]) -> list[Task]:
        new = given_up(run.options.clock, lambda: [task(pieces[i]) for i in numbers])
        tasks.update(zip(numbers, new, strict=True))
        return new

    try:
        large, small = large_and_small(pieces)
        rest = partial(lifted, small) if small else None
        found = attempt_parts(lifted(large), run.backend, run.options, progress, rest)
    except OutOfTime as error:
        run.stopped = error.why
        return [unanswered(error.why)] * len(pieces)
    attempts = dict(zip((*large, *small), found, strict=True))
    answers = [
        answer_part(tasks[i], attempts[i], partial(_loosely, run, lifting, merged, piece), run.backend, run.options)
        for i, piece in enumerate(pieces)
    ]
    for answer in answers:
        run.note(answer)
    return answers


def _loosely(run: _SolveRun, lifting: Callable[..., LiftedPart], merged: Merged, part: Part) -> LiftedPart:
    """The part again, with every statement about it free to give way."""
    everything = everything_about(run.program, merged, part)
    return given_up(run.options.clock, partial(lifting, everything, trusting=False))


def _bound(run: _SolveRun, masses: Point, answers: list[PartAnswer]) -> float:
    """Upper bound of the objective, nats per individual; closed forms are optimal."""
    return masses.program.objective(masses.masses) + sum(answer.gap for answer in answers) / run.program.individuals


def _outcome(
    run: _SolveRun, point: Point, answers: list[PartAnswer], active: IntArray, rounds: int, bound: float
) -> Outcome:
    """The outcome with status and gap; ``bound`` is the bound of the answer without internal constraints."""
    bound = min(bound, _bound(run, point, answers))
    program, evaluator, late = point.program, point.evaluator, lambda: run.options.clock.late() > LAST
    if run.stopped is not None:
        point = replace(point, masses=nearer(program, evaluator, point.masses, run.options.tolerance, late))
    violation = evaluator.max_violation(point.masses, point.missed)
    masses = np.maximum(point.masses, 0.0)
    entropy, point = program.objective(masses), replace(point, masses=masses)
    trouble = tuple(dict.fromkeys(text for answer in answers for text in answer.trouble))
    inconsistent = any(answer.inconsistent for answer in answers) or bool(run.program.contradictions)
    if run.stopped is not None:
        status = run.stopped.value
    elif trouble or rounds > MAX_ROUNDS:  # parts unsolved, or internal constraints still to be activated
        status = "inconsistent" if inconsistent else "not_converged"
    elif inconsistent or violation > run.options.tolerance:
        status = "inconsistent"  # everything was solved, and yet a statement without a free unknown is missed
    else:
        status = "optimal"
    feasible = not inconsistent and violation <= run.options.tolerance
    return Outcome(
        program=run.program,
        point=point,
        status=status,
        convex=all(answer.convex for answer in answers),
        entropy_upper_bound=bound,
        duality_gap=max(bound - entropy, 0.0) if feasible else np.inf,
        violation=violation,
        trouble=trouble,
        iterations=run.iterations,
        rounds=rounds,
        parts=len(answers),
        active=active,
        backends=dict(sorted(Counter(answer.by for answer in answers if answer.by).items())),
        stated=run.stated,
    )
