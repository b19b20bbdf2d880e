"""Files that a check read, with their hashes: whole folders and patterns, file by file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from glob import glob
from typing import Any

from maxent.models.files.input_files import is_standard_input
from maxent.models.files.output import is_pattern


@dataclass(frozen=True, slots=True)
class Hashed:
    """A file that was read: what for, its path, bytes and SHA-256."""

    role: str
    path: str
    size: int
    sha256: str

    def as_dict(self, folder: str) -> dict[str, Any]:
        """The entry of a record that is in a folder."""
        return {"role": self.role, "path": relative(self.path, folder), "bytes": self.size, "sha256": self.sha256}


def hashed(role: str, path: object) -> Iterator[Hashed]:
    """The files that a path stands for, in the order of their names; nothing of what is no file."""
    if not isinstance(path, (str, os.PathLike)):
        return
    given = os.fspath(path)
    if "\0" in given or is_standard_input(given):
        return
    for name in _names(given):
        with open(name, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        yield Hashed(role, name, os.path.getsize(name), digest)


def relative(path: str, folder: str) -> str:
    """A path from a folder, with slashes; as it is where there is no way."""
    try:
        return os.path.relpath(path, folder or ".").replace(os.sep, "/")
    except ValueError:  # another drive
        return path


def _names(path: str) -> Iterable[str]:
    if os.path.isdir(path):
        return sorted(
            os.path.join(folder, name)
            for folder, _, names in os.walk(path)
            for name in names
            if os.path.isfile(os.path.join(folder, name))
        )
    found = sorted(glob(path, recursive=True)) if is_pattern(path) else [path]
    return filter(os.path.isfile, found)
