"""A back end that has to stop returns the best point so far, and the answer says that it is not the last word."""

import numpy as np
import pytest
from conformance.answers import random_problem
from support.brute_force import refusal
from test_solvers.test_tables import forest

import maxent
from maxent.api.estimate import compile_release
from maxent.constraints.program.residuals import Evaluator
from maxent.solvers.backend import Options
from maxent.solvers.backends.registry import load_backend
from maxent.solvers.control import Clock
from maxent.solvers.solution import Stop
from maxent.solvers.solve.driver import solve_program, uniform_answer

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


def swept(program, sweeps):
    """Proportional fitting as anyone would write it: each leaf of each tree in turn, then everybody."""
    masses = uniform_answer(program)
    for _ in range(sweeps):
        for t, tree in enumerate(program.release.trees):
            for place, node in enumerate(tree.nodes):
                inside = program.cells.trees[t].at(place)
                if node.counts is not None and len(inside):
                    counts = np.array([node.counts[name] for name in program.release.target.classes])
                    masses[inside] *= counts / np.maximum(masses[inside].sum(axis=0), 1e-300)
            masses *= (program.weight / masses.sum(axis=1))[:, None]
    return masses


def interrupted_forest(backend, seed, asked):
    release, people, _ = forest(seed)
    assert all(node.counts for tree in release.trees for node in tree.nodes if not node.branches)
    program = compile_release(release, people)
    outcome = solve_program(program, load_backend(backend), Options(clock=Alarm(asked, Stop.INTERRUPTED)))
    evaluator = Evaluator(program)
    assert outcome.status == "interrupted"
    assert outcome.violation == evaluator.max_violation(outcome.masses)
    assert outcome.violation <= evaluator.max_violation(swept(program, 5))


def test_the_answer_of_a_forest_is_no_worse_than_proportional_fitting(backend):
    interrupted_forest(backend, 28, 0)


def test_neither_is_one_of_a_solver_that_was_on_its_way():
    interrupted_forest("newton", 26, 10)
