"""Distinct cells of the columns of a table, each with how often it is there and where it appears first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.models.arrays import IntArray
from maxent.models.tables.out_of_core import people_in, stored_in
from maxent.models.tables.parts.pieces import Piece, Wanted, batches_of

if TYPE_CHECKING:
    import pyarrow as pa

_WAITING = 1 << 17
"""Distinct cells of batches that are at least merged together."""


@dataclass(frozen=True, slots=True)
class Distinct:
    """Distinct cells of a piece: for each column a table of ``key``, ``sign``, ``repeats`` and ``place``.

    The key is a cell as it is stored, null for none; the sign is that of the number of people in its rows, -1 where
    that is refused. ``place`` is the first of them, from 0. ``rows`` and ``people`` are those of the piece.
    """

    columns: tuple[pa.Table, ...]
    rows: int
    people: float


def distinct_cells(piece: Piece, wanted: Wanted) -> Distinct:
    """The distinct cells of the columns of a piece."""
    import pyarrow as pa

    found: list[list[Any]] = [[] for _ in wanted.names]
    rows, everybody = 0, 0.0
    for batch in batches_of(piece, wanted):
        people = people_of_batch(batch, wanted, piece)
        everybody += float(people[people > 0].sum(dtype=np.float64))
        sign = np.sign(people)
        for i, form in enumerate(wanted.forms):
            found[i].append(_of_batch(stored_in(batch.column(i), form), sign, rows))
            if sum(table.num_rows for table in found[i][1:]) > max(_WAITING, found[i][0].num_rows):
                found[i] = [merged_cells(found[i])]
        rows += batch.num_rows
    empty = [pa.table({"key": pa.array([], _kind(form.stored)), **_known(*[np.zeros(0, np.int64)] * 3)})
             for form in wanted.forms]  # fmt: skip
    columns = (merged_cells([*tables, none]) for tables, none in zip(found, empty, strict=True))
    return Distinct(tuple(columns), rows, everybody)


def people_of_batch(batch: pa.RecordBatch, wanted: Wanted, piece: Piece) -> IntArray:
    """The people of each row of a batch, -1 for a number that is refused, shape (n_rows,)."""
    if wanted.count is None:
        return np.ones(batch.num_rows, np.int64)
    return people_in(batch.column(len(wanted.names)), wanted.reading, wanted.decimals[piece.file])


def merged_cells(tables: Sequence[pa.Table]) -> pa.Table:
    """Distinct cells of tables of them, in no order."""
    import pyarrow as pa

    table = pa.concat_tables(tables)
    grouped = table.group_by(["key", "sign"], use_threads=False)
    names = ["key", "sign", "repeats", "place"]
    return grouped.aggregate([("repeats", "sum"), ("place", "min")]).rename_columns(names).combine_chunks()


def in_dictionary(array: Any) -> tuple[Any, IntArray]:
    """The distinct cells of an Arrow array, and which of them is in each row, -1 for none."""
    import pyarrow as pa

    coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    indices = coded.indices if coded.null_count == 0 else coded.indices.fill_null(-1)
    return coded.dictionary, np.asarray(np.from_dlpack(indices))


def _kind(stored: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    return stored.value_type if pa.types.is_dictionary(stored) else stored


def _known(sign: IntArray, repeats: IntArray, place: IntArray) -> dict[str, Any]:
    import pyarrow as pa

    return {"sign": pa.array(sign), "repeats": pa.array(repeats), "place": pa.array(place)}


def _of_batch(array: Any, sign: IntArray, before: int) -> pa.Table:
    """The distinct cells of a batch, with places counted from ``before``."""
    import pyarrow as pa

    cells, codes = in_dictionary(array)
    at = (codes.astype(np.int64) + 1) * 3 + (sign + 1)
    number = np.bincount(at, minlength=3 * (len(cells) + 1))
    first = np.zeros(len(number), np.int64)
    first[at[::-1]] = np.arange(len(at))[::-1]  # of several rows the last one written stays, which is the first
    there = np.flatnonzero(number)
    which = there // 3 - 1
    keys = cells.take(pa.array(which, pa.int64(), mask=which < 0))
    return pa.table({"key": keys, **_known(there % 3 - 1, number[there], first[there] + before)})
