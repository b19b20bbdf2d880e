"""The archive of a skops file: its description and its arrays, read in bounded memory; nothing is unpacked to disk."""

from __future__ import annotations

import io
import math
import os
import zipfile
import zlib
from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from maxent.models.errors import InvalidInput, invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import bytes_of, json_object

SCHEMA = "schema.json"

_MOST_TIMES = 20
# Bytes that may be in an archive, for each byte of it and beside these: a bomb has more, compressed models have 7
_MOST_MORE = 2**20

_UNREADABLE = (zipfile.BadZipFile, zlib.error, OSError, ValueError, EOFError, NotImplementedError, RuntimeError)


class Archive:
    """The members of a skops file."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.source = source = shown_path(path)
        data = bytes_of(os.fspath(path))
        self.size = len(data)
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            members = self._zip.infolist()
        except _UNREADABLE as error:
            raise self._wrong("file", "a zip archive, as skops saves it", error) from None
        self._sizes = {member.filename: member.file_size for member in members}
        unpacked, most = sum(member.file_size for member in members), _MOST_TIMES * self.size + _MOST_MORE
        if unpacked > most:
            expected = f"at most {most:,} bytes in the archive: save the model without compression"
            raise invalid(source, "file", "size", expected, f"{unpacked:,}")
        self._arrays: dict[str, npt.NDArray[Any]] = {}

    def schema(self) -> Mapping[str, Any]:
        """The description of the model."""
        return json_object(self._bytes(SCHEMA), f"{self.source}, {SCHEMA}")

    def array(self, name: object) -> npt.NDArray[Any]:
        """An array, which each name has only one of."""
        if not isinstance(name, str):
            raise invalid(self.source, SCHEMA, "file", "the name of an array", "something else")
        if name not in self._arrays:
            self._arrays[name] = self._read(name)
        return self._arrays[name]

    def _bytes(self, name: str) -> bytes:
        if name not in self._sizes:
            raise invalid(self.source, "file", name[:80], "a member of the archive", "none of that name")
        try:
            with self._zip.open(name) as member:
                found = member.read(self._sizes[name] + 1)
        except (*_UNREADABLE, KeyError) as error:
            raise self._wrong(name[:80], "a member that can be read", error) from None
        if len(found) != self._sizes[name]:
            raise invalid(self.source, "file", name[:80], f"{self._sizes[name]} bytes", f"{len(found)}")
        return found

    def _read(self, name: str) -> npt.NDArray[Any]:
        """An array in NumPy's format, with nothing in it that is an object."""
        content = io.BytesIO(self._bytes(name))
        try:
            version = np.lib.format.read_magic(content)
            header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, by_column, kind = header(content)
        except Exception as error:  # NumPy parses the header as Python: its errors are of many kinds
            raise self._wrong(name[:80], "an array of NumPy", error) from None
        data = content.read()
        if kind.hasobject or len(shape) > 8 or math.prod(shape) * kind.itemsize != len(data):
            raise invalid(self.source, "file", name[:80], "an array of NumPy without objects, whole", "something else")
        found = np.frombuffer(data, kind) if kind.itemsize else np.zeros(0, kind)
        return found.reshape(shape, order="F" if by_column else "C")

    def _wrong(self, where: str, expected: str, error: Exception) -> InvalidInput:
        words = str(error).split("\n")[0][:100] or type(error).__name__
        return invalid(self.source, "file", where, expected, words)
