"""The face of feasible masses: what has to be 0, and the prices that prove it."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import linprog
from support.programs import public, whole
from support.small import start
from test_solvers.test_dual import counted

import maxent
from maxent.constraints.lifting import Restricted
from maxent.constraints.program.residuals import Evaluator
from maxent.models.arrays import FloatArray
from maxent.models.induction.inducers import id3
from maxent.models.release import Release
from maxent.models.tables.truth_and_facts import read_truth
from maxent.solvers.backends import newton_
from maxent.solvers.control import Clock
from maxent.solvers.derivatives import Derivatives
from maxent.solvers.dual import overlapping
from maxent.solvers.dual.linear_entropy import LinearEntropy
from maxent.solvers.dual.newton import minimise
from maxent.solvers.dual.overlapping import PROVED, find_face, independent_rows, minimise_overlapping
from maxent.solvers.newton.block_form import build_form
from maxent.solvers.newton.forced_zeros import NEARLY, with_forced_zeros
from maxent.solvers.newton.quadratic_model import NewtonProblem as Problem


def largest_masses(problem: LinearEntropy) -> np.ndarray:
    """The largest value of each mass over the feasible points, by a linear program each."""
    n, equal = len(problem.owner), problem.lower == problem.upper
    of_owner = sparse.csr_matrix((np.ones(n), (problem.owner, np.arange(n))))
    low = np.flatnonzero(~equal & np.isfinite(problem.lower))
    rows = {
        "A_eq": sparse.vstack([problem.matrix[equal], of_owner]),
        "b_eq": np.concatenate([problem.lower[equal], problem.total]),
    }
    if not equal.all():
        rows["A_ub"] = sparse.vstack([problem.matrix[~equal], -problem.matrix[low]])
        rows["b_ub"] = np.concatenate([problem.upper[~equal], -problem.lower[low]])
    return np.array([-linprog(-np.eye(n)[i], **rows, method="highs").fun for i in range(n)])


@pytest.mark.parametrize(("trees", "blur", "seed"), [(3, 0, 0), (8, 0, 1), (20, 0, 2), (30, 1, 3)])
def test_the_masses_left_out_are_those_that_no_feasible_point_has(trees: int, blur: int, seed: int) -> None:
    problem, truth = counted(seed, trees, owners=12, blur=blur)
    face = find_face(problem, Clock())
    assert face is not None
    assert face.complete
    np.testing.assert_array_equal(face.alive, largest_masses(problem) > 1e-7)
    assert not truth[~face.alive].any()
    held = problem.matrix @ truth
    side = np.where(face.prices > 0, problem.lower, problem.upper)
    np.testing.assert_array_equal(held[face.tight], side[face.tight])


def test_prices_prove_it() -> None:
    problem, truth = counted(1, 8, owners=20)
    face = find_face(problem, Clock())
    assert face is not None
    z = problem.matrix.T @ face.prices
    slack = problem.largest(z)[problem.owner] - z
    assert slack[~face.alive].min() > 0
    assert float(truth @ slack) == pytest.approx(problem.left(face.prices), abs=1e-9)  # for every feasible point
    assert problem.left(face.prices) <= PROVED * slack[~face.alive].min()


def test_multipliers_over_the_face_are_lifted_to_the_bound_of_the_whole() -> None:
    problem, _ = counted(1, 8, owners=20)
    face = find_face(problem, Clock())
    assert face is not None
    over = minimise(face.of(problem), tolerance=1e-10)
    assert over.residual <= 1e-10
    assert problem.value(over.multipliers) > over.bound + 1e-3
    assert problem.value(face.lifted(problem, over.multipliers)) == pytest.approx(over.bound, abs=1e-9)


def test_no_face_without_time_or_where_rows_contradict_each_other() -> None:
    problem, _ = counted(1, 4)
    assert find_face(problem, Clock(0.0)) is None
    more = problem.lower + np.where(np.arange(len(problem.lower)) == 0, 1.0, 0.0)
    assert find_face(replace(problem, lower=more, upper=more), Clock()) is None


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


def without_totals(problem: LinearEntropy) -> FloatArray:
    """Its rows less their means over each owner, dense."""
    membership = problem.membership.toarray()
    matrix: FloatArray = problem.matrix.toarray()
    return matrix - matrix @ membership / membership.sum(axis=0) @ membership.T


@pytest.mark.parametrize("chunk", [7, 500])
@pytest.mark.parametrize("seed", range(3))
def test_as_many_are_left_as_are_independent_of_the_totals(seed: int, chunk: int) -> None:
    problem, _ = counted(seed, trees=8)
    found = independent_rows(problem, Clock(), chunk)
    assert found is not None
    rank = np.linalg.matrix_rank(without_totals(problem), tol=1e-8)
    assert len(found.rows) == rank < len(problem.lower) * 3 / 4
    assert np.linalg.matrix_rank(without_totals(problem)[found.rows], tol=1e-8) == rank


def test_multipliers_of_the_rows_that_are_left_say_the_same() -> None:
    problem, _ = counted(1, trees=8)
    found = independent_rows(problem, Clock())
    assert found is not None
    y = np.random.default_rng(0).normal(0, 1, len(problem.lower))
    same = found.multipliers(problem, y)
    assert set(np.flatnonzero(same)) <= set(found.rows)
    np.testing.assert_allclose(problem.masses(same), problem.masses(y), rtol=1e-8)
    assert problem.value(same) == pytest.approx(problem.value(y), abs=1e-8)


def test_inequalities_stay_and_keep_their_multipliers() -> None:
    problem, _ = counted(2, trees=8)
    problem = replace(problem, upper=problem.upper + (np.arange(len(problem.upper)) % 5 == 0))
    found = independent_rows(problem, Clock())
    assert found is not None
    loose = np.flatnonzero(problem.lower < problem.upper)
    assert set(loose) <= set(found.rows)
    y = np.random.default_rng(0).normal(0, 1, len(problem.lower))
    np.testing.assert_array_equal(found.multipliers(problem, y)[loose], y[loose])


def test_equations_that_contradict_each_other_all_stay() -> None:
    problem, _ = counted(0, trees=3)
    side = np.concatenate([problem.lower, problem.lower[:1] + 1])
    matrix = sparse.csr_matrix(sparse.vstack([problem.matrix, problem.matrix[:1]]))
    assert independent_rows(replace(problem, matrix=matrix, lower=side, upper=side), Clock()) is None


def test_intervals_alone_all_stay() -> None:
    problem, _ = counted(0, trees=3, blur=1)
    assert independent_rows(problem, Clock()) is None


def test_a_few_that_others_imply_are_left_out_too() -> None:
    problem, _ = counted(0, trees=2)
    found = independent_rows(problem, Clock())
    assert found is not None
    assert overlapping.SHARE * len(problem.lower) < len(found.rows) < len(problem.lower)
    assert independent_rows(problem, Clock(), few=0) is None


def test_with_too_many_all_stay_and_the_answer_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, _ = counted(3, trees=6)
    usual = minimise_overlapping(problem, 1e-10, Clock())
    monkeypatch.setattr(overlapping, "independent_rows", lambda problem, clock: None)
    whole = minimise_overlapping(problem, 1e-10, Clock())
    assert max(usual.residual, whole.residual) <= 1e-8
    np.testing.assert_allclose(usual.masses, whole.masses, atol=1e-7)
    assert independent_rows(problem, Clock(), chunk=10, few=50, most=50) is None
    assert independent_rows(problem, Clock(0.0)) is None
