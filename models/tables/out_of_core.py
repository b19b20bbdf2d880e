"""Large tables, read in pieces and merged: memory grows with the number of distinct rows, not of rows.

The files are parsed batch by batch, by the parsers that read small ones, and merged into what came before. Cells are
grouped as they are stored; what they mean is looked at once for each distinct row.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
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
    arrow_places,
    from_arrow,
    heading,
    listed,
    plain_numbers,
    repeated_columns,
    whole_places,
    with_dictionary,
)
from maxent.models.tables.table_files import TableFile, open_file

if TYPE_CHECKING:
    import pyarrow as pa

_WAITING = 1 << 17  # rows that are at least merged at once
# Bits of a number for all cells of a row, and for one of them.
_WIDE, _MANY = 62, 17
_MERGED = {"repeats": "sum", "individuals": "sum", "place": "min"}  # how what is known of equal rows is put together


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
    tables = [open_file(path, reader) for path in files]
    single = len(tables) == 1
    label = tables[0].source if single else source
    wanted = [*names, *([] if count is None else [count])]
    problems = header_problems(tables, source, wanted)
    header = tables[0].header
    keys = [name for name in names if name in header]
    forms = [form_of({table.types[name] for table in tables}) for name in keys]
    ends: list[int] = []
    stored = _rows(tables, keys, forms, count if count in header else None, ends, reader.reading)
    grouped = _group(stored, forms, label, reader.reading.max_memory)

    place = grouped.known["place"]
    order: IntArray | slice = slice(None) if (place[1:] > place[:-1]).all() else np.argsort(place)
    repeats, people = grouped.known["repeats"][order], grouped.known["individuals"][order]
    columns = {}
    for i, (name, form) in enumerate(zip(keys, forms, strict=True)):
        column = from_arrow(restored(grouped.column(i), form))
        columns[name] = Column(column.codes[order], column.values, numeric=column.numeric)
    del grouped
    lines, ragged, locate = row_places(tables, ends, place[order])
    frame = Frame(
        label,
        tables[0].unit if single else "row",
        header,
        columns,
        lines,
        repeats,
        tuple(problems + ragged),
        locate,
        decimal=decimal_of(tables),
        text=single and tables[0].text,
    )
    individuals = np.minimum(people, 2.0**53).astype(np.int64)
    return TableGroups(understood(frame, reader, declared), individuals)


def decimal_of(tables: Sequence[TableFile]) -> Decimal | None:
    """Decimal mark of all tables, else a point."""
    (found, *others) = {table.decimal for table in tables}
    return "point" if others else found


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


def _rows(
    tables: Sequence[TableFile],
    keys: Sequence[str],
    forms: Sequence[TableForm],
    count: str | None,
    ends: list[int],
    reading: Reading,
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of all tables as `_schema` says; add to ``ends`` how many there were up to the end of each."""
    import pyarrow as pa

    schema, place = _schema(forms), 0
    for table in tables:
        for batch in table.batches([*keys, *([] if count is None else [count])]):
            rows = batch.num_rows
            cells = [stored_in(batch.column(i), form) for i, form in enumerate(forms)]
            people = (
                np.ones(rows, dtype=np.int64)
                if count is None
                else people_in(batch.column(len(keys)), reading, table.decimal)
            )
            known = [np.sign(people), np.ones_like(people), people.astype(np.float64), np.arange(place, place + rows)]
            yield pa.record_batch([*cells, *map(pa.array, known)], schema=schema)
            place += rows
        ends.append(place)


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
        order = np.argsort(keys, kind="stable")
        first = np.flatnonzero(np.diff(keys[order], prepend=-1))
        if len(first) < len(order):
            added = {"sum": np.add, "min": np.minimum}
            self.keys = keys[order[first]]
            self.known = {name: added[how].reduceat(known[name][order], first) for name, how in _MERGED.items()}

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
        if n_waiting >= max(_WAITING, len(packed.keys)):
            merged()
            n_waiting = 0
    merged()
    return packed


def _in_table(merged: pa.Table, rows: Iterable[pa.RecordBatch], source: str, max_memory: int) -> pa.Table:
    """Merge rows into a table."""
    import pyarrow as pa

    waiting, n_waiting = [], 0
    for batch in rows:
        waiting.append(batch)
        n_waiting += batch.num_rows
        if n_waiting >= max(_WAITING, merged.num_rows):
            merged, waiting, n_waiting = _merge([merged, pa.Table.from_batches(waiting)], source, max_memory), [], 0
    return _merge([merged, pa.Table.from_batches(waiting, merged.schema)], source, max_memory)


