"""What a model computes of one column: a value for each of its categories, or for each interval of its numbers.

On an interval a value is fixed, or rises or falls all the way. A test of it then holds up to one number, which is
found in double precision as the program that wrote the model computes: scalers, bins and maps are undone exactly.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import TypeAlias

import numpy as np


class Special(Enum):
    """Values that are none of the model's."""

    STRANGE = "a category that the model does not name"
    INVALID = "a value for which the model gives no prediction"


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """A function that rises or falls: its value at a number, and the bounds of its slope."""

    at: Callable[[float], float]
    low: float
    high: float

    @property
    def rises(self) -> bool:
        return self.low >= 0


Value: TypeAlias = "float | str | bool | Special | Line | None"  # none is a missing value


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A column of the table: its name, and its categories in order, None of numbers.

    The last two categories are those that stand for other values and for cells without one.
    """

    name: str
    cells: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, eq=False)
class Expr:
    """What is computed of a column.

    ``values`` has one for each category; of numbers one for each interval, of which ``uppers`` are the upper bounds,
    the last one infinite, and at the end that of a missing cell. Without a column it is one fixed value.
    """

    column: Column | None
    values: tuple[Value, ...]
    uppers: tuple[float, ...] = ()

    def at(self, key: float | int | None) -> Value:
        """The value of a category by its index, or on the interval that ends at, or holds, a number; None: missing."""
        if self.column is None:
            return self.values[0]
        if self.column.cells is not None:
            return self.values[int(key or 0)]
        return self.values[-1] if key is None else self.values[bisect_left(self.uppers, key)]


def constant(value: Value) -> Expr:
    """One fixed value."""
    return Expr(None, (value,))


Piece: TypeAlias = "tuple[float, Value]"  # the upper bound of an interval, and the value on it

# Arguments on an interval, low and high, to what becomes of them there: pieces of it, in order
Rule: TypeAlias = "Callable[[Sequence[Value], float, float], Iterable[Piece]]"


class Unknown(Exception):
    """What is no function of one column, or neither rises nor falls; its text says what."""


def combine(arguments: Sequence[Expr], rule: Rule) -> Expr:
    """What a rule makes of arguments, all of one column.

    Raises
    ------
    Unknown
        When they are of several columns.
    """
    columns = {id(a.column): a.column for a in arguments if a.column is not None}
    if len(columns) > 1:
        names = ", ".join(sorted(column.name for column in columns.values() if column is not None))
        raise Unknown(f"a function of one column, not of {names}")
    column = next(iter(columns.values()), None)
    if column is None or column.cells is not None:
        n = 1 if column is None else len(column.cells or ())
        return Expr(column, tuple(_single(rule, [a.at(i) for a in arguments]) for i in range(n)))
    uppers = sorted({upper for a in arguments for upper in a.uppers})
    pieces: list[Piece] = []
    low = -inf
    for high in uppers:
        for upper, value in rule([a.at(high) for a in arguments], low, high):
            if pieces and not isinstance(value, Line) and _same(pieces[-1][1], value):
                pieces[-1] = (upper, value)
            elif upper > (pieces[-1][0] if pieces else -inf):
                pieces.append((upper, value))
        low = high
    missing = _single(rule, [a.at(None) for a in arguments])
    return Expr(column, (*(value for _, value in pieces), missing), tuple(upper for upper, _ in pieces))


def _single(rule: Rule, values: Sequence[Value]) -> Value:
    """What a rule makes of fixed values."""
    return next(value for _, value in rule(values, -inf, inf))


def _same(one: Value, other: Value) -> bool:
    return type(one) is type(other) and not isinstance(one, Line) and one == other


def last_where(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The largest double above ``low``, up to ``high``, up to which a condition holds; ``low`` where it never does."""
    if holds(min(high, _LARGEST)):
        return high
    below, above = _order(low), _order(min(high, _LARGEST))
    while above - below > 1:
        middle = (below + above) // 2
        if holds(_number(middle)):
            below = middle
        else:
            above = middle
    return low if below == _order(low) else _number(below)


_LARGEST = float(np.finfo(np.float64).max)
_SIGN = 1 << 63


def _order(x: float) -> int:
    """The place of a double among all of them."""
    bits: int = struct.unpack("<Q", struct.pack("<d", x + 0.0))[0]
    return _SIGN - bits if bits >= _SIGN else bits


def _number(order: int) -> float:
    """The double at a place."""
    bits = order if order >= 0 else _SIGN - order
    found: float = struct.unpack("<d", struct.pack("<Q", bits))[0]
    return found


def cut(line: Line, bound: float, low: float, high: float, *, at_most: bool) -> tuple[float, bool]:
    """Where a line passes a bound on an interval: up to there, inclusive, it is on one side.

    That side is (True) at most the bound, or below it unless ``at_most``; or (False) the other one, where it falls.
    """
    if line.rises:
        below = (lambda x: line.at(x) <= bound) if at_most else (lambda x: line.at(x) < bound)
        return last_where(below, low, high), True
    above = (lambda x: not line.at(x) <= bound) if at_most else (lambda x: not line.at(x) < bound)
    return last_where(above, low, high), False


def sides(value: Value, bound: float, low: float, high: float, *, at_most: bool) -> list[tuple[float, bool]]:
    """The parts of an interval where a line is at most, or below, a bound (True), and where not, in order."""
    assert isinstance(value, Line)
    to, first = cut(value, bound, low, high, at_most=at_most)
    found = [(to, first)] if to > low else []
    return [*found, (high, not first)] if to < high else found


def single(x: float) -> float:
    """A number rounded to single precision."""
    if abs(x) >= _BEYOND:
        return inf if x > 0 else -inf
    return float(np.float32(x))


_BEYOND = float(np.finfo(np.float32).max) + 2.0**103


def identity(column: Column) -> Expr:
    """The numbers of a column as they are, a missing one missing."""
    return Expr(column, (Line(lambda x: x, 1.0, 1.0), None), (inf,))
