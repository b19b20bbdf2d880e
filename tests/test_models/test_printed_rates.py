"""What a printed error rate says."""

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from fractions import Fraction
from math import ceil, floor

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from maxent.models.trees.printed_rates import RateReader, _shortest, decimals, rate_reader

NEAREST = (ROUND_HALF_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP)


def printed(wrong: int, n: int, digits: int, rounding: str) -> float:
    """The rate with so many decimals, by a rule for ties, or for everything."""
    return float((Decimal(wrong) / Decimal(n)).quantize(Decimal(1).scaleb(-digits), rounding))


def spans(rates, mode="auto"):
    reader = rate_reader(rates, mode)
    return [reader.hits(rate, n) for rate, n in rates]


@pytest.mark.parametrize(
    ("rate", "digits"),
    [(0.0, 0), (1.0, 0), (0.5, 1), (0.25, 2), (0.333, 3), (1e-3, 3), (1 / 3, 16), (1 - 0.93, 2), (0.1 + 0.2, 1)],
)
def test_digits_are_those_of_the_decimal_that_a_float_stands_for(rate, digits):
    assert decimals(rate) == digits


@pytest.mark.regression(number=5)
def test_rates_of_whole_numbers_are_intervals_where_several_whole_numbers_have_them():
    # 25, 51 and 1 of these records, printed with two digits, are 0.12 (or 0.13), 0.13 and 0.0: all whole numbers.
    found = spans([(0.12, 200.0), (0.13, 400.0), (0.0, 300.0)])
    assert found == [(175.0, 177.0), (346.0, 350.0), (299.0, 300.0)]
    assert "read as intervals" in rate_reader([(0.12, 200.0), (0.13, 400.0), (0.0, 300.0)], "auto").note


def test_rates_are_exact_where_only_one_whole_number_has_them():
    rates = [(0.25, 4.0), (0.5, 2.0), (0.0, 3.0)]
    assert spans(rates) == [(3.0, 3.0), (1.0, 1.0), (3.0, 3.0)]
    note = rate_reader(rates, "auto").note
    assert note == "error rates are exact: rounded to 2 digits, each is that of one whole number of records only"
    assert "intervals" in rate_reader([*rates, (0.5, None)], "auto").note  # of an unknown number many may have it


def test_full_precision_is_exact():
    reader = rate_reader([(1 / 3, 3_000.0), (0.5, 1000.0), (1 / 3, None)], "auto")
    assert [reader.hits(1 / 3, 3000.0), reader.hits(0.5, 1000.0)] == [(2000.0, 2000.0), (500.0, 500.0)]
    assert reader.share(1 / 3) == (1 - 1 / 3, 1 - 1 / 3)
    assert reader.note == "error rates are exact: they have full precision"
    single = float(np.float32(1) / np.float32(3))
    assert spans([(single, 300_000.0)]) == [(200_000.0, 200_000.0)]


def test_noise_of_floats_is_no_precision():
    rates = [(1 - 0.93, 400.0), (1 - 0.88, 200.0)]
    assert spans(rates) == [(370.0, 374.0), (175.0, 177.0)]


def test_literal_rates_are_taken_literally():
    rates = [(0.12, 200.0), (0.0, 300.0), (0.25, None)]
    reader = rate_reader(rates, "exact")
    assert (reader.hits(0.12, 200.0), reader.hits(0.0, 300.0)) == ((176.0, 176.0), (300.0, 300.0))
    assert reader.share(0.25) == (0.75, 0.75)
    assert reader.note == ""


def test_rates_without_any_other_digit_have_at_least_one():
    assert spans([(0.0, 9.0), (0.0, 40.0)]) == [(9.0, 9.0), (38.0, 40.0)]
    assert rate_reader([], "auto") == RateReader()


def test_significant_digits_are_thought_of_unless_decimals_are_asked_for():
    rates = [(0.1, 10_000.0), (0.0123, 10_000.0), (0.0456, 10_000.0)]
    assert spans(rates)[0] == (8995.0, 9005.0)  # 0.0995 .. 0.1005: three digits, as the others have
    assert spans(rates, "digits")[0] == (9000.0, 9000.0)


