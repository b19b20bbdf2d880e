"""The columns of a training table, for the domains of a model's attributes; nothing else of it is taken."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from maxent.models.errors import InvalidInput
from maxent.models.formats.conversion import Wanted
from maxent.models.reading import Reader
from maxent.models.release import Attribute
from maxent.models.tables.columns.cell_values import numbers
from maxent.models.tables.columns.column_kinds import holds_numbers
from maxent.models.tables.columns.missing_values import MISSING
from maxent.models.tables.frame import Frame, missing_columns
from maxent.models.tables.table_files import read_frame

_MOST_DECIMALS = 15


@dataclass(frozen=True, slots=True, eq=False)
class TrainingColumns:
    """The columns of a training table.

    ``attributes`` has one for each column but the target, in their order: categorical ones with the values that occur,
    sorted; ``gaps`` are those of which some cells are empty. ``classes`` are those of the target, sorted, none where it
    is not named. ``frame`` is the table.
    """

    attributes: tuple[Attribute, ...]
    classes: tuple[str, ...]
    frame: Frame
    gaps: frozenset[str] = frozenset()

    def named(self, name: str) -> Attribute | None:
        """The attribute of a name."""
        return next((attribute for attribute in self.attributes if attribute.name == name), None)

    def orders(self, name: str) -> tuple[tuple[str, ...], ...]:
        """The values of a column in each order that a program may have sorted them in, none without the column."""
        return tuple(dict.fromkeys(self.sorted_ways(name)))

    def sorted_ways(self, name: str) -> tuple[tuple[str, ...], ...]:
        """The values of a column in the order of each of several ways to sort, the same for all columns."""
        if name not in self.frame.columns:
            return ()
        values = _values(self.frame, name)
        orders = [values, tuple(sorted(values)), tuple(sorted(values, key=lambda v: (v.casefold(), v.swapcase())))]
        # Collation of many languages passes over signs and blanks at first.
        orders.append(tuple(sorted(values, key=lambda v: (re.sub(r"[\W_]+", "", v.casefold()), v.swapcase()))))
        return tuple(orders)

    def holds_whole_numbers(self, name: str) -> bool:
        """Whether all numbers of a column are whole, so that a threshold halfway between two was not rounded."""
        return self.decimals(name) == 0

    def decimals(self, name: str) -> int | None:
        """Most decimals of a number of a column, None of one with other than numbers, or with more than 15."""
        column = self.frame.columns.get(name)
        if column is None or not holds_numbers(column):
            return None
        found = numbers(column)[np.unique(column.codes[column.codes >= 0])]
        return next((k for k in range(_MOST_DECIMALS + 1) if (np.round(found, k) == found).all()), None)


def read_training(
    wanted: Wanted, reader: Reader, declared: Mapping[str, Collection[str]] | None = None
) -> TrainingColumns | None:
    """Read the table that a caller names, None when there is none.

    ``declared`` are values by their columns that mean no missing value, such as a level ``NA``.
    """
    if wanted.train is None:
        return None
    header = read_frame(wanted.train, "train", [], reader).header
    frame = read_frame(wanted.train, "train", header, reader, declared)
    problems = [*frame.problems, *missing_columns(frame, [] if wanted.target is None else [wanted.target])]
    if problems:
        raise InvalidInput(frame.source, problems)
    names = [name for name in dict.fromkeys(header) if name != wanted.target]
    classes = () if wanted.target is None else _values(frame, wanted.target)
    gaps = frozenset(name for name in names if (frame.columns[name].codes < 0).any())
    return TrainingColumns(tuple(_attribute(frame, name) for name in names), classes, frame, gaps)


def _attribute(frame: Frame, name: str) -> Attribute:
    column = frame.columns[name]
    if holds_numbers(column):
        return Attribute(name, "numeric")
    return Attribute(name, "categorical", _values(frame, name) or (MISSING,))


def _values(frame: Frame, name: str) -> tuple[str, ...]:
    """The values that occur in a column, sorted; numbers by size."""
    column = frame.columns[name]
    used = np.unique(column.codes[column.codes >= 0]).tolist()
    texts = column.texts()
    found = {texts[code] for code in used}
    if holds_numbers(column):
        return tuple(sorted(found, key=float))
    return tuple(sorted(found))
