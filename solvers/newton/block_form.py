"""A lifted program with the aggregates taken out again: dense over groups x classes, sums as sparse products.

The masses are an array of shape (n_groups, n_classes), 0 where a mass is fixed (its share is in the constants). Groups
of one quasi-identifier are neighbours. A *block* is a set of groups: ``A = incidence @ m + const`` are its masses per
class, and an internal constraint is ``sum over blocks and classes of factor * phi(A, w) + const >= 0``, in individuals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from maxent.constraints.lifting.elimination import Elimination, eliminate
from maxent.constraints.lifting.lifted_program import LiftedProgram, Terms
from maxent.models.arrays import INVERTIBLE, BoolArray, FloatArray, IntArray

DENSE = 20_000
"""Entries up to which a matrix is multiplied densely: a sparse product costs more to begin with."""


def fast(matrix: sparse.csr_matrix) -> Any:
    """The matrix in the form whose products are fastest."""
    return matrix.toarray() if matrix.shape[0] * matrix.shape[1] <= DENSE else matrix


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Linear rows ``matrix @ m.ravel()`` against ``value``; ``size`` are the individuals that each is about."""

    matrix: sparse.csr_matrix
    value: FloatArray
    size: FloatArray

    def __len__(self) -> int:
        return len(self.value)


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """The blocks, and the internal constraints over them; see the module's text.

    ``seen[b, x]`` is whether class x of block b is a term (else it is a constant, or cancels). ``size[b]`` are a
    block's individuals, to which ``size_rows @ m.ravel()`` are added where private attributes leave the size open.
    Blocks of one phi are neighbours: ``phis`` are the names with their slices.
    """

    incidence: sparse.csr_matrix  # (n_blocks, n_groups), 0/1
    transposed: sparse.csr_matrix
    const: FloatArray  # (n_blocks, n_classes)
    seen: BoolArray  # (n_blocks, n_classes)
    size: FloatArray
    size_rows: sparse.csr_matrix  # (n_blocks, n_groups * n_classes)
    size_transposed: sparse.csr_matrix
    phis: tuple[tuple[str, slice], ...]
    factor: sparse.csr_matrix  # (n_constraints, n_blocks), individuals per impurity
    factor_transposed: sparse.csr_matrix
    constant: FloatArray  # (n_constraints,)
    people: FloatArray  # (n_constraints,) individuals in the node


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """A program in masses alone.

    ``total[o]`` are the free individuals of quasi-identifier o, and ``start[o]`` is its first group.
    ``equal`` and ``least`` are the linear rows beside the quasi-identifiers' totals: ``= value``, ``>= value``.
    """

    program: LiftedProgram
    variable: IntArray  # (n_free,) of each free mass
    at: IntArray  # (n_free,) its place in m.ravel()
    free: BoolArray  # (n_groups, n_classes)
    owner: IntArray  # (n_groups,)
    start: IntArray  # (n_owners,)
    total: FloatArray  # (n_owners,)
    equal: Rows
    least: Rows
    blocks: Blocks
    elimination: Elimination

    def point(self, masses: FloatArray) -> FloatArray:
        """The program's point, shape (program.n,), of an array of masses."""
        z = self.program.lower.copy()
        z[self.variable] = masses.ravel()[self.at]
        return self.complete(z)

    def complete(self, point: FloatArray) -> FloatArray:
        """A point whose aggregates are those of its masses."""
        n = self.program.n_masses
        whole = self.elimination.point(point[:n])
        clipped: FloatArray = np.clip(whole, self.program.lower, self.program.upper)
        return clipped

    def scores(self, point: FloatArray) -> FloatArray:
        """Logarithms of a point's free masses, -inf elsewhere, shape (n_groups, n_classes)."""
        theta = np.full(self.free.size, -np.inf)
        theta[self.at] = np.log(np.maximum(point[self.variable], INVERTIBLE))
        return theta.reshape(self.free.shape)


