"""Conjugate gradients for Newton's systems of the dual whose matrix is too full to be factored."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from maxent.models.arrays import FloatArray, IntArray
from maxent.solvers.clock import Clock
from maxent.solvers.dual.linear_entropy import LinearEntropy

STEPS = 1000
"""Products with the matrix, at most."""

ACCURACY = 1e-2
"""Share of the right side, in the norm of the preconditioner, that may be left."""

RIDGE, VANISHED = 1e-13, 1e-12
"""Shares of ``sum_i C_ri^2 m_i`` that are added to the diagonal, and that the preconditioner is at least."""


def solve_by_conjugate_gradients(
    problem: LinearEntropy, masses: FloatArray, rows: IntArray, size: FloatArray, right: FloatArray, clock: Clock
) -> FloatArray:
    """Solve ``C J C' y = right`` for some rows, nearly, or as far as there is time; ``size`` is ``sum_i C_ri^2 m_i``.

    Rows may repeat each other as long as the right side agrees, as gradients do. The preconditioner is the diagonal
    (Nocedal & Wright, "Numerical Optimization", 2006, section 5.1).
    """
    matrix = problem.matrix[rows]
    transposed = sparse.csr_matrix(matrix.T)
    diagonal = np.maximum(size - problem.pooled(matrix, masses), VANISHED * size)
    y, left = np.zeros(len(rows)), right.copy()
    fitted = left / diagonal
    direction, now = fitted, float(left @ fitted)
    wanted = ACCURACY**2 * now
    for _ in range(STEPS):
        if now <= wanted or clock.stop() is not None:
            break
        product = matrix @ (masses * problem.centred(transposed @ direction, masses)) + RIDGE * size * direction
        curvature = float(direction @ product)
        if curvature <= 0:
            break
        y += now / curvature * direction
        left -= now / curvature * product
        fitted = left / diagonal
        before, now = now, float(left @ fitted)
        direction = fitted + now / before * direction
    return y
