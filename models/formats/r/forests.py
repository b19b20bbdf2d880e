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
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Literal

import numpy as np

from maxent.models.arguments import shorten
from maxent.models.arrays import IntArray
from maxent.models.columns import NOTHING
from maxent.models.draws import Draws
from maxent.models.errors import ARGUMENT, InvalidInput, Problem, invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import MAX_BYTES, read_text
from maxent.models.formats.assemble import assemble, packed
from maxent.models.formats.proof import TrainingColumns, counts_in_leaves, reached_as_stated, read_training
from maxent.models.formats.release_reader import Converted, Head, Wanted, model_reader
from maxent.models.nodes import Nodes, each
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Boosting, Branch, Node, Release, Tree
from maxent.models.tables.cells import MISSING
from maxent.models.trees.places import less_than

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
    """What is known of the levels of factors: those of a file, and whether others are sorted."""

    source: str
    stated: Mapping[str, tuple[str, ...]]
    training: TrainingColumns | None
    are_sorted: bool
    found: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def is_factor(self, name: str) -> bool | None:
        """Whether a column is a factor, or holds R's TRUE and FALSE; None where that is not known."""
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


# Reader of the tree tables of R's ``ranger``, ``randomForest`` and ``gbm``, told apart by their headers.


# Classes that ``treeInfo`` of ranger exchanged, as it does up to version 0.14.1.
#
# Where classes first appear in the data in another order than that of the levels, it calls the first that appears by
# the first level, and so on. The training table shows that order, and by how many of its rows each reading is right.

_MARGIN = 0.05  # by what share of the rows one reading has to be better than the other


def with_true_classes(source: str, release: Release, training: TrainingColumns | None) -> Release:
    """The release with the classes that were meant."""
    if training is None or not training.classes:
        expected = (
            "train= and target=: treeInfo of ranger up to 0.14.1 exchanges classes that first appear in the data in "
            "another order than that of the levels, which the training table tells"
        )
        raise invalid(source, "document", "classes", expected, "none")
    classes = release.target.classes
    column = training.frame.columns[release.target.name]
    texts = column.texts()
    seen = column.codes[column.codes >= 0]
    _, first = np.unique(seen, return_index=True)
    appearing = [texts[code] for code in seen[np.sort(first)].tolist()]
    if list(classes) == appearing or len(appearing) != len(classes):
        return release
    meant = dict(zip(classes, appearing, strict=True))
    other = replace(release, trees=tuple(_renamed(tree, meant) for tree in release.trees))
    counts = [here.tolist() for here in counts_in_leaves(release, training)]
    rows = sum(map(sum, (row for tree in counts for row in tree)))
    right = [
        sum(
            here[classes.index(label)]
            for tree, numbers in zip(reading.trees, counts, strict=True)
            for node, here in zip(tree.nodes, numbers, strict=True)
            if (label := _leaf_label(node)) is not None
        )
        for reading in (release, other)
    ]
    if abs(right[0] - right[1]) < _MARGIN * rows:
        expected = f"classes that fit the training table: {right[0]} of {rows} rows as printed"
        raise invalid(source, "document", "classes", expected, f"{right[1]} in the order in which classes appear")
    return release if right[0] > right[1] else other


def _leaf_label(node: Node) -> str | None:
    """The class of a leaf: that of its largest share."""
    if isinstance(node.value, Mapping):
        return max(node.value, key=node.value.__getitem__)
    return node.label


def _renamed(tree: Tree, meant: Mapping[str, str]) -> Tree:
    def node(of: Node) -> Node:
        if isinstance(of.value, Mapping):
            return replace(of, value={meant[c]: share for c, share in of.value.items()})
        return of if of.label is None else replace(of, label=meant[of.label])

    nodes: Sequence[Node] = tree.nodes
    return replace(tree, nodes=tuple(map(node, nodes)))