def build_form(program: LiftedProgram) -> Form:
    """Take the aggregates out of a program and lay its masses out densely."""
    n = program.n_masses
    fixed = program.lower[:n] >= program.upper[:n]
    variable = np.flatnonzero(~fixed)
    variable = variable[np.lexsort((program.klass[variable], program.group[variable], program.owner[variable]))]
    pairs = program.owner[variable] * (int(program.group.max(initial=0)) + 1) + program.group[variable]
    _, group = np.unique(pairs, return_inverse=True)
    n_groups, n_classes = int(group.max(initial=-1)) + 1, int(program.klass.max(initial=0)) + 1
    at = group * n_classes + program.klass[variable]
    free = np.zeros((n_groups, n_classes), bool)
    free.flat[at] = True
    first = np.searchsorted(group, np.arange(n_groups))
    owners, owner = np.unique(program.owner[variable][first], return_inverse=True)
    held = np.where(fixed, program.lower[:n], 0.0)
    total = (program.total - np.bincount(program.owner, held, len(program.total)))[owners]
    elimination, _ = eliminate(program, np.zeros(program.n, bool))
    undefined = np.isnan(elimination.shift)  # such an aggregate is fixed by its bounds
    elimination = replace(elimination, shift=np.where(undefined, program.lower, elimination.shift))
    flat, flat_const = elimination.over_free(sparse.identity(program.n, format="csr")[n:])
    spread = sparse.csr_matrix((np.ones(len(at)), (variable, at)), shape=(n, free.size))
    equal, least = _linear(program, flat, flat_const, spread, held, at, total[owner[group]])
    return Form(
        program=program,
        variable=variable,
        at=at,
        free=free,
        owner=owner.astype(np.int64),
        start=np.searchsorted(owner, np.arange(len(owners))),
        total=total,
        equal=equal,
        least=least,
        blocks=_blocks(program, flat, flat_const, spread, held, free),
        elimination=elimination,
    )


def _linear(
    program: LiftedProgram,
    flat: sparse.csr_matrix,
    flat_const: FloatArray,
    spread: sparse.csr_matrix,
    held: FloatArray,
    at: IntArray,
    people: FloatArray,
) -> tuple[Rows, Rows]:
    """Statements as equations and as rows ``>= value``, bounds of single masses among the latter."""
    n = program.n_masses
    said = np.flatnonzero([origin is not None for origin in program.origins])
    rows = program.matrix[said]
    in_masses = sparse.csr_matrix(rows[:, :n] + rows[:, n:] @ flat)
    moved = in_masses @ held + rows[:, n:] @ flat_const
    matrix = sparse.csr_matrix(in_masses @ spread)
    matrix.eliminate_zeros()
    lower, upper = program.row_lower[said] - moved, program.row_upper[said] - moved
    some = np.diff(matrix.indptr) > 0
    matrix, lower, upper = matrix[some], lower[some], upper[some]
    same = lower == upper
    above, below = np.isfinite(lower) & ~same, np.isfinite(upper) & ~same
    # A mass is positive, and at most its quasi-identifier's total, without being told.
    variable = np.flatnonzero(np.diff(spread.indptr))
    whole = np.empty(spread.shape[1])
    whole[at] = people
    mine = whole[spread.indices]
    low, high = program.lower[variable] > 0, program.upper[variable] < mine * (1 - 1e-12)
    alone = spread[variable]
    least = sparse.vstack([matrix[above], -matrix[below], alone[low], -alone[high]], format="csr")
    value = np.concatenate([lower[above], -upper[below], program.lower[variable][low], -program.upper[variable][high]])
    return (
        Rows(matrix[same], lower[same], _people(matrix[same], whole)),
        Rows(least, value, _people(least, whole)),
    )


def _people(matrix: sparse.csr_matrix, whole: FloatArray) -> FloatArray:
    """Individuals behind each row, those of its masses' quasi-identifiers: a scale for what it misses."""
    touched = sparse.csr_matrix((whole[matrix.indices], matrix.indices, matrix.indptr), shape=matrix.shape)
    people: FloatArray = np.maximum(np.asarray(touched.sum(axis=1)).ravel(), 1.0)
    return people


