"""Generalised records that were published, read back: groups of rows that are alike, and the people they may be.

The text is that of `maxent.models.tables.generalized_records.GeneralizedTable.frame`: ranges ``42-61``, sets ``A|B``
with a backslash before each ``|`` or backslash that is part of a value; in CSV, what spreadsheets would run has an
apostrophe before it (`maxent.models.files.result_files`). The adversary's table says which columns are
numbers. There a column of sets is one of names, whatever they look like; and a column of ranges is one of numbers,
whatever else is in the table, which is then refused.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from maxent.models.arguments import shorten, shorten_list
from maxent.models.arrays import IntArray
from maxent.models.errors import ARGUMENT, InvalidInput, Problem, invalid
from maxent.models.files.result_files import is_formula, unguarded
from maxent.models.formats.release_reader import Records, ReleaseReader
from maxent.models.reading import Reader, Reading, cleaned, has_leading_zeros, spelled_alike, told_apart
from maxent.models.release import Attribute, Release, Target
from maxent.models.tables.cells import ONLY_SPELLING, categorical, numbers, refused, spelling_problems, understood
from maxent.models.tables.frame import Column, Frame, Source, alike, has_any, missing_columns, other_columns
from maxent.models.tables.generalized_records import GeneralizedTable
from maxent.models.tables.qi_table import QITable, declared_values, read_counted, read_qi, row_keys
from maxent.models.tables.table_files import FORMATS, read_frame

Range: TypeAlias = tuple[float, float]
Names: TypeAlias = frozenset[str]
_T = TypeVar("_T")

_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_RANGE = re.compile(rf"\s*({_NUMBER})(?:-({_NUMBER}))?\s*")


@dataclass(frozen=True, eq=False)
class PublishedRecords:
    """Published rows, in their order, in groups with the same box.

    ``table``: its boxes are all different, and every one is that of a row; they are sorted by where they first appear.
    ``lines`` of shape (n_rows,): where each row is: the line of a CSV file (the header is line 1), else the number of
    the row, from 1. ``source``, ``unit``: what the rows were read from, and what ``lines`` are: ``line`` or ``row``.
    ``private``: columns that were left out, as the adversary's table has none of these names.
    """

    table: GeneralizedTable
    lines: IntArray
    source: str
    unit: Literal["line", "row"]
    private: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.table.boxes[0])

    @cached_property
    def counts(self) -> IntArray:
        """Rows of each group and class, shape (n_groups, n_classes)."""
        shape = (len(self), len(self.table.target.classes))
        flat = np.ravel_multi_index((self.table.box, self.table.y), shape)
        return np.bincount(flat, minlength=shape[0] * shape[1]).reshape(shape)

    @cached_property
    def first(self) -> IntArray:
        """Line of the first row of each group, shape (n_groups,)."""
        return self.lines[np.unique(self.table.box, return_index=True)[1]]


READER = ReleaseReader(
    "records",
    "a table of generalised records",
    (".csv", ".csv.gz", *FORMATS),
    lambda path, reader: path,  # which `read_published` reads, with the table that says what its columns are
)


def read_published(
    source: Records,
    qi: Source,
    *,
    target: str | None = None,
    count: str | None = None,
    reader: Reader | None = None,
) -> tuple[PublishedRecords, QITable]:
    """Read generalised records together with the adversary's table, which says what their columns are.

    The target is by default the only column that this table lacks; other such columns are left out, or refused where
    their name is nearly one of it.
    """
    classes: Sequence[str] = ()
    declared: dict[str, tuple[str, ...]] = {}
    if isinstance(source, GeneralizedTable):
        declared = declared_values(source.attributes, source.target)
        names = [attribute.name for attribute in source.attributes if attribute.role == "public"]
        target, classes = source.target.name, source.target.classes
        source = source.frame()[[*names, target]]
    if not (target is None or isinstance(target, str)):
        raise invalid("options", ARGUMENT, "target", "the name of a column", shorten(target))
    reader = reader or Reader()
    # The names in a cell are read one by one.
    unread = reader.reading_as(replace(reader.reading, text="exact", na=()))
    cells = _as_meant(read_frame(source, "records", read_frame(source, "records", [], unread).header, unread))
    frame = understood(cells, reader, declared)
    others = [name for name in cells.header if name != target]
    people, _ = read_counted(qi, "qi", others, None, [], merge=True, reader=reader, declared=declared)
    target, names, private = _roles(frame, people, target)
    problems: list[Problem] = []
    read = [_read_column(cells, people, name, problems, declared.get(name, ())) for name in names]
    found, y = _classes(frame, target, classes, problems)
    if problems:
        raise InvalidInput(frame.source, problems)
    boxes, box = _grouped([boxes for _, boxes, _ in read], [codes for _, _, codes in read])
    attributes = tuple(attribute for attribute, _, _ in read)
    table = GeneralizedTable(Target(target, found), attributes, boxes, box, y)
    records = PublishedRecords(table, frame.lines, frame.source, frame.unit, private)
    return records, read_qi(qi, Release(table.target, attributes, ()), count=count, reader=reader)


def _roles(frame: Frame, people: Frame, target: str | None) -> tuple[str, list[str], tuple[str, ...]]:
    """The column of the class, those that the adversary's table has, too, and those that it lacks."""
    if not has_any(frame.header, [*people.header, *([] if target is None else [target])]):
        expected = f"columns of {people.source} and the class's"
        raise InvalidInput(frame.source, [Problem(frame.heading, "columns", expected, other_columns(frame.header))])
    problems: list[Problem] = list(frame.problems)
    target = _target(frame, people, target, problems)
    attributes = [name for name in dict.fromkeys(frame.header) if name != target]
    names = [name for name in attributes if name in people.header]
    private = tuple(name for name in attributes if name not in people.header)
    if target is not None:
        misspelt = missing_columns(people, [name for name in private if alike(name, people.header)])
        problems += [replace(p, where=f"{people.source}, {p.where}") for p in misspelt]
        if not names and not misspelt:
            expected = f"a column beside the class that {people.source} has, too"
            problems.append(Problem(frame.heading, "attributes", expected, shorten_list(private) or "none"))
    if not len(frame.lines):
        problems.append(Problem("rows", "records", "at least one row", "none"))
    if problems or target is None:
        raise InvalidInput(frame.source, problems)
    return target, names, private


