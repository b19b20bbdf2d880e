"""Trees of ``gbm`` (``pretty.gbm.tree``): what leaves add to a score, and a third child for missing values.

Numbers below the split go left. A factor's split is the number of a list, from 0, in ``csplits.json`` (or
``csplits.csv``, a list on each line) beside the tables: for each level -1 for left, 1 for right, 0 for as if missing.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.text_files import read_text
from maxent.models.formats.packing import packed
from maxent.models.formats.r_forests.forests import Grown
from maxent.models.formats.r_forests.levels import WAY_OUT, Levels
from maxent.models.formats.r_forests.tables import Table
from maxent.models.release import Branch, Node
from maxent.models.tables.columns.missing_values import MISSING
from maxent.models.tables.frame import shorten
from maxent.models.trees.thresholds import less_than

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
    table: Table, names: Sequence[str], factors: frozenset[str], lists: Sequence[tuple[int, ...]] | None, levels: Levels
) -> Grown:
    """A tree of gbm; rows are numbered from 0, and so are columns."""
    thresholds = array("d")
    return Grown(packed(table.source, _nodes(table, names, factors, lists, levels, thresholds)), thresholds)


def _nodes(
    table: Table,
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


def _size(table: Table, at: int) -> int | None:
    weight = table.number(at, "Weight")
    return int(weight) if weight.is_integer() and 0 <= weight < 2**53 else None


def _sides(
    table: Table,
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


def factors_of(source: str, tables: Sequence[Table], names: Sequence[str], levels: Levels) -> frozenset[str]:
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
