"""Input fields of a PMML model: columns, declared values, and fields derived from one column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf

from maxent.models.arguments import shorten
from maxent.models.formats.pmml.expressions import (
    Bounds,
    Derived,
    Expr,
    Piece,
    PmmlColumn,
    Special,
    Unknown,
    Value,
    as_number,
    bounds_of,
    combine,
    compare,
    constant,
    each_value,
    first_of,
    identity,
    parts_inside,
    truth,
    typed,
)
from maxent.models.formats.pmml.xml_document import Element, number_in
from maxent.models.formats.proof import TrainingColumns
from maxent.models.release import Attribute
from maxent.models.tables.cells import MISSING, OTHER

# Values that a document names: in arrays, and those that something compares each field with.


def values_named(root: Element) -> dict[str, dict[str, None]]:
    """The values of each field that something in the document compares it with."""
    found: dict[str, dict[str, None]] = {}
    stack = [root]
    while stack:
        element = stack.pop()
        stack += element.children
        if element.name == "SimplePredicate" and (value := element.get("value")) is not None:
            found.setdefault(element.need("field"), {})[value] = None
        elif element.name == "SimpleSetPredicate":
            array = element.first("Array")
            values = [] if array is None else words_of(array)
            found.setdefault(element.need("field"), {}).update(dict.fromkeys(values))
        elif element.name == "MapValues":
            for pair in element.all("FieldColumnPair"):
                column = pair.need("column").rpartition(":")[2]
                table = element.first("InlineTable")
                rows = () if table is None else tuple(table.all("row"))
                keys = (cell.text for row in rows for cell in row.all(column))
                found.setdefault(pair.need("field"), {}).update(dict.fromkeys(keys))
        elif element.name == "NormDiscrete":
            found.setdefault(element.need("field"), {})[element.need("value")] = None
        elif element.name == "Apply":
            refs = [child.need("field") for child in element.all("FieldRef")]
            values = [child.text for child in element.all("Constant")]
            for name in refs:
                found.setdefault(name, {}).update(dict.fromkeys(values))
    return found


def words_of(array: Element) -> list[str]:
    """The values of an array: words between blanks, or in quotes."""
    found, text, at = [], array.text, 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        if text[at] == '"':
            end, word = at + 1, []
            while end < len(text) and text[end] != '"':
                end += text[end] == "\\" and text[end + 1 : end + 2] == '"'
                word.append(text[end])
                end += 1
            if end >= len(text):
                array.refuse("Array", "a quote that ends", "none")
            found.append("".join(word))
        else:
            end = at
            while end < len(text) and not text[end].isspace():
                end += 1
            found.append(text[at:end].replace('\\"', '"'))
        at = end + (text[end : end + 1] == '"')
    n = array.get("n")
    if n is not None and n.isdecimal() and len(n) < 9 and int(n) != len(found):
        array.refuse("n", f"{len(found)}, as there are values")
    return found


# The fields of a model by name: columns, and what is derived from one of them.

NUMBERS = ("double", "float", "integer")
TYPES = (*NUMBERS, "string", "boolean")
_DEEPEST = 30  # fields that are derived of each other


@dataclass(eq=False)
class Scope:
    """Fields by name, those of a model before those around it; ``derived`` is what is not computed yet."""

    around: Scope | None = None
    found: dict[str, Expr] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    derived: dict[str, Element] = field(default_factory=dict)
    functions: Mapping[str, Element] = field(default_factory=dict)
    single: bool = False
    _open: set[str] = field(default_factory=set)

    def field(self, name: str, asking: Element, depth: int = 0) -> tuple[Expr, str]:
        """The expression of a field, and its type of data."""
        if name in self.found:
            return self.found[name], self.kinds[name]
        element = self.derived.get(name)
        if element is None:
            if self.around is None:
                asking.refuse("field", "a field of the data dictionary, or one that is derived", shorten(name))
            return self.around.field(name, asking, depth)
        if name in self._open or depth >= _DEEPEST:
            asking.refuse("field", f"fields that are derived of others, at most {_DEEPEST} in a row", shorten(name))
        self._open.add(name)
        kind = element.choice("dataType", TYPES, "double")
        try:
            made = Derived(lambda inner, at: self.field(inner, at, depth + 1)[0], self.functions).of(element)
            self.found[name] = typed(made, kind)
        except Unknown as error:
            element.refuse("expression", str(error), shorten(name))
        self.kinds[name] = kind
        self._open.discard(name)
        return self.found[name], kind

    def within(self, model: Element) -> Scope:
        """The fields of a model: its own transformations, and replacements that its mining schema names."""
        inner = Scope(self, functions=self.functions, single=self.single)
        schema = model.first("MiningSchema")
        for mining in () if schema is None else schema.all("MiningField"):
            if mining.get("missingValueReplacement") is not None and mining.get("usageType") in (None, "active"):
                name = mining.need("name")
                found, kind = self.field(name, mining)
                inner.found[name], inner.kinds[name] = replaced(found, mining, kind), kind
        inner.define(model.first("LocalTransformations"))
        return inner

    def define(self, transformations: Element | None) -> None:
        """Take derived fields to the others."""
        for element in () if transformations is None else transformations.all("DerivedField"):
            self.derived[element.need("name")] = element


def replaced(found: Expr, mining: Element, kind: str) -> Expr:
    """Missing values as the number, or the category, that stands for them."""
    if mining.get("missingValueTreatment") == "returnInvalid":
        instead: Value = Special.INVALID
    else:
        text = mining.need("missingValueReplacement")
        try:
            instead = typed(constant(text), kind).values[0]
        except Unknown as error:
            mining.refuse("missingValueReplacement", str(error), shorten(text))
    return each_value(found, lambda value: instead if value is None else value)


@dataclass(frozen=True, slots=True, eq=False)
class PmmlInput:
    """The input of a model: its fields, the attributes that they are of, and what the file says of the target."""

    scope: Scope
    attributes: Mapping[str, Attribute]
    target: str | None
    classes: tuple[str, ...]


def read_input(root: Element, model: Element, training: TrainingColumns | None, *, single: bool) -> PmmlInput:
    """The columns that a document declares, as the mining schema of its outermost model treats them."""
    dictionary = root.one("DataDictionary")
    schema = model.one("MiningSchema")
    fields = {element.need("name"): element for element in dictionary.all("DataField")}
    treated = {element.need("name"): element for element in schema.all("MiningField")}
    targets = [name for name, e in treated.items() if e.get("usageType") in ("target", "predicted")]
    named = values_named(root)
    transformations = root.first("TransformationDictionary")
    functions = {} if transformations is None else {e.need("name"): e for e in transformations.all("DefineFunction")}
    scope = Scope(functions=functions, single=single)
    scope.define(transformations)
    attributes: dict[str, Attribute] = {}
    for name, element in fields.items():
        mining = treated.get(name)
        if name in targets or mining is None or mining.get("usageType") not in (None, "active"):
            continue
        kind = element.choice("dataType", TYPES, "string")
        trained = None if training is None else training.named(name)
        try:
            if _is_numeric(element, kind):
                found, attribute = _numbers(element, mining, kind)
            else:
                found, attribute = _categories(element, mining, kind, named.get(name, ()), trained)
        except Unknown as error:
            element.refuse("content", str(error))
        scope.found[name], scope.kinds[name], attributes[name] = found, kind, attribute
    target = targets[0] if len(targets) == 1 else None
    classes: tuple[str, ...] = ()
    if target is not None and target in fields:
        classes = tuple(dict.fromkeys(value for value, valid in _values(fields[target]) if valid == "valid"))
    return PmmlInput(scope, attributes, target, classes)


def _is_numeric(element: Element, kind: str) -> bool:
    optype = element.choice("optype", ("continuous", "categorical", "ordinal"), "categorical")
    if optype == "continuous" and kind not in NUMBERS:
        element.refuse("dataType", f"one of {', '.join(NUMBERS)}, as the field is continuous")
    return optype == "continuous"


def _values(element: Element) -> Iterator[tuple[str, str]]:
    for value in element.all("Value"):
        yield value.need("value"), value.choice("property", ("valid", "invalid", "missing"), "valid")


def _numbers(element: Element, mining: Element, kind: str) -> tuple[Expr, Attribute]:
    """A column of numbers: intervals outside of which they are not valid, outliers, and missing ones."""
    name = element.need("name")
    found = typed(identity(PmmlColumn(name, None)), kind if kind == "float" else "double")
    invalid_as = _invalid(mining)
    for text, how in _values(element):
        number = number_in(text)
        if how != "valid" and number is not None:
            found = without(found, number, None if how == "missing" else invalid_as)
    intervals = [bounds_of(interval) for interval in element.all("Interval")]
    if intervals and invalid_as is not Special.STRANGE:
        found = combine([found], lambda v, low, high: _inside(v[0], intervals, low, high, invalid_as))
    outliers = mining.choice("outliers", ("asIs", "asMissingValues", "asExtremeValues"), "asIs")
    if outliers != "asIs":
        least, most = mining.number("lowValue", -inf), mining.number("highValue", inf)
        ends = (None, None) if outliers == "asMissingValues" else (least, most)
        found = combine([found], lambda v, low, high: _between(v[0], least, most, ends, low, high))
    if mining.get("missingValueReplacement") is not None:
        found = replaced(found, mining, kind)
    return found, Attribute(name, "numeric", missing=True)


def without(found: Expr, number: float, instead: Value) -> Expr:
    """Numbers without one, in whose place something else stands."""

    def rule(values: Sequence[Value], low: float, high: float) -> Iterator[Piece]:
        if values[0] is None or isinstance(values[0], Special):
            yield high, values[0]
            return
        for upper, is_it in compare("equal", [values[0], number], low, high):
            other = as_number(instead) if isinstance(instead, str) else instead
            yield upper, other if is_it and instead is not Special.STRANGE else values[0]

    return combine([found], rule)


def _invalid(mining: Element) -> Value:
    """What values that are not valid are taken for; `Special.STRANGE`: themselves."""
    known = ("returnInvalid", "asIs", "asMissing", "asValue")
    treated = mining.choice("invalidValueTreatment", known, "returnInvalid")
    if treated == "asValue":
        return mining.need("invalidValueReplacement")
    if treated == "asMissing":
        return None
    return Special.STRANGE if treated == "asIs" else Special.INVALID


def _inside(value: Value, intervals: Sequence[Bounds], low: float, high: float, other: Value) -> list[Piece]:
    instead = as_number(other) if isinstance(other, str) else other
    tests = [(partial(parts_inside, value, interval), value) for interval in intervals]
    return [(high, value)] if value is None else first_of(tests, low, high, instead)


def _between(
    value: Value, least: float, most: float, ends: tuple[float | None, float | None], low: float, high: float
) -> Iterator[Piece]:
    """A number between two others, and what is below or above them in their place."""
    if value is None or isinstance(value, Special):
        yield high, value
        return
    start = low
    for upper, there in parts_inside(value, (least, True, most, True), low, high):
        if there:
            yield upper, value
        else:
            for to, below in parts_inside(value, (-inf, True, least, False), start, upper):
                yield to, ends[0] if below else ends[1]
        start = upper


def _categories(
    element: Element, mining: Element, kind: str, named: Mapping[str, None] | tuple[()], trained: Attribute | None
) -> tuple[Expr, Attribute]:
    """A column of categories: those that are declared, or else named somewhere, and others as they are treated."""
    name = element.need("name")
    declared = dict(_values(element))
    invalid_as = _invalid(mining)
    if declared.get(MISSING) or declared.get(OTHER):
        element.refuse("Value", f"values other than {MISSING} and {OTHER}")
    values: dict[str, Value] = {}
    for text, how in declared.items():
        values[text] = {"missing": None, "valid": text}.get(how, text if invalid_as is Special.STRANGE else invalid_as)
    open_ended = "valid" not in declared.values()
    if open_ended or invalid_as is Special.STRANGE:
        # NaN stands for missing cells, which are no value of the table.
        values |= {text: text for text in named if text not in declared and text not in ("", "NaN", MISSING, OTHER)}
    values = {text: v for text, v in values.items() if v is not Special.INVALID}
    if open_ended and trained is not None and trained.values is not None:
        values |= {text: text for text in trained.values if text not in values and text not in (MISSING, OTHER)}
    if kind == "boolean":
        values = _truths(values, trained)
    spelled = _spellings(values, kind, trained)
    others = [] if not open_ended and invalid_as is Special.INVALID else [OTHER]
    cells = (*(spelled[text] for text in values), *others, MISSING)
    if len(set(cells)) < len(cells):
        element.refuse("Value", "values that are all different", "some that are the same")
    other: Value = Special.STRANGE if open_ended else invalid_as
    results = [*values.values(), *([other] if others else []), None]
    if mining.get("missingValueReplacement") is not None or mining.get("missingValueTreatment") == "returnInvalid":
        instead: Value = mining.get("missingValueReplacement")
        instead = Special.INVALID if mining.get("missingValueTreatment") == "returnInvalid" else instead
        results = [instead if value is None else value for value in results]
    column = PmmlColumn(name, cells)
    made = tuple(v if v is None or isinstance(v, Special) else typed(constant(v), kind).values[0] for v in results)
    return Expr(column, made), Attribute(name, "categorical", cells)


_TRUTHS = ("false", "true", "False", "True", "FALSE", "TRUE")


def _truths(values: Mapping[str, Value], trained: Attribute | None) -> dict[str, Value]:
    """Truth values as the table spells them; where it is not there, as any program does."""
    if trained is not None and trained.values is not None:
        return dict(values) or {text: text for text in ("false", "true")}
    return {**{text: text for text in _TRUTHS}, **values}


def _spellings(values: Mapping[str, Value], kind: str, trained: Attribute | None) -> dict[str, str]:
    """How the table writes the categories: of numbers and truth values the spelling is not the model's."""
    if kind == "string" or trained is None or trained.values is None:
        return {text: text for text in values}
    read = truth if kind == "boolean" else as_number
    known: dict[object, str] = {}
    for text in trained.values:
        try:
            known[read(text)] = text
        except Unknown:
            continue
    return {text: known.get(read(text), text) for text in values}
