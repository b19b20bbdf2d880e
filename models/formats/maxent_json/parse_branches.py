"""The branches of a node of a decoded `maxent/1` document; problems are noted, not raised."""

from __future__ import annotations

from collections.abc import Mapping

from maxent.models.errors import Problem
from maxent.models.formats.maxent_json.fields import Fields, Names, fields_of
from maxent.models.release_content import Attribute, Branch
from maxent.models.tables.columns.missing_values import MISSING
from maxent.models.text.arguments import listing, name


def split(fields: Fields, names: Names) -> tuple[str, tuple[Branch, ...]]:
    """The attribute and branches of an inner node; "" for an attribute that could not be read."""
    title = fields.value("attribute")
    attribute = names.attributes.get(title) if isinstance(title, str) else None
    if attribute is None and (names.all_attributes or not isinstance(title, str)):
        fields.refuse("attribute", f"the name of an attribute ({listing(names.attributes)})")
    branches = [
        _branch(fields.problems, f"{fields.where}, branch {number}", raw, attribute, names.domains)
        for number, raw in enumerate(fields.items("branches", "branches"), 1)
    ]
    return (attribute.name if attribute else ""), tuple(branches)


def _branch(
    problems: list[Problem],
    where: str,
    raw: object,
    attribute: Attribute | None,
    domains: Mapping[str, frozenset[str]],
) -> Branch:
    """One branch; without a test (no values, no bounds) when the test is wrong or its attribute unknown."""
    fields = fields_of(problems, where, raw, ("in", "le", "gt", "missing", "child"))
    if fields is None:
        return Branch(None)
    child = fields.value("child")
    if not (child is None or isinstance(child, str)):
        fields.refuse("child", "the id of a node, or null for a removed leaf")
        child = None
    if attribute is None or (attribute.type == "categorical" and attribute.values is None):
        return Branch(child)
    if attribute.type == "categorical":
        return Branch(child, values=_values(fields, attribute, domains[attribute.name]))
    if attribute.type == "numeric":
        le, gt = _bounds(fields, attribute)
        return Branch(child, le=le, gt=gt, missing=_missing(fields, attribute, le is not None or gt is not None))
    return Branch(child)


def _values(fields: Fields, attribute: Attribute, domain: frozenset[str]) -> tuple[str, ...] | None:
    """The values of a categorical branch."""
    for key in ("le", "gt"):
        if key in fields.raw:
            fields.refuse(key, f"no such key, since {name(attribute.name)} is categorical (use in)")
    if "missing" in fields.raw:
        expected = f"no such key, since {name(attribute.name)} is categorical: name {MISSING!r} among its values"
        fields.refuse("missing", expected)
    return fields.names_among("in", f"values of {name(attribute.name)}", domain, attribute.values or ())


def _bounds(fields: Fields, attribute: Attribute) -> tuple[float | None, float | None]:
    """``le`` and ``gt`` of a numeric branch; both None when either is wrong."""
    if "in" in fields.raw:
        fields.refuse("in", f"no such key, since {name(attribute.name)} is numeric (use le, gt)")
    le, gt = fields.real("le", "a finite number", _any), fields.real("gt", "a finite number", _any)
    stated = ("le" in fields.raw) + ("gt" in fields.raw)
    if not stated:
        if not {"in", "missing"} & fields.raw.keys():
            fields.refuse("le, gt", f"at least one bound, since {name(attribute.name)} is numeric")
        return None, None
    if (le is not None) + (gt is not None) < stated:
        return None, None
    if le is not None and gt is not None and not gt < le:
        fields.wrong("gt", f"a number below le ({le!r})", repr(gt))
        return None, None
    return le, gt


def _any(bound: float) -> bool:
    return True


def _missing(fields: Fields, attribute: Attribute, bounded: bool) -> bool | None:
    """Whether a numeric branch takes missing values; False, of a branch without bounds, that it takes every number."""
    if "missing" not in fields.raw:
        return None
    found = fields.flag("missing")
    if not bounded and fields.raw.keys() & {"le", "gt"}:
        return None  # the bounds are wrong: what it takes is not known
    if found and not attribute.missing:
        expected = f'"missing": true for {name(attribute.name)} among the attributes, too'
        fields.wrong("missing", expected, "an attribute that has no missing values")
    if found is False and fields.raw.keys() & {"le", "gt"}:
        fields.refuse("missing", "true, or no such key, beside le or gt")
        return None
    return found
