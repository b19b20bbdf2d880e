"""Intervals of very many sums: the few that bind give the answer of all."""

import numpy as np
import pytest
from test_solvers.test_overlap import counted

from maxent.models.arrays import FloatArray
from maxent.solvers.control import Clock
from maxent.solvers.dual import overlapping
from maxent.solvers.dual.linear_entropy import LinearEntropy
from maxent.solvers.dual.newton import DualPoint, minimise
from maxent.solvers.dual.overlapping import minimise_binding, minimise_overlapping


@pytest.mark.parametrize("seed", range(4))
def test_few_rows_give_the_answer_of_all(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, truth = counted(seed, trees=12, owners=400, blur=4)
    sizes: list[int] = []

    def counting(some: LinearEntropy, *rest: object) -> DualPoint:
        sizes.append(len(some.lower))
        return minimise(some, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(overlapping, "minimise", counting)
    kept: list[FloatArray] = []
    found = minimise_binding(problem, 1e-9, Clock(), lambda y, masses: kept.append(y))
    assert found.residual <= 1e-9
    assert max(sizes) < len(problem.lower) / 3
    assert found.bound - problem.entropy(found.masses) == pytest.approx(0, abs=1e-6)
    assert found.bound >= problem.entropy(truth)
    whole = minimise(problem, tolerance=1e-9, max_iterations=500)
    np.testing.assert_allclose(found.masses, whole.masses, atol=1e-5)
    bounds = [problem.value(y) for y in kept]
    assert (np.diff(bounds) <= 1e-9).all()


def test_rows_that_contradict_each_other_are_left_to_the_proof() -> None:
    problem, _ = counted(0, trees=3, blur=1)
    lower = np.where(np.arange(len(problem.lower)) == 0, 1e3, problem.lower)
    broken = LinearEntropy(
        problem.owner, problem.total, problem.weight, problem.matrix, lower, lower.clip(problem.upper)
    )
    assert minimise_overlapping(broken, 1e-9, Clock()).bound < problem.least


def test_a_clock_that_has_run_out_leaves_the_fitted_answer() -> None:
    problem, _ = counted(1, trees=4, owners=200, blur=1)
    kept: list[FloatArray] = []
    found = minimise_overlapping(problem, 1e-9, Clock(0.0), lambda y, masses: kept.append(masses))
    assert np.isfinite(found.bound)
    assert len(kept) == 1
    assert found.residual < 1e3
