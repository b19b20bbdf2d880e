r"""Dual bounds of many boxes, computed together by one interior-point method.

Where F is below its tangents, by that at any masses m0 every feasible m of a box has, over all masses of owners,

    H(m) <= F(m0) + sum_o t_o max_x rest_ox - rest'm0.

The multipliers come from a primal-dual method in which comparisons may be missed at a price: that keeps the multipliers
from being larger than what relative entropies make up for (`maxent.solvers.bounds.boxes.entropies`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from maxent.models.arrays import TINY, BoolArray, FloatArray, IntArray
from maxent.solvers.bounds.boxes.lagrangians import Lagrangians, Rows
from maxent.solvers.bounds.boxes.setting import Setting

# Newton steps, at most.
STEPS = 30
# What complementarity is aimed at, as a share of its mean, and in the first step; share of the way to a bound.
CENTRED, FIRST, INSIDE = 0.1, 0.3, 0.95
# What products of slacks and multipliers and the tangent's gain are where it ends: as a share of what the bound is too
# high, after that many steps, or of what is enough.
CLOSE, EXACT, SOON = 0.05, 0.01, 4
# Multipliers at the start, as a share of the answer's, and of their prices at least and at most.
BEGIN, ABOVE, BELOW = 0.7, 0.01, 0.8
# Slacks at the start, at least, their products with multipliers, these at most, and what rows may miss there.
SLACK, PRODUCT, MOST, MISSED = 0.05, 0.02, 0.3, 0.2
# Share of its owner's total that a mass at the start has at least; and nats that a bound is higher for rounding, per
# individual.
SMALLEST, ROUNDING = 1e-12, 1e-12
# Smallest eigenvalue of a Newton system that is taken as it is.
CURVED = 1e-3


@dataclass(slots=True, eq=False)
class Bounds:
    """Bounds in boxes, nats, infinite where there is none, by tangents at masses, with multipliers.

    ``mu`` are those of the comparisons, ``nu`` of the same with chords, shape (n_boxes, n_comparisons), ``below`` and
    ``above`` of the ends. The bounds hold where F is below its tangents.
    """

    most: FloatArray
    masses: FloatArray
    mu: FloatArray
    nu: FloatArray
    below: FloatArray
    above: FloatArray

    @classmethod
    def none(cls, setting: Setting, masses: FloatArray) -> Bounds:
        """Without a bound yet."""
        n, k, ends = len(masses), len(setting.mu), len(setting.along)
        return cls(np.full(n, np.inf), masses.copy(), *(np.zeros((n, each)) for each in (k, k, ends, ends)))

    def put(self, some: IntArray, most: FloatArray, masses: FloatArray, multipliers: FloatArray) -> None:
        """Replace some of them."""
        k, ends = self.mu.shape[1], self.below.shape[1]
        parts = np.split(multipliers, [k, 2 * k, 2 * k + ends, 2 * k + 2 * ends], axis=1)[:4]
        for field, value in zip(fields(self), (most, masses, *parts), strict=True):
            getattr(self, field.name)[some] = value


@dataclass(slots=True, eq=False)
class _State:
    """Masses, slacks of rows, misses of comparisons, multipliers, and the room of these below their prices."""

    m: FloatArray
    slack: FloatArray
    missed: FloatArray
    multipliers: FloatArray
    spare: FloatArray

    @classmethod
    def start(cls, setting: Setting, rows: Rows, m: FloatArray, price: FloatArray) -> _State:
        k = len(price)
        slack, missed = np.maximum(rows.left, SLACK), np.full((len(m), k), MISSED)
        multipliers = np.minimum(MOST, PRODUCT / slack)
        slack[:, :k] = np.maximum(rows.left[:, :k] + missed, SLACK)
        multipliers[:, :k] = np.clip(BEGIN * setting.mu, ABOVE * price, BELOW * price)
        return cls(m, slack, missed, multipliers, price - multipliers[:, :k])

    def take(self, some: BoolArray) -> _State:
        return _State(*(getattr(self, field.name)[some] for field in fields(self)))

    @property
    def products(self) -> FloatArray:
        """Slacks times multipliers, shape (n_boxes,)."""
        found: FloatArray = (self.slack * self.multipliers).sum(axis=1) + (self.missed * self.spare).sum(axis=1)
        return found


def bounded(
    setting: Setting,
    low: FloatArray,
    high: FloatArray,
    flat: FloatArray | None,
    price: FloatArray,
    near: FloatArray,
) -> Bounds:
    """The least bounds in boxes that come up, or the first that are enough.

    A bound that is enough ends the work on its box, unless a multiplier is above the answer's.

    Parameters
    ----------
    setting : Setting
    low, high : shape (n_boxes, n_functions)
    flat : shape (n_boxes, n_functions), optional
        The weights kappa.
    price : shape (n_comparisons,)
        What comparisons may be missed for, nats per individual.
    near : shape (n_boxes, n)
        Masses to begin from; they may miss the equations a little.
    """
    form, m = Lagrangians.of(setting, low, high, flat), _met(setting, near)
    rows, best, live = form.rows(m), Bounds.none(setting, m), np.arange(len(m))
    state, k = _State.start(setting, rows, m, price), len(price)
    target = setting.at.entropy + setting.enough
    for step in range(STEPS):
        held = state.multipliers.copy()
        held[:, :k] = np.minimum(held[:, :k], price)
        value, gradient = form.value(state.m, rows, held)
        gained = form.tangent(state.m, form.slope(gradient, rows, held))
        most = value + gained + ROUNDING * setting.at.people
        fine = np.isfinite(most)
        better = fine & (most < best.most[live])
        best.put(live[better], most[better], state.m[better], held[better])
        off = state.products + gained
        near_enough = off < EXACT * setting.enough
        if step >= SOON:
            near_enough |= off < CLOSE * (best.most[live] - target)
        go = fine & ~near_enough & ~((most <= target) & (held[:, :k] <= setting.mu).all(axis=1))
        if not go.any() or step == STEPS - 1:
            break
        if not go.all():
            form, state, live, gradient = form.take(go), state.take(go), live[go], gradient[go]
            rows = Rows(rows.left[go], rows.a[go], rows.by_sums[go])
        state = _stepped(form, state, rows, gradient, price, CENTRED if step else FIRST)
        rows = form.rows(state.m)
    return best


def _stepped(
    form: Lagrangians, state: _State, rows: Rows, gradient: FloatArray, price: FloatArray, centred: float
) -> _State:
    """Newton step; the misses of the comparisons are eliminated first."""
    across, k, slack, lam = form.setting.at.across, len(price), state.slack, state.multipliers
    aim = (centred * state.products / (slack.shape[1] + k))[:, None]
    missing = rows.left - slack
    missing[:, :k] += state.missed
    weight = lam / slack
    to, eased = aim / slack - weight * missing, weight.copy()
    by_missed = weight[:, :k] + state.spare / state.missed
    to_missed = aim / state.missed + aim / slack[:, :k] - weight[:, :k] * missing[:, :k] - price
    eased[:, :k] -= weight[:, :k] ** 2 / by_missed
    to[:, :k] -= weight[:, :k] * to_missed / by_missed
    by_z, straight = rows.by_sums @ form.sums_z, form.straight_z
    system = form.hessian(state.m, rows, lam) + (straight.T * eased[:, None, 2 * k :]) @ straight
    system += (by_z.transpose(0, 2, 1) * eased[:, None, : 2 * k]) @ by_z
    right = gradient @ across + (to[:, None, : 2 * k] @ by_z)[:, 0] + to[:, 2 * k :] @ straight
    dz = _solved(system, right)
    dm, along = dz @ across.T, np.concatenate([(by_z @ dz[:, :, None])[:, :, 0], dz @ straight.T], axis=1)
    d_missed = (to_missed - weight[:, :k] * along[:, :k]) / by_missed
    d_slack = missing + along
    d_slack[:, :k] += d_missed
    d_lam = aim / slack - lam - weight * d_slack
    d_spare = aim / state.missed - state.spare - state.spare / state.missed * d_missed
    primal = _longest((state.m, dm), (slack, d_slack), (state.missed, d_missed))
    dual = _longest((lam, d_lam), (state.spare, d_spare))
    return _State(
        state.m + primal * dm,
        slack + primal * d_slack,
        state.missed + primal * d_missed,
        lam + dual * d_lam,
        state.spare + dual * d_spare,
    )


def _met(setting: Setting, near: FloatArray) -> FloatArray:
    """Masses that meet the equations, near some, or the answer's."""
    rows, linear = setting.at.rows, setting.at.rows.linear
    m = np.maximum(near, SMALLEST * linear.total[linear.owner])
    by = setting.by_equations(m, (rows.value - m @ rows.equal.T)[:, :, None])[:, :, 0]
    found = m + m * (by @ rows.equal)
    positive: BoolArray = np.all(found > 0, axis=1)
    return np.where(positive[:, None], found, setting.at.masses)


def _solved(system: FloatArray, right: FloatArray) -> FloatArray:
    """Steps that go up, whether systems are definite or not; not a number where they have lost all meaning."""
    fine = np.isfinite(system).all(axis=(1, 2)) & np.isfinite(right).all(axis=1)
    found, system, right = np.full(right.shape, np.nan), system[fine], right[fine]
    try:
        np.linalg.cholesky(system)
        found[fine] = np.linalg.solve(system, right[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        size, turned = np.linalg.eigh(system)
        by = (right[:, None] @ turned)[:, 0] / np.maximum(np.abs(size), CURVED)
        found[fine] = (turned @ by[:, :, None])[:, :, 0]
    return found


def _longest(*pairs: tuple[FloatArray, FloatArray]) -> FloatArray:
    """The longest steps, at most 1, that leave positive values positive; shape (n_boxes, 1)."""
    most = np.max([(-change / value).max(axis=1, initial=0.0) for value, change in pairs], axis=0)
    found: FloatArray = np.minimum(1.0, INSIDE / np.maximum(most, TINY))[:, None]
    return found