def _grouped(
    boxes: Sequence[npt.NDArray[Any]], codes: Sequence[IntArray]
) -> tuple[tuple[npt.NDArray[Any], ...], IntArray]:
    """The boxes of the groups by attribute, in order of their first rows, and the group of each row."""
    keys = row_keys(np.column_stack(codes), [len(each) for each in boxes])
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    number = np.argsort(np.argsort(first))
    first = np.sort(first)
    return tuple(each[of_row[first]] for each, of_row in zip(boxes, codes, strict=True)), number[group]


def _as_meant(frame: Frame) -> Frame:
    """The texts of a CSV file, or of a workbook, without what was put before them for spreadsheets.

    A file with a text that these would run was written literally, and has them as they are meant.
    """
    if not frame.text:
        return frame
    texts = [*frame.header, *(text for column in frame.columns.values() for text in column.texts())]
    if any(map(is_formula, texts)):
        return frame
    columns = {
        unguarded(name): Column(column.codes, np.array([unguarded(text) for text in column.texts()], dtype=object))
        for name, column in frame.columns.items()
    }
    return replace(frame, header=tuple(map(unguarded, frame.header)), columns=columns)


def _target(frame: Frame, people: Frame, target: str | None, problems: list[Problem]) -> str | None:
    """The column of the class; None, and the problem noted, when it is not clear which one that is."""
    if target is not None:
        missing = missing_columns(frame, [target])
        problems += missing
        return None if missing else target
    lacking = [name for name in dict.fromkeys(frame.header) if name not in people.header]
    if len(lacking) == 1:
        return lacking[0]
    expected = f"the name of the class's column, or a single one that {people.source} lacks"
    problems.append(Problem(frame.heading, "target", expected, shorten_list(lacking) if lacking else "none"))
    return None


