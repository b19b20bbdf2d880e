"""Random walk over the worlds of a part, one move at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from maxent.models.arrays import IntArray
from maxent.solvers.worlds.part import WholePart
from maxent.solvers.worlds.weighing.moves import Moves

# Moves that are drawn at once.
BLOCK = 4096


class Walk:
    """A point, ``masses`` (shape (n_groups, n_classes), flattened), that moves and stays a world.

    Steps are those of Metropolis: a table is as likely as there are ways to hand its classes out to individuals. A move
    is as likely to be proposed as the one that undoes it.
    """

    def __init__(self, part: WholePart, moves: Moves, masses: IntArray, rng: np.random.Generator):
        self.part, self.moves = part, moves
        self.masses: list[int] = masses.ravel().tolist()
        self.accepted = 0
        self._rng = rng
        rows = part.rows
        loose = np.flatnonzero(rows.lower < rows.upper)
        matrix = rows.matrix[loose]
        self._value: list[int] = np.asarray(matrix @ masses.ravel()).tolist()
        self._low, self._high = rows.lower[loose].tolist(), rows.upper[loose].tolist()
        columns = matrix.tocsc()
        ends = columns.indptr.tolist()
        self._column = [
            list(zip(columns.indices[a:b].tolist(), columns.data[a:b].tolist(), strict=True)) for a, b in pairwise(ends)
        ]
        # Of each change both ways, so that an item less another is four look-ups: (unknown that loses, one that gains).
        ahead = list(zip(moves.source.tolist(), moves.target.tolist(), strict=True))
        self._steps = [(edge, edge[::-1]) for edge in ahead]
        self._items = list(zip(moves.first.tolist(), moves.second.tolist(), strict=True))
        self._log = [0.0, *np.log(np.arange(1, int(part.weight.max(initial=0)) + 2)).tolist()]
        self._copies = np.repeat(np.log(part.copies), part.n_classes).tolist()
        self._compared: list[list[int]] = [[] for _ in range(len(part.owner))]
        for number, comparison in enumerate(part.comparisons):
            for group in comparison.node.groups.tolist():
                self._compared[group].append(number)
        self._draws = self._drawn()

    def _drawn(self) -> Iterator[tuple[int, int, float]]:
        moves, rng = self.moves, self._rng
        while True:
            one = rng.integers(len(moves), size=BLOCK)
            other = moves.begin[one] + rng.integers(moves.length[one])
            yield from zip(one.tolist(), other.tolist(), np.log(rng.random(BLOCK)).tolist(), strict=True)

    def step(self) -> tuple[int, ...]:
        """Try a move; the unknowns that it has changed."""
        one, other, chance = next(self._draws)
        if one == other:
            return ()
        steps = [
            self._steps[change][back]
            for item, turned in ((one, 0), (other, 1))
            for change, back in zip(self._items[item], (turned, 1 - turned), strict=True)
            if change >= 0
        ]
        masses, logs, copies = self.masses, self._log, self._copies
        gain = 0.0
        for _, t in steps:
            masses[t] += 1
            gain += copies[t] - (logs[masses[t]] if masses[t] < len(logs) else math.inf)
        for s, _ in steps:
            gain += logs[masses[s]] - copies[s] if 0 < masses[s] < len(logs) else -math.inf
            masses[s] -= 1
        if chance < gain and self._allowed(steps):
            self.accepted += 1
            return tuple(unknown for step in steps for unknown in step)
        for s, t in steps:
            masses[s] += 1
            masses[t] -= 1
        return ()

    def _allowed(self, steps: list[tuple[int, int]]) -> bool:
        """Whether the point satisfies rows that are no equalities, and the comparisons; updates the rows' values."""
        change: dict[int, int] = {}
        for s, t in steps:
            for row, coef in self._column[s]:
                change[row] = change.get(row, 0) - coef
            for row, coef in self._column[t]:
                change[row] = change.get(row, 0) + coef
        value = self._value
        if any(not self._low[row] <= value[row] + d <= self._high[row] for row, d in change.items()):
            return False
        if self.part.comparisons:
            n = self.part.n_classes
            looked = {c for step in steps for unknown in step for c in self._compared[unknown // n]}
            masses = self.point()
            if not all(self.part.won(self.part.comparisons[c], masses) for c in looked):
                return False
        for row, d in change.items():
            value[row] += d
        return True

    def point(self) -> IntArray:
        """The world the walk is at, shape (n_groups, n_classes)."""
        return np.array(self.masses, np.int64).reshape(-1, self.part.n_classes)
