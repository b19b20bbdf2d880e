"""Newton steps and multipliers for the optimality conditions of a program, given the binding inequalities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from maxent.constraints.lifting import LiftedProgram, passive_chain
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.solvers.derivatives import Derivatives

# Multipliers of the wrong sign up to this (nats per individual) are rounding, or of rows that are only just met.
WRONG = 1e-7
# Proximal terms: optima that are not alone and active rows that depend on each other make the equations singular.
NEAR, NEAR_DUAL = 1e-5, 1e-12
# The largest share of the way to 0 that one step may go.
FAR = 0.9
# Entries of a program's Jacobian up to which matrices are dense: sparse ones cost more to begin with.
DENSE = 50_000
# A dense array, or a sparse matrix in rows.
Matrix = Any
# Shares of what a variable could be: how close to 0 it comes, and below which a mass starts there. Where the entropy
# of a chosen split is best at 0, Newton's method would run away from that.
CLOSEST, VANISHING = 1e-12, 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Active:
    """Active constraints of a point, and their multipliers.

    ``side`` of every row, linear rows first, and ``bound`` of every variable are -1 at the lower bound (and for
    equations), 1 at the upper one, 0 for neither. ``multipliers``, shape (n_rows,), are nats per unit of the row: the
    gradient of the objective plus multipliers times that of the rows vanishes where no bound is active.
    """

    multipliers: FloatArray
    side: IntArray
    bound: IntArray


class OptimalityConditions:
    """The optimality conditions of a program; ``own`` are its derivatives, ``equations`` says which rows are."""

    def __init__(self, program: LiftedProgram) -> None:
        self.program, self.own = program, Derivatives(program)
        self._lower, self._upper = self.own.bounds()
        self.equations: BoolArray = self._lower == self._upper
        self._fixed: BoolArray = program.upper <= program.lower
        self._largest = np.where(np.isfinite(program.upper), np.maximum(program.upper, 0.0), 1.0)
        self._dense = self.own.n_rows * program.n <= DENSE
        self._unit = np.concatenate([np.ones(self.own.n_linear), program.nl_size])

    def inside(self, z: FloatArray) -> FloatArray:
        """The point with every variable that 0 bounds from below above it."""
        positive: FloatArray = np.where(self.program.lower <= 0, np.maximum(z, CLOSEST * self._largest), z)
        return np.where(self._fixed, self.program.lower, positive)

    def vanishing(self, z: FloatArray) -> BoolArray:
        """Masses that go to 0."""
        small: BoolArray = (self.program.lower <= 0) & (z < VANISHING * self._largest)
        small[self.program.n_masses :] = False
        return small & ~self._fixed

    def reach(self, z: FloatArray, step: FloatArray) -> float:
        """The share of a step to take."""
        back = (step < 0) & (z > 0) & (self.program.lower >= 0)
        return float(min(1.0, FAR * (z[back] / -step[back]).min(initial=np.inf)))

    def step(
        self, z: FloatArray, y: FloatArray | None, side: IntArray, bound: IntArray
    ) -> tuple[FloatArray, FloatArray] | None:
        """Newton step of variables and multipliers; without multipliers the least step towards the active rows."""
        rows, columns = np.flatnonzero(side), np.flatnonzero(~self._fixed & (bound == 0))
        with np.errstate(all="ignore"):  # what is not finite is found below
            jacobian = self.jacobian(z)[rows][:, columns]
            missing = (self.own.constraints(z) - np.where(side < 0, self._lower, self._upper))[rows]
            chain = passive_chain(jacobian, self._passive(side)[columns])
            kept_rows, kept = _without(len(rows), [r for r, _ in chain]), _without(len(columns), [c for _, c in chain])
            scale = np.sqrt(np.maximum(np.abs(z[columns]), CLOSEST))[kept]
            core = jacobian[kept_rows][:, kept]
            hessian = np.eye(len(kept)) if self._dense else sparse.identity(len(kept), format="csr")
            slope = np.zeros(len(kept))
            if y is not None:
                used = columns[kept]
                hessian = _scaled(self.hessian(z, y)[used][:, used], scale, scale) + NEAR * hessian
                slope = scale * (self.own.gradient(z)[used] + core.T @ y[rows[kept_rows]])
            found = _solve(hessian, _scaled(core, np.ones(len(kept_rows)), scale), slope, missing[kept_rows])
        if found is None:
            return None
        of_columns, of_z, of_y = np.zeros(len(columns)), np.zeros(len(z)), np.zeros(len(side))
        of_columns[kept] = scale * found[0]
        for r, c in reversed(chain):
            defined = np.asarray(jacobian[r, c]).reshape(-1)
            of_columns[c] = -(missing[r] + jacobian[r] @ of_columns) / defined
            of_y[rows[r]] = 0.0 if y is None else -y[rows[r]]
        of_z[columns], of_y[rows[kept_rows]] = of_columns, found[1]
        return of_z, of_y

    def drop_wrong(self, z: FloatArray, y: FloatArray, side: IntArray, bound: IntArray) -> bool:
        """Release rows and bounds whose multiplier has the wrong sign; whether there were any."""
        sign = np.where(self.equations, 0.0, side * y / self._unit)
        pull = -bound * (self.own.gradient(z) + self.jacobian(z).T @ y)
        rows, bounds = sign < -WRONG, pull < -WRONG
        side[rows], bound[bounds] = 0, 0
        return bool(rows.any() or bounds.any())

    def add_violated(self, z: FloatArray, side: IntArray, bound: IntArray, tolerance: float) -> bool:
        """Make violated rows and bounds active; whether there were any."""
        value = self.own.constraints(z)
        changed = False
        for what, at, below, above in (
            (side, value, self._lower, self._upper),
            (bound, z, self.program.lower, self.program.upper),
        ):
            low, high = (what == 0) & (at < below - tolerance), (what == 0) & (at > above + tolerance)
            what[low], what[high] = -1, 1
            changed |= bool(low.any() or high.any())
        return changed

    def _passive(self, side: IntArray) -> BoolArray:
        """Aggregates that no active nonlinear row looks at, shape (n,)."""
        passive = np.ones(self.program.n, bool)
        passive[: self.program.n_masses] = False
        if self.program.draws is not None:
            passive[self.program.draws > 0] = False
        for terms in self.program.terms:
            active = side[self.own.n_linear + terms.row] != 0
            passive[terms.var[active]] = False
            passive[terms.size_var[active & (terms.size_var >= 0)]] = False
        return passive

    def jacobian(self, z: FloatArray) -> Matrix:
        return self._matrix(self.own.jacobian(z), *self.own.jacobianstructure(), (self.own.n_rows, self.program.n))

    def hessian(self, z: FloatArray, y: FloatArray) -> Matrix:
        rows, columns = self.own.hessianstructure()
        values = self.own.hessian(z, y, 1.0)
        n, beside = len(z), rows != columns
        return self._matrix(
            np.concatenate([values, values[beside]]),
            np.concatenate([rows, columns[beside]]),
            np.concatenate([columns, rows[beside]]),
            (n, n),
        )

    def _matrix(self, values: FloatArray, rows: IntArray, columns: IntArray, shape: tuple[int, int]) -> Matrix:
        """A matrix of its entries; several at one place add up."""
        if not self._dense:
            return sparse.csr_matrix((values, (rows, columns)), shape=shape)
        return np.bincount(rows * shape[1] + columns, values, shape[0] * shape[1]).reshape(shape)


def _without(n: int, left_out: list[IntArray]) -> IntArray:
    kept = np.ones(n, bool)
    for numbers in left_out:
        kept[numbers] = False
    return np.flatnonzero(kept)


def _scaled(matrix: Matrix, left: FloatArray, right: FloatArray) -> Matrix:
    """``diag(left) matrix diag(right)``."""
    if isinstance(matrix, np.ndarray):
        return left[:, None] * matrix * right
    by_row = np.repeat(left, np.diff(matrix.indptr))
    return sparse.csr_matrix(
        (by_row * matrix.data * right[matrix.indices], matrix.indices, matrix.indptr), matrix.shape
    )


def _solve(
    hessian: Matrix, rows: Matrix, slope: FloatArray, missing: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """Step ``d`` and change of multipliers ``e``: ``hessian d + rows' e = -slope``, ``rows d = -missing``."""
    dense = isinstance(rows, np.ndarray)
    squares = rows * rows if dense else rows.multiply(rows)
    norm = np.sqrt(np.asarray(squares.sum(axis=1)).reshape(-1))
    per = np.divide(1.0, norm, out=np.ones_like(norm), where=norm > 0)
    unit = _scaled(rows, per, np.ones(rows.shape[1]))
    right = -np.concatenate([slope, per * missing])
    system = _dense_system(hessian, unit) if dense else _sparse_system(hessian, unit)
    if system is None or not np.isfinite(right).all():
        return None
    matrix, solve = system
    found = solve(right)
    found += solve(right - matrix @ found)
    if not np.isfinite(found).all():
        return None
    return found[: len(slope)], per * found[len(slope) :]


