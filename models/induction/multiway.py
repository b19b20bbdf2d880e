"""Greedy trees with a branch per value, and cuts of numbers: the common part of ID3 and C4.5.

A tree grows level by level: all nodes of a level are split together, so that the work per level is a few passes over
the records however many nodes there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import BoolArray, FloatArray, IntArray
from maxent.models.induction.split_scores import TIE, above_average
from maxent.models.release import Attribute, Branch, Impurity
from maxent.models.tables.training import Training
from maxent.models.trees.draft import Draft, depth_first


@dataclass(frozen=True, slots=True)
class GrowthRules:
    """Rules for the candidates of a split.

    ``two_suffice``: two branches with ``least`` records are enough; ``above_average``: attributes compete only when
    they gain as much as their competitors on average.
    """

    measure: Impurity
    max_depth: int | None
    min_samples_split: int
    least: int
    two_suffice: bool = False
    above_average: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class _GrowthColumn:
    """An attribute as codes, shape (n_records,), of its values: a domain, or all numbers that occur, increasing."""

    attribute: Attribute
    codes: IntArray
    values: Sequence[Any] | FloatArray

    @property
    def numeric(self) -> bool:
        return self.attribute.values is None


@dataclass(frozen=True, slots=True, eq=False)
class _GrowthLevel:
    """The nodes of a level, with their counts and unused attributes, and their records."""

    draft: IntArray
    counts: IntArray
    unused: BoolArray
    rows: IntArray
    y: IntArray
    node: IntArray

    @property
    def size(self) -> IntArray:
        """Records of each node, shape (n_nodes,)."""
        return np.asarray(self.counts.sum(axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class _Split:
    """Every node of a level split by one attribute; a score of -inf: it does not compete."""

    gain: FloatArray
    score: FloatArray
    width: IntArray
    branch: IntArray
    branches: Callable[[int], tuple[Branch, ...]]


def grow(training: Training, rules: GrowthRules) -> list[Draft]:
    """Grow a tree, in depth-first order.

    Equal splits go to the first attribute, and to the smallest cut; values that do not occur in a node share one empty
    leaf.
    """
    columns = [_column(a, column) for a, column in zip(training.attributes, training.columns, strict=True)]
    counts = np.bincount(training.y, minlength=len(training.target.classes))
    drafts = [Draft(counts, int(counts.argmax()))]
    rows, unused = np.arange(len(training)), np.ones((1, len(columns)), bool)
    level = _GrowthLevel(np.zeros(1, np.int64), counts[None], unused, rows, training.y, np.zeros_like(rows))
    for _ in count() if rules.max_depth is None else range(rules.max_depth):
        level = _worth_splitting(rules, level)
        if not len(level.draft):
            break
        splits = [
            _by_cut(rules, level, column) if column.numeric else _by_value(rules, level, column, level.unused[:, a])
            for a, column in enumerate(columns)
        ]
        level = _below(level, _chosen(rules, splits), columns, splits, drafts)
    return depth_first(drafts)


def _column(attribute: Attribute, column: npt.NDArray[Any]) -> _GrowthColumn:
    if attribute.values is not None:
        return _GrowthColumn(attribute, column, attribute.values)
    levels, codes = np.unique(column, return_inverse=True)
    return _GrowthColumn(attribute, codes, levels)


def _worth_splitting(rules: GrowthRules, level: _GrowthLevel) -> _GrowthLevel:
    """The nodes that have enough records, of several classes."""
    nodes = np.flatnonzero((level.size >= rules.min_samples_split) & (np.count_nonzero(level.counts, axis=1) > 1))
    number = np.full(len(level.draft), -1, np.int64)
    number[nodes] = np.arange(len(nodes))
    node = number[level.node]
    keep = node >= 0
    unused = level.unused[nodes]
    return _GrowthLevel(level.draft[nodes], level.counts[nodes], unused, level.rows[keep], level.y[keep], node[keep])


@dataclass(frozen=True, slots=True, eq=False)
class _Blocks:
    """The records of each node by the value of an attribute: a block for each value present, by node and code."""

    node: IntArray
    code: IntArray
    counts: IntArray
    size: IntArray
    first: IntArray
    of: IntArray


def _blocks(level: _GrowthLevel, column: _GrowthColumn) -> _Blocks:
    n_values = len(column.values)
    key = level.node * n_values + column.codes[level.rows]
    if len(level.draft) * n_values > 4 * len(key):
        found, of = np.unique(key, return_inverse=True)
    else:  # marking is faster than sorting
        present = np.zeros(len(level.draft) * n_values, bool)
        present[key] = True
        found, of = np.flatnonzero(present), (np.cumsum(present) - 1)[key]
    node, code = np.divmod(found, n_values)
    counts = _table(of, level.y, len(found), level.counts.shape[1])
    return _Blocks(node, code, counts, counts.sum(axis=1), np.searchsorted(node, np.arange(len(level.draft))), of)


def _by_value(rules: GrowthRules, level: _GrowthLevel, column: _GrowthColumn, unused: BoolArray) -> _Split:
    """A branch for each value that is present in a node."""
    blocks = _blocks(level, column)
    width = np.diff(blocks.first, append=len(blocks.code))
    large = np.add.reduceat((blocks.size >= rules.least).astype(np.int64), blocks.first)
    competes = unused & (width > 1) & (large >= (2 if rules.two_suffice else width))
    purity = np.add.reduceat(_purity(rules, blocks.counts, blocks.size), blocks.first)
    spread = np.add.reduceat(_xlogx(blocks.size), blocks.first)
    gain, score = _judged(rules, level, np.arange(len(width)), purity, spread)

    def branches(at: int) -> tuple[Branch, ...]:
        present = blocks.code[blocks.first[at] : blocks.first[at] + width[at]].tolist()
        here = set(present)
        absent = tuple(value for code, value in enumerate(column.values) if code not in here)
        return (
            *(Branch(None, (column.values[code],)) for code in present),
            *([Branch(None, absent)] if absent else []),
        )

    return _Split(gain, np.where(competes, score, -np.inf), width, blocks.of - blocks.first[level.node], branches)


def _by_cut(rules: GrowthRules, level: _GrowthLevel, column: _GrowthColumn) -> _Split:
    """The best cut of a number in each node, at most against above it."""
    blocks, n_nodes = _blocks(level, column), len(level.draft)
    up_to = np.cumsum(blocks.counts, axis=0)
    left = up_to - (up_to - blocks.counts)[blocks.first][blocks.node]
    right = level.counts[blocks.node] - left
    n_left, n_right = left.sum(axis=1), right.sum(axis=1)
    cuts = np.flatnonzero((n_left >= rules.least) & (n_right >= rules.least))
    node = blocks.node[cuts]
    purity = _purity(rules, left[cuts], n_left[cuts]) + _purity(rules, right[cuts], n_right[cuts])
    gain, score = _judged(rules, level, node, purity, _xlogx(n_left[cuts]) + _xlogx(n_right[cuts]))
    wanted = gain if rules.above_average else score
    best = np.full(n_nodes, -np.inf)
    np.maximum.at(best, node, wanted)
    equal = np.flatnonzero(wanted >= best[node] - TIE)
    nodes, first = np.unique(node[equal], return_index=True)
    chosen = equal[first]
    gains, scores, below = np.zeros(n_nodes), np.full(n_nodes, -np.inf), np.zeros(n_nodes, np.int64)
    gains[nodes], scores[nodes], below[nodes] = gain[chosen], score[chosen], cuts[chosen]

    def branches(at: int) -> tuple[Branch, ...]:
        low, high = blocks.code[below[at]], blocks.code[below[at] + 1]
        middle = column.values[low] / 2 + column.values[high] / 2
        # Quinlan's threshold is a number that occurs: the largest of all records' up to the middle.
        cut = float(column.values[min(np.searchsorted(column.values, middle, side="right"), high) - 1])
        return Branch(None, le=cut), Branch(None, gt=cut)

    branch = (blocks.of > below[level.node]).astype(np.int64)
    return _Split(gains, scores, np.full(n_nodes, 2), branch, branches)


def _judged(
    rules: GrowthRules, level: _GrowthLevel, node: IntArray, purity: FloatArray, spread: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Gain and score of splits of some nodes, from sums of `_purity` and `_xlogx` over their branches."""
    size = level.size[node]
    gain = (purity - _purity(rules, level.counts, level.size)[node]) / size
    if rules.measure != "gain_ratio":
        return gain, gain
    information = (_xlogx(size) - spread) / size
    return gain, np.divide(gain, information, out=np.full(len(gain), -np.inf), where=information > TIE)


