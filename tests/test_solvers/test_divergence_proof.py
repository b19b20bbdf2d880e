"""Proofs by relative entropies: never of a point that another one exceeds, and of most small optima."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from conformance.answers import random_problem
from scipy.optimize import nnls
from support.programs import private, public, whole
from support.symmetric import grown
from test_solvers.test_bound import middle
from test_solvers.test_priced_bound import IMPURITIES, drawn, random_masses

import maxent
from maxent.constraints.lifting import eliminate
from maxent.constraints.program.impurity_numpy import PHI
from maxent.solvers.backend import Options
from maxent.solvers.backends.newton_ import NewtonBackend
from maxent.solvers.control import Clock
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.dual.newton import minimise
from maxent.solvers.dual.relaxation import relax, relaxed_once
from maxent.solvers.gap import branch_and_bound
from maxent.solvers.gap.bound import gap, priced_bound
from maxent.solvers.gap.branch_and_bound import lacking_in_boxes
from maxent.solvers.gap.divergence import Ball, Curved, _alike, answer, curved, lacking, nonnegative, ordered
from maxent.solvers.gap.divergence import BallRows as Rows
from maxent.solvers.solve.finish import finished


def solved(program, number=4, seed=0):
    """Feasible points that Newton's method comes to from several starts, made exact, with their entropies."""
    rng, own, found = np.random.default_rng(seed), Derivatives(program), []
    elimination = relax(program).elimination
    for start in (middle(program), *(elimination.point(random_masses(program, rng)) for _ in range(number - 1))):
        answer = NewtonBackend().solve(program, np.clip(start, program.lower, program.upper), Options())
        if answer.point is not None and answer.violation <= 1e-8:
            exact = finished(program, answer, Options())
            found.append((-own.objective(exact.point), exact.point))
    return found


def hold(program, points):
    """How many points are proved; no other one has more entropy than such a point by more than it lacks."""
    most = max(entropy for entropy, _ in points)
    lacks = [lacking(program, point, Clock()) for _, point in points]
    for i in np.flatnonzero(np.isinf(lacks)).tolist():
        lacks[i] = lacking_in_boxes(program, points[i][1], Clock())
    for (entropy, _), less in zip(points, lacks, strict=True):
        assert entropy + less >= most - 1e-10
    return int(np.isfinite(lacks).sum())


def test_no_start_leads_to_more_than_what_is_proved():
    program = whole(*drawn(317))[1].program
    assert not program.convex
    assert hold(program, solved(program, 3)) == 3


def test_an_optimum_is_proved_without_a_bound():
    for seed in (184, 201):  # a bound leaves gaps of 2e-4 and 1e-4
        release, frame = drawn(seed)
        found = maxent.estimate(release, frame.drop(columns="X"))
        assert not found.outcome.convex
        assert found.certificate == "global"
        assert found.outcome.duality_gap <= 1e-9


