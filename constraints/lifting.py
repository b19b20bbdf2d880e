"""The nonlinear program of one part in sparse form (`LiftedProgram`): aggregates, rows, implicit equalities."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any, Generic, TypeVar

import numpy as np
from scipy import sparse

from maxent.constraints.presolve.merge import Merged, Part, Totals, by_constraint, spans_of
from maxent.constraints.presolve.parts import (
    FIXED,
    PartView,
    add_up,
    independent_rows,
    linear_rows,
    part_rows,
    possible,
    tighten,
)
from maxent.constraints.program.impurity import PHI_OF
from maxent.constraints.program.impurity_numpy import PHI
from maxent.constraints.program.program import Internal, NoiseLoss, Program
from maxent.constraints.program.residuals import InternalRows, phi_sum
from maxent.models.arrays import INVERTIBLE, BoolArray, FloatArray, IntArray, ranges, run_ends
from maxent.models.errors import Origin

# The nonlinear program of one part, lifted so that every derivative is sparse.
#
# Variables are the free masses of the part's groups, then *aggregates*: sums of masses that the impurities look at,
# each with a linear row that defines it. An internal constraint is then ``sum_t coef_t phi(z[var_t], w_t) + const >=
# 0``, separable over variables, and the Hessian of the Lagrangian is diagonal; only where private attributes leave the
# size of a branch open is ``w_t`` a variable, too.


@dataclass(frozen=True, slots=True, eq=False)
class LiftedTerms:
    """The terms ``coef * phi(z[var], w)`` of all nonlinear rows with one phi (``gini`` or ``entropy``).

    ``size`` is the constant w in individuals; where ``size_var >= 0`` that variable stands in its place. Terms of equal
    ``block`` are the classes of the same set of groups, and have the same row factors and size.
    """

    phi: str
    row: IntArray
    var: IntArray
    coef: FloatArray
    size: FloatArray
    size_var: IntArray
    block: IntArray


def tangents(phi: str, a: FloatArray, w: FloatArray, sized: BoolArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The tangents of ``phi(a, w)`` at some points: slopes by a and by w (0 unless ``sized``), constants.

    Both phi are convex in both arguments together, so that nowhere a tangent lies above them.
    """
    by_a, by_w = PHI[phi].d_a(a, w), np.where(sized, PHI[phi].d_w(a, w), 0.0)
    return by_a, by_w, PHI[phi].value(a, w) - by_a * a - by_w * w


@dataclass(frozen=True, eq=False)
class LiftedProgram:
    """Minimise ``sum_i z_i ln(z_i / mass_weight_i)`` over masses, the first ``n_masses`` variables.

    Where there are ``draws``, shape (n,), ``sum_i draws_i ln z_i`` over all variables is subtracted: the likelihood;
    where there is ``noise``, its loss of the variables ``noisy`` is added, both of the same length.

    Subject to ``lower <= z <= upper``, ``row_lower <= matrix z <= row_upper`` and, for every nonlinear row,
    ``sum of its terms + nl_const >= 0``. Masses are individuals; nonlinear rows are in impurity units (per
    individual), about ``nl_size`` individuals each. ``origins`` name the linear rows that are statements (None: totals
    of quasi-identifiers, definitions).

    Mass i is that of class ``klass[i]`` in group ``group[i]`` of the part, of the pooled quasi-identifier ``owner[i]``,
    whose free masses add up to ``total[owner[i]]``: the linear rows of the quasi-identifiers, once more. The last
    `n_aggregates` linear rows define the aggregates, each from masses and aggregates before it.
    """

    group: IntArray
    klass: IntArray
    owner: IntArray
    total: FloatArray
    mass_weight: FloatArray
    lower: FloatArray
    upper: FloatArray
    matrix: sparse.csr_matrix
    row_lower: FloatArray
    row_upper: FloatArray
    terms: tuple[LiftedTerms, ...]
    nl_const: FloatArray
    nl_size: FloatArray
    origins: tuple[Origin | None, ...]
    nl_origins: tuple[Origin, ...]
    draws: FloatArray | None = None
    noisy: IntArray | None = None
    noise: NoiseLoss | None = None

    @property
    def likely(self) -> bool:
        """Whether a likelihood stands beside the entropy."""
        return self.draws is not None or self.noise is not None

    @cached_property
    def n(self) -> int:
        return len(self.lower)

    @cached_property
    def n_masses(self) -> int:
        return len(self.mass_weight)

    @property
    def n_aggregates(self) -> int:
        return self.n - self.n_masses

    @cached_property
    def tilt(self) -> FloatArray | None:
        """Logarithms of the masses' weights, less those of their quasi-identifiers, shape (n_masses,).

        None where the objective is the entropy alone; see `maxent.solvers.solve.price`.
        """
        largest = np.zeros(len(self.total))
        np.maximum.at(largest, self.owner, self.mass_weight)
        whole = largest[self.owner]
        return None if (whole == self.mass_weight).all() else np.log(self.mass_weight / whole)

    @cached_property
    def convex_rows(self) -> BoolArray:
        """Mask of the convex nonlinear rows, shape (n_rows,): every phi that is not a constant is subtracted."""
        convex = np.ones(len(self.nl_const), bool)
        for terms in self.terms:
            convex[terms.row[terms.coef > 0]] = False
        return convex

    @cached_property
    def convex(self) -> bool:
        """Whether the program is convex: every nonlinear row is."""
        return bool(self.convex_rows.all())


