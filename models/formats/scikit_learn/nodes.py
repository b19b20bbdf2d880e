"""Nodes of a release from fitted trees of scikit-learn: order, tests, categories, and counts or scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import overload

import numpy as np

from maxent.models.arguments import shorten
from maxent.models.arrays import BoolArray, FloatArray, IntArray, run_ends
from maxent.models.columns import NOTHING, Columns, Statements, Tests
from maxent.models.errors import InvalidInput, Problem
from maxent.models.formats.scikit_learn.columns import Feature
from maxent.models.formats.scikit_learn.ensemble import Ensemble, Member, Splits
from maxent.models.nodes import Nodes
from maxent.models.release import Attribute, Boosting
from maxent.models.trees.draft import Publish

# The nodes of a fitted tree in depth-first order, in which a release has and names them.


class Ids(Sequence[str]):
    """N1, N2... of inner nodes and L1, L2... of leaves, each made when it is asked for; by default counted apart."""

    __slots__ = ("_leaf", "_number")

    def __init__(self, leaf: BoolArray, number: IntArray | None = None) -> None:
        self._leaf = leaf
        self._number = np.where(leaf, np.cumsum(leaf), np.cumsum(~leaf)) if number is None else number

    def __len__(self) -> int:
        return len(self._leaf)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> Ids: ...

    def __getitem__(self, index: int | slice) -> str | Ids:
        if isinstance(index, slice):
            return Ids(self._leaf[index], self._number[index])
        return f"{'L' if self._leaf[index] else 'N'}{self._number[index]}"


@dataclass(frozen=True, slots=True, eq=False)
class DepthFirst:
    """The order of the nodes of a tree of two branches each.

    ``order`` of shape (n_nodes,): the number that the tool has for each node. ``inner``, ``right`` of shape (n_inner,):
    positions of inner nodes, increasing, and of their second children; the first ones come right after their nodes.
    """

    order: IntArray
    inner: IntArray
    right: IntArray

    def __len__(self) -> int:
        return len(self.order)

    @property
    def ids(self) -> Ids:
        """The name of each node."""
        leaf = np.ones(len(self), bool)
        leaf[self.inner] = False
        return Ids(leaf)


def depth_first(left: IntArray, right: IntArray) -> DepthFirst:
    """The order of a tree whose leaves have negative children; the first node is its root."""
    low, high = left.tolist(), right.tolist()
    order: list[int] = []
    stack = [0]
    while stack:
        at = stack.pop()
        order.append(at)
        if low[at] >= 0:
            stack += (high[at], low[at])
    found = np.array(order, np.int64)
    position = np.empty(len(left), np.int64)
    position[found] = np.arange(len(found))
    inner = np.flatnonzero(left[found] >= 0)
    return DepthFirst(found, inner, position[right[found[inner]]])


# The values of a categorical attribute that reach the branches of each node, as sets of bits.

Sides = list[tuple[int, int]]  # the values that the two branches of nodes take; none of a branch that no value reaches


def ends_of(size: int, inner: Sequence[int], right: Sequence[int]) -> list[int]:
    """The position after the last node below each, of ``size`` nodes in depth-first order; shape (n_nodes,)."""
    end = [size] * size
    for at, second in zip(inner, right, strict=True):
        end[at + 1], end[second] = second, end[at]
    return end


def reached(
    everything: int, nodes: Iterable[int], right: Iterable[int], chosen: Iterable[int], end: Sequence[int]
) -> Sides:
    """What each branch takes of the values that reach its node, as bits, after tests of the attribute above."""
    found: Sides = []
    above: list[tuple[int, int, int, int]] = []
    for at, second, bits in zip(nodes, right, chosen, strict=True):
        while above and above[-1][0] <= at:
            above.pop()
        here = everything
        if above:
            _, turn, low, high = above[-1]
            here = low if at < turn else high
        found.append((here & bits, here & ~bits))
        above.append((end[at], second, *found[-1]))
    return found


class TakenBranch:
    """The values of the branches of all nodes, in their order, as `maxent.models.columns.Columns` has them."""

    def __init__(self, n_inner: int) -> None:
        self._n = 2 * n_inner
        self._held: list[IntArray] = []

    def take(self, rows: IntArray, sides: Sides) -> None:
        """State what the branches of some of the inner nodes take."""
        if not self._held:
            self._held = [np.zeros(0, np.int64)] * self._n
        made: dict[int, IntArray] = {}
        for row, pair in zip(rows.tolist(), sides, strict=True):
            for side, bits in enumerate(pair):
                if bits not in made:
                    made[bits] = np.array(positions(bits), np.int64)
                self._held[2 * row + side] = made[bits]

    def arrays(self) -> tuple[IntArray, IntArray]:
        """``value_ends`` and ``values``."""
        if not self._held:
            return np.zeros(self._n + 1, np.int64), np.zeros(0, np.int64)
        lengths = np.fromiter(map(len, self._held), np.int64, self._n)
        return run_ends(lengths), np.concatenate(self._held)


def positions(bits: int) -> list[int]:
    """The bits that are set, increasing."""
    return [i for i, bit in enumerate(reversed(f"{bits:b}")) if bit == "1"]


# Tests of a fitted tree in the attributes and values of people.


def tests_of(source: str, splits: Splits, order: DepthFirst, coding: Sequence[Feature], names: Sequence[str]) -> Tests:
    """The tests of the inner nodes of a tree of two branches each, by what each column of the input means."""
    at = order.order[order.inner]
    tested, threshold, to_left = splits.feature[at], splits.threshold[at], splits.missing_left[at]
    index = {name: j for j, name in enumerate(names)}
    of = np.array([index[feature.attribute] for feature in coding], np.int64)
    attribute = of[tested]
    numeric = np.array([feature.values is None for feature in coding], bool)[tested]
    gaps = np.array([feature.missing for feature in coding], bool)[tested]
    bounded = numeric & np.isfinite(threshold)
    alone = numeric & (threshold == math.inf) & gaps & ~to_left
    le, gt = np.full((len(at), 2), np.nan), np.full((len(at), 2), np.nan)
    le[bounded, 0] = gt[bounded, 1] = threshold[bounded]
    missing = np.full((len(at), 2), NOTHING)
    missing[bounded & gaps, np.where(to_left, 0, 1)[bounded & gaps]] = 1
    missing[alone] = 0, 1
    problems: dict[str, tuple[int, Problem]] = {}
    for row in np.flatnonzero(numeric & ~bounded & ~alone).tolist():
        name = coding[tested[row]].name
        expected = "a finite threshold, or an infinite one that missing values are above"
        problem = Problem(f"model, node {at[row]}", name, expected, f"{threshold[row]}")
        problems.setdefault(name, (row, problem))
    taken = TakenBranch(len(at))
    if not numeric.all():
        end = ends_of(len(order), order.inner.tolist(), order.right.tolist())
        for j in np.unique(attribute[~numeric]).tolist():
            rows = np.flatnonzero(attribute == j)
            _take(rows, splits, order, coding, names[j], end, taken, problems)
    if problems:
        raise InvalidInput(source, [problem for _, problem in sorted(problems.values(), key=lambda each: each[0])])
    return Tests(attribute, le.ravel(), gt.ravel(), missing.ravel(), *taken.arrays())


def _take(
    rows: IntArray,
    splits: Splits,
    order: DepthFirst,
    coding: Sequence[Feature],
    name: str,
    end: Sequence[int],
    taken: TakenBranch,
    problems: dict[str, tuple[int, Problem]],
) -> None:
    """What the branches of all nodes take that test a categorical attribute."""
    domain = next(feature.domain or () for feature in reversed(coding) if feature.attribute == name)
    bit = {value: 1 << i for i, value in enumerate(domain)}
    nodes, right = order.inner[rows], order.right[rows]
    at = order.order[nodes]
    tested = splits.feature[at].tolist()
    features = [coding[i] for i in tested]
    made: dict[tuple[object, ...], int] = {}
    chosen = []
    for node, column, feature in zip(at.tolist(), tested, features, strict=True):
        threshold, to_left = float(splits.threshold[node]), bool(splits.missing_left[node])
        codes = splits.codes.get(node)
        key = (column, to_left, threshold if codes is None else codes)  # several columns may have one name
        if key not in made or threshold != threshold:
            made[key] = sum(bit.get(value, 0) for value in _chosen(feature, threshold, to_left, codes))
        chosen.append(made[key])
    sides = reached((1 << len(domain)) - 1, nodes.tolist(), right.tolist(), chosen, end)
    lacking = False
    for row, (low, high), feature, node in zip(rows.tolist(), sides, features, at.tolist(), strict=True):
        if (low and high) or (lacking and not low and not high):  # no value reaches what is below a problem
            continue
        lacking = True
        problems.setdefault(feature.name, (row, _one_sided(feature, float(splits.threshold[node]), node)))
    taken.take(rows, sides)


def _chosen(feature: Feature, threshold: float, to_left: bool, codes: frozenset[int] | None) -> set[str]:
    """The values that a test sends to the left, of all."""
    assert feature.values is not None
    if codes is not None:
        chosen = {feature.values[code] for code in codes if code < len(feature.values)}
    elif math.isnan(threshold):
        chosen = set()
    else:
        chosen = set(feature.split(max(-1.0, min(threshold, len(feature.values))))[0])
    return chosen | {*feature.others} if to_left else chosen


def _one_sided(feature: Feature, threshold: float, node: int) -> Problem:
    assert feature.values is not None
    expected = (
        f"codes 0 to {len(feature.values) - 1} of {shorten(list(feature.values))}"
        if feature.indicates is None
        else f"0 or 1, with exactly one 1 among the indicators of {shorten(feature.attribute)}"
    )
    found = f"a split at {threshold:g} that leaves a side without values"
    return Problem(f"model, node {node}", feature.name, expected, found)


def bare(
    source: str,
    splits: Splits,
    coding: Sequence[Feature],
    attributes: Sequence[Attribute],
    classes: Sequence[str],
) -> tuple[Columns, DepthFirst]:
    """The nodes of a fitted tree in depth-first order, without anything that they state."""
    order = depth_first(splits.left, splits.right)
    tests = tests_of(source, splits, order, coding, [attribute.name for attribute in attributes])
    n = len(order)
    attribute, n_branches = np.full(n, NOTHING), np.zeros(n, np.int64)
    attribute[order.inner], n_branches[order.inner] = tests.attribute, 2
    return Columns(
        tuple(attributes),
        dict.fromkeys(classes, 0),
        order.ids,
        attribute,
        run_ends(n_branches),
        np.column_stack([order.inner + 1, order.right]).ravel(),
        tests.le,
        tests.gt,
        tests.missing,
        tests.value_ends,
        tests.values,
        np.full(n, np.nan),
        stated(n),
    ), order


def stated(
    size: int, *, label: IntArray | None = None, rate: FloatArray | None = None, n: IntArray | None = None
) -> Statements:
    """Statements of nodes without counts, none where they are not given."""
    none = np.full(size, NOTHING)
    return Statements(
        none if label is None else label,
        np.full(size, np.nan) if rate is None else rate,
        none if n is None else n,
        none,
        np.zeros(size, bool),
        np.zeros(size + 1, np.int64),
        np.zeros(0, np.int64),
        np.zeros(0, np.int64),
    )


def nodes_of(
    member: Member,
    coding: Sequence[Feature],
    attributes: Sequence[Attribute],
    classes: Sequence[str],
    publish: Publish,
    *,
    inner_counts: bool,
    draws: bool,
) -> Nodes:
    """The nodes of a tree, in the attributes of ``coding``, which has the columns that the tree was given."""
    nodes, order = bare("from_sklearn", member.splits, coding, attributes, classes)
    leaf = nodes.attribute == NOTHING
    counts = None
    if member.counts is not None:
        counts = np.zeros((len(nodes), len(classes)), np.int64)
        counts[:, member.classes] = member.counts[order.order]
    sizes = None if member.rows is None else member.rows[order.order]
    if member.values is None:
        assert counts is not None
        return Nodes(
            replace(nodes, statements=_counting(counts, sizes if draws else None, leaf, publish, inner_counts))
        )
    sized = np.zeros(len(leaf), bool) if publish == "labels" else leaf | inner_counts
    said = stated(len(leaf))
    if counts is not None:
        known = sized & (counts >= 0).all(axis=1)
        said = _counted(said, counts, known, publish == "counts")
        said = said if sizes is None or draws else replace(said, n=np.where(sized, sizes, NOTHING))
        said = replace(said, distinct=np.where(sized, sizes, NOTHING)) if draws and sizes is not None else said
    elif sizes is not None and not draws:
        said = replace(said, n=np.where(sized, sizes, NOTHING))
    values = np.where(leaf[:, None], member.values[order.order], np.nan)
    if values.shape[1] == 1:
        return Nodes(replace(nodes, value=values[:, 0], statements=said))
    scores = np.full((len(leaf), len(classes)), np.nan)
    scores[:, member.classes] = values
    return Nodes(replace(nodes, scores=scores, statements=said))


def _counting(
    counts: IntArray, distinct: IntArray | None, leaf: BoolArray, publish: Publish, inner_counts: bool
) -> Statements:
    """Statements of nodes whose counts are known, as `maxent.models.trees.draft.freeze` makes them."""
    size, total, best = len(leaf), counts.sum(axis=1), counts.argmax(axis=1)
    said = stated(size, label=np.where(leaf, best, NOTHING))
    whole = leaf & (publish == "counts") | ~leaf & inner_counts
    said = _counted(said, counts, whole, True)
    if distinct is not None:
        said = replace(said, distinct=np.where(whole, distinct, NOTHING))
    if publish == "rates":
        missed = total - counts[np.arange(size), best]
        rate = np.where(leaf & (total > 0), missed / np.maximum(total, 1), np.nan)
        said = replace(said, rate=rate, n=np.where(leaf | whole, total, NOTHING))
    return said


def _counted(said: Statements, counts: IntArray, sized: BoolArray, by_class: bool) -> Statements:
    """Statements with the sizes of some nodes, and how many of each class they have."""
    said = replace(said, n=np.where(sized, counts.sum(axis=1), NOTHING))
    if not by_class:
        return said
    above = sized[:, None] & (counts > 0)
    return replace(
        said,
        counted=sized,
        count_ends=run_ends(above.sum(axis=1)),
        count_class=np.nonzero(above)[1],
        count=counts[above],
    )


def boosting_of(ensemble: Ensemble, classes: Sequence[str]) -> Boosting | None:
    """The rule of an ensemble, whose first scores are by class where they are several."""
    if ensemble.boosting is None or ensemble.base is None:
        return ensemble.boosting
    base = ensemble.base.tolist()
    rule = replace(ensemble.boosting, base=base[0] if len(base) == 1 else dict(zip(classes, base, strict=True)))
    if ensemble.weights is None:
        return rule
    return replace(rule, weights=dict(zip(classes, ensemble.weights.tolist(), strict=True)))
