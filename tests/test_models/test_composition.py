"""What several trees guarantee together, against exact sums and against everything that they can publish."""

import math
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from support.calls import refusal, refused

from maxent import privacy
from maxent.models.defenses.accounting import _losses


def published(n, k, beta):
    """Probabilities of what is published of a count of n, from 0 to its largest: nothing below k."""
    p = np.array([comb(n, j) * beta**j * (1 - beta) ** (n - j) for j in range(n + 1)])
    return np.where(np.arange(n + 1) == 0, p[:k].sum(), np.where(np.arange(n + 1) < k, 0.0, p))


def neighbours(n, k, beta):
    return published(n, k, beta), np.append(published(n - 1, k, beta), 0.0)


@pytest.mark.parametrize(("k", "beta"), [(1, 0.3), (2, 0.1), (3, 0.5), (3, 0.8)])
@pytest.mark.parametrize("epsilon", [0.05, 0.4, 1.2, 2.5])
def test_one_tree_has_the_profile_of_its_counts(k, beta, epsilon):
    apart = [
        np.maximum(a - math.exp(epsilon) * b, 0.0).sum()
        for n in range(1, 150)
        for one, other in [neighbours(n, k, beta)]
        for a, b in ((one, other), (other, one))
    ]
    found = privacy.forest_delta(1, k, beta, epsilon)
    assert max(apart) <= found * (1 + 1e-9)
    assert found <= max(apart) * 1.001 + 1e-12


@pytest.mark.parametrize(("k", "beta"), [(1, 0.3), (2, 0.2), (4, 0.6)])
@pytest.mark.parametrize("trees", [2, 3])
def test_no_neighbours_are_further_apart_in_a_forest(k, beta, trees):
    """Whatever counts the record changes in each tree: every combination, both ways."""
    epsilons = (0.1, 0.5, 1.5, 3.0)
    worst = dict.fromkeys(epsilons, 0.0)
    for ns in product(range(1, 13), repeat=trees):
        if list(ns) != sorted(ns):
            continue
        one, other = np.ones(1), np.ones(1)
        for n in ns:
            with_it, without = neighbours(n, k, beta)
            one, other = np.outer(one, with_it).ravel(), np.outer(other, without).ravel()
        for epsilon in epsilons:
            for a, b in ((one, other), (other, one)):
                worst[epsilon] = max(worst[epsilon], np.maximum(a - math.exp(epsilon) * b, 0.0).sum())
    for epsilon in epsilons:
        found = privacy.forest_delta(trees, k, beta, epsilon)
        assert worst[epsilon] <= found * (1 + 1e-9)
        assert found <= 1.5 * worst[epsilon] + 1e-12


@pytest.mark.parametrize(("k", "beta"), [(5, 0.01), (5, 0.1), (10, 0.1), (20, 0.1), (20, 0.4)])
@pytest.mark.parametrize("total", [2.0, 6.0, 9.0])
def test_what_is_known_of_the_counts_is_worth_more_than_any_composition(k, beta, total):
    trees = 10
    found = privacy.forest_delta(trees, k, beta, total)
    assert -math.expm1(trees * math.log1p(-(beta**k))) <= found * (1 + 1e-9)
    for each in np.linspace(privacy.smallest_valid_epsilon(beta), 2 * total / trees, 8):
        if each >= privacy.smallest_valid_epsilon(beta):
            assert found <= optimally_composed(trees, each, privacy.kanon_delta(k, beta, each), total)


def optimally_composed(trees, epsilon, delta, total):
    """Theorem 3.3 of Kairouz, Oh and Viswanath (2015)."""
    losses = [(comb(trees, i), i, (trees - 2 * i) * epsilon) for i in range(trees + 1)]
    terms = (ways * math.exp(-i * epsilon) * max(-math.expm1(total - loss), 0.0) for ways, i, loss in losses)
    return 1 - (1 - delta) ** trees * (1 - sum(terms) / (1 + math.exp(-epsilon)) ** trees)


def test_the_smallest_epsilon_of_a_forest():
    found = privacy.forest_epsilon(10, [5, 10, 20], 0.1, 1e-6)
    assert found[0] == math.inf  # five who are alike are published with a probability of 1e-5, ten times
    for k, epsilon in zip((10, 20), found[1:], strict=True):
        assert privacy.forest_delta(10, k, 0.1, epsilon) <= 1e-6 * (1 + 1e-6)
        assert privacy.forest_delta(10, k, 0.1, epsilon * 0.999) > 1e-6
        assert epsilon < 0.15 * 10 * privacy.smallest_epsilon(k, 0.1, 1e-7)


