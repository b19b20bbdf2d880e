"""Computes the exact optimum near the answer of a solver, so that all solvers give the same point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from scipy import sparse

from maxent.constraints.lifting import LiftedProgram
from maxent.models.arrays import FloatArray
from maxent.solvers.backend import Options
from maxent.solvers.conic.kkt import VANISHING, Active, fitted
from maxent.solvers.conic.polish import polish, polish_many
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.newton.block_form import form_of
from maxent.solvers.newton.quadratic_model import NewtonProblem, project
from maxent.solvers.solution import Solution

# Distance from a bound, individuals or impurity units, within which a row may hold with equality.
TOUCHED = 1e-4
# Entropy, nats per individual, that the exact point may lack: by more, it is another optimum.
SAME = 1e-7
# Where statements hold with no room, some masses cannot reach the floor: what it is then multiplied with, and down to
# which share of it.
LOWER, LOWEST = 0.1, 1e-3


def finished(program: LiftedProgram, found: Solution, options: Options) -> Solution:
    """A solution moved to the optimum that it is near, and its probabilities raised to the floor.

    An entropy within 1e-10 of the largest still leaves probabilities 1e-5 to move.
    """
    exact = _exact(program, found, options)
    if exact is None:
        return found
    if _low(program, exact, options):
        return _taken(program, found, _raised(program, exact, options), exact, options)
    return _taken(program, found, exact, exact, options)


def all_finished(programs: Sequence[LiftedProgram], found: Sequence[Solution], options: Options) -> list[Solution]:
    """`finished` for solutions of programs that were solved together."""
    points = [np.asarray(solution.point) for solution in found]
    active = [_active(program, point) for program, point in zip(programs, points, strict=True)]
    exact = [
        _as_good(program, point, near, options)
        for program, point, near in zip(
            programs, polish_many(programs, points, active, options.tolerance, options.clock), points, strict=True
        )
    ]
    best = list(exact)
    low = [i for i, point in enumerate(exact) if point is not None and _low(programs[i], point, options)]
    if low:
        from maxent.solvers.newton.stacked import Together

        together = Together([programs[i] for i in low], options.clock)
        raised = together.raised([point for i in low if (point := exact[i]) is not None], options.floor)
        for i, point in zip(low, raised, strict=True):
            best[i] = point
    return [
        solution if point is None or near is None else _taken(program, solution, point, near, options)
        for program, solution, point, near in zip(programs, found, best, exact, strict=True)
    ]


def _exact(program: LiftedProgram, found: Solution, options: Options) -> FloatArray | None:
    """The optimum near a solution, None where Newton's method finds none that is as good."""
    assert found.point is not None
    return _as_good(program, _polished(program, found.point, options), found.point, options)


def _polished(program: LiftedProgram, point: FloatArray, options: Options) -> FloatArray | None:
    return polish(program, point, _active(program, point), options.tolerance, options.clock)


def _as_good(program: LiftedProgram, exact: FloatArray | None, near: FloatArray, options: Options) -> FloatArray | None:
    """The exact point if it is the same optimum as ``near``, else the best point by descent, None without one."""
    own = Derivatives(program)
    worst = own.objective(near) + SAME * float(program.total.sum())
    if exact is not None and own.objective(exact) <= worst:
        return exact
    from maxent.solvers.conic.descent import descend

    below = descend(program, near, partial(_active, program), options.tolerance, options.clock)
    if below is None:
        return None
    exact = _polished(program, below, options)
    return below if exact is None or own.objective(exact) > own.objective(below) + SAME * program.total.sum() else exact


def _taken(program: LiftedProgram, found: Solution, point: FloatArray, exact: FloatArray, options: Options) -> Solution:
    """A solution moved to a point above the floor; where that misses a row, to the ones of lower floors, or none."""
    own, lower = Derivatives(program), options.floor
    violation = own.violation(point)
    while violation > options.tolerance and point is not exact:
        lower *= LOWER
        point = exact if lower < LOWEST * options.floor else _raised(program, exact, replace(options, floor=lower))
        violation = own.violation(point)
    return replace(found, point=point, violation=violation) if violation <= options.tolerance else found


def _active(program: LiftedProgram, point: FloatArray) -> Active:
    """The rows that are nearly met with equality, with the multipliers that fit the gradient best."""
    own = Derivatives(program)
    lower, upper = own.bounds()
    value = own.constraints(point)
    below, above = value - lower <= TOUCHED, upper - value <= TOUCHED
    near = np.flatnonzero(below | above)
    jacobian = sparse.csr_matrix((own.jacobian(point), own.jacobianstructure()), shape=(own.n_rows, program.n))
    n = program.n_masses
    scale = np.ones(program.n)  # in the metric of the masses, and without those that vanish
    scale[:n] = np.where(point[:n] < VANISHING * program.upper[:n], 0.0, np.sqrt(np.maximum(point[:n], 0.0)))
    # The gradient plus multipliers times rows vanishes: they are negative at lower bounds.
    sign = np.where(lower == upper, 0, np.where(below, -1, 1))[near]
    y = np.zeros(own.n_rows)
    rows = jacobian[near]
    rows.data *= scale[rows.indices]
    y[near] = fitted(rows, own.gradient(point) * scale, sign)
    side = np.where(lower == upper, -1, np.where(below & (y < 0), -1, np.where(above & (y > 0), 1, 0)))
    return Active(np.where(side == 0, 0.0, y), side, np.zeros(program.n, np.int64))


def _low(program: LiftedProgram, point: FloatArray, options: Options) -> bool:
    """Whether comparisons by entropy made probabilities vanish, up to the floor."""
    if not any(terms.phi == "entropy" for terms in program.terms) or options.floor <= 0:
        return False
    n = program.n_masses
    free = program.lower[:n] < program.upper[:n]
    return not (point[:n] >= options.floor * program.total[program.owner])[free].all()


def _raised(program: LiftedProgram, point: FloatArray, options: Options) -> FloatArray:
    """The nearest point whose probabilities are above the floor."""
    problem = NewtonProblem(form_of(program), options.clock)
    state = problem.at(problem.form.scores(point))
    near = project(problem, state, np.zeros(len(state.c)), options.floor)
    return problem.form.point(near.m)
