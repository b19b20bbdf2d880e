"""Arrow arrays of NumPy's numbers and back, by their buffers.

``pyarrow.array``, ``to_numpy`` and ``fill_null`` all import pandas, which takes longer than reading most tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import IntArray


def functions() -> Any:
    """Return Arrow's functions, to be called by name: ``functions().call_function("take", [array, places])``.

    `pyarrow.compute` has them, too, and methods of arrays load it. It writes a Python function for every one of them
    before the first is called, which takes 0.1 s.
    """
    try:
        from pyarrow import _compute
    except ImportError:  # it is pyarrow's own
        from pyarrow import compute as _compute
    return _compute


def taken(array: Any, places: Any) -> Any:
    """Return the cells of an Arrow array, or the rows of a table, at some places, an Arrow array; null for null."""
    return functions().call_function("take", [array, places])


def with_dictionary(array: Any) -> Any:
    """Return an Arrow array or chunked array as a dictionary of its different cells, and where these are."""
    import pyarrow as pa

    return array if pa.types.is_dictionary(array.type) else functions().call_function("dictionary_encode", [array])


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
    held = functions().call_function("is_valid", [array])
    bits = np.frombuffer(held.buffers()[1], np.uint8)
    return np.unpackbits(bits, bitorder="little")[held.offset : held.offset + len(held)].astype(bool)


def arrow_texts(texts: Sequence[str]) -> Any:
    """Return an Arrow array of texts."""
    import pyarrow as pa

    held = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, held)]).astype(np.int32)
    return pa.Array.from_buffers(pa.string(), len(held), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(held))])
