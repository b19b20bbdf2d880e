"""The values of a categorical attribute that reach the branches of each node, as sets of bits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from maxent.models.arrays import IntArray, run_ends

Sides = list[tuple[int, int]]  # the values that the two branches of nodes take; none of a branch that no value reaches


def ends_of(size: int, inner: Sequence[int], right: Sequence[int]) -> list[int]:
    """The position after the last node below each, of ``size`` nodes in depth-first order; shape (n_nodes,)."""
    end = [size] * size
    for at, second in zip(inner, right, strict=True):
        end[at + 1], end[second] = second, end[at]
    return end


def reached(
    everything: int, nodes: Iterable[int], right: Iterable[int], chosen: Iterable[int], end: Sequence[int]
) -> Sides:
    """What each branch takes of the values that reach its node, after the tests of the same attribute above.

    ``everything``: all values of the attribute, as bits. ``nodes``, ``right``: positions of the nodes that test it,
    increasing, and of their second children. ``chosen``: the values that each sends to its first child, whether they
    reach it or not. ``end``: of all nodes, see `ends_of`.
    """
    found: Sides = []
    above: list[tuple[int, int, int, int]] = []
    for at, second, bits in zip(nodes, right, chosen, strict=True):
        while above and above[-1][0] <= at:
            above.pop()
        here = everything
        if above:
            _, turn, low, high = above[-1]
            here = low if at < turn else high
        found.append((here & bits, here & ~bits))
        above.append((end[at], second, *found[-1]))
    return found


class Taken:
    """The values of the branches of all nodes, in their order, as `maxent.models.columns.Columns` has them."""

    def __init__(self, n_inner: int) -> None:
        self._n = 2 * n_inner
        self._held: list[IntArray] = []

    def take(self, rows: IntArray, sides: Sides) -> None:
        """State what the branches of some of the inner nodes take."""
        if not self._held:
            self._held = [np.zeros(0, np.int64)] * self._n
        made: dict[int, IntArray] = {}
        for row, pair in zip(rows.tolist(), sides, strict=True):
            for side, bits in enumerate(pair):
                if bits not in made:
                    made[bits] = np.array(positions(bits), np.int64)
                self._held[2 * row + side] = made[bits]

    def arrays(self) -> tuple[IntArray, IntArray]:
        """``value_ends`` and ``values``."""
        if not self._held:
            return np.zeros(self._n + 1, np.int64), np.zeros(0, np.int64)
        lengths = np.fromiter(map(len, self._held), np.int64, self._n)
        return run_ends(lengths), np.concatenate(self._held)


def positions(bits: int) -> list[int]:
    """The bits that are set, increasing."""
    return [i for i, bit in enumerate(reversed(f"{bits:b}")) if bit == "1"]
