"""Types of data: numbers of double or single precision, whole numbers, text, truth values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from math import inf

from maxent.models.formats.pmml.expressions.pieces import Expr, Line, Piece, Special, Unknown, Value, combine, single


def typed(found: Expr, kind: str) -> Expr:
    """What is computed as a type of data: single precision, whole numbers, text."""

    def rule(values: Sequence[Value], low: float, high: float) -> Iterator[Piece]:
        yield high, _as_type(values[0], kind)

    return combine([found], rule)


def _as_type(value: Value, kind: str) -> Value:
    if isinstance(value, Line):
        if kind == "float":
            return Line(lambda x: single(value.at(x)), 0.0 if value.rises else -inf, inf if value.rises else 0.0)
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
