"""A branch ``le`` takes exactly the numbers for which a tool's test holds."""

from math import inf, isfinite, nextafter

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.strategies import thorough

from maxent.models.trees.places import less_than, single_at_most, single_less_than

NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(width=32, allow_nan=False, allow_infinity=False),
    st.integers(-40, 40).map(lambda i: i / 4),
)

TESTS = {
    less_than: lambda x, t: x < t,
    single_at_most: lambda x, t: np.float64(np.float32(x)) <= t,
    single_less_than: lambda x, t: np.float64(np.float32(x)) < t,
}


@pytest.mark.parametrize("bound", TESTS, ids=lambda bound: bound.__name__)
@thorough(100)
@given(threshold=NUMBERS, other=NUMBERS)
@example(threshold=float(np.finfo(np.float32).max), other=3.5e38)
@example(threshold=3.4028235677973366e38, other=0.0)
@example(threshold=-1e300, other=-3.4028235677973366e38)
@example(threshold=1e300, other=1e300)
@example(threshold=0.0, other=-7e-46)
@example(threshold=-0.0, other=1e-46)
@example(threshold=7e-46, other=0.0)
def test_the_bound_is_where_the_test_ends(bound, threshold, other):
    holds, most = TESTS[bound], bound(threshold)
    with np.errstate(over="ignore"):
        for x in filter(isfinite, (other, threshold, most, nextafter(most, inf), float(np.float32(threshold)))):
            assert bool(holds(x, threshold)) == (x <= most)
