"""Quadratic models of all items at once; see `maxent.solvers.newton.quadratic_model`."""

from __future__ import annotations

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.solvers.clock import Clock
from maxent.solvers.newton.stacked.gradients import Centring, Gradients
from maxent.solvers.newton.stacked.layout import Layout
from maxent.solvers.newton.stacked.operators import Operators, Penalties, Points


class Stack(Operators):
    """The operators of a layout, with the gradients that were asked for last."""

    def __init__(self, layout: Layout, clock: Clock) -> None:
        super().__init__(layout, clock)
        self._known: tuple[BoolArray, Gradients] | None = None

    def gradients(self, active: IntArray) -> Gradients:
        """The places of the gradients of all internal rows, and of these linear rows; often those asked for before."""
        if self._known is None or not self._known[0][active].all():
            wanted = np.zeros(len(self.people) - self.n_rows, bool) if self._known is None else self._known[0].copy()
            wanted[active] = True
            self._known = wanted, Gradients(self, np.flatnonzero(wanted))
        return self._known[1]


class Quadratic:
    """The quadratic models of the items' augmented Lagrangians at some points."""

    def __init__(self, stack: Stack, points: Points, penalty: Penalties) -> None:
        self.stack, self.points, self.penalty = stack, points, penalty
        self.centre = Centring(stack, points.m)
        self.slopes = stack.slopes(points)
        self.pull(penalty)

    def pull(self, penalty: Penalties) -> None:
        """Take these multipliers and penalties: gradients and their norms, nats per individual."""
        stack, points, n = self.stack, self.points, self.stack.n_rows
        self.penalty = penalty
        self.a = penalty.active(points.c)
        pull = stack.comparisons.weighted(self.a[:n], self.slopes)
        if self.a[n:].any():
            pull += (stack.least_transposed @ self.a[n:]).reshape(pull.shape)
        self.gradient = self.centre(points.log_p - pull)
        self.norm = np.sqrt(stack.dot(points.m * self.gradient, self.gradient) / stack.individuals)

    def prepare(self) -> None:
        """Set up Hessians and preconditioners."""
        stack, points, n = self.stack, self.points, self.stack.n_rows
        self.curvature = stack.comparisons.curvature(self.a[:n], stack.sums(points))
        places = stack.gradients(np.flatnonzero(self.a[n:] > 0))
        self.places = places
        c = places.centred(self.centre, self.slopes.by_mass)
        weighted = c * points.m[places.group]
        places.put(c, weighted)
        self.d = np.where(self.a[places.rows] > 0, self.penalty.rho[places.rows], 0.0)
        root, own = np.sqrt(self.d), np.arange(places.most)
        by_item = np.zeros((stack.n_items, places.most))
        by_item[places.item, places.number] = root
        inner = by_item[:, :, None] * places.gram(c, weighted) * by_item[:, None, :]
        inner[:, own, own] += 1.0
        # (I + C' D C J)^-1 = I - C' (D^-1 + C J C')^-1 C J (Woodbury), with D = 0 for rows that do not pull
        self.root, self.inner = root, np.linalg.inv(inner)

    def hessian(self, d: FloatArray, change: FloatArray) -> FloatArray:
        """The products H d; ``change`` is m d."""
        places = self.places
        out = d - self.curvature(change)
        out += (places.transposed @ (self.d * (places.weighted @ d.ravel()))).reshape(d.shape)
        return self.centre(out)

    def precondition(self, v: FloatArray) -> FloatArray:
        """The inverse of ``I + C' D C J``, applied."""
        places = self.places
        along = np.zeros((self.stack.n_items, places.most, 1))
        at = places.item, places.number, 0
        along[at] = self.root * (places.weighted @ v.ravel())
        back = self.root * (self.inner @ along)[at]
        inverse: FloatArray = v - (places.transposed @ back).reshape(v.shape)
        return inverse
