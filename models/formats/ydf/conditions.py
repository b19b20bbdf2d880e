"""Tests of nodes of ydf, as branches: the first takes what does not pass, the second what does."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np

from maxent.models.files.protobuf import Message
from maxent.models.formats.assemble import rest
from maxent.models.formats.ydf.columns import Column
from maxent.models.release import Attribute, Branch
from maxent.models.tables.columns.missing_values import MISSING
from maxent.models.trees.thresholds import single_less_than

_NA, _HIGHER, _TRUE, _VECTOR, _BITMAP, _DISCRETIZED = 1, 2, 3, 4, 5, 6


def branches_of(test: Message, columns: Sequence[Column], below: tuple[str, str]) -> tuple[str, tuple[Branch, ...]]:
    """The attribute that a test is of, and its branches."""
    number, condition = test.whole(2), test.message(3)
    column = columns[number] if 0 <= number < len(columns) else None
    if column is None or column.attribute is None:
        test.refuse("attribute", "a column of numbers, of true and false, or of categories with names", f"{number}")
    attribute, missing = column.attribute, bool(test.whole(1))
    if condition.has(_NA):
        if attribute.values is None:
            return attribute.name, (Branch(below[0], missing=False), Branch(below[1], missing=True))
        return attribute.name, (rest(below[0]), Branch(below[1], values=(MISSING,)))
    if attribute.values is None:
        return attribute.name, _numeric(condition, column, below, missing)
    chosen = _chosen(condition, column)
    values = [column.values[code] for code in chosen] + ([MISSING] if missing else [])
    if not values or len(values) > len(attribute.values):
        test.refuse("condition", "some of the categories of the column")
    return attribute.name, (rest(below[0]), Branch(below[1], values=tuple(values)))


def _numeric(condition: Message, column: Column, below: tuple[str, str], missing: bool) -> tuple[Branch, ...]:
    """Numbers of single precision that are at least the threshold pass."""
    if condition.has(_HIGHER):
        threshold = condition.message(_HIGHER).number(1)
    elif condition.has(_DISCRETIZED) and column.borders is not None:
        bin_ = condition.message(_DISCRETIZED).whole(1)
        if not 1 <= bin_ <= len(column.borders):
            condition.refuse("threshold", f"a bin from 1 to {len(column.borders)}", f"{bin_}")
        threshold = float(column.borders[bin_ - 1])
    else:
        condition.refuse("condition", "one threshold of one column (train without oblique splits)")
    most = single_less_than(threshold)
    if not isfinite(most):
        condition.refuse("threshold", "a number that some value is below")
    left = Branch(below[0], le=most, missing=None if missing else True)
    return left, Branch(below[1], gt=most, missing=True if missing else None)


def _chosen(condition: Message, column: Column) -> list[int]:
    """The numbers of the categories that pass."""
    n = len(column.values)
    if condition.has(_TRUE) and _is_boolean(column):
        return [1]
    if condition.has(_VECTOR):
        found = sorted({*condition.message(_VECTOR).wholes(1)})
    elif condition.has(_BITMAP):
        bits = np.unpackbits(np.frombuffer(condition.message(_BITMAP).data(1), np.uint8), bitorder="little")
        found = np.flatnonzero(bits).tolist()
    else:
        condition.refuse("condition", "a set of categories")
    if not all(0 <= code < n for code in found):
        condition.refuse("elements", f"categories by numbers below {n}")
    return found


def _is_boolean(column: Column) -> bool:
    """Whether the values of a column are false and true."""
    attribute: Attribute | None = column.attribute
    return attribute is not None and attribute.values == (*column.values, MISSING)