def _merge(tables: Sequence[pa.Table], source: str, max_memory: int) -> pa.Table:
    """Merge the rows of tables in which equal ones may have been merged before."""
    import pyarrow as pa

    table = pa.concat_tables(tables).unify_dictionaries()
    keys = [name for name in table.column_names if name not in _MERGED]
    # In one thread: several save no time here, but take turns and more memory.
    merged = table.group_by(keys, use_threads=False).aggregate(list(_MERGED.items()))
    _check_memory(merged.nbytes, merged.num_rows, source, max_memory)
    # In one piece, as joining the dictionaries of many pieces takes time by the square of their number.
    return merged.rename_columns([*keys, *_MERGED]).select(table.column_names).combine_chunks()


def _check_memory(size: int, rows: int, source: str, max_memory: int) -> None:
    """Refuse distinct rows that take more memory than they may."""
    if size > max_memory:
        expected = f"distinct rows that fit into {size_text(max_memory)} (max_memory=)"
        raise invalid(source, "file", "rows", expected, f"{rows} that do not, and perhaps more")


# Pieces of a table: consecutive rows of one of its files, read by themselves, by whatever process.

LARGEST, SMALLEST = 1 << 21, 1 << 17  # rows of a piece, where a file can be divided


@dataclass(frozen=True, slots=True)
class Piece:
    """Some columns of some row groups of a file, None for all of it, from row ``first`` of the file on."""

    path: FilePath
    file: int
    columns: tuple[int, ...]
    groups: tuple[int, ...] | None = None
    first: int = 0


@dataclass(frozen=True, slots=True)
class WantedColumns:
    """Columns of all pieces: ``names`` of cells with their ``forms``, and ``count``, which may be missing."""

    names: tuple[str, ...]
    forms: tuple[TableForm, ...]
    count: str | None
    decimals: tuple[Decimal | None, ...]
    reading: Reading


def pieces_of(
    tables: Sequence[TableFile], files: Sequence[FilePath], columns: int, workers: int
) -> tuple[tuple[Piece, ...], ...]:
    """Divide the files of a table into at least two pieces for each worker, where they are large.

    Parquet files can be: into row groups, and where these are few, into columns.
    """
    from maxent.models.tables.parquet_files import ParquetFile

    rows = rows_of(tables)
    most = rows_for(rows, workers)
    found: list[tuple[Piece, ...]] = []
    for number, (table, path) in enumerate(zip(tables, files, strict=True)):
        if isinstance(table, ParquetFile):
            found += [(piece,) for piece in _of_groups(path.absolute(), number, columns, table.groups, most)]
        else:
            found.append((Piece(path.absolute(), number, tuple(range(columns))),))
    shares = min(-(-2 * workers // len(found)), columns) if workers > 1 and rows > SMALLEST else 1
    return tuple(tuple(_by_column(piece, shares)) for (piece,) in found)


def rows_of(tables: Sequence[TableFile]) -> int:
    """The rows of files that say how many they have."""
    from maxent.models.tables.parquet_files import ParquetFile

    return sum(sum(table.groups) for table in tables if isinstance(table, ParquetFile))


def rows_for(rows: int, workers: int) -> int:
    """Rows that a worker takes at a time."""
    return min(max(rows // (2 * workers), SMALLEST), LARGEST)


def _of_groups(path: FilePath, number: int, columns: int, sizes: Sequence[int], most: int) -> Iterator[Piece]:
    """Pieces of up to about ``most`` rows: small row groups together, large ones by themselves."""
    first, taken, held, every = 0, 0, list[int](), tuple(range(columns))
    for group, size in enumerate(sizes):
        if held and taken + size > most:
            yield Piece(path, number, every, tuple(held), first)
            first, taken, held = first + taken, 0, []
        held.append(group)
        taken += size
    if held:
        yield Piece(path, number, every, tuple(held), first)


def _by_column(piece: Piece, shares: int) -> Iterator[Piece]:
    """The columns of a piece in so many shares; of a file that is read as a whole all together."""
    if piece.groups is None or shares < 2:
        yield piece
        return
    columns = len(piece.columns)
    cuts = [columns * i // shares for i in range(shares + 1)]
    for start, stop in pairwise(cuts):
        yield Piece(piece.path, piece.file, piece.columns[start:stop], piece.groups, piece.first)


def batches_of(piece: Piece, wanted: WantedColumns) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a piece: its columns, and that with the numbers of people, if there is one."""
    from maxent.models.tables.parquet_files import ParquetFile

    table = open_file(piece.path, Reader(wanted.reading))
    names = [*(wanted.names[i] for i in piece.columns), *([] if wanted.count is None else [wanted.count])]
    if isinstance(table, ParquetFile) and piece.groups is not None:
        return table.batches(names, piece.groups)
    return table.batches(names)
