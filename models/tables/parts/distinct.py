"""Distinct cells of the columns of a table, each with how often it is there and where it appears first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.models.arrays import IntArray
from maxent.models.tables.out_of_core import people_in, stored_in
from maxent.models.tables.parts.kept import Keeper, Kept, KeptRows
from maxent.models.tables.parts.pieces import Piece, Wanted, batches_of
from maxent.models.tables.sources.arrow_arrays import (
    arrow_numbers,
    arrow_places,
    plain_numbers,
    taken,
    whole_places,
    with_dictionary,
)

if TYPE_CHECKING:
    import pyarrow as pa

_WAITING = 1 << 17  # distinct cells of batches that are at least merged together


@dataclass(frozen=True, slots=True)
class Distinct:
    """Distinct cells of a piece: for each column a table of ``key``, ``sign``, ``repeats`` and ``place``.

    The key is a cell as it is stored, null for none; the sign is that of the number of people in its rows, -1 where
    that is refused. ``place`` is the first of them, from 0. ``rows`` and ``people`` are those of the piece.
    ``kept`` are the cells of all rows by column, ``count`` the people of each row, where a column has them.
    """

    columns: tuple[pa.Table, ...]
    rows: int
    people: float
    kept: tuple[Kept, ...]
    count: Kept | None

    def rows_at(self, first: int) -> KeptRows:
        """All rows of the piece, the first of which has this number in the table."""
        return KeptRows(self.kept, self.count, 0, self.rows, first)


def together(shares: Sequence[Distinct]) -> Distinct:
    """The columns of the same rows together; people were kept with all of them, and are with the first."""
    for share in shares[1:]:
        if share.count is not None:
            share.count.remove()
    columns = tuple(column for share in shares for column in share.columns)
    return replace(shares[0], columns=columns, kept=tuple(kept for share in shares for kept in share.kept))


def distinct_cells(piece: Piece, wanted: Wanted, folder: Path) -> Distinct:
    """The distinct cells of the columns of a piece, all of whose cells are kept in a folder."""
    forms = [wanted.forms[i] for i in piece.columns]
    found: list[list[Any]] = [[] for _ in forms]
    kept, counted = [Keeper(folder) for _ in forms], Keeper(folder)
    rows, everybody = 0, 0.0
    for batch in batches_of(piece, wanted):
        people = people_of_batch(batch, len(forms), wanted, piece)
        everybody += float(people[people > 0].sum(dtype=np.float64))
        sign = np.sign(people)
        for i, form in enumerate(forms):
            cells, places = in_dictionary(stored_in(batch.column(i), form))
            kept[i].add(cells, places)
            found[i].append(_of_batch(cells, places, sign, rows))
            if sum(table.num_rows for table in found[i][1:]) > max(_WAITING, found[i][0].num_rows):
                found[i] = [merged_cells(found[i])]
        if wanted.count is not None:
            counted.add_numbers(np.maximum(people, 0))
        rows += batch.num_rows
    empty = [_table(_nothing(_kind(form.stored)), *[np.zeros(0, np.int64)] * 3) for form in forms]
    columns = (merged_cells([*tables, none]) for tables, none in zip(found, empty, strict=True))
    return Distinct(
        tuple(columns),
        rows,
        everybody,
        tuple(keeper.kept() for keeper in kept),
        None if wanted.count is None else counted.kept(),
    )


def people_of_batch(batch: pa.RecordBatch, column: int, wanted: Wanted, piece: Piece) -> IntArray:
    """The people of each row of a batch, by a column of it, -1 for a number that is refused, shape (n_rows,)."""
    if wanted.count is None:
        return np.ones(batch.num_rows, np.int64)
    return people_in(batch.column(column), wanted.reading, wanted.decimals[piece.file])


def merged_cells(tables: Sequence[pa.Table]) -> pa.Table:
    """Distinct cells of tables of them, in no order."""
    import pyarrow as pa

    table = pa.concat_tables(tables)
    sign, repeats, place = (plain_numbers(table.column(name)) for name in ("sign", "repeats", "place"))
    cells, codes = in_dictionary(pa.concat_arrays(table.column("key").chunks))
    at = (codes + 1) * 3 + (sign + 1)
    number = np.bincount(at, repeats, 3 * (len(cells) + 1)).astype(np.int64)
    first = np.full(len(number), np.iinfo(np.int64).max)
    np.minimum.at(first, at, place)
    return _known(cells, number, first)


def in_dictionary(array: Any) -> tuple[Any, IntArray]:
    """The distinct cells of an Arrow array, and which of them is in each row, -1 for none."""
    coded = with_dictionary(array)
    return coded.dictionary, whole_places(coded.indices)


def _kind(stored: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    return stored.value_type if pa.types.is_dictionary(stored) else stored


def _nothing(kind: pa.DataType) -> Any:
    """An Arrow array without cells."""
    import pyarrow as pa

    return pa.nulls(0, kind)


def _table(key: Any, sign: IntArray, repeats: IntArray, place: IntArray) -> pa.Table:
    import pyarrow as pa

    names = ["key", "sign", "repeats", "place"]
    return pa.Table.from_arrays([key, *map(arrow_numbers, (sign, repeats, place))], names)


def _of_batch(cells: Any, codes: IntArray, sign: IntArray, before: int) -> pa.Table:
    """The distinct cells of a batch, with places counted from ``before``."""
    at = (codes + 1) * 3 + (sign + 1)
    number = np.bincount(at, minlength=3 * (len(cells) + 1))
    first = np.zeros(len(number), np.int64)
    first[at[::-1]] = np.arange(len(at))[::-1]  # of several rows the last one written stays, which is the first
    return _known(cells, number, first + before)


def _known(cells: Any, number: IntArray, first: IntArray) -> pa.Table:
    """A table of cells by the number of their rows, three of each cell, as the sign is; the first are of no cell."""
    there = np.flatnonzero(number)
    keys = taken(cells, arrow_places(there // 3 - 1))
    return _table(keys, there % 3 - 1, number[there], first[there])
