"""The dual of maximum entropy under linear rows: it bounds, meets the maximum, and bears degenerate rows."""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from support.calls import printed_by
from support.contested import contested
from support.strategies import thorough
from test_solvers.test_tables import forest

import maxent
from maxent.api import compile as compile_module
from maxent.api import estimate as engine
from maxent.api.estimate import compile_release
from maxent.constraints.program.program import Program
from maxent.constraints.program.residuals import Evaluator
from maxent.constraints.records import assign_rows
from maxent.models.arrays import FloatArray
from maxent.models.defenses.parameters import RandomTrees
from maxent.models.defenses.random_trees import random_trees
from maxent.models.tables.training import read_training
from maxent.solvers import control
from maxent.solvers.backend import Options
from maxent.solvers.backends.newton_ import NewtonBackend
from maxent.solvers.backends.registry import load_backend
from maxent.solvers.control import Clock, hearing, keep, keeping
from maxent.solvers.derivatives import cholesky
from maxent.solvers.dual import linear_entropy, newton, overlapping
from maxent.solvers.dual import overlapping as face_module
from maxent.solvers.dual.linear_entropy import LinearEntropy
from maxent.solvers.dual.matrix_scaling import Transport
from maxent.solvers.dual.newton import minimise, multipliers_at
from maxent.solvers.dual.overlapping import can_be_smoothed, find_face, fitted, minimise_overlapping, minimise_smoothed
from maxent.solvers.solution import Stop
from maxent.solvers.solve import attempt, driver
from maxent.solvers.solve.driver import FEW, nearer, solve_program, uniform_answer

pytestmark = pytest.mark.usefixtures("one_thread")


def problem(owner, total, rows, lower, upper, weight=None):
    owner = np.asarray(owner)
    matrix = sparse.csr_matrix(np.atleast_2d(np.asarray(rows, float)).reshape(-1, len(owner)))
    total = np.asarray(total, float)
    weight = total[owner] if weight is None else np.asarray(weight, float)
    return LinearEntropy(owner, total, weight, matrix, np.asarray(lower, float), np.asarray(upper, float))


def entropy(held, masses):
    some = masses > 0
    return float(-(masses[some] * np.log(masses[some] / held.weight[some])).sum())


