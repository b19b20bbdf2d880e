"""Large tables, read in pieces and merged: memory grows with the number of distinct rows, not of rows.

The files are parsed batch by batch, by the parsers that read small ones, and merged into what came before. Cells are
grouped as they are stored; what they mean is looked at once for each distinct row.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.models.arrays import IntArray
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.files.input_files import FilePath
from maxent.models.reading import Decimal, Reader, Reading, size_text
from maxent.models.tables.cells import numbers, understood, with_points
from maxent.models.tables.frame import Column, Frame, from_arrow, heading, listed, repeated_columns
from maxent.models.tables.table_files import TableFile, open_file

if TYPE_CHECKING:
    import pyarrow as pa

_WAITING = 1 << 17  # rows that are at least merged at once
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

    place = grouped.column("place").to_numpy()
    order = np.argsort(place)
    columns = {}
    for i, (name, form) in enumerate(zip(keys, forms, strict=True)):
        column = from_arrow(restored(grouped.column(i), form))
        columns[name] = Column(column.codes[order], column.values, numeric=column.numeric)
    lines, ragged, locate = row_places(tables, ends, place[order])
    frame = Frame(
        label,
        tables[0].unit if single else "row",
        header,
        columns,
        lines,
        grouped.column("repeats").to_numpy()[order],
        tuple(problems + ragged),
        locate,
        decimal=decimal_of(tables),
        text=single and tables[0].text,
    )
    individuals = np.minimum(grouped.column("individuals").to_numpy(), 2.0**53).astype(np.int64)[order]
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


def _group(rows: Iterable[pa.RecordBatch], forms: Sequence[TableForm], source: str, max_memory: int) -> pa.Table:
    """Merge equal rows, as they come; merging takes about twice ``max_memory`` for a moment."""
    import pyarrow as pa

    merged, waiting, n_waiting = _schema(forms).empty_table(), [], 0
    for batch in rows:
        waiting.append(batch)
        n_waiting += batch.num_rows
        # As many new rows as there are merged ones: in all, every row is merged about twice.
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
    if merged.nbytes > max_memory:
        expected = f"distinct rows that fit into {size_text(max_memory)} (max_memory=)"
        raise invalid(source, "file", "rows", expected, f"{merged.num_rows} that do not, and perhaps more")
    # In one piece, as joining the dictionaries of many pieces takes time by the square of their number.
    return merged.rename_columns([*keys, *_MERGED]).select(table.column_names).combine_chunks()


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
