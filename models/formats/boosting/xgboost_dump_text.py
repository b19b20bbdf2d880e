"""Text that XGBoost dumps of its trees: dump_model, or the texts of get_dump one after the other."""

from __future__ import annotations

import re
from os import PathLike

from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import read_text, uncollected
from maxent.models.formats.boosting.xgboost_dump import DUMP_PARAMETERS, Row, Rows, read_dump
from maxent.models.formats.release_reader import Converted, Wanted, model_reader
from maxent.models.reading import Reader

_NUMBER = r"[-+]?[0-9.]{1,40}(?:[eE][-+]?[0-9]{1,4})?"
_STATS = rf"(?:,gain={_NUMBER})?(?:,cover=({_NUMBER}))?"
_LEAF = re.compile(rf"\t*([0-9]{{1,9}}):leaf=({_NUMBER}){_STATS}")
_SPLIT = re.compile(
    rf"\t*([0-9]{{1,9}}):\[(.+)(?:<({_NUMBER})|:\{{([0-9,]*)\}})\] "
    rf"yes=([0-9]{{1,9}}),no=([0-9]{{1,9}}),missing=([0-9]{{1,9}}){_STATS}"
)
_INDICATOR = re.compile(r"\t*[0-9]{1,9}:\[[^<]+\] yes=")
_BOOSTER = re.compile(r"booster\[[0-9]+\]:?")
_CODES = re.compile(r"(?:[0-9]{1,8}(?:,[0-9]{1,8})*)?")


@uncollected()
def convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    """Read a dump, see `maxent.models.formats.release_reader.ReleaseReader`."""
    source = shown_path(path)
    trees: list[dict[int, Row]] = []
    begun = False
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if _BOOSTER.fullmatch(line):
            trees.append({})
            begun = True
        elif line.strip():
            if line.startswith("0:") and not begun:
                trees.append({})
            begun = False
            at, row = _row(source, f"line {number}", line)
            if not trees or at in trees[-1]:
                raise invalid(source, f"line {number}", "node", "a tree that begins with 0, each once", f"{at}")
            trees[-1][at] = row
    found: list[Rows] = [tree for tree in trees if tree]
    if len(found) < len(trees):
        raise invalid(source, "document", "booster", "nodes of every tree", "a tree without some")
    return read_dump(source, found, wanted, reader)


def _row(source: str, where: str, line: str) -> tuple[int, Row]:
    """The number of a node, and the node."""
    leaf = _LEAF.fullmatch(line)
    try:
        if leaf is not None:
            cover = None if leaf[3] is None else float(leaf[3])
            return int(leaf[1]), Row(value=float(leaf[2]), cover=cover)
        split = _SPLIT.fullmatch(line)
        if split is not None and (split[4] is None or _CODES.fullmatch(split[4])):
            codes = None if split[4] is None else tuple(int(code) for code in split[4].split(",") if code)
            threshold = None if split[3] is None else float(split[3])
            yes, no, missing = int(split[5]), int(split[6]), int(split[7])
            cover = None if split[8] is None else float(split[8])
            return int(split[1]), Row(split[2], threshold, codes, yes, no, missing, cover=cover)
    except ValueError:  # two points in a number
        pass
    if _INDICATOR.match(line):
        expected = "tests of numbers or of categories: dump it without a feature map, or with q in place of i"
        raise invalid(source, where, "split", expected, "a test of an indicator")
    raise invalid(source, where, "content", "a node of a dump of XGBoost", "another line")


READER = model_reader(
    "xgboost-dump",
    "text that XGBoost dumped of trees",
    (),
    convert,
    lambda head: (
        re.match(r"(booster\[0\]:?\r?\n)?0:(\[.+\] yes=[0-9]+,no=[0-9]+|leaf=[-+0-9.e]+(,cover=|\r?\n))", head.text)
        is not None
    ),
    parameters=DUMP_PARAMETERS,
)
