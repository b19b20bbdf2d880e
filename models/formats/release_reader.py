"""The interface of a reader of releases: recognition of a file, and the function that reads it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from maxent.models.files.input_files import open_input
from maxent.models.files.json_files import MAX_BYTES
from maxent.models.formats.conversion import Converted, Wanted
from maxent.models.reading import Reader
from maxent.models.records.generalized_table import GeneralizedTable
from maxent.models.release import Release
from maxent.models.tables.frame import Source

if TYPE_CHECKING:
    from os import PathLike

# Generalised records: a table, a DataFrame like its ``frame()``, or the path of a file with that
Records: TypeAlias = "GeneralizedTable | Source"

Convert: TypeAlias = "Callable[[str | PathLike[str], Wanted, Reader], Converted]"

HEAD_BYTES = 2**16  # how much of a file readers recognise it by

# How files of a kind begin
_LOOKS = (
    (b"PAR1", "a Parquet file"),
    (b"PK\3\4", "a zip archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"RDX", "R data"),
    (b"{", "a JSON object"),
    (b"[", "a JSON list"),
    (b"<", "XML or HTML"),
)


@dataclass(frozen=True, slots=True)
class Head:
    """The start of a file, or the names in a folder, that readers recognise it by.

    Attributes
    ----------
    name : str
        The path, in lower case.
    start : bytes
        The first `HEAD_BYTES` bytes; none of a folder, or of what cannot be read.
    entries : tuple of str
        Names in a folder, sorted; none of a file.
    """

    name: str
    start: bytes = b""
    entries: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The start as UTF-8, without a byte order mark and blanks before it; other bytes are replaced."""
        return self.start.decode("utf-8", "replace").removeprefix("\ufeff").lstrip()

    @property
    def looks(self) -> str:
        """Kind of file that it seems to be, without its content."""
        if self.start[:1] == b"\x80" and self.start[1:2] in b"\2\3\4\5":
            return "a pickle, which could run any code and is not loaded"
        start = self.start.removeprefix(b"\xef\xbb\xbf").lstrip()
        other = "binary data" if b"\0" in start or "\ufffd" in self.text[:-1] else "other text"
        return next((words for magic, words in _LOOKS if start.startswith(magic)), other)


def read_head(path: str | PathLike[str]) -> Head:
    """The head of a file, of a folder, or of standard input (``-``); empty when it cannot be read."""
    name = os.fspath(path).lower()
    try:
        with open_input(path, MAX_BYTES) as file:
            return Head(name, file.read(HEAD_BYTES))
    except IsADirectoryError:
        return Head(name, entries=tuple(sorted(os.listdir(path))))
    except (OSError, ValueError):
        return Head(name)


@dataclass(frozen=True, slots=True)
class ReleaseReader:
    """A reader of releases in one format.

    Attributes
    ----------
    name : str
        What ``--from``, and ``Reading(format=...)``, call the format.
    words : str
        A noun phrase for the docs and for errors: ``a maxent/1 document``.
    suffixes : tuple of str
        Endings of names, in lower case, of files that no reader recognises by what is in them.
    read : callable
        Path and `maxent.models.reading.Reader` -> the release, which is checked against every rule of ``maxent/1``; or
        generalised records. It raises `maxent.InvalidInput` for a file with anything wrong in it, and runs no code
        from it.
    recognise : callable, optional
        Whether a `Head` shows the format beyond doubt; None for a format that its suffix alone shows.
    convert : callable, optional
        Of a format of models: path, `maxent.models.formats.conversion.Wanted` and `maxent.models.reading.Reader` ->
        `maxent.models.formats.conversion.Converted`. Make such a reader with `model_reader`.
    parameters : tuple of str
        The names of what ``--param`` may give to ``convert``.
    """

    name: str
    words: str
    suffixes: tuple[str, ...]
    read: Callable[[str | PathLike[str], Reader], Release | Records]
    recognise: Callable[[Head], bool] | None = None
    convert: Convert | None = None
    parameters: tuple[str, ...] = ()


def model_reader(
    name: str,
    words: str,
    suffixes: tuple[str, ...],
    convert: Convert,
    recognise: Callable[[Head], bool],
    *,
    parameters: tuple[str, ...] = (),
) -> ReleaseReader:
    """The reader of a format of models, which ``convert`` reads; where a release is read nothing is said of it."""

    def read(path: str | PathLike[str], reader: Reader) -> Release:
        return convert(path, Wanted(), reader).release

    return ReleaseReader(name, words, suffixes, read, recognise, convert, parameters)
