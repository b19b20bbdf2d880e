"""Closed-form answer of groups that no constraint connects.

A pooled quasi-identifier with bounds on each class's mass, and perhaps a label, has the entropy maximum
``m_x = clip(t, lower_x, upper_x)`` with the water level t at which the masses add up to its individuals. This covers
rates (the label's mass is fixed, the other classes share the rest equally), counts, intervals and facts.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maxent.constraints.presolve.merge import Merged
from maxent.constraints.presolve.placed import placed, spans_of
from maxent.constraints.presolve.statements import statement_rows
from maxent.constraints.program import Linear, Program
from maxent.models.arrays import BoolArray, FloatArray, IntArray

# Groups whose closed forms are computed together: their break points are sorted, which takes memory.
AT_ONCE = 65_536


def solve_leafwise(
    program: Program, merged: Merged, linear: IntArray, check: Callable[[], None] = lambda: None
) -> tuple[FloatArray, BoolArray]:
    """Closed forms for all groups that no constraint links to another.

    ``check`` is called before each `AT_ONCE` of them, and may raise.

    Returns
    -------
    masses : shape (n_groups, n_classes); where a group's bounds contradict each other, the nearest point to them
        (the miss shows in the residuals); uniform where a group is linked to others
    solved : shape (n_groups,), which groups are linked to no other
    """
    n_groups, n = len(merged.owner), program.n_classes
    weight = merged.weight[merged.owner]
    constraints = [program.linear[i] for i in linear.tolist()]
    table = statement_rows(constraints, n)
    label_of = np.array([int(c.coef[0].argmax()) if c.kind == "label" else -1 for c in constraints], np.int64)
    several = np.bincount(table.of, (table.alone < 0) & (label_of[table.of] < 0), len(constraints)) > 0
    group, linked = _alone(program, merged, constraints, several)
    solved = ~linked & (np.bincount(merged.owner, minlength=len(merged.weight))[merged.owner] == 1)
    labelled = np.flatnonzero((label_of >= 0) & (group >= 0))
    label = np.full(n_groups, -1, np.int64)
    label[group[labelled]] = label_of[labelled]
    solved[group[labelled][label[group[labelled]] != label_of[labelled]]] = False  # two trees name classes that tie
    lower, upper = np.zeros((n_groups, n)), np.repeat(weight[:, None], n, axis=1)
    bounds = np.flatnonzero((label_of[table.of] < 0) & (group[table.of] >= 0))
    at = group[table.of[bounds]], table.alone[bounds]
    np.maximum.at(lower, at, table.lower[bounds])
    np.minimum.at(upper, at, table.upper[bounds])
    masses = np.repeat((weight / n)[:, None], n, axis=1)
    for some in np.array_split(np.flatnonzero(solved), 1 + n_groups // AT_ONCE):
        check()
        masses[some] = water_fill(weight[some], lower[some], upper[some], label[some])
    return masses, solved


def _alone(
    program: Program, merged: Merged, constraints: list[Linear], several: BoolArray
) -> tuple[IntArray, BoolArray]:
    """The one group that each constraint is about, -1 where there are more; and which groups are linked by one."""
    # A constraint that ``several`` marks bounds a sum over classes: the closed form cannot take it in.
    trees = placed(program.cells, merged.cell)
    places = [program.regions.places[c.region] for c in constraints]
    at = np.array([i for i, place in enumerate(places) if place is not None], np.int64)
    tree, low, high = spans_of(trees, [place for place in places if place is not None])
    group, linked = np.full(len(constraints), -1, np.int64), np.zeros(len(merged.owner), bool)
    for t, held in enumerate(trees):
        alone = (tree == t) & (high - low == 1) & ~several[at]
        group[at[alone]] = held.order[low[alone]]
        beside = (tree == t) & ~alone
        linked[held.order[held.covered(low[beside], high[beside])]] = True
    for i, place in enumerate(places):
        if place is None:
            inside = np.unique(merged.group[program.regions[constraints[i].region]])
            if len(inside) == 1 and not several[i]:
                group[i] = inside[0]
            else:
                linked[inside] = True
    return group, linked


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
