"""XGBoost trees from any of its files: columns, categories, tests and scores.

A column whose categories are codes, while the table has names, is read with the names in the order in which frames sort
them, where the sums of hessians prove it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import isfinite, log

import numpy as np

from maxent.models.arrays import FloatArray, IntArray
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.formats.assemble import assemble, cut
from maxent.models.formats.boosting.hessians import agrees
from maxent.models.formats.json_values import Values
from maxent.models.formats.proof import TrainingColumns
from maxent.models.formats.release_reader import ABOVE, UNPROVEN, Converted, Wanted
from maxent.models.release import Attribute, Boosting, Branch, Link, Node, Release, Tree
from maxent.models.tables.cells import MISSING, OTHER
from maxent.models.trees.places import single_less_than

# Columns of a model of XGBoost: their names, and the categories of those that have some, by name or by code.

_CODES = {"c", "categorical"}
_MOST_CODES = 2**20


def columns_of(
    learner: Values, model: Values, n: int, wanted: Wanted, training: TrainingColumns | None
) -> tuple[Attribute, ...]:
    """The columns of the input: names, and the categories of those that have some."""
    names = wanted.named_features(learner.texts("feature_names")) or tuple(f"f{i}" for i in range(n))
    if len(names) != n or len(set(names)) < n:
        raise invalid(learner.source, learner.where, "feature_names", f"{n} different names", f"{len(set(names))}")
    types = learner.texts("feature_types") or ("float",) * n
    if len(types) != n:
        learner.refuse("feature_types", f"{n} types")
    encoded = list(model.child("cats").children("enc")) if "cats" in model.raw else []
    largest = _largest_codes(model, n)
    columns = []
    for i, (name, kind) in enumerate(zip(names, types, strict=True)):
        if kind not in _CODES and largest[i] < 0:
            columns.append(Attribute(name, "numeric", missing=True))
            continue
        found = _categories(encoded[i], name, training) if i < len(encoded) else ()
        values = found or (*map(str, range(largest[i] + 1)), OTHER)
        if largest[i] >= len(values) or len(set(values)) < len(values) or MISSING in values:
            raise invalid(
                model.source, f"column {name}", "cats", "a different name for each category", f"{len(values)}"
            )
        columns.append(Attribute(name, "categorical", (*values, MISSING)))
    return tuple(columns)


def of_codes(column: Attribute) -> bool:
    """Whether categories of a column have no names in the file."""
    return column.values is not None and OTHER in column.values


def codes_by_node(tree: Values) -> dict[int, IntArray]:
    """The codes of categories that go right, by node."""
    if not tree.has("categories_nodes"):
        return {}
    nodes = tree.wholes("categories_nodes")
    starts, sizes = tree.wholes("categories_segments", len(nodes)), tree.wholes("categories_sizes", len(nodes))
    codes = tree.wholes("categories")
    if (starts < 0).any() or (sizes < 0).any() or (starts + sizes > len(codes)).any() or (codes < 0).any():
        tree.refuse("categories_segments", "parts of categories")
    if len(codes) and codes.max() >= _MOST_CODES:
        tree.refuse("categories", f"codes below {_MOST_CODES}")
    return {
        node: codes[start : start + size]
        for node, start, size in zip(nodes.tolist(), starts.tolist(), sizes.tolist(), strict=True)
    }


def _largest_codes(model: Values, n: int) -> list[int]:
    """The largest code of a category that some split on each column names, -1 for none."""
    found = [-1] * n
    for raw in model.children("trees"):
        if raw.has("categories_nodes"):
            indices = raw.wholes("split_indices")
            for node, codes in codes_by_node(raw).items():
                if 0 <= node < len(indices) and 0 <= indices[node] < n and len(codes):
                    found[indices[node]] = max(found[indices[node]], int(codes.max()))
    return found


def _categories(encoded: Values, column: str, training: TrainingColumns | None) -> tuple[str, ...]:
    """The names of categories: UTF-8 bytes with offsets, or numbers."""
    if not encoded.has("values"):
        return ()
    values = encoded.wholes("values")
    if "offsets" not in encoded.raw:
        return tuple(map(str, values.tolist()))
    ends = encoded.wholes("offsets")
    if len(ends) < 2 or ends[0] != 0 or (np.diff(ends) <= 0).any() or ends[-1] != len(values):
        encoded.refuse("offsets", "where each name ends")
    if values.min() < -128 or values.max() > 255:
        encoded.refuse("values", "bytes of UTF-8")
    content = bytes((values % 256).tolist())
    if content.isascii():
        return _cut(content, ends.tolist())
    return _beyond_ascii(encoded, content, ends.tolist(), column, training)


def _beyond_ascii(
    encoded: Values, content: bytes, ends: Sequence[int], column: str, training: TrainingColumns | None
) -> tuple[str, ...]:
    """Names with letters beyond ASCII: offsets count their bytes, or, of a frame of pandas, their characters.

    In the second case the end of the last name is missing. Only a table tells which it is, by the names that it has.
    """
    known = None if training is None else training.named(column)
    if training is not None and known is not None and known.values is not None:
        try:
            whole = _cut(content, ends)
        except UnicodeDecodeError:
            whole = ()
        if {*known.values} <= {*whole}:
            return whole
        for names in training.orders(column):
            lengths = [0, *np.cumsum([len(name) for name in names]).tolist()]
            if lengths == list(ends) and "".join(names).encode()[: len(content)] == content:
                return names
    expected = (
        "names in ASCII, or a table (train=) that has them all: XGBoost counts characters of names in place of bytes"
    )
    raise invalid(encoded.source, f"column {column}", "cats", expected, "bytes of UTF-8 that may be cut wrongly")


def _cut(content: bytes, ends: Sequence[int]) -> tuple[str, ...]:
    return tuple(content[a:b].decode("utf-8") for a, b in pairwise(ends))


# What the scores of an objective become
LINKS: Mapping[str, Link] = {
    "binary:logistic": "logit",
    "binary:logitraw": "none",
    "binary:hinge": "none",
    "multi:softmax": "softmax",
    "multi:softprob": "softmax",
}

# The names of what the caller may give: the learning rate, and the L2 and L1 penalties
PARAMETERS = ("rate", "lambda", "alpha")

_LOST = (
    "counts, sizes and labels of leaves: XGBoost stores scores, and sums of hessians, which are no numbers of records",
    "which splits competed",
)


@dataclass(frozen=True, slots=True, eq=False)
class GrownXgboost:
    """The nodes of a tree, and the sum of hessians that each states; none where a file has no such sums."""

    nodes: Sequence[Node]
    covers: FloatArray | None


@dataclass(frozen=True, slots=True, eq=False)
class XgboostModel:
    """A model but for its trees, which ``grown`` makes of columns.

    ``dropped`` is whether trees were trained without some before (DART), ``doubt`` why values are not those of the
    formula that gives counts; records of the second class weigh ``second``.
    """

    source: str
    link: Link
    classes: tuple[str, ...]
    columns: tuple[Attribute, ...]
    groups: Sequence[int]
    iterations: Sequence[int]
    weights: Sequence[float]
    dropped: bool
    base: float | Mapping[str, float]
    grown: Callable[[Sequence[Attribute]], Sequence[GrownXgboost]]
    tool: str
    lost: tuple[str, ...] = ()
    rate: float | None = None
    l2: float | None = None
    doubt: str = ""
    second: float = 1.0
    aside: tuple[str, ...] = ()


def link_of(source: str, where: str, objective: str) -> Link:
    """What the scores of an objective become; no other than those of classifiers are read."""
    link = LINKS.get(objective)
    if link is None:
        expected = f"a classifier: one of {', '.join(LINKS)}"
        raise invalid(source, where, "objective", expected, repr(objective[:40]))
    return link


def class_names(wanted: Wanted, n: int) -> tuple[str, ...]:
    """The names of the classes, which XGBoost numbers."""
    return wanted.named_classes(map(str, range(n)))


def base_of(text: str, link: Link, classes: Sequence[str]) -> float | dict[str, float] | None:
    """The scores before the first tree: 5E-1, or since 3.0 a list of one or of one for each class; None of others."""
    try:
        found = [float(part) for part in text.strip("[]").split(",")]
    except ValueError:
        found = []
    if not found or not all(map(isfinite, found)) or len(found) not in (1, len(classes)):
        return None
    if link == "logit":
        if len(found) > 1 or not 0 < found[0] < 1:
            return None
        return log(found[0] / (1 - found[0]))
    return found[0] if len(found) == 1 else dict(zip(classes, found, strict=True))


def numeric(condition: float, below: tuple[str, str], missing_left: bool) -> tuple[Branch, ...] | None:
    """Below the condition, compared in single precision, to the left; None where some side takes no number."""
    most = single_less_than(condition)
    return cut(below, most, missing_left) if isfinite(most) else None


def categorical(
    values: Sequence[str], codes: Sequence[int], below: tuple[str, str], missing_left: bool
) -> tuple[Branch, ...]:
    """The categories that a split names to the right, others to the left."""
    chosen = {values[code] for code in codes if code < len(values) - 1}
    right = [value for value in values[:-1] if value in chosen]
    left = [value for value in values[:-1] if value not in chosen]
    (left if missing_left else right).append(MISSING)
    sides = zip(below, (left, right), strict=True)
    return tuple(Branch(child, values=tuple(side)) for child, side in sides)


def converted(model: XgboostModel, wanted: Wanted, training: TrainingColumns | None) -> Converted:
    """The release of a model."""
    problems: list[Problem] = []
    rate, l2, l1 = (wanted.number(name, problems) for name in PARAMETERS)
    if problems:
        raise InvalidInput("options", problems)
    rate, l2 = model.rate if rate is None else rate, model.l2 if l2 is None else l2
    if model.doubt:
        rate = l2 = l1 = None
    # The second derivatives of a softmax are doubled.
    boosting = Boosting(
        model.link,
        rate,
        l2,
        model.base,
        l1 or 0.0,
        2.0 if model.link == "softmax" else 1.0,
        weights={model.classes[1]: model.second} if model.second != 1 and not model.doubt else {},
    )
    coded = [column for column in model.columns if of_codes(column)]
    named = [column for column in coded if training is not None and _may_have_names(training, column)]
    if training is not None and named:
        release = _with_names(model, boosting, named, wanted, training)
    else:
        release = _release(model, boosting, model.columns, model.grown(model.columns), wanted, training)
    lost = [*_LOST, *model.lost]
    if model.doubt:
        lost.append(f"what scores say of counts: {model.doubt}")
    else:
        needed = {"learning rate, which --param rate=": rate, "L2 penalty, which --param lambda=": l2}
        lost += [f"the {name} gives" for name, value in needed.items() if value is None]
    if coded and not named:
        shown = ", ".join(column.name for column in coded[:3]) + (", ..." if len(coded) > 3 else "")
        lost.append(f"the names of categories of {shown}: they are codes, as a table for predictions has to have them")
    if wanted.classes is None and model.classes == class_names(wanted, len(model.classes)):
        lost.append("the names of the classes, which --classes gives")
    aside = [*model.aside, *[ABOVE] * bool(l1)]
    if not _of_everybody(model, release, training):
        aside.append(UNPROVEN)
    return Converted(release, model.tool, tuple(lost), aside="; ".join(aside))


def _of_everybody(model: XgboostModel, release: Release, training: TrainingColumns | None) -> bool:
    """Whether sums of hessians prove that each tree was grown from all rows of a table, each once.

    No file states a share of rows that was drawn (``subsample``); seeds have a default, and the draws follow.
    """
    if training is None or model.dropped or (model.second != 1 and not training.classes):
        return False
    covers = [tree.covers for tree in model.grown(model.columns) if tree.covers is not None]
    return len(covers) == len(release.trees) and agrees(
        release, covers, model.iterations, training, second=model.second
    )


def _release(
    model: XgboostModel,
    boosting: Boosting,
    columns: Sequence[Attribute],
    grown: Sequence[GrownXgboost],
    wanted: Wanted,
    training: TrainingColumns | None,
) -> Release:
    several = model.link == "softmax"
    of = [model.classes[group] if several else model.classes[1] for group in model.groups]
    trees = [
        Tree(tree.nodes, weight=weight, of_class=name)
        for tree, weight, name in zip(grown, model.weights, of, strict=True)
    ]
    known = {column.name: column for column in columns}
    return assemble(
        model.source, trees, model.classes, wanted, training, known=known, predicts="score", boosting=boosting
    )


def _may_have_names(training: TrainingColumns, column: Attribute) -> bool:
    """Whether a table has values of a column that are not the first codes."""
    orders = training.orders(column.name)
    return bool(orders) and orders[0] != tuple(map(str, range(len(orders[0]))))


def _with_names(
    model: XgboostModel, boosting: Boosting, named: Sequence[Attribute], wanted: Wanted, training: TrainingColumns
) -> Release:
    """The release with codes as they are, or names in their place, in the first order that sums of hessians prove."""
    orders = {column.name: training.orders(column.name) for column in named}
    for i in range(-1, -1 if model.dropped else max(map(len, orders.values()))):
        tried = [_renamed(column, orders.get(column.name), i) for column in model.columns]
        columns = [column for column in tried if column is not None]
        grown = model.grown(columns) if len(columns) == len(tried) else []
        covers = [tree.covers for tree in grown if tree.covers is not None]
        if grown and len(covers) == len(grown):
            release = _release(model, boosting, columns, grown, wanted, training)
            if agrees(release, covers, model.iterations, training):
                return release
    if all({*orders[column.name][0]} <= {*(column.values or ())} for column in named):
        return _release(model, boosting, model.columns, model.grown(model.columns), wanted, training)
    expected = (
        "codes of categories, as the model has no names of them, or names whose order the sums of hessians prove: "
        "not of a sample of the rows, under weights or DART (XGBoost 3.1 and later save the names)"
    )
    raise invalid(model.source, f"column {named[0].name}", "training table", expected, "other values")


def _renamed(column: Attribute, orders: tuple[tuple[str, ...], ...] | None, i: int) -> Attribute | None:
    """A column with names in the place of codes, None where there are fewer names than codes; of no order as it is."""
    if orders is None or i < 0:
        return column
    names = orders[min(i, len(orders) - 1)]
    if len(names) < len(column.values or ()) - 2 or {MISSING, OTHER} & {*names}:
        return None
    return replace(column, values=(*names, OTHER, MISSING))
