"""Independent parts of a program: their linear rows, with bounds and repeated rows simplified, and closed forms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import sparse

from maxent.constraints.presolve.merge import EXACT, Merged, Part, placed, spans_of
from maxent.constraints.program.program import Linear, Program, StatementRows
from maxent.models.arrays import BoolArray, FloatArray, IntArray, ranges, run_ends
from maxent.models.errors import Origin


def add_up(label: IntArray, amount: FloatArray, n: int) -> FloatArray:
    """Sums of the amounts of each label, shape (n,)."""
    return np.bincount(label, amount, n).astype(np.float64)


class PartView:
    """The groups of a part, their places in the trees, and bounds on every mass.

    ``owner``, shape (n_groups,), the part's pooled quasi-identifiers; ``owner_weight`` and ``whole`` are the
    individuals: and the number of groups of each, ``weight`` the individuals of each group's. ``lower``, ``upper``,
    shape (n_groups, n_classes), individuals; presolve tightens them.
    """

    def __init__(self, program: Program, merged: Merged, part: Part) -> None:
        self.program, self.merged, self.part = program, merged, part
        cells = merged.cell[part.groups]
        self.trees = placed(program.cells, cells)
        self._table_row = program.cells.owner[cells]
        owners, owner = np.unique(merged.owner[part.groups], return_inverse=True)
        self.owner: IntArray = owner.astype(np.int64)
        self.owner_weight = merged.weight[owners]
        self.weight = self.owner_weight[self.owner]
        self.whole = np.bincount(self.owner, minlength=len(owners))
        self._single = len(owners) == len(part.groups)
        self.lower = np.zeros((len(part.groups), program.n_classes))
        self.upper = np.repeat(self.weight[:, None], program.n_classes, axis=1)

    def codes(self, groups: IntArray, column: int) -> IntArray:
        """Codes of a public attribute of some groups, which their quasi-identifiers share as far as it matters."""
        result: IntArray = self.program.table.codes[self._table_row[groups], column]
        return result

    def people(self, groups: IntArray) -> float:
        """Individuals whose quasi-identifier can be in some groups."""
        return float(self.owner_weight[np.unique(self.owner[groups])].sum())

    def size(self, groups: IntArray) -> float | None:
        """Individuals in some groups, None when their quasi-identifiers also have cells elsewhere."""
        if self._single:
            return float(self.weight[groups].sum())
        owners, inside = np.unique(self.owner[groups], return_counts=True)
        return None if (inside < self.whole[owners]).any() else float(self.owner_weight[owners].sum())

    def sizes(self, inside: sparse.csr_matrix) -> FloatArray:
        """`size` of the groups in each row of a matrix, NaN where it is None."""
        if self._single:
            return np.asarray(inside @ self.weight)
        found = (self.size(inside.indices[start:stop]) for start, stop in pairwise(inside.indptr.tolist()))
        return np.array([np.nan if size is None else size for size in found], np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class PartRows:
    """The linear statements about a part: row r is about the groups of the set ``region[r]``.

    ``inside`` has shape (n_sets, n_groups): first 0/1, with no two rows alike, then the factors of groups in rows that
    weigh cells. ``row_of`` is the row of each coefficient, and ``over`` the row of ``inside`` that it is of.
    """

    table: StatementRows
    region: IntArray
    inside: sparse.csr_matrix
    row_of: IntArray
    over: IntArray

    def __len__(self) -> int:
        return len(self.region)

    def take(self, rows: IntArray) -> PartRows:
        """Some of the rows, over the same regions."""
        over = self.over[ranges(self.table.ends[rows], self.table.ends[rows + 1])]
        return _part_rows(self.table.take(rows), self.region[rows], self.inside, over)

    def reach(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest left side of each row, from those of each set's classes (n_sets, n_classes)."""
        coef, klass, over = self.table.coef, self.table.klass, self.over
        one, other = coef * low[over, klass], coef * high[over, klass]
        least, most = np.minimum(one, other), np.maximum(one, other)
        return add_up(self.row_of, least, len(self)), add_up(self.row_of, most, len(self))


