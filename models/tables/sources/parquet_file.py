"""Parquet files, read batch by batch."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Literal

from maxent.models.arrays import IntArray
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.tables.frame import heading, shorten
from maxent.models.tables.sources.memory import too_large
from maxent.models.tables.sources.parquet_values import PLAIN, is_time, plain_array, plain_type
from maxent.models.text.sizes import size_text

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 1 << 17  # rows of a batch of a few columns
_CELLS = 1 << 21  # cells of a batch of many

# Rows of a batch when a column is stored by what differs from row to row, so that long texts may need few bytes
_EXPANDED_ROWS = 1 << 8

# Encodings in which every text is spelled out once, and from which Arrow takes texts as a dictionary
_IN_PLACE = frozenset({"PLAIN", "PLAIN_DICTIONARY", "RLE", "RLE_DICTIONARY", "BIT_PACKED"})


@dataclass(frozen=True, slots=True)
class ParquetFile:
    """A Parquet file whose footer has been read: its columns, their types, the number of rows.

    Attributes
    ----------
    source : str
        Its name.
    open : callable
        Opens its bytes, from the first.
    header : tuple of str
        The names of the columns; they may repeat.
    stored : mapping
        The type in the file of the first column of each name.
    rows : int
        How many there are, as it says.
    groups : tuple of int
        How many there are in each row group.
    sizes : mapping
        The most bytes that a row group says it has of a column, unpacked, by the name of the column.
    max_memory : int
        The bytes that may be unpacked at a time.
    expanded : frozenset of str
        Columns in an encoding from which texts cannot be taken as a dictionary.
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
        """Yield the rows: the first column of each name, in this order, as numbers or as text in dictionaries.

        ``groups`` are the row groups to read, by default all.
        """
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
    """Have Arrow check the footer's description of all columns: it raises an error where that is damaged.

    Where Python asks for a column of a row group, it ends the process. Here it is about to read them all, for which it
    looks where they are; of their bytes it gets none.
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
