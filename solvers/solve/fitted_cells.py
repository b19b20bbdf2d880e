"""What to answer when time is up before anything met the statements: proportional fitting of the cells themselves.

It needs neither presolve nor a back end, and its first rounds take about as long as evaluating the statements: each sum
of masses in turn is scaled into its interval, the sums of a depth of a tree together, and afterwards everybody back to
their individuals (Darroch & Ratcliff, "Generalized iterative scaling for log-linear models", Ann. Math. Statist. 43,
1972; for inequalities Bregman, 1967). What meets the statements already stays as it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from maxent.constraints.presolve.statements import statement_rows
from maxent.constraints.program import Program
from maxent.constraints.residuals import Evaluator
from maxent.models.arrays import TINY, FloatArray, IntArray, ranges

ROUNDS, FEW = 100, 3
"""Rounds of fitting every sum once, at most, and those that are worth being a little late."""

QUICK = 0.2
"""Processor seconds of evaluating the statements up to which a few rounds make nobody wait."""

CLOSE = 1e-9
"""Change of a factor that is none."""

SETS = 3
"""Sets of facts that overlap, at most; those in none are not fitted."""


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """Sums that share no mass, over the regions of each, and their intervals, shapes (n, n_classes) or (n, 1)."""

    region: IntArray
    low: FloatArray
    high: FloatArray


def nearer(
    program: Program, evaluator: Evaluator, masses: FloatArray, tolerance: float, late: Callable[[], bool]
) -> FloatArray:
    """Masses that miss the constraints by less than some do, shape (n_cells, n_classes).

    They are these where linear ones are met, and where a few rounds lead to nothing better. ``late`` says to end; it is
    asked after each block of sums, but not before `FEW` rounds where these take no time. Sums of several classes (but
    not of all), and sums with other coefficients than 1, are not fitted.
    """
    begin = time.thread_time()
    if evaluator.linear.violation(masses).max(initial=0.0) <= tolerance:
        return masses
    sure = FEW if time.thread_time() - begin < QUICK else 0
    blocks, found, whole = _blocks(program), np.maximum(masses, 0.0), False
    for number in range(ROUNDS):
        ends, last = late if number >= sure else lambda: False, found
        found, change = _round(program, blocks, last.copy(), ends)
        if ends():
            found = last if whole else found  # halfway through a round the first sums are off again
            break
        whole = True
        if change <= CLOSE:
            break
    return found if evaluator.max_violation(found) < evaluator.max_violation(masses) else masses


def _round(
    program: Program, blocks: list[_Block], masses: FloatArray, late: Callable[[], bool]
) -> tuple[FloatArray, float]:
    """Masses after a round, in place, and by how much a factor of it differs from 1 at most."""
    regions, owner, change = program.regions, program.cells.owner, 0.0
    counts = program.table.counts.astype(np.float64)
    for block in blocks:
        if late():
            break
        start, stop = regions.indptr[block.region], regions.indptr[block.region + 1]
        cells, length = regions.indices[ranges(start, stop)], stop - start
        inside = masses[cells]
        sums = np.add.reduceat(inside, np.cumsum(length) - length, axis=0)
        if block.low.shape[1] == 1:
            sums = sums.sum(axis=1, keepdims=True)
        factor = np.clip(sums, block.low, block.high) / np.maximum(sums, TINY)
        factor[sums <= TINY] = 1.0
        change = max(change, float(np.abs(factor - 1.0).max()))
        masses[cells] = inside * np.repeat(factor, length, axis=0)
        total = masses.sum(axis=1)
        total = total if program.single else np.bincount(owner, total, len(counts))[owner]
        masses *= (program.weight / np.maximum(total, TINY))[:, None]
    return masses, change


def _blocks(program: Program) -> list[_Block]:
    """The sums of a program in blocks: those of single classes, and then those of all classes together."""
    table = statement_rows(program.linear, program.n_classes)
    region = np.array([constraint.region for constraint in program.linear], np.int64)[table.of]
    length, ones = np.diff(table.ends), np.ones(len(table), bool)
    np.logical_and.at(ones, np.repeat(np.arange(len(table)), length), table.coef == 1.0)
    filled, blocks = np.diff(program.regions.indptr)[region] > 0, []
    whole = ones & ~table.weighted & (length == program.n_classes)
    for rows, single in ((table.alone >= 0, True), (whole & (table.alone < 0), False)):
        those = np.flatnonzero(rows & filled)
        for regions in _apart(program, np.unique(region[those])):
            mine = those[np.isin(region[those], regions)]
            at = np.searchsorted(regions, region[mine]), table.alone[mine] if single else np.zeros(len(mine), np.int64)
            shape = len(regions), program.n_classes if single else 1
            low, high = np.full(shape, -np.inf), np.full(shape, np.inf)
            np.maximum.at(low, at, table.lower[mine])
            np.minimum.at(high, at, table.upper[mine])
            blocks.append(_Block(regions, low, np.maximum(low, high)))
    return blocks


def _apart(program: Program, regions: IntArray) -> list[IntArray]:
    """Sets of regions that share no cell: inner nodes by depth, leaves, and facts as far as a few sets hold them."""
    group = np.empty((len(regions), 2), np.int64)
    depths: dict[int, IntArray] = {}
    for i, region in enumerate(regions.tolist()):
        place = program.regions.places[region]
        if place is not None and place[0] not in depths:
            places = program.cells.trees[place[0]].places
            depths[place[0]] = np.empty(len(places), np.int64)
            for depth, level in enumerate(places.levels):
                depths[place[0]][level] = np.where(places.n_branches[level] > 0, depth, len(places.levels))
        group[i] = (-1, 0) if place is None else (place[0], depths[place[0]][place[1]])
    facts, told = regions[group[:, 0] < 0], group[group[:, 0] >= 0]
    number = np.unique(told, axis=0, return_inverse=True)[1].ravel()
    order = np.argsort(number, kind="stable")
    found = np.split(regions[group[:, 0] >= 0][order], np.flatnonzero(np.diff(number[order])) + 1)
    for _ in range(SETS):
        start, stop = program.regions.indptr[facts], program.regions.indptr[facts + 1]
        cells, of = program.regions.indices[ranges(start, stop)], np.repeat(np.arange(len(facts)), stop - start)
        taken = np.full(len(program.cells), len(facts))
        np.minimum.at(taken, cells, of)
        free = np.ones(len(facts), bool)
        free[of[taken[cells] < of]] = False
        found.append(facts[free])
        facts = facts[~free]
    return [regions for regions in found if len(regions)]
