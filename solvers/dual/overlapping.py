"""Maximum entropy with very many overlapping counts, such as the counts of several trees.

Statements about whole numbers leave many masses no choice but 0, which the dual only approaches: their multipliers are
infinite. So the face of the feasible masses is found first, from equations that are independent
(`independent_rows`), and proved (`find_face`). Over it the dual has a minimum, which Newton's method finds in a few
steps from where proportional fitting gets (`fitted`). Intervals mostly leave every mass room: these are solved without
their face where that can be, on the few that bind (`minimise_binding`). Weighted sums that are known up to rounding are
narrow intervals, nearly all of which bind: their kinks are smoothed (`minimise_smoothed`).

Where no face is found, or one with doubts, Newton's method takes the whole problem to where it shows which masses
vanish: each step divides them by e, whatever it does to others. The problem without them is solved in its place.
Whether they had to be left out is not trusted: the bound is that of the whole problem, and says what the answer is
worth. Where it is too far off, the whole problem is taken further, and masses are left out anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from maxent.models.arrays import INVERTIBLE, TINY, BoolArray, FloatArray, IntArray
from maxent.solvers.control import Clock, foretell
from maxent.solvers.derivatives import Solve, cholesky_in_place
from maxent.solvers.dual.linear_entropy import OVERLAPPING_FACTOR, LinearEntropy
from maxent.solvers.dual.newton import ARMIJO, HALVINGS, HARDEST, LONGEST, DualPoint, minimise, solve_definite
from maxent.solvers.dual.newton import VANISHED as NEWTON_VANISHED

# Active set for very many intervals: only the few rows that bind take part in Newton's system.
#
# Draws of a hundred trees bound tens of thousands of sums, of which some hundreds hold the entropy down. A row without
# a multiplier changes neither the dual function nor the masses, so that the dual of a few rows is that of all of them,
# with multipliers of 0 for the others. Its minimum is found, the rows that its masses miss most are added, those whose
# multipliers became 0 are left out, and so on until none is missed: the active-set method of convex programs (Nocedal &
# Wright, "Numerical Optimization", 2006, section 16.5) on the dual, which decreases from each round to the next.

# Rows that are added at first; later at most as many as there are with a multiplier, if these are more.
FIRST = 50
# Rounds, and Newton steps in each, at most.
BINDING_ROWS_ROUNDS, BINDING_ROWS_STEPS = 100, 60
# Share of what rows were missed by before a round that its rows may be missed by afterwards.
BINDING_ROWS_NEARER = 0.01
# Individuals that the standard deviation of a sum counts as at least, where rows are compared by what they miss.
SPREAD = 1e-3


def minimise_binding(
    problem: LinearEntropy, tolerance: float, clock: Clock, keep: Callable[[FloatArray, FloatArray], None]
) -> DualPoint:
    """`maxent.solvers.dual.newton.minimise` for a problem with very many rows, few of which bind.

    It ends early where a round does not improve anything; ``keep`` is given multipliers and masses after each.
    """
    n_rows = len(problem.lower)
    y, steps = np.zeros(n_rows), 0
    value, masses, residual = problem.value(y), problem.masses(y), 0.0
    for _ in range(BINDING_ROWS_ROUNDS):
        missed = missed_by(problem, masses)
        worst = max(residual, float(missed.max(initial=0.0)))
        if worst <= tolerance or clock.stop() is not None:
            break
        rows = _chosen(problem, y, masses, np.where(missed > tolerance, missed, 0.0))
        some = replace(
            problem,
            matrix=sparse.csr_matrix(problem.matrix[rows]),
            lower=problem.lower[rows],
            upper=problem.upper[rows],
        )
        found = minimise(some, y[rows], max(tolerance, BINDING_ROWS_NEARER * worst), BINDING_ROWS_STEPS, clock)
        if not found.iterations:
            break
        y = np.zeros(n_rows)
        y[rows] = found.multipliers
        value, masses, residual = found.bound, found.masses, found.residual
        steps += found.iterations
        keep(y, masses)
    residual = max(residual, float(missed_by(problem, masses).max(initial=0.0)))
    return DualPoint(y, masses, value, residual, steps, np.zeros(n_rows))


def missed_by(problem: LinearEntropy, masses: FloatArray) -> FloatArray:
    """By how many individuals masses miss each row, negative where they meet it with slack; shape (n_rows,)."""
    activity = problem.matrix @ masses
    missed: FloatArray = np.maximum(activity - problem.upper, problem.lower - activity)
    return missed


def _chosen(problem: LinearEntropy, y: FloatArray, masses: FloatArray, missed: FloatArray) -> IntArray:
    """The rows with a multiplier and the most missed of the others, by what their sums are uncertain; increasing."""
    held = np.flatnonzero(y)
    spread = np.sqrt(problem.squared @ problem.variance(masses))
    priority = missed / np.maximum(spread, SPREAD)
    priority[held] = 0.0
    most = max(FIRST, len(held))
    worst = np.argsort(-priority, kind="stable")[:most]
    return np.union1d(held, worst[priority[worst] > 0])


# Drops equations that others imply: counts of many trees repeat each other and the totals.
#
# With the totals known, a row says something about ``m`` less the mean over each owner alone: with P the projection
# that takes these means out, equations are independent where the rows of ``C P`` are. Those are found by a Cholesky
# factorisation of ``C P C'``, some rows after the other, with pivots among them (Higham, "Accuracy and stability of
# numerical algorithms", 2002, section 10.3). Short rows come first, so that what is left is sparse.
#
# A basis of thousands of dependent rows is what HiGHS' interior point method needs most of its time for: a hundred
# trees of depth 6 over Adult, of whose 4,819 equations 2,051 are independent, take it 60 s as they are, and 3 s
# without.

# Rows that are looked at together.
CHUNK = 500
# Independent equations, at most, and as a share of all if they are more than a few. Where there are more, finding them
# takes long, or nothing is gained: Newton's method is quicker with all rows of each class. A few are factored directly,
# and equations that imply others keep its last steps from the tolerance.
MOST, SHARE, FEW = 5_000, 0.6, 2_500
# Share of the squared length of a row that is rounding.
IMPLIED = 1e-9
# Individuals by which an equation may miss what others imply.
CONTRADICTED = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Independent:
    """Rows of a problem that imply all others: the inequalities, and independent ``equations`` with their factor."""

    rows: IntArray
    equations: IntArray
    scale: FloatArray
    factor: FloatArray

    def multipliers(self, problem: LinearEntropy, y: FloatArray) -> FloatArray:
        """Multipliers of these rows alone with the masses, and the bound, that y of all rows has; shape (n_rows,)."""
        equation = problem.lower == problem.upper
        out = np.where(equation, 0.0, y)
        pull = _without_means(problem, problem.matrix.T @ np.where(equation, y, 0.0))
        out[self.equations] = self._solve(problem.matrix[self.equations] @ pull)
        return out

    def _solve(self, right: FloatArray) -> FloatArray:
        from scipy.linalg import cho_solve

        found: FloatArray = self.scale * cho_solve((self.factor, True), self.scale * right, check_finite=False)
        return found

    def contradicted(self, problem: LinearEntropy) -> bool:
        """Whether another equation contradicts these."""
        mean = (problem.total / _masses_of_each(problem))[problem.owner]
        matrix = problem.matrix[self.equations]
        missing = problem.lower[self.equations] - matrix @ mean
        masses = mean + _without_means(problem, matrix.T @ self._solve(missing))
        equation = problem.lower == problem.upper
        off = (problem.matrix @ masses - problem.lower)[equation]
        return bool(np.abs(off).max(initial=0.0) > CONTRADICTED)


def independent_rows(
    problem: LinearEntropy, clock: Clock, chunk: int = CHUNK, few: int = FEW, most: int = MOST
) -> Independent | None:
    """Rows that imply all others; None where most are independent, or contradict each other, or there is no time."""
    from scipy.linalg import solve_triangular
    from scipy.linalg.lapack import dpstrf

    equation = problem.lower == problem.upper
    asked = np.flatnonzero(equation)
    share = sparse.diags_array(1 / np.sqrt(_masses_of_each(problem)))
    pooled, whole = sparse.csr_matrix(problem.matrix @ problem.membership @ share), _squared(problem.matrix)
    length = whole - _squared(pooled)
    says = asked[length[asked] > IMPLIED * whole[asked]]
    scale = np.zeros(len(length))
    scale[says] = 1 / np.sqrt(length[says])

    def product(some: IntArray, others: IntArray) -> FloatArray:
        """``C P C'`` for some rows and others, scaled."""
        gram = problem.matrix[some] @ problem.matrix[others].T - pooled[some] @ pooled[others].T
        return np.asarray(gram.toarray()) * scale[some][:, None] * scale[others]

    order = says[np.argsort(np.diff(problem.matrix.indptr)[says], kind="stable")]
    held, factor = np.empty(0, np.int64), np.empty((0, 0))
    for begin in range(0, len(order), chunk):
        if clock.stop() is not None:
            return None
        rows = order[begin : begin + chunk]
        across = solve_triangular(factor, product(held, rows), lower=True, check_finite=False) if len(held) else None
        left = product(rows, rows) - (0.0 if across is None else across.T @ across)
        if left.diagonal().max() <= IMPLIED:  # LAPACK takes the first pivot as it is
            continue
        corner, pivots, rank, _ = dpstrf(left, tol=IMPLIED, lower=1)
        chosen, old = pivots[:rank] - 1, len(held)
        grown = np.zeros((old + rank, old + rank))
        grown[:old, :old], grown[old:, old:] = factor, np.tril(corner[:rank, :rank])
        if across is not None:
            grown[old:, :old] = across[:, chosen].T
        held, factor = np.concatenate([held, rows[chosen]]), grown
        if len(held) > max(few, min(most, SHARE * len(asked))):
            return None
    if not len(held):
        return None
    rows = np.union1d(np.flatnonzero(~equation), held)
    found = Independent(rows, held, scale[held], factor)
    return None if found.contradicted(problem) else found


