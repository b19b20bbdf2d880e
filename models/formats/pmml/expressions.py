"""Derived fields of PMML: types, functions, comparisons and intervals, as functions of one column."""

from __future__ import annotations

import math
import struct
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial, reduce
from itertools import pairwise
from math import inf
from typing import TypeAlias

import numpy as np

from maxent.models.formats.pmml.xml_document import Element

# What a model computes of one column: a value for each of its categories, or for each interval of its numbers.
#
# On an interval a value is fixed, or rises or falls all the way. A test of it then holds up to one number, which is
# found in double precision as the program that wrote the model computes: scalers, bins and maps are undone exactly.


class Special(Enum):
    """Values that are none of the model's."""

    STRANGE = "a category that the model does not name"
    INVALID = "a value for which the model gives no prediction"


@dataclass(frozen=True, slots=True, eq=False)
class PiecewiseLine:
    """A function that rises or falls: its value at a number, and the bounds of its slope."""

    at: Callable[[float], float]
    low: float
    high: float

    @property
    def rises(self) -> bool:
        return self.low >= 0


Value: TypeAlias = "float | str | bool | Special | PiecewiseLine | None"  # none is a missing value


@dataclass(frozen=True, slots=True, eq=False)
class PmmlColumn:
    """A column of the table: its name, and its categories in order, None of numbers."""

    name: str
    cells: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, eq=False)
class Expr:
    """What is computed of a column: a value per category, or per interval up to ``uppers``, and of missing cells."""

    column: PmmlColumn | None
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
PiecesRule: TypeAlias = "Callable[[Sequence[Value], float, float], Iterable[Piece]]"

# Where something holds on the parts of an interval, low and high
Parts: TypeAlias = "Callable[[float, float], Sequence[tuple[float, bool]]]"


class Unknown(Exception):
    """What is no function of one column, or neither rises nor falls; its text says what."""


def combine(arguments: Sequence[Expr], rule: PiecesRule) -> Expr:
    """What a rule makes of arguments, all of one column."""
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
            if pieces and not isinstance(value, PiecewiseLine) and _same(pieces[-1][1], value):
                pieces[-1] = (upper, value)
            elif upper > (pieces[-1][0] if pieces else -inf):
                pieces.append((upper, value))
        low = high
    missing = _single(rule, [a.at(None) for a in arguments])
    return Expr(column, (*(value for _, value in pieces), missing), tuple(upper for upper, _ in pieces))


def each_value(found: Expr, make: Callable[[Value], Value]) -> Expr:
    """What is made of every value."""
    return combine([found], lambda values, low, high: [(high, make(values[0]))])


def first_of(tests: Iterable[tuple[Parts, Value]], low: float, high: float, other: Value) -> list[Piece]:
    """On the parts of an interval the value of the first test that holds there, another one where none does."""
    found: list[tuple[float, Value, bool]] = [(high, other, False)]
    for parts, value in tests:
        news, start = [], low
        for upper, there, done in found:
            within = [(upper, True)] if done else parts(start, upper)
            news += [(to, there if done else value if holds else other, holds) for to, holds in within]
            start = upper
        found = news
    return [(upper, value) for upper, value, _ in found]


def _single(rule: PiecesRule, values: Sequence[Value]) -> Value:
    """What a rule makes of fixed values."""
    return next(value for _, value in rule(values, -inf, inf))


def _same(one: Value, other: Value) -> bool:
    return type(one) is type(other) and not isinstance(one, PiecewiseLine) and one == other


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


def cut(line: PiecewiseLine, bound: float, low: float, high: float, *, at_most: bool) -> tuple[float, bool]:
    """Where a line passes a bound on an interval: up to there, inclusive, it is on one side."""
    if line.rises:
        below = (lambda x: line.at(x) <= bound) if at_most else (lambda x: line.at(x) < bound)
        return last_where(below, low, high), True
    above = (lambda x: not line.at(x) <= bound) if at_most else (lambda x: not line.at(x) < bound)
    return last_where(above, low, high), False


def sides(value: Value, bound: float, low: float, high: float, *, at_most: bool) -> list[tuple[float, bool]]:
    """The parts of an interval where a line is at most, or below, a bound (True), and where not, in order."""
    assert isinstance(value, PiecewiseLine)
    to, first = cut(value, bound, low, high, at_most=at_most)
    found = [(to, first)] if to > low else []
    return [*found, (high, not first)] if to < high else found


