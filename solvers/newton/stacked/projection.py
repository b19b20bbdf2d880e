"""Projects nearly feasible points to feasible ones, for all items; see `maxent.solvers.newton.projection`."""

from __future__ import annotations

import numpy as np

from maxent.models.arrays import TINY, BoolArray, FloatArray
from maxent.solvers.clock import SOON
from maxent.solvers.newton.projection import INSIDE, RAISES, STEPS
from maxent.solvers.newton.stacked.gradients import Centring
from maxent.solvers.newton.stacked.model import Stack
from maxent.solvers.newton.stacked.operators import Points

# Eigenvalues of the rows' matrix, as a share of the largest, that count as 0.
SINGULAR = 1e-10
# What a step is multiplied with that does not come closer, and how often.
SHORTER, TIMES = 0.4, 8


def project(stack: Stack, points: Points, pull: FloatArray, floor: float) -> Points:
    """The nearest points that meet all constraints; ``floor`` is the smallest probability left on the way."""
    people, n = stack.people, stack.n_rows
    points = _raise(stack, points, floor)
    going = np.ones(stack.n_items, bool)
    for _ in range(STEPS):
        going &= stack.worst(stack.violation(points)) > 0.1 * INSIDE
        if not going.any() or stack.clock.late() > SOON:
            break
        c = points.c
        rows = (c < 0) | ((c < 1e-6 * people) & (pull > 0)) | (c < 1e-9 * people)
        rows &= going[stack.of_row]
        d = _shortest(stack, points, rows, np.where(rows, np.maximum(INSIDE * people - c, 0.0), 0.0), n)
        points, going = _closer(stack, points, d, going, floor)
    return points


def _shortest(stack: Stack, points: Points, rows: BoolArray, wanted: FloatArray, n: int) -> FloatArray:
    """The shortest directions that change some rows as wanted, to first order."""
    places = stack.gradients(np.flatnonzero(rows[n:]))
    c = places.centred(Centring(stack, points.m), stack.slopes(points).by_mass)
    weighted = c * points.m[places.group]
    places.put(c, weighted)
    gram = places.gram(c, weighted)
    chosen = rows[places.rows]
    diagonal = gram[places.item, places.number, places.number]
    scale = np.where(chosen, 1.0 / np.sqrt(np.maximum(diagonal, TINY)), 0.0)
    by_item = np.zeros(gram.shape[:2])
    by_item[places.item, places.number] = scale
    gram *= by_item[:, :, None] * by_item[:, None, :]
    right = np.zeros((*gram.shape[:2], 1))
    right[places.item, places.number, 0] = wanted[places.rows] * scale
    weights = (np.linalg.pinv(gram, rcond=SINGULAR, hermitian=True) @ right)[places.item, places.number, 0] * scale
    shortest: FloatArray = (places.transposed @ weights).reshape(points.m.shape)
    return shortest


def _closer(stack: Stack, points: Points, d: FloatArray, going: BoolArray, floor: float) -> tuple[Points, BoolArray]:
    """The first of ever shorter steps that lowers an item's violations, and which items have one."""
    now, waiting, size = stack.over_rows(stack.violation(points)), going, 1.0
    found = np.zeros(len(going), bool)
    for _ in range(TIMES):
        share = stack.spread(np.where(waiting, size, 0.0))
        new = _raise(stack, stack.step(points, share * d), floor)
        better = waiting & (stack.over_rows(stack.violation(new)) < now)
        points, found, waiting = stack.merged(better, new, points), found | better, waiting & ~better
        if not waiting.any():
            break
        size *= SHORTER
    return points, found


def _raise(stack: Stack, points: Points, floor: float) -> Points:
    """Clip probabilities from below; the totals and equations that then have to be met again lower them a little."""
    if floor <= 0:
        return points
    lowest = np.log(floor)
    for _ in range(RAISES):
        short = lowest - points.log_p
        low = np.maximum.reduceat(short.max(axis=1), stack.layout.groups[:-1]) > 0.01
        if not low.any():
            break
        points = stack.merged(low, stack.step(points, np.maximum(short, 0.0)), points)
    return points