def _blocks(
    program: LiftedProgram,
    flat: sparse.csr_matrix,
    flat_const: FloatArray,
    spread: sparse.csr_matrix,
    held: FloatArray,
    free: BoolArray,
) -> Blocks:
    """The terms of all nonlinear rows, gathered by block."""
    n, n_classes = program.n_masses, free.shape[1]
    everything = sparse.vstack([sparse.identity(n, format="csr"), flat], format="csr")
    const_of = np.concatenate([np.zeros(n), flat_const]) + everything @ held
    over_free = sparse.csr_matrix(everything @ spread)  # variables over m.ravel()
    to_group = sparse.csr_matrix(
        (np.ones(free.size), (np.arange(free.size), np.arange(free.size) // n_classes)), shape=(free.size, len(free))
    )
    klass_of = np.full(program.n, -1, np.int64)
    klass_of[:n] = program.klass
    some = np.flatnonzero(np.diff(flat.indptr))
    klass_of[n + some] = program.klass[flat.indices[flat.indptr[some]]]
    pieces = []
    phis, first = [], 0
    for terms in program.terms:
        piece = _gather(terms, over_free, const_of, klass_of, to_group, free)
        phis.append((terms.phi, slice(first, first + len(piece.size))))
        first += len(piece.size)
        pieces.append(piece)
    n_rows = len(program.nl_const)
    row = np.concatenate([terms.row for terms in program.terms] or [np.empty(0, np.int64)])
    coef = np.concatenate([terms.coef for terms in program.terms] or [np.empty(0)])
    place = np.concatenate([part.start + p.of_term for p, (_, part) in zip(pieces, phis, strict=True)] or [row])
    pair, one = np.unique(row * max(first, 1) + place, return_index=True)
    factor = sparse.csr_matrix(
        ((coef * program.nl_size[row])[one], (pair // max(first, 1), pair % max(first, 1))), shape=(n_rows, first)
    )
    incidence = sparse.vstack([p.incidence for p in pieces] or [sparse.csr_matrix((0, len(free)))], format="csr")
    sizes = sparse.vstack([p.size_rows for p in pieces] or [sparse.csr_matrix((0, free.size))], format="csr")
    return Blocks(
        incidence=incidence,
        transposed=incidence.T.tocsr(),
        const=np.concatenate([p.const for p in pieces] or [np.empty((0, n_classes))]),
        seen=np.concatenate([p.seen for p in pieces] or [np.empty((0, n_classes), bool)]),
        size=np.concatenate([p.size for p in pieces] or [np.empty(0)]),
        size_rows=sizes,
        size_transposed=sizes.T.tocsr(),
        phis=tuple(phis),
        factor=factor,
        factor_transposed=factor.T.tocsr(),
        constant=program.nl_const * program.nl_size,
        people=program.nl_size,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Piece:
    """Blocks of the terms of one phi, and the block of each term."""

    incidence: sparse.csr_matrix
    const: FloatArray
    seen: BoolArray
    size: FloatArray
    size_rows: sparse.csr_matrix
    of_term: IntArray


def _gather(
    terms: Terms,
    over_free: sparse.csr_matrix,
    const_of: FloatArray,
    klass_of: IntArray,
    to_group: sparse.csr_matrix,
    free: BoolArray,
) -> _Piece:
    """Terms of a block share its sum over groups, unless statements fix part of the sum for one class alone.

    Such a term's groups are not those of its fellows, and it becomes a block of its own.
    """
    _, block = np.unique(terms.block, return_inverse=True)
    klass, groups = klass_of[terms.var], over_free[terms.var] @ to_group
    n_terms, n_blocks = len(block), int(block.max()) + 1
    union = _zero_one(sparse.csr_matrix((np.ones(n_terms), (block, np.arange(n_terms))), (n_blocks, n_terms)) @ groups)
    alone = np.diff(groups.indptr) != (union @ free.astype(np.float64))[block, klass]
    place = block.copy()
    place[alone] = n_blocks + np.unique(terms.var[alone], return_inverse=True)[1]
    n_places = int(place.max()) + 1
    owner = np.full(n_places, -1, np.int64)  # a term of each block
    owner[place] = np.arange(n_terms)
    used = np.flatnonzero(owner >= 0)
    place = np.searchsorted(used, place)
    owner = owner[used]
    own = used >= n_blocks
    incidence = sparse.vstack([union[used[~own]], _zero_one(groups[owner[own]])], format="csr")
    const, seen = np.zeros((len(used), free.shape[1])), np.zeros((len(used), free.shape[1]), bool)
    const[place, klass], seen[place, klass] = const_of[terms.var], True
    sized = terms.size_var[owner] >= 0
    keep = sparse.diags(sized.astype(np.float64))
    size_rows = sparse.csr_matrix(keep @ over_free[np.where(sized, terms.size_var[owner], 0)])
    size_rows.eliminate_zeros()
    size = np.where(sized, const_of[terms.size_var[owner]], terms.size[owner])
    return _Piece(incidence, const, seen, size, size_rows, place)


def _zero_one(matrix: sparse.spmatrix) -> sparse.csr_matrix:
    """Where a matrix is not zero."""
    pattern = sparse.csr_matrix(matrix)
    pattern.data[:] = 1.0
    return pattern
