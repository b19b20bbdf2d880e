"""Symmetry: exchangeable classes, and the mean of the optima that swapping them gives.

A piece of the program that binding comparisons hold together permutes the classes that its statements treat alike: this
keeps the entropy, and all that the piece states. A comparison further up that does not bind sees only sums over pieces,
and may be broken. Pieces below such a comparison are then permuted together, or where the arrangements of their
classes are few, all of these are tried and those kept that break nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise, product
from math import factorial, prod

import numpy as np
import numpy.typing as npt
from scipy import sparse

from maxent.constraints.presolve.merge import EXACT, compared, parts, unmerged
from maxent.constraints.program.cells import Sums
from maxent.constraints.program.program import Internal, Program, StatementRows
from maxent.constraints.program.residuals import (
    InternalRows,
    SplitSlack,
    branches,
    neg_x_log_x,
    phi_sum,
)
from maxent.models.arrays import TINY, BoolArray, FloatArray, IntArray, ranges

# Finds exchangeable classes: swapping them maps every feasible point to a feasible point.
#
# The measures of splits are symmetric functions of the classes, so that comparisons of splits treat all classes alike.

Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class _Hashed:
    """Rows by hashes of 64 bits: a row's is a number of what it is about, and one for each of its terms.

    ``whole``, shape (n_rows,), are these hashes, ``of_class`` and ``factor``, shapes (n_classes,) and (n_terms,), the
    numbers whose products are those of the terms; ``at``, shape (n_rows, n_classes), is 1 more than a term's index.
    """

    whole: Hashes
    of_class: Hashes
    factor: Hashes
    at: sparse.csc_matrix

    def swapped(self, one: int, other: int) -> bool:
        """Whether swapping two classes maps the rows to themselves."""
        change = np.zeros(len(self.whole), np.uint64)
        forth = np.subtract(self.of_class[[other]], self.of_class[[one]])
        for x, by in ((one, forth), (other, np.uint64(0) - forth)):
            terms = slice(self.at.indptr[x], self.at.indptr[x + 1])
            change[self.at.indices[terms]] += self.factor[self.at.data[terms] - 1] * by
        changed = np.flatnonzero(change)
        before = self.whole[changed]
        return bool(np.array_equal(np.sort(before), np.sort(before + change[changed])))


class Exchangeable:
    """Classes that sets of linear constraints treat alike; the constraints are read once for all sets."""

    def __init__(self, program: Program) -> None:
        constraints = program.linear
        self._program = program
        self._table = program.rows
        self._ends = np.searchsorted(self._table.of, np.arange(len(constraints) + 1))
        self._region = program.region_of
        self._known: dict[bytes, IntArray] = {}
        named = (c.kind == "label" and c.rows == program.n_classes - 1 for c in constraints)
        labels = (c.coef[0].argmax() if is_label else -1 for c, is_label in zip(constraints, named, strict=True))
        self._label = np.fromiter(labels, np.int64, len(constraints))

    def blocks(self, linear: IntArray) -> IntArray:
        """Blocks of classes that some linear constraints treat alike: equal numbers from 0, shape (n_classes,)."""
        key = linear.tobytes()
        if key not in self._known:
            self._known[key] = self._found(linear)
        return self._known[key]

    def _found(self, linear: IntArray) -> IntArray:
        n = self._program.n_classes
        hashed, role = self._hashed(linear)
        block, first = np.full(n, -1, np.int64), list[int]()
        for x in range(n):
            like = (i for i, other in enumerate(first) if role[other] == role[x] and hashed.swapped(other, x))
            block[x] = next(like, len(first))
            if block[x] == len(first):
                first.append(x)
        return block

    def _hashed(self, linear: IntArray) -> tuple[_Hashed, Hashes]:
        """The rows of constraints, and a hash of what each class is in them, equal for classes that can be swapped."""
        n, table = self._program.n_classes, self._table.take(ranges(self._ends[linear], self._ends[linear + 1]))
        settled, totals = self._settled(linear, table)
        table = table.take(np.flatnonzero(~np.isin(self._region[table.of], settled) | table.weighted))
        number, random = np.repeat(np.arange(len(table)), np.diff(table.ends)), np.random.default_rng(0)
        added = len(table) + np.arange(totals.size)
        row, klass = np.concatenate([number, added]), np.concatenate([table.klass, np.tile(np.arange(n), len(settled))])
        said = np.round(totals.ravel() / EXACT) * EXACT
        about = sum(
            _numbered(np.concatenate(values), random)
            for values in (
                (self._region[table.of], np.repeat(settled, n)),
                (table.lower, said),
                (table.upper, said),
            )
        )
        factor = _numbered(np.concatenate([table.coef, np.ones(totals.size)]), random)
        factor[: len(number)] *= _numbered(self._alike(table, number), random) | np.uint64(1)
        of_class = random.integers(1, 2**63, n, np.uint64)
        whole, role = np.array(about, np.uint64), np.zeros(n, np.uint64)
        np.add.at(role, klass, (whole[row] | np.uint64(1)) * factor)
        np.add.at(whole, row, factor * of_class[klass])
        at = sparse.csc_matrix((np.arange(1, len(row) + 1), (row, klass)), shape=(len(whole), n))
        return _Hashed(whole, of_class, factor, at), role

    def _alike(self, table: StatementRows, row: IntArray) -> IntArray:
        """Equal numbers for the terms whose factors are the same in every cell, shape (n_terms,)."""
        known: dict[bytes, int] = {}
        out = np.zeros(len(row), np.int64)
        for i in np.flatnonzero(table.weighted[row]).tolist():
            weights = self._program.linear[table.of[row[i]]].weights
            assert weights is not None
            out[i] = known.setdefault(weights[:, table.klass[i]].tobytes(), len(known) + 1)
        return out

    def _settled(self, linear: IntArray, table: StatementRows) -> tuple[IntArray, FloatArray]:
        """Regions with a single possible total for every class, and these totals, shape (n_settled, n_classes)."""
        # A label with the smallest rate that it can have says, for one, that all classes are equally many.
        n = self._program.n_classes
        if not len(linear) or not self._program.single:
            return np.empty(0, np.int64), np.empty((0, n))
        regions, of = np.unique(self._region[linear], return_inverse=True)
        size = self._program.region_size[regions][:, None]
        low, high = np.zeros((len(regions), n)), np.repeat(size, n, axis=1)
        one = table.alone >= 0
        at = np.searchsorted(regions, self._region[table.of[one]]), table.alone[one]
        np.maximum.at(low, at, table.lower[one])
        np.minimum.at(high, at, table.upper[one])
        labels = self._label[linear] >= 0
        at = of[labels], self._label[linear[labels]]
        np.minimum.at(high, at[0], high[at][:, None])
        high = np.minimum(high, size - (low.sum(axis=1, keepdims=True) - low))
        low = np.maximum(low, size - (high.sum(axis=1, keepdims=True) - high))
        exact: BoolArray = (high - low <= EXACT).all(axis=1)
        return regions[exact], low[exact]


def _numbered(values: npt.NDArray[np.generic], random: np.random.Generator) -> Hashes:
    """A random number for each distinct value, shape (n,)."""
    distinct, inverse = np.unique(values, return_inverse=True)
    found: Hashes = random.integers(1, 2**63, len(distinct), np.uint64)[inverse]
    return found


# Pieces: sets of cells whose exchangeable classes are permuted separately.


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
        """Permutations drawn at random: the class that each class of a piece is, shape (n_pieces + 1, n_classes)."""
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


# Bounds the split comparisons over all permutations of classes. It finds the comparisons that a permutation can break.
#
# Pieces of the program permute their exchangeable classes, each on its own. The sum of ``phi`` over the branches of the
# chosen split is convex and symmetric, so that it is least at the mean over all permutations. That of another split is
# at most what it is when the classes of all pieces are sorted alike, as their sum then majorises all others (Marshall,
# Olkin and Arnold, *Inequalities: Theory of Majorization*, 6.A.1.c). The bound is the same from every permutation.


def breakable(
    program: Program, rows: InternalRows, pieces: Pieces, masses: FloatArray, among: BoolArray, tolerance: float
) -> IntArray:
    """Internal rows marked in ``among`` that some permutation may break by more than a tolerance."""
    held = _Held(program, pieces, masses)
    mean = pieces.mean(masses)
    places: dict[tuple[int, int], list[int]] = {}
    marked = np.append(0, np.cumsum(among))[rows.first_row]
    for k in np.flatnonzero(np.diff(marked)).tolist():
        comparison = program.internal[k]
        places.setdefault((comparison.tree, comparison.place), []).append(k)
    totals = [program.sums.totals(t, mean) for t in range(len(program.cells.trees))]
    splits: dict[tuple[int, str], SplitSlack] = {}
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

    def least(self, comparison: Internal, inside: IntArray, together: list[IntArray], split: SplitSlack) -> FloatArray:
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
            value = phi_sum(measure, _alike_orbits(side, together), sizes[0])
            apart = neg_x_log_x(sizes[0])
            most += value.sum() if comparison.form == "values" else value
            divided += apart.sum() if comparison.form == "values" else apart
        if measure != "gain_ratio":
            slack: FloatArray = (split.chosen[place] - most) / max(float(split.size[place]), TINY)
            return slack
        undivided = neg_x_log_x(split.size[place])
        by_chosen = max(float(split.split[place] - undivided), TINY)
        by_other = np.maximum(divided - undivided, TINY)
        whole_most = phi_sum(
            measure, _alike_orbits([part.sum(axis=0) for part in (rest, *moved)], together), size.sum()
        )
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
            cells = self.cells[piece]
            self._of_piece[piece, column] = self.program.sums.within(cells, column, self.masses[cells])
        return self._of_piece[piece, column]


def _sides(comparison: Internal, totals: list[FloatArray]) -> Iterator[list[FloatArray]]:
    """The totals, by value, in the branches of a comparison's other split: all of them, or one side and the other."""
    if comparison.form == "values":
        yield totals
        return
    left = [(np.cumsum(part, axis=0) if comparison.form == "cuts" else part)[comparison.codes] for part in totals]
    yield left
    yield [np.maximum(part.sum(axis=0) - side, 0.0) for part, side in zip(totals, left, strict=True)]


