"""Cells, the unknowns: one for each quasi-identifier and combination of leaves; and sums of them at tree places.

With public splits a quasi-identifier reaches one leaf per tree and is one cell. A split on a private attribute sends
it down several branches: its cells are then its *span* (Friedman et al. 2006, Definition 5), one for every
combination of leaves, over all trees, that some values of the private attributes lead to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from maxent.models.arrays import BoolArray, FloatArray, IntArray, ranges, run_ends
from maxent.models.errors import Check, InvalidInput, invalid, unchecked
from maxent.models.nodes import attributes_of
from maxent.models.release import Attribute, Branch, Release, Tree
from maxent.models.trees.places import (
    EVERYWHERE,
    NOWHERE,
    Interval,
    Places,
    branch_of_code,
    divided,
    interval_of,
    number_places,
    routes_of,
)

if TYPE_CHECKING:
    from maxent.models.tables.qi_table import QITable

Values = frozenset[str] | tuple[Interval, bool]  # of a private attribute; with numbers, whether they may be missing


@dataclass(frozen=True, slots=True, eq=False)
class TreeCells:
    """Cells of each place of a tree: ``order[start[i]:stop[i]]``; children's cells are consecutive."""

    places: Places
    order: IntArray
    start: IntArray
    stop: IntArray

    def at(self, place: int) -> IntArray:
        """Cells below a place, shape (n,), a view."""
        return self.order[self.start[place] : self.stop[place]]

    @property
    def rank(self) -> IntArray:
        """The rank of the leaf of each cell of ``order``, shape (n_cells,), increasing."""
        leaves = self.places.leaves[np.argsort(self.places.first[self.places.leaves])]
        return np.repeat(np.arange(len(leaves)), self.stop[leaves] - self.start[leaves])

    def below(self, nested: _Nested) -> IntArray:
        """The innermost of some places around each cell, shape (n_cells,)."""
        found = np.empty(len(self.order), np.int64)
        found[self.order] = nested.deepest[self.rank]
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """All unknowns: cell i belongs to quasi-identifier ``owner[i]`` and lies in ``leaf[i, t]`` (a place) of tree t."""

    owner: IntArray
    leaf: npt.NDArray[Any]
    trees: tuple[TreeCells, ...]

    def __len__(self) -> int:
        return len(self.owner)

    def at_first(self, tree: int, counts: IntArray) -> IntArray:
        """Individuals of each quasi-identifier at the first of its cells in a tree, 0 at the others, shape (n_cells,).

        They add up to the size of every place that holds either all cells of a quasi-identifier or none.
        """
        order = self.trees[tree].order
        first = np.empty(len(counts), np.int64)
        first[self.owner[order[::-1]]] = order[::-1]  # of several cells of an owner the last one written stays
        weight = np.zeros(len(order), np.int64)
        weight[first] = counts
        return weight


def narrow(codes: IntArray, size: int) -> IntArray:
    """A copy of codes below ``size`` in the smallest integers that hold them: looking them up is much of the work."""
    return codes.astype(np.min_scalar_type(max(size - 1, 0)))


def _everything(attribute: Attribute) -> Values:
    return frozenset(attribute.values or ()) if attribute.type == "categorical" else (EVERYWHERE, attribute.missing)


def _narrow(possible: Values, branch: Branch) -> Values | None:
    """The possible values of a private attribute that take a branch, None when none does."""
    if isinstance(possible, frozenset):
        return possible & frozenset(branch.values or ()) or None
    (least, most), missing = possible
    low, high = interval_of(branch)
    low, high = max(low, least), min(high, most)
    missing = missing and bool(branch.missing)
    if not low < high:
        return (NOWHERE, True) if missing else None
    return (low, high), missing


