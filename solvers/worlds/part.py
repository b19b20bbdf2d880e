"""Independent integer problems of a program: people of each class in each group, with exact rows and comparisons.

Quasi-identifiers that no statement tells apart are pooled first (`maxent.constraints.presolve.merge`): a pooled whole
number can be handed out to the members in any way, so nothing is lost. A member q of a pooled quasi-identifier with W
people, M of them of a class, has between ``max(0, M - (W - w_q))`` and ``min(w_q, M)`` of that class.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
from scipy import sparse

from maxent.constraints.presolve.merge import Merged, Part, known_totals, merge, needed, parts
from maxent.constraints.presolve.parts import PartRows, PartView, part_rows
from maxent.constraints.program.program import Internal, Program
from maxent.constraints.program.residuals import InternalRows, LinearRows
from maxent.models.arrays import BoolArray, FloatArray, IntArray, ranges

# Linear statements over integers: integer coefficients and bounds, never tighter than stated.
#
# A row ``lower <= sum c_j m_j <= upper`` is multiplied by a whole number D, and each ``c_j D`` is rounded to ``a_j``.
# What rounding can change, ``sum |a_j - c_j D| m_j``, is at most the largest difference times the people of the row,
# and the bounds are moved outward by it. Shares such as 1/3 are read as the fractions that they are, and lose nothing.

# By how much of its people a row may be missed: the truth satisfies what is compiled to this, see the residuals.
MISSED = 1e-9
# Fractions up to this denominator are recognised; a row's common one is at most its square.
DENOMINATOR = 10_000
# Of a row's left side, so that sums of a few such stay far from the end of 64 bits.
LARGEST = 2.0**45


@dataclass(frozen=True, slots=True, eq=False)
class WholeRows:
    """``lower <= matrix @ m <= upper``, integers; unknowns are ``group * n_classes + class``.

    ``matrix`` has shape (n_rows, n_groups * n_classes); the bounds lie within what the row can reach. ``left_out`` are
    rows whose numbers are too large.
    """

    matrix: sparse.csr_matrix
    lower: IntArray
    upper: IntArray
    left_out: int = 0

    def __len__(self) -> int:
        return len(self.lower)

    def hold(self, masses: IntArray) -> bool:
        """Whether some masses, shape (n_groups, n_classes), satisfy every row."""
        value = self.matrix @ masses.ravel()
        return bool(((self.lower <= value) & (value <= self.upper)).all())


@cache
def scaled(coef: tuple[float, ...], people: float) -> tuple[tuple[int, ...], int, float] | None:
    """Integers, what the coefficients were multiplied by, and the largest rounding; None where they are too large."""
    largest = max(1.0, *map(abs, coef))
    near = [Fraction(c).limit_denominator(DENOMINATOR) for c in coef]
    if all(abs(float(f) - c) <= 1e-13 * largest for f, c in zip(near, coef, strict=True)):
        by = math.lcm(*(f.denominator for f in near))
        if by <= DENOMINATOR**2 and largest * by * people < LARGEST:
            return _rounded(coef, by)
    power = math.floor(math.log2(LARGEST / (largest * max(people, 1.0))))
    return None if power < 0 else _rounded(coef, 2**power)


def _rounded(coef: tuple[float, ...], by: int) -> tuple[tuple[int, ...], int, float]:
    exact = [Fraction(c) * by for c in coef]
    whole = tuple(round(e) for e in exact)
    return whole, by, max(float(abs(e - w)) for e, w in zip(exact, whole, strict=True))


def whole_rows(stated: PartRows, people: FloatArray, weight: IntArray, n_classes: int) -> WholeRows:
    """The linear statements of a part over whole numbers, by people of regions and weights of groups."""
    table, inside = stated.table, stated.inside
    row: list[IntArray] = []
    unknown: list[IntArray] = []
    value: list[IntArray] = []
    bounds: list[tuple[float, float]] = []
    left_out = 0
    for r, region in enumerate(stated.region.tolist()):
        entries = slice(int(table.ends[r]), int(table.ends[r + 1]))
        klass, each = table.klass[entries], table.coef[entries]
        over = stated.over[entries]  # of each coefficient the groups, and the factors that these have
        size = inside.indptr[over + 1] - inside.indptr[over]
        at = ranges(inside.indptr[over], inside.indptr[over + 1])
        coef, which = np.unique(np.repeat(each, size) * inside.data[at], return_inverse=True)
        found = scaled(tuple(coef.tolist()), float(people[region])) if len(coef) else None
        if found is None:
            left_out += 1
            continue
        whole, by, rounding = found
        row.append(np.full(len(at), len(bounds)))
        unknown.append(inside.indices[at].astype(np.int64) * n_classes + np.repeat(klass, size))
        value.append(np.array(whole, np.int64)[which.ravel()])
        missed = max(float(people[region]), 1.0) * (rounding + MISSED * by)
        bounds.append((float(table.lower[r]) * by - missed, float(table.upper[r]) * by + missed))
    nothing = np.empty(0, np.int64)
    matrix = sparse.csr_matrix(
        (np.concatenate([nothing, *value]), (np.concatenate([nothing, *row]), np.concatenate([nothing, *unknown]))),
        shape=(len(bounds), len(weight) * n_classes),
        dtype=np.int64,
    )
    most = np.repeat(weight, n_classes)
    least_reached, most_reached = matrix.minimum(0) @ most, matrix.maximum(0) @ most
    low, high = np.array(bounds, np.float64).reshape(-1, 2).T
    lower = np.ceil(np.clip(low, least_reached, most_reached + 1.0)).astype(np.int64)
    upper = np.floor(np.clip(high, least_reached - 1.0, most_reached)).astype(np.int64)
    return WholeRows(matrix, lower, upper, left_out)


# Comparisons of splits over whole numbers: class totals of branches, and sums of functions of these.
#
# ``E_T <= E_U`` reads ``sum_T phi - sum_U phi >= 0`` (`maxent.constraints.program.impurity`): a sum of terms, each a
# factor times ``a^2 / W`` (Gini), ``a ln a`` or ``-W ln W`` (entropy and gain ratio), with a the people of a class in a
# branch and W all of its people. For the gain ratio each side is divided by its split information, which the sizes of
# the branches tell.

# Impurities that are closer may have been compared either way: inducers compare what they computed with rounding.
TIED = 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class BranchTotals:
    """People who go one way: the groups of a part, and how many they are, None where private attributes decide that."""

    groups: IntArray
    size: int | None
    most: int


@dataclass(frozen=True, slots=True, eq=False)
class SplitComparison:
    """One comparison that a chosen split won; ``strict`` where a tie would have gone to the candidate."""

    measure: str
    chosen: tuple[BranchTotals, ...]
    candidate: tuple[BranchTotals, ...]
    node: BranchTotals
    strict: bool

    @property
    def branches(self) -> tuple[BranchTotals, ...]:
        return (*self.chosen, *self.candidate, self.node)

    def advantage(self, totals: list[FloatArray]) -> float:
        """``E_U - E_T`` from the class totals of `branches`, or the chosen ratio minus the candidate's."""
        chosen, rest = totals[: len(self.chosen)], totals[len(self.chosen) : -1]
        node = totals[-1]
        n = max(float(node.sum()), 1.0)
        t, u = (sum(_phi(self.measure, a) for a in sides) for sides in (chosen, rest))
        if self.measure != "gain_ratio":
            return (t - u) / n
        whole = _phi(self.measure, node)
        split = [_plogp(np.array([a.sum() for a in sides])) for sides in (chosen, rest)]
        undivided = _plogp(np.array([node.sum()]))
        return (t - whole) / (undivided - split[0]) - (u - whole) / (undivided - split[1])

    def holds(self, totals: list[FloatArray]) -> bool:
        """Whether the comparison is won, ties as `strict` has them."""
        advantage = self.advantage(totals)
        return advantage > TIED if self.strict and tells_ties(self) else advantage >= -TIED


