"""A part in its own numbering: its groups, pooled quasi-identifiers, and its linear statements as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import sparse

from maxent.constraints.presolve.merge import Merged, Part
from maxent.constraints.presolve.placed import placed, spans_of
from maxent.constraints.presolve.statements import StatementRows, statement_rows
from maxent.constraints.program import Linear, Program
from maxent.models.arrays import FloatArray, IntArray, ranges, run_ends


def add_up(label: IntArray, amount: FloatArray, n: int) -> FloatArray:
    """Sums of the amounts of each label, shape (n,)."""
    return np.bincount(label, amount, n).astype(np.float64)


class PartView:
    """The groups of a part, their places in the trees, and bounds on every mass.

    Attributes
    ----------
    owner : shape (n_groups,), the part's pooled quasi-identifiers; ``owner_weight`` and ``whole`` are the individuals
        and the number of groups of each, ``weight`` the individuals of each group's
    lower, upper : shape (n_groups, n_classes), individuals; presolve tightens them
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
    table = statement_rows(constraints, program.n_classes)
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
            groups = np.unique(view.merged.group[view.program.regions[region]])
            found.append(np.searchsorted(view.part.groups, groups))
        else:
            tree, low, high = next(spans)
            found.append(view.trees[tree].at(low, high))
    return found
