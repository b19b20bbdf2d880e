"""Files of LightGBM: models saved as text, models dumped as JSON, and tables of trees."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from os import PathLike

import numpy as np

from maxent.models.arrays import FloatArray, IntArray
from maxent.models.errors import InvalidInput, invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import json_object, read_text, uncollected
from maxent.models.formats.assemble import packed
from maxent.models.formats.boosting.hessians import agrees, follows_gradients, numbers, read_rows
from maxent.models.formats.boosting.lightgbm import (
    MISSING_TYPES,
    PARAMETERS,
    GrownLightgbm,
    Header,
    LightgbmColumn,
    LightgbmNodes,
    codes_in,
    columns_of,
    converted,
    header,
)
from maxent.models.formats.json_values import Values
from maxent.models.formats.proof import TrainingColumns, read_training
from maxent.models.formats.release_reader import Converted, Wanted, model_reader
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Branch, Node
from maxent.models.tables.cells import MISSING, OTHER

_CODES = re.compile(r"-?[0-9]{1,8}(:-?[0-9]{1,8})*")
_PARAMETER = re.compile(r"\[([a-z_0-9]+): ?(.*)\]")
_MOST_WORDS = 2**15  # words of 32 bits of the largest bit set


@model_reader(
    "lightgbm-text", "a model that LightGBM saved as text", r"tree\r?\nversion=v[0-9]+\r?\n", parameters=PARAMETERS
)
def _convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    source = shown_path(path)
    text = read_text(path)
    if re.match(r"tree\nversion=", text) is None:
        raise invalid(source, "line 1", "content", "a model that LightGBM saved as text", "another text")
    start = text.partition("\nTree=")[0]
    body, found, end = text[len(start) :].partition("\nend of trees\n")
    if not found:
        raise invalid(source, "document", "end of trees", "a model that is whole", "nothing")
    about = Lines(source, "document", _keyed(start))
    infos = tuple(_info(about, info) for info in about.text("feature_infos").split())
    version = about.text("version")
    head = header(
        source,
        version,
        about.raw.get("objective", ""),
        about.whole("num_tree_per_iteration"),
        "\naverage_output" in start,
        about.text("feature_names").split(" "),
        infos,
        len(text),
        wanted,
    )
    said = map(_PARAMETER.fullmatch, end.split("\n"))
    parameters = {match[1]: match[2] for match in said if match is not None}
    stated = _stated(parameters.get("categorical_feature", ""))
    maker = LightgbmNodes(head, columns_of(head, _pandas(source, end), stated))
    trees = []
    for number, part in enumerate(body.split("\nTree=")[1:], 1):
        lines = Lines(source, f"tree {number}", _keyed(part))
        rate = lines.floats("shrinkage", 1).tolist() if "shrinkage" in lines.raw else [None]
        trees.append(GrownLightgbm(packed(head.source, _nodes(lines, maker)), rate[0]))
    return converted(head, maker.columns, trees, parameters, f"(model {version})", wanted, reader)


def _keyed(text: str) -> dict[str, str]:
    """Lines with a key and a value."""
    return {key: value for key, sign, value in (line.partition("=") for line in text.split("\n")) if sign}


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines ``key=value`` of a part; what is not as it should be is refused, naming the key."""

    source: str
    where: str
    raw: Mapping[str, str]

    def text(self, key: str) -> str:
        """The value of a key that has to be there."""
        if key not in self.raw:
            raise invalid(self.source, self.where, key, f"a line {key}=", "nothing")
        return self.raw[key]

    def whole(self, key: str) -> int:
        """A whole number, at least 0."""
        text = self.text(key)
        if re.fullmatch(r"[0-9]{1,9}", text) is None:
            raise invalid(self.source, self.where, key, "a whole number", repr(text[:40]))
        return int(text)

    def wholes(self, key: str, size: int | None = None) -> IntArray:
        """Whole numbers, shape (size,)."""
        parts = self._sized(key, size)
        if not all(re.fullmatch(r"-?[0-9]{1,15}", part) for part in parts):
            raise invalid(self.source, self.where, key, "whole numbers", "something else")
        return np.array(parts, np.str_).astype(np.int64) if parts else np.zeros(0, np.int64)

    def floats(self, key: str, size: int, *, finite: bool = True) -> FloatArray:
        """Numbers, shape (size,)."""
        parts = self._sized(key, size)
        try:
            found = np.array([float(part) for part in parts], np.float64)
        except ValueError:
            found = np.array([np.nan])
        if np.isnan(found).any() or (finite and np.isinf(found).any()):
            raise invalid(self.source, self.where, key, "finite numbers", "something else")
        return found

    def _sized(self, key: str, size: int | None) -> list[str]:
        found = self.text(key).split()
        if size is not None and len(found) != size:
            raise invalid(self.source, self.where, key, f"{size} numbers", f"{len(found)}")
        return found


