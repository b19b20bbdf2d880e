"""Bounds on single masses from the linear statements of a part, and statements that follow from bounds."""

from __future__ import annotations

import numpy as np

from maxent.constraints.presolve.merge import EXACT
from maxent.constraints.presolve.part_view import PartRows, PartView, add_up
from maxent.models.arrays import BoolArray, FloatArray, IntArray, ranges

# Bounds closer than this share of the quasi-identifier's individuals are one value.
FIXED = 1e-12
# Masses in the rows that are looked at together, about.
AT_A_TIME = 100_000
# Rounds of propagation; more would follow sequences of bounds that only converge.
PASSES = 8


def tighten(view: PartView, rows: PartRows) -> None:
    """Tighten bounds on single masses as the quasi-identifiers' totals and single statements imply."""
    one = rows.take(np.flatnonzero(rows.table.alone >= 0))
    several = rows.take(np.flatnonzero(rows.table.alone < 0))
    for _ in range(PASSES):
        before = view.lower.sum(), view.upper.sum()
        _by_totals(view)
        _by_classes(view, one)
        _by_extremes(view, several)
        if before == (view.lower.sum(), view.upper.sum()):
            return


def _by_totals(view: PartView) -> None:
    """Bounds of each mass of a quasi-identifier from its individuals and the bounds of the other masses."""
    low, high = _owner_sums(view)
    total = view.owner_weight
    spare_low, spare_high, slack = np.stack([total - low, total - high, FIXED * np.maximum(1.0, total)])[:, view.owner]
    view.lower, view.upper = _bounded(view.lower, view.upper, spare_low[:, None], spare_high[:, None], slack[:, None])


def _by_classes(view: PartView, rows: PartRows) -> None:
    """Bounds of each mass of a class in a region from the class total and the bounds of the other masses."""
    table, n_classes = rows.table, view.lower.shape[1]
    start, stop = rows.inside.indptr[rows.region], rows.inside.indptr[rows.region + 1]
    about = np.flatnonzero(stop > start)
    before_lower, before_upper = view.lower.ravel(), view.upper.ravel()
    lower, upper = before_lower.copy(), before_upper.copy()
    # All rows see the bounds before: a few at a time only keep the arrays of their masses small.
    ends = np.cumsum((stop - start)[about])
    for some in np.split(about, np.searchsorted(ends, np.arange(AT_A_TIME, ends[-1] if len(ends) else 0, AT_A_TIME))):
        if not len(some):
            continue
        length = stop[some] - start[some]
        often = np.repeat(np.arange(len(some)), length)
        at = rows.inside.indices[ranges(start[some], stop[some])].astype(np.int64) * n_classes
        at += table.alone[some][often]
        low, high = before_lower[at], before_upper[at]
        first = np.cumsum(length) - length
        spare_low = table.upper[some] - np.add.reduceat(low, first)
        spare_high = table.lower[some] - np.add.reduceat(high, first)
        slack = FIXED * np.maximum(1.0, np.where(np.isfinite(table.lower[some]), np.abs(table.lower[some]), 1.0))
        new_lower, new_upper = _bounded(low, high, spare_low[often], spare_high[often], slack[often])
        np.minimum.at(upper, at, new_upper)
        np.maximum.at(lower, at, new_lower)
    view.lower, view.upper = np.minimum(lower, upper).reshape(view.lower.shape), upper.reshape(view.upper.shape)


