"""Most entropy that an answer can lack, whether its program is convex or not."""

from __future__ import annotations

import numpy as np

from maxent.constraints.lifting.elimination import eliminate
from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.models.arrays import FloatArray
from maxent.solvers.backend import FEW
from maxent.solvers.clock import Clock
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.dual import bound

FINE, COARSE, ROUGH = 1e-8, 3e-6, 1e-4
"""Error of the optimum of a small relaxation, of a larger one, and of a larger one that another follows, per
individual."""


ROUNDS, NEAR = 2, 5e-7
"""Relaxations, each with lines that touch at the optimum of the one before, and the gap with which none follows, nats
per individual."""


def gap(program: LiftedProgram, point: FloatArray, clock: Clock, multipliers: FloatArray | None = None) -> float:
    """Most entropy that a feasible point can lack, nats times individuals.

    Parameters
    ----------
    program : LiftedProgram
    point : shape (program.n,)
    clock : Clock
        Asked again and again whether to stop with the bound that there is.
    multipliers : shape (n_rows,), optional
        Of a convex program, see `maxent.solvers.dual.bound.entropy_bound`.

    Returns
    -------
    float
        Negative by rounding at most; infinite where nothing is known but that the answer without the comparisons has
        more entropy, or draws have a likelihood beside the entropy.
    """
    if program.convex:
        return bound.gap(program, point, clock, multipliers)
    entropy = -Derivatives(program).objective(point)
    most = priced_bound(program, clock, entropy)
    if np.isinf(most) and program.convex_rows.any():
        most = bound.entropy_bound(program, point, clock)
    return most - entropy


def priced_bound(program: LiftedProgram, clock: Clock, enough: float = -np.inf) -> float:
    """An upper bound on ``-sum m ln(m / mass_weight)`` over the masses of every feasible point, nats.

    No better one is looked for where it is near ``enough``. Infinite where the program has no such relaxation
    (`maxent.solvers.bounds.priced`), or no time is left.
    """
    # What a convex program does not need is loaded here.
    from maxent.solvers.bounds.alike import alike_as_one, equations_alone
    from maxent.solvers.bounds.certificate import proved
    from maxent.solvers.bounds.interior_point import solve
    from maxent.solvers.bounds.priced import priced

    if program.draws is not None:
        return np.inf
    large = program.n > FEW
    if large:
        program = equations_alone(program)
    elimination, _ = eliminate(program, program.lower >= program.upper)
    program, times = alike_as_one(program, elimination)
    most, touched = np.inf, None
    for left in reversed(range(ROUNDS)):
        problem = priced(program, times, clock, touched)
        if problem is None or clock.stop() is not None:
            break
        people = max(1.0, float(problem.relaxed.linear.total.sum()))
        error = FINE if not large else ROUGH if left and problem.lines else COARSE
        found = solve(problem.problem, problem.start, error * people, clock)
        most = float(np.fmin(most, proved(problem, found, clock)))
        if not problem.lines or most <= enough + NEAR * people:
            break
        touched = problem.touched(found)
    return most
