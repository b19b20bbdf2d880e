r"""The most that a Lagrangian is in a region once squares along some directions are taken off it.

Between two ends ``l <= v <= h`` of a direction ``(v - l)(h - v) >= 0``. So every feasible m of a region has, with
multipliers mu of the comparisons c and any weights kappa >= 0,

    H(m) <= F(m) = H(m) + mu'c(m) + sum_j kappa_j / 2 ((l_j + h_j) v_j - l_j h_j - v_j^2),

also with multipliers of the ends and of other linear rows. F is as much flatter than the Lagrangian as the squares say.
Where relative entropies make up for what is left (`maxent.solvers.bounds.divergence.proof.share_left`) it is below
its tangents, so that by that at some masses, over all masses of owners,

    H(m) <= F(m0) + sum_o t_o max_x rest_ox - rest'm0 - share D(m | m0).

The multipliers are found by a primal-dual interior point method, in which comparisons may be missed at a price: that
keeps the multipliers from being larger than what relative entropies make up for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxent.models.arrays import TINY, FloatArray
from maxent.solvers.bounds.divergence.multipliers import STEEP
from maxent.solvers.bounds.divergence.region import Region

STEPS = 30
"""Newton steps, at most."""

CENTRED, FIRST, INSIDE = 0.1, 0.3, 0.95
"""What complementarity is aimed at, as a share of its mean, and in the first step; share of the way to a bound."""

CLOSE, EXACT, SOON = 0.05, 0.01, 4
"""What products of slacks and multipliers and the tangent's gain are where it ends: as a share of what the bound is too
high, after that many steps, or of the tolerance."""

BEGIN, ABOVE, BELOW = 0.7, 0.01, 0.8
"""Multipliers at the start, as a share of the answer's, and of their prices at least and at most."""

SLACK, PRODUCT, MOST, MISSED = 0.05, 0.02, 0.3, 0.2
"""Slacks at the start, at least, their products with multipliers, these at most, and what rows may miss there."""

SMALLEST, RIDGE, ROUNDING = 1e-12, 1e-12, 1e-12
"""Share of its owner's total that a mass at the start has at least; added to the equations' products, as a share; and
nats that a bound is higher for rounding, per individual."""

CURVED = 1e-3
"""Smallest eigenvalue of a Newton system that is taken as it is."""


@dataclass(frozen=True, slots=True, eq=False)
class Flattened:
    """Masses with a tangent, the multipliers of the comparisons, shape (n_rows,), and the tangent's bound, nats.

    The bound holds if `share_left` finds some there.
    """

    bound: float
    masses: FloatArray
    mu: FloatArray


