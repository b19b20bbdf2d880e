"""The nonlinear program of one part, lifted so that every derivative is sparse.

Variables are the free masses of the part's groups, then *aggregates*: sums of masses that the impurities look at, each
with a linear row that defines it. An internal constraint is then ``sum_t coef_t phi(z[var_t], w_t) + const >= 0``,
separable over variables, and the Hessian of the Lagrangian is diagonal; only where private
attributes leave the size of a branch open is ``w_t`` a variable, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from maxent.constraints.impurity_numpy import PHI
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.errors import Origin


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """The terms ``coef * phi(z[var], w)`` of all nonlinear rows with one phi (``gini`` or ``entropy``).

    ``size`` is the constant w in individuals; where ``size_var >= 0`` that variable stands in its place. Terms of equal
    ``block`` are the classes of the same set of groups, and have the same row factors and size.
    """

    phi: str
    row: IntArray
    var: IntArray
    coef: FloatArray
    size: FloatArray
    size_var: IntArray
    block: IntArray


def tangents(phi: str, a: FloatArray, w: FloatArray, sized: BoolArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The tangents of ``phi(a, w)`` at some points: slopes by a, slopes by w, constants.

    Where w is a constant, not ``sized``, the slope by it is 0.

    Both phi are convex in both arguments together, so that nowhere a tangent lies above them.
    """
    by_a, by_w = PHI[phi].d_a(a, w), np.where(sized, PHI[phi].d_w(a, w), 0.0)
    return by_a, by_w, PHI[phi].value(a, w) - by_a * a - by_w * w


@dataclass(frozen=True, eq=False)
class LiftedProgram:
    """Minimise ``sum_i z_i ln(z_i / mass_weight_i)`` over masses, the first ``n_masses`` variables.

    Where there are ``draws``, shape (n,), ``sum_i draws_i ln z_i`` over all variables is subtracted: the likelihood.

    Subject to ``lower <= z <= upper``, ``row_lower <= matrix z <= row_upper`` and, for every nonlinear row,
    ``sum of its terms + nl_const >= 0``. Masses are individuals; nonlinear rows are in impurity units (per
    individual), about ``nl_size`` individuals each. ``origins`` name the linear rows that are statements (None: totals
    of quasi-identifiers, definitions).

    Mass i is that of class ``klass[i]`` in group ``group[i]`` of the part, of the pooled quasi-identifier ``owner[i]``,
    whose free masses add up to ``total[owner[i]]``: the linear rows of the quasi-identifiers, once more. The last
    `n_aggregates` linear rows define the aggregates, each from masses and aggregates before it.
    """

    group: IntArray
    klass: IntArray
    owner: IntArray
    total: FloatArray
    mass_weight: FloatArray
    lower: FloatArray
    upper: FloatArray
    matrix: sparse.csr_matrix
    row_lower: FloatArray
    row_upper: FloatArray
    terms: tuple[Terms, ...]
    nl_const: FloatArray
    nl_size: FloatArray
    origins: tuple[Origin | None, ...]
    nl_origins: tuple[Origin, ...]
    draws: FloatArray | None = None

    @property
    def n(self) -> int:
        return len(self.lower)

    @property
    def n_masses(self) -> int:
        return len(self.mass_weight)

    @property
    def n_aggregates(self) -> int:
        return self.n - self.n_masses

    @cached_property
    def convex_rows(self) -> BoolArray:
        """Mask of the convex nonlinear rows, shape (n_rows,): every phi that is not a constant is subtracted."""
        convex = np.ones(len(self.nl_const), bool)
        for terms in self.terms:
            convex[terms.row[terms.coef > 0]] = False
        return convex

    @property
    def convex(self) -> bool:
        """Whether the program is convex: every nonlinear row is."""
        return bool(self.convex_rows.all())
