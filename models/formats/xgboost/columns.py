"""Columns of a model of XGBoost: their names, and the categories of those that have some, by name or by code."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from maxent.models.arrays import IntArray
from maxent.models.errors import invalid
from maxent.models.formats.conversion import Wanted
from maxent.models.formats.json_values import Values
from maxent.models.formats.training_columns import TrainingColumns
from maxent.models.release import Attribute
from maxent.models.tables.columns.missing_values import MISSING, OTHER

_CODES = {"c", "categorical"}
_MOST_CODES = 2**20


def columns_of(
    learner: Values, model: Values, n: int, wanted: Wanted, training: TrainingColumns | None
) -> tuple[Attribute, ...]:
    """The columns of the input: names, and the categories of those that have some.

    Categories of a file without their names are codes, beside which there are others: whatever has none goes left.
    """
    names = wanted.features or learner.texts("feature_names") or tuple(f"f{i}" for i in range(n))
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
