"""Pieces of a table: consecutive rows of one of its files, read by themselves, by whatever process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from maxent.models.files.addresses import FilePath
from maxent.models.reading import Decimal, Reader, Reading
from maxent.models.tables.out_of_core import Form
from maxent.models.tables.sources.parquet_file import ParquetFile
from maxent.models.tables.table_files import TableFile, open_file

if TYPE_CHECKING:
    import pyarrow as pa

LARGEST, SMALLEST = 1 << 21, 1 << 17  # rows of a piece, where a file can be divided


@dataclass(frozen=True, slots=True)
class Piece:
    """Some columns of some row groups of a file, which is number ``file`` of its table.

    ``first`` is the number, from 0, of the first of these rows in the file. ``groups`` is None for a file that is read
    as a whole. ``columns`` are places in `Wanted.names`.
    """

    path: FilePath
    file: int
    columns: tuple[int, ...]
    groups: tuple[int, ...] | None = None
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


def pieces_of(
    tables: Sequence[TableFile], files: Sequence[FilePath], columns: int, workers: int
) -> tuple[tuple[Piece, ...], ...]:
    """Divide the files of a table into at least two pieces for each worker, where they are large and can be divided.

    Parquet files can: into row groups, and where these are few, into columns. Each item has all of the given number of
    columns of the same rows.
    """
    rows = rows_of(tables)
    most = rows_for(rows, workers)
    found: list[tuple[Piece, ...]] = []
    for number, (table, path) in enumerate(zip(tables, files, strict=True)):
        if isinstance(table, ParquetFile):
            found += [(piece,) for piece in _of_groups(path.absolute(), number, columns, table.groups, most)]
        else:
            found.append((Piece(path.absolute(), number, tuple(range(columns))),))
    shares = min(-(-2 * workers // len(found)), columns) if workers > 1 and rows > SMALLEST else 1
    return tuple(tuple(_by_column(piece, shares)) for (piece,) in found)


def rows_of(tables: Sequence[TableFile]) -> int:
    """The rows of files that say how many they have."""
    return sum(sum(table.groups) for table in tables if isinstance(table, ParquetFile))


def rows_for(rows: int, workers: int) -> int:
    """Rows that a worker takes at a time."""
    return min(max(rows // (2 * workers), SMALLEST), LARGEST)


def _of_groups(path: FilePath, number: int, columns: int, sizes: Sequence[int], most: int) -> Iterator[Piece]:
    """Pieces of up to about ``most`` rows: small row groups together, large ones by themselves."""
    first, taken, held, every = 0, 0, list[int](), tuple(range(columns))
    for group, size in enumerate(sizes):
        if held and taken + size > most:
            yield Piece(path, number, every, tuple(held), first)
            first, taken, held = first + taken, 0, []
        held.append(group)
        taken += size
    if held:
        yield Piece(path, number, every, tuple(held), first)


def _by_column(piece: Piece, shares: int) -> Iterator[Piece]:
    """The columns of a piece in so many shares; of a file that is read as a whole all together."""
    if piece.groups is None or shares < 2:
        yield piece
        return
    columns = len(piece.columns)
    cuts = [columns * i // shares for i in range(shares + 1)]
    for start, stop in pairwise(cuts):
        yield Piece(piece.path, piece.file, piece.columns[start:stop], piece.groups, piece.first)


def batches_of(piece: Piece, wanted: Wanted) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a piece: its columns, and that with the numbers of people, if there is one."""
    table = open_file(piece.path, Reader(wanted.reading))
    names = [*(wanted.names[i] for i in piece.columns), *([] if wanted.count is None else [wanted.count])]
    if isinstance(table, ParquetFile) and piece.groups is not None:
        return table.batches(names, piece.groups)
    return table.batches(names)
