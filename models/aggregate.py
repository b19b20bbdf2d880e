"""Large tables, merged while they are read: memory grows with the number of distinct rows, not of rows.

The files are parsed batch by batch, by the parsers that read small ones, and DuckDB groups the rows, on disk where
memory does not suffice. Cells are grouped as they are stored; what they mean is looked at once for each distinct row.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.models.cellvalues import numbers
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.files import TableFile, open_file
from maxent.models.frames import Column, Frame, IntArray, from_arrow, heading, listed, repeated_columns, shorten

if TYPE_CHECKING:
    import pyarrow as pa

_MEMORY = "1GB"
"""What DuckDB may use before it goes to disk."""

_THREADS = 4
"""More would split that memory into useless pieces."""


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """A table with equal rows merged.

    ``frame`` has one row for each distinct one, where it appears first, in the order of these places; rows for a
    positive number of individuals, for none, and for a number that is refused are never merged with one another.
    ``individuals``, shape (n_rows,), are those of all rows that each one stands for, below 0 where the numbers were
    refused, and at most 2**53.
    """

    frame: Frame
    individuals: IntArray


def aggregate(files: Sequence[Path], source: str, names: Sequence[str], count: str | None) -> Groups:
    """Read the named columns of files that together are one table, and merge equal rows.

    Parameters
    ----------
    files : sequence of Path
        One or more, in the order of their rows. Columns are found by name in each of them.
    source : str
        What to call several files in messages; one goes by its own name. Rows of several are numbered through all.
    names : sequence of str
        Columns to read and group by; those that are in no file are missing from `Frame.columns`.
    count : str, optional
        The column, none of ``names``, with the individuals a row stands for; 1 where no file has it.

    Raises
    ------
    InvalidInput
        When a file cannot be read as a table, lacks a column that another has, or distinct rows are too many for
        memory and disk.
    """
    tables = [open_file(path) for path in files]
    single = len(tables) == 1
    label = tables[0].source if single else source
    wanted = [*names, *([] if count is None else [count])]
    problems = _headers(tables, source, wanted)
    header = tables[0].header
    keys = [name for name in names if name in header]
    forms = [_form({table.types[name] for table in tables}) for name in keys]
    ends: list[int] = []
    grouped = _group(_rows(tables, keys, forms, count if count in header else None, ends), forms, label)

    place = grouped.column("place").to_numpy()
    order = np.argsort(place)
    columns = {}
    for i, (name, form) in enumerate(zip(keys, forms, strict=True)):
        column = from_arrow(_restored(grouped.column(i), form))
        columns[name] = Column(column.codes[order], column.values)
    lines, ragged, locate = _places(tables, ends, place[order])
    frame = Frame(
        label,
        tables[0].unit if single else "row",
        header,
        columns,
        lines,
        grouped.column("repeats").to_numpy()[order],
        tuple(problems + ragged),
        locate,
    )
    return Groups(frame, np.minimum(grouped.column("individuals").to_numpy(), 2.0**53).astype(np.int64)[order])


def _headers(tables: Sequence[TableFile], source: str, wanted: Sequence[str]) -> list[Problem]:
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


def _places(
    tables: Sequence[TableFile], ends: Sequence[int], rows: IntArray
) -> tuple[IntArray, list[Problem], Callable[[int], str]]:
    """Return what `Frame` calls the places of rows, which are counted through all tables from 0; the ragged rows."""
    starts = [0, *ends[:-1]]
    if len(tables) == 1:
        return *tables[0].lines(ends[0], rows), (tables[0].unit + " {}").format
    ragged: list[Problem] = []
    for table, start, end in zip(tables, starts, ends, strict=True):
        _, problems = table.lines(end - start, np.zeros(0, dtype=np.int64))
        ragged += [replace(problem, where=f"{table.source}, {problem.where}") for problem in problems]

    def locate(number: int) -> str:
        i = bisect_right(starts, number - 1) - 1
        (line,), _ = tables[i].lines(ends[i] - starts[i], np.array([number - 1 - starts[i]], dtype=np.int64))
        return f"{tables[i].source}, {tables[i].unit} {line}"

    return rows + 1, ragged, locate


# --- What DuckDB sees -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Form:
    """How a column is grouped: as text, or, where ``kind`` is its type, as the bits of its numbers.

    Bits, because DuckDB takes 0.0 and -0.0 for the same, and has no float16.
    """

    stored: pa.DataType
    kind: pa.DataType | None = None


def _form(types: set[pa.DataType]) -> _Form:
    """Choose the form of a column that has these types in the files."""
    import pyarrow as pa

    kinds = {_kind(found) for found in types}
    kind = kinds.pop()
    if kinds or not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return _Form(pa.string())
    return _Form({8: pa.uint8(), 16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}[kind.bit_width], kind)


def _kind(found: pa.DataType) -> pa.DataType:
    """Return the type of the cells; a dictionary is only a way to store them."""
    import pyarrow as pa

    return found.value_type if pa.types.is_dictionary(found) else found


def _stored(array: Any, form: _Form) -> Any:
    """Return an Arrow array in the form it is grouped by."""
    import pyarrow as pa

    kind = _kind(array.type)
    if form.kind is not None:
        return (array if array.type == kind else array.dictionary_decode()).view(form.stored)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return array.cast(form.stored)
    column = from_arrow(pa.chunked_array([array]))
    return pa.array(np.array([*column.texts(), None], dtype=object)[column.codes], form.stored)


def _restored(array: Any, form: _Form) -> Any:
    """Undo `_stored`, up to text, for a chunked array."""
    import pyarrow as pa

    return array if form.kind is None else pa.chunked_array([c.view(form.kind) for c in array.chunks], form.kind)


def _rows(
    tables: Sequence[TableFile], keys: Sequence[str], forms: Sequence[_Form], count: str | None, ends: list[int]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of all tables as `_schema` says; add to ``ends`` how many there were up to the end of each."""
    import pyarrow as pa

    schema, place = _schema(forms), 0
    for table in tables:
        for batch in table.batches([*keys, *([] if count is None else [count])]):
            rows = batch.num_rows
            cells = [_stored(batch.column(i), form) for i, form in enumerate(forms)]
            people = np.ones(rows, dtype=np.int64) if count is None else _people(batch.column(len(keys)))
            places = np.arange(place, place + rows, dtype=np.int64)
            yield pa.record_batch([*cells, pa.array(people), pa.array(places)], schema=schema)
            place += rows
        ends.append(place)


