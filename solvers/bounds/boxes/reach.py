"""Range of linear functions in boxes, and in the balls around an answer."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from maxent.models.arrays import TINY, BoolArray, FloatArray, IntArray
from maxent.solvers.bounds.boxes.frontier import Boxes
from maxent.solvers.bounds.boxes.setting import Setting

# Widths count as no smaller than this share of a box's largest; added to systems, as a share of their mean.
NARROW, SINGULAR = 1e-6, 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class _Balls:
    """Balls of one or of all boxes: ``reduced`` takes equations and owners' means from functions, (n_boxes, n, n).

    ``off`` is what leads from their centres to the equations.
    """

    centre: FloatArray
    radius: FloatArray
    reduced: FloatArray
    off: FloatArray

    @classmethod
    def of(cls, setting: Setting, centre: FloatArray, radius: FloatArray) -> _Balls:
        rows, n = setting.at.rows, centre.shape[1]
        missed = (rows.value - centre @ rows.equal.T)[:, :, None]
        right = np.concatenate([np.broadcast_to(rows.equal, (len(centre), *rows.equal.shape)), missed], axis=2)
        found = (rows.equal * centre[:, None]).transpose(0, 2, 1) @ setting.by_equations(centre, right)
        reduced, owner = np.eye(n) - found[:, :, :-1], rows.linear.owner
        of = (owner[:, None] == np.arange(len(rows.linear.total))).astype(np.float64)
        mean = (reduced * centre[:, None]) @ of / np.maximum(centre @ of, TINY)[:, None]
        return cls(centre, radius, reduced - mean[:, :, owner], found[:, :, -1])

    def furthest(self, functions: FloatArray, start: FloatArray) -> tuple[FloatArray, FloatArray]:
        """As `maxent.solvers.bounds.divergence.ball.Ball.furthest`, above and below."""
        p = functions @ self.reduced
        moved = (functions @ (self.centre - start + self.off)[:, :, None])[:, :, 0]
        varies = np.sqrt(2.0 * self.radius[:, None] * ((p * p) @ self.centre[:, :, None])[:, :, 0])
        third = self.radius[:, None] / 3.0
        above = moved + varies + np.maximum(p.max(axis=2), 0.0) * third
        return above, varies - moved + np.maximum(-p.min(axis=2), 0.0) * third


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """How far functions go in boxes; ``coordinates`` are what they have of those with ends, above all of near ones."""

    setting: Setting
    boxes: Boxes
    whole: _Balls
    own: _Balls
    coordinates: FloatArray

    @classmethod
    def of(cls, setting: Setting, boxes: Boxes) -> Reach:
        """In boxes that are not empty."""
        by_z = setting.along @ setting.at.across
        width = np.maximum(boxes.width, NARROW * boxes.width.max(axis=1, keepdims=True))
        weighed = by_z.T / np.maximum(width, NARROW**2)[:, None] ** 2
        system, n = weighed @ by_z, by_z.shape[1]
        ridge = SINGULAR / n * np.trace(system, axis1=1, axis2=2)
        coordinates = np.linalg.solve(system + ridge[:, None, None] * np.eye(n), weighed)
        whole = _Balls.of(setting, setting.whole.centre[None], np.array([setting.whole.radius]))
        return cls(setting, boxes, whole, _Balls.of(setting, boxes.centre, boxes.radius), coordinates)

    def take(self, some: IntArray | BoolArray) -> Reach:
        """In some of the boxes."""
        own = _Balls(*(each[some] for each in (self.own.centre, self.own.radius, self.own.reduced, self.own.off)))
        return replace(self, boxes=self.boxes.take(some), own=own, coordinates=self.coordinates[some])

    def furthest(self, functions: FloatArray, start: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The most that functions are above, and below, what they are at some masses, shape (n_boxes, n_functions).

        ``functions`` have the shape (n_boxes or 1, n_functions, n), ``start`` (n_boxes, n).
        """
        s = self.setting
        along = (functions @ s.at.across) @ self.coordinates
        rest, v = functions - along @ s.along, start @ s.along.T
        low, high = (self.boxes.low - v)[:, :, None], (self.boxes.high - v)[:, :, None]
        up, down = np.maximum(along, 0.0), np.minimum(along, 0.0)
        between = (up @ high + down @ low)[:, :, 0], -(up @ low + down @ high)[:, :, 0]
        direct, beside = self._in_balls(functions, start), self._in_balls(rest, start)
        above, below = (np.minimum(direct[side], between[side] + beside[side]) for side in (0, 1))
        return above, below

    def _in_balls(self, functions: FloatArray, start: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The same, by balls alone."""
        whole, own = self.whole.furthest(functions, start), self.own.furthest(functions, start)
        return np.minimum(whole[0], own[0]), np.minimum(whole[1], own[1])


def narrowed(setting: Setting, boxes: Boxes) -> Boxes:
    """The same with ends as near as balls and the other ends tell."""
    found, some = boxes.take(slice(None)), np.flatnonzero(~boxes.empty)
    if not len(some):
        return found
    here = boxes.take(some)
    above, below = Reach.of(setting, here).furthest(setting.along[None], here.near)
    v = here.near @ setting.along.T
    here.low, here.high = np.maximum(here.low, v - below), np.minimum(here.high, v + above)
    found.put(some, here)
    return found
