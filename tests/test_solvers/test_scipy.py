"""SciPy's solvers: the same answers as Ipopt's, by other means."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.programs import private, public, whole
from support.small import assert_same_masses, best_of_ipopt, entropy, part, release_and_people, start

import maxent
from maxent.models.errors import UnknownBackend
from maxent.solvers.backend import Options
from maxent.solvers.backends.registry import load_backend
from maxent.solvers.backends.scipy_ import MOST, ScipyBackend, reduce
from maxent.solvers.control import Clock
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.solution import Stop

OPTIONS = Options()
METHODS = ("scipy", "scipy:slsqp")
impurities = st.sampled_from(("gini", "entropy", "gain_ratio"))
seeds = st.integers(0, 10_000)


@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=6, deadline=None, derandomize=True)
@given(impurity=impurities, seed=seeds, publish=st.sampled_from(("rates", "counts")))
def test_convex_programs_have_ipopt_s_answer(name, impurity, seed, publish):
    problem = part(impurity, seed, publish=publish, classes="ab")
    assert problem.program.convex
    if not problem.program.n:
        return
    found = load_backend(name).solve(problem.program, start(problem), OPTIONS)
    assert found.stop is Stop.CONVERGED, found.message
    assert found.violation <= 1e-8
    assert found.violation == Derivatives(problem.program).violation(found.point)
    assert_same_masses(problem, found.point, best_of_ipopt(problem, 1))


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(("impurity", "seed"), [("gini", 1), ("entropy", 1), ("gain_ratio", 13)])
def test_other_programs_have_an_answer_as_good_from_several_starts(name, impurity, seed):
    problem = part(impurity, seed)
    assert not problem.program.convex
    rng, backend = np.random.default_rng(1), load_backend(name)
    found = [backend.solve(problem.program, start(problem, rng), OPTIONS) for _ in range(4)]
    assert all(f.stop is Stop.CONVERGED and f.violation <= 1e-8 for f in found)
    best = max(entropy(problem, f.point) for f in found)
    assert best >= entropy(problem, best_of_ipopt(problem)) - 1e-6


@pytest.mark.parametrize("case", [public("gini", "counts"), private("entropy", "counts")], ids=["public", "private"])
def test_a_larger_program_and_branches_of_unknown_size(case):
    _, problem = whole(*case)
    found = load_backend("scipy:slsqp").solve(problem.program, start(problem), OPTIONS)
    assert (found.stop, found.violation <= 1e-8) == (Stop.CONVERGED, True)
    assert_same_masses(problem, found.point, best_of_ipopt(problem))


@settings(max_examples=20, deadline=None, derandomize=True)
@given(impurity=impurities, seed=seeds, publish=st.sampled_from(("rates", "counts")))
def test_what_is_left_out_was_implied(impurity, seed, publish):
    """Every point with the remaining inequalities meets all bounds and linear rows."""
    problem = part(impurity, seed, publish=publish)
    if not problem.program.n:
        return
    program, rng = problem.program, np.random.default_rng(seed)
    reduced = reduce(program)
    assert (reduced.lower < 0).all()
    assert (reduced.upper > 0).all()
    linear = replace(program, terms=(), nl_const=np.empty(0), nl_size=np.empty(0), nl_origins=())
    for _ in range(5):
        away = rng.standard_normal(reduced.basis.shape[1])
        along = reduced.matrix @ away
        with np.errstate(divide="ignore"):
            room = np.where(along > 0, reduced.upper / along, reduced.lower / along)
        y = away * room[along != 0].min(initial=1e3)
        assert Derivatives(linear).violation(reduced.point(y)) <= 1e-9


@pytest.mark.parametrize("backend", METHODS)
def test_the_whole_estimate(backend):
    release, people = release_and_people("entropy", 3)
    found, reference = (maxent.estimate(release, people, backend=name, starts=3) for name in (backend, "ipopt"))
    assert found.reliable
    assert found.summary["backend"] == backend
    assert found.summary["entropy"] >= reference.summary["entropy"] - 1e-6


def test_contradicting_linear_statements():
    program = part("gini", 1).program
    impossible = replace(program, upper=0.4 * program.upper)
    found = ScipyBackend().solve(impossible, 0.4 * start(part("gini", 1)), OPTIONS)
    assert (found.point, found.stop) == (None, Stop.INFEASIBLE)


def test_statements_that_leave_one_point():
    problem = part("gini", 1)
    point = best_of_ipopt(problem)
    pinned = replace(problem.program, lower=point, upper=point)
    found = ScipyBackend().solve(pinned, start(problem), OPTIONS)
    assert found.stop is Stop.CONVERGED
    np.testing.assert_allclose(found.point, point, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", METHODS)
def test_it_stops_when_told(name):
    problem = part("gini", 1)
    begin, backend = start(problem), load_backend(name)
    over = replace(OPTIONS, clock=Clock(0.0))
    interrupted = replace(OPTIONS, clock=Clock())
    interrupted.clock.interrupt()
    for options, stop in ((over, Stop.TIME_LIMIT), (interrupted, Stop.INTERRUPTED)):
        found = backend.solve(problem.program, begin, options)
        assert found.stop is stop
        assert found.iterations <= 2
        assert found.point.shape == (problem.program.n,)


@pytest.mark.parametrize("name", METHODS)
def test_it_stops_on_the_way(name):
    """The clock runs out in the middle: the point is that of the last iteration."""
    problem = part("gini", 1)
    found = load_backend(name).solve(problem.program, start(problem), replace(OPTIONS, clock=_Count(3)))
    assert (found.stop, found.iterations) == (Stop.TIME_LIMIT, 3)
    assert np.isfinite(found.point).all()


class _Count(Clock):
    """A clock that ends when it was asked a number of times."""

    def __init__(self, times):
        super().__init__()
        self.times = times

    def stop(self):
        self.times -= 1
        return Stop.TIME_LIMIT if self.times <= 0 else None


def test_an_iteration_limit_is_told():
    problem = part("gini", 1)
    for name in METHODS:
        found = load_backend(name).solve(problem.program, start(problem), replace(OPTIONS, max_iterations=2))
        assert found.stop is Stop.ITERATION_LIMIT


def test_large_programs_are_refused():
    program = part("gini", 1).program
    backend = ScipyBackend()
    assert backend.refuses(program) is None
    wide = replace(program, lower=np.zeros(MOST + 1), upper=np.ones(MOST + 1))
    assert f"{MOST + 1} variables" in backend.refuses(wide)


def test_an_unknown_method():
    with pytest.raises(UnknownBackend, match=r"one of trust-constr, slsqp, found 'slsq'; did you mean 'slsqp'\?"):
        load_backend("scipy:slsq")