def test_a_proof_loads_no_optimiser(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    program = whole(*drawn(1))[1].program
    assert all(lacking(program, point, Clock()) >= 0 for _, point in solved(program, 1))


def test_the_linear_rows_of_a_small_program_are_worked_out_once():
    program = whole(*drawn(1))[1].program
    assert relaxed_once(program) is relaxed_once(program)
    np.testing.assert_array_equal(relaxed_once(program).linear.lower, relax(program).linear.lower)


def test_least_squares_with_variables_that_are_at_least_0():
    rng = np.random.default_rng(0)
    for number in range(60):
        matrix = rng.standard_normal((rng.integers(1, 9), number % 6))
        if number % 3 == 0 and matrix.shape[1] > 1:
            matrix[:, 1] = 2 * matrix[:, 0]  # several solutions are as good
        right = rng.standard_normal(len(matrix))
        found = nonnegative(matrix, right)
        assert (found >= 0).all()
        best = nnls(matrix, right)[1] if matrix.size else np.linalg.norm(right)
        assert np.linalg.norm(matrix @ found - right) == pytest.approx(best, abs=1e-10)


def test_where_a_ball_is_too_large_boxes_do(monkeypatch):
    release, frame = drawn(123)
    found = maxent.estimate(release, frame.drop(columns="X"), starts=1)
    assert found.certificate == "global"
    monkeypatch.setattr(branch_and_bound, "PASSES", ())
    assert maxent.estimate(release, frame.drop(columns="X"), starts=1).outcome.duality_gap > 5e-6


def test_some_order_of_the_classes_is_that_of_the_rows():
    program = whole(*grown(21))[1].program
    at = answer(program, solved(program, 1)[0][1])
    klass, rng = program.klass[relaxed_once(program).elimination.free], np.random.default_rng(0)
    [alike] = _alike(at, klass)
    moves = list(alike.values())
    rows, new = ordered(at, klass).rows, slice(len(at.rows.least), None)
    assert len(rows.least[new]) == len(moves) - 1 > 0
    assert (rows.unequal[new] @ at.masses >= 0).all()
    for _ in range(5):
        m = random_masses(program, rng)
        every = [m[one][other][third] for one in moves for other in moves for third in moves]
        for each in every:
            np.testing.assert_allclose(at.rows.equal @ each, at.rows.value, atol=1e-9)
            np.testing.assert_allclose(at.curves.rows(at.curves.a(each))[0], at.curves.rows(at.curves.a(m))[0])
        assert any((rows.unequal[new] @ each >= -1e-12).all() for each in every)


def test_boxes_prove_what_has_masses_of_nearly_0(monkeypatch):
    release, people = random_problem(111)
    found = maxent.estimate(release, people)
    assert found.certificate == "global"
    monkeypatch.setattr(branch_and_bound, "PASSES", ())
    assert maxent.estimate(release, people).outcome.duality_gap > 1e-5


@pytest.mark.parametrize("boxes", [1, 8])
def test_no_start_leads_to_more_than_boxes_leave(boxes, monkeypatch):
    monkeypatch.setattr(branch_and_bound, "PASSES", (branch_and_bound.Pass(0.0, boxes, 1e9, 1),))
    program = whole(*random_problem(111))[1].program
    points = solved(program, 3)
    most = max(entropy for entropy, _ in points)
    for entropy, point in points:
        assert entropy + lacking_in_boxes(program, point, Clock()) >= most - 1e-10


@pytest.mark.slow
def test_boxes_and_orders_of_classes_prove_more():
    for release, people in (drawn(44), grown(21), random_problem(183), random_problem(55)):
        found = maxent.estimate(release, people.drop(columns="X", errors="ignore"))
        assert found.certificate == "global"


@pytest.mark.parametrize("impurity", IMPURITIES)
def test_a_point_that_is_no_optimum_lacks_something(impurity):
    program = whole(*public(impurity, seed=28))[1].program
    best = solved(program, 1)[0][1]
    own, elimination = Derivatives(program), relax(program).elimination
    most = -own.objective(best)
    free, rng = elimination.free, np.random.default_rng(0)
    for share in (1e-6, 1e-3, 1.0):
        other = elimination.point((1.0 - share) * best[free] + share * random_masses(program, rng))
        assert lacking(program, other, Clock()) >= most + own.objective(other) - 1e-9


def test_the_gap_of_what_is_proved_needs_no_bound(monkeypatch):
    program = whole(*drawn(201))[1].program
    point = solved(program, 1)[0][1]
    assert 0 <= gap(program, point, Clock()) <= 1e-9 * program.total.sum()
    assert priced_bound(program, Clock(), point=point) + Derivatives(program).objective(point) > 1e-3


def test_linear_functions_stay_within_their_range():
    program = whole(*public("entropy", seed=28))[1].program
    linear, rng = relax(program).linear, np.random.default_rng(0)
    centre = minimise(linear, tolerance=1e-12).masses
    rows, functions = Rows.of_linear(linear), rng.standard_normal((40, len(centre)))
    for size in (0.03, 0.3, 1.5):
        noise = size * rng.standard_normal(len(centre))
        m = minimise(replace(linear, weight=centre * np.exp(noise)), tolerance=1e-12).masses
        apart = float((m * np.log(m / centre)).sum())
        # The function that goes furthest is the one that leads from the centre to these masses.
        every = np.vstack([functions, np.log(m / centre)])
        most = Ball(rows, centre, apart).furthest(every, centre)
        assert (every @ (m - centre) <= most + 1e-9).all()
        assert every[-1] @ (m - centre) >= 0.5 * most[-1]


def test_what_a_sum_bends_falls_with_its_change():
    a, size = np.array([2.0, 2.0]), np.array([9.0, 9.0])
    curves = Curved(np.eye(2), np.zeros(2), size, np.array([True, False]), np.ones((1, 2)), np.zeros(1))
    change = np.concatenate([np.linspace(-2.0, 4.0, 61), [-1e-5, 1e-5, 1e-3]])
    for low in (-2.0, -1.0, -1e-4, 0.0, 1.0):
        bent = curves.bent(a, np.full(2, low))
        for s in change[change >= low]:
            at = np.maximum(a + s, 1e-300)
            for t, name in enumerate(("entropy", "gini")):
                phi = PHI[name]
                above = phi.value(at[t], size[t]) - phi.value(a[t], size[t]) - phi.d_a(a[t], size[t]) * s
                assert above <= bent[t] * s * s + 1e-12


@pytest.mark.parametrize("impurity", IMPURITIES)
def test_rows_are_those_of_the_program(impurity):
    program = whole(*public(impurity))[1].program
    elimination, _ = eliminate(program, program.lower >= program.upper)
    masses = random_masses(program, np.random.default_rng(0))
    curves, own, n_linear = curved(program, elimination), Derivatives(program), program.matrix.shape[0]
    left, slopes = curves.rows(curves.a(masses))
    value = own.constraints(elimination.point(masses))[n_linear:] + program.nl_const
    np.testing.assert_allclose(left, value * program.nl_size, atol=1e-9)
    step = 1e-6 * np.random.default_rng(1).standard_normal(len(masses))
    more = curves.rows(curves.a(masses + step))[0] - curves.rows(curves.a(masses - step))[0]
    np.testing.assert_allclose(slopes @ step, more / 2, atol=1e-9)


def test_what_cannot_be_told_is_not():
    program = whole(*private("gini"))[1].program
    assert lacking(program, middle(program), Clock()) == np.inf
    program = whole(*public("gini", seed=28))[1].program
    point = solved(program, 1)[0][1]
    assert lacking(replace(program, draws=np.zeros(program.n)), point, Clock()) == np.inf
    assert lacking(program, np.where(np.arange(program.n) < program.n_masses, 0.0, point), Clock()) == np.inf
    assert lacking(program, point, Clock(0.0)) == np.inf


@pytest.mark.slow
@pytest.mark.parametrize("seed", [35, 51, 114, 135, 199, 218, 283])
def test_many_boxes_prove_more(seed):
    release, frame = drawn(seed)
    assert maxent.estimate(release, frame.drop(columns="X")).certificate == "global"


@pytest.mark.slow
def test_no_start_leads_to_more_than_what_is_proved_in_many_problems():
    proved = 0
    for seed in range(30):
        program = whole(*drawn(seed))[1].program
        if program.n <= 400 and not program.convex:
            proved += hold(program, solved(program, 4, seed))
    assert proved >= 20
