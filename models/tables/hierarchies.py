"""Generalisation hierarchies: how the values of a categorical attribute are grouped, level by level."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TypeAlias

import numpy as np

from maxent.models.arguments import shorten, shorten_list
from maxent.models.arrays import IntArray
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.files.input_files import read_input
from maxent.models.reading import Reader, alike, cleaned, size_text, told_apart
from maxent.models.tables.cells import ONLY_SPELLING
from maxent.models.tables.csv_files import decoded
from maxent.models.tables.frame import LISTED, listed

MAX_BYTES = 50_000_000  # bytes of a file


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The groups of some values: ``levels[l][v]`` is the name of the group of value v at level l."""

    levels: tuple[tuple[str, ...], ...]

    @property
    def values(self) -> tuple[str, ...]:
        """The values that are grouped."""
        return self.levels[0]

    def groups(self, values: Sequence[str]) -> IntArray:
        """Numbers of the groups of some of the values, shape (n_levels, len(values)), those of level 0 being unique.

        Levels that are no other way to split are left out; raises `KeyError` for a value that is not there.
        """
        place = {value: i for i, value in enumerate(self.values)}
        chosen = [place[value] for value in values]
        kept = [np.arange(len(values))]
        for level in self.levels[1:]:
            numbers: dict[str, int] = {}
            groups = np.array([numbers.setdefault(level[i], len(numbers)) for i in chosen], np.int64)
            if 1 < len(numbers) <= kept[-1].max():
                kept.append(groups)
        return np.stack(kept)


# A hierarchy, a file of one, or its rows
HierarchySource: TypeAlias = "Hierarchy | str | PathLike[str] | Sequence[Sequence[str]]"


def read_hierarchy(source: HierarchySource, name: str = "hierarchy", reader: Reader | None = None) -> Hierarchy:
    """Read a hierarchy: a row per value, which is followed by its parent, its parent's parent, and so on.

    A file is CSV without a header, as ARX writes it; the last column may stand for all values (``*``).
    """
    reader = reader or Reader()
    if isinstance(source, Hierarchy):
        return source
    if isinstance(source, (str, PathLike)):
        name, rows = str(source), _read(Path(source), reader)
    elif not isinstance(source, Sequence) or any(
        isinstance(row, str) or not isinstance(row, Iterable) for row in source
    ):
        raise invalid(name, "argument", "hierarchy", "a file, or rows of a value and its parents", shorten(source))
    else:
        rows = [(i, [str(cell) for cell in row]) for i, row in enumerate(source, 1)]
    if not rows:
        raise invalid(name, "file", "rows", "at least one value and its parents", "no rows")
    rows = [(line, [reader.reading.form(cell) for cell in row]) for line, row in rows]
    if problems := [*_problems(rows), *_spelling_problems(name, rows, reader)]:
        raise InvalidInput(name, problems)
    return Hierarchy(tuple(zip(*(row for _, row in rows), strict=True)))


def read_hierarchies(
    sources: Mapping[str, HierarchySource] | None, reader: Reader | None = None
) -> dict[str, Hierarchy] | None:
    """The hierarchies of attributes, each read as `read_hierarchy` does; None of none."""
    if sources is None:
        return None
    return {name: read_hierarchy(source, name, reader) for name, source in sources.items()}


def hierarchy_files(folder: str | PathLike[str], columns: Sequence[str]) -> dict[str, str]:
    """The file ``COLUMN.csv`` of each of the columns that has one in a folder."""
    paths = {name: os.path.join(folder, f"{name}.csv") for name in columns}
    found = {name: path for name, path in paths.items() if os.path.isfile(path)}
    if not found:
        expected = f"a folder with a file COLUMN.csv for some of {shorten_list(columns)}"
        raise invalid(str(folder), "folder", "hierarchies", expected, "none" if os.path.isdir(folder) else "no folder")
    return found


