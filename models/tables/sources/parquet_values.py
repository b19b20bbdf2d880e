"""Columns of Parquet files as numbers or text, whatever type they are stored in; what is neither is refused by row.

Dates and times become the text that Python has for them, decimals become numbers, and bytes are text when they are
UTF-8, as some programs write no other. NaT is missing, like a null.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.models.arrays import IntArray
from maxent.models.errors import invalid
from maxent.models.tables.frame import shorten
from maxent.models.tables.sources.arrow_arrays import (
    arrow_numbers,
    arrow_places,
    taken,
    whole_places,
    with_dictionary,
)

if TYPE_CHECKING:
    import pyarrow as pa

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
    """Return a batch of a column as an array of its `plain_type`.

    ``array`` of shape (n_rows,): of a type that has a plain one. ``source``, ``name``: the file and the column, for
    messages. ``start``: rows of the file before this batch.
    """
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
    values = coded.dictionary
    if len(values) > len(indices):
        # Where pages stop to use a dictionary it grows from batch to batch.
        used = np.unique(indices[indices >= 0])
        indices = np.where(indices < 0, -1, np.searchsorted(used, indices))
        values = taken(values, arrow_numbers(used))
    texts = _texts(values, indices)
    if texts.null_count:
        absent = np.array([*texts.is_null().to_pylist(), True])
        indices, texts = np.where(absent[indices], -1, indices), texts.fill_null("")
    return pa.DictionaryArray.from_arrays(arrow_places(indices), texts)


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