class _Lagrangian:
    """F over a region: its comparisons with multipliers, the ends of directions, and inequalities, as rows >= 0."""

    def __init__(self, region: Region, flat: FloatArray, price: FloatArray) -> None:
        at = region.at
        self.region, self.flat, self.rows, self.curves = region, flat, at.rows, at.curves
        self.bound = np.flatnonzero(price > 0)
        self.price, self.coef = price[self.bound], self.curves.coef[self.bound]
        self.origin = region.directions @ at.masses
        self.middle = 0.5 * (region.low + region.high)
        self.straight = np.vstack([region.directions, -region.directions, at.rows.unequal])
        self.const = np.concatenate([-region.low - self.origin, region.high + self.origin, -at.rows.least])

    def value(self, m: FloatArray, left: FloatArray, lam: FloatArray) -> tuple[float, FloatArray]:
        """F and its gradient but for the comparisons' part."""
        v, weight, region = self.region.directions @ m - self.origin, self.rows.linear.weight, self.region
        squares = 0.5 * float(self.flat @ ((region.low + region.high) * v - region.low * region.high - v * v))
        gradient = -(np.log(m / weight) + 1.0) + (self.flat * (self.middle - v)) @ region.directions
        return -float(m @ np.log(m / weight)) + squares + float(lam @ left), gradient

    def left(self, m: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The rows' left sides and gradients."""
        left, slopes = self.curves.rows(np.maximum(self.curves.a(m), TINY))
        return (
            np.concatenate([left[self.bound], self.straight @ m + self.const]),
            np.vstack([slopes[self.bound], self.straight]),
        )

    def tangent(self, m: FloatArray, slope: FloatArray) -> float:
        """What a tangent with a slope gains from some masses, at most, and what these may miss."""
        rows, linear = self.rows, self.rows.linear
        y = _by_equations(rows.equal, m, (rows.equal * m) @ slope)
        rest, off = slope - y @ rows.equal, float(np.abs(rows.equal @ m - rows.value).sum())
        missed = STEEP * (1.0 + float(np.abs(y).max(initial=0.0))) * off
        return float(linear.total @ linear.largest(rest) - rest @ m) + missed

    def hessian(self, m: FloatArray, lam: FloatArray) -> FloatArray:
        """What F bends, negative, along the answer's directions."""
        across, a = self.region.at.across, np.maximum(self.curves.a(m), TINY)
        by_a = (lam[: len(self.bound)] @ self.coef) * np.where(self.curves.entropy, 1.0 / a, 2.0 / self.curves.size)
        sums, along = self.curves.sums @ across, self.region.directions @ across
        found: FloatArray = (across.T / m) @ across + (along.T * self.flat) @ along - (sums.T * by_a) @ sums
        return found


def flattened(
    region: Region,
    flat: FloatArray,
    price: FloatArray,
    start: FloatArray,
    enough: float,
    tolerance: float,
) -> Flattened | None:
    """The least bound that comes up, or the first that is ``enough``, nats; None where there is none.

    Parameters
    ----------
    region : Region
    flat : shape (n_directions,)
        The weights kappa.
    price : shape (n_rows,)
        What comparisons may be missed for, nats per individual: those without a price do not count.
    start : shape (n,)
        Masses near to those that meet the equations.
    enough, tolerance : float
        Nats. Bounds that are enough do while multipliers are not above the answer's.
    """
    at, form = region.at, _Lagrangian(region, flat, price)
    k, allowed = len(form.bound), at.mu[form.bound]
    m = _met(region, start)
    left, slopes = form.left(m)
    s = np.maximum(left, SLACK)
    t, lam = np.full(k, MISSED), np.minimum(MOST, PRODUCT / s)
    s[:k] = np.maximum(left[:k] + t, SLACK)
    lam[:k] = np.clip(BEGIN * allowed, ABOVE * form.price, BELOW * form.price)
    spare, best = form.price - lam[:k], None
    for step in range(STEPS):
        held = np.append(np.minimum(lam[:k], form.price), lam[k:])
        value, gradient = form.value(m, left, held)
        gained = form.tangent(m, gradient + held @ slopes)
        bound = value + gained + ROUNDING * at.people
        if not np.isfinite(bound):
            break
        if best is None or bound < best.bound:
            mu = np.zeros(len(at.mu))
            mu[form.bound] = held[:k]
            best = Flattened(bound, m, mu)
        products = float(s @ lam + t @ spare)
        off = products + gained
        near = off < EXACT * tolerance or (step >= SOON and off < CLOSE * (best.bound - enough))
        if near or (bound <= enough and (held[:k] <= allowed).all()):
            break
        aim = (CENTRED if step else FIRST) * products / (len(s) + k)
        # Newton's step: the slacks of comparisons that may be missed, t, are eliminated first.
        missing = left - s
        missing[:k] += t
        weight, to = lam / s, aim / s - (lam / s) * missing
        by_t = weight[:k] + spare / t
        to_t = aim / t + aim / s[:k] - weight[:k] * missing[:k] - form.price
        eased, to = weight.copy(), to.copy()
        eased[:k] -= weight[:k] ** 2 / by_t
        to[:k] -= weight[:k] * to_t / by_t
        by_z = slopes @ at.across
        system = form.hessian(m, lam) + (by_z.T * eased) @ by_z
        dz = _solved(system, at.across.T @ gradient + by_z.T @ to)
        if dz is None:
            break
        dm, along = at.across @ dz, by_z @ dz
        dt = (to_t - weight[:k] * along[:k]) / by_t
        ds = missing + along
        ds[:k] += dt
        dlam, dspare = aim / s - lam - weight * ds, aim / t - spare - spare / t * dt
        primal, dual = _longest((m, dm), (s, ds), (t, dt)), _longest((lam, dlam), (spare, dspare))
        m, s, t = m + primal * dm, s + primal * ds, t + primal * dt
        lam, spare = lam + dual * dlam, spare + dual * dspare
        left, slopes = form.left(m)
    return best


def _met(region: Region, start: FloatArray) -> FloatArray:
    """Masses that meet the equations, near some, or the answer's."""
    rows, linear = region.at.rows, region.at.rows.linear
    m = np.maximum(start, SMALLEST * linear.total[linear.owner])
    found: FloatArray = m + m * (_by_equations(rows.equal, m, rows.value - rows.equal @ m) @ rows.equal)
    return found if (found > 0).all() else region.at.masses


def _by_equations(equal: FloatArray, m: FloatArray, right: FloatArray) -> FloatArray:
    """Multipliers of the equations, whose products by masses m may be singular."""
    products = (equal * m) @ equal.T
    products += RIDGE * np.trace(products) / len(products) * np.eye(len(products))
    found: FloatArray = np.linalg.solve(products, right).astype(np.float64)
    return found


def _solved(system: FloatArray, right: FloatArray) -> FloatArray | None:
    """A step that goes up, whether the system is definite or not; None where it has lost all meaning."""
    if not (np.isfinite(system).all() and np.isfinite(right).all()):
        return None
    try:
        np.linalg.cholesky(system)
    except np.linalg.LinAlgError:
        size, turned = np.linalg.eigh(system)
        found: FloatArray = turned @ ((turned.T @ right) / np.maximum(np.abs(size), CURVED))
    else:
        found = np.linalg.solve(system, right).astype(np.float64)
    return found


def _longest(*pairs: tuple[FloatArray, FloatArray]) -> float:
    """The longest step, at most 1, that leaves positive values positive."""
    most = max(float((-change / value).max(initial=0.0)) for value, change in pairs)
    return min(1.0, INSIDE / max(most, TINY))