class _Boxes:
    """Boxes of private values: for every private attribute the number of the values that are still possible."""

    def __init__(self, attributes: list[Attribute]) -> None:
        self._column = {attribute.name: j for j, attribute in enumerate(attributes)}
        self._values: list[list[Values]] = [[_everything(attribute)] for attribute in attributes]
        self._number: list[dict[Values, int]] = [{values[0]: 0} for values in self._values]
        self._of = np.zeros((1, len(attributes)), np.int32)  # with room for more boxes than there are
        self._n = 1

    def narrowed(self, boxes: IntArray, name: str, branch: Branch) -> IntArray:
        """The part of each of some distinct boxes that takes a branch on an attribute, -1 when no value does."""
        j = self._column[name]
        values, number = self._values[j], self._number[j]
        before, inverse = np.unique(self._of[boxes, j], return_inverse=True)
        after = np.full(len(before), -1, np.int32)
        for i, old in enumerate(before.tolist()):
            part = _narrow(values[old], branch)
            if part is not None:
                after[i] = number.setdefault(part, len(values))
                if after[i] == len(values):
                    values.append(part)
        changed = np.flatnonzero((after[inverse] >= 0) & (after != before)[inverse])
        found = np.where(after[inverse] >= 0, boxes, -1)
        found[changed] = self._add(boxes[changed], j, after[inverse[changed]])
        return found

    def _add(self, like: IntArray, column: int, values: npt.NDArray[np.int32]) -> IntArray:
        """New boxes like others but for one attribute."""
        first, self._n = self._n, self._n + len(like)
        if self._n > len(self._of):
            more = np.empty((2 * self._n, self._of.shape[1]), np.int32)
            more[:first] = self._of[:first]
            self._of = more
        self._of[first : self._n] = self._of[like]
        self._of[first : self._n, column] = values
        return np.arange(first, self._n)


