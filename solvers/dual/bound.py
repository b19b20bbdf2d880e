"""Upper bound on the entropy of a program by weak duality: the value of an answer is proved from the program.

The program is relaxed until its maximum has a closed dual (`maxent.solvers.dual.newton`), whose value at any
multipliers
bounds it. The relaxation keeps the totals, the linear rows and the bounds of the masses. Of a convex row ``c(z) >= 0``
it has tangents: c is concave, so that every point z that satisfies the row satisfies, for any z0,

    c(z0) + c'(z0) (z - z0) >= 0.

Rows that are not convex are left out. With z0 the optimum of a convex program the relaxation has the same optimum, and
the bound meets the entropy. Off by d, it misses it by the order of d squared; then the rows that the maximum of the
relaxation violates get another tangent there, and so on, which closes the gap from any point (Kelley, "The
cutting-plane method for solving convex programs", J. SIAM 8, 1960): it solves the program.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from maxent.constraints.lifting import LiftedProgram
from maxent.models.arrays import FloatArray
from maxent.solvers.control import Clock, keep
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.dual.linear_entropy import LinearEntropy
from maxent.solvers.dual.newton import minimise, multipliers_at
from maxent.solvers.dual.relaxation import Relaxation, likely, most_likely, relax

# How often violated rows get further tangents, at most.
ROUNDS = 20
# Newton steps, at most: with tangents, and without, after which masses have to vanish.
STEPS, ENOUGH = 200, 60
# Violation (impurity units), residual and decrease of the bound (nats), all per individual, that count as none.
CLOSED = 1e-13
# Residual, individuals, with which very many counts that overlap are met.
MET = 5e-9
# Share of its owner's total that a mass has at least where tangents are taken.
FLOOR = 1e-10
# Slack, as a share of the row's size, up to which a point is taken to be at a row.
TIGHT = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class RelaxedOptimum:
    """An upper bound of a program's entropy (nats times individuals), and the point where the relaxation attains it.

    ``point``, shape (n,), satisfies the linear rows and, unless the rounds ran out, the convex ones, up to rounding and
    `CLOSED`; where it satisfies all rows it is the optimum of the program. Aggregates that no row defines are NaN.
    ``multipliers`` of the relaxation's linear rows give the bound where there are no other rows, else they are None.
    ``iterations`` are Newton steps. ``contradiction`` is whether the bound is below the entropy of any masses at all:
    then there are none that satisfy the linear rows.
    """

    bound: float
    point: FloatArray
    multipliers: FloatArray | None
    iterations: int
    contradiction: bool = False


def relaxed_optimum(program: LiftedProgram, point: FloatArray, clock: Clock) -> RelaxedOptimum:
    """The maximum of the entropy under a program's linear and convex rows; the parameters are `entropy_bound`'s."""
    relaxed = relax(program)
    if program.likely:
        return _likely_optimum(program, relaxed, clock)
    linear, convex = relaxed.linear, relaxed.convex
    if linear.overlapping and not convex.n_rows:
        return _on_face(relaxed, clock)[0]
    masses = _inside(linear, point[relaxed.elimination.free])
    problem = _append(linear, *convex.cuts(masses, np.arange(convex.n_rows)))
    start = _start(problem, masses, clock)
    steps, n_linear, best, worth = 0, len(linear.lower), np.inf, CLOSED * max(1.0, float(linear.total.sum()))
    for _ in range(ROUNDS):
        found = minimise(problem, start, min(worth, MET), STEPS if convex.n_rows else ENOUGH, clock)
        steps += found.iterations
        before, best = best, min(best, found.bound + problem.rounding(found.multipliers))
        violated = np.flatnonzero(convex.values(found.masses) < -CLOSED * convex.size)
        if not len(violated) or before - best < worth or clock.stop() is not None:
            break
        # A tangent without a multiplier does not hold the bound down: without it, the next one is no larger.
        kept = np.flatnonzero((np.arange(len(problem.lower)) < n_linear) | (found.multipliers != 0))
        held = replace(problem, matrix=problem.matrix[kept], lower=problem.lower[kept], upper=problem.upper[kept])
        problem = _append(held, *convex.cuts(_inside(linear, found.masses), violated))
        start = np.concatenate([found.multipliers[kept], np.zeros(len(violated))])
    if not convex.n_rows and found.residual > worth and found.bound >= linear.least - 1.0 and clock.stop() is None:
        optimum, residual = _on_face(relaxed, clock)
        if residual <= max(MET, worth):
            return optimum
    point = relaxed.elimination.point(found.masses)
    multipliers = None if convex.n_rows else found.multipliers
    contradiction = not convex.n_rows and best < linear.least - 1.0
    return RelaxedOptimum(best + relaxed.constant, point, multipliers, steps, contradiction)


def _on_face(relaxed: Relaxation, clock: Clock) -> tuple[RelaxedOptimum, float]:
    """The optimum of a program of linear rows by way of its face, and by how many individuals it misses them."""
    from maxent.solvers.dual.overlapping import minimise_overlapping, missed_by

    problem = relaxed.linear

    def kept(y: FloatArray, masses: FloatArray) -> None:
        keep(relaxed.elimination.point(masses), y, float(missed_by(problem, masses).max(initial=0.0)))

    found = minimise_overlapping(problem, max(MET, CLOSED * float(problem.total.sum())), clock, kept)
    bound = found.bound + problem.rounding(found.multipliers)
    point = relaxed.elimination.point(found.masses)
    contradiction = bound < problem.least - 1.0
    optimum = RelaxedOptimum(bound + relaxed.constant, point, found.multipliers, found.iterations, contradiction)
    return optimum, found.residual


def _likely_optimum(program: LiftedProgram, relaxed: Relaxation, clock: Clock) -> RelaxedOptimum:
    """The optimum of a program with draws; it has no other rows that are not linear."""
    problem, constant = likely(program, relaxed)
    found = most_likely(problem, clock)
    point = relaxed.elimination.point(found.masses)
    return RelaxedOptimum(found.bound + relaxed.constant + constant, point, found.multipliers, found.iterations)


def entropy_bound(
    program: LiftedProgram, point: FloatArray, clock: Clock, multipliers: FloatArray | None = None
) -> float:
    """An upper bound on ``-sum m ln(m / mass_weight)`` over the masses of every feasible point, with room for rounding.

    It is valid whatever the ``point`` where tangents are taken first, and tight where that is optimal; ``multipliers``
    are of a relaxation without other rows.
    """
    if multipliers is not None:
        relaxed = relax(program)
        if program.likely:
            problem, constant = likely(program, relaxed)
            if multipliers.shape == problem.draws.shape:
                return problem.value(multipliers) + problem.rounding(multipliers) + relaxed.constant + constant
        elif not relaxed.convex.n_rows and multipliers.shape == relaxed.linear.lower.shape:
            found = relaxed.linear.value(multipliers) + relaxed.linear.rounding(multipliers) + relaxed.constant
            if np.isfinite(found):
                return float(found)
    return relaxed_optimum(program, point, clock).bound


def gap(program: LiftedProgram, point: FloatArray, clock: Clock, multipliers: FloatArray | None = None) -> float:
    """Most entropy that a point can lack, nats times individuals: the bound less its entropy.

    It is negative, but for rounding, only where the point is not feasible.
    """
    return entropy_bound(program, point, clock, multipliers) + Derivatives(program).objective(point)


def _inside(linear: LinearEntropy, masses: FloatArray) -> FloatArray:
    """Positive masses with the owners' totals near any numbers at all, shape (n,)."""
    total = linear.total[linear.owner]
    positive = np.clip(np.nan_to_num(masses, nan=0.0), FLOOR * total, total) + FLOOR**2
    sums = np.bincount(linear.owner, positive, len(linear.total))[linear.owner]
    near: FloatArray = np.maximum(positive * total / sums, FLOOR**2)
    return near


def _append(problem: LinearEntropy, matrix: sparse.csr_matrix, lower: FloatArray) -> LinearEntropy:
    """A problem with further rows ``matrix m >= lower``."""
    return replace(
        problem,
        matrix=sparse.csr_matrix(sparse.vstack([problem.matrix, matrix])),
        lower=np.concatenate([problem.lower, lower]),
        upper=np.concatenate([problem.upper, np.full(len(lower), np.inf)]),
    )


def _start(problem: LinearEntropy, masses: FloatArray, clock: Clock) -> FloatArray:
    """The better of no multipliers and those that suit some masses, shape (n_rows,).

    Rows with weights about everybody are priced for masses that meet all rows alone, lest Newton's steps be short.
    """
    activity, size = problem.matrix @ masses, abs(problem.matrix) @ masses
    slack, none = np.minimum(activity - problem.lower, problem.upper - activity), np.zeros(len(activity))
    if problem.heavy.any() and (slack < -TIGHT * size).any():
        return none
    fitted = multipliers_at(problem, masses, slack <= TIGHT * size, clock)
    return fitted if problem.value(fitted) + problem.rounding(fitted) < problem.value(none) else none
