"""Large tables, read in pieces and merged: memory grows with the number of distinct rows, not of rows.

The files are parsed batch by batch, by the parsers that read small ones, and merged into what came before. Cells are
grouped as they are stored; what they mean is looked at once for each distinct row.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import IntArray
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.files.input_files import FilePath
from maxent.models.reading import Decimal, Reader, Reading, size_text
from maxent.models.tables.cells import numbers, understood, with_points
from maxent.models.tables.frame import (
    Column,
    Frame,
    arrow_numbers,
    arrow_places,
    from_arrow,
    heading,
    listed,
    plain_numbers,
    repeated_columns,
    taken,
    whole_places,
    with_dictionary,
)
from maxent.models.tables.table_files import TableFile, open_file

if TYPE_CHECKING:
    import pyarrow as pa

WAITING = 1 << 17  # rows that are at least merged at once
# Bits of a number for all cells of a row, and for one of them.
_WIDE, _MANY = 62, 17
# How what is known of equal rows is put together.
_MERGED = {"repeats": np.add, "individuals": np.add, "place": np.minimum}


@dataclass(frozen=True, slots=True, eq=False)
class TableGroups:
    """A table with equal rows merged, in the order in which they first appear; ``individuals`` below 0 were refused.

    Rows for a positive number of individuals, for none, and for a refused one are never merged with one another.
    """

    frame: Frame
    individuals: IntArray


def aggregate(
    files: Sequence[FilePath],
    source: str,
    names: Sequence[str],
    count: str | None,
    reader: Reader | None = None,
    declared: Mapping[str, Collection[str]] | None = None,
) -> TableGroups:
    """Read the named columns of files that together are one table, and merge equal rows."""
    reader = reader or Reader()
    opened, ends = open_table(files, source, names, count, reader), list[int]()
    grouped = _group(_rows(opened, ends), opened.wanted.forms, opened.source, reader.reading.max_memory)
    place = grouped.known["place"]
    order: IntArray | slice = slice(None) if (place[1:] > place[:-1]).all() else np.argsort(place)
    repeats, people = grouped.known["repeats"][order], grouped.known["individuals"][order]
    columns = {}
    for i, (name, form) in enumerate(zip(opened.wanted.names, opened.wanted.forms, strict=True)):
        column = from_arrow(restored(grouped.column(i), form))
        columns[name] = Column(column.codes[order], column.values, numeric=column.numeric)
    del grouped
    individuals = np.minimum(people, 2.0**53).astype(np.int64)
    return TableGroups(opened.frame(columns, place[order], repeats, ends, reader, declared), individuals)


# Files of a table, opened, before any of their rows is read.


@dataclass(frozen=True, slots=True)
class WantedColumns:
    """Columns of all files: ``names`` of cells with their ``forms``, and ``count``, which may be missing."""

    names: tuple[str, ...]
    forms: tuple[TableForm, ...]
    count: str | None
    decimals: tuple[Decimal | None, ...]
    reading: Reading


@dataclass(frozen=True, slots=True)
class OpenedTable:
    """Opened files of a table; ``asked`` and ``count`` are the columns that were asked for, and are perhaps missing."""

    source: str
    files: tuple[FilePath, ...]
    tables: tuple[TableFile, ...]
    wanted: WantedColumns
    asked: tuple[str, ...]
    count: str | None
    problems: tuple[Problem, ...]

    @property
    def unit(self) -> Any:
        """What places are: lines of a single text file, else rows."""
        return self.tables[0].unit if len(self.tables) == 1 else "row"

    @property
    def header(self) -> tuple[str, ...]:
        """All columns, as the first file has them."""
        return self.tables[0].header

    def frame(
        self,
        columns: Mapping[str, Column],
        rows: IntArray,
        repeats: IntArray,
        ends: Sequence[int],
        reader: Reader,
        declared: Mapping[str, Collection[str]] | None,
    ) -> Frame:
        """Columns that were read, as they are meant; ``rows`` are counted through all files, with their ``ends``."""
        lines, ragged, locate = row_places(self.tables, ends, rows)
        (decimal, *others), single = set(self.wanted.decimals), len(self.tables) == 1
        frame = Frame(
            self.source,
            self.unit,
            self.header,
            columns,
            lines,
            repeats,
            (*self.problems, *ragged),
            locate,
            decimal="point" if others else decimal,
            text=single and self.tables[0].text,
        )
        return understood(frame, reader, declared)


def open_table(
    files: Sequence[FilePath], source: str, names: Sequence[str], count: str | None, reader: Reader
) -> OpenedTable:
    """Open the files of a table, for some of their columns."""
    tables = tuple(open_file(path, reader) for path in files)
    problems = header_problems(tables, source, [*names, *([] if count is None else [count])])
    header = tables[0].header
    keys = tuple(name for name in names if name in header)
    forms = tuple(form_of({table.types[name] for table in tables}) for name in keys)
    marks = tuple(table.decimal for table in tables)
    wanted = WantedColumns(keys, forms, count if count in header else None, marks, reader.reading)
    label = tables[0].source if len(tables) == 1 else source
    return OpenedTable(label, tuple(files), tables, wanted, tuple(names), count, tuple(problems))


def header_problems(tables: Sequence[TableFile], source: str, wanted: Sequence[str]) -> list[Problem]:
    """List the wanted columns that occur twice; refuse files that lack one which others have."""
    if len(tables) == 1:
        return repeated_columns(tables[0].header, wanted, heading(tables[0].unit))
    repeated, lacking = [], []
    for table in tables:
        where = f"{table.source}, {heading(table.unit)}"
        repeated += repeated_columns(table.header, wanted, where)
        for name in wanted:
            owner = next((other.source for other in tables if name in other.header), None)
            if owner is not None and name not in table.header:
                lacking.append(Problem(where, name, f"a column of this name, as in {owner}", "none"))
    if lacking:
        raise InvalidInput(source, listed(lacking, len(lacking), "columns"))
    return listed(repeated, len(repeated), "columns")


def row_places(
    tables: Sequence[TableFile], ends: Sequence[int], rows: IntArray
) -> tuple[IntArray, list[Problem], Callable[[int], str]]:
    """Return what `Frame` calls the places of rows, which are counted through all tables from 0; the ragged rows."""
    starts = [0, *ends[:-1]]
    if len(tables) == 1:
        return *tables[0].lines(ends[0], rows), tables[0].place
    ragged: list[Problem] = []
    for table, start, end in zip(tables, starts, ends, strict=True):
        _, problems = table.lines(end - start, np.zeros(0, dtype=np.int64))
        ragged += [replace(problem, where=f"{table.source}, {problem.where}") for problem in problems]

    def locate(number: int) -> str:
        i = bisect_right(starts, number - 1) - 1
        (line,), _ = tables[i].lines(ends[i] - starts[i], np.array([number - 1 - starts[i]], dtype=np.int64))
        return f"{tables[i].source}, {tables[i].place(line)}"

    return rows + 1, ragged, locate


# --- What is grouped --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TableForm:
    """Form in which a column is grouped: as text, or, where ``kind`` is its type, as the bits of its numbers.

    Bits, because 0.0 and -0.0 are equal, NaN is not equal to itself, and Arrow does not group by float16.
    """

    stored: pa.DataType
    kind: pa.DataType | None = None


def form_of(types: set[pa.DataType]) -> TableForm:
    """Choose the form of a column that has these types in the files."""
    import pyarrow as pa

    (kind, *others) = types
    if others or not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        # In a dictionary, so that a long text in many rows is held once.
        return TableForm(pa.dictionary(pa.int32(), pa.string()))
    return TableForm({8: pa.uint8(), 16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}[kind.bit_width], kind)


def stored_in(array: Any, form: TableForm) -> Any:
    """Return an Arrow array in the form it is grouped by."""
    import pyarrow as pa

    if form.kind is not None:
        return array.view(form.stored)
    if array.type == pa.string():
        array = array.dictionary_encode()
    if array.type == form.stored:
        return array
    column = from_arrow(pa.chunked_array([array]))
    codes = pa.array(column.codes, pa.int32(), mask=column.codes < 0)
    return pa.DictionaryArray.from_arrays(codes, pa.array(column.texts(), pa.string()))


def restored(array: Any, form: TableForm) -> Any:
    """Undo `stored_in`, up to text, for a chunked array."""
    import pyarrow as pa

    return array if form.kind is None else pa.chunked_array([c.view(form.kind) for c in array.chunks], form.kind)


def stored_rows(
    table: TableFile, wanted: WantedColumns, file: int, groups: Sequence[int] | None = None
) -> Iterator[tuple[list[Any], IntArray]]:
    """Yield rows of a file, or of some of its row groups: cells of each column as they are stored, and people."""
    names = [*wanted.names, *([] if wanted.count is None else [wanted.count])]
    for batch in table.batches(names, *([] if groups is None else [groups])):
        people = np.ones(batch.num_rows, np.int64)
        if wanted.count is not None:
            people = people_in(batch.column(len(wanted.names)), wanted.reading, wanted.decimals[file])
        yield [stored_in(batch.column(i), form) for i, form in enumerate(wanted.forms)], people


def _rows(opened: OpenedTable, ends: list[int]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of all files as `_schema` says; add to ``ends`` how many there were up to the end of each."""
    import pyarrow as pa

    schema, rows = _schema(opened.wanted.forms), 0
    for file, table in enumerate(opened.tables):
        for cells, people in stored_rows(table, opened.wanted, file):
            place = np.arange(rows, rows + len(people))
            known = [np.sign(people), np.ones_like(people), people.astype(np.float64), place]
            yield pa.record_batch([*cells, *map(pa.array, known)], schema=schema)
            rows += len(people)
        ends.append(rows)


