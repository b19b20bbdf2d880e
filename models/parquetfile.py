"""Parquet files, read batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, ClassVar, Literal

from maxent.models.errors import Problem, invalid
from maxent.models.frames import IntArray, shorten

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 1 << 17
"""Rows of a batch."""


@dataclass(frozen=True, slots=True)
class ParquetFile:
    """A Parquet file of which only the description has been read: its columns, their types, the number of rows."""

    source: str
    open: Callable[[], BinaryIO]
    header: tuple[str, ...]
    types: Mapping[str, pa.DataType]
    rows: int
    unit: ClassVar[Literal["row"]] = "row"

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows: the first column of each name, in this order.

        Raises
        ------
        InvalidInput
            When the file is damaged, or a column holds lists or the like.
        """
        import pyarrow as pa
        from pyarrow import parquet

        with self.open() as file, _refusals(self.source):
            for name in names:
                # Fails for the types that cannot be factorised.
                pa.nulls(0, self.types[name]).dictionary_encode()
            for batch in parquet.ParquetFile(file).iter_batches(_ROWS, columns=list(names)):
                yield batch.select([batch.schema.names.index(name) for name in names])

    def lines(self, rows: int, wanted: IntArray) -> tuple[IntArray, list[Problem]]:
        """Return the numbers, from 1, of rows that are counted from 0; nothing is ever wrong with them."""
        return wanted + 1, []


def open_parquet(source: str, opener: Callable[[], BinaryIO]) -> ParquetFile:
    """Read what a Parquet file says of itself.

    Raises
    ------
    InvalidInput
        When it is no Parquet file.
    """
    from pyarrow import parquet

    with opener() as data, _refusals(source):
        file = parquet.ParquetFile(data)
        types = {field.name: field.type for field in reversed(file.schema_arrow)}
        return ParquetFile(source, opener, tuple(file.schema_arrow.names), types, file.metadata.num_rows)


@contextmanager
def _refusals(source: str) -> Iterator[None]:
    """Turn what pyarrow finds wrong with a file into a refusal of it."""
    import pyarrow as pa

    try:
        yield
    except pa.ArrowNotImplementedError as error:
        expected = "columns of text, numbers or other plain values"
        raise invalid(source, "file", "format", expected, shorten(str(error).splitlines()[0])) from error
    except (pa.ArrowException, OSError) as error:
        found = shorten(str(error).splitlines()[0])
        raise invalid(source, "file", "format", "a Parquet file", found) from error
