"""Product classes: one class for every combination of the classes of several sensitive columns.

The name of a combination joins the names of its classes with `BETWEEN`, and so does the name of the target those of its
columns. A backslash stands before each ``&`` and each backslash of a name, so that no two combinations have one name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from maxent.models.errors import invalid
from maxent.models.release_content import Target
from maxent.models.tables.columns.cell_values import codes_in
from maxent.models.tables.frame import Column, Frame, shorten

BETWEEN = " & "  # stands between the names of which the name of a combination is made
MOST = 64  # product classes that a target, or what is said of several targets together, has at most
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
    if size > MOST:
        expected = f"sensitive columns with at most {MOST} combinations of classes; take one at a time"
        found = " x ".join(str(len(part.classes)) for part in parts)
        raise invalid(source, "argument", "target", expected, f"{found} = {size:,}")
    names = joined_name([part.name for part in parts])
    return Target(names, product_classes([part.classes for part in parts]), of=tuple(parts))


def part_codes(target: Target, part: int) -> npt.NDArray[np.int64]:
    """The class of one part that each product class has, shape (n_classes,)."""
    sizes = [len(each.classes) for each in target.of]
    return np.unravel_index(np.arange(len(target.classes)), sizes)[part].astype(np.int64)


def marginal(values: npt.NDArray[_Number], target: Target, part: int) -> npt.NDArray[_Number]:
    """Sums over the product classes that have the same class of one part.

    ``values`` of shape (..., n_classes): numbers of the product classes. ``target``: with several parts. ``part``:
    which of them.
    """
    sizes = [len(each.classes) for each in target.of]
    apart = values.reshape(*values.shape[:-1], *sizes)
    first = values.ndim - 1
    others = tuple(first + i for i in range(len(sizes)) if i != part)
    return np.asarray(apart.sum(axis=others, dtype=values.dtype))


def with_product(frame: Frame, target: Target) -> Frame:
    """A frame with a column of product classes beside the columns of its parts, where these are all there.

    A row that lacks a value of any part lacks it of the product.
    """
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
