"""Optimality gap: an upper bound on the entropy that an answer lacks, convex or not."""

from __future__ import annotations

from functools import partial

import numpy as np

from maxent.constraints.lifting import LiftedProgram, eliminate
from maxent.models.arrays import FloatArray
from maxent.solvers.backend import FEW
from maxent.solvers.control import Clock
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.dual import bound
from maxent.solvers.dual.relaxation import relaxed_once

# Error of the optimum of a small relaxation, and of a larger one, nats per individual.
FINE, COARSE = 1e-7, 3e-5
# Error that will do, as a share of the gap.
SHARE = 0.1
# Gap with which no better bound is looked for, nats per individual.
NEAR = 5e-7
# What an answer that is proved without a bound lacks at most, nats per individual.
PROVED = 1e-8
# Where lines touch: on the way from an answer to the optimum without comparisons.
BETWEEN = (0.15, 0.5, 0.95)


def gap(
    program: LiftedProgram,
    point: FloatArray,
    clock: Clock,
    multipliers: FloatArray | None = None,
    without: FloatArray | None = None,
) -> float:
    """Most entropy that a feasible point can lack, nats times individuals; below 0 by rounding alone.

    It is infinite where nothing better is known; ``without``, the optimum without comparisons, need not be exact.
    """
    if program.convex:
        return bound.gap(program, point, clock, multipliers)
    from maxent.solvers.gap.divergence import lacking

    lacks = lacking(program, point, clock)
    if lacks <= PROVED * float(program.total.sum()):
        return lacks
    entropy = -Derivatives(program).objective(point)
    most = priced_bound(program, clock, entropy, point, without)
    if np.isinf(most) and program.convex_rows.any():
        most = bound.entropy_bound(program, point, clock)
    if most - entropy <= NEAR * float(program.total.sum()):
        return most - entropy
    from maxent.solvers.gap.branch_and_bound import lacking_in_boxes

    return min(most - entropy, lacking_in_boxes(program, point, clock))


def priced_bound(
    program: LiftedProgram,
    clock: Clock,
    enough: float = -np.inf,
    point: FloatArray | None = None,
    without: FloatArray | None = None,
) -> float:
    """An upper bound on ``-sum m ln(m / mass_weight)`` over the masses of every feasible point, nats.

    It may stop near ``enough``, known to be feasible; it is infinite without such a relaxation or time. It costs 0.3 of
    1.7 processor seconds (Adult's rates, 400 quasi-identifiers, 16 classes), and leaves a gap of 0.0010 nats by Gini
    and 0.0015 by entropy, where the other bounds leave 0.011.
    """
    # What a convex program does not need is loaded here.
    from maxent.solvers.gap.interior_point import BOLD, CAREFUL, solve
    from maxent.solvers.gap.lagrangian import between, priced

    if program.likely:
        return np.inf
    from maxent.solvers.gap.certificate import alike_as_one, equations_alone, proved

    small = program.n <= FEW
    if small:
        elimination = relaxed_once(program).elimination
    else:
        program = equations_alone(program)
        elimination, _ = eliminate(program, program.lower >= program.upper)
    program, times, sums = alike_as_one(program, elimination)
    answer, free = (None if of is None else sums @ of for of in (point, without))
    most, touched = np.inf, between(program, answer, BETWEEN, clock, free)
    if touched is None or clock.stop() is not None:
        return most
    problem = priced(program, times, touched)
    error = (FINE if small else COARSE) * max(1.0, float(problem.relaxed.linear.total.sum()))
    prove = partial(proved, problem, clock)
    for inside in (BOLD, CAREFUL):
        wanted = enough - problem.relaxed.constant
        found = solve(problem.problem, problem.start, error, clock, SHARE, wanted, inside, prove)
        most = float(np.fmin(most, (found.proof or prove(found)).most))
        if found.close or most - enough <= error:
            break
    return most
