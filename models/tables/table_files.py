"""Files as tables, whatever their format: which files a path or a pattern names, and reading one of them whole."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from glob import glob
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Protocol, cast

import numpy as np

from maxent.models.arguments import shorten_list
from maxent.models.arrays import IntArray
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.files.input_files import (
    Address,
    FilePath,
    TooLarge,
    file_path,
    is_standard_input,
    matching,
    open_input,
    shown_path,
    table_not_opened,
)
from maxent.models.reading import USUAL, Decimal, Reader, size_text
from maxent.models.tables.cells import understood
from maxent.models.tables.csv_files import open_csv
from maxent.models.tables.frame import (
    Frame,
    Memory,
    Source,
    cells_size,
    from_arrow,
    from_pandas,
    heading,
    repeated_columns,
    too_large,
    with_dictionary,
)

if TYPE_CHECKING:
    import pyarrow as pa

# The source of a table: a file or standard input, its format, its bytes as they are unpacked.

LARGE_BYTES = 50_000_000  # a file of more bytes, unpacked, is not kept in memory
_EXPECTED = "a CSV, Parquet or Excel file that can be read"
Format = Literal["csv", "parquet", "excel"]
# Suffixes of tables that are no CSV
FORMATS: dict[str, Format] = {".parquet": "parquet", ".pq": "parquet", ".xlsx": "excel", ".xlsm": "excel"}

_FIRST: dict[bytes, Format] = {b"PAR1": "parquet", b"PK\x03\x04": "excel"}
_GZIP_RATIO = 1032  # the most bytes that a byte of gzip can stand for


@dataclass(frozen=True, slots=True)
class TableInput:
    """A file that is to be read as a table: its size is as stored, its format that of the unpacked bytes."""

    path: FilePath
    source: str
    open: Callable[[], BinaryIO]
    size: int
    format: Format
    packed: bool

    @property
    def is_large(self) -> bool:
        """Whether there are more than `LARGE_BYTES`, unpacked."""
        if not self.packed or self.size > LARGE_BYTES:
            return self.size > LARGE_BYTES
        return self.size * _GZIP_RATIO > LARGE_BYTES and len(self._first(LARGE_BYTES + 1)) > LARGE_BYTES

    def kept(self) -> TableInput:
        """Return the same input, in memory unless it is large, so that the file is read once."""
        data = self._first(LARGE_BYTES + 1)
        if len(data) > LARGE_BYTES:
            return self
        return replace(self, open=partial(io.BytesIO, data), size=len(data), packed=False)

    def _first(self, size: int) -> bytes:
        """Return the first bytes, unpacked."""
        with self.open() as file:
            return file.read(size)


def table_input(path: FilePath, max_memory: int) -> TableInput:
    """Find out what a file, or standard input (``-``), is: by its suffix, standard input by its first bytes.

    Raises `OSError` when it cannot be read, `TooLarge` when standard input has more than ``max_memory`` bytes.
    """
    opener = partial(open_input, path, max_memory)
    with opener() as file:
        start = file.read(4) if is_standard_input(path) else b""
        if path.suffix.lower() == ".json" and file.read(1) in (b"{", b"["):
            expected = "a table: CSV, Parquet or Excel"
            raise invalid(shown_path(path), "file", "format", expected, "a JSON document")
        size = file.seek(0, io.SEEK_END)
    kind = _FIRST.get(start) or FORMATS.get(path.suffix.lower(), "csv")
    packed = path.suffix.lower() == ".gz" or start.startswith(b"\x1f\x8b")
    opener = partial(_unpacked, opener) if packed else opener
    return TableInput(path, shown_path(path), opener, size, kind, packed)


def _unpacked(opener: Callable[[], BinaryIO]) -> BinaryIO:
    """The bytes of a gzip archive."""
    return cast("BinaryIO", _Unpacked(opener()))


def matching_files(pattern: str | Address) -> tuple[FilePath, ...]:
    """Return the files that match a pattern, in the order of their names."""
    files: tuple[FilePath, ...]
    if isinstance(pattern, Address):
        with readable(pattern, 0):
            files = matching(pattern)
    else:
        files = tuple(sorted(path for path in map(Path, glob(pattern, recursive=True)) if not path.is_dir()))
    if not files:
        found = f"no file that does{table_not_opened(pattern)}"
        raise invalid(shown_path(pattern), "file", "path", "a pattern that CSV, Parquet or Excel files match", found)
    formats = sorted({_suffix(path) for path in files})
    if len(formats) > 1:
        raise invalid(shown_path(pattern), "file", "path", "a pattern of files of one format", shorten_list(formats))
    return files


def _suffix(path: FilePath) -> str:
    """Return the suffix that says how to read a file."""
    suffix = (Path(path.stem) if path.suffix.lower() == ".gz" else path).suffix.lower()
    return f".{FORMATS[suffix]}" if suffix in FORMATS else suffix


@contextmanager
def readable(path: FilePath, max_memory: int) -> Iterator[None]:
    """Turn what goes wrong when a file is opened into a refusal of it."""
    try:
        yield
    except InvalidInput:
        raise
    except TooLarge as error:
        raise too_large(shown_path(path), max_memory, "more") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        found = "one that ends too early" if isinstance(error, EOFError) else "a damaged one, or another file"
        raise invalid(shown_path(path), "file", "format", "CSV text in a gzip archive", found) from error
    except (OSError, ValueError) as error:
        raise invalid(shown_path(path), "file", "path", _EXPECTED, _unreadable(path, error)) from error


def _unreadable(path: FilePath, error: Exception) -> str:
    """What is found in the place of a file that can be read."""
    if isinstance(error, IsADirectoryError):
        return f"a directory{_pattern_for(path)}"
    if isinstance(error, FileNotFoundError):
        return f"no such file{table_not_opened(path)}"
    if isinstance(error, PermissionError):
        return "a file you may not read"
    return getattr(error, "strerror", None) or str(error)


def _pattern_for(folder: FilePath) -> str:
    """How to name the tables in a folder."""
    suffixes = (".parquet", ".pq", ".csv", ".csv.gz", ".xlsx")
    if isinstance(folder, Address):
        return ""
    inside = next((s for s in suffixes if any(folder.glob(f"*{s}"))), None)
    return "" if inside is None else f" (to read all files in it, give the pattern '{folder / '*'}{inside}')"


class _Unpacked(gzip.GzipFile):
    """The bytes of a gzip archive, which is closed with them."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(fileobj=file, mode="rb")
        self._packed = file

    def close(self) -> None:
        super().close()
        self._packed.close()


