"""Classes of a numeric target, and product classes of several sensitive columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product
from math import prod
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from maxent.models.arguments import shorten, shorten_list
from maxent.models.arrays import FloatArray, IntArray
from maxent.models.errors import invalid
from maxent.models.release import Numbers, Target
from maxent.models.tables.cells import codes_in, numbers
from maxent.models.tables.frame import Column, Frame

# Product classes: one class for every combination of the classes of several sensitive columns.
#
# The name of a combination joins the names of its classes with `BETWEEN`, and so does the name of the target those of
# its columns. A backslash stands before each ``&`` and each backslash of a name, so that no two combinations have one
# name.

BETWEEN = " & "  # stands between the names of which the name of a combination is made
MOST_CLASSES = 64  # product classes that a target, or what is said of several targets together, has at most
_Number = TypeVar("_Number", bound=np.generic)


def joined_name(names: Sequence[str]) -> str:
    r"""The name of a combination.

    >>> joined_name(["R&D", "ill"])
    'R\\&D & ill'
    """
    return BETWEEN.join(name.replace("\\", "\\\\").replace("&", "\\&") for name in names)


def product_classes(parts: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The names of all combinations; the classes of the last part change first."""
    return tuple(map(joined_name, product(*parts)))


def product_target(source: str, parts: Sequence[Target]) -> Target:
    """The target whose classes are the combinations of those of several targets."""
    size = prod(len(part.classes) for part in parts)
    if size > MOST_CLASSES:
        expected = f"sensitive columns with at most {MOST_CLASSES} combinations of classes; take one at a time"
        found = " x ".join(str(len(part.classes)) for part in parts)
        raise invalid(source, "argument", "target", expected, f"{found} = {size:,}")
    names = joined_name([part.name for part in parts])
    return Target(names, product_classes([part.classes for part in parts]), of=tuple(parts))


def part_codes(target: Target, part: int) -> npt.NDArray[np.int64]:
    """The class of one part that each product class has, shape (n_classes,)."""
    sizes = [len(each.classes) for each in target.of]
    return np.unravel_index(np.arange(len(target.classes)), sizes)[part].astype(np.int64)


def marginal(values: npt.NDArray[_Number], target: Target, part: int) -> npt.NDArray[_Number]:
    """Sums over the product classes of the last axis that have the same class of one part."""
    sizes = [len(each.classes) for each in target.of]
    apart = values.reshape(*values.shape[:-1], *sizes)
    first = values.ndim - 1
    others = tuple(first + i for i in range(len(sizes)) if i != part)
    return np.asarray(apart.sum(axis=others, dtype=values.dtype))


def with_product(frame: Frame, target: Target) -> Frame:
    """A frame with a column of product classes beside the columns of its parts, where these are all there."""
    if not target.of or any(part.name not in frame.columns for part in target.of):
        return frame
    columns = [frame.columns[part.name] for part in target.of]
    codes = np.column_stack([column.codes for column in columns])
    seen, at = np.unique(codes, axis=0, return_inverse=True)
    texts = [_classes(column, part) for column, part in zip(columns, target.of, strict=True)]
    there = (seen >= 0).all(axis=1)
    names = [joined_name([text[code] for text, code in zip(texts, row, strict=True)]) for row in seen[there].tolist()]
    place = np.where(there, np.cumsum(there) - 1, -1)
    found = Column(place[at.ravel()].astype(np.int64), np.array(names, object))
    return replace(frame, columns={**frame.columns, target.name: found})


def _classes(column: Column, part: Target) -> list[str]:
    """The values of a column, each by the name of its class where it has one."""
    codes = codes_in(column, {name: code for code, name in enumerate(part.classes)})
    return [part.classes[code] if code >= 0 else text for code, text in zip(codes, column.texts(), strict=True)]


def named_targets(source: str, target: object) -> tuple[str, ...]:
    """The columns that a target names: a string, or a list of two or more."""
    if isinstance(target, str):
        return (target,)
    expected = "the name of a column, or a list of the names of several"
    if not isinstance(target, Sequence) or not target or not all(isinstance(name, str) for name in target):
        raise invalid(source, "argument", "target", expected, shorten(target))
    if repeated := [name for i, name in enumerate(target) if name in target[:i]]:
        raise invalid(source, "argument", "target", "each column once", shorten(repeated[0]))
    return tuple(target)


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
    """A numeric target in bins: ``edges[0] <= number <= edges[1]``, then ``edges[i] < number <= edges[i + 1]``."""
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
    """A frame of which the target's column has names of classes, also where it has numbers that they stand for."""
    if target.of:
        return with_product(frame, target)
    if target.numbers is None or target.name not in frame.columns:
        return frame
    column = frame.columns[target.name]
    codes = class_of_numbers(numbers(column), target.numbers).tolist()
    texts = [target.classes[code] if code >= 0 else text for code, text in zip(codes, column.texts(), strict=True)]
    return replace(frame, columns={**frame.columns, target.name: replace(column, values=np.array(texts, object))})
