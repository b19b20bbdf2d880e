"""What a sampled, suppressed count says of the true one: an interval (private random trees, Waseda et al. 2025).

A published count is 0, or a Binomial(n, beta) draw that was at least the suppression threshold. The intervals are
exact (Clopper & Pearson 1934) at level ``alpha / number of counts``, so that all hold together with probability at
least ``1 - alpha``.
"""

from __future__ import annotations

import math
from collections.abc import Callable


def true_count_bounds(
    published: int, *, rate: float, suppressed_below: int, alpha: float, most: int
) -> tuple[int, int]:
    """Smallest and largest true count behind a published one, both within [0, ``most``].

    Parameters
    ----------
    published : records, 0 when suppressed
    rate : probability with which each record was sampled, in (0, 1]
    suppressed_below : counts below it were published as 0
    alpha : probability that the interval may miss, split over both sides (unused when ``rate`` is 1)
    most : individuals that can be meant, an upper bound known from the adversary's table
    """
    shown = published > 0
    draw = published if shown else max(suppressed_below - 1, 0)
    if rate >= 1.0:
        return (published, published) if shown else (0, min(draw, most))
    low = _smallest(lambda n: _upper_tail(published, n, rate) > alpha / 2, published, most) if shown else 0
    high = _smallest(lambda n: _lower_tail(draw, n, rate) <= alpha / 2, draw, most + 1) - 1
    return low, max(high, low)


def _lower_tail(k: int, n: int, p: float) -> float:
    """P(Binomial(n, p) <= k)."""
    from scipy.special import bdtr

    return 1.0 if n <= k else float(bdtr(k, n, p))


def _upper_tail(k: int, n: int, p: float) -> float:
    """P(Binomial(n, p) >= k)."""
    from scipy.special import bdtrc

    return 1.0 if k <= 0 else 0.0 if n < k else float(bdtrc(k - 1, n, p))


def _smallest(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The smallest n in [low, high] for which a monotone predicate holds, ``high`` when it never does."""
    while low < high:
        middle = math.floor((low + high) / 2)
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return high
