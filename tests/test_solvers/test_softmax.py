"""The parts of a softmax within groups, against its definition."""

import numpy as np

from maxent.solvers.derivatives import exponentials


def test_shares_are_those_of_the_definition_and_nothing_overflows() -> None:
    group = np.array([0, 1, 0, 1, 1])
    scores = np.array([1000.0, -2000.0, 1001.0, -np.inf, -2000.5])
    found = exponentials(
        scores,
        lambda values: np.array([values[group == i].max() for i in (0, 1)]),
        lambda values: np.bincount(group, values),
        lambda values: values[group],
    )
    p = found.share / found.sums[group]
    np.testing.assert_allclose(np.bincount(group, p), 1.0, rtol=1e-15)
    np.testing.assert_allclose(p[[0, 1]], [1 / (1 + np.e), 1 / (1 + np.exp(-0.5))], rtol=1e-14)
    assert p[3] == 0.0
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(np.log(p), found.shifted - np.log(found.sums)[group], rtol=1e-12)
    assert found.largest.tolist() == [1001.0, -2000.0]
