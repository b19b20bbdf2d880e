"""Files as tables, whatever their format: which files a path or a pattern names, and reading one of them whole."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from maxent.models.arrays import IntArray
from maxent.models.errors import InvalidInput, Problem
from maxent.models.files.input_files import Address, FilePath, file_path
from maxent.models.reading import USUAL, Decimal, Reader, size_text
from maxent.models.tables.cells import understood, with_decimal_points
from maxent.models.tables.csv_files import open_csv
from maxent.models.tables.frame import (
    Frame,
    Memory,
    Source,
    TableInput,
    cells_size,
    encoded,
    from_arrow,
    from_pandas,
    heading,
    matching_files,
    readable,
    repeated_columns,
    table_input,
    too_large,
)

if TYPE_CHECKING:
    import pyarrow as pa

LARGE_ROWS = 1_000_000  # a file that says that it has more rows is not read into memory


class TableFile(Protocol):
    """A file with a table in it, which is read in batches, as often as needed."""

    @property
    def source(self) -> str:
        """Its name."""

    @property
    def unit(self) -> Literal["line", "row"]:
        """Unit of places in it: lines or rows."""

    @property
    def text(self) -> bool:
        """Whether its cells are text, which says nothing of their types."""

    def place(self, number: int) -> str:
        """The place of a row in words, by its number in the file: ``line 7``."""

    @property
    def header(self) -> tuple[str, ...]:
        """The names of the columns; they may repeat."""

    @property
    def rows(self) -> int:
        """Least number of rows, as far as the file says so."""

    @property
    def types(self) -> Mapping[str, pa.DataType]:
        """The type of the first column of each name, as it is read: numbers, or text, which may be in dictionaries."""

    @property
    def decimal(self) -> Decimal | None:
        """Decimal mark of numbers that are text, None for as the columns show."""

    @property
    def times(self) -> frozenset[str]:
        """The columns that the file says hold dates, times or durations; they are read as text."""

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows, ragged ones left out: the first column of each name, in this order."""

    def lines(self, rows: int, wanted: IntArray) -> tuple[IntArray, list[Problem]]:
        """Return the places of some of the ``rows`` that `batches` yields, counted from 0, and the ragged rows."""


def read_frame(
    source: Source,
    name: str,
    wanted: Iterable[str],
    reader: Reader | None = None,
    declared: Mapping[str, Collection[str]] | None = None,
) -> Frame:
    """Read the wanted columns of a DataFrame or a file, every row of it.

    ``source``: by suffix: .parquet or .pq is Parquet, .xlsx or .xlsm Excel, .gz is compressed CSV, all others are CSV,
    with a header line; blank lines are skipped. Cells are separated by commas, unless it clearly shows another mark.
    ``-`` is standard input, of any of these formats. What is no regular file, such as a device or a pipe, is refused.
    ``name``: what to call a DataFrame in messages; a file goes by its name. ``wanted``: columns to read; those that are
    not there are missing from `Frame.columns`. ``reader``: how to read. ``declared``: values that are not missing ones,
    see `maxent.models.tables.cells.understood`.
    """
    names, reader = tuple(dict.fromkeys(wanted)), reader or Reader()
    if not isinstance(source, (str, PathLike)):
        return understood(from_pandas(source, name, names, reader.reading.absent), reader, declared)
    path, most = file_path(source), reader.reading.max_memory
    with readable(path, most):
        table = _open(table_input(path, most).kept(), reader)
        frame = _whole(table, names, most)
    return understood(with_decimal_points(frame, reader, declared), reader, declared)


def _max_memory(reader: Reader | None) -> int:
    return (USUAL if reader is None else reader.reading).max_memory


def _whole(table: TableFile, names: Sequence[str], max_memory: int) -> Frame:
    """Return all rows of a table."""
    import pyarrow as pa

    present = [name for name in names if name in table.header]
    if (size := cells_size(table.rows, len(present))) > max_memory:
        raise too_large(table.source, max_memory, f"{table.rows:,} rows, which take at least {size_text(size)}")
    memory = Memory(table.source, max_memory)
    parts: list[list[Any]] = [[] for _ in present]
    rows = 0
    for batch in table.batches(present):
        rows += batch.num_rows
        memory.take(cells_size(batch.num_rows, len(present)))
        for part, array in zip(parts, batch.columns, strict=True):
            part.append(encoded(array) if pa.types.is_string(array.type) else array)
            memory.take(part[-1].nbytes)
    lines, ragged = table.lines(rows, np.arange(rows, dtype=np.int64))
    problems = (*repeated_columns(table.header, names, heading(table.unit)), *ragged)
    columns = {}
    for name in present:  # each is let go of when it is read
        part = pa.chunked_array(parts[0], None if parts[0] else table.types[name])
        del parts[0]
        columns[name] = from_arrow(part, name in table.times)
    return Frame(
        table.source,
        table.unit,
        table.header,
        columns,
        lines,
        np.ones_like(lines),
        problems,
        table.place,
        decimal=table.decimal,
        text=table.text,
    )


def large_files(source: Source, reader: Reader | None = None) -> tuple[FilePath, ...]:
    """Return the files that a source names and that are not to be read into memory.

    Those are the files that match a pattern (``*``, ``?``, ``[...]``, and ``**`` for any folders), in the order of
    their names, and a single large file. None, for everything else, means `read_frame`.
    """
    if not isinstance(source, (str, PathLike)):
        return ()
    files = files_of(source)
    if len(files) > 1 or files[0] != file_path(source):
        return files
    return files if _is_large(files[0], _max_memory(reader)) else ()


def files_of(source: str | PathLike[str]) -> tuple[FilePath, ...]:
    """Return the files that a path or a pattern names, as `large_files` does, however large they are."""
    if isinstance(source, Address):
        return matching_files(source) if source.is_pattern else (source,)
    if any(mark in fspath(source) for mark in "*?[") and not os.path.exists(source):
        return matching_files(fspath(source))
    return (Path(source),)


def _is_large(path: FilePath, max_memory: int) -> bool:
    """Say whether a file is too large to be read into memory; what cannot be read is left to be refused."""
    try:
        with readable(path, max_memory):
            found = table_input(path, max_memory)
            if found.is_large:
                return True
            if found.format != "parquet":
                return False
            from maxent.models.tables.parquet_files import open_parquet

            return open_parquet(found.source, found.open, max_memory).rows > LARGE_ROWS
    except InvalidInput:
        return False


def open_file(path: FilePath, reader: Reader | None = None) -> TableFile:
    """Open a file as `read_frame` does, but in bounded memory."""
    most = _max_memory(reader)
    with readable(path, most):
        return _open(table_input(path, most), reader or Reader())


def _open(found: TableInput, reader: Reader) -> TableFile:
    """Open a table by its format; note how a CSV file is read that is no usual one."""
    if found.format == "parquet":
        from maxent.models.tables.parquet_files import open_parquet

        return open_parquet(found.source, found.open, reader.reading.max_memory)
    if found.format == "excel":
        from maxent.models.tables.excel_files import open_excel

        return open_excel(found.source, found.open, reader)
    text = open_csv(found.source, found.open, reader.reading)
    for note in text.notes:
        reader.note(found.source, *note)
    return text