def _read_column(
    frame: Frame, people: Frame, name: str, problems: list[Problem], declared: Sequence[str]
) -> tuple[Attribute, npt.NDArray[Any], IntArray]:
    """One attribute: what it is, its different boxes, and which of them each row has."""
    column, theirs = frame.columns[name], people.columns[name]
    reading = people.reader.reading
    texts = [*column.texts(), ""]  # the last stands for cells without a value, whose code is -1
    ranges = [_range(reading.form(text)) for text in texts]
    filled = {text for text in theirs.texts() if text}
    if _is_numeric(texts[:-1], ranges[:-1], theirs, filled):
        found, codes = _numbered(ranges, column.codes)
        expected = f"a number or a range, such as 42-61, as {people.source} has numbers"
        _note_refused(frame, name, ranges, texts, expected, problems)
        bounds = np.array([pair or (np.nan, np.nan) for pair in found], np.float64).reshape(-1, 2) + 0.0
        return Attribute(name, "numeric"), bounds, codes
    sets = [_names(text, reading, declared) for text in texts]
    if (theirs.codes >= 0).all():  # else an empty cell is a value like others
        sets = [names if text else None for text, names in zip(texts, sets, strict=True)]
    _note_refused(frame, name, sets, texts, r"names joined by |, with a backslash before | and \ in names", problems)
    found_sets, codes = _numbered(sets, column.codes)
    domain = sorted(filled.union(*(names or () for names in found_sets)))
    for group in spelled_alike(domain, cleaned) if reading.text == "refuse" else ():
        problems.append(
            Problem(f"column {shorten(name)}", "values", ONLY_SPELLING, " and ".join(map(told_apart, group)))
        )
    place = {value: i for i, value in enumerate(domain)}
    held = np.zeros((len(found_sets), len(domain)), bool)
    for row, names in zip(held, found_sets, strict=True):
        row[[place[value] for value in names or ()]] = True
    return Attribute(name, "categorical", tuple(domain)), held, codes


def _numbered(values: Sequence[_T], codes: IntArray) -> tuple[list[_T], IntArray]:
    """The different values that rows have, and which of them each row has; ``codes`` index ``values``."""
    used, index = np.unique(codes, return_inverse=True)
    number: dict[_T, int] = {}
    of_used = [number.setdefault(values[code], len(number)) for code in used.tolist()]
    return list(number), np.array(of_used, np.int64)[index]


def _note_refused(
    frame: Frame, name: str, parsed: Sequence[object], texts: Sequence[str], expected: str, problems: list[Problem]
) -> None:
    """Note the cells that mean nothing, None in ``parsed``."""
    bad = np.array([value is None for value in parsed])
    if bad[frame.columns[name].codes].any():
        problems += refused(frame, name, bad, list(texts[:-1]), expected, expected)


def _is_numeric(texts: Sequence[str], ranges: Sequence[Range | None], theirs: Column, filled: set[str]) -> bool:
    """Whether an attribute is numbers, see the text of this module."""
    if any("|" in text for text in texts):
        return False
    numeric = not np.isnan(numbers(theirs)).any() and (theirs.numeric or not any(map(has_leading_zeros, filled)))
    return bool(filled) and (numeric or (None not in ranges and not filled.issuperset(texts)))


def _range(text: str) -> Range | None:
    """The two ends of a range, which are one where it is a number; None where it is neither."""
    match = _RANGE.fullmatch(text)
    if match is None:
        return None
    low, high = float(match[1]), float(match[2] or match[1])
    return (low, high) if -inf < low <= high < inf else None


def _names(text: str, reading: Reading, declared: Collection[str]) -> Names | None:
    """The names of a set, as they are read, None where a backslash is not before a ``|`` or a backslash."""
    names, escaped = [""], False
    for character in text:
        if escaped and character not in "|\\":
            return None
        if character == "|" and not escaped:
            names.append("")
        elif character != "\\" or escaped:
            names[-1] += character
        escaped = character == "\\" and not escaped
    if escaped:
        return None
    return frozenset(n if n in declared else "" if reading.absent(n) else reading.form(n) for n in names)


def _classes(
    frame: Frame, target: str, classes: Sequence[str], problems: list[Problem]
) -> tuple[tuple[str, ...], IntArray]:
    """The classes, sorted unless they are known, and that of each row."""
    column = frame.columns[target]
    problems += spelling_problems(frame, target)
    found = tuple(classes) or tuple(sorted({column.texts()[code] for code in np.unique(column.codes) if code >= 0}))
    return found, categorical(frame, target, found, problems, key="classes")
