"""Intervals of true counts from counts that were sampled, rounded or suppressed (Waseda et al. 2025).

A published count is 0, or a Binomial(n, beta) draw that was at least the suppression threshold. The intervals are
exact (Clopper & Pearson 1934), each at the level ``alpha`` over the number of counts, so that all hold together with
probability at least ``1 - alpha`` (Bonferroni).

That number has to include the counts that were not published. Which leaves are shown depends on the sample: those of
which many records happened to be drawn are, so that among few shown counts far more than one in a hundred could be
missed, had the level been divided by the number of these alone. What divides it is never less than the number of counts
that could have been shown, whatever the sample is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maxent.models.release import Release, Rounded, behind

if TYPE_CHECKING:
    from maxent.constraints.program.cells import Cells
    from maxent.models.arrays import BoolArray, FloatArray, IntArray
    from maxent.models.tables.qi_table import QITable

# Share by which the tails of a distribution may be off.
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Counting:
    """Sampling, suppression and rounding of counts; ``alpha`` is the probability that an interval may miss."""

    rate: float
    suppressed_below: int
    alpha: float
    rounded: Rounded | None = None


def true_count_bounds(published: IntArray, most: IntArray, counting: Counting) -> tuple[IntArray, IntArray]:
    """Smallest and largest true counts behind published ones, none above ``most`` unless what was published is."""
    rate, side = counting.rate, counting.alpha / 2
    drawn = np.where(published > 0, published, max(counting.suppressed_below - 1, 0))
    low, high = published, drawn
    if rate < 1.0:
        top = int(max(most.max(initial=0), drawn.max(initial=0))) + 1
        low = _of_each(published, lambda c: _smallest(lambda n: _upper_tail(c, n, rate) > side, c, top))
        high = _of_each(drawn, lambda c: _smallest(lambda n: _lower_tail(c, n, rate) <= side, c, top) - 1)
    if counting.rounded is not None:
        low, high = behind(published, counting.suppressed_below, counting.rounded)
        published = low
    low = np.minimum(low, np.maximum(most, published))
    return low, np.maximum(np.minimum(high, most), low)


def _of_each(values: IntArray, function: Callable[[IntArray], IntArray]) -> IntArray:
    """A function of counts, computed once for each distinct number."""
    distinct, inverse = np.unique(values, return_inverse=True)
    return function(distinct)[inverse]


def _lower_tail(k: IntArray, n: IntArray, p: float) -> FloatArray:
    """P(Binomial(n, p) <= k), never too small."""
    from scipy.special import bdtr

    return np.where(n <= k, 1.0, bdtr(k, n, p) * (1 + ROUNDING))


def _upper_tail(k: IntArray, n: IntArray, p: float) -> FloatArray:
    """P(Binomial(n, p) >= k) for n >= k, never too small."""
    from scipy.special import bdtrc

    return np.where(k <= 0, 1.0, bdtrc(np.maximum(k - 1, 0), n, p) * (1 + ROUNDING))


def _smallest(holds: Callable[[IntArray], BoolArray], low: IntArray, high: int) -> IntArray:
    """The smallest n in [low, high] for which a monotone predicate holds, ``high`` when it never does, for each low."""
    low, up = low.copy(), np.full(len(low), high)
    while (low < up).any():
        middle = (low + up) // 2
        here = holds(middle)
        up = np.where(here, middle, up)
        low = np.where(here, low, np.minimum(middle + 1, up))
    return low


def n_countable(release: Release, table: QITable, cells: Cells) -> int:
    """At least as many counts as could have been shown of somebody, whatever was drawn.

    Those of shown nodes, and where a part is left out one for each quasi-identifier or individual; twice as many with
    inner nodes.
    """
    places = 0
    for t, (tree, held) in enumerate(zip(release.trees, cells.trees, strict=True)):
        stating = [place for place, node in enumerate(tree.nodes) if node.counts is not None]
        places += int((held.stop[stating] > held.start[stating]).sum())
        gone = left_out_of(cells, t, len(tree.nodes))
        hidden = int(table.counts[gone].sum()) if release.private else len(gone)
        places += 2 * hidden if any(not tree.nodes[place].is_leaf for place in stating) else hidden
    return max(places * len(release.target.classes), 1)


def left_out_of(cells: Cells, tree: int, n_nodes: int) -> IntArray:
    """Quasi-identifiers that can reach a part of a tree that was left out, increasing; ``n_nodes`` are published."""
    return np.unique(cells.owner[cells.leaf[:, tree] >= n_nodes])
