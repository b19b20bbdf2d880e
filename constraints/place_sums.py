"""Sums over cells for all places of a tree together, also divided by the values of an attribute.

Each cell is added once, to the deepest place asked for that holds it; what places below hold is then added to the ones
above, level by level. So the cost is one pass over the cells and one over the sums, however many places there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from maxent.constraints.cells import Cells, TreeCells, narrow
from maxent.models.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """Blocks of one depth, sorted by the block above that they are part of."""

    below: IntArray  # blocks
    start: IntArray  # first of each run of blocks with one and the same block above
    above: IntArray  # that block, one per run


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Sums over the cells of each place and value: a *block*, for every value that cells of the place have.

    Blocks are sorted by place (``places``, depth-first), then by value: those of place i have the numbers
    ``start[i] <= block < start[i + 1]``, and ``key`` is ``i * n_values + value``.
    """

    places: IntArray  # (n_places,)
    start: IntArray  # (n_places + 1,)
    key: IntArray  # (n_blocks,), increasing
    n_values: int
    own: IntArray  # blocks with cells that belong to no place further down
    cells: sparse.csr_matrix  # (n_own, n_cells), 0/1: these cells
    levels: tuple[_Level, ...]  # deepest first

    def __call__(self, values: FloatArray) -> FloatArray:
        """Sums of ``values``, shape (n_cells,) or (n_cells, k), over the blocks: (n_blocks,) or (n_blocks, k)."""
        out = np.zeros((len(self.key), *values.shape[1:]))
        out[self.own] = self.cells @ values
        for level in self.levels:
            out[level.above] += np.add.reduceat(out[level.below], level.start, axis=0)
        return out

    @property
    def value(self) -> IntArray:
        """The value of each block, shape (n_blocks,)."""
        return self.key % self.n_values

    @property
    def node(self) -> IntArray:
        """The place of each block as an index into ``places``, shape (n_blocks,)."""
        return np.repeat(np.arange(len(self.places)), np.diff(self.start))


class CellSums:
    """The sums of a program's cells, made when first asked for and kept.

    ``codes`` are those of the quasi-identifiers, shape (n_distinct, n_attributes); ``sizes`` says how many codes each
    attribute has. Trees are numbered from ``first`` on in what is ``kept``. With ``among`` sums are over some of the
    places of each tree, and over its root, alone.
    """

    def __init__(
        self,
        cells: Cells,
        codes: IntArray,
        sizes: tuple[int, ...],
        *,
        first: int = 0,
        kept: dict[tuple[int, int], Sums] | None = None,
        among: Mapping[int, IntArray] | None = None,
    ) -> None:
        self._cells, self._codes, self._sizes = cells, codes, sizes
        self._ones = np.ones(len(cells))  # the entries of all incidence matrices
        self._first, self._kept, self._among = first, {} if kept is None else kept, among

    def of_trees(self, cells: Cells, first: int) -> CellSums:
        """The sums of some of the trees, which are those of ``cells``, from number ``first`` on: they are made once."""
        return CellSums(cells, self._codes, self._sizes, first=self._first + first, kept=self._kept)

    def over(self, among: Mapping[int, IntArray]) -> CellSums:
        """The sums over some places of each tree alone, by the trees' numbers: for many evaluations of a few."""
        return CellSums(self._cells, self._codes, self._sizes, among=among)

    def _places(self, tree: int, which: BoolArray) -> IntArray:
        """Those of the places of a tree that are summed over, and its root."""
        if self._among is not None:
            chosen = np.zeros(len(which), bool)
            chosen[self._among[tree]] = True
            which = which & chosen
            which[0] = True
        return np.flatnonzero(which)

    def by_place(self, tree: int) -> Sums:
        """Sums over every place that holds cells; a place is one block."""
        key = self._first + tree, -1
        if key not in self._kept:
            held = self._cells.trees[tree]
            places = self._places(tree, held.stop > held.start)
            self._kept[key] = _sums(held, places, np.zeros(len(self._cells), np.int64), 1, self._ones)
        return self._kept[key]

    def by_value(self, tree: int, column: int) -> Sums:
        """Sums over every inner node that holds cells, by the code of a public attribute."""
        key = self._first + tree, column
        if key not in self._kept:
            held = self._cells.trees[tree]
            places = self._places(tree, (held.places.n_branches > 0) & (held.stop > held.start))
            code = narrow(self._codes[:, column], self._sizes[column])[self._cells.owner]
            self._kept[key] = _sums(held, places, code, self._sizes[column], self._ones)
        return self._kept[key]

    def totals(self, tree: int, values: FloatArray) -> FloatArray:
        """Sums of ``values``, shape (n_cells, k), over every place of a tree, shape (n_places, k)."""
        sums = self.by_place(tree)
        out = np.zeros((len(self._cells.trees[tree].start), *values.shape[1:]))
        out[sums.places] = sums(values)
        return out