def single(x: float) -> float:
    """A number rounded to single precision."""
    if abs(x) >= _BEYOND:
        return inf if x > 0 else -inf
    return float(np.float32(x))


_BEYOND = float(np.finfo(np.float32).max) + 2.0**103


def identity(column: PmmlColumn) -> Expr:
    """The numbers of a column as they are, a missing one missing."""
    return Expr(column, (PiecewiseLine(lambda x: x, 1.0, 1.0), None), (inf,))


# Types of data: numbers of double or single precision, whole numbers, text, truth values.


def typed(found: Expr, kind: str) -> Expr:
    """What is computed as a type of data: single precision, whole numbers, text."""
    return each_value(found, lambda value: _as_type(value, kind))


def _as_type(value: Value, kind: str) -> Value:
    if isinstance(value, PiecewiseLine):
        if kind == "float":
            return PiecewiseLine(
                lambda x: single(value.at(x)), 0.0 if value.rises else -inf, inf if value.rises else 0.0
            )
        if kind == "double":
            return value
        raise Unknown(f"numbers of type double or float, not {kind[:20]}")
    if value is None or isinstance(value, Special):
        return value
    if kind == "string":
        return value if isinstance(value, str) else in_text(value)
    if kind == "boolean":
        return truth(value)
    number = as_number(value)
    if kind == "float":
        return single(number)
    if kind == "integer" and (math.isinf(number) or number != math.floor(number)):
        raise Unknown("whole numbers, as the type integer says")
    return number


def in_text(value: float | str | bool) -> str:
    """A fixed value as text."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if abs(value) < 1e15 and value == math.floor(value) else repr(value)


def as_number(value: Value) -> float:
    """The number that a fixed value is."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        try:
            return _INFINITE[value] if value in _INFINITE else _finite(value)
        except ValueError:
            raise Unknown(f"a number, not {value[:40]!r}") from None
    if isinstance(value, float) and not math.isnan(value):
        return value
    raise Unknown("a number")


_INFINITE = {"INF": inf, "-INF": -inf}


def _finite(text: str) -> float:
    """The finite number that a text is."""
    found = float(text) if "_" not in text and len(text) < 400 else inf
    if not math.isfinite(found):
        raise ValueError
    return found


