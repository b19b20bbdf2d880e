r"""Divides an error probability among all groups of people that a node of a tree could hold.

A tree that is grown on the records that it counts chooses its nodes by what was drawn: among thousands of sets of
people it prefers the purest draws. An interval is then only worth something if the intervals of *all* sets
that a node could have held are right together. So every set has a share of the error probability, fixed before anything
is drawn, and the shares add up to 1 at most (the union bound with weights, or Occam's bound: Blumer, Ehrenfeucht,
Haussler and Warmuth, "Occam's razor", 1987; Langford, "Tutorial on practical prediction theory for classification",
2005).

A set is what a node's path leaves of each attribute. Its share: how many of the p attributes are restricted,
``1 / (p + 1)``, which ones, ``1 / binomial(p, c)``, and for each of these how. Of an attribute with L levels in order
there are ``2 (L - 1)`` one-sided and ``binomial(L - 1, 2)`` two-sided restrictions; of categories also single values
and all but one, ``2 L``, and any set, ``2^L - 2``. Kinds of restrictions have equal shares, and so have those of a
kind.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from maxent.constraints.cells import TreeCells
from maxent.models.arrays import FloatArray
from maxent.models.release import Attribute, Branch, Release
from maxent.models.tables.qi_table import QITable
from maxent.models.trees.routing import EVERYWHERE, interval_of

# What is left of an attribute: a set of categories, as bits; or the levels ``low <= level < high`` of a number, and
# whether records without one.
_Left = int | tuple[float, float, bool]


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """An attribute with its levels: those of the table, or, where it is private, what they can be at most."""

    attribute: Attribute
    levels: FloatArray | None  # numbers of the table, increasing; None for categories and what is private
    n_levels: int

    @property
    def all(self) -> _Left:
        if self.attribute.values is not None:
            return (1 << self.n_levels) - 1
        low, high = EVERYWHERE if self.levels is None else (0, self.n_levels)
        return low, high, self.attribute.missing

    def narrowed(self, left: _Left, branch: Branch) -> _Left:
        """The box that a branch leaves."""
        if isinstance(left, int):
            number = {value: i for i, value in enumerate(self.attribute.values or ())}
            return left & sum(1 << number[value] for value in branch.values or ())
        low, high = interval_of(branch)
        if self.levels is not None:
            low, high = np.searchsorted(self.levels, (low, high), side="right").tolist()
        return max(left[0], low), min(left[1], high), left[2] and bool(branch.missing)

    def cost(self, left: _Left) -> float:
        """Minus the logarithm of the share of a restriction among all of this attribute."""
        n = self.n_levels
        if isinstance(left, int):
            if n <= 2:
                return math.log(2)  # one value or the other
            run = left >> ((left & -left).bit_length() - 1)
            ends = (left & 1) + (left >> (n - 1))
            options = [_log_subsets(n)]
            if not run & (run + 1):
                options.append(_log_cuts(n, 2 - ends))
            if left.bit_count() in {1, n - 1}:
                options.append(math.log(2 * n))
            return math.log(4) + min(options)
        first, last = EVERYWHERE if self.levels is None else (0, n)
        cuts = (left[0] > first) + (left[1] < last)
        if not self.attribute.missing:
            return _log_cost(n, cuts)
        # With or without those who have no number; all numbers or none, or some of them.
        return math.log(4) + (0.0 if not cuts or not left[0] < left[1] else _log_cost(n, cuts))


def _log_cuts(n_levels: int, cuts: int) -> float:
    """Logarithm of the number of restrictions with one or two cuts of levels in order."""
    return math.log(max(2 * (n_levels - 1) if cuts < 2 else math.comb(n_levels - 1, 2), 1))


def _log_cost(n_levels: int, cuts: int) -> float:
    """The cost of one or two cuts of levels in order."""
    return math.log(2) if n_levels <= 2 else math.log(2) + _log_cuts(n_levels, cuts)


def _log_subsets(n_levels: int) -> float:
    return n_levels * math.log(2)


def log_shares(release: Release, table: QITable, trees: tuple[TreeCells, ...]) -> Iterator[FloatArray]:
    """Logarithms of the shares of all places of each tree, shape (n_places,); of a tree they add up to at most 1."""
    columns = {column.attribute.name: column for column in _columns(release, table)}
    p, cost = len(columns), cache(lambda name, left: columns[name].cost(left))
    begin = [-math.log(p + 1) - math.log(math.comb(p, c)) for c in range(p + 1)]
    for tree, held in zip(release.trees, trees, strict=True):
        shares = np.full(len(held.start), -np.inf)
        narrowed = cache(lambda name, left, place, i, t=tree: columns[name].narrowed(left, t.nodes[place].branches[i]))
        stack: list[tuple[int, Mapping[str, _Left]]] = [(0, {})]
        while stack:
            place, path = stack.pop()
            if held.stop[place] == held.start[place]:
                continue
            shares[place] = begin[len(path)] - sum(cost(name, left) for name, left in path.items())
            below = held.places.children[place]
            name = tree.nodes[place].attribute or "" if below else ""
            for i, child in enumerate(below):
                left = narrowed(name, path.get(name, columns[name].all), place, i)
                stack.append((child, {**path, name: left} if left != columns[name].all else path))
        yield shares


def _columns(release: Release, table: QITable) -> Iterator[_Column]:
    column = {attribute.name: j for j, attribute in enumerate(table.attributes)}
    for attribute in release.attributes:
        if attribute.values is not None:
            yield _Column(attribute, None, len(attribute.values))
        elif attribute.name in column:
            levels = np.asarray(table.levels[column[attribute.name]], np.float64)
            levels = levels[~np.isnan(levels)]
            yield _Column(attribute, levels, len(levels))
        else:  # each individual may have another number
            yield _Column(attribute, None, table.individuals)
