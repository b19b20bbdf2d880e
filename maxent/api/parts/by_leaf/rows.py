"""Rows about people that follow from their leaves: written group by group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from maxent.api.parts.folder import PartFile
from maxent.api.parts.posteriors import ROWS, unpickled
from maxent.models.arrays import IntArray
from maxent.models.tables.parts.groups import Group, read_group
from maxent.models.tables.parts.runs import Packing, Rows


class Found(Protocol):
    """What is found of people, as columns after those of their attributes; pickled, for workers."""

    @property
    def each(self) -> int:
        """Rows of a quasi-identifier."""

    def kinds(self) -> list[Any]:
        """The pyarrow types of the columns."""

    def columns(self, rows: Rows) -> list[Any]:
        """The columns of some quasi-identifiers, ``each`` rows of one after the other: arrays of numpy or pyarrow."""


@dataclass(frozen=True, slots=True, eq=False)
class OfLeaves:
    """The ``count`` of a quasi-identifier, and row ``at[leaf]`` of a pyarrow Table, which is about its leaf."""

    table: Any
    at: IntArray

    @property
    def each(self) -> int:
        """One row."""
        return 1

    def kinds(self) -> list[Any]:
        """The pyarrow types of the columns."""
        import pyarrow as pa

        return [pa.int64(), *self.table.schema.types]

    def columns(self, rows: Rows) -> list[Any]:
        """The columns of some quasi-identifiers."""
        import pyarrow as pa

        return [rows.count, *self.table.take(pa.array(self.at[rows.leaf])).columns]


@dataclass(frozen=True, slots=True, eq=False)
class Writing:
    """What is written of every group.

    ``names`` are those of all columns: attributes, and what was ``found``. ``levels`` are what the codes of attributes
    mean; files go to the ``folder``.
    """

    runs: tuple[str, ...]
    packing: Packing
    levels: tuple[npt.NDArray[Any], ...]
    names: tuple[str, ...]
    found: Found
    folder: Path


def write_group(group: Group, path: Path) -> str | None:
    """Write a group as the `Writing` in a file says: the path of the file, None for a group without people."""
    how: Writing = unpickled(path)
    rows = read_group(how.runs, group)
    if rows is None or not len(rows):
        return None
    each = how.found.each
    file = PartFile(how.folder, how.names, how.levels, how.found.kinds())
    for block in _blocks(rows, max(ROWS // each, 1)):
        file.add(np.repeat(how.packing.unpack(block.words), each, axis=0), how.found.columns(block))
    return file.closed()


def _blocks(rows: Rows, most: int) -> Iterator[Rows]:
    """Rows in blocks, each of which becomes a row group of a file."""
    for begin in range(0, len(rows), most):
        here = slice(begin, begin + most)
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
