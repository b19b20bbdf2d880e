"""Parquet files, read batch by batch, with columns of any stored type as numbers or text."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Literal

import numpy as np

from maxent.models.arguments import shorten
from maxent.models.arrays import IntArray
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.reading import size_text
from maxent.models.tables.frame import (
    arrow_numbers,
    arrow_places,
    heading,
    taken,
    too_large,
    whole_places,
    with_dictionary,
)

if TYPE_CHECKING:
    import pyarrow as pa


# Columns of Parquet files as numbers or text, whatever type they are stored in; what is neither is refused by row.
#
# Dates and times become the text that Python has for them, decimals become numbers, and bytes are text when they are
# UTF-8, as some programs write no other. NaT is missing, like a null.

PLAIN = "text, numbers or other plain values"  # what cells can be
_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def plain_type(stored: pa.DataType) -> pa.DataType | None:
    """Return the type that `plain_array` gives a column: numbers, or text in a dictionary; None for lists and such."""
    import pyarrow as pa

    kind = _kind(stored)
    if pa.types.is_decimal(kind):
        return pa.int64() if kind.scale <= 0 else pa.float64()
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return kind
    plain = (pa.types.is_null, pa.types.is_boolean, is_time, _is_text, _is_bytes)
    return pa.dictionary(pa.int32(), pa.string()) if any(test(kind) for test in plain) else None


def is_time(stored: pa.DataType) -> bool:
    """Say whether a type is of dates, times or durations."""
    import pyarrow as pa

    kind = _kind(stored)
    return bool(pa.types.is_temporal(kind) and not pa.types.is_interval(kind))


def plain_array(array: Any, source: str, name: str, start: int) -> Any:
    """Return a batch of a column, which begins at row ``start`` of the file, as an array of its `plain_type`."""
    import pyarrow as pa

    kind = plain_type(array.type)
    try:
        return _as_text(array) if pa.types.is_dictionary(kind) else _as_numbers(array, kind)
    except _Unusable as error:
        raise invalid(source, f"row {start + error.row + 1}", name, error.expected, error.found) from None


class _Unusable(Exception):
    """A value that is refused: its row in the batch, from 0, what was expected and what was found."""

    def __init__(self, row: int, expected: str, found: str) -> None:
        self.row, self.expected, self.found = row, expected, found


def _kind(stored: pa.DataType) -> pa.DataType:
    """Return the type of the cells; a dictionary is only a way to store them."""
    import pyarrow as pa

    return stored.value_type if pa.types.is_dictionary(stored) else stored


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind))


def _as_numbers(array: Any, kind: pa.DataType) -> Any:
    """Decode a dictionary of numbers; of decimals take the whole number, or the nearest float."""
    import pyarrow as pa

    decoded = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    try:
        return decoded if decoded.type == kind else decoded.cast(kind)
    except pa.ArrowInvalid:
        for row in range(len(decoded)):
            try:
                decoded.slice(row, 1).cast(kind)
            except pa.ArrowInvalid:
                found = shorten(str(decoded[row].as_py()))
                raise _Unusable(row, "a whole number of at most 18 digits", found) from None
        raise


def _as_text(array: Any) -> Any:
    """Return text in a dictionary; each different value is looked at once."""
    import pyarrow as pa

    kind = _kind(array.type)
    if pa.types.is_null(kind):
        return pa.nulls(len(array), pa.dictionary(pa.int32(), pa.string()))
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        array = array.cast(pa.large_string() if _is_text(kind) else pa.large_binary())
    coded = with_dictionary(array)
    indices = whole_places(coded.indices)
    values, same = coded.dictionary, coded.indices.type == pa.int32() and not coded.indices.null_count
    if len(values) > len(indices):
        # Where pages stop to use a dictionary it grows from batch to batch.
        used = np.unique(indices[indices >= 0])
        indices, same = np.where(indices < 0, -1, np.searchsorted(used, indices)), False
        values = taken(values, arrow_numbers(used))
    texts = _texts(values, indices)
    if texts.null_count:
        absent = np.array([*texts.is_null().to_pylist(), True])
        indices, texts, same = np.where(absent[indices], -1, indices), texts.fill_null(""), False
    return pa.DictionaryArray.from_arrays(coded.indices if same else arrow_places(indices), texts)


def _texts(values: Any, indices: IntArray) -> Any:
    """Return different values as Arrow strings; ``indices``, shape (n_rows,), say which of them each row has."""
    import pyarrow as pa

    if _is_text(values.type):
        try:
            values.validate(full=True)
            return values if values.type == pa.string() else values.cast(pa.string())
        except pa.ArrowInvalid:
            pass  # the loop below finds the row
    found: list[str | None] = []
    for place, value in enumerate(values):
        try:
            found.append(_text(value) if value.is_valid else None)
        except (ArithmeticError, LookupError, TypeError, ValueError):
            rows = np.flatnonzero(indices == place)
            if len(rows):
                raise _Unusable(int(rows[0]), *_refusal(value)) from None
            found.append(None)
    return pa.array(found, pa.string())


def _text(value: Any) -> str | None:
    """Return an Arrow scalar as text, None for NaT; all errors are those of values that Python cannot hold."""
    import pyarrow as pa

    if _is_text(value.type) or _is_bytes(value.type):
        return str(value.as_buffer().to_pybytes(), "utf-8")
    if pa.types.is_time(value.type) and not 0 <= value.value < _DAY[value.type.unit]:
        raise OverflowError  # Python would begin the day again
    found = value.as_py()
    return None if found != found else str(found)


def _refusal(value: Any) -> tuple[str, str]:
    """Say what was expected in place of a value that has no text, and what was found."""
    import pyarrow as pa

    if _is_text(value.type) or _is_bytes(value.type):
        return "text in UTF-8", "bytes that are none"
    expected = "a date in the years 1 to 9999"
    if pa.types.is_time(value.type):
        expected = "a time of day"
    elif pa.types.is_duration(value.type):
        expected = f"a duration of at most {timedelta.max.days} days"
    elif pa.types.is_timestamp(value.type) and value.type.tz is not None:
        expected += ", in a time zone that is known"
    number = value.cast(pa.int32() if value.type.bit_width == 32 else pa.int64()).as_py()
    return expected, f"{number} as {shorten(str(value.type))}"


_ROWS = 1 << 17  # rows of a batch of a few columns
_CELLS = 1 << 21  # cells of a batch of many

# Rows of a batch when a column is stored by what differs from row to row, so that long texts may need few bytes
_EXPANDED_ROWS = 1 << 8

# Encodings in which every text is spelled out once, and from which Arrow takes texts as a dictionary
_IN_PLACE = frozenset({"PLAIN", "PLAIN_DICTIONARY", "RLE", "RLE_DICTIONARY", "BIT_PACKED"})


@dataclass(frozen=True, slots=True)
class ParquetFile:
    """A Parquet file whose footer has been read: its columns, their types, the number of rows.

    * ``source``: its name.
    * ``open``: opens its bytes, from the first.
    * ``header``: the names of the columns; they may repeat.
    * ``stored``: the type in the file of the first column of each name.
    * ``rows``: how many there are, as it says.
    * ``groups``: how many there are in each row group.
    * ``sizes``: the most bytes that a row group says it has of a column, unpacked, by the name of the column.
    * ``max_memory``: the bytes that may be unpacked at a time.
    * ``expanded``: columns in an encoding from which texts cannot be taken as a dictionary.
    """

    source: str
    open: Callable[[], BinaryIO]
    header: tuple[str, ...]
    stored: Mapping[str, pa.DataType]
    rows: int
    groups: tuple[int, ...]
    sizes: Mapping[str, int]
    max_memory: int
    expanded: frozenset[str]
    unit: ClassVar[Literal["row"]] = "row"
    text: ClassVar[bool] = False
    decimal: ClassVar[Literal["point"]] = "point"

    def place(self, number: int) -> str:
        """The place of a row in words."""
        return f"row {number}"

    @property
    def types(self) -> Mapping[str, pa.DataType]:
        """The types of the columns that `batches` yields; text for those that it refuses."""
        import pyarrow as pa

        return {name: plain_type(kind) or pa.string() for name, kind in self.stored.items()}

    @property
    def times(self) -> frozenset[str]:
        """The columns of dates, times or durations."""
        return frozenset(name for name, kind in self.stored.items() if is_time(kind))

    def batches(self, names: Sequence[str], groups: Sequence[int] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows: the first column of each name, in this order, as numbers or as text in dictionaries."""
        import pyarrow as pa
        from pyarrow import parquet

        nested = [name for name in names if plain_type(self.stored[name]) is None]
        if nested:
            where = heading(self.unit)
            raise InvalidInput(
                self.source, [Problem(where, name, PLAIN, shorten(str(self.stored[name]))) for name in nested]
            )
        unpacked = sum(self.sizes.get(name, 0) for name in names)
        if unpacked > self.max_memory:
            raise too_large(self.source, self.max_memory, f"{size_text(unpacked)} in one row group")
        rows = _EXPANDED_ROWS if self.expanded.intersection(names) else max(1, min(_ROWS, _CELLS // (len(names) or 1)))
        dictionaries = [name for name in names if name not in self.expanded]
        start = 0
        with self.open() as file, _refusals(self.source):
            data = parquet.ParquetFile(file, read_dictionary=dictionaries)
            for batch in data.iter_batches(rows, None if groups is None else list(groups), columns=list(names)):
                columns = [batch.column(batch.schema.names.index(name)) for name in names]
                plain = [plain_array(c, self.source, name, start) for c, name in zip(columns, names, strict=True)]
                # A batch without columns would lose the number of its rows.
                yield pa.RecordBatch.from_arrays(plain, names=list(names)) if plain else batch
                start += batch.num_rows

    def lines(self, rows: int, wanted: IntArray) -> tuple[IntArray, list[Problem]]:
        """Return the numbers, from 1, of rows that are counted from 0; nothing is ever wrong with them."""
        return wanted + 1, []


def open_parquet(source: str, opener: Callable[[], BinaryIO], max_memory: int) -> ParquetFile:
    """Read the footer of a Parquet file; reading its cells will refuse to take more than ``max_memory`` bytes."""
    from pyarrow import parquet

    with opener() as data, _refusals(source):
        footer = _Footer(data)
        file = parquet.ParquetFile(footer, pre_buffer=True)
        _check_columns(file, footer)
        schema = file.schema_arrow
        stored = {field.name: field.type for field in reversed(schema)}
        sizes: dict[str, int] = {}
        expanded: set[str] = set()
        for chunk in _chunks(file.metadata):
            name = chunk.path_in_schema
            sizes[name] = max(sizes.get(name, 0), chunk.total_uncompressed_size)
            if not _IN_PLACE.issuperset(chunk.encodings):
                expanded.add(name)
        rows = file.metadata.num_rows
        groups = tuple(file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups))
        header = tuple(schema.names)
        return ParquetFile(source, opener, header, stored, rows, groups, sizes, max_memory, frozenset(expanded))


class _Closed(Exception):
    """More than the footer was asked for."""


class _Footer(io.RawIOBase):
    """The bytes of a file, until its footer has been read."""

    def __init__(self, data: BinaryIO) -> None:
        self._data = data
        self.was_read = False
        self.refusal = _Closed()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._data.seek(offset, whence)

    def tell(self) -> int:
        return self._data.tell()

    def read(self, size: int = -1) -> bytes:
        if self.was_read:
            raise self.refusal
        return self._data.read(size)


def check_footer(data: BinaryIO) -> None:
    """Have Arrow raise an error for a file whose description of its columns would end the process later on."""
    from pyarrow import parquet

    footer = _Footer(data)
    _check_columns(parquet.ParquetFile(footer, pre_buffer=True), footer)


def _check_columns(file: Any, footer: _Footer) -> None:
    """Have Arrow check the footer's description of all columns, and raise an error.

    Where Python asks for a damaged column, Arrow ends the process; here it looks where all are, and gets no bytes.
    """
    footer.was_read = True
    with suppress(_Closed):
        next(file.iter_batches(1), None)
    footer.refusal.__traceback__ = None  # Arrow keeps the error for good, and with it would keep the file


def _chunks(metadata: Any) -> Iterator[Any]:
    """Yield the columns of all row groups."""
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        for j in range(group.num_columns):
            yield group.column(j)


@contextmanager
def _refusals(source: str) -> Iterator[None]:
    """Turn what pyarrow finds wrong with a file into a refusal of it."""
    import pyarrow as pa

    try:
        yield
    except InvalidInput:
        raise
    except (pa.ArrowException, OSError, ValueError, LookupError, ArithmeticError, TypeError) as error:
        found = "a damaged one" if isinstance(error, UnicodeDecodeError) else shorten(str(error).partition("\n")[0])
        raise invalid(source, "file", "format", "a Parquet file", found) from error
