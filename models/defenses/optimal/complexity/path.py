"""The best subtrees for all complexities, from the largest tree to the smallest.

What a subtree is worth falls with the complexity, in a line whose slope is its number of leaves. The best of all are
the upper envelope of these lines, found where the lines of two that are best next to each other cross (Eisner and
Severance 1976). Without limits these are the trees of weakest-link pruning (Breiman et al. 1984, chapter 3).

References
----------
Eisner and Severance, "Mathematical techniques for efficient record segmentation in large shared databases", Journal of
the ACM 23 (1976).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from maxent.models.defenses.optimal.best import best, leaves_of, tree_of
from maxent.models.defenses.optimal.places import Candidates, priced
from maxent.models.defenses.optimal.removed import answered

TRIED = 20  # complexities that are compared, at most
ROUNDING = 1e-9  # share of what trees are worth by which they differ for rounding alone


@dataclass(frozen=True, slots=True)
class Line:
    """A subtree: what it is worth per record without the cost of its leaves, and how many it has."""

    worth: float
    leaves: int

    def at(self, complexity: float) -> float:
        """What it is worth per record."""
        return self.worth - complexity * self.leaves


def complexities(found: Candidates) -> tuple[float, ...]:
    """Complexities to compare, increasing from 0: one for every subtree that is best for some, `TRIED` at most.

    Between two at which the best subtree changes it is their geometric mean. Limits on sums are left aside, as
    cross-validation compares what keeps them. None where no subtree keeps the limits on leaves.
    """
    largest = 1.0 + float(np.abs(priced(found, 1.0).worth).max()) / max(1, int(found.counts[0].sum()))
    ends = _best_at(found, 0.0), _best_at(found, largest)
    if ends[0] is None or ends[1] is None:
        return ()
    changes: set[float] = set()
    open_ = [(ends[0], ends[1])]
    while open_:
        many, few = open_.pop()
        if many.leaves <= few.leaves:
            continue
        crossing = max(0.0, (many.worth - few.worth) / (many.leaves - few.leaves))
        between = _best_at(found, crossing)
        gain = 0.0 if between is None else between.at(crossing) - many.at(crossing)
        if between is None or gain <= ROUNDING or not many.leaves > between.leaves > few.leaves:
            changes.add(crossing)
        else:
            open_ += [(many, between), (between, few)]
    steps = sorted(changes - {0.0})
    tried = [0.0, *(float(np.sqrt(low * high)) for low, high in pairwise(steps)), *(2 * last for last in steps[-1:])]
    some = np.unique(np.linspace(0, len(tried) - 1, min(TRIED, len(tried))).round().astype(int))
    return tuple(tried[i] for i in some.tolist())


def _best_at(found: Candidates, complexity: float) -> Line | None:
    """The best subtree for a complexity, None where there is none."""
    here = priced(found, complexity)
    chosen = best(here, np.zeros(len(here.names)))
    if chosen.value[0].max() == -np.inf:
        return None
    splits, gone = tree_of(here, chosen)
    leaves = len(leaves_of(here.places, splits))
    worth, _ = answered(here, splits, gone)
    per_record = here.share(worth)
    reached = per_record if here.objective == "accuracy" else -per_record
    return Line(reached + complexity * leaves, leaves)
