"""Maximum entropy with very many overlapping counts, such as the counts of several trees.

Statements about whole numbers leave many masses no choice but 0, which the dual only approaches: their multipliers are
infinite. So the face of the feasible masses is found first, from equations that are independent
(`independent_sums.py`), and proved (`face.py`). Over it the dual has a minimum, which Newton's method finds in a few
steps from where proportional fitting gets (`proportional_fitting.py`). Intervals mostly leave every mass room: these
are solved without their face where that can be, on the few that bind (`binding_rows.py`). Weighted sums that are known
up to rounding are narrow intervals, nearly all of which bind: their kinks are smoothed (`smoothed_kinks.py`).

Where no face is found, or one with doubts, Newton's method takes the whole problem to where it shows which masses
vanish: each step divides them by e, whatever it does to others. The problem without them is solved in its place.
Whether they had to be left out is not trusted: the bound is that of the whole problem, and says what the answer is
worth. Where it is too far off, the whole problem is taken further, and masses are left out anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.solvers.clock import Clock, foretell
from maxent.solvers.dual.linear_entropy import LinearEntropy
from maxent.solvers.dual.newton import HARDEST, DualPoint, minimise
from maxent.solvers.dual.overlapping.binding_rows import minimise_binding, missed_by
from maxent.solvers.dual.overlapping.face import find_face
from maxent.solvers.dual.overlapping.independent_sums import independent_rows
from maxent.solvers.dual.overlapping.proportional_fitting import fitted
from maxent.solvers.dual.overlapping.smoothed_kinks import can_be_smoothed, minimise_smoothed

# Rounds of proportional fitting: before the face is known, over it, and where an answer without the face is likely.
SWEEPS, FACE_SWEEPS, FEW_SWEEPS = 30, 20, 3
# How many times as long as these first rounds it all takes: 10 to 20 on the larger forests of benchmarks/README.md.
PER_FITTING = 15.0
# That of the first Newton step, see `maxent.solvers.dual.newton.minimise`.
SOFTNESS = 1e-5
# Newton steps, at most: on the whole problem to where masses are seen to vanish, and on what is left of it between two
# looks at whether more do.
STEPS, REDUCED_STEPS = 60, 4
# How often, at most, the whole problem and what is left of it are taken further.
ROUNDS, REDUCTIONS = 8, 12
# Gap, nats per individual, with which an answer is left as it is.
CLOSE = 9e-7
# Residual of the whole problem, individuals, from which on steps tell which masses vanish; and how much less it is to
# be where the gap is not closed.
NEAR, NEARER = 0.01, 0.1
# Masses of less than ``SMALL`` individuals whose logarithms a Newton step would change by less than ``VANISHES`` are on
# their way to 0: it changes those of masses that have to be 0 by -1, whatever they are. So are those of less than
# ``NOTHING`` times the residual, about which the step knows little.
VANISHES, SMALL, NOTHING = -0.5, 0.03, 1e-4
# Share of rows with two different sides from which on a problem is solved without its face, if it can be.
MOSTLY = 0.5
# Individuals by which an answer may miss the limit of a single mass.
BROKEN = 1e-7
# Share of its owner's total that stands for a mass that vanishes: who is ruled out by mistake is not ruled out.
TRACE = 1e-13
Keep = Callable[[FloatArray, FloatArray], None]


@dataclass(frozen=True, slots=True, eq=False)
class OverlappingAnswer:
    """A bound and an answer that need not belong together: the answer may be of the problem without vanishing masses.

    ``bound`` (nats) is the dual function at ``multipliers``, shape (n_rows,). ``masses``, shape (n,), miss the rows by
    at most ``residual``; both are individuals. ``iterations`` are Newton steps.
    """

    multipliers: FloatArray
    bound: float
    masses: FloatArray
    residual: float
    iterations: int


def minimise_overlapping(
    problem: LinearEntropy, tolerance: float, clock: Clock, keep: Keep = lambda y, masses: None
) -> OverlappingAnswer:
    """`maxent.solvers.dual.newton.minimise` for a problem with many rows that overlap, or whose masses have to vanish.

    Limits of single masses, which mostly follow from sums, wait until an answer breaks them. ``keep`` is given
    multipliers and masses on the way, nearer ones and others.
    """
    single = np.diff(problem.matrix.indptr) == 1
    single &= problem.lower < problem.upper
    rows = np.flatnonzero(~single)
    several, start = _of_rows(problem, rows), np.zeros(len(rows))
    smooth = can_be_smoothed(several)
    if not smooth and float(np.mean(several.lower < several.upper)) > MOSTLY:  # intervals mostly leave masses room
        answer = _minimise_intervals(problem, _fitted(several, FEW_SWEEPS, clock, start), rows, tolerance, clock, keep)
        closed = answer.residual <= tolerance and answer.bound - problem.entropy(answer.masses) <= _enough(problem)
        if closed or clock.stop() is not None:
            return answer
        start = answer.multipliers[rows]
    begin = time.perf_counter()
    start = _fitted(several, SWEEPS, clock, start)
    if problem.plain:
        what = f"{len(problem.owner):,} unknowns in {len(rows):,} sums that overlap"
        foretell(PER_FITTING * (time.perf_counter() - begin), what, "fewer trees take less", clock)
    y = np.zeros(len(single))
    y[rows] = start
    keep(y, problem.masses(y))
    told = independent_rows(several, clock)
    if told is not None:
        rows, start = rows[told.rows], told.multipliers(several, start)[told.rows]
        several = _of_rows(problem, rows)
    face = find_face(several, clock, None if told is None else several.masses(start))
    if face is None:
        return _minimise_rows(problem, rows, start, tolerance, clock, ROUNDS)
    face = face.among(rows, len(single))
    left = face.of(problem)
    start = _fitted(_of_rows(left, rows), FACE_SWEEPS, clock, start)
    found = _minimise_rows(left, rows, start, tolerance, clock, ROUNDS, proved=face.complete)
    y = face.lifted(problem, found.multipliers)
    masses = np.zeros(len(problem.owner))
    masses[face.alive] = found.masses
    return replace(found, multipliers=y, bound=problem.value(y), masses=masses)


def _minimise_intervals(
    problem: LinearEntropy, start: FloatArray, rows: IntArray, tolerance: float, clock: Clock, keep: Keep
) -> OverlappingAnswer:
    """The answer of the rows that bind; one cut short is no further off than ``start``, fitted multipliers of rows."""
    y = np.zeros(len(problem.lower))
    y[rows] = start
    first = problem.masses(y)
    least = float(missed_by(problem, first).max(initial=0.0))
    keep(y, first)
    found = minimise_binding(problem, tolerance, clock, keep)
    masses, residual = (first, least) if least < found.residual else (found.masses, found.residual)
    return OverlappingAnswer(found.multipliers, found.bound, masses, residual, found.iterations)


def _fitted(problem: LinearEntropy, sweeps: int, clock: Clock, start: FloatArray) -> FloatArray:
    """Multipliers after some rounds of proportional fitting, where rows are sums; else those they start from."""
    return fitted(problem, sweeps, clock, start) if problem.plain else start


def _minimise_rows(
    problem: LinearEntropy,
    rows: IntArray,
    start: FloatArray,
    tolerance: float,
    clock: Clock,
    rounds: int,
    *,
    proved: bool = False,
) -> OverlappingAnswer:
    """The same with some rows at first, whose multipliers start from some, and further ones as answers break them."""
    y, first, iterations = np.zeros(len(problem.lower)), np.zeros(len(problem.lower)), 0
    first[rows] = start
    while True:
        found = _minimise(_of_rows(problem, rows), start, tolerance, clock, rounds, proved=proved)
        y[rows] = found.multipliers
        iterations += found.iterations
        missed = missed_by(problem, found.masses)
        broken = missed > BROKEN
        broken[rows] = False
        if not broken.any() or clock.stop() is not None:
            break
        rows = np.union1d(rows, np.flatnonzero(broken))
        start = y[rows]
    found = replace(found, multipliers=y, iterations=iterations)
    worst = float(missed.max(initial=0.0))
    if clock.stop() is not None and found.residual > tolerance:  # a step on the way may miss rows by more than fitting
        masses = problem.masses(first)
        fitted_worst = float(missed_by(problem, masses).max(initial=0.0))
        if fitted_worst < worst:
            return replace(found, masses=masses, residual=fitted_worst)
    return replace(found, residual=max(found.residual, worst) if broken.any() else found.residual)


def _minimise(
    problem: LinearEntropy, start: FloatArray, tolerance: float, clock: Clock, rounds: int, *, proved: bool
) -> OverlappingAnswer:
    """The same for rows that are all of them taken into account; ``proved`` is whether no mass has to vanish."""
    if can_be_smoothed(problem):
        found = minimise_smoothed(problem, start, tolerance, _enough(problem), clock)
        if _gap(problem, found, found, tolerance) <= _enough(problem) or clock.stop() is not None:
            return OverlappingAnswer(found.multipliers, found.bound, found.masses, found.residual, found.iterations)
        start = found.multipliers
    enough, near = _enough(problem), tolerance if proved else NEAR
    whole = minimise(problem, start, max(tolerance, near), STEPS, clock, SOFTNESS, longer=not proved)
    best = _without_vanishing(problem, whole, tolerance, clock)
    iterations = whole.iterations + best.iterations
    for _ in range(rounds):
        closed = _gap(problem, whole, best, tolerance) <= enough
        if closed or whole.bound < problem.least - 1.0 or clock.stop() is not None:
            break
        near *= NEARER
        whole = minimise(problem, whole.multipliers, max(tolerance, near), STEPS, clock, HARDEST, longer=True)
        iterations += whole.iterations
        if _gap(problem, whole, best, tolerance) > enough:
            found = _without_vanishing(problem, whole, tolerance, clock)
            iterations += found.iterations
            best = found if found.residual <= max(best.residual, tolerance) else best
    return OverlappingAnswer(whole.multipliers, whole.bound, best.masses, best.residual, iterations)


def _enough(problem: LinearEntropy) -> float:
    """The gap with which an answer is left as it is, nats."""
    return CLOSE * float(problem.total.sum())


def _gap(problem: LinearEntropy, whole: DualPoint, answer: DualPoint, tolerance: float) -> float:
    """Bound less the entropy of an answer, nats; infinite where the answer misses rows."""
    return whole.bound - problem.entropy(answer.masses) if answer.residual <= tolerance else np.inf


def _without_vanishing(problem: LinearEntropy, start: DualPoint, tolerance: float, clock: Clock) -> DualPoint:
    """The minimum of a problem without the masses that are found to vanish; with a trace in their place."""
    left, now, alive, iterations = problem, start, np.arange(len(problem.owner)), 0
    for _ in range(REDUCTIONS):
        if now.residual <= tolerance or clock.stop() is not None:
            break
        stays = ~_vanishing(left, now)
        alive, left = alive[stays], _of_masses(left, stays)
        now = minimise(left, now.multipliers, tolerance, REDUCED_STEPS, clock, HARDEST)
        iterations += now.iterations
    masses = TRACE * problem.total[problem.owner]
    masses[alive] = np.maximum(now.masses, masses[alive])
    return replace(now, masses=problem.restored(masses), iterations=iterations)


def _vanishing(problem: LinearEntropy, now: DualPoint) -> BoolArray:
    """Mask of the masses that tend to 0; each owner keeps its largest."""
    change = problem.centred(problem.matrix.T @ now.step, now.masses)
    vanishing: BoolArray = ((change < VANISHES) & (now.masses < SMALL)) | (now.masses < NOTHING * now.residual)
    return vanishing & (now.masses < problem.largest(now.masses)[problem.owner])


def _of_masses(problem: LinearEntropy, stays: BoolArray) -> LinearEntropy:
    """The problem with some of its masses alone."""
    matrix = sparse.csr_matrix(problem.matrix[:, stays])
    return replace(problem, owner=problem.owner[stays], weight=problem.weight[stays], matrix=matrix)


def _of_rows(problem: LinearEntropy, rows: IntArray) -> LinearEntropy:
    """The problem with some of its rows alone."""
    matrix = sparse.csr_matrix(problem.matrix[rows])
    return replace(problem, matrix=matrix, lower=problem.lower[rows], upper=problem.upper[rows])
