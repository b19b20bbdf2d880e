"""The source of a table: a file or standard input, its format, its bytes as they are unpacked."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from glob import glob
from pathlib import Path
from typing import BinaryIO, Literal, cast

from maxent.models.errors import InvalidInput, invalid
from maxent.models.files.addresses import Address, FilePath, matching
from maxent.models.files.input_files import (
    TooLarge,
    is_standard_input,
    open_input,
    shown_path,
    table_not_opened,
)
from maxent.models.tables.frame import shorten_list
from maxent.models.tables.sources.memory import too_large

LARGE_BYTES = 50_000_000  # a file of more bytes, unpacked, is not kept in memory
_EXPECTED = "a CSV, Parquet or Excel file that can be read"
Format = Literal["csv", "parquet", "excel"]
# Suffixes of tables that are no CSV
FORMATS: dict[str, Format] = {".parquet": "parquet", ".pq": "parquet", ".xlsx": "excel", ".xlsm": "excel"}

_FIRST: dict[bytes, Format] = {b"PAR1": "parquet", b"PK\x03\x04": "excel"}
_GZIP_RATIO = 1032  # the most bytes that a byte of gzip can stand for


@dataclass(frozen=True, slots=True)
class TableInput:
    """A file that is to be read as a table.

    ``source``: what messages call it. ``open_stored``: opens its bytes, from the first. ``size``: how many there are.
    ``format``: what they are, unpacked. ``packed``: whether they are in a gzip archive.
    """

    source: str
    open_stored: Callable[[], BinaryIO]
    size: int
    format: Format
    packed: bool

    def open(self) -> BinaryIO:
        """Open the bytes, unpacked, from the first."""
        return cast("BinaryIO", _Unpacked(self.open_stored())) if self.packed else self.open_stored()

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
        return replace(self, open_stored=partial(io.BytesIO, data), size=len(data), packed=False)

    def _first(self, size: int) -> bytes:
        """Return the first bytes, unpacked."""
        with self.open() as file:
            return file.read(size)


def table_input(path: FilePath, max_memory: int) -> TableInput:
    """Find out what a file, or standard input (``-``), is.

    Files are known by the suffixes of their names, standard input by its first bytes. It may have ``max_memory`` bytes.

    Raises
    ------
    OSError
        When it cannot be read, or is no regular file.
    TooLarge
        When standard input has more bytes.
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
    return TableInput(shown_path(path), opener, size, kind, packed)


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
    source = shown_path(path)
    try:
        yield
    except InvalidInput:
        raise
    except TooLarge as error:
        raise too_large(source, max_memory, "more") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        found = "one that ends too early" if isinstance(error, EOFError) else "a damaged one, or another file"
        raise invalid(source, "file", "format", "CSV text in a gzip archive", found) from error
    except IsADirectoryError as error:
        raise invalid(source, "file", "path", _EXPECTED, f"a directory{_pattern_for(path)}") from error
    except FileNotFoundError as error:
        raise invalid(source, "file", "path", _EXPECTED, f"no such file{table_not_opened(path)}") from error
    except PermissionError as error:
        raise invalid(source, "file", "path", _EXPECTED, "a file you may not read") from error
    except (OSError, ValueError) as error:
        raise invalid(source, "file", "path", _EXPECTED, getattr(error, "strerror", None) or str(error)) from error


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
