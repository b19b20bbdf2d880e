"""Projects a nearly feasible point to a feasible one, by the shortest step in the metric.

``d = C' (C J C')^+ max(0, target - c)`` over the violated and the nearly active constraints: one or two steps take a
violation of 1e-6 to 1e-13, at a cost in entropy that is of the violation's own size. Of few constraints the matrix is
decomposed; of more that would take minutes, in which nothing looks at the clock, and they get conjugate gradients.
"""

from __future__ import annotations

import numpy as np

from maxent.models.arrays import TINY, FloatArray
from maxent.solvers.clock import SOON, Clock
from maxent.solvers.dual.conjugate_gradients import Conjugate, cg
from maxent.solvers.newton.quadratic_model import Problem, State

# How far inside a constraint to aim, per individual that it is about.
INSIDE = 1e-11
STEPS = 25
# Constraints up to which their matrix is decomposed, which takes a fraction of a second.
DECOMPOSED = 800
# Of conjugate gradients: products with the matrix at most, and the share of the right side that may be left.
PRODUCTS, CLOSE = 500, 1e-6
RAISES = 5


def project(problem: Problem, state: State, pull: FloatArray, floor: float) -> State:
    """The nearest point that meets all constraints; ``floor`` is the smallest probability left on the way."""
    people = problem.people
    state = _raise(problem, state, floor)
    for _ in range(STEPS):
        c = state.c
        if problem.clock.late() > SOON:
            break
        if float(problem.violation(state).max(initial=0.0)) <= 0.1 * INSIDE:
            break
        rows = np.flatnonzero((c < 0) | ((c < 1e-6 * people) & (pull > 0)) | (c < 1e-9 * people))
        slopes = problem.comparisons.slopes(state.sums)
        gradients = problem.manifold.centring(state.m)(problem.gradients(state, slopes, rows))
        flat = gradients.reshape(len(rows), state.m.size)
        wanted = np.maximum(INSIDE * people[rows] - c[rows], 0.0)
        solve = _decomposed if len(rows) <= DECOMPOSED else _iterated
        d = (solve(flat, state.m.ravel(), wanted, problem.clock) @ flat).reshape(state.m.shape)
        better = _shorter(problem, state, d, floor)
        if better is None:
            break
        state = better
    return state


def _decomposed(c: FloatArray, m: FloatArray, wanted: FloatArray, clock: Clock) -> FloatArray:
    """Weights of the rows of ``c``, shape (n_rows, n), with ``c (m * (weights c)) = wanted``, the smallest ones."""
    gram = (c * m) @ c.T
    scale = 1.0 / np.sqrt(np.maximum(np.diag(gram), TINY))
    weights: FloatArray = scale * np.linalg.lstsq(gram * scale[:, None] * scale, wanted * scale, rcond=1e-10)[0]
    return weights


def _iterated(c: FloatArray, m: FloatArray, wanted: FloatArray, clock: Clock) -> FloatArray:
    """The same by conjugate gradients, nearly, or as far as there is time."""
    scale = 1.0 / np.sqrt(np.maximum(np.einsum("ri,i,ri->r", c, m, c), TINY))
    system = Conjugate(lambda direction: scale * (c @ (m * ((scale * direction) @ c))), wanted * scale)
    scaled: FloatArray = scale * cg(system, CLOSE, PRODUCTS, lambda: clock.late() > SOON)
    return scaled


def _shorter(problem: Problem, state: State, d: FloatArray, floor: float) -> State | None:
    """The first of ever shorter steps that lowers the sum of violations, None when none does."""
    now, size = float(problem.violation(state).sum()), 1.0
    for _ in range(8):
        new = _raise(problem, problem.step(state, size * d), floor)
        if float(problem.violation(new).sum()) < now:
            return new
        size *= 0.4
    return None


def _raise(problem: Problem, state: State, floor: float) -> State:
    """Clip probabilities from below; the totals and equations that then have to be met again lower them a little."""
    if floor <= 0:
        return state
    lowest = np.log(floor)
    for _ in range(RAISES):
        short = lowest - state.masses.log_p
        if short.max(initial=0.0) <= 0.01:
            break
        state = problem.step(state, np.maximum(short, 0.0))
    return state
