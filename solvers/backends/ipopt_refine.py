"""Refines the answer of a solver with wide tolerances to ours, near the same optimum, with Ipopt."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.models.arrays import FloatArray
from maxent.solvers.backend import Options
from maxent.solvers.backends.ipopt_run import run
from maxent.solvers.clock import SOON, Clock
from maxent.solvers.derivatives import Derivatives

# Share of the individuals by which the answer may move; further off lies another optimum.
NEAR = 1e-2


def refined(program: LiftedProgram, point: FloatArray, options: Options) -> FloatArray:
    """A few interior-point steps (Ipopt) from an answer to a program, both of shape (n,).

    Global solvers stop at violations and gaps of about 1e-6: an entropy within 1e-6 of the best still leaves the
    probabilities 1e-3 to move. The answer itself, within its bounds, comes back when the steps lead to nothing better:
    a point that is further from the constraints, worse and no nearer to them, or far away.
    """
    own = Derivatives(program)
    near = np.clip(point, program.lower, program.upper)
    if not (program.upper > program.lower).any():
        return near
    late = options.clock.late()
    if options.clock.stop() is not None:  # the best point so far is of use only where it meets all constraints
        options = replace(options, clock=Clock(max(0.0, SOON - late)))
    finer = run(own, own, program.lower, program.upper, near, options, fine=True).point
    if not np.isfinite(finer).all() or np.abs(finer - near).max(initial=0.0) > NEAR * max(1.0, program.total.sum()):
        return near
    before, after = own.violation(near), own.violation(finer)
    if after > options.tolerance:
        return finer if after < before else near
    return finer if before > 0.01 * options.tolerance or own.objective(finer) <= own.objective(near) else near
