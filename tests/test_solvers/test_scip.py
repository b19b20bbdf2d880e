"""SCIP as the referee: no answer is better than its bound, and none of its own is worse than that of the others."""

import os
import pickle
import re
import signal
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest
from support.programs import private, whole
from support.small import assert_same_masses, best_of_ipopt, entropy, part, release_and_people, start

import maxent
from maxent.api import estimate as engine
from maxent.models.errors import MissingExtra
from maxent.solvers.backend import Options
from maxent.solvers.backends.registry import load_backend
from maxent.solvers.backends.scip_ import MOST, ScipBackend
from maxent.solvers.control import Clock, in_time
from maxent.solvers.solution import Stop
from maxent.solvers.solve.attempt import PartSolver as Solver

pytest.importorskip("pyscipopt", reason="PySCIPOpt is not installed")

OPTIONS = Options()


@pytest.fixture
def started():
    """The process that SCIP solves in, which may take a second to start, is there."""
    quick = part("entropy", 13, classes="ab")
    assert ScipBackend().solve(quick.program, start(quick), OPTIONS).stop is Stop.CONVERGED


def bound(found, problem):
    """The entropy that SCIP proves to be the most, nats per individual."""
    return float(re.search(r"at most (\S+) nats", found.message)[1]) / problem.program.total.sum()


@pytest.mark.parametrize("impurity", ["gini", "entropy", "gain_ratio"])
@pytest.mark.parametrize("seed", [3, pytest.param(35, marks=pytest.mark.slow)])
def test_no_start_finds_more(impurity, seed):
    problem = part(impurity, seed)
    assert not problem.program.convex
    found = ScipBackend().solve(problem.program, start(problem), OPTIONS)
    assert (found.stop, found.by) == (Stop.CONVERGED, "scip")
    assert found.violation <= 1e-8
    most, own, other = bound(found, problem), entropy(problem, found.point), entropy(problem, best_of_ipopt(problem))
    assert own >= other - 1e-6
    assert most >= max(own, other) - 1e-8
    assert most <= own + 1e-6
    rng, scipy = np.random.default_rng(seed), load_backend("scipy:slsqp")
    for _ in range(5):
        answer = scipy.solve(problem.program, start(problem, rng), OPTIONS)
        if answer.stop is Stop.CONVERGED and answer.violation <= 1e-8:
            assert entropy(problem, answer.point) <= most + 1e-8


@pytest.mark.parametrize("seed", [13, 25, 35])
@pytest.mark.parametrize("publish", ["rates", "counts"])
def test_convex_programs_have_ipopt_s_answer(seed, publish):
    problem = part("entropy", seed, publish=publish, classes="ab")
    assert problem.program.convex
    found = ScipBackend().solve(problem.program, start(problem), OPTIONS)
    assert (found.stop, found.violation <= 1e-8) == (Stop.CONVERGED, True)
    assert_same_masses(problem, found.point, best_of_ipopt(problem, 1))


@pytest.mark.parametrize("impurity", ["gini", "entropy"])
@pytest.mark.parametrize("publish", ["rates", "counts"])
def test_branches_of_unknown_size(impurity, publish):
    _, problem = whole(*private(impurity, publish))
    # Counts of all classes say the sizes that the table does not, and the program is convex.
    assert any((terms.size_var >= 0).any() for terms in problem.program.terms) == (publish == "rates")
    assert problem.program.convex == (publish == "counts")
    found = ScipBackend().solve(problem.program, start(problem), OPTIONS)
    assert (found.stop, found.violation <= 1e-8) == (Stop.CONVERGED, True)
    other = best_of_ipopt(problem)
    assert entropy(problem, found.point) >= entropy(problem, other) - 1e-6
    assert bound(found, problem) >= max(entropy(problem, found.point), entropy(problem, other)) - 1e-8


@pytest.mark.parametrize("most", [0.0, pytest.param(1e-11, marks=pytest.mark.slow)])
def test_masses_may_vanish(most):
    """The logarithm of a mass that is 0, or can hardly be more, neither fails nor moves it."""
    problem = part("entropy", 3)
    upper = problem.program.upper.copy()
    upper[0] = most
    program = replace(problem.program, upper=upper)
    found = ScipBackend().solve(program, start(problem), OPTIONS)
    assert (found.stop, found.violation <= 1e-8) == (Stop.CONVERGED, True)
    assert 0 <= found.point[0] <= most
    assert entropy(problem, found.point) == pytest.approx(bound(found, problem), abs=1e-6)
    # SLSQP ends in trouble at the bound from some starts, on some processors.
    without, rng = replace(program, upper=np.where(upper == most, 0.0, upper)), np.random.default_rng(0)
    for other in [load_backend("scipy:slsqp").solve(without, start(problem, rng), OPTIONS) for _ in range(5)]:
        if other.stop is Stop.CONVERGED and other.violation <= 1e-8:
            assert entropy(problem, other.point) <= bound(found, problem) + 1e-8


