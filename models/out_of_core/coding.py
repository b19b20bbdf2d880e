"""Coded cells of a table that is read in pieces: distinct cells, their meaning, and files of small numbers."""

from __future__ import annotations

import os
import pickle
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from maxent.models.arguments import shorten
from maxent.models.arrays import IntArray
from maxent.models.errors import ARGUMENT, InvalidInput, Problem
from maxent.models.files.input_files import FilePath
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Release
from maxent.models.tables.cells import categorical, encode_column, understood, whole
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
    Piece,
    WantedColumns,
    aggregate,
    batches_of,
    decimal_of,
    form_of,
    header_problems,
    people_in,
    restored,
    row_places,
    stored_in,
)
from maxent.models.tables.qi_table import declared_values
from maxent.models.tables.table_files import TableFile, open_file

if TYPE_CHECKING:
    import pyarrow as pa


# Cells of a piece as they were read, kept in files as small numbers: rows are read once, and routed from there.


@dataclass(frozen=True, slots=True)
class Block:
    """Rows ``start`` to ``stop - 1``, of a ``kind`` as NumPy spells it, that begin at a byte of the file."""

    start: int
    stop: int
    kind: str
    byte: int
    cells: int


@dataclass(frozen=True, slots=True)
class KeptCodes:
    """A column of a piece in the file ``path``; its distinct cells are in one that ends in .cells."""

    path: str
    blocks: tuple[Block, ...]

    def cells(self) -> list[Any]:
        """The distinct cells that the blocks are about."""
        found: list[Any] = pickle.loads(Path(f"{self.path}.cells").read_bytes())
        return found

    def numbers(self, start: int, stop: int) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """Yield those of some rows, each time with the number of the cells that they are about."""
        for block in self.blocks:
            low, high = max(block.start, start), min(block.stop, stop)
            if low < high:
                kind = np.dtype(block.kind)
                offset = block.byte + (low - block.start) * kind.itemsize
                yield block.cells, np.fromfile(self.path, kind, high - low, offset=offset)

    def remove(self) -> None:
        """Remove its files."""
        for path in (self.path, f"{self.path}.cells"):
            os.unlink(path)


@dataclass(slots=True)
class Keeper:
    """Writes a column, batch by batch; a process that is lost meanwhile leaves files that nobody knows of."""

    folder: Path
    path: str = ""
    rows: int = 0
    blocks: list[Block] = field(default_factory=list)
    cells: list[Any] = field(default_factory=list)
    file: BinaryIO | None = None

    def add(self, cells: Any, places: IntArray) -> None:
        """Write a batch: which of its distinct cells, an Arrow array, each row has, -1 for none."""
        if not self.cells or not self.cells[-1].equals(cells):
            self.cells.append(cells)
        self._write(places + 1, len(cells))

    def add_numbers(self, numbers: IntArray) -> None:
        """Write a batch of numbers, none below 0, in place of cells."""
        self._write(numbers, int(numbers.max(initial=0)))

    def _write(self, numbers: IntArray, most: int) -> None:
        if self.file is None:
            self.path = str(self.folder / secrets.token_hex(8))
            self.file = open(self.path, "wb")  # noqa: SIM115  (closed by `kept`)
        small = numbers.astype(np.min_scalar_type(most))
        stop = self.rows + len(small)
        self.blocks.append(Block(self.rows, stop, small.dtype.str, self.file.tell(), len(self.cells) - 1))
        self.rows = stop
        self.file.write(small.data)

    def kept(self) -> KeptCodes:
        """What was written."""
        if self.file is None:
            self._write(np.zeros(0, np.int64), 0)
        assert self.file is not None
        self.file.close()
        Path(f"{self.path}.cells").write_bytes(pickle.dumps(self.cells))
        return KeptCodes(self.path, tuple(self.blocks))


