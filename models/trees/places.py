"""The places of a tree, numbered level by level and depth-first, and the route of each record to its final place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import inf, nextafter
from typing import Any

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import BoolArray, FloatArray, IntArray, ranges, run_ends
from maxent.models.columns import NOTHING, Tests
from maxent.models.nodes import Nodes, links_of, parts_of
from maxent.models.release import Attribute, Branch, Node, Tree


@dataclass(frozen=True, eq=False)
class Places:
    """The places of a tree, numbered: its nodes in the order of the release, then its removed leaves.

    ``parent``, ``branch``, shape (n_places,): the node above each place, and which of its branches leads there (from
    0); -1 for the root. ``n_branches``, shape (n_places,): how many places are below each; none of a leaf. ``below``,
    shape (n_places - 1,): the places below the first node, in the order of its branches, then those below the second,
    and so on. ``levels``: the places of each depth, the root's first. Those below one node are consecutive, in the
    order of its branches, and the nodes are in the order of their own level.
    """

    tree: Tree
    parent: IntArray
    branch: IntArray
    n_branches: IntArray
    below: IntArray
    levels: tuple[IntArray, ...]

    def __len__(self) -> int:
        return len(self.parent)

    @property
    def n_nodes(self) -> int:
        """Number of published places; the others are removed leaves."""
        return len(self.tree.nodes)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The places below each, one per branch; none of leaves and removed leaves."""
        below = self.below.tolist()
        ends = run_ends(self.n_branches).tolist()
        return tuple(tuple(below[start:stop]) for start, stop in pairwise(ends))

    @property
    def first(self) -> IntArray:
        """The leaves below place i have in depth-first order the ranks ``first[i] <= rank < last[i]``; (n_places,)."""
        return self._ranks[0]

    @property
    def last(self) -> IntArray:
        """See `first`."""
        return self._ranks[1]

    @cached_property
    def top_down(self) -> tuple[int, ...]:
        """All places in depth-first order, each before those below."""
        return tuple(np.argsort(self.number).tolist())

    @cached_property
    def number(self) -> IntArray:
        """How many places are before each in `top_down`, shape (n_places,)."""
        return self._in_order(np.ones(len(self), np.int64), own=True)[0]

    @property
    def leaves(self) -> IntArray:
        """Published and removed leaves, increasing."""
        return np.flatnonzero(self.n_branches == 0)

    @cached_property
    def whole(self) -> IntArray:
        """For each place the one that stands for the leaf of the tool that it is a part of, or itself; (n_places,)."""
        found, first = np.arange(len(self)), dict[str, int]()
        parts = parts_of(self.tree.nodes)
        for place, part in enumerate(parts):
            if part is not None and (part not in first or self.tree.nodes[place].id == part):
                first[part] = place
        for place, part in enumerate(parts):
            if part is not None:
                found[place] = first[part]
        return found

    @property
    def published(self) -> IntArray:
        """Published leaves, increasing."""
        return np.flatnonzero(self.n_branches[: self.n_nodes] == 0)

    def node(self, place: int) -> Node | None:
        """The node at a place, None for a removed leaf."""
        return self.tree.nodes[place] if place < self.n_nodes else None

    def path(self, place: int) -> list[tuple[str, Branch]]:
        """The attributes tested on the way from the root to a place, each with the branch taken."""
        steps = []
        while (above := int(self.parent[place])) >= 0:
            node = self.tree.nodes[above]
            steps.append((node.attribute or "", node.branches[int(self.branch[place])]))
            place = above
        return steps[::-1]

    @cached_property
    def _ranks(self) -> tuple[IntArray, IntArray]:
        """`first` and `last`."""
        before, amount = self._in_order((self.n_branches == 0).astype(np.int64))
        return before, before + amount

    def _in_order(self, amount: IntArray, *, own: bool = False) -> tuple[IntArray, IntArray]:
        """What comes before each place in depth-first order, without or with its own, and what each has with all below.

        ``amount``, shape (n_places,): of each place by itself.
        """
        total = amount.copy()
        for level in self.levels[:0:-1]:
            np.add.at(total, self.parent[level], total[level])
        before = np.zeros_like(total)
        for level in self.levels[1:]:
            above, so_far = self.parent[level], np.cumsum(total[level]) - total[level]
            eldest = np.maximum.accumulate(np.where(self.branch[level] == 0, np.arange(len(level)), 0))
            before[level] = before[above] + so_far - so_far[eldest] + (amount[above] if own else 0)
        return before, total


