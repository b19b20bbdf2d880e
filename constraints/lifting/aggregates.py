"""Aggregates: the sums of masses in the impurities. Each is defined once, from smaller aggregates if possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from maxent.constraints.lifting.elimination import Elimination
from maxent.constraints.presolve.part_view import PartView
from maxent.models.arrays import BoolArray, FloatArray, IntArray, run_ends


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """The masses of a set of groups, per class: a variable ``var[x]`` (-1: none) or a constant ``const[x]``.

    ``size`` are the individuals in it, None when they are the variable ``size_var``.
    """

    var: IntArray
    const: FloatArray
    size: float | None
    size_var: int = -1


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """A set of groups (increasing numbers) to make a block of.

    ``pieces`` are disjoint blocks inside it that its definition may use, ``rest`` the groups that these leave.
    """

    groups: IntArray
    rest: IntArray
    pieces: Sequence[Block] = ()


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """Terms of new blocks: a row per group or piece, the rows of a block next to each other.

    ``block`` (n_rows,) is the block of each row, ``first`` (n_blocks,) its first row; ``terms`` (n_rows, n_classes) are
    variables, -1 for none. Of each block ``n_terms`` and ``base`` (n_blocks, n_classes) are the number of variables and
    the sum of constants.
    """

    block: IntArray
    first: IntArray
    terms: IntArray
    n_terms: IntArray
    base: FloatArray


class Aggregates:
    """Defines aggregates on demand; a set of groups is one block however often it is asked for."""

    def __init__(self, view: PartView, known: FloatArray, index: IntArray) -> None:
        self._view, self._known, self._index = view, known, index
        self._n_masses = int((index >= 0).sum())
        self._n = self._n_masses
        self._blocks: dict[bytes, Block] = {}
        self._totals: dict[bytes, FloatArray] = {}
        self._columns: list[IntArray] = []
        self._lengths: list[IntArray] = []
        self._const: list[FloatArray] = []

    def learn(self, groups: IntArray, totals: FloatArray) -> None:
        """Take note of the masses per class of some groups that statements fix, NaN elsewhere, before they are used."""
        known = self._totals.setdefault(groups.tobytes(), totals)
        self._totals[groups.tobytes()] = np.where(np.isnan(known), totals, known)

    def blocks(self, wanted: Sequence[Wanted]) -> list[Block]:
        """The blocks of some sets of groups; a new one may use the blocks that exist already."""
        keys = [want.groups.tobytes() for want in wanted]
        new = {key: want for key, want in zip(keys, wanted, strict=True) if key not in self._blocks}
        if new:
            self._blocks.update(zip(new, self._define(list(new.values())), strict=True))
        return [self._blocks[key] for key in keys]

    def _define(self, wanted: list[Wanted]) -> list[Block]:
        """New blocks: per class a constant, a variable that exists already, or a new sum."""
        parts = self._parts(wanted)
        sizes = [self._view.size(want.groups) for want in wanted]
        unsized = np.array([size is None for size in sizes])
        const, unknown = self._constants(wanted, parts, unsized)
        same = unknown & (parts.n_terms == 1) & (parts.base == 0.0)  # a variable by another name
        new = unknown & ~same
        var = np.where(same, np.maximum.reduceat(parts.terms, parts.first), -1)
        row, klass = np.nonzero((parts.terms >= 0) & new[parts.block])
        var[new] = np.arange(self._n, self._n + int(new.sum()))
        self._add(var[parts.block[row], klass] - self._n, parts.terms[row, klass], parts.base[new])
        const[new] = 0.0
        size_var = self._sizes(var, const, unsized)
        return [Block(*block) for block in zip(var, const, sizes, size_var.tolist(), strict=True)]

    def _parts(self, wanted: list[Wanted]) -> _Parts:
        """The groups and pieces that new blocks are made of."""
        pieces = [piece for want in wanted for piece in want.pieces]
        rest = np.concatenate([want.rest for want in wanted])
        lengths = np.array([[len(want.rest) for want in wanted], [len(want.pieces) for want in wanted]])
        block = np.repeat(np.tile(np.arange(len(wanted)), 2), lengths.ravel())
        order = np.argsort(block, kind="stable")
        first = run_ends(lengths.sum(axis=0))[:-1]
        terms = np.concatenate([self._index[rest], *(piece.var[None, :] for piece in pieces)])[order]
        base = np.concatenate([self._known[rest], *(piece.const[None, :] for piece in pieces)])[order]
        n_terms = np.add.reduceat(terms >= 0, first, dtype=np.int64)
        return _Parts(block[order], first, terms, n_terms, np.add.reduceat(base, first))

    def _constants(self, wanted: list[Wanted], parts: _Parts, unsized: BoolArray) -> tuple[FloatArray, BoolArray]:
        """The masses of new blocks that are known, 0 elsewhere, and which are not; shapes (n_blocks, n_classes)."""
        # Where the size of a block is a variable it needs all its masses as variables, but those of nobody.
        unknown = (parts.n_terms > 0) | (unsized[:, None] & (parts.base != 0.0))
        const = np.where(parts.n_terms > 0, 0.0, parts.base)
        for i, want in enumerate(wanted):
            totals = self._totals.get(want.groups.tobytes())
            if totals is not None and not unsized[i]:
                stated = ~np.isnan(totals)
                const[i, stated], unknown[i, stated] = totals[stated], False
        return const, unknown

    def _sizes(self, var: IntArray, const: FloatArray, unsized: BoolArray) -> IntArray:
        """The variables that are the sizes of blocks, -1 for blocks of known size, shape (n_blocks,)."""
        size_var = np.full(len(var), -1, np.int64)
        if unsized.any():
            row, klass = np.nonzero((var >= 0) & unsized[:, None])
            size_var[unsized] = np.arange(self._n, self._n + int(unsized.sum()))
            self._add(size_var[row] - self._n, var[row, klass], const[unsized].sum(axis=1))
        return size_var

    def _add(self, number: IntArray, terms: IntArray, base: FloatArray) -> None:
        """New aggregates: number i, from 0, is the sum of the ``terms`` with that number and of ``base[i]``."""
        self._columns.append(terms[np.argsort(number, kind="stable")])
        self._lengths.append(np.bincount(number, minlength=len(base)))
        self._const.append(base)
        self._n += len(base)

    def finish(self) -> Elimination:
        """The definitions of all aggregates, each a sum of masses, of aggregates before it, and of a constant."""
        columns, lengths, constants = (
            np.concatenate([np.empty(0, kind), *lists])
            for lists, kind in ((self._columns, np.int64), (self._lengths, np.int64), (self._const, np.float64))
        )
        ends = np.concatenate([np.zeros(self._n_masses, np.int64), run_ends(lengths)])
        definitions = sparse.csr_matrix((np.ones(len(columns)), columns, ends), shape=(self._n, self._n))
        shift = np.concatenate([np.zeros(self._n_masses), constants])
        return Elimination(definitions, shift, np.arange(self._n_masses))
