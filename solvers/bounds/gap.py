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

FINE, COARSE = 1e-9, 1e-6
"""Error of the optimum of a small relaxation, and of a larger one, per individual."""


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
    most = priced_bound(program, clock)
    if np.isinf(most) and program.convex_rows.any():
        most = bound.entropy_bound(program, point, clock)
    return most + Derivatives(program).objective(point)


def priced_bound(program: LiftedProgram, clock: Clock) -> float:
    """An upper bound on ``-sum m ln(m / mass_weight)`` over the masses of every feasible point, nats.

    Infinite where the program has no such relaxation (`maxent.solvers.bounds.priced`), or no time is left.
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
    if all(terms.phi == "entropy" for terms in program.terms):
        elimination, _ = eliminate(program, program.lower >= program.upper)
        program = alike_as_one(program, elimination)
    problem = priced(program, clock)
    if problem is None or clock.stop() is not None:
        return np.inf
    people = max(1.0, float(problem.relaxed.linear.total.sum()))
    found = solve(problem.problem, problem.start, (COARSE if large else FINE) * people, clock)
    most = proved(problem, found, clock)
    return most if np.isfinite(most) else np.inf
