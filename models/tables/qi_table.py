"""The adversary's table: the people that a release is about, without their classes, and keys that name people."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from maxent.models.arguments import shorten
from maxent.models.arrays import IntArray
from maxent.models.errors import ARGUMENT, InvalidInput, Problem
from maxent.models.files.input_files import FilePath
from maxent.models.reading import Reader, keep_memory
from maxent.models.release import Attribute, Release, Target
from maxent.models.tables.cells import categorical, encoded_columns, named_frame, own_names, value_in_words, whole
from maxent.models.tables.classes import class_names, numbers_in_words
from maxent.models.tables.frame import Frame, Source, give_back, listed, missing_columns
from maxent.models.tables.table_files import large_files, read_frame

if TYPE_CHECKING:
    from pandas import DataFrame

    from maxent.models.tables.out_of_core import TableGroups
    from maxent.models.tables.training import Training


# Keys of people: a column that names another person in each row, by which tables are linked.


def keys_of(frame: Frame, name: str, problems: list[Problem]) -> tuple[str, ...]:
    """The key of each row in a column that names people; rows without one, or with that of another, are problems."""
    column = frame.columns[name]
    texts = column.texts()
    if column.values.dtype.kind == "f":  # whole numbers beside missing ones, as pandas has them
        texts = [text.removesuffix(".0") for text in texts]
    first: dict[str, int] = {}
    expected = "the key of a person, another one on each " + frame.unit
    wrong = []
    for row, code in enumerate(column.codes.tolist()):
        if code < 0:
            wrong.append(Problem(frame.place(row), name, expected, "none"))
        elif (before := first.setdefault(texts[code], row)) != row:
            wrong.append(
                Problem(frame.place(row), name, expected, f"{texts[code]!r} again, as on {frame.place(before)}")
            )
    problems += listed(wrong, len(wrong), f"{frame.unit}s")
    return tuple(texts[code] if code >= 0 else "" for code in column.codes.tolist())


@dataclass(frozen=True, slots=True, eq=False)
class QITable:
    """Distinct quasi-identifiers with the number of individuals of each, in lexicographic order of their codes.

    Attributes
    ----------
    attributes : tuple of Attribute
        The public attributes, in the order of the release.
    codes : integers, shape (n_distinct, n_attributes)
        Indices into ``levels``.
    levels : tuple of arrays, one per attribute
        Categorical: its declared values (str). Numeric: the sorted distinct values present (float64), at the end NaN
        where the attribute has missing values and some individual has none.
    counts : int64, shape (n_distinct,)
        Individuals, all positive.
    lines : int64, shape (n_distinct,)
        Where each first appears: the line of a CSV file (the header is line 1), else the number of the row, from 1,
        which for several files is counted through all of them.
    source : str
        The name of the file, the pattern for several files, or ``qi`` for a DataFrame.
    unit : str
        What ``lines`` are: ``line`` or ``row``, or where all whom several trees do not tell apart are one, ``cell``.
    ordered : bool
        Whether these are single rows in their order, of which several may be equal.
    """

    attributes: tuple[Attribute, ...]
    codes: IntArray
    levels: tuple[npt.NDArray[Any], ...]
    counts: IntArray
    lines: IntArray
    source: str
    unit: Literal["line", "row", "cell"] = "line"
    ordered: bool = False

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def distinct(self) -> int:
        """Number of distinct quasi-identifiers; single rows in their order may have the same one."""
        return len(np.unique(self.codes, axis=0)) if self.ordered else len(self)

    @property
    def individuals(self) -> int:
        """Individuals in the table."""
        return int(self.counts.sum())

    def frame(self) -> DataFrame:
        """Return the attributes (strings, floats) and ``count``; row i is quasi-identifier i."""
        names = [attribute.name for attribute in self.attributes]
        columns = [level[codes] for level, codes in zip(self.levels, self.codes.T, strict=True)]
        return named_frame([*columns, self.counts], [*names, *own_names(["count"], names)])

    def named(self, index: int) -> dict[str, str | float]:
        """A quasi-identifier as values by the names of attributes."""
        cells = (level[code] for level, code in zip(self.levels, self.codes[index], strict=True))
        both = zip(self.attributes, cells, strict=True)
        return {each.name: str(cell) if each.values is not None else float(cell) for each, cell in both}

    def describe(self, index: int) -> str:
        """Return a quasi-identifier for people to read: ``Education=Masters, Age=3``."""
        return describe_codes(self.attributes, self.levels, self.codes[index])


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Rows in the order of the source, without those that stand for 0 individuals; equal ones may be merged.

    ``codes`` (n_rows, n_attributes) index ``levels`` as in `QITable`, for the ``attributes`` named here;
    ``classes`` (n_rows,) index the target's classes; ``counts`` (n_rows,) are individuals, all positive;
    ``lines`` (n_rows,) are lines of the file or numbers of rows, as ``unit`` says, which ``locate`` turns into words.
    ``people`` are the keys of the persons, all different, where a column has them.
    """

    attributes: tuple[Attribute, ...]
    codes: IntArray
    levels: tuple[npt.NDArray[Any], ...]
    classes: IntArray
    counts: IntArray
    lines: IntArray
    source: str
    unit: Literal["line", "row"]
    locate: Callable[[int], str]
    people: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def individuals(self) -> int:
        """Individuals in the data."""
        return int(self.counts.sum())

    def place(self, index: int) -> str:
        """Name the place of a row: ``line 7``."""
        return self.locate(int(self.lines[index]))

    def describe(self, index: int) -> str:
        """Return the attributes of a row for people to read: ``Education=Masters, Age=3``."""
        return describe_codes(self.attributes, self.levels, self.codes[index])


