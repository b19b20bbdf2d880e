"""Files as tables, whatever their format: which files a path or a pattern names, and reading one of them whole."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from glob import glob
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, Protocol, cast

import numpy as np

from maxent.models.csvfile import open_csv
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.frames import (
    Frame,
    IntArray,
    Source,
    from_arrow,
    from_pandas,
    heading,
    repeated_columns,
    shorten_list,
)
from maxent.models.parquetfile import open_parquet

if TYPE_CHECKING:
    import pyarrow as pa

LARGE_BYTES = 50_000_000
"""A file of more bytes of text is not read into memory; neither is one of more than `LARGE_ROWS`, if it says so."""

LARGE_ROWS = 1_000_000

_GZIP_RATIO = 8
"""Bytes of text behind a byte of gzip, about."""

_EXPECTED = "a CSV or Parquet file that can be read"


class TableFile(Protocol):
    """A file with a table in it, which is read in batches, as often as needed."""

    @property
    def source(self) -> str:
        """Its name."""

    @property
    def unit(self) -> Literal["line", "row"]:
        """What places in it are."""

    @property
    def header(self) -> tuple[str, ...]:
        """The names of the columns; they may repeat."""

    @property
    def types(self) -> Mapping[str, pa.DataType]:
        """The type of the first column of each name."""

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows, ragged ones left out: the first column of each name, in this order."""

    def lines(self, rows: int, wanted: IntArray) -> tuple[IntArray, list[Problem]]:
        """Return the places of some of the ``rows`` that `batches` yields, counted from 0, and the ragged rows."""


def read_frame(source: Source, name: str, wanted: Iterable[str]) -> Frame:
    """Read the wanted columns of a DataFrame or a file, every row of it.

    Parameters
    ----------
    source : DataFrame or path
        By suffix: .parquet or .pq is Parquet, .gz is compressed CSV, all others are CSV. CSV is UTF-8, with commas
        and a header line; blank lines are skipped.
    name : str
        What to call a DataFrame in messages; a file goes by its name.
    wanted : iterable of str
        Columns to read; those that are not there are missing from `Frame.columns`.

    Raises
    ------
    InvalidInput
        When the source cannot be read as a table at all.
    """
    names = tuple(dict.fromkeys(wanted))
    if not isinstance(source, (str, PathLike)):
        return from_pandas(source, name, names)
    path = Path(source)
    with _readable(path):
        data = path.read_bytes()
        table = _open(path, partial(io.BytesIO, gzip.decompress(data) if _is_gzip(path) else data))
    return _whole(table, names)


def _whole(table: TableFile, names: Sequence[str]) -> Frame:
    """Return all rows of a table."""
    import pyarrow as pa

    present = [name for name in names if name in table.header]
    batches = list(table.batches(present))
    arrays = {
        name: pa.chunked_array([b.column(i) for b in batches], table.types[name]) for i, name in enumerate(present)
    }
    rows = sum(batch.num_rows for batch in batches)
    lines, ragged = table.lines(rows, np.arange(rows, dtype=np.int64))
    problems = (*repeated_columns(table.header, names, heading(table.unit)), *ragged)
    columns = {name: from_arrow(array) for name, array in arrays.items()}
    repeats, locate = np.ones_like(lines), (table.unit + " {}").format
    return Frame(table.source, table.unit, table.header, columns, lines, repeats, problems, locate)


def large_files(source: Source) -> tuple[Path, ...]:
    """Return the files that a source names and that are not to be read into memory.

    Those are the files that match a pattern (``*``, ``?``, ``[...]``, and ``**`` for any folders), in the order of
    their names, and a single large file. None, for everything else, means `read_frame`.

    Raises
    ------
    InvalidInput
        When no file matches the pattern, or files of several formats do.
    """
    if not isinstance(source, (str, PathLike)):
        return ()
    path = Path(source)
    if any(mark in fspath(source) for mark in "*?[") and not path.exists():
        return _matching(fspath(source))
    return (path,) if _is_large(path) else ()


def open_file(path: Path) -> TableFile:
    """Open a file as `read_frame` does, but in bounded memory.

    Raises
    ------
    InvalidInput
        When it cannot be read as a table at all.
    """
    with _readable(path):
        return _open(path, _opener(path))


def _open(path: Path, opener: Callable[[], BinaryIO]) -> TableFile:
    """Open a table by the suffix of its name."""
    return open_parquet(str(path), opener) if _is_parquet(path) else open_csv(str(path), opener)


def _opener(path: Path) -> Callable[[], BinaryIO]:
    """Return what opens a file, to be read as bytes."""
    return cast("Callable[[], BinaryIO]", partial(gzip.open if _is_gzip(path) else open, path, "rb"))


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() in {".parquet", ".pq"}


def _is_gzip(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


def _is_large(path: Path) -> bool:
    """Say whether a file is too large to be read into memory; what cannot be read is not."""
    try:
        if path.stat().st_size * (_GZIP_RATIO if _is_gzip(path) else 1) > LARGE_BYTES:
            return True
        return _is_parquet(path) and open_parquet(str(path), _opener(path)).rows > LARGE_ROWS
    except (OSError, ValueError):
        return False


def _matching(pattern: str) -> tuple[Path, ...]:
    """Return the files that match a pattern."""
    files = sorted(path for path in map(Path, glob(pattern, recursive=True)) if not path.is_dir())
    if not files:
        raise invalid(pattern, "file", "path", "a pattern that CSV or Parquet files match", "no file that does")
    formats = sorted({_format(path) for path in files})
    if len(formats) > 1:
        raise invalid(pattern, "file", "path", "a pattern of files of one format", shorten_list(formats))
    return tuple(files)


def _format(path: Path) -> str:
    """Return the suffix that says how to read a file."""
    if _is_parquet(path):
        return ".parquet"
    return Path(path.stem).suffix.lower() if _is_gzip(path) else path.suffix.lower()


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn what goes wrong when a file is opened into a refusal of it."""
    try:
        yield
    except InvalidInput:
        raise
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise invalid(str(path), "file", "format", "CSV text in a gzip archive", str(error)) from error
    except IsADirectoryError as error:
        inside = next((s for s in (".parquet", ".pq", ".csv", ".csv.gz") if any(path.glob(f"*{s}"))), None)
        advice = f" (to read all files in it, give the pattern '{path / '*'}{inside}')" if inside else ""
        raise invalid(str(path), "file", "path", _EXPECTED, f"a directory{advice}") from error
    except (OSError, ValueError) as error:
        reasons: dict[type[Exception], str] = {
            FileNotFoundError: "no such file",
            PermissionError: "a file you may not read",
        }
        raise invalid(str(path), "file", "path", _EXPECTED, reasons.get(type(error), str(error))) from error
