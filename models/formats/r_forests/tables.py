"""Tables of trees as R's ``write.csv`` writes them: one a tree, a folder of them, or one with a column ``tree``."""

from __future__ import annotations

import csv
import os
import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import MAX_BYTES
from maxent.models.files.text_files import read_text
from maxent.models.tables.frame import shorten

ABSENT = ("", "NA")
_TREES = re.compile(r"tree[-_.]?([0-9]{1,6})\.csv", re.IGNORECASE)
_TOGETHER = 2**13  # cells that are objects at the same time
_DIGITS = 14  # so many digits of a number, one less than write.csv writes, show that none is lacking


class _Cells:
    """The cells of a file, without an object for each: one text of all, and where each of them ends in it."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._new: list[str] = []
        self._texts: list[str] = []
        self._ends = array("q", [0])
        self._text = ""
        self.lines = array("q")

    def add(self, line: int, row: Sequence[str]) -> None:
        """Keep a row."""
        self.lines.append(line)
        for cell in row:
            self._ends.append(self._ends[-1] + len(cell))
        self._new += row
        if len(self._new) >= _TOGETHER:
            self._texts.append("".join(self._new))
            self._new = []

    def done(self) -> None:
        """No row will be added."""
        self._text = "".join((*self._texts, *self._new))
        self._texts, self._new = [], []

    def cell(self, row: int, column: int) -> str:
        """A cell."""
        at = row * self._width + column
        return self._text[self._ends[at] : self._ends[at + 1]]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """The rows of a tree: where they are among the cells of a file; ``names`` has where those of a column are."""

    source: str
    names: Mapping[str, int]
    cells: _Cells
    rows: Sequence[int]

    def __len__(self) -> int:
        return len(self.rows)

    def cell(self, at: int, name: str) -> str:
        """The cell of a row in a column, nothing where there is no such column."""
        return self.cells.cell(self.rows[at], self.names[name]) if name in self.names else ""

    def column(self, name: str) -> Iterator[str]:
        """The cells of a column."""
        return (self.cell(at, name) for at in range(len(self)))

    def whole(self, at: int, name: str) -> int:
        """A cell that is a whole number, not below -1."""
        cell = self.cell(at, name)
        if re.fullmatch("-1|[0-9]{1,15}", cell) is None:
            raise invalid(self.source, self.place(at), name, "a whole number", shorten(cell))
        return int(cell)

    def number(self, at: int, name: str) -> float:
        """A cell that is a number."""
        cell = self.cell(at, name)
        try:
            found = float(cell)
        except ValueError:
            found = float("nan")
        if not isfinite(found):
            raise invalid(self.source, self.place(at), name, "a number", shorten(cell))
        return found

    def place(self, at: int) -> str:
        """What problems call a row."""
        return f"line {self.cells.lines[self.rows[at]]}"


def tree_files(names: Sequence[str]) -> list[str]:
    """The files of trees among the names in a folder, by their numbers: ``tree1.csv``, ``tree2.csv``."""
    found = [(int(match[1]), name) for name in names if (match := _TREES.fullmatch(name)) is not None]
    return [name for _, name in sorted(found)]


def read_tables(path: str | os.PathLike[str]) -> list[Table]:
    """The tables of the trees in a file, or of the files of a folder."""
    folder = Path(path)
    files = [folder / name for name in tree_files(os.listdir(folder))] if folder.is_dir() else [folder]
    numbers = [int(match[1]) for file in files if (match := _TREES.fullmatch(file.name)) is not None]
    if folder.is_dir() and numbers != list(range(1, len(files) + 1)):
        raise invalid(shown_path(path), "folder", "files", "tree1.csv, tree2.csv, ..., each once", shorten(numbers))
    found: list[Table] = []
    size = 0
    for file in files:
        size += file.stat().st_size if folder.is_dir() else 0
        if size > MAX_BYTES:
            raise invalid(shown_path(path), "folder", "size", f"at most {MAX_BYTES // 2**20} MiB", "larger files")
        found += _tables(file)
        if found[-1].names != found[0].names:
            raise invalid(found[-1].source, "file", "header", "the columns of the first tree", "others")
    return found


def _tables(file: Path) -> list[Table]:
    source = shown_path(file)
    rows = _rows(file)
    _, first = next(rows)
    header = tuple(re.sub("[ .]", " ", name) if "pred." not in name else name for name in first)
    names = {name: i for i, name in enumerate(header)}
    cells = _Cells(len(header))
    groups: dict[str, array[int]] = {}
    for at, (line, row) in enumerate(rows):
        cells.add(line, row)
        groups.setdefault(row[names["tree"]] if "tree" in names else "", array("q")).append(at)
    cells.done()
    if len(names) < len(header):
        raise invalid(source, "file", "header", "columns of different names", "one twice")
    if not groups:
        raise invalid(source, "file", "content", "a row for each node", "none")
    return [Table(source, names, cells, group) for group in groups.values()]


def read_csv(file: Path) -> list[tuple[int, list[str]]]:
    """The rows of a file with the numbers of their lines, its header first, each as long as the header."""
    return list(_rows(file))


def _rows(file: Path) -> Iterator[tuple[int, list[str]]]:
    source = shown_path(file)
    reader = csv.reader(_lines(read_text(file)), strict=True)
    width = 0
    try:
        for row in reader:
            width = width or len(row)
            if row and len(row) != width:
                raise invalid(source, f"line {reader.line_num}", "cells", f"{width}, as in the header", str(len(row)))
            if row:
                yield reader.line_num, row
    except csv.Error as error:
        raise invalid(source, "file", "content", "CSV of R's write.csv", str(error)) from None
    if not width:
        raise invalid(source, "file", "content", "CSV of R's write.csv", "an empty file")


def _lines(text: str) -> Iterator[str]:
    """The lines of a text, without their ends."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]


def are_whole(numbers: Sequence[float]) -> bool:
    """Whether no digit of a number was lost to the 15 that write.csv writes."""
    return all(float(f"{number:.{_DIGITS}g}") == number for number in numbers)