def part_rows(view: PartView) -> PartRows:
    """Every row of the part's linear constraints."""
    program = view.program
    constraints = [program.linear[i] for i in view.part.linear.tolist()]
    table = program.rows_of(view.part.linear)
    number: dict[bytes, int] = {}
    sets: list[IntArray] = []
    of_region: dict[int, int] = {}
    regions = list(dict.fromkeys(constraint.region for constraint in constraints))
    for region, groups in zip(regions, _region_groups(view, regions), strict=True):
        of_region[region] = number.setdefault(groups.tobytes(), len(sets))
        if of_region[region] == len(sets):
            sets.append(groups)
    region_of = np.array([of_region[constraint.region] for constraint in constraints], np.int64)[table.of]
    row_of = np.repeat(np.arange(len(table)), np.diff(table.ends))
    over, factors = region_of[row_of], [np.ones(len(groups)) for groups in sets]
    for entry in np.flatnonzero(table.weighted[row_of]).tolist():
        groups, constraint = sets[over[entry]], constraints[table.of[row_of[entry]]]
        over[entry] = len(sets)
        sets.append(groups)
        factors.append(_factors(view, constraint, int(table.klass[entry]), groups))
    ends = run_ends(np.array([len(groups) for groups in sets], np.int64))
    indices = np.concatenate([np.empty(0, np.int64), *sets])
    data = np.concatenate([np.empty(0), *factors])
    inside = sparse.csr_matrix((data, indices, ends), shape=(len(sets), len(view.owner)))
    return _part_rows(table, region_of, inside, over)


def _part_rows(table: StatementRows, region: IntArray, inside: sparse.csr_matrix, over: IntArray) -> PartRows:
    return PartRows(table, region, inside, np.repeat(np.arange(len(region)), np.diff(table.ends)), over)


def _factors(view: PartView, constraint: Linear, klass: int, groups: IntArray) -> FloatArray:
    """The factors that a constraint has for some groups of its region, whose cells all have the same."""
    assert constraint.weights is not None
    of_cell = np.zeros(len(view.program.cells))
    of_cell[view.program.regions[constraint.region]] = constraint.weights[:, klass]
    result: FloatArray = of_cell[view.merged.cell[view.part.groups[groups]]]
    return result


def _region_groups(view: PartView, regions: list[int]) -> list[IntArray]:
    """The part's groups in some regions of the program, increasing."""
    places = [view.program.regions.places[region] for region in regions]
    spans = zip(*spans_of(view.trees, [place for place in places if place is not None]), strict=True)
    found = []
    for region, place in zip(regions, places, strict=True):
        if place is None:
            found.append(np.searchsorted(view.part.groups, view.merged.inside(view.program.regions[region])))
        else:
            tree, low, high = next(spans)
            found.append(view.trees[tree].at(low, high))
    return found


# Finds rows that equations imply: interior-point methods need independent equations and inequalities with slack.

# Rows up to which a dense factorisation is quick; where more are left for it, all of them are kept.
MOST = 600
# Entries from which on an inequality with weights is not asked about.
MANY = 50_000
# Rounds of elimination; each looks at all rows that are left.
ROUNDS = 30
# Share of a row, and of its right side, that is rounding.
DEPENDENT = 1e-9


