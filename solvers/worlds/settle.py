"""Fewest and most people of each class in a part, by CP-SAT, with worlds as witnesses.

One world shows many things at once. Of a small part worlds are asked for in which as many open questions as possible
come out at the middle of what is open about them; where there is no such world for any, all of these bounds move
together. Of a large part one question is asked at a time, first of worlds that differ from one that is known only near
by. A question is open no longer when a world attains its bound, or when what it leaves open is of no matter for any
single member. Those on which somebody's certainty depends come first.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.packages import need
from maxent.solvers.control import Clock, in_time
from maxent.solvers.workers import apart, cores
from maxent.solvers.worlds.halves import settle_halves
from maxent.solvers.worlds.part import TIED, BranchTotals, SplitComparison, WholePart, gini_scale, tells_ties

# What processes are kept for that have loaded OR-Tools.
CP_SAT = "cp-sat"
# OR-Tools comes with a HiGHS of its own, under the name of that of highspy: whichever is loaded first serves both, and
# the other one cannot be imported. So CP-SAT runs in a process of its own.


def need_cp_sat() -> None:
    """Refuse to go on without OR-Tools; it is not imported."""
    need("ortools", "bounds for whole people need OR-Tools")


def cp_sat() -> Any:
    """The module of CP-SAT, in a process that has not loaded highspy and never will."""
    from ortools.sat.python import cp_model

    return cp_model


def new_solver() -> Any:
    """A solver without probing, by which OR-Tools 9.15 takes some programs that have an answer to have none."""
    solver = cp_sat().CpSolver()
    solver.parameters.cp_model_probing_level = 0
    solver.parameters.catch_sigint_signal = False
    return solver


# CP-SAT model of a part: one integer for each group and class.
#
# Functions of class totals are tables of whole numbers, ``S f(a)`` rounded in favour of the comparison: every world
# that is consistent stays feasible, and what rounding can let in is smaller than what inducers compute exactly.

# Largest sum of the terms of a comparison after scaling; every number is then exact to a whole one in a double.
PRECISE = 2.0**46
# Coefficients of rows up to which the presolve of CP-SAT is trusted.
COEFFICIENT = 2**28
# Entries of a table; a comparison that needs a longer one is left out, which proves less but nothing wrong.
LONGEST = 20_000


class WorldModel:
    """The worlds of a part. ``masses[g][x]`` are the unknowns; ``left_out`` comparisons are not in the model."""

    def __init__(self, part: WholePart, low: IntArray, high: IntArray) -> None:
        self.part = part
        self._sum = cp_sat().LinearExpr.sum
        self.model = cp_sat().CpModel()
        self.left_out = 0
        self._sums: dict[tuple[bytes, int], Any] = {}
        self._functions: dict[tuple[Any, ...], Any] = {}
        alone = np.bincount(part.owner)[part.owner] == 1
        least = np.where(alone[:, None], low[part.owner], 0)
        self.masses = [
            [self.model.new_int_var(a, b, f"m{g}_{x}") for x, (a, b) in enumerate(zip(*ends, strict=True))]
            for g, ends in enumerate(zip(least.tolist(), high[part.owner].tolist(), strict=True))
        ]
        self.flat = [m for row in self.masses for m in row]
        order = np.argsort(part.owner, kind="stable")
        self.held = [held.tolist() for held in np.split(order, np.cumsum(np.bincount(part.owner))[:-1])]
        self._state(low, high)

    def people(self, owner: int, x: int) -> Any:
        """The people of a class in a pooled quasi-identifier."""
        return self._sum([self.masses[g][x] for g in self.held[owner]])

    def _state(self, low: IntArray, high: IntArray) -> None:
        part, model = self.part, self.model
        for o, w in enumerate(part.weight.tolist()):
            model.add(self._sum([m for g in self.held[o] for m in self.masses[g]]) == w)
            if len(self.held[o]) > 1:
                for x, (least, most) in enumerate(zip(low[o].tolist(), high[o].tolist(), strict=True)):
                    model.add_linear_constraint(self.people(o, x), least, most)
        matrix = part.rows.matrix
        for r, (low, high) in enumerate(zip(part.rows.lower.tolist(), part.rows.upper.tolist(), strict=True)):
            entries = slice(matrix.indptr[r], matrix.indptr[r + 1])
            unknown, coef = matrix.indices[entries].tolist(), matrix.data[entries].tolist()
            expression = cp_sat().LinearExpr.weighted_sum([self.flat[i] for i in unknown], coef)
            model.add_linear_constraint(expression, low, high) if low <= high else model.add_bool_or([])
        for comparison in part.comparisons:
            self._compare(comparison)

    def total(self, branch: BranchTotals, x: int) -> Any:
        """The unknown class total of a branch."""
        key = branch.groups.tobytes(), x
        if key not in self._sums:
            self._sums[key] = self.model.new_int_var(0, branch.most, f"t{len(self._sums)}")
            self.model.add(self._sums[key] == self._sum([self.masses[g][x] for g in branch.groups.tolist()]))
        return self._sums[key]

    def size(self, branch: BranchTotals) -> Any:
        """The people of a branch: a number, or an unknown."""
        if branch.size is not None:
            return branch.size
        key = branch.groups.tobytes(), -1
        if key not in self._sums:
            self._sums[key] = self.model.new_int_var(0, branch.most, f"w{len(self._sums)}")
            totals = [self.total(branch, x) for x in range(self.part.n_classes)]
            self.model.add(self._sums[key] == sum(totals))
        return self._sums[key]

    def _compare(self, comparison: SplitComparison) -> None:
        scale = gini_scale(comparison)
        if scale is not None:
            self._exact(comparison, scale)
        elif max(branch.most for branch in comparison.branches) >= LONGEST or (
            comparison.measure == "gini" and not self._short(comparison)
        ):
            self.left_out += 1
        else:
            self._rounded(comparison)

    @staticmethod
    def _short(comparison: SplitComparison) -> bool:
        """Whether tables of class total and size are short enough where sizes are unknown."""
        unknown = [b.most for b in (*comparison.chosen, *comparison.candidate) if b.size is None]
        return all((most + 1) ** 2 <= LONGEST for most in unknown)

    def _exact(self, comparison: SplitComparison, scale: int) -> None:
        """Gini with known sizes: squares with whole coefficients."""
        terms = []
        for sign, sides in ((1, comparison.chosen), (-1, comparison.candidate)):
            for branch in sides:
                size = branch.size or 1
                terms += [sign * (scale // size) * self._square(branch, x) for x in range(self.part.n_classes)]
        # In units of 1 / scale individuals: whole numbers, of which inducers cannot tell very small ones from 0.
        least = 1 if comparison.strict and tells_ties(comparison) else -math.floor(TIED * scale * comparison.node.most)
        self.model.add(sum(terms) >= least)

    def _square(self, branch: BranchTotals, x: int) -> Any:
        key = "square", branch.groups.tobytes(), x
        if key not in self._functions:
            total = self.total(branch, x)
            square = self.model.new_int_var(0, branch.most**2, f"f{len(self._functions)}")
            self.model.add_multiplication_equality(square, [total, total])
            self._functions[key] = square
        return self._functions[key]

    def _rounded(self, comparison: SplitComparison) -> None:
        """Sums of tables, each rounded up with its sign."""
        terms, ratio = _factors(comparison)
        if not ratio:
            return
        largest = sum(abs(factor) * _size_of(function, branch) for branch, factor, function in terms)
        n_terms = (self.part.n_classes + 1) * len(terms)
        scale = 2.0 ** math.floor(math.log2(PRECISE / max(largest, 1.0)))
        found: list[Any] = []
        for branch, factor, function in terms:
            found += self._tables(branch, factor * scale, function)
        tied = TIED * ratio * comparison.node.most * scale + n_terms
        self.model.add(sum(found) >= -math.ceil(tied))

    def _tables(self, branch: BranchTotals, factor: float, function: str) -> list[Any]:
        """``factor`` times the function of a branch, as unknowns and numbers that are at least as large."""
        classes = range(self.part.n_classes)
        name = branch.groups.tobytes()
        if function == "gini":
            if branch.size is not None:
                values = np.arange(branch.most + 1.0) ** 2 / max(branch.size, 1)
                return [self._table(self.total(branch, x), factor, values, (name, x, "g")) for x in classes]
            wide = branch.most + 1
            size, a = np.divmod(np.arange(wide * wide), wide)
            values = a.astype(np.float64) ** 2 / np.maximum(size, 1)
            index = [self.size(branch) * wide + self.total(branch, x) for x in classes]
            return [self._table(i, factor, values, (name, x, "w")) for x, i in enumerate(index)]
        values = a_ln_a(branch.most)
        terms = [self._table(self.total(branch, x), factor, values, (name, x, "e")) for x in classes]
        if branch.size is not None:
            return [*terms, _up(-factor * values[branch.size : branch.size + 1])[0]]
        return [*terms, self._table(self.size(branch), -factor, values, (name, -1, "e"))]

    def _table(self, index: Any, factor: float, values: FloatArray, key: tuple[Any, ...]) -> Any:
        key = (*key, factor)
        if key not in self._functions:
            table = _up(factor * values)
            value = self.model.new_int_var(min(table), max(table), f"f{len(self._functions)}")
            self.model.add_element(index, table, value)
            self._functions[key] = value
        return self._functions[key]


def a_ln_a(most: int) -> FloatArray:
    """``a ln a`` for 0 to ``most``."""
    a = np.arange(most + 1.0)
    return np.asarray(a * np.log(np.maximum(a, 1.0)), np.float64)


def _up(values: FloatArray) -> list[int]:
    """Whole numbers that are at least the values, which are computed to a few units in the last place."""
    result: list[int] = np.ceil(values + np.abs(values) * 2.0**-50).astype(np.int64).tolist()
    return result


def _size_of(function: str, branch: BranchTotals) -> float:
    most = float(max(branch.most, 1))
    return most if function == "gini" else 2 * most * math.log(max(most, 2.0))


def _factors(comparison: SplitComparison) -> tuple[list[tuple[BranchTotals, float, str]], float]:
    """What is summed: branch, factor and function; and how large an impurity of 1 for each person is, 0 for nothing."""
    function = "gini" if comparison.measure == "gini" else "entropy"
    if comparison.measure != "gain_ratio":
        chosen = [(branch, 1.0, function) for branch in comparison.chosen]
        return [*chosen, *((branch, -1.0, function) for branch in comparison.candidate)], 1.0
    sizes = [
        [branch.size for branch in sides] for sides in (comparison.chosen, comparison.candidate, [comparison.node])
    ]
    if any(size is None for side in sizes for size in side):
        return [], 0.0
    split = [sum(size * math.log(size) for size in side if size) for side in sizes]
    one, other = split[2] - split[0], split[2] - split[1]
    if min(one, other) <= 0:
        return [], 0.0
    # (T - N) / one - (U - N) / other >= 0, times one.
    ratio = one / other
    chosen = [(branch, 1.0, function) for branch in comparison.chosen]
    candidate = [(branch, -ratio, function) for branch in comparison.candidate]
    return [*chosen, *candidate, (comparison.node, ratio - 1.0, function)], max(one / comparison.node.most, 1.0)


def masses_of(model: WorldModel, value: Callable[[Any], int]) -> IntArray:
    """The masses that a solver has found, shape (n_groups, n_classes)."""
    return np.array([[value(m) for m in row] for row in model.masses], np.int64)


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
class WorldSolver:
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
        # With larger ones the presolve of OR-Tools 9.15 takes some programs that have an answer to have none.
        large = int(abs(self.part.rows.matrix).max()) >= COEFFICIENT if len(self.part.rows) else False
        solver.parameters.cp_model_presolve = not large
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

    It stops at the end of patience; what ``likely`` shares make look certain is asked first.
    """
    solver = WorldSolver(part, state, patience)
    if (state.low <= state.high).all() and settle_halves(part, state, asked, patience, likely):
        return 0
    tell(state, 0)
    if not state.possible:
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
    """A world, one as different as there was time to find, and how many comparisons were left out."""
    solver = WorldSolver(part, state, patience)
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
    """What is known before anything was asked: proved bounds, and the largest member of each pool."""
    weight = np.repeat(part.weight[:, None], low.shape[1], axis=1)
    low, high = np.maximum(low, 0), np.minimum(high, weight)
    return Extremes(low, high, weight, np.zeros_like(low), part.weight - largest, part.weight)


