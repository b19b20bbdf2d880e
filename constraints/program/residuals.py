"""Residuals: the violation of each constraint at a point, in probability units, vectorised.

Linear residuals are divided by the individuals of their region, internal ones by those of their node, so that 1e-8
means the same everywhere. An evaluation passes once over the cells for each attribute that competes anywhere, and once
for all regions (`maxent.constraints.program.cells`), however many constraints there are.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from scipy import sparse

from maxent.constraints.program.cells import Sums, TreeCells
from maxent.constraints.program.impurity import PHI_OF
from maxent.constraints.program.program import Program
from maxent.models.arrays import TINY, FloatArray, IntArray, run_ends

# The only measure that split information is for.
RATIO = "gain_ratio"
# Rows that are looked at together, so that intermediate results stay small.
CHUNK = 1 << 16


def phi_sum(measure: str, a: FloatArray, w: FloatArray) -> FloatArray:
    """``sum_x phi(a[..., x], w)``: a has shape (..., n_classes), w the shape of the rest."""
    if PHI_OF[measure] == "gini":  # a square for each class, of which nothing is kept
        return np.asarray(np.einsum("...x,...x->...", a, a) / np.maximum(w, TINY))
    a = np.maximum(a, TINY)
    return np.asarray((a * np.log(a / np.maximum(w, TINY)[..., None])).sum(axis=-1))


class LinearRows:
    """All linear constraints of a program, evaluated together."""

    def __init__(self, program: Program) -> None:
        self.program = program
        table = program.rows
        self.constraint = table.of
        self.region = program.region_of[self.constraint]
        # Coefficients other than 0, each with its row and its class: with many classes almost all are 0.
        self.entry = np.repeat(np.arange(len(table)), np.diff(table.ends))
        self.klass, self.coef = table.klass, table.coef
        self.lower, self.upper, self.weighted = table.lower, table.upper, table.weighted
        self._own = np.flatnonzero(table.weighted[self.entry])
        self._weights = self._of_cells()
        self.scale = np.maximum(program.region_size, 1.0)[self.region] if program.linear else np.empty(0)
        tree, place = program.placed.T
        order = np.argsort(tree, kind="stable")
        ends = np.searchsorted(tree[order], np.arange(len(program.cells.trees) + 1))
        self._places = [(mine, place[mine]) for mine in (order[i:j] for i, j in pairwise(ends.tolist()))]
        self._others = order[: ends[0]].tolist()

    def totals(self, masses: FloatArray) -> FloatArray:
        """Masses of every region, shape (n_regions, n_classes)."""
        program = self.program
        out = np.empty((len(program.placed), program.n_classes))
        for t, (regions, places) in enumerate(self._places):
            if len(regions):
                out[regions] = program.sums.totals(t, masses)[places]
        for region in self._others:
            out[region] = masses[program.regions[region]].sum(axis=0)
        return out

    def values(self, masses: FloatArray) -> FloatArray:
        """Left-hand sides, individuals, shape (n_rows,)."""
        told = self.totals(masses)[self.region[self.entry], self.klass]
        if len(self._own):
            told[self._own] = self._weights @ masses.ravel()
        return self.sums(told)

    def _of_cells(self) -> sparse.csr_matrix:
        """Factors of the masses of cells, one row for each entry that has such: (n, n_cells times n_classes)."""
        program, own, n_classes = self.program, self._own, self.program.n_classes
        weights = [program.linear[k].weights for k in self.constraint[self.entry[own]].tolist()]
        cells = [program.regions[r] * n_classes for r in self.region[self.entry[own]].tolist()]
        klass = self.klass[own].tolist()
        data = [w[:, x] for w, x in zip(weights, klass, strict=True) if w is not None]
        return sparse.csr_matrix(
            (
                np.concatenate([np.empty(0), *data]),
                np.concatenate([np.empty(0, np.int64), *(c + x for c, x in zip(cells, klass, strict=True))]),
                run_ends(np.array([len(c) for c in cells], np.int64)),
            ),
            shape=(len(own), len(program.cells) * n_classes),
        )

    def sums(self, told: FloatArray) -> FloatArray:
        """Left-hand sides from the mass of the class of each entry, shape (n_entries,), individuals."""
        return np.bincount(self.entry, self.coef * told, len(self.constraint)).astype(np.float64)

    def violation(self, masses: FloatArray) -> FloatArray:
        """Amount by which each row is missed, probability units, shape (n_rows,)."""
        value = self.values(masses)
        return np.maximum(np.maximum(self.lower - value, value - self.upper), 0.0) / self.scale


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """Rows of one tree, column, form and measure: where each is, and the node and block that it looks at."""

    tree: int
    column: int
    form: str
    measure: str
    sums: Sums  # by the values of the column
    row: IntArray  # (n,) its number among all internal rows
    node: IntArray  # (n,) its node, an index into the places of `CellSums.by_value`
    block: IntArray  # (n,) the block with its code; nothing for whole attributes


@dataclass(frozen=True, slots=True, eq=False)
class SplitSlack:
    """The chosen splits of a tree, per place: ``sum phi`` below it and in one piece, split information, individuals."""

    chosen: FloatArray
    whole: FloatArray
    split: FloatArray
    size: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Branches:
    """Branches of a tree's nodes: the places at its two ends, shapes (n_branches,), and ``ends``, all of these once."""

    above: IntArray
    below: IntArray
    ends: IntArray | None = None

    def chosen(self, measure: str, totals: FloatArray) -> SplitSlack:
        """Scores of the chosen splits; ``totals`` are the masses of the places, shape (n_places, n_classes)."""
        if self.ends is None:
            size = totals.sum(axis=1)
            whole = phi_sum(measure, totals, size)
        else:
            inside = totals[self.ends]
            size, whole = np.zeros(len(totals)), np.zeros(len(totals))
            size[self.ends] = inside.sum(axis=1)
            whole[self.ends] = phi_sum(measure, inside, size[self.ends])
        split = self._sum(neg_x_log_x(size)) if measure == RATIO else size
        return SplitSlack(self._sum(whole), whole, split, size)

    def _sum(self, values: FloatArray) -> FloatArray:
        """Sums over the branches of each place."""
        return np.asarray(np.bincount(self.above, values[self.below], len(values)), np.float64)


