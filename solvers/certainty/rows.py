"""Proofs about single rows: who has which class, where it is known how often each row was drawn for each tree.

Everything is exact. *Propagation*: whole numbers of rows in a statement leave a class to a row or take it. *Equations*
alone: where the columns of the rows are independent modulo a prime they are so over the rationals, and a solution that
is multiplied out in whole numbers is the only one. Else a row is proved by a combination of equations, found in
floating point, rounded to whole multiples of a power of two, and multiplied out: what is left of the other rows, whose
unknowns are 0 or 1, cannot make up for the difference. What is then open is a program of rows for linear programs and
CP-SAT, as of any release.

Sums of numbers (`maxent.constraints.rows.RowSums`) are equations of the same kind. Their unknowns are numbers of rows,
in whole units, from the least to the greatest that a row's classes leave; what they tell of these excludes classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from maxent.constraints.program.program import Contradiction, Program
from maxent.constraints.rows import RowSums, RowSystem, WeighedRows, numbers_of, row_program
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.solvers.certainty.bounds import Bounds
from maxent.solvers.certainty.levels import Status
from maxent.solvers.certainty.levels import prove as prove_program
from maxent.solvers.control import Clock
from maxent.solvers.solution import Stop

if TYPE_CHECKING:
    Rounding = Callable[[FloatArray], FloatArray]

# Numbers of a matrix that is taken apart as a whole, and of its shorter side.
LARGEST, LONGEST = 60_000_000, 6_000
# Rounds of propagation of numbers that exclude no class, one after the other, before it ends.
IDLE = 8
# What is lost to rounding where squares of distances are added, relative.
LOST = 1e-12
# Rows that one combination each is looked for, and the longest side of their matrix.
COMBINED = 2_000
# Sums times rows of which combinations are looked for.
WEIGHED = 20_000_000
# What a combination of equations is a whole multiple of.
UNIT = 1 << 30
# Seconds that linear programs and CP-SAT may take where the call states no limit.
SECONDS = 60.0
CLOSED, LINEAR = 0, 1
LEVEL = "linear"
# People by which a proved bound may miss a whole number.
WHOLE = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class RowProof:
    """What is proved of rows.

    ``equations``: Equations of draws, each about every class. ``rank``: their rank; None where the matrix is too large
    to be taken apart, or was not asked. ``determined``: rows whose class follows from these equations alone, without
    classes being whole. ``bounds``: fewest and most people of each class in each row, 0 or 1, with the level that
    proved it. ``status``: as of any bounds; inconsistent where the draws do not fit the counts. ``contradictions``:
    what cannot be where no classes of the rows satisfy everything. ``numbers``: see
    `maxent.constraints.rows.row_program`.
    """

    equations: int
    rank: int | None
    determined: int
    bounds: Bounds
    status: Status
    contradictions: tuple[Contradiction, ...] = ()
    numbers: tuple[FloatArray, FloatArray] | None = None

    @property
    def consistent(self) -> bool:
        """Whether no contradiction was found: else the draws do not fit the counts."""
        return self.status != "inconsistent"

    @property
    def low(self) -> IntArray:
        """Whether a row is proved to have a class, shape (n_rows, n_classes)."""
        return np.asarray(self.bounds.low >= 1, np.int64)

    @property
    def high(self) -> IntArray:
        """Whether a row may have a class, shape (n_rows, n_classes)."""
        return np.asarray(self.bounds.high >= 1, np.int64)

    @property
    def proved(self) -> BoolArray:
        """Rows whose class is proved, shape (n_rows,)."""
        return np.asarray(self.low.any(axis=1) & self.consistent)

    @property
    def classes(self) -> IntArray:
        """The class of each row that is proved, else -1; shape (n_rows,)."""
        return np.where(self.proved, self.low.argmax(axis=1), -1)

    def as_dict(self) -> dict[str, int | None]:
        """The key ``row_equations``."""
        return {
            "equations": self.equations,
            "rank": self.rank,
            "determined": self.determined,
            "proved": int(self.proved.sum()),
        }

    def in_words(self) -> str:
        """The same for people to read."""
        rank = "" if self.rank is None else f" of rank {self.rank:,}"
        return (
            f"rows in training order: {self.equations:,} equations of draws{rank} tell the classes of "
            f"{self.determined:,} by themselves; {int(self.proved.sum()):,} of {len(self.proved):,} are proved"
        )


class _Limited(Clock):
    """A clock without a limit, which stops after `SECONDS`."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(SECONDS)
        self._clock = clock

    def stop(self) -> Stop | None:
        return self._clock.stop() or super().stop()


