"""Sums of masses that stand in logarithms of the objective: classes in places with counted draws."""

from __future__ import annotations

import numpy as np

from maxent.constraints.lifting.aggregates import Aggregates, Wanted
from maxent.constraints.presolve.part_view import PartView
from maxent.constraints.presolve.placed import spans_of
from maxent.models.arrays import FloatArray, IntArray


def likely_sums(view: PartView, aggregates: Aggregates) -> tuple[IntArray, FloatArray] | None:
    """Variables and how often each was drawn, shapes (n,); None where the part has no likelihood.

    A sum that is known is a constant, and so is its logarithm.
    """
    likely, mine = view.program.likelihood, view.part.likely
    if likely is None or not len(mine):
        return None
    places = list(zip(likely.tree[mine].tolist(), likely.place[mine].tolist(), strict=True))
    spans = zip(*(found.tolist() for found in spans_of(view.trees, places)), strict=True)
    groups = [view.trees[tree].at(low, high) for tree, low, high in spans]
    blocks = aggregates.blocks([Wanted(some, some) for some in groups])
    var = np.array([block.var for block in blocks], np.int64)
    drawn = likely.draws[mine]
    used = (var >= 0) & (drawn > 0)
    return var[used], drawn[used]