def _schema(forms: Sequence[_Form]) -> pa.Schema:
    """Columns for DuckDB, by names of our own: those of files may differ by case alone, which it ignores."""
    import pyarrow as pa

    keys = [(f"key{i}", form.stored) for i, form in enumerate(forms)]
    return pa.schema([*keys, ("people", pa.int64()), ("place", pa.int64())])


def _people(array: Any) -> IntArray:
    """Return numbers of individuals, -1 for those that are refused."""
    import pyarrow as pa

    column = from_arrow(pa.chunked_array([array]))
    found = numbers(column, low=0, high=2.0**53, whole=True)
    return np.append(np.where(np.isnan(found), -1, found), -1).astype(np.int64)[column.codes]


def _group(rows: Iterator[pa.RecordBatch], forms: Sequence[_Form], source: str) -> pa.Table:
    """Group rows by their keys and the sign of people: keys, ``repeats``, ``individuals`` (float64), ``place``."""
    import duckdb
    import pyarrow as pa

    keys = "".join(f"key{i}, " for i in range(len(forms)))
    wanted = f"{keys}count(*) AS repeats, CAST(sum(people) AS DOUBLE) AS individuals, min(place) AS place"
    failures: list[Exception] = []
    stopped = Event()
    reader = pa.RecordBatchReader.from_batches(_schema(forms), _watched(rows, failures, stopped))
    with (
        TemporaryDirectory(prefix="maxent-") as folder,
        duckdb.connect(config=_settings(folder)) as connection,
        # Python handles Ctrl-C in its main thread alone, which must not wait inside DuckDB for that.
        ThreadPoolExecutor(1) as worker,
    ):
        # Standard output is not DuckDB's to draw on; it does so where Python runs no script.
        connection.execute("SET enable_progress_bar = false")
        result = worker.submit(
            lambda: connection.from_arrow(reader).aggregate(wanted, f"{keys}sign(people)").to_arrow_table()
        )
        try:
            return result.result()
        except duckdb.Error as error:
            if failures:
                raise failures[0] from None
            expected = f"distinct rows that fit into {_MEMORY} of memory and the disk of {folder}"
            raise invalid(source, "file", "rows", expected, shorten(str(error).splitlines()[0], 200)) from error
        except BaseException:
            stopped.set()
            connection.interrupt()
            raise


def _watched(rows: Iterator[pa.RecordBatch], failures: list[Exception], stopped: Event) -> Iterator[pa.RecordBatch]:
    """Yield rows until stopped, and keep what goes wrong: of an error in its input DuckDB passes on the words alone."""
    try:
        for batch in rows:
            if stopped.is_set():
                return
            yield batch
    except Exception as error:
        failures.append(error)
        raise


def _settings(folder: str) -> dict[str, str | bool | int | float | list[str]]:
    """Bound what DuckDB uses."""
    return {
        "memory_limit": _MEMORY,
        "threads": min(_THREADS, os.cpu_count() or 1),
        "temp_directory": folder,
        "preserve_insertion_order": False,
    }
