"""A primal-dual interior point method for the relaxations of `maxent.solvers.bounds`.

Minimise ``sum m ln(m / weight) + cost'x`` under ``equal x = value``, bounds, and rows ``sum of terms + rows x + const
>= 0``. The terms may bend the wrong way, as long as the Lagrangian is convex at all multipliers that are feasible in
the dual for the columns of `Problem.cost`. They begin as such, and stay so: these conditions are linear. So each Newton
system is that of a convex function, and where the iterates lead is the global optimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from maxent.constraints.impurity_numpy import PHI
from maxent.models.arrays import INVERTIBLE, FloatArray, IntArray
from maxent.solvers.clock import Clock

INSIDE = 0.995
"""Share of the way to a bound that a step may go."""

CENTRED, FAR, TOWARDS = 0.1, 0.5, 1e3
"""What complementarity is aimed at, as a share of its mean: the first, or the second while the rows are missed by more
than the third times that mean."""

STEPS = 60
"""Newton steps, at most."""

RIDGE, DUAL_RIDGE = 1e-10, 1e-11
"""Added to the Hessian's diagonal, and taken from that of the equations, which may repeat each other: the latter as a
share of what the equation's variables add up to."""

FACTORS: tuple[dict[str, Any], ...] = (
    {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 1e-8, "options": {"SymmetricMode": True}},
    {"permc_spec": "COLAMD", "diag_pivot_thresh": 0.1},
)
"""How systems are factored: sparsely, with pivots from the diagonal, or, small ones, stably."""

LARGE = 4000
"""Rows of a system that would take too long to factor stably."""

REFINEMENTS, REFINED = 4, 1e-8
"""Steps of iterative refinement, and the share of the right side up to which a system counts as solved."""


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """Terms ``coef * phi(x[var] - shift, size)`` of rows, all of one phi; arrays of one length."""

    phi: str
    row: IntArray
    var: IntArray
    coef: FloatArray
    size: FloatArray
    shift: FloatArray

    def a(self, x: FloatArray) -> FloatArray:
        """The first argument of phi, kept off 0."""
        return np.maximum(x[self.var] - self.shift, INVERTIBLE)


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """See the module's text. ``weight``, shape (n,), is 0 for what is no mass; ``lower`` and ``upper`` may be infinite.

    ``curves`` count rows as ``rows``, shape (n_rows, n), does.
    """

    weight: FloatArray
    cost: FloatArray
    lower: FloatArray
    upper: FloatArray
    equal: sparse.csr_matrix
    value: FloatArray
    rows: sparse.csr_matrix
    const: FloatArray
    curves: tuple[Curves, ...]

    def objective(self, x: FloatArray) -> float:
        """The objective, which is minimised, nats."""
        masses = self.weight > 0
        m = np.maximum(x[masses], INVERTIBLE)
        return float((m * np.log(m / self.weight[masses])).sum() + self.cost @ x)

    def left(self, x: FloatArray) -> FloatArray:
        """The rows' left sides."""
        out: FloatArray = self.rows @ x + self.const
        for terms in self.curves:
            a = terms.a(x)
            out += np.bincount(terms.row, terms.coef * PHI[terms.phi].value(a, terms.size), len(out))
        return out

    def slopes(self, x: FloatArray) -> sparse.csr_matrix:
        """The rows' gradients."""
        found = self.rows
        for terms in self.curves:
            a = terms.a(x)
            by_a = terms.coef * PHI[terms.phi].d_a(a, terms.size)
            found = found + sparse.csr_matrix((by_a, (terms.row, terms.var)), shape=self.rows.shape)
        return sparse.csr_matrix(found)

    def gradient(self, x: FloatArray) -> FloatArray:
        """The objective's gradient."""
        masses = self.weight > 0
        out = self.cost.copy()
        out[masses] += np.log(np.maximum(x[masses], INVERTIBLE) / self.weight[masses]) + 1.0
        return out

    def bend(self, x: FloatArray, multipliers: FloatArray) -> FloatArray:
        """The diagonal of the Lagrangian's Hessian."""
        out = np.where(self.weight > 0, 1.0 / np.maximum(x, INVERTIBLE), 0.0)
        for terms in self.curves:
            a = terms.a(x)
            by_aa = multipliers[terms.row] * terms.coef * PHI[terms.phi].d_aa(a, terms.size)
            out -= np.bincount(terms.var, by_aa, len(out))
        return out


@dataclass(frozen=True, slots=True, eq=False)
class Iterate:
    """A point with its multipliers: of the equations (any sign), of rows and bounds (not negative).

    ``error`` is 0 at the optimum, where ``gradient + equal'y - slopes'rows - below + above`` vanishes.
    """

    x: FloatArray
    y: FloatArray
    rows: FloatArray
    below: FloatArray
    above: FloatArray
    error: float
    steps: int


