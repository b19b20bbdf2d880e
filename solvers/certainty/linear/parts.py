"""Linear programs of the independent parts of a program: free unknowns, rows, and questions.

Quasi-identifiers that no statement tells apart are pooled: of M people of a class among W, w with a quasi-identifier
can be any ``max(0, w - (W - M))`` to ``min(w, M)``. Masses that bounds fix are left out, and of two that are left of a
quasi-identifier with one cell the second is what the first leaves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from maxent.constraints.presolve.merge import Merged, Part, merge, parts
from maxent.constraints.presolve.part_view import PartRows, PartView, part_rows
from maxent.constraints.program import Program
from maxent.constraints.residuals import InternalRows
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.solvers.certainty.bounds import Bounds
from maxent.solvers.certainty.closed import EPSILON, STATED, fractional, is_exact
from maxent.solvers.certainty.linear.duality import Feasible


@dataclass(frozen=True, slots=True, eq=False)
class Pools:
    """Quasi-identifiers in pools that no statement tells apart: quasi-identifier q is in pool ``of[q]``.

    ``people`` are the individuals of each pool; ``low`` and ``high``, shape (n_pools, n_classes), bound those of each
    class among them.
    """

    of: IntArray
    people: FloatArray
    low: FloatArray
    high: FloatArray

    def asked(self, questions: BoolArray) -> BoolArray:
        """Pairs of a pool and a class about which some quasi-identifier asks, shape (n_pools, n_classes)."""
        asked = np.zeros(self.low.shape, bool)
        np.logical_or.at(asked, self.of, questions)
        return asked

    def shared(self, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Bounds of single quasi-identifiers from those of their pools; ``counts`` are their individuals."""
        w = counts[:, None]
        return w - (self.people[:, None] - self.low)[self.of], np.minimum(w, self.high[self.of])


@dataclass(frozen=True, slots=True, eq=False)
class Questions:
    """Linear functions of the unknowns whose largest and smallest value is asked for.

    Row i of ``aims``, plus ``constant[i]``, are the individuals of class ``klass[i]`` in pool ``pool[i]``.
    """

    aims: sparse.csr_matrix
    constant: FloatArray
    pool: IntArray
    klass: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class LinearPart:
    """The linear program of a part."""

    feasible: Feasible
    questions: Questions


def pooled(program: Program, rows: InternalRows, active: IntArray, bounds: Bounds) -> tuple[Merged, Pools]:
    """Quasi-identifiers pooled that no linear statement and no active comparison tells apart, and bounds of pools."""
    merged = merge(program, rows, active)
    of = np.empty(len(program.table), np.int64)
    of[program.cells.owner] = merged.owner[merged.group]
    low, high = (np.zeros((len(merged.weight), program.n_classes)) for _ in range(2))
    np.add.at(low, of, bounds.low)
    np.add.at(high, of, bounds.high)
    return merged, Pools(of, merged.weight, low, np.minimum(high, merged.weight[:, None]))


def linear_parts(program: Program, merged: Merged, pools: Pools, asked: BoolArray) -> Iterator[LinearPart]:
    """The parts with an open question that closed forms do not answer; ``asked`` is (n_pools, n_classes).

    The program has no internal constraints.
    """
    everything, nothing = np.arange(len(program.linear)), np.empty(0, np.int64)
    among = np.asarray(asked.any(axis=1))[merged.owner]
    for part in parts(program, merged, everything, InternalRows(program), nothing, among):
        stated = [program.linear[i] for i in part.linear.tolist()]
        alone = program.single and len({c.region for c in stated}) <= 1 and all(map(is_exact, stated))
        if not alone:
            found = _of_part(program, merged, pools, asked, part)
            if found is not None:
                yield found


def _of_part(program: Program, merged: Merged, pools: Pools, asked: BoolArray, part: Part) -> LinearPart | None:
    """The program of a part; None where nothing is left to ask."""
    view = PartView(program, merged, part)
    rows, n_classes = part_rows(view), program.n_classes
    pool = merged.owner[part.groups]
    alone = view.whole[view.owner] == 1
    # A cell of several holds from none to all of its pool's people.
    least = np.where(alone[:, None], pools.low[pool], 0.0)
    most = pools.high[pool]
    left = least < most
    position = np.full(left.size, -1)
    matrix, constant = _substituted(view, left, least, alone, position)
    if not matrix.shape[1]:
        return None
    stated, lower, upper = _statements(view, rows, n_classes)
    owners = sparse.csr_matrix(
        (np.ones(left.size), (np.repeat(view.owner, n_classes), np.arange(left.size))),
        shape=(len(view.owner_weight), left.size),
    )
    all_rows = sparse.csr_matrix(sparse.vstack([stated, owners]))
    lower, upper = np.append(lower, view.owner_weight), np.append(upper, view.owner_weight)
    offset = all_rows @ constant
    rounded = EPSILON * (np.diff(all_rows.indptr) + 2) * (abs(all_rows) @ np.abs(constant))
    broken = fractional(lower) | fractional(upper) | fractional(offset)
    rounded = np.where(broken & np.isfinite(rounded), rounded, 0.0)
    lower, upper = lower - offset - rounded, upper - offset + rounded
    inner = sparse.csr_matrix(all_rows @ matrix)
    inner.eliminate_zeros()
    inner, lower, upper = _distinct(inner, lower, upper)
    free = np.flatnonzero(position >= 0)
    feasible = Feasible(inner, lower, upper, least.ravel()[free], most.ravel()[free])
    return LinearPart(feasible, _questions(view, pool, asked, matrix, constant, position, n_classes))


