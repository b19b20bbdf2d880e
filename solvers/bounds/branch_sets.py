"""Branches of the chosen splits of a tree as sets of groups, with known masses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from maxent.constraints.lifting.elimination import Elimination
from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.models.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """The terms of comparisons of one sign, one for each class of a branch.

    ``size`` are the individuals in the branch, ``weight`` how often they count in the comparison.
    """

    row: IntArray
    block: IntArray
    var: IntArray
    klass: IntArray
    size: FloatArray
    weight: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Sets:
    """Branches of chosen splits as sets of groups: ``inside``, shape (n_sets, n_groups), of ``size`` individuals.

    ``number`` are the sets of the terms of the chosen splits, ``chosen``, and ``other`` those of the others.
    ``variable`` (n_sets, n_classes) are the masses of a set per class, -1 where statements fix them. ``within[a, b]``
    is whether b is in a or a itself, ``atom`` the groups that are in a set and in no smaller one.
    """

    inside: BoolArray
    size: FloatArray
    variable: IntArray
    within: BoolArray
    atom: BoolArray
    number: IntArray
    chosen: Sides
    other: Sides


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """Stated numbers of one class in one set of groups: amounts, sets and classes, without overlap.

    ``number`` (n_groups, n_classes) is the statement about a mass, -1 where there is none.
    """

    amount: FloatArray
    where: BoolArray
    klass: IntArray
    number: IntArray

    @property
    def covered(self) -> BoolArray:
        """The masses that statements are about, shape (n_groups, n_classes)."""
        found: BoolArray = self.number >= 0
        return found

    def covered_in(self, inside: BoolArray) -> BoolArray:
        """The masses that statements about groups in a set cover, shape (n_sets, n_groups, n_classes)."""
        found = np.zeros((len(inside), *self.number.shape), bool)
        for place, x, sets in zip(self.where, self.klass.tolist(), contained(self.where, inside).T > 0, strict=True):
            found[np.ix_(sets, place, [x])] = True
        return found


def sides(program: LiftedProgram, elimination: Elimination, times: FloatArray, sign: float) -> Sides:
    """The terms of one sign; ``times``, shape (n_classes,), is how many classes each stands for."""
    some = [np.flatnonzero(sign * terms.coef > 0) for terms in program.terms]
    row, var, size, coef, block = (
        np.concatenate([getattr(terms, name)[at] for terms, at in zip(program.terms, some, strict=True)])
        for name in ("row", "var", "size", "coef", "block")
    )
    one, _ = elimination.over_free(sparse.identity(program.n, format="csr")[var])
    klass = program.klass[elimination.free][one.indices[np.minimum(one.indptr[:-1], one.nnz - 1)]]
    klass = np.where(np.diff(one.indptr) > 0, klass, -1)
    return Sides(row, block, var, klass, size / times[klass], sign * coef * program.nl_size[row])


def branch_sets(program: LiftedProgram, elimination: Elimination, times: FloatArray) -> Sets | None:
    """The branches of the chosen splits, None unless any two are apart or one in the other."""
    n_groups, n_classes = int(program.group.max()) + 1, int(program.klass.max()) + 1
    chosen, other = (sides(program, elimination, times, sign) for sign in (1.0, -1.0))
    if not len(chosen.block):
        return None
    _, number = np.unique(chosen.block, return_inverse=True)
    n_sets = int(number.max()) + 1
    pick = sparse.csr_matrix((np.ones(len(number)), (number, chosen.var)), shape=(n_sets, program.n))
    sums, _ = elimination.over_free(pick)
    inside = np.zeros((n_sets, n_groups), bool)
    entries = sums.tocoo()
    inside[entries.row, program.group[elimination.free][entries.col]] = True
    some = chosen.klass >= 0
    variable = np.full((n_sets, n_classes), -1, np.int64)
    variable[number[some], chosen.klass[some]] = chosen.var[some]
    size = np.zeros(n_sets)
    size[number[some]] = chosen.size[some]
    common = inside.astype(np.float64) @ inside.T
    count = inside.sum(axis=1)
    if not ((common == 0) | (common == np.minimum(count[:, None], count))).all():
        return None
    # Of sets with the same groups the smaller one is inside: the other one has people with nothing open, too.
    contains = common == count
    alike = contains & contains.T
    rank = np.argsort(np.argsort(size, kind="stable"), kind="stable")
    within = contains & (~alike | (rank[:, None] >= rank))
    strictly = within & ~np.eye(n_sets, dtype=bool)
    atom = inside & ~((strictly.astype(np.float64) @ inside) > 0)
    return Sets(inside, size, variable, within, atom, number, chosen, other)


def known(program: LiftedProgram, elimination: Elimination) -> Known:
    """Stated numbers of one class in one set of groups."""
    n_groups, n_classes = int(program.group.max()) + 1, int(program.klass.max()) + 1
    stated = np.array([origin is not None for origin in program.origins], bool)
    equations = np.flatnonzero(stated & (program.row_lower == program.row_upper))
    matrix, moved = elimination.over_free(program.matrix[equations])
    number = np.full((n_groups, n_classes), -1)
    group, of = program.group[elimination.free], program.klass[elimination.free]
    amounts: list[float] = []
    places: list[BoolArray] = []
    classes: list[int] = []
    for i in np.argsort(np.diff(matrix.indptr), kind="stable").tolist():
        columns = matrix.indices[matrix.indptr[i] : matrix.indptr[i + 1]]
        if not len(columns) or (matrix.data[matrix.indptr[i] : matrix.indptr[i + 1]] != 1.0).any():
            continue
        x = int(of[columns[0]])
        if (of[columns] != x).any() or (number[group[columns], x] >= 0).any():
            continue
        number[group[columns], x] = len(amounts)
        place = np.zeros(n_groups, bool)
        place[group[columns]] = True
        amounts.append(float(program.row_lower[equations[i]] - moved[i]))
        places.append(place)
        classes.append(x)
    where = np.array(places, bool).reshape(-1, n_groups)
    return Known(np.array(amounts, np.float64), where, np.array(classes, np.int64), number)


def totals(program: LiftedProgram, elimination: Elimination, n_groups: int) -> FloatArray:
    """Individuals of each group whose class is open, shape (n_groups,)."""
    held = np.ones(program.n_masses, bool)
    held[elimination.free] = False
    known = np.bincount(program.owner[held], program.lower[: program.n_masses][held], len(program.total))
    total = np.zeros(n_groups)
    total[program.group[elimination.free]] = (program.total - known)[program.owner[elimination.free]]
    return total


def contained(where: BoolArray, inside: BoolArray) -> FloatArray:
    """Which sets of groups are in which others, 0/1, shape (n_others, n_sets)."""
    outside = (~inside).astype(np.float64) @ where.T
    found: FloatArray = (outside == 0).astype(np.float64)
    return found
