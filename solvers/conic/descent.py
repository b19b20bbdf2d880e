"""Descends to an optimum along the active constraints, where Newton's method on the KKT conditions fails.

Where classes are exchangeable optima lie in shallow valleys: from one to the next the entropy changes by 1e-8 nats per
individual, and its curvature is below the proximal term of `maxent.solvers.conic.polish`, or negative. Here the
aggregates are taken out, the directions along the active rows are laid out one by one, and every curvature counts with
its absolute value, so that each step goes down (Nocedal & Wright, "Numerical Optimization", 2006, section 3.4).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from maxent.constraints.lifting import LiftedProgram
from maxent.models.arrays import FloatArray, IntArray
from maxent.solvers.conic.kkt import Active, Matrix, OptimalityConditions
from maxent.solvers.control import Clock
from maxent.solvers.newton.block_form import form_of

STEPS = 60
# Singular values of the active rows, as a share of the largest, that count as 0.
RANK = 1e-9
# Curvature, per unit of the metric of the masses, in whose direction nothing is gained.
FLAT = 1e-9
# Largest change of a mass in one step, as a share of it; what a step that does not go down is multiplied with, and how
# often.
LARGEST, SHORTER, TIMES = 0.3, 0.4, 12
# Change of the objective, as a share of it, that rounding hides: further steps are taken while the slope falls.
ROUNDING = 1e-13
# The share of the last slope that a step has to leave at most, to go on.
FALLEN = 0.5
# Length of a step from where the slope vanishes but the curvature is negative, in the metric of the masses, per root of
# an individual.
KICK = 1e-3
# Steps back to the active rows after each one along them.
RESTORED = 4
# What is active at a point.
Guess = Callable[[FloatArray], Active]


@dataclass(frozen=True, slots=True, eq=False)
class _Frame:
    """Directions at a point, in the metric of the masses: times ``scale`` they are changes of the ``free`` masses.

    ``rows`` are active, ``aim`` is what holds them and ``y`` are their multipliers. The columns of ``along`` keep them;
    ``slope`` and ``curvature`` are the Lagrangian's. ``back`` makes of what rows miss the least change that mends it.
    """

    free: IntArray
    scale: FloatArray
    rows: IntArray
    aim: FloatArray
    y: FloatArray
    along: FloatArray
    back: FloatArray
    slope: FloatArray
    curvature: FloatArray


def descend(
    program: LiftedProgram, point: FloatArray, guess: Guess, tolerance: float, clock: Clock
) -> FloatArray | None:
    """The optimum that is down from a point along its active rows, None where the way does not end in time."""
    slide, slope = _Slide(program, guess, tolerance), np.inf
    for _ in range(STEPS):
        if clock.stop() is not None:
            return None
        frame = slide.frame(point)
        direction, now = _down(frame), slide.value(point, frame)
        if np.abs(frame.slope * direction).sum() > ROUNDING * max(1.0, abs(now)):
            new = slide.lowered(point, frame, direction, now)
        elif frame.curvature.min(initial=np.inf) < -FLAT:
            kick = np.where(np.arange(len(direction)) == frame.curvature.argmin(), KICK * slide.size, 0.0)
            new = slide.lowered(point, frame, kick, now)
            new = slide.lowered(point, frame, -kick, now) if new is None else new
        else:  # the objective says no more, but the slope does
            last, slope = slope, float(np.abs(frame.slope).max(initial=0.0))
            if slope > FALLEN * last or slope == 0.0:
                return point
            new = slide.moved(point, frame, direction)
        if new is None:
            return None
        point = new
    return None


class _Slide:
    """A program without its aggregates, and the steps on it."""

    def __init__(self, program: LiftedProgram, guess: Guess, tolerance: float) -> None:
        self.program, self.guess, self.tolerance = program, guess, tolerance
        self.conditions = OptimalityConditions(program)
        self.own = self.conditions.own
        self.form = form_of(program)
        self.sums = self.form.elimination.variables[0].toarray()
        self.lower, self.upper = self.own.bounds()
        self.size = float(np.sqrt(program.total.sum()))

    def lowered(self, point: FloatArray, frame: _Frame, direction: FloatArray, now: float) -> FloatArray | None:
        """The first of ever shorter steps in a direction that goes down."""
        change = frame.scale * (frame.along @ direction)
        most = float(np.abs(change / point[frame.free]).max(initial=0.0))
        share = min(1.0, LARGEST / most) if most > 0 else 1.0
        for _ in range(TIMES):
            new = self.moved(point, frame, share * direction)
            if new is not None and self.value(new, frame) < now:
                return new
            share *= SHORTER
        return None

    def value(self, point: FloatArray, frame: _Frame) -> float:
        """The objective plus the expected cost of rows that are still violated."""
        return self.own.objective(point) + float(frame.y @ (self.own.constraints(point)[frame.rows] - frame.aim))

    def frame(self, point: FloatArray) -> _Frame:
        active, n = self.guess(point), self.program.n_masses
        rows = np.flatnonzero(active.side)
        fixed = (self.program.lower >= self.program.upper)[:n]
        free = np.flatnonzero(~fixed & ~self.conditions.vanishing(point)[:n])
        scale = np.sqrt(point[free])
        sums = self.sums[:, free] * scale
        jacobian = _dense(self.conditions.jacobian(point))[rows] @ sums
        norm = np.sqrt((jacobian * jacobian).sum(axis=1))
        # Rows that define aggregates have no norm.
        norm = np.where(norm > RANK * norm.max(initial=1.0), norm, np.inf)
        left, sizes, right = np.linalg.svd(jacobian / norm[:, None])
        rank = int((sizes > RANK * sizes.max(initial=0.0)).sum())
        along = right[rank:].T
        back = right[:rank].T @ (left[:, :rank] / sizes[:rank]).T / norm
        gradient = self.own.gradient(point) @ sums
        y = np.zeros(len(active.side))
        y[rows] = -(back.T @ gradient)
        bent = sums.T @ _dense(self.conditions.hessian(point, y)) @ sums
        curvature, turned = np.linalg.eigh(along.T @ bent @ along)
        along = along @ turned
        aim = np.where(active.side < 0, self.lower, self.upper)[rows]
        return _Frame(free, scale, rows, aim, y[rows], along, back, gradient @ along, curvature)

    def moved(self, point: FloatArray, frame: _Frame, direction: FloatArray) -> FloatArray | None:
        """The point after a step, brought back to the active rows; None where it misses others."""
        masses = point[: self.program.n_masses].copy()
        masses[frame.free] += frame.scale * (frame.along @ direction)
        for _ in range(RESTORED):
            if masses[frame.free].min(initial=1.0) <= 0:
                return None
            missing = self.own.constraints(self.form.complete(masses))[frame.rows] - frame.aim
            masses[frame.free] -= frame.scale * (frame.back @ missing)
        new = self.form.complete(masses)
        return new if self.own.violation(new) <= self.tolerance else None


def _dense(matrix: Matrix) -> FloatArray:
    dense: FloatArray = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    return dense


def _down(frame: _Frame) -> FloatArray:
    """Newton's step, the other way where the curvature is negative, and none where there is none."""
    bent = np.abs(frame.curvature) > FLAT
    down: FloatArray = np.where(bent, -frame.slope / np.where(bent, np.abs(frame.curvature), 1.0), 0.0)
    return down
