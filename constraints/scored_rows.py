"""Leaf values of boosted models as rows over patterns of people, where no table says who is in a leaf.

With the table a value gives a count (`maxent.constraints.kinds.boosted_leaves`). Without it the people are unknown, but
their scores before a tree are not: they follow from the leaves of the trees before, which a pattern has. So a leaf
states ``sum_c sum_x (a_c w_x - [x = k]) m_cx = -fixed`` over the patterns c that reach it, and its sum of second
derivatives ``sum_c p_c (1 - p_c) sum_x w_x m_cx``, with coefficients that rounding leaves known to some units of
``2^-22``. Each is two rows of whole numbers: with the least coefficients the sum is no larger than what is stated, with
the largest ones no smaller. The truth satisfies both, whoever it is.

Before the first round the probability is the same for everybody. There leaves state how many people they have, and how
many of the class: all later rows are about the division of these people by other trees.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from maxent.constraints.kinds.boosted_leaves import (
    FEW,
    PRINTED,
    VANISHED,
    TreeTerms,
    before_each_tree,
    unusable,
)
from maxent.constraints.program.cells import Cells
from maxent.models.arrays import FloatArray, IntArray
from maxent.models.release import Release

# Units to one person, in coefficients; fewer where sums of so many people would be beyond 64 bits.
UNIT, BITS = 24, 60


@dataclass(frozen=True, slots=True, eq=False)
class ScoredRow:
    """``least @ people[held] <= high`` and ``most @ people[held] >= low``; shapes (n_held,), in units."""

    tree: int
    place: int
    of: Literal["value", "hessian"]
    held: IntArray
    least: IntArray
    most: IntArray
    low: int
    high: int


def is_scored(release: Release) -> bool:
    """Whether values of leaves tell of the people who reach them."""
    boosting = release.boosting
    return boosting is not None and boosting.link != "share" and not unusable(release)


def _cells(leaf: IntArray) -> Cells:
    """Patterns as cells: of these only the leaves count for scores."""
    return Cells(np.arange(len(leaf)), leaf, ())


def scored_rows(release: Release, leaf: IntArray, klass: IntArray, people: int) -> Iterator[ScoredRow]:
    """The rows of all leaves of the first trees, of which ``leaf``, shape (n_patterns, n_trees), has the places."""
    boosting = release.boosting
    assert boosting is not None
    unit = 2.0 ** min(UNIT, BITS - 2 - math.ceil(math.log2(max(people, 1) * max(len(leaf), 1))))
    for before in before_each_tree(release, boosting, _cells(leaf)):
        t = before.tree
        if t == leaf.shape[1]:
            return
        tree, terms = release.trees[t], TreeTerms(release, boosting, before)
        if len(tree.nodes) == 1:  # the value of a tree that did not grow may be any constant
            continue
        order = np.argsort(leaf[:, t], kind="stable")
        ends = np.searchsorted(leaf[order, t], np.arange(len(tree.nodes) + 1))
        for place, node in enumerate(tree.nodes):
            held = order[ends[place] : ends[place + 1]]
            share, off = before.share[held], before.off[held]
            if not node.is_leaf or not np.isfinite(off).all():
                continue
            leaf_, weight = terms.at(place, share, off), terms.weights[klass[held]]
            is_k, spread, factor = klass[held] == before.klass, share * (1 - share), boosting.hessian
            least = factor * float(spread.min(initial=0.25)) * float(terms.weights.min()) + leaf_.penalty
            if leaf_.value != 0 or terms.own * least >= VANISHED:
                a, blur, middle, free = leaf_.a * weight - is_k, leaf_.off * weight, -leaf_.fixed, leaf_.free
                yield _row(t, place, "value", held, (a - blur, a + blur), (middle - free, middle + free), unit)
            if leaf_.stated is not None:
                a, blur, middle = factor * spread * weight, factor * (off + FEW) * weight, leaf_.stated
                free = PRINTED * middle + FEW
                yield _row(t, place, "hessian", held, (a - blur, a + blur), (middle - free, middle + free), unit)


def _row(
    tree: int,
    place: int,
    of: Literal["value", "hessian"],
    held: IntArray,
    coef: tuple[FloatArray, FloatArray],
    ends: tuple[float, float],
    unit: float,
) -> ScoredRow:
    """A row in units: rounded such that whatever satisfies it in full satisfies it still."""
    by = np.argsort(held)
    least, most = (
        np.floor(unit * coef[0][by]).astype(np.int64),
        np.ceil(unit * coef[1][by]).astype(np.int64),
    )
    return ScoredRow(tree, place, of, held[by], least, most, math.floor(unit * ends[0]), math.ceil(unit * ends[1]))


@dataclass(frozen=True, slots=True)
class LeafNumbers:
    """People in a leaf, ``least`` to ``most``, and those of one class, ``low`` to ``high``."""

    tree: int
    place: int
    least: int
    most: int
    klass: int
    low: int
    high: int


def first_numbers(release: Release) -> Iterator[LeafNumbers]:
    """What the leaves of the first round say of numbers of people, where everybody has the same probability.

    Leaves that state neither a size nor a sum of second derivatives say nothing.
    """
    boosting = release.boosting
    assert boosting is not None
    seen: set[int] = set()
    for before in before_each_tree(release, boosting, _cells(np.zeros((1, len(release.trees)), np.int64))):
        if before.klass in seen:
            return
        seen.add(before.klass)
        tree, terms = release.trees[before.tree], TreeTerms(release, boosting, before)
        if len(tree.nodes) == 1 or not terms.alike or not np.isfinite(before.off).all():
            continue
        for place, node in enumerate(tree.nodes):
            if not node.is_leaf:
                continue
            leaf, [spread], [off] = terms.at(place, before.share, before.off), before.spread, before.off + FEW
            [a], [blur], factor = leaf.a, leaf.off, boosting.hessian
            if node.n is not None:
                least = most = node.n
            elif leaf.stated is None or factor * (spread - off) <= 0:
                continue
            else:
                free = PRINTED * leaf.stated + FEW
                least = math.ceil((leaf.stated - free) / (factor * (spread + off)))
                most = math.floor((leaf.stated + free) / (factor * (spread - off)))
            if least > most:
                continue  # of other people, which the rows show
            low, high = 0, most
            if leaf.value != 0 or terms.own * (factor * spread + leaf.penalty) >= VANISHED:
                sums = [n * each for n in (least, most) for each in (a - blur, a + blur)]
                low = max(math.ceil(min(sums) + leaf.fixed - leaf.free), 0)
                high = min(math.floor(max(sums) + leaf.fixed + leaf.free), most)
            if low <= high:
                yield LeafNumbers(before.tree, place, least, most, before.klass, low, high)
