"""Comparisons: where they hold of a column, between fixed values, numbers or names."""

from __future__ import annotations

from collections.abc import Sequence

from maxent.models.formats.pmml.expressions.pieces import Line, Special, Unknown, Value, sides
from maxent.models.formats.pmml.expressions.types import as_number


def compare(name: str, values: Sequence[Value], low: float, high: float) -> list[tuple[float, bool]]:
    """Where a comparison holds, on the parts of an interval; both sides are there."""
    one, other = values
    if isinstance(other, Line):
        if isinstance(one, Line):
            raise Unknown("a comparison with a constant")
        return compare(_TURNED[name], (other, one), low, high)
    if isinstance(one, Line):
        bound = as_number(other)
        if name in ("equal", "notEqual"):
            found: list[tuple[float, bool]] = []
            start = low
            for upper, below in sides(one, bound, low, high, at_most=False):
                parts = [(upper, False)] if below else sides(one, bound, start, upper, at_most=True)
                found += [(to, (is_it and not below) == (name == "equal")) for to, is_it in parts]
                start = upper
            return found
        at_most = name in ("lessOrEqual", "greaterThan")
        parts = sides(one, bound, low, high, at_most=at_most)
        return [(upper, below == name.startswith("less")) for upper, below in parts]
    return [(high, _holds(name, one, other))]


def _holds(name: str, one: Value, other: Value) -> bool:
    """Whether a comparison of two fixed values holds."""
    if Special.STRANGE in (one, other):
        if name in ("equal", "notEqual"):
            return name == "notEqual"
        raise Unknown("comparisons of categories that are of the model")
    if isinstance(one, str) and isinstance(other, str):
        if name in ("equal", "notEqual"):
            return (one == other) == (name == "equal")
        raise Unknown("comparisons of numbers, as texts have no order here")
    a, b = as_number(one), as_number(other)
    return {
        "equal": a == b,
        "notEqual": a != b,
        "lessThan": a < b,
        "lessOrEqual": a <= b,
        "greaterThan": a > b,
        "greaterOrEqual": a >= b,
    }[name]


_TURNED = {
    "equal": "equal",
    "notEqual": "notEqual",
    "lessThan": "greaterThan",
    "lessOrEqual": "greaterOrEqual",
    "greaterThan": "lessThan",
    "greaterOrEqual": "lessOrEqual",
}
COMPARISONS = tuple(_TURNED)


def any_of(values: Sequence[Value], low: float, high: float, *, inside: bool) -> list[tuple[float, bool]]:
    """Whether the first value is one of the others."""
    parts: list[tuple[float, bool]] = [(high, False)]
    for other in values[1:]:
        news, start = [], low
        for upper, there in parts:
            news += [(upper, True)] if there else compare("equal", (values[0], other), start, upper)
            start = upper
        parts = news
    return [(upper, there == inside) for upper, there in parts]
