"""Rebuilding of a whole table of people: the most likely table, and the facts that all consistent tables share."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from maxent.constraints.patterns import MANY, MOST, Atoms, Bits, Patterns, System, TreeCounts, patterns_of, system_of
from maxent.models.arrays import TINY, BoolArray, FloatArray, IntArray
from maxent.models.packages import need
from maxent.solvers.control import Clock
from maxent.solvers.workers import apart, cores
from maxent.solvers.worlds.settle import cp_sat, new_solver

# A table near the statements: rounds expected numbers, then moves people to where fewest rows are missed.

# Moves of a person that are tried, those that are tried in vain, and those before a pattern that was left takes people
# again.
STEPS, STALE, REST = 10_000, 1_000, 8


def rounded(expected: FloatArray, owner: IntArray, weight: IntArray, rng: np.random.Generator) -> IntArray:
    """Integers near the expected numbers, with the total ``weight`` of every owner, shape (n_patterns,)."""
    people = np.zeros(len(expected), np.int64)
    order = np.argsort(owner, kind="stable")
    ends = np.searchsorted(owner[order], np.arange(len(weight) + 1))
    for o, individuals in enumerate(weight.tolist()):
        mine = order[ends[o] : ends[o + 1]]
        if not len(mine):
            continue
        total = expected[mine].sum()
        share = expected[mine] / total if total > 0 else np.full(len(mine), 1 / len(mine))
        up_to = np.minimum(np.floor(np.cumsum(share) * individuals + rng.random()), individuals)
        up_to[-1] = individuals
        people[mine] = np.diff(up_to, prepend=0).astype(np.int64)
    return people


def nearer(
    system: System,
    owner: IntArray,
    people: IntArray,
    rng: np.random.Generator,
    enough: Callable[[], bool] = lambda: False,
) -> IntArray:
    """Whole numbers that miss less than ``people`` do, or nothing, each owner with as many as before.

    Each step moves somebody of a missed row to or from the pattern of the same owner where rows are missed by least.
    """
    moves = _Moves(system, people)
    best, least = people.copy(), int(moves.missed().sum())
    peopled = np.bincount(owner, people) > 0
    last = 0
    free_from = np.zeros(len(people), np.int64)
    for step in range(STEPS):
        missed = moves.missed()
        total = int(missed.sum())
        if total < least:
            best, least, last = moves.people.copy(), total, step
        if not least or step > last + STALE or enough():
            break
        row = int(rng.choice(np.flatnonzero(missed)))
        inside, sign = moves.row(row)
        by = -sign if moves.value[row] > system.high[row] else sign
        can = np.where(by < 0, moves.people[inside] > 0, peopled[owner[inside]])
        if not can.any():
            continue
        change = np.where(by > 0, moves.cost(1)[inside], moves.cost(-1)[inside])
        first = _one_of(np.flatnonzero(can & (change == change[can].min())), rng)
        pattern, by_first = int(inside[first]), int(by[first])
        moves.move(pattern, by_first)
        others = owner == owner[pattern]
        others &= moves.people > 0 if by_first > 0 else free_from <= step
        others[pattern] = False
        if not others.any():
            others[pattern] = True
        change = moves.cost(-by_first)
        second = _one_of(np.flatnonzero(others & (change == change[others].min())), rng)
        moves.move(second, -by_first)
        free_from[second if by_first > 0 else pattern] = step + REST
    return best


class _Moves:
    """A table while people are moved: ``value`` are the sums of the rows."""

    def __init__(self, system: System, people: IntArray) -> None:
        self.system, self.people = system, people.copy()
        self.value = system.matrix @ people
        self.across = system.matrix.T.tocsr()
        self.more, self.less = (self.across == 1).astype(np.int64), (self.across == -1).astype(np.int64)

    def missed(self, by: int = 0) -> IntArray:
        """By how many people each row is missed when it gets ``by`` more."""
        value = self.value + by
        return np.asarray(np.maximum(np.maximum(self.system.low - value, value - self.system.high), 0), np.int64)

    def cost(self, by: int) -> IntArray:
        """By how many people more all rows are missed when a pattern gets ``by`` more, shape (n_patterns,)."""
        now = self.missed()
        total = self.more @ (self.missed(by) - now)
        if self.less.nnz:
            total = total + self.less @ (self.missed(-by) - now)
        return np.asarray(total, np.int64)

    def row(self, row: int) -> tuple[IntArray, IntArray]:
        """The patterns of a row, with their signs."""
        entries = slice(self.system.matrix.indptr[row], self.system.matrix.indptr[row + 1])
        return self.system.matrix.indices[entries].astype(np.int64), self.system.matrix.data[entries]

    def move(self, pattern: int, by: int) -> None:
        """Give a pattern so many people more."""
        entries = slice(self.across.indptr[pattern], self.across.indptr[pattern + 1])
        self.value[self.across.indices[entries]] += by * self.across.data[entries]
        self.people[pattern] += by


def _one_of(numbers: IntArray, rng: np.random.Generator) -> int:
    return int(rng.choice(numbers))


# Dependence between attributes and class: a tree in which each attribute depends on one other (Chow and Liu 1968).
#
# Of all such trees it is the one of greatest likelihood: the spanning tree with the largest sum of mutual informations.

# Of each attribute the shares of its values in each pattern, shape (n_patterns, n_values); the class is last.
Shares = Sequence[FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """An attribute given another: the logarithms of probabilities, shape (n_values, n_values of ``parent``), nats."""

    attribute: int
    parent: int
    log: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Dependence:
    """All attributes given one other, each behind its parent, and the class by itself, shape (n_classes,)."""

    given: tuple[Given, ...]
    of_class: FloatArray


def independent(shares: Shares, people: FloatArray) -> Dependence:
    """No dependence: the probabilities of each attribute are the same in every class."""
    root = len(shares) - 1
    of_class = _smoothed(people @ shares[root])
    given = (
        Given(j, root, np.log(np.repeat(_smoothed(people @ shares[j])[:, None], len(of_class), axis=1)))
        for j in range(root)
    )
    return Dependence(tuple(given), np.log(of_class))


def dependence(shares: Shares, people: FloatArray) -> Dependence:
    """The tree of greatest likelihood for an expected number of people of each pattern, shape (n_patterns,)."""
    n, root = len(shares), len(shares) - 1
    together: dict[tuple[int, int], FloatArray] = {}
    information = np.zeros((n, n))
    for a in range(n):
        weighted = (shares[a] * people[:, None]).T
        for b in range(a):
            joint = _smoothed(weighted @ shares[b])
            apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
            together[a, b], together[b, a] = joint, joint.T
            information[a, b] = float((joint * np.log(joint / apart)).sum())
    # A weight of 0 would be no edge at all; one nat more of each makes no tree better than another.
    tree = csgraph.minimum_spanning_tree(-np.tril(information + 1.0, -1))
    order, parents = csgraph.breadth_first_order(tree, root, directed=False)
    given = []
    for j in order[1:].tolist():
        joint = together[j, int(parents[j])]
        given.append(Given(j, int(parents[j]), np.log(joint / joint.sum(axis=0, keepdims=True))))
    return Dependence(tuple(given), np.log(_smoothed(people @ shares[root])))


def log_chances(held: Sequence[FloatArray], depends: Dependence) -> FloatArray:
    """The logarithm of the probability of each pattern: of all values that it may have together, nats."""
    best = [np.where(has > 0, 0.0, -np.inf) for has in held]
    best[-1] = best[-1] + depends.of_class
    for each in reversed(depends.given):
        own, given = np.exp(best[each.attribute]), np.exp(each.log)
        best[each.parent] = best[each.parent] + np.log(np.maximum(own @ given, TINY))
    top = best[-1].max(axis=1)
    return np.asarray(top + np.log(np.exp(best[-1] - top[:, None]).sum(axis=1)), np.float64)


def _smoothed(people: FloatArray) -> FloatArray:
    """Probabilities from counts, with one more person spread evenly (smoothing)."""
    return np.asarray((people + 1 / people.size) / (people.sum() + 1), np.float64)


def likeliest_values(held: Sequence[BoolArray], depends: Dependence) -> tuple[FloatArray, IntArray]:
    """The likeliest values in each pattern, the class last, and the logarithm of their probability, nats."""
    n = len(held[-1])
    best = [np.where(has, 0.0, -np.inf) for has in held]
    best[-1] = best[-1] + depends.of_class
    choice: dict[int, IntArray] = {}
    for each in reversed(depends.given):
        j, parent = each.attribute, each.parent
        choice[j] = np.empty((n, each.log.shape[1]), np.int64)
        for v in range(each.log.shape[1]):
            total = best[j] + each.log[:, v]
            choice[j][:, v] = total.argmax(axis=1)
            best[parent][:, v] += total.max(axis=1)
    value = np.empty((n, len(held)), np.int64)
    value[:, -1] = best[-1].argmax(axis=1)
    for each in depends.given:
        value[:, each.attribute] = choice[each.attribute][np.arange(n), value[:, each.parent]]
    return best[-1].max(axis=1), value


# Expected frequencies of patterns under the release: shares of values and their dependence.
#
# The shares maximise the likelihood of independent attributes as far as a few rounds go. Each round fits the expected
# number of people of every pattern to the exact counts, by proportional fitting from the shares so far (the
# distribution of maximum entropy relative to them), and takes the shares that it has. The last one tells how attributes
# depend on each other. Without fitting 3.0 % of the cells of a forest of 10 trees are wrong, in place of 1.7 %.

# Rounds of shares; sweeps over all trees in each, fewer where counts are met so nearly, as a share of each.
ROUNDS, SWEEPS, NEAR = 3, 30, 0.01
# Patterns times values of attributes up to which it is looked at how they depend on each other.
AFFORDABLE = 4_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Likely:
    """Expected people of patterns, and their likeliest values, with minus the log likelihood, nats."""

    people: FloatArray
    cost: FloatArray
    value: IntArray


def likely_patterns(
    atoms: Atoms,
    patterns: Patterns,
    trees: tuple[TreeCounts, ...],
    weight: IntArray,
    late: Callable[[], bool] = lambda: False,
) -> Likely:
    """What is expected of patterns; ``weight``, shape (n_owners,), are the individuals of each owner."""
    held = {j: atoms.held(patterns.box, j) for j, of in enumerate(atoms.of) if len(of) > 1}
    shares = {j: np.full(has.shape[1], 1 / has.shape[1]) for j, has in held.items()}
    people = np.zeros(len(patterns))
    for _ in range(ROUNDS):
        start = np.zeros(len(patterns))
        for j, has in held.items():
            start += np.log(np.maximum(has @ shares[j], TINY))
        people = _fitted(np.exp(start - start.max(initial=-np.inf)), patterns, trees, weight, late)
        shares = {j: _shares(has, shares[j], people) for j, has in held.items()}
    numbers = sorted(held)
    every = [*(held[j] for j in numbers), patterns.klass[:, None] == np.arange(trees[0].low.shape[1])]
    inside = [*(_inside(held[j], shares[j]) for j in numbers), every[-1].astype(np.float64)]
    size = len(patterns) * sum(has.shape[1] for has in every)
    known = dependence if size <= AFFORDABLE and not late() else independent
    log_likelihood, likeliest = likeliest_values(every, known(inside, people))
    value = np.zeros((len(patterns), len(atoms.of)), np.int64)
    value[:, numbers] = likeliest[:, :-1]
    return Likely(people, -log_likelihood, value)


def _inside(has: BoolArray, shares: FloatArray) -> FloatArray:
    """Shares of the atoms of an attribute in each pattern, shape (n_patterns, n_atoms)."""
    inside = has * shares
    return np.asarray(inside / np.maximum(inside.sum(axis=1, keepdims=True), TINY), np.float64)


def _shares(has: BoolArray, shares: FloatArray, people: FloatArray) -> FloatArray:
    """Shares of the atoms of an attribute among the people of patterns, half a person more of each."""
    found = people @ _inside(has, shares) + 0.5
    return np.asarray(found / found.sum(), np.float64)


def _fitted(
    start: FloatArray, patterns: Patterns, trees: tuple[TreeCounts, ...], weight: IntArray, late: Callable[[], bool]
) -> FloatArray:
    """People of every pattern, fitted to the exact counts of leaves and to the owners."""
    n_classes = trees[0].low.shape[1]
    margins = [(patterns.owner, weight.astype(np.float64))]
    for t, counts in enumerate(trees):
        exact = (counts.low == counts.high).ravel()
        target = np.where(exact, counts.low.ravel(), np.nan)
        margins.append((patterns.leaf[:, t] * n_classes + patterns.klass, target))
    people = start.copy()
    for _ in range(SWEEPS):
        worst = 0.0
        for group, target in margins:
            total = np.bincount(group, people, len(target))
            factor = np.where(np.isnan(target), 1.0, target / np.maximum(total, TINY))
            present = (total > 0) & ~np.isnan(target) & (target > 0)
            worst = max(worst, float(np.abs(total[present] / target[present] - 1).max(initial=0.0)))
            people *= factor[group]
        if worst < NEAR or late():
            break
    return people


# Independent parts of a system: patterns that no statement connects.


@dataclass(frozen=True, slots=True, eq=False)
class TablePart:
    """A part; arrays are about its patterns, with minus the log likelihood of a person of each, nats.

    ``base`` are groups of the same size in every table, ``hint`` a table that is near, and ``codes`` what is known of
    each, -1: any of several.
    """

    patterns: IntArray
    system: System
    cost: FloatArray
    hint: IntArray
    base: IntArray
    codes: IntArray
    given: bool = False


def parts_of(
    system: System, cost: FloatArray, hint: IntArray, base: IntArray, codes: IntArray, *, given: bool = False
) -> Iterator[TablePart]:
    """The parts of a system, the smallest first."""
    n_rows = len(system.low)
    graph = sparse.bmat([[None, system.matrix], [system.matrix.T, None]], format="csr")
    of = csgraph.connected_components(graph, directed=False)[1]
    rows_of, patterns_of = of[:n_rows], of[n_rows:]
    numbers, sizes = np.unique(patterns_of, return_counts=True)
    for number in numbers[np.argsort(sizes, kind="stable")].tolist():
        rows, mine = np.flatnonzero(rows_of == number), np.flatnonzero(patterns_of == number)
        inside = System(system.matrix[rows][:, mine].tocsr(), system.low[rows], system.high[rows])
        yield TablePart(mine, inside, cost[mine], hint[mine], base[mine], codes[:, mine], given)


# Groups of people that have the same size in every consistent table.
#
# People without names are told apart by nothing but their values. So what is proved of a row is said of groups: ``k
# people are of class x, in this leaf, and have a = 1``. Starting from groups that are stated, a group is divided by an
# attribute where the number of its people with every value is the same in all tables. Every table then has exactly as
# many people in each group: it can be matched with any other one, row by row, such that what describes the groups
# agrees.


def shared_groups(base: IntArray, codes: IntArray, tables: IntArray) -> IntArray:
    """The groups that all ``tables`` share, numbered from 0; a code of -1 may be one of several."""
    group = np.unique(base, return_inverse=True)[1]
    divided = True
    while divided:
        divided = False
        for code in codes:
            _, key = np.unique(group * (int(codes.max(initial=0)) + 2) + code + 1, return_inverse=True)
            n_keys = int(key.max(initial=-1)) + 1
            people = np.stack([np.bincount(key, table, n_keys) for table in tables])
            same = (people == people[0]).all(axis=0)
            above = np.zeros(n_keys, np.int64)
            above[key] = group
            n_groups = int(group.max(initial=-1)) + 1
            may = np.bincount(above, ~same, n_groups) == 0
            may &= np.bincount(above, minlength=n_groups) > 1
            if may.any():
                divided = True
                group = np.unique(np.where(may[group], n_groups + key, group), return_inverse=True)[1]
    return group.astype(np.int64)


def described(group: IntArray, codes: IntArray) -> BoolArray:
    """Whether all people of each pattern's group have the same value of each descriptor, shape as ``codes``."""
    n_groups = int(group.max(initial=-1)) + 1
    found = np.empty(codes.shape, bool)
    for d, code in enumerate(codes):
        least, most = np.full(n_groups, np.iinfo(np.int64).max), np.full(n_groups, -2)
        np.minimum.at(least, group, code)
        np.maximum.at(most, group, code)
        found[d] = ((least == most) & (least >= 0))[group]
    return found


