r"""Smoothed dual for intervals that nearly all bind, such as sums that are known up to rounding.

A row from ``c - d`` to ``c + d`` adds ``-y c + |y| d`` to the dual function, with a kink at ``y = 0``. Newton's method
stops there in every step, although a narrow interval is nearly an equation, whose multiplier may have either sign. With

    sqrt((y d)^2 + mu^2) - mu    in the place of    |y| d

the function is smooth, and where its gradient vanishes the row's sum is ``c - d (y d) / sqrt((y d)^2 + mu^2)``: within
its interval, for every mu. The masses there meet all rows, and lack less than mu / 3 nats for each row of the maximum;
mu becomes smaller from one minimum to the next, which is near (a barrier method: Boyd & Vandenberghe, "Convex
Optimization", 2004, section 11.3; smoothing: Nesterov, Math. Program. 103, 2005).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from maxent.models.arrays import FloatArray
from maxent.solvers.clock import Clock
from maxent.solvers.dual.linear_entropy import OVERLAPPING_FACTOR, LinearEntropy
from maxent.solvers.dual.newton import ARMIJO, HALVINGS, LONGEST, VANISHED, DualPoint, solve_definite

# The first mu, by what it is multiplied, and the last, nats.
FIRST, SMALLER, LAST = 1.0, 0.1, 1e-9
# Newton steps for each mu, at most.
STEPS = 40
# Decrease that a step promises, as a multiple of mu, with which a minimum that is not the last is left.
NEARLY = 10.0
# Gradient at the last, individuals, as a share of the tolerance.
CLOSER = 0.1


def can_be_smoothed(problem: LinearEntropy) -> bool:
    """Whether rows have two sides, most of them different ones, and coefficients other than 1; and are not too many."""
    two = np.isfinite(problem.lower).all() and np.isfinite(problem.upper).all()
    most = float(np.mean(problem.lower < problem.upper)) > 0.5 if len(problem.lower) else False
    return bool(two and most and not problem.plain and len(problem.lower) <= OVERLAPPING_FACTOR)


def minimise_smoothed(
    problem: LinearEntropy, start: FloatArray, tolerance: float, enough: float, clock: Clock
) -> DualPoint:
    """`maxent.solvers.dual.newton.minimise` by way of smooth functions, from some multipliers, shape (n_rows,).

    It ends where masses miss rows by at most ``tolerance`` individuals and the gap is at most ``enough`` nats, or with
    the last mu.
    """
    now, steps = _Smoothed.at(problem, np.where(problem.empty, 0.0, start), FIRST), 0
    step = np.zeros(len(start))
    while clock.stop() is None:
        last = now.mu <= LAST or now.mu * len(start) <= enough
        for _ in range(STEPS):
            if last and np.abs(now.gradient).max(initial=0.0) <= CLOSER * tolerance:
                break
            direction = now.direction()
            if clock.stop() is not None or (not last and -now.gradient @ direction <= NEARLY * now.mu):
                break
            length = now.search(direction)
            if not length:
                break
            now, step = _Smoothed.at(problem, now.y + length * direction, now.mu), direction
            steps += 1
        if now.mu <= LAST or (now.missed <= tolerance and now.gap <= enough):
            break
        now = _Smoothed.at(problem, now.y, max(LAST, SMALLER * now.mu))
    return DualPoint(now.y, now.masses, problem.value(now.y), now.missed, steps, step)


@dataclass(frozen=True, slots=True, eq=False)
class _Smoothed:
    """Multipliers, the masses that go with them, and the gradient of the smooth function."""

    problem: LinearEntropy
    y: FloatArray
    mu: float
    masses: FloatArray
    gradient: FloatArray

    @classmethod
    def at(cls, problem: LinearEntropy, y: FloatArray, mu: float) -> _Smoothed:
        masses = problem.masses(y)
        width = y * (problem.upper - problem.lower) / 2
        middle = (problem.lower + problem.upper) / 2
        inside = (problem.upper - problem.lower) / 2 * width / np.sqrt(width**2 + mu**2)
        gradient = problem.matrix @ masses - middle + inside
        return cls(problem, y, mu, masses, np.where(problem.empty, 0.0, gradient))

    @property
    def missed(self) -> float:
        """How far the masses are from meeting the rows, individuals."""
        activity = self.problem.matrix @ self.masses
        missed = np.maximum(activity - self.problem.upper, self.problem.lower - activity)
        return float(np.where(self.problem.empty, 0.0, missed).max(initial=0.0))

    @property
    def gap(self) -> float:
        """The bound less the entropy of the masses, nats."""
        return self.problem.value(self.y) - self.problem.entropy(self.masses)

    def direction(self) -> FloatArray:
        """Newton's."""
        half, rows = (self.problem.upper - self.problem.lower) / 2, np.arange(len(self.y))
        curve = half**2 * self.mu**2 / np.sqrt((self.y * half) ** 2 + self.mu**2) ** 3
        hessian = self.problem.hessian(self.masses, rows)
        if sparse.issparse(hessian):
            hessian = sparse.csc_matrix(hessian + sparse.diags_array(curve))
        else:
            hessian[np.diag_indices(len(rows))] += curve
        size = self.problem.squared @ self.masses + curve
        return -solve_definite(hessian, np.maximum(size, VANISHED * size.max()), self.gradient)

    def search(self, direction: FloatArray) -> float:
        """Length of a step along a direction that decreases the function enough, 0 where none does."""
        promised = float(-self.gradient @ direction)
        linear = float((self.problem.matrix @ self.masses - (self.problem.lower + self.problem.upper) / 2) @ direction)
        odds = float(np.abs(self.problem.matrix.T @ direction).max(initial=0.0))
        length = LONGEST / max(odds, LONGEST)
        for _ in range(HALVINGS):
            change = length * direction
            more = self.problem.bend(self.masses, change) + length * linear + self._rise(change)
            if -more >= ARMIJO * length * promised:
                return length
            length *= 0.5
        return 0.0

    def _rise(self, change: FloatArray) -> float:
        """By how much the smoothed kinks rise with a change of the multipliers, free of cancellation."""
        half = (self.problem.upper - self.problem.lower) / 2
        before, after = self.y * half, (self.y + change) * half
        roots = np.sqrt(before**2 + self.mu**2) + np.sqrt(after**2 + self.mu**2)
        return float((change * half * (before + after) / roots).sum())
