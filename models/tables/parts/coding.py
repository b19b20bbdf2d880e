"""Codes of the cells of a table that is read in pieces: what each distinct cell means is looked at once, for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import IntArray
from maxent.models.errors import ARGUMENT, InvalidInput, Problem
from maxent.models.files.addresses import FilePath
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Release
from maxent.models.tables.columns.cell_values import categorical, whole
from maxent.models.tables.columns.decimal_commas import with_decimal_points
from maxent.models.tables.columns.missing_values import understood
from maxent.models.tables.columns.numeric_classes import class_names, numbers_in_words
from maxent.models.tables.frame import Frame, from_arrow, missing_columns, shorten
from maxent.models.tables.out_of_core import aggregate, decimal_of, form_of, header_problems, restored, row_places
from maxent.models.tables.parts.distinct import Distinct, merged_cells
from maxent.models.tables.parts.pieces import Piece, Wanted
from maxent.models.tables.qi_table import declared_values, encode_column
from maxent.models.tables.sources.arrow_arrays import (
    arrow_numbers,
    functions,
    is_there,
    plain_numbers,
    taken,
    whole_places,
)
from maxent.models.tables.table_files import TableFile, open_file

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Codes:
    """The code of each distinct cell of a column, as it is stored; ``missing`` is that of none.

    ``cells`` are an Arrow array of text, or the bits of numbers, increasing; codes have the shape (n_cells,).
    """

    cells: Any
    codes: IntArray
    missing: int

    def numbered(self, cells: Any) -> npt.NDArray[np.int32]:
        """The codes of other cells, an Arrow array, shape (n_cells + 1,); the first is that of none.

        Cells that are not known, as nobody has them, have that code, too.
        """
        import pyarrow as pa

        if pa.types.is_string(cells.type):
            known = functions().SetLookupOptions(value_set=self.cells)
            at = whole_places(functions().call_function("index_in", [cells], known))
        else:
            own, other = plain_numbers(self.cells), plain_numbers(cells)
            at = np.searchsorted(own, other)
            at[np.append(own, 0)[at] != other] = -1
            at[at == len(own)] = -1
        return np.concatenate([[self.missing], np.append(self.codes, self.missing)[at]]).astype(np.int32)


@dataclass(frozen=True, slots=True)
class Coded:
    """A table that is read in pieces, with the meaning of its cells.

    ``attributes`` and ``levels`` are those of a `QITable`; ``codes`` are of each attribute and, with a ``target``, of
    the classes. ``ends`` are the rows up to the end of each file; places of rows are counted through all of them.
    """

    source: str
    unit: Any
    tables: tuple[TableFile, ...]
    wanted: Wanted
    attributes: tuple[Attribute, ...]
    levels: tuple[npt.NDArray[Any], ...]
    codes: tuple[Codes, ...]
    ends: tuple[int, ...]
    people: int

    def starts(self, pieces: Sequence[Piece]) -> list[int]:
        """The number of the first row of each piece in the whole table, from 0."""
        begin = (0, *self.ends[:-1])
        return [begin[piece.file] + piece.first for piece in pieces]

    def lines(self, rows: IntArray) -> IntArray:
        """The places of increasing rows as `QITable.lines` has them."""
        return row_places(self.tables, self.ends, rows)[0]


@dataclass(frozen=True, slots=True)
class Opened:
    """The files of a table, opened, before any of their rows is read."""

    source: str
    files: tuple[FilePath, ...]
    tables: tuple[TableFile, ...]
    wanted: Wanted
    needed: tuple[str, ...]
    count: str | None
    problems: tuple[Problem, ...]


def open_table(
    files: Sequence[FilePath], source: str, release: Release, count: str | None, reader: Reader, *, target: bool
) -> Opened:
    """Open the files of a table, with the column of the target if asked for."""
    problems: list[Problem] = []
    taken = {*release.target.columns, *(attribute.name for attribute in release.attributes)}
    if count is not None and (not isinstance(count, str) or count in taken):
        expected = "a column that is neither an attribute nor the target"
        problems.append(Problem(ARGUMENT, "count", expected, shorten(count)))
        count = None
    needed = (*(attribute.name for attribute in release.public), *release.target.columns * target)
    tables = tuple(open_file(path, reader) for path in files)
    label = tables[0].source if len(tables) == 1 else source
    problems += header_problems(tables, source, [*needed, *([] if count is None else [count])])
    header = tables[0].header
    names = tuple(name for name in needed if name in header)
    forms = tuple(form_of({table.types[name] for table in tables}) for name in names)
    marks = tuple(table.decimal for table in tables)
    wanted = Wanted(names, forms, count if count in header else None, marks, reader.reading)
    return Opened(label, tuple(files), tables, wanted, needed, count, tuple(problems))


def coded(
    opened: Opened,
    pieces: Sequence[Piece],
    found: Sequence[Distinct],
    release: Release,
    reader: Reader,
    *,
    target: bool,
) -> Coded:
    """The meaning of the cells of a table, from the distinct cells of its pieces."""
    wanted, tables = opened.wanted, opened.tables
    rows = np.bincount([piece.file for piece in pieces], [each.rows for each in found], len(tables)).astype(np.int64)
    ends = tuple(np.cumsum(rows).tolist())
    begin = (0, *ends[:-1])
    starts = [begin[piece.file] + piece.first for piece in pieces]
    frames = [
        _frame(opened, name, _joined([each.columns[i] for each in found], starts), ends, i, release, reader)
        for i, name in enumerate(wanted.names)
    ]
    ragged = row_places(tables, ends, np.zeros(0, np.int64))[1]
    problems = [*opened.problems, *ragged, *missing_columns(_head(opened, reader), _expected(opened, target=target))]
    problems += _of_people(opened, found, frames, reader)
    codes: list[Codes] = []
    levels: list[npt.NDArray[Any]] = []
    for attribute in release.public:
        if attribute.name in wanted.names:
            frame, joined = frames[wanted.names.index(attribute.name)]
            keep = np.flatnonzero(plain_numbers(joined.column("sign")) > 0)
            own, level = encode_column(frame, attribute, keep, problems)
            codes.append(_codes(joined, keep, own))
            levels.append(level)
    of = release.target
    if target and of.name in wanted.names:
        frame, joined = frames[wanted.names.index(of.name)]
        words = numbers_in_words(of)
        own = categorical(class_names(frame, of), of.name, of.classes, problems, key="classes", expected=words)
        keep = np.flatnonzero(plain_numbers(joined.column("sign")) > 0)
        codes.append(_codes(joined, keep, own[keep]))
    if problems:
        raise InvalidInput(opened.source, problems)
    unit = tables[0].unit if len(tables) == 1 else "row"
    people = int(sum(each.people for each in found))
    return Coded(opened.source, unit, tables, wanted, tuple(release.public), tuple(levels), tuple(codes), ends, people)


def _expected(opened: Opened, *, target: bool) -> tuple[str, ...]:
    """The columns that have to be there: that of the people may be missing beside the target."""
    return opened.needed if opened.count is None or target else (*opened.needed, opened.count)


def _joined(tables: Sequence[pa.Table], starts: Sequence[int]) -> pa.Table:
    """The distinct cells of all pieces, in the order in which they first appear, with places in the whole table."""
    moved = [
        table.set_column(3, "place", arrow_numbers(plain_numbers(table.column("place")) + start))
        for table, start in zip(tables, starts, strict=True)
    ]
    table = merged_cells(moved)
    return taken(table, arrow_numbers(np.argsort(plain_numbers(table.column("place")))))


def _frame(
    opened: Opened, name: str, joined: pa.Table, ends: Sequence[int], i: int, release: Release, reader: Reader
) -> tuple[Frame, pa.Table]:
    """One column as a frame of its distinct cells, read as it is meant; and these cells."""
    tables = opened.tables
    lines, _, locate = row_places(tables, ends, plain_numbers(joined.column("place")))
    frame = Frame(
        opened.source,
        tables[0].unit if len(tables) == 1 else "row",
        tables[0].header,
        {name: from_arrow(restored(joined.column("key"), opened.wanted.forms[i]))},
        lines,
        plain_numbers(joined.column("repeats")),
        (),
        locate,
        decimal=decimal_of(tables),
        text=len(tables) == 1 and tables[0].text,
    )
    declared = declared_values(release.public, release.target)
    return understood(with_decimal_points(frame, reader, declared), reader, declared), joined


def _head(opened: Opened, reader: Reader) -> Frame:
    """The header of the table as a frame without rows, for what is said of missing columns."""
    none, tables = np.zeros(0, np.int64), opened.tables
    unit = tables[0].unit if len(tables) == 1 else "row"
    columns: dict[str, Any] = dict.fromkeys(opened.wanted.names)
    return Frame(opened.source, unit, tables[0].header, columns, none, none, (), "row {}".format, reader)


def _of_people(
    opened: Opened, found: Sequence[Distinct], frames: Sequence[tuple[Frame, pa.Table]], reader: Reader
) -> list[Problem]:
    """Problems of the numbers of people: some are refused, too many, or there is nobody."""
    problems: list[Problem] = []
    count = opened.wanted.count
    everybody = sum(each.people for each in found)
    refused = any((plain_numbers(joined.column("sign")) < 0).any() for _, joined in frames)
    if count is not None and (refused or everybody >= 2**53):
        # The numbers themselves were not kept: the files are read once more to say which is wrong.
        whole(aggregate(opened.files, opened.source, [count], None, reader).frame, count, 0, problems)
    if not everybody and not problems:
        held = "rows of 0 individuals only" if any(each.rows for each in found) else "no rows"
        problems.append(Problem("rows", opened.count or "individuals", "at least one individual", held))
    return problems


def _codes(joined: pa.Table, keep: IntArray, codes: IntArray) -> Codes:
    """Codes by the stored cells that some kept rows have."""
    import pyarrow as pa

    cells = joined.column("key").combine_chunks()
    cells = cells.chunk(0) if isinstance(cells, pa.ChunkedArray) and cells.num_chunks else cells
    cells = taken(cells, arrow_numbers(keep))
    held_by = is_there(cells)
    there, absent = np.flatnonzero(held_by), np.flatnonzero(~held_by)
    held, known = taken(cells, arrow_numbers(there)), codes[there]
    if not pa.types.is_string(held.type):
        order = np.argsort(plain_numbers(held))
        held, known = taken(held, arrow_numbers(order)), known[order]
    return Codes(held, known, int(codes[absent[0]]) if len(absent) else -1)
