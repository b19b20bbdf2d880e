"""Weighted sums that are known up to rounding: the smoothed dual ends where the usual method does, within the rows."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from maxent.solvers.control import Clock
from maxent.solvers.dual.linear_entropy import LinearEntropy
from maxent.solvers.dual.newton import minimise
from maxent.solvers.dual.overlapping import can_be_smoothed, minimise_overlapping, minimise_smoothed


def weighed(seed: int, width: float, owners: int = 40) -> LinearEntropy:
    """Weighted sums over the members of some groups who have the second of two classes; the truth is within all."""
    random = np.random.default_rng(seed)
    total = random.integers(1, 9, owners).astype(float)
    truth = np.round(random.random(owners) * total)
    inside = random.random((12, owners)) < 0.4
    weights = inside * random.uniform(0.2, 1.0, (12, owners))
    matrix = sparse.csr_matrix(np.kron(weights, [[0.0, 1.0]]))
    middle = weights @ truth + width * random.uniform(-0.9, 0.9, 12)
    owner = np.repeat(np.arange(owners), 2)
    return LinearEntropy(owner, total, total[owner], matrix, middle - width, middle + width)


@pytest.mark.parametrize("width", [1e-3, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_answer_is_that_of_the_usual_method(seed: int, width: float) -> None:
    problem = weighed(seed, width)
    assert can_be_smoothed(problem)
    usual = minimise(problem, tolerance=1e-10, max_iterations=2_000)
    found = minimise_smoothed(problem, np.zeros(12), 1e-9, 1e-7, Clock())
    activity = problem.matrix @ found.masses
    assert (activity >= problem.lower - 1e-9).all()
    assert (activity <= problem.upper + 1e-9).all()
    assert found.residual <= 1e-9
    assert 0 <= found.bound - problem.entropy(found.masses) + 1e-9 <= 2e-7
    assert found.bound >= usual.bound - 1e-7
    if usual.residual <= 1e-8:  # its steps stop at every kink
        assert found.bound == pytest.approx(usual.bound, abs=1e-6)
    whole = minimise_overlapping(problem, 1e-9, Clock())
    assert whole.bound == pytest.approx(found.bound, abs=1e-5 * problem.total.sum())


def test_a_sum_of_nobody_and_time_that_has_run_out() -> None:
    problem = weighed(0, 1e-3)
    empty = sparse.csr_matrix((1, problem.matrix.shape[1]))
    more = replace(
        problem,
        matrix=sparse.csr_matrix(sparse.vstack([problem.matrix, empty])),
        lower=np.append(problem.lower, -1.0),
        upper=np.append(problem.upper, 1.0),
    )
    found = minimise_smoothed(more, np.ones(13), 1e-9, 1e-7, Clock())
    assert found.multipliers[-1] == 0
    assert found.residual <= 1e-9
    assert minimise_smoothed(problem, np.zeros(12), 1e-9, 1e-7, Clock(0.0)).iterations == 0


def test_counts_and_one_sided_rows_are_not_smoothed() -> None:
    problem = weighed(0, 1e-3)
    assert not can_be_smoothed(replace(problem, upper=problem.lower))
    assert not can_be_smoothed(replace(problem, upper=np.full(12, np.inf)))
    plain = problem.matrix.copy()
    plain.data[:] = 1.0
    assert not can_be_smoothed(replace(problem, matrix=plain))
