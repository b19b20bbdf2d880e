"""Bounds on the means of the records, from the leaf means of a regression tree grown on a bootstrap.

A node states the mean M and the variance V of its d draws, which are of u different records. Nobody who was drawn is
further from M than ``sqrt((d - 1) V)`` (Samuelson 1968), which leaves numbers from L to H; so u records at least are
of these classes. Some record is not below M, and some is not above. The draws sum to d M; without the d - u repeated
ones, and with records that were not drawn, the sum of all records is between ``d M - (d - u) H`` plus the least, and
``d M - (d - u) L`` plus the most that the others can add.

All that is certain. Where the table says who is in the node, its draws are independent and alike, from its records. So
their mean is within an interval of the records' mean, at the joint confidence: that of Hoeffding, "Probability
inequalities for sums of bounded random variables", 1963, theorem 1 (relative entropy). The error probability is shared
by all sets that nodes could have held, see `maxent.constraints.kinds.bootstrap.box_shares`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from maxent.constraints.kinds.bootstrap.box_shares import log_shares
from maxent.constraints.kinds.bootstrap.resampled import counted
from maxent.constraints.kinds.context import Context, Kind
from maxent.constraints.kinds.moments import COMPUTED
from maxent.constraints.printed_numbers import printed_moments
from maxent.constraints.program import Linear
from maxent.models.arrays import FloatArray
from maxent.models.release import Node

# Of fewer draws, in units of minus the logarithm of the error probability, an interval says next to nothing.
ENOUGH = 5.0
_Row = tuple[FloatArray, float, float]


def drawn_moments(context: Context) -> Iterator[Linear]:
    """The people of a node have numbers that can have given the mean, and the variance, of its draws."""
    numbers, release = context.release.target.numbers, context.release
    if numbers is None or release.resampled is None:
        return
    low, high = np.array(numbers, np.float64).T
    finite = np.concatenate([low, high])[np.isfinite(np.concatenate([low, high]))]
    means, variances = printed_moments(node for _, _, node in context.nodes())
    side = _log_side(context)
    for t, tree in enumerate(release.trees):
        held, share = context.cells.trees[t], None
        for place in np.flatnonzero(held.stop[: len(tree.nodes)] > held.start[: len(tree.nodes)]).tolist():
            node = tree.nodes[place]
            if node.mean is None:
                continue
            scale = max(1.0, *np.abs(finite), abs(node.mean))
            wide = COMPUTED * scale + means.off(node.mean)
            spread = math.inf
            if node.n is not None and (node.n == 1 or node.variance is not None):
                variance = node.variance or 0.0
                off = COMPUTED * scale**2 + wide**2 + variances.off(variance)
                spread = math.sqrt((node.n - 1) * (variance + off))
            rows = _certain(node, low, high, wide, spread)
            if (
                node.n is not None
                and side is not None
                and node.n > -side * ENOUGH
                and context.size(t, place) is not None
            ):
                if share is None:
                    (share,) = log_shares(replace(release, trees=(tree,)), context.table, (held,))
                rows += _interval(node.mean, wide, node.n, side + float(share[place]), low, high)
            told = [row for row in rows if not _follows(*row)]
            if told:
                coef, least, most = (np.array(part, np.float64) for part in zip(*told, strict=True))
                origin, says = context.origin(t, node), f"mean {node.mean:.10g} of draws"
                yield Linear("drawn", origin, context.region(t, place), coef, least, most, says)


def _log_side(context: Context) -> float | None:
    """Logarithm of the probability that means of a tree may miss on one side; None where nothing is left to chance."""
    release = context.release
    if context.noise != "intervals" or any(counted(tree, release) for tree in release.trees):
        return None  # counts of draws have the whole error probability
    low, high = zip(*(release.target.numbers or ()), strict=True)
    if not -math.inf < min(low) < max(high) < math.inf:
        return None
    return math.log(context.counting.alpha / (2 * len(release.trees)))


def _certain(node: Node, low: FloatArray, high: FloatArray, wide: float, spread: float) -> list[_Row]:
    """Statements proved by the draws of a node; see the module's text."""
    mean, least, most = node.mean or 0.0, float(low.min()), float(high.max())
    under, over = max(least, mean - wide - spread), min(most, mean + wide + spread)
    there, among = float(node.distinct or 1), (high >= under) & (low <= over)
    rows: list[_Row] = [(among.astype(np.float64), there, math.inf)]
    if among.sum() == 1:
        return rows  # all else follows
    rows.append(((high >= mean - wide).astype(np.float64), 1.0, math.inf))
    rows.append(((low <= mean + wide).astype(np.float64), 1.0, math.inf))
    if node.n is not None and node.distinct is not None and least < most < math.inf and least > -math.inf:
        total, off, again, unit = node.n * mean, node.n * wide, node.n - node.distinct, most - least
        rows.append(((low - most) / unit, -math.inf, (total + off - again * under - there * most) / unit))
        rows.append(((high - least) / unit, (total - off - again * over - there * least) / unit, math.inf))
    return rows


def _interval(mean: float, wide: float, draws: int, log_miss: float, low: FloatArray, high: FloatArray) -> list[_Row]:
    """The mean of the records, as far as that of draws proves it with an error probability on each side."""
    least, most = float(low.min()), float(high.max())
    unit = most - least
    above = furthest(min((mean + wide - least) / unit, 1.0), draws, log_miss)
    below = furthest(min((most - mean + wide) / unit, 1.0), draws, log_miss)
    return [((low - least) / unit - above, -math.inf, 0.0), ((high - most) / unit + below, 0.0, math.inf)]


def furthest(mean: float, draws: int, log_miss: float) -> float:
    """The largest expectation of variables from 0 to 1 whose mean of so many is as low as this with that probability.

    ``exp(-draws KL(mean || p)) <= miss`` beyond it; the end of the bisection that is sure not to be too low.
    """
    low, up = max(mean, 0.0), 1.0
    for _ in range(60):
        middle = (low + up) / 2
        if draws * _divergence(mean, middle) < -log_miss:
            low = middle
        else:
            up = middle
    return up


def _divergence(mean: float, p: float) -> float:
    """Relative entropy of two coins, nats."""
    if not 0 < p < 1:
        return 0.0 if p == mean else math.inf
    first = mean * math.log(mean / p) if mean > 0 else 0.0
    second = (1 - mean) * math.log((1 - mean) / (1 - p)) if mean < 1 else 0.0
    return first + second


def _follows(coef: FloatArray, least: float, most: float) -> bool:
    """Whether a row says nothing of classes, or holds for whatever masses there are."""
    if (coef == coef[0]).all():
        return True
    return bool((least <= 0 <= coef.min() or least == -math.inf) and (coef.max() <= 0 <= most or most == math.inf))


KIND = Kind(
    "drawn",
    "means of draws: a node's people have numbers that can have given the mean of draws of them",
    r"\sum_{x:\, b_x \ge L,\, a_x \le H} m_{\Lambda,x} \ge u_\Lambda, \quad"
    r" \sum_x m_{\Lambda,x}\, (a_x - \mu_{\max}) \le 0 \le \sum_x m_{\Lambda,x}\, (b_x - \mu_{\min})",
    drawn_moments,
    "rate",
)
