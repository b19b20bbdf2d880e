"""XGBoost models saved as UBJSON (1.6 to 3.x, the default since 2.1), with a strict reader of UBJSON."""

from __future__ import annotations

import os
from os import PathLike
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import bytes_of, uncollected
from maxent.models.formats.boosting.xgboost import PARAMETERS
from maxent.models.formats.boosting.xgboost_json import converted
from maxent.models.formats.release_reader import Converted, Wanted, model_reader
from maxent.models.reading import Reader

# Universal Binary JSON (ubjson.org, draft 12) read strictly: one object, whose numbers stand in it as they are.

_NUMBERS = {b"i": ">i1", b"U": ">u1", b"I": ">i2", b"l": ">i4", b"L": ">i8", b"d": ">f4", b"D": ">f8"}
_NAMED = {b"Z": None, b"T": True, b"F": False}

_MOST_LEVELS = 32
# Objects, lists and keys that any file may have, and bytes for each further one: they take far more in memory
_FREE, _BYTES_EACH = 1024, 8


def read_ubjson_object(path: str | os.PathLike[str]) -> dict[str, object]:
    """Read the one object that a file holds, as `maxent.models.files.json_files.read_json_object` does.

    Lists of numbers of one type come back as arrays of that type, which take no more memory than in the file.
    """
    return _Decoder(bytes_of(os.fspath(path)), shown_path(path)).document()


class _Decoder:
    """Reads from a place on; every method moves it behind what it returns."""

    def __init__(self, data: bytes, source: str) -> None:
        self._data, self._source = data, source
        self._at = 0
        self._left = _FREE + len(data) // _BYTES_EACH

    def document(self) -> dict[str, object]:
        found = self._value(self._take(1), 0) if self._data[:1] == b"{" else self._refuse("an object")
        if self._at < len(self._data):
            self._refuse("nothing after the object")
        assert isinstance(found, dict)
        return found

    def _refuse(self, expected: str) -> NoReturn:
        found = "the end of the file" if self._at >= len(self._data) else "something else"
        raise invalid(self._source, f"byte {self._at}", "UBJSON", expected, found)

    def _take(self, n: int) -> bytes:
        if n > len(self._data) - self._at:
            self._at = len(self._data)
            self._refuse("more bytes")
        self._at += n
        return self._data[self._at - n : self._at]

    def _value(self, mark: bytes, level: int) -> object:
        """The value behind its mark."""
        if mark in _NUMBERS:
            return self._numbers(mark, 1)[0].item()
        if mark == b"S":
            return self._string()
        if mark in _NAMED:
            return _NAMED[mark]
        if mark not in (b"[", b"{") or level == _MOST_LEVELS:
            self._refuse(f"a value, in at most {_MOST_LEVELS} levels")
        self._count()
        return self._list(level) if mark == b"[" else self._object(level)

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            self._refuse(f"fewer objects, lists and keys: {_FREE}, and one for {_BYTES_EACH} bytes")

    def _numbers(self, mark: bytes, n: int) -> npt.NDArray[Any]:
        kind = np.dtype(_NUMBERS[mark])
        if n > (len(self._data) - self._at) // kind.itemsize:
            self._refuse("fewer numbers")
        return np.frombuffer(self._take(n * kind.itemsize), kind)

    def _length(self) -> int:
        mark = self._take(1)
        found = self._numbers(mark, 1)[0].item() if mark in _NUMBERS and mark not in (b"d", b"D") else -1
        if not isinstance(found, int) or found < 0:
            self._refuse("a length")
        return found

    def _string(self) -> str:
        try:
            return self._take(self._length()).decode("utf-8")
        except UnicodeDecodeError:
            self._refuse("text in UTF-8")

    def _next_is(self, mark: bytes) -> bool:
        """Whether a mark comes next, which is then passed."""
        there = self._data[self._at : self._at + 1] == mark
        self._at += there
        return there

    def _list(self, level: int) -> list[object] | npt.NDArray[Any]:
        if self._next_is(b"$"):
            mark = self._take(1)
            if mark not in _NUMBERS or not self._next_is(b"#"):
                self._refuse("numbers of a type, and how many")
            return self._numbers(mark, self._length())
        found: list[object] = []
        if self._next_is(b"#"):
            for _ in range(self._length()):
                found.append(self._value(self._take(1), level + 1))
            return found
        while not self._next_is(b"]"):
            found.append(self._value(self._take(1), level + 1))
        return found

    def _object(self, level: int) -> dict[str, object]:
        found: dict[str, object] = {}
        size = self._length() if self._next_is(b"#") else None
        while len(found) < size if size is not None else not self._next_is(b"}"):
            self._count()
            key = self._string()
            if key in found:
                self._refuse("each key once")
            found[key] = self._value(self._take(1), level + 1)
        return found


_START = b"{L\0\0\0\0\0\0\0\x07learner{"


@uncollected()
def convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    """Read a model, see `maxent.models.formats.release_reader.ReleaseReader`."""
    return converted(shown_path(path), read_ubjson_object(path), wanted, reader)


READER = model_reader(
    "xgboost-ubj",
    "a model that XGBoost saved as UBJSON",
    (),
    convert,
    lambda head: head.start.startswith(_START),
    parameters=PARAMETERS,
)
