"""Rows that equations imply, and those that they do not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.linalg import null_space
from support.strategies import thorough

from maxent.constraints.presolve.parts import MOST, independent_rows

INF = np.inf


@pytest.mark.parametrize(
    ("rows", "lower", "upper", "kept"),
    [
        ([[1, 0], [0, 1], [1, 1]], [1, 2, 3], [1, 2, 3], 2),  # the third is the sum of the others
        ([[1, 0], [0, 1], [1, 1]], [1, 2, 4], [1, 2, 4], 3),  # and contradicts them
        ([[1, -1], [1, -1]], [0, 0], [0, INF], 1),  # a label beside a rate of one half
        ([[1, -1], [1, -1]], [0, 1], [0, INF], 2),  # a label that cannot be
        ([[1, 1], [1, -1]], [4, 0], [4, INF], 2),  # an inequality with slack
        ([[1, 1], [1, 1]], [0, 0], [4, 4], 2),  # no equation, nothing implied
        ([[0, 0], [1, 1]], [0, 1], [0, 1], 1),  # an empty row
        ([[0, 0], [1, 1]], [1, 1], [1, 1], 2),  # an empty row that is wrong
    ],
)
def test_rows_that_say_something(rows: list[list[int]], lower: list[float], upper: list[float], kept: int) -> None:
    found = independent_rows(sparse.csr_matrix(np.array(rows, float)), np.array(lower, float), np.array(upper, float))
    assert len(found) == kept
    assert (np.diff(found) > 0).all()


def test_many_rows_are_left_alone() -> None:
    matrix = sparse.csr_matrix(np.ones((MOST + 1, 2)))
    assert len(independent_rows(matrix, np.ones(MOST + 1), np.ones(MOST + 1))) == MOST + 1


def test_equations_with_variables_of_their_own_do_not_count_as_many() -> None:
    totals = sparse.kron(sparse.identity(MOST), np.ones((1, 2)))  # two classes for each of many quasi-identifiers
    first = sparse.csr_matrix(np.tile([1.0, 0.0], MOST))  # the first class's total, said twice
    matrix = sparse.csr_matrix(sparse.vstack([totals, first, first]))
    value = matrix @ np.ones(matrix.shape[1])
    kept = independent_rows(matrix, value, value)
    assert len(kept) == MOST + 1
    assert kept[:MOST].tolist() == list(range(MOST))
    lower = np.append(value[:-1], value[-1] - 1)  # the second time less exactly
    assert len(independent_rows(matrix, lower, value)) == MOST + 1


def test_the_matrix_stays_as_it_is() -> None:
    matrix = sparse.csr_matrix(np.array([[1.0, 1e-12, 0], [0, 1, 1], [1, 1, 1]]))
    before = matrix.copy()
    independent_rows(matrix, np.array([1.0, 1, 2]), np.array([1.0, 1, 2]))
    np.testing.assert_array_equal(matrix.toarray(), before.toarray())


@thorough(200)
@given(
    rows=st.lists(st.lists(st.sampled_from((-1, 0, 0, 1)), min_size=6, max_size=6), min_size=1, max_size=9),
    point=st.lists(st.integers(0, 3), min_size=6, max_size=6),
    equations=st.lists(st.booleans(), min_size=9, max_size=9),
)
def test_the_feasible_set_stays_the_same(rows: list[list[int]], point: list[int], equations: list[bool]) -> None:
    matrix, inside = np.array(rows, float), np.array(point, float)
    value, equal = matrix @ inside, np.array(equations[: len(rows)])
    lower, upper = value.copy(), np.where(equal, value, np.inf)
    kept = independent_rows(sparse.csr_matrix(matrix), lower, upper)
    kept_equations = matrix[[r for r in kept if equal[r]]].reshape(-1, 6)
    assert np.linalg.matrix_rank(kept_equations) == len(kept_equations) == np.linalg.matrix_rank(matrix[equal])
    # Along the directions that the kept equations leave open, every dropped row is constant, and no other one is.
    directions = null_space(kept_equations) if len(kept_equations) else np.eye(6)
    varies = np.abs(matrix @ directions).max(axis=1, initial=0.0) > 1e-9
    assert not varies[np.setdiff1d(np.arange(len(rows)), kept)].any()
    assert varies[[r for r in kept if not equal[r]]].all() or not equal.any()
