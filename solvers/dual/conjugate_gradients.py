"""Conjugate gradients (Nocedal & Wright, "Numerical Optimization", 2006, section 5.1): for all who take them.

The loop stands twice: here, and in `maxent.solvers.newton.stacked.steps` for many small systems side by side, where
each number is an array over these and those that have ended stand still.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from maxent.models.arrays import FloatArray, IntArray
from maxent.solvers.clock import Clock
from maxent.solvers.dual.linear_entropy import LinearEntropy

# Products with the matrix, at most.
STEPS = 300
# Share of the right side, in the norm of the preconditioner, that may be left.
ACCURACY = 1e-2


class Conjugate:
    """Directions that are conjugate for ``apply``, beginning with the preconditioned ``right`` side.

    ``direction`` is the current one, ``size`` the inner product of what is ``left`` of the right side with itself,
    preconditioned; `look` multiplies, and `go` passes to the next direction.
    """

    def __init__(
        self,
        apply: Callable[[FloatArray], FloatArray],
        right: FloatArray,
        precondition: Callable[[FloatArray], FloatArray] = lambda left: left,
        dot: Callable[[FloatArray, FloatArray], float] = lambda a, b: float(a @ b),
    ) -> None:
        self._apply, self._precondition, self._dot = apply, precondition, dot
        self.left = right
        self.direction = precondition(right)
        self.size = dot(right, self.direction)

    def look(self) -> float:
        """The curvature along the direction; sets ``product``, the result of ``apply``."""
        self.product = self._apply(self.direction)
        self.curvature = self._dot(self.direction, self.product)
        return self.curvature

    def go(self) -> float:
        """Take the step along the direction; returns the share of it that the next direction keeps."""
        self.left = self.left - (self.size / self.curvature) * self.product
        fitted = self._precondition(self.left)
        before, self.size = self.size, self._dot(self.left, fitted)
        kept = self.size / before
        self.direction = fitted + kept * self.direction
        return kept


def cg(system: Conjugate, accuracy: float, most: int, late: Callable[[], bool]) -> FloatArray:
    """Solve a system nearly: at most ``most`` products, until ``accuracy`` times the right side is left or it is late.

    Sizes are those of the preconditioner's norm. Where a direction has no curvature, the solution so far is returned.
    """
    found, wanted = np.zeros_like(system.left), accuracy**2 * system.size
    for _ in range(most):
        if system.size <= wanted or late() or system.look() <= 0:
            break
        found = found + (system.size / system.curvature) * system.direction
        system.go()
    return found


def solve_by_conjugate_gradients(
    problem: LinearEntropy, masses: FloatArray, rows: IntArray, right: FloatArray, clock: Clock
) -> FloatArray:
    """Solve ``C J C' y = right`` for some rows, nearly, or as far as there is time.

    Rows may repeat each other as long as the right side agrees, as gradients do: the `RIDGE` that the blocks have on
    their diagonals is added here, too, lest rounding grows along what they repeat. The preconditioner is the blocks.
    """
    from maxent.solvers.dual.block_factors import RIDGE, Blocks  # others who take `cg` do without

    matrix = problem.matrix[rows]
    transposed = sparse.csr_matrix(matrix.T)
    variance = problem.variance(masses)
    ridge = RIDGE * (problem.squared[rows] @ variance)
    precondition = Blocks.of(matrix).factored(variance)

    def product(direction: FloatArray) -> FloatArray:
        spread = problem.centred(transposed @ direction, masses)
        applied: FloatArray = matrix @ (masses * spread) + ridge * direction
        return applied

    found: FloatArray = cg(Conjugate(product, right, precondition), ACCURACY, STEPS, lambda: clock.stop() is not None)
    return found
