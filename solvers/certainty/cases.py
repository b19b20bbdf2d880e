"""Bounds by cases: over all values of the sums that a statement is linear for, such as the people of a class of an AUC.

A box has two ends for each sum. The rows that hold in it are joined to the program, and bounds of all boxes together
hold: the union. Boxes are halved, and those that nobody can be in are left out, until each is a point, or tells nothing
that points do not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from maxent.constraints.kinds.statements import KIND as STATEMENTS
from maxent.constraints.kinds.statements import REACHED, with_rows
from maxent.constraints.program.program import Program
from maxent.models.arrays import BoolArray, FloatArray
from maxent.models.statements.statement import Box, ClassSum, LinearStatement
from maxent.solvers.certainty.bounds import WHOLE, Bounds, Proved, Source, row_of, source_of, whole_numbers
from maxent.solvers.certainty.sums import SIZE, Misses, sum_ends

if TYPE_CHECKING:
    from maxent.models.statements.read import MeasuredStatement
    from maxent.solvers.control import Clock

# Boxes that are looked at, and seconds for them where the call states no limit.
BOXES, SECONDS = 4_000, 60.0
# The level that boxes are asked with which are no points.
BETWEEN = "linear"
WHOLE_PEOPLE, INTEGER = "integer", 3
NOTE = "statements that are not linear (auc, sd) were taken by cases, and time or number of cases ended: bounds hold"


@dataclass(frozen=True, eq=False)
class SumCases:
    """Statements of a program that are linear for each value of some sums, and these sums, each once."""

    program: Program
    statements: tuple[MeasuredStatement, ...]

    @cached_property
    def sums(self) -> dict[bytes, ClassSum]:
        """The sums, by what they weigh; ends are those that all statements leave."""
        found: dict[bytes, ClassSum] = {}
        for each in self.statements:
            for one in each.sums:
                known = found.setdefault(_key(one), one)
                ends = max(known.low, one.low), min(known.high, one.high)
                found[_key(one)] = replace(known, low=ends[0], high=ends[1])
        return found

    @property
    def sources(self) -> frozenset[str]:
        """Where the statements stand."""
        return frozenset(each.source for each in self.statements)

    def first(self, clock: Clock) -> Box | None:
        """The box that the other statements leave; None where they leave none."""
        program, sums = self.program, list(self.sums.values())
        box = [(each.low, each.high) for each in sums]
        if sum(said.rows for said in program.linear) * len(program.cells) <= SIZE:
            aims = np.zeros((len(sums), len(program.cells), program.n_classes))
            for aim, one in zip(aims, sums, strict=True):
                aim[:, one.klass] = one.weights[program.cells.owner]
            sizes = [1 + float(np.abs(one.weights) @ program.table.counts) for one in sums]
            found = zip(box, sum_ends(program, aims, clock=clock), sizes, strict=True)
            box = [(max(low, a - WHOLE * size), min(high, b + WHOLE * size)) for (low, high), (a, b), size in found]
        return self.rounded(box)

    def rounded(self, box: Box) -> Box | None:
        """A box from multiple to multiple of the grains; None where there are none."""
        found = []
        for (low, high), one in zip(box, self.sums.values(), strict=True):
            if one.grain is not None:
                low, high = np.ceil(low / one.grain - WHOLE) * one.grain, np.floor(high / one.grain + WHOLE) * one.grain
            if low > high:
                return None
            found.append((float(low) + 0.0, float(high) + 0.0))
        return found

    def halves(self, box: Box) -> tuple[Box, Box] | None:
        """Two boxes, by the sum with most values left; None of a point, or of a side that is not worth it."""
        sums = list(self.sums.values())
        steps = [
            (high - low) / (one.grain or max(abs(one.low), abs(one.high), 1e-300) * 1e-4)
            for (low, high), one in zip(box, sums, strict=True)
        ]
        at = int(np.argmax(steps))
        if steps[at] < 0.5 or (sums[at].grain is None and steps[at] < 1):
            return None
        (low, high), grain = box[at], sums[at].grain
        middle = (low + high) / 2
        if grain is not None:
            middle = float(np.floor(middle / grain + WHOLE) * grain)
        above = middle if grain is None else middle + grain
        parts = [[*box[:at], ends, *box[at + 1 :]] for ends in ((low, middle), (above, high))]
        return parts[0], parts[1]

    def rows(self, box: Box) -> Iterator[LinearStatement]:
        """The rows that hold in a box: those of the sums, and of the statements."""
        at = dict(zip(self.sums, box, strict=True))
        for key, one in self.sums.items():
            low, high = at[key]
            off = 1e-9 * (abs(low) + abs(high)) if one.grain != 1.0 else 0.0
            yield LinearStatement(one.weights, low - off, high + off, "a case", one.klass)
        for statement in self.statements:
            yield from statement.rows([at[_key(one)] for one in statement.sums])

    def hold(self, people: FloatArray) -> bool:
        """Whether people of each quasi-identifier and class, shape (n_quasi_identifiers, n_classes), satisfy them."""
        box = []
        for one in self.sums.values():
            value, off = float(people[:, one.klass] @ one.weights), WHOLE * (1 + float(np.abs(one.weights).max()))
            if not one.low - off <= value <= one.high + off:
                return False
            box.append((value, value))
        for row in self.rows(box):
            weighed = row.weights * people if row.klass is None else row.weights * people[:, row.klass]
            off = REACHED * float(np.abs(weighed).sum())
            if not row.low - off <= float(weighed.sum()) <= row.high + off:
                return False
        return True


def _key(one: ClassSum) -> bytes:
    return bytes([one.klass % 256]) + str(one.klass).encode() + one.weights.tobytes()


def cases_of(program: Program) -> SumCases | None:
    """The cases of a program; None without any."""
    classes = program.release.target.classes
    same = [each for each in program.release.statements if set(each.target.classes) == set(classes)]
    found = tuple(one for each in same for one in each.measured(program.table, classes))
    return SumCases(program, found) if found else None


# Program, the last level, who is asked about, bounds that hold -> what is proved.
Prove = Callable[["Program", str, "BoolArray", Bounds], "Proved"]


def by_cases(program: Program, last: str, known: Proved, prove: Prove, clock: Clock) -> Proved:
    """What is proved in all cases together, up to the level ``last``.

    ``known``: what is proved of the program. ``prove``: proves the bounds of a program.
    """
    cases = cases_of(program)
    if cases is None:
        return known
    if not known.bounds.open.any():
        return known if cases.hold(known.bounds.low) else replace(known, status="inconsistent")
    done, left, ended = _explored(cases, last, known.bounds, prove, _Limit(clock))
    found = [*done, *left]
    if not found:
        return replace(known, status="inconsistent")
    low, high = (
        np.min([each.low for each in found], axis=0),
        np.max([each.high for each in found], axis=0),
    )
    before = known.bounds
    level = int(max(max(int(each.low_by.max()), int(each.high_by.max())) for each in found))
    bounds = before.narrowed(low, high).stamped(before, level)
    if not ended:
        return replace(known, bounds=bounds)
    bounds = replace(bounds, unasked=bounds.open, notes=(*bounds.notes, NOTE))
    return replace(known, bounds=bounds, status="time_limit")


class _Limit:
    """Whether time, or the number of boxes, is up."""

    def __init__(self, clock: Clock) -> None:
        from maxent.solvers.control import Clock as Own

        self._clocks = [clock] if clock.limit is not None else [clock, Own(SECONDS)]
        self._boxes = 0

    @property
    def clock(self) -> Clock:
        """The clock that ends first."""
        return self._clocks[-1]

    def reached(self) -> bool:
        self._boxes += 1
        return self._boxes > BOXES or any(clock.stop() is not None for clock in self._clocks)


def _explored(
    cases: SumCases, last: str, before: Bounds, prove: Prove, limit: _Limit
) -> tuple[Sequence[Bounds], Sequence[Bounds], bool]:
    """Bounds of the boxes that are done, bounds of those that are left, and whether the work ended before its time.

    Boxes of nobody are left out. Only points are asked with all levels: of other boxes it matters whether anybody can
    be in them.
    """
    done: list[Bounds] = []
    union: tuple[FloatArray, FloatArray] | None = None
    ended = False
    first = cases.first(limit.clock)
    waiting: list[tuple[Box, Bounds]] = [] if first is None else [(first, before)]
    while waiting:
        box, held = waiting.pop()
        wider = before.open
        if union is not None:
            wider = wider & ((held.low < union[0] - WHOLE) | (held.high > union[1] + WHOLE))
        if not wider.any():
            continue
        if limit.reached():
            return done, [held, *(bounds for _, bounds in waiting)], True
        halves = cases.halves(box)
        piece, who = with_rows(cases.program, cases.rows(box)), np.asarray(wider.any(axis=1))
        whole = halves is None and last == WHOLE_PEOPLE
        found = prove(piece, BETWEEN if whole or halves is not None else last, who, held)
        if found.status == "proved" and whole:
            found = _of_whole_people(piece, found, who, limit.clock)
        if found.status == "inconsistent":
            continue
        if halves is not None:
            waiting += [(part, found.bounds) for part in halves]
            continue
        if not whole and _no_shares(piece, limit.clock):
            continue
        ended |= found.status != "proved"
        done.append(found.bounds)
        low, high = found.bounds.low, found.bounds.high
        union = (low, high) if union is None else (np.minimum(union[0], low), np.maximum(union[1], high))
    return done, [], ended


def _of_whole_people(piece: Program, known: Proved, who: BoolArray, clock: Clock) -> Proved:
    """The same of a point for whole people, with whether there are any."""
    from maxent.solvers.certainty.integer import whole_bounds
    from maxent.solvers.certainty.witness import worlds_of
    from maxent.solvers.worlds.part import whole_program
    from maxent.solvers.worlds.settle import Patience, kept_elsewhere, need_cp_sat

    need_cp_sat()
    patience, bounds, whole = Patience.of(clock), known.bounds, whole_program(piece)
    questions = bounds.open & who[:, None]
    beside = np.setdiff1d(np.arange(len(whole.pieces)), whole.asked(np.asarray(questions.any(axis=1))))
    _, states = worlds_of(whole, *whole_numbers(bounds.low, bounds.high), patience, kept_elsewhere, beside)
    if any(state.possible is False for state in states):
        return replace(known, status="inconsistent")
    if not questions.any():
        return known
    found = whole_bounds(piece, bounds.low, bounds.high, questions, patience, kept_elsewhere)
    if found.contradicted:
        return replace(known, status="inconsistent")
    low = np.where(questions, found.low, -np.inf).astype(np.float64)
    high = np.where(questions, found.high, np.inf).astype(np.float64)
    bounds = bounds.narrowed(low, high).stamped(known.bounds, INTEGER)
    return replace(known, bounds=bounds, status="time_limit" if found.ended or found.late.any() else known.status)


def contradict(program: Program, clock: Clock, some: Collection[Source], *, whole: bool = True) -> bool | None:
    """Whether some sources, or rows, contradict each other, of whole people or of shares; None without an answer.

    What one says with the help of another is not said without it.
    """
    if clock.stop() is not None:
        return None
    names, cases = {name for name, kind, *_ in some if kind == STATEMENTS.name}, cases_of(program)
    others = frozenset[str]() if cases is None else cases.sources
    statements = tuple(each.only(names) for each in program.release.statements)
    alone = replace(
        program,
        linear=tuple(
            row
            for row in program.linear
            if not {source_of(row), row_of(row)}.isdisjoint(some) and str(row.origin) not in others
        ),
        contradictions=(),
        release=replace(program.release, statements=statements),
    )
    own = () if (cases := cases_of(alone)) is None else [row for each in cases.statements for row in each.rows()]
    return impossible(with_rows(alone, own), clock, whole=whole)


def impossible(program: Program, clock: Clock, *, whole: bool) -> bool | None:
    """Whether no people, or no shares of them, are in any case of a program; None where that was not found out."""
    from maxent.solvers.certainty.integer import nobody

    def empty(piece: Program, point: bool) -> bool | None:
        answer = _no_shares(piece, clock)
        return nobody(piece, clock) if whole and point and answer is not True else answer

    if clock.stop() is not None:
        return None
    cases = cases_of(program)
    if cases is None:
        return empty(program, True) if program.linear else False
    first, limit, sure = cases.first(clock), _Limit(clock), True
    waiting = [] if first is None else [first]
    while waiting:
        if limit.reached():
            return None
        box = waiting.pop()
        halves = cases.halves(box)
        answer = empty(with_rows(cases.program, cases.rows(box)), halves is None)
        if answer is True:
            continue
        if halves is not None:
            waiting += halves
        elif answer is False and all(low == high for low, high in box):
            return False
        else:
            sure = False
    return True if sure else None


def _no_shares(piece: Program, clock: Clock) -> bool | None:
    """Whether no shares of people satisfy all linear statements; None where that was not found out."""
    if piece.contradictions:
        return True
    if sum(said.rows for said in piece.linear) * len(piece.cells) > SIZE:
        return None
    return Misses(piece, clock).contradict(np.ones(len(piece.linear), bool))[0]
