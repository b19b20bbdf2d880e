"""Makes an approximate answer exact: Newton's method on the optimality conditions for a guess of the active rows.

Conic and first-order solvers stop at a relative accuracy that is too coarse for statements about thousands of
individuals. What they do tell is which inequalities hold with equality; given these, the conditions are equations
(Nocedal & Wright, "Numerical Optimization", 2006, chapter 18), and a few steps solve them to machine precision.
"""

from __future__ import annotations

import numpy as np

from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.models.arrays import FloatArray
from maxent.solvers.clock import SOON, Clock
from maxent.solvers.conic.kkt import Active, OptimalityConditions

# How often the guess of what is active may be corrected.
ROUNDS = 12
# Newton steps for one such guess.
STEPS = 20
# Steps shorter than this (individuals, and as a share of larger variables) have all but settled.
STILL = 1e-9


def polish(
    program: LiftedProgram, point: FloatArray, active: Active, tolerance: float, clock: Clock
) -> FloatArray | None:
    """The point near an approximate answer that meets the optimality conditions, None when none is found in time.

    Rows and bounds found violated join what is active, those whose multiplier has the wrong sign leave it. Every row of
    the answer, shape (n,), is met within ``tolerance`` (individuals, impurity units).
    """
    conditions = OptimalityConditions(program)
    z = point
    now = Active(active.multipliers, active.side.copy(), np.where(conditions.vanishing(point), -1, active.bound))
    for _ in range(ROUNDS):
        settled = _settle(conditions, z, now, clock)
        if settled is None:
            return None
        z, y = settled
        now = Active(y, now.side, now.bound)
        if not conditions.correct(z, now.multipliers, now.side, now.bound, tolerance):
            return z if conditions.own.violation(z) <= tolerance else None
    return None


def restore(program: LiftedProgram, point: FloatArray, tolerance: float, clock: Clock) -> FloatArray:
    """The point moved towards the constraints, each variable by little in relation to its size."""
    conditions = OptimalityConditions(program)
    z = np.clip(point, program.lower, program.upper)
    best, least = z, conditions.own.violation(z)
    side, bound = np.where(conditions.equations, -1, 0), np.zeros(program.n, np.int64)
    for _ in range(ROUNDS):
        if least <= 0.01 * tolerance or clock.late() > SOON:
            break
        z = conditions.inside(z)
        conditions.add_violated(z, side, bound, 0.0)
        step = conditions.step(z, None, side, bound)
        if step is None:
            break
        z = np.clip(z + conditions.reach(z, step[0]) * step[0], program.lower, program.upper)
        violation = conditions.own.violation(z)
        if violation < least:
            best, least = z, violation
    return best


def _settle(
    conditions: OptimalityConditions, z: FloatArray, active: Active, clock: Clock
) -> tuple[FloatArray, FloatArray] | None:
    """The point and multipliers for a fixed active set, None if Newton's method does not converge."""
    program, side, bound = conditions.program, active.side, active.bound
    z = np.where(bound < 0, conditions.inside(program.lower), np.where(bound > 0, program.upper, conditions.inside(z)))
    y = np.where(side == 0, 0.0, active.multipliers)
    settled = False
    for _ in range(STEPS):
        step = None if clock.stop() is not None else conditions.step(z, y, side, bound)
        if step is None:
            return None
        reach = conditions.reach(z, step[0])
        z, y = z + reach * step[0], y + reach * step[1]
        if settled:
            return z, y
        settled = bool((np.abs(step[0]) <= STILL * (1.0 + np.abs(z))).all())
    return None
