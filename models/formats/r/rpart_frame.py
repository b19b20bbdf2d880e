"""The tables of an ``rpart`` object as R's ``write.csv`` writes them: ``frame``, ``splits`` and, of names, ``csplit``.

The frame has a row for each node. Its split is the first of as many rows of ``splits`` as it has splits that competed
and surrogates; a split of names has its row of ``csplit``, with 1 for each level that goes left, 3 for right. A file
``levels.csv`` beside it names the levels in their order, as it does for forests.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from os import PathLike
from pathlib import Path

from maxent.models.arguments import LARGEST_COUNT, shorten
from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import read_text
from maxent.models.formats.proof import read_training
from maxent.models.formats.r.forest_tables import read_levels
from maxent.models.formats.r.rpart_tree import LARGEST_NUMBER, REGRESSION, CodedLevels, DrawnRows, RpartCut, converted
from maxent.models.formats.release_reader import NUMERIC, UNNAMED, Converted, Head, Wanted, model_reader
from maxent.models.reading import Reader
from maxent.models.release import Node
from maxent.models.tables.classes import numeric_target

_FRAME = "frame.csv"
_HEADER = re.compile(r'"?(?:node)?"?,"?var"?,"?n"?,"?wt"?,"?dev"?,"?yval"?,"?complexity"?,"?ncompete"?,"?nsurrogate"?')
_SIDES = {"1": "L", "2": "-", "3": "R"}
_DIGITS = 15  # as many as write.csv writes


@dataclass(frozen=True, slots=True)
class _Row:
    """A node of the frame: its variable, records, label (a position), numbers of classes, and rows of splits.

    Of a regression there are no classes, but the ``mean`` and the sum of the squares of distances from it.
    """

    variable: str
    n: int
    label: int
    counts: tuple[float, ...]
    splits: int
    surrogates: int
    mean: float | None = None
    squares: float = 0.0


def convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    """Read a folder or its frame, see `maxent.models.formats.release_reader.ReleaseReader`."""
    file = Path(path) / _FRAME if os.path.isdir(path) else Path(path)
    source = shown_path(file)
    rows = _rows(source, _table(file))
    splits = _splits(source, rows, file) if len(rows) > 1 else {}
    training = read_training(wanted, reader)
    levels = read_levels(source, file.parent, wanted, training).stated
    width = len(next(iter(rows.values())).counts)
    numeric = None if width else numeric_target(source, wanted.target or UNNAMED, **wanted.numeric())
    known = training.classes if training is not None else ()
    classes = wanted.classes or levels.get(wanted.target or "", known)
    if numeric is not None:
        classes = numeric.classes
    elif len(classes) != width:
        expected = f"the names of {width} classes in the order of R's levels (classes=, or train= and target=)"
        raise invalid(source, "document", "classes", expected, shorten(list(classes)))
    counted = numeric is not None or all(
        sum(row.counts) == row.n and all(c.is_integer() for c in row.counts) for row in rows.values()
    )
    drawn = {
        number: DrawnRows(row.n, *splits.get(number, ((), 0)), _stated(row, classes, counted=counted))
        for number, row in rows.items()
    }
    cuts = [split.threshold for found, _ in splits.values() for split in found if isinstance(split, RpartCut)]
    exact = all(float(f"{cut:.{_DIGITS - 1}g}") == cut for cut in cuts)
    lost = () if exact else (f"digits of thresholds beyond the {_DIGITS} that write.csv writes",)
    return converted(source, drawn, classes, wanted, reader, counted=counted, lost=lost, numeric=numeric, stated=levels)


def _table(file: Path) -> list[list[str]]:
    """The rows of a file, its header first, each as long as the header."""
    source = shown_path(file)
    try:
        rows = [row for row in csv.reader(read_text(file).split("\n"), strict=True) if row]
    except csv.Error as error:
        raise invalid(source, "file", "content", "CSV of R's write.csv", str(error)) from None
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        raise invalid(source, "file", "content", "CSV of R's write.csv, all rows as long as the header", "other rows")
    return rows


def _rows(source: str, table: Sequence[Sequence[str]]) -> dict[int, _Row]:
    """The nodes by their numbers, in the order of the frame."""
    header = list(table[0])
    if _HEADER.match(",".join(header)) is None:
        raise invalid(source, "file", "header", "node, var, n, wt, dev, yval, complexity, ...: the frame", "others")
    width = len(header) - 9
    if not width:
        return _means(source, table)
    if width < 6 or width % 2 or not all(name.startswith("yval2") for name in header[9:]):
        raise invalid(source, "file", "header", f"columns yval2 of {REGRESSION}", shorten(header[9:]))
    found: dict[int, _Row] = {}
    for line, row in enumerate(table[1:], 2):
        number, n, competing, surrogate = (_whole(source, line, row[i]) for i in (0, 2, 7, 8))
        values = [_number(source, line, cell) for cell in row[9:]]
        counts = tuple(values[1 : width // 2])
        if not 0 < number <= LARGEST_NUMBER or number in found or n == 0 or values[0] not in range(1, len(counts) + 1):
            expected = "each node once, with records and the number of its class"
            raise invalid(source, f"line {line}", "node", expected, shorten(row[0]))
        if min(counts) < 0 or max(counts) > LARGEST_COUNT:
            raise invalid(source, f"line {line}", "yval2", "numbers of records", shorten(row[9:]))
        inner = row[1] != "<leaf>"
        found[number] = _Row(row[1], n, int(values[0]) - 1, counts, competing + surrogate + inner, surrogate)
    if not found:
        raise invalid(source, "file", "content", "a row for each node", "none")
    return found


def _means(source: str, table: Sequence[Sequence[str]]) -> dict[int, _Row]:
    """The nodes of a regression by their numbers, in the order of the frame."""
    found: dict[int, _Row] = {}
    for line, row in enumerate(table[1:], 2):
        number, n, competing, surrogate = (_whole(source, line, row[i]) for i in (0, 2, 7, 8))
        weight, squares, mean = (_number(source, line, row[i]) for i in (3, 4, 5))
        if not 0 < number <= LARGEST_NUMBER or number in found or n == 0 or squares < 0:
            expected = "each node once, with records and a deviance"
            raise invalid(source, f"line {line}", "node", expected, shorten(row[0]))
        if weight != n:
            raise invalid(source, f"line {line}", "wt", f"{n}: every record once", shorten(row[3]))
        splits = competing + surrogate + (row[1] != "<leaf>")
        found[number] = _Row(row[1], n, -1, (), splits, surrogate, mean, squares)
    if not found:
        raise invalid(source, "file", "content", "a row for each node", "none")
    return found


def _splits(
    source: str, rows: Mapping[int, _Row], file: Path
) -> dict[int, tuple[tuple[RpartCut | CodedLevels, ...], int]]:
    """The split of each inner node with its surrogates, and its records without a value, of files beside the frame."""
    if "frame" not in file.name:
        expected = "a file called frame.csv, beside it splits.csv and csplit.csv"
        raise invalid(source, "file", "name", expected, shorten(file.name))
    beside = {kind: file.with_name(file.name.replace("frame", kind)) for kind in ("splits", "csplit")}
    table = _table(beside["splits"])
    csplit: list[list[str]] | None = None
    where, at = shown_path(beside["splits"]), 1
    found: dict[int, tuple[tuple[RpartCut | CodedLevels, ...], int]] = {}
    if table[0][1:4] != ["count", "ncat", "improve"] or len(table[0]) < 5 or table[0][4] != "index":
        raise invalid(where, "file", "header", "variable, count, ncat, improve, index: the splits", "others")
    for number, row in rows.items():
        if row.variable == "<leaf>":
            at += row.splits
            continue
        if at + row.splits > len(table) or table[at][0] != row.variable:
            expected = f"a split of node {number} by {shorten(row.variable)}"
            raise invalid(where, f"line {at + 1}", "variable", expected, "another, or none")
        with_value = _whole(where, at + 1, table[at][1])
        if with_value > row.n:
            raise invalid(
                where, f"line {at + 1}", "count", f"at most {row.n} records of node {number}", str(with_value)
            )
        here: list[RpartCut | CodedLevels] = []
        for line in (at, *range(at + row.splits - row.surrogates, at + row.splits)):
            name, levels = table[line][0], _number(where, line + 1, table[line][2])
            index = _number(where, line + 1, table[line][4])
            if abs(levels) < 2:
                here.append(RpartCut(name, index, levels < 0))
            else:
                csplit = csplit or _table(beside["csplit"])
                here.append(_coded(shown_path(beside["csplit"]), csplit, name, index, levels))
        found[number] = tuple(here), row.n - with_value
        at += row.splits
    return found


def _coded(source: str, table: Sequence[Sequence[str]], name: str, index: float, levels: float) -> CodedLevels:
    """The sides of levels from a row of ``csplit``, which may begin with the names of rows."""
    begin = 1 if table[0][0] == "" else 0
    if (
        levels < 2
        or not levels.is_integer()
        or not index.is_integer()
        or not 0 < index < len(table)
        or levels > len(table[0]) - begin
    ):
        expected = f"a row {index:g} of {levels:g} levels of {shorten(name)}"
        raise invalid(source, "file", "rows", expected, f"{len(table) - 1} rows")
    cells = table[int(index)][begin : begin + int(levels)]
    if not {*cells} <= {*_SIDES}:
        raise invalid(source, f"line {int(index) + 1}", "levels", "1, 2 or 3 for each level", shorten(cells))
    return CodedLevels(name, "".join(_SIDES[cell] for cell in cells))


def _whole(source: str, line: int, cell: str) -> int:
    cell = cell.strip()  # write.csv fills up numbers of a frame with a matrix in it
    if re.fullmatch("[0-9]{1,15}", cell) is None:
        raise invalid(source, f"line {line}", "cell", "a whole number", shorten(cell))
    return int(cell)


def _number(source: str, line: int, cell: str) -> float:
    try:
        found = float(cell)
    except ValueError:
        found = float("nan")
    if not isfinite(found):
        raise invalid(source, f"line {line}", "cell", "a number", shorten(cell))
    return found


def _stated(row: _Row, classes: Sequence[str], *, counted: bool) -> Node:
    if row.mean is not None:
        return Node("", n=row.n, mean=row.mean, variance=row.squares / row.n)
    label = classes[row.label]
    if not counted:
        return Node("", label=label, n=row.n)
    return Node("", label=label, n=row.n, counts=dict(zip(classes, map(int, row.counts), strict=True)))


def _recognise(head: Head) -> bool:
    return _HEADER.match(head.text) is not None or {_FRAME, "splits.csv"} <= {*head.entries}


READER = model_reader(
    "rpart-frame",
    "the frame of an rpart tree as CSV, with its splits and csplit beside it, or their folder",
    (),
    convert,
    _recognise,
    parameters=NUMERIC,
)
