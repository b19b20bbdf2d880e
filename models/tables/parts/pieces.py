"""Pieces of a table: consecutive rows of one of its files, read by themselves, by whatever process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from maxent.models.reading import Decimal, Reader, Reading
from maxent.models.tables.out_of_core import Form
from maxent.models.tables.sources.parquet_file import ParquetFile
from maxent.models.tables.table_files import TableFile, open_file

if TYPE_CHECKING:
    import pyarrow as pa

LARGEST, SMALLEST = 1 << 21, 1 << 17
"""Rows of a piece, where a file can be divided."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows ``start`` to ``stop`` (None: all) of some row groups of a file, which is number ``file`` of its table.

    ``first`` is the number, from 0, of the first of these rows in the file. ``groups`` is None for a file that is read
    as a whole.
    """

    path: Path
    file: int
    groups: tuple[int, ...] | None = None
    start: int = 0
    stop: int | None = None
    first: int = 0


@dataclass(frozen=True, slots=True)
class Wanted:
    """Columns of all pieces: ``names`` of cells with their ``forms``, and ``count``, which may be missing.

    ``decimals`` are the decimal marks of the files.
    """

    names: tuple[str, ...]
    forms: tuple[Form, ...]
    count: str | None
    decimals: tuple[Decimal | None, ...]
    reading: Reading


def pieces_of(tables: Sequence[TableFile], files: Sequence[Path], workers: int) -> tuple[Piece, ...]:
    """Divide the files of a table into at least two pieces for each worker, where they are large and can be divided.

    Parquet files can: a row group, or some rows of one.
    """
    rows = sum(sum(table.groups) for table in tables if isinstance(table, ParquetFile))
    most = min(max(rows // (2 * workers), SMALLEST), LARGEST)
    found: list[Piece] = []
    for number, (table, path) in enumerate(zip(tables, files, strict=True)):
        if isinstance(table, ParquetFile):
            found += _of_groups(path.absolute(), number, table.groups, most)
        else:
            found.append(Piece(path.absolute(), number))
    return tuple(found)


def _of_groups(path: Path, number: int, sizes: Sequence[int], most: int) -> Iterator[Piece]:
    """Pieces of up to about ``most`` rows: small row groups together, and large ones in equal shares."""
    first, taken, held = 0, 0, list[int]()
    for group, size in enumerate(sizes):
        if held and taken + size > most:
            yield Piece(path, number, tuple(held), 0, taken, first)
            first, taken, held = first + taken, 0, []
        if size > most:
            shares = -(-size // most)
            cuts = [size * i // shares for i in range(shares + 1)]
            for start, stop in pairwise(cuts):
                yield Piece(path, number, (group,), start, stop, first + start)
            first += size
        else:
            held.append(group)
            taken += size
    if held:
        yield Piece(path, number, tuple(held), 0, taken, first)


def batches_of(piece: Piece, wanted: Wanted) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a piece: the wanted columns, and that with the numbers of people, if there is one."""
    table = open_file(piece.path, Reader(wanted.reading))
    names = [*wanted.names, *([] if wanted.count is None else [wanted.count])]
    divided = isinstance(table, ParquetFile) and piece.groups is not None
    batches = table.batches(names, piece.groups) if divided else table.batches(names)  # type: ignore[call-arg]
    seen = 0
    for batch in batches:
        begin = max(piece.start - seen, 0)
        end = batch.num_rows if piece.stop is None else min(piece.stop - seen, batch.num_rows)
        seen += batch.num_rows
        if begin < end:
            yield batch.slice(begin, end - begin)
        if piece.stop is not None and seen >= piece.stop:
            return
