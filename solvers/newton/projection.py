"""From a point that nearly meets the constraints to one that meets them, by the shortest way in the metric.

``d = C' (C J C')^+ max(0, target - c)`` over the violated and the nearly active constraints: one or two steps take a
violation of 1e-6 to 1e-13, at a cost in entropy that is of the violation's own size.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from maxent.solvers.newton.lagrangian import Problem, State

FloatArray = npt.NDArray[np.float64]

INSIDE = 1e-11
"""How far inside a constraint to aim, per individual that it is about."""

STEPS = 25

RAISES = 5


def project(problem: Problem, state: State, pull: FloatArray, floor: float) -> State:
    """The nearest point that meets all constraints; ``floor`` is the smallest probability left on the way."""
    people = problem.people
    state = _raise(problem, state, floor)
    for _ in range(STEPS):
        c = state.c
        if float(problem.violation(state).max(initial=0.0)) <= 0.1 * INSIDE:
            break
        rows = np.flatnonzero((c < 0) | ((c < 1e-6 * people) & (pull > 0)) | (c < 1e-9 * people))
        slopes = problem.comparisons.slopes(state.sums)
        gradients = problem.manifold.centring(state.m)(problem.gradients(state, slopes, rows))
        flat = gradients.reshape(len(rows), state.m.size)
        gram = (flat * state.m.ravel()) @ flat.T
        scale = 1.0 / np.sqrt(np.maximum(np.diag(gram), 1e-300))
        wanted = np.maximum(INSIDE * people[rows] - c[rows], 0.0)
        scaled = gram * scale[:, None] * scale
        weight = scale * np.linalg.lstsq(scaled, wanted * scale, rcond=1e-10)[0]
        d = (weight @ flat).reshape(state.m.shape)
        better = _shorter(problem, state, d, floor)
        if better is None:
            break
        state = better
    return state


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
