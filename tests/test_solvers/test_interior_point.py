"""The face of equations by our own interior point method: what it says is proved, or left to another method."""

from dataclasses import replace

import numpy as np
import pytest
from test_solvers.test_dual import counted
from test_solvers.test_face import largest_masses

from maxent.solvers.control import Clock
from maxent.solvers.derivatives import cholesky_in_place
from maxent.solvers.dual import overlapping
from maxent.solvers.dual import overlapping as face_module
from maxent.solvers.dual.linear_entropy import LinearEntropy
from maxent.solvers.dual.overlapping import PROVED, can_be_factored, find_face, independent_rows, masses_and_prices


def independent(seed: int, trees: int, owners: int = 60) -> tuple[LinearEntropy, np.ndarray]:
    """Counts of some trees without those that others imply, and the true masses."""
    problem, truth = counted(seed, trees, owners)
    told = independent_rows(problem, Clock())
    assert told is not None
    rows = told.rows
    return replace(problem, matrix=problem.matrix[rows], lower=problem.lower[rows], upper=problem.upper[rows]), truth


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Problems of any shape, and no other method that could mend an answer."""
    monkeypatch.setattr(overlapping, "PER_ROW", 0)
    monkeypatch.setattr(face_module, "_interior", lambda problem, clock: None)


@pytest.mark.parametrize(("trees", "seed"), [(2, 0), (4, 2), (9, 3)])
def test_the_masses_left_out_are_those_that_no_feasible_point_has(trees: int, seed: int) -> None:
    problem, truth = independent(seed, trees, owners=9)
    face = find_face(problem, Clock(), problem.masses(np.zeros(len(problem.lower))))
    assert face is not None
    assert face.complete
    np.testing.assert_array_equal(face.alive, largest_masses(problem) > 1e-7)
    assert not truth[~face.alive].any()


@pytest.mark.parametrize("seed", range(3))
def test_prices_prove_it_and_masses_are_feasible(seed: int) -> None:
    problem, truth = independent(seed, 4)
    found = masses_and_prices(problem, problem.masses(np.zeros(len(problem.lower))), Clock())
    assert found is not None
    masses, prices = found
    np.testing.assert_allclose(problem.matrix @ masses, problem.lower, atol=1e-8)
    np.testing.assert_allclose(np.bincount(problem.owner, masses), problem.total, atol=1e-8)
    z = problem.matrix.T @ prices
    slack = problem.largest(z)[problem.owner] - z
    assert (masses[masses != 0] > 0).all()
    assert np.abs(problem.left(prices)) <= PROVED * slack[masses == 0].min()
    assert slack[truth > 0].max() <= PROVED * slack[masses == 0].min()


@pytest.mark.parametrize("seed", range(8))
def test_prices_of_any_kind_rule_nobody_out_who_may_be_there(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem, truth = counted(seed, 8, owners=20)
    face = find_face(problem, Clock(), problem.masses(np.zeros(len(problem.lower))))
    right = np.zeros(len(problem.lower)) if face is None else face.prices
    for noise in (0.0, 1e-12, 1e-9, 1e-6, 1e-3, 1.0):
        prices = rng.integers(0, 2) * right + noise * rng.normal(0, 1, len(right))
        told = face_module._proved(problem, rng.random(len(truth)) * rng.integers(0, 2, len(truth)), prices)
        assert told is None or told.alive[truth > 0].all()


def test_prices_of_nothing_prove_nothing() -> None:
    problem, _ = counted(0, 2)
    unit = replace(problem, total=np.ones(len(problem.total)), weight=np.ones(len(problem.weight)))
    told = face_module._proved(unit, np.ones(len(unit.weight)), np.zeros(len(unit.lower)))
    assert told is not None
    assert told.alive.all()
    assert not told.tight.any()


def test_nothing_where_rows_contradict_each_other_or_there_is_no_time() -> None:
    problem, _ = independent(1, 3)
    start = problem.masses(np.zeros(len(problem.lower)))
    assert masses_and_prices(problem, start, Clock(0.0)) is None
    more = problem.lower + np.where(np.arange(len(problem.lower)) == 0, problem.total.sum(), 0.0)
    assert masses_and_prices(replace(problem, lower=more, upper=more), start, Clock()) is None


def test_intervals_and_nearly_determined_masses_are_for_another_method(monkeypatch: pytest.MonkeyPatch) -> None:
    assert can_be_factored(counted(0, 3)[0])
    assert not can_be_factored(counted(0, 3, blur=1)[0])
    monkeypatch.setattr(overlapping, "PER_ROW", 5)
    assert not can_be_factored(counted(0, 30)[0])


def test_a_matrix_that_is_not_definite_is_factored_with_the_next_ridge() -> None:
    rows = np.random.default_rng(0).normal(0, 1, (5, 3))
    right = rows @ np.ones(3)
    solve = cholesky_in_place(rows @ rows.T, (-1.0, 1e-9))
    assert solve is not None
    np.testing.assert_allclose(rows @ rows.T @ solve(right), right, atol=1e-6)
    assert cholesky_in_place(-np.identity(3), (1e-9, 1e-6)) is None