class _Misfit(Exception):
    """No classes of the rows satisfy everything; with the number of a statement, if one shows it."""

    def __init__(self, statement: int | None = None, weighed: Contradiction | None = None) -> None:
        super().__init__("no classes of the rows satisfy everything")
        self.statement, self.weighed = statement, weighed

    def of(self, system: RowSystem) -> tuple[Contradiction, ...]:
        """What is wrong with the system, as far as one statement shows it."""
        if self.weighed is not None:
            return (self.weighed,)
        return () if self.statement is None else (system.misfit(self.statement),)


def prove(
    system: RowSystem, level: str, clock: Clock | None = None, base: Program | None = None, *, programs: bool = True
) -> RowProof:
    """What is proved of the rows of a system by all levels up to one, in at most a minute without a limit.

    Unless ``programs`` are asked, what propagation leaves open stays so; ``base`` is the program of everything else.
    """
    clock = Clock() if clock is None else clock
    n, k = system.n_rows, system.n_classes
    none = np.zeros((n, k))
    nothing = Bounds(none, none + 1.0, none.astype(np.int8), none.astype(np.int8), none.astype(bool))
    rank: int | None = None
    determined = 0
    if system.contradictions:
        return RowProof(system.equations, rank, determined, nothing, "inconsistent", system.contradictions)
    state = _State(system)
    try:
        state.propagate()
        bounds = state.bounds(nothing, CLOSED)
        if level != "closed":
            rank, determined = state.equations(clock)
            state.combine(clock)
            bounds = state.bounds(bounds, LINEAR)
    except _Misfit as found:
        return RowProof(system.equations, rank, determined, nothing, "inconsistent", found.of(system))
    status: Status = "proved"
    limited = _Limited(clock) if clock.limit is None else clock
    try:
        for last in dict.fromkeys((LEVEL, level)) if level != "closed" and programs else ():
            before = -1
            # What is whole tells more about others, until nothing changes; whole people are asked once.
            while bounds.open.any() and before != (before := int(state.allowed.sum())):
                program = row_program(system, state.sure, state.allowed.astype(np.int64), base, state.numbers)
                proved = prove_program(program, last, limited, start=bounds)
                status = proved.status
                if status == "inconsistent":
                    return RowProof(system.equations, rank, determined, nothing, status, program.contradictions)
                low, high = np.ceil(proved.bounds.low - WHOLE), np.floor(proved.bounds.high + WHOLE)
                bounds = replace(proved.bounds, low=low, high=high)
                state.allowed &= (high > 0) & ((low > 0) | ~(low > 0).any(axis=1, keepdims=True))
                state.propagate()
                bounds = state.bounds(bounds, LINEAR)
                if last != LEVEL or limited.stop() is not None:
                    break
    except _Misfit as found:
        return RowProof(system.equations, rank, determined, nothing, "inconsistent", found.of(system))
    return RowProof(system.equations, rank, determined, bounds, status, numbers=state.numbers)


