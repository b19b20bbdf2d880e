"""Values and derivatives of a `LiftedProgram`, vectorised: used by ``ipopt:own``.

The method names are those of cyipopt's callback object. Rows are ordered: linear rows, then nonlinear rows.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from maxent.constraints.impurity_numpy import PHI
from maxent.constraints.lifting.lifted_program import LiftedProgram, Terms
from maxent.models.arrays import INVERTIBLE, FloatArray, IntArray


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
        draws = self.program.draws
        return 0.0 if draws is None else float(draws @ np.log(np.maximum(z[: self.program.n], INVERTIBLE)))

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


def _arguments(terms: Terms, z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``a`` and ``w`` of each term, kept off zero."""
    w = np.where(terms.size_var >= 0, z[terms.size_var], terms.size)
    return np.maximum(z[terms.var], INVERTIBLE), np.maximum(w, INVERTIBLE)
