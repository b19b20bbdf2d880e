"""Cells of a piece as they were read, kept in files as small numbers: rows are read once, and routed from there."""

from __future__ import annotations

import os
import pickle
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import IntArray


@dataclass(frozen=True, slots=True)
class Block:
    """Rows ``start`` to ``stop - 1``, of a ``kind`` as NumPy spells it, that begin at a byte of the file.

    They are numbers of distinct cells, from 1, with 0 for none: of the cells number ``cells`` of the column.
    """

    start: int
    stop: int
    kind: str
    byte: int
    cells: int


@dataclass(frozen=True, slots=True)
class Kept:
    """A column of a piece in the file ``path``; its distinct cells are in one that ends in .cells."""

    path: str
    blocks: tuple[Block, ...]

    def cells(self) -> list[Any]:
        """The distinct cells that the blocks are about."""
        found: list[Any] = pickle.loads(Path(f"{self.path}.cells").read_bytes())
        return found

    def numbers(self, start: int, stop: int) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """Yield those of some rows, each time with the number of the cells that they are about."""
        for block in self.blocks:
            low, high = max(block.start, start), min(block.stop, stop)
            if low < high:
                kind = np.dtype(block.kind)
                offset = block.byte + (low - block.start) * kind.itemsize
                yield block.cells, np.fromfile(self.path, kind, high - low, offset=offset)

    def remove(self) -> None:
        """Remove its files."""
        for path in (self.path, f"{self.path}.cells"):
            os.unlink(path)


@dataclass(slots=True)
class Keeper:
    """Writes a column, batch by batch; a process that is lost meanwhile leaves files that nobody knows of."""

    folder: Path
    path: str = ""
    rows: int = 0
    blocks: list[Block] = field(default_factory=list)
    cells: list[Any] = field(default_factory=list)
    file: BinaryIO | None = None

    def add(self, cells: Any, places: IntArray) -> None:
        """Write a batch: which of its distinct cells, an Arrow array, each row has, -1 for none."""
        if not self.cells or not self.cells[-1].equals(cells):
            self.cells.append(cells)
        self._write(places + 1, len(cells))

    def add_numbers(self, numbers: IntArray) -> None:
        """Write a batch of numbers, none below 0, in place of cells."""
        self._write(numbers, int(numbers.max(initial=0)))

    def _write(self, numbers: IntArray, most: int) -> None:
        if self.file is None:
            self.path = str(self.folder / secrets.token_hex(8))
            self.file = open(self.path, "wb")  # noqa: SIM115  (closed by `kept`)
        small = numbers.astype(np.min_scalar_type(most))
        stop = self.rows + len(small)
        self.blocks.append(Block(self.rows, stop, small.dtype.str, self.file.tell(), len(self.cells) - 1))
        self.rows = stop
        self.file.write(small.data)

    def kept(self) -> Kept:
        """What was written."""
        if self.file is None:
            self._write(np.zeros(0, np.int64), 0)
        assert self.file is not None
        self.file.close()
        Path(f"{self.path}.cells").write_bytes(pickle.dumps(self.cells))
        return Kept(self.path, tuple(self.blocks))


@dataclass(frozen=True, slots=True)
class KeptRows:
    """Rows ``start`` to ``stop - 1`` of a piece, by column, and their ``count`` of people, None where each is one.

    ``first`` is the number of the first of these rows in the whole table.
    """

    columns: tuple[Kept, ...]
    count: Kept | None
    start: int
    stop: int
    first: int

    def people(self, start: int, stop: int) -> IntArray:
        """The people of some of the rows, shape (n_rows,)."""
        if self.count is None:
            return np.ones(stop - start, np.int64)
        return np.concatenate([np.zeros(0, np.int64), *(found for _, found in self.count.numbers(start, stop))])

    def shares(self, most: int) -> Iterator[KeptRows]:
        """Yield these rows in equal shares of up to so many, one at least."""
        rows = self.stop - self.start
        parts = max(-(-rows // most), 1)
        cuts = [rows * i // parts for i in range(parts + 1)]
        for low, high in pairwise(cuts):
            yield replace(self, start=self.start + low, stop=self.start + high, first=self.first + low)

    def remove(self) -> None:
        """Remove the files of the columns."""
        for column in (*self.columns, self.count):
            if column is not None:
                column.remove()
