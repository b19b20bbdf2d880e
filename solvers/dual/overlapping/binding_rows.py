"""Active set for very many intervals: only the few rows that bind take part in Newton's system.

Draws of a hundred trees bound tens of thousands of sums, of which some hundreds hold the entropy down. A row without a
multiplier changes neither the dual function nor the masses, so that the dual of a few rows is that of all of them, with
multipliers of 0 for the others. Its minimum is found, the rows that its masses miss most are added, those whose
multipliers became 0 are left out, and so on until none is missed: the active-set method of convex programs (Nocedal &
Wright, "Numerical Optimization", 2006, section 16.5) on the dual, which decreases from each round to the next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy import sparse

from maxent.models.arrays import FloatArray, IntArray
from maxent.solvers.clock import Clock
from maxent.solvers.dual.linear_entropy import LinearEntropy
from maxent.solvers.dual.newton import DualPoint, minimise

# Rows that are added at first; later at most as many as there are with a multiplier, if these are more.
FIRST = 50
# Rounds, and Newton steps in each, at most.
ROUNDS, STEPS = 100, 60
# Share of what rows were missed by before a round that its rows may be missed by afterwards.
NEARER = 0.01
# Individuals that the standard deviation of a sum counts as at least, where rows are compared by what they miss.
SPREAD = 1e-3


def minimise_binding(
    problem: LinearEntropy, tolerance: float, clock: Clock, keep: Callable[[FloatArray, FloatArray], None]
) -> DualPoint:
    """`maxent.solvers.dual.newton.minimise` for a problem with very many rows, few of which bind.

    It ends early where a round does not improve anything; ``keep`` is given multipliers and masses after each.
    """
    n_rows = len(problem.lower)
    y, steps = np.zeros(n_rows), 0
    value, masses, residual = problem.value(y), problem.masses(y), 0.0
    for _ in range(ROUNDS):
        missed = missed_by(problem, masses)
        worst = max(residual, float(missed.max(initial=0.0)))
        if worst <= tolerance or clock.stop() is not None:
            break
        rows = _chosen(problem, y, masses, np.where(missed > tolerance, missed, 0.0))
        some = replace(
            problem,
            matrix=sparse.csr_matrix(problem.matrix[rows]),
            lower=problem.lower[rows],
            upper=problem.upper[rows],
        )
        found = minimise(some, y[rows], max(tolerance, NEARER * worst), STEPS, clock)
        if not found.iterations:
            break
        y = np.zeros(n_rows)
        y[rows] = found.multipliers
        value, masses, residual = found.bound, found.masses, found.residual
        steps += found.iterations
        keep(y, masses)
    residual = max(residual, float(missed_by(problem, masses).max(initial=0.0)))
    return DualPoint(y, masses, value, residual, steps, np.zeros(n_rows))


def missed_by(problem: LinearEntropy, masses: FloatArray) -> FloatArray:
    """By how many individuals masses miss each row, negative where they meet it with slack; shape (n_rows,)."""
    activity = problem.matrix @ masses
    missed: FloatArray = np.maximum(activity - problem.upper, problem.lower - activity)
    return missed


def _chosen(problem: LinearEntropy, y: FloatArray, masses: FloatArray, missed: FloatArray) -> IntArray:
    """The rows with a multiplier and the most missed of the others, by what their sums are uncertain; increasing."""
    held = np.flatnonzero(y)
    spread = np.sqrt(problem.squared @ problem.variance(masses))
    priority = missed / np.maximum(spread, SPREAD)
    priority[held] = 0.0
    most = max(FIRST, len(held))
    worst = np.argsort(-priority, kind="stable")[:most]
    return np.union1d(held, worst[priority[worst] > 0])