@dataclass(frozen=True, slots=True)
class KeptRows:
    """Rows ``start`` to ``stop - 1`` of a piece, by column, and their ``count`` of people, None where each is one."""

    columns: tuple[KeptCodes, ...]
    count: KeptCodes | None
    start: int
    stop: int
    first: int

    def people(self, start: int, stop: int) -> IntArray:
        """The people of some of the rows, shape (n_rows,)."""
        if self.count is None:
            return np.ones(stop - start, np.int64)
        return np.concatenate([np.zeros(0, np.int64), *(found for _, found in self.count.numbers(start, stop))])

    def shares(self, most: int) -> Iterator[KeptRows]:
        """Yield these rows in equal shares of up to so many, one at least."""
        rows = self.stop - self.start
        parts = max(-(-rows // most), 1)
        cuts = [rows * i // parts for i in range(parts + 1)]
        for low, high in pairwise(cuts):
            yield replace(self, start=self.start + low, stop=self.start + high, first=self.first + low)

    def remove(self) -> None:
        """Remove the files of the columns."""
        for column in (*self.columns, self.count):
            if column is not None:
                column.remove()


# Distinct cells of the columns of a table, each with how often it is there and where it appears first.

_WAITING = 1 << 17  # distinct cells of batches that are at least merged together


@dataclass(frozen=True, slots=True)
class Distinct:
    """Distinct cells of a piece: for each column a table of ``key``, ``sign``, ``repeats`` and ``place``.

    ``kept`` are the cells of all rows by column, ``count`` the people of each row, where a column has them.
    """

    columns: tuple[pa.Table, ...]
    rows: int
    people: float
    kept: tuple[KeptCodes, ...]
    count: KeptCodes | None

    def rows_at(self, first: int) -> KeptRows:
        """All rows of the piece, the first of which has this number in the table."""
        return KeptRows(self.kept, self.count, 0, self.rows, first)


def together(shares: Sequence[Distinct]) -> Distinct:
    """The columns of the same rows together; people were kept with all of them, and are with the first."""
    for share in shares[1:]:
        if share.count is not None:
            share.count.remove()
    columns = tuple(column for share in shares for column in share.columns)
    return replace(shares[0], columns=columns, kept=tuple(kept for share in shares for kept in share.kept))


def distinct_cells(piece: Piece, wanted: WantedColumns, folder: Path) -> Distinct:
    """The distinct cells of the columns of a piece, all of whose cells are kept in a folder."""
    forms = [wanted.forms[i] for i in piece.columns]
    found: list[list[Any]] = [[] for _ in forms]
    kept, counted = [Keeper(folder) for _ in forms], Keeper(folder)
    rows, everybody = 0, 0.0
    for batch in batches_of(piece, wanted):
        people = people_of_batch(batch, len(forms), wanted, piece)
        everybody += float(people[people > 0].sum(dtype=np.float64))
        sign = np.sign(people)
        for i, form in enumerate(forms):
            cells, places = in_dictionary(stored_in(batch.column(i), form))
            kept[i].add(cells, places)
            found[i].append(_of_batch(cells, places, sign, rows))
            if sum(table.num_rows for table in found[i][1:]) > max(_WAITING, found[i][0].num_rows):
                found[i] = [merged_cells(found[i])]
        if wanted.count is not None:
            counted.add_numbers(np.maximum(people, 0))
        rows += batch.num_rows
    empty = [_table(_nothing(_kind(form.stored)), *[np.zeros(0, np.int64)] * 3) for form in forms]
    columns = (merged_cells([*tables, none]) for tables, none in zip(found, empty, strict=True))
    return Distinct(
        tuple(columns),
        rows,
        everybody,
        tuple(keeper.kept() for keeper in kept),
        None if wanted.count is None else counted.kept(),
    )


def people_of_batch(batch: pa.RecordBatch, column: int, wanted: WantedColumns, piece: Piece) -> IntArray:
    """The people of each row of a batch, by a column of it, -1 for a number that is refused, shape (n_rows,)."""
    if wanted.count is None:
        return np.ones(batch.num_rows, np.int64)
    return people_in(batch.column(column), wanted.reading, wanted.decimals[piece.file])


def merged_cells(tables: Sequence[pa.Table]) -> pa.Table:
    """Distinct cells of tables of them, in no order."""
    import pyarrow as pa

    table = pa.concat_tables(tables)
    sign, repeats, place = (plain_numbers(table.column(name)) for name in ("sign", "repeats", "place"))
    cells, codes = in_dictionary(pa.concat_arrays(table.column("key").chunks))
    at = (codes + 1) * 3 + (sign + 1)
    number = np.bincount(at, repeats, 3 * (len(cells) + 1)).astype(np.int64)
    first = np.full(len(number), np.iinfo(np.int64).max)
    np.minimum.at(first, at, place)
    return _known(cells, number, first)


def in_dictionary(array: Any) -> tuple[Any, IntArray]:
    """The distinct cells of an Arrow array, and which of them is in each row, -1 for none."""
    coded = with_dictionary(array)
    return coded.dictionary, whole_places(coded.indices)


def _kind(stored: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    return stored.value_type if pa.types.is_dictionary(stored) else stored


def _nothing(kind: pa.DataType) -> Any:
    """An Arrow array without cells."""
    import pyarrow as pa

    return pa.nulls(0, kind)


def _table(key: Any, sign: IntArray, repeats: IntArray, place: IntArray) -> pa.Table:
    import pyarrow as pa

    names = ["key", "sign", "repeats", "place"]
    return pa.Table.from_arrays([key, *map(arrow_numbers, (sign, repeats, place))], names)


def _of_batch(cells: Any, codes: IntArray, sign: IntArray, before: int) -> pa.Table:
    """The distinct cells of a batch, with places counted from ``before``."""
    at = (codes + 1) * 3 + (sign + 1)
    number = np.bincount(at, minlength=3 * (len(cells) + 1))
    first = np.zeros(len(number), np.int64)
    first[at[::-1]] = np.arange(len(at))[::-1]  # of several rows the last one written stays, which is the first
    return _known(cells, number, first + before)


def _known(cells: Any, number: IntArray, first: IntArray) -> pa.Table:
    """A table of cells by the number of their rows, three of each cell, as the sign is; the first are of no cell."""
    there = np.flatnonzero(number)
    keys = taken(cells, arrow_places(there // 3 - 1))
    return _table(keys, there % 3 - 1, number[there], first[there])


@dataclass(frozen=True, slots=True)
class ColumnCodes:
    """The code of each distinct cell of a column, as it is stored; ``missing`` is that of none."""

    cells: Any
    codes: IntArray
    missing: int

    def numbered(self, cells: Any) -> npt.NDArray[np.int32]:
        """The codes of other cells, an Arrow array, shape (n_cells + 1,); the first is that of none."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_string(cells.type):
            at = whole_places(pc.index_in(cells, value_set=self.cells))
        else:
            own, other = plain_numbers(self.cells), plain_numbers(cells)
            at = np.searchsorted(own, other)
            at[np.append(own, 0)[at] != other] = -1
            at[at == len(own)] = -1
        return np.concatenate([[self.missing], np.append(self.codes, self.missing)[at]]).astype(np.int32)


@dataclass(frozen=True, slots=True)
class Coded:
    """A table that is read in pieces, with the meaning of its cells; ``codes`` are of attributes, then classes.

    ``ends`` are the rows up to the end of each file; places of rows are counted through all of them.
    """

    source: str
    unit: Any
    tables: tuple[TableFile, ...]
    wanted: WantedColumns
    attributes: tuple[Attribute, ...]
    levels: tuple[npt.NDArray[Any], ...]
    codes: tuple[ColumnCodes, ...]
    ends: tuple[int, ...]
    people: int

    def starts(self, pieces: Sequence[Piece]) -> list[int]:
        """The number of the first row of each piece in the whole table, from 0."""
        begin = (0, *self.ends[:-1])
        return [begin[piece.file] + piece.first for piece in pieces]

    def lines(self, rows: IntArray) -> IntArray:
        """The places of increasing rows as `QITable.lines` has them."""
        return row_places(self.tables, self.ends, rows)[0]

    def named(self, codes: Sequence[int]) -> dict[str, str | float]:
        """The values of a quasi-identifier by attribute."""
        values = [level[code] for level, code in zip(self.levels, codes, strict=True)]
        plain = [value if isinstance(value, str) else float(value) for value in values]
        return dict(zip((attribute.name for attribute in self.attributes), plain, strict=True))


@dataclass(frozen=True, slots=True)
class OpenedColumn:
    """The files of a table, opened, before any of their rows is read."""

    source: str
    files: tuple[FilePath, ...]
    tables: tuple[TableFile, ...]
    wanted: WantedColumns
    needed: tuple[str, ...]
    count: str | None
    problems: tuple[Problem, ...]


def open_table(
    files: Sequence[FilePath], source: str, release: Release, count: str | None, reader: Reader, *, target: bool
) -> OpenedColumn:
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
    wanted = WantedColumns(names, forms, count if count in header else None, marks, reader.reading)
    return OpenedColumn(label, tuple(files), tables, wanted, needed, count, tuple(problems))


def coded(
    opened: OpenedColumn,
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
    codes: list[ColumnCodes] = []
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


def _expected(opened: OpenedColumn, *, target: bool) -> tuple[str, ...]:
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
    opened: OpenedColumn, name: str, joined: pa.Table, ends: Sequence[int], i: int, release: Release, reader: Reader
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
    return understood(frame, reader, declared), joined


def _head(opened: OpenedColumn, reader: Reader) -> Frame:
    """The header of the table as a frame without rows, for what is said of missing columns."""
    none, tables = np.zeros(0, np.int64), opened.tables
    unit = tables[0].unit if len(tables) == 1 else "row"
    columns: dict[str, Any] = dict.fromkeys(opened.wanted.names)
    return Frame(opened.source, unit, tables[0].header, columns, none, none, (), "row {}".format, reader)


def _of_people(
    opened: OpenedColumn, found: Sequence[Distinct], frames: Sequence[tuple[Frame, pa.Table]], reader: Reader
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


def _codes(joined: pa.Table, keep: IntArray, codes: IntArray) -> ColumnCodes:
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
    return ColumnCodes(held, known, int(codes[absent[0]]) if len(absent) else -1)