def _schema(forms: Sequence[TableForm]) -> pa.Schema:
    """Columns that are grouped by (``key0``, ``key1``, ..., and the sign of people), and those added up in a group."""
    import pyarrow as pa

    keys = [(f"key{i}", form.stored) for i, form in enumerate(forms)]
    known = [("sign", pa.int64()), ("repeats", pa.int64()), ("individuals", pa.float64()), ("place", pa.int64())]
    return pa.schema([*keys, *known])


def people_in(array: Any, reading: Reading, decimal: Decimal | None) -> IntArray:
    """Return numbers of individuals, -1 for those that are refused."""
    import pyarrow as pa

    column = from_arrow(pa.chunked_array([array]))
    texts, lacking = reading.meaning(column.texts())
    if decimal == "comma":
        texts = with_points(texts)
    found = numbers(Column(column.codes, np.array(texts, dtype=object)), low=0, high=2.0**53, whole=True)
    return np.append(np.where(np.isnan(found) | lacking, -1, found), -1).astype(np.int64)[column.codes]


# What all rows of a piece of a table are, and what is known of each.
_Known = dict[str, npt.NDArray[Any]]


class _Packed:
    """Rows in one number each: the numbers of their cells, among those of each column, side by side.

    That takes less memory and time than Arrow's tables. ``cells`` are the different ones of each column; 0 stands for
    none, and what `_schema` calls ``sign`` is the last column.
    """

    def __init__(self, forms: Sequence[TableForm]) -> None:
        import pyarrow as pa

        self.schema = _schema(forms)
        kinds = [kind.value_type if pa.types.is_dictionary(kind) else kind for kind in self.schema.types[: len(forms)]]
        self.cells = [*(pa.array([], kind) for kind in kinds), pa.array([-1, 0, 1])]
        self.bits = [1] * len(forms) + [2]
        self.keys, self.known = np.empty(0, np.int64), _known_of(self.schema.empty_table())
        self.waiting: list[tuple[IntArray, _Known]] = []

    @property
    def nbytes(self) -> int:
        """Bytes of all rows and cells that were merged, as a table."""
        known = sum(each.nbytes for each in self.known.values())
        return int(known + len(self.keys) * 4 * len(self.cells) + sum(each.nbytes for each in self.cells))

    def add(self, batch: pa.RecordBatch) -> bool:
        """Whether there was room for more rows, which are not merged yet."""
        numbers = [self._numbers(i, batch.column(i)) for i in range(len(self.cells))]
        bits = [max(before, len(cells).bit_length()) for before, cells in zip(self.bits, self.cells, strict=True)]
        if max(bits) > _MANY or sum(bits) > _WIDE:
            return False
        if bits != self.bits:
            self.keys, *others = (
                self._widened(keys, bits) for keys in (self.keys, *(keys for keys, _ in self.waiting))
            )
            self.waiting = [(keys, known) for keys, (_, known) in zip(others, self.waiting, strict=True)]
            self.bits = bits
        keys = np.zeros(batch.num_rows, np.int64)
        for room, number in zip(bits, numbers, strict=True):
            keys <<= room
            keys |= number
        self.waiting.append((keys, _known_of(batch)))
        return True

    def _numbers(self, i: int, array: Any) -> IntArray:
        """The numbers of cells of a column, new ones among them."""
        import pyarrow as pa
        import pyarrow.compute as pc

        coded = with_dictionary(array)
        at = pc.index_in(coded.dictionary, value_set=self.cells[i])
        if at.null_count:
            new = pc.unique(coded.dictionary.filter(at.is_null()).drop_null())
            self.cells[i] = pa.concat_arrays([self.cells[i], new])
            at = pc.index_in(coded.dictionary, value_set=self.cells[i])
        return np.append(whole_places(at) + 1, 0)[whole_places(coded.indices)]

    def _widened(self, keys: IntArray, bits: Sequence[int]) -> IntArray:
        """Keys with other room for each column."""
        found, below = np.zeros_like(keys), sum(self.bits)
        for before, after in zip(self.bits, bits, strict=True):
            below -= before
            found <<= after
            found |= keys >> below & (1 << before) - 1
        return found

    def merge(self) -> None:
        """Put equal rows together."""
        some = [(self.keys, self.known), *self.waiting]
        self.waiting = []
        keys = np.concatenate([keys for keys, _ in some])
        known = {name: np.concatenate([known.pop(name) for _, known in some]) for name in _MERGED}
        self.keys, self.known = keys, known
        del some
        if (keys[1:] > keys[:-1]).all():
            return
        rows, known = merged_rows(keys, known)
        if len(rows) < len(keys):
            self.keys, self.known = keys[rows], known

    def column(self, i: int) -> Any:
        """The cells of a column, of all merged rows, as a chunked array."""
        import pyarrow as pa

        number = self.keys >> sum(self.bits[i + 1 :])
        number &= (1 << self.bits[i]) - 1
        number -= 1
        coded = pa.DictionaryArray.from_arrays(arrow_places(number), self.cells[i])
        kind = self.schema.types[i]
        return pa.chunked_array([coded if pa.types.is_dictionary(kind) else coded.dictionary_decode()], kind)

    def table(self) -> pa.Table:
        """All merged rows as a table."""
        import pyarrow as pa

        known = (pa.array(self.known[name]) for name in self.schema.names[len(self.cells) :])
        return pa.table([*map(self.column, range(len(self.cells))), *known], schema=self.schema)


