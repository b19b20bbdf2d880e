"""Posterior with all worlds equally likely: exact counts for small parts, random walks for large ones.

Walks alone find no probability exactly, and none where no move leads elsewhere; counting alone leaves out parts of more
than `UNKNOWNS` unknowns.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from maxent.constraints.program.program import Program
from maxent.models.arrays import BoolArray, FloatArray, IntArray, run_ends
from maxent.solvers.certainty.bounds import whole_numbers
from maxent.solvers.certainty.integer import task_of
from maxent.solvers.certainty.witness import worlds_of
from maxent.solvers.workers import WorkerLost
from maxent.solvers.worlds.part import WholePart, WholeProgram, whole_program
from maxent.solvers.worlds.settle import Patience, Run, need_cp_sat, two_elsewhere

# Exact number of worlds of a small part, and the mean class counts over them.
#
# Each assignment of a class (and, where private attributes are tested, of a leaf) to every individual is one world: a
# table of masses m stands for as many as there are ways to hand it out, ``W! / prod m!`` for each quasi-identifier of W
# people. Pooled quasi-identifiers are passed one after the other; a state are the sums so far that statements still
# look at (dynamic programming, forward for the number and backward for the averages).

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
    """Count the worlds of a part, None where there are too many states."""
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


# Moves between worlds that keep all equalities: swaps, and swaps of swaps.
#
# A change takes one person of a pooled quasi-identifier from one unknown to another (another class, or another leaf).
# What equalities it alters is summarised by a hash that is linear: the sum of random numbers, one for each equality.
# Two changes with one hash undo each other when one of them is made backwards: a swap. In a forest hardly any two
# changes are alike, but *differences* of two changes are, wherever they cancel in most trees: such moves are of four
# quasi-identifiers.

# Changes of which all differences are compared: there are as many as its square.
TOGETHER = 1_500
HashArray = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """Changes ``source -> target`` (unknowns), and items, each a change less another one, in runs of equal effects.

    ``first`` and ``second`` are the changes of an item, -1 for none; the item's run are the items
    ``begin <= i < begin + length``, all shapes (n_items,). An item less another one of its run is a move.
    """

    source: IntArray
    target: IntArray
    first: IntArray
    second: IntArray
    begin: IntArray
    length: IntArray

    def __len__(self) -> int:
        return len(self.first)


def moves_of(part: WholePart, free: BoolArray, rng: np.random.Generator) -> Moves:
    """Moves of a part."""
    source, target = _changes(part, free)
    equal = part.rows.lower == part.rows.upper
    matrix = part.rows.matrix[np.flatnonzero(equal)].tocoo()
    number = rng.integers(0, 2**64, size=matrix.shape[0], dtype=np.uint64)
    effect = np.zeros(len(part.owner) * part.n_classes, np.uint64)
    np.add.at(effect, matrix.col, matrix.data.astype(np.int64).astype(np.uint64) * number[matrix.row])
    change = effect[target] - effect[source]
    single = np.arange(len(change))
    none = np.array([-1])
    # The item of no change at all: a change that no equality notices is a move by itself.
    first, second = np.concatenate([single, none]), np.full(len(change) + 1, -1)
    alone = _runs(first, second, np.concatenate([change, np.zeros(1, np.uint64)]))
    some = rng.permutation(len(change))[:TOGETHER]
    one, other = (index.ravel() for index in np.meshgrid(some, some, indexing="ij"))
    differ = one != other
    one, other = one[differ], other[differ]
    differences = _runs(one, other, change[one] - change[other])
    first, second, begin, length = (np.concatenate(both) for both in zip(alone, differences, strict=True))
    begin[len(alone[0]) :] += len(alone[0])
    return Moves(source, target, first, second, begin, length)


def _changes(part: WholePart, free: BoolArray) -> tuple[IntArray, IntArray]:
    """All pairs of different unknowns of each free pooled quasi-identifier."""
    unknown = np.arange(len(part.owner) * part.n_classes)
    owner = np.repeat(part.owner, part.n_classes)
    order = np.argsort(owner, kind="stable")
    own = run_ends(np.bincount(owner, minlength=len(part.owners)))
    sources, targets = [], []
    for o in np.flatnonzero(free).tolist():
        mine = unknown[order[own[o] : own[o + 1]]]
        one, other = (index.ravel() for index in np.meshgrid(mine, mine, indexing="ij"))
        sources.append(one[one != other])
        targets.append(other[one != other])
    nothing = np.empty(0, np.int64)
    return np.concatenate([nothing, *sources]), np.concatenate([nothing, *targets])


def _runs(first: IntArray, second: IntArray, effect: HashArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Items in the order of their effects, without those that are alone with theirs, and the run of each."""
    order = np.argsort(effect, kind="stable")
    effect = effect[order]
    starts = np.flatnonzero(np.concatenate([np.ones(len(effect[:1]), bool), effect[1:] != effect[:-1]]))
    length = np.diff(np.append(starts, len(effect)))
    kept = np.repeat(length > 1, length)
    length = length[length > 1]
    return first[order][kept], second[order][kept], np.repeat(run_ends(length)[:-1], length), np.repeat(length, length)