def test_the_whole_estimate():
    release, people = release_and_people("entropy", 3)
    found, reference = (
        maxent.estimate(release, people, backend=name, starts=n) for name, n in (("scip", 1), ("ipopt", 5))
    )
    assert found.reliable
    assert found.summary["backend"] == "scip"
    assert found.summary["max_violation"] <= 1e-8
    assert found.summary["entropy"] >= reference.summary["entropy"] - 1e-6


def test_contradictions_are_found():
    problem = part("gini", 3)
    impossible = replace(problem.program, nl_const=problem.program.nl_const - 10.0)
    found = ScipBackend().solve(impossible, start(problem), OPTIONS)
    assert (found.point, found.stop) == (None, Stop.INFEASIBLE)


def test_time_limits(started):
    problem = part("gini", 1)
    over = ScipBackend().solve(problem.program, start(problem), replace(OPTIONS, clock=Clock(0.0)))
    assert (over.point, over.stop) == (None, Stop.TIME_LIMIT)
    short = ScipBackend().solve(problem.program, start(problem), replace(OPTIONS, clock=Clock(1.0)))
    assert short.stop is Stop.TIME_LIMIT
    assert short.violation <= 1e-8
    assert (
        "not stop in time" in short.message or bound(short, problem) >= entropy(problem, best_of_ipopt(problem)) - 1e-8
    )


def test_ctrl_c_gives_the_best_point_so_far(started):
    problem = part("gini", 1)
    clock = Clock()
    timer = threading.Timer(1.0, lambda: signal.raise_signal(signal.SIGINT))
    with clock.listening():
        timer.start()
        found = ScipBackend().solve(problem.program, start(problem), replace(OPTIONS, clock=clock))
    timer.join()
    assert found.stop is Stop.INTERRUPTED
    assert found.violation <= 1e-8
    assert (
        "not stop in time" in found.message or bound(found, problem) >= entropy(problem, best_of_ipopt(problem)) - 1e-8
    )


# --- A process of its own ---------------------------------------------------------------------------------------


def test_it_solves_in_a_process_of_its_own(monkeypatch):
    problem, backend = part("entropy", 13, classes="ab"), ScipBackend()
    monkeypatch.delattr(ScipBackend, "solve_here")  # here
    assert backend.solve(problem.program, start(problem), OPTIONS).stop is Stop.CONVERGED


@pytest.mark.slow
def test_it_solves_more_programs_than_its_libraries_have_places_for_threads():
    """CppAD has 64, and never gives one back: the solve of the 64th thread of a process ended that process."""
    problem, backend = part("entropy", 13, classes="ab"), ScipBackend()
    for _ in range(80):
        options = replace(OPTIONS, clock=Clock(60.0))
        found = in_time(options.clock, lambda: backend.solve(problem.program, start(problem), options))  # noqa: B023
        assert found.stop is Stop.CONVERGED


class Crashing(ScipBackend):
    def solve_here(self, program, start, options, tell):
        os.kill(os.getpid(), self.number)


class Aborting(ScipBackend):
    def solve_here(self, program, start, options, tell):
        os.abort()


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (signal.SIGSEGV, "the solver ended (SIGSEGV): a library crashed, in a process of its own"),
        (signal.SIGKILL, "the solver ended (SIGKILL): it was ended from outside, perhaps for want of memory"),
    ],
)
def test_a_crash_is_a_solve_without_an_answer(number, said):
    problem, backend = part("entropy", 3), Crashing()
    backend.number = number
    found = Solver(backend, problem, problem.program).solve(start(problem), OPTIONS)
    assert (found.point, found.stop, found.by, found.message) == (None, Stop.NUMERICAL, "scip", said)


@pytest.mark.slow
def test_an_estimate_says_which_back_end_crashed(monkeypatch):
    monkeypatch.setattr(engine, "load_backend", lambda name: Aborting())
    with pytest.warns(maxent.UnreliableResult, match="did not converge"):
        found = maxent.estimate(*release_and_people("entropy", 3), backend="scip")
    assert found.summary["status"] == "not_converged"
    assert "scip: the solver ended (SIGABRT)" in " ".join(found.notes)


class Deaf(ScipBackend):
    def solve_here(self, program, start, options, tell):
        return super().solve_here(program, start, replace(options, clock=Clock()), tell)


@pytest.mark.slow
def test_the_best_point_is_kept_when_it_does_not_end_in_time():
    quick, problem = part("entropy", 13, classes="ab"), part("gini", 1)
    Deaf().solve(quick.program, start(quick), OPTIONS)  # its process starts
    found = Deaf().solve(problem.program, start(problem), replace(OPTIONS, clock=Clock(1.0)))
    assert (found.stop, found.message) == (Stop.TIME_LIMIT, "did not stop in time")
    assert found.violation <= 1e-8


def test_large_programs_are_refused():
    program = part("gini", 3).program
    assert ScipBackend().refuses(program) is None
    assert f"{MOST + 1} variables" in ScipBackend().refuses(
        replace(program, lower=np.zeros(MOST + 1), upper=np.ones(MOST + 1))
    )


def test_it_pickles():
    assert pickle.loads(pickle.dumps(ScipBackend())).name == "scip"


def test_without_pyscipopt(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyscipopt", None)
    with pytest.raises(MissingExtra, match="pip install pyscipopt"):
        load_backend("scip")
