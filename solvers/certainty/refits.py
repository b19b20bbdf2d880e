"""Classes that regressions settle beyond the sums that their coefficients bound, by tables of people fitted again.

Of few people all tables are listed that satisfy the linear rows, but for those that are proved not to print the
coefficients. Of more, tables that print them are looked for: a class that two of them show to be open is open.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

from maxent.constraints.program.program import Program
from maxent.models.arrays import BoolArray, FloatArray, IntArray, ranges
from maxent.solvers.certainty.bounds import Bounds, Proved, whole_numbers
from maxent.solvers.certainty.cases import INTEGER
from maxent.solvers.certainty.settled import NotLinear, Settled, documents_refitted
from maxent.solvers.certainty.sums import sparse_rows
from maxent.solvers.control import Clock

# People up to whom tables are looked for that print a regression, where its sums leave a class open.
REFITTED = 100
# Tables that are listed, with their sums; that are fitted together; that are judged one by one.
LISTED, SUMS, TOGETHER, JUDGED = 1 << 20, 1 << 25, 1 << 12, 1500
# Seconds for it where the call states no limit.
SECONDS = 60.0
# Rounds in which each end that is open is looked for, sets of three who change classes at once, and pairs of sets.
ATTEMPTS, TRIPLES, PAIRS = 40, 20_000, 1 << 20
NOTE = (
    "a regression tells more than the sums that its coefficients bound: classes that these leave open may follow, as "
    "no two tables of people that print the coefficients were found for them"
)


def is_refitted(program: Program) -> bool:
    """Whether tables of whole people are looked for that print what is fitted."""
    return program.individuals <= REFITTED and bool(documents_refitted(program))


def by_tables(program: Program, bounds: Bounds, asked: BoolArray, clock: Clock) -> tuple[Bounds, BoolArray, bool]:
    """Bounds by tables that print what is fitted, pairs that they leave unsettled, and whether all were looked at."""
    questions, listed = bounds.open & asked[:, None], False
    settled = _of(program, bounds, questions)
    if program.single and program.n_classes == 2 and len(program.cells) == len(program.table) and questions.any():
        left = clock.left()
        tables = RefittedTables(program, settled, bounds, asked, Clock(SECONDS if left is None else left / 2))
        found = tables.listed()
        if listed := found is not None and tables.judge_all(found):
            ends = [np.where(questions, end, way) for end, way in zip(tables.ends(), (-np.inf, np.inf), strict=True)]
            bounds = bounds.narrowed(*ends).stamped(bounds, INTEGER)
            settled.low, settled.high = (end[questions] for end in whole_numbers(bounds.low, bounds.high))
        elif found is None:
            tables.look()
    unsettled = np.zeros(questions.shape, bool)
    unsettled[questions] = settled.unsettled
    return bounds, unsettled, listed


def refitted(program: Program, found: Proved, questions: BoolArray, *, more: bool = True) -> Proved:
    """Bounds of whole people. A class that they leave open counts as not asked, unless two tables show it to be open.

    Both tables print the coefficients of every regression; they differ in how many of the people have the class.
    ``questions``: pairs that were not shown to be open yet; with ``more`` two tables are looked for once more.
    """
    bounds = found.bounds
    questions = questions & bounds.open & ~bounds.unasked
    if more and questions.any():
        settled = _of(program, bounds, questions)
        settled.ask()
        questions[questions] = settled.unsettled
    if not questions.any():
        return found
    bounds = replace(bounds, unasked=bounds.unasked | questions, notes=(*bounds.notes, NOTE))
    return Proved(bounds, "time_limit" if found.status == "proved" else found.status)


def _of(program: Program, bounds: Bounds, questions: BoolArray) -> Settled:
    """People of each quasi-identifier and class that is asked about."""
    sums = [(np.flatnonzero(program.cells.owner == q), k) for q, k in np.argwhere(questions).tolist()]
    low, high = whole_numbers(bounds.low, bounds.high)
    return Settled(program, sums, low[questions], high[questions])


class RefittedTables:
    """Tables of people of two classes, by people of the second; shapes (n_qi,) or (n_tables, n_qi)."""

    def __init__(self, program: Program, settled: Settled, bounds: Bounds, asked: BoolArray, clock: Clock) -> None:
        low, high = whole_numbers(bounds.low, bounds.high)
        self._program, self._settled, self._clock, self._asked = program, settled, clock, asked
        self._counts = program.table.counts.astype(np.int64)
        self._low = np.maximum(low[:, 1], self._counts - high[:, 0])
        self._high = np.minimum(high[:, 1], self._counts - low[:, 0])
        self._least, self._most = self._high + 1, self._low - 1  # of those that print the coefficients
        self._doubt = self._least.copy(), self._most.copy()  # of those of which it is not known
        self._beside, self._judged = NotLinear(program), 0
        self._classes = program.release.target.classes
        self._documents = documents_refitted(program)

    def ends(self) -> tuple[IntArray, IntArray]:
        """The least and the most people of each class in all tables that were not ruled out, shape (n_qi, 2)."""
        low, high = np.minimum(self._least, self._doubt[0]), np.maximum(self._most, self._doubt[1])
        return np.stack([self._counts - high, low], axis=1), np.stack([self._counts - low, high], axis=1)

    def _late(self) -> bool:
        return self._clock.stop() is not None or self._judged >= JUDGED

    def _new(self, tables: IntArray) -> BoolArray:
        """Whether a table has more or fewer people of a class than any that was seen."""
        new: BoolArray = (((tables < self._least) | (tables > self._most)) & self._asked).any(axis=-1)
        return new

    def _judge(self, tables: IntArray) -> None:
        """See which of some tables print the coefficients, as far as they tell something new."""
        tables = tables[self._new(tables)]
        for each in self._documents:
            tables = tables[each.possible(self._program.table, self._classes, tables.astype(np.float64))]
        for table in tables:
            if self._late() or not self._new(table):
                continue
            self._judged += 1
            people = np.stack([self._counts - table, table], axis=1)
            if any(printed is False for _, printed in self._beside.printed(people.astype(np.float64))):
                continue
            if self._settled.see(people[self._program.cells.owner]):
                self._least, self._most = np.minimum(self._least, table), np.maximum(self._most, table)
            else:
                self._doubt = np.minimum(self._doubt[0], table), np.maximum(self._doubt[1], table)

    def judge_all(self, tables: IntArray) -> bool:
        """Judge all tables that satisfy the linear rows; False where none is left, or time was up."""
        tables = np.random.default_rng(0).permutation(tables)
        for begin in range(0, len(tables), TOGETHER):
            if self._late():
                return False
            self._judge(tables[begin : begin + TOGETHER])
        return not self._late() and bool((self.ends()[0] <= self.ends()[1]).all())

    def listed(self) -> IntArray | None:
        """All tables that satisfy the linear rows; None where they are too many."""
        program = self._program
        matrix, lower, upper, _ = sparse_rows(program)
        by_class = matrix.toarray().reshape(len(lower), -1, 2)[:, np.argsort(program.cells.owner)]
        base = by_class[:, :, 0] @ self._counts
        slope, lower, upper = by_class[:, :, 1] - by_class[:, :, 0], lower - base, upper - base
        ends = np.sort([slope * self._low, slope * self._high], axis=0)
        below, above = ends.sum(axis=2)
        tables, sums = np.zeros((1, len(self._counts)), np.int64), np.zeros((1, len(lower)))
        loose = 1e-9 * (1 + np.abs(slope) @ self._counts)
        for i in np.argsort(-np.abs(slope / (upper - lower + loose)[:, None]).sum(axis=0)).tolist():
            below, above = below - ends[0, :, i], above - ends[1, :, i]
            numbers = np.arange(self._low[i], self._high[i] + 1)
            if len(tables) * len(numbers) * max(len(lower), 8) > SUMS or self._clock.stop() is not None:
                return None
            more = (sums[:, None] + numbers[:, None] * slope[:, i]).reshape(-1, len(lower))
            kept = np.flatnonzero(((more + below <= upper + loose) & (more + above >= lower - loose)).all(axis=1))
            if len(kept) > LISTED:
                return None
            sums, tables = more[kept], tables[kept // len(numbers)]
            tables[:, i] = numbers[kept % len(numbers)]
        return tables

    def look(self) -> None:
        """Look for tables that print the coefficients and in which somebody has another class than in those seen."""
        effects = [found for each in self._documents for found in each.effects(self._program.table, self._classes)]
        offs, changes, shares = zip(*effects, strict=True)
        base, moves, share = np.concatenate(offs), np.concatenate(changes, axis=1), np.mean(shares, axis=0)
        random = np.random.default_rng(0)
        for _ in range(ATTEMPTS):
            for i in np.flatnonzero(self._asked & (self._low < self._high)).tolist():
                for end in (self._low[i], self._high[i]):
                    if self._least[i] <= end <= self._most[i]:
                        continue
                    if self._late():
                        return
                    drawn = self._low + random.binomial(self._high - self._low, share)
                    drawn[i] = end
                    self._judge(self._near(drawn, i, base, moves, random))

    def _near(
        self, drawn: IntArray, kept: int, base: FloatArray, moves: FloatArray, random: np.random.Generator
    ) -> IntArray:
        """Tables that print about the coefficients, of a table in which up to six people change their class.

        Sums of two sets of up to three are looked up: what they move the coefficients by is to come back to the digits.
        """
        steps = np.where(drawn < self._high, 1, -1)
        free = np.flatnonzero(self._low < self._high)
        free = free[free != kept]
        sets = [(), *((i,) for i in free.tolist()), *combinations(free.tolist(), 2)]
        triples = random.choice(free, (TRIPLES, 3)) if len(free) > 2 else np.empty((0, 3), np.int64)
        member = np.zeros((len(sets) + len(triples), len(drawn)), bool)
        for row, some in enumerate(sets):
            member[row, list(some)] = True
        member[np.arange(len(sets), len(member))[:, None], triples] = True
        moved = (member * steps) @ moves
        off = base + drawn @ moves
        chosen = int(moved.std(axis=0).argmax())
        order = np.argsort(moved[:, chosen])
        moved, member = moved[order], member[order]
        left = np.searchsorted(moved[:, chosen], -1 - off[chosen] - moved[:, chosen], "left")
        right = np.searchsorted(moved[:, chosen], 1 - off[chosen] - moved[:, chosen], "right")
        many = right - left
        rows = random.permutation(len(many))
        rows = rows[np.cumsum(many[rows]) <= PAIRS]
        a, b = np.repeat(rows, many[rows]), ranges(left[rows], right[rows])
        good = (np.abs(off + moved[a] + moved[b]) <= 1).all(axis=1)
        changed: IntArray = drawn + (member[a[good]] ^ member[b[good]]) * steps
        return changed[:TOGETHER]
