"""Statements that were published beside trees: linear rows over everybody, with a weight per quasi-identifier."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from maxent.constraints.kinds.context import Context, Kind, RegionBook
from maxent.constraints.program.cells import Cells
from maxent.constraints.program.program import Contradiction, Internal, Linear, Program, Regions
from maxent.models.arrays import FloatArray
from maxent.models.errors import Origin

if TYPE_CHECKING:
    from maxent.models.statements.statement import LinearStatement
    from maxent.models.tables.qi_table import QITable

# Share of its size by which a sum may miss a side and still reach it: the sum was computed.
REACHED = 1e-9


def statement_rows(context: Context) -> Iterator[Linear]:
    """Every row of every statement that says something of classes, or that the table contradicts."""
    if not context.release.statements:
        return
    if context.members is not None:
        number = context.members.number
        for statements in context.release.statements:
            for row in statements.rows(context.table, context.release.target.classes[:-1], members=number):
                yield from _compiled(context, row)
        return
    everybody = float(context.table.counts.sum())
    total = np.tile([0.0, everybody], (context.n_classes, 1))
    for known in context.totals:
        total[:, 0], total[:, 1] = np.maximum(total[:, 0], known), np.minimum(total[:, 1], known)
    classes = context.release.target.classes
    for statements in context.release.statements:
        for row in statements.rows(context.table, classes):
            if row.klass is not None and (row.weights[context.table.counts > 0] == 1).all():
                low, high = total[row.klass]
                total[row.klass] = max(low, row.low), min(high, row.high)
            yield from _compiled(context, row)
    others = total.sum(axis=0) - total
    total = np.column_stack(
        [np.maximum(total[:, 0], everybody - others[:, 1]), np.minimum(total[:, 1], everybody - others[:, 0])]
    )
    for statements in context.release.statements:
        for row in statements.rows(context.table, classes, total):
            yield from _compiled(context, row)


@dataclass(frozen=True, slots=True, eq=False)
class Added:
    """What rows are compiled with beside a program: its people and cells, and new regions."""

    n_classes: int
    cells: Cells
    table: QITable
    regions: RegionBook = field(default_factory=RegionBook)


def with_rows(program: Program, rows: Iterable[LinearStatement]) -> Program:
    """A program with more rows."""
    added = Added(program.n_classes, program.cells, program.table)
    said = [found for row in rows for found in _compiled(added, row)]
    before, held = len(program.regions), program.regions
    lengths = [len(each) for each in added.regions.cells]
    regions = Regions(
        np.concatenate([held.indptr, held.indptr[-1] + np.cumsum(lengths, dtype=np.int64)]),
        np.concatenate([held.indices, *added.regions.cells]),
        (*held.places, *added.regions.places),
    )
    linear = (*program.linear, *(replace(found, region=found.region + before) for found in said))
    wrong = (*program.contradictions, *contradictions(added, said))
    return replace(program, regions=regions, linear=linear, contradictions=wrong)


def _compiled(context: Context | Added, row: LinearStatement) -> Iterator[Linear]:
    """A row over cells; none where it holds whoever has which class, unless it is the number of people of one."""
    n_classes, owner = context.n_classes, context.cells.owner
    counts = context.table.counts.astype(np.float64)
    weights = row.weights if row.weights.ndim == 2 else row.weights[:, None]
    classes = np.arange(n_classes) if row.klass is None else np.array([row.klass])
    weights = np.where(counts[:, None] > 0, weights, 0.0)
    least, most, size = _reach(counts, weights, n_classes)
    counted = row.klass is not None and np.isin(weights, (0.0, 1.0)).all() and weights.any()
    if not counted and row.low <= least + REACHED * size and row.high >= most - REACHED * size:
        return
    used, somewhere = np.flatnonzero(weights.any(axis=0)), np.asarray(weights.any(axis=1))
    inside = np.flatnonzero(somewhere[owner])
    if not len(inside):  # 0 does not lie between the sides
        inside, weights, used = np.arange(len(owner)), np.zeros((len(counts), 1)), np.zeros(1, np.int64)
    here = weights[owner[inside]][:, used]
    unit = float(np.abs(here).max()) or 1.0
    coef, factors = np.zeros((1, n_classes)), None
    if (here == here[:1]).all():
        coef[0, classes[used]] = here[0] / unit
    else:
        coef[0, classes[used]] = 1.0
        factors = np.broadcast_to(here / unit, (len(inside), n_classes)) if len(used) == 1 else None
        if factors is None:
            factors = np.zeros((len(inside), n_classes))
            factors[:, classes[used]] = here / unit
    region = context.regions.add(("statement", inside.tobytes()), inside)
    low, high = np.array([row.low / unit]), np.array([row.high / unit])
    yield Linear("statements", Origin(row.source), region, coef, low, high, row.says, factors, unit)


def _reach(counts: FloatArray, weights: FloatArray, n_classes: int) -> tuple[float, float, float]:
    """The least and the largest sum that classes of the people can have, and the sum of sizes."""
    least, most = weights.min(axis=1), weights.max(axis=1)
    if weights.shape[1] < n_classes:
        least, most = np.minimum(least, 0.0), np.maximum(most, 0.0)
    return float(counts @ least), float(counts @ most), float(counts @ np.maximum(np.abs(least), np.abs(most)))


def contradictions(context: Context | Added, said: Iterable[Linear | Internal]) -> Iterator[Contradiction]:
    """Rows that no classes of the people of the table can satisfy."""
    counts = context.table.counts.astype(np.float64)
    for row in said:
        if isinstance(row, Internal) or row.kind != KIND.name:
            continue
        cells = context.regions.cells[row.region]
        weights = row.coef if row.weights is None else row.coef * row.weights
        owner, first = np.unique(context.cells.owner[cells], return_index=True)
        weights = np.broadcast_to(weights, (len(cells), context.n_classes))[first]
        if len(owner) < len(cells):  # some of the people of a quasi-identifier
            weights = np.column_stack([weights, np.zeros(len(owner))])
        least, most, size = _reach(counts[owner], weights, context.n_classes)
        off = max(float(row.lower[0]) - most, least - float(row.upper[0]), 0.0)
        if off > REACHED * max(size, 1.0):
            yield Contradiction(row.origin, row.says, off)


KIND = Kind(
    "statements",
    "statements: a sum over people, each with a weight for each class, lies within what was printed",
    r"b^- \le \sum_c \sum_x a_{c,x}\, m_{c,x} \le b^+ \quad \text{with the weight } a_{c,x} \text{ of a"
    r" quasi-identifier and class, and the sides of what was printed}",
    statement_rows,
)
