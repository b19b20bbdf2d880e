"""What several trees guarantee together, against exact sums and against everything that they can publish."""

import math
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest

from maxent import privacy
from maxent.models.errors import InvalidInput


@pytest.mark.parametrize("trees", [1, 2, 3, 10, 31])
@pytest.mark.parametrize("ratio", ["101/100", "6/5", "3"])
@pytest.mark.parametrize("delta", ["1/1000000", "1/100", "1/3"])
def test_optimal_composition_is_the_printed_formula(trees, ratio, delta):
    """Theorem 3.3 of Kairouz, Oh and Viswanath (2015), word for word and exactly."""
    e, delta = Fraction(ratio), Fraction(delta)
    for i in range((trees + 1) // 2):
        excess = (
            sum((comb(trees, j) * (e ** (trees - j) - e ** (trees - 2 * i + j)) for j in range(i)), Fraction(0))
            / (1 + e) ** trees
        )
        exact = 1 - (1 - delta) ** trees * (1 - excess)
        epsilon = math.log(ratio_of(e))
        found = privacy.optimally_composed(trees, epsilon, float(delta), (trees - 2 * i) * epsilon)
        assert found == pytest.approx(float(exact), rel=1e-12)


def ratio_of(e):
    return e.numerator / e.denominator


@pytest.mark.parametrize("trees", [1, 2, 5])
@pytest.mark.parametrize("total", [0.05, 0.3, 1.0, 2.4])
def test_optimal_composition_is_what_the_worst_mechanisms_do(trees, total):
    """Randomised response that fails: with probability delta it tells everything."""
    epsilon, delta = 0.7, 0.02
    p = np.array([delta, (1 - delta) / (1 + math.exp(-epsilon)), (1 - delta) / (1 + math.exp(epsilon)), 0.0])
    q = p[::-1]
    apart = sum(
        max(np.prod(p[list(out)]) - math.exp(total) * np.prod(q[list(out)]), 0.0)
        for out in product(range(4), repeat=trees)
    )
    assert privacy.optimally_composed(trees, epsilon, delta, total) == pytest.approx(apart, rel=1e-10)


def test_optimal_composition_is_never_worse_than_adding_up():
    trees, epsilon, delta = np.array([[1], [2], [10], [100], [5000]]), np.array([0.001, 0.2, 3.0]), 1e-7
    for factor in (1.0, 1.5):
        found = privacy.optimally_composed(trees, epsilon, delta, factor * trees * epsilon)
        assert found.shape == (5, 3)
        assert (found <= trees * delta * (1 + 1e-12)).all()
    assert privacy.optimally_composed(100, 0.1, 1e-9, 5.0) < 1e-6  # adding up takes an epsilon of 10


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
            assert found <= privacy.optimally_composed(trees, each, privacy.kanon_delta(k, beta, each), total)


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
    from maxent.models.defenses.accounting import _losses

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
        (lambda: privacy.optimally_composed(2.5, 0.1, 1e-6, 1.0), "trees"),
        (lambda: privacy.optimally_composed(2, 0.1, 1e-6, math.inf), "total"),
    ],
)
def test_arguments_are_checked(call, field):
    with pytest.raises(InvalidInput) as caught:
        call()
    assert [problem.field for problem in caught.value.problems] == [field]
