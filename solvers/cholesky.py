"""Dense systems with positive semidefinite matrices, made definite by a ridge."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from maxent.models.arrays import FloatArray

Solve = Callable[[FloatArray], FloatArray]


def cholesky(matrix: FloatArray, ridges: Iterable[float]) -> Solve | None:
    """A solver of ``(matrix + ridge I) x = r``, r of shape (n,) or (n, k), with the first ridge that makes it definite.

    None where none does.
    """
    from scipy.linalg import solve_triangular

    for ridge in ridges:
        try:
            # NumPy's lets other threads run meanwhile.
            factor = np.asarray(np.linalg.cholesky(matrix + ridge * np.identity(len(matrix))), np.float64)
        except np.linalg.LinAlgError:
            continue

        def solve(r: FloatArray, factor: FloatArray = factor) -> FloatArray:
            half = solve_triangular(factor, r, lower=True, check_finite=False)
            return np.asarray(solve_triangular(factor, half, lower=True, trans="T", check_finite=False))

        return solve
    return None
