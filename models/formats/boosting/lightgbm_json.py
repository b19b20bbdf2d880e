"""Models that LightGBM dumped as JSON: nodes within nodes, codes of categories as text, and no parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import inf
from os import PathLike

from maxent.models.errors import invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import json_object, read_text, uncollected
from maxent.models.formats.assemble import packed
from maxent.models.formats.boosting.lightgbm import (
    MISSING_TYPES,
    PARAMETERS,
    GrownLightgbm,
    LightgbmNodes,
    columns_of,
    converted,
    header,
)
from maxent.models.formats.json_values import Values
from maxent.models.formats.release_reader import Converted, Wanted, model_reader
from maxent.models.reading import Reader
from maxent.models.release import Branch, Node

_CODES = re.compile(r"[0-9]{1,8}(\|\|[0-9]{1,8})*")
_INFINITE = 1e300  # written in the place of larger thresholds


@uncollected()
def convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    """Read a model, see `maxent.models.formats.release_reader.ReleaseReader`."""
    source = shown_path(path)
    text = read_text(path)
    document = Values(source, "document", json_object(text.encode(), source))
    if document.raw.get("name") != "tree" or "tree_info" not in document.raw:
        raise invalid(source, "document", "name", "'tree', of a model that LightGBM dumped as JSON", "something else")
    names, version = document.texts("feature_names"), document.text("version")
    head = header(
        source,
        version,
        document.text("objective", ""),
        document.whole("num_tree_per_iteration"),
        bool(document.raw.get("average_output")),
        names,
        _infos(document, names),
        len(text),
        wanted,
    )
    maker = LightgbmNodes(head, columns_of(head, document.raw.get("pandas_categorical"), None))
    trees = [
        GrownLightgbm(
            packed(head.source, _nodes(tree, maker)), tree.number("shrinkage") if "shrinkage" in tree.raw else None
        )
        for tree in document.children("tree_info")
    ]
    return converted(head, maker.columns, trees, {}, f"(model {version})", wanted, reader)


def _infos(document: Values, names: Sequence[str]) -> list[tuple[int, ...] | None]:
    """The codes of each column of categories, () of one without two values, which is left out, None of numbers."""
    infos = document.child("feature_infos")
    found: list[tuple[int, ...] | None] = []
    for name in names:
        if name not in infos.raw:
            found.append(())
            continue
        codes = infos.child(name).wholes("values").tolist()
        found.append(tuple(codes) if codes else None)
    return found


def _nodes(tree: Values, maker: LightgbmNodes) -> Iterator[Node]:
    """The nodes of a tree in depth-first order: S with its number for a split, L for a leaf."""
    stack, seen = [tree.child("tree_structure")], set()
    while stack:
        node = stack.pop()
        name = _id(node)
        if name in seen:
            raise invalid(tree.source, tree.where, "split_index", "a number for each node", f"{name} twice")
        seen.add(name)
        node = Values(tree.source, f"{tree.where}, node {name}", node.raw)
        if "split_index" not in node.raw:
            if "leaf_const" in node.raw or "leaf_coeff" in node.raw:
                node.refuse("leaf_coeff", "leaves with one score: train without linear_tree")
            n = node.whole("leaf_count") if "leaf_count" in node.raw else 0
            sized = n > 0 or "leaf_index" in node.raw  # of a tree without splits not all versions count the records
            hessian = node.number("leaf_weight") if "leaf_weight" in node.raw else None
            if hessian is not None and hessian < 0:
                node.refuse("leaf_weight", "a number, at least 0")
            yield Node(name, n=n if sized else None, value=node.number("leaf_value"), hessian=hessian)
            continue
        left, right = node.child("left_child"), node.child("right_child")
        below, feature, kind = (_id(left), _id(right)), node.whole("split_feature"), node.text("decision_type")
        branches: tuple[Branch, ...]
        if kind == "==":
            threshold = node.text("threshold")
            if _CODES.fullmatch(threshold) is None:
                node.refuse("threshold", "codes of categories, as 0||2")
            codes = map(int, threshold.split("||"))
            attribute, branches = maker.categorical(node.where, feature, below, codes)
        else:
            missing, to_left = node.text("missing_type"), node.raw.get("default_left")
            if kind != "<=" or missing not in MISSING_TYPES or not isinstance(to_left, bool):
                expected = f"<= or ==, with missing_type one of {', '.join(MISSING_TYPES)}, and default_left"
                node.refuse("decision_type", expected)
            number = node.number("threshold")
            most = inf if number >= _INFINITE else number
            attribute, branches = maker.numeric(node.where, feature, below, most, missing, to_left)
        yield Node(name, attribute, branches, n=node.whole("internal_count"))
        stack += [right, left]


def _id(node: Values) -> str:
    """The id of a node; that of a tree without splits is not written."""
    if "split_index" in node.raw:
        return f"S{node.whole('split_index')}"
    return f"L{node.whole('leaf_index')}" if "leaf_index" in node.raw else "L0"


READER = model_reader(
    "lightgbm-json",
    "a model that LightGBM dumped as JSON",
    (),
    convert,
    lambda head: re.match(r'\{\s*"name"\s*:\s*"tree"\s*,\s*"version"\s*:\s*"v[0-9]+"', head.text) is not None,
    parameters=PARAMETERS,
)