@dataclass(frozen=True, slots=True, eq=False)
class _Grouped:
    """Merged rows as a table, where their cells do not fit into a number, and what is known of each."""

    rows: pa.Table

    @property
    def known(self) -> _Known:
        """What is known of each row."""
        return _known_of(self.rows)

    def column(self, i: int) -> Any:
        """The cells of a column, a chunked array."""
        return self.rows.column(i)


def _known_of(table: Any) -> _Known:
    """What a table or a batch knows of its rows."""
    return {name: plain_numbers(table.column(table.schema.get_field_index(name))) for name in _MERGED}


def _group(
    rows: Iterable[pa.RecordBatch], forms: Sequence[TableForm], source: str, max_memory: int
) -> _Packed | _Grouped:
    """Merge equal rows, as they come; merging takes about twice ``max_memory`` for a moment."""
    packed, n_waiting, rows = _Packed(forms), 0, iter(rows)

    def merged() -> None:
        packed.merge()
        _check_memory(packed.nbytes, len(packed.keys), source, max_memory)

    for batch in rows:
        if not packed.add(batch):
            merged()
            return _Grouped(_in_table(packed.table(), chain([batch], rows), source, max_memory))
        n_waiting += batch.num_rows
        # As many new rows as there are merged ones: in all, every row is merged about twice.
        if n_waiting >= max(WAITING, len(packed.keys)):
            merged()
            n_waiting = 0
    merged()
    return packed


