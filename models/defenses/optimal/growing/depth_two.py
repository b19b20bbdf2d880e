"""The best tree of two splits below each other, from the people that pairs of splits hold: all at once.

Demirović et al. (MurTree, JMLR 2022) count pairs of splits once for all trees of depth two; van der Linden et al.
(STreeD, NeurIPS 2023) show which objectives allow it: those that are summed over leaves, as here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from maxent.models.arrays import FloatArray

# From people of each class, shape (n_classes, ...), to what they are worth as a leaf, -inf where it may not be
Worth = Callable[[FloatArray], FloatArray]

LEAF = -1


@dataclass(frozen=True, slots=True)
class Two:
    """A tree of depth two at most: its worth, the number of its split, and those of both branches; -1 for a leaf."""

    worth: float
    split: int = LEAF
    below: tuple[int, int] = (LEAF, LEAF)


def best_two(held: FloatArray, total: FloatArray, worth: Worth, *, splits_below: bool = True) -> Two:
    """The best tree of depth two at most.

    ``held`` of shape (n_classes, n_splits, n_splits): people that go the first way of both of two splits. ``total`` of
    shape (n_classes,): all people. ``worth``: of leaves. ``splits_below``: whether branches may be split.
    """
    alone = Two(float(worth(total[:, None])[0]))
    n = held.shape[1]
    if not n:
        return alone
    first = np.einsum("xff->xf", held)
    other = total[:, None] - first
    ways = []
    for here, both in ((first, held), (other, first[:, None, :] - held)):
        if not splits_below:
            ways.append((worth(here), np.full(n, LEAF)))
            continue
        split = worth(both) + worth(here[:, :, None] - both)
        inner = split.argmax(axis=1)
        value, leaf = split[np.arange(n), inner], worth(here)
        ways.append((np.maximum(value, leaf), np.where(leaf >= value, LEAF, inner)))
    (value, inner), (value_other, inner_other) = ways
    top = int(np.argmax(value + value_other))
    reached = float(value[top] + value_other[top])
    if reached <= alone.worth:
        return alone
    return Two(reached, top, (int(inner[top]), int(inner_other[top])))
