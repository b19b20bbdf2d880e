r"""Closed-form bounds for each quasi-identifier from the totals of single regions (Frechet bounds).

A region holds n people, w of them with a quasi-identifier, and between L and U of them are of a class. Then of those w
at least ``max(0, w - (n - L))`` and at most ``min(w, U)`` are of that class. For one tree whose splits are public that
is exact: the region of a leaf is a table with known margins (Frechet 1940; Dobra & Fienberg, "Bounds for cell entries
in contingency tables given marginal totals and decomposable graphs", PNAS 97, 2000). Where regions overlap each still
gives bounds; what one leaves of the others is passed on, in a few rounds, as intervals.

The unknowns are those of whole quasi-identifiers: where private attributes divide one, a region holds some of its
people, and has no lower bound from its total alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from maxent.constraints.program.program import Linear, Program, StatementRows, statement_rows
from maxent.models.arrays import BoolArray, FloatArray, IntArray, run_ends
from maxent.solvers.certainty.bounds import BROKEN, Bounds, whole

if TYPE_CHECKING:
    from maxent.solvers.control import Clock

# Rounds of passing intervals on, at most: none more would be wrong, only less tight.
ROUNDS = 8
# Error of a statement with numbers that are not whole, as a share of its people: they were computed, or printed.
STATED = 1e-8
EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Members:
    """Quasi-identifiers that can be in each region: those of region r are ``who[ends[r]:ends[r + 1]]``, each once."""

    ends: IntArray
    who: IntArray
    inside: BoolArray

    @cached_property
    def region(self) -> IntArray:
        """The region of each member, shape (n_members,)."""
        return np.repeat(np.arange(len(self.ends) - 1), np.diff(self.ends))


def tighten(
    program: Program, bounds: Bounds, questions: BoolArray, clock: Clock, times: IntArray | None = None
) -> Bounds:
    """The level ``closed``: bounds from the totals of single regions, for all pairs together.

    With ``times``, shape (n_qi,), a row of the table stands for so many quasi-identifiers that are alike, in the same
    leaf with as many people each; the bounds, before and after, are those of one of them.
    """
    regions, found = ClassTotals(program, times), bounds
    for _ in range(ROUNDS):
        before = found
        found = found.narrowed(*regions.pass_on(found.low, found.high))
        if regions.contradicted:  # whoever is asked about: there are no such people
            return replace(bounds, high=np.where(questions, -1.0, bounds.high))
        found = found.narrowed(*left_by_others(program, found, times))
        unchanged = np.array_equal(before.low, found.low) and np.array_equal(before.high, found.high)
        if unchanged or found.contradicted or clock.stop() is not None:
            break
    return bounds.narrowed(np.where(questions, found.low, -np.inf), np.where(questions, found.high, np.inf))


def is_exact(constraint: Linear) -> bool:
    """Whether a statement bounds totals of classes, or says which class is most frequent: nothing else is lost here."""
    if constraint.weights is not None:
        return False
    number, total = (constraint.coef != 0).sum(axis=1), constraint.coef.sum(axis=1)
    compares = (number == 2) & (total == 0) & (constraint.lower == 0) & (constraint.upper == np.inf)
    return bool(((number == 1) | compares).all())


def left_by_others(program: Program, bounds: Bounds, times: IntArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Bounds of a class from the bounds of the other classes of its quasi-identifier; ``times`` as for `tighten`."""
    people = program.table.counts if times is None else program.table.counts // times
    low, high, counts = bounds.low, bounds.high, people.astype(np.float64)[:, None]
    return _of_total(low, high, counts, counts)


