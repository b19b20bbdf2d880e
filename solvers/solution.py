"""The result of a back end: point, reason for stopping, and certificate, as separate facts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from maxent.models.arrays import FloatArray


class Stop(Enum):
    """Reason for which a solver stopped."""

    CONVERGED = "optimal"
    ITERATION_LIMIT = "iteration_limit"
    TIME_LIMIT = "time_limit"
    INFEASIBLE = "infeasible"
    NUMERICAL = "numerical_trouble"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """A back end's answer to a `LiftedProgram`.

    ``point`` has shape (program.n,) and is the best point found, None when there is none. ``violation`` is the largest
    residual of the lifted rows at it, computed by maxent (linear rows in individuals, nonlinear ones per individual).
    ``multipliers`` of the relaxation's rows (`maxent.solvers.dual.bound`), where there are any, spare it from finding
    some of its own: the bound that follows from multipliers holds whatever they are. ``contradiction`` is whether the
    linear rows are proved to leave no point at all, not only that none was found.
    """

    point: FloatArray | None
    stop: Stop
    violation: float
    iterations: int
    message: str = ""
    by: str = ""
    multipliers: FloatArray | None = None
    contradiction: bool = False
