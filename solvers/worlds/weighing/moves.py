"""Moves between worlds that keep all equalities: swaps, and swaps of swaps.

A change takes one person of a pooled quasi-identifier from one unknown to another (another class, or another leaf).
What equalities it alters is summarised by a hash that is linear: the sum of random numbers, one for each equality. Two
changes with one hash undo each other when one of them is made backwards: a swap. In a forest hardly any two changes are
alike, but *differences* of two changes are, wherever they cancel in most trees: such moves are of four
quasi-identifiers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import BoolArray, IntArray, run_ends
from maxent.solvers.worlds.part import WholePart

# Changes of which all differences are compared: there are as many as its square.
TOGETHER = 1_500
HashArray = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """Changes ``source -> target`` (unknowns), and items, each a change less another one, in runs of equal effects.

    ``first`` and ``second`` are the changes of an item, -1 for none; the item's run are the items
    ``begin <= i < begin + length``, all shapes (n_items,). An item less another one of its run is a move.
    """

    source: IntArray
    target: IntArray
    first: IntArray
    second: IntArray
    begin: IntArray
    length: IntArray

    def __len__(self) -> int:
        return len(self.first)


def moves_of(part: WholePart, free: BoolArray, rng: np.random.Generator) -> Moves:
    """Moves of a part.

    Parameters
    ----------
    free : shape (n_owners,), pooled quasi-identifiers of which something is open; others stay as they are
    rng : numbers for the hashes, and for what is left out where there are too many changes
    """
    source, target = _changes(part, free)
    equal = part.rows.lower == part.rows.upper
    matrix = part.rows.matrix[np.flatnonzero(equal)].tocoo()
    number = rng.integers(0, 2**64, size=matrix.shape[0], dtype=np.uint64)
    effect = np.zeros(len(part.owner) * part.n_classes, np.uint64)
    np.add.at(effect, matrix.col, matrix.data.astype(np.int64).astype(np.uint64) * number[matrix.row])
    change = effect[target] - effect[source]
    single = np.arange(len(change))
    none = np.array([-1])
    # The item of no change at all: a change that no equality notices is a move by itself.
    first, second = np.concatenate([single, none]), np.full(len(change) + 1, -1)
    alone = _runs(first, second, np.concatenate([change, np.zeros(1, np.uint64)]))
    some = rng.permutation(len(change))[:TOGETHER]
    one, other = (index.ravel() for index in np.meshgrid(some, some, indexing="ij"))
    differ = one != other
    one, other = one[differ], other[differ]
    differences = _runs(one, other, change[one] - change[other])
    first, second, begin, length = (np.concatenate(both) for both in zip(alone, differences, strict=True))
    begin[len(alone[0]) :] += len(alone[0])
    return Moves(source, target, first, second, begin, length)


def _changes(part: WholePart, free: BoolArray) -> tuple[IntArray, IntArray]:
    """All pairs of different unknowns of each free pooled quasi-identifier."""
    unknown = np.arange(len(part.owner) * part.n_classes)
    owner = np.repeat(part.owner, part.n_classes)
    order = np.argsort(owner, kind="stable")
    own = run_ends(np.bincount(owner, minlength=len(part.owners)))
    sources, targets = [], []
    for o in np.flatnonzero(free).tolist():
        mine = unknown[order[own[o] : own[o + 1]]]
        one, other = (index.ravel() for index in np.meshgrid(mine, mine, indexing="ij"))
        sources.append(one[one != other])
        targets.append(other[one != other])
    nothing = np.empty(0, np.int64)
    return np.concatenate([nothing, *sources]), np.concatenate([nothing, *targets])


def _runs(first: IntArray, second: IntArray, effect: HashArray) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Items in the order of their effects, without those that are alone with theirs, and the run of each."""
    order = np.argsort(effect, kind="stable")
    effect = effect[order]
    starts = np.flatnonzero(np.concatenate([np.ones(len(effect[:1]), bool), effect[1:] != effect[:-1]]))
    length = np.diff(np.append(starts, len(effect)))
    kept = np.repeat(length > 1, length)
    length = length[length > 1]
    return first[order][kept], second[order][kept], np.repeat(run_ends(length)[:-1], length), np.repeat(length, length)