def _in_table(merged: pa.Table, rows: Iterable[pa.RecordBatch], source: str, max_memory: int) -> pa.Table:
    """Merge rows into a table."""
    import pyarrow as pa

    waiting = list[pa.RecordBatch]()
    for batch in chain(rows, [None]):
        if batch is not None:
            waiting.append(batch)
        if batch is None or sum(each.num_rows for each in waiting) >= max(WAITING, merged.num_rows):
            merged, waiting = merge([merged, pa.Table.from_batches(waiting, merged.schema)]), []
            _check_memory(merged.nbytes, merged.num_rows, source, max_memory)
    return merged


def merge(tables: Sequence[pa.Table]) -> pa.Table:
    """Merge the rows of tables in which equal ones may have been merged before.

    To load what groups in Arrow takes 50 MB and 0.2 s.
    """
    import pyarrow as pa

    table = pa.concat_tables(tables).unify_dictionaries().combine_chunks()
    if not table.num_rows:
        return table
    key, span = np.zeros(table.num_rows, np.int64), 1
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name not in _MERGED:
            coded = with_dictionary(column.chunk(0))
            size = len(coded.dictionary) + 1
            if span * size >= 2**_WIDE:  # ranks serve as well, and there are no more of them than rows
                key = np.unique(key, return_inverse=True)[1]
                span = len(key)
            key = key * size + whole_places(coded.indices) + 1
            span *= size
    known = {name: plain_numbers(table.column(name)) for name in table.column_names if name in _MERGED}
    rows, known = merged_rows(key, known)
    found = taken(table.select([name for name in table.column_names if name not in known]), arrow_numbers(rows))
    for name, values in known.items():
        found = found.append_column(name, arrow_numbers(values))
    return found.select(table.column_names)


