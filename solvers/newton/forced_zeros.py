"""Finds masses that the comparisons force to 0.

A comparison whose largest value is 0 holds only on a face of what the linear rows leave, where some masses vanish, as
where two splits of a few people tie at best. An entropy falls from there as ``x ln x`` does. So masses whose scores are
moved stop a little off the face, with a violation as little. There they are fixed, and the rest is solved.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from maxent.constraints.lifting import LiftedProgram, Restricted, eliminate, restrict
from maxent.models.arrays import FloatArray
from maxent.solvers.derivatives import Derivatives

# The largest violation of a point that is taken to be near a face, impurity units.
NEARLY = 1e-4
# Share of its quasi-identifier's people below which a mass nearly vanishes.
VANISHING = 1e-5


def with_forced_zeros(
    program: LiftedProgram, point: FloatArray, tolerance: float, seconds: float | None
) -> Restricted | None:
    """The program on the face that a point is near to, None where it is near to none, or that takes so many seconds.

    Masses that nearly vanish are fixed, of the quasi-identifiers that comparisons are about which the point misses.
    """
    own, n = Derivatives(program), program.n_masses
    lower, _ = own.bounds()
    missed = lower - own.constraints(point)
    missed[: own.n_linear] = 0.0
    if not tolerance < missed.max(initial=0.0) <= NEARLY:
        return None
    jacobian = sparse.csr_matrix((own.jacobian(point), own.jacobianstructure()), shape=(own.n_rows, program.n))
    elimination = eliminate(program, program.lower >= program.upper)[0]
    slopes = abs(jacobian[missed > tolerance]).sum(axis=0)
    about = elimination.free[elimination.spread(np.asarray(slopes).ravel()) > 0]
    owners = np.unique(program.owner[about])
    zero = (point[:n] < VANISHING * program.total[program.owner]) & np.isin(program.owner, owners)
    zero &= (program.lower[:n] <= 0) & (program.upper[:n] > 0)
    if not zero.any():
        return None
    upper = program.upper.copy()
    upper[:n][zero] = 0.0
    return restrict(replace(program, upper=upper), seconds)