def read_qi(
    source: Source, release: Release, *, count: str | None = None, reader: Reader | None = None, rows: bool = False
) -> QITable:
    """Read the adversary's table: one row per individual, or per ``count`` of them.

    Columns that the release does not call public attributes are ignored. Large files, and those of a pattern, are
    merged out of core; with ``rows`` every row is one of its own, in the order of the source.
    """
    keep_memory()
    records = read_rows(source, "qi", release, release.public, count, merge=not rows, reader=reader)
    give_back()
    if rows:
        each = np.repeat(np.arange(len(records)), records.counts)
        ones = np.ones(len(each), np.int64)
        found = records.attributes, records.codes[each], records.levels, ones, records.lines[each]
        return QITable(*found, records.source, records.unit, ordered=True)
    keys = row_keys(records.codes, [len(level) for level in records.levels])
    order = None if (keys[1:] > keys[:-1]).all() else np.argsort(keys)
    if order is None or (np.diff(keys[order]) > 0).all():  # no two are the same
        counts, lines = records.counts, records.lines
        if order is not None:
            counts, lines = counts[order], lines[order]
            for column in records.codes.T:  # in their place: of many people they take most of the memory
                column[:] = column[order]
        return QITable(records.attributes, records.codes, records.levels, counts, lines, records.source, records.unit)
    del order
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return QITable(
        attributes=records.attributes,
        codes=records.codes[first],
        levels=records.levels,
        counts=sum_by(inverse, records.counts, len(first)),
        lines=records.lines[first],
        source=records.source,
        unit=records.unit,
    )


def people_of(training: Training) -> tuple[QITable, IntArray]:
    """The adversary's table about records that were read, and their classes, shape (n_distinct, n_classes)."""
    pairs = [pair for pair in zip(training.attributes, training.columns, strict=True) if pair[0].role == "public"]
    coded = [
        np.unique(column, return_inverse=True) if a.values is None else (np.array(a.values, dtype=object), column)
        for a, column in pairs
    ]
    levels = tuple(level for level, _ in coded)
    codes = np.column_stack([codes for _, codes in coded])
    keys = row_keys(codes, [len(level) for level in levels])
    _, first, inverse, counts = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    public = tuple(attribute for attribute, _ in pairs)
    table = QITable(public, codes[first], levels, counts.astype(np.int64), first + 1, "qi", "row")
    truth = np.zeros((len(first), len(training.target.classes)), np.int64)
    np.add.at(truth, (inverse, training.y), 1)
    return table, truth


def read_rows(
    source: Source,
    name: str,
    release: Release,
    attributes: Sequence[Attribute],
    count: str | None,
    *,
    target: bool = False,
    count_optional: bool = False,
    merge: bool = False,
    reader: Reader | None = None,
    who: str | None = None,
) -> Records:
    """Read and check the columns of attributes, the target if asked for, ``count``, and keys of people (``who``)."""
    problems: list[Problem] = []
    own = release.target.columns
    taken = {*own, *(attribute.name for attribute in release.attributes)}
    if count is not None and (not isinstance(count, str) or count in taken):
        expected = "a column that is neither an attribute nor the target"
        problems.append(Problem(ARGUMENT, "count", expected, shorten(count)))
        count = None
    needed = [attribute.name for attribute in attributes] + [*own] * target
    frame, counts = read_counted(
        source,
        name,
        [*needed, who] if who else needed,
        count,
        problems,
        count_optional=count_optional,
        merge=merge,
        reader=reader,
        declared=declared_values(attributes, release.target),
    )
    keep: IntArray | slice = slice(None) if (counts > 0).all() else np.flatnonzero(counts > 0)
    codes, levels = encoded_columns(frame, attributes, keep, problems)
    classes = np.zeros(len(frame.lines), dtype=np.int64)
    if target and release.target.name in (named := class_names(frame, release.target)).columns:
        of, words = release.target, numbers_in_words(release.target)
        classes = categorical(named, of.name, of.classes, problems, key="classes", expected=words)
    people = keys_of(frame, who, problems) if who and who in frame.columns else ()
    if problems:
        raise InvalidInput(frame.source, [_as_stated(each, release) for each in problems])
    return Records(
        tuple(attributes),
        codes,
        levels,
        classes[keep],
        counts[keep],
        frame.lines[keep],
        frame.source,
        frame.unit,
        frame.locate,
        people,
    )