@st.composite
def feasible(draw, zeros=False):
    """A random problem with masses that satisfy it: equations, one- and two-sided rows, some tight, some repeated."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_owners, n_classes = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    owner = rng.permutation(np.repeat(np.arange(n_owners), n_classes))
    masses = rng.exponential(size=len(owner)) * 10 ** rng.uniform(-1, 2)
    if zeros:
        masses *= rng.random(len(owner)) < 0.7
    total = np.bincount(owner, masses, n_owners)
    matrix = rng.choice([-1.0, 0.0, 0.0, 1.0, 1.0, 0.37], (draw(st.integers(0, 8)), len(owner)))
    matrix = np.vstack([matrix, matrix[: draw(st.integers(0, 2))], np.ones((draw(st.integers(0, 1)), len(owner)))])
    value = matrix @ masses
    loose = rng.exponential(size=(2, len(value))) * rng.integers(0, 2, (2, len(value)))
    lower, upper = value - loose[0], value + loose[1]
    lower[rng.random(len(value)) < 0.3] = -np.inf
    upper[rng.random(len(value)) < 0.3] = np.inf
    weight = np.maximum(total, 1.0)[owner] * rng.choice([1.0, 2.0])
    return LinearEntropy(owner, total, weight, sparse.csr_matrix(matrix), lower, upper), masses


def signed(rng, held, scale):
    """Multipliers of random signs that the rows allow."""
    y = rng.standard_normal(len(held.lower)) * scale
    y = np.where((y > 0) & np.isinf(held.lower), 0.0, y)
    return np.where((y < 0) & np.isinf(held.upper), 0.0, y)


@thorough(200)
@given(feasible(zeros=True), st.sampled_from([0.0, 0.1, 3.0, 100.0]), st.integers(0, 99))
def test_any_multipliers_bound_any_feasible_entropy(case, scale, seed):
    held, masses = case
    y = signed(np.random.default_rng(seed), held, scale)
    assert np.isfinite(held.value(y))
    assert held.value(y) + held.rounding(y) >= entropy(held, masses)
    np.testing.assert_allclose(np.bincount(held.owner, held.masses(y), len(held.total)), held.total, rtol=1e-12)


@thorough(150)
@given(feasible())
def test_the_smallest_bound_is_the_entropy_of_masses_that_meet_every_row(case):
    held, masses = case
    found = minimise(held)
    size = max(1.0, held.total.sum())
    assert found.bound == held.value(found.multipliers)
    np.testing.assert_array_equal(found.masses, held.masses(found.multipliers))
    activity = held.matrix @ found.masses
    assert (activity >= held.lower - 1e-7 * size).all()
    assert (activity <= held.upper + 1e-7 * size).all()
    assert found.bound == pytest.approx(entropy(held, found.masses), abs=1e-7 * size)
    assert found.bound >= entropy(held, masses) - 1e-9 * size


@thorough(30)
@given(feasible(), st.integers(0, 99))
def test_bad_starts_end_at_the_same_minimum(case, seed):
    held, _ = case
    rng = np.random.default_rng(seed)
    best = minimise(held).bound
    for start in (signed(rng, held, 5.0), 20 * rng.standard_normal(len(held.lower))):
        assert minimise(held, start).bound == pytest.approx(best, abs=1e-7 * max(1.0, held.total.sum()))


def narrow(seed: int, n: int = 100, people: int = 300) -> LinearEntropy:
    """Rows with weights that nearly repeat each other, in narrow intervals or open above; two classes."""
    rng = np.random.default_rng(seed)
    share = rng.random(people)
    weights = rng.standard_normal((n, 6)) @ rng.standard_normal((6, people)) + 0.03 * rng.standard_normal((n, people))
    rows = np.kron(weights, [1.0, 0.0])
    value = rows @ np.stack([share, 1 - share], axis=1).ravel()
    width = 10.0 ** rng.uniform(-5, -1, (2, n))
    upper = value + width[1]
    upper[n // 2 :] = np.inf
    return problem(np.repeat(np.arange(people), 2), np.ones(people), rows, value - width[0], upper)


@pytest.mark.parametrize("seed", range(4))
def test_rows_of_narrow_intervals_cross_their_kinks_together(seed: int) -> None:
    # One kink after another takes 10 to 14 steps.
    found = minimise(narrow(seed))
    assert found.residual < 1e-9
    assert found.iterations <= 9


@pytest.mark.parametrize("exchanges", [0, newton.EXCHANGES])
@pytest.mark.parametrize("seed", range(20))
def test_the_model_with_kinks_is_at_its_minimum(seed: int, exchanges: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newton, "EXCHANGES", exchanges)
    rng = np.random.default_rng(seed)
    held, n = narrow(seed, 30, 40), 30
    start = np.where(rng.random(n) < 0.4, 0.0, rng.standard_normal(n))
    now = newton._Place.at(held, newton._allowed(held, start))
    rows = np.flatnonzero((now.gradient != 0) | (now.y != 0))
    model = newton._KinkedModel.of(held, now, rows, held.hessian(now.masses, rows))
    y = model.y + model.minimum(Clock())[0] / model.scale
    value, gradient = model.at(y)
    side = np.where(y > 0, model.lower, np.where(y < 0, model.upper, np.clip(gradient, model.lower, model.upper)))
    np.testing.assert_allclose(gradient, side, atol=1e-6)
    assert value <= model.at(model.y)[0] == 0.0


def groups(seed: int, n: int = 300, people: int = 200) -> LinearEntropy:
    """Groups of people, each with at least nearly as many of both classes as it has: half of the rows say the rest."""
    rng = np.random.default_rng(seed)
    share, members = rng.random(people) ** 3, rng.random((n, people)) < 0.2
    rows = np.vstack([np.kron(members, [1.0, 0.0]), np.kron(members, [0.0, 1.0])])
    lower = rows @ np.stack([share, 1 - share], axis=1).ravel() - np.tile(0.3 * rng.random(n), 2)
    return problem(np.repeat(np.arange(people), 2), np.ones(people), rows, lower, np.full(2 * n, np.inf))


@pytest.mark.parametrize("seed", range(2))
def test_many_rows_reach_their_kinks_in_few_factorisations(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # One kink after another takes 2,487 and 1,759.
    factored = []
    monkeypatch.setattr(newton, "cholesky", lambda *given: factored.append(len(given[0])) or cholesky(*given))
    found = minimise(groups(seed))
    assert found.residual < 1e-9
    assert len(factored) <= 200


@thorough(30)
@given(feasible(), st.integers(0, 99))
def test_derivatives_are_those_of_the_bound(case, seed):
    held, _ = case
    rng = np.random.default_rng(seed)
    y = signed(rng, held, 1.0)
    rows = np.flatnonzero(y)
    side = np.where(y > 0, held.lower, held.upper)[rows]
    direction = np.zeros(len(y))
    direction[rows] = 1e-5 * y[rows] * rng.choice([-1, 1], len(rows))
    masses = held.masses(y)
    activity = held.matrix @ masses
    slope = (activity[rows] - side) @ direction[rows]
    curvature = direction[rows] @ held.hessian(masses, rows) @ direction[rows]
    size = max(1.0, held.total.sum()) * max(1.0, float(np.abs(y).max(initial=0.0)))
    assert held.value(y + direction) - held.value(y - direction) == pytest.approx(2 * slope, rel=1e-6, abs=1e-12 * size)
    assert held.bend(masses, direction) == pytest.approx(0.5 * curvature, rel=1e-3, abs=1e-20 * size)
    far = 1e4 * direction  # no multiplier changes its sign on the way
    whole = held.value(y + far) - held.value(y)
    assert whole == pytest.approx((activity[rows] - side) @ far[rows] + held.bend(masses, far), abs=1e-11 * size)


def test_a_side_that_a_row_does_not_have_cannot_be_priced():
    held = problem([0, 0], [2.0], [[1, 0]], [-np.inf], [0.5])
    assert held.value(np.array([1.0])) == np.inf
    assert np.isfinite(held.value(np.array([-1.0])))
    held = problem([0, 0], [2.0], [[1, 0]], [1.5], [np.inf])
    assert held.value(np.array([-1.0])) == np.inf


def test_without_rows_every_mass_is_alike():
    found = minimise(problem([1, 0, 1, 1], [2.0, 6.0, 5.0], np.empty((0, 4)), [], [], weight=np.full(4, 6.0)))
    np.testing.assert_allclose(found.masses, [2, 2, 2, 2])
    assert found.bound == pytest.approx(-8 * np.log(1 / 3))
    assert found.iterations == 0


def test_class_counts_of_a_leaf_are_shared_in_proportion():
    weight, counts = np.array([3.0, 5.0, 2.0]), np.array([4.0, 5.0, 1.0])
    found = minimise(problem(np.repeat(np.arange(3), 3), weight, np.tile(np.eye(3), 3), counts, counts))
    np.testing.assert_allclose(found.masses.reshape(3, 3), np.outer(weight, counts) / 10, rtol=1e-9)
    assert found.bound == pytest.approx(-(counts * np.log(counts / 10)).sum(), rel=1e-12)


def test_a_rate_leaves_the_rest_to_the_other_classes_equally():
    rows = np.tile([1.0, 0.0, 0.0, 0.0], 2)
    found = minimise(problem(np.repeat([0, 1], 4), [6.0, 3.0], [rows], [6.0], [6.0]))
    np.testing.assert_allclose(found.masses, [4, 2 / 3, 2 / 3, 2 / 3, 2, 1 / 3, 1 / 3, 1 / 3], rtol=1e-9)


@pytest.mark.parametrize(("lower", "upper", "expected"), [(0.2, 0.6, 0.6), (1.5, 1.8, 1.5), (0.2, 1.8, 1.0)])
def test_a_row_with_two_sides_holds_at_the_nearer_one(lower, upper, expected):
    assert minimise(problem([0, 0], [2.0], [[1, 0]], [lower], [upper])).masses[0] == pytest.approx(expected, rel=1e-9)
    # The multiplier of the start is on the other side of the kink.
    start = np.array([-3.0 if expected > 1 else 3.0])
    assert minimise(problem([0, 0], [2.0], [[1, 0]], [lower], [upper]), start).masses[0] == pytest.approx(expected)


def test_a_label_that_is_only_just_met_has_no_multiplier():
    found = minimise(problem([0, 0, 0], [3.0], [[1, -1, 0], [1, 0, -1]], [0, 0], [np.inf, np.inf]))
    np.testing.assert_array_equal(found.multipliers, 0.0)
    np.testing.assert_allclose(found.masses, 1.0)


def test_masses_that_inequalities_force_to_zero_vanish():
    """The classes of two owners: a <= b in the first and at least as many a as there are individuals of the second."""
    rows = [[1, -1, 0, 0, 0], [1, 0, 0, 1, 0], [0, 0, 0, 1, 0]]
    found = minimise(problem([0, 0, 0, 1, 1], [2.0, 1.0], rows, [-np.inf, 2.0, -np.inf], [0.0, np.inf, 1.0]))
    np.testing.assert_allclose(found.masses, [1, 1, 0, 1, 0], atol=1e-8)
    assert 0 <= found.bound - 2 * np.log(2) <= 1e-7


def test_rows_that_repeat_others_or_the_totals_change_nothing():
    rng = np.random.default_rng(0)
    owner = np.repeat(np.arange(4), 3)
    total, rows = np.array([3.0, 1.0, 4.0, 2.0]), rng.integers(0, 2, (3, 12)).astype(float)
    value = rows @ (total[:, None] * rng.dirichlet(np.ones(3), 4)).reshape(-1)
    again = np.vstack([rows, rows[0] + rows[1], 2 * rows[2], np.ones(12), np.zeros(12), owner == 2])
    values = np.concatenate([value, [value[0] + value[1], 2 * value[2], 10.0, 0.0, 4.0]])
    once, twice = (
        minimise(problem(owner, total, rows, value, value)),
        minimise(problem(owner, total, again, values, values)),
    )
    np.testing.assert_allclose(twice.masses, once.masses, atol=1e-8)
    assert twice.bound == pytest.approx(once.bound, abs=1e-9)
    assert np.abs(twice.multipliers).max() < 1e3


def test_owners_without_individuals_or_without_masses_count_for_nothing():
    full = minimise(problem([0, 0], [2.0], [[1, 0]], [0.5], [0.5]))
    more = minimise(problem([2, 2, 0, 0], [0.0, 7.0, 2.0], [[1, 0, 1, 0]], [0.5], [0.5], weight=[2, 2, 1, 1]))
    assert more.bound == pytest.approx(full.bound, rel=1e-12)
    np.testing.assert_allclose(more.masses, [0.5, 1.5, 0, 0], atol=1e-9)


def test_rows_that_contradict_each_other_are_proved_to():
    held = problem([0, 0, 0], [3.0], [[1, 0, 0], [1, 1, 0]], [2.0, -np.inf], [np.inf, 1.0])
    found = minimise(held)
    assert found.bound < held.least
    assert found.iterations < 200


def test_multipliers_are_recovered_from_the_masses():
    rng = np.random.default_rng(3)
    owner, rows = np.repeat(np.arange(6), 4), rng.standard_normal((5, 24))
    y = rng.standard_normal(5)
    held = problem(owner, rng.uniform(1, 9, 6), rows, np.zeros(5), np.zeros(5))
    np.testing.assert_allclose(multipliers_at(held, held.masses(y), np.ones(5, bool)), y, atol=1e-8)
    np.testing.assert_array_equal(multipliers_at(held, held.masses(y), np.zeros(5, bool)), 0.0)


@pytest.mark.parametrize("sparse_factor", [False, True])
def test_sparse_and_dense_algebra_agree(monkeypatch, sparse_factor):
    rng = np.random.default_rng(5)
    n_owners, n_classes, n_leaves = 120, 5, 8
    owner, klass = np.divmod(np.arange(n_owners * n_classes), n_classes)
    leaf = rng.integers(0, n_leaves, n_owners)[owner]
    which = np.concatenate([leaf * n_classes + klass, n_leaves * n_classes + klass])
    rows = sparse.csr_matrix((np.ones(len(which)), (which, np.tile(np.arange(len(owner)), 2))))
    masses = rng.exponential(size=len(owner))
    total = np.bincount(owner, masses)
    value = rows @ masses
    held = LinearEntropy(owner, total, total[owner], rows, value - rng.integers(0, 2, len(value)), value + 0.5)
    dense = minimise(held)
    monkeypatch.setattr(linear_entropy, "DENSE_PRODUCT", 0)
    monkeypatch.setattr(linear_entropy, "FILLED", 0)
    monkeypatch.setattr(linear_entropy, "DENSE_FACTOR", 0 if sparse_factor else 1000)
    other = minimise(held)
    assert dense.residual <= 1e-9
    assert other.residual <= 1e-9
    assert other.bound == pytest.approx(dense.bound, rel=1e-12)
    np.testing.assert_allclose(other.masses, dense.masses, atol=1e-7)


def test_a_clock_that_has_run_out_leaves_a_valid_bound():
    held = problem([0, 0], [2.0], [[1, 0]], [0.5], [0.5])
    found = minimise(held, clock=Clock(0.0))
    assert found.iterations == 0
    assert found.bound == held.value(found.multipliers) > minimise(held).bound


def test_a_singular_system_is_solved_with_the_first_ridge_that_does():
    rows = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 1.0, 1.0]])
    solve = cholesky(rows @ rows.T, (-1.0, 1e-5, np.nan))
    wanted = rows @ np.ones((3, 2))
    np.testing.assert_allclose(rows @ rows.T @ solve(wanted), wanted, atol=1e-4)
    np.testing.assert_allclose(solve(wanted)[:, 0], solve(wanted[:, 0]))
    assert cholesky(-np.identity(3), (1e-9, 1e-6)) is None


def test_many_rows_about_one_owner_are_not_factored(monkeypatch):
    """Their Hessian is full, and SciPy's sparse factorisation lets nothing look at the clock meanwhile."""
    rng = np.random.default_rng(7)
    owner, n = np.repeat([0, 1], 60), 40
    rows = sparse.csr_matrix((np.ones(240), (np.repeat(np.arange(n), 6), rng.permutation(np.tile(np.arange(120), 2)))))
    rows.data[:] = 1.5  # no plain sums, such as those of several trees
    masses = rng.exponential(size=120)
    total, value = np.bincount(owner, masses), rows @ masses
    held = LinearEntropy(owner, total, total[owner], rows, value, value)
    factored = minimise(held)
    assert not held.tangled
    monkeypatch.setattr(linear_entropy, "OVERLAPPING_FACTOR", 20)
    monkeypatch.setattr(newton, "OVERLAPPING_FACTOR", 20)
    monkeypatch.setattr(newton, "solve_definite", None)
    found = minimise(LinearEntropy(owner, total, total[owner], rows, value, value))
    assert found.residual <= 1e-9
    assert found.bound == pytest.approx(factored.bound, rel=1e-12)