def branches(held: TreeCells) -> Branches:
    """The branches of a tree."""
    below = held.places.below
    return Branches(held.places.parent[below], below)


def _branches_of(held: TreeCells, places: IntArray) -> Branches:
    """The branches of some nodes of a tree."""
    whole = branches(held)
    some = np.isin(whole.above, places)
    if 2 * some.sum() > len(some):
        return whole
    above, below = whole.above[some], whole.below[some]
    return Branches(above, below, np.union1d(above, below))


class InternalRows:
    """All internal constraints of a program, evaluated together."""

    def __init__(self, program: Program) -> None:
        self.program = program
        constraints = program.internal
        self.first_row = np.concatenate([[0], np.cumsum([c.rows for c in constraints])]).astype(np.int64)
        self.n_rows = int(self.first_row[-1])
        alike: dict[tuple[int, int, str, str], list[int]] = {}
        for k, c in enumerate(constraints):
            alike.setdefault((c.tree, c.column, c.form, c.measure), []).append(k)
        places = {t: np.array([c.place for c in constraints if c.tree == t]) for t, *_ in alike}
        self._branches = {t: _branches_of(program.cells.trees[t], inside) for t, inside in places.items()}
        self._batches = [self._batch(*key, np.array(which)) for key, which in alike.items()]

    def _batch(self, tree: int, column: int, form: str, measure: str, which: IntArray) -> _Batch:
        """The rows of some internal constraints that have everything but their nodes in common."""
        sums, constraints = self.program.sums.by_value(tree, column), [self.program.internal[k] for k in which]
        number = np.empty(len(self.program.cells.trees[tree].start), np.int64)
        number[sums.places] = np.arange(len(sums.places))
        lengths = np.array([c.rows for c in constraints])
        node = np.repeat(number[[c.place for c in constraints]], lengths)
        row = np.repeat(self.first_row[which] - np.cumsum(lengths) + lengths, lengths) + np.arange(len(node))
        codes = np.concatenate([c.codes for c in constraints])
        block = np.searchsorted(sums.key, node * sums.n_values + codes) if form != "values" else node[:0]
        return _Batch(tree, column, form, measure, sums, row, node, block)

    def constraint_of(self, rows: IntArray) -> IntArray:
        """The internal constraint that each row belongs to."""
        which: IntArray = np.searchsorted(self.first_row, rows, side="right") - 1
        return which

    def slack(self, masses: FloatArray) -> FloatArray:
        """``E_U - E_T`` (gain ratio: ratio of the chosen minus the candidate's) per row, shape (n_rows,)."""
        sums = self.program.sums  # of this pooling, see `Evaluator.at`
        return self.compared(
            partial(sums.totals, values=masses), lambda tree, column, _: sums.by_value(tree, column)(masses)
        )

    def compared(
        self, totals_of: Callable[[int], FloatArray], by_value: Callable[[int, int, Sums], FloatArray]
    ) -> FloatArray:
        """`slack`, shape (n_rows,), from sums of masses.

        They are those over the places of a tree, shape (n_places, n_classes), and over its nodes by the values of a
        column, shape (n_blocks, n_classes), which are overwritten; the blocks are those of the `Sums` given.
        """
        out = np.empty(self.n_rows)
        totals: dict[int, FloatArray] = {}
        splits: dict[tuple[int, str], SplitSlack] = {}
        for batch in self._batches:
            tree, measure = batch.tree, batch.measure
            a = by_value(tree, batch.column, batch.sums)
            if tree not in totals:
                totals[tree] = totals_of(tree)
            if (tree, measure) not in splits:
                splits[tree, measure] = self._branches[tree].chosen(measure, totals[tree])
            out[batch.row] = _compared(batch, a, totals[tree], splits[tree, measure])
        return out

    def violation(self, masses: FloatArray) -> FloatArray:
        """Amount by which each comparison is missed, impurity units, shape (n_rows,)."""
        return np.maximum(-self.slack(masses), 0.0)


