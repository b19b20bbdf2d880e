"""The fields of a model by name: columns, and what is derived from one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from maxent.models.formats.pmml.expressions.derived import Derived
from maxent.models.formats.pmml.expressions.pieces import Expr, Special, Unknown, Value, combine, constant
from maxent.models.formats.pmml.expressions.types import typed
from maxent.models.formats.pmml.xml_document import Element
from maxent.models.tables.frame import shorten

NUMBERS = ("double", "float", "integer")
TYPES = (*NUMBERS, "string", "boolean")
_DEEPEST = 30  # fields that are derived of each other


@dataclass(eq=False)
class Scope:
    """Fields by name: those that a model has of its own, then those of the model around it.

    ``found`` are expressions, ``kinds`` types of data, ``derived`` what is not computed yet, ``functions`` the
    functions that the document defines; ``single`` is whether numbers are compared in single precision.
    """

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
    return combine([found], lambda v, low, high: [(high, instead if v[0] is None else v[0])])
