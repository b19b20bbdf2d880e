"""Rows about people that are those of their leaves: written group by group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from maxent.api.parts.folder import PartFile
from maxent.api.parts.posteriors import ROWS, unpickled
from maxent.models.arrays import IntArray
from maxent.models.tables.parts.groups import Group, read_group
from maxent.models.tables.parts.runs import Packing, Rows


@dataclass(frozen=True, slots=True, eq=False)
class Writing:
    """What is written of every group.

    ``names`` are those of all columns: attributes, ``count``, and those of ``found``, a pyarrow Table whose row
    ``at[leaf]`` is about the people of a leaf. ``levels`` are what the codes of attributes mean; files go to the
    ``folder``.
    """

    runs: tuple[str, ...]
    packing: Packing
    levels: tuple[npt.NDArray[Any], ...]
    names: tuple[str, ...]
    found: Any
    at: IntArray
    folder: Path


def write_group(group: Group, path: Path) -> str | None:
    """Write a group as the `Writing` in a file says: the path of the file, None for a group without people."""
    import pyarrow as pa

    how: Writing = unpickled(path)
    rows = read_group(how.runs, group)
    if rows is None or not len(rows):
        return None
    file = PartFile(how.folder, how.names, how.levels, [pa.int64(), *how.found.schema.types])
    for block in blocks(rows):
        own = how.found.take(pa.array(how.at[block.leaf]))
        file.add(how.packing.unpack(block.words), [block.count, *own.columns])
    return file.closed()


def blocks(rows: Rows) -> Iterator[Rows]:
    """Rows in blocks, each of which becomes a row group of a file."""
    for begin in range(0, len(rows), ROWS):
        here = slice(begin, begin + ROWS)
        yield Rows(rows.leaf[here], rows.words[:, here], rows.count[here])


def table_of(columns: Iterable[tuple[Iterable[Any], str]]) -> Any:
    """A pyarrow Table of some columns, each with the name of its type; None is missing."""
    import pyarrow as pa

    arrays = [pa.array(list(values), pa.type_for_alias(kind), from_pandas=True) for values, kind in columns]
    return pa.table(arrays, names=[str(i) for i in range(len(arrays))])


def row_of_leaf(leaf: IntArray, leaves: int) -> IntArray:
    """The row of each of so many leaves, given the leaf of each row; 0 of leaves without a row."""
    at = np.zeros(leaves, np.int64)
    at[leaf] = np.arange(len(leaf))
    return at
