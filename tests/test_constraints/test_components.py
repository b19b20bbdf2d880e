"""Connected components, held against SciPy's."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from maxent.constraints.program.program import components


@pytest.mark.parametrize("seed", range(20))
def test_components_are_those_of_scipy_in_the_same_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    one, other = rng.integers(0, n, (2, int(rng.integers(0, 2 * n))))
    graph = sparse.csr_matrix((np.ones(len(one)), (one, other)), shape=(n, n))
    assert components(n, one, other).tolist() == connected_components(graph, directed=False)[1].tolist()


def test_a_long_chain_in_any_order_is_one_component() -> None:
    order = np.random.default_rng(0).permutation(10_000)
    assert not components(len(order), order[:-1], order[1:]).any()


def test_no_nodes_have_no_components() -> None:
    nothing = np.zeros(0, np.int64)
    assert components(0, nothing, nothing).shape == (0,)
