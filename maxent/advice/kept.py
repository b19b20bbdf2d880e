"""Rows of trials that are done: in memory, and in a folder where the same call goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from maxent.models.files.json_text import as_json_text
from maxent.models.files.output import write_text
from maxent.studies.results_folder import Folder, check_folder


@dataclass(slots=True)
class Kept:
    """Rows by the id of their trial; ``folder`` None keeps them for this call alone."""

    folder: Folder | None = None
    rows: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Make the folder and keep other runs from it meanwhile, see `Folder.opened`."""
        with nullcontext() if self.folder is None else self.folder.opened():
            yield

    def get(self, trial: str) -> Mapping[str, Any] | None:
        """The row of a trial, None where it is not done; one that failed is tried again by the next call."""
        if trial not in self.rows and self.folder is not None:
            found = _read(self._file(self.folder, trial))
            if found is not None and found.get("trial") == trial and "error" not in found:
                self.rows[trial] = found
        return self.rows.get(trial)

    def put(self, row: Mapping[str, Any]) -> None:
        """Keep a row."""
        self.rows[row["trial"]] = row
        if self.folder is not None:
            write_text(self._file(self.folder, row["trial"]), as_json_text(row) + "\n")

    @staticmethod
    def _file(folder: Folder, trial: str) -> Path:
        return folder.parts / f"{trial}.json"


def kept_in(path: str | PathLike[str] | None) -> Kept:
    """Rows in a folder, which may be new; refuses what is a file."""
    return Kept(None if path is None else check_folder(path, "resume"))


def _read(path: Path) -> dict[str, Any] | None:
    """A row, None where there is none that can be read."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
