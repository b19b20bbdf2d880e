"""Predicates of nodes: true, false or unknown of a record, as functions of its columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from maxent.models.formats.pmml.expressions.comparisons import COMPARISONS
from maxent.models.formats.pmml.expressions.functions import apply
from maxent.models.formats.pmml.expressions.pieces import Column, Expr, Line, Special, Unknown, Value, constant
from maxent.models.formats.pmml.expressions.types import typed
from maxent.models.formats.pmml.fields import NUMBERS, Scope
from maxent.models.formats.pmml.named_values import words_of
from maxent.models.formats.pmml.xml_document import Element

PREDICATES = ("True", "False", "SimplePredicate", "SimpleSetPredicate", "CompoundPredicate")
_DEEPEST = 100

Truth: TypeAlias = "bool | Special | None"  # none is unknown; `Special.INVALID` where the model gives no prediction

# A category by its index, the upper bound of an interval of numbers, or None for a missing number
Key: TypeAlias = "float | int | None"


@dataclass(frozen=True, slots=True, eq=False)
class Test:
    """A predicate of one column: its truth at a value, and the bounds of the intervals on which it is the same."""

    column: Column
    at: Callable[[Key], Truth]
    uppers: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Several:
    """A predicate of several columns: of parts."""

    operator: str
    parts: tuple[Predicate, ...]


Predicate: TypeAlias = "Test | Several | Truth"


def predicate_of(element: Element, scope: Scope, depth: int = 0) -> Predicate:
    """The predicate of an element."""
    if depth > _DEEPEST:
        element.refuse("CompoundPredicate", f"at most {_DEEPEST} predicates within each other", "more")
    if element.name in ("True", "False"):
        return element.name == "True"
    try:
        if element.name == "CompoundPredicate":
            operator = element.choice("booleanOperator", ("and", "or", "xor", "surrogate"), "")
            parts = [predicate_of(part, scope, depth + 1) for part in element.all(*PREDICATES)]
            if len(parts) < 2 or not operator:
                element.refuse("booleanOperator", "and, or, xor or surrogate, of two predicates or more")
            return joined(operator, parts)
        found, kind = scope.field(element.need("field"), element)
        if scope.single and kind in NUMBERS and any(isinstance(value, Line) for value in found.values):
            found, kind = typed(found, "float"), "float"
        if element.name == "SimpleSetPredicate":
            operator = element.choice("booleanOperator", ("isIn", "isNotIn"), "")
            values = [_typed(word, kind) for word in words_of(element.one("Array"))]
            if not values:
                return operator == "isNotIn"
            return _test(found, operator, values)
        operator = element.choice("operator", (*COMPARISONS, "isMissing", "isNotMissing"), "")
        if operator in ("isMissing", "isNotMissing"):
            return _test(found, operator, [])
        return _test(found, operator, [_typed(element.need("value"), kind)])
    except Unknown as error:
        element.refuse("field", str(error), element.get("field"))


def _typed(text: str, kind: str) -> Value:
    return typed(constant(text), kind if kind in ("string", "boolean", "float") else "double").values[0]


def _test(found: Expr, operator: str, values: Sequence[Value]) -> Predicate:
    """A comparison of what is computed of a column with fixed values."""
    if found.column is None or found.column.cells is None:
        made = apply(operator, [found, *map(constant, values)])
        return _truth(made.values[0]) if made.column is None else Test(made.column, _lookup(made), made.uppers)
    # Of categories it is looked at when it is asked for: of many values in many nodes few are.
    if operator in ("isIn", "isNotIn", "equal", "notEqual") and all(
        isinstance(v, str) for v in found.values if _is_fixed(v)
    ):
        known, inside = frozenset(values), operator in ("isIn", "equal")
        return Test(found.column, lambda key: _is_in(found.at(key), known, inside))
    fixed = [constant(value) for value in values]
    cells = found.values
    return Test(found.column, lambda key: _truth(apply(operator, [constant(cells[int(key or 0)]), *fixed]).values[0]))


def _is_fixed(value: Value) -> bool:
    return value is not None and not isinstance(value, Special)


def _is_in(value: Value, known: frozenset[Value], inside: bool) -> Truth:
    if value is None or value is Special.INVALID:
        return None if value is None else Special.INVALID
    return (value in known) == inside


def _lookup(made: Expr) -> Callable[[Key], Truth]:
    return lambda key: _truth(made.at(key))


def _truth(value: Value) -> Truth:
    return value if isinstance(value, bool) or value is None else Special.INVALID


def joined(operator: str, parts: Sequence[Predicate]) -> Predicate:
    """A compound of predicates: one of a column where all of them are."""
    columns = {id(part.column): part.column for part in parts if isinstance(part, Test)}
    if not any(isinstance(part, Several) for part in parts) and len(columns) <= 1:
        if not columns:
            return _outcome(operator, [part for part in parts if not isinstance(part, (Test, Several))])
        uppers = {upper for part in parts if isinstance(part, Test) for upper in part.uppers}
        return Test(
            next(iter(columns.values())),
            lambda key: _outcome(operator, [at(part, key) for part in parts]),
            tuple(sorted(uppers)),
        )
    if operator == "surrogate" and isinstance(parts[0], bool):
        return parts[0]
    # What decides without the others: one of a record's columns may be missing.
    if operator in ("and", "or") and any(part is (operator == "or") for part in parts):
        return operator == "or"
    return Several(operator, tuple(parts))


def at(part: Predicate, key: Key) -> Truth:
    """The truth of a predicate of one column."""
    if isinstance(part, Test):
        return part.at(key)
    assert not isinstance(part, Several)
    return part


def _outcome(operator: str, parts: Sequence[Truth]) -> Truth:
    """The truth of a compound."""
    if operator == "surrogate":
        return next((part for part in parts if part is not None), None)
    if any(part is Special.INVALID for part in parts):
        return Special.INVALID
    if operator == "xor":
        return None if None in parts else sum(part is True for part in parts) % 2 == 1
    decisive = operator == "or"
    if decisive in parts:
        return decisive
    return None if None in parts else not decisive


def tests_in(part: Predicate) -> Iterator[Test]:
    """The tests of columns of a predicate, in order."""
    if isinstance(part, Test):
        yield part
    elif isinstance(part, Several):
        for each in part.parts:
            yield from tests_in(each)


def settled(part: Predicate, column: Column, key: Key) -> Predicate:
    """A predicate where the value of a column is known."""
    if isinstance(part, Test):
        return part.at(key) if part.column is column else part
    if isinstance(part, Several):
        return joined(part.operator, [settled(each, column, key) for each in part.parts])
    return part
