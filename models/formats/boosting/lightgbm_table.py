"""The table that LightGBM makes of its trees, trees_to_dataframe, as CSV: a row for each node.

It has neither objective nor classes nor names of categories. Sums of hessians at leaves follow from the scores of the
trees before, and the values of the first roots are the scores before them, unless these are 0 (boost_from_average): the
training table so proves all three.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from os import PathLike

import numpy as np

from maxent.models.arrays import FloatArray
from maxent.models.errors import InvalidInput, invalid
from maxent.models.files.input_files import shown_path
from maxent.models.files.json_files import uncollected
from maxent.models.formats.assemble import packed
from maxent.models.formats.boosting.hessians import agrees, follows_gradients, numbers, read_rows
from maxent.models.formats.boosting.lightgbm import (
    MISSING_TYPES,
    PARAMETERS,
    GrownLightgbm,
    Header,
    LightgbmColumn,
    LightgbmNodes,
    converted,
    header,
)
from maxent.models.formats.proof import TrainingColumns, read_training
from maxent.models.formats.release_reader import Converted, Wanted, model_reader
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Node
from maxent.models.tables.cells import MISSING, OTHER

_HEADER = (
    *("tree_index", "node_depth", "node_index", "left_child", "right_child", "split_feature", "threshold"),
    *("decision_type", "missing_direction", "missing_type", "value", "weight", "count"),
)
_CODES = re.compile(r"[0-9]{1,7}(\|\|[0-9]{1,7})*")
_INFINITE = 1e300  # written in the place of larger thresholds
_UNPROVEN = (
    "the objective: a table (train=, target=) that gives the weights of leaves, of all rows and without weights, or "
    "--param objective=binary, or multiclass with classes=, as the model has it; or booster.save_model('model.txt')"
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


@uncollected()
def convert(path: str | PathLike[str], wanted: Wanted, reader: Reader) -> Converted:
    """Read a table, see `maxent.models.formats.release_reader.ReleaseReader`."""
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
            if _CODES.fullmatch(cells["threshold"][i]) is None:
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
    """The columns, with names of categories in one of the orders of a table, or codes where the order is below 0.

    None where there are too few names.
    """
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
    trees = [GrownLightgbm(packed(head.source, _nodes(table, t, maker)), None) for t in range(len(table.trees))]
    return converted(head, columns, trees, {}, "", wanted, reader)


def _nodes(table: _Table, t: int, maker: LightgbmNodes) -> Iterator[Node]:
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
            yield Node(_id(name), n=n or None, value=value, hessian=None if weight != weight else weight)
            continue
        left, right = cells["left_child"][i], cells["right_child"][i]
        below, feature = (_id(left), _id(right)), position.get(cells["split_feature"][i], -1)
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
        yield Node(_id(name), attribute, branches, n=n)
        stack += [right, left]
    if len(seen) < len(rows):
        raise invalid(table.source, f"tree {t}", "nodes", "nodes that the first one leads to", "others")


def _id(name: str) -> str:
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


READER = model_reader(
    "lightgbm-table",
    "the table that LightGBM makes of trees, as CSV",
    (),
    convert,
    lambda head: re.match(r'"?,?"?tree_index"?,"?node_depth"?,"?node_index"?,', head.text) is not None,
    parameters=(*PARAMETERS, "objective"),
)
