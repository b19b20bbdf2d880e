"""Newton's method on the optimality conditions: exact from rough answers, whatever is guessed to be active."""

from dataclasses import replace

import numpy as np
import pytest
from conformance.answers import random_problem
from scipy.optimize import lsq_linear
from support.programs import public, whole
from support.symmetric import grown

import maxent
from maxent.solvers.backend import Options
from maxent.solvers.backends.ipopt_ import IpoptBackend
from maxent.solvers.conic import kkt
from maxent.solvers.conic.descent import descend
from maxent.solvers.conic.kkt import Active, fitted
from maxent.solvers.conic.model import ConicModel
from maxent.solvers.conic.polish import polish, restore
from maxent.solvers.control import Clock
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.solve import driver, finish

TOLERANCE = 1e-8


@pytest.fixture(scope="module", params=["gini", "entropy"])
def solved(request):
    """A convex program whose comparisons bind, a conic solver's answer to two digits or three, and Ipopt's."""
    program, part = whole(*public(request.param, "counts", seed=2))
    harder = replace(part.program, nl_const=part.program.nl_const - {"gini": 0.02, "entropy": 0.04}[request.param])
    rough = ConicModel(harder).solve("CLARABEL", dict.fromkeys(("tol_feas", "tol_gap_abs", "tol_gap_rel"), 1e-4))
    start = part.point(np.repeat(program.weight[:, None] / program.n_classes, program.n_classes, axis=1))
    return harder, rough, IpoptBackend("own").solve(harder, start, Options()).point


def test_a_rough_answer_becomes_exact(solved):
    program, rough, optimum = solved
    exact = polish(program, rough.point, rough.active, TOLERANCE, Clock())
    assert np.abs(rough.point - optimum).max() > 1e-4
    np.testing.assert_allclose(exact, optimum, atol=1e-6)
    assert Derivatives(program).violation(exact) <= 1e-12


def test_a_small_system_is_solved_densely_and_a_large_one_sparsely_to_the_same_point(solved, monkeypatch):
    program, rough, _ = solved
    systems = []
    for name in ("_dense_system", "_sparse_system"):
        solve = getattr(kkt, name)
        monkeypatch.setattr(kkt, name, lambda *given, name=name, solve=solve: (systems.append(name), solve(*given))[1])
    small = polish(program, rough.point, rough.active, TOLERANCE, Clock())
    assert set(systems) == {"_dense_system"}
    monkeypatch.setattr(kkt, "DENSE", 0)
    np.testing.assert_allclose(polish(program, rough.point, rough.active, TOLERANCE, Clock()), small, atol=1e-9)
    assert set(systems) == {"_dense_system", "_sparse_system"}


def test_a_point_without_vanishing_probabilities_is_not_raised():
    program = whole(*public("entropy", "counts", seed=2))[1].program
    n = program.n_masses
    point = program.lower.copy()
    point[:n] = np.maximum(point[:n], 1e-3 * program.total[program.owner])
    assert not finish._low(program, point, Options())
    low = np.flatnonzero(program.lower[:n] < program.upper[:n])[0]
    point[low] = 0.0
    assert finish._low(program, point, Options())
    assert finish._raised(program, point, Options())[low] > 0


def test_wrong_guesses_of_what_is_active_are_corrected_or_given_up(solved):
    program, rough, optimum = solved
    unequal = np.flatnonzero(np.not_equal(*Derivatives(program).bounds()))
    assert (rough.active.side[unequal] != 0).any()
    none = rough.active.side.copy()
    none[unequal] = 0
    np.testing.assert_allclose(
        polish(program, rough.point, replace(rough.active, side=none), TOLERANCE, Clock()), optimum, atol=1e-6
    )
    corrected = 0
    for row in unequal[rough.active.side[unequal] == 0]:
        side = rough.active.side.copy()
        side[row] = -1
        exact = polish(program, rough.point, replace(rough.active, side=side), TOLERANCE, Clock())
        if exact is not None:
            np.testing.assert_allclose(exact, optimum, atol=1e-6)
            corrected += 1
    assert corrected


