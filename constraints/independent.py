"""Rows that equations imply: an interior-point method wants independent equations, and inequalities with slack."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

MOST = 600
"""Rows up to which a dense factorisation is quick; beyond, all are kept."""

DEPENDENT = 1e-9
"""Share of a row, and of its right side, that is rounding."""


def independent_rows(matrix: sparse.csr_matrix, lower: FloatArray, upper: FloatArray) -> IntArray:
    """Rows of ``lower <= matrix z <= upper`` that say everything, without those whose value the equations fix.

    Such a row is an equation that repeats others, or an inequality (a label beside a rate of one half) that holds with
    equality everywhere; where the value contradicts its bounds, it is kept.

    Parameters
    ----------
    matrix : shape (n_rows, n)
    lower, upper : shape (n_rows,)

    Returns
    -------
    IntArray
        Numbers of the rows to keep, increasing.
    """
    every = np.arange(matrix.shape[0])
    equations = np.flatnonzero(lower == upper)
    if not len(equations) or len(every) > MOST or not matrix.shape[1]:
        return every
    from scipy.linalg import qr, solve_triangular

    dense = matrix.toarray()
    basis, factor, order = qr(dense[equations].T, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(factor))
    rank = int((diagonal > DEPENDENT * max(diagonal[0], 1.0)).sum())
    independent = equations[order[:rank]]
    others = np.setdiff1d(every, independent)
    along = dense[others] @ basis[:, :rank]
    beside = np.linalg.norm(dense[others] - along @ basis[:, :rank].T, axis=1)
    implied = beside <= DEPENDENT * np.maximum(np.linalg.norm(dense[others], axis=1), 1.0)
    value = solve_triangular(factor[:rank, :rank], along.T).T @ lower[independent] if rank else np.zeros(len(others))
    slack = DEPENDENT * np.maximum(1.0, np.abs(value))
    agrees = (value >= lower[others] - slack) & (value <= upper[others] + slack)
    return np.setdiff1d(every, others[implied & agrees])