def _compared(batch: _Batch, a: FloatArray, totals: FloatArray, split: SplitSlack) -> FloatArray:
    """The slack of a batch's rows; ``a`` are sums by value."""
    sums = batch.sums
    w = a.sum(axis=1)
    if batch.form == "values":
        u = np.add.reduceat(phi_sum(batch.measure, a, w), sums.start[:-1])
        split_u = np.add.reduceat(neg_x_log_x(w), sums.start[:-1]) if batch.measure == RATIO else u
        return _compare(batch.measure, split, sums.places[batch.node], u[batch.node], split_u[batch.node])
    if batch.form == "cuts":
        for begin, end in pairwise(sums.start.tolist()):
            np.cumsum(a[begin:end], axis=0, out=a[begin:end])
            np.cumsum(w[begin:end], out=w[begin:end])
    slack = np.empty(len(batch.row))
    for begin in range(0, len(slack), CHUNK):
        rows = slice(begin, begin + CHUNK)
        place, left, w_left = sums.places[batch.node[rows]], a[batch.block[rows]], w[batch.block[rows]]
        right = np.maximum(totals[place] - left, 0.0)
        w_right = np.maximum(split.size[place] - w_left, 0.0)
        u = phi_sum(batch.measure, left, w_left) + phi_sum(batch.measure, right, w_right)
        split_u = neg_x_log_x(w_left) + neg_x_log_x(w_right) if batch.measure == RATIO else u
        slack[rows] = _compare(batch.measure, split, place, u, split_u)
    return slack


def _compare(measure: str, split: SplitSlack, place: IntArray, u: FloatArray, split_u: FloatArray) -> FloatArray:
    """``E_U - E_T`` from the sums of phi over branches; for the gain ratio ``gain_T / S_T - gain_U / S_U``."""
    chosen, size = split.chosen[place], split.size[place]
    if measure == RATIO:
        whole, undivided = split.whole[place], neg_x_log_x(size)
        gain_t = (chosen - whole) / np.maximum(split.split[place] - undivided, TINY)
        return gain_t - (u - whole) / np.maximum(split_u - undivided, TINY)
    return (chosen - u) / np.maximum(size, TINY)


def neg_x_log_x(w: FloatArray) -> FloatArray:
    """``-w ln w``, 0 where w is, of the shape of w."""
    result: FloatArray = -w * np.log(np.maximum(w, TINY))
    return result


class Evaluator:
    """Residuals of every compiled constraint at a point."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.linear = LinearRows(program)
        self.internal = InternalRows(program)

    def at(self, program: Program) -> Evaluator:
        """The same of another pooling of the program, see `maxent.constraints.presolve.merge.pooled`."""
        found = copy(self)
        found.program, found.linear, found.internal = program, copy(self.linear), copy(self.internal)
        found.linear.program = found.internal.program = program
        return found

    def qi_violation(self, masses: FloatArray) -> float:
        """Largest miss of the quasi-identifiers' totals or of non-negativity, as a share of the quasi-identifier."""
        counts = self.program.table.counts.astype(np.float64)
        totals = np.bincount(self.program.cells.owner, masses.sum(axis=1), len(counts))
        negative = np.maximum(-masses.min(axis=1), 0.0) / self.program.weight
        return float(max(np.abs(totals / counts - 1.0).max(), negative.max()))

    def max_violation(self, masses: FloatArray, missed: FloatArray | None = None) -> float:
        """The largest violation of any compiled constraint, probability units; ``missed`` those of comparisons."""
        worst = self.qi_violation(masses)
        missed = self.internal.violation(masses) if missed is None else missed
        for found in (self.linear.violation(masses), missed):
            worst = max(worst, float(found.max(initial=0.0)))
        return worst
