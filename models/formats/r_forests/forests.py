"""Trees of ``ranger`` (``treeInfo``) and ``randomForest`` (``getTree``): tests, and the classes of leaves.

Both go left where a number is at most the split. Factors are tested by the numbers of their levels: those that ranger
lists go right, those of which randomForest has set the bit go left.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from maxent.models.errors import InvalidInput, invalid
from maxent.models.formats.packing import packed
from maxent.models.formats.r_forests.levels import WAY_OUT, Levels
from maxent.models.formats.r_forests.tables import ABSENT, Table
from maxent.models.nodes import Nodes
from maxent.models.release import Branch, Node
from maxent.models.tables.frame import shorten

RANGER = ("nodeID", "leftChild", "rightChild", "splitvarName", "splitval", "terminal")
RANDOM_FOREST = ("left daughter", "right daughter", "split var", "split point", "status", "prediction")
_MANY = 10**15  # from here on a bit mask has more digits than write.csv writes
_MOST_LEVELS = 53  # so many levels a factor may have in randomForest
_LIST = re.compile("[0-9]{1,3}(,[0-9]{1,3})*")
Kind = Literal["number", "codes", "sets"]  # tests of numbers, of the numbers of levels, or of sets of levels
_CLASSES = "a forest of classification, whose leaves have classes (of a regression: bin the target, and fit it anew)"


@dataclass(frozen=True, slots=True)
class Grown:
    """The nodes of a tree, and the thresholds of its tests of numbers."""

    nodes: Nodes
    thresholds: Sequence[float]


def ranger_tree(table: Table, kinds: Mapping[str, Kind], levels: Levels, shares: Mapping[str, str]) -> Grown:
    """A tree of ranger; ``shares`` are the classes of the columns of probabilities, if there are some."""
    thresholds = array("d")
    return Grown(packed(table.source, _ranger_nodes(table, kinds, levels, shares, thresholds)), thresholds)


def _ranger_nodes(
    table: Table, kinds: Mapping[str, Kind], levels: Levels, shares: Mapping[str, str], thresholds: array[float]
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


def random_forest_tree(table: Table, kinds: Mapping[str, Kind], levels: Levels) -> Grown:
    """A tree of randomForest; rows are numbered from 1."""
    thresholds = array("d")
    return Grown(packed(table.source, _random_forest_nodes(table, kinds, levels, thresholds)), thresholds)


def _random_forest_nodes(
    table: Table, kinds: Mapping[str, Kind], levels: Levels, thresholds: array[float]
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
    table: Table, at: int, cell: str, kind: Kind, column: str, levels: Levels, below: Sequence[str]
) -> tuple[Branch, ...]:
    """The branches of a test of a number, or of that of a level."""
    split = table.number(at, cell)
    if kind == "codes":
        return tuple(levels.codes(table.place(at), column, split, below))
    return Branch(below[0], le=split), Branch(below[1], gt=split)


def splits_of(tables: Sequence[Table], name: str, split: str) -> dict[str, list[str]]:
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


def _column(table: Table, at: int, cell: str) -> str:
    name = table.cell(at, cell)
    if name in ABSENT:
        raise invalid(table.source, table.place(at), cell, "the name of a column", "none")
    return name


def _label(table: Table, at: int) -> str:
    label = table.cell(at, "prediction")
    if label in ABSENT:
        raise invalid(table.source, table.place(at), "prediction", _CLASSES, "none")
    return label


def _probable(table: Table, at: int, name: str, shares: Mapping[str, str]) -> Node:
    """A leaf with the shares of classes among its draws, which are what it adds to their means."""
    return Node(name, value={label: table.number(at, column) for column, label in shares.items()})


def classes_of_shares(table: Table, known: Sequence[str]) -> dict[str, str]:
    """The class of each column of probabilities: R puts points in the place of signs in their names."""
    columns = [name for name in table.names if name.startswith("pred.")]
    if not columns or not known:
        return {name: name.removeprefix("pred.") for name in columns}
    plain = {re.sub(r"[^\w.]", ".", f"pred.{label}"): label for label in known}
    if {*plain} != {re.sub(r"[^\w.]", ".", name) for name in columns} or len(plain) < len(known):
        expected = f"columns of the classes {shorten(list(known))}"
        raise invalid(table.source, "file", "header", expected, shorten(columns))
    return {name: plain[re.sub(r"[^\w.]", ".", name)] for name in columns}
