"""Bounds the split comparisons over all permutations of classes, to find those that a permutation may break.

Pieces of the program permute their exchangeable classes, each on its own. The sum of ``phi`` over the branches of the
chosen split is convex and symmetric, so that it is least at the mean over all permutations. That of another split is
at most what it is when the classes of all pieces are sorted alike, as their sum then majorises all others (Marshall,
Olkin and Arnold, *Inequalities: Theory of Majorization*, 6.A.1.c). The bound is the same from every permutation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from maxent.constraints.program import Internal, Program
from maxent.constraints.residuals import InternalRows, Split, branches, neg_x_log_x, phi_sum
from maxent.constraints.symmetry.pieces import Pieces, several
from maxent.models.arrays import TINY, BoolArray, FloatArray, IntArray


def breakable(
    program: Program, rows: InternalRows, pieces: Pieces, masses: FloatArray, among: BoolArray, tolerance: float
) -> IntArray:
    """Internal rows marked in ``among`` that some permutation may break by more than a tolerance."""
    held = _Held(program, pieces, masses)
    mean = pieces.mean(masses)
    places: dict[tuple[int, int], list[int]] = {}
    for k, comparison in enumerate(program.internal):
        if among[rows.first_row[k] : rows.first_row[k + 1]].any():
            places.setdefault((comparison.tree, comparison.place), []).append(k)
    totals = [program.sums.totals(t, mean) for t in range(len(program.cells.trees))]
    splits: dict[tuple[int, str], Split] = {}
    found = []
    for (tree, place), which in places.items():
        inside = held.inside(tree, place)
        if inside is None:
            continue
        together = _joined(pieces.block[inside])
        for k in which:
            comparison = program.internal[k]
            key = tree, comparison.measure
            if key not in splits:
                splits[key] = branches(program.cells.trees[tree]).chosen(comparison.measure, totals[tree])
            here = np.arange(rows.first_row[k], rows.first_row[k + 1])
            least = np.full(len(here), -np.inf)
            if len(inside):
                least = held.least(comparison, inside, together, splits[key])
            found.append(here[among[here] & (least < -tolerance)])
    return np.concatenate([np.empty(0, np.int64), *found])


@dataclass(slots=True)
class _Held:
    """Class totals of pieces and places by the values of attributes, individuals."""

    program: Program
    pieces: Pieces
    masses: FloatArray
    cells: list[IntArray] = field(init=False)
    _of_piece: dict[tuple[int, int], FloatArray] = field(default_factory=dict)
    _of_tree: dict[tuple[int, int], FloatArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        order = np.argsort(self.pieces.of, kind="stable")
        ends = np.searchsorted(self.pieces.of[order], np.arange(len(self.pieces.block) + 1))
        self.cells = [order[start:stop] for start, stop in pairwise(ends.tolist())]

    def inside(self, tree: int, place: int) -> IntArray | None:
        """The pieces in a place; none of them where one is also outside, None where nothing there can change.

        A piece alone in a place permutes all of it, which its comparisons do not notice.
        """
        of = self.pieces.of[self.program.cells.trees[tree].at(place)]
        if of.min() == of.max():
            return None
        pieces, n_cells = np.unique(of[of >= 0], return_counts=True)
        whole = [len(self.cells[piece]) for piece in pieces.tolist()]
        return pieces if (n_cells == whole).all() else pieces[:0]

    def least(self, comparison: Internal, inside: IntArray, together: list[IntArray], split: Split) -> FloatArray:
        """Lower bounds on the slacks of a comparison's rows over all permutations, shape (rows,).

        ``inside`` are the pieces in its place, ``together`` sets of classes that these permute among one another.
        """
        place, measure = comparison.place, comparison.measure
        rest = self._at(comparison.tree, comparison.column, place)
        size = rest.sum(axis=1)
        moved = [self._in(piece, comparison.column) for piece in inside.tolist()]
        rest = rest - sum(moved)
        sides = _sides(comparison, [rest, *moved]), _sides(comparison, [size])
        most, divided = np.zeros(comparison.rows), np.zeros(comparison.rows)
        for side, sizes in zip(*sides, strict=True):
            value = phi_sum(measure, _alike(side, together), sizes[0])
            apart = neg_x_log_x(sizes[0])
            most += value.sum() if comparison.form == "values" else value
            divided += apart.sum() if comparison.form == "values" else apart
        if measure != "gain_ratio":
            slack: FloatArray = (split.chosen[place] - most) / max(float(split.size[place]), TINY)
            return slack
        undivided = neg_x_log_x(split.size[place])
        by_chosen = max(float(split.split[place] - undivided), TINY)
        by_other = np.maximum(divided - undivided, TINY)
        whole_most = phi_sum(measure, _alike([part.sum(axis=0) for part in (rest, *moved)], together), size.sum())
        per_whole = 1 / by_other - 1 / by_chosen
        whole = np.where(per_whole > 0, split.whole[place], whole_most)
        result: FloatArray = split.chosen[place] / by_chosen - most / by_other + per_whole * whole
        return result

    def _at(self, tree: int, column: int, place: int) -> FloatArray:
        """Class totals of a place by value, shape (n_values, n_classes)."""
        sums = self.program.sums.by_value(tree, column)
        if (tree, column) not in self._of_tree:
            self._of_tree[tree, column] = sums(self.masses)
        i = int(np.flatnonzero(sums.places == place)[0])
        blocks = slice(sums.start[i], sums.start[i + 1])
        out = np.zeros((sums.n_values, self.program.n_classes))
        out[sums.value[blocks]] = self._of_tree[tree, column][blocks]
        return out

    def _in(self, piece: int, column: int) -> FloatArray:
        """Class totals of a piece by value, shape (n_values, n_classes)."""
        if (piece, column) not in self._of_piece:
            program, cells = self.program, self.cells[piece]
            out = np.zeros((len(program.table.levels[column]), program.n_classes))
            np.add.at(out, program.table.codes[program.cells.owner[cells], column], self.masses[cells])
            self._of_piece[piece, column] = out
        return self._of_piece[piece, column]


def _sides(comparison: Internal, totals: list[FloatArray]) -> Iterator[list[FloatArray]]:
    """The totals, by value, in the branches of a comparison's other split: all of them, or one side and the other."""
    if comparison.form == "values":
        yield totals
        return
    left = [(np.cumsum(part, axis=0) if comparison.form == "cuts" else part)[comparison.codes] for part in totals]
    yield left
    yield [np.maximum(part.sum(axis=0) - side, 0.0) for part, side in zip(totals, left, strict=True)]


def _alike(parts: list[FloatArray], together: list[IntArray]) -> FloatArray:
    """Sums of class totals with the classes of each set sorted alike in all parts, shape (..., n_classes)."""
    out: FloatArray = np.sum(parts, axis=0)
    for classes in together:
        out[..., classes] = np.sum([np.sort(part[..., classes], axis=-1) for part in parts], axis=0)
    return out


def _joined(blocks: IntArray) -> list[IntArray]:
    """The finest sets of classes of which each block of more than one lies in a single set."""
    label = np.arange(blocks.shape[1])
    for block in blocks:
        for classes in several(block):
            label[np.isin(label, label[classes])] = label[classes].min()
    return list(several(label))