def _alike_orbits(parts: list[FloatArray], together: list[IntArray]) -> FloatArray:
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


# Slack of the split constraints after permuting classes, from sums stored per piece.


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
    together = np.add.reduceat(masses[cells[order]] * sums.cells.data[order, None], start, axis=0)
    alone = sparse.csr_matrix(
        (np.ones(len(found)), np.arange(len(found)), np.searchsorted(found, np.arange(len(ends)) * number)),
        shape=(len(ends) - 1, len(found)),
    )
    return _Shares(replace(sums, gathered=lambda: alone), together, found % number - 1)


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

        return self._rows.compared(totals, lambda tree, column, _: self._of_value(tree, column).permuted(order))

    def _of_place(self, tree: int) -> _Shares:
        if tree not in self._by_place:
            self._by_place[tree] = _shares(self._rows.program.sums.by_place(tree), self._pieces, self._masses)
        return self._by_place[tree]

    def _of_value(self, tree: int, column: int) -> _Shares:
        if (tree, column) not in self._by_value:
            sums = self._rows.program.sums.by_value(tree, column)
            self._by_value[tree, column] = _shares(sums, self._pieces, self._masses)
        return self._by_value[tree, column]


# Slack, in impurity units, up to which a comparison binds.
BINDING = 1e-6
# Probabilities nearer than this are the same: swapping their classes leads to no other optimum.
ALIKE = 1e-6
# Arrangements of pieces that are tried one by one; where there are more, draws show what must be joined.
ARRANGEMENTS = 256
# Permutations that are drawn to see whether comparisons hold.
DRAWS = 32


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """The mean of ``optima`` optima, individuals, shape (n_cells, n_classes)."""

    masses: FloatArray
    optima: int


