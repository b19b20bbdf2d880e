"""Coded cells of a table that is read in pieces: distinct cells, their meaning, and files of small numbers."""

from __future__ import annotations

import pickle
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from maxent.models.arguments import shorten
from maxent.models.arrays import IntArray
from maxent.models.errors import ARGUMENT, InvalidInput, Problem
from maxent.models.files.input_files import FilePath
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Release
from maxent.models.tables.cells import categorical, encode_column, whole
from maxent.models.tables.classes import class_names, numbers_in_words
from maxent.models.tables.frame import (
    Frame,
    arrow_numbers,
    arrow_places,
    from_arrow,
    is_there,
    missing_columns,
    plain_numbers,
    taken,
    whole_places,
    with_dictionary,
)
from maxent.models.tables.out_of_core import (
    WAITING,
    OpenedTable,
    Piece,
    WantedColumns,
    aggregate,
    merge,
    open_table,
    restored,
    row_places,
)
from maxent.models.tables.qi_table import declared_values

if TYPE_CHECKING:
    import pyarrow as pa

# Of some rows the distinct cells of a column, an Arrow array, and which of them each has, from 1; 0 for none.
Cells = tuple[Any, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class KeptRows:
    """Rows of a piece in a file, batch by batch, by where each begins and its rows; ``first`` is that of the table.

    Rows are read once, and routed from there.
    """

    path: str
    batches: tuple[tuple[int, int], ...]
    first: int = 0

    def __len__(self) -> int:
        return sum(rows for _, rows in self.batches)

    def __iter__(self) -> Iterator[tuple[list[Cells], IntArray]]:
        """Yield batches: cells of each column, and the people of each row."""
        with open(self.path, "rb") as file:
            for byte, _ in self.batches:
                file.seek(byte)
                yield pickle.load(file)

    def shares(self, most: int) -> Iterator[KeptRows]:
        """Yield these rows in shares of up to so many, or of one batch."""
        some, rows, first = list[tuple[int, int]](), 0, self.first
        for batch in self.batches:
            if some and rows + batch[1] > most:
                yield KeptRows(self.path, tuple(some), first)
                some, rows, first = [], 0, first + rows
            some.append(batch)
            rows += batch[1]
        yield KeptRows(self.path, tuple(some), first)


# Distinct cells of the columns of a table, each with how often it is there and where it appears first.


@dataclass(frozen=True, slots=True)
class Distinct:
    """Distinct cells of a piece: for each column a table of ``key``, ``sign``, ``repeats`` and ``place``."""

    columns: tuple[pa.Table, ...]
    people: float
    kept: KeptRows


def distinct_cells(piece: Piece, wanted: WantedColumns, folder: Path) -> Distinct:
    """The distinct cells of the columns of a piece, whose rows are kept in a folder.

    A process that is lost meanwhile leaves a file that nobody knows of.
    """
    nothing = np.zeros(0, np.int64)
    kinds = [getattr(form.stored, "value_type", form.stored) for form in wanted.forms]
    found = [[_distinct(_nulls(kind), nothing, nothing, 0)] for kind in kinds]
    batches, rows, everybody, path = list[tuple[int, int]](), 0, 0.0, folder / secrets.token_hex(8)
    with open(path, "wb") as file:
        for columns, people in piece.rows(wanted):
            everybody += float(people[people > 0].sum(dtype=np.float64))
            sign, kept = np.sign(people), list[Cells]()
            for tables, column in zip(found, columns, strict=True):
                coded = with_dictionary(column)
                cells, places = coded.dictionary, whole_places(coded.indices)
                kept.append((cells, (places + 1).astype(np.min_scalar_type(len(cells)))))
                tables.append(_distinct(cells, places, sign, rows))
                if sum(table.num_rows for table in tables[1:]) > max(WAITING, tables[0].num_rows):
                    tables[:] = [merge(tables)]
            batches.append((file.tell(), len(people)))
            people = np.maximum(people, 0)
            pickle.dump((kept, people.astype(np.min_scalar_type(people.max(initial=0)))), file)
            rows += len(people)
    return Distinct(tuple(map(merge, found)), everybody, KeptRows(str(path), tuple(batches)))


def _nulls(kind: pa.DataType) -> Any:
    import pyarrow as pa

    return pa.nulls(0, kind)


def _distinct(cells: Any, codes: IntArray, sign: IntArray, before: int) -> pa.Table:
    """The distinct cells of a batch, -1 for none, by the sign of people, with places counted from ``before``."""
    import pyarrow as pa

    at = (codes + 1) * 3 + (sign + 1)
    number = np.bincount(at, minlength=3 * (len(cells) + 1))
    first = np.zeros(len(number), np.int64)
    first[at[::-1]] = np.arange(len(at))[::-1]  # of several rows the last one written stays, which is the first
    there = np.flatnonzero(number)
    known = (there % 3 - 1, number[there], first[there] + before)
    keys = taken(cells, arrow_places(there // 3 - 1))
    return pa.Table.from_arrays([keys, *map(arrow_numbers, known)], ["key", "sign", "repeats", "place"])


@dataclass(frozen=True, slots=True)
class ColumnCodes:
    """The code of each distinct cell of a column, as it is stored; ``missing`` is that of none."""

    cells: Any
    codes: IntArray
    missing: int

    def numbered(self, cells: Any) -> npt.NDArray[np.int32]:
        """The codes of other cells, an Arrow array, shape (n_cells + 1,); the first is that of none."""
        import pyarrow.compute as pc

        at = whole_places(pc.index_in(cells, value_set=self.cells))
        return np.concatenate([[self.missing], np.append(self.codes, self.missing)[at]]).astype(np.int32)


@dataclass(frozen=True, slots=True)
class Coded:
    """A table that is read in pieces, with the meaning of its cells; ``codes`` are of attributes, then classes.

    ``ends`` are the rows up to the end of each file; places of rows are counted through all of them.
    """

    opened: OpenedTable
    attributes: tuple[Attribute, ...]
    levels: tuple[npt.NDArray[Any], ...]
    codes: tuple[ColumnCodes, ...]
    ends: tuple[int, ...]
    kept: tuple[KeptRows, ...]

    @property
    def source(self) -> str:
        """What was read."""
        return self.opened.source

    def lines(self, rows: IntArray) -> IntArray:
        """The places of increasing rows as `QITable.lines` has them."""
        return row_places(self.opened.tables, self.ends, rows)[0]

    def named(self, codes: Sequence[int]) -> dict[str, str | float]:
        """The values of a quasi-identifier by attribute."""
        values = [level[code] for level, code in zip(self.levels, codes, strict=True)]
        plain = [value if isinstance(value, str) else float(value) for value in values]
        return dict(zip((attribute.name for attribute in self.attributes), plain, strict=True))


def open_people(
    files: Sequence[FilePath], source: str, release: Release, count: str | None, reader: Reader, *, target: bool
) -> OpenedTable:
    """Open the files of a table of people, with the column of the target if asked for."""
    wrong: tuple[Problem, ...] = ()
    named = {*release.target.columns, *(attribute.name for attribute in release.attributes)}
    if count is not None and (not isinstance(count, str) or count in named):
        expected = "a column that is neither an attribute nor the target"
        wrong, count = (Problem(ARGUMENT, "count", expected, shorten(count)),), None
    needed = (*(attribute.name for attribute in release.public), *release.target.columns * target)
    opened = open_table(files, source, needed, count, reader)
    return replace(opened, problems=(*wrong, *opened.problems))


def coded(
    opened: OpenedTable,
    pieces: Sequence[Piece],
    found: Sequence[Distinct],
    release: Release,
    reader: Reader,
    *,
    target: bool,
) -> Coded:
    """The meaning of the cells of a table, from the distinct cells of its pieces."""
    names, count, of = opened.wanted.names, opened.count, release.target
    sizes = np.zeros(len(opened.tables), np.int64)
    for piece, each in zip(pieces, found, strict=True):
        sizes[piece.file] += len(each.kept)
    ends = tuple(np.cumsum(sizes).tolist())
    starts = [(0, *ends)[piece.file] + piece.first for piece in pieces]
    declared = declared_values(release.public, of)
    frames: list[Frame] = []
    columns: list[tuple[Any, IntArray]] = []
    refused = False
    for i, name in enumerate(names):
        joined = _joined([each.columns[i] for each in found], starts)
        places, repeats, sign = (plain_numbers(joined.column(known)) for known in ("place", "repeats", "sign"))
        column = from_arrow(restored(joined.column("key"), opened.wanted.forms[i]))
        frames.append(opened.frame({name: column}, places, repeats, ends, reader, declared))
        columns.append((joined.column("key"), np.flatnonzero(sign > 0)))
        refused |= bool((sign < 0).any())
    problems = [*opened.problems, *row_places(opened.tables, ends, np.zeros(0, np.int64))[1]]
    # The column of the people may be missing beside the target.
    none, asked = np.zeros(0, np.int64), opened.asked if count is None or target else (*opened.asked, count)
    head: dict[str, Any] = dict.fromkeys(names)
    head_frame = Frame(opened.source, opened.unit, opened.header, head, none, none, (), "row {}".format, reader)
    problems += missing_columns(head_frame, asked)
    everybody = sum(each.people for each in found)
    if opened.wanted.count is not None and (refused or everybody >= 2**53):
        # The numbers themselves were not kept: the files are read once more to say which is wrong.
        again = aggregate(opened.files, opened.source, [opened.wanted.count], None, reader)
        whole(again.frame, opened.wanted.count, 0, problems)
    if not everybody and not problems:
        held = "rows of 0 individuals only" if ends[-1] else "no rows"
        problems.append(Problem("rows", count or "individuals", "at least one individual", held))
    codes: list[ColumnCodes] = []
    levels: list[npt.NDArray[Any]] = []
    for attribute in release.public:
        if attribute.name in names:
            i = names.index(attribute.name)
            own, level = encode_column(frames[i], attribute, columns[i][1], problems)
            codes.append(_codes(*columns[i], own))
            levels.append(level)
    if target and of.name in names:
        i, words = names.index(of.name), numbers_in_words(of)
        own = categorical(class_names(frames[i], of), of.name, of.classes, problems, key="classes", expected=words)
        codes.append(_codes(*columns[i], own[columns[i][1]]))
    if problems:
        raise InvalidInput(opened.source, problems)
    kept = tuple(replace(each.kept, first=start) for each, start in zip(found, starts, strict=True))
    return Coded(opened, tuple(release.public), tuple(levels), tuple(codes), ends, kept)


def _joined(tables: Sequence[pa.Table], starts: Sequence[int]) -> pa.Table:
    """The distinct cells of all pieces, in the order in which they first appear, with places in the whole table."""
    table = merge(
        [
            table.set_column(3, "place", arrow_numbers(plain_numbers(table.column("place")) + start))
            for table, start in zip(tables, starts, strict=True)
        ]
    )
    return taken(table, arrow_numbers(np.argsort(plain_numbers(table.column("place")))))


def _codes(cells: Any, keep: IntArray, codes: IntArray) -> ColumnCodes:
    """Codes by the stored cells that some kept rows have."""
    import pyarrow as pa

    cells = taken(cells, arrow_numbers(keep))
    cells = pa.concat_arrays(cells.chunks) if cells.num_chunks else pa.nulls(0, cells.type)
    absent = np.flatnonzero(~is_there(cells))
    return ColumnCodes(cells, codes, int(codes[absent[0]]) if len(absent) else -1)
