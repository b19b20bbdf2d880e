"""A back end that has to stop returns the best point so far, and the answer says that it is not the last word."""

from __future__ import annotations

import numpy as np
import pytest
from brute_force import refusal
from conformance.answers import random_problem

import maxent
from maxent.api.adversary.estimate import compile_release
from maxent.solvers.backend import Options
from maxent.solvers.clock import Clock
from maxent.solvers.registry import load_backend
from maxent.solvers.solution import Stop
from maxent.solvers.solve.driver import solve_program

CONTESTED = [seed for seed in range(60) if seed % 18 not in (12, 13, 14, 15, 16, 17)]


class Alarm(Clock):
    """A clock that says to stop once it has been asked some number of times."""

    def __init__(self, asked: int, why: Stop) -> None:
        super().__init__()
        self.rest, self.why = asked, why

    def stop(self) -> Stop | None:
        self.rest -= 1
        return self.why if self.rest < 0 else None


@pytest.fixture(scope="module")
def problem():
    """A problem with internal constraints to activate."""
    for seed in CONTESTED:
        release, qi = random_problem(seed)
        if maxent.estimate(release, qi, backend="newton").summary["solver"]["active_internal"]:
            return release, qi
    pytest.fail("none of the random problems needs a solver")


@pytest.mark.parametrize("why", [Stop.TIME_LIMIT, Stop.INTERRUPTED])
@pytest.mark.parametrize("asked", [0, 1, 5])
def test_the_best_point_so_far(backend, problem, why, asked):
    release, qi = problem
    program = compile_release(release, qi)
    whole = maxent.estimate(release, qi, backend=backend)
    if refusal(whole):
        pytest.skip(refusal(whole))
    outcome = solve_program(program, load_backend(backend), Options(clock=Alarm(asked, why)))
    assert outcome.masses.shape == whole.outcome.masses.shape
    assert np.isfinite(outcome.masses).all()
    assert program.posterior(outcome.masses).sum(axis=1) == pytest.approx(1.0)
    assert outcome.status in (why.value, "optimal")
    if asked == 0:
        assert outcome.status == why.value


def test_no_time_at_all(backend, problem):
    release, qi = problem
    found = maxent.estimate(release, qi, backend=backend, time_limit=1e-9)
    assert found.summary["status"] == "time_limit"
    assert not found.reliable
    assert found.summary["certificate"] == "none"
    assert found.probabilities.sum(axis=1) == pytest.approx(1.0)