def tells_ties(comparison: SplitComparison) -> bool:
    """Whether an exact tie can be told from what rounding makes of a difference: Gini, few people."""
    scale = gini_scale(comparison)
    return scale is not None and TIED * scale * comparison.node.most < 0.5


def gini_scale(comparison: SplitComparison) -> int | None:
    """What makes the comparison one of integers, the least common multiple of all sizes; None where there is none."""
    if comparison.measure != "gini":
        return None
    sizes = [branch.size for branch in (*comparison.chosen, *comparison.candidate)]
    if any(size is None for size in sizes):
        return None
    scale = math.lcm(*(size for size in sizes if size))
    return scale if scale * comparison.node.most < 2**50 else None


def _plogp(a: FloatArray) -> float:
    a = a[a > 0]
    return float((a * np.log(a)).sum())


def _phi(measure: str, a: FloatArray) -> float:
    size = float(a.sum())
    if not size:
        return 0.0
    return float((a * a).sum()) / size if measure == "gini" else _plogp(a) - size * math.log(size)


def comparisons_of(program: Program, view: PartView, rows: InternalRows) -> list[SplitComparison]:
    """The comparisons of a part; ``rows`` are all of the program's."""
    order = {attribute.name: i for i, attribute in enumerate(program.release.attributes)}
    known: dict[bytes, BranchTotals] = {}

    def branch(cells: IntArray) -> BranchTotals:
        groups = np.searchsorted(view.part.groups, np.unique(view.merged.group[cells]))
        key = groups.tobytes()
        if key not in known:
            size = view.size(groups)
            known[key] = BranchTotals(groups, None if size is None else round(size), round(view.people(groups)))
        return known[key]

    found = []
    which = rows.constraint_of(view.part.internal)
    for row, k in zip(view.part.internal.tolist(), which.tolist(), strict=True):
        internal = program.internal[k]
        held = program.cells.trees[internal.tree]
        children = held.places.children[internal.place]
        chosen = tuple(branch(held.at(child)) for child in children if held.stop[child] > held.start[child])
        code = int(internal.codes[row - rows.first_row[k]])
        candidate = tuple(branch(cells) for cells in _sides(program, internal, code))
        strict = program.ties == "first" and order[internal.candidate] < order[internal.chosen]
        found.append(SplitComparison(internal.measure, chosen, candidate, branch(held.at(internal.place)), strict))
    return found


