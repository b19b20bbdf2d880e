"""Tree tables of ``ranger`` (``treeInfo``) and ``randomForest`` (``getTree``): files, levels, tests, leaf classes.

Both go left where a number is at most the split. Factors are tested by the numbers of their levels: those that ranger
lists go right, those of which randomForest has set the bit go left.
"""

from __future__ import annotations

import csv
import os
import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Literal

from maxent.models.arguments import shorten
from maxent.models.errors import ARGUMENT, InvalidInput, invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import MAX_BYTES, read_text
from maxent.models.formats.assemble import packed
from maxent.models.formats.proof import TrainingColumns
from maxent.models.formats.release_reader import Wanted
from maxent.models.nodes import Nodes
from maxent.models.release import Attribute, Branch, Node

# Tables of trees as R's ``write.csv`` writes them: one a tree, a folder of them, or one with a column ``tree``.

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
class ForestTable:
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


def read_tables(path: str | os.PathLike[str]) -> list[ForestTable]:
    """The tables of the trees in a file, or of the files of a folder."""
    folder = Path(path)
    files = [folder / name for name in tree_files(os.listdir(folder))] if folder.is_dir() else [folder]
    numbers = [int(match[1]) for file in files if (match := _TREES.fullmatch(file.name)) is not None]
    if folder.is_dir() and numbers != list(range(1, len(files) + 1)):
        raise invalid(shown_path(path), "folder", "files", "tree1.csv, tree2.csv, ..., each once", shorten(numbers))
    found: list[ForestTable] = []
    size = 0
    for file in files:
        size += file.stat().st_size if folder.is_dir() else 0
        if size > MAX_BYTES:
            raise invalid(shown_path(path), "folder", "size", f"at most {MAX_BYTES // 2**20} MiB", "larger files")
        found += _tables(file)
        if found[-1].names != found[0].names:
            raise invalid(found[-1].source, "file", "header", "the columns of the first tree", "others")
    return found


def _tables(file: Path) -> list[ForestTable]:
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
    return [ForestTable(source, names, cells, group) for group in groups.values()]


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


# Levels of factors, which the tables of R's forests have as numbers only.
#
# A file ``levels.csv`` beside them says what the numbers mean: columns ``ind``, the factor, and ``values``, its levels
# in their order, as R's ``stack`` makes them of a list. Otherwise ``--param levels=sorted`` states that they are in the
# order of the alphabet, as those that R made of text.

LEVELS = "levels.csv"
WAY_OUT = (
    'the names of levels in their order: write.csv(stack(lapply(Filter(is.factor, train), levels)), "levels.csv", '
    "row.names = FALSE) beside the tables; or, where R made factors of text, --param levels=sorted with --train"
)


@dataclass(frozen=True, slots=True)
class Levels:
    """What is known of the levels of factors: those of a file, and whether others are sorted.

    ``found`` keeps those that were asked for.
    """

    source: str
    stated: Mapping[str, tuple[str, ...]]
    training: TrainingColumns | None
    are_sorted: bool
    found: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def is_factor(self, name: str) -> bool | None:
        """Whether a column is a factor, or holds R's TRUE and FALSE; None where that is not known.

        A file that states levels has those of all factors. A column of numbers may be a factor of numbers.
        """
        attribute = None if self.training is None else self.training.named(name)
        if name in self.stated or (attribute is not None and attribute.values is not None):
            return True
        return False if self.stated else None

    def is_logical(self, name: str) -> bool:
        """Whether a column holds R's TRUE and FALSE, and is no factor of them."""
        attribute = None if self.training is None else self.training.named(name)
        values = () if attribute is None or name in self.stated else attribute.values or ()
        return bool(values) and {value.upper() for value in values} <= {"TRUE", "FALSE"}

    def size(self, name: str) -> int | None:
        """How many values a column has, None where that is not known."""
        if name in self.stated:
            return len(self.stated[name])
        orders = () if self.training is None else self.training.orders(name)
        return len(orders[0]) if orders else None

    def of(self, place: str, name: str) -> tuple[str, ...]:
        """The levels of a factor in their order."""
        if name in self.stated:
            return self.stated[name]
        if name in self.found:
            return self.found[name]
        orders = self.training.orders(name) if self.training is not None and self.are_sorted else ()
        if len(orders) != 1:
            found = f"several orders of {shorten(name)}" if orders else f"numbers of levels of {shorten(name)}"
            raise invalid(self.source, place, "levels", WAY_OUT, found)
        return self.found.setdefault(name, orders[0])

    def sides(self, place: str, name: str, left: frozenset[int], below: Sequence[str]) -> list[Branch]:
        """The branches of a test of levels by their numbers from 1; the others go right."""
        levels = self.of(place, name)
        if left and not 1 <= min(left) <= max(left) <= len(levels):
            expected = f"numbers of the {len(levels)} levels of {shorten(name)}"
            raise invalid(self.source, place, "levels", expected, shorten(sorted(left)))
        sides = [tuple(v for i, v in enumerate(levels, 1) if (i in left) == first) for first in (True, False)]
        return [Branch(child, values=values) for child, values in zip(below, sides, strict=True)]

    def codes(self, place: str, name: str, threshold: float, below: Sequence[str]) -> list[Branch]:
        """The branches of a test of the number of a level; R counts FALSE and TRUE as 0 and 1."""
        attribute = None if self.training is None else self.training.named(name)
        if attribute is not None and self.is_logical(name) and 0 < threshold < 1:
            values = [tuple(v for v in attribute.values or () if v[:1].upper() == first) for first in "FT"]
            return [Branch(child, values=value) for child, value in zip(below, values, strict=True)]
        numbers = range(1, len(self.of(place, name)) + 1)
        return self.sides(place, name, frozenset(i for i in numbers if i <= threshold), below)

    @property
    def known(self) -> dict[str, Attribute]:
        """The attributes that the file states."""
        return {name: Attribute(name, "categorical", values) for name, values in self.stated.items()}