@dataclass(eq=False)
class _State:
    """Which classes each row may have, ``allowed`` of shape (n_rows, n_classes), and the statements about the rows."""

    system: RowSystem
    allowed: BoolArray = field(init=False)
    numbers: tuple[FloatArray, FloatArray] | None = field(init=False)
    low: IntArray = field(init=False)
    high: IntArray = field(init=False)
    _held: list[_SumEntries] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        system = self.system
        self.allowed = np.ones((system.n_rows, system.n_classes), bool)
        total = np.asarray(system.matrix.sum(axis=1), np.int64).reshape(-1, 1)
        self.low, self.high = np.maximum(system.low, 0), np.minimum(system.high, total)
        for _ in range(2):  # what the other classes leave
            least, most = self.low.sum(axis=1, keepdims=True), self.high.sum(axis=1, keepdims=True)
            self.low = np.maximum(self.low, total - (most - self.high))
            self.high = np.minimum(self.high, total - (least - self.low))
        self._entries = np.repeat(np.arange(system.matrix.shape[0]), np.diff(system.matrix.indptr))
        self.numbers = None if system.sums is None else numbers_of(system.sums, self.allowed)

    @property
    def open(self) -> BoolArray:
        """Rows that may have several classes, shape (n_rows,)."""
        return np.asarray(self.allowed.sum(axis=1) > 1)

    @property
    def sure(self) -> IntArray:
        """1 for the only class that a row may have, shape (n_rows, n_classes)."""
        return np.asarray(self.allowed & ~self.open[:, None], np.int64)

    @property
    def asked(self) -> range:
        """The classes that statements are read of: of two, one says what the other does."""
        return range(1, 2) if self.system.n_classes == 2 else range(self.system.n_classes)

    def bounds(self, before: Bounds, level: int) -> Bounds:
        """The bounds, with the number of the level that proved what is new."""
        return before.narrowed(self.sure.astype(np.float64), self.allowed.astype(np.float64)).stamped(before, level)

    def spans(self, x: int) -> tuple[IntArray, IntArray]:
        """Fewest and most of a class that the rows of each statement can have, shapes (n_statements,)."""
        matrix = self.system.matrix
        sure = self.allowed[:, x] & ~self.open
        return matrix @ sure.astype(np.int64), matrix @ self.allowed[:, x].astype(np.int64)

    def settle(self, rows: IntArray, x: int, *, has: bool) -> None:
        """State that rows have a class, or have not."""
        if has:
            kept = self.allowed[rows, x].copy()
            self.allowed[rows] = False
            self.allowed[rows, x] = kept
        else:
            self.allowed[rows, x] = False

    def propagate(self) -> None:
        """Leave to rows the classes that single statements leave to them, until nothing changes."""
        before = -1
        while before != (before := int(self.allowed.sum())):
            if self.system.matrix.nnz:
                self._propagate_classes()
            if self.system.sums is not None:
                self._propagate_numbers(self.system.sums)
            for said in self.system.weighed:
                self._propagate_weighed(said)

    def _propagate_weighed(self, said: WeighedRows) -> None:
        """Leave to rows the classes that a weighed sum leaves to them, given what the others can add at most."""
        allowed = self.allowed[said.rows]
        least = np.where(allowed, said.weights, np.inf).min(axis=1)
        most = np.where(allowed, said.weights, -np.inf).max(axis=1)
        low, high = said.low - said.off, said.high + said.off
        over = said.weights + (least.sum() - least)[:, None] > high
        under = said.weights + (most.sum() - most)[:, None] < low
        allowed = allowed & ~over & ~under
        if least.sum() > high or most.sum() < low or not allowed.any(axis=1).all():
            raise _Misfit(weighed=Contradiction(said.origin, f"{said.says}: no classes of its rows do", 1.0))
        self.allowed[said.rows] = allowed

    def _propagate_classes(self) -> None:
        matrix = self.system.matrix
        at, row, coef = np.arange(matrix.nnz), matrix.indices, matrix.data
        while True:
            before = int(self.allowed.sum())
            at = at[self.open[row[at]]]
            for x in self.asked:
                least, most = self.spans(x)
                wrong = (most < self.low[:, x]) | (least > self.high[:, x])
                if wrong.any():
                    raise _Misfit(int(np.argmax(wrong)))
                here = at[self.allowed[row[at], x] & self.open[row[at]]]
                of, weight = self._entries[here], coef[here]
                banned, forced = weight > (self.high[:, x] - least)[of], weight > (most - self.low[:, x])[of]
                # Of a statement with one odd coefficient the rest says whether that row has the class.
                odd, exact = weight % 2 == 1, (self.low[:, x] == self.high[:, x])[of]
                single = np.bincount(of[odd], minlength=matrix.shape[0])[of] == 1
                rest = ((self.low[:, x] - least) % 2 == 1)[of]
                banned |= odd & exact & single & ~rest
                forced |= odd & exact & single & rest
                self.settle(row[here[forced]], x, has=True)
                self.settle(row[here[banned]], x, has=False)
                empty = ~self.allowed.any(axis=1)
                if empty.any():
                    raise _Misfit(self._about(int(np.argmax(empty))))
            if int(self.allowed.sum()) == before:
                return

    def _about(self, row: int) -> int | None:
        """A statement about a row."""
        sums = self.system.sums
        found = np.flatnonzero(self.system.matrix.indices == row)
        if not len(found) and sums is not None and len(at := np.flatnonzero(sums.matrix.indices == row)):
            first = int(self.system.matrix.shape[0])
            return first + int(np.searchsorted(sums.matrix.indptr, at[0], side="right")) - 1
        return int(self._entries[found[0]]) if len(found) else None

    def _propagate_numbers(self, sums: RowSums) -> None:
        """Leave to rows the numbers that single sums leave to them, as long as that excludes classes."""
        every, several = self._parts(sums)
        before, idle, rounds, part = self.allowed.sum(), 0, IDLE, every
        while len(every.of) and idle < rounds:
            self._propagate_part(sums, part)
            after, rounds = self.allowed.sum(), IDLE if self.open.any() else 1
            before, idle = after, 0 if after < before else idle + 1
            part = every if idle + 1 >= rounds else several  # all of them at the end, which may contradict one another

    def _parts(self, sums: RowSums) -> tuple[_SumEntries, _SumEntries]:
        """All sums, and those of several rows: one of a single row says in every round what it said in the first."""
        if not self._held:
            several = np.flatnonzero(np.diff(sums.matrix.indptr) > 1)
            self._held = [_SumEntries.of_sums(sums, each) for each in (np.arange(len(sums)), several)]
        return self._held[0], self._held[1]

    def _propagate_part(self, sums: RowSums, part: _SumEntries) -> None:
        """Leave to rows the numbers that some sums leave to them, each by itself."""
        least, most = self._narrow(sums)
        low, high = (part.coef * ends.ravel()[part.at] for ends in (least, most))
        (low_sum, open_low), (high_sum, open_high) = (_sums_of(ends, part.begin) for ends in (low, high))
        sides = sums.low[part.number], sums.high[part.number]
        wrong = (low_sum > sides[1]) & (True if open_low is None else open_low == 0)
        wrong |= (high_sum < sides[0]) & (True if open_high is None else open_high == 0)
        if wrong.any():
            raise _Misfit(self.system.matrix.shape[0] + int(part.number[np.argmax(wrong)]))
        # What the others leave, unless one of them is unbounded.
        upper = _left(sides[1], low, low_sum, open_low, part.of) / part.coef
        lower = -_left(-sides[0], -high, -high_sum, open_high, part.of) / part.coef
        inward, outward = (np.ceil, np.floor) if sums.whole else (np.floor, np.ceil)
        np.minimum.at(most.ravel(), part.at, outward(upper))
        np.maximum.at(least.ravel(), part.at, inward(lower))
        self._spread(sums, part, (inward, outward))
        self._exclude(sums)

    def _spread(self, sums: RowSums, part: _SumEntries, rounding: tuple[Rounding, Rounding]) -> None:
        """Leave to rows the numbers that are as near to the mean of a leaf as its variance leaves them."""
        assert self.numbers is not None
        least, most = (ends[0] for ends in self.numbers)
        of, coef, row, far, middle = part.of[part.near], part.coef[part.near], part.row, part.far, part.middle
        nearest = coef * np.maximum(np.maximum(least[row] - middle, middle - most[row]), 0.0) ** 2
        all_near = np.bincount(of, nearest, len(part.number))
        slack = LOST * (np.where(np.isfinite(far), far, 0.0) + all_near)
        wrong = all_near > far + slack
        if wrong.any():
            raise _Misfit(self.system.matrix.shape[0] + int(part.number[np.argmax(wrong)]))
        room = np.sqrt(np.maximum(far[of] - all_near[of] + nearest + slack[of], 0.0) / coef) * (1 + LOST)
        room += LOST * np.abs(middle)
        inward, outward = rounding
        np.minimum.at(most, row, outward(middle + room))
        np.maximum.at(least, row, inward(middle - room))

    def _narrow(self, sums: RowSums) -> tuple[FloatArray, FloatArray]:
        """The least and the greatest number of each row, with what its classes tell; shapes (2, n_rows)."""
        assert self.numbers is not None
        least, most = self.numbers
        by_class = numbers_of(sums, self.allowed)
        np.maximum(least, by_class[0], out=least)
        np.minimum(most, by_class[1], out=most)
        return least, most

    def _exclude(self, sums: RowSums) -> None:
        """Take from rows the classes that their numbers exclude."""
        assert self.numbers is not None
        least, most = self.numbers
        for power in (0, 1):
            self.allowed &= sums.most[power] >= least[power, :, None]
            self.allowed &= sums.least[power] <= most[power, :, None]
        empty = ~self.allowed.any(axis=1)
        if empty.any():
            raise _Misfit(self._about(int(np.argmax(empty))))

    def equations(self, clock: Clock) -> tuple[int | None, int]:
        """The rank of the equations of draws, and how many rows follow from them alone; what follows is settled."""
        sums = self.system.sums
        found = [self._class_equations(clock)] if len(self.system.place) or sums is None else []
        if sums is not None:
            found.append(self._combine_numbers(sums, 0, clock, alone=True))
            self._combine_numbers(sums, 1, clock)
        told = np.logical_or.reduce([follows for _, follows in found])
        ranks = [rank for rank, _ in found if rank is not None]
        if not self.allowed.any(axis=1).all():
            raise _Misfit(self._about(int(np.argmin(self.allowed.any(axis=1)))))
        self.propagate()
        return (max(ranks) if len(ranks) == len(found) else None), int((told & ~self.open).sum())

    def _class_equations(self, clock: Clock) -> tuple[int | None, BoolArray]:
        """The same of the equations about classes, with the rows that follow."""
        n_equations = len(self.system.place)
        matrix = self.system.matrix[:n_equations]
        exact = (self.system.low[:n_equations] == self.system.high[:n_equations]).all(axis=1)
        matrix = sparse.csr_matrix(matrix[exact])
        rows, peeled = _peeled(matrix)
        core = sparse.csr_matrix(matrix[rows][:, ~peeled])
        rank, told = int(peeled.sum()), peeled.copy()
        columns = np.flatnonzero(~peeled)
        known = True
        counts = self.system.low[:n_equations][exact][rows]
        for equations, mine in _components(core):
            if not _affordable(len(equations), len(mine)) or clock.stop() is not None:
                known = False
                continue
            piece = sparse.csr_matrix(core[equations][:, mine])
            members = columns[mine]
            # Rows that were peeled off have classes that propagation has found.
            rest = counts[equations] - matrix[rows][equations] @ self._known(peeled)
            found = _eliminated(piece, rest[:, 1:])
            if found.wrong:
                raise _Misfit
            rank += found.rank
            follows, solution = found.follows, found.values
            if found.rank == len(mine):
                _verify(piece, rest[:, 1:], solution)
            elif follows.any():
                solution, each = _combined(piece, rest[:, 1:], follows)
                follows = np.asarray(each.all(axis=1))
            told[members[follows]] = True
            for x, values in enumerate(solution.T, 1):
                self.settle(members[follows & (values == 1)], x, has=True)
                self.settle(members[follows & (values == 0)], x, has=False)
        return (rank if known else None), told

    def _combine_numbers(
        self, sums: RowSums, power: int, clock: Clock, *, alone: bool = False
    ) -> tuple[int | None, BoolArray]:
        """Narrow numbers by combinations of sums of one power.

        The rank of these, and rows whose numbers follow, are known only if sums are looked at ``alone``.
        """
        of = np.flatnonzero(sums.power == power)
        matrix = sums.matrix[of]
        told = np.zeros(self.system.n_rows, bool)
        rank: int | None = None
        if alone:
            rows, told = _peeled(matrix)
            columns, rank = np.flatnonzero(~told), int(told.sum())
            core = sparse.csr_matrix(matrix[rows][:, columns])
            for equations, mine in _components(core):
                if not _affordable(len(equations), len(mine)) or clock.stop() is not None:
                    rank = None
                    break
                piece = sparse.csr_matrix(core[equations][:, mine])
                found = _eliminated(piece, np.zeros((len(equations), 1), np.int64))
                rank += found.rank
                told[columns[mine[found.follows]]] = True
        least, most = self._narrow(sums)
        unknown = np.flatnonzero(least[power] < most[power])
        fixed = np.where(least[power] < most[power], 0.0, least[power])
        low, high = (side[of] - matrix @ fixed for side in (sums.low, sums.high))
        core, is_open = sparse.csr_matrix(matrix[:, unknown]), self.open
        for equations, mine in _components(core, is_open[unknown]):
            members = unknown[mine]
            if clock.stop() is not None:
                break
            if len(mine) > COMBINED or len(equations) * len(mine) > WEIGHED:
                continue
            piece = sparse.csr_matrix(core[equations][:, mine])
            sides = low[equations], high[equations], least[power, members], most[power, members]
            asked = is_open[members]
            ends = _narrowed(piece, *sides, asked, whole=sums.whole)
            least[power, members[asked]] = np.maximum(least[power, members[asked]], ends[0])
            most[power, members[asked]] = np.minimum(most[power, members[asked]], ends[1])
        self._exclude(sums)
        return rank, told

    def _known(self, of: BoolArray) -> IntArray:
        """The classes of some rows that are settled, shape (n_rows, n_classes), 0 of others."""
        return np.asarray(self.allowed & (of & ~self.open)[:, None], np.int64)

    def combine(self, clock: Clock) -> None:
        """Settle what follows from combinations of statements that are exact, about what is still open."""
        while clock.stop() is None and self.open.any():
            before = int(self.allowed.sum())
            for x in self.asked if self.system.matrix.nnz else ():
                self._combine(x, clock)
            if self.system.sums is not None:
                self._combine_numbers(self.system.sums, 0, clock)
                self._combine_numbers(self.system.sums, 1, clock)
            self.propagate()
            if int(self.allowed.sum()) == before:
                return

    def _combine(self, x: int, clock: Clock) -> None:
        least, _ = self.spans(x)
        open_rows = np.flatnonzero(self.allowed[:, x] & self.open)
        exact = np.flatnonzero(self.low[:, x] == self.high[:, x])
        core = sparse.csr_matrix(self.system.matrix[exact][:, open_rows])
        for equations, mine in _components(core):
            if not _affordable(len(equations), len(mine)) or clock.stop() is not None:
                continue
            piece = sparse.csr_matrix(core[equations][:, mine])
            rest = (self.low[:, x] - least)[exact[equations]][:, None]
            found = _eliminated(piece, rest)
            if found.wrong:
                raise _Misfit
            members, values, follows = open_rows[mine], found.values, found.follows
            if found.rank == len(mine):
                _verify(piece, rest, values)
            elif follows.any():
                values, proved = _combined(piece, rest, follows)
                follows = proved[:, 0]
            values = values[:, 0]
            self.settle(members[follows & (values == 1)], x, has=True)
            self.settle(members[follows & (values == 0)], x, has=False)
            if not self.allowed.any(axis=1).all():
                raise _Misfit


