"""The active internal constraints of a part as separable nonlinear rows over aggregates."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Generic, TypeVar

import numpy as np

from maxent.constraints.impurity import PHI_OF
from maxent.constraints.lifting.aggregates import Aggregates, Block, Wanted
from maxent.constraints.lifting.lifted_program import Terms
from maxent.constraints.presolve.merge import Totals
from maxent.constraints.presolve.part_view import PartView
from maxent.constraints.presolve.signatures import by_constraint
from maxent.constraints.program import Internal
from maxent.constraints.residuals import InternalRows, phi_sum
from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.errors import Origin

ByCode = dict[int, Block]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Comparisons:
    """Rows ``sum of terms + const >= 0``, impurity units; ``size`` are the individuals of each row's node."""

    terms: tuple[Terms, ...]
    const: FloatArray
    size: FloatArray
    origins: tuple[Origin, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Row:
    """A comparison before it is laid out: ``E_U - E_T`` is the sum of factor times phi over blocks."""

    constraint: Internal
    people: float
    factors: tuple[tuple[Block, float], ...]


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
        self._whole: dict[int, _Finished[list[Block]]] = {}
        self._by_code: dict[tuple[int, int], _Finished[ByCode]] = {}

    def rows(self, node: _Node, constraints: list[tuple[Internal, IntArray]]) -> Iterator[_Row]:
        """The rows of the constraints about one node, with the offsets of those that are active."""
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
                yield _Row(constraint, people, self._factors(constraint, node, people, chosen, candidate))
        for column, by_code in cut.items():
            self._by_code.setdefault((node.tree, column), _Finished()).add(node.low, node.high, by_code)
        if cut:
            whole = list(cut[min(cut)].values())
            self._whole.setdefault(node.tree, _Finished()).add(node.low, node.high, whole)

    def _chosen(self, node: _Node) -> list[Block]:
        """The blocks of the chosen split: the branches of the node."""
        finished = self._whole.setdefault(node.tree, _Finished())
        wanted = []
        for child in node.branches:
            found = list(finished.within(child.low, child.high))
            rest = child.groups[child.rest((low, high) for low, high, _ in found)]
            wanted.append(Wanted(child.groups, rest, list(chain.from_iterable(what for _, _, what in found))))
        return self.aggregates.blocks(wanted)

    def _values(self, node: _Node, column: int) -> ByCode:
        """A block per value of an attribute."""
        found = list(self._by_code.setdefault((node.tree, column), _Finished()).within(node.low, node.high))
        outside = node.rest((low, high) for low, high, _ in found)
        wanted = {}
        for code, inside in _by_label(self.view.codes(node.groups, column)):
            pieces = [what[code] for _, _, what in found if code in what]
            groups = node.groups[inside]
            wanted[code] = Wanted(groups, groups[outside[inside]] if found else groups, pieces)
        return dict(zip(wanted, self.aggregates.blocks(list(wanted.values())), strict=True))

    def _cuts(self, node: _Node, column: int, cuts: IntArray) -> list[list[Block]]:
        """Two blocks per cut, up to it and above it, each the sum of the next smaller one and the groups between."""
        between = np.searchsorted(cuts, self.view.codes(node.groups, column))
        left: list[Block] = []
        for i in range(len(cuts)):
            new = node.groups[between == i]
            left += self.aggregates.blocks([Wanted(node.groups[between <= i], new, left[-1:])])
        right: list[Block] = []
        for i in range(len(cuts), 0, -1):
            new = node.groups[between == i]
            right += self.aggregates.blocks([Wanted(node.groups[between >= i], new, right[-1:])])
        return [list(sides) for sides in zip(left, reversed(right), strict=True)]

    def _each(self, node: _Node, column: int, values: IntArray) -> list[list[Block]]:
        """Two blocks per value, those who have it and the others: the sum of those who have another one."""
        codes = self.view.codes(node.groups, column)
        having = [node.groups[codes == value] for value in values.tolist()]
        one = self.aggregates.blocks([Wanted(groups, groups) for groups in having])
        unnamed = node.groups[~np.isin(codes, values)]
        others = self.aggregates.blocks(
            [
                Wanted(node.groups[codes != value], unnamed, one[:i] + one[i + 1 :])
                for i, value in enumerate(values.tolist())
            ]
        )
        return [list(sides) for sides in zip(one, others, strict=True)]

    def _factors(
        self, constraint: Internal, node: _Node, people: float, chosen: list[Block], candidate: list[Block]
    ) -> tuple[tuple[Block, float], ...]:
        """The blocks of a row with their factors; blocks common to both sides cancel."""
        if constraint.measure == "gain_ratio":
            split_t, split_u = _split_information(chosen, people), _split_information(candidate, people)
            (whole,) = self.aggregates.blocks([Wanted(node.groups, node.groups[:0], chosen)])
            factors = [(b, 1 / (people * split_t)) for b in chosen]
            factors += [(b, -1 / (people * split_u)) for b in candidate]
            factors.append((whole, (1 / split_u - 1 / split_t) / people))
        else:
            factors = [(b, 1 / people) for b in chosen] + [(b, -1 / people) for b in candidate]
        total: dict[Block, float] = {}
        for block, factor in factors:
            total[block] = total.get(block, 0.0) + factor
        return tuple((block, factor) for block, factor in total.items() if abs(factor) > 1e-15)


def lift_comparisons(
    view: PartView,
    rows: InternalRows,
    totals: tuple[Totals, ...] | None,
    aggregates: Aggregates,
    check: Callable[[], None],
) -> Comparisons:
    """Nonlinear rows for the active internal rows of a part.

    ``totals`` are class totals of places that statements fix; None to look at masses alone.
    """
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


def _split_information(blocks: list[Block], n: float) -> float:
    """Entropy of the sizes of a split's branches, nats."""
    share = np.array([block.size for block in blocks], np.float64) / n
    return float(-(share * np.log(share)).sum())


def _laid_out(rows: Sequence[_Row]) -> Comparisons:
    """Rows as arrays: a term per row, block and class with a variable mass; known masses go to the constant."""
    number: dict[Block, int] = {}
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
        terms.append(Terms(phi, row_of[pair], var[at, klass], factor[pair], size[at], size_var[at], at))
    people = np.array([row.people for row in rows])
    return Comparisons(tuple(terms), const, people, tuple(row.constraint.origin for row in rows))