def _as_stated(problem: Problem, release: Release) -> Problem:
    """A problem of a column that is missing or has no numbers, with the statement that names the column."""
    if problem.expected.startswith(("a column of this name", "a finite number")):
        for document in release.statements:
            if (use := document.columns.get(problem.field)) is not None:
                where = ", ".join([str(document.name), *[use.place] * (use.place is not None)])
                return replace(problem, expected=f"{problem.expected}, as {where} has it")
    return problem


def declared_values(attributes: Iterable[Attribute], target: Target) -> dict[str, tuple[str, ...]]:
    """The values that a release names, by column: none of them is a missing one."""
    named = {a.name: a.values for a in attributes if a.values is not None}
    return named | {part.name: part.classes for part in target.of or (target,)}


def read_counted(
    source: Source,
    name: str,
    needed: Sequence[str],
    count: str | None,
    problems: list[Problem],
    *,
    count_optional: bool = False,
    merge: bool = False,
    reader: Reader | None = None,
    declared: Mapping[str, Collection[str]] | None = None,
) -> tuple[Frame, IntArray]:
    """Read the needed columns, and how many individuals each row stands for, -1 where refused.

    With ``merge``, equal rows of large files and of patterns become one, where the first of them is.
    """
    files, found = large_files(source, reader) if merge else ((), None)
    groups: TableGroups | None = None
    if files:
        from maxent.models.tables.out_of_core import aggregate

        groups = aggregate(files, str(source), needed, count, reader, declared)
    wanted = needed if count is None else [*needed, count]
    frame = read_frame(source, name, wanted, reader, declared, found) if groups is None else groups.frame
    problems += frame.problems
    problems += missing_columns(frame, needed if count is None or count_optional else [*needed, count])
    counts = frame.repeats
    if count is not None and count in frame.header:
        counts = whole(frame, count, 0, problems) if groups is None else _merged(groups, files, count, problems)
    if not (counts != 0).any():
        none = "rows of 0 individuals only" if len(counts) else "no rows"
        problems.append(Problem("rows", count or "individuals", "at least one individual", none))
    return frame, counts


def _merged(groups: TableGroups, files: Sequence[FilePath], count: str, problems: list[Problem]) -> IntArray:
    """Return the individuals of merged rows; when some were refused, the files are read again to say which."""
    counts = groups.individuals
    if (counts < 0).any() or counts.sum(dtype=np.float64) >= 2**53:
        from maxent.models.tables.out_of_core import aggregate

        frame, known = groups.frame, len(problems)
        whole(aggregate(files, frame.source, [count], None, frame.reader).frame, count, 0, problems)
        if len(problems) == known:  # they are whole numbers with decimals, which only their column as a whole shows
            expected = "whole numbers without decimals (where these follow a comma, give csv_decimal='comma')"
            problems.append(Problem("rows", count, expected, "numbers with a comma"))
    return counts


def row_keys(codes: IntArray, sizes: Sequence[int]) -> IntArray:
    """Return one integer per row of codes; keys are ordered as the rows are, lexicographically."""
    keys = np.zeros(len(codes), dtype=np.int64)
    span = 1
    for column, size in zip(codes.T, sizes, strict=True):
        if span * size >= 2**62:  # ranks serve as well as keys, and there are no more of them than rows
            keys = np.unique(keys, return_inverse=True)[1]
            span = len(codes)
        keys = keys * size + column
        span *= size
    return keys


def sum_by(index: IntArray, counts: IntArray, size: int) -> IntArray:
    """Sum counts by index; exact, as totals are below 2**53."""
    return np.bincount(index, weights=counts, minlength=size).astype(np.int64)


def describe_codes(attributes: Sequence[Attribute], levels: Sequence[npt.NDArray[Any]], codes: IntArray) -> str:
    """Return a quasi-identifier for people to read."""
    values = [level[code] for level, code in zip(levels, codes.tolist(), strict=True)]
    texts = map(value_in_words, values)
    return ", ".join(f"{attribute.name}={text}" for attribute, text in zip(attributes, texts, strict=True))
