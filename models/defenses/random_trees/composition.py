"""Joint guarantee of several private random trees, tighter than the sum over trees.

There are two answers. `optimally_composed` knows of each tree that it is (epsilon, delta)-differentially private, and
nothing else. `forest_delta` knows the mechanism: one record more changes one count of a tree, which is then a draw from
Bin(n, beta) in place of Bin(n - 1, beta), published as 0 below k. How far apart these two can be at most, whatever n
is, at every epsilon, is the *privacy profile* of a tree. A pair of distributions with that profile is worse than any
pair of neighbours, and its powers are worse than what several trees make of them (Zhu, Dong and Wang 2022). What
follows is an upper bound, but for rounding: profiles are taken at points and joined by lines, from above as they are
convex in e^epsilon (Doroshenko et al. 2022), and sums have no negative terms.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import FloatArray, IntArray
from maxent.models.defenses.random_trees.accounting import broadcast, gamma, upper_tail

_POINTS = 1000  # points at which the profile of a tree is taken
_ROUNDING = 1e-12

# The profile of a tree takes as long as k is large. Thresholds above this one only hide more of what it publishes.
_LARGEST_K = 2000

_BEYOND = 30.0  # losses of this much more than any epsilon that is asked for (nats) are as good as infinite


def optimally_composed(trees: npt.ArrayLike, epsilon: npt.ArrayLike, delta: npt.ArrayLike, total: npt.ArrayLike) -> Any:
    """The least delta that mechanisms have together at epsilon ``total`` (Kairouz, Oh and Viswanath 2015).

    Each of them is (epsilon, delta)-differentially private. Some are no better than that, so that no smaller delta
    holds for all. Where ``total`` is ``(trees - 2 i) * epsilon`` it is the paper's Theorem 3.3, in closed form.

    Parameters
    ----------
    trees : whole numbers, at least 1
    epsilon, total : numbers above 0, nats
    delta : numbers above 0 and below 1

    Returns
    -------
    float, or float64 array of the shape that the arguments broadcast to
    """
    return broadcast("optimally_composed", _optimally_composed, trees=trees, epsilon=epsilon, delta=delta, total=total)


def forest_delta(trees: npt.ArrayLike, k: npt.ArrayLike, beta: npt.ArrayLike, epsilon: npt.ArrayLike) -> Any:
    """The delta of several trees at an epsilon for all of them together, from what their counts can be.

    Parameters
    ----------
    trees, k : whole numbers, at least 1
        Counts below ``k`` are published as 0. Of a ``k`` above 2000 it is the delta of 2000, which is larger.
    beta : probabilities, above 0 and below 1
        With which a record enters the sample of a tree.
    epsilon : numbers above 0, nats
        Unlike for `maxent.models.defenses.random_trees.accounting.kanon_delta` there is no smallest one.

    Returns
    -------
    float, or float64 array of the shape that the arguments broadcast to
        At least ``1 - (1 - beta**k)**trees``: with that probability k people who are all alike are published. What is
        too small for a float is rounded up to the smallest positive one.
    """
    return broadcast("forest_delta", _forest_delta, theorem=False, trees=trees, k=k, beta=beta, epsilon=epsilon)


def forest_epsilon(trees: npt.ArrayLike, k: npt.ArrayLike, beta: npt.ArrayLike, delta: npt.ArrayLike) -> Any:
    """The smallest epsilon of several trees whose `forest_delta` is at most ``delta``, nats; inf where none is.

    To a relative 1e-9. Parameters and errors as there.
    """
    return broadcast("forest_epsilon", _forest_epsilon, trees=trees, k=k, beta=beta, delta=delta)


def _optimally_composed(trees: int, epsilon: float, delta: float, total: float) -> float:
    from scipy.special import gammaln

    i = np.arange(trees + 1)
    loss = (trees - 2.0 * i) * epsilon
    i, loss = i[loss > total], loss[loss > total]
    ways = gammaln(trees + 1) - gammaln(i + 1) - gammaln(trees - i + 1)
    # So many of the trees that leak an epsilon leak it the other way.
    likely = np.exp(ways - i * epsilon - trees * np.log1p(np.exp(-epsilon)))
    apart = float((likely * -np.expm1(total - loss)).sum())
    return float(-np.expm1(trees * np.log1p(-delta) + np.log1p(-apart))) if apart < 1 else 1.0


def _forest_delta(trees: int, k: int, beta: float, epsilon: float) -> float:
    return max(_composed(trees, k, beta, epsilon).delta(epsilon), float(np.nextafter(0.0, 1.0)))


def _forest_epsilon(trees: int, k: int, beta: float, delta: float) -> float:
    low, high = 0.0, 1.0
    while (losses := _composed(trees, k, beta, high)).delta(high) > delta:
        if losses.never > delta:
            return float("inf")
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if losses.delta(middle) <= delta else (middle, high)
    return high


@dataclass(frozen=True, slots=True, eq=False)
class _Losses:
    """The privacy loss (nats) of a pair of distributions: ``first + i * width`` with probability ``mass[i]``.

    Probabilities are those of the one with the record more, under which the loss is infinite with that of ``never``.
    """

    first: float
    width: float
    mass: FloatArray
    never: float

    def delta(self, epsilon: float) -> float:
        """Largest excess of either of the two over e^epsilon times the other."""
        loss = self.first + self.width * np.arange(len(self.mass))
        more, less = loss > epsilon, loss < -epsilon
        gained = self.never + float((self.mass[more] * -np.expm1(epsilon - loss[more])).sum())
        lost = float((self.mass[less] * np.exp(-loss[less]) * -np.expm1(epsilon + loss[less])).sum())
        return min(max(gained, lost), 1.0)


def _composed(trees: int, k: int, beta: float, epsilon: float) -> _Losses:
    """The loss of several trees, as far as epsilons up to this one are concerned."""
    one = _losses(min(k, _LARGEST_K), beta)
    found = one
    for number in range(2, trees + 1):
        first = number * one.first
        mass = np.convolve(found.mass, one.mass)
        # What the trees to come can take away again at most is one.first each.
        enough = epsilon + _BEYOND - (trees - number) * one.first
        kept = min(max(int((enough - first) / one.width), 1), len(mass))
        never = found.never + one.never - found.never * one.never + float(mass[kept:].sum())
        found = _Losses(first, one.width, mass[:kept], never)
    return found


@lru_cache(maxsize=64)
def _losses(k: int, beta: float) -> _Losses:
    """The loss of the pair that has the profile of a tree, at points up to where only infinite losses are beyond."""
    lowest, highest = float(np.log1p(-beta)), float(np.log(k + 1)) + 3.0
    width = (highest - lowest) / (_POINTS - 2)
    loss = lowest + width * np.arange(-1, _POINTS)
    ratio = np.exp(loss)
    profile = np.array([_furthest(k, beta, epsilon) for epsilon in loss.tolist()])
    # The hockey stick of a loss is a line with a kink: the change of the slope is the other one's probability.
    slope = np.concatenate([[-1.0], np.diff(profile) / np.diff(ratio), [0.0]])
    return _Losses(float(loss[0]), width, np.maximum(np.diff(slope), 0.0) * ratio, float(profile[-1]))


def _furthest(k: int, beta: float, epsilon: float) -> float:
    """The most, over all n, that a published draw from Bin(n, beta) is above e^epsilon times one from Bin(n - 1, beta).

    What is published says no more than the draw, and draws for more people no more than those for less (add one person
    to either). So the draws for n bound what can be published for n and all beyond.
    """
    best, n = max(-float(np.expm1(epsilon)), 0.0), np.arange(k, 2 * k + 64)
    while True:
        best = max(best, float(_apart(n, k, beta, epsilon).max()))
        beyond = float(_apart(n[-1:] + 1, 0, beta, epsilon)[0])
        if beyond <= best * (1 + _ROUNDING):
            return max(best, beyond)
        n = np.arange(n[-1] + 1, 2 * n[-1])


def _apart(n: IntArray, k: int, beta: float, epsilon: float) -> FloatArray:
    """Excess of a published draw from Bin(n, beta) over e^epsilon times one from Bin(n - 1, beta), n above 0.

    The ratio of the probabilities of a draw grows with it, and is e^epsilon at gamma times n.
    """
    times = float(np.exp(epsilon))
    least = np.maximum(np.floor(float(gamma(beta, epsilon)) * n).astype(np.int64) + 1, k)
    shown = _at_least(least, n, beta) - times * _at_least(least, n - 1, beta)
    hidden = (1 - times) - (_at_least(np.full_like(n, k), n, beta) - times * _at_least(np.full_like(n, k), n - 1, beta))
    return np.asarray(np.maximum(shown, 0.0) + (np.maximum(hidden, 0.0) if k else 0.0))


def _at_least(m: IntArray, n: IntArray, beta: float) -> FloatArray:
    """P[Bin(n, beta) >= m], for any m."""
    possible = (m >= 1) & (m <= n)
    found = upper_tail(np.where(possible, m, 1), np.where(possible, n, 1), beta)
    return np.where(possible, found, np.where(m < 1, 1.0, 0.0))
