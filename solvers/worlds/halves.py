"""Worlds of few people by meeting in the middle: sums over one half of them, sorted, and the other half's beside.

Rows with real weights tell all people of a part from each other, which leaves CP-SAT nothing to pass on. The sums of
all labellings of a half are cut into cells some times as wide as the rows are; a labelling of the other half then looks
into one or two cells of each row (Horowitz and Sahni 1974). Where both halves are small enough that is every world;
else some people are drawn as the estimate has them, and the others are tried in all ways.

The estimate is an exponential family of the sums that rows state, so that all worlds are about as likely under it. Half
of the people with classes that are less likely by themselves are in none of them. That is one more row, a combination
of the others, and where it leaves few labellings of each half these are every world, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray, IntArray, ranges

if TYPE_CHECKING:
    from maxent.solvers.worlds.part import WholePart

# Those of `maxent.solvers.worlds.settle`, which asks here.
Extremes: TypeAlias = Any
Patience: TypeAlias = Any

# Labellings of a half that are listed: where all are, and where only some people are tried.
COMPLETE, TRIED = 1 << 18, 1 << 18
# The same where likelihood leaves some out; size of the sums of its row, and how far shares are from certain there.
LIKELY, PRECISE, DOUBT = 1 << 21, 2.0**56, 1e-6
# Rows whose cells are looked into, and labellings and pairs that are looked at together.
ROWS, CHUNK, PAIRS = 5, 1 << 13, 1 << 21
# How many times as wide as a row its cells are: of so many labellings about one looks into two of them.
WIDE = 4
# Bits of keys by which a table tells whether any cell has them.
TAKEN = 24
# Draws of the others for one question.
DRAWS, DRAWN = 20, 3000
# Draws in vain after which there are hardly worlds to be found.
VAIN = 40


class LongHalf(Exception):
    """More labellings of a half are left than may be listed."""


@dataclass(frozen=True, slots=True, eq=False)
class Labelling:
    """People of the second class in each group, ``low <= m <= high``, with ``lower <= matrix @ m <= upper``."""

    matrix: IntArray
    lower: IntArray
    upper: IntArray
    low: IntArray
    high: IntArray

    @property
    def choices(self) -> float:
        """How many labellings there are, rows apart."""
        return float(np.prod(self.high - self.low + 1.0))

    def halves(self) -> tuple[IntArray, IntArray]:
        """Groups that are open, in two halves with about as many labellings each."""
        free = np.flatnonzero(self.low < self.high)
        order = free[np.lexsort((-np.abs(self.matrix[-1, free]), self.low[free] - self.high[free]))]
        return order[::2], order[1::2]

    def by_likelihood(self, share: FloatArray) -> Labelling | None:
        """With one more row, of how likely labellings are by shares of people; None where numbers are too large."""
        most, span = self.matrix * self.high, self.matrix * (self.high - self.low)
        least = self.matrix @ self.low + np.minimum(span, 0).sum(axis=1)
        lower, upper = np.maximum(self.lower, least), np.minimum(self.upper, least + np.abs(span).sum(axis=1))
        likely = np.clip(share, DOUBT, 1 - DOUBT)
        odds = np.where(self.low < self.high, np.log(likely / (1 - likely)), 0.0)
        width = np.maximum(upper - lower, 0) + 1.0
        rows = self.matrix / width[:, None]
        square = rows @ rows.T
        square[np.diag_indices_from(square)] += 1e-9 * np.trace(square)  # of rows that are alike, all
        factor = np.linalg.lstsq(square, rows @ odds, rcond=None)[0] / width
        size = float(np.abs(factor) @ np.abs(most).sum(axis=1))
        choices = max(float(np.prod((self.high - self.low + 1.0)[half])) for half in self.halves())
        if not 0 < size < np.inf or np.abs(most).sum() > PRECISE or choices > PRECISE:
            return None
        whole = np.rint(factor * (PRECISE / size)).astype(np.int64)
        ends = whole * np.where(whole > 0, [lower, upper], [upper, lower])
        return Labelling(
            np.vstack([self.matrix, whole @ self.matrix]),
            np.append(lower, ends[0].sum()),
            np.append(upper, ends[1].sum()),
            self.low,
            self.high,
        )

    def found(self, most: int | None = None) -> Iterator[IntArray]:
        """All labellings that agree with the rows, many at a time, shape (n, n_groups).

        With ``most`` those of a half that agree with none of the other are left out, so that no more need to be listed.
        """
        first, second = self.halves()
        base = self.matrix @ self.low
        span = self.matrix * (self.high - self.low)
        lower = np.maximum(self.lower - base, np.minimum(span, 0).sum(axis=1))
        upper = np.minimum(self.upper - base, np.maximum(span, 0).sum(axis=1))
        if (lower > upper).any():
            return
        (one, one_of), (other, other_of) = (self._sums(half, lower, upper, most) for half in (first, second))
        if not len(one) or not len(other):
            return
        width = upper - lower + 1
        spread = np.ptp(one, axis=0).astype(np.float64) + np.ptp(other, axis=0)
        chosen = np.argsort(-spread / width, kind="stable")[:ROWS]
        for times in (WIDE, 1):  # wide cells only where they leave few pairs
            near = 1.5 * (times + 1) * width[chosen] / np.maximum(spread[chosen], 1)
            pairs = len(one) * len(other) * np.cumprod(np.minimum(near, 1))
            if pairs[-1] <= 2 * len(other):
                break
        chosen = chosen[: 1 + int((pairs > 2 * len(other)).sum())]
        factor = np.random.default_rng(0).integers(1, 1 << 62, len(chosen)) | 1
        wide = width[chosen] * times
        cells = other[:, chosen] // wide
        with np.errstate(over="ignore"):
            keys = (cells * factor).sum(axis=1)
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        taken = np.zeros(1 << TAKEN, bool)  # most keys are found to be nobody's at a glance
        taken[keys.view(np.uint64) >> np.uint64(64 - TAKEN)] = True
        for begin in range(0, len(one), CHUNK):
            mine = one[begin : begin + CHUNK]
            start, end = ((side[chosen] - mine[:, chosen]) // wide for side in (lower, upper))
            with np.errstate(over="ignore"):
                first_key = (start * factor).sum(axis=1)
            for offset in product((0, 1), repeat=len(chosen)):
                with np.errstate(over="ignore"):
                    key = first_key + (np.array(offset, np.int64) * factor).sum()
                maybe = np.flatnonzero((start + offset <= end).all(axis=1))
                maybe = maybe[taken[key[maybe].view(np.uint64) >> np.uint64(64 - TAKEN)]]
                cell, key = start[maybe] + np.array(offset, np.int64), key[maybe]
                left, right = np.searchsorted(keys, key, "left"), np.searchsorted(keys, key, "right")
                for part in _shares(right - left):
                    n = (right - left)[part]
                    a = np.repeat(np.arange(len(maybe))[part], n)
                    b = order[ranges(left[part], right[part])]
                    sums = mine[maybe[a]] + other[b]
                    good = (cells[b] == cell[a]).all(axis=1) & ((lower <= sums) & (sums <= upper)).all(axis=1)
                    if good.any():
                        yield self._labels(first, second, one_of[begin + maybe[a[good]]], other_of[b[good]])

    def _sums(self, groups: IntArray, lower: IntArray, upper: IntArray, most: int | None) -> tuple[IntArray, IntArray]:
        """Sums of rows over groups for each labelling of these, above the fewest people, and the number of each.

        Shapes (n, n_rows), (n,). With ``most`` only of those that some labelling of everybody may have.
        """
        found: IntArray = np.zeros((1, len(self.matrix)), np.int64)
        number: IntArray = np.zeros(1, np.int64)
        span = self.matrix * (self.high - self.low)
        below, above = np.minimum(span, 0).sum(axis=1), np.maximum(span, 0).sum(axis=1)  # what others can add
        for g in groups.tolist():
            digits: IntArray = np.arange(int(self.high[g] - self.low[g]) + 1)
            found = (found[:, None, :] + digits[:, None] * self.matrix[:, g]).reshape(-1, len(self.matrix))
            number = (number[:, None] * len(digits) + digits).ravel()
            if most is not None:
                below, above = below - np.minimum(span[:, g], 0), above - np.maximum(span[:, g], 0)
                kept = np.flatnonzero(((found + below <= upper) & (found + above >= lower)).all(axis=1))
                found, number = found[kept], number[kept]
                if len(kept) > most:
                    raise LongHalf
        return found, number

    def _labels(self, first: IntArray, second: IntArray, a: IntArray, b: IntArray) -> IntArray:
        """Labellings by their numbers in each half."""
        found = np.repeat(self.low[None], len(a), axis=0)
        for groups, number in ((first, a.copy()), (second, b.copy())):
            for g in groups[::-1].tolist():
                number, digit = np.divmod(number, self.high[g] - self.low[g] + 1)
                found[:, g] += digit
        return found


def _shares(sizes: IntArray) -> Iterator[slice]:
    """Runs of entries whose sizes are together about as many as are looked at together."""
    ends = np.cumsum(sizes)
    begin = 0
    while begin < len(sizes) and ends[-1] > (ends[begin - 1] if begin else 0):
        stop = int(np.searchsorted(ends, (ends[begin - 1] if begin else 0) + PAIRS, "right"))
        stop = max(stop, begin + 1)
        yield slice(begin, stop)
        begin = stop


def labelling_of(part: WholePart, state: Extremes) -> Labelling | None:
    """The people of the second of two classes in each group; None of parts that need more than linear rows."""
    matrix = part.rows.matrix
    if part.n_classes != 2 or part.comparisons or len(part.owners) < len(part.owner) or not len(part.rows):
        return None
    dense = matrix.toarray().astype(np.int64)
    weight = part.weight[part.owner]
    base = dense[:, ::2] @ weight
    low = np.maximum(state.low[part.owner, 1], weight - state.high[part.owner, 0])
    high = np.minimum(state.high[part.owner, 1], weight - state.low[part.owner, 0])
    if (low > high).any():
        return None
    return Labelling(dense[:, 1::2] - dense[:, ::2], part.rows.lower - base, part.rows.upper - base, low, high)


def dense(part: WholePart) -> bool:
    """Whether rows with weights of many sizes hold a part together."""
    matrix = part.rows.matrix
    return bool(len(part.owner) <= 400 and len(np.unique(np.abs(matrix.data))) > 2 * len(part.rows))


def guessed(part: WholePart) -> bool:
    """Whether `settle_halves` draws some people, which needs shares that are not far off."""
    return dense(part) and float(np.log2(part.weight[part.owner] + 1.0).sum()) > 2 * np.log2(COMPLETE)


def settle_halves(
    part: WholePart, state: Extremes, asked: BoolArray, patience: Patience, likely: FloatArray | None
) -> bool:
    """Find worlds of a part; whether these were all, so that nothing is left open."""
    said = labelling_of(part, state) if dense(part) else None
    if said is None:
        return False
    size = [np.prod((said.high - said.low + 1.0)[half]) for half in said.halves()]
    share = np.full(len(part.owner), 0.5) if likely is None else likely[part.owner, 1]
    few, most = (said, None) if max(size) <= COMPLETE else (said.by_likelihood(share), LIKELY)
    try:
        if few is not None:
            return _all(part, state, asked, patience, few.found(most))
    except LongHalf:
        pass
    random = np.random.default_rng(0)
    tries = np.zeros((2, *asked.shape), np.int64)
    place = np.argsort(part.owner, kind="stable")
    while not patience.ended():
        wanted = state.open() & asked & (tries < DRAWS)
        if not wanted.any():
            break
        end, o, x = (int(i) for i in np.argwhere(wanted)[random.integers(int(wanted.sum()))])
        tries[end, o, x] += 1
        if tries.sum() > VAIN and not state.possible:
            break
        target = int(state.targets(np.zeros_like(tries))[end][o, x])
        g = int(place[o])
        fixed = target if x == 1 else int(part.weight[o]) - target
        if said.low[g] <= fixed <= said.high[g]:
            for found in _some(said, share, g, fixed, random).found():
                _add(part, state, found)
                if patience.ended() or not state.open()[end, o, x]:
                    break
    return False


def _all(part: WholePart, state: Extremes, asked: BoolArray, patience: Patience, worlds: Iterator[IntArray]) -> bool:
    """Take in all worlds of a part; False where questions were answered, or time was up, before these were all."""
    for found in worlds:
        _add(part, state, found)
        if patience.ended() or not (state.open() & asked).any():
            return False
    if not state.possible:
        state.possible = False
    else:
        state.low, state.high = state.least.copy(), state.most.copy()
    return True


def _some(said: Labelling, share: FloatArray, g: int, fixed: int, random: np.random.Generator) -> Labelling:
    """A labelling of which a few people are open, others drawn, and one group as it is asked for."""
    choices, free = 1.0, np.zeros(len(share), bool)
    doubt = -np.abs(share - 0.5) + 0.3 * random.random(len(share))
    for other in np.argsort(-doubt, kind="stable").tolist():
        more = said.high[other] - said.low[other] + 1
        if other == g or more < 2:
            continue
        if choices * more > float(TRIED) ** 2:
            break
        free[other] = True
        choices *= more
    share = np.clip(share, 0.0, 1.0)
    drawn = np.clip(random.binomial(np.maximum(said.high, 0), share, (DRAWN, len(share))), said.low, said.high)
    drawn[:, g] = fixed
    # Of several draws the one that leaves the open people about what they have on average.
    expected = np.where(free, said.low + share * (said.high - said.low), drawn)
    spread = np.abs(said.matrix[:, free]).sum(axis=1) + 1.0
    off = (expected @ said.matrix.T - (said.lower + said.upper) / 2) / spread
    best = drawn[int(np.square(off).sum(axis=1).argmin())]
    low, high = np.where(free, said.low, best), np.where(free, said.high, best)
    return Labelling(said.matrix, said.lower, said.upper, low, high)


def _add(part: WholePart, state: Extremes, found: IntArray) -> None:
    """Take in those worlds, of many, in which somebody has fewer or more people of a class than was seen."""
    second = np.empty((len(found), len(part.owners)), np.int64)
    second[:, part.owner] = found
    if state.worlds:  # most show nothing new
        low, high = second.min(axis=0), second.max(axis=0)
        new = (low < state.least[:, 1]) | (high > state.most[:, 1])
        new |= (part.weight - high < state.least[:, 0]) | (part.weight - low > state.most[:, 0])
        second = second[:, new]
    for pick in {*second.argmin(axis=0).tolist(), *second.argmax(axis=0).tolist()}:
        masses = np.stack([part.weight[part.owner] - found[pick], found[pick]], axis=1)
        totals = part.totals(masses)
        if not state.worlds or (totals < state.least).any() or (totals > state.most).any():
            state.add(part, masses)
