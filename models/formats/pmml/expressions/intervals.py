"""Intervals of numbers, as PMML bounds them, and the parts of a column on which a number is inside."""

from __future__ import annotations

from math import inf
from typing import TypeAlias

from maxent.models.formats.pmml.expressions.pieces import Line, Value, sides
from maxent.models.formats.pmml.expressions.types import as_number
from maxent.models.formats.pmml.xml_document import Element

# The lower bound and whether it is inside, the upper bound and whether it is
Bounds: TypeAlias = "tuple[float, bool, float, bool]"


def bounds_of(interval: Element) -> Bounds:
    """Lower bound and whether it is inside, upper bound and whether it is."""
    closure = interval.choice("closure", ("openOpen", "openClosed", "closedOpen", "closedClosed"), "openOpen")
    low, high = interval.number("leftMargin", -inf), interval.number("rightMargin", inf)
    return low, closure.startswith("closed"), high, closure.endswith("Closed")


def parts_inside(value: Value, interval: Bounds, low: float, high: float) -> list[tuple[float, bool]]:
    """The parts of an interval of the column on which a number is in an interval of its own."""
    least, with_least, most, with_most = interval
    if not isinstance(value, Line):
        number = as_number(value)
        above = number >= least if with_least else number > least
        return [(high, above and (number <= most if with_most else number < most))]
    found, start = [], low
    for upper, below in sides(value, least, low, high, at_most=not with_least) if least > -inf else [(high, False)]:
        if below:
            found.append((upper, False))
        else:
            found += sides(value, most, start, upper, at_most=with_most) if most < inf else [(upper, True)]
        start = upper
    return found
