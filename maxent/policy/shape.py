"""Documents against a JSON schema: the part of draft 2020-12 that the schema of records uses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from maxent.models.errors import Problem
from maxent.models.tables.frame import shorten
from maxent.models.text.hints import close_to

Schema = Mapping[str, Any]

_TYPES: Mapping[str, tuple[str, tuple[type, ...]]] = {
    "object": ("an object", (dict,)),
    "array": ("a list", (list,)),
    "string": ("a text", (str,)),
    "number": ("a number", (int, float)),
    "integer": ("a whole number", (int,)),
    "boolean": ("true or false", (bool,)),
    "null": ("null", (type(None),)),
}

KEYWORDS = frozenset(
    (
        *("$schema", "$id", "title", "description", "type", "const", "enum", "pattern", "minLength", "minimum"),
        *("maximum", "exclusiveMinimum", "properties", "required", "additionalProperties", "items"),
    )
)
"""Keywords of JSON schemas that are understood."""


def shape_problems(value: Any, schema: Schema, where: str = "file", name: str = "content") -> Iterator[Problem]:
    """Everything in a document that is not as its schema says, with its place."""
    expected = _expected(value, schema)
    if expected is not None:
        yield Problem(where, name, expected, shorten(value))
        return
    inner = name if where == "file" else f"{where}.{name}"
    here = "file" if where == "file" and name == "content" else inner
    if isinstance(value, dict):
        known: Mapping[str, Schema] = schema.get("properties", {})
        more = schema.get("additionalProperties", True)
        for key in schema.get("required", ()):
            if key not in value:
                yield Problem(here, key, "a value", "nothing")
        for key, each in value.items():
            if key in known:
                yield from shape_problems(each, known[key], here, key)
            elif more is False:
                yield Problem(here, key, f"one of {', '.join(known)}", f"an unknown key{close_to(key, known)}")
            elif isinstance(more, Mapping):
                yield from shape_problems(each, more, here, key)
    elif isinstance(value, list) and "items" in schema:
        for i, each in enumerate(value, 1):
            yield from shape_problems(each, schema["items"], where, f"{name} {i}")


def _expected(value: Any, schema: Schema) -> str | None:
    """What a value was to be, None where it is that."""
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(_is(value, each) for each in types):
        return " or ".join(_TYPES[each][0] for each in types)
    if "const" in schema and value != schema["const"]:
        return repr(schema["const"])
    if "enum" in schema and (isinstance(value, bool) or value not in schema["enum"]):
        return f"one of {', '.join(map(str, schema['enum']))}"
    if isinstance(value, str):
        if "pattern" in schema and re.search(schema["pattern"], value) is None:
            return f"a text like {schema['pattern']}"
        if len(value) < schema.get("minLength", 0):
            return "a text that is not empty"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        low, above, high = (schema.get(key) for key in ("minimum", "exclusiveMinimum", "maximum"))
        if low is not None and value < low:
            return f"a number of at least {low}"
        if above is not None and value <= above:
            return f"a number above {above}"
        if high is not None and value > high:
            return f"a number of at most {high}"
    return None


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, _TYPES[name][1])
