"""Equations that repeat others: an interior-point method wants linearly independent ones."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

MOST = 600
"""Equations up to which a dense factorisation is quick; beyond, all are kept."""

DEPENDENT = 1e-9
"""Diagonal of the triangular factor, relative to its largest, below which an equation depends on those before."""


def independent_rows(matrix: sparse.csr_matrix, lower: FloatArray, upper: FloatArray) -> IntArray:
    """Rows of ``lower <= matrix z <= upper`` that say everything, without equations that others imply.

    An equation whose left side is a combination of others' but whose right side contradicts it is kept.

    Parameters
    ----------
    matrix : shape (n_rows, n)
    lower, upper : shape (n_rows,)

    Returns
    -------
    IntArray
        Numbers of the rows to keep, increasing.
    """
    equations = np.flatnonzero(lower == upper)
    every = np.arange(matrix.shape[0])
    if not 1 < len(equations) <= MOST or not matrix.shape[1]:
        return every
    from scipy.linalg import qr, solve_triangular

    factor, order = qr(matrix[equations].toarray().T, mode="r", pivoting=True)
    diagonal = np.abs(np.diag(factor))
    rank = int((diagonal > DEPENDENT * max(diagonal[0], 1.0)).sum())
    if rank == len(equations):
        return every
    side = lower[equations][order]
    combination = solve_triangular(factor[:rank, :rank], factor[:rank, rank:])
    agrees = np.abs(combination.T @ side[:rank] - side[rank:]) <= DEPENDENT * np.maximum(1.0, np.abs(side[rank:]))
    return np.setdiff1d(every, equations[order[rank:][agrees]])
