"""Statements that were published beside trees: linear rows over everybody, with a weight per quasi-identifier."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from maxent.constraints.kinds.context import Context, Kind
from maxent.constraints.program.program import Contradiction, Linear
from maxent.models.errors import Origin

if TYPE_CHECKING:
    from maxent.models.arrays import FloatArray
    from maxent.models.statements.statement import LinearStatement

# Share of its size by which a sum may miss a side and still reach it: the sum was computed.
REACHED = 1e-9


def statement_rows(context: Context) -> Iterator[Linear]:
    """Every row of every statement that says something of classes."""
    for statements in context.release.statements:
        for row in statements.rows(context.table):
            yield from _compiled(context, row)


def _compiled(context: Context, row: LinearStatement) -> Iterator[Linear]:
    """A row over cells; none where it holds whoever has which class."""
    weights = _by_class(row, context.n_classes)
    counts = context.table.counts.astype(np.float64)
    weights = np.where(counts[:, None] > 0, weights, 0.0)
    least, most = float(counts @ weights.min(axis=1)), float(counts @ weights.max(axis=1))
    slack = REACHED * float(counts @ np.abs(weights).max(axis=1))
    if row.low <= least + slack and row.high >= most - slack:
        return
    if (weights == weights[:, :1]).all():
        return  # of whatever classes: the table contradicts it, see `contradictions`
    used = np.flatnonzero(weights.any(axis=0))
    inside = np.flatnonzero(weights[context.cells.owner].any(axis=1))
    here = weights[context.cells.owner[inside]]
    size = float(np.abs(weights).max())
    coef, factors, unit = np.zeros((1, context.n_classes)), None, size
    if all((here[:, x] == here[0, x]).all() for x in used.tolist()):
        unit = float(np.abs(here[0]).max())
        coef[0] = here[0] / unit
    else:
        coef[0, used] = 1.0
        factors = here / unit
        if len(used) == 1:  # one column in memory
            factors = np.broadcast_to(factors[:, used], factors.shape)
    key = ("statement", inside.tobytes())
    region = context.regions.add(key, inside)
    low, high = np.array([row.low / unit]), np.array([row.high / unit])
    yield Linear("statements", Origin(row.source), region, coef, low, high, row.says, factors, unit)


def _by_class(row: LinearStatement, n_classes: int) -> FloatArray:
    """Weights of each quasi-identifier and class, shape (n_qi, n_classes)."""
    if row.weights.ndim == 2:
        return row.weights
    found = np.zeros((len(row.weights), n_classes))
    found[:, row.klass] = row.weights
    return found


def contradictions(context: Context) -> Iterator[Contradiction]:
    """Rows that no classes of the people of the table can satisfy."""
    counts = context.table.counts.astype(np.float64)
    for statements in context.release.statements:
        for row in statements.rows(context.table):
            weights = _by_class(row, context.n_classes)
            least, most = float(counts @ weights.min(axis=1)), float(counts @ weights.max(axis=1))
            off = max(row.low - most, least - row.high, 0.0)
            size = float(np.abs(weights).max(initial=0.0)) or 1.0
            if off > REACHED * max(float(counts @ np.abs(weights).max(axis=1)), 1.0):
                yield Contradiction(Origin(row.source), row.says, off / size)


KIND = Kind(
    "statements",
    "statements beside trees: a sum over people, each with a weight for each class, lies within what was printed",
    r"b^- \le \sum_c \sum_x a_{c,x}\, m_{c,x} \le b^+ \quad \text{with the weight } a_{c,x} \text{ of a"
    r" quasi-identifier and class, and the sides of what was printed}",
    statement_rows,
)
