"""Tables as named columns of coded values, from any source: files, standard input, or objects in memory."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import islice
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from maxent.models.arguments import shorten, shorten_list
from maxent.models.arrays import IntArray
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.hints import HINTED, closest
from maxent.models.reading import Decimal, Reader, size_text

if TYPE_CHECKING:
    from pandas import DataFrame, Series


# The limit on the memory that the cells of a table take, kept while they are read.

# Bytes that every cell takes at least, as a code, and every row, for its place and what it stands for
_CELL, _ROW = 8, 16


def cells_size(rows: int, columns: int) -> int:
    """Bytes that a table takes, whatever is in its cells."""
    return rows * (_CELL * columns + _ROW)


@dataclass(slots=True)
class Memory:
    """Memory that reading a table has taken so far."""

    source: str
    most: int
    taken: int = 0

    def take(self, size: int) -> None:
        """Count bytes that are kept."""
        self.taken += size
        if self.taken > self.most:
            raise too_large(self.source, self.most, "more")


def too_large(source: str, most: int, found: str) -> InvalidInput:
    """The `InvalidInput` for a table that takes more memory than it may."""
    return invalid(source, "file", "memory", f"at most {size_text(most)} for what is read (max_memory=)", found)


# Arrow arrays of NumPy's numbers and back, by their buffers.
#
# ``pyarrow.array``, ``to_numpy`` and ``fill_null`` all import pandas, which takes longer than reading most tables.


def give_back() -> None:
    """Return memory to the system that Arrow keeps for arrays to come, where it is loaded."""
    if (arrow := sys.modules.get("pyarrow")) is not None:
        arrow.default_memory_pool().release_unused()


def taken(array: Any, places: Any) -> Any:
    """Return the cells of an Arrow array, or the rows of a table, at some places, an Arrow array; null for null."""
    import pyarrow.compute as pc

    return pc.take(array, places)


def with_dictionary(array: Any) -> Any:
    """Return an Arrow array or chunked array as a dictionary of its different cells, and where these are."""
    import pyarrow as pa

    return array if pa.types.is_dictionary(array.type) else array.dictionary_encode()


def arrow_numbers(values: npt.NDArray[Any]) -> Any:
    """Return an Arrow array of numbers, shape (n,), which are not copied when they are in one piece."""
    import pyarrow as pa

    values = np.ascontiguousarray(values)
    buffers = [None, pa.py_buffer(values)]
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), buffers)


def arrow_places(places: IntArray) -> Any:
    """Return indices as Arrow's, of 4 bytes, with null in place of -1."""
    import pyarrow as pa

    absent = places < 0
    held = None
    if absent.any():
        held = pa.py_buffer(np.packbits(~absent, bitorder="little"))
    buffers = [held, pa.py_buffer(places.astype(np.int32))]
    return pa.Array.from_buffers(pa.int32(), len(places), buffers)


def plain_numbers(array: Any) -> npt.NDArray[Any]:
    """Return an Arrow array or chunked array of numbers; where it has nulls, these are any number."""
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        kind = array.type.to_pandas_dtype()
        return np.concatenate([np.empty(0, kind), *map(plain_numbers, array.chunks)])
    kind = np.dtype(array.type.to_pandas_dtype())
    data = array.buffers()[1]
    return np.frombuffer(b"" if data is None else data, kind)[array.offset : array.offset + len(array)]


def whole_places(indices: Any) -> IntArray:
    """Return Arrow's indices as NumPy's, -1 in place of null."""
    found = plain_numbers(indices).astype(np.int64)
    return np.where(is_there(indices), found, -1) if indices.null_count else found


def is_there(array: Any) -> npt.NDArray[np.bool_]:
    """Return which cells of an Arrow array are not null, shape (n,)."""
    if not array.null_count:
        return np.ones(len(array), bool)
    held = array.is_valid()
    bits = np.frombuffer(held.buffers()[1], np.uint8)
    return np.unpackbits(bits, bitorder="little")[held.offset : held.offset + len(held)].astype(bool)


def arrow_texts(texts: Sequence[str]) -> Any:
    """Return an Arrow array of texts."""
    import pyarrow as pa

    held = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, held)]).astype(np.int32)
    return pa.Array.from_buffers(pa.string(), len(held), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(held))])


# The delimiter of a CSV file: as a line before the header states it, else as the first rows show it.

# What may separate cells, by what options call it; the mark itself is understood, too
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|"}

# A line before the header that says what separates cells, as Excel reads it
STATED = re.compile(rb'"?[sS][eE][pP]=([,;\t|])"?(?:\r\n|\n|\r|\Z)')

LOOKED_AT = 100  # rows that are looked at, the header among them

Source: TypeAlias = "DataFrame | str | PathLike[str]"

_NUMBERS = (int, float, np.integer, np.floating)

