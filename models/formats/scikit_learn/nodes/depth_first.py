"""The nodes of a fitted tree in depth-first order, in which a release has and names them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from maxent.models.arrays import BoolArray, IntArray


class Ids(Sequence[str]):
    """N1, N2... of inner nodes and L1, L2... of leaves, each made when it is asked for.

    ``leaf`` of shape (n_nodes,). ``number`` of shape (n_nodes,): by default 1, 2... among leaves, and among inner
    nodes.
    """

    __slots__ = ("_leaf", "_number")

    def __init__(self, leaf: BoolArray, number: IntArray | None = None) -> None:
        self._leaf = leaf
        self._number = np.where(leaf, np.cumsum(leaf), np.cumsum(~leaf)) if number is None else number

    def __len__(self) -> int:
        return len(self._leaf)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> Ids: ...

    def __getitem__(self, index: int | slice) -> str | Ids:
        if isinstance(index, slice):
            return Ids(self._leaf[index], self._number[index])
        return f"{'L' if self._leaf[index] else 'N'}{self._number[index]}"


@dataclass(frozen=True, slots=True, eq=False)
class DepthFirst:
    """The order of the nodes of a tree of two branches each.

    ``order`` of shape (n_nodes,): the number that the tool has for each node. ``inner``, ``right`` of shape (n_inner,):
    positions of inner nodes, increasing, and of their second children; the first ones come right after their nodes.
    """

    order: IntArray
    inner: IntArray
    right: IntArray

    def __len__(self) -> int:
        return len(self.order)

    @property
    def ids(self) -> Ids:
        """The name of each node."""
        leaf = np.ones(len(self), bool)
        leaf[self.inner] = False
        return Ids(leaf)


def depth_first(left: IntArray, right: IntArray) -> DepthFirst:
    """The order of a tree whose leaves have negative children; the first node is its root."""
    low, high = left.tolist(), right.tolist()
    order: list[int] = []
    stack = [0]
    while stack:
        at = stack.pop()
        order.append(at)
        if low[at] >= 0:
            stack += (high[at], low[at])
    found = np.array(order, np.int64)
    position = np.empty(len(left), np.int64)
    position[found] = np.arange(len(found))
    inner = np.flatnonzero(left[found] >= 0)
    return DepthFirst(found, inner, position[right[found[inner]]])
