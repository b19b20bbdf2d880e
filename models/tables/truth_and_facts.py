"""Companions of the adversary's table: true classes, background knowledge, class totals, and stakes of decisions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from maxent.models.arguments import shorten, shorten_list
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.errors import ARGUMENT, InvalidInput, Problem, invalid
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Release, Target
from maxent.models.tables.cells import categorical, encode_column, finite, whole
from maxent.models.tables.classes import class_names, numbers_in_words
from maxent.models.tables.frame import Frame, Source, has_any, listed, missing_columns, other_columns
from maxent.models.tables.qi_table import QITable, Records, declared_values, read_rows, row_keys, sum_by
from maxent.models.tables.table_files import read_frame

_ANY = -1
_NONE = -2


@dataclass(frozen=True, slots=True, eq=False)
class Fact:
    """Background knowledge: of the individuals in ``rows`` of the table, ``count`` are of a class."""

    line: int
    source: str
    rows: IntArray
    class_index: int
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """Weights that people had in training: of each row its quasi-identifier, class, individuals and weight."""

    owner: IntArray
    classes: IntArray
    counts: IntArray
    weight: FloatArray


# Everybody had the same weight
ALIKE = Weighed(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


def read_truth(
    source: Source, release: Release, table: QITable, *, count: str | None = None, reader: Reader | None = None
) -> IntArray:
    """Read the true classes of the individuals in a table, shape (n_distinct, n_classes), rows as there."""
    return _placed(source, release, table, count, reader)[0]


def read_weights(
    source: Source, weights: FloatArray, release: Release, table: QITable, *, reader: Reader | None = None
) -> Weighed:
    """Read the weights that the individuals of a truth had in training; ``weights`` has one of each row."""
    _, truth, owner = _placed(source, release, table, None, reader)
    if len(weights) != len(owner):
        expected = f"{len(owner):,} weights, one for each row of {truth.source}"
        raise InvalidInput("options", [Problem(ARGUMENT, "sample_weight", expected, f"{len(weights):,}")])
    return Weighed(owner, truth.classes, truth.counts, weights)


def _placed(
    source: Source, release: Release, table: QITable, count: str | None, reader: Reader | None
) -> tuple[IntArray, Records, IntArray]:
    """Individuals of each quasi-identifier and class, the rows that they are from, and where these are in a table."""
    truth = read_rows(
        source,
        "truth",
        release,
        table.attributes,
        count,
        target=True,
        count_optional=True,
        merge=not table.ordered,
        reader=reader,
    )
    codes = recoded(truth.codes, truth.levels, table)
    if table.ordered:
        at = np.repeat(np.arange(len(truth)), truth.counts)
        if len(at) != len(table) or (differs := (codes[at] != table.codes).any(axis=1)).any():
            row = int(np.argmax(differs)) if len(at) == len(table) else min(len(at), len(table))
            expected = f"the {len(table):,} rows of {table.source} in their order, with their classes"
            found = f"{len(at):,} rows" if len(at) != len(table) else f"another quasi-identifier in row {row + 1:,}"
            raise invalid(truth.source, "rows", "order", expected, found)
        return np.eye(len(release.target.classes), dtype=np.int64)[truth.classes[at]], truth, np.arange(len(table))
    known: BoolArray = np.all(codes >= 0, axis=1)
    sizes = [len(level) for level in table.levels]
    keys = row_keys(np.vstack([table.codes, codes[known]]), sizes)
    own, theirs = keys[: len(table)], keys[len(table) :]
    at = np.minimum(np.searchsorted(own, theirs), len(table) - 1)
    found = own[at] == theirs
    known[known] = found
    classes = len(release.target.classes)
    cells = at[found] * classes + truth.classes[known]
    result = sum_by(cells, truth.counts[known], len(table) * classes).reshape(len(table), classes)
    if problems := _strangers(truth, ~known, table) + _differences(result, table):
        raise InvalidInput(truth.source, problems)
    return result, truth, at


def read_facts(source: Source, release: Release, table: QITable, *, reader: Reader | None = None) -> tuple[Fact, ...]:
    """Read background knowledge: in each row public attributes, of which empty ones match anything, and a class."""
    public = {attribute.name: j for j, attribute in enumerate(table.attributes)}
    target = release.target
    frame = read_frame(
        source, "facts", [*public, *target.columns, "count"], reader, declared_values(table.attributes, target)
    )
    counted = "count" in frame.columns and "count" not in {*public, *target.columns}
    problems = [*frame.problems, *missing_columns(frame, target.columns), *_fact_columns(frame, release)]
    codes = np.full((len(frame.lines), len(public)), _ANY, dtype=np.int64)
    for name, j in public.items():
        if name in frame.columns:
            codes[:, j] = _fact_codes(frame, table.attributes[j], table.levels[j], problems)
    classes = np.zeros(len(frame.lines), dtype=np.int64)
    named, words = class_names(frame, target), numbers_in_words(target)
    if target.name in named.columns:
        classes = categorical(named, target.name, target.classes, problems, key="classes", expected=words)
    counts = whole(frame, "count", 1, problems) if counted else np.ones(len(frame.lines), dtype=np.int64)
    if problems:
        raise InvalidInput(frame.source, problems)
    matches = _matches(codes, table)
    for i, rows in enumerate(matches):
        if not len(rows):
            problems.append(
                Problem(frame.place(i), "fact", f"a quasi-identifier of {table.source} that matches", "none")
            )
        elif counts[i] > (there := int(table.counts[rows].sum())):
            problems.append(
                Problem(frame.place(i), "count", f"at most the {there} individuals that match", str(counts[i]))
            )
    if problems:
        raise InvalidInput(frame.source, listed(problems, len(problems), f"{frame.unit}s"))
    return tuple(
        Fact(int(frame.lines[i]), frame.source, rows, int(classes[i]), int(counts[i])) for i, rows in enumerate(matches)
    )


def read_marginal(source: Source, release: Release, individuals: int, *, reader: Reader | None = None) -> FloatArray:
    """Read how many individuals are of each class, as numbers or probabilities; none of one that is not listed."""
    target = release.target
    wanted = [*target.columns, "count", "probability"]
    frame = read_frame(source, "marginal", wanted, reader, declared_values((), target))
    problems = [*frame.problems, *missing_columns(frame, target.columns)]
    sized = [name for name in ("count", "probability") if name in frame.columns and name not in target.columns]
    if len(sized) != 1:
        found = "both" if sized else f"neither among {_names(frame, bool(frame.columns))}"
        problems.append(Problem(frame.heading, "count", "a column 'count' or 'probability'", found))
    weights = np.zeros(len(frame.lines))
    if sized == ["count"]:
        weights = whole(frame, "count", 0, problems).astype(np.float64)
    elif sized:
        shares = finite(frame, "probability", problems, expected="a probability in [0, 1]", low=0.0, high=1.0)
        weights = np.append(shares, np.nan)[frame.columns["probability"].codes]
    classes = np.arange(0)
    named, words = class_names(frame, target), numbers_in_words(target)
    if target.name in named.columns:
        classes = categorical(named, target.name, target.classes, problems, key="classes", expected=words)
        order = np.argsort(classes, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(classes[order])) + 1):
            if len(rows) > 1 and (index := int(classes[rows[0]])) >= 0:
                others = f" (and on {frame.in_words(len(rows) - 2)} more)" if len(rows) > 2 else ""
                found = f"{shorten(target.classes[index])} again (first on {frame.place(int(rows[0]))}){others}"
                problems.append(Problem(frame.place(int(rows[1])), target.name, "each class once", found))
    if not problems and sized == ["count"] and (total := int(weights.sum())) != individuals:
        problems.append(
            Problem("rows", "count", f"counts that sum to the {individuals} individuals", f"a sum of {total}")
        )
    if not problems and sized == ["probability"] and abs((share := math.fsum(weights)) - 1) > 1e-6:
        problems.append(Problem("rows", "probability", "probabilities that sum to 1", f"a sum of {share:.9g}"))
    if problems:
        raise InvalidInput(frame.source, problems)
    result = np.zeros(len(target.classes))
    result[classes] = weights if sized == ["count"] else weights / weights.sum() * individuals
    return result


def recoded(codes: IntArray, levels: Sequence[npt.NDArray[Any]], table: QITable) -> IntArray:
    """Codes of rows as a table has them, -1 for numbers that it has not; shape (n_rows, n_attributes)."""
    columns = [level_index(level, table.levels[j])[codes[:, j]] for j, level in enumerate(levels)]
    return np.column_stack([np.zeros((len(codes), 0), dtype=np.int64), *columns])


def level_index(values: npt.NDArray[Any], levels: npt.NDArray[Any]) -> IntArray:
    """Return the index of each value in the levels, -1 where it is none; declared levels are the same in both."""
    if levels.dtype == object:
        return np.arange(len(levels))
    at = np.minimum(np.searchsorted(levels, values), len(levels) - 1)
    return np.where((levels[at] == values) | (np.isnan(levels[at]) & np.isnan(values)), at, -1)


def _strangers(truth: Records, unknown: BoolArray, table: QITable) -> list[Problem]:
    """Name the quasi-identifiers of the truth that are not in the table."""
    rows = np.flatnonzero(unknown)
    keys = row_keys(truth.codes[rows], [len(level) for level in truth.levels])
    first = rows[np.sort(np.unique(keys, return_index=True)[1])]
    expected = f"a quasi-identifier of {table.source}"
    problems = (Problem(truth.place(row), "quasi-identifier", expected, truth.describe(row)) for row in first.tolist())
    return listed(problems, len(first), f"{truth.unit}s")


def _differences(found: IntArray, table: QITable) -> list[Problem]:
    """Name the quasi-identifiers whose individuals are not as many as in the table."""
    totals = found.sum(axis=1)
    different = np.flatnonzero(totals != table.counts).tolist()
    problems = (
        Problem(
            f"rows with {table.describe(i)}",
            "individuals",
            f"{table.counts[i]}, as in {table.source} (first on {table.unit} {table.lines[i]})",
            str(totals[i]),
        )
        for i in different
    )
    return listed(problems, len(different), "quasi-identifiers")


def _fact_columns(frame: Frame, release: Release) -> list[Problem]:
    """Refuse columns that facts cannot have: ignoring them would widen what is stated."""
    public = [attribute.name for attribute in release.public]
    private = {attribute.name for attribute in release.private}
    problems = []
    shown = has_any(frame.header, [*public, *private, *release.target.columns])
    for name in frame.header if shown else ():
        # pandas writes the index of a DataFrame under these names.
        if name in {*public, *release.target.columns, "count", ""} or name.startswith(("Unnamed: ", "__index_level_")):
            continue
        expected = (
            f"public attributes ({shorten_list(public)}), {shorten_list(release.target.columns)} and 'count' only"
        )
        found = "a private attribute, which is not in the adversary's table" if name in private else "another column"
        problems.append(Problem(frame.heading, name, expected, found))
    if not any(name in frame.header for name in public):
        expected = f"at least one public attribute ({shorten_list(public)})"
        problems.append(Problem(frame.heading, "quasi-identifier", expected, f"none among {_names(frame, shown)}"))
    return problems


def _names(frame: Frame, shown: bool) -> str:
    """The names of the columns, unless the source has none that belongs in it: then it may be any file."""
    return shorten_list(frame.header) if shown else other_columns(frame.header)


def _fact_codes(frame: Frame, attribute: Attribute, levels: npt.NDArray[Any], problems: list[Problem]) -> IntArray:
    """Return the levels a column of facts asks for, `_ANY` for empty cells, `_NONE` for numbers of nobody."""
    if attribute.values is not None:
        return categorical(frame, attribute.name, attribute.values, problems, optional=True)
    numbers = finite(frame, attribute.name, problems, optional=True)
    at = level_index(numbers, levels)
    lookup = np.where(np.isnan(numbers), _ANY, np.where(at < 0, _NONE, at))
    # Missing cells have code -1, which is the entry appended here.
    return np.append(lookup, _ANY)[frame.columns[attribute.name].codes]


def _matches(codes: IntArray, table: QITable) -> list[IntArray]:
    """Return for every row of codes the quasi-identifiers that agree with it wherever it is not `_ANY`."""
    result: list[IntArray] = [np.zeros(0, dtype=np.int64)] * len(codes)
    sizes = [len(level) for level in table.levels]
    patterns, which = np.unique(codes != _ANY, axis=0, return_inverse=True)
    for p, pattern in enumerate(patterns):
        columns = np.flatnonzero(pattern)
        asked = np.flatnonzero((which.ravel() == p) & (codes != _NONE).all(axis=1))
        stacked = np.vstack([table.codes, codes[asked]])[:, columns]
        keys = row_keys(stacked, [sizes[j] for j in columns])
        own, wanted = keys[: len(table)], keys[len(table) :]
        order = np.argsort(own, kind="stable")
        low = np.searchsorted(own[order], wanted, side="left")
        high = np.searchsorted(own[order], wanted, side="right")
        for i, start, stop in zip(asked.tolist(), low.tolist(), high.tolist(), strict=True):
            result[i] = order[start:stop]
    return result


# Tables of what decisions are worth, or cost: a row for each decision, a column for each class.


def read_stakes(
    source: Source, name: str, target: Target, reader: Reader | None = None, *, decision: str, unit: str
) -> FloatArray:
    """Read a matrix with a row for each decision, and a column for each class with what the decision then is worth."""
    frame = read_frame(source, name, list(target.classes), reader)
    problems = [*frame.problems, *missing_columns(frame, list(target.classes))]
    if not problems and not len(frame.lines):
        expected = f"a row for each {decision}"
        problems.append(Problem("rows", decision, expected, f"none among {other_columns(frame.header)}"))
    advice = f"0 where there is none: each {decision} needs one for each class"
    columns = [
        np.append(finite(frame, each, problems, expected=f"a {unit} of at least 0", low=0.0, advice=advice), np.nan)[
            frame.columns[each].codes
        ]
        for each in target.classes
        if each in frame.columns
    ]
    if problems:
        raise InvalidInput(frame.source, problems)
    return np.column_stack(columns)


# What is known of people, whichever columns that is: a row for each person, with some of the public attributes.


@dataclass(frozen=True, slots=True, eq=False)
class KnownColumns:
    """Columns of some public attributes, a row for each person; ``alike`` numbers those not told apart."""

    attributes: tuple[int, ...]
    codes: IntArray
    levels: tuple[npt.NDArray[Any], ...]
    source: str
    alike: IntArray

    def __len__(self) -> int:
        return len(self.codes)


def read_known(source: Source, release: Release, reader: Reader | None = None) -> KnownColumns:
    """Read those public attributes that a table has; its other columns only tell people apart."""
    names = [attribute.name for attribute in release.public]
    frame = read_frame(source, "qi", names, reader, declared_values(release.public, release.target))
    known = [j for j, a in enumerate(release.attributes) if a.role == "public" and a.name in frame.columns]
    problems = list(frame.problems)
    if not known and not problems:
        expected = f"a column of at least one public attribute, such as {shorten_list(names)}"
        raise invalid(frame.source, frame.heading, "columns", expected, shorten_list(frame.header) or "none")
    everybody = np.repeat(np.arange(len(frame.lines)), frame.repeats)
    if not len(everybody):
        raise invalid(frame.source, "rows", "individuals", "at least one individual", "no rows")
    coded = [encode_column(frame, release.attributes[j], everybody, problems) for j in known]
    if problems:
        raise InvalidInput(frame.source, problems)
    codes = np.column_stack([codes for codes, _ in coded])
    exact = frame.reader.reading_as(replace(frame.reader.reading, text="exact", na=()))
    others = [name for name in dict.fromkeys(frame.header) if name not in frame.columns]
    try:
        beside = read_frame(source, "qi", others, exact).columns.values() if others else ()
        cells = np.column_stack([codes, *(column.codes[everybody] for column in beside)])
        alike = np.unique(cells, axis=0, return_inverse=True)[1].ravel()
    except InvalidInput:  # a column of lists, or whatever else may be different for each of them
        alike = np.arange(len(codes))
    return KnownColumns(tuple(known), codes, tuple(levels for _, levels in coded), frame.source, alike)
