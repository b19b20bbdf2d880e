"""The face of feasible masses: what has to be 0, and the prices that prove it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from test_solvers.test_overlap import counted

from maxent.solvers.control import Clock
from maxent.solvers.dual.linear_entropy import LinearEntropy
from maxent.solvers.dual.newton import minimise
from maxent.solvers.dual.overlapping import PROVED, find_face


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
