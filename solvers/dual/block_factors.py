r"""Block-diagonal preconditioner of the Hessian, for conjugate gradients with overlapping statements.

Rows that share masses, directly or by way of others, are one block: with counts of several trees, the rows of one
class. The Hessian ``C J C'`` couples blocks by the owners' totals alone, ``J = diag(m) - sum_o m_o m_o' / t_o``. Left
out, J becomes its diagonal ``diag(m (1 - m / t))``, which is never less than half of it (a Laplacian), and the blocks
``B_b = C_b diag(m (1 - m / t)) C_b'`` are factored one by one.

A block is a matrix of its rows. Where it has fewer masses than rows it is singular, and what is factored has the size
of the masses: with ``D = diag(m (1 - m / t))`` and a small r, by the Woodbury identity,

    (C_b D C_b' + r)^-1 = (1 - C_b (r D^-1 + C_b' C_b)^-1 C_b') / r.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from maxent.constraints.components import components
from maxent.models.arrays import INVERTIBLE, FloatArray, IntArray

# Added to the diagonal of the Hessian, as a share of it: rows may repeat each other.
RIDGE = 1e-12
# Times that, the first with which a block can be factored.
FIRMER = (1.0, 1e2, 1e4, 1e6)
# The same for a matrix that has its ridge already.
UNCHANGED = (0.0, *FIRMER)
# Share of its block's largest diagonal entry that a row has at least.
VANISHED = 1e-12
# Rows up to which a block is factored by rows however few masses it has.
SMALL = 2_000
# Rows, or masses if these are fewer, from which on a block is replaced by its diagonal: 1.2 GB.
LARGEST = 12_000
# Masses whose columns are dense at a time.
CHUNK = 4_096
# Share of entries that are not 0 from which on dense products are quicker.
FILLED = 0.07
Solve = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """The blocks of a matrix: for each, its rows, the masses in them, and what it is of these."""

    parts: tuple[tuple[IntArray, IntArray, sparse.csr_matrix], ...]

    @classmethod
    def of(cls, matrix: sparse.csr_matrix) -> Blocks:
        """Divide a matrix of shape (n_rows, n) whose rows all have a coefficient."""
        n_rows, n = matrix.shape
        of_entry = np.repeat(np.arange(n_rows), np.diff(matrix.indptr))
        of_row = components(n_rows + n, of_entry, n_rows + matrix.indices.astype(np.int64))[:n_rows]
        order = np.argsort(of_row, kind="stable")
        parts = []
        for rows in np.split(order, np.flatnonzero(np.diff(of_row[order])) + 1):
            mine = matrix[rows]
            masses = np.unique(mine.indices)
            parts.append((rows, masses, sparse.csr_matrix(mine[:, masses])))
        return cls(tuple(parts))

    def factored(self, variance: FloatArray) -> Solve:
        """An approximate solver with all blocks, for ``variance = m (1 - m / t)`` of every mass, individuals."""
        solvers = [(rows, _factored(block, variance[masses])) for rows, masses, block in self.parts]

        def solve(right: FloatArray) -> FloatArray:
            out = np.empty_like(right)
            for rows, part in solvers:
                out[rows] = part(right[rows])
            return out

        return solve


def _factored(block: sparse.csr_matrix, variance: FloatArray) -> Solve:
    from scipy.linalg import cho_solve

    n_rows, n_masses = block.shape
    size = block.multiply(block) @ variance
    size = np.maximum(size, max(VANISHED * size.max(), INVERTIBLE))
    if min(n_rows, n_masses) > LARGEST or n_rows == 1:
        return lambda right: right / size
    if n_masses < n_rows and n_rows > SMALL:
        return _by_masses(block, variance, RIDGE * float(size.max()))
    scale = 1 / np.sqrt(size)
    rooted = sparse.diags_array(scale) @ block @ sparse.diags_array(np.sqrt(variance))
    factor = _cholesky(_gram(sparse.csr_matrix(rooted)), FIRMER)
    return lambda right: scale * cho_solve(factor, scale * right, check_finite=False)


def _by_masses(block: sparse.csr_matrix, variance: FloatArray, ridge: float) -> Solve:
    """Solve with ``C D C' + ridge`` by a factor of the masses' size."""
    from scipy.linalg import cho_solve

    transposed = sparse.csr_matrix(block.T)
    root = np.sqrt(np.maximum(variance, INVERTIBLE))
    scale = root / np.sqrt(ridge + root**2 * np.asarray(transposed.multiply(transposed).sum(axis=1)).ravel())
    factor = _cholesky(_gram(sparse.csr_matrix(sparse.diags_array(scale) @ transposed)), UNCHANGED)

    def solve(right: FloatArray) -> FloatArray:
        inner = scale * cho_solve(factor, scale * (transposed @ right), check_finite=False)
        result: FloatArray = (right - block @ inner) / ridge
        return result

    return solve


def _gram(rows: sparse.csr_matrix) -> FloatArray:
    """``rows rows'``, dense."""
    n_rows, n = rows.shape
    if rows.nnz < FILLED * n_rows * n:
        return np.asarray((rows @ rows.T).toarray())
    columns, out = sparse.csc_matrix(rows), np.zeros((n_rows, n_rows))
    for begin in range(0, n, CHUNK):
        dense = columns[:, begin : begin + CHUNK].toarray()
        out += dense @ dense.T
    return out


def _cholesky(product: FloatArray, ridges: tuple[float, ...]) -> tuple[FloatArray, bool]:
    """The factor of a matrix that may be singular, and whose diagonal is 1, with the first of some ridges."""
    from scipy.linalg import cho_factor

    for ridge in ridges:
        product[np.diag_indices_from(product)] = 1.0 + ridge * RIDGE
        try:
            factor: tuple[FloatArray, bool] = cho_factor(product, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            continue
        return factor
    return np.identity(len(product)), True
