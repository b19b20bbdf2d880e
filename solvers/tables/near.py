"""A table near the statements: rounds expected numbers, then moves people to where fewest rows are missed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from maxent.constraints.patterns.system import System
from maxent.models.arrays import FloatArray, IntArray

# Moves of a person that are tried, those that are tried in vain, and those before a pattern that was left takes people
# again.
STEPS, STALE, REST = 10_000, 1_000, 8


def rounded(expected: FloatArray, owner: IntArray, weight: IntArray, rng: np.random.Generator) -> IntArray:
    """Integers near the expected numbers, with the total ``weight`` of every owner, shape (n_patterns,)."""
    people = np.zeros(len(expected), np.int64)
    order = np.argsort(owner, kind="stable")
    ends = np.searchsorted(owner[order], np.arange(len(weight) + 1))
    for o, individuals in enumerate(weight.tolist()):
        mine = order[ends[o] : ends[o + 1]]
        if not len(mine):
            continue
        total = expected[mine].sum()
        share = expected[mine] / total if total > 0 else np.full(len(mine), 1 / len(mine))
        up_to = np.minimum(np.floor(np.cumsum(share) * individuals + rng.random()), individuals)
        up_to[-1] = individuals
        people[mine] = np.diff(up_to, prepend=0).astype(np.int64)
    return people


def nearer(
    system: System,
    owner: IntArray,
    people: IntArray,
    rng: np.random.Generator,
    enough: Callable[[], bool] = lambda: False,
) -> IntArray:
    """Whole numbers that miss less than ``people`` do, or nothing, each owner with as many as before.

    Each step looks at a row that is missed, takes somebody out of it or into it, and moves them from or to the pattern
    of the same owner where the rows are missed by least.
    """
    moves = _Moves(system, people)
    best, least = people.copy(), int(moves.missed().sum())
    peopled = np.bincount(owner, people) > 0
    last = 0
    free_from = np.zeros(len(people), np.int64)
    for step in range(STEPS):
        missed = moves.missed()
        total = int(missed.sum())
        if total < least:
            best, least, last = moves.people.copy(), total, step
        if not least or step > last + STALE or enough():
            break
        row = int(rng.choice(np.flatnonzero(missed)))
        inside, sign = moves.row(row)
        by = -sign if moves.value[row] > system.high[row] else sign
        can = np.where(by < 0, moves.people[inside] > 0, peopled[owner[inside]])
        if not can.any():
            continue
        change = np.where(by > 0, moves.cost(1)[inside], moves.cost(-1)[inside])
        first = _one_of(np.flatnonzero(can & (change == change[can].min())), rng)
        pattern, by_first = int(inside[first]), int(by[first])
        moves.move(pattern, by_first)
        others = owner == owner[pattern]
        others &= moves.people > 0 if by_first > 0 else free_from <= step
        others[pattern] = False
        if not others.any():
            others[pattern] = True
        change = moves.cost(-by_first)
        second = _one_of(np.flatnonzero(others & (change == change[others].min())), rng)
        moves.move(second, -by_first)
        free_from[second if by_first > 0 else pattern] = step + REST
    return best


class _Moves:
    """A table while people are moved: ``value`` are the sums of the rows."""

    def __init__(self, system: System, people: IntArray) -> None:
        self.system, self.people = system, people.copy()
        self.value = system.matrix @ people
        self.across = system.matrix.T.tocsr()
        self.more, self.less = (self.across == 1).astype(np.int64), (self.across == -1).astype(np.int64)

    def missed(self, by: int = 0) -> IntArray:
        """By how many people each row is missed when it gets ``by`` more."""
        value = self.value + by
        return np.asarray(np.maximum(np.maximum(self.system.low - value, value - self.system.high), 0), np.int64)

    def cost(self, by: int) -> IntArray:
        """By how many people more all rows are missed when a pattern gets ``by`` more, shape (n_patterns,)."""
        now = self.missed()
        total = self.more @ (self.missed(by) - now)
        if self.less.nnz:
            total = total + self.less @ (self.missed(-by) - now)
        return np.asarray(total, np.int64)

    def row(self, row: int) -> tuple[IntArray, IntArray]:
        """The patterns of a row, with their signs."""
        entries = slice(self.system.matrix.indptr[row], self.system.matrix.indptr[row + 1])
        return self.system.matrix.indices[entries].astype(np.int64), self.system.matrix.data[entries]

    def move(self, pattern: int, by: int) -> None:
        """Give a pattern so many people more."""
        entries = slice(self.across.indptr[pattern], self.across.indptr[pattern + 1])
        self.value[self.across.indices[entries]] += by * self.across.data[entries]
        self.people[pattern] += by


def _one_of(numbers: IntArray, rng: np.random.Generator) -> int:
    return int(rng.choice(numbers))
