"""Linear level of proof: bounds from all linear statements, by linear programs with dual proofs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from maxent.constraints.presolve.merge import Merged, Part, merge, parts
from maxent.constraints.presolve.parts import PartRows, PartView, part_rows
from maxent.constraints.program.program import Program
from maxent.constraints.program.residuals import InternalRows
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.solvers.certainty.bounds import Bounds, whole
from maxent.solvers.certainty.closed import EPSILON as CLOSED_EPSILON
from maxent.solvers.certainty.closed import STATED, fractional, is_exact, left_by_others
from maxent.solvers.control import Clock, foretell
from maxent.solvers.dual.overlapping import quiet_highs

# Rigorous bounds of linear programs by weak duality: valid for any multipliers, so no solver is trusted.
#
# With rows ``l <= A z <= u`` and a box ``a <= z <= b``, every y and every feasible z have
#
#     c'z = y'A z + (c - A'y)'z <= sum_r max(y_r l_r, y_r u_r) + sum_j max(d_j a_j, d_j b_j),    d = c - A'y.
#
# The right side is evaluated here in floating point and rounded up by more than its error (Neumaier & Shcherbina, "Safe
# bounds in linear and mixed-integer linear programming", Math. Program. 99, 2004; Higham, "Accuracy and stability of
# numerical algorithms", 2002, section 3.1).

EPSILON = float(np.finfo(np.float64).eps)
# Sides of a row that cross by at most this share of its size cross by rounding; by more, rows contradict each other.
CROSSED = 1e-9


@dataclass(frozen=True, eq=False)
class Feasible:
    """Points ``z``, shape (n,), with ``lower <= matrix z <= upper`` in the box from ``least`` to ``most``, finite."""

    matrix: sparse.csr_matrix
    lower: FloatArray
    upper: FloatArray
    least: FloatArray
    most: FloatArray

    @cached_property
    def _transposed(self) -> sparse.csr_matrix:
        return sparse.csr_matrix(self.matrix.T)

    @cached_property
    def _sizes(self) -> tuple[sparse.csr_matrix, FloatArray, FloatArray]:
        """Absolute coefficients, transposed; terms of each column; largest size of each variable."""
        transposed = self._transposed
        return abs(transposed), np.diff(transposed.indptr).astype(float), np.maximum(abs(self.least), abs(self.most))

    @property
    def crossed(self) -> bool:
        """Whether the sides of a row cross, by more than rounding: there is no point."""
        size = abs(self.matrix) @ self._sizes[2]
        return bool((self.lower - self.upper > CROSSED * (1 + size)).any())

    def priced(self, y: FloatArray) -> PricedPart:
        """Bound from prices of the rows, shape (n_rows,); a price for a missing side becomes 0."""
        y = np.where(np.where(y > 0, np.isinf(self.upper), np.isinf(self.lower)), 0.0, y)
        side = np.where(y > 0, self.upper, self.lower)
        sides = np.where(y == 0, 0.0, y * np.where(np.isfinite(side), side, 0.0))
        absolute, terms, size = self._sizes
        d = -(self._transposed @ y)
        reach = absolute @ np.abs(y)
        box = np.maximum(d * self.least, d * self.most)
        error = EPSILON * (len(y) + 2) * float(np.abs(sides).sum())
        error += EPSILON * float(((terms + 4) * reach * size).sum())
        error += EPSILON * len(d) * float(np.abs(box).sum())
        return PricedPart(self, d, float(sides.sum() + box.sum()), error)


@dataclass(frozen=True, slots=True, eq=False)
class PricedPart:
    """Prices of the rows: ``-A'y``, and the bound that they are of 0 by themselves, with its error."""

    feasible: Feasible
    d: FloatArray
    value: float
    error: float

    @property
    def contradiction(self) -> bool:
        """Whether the prices prove that there is no feasible point: 0 would be less than 0."""
        return self.value < -2 * self.error - 1e-9 * (1 + abs(self.error))

    def of(self, aims: sparse.csr_matrix) -> FloatArray:
        """Proved upper bounds of linear functions, rows of a matrix of shape (n_aims, n); shape (n_aims,)."""
        f, j, c = self.feasible, aims.indices, aims.data
        least, most, d = f.least[j], f.most[j], self.d[j]
        before = np.maximum(d * least, d * most)
        after = np.maximum((d + c) * least, (d + c) * most)
        row = np.repeat(np.arange(aims.shape[0]), np.diff(aims.indptr))
        change = np.bincount(row, after - before, aims.shape[0])
        size = np.maximum(np.abs(least), np.abs(most)) * (np.abs(d) + np.abs(c))
        error = 8 * EPSILON * np.bincount(row, size, aims.shape[0]) * (np.diff(aims.indptr) + 1)
        result: FloatArray = self.value + self.error + change + error + EPSILON * (abs(self.value) + np.abs(change))
        return result


