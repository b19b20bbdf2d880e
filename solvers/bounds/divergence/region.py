"""Where more entropy than an answer's may be: masses in balls, between ends of some functions and of the sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from maxent.models.arrays import FloatArray
from maxent.solvers.bounds.divergence.answer import Answer
from maxent.solvers.bounds.divergence.ball import Ball

BALLS = 4
"""Of the balls that masses are known to be in, the last so many are used."""


@dataclass(frozen=True, eq=False)
class Region:
    """All masses m in the ``balls`` with ``low <= directions (m - answer) <= high``, sums from ``least`` to ``most``.

    ``directions`` has the shape (n_directions, n); the sums are those of the comparisons' terms.
    """

    at: Answer
    balls: tuple[Ball, ...]
    directions: FloatArray
    low: FloatArray
    high: FloatArray
    least: FloatArray
    most: FloatArray

    @classmethod
    def of_ball(cls, at: Answer, ball: Ball) -> Region:
        """All of a ball."""
        n, none, curves, linear = len(at.masses), np.empty(0), at.curves, at.rows.linear
        least = curves.shift + np.minimum(curves.sums, 0.0) @ linear.total[linear.owner]
        whole = cls(at, (ball,), np.empty((0, n)), none, none, least, np.full(len(least), np.inf))
        return whole._narrowed()

    @property
    def empty(self) -> bool:
        """Whether there are no such masses."""
        return bool((self.low > self.high).any() or (self.least > self.most).any())

    @property
    def width(self) -> FloatArray:
        """How far apart the ends of the directions are."""
        return self.high - self.low

    @property
    def has_answer(self) -> bool:
        """Whether the answer is between the ends."""
        return bool((self.low <= 0).all() and (self.high >= 0).all())

    def furthest(self, functions: FloatArray) -> FloatArray:
        """The most that linear functions, shape (n_functions, n), are above what they are at the answer."""
        found = _furthest(self.balls, functions, self.at.masses)
        if not len(self.directions):
            return found
        along = (functions @ self.at.across) @ self._coordinates
        rest = _furthest(self.balls, functions - along @ self.directions, self.at.masses)
        between: FloatArray = np.maximum(along, 0.0) @ self.high + np.minimum(along, 0.0) @ self.low + rest
        return np.minimum(found, between)

    def in_ball(self, ball: Ball) -> Region:
        """The part in one more ball."""
        return replace(self, balls=(*self.balls, ball)[-BALLS:])._narrowed()

    def along(self, functions: FloatArray) -> Region:
        """The same with further directions."""
        n, far = len(functions), _furthest(self.balls, np.vstack([functions, -functions]), self.at.masses)
        return replace(
            self,
            directions=np.vstack([self.directions, functions]),
            low=np.concatenate([self.low, -far[n:]]),
            high=np.concatenate([self.high, far[:n]]),
        )

    def cut(self, direction: int, place: float) -> tuple[Region, Region]:
        """The two parts below and above a place in a direction."""
        low, high = self.low.copy(), self.high.copy()
        low[direction] = high[direction] = place
        return replace(self, high=high), replace(self, low=low)

    def _narrowed(self) -> Region:
        """The same with ends as near as balls tell."""
        n, far = len(self.directions), _furthest(self.balls, _both(self.directions), self.at.masses)
        found = replace(self, low=np.maximum(self.low, -far[n:]), high=np.minimum(self.high, far[:n]))
        if found.empty:
            return found
        sums, a = self.at.curves.sums, self.at.a
        n, far = len(sums), found.furthest(_both(sums))
        return replace(found, least=np.maximum(self.least, a - far[n:]), most=np.minimum(self.most, a + far[:n]))

    @cached_property
    def _coordinates(self) -> FloatArray:
        """What a function along the equations has of each direction."""
        found: FloatArray = np.linalg.pinv(self.directions @ self.at.across).astype(np.float64)
        return found


def _both(functions: FloatArray) -> FloatArray:
    return np.vstack([functions, -functions])


def _furthest(balls: Sequence[Ball], functions: FloatArray, start: FloatArray) -> FloatArray:
    """The most that functions are above what they are at some masses, where balls meet."""
    found: FloatArray = np.min([ball.furthest(functions, start) for ball in balls], axis=0)
    return found
