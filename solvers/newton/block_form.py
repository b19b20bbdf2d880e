"""Program without aggregates: dense arrays over groups and classes, with derivatives of internal constraints.

The masses are an array of shape (n_groups, n_classes), 0 where a mass is fixed (its share is in the constants). Groups
of one quasi-identifier are neighbours. A *block* is a set of groups: ``A = incidence @ m + const`` are its masses per
class, and an internal constraint is ``sum over blocks and classes of factor * phi(A, w) + const >= 0``, in individuals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy import sparse

from maxent.constraints.lifting import Elimination, LiftedProgram, LiftedTerms, eliminate
from maxent.constraints.program.impurity_numpy import PHI
from maxent.models.arrays import INVERTIBLE, BoolArray, FloatArray, IntArray, ranges, run_ends
from maxent.solvers.backend import FEW

# Entries up to which a matrix is multiplied densely: a sparse product costs more to begin with.
DENSE = 20_000


def fast(matrix: sparse.csr_matrix) -> Any:
    """The matrix in the form whose products are fastest."""
    return matrix.toarray() if matrix.shape[0] * matrix.shape[1] <= DENSE else matrix


@dataclass(frozen=True, slots=True, eq=False)
class BlockRows:
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
    equal: BlockRows
    least: BlockRows
    blocks: Blocks
    elimination: Elimination
    tilt: FloatArray | None  # (n_groups, n_classes), by which the objective's logarithms are lowered

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


def form_of(program: LiftedProgram) -> Form:
    """`build_form`, once for a small program that is solved and then made exact."""
    return _last(program) if program.n <= FEW else build_form(program)


@lru_cache(maxsize=1)
def _last(program: LiftedProgram) -> Form:
    return build_form(program)


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
    spread = sparse.csr_matrix((np.ones(len(at)), (variable, at)), shape=(n, free.size))
    elimination = _elimination(program)
    variables = _expressed(program, elimination, spread, held, n_classes)
    whole = np.empty(free.size)
    whole[at] = total[owner[group]]
    equal, least = _linear(program, variables, whole)
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
        blocks=_blocks(program, variables, free),
        elimination=elimination,
        tilt=None if program.tilt is None else _laid_out(program.tilt[variable], at, free),
    )


def _laid_out(values: FloatArray, at: IntArray, free: BoolArray) -> FloatArray:
    """Values of the free masses, 0 elsewhere, shape (n_groups, n_classes)."""
    out = np.zeros(free.size)
    out[at] = values
    return out.reshape(free.shape)


def _elimination(program: LiftedProgram) -> Elimination:
    """Aggregates as sums of masses, fixed ones included; one without a definition is fixed by its bounds."""
    elimination, _ = eliminate(program, np.zeros(program.n, bool))
    shift = np.where(np.isnan(elimination.shift), program.lower, elimination.shift)
    return replace(elimination, shift=shift)


@dataclass(frozen=True, slots=True, eq=False)
class _Variables:
    """Every variable of a program as ``over @ m.ravel() + const``."""

    over: sparse.csr_matrix
    const: FloatArray
    groups: sparse.csr_matrix
    klass: IntArray


def _expressed(
    program: LiftedProgram, elimination: Elimination, spread: sparse.csr_matrix, held: FloatArray, n_classes: int
) -> _Variables:
    """The variables over masses that ``spread``, shape (n_masses, m.size), lays out; the others are ``held``."""
    sums, const = elimination.variables
    klass = np.full(program.n, -1, np.int64)
    some = np.flatnonzero(np.diff(sums.indptr))
    klass[some] = program.klass[sums.indices[sums.indptr[some]]]
    over = sparse.csr_matrix(sums @ spread)
    size = spread.shape[1]
    group_of = (np.ones(size), (np.arange(size), np.arange(size) // n_classes))
    groups = sparse.csr_matrix(over @ sparse.csr_matrix(group_of, shape=(size, size // n_classes)))
    return _Variables(over, const + sums @ held, groups, klass)


def _linear(program: LiftedProgram, variables: _Variables, whole: FloatArray) -> tuple[BlockRows, BlockRows]:
    """Statements as equations and as rows ``>= value``, bounds of single masses among the latter."""
    # ``whole`` are the individuals of each mass's quasi-identifier, in the order of ``m.ravel()``.
    said = np.flatnonzero([origin is not None for origin in program.origins])
    rows = program.matrix[said]
    matrix, moved = sparse.csr_matrix(rows @ variables.over), rows @ variables.const
    matrix.eliminate_zeros()
    lower, upper = program.row_lower[said] - moved, program.row_upper[said] - moved
    some = np.diff(matrix.indptr) > 0
    matrix, lower, upper = matrix[some], lower[some], upper[some]
    same = lower == upper
    above, below = np.isfinite(lower) & ~same, np.isfinite(upper) & ~same
    # A mass is positive, and at most its quasi-identifier's total, without being told.
    masses = variables.over[: program.n_masses]
    free = np.flatnonzero(np.diff(masses.indptr))
    mass_lower, mass_upper = program.lower[free], program.upper[free]
    low, high = mass_lower > 0, mass_upper < whole[masses.indices] * (1 - 1e-12)
    alone = masses[free]
    least = sparse.vstack([matrix[above], -matrix[below], alone[low], -alone[high]], format="csr")
    value = np.concatenate([lower[above], -upper[below], mass_lower[low], -mass_upper[high]])
    return (
        BlockRows(matrix[same], lower[same], _people(matrix[same], whole)),
        BlockRows(least, value, _people(least, whole)),
    )


def _people(matrix: sparse.csr_matrix, whole: FloatArray) -> FloatArray:
    """Individuals of the quasi-identifiers in each row: the scale of its residual."""
    touched = sparse.csr_matrix((whole[matrix.indices], matrix.indices, matrix.indptr), shape=matrix.shape)
    people: FloatArray = np.maximum(np.asarray(touched.sum(axis=1)).ravel(), 1.0)
    return people


def _blocks(program: LiftedProgram, variables: _Variables, free: BoolArray) -> Blocks:
    """The terms of all nonlinear rows, gathered by block."""
    n_groups, n_classes = free.shape
    none = np.empty(0, np.int64)
    pieces = [_gather(terms, variables, free) for terms in program.terms]
    ends = run_ends(np.array([len(piece.size) for piece in pieces], np.int64))
    n_blocks = int(ends[-1])
    row = np.concatenate([none, *(terms.row for terms in program.terms)])
    coef = np.concatenate([np.empty(0), *(terms.coef for terms in program.terms)])
    block = np.concatenate([none, *(begin + piece.of_term for begin, piece in zip(ends[:-1], pieces, strict=True))])
    # The terms of a block have the same factor in a row, which counts once.
    pair, one = np.unique(row * max(n_blocks, 1) + block, return_index=True)
    factor = sparse.csr_matrix(
        ((coef * program.nl_size[row])[one], np.divmod(pair, max(n_blocks, 1))),
        shape=(len(program.nl_const), n_blocks),
    )
    incidence = sparse.vstack([sparse.csr_matrix((0, n_groups)), *(p.incidence for p in pieces)], format="csr")
    sizes = sparse.vstack([sparse.csr_matrix((0, free.size)), *(p.size_rows for p in pieces)], format="csr")
    return Blocks(
        incidence=incidence,
        transposed=incidence.T.tocsr(),
        const=np.concatenate([np.empty((0, n_classes)), *(p.const for p in pieces)]),
        seen=np.concatenate([np.empty((0, n_classes), bool), *(p.seen for p in pieces)]),
        size=np.concatenate([np.empty(0), *(p.size for p in pieces)]),
        size_rows=sizes,
        size_transposed=sizes.T.tocsr(),
        phis=tuple(
            (terms.phi, slice(int(begin), int(end)))
            for terms, begin, end in zip(program.terms, ends[:-1], ends[1:], strict=True)
        ),
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


def _gather(terms: LiftedTerms, variables: _Variables, free: BoolArray) -> _Piece:
    """The blocks of some terms: those that the program names, and others for terms that these do not fit."""
    # The terms of a named block are the classes of one set of groups, so that one sum over these groups gives all of
    # them. But where statements fix part of the sum for one class alone, that term is a sum over fewer groups than the
    # block's other terms, and becomes a block of its own.
    _, named = np.unique(terms.block, return_inverse=True)
    klass, groups = variables.klass[terms.var], variables.groups[terms.var]
    n_terms, n_named = len(named), int(named.max()) + 1
    terms_of = sparse.csr_matrix((np.ones(n_terms), (named, np.arange(n_terms))), shape=(n_named, n_terms))
    union = _zero_one(terms_of @ groups)
    would_have = (union @ free.astype(np.float64))[named, klass]  # groups in which the term's class is free
    constant = klass < 0  # fixed, and without a definition that would tell its class
    misfit = (np.diff(groups.indptr) != would_have) | constant
    klass = np.where(constant, 0, klass)
    number = named.copy()
    of_term = np.column_stack([terms.var, named])[misfit]
    number[misfit] = n_named + np.unique(of_term, axis=0, return_inverse=True)[1].ravel()
    used, block = np.unique(number, return_inverse=True)
    example = np.empty(len(used), np.int64)  # a term of each block
    example[block] = np.arange(n_terms)
    own = used >= n_named
    incidence = sparse.vstack([union[used[~own]], _zero_one(groups[example[own]])], format="csr")
    const, seen = np.zeros((len(used), free.shape[1])), np.zeros((len(used), free.shape[1]), bool)
    const[block, klass], seen[block, klass] = variables.const[terms.var], True
    size_var = terms.size_var[example]
    open_ = size_var >= 0
    size_rows = sparse.csr_matrix(sparse.diags(open_.astype(np.float64)) @ variables.over[np.where(open_, size_var, 0)])
    size_rows.eliminate_zeros()
    size = np.where(open_, variables.const[size_var], terms.size[example])
    return _Piece(incidence, const, seen, size, size_rows, block)


def _zero_one(matrix: sparse.spmatrix) -> sparse.csr_matrix:
    """The pattern of a matrix: 1 where it is not 0."""
    pattern = sparse.csr_matrix(matrix)
    pattern.data[:] = 1.0
    return pattern


# Values and derivatives of the internal constraints as functions of the masses.
#
# With the masses ``A = incidence @ m + const`` of the blocks, constraint k is
#
#     c_k = sum_b factor[k, b] sum_x phi(A[b, x], w_b) + constant_k >= 0,    E_U - E_T times the node's individuals.
#
# Its gradient is ``incidence' (factor_k phi')``; the Hessian of ``sum_k a_k c_k`` in the masses is ``incidence' H
# incidence``, with H diagonal but for blocks whose size w is itself a sum of masses.


@dataclass(frozen=True, slots=True, eq=False)
class BlockSums:
    """The blocks' masses ``a`` (n_blocks, n_classes), their sizes ``w`` alike, and the constraints' values."""

    a: FloatArray
    w: FloatArray
    value: FloatArray  # (n_constraints,), individuals


@dataclass(frozen=True, slots=True, eq=False)
class Slopes:
    """Derivatives of each block's ``sum_x phi`` by its masses and, where sizes are open, by its size."""

    by_mass: FloatArray  # (n_blocks, n_classes)
    by_size: FloatArray | None = None  # (n_blocks,)