def number_places(tree: Tree) -> Places:
    """Number the places of a tree."""
    n_branches, below = links_of(tree.nodes)
    removed = np.flatnonzero(below == NOTHING)
    below = below.copy()
    below[removed] = np.arange(len(n_branches), len(n_branches) + len(removed))
    n_branches = np.concatenate([n_branches, np.zeros(len(removed), np.int64)])
    start = np.cumsum(n_branches) - n_branches
    parent, branch = np.full(len(n_branches), -1), np.full(len(n_branches), -1)
    owner = np.repeat(np.arange(len(n_branches)), n_branches)
    parent[below], branch[below] = owner, np.arange(len(below)) - start[owner]
    levels = [np.zeros(1, np.int64)]
    while len(level := below[ranges(start[levels[-1]], start[levels[-1]] + n_branches[levels[-1]])]):
        levels.append(level)
    return Places(tree, parent, branch, n_branches, below, tuple(levels))


# Routing of records in a tree: the values of its branches, and the final place of each record.

Interval = tuple[float, float]  # (gt, le]

EVERYWHERE: Interval = (-np.inf, np.inf)
NOWHERE: Interval = (np.inf, np.inf)


def interval_of(branch: Branch) -> Interval:
    """The numbers that a numeric branch takes, ``(gt, le]``; `NOWHERE` when it only takes missing ones."""
    if branch.missing and branch.gt is None and branch.le is None:
        return NOWHERE
    return (-np.inf if branch.gt is None else branch.gt, np.inf if branch.le is None else branch.le)


def tests_of(nodes: Sequence[Node], attributes: Sequence[Attribute]) -> Tests:
    """What nodes test: numbers of these attributes, and of their values."""
    if isinstance(nodes, Nodes) and _numbered_alike(nodes.columns.attributes, attributes):
        return nodes.columns.tests
    index = {attribute.name: j for j, attribute in enumerate(attributes)}
    code = [{value: i for i, value in enumerate(a.values or ())} for a in attributes]
    tested = [NOTHING if node.attribute is None else index[node.attribute] for node in nodes]
    branches = [(j, branch) for node, j in zip(nodes, tested, strict=True) for branch in node.branches]
    values = [[code[j][value] for value in branch.values or ()] for j, branch in branches]
    gt, le = np.array([interval_of(branch) for _, branch in branches], np.float64).reshape(-1, 2).T
    return Tests(
        np.array(tested, np.int64),
        le,
        gt,
        np.array([bool(branch.missing) for _, branch in branches], np.int64),
        run_ends(np.array([len(each) for each in values], np.int64)),
        np.array([value for each in values for value in each], np.int64),
    )


def _numbered_alike(own: Sequence[Attribute], others: Sequence[Attribute]) -> bool:
    """Whether attributes, and the values of each, have the same numbers among others; these may have more values."""
    return [a.name for a in own] == [a.name for a in others] and all(
        a.values is None or a.values == (b.values or ())[: len(a.values)] for a, b in zip(own, others, strict=True)
    )


def branch_of_code(
    attribute: Attribute, branches: tuple[Branch, ...], levels: Sequence[Any] | npt.NDArray[Any], codes: IntArray
) -> IntArray:
    """The branch that each code takes, -1 where none does; code -1 is no level, the last may be NaN, no number."""
    if attribute.type == "categorical":
        code = {value: i for i, value in enumerate(levels)}
        taken = np.full(len(levels) + 1, -1, np.int64)
        for i, branch in enumerate(branches):
            taken[[code[value] for value in branch.values or () if value in code]] = i
        return taken[codes]
    went = np.full(len(codes), -1, np.int64)
    for i, branch in enumerate(branches):
        low, high = np.searchsorted(levels, interval_of(branch), side="right")
        went[(codes >= low) & (codes < high)] = i
    if attribute.missing and len(levels) and np.isnan(levels[-1]):
        went[codes == len(levels) - 1] = missing_branch(branches)
    return went


def missing_branch(branches: tuple[Branch, ...]) -> int:
    """The branch that records without a number take, -1 when none does."""
    return next((i for i, branch in enumerate(branches) if branch.missing), -1)


def branch_of_number(branches: tuple[Branch, ...], numbers: FloatArray) -> IntArray:
    """The branch that each of some numbers takes, shape (n,), -1 where none does; NaN stands for a missing one."""
    went = np.full(len(numbers), -1, np.int64)
    for i, (low, high) in enumerate(map(interval_of, branches)):
        went[(numbers > low) & (numbers <= high)] = i
    if (missing := missing_branch(branches)) >= 0:
        went[np.isnan(numbers)] = missing
    return went


def branch_taken(attribute: Attribute, branches: tuple[Branch, ...], column: npt.NDArray[Any]) -> IntArray:
    """The branch that each of some records takes, -1 where none does; shape (n,), of a column as `assign` has it."""
    if attribute.values is None:
        return branch_of_number(branches, column)
    return branch_of_code(attribute, branches, attribute.values, column)


