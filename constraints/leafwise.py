"""The answer where nothing links groups to one another: a closed form per group.

A pooled quasi-identifier with bounds on each class's mass, and perhaps a label, has the entropy maximum
``m_x = clip(t, lower_x, upper_x)`` with the water level t at which the masses add up to its individuals. This covers
rates (the label's mass is fixed, the other classes share the rest equally), counts, intervals and facts.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from maxent.constraints.program import Linear, Program
from maxent.constraints.reduce import Merged, region_groups

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


def solve_leafwise(program: Program, merged: Merged, linear: IntArray) -> tuple[FloatArray, BoolArray]:
    """Closed forms for all groups that no constraint links to another.

    Returns
    -------
    masses : shape (n_groups, n_classes); where a group's bounds contradict each other, the nearest point to them
        (the miss shows in the residuals)
    solved : shape (n_groups,), which groups are linked to no other
    """
    n_groups, n = len(merged.owner), program.n_classes
    weight = merged.weight[merged.owner]
    solved = np.bincount(merged.owner, minlength=len(merged.weight))[merged.owner] == 1
    touch = region_groups(program, merged)
    alone = np.diff(touch.indptr) == 1
    lower, upper = np.zeros((n_groups, n)), np.repeat(weight[:, None], n, axis=1)
    label = np.full(n_groups, -1, np.int64)
    for i in linear:
        constraint = program.linear[i]
        groups = touch.indices[touch.indptr[constraint.region] : touch.indptr[constraint.region + 1]]
        if not alone[constraint.region] or not _bounds_one_class(constraint):
            solved[groups] = False
        elif constraint.kind == "label":
            x = int(constraint.coef[0].argmax())
            solved[groups] &= label[groups] in (-1, x)  # two trees may name two classes that tie
            label[groups] = x
        else:
            x = constraint.coef.argmax(axis=1)
            lower[groups[0], x] = np.maximum(lower[groups[0], x], constraint.lower)
            upper[groups[0], x] = np.minimum(upper[groups[0], x], constraint.upper)
    return water_fill(weight, lower, upper, label), solved


def _bounds_one_class(constraint: Linear) -> bool:
    """Whether each row bounds the mass of one class (a label's rows are taken together instead)."""
    if constraint.kind in ("label", "counts", "marginal", "facts"):
        return True
    return bool(((constraint.coef == 0) | (constraint.coef == 1)).all() and (constraint.coef.sum(axis=1) == 1).all())


def water_fill(weight: FloatArray, lower: FloatArray, upper: FloatArray, label: IntArray) -> FloatArray:
    """Entropy maximum of each row under bounds, a total and, where ``label >= 0``, ``m[label] >= m[x]``.

    Shapes: weight (n,), lower and upper (n, n_classes), label (n,); all in individuals. Rows whose bounds cannot meet
    their total get the bounds scaled to it.
    """
    lower, upper = np.minimum(lower, upper), np.maximum(lower, upper)
    rows = np.flatnonzero(label >= 0)
    at = label[rows]
    lower, upper = lower.copy(), upper.copy()
    lower[rows, at] = np.minimum(np.maximum(lower[rows, at], lower[rows].max(axis=1, initial=0.0)), upper[rows, at])
    cap = upper[rows, at]
    capped = np.maximum(np.minimum(upper[rows], cap[:, None]), lower[rows])
    capped[np.arange(len(rows)), at] = cap
    upper[rows] = capped
    level = _water_level(weight, lower, upper)
    masses = np.clip(level[:, None], lower, upper)
    total = masses.sum(axis=1)
    # The level is exact up to rounding; scale what is left of it (or of contradicting bounds) away.
    loose = (masses > lower) & (masses < upper)
    spread = np.where(loose, masses, 0.0).sum(axis=1)
    fits = (lower.sum(axis=1) <= weight) & (upper.sum(axis=1) >= weight) & (spread > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(fits, 1.0 + (weight - total) / spread, 1.0)
        masses = np.where(loose, masses * factor[:, None], masses)
        total = masses.sum(axis=1)
        scaled = np.where(total[:, None] > 0, masses * (weight / total)[:, None], weight[:, None] / masses.shape[1])
    agree = np.abs(total - weight) <= 1e-12 * weight
    return np.where(agree[:, None], masses, scaled)


def _water_level(weight: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """The t with ``sum_x clip(t, lower, upper) = weight``, shape (n,): exact, from the sorted break points."""
    n, n_classes = lower.shape
    knots = np.concatenate([lower, upper], axis=1)
    slope = np.concatenate([np.ones_like(lower), -np.ones_like(upper)], axis=1)
    order = np.argsort(knots, axis=1, kind="stable")
    knots = np.take_along_axis(knots, order, axis=1)
    slope = np.cumsum(np.take_along_axis(slope, order, axis=1), axis=1)  # of the sum right of each knot
    rise = slope[:, :-1] * np.diff(knots, axis=1)
    filled = np.concatenate([np.zeros((n, 1)), np.cumsum(rise, axis=1)], axis=1) + lower.sum(axis=1, keepdims=True)
    i = np.clip((filled <= weight[:, None]).sum(axis=1) - 1, 0, 2 * n_classes - 2)
    row = np.arange(n)
    level: FloatArray = knots[row, i] + (weight - filled[row, i]) / np.maximum(slope[row, i], 1.0)
    return level