def _sides(program: Program, internal: Internal, code: int) -> list[IntArray]:
    """The cells of each branch that a candidate would have had."""
    cells = program.cells.trees[internal.tree].at(internal.place)
    codes = program.table.codes[program.cells.owner[cells], internal.column]
    if internal.form == "values":
        return [cells[codes == value] for value in np.unique(codes).tolist()]
    left = codes <= code if internal.form == "cuts" else codes == code
    return [cells[left], cells[~left]]


# Cells times classes that comparisons look at, the smallest nodes first; the rest is left out.
AFFORDABLE = 300_000
# The same where time is left when all that these tell is known.
COMPLETE = 3_000_000


@dataclass(frozen=True, slots=True, eq=False)
class WholePart:
    """A part of a program over whole numbers; unknowns are the masses of its groups, shape (n_groups, n_classes).

    ``groups``, shape (n_groups,), numbers in the `Merged`. ``owner``, shape (n_groups,), the part's pooled
    quasi-identifiers. ``owners``, shape (n_owners,), their numbers in the `Merged`; ``weight`` are the individuals of
    each. ``copies``, shape (n_groups,), cells of the group that one member has.
    """

    groups: IntArray
    owner: IntArray
    owners: IntArray
    weight: IntArray
    copies: IntArray
    n_classes: int
    rows: WholeRows
    comparisons: tuple[SplitComparison, ...]

    @property
    def integral(self) -> bool:
        """Whether linear bounds are those of whole people: nothing is stated but class totals of the whole part.

        That is a problem of transportation, whose vertices are whole (Dantzig 1951).
        """
        matrix, n_groups = self.rows.matrix, len(self.owner)
        if self.comparisons or len(self.owners) < n_groups or (np.diff(matrix.indptr) != n_groups).any():
            return False
        klass = (matrix.indices % self.n_classes).reshape(-1, n_groups)
        return bool((klass == klass[:, :1]).all() and (matrix.data == 1).all())

    def totals(self, masses: IntArray) -> IntArray:
        """Individuals of each class in each pooled quasi-identifier, shape (n_owners, n_classes)."""
        total = np.zeros((len(self.owners), self.n_classes), np.int64)
        np.add.at(total, self.owner, masses)
        return total

    def holds(self, masses: IntArray) -> bool:
        """Whether some masses are a world: whole, complete, and consistent with every statement of the part."""
        complete = (masses >= 0).all() and np.array_equal(self.totals(masses).sum(axis=1), self.weight)
        return bool(complete and self.rows.hold(masses) and all(self.won(c, masses) for c in self.comparisons))

    def won(self, comparison: SplitComparison, masses: IntArray) -> bool:
        """Whether the chosen split has won a comparison."""
        return comparison.holds([masses[b.groups].sum(axis=0).astype(np.float64) for b in comparison.branches])


