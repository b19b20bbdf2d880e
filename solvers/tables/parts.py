"""Independent parts of a system: patterns that no statement connects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from maxent.constraints.patterns.system import System
from maxent.models.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class TablePart:
    """A part; arrays are about its patterns.

    Attributes
    ----------
    patterns : shape (n,), their numbers
    system : System
    cost : shape (n,), minus the logarithm of the likelihood of each person of the pattern, nats
    hint : shape (n,), people of a table that is near
    base : shape (n,), groups with the same number of people in every table, as is stated
    codes : shape (n_descriptors, n), what is known of each: values that a group may be divided by; -1: any of several
    """

    patterns: IntArray
    system: System
    cost: FloatArray
    hint: IntArray
    base: IntArray
    codes: IntArray


def parts_of(system: System, cost: FloatArray, hint: IntArray, base: IntArray, codes: IntArray) -> Iterator[TablePart]:
    """The parts of a system, the smallest first."""
    n_rows = len(system.low)
    graph = sparse.bmat([[None, system.matrix], [system.matrix.T, None]], format="csr")
    of = csgraph.connected_components(graph, directed=False)[1]
    rows_of, patterns_of = of[:n_rows], of[n_rows:]
    numbers, sizes = np.unique(patterns_of, return_counts=True)
    for number in numbers[np.argsort(sizes, kind="stable")].tolist():
        rows, mine = np.flatnonzero(rows_of == number), np.flatnonzero(patterns_of == number)
        inside = System(system.matrix[rows][:, mine].tocsr(), system.low[rows], system.high[rows])
        yield TablePart(mine, inside, cost[mine], hint[mine], base[mine], codes[:, mine])
