"""Splits the program into independent parts, within the time limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from maxent.constraints.presolve.closed_form import solve_leafwise
from maxent.constraints.presolve.merge import Merged, Part, Totals, compared, drawn, known_totals, merge, needed, parts
from maxent.constraints.program import Program
from maxent.constraints.residuals import Evaluator, InternalRows
from maxent.models.arrays import FloatArray, IntArray, ranges
from maxent.solvers.clock import GRACE, Clock, OutOfTime, in_time
from maxent.solvers.solution import Stop

T = TypeVar("T")
# What makes a part the same as one of an earlier round.
Key = tuple[bytes, bytes, int]
# How many times as long as evaluating a point measuring an answer takes at most, see `prepare`.
MEASURING = 3.0


def given_up(clock: Clock, work: Callable[[], T], late: float = GRACE) -> T:
    """The result of ``work``.

    Raises
    ------
    OutOfTime
        When it does not end within some seconds of the moment when the clock says so.
    """
    found = in_time(clock, work, late)
    if found is None:
        raise OutOfTime(clock.stop() or Stop.TIME_LIMIT)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Ready:
    """Start of a solve: the uniform answer, and its violation of the constraints."""

    evaluator: Evaluator
    uniform: FloatArray
    violation: float


def prepare(program: Program, clock: Clock) -> Ready:
    """Evaluate a program at the uniform answer, and reserve the time that measuring another one will take."""
    evaluator = Evaluator(program)
    uniform = uniform_answer(program)
    begin = time.monotonic()
    violation = evaluator.max_violation(uniform)
    if clock.limit is not None:
        program.posterior(uniform)
        program.entropy(uniform)
        clock.reserve(MEASURING * (time.monotonic() - begin))
    return Ready(evaluator, uniform, violation)


def what_is_needed(program: Program, evaluator: Evaluator) -> tuple[tuple[Totals, ...], IntArray]:
    """Class totals that statements fix, and the statements that others do not imply."""
    totals = known_totals(program)
    return totals, needed(program, totals, evaluator.linear)


def uniform_answer(program: Program) -> FloatArray:
    """Every bin of a quasi-identifier alike: the maximum of the entropy when nothing is stated."""
    bins = np.bincount(program.cells.owner, minlength=len(program.table))[program.cells.owner] * program.n_classes
    return np.repeat((program.weight / bins)[:, None], program.n_classes, axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """A merged program, the closed forms of its groups, and the parts that are left, with their cells and keys."""

    merged: Merged
    pooled: FloatArray
    parts: list[Part]
    cells: list[IntArray]
    keys: list[Key]


def split(program: Program, rows: InternalRows, keep: IntArray, active: IntArray, check: Callable[[], None]) -> Split:
    """Merge a program with some internal rows active, and divide it; ``check`` is called meanwhile, and may raise."""
    merged = merge(program, rows, active, check)
    check()
    pooled, simple = solve_leafwise(program, merged, keep, check)
    check()
    simple &= ~compared(program, merged, rows, active) & ~drawn(program, merged)
    pieces = parts(program, merged, keep, rows, active, ~simple, check) if not simple.all() else []
    order = np.argsort(merged.group, kind="stable")
    begin = np.searchsorted(merged.group[order], np.arange(len(merged.owner) + 1))
    cells = [order[ranges(begin[piece.groups], begin[piece.groups + 1])] for piece in pieces]
    keys = [
        (part.linear.tobytes(), part.internal.tobytes(), int(held[0])) for part, held in zip(pieces, cells, strict=True)
    ]
    return Split(merged, pooled, pieces, cells, keys)


def large_and_small(pieces: Sequence[Part]) -> tuple[list[int], list[int]]:
    """The largest parts, which have half of the groups, and the others in their order."""
    sizes = np.array([len(piece.groups) for piece in pieces])
    order = np.argsort(-sizes, kind="stable")
    before = np.cumsum(sizes[order]) - sizes[order]
    large = order[before < sizes.sum() / 2]
    return large.tolist(), np.setdiff1d(order, large).tolist()