# How often each row was drawn for each tree, where the forest was asked to keep it (``keep.inbag``).
#
# A file ``inbag.csv`` beside the tables has a line for each row of the training table and a column for each tree, as
# ``write.csv(do.call(cbind, model$inbag.counts), "inbag.csv")`` of ranger and ``write.csv(model$inbag, "inbag.csv")``
# of randomForest write it, with or without the names of rows.

INBAG = "inbag.csv"


def read_draws(folder: Path, trees: int) -> Draws | None:
    """The draws in a file beside the tables, None where there is none."""
    file = folder / INBAG
    if not os.path.exists(file):
        return None
    source, counts = shown_path(file), [array("q") for _ in range(trees)]
    (_, header), *rows = read_csv(file)
    named = len(header) - trees  # the names of rows come first
    if named not in (0, 1) or not rows:
        expected = f"a column for each of {trees} trees, and a line for each row of the training table"
        raise invalid(source, "file", "header", expected, f"{len(header)} columns, {len(rows)} lines")
    for line, row in rows:
        for number, (cell, of) in enumerate(zip(row[named:], counts, strict=True), 1):
            if re.fullmatch("[0-9]{1,9}", cell) is None:
                raise invalid(source, f"line {line}", f"tree {number}", "how often the row was drawn", shorten(cell))
            of.append(int(cell))
    drawn = {sum(of) for of in counts}
    if len(drawn) > 1 or drawn == {0}:
        expected = "as many draws for each tree, at least 1"
        raise invalid(source, "file", "sums of columns", expected, shorten(sorted(drawn)))
    again = max(map(max, counts)) > 1
    return Draws(len(rows), drawn.pop(), again, counts=tuple(map(tuple, counts)))


# Trees of ``gbm`` (``pretty.gbm.tree``): what leaves add to a score, and a third child for missing values.
#
# Numbers below the split go left. A factor's split is the number of a list, from 0, in ``csplits.json`` (or
# ``csplits.csv``, a list on each line) beside the tables: for each level -1 for left, 1 for right, 0 for as if missing.

GBM = ("SplitVar", "SplitCodePred", "LeftNode", "RightNode", "MissingNode", "ErrorReduction", "Weight", "Prediction")
_FILES = ("csplits.json", "csplits.csv")
_LISTS = (
    'model$c.splits beside the tables: write(jsonlite::toJSON(model$c.splits), "csplits.json"), or '
    'writeLines(sapply(model$c.splits, paste, collapse = ","), "csplits.csv")'
)
_SIDE = {"-1": 0, "1": 1, "0": 2}


def read_lists(folder: Path) -> list[tuple[int, ...]] | None:
    """For each split of a factor the side of each level, 0 left, 1 right, 2 missing; None where there is no file."""
    file = next((folder / name for name in _FILES if (folder / name).exists()), None)
    if file is None:
        return None
    text = read_text(file).strip()
    if text.startswith("["):
        text = re.sub(r"\s", "", text)[1:-1].replace("],[", "]\n[")
    found = []
    for line in text.split("\n") if text else ():
        cells = line.strip("[] \t").replace(" ", "").split(",")
        if not {*cells} <= {*_SIDE}:
            expected = f"-1, 0 or 1 for levels: {_LISTS}"
            raise invalid(shown_path(file), "document", "content", expected, shorten(line))
        found.append(tuple(_SIDE[cell] for cell in cells))
    return found


def gbm_tree(
    table: ForestTable,
    names: Sequence[str],
    factors: frozenset[str],
    lists: Sequence[tuple[int, ...]] | None,
    levels: Levels,
) -> GrownForest:
    """A tree of gbm; rows are numbered from 0, and so are columns."""
    thresholds = array("d")
    return GrownForest(packed(table.source, _nodes(table, names, factors, lists, levels, thresholds)), thresholds)