@dataclass(frozen=True, slots=True, eq=False)
class _Spread:
    """Constraints and the groups that they look at, a pair each; ``of_factors`` adds up the factors of each pair."""

    row: IntArray
    group: IntArray
    of_factors: Any  # (n_pairs, number of factors), 0/1


class Comparisons:
    """The internal constraints of a program, evaluated together."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks
        self.incidence, self.transposed = fast(blocks.incidence), fast(blocks.transposed)
        self.factor, self.factor_transposed = fast(blocks.factor), fast(blocks.factor_transposed)
        self.all_seen = bool(blocks.seen.all())
        self.any_open = bool(blocks.size_rows.nnz)
        self.closed = self._sizes(blocks.size)

    def __len__(self) -> int:
        return len(self.blocks.constant)

    def at(self, m: FloatArray) -> BlockSums:
        """The sums that the constraints look at, and their values, at masses of shape (n_groups, n_classes)."""
        blocks = self.blocks
        a = np.maximum(self.incidence @ m + blocks.const, INVERTIBLE)
        w = self._sizes(blocks.size + blocks.size_rows @ m.ravel()) if self.any_open else self.closed
        value = self._visible(self._phi("value", a, w)).sum(axis=1)
        return BlockSums(a, w, self.factor @ value + blocks.constant)

    def slopes(self, sums: BlockSums) -> Slopes:
        """Derivatives of each block's ``sum_x phi``."""
        by_mass = self._visible(self._phi("d_a", sums.a, sums.w))
        if not self.any_open:
            return Slopes(by_mass)
        return Slopes(by_mass, self._visible(self._phi("d_w", sums.a, sums.w)).sum(axis=1))

    def weighted(self, a: FloatArray, slopes: Slopes) -> FloatArray:
        """The gradient of ``sum_k a_k c_k``, shape (n_groups, n_classes)."""
        weight = self.factor_transposed @ a
        gradient: FloatArray = self.transposed @ (weight[:, None] * slopes.by_mass)
        if slopes.by_size is not None:
            gradient = gradient + (self.blocks.size_transposed @ (weight * slopes.by_size)).reshape(gradient.shape)
        return gradient

    def curvature(self, a: FloatArray, sums: BlockSums) -> Curvature:
        """The Hessian of ``sum_k a_k c_k`` in the masses, as an operator."""
        weight = (self.factor_transposed @ a)[:, None]
        straight = self._visible(weight * self._phi("d_aa", sums.a, sums.w))
        if not self.any_open:
            return Curvature(self, straight)
        across = self._visible(weight * self._phi("d_aw", sums.a, sums.w))
        down = self._visible(weight * self._phi("d_ww", sums.a, sums.w)).sum(axis=1)
        return Curvature(self, straight, across, down)

    def gradients(self, rows: IntArray, slopes: Slopes) -> FloatArray:
        """Gradients of some constraints, shape (n_rows, n_groups, n_classes)."""
        row, group, each = self.pairs(rows, slopes)
        out = np.zeros((len(rows), self.blocks.incidence.shape[1], slopes.by_mass.shape[1]))
        out[row, group] = each
        if slopes.by_size is not None:
            weight = self.blocks.factor[rows].multiply(slopes.by_size).tocsr()
            out += (weight @ self.blocks.size_rows).toarray().reshape(out.shape)
        return out

    def pairs(self, rows: IntArray, slopes: Slopes) -> tuple[IntArray, IntArray, FloatArray]:
        """The same by the masses, as pairs: which constraint, a group, and its gradient, shape (n_pairs, n_classes)."""
        place = np.full(len(self), -1)
        place[rows] = np.arange(len(rows))
        factor, spread = self.blocks.factor, self._spread
        row = place[spread.row]
        chosen = row >= 0
        each = spread.of_factors @ (factor.data[:, None] * slopes.by_mass[factor.indices])
        return row[chosen], spread.group[chosen], each[chosen]

    def _sizes(self, size: FloatArray) -> FloatArray:
        """The size of each block beside each of its masses, shape (n_blocks, n_classes)."""
        return np.repeat(np.maximum(size, INVERTIBLE)[:, None], self.blocks.const.shape[1], axis=1)

    @cached_property
    def _spread(self) -> _Spread:
        incidence, factor = self.blocks.incidence, self.blocks.factor
        begin, end = incidence.indptr[factor.indices], incidence.indptr[factor.indices + 1]
        of_factor = np.repeat(np.arange(factor.nnz), end - begin)
        row = np.repeat(np.arange(len(self)), np.diff(factor.indptr))[of_factor]
        n_groups = incidence.shape[1]
        pairs, pair = np.unique(row * n_groups + incidence.indices[ranges(begin, end)], return_inverse=True)
        matrix = sparse.csr_matrix((np.ones(len(pair)), (pair, of_factor)), shape=(len(pairs), factor.nnz))
        return _Spread(*np.divmod(pairs, max(n_groups, 1)), fast(matrix))

    def _visible(self, values: FloatArray) -> FloatArray:
        return values if self.all_seen else np.where(self.blocks.seen, values, 0.0)

    def _phi(self, which: str, a: FloatArray, w: FloatArray) -> FloatArray:
        if len(self.blocks.phis) == 1:
            found: FloatArray = getattr(PHI[self.blocks.phis[0][0]], which)(a, w)
            return found
        out = np.empty_like(a)
        for name, part in self.blocks.phis:
            out[part] = getattr(PHI[name], which)(a[part], w[part])
        return out


@dataclass(frozen=True, slots=True, eq=False)
class Curvature:
    """``incidence' H incidence``, H diagonal (``straight``); where sizes are open, masses and sizes mix."""

    of: Comparisons
    straight: FloatArray  # (n_blocks, n_classes)
    across: FloatArray | None = None  # (n_blocks, n_classes): mass against size
    down: FloatArray | None = None  # (n_blocks,): size against size

    def __call__(self, change: FloatArray) -> FloatArray:
        """The product with a change of the masses, shape (n_groups, n_classes)."""
        moved = self.of.incidence @ change
        turned = self.straight * moved
        if self.across is None or self.down is None:
            product: FloatArray = self.of.transposed @ turned
            return product
        blocks = self.of.blocks
        grown = blocks.size_rows @ change.ravel()
        turned += self.across * grown[:, None]
        by_size = (self.across * moved).sum(axis=1) + self.down * grown
        product = self.of.transposed @ turned + (blocks.size_transposed @ by_size).reshape(change.shape)
        return product