def _info(about: Lines, text: str) -> tuple[int, ...] | None:
    """The codes of a column of categories, () of one without two values, None of numbers."""
    if text.startswith("["):
        return None
    if text == "none":
        return ()
    if _CODES.fullmatch(text) is None:
        raise invalid(about.source, about.where, "feature_infos", "[LEAST:MOST], codes or none", repr(text[:40]))
    return tuple(map(int, text.split(":")))


def _stated(text: str) -> Sequence[int] | None:
    """The columns that the parameters say are categorical."""
    return sorted(set(map(int, text.split(",")))) if re.fullmatch(r"[0-9]{1,8}(,[0-9]{1,8})*", text) else None


def _pandas(source: str, end: str) -> object:
    """The values of pandas' categories, which the last line has as JSON."""
    line = next((line for line in reversed(end.split("\n")) if line.startswith("pandas_categorical:")), None)
    if line is None:
        return None
    return json_object(f'{{"found": {line.partition(":")[2]}}}'.encode(), source).get("found")


def _nodes(tree: Lines, maker: LightgbmNodes) -> Iterator[Node]:
    """The nodes of a tree in depth-first order: S with its number for a split, L for a leaf."""
    n = tree.whole("num_leaves")
    if tree.raw.get("is_linear", "0") != "0":
        raise invalid(tree.source, tree.where, "is_linear", "leaves with one score: train without linear_tree", "1")
    if n < 1:
        raise invalid(tree.source, tree.where, "num_leaves", "at least 1", "0")
    values = tree.floats("leaf_value", n)
    if n == 1:  # no split was found, and not all versions count its records
        count = tree.wholes("leaf_count").tolist()
        yield Node("L0", n=count[0] if len(count) == 1 and count[0] > 0 else None, value=float(values[0]))
        return
    sizes, inner = tree.wholes("leaf_count", n), tree.wholes("internal_count", n - 1)
    hessian = tree.floats("leaf_weight", n).tolist() if "leaf_weight" in tree.raw else [None] * n
    if any(total is not None and total < 0 for total in hessian):
        raise invalid(tree.source, tree.where, "leaf_weight", "numbers that are at least 0", "others")
    tested, kinds = tree.wholes("split_feature", n - 1), tree.wholes("decision_type", n - 1)
    thresholds = tree.floats("threshold", n - 1, finite=False)
    left, right = tree.wholes("left_child", n - 1), tree.wholes("right_child", n - 1)
    sets = _sets(tree)
    stack, seen = [0], set()
    while stack:
        at = stack.pop()
        if not -n <= at < n - 1 or at in seen:
            raise invalid(tree.source, tree.where, "left_child", "nodes that are each below one other", f"node {at}")
        seen.add(at)
        if at < 0:
            yield Node(_id(at), n=int(sizes[~at]), value=float(values[~at]), hessian=hessian[~at])
            continue
        where, below = f"{tree.where}, split {at}", (_id(int(left[at])), _id(int(right[at])))
        kind, feature, threshold = int(kinds[at]), int(tested[at]), float(thresholds[at])
        if not 0 <= kind < 12:
            raise invalid(tree.source, where, "decision_type", "a number from 0 to 11", f"{kind}")
        branches: tuple[Branch, ...]
        if kind & 1:
            if not (threshold.is_integer() and 0 <= threshold < len(sets)):
                raise invalid(tree.source, where, "threshold", f"one of {len(sets)} sets of categories", f"{threshold}")
            name, branches = maker.categorical(where, feature, below, codes_in(sets[int(threshold)]))
        else:
            name, branches = maker.numeric(where, feature, below, threshold, MISSING_TYPES[kind >> 2], bool(kind & 2))
        yield Node(_id(at), name, branches, n=int(inner[at]))
        stack += [int(right[at]), int(left[at])]


def _id(child: int) -> str:
    """The id of a node: leaves are numbered by the complement."""
    return f"L{~child}" if child < 0 else f"S{child}"


