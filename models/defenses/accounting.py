"""Privacy accounting: the differential privacy of sampled, thresholded counts in random trees.

A tree whose structure does not depend on the data is filled from a Bernoulli sample of the records, rate ``beta``, and
every count below ``k`` is published as 0. Waseda et al. (2025, Theorem 1): it is (beta, epsilon, delta)-differentially
private under sampling for 0 < beta < 1, epsilon >= -ln(1 - beta), with

    gamma = (e^epsilon - 1 + beta) / e^epsilon
    delta = max over n >= ceil(k / gamma - 1) of P[Bin(n, beta) > gamma n].

For n between two multiples of 1 / gamma the event is Bin(n, beta) >= m with the same m, and more likely the larger n
is: only the largest n of every m >= k counts, ``ceil(m / gamma) - 1``. Where Chernoff's bound
``P[Bin(n, beta) > gamma n] <= exp(-n KL(gamma || beta))`` falls below what was found, no later m can matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, wraps
from inspect import signature
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from maxent.models.arguments import shorten
from maxent.models.arrays import FloatArray, IntArray
from maxent.models.defenses.parameters import RandomTrees
from maxent.models.errors import InvalidInput, Problem

# Numbers this close to a whole one, relatively, are that one: rounding must not move a strict inequality
_WHOLE = 1e-13

_BLOCK = 64  # values of m that are looked at together


def smallest_valid_epsilon(beta: npt.ArrayLike) -> Any:
    """The smallest epsilon that the theorem covers, ``-ln(1 - beta)``, nats."""
    return -np.log1p(-np.asarray(beta, np.float64))


def gamma(beta: npt.ArrayLike, epsilon: npt.ArrayLike) -> Any:
    """``(e^epsilon - 1 + beta) / e^epsilon``, a probability above beta (Waseda et al. 2025, Theorem 1)."""
    return 1.0 - (1.0 - np.asarray(beta, np.float64)) * np.exp(-np.asarray(epsilon, np.float64))


def elementwise(function: Callable[..., float]) -> Callable[..., Any]:
    """A function of numbers as one of arrays, which broadcast after they are checked."""

    @wraps(function)
    def of_arrays(*arguments: npt.ArrayLike, **named: npt.ArrayLike) -> Any:
        return _broadcast(function, **signature(function).bind(*arguments, **named).arguments)

    return of_arrays


def _broadcast(function: Callable[..., float], **arguments: npt.ArrayLike) -> Any:
    """Apply a function of numbers to arrays, after checking them; for one tree epsilon has a least value."""
    given = {name: np.asarray(value) for name, value in arguments.items()}
    problems = [problem for name, values in given.items() for problem in _refused(name, values)]
    if problems:
        raise InvalidInput(function.__name__, problems)
    arrays = np.broadcast_arrays(*given.values())
    if "trees" not in given and {"beta", "epsilon"} <= given.keys():
        beta, epsilon = (np.broadcast_arrays(given["beta"], given["epsilon"])[i].ravel() for i in (0, 1))
        least = smallest_valid_epsilon(beta)
        if (low := np.flatnonzero(epsilon < least * (1 - _WHOLE))).size:
            at = int(low[0])
            expected = (
                f"at least -ln(1 - beta) = {least[at]:.6g} nats for beta {beta[at]:.6g}, where the theorem begins"
            )
            raise InvalidInput(function.__name__, [Problem("argument", "epsilon", expected, f"{epsilon[at]:.6g}")])
    if not arrays[0].ndim:
        return function(*(array.item() for array in arrays))
    rows = zip(*(array.ravel().tolist() for array in arrays), strict=True)
    return np.array([function(*row) for row in rows]).reshape(arrays[0].shape)


def _refused(name: str, values: npt.NDArray[Any]) -> Iterator[Problem]:
    """Mistake in an argument by itself."""
    if name in ("k", "trees"):
        expected = "whole numbers of records, at least 1" if name == "k" else "whole numbers, at least 1"
        fits = values.dtype.kind in "iu" and bool((values >= 1).all())
    elif name == "epsilon":
        expected = "finite numbers above 0"
        fits = values.dtype.kind in "iuf" and bool(((values > 0) & np.isfinite(values)).all())
    else:
        expected = "numbers above 0 and below 1"
        fits = values.dtype.kind in "iuf" and bool(((values > 0) & (values < 1)).all())
    if not fits:
        yield Problem("argument", name, expected, shorten(values.tolist()))


@elementwise
def n_m(k: int, beta: float, epsilon: float) -> int:
    """``ceil(k / gamma - 1)``, the number of people from which on a published count can exceed ``gamma n``.

    Parameters and errors as in `kanon_delta` (Waseda et al. 2025, Theorem 1).
    """
    return int(_last(np.array([k]), beta, epsilon)[0])


@elementwise
def kanon_delta(k: int, beta: float, epsilon: float) -> float:
    """The delta of one tree (Waseda et al. 2025, Theorem 1).

    Parameters
    ----------
    k : whole numbers, at least 1
        Counts below are published as 0.
    beta : probabilities, above 0 and below 1
        With which a record enters the sample.
    epsilon : numbers, at least ``-ln(1 - beta)``, nats

    Returns
    -------
    float, or float64 array of the shape that the arguments broadcast to
        Accurate to a relative 1e-12, where ``m / gamma`` that is whole but for rounding counts as whole; what is too
        small for a float is rounded up to the smallest positive one.
    """
    best = max((float(tail.max()) for _, _, tail in _teeth(k, beta, epsilon)), default=0.0)
    return max(best, float(np.nextafter(0.0, 1.0)))


@elementwise
def smallest_epsilon(k: int, beta: float, delta: float) -> float:
    """The smallest epsilon (nats) whose `kanon_delta` is at most ``delta``; inf where none is.

    Parameters and errors as in `kanon_delta`; ``delta`` is above 0 and below 1. The least gamma for which the largest n
    of every m keeps the tail at most delta is the largest of ``m / (N_m + 1)``, N_m the last n that does.
    """
    least = float(smallest_valid_epsilon(beta))
    if beta**k > delta:
        return float("inf")  # a class of k people is published whole with that probability
    needed = first = float(gamma(beta, least))
    m = np.arange(k, k + _BLOCK)
    while True:
        needed = max(needed, float((m / (_last_n(m, beta, delta) + 1)).max()))
        m = m + _BLOCK
        if np.ceil(m[0] / needed) - 1 >= -np.log(delta) / _divergence(needed, beta):
            return least if needed == first else float(np.log1p(-beta) - np.log1p(-needed))


@elementwise
def smallest_k(beta: float, epsilon: float, delta: float) -> int:
    """The smallest threshold k whose `kanon_delta` is at most ``delta``; parameters and errors as there."""
    above = [int(m[tail > delta].max(initial=0)) for m, _, tail in _teeth(1, beta, epsilon, down_to=delta)]
    return 1 + max(above, default=0)


@elementwise
def largest_beta(k: int, epsilon: float, delta: float) -> float:
    """The largest sampling rate that the theorem covers whose `kanon_delta` is at most ``delta``, to a relative 1e-12.

    Parameters and errors as in `kanon_delta`. Delta is a saw tooth in beta: smaller rates may have a larger one.
    """
    from scipy.special import betaincinv

    beta = min(-float(np.expm1(-epsilon)), float(delta ** (1 / k)))  # k people alike are shown with beta^k at least
    while True:
        lower = beta
        for m, n, tail in _teeth(k, beta, epsilon, down_to=delta):
            m, n = m[tail > delta], n[tail > delta]
            if len(m):
                # The n of smaller rates are no smaller, and so are the tails: at least those of these n.
                enough = float(betaincinv(m, n - m + 1, delta).min()) * (1.0 - _WHOLE)
                lower = min(lower, enough, float(np.nextafter(beta, 0.0)))
        if lower == beta:
            return beta
        beta = lower


def composed(trees: npt.ArrayLike, epsilon: npt.ArrayLike, delta: npt.ArrayLike) -> tuple[Any, Any]:
    """Epsilon and delta of several trees with samples of their own: both add up (Dwork and Roth 2014, Theorem 3.16).

    Delta is at most 1.
    """
    number = np.asarray(trees)
    total, failing = number * np.asarray(epsilon, np.float64), np.minimum(number * np.asarray(delta, np.float64), 1.0)
    return (float(total), float(failing)) if total.ndim == failing.ndim == 0 else (total, failing)


def _last_n(m: IntArray, beta: float, delta: float) -> IntArray:
    """The largest n with P[Bin(n, beta) >= m] <= delta, given that it is so for n = m."""
    low, high = m.copy(), 2 * m
    while (short := upper_tail(m, high, beta) <= delta).any():
        low, high = np.where(short, high, low), np.where(short, 2 * high, high)
    while (high - low > 1).any():
        middle = (low + high) // 2
        fits = upper_tail(m, middle, beta) <= delta
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    return low


def _teeth(
    k: int, beta: float, epsilon: float, *, down_to: float | None = None
) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
    """Blocks of m >= k, the largest n of each, and P[Bin(n, beta) >= m]: all that can exceed ``down_to``."""
    share = float(gamma(beta, epsilon))
    rate, best = _divergence(share, beta), 0.0
    m = np.arange(k, k + _BLOCK)
    while True:
        n = _last(m, beta, epsilon)
        tail = upper_tail(m, n, beta)
        yield m, n, tail
        best = max(best, float(tail.max()))
        m = m + _BLOCK
        if np.exp(-(np.ceil(m[0] / share) - 2) * rate) <= (best if down_to is None else down_to):
            return


def _last(m: IntArray, beta: float, epsilon: float) -> IntArray:
    """``ceil(m / gamma) - 1``, the largest n of each m: with gamma = 1 - c, m / gamma is m + m c / gamma.

    However small c is, it is not 0, though a float may be.
    """
    beyond: FloatArray = m * ((1.0 - beta) * np.exp(-epsilon) / float(gamma(beta, epsilon)))
    whole = np.rint(beyond)
    steps = np.where(np.abs(beyond - whole) <= _WHOLE * beyond, whole, np.ceil(beyond))
    last: IntArray = m - 1 + np.maximum(steps, 1.0).astype(np.int64)
    return last


def upper_tail(m: IntArray, n: IntArray, beta: float) -> FloatArray:
    """P[Bin(n, beta) >= m] for 1 <= m <= n, as an incomplete beta function, which SciPy computes in log-space."""
    from scipy.special import betainc

    return np.asarray(betainc(m, n - m + 1, beta), np.float64)


def _divergence(p: float, q: float) -> float:
    """Kullback-Leibler divergence of two coins, nats."""
    tails = (1 - p) * (np.log1p(-p) - np.log1p(-q)) if p < 1.0 else 0.0
    return float(p * np.log(p / q) + tails)


# Joint guarantee of several private random trees, tighter than the sum over trees.
#
# `forest_delta` knows the mechanism: one record more changes one count of a tree, which is then a draw
# from Bin(n, beta) in place of Bin(n - 1, beta), published as 0 below k. How far apart these two can be at most,
# whatever n is, at every epsilon, is the *privacy profile* of a tree. A pair of distributions with that profile is
# worse than any pair of neighbours, and its powers are worse than what several trees make of them (Zhu, Dong and Wang
# 2022). What follows is an upper bound, but for rounding: profiles are taken at points and joined by lines, from above
# as they are convex in e^epsilon (Doroshenko et al. 2022), and sums have no negative terms.

_POINTS = 1000  # points at which the profile of a tree is taken
_ROUNDING = 1e-12

# The profile of a tree takes as long as k is large. Thresholds above this one only hide more of what it publishes.
_LARGEST_K = 2000

_BEYOND = 30.0  # losses of this much more than any epsilon that is asked for (nats) are as good as infinite


@elementwise
def forest_delta(trees: int, k: int, beta: float, epsilon: float) -> float:
    """The delta of several trees at an epsilon for all of them together, from what their counts can be.

    Parameters
    ----------
    trees, k : whole numbers, at least 1
        Counts below ``k`` are published as 0. Of a ``k`` above 2000 it is the delta of 2000, which is larger.
    beta : probabilities, above 0 and below 1
        With which a record enters the sample of a tree.
    epsilon : numbers above 0, nats
        Unlike for `kanon_delta` there is no smallest one.

    Returns
    -------
    float, or float64 array of the shape that the arguments broadcast to
        At least ``1 - (1 - beta**k)**trees``: with that probability k people who are all alike are published. What is
        too small for a float is rounded up to the smallest positive one.
    """
    return max(_composed(trees, k, beta, epsilon).delta(epsilon), float(np.nextafter(0.0, 1.0)))


@elementwise
def forest_epsilon(trees: int, k: int, beta: float, delta: float) -> float:
    """The smallest epsilon of several trees whose `forest_delta` is at most ``delta``, nats; inf where none is.

    To a relative 1e-9. Parameters and errors as there.
    """
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
    for count in range(2, trees + 1):
        first = count * one.first
        mass = np.convolve(found.mass, one.mass)
        # What the trees to come can take away again at most is one.first each.
        enough = epsilon + _BEYOND - (trees - count) * one.first
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

    Draws for more people publish no less, so that draws for n bound what n and all beyond can publish.
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


# The guarantee of a forest of random trees.

USUAL_DELTA = 1e-6  # the delta of the guarantee that is stated when no epsilon is asked for


@dataclass(frozen=True, slots=True)
class Guarantee:
    """(beta, epsilon, delta)-differential privacy under sampling, of all trees together.

    Attributes
    ----------
    beta : float
        Probability with which a record entered the sample of a tree.
    epsilon : float
        Nats.
    delta : float or None
        Of Waseda et al. (2025, Corollary 1); None where their theorem does not apply.
    tight_delta : float
        Of the same trees, by `forest_delta`; at most ``delta``.
    """

    beta: float
    epsilon: float
    delta: float | None
    tight_delta: float


def guarantee(asked: RandomTrees) -> Guarantee | None:
    """The guarantee of trees over stated domains against an adversary without the samples; None for none.

    Without sampling, or an ``epsilon`` with a delta up to `USUAL_DELTA`, there is none: k people who are alike are
    published with about ``trees * beta**k``.
    """
    if asked.beta >= 1:
        return None
    k = max(asked.k, 1)  # no count is below 1 but 0
    epsilon = asked.epsilon
    if epsilon is None:
        epsilon = asked.trees * float(smallest_epsilon(k, asked.beta, USUAL_DELTA / asked.trees))
        if not isfinite(epsilon):
            return None
    each, delta, tight_delta = epsilon / asked.trees, None, forest_delta(asked.trees, k, asked.beta, epsilon)
    if each >= smallest_valid_epsilon(asked.beta) * (1 - 1e-12):
        delta = composed(asked.trees, each, kanon_delta(k, asked.beta, each))[1]
        tight_delta = min(tight_delta, delta)
    return Guarantee(asked.beta, epsilon, delta, tight_delta)