def read_levels(source: str, folder: Path, wanted: Wanted, training: TrainingColumns | None) -> Levels:
    """The levels of a file beside the tables, if there is one, and what the caller says of others."""
    said = wanted.parameters.get("levels")
    if said not in (None, "sorted"):
        raise invalid("options", ARGUMENT, "parameters", "levels=sorted", f"levels={shorten(said)}")
    stated: dict[str, dict[str, None]] = {}
    file = folder / LEVELS
    if os.path.exists(file):
        rows = read_csv(file)
        header = rows[0][1]
        if not {"values", "ind"} <= {*header}:
            expected = "columns values and ind, as of stack(lapply(Filter(is.factor, train), levels))"
            raise invalid(shown_path(file), "file", "header", expected, shorten(header))
        for _, row in rows[1:]:
            cells = dict(zip(header, row, strict=True))
            stated.setdefault(cells["ind"], {})[cells["values"]] = None
    return Levels(source, {name: tuple(values) for name, values in stated.items()}, training, said == "sorted")


RANGER = ("nodeID", "leftChild", "rightChild", "splitvarName", "splitval", "terminal")
RANDOM_FOREST = ("left daughter", "right daughter", "split var", "split point", "status", "prediction")
_MANY = 10**15  # from here on a bit mask has more digits than write.csv writes
_MOST_LEVELS = 53  # so many levels a factor may have in randomForest
_LIST = re.compile("[0-9]{1,3}(,[0-9]{1,3})*")
Kind = Literal["number", "codes", "sets"]  # tests of numbers, of the numbers of levels, or of sets of levels
_CLASSES = "a forest of classification, whose leaves have classes (of a regression: bin the target, and fit it anew)"


@dataclass(frozen=True, slots=True)
class GrownForest:
    """The nodes of a tree, and the thresholds of its tests of numbers."""

    nodes: Nodes
    thresholds: Sequence[float]


def ranger_tree(
    table: ForestTable, kinds: Mapping[str, Kind], levels: Levels, shares: Mapping[str, str]
) -> GrownForest:
    """A tree of ranger; ``shares`` are the classes of the columns of probabilities, if there are some."""
    thresholds = array("d")
    return GrownForest(packed(table.source, _ranger_nodes(table, kinds, levels, shares, thresholds)), thresholds)


def _ranger_nodes(
    table: ForestTable, kinds: Mapping[str, Kind], levels: Levels, shares: Mapping[str, str], thresholds: array[float]
) -> Iterator[Node]:
    for at in range(len(table)):
        name, place = str(table.whole(at, "nodeID")), table.place(at)
        if table.cell(at, "terminal").upper() == "TRUE":
            yield _probable(table, at, name, shares) if shares else Node(name, label=_label(table, at))
            continue
        below = [str(table.whole(at, side)) for side in ("leftChild", "rightChild")]
        column = _column(table, at, "splitvarName")
        if kinds[column] == "sets":
            split = table.cell(at, "splitval")
            if _LIST.fullmatch(split) is None:
                raise invalid(table.source, place, "splitval", "numbers of levels (of at most 31)", shorten(split))
            numbers = frozenset(map(int, split.split(",")))
            right, left = levels.sides(place, column, numbers, below[::-1])
            yield Node(name, column, (left, right))
            continue
        yield Node(name, column, _cut(table, at, "splitval", kinds[column], column, levels, below))
        if kinds[column] == "number":
            thresholds.append(table.number(at, "splitval"))


def random_forest_tree(table: ForestTable, kinds: Mapping[str, Kind], levels: Levels) -> GrownForest:
    """A tree of randomForest; rows are numbered from 1."""
    thresholds = array("d")
    return GrownForest(packed(table.source, _random_forest_nodes(table, kinds, levels, thresholds)), thresholds)


