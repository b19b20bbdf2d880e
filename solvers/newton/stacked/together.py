"""Solves small programs together: their union, the best result of all starts, and feasible points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.models.arrays import BoolArray, FloatArray, IntArray, ranges, run_ends
from maxent.solvers.clock import Clock
from maxent.solvers.newton.augmented_lagrangian import Accuracy
from maxent.solvers.newton.block_form import build_form
from maxent.solvers.newton.stacked.layout import layout
from maxent.solvers.newton.stacked.model import Stack
from maxent.solvers.newton.stacked.operators import Points
from maxent.solvers.newton.stacked.projection import project
from maxent.solvers.newton.stacked.rounds import Ends, solve
from maxent.solvers.newton.stacked.union import union_of


@dataclass(frozen=True, slots=True, eq=False)
class Best:
    """The best end of each program's starts: a point of each, the steps of all its starts, and whether it converged."""

    points: list[FloatArray]
    steps: IntArray
    converged: BoolArray


def stackable(program: LiftedProgram) -> bool:
    """Whether a program can be one of a stack: not convex, and no quasi-identifier in more than one equation.

    Its comparisons are of one measure, between sets of people whose sizes are known.
    """
    if program.convex or program.draws is not None or len(program.terms) != 1:
        return False
    if (program.terms[0].size_var >= 0).any() or len(np.unique(program.group)) > len(np.unique(program.owner)):
        return False
    said = np.array([origin is not None for origin in program.origins], bool)
    rows = program.matrix[said & (program.row_lower == program.row_upper)]
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    pairs = np.unique(program.owner[rows.indices] * max(rows.shape[0], 1) + row)
    return len(np.unique(pairs // max(rows.shape[0], 1))) == len(pairs)


class Together:
    """Programs that are `stackable`, with comparisons of the same measure."""

    def __init__(self, programs: Sequence[LiftedProgram], clock: Clock) -> None:
        self.programs, self.clock = programs, clock
        numbers, union = np.arange(len(programs)), union_of(programs)
        self.form = build_form(union)
        part_of_owner = np.repeat(numbers, [len(program.total) for program in programs])
        owners = np.unique(union.owner[self.form.variable])  # those with a free mass
        part_of_row = np.repeat(numbers, [len(program.nl_const) for program in programs])
        self.layout = layout(self.form, part_of_owner[owners], part_of_row, len(programs))
        self.masses = run_ends(np.array([program.n_masses for program in programs]))
        self.aggregates = self.masses[-1] + run_ends(np.array([program.n_aggregates for program in programs]))

    def best(
        self, starts: Sequence[Sequence[FloatArray]], accuracy: Accuracy, near: FloatArray, seed: int, floor: float
    ) -> Best:
        """The best end of each program, from points of each for every start.

        ``near``, shape (n_programs,), are nats within which two answers are the same; ``floor`` is the smallest
        probability. Ends that did not converge are taken only where none did.
        """
        n = len(self.programs)
        whole = self.layout.of_items(np.tile(np.arange(n), len(starts)))
        theta = np.concatenate([self._scores(points) for points in starts])
        ends = solve(whole, theta, accuracy, near, seed, self.clock)
        converged = ends.converged.reshape(-1, n)
        start = np.lexsort((ends.lagrangian.reshape(-1, n), ~converged), axis=0)[0]
        item = start * n + np.arange(n)
        stack = Stack(self.layout, self.clock)
        log_p = ends.log_p[ranges(whole.groups[item], whole.groups[item + 1])]
        points = project(stack, self._at(stack, log_p), _pull(ends, whole.rows, whole.least, item), floor)
        return Best(self._points(points), ends.steps.reshape(-1, n).sum(axis=0), np.asarray(converged.any(axis=0)))

    def raised(self, points: Sequence[FloatArray], floor: float) -> list[FloatArray]:
        """The nearest points that meet all constraints and have no probability below the floor."""
        stack = Stack(self.layout, self.clock)
        near = self._at(stack, self._scores(points))
        return self._points(project(stack, near, np.zeros(len(near.c)), floor))

    def _scores(self, points: Sequence[FloatArray]) -> FloatArray:
        """The scores of a point of each program, shape (n_groups, n_classes)."""
        masses = [point[: program.n_masses] for program, point in zip(self.programs, points, strict=True)]
        return self.form.scores(np.concatenate(masses))

    def _at(self, stack: Stack, theta: FloatArray) -> Points:
        return stack.at(np.where(self.form.free, theta, -np.inf))

    def _points(self, points: Points) -> list[FloatArray]:
        """The point of each program."""
        whole, masses, aggregates = self.form.point(points.m), self.masses.tolist(), self.aggregates.tolist()
        return [
            np.concatenate([whole[masses[i] : masses[i + 1]], whole[aggregates[i] : aggregates[i + 1]]])
            for i in range(len(self.programs))
        ]


def _pull(ends: Ends, rows: IntArray, least: IntArray, item: IntArray) -> FloatArray:
    """Multipliers of the constraints of some items, internal rows first."""
    internal, linear = ranges(rows[item], rows[item + 1]), ranges(least[item], least[item + 1])
    pull: FloatArray = ends.pull[np.concatenate([internal, rows[-1] + linear])]
    return pull
