"""TOML files in bounded memory, with the line number of each entry, and tables in which no entry goes unread."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from maxent.models.arguments import shorten
from maxent.models.errors import Problem, invalid
from maxent.models.files.json_files import finite_float
from maxent.models.hints import close_to

Path = tuple[str, ...]

DEEPEST = 8
"""Parts of a key: a parser keeps a table for each, and all parts before it with each."""

LONGEST = 1000
"""Characters of a key."""

MOST_PARTS = 100_000
"""Parts of all keys: each may be a table, of a kilobyte."""

_PART = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
_KEYS = re.compile(
    r'"""(?:[^"\\]|\\[\s\S]|"(?!""))*+"{3,5}'
    rf"|'{{3}}[\s\S]*?'{{3,5}}|#[^\n]*+|({_PART}(?:[ \t]*\.[ \t]*{_PART})*+)([ \t]*=)?"
)
"""Texts of several lines, comments, and what may be a key, with the sign behind those of entries."""


def toml_document(text: str, source: str) -> dict[str, Any]:
    """Parse a TOML document, once its keys are known to be short."""
    total = 0
    for match in _KEYS.finditer(text):
        key, entry = match.groups()
        if key is None:
            continue
        parts = len(re.findall(_PART, key)) if "." in key else 1
        total += parts * bool(entry or text[match.start() - 1] == "[")
        if parts > DEEPEST or (entry and len(key) > LONGEST) or total > MOST_PARTS:
            expected = f"at most {DEEPEST} parts and {LONGEST} characters, and {MOST_PARTS:,} parts of all keys"
            found = "more of all" if total > MOST_PARTS else f"{parts} parts, {len(key)} characters"
            raise invalid(source, f"line {text.count(chr(10), 0, match.start()) + 1}", "key", expected, found)
    try:
        return tomllib.loads(text, parse_float=finite_float)
    except (ValueError, RecursionError) as error:
        raise invalid(source, *syntax_problem(error)) from None


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


# Tables of a study file, whose entries are taken one by one, so that nothing in them goes unread.


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the file, at ``path``; what nobody took is unknown, and what is wrong goes to ``problems``."""

    content: dict[str, Any]
    path: tuple[str, ...]
    lines: Mapping[tuple[str, ...], int]
    problems: list[Problem]
    taken: set[str] = field(default_factory=set)

    def where(self, key: str | None = None) -> str:
        """Name the place of an entry, or of the table: ``line 7, grid 2``."""
        name = f"grid {self.path[1]}" if self.path[:1] == ("grid",) else f"[{'.'.join(self.path)}]" if self.path else ""
        line = self.lines.get(self.path if key is None else (*self.path, key), self.lines.get(self.path))
        return ", ".join([*([] if line is None else [f"line {line}"]), *([name] if name else [])]) or "file"

    def note(self, key: str, expected: str, found: str) -> None:
        """Note what is wrong with an entry."""
        self.problems.append(Problem(self.where(key), key, expected, found))

    def take(self, key: str, expected: str, fits: Callable[[Any], bool], *, required: bool = False) -> Any:
        """The value of a key, None where there is none or it does not fit."""
        self.taken.add(key)
        if key not in self.content:
            if required:
                self.note(key, expected, "nothing")
            return None
        value = self.content[key]
        if fits(value):
            return value
        self.note(key, expected, shorten(value))
        return None

    def inner(self, *keys: str) -> Table:
        """A table in this one, by its keys; empty where there is none."""
        content: Any = self.content
        for key in keys:
            content = content.get(key, {}) if isinstance(content, dict) else {}
        return Table(content if isinstance(content, dict) else {}, (*self.path, *keys), self.lines, self.problems)

    def table(self, key: str) -> Table:
        """A table by its key; empty where there is none."""
        self.take(key, "a table", lambda value: isinstance(value, dict))
        return self.inner(key)

    def tables(self, key: str) -> dict[str, Table]:
        """Tables with names: ``[data.adult]``."""

        def fits(value: Any) -> bool:
            return isinstance(value, dict) and bool(value) and all(isinstance(each, dict) for each in value.values())

        found = self.take(key, f"tables with names, such as [{key}.people]", fits, required=True)
        return {name: self.inner(key, name) for name in found or ()}

    def array(self, key: str) -> list[Table]:
        """Tables of an array: ``[[grid]]``."""

        def fits(value: Any) -> bool:
            return isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in value)

        found = self.take(key, f"at least one table [[{key}]]", fits, required=True) or []
        return [Table(each, (key, str(i)), self.lines, self.problems) for i, each in enumerate(found, 1)]

    def close(self) -> None:
        """Note the keys that are unknown."""
        for key in self.content:
            if key not in self.taken:
                known = sorted(self.taken)
                self.note(key, f"one of {', '.join(known)}", f"an unknown key{close_to(key, known)}")


def is_text(value: object) -> bool:
    """Say whether a value is a text that is not empty."""
    return isinstance(value, str) and bool(value)


def are_texts(value: object) -> bool:
    """Say whether a value is a list of such texts."""
    return isinstance(value, list) and all(map(is_text, value))


def is_whole(value: object) -> bool:
    """Say whether a value is a whole number."""
    return isinstance(value, int) and not isinstance(value, bool)
