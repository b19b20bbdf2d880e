"""What a printed error rate says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maxent.constraints.rounding import RateReader, decimals, rate_reader


@pytest.mark.parametrize(
    ("rate", "digits"), [(0.0, 0), (1.0, 0), (0.5, 1), (0.25, 2), (0.333, 3), (1e-3, 3), (1 / 3, 16)]
)
def test_decimals(rate, digits):
    assert decimals(rate) == digits


def test_rates_that_are_whole_numbers_of_records_are_exact():
    assert rate_reader([(0.25, 4.0), (0.5, 2.0), (0.0, 3.0)], "auto").half == 0.0


def test_full_precision_is_exact():
    assert rate_reader([(1 / 3, 3.0), (0.5, 11.0)], "auto").half == 0.0


def test_other_rates_are_rounded_to_the_longest_of_them():
    assert rate_reader([(0.333, 3.0), (0.5, 2.0)], "auto").half == pytest.approx(0.0005)
    assert rate_reader([(0.333, 3.0)], "exact").half == 0.0
    assert rate_reader([(0.25, 4.0)], "digits").half == pytest.approx(0.005)


def test_a_rounded_rate_of_known_records_is_a_whole_number():
    assert RateReader(0.0005).hits(0.333, 3.0) == (2.0, 2.0)


def test_where_no_whole_number_fits_the_statement_stays_as_it_is():
    low, high = RateReader(0.005).hits(0.25, 3.0)
    assert (low, high) == pytest.approx((2.235, 2.265))


@given(st.integers(1, 5000), st.data(), st.integers(1, 6))
def test_the_true_number_is_always_inside(n, data, digits):
    wrong = data.draw(st.integers(0, n))
    low, high = RateReader(0.5 * 10.0**-digits).hits(round(wrong / n, digits), float(n))
    assert low <= n - wrong <= high
    assert low == int(low)