def _dense_system(
    hessian: FloatArray, unit: FloatArray
) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]] | None:
    """The KKT matrix and its factorisation, None where it is singular."""
    from scipy.linalg.lapack import dgetrf, dgetrs

    matrix = np.block([[hessian, unit.T], [unit, -NEAR_DUAL * np.eye(len(unit))]])
    if not np.isfinite(matrix).all():
        return None
    factors, pivots, wrong = dgetrf(matrix)
    return None if wrong else (matrix, lambda right: dgetrs(factors, pivots, right)[0])


def _sparse_system(
    hessian: sparse.csr_matrix, unit: sparse.csr_matrix
) -> tuple[sparse.csc_matrix, Callable[[FloatArray], FloatArray]] | None:
    """The same where most entries are 0."""
    from scipy.sparse.linalg import splu

    (n_rows, n), more = unit.shape, np.arange(unit.shape[0]) + hessian.shape[0]
    row, beside = np.repeat(more, np.diff(unit.indptr)), np.repeat(np.arange(n), np.diff(hessian.indptr))
    values = np.concatenate([hessian.data, unit.data, unit.data, np.full(n_rows, -NEAR_DUAL)])
    at = np.concatenate([beside, row, unit.indices, more]), np.concatenate([hessian.indices, unit.indices, row, more])
    matrix = sparse.csc_matrix((values, at), shape=(n + n_rows, n + n_rows))
    if not np.isfinite(matrix.data).all():
        return None
    try:
        factors = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.1)  # its pattern is symmetric
    except RuntimeError:  # exactly singular
        return None
    return matrix, factors.solve


