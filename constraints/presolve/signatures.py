"""Signatures of cells: cells with equal signatures occur in the same statements and can be merged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby

import numpy as np

from maxent.constraints.cells import TreeCells
from maxent.constraints.program import Program
from maxent.constraints.residuals import InternalRows
from maxent.models.arrays import FloatArray, IntArray, ranges, run_ends

# Distinctions of comparisons: the codes that they name, by (column, form), see `Internal`.
Looks = dict[tuple[int, str], IntArray]
# Labels up to which signature and label still fit into one integer, with room for 10^7 signatures.
WIDE = 2**38


class Signatures:
    """A number for every cell; only cells of equal numbers may be pooled."""

    def __init__(self, program: Program) -> None:
        leaf = program.cells.leaf
        self.of: IntArray = leaf[:, 0].astype(np.int64)
        self.n = int(leaf[:, 0].max()) + 1
        alone = 0
        for t in range(1, leaf.shape[1]):
            if alone == len(leaf):
                break  # there is nothing left to tell apart
            before = self.n
            self.split(np.arange(len(leaf)), leaf[:, t])
            alone = self.n - before

    def split(self, cells: IntArray, label: IntArray) -> None:
        """Tell some cells apart by a label (small and non-negative), and from all other cells."""
        key = self.of[cells] * (int(label.max()) + 1) + label
        distinct, inverse = np.unique(key, return_inverse=True)
        self.of[cells] = self.n + inverse
        self.n += len(distinct)

    def split_by(self, cells: IntArray, values: FloatArray) -> None:
        """Tell some cells apart by a number each, and from all other cells, unless they are already."""
        before, signature = np.unique(self.of[cells], return_inverse=True)
        distinct, label = np.unique(values, return_inverse=True)
        if len(np.unique(signature * len(distinct) + label)) > len(before):
            self.split(cells, label)


def tell_apart(
    program: Program, rows: InternalRows, active: IntArray, signatures: Signatures, check: Callable[[], None]
) -> None:
    """Refine signatures by the blocks of the active internal rows."""
    for t, held in enumerate(program.cells.trees):
        nodes = _active_nodes(program, rows, active, t)
        for cells, looks in _innermost(held, nodes) if nodes else ():
            check()
            signatures.split(cells, _label(program, cells, looks))


def _active_nodes(program: Program, rows: InternalRows, active: IntArray, tree: int) -> dict[int, Looks]:
    """Attributes and codes that the active rows at each place of a tree compare."""
    nodes: dict[int, Looks] = {}
    for k, offsets in by_constraint(rows, active):
        comparison = program.internal[k]
        if comparison.tree == tree:
            looks = nodes.setdefault(comparison.place, {})
            looks[comparison.column, comparison.form] = np.unique(comparison.codes[offsets])
    return nodes


def by_constraint(rows: InternalRows, active: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Active rows, gathered: (index of the internal constraint, its rows' offsets)."""
    which = rows.constraint_of(active)
    for k, pairs in groupby(zip(which.tolist(), active.tolist(), strict=True), key=lambda pair: pair[0]):
        yield k, np.array([row for _, row in pairs]) - rows.first_row[k]


def _innermost(held: TreeCells, nodes: dict[int, Looks]) -> Iterator[tuple[IntArray, Looks]]:
    """The cells of which each node is the innermost, and what that node and those above it look at."""
    # Every cell comes once at most, however deep the tree.
    places = np.array(sorted(nodes, key=lambda place: (held.start[place] - held.stop[place], held.places.first[place])))
    inner = np.full(len(held.order), -1, np.int64)
    seen: list[Looks] = []
    for i, place in enumerate(places.tolist()):
        start, stop = held.start[place], held.stop[place]
        looks = dict(seen[inner[start]]) if inner[start] >= 0 else {}
        for key, codes in nodes[place].items():
            looks[key] = np.union1d(looks[key], codes) if key in looks else codes
        seen.append(looks)
        inner[start:stop] = i
    position = np.argsort(inner, kind="stable")
    ends = np.searchsorted(inner[position], np.arange(len(places) + 1))
    for looks, start, stop in zip(seen, ends[:-1], ends[1:], strict=True):
        if stop > start:
            yield held.order[position[start:stop]], looks


def _label(program: Program, cells: IntArray, looks: Looks) -> IntArray:
    """The signature of some cells for comparisons, as one number."""
    owner = program.cells.owner[cells]
    label, n = np.zeros(len(cells), np.int64), 1
    for (column, form), named in looks.items():
        codes = program.table.codes[owner, column]
        if form == "cuts":
            codes = np.searchsorted(named, codes)
        elif form == "each":
            at = np.minimum(np.searchsorted(named, codes), len(named) - 1)
            codes = np.where(named[at] == codes, at, len(named))
        values = int(codes.max()) + 1
        if n * values > WIDE:
            distinct, label = np.unique(label, return_inverse=True)
            n = len(distinct)
        label, n = label * values + codes, n * values
    return label


def alike(owner: IntArray, signature: IntArray, n_owners: int, check: Callable[[], None]) -> IntArray:
    """Classes of quasi-identifiers by the signatures of their cells, shape (n_owners,), numbered from 0.

    ``check`` is called for each number of cells that quasi-identifiers have, which are few, and may raise.
    """
    order = np.lexsort((signature, owner))
    sorted_signature = signature[order].astype(">i8")  # so that bytes are in the order of numbers
    length = np.bincount(owner, minlength=n_owners)
    start = run_ends(length)[:-1]
    like, n = np.empty(n_owners, np.int64), 0
    for cells in np.unique(length).tolist():
        check()
        has = np.flatnonzero(length == cells)
        held = sorted_signature[ranges(start[has], start[has] + cells)]
        distinct, inverse = np.unique(held.view(f"V{8 * cells}"), return_inverse=True)
        like[has] = n + inverse
        n += len(distinct)
    return like


def by_first(label: IntArray) -> tuple[IntArray, IntArray]:
    """Labels renumbered in the order in which they appear, and where each appears first; labels are small integers."""
    first = np.full(int(label.max()) + 1, len(label), np.int64)
    first[label[::-1]] = np.arange(len(label) - 1, -1, -1)
    used = np.flatnonzero(first < len(label))
    order = used[np.argsort(first[used])]
    number = np.empty(len(first), np.int64)
    number[order] = np.arange(len(order))
    return number[label], first[order]
