"""Solves dense positive semidefinite systems: adds a ridge to make them definite."""

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