# Linear programs of the independent parts of a program: free unknowns, rows, and questions.
#
# Quasi-identifiers that no statement tells apart are pooled: of M people of a class among W, w with a quasi-identifier
# can be any ``max(0, w - (W - M))`` to ``min(w, M)``. Masses that bounds fix are left out, and of two that are left of
# a quasi-identifier with one cell the second is what the first leaves.


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
class PartBounds:
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


def linear_parts(program: Program, merged: Merged, pools: Pools, asked: BoolArray) -> Iterator[PartBounds]:
    """The parts with an open question that closed forms do not answer; ``asked`` is (n_pools, n_classes)."""
    everything, nothing = np.arange(len(program.linear)), np.empty(0, np.int64)
    among = np.asarray(asked.any(axis=1))[merged.owner]
    for part in parts(program, merged, everything, InternalRows(program), nothing, among):
        stated = [program.linear[i] for i in part.linear.tolist()]
        alone = program.single and len({c.region for c in stated}) <= 1 and all(map(is_exact, stated))
        if not alone:
            found = _of_part(program, merged, pools, asked, part)
            if found is not None:
                yield found


def _of_part(program: Program, merged: Merged, pools: Pools, asked: BoolArray, part: Part) -> PartBounds | None:
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
    rounded = CLOSED_EPSILON * (np.diff(all_rows.indptr) + 2) * (abs(all_rows) @ np.abs(constant))
    broken = fractional(lower) | fractional(upper) | fractional(offset)
    rounded = np.where(broken & np.isfinite(rounded), rounded, 0.0)
    lower, upper = lower - offset - rounded, upper - offset + rounded
    inner = sparse.csr_matrix(all_rows @ matrix)
    inner.eliminate_zeros()
    inner, lower, upper = _distinct(inner, lower, upper)
    free = np.flatnonzero(position >= 0)
    feasible = Feasible(inner, lower, upper, least.ravel()[free], most.ravel()[free])
    return PartBounds(feasible, _questions(view, pool, asked, matrix, constant, position, n_classes))


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


# A linear program that HiGHS solves for several objectives, each from the last basis.

# Simplex methods of HiGHS, by their number in its option ``simplex_strategy``.
DUAL, PRIMAL = 1, 4


@dataclass(frozen=True, slots=True, eq=False)
class Vertex:
    """A point, shape (n,), and prices of the rows, shape (n_rows,); no point where there is none."""

    point: FloatArray | None
    prices: FloatArray
    meets: bool = True


