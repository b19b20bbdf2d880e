"""Shares of the classes that published numbers allow in each group of people.

A group is a leaf, or all leaves together of which nothing is said but by a node above. What is said of it (counts,
rates, intervals of them, a marginal) bounds how many of its people can have a class. Where the estimate takes less than
that, as for a leaf with a label and no number, it claims no more than it must: the group may disclose more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from maxent.constraints.kinds.registry import KINDS
from maxent.constraints.presolve.statements import statement_rows
from maxent.constraints.program import CHUNK, Linear, Program
from maxent.disclosure.checked_arrays import TOLERANCE, at_most
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.tables.columns.product_classes import marginal

NO_GROUP = -1


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The groups of one tree, by the place that says something of them.

    ``of`` (n_places,) is the place of the group of each leaf, `NO_GROUP` where nothing is said of it. ``low`` and
    ``high`` are the fewest and the most people of a group who can have each class, ``mass`` how many have it by the
    estimate, shapes (n_places, n_classes); ``size`` (n_places,) is how many people there are. ``all_low`` and
    ``all_high``, shape (n_classes,), are the fewest and the most of everybody.
    """

    of: IntArray
    low: FloatArray
    high: FloatArray
    mass: FloatArray
    size: FloatArray
    all_low: FloatArray
    all_high: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """The probability of the most likely class of every quasi-identifier, arrays of shape (n_qi,).

    ``surest`` is that of the estimate, at most: exact where counts prove it, else with the error of computing it.
    ``possible`` is what it would be if as many people of each group had a class as published numbers allow.
    ``class_low`` and ``class_high``, shape (n_classes,), are the fewest and the most people with each class.
    ``possible_each``, shape (n_qi, n_classes), is what ``possible`` is the largest of, but for errors of computing it.
    """

    surest: FloatArray
    possible: FloatArray
    class_low: FloatArray
    class_high: FloatArray
    possible_each: FloatArray


def shares(
    program: Program,
    masses: FloatArray,
    posterior: FloatArray,
    tolerance: float = TOLERANCE,
    *,
    part: int | None = None,
) -> Shares:
    """Largest probabilities per quasi-identifier: by the estimate, and the largest that published numbers allow.

    Parameters
    ----------
    program : Program
    masses : shape (n_cells, n_classes)
        The answer to it, individuals.
    posterior : shape (n_qi, n_classes)
        The same as probabilities.
    tolerance : float
        By how much these may be off.
    part : int, optional
        Of several sensitive columns the one that the posterior is of; by default it is that of their combinations.
    """
    each = np.arange(len(posterior))

    def summed(values: FloatArray) -> FloatArray:
        return values if part is None else marginal(values, program.release.target, part)

    groups = list(_groups(program, masses))
    if part is not None:
        groups = [_of_part(found, summed, program.table.individuals) for found in groups]
    of_cell = [found.of[program.cells.leaf[:, t]] for t, found in enumerate(groups)]
    possible = _scaled(program, summed(masses), groups, of_cell, tolerance, summed)
    found = []
    for p in (posterior, possible):
        largest = p.argmax(axis=1)
        value = p[each, largest]
        least = 1 / posterior.shape[1]
        exact = np.where(value <= least + tolerance, least, np.nan)
        if program.single:  # the sizes of groups are whole numbers
            for tree, group in zip(groups, of_cell, strict=True):
                _recognise(exact, value, tree, group[np.argsort(program.cells.owner)], largest, tolerance)
        found.append(np.where(np.isnan(exact), at_most(value, tolerance), exact))
    low = np.max([each.all_low for each in groups], axis=0)
    high = np.min([each.all_high for each in groups], axis=0)
    return Shares(found[0], np.maximum(*found), low, high, possible)


def _of_part(groups: Groups, summed: Callable[[FloatArray], FloatArray], people: int) -> Groups:
    """The groups by the classes of one of several columns: bounds of combinations add up."""
    low, high = summed(groups.low), summed(groups.high)
    _narrow(low, high, groups.size)
    least, most = summed(groups.all_low)[None], summed(groups.all_high)[None]
    _narrow(least, most, np.array([people], np.float64))
    high = np.minimum(high, groups.size[:, None])
    return Groups(groups.of, low, high, summed(groups.mass), groups.size, least[0], most[0])


