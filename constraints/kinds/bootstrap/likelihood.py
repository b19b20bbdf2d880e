r"""Likelihood of bootstrap counts: the probability of the counts of the trees, given the classes of the people.

Of the D draws of a tree in a leaf with W people, d_x are of class x with the probability of a multinomial distribution,
whose logarithm is ``sum_x d_x ln(m_x / W)`` and a constant; trees draw apart from each other, so that logarithms add
up. Where private attributes decide who is in a leaf it is ``sum d_x ln(m_x / N)`` over all leaves.
"""

from __future__ import annotations

import numpy as np

from maxent.constraints.kinds.bootstrap.resampled import UNKNOWN, draws_of, finest
from maxent.constraints.kinds.context import Context
from maxent.constraints.program import Likelihood


def likelihood_of(context: Context) -> Likelihood | None:
    """The likelihood of the finest draws that each tree states; None without any."""
    release = context.release
    if release.resampled is None or "counts" not in context.knowledge:
        return None
    found = []
    for t, tree in enumerate(release.trees):
        held = context.cells.trees[t]
        draws, _ = draws_of(tree, held.places, release.target.classes)
        for place in finest(held.places, draws[:, 0] != UNKNOWN):
            if held.stop[place] > held.start[place] and draws[place].any():
                size = context.size(t, place)
                found.append((t, place, draws[place], context.table.individuals if size is None else size))
    if not found:
        return None
    tree_of, place_of, counts, size_of = zip(*found, strict=True)
    return Likelihood(
        np.array(tree_of, np.int64),
        np.array(place_of, np.int64),
        np.array(counts, np.float64),
        np.array(size_of, float),
    )
