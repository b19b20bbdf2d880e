"""Factors of the Hessian's diagonal blocks: by rows, by masses, and of what repeats itself."""

import numpy as np
import pytest
from scipy import sparse

from maxent.solvers.control import Clock
from maxent.solvers.dual import newton
from maxent.solvers.dual.linear_entropy import LinearEntropy
from maxent.solvers.dual.newton import DiagonalBlocks as Blocks
from maxent.solvers.dual.newton import solve_by_conjugate_gradients


def random_rows(n_rows: int, n: int, seed: int = 0) -> sparse.csr_matrix:
    """Rows of 0 and 1, each with a coefficient."""
    rng = np.random.default_rng(seed)
    rows = (rng.random((n_rows, n)) < 0.3).astype(float)
    rows[np.arange(n_rows), rng.integers(0, n, n_rows)] = 1.0
    return sparse.csr_matrix(rows)


def test_blocks_are_the_rows_that_share_masses() -> None:
    first, second = random_rows(4, 12), random_rows(3, 9, seed=1)
    mixed = sparse.csr_matrix(sparse.block_diag([first, second]))
    order = np.random.default_rng(2).permutation(7)
    found = [{*order[rows].tolist()} for rows, _, _ in Blocks.of(sparse.csr_matrix(mixed[order])).parts]
    assert sorted(map(sorted, found)) == [[0, 1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize("small", [0, 2_000])
@pytest.mark.parametrize(("n_rows", "n"), [(6, 30), (30, 6)])
def test_it_solves_with_the_blocks(monkeypatch: pytest.MonkeyPatch, n_rows: int, n: int, small: int) -> None:
    monkeypatch.setattr(newton, "SMALL", small)  # 0: by masses, where these are fewer
    monkeypatch.setattr(newton, "RIDGE", 1e-9)
    matrix = random_rows(n_rows, n)
    variance = np.random.default_rng(1).uniform(0.1, 5.0, n)
    dense = (matrix @ sparse.diags_array(variance) @ matrix.T).toarray()
    right = dense @ np.random.default_rng(2).normal(size=n_rows)  # in its range, as gradients are
    solution = Blocks.of(matrix).factored(variance)(right)
    np.testing.assert_allclose(dense @ solution, right, rtol=1e-5, atol=1e-5)


def test_rows_without_variance_do_no_harm() -> None:
    matrix = random_rows(8, 20)
    solution = Blocks.of(matrix).factored(np.zeros(20))(np.zeros(8))
    np.testing.assert_array_equal(solution, 0.0)


def test_conjugate_gradients_solve_the_coupled_system_though_rows_repeat_each_other() -> None:
    rng = np.random.default_rng(3)
    owner, klass = np.divmod(np.arange(60), 3)
    leaf = rng.integers(0, 5, 20)
    rows = sparse.csr_matrix((np.ones(60), (leaf[owner] * 3 + klass, np.arange(60))))
    matrix = sparse.csr_matrix(sparse.vstack([rows, rows]))
    total = rng.uniform(1.0, 4.0, 20)
    shares = rng.dirichlet(np.ones(3), 20).ravel()
    masses = total[owner] * shares
    problem = LinearEntropy(owner, total, total[owner], matrix, np.zeros(matrix.shape[0]), np.zeros(matrix.shape[0]))
    every = np.arange(matrix.shape[0])
    dense = np.asarray(problem.hessian(masses, every))
    right = dense @ rng.normal(size=len(every))
    found = solve_by_conjugate_gradients(problem, masses, every, right, Clock())
    assert np.abs(dense @ found - right).max() <= 1e-2 * np.abs(right).max()


def test_softened_masses_keep_their_owners_totals() -> None:
    owner, total = np.array([0, 0, 1, 1, 1]), np.array([4.0, 9.0])
    problem = LinearEntropy(owner, total, total[owner], random_rows(2, 5), np.zeros(2), np.zeros(2))
    masses = np.array([4.0, 0.0, 9.0, 0.0, 0.0])
    soft = problem.softened(masses, 0.1)
    assert (soft > 0).all()
    np.testing.assert_allclose(np.bincount(owner, soft), total)
    np.testing.assert_array_equal(problem.softened(masses, 0.0), masses)
