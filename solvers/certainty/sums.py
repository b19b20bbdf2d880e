"""The least and the largest sums over masses, by linear programs over all linear statements of a program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from maxent.solvers.certainty.bounds import WHOLE

if TYPE_CHECKING:
    from maxent.constraints.program.program import Program
    from maxent.models.arrays import FloatArray, IntArray

# Rows times cells up to which linear programs are asked.
SIZE = 20_000_000


def sum_ends(
    program: Program, aims: FloatArray, hear: Callable[[IntArray], None] | None = None
) -> Iterator[tuple[float, float]]:
    """The least and the largest of sums over masses by linear programs; infinite where these end without an answer.

    ``hear`` is told answers that are whole people, shape (n_cells, n_classes), unless splits are compared.
    """
    from scipy.optimize import linprog

    found, lower, upper, _ = sparse_rows(program)
    n_classes, n = program.n_classes, len(program.cells)
    # People with all their cells and classes alike in every row are one: masses add up.
    columns = np.concatenate([found.toarray().reshape(-1, n, n_classes), aims]).transpose(1, 0, 2).reshape(n, -1)
    if program.single:
        kinds, kind = np.unique(columns, axis=0, return_inverse=True)
        size = np.bincount(kind.ravel(), program.weight, len(kinds))
        of, totals = np.arange(len(kinds)), size
    else:
        kinds, kind = columns, np.arange(n)
        of, totals = program.cells.owner, program.table.counts.astype(np.float64)
    rows = kinds.reshape(len(kinds), -1, n_classes).transpose(1, 0, 2).reshape(-1, len(kinds) * n_classes)
    rows, wanted = rows[: len(lower)], rows[len(lower) :]
    each = sparse.csr_matrix(
        (np.ones(len(kinds) * n_classes), (np.repeat(of, n_classes), np.arange(len(kinds) * n_classes))),
        shape=(len(totals), len(kinds) * n_classes),
    )
    bounded = np.isfinite(upper), np.isfinite(lower)
    a_ub = np.concatenate([rows[bounded[0]], -rows[bounded[1]]])
    b_ub = np.concatenate([upper[bounded[0]], -lower[bounded[1]]])
    for aim in wanted:
        ends = []
        for sign in (1.0, -1.0):
            answer = linprog(sign * aim, a_ub, b_ub, each, totals, method="highs")
            if hear is not None and answer.status == 0 and not program.internal:
                masses = np.rint(answer.x).astype(np.int64)
                if np.abs(masses - answer.x).max() <= WHOLE:
                    hear(_handed(program, kind.ravel(), masses.reshape(-1, n_classes)))
            ends.append(sign * answer.fun if answer.status == 0 else -sign * np.inf)
        yield ends[0], ends[1]


def _handed(program: Program, kind: IntArray, masses: IntArray) -> IntArray:
    """Masses of kinds, shape (n_kinds, n_classes), handed out to their cells in turn; shape (n_cells, n_classes)."""
    if not program.single:
        return masses
    weight = np.rint(program.weight).astype(np.int64)
    order = np.argsort(kind, kind="stable")
    of, each = kind[order], weight[order]
    end = each.cumsum()
    before = np.bincount(kind, weight, len(masses)).astype(np.int64)
    end = (end - (before.cumsum() - before)[of])[:, None]
    ends = masses.cumsum(axis=1)[of]
    got = np.empty((len(kind), masses.shape[1]), np.int64)
    got[order] = np.maximum(np.minimum(ends, end) - np.maximum(ends - masses[of], end - each[:, None]), 0)
    return got


def sparse_rows(program: Program) -> tuple[Any, FloatArray, FloatArray, IntArray]:
    """All linear rows over masses, their sides, loosened by rounding, and the statement of each."""
    entries, lower, upper, of = [], list[float](), list[float](), list[int]()
    classes = np.arange(program.n_classes)
    for i, said in enumerate(program.linear):
        cells = program.regions[said.region]
        for r in range(said.rows):
            row = np.broadcast_to(
                said.coef[r] if said.weights is None else said.coef[r] * said.weights, (len(cells), len(classes))
            )
            loose = 1e-9 * max(1.0, float(np.abs(row).max(axis=1) @ program.weight[cells]))
            column = (cells[:, None] * len(classes) + classes).ravel()
            entries.append((np.full(len(column), len(of)), column, row.ravel()))
            lower.append(float(said.lower[r]) - loose)
            upper.append(float(said.upper[r]) + loose)
            of.append(i)
    at, column, value = (np.concatenate(part) for part in zip(*entries, strict=True))
    shape = (len(of), len(program.cells) * len(classes))
    return sparse.csr_matrix((value, (at, column)), shape=shape), np.array(lower), np.array(upper), np.array(of)