# Random walk over the worlds of a part, one move at a time.

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


# Samples worlds of a large part: several random walks, and their agreement.
#
# R-hat compares the spread between the halves of all chains with that within them; the effective sample size is what so
# many independent worlds would tell as much as the chains do (Gelman et al., "Bayesian Data Analysis", 2013, chapter
# 11).

CHAINS = 4
# Worlds that are kept of each chain, after as many that are not.
DRAWS = 400
# Moves between two worlds that are kept, for each pooled quasi-identifier of which something is open.
PACE = 20
# Quantities that are looked at together, so that intermediate results stay small.
CHUNK = 1 << 10
# Moves between two looks at the clock.
LOOK = 50


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """People of each class on average, with R-hat and the effective sample size; shapes (n_owners, n_classes)."""

    mean: FloatArray
    r_hat: FloatArray
    effective: FloatArray


def sampled(
    part: WholePart, starts: Sequence[IntArray], free: BoolArray, seconds: float, seed: int, draws: int = DRAWS
) -> Sampled | None:
    """Walk from some worlds in turn, and look at what chains have in common; None where no move leads elsewhere."""
    rng = np.random.default_rng(seed)
    begin = time.monotonic()
    moves = moves_of(part, free, rng)
    if not len(moves):
        return None
    walks = [Walk(part, moves, starts[i % len(starts)], rng) for i in range(CHAINS)]
    pace = PACE * max(int(free.sum()), 1)
    kept = np.zeros((CHAINS, draws, len(part.owners), part.n_classes), np.float32)
    for draw in range(-draws, draws):
        # What is left of the time for each draw of a chain, in moves at the speed so far.
        share = (begin + seconds - time.monotonic()) / (draws - draw) / CHAINS
        for chain, walk in enumerate(walks):
            ends = time.monotonic() + share
            for number in range(pace):
                walk.step()
                if number % LOOK == LOOK - 1 and time.monotonic() > ends:
                    break
            if draw >= 0:
                kept[chain, draw] = part.totals(walk.point())
    values = kept.reshape(CHAINS, draws, -1)
    chunks = [values[:, :, at : at + CHUNK].astype(np.float64) for at in range(0, values.shape[2], CHUNK)]
    r_hat, effective = (np.concatenate(each) for each in zip(*map(agreement, chunks), strict=True))
    shape = len(part.owners), part.n_classes
    mean: FloatArray = kept.mean(axis=(0, 1), dtype=np.float64)
    return Sampled(mean, r_hat.reshape(shape), effective.reshape(shape))


