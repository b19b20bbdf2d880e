"""The convex relaxation of a program: its linear rows and its convex rows, over the free masses.

Fixed variables are replaced by their values and aggregates by what defines them, so that only the free masses, those
with room between their bounds, are left. Every feasible point of the program satisfies all of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy import sparse

from maxent.constraints.impurity_numpy import PHI
from maxent.constraints.lifting.elimination import Elimination, eliminate
from maxent.constraints.lifting.lifted_program import LiftedProgram, Terms, tangents
from maxent.models.arrays import TINY, FloatArray, IntArray
from maxent.solvers.dual.likely_rows import LikelyEntropy
from maxent.solvers.dual.linear_entropy import LinearEntropy

# Share of its size that an aggregate has at least in a tangent, so that the slope of a logarithm is finite.
FLOOR = 1e-10
# Times as much as it can be that a sum with a logarithm may be: its multiplier does not get there.
FAR = 4.0


@dataclass(frozen=True, slots=True, eq=False)
class ConvexRows:
    """Rows ``const + sum of terms >= 0`` that are concave in ``z = expand m + shift``, with m the free masses.

    They are rows of a program times the individuals that these are about, ``size``.
    """

    expand: sparse.csr_matrix
    shift: FloatArray
    terms: tuple[Terms, ...]
    const: FloatArray
    size: FloatArray

    @property
    def n_rows(self) -> int:
        return len(self.const)

    def values(self, masses: FloatArray) -> FloatArray:
        """The left sides at some free masses, shape (n_rows,), impurity times individuals."""
        out = self.const.copy()
        for terms, a, w in self._arguments(masses):
            out += np.bincount(terms.row, terms.coef * PHI[terms.phi].value(a, w), len(out))
        return out

    def cuts(self, masses: FloatArray, rows: IntArray) -> tuple[sparse.csr_matrix, FloatArray]:
        """Linear rows ``matrix m >= lower`` that follow from some of the rows: their tangents at some free masses.

        A concave function lies below its tangents, so that ``0 <= c(z)`` implies ``0 <= c(z0) + c'(z0) (z - z0)``.
        """
        shape = (self.n_rows, len(self.shift))
        slope, at_zero = sparse.csr_matrix(shape), self.const.copy()
        for terms, a, w in self._arguments(masses):
            sized = terms.size_var >= 0
            by_a, by_w, const = (terms.coef * part for part in tangents(terms.phi, a, w, sized))
            at_zero += np.bincount(terms.row, const, self.n_rows)
            slope += sparse.csr_matrix((by_a, (terms.row, terms.var)), shape=shape)
            slope += sparse.csr_matrix((by_w[sized], (terms.row[sized], terms.size_var[sized])), shape=shape)
        slope = slope[rows]
        return sparse.csr_matrix(slope @ self.expand), -(at_zero[rows] + slope @ self.shift)

    def _arguments(self, masses: FloatArray) -> Iterator[tuple[Terms, FloatArray, FloatArray]]:
        """The terms of each phi with their ``a`` and ``w``, kept off 0: tangents are valid wherever they touch."""
        z = self.expand @ masses + self.shift
        for terms in self.terms:
            w = np.maximum(np.where(terms.size_var >= 0, z[terms.size_var], terms.size), FLOOR)
            yield terms, np.maximum(z[terms.var], FLOOR * w), w


@dataclass(frozen=True, slots=True, eq=False)
class Relaxation:
    """Every linear row of a program, bounds included, and every convex one, over its free masses.

    ``elimination`` numbers these among the program's variables; ``constant`` is the entropy of the fixed ones, nats.
    """

    linear: LinearEntropy
    convex: ConvexRows
    constant: float
    elimination: Elimination


def relax(program: LiftedProgram) -> Relaxation:
    """The relaxation of a program; it has all of a program that is convex.

    Only a program some of whose definitions were left out as redundant can lose more than its non-convex rows: those
    over the aggregates that nothing defines any more.
    """
    fixed = program.lower >= program.upper
    held = np.flatnonzero(fixed[: program.n_masses])
    known, weight = program.lower[held], program.mass_weight[held]
    total = program.total - np.bincount(program.owner[held], known, len(program.total))
    elimination, defining = eliminate(program, fixed)
    constant = -(known * np.log(np.where(known > 0, known / weight, 1.0))).sum()
    linear = _linear(program, elimination, defining, np.maximum(total, 0.0))
    return Relaxation(linear, _convex(program, elimination), float(constant), elimination)


@lru_cache(maxsize=1)
def relaxed_once(program: LiftedProgram) -> Relaxation:
    """`relax`, once for a small program that several proofs look at."""
    return relax(program)


def likely(program: LiftedProgram, relaxed: Relaxation) -> tuple[LikelyEntropy, float]:
    """The linear rows with the draws of a program, and what its draws of fixed variables add to the objective, nats.

    A drawn sum that a linear row bounds, too, is one row.
    """
    assert program.draws is not None
    linear, n = relaxed.linear, program.n
    drawn = np.flatnonzero(program.draws)
    pick = sparse.csr_matrix((np.ones(len(drawn)), (np.arange(len(drawn)), drawn)), shape=(len(drawn), n))
    matrix, shift = relaxed.elimination.over_free(pick)
    draws, free = program.draws[drawn], np.diff(matrix.indptr) > 0
    constant = float(draws[~free] @ np.log(np.maximum(shift[~free], TINY)))
    matrix, draws, shift, drawn = matrix[free], draws[free], shift[free], drawn[free]
    low = np.maximum(program.lower[drawn] - shift, -shift)
    whole, together = _people(linear, matrix)
    high = np.full(len(draws), np.inf)  # what the variables of a sum imply is none of its ends: it would be a kink
    among = np.bincount(together, draws)[together]
    number = {_support(matrix, r): r for r in range(len(draws) - 1, -1, -1)}
    beside = np.ones(len(linear.lower), bool)
    for r in range(len(linear.lower)):
        at = number.get(_support(linear.matrix, r))
        if at is not None and linear.lower[r] < linear.upper[r]:
            low[at], beside[r] = max(low[at], linear.lower[r]), False
            if linear.upper[r] < whole[at]:
                high[at] = min(high[at], linear.upper[r])
    high = np.where(np.isinf(high), FAR * (whole + np.abs(shift)), np.maximum(high, low))
    rest, none = np.flatnonzero(beside), np.zeros(len(draws))
    rows = replace(
        linear,
        matrix=sparse.csr_matrix(sparse.vstack([matrix, linear.matrix[rest]])),
        lower=np.concatenate([none, linear.lower[rest]]),
        upper=np.concatenate([none, linear.upper[rest]]),
    )
    ends = (np.concatenate([v, np.zeros(len(rest))]) for v in (draws, shift, low, high, draws / among))
    return LikelyEntropy(rows, *ends), constant


def _people(linear: LinearEntropy, matrix: sparse.csr_matrix) -> tuple[FloatArray, IntArray]:
    """The individuals that each row is about, and a number that rows about the same ones share, shapes (n_rows,)."""
    n = len(linear.owner)
    owners = sparse.csr_matrix((np.ones(n), (np.arange(n), linear.owner)), shape=(n, len(linear.total)))
    held = sparse.csr_matrix((np.ones(matrix.nnz), matrix.indices, matrix.indptr), shape=matrix.shape) @ owners
    held.data[:] = 1.0
    number: dict[tuple[bytes, bytes], int] = {}
    together = [number.setdefault(_support(held, r), len(number)) for r in range(held.shape[0])]
    return np.asarray(held @ linear.total), np.array(together, np.int64)


def _support(matrix: sparse.csr_matrix, row: int) -> tuple[bytes, bytes]:
    """Key of equal rows: the columns, increasing, and the coefficients."""
    start, stop = matrix.indptr[row : row + 2]
    columns, values = matrix.indices[start:stop], matrix.data[start:stop]
    order = np.argsort(columns, kind="stable")
    return columns[order].astype(np.int64).tobytes(), values[order].tobytes()


def _linear(program: LiftedProgram, elimination: Elimination, defining: IntArray, total: FloatArray) -> LinearEntropy:
    """The statements, and the bounds of single masses that do not follow from their owner's total."""
    free, n = elimination.free, program.n_masses
    statement = np.array([origin is not None for origin in program.origins], bool)
    statement |= np.diff(program.matrix[:, n:].indptr) > 0  # of the others, totals of quasi-identifiers are left out
    statement[defining] = False
    rows = np.flatnonzero(statement)
    matrix, moved = elimination.over_free(program.matrix[rows])
    told = (np.diff(matrix.indptr) > 0) & ~np.isnan(moved)
    owner = program.owner[free]
    low = np.where(program.lower[free] > 0, program.lower[free], -np.inf)
    high = np.where(program.upper[free] < total[owner], program.upper[free], np.inf)
    boxed = np.isfinite(low) | np.isfinite(high)
    return LinearEntropy(
        owner,
        total,
        program.mass_weight[free],
        sparse.csr_matrix(sparse.vstack([matrix[told], sparse.identity(len(free), format="csr")[boxed]])),
        np.concatenate([(program.row_lower[rows] - moved)[told], low[boxed]]),
        np.concatenate([(program.row_upper[rows] - moved)[told], high[boxed]]),
    )