@dataclass(frozen=True, slots=True, eq=False)
class _SumEntries:
    """The entries of some sums, ``number`` among all. ``of``, shape (n_entries,): of which of these sums each is.

    ``at``: of each its place in the numbers of rows; ``begin``: the first entry of each sum. ``near``: entries of sums
    whose variance is stated, with their ``row`` and ``middle``; ``far``, shape (n_sums,).
    """

    number: IntArray
    of: IntArray
    at: IntArray
    coef: FloatArray
    begin: IntArray
    near: IntArray
    row: IntArray
    middle: FloatArray
    far: FloatArray

    @classmethod
    def of_sums(cls, sums: RowSums, number: IntArray) -> _SumEntries:
        matrix = sums.matrix[number] if len(number) < len(sums) else sums.matrix
        of = np.repeat(np.arange(len(number)), np.diff(matrix.indptr))
        row, far = matrix.indices.astype(np.int64), sums.far[number]
        near = np.flatnonzero(np.isfinite(far[of]))
        at = sums.power[number][of] * matrix.shape[1] + row
        middle = sums.middle[number][of[near]]
        begin = matrix.indptr[:-1].astype(np.int64)
        return cls(number, of, at, matrix.data.astype(np.float64), begin, near, row[near], middle, far)


def _sums_of(ends: FloatArray, begin: IntArray) -> tuple[FloatArray, IntArray | None]:
    """Sums of the finite ones of each statement's ends, and how many are infinite, if any; shapes (n_statements,)."""
    finite = np.isfinite(ends)
    if finite.all():
        return np.add.reduceat(ends, begin), None
    return np.add.reduceat(np.where(finite, ends, 0.0), begin), np.add.reduceat((~finite).astype(np.int64), begin)


