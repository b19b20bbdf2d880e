"""Line numbers of the entries of a TOML file, which its parser does not have."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping

Path = tuple[str, ...]


def syntax_problem(error: Exception) -> tuple[str, str, str, str]:
    """The error of a text that is no TOML: place, field, expected, found; without the text, which may be secret."""
    reason, _, place = str(error).removesuffix(")").rpartition(" (at ")
    if not isinstance(error, tomllib.TOMLDecodeError) or not place.startswith(("line ", "end of ")):
        reasons = {UnicodeDecodeError: "bytes that are not UTF-8", RecursionError: "far too many levels"}
        return "file", "content", "a TOML document", reasons.get(type(error), "a value that cannot be read")
    # Others than these name keys of the text.
    known = reason.startswith(("Expected ", "Invalid ", "Unclosed ", "Unescaped ", "Unterminated "))
    why = reason[:1].lower() + reason[1:] if known else "a character or key that cannot stand there"
    return place, "content", f"a TOML document ({why})", "other text"


def line_numbers(text: str) -> Mapping[Path, int]:
    """Line of every table and entry, from 1, by its keys; tables of an array have their number, from 1, as a key more.

    Lines of a text or list of several lines may be taken for entries: numbers are for people to read.
    """
    found: dict[Path, int] = {}
    table: Path = ()
    arrays: dict[Path, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("["):
            keys = _keys(line)
            if keys is None:
                continue
            table = keys
            if line.lstrip().startswith("[["):
                arrays[keys] = arrays.get(keys, 0) + 1
                table = (*keys, str(arrays[keys]))
            found.setdefault(table, number)
        elif "=" in line:
            keys = _keys(line.partition("=")[0] + "= 0")
            if keys is not None:
                for end in range(1, len(keys) + 1):
                    found.setdefault((*table, *keys[:end]), number)
    return found


def _keys(line: str) -> Path | None:
    """The keys of the only table or entry of a line, None when it is none."""
    try:
        inner: object = tomllib.loads(line)
    except (ValueError, RecursionError):
        return None
    keys: list[str] = []
    while isinstance(inner, (dict, list)) and inner:
        if isinstance(inner, dict):
            [(key, inner)] = inner.items()
            keys.append(key)
        else:
            [inner] = inner
    return tuple(keys) or None