def _without_means(problem: LinearEntropy, values: FloatArray) -> FloatArray:
    """Values less their mean over each owner, shape (n,)."""
    mean: FloatArray = np.bincount(problem.owner, values, len(problem.total)) / _masses_of_each(problem)
    return values - mean[problem.owner]


def _masses_of_each(problem: LinearEntropy) -> IntArray:
    """How many masses each owner has, 1 for none; shape (n_owners,)."""
    return np.maximum(np.bincount(problem.owner, minlength=len(problem.total)), 1)


def _squared(matrix: sparse.csr_matrix) -> FloatArray:
    """The squared length of each row."""
    return np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel()


# Finds the face of a system of equations with an interior-point method that stops once the face is proved.
#
# It solves ``C m = b``, the owners' totals and ``m >= 0`` with prices y of the rows and u of the owners, and slacks ``s
# = -(C'y + u) >= 0``, by Mehrotra's predictor and corrector (S. J. Wright, "Primal-dual interior-point methods", 1997,
# chapter 10). Without an objective, masses or slacks tend to 0, each mass with one of the two. Steps need a factor of
# ``C J C'`` with ``m / s`` in the place of the masses: that of Newton's method on the dual, dense, of the size of the
# independent rows. Where these are short and few, beside many masses, that is far less than a basis of all masses
# takes.
#
# The two kinds of masses are far apart long before either is 0. Then the prices are moved to where all masses that stay
# have a slack of 0 exactly, and the masses to where they meet the rows without those that vanish (finite termination:
# Ye, Math. Program. 57, 1992). If the slacks of the latter stay positive, and the masses of the former, the face is
# found.