def test_whole_numbers_may_show_that_rates_were_cut_off():
    rates = [(0.66, 3.0), (0.12, 400.0)]
    reader = rate_reader(rates, "auto")
    assert reader.hits(0.66, 3.0) == (1.0, 1.0)
    assert reader.hits(0.12, 400.0) == (348.0, 356.0)
    assert "cut off or rounded up to 2 digits" in reader.note


def test_whole_numbers_may_show_that_rates_have_digits_of_their_own():
    rates = [(0.3, 3.0), (1 / 7, 7.0)]
    assert spans(rates) == [(2.0, 2.0), (6.0, 6.0)]
    assert "each to its own digits" in rate_reader(rates, "auto").note


def test_where_no_whole_number_fits_the_statement_stays_as_it_is():
    reader = rate_reader([(0.25, 3.0), (0.5, 2.0)], "auto")
    assert reader.hits(0.25, 3.0) == pytest.approx((2.235, 2.265))
    assert reader.note.endswith("; 1 of them are of no whole number of records")


@st.composite
def published(draw, roundings):
    """Records and errors of a few leaves, many of them multiples of 100, and their rates as printed."""
    n = st.one_of(st.integers(1, 60), st.integers(1, 50).map(lambda i: 100 * i), st.integers(1, 20_000))
    digits, rounding = draw(st.integers(1, 6)), draw(st.sampled_from(roundings))
    truth = [(draw(st.integers(0, size)), size) for size in draw(st.lists(n, min_size=1, max_size=5))]
    return [(wrong, size, printed(wrong, size, digits, rounding)) for wrong, size in truth]


@given(leaves=published(NEAREST), known=st.booleans(), mode=st.sampled_from(("auto", "digits")))
def test_the_truth_is_inside_however_ties_were_rounded(leaves, known, mode):
    reader = rate_reader([(rate, float(n) if known else None) for _, n, rate in leaves], mode)
    for wrong, n, rate in leaves:
        low, high = reader.hits(rate, float(n))
        assert low <= n - wrong <= high
        least, most = reader.share(rate)
        assert least - 1e-12 <= (n - wrong) / n <= most + 1e-12


@given(leaves=published((ROUND_HALF_EVEN,)), significant=st.integers(1, 6))
def test_the_truth_is_inside_however_many_significant_digits_were_kept(leaves, significant):
    rates = [(float(f"{wrong / n:.{significant}g}"), float(n)) for wrong, n, _ in leaves]
    reader = rate_reader(rates, "auto")
    for (wrong, n, _), (rate, _) in zip(leaves, rates, strict=True):
        low, high = reader.hits(rate, float(n))
        assert low <= n - wrong <= high


@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(leaves=published((ROUND_FLOOR, ROUND_CEILING)))
def test_the_truth_is_inside_where_rates_show_that_they_were_cut_off(leaves):
    reader = rate_reader([(rate, float(n)) for _, n, rate in leaves], "auto")
    assume("cut off" in reader.note)
    for wrong, n, rate in leaves:
        low, high = reader.hits(rate, float(n))
        assert low <= n - wrong <= high


@given(leaves=published((ROUND_HALF_EVEN,)))
def test_what_is_read_as_exact_is_what_was_counted(leaves):
    reader = rate_reader([(rate, float(n)) for _, n, rate in leaves], "auto")
    assume(reader.note.startswith("error rates are exact"))
    assert all(reader.hits(rate, float(n)) == (n - wrong, n - wrong) for wrong, n, rate in leaves)


@given(
    n=st.integers(1, 10**9),
    share=st.floats(0, 1),
    off=st.sampled_from([0.0, 1e-9, -1e-9, 1.0000001e-9, 1e-10, 2e-16, -2e-16]),
)
def test_rates_that_are_taken_literally_are_those_of_exact_arithmetic(n, share, off):
    rate = min(max((n - int(share * n)) / n + off, 0.0), 1.0)
    hits, slack = (1 - Fraction(_shortest(rate))) * n, Fraction(1e-9 * max(1.0, float(n)))
    first, last = ceil(hits - slack), floor(hits + slack)
    fits = (float(max(first, 0)), float(min(last, n)))
    assert RateReader("exact").hits(rate, float(n)) == (fits if first <= last else (float(hits), float(hits)))
