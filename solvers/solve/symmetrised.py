"""Mean of the optima that are equal up to exchangeable classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maxent.constraints.presolve.merge import known_totals, needed
from maxent.constraints.program.program import Program
from maxent.solvers.control import OutOfTime
from maxent.solvers.workers import one_thread

if TYPE_CHECKING:
    from maxent.constraints.symmetry import Mixture
    from maxent.solvers.backend import Options
    from maxent.solvers.solve.driver import Outcome


def averaged(program: Program, outcome: Outcome, options: Options) -> Mixture | None:
    """The mean of the optima that permutations make of an answer, None where it is the only one of them.

    So it is in a convex program, and with a likelihood of draws, which tells classes apart.
    """
    if outcome.status != "optimal" or outcome.convex or program.likelihood is not None:
        return None
    from maxent.constraints.symmetry import mixture

    point, linear, clock = outcome.point, outcome.stated, options.clock
    rows = point.evaluator.internal
    if linear is None:
        linear = needed(program, known_totals(program), point.evaluator.linear)
    try:
        with one_thread():  # as where parts are solved, so that it makes no difference when this is done
            active, least = outcome.active, options.tolerance
            found = mixture(point.program, rows, linear, active, point.masses, least, clock.check)
    except OutOfTime:
        return None
    return found if found.optima > 1 else None