LISTED = 10  # problems of one kind that are spelled out before the rest is only counted


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One column, factorised: row i holds ``values[codes[i]]``, or nothing where the code is -1.

    ``values`` are numbers where the source has a number type, else an object array; two of them may read alike
    (1 and "1"), and some may occur in no row. ``dated`` says whether the type of the source is one of dates, times or
    durations, ``numeric`` whether it is one of numbers, None where the source has no types. ``blanks`` are the rows
    without a value, by what is written in them.
    """

    codes: IntArray
    values: npt.NDArray[Any]
    dated: bool = False
    numeric: bool | None = None
    blanks: Mapping[str, int] = field(default_factory=dict)

    def texts(self) -> list[str]:
        """Return the values as text: strings as they are, True and 1 as ``True`` and ``1``, floats by `repr`."""
        if self.values.dtype == np.float32 or self.values.dtype == np.float16:
            return [str(value + 0) for value in self.values]
        return [_text(value) for value in self.values.tolist()]


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """The wanted columns of a source that were found in it.

    * ``source``: what it was read from.
    * ``unit``: what ``lines`` are: ``line`` or ``row``.
    * ``header``: all columns of the source.
    * ``columns``: those that are wanted and there.
    * ``lines`` (n_rows,): the line of the file each row starts on (the header being line 1), or the number of the row,
      from 1.
    * ``repeats`` (n_rows,): how many rows of the source each one stands for: equal rows may have been merged, into the
      first of them.
    * ``problems``: ragged rows, which the columns leave out, and wanted columns that occur twice.
    * ``locate``: names a place given as in ``lines``: ``line 7``.
    * ``reader``: reads it, and remembers what is noticed.
    * ``decimal`` (point, comma): what stands before the decimals of numbers that are text; None for as the columns
      show.
    * ``text``: whether all cells were text in the source, which says nothing of their types.
    """

    source: str
    unit: Literal["line", "row"]
    header: tuple[str, ...]
    columns: Mapping[str, Column]
    lines: IntArray
    repeats: IntArray
    problems: tuple[Problem, ...]
    locate: Callable[[int], str]
    reader: Reader = field(default_factory=Reader)
    decimal: Decimal | None = "point"
    text: bool = False

    @property
    def heading(self) -> str:
        """Place of the names of columns."""
        return heading(self.unit)

    def place(self, row: int) -> str:
        """Name the place of a row: ``line 7``."""
        return self.locate(int(self.lines[row]))

    def rows_with(self, name: str) -> IntArray:
        """Rows of the source with each value of a column, and, last, without one, shape (n_values + 1,)."""
        column = self.columns[name]
        found = np.bincount(column.codes + 1, weights=self.repeats, minlength=len(column.values) + 1)
        return np.roll(found.astype(np.int64), -1)

    def in_words(self, number: int) -> str:
        """A number of rows in words."""
        return f"{number} {self.unit}{'' if number == 1 else 's'}"


def heading(unit: Literal["line", "row"]) -> str:
    """Say where the names of the columns are in a source that has such places."""
    return "header" if unit == "line" else "columns"


def missing_columns(frame: Frame, names: Iterable[str]) -> list[Problem]:
    """List the names that are no columns of the source, each with the column that was probably meant.

    What is in a source is shown only when one of the wanted columns is, whatever its case: else it may be any file.
    """
    header, wanted = set(frame.header), tuple(names)
    divided = [name for name, mark in DELIMITERS.items() if len(frame.header) == 1 and mark in frame.header[0]]
    advice = f" (is the mark between cells a {divided[0]}? Then give csv_delimiter='{divided[0]}')" if divided else ""
    expected = f"a column of this name{advice}"
    shown = bool(frame.columns) or has_any(frame.header, wanted)
    return [
        Problem(frame.heading, name, expected, f"none{_suggestion(name, frame.header, shown) if i < HINTED else ''}")
        for i, name in enumerate(name for name in wanted if name not in header)
    ]


def has_any(header: Iterable[str], names: Iterable[str]) -> bool:
    """Say whether a source has one of some columns, whatever its case: one that has none may be any file."""
    folded = {name.strip().lower() for name in names}
    return any(name.strip().lower() in folded for name in header)


def other_columns(header: Sequence[str]) -> str:
    """Say how many columns there are in what may be any file, without what they are called."""
    return f"{len(header)} column{'s' * (len(header) != 1)} of other names (is it the right file?)"


def alike(name: str, header: Sequence[str]) -> str | None:
    """Return the column that may have been meant by a name that is none."""
    same = (other for other in header if other.strip().lower() == name.strip().lower())
    return next(same, None) or closest(name, header)


def _suggestion(name: str, header: Sequence[str], shown: bool) -> str:
    """Say which column may have been meant, or which there are; without what they are called unless that is shown."""
    if not shown:
        return f" among {other_columns(header)}"
    close = alike(name, header)
    if close is None:
        return f" among {shorten_list(header)}"
    if close.strip() == name.strip():
        return f", but {shorten(close)} (spaces count)"
    return f"; did you mean {shorten(close)}?"


def listed(problems: Iterable[Problem], total: int, what: str) -> list[Problem]:
    """Return the first of ``total`` problems of one kind, saying how many ``what`` more there are."""
    found = list(islice(problems, LISTED + 1))
    if total > LISTED:
        rest = found[LISTED]
        found[LISTED] = Problem(f"and {total - LISTED} more {what}", rest.field, rest.expected, "the like")
    return found


def _text(value: object) -> str:
    """Return one value as the text it stands for."""
    if isinstance(value, str):
        return str(value)
    # repr of a NumPy float names its type; the sum turns -0.0 into 0.0.
    return repr(float(value) + 0.0) if isinstance(value, float) else str(value)


def repeated_columns(header: Sequence[str], names: Iterable[str], where: str) -> list[Problem]:
    """List the names that more than one column has."""
    return [
        Problem(where, name, "one column of this name", f"{header.count(name)} of them")
        for name in names
        if header.count(name) > 1
    ]


def from_pandas(source: object, name: str, wanted: Sequence[str], absent: Callable[[str], bool] = "".__eq__) -> Frame:
    """Factorise the wanted columns of a DataFrame, those that are there; labels are compared as text."""
    import pandas as pd

    if not isinstance(source, pd.DataFrame):
        raise invalid(name, "argument", name, "a pandas DataFrame or the path of a file", shorten(source))
    header = tuple(str(label) for label in source.columns)
    columns = {label: _from_series(source.iloc[:, header.index(label)], absent) for label in wanted if label in header}
    lines = np.arange(1, len(source) + 1, dtype=np.int64)
    problems = tuple(repeated_columns(header, wanted, heading("row")))
    return Frame(name, "row", header, columns, lines, np.ones_like(lines), problems, "row {}".format)


def from_arrow(array: Any, dated: bool = False) -> Column:
    """Return an Arrow chunked array of numbers or of text as a column; nulls and NaN are missing."""
    import pyarrow as pa

    if pa.types.is_float16(array.type) and array.num_chunks > 1:
        array = pa.chunked_array([pa.concat_arrays(array.chunks)])  # unifying takes their bits for numbers
    stated = pa.types.is_dictionary(array.type)
    coded = with_dictionary(array).unify_dictionaries().combine_chunks()
    del array  # its dictionaries may be as large as all that is made of them
    give_back()
    if isinstance(coded, pa.ChunkedArray):
        # combine_chunks keeps a list of chunks where there is none to combine.
        coded = coded.chunk(0) if coded.num_chunks else pa.array([], type=coded.type)
    codes = plain_numbers(coded.indices)  # of four bytes, and Arrow's own: a table has many (`IntArray` says eight)
    if coded.indices.null_count:
        codes = np.where(is_there(coded.indices), codes, codes.dtype.type(-1))
    kind = coded.dictionary.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        cells = coded.dictionary
        values = (cells.to_numpy(zero_copy_only=False) if cells.null_count else plain_numbers(cells)) + 0  # no -0.0
        if (absent := np.isnan(values)).any():
            codes = np.where((codes >= 0) & absent[codes], codes.dtype.type(-1), codes)
    else:
        values = np.array(coded.dictionary.to_pylist(), dtype=object)
        del coded
    return Column(codes, values, dated, values.dtype.kind in "iuf" and not stated)


def _from_series(series: Series[Any], absent: Callable[[str], bool]) -> Column:
    """Return a column of a DataFrame, factorised."""
    import pandas as pd

    if isinstance(series.dtype, pd.CategoricalDtype):
        return _coded(series.cat.codes.to_numpy(), series.cat.categories, numeric=False)
    numeric = None
    if series.dtype == object and pd.api.types.infer_dtype(series, skipna=True) not in {"string", "empty"}:
        # 1, 1.0 and True are equal for pandas, but do not read alike; lists cannot be hashed.
        cells = [None if lacking else value for value, lacking in zip(series, series.isna(), strict=True)]
        held = [cell for cell in cells if cell is not None and not (isinstance(cell, str) and absent(cell))]
        numeric = bool(held) and all(isinstance(cell, _NUMBERS) and not isinstance(cell, bool) for cell in held)
        series = pd.Series([None if cell is None else _text(cell) for cell in cells], dtype=object)
    return _coded(*pd.factorize(series), numeric=numeric)


def _coded(codes: npt.NDArray[Any], values: Any, *, numeric: bool | None) -> Column:
    """Return codes, and an index or extension array of their values, as a column of numbers or objects."""
    array = np.asarray(values)
    plain = array + 0 if array.dtype.kind in "iuf" else np.asarray(values, dtype=object)  # -0.0 is 0.0
    dated = len(plain) > 0 and isinstance(plain[0], (date, timedelta))
    return Column(codes.astype(np.int64), plain, dated, plain.dtype.kind in "iuf" if numeric is None else numeric)