def independent_rows(
    matrix: sparse.csr_matrix, lower: FloatArray, upper: FloatArray, check: Callable[[], None] = lambda: None
) -> IntArray:
    """Rows of ``lower <= matrix z <= upper`` that say everything, without those whose value the equations fix.

    Equations with a variable of their own are taken out one after the other, and only what is left is factorised.
    """
    weighed = _weighed(matrix) & (lower < upper)
    matrix = _clean(sparse.csr_matrix(sparse.diags_array((~weighed).astype(float)) @ matrix))
    left = (lower == upper) & (np.diff(matrix.indptr) > 0)  # equations that are still in question
    asked, value = ~(left | weighed), np.zeros(len(lower))  # rows they may imply: matrix @ z + value, less those out
    for _ in range(ROUNDS):
        check()
        row, column = _row_of(matrix), matrix.indices
        often = np.bincount(column[left[row]], minlength=matrix.shape[1])
        asked[row[often[column] == 0]] = False
        own = left[row] & (often[column] == 1)
        if not own.any():
            break
        left[row[own]] = False
        if asked.any():
            factor = _row_factors(matrix, own, asked)
            value += factor @ np.where(lower == upper, lower, 0.0)
            matrix = _clean(matrix - factor @ matrix)
    done = np.flatnonzero(asked & (np.diff(matrix.indptr) == 0))
    asked[done] = False
    told = done[_agrees(value[done], lower[done], upper[done])]
    equations, others = np.flatnonzero(left), np.flatnonzero(asked)
    if len(equations) and len(equations) + len(others) <= MOST:
        rows = np.concatenate([equations, others])
        dense = matrix[rows][:, np.unique(matrix[rows].indices)].toarray()
        implied, more = _implied(dense, lower[equations])
        rows, more = rows[implied], value[rows[implied]] + more
        told = np.concatenate([told, rows[_agrees(more, lower[rows], upper[rows])]])
    return np.setdiff1d(np.arange(len(lower)), told)


def _weighed(matrix: sparse.csr_matrix) -> BoolArray:
    """Rows with weights of several sizes about very many: inequalities of them are kept unasked."""
    found: BoolArray = np.diff(matrix.indptr) > MANY
    for row in np.flatnonzero(found).tolist():
        size = np.abs(matrix.data[matrix.indptr[row] : matrix.indptr[row + 1]])
        found[row] = size.min() < size.max()
    return found


