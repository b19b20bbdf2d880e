"""Levels of factors, which the tables of R's forests have as numbers only.

A file ``levels.csv`` beside them says what the numbers mean: columns ``ind``, the factor, and ``values``, its levels
in their order, as R's ``stack`` makes them of a list. Otherwise ``--param levels=sorted`` states that they are in the
order of the alphabet, as those that R made of text.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from maxent.models.errors import ARGUMENT, invalid
from maxent.models.files.input_files import shown_path
from maxent.models.formats.conversion import Wanted
from maxent.models.formats.r_forests.tables import read_csv
from maxent.models.formats.training_columns import TrainingColumns
from maxent.models.release import Attribute, Branch
from maxent.models.tables.frame import shorten

LEVELS = "levels.csv"
WAY_OUT = (
    'the names of levels in their order: write.csv(stack(lapply(Filter(is.factor, train), levels)), "levels.csv", '
    "row.names = FALSE) beside the tables; or, where R made factors of text, --param levels=sorted with --train"
)


@dataclass(frozen=True, slots=True)
class Levels:
    """What is known of the levels of factors: those of a file, and whether others are sorted.

    ``found`` keeps those that were asked for.
    """

    source: str
    stated: Mapping[str, tuple[str, ...]]
    training: TrainingColumns | None
    are_sorted: bool
    found: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def is_factor(self, name: str) -> bool | None:
        """Whether a column is a factor, or holds R's TRUE and FALSE; None where that is not known.

        A file that states levels has those of all factors. A column of numbers may be a factor of numbers.
        """
        attribute = None if self.training is None else self.training.named(name)
        if name in self.stated or (attribute is not None and attribute.values is not None):
            return True
        return False if self.stated else None

    def is_logical(self, name: str) -> bool:
        """Whether a column holds R's TRUE and FALSE, and is no factor of them."""
        attribute = None if self.training is None else self.training.named(name)
        values = () if attribute is None or name in self.stated else attribute.values or ()
        return bool(values) and {value.upper() for value in values} <= {"TRUE", "FALSE"}

    def size(self, name: str) -> int | None:
        """How many values a column has, None where that is not known."""
        if name in self.stated:
            return len(self.stated[name])
        orders = () if self.training is None else self.training.orders(name)
        return len(orders[0]) if orders else None

    def of(self, place: str, name: str) -> tuple[str, ...]:
        """The levels of a factor in their order."""
        if name in self.stated:
            return self.stated[name]
        if name in self.found:
            return self.found[name]
        orders = self.training.orders(name) if self.training is not None and self.are_sorted else ()
        if len(orders) != 1:
            found = f"several orders of {shorten(name)}" if orders else f"numbers of levels of {shorten(name)}"
            raise invalid(self.source, place, "levels", WAY_OUT, found)
        return self.found.setdefault(name, orders[0])

    def sides(self, place: str, name: str, left: frozenset[int], below: Sequence[str]) -> list[Branch]:
        """The branches of a test of levels by their numbers from 1; the others go right."""
        levels = self.of(place, name)
        if left and not 1 <= min(left) <= max(left) <= len(levels):
            expected = f"numbers of the {len(levels)} levels of {shorten(name)}"
            raise invalid(self.source, place, "levels", expected, shorten(sorted(left)))
        sides = [tuple(v for i, v in enumerate(levels, 1) if (i in left) == first) for first in (True, False)]
        return [Branch(child, values=values) for child, values in zip(below, sides, strict=True)]

    def codes(self, place: str, name: str, threshold: float, below: Sequence[str]) -> list[Branch]:
        """The branches of a test of the number of a level; R counts FALSE and TRUE as 0 and 1."""
        attribute = None if self.training is None else self.training.named(name)
        if attribute is not None and self.is_logical(name) and 0 < threshold < 1:
            values = [tuple(v for v in attribute.values or () if v[:1].upper() == first) for first in "FT"]
            return [Branch(child, values=value) for child, value in zip(below, values, strict=True)]
        numbers = range(1, len(self.of(place, name)) + 1)
        return self.sides(place, name, frozenset(i for i in numbers if i <= threshold), below)

    @property
    def known(self) -> dict[str, Attribute]:
        """The attributes that the file states."""
        return {name: Attribute(name, "categorical", values) for name, values in self.stated.items()}


def read_levels(source: str, folder: Path, wanted: Wanted, training: TrainingColumns | None) -> Levels:
    """The levels of a file beside the tables, if there is one, and what the caller says of others."""
    said = wanted.parameters.get("levels")
    if said not in (None, "sorted"):
        raise invalid("options", ARGUMENT, "parameters", "levels=sorted", f"levels={shorten(said)}")
    stated: dict[str, dict[str, None]] = {}
    file = folder / LEVELS
    if os.path.exists(file):
        rows = read_csv(file)
        header = rows[0][1]
        if not {"values", "ind"} <= {*header}:
            expected = "columns values and ind, as of stack(lapply(Filter(is.factor, train), levels))"
            raise invalid(shown_path(file), "file", "header", expected, shorten(header))
        for _, row in rows[1:]:
            cells = dict(zip(header, row, strict=True))
            stated.setdefault(cells["ind"], {})[cells["values"]] = None
    return Levels(source, {name: tuple(values) for name, values in stated.items()}, training, said == "sorted")
