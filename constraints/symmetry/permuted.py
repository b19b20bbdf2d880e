"""Slack of the split constraints after permuting classes, from sums stored per piece."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from maxent.constraints.place_sums import Sums
from maxent.constraints.program import Program
from maxent.constraints.residuals import InternalRows
from maxent.constraints.symmetry.pieces import Pieces
from maxent.models.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class _Shares:
    """The cells of one piece that sums add to the same block, as one: ``masses``, and their piece, -1 for none."""

    sums: Sums
    masses: FloatArray  # (n, n_classes)
    piece: IntArray  # (n,)

    def permuted(self, order: IntArray) -> FloatArray:
        """The sums after permutations, shape (n_blocks, n_classes)."""
        return self.sums(np.take_along_axis(self.masses, order[self.piece], axis=1))


def _shares(sums: Sums, pieces: Pieces, masses: FloatArray) -> _Shares:
    """The shares of pieces in the blocks of sums."""
    ends, cells = sums.cells.indptr, sums.cells.indices
    block = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    number = len(pieces.block) + 1
    key = block * number + pieces.of[cells] + 1
    order = np.argsort(key, kind="stable")
    start = np.flatnonzero(np.diff(key[order], prepend=-1))
    found = key[order][start]
    together = np.add.reduceat(masses[cells[order]], start, axis=0)
    alone = sparse.csr_matrix(
        (np.ones(len(found)), np.arange(len(found)), np.searchsorted(found, np.arange(len(ends)) * number)),
        shape=(len(ends) - 1, len(found)),
    )
    return _Shares(replace(sums, cells=alone), together, found % number - 1)


def few_rows(program: Program, constraints: IntArray) -> InternalRows:
    """The rows of some internal constraints alone, with sums over their nodes alone: for many evaluations."""
    chosen = tuple(program.internal[k] for k in constraints.tolist())
    among: dict[int, list[int]] = {}
    for comparison in chosen:
        children = program.cells.trees[comparison.tree].places.children[comparison.place]
        among.setdefault(comparison.tree, []).extend((comparison.place, *children))
    sums = program.sums.over({t: np.array(places) for t, places in among.items()})
    return InternalRows(replace(program, internal=chosen, sums=sums))


class Permuted:
    """Rows of internal constraints after many permutations of pieces; sums are computed once."""

    def __init__(self, rows: InternalRows, pieces: Pieces, masses: FloatArray) -> None:
        self._rows, self._pieces, self._masses = rows, pieces, masses
        self._by_place: dict[int, _Shares] = {}
        self._by_value: dict[tuple[int, int], _Shares] = {}

    def slack(self, order: IntArray) -> FloatArray:
        """`InternalRows.slack` after permutations as `Pieces.drawn` draws them, shape (n_rows,)."""
        cells = self._rows.program.cells

        def totals(tree: int) -> FloatArray:
            held = self._of_place(tree)
            out = np.zeros((len(cells.trees[tree].start), self._masses.shape[1]))
            out[held.sums.places] = held.permuted(order)
            return out

        return self._rows.compared(totals, lambda tree, column: self._of_value(tree, column).permuted(order))

    def _of_place(self, tree: int) -> _Shares:
        if tree not in self._by_place:
            self._by_place[tree] = _shares(self._rows.program.sums.by_place(tree), self._pieces, self._masses)
        return self._by_place[tree]

    def _of_value(self, tree: int, column: int) -> _Shares:
        if (tree, column) not in self._by_value:
            sums = self._rows.program.sums.by_value(tree, column)
            self._by_value[tree, column] = _shares(sums, self._pieces, self._masses)
        return self._by_value[tree, column]
