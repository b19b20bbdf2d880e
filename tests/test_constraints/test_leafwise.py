"""The closed form per group: the water level of an entropy maximum under bounds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from maxent.constraints.presolve.parts import water_fill


def fill(weight, lower, upper, label=-1):
    return water_fill(np.array([weight]), np.array([lower]), np.array([upper]), np.array([label]))[0]


def test_nothing_known_is_uniform():
    np.testing.assert_allclose(fill(6.0, [0.0, 0.0, 0.0], [6.0, 6.0, 6.0]), [2.0, 2.0, 2.0])


def test_a_rate_leaves_the_rest_to_the_other_classes_equally():
    np.testing.assert_allclose(fill(9.0, [6.0, 0.0, 0.0, 0.0], [6.0, 9.0, 9.0, 9.0], 0), [6.0, 1.0, 1.0, 1.0])


def test_counts_are_themselves():
    counts = [3.0, 0.0, 2.0]
    np.testing.assert_array_equal(fill(5.0, counts, counts), counts)


def test_a_label_below_the_level_of_the_others_holds_them_down():
    # 10 individuals, at most 3 of the label: no other class may exceed 3.
    masses = fill(10.0, [0.0, 0.0, 0.0, 0.0], [3.0, 10.0, 10.0, 10.0], 0)
    assert masses.max() == pytest.approx(masses[0])
    assert masses.sum() == pytest.approx(10.0)


def test_bounds_that_cannot_meet_the_total_are_scaled_to_it():
    masses = fill(4.0, [4.0, 2.0], [4.0, 2.0])
    assert masses.sum() == pytest.approx(4.0)
    assert masses[0] / masses[1] == pytest.approx(2.0)


@st.composite
def boxes(draw):
    n = draw(st.integers(2, 4))
    inside = np.array(draw(st.lists(st.integers(0, 9), min_size=n, max_size=n)), float)
    inside[draw(st.integers(0, n - 1))] += 1
    down = np.array(draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)), float)
    up = np.array(draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)), float)
    label = int(inside.argmax()) if draw(st.booleans()) else -1
    return inside.sum(), np.maximum(inside - down, 0), inside + up, label


@given(boxes())
def test_it_is_the_entropy_maximum(box):
    weight, lower, upper, label = box
    n = len(lower)
    masses = fill(weight, lower, upper, label)
    assert masses.sum() == pytest.approx(weight, rel=1e-12)
    assert (masses >= lower - 1e-9).all()
    assert (masses <= upper + 1e-9).all()
    constraints = [{"type": "eq", "fun": lambda m: m.sum() - weight}]
    if label >= 0:
        assert masses[label] >= masses.max() - 1e-9
        constraints.append({"type": "ineq", "fun": lambda m: m[label] - m})

    def negative_entropy(m):
        return float((m * np.log(np.maximum(m, 1e-12))).sum())

    start = np.clip(np.full(n, weight / n), lower, upper)
    found = minimize(negative_entropy, start, bounds=list(zip(lower, upper, strict=True)), constraints=constraints)
    if found.success:
        assert negative_entropy(masses) <= negative_entropy(found.x) + 1e-6
