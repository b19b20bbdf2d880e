r"""Maximises entropy plus log-likelihood: Newton's method on the masses, augmented Lagrangian for the rows.

The masses stay a softmax of scores for each owner, so that totals are exact. With ``v`` a change of logarithms,
centred by owner, and ``h_r = d_r / a_r^2`` the curvature of the likelihood, Newton's system is

    v + centred(C' h C m v) = centred(-ln(m / w) + C' d / a).

It needs no factor. In the inner product ``sum m v v`` its first term is the identity, and its second a sum of near
projections, one for each tree: the condition number is that of the number of trees, and conjugate gradients end after
some tens of products. What is proved of sums is met by an augmented Lagrangian (Nocedal & Wright, "Numerical
Optimization", 2006, section 17.3), and in the end exactly, by the least change of the masses. There the prices of the
few rows that bind are found exactly (`_priced`), and the Lagrangian goes on from these. Multipliers ``y = d / a`` and
the prices give the bound, see `maxent.solvers.dual.likely_rows`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from maxent.models.arrays import INVERTIBLE, TINY, FloatArray, IntArray
from maxent.solvers.cholesky import cholesky
from maxent.solvers.clock import Clock
from maxent.solvers.dual.conjugate_gradients import Conjugate, cg
from maxent.solvers.dual.likely_rows import LikelyEntropy
from maxent.solvers.dual.newton import ARMIJO, RIDGES, minimise

# Newton steps for the same multipliers, products in each, and shorter steps to try.
NEWTON_STEPS, PRODUCTS, HALVINGS = 60, 500, 30
# How often multipliers are changed; steps onto the rows afterwards, and how many of them onto all with a price.
OUTER, MOVES, PRICED = 30, 60, 8
# Shares of the right side that are left by conjugate gradients, at least and at most.
ACCURACY = (1e-3, 0.1)
# How much the logarithm of a mass may rise and fall in a step.
RISE, FALL = 5.0, 50.0
# Penalty of a missed row by its own curvature, the factor by which it grows, and the share that has to be left.
FIRM, FIRMER, SLOW = 10.0, 4.0, 0.25
# Newton steps, at most, for the multipliers of rows that an answer is at an end of.
PRICING = 60
# Individuals that rows may miss before the masses are moved onto them, and afterwards.
NEAR, MET = 1e-3, 1e-11
# Gap, nats per individual, with which an answer to a small problem, and to another, is left as it is.
CLOSE = (1e-14, 9e-7)
# Norm of the gradient with which Newton's method is at its end, by the root of the individuals, and by how much rows
# were missed before, if that is more.
STILL, STILLER = 1e-10, 1e-3
# Share of the gap that is left by a change of multipliers that is not worth another, once it is that small.
LITTLE, FAR = 0.85, 1e-5
# Times the last change of multipliers that they are changed by further, at most.
FURTHEST = 1024.0
# Masses up to which the optimum is found as exactly as rounding allows.
SMALL = 5_000
# Draws of each class, by those of its leaf, that everybody is taken to have beside those of the trees at the start.
MIXED = 1e-2


@dataclass(frozen=True, slots=True, eq=False)
class MostLikely:
    """Masses of an answer, and multipliers with the ``bound`` that they give, nats; ``iterations`` are Newton steps."""

    multipliers: FloatArray
    masses: FloatArray
    bound: float
    iterations: int


@dataclass(frozen=True, slots=True, eq=False)
class _Lagrangian:
    """The problem with multipliers ``price`` and penalties ``firmness`` of its rows, shapes (n_rows,)."""

    problem: LikelyEntropy
    price: FloatArray
    firmness: FloatArray

    def priced(self, sums: FloatArray) -> FloatArray:
        """The multipliers at some sums of the rows: those of rows met with slack are 0."""
        low, high = self.problem.ends
        below = np.maximum(self.price + self.firmness * (low - sums), 0.0)
        above = np.minimum(self.price + self.firmness * (high - sums), 0.0)
        return np.where(low == high, self.price + self.firmness * (low - sums), below + above)

    def value(self, masses: FloatArray) -> float:
        sums, problem = self.problem.linear.matrix @ masses, self.problem
        return problem.objective(masses) - float(((self.priced(sums) ** 2) / (2 * self.firmness)).sum())


def most_likely(problem: LikelyEntropy, clock: Clock) -> MostLikely:
    """The masses of the largest entropy and likelihood, and the bound that proves it.

    Parameters
    ----------
    problem : LikelyEntropy
    clock : Clock
        Asked before each Newton step, and within, whether to stop with the best so far.
    """
    linear, (low, high) = problem.linear, problem.ends
    masses = linear.restored(problem.transposed @ problem.shares + MIXED)
    size = np.where(np.isfinite(low), low + problem.shift, np.where(np.isfinite(high), high, 1.0))
    scale = np.where(problem.drawn, problem.draws, 1.0) / np.maximum(size, 1.0) ** 2
    now = _Lagrangian(problem, np.zeros(len(low)), FIRM * scale)
    people, gap = max(1.0, float(linear.total.sum())), np.inf
    enough = CLOSE[len(masses) > SMALL] * people
    bound, multipliers, answer, value = np.inf, now.price, masses, -np.inf
    y, before, missed, steps = now.price, np.full(len(low), np.inf), 0.0, 0
    for outer in range(OUTER):
        masses, more = _maximum(now, masses, missed, clock)
        steps, sums = steps + more, linear.matrix @ masses
        price, left = now.priced(sums), np.abs(np.clip(sums, low, high) - sums)
        likely = np.where(problem.drawn, problem.draws / np.maximum(sums + problem.shift, TINY), 0.0)
        last, y, missed = y, problem.allowed(likely + price), float(left.max(initial=0.0))
        times = _further(problem, y, y - last) if outer else 0.0
        y, price = problem.allowed(y + times * (y - last)), price + times * (price - now.price)
        if (here := problem.value(y) + problem.rounding(y)) < bound:
            bound, multipliers = here, y
        stopped = outer + 1 == OUTER or clock.stop() is not None
        if missed <= NEAR or stopped:
            met = _onto(problem, masses, price, clock)
            if problem.objective(met) > value:
                answer, value = met, problem.objective(met)
            if bound - value > enough and len(masses) > SMALL:  # else its own multipliers end nearer
                exact, price = _priced(problem, met, price, clock)
                if (here := problem.value(exact) + problem.rounding(exact)) < bound:
                    bound, multipliers = here, exact
        last_gap, gap = gap, bound - value
        if stopped or gap <= enough or (len(masses) > SMALL and LITTLE * last_gap < gap <= FAR * people):
            break
        slow, before = left > SLOW * before, left
        now = _Lagrangian(problem, price, np.where(slow, FIRMER, 1.0) * now.firmness)
    return MostLikely(multipliers, answer, bound, steps)


def _priced(
    problem: LikelyEntropy, masses: FloatArray, price: FloatArray, clock: Clock
) -> tuple[FloatArray, FloatArray]:
    """Multipliers near the optimum, at masses that lie on the rows that have a price, and what of them are prices."""
    # Where rows leave a mass next to nothing, prices are large, and the Lagrangian's approach them slowly. Here all
    # rows have the multipliers that the likelihood gives them at these sums. What the ends of the rows with a price
    # need beside that is the minimum of the dual of these rows alone, as in `maxent.solvers.dual.linear_entropy`, with
    # the masses that the other multipliers make for weights.
    linear, (low, high) = problem.linear, problem.ends
    held = np.flatnonzero(price)
    sums = linear.matrix @ masses
    sums[held] = np.where(price > 0, low, high)[held]
    y = np.where(problem.drawn, problem.draws / np.maximum(sums + problem.shift, TINY), 0.0)
    scores = np.log(linear.weight) + problem.transposed @ y
    few = replace(
        linear,
        weight=np.maximum(np.exp(scores - linear.largest(scores)[linear.owner]), TINY),
        matrix=sparse.csr_matrix(linear.matrix[held]),
        lower=np.where(price > 0, low, np.where(low == high, low, -np.inf))[held],
        upper=np.where(price < 0, high, np.where(low == high, high, np.inf))[held],
    )
    exact = np.zeros(len(y))
    exact[held] = minimise(few, np.zeros(len(held)), MET, PRICING, clock).multipliers
    return problem.allowed(y + exact), exact


def _further(problem: LikelyEntropy, y: FloatArray, change: FloatArray) -> float:
    """How far the bound falls along the last change of multipliers: those of masses that vanish are infinite."""
    best, chosen, times = problem.value(y), 0.0, 1.0
    while times <= FURTHEST and (here := problem.value(problem.allowed(y + times * change))) < best:
        best, chosen, times = here, times, 2 * times
    return chosen


def _maximum(now: _Lagrangian, masses: FloatArray, missed: float, clock: Clock) -> tuple[FloatArray, int]:
    """The masses of the largest Lagrangian, as nearly as rows were ``missed`` before, and the Newton steps to there."""
    problem, linear = now.problem, now.problem.linear
    value = now.value(masses)
    small = max(STILL * np.sqrt(max(1.0, float(linear.total.sum()))), STILLER * missed)
    for step in range(NEWTON_STEPS):
        if clock.stop() is not None:
            return masses, step
        sums = linear.matrix @ masses
        positive, price = np.maximum(sums + problem.shift, TINY), now.priced(sums)
        slope = np.where(problem.drawn, problem.draws / positive, 0.0) + price
        logarithm = np.log(np.maximum(masses, TINY))
        right = linear.centred(np.log(linear.weight) - logarithm + problem.transposed @ slope, masses)
        if float(masses @ right**2) <= small**2:
            return masses, step
        curvature = np.where(problem.drawn, problem.draws / positive**2, 0.0) + np.where(price != 0, now.firmness, 0.0)
        change = np.clip(_newton(problem, masses, curvature, right, clock), -FALL, RISE)
        promised, length = float(masses @ (right * change)), 1.0
        for _ in range(HALVINGS):
            moved = linear.softmax(logarithm + length * change)
            reached = now.value(moved)
            if reached - value >= ARMIJO * length * promised > 0:
                break
            length *= 0.5
        else:
            return masses, step
        masses, value = moved, reached
    return masses, NEWTON_STEPS


def _newton(
    problem: LikelyEntropy, masses: FloatArray, curvature: FloatArray, right: FloatArray, clock: Clock
) -> FloatArray:
    """Solve Newton's system nearly, by conjugate gradients in the inner product of the masses."""
    linear, matrix, transposed = problem.linear, problem.linear.matrix, problem.transposed

    def product(direction: FloatArray) -> FloatArray:
        return direction + linear.centred(transposed @ (curvature * (matrix @ (masses * direction))), masses)

    system = Conjugate(product, right, dot=lambda a, b: float(masses @ (a * b)))
    accuracy = float(np.clip(np.sqrt(system.size / max(1.0, float(masses.sum()))), *ACCURACY))
    return cg(system, accuracy, PRODUCTS, lambda: clock.stop() is not None)