def _of_total(low: FloatArray, high: FloatArray, least: FloatArray, most: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Intervals of terms, shape (n, k), from those of all terms and of their sum, (n, 1), rounded outward."""
    sum_low, sum_high = low.sum(axis=1, keepdims=True), high.sum(axis=1, keepdims=True)
    broken = (fractional(low) | fractional(high)).any(axis=1, keepdims=True) | fractional(least) | fractional(most)
    slack = np.where(broken, 2 * EPSILON * (low.shape[1] + 2) * (sum_high + most), 0.0)
    return least - (sum_high - high) - slack, most - (sum_low - low) + slack


def fractional(values: FloatArray) -> BoolArray:
    """Numbers that are not whole. Sums of whole numbers of people have no rounding error."""
    result: BoolArray = values != np.rint(values)
    return result


def members(program: Program) -> Members:
    """The quasi-identifiers of the program's regions."""
    regions, owner = program.regions, program.cells.owner[program.regions.indices]
    region = np.repeat(np.arange(len(regions)), np.diff(regions.indptr))
    if program.single:
        return Members(regions.indptr, owner, np.ones(len(owner), bool))
    key, here = np.unique(region * len(program.table) + owner, return_counts=True)
    region, who = np.divmod(key, len(program.table))
    cells = program.cells_of
    return Members(run_ends(np.bincount(region, minlength=len(regions))), who, here == cells[who])


class ClassTotals:
    """Intervals of the individuals of each class in each region, ``low`` and ``high`` of shape (n_regions, n_classes).

    They follow from the statements about the region, and from bounds on its quasi-identifiers.
    """

    def __init__(self, program: Program, times: IntArray | None = None) -> None:
        self.members, self.n_classes = members(program), program.n_classes
        who = self.members.who
        self._times = np.ones(len(who)) if times is None else times[who].astype(np.float64)
        together = self._sum(self.members.inside) == np.diff(self.members.ends)
        people = self._sum(program.table.counts[who].astype(np.float64))
        stated = [c for c in program.linear if c.weights is None]  # what weighs cells says nothing of totals
        plain = len(stated) == len(program.linear) and not program.release.target.register
        if program.release.target.register:
            stated += [left for c in stated if together[c.region] for left in _not_members(c, float(people[c.region]))]
        if plain:
            table, region = program.rows, program.region_of
        else:
            table, region = statement_rows(stated, program.n_classes), np.array([c.region for c in stated], np.int64)
        self._table, self._region = table, region[table.of]
        entry = np.repeat(np.arange(len(table)), np.diff(table.ends))
        size = np.maximum(program.region_size, 1.0)[self._region]
        exact = ~(fractional(table.lower) | fractional(table.upper))
        exact[entry[fractional(table.coef)]] = False
        loose = np.where(exact, 0.0, STATED * size)
        self._lower, self._upper, self._entry = table.lower - loose, table.upper + loose, entry
        ahead = (table.upper == np.inf) & (table.lower == 0) & (np.diff(table.ends) == 2)
        ahead &= np.bincount(entry, table.coef, len(table)) == 0
        ahead &= np.bincount(entry, table.coef == 1, len(table)) == 1
        self._ahead = _Ahead.of(table, self._region, np.flatnonzero(ahead), self.n_classes)
        self.size_low = np.where(together, people, 0.0)[:, None]
        self.size_high = people[:, None]
        self.low = np.zeros((len(people), self.n_classes))
        self.high = np.repeat(self.size_high, self.n_classes, axis=1)

    def pass_on(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bounds on the individuals of quasi-identifiers that follow from such bounds through the regions' totals."""
        m = self.members
        below, above = np.full(low.shape, -np.inf, order="F"), np.full(high.shape, np.inf, order="F")
        if not len(m.who):
            return below, above
        sums = [np.empty_like(self.low, order="F") for _ in range(2)]
        rounded, counted = np.empty(self.low.shape, bool, order="F"), self._sum(self._times)

        def of_class(x: int) -> tuple[FloatArray, FloatArray]:
            return np.where(m.inside, low[m.who, x], 0.0), high[m.who, x]

        for x in range(self.n_classes):  # one after another: there can be a hundred times as many members as people
            least, most = of_class(x)
            sums[0][:, x], sums[1][:, x] = self._sum(least * self._times), self._sum(most * self._times)
            rounded[:, x] = self._sum(fractional(least) | fractional(most)) > 0
        sum_least, sum_most = sums
        slack = np.where(rounded, EPSILON * counted[:, None] * sum_most, 0.0)
        self._narrow(sum_least - slack, sum_most + slack)
        rounded |= fractional(self.low) | fractional(self.high)
        slack += np.where(rounded, 4 * EPSILON * (sum_most + self.high), 0.0)
        at, everywhere = m.region, bool(m.inside.all())
        surely = m.who if everywhere else m.who[m.inside]
        for x in range(self.n_classes):  # of numbers in a row NumPy takes the greatest many times as fast
            least, most = of_class(x)
            need = self.low[:, x] - slack[:, x] - sum_most[:, x]
            spare = (self.high[:, x] + slack[:, x] - sum_least[:, x])[at] + least
            np.maximum.at(below[:, x], m.who, need[at] + most)
            np.minimum.at(above[:, x], surely, spare if everywhere else spare[m.inside])
        return np.ascontiguousarray(below), np.ascontiguousarray(above)

    @property
    def contradicted(self) -> bool:
        """Whether a region has to have more people of a class than it can have."""
        return bool((self.low > self.high + BROKEN + STATED * self.size_high).any())

    def _sum(self, values: FloatArray | BoolArray) -> FloatArray:
        """Sums over the members of each region, shape (n_regions, ...); a region has at least one."""
        return np.asarray(np.add.reduceat(values, self.members.ends[:-1], axis=0, dtype=np.float64))

    def _narrow(self, low: FloatArray, high: FloatArray) -> None:
        """Narrow the intervals by others, and by the statements."""
        self._meet(low, high)
        for _ in range(ROUNDS):
            before = self.low.copy(), self.high.copy()
            self._meet(*self._by_rows())
            self._meet(*self._ahead.narrow(self.low, self.high, self.size_low, self.size_high))
            self._meet(*_of_total(self.low, self.high, self.size_low, self.size_high))
            if np.array_equal(before[0], self.low) and np.array_equal(before[1], self.high):
                return

    def _meet(self, low: FloatArray, high: FloatArray) -> None:
        self.low, self.high = np.maximum(self.low, whole(low)), np.minimum(self.high, whole(high))

    def _by_rows(self) -> tuple[FloatArray, FloatArray]:
        """Bounds of each class in a statement from the bounds of its other classes."""
        low, high = np.full(self.low.shape, -np.inf), np.full(self.low.shape, np.inf)
        table, entry = self._table, self._entry
        region = self._region[entry]
        one, other = (table.coef * side[region, table.klass] for side in (self.low, self.high))
        least, most = np.minimum(one, other), np.maximum(one, other)
        all_least, all_most = (np.bincount(entry, side, len(table))[entry] for side in (least, most))
        terms = np.diff(table.ends)[entry]
        slack = 2 * EPSILON * (terms + 2) * np.bincount(entry, np.maximum(-least, most), len(table))[entry]
        room = self._upper[entry] - (all_least - least) + slack
        need = self._lower[entry] - (all_most - most) - slack
        up, down = (np.where(table.coef > 0, side, other) for side, other in ((room, need), (need, room)))
        at = region * self.n_classes + table.klass
        np.minimum.at(high.ravel(), at, up / table.coef)
        np.maximum.at(low.ravel(), at, down / table.coef)
        return low, high


def _not_members(said: Linear, people: float) -> Iterator[Linear]:
    """What numbers of members of a register in a region of so many people say of the others there, the last class."""
    out = np.eye(said.coef.shape[1])[-1]
    rows = (said.coef == 1.0 - out).all(axis=1)
    if rows.any():
        yield replace(
            said, coef=np.tile(out, (rows.sum(), 1)), lower=people - said.upper[rows], upper=people - said.lower[rows]
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Ahead:
    """Labels: row i says that class ``label[i]`` is at least as frequent in ``region[i]`` as class ``other[i]``."""

    region: IntArray
    label: IntArray
    other: IntArray
    first: IntArray

    @staticmethod
    def of(table: StatementRows, region: IntArray, rows: IntArray, n_classes: int) -> _Ahead:
        """Rows with the coefficients 1 and -1."""
        start = table.ends[rows]
        up = table.coef[start] == 1
        label = np.where(up, table.klass[start], table.klass[start + 1])
        other = np.where(up, table.klass[start + 1], table.klass[start])
        key, each = np.unique((region[rows] * n_classes + label) * n_classes + other, return_index=True)
        _, first, often = np.unique(key // n_classes, return_index=True, return_counts=True)
        return _Ahead(region[rows][each], label[each], other[each], first[often == n_classes - 1])

    def narrow(
        self, low: FloatArray, high: FloatArray, size_low: FloatArray, size_high: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Intervals of classes, tightened by labels and the sizes of regions."""
        least, most = np.full(low.shape, -np.inf), np.full(high.shape, np.inf)
        at, label, other = self.region, self.label, self.other
        # The label and another class share what the rest leave.
        rest = low.sum(axis=1)[at] - low[at, label] - low[at, other]
        half = (size_high[at, 0] - rest) / 2 + 2 * EPSILON * (low.shape[1] + 2) * size_high[at, 0]
        np.minimum.at(most, (at, other), half)
        # Classes that reach no higher than the label: filled up evenly they have room for everybody.
        at, label = self.region[self.first], self.label[self.first]
        others = high[at].copy()
        others[np.arange(len(at)), label] = np.inf
        others = np.sort(others, axis=1)[:, :-1]
        filled = np.cumsum(np.column_stack([np.zeros(len(at)), others]), axis=1)
        even = (size_low[at] - filled) / np.arange(low.shape[1], 0, -1)
        even -= 2 * EPSILON * (low.shape[1] + 2) * size_high[at]
        np.maximum.at(least, (at, label), even.max(axis=1, initial=0.0))
        return least, most
