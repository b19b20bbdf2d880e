"""Connected components are numbered by their first nodes."""

import numpy as np
import pytest

from maxent.constraints.components import components


@pytest.mark.parametrize("seed", range(20))
def test_components_are_numbered_by_their_first_nodes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    one, other = rng.integers(0, n, (2, int(rng.integers(0, 2 * n))))
    linked = np.eye(n, dtype=bool)
    linked[one, other] = linked[other, one] = True
    for _ in range(n):
        linked = linked @ linked
    first = linked.argmax(axis=1)
    assert components(n, one, other).tolist() == np.searchsorted(np.unique(first), first).tolist()


def test_a_long_chain_in_any_order_is_one_component() -> None:
    order = np.random.default_rng(0).permutation(10_000)
    assert not components(len(order), order[:-1], order[1:]).any()


def test_no_nodes_have_no_components() -> None:
    nothing = np.zeros(0, np.int64)
    assert components(0, nothing, nothing).shape == (0,)