def _onto(problem: LikelyEntropy, masses: FloatArray, price: FloatArray, clock: Clock) -> FloatArray:
    """The masses moved onto the rows that have a price, then onto those that are missed yet, as little as possible."""
    linear, (low, high) = problem.linear, problem.ends
    held: IntArray = np.flatnonzero(price)
    for move in range(MOVES):
        sums = linear.matrix @ masses
        missing = np.clip(sums, low, high) - sums
        if np.abs(missing).max(initial=0.0) <= MET or clock.stop() is not None:
            break
        if move < PRICED:
            missing = np.where(price > 0, low - sums, np.where(price < 0, high - sums, missing))
        held = np.union1d(held if move != PRICED else held[:0], np.flatnonzero(np.abs(missing) > MET))
        system = linear.hessian(masses, held)
        dense: FloatArray = system if isinstance(system, np.ndarray) else system.toarray()
        scale = 1 / np.sqrt(np.maximum(np.diag(dense), max(RIDGES[0] * np.diag(dense).max(), INVERTIBLE)))
        solve = cholesky(dense * scale[:, None] * scale, RIDGES)
        if solve is None:
            break
        change = problem.transposed[:, held] @ (scale * solve(scale * missing[held]))
        masses = linear.softmax(np.log(np.maximum(masses, TINY)) + np.clip(change, -FALL, RISE))
    return masses