def _nodes(
    table: ForestTable,
    names: Sequence[str],
    factors: frozenset[str],
    lists: Sequence[tuple[int, ...]] | None,
    levels: Levels,
    thresholds: array[float],
) -> Iterator[Node]:
    for at in range(len(table)):
        variable = table.whole(at, "SplitVar")
        if variable == -1:
            yield Node(str(at), n=_size(table, at), value=table.number(at, "Prediction"))
            continue
        name = names[variable]
        left, right, missing = (str(table.whole(at, side)) for side in GBM[2:5])
        if name in factors:
            yield Node(str(at), name, _sides(table, at, name, lists, levels, (left, right, missing)))
            continue
        threshold = table.number(at, "SplitCodePred")
        thresholds.append(threshold)
        most = less_than(threshold)
        branches = Branch(left, le=most), Branch(right, gt=most), Branch(missing, missing=True)
        yield Node(str(at), name, branches)


def _size(table: ForestTable, at: int) -> int | None:
    weight = table.number(at, "Weight")
    return int(weight) if weight.is_integer() and 0 <= weight < 2**53 else None


def _sides(
    table: ForestTable,
    at: int,
    name: str,
    lists: Sequence[tuple[int, ...]] | None,
    levels: Levels,
    below: tuple[str, str, str],
) -> tuple[Branch, ...]:
    """The branches of a test of a factor."""
    place = table.place(at)
    number = table.whole(at, "SplitCodePred")
    if lists is None:
        raise invalid(table.source, place, "SplitCodePred", _LISTS, f"the number of a list, {number}")
    values = levels.of(place, name)
    if not 0 <= number < len(lists) or len(lists[number]) != len(values):
        found = f"{len(lists[number])} levels" if 0 <= number < len(lists) else f"list {number} of {len(lists)}"
        raise invalid(
            table.source, place, "SplitCodePred", f"a list of the {len(values)} levels of {shorten(name)}", found
        )
    parts = [tuple(v for v, side in zip(values, lists[number], strict=True) if side == which) for which in range(3)]
    parts[2] = (*parts[2], MISSING)
    return tuple(Branch(child, values=part) for child, part in zip(below, parts, strict=True))


def factors_of(source: str, tables: Sequence[ForestTable], names: Sequence[str], levels: Levels) -> frozenset[str]:
    """The columns that are factors."""
    splits: dict[str, list[str]] = {}
    for table in tables:
        for at in range(len(table)):
            variable = table.whole(at, "SplitVar")
            if variable >= len(names):
                expected = f"the names of the model's columns in its order (features=), at least {variable + 1}"
                raise invalid(table.source, table.place(at), "SplitVar", expected, f"{len(names)} names")
            if variable >= 0:
                splits.setdefault(names[variable], []).append(table.cell(at, "SplitCodePred"))
    found = set()
    for name, of in splits.items():
        factor = levels.is_factor(name)
        if factor:
            found.add(name)
        elif factor is None and all(re.fullmatch("[0-9]{1,9}", split) for split in of):
            raise invalid(source, f"column {shorten(name)}", "levels", WAY_OUT, "whole numbers, of lists or not")
    return frozenset(found)


_FRACTION = re.compile(r"-?[0-9]*\.[0-9]+(e[+-]?[0-9]+)?")
_LEVELS, _RATE, _BASE = "levels", "rate", "base"
_NO_COUNTS = "counts and sizes of leaves: the table has none, and labels are of the draws that grew the tree"
_SHARES = "shares of classes at leaves as statements: they are of the draws that grew the tree"
_BAG = "sizes of leaves: trees were grown from a bag of the rows (with bag.fraction = 1 and --train they are kept)"
_TIES = "how ties of votes are broken: at random"
_ONE = "the other trees of the model, if there are some: a folder of tree1.csv, tree2.csv, ... has all of them"
_START = "the score before the first tree, model$initF, which --param base=NUMBER gives"
_NUMBERS = "whether columns of numbers were factors, which levels.csv beside the tables tells"
_WRITTEN_DIGITS = "digits of thresholds beyond the 15 that write.csv writes"


def _recognise(head: Head) -> bool:
    header = re.sub(r'["\']', "", head.text.partition("\n")[0]).strip().replace(".", " ").split(",")
    kinds = (RANGER, RANDOM_FOREST, GBM)
    return any({*kind} <= {*header} for kind in kinds) or bool(tree_files(head.entries))


