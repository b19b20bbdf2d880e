"""Differential privacy under sampling of counts that are published from a threshold on.

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

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import FloatArray, IntArray
from maxent.models.errors import InvalidInput, Problem
from maxent.models.tables.frame import shorten

# Numbers this close to a whole one, relatively, are that one: rounding must not move a strict inequality
_WHOLE = 1e-13

_BLOCK = 64  # values of m that are looked at together


def smallest_valid_epsilon(beta: npt.ArrayLike) -> Any:
    """The smallest epsilon that the theorem covers, ``-ln(1 - beta)``, nats."""
    return -np.log1p(-np.asarray(beta, np.float64))


def gamma(beta: npt.ArrayLike, epsilon: npt.ArrayLike) -> Any:
    """``(e^epsilon - 1 + beta) / e^epsilon``, a probability above beta (Waseda et al. 2025, Theorem 1)."""
    return 1.0 - (1.0 - np.asarray(beta, np.float64)) * np.exp(-np.asarray(epsilon, np.float64))


def n_m(k: npt.ArrayLike, beta: npt.ArrayLike, epsilon: npt.ArrayLike) -> Any:
    """``ceil(k / gamma - 1)``, the number of people from which on a published count can exceed ``gamma n``.

    Parameters and errors as in `kanon_delta` (Waseda et al. 2025, Theorem 1).
    """
    return broadcast("n_m", _n_m, k=k, beta=beta, epsilon=epsilon)


def kanon_delta(k: npt.ArrayLike, beta: npt.ArrayLike, epsilon: npt.ArrayLike) -> Any:
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
    return broadcast("kanon_delta", _delta, k=k, beta=beta, epsilon=epsilon)


def smallest_epsilon(k: npt.ArrayLike, beta: npt.ArrayLike, delta: npt.ArrayLike) -> Any:
    """The smallest epsilon (nats) whose `kanon_delta` is at most ``delta``; inf where none is.

    Parameters and errors as in `kanon_delta`; ``delta`` is above 0 and below 1. The least gamma for which the largest n
    of every m keeps the tail at most delta is the largest of ``m / (N_m + 1)``, N_m the last n that does.
    """
    return broadcast("smallest_epsilon", _smallest_epsilon, k=k, beta=beta, delta=delta)


def smallest_k(beta: npt.ArrayLike, epsilon: npt.ArrayLike, delta: npt.ArrayLike) -> Any:
    """The smallest threshold k whose `kanon_delta` is at most ``delta``; parameters and errors as there."""
    return broadcast("smallest_k", _smallest_k, beta=beta, epsilon=epsilon, delta=delta)


def largest_beta(k: npt.ArrayLike, epsilon: npt.ArrayLike, delta: npt.ArrayLike) -> Any:
    """The largest sampling rate that the theorem covers whose `kanon_delta` is at most ``delta``, to a relative 1e-12.

    Parameters and errors as in `kanon_delta`. Delta is a saw tooth in beta: smaller rates may have a larger one.
    """
    return broadcast("largest_beta", _largest_beta, k=k, epsilon=epsilon, delta=delta)


def composed(trees: npt.ArrayLike, epsilon: npt.ArrayLike, delta: npt.ArrayLike) -> tuple[Any, Any]:
    """Epsilon and delta of several trees with samples of their own: both add up (Dwork and Roth 2014, Theorem 3.16).

    Delta is at most 1.
    """
    number = np.asarray(trees)
    total, failing = number * np.asarray(epsilon, np.float64), np.minimum(number * np.asarray(delta, np.float64), 1.0)
    return (float(total), float(failing)) if total.ndim == failing.ndim == 0 else (total, failing)


# --- One set of arguments at a time ----------------------------------------------------------------------------


def _n_m(k: int, beta: float, epsilon: float) -> int:
    return int(_last(np.array([k]), beta, epsilon)[0])


def _delta(k: int, beta: float, epsilon: float) -> float:
    best = max((float(tail.max()) for _, _, tail in _teeth(k, beta, epsilon)), default=0.0)
    return max(best, float(np.nextafter(0.0, 1.0)))


def _smallest_k(beta: float, epsilon: float, delta: float) -> int:
    above = [int(m[tail > delta].max(initial=0)) for m, _, tail in _teeth(1, beta, epsilon, down_to=delta)]
    return 1 + max(above, default=0)


def _smallest_epsilon(k: int, beta: float, delta: float) -> float:
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


def _largest_beta(k: int, epsilon: float, delta: float) -> float:
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


def _teeth(
    k: int, beta: float, epsilon: float, *, down_to: float | None = None
) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
    """Blocks of m >= k, the largest n of each, and P[Bin(n, beta) >= m]: all that can exceed ``down_to``.

    Without it: all that can be the largest.
    """
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


# --- Arguments -------------------------------------------------------------------------------------------------


def broadcast(source: str, function: Any, *, theorem: bool = True, **arguments: npt.ArrayLike) -> Any:
    """Apply a function of numbers to arrays, after checking them; with ``theorem`` epsilon has a least value."""
    given = {name: np.asarray(value) for name, value in arguments.items()}
    problems = [problem for name, values in given.items() for problem in _refused(name, values)]
    if problems:
        raise InvalidInput(source, problems)
    arrays = np.broadcast_arrays(*given.values())
    if theorem and {"beta", "epsilon"} <= given.keys():
        beta, epsilon = (np.broadcast_arrays(given["beta"], given["epsilon"])[i].ravel() for i in (0, 1))
        least = smallest_valid_epsilon(beta)
        if (low := np.flatnonzero(epsilon < least * (1 - _WHOLE))).size:
            at = int(low[0])
            expected = (
                f"at least -ln(1 - beta) = {least[at]:.6g} nats for beta {beta[at]:.6g}, where the theorem begins"
            )
            raise InvalidInput(source, [Problem("argument", "epsilon", expected, f"{epsilon[at]:.6g}")])
    if not arrays[0].ndim:
        return function(*(array.item() for array in arrays))
    rows = zip(*(array.ravel().tolist() for array in arrays), strict=True)
    return np.array([function(*row) for row in rows]).reshape(arrays[0].shape)


def _refused(name: str, values: npt.NDArray[Any]) -> Iterator[Problem]:
    """Mistake in an argument by itself."""
    if name in ("k", "trees"):
        expected = "whole numbers of records, at least 1" if name == "k" else "whole numbers, at least 1"
        fits = values.dtype.kind in "iu" and bool((values >= 1).all())
    elif name in ("epsilon", "total"):
        expected = "finite numbers above 0"
        fits = values.dtype.kind in "iuf" and bool(((values > 0) & np.isfinite(values)).all())
    else:
        expected = "numbers above 0 and below 1"
        fits = values.dtype.kind in "iuf" and bool(((values > 0) & (values < 1)).all())
    if not fits:
        yield Problem("argument", name, expected, shorten(values.tolist()))