# Removes the aggregates of a program: writes every variable as a sum of free masses.
#
# An aggregate is a sum of masses and of aggregates before it. So ``z = definitions z + shift``, repeated as often as
# aggregates are nested, leaves only free masses on the right.


@dataclass(frozen=True, eq=False)
class Elimination:
    """Variables in terms of the ``free`` ones, which have no definition and no shift.

    ``definitions``, shape (n, n), has rows for aggregates only, each with entries for variables before it. ``shift``,
    shape (n,), are the constants of these, and the values of variables that are fixed.
    """

    definitions: sparse.csr_matrix
    shift: FloatArray
    free: IntArray

    def point(self, masses: FloatArray) -> FloatArray:
        """Every variable, shape (n,), at some free masses."""
        start = self.shift.copy()
        start[self.free] = masses
        return _accumulated(self.definitions, start)

    def sums(self, values: FloatArray) -> FloatArray:
        """Sums of values of the free masses in every variable, without constants, shape (n,)."""
        start = np.zeros(len(self.shift))
        start[self.free] = values
        return _accumulated(self.definitions, start)

    def spread(self, values: FloatArray) -> FloatArray:
        """Values of all variables, shape (n,), at each free mass: the sum over the variables it is in."""
        return _accumulated(self.definitions.T, values)[self.free]

    def over_free(self, matrix: sparse.csr_matrix) -> tuple[sparse.csr_matrix, FloatArray]:
        """Linear expressions in all variables, one per row, as expressions in the free masses and constants."""
        over, constant = self.variables
        found = (matrix @ over).tocsr()
        found.eliminate_zeros()
        found.sort_indices()
        return found, matrix @ constant

    @cached_property
    def variables(self) -> tuple[sparse.csr_matrix, FloatArray]:
        """Every variable as an expression in the free masses, shape (n, n_free), and its constant."""
        constant, more = self.shift, self.definitions
        n, n_free = len(constant), len(self.free)
        ends = np.zeros(n + 1, np.int32)
        ends[self.free + 1] = 1
        at = np.arange(n_free, dtype=np.int32), np.cumsum(ends, dtype=np.int32)
        found = sparse.csr_matrix((np.ones(n_free), *at), shape=(n, n_free))
        while more.nnz:
            found, constant = found + more[:, self.free], constant + more @ self.shift
            more = more @ self.definitions
            more.eliminate_zeros()
        return found, constant


def eliminate(program: LiftedProgram, fixed: BoolArray) -> tuple[Elimination, IntArray]:
    """The elimination of a program's aggregates, and the rows that define them; ``fixed`` variables have their value.

    The shift of an aggregate without a definition is NaN, and so becomes the constant of whatever refers to it.
    """
    n, n_masses, matrix = program.n, program.n_masses, program.matrix
    known = np.where(fixed, program.lower, 0.0)
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    some = np.flatnonzero(~fixed[matrix.indices] & (matrix.data != 0))
    some = some[np.lexsort((matrix.indices[some], row[some]))]
    row, column, value = row[some], matrix.indices[some], matrix.data[some]
    begin = np.searchsorted(row, np.arange(matrix.shape[0] + 1))
    filled = np.flatnonzero(np.diff(begin))
    last = np.full(matrix.shape[0], -1)
    last[filled] = column[begin[filled + 1] - 1]
    equations = np.flatnonzero((last >= n_masses) & (program.row_lower == program.row_upper))
    aggregates, first = np.unique(last[equations], return_index=True)
    defining = equations[first]
    factor = value[begin[defining + 1] - 1]
    count = np.diff(begin)[defining] - 1
    others = ranges(begin[defining], begin[defining] + count)
    ends = np.zeros(n + 1, np.int64)
    ends[aggregates + 1] = count
    definitions = sparse.csr_matrix(
        (-(np.repeat(1 / factor, count) * value[others]), column[others], np.cumsum(ends)), shape=(n, n)
    )
    shift = np.where(fixed | (np.arange(n) < n_masses), known, np.nan)
    shift[aggregates] = (program.row_lower - matrix @ known)[defining] / factor
    return Elimination(definitions, shift, np.flatnonzero(~fixed[:n_masses])), defining


