"""Classes of a numeric target: what numbers each stands for, and which class a number has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from maxent.models.arrays import FloatArray, IntArray
from maxent.models.errors import invalid
from maxent.models.release_content import Numbers, Target
from maxent.models.tables.columns.cell_values import numbers
from maxent.models.tables.columns.product_classes import with_product
from maxent.models.tables.frame import Frame, shorten, shorten_list

MOST = 1000  # classes of a numeric target


def numeric_target(source: str, name: str, bins: Sequence[float] | None, values: Sequence[float] | None) -> Target:
    """The target of a regression: its numbers in bins, or a class for each value that it can have."""
    if (bins is None) == (values is None):
        found = "neither" if bins is None else "both"
        raise invalid(source, "argument", "bins", "edges of bins, or the values that the target can have", found)
    if bins is not None:
        return in_bins(name, bins, source)
    return distinct(name, () if values is None else values, source)


def in_bins(name: str, edges: Sequence[float], source: str) -> Target:
    """A numeric target in bins: ``edges[0] <= number <= edges[1]``, then ``edges[i] < number <= edges[i + 1]``.

    ``name``: of the target. ``edges``: increasing; the outer ones may be infinite. ``source``: what problems call the
    call.
    """
    cuts = np.asarray(edges, np.float64) if np.ndim(edges) == 1 else np.empty(0)
    if not 3 <= len(cuts) <= MOST + 1 or not (np.diff(cuts) > 0).all():
        expected = f"increasing edges of 2 to {MOST} bins, such as 0, 20, 50"
        raise invalid(source, "argument", "bins", expected, shorten(edges))
    found = tuple(pairwise(cuts.tolist()))
    words = tuple(f"{_word(low)} to {_word(high)}" for low, high in found)
    return Target(name, words, found)


def distinct(name: str, values: Sequence[float], source: str) -> Target:
    """A numeric target with a class for each of its values."""
    each = np.unique(np.asarray(values, np.float64)) if np.ndim(values) == 1 else np.empty(0)
    if not 2 <= len(each) <= MOST or not np.isfinite(each).all():
        expected = f"2 to {MOST} finite numbers, which the target can be (more need bins)"
        raise invalid(source, "argument", "values", expected, shorten(values))
    return Target(name, tuple(map(_word, each.tolist())), tuple((x, x) for x in each.tolist()))


def _word(number: float) -> str:
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def class_of_numbers(cells: FloatArray, stands_for: Sequence[Numbers]) -> IntArray:
    """The class that each number has, shape (n,), -1 where none has it; of two that meet in it the lower one."""
    low, high = np.array(stands_for, np.float64).T
    order = np.lexsort((low, high))
    at = np.minimum(np.searchsorted(high[order], cells), len(order) - 1)
    found = order[at]
    return np.asarray(np.where((low[found] <= cells) & (cells <= high[found]), found, -1))


def numbers_in_words(target: Target) -> str | None:
    """What a number of a numeric target has to be, for messages; None of another target."""
    if target.numbers is None:
        return None
    named = shorten_list(target.classes)
    low, high = min(low for low, _ in target.numbers), max(high for _, high in target.numbers)
    if all(low == high for low, high in target.numbers):
        return f"a value of the target, which all have to be stated: one of {named}"
    return f"a number from {low:g} to {high:g}, as bins have to cover the target, or one of {named}"


def class_names(frame: Frame, target: Target) -> Frame:
    """A frame of which the target's column has names of classes, also where it has numbers that they stand for.

    Of several sensitive columns it is that of their combinations, where all of them are there.
    """
    if target.of:
        return with_product(frame, target)
    if target.numbers is None or target.name not in frame.columns:
        return frame
    column = frame.columns[target.name]
    codes = class_of_numbers(numbers(column), target.numbers).tolist()
    texts = [target.classes[code] if code >= 0 else text for code, text in zip(codes, column.texts(), strict=True)]
    return replace(frame, columns={**frame.columns, target.name: replace(column, values=np.array(texts, object))})
