"""Columns of a model of ydf, as its data specification has them: names, dictionaries of categories, borders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from maxent.models.arrays import FloatArray
from maxent.models.files.protobuf import Message
from maxent.models.formats.training_columns import TrainingColumns
from maxent.models.release import Attribute
from maxent.models.tables.columns.missing_values import MISSING, OTHER

_NUMERICAL, _CATEGORICAL, _BOOLEAN, _DISCRETIZED = 1, 4, 7, 9
_MOST_VALUES = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A column: its attribute, None of a type that no test of one column has; ``values`` are categories by number.

    ``borders`` are those of numbers that were sorted into bins.
    """

    name: str
    attribute: Attribute | None
    values: tuple[str, ...] = ()
    borders: FloatArray | None = None


def columns_of(specification: Message, training: TrainingColumns | None) -> list[Column]:
    """The columns of the table that a model was trained with, the label among them."""
    return [_column(raw, training) for raw in specification.messages(1, "column")]


def _column(raw: Message, training: TrainingColumns | None) -> Column:
    name, kind = raw.text(2), raw.whole(1)
    if not name:
        raw.refuse("name", "a name")
    if kind == _NUMERICAL:
        return Column(name, Attribute(name, "numeric", missing=True))
    if kind == _DISCRETIZED:
        borders = raw.message(8).packed(1, "<f4")
        return Column(name, Attribute(name, "numeric", missing=True), (), borders)
    if kind == _BOOLEAN:
        flags = _booleans(name, training)
        return Column(name, Attribute(name, "categorical", (*flags, MISSING)), flags)
    if kind != _CATEGORICAL:
        return Column(name, None)
    values = _values(raw.message(6), name)
    if not values:
        return Column(name, None)
    return Column(name, Attribute(name, "categorical", (*values[1:], OTHER, MISSING)), values)


def _values(categorical: Message, name: str) -> tuple[str, ...]:
    """The categories by number, the first of which stands for all that are in no dictionary; none without names."""
    if categorical.whole(5):
        return ()
    n = categorical.whole(2)
    found: dict[int, str] = {}
    for item in categorical.messages(7, f"column {name[:40]}, item"):
        number = item.message(2).whole(1)
        value = OTHER if number == 0 else item.text(1)
        if not 0 <= number < n or number in found or not value:
            item.refuse("items", f"a name for each number below {n}")
        found[number] = value
    found.setdefault(0, OTHER)
    if n > _MOST_VALUES or len(found) != n or len({*found.values()}) < n or MISSING in found.values():
        categorical.refuse("items", f"{n} different names of categories", f"{len(found)}")
    return tuple(found[number] for number in range(n))


def _booleans(name: str, training: TrainingColumns | None) -> tuple[str, str]:
    """How a table writes false and true."""
    orders: Sequence[tuple[str, ...]] = () if training is None else training.orders(name)
    there = {value.casefold(): value for value in (orders[0] if orders else ())}
    if there and {*there} <= {"0", "1"}:
        return "0", "1"
    return there.get("false", "False"), there.get("true", "True")
