r"""Convex comparisons of splits, and their tangents.

A comparison ``sum_t c_t phi(z_t, w_t) + const >= 0`` has a convex phi. Where the classes in the branches of the chosen
split are known, every ``c_t`` is negative, and the comparison is convex: each of its tangents is a linear row that no
point which meets the comparison misses. All other comparisons are left out, which is sound.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from maxent.constraints.lifting.lifted_program import LiftedProgram, Terms, tangents
from maxent.models.arrays import FloatArray

# Impurity, per individual, by which a split that was chosen may be worse: inducers compare rounded numbers.
TIE = 1e-9
# Impurity, per individual, by which a point has to miss a comparison to be cut off.
VIOLATED = 1e-7
# Share of a branch's individuals that stands for 0 where a tangent is taken: that of an entropy at 0 is vertical.
CLOSEST = 1e-6


class ConvexComparisons:
    """The convex comparisons of a lifted program, but those of branches whose sizes are not known."""

    def __init__(self, program: LiftedProgram) -> None:
        self._n, self._const, self._size = program.n, program.nl_const, program.nl_size
        self._kept = program.convex_rows.copy()
        for terms in program.terms:
            self._kept[terms.row[terms.size_var >= 0]] = False
        self._terms = [self._of_kept(terms) for terms in program.terms]

    def _of_kept(self, terms: Terms) -> Terms:
        mine = self._kept[terms.row]
        names = ("row", "var", "coef", "size", "size_var", "block")
        return Terms(terms.phi, *(getattr(terms, name)[mine] for name in names))

    def cuts(self, z: FloatArray) -> tuple[sparse.csr_matrix, FloatArray]:
        """Rows ``matrix z >= lower``, individuals, that hold wherever comparisons do, and that a point z misses."""
        matrix = sparse.csr_matrix((len(self._const), self._n))
        constant, reach = self._const.copy(), np.abs(self._const)
        for terms in self._terms:
            at = np.maximum(z[terms.var], CLOSEST * terms.size)
            slope, _, offset = tangents(terms.phi, at, terms.size, np.zeros(len(at), bool))
            matrix += sparse.csr_matrix((terms.coef * slope, (terms.row, terms.var)), shape=matrix.shape)
            np.add.at(constant, terms.row, terms.coef * offset)
            np.add.at(reach, terms.row, np.abs(terms.coef * offset))
        missed = np.flatnonzero(self._kept & (matrix @ z + constant < -VIOLATED))
        scale, slack = self._size[missed], TIE + 1e-13 * reach[missed]
        return sparse.csr_matrix(sparse.diags(scale) @ matrix[missed]), -scale * (constant[missed] + slack)