def _recognise(
    exact: FloatArray, value: FloatArray, tree: Groups, group: IntArray, largest: IntArray, tolerance: float
) -> None:
    """Note, in place, the values that are a bound of their group: a whole number of people, divided by its size."""
    rows = np.flatnonzero((group != NO_GROUP) & np.isnan(exact))
    at, x = group[rows], largest[rows]
    for bound in (tree.low, tree.high):
        people = bound[at, x]
        share = people / tree.size[at]
        same = (np.abs(share - value[rows]) <= tolerance) & (people == np.floor(people))
        exact[rows[same]] = share[same]


def _scaled(
    program: Program,
    masses: FloatArray,
    groups: list[Groups],
    of_cell: list[IntArray],
    tolerance: float,
    summed: Callable[[FloatArray], FloatArray],
) -> FloatArray:
    """The posterior, each class of each group scaled up to the most that can have it; shape (n_qi, n_classes).

    ``summed`` makes numbers of the classes of ``masses`` of those of the program's classes.
    """
    most = np.full(masses.shape, np.inf)
    for begin in range(0, len(masses), CHUNK):
        rows = slice(begin, begin + CHUNK)
        for found, group in zip(groups, of_cell, strict=True):
            cells = begin + np.flatnonzero(group[rows] != NO_GROUP)
            at, here = group[cells], masses[cells]
            high, mass, size = found.high[at], found.mass[at], found.size[at][:, None]
            # Where nobody has the class by the estimate, everybody in the group may as well as anybody else.
            alike = np.divide(high, size, out=np.ones_like(high), where=size > 0) * here.sum(axis=1, keepdims=True)
            scaled = np.divide(here * high, mass, out=alike, where=mass > 0)
            if not program.single:  # who is in a group that may be all of one class is not known either
                scaled = np.where(high >= size, program.weight[cells, None], scaled)
            most[cells] = np.minimum(most[cells], np.where(high - mass > tolerance * size, scaled, here))
    for c in program.linear:
        if c.kind == "counts" and program.regions.places[c.region] is None:  # of one quasi-identifier
            cells = program.regions[c.region]
            most[cells] = np.minimum(most[cells], summed(c.upper) / len(cells))
    most = np.maximum(np.where(np.isinf(most), masses, most), masses)
    total = np.zeros((len(program.table), masses.shape[1]))
    np.add.at(total, program.cells.owner, most)
    return np.minimum(total / program.table.counts[:, None], 1.0)


def _groups(program: Program, masses: FloatArray) -> Iterator[Groups]:
    """The groups of each tree; the group of a leaf is the nearest place, up from it, that says something."""
    stated: list[list[Linear]] = [[] for _ in program.cells.trees]
    for constraint in program.linear:
        place = program.regions.places[constraint.region]
        if place is not None and KINDS[constraint.kind].about_classes:
            stated[place[0]].append(constraint)
    for t, tree in enumerate(program.cells.trees):
        above, leaf = _Above(tree.places.parent, tree.places.levels[1:]), program.cells.leaf[:, t]
        mass = program.sums.totals(t, masses)
        size = mass.sum(axis=1)
        if program.single:  # without the error of solving
            size = np.bincount(leaf, program.weight, len(above)).astype(np.float64)
            above.add_up(size)
        yield _tree_groups(program, above, stated[t], mass, size)


def _tree_groups(program: Program, above: _Above, stated: list[Linear], mass: FloatArray, size: FloatArray) -> Groups:
    """The groups of a tree, from what is stated of its places; ``mass`` and ``size`` are those of all places."""
    low, high = np.zeros_like(mass), np.repeat(size[:, None], mass.shape[1], axis=1)
    place = np.array([(program.regions.places[c.region] or (0, 0))[1] for c in stated], np.int64)
    said = np.zeros(len(above), bool)
    said[place] = True
    _read(stated, place, size, low, high)
    _narrow(low, high, size)
    above.narrow(low, high)
    _narrow(low, high, size)
    everybody = low[0].copy(), high[0].copy()
    # Of a node that says something, what is left when the groups below are taken away.
    taken = [above.groups_below(values, said) for values in (low, high, mass, size)]
    low, high = np.maximum(low - taken[1], 0.0), np.maximum(high - taken[0], 0.0)
    mass, size = np.maximum(mass - taken[2], 0.0), size - taken[3]
    return Groups(above.nearest(said), low, np.minimum(high, size[:, None]), mass, size, *everybody)