def _chosen(rules: GrowthRules, splits: Sequence[_Split]) -> IntArray:
    """The attribute that splits each node best, -1 where none gains; shape (n_nodes,)."""
    gain, score = np.stack([s.gain for s in splits]), np.stack([s.score for s in splits])
    if rules.above_average:
        score = above_average(np.where(score > -np.inf, gain, -np.inf), score)
    best = score.max(axis=0)
    chosen = np.argmax(score >= best - TIE, axis=0)
    gains = gain[chosen, np.arange(len(chosen))]
    return np.where((best > -np.inf) & (gains > TIE), chosen, -1)


def _below(
    level: _GrowthLevel,
    chosen: IntArray,
    columns: Sequence[_GrowthColumn],
    splits: Sequence[_Split],
    drafts: list[Draft],
) -> _GrowthLevel:
    """The next level, whose nodes are added to the drafts; ``chosen`` (n_nodes,) is what splits each node."""
    width, branch = np.zeros_like(chosen), np.zeros_like(level.node)
    for a, split in enumerate(splits):
        nodes, records = chosen == a, chosen[level.node] == a
        width[nodes], branch[records] = split.width[nodes], split.branch[records]
    start = np.cumsum(width) - width
    keep = chosen[level.node] >= 0
    node = (start[level.node] + branch)[keep]
    counts = _table(node, level.y[keep], int(width.sum()), level.counts.shape[1])
    labels = counts.argmax(axis=1)
    position = np.empty(len(counts), np.int64)
    for at in np.flatnonzero(chosen >= 0).tolist():
        parent = drafts[level.draft[at]]
        parent.attribute, parent.branches = columns[chosen[at]].attribute.name, splits[chosen[at]].branches(at)
        parent.children = list(range(len(drafts), len(drafts) + len(parent.branches)))
        children = slice(start[at], start[at] + width[at])
        position[children] = parent.children[: width[at]]
        drafts += [Draft(c, label) for c, label in zip(counts[children], labels[children].tolist(), strict=True)]
        if len(parent.branches) > width[at]:
            drafts.append(Draft(np.zeros_like(parent.counts), parent.label))
    parents = np.repeat(np.arange(len(chosen)), width)
    unused = level.unused[parents]
    unused[np.arange(len(parents)), chosen[parents]] = False
    return _GrowthLevel(position, counts, unused, level.rows[keep], level.y[keep], node)


def _table(block: IntArray, y: IntArray, n_blocks: int, n_classes: int) -> IntArray:
    """Records of each block and class, shape (n_blocks, n_classes)."""
    return np.bincount(block * n_classes + y, minlength=n_blocks * n_classes).reshape(n_blocks, n_classes)


def _purity(rules: GrowthRules, counts: IntArray, size: IntArray) -> FloatArray:
    """Purity that adds up over branches: minus the impurity times the records, without gini's constant; (n_blocks,)."""
    if rules.measure == "gini":
        return np.asarray((counts**2).sum(axis=1) / size)
    return np.asarray(_xlogx(counts).sum(axis=1) - _xlogx(size))


def _xlogx(counts: IntArray) -> FloatArray:
    """Values of x ln x of whole numbers, 0 at 0."""
    return np.asarray(counts * np.log(np.maximum(counts, 1)))
