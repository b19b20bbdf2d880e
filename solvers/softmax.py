"""Softmax within groups, for several storage orders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from maxent.models.arrays import FloatArray

Reduction = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class Exponentials:
    """Exponentials of scores, each divided by the largest of its group, so that none overflows.

    ``largest`` and ``sums`` have an entry for each group: its largest score, and the sum of ``share``; ``shifted`` and
    ``share`` have one for each score: the score less its group's largest, and the exponential of that.
    """

    largest: FloatArray
    shifted: FloatArray
    share: FloatArray
    sums: FloatArray


def exponentials(scores: FloatArray, largest: Reduction, summed: Reduction, spread: Reduction) -> Exponentials:
    """The parts of a softmax: ``share / spread(sums)``, with the logarithm ``shifted - spread(log(sums))``.

    Parameters
    ----------
    scores : of any shape, finite or -inf
    largest, summed : callable
        The largest entry of each group, and their sum.
    spread : callable
        The value of its group for each entry.
    """
    top = largest(scores)
    shifted = scores - spread(top)
    share = np.exp(shifted)
    return Exponentials(top, shifted, share, summed(share))