def weighed(seed: int, width: float, owners: int = 40) -> LinearEntropy:
    """Weighted sums over the members of some groups who have the second of two classes; the truth is within all."""
    random = np.random.default_rng(seed)
    total = random.integers(1, 9, owners).astype(float)
    truth = np.round(random.random(owners) * total)
    weights = (random.random((12, owners)) < 0.4) * random.uniform(0.2, 1.0, (12, owners))
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


CLASSES = 3


def counted(seed: int, trees: int, owners: int = 60, blur: int = 0) -> tuple[LinearEntropy, np.ndarray]:
    """Owners in random leaves of some trees, whose classes are counted up to ``blur``; and the true masses."""
    rng = np.random.default_rng(seed)
    truth = rng.multinomial(1, [0.7, 0.25, 0.05], (owners, 5)).sum(axis=1) * 1.0
    masses = owners * CLASSES
    owner, klass = np.arange(masses) // CLASSES, np.arange(masses) % CLASSES
    rows = []
    for _ in range(trees):
        row = (rng.integers(0, owners // 4, owners)[owner]) * CLASSES + klass
        rows.append(sparse.csr_matrix((np.ones(masses), (row, np.arange(masses))), shape=(row.max() + 1, masses)))
    matrix = sparse.csr_matrix(sparse.vstack(rows))
    matrix = matrix[np.flatnonzero(np.diff(matrix.indptr))]
    counts = matrix @ truth.ravel()
    lower = np.where(counts - blur > 0, counts - blur, -np.inf) if blur else counts
    total = truth.sum(axis=1)
    return LinearEntropy(owner, total, total[owner], matrix, lower, counts + blur), truth.ravel()


@pytest.mark.parametrize("blur", [0, 1])
@pytest.mark.parametrize("seed", range(4))
def test_the_answer_is_that_of_the_usual_method_of_overlap(seed: int, blur: int) -> None:
    problem, truth = counted(seed, trees=3, blur=blur)
    usual = minimise(problem, tolerance=1e-10, max_iterations=500)
    found = minimise_overlapping(problem, 1e-10, Clock())
    assert found.residual <= 1e-8
    assert found.bound == pytest.approx(usual.bound, abs=1e-6 * problem.total.sum())
    np.testing.assert_allclose(found.masses, usual.masses, atol=1e-3)
    entropy = -(truth * np.log(np.maximum(truth, 1e-300) / problem.weight)).sum()
    assert found.bound >= entropy - 1e-6  # the truth is feasible


def test_nobody_is_ruled_out_whom_counts_leave_a_choice() -> None:
    problem, truth = counted(0, trees=8)
    face = find_face(problem, Clock())
    assert face is not None
    found = minimise_overlapping(problem, 1e-10, Clock())
    np.testing.assert_array_equal(found.masses > 0, face.alive)
    assert (found.masses[truth > 0] > 0).all()
    assert 1e-10 > found.bound + (found.masses * np.log(found.masses.clip(1e-300) / problem.weight)).sum() > -1e-9
    assert np.abs(problem.matrix @ found.masses - problem.lower).max() <= 1e-8
    np.testing.assert_allclose(np.bincount(problem.owner, found.masses), problem.total)


def test_the_search_for_a_face_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    assert find_face(counted(0, trees=8)[0], Clock()) is not None
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("blur", [0, 2])
def test_fitting_lowers_the_bound_with_every_round(blur: int) -> None:
    problem, _ = counted(1, trees=4, blur=blur)
    bounds = [problem.value(fitted(problem, rounds, Clock(), np.zeros(len(problem.lower)))) for rounds in range(8)]
    assert (np.diff(bounds) <= 1e-9).all()
    assert bounds[-1] < bounds[0] - 1


def test_a_clock_that_has_run_out_ends_it_with_a_bound() -> None:
    problem, _ = counted(2, trees=4)
    assert np.isfinite(minimise_overlapping(problem, 1e-10, Clock(0.0)).bound)


def thousands(beta: float, k: int) -> tuple[maxent.Release, pd.DataFrame]:
    """Random trees with thousands of counts, and their people."""
    rng = np.random.default_rng(5)
    people = pd.DataFrame(
        {name: rng.choice(list("abcdef"), 2_000, p=[0.4, 0.2, 0.2, 0.1, 0.05, 0.05]) for name in "PQRS"}
    )
    people["class"] = np.where(rng.random(2_000) < 0.3, people["P"], rng.choice(list("xyz"), 2_000))
    training = read_training(people, target="class", qi=list("PQRS"))
    return random_trees(training, RandomTrees(4, 2, beta, k, seed=1)), people


@pytest.mark.parametrize(("beta", "k"), [(1.0, 0), (1.0, 3), (0.4, 0)])
def test_a_forest_with_thousands_of_counts_is_solved(beta: float, k: int) -> None:
    forest, people = thousands(beta, k)
    found = maxent.estimate(forest, people[list("PQRS")], people)
    assert found.reliable
    assert found.certificate == "global"
    assert np.isfinite(found.summary["divergence"]["overall"])


class Counting(Clock):
    """Stops the so-manieth time that somebody asks."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.asked, self.most = 0, most

    def stop(self) -> Stop | None:
        self.asked += 1
        return Stop.INTERRUPTED if self.asked > self.most else None

    @property
    def runs(self) -> bool:
        return True


@pytest.mark.parametrize("trees", [4, 8])
def test_an_answer_cut_short_is_as_good_as_a_few_rounds_of_fitting(trees: int) -> None:
    problem, _ = counted(3, trees, owners=120)
    few, whole = Counting(10**9), Counting(10**9)
    masses = problem.masses(fitted(problem, 5, few, np.zeros(len(problem.lower))))
    off = np.abs(problem.matrix @ masses - problem.lower).max()
    optimum = minimise_overlapping(problem, 1e-10, whole)
    assert optimum.residual <= 1e-8 < off
    for asked in np.linspace(few.asked + 1, whole.asked, 25, dtype=int).tolist():
        found = minimise_overlapping(problem, 1e-10, Counting(asked))
        assert np.abs(problem.matrix @ found.masses - problem.lower).max() <= off
        assert found.bound >= optimum.bound - 1e-8


def test_what_will_take_minutes_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlapping, "PER_FITTING", 1e9)
    problem, _ = counted(0, trees=3)
    heard: list[str] = []
    with hearing(heard.append):
        minimise_overlapping(problem, 1e-10, Clock())
        minimise_overlapping(problem, 1e-10, Clock())
    assert len(heard) == 1
    assert re.fullmatch(
        r"solving will take about \d+ hours: 180 unknowns in \d+ sums that overlap; fewer trees take less", heard[0]
    )
    with hearing(heard.append):
        minimise_overlapping(problem, 1e-10, Clock(30.0))  # which ends it soon
    minimise_overlapping(problem, 1e-10, Clock())
    assert len(heard) == 1


def test_the_steps_to_the_face_foretell_it_where_fitting_did_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(face_module, "SEEN", 1)
    monkeypatch.setattr(face_module, "WORTH", 1e9)
    heard: list[str] = []
    with hearing(heard.append):
        minimise_overlapping(counted(0, trees=3)[0], 1e-10, Clock(1e6))
    assert [re.sub(r"\d+", "N", text) for text in heard] == [
        "solving will take about N hours: N unknowns in N sums that overlap; fewer trees take less"
    ]


def test_what_nobody_foretold_says_so_once_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "PATIENCE", 0.0)
    heard, said = list[str](), threading.Event()

    def hear(text: str) -> None:
        heard.append(text)
        said.set()

    with hearing(hear):
        for _ in range(2):
            with control.watched("waiting", lambda: "for this", "less is shorter", Clock()):
                assert said.wait(60.0)
    assert heard == ["waiting has taken 0 s, and may take minutes: for this; less is shorter"]


@pytest.mark.parametrize(("name", "or_auto"), [("newton", ""), ("other", ", or the back end auto,")])
def test_compiling_and_solving_are_watched(monkeypatch: pytest.MonkeyPatch, name: str, or_auto: str) -> None:
    seen: list[str] = []

    def watching(doing: str, what: Callable[[], str], shorter: str, clock: Clock) -> AbstractContextManager[None]:
        seen.append(re.sub(r"\d[\d,]*", "N", f"{doing}: {what()}; {shorter}"))
        return nullcontext()

    for module in (attempt, compile_module):
        monkeypatch.setattr(module, "watched", watching)
    monkeypatch.setattr(attempt, "may_be_ended", lambda program, clock: True)
    monkeypatch.setattr(engine, "load_backend", lambda name: backend)
    backend = NewtonBackend()
    backend.name = name
    release, people, known = forest(28)
    assert not known
    maxent.estimate(release, people)
    assert seen == [
        "compiling: nobody was placed yet; fewer trees, or less --knowledge, take less",
        f"solving: N unknowns in N statements, by {name}; fewer trees or private attributes{or_auto} take less",
    ]


def test_of_a_single_tree_no_trees_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def watching(doing: str, what: Callable[[], str], shorter: str, clock: Clock) -> AbstractContextManager[None]:
        seen.append(shorter)
        return nullcontext()

    monkeypatch.setattr(attempt, "watched", watching)
    monkeypatch.setattr(attempt, "may_be_ended", lambda program, clock: True)
    release, people = contested("gini")
    maxent.estimate(release, people.drop(columns="X"), backend="ipopt", jobs=1)
    assert set(seen) == {"less --knowledge, or the back end auto, takes less"}


def test_the_command_says_so_on_standard_error_and_how_far_it_came(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(overlapping, "PER_FITTING", 1e9)
    monkeypatch.setattr(linear_entropy, "DENSE_FACTOR", 0)
    monkeypatch.setattr(overlapping, "find_face", lambda problem, clock, start: clock.interrupt())
    forest, people = thousands(1.0, 0)
    forest.save(tmp_path / "forest.json")
    people.drop(columns="class").to_csv(tmp_path / "qi.csv", index=False)
    printed = printed_by(capsys, ["estimate", str(tmp_path / "forest.json"), str(tmp_path / "qi.csv")], 1)
    assert re.search(r"note: solving will take about \d+ hours: .*; --time-limit SECONDS gives the best", printed.err)
    assert re.search(
        r"interrupted, not to be relied on; 0 steps; the optimum leaves at most \d+\.\d+ % doubt", printed.out
    )


@pytest.mark.filterwarnings("ignore::maxent.models.errors.UnreliableResult")
def test_work_that_does_not_look_at_the_clock_leaves_the_fitted_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear_entropy, "DENSE_FACTOR", 0)
    over = threading.Event()

    def deaf(problem: LinearEntropy, clock: Clock, start: np.ndarray | None) -> None:
        clock.interrupt()
        over.wait(60.0)

    monkeypatch.setattr(overlapping, "find_face", deaf)
    forest, people = thousands(1.0, 0)
    found = maxent.estimate(forest, people[list("PQRS")], time_limit=300)
    over.set()
    assert found.summary["status"] == "interrupted"
    assert found.summary["max_violation"] < 0.05  # uniform it would be near 1
    assert np.isfinite(found.summary["entropy_upper_bound"])


def transport(owner, group, people, rows):
    """The entries that some assignment uses; there is a complete one."""
    found = assign_rows(owner, group, people, rows)
    assert not found.shortages
    kept = found.possible
    return Transport(owner[kept], group[kept], people.astype(float), rows.astype(float))


@st.composite
def transports(draw):
    """People with rows, each covered by their own and a few others."""
    n = draw(st.integers(2, 30))
    who, which = (np.array(draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))) for _ in range(2))
    more = draw(st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=40))
    (_, owner), (_, group) = np.unique(who, return_inverse=True), np.unique(which, return_inverse=True)
    people, rows = np.bincount(owner), np.bincount(group)
    pairs = {
        *zip(owner.tolist(), group.tolist(), strict=True),
        *((q, b) for q, b in more if q < len(people) and b < len(rows)),
    }
    first, second = np.array(sorted(pairs)).T
    return transport(first, second, people, rows)


def solved(problem, sweeps):
    log_v, steps = problem.scaled(Options(), lambda done, total: None, sweeps)
    masses = problem.masses(log_v)
    assert np.abs(problem.missed(masses)).max() <= 1e-8
    np.testing.assert_allclose(np.bincount(problem.row, masses), problem.total)
    assert masses.min() > 0
    return masses, steps


@thorough(60)
@given(problem=transports())
def test_sweeps_and_newton_agree(problem):
    swept, _ = solved(problem, 20_000)
    stepped, _ = solved(problem, 0)
    np.testing.assert_allclose(swept, stepped, atol=1e-6)
    # At the maximum m = u v: the logarithm of a mass is a number of its row and one of its column.
    design = np.hstack([np.eye(len(problem.total))[problem.row], np.eye(len(problem.size))[problem.column]])
    logs = np.log(stepped)
    assert np.abs(design @ np.linalg.lstsq(design, logs, rcond=None)[0] - logs).max() <= 1e-6


def ladder(n):
    """Everybody may have the row of the next: what one moves, all have to."""
    owner, group = np.repeat(np.arange(n), 2), np.repeat(np.arange(n), 2)
    group[1::2] = np.minimum(group[1::2] + 1, n - 1)
    owner, group = np.append(owner[:-1], n - 1), np.append(group[:-1], 0)
    return transport(owner, group, np.full(n, 3), np.full(n, 3))


def test_newton_ends_what_sweeps_would_take_long_for():
    problem = ladder(60)
    problem.size[:30] += 0.05
    problem.size[30:] -= 0.05
    masses, steps = solved(problem, 5)
    assert steps > 0
    assert len(masses) == 120


def test_the_clock_ends_newton():
    problem = ladder(40)
    problem.size[:20] += 0.05
    problem.size[20:] -= 0.05
    clock = Clock()
    clock.interrupt()
    log_v, steps = problem.scaled(Options(clock=clock), lambda done, total: None, sweeps=1)
    assert steps == 0
    assert np.abs(problem.missed(problem.masses(log_v))).max() > 1e-3


FITTED_CLASSES = [f"c{i:02}" for i in range(16)]


@pytest.fixture(scope="module")
def program() -> Program:
    """Four random trees that count 16 classes of 600 people."""
    rng = np.random.default_rng(3)
    people = pd.DataFrame({name: rng.choice(list("abcd"), 600, p=[0.4, 0.3, 0.2, 0.1]) for name in "PQRS"})
    score = people.map(ord).to_numpy() @ [1, 2, 3, 5] + (rng.random(600) < 0.3) * rng.integers(0, 16, 600)
    people["class"] = np.array(FITTED_CLASSES)[score % 16]
    training = read_training(people, target="class", qi=list("PQRS"))
    program: Program = compile_release(random_trees(training, RandomTrees(4, 3, 1.0, 0, seed=1)), people[list("PQRS")])
    return program


def swept(program: Program, masses: FloatArray) -> Iterator[FloatArray]:
    """Proportional fitting as anyone would write it: each leaf of each tree in turn, then everybody."""
    while True:
        for t, tree in enumerate(program.release.trees):
            for place, node in enumerate(tree.nodes):
                inside = program.cells.trees[t].at(place)
                if node.counts is not None and len(inside):
                    counts = np.array([node.counts[name] for name in FITTED_CLASSES])
                    masses[inside] *= counts / np.maximum(masses[inside].sum(axis=0), 1e-300)
            masses *= (program.weight / np.maximum(masses.sum(axis=1), 1e-300))[:, None]
        yield masses.copy()


def after(program: Program, masses: FloatArray, sweeps: int) -> float:
    """The smallest violation after some sweeps."""
    of = Evaluator(program).max_violation
    return min(of(each) for each, _ in zip(swept(program, masses.copy()), range(sweeps), strict=False))


def far_off(program: Program) -> FloatArray:
    """Masses from which fitting takes many rounds: nearly all of everybody in a class of their own."""
    shares = np.random.default_rng(0).dirichlet(np.full(program.n_classes, 0.02), len(program.cells)) + 1e-9
    masses: FloatArray = shares * (program.weight / shares.sum(axis=1))[:, None]
    return masses


def fitted_long(program: Program) -> FloatArray:
    return [each for each, _ in zip(swept(program, uniform_answer(program)), range(60), strict=False)][-1]


STARTS: dict[str, Callable[[Program], FloatArray]] = {
    "uniform": uniform_answer,
    "far off": far_off,
    "near": fitted_long,
}


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("late", [True, False])
def test_it_is_as_near_as_what_there_was_and_as_a_few_sweeps_of_it_and_of_the_uniform_one(
    program: Program, start: str, late: bool
) -> None:
    masses, evaluator = STARTS[start](program), Evaluator(program)
    found = nearer(program, evaluator, masses.copy(), 1e-9, lambda: late)
    np.testing.assert_allclose(found.sum(axis=1), program.weight)
    least = evaluator.max_violation(found)
    assert least <= evaluator.max_violation(masses)
    assert least <= after(program, masses, FEW) + 1e-12
    assert least <= after(program, uniform_answer(program), FEW) + 1e-12
    if not late:
        assert least <= after(program, uniform_answer(program), 60) + 1e-12


def test_the_best_round_is_kept_and_not_the_last(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    good, best, worse = next(swept(program, uniform_answer(program))), fitted_long(program), far_off(program)
    told = iter([good, best, worse] + [worse] * driver.ROUNDS * 2)
    monkeypatch.setattr(driver, "_round", lambda *of: (next(told).copy(), 1.0))
    found = nearer(program, Evaluator(program), uniform_answer(program), 1e-9, lambda: False)
    np.testing.assert_array_equal(found, best)


def test_the_nearest_point_of_a_back_end_is_kept_and_not_the_last() -> None:
    near, far = np.zeros(2), np.ones(2)
    with keeping() as place:
        for point, missed in ((far, 0.5), (near, 0.1), (far, 0.2)):
            keep(point, None, missed)
        assert place[0].point is near
        keep(far, None, 0.0)
        assert len(place) == 1
        assert place[0].point is far


class Alarm(Clock):
    """A clock that says to stop once it has been asked some number of times, and then that it is late already."""

    def __init__(self, asked: int) -> None:
        super().__init__()
        self.rest = asked

    def stop(self) -> Stop | None:
        self.rest -= 1
        return Stop.INTERRUPTED if self.rest < 0 else None

    def late(self) -> float:
        return 1.0 if self.rest < 0 else 0.0


@pytest.mark.parametrize("asked", [0, 2, 5, 8, 12])
def test_whenever_a_solve_is_stopped_its_answer_is_as_near_as_a_few_sweeps(
    program: Program, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linear_entropy, "DENSE_FACTOR", 0)  # as of forests with thousands of counts
    found = solve_program(program, load_backend("newton"), Options(clock=Alarm(asked)))
    assert found.status == "interrupted"
    assert found.violation == Evaluator(program).max_violation(found.masses)
    assert found.violation <= after(program, uniform_answer(program), FEW) + 1e-12


def people_with_weights(seed: int, n_classes: int, *, shuffled: bool) -> LinearEntropy:
    """People in leaves whose counts are known, and weighted sums about everybody, nearly known."""
    rng = np.random.default_rng(seed)
    people, leaves, dense = 300, 15, 4
    owner = np.repeat(np.arange(people), n_classes)
    owner = rng.permutation(owner) if shuffled else owner
    leaf = owner % leaves
    light = sparse.csr_matrix((np.ones(len(owner)), (leaf, np.arange(len(owner)))))
    light = light.multiply(rng.random(len(owner)) < 0.5)
    matrix = sparse.csr_matrix(sparse.vstack([light, rng.normal(size=(dense, len(owner)))]))
    total = rng.integers(1, 4, people).astype(float)
    masses = rng.random(len(owner)) + 0.1
    masses *= (total / np.bincount(owner, masses))[owner]
    width = np.concatenate([np.zeros(leaves), np.full(dense, 1e-3)])
    return LinearEntropy(owner, total, np.ones(len(owner)), matrix, matrix @ masses - width, matrix @ masses + width)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("shuffled", [False, True])
def test_rows_about_everybody_are_multiplied_as_dense_ones(
    n_classes: int, shuffled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = people_with_weights(1, n_classes, shuffled=shuffled)
    monkeypatch.setattr(linear_entropy, "DENSE_PRODUCT", 1)
    monkeypatch.setattr(linear_entropy, "FILLED", 0)
    monkeypatch.setattr(linear_entropy, "HEAVY", 2)
    monkeypatch.setattr(linear_entropy, "CHUNK", 0)
    monkeypatch.setattr(linear_entropy, "DENSE", 500)
    assert problem.heavy.sum() == 4
    masses = problem.masses(np.random.default_rng(2).normal(size=len(problem.lower)))
    for rows in (np.array([0, 3, 15, 17, 18, 7]), np.delete(np.arange(19), [2, 16])):  # by themselves, and of all
        assert np.allclose(problem.hessian(masses, rows), problem.gram(masses, rows).toarray(), rtol=1e-10, atol=1e-10)
    found = minimise(problem)
    assert found.residual <= 1e-9
    assert found.bound - problem.entropy(found.masses) <= 1e-6
