"""Cells of several trees: rows that lie in the same leaf of every tree, found tree by tree.

What is kept of a row is its cell so far, one whole number; a tree divides cells by its leaves. A row that is alone in
its cell stays so: it goes down no other tree. So most rows go down few trees where there are many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import IntArray
from maxent.models.tables.parts.descent import LOST
from maxent.models.tables.parts.forest import Steps
from maxent.models.tables.parts.runs import Packing

_FITS = 2**62  # numbers below it are whole in an int64, with room to add
Columns = list[npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Lost:
    """The first row that no branch of a tree takes."""

    tree: int
    row: int


def columns_of(words: IntArray, packing: Packing) -> Columns:
    """The codes of each attribute, each of shape (n_rows,), in the smallest numbers that hold them."""
    columns: Columns = [np.zeros(0)] * len(packing.sizes)
    for word, own in zip(words, packing.words, strict=True):
        left = word
        for j in reversed(own):
            left, code = np.divmod(left, packing.sizes[j])
            columns[j] = code.astype(np.min_scalar_type(packing.sizes[j] - 1))
    return columns


def cells_of(words: IntArray, packing: Packing, trees: Sequence[Steps]) -> IntArray | Lost:
    """The cell of each row, by the first row that is in it, shape (n_rows,).

    ``words``, shape (n_words, n_rows), are quasi-identifiers. Trees that may lose people come first, as long as all
    rows go down.
    """
    n = words.shape[1]
    columns = columns_of(words, packing)
    first, rows = np.zeros(n, np.int64), np.arange(n)  # the rows that share a cell
    order = sorted(range(len(trees)), key=lambda t: not trees[t].loses)
    for some in _batches(trees, order, n):
        # Cells have the numbers of rows, below n, so that a key of them and of leaves is a whole number.
        key = first[rows]
        for t in some:
            leaf = trees[t](columns)
            if trees[t].loses and (leaf == LOST).any():
                return Lost(t, int(np.flatnonzero(leaf == LOST)[0]))
            key = key * trees[t].leaves + leaf
        own, size = _cells(key)
        first[rows] = rows[own]
        if not any(trees[t].loses for t in some):
            shared = np.flatnonzero(size > 1)
            if 4 * len(shared) < 3 * len(rows):
                rows = rows[shared]
                columns = [column[shared] for column in columns]
        if not len(rows):
            break
    return first


def _batches(trees: Sequence[Steps], order: Sequence[int], cells: int) -> Iterator[list[int]]:
    """As many trees at a time as have keys that fit."""
    some: list[int] = []
    span = max(cells, 1)
    for t in order:
        if some and (span * trees[t].leaves >= _FITS or trees[t].loses != trees[some[0]].loses):
            yield some
            some, span = [], max(cells, 1)
        some.append(t)
        span *= trees[t].leaves
    if some:
        yield some


def _cells(key: IntArray) -> tuple[IntArray, IntArray]:
    """The first row with the key of each row, and how many rows have it; shapes (n_rows,)."""
    order = np.argsort(key)
    start = np.flatnonzero(np.diff(key[order], prepend=-1))
    length = np.diff(np.append(start, len(order)))
    first, size = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
    first[order] = np.repeat(np.minimum.reduceat(order, start), length)
    size[order] = np.repeat(length, length)
    return first, size