def test_a_point_off_the_constraints_is_moved_there(solved):
    program, _, optimum = solved
    own = Derivatives(program)
    off = optimum * np.exp(0.05 * np.random.default_rng(1).standard_normal(program.n))
    assert own.violation(off) > 0.1
    moved = restore(program, off, TOLERANCE, Clock())
    assert own.violation(moved) <= TOLERANCE
    assert np.abs(moved - off).max() <= 2 * np.abs(optimum - off).max()


def test_contradictions_have_no_polished_answer(solved):
    program, rough, _ = solved
    impossible = replace(program, nl_const=program.nl_const - 10.0)
    active = Active(rough.active.multipliers, np.full_like(rough.active.side, -1), rough.active.bound)
    assert polish(impossible, rough.point, active, TOLERANCE, Clock()) is None


def test_multipliers_of_rows_that_depend_on_each_other_have_their_signs():
    """Three masses sum to 3, and none is above 1: those of least norm would let two bounds go."""
    rows, sign = np.vstack([np.ones(3), -np.eye(3)]), np.array([0, -1, -1, -1])
    gradient = np.array([0.3, 0.1, -0.2])
    y = fitted(rows, gradient, sign)
    assert (y[1:] <= 0).all()
    np.testing.assert_allclose(gradient + rows.T @ y, 0.0, atol=1e-12)


def test_multipliers_fit_as_well_as_any_of_their_signs():
    rng = np.random.default_rng(0)
    for _ in range(50):
        n_rows, n = rng.integers(1, 9, 2)
        rows = rng.standard_normal((n_rows, n)) @ np.diag(rng.random(n) < 0.8)
        gradient, sign = rng.standard_normal(n), rng.integers(-1, 2, n_rows)
        y = fitted(rows, gradient, sign)
        assert (sign * y >= 0).all()
        best = lsq_linear(rows.T, -gradient, (np.where(sign > 0, 0, -np.inf), np.where(sign < 0, 0, np.inf)), tol=1e-12)
        assert np.linalg.norm(gradient + rows.T @ y) <= np.sqrt(2 * best.cost) + 1e-6


@pytest.fixture
def in_a_valley(monkeypatch):
    """A program, points that a solver ended in, and what was made of them: classes are exchangeable but for one."""
    kept = []
    plain = finish._as_good

    def keep(program, exact, near, options):
        kept.append((program, exact, near, plain(program, exact, near, options)))
        return kept[-1][-1]

    monkeypatch.setattr(finish, "_as_good", keep)
    monkeypatch.setattr(driver, "bounded_parts", lambda answers, options, meanwhile: answers)  # takes long
    for seed in (0, 3):
        maxent.estimate(*grown(205), seed=seed)
    return kept


def test_the_optimum_of_a_shallow_valley_is_found(in_a_valley):
    """The entropy changes by 1e-8 nats along it."""
    values = []
    for program, exact, near, lowest in in_a_valley:
        assert exact is None
        assert np.abs(lowest - near).max() > 1e-3
        own = Derivatives(program)
        assert own.violation(lowest) <= 1e-12
        assert own.objective(lowest) < own.objective(near) - 1e-9 * program.total.sum()
        values.append(own.objective(lowest))
        again = descend(program, lowest, lambda point, program=program: finish._active(program, point), 1e-8, Clock())
        np.testing.assert_allclose(again, lowest, atol=1e-8)
        assert descend(program, near, lambda point: None, 1e-8, Clock(0.0)) is None
    np.testing.assert_allclose(values, values[0], rtol=0, atol=1e-12)


def test_masses_that_cannot_reach_the_floor_stay_below_it():
    """Statements that leave no room miss the tolerance at the floor: the answer is exact, at a lower one."""
    pytest.importorskip("cyipopt")
    release, people = random_problem(749)
    first, second = (maxent.estimate(release, people, seed=seed) for seed in (0, 3))
    p = first.probabilities
    assert first.summary["status"] == "optimal"
    assert 1e-12 < p[p > 0].min() < 1e-7
    np.testing.assert_allclose(second.probabilities, p, rtol=0, atol=1e-11)