def _clean(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    """Sort and add up the entries of a matrix, and drop rounding errors, in place."""
    matrix.sum_duplicates()
    matrix.data[np.abs(matrix.data) <= DEPENDENT] = 0.0
    matrix.eliminate_zeros()
    return matrix


def _row_of(matrix: sparse.csr_matrix) -> IntArray:
    """The row of every entry."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def _row_factors(matrix: sparse.csr_matrix, own: BoolArray, asked: BoolArray) -> sparse.csr_matrix:
    """Coefficients of the equations in each row that is asked about, shape (n_rows, n_rows)."""
    # ``own`` marks the entries of equations in variables that no other equation has. Over these, a row that the
    # equations imply is a multiple of the equation; a row that is not one is no longer asked about.
    row, column, n = _row_of(matrix), matrix.indices, matrix.shape[0]
    equation, coef = np.full(matrix.shape[1], -1, np.int64), np.ones(matrix.shape[1])
    equation[column[own]], coef[column[own]] = row[own], matrix.data[own]
    entry = np.flatnonzero(asked[row] & (equation[column] >= 0))
    key = row[entry] * n + equation[column[entry]]
    order = np.argsort(key, kind="stable")
    ratio = (matrix.data[entry] / coef[column[entry]])[order]
    pair, first, count = np.unique(key[order], return_index=True, return_counts=True)
    if not len(pair):
        return sparse.csr_matrix((n, n))
    least, most = np.minimum.reduceat(ratio, first), np.maximum.reduceat(ratio, first)
    same = most - least <= DEPENDENT * np.maximum(1.0, np.abs(most))
    complete = count == np.bincount(row[own], minlength=n)[pair % n]
    asked[pair[~(same & complete)] // n] = False
    used = asked[pair // n]
    return sparse.csr_matrix((least[used], (pair[used] // n, pair[used] % n)), shape=(n, n))


def _agrees(value: FloatArray, lower: FloatArray, upper: FloatArray) -> BoolArray:
    slack = DEPENDENT * np.maximum(1.0, np.abs(value))
    result: BoolArray = (value >= lower - slack) & (value <= upper + slack)
    return result


def _implied(rows: FloatArray, right: FloatArray) -> tuple[IntArray, FloatArray]:
    """Mask of the rows that the equations imply, the first rows with these right sides, and the implied values."""
    # Of the equations themselves, as many count as implied as the others imply; a QR factorisation with pivoting
    # chooses.
    from scipy.linalg import qr, solve_triangular

    n = len(right)
    basis, factor, order = qr(rows[:n].T, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(factor))
    rank = int((diagonal > DEPENDENT * max(diagonal[0], 1.0)).sum())
    tested = np.concatenate([order[rank:], np.arange(n, len(rows))])
    along = rows[tested] @ basis[:, :rank]
    beside = np.linalg.norm(rows[tested] - along @ basis[:, :rank].T, axis=1)
    implied = beside <= DEPENDENT * np.maximum(np.linalg.norm(rows[tested], axis=1), 1.0)
    value = solve_triangular(factor[:rank, :rank], along[implied].T).T @ right[order[:rank]]
    return tested[implied], value


# Bounds on single masses from the linear statements of a part, and statements that follow from bounds.

# Bounds closer than this share of the quasi-identifier's individuals are one value.
FIXED = 1e-12
# Masses in the rows that are looked at together, about.
AT_A_TIME = 100_000
# Rounds of propagation; more would follow sequences of bounds that only converge.
PASSES = 8


def tighten(view: PartView, rows: PartRows) -> None:
    """Tighten bounds on single masses as the quasi-identifiers' totals and single statements imply."""
    one = rows.take(np.flatnonzero(rows.table.alone >= 0))
    several = rows.take(np.flatnonzero(rows.table.alone < 0))
    for _ in range(PASSES):
        before = view.lower.sum(), view.upper.sum()
        _by_totals(view)
        _by_classes(view, one)
        _by_extremes(view, several)
        if before == (view.lower.sum(), view.upper.sum()):
            return


def _by_totals(view: PartView) -> None:
    """Bounds of each mass of a quasi-identifier from its individuals and the bounds of the other masses."""
    low, high = _owner_sums(view)
    total = view.owner_weight
    spare_low, spare_high, slack = np.stack([total - low, total - high, FIXED * np.maximum(1.0, total)])[:, view.owner]
    view.lower, view.upper = _bounded(view.lower, view.upper, spare_low[:, None], spare_high[:, None], slack[:, None])


def _by_classes(view: PartView, rows: PartRows) -> None:
    """Bounds of each mass of a class in a region from the class total and the bounds of the other masses."""
    table, n_classes = rows.table, view.lower.shape[1]
    start, stop = rows.inside.indptr[rows.region], rows.inside.indptr[rows.region + 1]
    about = np.flatnonzero(stop > start)
    before_lower, before_upper = view.lower.ravel(), view.upper.ravel()
    lower, upper = before_lower.copy(), before_upper.copy()
    # All rows see the bounds before: a few at a time only keep the arrays of their masses small.
    ends = np.cumsum((stop - start)[about])
    for some in np.split(about, np.searchsorted(ends, np.arange(AT_A_TIME, ends[-1] if len(ends) else 0, AT_A_TIME))):
        if not len(some):
            continue
        length = stop[some] - start[some]
        often = np.repeat(np.arange(len(some)), length)
        at = rows.inside.indices[ranges(start[some], stop[some])].astype(np.int64) * n_classes
        at += table.alone[some][often]
        low, high = before_lower[at], before_upper[at]
        first = np.cumsum(length) - length
        spare_low = table.upper[some] - np.add.reduceat(low, first)
        spare_high = table.lower[some] - np.add.reduceat(high, first)
        slack = FIXED * np.maximum(1.0, np.where(np.isfinite(table.lower[some]), np.abs(table.lower[some]), 1.0))
        new_lower, new_upper = _bounded(low, high, spare_low[often], spare_high[often], slack[often])
        np.minimum.at(upper, at, new_upper)
        np.maximum.at(lower, at, new_lower)
    view.lower, view.upper = np.minimum(lower, upper).reshape(view.lower.shape), upper.reshape(view.upper.shape)


def _bounded(
    low: FloatArray, high: FloatArray, spare_low: FloatArray, spare_high: FloatArray, slack: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Bounds of the terms of a sum: they may rise by ``spare_low`` together, and have to fall by ``-spare_high``."""
    new_high = np.minimum(high, low + np.maximum(spare_low, 0.0))
    new_low = np.maximum(low, np.minimum(high + np.minimum(spare_high, 0.0), new_high))
    least, most = np.abs(spare_low) <= slack, np.abs(spare_high) <= slack
    new_high = np.where(least, low, new_high)
    new_low = np.where(most & ~least, high, new_low)
    return np.minimum(new_low, new_high), new_high


def _by_extremes(view: PartView, rows: PartRows) -> None:
    """Fix the masses of a statement that only the extreme of its bounds satisfies, such as ``n 0``."""
    if not len(rows):
        return
    table = rows.table
    least, most = rows.reach(*region_sums(view, rows))
    bounds = np.stack([table.lower, table.upper])
    slack = FIXED * np.maximum(1.0, np.where(np.isfinite(bounds), np.abs(bounds), 1.0).max(axis=0))
    at_least = np.abs(least - table.upper) <= slack
    at_most = ~at_least & (np.abs(most - table.lower) <= slack)
    for forced, sign in ((at_least, 1.0), (at_most, -1.0)):
        entry = np.flatnonzero(forced[rows.row_of])
        group, klass, coef = spread(rows, entry)
        low, high = sign * coef > 0, sign * coef < 0
        view.upper[group[low], klass[low]] = view.lower[group[low], klass[low]]
        view.lower[group[high], klass[high]] = view.upper[group[high], klass[high]]


def spread(rows: PartRows, entry: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Group, class and coefficient of every mass that some coefficients of rows stand before."""
    over = rows.over[entry]
    start, stop = rows.inside.indptr[over], rows.inside.indptr[over + 1]
    often, at = stop - start, ranges(start, stop)
    coef = np.repeat(rows.table.coef[entry], often) * rows.inside.data[at]
    return rows.inside.indices[at], np.repeat(rows.table.klass[entry], often), coef


def region_sums(view: PartView, rows: PartRows) -> tuple[FloatArray, FloatArray]:
    """Smallest and largest sums of each class in each set, by the bounds of masses, shapes (n_sets, n_classes)."""
    if not rows.table.weighted.any():
        return np.asarray(rows.inside @ view.lower), np.asarray(rows.inside @ view.upper)
    more, less = rows.inside.maximum(0), rows.inside.minimum(0)
    least, most = more @ view.lower + less @ view.upper, more @ view.upper + less @ view.lower
    return np.asarray(least), np.asarray(most)


def _owner_sums(view: PartView) -> tuple[FloatArray, FloatArray]:
    """Sums of the lower and of the upper bounds of each quasi-identifier, shapes (n_owners,)."""
    n = len(view.owner_weight)
    return add_up(view.owner, view.lower.sum(axis=1), n), add_up(view.owner, view.upper.sum(axis=1), n)


def possible(view: PartView, rows: PartRows) -> bool:
    """Whether the bounds leave every total and every statement a chance."""
    low, high = _owner_sums(view)
    slack = EXACT * np.maximum(1.0, view.owner_weight * view.whole)
    if (low > view.owner_weight + slack).any() or (high < view.owner_weight - slack).any():
        return False
    least, most = rows.reach(*region_sums(view, rows))
    slack = EXACT * np.maximum(1.0, (rows.inside @ view.weight)[rows.region])
    return bool((least <= rows.table.upper + slack).all() and (most >= rows.table.lower - slack).all())


def settled(view: PartView, rows: PartRows, fixed: BoolArray) -> tuple[BoolArray, BoolArray]:
    """Masks of the totals of quasi-identifiers, (n_owners,), and statements, (n_rows,), that the bounds make true."""
    low, high = _owner_sums(view)
    free = ~fixed.all(axis=1)
    any_free = np.bincount(view.owner, free, len(low)) > 0
    totals = _true(low, high, view.owner_weight, view.owner_weight, any_free)
    least, most = rows.reach(*region_sums(view, rows))
    any_free = (rows.inside @ free.astype(np.float64))[rows.region] > 0
    return totals, _true(least, most, rows.table.lower, rows.table.upper, any_free)


def _true(least: FloatArray, most: FloatArray, lower: FloatArray, upper: FloatArray, free: BoolArray) -> BoolArray:
    slack = np.where(free, 1e-12 * np.maximum(1.0, np.abs(most)), EXACT)
    return (least >= lower - slack) & (most <= upper + slack)


# Finds statements of a part that repeat other statements about the same individuals.


def without_repeats(view: PartView, rows: PartRows, fixed: BoolArray) -> IntArray:
    """Rows to keep: not labels that known totals settle, nor one of the totals that add up to a size."""
    size = view.sizes(rows.inside)
    drop = _settled_labels(view, rows, size)
    drop[_last_totals(view, rows, size, fixed)] = True
    return np.flatnonzero(~drop)


def _settled_labels(view: PartView, rows: PartRows, size: FloatArray) -> BoolArray:
    table, one = rows.table, rows.table.alone >= 0
    low, high = region_sums(view, rows)
    at = rows.region[one], table.alone[one]
    np.maximum.at(low, at, table.lower[one])
    np.minimum.at(high, at, table.upper[one])
    others = low.sum(axis=1, keepdims=True) - low
    high = np.fmin(high, size[:, None] - others)
    least, _ = rows.reach(low, np.maximum(low, high))
    plain = ~one & ~table.weighted
    result: BoolArray = plain & ~np.isnan(size)[rows.region] & np.isinf(table.upper) & (least >= table.lower - EXACT)
    return result


def _last_totals(view: PartView, rows: PartRows, size: FloatArray, fixed: BoolArray) -> IntArray:
    """The largest of a region's exact class totals, where the others and the region's size imply it."""
    table, n = rows.table, fixed.shape[1]
    exact = np.flatnonzero((table.alone >= 0) & (table.lower == table.upper))
    key, first = np.unique(rows.region[exact] * n + table.alone[exact], return_index=True)
    exact, region = exact[first], key // n
    n_regions = len(size)
    open_ = np.asarray(rows.inside @ (~fixed).astype(np.float64)) > 0
    open_[region, table.alone[exact]] = False
    low, _ = region_sums(view, rows)
    low[region, table.alone[exact]] = 0.0  # said exactly: not to be added twice
    total = np.where(open_, 0.0, low).sum(axis=1) + np.bincount(region, table.lower[exact], n_regions)
    complete = ~open_.any(axis=1) & (np.abs(total - size) <= EXACT)
    order = np.lexsort((table.lower[exact], region))
    last = order[np.flatnonzero(np.diff(region[order], append=-1))]
    result: IntArray = exact[last[complete[region[last]]]]
    return result


# Linear rows of a part over its free masses, without rows that bounds or other rows imply.


@dataclass(frozen=True, slots=True, eq=False)
class LinearPart:
    """``lower <= matrix @ free masses <= upper``; the totals of quasi-identifiers come first, without an origin."""

    matrix: sparse.csr_matrix
    lower: FloatArray
    upper: FloatArray
    origins: tuple[Origin | None, ...]


def linear_rows(
    view: PartView,
    statements: PartRows,
    fixed: BoolArray,
    known: FloatArray,
    index: IntArray,
    *,
    trusting: bool,
    check: Callable[[], None],
) -> LinearPart:
    """Totals and statements that still say something about free masses.

    ``trusting``: whether to leave out what other rows imply, not only what bounds do.
    """
    whole, told = settled(view, statements, fixed)
    statements = statements.take(np.flatnonzero(~told))
    if trusting:
        statements = statements.take(without_repeats(view, statements, fixed))
    check()
    row, column, value = _entries(view, statements, index, whole)
    n_totals, n_rows = len(whole), len(whole) + len(statements)
    matrix = sparse.csr_matrix((value, (row, column)), shape=(n_rows, int(index.max(initial=-1)) + 1))
    check()
    lower, upper = _bounds(view, statements, known)
    kept = np.flatnonzero(np.diff(matrix.indptr))
    if trusting:
        kept = kept[independent_rows(matrix[kept], lower[kept], upper[kept], check)]
    linear = view.part.linear[statements.table.of[kept[kept >= n_totals] - n_totals]]
    origins = (view.program.linear[i].origin for i in linear.tolist())
    unnamed = (None for _ in range(len(kept) - len(linear)))
    return LinearPart(matrix[kept], lower[kept], upper[kept], (*unnamed, *origins))


def _entries(
    view: PartView, statements: PartRows, index: IntArray, settled: BoolArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Row, column and value of every coefficient of a free mass; rows of the totals come first, settled ones empty."""
    group, klass = np.nonzero((index >= 0) & ~settled[view.owner][:, None])
    row, column = view.owner[group], index[group, klass]
    group, klass, value = spread(statements, np.arange(len(statements.row_of)))
    also = index[group, klass]
    often = np.diff(statements.inside.indptr)[statements.over]
    said = len(settled) + np.repeat(statements.row_of, often)
    return (
        np.concatenate([row, said[also >= 0]]),
        np.concatenate([column, also[also >= 0]]),
        np.concatenate([np.ones(len(row)), value[also >= 0]]),
    )


def _bounds(view: PartView, statements: PartRows, known: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bounds of totals and statements, less the contribution of the fixed masses."""
    table = statements.table
    held = table.coef * np.asarray(statements.inside @ known)[statements.over, table.klass]
    totals = view.owner_weight - add_up(view.owner, known.sum(axis=1), len(view.owner_weight))
    moved = add_up(statements.row_of, held, len(statements))
    return np.concatenate([totals, table.lower - moved]), np.concatenate([totals, table.upper - moved])


# Closed-form answer of groups that no constraint connects.
#
# A pooled quasi-identifier with bounds on each class's mass, and perhaps a label, has the entropy maximum
# ``m_x = clip(t, lower_x, upper_x)`` with the water level t at which the masses add up to its individuals. This covers
# rates (the label's mass is fixed, the other classes share the rest equally), counts, intervals and facts.

# Groups whose closed forms are computed together: their break points are sorted, which takes memory.
AT_ONCE = 16_384


def solve_leafwise(
    program: Program, merged: Merged, linear: IntArray, check: Callable[[], None] = lambda: None
) -> tuple[FloatArray, BoolArray]:
    """Closed forms for all groups that no constraint links to another, uniform masses for the others."""
    n_groups, n = len(merged.owner), program.n_classes
    weight = merged.weight[merged.owner]
    constraints = [program.linear[i] for i in linear.tolist()]
    table = program.rows_of(linear)
    labels = (int(c.coef[0].argmax()) if c.kind == "label" and c.rows == n - 1 else -1 for c in constraints)
    label_of = np.fromiter(labels, np.int64, len(constraints))
    several = np.bincount(table.of, (table.alone < 0) & (label_of[table.of] < 0), len(constraints)) > 0
    group, linked = _alone(program, merged, constraints, several)
    solved = ~linked & (np.bincount(merged.owner, minlength=len(merged.weight))[merged.owner] == 1)
    labelled = np.flatnonzero((label_of >= 0) & (group >= 0))
    label = np.full(n_groups, -1, np.int64)
    label[group[labelled]] = label_of[labelled]
    solved[group[labelled][label[group[labelled]] != label_of[labelled]]] = False  # two trees name classes that tie
    bounds = np.flatnonzero((label_of[table.of] < 0) & (group[table.of] >= 0))
    bounds = bounds[solved[group[table.of[bounds]]]]
    bounds = bounds[np.argsort(group[table.of[bounds]], kind="stable")]
    masses = np.repeat((weight / n)[:, None], n, axis=1)
    pieces = np.array_split(np.flatnonzero(solved), 1 + n_groups // AT_ONCE)
    ends = np.searchsorted(group[table.of[bounds]], [piece[0] for piece in pieces[1:] if len(piece)])
    for some, mine in zip(pieces, np.split(bounds, ends), strict=False):  # without empty ones at the end
        check()
        lower, upper = np.zeros((len(some), n)), np.repeat(weight[some, None], n, axis=1)
        at = np.searchsorted(some, group[table.of[mine]]), table.alone[mine]
        np.maximum.at(lower, at, table.lower[mine])
        np.minimum.at(upper, at, table.upper[mine])
        masses[some] = water_fill(weight[some], lower, upper, label[some])
    return masses, solved


def _alone(
    program: Program, merged: Merged, constraints: list[Linear], several: BoolArray
) -> tuple[IntArray, BoolArray]:
    """The one group that each constraint is about, -1 where there are more; and which groups are linked by one."""
    # A constraint that ``several`` marks bounds a sum over classes: the closed form cannot take it in.
    trees = placed(program.cells, merged.cell)
    places = [program.regions.places[c.region] for c in constraints]
    at = np.array([i for i, place in enumerate(places) if place is not None], np.int64)
    tree, low, high = spans_of(trees, [place for place in places if place is not None])
    group, linked = np.full(len(constraints), -1, np.int64), np.zeros(len(merged.owner), bool)
    for t, held in enumerate(trees):
        alone = (tree == t) & (high - low == 1) & ~several[at]
        group[at[alone]] = held.order[low[alone]]
        beside = (tree == t) & ~alone
        linked[held.order[held.covered(low[beside], high[beside])]] = True
    for i, place in enumerate(places):
        if place is None:
            inside = merged.inside(program.regions[constraints[i].region])
            if len(inside) == 1 and not several[i]:
                group[i] = inside[0]
            else:
                linked[inside] = True
    return group, linked


def water_fill(weight: FloatArray, lower: FloatArray, upper: FloatArray, label: IntArray) -> FloatArray:
    """Entropy maximum of each row under bounds, a total and, where ``label >= 0``, ``m[label] >= m[x]``.

    Rows whose bounds cannot meet their total get the bounds scaled to it.
    """
    lower, upper = np.minimum(lower, upper), np.maximum(lower, upper)
    rows = np.flatnonzero(label >= 0)
    at = label[rows]
    lower, upper = lower.copy(), upper.copy()
    lower[rows, at] = np.minimum(np.maximum(lower[rows, at], lower[rows].max(axis=1, initial=0.0)), upper[rows, at])
    cap = upper[rows, at]
    capped = np.maximum(np.minimum(upper[rows], cap[:, None]), lower[rows])
    capped[np.arange(len(rows)), at] = cap
    upper[rows] = capped
    level = _water_level(weight, lower, upper)
    masses = np.clip(level[:, None], lower, upper)
    total = masses.sum(axis=1)
    # The level is exact up to rounding; scale what is left of it (or of contradicting bounds) away.
    loose = (masses > lower) & (masses < upper)
    spread = np.where(loose, masses, 0.0).sum(axis=1)
    fits = (lower.sum(axis=1) <= weight) & (upper.sum(axis=1) >= weight) & (spread > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(fits, 1.0 + (weight - total) / spread, 1.0)
        masses = np.where(loose, masses * factor[:, None], masses)
        total = masses.sum(axis=1)
        scaled = np.where(total[:, None] > 0, masses * (weight / total)[:, None], weight[:, None] / masses.shape[1])
    agree = np.abs(total - weight) <= 1e-12 * weight
    return np.where(agree[:, None], masses, scaled)


def _water_level(weight: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """The t with ``sum_x clip(t, lower, upper) = weight``, shape (n,): exact, from the sorted break points."""
    n, n_classes = lower.shape
    knots = np.concatenate([lower, upper], axis=1)
    slope = np.concatenate([np.ones_like(lower), -np.ones_like(upper)], axis=1)
    order = np.argsort(knots, axis=1, kind="stable")
    knots = np.take_along_axis(knots, order, axis=1)
    slope = np.cumsum(np.take_along_axis(slope, order, axis=1), axis=1)  # of the sum right of each knot
    rise = slope[:, :-1] * np.diff(knots, axis=1)
    filled = np.concatenate([np.zeros((n, 1)), np.cumsum(rise, axis=1)], axis=1) + lower.sum(axis=1, keepdims=True)
    i = np.clip((filled <= weight[:, None]).sum(axis=1) - 1, 0, 2 * n_classes - 2)
    row = np.arange(n)
    level: FloatArray = knots[row, i] + (weight - filled[row, i]) / np.maximum(slope[row, i], 1.0)
    return level
