"""Polishing of an approximate answer: Newton's method on the optimality conditions for a guess of the active rows.

Conic and first-order solvers stop at a relative accuracy that is too coarse for statements about thousands of
individuals. What they do tell is which inequalities hold with equality; given these, the conditions are equations
(Nocedal & Wright, "Numerical Optimization", 2006, chapter 18), and a few steps solve them to machine precision.

Many small programs are solved together, as one sparse system of their union. Each has its own share of a step, and its
own guess of the active rows; it leaves the union when it is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from maxent.constraints.lifting import LiftedProgram
from maxent.models.arrays import BoolArray, FloatArray, IntArray, run_ends
from maxent.solvers.conic.kkt import FAR, Active, OptimalityConditions
from maxent.solvers.control import SOON, Clock
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.newton.stacked import union_of

V = TypeVar("V", FloatArray, IntArray)

# How often the guess of what is active may be corrected.
ROUNDS = 12
# Newton steps for one such guess.
STEPS = 20
# Steps shorter than this (individuals, and as a share of larger variables) have all but settled.
STILL = 1e-9
# Share of the programs that is left when the others are taken out.
SMALLER = 0.75


def polish(
    program: LiftedProgram, point: FloatArray, active: Active, tolerance: float, clock: Clock
) -> FloatArray | None:
    """The point near an approximate answer that meets the optimality conditions, None when none is found in time.

    Violated rows join what is active, those whose multiplier has the wrong sign leave it.
    """
    return polish_many([program], [point], [active], tolerance, clock)[0]


def polish_many(
    programs: Sequence[LiftedProgram],
    points: Sequence[FloatArray],
    active: Sequence[Active],
    tolerance: float,
    clock: Clock,
) -> list[FloatArray | None]:
    """`polish` of each program from its point; alone where their systems cannot be solved together."""
    found: list[FloatArray | None] = [None] * len(programs)
    if not programs:
        return found
    run = _PolishRun(programs, points, active)
    while run.going.any() and clock.stop() is None:
        if not run.step():
            for i in run.number[run.going].tolist() if len(programs) > 1 else []:
                found[i] = polish(programs[i], points[i], active[i], tolerance, clock)
            break
        exact, left = run.correct(tolerance)
        for i, z in run.points(exact):
            found[i] = z if Derivatives(programs[i]).violation(z) <= tolerance else None
        if 0 < left.sum() <= SMALLER * len(left):
            run = run.of_items(left)
    return found


def restore(program: LiftedProgram, point: FloatArray, tolerance: float, clock: Clock) -> FloatArray:
    """The point moved towards the constraints, each variable by little in relation to its size."""
    conditions = OptimalityConditions(program)
    z = np.clip(point, program.lower, program.upper)
    best, least = z, conditions.own.violation(z)
    side, bound = np.where(conditions.equations, -1, 0), np.zeros(program.n, np.int64)
    for _ in range(ROUNDS):
        if least <= 0.01 * tolerance or clock.late() > SOON:
            break
        z = conditions.inside(z)
        conditions.add_violated(z, side, bound, 0.0)
        step = conditions.step(z, None, side, bound)
        if step is None:
            break
        z = np.clip(z + conditions.reach(z, step[0]) * step[0], program.lower, program.upper)
        violation = conditions.own.violation(z)
        if violation < least:
            best, least = z, violation
    return best


class _PolishRun:
    """Programs on their way: the union's point, multipliers and what is active, and by program how far it is."""

    def __init__(
        self, programs: Sequence[LiftedProgram], points: Sequence[FloatArray], active: Sequence[Active]
    ) -> None:
        self.programs, self.number = programs, np.arange(len(programs))
        self.going = np.ones(len(programs), bool)
        self.settled = np.zeros(len(programs), bool)
        self.steps, self.rounds = np.zeros(len(programs), np.int64), np.zeros(len(programs), np.int64)
        self.conditions = OptimalityConditions(programs[0] if len(programs) == 1 else union_of(programs))
        self.variables = _Order([(program.n_masses, program.n_aggregates) for program in programs])
        self.rows = _Order(
            [
                (len(program.origins) - program.n_aggregates, program.n_aggregates, len(program.nl_const))
                for program in programs
            ]
        )
        self.z = self.variables.together(points)
        self.y = self.rows.together([each.multipliers for each in active])
        self.side = self.rows.together([each.side for each in active])
        bound = self.variables.together([each.bound for each in active])
        self.bound: IntArray = np.where(self.conditions.vanishing(self.z), -1, bound)
        self._begin(self.going)

    def of_items(self, some: BoolArray) -> _PolishRun:
        """The programs that are left, alone."""
        kept = np.flatnonzero(some).tolist()
        z, y = self.variables.apart(self.z), self.rows.apart(self.y)
        side, bound = self.rows.apart(self.side), self.variables.apart(self.bound)
        active = [Active(y[i], side[i], bound[i]) for i in kept]
        new = _PolishRun([self.programs[i] for i in kept], [z[i] for i in kept], active)
        new.z, new.bound = (
            new.variables.together([z[i] for i in kept]),
            new.variables.together([bound[i] for i in kept]),
        )
        new.number, new.settled = self.number[some], self.settled[some]
        new.steps, new.rounds = self.steps[some], self.rounds[some]
        return new

    def step(self) -> bool:
        """A Newton step; False where the system has no solution."""
        step = self.conditions.step(self.z, self.y, self.side, self.bound)
        if step is None:
            return False
        of_z, of_y = step
        item, reach = self.variables.item, self.going.astype(np.float64)
        back = (of_z < 0) & (self.z > 0) & (self.conditions.program.lower >= 0)
        np.minimum.at(reach, item[back], FAR * self.z[back] / -of_z[back])
        self.z, self.y = self.z + reach[item] * of_z, self.y + reach[self.rows.item] * of_y
        moved = np.bincount(item, np.abs(of_z) > STILL * (1.0 + np.abs(self.z)), len(reach)) > 0
        self.ready = self.going & self.settled
        self.settled = ~moved
        self.steps += 1
        return True

    def correct(self, tolerance: float) -> tuple[BoolArray, BoolArray]:
        """Masks of the exact programs and of the others; some of these get another guess of the active set."""
        conditions, ready, n = self.conditions, self.ready, len(self.number)
        if not ready.any():
            self.going &= self.steps < STEPS
            return ready, self.going
        changed = np.zeros(n, bool)
        changes: tuple[Callable[[IntArray, IntArray], bool], ...] = (
            lambda side, bound: conditions.add_violated(self.z, side, bound, 0.1 * tolerance),
            lambda side, bound: conditions.drop_wrong(self.z, self.y, side, bound),
        )
        for change in changes:
            side, bound = self.side.copy(), self.bound.copy()
            change(side, bound)
            asked = ready & ~changed
            side = np.where(asked[self.rows.item], side, self.side)
            bound = np.where(asked[self.variables.item], bound, self.bound)
            changed |= np.bincount(self.rows.item, side != self.side, n) > 0
            changed |= np.bincount(self.variables.item, bound != self.bound, n) > 0
            self.side, self.bound = side, bound
        exact = ready & ~changed
        self.rounds += changed
        self._begin(changed)
        self.going &= ~exact & (self.rounds < ROUNDS) & (self.steps < STEPS)
        return exact, self.going

    def points(self, some: BoolArray) -> list[tuple[int, FloatArray]]:
        """The points of some programs, with their numbers."""
        if not some.any():
            return []
        z = self.variables.apart(self.z)
        return [(int(self.number[i]), z[i]) for i in np.flatnonzero(some).tolist()]

    def _begin(self, some: BoolArray) -> None:
        """Put variables of programs at their active bounds, others inside, and forget multipliers of other rows."""
        conditions, bound = self.conditions, self.bound
        inside = conditions.inside(self.z)
        at_lower = conditions.inside(conditions.program.lower)
        z = np.where(bound < 0, at_lower, np.where(bound > 0, conditions.program.upper, inside))
        self.z = np.where(some[self.variables.item], z, self.z)
        self.y = np.where(some[self.rows.item] & (self.side == 0), 0.0, self.y)
        self.settled, self.steps = self.settled & ~some, np.where(some, 0, self.steps)


class _Order:
    """Where the entries of each program's vectors are in the union's, which has all of one kind before the next."""

    def __init__(self, lengths: Sequence[tuple[int, ...]]) -> None:
        by_item = np.array(lengths, np.int64)
        kind = np.repeat(np.tile(np.arange(by_item.shape[1]), len(by_item)), by_item.ravel())
        self.order: IntArray = np.argsort(kind, kind="stable")
        self.item: IntArray = np.repeat(np.arange(len(by_item)), by_item.sum(axis=1))[self.order]
        self.ends = run_ends(by_item.sum(axis=1))

    def together(self, values: Sequence[V]) -> V:
        """The union's vector."""
        joined: V = np.concatenate(values)[self.order]
        return joined

    def apart(self, values: V) -> list[V]:
        """The vectors of the programs."""
        joined = np.empty_like(values)
        joined[self.order] = values
        return np.split(joined, self.ends[1:-1])
