"""Split comparisons with nonzero multipliers, as curves of sums of free masses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from maxent.constraints.impurity_numpy import PHI
from maxent.constraints.lifting.elimination import Elimination
from maxent.constraints.lifting.lifted_program import LiftedProgram
from maxent.models.arrays import TINY, BoolArray, FloatArray

# Changes below this share of a sum are small: what an entropy bends is then that of a cubic.
STRAIGHT = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Curved:
    """Rows ``const + sum_t coef[r, t] phi(a_t, size_t)`` in individuals, with ``a = sums m + shift``.

    ``entropy`` are the terms with ``phi = a ln(a / size)``; of the others it is ``a^2 / size``.
    """

    sums: FloatArray
    shift: FloatArray
    size: FloatArray
    entropy: BoolArray
    coef: FloatArray
    const: FloatArray

    def a(self, masses: FloatArray) -> FloatArray:
        """The sums at some masses."""
        found: FloatArray = self.sums @ masses + self.shift
        return found

    def rows(self, a: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The rows at some sums, and their gradients by the masses."""
        value, slope = np.zeros(len(a)), np.zeros(len(a))
        for name, some in (("entropy", self.entropy), ("gini", ~self.entropy)):
            value[some] = PHI[name].value(a[some], self.size[some])
            slope[some] = PHI[name].d_a(a[some], self.size[some])
        return self.const + self.coef @ value, (self.coef * slope) @ self.sums

    def phi(self, a: FloatArray) -> FloatArray:
        """The terms at some sums, 0 included, shape (..., n_terms)."""
        value = {name: PHI[name].value(np.maximum(a, TINY), self.size) for name in ("entropy", "gini")}
        found: FloatArray = np.where(self.entropy, value["entropy"], value["gini"])
        return found

    def slopes(self, a: FloatArray) -> FloatArray:
        """The slopes of the terms at some sums, which are positive, shape (..., n_terms)."""
        by_a = {name: PHI[name].d_a(a, self.size) for name in ("entropy", "gini")}
        found: FloatArray = np.where(self.entropy, by_a["entropy"], by_a["gini"])
        return found

    def bent(self, a: FloatArray, change: FloatArray) -> FloatArray:
        """Curvature bound: phi minus its tangent at a, divided by the squared change; it falls with the change."""
        x = np.maximum(change / a, -1.0)
        small = np.abs(x) < STRAIGHT
        far = np.where(small, 1.0, x)
        left = np.maximum(1.0 + far, np.finfo(float).tiny)
        cubic = 0.5 - x / 6.0 + x * x / 12.0
        found: FloatArray = np.where(small, cubic, (left * np.log(left) - far) / far**2) / a
        return np.where(self.entropy, found, 1.0 / self.size)


def curved(program: LiftedProgram, elimination: Elimination) -> Curved:
    """The comparisons of a program whose sizes of branches are known."""
    names = ["entropy" if terms.phi == "entropy" else "gini" for terms in program.terms]
    row, var, size = (
        np.concatenate([getattr(terms, name) for terms in program.terms]) for name in ("row", "var", "size")
    )
    coef = np.concatenate([terms.coef for terms in program.terms]) * program.nl_size[row]
    entropy = np.repeat([name == "entropy" for name in names], [len(terms.row) for terms in program.terms])
    key, of = np.unique(np.column_stack([var, entropy, size]), axis=0, return_inverse=True)
    of = of.ravel()
    n_rows, n_terms = len(program.nl_const), len(key)
    every = sparse.csr_matrix((coef, (row, of)), shape=(n_rows, n_terms)).toarray()
    pick = (np.ones(n_terms), (np.arange(n_terms), key[:, 0].astype(np.int64)))
    sums, shift = elimination.over_free(sparse.csr_matrix(pick, shape=(n_terms, program.n)))
    dense, is_entropy = sums.toarray(), key[:, 1] > 0
    # What is known is a constant.
    known = np.flatnonzero(~dense.any(axis=1) & (shift > 0))
    const = program.nl_const * program.nl_size
    for t in known.tolist():
        phi = PHI["entropy" if is_entropy[t] else "gini"]
        const = const + every[:, t] * phi.value(shift[t], key[t, 2])
    varies = dense.any(axis=1)
    return Curved(dense[varies], shift[varies], key[varies, 2], is_entropy[varies], every[:, varies], const)