@dataclass(frozen=True, slots=True, eq=False)
class WholeProgram:
    """All parts; ``left_out`` comparisons are in none, as they look at too many people: proofs without them hold."""

    program: Program
    rows: InternalRows
    merged: Merged
    like: IntArray
    pieces: tuple[Part, ...]
    left_out: int

    def part(self, number: int) -> WholePart:
        """A part with its statements over whole numbers."""
        program, merged, piece = self.program, self.merged, self.pieces[number]
        view = PartView(program, merged, piece)
        statements = part_rows(view)
        ends = statements.inside.indptr.tolist()
        people = [view.people(statements.inside.indices[start:stop]) for start, stop in pairwise(ends)]
        members = np.bincount(self.like, minlength=len(merged.weight))
        cells = np.bincount(merged.group, minlength=len(merged.owner))[piece.groups]
        return WholePart(
            piece.groups,
            view.owner,
            np.unique(merged.owner[piece.groups]),
            np.rint(view.owner_weight).astype(np.int64),
            cells // members[merged.owner[piece.groups]],
            program.n_classes,
            whole_rows(statements, np.array(people), np.rint(view.weight).astype(np.int64), program.n_classes),
            tuple(comparisons_of(program, view, self.rows)),
        )

    def asked(self, questions: BoolArray) -> IntArray:
        """The parts with a quasi-identifier that ``questions``, shape (n_quasi_identifiers,), marks."""
        wanted = np.zeros(len(self.merged.weight), bool)
        wanted[self.like[questions]] = True
        found = [i for i, piece in enumerate(self.pieces) if wanted[self.merged.owner[piece.groups]].any()]
        return np.array(found, np.int64)


def whole_program(program: Program, most: int | None = None) -> WholeProgram:
    """The parts of a program over whole numbers; ``most`` limits what comparisons look at, by default `AFFORDABLE`."""
    rows = InternalRows(program)
    active = affordable(program, rows, most)
    merged = merge(program, rows, active)
    stated = needed(program, known_totals(program), LinearRows(program))
    like = np.empty(len(program.table), np.int64)
    like[program.cells.owner] = merged.owner[merged.group]
    pieces = parts(program, merged, stated, rows, active, np.ones(len(merged.owner), bool))
    return WholeProgram(program, rows, merged, like, tuple(pieces), rows.n_rows - len(active))


def affordable(program: Program, rows: InternalRows, most: int | None = None) -> IntArray:
    """Rows of the comparisons that are looked at, as far as they are cheap together: smallest nodes first."""
    constraint, cost = _costs(program, rows)
    most = AFFORDABLE if most is None else most
    if cost.sum() <= most:
        return np.arange(rows.n_rows)
    apart = [_apart(program, internal) for internal in program.internal]
    other = np.array([internal.candidate != internal.chosen for internal in program.internal], bool)
    order = np.lexsort((np.concatenate(apart), other[constraint], cost))
    return np.sort(order[np.cumsum(cost[order]) <= most])


def completed(program: Program, rows: InternalRows) -> bool:
    """Whether all comparisons are few enough to be looked at where there is time."""
    return bool(_costs(program, rows)[1].sum() <= COMPLETE)


def _costs(program: Program, rows: InternalRows) -> tuple[IntArray, IntArray]:
    """The comparison of each row, and the cells times classes that it looks at, shape (n_rows,)."""
    constraint = rows.constraint_of(np.arange(rows.n_rows))
    held = [program.cells.trees[c.tree] for c in program.internal]
    cells = np.array(
        [h.stop[c.place] - h.start[c.place] for h, c in zip(held, program.internal, strict=True)], np.int64
    )
    return constraint, cells[constraint] * program.n_classes


def _apart(program: Program, internal: Internal) -> IntArray:
    """By how many cells the first branch of each candidate is larger or smaller than that of the chosen split."""
    held = program.cells.trees[internal.tree]
    cells, first = held.at(internal.place), held.places.children[internal.place][0]
    codes = np.sort(program.table.codes[program.cells.owner[cells], internal.column])
    below = np.searchsorted(codes, internal.codes, side="right")
    if internal.form != "cuts":
        below = below - np.searchsorted(codes, internal.codes, side="left")
    return np.asarray(np.abs(below - (held.stop[first] - held.start[first])), np.int64)