# Multipliers of rows fitted to a gradient, with the signs of the optimality conditions.
#
# Where rows depend on each other many multipliers fit, and those of least norm may have wrong signs although others
# have none: three masses that sum to 3, each at most 1, are all at their bound, and any two bounds seem one too many.

# Share of the largest singular value, and of the largest slope, that counts as 0.
RANK, PULL = 1e-10, 1e-10
# Rows from which on products of two are quicker than singular values; and how far a row of length 1 is, at least, from
# all those before it, where that is as exact.
MANY, SAFE = 64, 1e-4


def fitted(rows: sparse.csr_matrix, gradient: FloatArray, sign: IntArray) -> FloatArray:
    """``y``, shape (n_rows,), with the least ``|gradient + rows' y|`` and ``sign * y >= 0``."""
    free, held = np.flatnonzero(sign == 0), np.flatnonzero(sign)
    known = rows[free]
    columns = np.column_stack([-gradient, rows[held].toarray().T * sign[held]])
    weights = _combined(known, columns)
    left = columns - known.T @ weights
    size = _not_negative(left[:, 1:], left[:, 0])
    y = np.zeros(len(sign))
    y[held], y[free] = sign[held] * size, weights[:, 0] - weights[:, 1:] @ size
    return y


def _combined(rows: sparse.csr_matrix, columns: FloatArray) -> FloatArray:
    """``x`` with the least ``|columns - rows' x|``: of many rows by the products of any two, once refined."""
    if len(rows.indptr) > MANY:
        from scipy.linalg.lapack import dpotrf, dpotrs

        of = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        size = np.sqrt(np.bincount(of, rows.data**2, rows.shape[0]))
        per = np.divide(1.0, size, out=np.zeros(len(size)), where=size > 0)
        unit = _scaled(rows, per, np.ones(rows.shape[1]))
        factor, wrong = dpotrf((unit @ unit.T).toarray(), lower=1)
        if not wrong and factor.diagonal().min() > SAFE:
            found = dpotrs(factor, unit @ columns, lower=1)[0]
            found += dpotrs(factor, unit @ (columns - unit.T @ found), lower=1)[0]
            return np.asarray(per[:, None] * found)
    return np.asarray(np.linalg.lstsq(rows.toarray().T, columns, rcond=RANK)[0])


def _not_negative(columns: FloatArray, target: FloatArray) -> FloatArray:
    """``x >= 0`` with the least ``|columns x - target|``, by active sets (Lawson & Hanson, 1974, chapter 23)."""
    n = columns.shape[1]
    x, inside = np.zeros(n), np.zeros(n, bool)
    norm = np.sqrt((columns * columns).sum(axis=0))
    enough = PULL * float(np.linalg.norm(target))
    for _ in range(3 * n):
        slope = np.divide(columns.T @ (target - columns @ x), norm, out=np.zeros(n), where=norm > RANK)
        slope[inside] = -np.inf
        if slope.max(initial=-np.inf) <= enough:
            break
        inside[slope.argmax()] = True
        while True:
            new = np.zeros(n)
            new[inside] = np.linalg.lstsq(columns[:, inside], target, rcond=RANK)[0]
            down = inside & (new <= 0)
            if not down.any():
                break
            share = np.divide(x, x - new, out=np.full(n, np.inf), where=down & (x > new))
            step = float(share[down].min())
            x = x + (min(step, 1.0) if np.isfinite(step) else 0.0) * (new - x)
            inside &= ~(down & (share <= step))
            x[~inside] = 0.0
        x = new
    return x
