"""The folder of a study's results: a file for each point that is done, and all of them together at the end."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from maxent.models.errors import InvalidInput, MaxentError, Problem
from maxent.models.strict_json import unusable_file
from maxent.report import as_json_text, write_atomically, write_text
from maxent.study_rows import COLUMNS, FAILED

if TYPE_CHECKING:
    import pyarrow as pa

RESULTS, STUDY, PROVENANCE = "results.parquet", "study.toml", "provenance.json"


class Taken(MaxentError, RuntimeError):
    """Another run writes to the folder."""


@dataclass(frozen=True, slots=True)
class Folder:
    """Where the results of a study are, see docs/sweep.md."""

    path: Path

    @property
    def parts(self) -> Path:
        return self.path / "parts"

    @property
    def results(self) -> Path:
        return self.path / RESULTS

    def part(self, point: str) -> Path:
        """The file of a point."""
        return self.parts / f"{point}.parquet"

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Make the folder, keep others from it meanwhile, and clear away what a run that was killed left half written.

        The system gives the lock back when its process ends, however it does.

        Raises
        ------
        Taken
            When another run has the lock.
        InvalidInput
            When the folder cannot be made or written to.
        """
        try:
            self.parts.mkdir(parents=True, exist_ok=True)
            file = open(self.path / ".lock", "a+", encoding="utf-8")  # noqa: SIM115 (closed below)
        except OSError as error:
            raise unusable_file(str(self.path), "a folder that can be written", error) from None
        with file:
            try:
                _lock(file)
            except OSError:
                file.seek(0)
                raise Taken(f"{self.path} is in use by another run: {file.read().strip() or 'unknown'}") from None
            file.truncate(0)
            file.write(f"process {os.getpid()} on {socket.gethostname()}, since {now()}\n")
            file.flush()
            for left in self.parts.glob(".maxent-*.tmp"):
                left.unlink(missing_ok=True)
            yield

    def write(self, row: Mapping[str, Any]) -> None:
        """Write the row of a point, atomically."""
        _write(self.part(row["point"]), _table([row]))

    def done(self, points: Iterable[str]) -> set[str]:
        """Those of the points that have a row and did not fail."""
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
        return {name: row.get(name) for name in COLUMNS}  # options that came later had their defaults

    def describe(self, text: str, run: Mapping[str, Any]) -> None:
        """Put the study file, and under what circumstances it ran, beside the results; earlier runs stay."""
        write_text(self.path / STUDY, text)
        try:
            runs = list(json.loads((self.path / PROVENANCE).read_text(encoding="utf-8"))["runs"])
        except (OSError, ValueError, KeyError, TypeError):
            runs = []
        runs = [earlier for earlier in runs if earlier.get("started") != run["started"]]
        write_text(self.path / PROVENANCE, as_json_text({"runs": [*runs, run]}) + "\n")


def now() -> str:
    """The time, in UTC."""
    return datetime.now(UTC).isoformat()


def check_folder(path: str | PathLike[str]) -> Folder:
    """A folder for results, which need not be there yet; refuses what is a file."""
    folder = Path(path)
    if "\0" in str(path) or (folder.exists() and not folder.is_dir()):
        raise InvalidInput("output", [Problem("argument", "-o", "a folder, which may be new", repr(str(path)))])
    return Folder(folder)


def _lock(file: IO[str]) -> None:
    """Have a file for oneself until it is closed; an OSError when another process has it."""
    if sys.platform == "win32":
        import msvcrt

        file.seek(1 << 20)  # other processes cannot read what is locked
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows with all columns, whatever they know."""
    import pyarrow as pa

    types = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    arrays = [pa.array([_cell(row.get(name), kind) for row in rows], types[kind]) for name, kind in COLUMNS.items()]
    return pa.table(arrays, names=list(COLUMNS))


def _cell(value: Any, kind: type) -> Any:
    """A value of a row as its column holds it; texts without what UTF-8 cannot say."""
    found = None if value is None else kind(value)
    return found.encode("utf-8", "backslashreplace").decode() if isinstance(found, str) else found


def _write(path: Path, table: pa.Table) -> None:
    import pyarrow.parquet as pq

    write_atomically(path, lambda temporary: pq.write_table(table, temporary))