def _random_forest_nodes(
    table: ForestTable, kinds: Mapping[str, Kind], levels: Levels, thresholds: array[float]
) -> Iterator[Node]:
    for at in range(len(table)):
        name, place = str(at + 1), table.place(at)
        if table.cell(at, "status") == "-1":
            yield Node(name, label=_label(table, at))
            continue
        below = [str(table.whole(at, side)) for side in ("left daughter", "right daughter")]
        column = _column(table, at, "split var")
        if kinds[column] == "sets":
            mask = table.number(at, "split point")
            if not mask.is_integer() or not 0 < mask < _MANY:
                expected = f"a bit mask of levels below {_MANY:g}, which write.csv writes whole"
                raise invalid(table.source, place, "split point", expected, f"{mask:g}")
            bits = frozenset(i + 1 for i in range(int(mask).bit_length()) if int(mask) >> i & 1)
            yield Node(name, column, tuple(levels.sides(place, column, bits, below)))
            continue
        yield Node(name, column, _cut(table, at, "split point", kinds[column], column, levels, below))
        if kinds[column] == "number":
            thresholds.append(table.number(at, "split point"))


def _cut(
    table: ForestTable, at: int, cell: str, kind: Kind, column: str, levels: Levels, below: Sequence[str]
) -> tuple[Branch, ...]:
    """The branches of a test of a number, or of that of a level."""
    split = table.number(at, cell)
    if kind == "codes":
        return tuple(levels.codes(table.place(at), column, split, below))
    return Branch(below[0], le=split), Branch(below[1], gt=split)


def splits_of(tables: Sequence[ForestTable], name: str, split: str) -> dict[str, list[str]]:
    """The splits of each column, as they are written."""
    found: dict[str, list[str]] = {}
    for table in tables:
        for column, cell in zip(table.column(name), table.column(split), strict=True):
            if column not in ABSENT:
                found.setdefault(column, []).append(cell)
    return found


def ranger_kinds(source: str, splits: Mapping[str, Sequence[str]], levels: Levels) -> dict[str, Kind]:
    """Kind of the tests of each column: ranger lists levels of all factors, or takes the numbers of all levels."""
    lists = any("," in split for of in splits.values() for split in of)
    numbers = any("." in split for name, of in splits.items() if levels.is_factor(name) for split in of)
    found: dict[str, Kind] = {}
    for name, of in splits.items():
        factor = levels.is_factor(name)
        listed, decimal = any("," in split for split in of), any("." in split for split in of)
        if factor and not levels.is_logical(name):
            certain = lists or numbers or levels.size(name) == 2
            found[name] = "codes" if numbers else "sets"
        elif factor:
            certain, found[name] = True, "codes"
        else:
            certain = decimal or listed or factor is False or not lists
            found[name] = "sets" if listed else "number"
        if not certain or (listed and found[name] != "sets"):
            raise _unclear(source, name)
    return found


def random_forest_kinds(source: str, splits: Mapping[str, Sequence[str]], levels: Levels) -> dict[str, Kind]:
    """Kind of the tests of each column: bit masks of factors, numbers of the levels of ordered ones."""
    found: dict[str, Kind] = {}
    for name, of in splits.items():
        factor = levels.is_factor(name)
        if factor is None and re.fullmatch("[0-9]{1,9}", name):
            raise invalid(source, "document", "split var", "names of columns: getTree(model, k, labelVar = TRUE)", name)
        if any("." in split for split in of):
            found[name] = "codes" if factor else "number"
        else:
            size = levels.size(name) or 0
            found[name] = "codes" if levels.is_logical(name) else "sets" if factor else "number"
            if factor is None and size <= _MOST_LEVELS:
                raise _unclear(source, name)
    return found


def _unclear(source: str, name: str) -> InvalidInput:
    return invalid(source, f"column {shorten(name)}", "levels", WAY_OUT, "whole numbers, of levels or not")


def _column(table: ForestTable, at: int, cell: str) -> str:
    name = table.cell(at, cell)
    if name in ABSENT:
        raise invalid(table.source, table.place(at), cell, "the name of a column", "none")
    return name


def _label(table: ForestTable, at: int) -> str:
    label = table.cell(at, "prediction")
    if label in ABSENT:
        raise invalid(table.source, table.place(at), "prediction", _CLASSES, "none")
    return label


def _probable(table: ForestTable, at: int, name: str, shares: Mapping[str, str]) -> Node:
    """A leaf with the shares of classes among its draws, which are what it adds to their means."""
    return Node(name, value={label: table.number(at, column) for column, label in shares.items()})


def classes_of_shares(table: ForestTable, known: Sequence[str]) -> dict[str, str]:
    """The class of each column of probabilities: R puts points in the place of signs in their names."""
    columns = [name for name in table.names if name.startswith("pred.")]
    if not columns or not known:
        return {name: name.removeprefix("pred.") for name in columns}
    plain = {re.sub(r"[^\w.]", ".", f"pred.{label}"): label for label in known}
    if {*plain} != {re.sub(r"[^\w.]", ".", name) for name in columns} or len(plain) < len(known):
        expected = f"columns of the classes {shorten(list(known))}"
        raise invalid(table.source, "file", "header", expected, shorten(columns))
    return {name: plain[re.sub(r"[^\w.]", ".", name)] for name in columns}
