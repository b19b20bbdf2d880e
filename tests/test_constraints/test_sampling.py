"""Intervals for the counts behind sampled and suppressed ones."""

import numpy as np
import pytest
from scipy.stats import beta, binom

from maxent.constraints.kinds.sampling import Counting, true_count_bounds


def bounds(published, *, rate, suppressed_below=0, alpha=0.05, most=10_000):
    counting = Counting(rate, suppressed_below, alpha)
    low, high = true_count_bounds(np.array([published]), np.array([most]), counting)
    return int(low[0]), int(high[0])


def test_without_sampling_a_count_is_exact_and_a_suppressed_one_below_the_threshold():
    assert bounds(7, rate=1.0, suppressed_below=5) == (7, 7)
    assert bounds(0, rate=1.0, suppressed_below=5) == (0, 4)
    assert bounds(0, rate=1.0, suppressed_below=5, most=2) == (0, 2)
    assert bounds(0, rate=1.0) == (0, 0)


@pytest.mark.parametrize("published", [1, 3, 10, 40])
@pytest.mark.parametrize("rate", [0.1, 0.4, 0.9])
def test_the_bounds_are_those_of_clopper_and_pearson(published, rate):
    alpha = 0.02
    low, high = bounds(published, rate=rate, alpha=alpha)
    # n is inside iff neither tail of Binomial(n, rate) at the draw is below alpha / 2.
    assert binom.sf(published - 1, low, rate) > alpha / 2
    assert low == published or binom.sf(published - 1, low - 1, rate) <= alpha / 2
    assert binom.cdf(published, high, rate) > alpha / 2
    assert binom.cdf(published, high + 1, rate) <= alpha / 2
    # The classical interval for the rate given n contains the true rate exactly for these n.
    assert beta.ppf(alpha / 2, published, high - published + 1) <= rate
    assert rate <= beta.ppf(1 - alpha / 2, published + 1, low - published) or low == published


@pytest.mark.parametrize("n", [0, 1, 4, 7, 12, 30])
@pytest.mark.parametrize("suppressed_below", [0, 3, 6])
@pytest.mark.parametrize("rate", [0.2, 0.5, 0.8])
def test_the_true_count_is_missed_with_at_most_the_stated_probability(n, suppressed_below, rate):
    alpha, missed = 0.1, 0.0
    for draw in range(n + 1):
        published = draw if draw >= suppressed_below else 0
        low, high = bounds(published, rate=rate, suppressed_below=suppressed_below, alpha=alpha)
        missed += binom.pmf(draw, n, rate) * (not low <= n <= high)
    assert missed <= alpha


@pytest.mark.parametrize("rate", [0.05, 0.4, 1.0])
@pytest.mark.parametrize("alpha", [0.3, 1e-3, 1e-9])
def test_many_counts_at_once_have_the_bounds_that_each_has_alone(rate, alpha):
    rng = np.random.default_rng(0)
    most = rng.integers(0, 300, 60)
    published = np.minimum(rng.integers(0, 80, 60), most)
    published[published < 4] = 0
    low, high = true_count_bounds(published, most, Counting(rate, 4, alpha))
    alone = [
        bounds(c, rate=rate, suppressed_below=4, alpha=alpha, most=m) for c, m in zip(published, most, strict=True)
    ]
    assert list(zip(low, high, strict=True)) == alone
    assert ((published <= low) & (low <= high) & (high <= most)).all()


def test_the_intervals_of_a_smaller_level_contain_the_others():
    published = np.arange(0, 60)
    most = np.full(60, 5_000)
    low, high = true_count_bounds(published, most, Counting(0.1, 5, 1e-2))
    wider_low, wider_high = true_count_bounds(published, most, Counting(0.1, 5, 1e-7))
    assert (wider_low <= low).all()
    assert (wider_high >= high).all()
    assert (wider_high > high).any()