def _bounded(
    low: FloatArray, high: FloatArray, spare_low: FloatArray, spare_high: FloatArray, slack: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Bounds of the terms of a sum: they may rise by ``spare_low`` together, and have to fall by ``-spare_high``."""
    new_high = np.minimum(high, low + np.maximum(spare_low, 0.0))
    new_low = np.maximum(low, np.minimum(high + np.minimum(spare_high, 0.0), new_high))
    least, most = np.abs(spare_low) <= slack, np.abs(spare_high) <= slack
    new_high = np.where(least, low, new_high)
    new_low = np.where(most & ~least, high, new_low)
    return np.minimum(new_low, new_high), new_high


def _by_extremes(view: PartView, rows: PartRows) -> None:
    """Fix the masses of a statement that only the extreme of its bounds satisfies, such as ``n 0``."""
    if not len(rows):
        return
    table = rows.table
    least, most = rows.reach(*region_sums(view, rows))
    bounds = np.stack([table.lower, table.upper])
    slack = FIXED * np.maximum(1.0, np.where(np.isfinite(bounds), np.abs(bounds), 1.0).max(axis=0))
    at_least = np.abs(least - table.upper) <= slack
    at_most = ~at_least & (np.abs(most - table.lower) <= slack)
    for forced, sign in ((at_least, 1.0), (at_most, -1.0)):
        entry = np.flatnonzero(forced[rows.row_of])
        group, klass, coef = spread(rows, entry)
        low, high = sign * coef > 0, sign * coef < 0
        view.upper[group[low], klass[low]] = view.lower[group[low], klass[low]]
        view.lower[group[high], klass[high]] = view.upper[group[high], klass[high]]


def spread(rows: PartRows, entry: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Group, class and coefficient of every mass that some coefficients of rows stand before."""
    over = rows.over[entry]
    start, stop = rows.inside.indptr[over], rows.inside.indptr[over + 1]
    often, at = stop - start, ranges(start, stop)
    coef = np.repeat(rows.table.coef[entry], often) * rows.inside.data[at]
    return rows.inside.indices[at], np.repeat(rows.table.klass[entry], often), coef


def region_sums(view: PartView, rows: PartRows) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest sums of each class in each set, by the bounds of masses, shapes (n_sets, n_classes)."""
    if not rows.table.weighted.any():
        return np.asarray(rows.inside @ view.lower), np.asarray(rows.inside @ view.upper)
    more, less = rows.inside.maximum(0), rows.inside.minimum(0)
    least, most = more @ view.lower + less @ view.upper, more @ view.upper + less @ view.lower
    return np.asarray(least), np.asarray(most)


def _owner_sums(view: PartView) -> tuple[FloatArray, FloatArray]:
    """Sums of the lower and of the upper bounds of each quasi-identifier, shapes (n_owners,)."""
    n = len(view.owner_weight)
    return add_up(view.owner, view.lower.sum(axis=1), n), add_up(view.owner, view.upper.sum(axis=1), n)


def possible(view: PartView, rows: PartRows) -> bool:
    """Whether the bounds leave every total and every statement a chance."""
    low, high = _owner_sums(view)
    slack = EXACT * np.maximum(1.0, view.owner_weight * view.whole)
    if (low > view.owner_weight + slack).any() or (high < view.owner_weight - slack).any():
        return False
    least, most = rows.reach(*region_sums(view, rows))
    slack = EXACT * np.maximum(1.0, (rows.inside @ view.weight)[rows.region])
    return bool((least <= rows.table.upper + slack).all() and (most >= rows.table.lower - slack).all())


def settled(view: PartView, rows: PartRows, fixed: BoolArray) -> tuple[BoolArray, BoolArray]:
    """Masks of the totals of quasi-identifiers, (n_owners,), and statements, (n_rows,), that the bounds make true."""
    low, high = _owner_sums(view)
    free = ~fixed.all(axis=1)
    any_free = np.bincount(view.owner, free, len(low)) > 0
    totals = _true(low, high, view.owner_weight, view.owner_weight, any_free)
    least, most = rows.reach(*region_sums(view, rows))
    any_free = (rows.inside @ free.astype(np.float64))[rows.region] > 0
    return totals, _true(least, most, rows.table.lower, rows.table.upper, any_free)


def _true(least: FloatArray, most: FloatArray, lower: FloatArray, upper: FloatArray, free: BoolArray) -> BoolArray:
    slack = np.where(free, 1e-12 * np.maximum(1.0, np.abs(most)), EXACT)
    return (least >= lower - slack) & (most <= upper + slack)
