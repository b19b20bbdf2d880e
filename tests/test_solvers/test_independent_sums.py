"""Equations that others imply are left out, and nothing with them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from test_solvers.test_overlap import counted

from maxent.models.arrays import FloatArray
from maxent.solvers.control import Clock
from maxent.solvers.dual import overlapping
from maxent.solvers.dual.linear_entropy import LinearEntropy
from maxent.solvers.dual.overlapping import independent_rows, minimise_overlapping


def without_totals(problem: LinearEntropy) -> FloatArray:
    """Its rows less their means over each owner, dense."""
    membership = problem.membership.toarray()
    matrix: FloatArray = problem.matrix.toarray()
    return matrix - matrix @ membership / membership.sum(axis=0) @ membership.T


@pytest.mark.parametrize("chunk", [7, 500])
@pytest.mark.parametrize("seed", range(3))
def test_as_many_are_left_as_are_independent_of_the_totals(seed: int, chunk: int) -> None:
    problem, _ = counted(seed, trees=8)
    found = independent_rows(problem, Clock(), chunk)
    assert found is not None
    rank = np.linalg.matrix_rank(without_totals(problem), tol=1e-8)
    assert len(found.rows) == rank < len(problem.lower) * 3 / 4
    assert np.linalg.matrix_rank(without_totals(problem)[found.rows], tol=1e-8) == rank


def test_multipliers_of_the_rows_that_are_left_say_the_same() -> None:
    problem, _ = counted(1, trees=8)
    found = independent_rows(problem, Clock())
    assert found is not None
    y = np.random.default_rng(0).normal(0, 1, len(problem.lower))
    same = found.multipliers(problem, y)
    assert set(np.flatnonzero(same)) <= set(found.rows)
    np.testing.assert_allclose(problem.masses(same), problem.masses(y), rtol=1e-8)
    assert problem.value(same) == pytest.approx(problem.value(y), abs=1e-8)


def test_inequalities_stay_and_keep_their_multipliers() -> None:
    problem, _ = counted(2, trees=8)
    problem = replace(problem, upper=problem.upper + (np.arange(len(problem.upper)) % 5 == 0))
    found = independent_rows(problem, Clock())
    assert found is not None
    loose = np.flatnonzero(problem.lower < problem.upper)
    assert set(loose) <= set(found.rows)
    y = np.random.default_rng(0).normal(0, 1, len(problem.lower))
    np.testing.assert_array_equal(found.multipliers(problem, y)[loose], y[loose])


def test_equations_that_contradict_each_other_all_stay() -> None:
    problem, _ = counted(0, trees=3)
    side = np.concatenate([problem.lower, problem.lower[:1] + 1])
    matrix = sparse.csr_matrix(sparse.vstack([problem.matrix, problem.matrix[:1]]))
    assert independent_rows(replace(problem, matrix=matrix, lower=side, upper=side), Clock()) is None


def test_intervals_alone_all_stay() -> None:
    problem, _ = counted(0, trees=3, blur=1)
    assert independent_rows(problem, Clock()) is None


def test_a_few_that_others_imply_are_left_out_too() -> None:
    problem, _ = counted(0, trees=2)
    found = independent_rows(problem, Clock())
    assert found is not None
    assert overlapping.SHARE * len(problem.lower) < len(found.rows) < len(problem.lower)
    assert independent_rows(problem, Clock(), few=0) is None


def test_with_too_many_all_stay_and_the_answer_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, _ = counted(3, trees=6)
    usual = minimise_overlapping(problem, 1e-10, Clock())
    monkeypatch.setattr(overlapping, "independent_rows", lambda problem, clock: None)
    whole = minimise_overlapping(problem, 1e-10, Clock())
    assert max(usual.residual, whole.residual) <= 1e-8
    np.testing.assert_allclose(usual.masses, whole.masses, atol=1e-7)
    assert independent_rows(problem, Clock(), chunk=10, few=50, most=50) is None
    assert independent_rows(problem, Clock(0.0)) is None