def agreement(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """R-hat of split chains and effective sample sizes; ``values`` has shape (n_chains, n_draws, n_quantities)."""
    half = values.shape[1] // 2
    split = np.concatenate([values[:, :half], values[:, half : 2 * half]])
    m, n = split.shape[:2]
    within = split.var(axis=1, ddof=1).mean(axis=0)
    between = n * split.mean(axis=1).var(axis=0, ddof=1)
    whole = (n - 1) / n * within + between / n
    still = whole <= 0
    safe_within, safe = np.where(within > 0, within, np.inf), np.where(still, 1.0, whole)
    r_hat = np.where(still, 1.0, np.where(within > 0, np.sqrt(whole / safe_within), np.inf))
    centred = split - split.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, 2 * n, axis=1)
    covariance = np.fft.irfft(spectrum * spectrum.conj(), 2 * n, axis=1)[:, :n].mean(axis=0) / n
    correlation = 1.0 - (within - covariance * n / (n - 1)) / safe
    # Geyer's initial positive sequence: pairs of neighbours are added while they are positive.
    pairs = correlation[: n - n % 2].reshape(-1, 2, correlation.shape[1]).sum(axis=1)
    positive = np.cumprod(pairs > 0, axis=0).astype(bool)
    time_ = np.maximum(2 * np.where(positive, pairs, 0.0).sum(axis=0) - 1, 1.0 / (m * n))
    return r_hat, np.where(still, m * n, np.minimum(m * n / time_, m * n))


# Seconds for chains where there is no limit.
WHOLE = 60.0


@dataclass(frozen=True, slots=True, eq=False)
class WeighedWorlds:
    """P(class | quasi-identifier) where each world is equally likely.

    ``posterior``, shape (n_quasi_identifiers, n_classes), NaN where there was no time, or the solver ended.
    ``counted``, shape (n_quasi_identifiers,), whether the worlds of its part were counted: the posterior is exact.
    ``r_hat``, ``effective``, shape (n_quasi_identifiers, n_classes), of what was sampled (see `sampled`), NaN
    elsewhere.
    """

    posterior: FloatArray
    counted: BoolArray
    r_hat: FloatArray
    effective: FloatArray
    log_number: float | None
    left_out: int


def weigh(
    program: Program,
    low: FloatArray,
    high: FloatArray,
    patience: Patience,
    *,
    seed: int = 0,
    most: int = MOST,
    draws: int = DRAWS,
    run: Run = two_elsewhere,
) -> WeighedWorlds:
    """Weigh all worlds of a program equally; raises `MissingExtra` where OR-Tools is not installed."""
    need_cp_sat()
    whole, (least, greatest) = whole_program(program), whole_numbers(low, high)
    found = _empty(whole, least.shape)
    log_number: float | None = 0.0
    large = []
    for number in range(len(whole.pieces)):
        members, task = task_of(whole, number, least, greatest, np.zeros(least.shape, bool))
        exact = counted(task.part, task.state.low, task.state.high, most)
        if exact is None or not exact.number:
            large.append(number)
            log_number = None
            continue
        at = np.searchsorted(task.part.owners, whole.like[members])
        found.posterior[members] = exact.mean[at] / task.part.weight[at][:, None]
        found.counted[members] = True
        log_number = None if log_number is None else log_number + math.log(exact.number)
    if large:
        _sample(whole, least, greatest, np.array(large), patience, seed, draws, run, found)
    return replace(found, log_number=log_number)


def _empty(whole: WholeProgram, shape: tuple[int, ...]) -> WeighedWorlds:
    nothing = np.full(shape, np.nan)
    return WeighedWorlds(nothing, np.zeros(shape[0], bool), nothing.copy(), nothing.copy(), None, whole.left_out)


def _sample(
    whole: WholeProgram,
    low: IntArray,
    high: IntArray,
    parts: IntArray,
    patience: Patience,
    seed: int,
    draws: int,
    run: Run,
    found: WeighedWorlds,
) -> None:
    """Fill in what is sampled."""
    try:
        tasks, states = worlds_of(whole, low, high, patience, run, parts)
    except WorkerLost:  # what was counted stands
        return
    for done, (number, task, state) in enumerate(zip(parts.tolist(), tasks, states, strict=True)):
        if not state.worlds:
            continue
        several = np.bincount(task.part.owner, minlength=len(task.part.owners)) > 1
        free = (state.low < state.high).any(axis=1) | several
        seconds = patience.left(WHOLE) / (len(parts) - done)
        chains = sampled(task.part, state.worlds, free, seconds, seed + number, draws)
        if chains is None:
            continue
        members = np.flatnonzero(np.isin(whole.like, task.part.owners))
        at = np.searchsorted(task.part.owners, whole.like[members])
        found.posterior[members] = chains.mean[at] / task.part.weight[at][:, None]
        found.r_hat[members], found.effective[members] = chains.r_hat[at], chains.effective[at]
