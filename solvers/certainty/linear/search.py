"""Finds bounds with few linear programs: each end is settled by a point that reaches it, or by a dual proof."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from maxent.constraints.program import Program
from maxent.models.arrays import BoolArray, FloatArray
from maxent.solvers.certainty.bounds import Bounds, whole
from maxent.solvers.certainty.linear.duality import Feasible, Priced
from maxent.solvers.certainty.linear.parts import Pools, Questions
from maxent.solvers.certainty.linear.warm import Vertex, WarmProgram
from maxent.solvers.clock import Clock, foretell

# Individuals by which a feasible point may miss an end that it shows to be reached: nothing is proved by that.
REACHED = 1e-6
# Share of the open ends that one aim at all of them has to settle, to be worth another one.
WORTHWHILE = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """How far the individuals of a pool would have to be bounded to tell anything new, shape (n_pools, n_classes).

    An upper bound of at least ``high``, or a lower one of at most ``low``, tells nothing about any quasi-identifier.
    """

    low: FloatArray
    high: FloatArray

    @staticmethod
    def of(program: Program, bounds: Bounds, questions: BoolArray, pools: Pools) -> Ends:
        """Questions that the open bounds of the quasi-identifiers leave."""
        high, room = np.full(pools.low.shape, -np.inf), np.full(pools.low.shape, -np.inf)
        counts = program.table.counts.astype(np.float64)[:, None]
        np.maximum.at(high, pools.of, np.where(questions, bounds.high, -np.inf))
        np.maximum.at(room, pools.of, np.where(questions, counts - bounds.low, -np.inf))
        return Ends(pools.people[:, None] - room, high)


@dataclass(eq=False)
class Search:
    """The search for the ends of some questions: what is proved of them, and how far feasible points have come.

    ``pools`` is narrowed in place.
    """

    asked: Questions
    pools: Pools
    ends: Ends
    clock: Clock
    _rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def __post_init__(self) -> None:
        asked = self.asked
        at = asked.pool, asked.klass
        self._at = at
        self._aims, self._below = asked.aims, sparse.csr_matrix(-asked.aims)
        self._need = np.stack([self.ends.low[at], self.ends.high[at]])
        self._seen = np.stack([np.full(len(asked.pool), np.inf), np.full(len(asked.pool), -np.inf)])
        self._final = np.zeros((2, len(asked.pool)), bool)

    @property
    def _open(self) -> BoolArray:
        """Ends, lower and upper ones, that neither a point nor prices have settled, shape (2, n_questions)."""
        reached = np.stack([self._seen[0] <= self._need[0] + REACHED, self._seen[1] >= self._need[1] - REACHED])
        low, high = self.pools.low[self._at], self.pools.high[self._at]
        told = np.stack([self._seen[0] <= low + REACHED, self._seen[1] >= high - REACHED])
        result: BoolArray = ~(reached | told | self._final)
        return result

    def open_pools(self) -> BoolArray:
        """Questions with an end that was not settled for want of time, shape (n_questions,)."""
        result: BoolArray = np.asarray(self._open.any(axis=0))
        return result

    def run(self, program: WarmProgram) -> bool:
        """Settle the ends until the clock stops; whether there can be any feasible point."""
        begin, before = time.perf_counter(), program.solves
        if not self._together(program):
            return False
        number, each = int(self._open.sum()), (time.perf_counter() - begin) / max(program.solves - before, 1)
        what = f"{number:,} ends of bounds may need a linear program each"
        foretell(number * each, what, "a lower level takes less", self.clock)
        while self.clock.stop() is None and (ends := self._open).any():
            side, which = (int(i) for i in np.argwhere(ends)[0])
            aim = (self._below, self._aims)[side][which].toarray().ravel()
            vertex = program.largest(aim)
            if vertex is None:
                break
            self._final[side, which] = True
            self._learn(program.feasible, vertex)
        return True

    def _together(self, program: WarmProgram) -> bool:
        """Aim at all open ends together, while that settles many of them."""
        while (number := (ends := self._open).sum()) and self.clock.stop() is None:
            up = np.where(ends.all(axis=0), self._rng.random(ends.shape[1]) < 0.5, ends[1])
            weight = np.where(ends.any(axis=0), np.where(up, 1.0, -1.0), 0.0) * self._rng.uniform(0.5, 1.0, len(up))
            vertex = program.largest(np.asarray(self._aims.T @ weight))
            if vertex is None:
                return True
            if vertex.point is None:
                return not any(program.feasible.priced(sign * vertex.prices).contradiction for sign in (1.0, -1.0))
            self._learn(program.feasible, vertex)
            if number - self._open.sum() < max(1.0, WORTHWHILE * number):
                return True
        return True

    def _learn(self, feasible: Feasible, vertex: Vertex) -> None:
        """Updates all questions with the point and the dual bounds of a solve."""
        if vertex.point is not None and vertex.meets:
            value = self._aims @ vertex.point + self.asked.constant
            self._seen[0], self._seen[1] = np.minimum(self._seen[0], value), np.maximum(self._seen[1], value)
        self._prove(feasible.priced(vertex.prices))

    def _prove(self, priced: Priced) -> None:
        constant, low, high = self.asked.constant, self.pools.low, self.pools.high
        high[self._at] = np.minimum(high[self._at], whole(priced.of(self._aims) + constant))
        low[self._at] = np.maximum(low[self._at], whole(constant - priced.of(self._below)))