def _sums(held: TreeCells, places: IntArray, code: IntArray, n_values: int, ones: FloatArray) -> Sums:
    """Sums over some places of a tree, the root among them, by the code of each cell, shape (n_cells,)."""
    places = places[np.argsort(_preorder(held)[places])]
    above, depth, deepest = _nesting(held, places)
    key = deepest[held.rank] * n_values + code[held.order]
    order = np.argsort(key, kind="stable")
    start = np.flatnonzero(np.diff(key[order], prepend=-1))
    own = key[order][start]
    cells = sparse.csr_matrix(
        (ones, held.order[order].astype(np.int32), np.append(start, len(order)).astype(np.int32)),
        shape=(len(own), len(order)),
    )
    keys, moves = _closure(own, above, depth, n_values)
    return Sums(
        places,
        np.searchsorted(keys, np.arange(len(places) + 1) * n_values),
        keys,
        n_values,
        np.searchsorted(keys, own),
        cells,
        tuple(_level(keys, below, up) for below, up in moves),
    )


def _preorder(held: TreeCells) -> IntArray:
    """The number of each place in depth-first order."""
    number = np.empty(len(held.start), np.int64)
    number[list(held.places.top_down)] = np.arange(len(number))
    return number


def _nesting(held: TreeCells, places: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Of places in depth-first order: the one around each, how many are around it; and the deepest around each leaf."""
    first, last = held.places.first[places].tolist(), held.places.last[places].tolist()
    deepest = np.full(int(held.places.last[0]), -1, np.int64)
    above: list[int] = []
    depth: list[int] = []
    for i, (begin, end) in enumerate(zip(first, last, strict=True)):
        around = int(deepest[begin])
        above.append(around)
        depth.append(0 if around < 0 else depth[around] + 1)
        deepest[begin:end] = i
    return np.array(above), np.array(depth), deepest


def _closure(
    own: IntArray, above: IntArray, depth: IntArray, n_values: int
) -> tuple[IntArray, list[tuple[IntArray, IntArray]]]:
    """All keys, increasing; and per depth, deepest first, the keys there beside the keys above that they add to."""
    by_depth = np.argsort(depth[own // n_values], kind="stable")
    bounds = np.searchsorted(depth[own // n_values][by_depth], np.arange(int(depth.max()) + 2))
    found: list[IntArray] = []
    moves: list[tuple[IntArray, IntArray]] = []
    rising = own[:0]
    for level in range(int(depth.max()), -1, -1):
        here = np.union1d(own[by_depth[bounds[level] : bounds[level + 1]]], rising)
        found.append(here)
        if level:
            rising = above[here // n_values] * n_values + here % n_values
            moves.append((here, rising))
    return np.sort(np.concatenate(found)), moves


def _level(keys: IntArray, below: IntArray, above: IntArray) -> _Level:
    """The blocks of keys ``below``, sorted and grouped by those of ``above``."""
    order = np.argsort(above, kind="stable")
    start = np.flatnonzero(np.diff(above[order], prepend=-1))
    return _Level(np.searchsorted(keys, below[order]), start, np.searchsorted(keys, above[order][start]))