def mixture(
    program: Program,
    rows: InternalRows,
    linear: IntArray,
    active: IntArray,
    masses: FloatArray,
    tolerance: float,
    check: Callable[[], None] = lambda: None,
) -> Mixture:
    """The mean of the optima that permutations of classes make of one."""
    search = _ClassSearch(program, rows, linear, tolerance, check, Exchangeable(program))
    binding = active[rows.slack(masses)[active] <= BINDING]
    out, optima = masses.copy(), 1
    for linked, suspects in search.linked(search.pieces(binding), binding, masses):
        if len(suspects):
            found = search.tried(linked, suspects, masses) or search.joined(linked, suspects, binding, masses)
        else:
            found = search.mean(linked, masses)
        inside = linked.of >= 0
        out[inside] = found.masses[inside]
        optima *= found.optima
    return Mixture(out, optima)


@dataclass(frozen=True, slots=True, eq=False)
class _ClassSearch:
    """The search for the permutations that lead from one optimum of a program to others."""

    program: Program
    rows: InternalRows
    linear: IntArray
    tolerance: float
    check: Callable[[], None]
    exchangeable: Exchangeable

    def pieces(self, held: IntArray) -> Pieces:
        """Cells that statements and some internal rows hold together, as far as these are below one of the rows."""
        self.check()
        program, alone = self.program, unmerged(self.program)
        among = compared(program, alone, self.rows, held)
        found = parts(program, alone, self.linear, self.rows, held, among)
        of = np.full(len(program.cells), -1, np.int64)
        for i, part in enumerate(found):
            of[part.groups] = i
        block = np.array([self.exchangeable.blocks(part.linear) for part in found], np.int64)
        return Pieces(of, block.reshape(len(found), program.n_classes))

    def linked(self, pieces: Pieces, held: IntArray, masses: FloatArray) -> Iterator[tuple[Pieces, IntArray]]:
        """Pieces that some comparisons may link, and these comparisons; those of different sets are independent."""
        among = np.ones(self.rows.n_rows, bool)
        among[held] = False
        suspects = breakable(self.program, self.rows, pieces, masses, among, self.tolerance)
        constraints = np.unique(self.rows.constraint_of(suspects))
        around = pieces.of if not len(suspects) else self.pieces(np.union1d(held, suspects)).of
        cells, internal = self.program.cells, self.program.internal
        example = [int(cells.trees[internal[k].tree].at(internal[k].place)[0]) for k in constraints.tolist()]
        for i in range(int(around.max(initial=-1)) + 1):
            inside = pieces.only(np.unique(pieces.of[around == i]))
            yield inside, constraints[around[example] == i]

    def mean(self, pieces: Pieces, masses: FloatArray) -> Mixture:
        """The mean over all permutations of pieces."""
        optima = 1
        for cells, classes in pieces.exchangeable():
            optima *= _arrangements(_alike(masses[np.ix_(cells, classes)] / self.program.weight[cells, None]))
        return Mixture(pieces.mean(masses), optima)

    def tried(self, pieces: Pieces, suspects: IntArray, masses: FloatArray) -> Mixture | None:
        """The mean over all arrangements of pieces that keep some comparisons, None where these are many."""
        start, choices = masses.copy(), []
        for cells, classes in pieces.exchangeable():
            at = np.ix_(cells, classes)
            number = _alike(masses[at] / self.program.weight[cells, None])
            for same in several(number):
                start[np.ix_(cells, classes[same])] = start[at][:, same].mean(axis=1, keepdims=True)
            choices.append((cells, classes, number))
        if prod(_arrangements(number) for _, _, number in choices) > ARRANGEMENTS:
            return None
        rows = few_rows(self.program, suspects)
        total, optima = np.zeros(start.shape), 0
        for orders in product(*(_orders(number) for _, _, number in choices)):
            self.check()
            world = start.copy()
            for (cells, classes, _), order in zip(choices, orders, strict=True):
                world[np.ix_(cells, classes)] = start[np.ix_(cells, classes[order])]
            if rows.slack(world).min() >= -self.tolerance:
                total += world
                optima += 1
        return Mixture(total / optima, optima) if optima else Mixture(masses, 1)

    def joined(self, pieces: Pieces, suspects: IntArray, held: IntArray, masses: FloatArray) -> Mixture:
        """The mean over permutations of pieces, once pieces that break a comparison in some draw are joined."""
        inside, rows, random = pieces.of >= 0, few_rows(self.program, suspects), np.random.default_rng(0)
        numbers = np.concatenate([np.arange(*self.rows.first_row[k : k + 2]) for k in suspects.tolist()])
        while True:
            broken, permuted = np.zeros(len(numbers), bool), Permuted(rows, pieces, masses)
            for _ in range(DRAWS):
                self.check()
                broken |= permuted.slack(pieces.drawn(random)) < -self.tolerance
            if not broken.any():
                return self.mean(pieces, masses)
            held = np.union1d(held, numbers[broken])
            pieces = self.pieces(held).within(inside)


def _alike(columns: FloatArray) -> IntArray:
    """Numbers of the columns, equal where they are the same but for rounding, shape (n_columns,)."""
    number = np.full(columns.shape[1], -1, np.int64)
    for i in range(len(number)):
        if number[i] < 0:
            same = (np.abs(columns - columns[:, [i]]) <= ALIKE).all(axis=0) & (number < 0)
            number[same] = number.max() + 1
    return number


def _arrangements(number: IntArray) -> int:
    """Number of distinct orders of numbers, some of which may be equal."""
    return factorial(len(number)) // prod(factorial(n) for n in np.bincount(number).tolist())


def _orders(number: IntArray) -> Iterator[IntArray]:
    """Permutations that bring numbers into each of their distinct orders, once each."""
    seen = [np.flatnonzero(number == i).tolist() for i in range(int(number.max()) + 1)]

    def go(left: list[int]) -> Iterator[list[int]]:
        if not any(left):
            yield []
        for i, n in enumerate(left):
            if n:
                for rest in go([*left[:i], n - 1, *left[i + 1 :]]):
                    yield [seen[i][n - 1], *rest]

    for order in go([len(which) for which in seen]):
        yield np.array(order)
