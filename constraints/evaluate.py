"""How well a point satisfies a program: every constraint at once, vectorised, in probability units.

Linear residuals are divided by the individuals of their region, internal ones by those of their node, so that 1e-8
means the same everywhere. Adult's 2,556 internal constraints take a few milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from maxent.constraints.impurity import PHI_OF
from maxent.constraints.impurity_numpy import PHI
from maxent.constraints.program import Internal, Program

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

TINY = 1e-300
"""Stands for 0 inside logarithms and quotients: ``phi(0, W) = phi(0, 0) = 0`` in the limit."""


def phi_sum(measure: str, a: FloatArray, w: FloatArray) -> FloatArray:
    """``sum_x phi(a[..., x], w)``: a has shape (..., n_classes), w the shape of the rest."""
    wide = np.broadcast_to(np.maximum(w, TINY)[..., None], a.shape)
    value: FloatArray = PHI[PHI_OF[measure]].value(np.maximum(a, TINY), wide).sum(axis=-1)
    return value


def incidence(members: list[IntArray], n_cells: int) -> sparse.csr_matrix:
    """0/1 matrix, shape (len(members), n_cells), with a row per set of cells."""
    lengths = np.fromiter((len(m) for m in members), np.int64, len(members))
    indices = np.concatenate(members) if members else np.empty(0, np.int64)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    return sparse.csr_matrix((np.ones(len(indices)), indices, indptr), shape=(len(members), n_cells))


class LinearRows:
    """All linear constraints of a program, evaluated together."""

    def __init__(self, program: Program) -> None:
        self.matrix = incidence([program.regions[r] for r in range(len(program.regions))], len(program.cells))
        rows = program.linear
        self.constraint = np.repeat(np.arange(len(rows)), [c.rows for c in rows]).astype(np.int64)
        self.region = np.array([rows[i].region for i in self.constraint], np.int64)
        n = program.n_classes
        self.coef = np.concatenate([c.coef for c in rows]) if rows else np.empty((0, n))
        self.lower = np.concatenate([c.lower for c in rows]) if rows else np.empty(0)
        self.upper = np.concatenate([c.upper for c in rows]) if rows else np.empty(0)
        self.scale = np.maximum(program.region_size, 1.0)[self.region] if rows else np.empty(0)

    def values(self, masses: FloatArray) -> FloatArray:
        """Left-hand sides, individuals, shape (n_rows,)."""
        totals = self.matrix @ masses
        result: FloatArray = np.einsum("rx,rx->r", self.coef, totals[self.region])
        return result

    def violation(self, masses: FloatArray) -> FloatArray:
        """Amount by which each row is missed, probability units, shape (n_rows,)."""
        value = self.values(masses)
        return np.maximum(np.maximum(self.lower - value, value - self.upper), 0.0) / self.scale


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """Comparisons of one form (values, cuts or each): the values' cells, and where each comparison's values start."""

    which: IntArray  # (n_comparisons,) indices into program.internal
    blocks: sparse.csr_matrix  # (n_blocks, n_cells), a block per value present
    starts: IntArray  # (n_comparisons,) first block of each
    value: IntArray  # (n_blocks,) the code of the block


class InternalRows:
    """All internal constraints of a program, evaluated together."""

    def __init__(self, program: Program) -> None:
        self.program = program
        constraints = program.internal
        self.first_row = np.concatenate([[0], np.cumsum([c.rows for c in constraints])]).astype(np.int64)
        self.n_rows = int(self.first_row[-1])
        nodes = list(dict.fromkeys((c.tree, c.place) for c in constraints))
        index = {node: i for i, node in enumerate(nodes)}
        self.node = np.array([index[c.tree, c.place] for c in constraints], np.int64)
        children = [
            (i, held.at(child))
            for i, (t, place) in enumerate(nodes)
            for held in [program.cells.trees[t]]
            for child in held.layout.children[place]
            if held.stop[child] > held.start[child]
        ]
        self.parent = np.array([i for i, _ in children], np.int64)
        n_cells = len(program.cells)
        self.branches = incidence([cells for _, cells in children], n_cells)
        self.totals = sparse.csr_matrix(
            (np.ones(len(children)), (self.parent, np.arange(len(children)))), shape=(len(nodes), len(children))
        )
        self.measures = np.array([c.measure for c in constraints])
        self.batches = [
            _batch(program, np.flatnonzero([c.form == form for c in constraints]))
            for form in ("values", "cuts", "each")
            if any(c.form == form for c in constraints)
        ]

    def constraint_of(self, rows: IntArray) -> IntArray:
        """The internal constraint that each row belongs to."""
        which: IntArray = np.searchsorted(self.first_row, rows, side="right") - 1
        return which

    def slack(self, masses: FloatArray) -> FloatArray:
        """``E_U - E_T`` (gain ratio: ratio of the chosen minus the candidate's) per row, shape (n_rows,)."""
        out = np.empty(self.n_rows)
        if not self.n_rows:
            return out
        a = np.asarray(self.branches @ masses)
        w = a.sum(axis=1)
        per_node = np.asarray(self.totals @ a)
        size = per_node.sum(axis=1)
        for measure in np.unique(self.measures):
            chosen = self.totals @ phi_sum(measure, a, w)
            whole = phi_sum(measure, per_node, size)
            split = self.totals @ _neg_x_log_x(w) - _neg_x_log_x(size)
            for batch in self.batches:
                mine = np.flatnonzero(self.measures[batch.which] == measure)
                if len(mine):
                    self._fill(out, batch, mine, measure, masses, chosen, whole, split, size)
        return out

    def violation(self, masses: FloatArray) -> FloatArray:
        """Amount by which each comparison is missed, impurity units, shape (n_rows,)."""
        return np.maximum(-self.slack(masses), 0.0)

    def _fill(
        self,
        out: FloatArray,
        batch: _Batch,
        mine: IntArray,
        measure: str,
        masses: FloatArray,
        chosen: FloatArray,
        whole: FloatArray,
        split: FloatArray,
        size: FloatArray,
    ) -> None:
        a = np.asarray(batch.blocks @ masses)
        w = a.sum(axis=1)
        phi = phi_sum(measure, a, w)
        which, node = batch.which[mine], self.node[batch.which[mine]]
        if self.program.internal[which[0]].form == "values":
            u = np.add.reduceat(phi, batch.starts)[mine]
            split_u = np.add.reduceat(_neg_x_log_x(w), batch.starts)[mine] - _neg_x_log_x(size[node])
            rows = self.first_row[which]
            out[rows] = _compare(measure, chosen[node], u, whole[node], split[node], split_u, size[node])
            return
        ends = np.append(batch.starts[1:], len(a))
        for i, k, at in zip(mine, which, node, strict=True):
            blocks = slice(batch.starts[i], ends[i])
            left, w_left = _left_sides(self.program.internal[k], batch.value[blocks], a[blocks], w[blocks])
            right = np.maximum(a[blocks].sum(axis=0) - left, 0.0)
            w_right = np.maximum(size[at] - w_left, 0.0)
            u = phi_sum(measure, left, w_left) + phi_sum(measure, right, w_right)
            split_u = _neg_x_log_x(w_left) + _neg_x_log_x(w_right) - _neg_x_log_x(size[[at]])
            rows_of = slice(self.first_row[k], self.first_row[k + 1])
            out[rows_of] = _compare(measure, chosen[[at]], u, whole[[at]], split[[at]], split_u, size[[at]])


def _compare(
    measure: str,
    chosen: FloatArray,
    u: FloatArray,
    whole: FloatArray,
    split_t: FloatArray,
    split_u: FloatArray,
    size: FloatArray,
) -> FloatArray:
    """``E_U - E_T`` from the sums of phi over branches; for the gain ratio ``gain_T / S_T - gain_U / S_U``."""
    if measure == "gain_ratio":
        return (chosen - whole) / np.maximum(split_t, TINY) - (u - whole) / np.maximum(split_u, TINY)
    return (chosen - u) / np.maximum(size, TINY)


def _neg_x_log_x(w: FloatArray) -> FloatArray:
    result: FloatArray = -w * np.log(np.maximum(w, TINY))
    return result


def _left_sides(constraint: Internal, value: IntArray, a: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Masses and sizes on the left of each cut (or of each single value), shapes (rows, n_classes) and (rows,)."""
    at = np.searchsorted(value, constraint.codes)
    if constraint.form == "each":
        return a[at], w[at]
    return np.cumsum(a, axis=0)[at], np.cumsum(w)[at]


def _batch(program: Program, which: IntArray) -> _Batch:
    """The blocks of several comparisons: the cells of each value present in the node, by increasing code."""
    members: list[IntArray] = []
    starts: list[int] = []
    value: list[IntArray] = []
    lengths: list[IntArray] = []
    n_blocks = 0
    for i in which:
        constraint = program.internal[i]
        cells = program.cells.trees[constraint.tree].at(constraint.place)
        codes = program.table.codes[program.cells.owner[cells], constraint.column]
        order = np.argsort(codes, kind="stable")
        changes = np.flatnonzero(np.diff(codes[order])) + 1
        first = np.concatenate([[0], changes])
        members.append(cells[order])
        value.append(codes[order][first])
        lengths.append(np.diff(np.append(first, len(cells))))
        starts.append(n_blocks)
        n_blocks += len(first)
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    indices = np.concatenate(members)
    blocks = sparse.csr_matrix((np.ones(len(indices)), indices, indptr), shape=(n_blocks, len(program.cells)))
    return _Batch(which.astype(np.int64), blocks, np.array(starts, np.int64), np.concatenate(value))


class Evaluator:
    """Residuals of every compiled constraint at a point."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.linear = LinearRows(program)
        self.internal = InternalRows(program)

    def qi_violation(self, masses: FloatArray) -> float:
        """Largest miss of the quasi-identifiers' totals or of non-negativity, as a share of the quasi-identifier."""
        owner, counts = self.program.cells.owner, self.program.table.counts.astype(np.float64)
        totals = np.bincount(owner, masses.sum(axis=1), len(counts))
        negative = np.maximum(-masses, 0.0).max(axis=1) / self.program.weight
        return float(max(np.abs(totals / counts - 1.0).max(), negative.max()))

    def max_violation(self, masses: FloatArray) -> float:
        """The largest violation of any compiled constraint, probability units."""
        worst = self.qi_violation(masses)
        for found in (self.linear.violation(masses), self.internal.violation(masses)):
            worst = max(worst, float(found.max(initial=0.0)))
        return worst
