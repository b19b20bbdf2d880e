"""Newton's method on the optimality conditions: exact from rough answers, whatever is guessed to be active."""

from dataclasses import replace

import numpy as np
import pytest
from programs import public, whole

from maxent.solvers.backend import Options
from maxent.solvers.backends.ipopt_ import IpoptBackend
from maxent.solvers.clock import Clock
from maxent.solvers.conic import kkt
from maxent.solvers.conic.kkt import Active
from maxent.solvers.conic.model import ConicModel
from maxent.solvers.conic.polish import polish, restore
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.newton import block_form
from maxent.solvers.newton.block_form import build_form
from maxent.solvers.solve import finish

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


def test_a_point_without_vanishing_probabilities_is_not_raised(monkeypatch):
    program = whole(*public("entropy", "counts", seed=2))[1].program
    n, built = program.n_masses, []
    monkeypatch.setattr(block_form, "build_form", lambda form: built.append(form) or build_form(form))
    point = program.lower.copy()
    point[:n] = np.maximum(point[:n], 1e-3 * program.total[program.owner])
    assert finish._raised(program, point, Options()) is point
    assert not built
    low = np.flatnonzero(program.lower[:n] < program.upper[:n])[0]
    point[low] = 0.0
    assert finish._raised(program, point, Options())[low] > 0
    assert built


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
