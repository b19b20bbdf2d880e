"""The people of several releases as one table: linked by a key, or one table within the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from maxent.models.arguments import shorten_list
from maxent.models.arrays import BoolArray, IntArray
from maxent.models.errors import ARGUMENT, InvalidInput, Problem, invalid
from maxent.models.reading import Reader
from maxent.models.release import Attribute
from maxent.models.successive.releases import Joined, group_name, join_releases
from maxent.models.tables.cells import value_in_words
from maxent.models.tables.frame import Source, listed
from maxent.models.tables.qi_table import QITable, read_qi, read_rows, row_keys, sum_by

Values = list[npt.NDArray[Any]]  # of each attribute: codes of a categorical one, numbers of a numeric one


@dataclass(frozen=True, slots=True, eq=False)
class PlacesOfReleases:
    """Where people are found first, as `maxent.models.tables.qi_table.QITable` says it."""

    lines: IntArray
    source: str
    unit: Literal["line", "row", "cell"]


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """The people of several releases: the table of everybody, and, where a column names them, their keys and rows."""

    joined: Joined
    table: QITable
    keys: npt.NDArray[Any] | None = None
    row: IntArray | None = None


def read_people(
    sources: Sequence[Source], joined: Joined, *, who: str | None = None, count: str | None = None, reader: Reader
) -> People:
    """Read who the people of several releases are: one table of all, or one each, linked by ``who``."""
    n = len(joined.names)
    if len(sources) not in (1, n):
        raise invalid("options", ARGUMENT, "qi", f"one table, or {n}: one for each release", str(len(sources)))
    if len(sources) == 1:
        if who is not None:
            raise invalid("options", ARGUMENT, "who", "none with one table, whose people are in all releases", who)
        found = People(joined, read_qi(sources[0], joined.release, count=count, reader=reader))
    elif who is None:
        tables = [read_qi(source, joined.release, count=count, reader=reader) for source in sources]
        named = [replace(t, source=f"qi {i}") if t.source == "qi" else t for i, t in enumerate(tables, 1)]
        found = _nested(named, joined)
    else:
        found = _linked(sources, joined, who, count, reader)
    if problems := list(_unknown(found)):
        raise InvalidInput(found.table.source, listed(problems, len(problems), "quasi-identifiers"))
    return found


def read_classes(source: Source, people: People, who: str | None, reader: Reader) -> IntArray:
    """The true classes of people who are linked by a key, shape (n_distinct, n_classes)."""
    if people.keys is None or people.row is None or who is None:
        expected = "none without who=, where releases have tables of their own"
        raise invalid("options", ARGUMENT, "truth", expected, "one")
    release = people.joined.release
    records = read_rows(source, "truth", release, (), None, target=True, reader=reader, who=who)
    keys = np.array(records.people, object)
    at = np.minimum(np.searchsorted(people.keys, keys), len(people.keys) - 1)
    strange = np.flatnonzero(people.keys[at] != keys).tolist()
    problems = [
        Problem(records.place(row), who, f"somebody of {people.table.source}", repr(keys[row])) for row in strange
    ]
    problems = listed(problems, len(problems), f"{records.unit}s")
    lacking = np.setdiff1d(np.arange(len(people.keys)), at).tolist() if not problems else []
    more = [
        Problem("rows", who, f"everybody of {people.table.source}", f"nobody with {people.keys[i]!r}") for i in lacking
    ]
    if problems := problems + listed(more, len(more), "people"):
        raise InvalidInput(records.source, problems)
    classes = len(release.target.classes)
    cells = people.row[at] * classes + records.classes
    return sum_by(cells, records.counts, len(people.table) * classes).reshape(-1, classes)


def _linked(sources: Sequence[Source], joined: Joined, who: str, count: str | None, reader: Reader) -> People:
    """The people of tables that name them."""
    taken = {*joined.release.target.columns, *(a.name for a in joined.release.attributes)}
    if who in taken:
        expected = "a column that names people, neither an attribute nor the target"
        raise invalid("options", ARGUMENT, "who", expected, who)
    if count is not None:
        raise invalid("options", ARGUMENT, "count", "none with who=: each row is a person", count)
    public = joined.release.public
    release, named = joined.release, enumerate(sources, 1)
    tables = [read_rows(s, f"qi {i}", release, public, None, reader=reader, who=who) for i, s in named]
    keys, place = np.unique(np.array([key for t in tables for key in t.people], object), return_inverse=True)
    values: Values = [
        np.concatenate([t.codes[:, j] if a.values is not None else t.levels[j][t.codes[:, j]] for t in tables])
        for j, a in enumerate(public)
    ]
    of = np.repeat(np.arange(len(tables)), [len(t) for t in tables])
    first = np.full(len(keys), len(of))
    np.minimum.at(first, place, np.arange(len(of)))
    problems = []
    starts = np.searchsorted(of, np.arange(len(tables)))
    for a, column in zip(public, values, strict=True):
        one, other = column[first[place]], column
        differs = (one != other) & ~((one != one) & (other != other))  # a missing number is like itself
        for i in np.flatnonzero(differs).tolist():
            table, j = tables[of[i]], first[place[i]]
            there = tables[of[j]].place(int(j - starts[of[j]]))
            expected = f"{_word(a, one[i])} for {keys[place[i]]}, as on {there} of {tables[of[j]].source}"
            problems.append(
                (table.source, Problem(table.place(int(i - starts[of[i]])), a.name, expected, _word(a, other[i])))
            )
    if problems:
        source = problems[0][0]
        here = [problem for name, problem in problems if name == source]
        raise InvalidInput(source, listed(here, len(here), "people"))
    member = np.zeros((len(keys), len(tables)), bool)
    member[place, of] = True
    lines = np.concatenate([t.lines for t in tables])[first]
    each = np.ones(len(keys), np.int64)
    places = PlacesOfReleases(lines, ", ".join(dict.fromkeys(t.source for t in tables)), tables[0].unit)
    return replace(_grouped(joined, [column[first] for column in values], member, each, places), keys=keys)


def _nested(tables: Sequence[QITable], joined: Joined) -> People:
    """The people of tables each of which is within the next larger one."""
    public = joined.release.public
    values: Values = [
        np.concatenate([t.codes[:, j] if a.values is not None else t.levels[j][t.codes[:, j]] for t in tables])
        for j, a in enumerate(public)
    ]
    codes, levels = _coded(public, values, sum(map(len, tables)))
    _, first, place = np.unique(row_keys(codes, list(map(len, levels))), return_index=True, return_inverse=True)
    of = np.repeat(np.arange(len(tables)), [len(t) for t in tables])
    counts = np.zeros((len(first), len(tables)), np.int64)
    counts[place, of] = np.concatenate([t.counts for t in tables])
    order = np.argsort(-counts.sum(axis=0), kind="stable")  # the largest first
    within = counts[:, order]
    if (wrong := np.argwhere(np.diff(within, axis=1) > 0)).size:
        row, i = wrong[0].tolist()
        small, large = tables[order[i + 1]], tables[order[i]]
        what = ", ".join(f"{a.name}={_word(a, column[first[row]])}" for a, column in zip(public, values, strict=True))
        expected = "tables of which one has all people of the other, or who=, the column that names each person"
        found = f"{within[row, i + 1]} with {what} in {small.source}, and {within[row, i]} in {large.source}"
        raise invalid("tables", "rows", "individuals", expected, found)
    fewer = np.column_stack([within[:, 1:], np.zeros(len(within), np.int64)])
    rows, step = np.nonzero(within - fewer)  # those who are in the largest tables up to this one
    member = np.zeros((len(rows), len(tables)), bool)
    member[:, order] = np.arange(len(tables)) <= step[:, None]
    lines = np.concatenate([t.lines for t in tables])[first]
    places = PlacesOfReleases(lines[rows], ", ".join(dict.fromkeys(t.source for t in tables)), tables[0].unit)
    people = (within - fewer)[rows, step]
    return _grouped(joined, [column[first][rows] for column in values], member, people, places)


def _grouped(joined: Joined, values: Values, member: BoolArray, counts: IntArray, places: PlacesOfReleases) -> People:
    """The table of some people, with counts of shape (n,), and the releases as far as they are about each of them."""
    groups, group = np.unique(member, axis=0, return_inverse=True)
    patterns = sorted(map(tuple, groups.tolist()), key=group_name)
    if len(patterns) > 1:
        joined = join_releases(joined.own, joined.names, patterns)
        number = np.array([patterns.index(tuple(row)) for row in groups.tolist()], np.int64)
        values = [*values, number[group.ravel()]]
    public = joined.release.public
    codes, levels = _coded(public, values, len(counts))
    _, first, row = np.unique(row_keys(codes, list(map(len, levels))), return_index=True, return_inverse=True)
    sizes = sum_by(row, counts, len(first))
    table = QITable(public, codes[first], levels, sizes, places.lines[first], places.source, places.unit)
    return People(joined, table, row=row.astype(np.int64))


def _coded(public: Sequence[Attribute], values: Values, n: int) -> tuple[IntArray, tuple[npt.NDArray[Any], ...]]:
    """Codes of n people, and the levels that they index, as `maxent.models.tables.qi_table.QITable` has them."""
    levels, codes = [], [np.zeros((n, 0), np.int64)]
    for a, column in zip(public, values, strict=True):
        if a.values is not None:
            levels.append(np.array(a.values, object))
            codes.append(column[:, None].astype(np.int64))
        else:
            numbers, at = np.unique(column, return_inverse=True)  # a missing number comes last
            levels.append(numbers)
            codes.append(at.astype(np.int64)[:, None])
    return np.column_stack(codes), tuple(levels)


def _unknown(people: People) -> Iterator[Problem]:
    """People with a value that a release which they are in does not know."""
    joined, table = people.joined, people.table
    membership = joined.membership
    group = np.zeros(len(table), np.int64) if membership is None else table.codes[:, -1]
    inside = np.array(joined.members, bool)[group]
    columns = {a.name: j for j, a in enumerate(table.attributes)}
    for i, (name, own) in enumerate(zip(joined.names, joined.own, strict=True)):
        for a in own.attributes if not own.statements else ():  # statements name some of the values
            if a.values is None or a.name not in columns:
                continue
            level = table.levels[columns[a.name]]
            strange = ~np.isin(level, np.array(a.values, object))
            for row in np.flatnonzero(strange[table.codes[:, columns[a.name]]] & inside[:, i]).tolist():
                value = level[table.codes[row, columns[a.name]]]
                expected = f"a value that {name} knows: {shorten_list(a.values)}"
                yield Problem(f"{table.unit} {table.lines[row]}", a.name, expected, repr(value))


def _word(attribute: Attribute, value: Any) -> str:
    """A value for people to read."""
    return value_in_words(attribute.values[int(value)] if attribute.values is not None else float(value))