@model_reader(
    "r-forest",
    "tables of trees of R's ranger, randomForest or gbm as CSV (treeInfo, getTree, pretty.gbm.tree), or their folder",
    _recognise,
    parameters=(_LEVELS, _RATE, _BASE),
)
def _convert(path: str | os.PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    source = shown_path(path)
    tables = read_tables(path)
    if not tables:
        expected = "the tables of the trees: tree1.csv, tree2.csv, ..., or one table with a column of the tree"
        raise invalid(source, "folder", "files", expected, "none")
    folder = Path(path) if os.path.isdir(path) else Path(path).parent
    training = read_training(wanted, reader)
    levels = read_levels(source, folder, wanted, training)
    columns = {*tables[0].names}
    lost = [] if len(tables) > 1 else [_ONE]
    lost += [] if levels.stated else [_NUMBERS]
    if {*GBM} <= columns:
        return _gbm(source, tables, folder, levels, wanted, lost)
    for table in tables:
        _refuse_gaps(source, table, training)
    draws = read_draws(folder, len(tables))
    if {*RANGER} <= columns:
        return _drawn(_ranger(source, tables, levels, wanted, lost), draws)
    if {*RANDOM_FOREST} <= columns:
        kinds = random_forest_kinds(source, splits_of(tables, "split var", "split point"), levels)
        grown = [random_forest_tree(table, kinds, levels) for table in tables]
        return _drawn(_voting(source, "R randomForest", grown, levels, wanted, lost), draws)
    expected = "columns of treeInfo of ranger, getTree of randomForest, or pretty.gbm.tree of gbm"
    raise invalid(source, "file", "header", expected, "others")


def _drawn(found: Converted, draws: Draws | None) -> Converted:
    """A forest with the draws of its trees."""
    if draws is None:
        return found
    return replace(found, release=replace(found.release, resampled=draws.drawn, draws=draws))


def _refuse_gaps(source: str, table: ForestTable, training: TrainingColumns | None) -> None:
    cell = "splitvarName" if "splitvarName" in table.names else "split var"
    tested = dict.fromkeys(table.column(cell))
    if training is not None and (gaps := [name for name in tested if name in training.gaps]):
        expected = "no missing values in the columns of the forest: the table does not say where they go"
        raise invalid(source, "document", "training table", expected, f"missing values of {', '.join(gaps)}")


def _ranger(source: str, tables: Sequence[ForestTable], levels: Levels, wanted: Wanted, lost: list[str]) -> Converted:
    shares = classes_of_shares(tables[0], _known(wanted, levels))
    kinds = ranger_kinds(source, splits_of(tables, "splitvarName", "splitval"), levels)
    grown = [ranger_tree(table, kinds, levels, shares) for table in tables]
    if not shares:
        found = _voting(source, "R ranger", grown, levels, wanted, lost)
        return replace(found, release=with_true_classes(source, found.release, levels.training))
    classes = _known(wanted, levels) or tuple(shares.values())
    trees = [Tree(each.nodes, weight=1 / len(grown)) for each in grown]
    release = assemble(
        source, trees, classes, wanted, levels.training, known=levels.known, predicts="score", boosting=Boosting("none")
    )
    release = with_true_classes(source, release, levels.training)
    return _converted(release, "R ranger", grown, [*lost, _SHARES])


def _known(wanted: Wanted, levels: Levels) -> tuple[str, ...]:
    """The classes, where they are known."""
    stated = levels.stated.get(wanted.target or "", ())
    return wanted.classes or (levels.training.classes if levels.training is not None else ()) or stated


def _voting(
    source: str, tool: str, grown: Sequence[GrownForest], levels: Levels, wanted: Wanted, lost: list[str]
) -> Converted:
    """The release of trees that vote for classes."""
    labels = {node.label for tree in grown for node in each(tree.nodes) if node.label is not None}
    classes = _known(wanted, levels) or tuple(sorted(labels))
    if not labels <= {*classes} or (not _known(wanted, levels) and any(map(_FRACTION.fullmatch, labels))):
        expected = "classes of the target at leaves (of a regression: bin the target, and fit it anew)"
        raise invalid(source, "document", "prediction", expected, "others")
    several = len(grown) > 1
    release = assemble(
        source,
        [Tree(each.nodes) for each in grown],
        classes,
        wanted,
        levels.training,
        known=levels.known,
        predicts="vote" if several else "label",
        labels="decided",
    )
    return _converted(release, tool, grown, [*lost, _NO_COUNTS, *([_TIES] if several else [])])


def _gbm(
    source: str, tables: Sequence[ForestTable], folder: Path, levels: Levels, wanted: Wanted, lost: list[str]
) -> Converted:
    training = levels.training
    names = wanted.features or (tuple(a.name for a in training.attributes) if training is not None else ())
    lists, factors = read_lists(folder), factors_of(source, tables, names, levels)
    grown = [gbm_tree(table, names, factors, lists, levels) for table in tables]
    classes = _known(wanted, levels) or ("0", "1")
    several = len(classes) > 2
    if len(classes) < 2 or (several and len(grown) % len(classes)):
        expected = "two classes, or as many trees of each class"
        raise invalid(source, "document", "trees", expected, f"{len(grown)} of {len(classes)} classes")
    rate, base = _number(wanted, _RATE), _number(wanted, _BASE)
    if several and base is not None:
        raise invalid("options", "argument", "parameters", "no base of several classes", f"{_BASE}={base:g}")
    boosting = Boosting("softmax" if several else "logit", rate=rate, base=base or 0.0)
    trees = [
        Tree(each.nodes, of_class=classes[i % len(classes)] if several else classes[1]) for i, each in enumerate(grown)
    ]

    def release_of(made: Sequence[Tree]) -> Release:
        known = levels.known
        return assemble(source, made, classes, wanted, training, known=known, predicts="score", boosting=boosting)

    release = release_of([replace(tree, nodes=_sized(here.nodes)) for tree, here in zip(trees, grown, strict=True)])
    if training is None or not reached_as_stated(release, replace(training, classes=())):
        release = release_of(
            [replace(tree, nodes=_unsized(here.nodes)) for tree, here in zip(trees, grown, strict=True)]
        )
        lost = [*lost, _BAG]
    lost += [] if base is not None or several else [_START]
    if not _known(wanted, levels):
        lost.append("the names of the classes, which --classes gives")
    if wanted.features is None:
        lost.append("the names of columns, which are taken to be those of --train in its order; --features gives them")
    return _converted(release, "R gbm", grown, lost)


def _sized(nodes: Nodes) -> Nodes:
    """A tree without the sizes of leaves of missing values: gbm writes those of the nodes above."""
    held = nodes.columns
    return _unsized(nodes, held.child[held.branch_ends[held.inner] + 2])


def _unsized(nodes: Nodes, rows: IntArray | None = None) -> Nodes:
    """A tree without the sizes of some of its nodes, or of all."""
    n = nodes.columns.statements.n.copy()
    n[slice(None) if rows is None else rows] = NOTHING
    return Nodes(replace(nodes.columns, statements=replace(nodes.columns.statements, n=n)))


def _number(wanted: Wanted, name: str) -> float | None:
    """A parameter that is a number."""
    problems: list[Problem] = []
    found = wanted.number(name, problems)
    if problems:
        raise InvalidInput("options", problems)
    return found


def _converted(release: Release, tool: str, grown: Sequence[GrownForest], lost: Sequence[str]) -> Converted:
    exact = are_whole([threshold for tree in grown for threshold in tree.thresholds])
    criterion = "the criterion, so that nothing follows from the choice of splits"
    return Converted(release, tool, (criterion, *lost, *(() if exact else (_WRITTEN_DIGITS,))), exact)