def solve(problem: Problem, start: FloatArray, tolerance: float, clock: Clock) -> Iterate:
    """Newton steps from a start strictly within the bounds, until the error is below a tolerance.

    It ends early, with the best iterate, where rounding allows no further progress and when the clock says so.
    """
    n, n_equal = len(start), len(problem.value)
    has_low, has_high = np.isfinite(problem.lower), np.isfinite(problem.upper)
    low, high = np.where(has_low, problem.lower, 0.0), np.where(has_high, problem.upper, 0.0)
    masses = problem.weight > 0
    x, y = start.copy(), np.zeros(n_equal)
    slack = np.maximum(problem.left(x), 1.0)
    lam = np.minimum(0.1 / slack, 0.05)
    priced = problem.cost > 0
    paid = (problem.rows.T @ lam)[priced] / problem.cost[priced]
    lam *= 0.5 / max(0.5, float(paid.max(initial=0.0)))
    below = np.where(priced, problem.cost - problem.rows.T @ lam, np.where(has_low, 0.1, 0.0))
    above = np.where(has_high, 0.1, 0.0)
    transposed, squared = sparse.csr_matrix(problem.equal.T), problem.equal.multiply(problem.equal).tocsr()
    best, steps = Iterate(x, y, lam, below, above, np.inf, 0), 0
    while True:
        room_low, room_high = np.where(has_low, x - low, 1.0), np.where(has_high, high - x, 1.0)
        slopes, left = problem.slopes(x), problem.left(x)
        pull = problem.gradient(x) + transposed @ y - slopes.T @ lam - below + above
        miss_equal, miss_rows = problem.equal @ x - problem.value, left - slack
        products = np.concatenate([slack * lam, (room_low * below)[has_low], (room_high * above)[has_high]])
        mean, worst = float(products.mean()), max(_largest(miss_equal), _largest(miss_rows))
        error = max(_largest(np.where(masses, x * pull, pull)), worst, mean)
        if not np.isfinite(error):
            return best
        if error < best.error:
            best = Iterate(x, y, lam, below, above, error, steps)
        if error <= tolerance or steps == STEPS or clock.stop() is not None:
            return best
        target = max((CENTRED if worst < TOWARDS * mean + tolerance else FAR) * mean, 0.01 * tolerance)
        to_low = np.where(has_low, target / room_low - below, 0.0)
        to_high = np.where(has_high, target / room_high - above, 0.0)
        diagonal = problem.bend(x, lam) + below / room_low + above / room_high + RIDGE
        system = sparse.bmat(
            [
                [sparse.diags(diagonal), transposed, -slopes.T],
                [problem.equal, -sparse.diags(DUAL_RIDGE * (squared @ np.abs(x))), None],
                [-slopes, None, -sparse.diags(slack / lam)],
            ],
            format="csc",
        )
        right = np.concatenate([to_low - to_high - pull, -miss_equal, miss_rows - (target / lam - slack)])
        step = _solved(system, right)
        if step is None:
            return best
        dx, dy, dl = np.split(step, [n, n + n_equal])
        ds = target / lam - slack - slack / lam * dl
        d_below, d_above = to_low - below / room_low * dx, to_high + above / room_high * dx
        primal = min(
            _longest(room_low[has_low], dx[has_low]), _longest(room_high[has_high], -dx[has_high]), _longest(slack, ds)
        )
        dual = min(_longest(lam, dl), _longest(below[has_low], d_below[has_low]))
        dual = min(dual, _longest(above[has_high], d_above[has_high]))
        x, slack = x + primal * dx, slack + primal * ds
        y, lam, below, above = y + dual * dy, lam + dual * dl, below + dual * d_below, above + dual * d_above
        steps += 1


def _largest(values: FloatArray) -> float:
    return float(np.abs(values).max(initial=0.0))


def _longest(values: FloatArray, change: FloatArray) -> float:
    """The longest step, at most 1, that leaves positive values positive."""
    relative = np.maximum(-change / values, 0.0).max(initial=0.0)
    return float(min(1.0, INSIDE / max(relative, INVERTIBLE)))


def _solved(system: sparse.csc_matrix, right: FloatArray) -> FloatArray | None:
    """The solution of a system, None where it has none that is accurate."""
    from scipy.sparse.linalg import splu

    for settings in FACTORS[: 1 if len(right) > LARGE else None]:
        try:
            factor = splu(system, **settings)
        except RuntimeError:  # a pivot is exactly 0
            continue
        found: FloatArray = factor.solve(right)
        for _ in range(REFINEMENTS):
            off = right - system @ found
            if not np.isfinite(off).all():
                break
            if _largest(off) <= REFINED * _largest(right):
                return found
            found = found + factor.solve(off)
    return None