# Settles parts one after the other in a child process, as CP-SAT and highspy cannot share one.

# Seconds after which what was found of a part so far is told.
TOLD = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class WorldTask:
    """What is asked of a part, shape (n_owners, n_classes), what is known, and, maybe, how likely each class looks."""

    part: WholePart
    state: Extremes
    asked: BoolArray
    likely: FloatArray | None = None


# Takes the number of a task, what is known of it by now, and how many comparisons its models lack.
Tell = Callable[[tuple[int, Extremes, int]], None]
# How tasks are run: `here`, `elsewhere`, or the same for two worlds.
Run = Callable[[Sequence[WorldTask], Patience, Tell], None]


def here(tasks: Sequence[WorldTask], patience: Patience, tell: Tell) -> None:
    """Settle tasks in this process, which must not have loaded highspy; ``tell`` hears how far it is."""
    for number, task in enumerate(tasks):
        if patience.ended():
            return
        last = time.monotonic()

        def far(state: Extremes, left_out: int, number: int = number) -> None:
            nonlocal last
            if time.monotonic() - last > TOLD:
                tell((number, state, left_out))
                last = time.monotonic()

        left_out = settle(task.part, task.state, task.asked, patience, far, task.likely)
        tell((number, task.state, left_out))
        if task.state.possible is False:
            return


def two_here(tasks: Sequence[WorldTask], patience: Patience, tell: Tell) -> None:
    """Find two worlds of each part in this process; see `two_worlds`."""
    for number, task in enumerate(tasks):
        if patience.ended():
            return
        tell((number, task.state, two_worlds(task.part, task.state, patience)))


def elsewhere(tasks: Sequence[WorldTask], patience: Patience, tell: Tell) -> None:
    """`here`, in another process, which ends when it is late."""
    apart(_there, (here, tasks, patience.question, patience.end), patience.clock, tell)


def two_elsewhere(tasks: Sequence[WorldTask], patience: Patience, tell: Tell) -> None:
    """`two_here`, in another process; errors are those of `elsewhere`."""
    apart(_there, (two_here, tasks, patience.question, patience.end), patience.clock, tell)


def kept_elsewhere(tasks: Sequence[WorldTask], patience: Patience, tell: Tell) -> None:
    """`elsewhere`, in a process that is kept for the next call."""
    apart(_there, (here, tasks, patience.question, patience.end), patience.clock, tell, keep=CP_SAT)


def _there(run: Run, tasks: Sequence[WorldTask], question: float, end: float, clock: Clock, tell: Tell) -> None:
    run(tasks, Patience(clock, question, end), tell)
