"""Exact number of worlds of a small part, and the mean class counts over them.

Each assignment of a class (and, where private attributes are tested, of a leaf) to every individual is one world: a
table of masses m stands for as many as there are ways to hand it out, ``W! / prod m!`` for each quasi-identifier of W
people. Pooled quasi-identifiers are passed one after the other; a state are the sums so far that statements still look
at (dynamic programming, forward for the number and backward for the averages).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from maxent.models.arrays import FloatArray, IntArray
from maxent.solvers.worlds.part import WholePart

# Steps from a state to the next that are looked at, at most.
MOST = 200_000
# People of a pooled quasi-identifier up to which several ways to divide them are weighed; their number is exact.
PEOPLE = 2_000
# Of a part up to which its states are looked at.
UNKNOWNS = 2_000
State = tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """``number`` of worlds, and people of each class on average over them, shape (n_owners, n_classes)."""

    number: int
    mean: FloatArray


class TooMany(Exception):
    """There are more states than are looked at."""


@dataclass(frozen=True, slots=True, eq=False)
class _Option:
    """A way to divide the people of a pooled quasi-identifier: what it adds to the sums, the ways, the classes."""

    adds: tuple[tuple[int, int], ...]
    ways: int
    classes: tuple[int, ...]


@cache
def _factorial(n: int) -> int:
    return math.factorial(n)


def counted(part: WholePart, low: IntArray, high: IntArray, most: int = MOST) -> Counted | None:
    """Count the worlds of a part, None where there are too many states.

    Parameters
    ----------
    low, high : shape (n_owners, n_classes), proved bounds, which leave out nothing
    most : steps at most
    """
    try:
        return _counted(part, low, high, most)
    except TooMany:
        return None


def _told(part: WholePart, low: IntArray, high: IntArray) -> tuple[IntArray, IntArray]:
    """The bounds, tightened by statements about the people of one class of one pooled quasi-identifier."""
    low, high, matrix, k = low.copy(), high.copy(), part.rows.matrix, part.n_classes
    groups = np.bincount(part.owner)
    for r in range(len(part.rows)):
        unknown = matrix.indices[matrix.indptr[r] : matrix.indptr[r + 1]]
        if not len(unknown) or (matrix.data[matrix.indptr[r] : matrix.indptr[r + 1]] != 1).any():
            continue
        owner, klass = part.owner[unknown // k], unknown % k
        o, x = owner[0], klass[0]
        if (owner == o).all() and (klass == x).all() and len(unknown) == groups[o]:
            low[o, x], high[o, x] = max(low[o, x], part.rows.lower[r]), min(high[o, x], part.rows.upper[r])
    weight = part.weight[:, None]
    high = np.minimum(high, weight - (low.sum(axis=1, keepdims=True) - low))
    return np.maximum(low, weight - (high.sum(axis=1, keepdims=True) - high)), high


def _counted(part: WholePart, low: IntArray, high: IntArray, most: int) -> Counted:
    if len(part.owner) * part.n_classes > UNKNOWNS or (low > high).any():
        raise TooMany
    low, high = _told(part, low, high)
    sums = _Sums(part)
    left = most
    options: list[list[_Option]] = []
    layers: list[dict[State, int]] = [{(0,) * sums.n: 1}]
    for o in range(len(part.owners)):
        options.append(list(_options(part, sums, o, low[o].tolist(), high[o].tolist(), left)))
        following: dict[State, int] = {}
        left -= len(layers[-1]) * len(options[-1])
        if left < 0:
            raise TooMany
        for state, ways in layers[-1].items():
            for option in options[-1]:
                after = sums.after(o, state, option)
                if after is not None:
                    following[after] = following.get(after, 0) + ways * option.ways
        layers.append(following)
    number = sum(layers[-1].values())
    mean = np.zeros((len(part.owners), part.n_classes))
    if not number:
        return Counted(0, mean)
    back = dict.fromkeys(layers[-1], 1)
    for o in reversed(range(len(part.owners))):
        before: dict[State, int] = {}
        totals = [0] * part.n_classes
        for state, ways in layers[o].items():
            completed = 0
            for option in options[o]:
                after = sums.after(o, state, option)
                if after in back:
                    here = option.ways * back[after]
                    completed += here
                    for x, people in enumerate(option.classes):
                        totals[x] += ways * here * people
            before[state] = completed
        back = before
        mean[o] = [total / number for total in totals]
    return Counted(number, mean)


class _Sums:
    """What statements look at: rows, and class totals of the branches that are compared; ``n`` sums together."""

    def __init__(self, part: WholePart) -> None:
        self.part = part
        matrix, n_classes = part.rows.matrix, part.n_classes
        owner = np.repeat(part.owner, n_classes)
        self.n_rows = len(part.rows)
        terms: list[list[tuple[int, int]]] = [[] for _ in range(len(owner))]
        last: list[int] = []
        for r in range(self.n_rows):
            entries = slice(matrix.indptr[r], matrix.indptr[r + 1])
            unknowns = matrix.indices[entries].tolist()
            for i, coef in zip(unknowns, matrix.data[entries].tolist(), strict=True):
                terms[i].append((r, coef))
            last.append(int(owner[unknowns].max(initial=0)))
        self.n = self.n_rows
        first: dict[bytes, int] = {}
        for branch in (b for comparison in part.comparisons for b in comparison.branches):
            if branch.groups.tobytes() not in first:
                first[branch.groups.tobytes()] = self.n
                for g in branch.groups.tolist():
                    for x in range(n_classes):
                        terms[g * n_classes + x].append((self.n + x, 1))
                self.n += n_classes
        self.terms = terms
        self.compared = [[first[b.groups.tobytes()] for b in comparison.branches] for comparison in part.comparisons]
        ends = [int(part.owner[c.node.groups].max(initial=0)) for c in part.comparisons]
        self.judged: list[list[int]] = [[] for _ in part.owners]
        for number, end in enumerate(ends):
            self.judged[end].append(number)
        last += [-1] * (self.n - self.n_rows)
        for columns, end in zip(self.compared, ends, strict=True):
            for column in columns:
                last[column : column + n_classes] = [max(end, was) for was in last[column : column + n_classes]]
        self.forgotten: list[list[int]] = [[] for _ in part.owners]
        for s, end in enumerate(last):
            self.forgotten[end].append(s)
        self.counting = [[r for r in range(self.n_rows) if o <= last[r]] for o in range(len(part.owners))]
        self.low, self.high = self._rest()

    def _rest(self) -> tuple[list[list[int]], list[list[int]]]:
        """What each row must be between after each owner, so that the others can make up for the rest."""
        part, matrix = self.part, self.part.rows.matrix.toarray()
        slots = [np.repeat(part.owner, part.n_classes) == o for o in range(len(part.owners))]
        least = np.array([matrix[:, own].min(axis=1) * w for own, w in zip(slots, part.weight, strict=True)])
        most = np.array([matrix[:, own].max(axis=1) * w for own, w in zip(slots, part.weight, strict=True)])
        shape = (len(part.owners), self.n_rows)
        after_least = least.reshape(shape)[::-1].cumsum(axis=0)[::-1] - least.reshape(shape)
        after_most = most.reshape(shape)[::-1].cumsum(axis=0)[::-1] - most.reshape(shape)
        low: list[list[int]] = (part.rows.lower - after_most).astype(np.int64).tolist()
        high: list[list[int]] = (part.rows.upper - after_least).astype(np.int64).tolist()
        return low, high

    def after(self, o: int, state: State, option: _Option) -> State | None:
        """The state after an option of owner ``o``, None where no world has it; sums of no more use are 0."""
        values = list(state)
        for s, add in option.adds:
            values[s] += add
        low, high = self.low[o], self.high[o]
        if any(not low[r] <= values[r] <= high[r] for r in self.counting[o]):
            return None
        k = self.part.n_classes
        for number in self.judged[o]:
            totals = [np.array(values[c : c + k], np.float64) for c in self.compared[number]]
            if not self.part.comparisons[number].holds(totals):
                return None
        for s in self.forgotten[o]:
            values[s] = 0
        return tuple(values)


def _options(part: WholePart, sums: _Sums, o: int, low: list[int], high: list[int], most: int) -> Iterator[_Option]:
    """All ways to divide the people of an owner, those with the same sums and classes together."""
    k = part.n_classes
    slots = [g * k + x for g in np.flatnonzero(part.owner == o).tolist() for x in range(k)]
    weight = int(part.weight[o])
    found: dict[tuple[tuple[tuple[int, int], ...], tuple[int, ...]], int] = {}
    for number, masses in enumerate(_divisions(weight, slots, low, high, k)):
        if number > most or (number > 1 and weight > PEOPLE):
            raise TooMany
        ways = math.factorial(weight) if weight > PEOPLE else _factorial(weight)
        adds: dict[int, int] = {}
        classes = [0] * k
        for slot, m in zip(slots, masses, strict=True):
            if m:
                ways = ways // _factorial(m) if m <= PEOPLE else ways // math.factorial(m)
                ways *= int(part.copies[slot // k]) ** m
                classes[slot % k] += m
                for s, coef in sums.terms[slot]:
                    adds[s] = adds.get(s, 0) + coef * m
        key = tuple(sorted(adds.items())), tuple(classes)
        found[key] = found.get(key, 0) + ways
    for (added, people), ways in found.items():
        yield _Option(added, ways, people)


def _divisions(weight: int, slots: list[int], low: list[int], high: list[int], k: int) -> Iterator[tuple[int, ...]]:
    """Ways to put people into unknowns such that each class has between ``low`` and ``high`` of them."""
    per_class = [sum(1 for slot in slots if slot % k == x) for x in range(k)]

    def divide(i: int, left: int, used: tuple[int, ...], open_: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if i == len(slots):
            if not left:
                yield ()
            return
        x = slots[i] % k
        still = tuple(n - (y == x) for y, n in enumerate(open_))
        # What the other classes must take, and can take, at least and at most.
        least = sum(max(low[y] - used[y], 0) for y in range(k) if y != x and open_[y])
        most = sum(high[y] - used[y] for y in range(k) if y != x and open_[y])
        first = max(0, left - most if not still[x] else 0, low[x] - used[x] if not still[x] else 0)
        for m in range(first, min(left - least, high[x] - used[x]) + 1):
            now = tuple(u + m * (y == x) for y, u in enumerate(used))
            for rest in divide(i + 1, left - m, now, still):
                yield (m, *rest)

    yield from divide(0, weight, (0,) * k, tuple(per_class))