@pytest.mark.slow
def test_many_trees_and_small_rates_take_no_longer():
    assert 0 < privacy.forest_delta(200, 20, 0.05, 3.0) < 1e-6
    assert 0 < privacy.forest_delta(10, 20, 0.0005, 1.0) < 1e-55
    assert 0 < privacy.forest_delta(10, 400, 0.1, 2.0) < 1e-300
    assert privacy.forest_delta(10, 10**9, 0.4, 0.5) == privacy.forest_delta(10, 2000, 0.4, 0.5)


def test_the_profile_is_what_a_well_kept_accountant_composes():
    """dp-accounting, which is not among the dependencies, is given the same pair of distributions."""
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    for k, beta in ((5, 0.1), (10, 0.4)):
        one = _losses(k, beta)
        loss = one.first + one.width * np.arange(len(one.mass))
        upper = {i: math.log(p) for i, p in enumerate(one.mass.tolist()) if p > 0} | {-1: math.log(one.never)}
        lower = {i: math.log(p) - x for i, (p, x) in enumerate(zip(one.mass.tolist(), loss, strict=True)) if p > 0}
        forest = pld.from_two_probability_mass_functions(
            lower, upper, value_discretization_interval=1e-4, log_mass_truncation_bound=-80
        ).self_compose(10)
        for epsilon in (0.5, 2.0, 6.0):
            found = privacy.forest_delta(10, k, beta, epsilon)
            # It rounds losses to multiples of 1e-4, ten times, and delta falls by as much as epsilon shifts.
            assert forest.get_delta_for_epsilon(epsilon) == pytest.approx(found, rel=1e-2)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: privacy.forest_delta(0, 5, 0.1, 1.0), "trees"),
        (lambda: privacy.forest_delta(10, 5, 1.0, 1.0), "beta"),
        (lambda: privacy.forest_delta(10, 5, 0.1, -1.0), "epsilon"),
        (lambda: privacy.forest_epsilon(10, 5, 0.1, 1.0), "delta"),
    ],
)
def test_arguments_are_checked(call, field):
    assert [problem.field for problem in refusal(call).problems] == [field]


GRID = [
    (k, Fraction(beta), Fraction(ratio))
    for k in (1, 2, 5, 11)
    for beta in ("1/100", "1/10", "2/5", "3/4")
    for ratio in ("101/100", "6/5", "2", "5", "9")
    if Fraction(ratio) * (1 - Fraction(beta)) >= 1  # the theorem begins at e^epsilon = 1 / (1 - beta)
]


def tail(m, n, beta):
    """P[Bin(n, beta) >= m], exactly."""
    return sum((comb(n, j) * beta**j * (1 - beta) ** (n - j) for j in range(m, n + 1)), Fraction(0))


def exact_delta(k, beta, ratio):
    """The theorem's maximum over every n from the first, exactly; far enough for Chernoff's bound to end it."""
    share = (ratio - 1 + beta) / ratio
    p, q = float(share), float(beta)
    rate = p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))
    n, best = math.ceil(k / share - 1), Fraction(0)
    while not best or math.exp(-n * rate) > best:
        best = max(best, tail(math.floor(share * n) + 1, n, beta))
        n += 1
    return best


@pytest.mark.parametrize(("k", "beta", "ratio"), GRID)
def test_delta_is_the_exact_maximum(k, beta, ratio):
    found = privacy.kanon_delta(k, float(beta), math.log(ratio))
    assert found == pytest.approx(float(exact_delta(k, beta, ratio)), rel=1e-11)


def test_arguments_broadcast():
    k, beta, epsilon = np.array([[1], [5]]), 0.1, np.array([0.2, 0.5, 1.0])
    found = privacy.kanon_delta(k, beta, epsilon)
    assert found.shape == (2, 3)
    assert found[1, 2] == privacy.kanon_delta(5, 0.1, 1.0)
    assert isinstance(privacy.kanon_delta(5, 0.1, 1.0), float)


def accounting_published(n, k, beta):
    """Probabilities of what is published of a count of n: 0 below k."""
    p = np.array([comb(n, j) * beta**j * (1 - beta) ** (n - j) for j in range(n + 1)])
    return np.concatenate([[p[:k].sum()], p[k:]])


@pytest.mark.parametrize("k", [1, 2, 4])
@pytest.mark.parametrize("beta", [0.1, 0.4, 0.8])
@pytest.mark.parametrize("times", [1.0, 1.3, 3.0])
def test_no_neighbours_are_further_apart_than_delta(k, beta, times):
    epsilon = times * privacy.smallest_valid_epsilon(beta)
    delta = privacy.kanon_delta(k, beta, epsilon)
    for n in range(1, 60):
        one, other = accounting_published(n, k, beta), np.zeros(max(n - k + 2, 1))
        fewer = accounting_published(n - 1, k, beta)
        other[: len(fewer)] = fewer
        for a, b in ((one, other), (other, one)):
            assert np.maximum(a - math.exp(epsilon) * b, 0.0).sum() <= delta * (1 + 1e-9)


