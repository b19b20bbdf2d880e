"""Derived fields: expressions of PMML as what they compute of one column."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf

from maxent.models.formats.pmml.expressions.comparisons import compare
from maxent.models.formats.pmml.expressions.functions import apply
from maxent.models.formats.pmml.expressions.intervals import bounds_of, parts_inside
from maxent.models.formats.pmml.expressions.pieces import (
    Expr,
    Line,
    Piece,
    Special,
    Unknown,
    Value,
    combine,
    constant,
    sides,
)
from maxent.models.formats.pmml.expressions.types import as_number, in_text, typed
from maxent.models.formats.pmml.xml_document import Element

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
        """The expression within a derived field.

        Raises
        ------
        Unknown
            For what is none of the expressions that are known, or no function of one column.
        """
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
            if not isinstance(value, Line):
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
            parts: list[tuple[float, str | None]] = [(high, None)]
            for interval, name in bins:
                news: list[tuple[float, str | None]] = []
                start = low
                for upper, there in parts:
                    if there is not None:
                        news.append((upper, there))
                    else:
                        within = parts_inside(value, interval, start, upper)
                        news += [(to, name if inside else None) for to, inside in within]
                    start = upper
                parts = news
            return [(upper, default if there is None else there) for upper, there in parts]

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

        def rule(values: Sequence[Value], low: float, high: float) -> list[Piece]:
            value = values[0]
            if value is None or value is Special.INVALID:
                return [(high, value)]
            if isinstance(value, Line):
                raise Unknown("a map of categories")
            if value is Special.STRANGE:
                return [(high, default)]
            return [(high, table.get(in_text(value), default))] if isinstance(value, str) else [(high, numbers(value))]

        def numbers(value: float | bool | Special) -> str | None:
            for text, found in table.items():
                if _alike([value, text])[1] == value:
                    return found
            return default

        found = combine([self._named(pairs[0].need("field"), element, given)], rule)
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
    number = any(isinstance(value, (float, Line)) for value in found.values)
    other: Value = as_number(text) if number and text is not None else text
    return combine([found], lambda v, low, high: [(high, other if any(v[0] is each for each in of) else v[0])])


def _segment(line: Line, a: tuple[float, float], b: tuple[float, float]) -> Value:
    """A line through two knots, of what rises."""
    (x0, y0), (x1, y1) = a, b
    slope = (y1 - y0) / (x1 - x0)
    if slope == 0:
        return y0
    low, high = sorted(0.0 if bound == 0 else bound * slope for bound in (line.low, line.high))
    return Line(lambda x: y0 + (line.at(x) - x0) / (x1 - x0) * (y1 - y0), low, high)


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