def passive_chain(jacobian: sparse.csr_matrix | FloatArray, passive: BoolArray) -> list[tuple[IntArray, IntArray]]:
    """Rows and columns that can be solved for one by one, in the order in which they follow from each other.

    Without them a large system is sparse, as most comparisons are not active.
    """
    row, column = jacobian.nonzero()
    chain: list[tuple[IntArray, IntArray]] = []
    here = np.ones(len(row), bool)
    while True:
        single = passive & (np.bincount(column[here], minlength=len(passive)) == 1)
        at = np.flatnonzero(here & single[column])
        rows, first = np.unique(row[at], return_index=True)
        if not len(rows):
            return chain
        chain.append((rows, column[at[first]]))
        here &= ~np.isin(row, rows)


def _accumulated(matrix: sparse.spmatrix, start: FloatArray) -> FloatArray:
    """The sum of ``start``, ``matrix @ start``, ``matrix @ matrix @ start``, ..., which ends where nesting does."""
    found, more = start, matrix @ start
    while more.any():
        found, more = found + more, matrix @ more
    return found


# Aggregates: the sums of masses in the impurities. Each is defined once, from smaller aggregates if possible.


@dataclass(frozen=True, slots=True, eq=False)
class LiftedBlock:
    """The masses of a set of groups, per class: a variable ``var[x]`` (-1: none) or a constant ``const[x]``."""

    var: IntArray
    const: FloatArray
    size: float | None
    size_var: int = -1


@dataclass(frozen=True, slots=True, eq=False)
class WantedSums:
    """A set of groups (increasing numbers) to make a block of."""

    groups: IntArray
    rest: IntArray
    pieces: Sequence[LiftedBlock] = ()


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
        self._blocks: dict[bytes, LiftedBlock] = {}
        self._totals: dict[bytes, FloatArray] = {}
        self._columns: list[IntArray] = []
        self._lengths: list[IntArray] = []
        self._const: list[FloatArray] = []

    def learn(self, groups: IntArray, totals: FloatArray) -> None:
        """Take note of the masses per class of some groups that statements fix, NaN elsewhere, before they are used."""
        known = self._totals.setdefault(groups.tobytes(), totals)
        self._totals[groups.tobytes()] = np.where(np.isnan(known), totals, known)

    def blocks(self, wanted: Sequence[WantedSums]) -> list[LiftedBlock]:
        """The blocks of some sets of groups; a new one may use the blocks that exist already."""
        keys = [want.groups.tobytes() for want in wanted]
        new = {key: want for key, want in zip(keys, wanted, strict=True) if key not in self._blocks}
        if new:
            self._blocks.update(zip(new, self._define(list(new.values())), strict=True))
        return [self._blocks[key] for key in keys]

    def _define(self, wanted: list[WantedSums]) -> list[LiftedBlock]:
        """New blocks: per class a constant, a variable that exists already, or a new sum."""
        parts = self._parts(wanted)
        sizes = [self._size(want.groups) for want in wanted]
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
        return [LiftedBlock(*block) for block in zip(var, const, sizes, size_var.tolist(), strict=True)]

    def _size(self, groups: IntArray) -> float | None:
        """The individuals in some groups, by the table or by class totals that statements fix; None where unknown."""
        size, totals = self._view.size(groups), self._totals.get(groups.tobytes())
        return float(totals.sum()) if size is None and totals is not None and not np.isnan(totals).any() else size

    def _parts(self, wanted: list[WantedSums]) -> _Parts:
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

    def _constants(self, wanted: list[WantedSums], parts: _Parts, unsized: BoolArray) -> tuple[FloatArray, BoolArray]:
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


# The active internal constraints of a part as separable nonlinear rows over aggregates.

