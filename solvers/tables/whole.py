"""CP-SAT on a part, in a child process: the most likely table, and tables that differ from it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxent.constraints.patterns.stated import MANY
from maxent.constraints.patterns.system import System
from maxent.models.arrays import IntArray
from maxent.solvers.clock import Clock
from maxent.solvers.tables.parts import TablePart
from maxent.solvers.tables.shared import shared_groups
from maxent.solvers.threads import cores
from maxent.solvers.worlds.cp_sat import cp_sat, new_solver

# Units of cost to the nat.
PRECISE = 100
# Shares of the time that is left for a part: for the likeliest table, and, if none was found, for any one.
FOR_LIKELIEST, FOR_ANY = 0.6, 0.9
# Tables that are looked for to be far apart before the proof, and the share of the time that is left for each.
APART, EACH = 6, 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Result of a part.

    Attributes
    ----------
    people : shape (n_patterns,), individuals of each pattern in a table that agrees with everything; None: none yet
    likeliest : whether there is none of greater likelihood
    possible : False where it is proved that there is no table
    group : shape (n_patterns,), groups that all tables share
    settled : whether all such groups are known
    """

    people: IntArray | None
    group: IntArray
    likeliest: bool = False
    possible: bool = True
    settled: bool = False


Tell = Callable[[tuple[int, Found]], None]


def rebuild_here(parts: list[TablePart], seed: int, end: float, clock: Clock, tell: Tell) -> None:
    """The likeliest table of each part, then what all tables share; ``end`` is a time of `time.monotonic`.

    ``tell`` hears of every improvement, with the number of the part. This process must not have loaded highspy.
    """
    found = [Found(None, part.base) for part in parts]
    for number, part in enumerate(parts):
        ask = _Ask(part, seed, clock, end)

        def better(people: IntArray, number: int = number) -> None:
            found[number] = replace(found[number], people=people)
            tell((number, found[number]))

        status = ask.likeliest(better, share=FOR_LIKELIEST)
        if found[number].people is None and status is None:
            status = ask.any_table(better, share=FOR_ANY)
            status = None if status else status
        if status is not None:
            found[number] = replace(found[number], likeliest=status, possible=status)
            tell((number, found[number]))
        if status is False:
            return
    for number, part in enumerate(parts):
        people = found[number].people
        if people is not None and time.monotonic() < end and clock.stop() is None:
            group = _Ask(part, seed, clock, end).shared(people)
            if group is not None:
                found[number] = replace(found[number], group=group, settled=True)
                tell((number, found[number]))


class _Ask:
    """Questions about a part."""

    def __init__(self, part: TablePart, seed: int, clock: Clock, end: float) -> None:
        self.part, self.seed, self.clock, self.end = part, seed, clock, end

    def left(self) -> float:
        """Seconds that are left."""
        left = self.clock.left()
        return max(0.01, min(self.end - time.monotonic(), np.inf if left is None else left))

    def likeliest(self, better: Callable[[IntArray], None], share: float) -> bool | None:
        """Look for the likeliest table: True where the last one told is, False where there is none, else None."""
        model, people = self._model()
        for variable, hint in zip(people, self.part.hint.tolist(), strict=True):
            model.add_hint(variable, hint)
        cost = np.rint(PRECISE * (self.part.cost - self.part.cost.min(initial=0))).astype(np.int64)
        model.minimize(cp_sat().LinearExpr.weighted_sum(people, cost.tolist()))
        return self._solve(model, people, better, share)

    def any_table(self, better: Callable[[IntArray], None], share: float) -> bool | None:
        """Look for any table: True where one was told, False where there is none, else None."""
        model, people = self._model()
        return self._solve(model, people, better, share)

    def shared(self, people: IntArray) -> IntArray | None:
        """The groups that all tables share, None where there was no time to prove them."""
        tables = [people]
        rng = np.random.default_rng(self.seed)
        for _ in range(APART):
            model, variables = self._model()
            drawn = rng.integers(-PRECISE, PRECISE + 1, len(people)).tolist()
            model.minimize(cp_sat().LinearExpr.weighted_sum(variables, drawn))
            self._solve(model, variables, tables.append, EACH, gap=0.2)
        while self.left() > 0.01:
            group = shared_groups(self.part.base, self.part.codes, np.array(tables))
            size = np.bincount(group, people)
            several = np.bincount(group, minlength=len(size))
            model, variables = self._model()
            larger = []
            order = np.argsort(group, kind="stable")
            for g, held in enumerate(np.split(order, np.cumsum(several)[:-1])):
                literal = model.new_bool_var("")
                total = cp_sat().LinearExpr.sum([variables[i] for i in held.tolist()])
                model.add(total >= int(size[g]) + 1).only_enforce_if(literal)
                larger.append(literal)
            model.add_bool_or(larger)
            before = len(tables)
            proved = self._solve(model, variables, tables.append, 1.0)
            if proved is False:
                return group
            if len(tables) == before:
                return None
        return None

    def _model(self) -> tuple[Any, list[Any]]:
        """The part as a model, and its unknowns."""
        system = self.part.system
        model = cp_sat().CpModel()
        people = [model.new_int_var(0, most, "") for most in _most(system).tolist()]
        ends = system.matrix.indptr.tolist()
        indices, signs = system.matrix.indices.tolist(), system.matrix.data.tolist()
        for row, (low, high) in enumerate(zip(system.low.tolist(), system.high.tolist(), strict=True)):
            entries = slice(ends[row], ends[row + 1])
            inside = [people[i] for i in indices[entries]]
            model.add_linear_constraint(cp_sat().LinearExpr.weighted_sum(inside, signs[entries]), low, high)
        return model, people

    def _solve(
        self, model: Any, people: list[Any], better: Callable[[IntArray], None], share: float, gap: float = 0.0
    ) -> bool | None:
        """True where the last table told is the best, False where there is none, None where time ran out."""
        solver = new_solver()
        solver.parameters.max_time_in_seconds = share * self.left()
        solver.parameters.num_workers = cores()
        solver.parameters.random_seed = self.seed
        solver.parameters.relative_gap_limit = gap

        class Callback(cp_sat().CpSolverSolutionCallback):  # type: ignore[misc]
            def on_solution_callback(self) -> None:
                better(np.array([self.value(variable) for variable in people], np.int64))

        status = solver.solve(model, Callback())
        return {cp_sat().OPTIMAL: True, cp_sat().INFEASIBLE: False}.get(status)


def _most(system: System) -> IntArray:
    """The most people that the rows allow each pattern, shape (n_patterns,)."""
    row = np.repeat(np.arange(len(system.high)), np.diff(system.matrix.indptr))
    signed = np.bincount(row, system.matrix.data < 0, len(system.high)) > 0
    most = np.full(system.matrix.shape[1], MANY)
    np.minimum.at(most, system.matrix.indices, np.where(signed, MANY, system.high)[row])
    return most
