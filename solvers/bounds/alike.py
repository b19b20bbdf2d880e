"""Merges exchangeable classes into one: enough for a concave bound.

Where swapping two classes maps a program onto itself, a concave Lagrangian that is as symmetric has its maximum where
both have the same masses. With M the sum of k such masses m, each M / k,

    -sum m ln(m / w) = -M ln(M / (k w)),    sum phi(A / k, W) = phi(A, k W)    for both phi,

so that a program with M in place of the k masses has that maximum, too.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from maxent.constraints.lifting.elimination import Elimination
from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.models.arrays import FloatArray, IntArray


def equations_alone(program: LiftedProgram) -> LiftedProgram:
    """The program without statements that are inequalities, which tell classes apart that nothing else does."""
    kept = np.flatnonzero(program.row_lower == program.row_upper)
    return replace(
        program,
        matrix=program.matrix[kept],
        row_lower=program.row_lower[kept],
        row_upper=program.row_upper[kept],
        origins=tuple(program.origins[i] for i in kept.tolist()),
    )


def alike_as_one(
    program: LiftedProgram, elimination: Elimination
) -> tuple[LiftedProgram, FloatArray, sparse.csr_matrix]:
    """The program with one class for all that are treated alike, and of how many each class is, shape (n_classes,).

    The third are the sums of variables that its own are, shape (n, program.n). ``elimination`` is that of the program's
    aggregates.
    """
    klass = _classes(program, elimination)
    first, times = _representatives(program, elimination, klass)
    if (first == np.arange(len(first))).all():
        return program, times, sparse.identity(program.n, format="csr")
    keep = np.flatnonzero((klass < 0) | (first[klass] == klass))
    factor = np.where(klass >= 0, times[klass], 1.0)
    number = np.full(program.n, -1, np.int64)
    number[keep] = np.arange(len(keep))
    row = number.copy()  # that of the variable that stands for each
    for x in np.flatnonzero(first != np.arange(len(first))).tolist():
        row[klass == x] = number[klass == first[x]]
    sums = sparse.csr_matrix((np.ones(program.n), (row, np.arange(program.n))), shape=(len(keep), program.n))
    masses = keep[keep < program.n_masses]
    terms = []
    for some in program.terms:
        at = np.flatnonzero(number[some.var] >= 0)
        parts = {name: getattr(some, name)[at] for name in ("row", "coef", "size_var", "block")}
        var = some.var[at]
        terms.append(replace(some, var=number[var], size=some.size[at] * factor[var], **parts))
    # A definition is about one class, and counts all that are alike; totals are about all classes, statements about
    # classes that are like no other.
    first_of_row = program.matrix.indices[np.minimum(program.matrix.indptr[:-1], program.matrix.nnz - 1)]
    defines = np.diff(program.matrix[:, program.n_masses :].indptr) > 0
    row_factor = np.where(defines, factor[first_of_row], 1.0)
    one = replace(
        program,
        group=program.group[masses],
        klass=program.klass[masses],
        owner=program.owner[masses],
        mass_weight=(program.mass_weight * factor[: program.n_masses])[masses],
        lower=(program.lower * factor)[keep],
        upper=(program.upper * factor)[keep],
        matrix=sparse.csr_matrix(program.matrix[:, keep]),
        row_lower=program.row_lower * row_factor,
        row_upper=program.row_upper * row_factor,
        terms=tuple(terms),
    )
    return one, times, sums


def _classes(program: LiftedProgram, elimination: Elimination) -> IntArray:
    """The class of each variable: that of its free masses, -1 where it has none."""
    klass = np.full(program.n, -1, np.int64)
    klass[: program.n_masses] = program.klass
    sums = elimination.sums((program.klass[elimination.free] + 1).astype(np.float64))
    number = elimination.sums(np.ones(len(elimination.free)))
    rest = np.arange(program.n) >= program.n_masses
    found = np.divide(sums, number, out=np.zeros(program.n), where=number > 0)
    klass[rest] = np.where(number[rest] > 0, np.rint(found[rest]) - 1, -1).astype(np.int64)
    return klass


def _representatives(program: LiftedProgram, elimination: Elimination, klass: IntArray) -> tuple[IntArray, FloatArray]:
    """The first class that is treated as each class is, and of how many it is one."""
    n_classes = int(klass.max(initial=-1)) + 1
    stated = np.array([origin is not None for origin in program.origins], bool)
    named = np.unique(klass[program.matrix[stated].indices]) if stated.any() else np.empty(0, np.int64)
    number: dict[tuple[bytes, ...], int] = {}
    first = np.arange(n_classes)
    for x in range(n_classes):
        if x not in named:
            first[x] = number.setdefault(_signature(program, elimination, klass, x), x)
    times = np.bincount(first, minlength=n_classes).astype(np.float64)
    return first, np.maximum(times, 1.0)[first]


def _signature(program: LiftedProgram, elimination: Elimination, klass: IntArray, x: int) -> tuple[bytes, ...]:
    """Everything about a class but its name: equal for classes that can be swapped."""
    mine = np.flatnonzero(klass == x)
    place = np.full(program.n, -1, np.int64)
    place[mine] = np.arange(len(mine))
    masses = mine[mine < program.n_masses]
    rows = elimination.definitions[mine]
    arrays = [
        program.group[masses],
        program.owner[masses],
        program.mass_weight[masses],
        program.lower[masses],
        program.upper[masses],
        elimination.shift[mine],
        rows.indptr,
        place[rows.indices],
        rows.data,
    ]
    for some in program.terms:
        at = np.flatnonzero(klass[some.var] == x)
        arrays += [some.row[at], place[some.var[at]], some.coef[at], some.size[at], some.block[at]]
    return tuple(np.ascontiguousarray(array).tobytes() for array in arrays)