ByCode = dict[int, LiftedBlock]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class LiftedComparisons:
    """Rows ``sum of terms + const >= 0``, impurity units; ``size`` are the individuals of each row's node."""

    terms: tuple[LiftedTerms, ...]
    const: FloatArray
    size: FloatArray
    origins: tuple[Origin, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _LiftedRow:
    """A comparison before it is laid out: ``E_U - E_T`` is the sum of factor times phi over blocks."""

    constraint: Internal
    people: float
    factors: tuple[tuple[LiftedBlock, float], ...]


@dataclass(slots=True)
class _Finished(Generic[T]):
    """Finished nodes, by their spans of one tree: of nested ones the largest only."""

    low: list[int] = field(default_factory=list)
    high: list[int] = field(default_factory=list)
    what: list[T] = field(default_factory=list)

    def _inside(self, low: int, high: int) -> slice:
        return slice(bisect_left(self.low, low), bisect_left(self.low, high))

    def within(self, low: int, high: int) -> Iterator[tuple[int, int, T]]:
        """Start, end and known masses of the nodes inside a span."""
        some = self._inside(low, high)
        yield from zip(self.low[some], self.high[some], self.what[some], strict=True)

    def add(self, low: int, high: int, what: T) -> None:
        some = self._inside(low, high)
        self.low[some], self.high[some], self.what[some] = [low], [high], [what]


class _Node:
    """The groups of a place of a tree, increasing, and which of them finished nodes cover."""

    def __init__(self, view: PartView, tree: int, place: int, low: int, high: int) -> None:
        self.tree, self.place, self.low, self.high = tree, place, low, high
        groups = view.trees[tree].order[low:high]
        self._view, self._position = view, np.argsort(groups, kind="stable")
        self.groups = groups[self._position]

    @cached_property
    def branches(self) -> list[_Node]:
        """The branches that groups take."""
        children = self._view.program.cells.trees[self.tree].places.children[self.place]
        return [child for child in _nodes(self._view, self.tree, children) if child.low < child.high]

    def rest(self, spans: Iterable[tuple[int, int]]) -> BoolArray:
        """Mask of the groups outside some spans, shape (n_groups,)."""
        outside = np.ones(len(self.groups), bool)
        for low, high in spans:
            outside[low - self.low : high - self.low] = False
        result: BoolArray = outside[self._position]
        return result


def _nodes(view: PartView, tree: int, places: Sequence[int]) -> list[_Node]:
    """Places of one tree with their groups."""
    low, high = (ends.tolist() for ends in view.trees[tree].spans(np.array(places, np.int64)))
    return [_Node(view, tree, *node) for node in zip(places, low, high, strict=True)]


class _Lifter:
    """Cuts nodes into blocks, smaller nodes first, so that the blocks of a node are sums of blocks inside it."""

    def __init__(self, view: PartView, aggregates: Aggregates, check: Callable[[], None]) -> None:
        self.view, self.aggregates, self.check = view, aggregates, check
        self._whole: dict[int, _Finished[list[LiftedBlock]]] = {}
        self._by_code: dict[tuple[int, int], _Finished[ByCode]] = {}

    def rows(self, node: _Node, constraints: list[tuple[Internal, IntArray]]) -> Iterator[_LiftedRow]:
        """The constraint rows of one node, and the offsets of the active rows."""
        people = self.view.people(node.groups)
        chosen = self._chosen(node)
        cut: dict[int, ByCode] = {}
        for constraint, offsets in constraints:
            self.check()
            if constraint.form == "values":
                cut[constraint.column] = self._values(node, constraint.column)
                candidates = [list(cut[constraint.column].values())]
            elif constraint.form == "cuts":
                candidates = self._cuts(node, constraint.column, np.sort(constraint.codes[offsets]))
            else:
                candidates = self._each(node, constraint.column, constraint.codes[offsets])
            for candidate in candidates:
                yield _LiftedRow(constraint, people, self._factors(constraint, node, people, chosen, candidate))
        for column, by_code in cut.items():
            self._by_code.setdefault((node.tree, column), _Finished()).add(node.low, node.high, by_code)
        if cut:
            whole = list(cut[min(cut)].values())
            self._whole.setdefault(node.tree, _Finished()).add(node.low, node.high, whole)

    def _chosen(self, node: _Node) -> list[LiftedBlock]:
        """The blocks of the chosen split: the branches of the node."""
        finished = self._whole.setdefault(node.tree, _Finished())
        wanted = []
        for child in node.branches:
            found = list(finished.within(child.low, child.high))
            rest = child.groups[child.rest((low, high) for low, high, _ in found)]
            wanted.append(WantedSums(child.groups, rest, list(chain.from_iterable(what for _, _, what in found))))
        return self.aggregates.blocks(wanted)

    def _values(self, node: _Node, column: int) -> ByCode:
        """A block per value of an attribute."""
        found = list(self._by_code.setdefault((node.tree, column), _Finished()).within(node.low, node.high))
        outside = node.rest((low, high) for low, high, _ in found)
        wanted = {}
        for code, inside in _by_label(self.view.codes(node.groups, column)):
            pieces = [what[code] for _, _, what in found if code in what]
            groups = node.groups[inside]
            wanted[code] = WantedSums(groups, groups[outside[inside]] if found else groups, pieces)
        return dict(zip(wanted, self.aggregates.blocks(list(wanted.values())), strict=True))

    def _cuts(self, node: _Node, column: int, cuts: IntArray) -> list[list[LiftedBlock]]:
        """Two blocks per cut, up to it and above it, each the sum of the next smaller one and the groups between."""
        between = np.searchsorted(cuts, self.view.codes(node.groups, column))
        left: list[LiftedBlock] = []
        for i in range(len(cuts)):
            new = node.groups[between == i]
            left += self.aggregates.blocks([WantedSums(node.groups[between <= i], new, left[-1:])])
        right: list[LiftedBlock] = []
        for i in range(len(cuts), 0, -1):
            new = node.groups[between == i]
            right += self.aggregates.blocks([WantedSums(node.groups[between >= i], new, right[-1:])])
        return [list(sides) for sides in zip(left, reversed(right), strict=True)]

    def _each(self, node: _Node, column: int, values: IntArray) -> list[list[LiftedBlock]]:
        """Two blocks per value, those who have it and the others: the sum of those who have another one."""
        codes = self.view.codes(node.groups, column)
        having = [node.groups[codes == value] for value in values.tolist()]
        one = self.aggregates.blocks([WantedSums(groups, groups) for groups in having])
        unnamed = node.groups[~np.isin(codes, values)]
        others = self.aggregates.blocks(
            [
                WantedSums(node.groups[codes != value], unnamed, one[:i] + one[i + 1 :])
                for i, value in enumerate(values.tolist())
            ]
        )
        return [list(sides) for sides in zip(one, others, strict=True)]

    def _factors(
        self, constraint: Internal, node: _Node, people: float, chosen: list[LiftedBlock], candidate: list[LiftedBlock]
    ) -> tuple[tuple[LiftedBlock, float], ...]:
        """The blocks of a row with their factors; blocks common to both sides cancel."""
        if constraint.measure == "gain_ratio":
            split_t, split_u = _split_information(chosen, people), _split_information(candidate, people)
            (whole,) = self.aggregates.blocks([WantedSums(node.groups, node.groups[:0], chosen)])
            factors = [(b, 1 / (people * split_t)) for b in chosen]
            factors += [(b, -1 / (people * split_u)) for b in candidate]
            factors.append((whole, (1 / split_u - 1 / split_t) / people))
        else:
            factors = [(b, 1 / people) for b in chosen] + [(b, -1 / people) for b in candidate]
        total: dict[LiftedBlock, float] = {}
        for block, factor in factors:
            total[block] = total.get(block, 0.0) + factor
        return tuple((block, factor) for block, factor in total.items() if abs(factor) > 1e-15)


def lift_comparisons(
    view: PartView,
    rows: InternalRows,
    totals: tuple[Totals, ...] | None,
    aggregates: Aggregates,
    check: Callable[[], None],
) -> LiftedComparisons:
    """Nonlinear rows for the active internal rows of a part."""
    by_node: dict[tuple[int, int], list[tuple[Internal, IntArray]]] = {}
    for k, offsets in by_constraint(rows, view.part.internal):
        constraint = view.program.internal[k]
        by_node.setdefault((constraint.tree, constraint.place), []).append((constraint, offsets))
    places = (_nodes(view, t, [place for tree, place in by_node if tree == t]) for t in range(len(view.trees)))
    nodes = sorted(chain.from_iterable(places), key=lambda node: len(node.groups))
    if totals is not None:
        for about in chain.from_iterable((node, *node.branches) for node in nodes):
            aggregates.learn(about.groups, totals[about.tree].own[about.place])
    lifter = _Lifter(view, aggregates, check)
    found = list(chain.from_iterable(lifter.rows(node, by_node[node.tree, node.place]) for node in nodes))
    return _laid_out([row for row in found if any((block.var >= 0).any() for block, _ in row.factors)])


def _by_label(label: IntArray) -> Iterator[tuple[int, IntArray]]:
    """Every label with the places, increasing, that have it."""
    order = np.argsort(label, kind="stable")
    sorted_label = label[order]
    starts = np.flatnonzero(np.diff(sorted_label, prepend=-1))
    for start, stop in zip(starts, [*starts[1:], len(label)], strict=True):
        yield int(sorted_label[start]), order[start:stop]


def _split_information(blocks: list[LiftedBlock], n: float) -> float:
    """Entropy of the sizes of a split's branches, nats."""
    share = np.array([block.size for block in blocks], np.float64) / n
    return float(-(share * np.log(share)).sum())


def _laid_out(rows: Sequence[_LiftedRow]) -> LiftedComparisons:
    """Rows as arrays: a term per row, block and class with a variable mass; known masses go to the constant."""
    number: dict[LiftedBlock, int] = {}
    row_of = np.repeat(np.arange(len(rows)), np.array([len(row.factors) for row in rows], np.int64))
    block_of = np.array([number.setdefault(block, len(number)) for row in rows for block, _ in row.factors], np.int64)
    blocks = list(number)
    factor = np.array([factor for row in rows for _, factor in row.factors], np.float64)
    const = np.zeros(len(rows))
    terms = []
    for phi in dict.fromkeys(PHI_OF[row.constraint.measure] for row in rows):
        of_phi = np.array([PHI_OF[row.constraint.measure] == phi for row in rows])
        mine = np.flatnonzero(of_phi[row_of])
        var = np.stack([block.var for block in blocks])
        size = np.array([0.0 if block.size is None else block.size for block in blocks])
        size_var = np.array([block.size_var for block in blocks])
        still = np.stack([np.where(block.var < 0, block.const, 0.0) for block in blocks])
        const += np.bincount(row_of[mine], factor[mine] * phi_sum(phi, still, size)[block_of[mine]], len(rows))
        pair, klass = np.nonzero(var[block_of[mine]] >= 0)
        pair = mine[pair]
        at = block_of[pair]
        terms.append(LiftedTerms(phi, row_of[pair], var[at, klass], factor[pair], size[at], size_var[at], at))
    people = np.array([row.people for row in rows])
    return LiftedComparisons(tuple(terms), const, people, tuple(row.constraint.origin for row in rows))


# Sums of masses that stand in logarithms of the objective: classes in places with counted draws.


def likely_sums(
    view: PartView, aggregates: Aggregates
) -> tuple[IntArray, FloatArray, IntArray, NoiseLoss | None] | None:
    """Variables and how often each was drawn, shapes (n,), and those with noise; None where there is no likelihood."""
    likely, mine = view.program.likelihood, view.part.likely
    if likely is None or not len(mine):
        return None
    places = list(zip(likely.tree[mine].tolist(), likely.place[mine].tolist(), strict=True))
    spans = zip(*(found.tolist() for found in spans_of(view.trees, places)), strict=True)
    groups = [view.trees[tree].at(low, high) for tree, low, high in spans]
    blocks = aggregates.blocks([WantedSums(some, some) for some in groups])
    var = np.array([block.var for block in blocks], np.int64)
    drawn = likely.draws[mine]
    used, noise = (var >= 0) & (drawn > 0), likely.noise
    if noise is None:
        return var[used], drawn[used], np.empty(0, np.int64), None
    noise = noise[mine]
    open_ = (var >= 0) & ~np.isnan(noise.published)
    return var[used], drawn[used], var[open_], noise[open_]


@dataclass(frozen=True, slots=True, eq=False)
class LiftedPart:
    """A part's program with the way back to the masses of its groups."""

    program: LiftedProgram
    known: FloatArray  # (n_groups, n_classes): values of the fixed masses, 0 elsewhere
    elimination: Elimination  # of the aggregates

    def masses(self, z: FloatArray) -> FloatArray:
        """Masses of the part's groups, shape (n_groups, n_classes), from a point of the program."""
        out = self.known.copy()
        out[self.program.group, self.program.klass] = z[: self.program.n_masses]
        return out

    def point(self, masses: FloatArray) -> FloatArray:
        """The point of the program with the given masses of groups, shape (n,)."""
        n = self.program.n_masses
        at = self.program.group, self.program.klass
        free = np.clip(masses[at], self.program.lower[:n], self.program.upper[:n])
        return self.elimination.point(free)


def lift(
    program: Program,
    merged: Merged,
    part: Part,
    rows: InternalRows,
    totals: tuple[Totals, ...],
    *,
    trusting: bool = True,
    check: Callable[[], None] = lambda: None,
) -> LiftedPart:
    """The program of one part, and the way back.

    Masses that statements fix become constants, unless ``trusting`` is False or bounds show a contradiction: then every
    statement stays a row that can give way.
    """
    check()
    view = PartView(program, merged, part)
    statements = part_rows(view)
    if trusting:
        tighten(view, statements)
        trusting = possible(view, statements)
    if not trusting:
        view = PartView(program, merged, part)
    check()
    fixed = view.upper - view.lower <= FIXED * view.weight[:, None]
    known = np.where(fixed, 0.5 * (view.lower + view.upper), 0.0)
    group, klass = np.nonzero(~fixed)
    index = np.full(fixed.shape, -1, np.int64)
    index[group, klass] = np.arange(len(group))
    linear = linear_rows(view, statements, fixed, known, index, trusting=trusting, check=check)
    aggregates = Aggregates(view, known, index)
    comparisons = lift_comparisons(view, rows, totals if trusting else None, aggregates, check)
    likely = likely_sums(view, aggregates)
    elimination = aggregates.finish()
    definitions, constants = elimination.definitions[len(group) :], elimination.shift[len(group) :]
    lifted = LiftedProgram(
        group=group,
        klass=klass,
        owner=view.owner[group],
        total=view.owner_weight - add_up(view.owner, known.sum(axis=1), len(view.owner_weight)),
        mass_weight=view.weight[group],
        lower=np.concatenate([view.lower[group, klass], np.zeros(len(constants))]),
        upper=elimination.point(view.upper[group, klass]),
        matrix=_with_definitions(linear.matrix, definitions),
        row_lower=np.concatenate([linear.lower, constants]),
        row_upper=np.concatenate([linear.upper, constants]),
        terms=comparisons.terms,
        nl_const=comparisons.const,
        nl_size=comparisons.size,
        origins=(*linear.origins, *(None for _ in constants)),
        nl_origins=comparisons.origins,
        draws=None if likely is None else add_up(*likely[:2], len(elimination.shift)),
        noisy=None if likely is None else likely[2],
        noise=None if likely is None else likely[3],
    )
    return LiftedPart(lifted, known, elimination)


def _with_definitions(matrix: sparse.csr_matrix, definitions: sparse.csr_matrix) -> sparse.csr_matrix:
    """The rows over masses, then the rows ``aggregate - its terms = constant``."""
    n_aggregates, n = definitions.shape
    last = definitions.indptr[1:]  # an aggregate is numbered after all its terms
    data = np.concatenate([matrix.data, np.insert(-definitions.data, last, 1.0)])
    indices = np.concatenate([matrix.indices, np.insert(definitions.indices, last, np.arange(n - n_aggregates, n))])
    ends = len(matrix.data) + last + np.arange(1, n_aggregates + 1)
    result = sparse.csr_matrix(
        (data, indices, np.concatenate([matrix.indptr, ends])), shape=(len(ends) + matrix.shape[0], n)
    )
    result.sort_indices()
    return result


# Finds inequalities that always hold with equality, so that the linear statements have no interior.
#
# Labels and counts together may admit a single value of some mass. An interior-point method needs a point where every
# inequality is strict, so such rows and bounds are turned into equations first. One linear program finds them all
# (Freund, Roundy & Todd, "Identifying the set of always-active constraints in a system of linear inequalities by a
# single linear program", MIT Sloan working paper 1674-85, 1985).

# Statuses of SciPy's linear programs. Trouble includes "infeasible or unbounded", and nothing here is unbounded.
SOLVED, INFEASIBLE, TROUBLE = 0, 2, 4


@dataclass(frozen=True, slots=True, eq=False)
class Restricted:
    """A program with explicit implicit equalities, and a point that satisfies its linear rows, perhaps alone."""

    program: LiftedProgram
    point: FloatArray
    single: bool
    changed: bool
    possible: bool = True


def restrict(program: LiftedProgram, seconds: float | None = None) -> Restricted | None:
    """Make implicit equalities explicit; None when nothing is known after so many seconds.

    It maximises the number of inequalities with slack: those without any at the optimum hold with equality everywhere.
    """
    equal = program.row_lower == program.row_upper
    below = np.flatnonzero(~equal & np.isfinite(program.row_upper))
    above = np.flatnonzero(~equal & np.isfinite(program.row_lower))
    high = np.flatnonzero(np.isfinite(program.upper))
    n, found = program.n, _with_most_slack(program, np.flatnonzero(equal), below, above, high, seconds)
    if found.status == INFEASIBLE or (found.status == TROUBLE and "infeasible" in found.message.lower()):
        return Restricted(program, np.zeros(n), single=False, changed=False, possible=False)
    if found.status != SOLVED:
        return None
    point = np.clip(found.x[:n] / found.x[n], program.lower, program.upper)
    of_below, of_above, of_lower, of_high = np.split(found.x[n + 1 :] < 0.5, np.cumsum([len(below), len(above), n]))
    tight, fixed = np.zeros(len(equal), bool), of_lower.copy()
    tight[below[of_below]] = tight[above[of_above]] = fixed[high[of_high]] = True
    return _explicit(program, point, tight, fixed)


def _with_most_slack(
    program: LiftedProgram, equal: IntArray, below: IntArray, above: IntArray, high: IntArray, seconds: float | None
) -> Any:
    """SciPy's answer to the linear program: m, t, and s."""
    # ``equal`` are the equations. The slack s is that of the rows ``below`` their upper side, of those ``above`` their
    # lower side, of all lower bounds and of the variables with a ``high`` one.
    from scipy.optimize import linprog

    n, eye = program.n, sparse.identity(program.n, format="csr")
    left = sparse.vstack([program.matrix[below], -program.matrix[above], -eye, eye[high]], format="csr")
    right = np.concatenate([program.row_upper[below], -program.row_lower[above], -program.lower, program.upper[high]])
    n_slack = len(right)
    value = program.row_lower[equal][:, None]
    return linprog(
        np.concatenate([np.zeros(n + 1), -np.ones(n_slack)]),
        A_ub=sparse.hstack([left, -right[:, None], sparse.identity(n_slack)], format="csr"),
        b_ub=np.zeros(n_slack),
        A_eq=sparse.hstack([program.matrix[equal], -value, sparse.csr_matrix((len(equal), n_slack))], format="csr"),
        b_eq=np.zeros(len(equal)),
        bounds=[(None, None)] * n + [(1.0, None)] + [(0.0, 1.0)] * n_slack,
        method="highs",
        options={"time_limit": seconds},
    )


def _explicit(program: LiftedProgram, point: FloatArray, tight: BoolArray, fixed: BoolArray) -> Restricted:
    """The program with the ``tight`` rows as equations and the ``fixed`` variables as constants, as at a point."""
    value = program.matrix @ point
    lower = np.where(tight, value, program.row_lower)
    upper = np.where(tight, value, program.row_upper)
    free = sparse.csr_matrix(program.matrix @ sparse.diags((~fixed).astype(np.float64)))
    free.eliminate_zeros()
    moved = program.matrix @ np.where(fixed, point, 0.0)
    keep = independent_rows(free, lower - moved, upper - moved)
    keep = keep[np.diff(free.indptr)[keep] > 0]
    restricted = replace(
        program,
        lower=np.where(fixed, point, program.lower),
        upper=np.where(fixed, point, program.upper),
        matrix=program.matrix[keep],
        row_lower=lower[keep],
        row_upper=upper[keep],
        origins=tuple(program.origins[i] for i in keep),
    )
    changed = bool(tight.any() or fixed.any() or len(keep) < len(tight))
    return Restricted(restricted, point, bool(fixed.all()), changed)


# Split comparisons that only one point of a line satisfies: they are 0 there and negative elsewhere.
#
# Where linear rows leave one direction, a comparison with the largest value 0 leaves one point of it. Its gradient
# vanishes there, so that solvers with a tolerance end anywhere within the square root of it. So the point is found
# first.

# Free masses up to which a program is looked at.
FEW = 12
# Points of a line at which comparisons are looked at, and how often again between the neighbours of the best one.
POINTS, REFINED = 1001, 5
# What a comparison that touches 0 may come out above it, as a share of its terms.
ROUNDING = 1e-13
# How far from the point, as a share of the line, a comparison is below minus the second, impurity units.
APART, NEGATIVE = 1e-2, 1e-9
# Singular values below this share of the largest one are none.
RANK = 1e-9


def single_point(program: LiftedProgram) -> FloatArray | None:
    """The only point that a comparison admits, shape (n,), where linear rows leave a line; else None."""
    fixed = program.lower >= program.upper
    n_free = int((~fixed[: program.n_masses]).sum())
    sized = any((terms.size_var >= 0).any() for terms in program.terms)
    if not program.terms or not 1 < n_free <= FEW or program.likely or sized:
        return None
    line = _line(program)
    if line is None:
        return None
    start, way = line
    share = np.linspace(0.0, 1.0, POINTS)
    values, size = _comparisons(program, start, way, share)
    best = values.argmax(axis=0)
    highest = values[best, np.arange(values.shape[1])]
    away = np.abs(share[:, None] - share[best]) > APART
    elsewhere = np.where(away, values, -np.inf).max(axis=0)
    touching = np.flatnonzero((elsewhere < -NEGATIVE) & (highest > -NEGATIVE) & (highest <= ROUNDING * size))
    for k in touching.tolist():
        at, most = _refined(program, start, way, share, int(best[k]), k)
        if most <= ROUNDING * size[k]:
            return start + at * way
    return None


def _refined(
    program: LiftedProgram, start: FloatArray, way: FloatArray, share: FloatArray, best: int, k: int
) -> tuple[float, float]:
    """Where a comparison is largest, between the neighbours of the best of some points, and how large."""
    for _ in range(REFINED):
        share = np.linspace(share[max(best - 1, 0)], share[min(best + 1, len(share) - 1)], POINTS)
        value = _comparisons(program, start, way, share)[0][:, k]
        # Of points that rounding makes alike the one in their middle, or the line's end.
        alike = np.flatnonzero(value >= value.max() - np.finfo(float).eps)
        at_end = [i for i in (alike[0], alike[-1]) if share[i] in (0.0, 1.0)]
        best = int(at_end[0] if at_end else alike[len(alike) // 2])
    return float(share[best]), float(value[best])


def _line(program: LiftedProgram) -> tuple[FloatArray, FloatArray] | None:
    """One end of the line of points that meet the linear rows, and the way to the other; None where it is none."""
    elimination, _ = eliminate(program, program.lower >= program.upper)
    if np.isnan(elimination.shift).any():
        return None
    matrix, moved = elimination.over_free(program.matrix)
    dense, low, high = matrix.toarray(), program.row_lower - moved, program.row_upper - moved
    equal = program.row_lower == program.row_upper
    _, size, across = np.linalg.svd(dense[equal])
    rank = int((size > RANK * size.max(initial=1.0)).sum())
    if rank != dense.shape[1] - 1:
        return None
    way, some = across[-1], elimination.free
    at = np.linalg.lstsq(dense[equal], low[equal], rcond=RANK)[0]
    rows = np.vstack([dense[~equal], np.eye(len(way))])
    least = np.concatenate([low[~equal], program.lower[some]]) - rows @ at
    most = np.concatenate([high[~equal], program.upper[some]]) - rows @ at
    slope = rows @ way
    along = np.abs(slope) > RANK
    ends = np.sort(np.array([least[along] / slope[along], most[along] / slope[along]]), axis=0)
    first, last = float(ends[0].max(initial=-np.inf)), float(ends[1].min(initial=np.inf))
    if not first < last or not np.isfinite(last - first):
        return None
    from_there = elimination.point(np.maximum(at + first * way, program.lower[some]))
    return from_there, elimination.point(np.maximum(at + last * way, program.lower[some])) - from_there


def _comparisons(
    program: LiftedProgram, start: FloatArray, way: FloatArray, share: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Values of the nonlinear rows at shares of the way, shape (n_shares, n_rows), and how large their terms are."""
    values = np.tile(program.nl_const, (len(share), 1))
    size = np.abs(program.nl_const)
    for terms in program.terms:
        a = np.maximum(start[terms.var] + share[:, None] * way[terms.var], INVERTIBLE)
        each = terms.coef * PHI[terms.phi].value(a, terms.size)
        np.add.at(values.T, terms.row, each.T)
        size = size + np.bincount(terms.row, np.abs(each).max(axis=0), len(size))
    return values, size