def _left(
    side: FloatArray, ends: FloatArray, sums: FloatArray, unbounded: IntArray | None, entry: IntArray
) -> FloatArray:
    """What a side leaves to each entry after the ends of all others, infinite where one of these is; (n_entries,)."""
    if unbounded is None:
        return np.asarray(side[entry] - (sums[entry] - ends))
    finite = np.isfinite(ends)
    others = sums[entry] - np.where(finite, ends, 0.0)
    return np.where(unbounded[entry] - ~finite > 0, np.inf, side[entry] - others)


def _narrowed(
    matrix: sparse.csr_matrix,
    low: FloatArray,
    high: FloatArray,
    least: FloatArray,
    most: FloatArray,
    asked: BoolArray,
    *,
    whole: bool,
) -> tuple[FloatArray, FloatArray]:
    """Ends of each x that is asked for, where ``low <= matrix @ x <= high`` and ``least <= x <= most``; (n_asked,).

    For whole numbers y, ``UNIT x_i = y matrix x + (UNIT e_i - y matrix) x``. What is far from all that can be proved is
    left out by a solution x0 near x: only ``x - x0`` is weighed. Ends are rounded inward where x is ``whole``.
    """
    dense, aims = matrix.toarray().astype(np.float64), np.eye(len(least), dtype=np.int64)[:, asked]
    inverse = np.linalg.pinv(dense.T @ dense, rcond=1e-11, hermitian=True)
    start = np.rint(np.clip(inverse @ (dense.T @ ((low + high) / 2)), least, most))
    factors = dense @ inverse[:, asked]  # a combination for each, shape (n_sums, n_asked)
    factors += dense @ (inverse @ (aims - dense.T @ factors))
    if not np.isfinite(factors).all() or np.abs(factors).max(initial=0.0) > 2.0**20:
        return least[asked], most[asked]
    chosen = np.rint(factors * UNIT).astype(np.int64)
    left = UNIT * aims - np.asarray(matrix.T.astype(np.int64) @ chosen)
    at, ends = matrix @ start, []
    for sign in (1, -1):  # of the greatest -x is the least
        total, bounded = np.zeros(int(asked.sum()), np.int64), np.ones(int(asked.sum()), bool)
        for factor, low_z, high_z in ((chosen, low - at, high - at), (left, least - start, most - start)):
            part, told = _least(factor, low_z, high_z) if sign > 0 else _least(factor, -high_z, -low_z)
            total, bounded = total + part, bounded & told
        rounded = (-(-total // UNIT) if whole else total // UNIT).astype(np.float64)
        ends.append(sign * np.where(bounded, sign * start[asked] + rounded, -np.inf))
    return ends[0], ends[1]


def _least(factors: IntArray, low: FloatArray, high: FloatArray) -> tuple[IntArray, BoolArray]:
    """The least ``factors.T @ z`` for whole z between two ends, exact, and whether there is one; shapes (n_rows,)."""
    plus, minus = np.maximum(factors, 0), np.maximum(-factors, 0)
    bounded = (plus.T @ ~np.isfinite(low)) + (minus.T @ ~np.isfinite(high)) == 0
    least, most = (np.where(np.isfinite(end), end, 0.0).astype(np.int64) for end in (low, high))
    largest = max(int(np.abs(least).max(initial=0)), int(np.abs(most).max(initial=0)), 1)
    kind = np.int64 if float(np.abs(factors).sum(axis=0).max(initial=0)) * largest < 2.0**60 else object
    return plus.T.astype(kind) @ least.astype(kind) - minus.T.astype(kind) @ most.astype(kind), bounded


def _verify(piece: sparse.csr_matrix, rest: IntArray, values: IntArray) -> None:
    """Multiply the only solution out, in whole numbers."""
    if values.max(initial=0) > 1 or (values.sum(axis=1) > 1).any() or (piece @ values != rest).any():
        raise _Misfit


def _affordable(n_equations: int, n_rows: int) -> bool:
    return n_equations * n_rows <= LARGEST and min(n_equations, n_rows) <= LONGEST


def _peeled(matrix: sparse.csr_matrix) -> tuple[IntArray, BoolArray]:
    """Equations about several rows, and rows that equations about one row alone tell, one after the other."""
    peeled = np.zeros(matrix.shape[1], bool)
    entry = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    row = matrix.indices
    while True:
        here = ~peeled[row]
        entry, row = entry[here], row[here]
        sizes = np.bincount(entry, minlength=matrix.shape[0])
        single = row[sizes[entry] == 1]
        if not len(single):
            return np.flatnonzero(sizes > 1), peeled
        peeled[single] = True


def _components(matrix: sparse.csr_matrix, asked: BoolArray | None = None) -> list[tuple[IntArray, IntArray]]:
    """Equations and rows that hang together, only such as there are equations about, and have a row that is asked."""
    from scipy.sparse.csgraph import connected_components

    n_equations, n_rows = matrix.shape
    if not matrix.nnz or (asked is not None and not asked.any()):
        return []
    entry = np.repeat(np.arange(n_equations), np.diff(matrix.indptr))
    ones = np.ones(matrix.nnz, np.int8)
    graph = sparse.csr_matrix((ones, (entry, matrix.indices + n_equations)), shape=(n_equations + n_rows,) * 2)
    n_pieces, label = connected_components(graph, directed=False)
    wanted = np.bincount(label[:n_equations], minlength=n_pieces) > 0
    some = np.ones(n_rows, bool) if asked is None else asked
    wanted &= np.bincount(label[n_equations:][some], minlength=n_pieces) > 0
    order = np.argsort(label, kind="stable")
    order = order[wanted[label[order]]]
    if not len(order):
        return []
    pieces = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
    return [(piece[piece < n_equations], piece[piece >= n_equations] - n_equations) for piece in pieces]


# Gaussian elimination modulo a prime, block by block: products of blocks are exact in double precision.

PRIME = 4_194_301
BLOCK = 64


@dataclass(frozen=True, slots=True, eq=False)
class _Eliminated:
    """What elimination tells of ``matrix @ x = rest``.

    ``values``, shape (n_rows, n_sides), solve it modulo the prime; ``follows`` are rows that all solutions modulo the
    prime agree about, shape (n_rows,); ``wrong`` where it has no solution in whole numbers.
    """

    rank: int
    values: IntArray
    follows: BoolArray
    wrong: bool


def _reduced(values: FloatArray) -> FloatArray:
    """Numbers modulo the prime, in place."""
    values -= np.floor(values * (1.0 / PRIME)) * PRIME
    values += PRIME * (values < 0)
    values -= PRIME * (values >= PRIME)
    return values


def _eliminated(matrix: sparse.csr_matrix, rest: IntArray) -> _Eliminated:
    """Eliminate modulo the prime; shapes (n_equations, n_rows) and (n_equations, n_sides)."""
    n = matrix.shape[1]
    work = _reduced(np.concatenate([matrix.toarray(), rest], axis=1).astype(np.float64))
    pivots: list[int] = []
    for begin in range(0, n, BLOCK):
        if len(pivots) == len(work):
            break
        _eliminate_block(work, pivots, begin, min(begin + BLOCK, n))
    rank = len(pivots)
    wrong = bool(work[rank:, n:].any())
    upper = work[:rank].astype(np.int64)
    # The sides, and some directions in which solutions can move: whoever stays where they are in all of them follows.
    moves = 3
    found = np.zeros((n, rest.shape[1] + moves), np.int64)
    free = np.ones(n, bool)
    free[pivots] = False
    found[free, -moves:] = np.random.default_rng(0).integers(1, PRIME, (int(free.sum()), moves))
    sides = np.concatenate([upper[:, n:], np.zeros((rank, moves), np.int64)], axis=1)
    for i in range(rank - 1, -1, -1):
        at = pivots[i]
        later = upper[i, at + 1 : n]
        some = np.flatnonzero(later)
        value = (sides[i] - later[some] @ found[at + 1 :][some]) % PRIME
        found[at] = value * pow(int(upper[i, at]), -1, PRIME) % PRIME
    values = found[:, : rest.shape[1]]
    return _Eliminated(rank, values, np.asarray(~found[:, -moves:].any(axis=1)), wrong)


def _eliminate_block(work: FloatArray, pivots: list[int], begin: int, end: int) -> None:
    """Take some columns to echelon form, and all later ones with them, in place."""
    top = len(pivots)
    panel = work[top:, begin:end].copy()
    factors = np.zeros((len(panel), end - begin))
    done = 0
    for j in range(end - begin):
        if done == len(panel):
            break
        some = np.flatnonzero(panel[done:, j])
        if not len(some):
            continue
        swap = done + int(some[0])
        if swap != done:
            for held in (panel, factors):
                held[[done, swap]] = held[[swap, done]]
            work[[top + done, top + swap]] = work[[top + swap, top + done]]
        inverse = pow(int(panel[done, j]), -1, PRIME)
        below = slice(done + 1, None)
        factor = _reduced(panel[below, j] * inverse)
        factors[below, done] = factor
        panel[below, j:] = _reduced(panel[below, j:] - factor[:, None] * panel[done, j:])
        pivots.append(begin + j)
        done += 1
    later = work[top:, end:]
    for i in range(1, done):  # the pivots' own equations
        later[i] = _reduced(later[i] - _reduced(factors[i, :i] @ later[:i]))
    if done < len(later):
        later[done:] = _reduced(later[done:] - _reduced(factors[done:, :done] @ later[:done]))
    work[top:, begin:end] = panel


def _combined(matrix: sparse.csr_matrix, rest: IntArray, asked: BoolArray) -> tuple[IntArray, BoolArray]:
    """Rows that combinations of equations prove, and their values, shapes (n_rows, n_sides).

    For whole numbers y, ``UNIT x_i = y rest + (UNIT e_i - y matrix) x``, and every other unknown is 0 or 1.
    """
    n = matrix.shape[1]
    values, proved = np.zeros((n, rest.shape[1]), np.int64), np.zeros((n, rest.shape[1]), bool)
    which = np.flatnonzero(asked)
    if max(matrix.shape) > COMBINED:
        return values, proved
    aims = np.zeros((n, len(which)))
    aims[which, np.arange(len(which))] = 1.0
    factors = np.linalg.lstsq(matrix.T.toarray().astype(np.float64), aims, rcond=None)[0]
    if not np.isfinite(factors).all() or np.abs(factors).max() * UNIT * max(float(np.abs(rest).sum()), 1.0) > 2.0**60:
        return values, proved
    whole = np.rint(factors * UNIT).astype(np.int64)
    left = UNIT * aims.astype(np.int64) - matrix.T.astype(np.int64) @ whole
    for s in range(rest.shape[1]):
        side = whole.T @ rest[:, s]
        least, most = side + np.minimum(left, 0).sum(axis=0), side + np.maximum(left, 0).sum(axis=0)
        values[which, s] = least > 0
        proved[which, s] = (least > 0) | (most < UNIT)
    return values, proved
