"""Aggregates: the sums of masses that impurities look at, each defined once, from smaller ones where these exist."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """The masses of a set of groups, per class: a variable ``var[x]`` (-1: none) or a constant ``const[x]``.

    ``size`` are the individuals in it, None when they are the variable ``size_var``.
    """

    groups: IntArray
    var: IntArray
    const: FloatArray
    size: float | None
    size_var: int = -1


class Aggregates:
    """Defines aggregates on demand; a set of groups is one block however often it is asked for."""

    def __init__(self, size: Callable[[IntArray], float | None], known: FloatArray, index: IntArray) -> None:
        self._size, self._known, self._index = size, known, index
        self._n_masses = int((index >= 0).sum())
        self._blocks: dict[bytes, Block] = {}
        self._columns: list[IntArray] = []
        self._const: list[float] = []
        self._groups: list[tuple[IntArray, int | None]] = []

    def block(self, groups: IntArray, parts: tuple[Block, ...] = (), totals: FloatArray | None = None) -> Block:
        """The block of some groups (increasing numbers).

        ``parts`` are disjoint blocks inside it that its definition may use; ``totals`` are its masses per class where
        statements fix them, NaN elsewhere.
        """
        key = groups.tobytes()
        if key not in self._blocks:
            self._blocks[key] = self._define(groups, parts, totals)
        return self._blocks[key]

    def find(self, groups: IntArray) -> Block | None:
        """The block of some groups if it exists already."""
        return self._blocks.get(groups.tobytes())

    def _define(self, groups: IntArray, parts: tuple[Block, ...], totals: FloatArray | None) -> Block:
        covered = np.concatenate([p.groups for p in parts]) if parts else groups[:0]
        rest = np.setdiff1d(groups, covered, assume_unique=True)
        n_classes = self._index.shape[1]
        var, const = np.full(n_classes, -1, np.int64), np.zeros(n_classes)
        size = self._size(groups)
        for x in range(n_classes):
            if totals is not None and size is not None and not np.isnan(totals[x]):
                const[x] = totals[x]
                continue
            free = self._index[rest, x]
            columns = np.concatenate([free[free >= 0], [p.var[x] for p in parts if p.var[x] >= 0]]).astype(np.int64)
            base = float(self._known[rest, x].sum()) + sum(float(p.const[x]) for p in parts if p.var[x] < 0)
            if not len(columns) and (size is not None or base == 0.0):
                const[x] = base
            elif len(columns) == 1 and base == 0.0:
                var[x] = columns[0]
            else:
                var[x] = self._add(columns, base, groups, x)
        if size is not None:
            return Block(groups, var, const, size)
        size_var = self._add(var[var >= 0], float(const[var < 0].sum()), groups, None)
        return Block(groups, var, const, None, size_var)

    def _add(self, columns: IntArray, base: float, groups: IntArray, x: int | None) -> int:
        self._columns.append(columns)
        self._const.append(base)
        self._groups.append((groups, x))
        return self._n_masses + len(self._columns) - 1

    def finish(self, mass_upper: FloatArray) -> tuple[sparse.csr_matrix, FloatArray, FloatArray]:
        """Definitions, shape (n_aggregates, n_masses + n_aggregates), constants, and upper bounds of the aggregates."""
        n = len(self._columns)
        indptr = np.concatenate([[0], np.cumsum([len(c) for c in self._columns])])
        indices = np.concatenate(self._columns) if n else np.empty(0, np.int64)
        matrix = sparse.csr_matrix((np.ones(len(indices)), indices, indptr), shape=(n, self._n_masses + n))
        upper = np.array([mass_upper[g].sum() if x is None else mass_upper[g, x].sum() for g, x in self._groups])
        return matrix, np.array(self._const), upper.reshape(n)