def divided(went: IntArray, n_branches: int) -> Iterator[IntArray]:
    """The positions of ``went`` that take each branch, one array per branch; those of -1 take none."""
    if n_branches < np.iinfo(np.int16).max:
        went = went.astype(np.int16)  # NumPy sorts short integers in linear time
    order = np.argsort(went, kind="stable")
    ends = np.cumsum(np.bincount(went + 1, minlength=n_branches + 1))
    for begin, end in pairwise(ends.tolist()):
        yield order[begin:end]


# Entries of a table of values by node, so that those of a level are made in several where they would be very many.
WIDEST = 1 << 25


@dataclass(frozen=True, slots=True, eq=False)
class Routes:
    """The tests of a tree over rows of numbers: a numeric branch takes ``low < number <= high``, a code its table's.

    ``column``, shape (n_places,): the row of the matrix that a place tests, -1 of a leaf. ``first``: its first branch.
    ``codes``: of a column of codes the code of each value of its attribute, -1 of none; None of numbers. ``lacking``:
    the number that stands for a missing one, by column. ``halved``, shape (n_places,): whether a place has two branches
    and every number takes one of them.
    """

    tests: Tests
    places: Places
    column: IntArray
    first: IntArray
    low: npt.NDArray[Any]
    high: npt.NDArray[Any]
    codes: Sequence[IntArray | None]
    sizes: IntArray
    lacking: npt.NDArray[Any]
    halved: BoolArray

    def __call__(self, matrix: npt.NDArray[Any]) -> IntArray:
        """The place where each row ends: a leaf, or the inner node of which no branch takes it; shape (n_rows,).

        ``matrix``, shape (n_columns, n_rows): what each column has in each row, codes and numbers.
        """
        n = matrix.shape[1]
        place, rows, flat = np.zeros(n, np.int64), np.arange(n), matrix.ravel()
        by_code = np.array([each is not None for each in self.codes], bool)
        coded = np.append(by_code, False)[self.column]
        for level in self.places.levels[:-1]:
            at = place[rows]
            tests = self.places.n_branches[at] > 0
            rows, at = rows[tests], at[tests]
            if not len(rows):
                break
            found = flat[self.column[at] * n + rows]
            went = np.full(len(rows), -1, np.int64)
            words = coded[at]
            if not words.all():
                some = slice(None) if not words.any() else np.flatnonzero(~words)
                went[some] = self._numbered(at[some], found[some])
            if words.any():
                inner = level[coded[level]]
                width = self.sizes[self.column[inner]]
                of = (np.cumsum(width) - width) // WIDEST
                for part in range(int(of[-1]) + 1):
                    base, table = self._table(inner[of == part])
                    here = np.flatnonzero(words & (base[at] >= 0))
                    went[here] = table[base[at[here]] + found[here].astype(np.int64)]
            goes = went >= 0
            if not goes.all():
                rows, at, went = rows[goes], at[goes], went[goes]
            place[rows] = self.places.below[self.first[at] + went]
        return place

    def _numbered(self, at: IntArray, found: npt.NDArray[Any]) -> IntArray:
        """The branch that each number takes at a place, -1 where none does."""
        if self.halved[at].all():
            return (found > self.high[self.first[at]]).astype(np.int64)
        went, first, many = np.full(len(at), -1, np.int64), self.first[at], self.places.n_branches[at]
        for i in range(int(many.max())):
            branch = first + i if (many > i).all() else np.where(many > i, first + i, first)
            went[(found > self.low[branch]) & (found <= self.high[branch]) & (many > i)] = i
        left = np.flatnonzero(went < 0)
        if len(left):
            lacking = self.lacking[self.column[at[left]]]
            left = left[(found[left] == lacking) | (np.isnan(found[left]) & np.isnan(lacking))]
            for i in range(int(many[left].max(initial=0)) - 1, -1, -1):
                has = left[many[left] > i]
                went[has[self.tests.missing[first[has] + i] == 1]] = i
        return went

    def _table(self, inner: IntArray) -> tuple[IntArray, IntArray]:
        """Where the codes of some nodes begin, -1 of others, (n_places,), and the branch of each code, -1 of none."""
        width = self.sizes[self.column[inner]] + 1  # the last is of a code of -1
        base = np.full(len(self.places), -1, np.int64)
        base[inner] = np.cumsum(width) - width
        table = np.full(int(width.sum()), -1, np.int64)
        branch = ranges(self.first[inner], self.first[inner] + self.places.n_branches[inner])
        owner = np.repeat(inner, self.places.n_branches[inner])
        many = self.tests.value_ends[branch + 1] - self.tests.value_ends[branch]
        value = self.tests.values[ranges(self.tests.value_ends[branch], self.tests.value_ends[branch + 1])]
        owner, number = np.repeat(owner, many), np.repeat(branch - self.first[owner], many)
        column, code = self.column[owner], np.empty(len(value), np.int64)
        for j in np.unique(column).tolist():
            of, mine = self.codes[j], column == j
            assert of is not None
            code[mine] = of[value[mine]]
        there = code >= 0
        table[base[owner[there]] + code[there]] = number[there]
        return base, table