class PeopleRouter:
    """Sends rows (a quasi-identifier and a box of private values each) down a tree to its leaves."""

    def __init__(self, release: Release, table: QITable, check: Check) -> None:
        self.check = check
        self.attributes = {a.name: a for a in release.attributes}
        self.column = {a.name: j for j, a in enumerate(table.attributes)}
        self.table = table
        tested = set[str]().union(*(attributes_of(tree.nodes) for tree in release.trees))
        self.boxes = _Boxes([a for a in release.attributes if a.name in tested and a.name not in self.column])
        self._codes: dict[int, IntArray] = {}

    def route(self, tree: Tree, places: Places, owner: IntArray, box: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Cells of a tree: the row each came from, its leaf (a place) and its box; shapes (n_cells,)."""
        if self.is_public(tree):
            leaf = self._leaves(tree, places)[owner]
            row = np.argsort(narrow(places.first[leaf], len(places)), kind="stable")
            return row, leaf[row], box[row]
        found: list[tuple[IntArray, int, IntArray]] = []
        stack = [(0, np.arange(len(owner)), box)]
        while stack:
            self.check()
            place, rows, boxes = stack.pop()
            below = places.children[place]
            if not len(rows):
                continue
            if not below:
                found.append((rows, place, boxes))
                continue
            node = tree.nodes[place]
            parts = self._public if node.attribute in self.column else self._private
            found_below = [
                (below[i], part, part_boxes)
                for i, part, part_boxes in parts(node.attribute or "", node.branches, owner, rows, boxes)
            ]
            stack.extend(reversed(found_below))
        row = np.concatenate([rows for rows, _, _ in found])
        leaf = np.repeat([place for _, place, _ in found], [len(rows) for rows, _, _ in found])
        return row, leaf.astype(np.int64), np.concatenate([boxes for _, _, boxes in found])

    def is_public(self, tree: Tree) -> bool:
        """Whether a tree tests public attributes only."""
        return all(name in self.column for name in attributes_of(tree.nodes))

    def ends(self, tree: Tree, places: Places) -> IntArray:
        """The place where everybody ends, or first meets what is private, or takes no branch of; shape (n_qi,)."""
        return routes_of(tree, places, tuple(self.attributes.values()), self._levels)(self._matrix)

    def _leaves(self, tree: Tree, places: Places) -> IntArray:
        """The leaf of everybody, in a tree that tests public attributes only, shape (n_qi,)."""
        leaf = self.ends(tree, places)
        lost = np.flatnonzero(places.n_branches[leaf])
        if len(lost):
            at = leaf[lost]
            first = int(np.lexsort((lost, -places.last[at], places.first[at]))[0])  # as one goes depth-first
            name = tree.nodes[int(at[first])].attribute or ""
            raise self._no_branch(int(lost[first]), name)
        return leaf

    @cached_property
    def _levels(self) -> list[npt.NDArray[Any]]:
        """What the codes of each attribute of the release mean, nothing of private ones."""
        none = np.empty(0)
        return [self.table.levels[self.column[name]] if name in self.column else none for name in self.attributes]

    @cached_property
    def _matrix(self) -> npt.NDArray[Any]:
        """The codes of each attribute of the release, shape (n_attributes, n_qi)."""
        if list(self.attributes) == list(self.column):
            return self.table.codes.T
        found = np.zeros((len(self.attributes), len(self.table)), self.table.codes.dtype)
        for i, name in enumerate(self.attributes):
            if name in self.column:
                found[i] = self.table.codes[:, self.column[name]]
        return found

    def _no_branch(self, lost: int, name: str) -> InvalidInput:
        column = self.column[name]
        return invalid(
            self.table.source,
            f"line {self.table.lines[lost]}",
            name,
            "a value that some branch of every node it reaches takes",
            f"{self.table.levels[column][self.table.codes[lost, column]]!r}, which reaches no leaf",
        )

    def _public(
        self, name: str, branches: tuple[Branch, ...], owner: IntArray, rows: IntArray, boxes: IntArray
    ) -> Iterator[tuple[int, IntArray, IntArray]]:
        column = self.column[name]
        if column not in self._codes:
            self._codes[column] = narrow(self.table.codes[:, column], len(self.table.levels[column]))
        codes = self._codes[column][owner[rows]]
        went = branch_of_code(self.attributes[name], branches, self.table.levels[column], codes)
        if went.min() < 0:
            raise self._no_branch(int(owner[rows[np.argmin(went)]]), name)
        for i, here in enumerate(divided(went, len(branches))):
            yield i, rows[here], boxes[here]

    def _private(
        self, name: str, branches: tuple[Branch, ...], owner: IntArray, rows: IntArray, boxes: IntArray
    ) -> Iterator[tuple[int, IntArray, IntArray]]:
        distinct, inverse = np.unique(boxes, return_inverse=True)
        for i, branch in enumerate(branches):
            narrowed = self.boxes.narrowed(distinct, name, branch)
            new = narrowed[inverse]
            yield i, rows[new >= 0], new[new >= 0]


def build_cells(release: Release, table: QITable, check: Check = unchecked) -> Cells:
    """Every unknown of a release and which cells each node holds, by leaf of the first tree, then person."""
    router = PeopleRouter(release, table, check)
    owner = np.arange(len(table), dtype=np.int64)
    box = np.zeros(len(table), np.int64)
    leaves: list[npt.NDArray[np.int32]] = []
    indexed = []
    for tree in release.trees:
        check()
        indexed.append(number_places(tree))
    for t, (tree, places) in enumerate(zip(release.trees, indexed, strict=True)):
        check(f"people were placed in {t} of {len(indexed)} trees, which made {len(owner):,} cells")
        row, place, boxes = router.route(tree, places, owner, box)
        if t and router.is_public(tree):  # everybody is in one leaf, and boxes are what they were
            leaves.append(np.empty(len(place), np.int32))
            leaves[t][row] = place
        else:
            owner, box = owner[row], boxes
            leaves = [*(held[row] for held in leaves), place.astype(np.int32)]
    check(f"people were placed in all trees, which made {len(owner):,} cells, not in order yet")
    if len(indexed) > 1:  # a single tree's cells are in this order already
        several = len(owner) > len(table)  # else nobody has two cells to be told apart by their leaves
        canonical = np.lexsort((*(leaves[::-1] if several else ()), owner, indexed[0].first[leaves[0]]))
        owner, leaves = owner[canonical], [held[canonical] for held in leaves]
    leaf = np.array(leaves).T  # whose columns, which are looked at one by one, are each together in memory
    return cells_of(owner, leaf, indexed, check)


def cells_of(owner: IntArray, leaf: npt.NDArray[Any], trees: Iterable[Places], check: Check = unchecked) -> Cells:
    """Cells of some quasi-identifiers in the leaves of trees, shapes (n_cells,) and (n_cells, n_trees)."""
    placed = []
    for t, places in enumerate(trees):
        check()
        rank = places.first[leaf[:, t]]
        order = np.argsort(narrow(rank, len(places)), kind="stable")  # NumPy sorts short integers in linear time
        ends = run_ends(np.bincount(rank, minlength=int(places.last[0])))
        start, stop = ends[places.first], ends[places.last]
        placed.append(TreeCells(places, order, start, stop))
    return Cells(owner, leaf, tuple(placed))


def place_sizes(cells: Cells, counts: IntArray, check: Check = unchecked) -> tuple[FloatArray, ...]:
    """Individuals in each place, NaN where private attributes decide who is there; per tree, shape (n_places,)."""
    sizes = []
    for t, held in enumerate(cells.trees):
        check()
        up_to = np.concatenate([[0], np.cumsum(cells.at_first(t, counts)[held.order])])
        size = (up_to[held.stop] - up_to[held.start]).astype(np.float64)
        if len(cells) > len(counts):
            size[_divided(cells.owner[held.order], held, len(counts))] = np.nan
        sizes.append(size)
    return tuple(sizes)


def _divided(owner: IntArray, held: TreeCells, n_owners: int) -> npt.NDArray[np.bool_]:
    """Whether some quasi-identifier has cells both in a place and outside of it, shape (n_places,)."""
    # ``owner`` are those of the tree's cells in depth-first order.
    rank, places = held.rank, held.places
    low, high = np.empty(n_owners, np.int64), np.empty(n_owners, np.int64)
    low[owner[::-1]], high[owner] = rank[::-1], rank
    n_ranks = int(places.last[0])
    lowest, highest = np.full(n_ranks + 1, n_ranks), np.full(n_ranks + 1, -1)
    np.minimum.at(lowest, rank, low[owner])
    np.maximum.at(highest, rank, high[owner])
    ranges = np.column_stack([places.first, places.last]).ravel()
    outside = np.minimum.reduceat(lowest, ranges)[::2] < places.first
    return np.asarray(outside | (np.maximum.reduceat(highest, ranges)[::2] >= places.last))


# Sums over cells for all places of a tree together, also divided by the values of an attribute.
#
# Each cell is added once, to the deepest place asked for that holds it; what places below hold is then added to the
# ones above, level by level. So the cost is one pass over the cells and one over the sums, however many places there
# are.


@dataclass(frozen=True, slots=True, eq=False)
class _Level:
    """Blocks of one depth, sorted by the block above that they are part of."""

    below: IntArray  # blocks
    start: IntArray  # first of each run of blocks with one and the same block above
    above: IntArray  # that block, one per run


@dataclass(frozen=True, eq=False)
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
    gathered: Callable[[], sparse.csr_matrix]
    levels: tuple[_Level, ...]  # deepest first

    @cached_property
    def cells(self) -> sparse.csr_matrix:
        """These cells, and what share of each has the value, shape (n_own, n_cells); made when first asked for."""
        return self.gathered()

    def __reduce__(self) -> tuple[Any, ...]:
        """Another process gets the cells as they are: what makes them cannot be sent."""
        made = (self.places, self.start, self.key, self.n_values, self.own, partial(_known, self.cells), self.levels)
        return Sums, made

    def __call__(self, values: FloatArray) -> FloatArray:
        """Sums of ``values``, shape (n_cells,) or (n_cells, k), over the blocks: (n_blocks,) or (n_blocks, k)."""
        return self.up(self.cells @ values)

    def up(self, own: FloatArray) -> FloatArray:
        """Sums over all blocks from those over ``own``, shape (n_own,) or (n_own, k)."""
        out = np.zeros((len(self.key), *own.shape[1:]))
        out[self.own] = own
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


def _known(cells: sparse.csr_matrix) -> sparse.csr_matrix:
    return cells


@dataclass(frozen=True, slots=True, eq=False)
class _Shares:
    """Cells, the value that each has, and the share of each that has it, shapes (n,); without cells every one whole."""

    cell: IntArray | None
    code: npt.NDArray[Any]
    share: FloatArray | None

    def of(self, inside: IntArray, n_values: int) -> IntArray:
        """Places by value, as `Sums` numbers them, of the place that each cell is ``inside``."""
        key = (inside if self.cell is None else inside[self.cell]) * n_values
        key += self.code
        return key


@dataclass(frozen=True, slots=True, eq=False)
class Mixed:
    """Groups of cells: of each the shares that have each value of an attribute.

    ``group`` and ``weight``, shapes (n_cells,), are those of the cells that ``sums`` are of, ``whole``, shape
    (n_groups,), the individuals of the groups.
    """

    sums: CellSums
    group: IntArray
    weight: FloatArray
    whole: FloatArray
    known: dict[int, _Shares] = field(default_factory=dict)

    def shares(self, column: int, n_values: int) -> _Shares:
        """The shares of groups by the value of a public attribute."""
        if column not in self.known:
            key, size = self.group * n_values + self.sums.code(column), len(self.whole) * n_values
            if size <= 4 * len(key):
                people = np.bincount(key, self.weight, size)
                pairs = np.flatnonzero(people)
                people = people[pairs]
            else:
                pairs, inverse = np.unique(key, return_inverse=True)
                people = np.bincount(inverse, self.weight)
            cell = pairs // n_values
            self.known[column] = _Shares(cell, pairs % n_values, people / self.whole[cell])
        return self.known[column]


class CellSums:
    """The sums of a program's cells, made when first asked for and kept.

    ``codes`` are those of the quasi-identifiers, shape (n_distinct, n_attributes); ``sizes`` says how many codes each
    attribute has. Trees are numbered from ``first`` on in what is ``kept``. With ``among`` sums are over some of the
    places of each tree, and over its root, alone. Where cells are ``mixed``, they are groups of cells of other sums.
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
        mixed: Mixed | None = None,
    ) -> None:
        self._cells, self._codes, self._sizes, self._mixed = cells, codes, sizes, mixed
        self._first, self._kept, self._among = first, {} if kept is None else kept, among
        self._code: dict[int, npt.NDArray[Any]] = {}
        self._nested: dict[int, _Nested] = {}  # of inner nodes that hold cells, by tree
        self._inside: tuple[int, IntArray] | None = None  # the last tree, and the innermost of these around each cell

    def of_trees(self, cells: Cells, first: int) -> CellSums:
        """The sums of some of the trees, which are those of ``cells``, from number ``first`` on: they are made once."""
        return CellSums(cells, self._codes, self._sizes, first=self._first + first, kept=self._kept)

    def over(self, among: Mapping[int, IntArray]) -> CellSums:
        """The sums over some places of each tree alone, by the trees' numbers: for many evaluations of a few."""
        return CellSums(self._cells, self._codes, self._sizes, among=among, mixed=self._mixed)

    def mixed(self, cells: Cells, group: IntArray, weight: FloatArray) -> CellSums:
        """The sums of groups of these cells, which are ``cells``: of each group shares have a value."""
        mixed = Mixed(self, group, weight, np.bincount(group, weight).astype(np.float64))
        found = CellSums(cells, self._codes, self._sizes, mixed=mixed)
        found._nested = self._nested  # the same places hold the groups
        return found

    def code(self, column: int) -> npt.NDArray[Any]:
        """The code of each cell, shape (n_cells,)."""
        if column not in self._code:
            self._code[column] = narrow(self._codes[:, column], self._sizes[column])[self._cells.owner]
        return self._code[column]

    def shares(self, column: int) -> _Shares:
        """The cells with each value of a public attribute."""
        if self._mixed is not None:
            return self._mixed.shares(column, self._sizes[column])
        return _Shares(None, self.code(column), None)

    def within(self, cells: IntArray, column: int, values: FloatArray) -> FloatArray:
        """Sums of ``values``, shape (n, k), of some cells by the value of a public attribute, shape (n_values, k)."""
        out = np.zeros((self._sizes[column], values.shape[1]))
        if self._mixed is None:
            np.add.at(out, self._codes[self._cells.owner[cells], column], values)
            return out
        found = self.shares(column)
        assert found.cell is not None
        begin, end = np.searchsorted(found.cell, cells), np.searchsorted(found.cell, cells, side="right")
        at = ranges(begin, end)
        share = np.ones(len(at)) if found.share is None else found.share[at]
        np.add.at(out, found.code[at], np.repeat(values, end - begin, axis=0) * share[:, None])
        return out

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
            everybody = _Shares(None, np.zeros(len(self._cells), np.int8), None)
            nested = _nesting(held, places)
            self._kept[key] = _sums(held, nested, everybody, 1, everybody.of(held.below(nested), 1))
        return self._kept[key]

    def by_value(self, tree: int, column: int) -> Sums:
        """Sums over every inner node that holds cells, by the code of a public attribute."""
        key = self._first + tree, column
        if key not in self._kept:
            held = self._cells.trees[tree]
            if tree not in self._nested:
                places = self._places(tree, (held.places.n_branches > 0) & (held.stop > held.start))
                self._nested[tree] = _nesting(held, places)
            nested, found, size = self._nested[tree], self.shares(column), self._sizes[column]
            self._kept[key] = _sums(held, nested, found, size, found.of(self.inside(tree), size))
        return self._kept[key]

    def inside(self, tree: int) -> IntArray:
        """The innermost of the inner nodes that are summed over around each cell, shape (n_cells,)."""
        if self._inside is None or self._inside[0] != tree:
            self._inside = tree, self._cells.trees[tree].below(self._nested[tree])
        return self._inside[1]

    def counted(self, tree: int, column: int, people: FloatArray) -> FloatArray:
        """Sums of whole numbers, shape (n_cells,), over the blocks of `by_value`, without a matrix of these."""
        sums = self.by_value(tree, column)
        key = self.shares(column).of(self.inside(tree), sums.n_values)
        own = np.bincount(key, people, len(sums.places) * sums.n_values)[sums.key[sums.own]]
        return sums.up(np.asarray(own, np.float64))

    def totals(self, tree: int, values: FloatArray) -> FloatArray:
        """Sums of ``values``, shape (n_cells, k), over every place of a tree, shape (n_places, k)."""
        held, leaf = self._cells.trees[tree], self._cells.leaf[:, tree]
        places = held.places
        out = np.zeros((len(held.start), values.shape[1]))
        for j, each in enumerate(values.T):
            out[:, j] = np.bincount(leaf, each, len(out))
        for level in reversed(places.levels[1:]):  # places below one node are consecutive
            above = places.parent[level]
            first = np.flatnonzero(np.append(True, above[1:] != above[:-1]))
            out[above[first]] += np.add.reduceat(out[level], first, axis=0)
        return out


