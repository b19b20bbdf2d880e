"""Values and derivatives of a `LiftedProgram`, vectorised, for ``ipopt:own``; softmax and dense systems.

The method names are those of cyipopt's callback object. Rows are ordered: linear rows, then nonlinear rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from maxent.constraints.program.impurity_numpy import PHI
from maxent.models.arrays import INVERTIBLE, FloatArray, IntArray

if TYPE_CHECKING:
    from maxent.constraints.lifting import LiftedProgram, LiftedTerms


class Derivatives:
    """Objective, constraints, Jacobian and Hessian of the Lagrangian; structures are of (row, column) pairs."""

    def __init__(self, program: LiftedProgram) -> None:
        self.program = program
        self.n_linear = program.matrix.shape[0]
        self.n_rows = self.n_linear + len(program.nl_const)

    # Structures wait until they are asked for: often the objective or the violation is all that is.

    @cached_property
    def _jacobian(self) -> tuple[IntArray, IntArray]:
        matrix = self.program.matrix
        rows = [np.repeat(np.arange(self.n_linear), np.diff(matrix.indptr))]
        columns = [matrix.indices.astype(np.int64)]
        for terms in self.program.terms:
            sized = terms.size_var >= 0
            rows += [self.n_linear + terms.row, self.n_linear + terms.row[sized]]
            columns += [terms.var, terms.size_var[sized]]
        return np.concatenate(rows), np.concatenate(columns)

    @cached_property
    def _hessian(self) -> tuple[IntArray, IntArray]:
        diagonal = np.arange(self.program.n)
        rows, columns = [diagonal], [diagonal]
        for terms in self.program.terms:
            sized = terms.size_var >= 0
            rows.append(np.maximum(terms.var[sized], terms.size_var[sized]))
            columns.append(np.minimum(terms.var[sized], terms.size_var[sized]))
        return np.concatenate(rows), np.concatenate(columns)

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bounds of all rows."""
        n = len(self.program.nl_const)
        return (
            np.concatenate([self.program.row_lower, -self.program.nl_const]),
            np.concatenate([self.program.row_upper, np.full(n, np.inf)]),
        )

    def objective(self, z: FloatArray) -> float:
        m = np.maximum(z[: self.program.n_masses], INVERTIBLE)
        return float((m * np.log(m / self.program.mass_weight)).sum()) - self._log_likelihood(z)

    def _log_likelihood(self, z: FloatArray) -> float:
        draws, noise = self.program.draws, self.program.noise
        lost = 0.0 if noise is None else float(noise.at(z[self.program.noisy]).sum())
        return (0.0 if draws is None else float(draws @ np.log(np.maximum(z[: self.program.n], INVERTIBLE)))) - lost

    def gradient(self, z: FloatArray) -> FloatArray:
        out = np.zeros(self.program.n)
        m = np.maximum(z[: self.program.n_masses], INVERTIBLE)
        out[: len(m)] = np.log(m / self.program.mass_weight) + 1.0
        if self.program.draws is not None:
            out -= self.program.draws / np.maximum(z[: self.program.n], INVERTIBLE)
        return out

    def constraints(self, z: FloatArray) -> FloatArray:
        nonlinear = np.zeros(len(self.program.nl_const))
        for terms in self.program.terms:
            a, w = _arguments(terms, z)
            nonlinear += np.bincount(terms.row, terms.coef * PHI[terms.phi].value(a, w), len(nonlinear))
        return np.concatenate([self.program.matrix @ z, nonlinear])

    def jacobianstructure(self) -> tuple[IntArray, IntArray]:
        return self._jacobian

    def jacobian(self, z: FloatArray) -> FloatArray:
        values = [self.program.matrix.data]
        for terms in self.program.terms:
            a, w = _arguments(terms, z)
            sized = terms.size_var >= 0
            values += [terms.coef * PHI[terms.phi].d_a(a, w), (terms.coef * PHI[terms.phi].d_w(a, w))[sized]]
        return np.concatenate(values)

    def hessianstructure(self) -> tuple[IntArray, IntArray]:
        return self._hessian

    def hessian(self, z: FloatArray, multipliers: FloatArray, objective_factor: float) -> FloatArray:
        diagonal = np.zeros(self.program.n)
        n = self.program.n_masses
        diagonal[:n] = objective_factor / np.maximum(z[:n], INVERTIBLE)
        if self.program.draws is not None:
            diagonal += objective_factor * self.program.draws / np.maximum(z[: self.program.n], INVERTIBLE) ** 2
        beside = []
        for terms in self.program.terms:
            a, w = _arguments(terms, z)
            factor = multipliers[self.n_linear + terms.row] * terms.coef
            sized = terms.size_var >= 0
            diagonal += np.bincount(terms.var, factor * PHI[terms.phi].d_aa(a, w), len(diagonal))
            if sized.any():
                ww = (factor * PHI[terms.phi].d_ww(a, w))[sized]
                diagonal += np.bincount(terms.size_var[sized], ww, len(diagonal))
            beside.append((factor * PHI[terms.phi].d_aw(a, w))[sized])
        return np.concatenate([diagonal, *beside])

    def violation(self, z: FloatArray) -> float:
        """The largest residual of any row or bound."""
        lower, upper = self.bounds()
        value = self.constraints(z)
        worst = np.maximum(np.maximum(lower - value, value - upper), 0.0).max(initial=0.0)
        out = np.maximum(np.maximum(self.program.lower - z, z - self.program.upper), 0.0).max(initial=0.0)
        return float(max(worst, out))


