"""Finds statements of a part that repeat other statements about the same individuals."""

from __future__ import annotations

import numpy as np

from maxent.constraints.presolve.bounds import region_sums
from maxent.constraints.presolve.merge import EXACT
from maxent.constraints.presolve.part_view import PartRows, PartView
from maxent.models.arrays import BoolArray, FloatArray, IntArray


def without_repeats(view: PartView, rows: PartRows, fixed: BoolArray) -> IntArray:
    """Rows to keep, increasing.

    Left out are labels that the known class totals of a region settle, and one of the class totals that add up to the
    region's size.
    """
    size = view.sizes(rows.inside)
    drop = _settled_labels(view, rows, size)
    drop[_last_totals(view, rows, size, fixed)] = True
    return np.flatnonzero(~drop)


def _settled_labels(view: PartView, rows: PartRows, size: FloatArray) -> BoolArray:
    table, one = rows.table, rows.table.alone >= 0
    low, high = region_sums(view, rows)
    at = rows.region[one], table.alone[one]
    np.maximum.at(low, at, table.lower[one])
    np.minimum.at(high, at, table.upper[one])
    others = low.sum(axis=1, keepdims=True) - low
    high = np.fmin(high, size[:, None] - others)
    least, _ = rows.reach(low, np.maximum(low, high))
    plain = ~one & ~table.weighted
    result: BoolArray = plain & ~np.isnan(size)[rows.region] & np.isinf(table.upper) & (least >= table.lower - EXACT)
    return result


def _last_totals(view: PartView, rows: PartRows, size: FloatArray, fixed: BoolArray) -> IntArray:
    """The largest of a region's exact class totals, where the others and the region's size imply it."""
    table, n = rows.table, fixed.shape[1]
    exact = np.flatnonzero((table.alone >= 0) & (table.lower == table.upper))
    key, first = np.unique(rows.region[exact] * n + table.alone[exact], return_index=True)
    exact, region = exact[first], key // n
    n_regions = len(size)
    open_ = np.asarray(rows.inside @ (~fixed).astype(np.float64)) > 0
    open_[region, table.alone[exact]] = False
    low, _ = region_sums(view, rows)
    low[region, table.alone[exact]] = 0.0  # said exactly: not to be added twice
    total = np.where(open_, 0.0, low).sum(axis=1) + np.bincount(region, table.lower[exact], n_regions)
    complete = ~open_.any(axis=1) & (np.abs(total - size) <= EXACT)
    order = np.lexsort((table.lower[exact], region))
    last = order[np.flatnonzero(np.diff(region[order], append=-1))]
    result: IntArray = exact[last[complete[region[last]]]]
    return result