# Files as tables, whatever their format.

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
    found: TableInput | None = None,
) -> Frame:
    """Read the wanted columns of a DataFrame or a file, every row of it; others are missing from `Frame.columns`.

    Files go by their suffix, CSV without one; ``-`` is standard input, of any format. ``found`` is what is known of
    the file, if anything is.
    """
    names, reader = tuple(dict.fromkeys(wanted)), reader or Reader()
    if not isinstance(source, (str, PathLike)):
        return understood(from_pandas(source, name, names, reader.reading.absent), reader, declared)
    path, most = file_path(source) if found is None else found.path, reader.reading.max_memory
    with readable(path, most):
        found = found or table_input(path, most)
        frame = _whole(_open(found.kept(), reader), names, reader)
    return understood(frame, reader, declared)


def _max_memory(reader: Reader | None) -> int:
    return (USUAL if reader is None else reader.reading).max_memory


def _whole(table: TableFile, names: Sequence[str], reader: Reader) -> Frame:
    """Return all rows of a table."""
    import pyarrow as pa

    max_memory = reader.reading.max_memory
    present = [name for name in names if name in table.header]
    parts: list[list[Any]] = [[] for _ in present]
    if (size := cells_size(table.rows, len(present))) > max_memory:
        raise too_large(table.source, max_memory, f"{table.rows:,} rows, which take at least {size_text(size)}")
    memory = Memory(table.source, max_memory)
    rows = 0
    for batch in table.batches(present):
        rows += batch.num_rows
        memory.take(cells_size(batch.num_rows, len(present)))
        for part, array in zip(parts, batch.columns, strict=True):
            part.append(with_dictionary(array) if pa.types.is_string(array.type) else array)
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
        reader,
        decimal=table.decimal,
        text=table.text,
    )


def large_files(source: Source, reader: Reader | None = None) -> tuple[tuple[FilePath, ...], TableInput | None]:
    """Return the files that are not to be read into memory: those of a pattern, sorted, or a single large one.

    Of a single one that is not, also what is known of it; what cannot be read is left to be refused.
    """
    if not isinstance(source, (str, PathLike)):
        return (), None
    files, most = files_of(source), _max_memory(reader)
    if len(files) > 1 or files[0] != file_path(source):
        return files, None
    try:
        with readable(files[0], most):
            found = table_input(files[0], most)
            return (files, None) if _is_large(found, most) else ((), found)
    except InvalidInput:
        return (), None


def files_of(source: str | PathLike[str]) -> tuple[FilePath, ...]:
    """Return the files that a path or a pattern names, as `large_files` does, however large they are."""
    if isinstance(source, Address):
        return matching_files(source) if source.is_pattern else (source,)
    if any(mark in fspath(source) for mark in "*?[") and not os.path.exists(source):
        return matching_files(fspath(source))
    return (Path(source),)


def _is_large(found: TableInput, max_memory: int) -> bool:
    """Say whether a file is too large to be read into memory."""
    if found.is_large or found.format != "parquet":
        return found.is_large
    from maxent.models.tables.parquet_files import open_parquet

    return open_parquet(found.source, found.open, max_memory).rows > LARGE_ROWS


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
