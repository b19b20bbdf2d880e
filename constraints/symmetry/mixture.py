"""Mean of the optima that follow from one optimum by permuting exchangeable classes.

A piece of the program that binding comparisons hold together permutes the classes that its statements treat alike: this
keeps the entropy, and all that the piece states. A comparison further up that does not bind sees only sums over pieces,
and may be broken. Pieces below such a comparison are then permuted together, or where the arrangements of their
classes are few, all of these are tried and those kept that break nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from math import factorial, prod

import numpy as np

from maxent.constraints.presolve.merge import compared, parts, unmerged
from maxent.constraints.program import Program
from maxent.constraints.residuals import InternalRows
from maxent.constraints.symmetry.exchangeable import Exchangeable
from maxent.constraints.symmetry.orbit_bounds import breakable
from maxent.constraints.symmetry.permuted import Permuted, few_rows
from maxent.constraints.symmetry.pieces import Pieces, several
from maxent.models.arrays import FloatArray, IntArray

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
    """The mean of the optima that permutations of classes make of one.

    Parameters
    ----------
    linear, active : the linear constraints and the internal rows that led to the optimum, indices
    masses : shape (n_cells, n_classes), the optimum, individuals
    tolerance : largest violation of a comparison, impurity units
    check : called again and again meanwhile; it may raise
    """
    search = _Search(program, rows, linear, tolerance, check, Exchangeable(program))
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
class _Search:
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