# Rows, at most, and masses for each of them, at least. With more rows, or masses that are nearly determined, HiGHS'
# interior point method takes less time: 0.5 s for 2,084 rows of 7,724 masses.
MOST_ROWS, PER_ROW = 3_000, 5
# Steps, at most; 7 to 12 are usual.
INTERIOR_POINT_ITERATIONS = 40
# Share of each owner's total that is spread evenly over its masses before the first step.
EVEN = 0.05
# How far steps go of the way to where a mass or a slack is 0.
NEARLY = 0.95
# Factor between the mass-to-slack ratios of masses that vanish and of others, at least.
APART = 10**2.5
# A step shorter than this is the last.
STUCK = 1e-6
# Added to the diagonal of a scaled matrix, the first with which it can be factored.
RIDGES = (1e-12, 1e-10, 1e-8, 1e-6)
# The same for a matrix that is singular, as it is without masses that vanish.
FIRMER = (1e-9, 1e-8, 1e-6)
# Share of the largest row that a row counts as having at least.
VANISHED = 1e-16
# Solutions with the factor of the masses that stay: each takes most of what the ridge left of the one before.
CORRECTIONS = 4


def can_be_factored(problem: LinearEntropy) -> bool:
    """Whether all rows are equations, and few enough, for rows that do not imply each other."""
    n_rows, n = problem.matrix.shape
    return bool(0 < n_rows <= MOST_ROWS and n >= PER_ROW * n_rows and np.array_equal(problem.lower, problem.upper))


def masses_and_prices(problem: LinearEntropy, start: FloatArray, clock: Clock) -> tuple[FloatArray, FloatArray] | None:
    """Masses that meet independent equations, 0 where prices let none be; and the prices, of shape (n_rows,).

    None where no clear answer was reached, as where equations contradict each other.
    """
    now = _first(problem, start)
    for _ in range(INTERIOR_POINT_ITERATIONS):
        if clock.stop() is not None:
            return None
        vanishing = now.vanishing()
        if vanishing is not None:
            settled = _settled(problem, now, vanishing)
            if settled is not None:
                return settled
        following = now.stepped()
        if following is None:
            return None
        now = following
    return None


