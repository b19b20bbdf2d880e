r"""Newton's method on the dual of the linear entropy problem, see `maxent.solvers.dual.linear_entropy`.

Newton's method with the two-metric projection (Bertsekas, "Projected Newton methods for optimization problems with
simple constraints", SIAM J. Control Optim. 20, 1982) keeps every ``y_r`` on its side of the kink during a step. Where
statements force a mass to 0 the multiplier is infinite: steps of about 1 then each divide the mass by e.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from maxent.models.arrays import INVERTIBLE, BoolArray, FloatArray, IntArray
from maxent.solvers.cholesky import cholesky
from maxent.solvers.clock import Clock
from maxent.solvers.dual.conjugate_gradients import solve_by_conjugate_gradients
from maxent.solvers.dual.linear_entropy import OVERLAPPING_FACTOR, LinearEntropy

RIDGES = (1e-12, 1e-10, 1e-8, 1e-6, 1e-4)
"""Added to the Hessian's diagonal, as shares of ``sum_i C_ri^2 m_i``, the first that lets it be factored.

Rows may repeat each other, or the owners' totals, and rounding may make them contradict each other by a little.
"""

SPARSE_RIDGE = 1e-11
"""The same where the Hessian is sparse: that factorisation does not tell."""

VANISHED = 1e-16
"""Rows whose masses are less than this share of another row's count as having that share."""

LONGEST = 25.0
"""Largest change of a log-odds in one step: a softmax that far from here has nothing to do with the Hessian here."""

ARMIJO = 1e-4
"""Share of the decrease that the gradient promises which a step has to achieve."""

HALVINGS = 60
"""Shorter steps to try before giving up."""

NEAR = 1e-3
"""Multipliers closer than this to 0, and on their way there, do not take part in Newton's system."""


@dataclass(frozen=True, slots=True, eq=False)
class DualPoint:
    """Where the minimisation of ``D`` ended.

    ``bound`` (nats) is ``D`` at ``multipliers``, valid wherever it ended; ``masses`` are those that go with them.
    ``residual`` is how far the masses are from meeting the rows (individuals), or the multiplier of an inequality that
    they meet with slack, if that is less; it is 0 at the optimum.
    """

    multipliers: FloatArray
    masses: FloatArray
    bound: float
    residual: float
    iterations: int


def minimise(
    problem: LinearEntropy,
    start: FloatArray | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 200,
    clock: Clock | None = None,
) -> DualPoint:
    """The smallest upper bound that multipliers give, and with it the maximum-entropy masses.

    Parameters
    ----------
    problem : LinearEntropy
    start : shape (n_rows,), optional
        Multipliers to start from, by default 0; signs that a row does not allow are taken as 0.
    tolerance : float
        The ``residual`` to reach.
    max_iterations : int
        Newton steps.
    clock : Clock, optional
        Asked before each of them, and within, whether to stop.

    Returns
    -------
    DualPoint
        The best point found; it also ends where rounding allows no further progress, and where rows contradict each
        other as soon as the bound proves it.
    """
    n_rows, clock = len(problem.lower), clock or Clock()
    now = _Place.at(problem, _allowed(problem, np.zeros(n_rows) if start is None else start))
    iterations = 0
    while now.residual > tolerance and now.value >= problem.least - 1.0 and iterations < max_iterations:
        direction = _direction(problem, now, clock)
        further = None if clock.stop() is not None else _search(problem, now, direction)
        if further is None:
            break
        now, iterations = further, iterations + 1
    return DualPoint(now.y, now.masses, now.value, now.residual, iterations)


