"""Connected components of an undirected graph."""

from __future__ import annotations

import numpy as np

from maxent.models.arrays import IntArray


def components(n: int, one: IntArray, other: IntArray) -> IntArray:
    """Component of each of n nodes, numbered by first node, shape (n,); edge i links ``one[i]`` and ``other[i]``."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(one)), (one, other)), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1], np.int64)
