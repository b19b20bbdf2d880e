"""Iterative proportional fitting to intervals of sums: a cheap, good starting point.

Rows that share no mass are fitted together: each by the factor that its masses lack, the least that takes their sum
into its interval. Afterwards the owners' totals are restored. In the dual this is block coordinate descent, with the
multipliers of the rows and those of the owners in turn, every step of which is exact (Darroch & Ratcliff, "Generalized
iterative scaling for log-linear models", Ann. Math. Statist. 43, 1972; for inequalities Bregman, 1967).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from maxent.models.arrays import TINY, FloatArray, IntArray
from maxent.solvers.clock import Clock
from maxent.solvers.dual.linear_entropy import LinearEntropy

# Rows between looks at the clock.
LOOK = 256
# Blocks that are tried for a row, from the last: those of the row's tree, and of some before.
BACK = 64


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """Rows that share no mass: mass ``at[i]`` is in row ``rows[of[i]]``; ``low`` and ``high`` are logarithms."""

    rows: IntArray
    at: IntArray
    of: IntArray
    low: FloatArray
    high: FloatArray


def fitted(problem: LinearEntropy, sweeps: int, clock: Clock, start: FloatArray) -> FloatArray:
    """Multipliers after so many rounds of fitting every row once, shape (n_rows,); all coefficients are 1.

    They start from some that the rows allow.
    """
    blocks = _blocks(problem, clock)
    y = start.copy()
    masses = problem.masses(y)
    for done in range(sweeps):
        before = y.copy()
        for block in blocks:
            if clock.stop() is not None:  # halfway through a round the first rows are off again
                return before if done else y
            sums = np.bincount(block.of, masses[block.at], len(block.rows))
            without = np.log(np.maximum(sums, TINY)) - y[block.rows]
            new = np.clip(0.0, block.low - without, block.high - without)
            masses[block.at] *= np.exp(new - y[block.rows])[block.of]
            y[block.rows] = new
            masses = problem.restored(masses)
    return y


def _blocks(problem: LinearEntropy, clock: Clock) -> list[_Block]:
    """The rows in as few blocks as going through them once gives, none when that takes too long."""
    matrix = problem.matrix
    taken: list[npt.NDArray[np.bool_]] = []
    number = np.empty(len(problem.lower), np.int64)
    for row, (start, stop) in enumerate(zip(matrix.indptr[:-1].tolist(), matrix.indptr[1:].tolist(), strict=True)):
        if row % LOOK == 0 and clock.stop() is not None:
            return []
        masses = matrix.indices[start:stop]
        # The rows of a tree follow each other, so that the last block is the likeliest.
        back = range(len(taken) - 1, max(len(taken) - BACK, 0) - 1, -1)
        block = next((b for b in back if not taken[b][masses].any()), len(taken))
        if block == len(taken):
            taken.append(np.zeros(matrix.shape[1], bool))
        taken[block][masses] = True
        number[row] = block
    with np.errstate(divide="ignore"):
        low, high = np.log(np.maximum(problem.lower, 0.0)), np.log(np.maximum(problem.upper, TINY))
    return [
        _block(matrix, rows, low[rows], high[rows]) for rows in (np.flatnonzero(number == b) for b in range(len(taken)))
    ]


def _block(matrix: sparse.csr_matrix, rows: IntArray, low: FloatArray, high: FloatArray) -> _Block:
    chosen = matrix[rows]
    return _Block(rows, chosen.indices, np.repeat(np.arange(len(rows)), np.diff(chosen.indptr)), low, high)
