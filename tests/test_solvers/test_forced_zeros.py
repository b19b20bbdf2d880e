"""Comparisons that hold only where some masses are 0, as in trees that split nodes of a few people."""

import warnings

import numpy as np
import pandas as pd
import pytest
from support.programs import public, whole
from support.small import start

import maxent
from maxent.constraints.lifting import Restricted
from maxent.constraints.program.residuals import Evaluator
from maxent.models.induction.inducers import id3
from maxent.models.release import Release
from maxent.models.tables.truth_and_facts import read_truth
from maxent.solvers.backends import newton_
from maxent.solvers.control import Clock
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.newton.block_form import build_form
from maxent.solvers.newton.forced_zeros import NEARLY, with_forced_zeros
from maxent.solvers.newton.quadratic_model import NewtonProblem as Problem

QI = ["A", "B", "C", "D"]


def grown_out(seed: int) -> tuple[Release, pd.DataFrame]:
    """A tree whose nodes are split down to a single person, and its table."""
    rng = np.random.default_rng(seed)
    n, n_classes = int(rng.integers(60, 250)), int(rng.integers(4, 8))
    frame = pd.DataFrame({c: rng.integers(0, size, n).astype(str) for c, size in zip(QI, (4, 3, 3, 2), strict=True)})
    told = frame["A"].astype(int)
    frame["X"] = np.array(list("abcdefgh"))[np.where(rng.random(n) < 0.5, told, rng.integers(0, n_classes, n))]
    return id3(frame, target="X", qi=QI, impurity="entropy", publish="rates"), frame


@pytest.fixture
def faces(monkeypatch: pytest.MonkeyPatch) -> list[Restricted]:
    """The faces that are found from now on."""
    found: list[Restricted] = []

    def heard(*given: object) -> Restricted | None:
        face = with_forced_zeros(*given)  # type: ignore[arg-type]
        if face is not None:
            found.append(face)
        return face

    monkeypatch.setattr("maxent.solvers.newton.forced_zeros.with_forced_zeros", heard)
    return found


def estimated(seed: int, backend: str) -> maxent.Estimate:
    release, frame = grown_out(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return maxent.estimate(release, frame[QI], backend=backend, jobs=1)


@pytest.mark.parametrize(("seed", "backend"), [(21, "newton"), (117, "newton"), (117, "auto")])
def test_trees_with_nodes_of_a_few_people_are_solved(
    seed: int, backend: str, faces: list[Restricted], monkeypatch: pytest.MonkeyPatch
) -> None:
    result = estimated(seed, backend)
    assert faces
    assert result.summary["status"] == "optimal"
    assert Evaluator(result.program).max_violation(result.outcome.masses) <= 1e-8
    monkeypatch.setattr(newton_, "FACES", 0)
    assert estimated(seed, backend).summary["status"] == "not_converged"


@pytest.mark.parametrize("seed", [21, 117])
def test_nobody_has_what_a_face_rules_out(seed: int) -> None:
    _, frame = grown_out(seed)
    result = estimated(seed, "newton")
    truth = read_truth(frame, result.program.release, result.program.table)[result.program.cells.owner]
    ruled_out = result.outcome.masses == 0
    assert (truth[ruled_out] == 0).all()
    assert ruled_out.any()


def test_a_point_that_misses_nothing_or_much_is_near_no_face() -> None:
    _, part = whole(*public("entropy"))
    program, here = part.program, start(part)
    missed = Derivatives(program).violation(here)
    assert missed > NEARLY
    assert with_forced_zeros(program, here, 1e-8, None) is None
    assert with_forced_zeros(program, here, 2 * missed, None) is None


@pytest.mark.parametrize("seed", [21, 117])
def test_aggregates_that_are_fixed_are_in_the_form_of_a_program(seed: int, faces: list[Restricted]) -> None:
    estimated(seed, "newton")
    for face in faces:
        program, own = face.program, Derivatives(face.program)
        inside = own.constraints(face.point) - own.bounds()[0]
        held = Problem(build_form(program), Clock())
        comparisons = held.at(held.form.scores(face.point)).c[: len(program.nl_size)]
        np.testing.assert_allclose(comparisons, inside[own.n_linear :] * program.nl_size, rtol=0, atol=1e-9)