def _sums(held: TreeCells, nested: _Nested, found: _Shares, n_values: int, key: IntArray) -> Sums:
    """Sums over some places of a tree, the root among them, by the values that its cells have, whose keys these are."""
    places, size, n = nested.places, len(nested.places) * n_values, len(held.order)
    there = None
    if size <= 4 * len(key):
        there = np.zeros(size, bool)
        there[key] = True
    own = np.unique(key) if there is None else np.flatnonzero(there)

    def gathered() -> sparse.csr_matrix:
        key = found.of(held.below(nested), n_values)
        order = np.argsort(narrow(key, size), kind="stable")
        ends = np.append(np.searchsorted(key[order], own), len(order)).astype(np.int32)
        cell = order if found.cell is None else found.cell[order]
        share = np.ones(len(order)) if found.share is None else found.share[order]
        return sparse.csr_matrix((share, cell.astype(np.int32), ends), shape=(len(own), n))

    at: IntArray | None = None
    if there is None:
        every, moves = _closure(own, nested.above, nested.depth, n_values)
    else:
        moves = _marked(there.reshape(-1, n_values), nested.above, nested.depth)
        every, at = np.flatnonzero(there), np.cumsum(there) - 1

    def number(keys: IntArray) -> IntArray:
        return np.searchsorted(every, keys) if at is None else at[keys]

    start = np.searchsorted(every, np.arange(len(places) + 1) * n_values)
    levels = tuple(_level(number, below, up) for below, up in moves)
    return Sums(places, start, every, n_values, number(own), gathered, levels)


