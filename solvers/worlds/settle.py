"""Finds the fewest and most people of each class in a part, with worlds as witnesses.

One world shows many things at once. Of a small part worlds are asked for in which as many open questions as possible
come out at the middle of what is open about them; where there is no such world for any, all of these bounds move
together. Of a large part one question is asked at a time, first of worlds that differ from one that is known only near
by. A question is open no longer when a world attains its bound, or when what it leaves open is of no matter for any
single member. Those on which somebody's certainty depends come first.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.solvers.clock import Clock, in_time
from maxent.solvers.threads import cores
from maxent.solvers.worlds.cp_sat import cp_sat, new_solver
from maxent.solvers.worlds.model import WorldModel, masses_of
from maxent.solvers.worlds.part import WholePart

# Unknowns up to which questions are asked together, of one thread.
SMALL = 400
# Pooled quasi-identifiers that may differ from a world that is known, where a large part is asked.
NEAR = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Patience:
    """When to give up: at the clock, at the ``end`` (`time.monotonic`), and ``question`` seconds after a question."""

    clock: Clock
    question: float = 10.0
    end: float = math.inf

    @staticmethod
    def of(clock: Clock, question: float = 10.0, whole: float = 60.0) -> Patience:
        """With ``whole`` seconds for everything where the clock has no limit."""
        return Patience(clock, question, math.inf if clock.limit is not None else time.monotonic() + whole)

    def ended(self) -> bool:
        """Whether it is time to stop."""
        return self.clock.stop() is not None or time.monotonic() >= self.end

    def left(self, otherwise: float) -> float:
        """Seconds until the end of all questions, or ``otherwise`` where there is none."""
        left = self.clock.left()
        until = min(self.end - time.monotonic(), math.inf if left is None else left)
        return max(until, 0.01) if math.isfinite(until) else otherwise

    def seconds(self) -> float:
        """Seconds for the next question."""
        return min(self.question, self.left(self.question))


@dataclass(eq=False)
class Extremes:
    """The fewest and most people of each class that a pooled quasi-identifier can have, individuals.

    ``low`` and ``high`` are proved; worlds were found with ``least`` and ``most``; shapes (n_owners, n_classes).
    ``slack`` are the people of each pooled quasi-identifier beside its largest member: what can be among them is of no
    matter. ``possible`` is False where it is proved that there is no world, None while none was found either.
    """

    low: IntArray
    high: IntArray
    least: IntArray
    most: IntArray
    slack: IntArray
    weight: IntArray
    possible: bool | None = None
    worlds: list[IntArray] = field(default_factory=list)

    def open(self) -> BoolArray:
        """Whether it matters what lies between what was proved and what was found, shape (2, n_owners, n_classes)."""
        low, high = self.told()
        return np.stack([low < self.least, high > self.most])

    def told(self) -> tuple[IntArray, IntArray]:
        """The bounds, or what is as good for every member."""
        slack = self.slack[:, None]
        return np.maximum(self.low, slack), np.minimum(self.high, self.weight[:, None] - slack)

    def targets(self, tries: IntArray) -> tuple[IntArray, IntArray]:
        """What a world is to attain: first the bound itself, or what is as good; then the middle of what is open."""
        low, high = self.told()
        below, above = np.maximum((low + self.least - 1) // 2, low), np.minimum((high + self.most + 2) // 2, high)
        return np.where(tries[0] > 0, below, low), np.where(tries[1] > 0, above, high)

    def add(self, part: WholePart, masses: IntArray) -> bool:
        """Take in a world; False, where it is none, as the model may lack a comparison."""
        if not part.holds(masses):
            return False
        totals = part.totals(masses)
        if self.worlds and (totals >= self.least).all() and (totals <= self.most).all():
            return True
        self.least, self.most = np.minimum(self.least, totals), np.maximum(self.most, totals)
        self.worlds.append(masses)
        self.possible = True
        return True


@dataclass(eq=False)
class Solver:
    """Asks CP-SAT; ``left_out`` are comparisons that its models lack."""

    part: WholePart
    state: Extremes
    patience: Patience
    left_out: int = 0

    def solve(self, model: WorldModel) -> bool | None:
        """Whether there is such a world, which the state then has; None where that was not found out."""
        self.left_out = model.left_out
        solver = new_solver()
        solver.parameters.max_time_in_seconds = self.patience.seconds()
        solver.parameters.num_workers = 1 if len(model.flat) <= SMALL else cores()
        found: list[bool] = []
        heard = _callback(lambda value: found.append(self.state.add(self.part, masses_of(model, value))))
        status = in_time(self.patience.clock, lambda: solver.solve(model.model, heard))
        if status is None:
            solver.stop_search()
        return True if any(found) else False if status == cp_sat().INFEASIBLE else None

    def any_world(self) -> bool | None:
        """Look for a world."""
        return self.solve(WorldModel(self.part, self.state.low, self.state.high))

    def together(self, wanted: BoolArray, targets: tuple[IntArray, IntArray]) -> bool | None:
        """Look for worlds that attain as many of the targets as possible, at least one."""
        model = WorldModel(self.part, self.state.low, self.state.high)
        attained: list[Any] = []
        for end, o, x in np.argwhere(wanted).tolist():
            literal = model.model.new_bool_var(f"y{len(attained)}")
            people, target = model.people(o, x), int(targets[end][o, x])
            model.model.add(people >= target if end else people <= target).only_enforce_if(literal)
            attained.append(literal)
        model.model.add_bool_or(attained)
        model.model.maximize(cp_sat().LinearExpr.sum(attained))
        return self.solve(model)

    def other_than(self, world: IntArray) -> bool | None:
        """Look for a world in which as many people as can be have a quasi-identifier with other classes."""
        model = WorldModel(self.part, self.state.low, self.state.high)
        totals = self.part.totals(world)
        differing: list[Any] = []
        for o, x in np.argwhere(self.state.low < self.state.high).tolist():
            literal = model.model.new_bool_var(f"y{len(differing)}")
            model.model.add(model.people(o, x) != int(totals[o, x])).only_enforce_if(literal)
            differing.append(int(self.part.weight[o]) * literal)
        if not differing:
            return None
        total = cp_sat().LinearExpr.sum(differing)
        model.model.add(total >= 1)
        model.model.maximize(total)
        return self.solve(model)

    def alone(self, end: int, o: int, x: int, target: int) -> bool | None:
        """Look for a world that attains one target, near a world that is known if there is one."""
        low, high = self.state.low.copy(), self.state.high.copy()
        (low if end else high)[o, x] = target
        known = self.part.totals(self.state.worlds[-1])
        far = _far(self.part, o, np.asarray((self.state.low < self.state.high).any(axis=1)))
        if len(far):
            near_low, near_high = low.copy(), high.copy()
            near_low[far] = near_high[far] = known[far]
            if self.solve(WorldModel(self.part, near_low, near_high)):
                return True
        return self.solve(WorldModel(self.part, low, high))


def settle(
    part: WholePart,
    state: Extremes,
    asked: BoolArray,
    patience: Patience,
    tell: Callable[[Extremes, int], None] = lambda state, left_out: None,
    likely: FloatArray | None = None,
) -> int:
    """Settle what is asked of a part, shape (n_owners, n_classes), and say how many comparisons were left out.

    Stops when everything asked is settled or was given up, or at the end of patience. ``tell`` hears of every step.
    ``likely`` are shares of the classes, of the same shape: what they make look certain is asked first.
    """
    solver = Solver(part, state, patience)
    state.possible = solver.any_world() if (state.low <= state.high).all() else False
    tries, asking = np.zeros((2, *asked.shape), np.int64), np.stack([asked, asked])
    together = len(part.owner) * part.n_classes <= SMALL
    doubt = _doubt(part) if likely is None else np.stack([1.0 - likely, likely])
    while state.possible and not patience.ended():
        wanted = asking & state.open()
        if not wanted.any():
            break
        targets = state.targets(tries)
        if together:
            found = solver.together(wanted, targets)
        else:
            end, o, x = np.unravel_index(int(np.where(wanted, doubt, np.inf).argmin()), wanted.shape)
            found = solver.alone(int(end), int(o), int(x), int(targets[end][o, x]))
            wanted = np.zeros(wanted.shape, bool)
            wanted[end, o, x] = True
        if found is False:
            state.low[wanted[0]] = np.maximum(state.low, targets[0] + 1)[wanted[0]]
            state.high[wanted[1]] = np.minimum(state.high, targets[1] - 1)[wanted[1]]
            tries[wanted] += 1
        elif found is None and together:
            together = False
        elif found is None:
            asking[wanted] = False
        tell(state, solver.left_out)
    return solver.left_out


def _doubt(part: WholePart) -> FloatArray:
    """How far from certain the answer of each question looks, shape (2, n_owners, n_classes): the least comes first."""
    # That somebody has a class looks as likely as the class is frequent among those of any one statement about it.
    matrix, k = part.rows.matrix, part.n_classes
    people = np.maximum(matrix.astype(bool) @ np.repeat(part.weight[part.owner], k), 1)
    entry = np.repeat(np.arange(len(part.rows)), np.diff(matrix.indptr))
    others = np.bincount(entry, matrix.data != 1, len(part.rows))
    share = np.where(others == 0, part.rows.upper / people, 1.0)
    likely = np.ones((len(part.owners), k))
    np.minimum.at(likely, (part.owner[matrix.indices // k], matrix.indices % k), share[entry])
    order = np.sort(likely, axis=1)
    rest = np.where(likely == order[:, -1:], order[:, -2:-1] if k > 1 else 0.0, order[:, -1:])
    return np.stack([rest, likely])


def two_worlds(part: WholePart, state: Extremes, patience: Patience) -> int:
    """Find a world and one that is as different as there was time to find, and say how many comparisons were left out.

    A part with one world only has no other one.
    """
    solver = Solver(part, state, patience)
    state.possible = solver.any_world() if (state.low <= state.high).all() else False
    if state.possible:
        solver.other_than(state.worlds[0])
    return solver.left_out


def _far(part: WholePart, o: int, free: BoolArray) -> IntArray:
    """Pooled quasi-identifiers that share few statements with one, all but `NEAR` of those that are free."""
    if int(free.sum()) <= 2 * NEAR:
        return np.empty(0, np.int64)
    unknown = np.repeat(part.owner, part.n_classes)
    mine = np.asarray(part.rows.matrix[:, np.flatnonzero(unknown == o)].astype(bool).sum(axis=1)).ravel() > 0
    shared = np.asarray(part.rows.matrix[np.flatnonzero(mine)].astype(bool).sum(axis=0)).ravel()
    near = np.bincount(unknown, shared, len(part.owners))
    near[~free] = -1.0
    near[o] = np.inf
    return np.argsort(-near, kind="stable")[NEAR:]


def _callback(take: Callable[[Callable[[Any], int]], None]) -> Any:
    """What CP-SAT calls with every solution on the way."""

    class Callback(cp_sat().CpSolverSolutionCallback):  # type: ignore[misc]
        def on_solution_callback(self) -> None:
            take(self.value)

    return Callback()


def extremes(part: WholePart, low: IntArray, high: IntArray, largest: IntArray) -> Extremes:
    """What is known before anything was asked.

    Parameters
    ----------
    low, high : shape (n_owners, n_classes), individuals, proved
    largest : shape (n_owners,), individuals of the largest member of each pooled quasi-identifier
    """
    weight = np.repeat(part.weight[:, None], low.shape[1], axis=1)
    low, high = np.maximum(low, 0), np.minimum(high, weight)
    return Extremes(low, high, weight, np.zeros_like(low), part.weight - largest, part.weight)
