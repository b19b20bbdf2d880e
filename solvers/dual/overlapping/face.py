r"""Smallest face of the feasible masses, with a proof: the masses that are 0 at every feasible point.

Statements about whole numbers leave many masses no choice but 0, and rows with two sides a single value. Prices y of
the rows prove both at once. With ``z_i = (C'y)_i``, ``top_o`` the largest z of an owner's masses, and ``s_r`` the lower
side of a row where ``y_r > 0``, the upper one where ``y_r < 0``, every feasible m has

    sum_i m_i (top - z_i) + sum_r y_r ((C m)_r - s_r) = sum_o t_o top_o - sum_r y_r s_r =: left(y),

and nothing on the left side is negative. So ``m_i <= left(y) / (top - z_i)``: with ``left(y) = 0`` all masses vanish
whose z is not their owner's largest (Farkas; Rockafellar, "Convex Analysis", 1970, section 22). Along y the dual of the
entropy decreases for ever, which is why it has no minimum before these masses are dropped.

One such y proves all of the face at once: any strictly complementary solution of the linear program that only asks for
feasible masses. Interior point methods end there (Guler & Ye, "Convergence behavior of interior-point algorithms",
Math. Program. 60, 1993). What they find is not trusted: ``left(y)`` is computed here, rounding included.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.solvers.clock import Clock, foretell
from maxent.solvers.dual.linear_entropy import LinearEntropy
from maxent.solvers.dual.overlapping.interior_point import can_be_factored, masses_and_prices
from maxent.solvers.dual.quiet_highs import quiet_highs

# Individuals that a mass, or the slack of a row, is proved not to exceed: then it is 0, as people are whole.
PROVED = 1e-4
# Steps of the interior point method, at most.
ITERATIONS = 200
# Steps after which their pace is known, and how many of them an answer is worth: 20 to 28 are the face of the forests
# of benchmarks/README.md, as many again what comes before and after, and a few times as many with private attributes.
SEEN, WORTH = 6, 50
# How far multipliers are moved along the prices, at most.
FURTHEST = 2.0**12


@dataclass(frozen=True, slots=True, eq=False)
class Face:
    """Properties of every feasible point of a problem, proved by the ``prices`` of its rows, shape (n_rows,).

    ``alive`` are the masses that may be positive, shape (n,); the others are 0. ``tight`` rows with two sides are where
    their price says, shape (n_rows,). ``complete`` is whether the method found nothing beyond what is proved.
    """

    prices: FloatArray
    alive: BoolArray
    tight: BoolArray
    complete: bool

    def among(self, rows: IntArray, number: int) -> Face:
        """The same of a problem of so many rows that has these among them."""
        prices, tight = np.zeros(number), np.zeros(number, bool)
        prices[rows], tight[rows] = self.prices, self.tight
        return replace(self, prices=prices, tight=tight)

    def of(self, problem: LinearEntropy) -> LinearEntropy:
        """The problem over the face: without the masses that vanish, tight rows being equations."""
        side = np.where(self.prices > 0, problem.lower, problem.upper)
        return replace(
            problem,
            owner=problem.owner[self.alive],
            weight=problem.weight[self.alive],
            matrix=sparse.csr_matrix(problem.matrix[:, self.alive]),
            lower=np.where(self.tight, side, problem.lower),
            upper=np.where(self.tight, side, problem.upper),
        )

    def lifted(self, problem: LinearEntropy, y: FloatArray) -> FloatArray:
        """Multipliers of the problem with nearly the bound that y has over the face, shape (n_rows,).

        Far enough along the prices the masses that vanish no longer count.
        """
        best, bound, far = y, problem.value(y), 1.0
        while far <= FURTHEST:
            moved = y + far * self.prices
            value = problem.value(moved) + problem.rounding(moved)
            if value < bound or not np.isfinite(bound):
                best, bound = moved, value
            far *= 2
        return best


def find_face(problem: LinearEntropy, clock: Clock, start: FloatArray | None = None) -> Face | None:
    """The smallest face that holds all feasible masses; None when there was no time, or nothing was proved.

    With ``start``, masses of shape (n,) to begin with, no equation may follow from others.
    """
    if start is not None and can_be_factored(problem):
        found = masses_and_prices(problem, start, clock)
        face = None if found is None else _proved(problem, *found)
        if face is not None and face.complete:
            return face
    found = _interior(problem, clock)
    return None if found is None else _proved(problem, *found)


def _proved(problem: LinearEntropy, masses: FloatArray, y: FloatArray) -> Face | None:
    """The face that prices prove, if masses below their slack vanish; None if they prove nothing."""
    y = np.where(np.where(y > 0, np.isinf(problem.lower), np.isinf(problem.upper)), 0.0, y)
    z = problem.matrix.T @ y
    top = problem.largest(z)
    slack = top[problem.owner] - z
    left, rounding = problem.left(y), problem.rounding(y)
    if left < -rounding:
        return None  # the rows contradict each other
    left = max(left, 0.0) + rounding
    vanishing = (slack > 0) & (slack * PROVED >= left)
    tight = (y != 0) & (np.abs(y) * PROVED >= left) & (problem.lower < problem.upper)
    doubtful = (masses < slack) & ~vanishing
    if doubtful.any() and not vanishing.any():
        return None  # as where the rows contradict each other
    return Face(y, ~vanishing, tight, complete=not doubtful.any())


def _interior(problem: LinearEntropy, clock: Clock) -> tuple[FloatArray, FloatArray] | None:
    """Feasible masses and prices of the rows, strictly complementary, by HiGHS' interior point method."""
    # Neither presolve, which would fix masses at will, nor crossover, which leads to a corner.
    import highspy

    n, owners = len(problem.owner), np.flatnonzero(np.bincount(problem.owner, minlength=len(problem.total)))
    of_owner = sparse.csr_matrix((np.ones(n), (np.searchsorted(owners, problem.owner), np.arange(n))))
    matrix = sparse.csc_matrix(sparse.vstack([problem.matrix, of_owner]))
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = n, matrix.shape[0]
    lp.col_cost_ = lp.col_lower_ = np.zeros(n)
    lp.col_upper_ = np.full(n, highspy.kHighsInf)
    lp.row_lower_ = np.concatenate([problem.lower, problem.total[owners]])
    lp.row_upper_ = np.concatenate([problem.upper, problem.total[owners]])
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
    solver = quiet_highs(solver="ipm", run_crossover="off", presolve="off", ipm_iteration_limit=ITERATIONS)
    begin = time.perf_counter()

    def look(event: Any) -> None:
        event.interrupt(clock.stop() is not None)
        steps = event.data_out.ipm_iteration_count
        if steps >= SEEN:
            what = f"{n:,} unknowns in {len(problem.lower):,} sums that overlap"
            foretell(WORTH * (time.perf_counter() - begin) / steps, what, "fewer trees take less", clock)

    if clock.runs:
        solver.cbIpmInterrupt += look
    solver.passModel(lp)
    solver.run()
    solution = solver.getSolution()
    if not solution.dual_valid or clock.stop() is not None:
        return None
    return np.array(solution.col_value), np.array(solution.row_dual)[: len(problem.lower)]