@dataclass(frozen=True, slots=True, eq=False)
class _Nested:
    """Places in depth-first order: the one around each, how many are around it; and the deepest around each leaf."""

    places: IntArray
    above: IntArray
    depth: IntArray
    deepest: IntArray


def _nesting(held: TreeCells, places: IntArray) -> _Nested:
    own = held.places
    places = places[np.argsort(own.number[places])]
    nearest, above, depth = np.full((3, len(own)), -1)
    nearest[places] = np.arange(len(places))  # of these at each place, or above
    here = (nearest >= 0).astype(np.int64)
    depth[own.levels[0]] += here[own.levels[0]]
    for level in own.levels[1:]:
        up = own.parent[level]
        above[level] = nearest[up]
        nearest[level] = np.where(here[level] > 0, nearest[level], nearest[up])
        depth[level] = depth[up] + here[level]
    deepest = np.empty(int(own.last[0]), np.int64)
    deepest[own.first[own.leaves]] = nearest[own.leaves]
    return _Nested(places, above[places], depth[places], deepest)


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


def _marked(there: BoolArray, above: IntArray, depth: IntArray) -> list[tuple[IntArray, IntArray]]:
    """The same moves, from marks of the keys, shape (n_places, n_values), to which those of keys above are added."""
    moves: list[tuple[IntArray, IntArray]] = []
    order = np.argsort(depth, kind="stable")
    for places in np.split(order, np.cumsum(np.bincount(depth))[:-1])[:0:-1]:
        i, code = np.nonzero(there[places])
        up = above[places][i]
        there[up, code] = True
        moves.append((places[i] * there.shape[1] + code, up * there.shape[1] + code))
    return moves


def _level(number: Callable[[IntArray], IntArray], below: IntArray, above: IntArray) -> _Level:
    """The blocks of keys ``below``, sorted and grouped by those of ``above``."""
    order = np.argsort(above, kind="stable")
    start = np.flatnonzero(np.diff(above[order], prepend=-1))
    return _Level(number(below[order]), start, number(above[order][start]))
