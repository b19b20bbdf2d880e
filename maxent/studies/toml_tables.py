"""Tables of a study file, whose entries are taken one by one, so that nothing in them goes unread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from maxent.models.errors import Problem
from maxent.models.tables.frame import shorten
from maxent.models.text.hints import close_to


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
