"""Sums of people that whole numbers settle: the same in every world, or shown by two worlds that they are not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from maxent.constraints.program.program import Linear, Program, Regions
from maxent.constraints.program.residuals import Evaluator
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.errors import Origin
from maxent.models.packages import installed
from maxent.solvers.certainty.cases import SumCases, cases_of
from maxent.solvers.certainty.witness import MET, handed_out, worlds_of
from maxent.solvers.control import Clock
from maxent.solvers.workers import WorkerLost
from maxent.solvers.worlds.part import whole_program
from maxent.solvers.worlds.settle import Patience, kept_elsewhere

if TYPE_CHECKING:
    from maxent.models.statements.read import StatementDocument

# Seconds for all sums, and for one question.
SECONDS, QUESTION = 10.0, 2.0
# Cells of a program, and people of a class in these: what is summed over.
ClassCells = tuple["IntArray", int]


@dataclass(eq=False)
class Settled:
    """What is known of sums: ``low`` to ``high`` in all worlds, ``least`` to ``most`` in those seen, shape (n_sums,).

    A world counts as seen if it satisfies everything that is compiled, comparisons of splits and cases included.
    """

    program: Program
    sums: Sequence[ClassCells]
    low: IntArray
    high: IntArray
    least: IntArray = field(init=False)
    most: IntArray = field(init=False)

    def __post_init__(self) -> None:
        self.low, self.high = self.low.copy(), self.high.copy()
        self.least, self.most = self.high + 1, self.low - 1

    @property
    def unsettled(self) -> BoolArray:
        """Sums that are neither known nor seen to differ, shape (n_sums,)."""
        result: BoolArray = (self.low < self.high) & (self.least >= self.most)
        return result

    def see(self, world: IntArray) -> bool:
        """Take a world, shape (n_cells, n_classes); whether it satisfies everything and tells something new."""
        found = np.array([world[cells, klass].sum() for cells, klass in self.sums], np.int64)
        new = ((found < self.least) | (found > self.most)).any()
        if not new or more_is_known(self.program) or not holds(self.program, world):
            return False
        self.least, self.most = np.minimum(self.least, found), np.maximum(self.most, found)
        return True

    def ask(self) -> None:
        """Settle what is open by CP-SAT, while there is time."""
        if not self.unsettled.any() or not installed("ortools"):
            return
        clock = Clock(SECONDS)
        worlds, none = worlds_in(self.program, clock)
        if none:
            return
        for world in worlds:
            self.see(world)
        for i in np.flatnonzero(self.unsettled).tolist():
            value = int(self.least[i])
            if not self.unsettled[i] or value > self.most[i]:  # seen meanwhile, or no world is known
                continue
            closed = [
                self._closed(i, low, high, clock) for low, high in ((self.low[i], value - 1), (value + 1, self.high[i]))
            ]
            if all(closed):
                self.low[i] = self.high[i] = value

    def _closed(self, i: int, low: int, high: int, clock: Clock) -> bool:
        """Whether no world has a sum between two numbers; one that is found is seen."""
        if low > high:
            return True
        if clock.stop() is not None or not self.unsettled[i]:
            return False
        worlds, none = worlds_in(with_sum(self.program, self.sums[i], low, high), clock)
        for world in worlds:
            self.see(world)
        return none


def more_is_known(program: Program) -> bool:
    """Whether something is stated that no world is put into: comparisons that time was too short for, and draws."""
    release = program.release
    return program.unfinished or (release.draws is not None and not release.target.register)


def with_sum(program: Program, of: ClassCells, low: int, high: int) -> Program:
    """A program whose sum lies between two numbers."""
    (cells, klass), held = of, program.regions
    coef = np.zeros((1, program.n_classes))
    coef[0, klass] = 1.0
    regions = Regions(
        np.append(held.indptr, held.indptr[-1] + len(cells)), np.append(held.indices, cells), (*held.places, None)
    )
    sides = np.array([float(low)]), np.array([float(high)])
    row = Linear("statements", Origin("a sum that is asked"), len(held), coef, *sides, "a case")
    return replace(program, regions=regions, linear=(*program.linear, row))


def worlds_in(program: Program, clock: Clock) -> tuple[list[IntArray], bool]:
    """Up to two worlds of a program, and whether it is proved that there is none."""
    whole, counts = whole_program(program), program.table.counts.astype(np.int64)
    high = np.repeat(counts[:, None], program.n_classes, axis=1)
    try:
        tasks, found = worlds_of(whole, 0 * high, high, Patience.of(clock, QUESTION), kept_elsewhere)
    except WorkerLost:
        return [], False
    if any(state.possible is False for state in found):
        return [], True
    if not all(state.worlds for state in found):
        return [], False
    masses = np.zeros((2, len(whole.merged.owner), program.n_classes), np.int64)
    for task, state in zip(tasks, found, strict=True):
        masses[0, task.part.groups], masses[1, task.part.groups] = state.worlds[0], state.worlds[-1]
    return [handed_out(whole, masses[0]), handed_out(whole, masses[1], backward=True)], False


def holds(program: Program, world: IntArray) -> bool:
    """Whether a world satisfies everything that a program states, and the cases of what is not linear."""
    masses = world.astype(np.float64)
    people = np.zeros((len(program.table), program.n_classes))
    np.add.at(people, program.cells.owner, masses)
    if program.contradictions or Evaluator(program).max_violation(masses) > MET:
        return False
    return NotLinear(program).hold(people)


class NotLinear:
    """What statements tell beside the linear rows of a program: sums case by case, and fits that are printed so."""

    def __init__(self, program: Program) -> None:
        cases = cases_of(program)
        self._program, self._fits = program, documents_refitted(program)
        self._cases = () if cases is None else tuple(SumCases(program, (each,)) for each in cases.statements)
        self.by_cases = frozenset[str]() if cases is None else cases.sources

    def __bool__(self) -> bool:
        return bool(self._cases or self._fits)

    def hold(self, people: FloatArray) -> bool:
        """Whether people of each class, shape (n_qi, n_classes), agree with it."""
        return next(self.missed(people), None) is None and all(printed for _, printed in self.printed(people))

    def missed(self, people: FloatArray) -> Iterator[tuple[str, str]]:
        """Statements whose cases people of each class, shape (n_qi, n_classes), miss, and what they say."""
        missed = (one for each in self._cases if not each.hold(people) for one in each.statements)
        return ((one.source, one.says) for one in missed)

    def printed(self, people: FloatArray) -> Iterator[tuple[str, bool | None]]:
        """Statements that are printed so, and whether people of each class print them; None where it is not known."""
        table, classes = self._program.table, self._program.release.target.classes
        return (found for each in self._fits for found in each.printed(table, classes, people))


def documents_refitted(program: Program) -> list[StatementDocument]:
    """Documents of which tables that satisfy all rows may not print a statement."""
    target = program.release.target
    return [
        each
        for each in program.release.statements
        if each.refitted and not target.register and set(each.target.classes) == set(target.classes)
    ]