def routes_of(
    tree: Tree, places: Places, attributes: Sequence[Attribute], levels: Sequence[Any] | None = None
) -> Routes:
    """The tests of a tree over rows of these attributes: codes of ``levels``, or without these numbers as they are.

    Codes of categorical attributes are then those of their domains, and a missing number is NaN.
    """
    tests = tests_of(tree.nodes, attributes)
    first = run_ends(places.n_branches)[:-1]
    column = np.full(len(places), -1, np.int64)
    column[: len(tests.attribute)] = tests.attribute
    low, high = np.where(np.isnan(tests.gt), -inf, tests.gt), np.where(np.isnan(tests.le), inf, tests.le)
    low[(tests.missing == 1) & (low == -inf) & (high == inf)] = inf  # only those without a number
    codes: list[IntArray | None] = [None if a.values is None else np.arange(len(a.values)) for a in attributes]
    sizes, lacking = [len(a.values or ()) for a in attributes], np.full(len(attributes), np.nan)
    if levels is not None:
        of_branch = np.repeat(column, places.n_branches)
        for j, (attribute, level) in enumerate(zip(attributes, levels, strict=True)):
            sizes[j] = len(level)
            lacking[j] = len(level) - 1 if attribute.missing and len(level) and level[-1] != level[-1] else -2
            if attribute.values is not None:
                number = {value: i for i, value in enumerate(level)}
                codes[j] = np.array([number.get(value, -1) for value in attribute.values], np.int64)
                continue
            mine = of_branch == j
            low[mine], high[mine] = (np.searchsorted(level, each[mine], side="right") - 1 for each in (low, high))
        low, high = (np.nan_to_num(each, posinf=0, neginf=0).astype(np.int32) for each in (low, high))
        lacking = lacking.astype(np.int32)
    width, halved = np.array(sizes, np.int64), np.zeros(len(places), bool)
    if levels is not None:
        two = np.flatnonzero((places.n_branches == 2) & (column >= 0))
        left, of = first[two], column[two]
        whole = (high[left] == low[left + 1]) & (low[left] == -1) & (high[left + 1] == width[of] - 1)
        halved[two] = whole & (width[of] > 0) & (lacking[of] == -2)
    return Routes(tests, places, column, first, low, high, codes, width, lacking, halved)


def assign(tree: Tree, attributes: Sequence[Attribute], columns: Sequence[npt.NDArray[Any]]) -> IntArray:
    """The place where each record ends: a leaf, a removed leaf, or the inner node whose test it has no value for.

    Columns are codes, -1 for a value outside of the domain, or numbers, NaN for a missing one.
    """
    n = len(columns[0]) if columns else 0
    places = number_places(tree)
    if len(places) == 1 or not n:
        return np.zeros(n, np.int64)
    return routes_of(tree, places, attributes)(np.array(columns, np.float64))


# Thresholds as tools compare with them, as the largest double that a branch ``le`` takes: routing stays the tool's.
#
# A release tests ``value <= le`` in double precision. Tools test ``<`` as well, and many round the value to single
# precision first; each such test holds exactly up to some double.

_LARGEST = float(np.finfo(np.float32).max)
_BEYOND = _LARGEST + 2.0**103  # the smallest number that is rounded to infinity


def less_than(threshold: float) -> float:
    """The largest double that is less than a threshold: ``x < threshold`` is ``x <= less_than(threshold)``."""
    return nextafter(threshold, -inf)


def single_at_most(threshold: float) -> float:
    """The largest double that, rounded to single precision, is at most a threshold."""
    return _up_to(_single_below(threshold, strictly=False))


def single_less_than(threshold: float) -> float:
    """The largest double that, rounded to single precision, is less than a threshold."""
    return _up_to(_single_below(threshold, strictly=True))


def _single_below(threshold: float, *, strictly: bool) -> float:
    """The largest number of single precision that is at most, or less than, a threshold; perhaps infinite."""
    near = np.float32(np.copysign(inf, threshold)) if abs(threshold) >= _BEYOND else np.float32(threshold)
    found = float(near)
    if found > threshold or (strictly and found == threshold):
        found = float(np.nextafter(near, np.float32(-inf)))
    return found


def _up_to(single: float) -> float:
    """The largest double that is rounded to a number of single precision, of two as near to the even one."""
    if single == inf:
        return inf
    if single == -inf:
        return -_BEYOND
    near = np.float32(single)
    if single == _LARGEST:
        return nextafter(_BEYOND, -inf)
    middle = single + (float(np.nextafter(near, np.float32(inf))) - single) / 2  # exact
    even = int(near.view(np.uint32)) % 2 == 0
    return middle if even else nextafter(middle, -inf)