class WarmProgram:
    """A linear program over feasible points, by HiGHS' simplex method, without presolve: a basis serves all aims."""

    def __init__(self, feasible: Feasible, clock: Clock) -> None:
        import highspy

        self.feasible = feasible
        self._clock, self._columns = clock, np.arange(len(feasible.least), dtype=np.int32)
        matrix = feasible.matrix.tocsc()
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = matrix.shape[1], matrix.shape[0]
        lp.col_cost_ = np.zeros(matrix.shape[1])
        lp.col_lower_, lp.col_upper_ = feasible.least, feasible.most
        # HiGHS takes no row whose sides cross, be it by rounding; proofs take them as they are.
        lp.row_lower_, lp.row_upper_ = np.sort([feasible.lower, feasible.upper], axis=0)
        lp.sense_ = highspy.ObjSense.kMaximize
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = matrix.indptr, matrix.indices, matrix.data
        self._optimal = highspy.HighsModelStatus.kOptimal
        self._solver = quiet_highs(solver="simplex", presolve="off")
        if clock.runs:
            self._solver.cbSimplexInterrupt += lambda event: event.interrupt(clock.stop() is not None)
        self._solver.passModel(lp)
        self._method = DUAL
        self.solves = 0

    def largest(self, aim: FloatArray) -> Vertex | None:
        """A point where an aim, shape (n,), is largest, and prices that prove it; None when there was no time."""
        self._solver.changeColsCost(len(aim), self._columns, aim)
        return self._solved()

    def add_rows(self, matrix: sparse.csr_matrix, lower: FloatArray) -> None:
        """Further rows ``matrix z >= lower``."""
        old, new = self.feasible, np.full(len(lower), np.inf)
        rows = sparse.csr_matrix(sparse.vstack([old.matrix, matrix]))
        sides = np.append(old.lower, lower), np.append(old.upper, new)
        self.feasible = Feasible(rows, *sides, old.least, old.most)
        start = matrix.indptr[:-1].astype(np.int32)
        self._solver.addRows(len(lower), lower, new, matrix.nnz, start, matrix.indices.astype(np.int32), matrix.data)
        self._method = DUAL

    def _solved(self) -> Vertex | None:
        self._solver.setOptionValue("simplex_strategy", self._method)
        self._solver.run()
        self.solves += 1
        # Now the basis is feasible, and another aim leaves it so: the primal method goes on from it.
        self._method = PRIMAL
        solution = self._solver.getSolution()
        if self._clock.stop() is not None:
            return None
        prices = np.array(solution.row_dual) if solution.dual_valid else np.zeros(self._solver.getNumRow())
        if self._solver.getModelStatus() == self._optimal:
            return Vertex(np.array(solution.col_value), prices)
        ray = self._solver.getDualRay()
        return Vertex(None, -np.array(ray[2]) if ray[1] else prices)


# Finds bounds with few linear programs: each end is settled by a point that reaches it, or by a dual proof.

# Individuals by which a feasible point may miss an end that it shows to be reached: nothing is proved by that.
REACHED = 1e-6
# Share of the open ends that one aim at all of them has to settle, to be worth another one.
WORTHWHILE = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class CertainEnds:
    """How far the individuals of a pool would have to be bounded to tell anything new, shape (n_pools, n_classes)."""

    low: FloatArray
    high: FloatArray

    @staticmethod
    def of(program: Program, bounds: Bounds, questions: BoolArray, pools: Pools) -> CertainEnds:
        """Questions that the open bounds of the quasi-identifiers leave."""
        high, room = np.full(pools.low.shape, -np.inf), np.full(pools.low.shape, -np.inf)
        counts = program.table.counts.astype(np.float64)[:, None]
        np.maximum.at(high, pools.of, np.where(questions, bounds.high, -np.inf))
        np.maximum.at(room, pools.of, np.where(questions, counts - bounds.low, -np.inf))
        return CertainEnds(pools.people[:, None] - room, high)


