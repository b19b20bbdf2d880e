"""Linear rows of a part over its free masses, without rows that bounds or other rows imply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from maxent.constraints.presolve.bounds import settled, spread
from maxent.constraints.presolve.independent_rows import independent_rows
from maxent.constraints.presolve.part_view import PartRows, PartView, add_up
from maxent.constraints.presolve.repeats import without_repeats
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.errors import Origin


@dataclass(frozen=True, slots=True, eq=False)
class LinearPart:
    """``lower <= matrix @ free masses <= upper``; the totals of quasi-identifiers come first, without an origin."""

    matrix: sparse.csr_matrix
    lower: FloatArray
    upper: FloatArray
    origins: tuple[Origin | None, ...]


def linear_rows(
    view: PartView,
    statements: PartRows,
    fixed: BoolArray,
    known: FloatArray,
    index: IntArray,
    *,
    trusting: bool,
    check: Callable[[], None],
) -> LinearPart:
    """Totals and statements that still say something.

    Parameters
    ----------
    fixed, known : shape (n_groups, n_classes)
        Which masses are constants, and their values (0 elsewhere), individuals.
    index : shape (n_groups, n_classes)
        The variables of the free masses, -1 elsewhere.
    trusting : bool
        Whether to leave out what other rows imply, not only what bounds do.
    check : callable
        Called again and again meanwhile; it may raise.
    """
    whole, told = settled(view, statements, fixed)
    statements = statements.take(np.flatnonzero(~told))
    if trusting:
        statements = statements.take(without_repeats(view, statements, fixed))
    check()
    row, column, value = _entries(view, statements, index, whole)
    n_totals, n_rows = len(whole), len(whole) + len(statements)
    matrix = sparse.csr_matrix((value, (row, column)), shape=(n_rows, int(index.max(initial=-1)) + 1))
    check()
    lower, upper = _bounds(view, statements, known)
    kept = np.flatnonzero(np.diff(matrix.indptr))
    if trusting:
        kept = kept[independent_rows(matrix[kept], lower[kept], upper[kept], check)]
    linear = view.part.linear[statements.table.of[kept[kept >= n_totals] - n_totals]]
    origins = (view.program.linear[i].origin for i in linear.tolist())
    unnamed = (None for _ in range(len(kept) - len(linear)))
    return LinearPart(matrix[kept], lower[kept], upper[kept], (*unnamed, *origins))


def _entries(
    view: PartView, statements: PartRows, index: IntArray, settled: BoolArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Row, column and value of every coefficient of a free mass; rows of the totals come first, settled ones empty."""
    group, klass = np.nonzero((index >= 0) & ~settled[view.owner][:, None])
    row, column = view.owner[group], index[group, klass]
    group, klass, value = spread(statements, np.arange(len(statements.row_of)))
    also = index[group, klass]
    often = np.diff(statements.inside.indptr)[statements.over]
    said = len(settled) + np.repeat(statements.row_of, often)
    return (
        np.concatenate([row, said[also >= 0]]),
        np.concatenate([column, also[also >= 0]]),
        np.concatenate([np.ones(len(row)), value[also >= 0]]),
    )


def _bounds(view: PartView, statements: PartRows, known: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bounds of totals and statements, less the contribution of the fixed masses."""
    table = statements.table
    held = table.coef * np.asarray(statements.inside @ known)[statements.over, table.klass]
    totals = view.owner_weight - add_up(view.owner, known.sum(axis=1), len(view.owner_weight))
    moved = add_up(statements.row_of, held, len(statements))
    return np.concatenate([totals, table.lower - moved]), np.concatenate([totals, table.upper - moved])
