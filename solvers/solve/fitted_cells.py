"""Answer when time is up before any point is feasible: proportional fitting of the cells.

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
from maxent.solvers.solve.pieces import uniform_answer

# Rounds of fitting every sum once, at most, and those of each start that are worth being a little late.
ROUNDS, FEW = 100, 3
# Processor seconds that these few rounds may take in all.
QUICK = 0.75
# Change of a factor that is none.
CLOSE = 1e-9
# Sets of facts that overlap, at most; those in none are not fitted.
SETS = 3


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """Sums that share no mass, over the regions of each, and their intervals, shapes (n, n_classes) or (n, 1)."""

    region: IntArray
    low: FloatArray
    high: FloatArray


def nearer(
    program: Program, evaluator: Evaluator, masses: FloatArray, tolerance: float, late: Callable[[], bool]
) -> FloatArray:
    """The masses that miss the constraints least, shape (n_cells, n_classes), of all that there is time for.

    They are these where linear ones are met. Else the uniform answer is fitted, then these are, for `FEW` rounds each
    as far as `QUICK` allows, and then whichever is nearer until ``late`` says to end; it is asked after each block of
    sums. Sums of several classes (but not of all), and sums with other coefficients than 1, are not fitted.
    """
    begin = time.thread_time()
    if evaluator.linear.violation(masses).max(initial=0.0) <= tolerance:
        return masses

    def quick() -> bool:
        return late() and time.thread_time() - begin > QUICK

    blocks, best = _blocks(program), _Best(masses, evaluator.max_violation(masses))
    uniform = uniform_answer(program)
    fits = [_Fit(program, evaluator, blocks, uniform)]
    if not np.array_equal(uniform, masses):
        fits.append(_Fit(program, evaluator, blocks, np.maximum(masses, 0.0)))
    for fit in fits:
        for _ in range(FEW):
            best = fit.next(best, quick)
    nearest = min(fits, key=lambda fit: fit.violation)
    for _ in range(FEW, ROUNDS):
        if late() or nearest.settled:
            break
        best = nearest.next(best, late)
    return best.masses


@dataclass(frozen=True, slots=True, eq=False)
class _Best:
    """Masses, and by how much they miss the constraints."""

    masses: FloatArray
    violation: float


@dataclass(slots=True, eq=False)
class _Fit:
    """Masses that are fitted, round by round, until a round changes nothing."""

    program: Program
    evaluator: Evaluator
    blocks: list[_Block]
    masses: FloatArray
    violation: float = np.inf
    settled: bool = False

    def next(self, best: _Best, late: Callable[[], bool]) -> _Best:
        """The better of some masses and those after another round, or as much of it as there is time for."""
        if self.settled or late():
            return best
        self.masses, change = _round(self.program, self.blocks, self.masses.copy(), late)
        self.violation = self.evaluator.max_violation(self.masses)
        self.settled = change <= CLOSE
        return _Best(self.masses, self.violation) if self.violation < best.violation else best


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
        off = (factor != 1.0).any(axis=1)
        if not off.all():  # of intervals few are
            held, factor, length = np.repeat(off, length), factor[off], length[off]
            cells, inside = cells[held], inside[held]
        fitted = inside * np.repeat(factor, length, axis=0)
        if program.single:
            masses[cells] = fitted * (program.weight[cells] / np.maximum(fitted.sum(axis=1), TINY))[:, None]
        else:
            masses[cells] = fitted
            total = np.bincount(owner, masses.sum(axis=1), len(counts))[owner]
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
