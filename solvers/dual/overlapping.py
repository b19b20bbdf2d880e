"""Maximum entropy under very many counts that overlap, as those of several trees do.

Their Newton system is too full to be factored, and statements about integers leave many masses no choice but 0, which
the dual only approaches. So three things are combined: proportional fitting finds the region
(`maxent.solvers.dual.proportional_fitting`), Newton's method with conjugate gradients the bound
(`maxent.solvers.dual.newton`), and masses that
its steps would take to 0 are left out of a copy of the problem, which then has a minimum that is quickly found. Whether
they had to be left out is not trusted: the bound is that of the whole problem, and says what the answer is worth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from maxent.models.arrays import INVERTIBLE, TINY, BoolArray, FloatArray
from maxent.solvers.clock import Clock
from maxent.solvers.dual.conjugate_gradients import solve_by_conjugate_gradients
from maxent.solvers.dual.linear_entropy import LinearEntropy
from maxent.solvers.dual.newton import DualPoint, minimise
from maxent.solvers.dual.proportional_fitting import fitted

SWEEPS = 100
"""Rounds of proportional fitting."""

STEPS, REDUCED_STEPS = 8, 6
"""Newton steps on the whole problem between two looks at what vanishes, and on what is left of it."""

ROUNDS, REDUCTIONS = 8, 12
"""How often, at most, the whole problem and what is left of it are taken further."""

CLOSE = 9e-7
"""Gap, nats per individual, with which an answer is left as it is."""

NEAR = 0.02
"""Residual, individuals, from which on steps tell which masses vanish."""

VANISHES, SMALL = -0.5, 0.03
"""Masses of less than ``SMALL`` individuals whose logarithms a Newton step would change by less than ``VANISHES`` are
on their way to 0: it changes those of masses that have to be 0 by -1, whatever they are."""

TRACE = 1e-13
"""Share of its owner's total that stands for a mass that vanishes: who is ruled out by mistake is not ruled out."""


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


def minimise_overlapping(problem: LinearEntropy, tolerance: float, clock: Clock) -> OverlappingAnswer:
    """`maxent.solvers.dual.newton.minimise` for a problem with many rows, all of whose coefficients are 1."""
    y, iterations = fitted(problem, SWEEPS, clock), 0
    answer: DualPoint | None = None
    enough = CLOSE * float(problem.total.sum())
    for _ in range(ROUNDS):
        whole = minimise(problem, y, tolerance, STEPS, clock)
        y, iterations = whole.multipliers, iterations + whole.iterations
        if whole.residual <= tolerance:
            answer = whole
        elif whole.residual <= NEAR and (answer is None or answer.residual > tolerance):
            answer = _without_vanishing(problem, whole, tolerance, clock)
            iterations += answer.iterations
        gap = np.inf
        if answer is not None and answer.residual <= tolerance:
            gap = whole.bound - _entropy(problem, answer.masses)
        if gap <= enough or whole.bound < problem.least - 1.0 or clock.stop() is not None:
            break
    best = answer or whole
    return OverlappingAnswer(y, whole.bound, best.masses, best.residual, iterations)


def _entropy(problem: LinearEntropy, masses: FloatArray) -> float:
    return -float((masses * np.log(np.maximum(masses, TINY) / problem.weight)).sum())


def _without_vanishing(problem: LinearEntropy, start: DualPoint, tolerance: float, clock: Clock) -> DualPoint:
    """The minimum of a problem without the masses that are found to vanish; with a trace in their place."""
    left, now, alive, iterations = problem, start, np.arange(len(problem.owner)), 0
    for _ in range(REDUCTIONS):
        stays = ~_vanishing(left, now, clock)
        alive, left = alive[stays], _of_masses(left, stays)
        now = minimise(left, now.multipliers, tolerance, REDUCED_STEPS, clock)
        iterations += now.iterations
        if now.residual <= tolerance or clock.stop() is not None:
            break
    masses = TRACE * problem.total[problem.owner]
    masses[alive] = np.maximum(now.masses, masses[alive])
    return replace(now, masses=problem.restored(masses), iterations=iterations)


def _of_masses(problem: LinearEntropy, stays: BoolArray) -> LinearEntropy:
    """The problem with some of its masses alone."""
    matrix = sparse.csr_matrix(problem.matrix[:, stays])
    return replace(problem, owner=problem.owner[stays], weight=problem.weight[stays], matrix=matrix)


def _vanishing(problem: LinearEntropy, now: DualPoint, clock: Clock) -> BoolArray:
    """Which masses are on their way to 0."""
    activity = problem.matrix @ now.masses
    side = np.where(now.multipliers > 0, problem.lower, np.where(now.multipliers < 0, problem.upper, activity))
    wanted = np.clip(side, problem.lower, problem.upper) - activity
    rows = np.flatnonzero(((now.multipliers != 0) | (wanted != 0)) & ~problem.empty)
    size = np.maximum((problem.squared @ now.masses)[rows], INVERTIBLE)
    step = np.zeros(len(activity))
    step[rows] = solve_by_conjugate_gradients(problem, now.masses, rows, size, wanted[rows], clock)
    change = problem.centred(problem.matrix.T @ step, now.masses)
    return np.asarray((change < VANISHES) & (now.masses < SMALL))