@dataclass(frozen=True, slots=True, eq=False)
class _Factor:
    """A solver of Newton's systems, for the ``weight`` of each mass.

    It finds rows' and owners' changes with ``C W (C'y + u) = right`` and, for each owner, ``W (C'y + u) = total``.
    """

    pooled: sparse.csr_matrix
    of_owner: FloatArray
    scale: FloatArray
    solver: Solve

    @classmethod
    def of(cls, problem: LinearEntropy, weight: FloatArray, ridges: tuple[float, ...] = RIDGES) -> _Factor | None:
        rows = np.arange(len(problem.lower))
        size = problem.squared @ weight
        scale = 1 / np.sqrt(np.maximum(size, max(VANISHED * size.max(), INVERTIBLE)))
        pooled = sparse.csr_matrix(problem.matrix @ sparse.diags_array(weight) @ problem.membership)
        of_owner = np.maximum(np.bincount(problem.owner, weight, len(problem.total)), INVERTIBLE)
        product = problem.gram(weight, rows, of_owner).toarray()
        product *= scale[:, None]
        product *= scale
        solver = cholesky_in_place(product, ridges)
        return None if solver is None else cls(pooled, of_owner, scale, solver)

    def solve(self, right: FloatArray, total: FloatArray) -> tuple[FloatArray, FloatArray]:
        left = right - self.pooled @ (total / self.of_owner)
        rows: FloatArray = self.scale * self.solver(self.scale * left)
        return rows, (total - self.pooled.T @ rows) / self.of_owner