def _sets(tree: Lines) -> list[IntArray]:
    """The bit sets of categories, as words of 32 bits."""
    if not tree.whole("num_cat"):
        return []
    ends, words = tree.wholes("cat_boundaries"), tree.wholes("cat_threshold")
    if (
        len(ends) < 2
        or ends[0] != 0
        or ends[-1] != len(words)
        or not ((np.diff(ends) > 0) & (np.diff(ends) <= _MOST_WORDS)).all()
    ):
        raise invalid(tree.source, tree.where, "cat_boundaries", "where each set ends", "something else")
    if (words < 0).any() or (words >= 2**32).any():
        raise invalid(tree.source, tree.where, "cat_threshold", "words of 32 bits", "others")
    return np.split(words, ends[1:-1])


# Models that LightGBM dumped as JSON: nodes within nodes, codes of categories as text, and no parameters.


_JSON_CODES = re.compile(r"[0-9]{1,8}(\|\|[0-9]{1,8})*")
_INFINITE = 1e300  # written in the place of larger thresholds


@model_reader(
    "lightgbm-json",
    "a model that LightGBM dumped as JSON",
    r'\{\s*"name"\s*:\s*"tree"\s*,\s*"version"\s*:\s*"v[0-9]+"',
    parameters=PARAMETERS,
)
@uncollected()
def _convert_json(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
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
            packed(head.source, _json_nodes(tree, maker)), tree.number("shrinkage") if "shrinkage" in tree.raw else None
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


def _json_nodes(tree: Values, maker: LightgbmNodes) -> Iterator[Node]:
    """The nodes of a tree in depth-first order: S with its number for a split, L for a leaf."""
    stack, seen = [tree.child("tree_structure")], set()
    while stack:
        node = stack.pop()
        name = _json_id(node)
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
        below, feature, kind = (
            (_json_id(left), _json_id(right)),
            node.whole("split_feature"),
            node.text("decision_type"),
        )
        branches: tuple[Branch, ...]
        if kind == "==":
            threshold = node.text("threshold")
            if _JSON_CODES.fullmatch(threshold) is None:
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


def _json_id(node: Values) -> str:
    """The id of a node; that of a tree without splits is not written."""
    if "split_index" in node.raw:
        return f"S{node.whole('split_index')}"
    return f"L{node.whole('leaf_index')}" if "leaf_index" in node.raw else "L0"


# The table that LightGBM makes of its trees, trees_to_dataframe, as CSV: a row for each node.
#
# It has neither objective nor classes nor names of categories. Sums of hessians at leaves follow from the scores of
# the trees before, and the values of the first roots are the scores before them, unless these are 0
# (boost_from_average): the training table so proves all three.


_HEADER = (
    *("tree_index", "node_depth", "node_index", "left_child", "right_child", "split_feature", "threshold"),
    *("decision_type", "missing_direction", "missing_type", "value", "weight", "count"),
)
_TABLE_CODES = re.compile(r"[0-9]{1,7}(\|\|[0-9]{1,7})*")
_UNPROVEN = (
    "the objective: a table (train=, target=) that gives the weights of leaves, of all rows and without weights, or "
    "parameters={'objective': 'binary'}, or multiclass with classes=, as the model has it; or "
    "booster.save_model('model.txt')"
)
_NAMED = (
    "codes of categories, as the table of trees has no names, or names whose order the weights of leaves prove; "
    "booster.save_model('model.txt') writes the names"
)
_GIVEN = "the objective, and that scores are sums of the trees: they are what --param says"
_PROVEN = "the objective, which the weights of leaves tell with the training table"


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """The rows of the file, by tree and by the id of the node."""

    source: str
    cells: Mapping[str, list[str]]
    trees: tuple[Mapping[str, int], ...]
    values: FloatArray
    weights: FloatArray
    features: tuple[str, ...]
    codes: Mapping[str, tuple[int, ...]]

    @property
    def size(self) -> int:
        """Characters that name categories."""
        return sum(map(len, self.cells["threshold"]))

    def first(self, n: int) -> list[float]:
        """The values of the roots of the first trees."""
        return [float(self.values[next(iter(rows.values()))]) for rows in self.trees[:n]]


@model_reader(
    "lightgbm-table",
    "the table that LightGBM makes of trees, as CSV",
    r'"?,?"?tree_index"?,"?node_depth"?,"?node_index"?,',
    parameters=(*PARAMETERS, "objective"),
)
@uncollected()
def _convert_table(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    table = _table(path)
    training = read_training(wanted, reader)
    titles = _titles(table, wanted, training)
    said = wanted.parameters.get("objective")
    if said is not None:
        n_classes = len(wanted.classes or ()) or 2
        found = _read(table, said, n_classes, _named(table, titles, training, -1) or (), wanted, reader)
        return replace(found, lost=(*found.lost, _GIVEN))
    classes = wanted.classes or (training.classes if training is not None else ())
    if training is None or not training.classes or {*training.classes} - {*classes}:
        raise invalid(table.source, "document", "objective", _UNPROVEN, "neither")
    for objective in ("binary", "multiclass") if len(classes) == 2 else ("multiclass",):
        for order in range(-1, 4):
            columns = _named(table, titles, training, order)
            if columns is None:
                continue
            try:
                found = _read(table, objective, len(classes), columns, replace(wanted, classes=classes), reader)
            except InvalidInput:
                continue
            if _proven(found, table, objective, len(classes), training):
                return replace(found, lost=(*found.lost, _PROVEN))
    raise invalid(table.source, "document", "objective", _NAMED if table.codes else _UNPROVEN, "neither")


def _table(path: str | PathLike[str]) -> _Table:
    source = shown_path(path)
    cells = read_rows(path, _HEADER)
    trees: dict[int, dict[str, int]] = {}
    codes: dict[str, list[int]] = {}
    for i, (tree, node) in enumerate(zip(cells["tree_index"], cells["node_index"], strict=True)):
        if re.fullmatch("[0-9]{1,7}", tree) is None:
            raise invalid(source, f"row {i + 2}", "tree_index", "a whole number", repr(tree[:40]))
        rows = trees.setdefault(int(tree), {})
        if re.fullmatch("[0-9]{1,7}-[SL][0-9]{1,9}", node) is None or not node.startswith(f"{tree}-") or node in rows:
            raise invalid(source, f"row {i + 2}", "node_index", f"a node of tree {tree}, once", repr(node[:40]))
        rows[node] = i
        if cells["decision_type"][i] == "==":
            if _TABLE_CODES.fullmatch(cells["threshold"][i]) is None:
                raise invalid(source, f"row {i + 2}", "threshold", "codes of categories, as 0||2", "something else")
            codes.setdefault(cells["split_feature"][i], []).extend(map(int, cells["threshold"][i].split("||")))
    if sorted(trees) != list(range(len(trees))):
        raise invalid(source, "document", "tree_index", "numbers from 0", "others")
    return _Table(
        source,
        cells,
        tuple(trees[number] for number in range(len(trees))),
        numbers(source, "value", cells["value"]),
        numbers(source, "weight", cells["weight"]),
        tuple(dict.fromkeys(feature for feature in cells["split_feature"] if feature)),
        {name: tuple(sorted(set(each))) for name, each in codes.items()},
    )


def _titles(table: _Table, wanted: Wanted, training: TrainingColumns | None) -> dict[str, str]:
    """The names of the columns: Column_0 and so on are those that the caller lists.

    LightGBM writes blanks in names as ``_``, which a table, or the list, tells.
    """
    there = [*(wanted.features or ()), *(() if training is None else training.frame.columns)]
    found = {}
    for feature in table.features:
        number = re.fullmatch("Column_([0-9]{1,7})", feature)
        like = {name for name in there if name.replace(" ", "_") == feature}
        if number is not None and wanted.features is not None and int(number[1]) < len(wanted.features):
            found[feature] = wanted.features[int(number[1])]
        else:
            found[feature] = feature if feature in there or len(like) != 1 else like.pop()
    return found


def _named(
    table: _Table, titles: Mapping[str, str], training: TrainingColumns | None, order: int
) -> tuple[LightgbmColumn, ...] | None:
    """The columns, with names of categories in one of the orders of a table, or codes where the order is below 0."""
    found = []
    for feature in table.features:
        name = titles[feature]
        if feature not in table.codes:
            found.append(LightgbmColumn(Attribute(name, "numeric", missing=True)))
            continue
        codes = table.codes[feature]
        orders = () if training is None else training.orders(name)
        names = {code: str(code) for code in codes}
        if order >= 0 and orders:
            values = orders[min(order, len(orders) - 1)]
            if max(codes) >= len(values) or {MISSING, OTHER} & {*values}:
                return None
            names = dict(enumerate(values))
        found.append(LightgbmColumn(Attribute(name, "categorical", (*names.values(), OTHER, MISSING)), names))
    return tuple(found)


def _read(
    table: _Table, objective: str, n_classes: int, columns: Sequence[LightgbmColumn], wanted: Wanted, reader: Reader
) -> Converted:
    """The release under an objective."""
    per_iteration = n_classes if objective.startswith("multiclass") else 1
    infos = [table.codes.get(feature) for feature in table.features]
    names = tuple(column.attribute.name for column in columns)
    head: Header = header(
        table.source, "v4", objective, per_iteration, False, names, infos, table.size, replace(wanted, features=None)
    )
    maker = LightgbmNodes(head, columns)
    trees = [GrownLightgbm(packed(head.source, _table_nodes(table, t, maker)), None) for t in range(len(table.trees))]
    return converted(head, columns, trees, {}, "", wanted, reader)


def _table_nodes(table: _Table, t: int, maker: LightgbmNodes) -> Iterator[Node]:
    """The nodes of a tree in depth-first order."""
    rows, cells = table.trees[t], table.cells
    stack, seen = [next(iter(rows))], set()
    position = {feature: i for i, feature in enumerate(table.features)}
    while stack:
        name = stack.pop()
        if name not in rows or name in seen:
            raise invalid(
                table.source, f"tree {t}", "left_child", "nodes that are each below one other", f"node {name[:40]}"
            )
        seen.add(name)
        i, where = rows[name], f"row {rows[name] + 2}"
        count = cells["count"][i].removesuffix(".0")
        if re.fullmatch("[0-9]{0,15}", count) is None:
            raise invalid(table.source, where, "count", "a number of records", repr(count[:40]))
        n = int(count) if count else None
        kind = cells["decision_type"][i]
        if not kind:
            value, weight = float(table.values[i]), float(table.weights[i])
            if value != value or weight < 0:
                raise invalid(table.source, where, "value", "the score of the leaf", "none")
            yield Node(_table_id(name), n=n or None, value=value, hessian=None if weight != weight else weight)
            continue
        left, right = cells["left_child"][i], cells["right_child"][i]
        below, feature = (_table_id(left), _table_id(right)), position.get(cells["split_feature"][i], -1)
        if kind == "==":
            codes = map(int, cells["threshold"][i].split("||"))
            attribute, branches = maker.categorical(where, feature, below, codes)
        else:
            missing, side = cells["missing_type"][i] or "None", cells["missing_direction"][i]
            if kind != "<=" or missing not in MISSING_TYPES or side not in ("left", "right"):
                raise invalid(table.source, where, "decision_type", "<= or ==, and directions", kind[:40])
            threshold = float(numbers(table.source, "threshold", [cells["threshold"][i]])[0])
            most = inf if threshold >= _INFINITE else threshold
            attribute, branches = maker.numeric(where, feature, below, most, missing, side == "left")
        yield Node(_table_id(name), attribute, branches, n=n)
        stack += [right, left]
    if len(seen) < len(rows):
        raise invalid(table.source, f"tree {t}", "nodes", "nodes that the first one leads to", "others")


def _table_id(name: str) -> str:
    """The id of a node without the number of its tree."""
    return name.partition("-")[2] or name


def _proven(found: Converted, table: _Table, objective: str, n_classes: int, training: TrainingColumns) -> bool:
    """Whether weights of leaves are those of the table, and the first trees raise scores of their classes."""
    release = found.release
    n_groups = 1 if objective == "binary" else n_classes
    first = table.first(n_groups)
    mean = np.array([0.0, *first] if n_groups == 1 else first)
    iterations = [t // n_groups for t in range(len(table.trees))]
    covers = [
        np.array([table.weights[rows[f"{t}-{node.id}"]] for node in tree.nodes])
        for t, (rows, tree) in enumerate(zip(table.trees, release.trees, strict=True))
    ]
    if release.boosting is None or any(np.isnan(cover).any() for cover in covers):
        return False
    factor = 1.0 if n_groups == 1 else n_classes / (n_classes - 1)
    told = replace(release, boosting=replace(release.boosting, hessian=factor))
    return any(
        agrees(told, covers, iterations, training, starts) and follows_gradients(told, iterations, training, starts)
        for starts in (mean, np.zeros(len(mean)))
    )
