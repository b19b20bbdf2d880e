"""The table that XGBoost makes of its trees, trees_to_dataframe, as CSV: a row for each node."""

from __future__ import annotations

import re
from os import PathLike

from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import uncollected
from maxent.models.formats.boosting.hessians import numbers, read_rows
from maxent.models.formats.boosting.xgboost_dump import DUMP_PARAMETERS, Row, read_dump
from maxent.models.formats.release_reader import Converted, Wanted, model_reader
from maxent.models.reading import Reader

_HEADER = ("Tree", "Node", "ID", "Feature", "Split", "Yes", "No", "Missing", "Gain", "Cover", "Category")
_CODES = re.compile(r"\[(?:'[0-9]{1,8}'(?:,? '[0-9]{1,8}')*)?\]")


@uncollected()
def convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    """Read a table, see `maxent.models.formats.release_reader.ReleaseReader`."""
    source = shown_path(path)
    cells = read_rows(path, _HEADER, "Category")
    splits, gains = numbers(source, "Split", cells["Split"]), numbers(source, "Gain", cells["Gain"])
    covers = numbers(source, "Cover", cells["Cover"])
    trees: dict[int, dict[int, Row]] = {}
    for i, (feature, category) in enumerate(zip(cells["Feature"], cells["Category"], strict=True)):
        where = f"row {i + 2}"
        tree, number = _whole(source, where, "Tree", cells["Tree"][i]), _whole(source, where, "Node", cells["Node"][i])
        rows = trees.setdefault(tree, {})
        if number in rows or cells["ID"][i] != f"{tree}-{number}" or covers[i] != covers[i]:
            raise invalid(source, where, "ID", f"{tree}-{number}, once, with its cover", cells["ID"][i][:40])
        if feature == "Leaf" and not category and splits[i] != splits[i]:
            if gains[i] != gains[i]:
                raise invalid(source, where, "Gain", "the score of the leaf", "nothing")
            rows[number] = Row(value=float(gains[i]), cover=float(covers[i]))
            continue
        if not feature or (splits[i] == splits[i]) == bool(category) or (category and not _CODES.fullmatch(category)):
            raise invalid(source, where, "Split", "a number, or codes as Category", f"{category[:40]!r}")
        codes = tuple(map(int, re.findall("[0-9]+", category))) if category else None
        yes, no, missing = (_child(source, where, key, cells[key][i], tree) for key in ("Yes", "No", "Missing"))
        rows[number] = Row(
            feature, None if category else float(splits[i]), codes, yes, no, missing, cover=float(covers[i])
        )
    if sorted(trees) != list(range(len(trees))):
        raise invalid(source, "document", "Tree", "numbers from 0", "others")
    return read_dump(source, [trees[number] for number in sorted(trees)], wanted, reader)


def _whole(source: str, where: str, name: str, cell: str) -> int:
    if re.fullmatch(r"[0-9]{1,9}", cell) is None:
        raise invalid(source, where, name, "a whole number", repr(cell[:40]))
    return int(cell)


def _child(source: str, where: str, name: str, cell: str, tree: int) -> int:
    """The number of a node of the same tree."""
    before, _, after = cell.partition("-")
    if before != str(tree):
        raise invalid(source, where, name, f"a node of tree {tree}", repr(cell[:40]))
    return _whole(source, where, name, after)


READER = model_reader(
    "xgboost-table",
    "the table that XGBoost makes of trees, as CSV",
    (),
    convert,
    lambda head: re.match(r'"?,?"?Tree"?,"?Node"?,"?ID"?,"?Feature"?,"?Split"?,"?Yes"?,"?No"?,', head.text) is not None,
    parameters=DUMP_PARAMETERS,
)
