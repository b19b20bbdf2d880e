"""Pieces: sets of cells whose exchangeable classes are permuted separately."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maxent.models.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Pieces:
    """Pieces of a program.

    ``of``, shape (n_cells,), is the piece of each cell, -1 where it is in none; ``block``, shape (n_pieces, n_classes),
    numbers the sets of exchangeable classes of each piece.
    """

    of: IntArray
    block: IntArray

    def exchangeable(self) -> Iterator[tuple[IntArray, IntArray]]:
        """Cells and classes of each set of classes that a piece permutes."""
        order = np.argsort(self.of, kind="stable")
        ends = np.searchsorted(self.of[order], np.arange(len(self.block) + 1)).tolist()
        for piece, classes in self._sets:
            if ends[piece + 1] > ends[piece]:
                yield order[ends[piece] : ends[piece + 1]], classes

    @cached_property
    def _sets(self) -> list[tuple[int, IntArray]]:
        """The sets of classes that are permuted, each with its piece."""
        return [(i, classes) for i, block in enumerate(self.block) for classes in several(block)]

    def mean(self, masses: FloatArray) -> FloatArray:
        """The mean over all permutations, individuals, shape (n_cells, n_classes)."""
        out = masses.copy()
        for cells, classes in self.exchangeable():
            at = np.ix_(cells, classes)
            out[at] = out[at].mean(axis=1, keepdims=True)
        return out

    def drawn(self, random: np.random.Generator) -> IntArray:
        """Permutations drawn at random: the class that each class of a piece is, shape (n_pieces + 1, n_classes).

        The last is of the cells of no piece, which stay as they are.
        """
        order = np.tile(np.arange(self.block.shape[1]), (len(self.block) + 1, 1))  # the last one of cells of no piece
        for piece, classes in self._sets:
            order[piece, classes] = random.permutation(classes)
        return order

    def only(self, pieces: IntArray) -> Pieces:
        """Some of the pieces, increasing; -1 among them is ignored."""
        pieces = pieces[pieces >= 0]
        number = np.full(len(self.block) + 1, -1, np.int64)  # the last one for cells of no piece
        number[pieces] = np.arange(len(pieces))
        return Pieces(number[self.of], self.block[pieces])

    def within(self, cells: BoolArray) -> Pieces:
        """The pieces that have some of the cells."""
        return self.only(np.unique(self.of[cells]))


def several(block: IntArray) -> Iterator[IntArray]:
    """The classes of each block of more than one."""
    for number in np.flatnonzero(np.bincount(block) > 1).tolist():
        yield np.flatnonzero(block == number)