def multipliers_at(
    problem: LinearEntropy, masses: FloatArray, tight: BoolArray, clock: Clock | None = None
) -> FloatArray:
    """Multipliers under which some masses are stationary, as nearly as the ``tight`` rows' multipliers can make them.

    The least-squares solution, weighted by the masses, of ``ln(m_i / w_i) = (C'y)_i + a constant of the owner``; where
    it has a sign that a row does not allow, 0. At the maximum it is the minimum of ``D``, near it a good start.

    Parameters
    ----------
    masses : shape (n,), positive
    tight : shape (n_rows,)
    clock : Clock, optional
        Asked within whether to stop.

    Returns
    -------
    FloatArray
        Shape (n_rows,), 0 for rows that are not tight.
    """
    y = np.zeros(len(problem.lower))
    rows = np.flatnonzero(tight)
    if len(rows):
        wanted = masses * problem.centred(np.log(masses / problem.weight), masses)
        y[rows] = _newton(problem, masses, rows, (problem.matrix @ wanted)[rows], clock or Clock())
    return _allowed(problem, y)


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """Multipliers with what a step from there needs.

    ``gradient`` is that towards the ``side`` (-1, 1) of the kink on which a row moves; 0 for rows that stay at 0. The
    side is 0 for equations, which have no kink.
    """

    y: FloatArray
    value: float
    masses: FloatArray
    gradient: FloatArray
    side: FloatArray
    residual: float

    @classmethod
    def at(cls, problem: LinearEntropy, y: FloatArray) -> _Place:
        value, masses = problem._at(y)
        activity = problem.matrix @ masses
        inside = np.clip(activity, problem.lower, problem.upper)
        gradient = activity - np.where(y > 0, problem.lower, np.where(y < 0, problem.upper, inside))
        gradient[problem.empty] = 0.0
        equation = problem.lower == problem.upper
        side = np.where(equation, 0.0, np.where(y != 0, np.sign(y), -np.sign(gradient)))
        towards_kink = side * gradient > 0
        left = np.where(towards_kink, np.minimum(np.abs(gradient), np.abs(y)), np.abs(gradient))
        return cls(y, value, masses, gradient, side, float(left.max(initial=0.0)))


def _allowed(problem: LinearEntropy, y: FloatArray) -> FloatArray:
    """Multipliers with 0 for those that price a side that is not there, or a row that says nothing."""
    missing = np.where(y > 0, np.isinf(problem.lower), np.isinf(problem.upper))
    return np.where(missing | problem.empty, 0.0, y)


def _direction(problem: LinearEntropy, now: _Place, clock: Clock) -> FloatArray:
    """Newton's direction in the rows that move freely, straight to the kink for those about to reach it.

    Rows at their kink that the direction would take across it stay there, and the others' direction is found anew.
    """
    binding = (now.side * now.gradient > 0) & (np.abs(now.y) <= min(NEAR, now.residual))
    direction = np.where(binding, -now.y, 0.0)
    moving = ((now.gradient != 0) | (now.y != 0)) & ~binding
    while moving.any() and clock.stop() is None:
        rows = np.flatnonzero(moving)
        step = -_newton(problem, now.masses, rows, now.gradient[rows], clock)
        across = (now.y[rows] == 0) & (now.side[rows] * step < 0)
        if not across.any():
            direction[rows] = step
            break
        moving[rows[across]] = False
    return direction


def _search(problem: LinearEntropy, now: _Place, direction: FloatArray) -> _Place | None:
    """Backtrack along the direction, projected to the sides of the kinks; None when nothing improves."""
    odds = np.abs(problem.matrix.T @ direction).max(initial=0.0)
    length = min(1.0, LONGEST / max(float(odds), LONGEST))
    for _ in range(HALVINGS):
        y = now.y + length * direction
        y = np.where(now.side * y < 0, 0.0, y)
        promised = float(now.gradient @ (y - now.y))
        if promised < 0 and problem.bend(now.masses, y - now.y) <= (ARMIJO - 1) * promised:
            return _Place.at(problem, y)
        length *= 0.5
    return None


def _newton(problem: LinearEntropy, masses: FloatArray, rows: IntArray, right: FloatArray, clock: Clock) -> FloatArray:
    """Solve Newton's system of some rows, which may repeat each other."""
    size = (problem.squared @ masses)[rows]
    size = np.maximum(size, max(VANISHED * size.max(), INVERTIBLE))
    if problem.overlapping and len(rows) > OVERLAPPING_FACTOR:
        return solve_by_conjugate_gradients(problem, masses, rows, size, right, clock)
    return _solve(problem.hessian(masses, rows), size, right)


def _solve(hessian: FloatArray | sparse.csc_matrix, size: FloatArray, right: FloatArray) -> FloatArray:
    """Solve with a positive semidefinite matrix, regularised until it is definite, in proportion to ``size``."""
    scale = 1 / np.sqrt(size)
    if sparse.issparse(hessian):
        from scipy.sparse.linalg import splu

        scaling = sparse.diags_array(scale)
        system = sparse.csc_matrix(scaling @ hessian @ scaling + SPARSE_RIDGE * sparse.identity(len(right)))
        settings = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}}
        solution: FloatArray = scale * splu(system, **settings).solve(scale * right)
        return solution
    solve = cholesky(hessian * scale[:, None] * scale, RIDGES)
    return scale**2 * right if solve is None else scale * solve(scale * right)
