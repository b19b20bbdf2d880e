r"""Lagrangians in boxes, made concave by quadratic terms that vanish at the ends of a box.

Between two ends ``l <= v <= h`` of a function ``(v - l)(h - v) >= 0``, and the convex terms of a comparison are below
their chords. So every feasible m of a box has, with multipliers mu of the comparisons c, nu of the same with chords,
and any weights kappa, all of them at least 0,

    H(m) <= F(m) = H(m) + mu'c(m) + nu'c_chords(m) + sum_j kappa_j / 2 (v_j - l_j)(h_j - v_j),

also with multipliers of the ends and of other linear rows. Rows are in the order: comparisons, those with chords, what
functions are above and below their ends, and inequalities.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from maxent.models.arrays import TINY, BoolArray, FloatArray, IntArray
from maxent.solvers.bounds.boxes.setting import Setting
from maxent.solvers.bounds.divergence.multipliers import STEEP


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Left sides of rows >= 0, shape (n_boxes, n_rows), the sums ``a``, and gradients of the curved rows by these."""

    left: FloatArray
    a: FloatArray
    by_sums: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Lagrangians:
    """F in boxes with ``low`` and ``high`` ends, ``flat`` the weights kappa, None without squares."""

    setting: Setting
    low: FloatArray
    high: FloatArray
    flat: FloatArray | None
    chord: FloatArray
    const: FloatArray
    straight: FloatArray
    straight_z: FloatArray
    sums_z: FloatArray

    @classmethod
    def of(cls, setting: Setting, low: FloatArray, high: FloatArray, flat: FloatArray | None) -> Lagrangians:
        """With the chords of boxes."""
        curves, across = setting.at.curves, setting.at.across
        least, most = setting.ends(low, high)
        begin = curves.phi(least)
        chord = (curves.phi(most) - begin) / np.maximum(most - least, TINY)
        const = setting.const + (begin - chord * least) @ np.maximum(setting.coef, 0.0).T
        straight = np.vstack([setting.along, -setting.along, setting.at.rows.unequal])
        return cls(setting, low, high, flat, chord, const, straight, straight @ across, curves.sums @ across)

    def take(self, some: IntArray | BoolArray) -> Lagrangians:
        """In some of the boxes."""
        low, high, chord, const = (each[some] for each in (self.low, self.high, self.chord, self.const))
        flat = None if self.flat is None else self.flat[some]
        return replace(self, low=low, high=high, chord=chord, const=const, flat=flat)

    def rows(self, m: FloatArray) -> Rows:
        """The rows at masses, shape (n_boxes, n)."""
        s, curves = self.setting, self.setting.at.curves
        a, v = np.maximum(m @ curves.sums.T + curves.shift, TINY), m @ s.along.T
        up, down = np.maximum(s.coef, 0.0), np.minimum(s.coef, 0.0)
        value, slope = curves.phi(a), curves.slopes(a)[:, None]
        between = self.const + (self.chord * a) @ up.T + value @ down.T
        beside = m @ s.at.rows.unequal.T - s.at.rows.least
        left = np.concatenate([s.const + value @ s.coef.T, between, v - self.low, self.high - v, beside], axis=1)
        return Rows(left, a, np.concatenate([s.coef * slope, up * self.chord[:, None] + down * slope], axis=1))

    def value(self, m: FloatArray, rows: Rows, multipliers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """F, shape (n_boxes,), and its gradient but for the rows' part, shape (n_boxes, n)."""
        logs, along = np.log(m / self.setting.at.rows.linear.weight), self.setting.along
        value, gradient = (multipliers * rows.left).sum(axis=1) - (m * logs).sum(axis=1), -logs - 1.0
        if self.flat is not None:
            v = m @ along.T
            value = value + 0.5 * (self.flat * (v - self.low) * (self.high - v)).sum(axis=1)
            gradient = gradient + (self.flat * (0.5 * (self.low + self.high) - v)) @ along
        return value, gradient

    def slope(self, gradient: FloatArray, rows: Rows, multipliers: FloatArray) -> FloatArray:
        """The gradient with the rows' part."""
        curved = 2 * len(self.setting.mu)
        by_sums = (multipliers[:, None, :curved] @ rows.by_sums)[:, 0]
        found: FloatArray = gradient + by_sums @ self.setting.at.curves.sums + multipliers[:, curved:] @ self.straight
        return found

    def tangent(self, m: FloatArray, slope: FloatArray) -> FloatArray:
        """What tangents gain from masses at most, over all masses of owners, and what these may miss."""
        s, rows = self.setting, self.setting.at.rows
        y = s.by_equations(m, ((m * slope) @ rows.equal.T)[:, :, None])[:, :, 0]
        rest, off = slope - y @ rows.equal, np.abs(m @ rows.equal.T - rows.value).sum(axis=1)
        missed = STEEP * (1.0 + np.abs(y).max(axis=1, initial=0.0)) * off
        found: FloatArray = s.of_owners(rest) @ s.total - (rest * m).sum(axis=1) + missed
        return found

    def hessian(self, m: FloatArray, rows: Rows, multipliers: FloatArray) -> FloatArray:
        """Negative curvature of F along the directions of the answer."""
        s, curves, across, k = self.setting, self.setting.at.curves, self.setting.at.across, len(self.setting.mu)
        gamma = multipliers[:, :k] @ s.coef + multipliers[:, k : 2 * k] @ np.minimum(s.coef, 0.0)
        by_sums = gamma * np.where(curves.entropy, 1.0 / rows.a, 2.0 / curves.size)
        found: FloatArray = (across.T / m[:, None]) @ across - (self.sums_z.T * by_sums[:, None]) @ self.sums_z
        if self.flat is not None:
            along = s.along @ across
            found = found + (along.T * self.flat[:, None]) @ along
        return found