def _read(stated: list[Linear], place: IntArray, size: FloatArray, low: FloatArray, high: FloatArray) -> None:
    """Narrow, in place, how many people of each place can have each class by what is stated of it."""
    labels = [i for i, constraint in enumerate(stated) if constraint.kind == "label"]
    numbers = [i for i, c in enumerate(stated) if c.kind != "label" and c.weights is None]
    if labels:  # each a class that no other exceeds
        at, x = place[labels], np.array([stated[i].coef[0].argmax() for i in labels])
        of_label = high[at, x]
        high[at] = np.minimum(high[at], size[at, None] / 2)
        high[at, x] = of_label
        low[at, x] = size[at] / low.shape[1]
    if not numbers:
        return
    rows = statement_rows([stated[i] for i in numbers], low.shape[1])
    at, alone = place[numbers][rows.of], np.flatnonzero(rows.alone >= 0)
    np.maximum.at(low, (at[alone], rows.alone[alone]), rows.lower[alone])
    np.minimum.at(high, (at[alone], rows.alone[alone]), rows.upper[alone])
    # The others compare the mass of a label with a share of all: 1 - share for the label, -share for the others.
    for row in np.flatnonzero(rows.alone < 0).tolist():
        coef = np.zeros(low.shape[1])
        entries = slice(rows.ends[row], rows.ends[row + 1])
        coef[rows.klass[entries]] = rows.coef[entries]
        label, people = int(coef.argmax()), -coef.min() * size[at[row]]
        if rows.lower[row] == 0:
            low[at[row], label] = max(low[at[row], label], people)
        if rows.upper[row] == 0:
            high[at[row], label] = min(high[at[row], label], people)


def _narrow(low: FloatArray, high: FloatArray, size: FloatArray) -> None:
    """Narrow bounds, in place, by one another: the classes of a place add up to its people."""
    np.minimum(high, size[:, None] - (low.sum(axis=1, keepdims=True) - low), out=high)
    np.maximum(low, size[:, None] - (high.sum(axis=1, keepdims=True) - high), out=low)


@dataclass(frozen=True, slots=True, eq=False)
class _Above:
    """The places of a tree by depth: ``parent`` (n_places,), and the places below the root, those nearest first."""

    parent: IntArray
    levels: tuple[IntArray, ...]

    def __len__(self) -> int:
        return len(self.parent)

    def add_up(self, values: FloatArray) -> None:
        """Add the values of places, in place, to those above; inner ones have 0."""
        for level in reversed(self.levels):
            np.add.at(values, self.parent[level], values[level])

    def narrow(self, low: FloatArray, high: FloatArray) -> None:
        """Narrow bounds, in place, by one another: the people of a place are those of the places below."""
        least, most = np.zeros_like(low), np.zeros_like(high)
        for level in reversed(self.levels):
            np.add.at(least, self.parent[level], low[level])
            np.add.at(most, self.parent[level], high[level])
            up = np.unique(self.parent[level])
            low[up], high[up] = np.maximum(low[up], least[up]), np.minimum(high[up], most[up])
        for level in self.levels:
            up, lows, highs = self.parent[level], low[level], high[level]
            low[level] = np.maximum(lows, low[up] - (most[up] - highs))
            high[level] = np.minimum(highs, high[up] - (least[up] - lows))

    def groups_below(self, values: FloatArray, said: BoolArray) -> FloatArray:
        """The values of the first places below each that say something, added up."""
        found = np.zeros_like(values)
        for level in reversed(self.levels):
            first = said[level].reshape(-1, *[1] * (values.ndim - 1))
            np.add.at(found, self.parent[level], np.where(first, values[level], found[level]))
        return found

    def nearest(self, said: BoolArray) -> IntArray:
        """The nearest place that says something, from each one up; `NO_GROUP` where there is none."""
        found = np.where(said, np.arange(len(self)), NO_GROUP)
        for level in self.levels:
            found[level] = np.where(said[level], level, found[self.parent[level]])
        return found