def _convex(program: LiftedProgram, elimination: Elimination) -> ConvexRows:
    """The convex rows over variables that are known in terms of the free masses."""
    take = program.convex_rows.copy()
    used = [terms.var[take[terms.row]] for terms in program.terms]
    used += [terms.size_var[take[terms.row] & (terms.size_var >= 0)] for terms in program.terms]
    names = np.unique(np.concatenate([np.empty(0, np.int64), *used]))
    pick = sparse.csr_matrix((np.ones(len(names)), (names, names)), shape=(program.n, program.n))
    expand, shift = elimination.over_free(pick)
    for terms in program.terms:
        sizes = np.where(terms.size_var >= 0, shift[terms.size_var], 0.0)
        take[terms.row[np.isnan(shift[terms.var] + sizes)]] = False
    number = np.cumsum(take) - 1
    chosen = []
    for terms in program.terms:
        mine = take[terms.row]
        coef = terms.coef * program.nl_size[terms.row]
        chosen.append(
            Terms(
                terms.phi,
                number[terms.row[mine]],
                terms.var[mine],
                coef[mine],
                terms.size[mine],
                terms.size_var[mine],
                terms.block[mine],
            )
        )
    size = program.nl_size[take]
    return ConvexRows(expand, np.nan_to_num(shift), tuple(chosen), program.nl_const[take] * size, size)