def hierarchy_problems(hierarchies: Mapping[str, Hierarchy], domains: Mapping[str, Sequence[str]]) -> Iterator[Problem]:
    """Yield what keeps hierarchies from those who want to generalise attributes with these domains."""
    for attribute, hierarchy in hierarchies.items():
        where = f"attribute {shorten(attribute)}"
        if attribute not in domains:
            known = shorten_list(domains) if domains else "there is none"
            found = "no such attribute, or one of numbers, which are cut in two"
            yield Problem(where, "hierarchies", f"a categorical attribute of the tree ({known})", found)
        elif missing := [value for value in domains[attribute] if value not in set(hierarchy.values)]:
            expected, found = "a row for every value", f"none for {shorten_list(missing)}"
            rows = {cleaned(value): value for value in hierarchy.values}
            if spelled := [value for value in missing if cleaned(value) in rows]:
                expected += " (text='strip' reads all spellings of it)"
                found = f"one of {told_apart(rows[cleaned(spelled[0])])} for {told_apart(spelled[0])}"
            yield Problem(where, "hierarchies", expected, found)


def _read(path: Path, reader: Reader) -> list[tuple[int, list[str]]]:
    """The lines of a file that are not blank, with their numbers."""
    try:
        content = read_input(path, MAX_BYTES)
        if content is None:
            raise invalid(str(path), "file", "size", f"at most {size_text(MAX_BYTES)}", "a larger one")
    except OSError as error:
        raise invalid(str(path), "file", "path", "a readable file", error.strerror or type(error).__name__) from error
    lines = decoded(str(path), content, reader).splitlines(keepends=True)
    delimiter = ";" if lines and ";" in lines[0] else ","
    cells = csv.reader(lines, delimiter=delimiter)
    try:
        form = str if reader.reading.text == "exact" else str.strip
        return [(cells.line_num, [form(cell) for cell in row]) for row in cells if any(map(str.strip, row))]
    except csv.Error as error:
        raise invalid(str(path), f"line {cells.line_num}", "row", "comma-separated values", str(error)) from error


def _problems(rows: Sequence[tuple[int, Sequence[str]]]) -> Iterator[Problem]:
    """Yield what is wrong with the rows, of each kind at most as many as are worth listing."""
    width = len(rows[0][1])
    found: dict[str, list[Problem]] = {}
    value_of: dict[str, int] = {}
    parent_of: dict[tuple[int, str], tuple[str, int]] = {}
    for line, row in rows:
        for problem in _row_problems(line, row, width, value_of, parent_of):
            alike = found.setdefault(problem.field, [])
            alike.append(problem)
            if len(alike) <= LISTED:
                yield problem
    for alike in found.values():
        if len(alike) > LISTED:
            yield replace(alike[-1], where=f"and {len(alike) - LISTED} more lines", found="the like")


def _spelling_problems(source: str, rows: Sequence[tuple[int, Sequence[str]]], reader: Reader) -> list[Problem]:
    """Names of a level that differ only by blanks or Unicode form; notes those that differ only by case."""
    if reader.reading.text == "exact":
        return []
    problems = []
    for level in range(max(len(row) for _, row in rows)):
        lines: dict[str, int] = {}
        for line, row in rows:
            lines.setdefault(row[level] if level < len(row) else "", line)
        same, similar = alike(lines)
        for group in similar[:LISTED]:
            names = " and ".join(map(told_apart, group))
            reader.note(source, f"{names} in cell {level + 1} differ only by case, and are read as different names")
        for group in same:
            place = f"line {max(lines[name] for name in group)}"
            found = " and ".join(map(told_apart, group))
            problems.append(Problem(place, f"cell {level + 1}", ONLY_SPELLING, found))
    return listed(problems, len(problems), "names")


def _row_problems(
    line: int,
    row: Sequence[str],
    width: int,
    value_of: dict[str, int],
    parent_of: dict[tuple[int, str], tuple[str, int]],
) -> Iterator[Problem]:
    """Yield what is wrong with a row, given the rows above it, which it joins."""
    where = f"line {line}"
    if len(row) != width or width < 2:
        expected = f"{width} cells, as in the first row" if width > 1 else "a value and at least one parent"
        yield Problem(where, "cells", expected, str(len(row)))
        return
    if not all(row):
        yield Problem(where, "cell", "a name", "nothing")
    if (first := value_of.setdefault(row[0], line)) != line:
        yield Problem(where, "value", "each value once", f"that of line {first} again")
        return
    for level in range(1, width - 1):
        parent, first = parent_of.setdefault((level, row[level]), (row[level + 1], line))
        if parent != row[level + 1]:
            found = f"another than in line {first}"
            yield Problem(where, "parent", f"one parent of the group in cell {level + 1}", found)
