"""Error-based pruning by subtree replacement, as C4.5 prunes (Quinlan 1993, section 4.2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from maxent.models.arrays import FloatArray
from maxent.models.trees.draft import Draft, depth_first


def upper_error(errors: npt.ArrayLike, n: npt.ArrayLike, confidence: float) -> FloatArray:
    """The error rate of a leaf at its upper confidence limit, U_CF(E, N); arguments broadcast.

    ``errors``, ``n``: records of the leaf that are not of its class, and all of them, at least 1. ``confidence``: the
    probability CF of as few errors or fewer when that were the rate, above 0. Returns the exact limit of
    the binomial distribution (Clopper and Pearson 1934), 1 when all records are errors. Quinlan's program approximates
    it when there are errors: U_25%(1, 16) is 0.160, where he prints 0.157.
    """
    from scipy.special import betaincinv

    e, total = np.broadcast_arrays(np.asarray(errors, np.float64), np.asarray(n, np.float64))
    return np.asarray(np.where(e < total, betaincinv(e + 1, np.maximum(total - e, 1), 1 - confidence), 1.0))


def prune(drafts: Sequence[Draft], confidence: float) -> list[Draft]:
    """Replace every subtree by a leaf that is predicted to make no more errors, from the leaves up.

    ``drafts``: the tree in depth-first order; its nodes are changed. ``confidence``: see `upper_error`. The result:
    what is left, in depth-first order.
    """
    n = np.array([draft.counts.sum() for draft in drafts])
    right = np.array([draft.counts[draft.label] for draft in drafts])
    predicted = np.where(n > 0, n * upper_error(n - right, np.maximum(n, 1), confidence), 0.0).tolist()
    for at in range(len(drafts) - 1, -1, -1):
        draft = drafts[at]
        below = sum(predicted[child] for child in draft.children)
        if draft.children and below < predicted[at]:
            predicted[at] = below
        else:
            draft.attribute, draft.branches, draft.children = None, (), []
    return depth_first(drafts)
