"""The functions of PMML that trees are found behind, of what is computed of one column."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf

from maxent.models.formats.pmml.expressions.comparisons import COMPARISONS, any_of, compare
from maxent.models.formats.pmml.expressions.pieces import Expr, Line, Piece, Special, Unknown, Value, combine, sides
from maxent.models.formats.pmml.expressions.types import as_number, truth

# Part of the steepest slope that is the least with which a sum of what rises and what falls is known to do either
_LEAST = 1e-6


def apply(name: str, arguments: Sequence[Expr]) -> Expr:
    """A built-in function of arguments.

    Raises
    ------
    Unknown
        For a function that is none of these, and what neither rises nor falls.
    """
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


def _line(at: Callable[[float], float], low: float, high: float) -> Line:
    """A line, whose slopes have one sign."""
    if low > high:
        low, high = high, low
    if low < 0 < high:
        steepest = max(-low, high)
        raise Unknown(f"what rises or falls (its slope is from {low:g} to {high:g})") if steepest else Unknown("")
    return Line(at, low, high)


def _added(sign: float) -> Rule:
    def rule(values: Sequence[Value], low: float, high: float) -> Iterator[Piece]:
        total = values[0]
        for value in values[1:]:
            total = _sum(total, value, sign)
        yield high, total

    return rule


def _sum(one: Value, other: Value, sign: float) -> Value:
    if isinstance(one, Line) and isinstance(other, Line):
        f, g = one, other
        bounds = (g.low, g.high) if sign > 0 else (-g.high, -g.low)
        low, high = f.low + bounds[0], f.high + bounds[1]
        if (f.low < 0) != (bounds[0] < 0) and min(abs(low), abs(high)) < _LEAST * max(abs(low), abs(high)):
            raise Unknown("a sum that rises or falls all the way")
        return _line(lambda x: f.at(x) + sign * g.at(x), low, high)
    if isinstance(one, Line):
        f, c = one, as_number(other)
        return Line(lambda x: f.at(x) + sign * c, f.low, f.high)
    if isinstance(other, Line):
        g, c = other, as_number(one)
        low, high = (g.low, g.high) if sign > 0 else (-g.high, -g.low)
        return Line(lambda x: c + sign * g.at(x), low, high)
    return as_number(one) + sign * as_number(other)


def _times(values: Sequence[Value], low: float, high: float) -> Iterator[Piece]:
    total = values[0]
    for value in values[1:]:
        if isinstance(total, Line) and isinstance(value, Line):
            raise Unknown("a product with a constant")
        if isinstance(total, Line):
            total = _scaled(total, as_number(value), divide=False)
        elif isinstance(value, Line):
            total = _scaled(value, as_number(total), divide=False)
        else:
            total = as_number(total) * as_number(value)
    yield high, total


def _over(values: Sequence[Value], low: float, high: float) -> Iterator[Piece]:
    one, other = values
    if isinstance(other, Line):
        raise Unknown("a quotient by a constant")
    divisor = as_number(other)
    if divisor == 0:
        yield high, Special.INVALID
    elif isinstance(one, Line):
        yield high, _scaled(one, divisor, divide=True)
    else:
        yield high, as_number(one) / divisor


def _scaled(line: Line, factor: float, *, divide: bool) -> Value:
    if factor == 0:
        return 0.0
    size = 1 / factor if divide else factor
    bounds = sorted(0.0 if bound == 0 else bound * size for bound in (line.low, line.high))
    if divide:
        return Line(lambda x: line.at(x) / factor, *bounds)
    return Line(lambda x: line.at(x) * factor, *bounds)


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
        if not isinstance(line, Line):
            number = as_number(line)
            yield high, safe(number) if number > least else Special.INVALID
            return
        slopes = (0.0, inf) if line.rises else (-inf, 0.0)
        for upper, below in sides(line, least, low, high, at_most=True) if least > -inf else [(high, False)]:
            yield upper, Special.INVALID if below else Line(lambda x: safe(line.at(x)), *slopes)

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

    if not isinstance(base, Line):
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
            yield upper, Line(lambda x: at(base.at(x)), *slopes)


def _absolute(values: Sequence[Value], low: float, high: float) -> Iterator[Piece]:
    line = values[0]
    if not isinstance(line, Line):
        yield high, abs(as_number(line))
        return
    for upper, below in sides(line, 0.0, low, high, at_most=False):
        yield upper, Line(lambda x: -line.at(x), -line.high, -line.low) if below else line


def _extreme(*, largest: bool) -> Rule:
    def rule(values: Sequence[Value], low: float, high: float) -> Iterable[Piece]:
        lines = [value for value in values if isinstance(value, Line)]
        fixed = [as_number(value) for value in values if not isinstance(value, Line)]
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


def _compared(name: str) -> Rule:
    return lambda values, low, high: compare(name, values, low, high)


def _is_missing(values: Sequence[Value], low: float, high: float) -> Iterator[Piece]:
    yield high, values[0] is None if values[0] is not Special.INVALID else Special.INVALID


def _is_there(values: Sequence[Value], low: float, high: float) -> Iterator[Piece]:
    yield high, values[0] is not None if values[0] is not Special.INVALID else Special.INVALID


def _both(values: Sequence[Value], low: float, high: float) -> Iterator[Piece]:
    yield high, all([truth(value) for value in values])


def _either(values: Sequence[Value], low: float, high: float) -> Iterator[Piece]:
    yield high, any([truth(value) for value in values])


def _negated(values: Sequence[Value], low: float, high: float) -> Iterator[Piece]:
    yield high, not truth(values[0])


def _if(values: Sequence[Value], low: float, high: float) -> Iterator[Piece]:
    if values[0] is None or values[0] is Special.INVALID:
        yield high, values[0]
    elif truth(values[0]):
        yield high, values[1]
    else:
        yield high, values[2] if len(values) > 2 else None


_MANY = 10_000
_NESTED = 50  # arguments of functions whose outcomes are built on each other

# The least and the most number of arguments of each function, and what it does
_FUNCTIONS: dict[str, tuple[tuple[int, int], Rule]] = {
    "+": ((2, _NESTED), _strict(_added(1.0))),
    "sum": ((2, _NESTED), _strict(_added(1.0))),
    "-": ((2, 2), _strict(_added(-1.0))),
    "*": ((2, _NESTED), _strict(_times)),
    "product": ((2, _NESTED), _strict(_times)),
    "/": ((2, 2), _strict(_over)),
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
    **{name: ((2, 2), _strict(_compared(name))) for name in COMPARISONS},
    "isIn": ((2, _MANY), _strict(lambda v, low, high: any_of(v, low, high, inside=True))),
    "isNotIn": ((2, _MANY), _strict(lambda v, low, high: any_of(v, low, high, inside=False))),
    "isMissing": ((1, 1), _is_missing),
    "isNotMissing": ((1, 1), _is_there),
    "and": ((2, _MANY), _strict(_both)),
    "or": ((2, _MANY), _strict(_either)),
    "not": ((1, 1), _strict(_negated)),
    "if": ((2, 3), _if),
}
