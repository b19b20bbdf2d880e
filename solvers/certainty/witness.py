"""Two consistent tables of people that differ as much as possible."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxent.constraints.program.program import Program
from maxent.constraints.program.residuals import Evaluator
from maxent.models.arrays import FloatArray, IntArray
from maxent.models.errors import MaxentError
from maxent.solvers.certainty.bounds import whole_numbers
from maxent.solvers.certainty.integer import task_of
from maxent.solvers.workers import WorkerLost
from maxent.solvers.worlds.part import WholeProgram, whole_program
from maxent.solvers.worlds.settle import Extremes, Patience, Run, WorldTask, need_cp_sat, two_elsewhere

# Probability by which a compiled statement may be missed: the error of computing it.
MET = 1e-9


class NoWitness(MaxentError, RuntimeError):
    """No table of whole people was found that is consistent with everything; the message says why."""


@dataclass(frozen=True, slots=True, eq=False)
class Witness:
    """Masses of two worlds, shape (n_cells, n_classes), individuals, and the largest miss of any statement."""

    one: IntArray
    other: IntArray
    missed: float


def witness(
    program: Program, low: FloatArray, high: FloatArray, patience: Patience, run: Run = two_elsewhere
) -> Witness:
    """Two worlds of a program, each put into every compiled statement.

    Raises `NoWitness` where none was found, or it misses comparisons that were too many to be looked at.
    """
    need_cp_sat()
    whole = whole_program(program)
    try:
        tasks, found = worlds_of(whole, *whole_numbers(low, high), patience, run)
    except WorkerLost as error:
        raise NoWitness(f"no table of whole people that is consistent with everything: {error}") from error
    masses = np.zeros((2, len(whole.merged.owner), program.n_classes), np.int64)
    for task, state in zip(tasks, found, strict=True):
        if not state.worlds:
            why = "there is none" if state.possible is False else "none was found in time"
            raise NoWitness(f"no table of whole people that is consistent with everything: {why}")
        masses[0, task.part.groups], masses[1, task.part.groups] = state.worlds[0], state.worlds[-1]
    one, other = handed_out(whole, masses[0]), handed_out(whole, masses[1], backward=True)
    evaluator = Evaluator(program)
    missed = max(evaluator.max_violation(each.astype(np.float64)) for each in (one, other))
    if missed > MET:
        raise NoWitness(
            "the table of whole people that was found misses comparisons of splits at large nodes, which are too many "
            f"to be looked at, by up to {missed:.2g}"
        )
    return Witness(one, other, missed)


def worlds_of(
    whole: WholeProgram, low: IntArray, high: IntArray, patience: Patience, run: Run, parts: IntArray | None = None
) -> tuple[list[WorldTask], list[Extremes]]:
    """Parts of a program (default all) and what was found of each: up to two worlds."""
    asked = np.zeros(low.shape, bool)
    numbers = range(len(whole.pieces)) if parts is None else parts.tolist()
    tasks = [task_of(whole, number, low, high, asked)[1] for number in numbers]
    found = [task.state for task in tasks]
    open_ = []
    for i, (task, state) in enumerate(zip(tasks, found, strict=True)):
        if len(task.part.owners) < len(task.part.owner) or (state.low != state.high).any():
            open_.append(i)
        else:  # everything is known
            state.possible = state.add(task.part, state.low)

    def hear(message: tuple[int, Extremes, int]) -> None:
        found[open_[message[0]]] = message[1]

    if open_:
        run([tasks[i] for i in open_], patience, hear)
    return tasks, found


def handed_out(whole: WholeProgram, pooled: IntArray, *, backward: bool = False) -> IntArray:
    """Masses of the cells, shape (n_cells, n_classes): pooled masses handed out to the members one after the other."""
    program, merged = whole.program, whole.merged
    cells = np.zeros((len(program.cells), program.n_classes), np.int64)
    order = np.lexsort((merged.group, program.cells.owner))  # a member's cells by their group
    owner = program.cells.owner[order]
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    stop = np.append(first[1:], len(order))
    left = pooled.copy()
    spans = list(zip(first.tolist(), stop.tolist(), strict=True))
    for begin, end in reversed(spans) if backward else spans:
        rest = int(program.table.counts[owner[begin]])
        for cell in order[begin:end].tolist():
            group = merged.group[cell]
            taken = np.minimum(left[group], np.maximum(rest - (left[group].cumsum() - left[group]), 0))
            cells[cell] = taken
            left[group] -= taken
            rest -= int(taken.sum())
    return cells
