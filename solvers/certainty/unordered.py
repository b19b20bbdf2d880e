"""What draws of a file tell where the order of rows is not known: who sits where is one more unknown.

A *seat* is a row of the training table: how often it was drawn for each tree is known, who sits there is not. With
``x[v, g, c]`` the seats of kind v (drawn equally often for every tree) that somebody of group g and class c has,

    sum_gc x[v, g, c] = seats of the kind,      sum_vc x[v, g, c] = people of the group,
    sum over v and the groups of leaf l of draws[t, v] x[v, g, c] = count[t, l, c],
    sum over v drawn for tree t, the groups of leaf l and c of x[v, g, c] = different records of t in l.

Give each of these rows a whole number y. A seat v with a label (g, c) then has the score ``S``, the sum of its rows'
numbers times its coefficients, and all labellings that are left have the same sum of scores, ``y . right side``. No
seat has more than its best score: what ``sum_v max_gc S - y . right side`` leaves, the slack, is all that seats can
have less than their best. A label that costs more is impossible; if every label but one does, for every seat, the
labelling is proved, in whole numbers, however y was found. It is found by maximum entropy: the least of
``sum_v log sum_gc exp S - y . right side``, which goes to 0 where one labelling is left even among fractions (and to
minus infinity where none is). This is the dual of a linear program; what it leaves open is asked of CP-SAT.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy import sparse

from maxent.constraints.kinds.bootstrap import DRAWN_MOMENTS, RESAMPLED, UNKNOWN, counted, draws_of, finest
from maxent.constraints.presolve.merge import Part
from maxent.constraints.program.cells import TreeCells
from maxent.constraints.program.program import Program
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.draws import MOST_DRAWS
from maxent.models.release import Tree
from maxent.solvers.certainty.bounds import unbounded, whole_numbers
from maxent.solvers.certainty.closed import tighten
from maxent.solvers.control import Clock
from maxent.solvers.workers import WorkerLost, one_thread
from maxent.solvers.worlds.part import (
    BranchTotals,
    SplitComparison,
    WholePart,
    WholeProgram,
    WholeRows,
    whole_program,
)
from maxent.solvers.worlds.settle import Patience, Run, WorldTask, elsewhere, extremes

# Kinds of seats times labels that scores are computed of, and that CP-SAT is asked about.
REACH, ASKED = 10_000_000, 50_000
# What the sum of all logarithms may be above 0 for the labelling to be the only one: then every label but one is less
# likely than e^-0.4 - e^-0.8 = 0.22, and costs more than the slack.
ENOUGH = 0.4
# Steps of a descent, those of a question, and how strongly a question pulls, one after the other.
STEPS, FEW, PULLS = 3000, 150, (1.0, 8.0, 64.0)
# Steps after which is looked at what is proved; a descent goes on while the sum falls by a hundredth meanwhile.
LOOK, SLOW = 25, 0.99
# Whole numbers in doubles are exact below this.
EXACT = 2.0**52


@dataclass(frozen=True, slots=True, eq=False)
class Seating:
    """The rows that draws give, over seats and labels; label ``g * n_classes + c`` is group g with class c.

    ``drawn``, shape (n_features, n_kinds): Whole coefficients of the seats of each kind: draws for a tree, whether
    there are any, or 1. ``times``, shape (n_kinds,): Seats of each kind. ``row``, shape (n_features, n_labels): in
    which row of each feature a label is, ``len(total)`` where it is in none. ``total``, shape (n_rows,): Right sides.
    ``owner``, shape (n_groups,), increasing: the pooled quasi-identifier of each group. ``weight``, shape (n_owners,):
    individuals of each. ``like``, shape (n_quasi_identifiers,): the pooled quasi-identifier of each of the table's.
    ``merged``, shape (n_groups,): the group of the program that each is in.
    """

    drawn: FloatArray
    times: IntArray
    row: IntArray
    total: IntArray
    owner: IntArray
    weight: IntArray
    like: IntArray
    merged: IntArray
    n_classes: int
    trees: int

    @property
    def size(self) -> int:
        """Kinds of seats times labels."""
        return len(self.times) * int(self.row.shape[1])


def unfit(program: Program) -> str | None:
    """Why draws of a release say nothing of its counts, where it has any; or how they contradict the table."""
    release, draws = program.release, program.release.draws
    if draws is None:
        return "the file tells no draws"
    if draws.trees != len(release.trees):
        return f"draws are told of {draws.trees} trees, and there are {len(release.trees)}"
    if draws.trees * draws.n > MOST_DRAWS:
        return f"{draws.trees:,} trees with {draws.n:,} rows are more than {MOST_DRAWS:,} draws"
    if release.blurred:
        return "counts are suppressed or rounded"
    if not any(counted(tree, release) for tree in release.trees):
        return "no node states counts of classes"
    return None


def seating(program: Program) -> tuple[WholeProgram, Seating] | str | int:
    """A program with draws over whole people, and the rows of its draws.

    A sentence where they contradict each other or the table; a number of pairs where that is more than `REACH`.
    """
    draws = program.release.draws
    assert draws is not None
    if draws.n != program.individuals:
        return f"draws are of {draws.n:,} rows, the table has {program.individuals:,} people"
    kinds, times = np.unique(draws.matrix(), axis=1, return_counts=True)
    trees = list(zip(program.release.trees, program.cells.trees, strict=True))
    classes, k = program.release.target.classes, program.n_classes
    drawn: list[IntArray] = []
    of: list[IntArray] = []  # for each feature, of each cell and class its row, -1 for none
    total: list[int] = []
    for t, (tree, held) in enumerate(trees):
        for what, (by_class, right) in zip(("draws", "different rows"), _stated(tree, held, classes), strict=True):
            coef = kinds[t] if what == "draws" else (kinds[t] > 0).astype(np.int64)
            stated, known = sum(right), int(coef @ times)
            if (by_class >= 0).all() and stated != known:
                return f"tree {t + 1} states {stated:,} {what}, and its draws have {known:,}"
            of.append(np.where(by_class >= 0, by_class + len(total), -1))
            drawn.append(coef)
            total += right
    rows_of = np.array(of).reshape(len(of), len(program.cells), -1)
    least = len(times) * len(np.unique(rows_of[:, :, 0], axis=1).T) * k
    if least > REACH:
        return least
    whole = whole_program(program)
    groups, owner, weight, like = _pooled(program, whole, rows_of)
    cell = np.unique(groups, return_index=True)[1]
    row = np.array([each[cell].ravel() for each in of], np.int64).reshape(len(of), -1)
    row = np.vstack([row, len(total) + np.repeat(owner, k)])
    row[row < 0] = len(total) + len(weight)
    return whole, Seating(
        np.vstack([*drawn, np.ones(len(times), np.int64)]).astype(np.float64),
        times,
        row,
        np.concatenate([np.array(total, np.int64), weight]),
        owner,
        weight,
        like,
        whole.merged.group[cell],
        k,
        draws.trees,
    )


def _stated(tree: Tree, held: TreeCells, classes: tuple[str, ...]) -> Sequence[tuple[IntArray, list[int]]]:
    """Draws of each class, then different records: each cell's row for each class, and the right sides."""
    counts, distinct = draws_of(tree, held.places, classes)
    found = []
    for by_class in (True, False):
        known = (counts[:, 0] if by_class else distinct) != UNKNOWN
        row, right = np.full((len(held.order), len(classes)), -1), list[int]()
        for place in finest(held.places, known):
            row[held.at(place)] = len(right) + np.arange(len(classes)) * by_class
            right += counts[place].tolist() if by_class else [int(distinct[place])]
        found.append((row, right))
    return found


