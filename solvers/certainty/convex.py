"""Bounds from linear statements and convex comparisons of splits together, for small parts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from maxent.constraints.lifting import LiftedProgram, LiftedTerms, lift, tangents
from maxent.constraints.presolve.merge import Merged, Part, convex_rows, known_totals, parts
from maxent.constraints.program.program import Program
from maxent.constraints.program.residuals import InternalRows
from maxent.models.arrays import BoolArray, FloatArray, IntArray, ranges
from maxent.solvers.certainty.bounds import Bounds
from maxent.solvers.certainty.closed import STATED, fractional
from maxent.solvers.certainty.linear import (
    BoundSearch,
    CertainEnds,
    Feasible,
    Questions,
    Vertex,
    WarmProgram,
    answered,
    contradicted,
    pooled,
)
from maxent.solvers.control import Clock

# Convex comparisons of splits, and their tangents.
#
# A comparison ``sum_t c_t phi(z_t, w_t) + const >= 0`` has a convex phi. Where the classes in the branches of the
# chosen split are known, every ``c_t`` is negative, and the comparison is convex: each of its tangents is a linear row
# that no point which meets the comparison misses. All other comparisons are left out, which is sound.

# Impurity, per individual, by which a split that was chosen may be worse: inducers compare rounded numbers.
TIE = 1e-9
# Impurity, per individual, by which a point has to miss a comparison to be cut off.
VIOLATED = 1e-7
# Share of a branch's individuals that stands for 0 where a tangent is taken: that of an entropy at 0 is vertical.
CLOSEST = 1e-6


class ConvexComparisons:
    """The convex comparisons of a lifted program, but those of branches whose sizes are not known."""

    def __init__(self, program: LiftedProgram) -> None:
        self._n, self._const, self._size = program.n, program.nl_const, program.nl_size
        self._kept = program.convex_rows.copy()
        for terms in program.terms:
            self._kept[terms.row[terms.size_var >= 0]] = False
        self._terms = [self._of_kept(terms) for terms in program.terms]

    def _of_kept(self, terms: LiftedTerms) -> LiftedTerms:
        mine = self._kept[terms.row]
        names = ("row", "var", "coef", "size", "size_var", "block")
        return LiftedTerms(terms.phi, *(getattr(terms, name)[mine] for name in names))

    def cuts(self, z: FloatArray) -> tuple[sparse.csr_matrix, FloatArray]:
        """Rows ``matrix z >= lower``, individuals, that hold wherever comparisons do, and that a point z misses."""
        matrix = sparse.csr_matrix((len(self._const), self._n))
        constant, reach = self._const.copy(), np.abs(self._const)
        for terms in self._terms:
            at = np.maximum(z[terms.var], CLOSEST * terms.size)
            slope, _, offset = tangents(terms.phi, at, terms.size, np.zeros(len(at), bool))
            matrix += sparse.csr_matrix((terms.coef * slope, (terms.row, terms.var)), shape=matrix.shape)
            np.add.at(constant, terms.row, terms.coef * offset)
            np.add.at(reach, terms.row, np.abs(terms.coef * offset))
        missed = np.flatnonzero(self._kept & (matrix @ z + constant < -VIOLATED))
        scale, slack = self._size[missed], TIE + 1e-13 * reach[missed]
        return sparse.csr_matrix(sparse.diags(scale) @ matrix[missed]), -scale * (constant[missed] + slack)


# Masses in a node, at most, for its comparisons to be looked at.
MOST = 1000
# Rounds of tangents for an aim, and tangents of a part, at most: none more would be wrong, only less tight.
ROUNDS, CUTS = 20, 2000
# Share of its people by which presolve may have moved a bound of a part: it computes without directed rounding.
PRESOLVED = 1e-11


def tighten(program: Program, bounds: Bounds, questions: BoolArray, clock: Clock) -> Bounds:
    """The level ``convex``: convex comparisons of splits at nodes of few people, beside all linear statements."""
    if not program.internal:
        return bounds
    rows, totals = InternalRows(program), known_totals(program)
    active = _active(program, rows, convex_rows(program, totals), questions)
    if not len(active):
        return bounds
    merged, pools = pooled(program, rows, active, bounds)
    asked = pools.asked(questions)
    ends, late, ended = CertainEnds.of(program, bounds, questions, pools), np.zeros(asked.shape, bool), False
    everything, among = np.arange(len(program.linear)), np.asarray(asked.any(axis=1))[merged.owner]
    found = [part for part in parts(program, merged, everything, rows, active, among) if len(part.internal)]
    for part in sorted(found, key=lambda part: len(part.groups)):
        here = np.unique(merged.owner[part.groups])
        if clock.stop() is not None:
            late[here] |= asked[here]
            continue
        lifted = lift(program, merged, part, rows, totals)
        asks = _questions(lifted.program, lifted.known, merged, part, asked)
        if not lifted.program.n or not len(asks.pool):
            continue
        search = BoundSearch(asks, pools, ends, clock)
        if not search.run(_Tangents(lifted.program, clock)):
            return contradicted(bounds, questions)
        late[asks.pool] |= asked[asks.pool] & search.open_pools()[:, None]
        ended |= search.ended
    return answered(program, replace(bounds, ended=bounds.ended or ended), questions, pools, late)


def _active(program: Program, rows: InternalRows, convex: BoolArray, questions: BoolArray) -> IntArray:
    """Rows of the convex comparisons at nodes that are small, and have a question."""
    asks = np.asarray(questions.any(axis=1))
    small: dict[tuple[int, int], bool] = {}
    for at in {(c.tree, c.place) for c, fits in zip(program.internal, convex, strict=True) if fits}:
        cells = program.cells.trees[at[0]].at(at[1])
        few = len(cells) * program.n_classes <= MOST
        small[at] = few and bool(asks[program.cells.owner[cells]].any())
    kept = np.flatnonzero(convex & np.array([small.get((c.tree, c.place), False) for c in program.internal]))
    return ranges(rows.first_row[kept], rows.first_row[kept + 1])


def _questions(program: LiftedProgram, known: FloatArray, merged: Merged, part: Part, asked: BoolArray) -> Questions:
    """Questions about the pools of a part, in the unknowns of its lifted program."""
    pool = merged.owner[part.groups]
    number = np.full(asked.shape, -1)
    owner, klass = pool[program.group], program.klass
    wanted = np.zeros(asked.shape, bool)
    wanted[owner, klass] = True
    row, column = np.nonzero(wanted & asked)
    number[row, column] = np.arange(len(row))
    which = number[owner, klass]
    mass = np.flatnonzero(which >= 0)
    aims = sparse.csr_matrix((np.ones(len(mass)), (which[mass], mass)), shape=(len(row), program.n))
    told = np.zeros(asked.shape)
    np.add.at(told, pool, known)
    return Questions(aims, told[row, column], row, column)


class _Tangents(WarmProgram):
    """A linear program that gets tangents of the comparisons that its points miss."""

    def __init__(self, program: LiftedProgram, clock: Clock) -> None:
        super().__init__(_feasible(program), clock)
        self._comparisons, self._cuts = ConvexComparisons(program), 0

    def largest(self, aim: FloatArray) -> Vertex | None:
        """As for a linear program, of a point that meets the comparisons nearly, where tangents get there."""
        vertex = super().largest(aim)
        for _ in range(ROUNDS):
            if vertex is None or vertex.point is None:
                return vertex
            matrix, lower = self._comparisons.cuts(vertex.point)
            if not matrix.shape[0]:
                return vertex
            if self._cuts + matrix.shape[0] > CUTS:
                break
            self._cuts += matrix.shape[0]
            self.add_rows(matrix, lower)
            vertex = self._solved()
        return None if vertex is None else Vertex(vertex.point, vertex.prices, meets=False)


def _feasible(program: LiftedProgram) -> Feasible:
    """The linear part of a lifted program, loosened by possible rounding."""
    matrix, people = program.matrix, float(program.total.sum())
    broken = fractional(program.row_lower) | fractional(program.row_upper)
    broken |= np.bincount(matrix.tocoo().row, fractional(matrix.data), matrix.shape[0]) > 0
    moved = PRESOLVED * max(1.0, people)
    loose = np.where(broken, STATED * max(1.0, people), moved)
    lower, upper = program.row_lower - loose, program.row_upper + loose
    return Feasible(matrix, lower, upper, program.lower - moved, program.upper + moved)