def truth(value: Value) -> bool:
    """The truth value that a fixed value is."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if isinstance(value, float) and value in (0.0, 1.0):
        return value == 1.0
    raise Unknown("true or false")


# Comparisons: where they hold of a column, between fixed values, numbers or names.


def compare(name: str, values: Sequence[Value], low: float, high: float) -> list[tuple[float, bool]]:
    """Where a comparison holds, on the parts of an interval; both sides are there."""
    one, other = values
    if isinstance(other, PiecewiseLine):
        if isinstance(one, PiecewiseLine):
            raise Unknown("a comparison with a constant")
        return compare(_TURNED[name], (other, one), low, high)
    if isinstance(one, PiecewiseLine):
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
    tests = [(partial(compare, "equal", (values[0], other)), inside) for other in values[1:]]
    return [(upper, value is True) for upper, value in first_of(tests, low, high, not inside)]


# The functions of PMML that trees are found behind, of what is computed of one column.

# Part of the steepest slope that is the least with which a sum of what rises and what falls is known to do either
_LEAST = 1e-6


def apply(name: str, arguments: Sequence[Expr]) -> Expr:
    """A built-in function of arguments."""
    known = _FUNCTIONS.get(name)
    if known is None:
        raise Unknown(f"one of the functions {', '.join(sorted(_FUNCTIONS))}, not {name[:40]!r}")
    (least, most), rule = known
    if not least <= len(arguments) <= most:
        raise Unknown(f"{name} of {least} arguments or more, not of {len(arguments)}")
    return combine(arguments, rule)


Rule = Callable[[Sequence[Value], float, float], Iterable[Piece]]


def _strict(rule: Rule) -> Rule:
    """A rule whose outcome is missing, or not valid, where an argument is."""

    def found(values: Sequence[Value], low: float, high: float) -> Iterable[Piece]:
        for special in (Special.INVALID, None):
            if any(value is special for value in values):
                return [(high, special)]
        return rule(values, low, high)

    return found


def _line(at: Callable[[float], float], low: float, high: float) -> PiecewiseLine:
    """A line, whose slopes have one sign."""
    if low > high:
        low, high = high, low
    if low < 0 < high:
        steepest = max(-low, high)
        raise Unknown(f"what rises or falls (its slope is from {low:g} to {high:g})") if steepest else Unknown("")
    return PiecewiseLine(at, low, high)


def _of(make: Callable[[Sequence[Value]], Value]) -> Rule:
    """A rule that makes one value of others, wherever they hold."""
    return lambda values, low, high: [(high, make(values))]


def _sum(one: Value, other: Value, sign: float = 1.0) -> Value:
    if isinstance(one, PiecewiseLine) and isinstance(other, PiecewiseLine):
        f, g = one, other
        bounds = (g.low, g.high) if sign > 0 else (-g.high, -g.low)
        low, high = f.low + bounds[0], f.high + bounds[1]
        if (f.low < 0) != (bounds[0] < 0) and min(abs(low), abs(high)) < _LEAST * max(abs(low), abs(high)):
            raise Unknown("a sum that rises or falls all the way")
        return _line(lambda x: f.at(x) + sign * g.at(x), low, high)
    if isinstance(one, PiecewiseLine):
        f, c = one, as_number(other)
        return PiecewiseLine(lambda x: f.at(x) + sign * c, f.low, f.high)
    if isinstance(other, PiecewiseLine):
        g, c = other, as_number(one)
        low, high = (g.low, g.high) if sign > 0 else (-g.high, -g.low)
        return PiecewiseLine(lambda x: c + sign * g.at(x), low, high)
    return as_number(one) + sign * as_number(other)


def _product(one: Value, other: Value) -> Value:
    if isinstance(one, PiecewiseLine) and isinstance(other, PiecewiseLine):
        raise Unknown("a product with a constant")
    if isinstance(one, PiecewiseLine):
        return _scaled(one, as_number(other), divide=False)
    if isinstance(other, PiecewiseLine):
        return _scaled(other, as_number(one), divide=False)
    return as_number(one) * as_number(other)


def _quotient(one: Value, other: Value) -> Value:
    if isinstance(other, PiecewiseLine):
        raise Unknown("a quotient by a constant")
    divisor = as_number(other)
    if divisor == 0:
        return Special.INVALID
    return _scaled(one, divisor, divide=True) if isinstance(one, PiecewiseLine) else as_number(one) / divisor


def _scaled(line: PiecewiseLine, factor: float, *, divide: bool) -> Value:
    if factor == 0:
        return 0.0
    size = 1 / factor if divide else factor
    bounds = sorted(0.0 if bound == 0 else bound * size for bound in (line.low, line.high))
    if divide:
        return PiecewiseLine(lambda x: line.at(x) / factor, *bounds)
    return PiecewiseLine(lambda x: line.at(x) * factor, *bounds)


def _rising(at: Callable[[float], float], least: float = -inf) -> Rule:
    """A function that rises, of numbers above the least: of others it is not valid."""

    def safe(x: float) -> float:
        try:
            return at(x)
        except OverflowError:
            return inf
        except ValueError:
            return -inf

    def rule(values: Sequence[Value], low: float, high: float) -> Iterator[Piece]:
        line = values[0]
        if not isinstance(line, PiecewiseLine):
            number = as_number(line)
            yield high, safe(number) if number > least else Special.INVALID
            return
        slopes = (0.0, inf) if line.rises else (-inf, 0.0)
        for upper, below in sides(line, least, low, high, at_most=True) if least > -inf else [(high, False)]:
            yield upper, Special.INVALID if below else PiecewiseLine(lambda x: safe(line.at(x)), *slopes)

    return rule


def _power(values: Sequence[Value], low: float, high: float) -> Iterator[Piece]:
    """A constant power: of numbers below 0 only a whole one."""
    base, exponent = values[0], as_number(values[1])
    whole = math.isfinite(exponent) and exponent == math.floor(exponent) and abs(exponent) < 100

    def at(x: float) -> float:
        try:
            return float(x**exponent)
        except (OverflowError, ZeroDivisionError):
            return inf

    if not isinstance(base, PiecewiseLine):
        number = as_number(base)
        yield high, at(number) if number >= 0 or whole else Special.INVALID
        return
    if exponent == 0:
        yield high, 1.0
        return
    for upper, below in sides(base, 0.0, low, high, at_most=False):
        if below and not whole:
            yield upper, Special.INVALID
        elif below and exponent < 0:
            raise Unknown("a power above 0 of numbers below 0")
        else:
            falls = exponent < 0 or (below and exponent % 2 == 0)
            slopes = (0.0, inf) if base.rises != falls else (-inf, 0.0)
            yield upper, PiecewiseLine(lambda x: at(base.at(x)), *slopes)


def _absolute(values: Sequence[Value], low: float, high: float) -> Iterator[Piece]:
    line = values[0]
    if not isinstance(line, PiecewiseLine):
        yield high, abs(as_number(line))
        return
    for upper, below in sides(line, 0.0, low, high, at_most=False):
        yield upper, PiecewiseLine(lambda x: -line.at(x), -line.high, -line.low) if below else line


def _extreme(*, largest: bool) -> Rule:
    def rule(values: Sequence[Value], low: float, high: float) -> Iterable[Piece]:
        lines = [value for value in values if isinstance(value, PiecewiseLine)]
        fixed = [as_number(value) for value in values if not isinstance(value, PiecewiseLine)]
        if not lines:
            return [(high, max(fixed) if largest else min(fixed))]
        if len(lines) > 1 or not fixed:
            raise Unknown("the largest or smallest of one column and constants")
        bound = max(fixed) if largest else min(fixed)
        parts = sides(lines[0], bound, low, high, at_most=True)
        return [(upper, bound if below == largest else lines[0]) for upper, below in parts]

    return rule


def _threshold(values: Sequence[Value], low: float, high: float) -> Iterable[Piece]:
    return [(upper, 1.0 if above else 0.0) for upper, above in compare("greaterThan", values, low, high)]


def _if(values: Sequence[Value]) -> Value:
    if values[0] is None or values[0] is Special.INVALID:
        return values[0]
    return values[1] if truth(values[0]) else values[2] if len(values) > 2 else None


_MANY = 10_000
_NESTED = 50  # arguments of functions whose outcomes are built on each other

# The least and the most number of arguments of each function, and what it does
_FUNCTIONS: dict[str, tuple[tuple[int, int], Rule]] = {
    **dict.fromkeys(("+", "sum"), ((2, _NESTED), _strict(_of(lambda v: reduce(_sum, v))))),
    "-": ((2, 2), _strict(_of(lambda v: _sum(v[0], v[1], -1.0)))),
    **dict.fromkeys(("*", "product"), ((2, _NESTED), _strict(_of(lambda v: reduce(_product, v))))),
    "/": ((2, 2), _strict(_of(lambda v: _quotient(v[0], v[1])))),
    "min": ((2, _MANY), _strict(_extreme(largest=False))),
    "max": ((2, _MANY), _strict(_extreme(largest=True))),
    "pow": ((2, 2), _strict(_power)),
    "abs": ((1, 1), _strict(_absolute)),
    "ln": ((1, 1), _strict(_rising(math.log, 0.0))),
    "log10": ((1, 1), _strict(_rising(math.log10, 0.0))),
    "ln1p": ((1, 1), _strict(_rising(math.log1p, -1.0))),
    "exp": ((1, 1), _strict(_rising(math.exp))),
    "expm1": ((1, 1), _strict(_rising(math.expm1))),
    "sqrt": ((1, 1), _strict(_rising(math.sqrt, -5e-324))),
    "floor": ((1, 1), _strict(_rising(lambda x: float(math.floor(x))))),
    "ceil": ((1, 1), _strict(_rising(lambda x: float(math.ceil(x))))),
    "round": ((1, 1), _strict(_rising(lambda x: float(math.floor(x + 0.5))))),
    "threshold": ((2, 2), _strict(_threshold)),
    **{name: ((2, 2), _strict(partial(compare, name))) for name in COMPARISONS},
    "isIn": ((2, _MANY), _strict(lambda v, low, high: any_of(v, low, high, inside=True))),
    "isNotIn": ((2, _MANY), _strict(lambda v, low, high: any_of(v, low, high, inside=False))),
    "isMissing": ((1, 1), _of(lambda v: v[0] if v[0] is Special.INVALID else v[0] is None)),
    "isNotMissing": ((1, 1), _of(lambda v: v[0] if v[0] is Special.INVALID else v[0] is not None)),
    "and": ((2, _MANY), _strict(_of(lambda v: all([truth(each) for each in v])))),
    "or": ((2, _MANY), _strict(_of(lambda v: any([truth(each) for each in v])))),
    "not": ((1, 1), _strict(_of(lambda v: not truth(v[0])))),
    "if": ((2, 3), _of(_if)),
}


# Intervals of numbers, as PMML bounds them, and the parts of a column on which a number is inside.

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
    if not isinstance(value, PiecewiseLine):
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


_DEEPEST = 60  # expressions within each other
_MOST = 20_000  # expressions that one derived field may be made of, functions that it calls included
_EXPRESSIONS = (
    *("FieldRef", "Constant", "Apply", "NormContinuous", "NormDiscrete", "Discretize", "MapValues"),
    *("Aggregate", "Lag", "TextIndex"),
)


class Derived:
    """Makes the expression of a derived field; ``field`` finds others, ``functions`` are those that are defined."""

    def __init__(self, field: Callable[[str, Element], Expr], functions: Mapping[str, Element]) -> None:
        self._field, self._functions = field, functions
        self._made = 0

    def of(self, element: Element) -> Expr:
        """The expression within a derived field."""
        return self._expression(element.one(*_EXPRESSIONS), {}, 0)

    def _expression(self, element: Element, given: Mapping[str, Expr], depth: int) -> Expr:
        self._made += 1
        if depth > _DEEPEST or self._made > _MOST:
            element.refuse("expression", f"at most {_DEEPEST} within each other, and {_MOST:,} in all", "more")
        kind = element.name
        if kind == "FieldRef":
            return _unless_missing(self._named(element.need("field"), element, given), element)
        if kind == "Constant":
            return _constant(element)
        if kind == "Apply":
            return self._apply(element, given, depth)
        if kind == "NormContinuous":
            return self._norm_continuous(element, given)
        if kind == "NormDiscrete":
            return self._norm_discrete(element, given)
        if kind == "Discretize":
            return self._discretize(element, given)
        if kind == "MapValues":
            return self._map_values(element, given)
        raise Unknown(f"an expression other than {kind}")

    def _named(self, name: str, element: Element, given: Mapping[str, Expr]) -> Expr:
        return given[name] if name in given else self._field(name, element)

    def _apply(self, element: Element, given: Mapping[str, Expr], depth: int) -> Expr:
        name = element.need("function")
        arguments = [self._expression(child, given, depth + 1) for child in element.all(*_EXPRESSIONS)]
        function = self._functions.get(name)
        if function is None:
            found = apply(name, arguments)
        else:
            parameters = [parameter.need("name") for parameter in function.all("ParameterField")]
            if len(parameters) != len(arguments):
                element.refuse("function", f"{len(parameters)} arguments", str(len(arguments)))
            inner = dict(zip(parameters, arguments, strict=True))
            found = self._expression(function.one(*_EXPRESSIONS), inner, depth + 1)
            found = typed(found, function.get("dataType") or "double")
        found = _unless_missing(found, element)
        instead = element.get("defaultValue")
        if instead is not None:
            # Whatever goes wrong, and what is missing, has the default.
            found = _instead(found, instead, (None, Special.INVALID))
        treated = element.get("invalidValueTreatment")
        return _instead(found, None, (Special.INVALID,)) if treated == "asMissing" else found

    def _norm_continuous(self, element: Element, given: Mapping[str, Expr]) -> Expr:
        knots = [(knot.number("orig"), knot.number("norm")) for knot in element.all("LinearNorm")]
        if len(knots) < 2 or any(a[0] >= b[0] for a, b in pairwise(knots)):
            element.refuse("LinearNorm", "two or more, whose orig rise", str(len(knots)))
        outliers = element.choice("outliers", ("asIs", "asMissingValues", "asExtremeValues"), "asIs")

        def rule(values: Sequence[Value], low: float, high: float) -> Iterator[Piece]:
            value = values[0]
            if not isinstance(value, PiecewiseLine):
                number = value if value is None or isinstance(value, Special) else as_number(value)
                yield high, number if number is None or isinstance(number, Special) else _along(knots, number, outliers)
                return
            if value.rises:
                bounds, spans = [knot[0] for knot in knots], list(pairwise(knots))
            else:
                raise Unknown("a norm of what rises")
            start = low
            before = knots[0][1] if outliers == "asExtremeValues" else None
            after = knots[-1][1] if outliers == "asExtremeValues" else None
            if outliers == "asIs":
                bounds[0], bounds[-1] = -inf, inf
            to = sides(value, bounds[0], low, high, at_most=False)[0] if bounds[0] > -inf else (low, True)
            if to[1] and to[0] > start:
                yield to[0], before
                start = to[0]
            for (a, b), bound in zip(spans, bounds[1:], strict=True):
                if start >= high:
                    return
                upper, below = sides(value, bound, start, high, at_most=True)[0] if bound < inf else (high, True)
                if below:
                    yield upper, _segment(value, a, b)
                    start = upper
            if start < high:
                yield high, after

        return _mapped(combine([self._named(element.need("field"), element, given)], rule), element)

    def _norm_discrete(self, element: Element, given: Mapping[str, Expr]) -> Expr:
        value = constant(element.need("value"))

        def rule(values: Sequence[Value], low: float, high: float) -> Iterator[Piece]:
            if values[0] is None or values[0] is Special.INVALID:
                return iter([(high, values[0])])
            parts = compare("equal", _alike(values), low, high)
            return iter([(upper, 1.0 if there else 0.0) for upper, there in parts])

        return _mapped(combine([self._named(element.need("field"), element, given), value], rule), element)

    def _discretize(self, element: Element, given: Mapping[str, Expr]) -> Expr:
        bins = [(bounds_of(each.one("Interval")), each.need("binValue")) for each in element.all("DiscretizeBin")]
        default = element.get("defaultValue")

        def rule(values: Sequence[Value], low: float, high: float) -> list[Piece]:
            value = values[0]
            if value is None or isinstance(value, Special):
                return [(high, value)]
            return first_of([(partial(parts_inside, value, each), name) for each, name in bins], low, high, default)

        found = combine([self._named(element.need("field"), element, given)], rule)
        return typed(_mapped(found, element), element.get("dataType") or "string")

    def _map_values(self, element: Element, given: Mapping[str, Expr]) -> Expr:
        pairs = list(element.all("FieldColumnPair"))
        if len(pairs) != 1:
            raise Unknown(f"a map of one column, not of {len(pairs)}")
        key, out = (name.rpartition(":")[2] for name in (pairs[0].need("column"), element.need("outputColumn")))
        table: dict[str, str] = {}
        for row in element.one("InlineTable").all("row"):
            table.setdefault(row.one(key).text, row.one(out).text)
        default = element.get("defaultValue")

        def mapped(value: Value) -> Value:
            if value is None or value is Special.INVALID:
                return value
            if isinstance(value, PiecewiseLine):
                raise Unknown("a map of categories")
            if value is Special.STRANGE or isinstance(value, str):
                return table.get(value, default) if isinstance(value, str) else default
            return next((found for text, found in table.items() if _alike([value, text])[1] == value), default)

        found = each_value(self._named(pairs[0].need("field"), element, given), mapped)
        return typed(_mapped(found, element), element.get("dataType") or "string")


def _constant(element: Element) -> Expr:
    kind, missing = element.get("dataType"), element.get("missing")
    if missing == "true":
        return constant(None)
    if kind is None:
        try:
            return constant(as_number(element.text))
        except Unknown:
            return constant(element.text)
    return typed(constant(element.text), kind)


def _alike(values: Sequence[Value]) -> list[Value]:
    """A value and a text as values of one type."""
    one, text = values
    if isinstance(one, (str, Special)) or not isinstance(text, str):
        return [one, text]
    return [one, typed(constant(text), "boolean" if isinstance(one, bool) else "double").values[0]]


def _unless_missing(found: Expr, element: Element) -> Expr:
    """What stands for a missing value."""
    instead = element.get("mapMissingTo")
    return found if instead is None else _instead(found, instead, (None,))


_mapped = _unless_missing


def _instead(found: Expr, text: str | None, of: tuple[Value, ...]) -> Expr:
    """A text, or a number if others are, in the place of some values."""
    number = any(isinstance(value, (float, PiecewiseLine)) for value in found.values)
    other: Value = as_number(text) if number and text is not None else text
    return each_value(found, lambda value: other if any(value is each for each in of) else value)


def _segment(line: PiecewiseLine, a: tuple[float, float], b: tuple[float, float]) -> Value:
    """A line through two knots, of what rises."""
    (x0, y0), (x1, y1) = a, b
    slope = (y1 - y0) / (x1 - x0)
    if slope == 0:
        return y0
    low, high = sorted(0.0 if bound == 0 else bound * slope for bound in (line.low, line.high))
    return PiecewiseLine(lambda x: y0 + (line.at(x) - x0) / (x1 - x0) * (y1 - y0), low, high)


def _along(knots: Sequence[tuple[float, float]], x: float, outliers: str) -> float | None:
    """The norm of a fixed number."""
    if x < knots[0][0] or x > knots[-1][0]:
        if outliers == "asMissingValues":
            return None
        if outliers == "asExtremeValues":
            return knots[0][1] if x < knots[0][0] else knots[-1][1]
    at = next((i for i, knot in enumerate(knots[1:], 1) if x <= knot[0]), len(knots) - 1)
    (x0, y0), (x1, y1) = knots[at - 1], knots[at]
    return y0 + (x - x0) / (x1 - x0) * (y1 - y0)