def merged_rows(key: IntArray, known: _Known) -> tuple[IntArray, _Known]:
    """The first row of each key, in the order of keys, and what is known of all rows that have it."""
    order = np.argsort(key, kind="stable")
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    return order[first], {name: _MERGED[name].reduceat(each[order], first) for name, each in known.items()}


def _check_memory(size: int, rows: int, source: str, max_memory: int) -> None:
    """Refuse distinct rows that take more memory than they may."""
    if size > max_memory:
        expected = f"distinct rows that fit into {size_text(max_memory)} (max_memory=)"
        raise invalid(source, "file", "rows", expected, f"{rows} that do not, and perhaps more")


# Pieces of a table: consecutive rows of one of its files, read by themselves, by whatever process.

LARGEST, SMALLEST = 1 << 21, 1 << 17  # rows of a piece, where a file can be divided


@dataclass(frozen=True, slots=True)
class Piece:
    """Some row groups of a file, None for all of it, from row ``first`` of the file on."""

    path: FilePath
    file: int
    groups: tuple[int, ...] | None = None
    first: int = 0

    def rows(self, wanted: WantedColumns) -> Iterator[tuple[list[Any], IntArray]]:
        """Yield the rows, see `stored_rows`, of the file that is opened again."""
        return stored_rows(open_file(self.path, Reader(wanted.reading)), wanted, self.file, self.groups)


def pieces_of(opened: OpenedTable, workers: int) -> list[Piece]:
    """Divide the files of a table into at least two pieces for each worker, where they are large.

    Parquet files can be: small row groups are together, large ones by themselves.
    """
    from maxent.models.tables.parquet_files import ParquetFile

    sizes = [table.groups if isinstance(table, ParquetFile) else None for table in opened.tables]
    most = rows_for(sum(map(sum, filter(None, sizes))), workers)
    found: list[Piece] = []
    for file, (path, groups) in enumerate(zip(opened.files, sizes, strict=True)):
        if groups is None:
            found.append(Piece(path.absolute(), file))
            continue
        first, rows, held = 0, 0, list[int]()
        for group, size in enumerate(groups):
            if held and rows + size > most:
                found.append(Piece(path.absolute(), file, tuple(held), first))
                first, rows, held = first + rows, 0, []
            held.append(group)
            rows += size
        if held or not groups:
            found.append(Piece(path.absolute(), file, tuple(held), first))
    return found


def rows_for(rows: int, workers: int) -> int:
    """Rows that a worker takes at a time."""
    return min(max(rows // (2 * workers), SMALLEST), LARGEST)
