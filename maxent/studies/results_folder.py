"""The folder of a study's results: a file for each point that is done, and all of them together at the end."""

from __future__ import annotations

import errno
import json
import os
import socket
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from maxent.models.arguments import is_path, shorten
from maxent.models.errors import ARGUMENT, InvalidInput, MaxentError, Problem, invalid
from maxent.models.files.json_files import as_json_text, unusable_file
from maxent.models.files.output import (
    SOURCE,
    check_apart,
    locked,
    may_replace,
    remove_leftovers,
    write_atomically,
    write_text,
)
from maxent.studies.points import FAILED, columns

if TYPE_CHECKING:
    import pyarrow as pa

RESULTS, STUDY, PROVENANCE, LOCK = "results.parquet", "study.toml", "provenance.json", ".lock"
# Characters of a lock that are read.
LONGEST = 200


class Taken(MaxentError, RuntimeError):
    """Another run writes to the folder."""


@dataclass(frozen=True, slots=True)
class Folder:
    """The folder of the results of a study, see docs/sweep.md."""

    path: Path

    @property
    def parts(self) -> Path:
        return self.path / "parts"

    @property
    def results(self) -> Path:
        return self.path / RESULTS

    def check(self, study: Path, data: Iterable[Path]) -> None:
        """Refuse to write over the study or its data; the copy of the study is left alone where it is the study."""
        data = list(data)
        check_apart({f"-o ({name})": self.path / name for name in (RESULTS, PROVENANCE, LOCK)}, [study, *data])
        check_apart({f"-o ({STUDY})": self.path / STUDY}, data)
        foreign = [
            path
            for path in (self.path / name for name in (RESULTS, STUDY, PROVENANCE))
            if path.exists() and not (study.exists() and path.samefile(study))
        ]
        if foreign and not self.parts.is_dir() and not may_replace():
            expected = "a folder of a study, one without files of these names, or --force"
            raise InvalidInput(SOURCE, [Problem("argument", "-o", expected, f"{str(foreign[0])!r}, which is there")])
        parts = os.path.realpath(self.parts)
        inside = [path for path in data if os.path.dirname(os.path.realpath(path)) == parts]
        if inside:
            found = f"{str(self.path)!r}, which has an input among its results: {str(inside[0])!r}"
            raise InvalidInput(SOURCE, [Problem("argument", "-o", "a folder of its own", found)])

    def part(self, point: str) -> Path:
        """The file of a point."""
        return self.parts / f"{point}.parquet"

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Make the folder, keep others from it meanwhile, and clear away what a run that was killed left half written.

        Raises `Taken` when another run has the lock, which the system gives back when it ends.
        """
        try:
            self.parts.mkdir(parents=True, exist_ok=True)
            file = _open_lock(self.path / LOCK)
        except OSError as error:
            raise unusable_file(str(self.path), "a folder that can be written", error) from None
        with file:
            if not _is_free(file):
                raise Taken(f"{self.path} is in use by another run: {file.read(LONGEST).strip() or 'unknown'}")
            file.truncate(0)
            file.write(f"process {os.getpid()} on {socket.gethostname()}, since {now()}\n")
            file.flush()
            remove_leftovers(self.path)
            remove_leftovers(self.parts)
            yield

    def write(self, row: Mapping[str, Any]) -> None:
        """Write the row of a point, atomically."""
        _write(self.part(row["point"]), _table([row]))

    def done(self, points: Iterable[str]) -> set[str]:
        """The points with a row that did not fail."""
        return {point for point in points if (row := self._row(point)) is not None and row["status"] != FAILED}

    def merge(self, points: Iterable[str]) -> list[dict[str, Any]]:
        """Write the rows of points that have one to a single file, in this order; and return them."""
        rows = [row for point in points if (row := self._row(point)) is not None]
        _write(self.results, _table(rows))
        return rows

    def _row(self, point: str) -> dict[str, Any] | None:
        """The row of a point, None when there is none that can be read."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            [row] = pq.ParquetFile(self.part(point)).read().to_pylist()
        except (OSError, ValueError, pa.ArrowException):
            return None
        if row.get("point") != point or row.get("status") is None:
            return None
        return {name: row.get(name) for name in columns()}  # options that came later had their defaults

    def describe(self, study: Path, text: str, run: Mapping[str, Any]) -> None:
        """Put the study file, and under what circumstances it ran, beside the results; earlier runs stay."""
        copy = self.path / STUDY
        if not (copy.exists() and study.exists() and copy.samefile(study)):  # it is run from the copy
            write_text(copy, text)
        try:
            runs = list(json.loads((self.path / PROVENANCE).read_text(encoding="utf-8"))["runs"])
        except (OSError, ValueError, KeyError, TypeError):
            runs = []
        runs = [earlier for earlier in runs if earlier.get("started") != run["started"]]
        write_text(self.path / PROVENANCE, as_json_text({"runs": [*runs, run]}) + "\n")


def now() -> str:
    """The time, in UTC."""
    return datetime.now(UTC).isoformat()


def check_folder(path: str | PathLike[str], name: str = "output") -> Folder:
    """A folder for results, the argument of a name, which need not be there yet; refuses what is a file."""
    if not is_path(path) or "\0" in str(path) or (os.path.exists(path) and not os.path.isdir(path)):
        found = repr(str(path)) if is_path(path) else shorten(path)
        raise InvalidInput(name, [Problem(ARGUMENT, name, "a folder, which may be new", found)])
    return Folder(Path(path))


def _open_lock(path: Path) -> IO[str]:
    """Open the file whose lock the run has that writes to the folder: no link, which could lead to any other file."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(path, flags, 0o666)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.EMLINK):
            raise
        raise invalid(str(path), "file", "lock", "a file of its own", "a link") from None
    file = os.fdopen(handle, "r+", encoding="utf-8", errors="replace")
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        file.close()
        raise invalid(str(path), "file", "lock", "a file of its own", "a link or no regular file")
    return file


def _is_free(file: IO[str]) -> bool:
    """Have a file for oneself until it is closed, if nobody has it."""
    try:
        return locked(file.fileno())
    except OSError:  # the file system knows no locks: nobody could tell
        return False


def _table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows with all columns, whatever they know."""
    import pyarrow as pa

    types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    return pa.table(
        {name: pa.array([_cell(row.get(name), kind) for row in rows], types[kind]) for name, kind in columns().items()}
    )


def _cell(value: Any, kind: type) -> Any:
    """A value of a row as its column holds it; texts without what UTF-8 cannot say."""
    found = None if value is None else kind(value)
    return found.encode("utf-8", "backslashreplace").decode() if isinstance(found, str) else found


def _write(path: Path, table: pa.Table) -> None:
    import pyarrow.parquet as pq

    write_atomically(path, lambda temporary: pq.write_table(table, temporary))