@dataclass(eq=False)
class BoundSearch:
    """The search for the ends of some questions: what is proved of them, and how far feasible points have come."""

    asked: Questions
    pools: Pools
    ends: CertainEnds
    clock: Clock
    _rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def __post_init__(self) -> None:
        asked = self.asked
        at = asked.pool, asked.klass
        self._at = at
        self._aims, self._below = asked.aims, sparse.csr_matrix(-asked.aims)
        self._need = np.stack([self.ends.low[at], self.ends.high[at]])
        self._seen = np.stack([np.full(len(asked.pool), np.inf), np.full(len(asked.pool), -np.inf)])
        self._final = np.zeros((2, len(asked.pool)), bool)
        self._unanswered = self._final.copy()

    @property
    def ended(self) -> bool:
        """Whether the solver gave no answer for an end, and nothing else settled it."""
        low, high = self.pools.low[self._at], self.pools.high[self._at]
        return bool((self._unanswered & (low < high)).any())

    @property
    def _open(self) -> BoolArray:
        """Ends, lower and upper ones, that neither a point nor prices have settled, shape (2, n_questions)."""
        reached = np.stack([self._seen[0] <= self._need[0] + REACHED, self._seen[1] >= self._need[1] - REACHED])
        low, high = self.pools.low[self._at], self.pools.high[self._at]
        told = np.stack([self._seen[0] <= low + REACHED, self._seen[1] >= high - REACHED])
        result: BoolArray = ~(reached | told | self._final)
        return result

    def open_pools(self) -> BoolArray:
        """Questions with an end that was not settled for want of time, shape (n_questions,)."""
        result: BoolArray = np.asarray(self._open.any(axis=0))
        return result

    def run(self, program: WarmProgram) -> bool:
        """Settle the ends until the clock stops; whether there can be any feasible point."""
        begin, before = time.perf_counter(), program.solves
        if program.feasible.crossed or not self._together(program):
            return False
        number, each = int(self._open.sum()), (time.perf_counter() - begin) / max(program.solves - before, 1)
        what = f"{number:,} ends of bounds may need a linear program each"
        foretell(number * each, what, "a lower level takes less", self.clock)
        while self.clock.stop() is None and (ends := self._open).any():
            side, which = (int(i) for i in np.argwhere(ends)[0])
            aim = (self._below, self._aims)[side][which].toarray().ravel()
            vertex = program.largest(aim)
            if vertex is None:
                break
            if vertex.point is None:
                if not self._possible(program, vertex):
                    return False
                self._unanswered[side, which] = True
            self._final[side, which] = True
            self._learn(program.feasible, vertex)
        return True

    def _together(self, program: WarmProgram) -> bool:
        """Aim at all open ends together, while that settles many of them."""
        while (number := (ends := self._open).sum()) and self.clock.stop() is None:
            up = np.where(ends.all(axis=0), self._rng.random(ends.shape[1]) < 0.5, ends[1])
            weight = np.where(ends.any(axis=0), np.where(up, 1.0, -1.0), 0.0) * self._rng.uniform(0.5, 1.0, len(up))
            vertex = program.largest(np.asarray(self._aims.T @ weight))
            if vertex is None:
                return True
            if vertex.point is None:
                return self._possible(program, vertex)
            self._learn(program.feasible, vertex)
            if number - self._open.sum() < max(1.0, WORTHWHILE * number):
                return True
        return True

    def _possible(self, program: WarmProgram, vertex: Vertex) -> bool:
        """Whether there can be a point, though the solver found none: its prices may prove that there is none."""
        return not any(program.feasible.priced(sign * vertex.prices).contradiction for sign in (1.0, -1.0))

    def _learn(self, feasible: Feasible, vertex: Vertex) -> None:
        """Updates all questions with the point and the dual bounds of a solve."""
        if vertex.point is not None and vertex.meets:
            value = self._aims @ vertex.point + self.asked.constant
            self._seen[0], self._seen[1] = np.minimum(self._seen[0], value), np.maximum(self._seen[1], value)
        self._prove(feasible.priced(vertex.prices))

    def _prove(self, priced: PricedPart) -> None:
        constant, low, high = self.asked.constant, self.pools.low, self.pools.high
        high[self._at] = np.minimum(high[self._at], whole(priced.of(self._aims) + constant))
        low[self._at] = np.maximum(low[self._at], whole(constant - priced.of(self._below)))


def tighten(program: Program, bounds: Bounds, questions: BoolArray, clock: Clock) -> Bounds:
    """The level ``linear``: the best bounds that follow from all linear statements together."""
    plain = replace(program, internal=())
    merged, pools = pooled(plain, InternalRows(plain), np.empty(0, np.int64), bounds)
    asked = pools.asked(questions)
    ends, late, ended = CertainEnds.of(program, bounds, questions, pools), np.zeros(asked.shape, bool), False
    for part in linear_parts(plain, merged, pools, asked):
        search = BoundSearch(part.questions, pools, ends, clock)
        if clock.stop() is None and not search.run(WarmProgram(part.feasible, clock)):
            return contradicted(bounds, questions)
        late[part.questions.pool] |= asked[part.questions.pool] & search.open_pools()[:, None]
        ended |= search.ended
    return answered(program, replace(bounds, ended=bounds.ended or ended), questions, pools, late)


def contradicted(bounds: Bounds, questions: BoolArray) -> Bounds:
    """Bounds that nobody can be in."""
    return replace(bounds, high=np.where(questions, -1.0, bounds.high))


def answered(program: Program, bounds: Bounds, questions: BoolArray, pools: Pools, late: BoolArray) -> Bounds:
    """Bounds of quasi-identifiers from those of their pools; ``late`` pairs, (n_pools, n_classes), were not asked."""

    def narrowed(found: Bounds, low: FloatArray, high: FloatArray) -> Bounds:
        return found.narrowed(np.where(questions, low, -np.inf), np.where(questions, high, np.inf))

    found = narrowed(bounds, *pools.shared(program.table.counts.astype(np.float64)))
    found = narrowed(found, *left_by_others(program, found))
    return replace(found, unasked=bounds.unasked | (late[pools.of] & questions & found.open))