def _pooled(program: Program, whole: WholeProgram, of: IntArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Groups of cells that nothing tells apart, with their pooled quasi-identifiers and these one's individuals."""
    table, cells = program.table, program.cells
    told = np.column_stack([whole.merged.group, of[:, :, 0].T])
    key = np.unique(told, axis=0, return_inverse=True)[1].ravel()
    order = np.lexsort((key, cells.owner))
    ends = np.searchsorted(cells.owner[order], np.arange(len(table) + 1))
    known: dict[bytes, int] = {}
    like = np.array(
        [known.setdefault(np.unique(key[order[a:b]]).tobytes(), len(known)) for a, b in pairwise(ends.tolist())]
    )
    pair, groups = np.unique(np.column_stack([like[cells.owner], key]), axis=0, return_inverse=True)
    weight = np.bincount(like, table.counts, len(known)).astype(np.int64)
    return groups.ravel(), pair[:, 0].astype(np.int64), weight, like


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What numbers for the rows prove: bounds on the people of each pooled quasi-identifier and class."""

    low: IntArray
    high: IntArray
    seated: int
    possible: bool


def _apart(of: Seating) -> tuple[FloatArray, FloatArray]:
    """Coefficients and right sides with twice the different records minus the draws in place of the different records.

    The same is stated, and descents are shorter: of a bootstrap, that and the draws are not correlated.
    """
    drawn, right = of.drawn.copy(), of.total.astype(np.float64)
    for f in range(1, len(drawn) - 1, 2):
        pairs = np.unique(of.row[f - 1 : f + 1], axis=1)
        if len(pairs[0]) == len(np.unique(pairs[0])) and pairs.max() < len(right):  # each row of draws is in one
            drawn[f] = 2 * drawn[f] - drawn[f - 1]
            here = np.unique(pairs[1])
            right[here] = 2 * right[here] - np.bincount(pairs[1], of.total[pairs[0]], len(right))[here]
    return drawn, right


class Dual:
    """Numbers for the rows of a seating, and what they prove."""

    def __init__(self, seating: Seating) -> None:
        self.of = seating
        self.drawn, self.right = _apart(seating)
        self.first = np.searchsorted(seating.owner, np.arange(len(seating.weight)))

    def scores(self, y: FloatArray) -> FloatArray:
        """The score of each kind of seat with each label, shape (n_kinds, n_labels)."""
        return np.asarray(self.drawn.T @ np.append(y, 0.0)[self.of.row])

    def smooth(self, y: FloatArray, pull: FloatArray | float = 0.0) -> tuple[float, FloatArray, FloatArray]:
        """Sum of the logarithms over what the rows state, its slope, and shares of labels; ``pull`` adds to scores."""
        scores = self.scores(y) + pull
        top = scores.max(axis=1, keepdims=True)
        share = np.exp(scores - top)
        sums = share.sum(axis=1, keepdims=True)
        share /= sums
        share *= self.of.times[:, None]
        value = float(self.of.times @ (np.log(sums) + top).ravel() - self.right @ y)
        slope = np.bincount(self.of.row.ravel(), (self.drawn @ share).ravel(), len(y) + 1)[:-1]
        return value, slope - self.right, share

    def descend(
        self,
        start: FloatArray,
        steps: int,
        look: Callable[[FloatArray, float], bool],
        ended: Callable[[], bool],
        pull: FloatArray | float = 0.0,
    ) -> FloatArray:
        """Numbers for which the sum is least, as far as steps go; earlier when a ``look`` at them and the sum says so.

        Looks are few, the first after `LOOK` steps, but for a sum below `ENOUGH`, and when time has ``ended``.
        """
        from scipy.optimize import minimize

        best, seen = start, 0
        scale = np.maximum(self.of.total, 1) ** -0.75  # about evens out how the sum bends; found by trying

        def at(scaled: FloatArray) -> tuple[float, FloatArray]:
            nonlocal best, seen
            best, seen = scale * scaled, seen + 1
            value, slope, _ = self.smooth(best, pull)
            if (value < ENOUGH or not seen % LOOK or ended()) and look(best, value):
                raise StopIteration
            return value, scale * slope

        with suppress(StopIteration):
            options = {"maxiter": steps, "maxfun": 2 * steps, "maxcor": 30, "ftol": 1e-10, "gtol": 1e-9}
            minimize(at, start / scale, jac=True, method="L-BFGS-B", options=options)
            look(best, self.smooth(best, pull)[0])
        return best

    def proved(self, y: FloatArray) -> Found:
        """What numbers prove after they are rounded to whole ones, by exact arithmetic."""
        of, k = self.of, self.of.n_classes
        size = float(of.times @ (np.abs(self.drawn.T) @ np.abs(np.append(y, 0.0))[of.row].max(axis=1)))
        size = size + float(np.abs(self.right) @ (np.abs(y) + 1.0)) + float(np.abs(self.drawn).sum(axis=0) @ of.times)
        whole = np.rint(y * 2.0 ** math.floor(math.log2(EXACT / (4 * size))))
        scores = self.scores(whole)
        best = np.maximum.reduceat(scores.reshape(len(of.times), -1, k), self.first, axis=1).reshape(len(scores), -1)
        top = best.max(axis=1)
        slack = float(of.times @ top - self.right @ whole)
        cost = top[:, None] - best  # of a seat for somebody of each quasi-identifier and class
        own = cost.argmin(axis=1)
        leave = np.partition(cost, 1, axis=1)[:, 1] if cost.shape[1] > 1 else np.full(len(cost), np.inf)
        high = _within(cost, of.times, slack)
        low: IntArray = np.zeros(len(high), np.int64)
        for label in np.unique(own[leave > 0]).tolist():
            mine = (own == label) & (leave > 0)
            low[label] = int(of.times[mine].sum()) - _within(leave[mine, None], of.times[mine], slack)[0]
        low, high = low.reshape(-1, k), high.reshape(-1, k)
        for _ in range(2):  # all classes together are all people
            high = np.minimum(high, of.weight[:, None] - low.sum(axis=1, keepdims=True) + low)
            low = np.maximum(low, of.weight[:, None] - high.sum(axis=1, keepdims=True) + high)
        possible = slack >= 0 and bool((low <= high).all())
        if possible and scores.shape[1] == best.shape[1] and (leave > slack).all():
            possible = self._holds(scores.argmax(axis=1))  # the only one
        return Found(low, high, int(of.times[leave > slack].sum()), possible)

    def _holds(self, label: IntArray) -> bool:
        """Whether all rows hold where each kind of seat has one label, by exact arithmetic."""
        of = self.of
        rows = of.row[:, label]
        return np.array_equal(
            np.bincount(rows.ravel(), (of.drawn * of.times).ravel(), len(of.total) + 1)[:-1], of.total
        )


def _within(cost: FloatArray, times: IntArray, slack: float) -> IntArray:
    """The most seats that can be paid for with the slack, of kinds that cost so much each, shape (n_kinds, n)."""
    order = np.argsort(cost, axis=0)
    each, many = np.take_along_axis(cost, order, axis=0), times[order]
    spent = np.cumsum(each * many, axis=0)
    full = spent <= slack
    found = (many * full).sum(axis=0)
    at = np.minimum(full.sum(axis=0), len(cost) - 1)
    columns = np.arange(cost.shape[1])
    rest = slack - np.where(at > 0, spent[at - 1, columns], 0.0)
    more = np.where(full.all(axis=0) | (rest < 0), 0.0, np.floor(rest / np.maximum(each[at, columns], 1.0)))
    return np.asarray(found + more.astype(np.int64), np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Unordered:
    """What is proved of people where draws are known and the order of rows is not.

    ``low``, ``high``, shape (n_quasi_identifiers, n_classes): individuals, proved. ``late``: what is neither proved nor
    shown by a world that attains the bound. ``certain``, ``open``: individuals proved certain, and those of whom more
    might be proved. ``ended``: whether everything was settled. ``contradicted``: whether no labelling is consistent
    with the draws. ``sentence``: that in words. ``lost``: whether the process of CP-SAT ended before it had answered.
    """

    low: IntArray
    high: IntArray
    late: BoolArray
    certain: int
    open: int
    ended: bool
    contradicted: bool
    sentence: str
    lost: bool = False


def settle_unordered(program: Program, clock: Clock, run: Run = elsewhere) -> Unordered:
    """Prove what draws tell of everybody's class, for somebody who does not know the order of the rows.

    It takes a minute at most without a limit; raises `MissingExtra` where OR-Tools is needed and not there.
    """
    of_draws = {RESAMPLED.name, DRAWN_MOMENTS.name}
    linear = tuple(each for each in program.linear if each.kind not in of_draws)
    return _Settling(replace(program, linear=linear, scaling=None, likelihood=None), clock).settled(run)


class _Settling:
    def __init__(self, program: Program, clock: Clock) -> None:
        self.program, self.clock, self.patience = program, clock, Patience.of(clock)
        self.low, self.high = whole_numbers(unbounded(program).low, unbounded(program).high)
        self.late: BoolArray = self.low < self.high
        self.seated, self.lost = 0, False

    def settled(self, run: Run) -> Unordered:
        if (why := unfit(self.program)) is not None:
            return self._told(f"draws were not used: {why}")
        draws = self.program.release.draws
        assert draws is not None
        made = seating(self.program)
        if isinstance(made, str):
            return self._told(f"the draws do not fit the counts: {made}", contradicted=True)
        over = f"{draws.n:,} rows in unknown order, {draws.trees:,} trees"
        pairs = made if isinstance(made, int) else made[1].size
        if isinstance(made, int) or pairs > REACH:
            return self._told(
                f"draws of the file were not used: {over} are beyond reach ({pairs:,} pairs of a row with a group "
                f"and class; up to {REACH:,} are looked at)"
            )
        whole, found = made
        start = unbounded(self.program)
        closed = tighten(self.program, start, start.open, self.clock)
        self.low, self.high = whole_numbers(closed.low, closed.high)
        over = f"{over}, {len(found.owner):,} groups of people"
        with one_thread():
            possible = self._by_scores(Dual(found))
        if possible and (self.low < self.high).any() and not self.patience.ended():
            possible = self._by_worlds(whole, found, run)
        if not possible:
            why = "nobody could sit where these rows were drawn"
            return self._told(f"the draws do not fit the counts: {why} ({over})", contradicted=True)
        self.late &= self.low < self.high
        how_far = "all is settled" if not self.late.any() else "not all is settled"
        who = f"who holds {self.seated:,} of the rows is proved, up to people who are alike"
        return self._told(f"draws of the file were used: {over}; {who}; {how_far}")

    def _told(self, sentence: str, *, contradicted: bool = False) -> Unordered:
        counts = self.program.table.counts
        certain = (self.low >= counts[:, None]).any(axis=1)
        open_ = self.late.any(axis=1) & ~certain
        people = int(counts[certain].sum()), int(counts[open_].sum())
        return Unordered(self.low, self.high, self.late, *people, not open_.any(), contradicted, sentence, self.lost)

    def _by_scores(self, dual: Dual) -> bool:
        """Take in what numbers for the rows prove; False where there is no labelling."""
        of, possible, before = dual.of, True, (math.inf, math.inf)

        def look(y: FloatArray, value: float) -> bool:
            nonlocal possible, before
            possible = self._take(dual, y)
            now = value, float((self.high - self.low).sum())
            stuck = now[0] > SLOW * before[0] and now[1] == before[1]
            before = now
            return not possible or not now[1] or stuck or value < ENOUGH or self.patience.ended()

        y = dual.descend(np.zeros(len(of.total)), STEPS, look, self.patience.ended)
        share = dual.smooth(y)[2].reshape(len(of.times), -1, of.n_classes).sum(axis=0)
        expected = np.add.reduceat(share, dual.first, axis=0)
        surest = np.minimum(expected, of.weight[:, None] - expected) / of.weight[:, None]
        low, high = self._of_pools(of)
        for o, x in np.argwhere(low < high)[np.argsort(surest[low < high], kind="stable")].tolist():
            if not possible or self.patience.ended():
                break
            mine = np.zeros(of.row.shape[1])
            mine.reshape(-1, of.n_classes)[of.owner == o, x] = 1.0
            for sign in (1.0, -1.0) if of.n_classes > 2 else (1.0,):
                now, pulled = y, 1.0
                for pull in PULLS:
                    low, high = self._of_pools(of)
                    if low[o, x] == high[o, x] or not possible or self.patience.ended():
                        break
                    before = (math.inf, math.inf)
                    now, pulled = (
                        dual.descend(now * (pull / pulled), FEW, look, self.patience.ended, sign * pull * mine),
                        pull,
                    )
        return possible

    def _of_pools(self, of: Seating) -> tuple[IntArray, IntArray]:
        """Bounds on the people of each pooled quasi-identifier."""
        low, high = np.zeros((2, len(of.weight), of.n_classes), np.int64)
        np.add.at(low, of.like, self.low)
        np.add.at(high, of.like, self.high)
        return low, high

    def _take(self, dual: Dual, y: FloatArray) -> bool:
        found = dual.proved(y)
        self.seated = max(self.seated, found.seated)
        return found.possible and self._narrow(dual.of, found.low, found.high)

    def _narrow(self, of: Seating, low: IntArray, high: IntArray) -> bool:
        """Take in bounds on pooled quasi-identifiers: of a member what the others cannot have, and all at most."""
        before_low, before_high = self._of_pools(of)
        others_high, others_low = before_high[of.like] - self.high, before_low[of.like] - self.low
        self.low = np.maximum(self.low, low[of.like] - others_high)
        self.high = np.minimum(self.high, high[of.like] - others_low)
        return bool((self.low <= self.high).all())

    def _by_worlds(self, whole: WholeProgram, of: Seating, run: Run) -> bool:
        """Ask CP-SAT; False where there is no labelling."""
        low, high = self._of_pools(of)
        if of.size > ASKED:
            return True
        part = joined(whole, of)
        largest = np.zeros(len(of.weight), np.int64)
        np.maximum.at(largest, of.like, self.program.table.counts)
        state = extremes(part, low, high, largest)
        heard = [state]
        try:
            run([WorldTask(part, state, low < high)], self.patience, lambda told: heard.append(told[1]))
        except WorkerLost:
            self.lost = True  # what it told before holds
        state = heard[-1]
        if state.possible is False or not self._narrow(of, state.low, state.high):
            return False
        weight = self.program.table.counts[:, None]
        rest = of.weight[of.like][:, None] - weight
        low_seen = np.maximum(state.least[of.like] - rest, 0) <= self.low
        self.late &= ~(low_seen & (np.minimum(state.most[of.like], weight) >= self.high))
        return True


def joined(whole: WholeProgram, of: Seating) -> WholePart:
    """Seats and labels as one problem of whole numbers, with everything else that the program states."""
    kinds, groups, k = len(of.times), len(of.owner), of.n_classes
    labels = groups * k
    blocks, lower, upper = [], [], []

    def state(matrix: sparse.spmatrix, low: IntArray, high: IntArray) -> None:
        blocks.append(sparse.csr_matrix(matrix, dtype=np.int64))
        lower.append(low)
        upper.append(high)

    state(sparse.kron(sparse.identity(kinds, np.int64), np.ones((1, labels), np.int64)), of.times, of.times)
    for drawn, row in zip(of.drawn[:-1].astype(np.int64), of.row[:-1], strict=True):  # the last are all people
        there, at = np.unique(row, return_inverse=True)
        chosen = sparse.csr_matrix((np.ones(labels, np.int64), (at.ravel(), np.arange(labels))))
        inside = np.flatnonzero(there < len(of.total))
        total = of.total[there[inside]]
        state(sparse.kron(drawn[None, :], chosen[inside]), total, total)
    where = {g: np.flatnonzero(of.merged == g) for g in range(len(whole.merged.owner))}

    def spread(these: IntArray) -> IntArray:
        mine = np.concatenate([where[g] for g in these.tolist()])
        return np.asarray((np.arange(kinds)[:, None] * groups + mine).ravel(), np.int64)

    comparisons: list[SplitComparison] = []
    for number, piece in enumerate(whole.pieces):
        part = whole.part(number)
        at = np.full(len(whole.merged.owner), -1)
        at[piece.groups] = np.arange(len(piece.groups))
        column = np.repeat(at[of.merged] * k, k) + np.tile(np.arange(k), groups)
        mine = np.flatnonzero(column >= 0)
        chosen = sparse.csr_matrix(
            (np.ones(len(mine), np.int64), (column[mine], mine)), shape=(len(piece.groups) * k, labels)
        )
        each = sparse.csr_matrix(np.ones((1, kinds), np.int64))
        state(sparse.kron(each, part.rows.matrix @ chosen), part.rows.lower, part.rows.upper)

        def moved(branch: BranchTotals, piece: Part = piece) -> BranchTotals:
            return BranchTotals(spread(piece.groups[branch.groups]), branch.size, branch.most)

        comparisons += [
            replace(c, chosen=tuple(map(moved, c.chosen)), candidate=tuple(map(moved, c.candidate)), node=moved(c.node))
            for c in part.comparisons
        ]
    rows = WholeRows(sparse.vstack(blocks, format="csr"), np.concatenate(lower), np.concatenate(upper))
    return WholePart(
        np.arange(kinds * groups),
        np.tile(of.owner, kinds),
        np.arange(len(of.weight)),
        of.weight,
        np.ones(kinds * groups, np.int64),
        k,
        rows,
        tuple(comparisons),
    )
