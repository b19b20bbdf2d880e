"""The dual of maximum entropy under linear rows: it bounds, meets the maximum, and bears degenerate rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from support.strategies import thorough

from maxent.solvers.control import Clock
from maxent.solvers.derivatives import cholesky
from maxent.solvers.dual import linear_entropy, newton
from maxent.solvers.dual.linear_entropy import LinearEntropy
from maxent.solvers.dual.newton import minimise, multipliers_at


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
    n_rows = draw(st.integers(0, 8))
    matrix = rng.choice([-1.0, 0.0, 0.0, 1.0, 1.0, 0.37], (n_rows, len(owner)))
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
    held = problem([1, 0, 1, 1], [2.0, 6.0, 5.0], np.empty((0, 4)), [], [], weight=np.full(4, 6.0))
    found = minimise(held)
    np.testing.assert_allclose(found.masses, [2, 2, 2, 2])
    assert found.bound == pytest.approx(-8 * np.log(1 / 3))
    assert found.iterations == 0


def test_class_counts_of_a_leaf_are_shared_in_proportion():
    weight, counts = np.array([3.0, 5.0, 2.0]), np.array([4.0, 5.0, 1.0])
    held = problem(np.repeat(np.arange(3), 3), weight, np.tile(np.eye(3), 3), counts, counts)
    found = minimise(held)
    np.testing.assert_allclose(found.masses.reshape(3, 3), np.outer(weight, counts) / 10, rtol=1e-9)
    assert found.bound == pytest.approx(-(counts * np.log(counts / 10)).sum(), rel=1e-12)


def test_a_rate_leaves_the_rest_to_the_other_classes_equally():
    rows = np.tile([1.0, 0.0, 0.0, 0.0], 2)
    found = minimise(problem(np.repeat([0, 1], 4), [6.0, 3.0], [rows], [6.0], [6.0]))
    np.testing.assert_allclose(found.masses, [4, 2 / 3, 2 / 3, 2 / 3, 2, 1 / 3, 1 / 3, 1 / 3], rtol=1e-9)


@pytest.mark.parametrize(("lower", "upper", "expected"), [(0.2, 0.6, 0.6), (1.5, 1.8, 1.5), (0.2, 1.8, 1.0)])
def test_a_row_with_two_sides_holds_at_the_nearer_one(lower, upper, expected):
    found = minimise(problem([0, 0], [2.0], [[1, 0]], [lower], [upper]))
    assert found.masses[0] == pytest.approx(expected, rel=1e-9)
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
    held = problem([0, 0, 0, 1, 1], [2.0, 1.0], rows, [-np.inf, 2.0, -np.inf], [0.0, np.inf, 1.0])
    found = minimise(held)
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
