"""JSON that XGBoost dumps of its trees: a list of nodes within nodes, or of the texts of them (get_dump)."""

from __future__ import annotations

import re
from os import PathLike

from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import json_object, read_text, uncollected
from maxent.models.formats.boosting.xgboost_dump import DUMP_PARAMETERS, Row, Rows, read_dump
from maxent.models.formats.json_values import Values
from maxent.models.formats.release_reader import Converted, Wanted, model_reader
from maxent.models.reading import Reader


@uncollected()
def convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    """Read a dump, see `maxent.models.formats.release_reader.ReleaseReader`."""
    source = shown_path(path)
    document = Values(source, "document", json_object(f'{{"trees": {read_text(path)}}}'.encode(), source))
    if len(document.raw) > 1:
        raise invalid(source, "document", "content", "one list of trees", "something after it")
    trees = []
    for number, item in enumerate(document.items("trees")):
        where = f"tree {number}"
        found = json_object(item.encode(), source) if isinstance(item, str) else item
        if not isinstance(found, dict):
            raise invalid(source, where, "content", "an object", "something else")
        trees.append(_rows(Values(source, where, found)))
    return read_dump(source, trees, wanted, reader)


def _rows(tree: Values) -> Rows:
    """The nodes of a tree by their numbers."""
    rows: dict[int, Row] = {}
    stack = [tree]
    while stack:
        at = stack.pop()
        number = at.whole("nodeid")
        at = Values(tree.source, f"{tree.where}, node {number}", at.raw)
        if number in rows:
            at.refuse("nodeid", "a number for each node")
        cover = at.number("cover") if "cover" in at.raw else None
        if "leaf" in at.raw:
            if isinstance(at.raw["leaf"], list):
                at.refuse("leaf", "leaves with one score: train with multi_strategy='one_output_per_tree'")
            rows[number] = Row(value=at.number("leaf"), cover=cover)
            continue
        if "split_condition" not in at.raw:
            expected = "tests of numbers or of categories: dump it without a feature map, or with q in place of i"
            at.refuse("split_condition", expected)
        yes, no, missing = at.whole("yes"), at.whole("no"), at.whole("missing")
        threshold, codes = None, None
        if isinstance(at.raw["split_condition"], list):
            codes = tuple(at.wholes("split_condition").tolist())
            if min(codes, default=0) < 0:
                at.refuse("split_condition", "codes of categories")
        else:
            threshold = at.number("split_condition")
        rows[number] = Row(at.text("split") or at.text("nodeid"), threshold, codes, yes, no, missing, cover=cover)
        stack += reversed(list(at.children("children")))
    return rows


READER = model_reader(
    "xgboost-dump-json",
    "JSON that XGBoost dumped of trees",
    (),
    convert,
    lambda head: re.match(r'\[\s*"?\s*\{\s*\\?"nodeid\\?"\s*:\s*0\s*,', head.text) is not None,
    parameters=DUMP_PARAMETERS,
)