# CP-SAT on a part, in a child process: the most likely table, and tables that differ from it.

# Units of cost to the nat.
PRECISE = 100
# Shares of the time that is left for a part: for the likeliest table, and, if none was found, for any one.
FOR_LIKELIEST, FOR_ANY = 0.6, 0.9
# Coefficients from which on rows are taken for those of real numbers: linear relaxations say more of them than search.
REAL = 1 << 12
# Tables that are looked for to be far apart before the proof, and the share of the time that is left for each.
APART, EACH = 6, 0.1


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A table that agrees with everything, None for none yet, and the groups of patterns that all tables share."""

    people: IntArray | None
    group: IntArray
    likeliest: bool = False
    possible: bool = True
    settled: bool = False


Tell = Callable[[tuple[int, Found]], None]


def rebuild_here(parts: list[TablePart], seed: int, end: float, clock: Clock, tell: Tell) -> None:
    """The likeliest table of each part, then what all tables share; ``end`` is a time of `time.monotonic`."""
    found = [Found(part.hint if part.given else None, part.base) for part in parts]
    for number, part in enumerate(parts):
        if part.given:
            continue
        ask = Ask(part, seed, clock, end)

        def better(people: IntArray, number: int = number) -> None:
            found[number] = replace(found[number], people=people)
            tell((number, found[number]))

        status = ask.likeliest(better, share=FOR_LIKELIEST)
        if found[number].people is None and status is None:
            status = ask.any_table(better)
            status = None if status else status
        if status is not None:
            found[number] = replace(found[number], likeliest=status, possible=status)
            tell((number, found[number]))
        if status is False:
            return
    for number, part in enumerate(parts):
        people = found[number].people
        if people is not None and time.monotonic() < end and clock.stop() is None:
            group = Ask(part, seed, clock, end).shared(people)
            if group is not None:
                found[number] = replace(found[number], group=group, settled=True)
                tell((number, found[number]))


class Ask:
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

    def any_table(self, better: Callable[[IntArray], None]) -> bool | None:
        """Look for any table: True where one was told, False where there is none, else None."""
        model, people = self._model()
        return self._solve(model, people, better, FOR_ANY)

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

    def peopled(self, group: IntArray) -> tuple[BoolArray, IntArray | None, bool]:
        """The groups with people in some table, shape (n_groups,), such a table, and whether no other group has any."""
        held = np.zeros(int(group.max(initial=-1)) + 1, bool)
        tables: list[IntArray] = []
        while True:
            model, people = self._model()
            rest = np.flatnonzero(~held[group]).tolist()
            if tables:
                model.add(cp_sat().LinearExpr.sum([people[i] for i in rest]) >= 1)
            before = len(tables)
            found = self._solve(model, people, tables.append, 1.0) if rest and self.left() > 0.01 else None
            for table in tables[before:]:
                held |= np.bincount(group, table, len(held)) > 0
            if len(tables) == before:
                return held, tables[-1] if tables else None, found is False or not rest

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
        if int(np.abs(self.part.system.matrix.data).max(initial=0)) >= REAL:
            # Measured on boosted models: a third of the time. With large coefficients presolve has been wrong, too.
            solver.parameters.cp_model_presolve, solver.parameters.linearization_level = False, 2
            solver.parameters.num_workers = 1

        class Callback(cp_sat().CpSolverSolutionCallback):  # type: ignore[misc]
            def on_solution_callback(self) -> None:
                better(np.array([self.value(variable) for variable in people], np.int64))

        status = solver.solve(model, Callback())
        return {cp_sat().OPTIMAL: True, cp_sat().INFEASIBLE: False}.get(status)


def _most(system: System) -> IntArray:
    """The most people that the rows allow each pattern, shape (n_patterns,)."""
    row = np.repeat(np.arange(len(system.high)), np.diff(system.matrix.indptr))
    coef = system.matrix.data
    signed = np.bincount(row, coef < 0, len(system.high)) > 0
    most = np.full(system.matrix.shape[1], MANY)
    bound = np.maximum(system.high, 0)[row] // np.maximum(coef, 1)
    np.minimum.at(most, system.matrix.indices, np.where(signed[row] | (coef == 0), MANY, bound))
    return most


Status = Literal["likeliest", "consistent", "partial", "inconsistent"]
# Seconds for everything where there is no time limit, and the shares of them for patterns and for a near table.
WHOLE, FOR_PATTERNS, FOR_NEAR = 60.0, 0.3, 0.1
# How parts are solved: `rebuild_here`, or `elsewhere`.
Run = Callable[[list[TablePart], int, float, Clock, Tell], None]


@dataclass(frozen=True, slots=True, eq=False)
class Rebuilt:
    """A table of people, as numbers of people of each pattern.

    ``people``, shape (n_patterns,), individuals. ``value``, shape (n_patterns, n_attributes), the atom of each
    attribute. ``proved``, shape (n_patterns, n_attributes + 1), whether all tables share the value; the class comes
    last. ``status``: whether the table agrees with everything, and none of greater likelihood does; it agrees with
    everything; it does not, as none was found in time; or there is none. ``settled``: whether there was time to prove
    all that is shared.
    """

    patterns: Patterns
    people: IntArray
    value: IntArray
    proved: BoolArray
    status: Status
    settled: bool


def elsewhere(parts: list[TablePart], seed: int, end: float, clock: Clock, tell: Tell) -> None:
    """`rebuild_here`, in another process, which ends when it is late."""
    apart(_there, (parts, seed, end), clock, tell)


def _there(parts: list[TablePart], seed: int, end: float, clock: Clock, tell: Tell) -> None:
    rebuild_here(parts, seed, end, clock, tell)


def rebuild(
    atoms: Atoms,
    trees: tuple[TreeCounts, ...],
    start: Bits,
    weight: IntArray,
    *,
    seed: int,
    clock: Clock,
    most: int = MOST,
    run: Run = elsewhere,
) -> Rebuilt:
    """A whole table of people that agrees with what trees state.

    ``start`` is the box of values that is possible for each owner, ``most`` the patterns of a class that are looked at.
    """
    need("ortools", "whole tables need OR-Tools")
    rng = np.random.default_rng(seed)
    left = clock.left()
    seconds = WHOLE if left is None else left
    end = time.monotonic() + seconds
    late = _after(clock, time.monotonic() + FOR_PATTERNS * seconds)
    patterns = patterns_of(atoms, trees, start, rng, most=most, late=late)
    system = system_of(patterns, trees, weight)
    likely = likely_patterns(atoms, patterns, trees, weight, late)
    people = rounded(likely.people, patterns.owner, weight, rng)
    enough = _after(clock, min(end, time.monotonic() + FOR_NEAR * seconds))
    people = nearer(system, patterns.owner, people, rng, enough)
    base = base_of(patterns, trees, weight)
    likeliest = Likely(people.astype(np.float64), likely.cost, likely.value)
    return settled(atoms, patterns, system, likeliest, base, seed=seed, end=end, clock=clock, run=run)


def settled(
    atoms: Atoms,
    patterns: Patterns,
    system: System,
    near: Likely,
    base: IntArray,
    *,
    seed: int,
    end: float,
    clock: Clock,
    run: Run,
) -> Rebuilt:
    """The likeliest table, and what all tables share; ``near`` has a table that is near, with costs and values."""
    people, codes = near.people.astype(np.int64), codes_of(atoms, patterns)
    parts = list(parts_of(system, near.cost, people, base, codes))
    found = [Found(part.hint if not part.system.missed(part.hint).any() else None, part.base) for part in parts]

    def hear(message: tuple[int, Found]) -> None:
        found[message[0]] = message[1]

    if (np.diff(system.matrix.indptr) > 0).all():
        run(parts, seed, end, clock, hear)
    proved = np.zeros((len(patterns), codes.shape[0]), bool)
    for part, of_part in zip(parts, found, strict=True):
        if of_part.people is not None:
            people[part.patterns] = of_part.people
            if patterns.complete:
                proved[part.patterns] = described(of_part.group, part.codes).T
    status = _status(patterns, system, people, found)
    if status == "inconsistent":
        proved[:] = False
    return Rebuilt(
        patterns,
        people,
        near.value,
        proved[:, :-1],
        status,
        patterns.complete and all(each.settled for each in found) and status in {"likeliest", "consistent"},
    )


def _after(clock: Clock, end: float) -> Callable[[], bool]:
    """Whether it is later than ``end``, a time of `time.monotonic`, or the clock says to stop."""
    return lambda: time.monotonic() >= end or clock.stop() is not None


def _status(patterns: Patterns, system: System, people: IntArray, found: list[Found]) -> Status:
    """How the people that were found agree with everything."""
    impossible = not all(each.possible for each in found) or (np.diff(system.matrix.indptr) == 0).any()
    if patterns.complete and impossible:
        return "inconsistent"
    if system.missed(people).any():
        return "partial"
    return "likeliest" if patterns.complete and all(each.likeliest for each in found) else "consistent"


def base_of(patterns: Patterns, trees: tuple[TreeCounts, ...], weight: IntArray) -> IntArray:
    """Groups of patterns with numbers of people that are stated: owners, or the leaves of the finest tree by class."""
    finest = _finest(trees)
    if len(weight) > 1 or finest is None:
        return patterns.owner
    return np.asarray(patterns.leaf[:, finest].astype(np.int64) * trees[0].low.shape[1] + patterns.klass)


def _finest(trees: tuple[TreeCounts, ...]) -> int | None:
    """The tree with the most leaves and classes that have people, of those that state exact counts."""
    exact = [t for t, tree in enumerate(trees) if tree.exact]
    return max(exact, key=lambda t: int((trees[t].low[trees[t].places.leaves] > 0).sum())) if exact else None


def codes_of(atoms: Atoms, patterns: Patterns) -> IntArray:
    """Columns that divide groups: the atom of each attribute, then the class, then the leaf in the first tree."""
    found = np.full((len(atoms.of) + 2, len(patterns)), -1)
    for j, of in enumerate(atoms.of):
        if len(of) > 1:
            held = atoms.held(patterns.box, j)
            found[j] = np.where(held.sum(axis=1) == 1, held.argmax(axis=1), -1)
    found[-2], found[-1] = patterns.klass, patterns.leaf[:, 0]
    return found