@pytest.mark.parametrize("k", [1, 5, 20])
@pytest.mark.parametrize("beta", [0.01, 0.1, 0.4])
@pytest.mark.parametrize("delta", [1e-9, 1e-4, 0.02])
def test_the_inverse_problems_find_the_edge(k, beta, delta):
    epsilon = privacy.smallest_epsilon(k, beta, delta)
    if math.isinf(epsilon):
        assert beta**k > delta
        return
    assert privacy.kanon_delta(k, beta, epsilon) <= delta
    if epsilon > privacy.smallest_valid_epsilon(beta):
        assert privacy.kanon_delta(k, beta, epsilon * (1 - 1e-9)) > delta
    assert (least := privacy.smallest_k(beta, epsilon, delta)) <= k
    assert privacy.kanon_delta(least, beta, epsilon) <= delta
    assert least == 1 or privacy.kanon_delta(least - 1, beta, epsilon) > delta
    largest = privacy.largest_beta(k, epsilon, delta)
    assert largest >= beta * (1 - 1e-12)
    assert privacy.kanon_delta(k, largest, epsilon) <= delta
    if largest * (1 + 1e-6) < -math.expm1(-epsilon):
        above = np.linspace(largest * (1 + 1e-9), -math.expm1(-epsilon) * (1 - 1e-12), 200)
        assert (privacy.kanon_delta(k, above, epsilon) > delta).all()


@pytest.mark.parametrize(
    ("arguments", "field", "expected"),
    [
        ((5, 0.4, 0.2), "epsilon", "0.510826"),
        ((0, 0.4, 1.0), "k", "at least 1"),
        ((2.5, 0.4, 1.0), "k", "whole"),
        ((5, 1.0, 1.0), "beta", "below 1"),
        ((5, 0.4, math.nan), "epsilon", "above 0"),
        ((5, [0.1, 0.0], 1.0), "beta", "above 0"),
    ],
)
def test_what_the_theorem_does_not_cover_is_refused(arguments, field, expected):
    caught = refusal(privacy.kanon_delta, *arguments)
    assert isinstance(caught, ValueError)
    (problem,) = caught.problems
    assert problem.field == field
    assert expected in problem.expected


def test_the_smallest_valid_epsilon_is_accepted():
    for beta in (0.01, 0.1, 0.4, 0.9):
        assert 0 < privacy.kanon_delta(5, beta, -math.log(1 - beta)) < 1


def test_a_delta_below_every_float_is_not_called_zero():
    assert 0 < privacy.kanon_delta(400, 0.01, 5.0) < 1e-300


def test_trees_compose():
    assert privacy.composed(10, 0.2, 0.001) == pytest.approx((2.0, 0.01))
    epsilon, delta = privacy.composed([1, 4000], 0.5, 0.001)
    assert epsilon.tolist() == [0.5, 2000.0]
    assert delta.tolist() == [0.001, 1.0]


@pytest.mark.parametrize("epsilon", [29.0, 30.0, 40.0, 800.0])
def test_where_gamma_is_1_but_for_rounding_k_people_alike_still_tell(epsilon):
    assert privacy.kanon_delta(5, 0.1, epsilon) == pytest.approx(1e-5, rel=1e-12)
    assert privacy.smallest_k(0.1, epsilon, 1.1e-6) == 6
    assert privacy.largest_beta(5, epsilon, 1e-6) == pytest.approx(1e-6**0.2, rel=1e-11)
    assert privacy.n_m(5, 0.1, epsilon) == 5


@pytest.mark.parametrize(
    ("k", "epsilon", "delta"),
    [(1, 0.07, 1e-9), (5, 0.2, 1e-6), (7, 0.61, 1e-6), (10, 0.6, 1e-6), (1, 1e-9, 1e-6), (20, 1e-4, 1e-6)],
)
def test_the_largest_rate_is_safe_and_no_larger_one_is(k, epsilon, delta):
    """Also where the teeth of delta are far closer together than rates are from 0."""
    found = privacy.largest_beta(k, epsilon, delta)
    assert privacy.kanon_delta(k, found, epsilon) <= delta
    larger = found + (-np.expm1(-epsilon) - found) * np.geomspace(1e-9, 1, 200)[:-1]
    assert (privacy.kanon_delta(k, larger, epsilon) > delta).all()


def test_n_m_is_that_of_the_theorem():
    """ceil(k / gamma - 1), also where k / gamma is whole: beta = 1/2 and epsilon = ln 2 give gamma = 3/4."""
    assert privacy.n_m([3, 4, 6], 0.5, np.log(2)).tolist() == [3, 5, 7]
    k, beta, epsilon = 20, 0.1, 0.3
    assert privacy.n_m(k, beta, epsilon) == np.ceil(k / privacy.gamma(beta, epsilon) - 1)
    refused("where the theorem begins", privacy.n_m, 5, 0.9, 0.1)
