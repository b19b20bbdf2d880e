"""Trees that are drawn as lines, each branch one deeper than the one above it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from maxent.models.errors import invalid
from maxent.models.tables.frame import shorten


@dataclass(frozen=True, slots=True)
class Line:
    """A line: its number in the file, its depth, and what follows the marks."""

    number: int
    depth: int
    text: str


def below(source: str, lines: Sequence[Line]) -> list[list[int]]:
    """The positions of the lines directly below each line, and last of all those at the depth of the first one.

    Raises
    ------
    InvalidInput
        For a line that is more than one deeper than the one above it, or less deep than the first.
    """
    found: list[list[int]] = [[] for _ in lines]
    first: list[int] = []
    path: list[int] = []
    for at, line in enumerate(lines):
        depth = line.depth - lines[0].depth
        if not 0 <= depth <= len(path):
            refuse(source, line, "a line at most one deeper than the one above it, and not less deep than the first")
        del path[depth:]
        (found[path[-1]] if path else first).append(at)
        path.append(at)
    return [*found, first]


def refuse(source: str, line: Line, expected: str) -> NoReturn:
    """Raise the error of a line."""
    raise invalid(source, f"line {line.number}", "text", expected, shorten(line.text.strip()))