@dataclass(frozen=True, eq=False)
class _Iterate:
    """Positive masses and slacks, and prices of the rows and the owners."""

    problem: LinearEntropy
    masses: FloatArray
    slack: FloatArray
    prices: FloatArray
    of_owner: FloatArray

    @cached_property
    def missing(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Residuals of rows, owners and slacks."""
        problem = self.problem
        rows = problem.lower - problem.matrix @ self.masses
        owners = problem.total - np.bincount(problem.owner, self.masses, len(problem.total))
        slack = -(problem.matrix.T @ self.prices) - self.of_owner[problem.owner] - self.slack
        return rows, owners, slack

    def vanishing(self) -> BoolArray | None:
        """Mask of the masses that tend to 0, where these are clearly apart from the others."""
        ratio = self.masses / self.slack
        order = np.sort(ratio)
        if order[0] >= APART:
            return np.zeros(len(ratio), bool)
        widest = int(np.argmax(order[1:] / order[:-1])) if len(order) > 1 else 0
        if len(order) == 1 or order[widest + 1] < APART * order[widest]:
            return None
        return np.asarray(ratio <= order[widest], bool)

    def stepped(self) -> _Iterate | None:
        """After a step of predictor and corrector; None where there is no way."""
        factor = _Factor.of(self.problem, self.masses / self.slack)
        if factor is None:
            return None
        product = self.masses * self.slack
        mean = float(product.mean())
        towards = self._change(factor, -product)
        far, price_far = _longest(self.masses, towards[0]), _longest(self.slack, towards[1])
        after = float(np.mean((self.masses + far * towards[0]) * (self.slack + price_far * towards[1])))
        aim = (after / mean) ** 3 * mean - product - towards[0] * towards[1]
        masses, slack, prices, of_owner = self._change(factor, aim)
        far = min(1.0, NEARLY * _longest(self.masses, masses))
        price_far = min(1.0, NEARLY * _longest(self.slack, slack))
        if max(far, price_far) < STUCK:
            return None
        return _Iterate(
            self.problem,
            self.masses + far * masses,
            self.slack + price_far * slack,
            self.prices + price_far * prices,
            self.of_owner + price_far * of_owner,
        )

    def _change(self, factor: _Factor, complement: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Changes of masses, slacks and prices that lead to feasible ones, products changing by ``complement``."""
        problem = self.problem
        rows, owners, lacking = self.missing
        weight = self.masses / self.slack
        shift = weight * lacking - complement / self.slack
        prices, of_owner = factor.solve(
            rows + problem.matrix @ shift, owners + np.bincount(problem.owner, shift, len(problem.total))
        )
        slack = lacking - problem.matrix.T @ prices - of_owner[problem.owner]
        return complement / self.slack - weight * slack, slack, prices, of_owner


def _first(problem: LinearEntropy, start: FloatArray) -> _Iterate:
    """Where the first step begins: masses that are not too small, and slacks the larger the smaller these are."""
    number = np.maximum(np.bincount(problem.owner, minlength=len(problem.total)), 1)
    masses = (1 - EVEN) * start + EVEN * (problem.total / number)[problem.owner]
    masses = np.maximum(masses, INVERTIBLE)
    slack = 1 / np.sqrt(masses)
    of_owner = -np.bincount(problem.owner, slack, len(problem.total)) / number
    return _Iterate(problem, masses, slack, np.zeros(len(problem.lower)), of_owner)


def _longest(values: FloatArray, change: FloatArray) -> float:
    """The multiple of a change, 1 / `NEARLY` at most, that takes the first of some positive values to 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ways = np.where(change < 0, -values / change, np.inf)
    return float(min(1 / NEARLY, ways.min(initial=np.inf)))


def _settled(problem: LinearEntropy, now: _Iterate, vanishing: BoolArray) -> tuple[FloatArray, FloatArray] | None:
    """Masses and prices with exact zeros where they tend to 0; None where others would not stay positive."""
    weight = problem.restored(np.where(vanishing, 0.0, now.masses))
    factor = _Factor.of(problem, weight, FIRMER)
    if factor is None:
        return None
    masses, prices = weight, now.prices if vanishing.any() else np.zeros(len(problem.lower))
    for _ in range(CORRECTIONS):
        change, of_owner = factor.solve(
            problem.lower - problem.matrix @ masses,
            problem.total - np.bincount(problem.owner, masses, len(problem.total)),
        )
        masses = masses + weight * (problem.matrix.T @ change + of_owner[problem.owner])
        pull = weight * problem.centred(problem.matrix.T @ prices, weight)
        prices = prices - factor.solve(problem.matrix @ pull, np.zeros(len(problem.total)))[0]
    stays = bool((masses[~vanishing] > 0).all())
    priced = problem.matrix.T @ prices
    slack = problem.largest(np.where(vanishing, -np.inf, priced))[problem.owner] - priced
    return (masses, prices) if stays and bool((slack[vanishing] > 0).all()) else None


# Iterative proportional fitting to intervals of sums: a cheap, good starting point.
#
# Rows that share no mass are fitted together: each by the factor that its masses lack, the least that takes their sum
# into its interval. Afterwards the owners' totals are restored. In the dual this is block coordinate descent, with the
# multipliers of the rows and those of the owners in turn, every step of which is exact (Darroch & Ratcliff,
# "Generalized iterative scaling for log-linear models", Ann. Math. Statist. 43, 1972; for inequalities Bregman, 1967).
# Without it an answer that is cut short misses sums by up to 22 people, in place of 0.25 (360 people in 8 trees).

# Rows between looks at the clock.
LOOK = 256
# Blocks that are tried for a row, from the last: those of the row's tree, and of some before.
BACK = 64


@dataclass(frozen=True, slots=True, eq=False)
class _FaceBlock:
    """Rows that share no mass: mass ``at[i]`` is in row ``rows[of[i]]``; ``low`` and ``high`` are logarithms."""

    rows: IntArray
    at: IntArray
    of: IntArray
    low: FloatArray
    high: FloatArray


def fitted(problem: LinearEntropy, sweeps: int, clock: Clock, start: FloatArray) -> FloatArray:
    """Multipliers after so many rounds of fitting every row once, shape (n_rows,); all coefficients are 1."""
    blocks = _blocks(problem, clock)
    y = start.copy()
    masses = problem.masses(y)
    for done in range(sweeps):
        before = y.copy()
        for block in blocks:
            if clock.stop() is not None:  # halfway through a round the first rows are off again
                return before if done else y
            sums = np.bincount(block.of, masses[block.at], len(block.rows))
            without = np.log(np.maximum(sums, TINY)) - y[block.rows]
            new = np.clip(0.0, block.low - without, block.high - without)
            masses[block.at] *= np.exp(new - y[block.rows])[block.of]
            y[block.rows] = new
            masses = problem.restored(masses)
    return y


def _blocks(problem: LinearEntropy, clock: Clock) -> list[_FaceBlock]:
    """The rows in as few blocks as going through them once gives, none when that takes too long."""
    matrix = problem.matrix
    taken: list[npt.NDArray[np.bool_]] = []
    number = np.empty(len(problem.lower), np.int64)
    for row, (start, stop) in enumerate(zip(matrix.indptr[:-1].tolist(), matrix.indptr[1:].tolist(), strict=True)):
        if row % LOOK == 0 and clock.stop() is not None:
            return []
        masses = matrix.indices[start:stop]
        # The rows of a tree follow each other, so that the last block is the likeliest.
        back = range(len(taken) - 1, max(len(taken) - BACK, 0) - 1, -1)
        block = next((b for b in back if not taken[b][masses].any()), len(taken))
        if block == len(taken):
            taken.append(np.zeros(matrix.shape[1], bool))
        taken[block][masses] = True
        number[row] = block
    with np.errstate(divide="ignore"):
        low, high = np.log(np.maximum(problem.lower, 0.0)), np.log(np.maximum(problem.upper, TINY))
    return [
        _block(matrix, rows, low[rows], high[rows]) for rows in (np.flatnonzero(number == b) for b in range(len(taken)))
    ]


def _block(matrix: sparse.csr_matrix, rows: IntArray, low: FloatArray, high: FloatArray) -> _FaceBlock:
    chosen = matrix[rows]
    return _FaceBlock(rows, chosen.indices, np.repeat(np.arange(len(rows)), np.diff(chosen.indptr)), low, high)


# Smoothed dual for intervals that nearly all bind, such as sums that are known up to rounding.
#
# A row from ``c - d`` to ``c + d`` adds ``-y c + |y| d`` to the dual function, with a kink at ``y = 0``. Newton's
# method stops there in every step, although a narrow interval is nearly an equation, whose multiplier may have either
# sign. With
#
#     sqrt((y d)^2 + mu^2) - mu    in the place of    |y| d
#
# the function is smooth, and where its gradient vanishes the row's sum is ``c - d (y d) / sqrt((y d)^2 + mu^2)``:
# within its interval, for every mu. The masses there meet all rows, and lack less than mu / 3 nats for each row of the
# maximum; mu becomes smaller from one minimum to the next, which is near (a barrier method: Boyd & Vandenberghe,
# "Convex Optimization", 2004, section 11.3; smoothing: Nesterov, Math. Program. 103, 2005).

# The first mu, by what it is multiplied, and the last, nats.
SMOOTHED_KINKS_FIRST, SMALLER, LAST = 1.0, 0.1, 1e-9
# Newton steps for each mu, at most.
SMOOTHED_KINKS_STEPS = 40
# Decrease that a step promises, as a multiple of mu, with which a minimum that is not the last is left.
SMOOTHED_KINKS_NEARLY = 10.0
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
    now, steps = _Smoothed.at(problem, np.where(problem.empty, 0.0, start), SMOOTHED_KINKS_FIRST), 0
    step = np.zeros(len(start))
    while clock.stop() is None:
        last = now.mu <= LAST or now.mu * len(start) <= enough
        for _ in range(SMOOTHED_KINKS_STEPS):
            if last and np.abs(now.gradient).max(initial=0.0) <= CLOSER * tolerance:
                break
            direction = now.direction()
            if clock.stop() is not None or (not last and -now.gradient @ direction <= SMOOTHED_KINKS_NEARLY * now.mu):
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
        return -solve_definite(hessian, np.maximum(size, NEWTON_VANISHED * size.max()), self.gradient)

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


# Loads HiGHS without its messages on standard output.


def quiet_highs(**settings: bool | int | str) -> Any:  # Any: highspy is loaded only where it is used
    """An instance of ``highspy.Highs`` with some options, which uses one processor and prints nothing."""
    import highspy

    class Quiet(highspy.Highs):
        def enableCallbacks(self) -> None:  # the name is highspy's
            self.setOptionValue("output_flag", False)
            super().enableCallbacks()  # type: ignore[no-untyped-call]

    solver = Quiet()  # type: ignore[no-untyped-call]
    for name, value in {"output_flag": False, "threads": 1, **settings}.items():
        solver.setOptionValue(name, value)
    return solver


# Smallest face of the feasible masses, with a proof: the masses that are 0 at every feasible point.
#
# Statements about whole numbers leave many masses no choice but 0, and rows with two sides a single value. Prices y of
# the rows prove both at once. With ``z_i = (C'y)_i``, ``top_o`` the largest z of an owner's masses, and ``s_r`` the
# lower side of a row where ``y_r > 0``, the upper one where ``y_r < 0``, every feasible m has
#
#     sum_i m_i (top - z_i) + sum_r y_r ((C m)_r - s_r) = sum_o t_o top_o - sum_r y_r s_r =: left(y),
#
# and nothing on the left side is negative. So ``m_i <= left(y) / (top - z_i)``: with ``left(y) = 0`` all masses vanish
# whose z is not their owner's largest (Farkas; Rockafellar, "Convex Analysis", 1970, section 22). Along y the dual of
# the entropy decreases for ever, which is why it has no minimum before these masses are dropped.
#
# One such y proves all of the face at once: any strictly complementary solution of the linear program that only asks
# for feasible masses. Interior point methods end there (Guler & Ye, "Convergence behavior of interior-point
# algorithms", Math. Program. 60, 1993). What they find is not trusted: ``left(y)`` is computed here, rounding included.

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
        """Multipliers of the problem with nearly the bound that y has over the face, shape (n_rows,)."""
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


# Rounds of proportional fitting: before the face is known, over it, and where an answer without the face is likely.
SWEEPS, FACE_SWEEPS, FEW_SWEEPS = 30, 20, 3
# How many times as long as these first rounds it all takes: 10 to 20 on the larger forests of benchmarks/README.md.
PER_FITTING = 15.0
# That of the first Newton step, see `maxent.solvers.dual.newton.minimise`.
SOFTNESS = 1e-5
# Newton steps, at most: on the whole problem to where masses are seen to vanish, and on what is left of it between two
# looks at whether more do.
STEPS, REDUCED_STEPS = 60, 4
# How often, at most, the whole problem and what is left of it are taken further.
ROUNDS, REDUCTIONS = 8, 12
# Gap, nats per individual, with which an answer is left as it is.
CLOSE = 9e-7
# Residual of the whole problem, individuals, from which on steps tell which masses vanish; and how much less it is to
# be where the gap is not closed.
NEAR, NEARER = 0.01, 0.1
# Masses of less than ``SMALL`` individuals whose logarithms a Newton step would change by less than ``VANISHES`` are on
# their way to 0: it changes those of masses that have to be 0 by -1, whatever they are. So are those of less than
# ``NOTHING`` times the residual, about which the step knows little.
VANISHES, SMALL, NOTHING = -0.5, 0.03, 1e-4
# Share of rows with two different sides from which on a problem is solved without its face, if it can be.
MOSTLY = 0.5
# Individuals by which an answer may miss the limit of a single mass.
BROKEN = 1e-7
# Share of its owner's total that stands for a mass that vanishes: who is ruled out by mistake is not ruled out.
TRACE = 1e-13
Keep = Callable[[FloatArray, FloatArray], None]


@dataclass(frozen=True, slots=True, eq=False)
class OverlappingAnswer:
    """A bound and an answer that need not belong together: the answer may be of the problem without vanishing masses.

    ``bound`` (nats) is the dual function at ``multipliers``, shape (n_rows,). ``masses``, shape (n,), miss the rows by
    at most ``residual``; both are individuals. ``iterations`` are Newton steps.
    """

    multipliers: FloatArray
    bound: float
    masses: FloatArray
    residual: float
    iterations: int


def minimise_overlapping(
    problem: LinearEntropy, tolerance: float, clock: Clock, keep: Keep = lambda y, masses: None
) -> OverlappingAnswer:
    """`maxent.solvers.dual.newton.minimise` for a problem with many rows that overlap, or whose masses have to vanish.

    Limits of single masses wait until an answer breaks them; ``keep`` is given multipliers and masses on the way.
    """
    single = np.diff(problem.matrix.indptr) == 1
    single &= problem.lower < problem.upper
    rows = np.flatnonzero(~single)
    several, start = _of_rows(problem, rows), np.zeros(len(rows))
    smooth = can_be_smoothed(several)
    if not smooth and float(np.mean(several.lower < several.upper)) > MOSTLY:  # intervals mostly leave masses room
        answer = _minimise_intervals(problem, _fitted(several, FEW_SWEEPS, clock, start), rows, tolerance, clock, keep)
        closed = answer.residual <= tolerance and answer.bound - problem.entropy(answer.masses) <= _enough(problem)
        if closed or clock.stop() is not None:
            return answer
        start = answer.multipliers[rows]
    begin = time.perf_counter()
    start = _fitted(several, SWEEPS, clock, start)
    if problem.plain:
        what = f"{len(problem.owner):,} unknowns in {len(rows):,} sums that overlap"
        foretell(PER_FITTING * (time.perf_counter() - begin), what, "fewer trees take less", clock)
    y = np.zeros(len(single))
    y[rows] = start
    keep(y, problem.masses(y))
    told = independent_rows(several, clock)
    if told is not None:
        rows, start = rows[told.rows], told.multipliers(several, start)[told.rows]
        several = _of_rows(problem, rows)
    face = find_face(several, clock, None if told is None else several.masses(start))
    if face is None:
        return _minimise_rows(problem, rows, start, tolerance, clock)
    face = face.among(rows, len(single))
    left = face.of(problem)
    start = _fitted(_of_rows(left, rows), FACE_SWEEPS, clock, start)
    found = _minimise_rows(left, rows, start, tolerance, clock, proved=face.complete)
    y = face.lifted(problem, found.multipliers)
    masses = np.zeros(len(problem.owner))
    masses[face.alive] = found.masses
    return replace(found, multipliers=y, bound=problem.value(y), masses=masses)


def _minimise_intervals(
    problem: LinearEntropy, start: FloatArray, rows: IntArray, tolerance: float, clock: Clock, keep: Keep
) -> OverlappingAnswer:
    """The answer of the rows that bind; one cut short is no further off than ``start``, fitted multipliers of rows."""
    y = np.zeros(len(problem.lower))
    y[rows] = start
    first = problem.masses(y)
    least = float(missed_by(problem, first).max(initial=0.0))
    keep(y, first)
    found = minimise_binding(problem, tolerance, clock, keep)
    masses, residual = (first, least) if least < found.residual else (found.masses, found.residual)
    return OverlappingAnswer(found.multipliers, found.bound, masses, residual, found.iterations)


def _fitted(problem: LinearEntropy, sweeps: int, clock: Clock, start: FloatArray) -> FloatArray:
    """Multipliers after some rounds of proportional fitting, where rows are sums; else those they start from."""
    return fitted(problem, sweeps, clock, start) if problem.plain else start


def _minimise_rows(
    problem: LinearEntropy,
    rows: IntArray,
    start: FloatArray,
    tolerance: float,
    clock: Clock,
    *,
    proved: bool = False,
) -> OverlappingAnswer:
    """The same with some rows at first, whose multipliers start from some, and further ones as answers break them."""
    y, first, iterations = np.zeros(len(problem.lower)), np.zeros(len(problem.lower)), 0
    first[rows] = start
    while True:
        found = _minimise(_of_rows(problem, rows), start, tolerance, clock, proved=proved)
        y[rows] = found.multipliers
        iterations += found.iterations
        missed = missed_by(problem, found.masses)
        broken = missed > BROKEN
        broken[rows] = False
        if not broken.any() or clock.stop() is not None:
            break
        rows = np.union1d(rows, np.flatnonzero(broken))
        start = y[rows]
    found = replace(found, multipliers=y, iterations=iterations)
    worst = float(missed.max(initial=0.0))
    if clock.stop() is not None and found.residual > tolerance:  # a step on the way may miss rows by more than fitting
        masses = problem.masses(first)
        fitted_worst = float(missed_by(problem, masses).max(initial=0.0))
        if fitted_worst < worst:
            return replace(found, masses=masses, residual=fitted_worst)
    return replace(found, residual=max(found.residual, worst) if broken.any() else found.residual)


def _minimise(
    problem: LinearEntropy, start: FloatArray, tolerance: float, clock: Clock, *, proved: bool
) -> OverlappingAnswer:
    """The same for rows that are all of them taken into account; ``proved`` is whether no mass has to vanish."""
    if can_be_smoothed(problem):
        found = minimise_smoothed(problem, start, tolerance, _enough(problem), clock)
        if _gap(problem, found, found, tolerance) <= _enough(problem) or clock.stop() is not None:
            return OverlappingAnswer(found.multipliers, found.bound, found.masses, found.residual, found.iterations)
        start = found.multipliers
    enough, near = _enough(problem), tolerance if proved else NEAR
    whole = minimise(problem, start, max(tolerance, near), STEPS, clock, SOFTNESS, longer=not proved)
    best = _without_vanishing(problem, whole, tolerance, clock)
    iterations = whole.iterations + best.iterations
    for _ in range(ROUNDS):
        closed = _gap(problem, whole, best, tolerance) <= enough
        if closed or whole.bound < problem.least - 1.0 or clock.stop() is not None:
            break
        near *= NEARER
        whole = minimise(problem, whole.multipliers, max(tolerance, near), STEPS, clock, HARDEST, longer=True)
        iterations += whole.iterations
        if _gap(problem, whole, best, tolerance) > enough:
            found = _without_vanishing(problem, whole, tolerance, clock)
            iterations += found.iterations
            best = found if found.residual <= max(best.residual, tolerance) else best
    return OverlappingAnswer(whole.multipliers, whole.bound, best.masses, best.residual, iterations)


def _enough(problem: LinearEntropy) -> float:
    """The gap with which an answer is left as it is, nats."""
    return CLOSE * float(problem.total.sum())


def _gap(problem: LinearEntropy, whole: DualPoint, answer: DualPoint, tolerance: float) -> float:
    """Bound less the entropy of an answer, nats; infinite where the answer misses rows."""
    return whole.bound - problem.entropy(answer.masses) if answer.residual <= tolerance else np.inf


def _without_vanishing(problem: LinearEntropy, start: DualPoint, tolerance: float, clock: Clock) -> DualPoint:
    """The minimum of a problem without the masses that are found to vanish; with a trace in their place."""
    left, now, alive, iterations = problem, start, np.arange(len(problem.owner)), 0
    for _ in range(REDUCTIONS):
        if now.residual <= tolerance or clock.stop() is not None:
            break
        stays = ~_vanishing(left, now)
        alive, left = alive[stays], _of_masses(left, stays)
        now = minimise(left, now.multipliers, tolerance, REDUCED_STEPS, clock, HARDEST)
        iterations += now.iterations
    masses = TRACE * problem.total[problem.owner]
    masses[alive] = np.maximum(now.masses, masses[alive])
    return replace(now, masses=problem.restored(masses), iterations=iterations)


def _vanishing(problem: LinearEntropy, now: DualPoint) -> BoolArray:
    """Mask of the masses that tend to 0; each owner keeps its largest."""
    change = problem.centred(problem.matrix.T @ now.step, now.masses)
    vanishing: BoolArray = ((change < VANISHES) & (now.masses < SMALL)) | (now.masses < NOTHING * now.residual)
    return vanishing & (now.masses < problem.largest(now.masses)[problem.owner])


def _of_masses(problem: LinearEntropy, stays: BoolArray) -> LinearEntropy:
    """The problem with some of its masses alone."""
    matrix = sparse.csr_matrix(problem.matrix[:, stays])
    return replace(problem, owner=problem.owner[stays], weight=problem.weight[stays], matrix=matrix)


def _of_rows(problem: LinearEntropy, rows: IntArray) -> LinearEntropy:
    """The problem with some of its rows alone."""
    matrix = sparse.csr_matrix(problem.matrix[rows])
    return replace(problem, matrix=matrix, lower=problem.lower[rows], upper=problem.upper[rows])
