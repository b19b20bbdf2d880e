"""Conjugate gradients for Newton's systems of the dual whose matrix is too full to be factored."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from maxent.models.arrays import FloatArray, IntArray
from maxent.solvers.clock import Clock
from maxent.solvers.dual.block_factors import RIDGE, Blocks
from maxent.solvers.dual.linear_entropy import LinearEntropy

STEPS = 300
"""Products with the matrix, at most."""

ACCURACY = 1e-2
"""Share of the right side, in the norm of the preconditioner, that may be left."""


def solve_by_conjugate_gradients(
    problem: LinearEntropy, masses: FloatArray, rows: IntArray, right: FloatArray, clock: Clock
) -> FloatArray:
    """Solve ``C J C' y = right`` for some rows, nearly, or as far as there is time.

    Rows may repeat each other as long as the right side agrees, as gradients do: the `RIDGE` that the blocks have on
    their diagonals is added here, too, lest rounding grows along what they repeat. The preconditioner is the blocks
    (Nocedal & Wright, "Numerical Optimization", 2006, section 5.1).
    """
    matrix = problem.matrix[rows]
    transposed = sparse.csr_matrix(matrix.T)
    variance = problem.variance(masses)
    ridge = RIDGE * (problem.squared[rows] @ variance)
    precondition = Blocks.of(matrix).factored(variance)
    y, left = np.zeros(len(rows)), right.copy()
    fitted = precondition(left)
    direction, now = fitted, float(left @ fitted)
    wanted = ACCURACY**2 * now
    for _ in range(STEPS):
        if now <= wanted or clock.stop() is not None:
            break
        product = matrix @ (masses * problem.centred(transposed @ direction, masses)) + ridge * direction
        curvature = float(direction @ product)
        if curvature <= 0:
            break
        y += now / curvature * direction
        left -= now / curvature * product
        fitted = precondition(left)
        before, now = now, float(left @ fitted)
        direction = fitted + now / before * direction
    return y