def _arguments(terms: LiftedTerms, z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``a`` and ``w`` of each term, kept off zero."""
    w = np.where(terms.size_var >= 0, z[terms.size_var], terms.size)
    return np.maximum(z[terms.var], INVERTIBLE), np.maximum(w, INVERTIBLE)


# Softmax within groups, for several storage orders.

Reduction = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class Exponentials:
    """Scores less the largest of their group, their exponentials, and the sums of each group."""

    largest: FloatArray
    shifted: FloatArray
    share: FloatArray
    sums: FloatArray


def exponentials(scores: FloatArray, largest: Reduction, summed: Reduction, spread: Reduction) -> Exponentials:
    """The parts of a softmax: ``share / spread(sums)``, with the logarithm ``shifted - spread(log(sums))``."""
    top = largest(scores)
    shifted = scores - spread(top)
    share = np.exp(shifted)
    return Exponentials(top, shifted, share, summed(share))


# Solves dense positive semidefinite systems: adds a ridge to make them definite.

Solve = Callable[[FloatArray], FloatArray]
# Unknowns up to which a general solver of NumPy is no slower than a triangular one of SciPy.
SMALL = 32


def cholesky(matrix: FloatArray, ridges: Iterable[float]) -> Solve | None:
    """A solver of ``(matrix + ridge I) x = r`` with the first ridge that makes it definite; None where none does."""
    for ridge in ridges:
        try:
            # NumPy's lets other threads run meanwhile.
            factor = np.asarray(np.linalg.cholesky(matrix + ridge * np.identity(len(matrix))), np.float64)
        except np.linalg.LinAlgError:
            continue

        def solve(r: FloatArray, factor: FloatArray = factor) -> FloatArray:
            if len(factor) <= SMALL:  # as fast, and small problems need not load SciPy's
                return np.asarray(np.linalg.solve(factor.T, np.linalg.solve(factor, r)))
            from scipy.linalg import solve_triangular

            half = solve_triangular(factor, r, lower=True, check_finite=False)
            return np.asarray(solve_triangular(factor, half, lower=True, trans="T", check_finite=False))

        return solve
    return None


def cholesky_in_place(matrix: FloatArray, ridges: Iterable[float]) -> Solve | None:
    """The same for a large matrix, which its factor overwrites; other threads wait for SciPy's factorisation."""
    from scipy.linalg import cho_solve
    from scipy.linalg.lapack import dpotrf

    own = matrix.diagonal().copy()
    columns = np.ascontiguousarray(matrix).T  # LAPACK's order, in which the factor needs no copy
    for ridge in ridges:
        columns[np.diag_indices_from(columns)] = own + ridge
        factor, info = dpotrf(columns, lower=1, clean=0, overwrite_a=1)
        if info == 0:
            return lambda r: np.asarray(cho_solve((factor, True), r, check_finite=False), np.float64)
        above = np.triu(columns, 1)  # the half that LAPACK leaves alone
        columns = np.asfortranarray(above + above.T)
    return None
