"""The answer of a solve that was stopped: the nearest of all that there are, and a few sweeps of fitting at least."""

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
import pytest

from maxent.api.estimate import compile_release
from maxent.constraints.program.program import Program
from maxent.constraints.program.residuals import Evaluator
from maxent.models.arrays import FloatArray
from maxent.models.defenses.random_trees import RandomTrees, random_trees
from maxent.models.tables.training import read_training
from maxent.solvers.backend import Options
from maxent.solvers.backends.registry import load_backend
from maxent.solvers.control import Clock, keep, keeping
from maxent.solvers.dual import linear_entropy
from maxent.solvers.solution import Stop
from maxent.solvers.solve import driver
from maxent.solvers.solve.driver import FEW, nearer, solve_program, uniform_answer

CLASSES = [f"c{i:02}" for i in range(16)]


@pytest.fixture(scope="module")
def program() -> Program:
    """Four random trees that count 16 classes of 600 people."""
    rng = np.random.default_rng(3)
    people = pd.DataFrame({name: rng.choice(list("abcd"), 600, p=[0.4, 0.3, 0.2, 0.1]) for name in "PQRS"})
    score = people.map(ord).to_numpy() @ [1, 2, 3, 5] + (rng.random(600) < 0.3) * rng.integers(0, 16, 600)
    people["class"] = np.array(CLASSES)[score % 16]
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
                    counts = np.array([node.counts[name] for name in CLASSES])
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
    rounds = swept(program, uniform_answer(program))
    good, best, worse = next(rounds), fitted_long(program), far_off(program)
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
