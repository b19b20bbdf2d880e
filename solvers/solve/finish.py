"""The optimum next to the answer of a solver, exactly: the same point, whichever solver came near it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.models.arrays import FloatArray
from maxent.solvers.backend import Options
from maxent.solvers.conic.kkt import VANISHING, Active
from maxent.solvers.conic.polish import polish
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.solution import Solution

TOUCHED = 1e-4
"""Distance from a bound, individuals or impurity units, within which a row may hold with equality."""

SAME = 1e-7
"""Entropy, nats per individual, that the exact point may lack: by more, it is another optimum."""


def finished(program: LiftedProgram, found: Solution, options: Options) -> Solution:
    """A solution moved to the optimum that it is near, and its probabilities raised to the floor.

    Solvers stop at accuracies of their own, and an entropy within 1e-10 of the largest still leaves probabilities 1e-5
    to move. The solution itself comes back when Newton's method on the optimality conditions finds nothing as good.
    """
    assert found.point is not None
    own = Derivatives(program)
    exact = polish(program, found.point, _active(program, own, found.point), options.tolerance, options.clock)
    worst = own.objective(found.point) + SAME * float(program.total.sum())
    if exact is None or own.objective(exact) > worst:
        return found
    raised = _raised(program, exact, options)
    violation = own.violation(raised)
    return replace(found, point=raised, violation=violation) if violation <= options.tolerance else found


def _active(program: LiftedProgram, own: Derivatives, point: FloatArray) -> Active:
    """The rows that are nearly met with equality, with the multipliers that fit the gradient best."""
    lower, upper = own.bounds()
    value = own.constraints(point)
    below, above = value - lower <= TOUCHED, upper - value <= TOUCHED
    near = np.flatnonzero(below | above)
    jacobian = sparse.csr_matrix((own.jacobian(point), own.jacobianstructure()), shape=(own.n_rows, program.n))
    n = program.n_masses
    scale = np.ones(program.n)  # in the metric of the masses, and without those that vanish
    scale[:n] = np.where(point[:n] < VANISHING * program.upper[:n], 0.0, np.sqrt(np.maximum(point[:n], 0.0)))
    y = np.zeros(own.n_rows)
    y[near] = np.linalg.lstsq((jacobian[near].toarray() * scale).T, -own.gradient(point) * scale, rcond=1e-10)[0]
    side = np.where(lower == upper, -1, np.where(below & (y < 0), -1, np.where(above & (y > 0), 1, 0)))
    return Active(np.where(side == 0, 0.0, y), side, np.zeros(program.n, np.int64))


def _raised(program: LiftedProgram, point: FloatArray, options: Options) -> FloatArray:
    """The nearest point whose probabilities are above the floor, where comparisons by entropy made them vanish."""
    if not any(terms.phi == "entropy" for terms in program.terms) or options.floor <= 0:
        return point
    n = program.n_masses
    free = program.lower[:n] < program.upper[:n]
    if (point[:n] >= options.floor * program.total[program.owner])[free].all():
        return point
    from maxent.solvers.newton.block_form import form_of
    from maxent.solvers.newton.projection import project
    from maxent.solvers.newton.quadratic_model import Problem

    problem = Problem(form_of(program), options.clock)
    state = problem.at(problem.form.scores(point))
    near = project(problem, state, np.zeros(len(state.c)), options.floor)
    return problem.form.point(near.m)
