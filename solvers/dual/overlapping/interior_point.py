r"""Finds the face of a system of equations with an interior-point method that stops once the face is proved.

It solves ``C m = b``, the owners' totals and ``m >= 0`` with prices y of the rows and u of the owners, and slacks
``s = -(C'y + u) >= 0``, by Mehrotra's predictor and corrector (S. J. Wright, "Primal-dual interior-point methods",
1997, chapter 10). Without an objective, masses or slacks tend to 0, each mass with one of the two. Steps need a factor
of ``C J C'`` with ``m / s`` in the place of the masses: that of Newton's method on the dual, dense, of the size of the
independent rows. Where these are short and few, beside many masses, that is far less than a basis of all masses takes.

The two kinds of masses are far apart long before either is 0. Then the prices are moved to where all masses that stay
have a slack of 0 exactly, and the masses to where they meet the rows without those that vanish (finite termination: Ye,
Math. Program. 57, 1992). If the slacks of the latter stay positive, and the masses of the former, the face is found.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from maxent.models.arrays import INVERTIBLE, BoolArray, FloatArray
from maxent.solvers.cholesky import Solve, cholesky_in_place
from maxent.solvers.clock import Clock
from maxent.solvers.dual.linear_entropy import LinearEntropy

# Rows, at most, and masses for each of them, at least. With more rows, or masses that are nearly determined, HiGHS'
# interior point method takes less time: 0.5 s for 2,084 rows of 7,724 masses.
MOST_ROWS, PER_ROW = 3_000, 5
# Steps, at most; 7 to 12 are usual.
ITERATIONS = 40
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
    """Masses that meet the equations, 0 where prices let none be; and the prices, of shape (n_rows,).

    What the prices prove is for `maxent.solvers.dual.overlapping.face` to say. None where no clear answer was reached,
    as where equations contradict each other.

    Parameters
    ----------
    problem : LinearEntropy
        Of independent equations.
    start : shape (n,)
        Masses with the owners' totals.
    clock : Clock
        Asked before each step whether to stop.
    """
    now = _first(problem, start)
    for _ in range(ITERATIONS):
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
