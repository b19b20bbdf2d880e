"""Operators of a stack: values at a point of each item, and sums by item.

An item has a radius, multipliers and accuracy of its own: what is one number elsewhere is an array over items here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray
from maxent.solvers.clock import Clock
from maxent.solvers.newton.softmax_manifold import Manifold
from maxent.solvers.newton.split_gains import Comparisons, Slopes, Sums
from maxent.solvers.newton.stacked.layout import Layout

V = TypeVar("V", FloatArray, BoolArray)


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """A point of each item, with everything that is evaluated there."""

    m: FloatArray  # (n_groups, n_classes)
    log_p: FloatArray
    a: FloatArray  # (n_blocks, n_classes)
    c: FloatArray  # (n_constraints,), internal rows, then linear ones
    objective: FloatArray  # (n_items,)

    @property
    def arrays(self) -> tuple[FloatArray, ...]:
        return self.m, self.log_p, self.a, self.c, self.objective


@dataclass(frozen=True, slots=True, eq=False)
class Penalties:
    """Multipliers and penalties of all constraints."""

    mu: FloatArray
    rho: FloatArray

    def active(self, c: FloatArray) -> FloatArray:
        """Multipliers of the augmented Lagrangian, non-negative."""
        return np.maximum(0.0, self.mu - self.rho * c)


class Operators:
    """Operators of a layout: evaluate the items, and add up by item."""

    def __init__(self, layout: Layout, clock: Clock) -> None:
        form = layout.form
        self.layout, self.form, self.clock = layout, form, clock
        self.manifold, self.comparisons = Manifold(form, clock), Comparisons(form.blocks)
        self.least, self.least_transposed = form.least.matrix, form.least.matrix.T.tocsr()
        self.people = np.concatenate([form.blocks.people, form.least.size])
        self.n_rows, self.n_items = len(self.comparisons), len(layout)
        items = np.arange(self.n_items)
        self.of_group = np.repeat(items, np.diff(layout.groups))
        self.of_row = np.concatenate([np.repeat(items, np.diff(ends)) for ends in (layout.rows, layout.least)])
        self.of_block = np.repeat(items, np.diff(layout.blocks))
        self.individuals = np.add.reduceat(form.total, layout.owners[:-1])

    def at(self, theta: FloatArray) -> Points:
        """Evaluate everything at some scores."""
        masses = self.manifold.masses(theta)
        sums = self.comparisons.at(masses.m)
        c = np.concatenate([sums.value, self.least @ masses.m.ravel() - self.form.least.value])
        return Points(masses.m, masses.log_p, sums.a, c, self.dot(masses.m, masses.log_p))

    def step(self, points: Points, d: FloatArray) -> Points:
        """The points after moving the scores by d."""
        theta = points.log_p + d
        if not self.manifold.every:
            theta = np.where(self.form.free, theta, -np.inf)
        return self.at(theta)

    def merged(self, where: BoolArray, some: Points, others: Points) -> Points:
        """Some items' points, and the other items' others."""
        group, block = where[self.of_group][:, None], where[self.of_block][:, None]
        return Points(
            np.where(group, some.m, others.m),
            np.where(group, some.log_p, others.log_p),
            np.where(block, some.a, others.a),
            np.where(where[self.of_row], some.c, others.c),
            np.where(where, some.objective, others.objective),
        )

    def sums(self, points: Points) -> Sums:
        """Sums for the internal rows, as in `Comparisons`."""
        return Sums(points.a, self.comparisons.closed, points.c[: self.n_rows])

    def slopes(self, points: Points) -> Slopes:
        """Derivatives of each block's ``sum_x phi``."""
        return self.comparisons.slopes(self.sums(points))

    def taken(self, points: Points, some: BoolArray) -> Points:
        """The points of some items alone."""
        group = some[self.of_group]
        block, row = some[self.of_block], some[self.of_row]
        return Points(points.m[group], points.log_p[group], points.a[block], points.c[row], points.objective[some])

    def put(self, points: Points, some: BoolArray, theirs: Points) -> Points:
        """The points with those of some items in their places."""
        where = some[self.of_group], some[self.of_group], some[self.of_block], some[self.of_row], some
        new = [values.copy() for values in points.arrays]
        for values, at, value in zip(new, where, theirs.arrays, strict=True):
            values[at] = value
        return Points(*new)

    def dot(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """``sum a b`` of each item, of arrays over groups and classes."""
        sums: FloatArray = np.add.reduceat(np.einsum("gx,gx->g", a, b), self.layout.groups[:-1])
        return sums

    def over_rows(self, values: FloatArray) -> FloatArray:
        """The sum of the constraints' values, by item."""
        sums: FloatArray = np.asarray(np.bincount(self.of_row, values, self.n_items), np.float64)
        return sums

    def worst(self, values: FloatArray) -> FloatArray:
        """The largest of the constraints' non-negative values, by item."""
        n = self.n_rows
        most = np.maximum.reduceat(values[:n], self.layout.rows[:-1])
        np.maximum.at(most, self.of_row[n:], values[n:])
        return most

    def violation(self, points: Points) -> FloatArray:
        """By how much each constraint is missed, per individual that it is about."""
        missed: FloatArray = np.maximum(-points.c, 0.0) / self.people
        return missed

    def value(self, points: Points, penalty: Penalties) -> FloatArray:
        """The augmented Lagrangian of each item."""
        a = penalty.active(points.c)
        return points.objective + self.over_rows((a * a - penalty.mu * penalty.mu) / (2.0 * penalty.rho))

    def spread(self, values: V) -> V:
        """The values of items at their groups."""
        at_groups: V = values[self.of_group][:, None]
        return at_groups
