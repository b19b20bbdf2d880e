"""Trees that XGBoost dumped: no objective, no base score and no weights of trees, which a table or the caller proves.

Sums of hessians at leaves follow from the scores of the trees before. Of the training table, whole and without weights,
they prove which objective and which of the base scores that XGBoost estimates a dump was made under.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, log
from os import PathLike

import numpy as np

from maxent.models.arrays import FloatArray
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import json_object, read_text, uncollected
from maxent.models.formats.boosting.hessians import agrees, follows_gradients, numbers, read_rows
from maxent.models.formats.boosting.xgboost import (
    PARAMETERS,
    GrownXgboost,
    XgboostModel,
    base_of,
    categorical,
    class_names,
    converted,
    link_of,
    numeric,
)
from maxent.models.formats.json_values import Values
from maxent.models.formats.proof import TrainingColumns, read_training
from maxent.models.formats.release_reader import Converted, Wanted, model_reader
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Branch, Link, Node
from maxent.models.tables.cells import MISSING, OTHER

# Names of what the caller may give: beside those of a model what a dump lacks, and how many trees grew in parallel
DUMP_PARAMETERS = (*PARAMETERS, "objective", "base_score", "parallel")

MOST_CODES = 2**20
_LARGEST = float(np.finfo(np.float32).max)
_UNPROVEN = (
    "the objective and the base score: a table (train=, target=) that gives the covers, of all rows, without weights, "
    "or parameters={'objective': 'binary:logistic'} and parameters={'base_score': 0.5}, as the model has them; or "
    "save_model('model.json')"
)
_GIVEN = "the objective, the base score and that no trees were dropped (DART): they are what --param says"
_PROVEN = "the objective and the base score, which the sums of hessians of the training table tell"


@dataclass(frozen=True, slots=True)
class Row:
    """A node of a dump: a leaf with its score, or a test; ``cover`` is None of a dump without stats."""

    column: str = ""
    threshold: float | None = None
    codes: tuple[int, ...] | None = None
    yes: int = -1
    no: int = -1
    missing: int = -1
    value: float | None = None
    cover: float | None = None


Rows = Mapping[int, Row]  # the nodes of a tree by their numbers


def read_dump(source: str, trees: Sequence[Rows], wanted: Wanted, reader: Reader) -> Converted:
    """The release of a dump."""
    if not trees:
        raise invalid(source, "document", "trees", "at least one tree", "none")
    names = _names(source, trees, wanted)
    columns = tuple(_column(source, trees, name, shown) for name, shown in names.items())
    position = {name: i for i, name in enumerate(names)}

    def grown(of: Sequence[Attribute]) -> list[GrownXgboost]:
        return [_tree(source, f"tree {t}", rows, of, position) for t, rows in enumerate(trees)]

    training = read_training(wanted, reader)
    model = XgboostModel(source, "logit", (), columns, (), (), [1.0] * len(trees), False, 0.0, grown, "XGBoost")
    if {"objective", "base_score"} & {*wanted.parameters}:
        return converted(_as_said(model, wanted), wanted, training)
    covers = [tree.covers for tree in grown(columns)]
    stated = [cover for cover in covers if cover is not None]
    for candidate in _candidates(model, wanted, training) if len(stated) == len(trees) else ():
        try:
            found = converted(candidate, wanted, training)
        except InvalidInput:  # an order of names is not proven under this candidate
            continue
        assert training is not None
        proven = agrees(found.release, stated, candidate.iterations, training)
        if proven and follows_gradients(found.release, candidate.iterations, training):
            return found
    raise invalid(source, "document", "objective", _UNPROVEN, "neither")


def _names(source: str, trees: Sequence[Rows], wanted: Wanted) -> dict[str, str]:
    """The names of columns that are tested; f0, f1 and so on are those that the caller lists."""
    names = dict.fromkeys(row.column for rows in trees for row in rows.values() if row.column)
    if wanted.features is None:
        return {name: name for name in names}
    numbered = [re.fullmatch(r"f([0-9]{1,7})", name) for name in names]
    if all(match is not None and int(match[1]) < len(wanted.features) for match in numbered):
        return {match[0]: wanted.features[int(match[1])] for match in numbered if match is not None}
    unknown = [name for name in names if name not in wanted.features]
    if unknown:
        raise invalid(source, "document", "features", "the names of the columns of the dump", unknown[0][:40])
    return {name: name for name in names}


def _column(source: str, trees: Sequence[Rows], name: str, shown: str) -> Attribute:
    """A column: of numbers, or of codes of categories."""
    codes = [row.codes for rows in trees for row in rows.values() if row.column == name]
    listed = [code for each in codes if each is not None for code in each]
    if all(each is None for each in codes):
        return Attribute(shown, "numeric", missing=True)
    if None in codes or max(listed, default=0) >= MOST_CODES:
        raise invalid(source, f"column {name}", "split", "tests of numbers alone, or of codes of categories", "both")
    return Attribute(shown, "categorical", (*map(str, range(max(listed, default=0) + 1)), OTHER, MISSING))


def _tree(
    source: str, where: str, rows: Rows, columns: Sequence[Attribute], position: Mapping[str, int]
) -> GrownXgboost:
    """The nodes that the root reaches, in depth-first order, and their sums of hessians."""
    nodes: list[Node] = []
    covers: list[float | None] = []
    names = {at: str(at) for at in rows}  # an id is one object, wherever it stands
    stack, seen = [0], set()
    while stack:
        at = stack.pop()
        if at not in rows or at in seen:
            raise invalid(source, where, "yes, no", "nodes that are each below one other", f"node {at}")
        seen.add(at)
        row = rows[at]
        covers.append(row.cover)
        if row.value is not None:
            if abs(row.value) > _LARGEST:
                raise invalid(source, f"{where}, node {at}", "leaf", "a number of single precision", f"{row.value}")
            if row.cover is not None and not row.cover >= 0:
                raise invalid(source, f"{where}, node {at}", "cover", "a sum that is at least 0", f"{row.cover}")
            nodes.append(Node(names[at], value=float(np.float32(row.value)), hessian=row.cover))
            continue
        if row.missing not in (row.yes, row.no) or row.yes == row.no:
            raise invalid(source, f"{where}, node {at}", "missing", "one of yes and no", f"{row.missing}")
        column = columns[position[row.column]]
        branches: tuple[Branch, ...] | None
        if row.codes is not None and column.values is not None:
            # Codes that are named go to yes, which is the right side.
            below = (names.get(row.no, ""), names.get(row.yes, ""))
            branches = categorical(column.values, row.codes, below, row.missing == row.no)
        else:
            threshold = row.threshold if row.threshold is not None and abs(row.threshold) <= _LARGEST else None
            below = (names.get(row.yes, ""), names.get(row.no, ""))
            single = None if threshold is None else float(np.float32(threshold))
            branches = None if single is None else numeric(single, below, row.missing == row.yes)
            if branches is None:
                raise invalid(source, f"{where}, node {at}", "split", "a number of single precision", "another")
        nodes.append(Node(names[at], column.name, branches))
        stack += [row.no, row.yes]
    if len(seen) < len(rows):
        raise invalid(source, where, "nodes", "nodes that the first one leads to", f"{len(rows) - len(seen)} others")
    known = [cover for cover in covers if cover is not None and isfinite(cover)]
    return GrownXgboost(tuple(nodes), np.array(known) if len(known) == len(nodes) else None)


def _as_said(model: XgboostModel, wanted: Wanted) -> XgboostModel:
    """The model under the objective and the base score that the caller names."""
    objective, base_score = wanted.parameters.get("objective", ""), wanted.parameters.get("base_score")
    link = link_of("options", "argument", objective)
    classes = class_names(wanted, len(wanted.classes or ()) or 2 if objective.startswith("multi") else 2)
    base = None if base_score is None else base_of(base_score, link, classes)
    if base is None:
        expected = "base_score=NUMBER: a probability of binary:logistic" if link == "logit" else "base_score=NUMBER"
        raise invalid("options", "argument", "parameters", expected, f"base_score={base_score}"[:60])
    problems: list[Problem] = []
    parallel = wanted.number("parallel", problems) or 1.0
    if problems or not (parallel.is_integer() and 1 <= parallel <= len(model.weights)):
        problems = problems or [Problem("argument", "parameters", "parallel=1 or more", f"parallel={parallel:g}")]
        raise InvalidInput("options", problems)
    doubt = "several trees were grown for a class in each round (parallel)" if parallel > 1 else ""
    return replace(_ordered(model, link, classes, int(parallel)), base=base, lost=(_GIVEN,), doubt=doubt)


def _ordered(model: XgboostModel, link: Link, classes: tuple[str, ...], parallel: int = 1) -> XgboostModel:
    """The model with its trees in the order of training: those of each class, then of the next iteration."""
    n_groups = len(classes) if link == "softmax" else 1
    numbers = range(len(model.weights))
    if len(numbers) % (n_groups * parallel):
        expected = f"{n_groups * parallel} for each iteration"
        raise invalid(model.source, "document", "trees", expected, f"{len(numbers)}")
    groups = [t // parallel % n_groups for t in numbers]
    iterations = [t // (parallel * n_groups) for t in numbers]
    return replace(model, link=link, classes=classes, groups=groups, iterations=iterations)


def _candidates(model: XgboostModel, wanted: Wanted, training: TrainingColumns | None) -> Iterator[XgboostModel]:
    """The models of the classifiers and base scores that XGBoost trains under unless it is told others."""
    classes = wanted.classes or (training.classes if training is not None else ())
    if training is None or wanted.target is None or len(classes) < 2 or {*training.classes} - {*classes}:
        return
    column = training.frame.columns[wanted.target]
    texts = [*column.texts(), ""]
    y = [texts[code] for code in column.codes.tolist()]
    shares = np.array([y.count(name) for name in classes]) / max(len(y), 1)
    if (shares == 0).any():
        return
    if len(classes) == 2:
        share = float(shares[1])
        step = 4 * (share - 0.5)  # of Newton, from 0
        for base in (0.0, log(share / (1 - share)), step):
            yield replace(_ordered(model, "logit", classes), base=base, lost=(_PROVEN,))
    if len(model.weights) % len(classes) == 0:
        logs = np.log(shares)
        found: list[FloatArray] = [np.zeros(len(classes)), logs - logs.mean()]
        for scores in found:
            each = dict(zip(classes, scores.tolist(), strict=True))
            yield replace(_ordered(model, "softmax", classes), base=each, lost=(_PROVEN,))


# Text that XGBoost dumps of its trees: dump_model, or the texts of get_dump one after the other.


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


@model_reader(
    "xgboost-dump",
    "text that XGBoost dumped of trees",
    r"(booster\[0\]:?\r?\n)?0:(\[.+\] yes=[0-9]+,no=[0-9]+|leaf=[-+0-9.e]+(,cover=|\r?\n))",
    parameters=DUMP_PARAMETERS,
)
@uncollected()
def _convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
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


# JSON that XGBoost dumps of its trees: a list of nodes within nodes, or of the texts of them (get_dump).


@model_reader(
    "xgboost-dump-json",
    "JSON that XGBoost dumped of trees",
    r'\[\s*"?\s*\{\s*\\?"nodeid\\?"\s*:\s*0\s*,',
    parameters=DUMP_PARAMETERS,
)
@uncollected()
def _convert_json(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
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


# The table that XGBoost makes of its trees, trees_to_dataframe, as CSV: a row for each node.


_HEADER = ("Tree", "Node", "ID", "Feature", "Split", "Yes", "No", "Missing", "Gain", "Cover", "Category")
_TABLE_CODES = re.compile(r"\[(?:'[0-9]{1,8}'(?:,? '[0-9]{1,8}')*)?\]")


@model_reader(
    "xgboost-table",
    "the table that XGBoost makes of trees, as CSV",
    r'"?,?"?Tree"?,"?Node"?,"?ID"?,"?Feature"?,"?Split"?,"?Yes"?,"?No"?,',
    parameters=DUMP_PARAMETERS,
)
@uncollected()
def _convert_table(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
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
        if (
            not feature
            or (splits[i] == splits[i]) == bool(category)
            or (category and not _TABLE_CODES.fullmatch(category))
        ):
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