def _substituted(
    view: PartView, left: BoolArray, least: FloatArray, alone: BoolArray, position: IntArray
) -> tuple[sparse.csr_matrix, FloatArray]:
    """All masses as a linear function of the unknowns that are kept: matrix and constant."""
    # ``position``, shape (n_masses,), gets the number of the unknown that each mass is, -1 for none.
    n_classes = left.shape[1]
    constant = np.where(left, 0.0, least)
    pair = alone & (left.sum(axis=1) == 2)
    first = left.argmax(axis=1)
    second = n_classes - 1 - left[:, ::-1].argmax(axis=1)
    kept = left.copy()
    kept[pair, second[pair]] = False
    free = np.flatnonzero(kept)
    position[free] = np.arange(len(free))
    group = np.flatnonzero(pair)
    one, other = group * n_classes + first[group], group * n_classes + second[group]
    constant[group, second[group]] = view.weight[group] - constant[group].sum(axis=1)
    row = np.concatenate([free, other])
    column = np.concatenate([position[free], position[one]])
    value = np.concatenate([np.ones(len(free)), -np.ones(len(other))])
    return sparse.csr_matrix((value, (row, column)), shape=(left.size, len(free))), constant.ravel()


def _statements(view: PartView, rows: PartRows, n_classes: int) -> tuple[sparse.csr_matrix, FloatArray, FloatArray]:
    """Statements as rows over all masses of a part, loosened where they are not about whole numbers."""
    table, inside = rows.table, rows.inside
    entry = rows.row_of
    coefficients = sparse.csr_matrix(
        (table.coef, (entry, rows.over * n_classes + table.klass)),
        shape=(len(rows), inside.shape[0] * n_classes),
    )
    by_class = sparse.csr_matrix(sparse.kron(inside, sparse.identity(n_classes, format="csr"), format="csr"))
    exact = ~(fractional(table.lower) | fractional(table.upper))
    exact[entry[fractional(table.coef)]] = False
    exact &= ~table.weighted
    stated = sparse.csr_matrix(coefficients @ by_class)
    size = abs(stated) @ np.repeat(view.weight, n_classes)
    loose = np.where(exact, 0.0, STATED * np.maximum(size, 1.0))
    return stated, table.lower - loose, table.upper + loose


def _distinct(
    matrix: sparse.csr_matrix, lower: FloatArray, upper: FloatArray
) -> tuple[sparse.csr_matrix, FloatArray, FloatArray]:
    """Rows that are not alike but for their sign, with the narrowest sides, and no empty ones."""
    sides: dict[bytes, int] = {}
    kept: list[int] = []
    low, high = lower.copy(), upper.copy()
    matrix.sort_indices()
    for r in range(matrix.shape[0]):
        start, stop = matrix.indptr[r], matrix.indptr[r + 1]
        if start == stop:
            continue
        data = matrix.data[start:stop]
        sign = 1.0 if data[0] > 0 else -1.0
        key = matrix.indices[start:stop].tobytes() + (sign * data).tobytes()
        at = sides.setdefault(key, r)
        if at == r:
            kept.append(r)
            continue
        same = sign == (1.0 if matrix.data[matrix.indptr[at]] > 0 else -1.0)
        mine = (lower[r], upper[r]) if same else (-upper[r], -lower[r])
        low[at], high[at] = max(low[at], mine[0]), min(high[at], mine[1])
    return sparse.csr_matrix(matrix[kept]), low[kept], high[kept]


def _questions(
    view: PartView,
    pool: IntArray,
    asked: BoolArray,
    matrix: sparse.csr_matrix,
    constant: FloatArray,
    position: IntArray,
    n_classes: int,
) -> Questions:
    """Questions about the pools of a part: one per class, unless other answers imply it."""
    owners, first = np.unique(view.owner, return_index=True)
    row, klass = np.nonzero(asked[pool[first]])
    # The class that was substituted is what another one leaves.
    told = (view.whole[owners[row]] == 1) & (position[first[row] * n_classes + klass] < 0)
    row, klass = row[~told], klass[~told]
    number = np.full((len(owners), n_classes), -1)
    number[row, klass] = np.arange(len(row))
    which = number[view.owner].ravel()
    mass = np.flatnonzero(which >= 0)
    taken = sparse.csr_matrix((np.ones(len(mass)), (which[mass], mass)), shape=(len(row), len(constant)))
    return Questions(sparse.csr_matrix(taken @ matrix), taken @ constant, pool[first[row]], klass)
