"""All statements about the people as rows over patterns: lower and upper numbers of people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from maxent.constraints.patterns.join import Patterns
from maxent.constraints.patterns.stated import MANY, TreeCounts
from maxent.models.arrays import BoolArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class System:
    """``low <= matrix @ people <= high``; ``people``, shape (n_patterns,), are whole numbers.

    ``matrix``, shape (n_rows, n_patterns), has ones, and in rows about labels a -1 for people of another class. No two
    rows are the same.
    """

    matrix: sparse.csr_matrix
    low: IntArray
    high: IntArray

    def missed(self, people: IntArray) -> IntArray:
        """By how many people each row is missed, shape (n_rows,)."""
        value = self.matrix @ people
        return np.asarray(np.maximum(np.maximum(self.low - value, value - self.high), 0), np.int64)


def system_of(patterns: Patterns, trees: tuple[TreeCounts, ...], weight: IntArray) -> System:
    """The rows about some patterns; ``weight``, shape (n_owners,), are the individuals of each owner."""
    book = _Rows(len(patterns))
    if len(weight) > 1 or not any(tree.exact and tree.total == weight[0] for tree in trees):
        order = np.argsort(patterns.owner, kind="stable")
        ends = np.searchsorted(patterns.owner[order], np.arange(len(weight) + 1))
        for owner, people in enumerate(weight.tolist()):
            book.add(np.sort(order[ends[owner] : ends[owner + 1]]), people, people)
    for t, counts in enumerate(trees):
        _of_tree(book, patterns, t, counts)
    return book.system()


def _of_tree(book: _Rows, patterns: Patterns, t: int, counts: TreeCounts) -> None:
    """The rows of a tree. Those of inner nodes are left out where its leaves imply them."""
    places, n_classes = counts.places, counts.low.shape[1]
    rank, n_ranks = places.first[patterns.leaf[:, t]], int(places.last[0])
    key = patterns.klass * n_ranks + rank
    order = np.argsort(key, kind="stable")
    key = key[order]
    implied = _implied(counts)
    for x in range(n_classes):
        first = np.searchsorted(key, x * n_ranks + places.first)
        last = np.searchsorted(key, x * n_ranks + places.last)
        for place in np.flatnonzero(~implied[:, x] & ((counts.low[:, x] > 0) | (counts.high[:, x] < MANY))).tolist():
            low, high = int(counts.low[place, x]), int(counts.high[place, x])
            book.add(np.sort(order[first[place] : last[place]]), low, high)
    by_rank = np.argsort(rank, kind="stable")
    first, last = np.searchsorted(rank[by_rank], (places.first, places.last))
    for place in np.flatnonzero((counts.label >= 0) & (last > first)).tolist():
        held = np.sort(by_rank[first[place] : last[place]])
        klass, label = patterns.klass[held], int(counts.label[place])
        for x in range(n_classes):
            if x != label:
                own = (klass == x) | (klass == label)
                book.add(held[own], 0, MANY, np.where(klass[own] == label, 1, -1))
    sized = ~implied.all(axis=1) & (counts.most < MANY) & (counts.low < counts.high).any(axis=1)
    for place in np.flatnonzero(sized).tolist():
        held = np.sort(by_rank[first[place] : last[place]])
        book.add(held, int(counts.least[place]), int(counts.most[place]))


def _implied(counts: TreeCounts) -> BoolArray:
    """Whether exact counts of the leaves imply the statements of each inner place and class."""
    places = counts.places
    exact = counts.low == counts.high
    inner = np.zeros(exact.shape, bool)
    for place in reversed(places.top_down):
        below = list(places.children[place])
        if below:
            inner[place] = exact[place] = exact[below].all(axis=0)
    return inner


class _Rows:
    """Collects rows, those that are the same but for their bounds as one."""

    def __init__(self, n_patterns: int) -> None:
        self.n_patterns = n_patterns
        self.number: dict[tuple[bytes, bytes], int] = {}
        self.held: list[IntArray] = []
        self.sign: list[IntArray] = []
        self.low: list[int] = []
        self.high: list[int] = []

    def add(self, held: IntArray, low: int, high: int, sign: IntArray | None = None) -> None:
        if not len(held) and low <= 0:
            return
        number = self.number.setdefault((held.tobytes(), b"" if sign is None else sign.tobytes()), len(self.held))
        if number == len(self.held):
            self.held.append(held)
            self.sign.append(np.ones(len(held), np.int64) if sign is None else sign)
            self.low.append(low)
            self.high.append(high)
        else:
            self.low[number], self.high[number] = max(self.low[number], low), min(self.high[number], high)

    def system(self) -> System:
        ends = np.concatenate([[0], np.cumsum([len(held) for held in self.held])]).astype(np.int64)
        indices, data = (np.concatenate([np.empty(0, np.int64), *each]) for each in (self.held, self.sign))
        matrix = sparse.csr_matrix((data, indices, ends), shape=(len(self.held), self.n_patterns))
        return System(matrix, np.array(self.low, np.int64), np.array(self.high, np.int64))
