"""Finds rows that equations imply: interior-point methods need independent equations and inequalities with slack."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from maxent.models.arrays import BoolArray, FloatArray, IntArray

# Rows up to which a dense factorisation is quick; where more are left for it, all of them are kept.
MOST = 600
# Rounds of elimination; each looks at all rows that are left.
ROUNDS = 30
# Share of a row, and of its right side, that is rounding.
DEPENDENT = 1e-9


def independent_rows(
    matrix: sparse.csr_matrix, lower: FloatArray, upper: FloatArray, check: Callable[[], None] = lambda: None
) -> IntArray:
    """Rows of ``lower <= matrix z <= upper`` that say everything, without those whose value the equations fix.

    Such a row is an equation that repeats others, or an inequality (a label beside a rate of one half) that holds with
    equality everywhere; where the value contradicts its bounds, it is kept.

    An equation with a variable that no other equation has is independent of these, and that variable tells how often
    it is in a row that equations imply. So most equations are taken out of the question one after the other, and only
    what is left is factorised.

    Parameters
    ----------
    matrix : shape (n_rows, n)
    lower, upper : shape (n_rows,)
    check : callable
        Called before every round; it may raise.

    Returns
    -------
    IntArray
        Numbers of the rows to keep, increasing.
    """
    matrix = _clean(matrix.copy())
    left = (lower == upper) & (np.diff(matrix.indptr) > 0)  # equations that are still in question
    asked, value = ~left, np.zeros(len(lower))  # rows they may imply: row = matrix @ z + value, given those taken out
    for _ in range(ROUNDS):
        check()
        row, column = _row_of(matrix), matrix.indices
        often = np.bincount(column[left[row]], minlength=matrix.shape[1])
        asked[row[often[column] == 0]] = False
        own = left[row] & (often[column] == 1)
        if not own.any():
            break
        left[row[own]] = False
        if asked.any():
            factor = _factors(matrix, own, asked)
            value += factor @ np.where(lower == upper, lower, 0.0)
            matrix = _clean(matrix - factor @ matrix)
    done = np.flatnonzero(asked & (np.diff(matrix.indptr) == 0))
    asked[done] = False
    told = done[_agrees(value[done], lower[done], upper[done])]
    equations, others = np.flatnonzero(left), np.flatnonzero(asked)
    if len(equations) and len(equations) + len(others) <= MOST:
        rows = np.concatenate([equations, others])
        dense = matrix[rows][:, np.unique(matrix[rows].indices)].toarray()
        implied, more = _implied(dense, lower[equations])
        rows, more = rows[implied], value[rows[implied]] + more
        told = np.concatenate([told, rows[_agrees(more, lower[rows], upper[rows])]])
    return np.setdiff1d(np.arange(len(lower)), told)


def _clean(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    """Sort and add up the entries of a matrix, and drop rounding errors, in place."""
    matrix.sum_duplicates()
    matrix.data[np.abs(matrix.data) <= DEPENDENT] = 0.0
    matrix.eliminate_zeros()
    return matrix


def _row_of(matrix: sparse.csr_matrix) -> IntArray:
    """The row of every entry."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def _factors(matrix: sparse.csr_matrix, own: BoolArray, asked: BoolArray) -> sparse.csr_matrix:
    """Coefficients of the equations in each row that is asked about, shape (n_rows, n_rows)."""
    # ``own`` marks the entries of equations in variables that no other equation has. Over these, a row that the
    # equations imply is a multiple of the equation; a row that is not one is no longer asked about.
    row, column, n = _row_of(matrix), matrix.indices, matrix.shape[0]
    equation, coef = np.full(matrix.shape[1], -1, np.int64), np.ones(matrix.shape[1])
    equation[column[own]], coef[column[own]] = row[own], matrix.data[own]
    entry = np.flatnonzero(asked[row] & (equation[column] >= 0))
    key = row[entry] * n + equation[column[entry]]
    order = np.argsort(key, kind="stable")
    ratio = (matrix.data[entry] / coef[column[entry]])[order]
    pair, first, count = np.unique(key[order], return_index=True, return_counts=True)
    if not len(pair):
        return sparse.csr_matrix((n, n))
    least, most = np.minimum.reduceat(ratio, first), np.maximum.reduceat(ratio, first)
    same = most - least <= DEPENDENT * np.maximum(1.0, np.abs(most))
    complete = count == np.bincount(row[own], minlength=n)[pair % n]
    asked[pair[~(same & complete)] // n] = False
    used = asked[pair // n]
    return sparse.csr_matrix((least[used], (pair[used] // n, pair[used] % n)), shape=(n, n))


def _agrees(value: FloatArray, lower: FloatArray, upper: FloatArray) -> BoolArray:
    slack = DEPENDENT * np.maximum(1.0, np.abs(value))
    result: BoolArray = (value >= lower - slack) & (value <= upper + slack)
    return result


def _implied(rows: FloatArray, right: FloatArray) -> tuple[IntArray, FloatArray]:
    """Mask of the rows that the equations imply, the first rows with these right sides, and the implied values."""
    # Of the equations themselves, as many count as implied as the others imply; a QR factorisation with pivoting
    # chooses.
    from scipy.linalg import qr, solve_triangular

    n = len(right)
    basis, factor, order = qr(rows[:n].T, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(factor))
    rank = int((diagonal > DEPENDENT * max(diagonal[0], 1.0)).sum())
    tested = np.concatenate([order[rank:], np.arange(n, len(rows))])
    along = rows[tested] @ basis[:, :rank]
    beside = np.linalg.norm(rows[tested] - along @ basis[:, :rank].T, axis=1)
    implied = beside <= DEPENDENT * np.maximum(np.linalg.norm(rows[tested], axis=1), 1.0)
    value = solve_triangular(factor[:rank, :rank], along[implied].T).T @ right[order[:rank]]
    return tested[implied], value
