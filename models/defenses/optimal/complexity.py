"""Cost-complexity pruning: the best subtree for each complexity, and cross-validation (Breiman et al. 1984).

Of each fold a tree is grown from all others; its best subtree within the limits for each complexity is tested on the
people of the fold. Chosen is the complexity that is best for all of them, and of several the largest, whose tree is the
smallest. No other people than those of the records are asked.

References
----------
Breiman, Friedman, Olshen and Stone, "Classification and Regression Trees", 1984, section 3.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.models.arrays import FloatArray
from maxent.models.defenses.method import Progress
from maxent.models.defenses.optimal.best import best, leaves_of, tree_of
from maxent.models.defenses.optimal.costs import with_costs
from maxent.models.defenses.optimal.frontier import within_limits
from maxent.models.defenses.optimal.places import Candidates, priced
from maxent.models.defenses.optimal.prices import answered
from maxent.models.defenses.optimal.subtree import searchable, searched
from maxent.models.errors import ARGUMENT, invalid
from maxent.models.release import Release, Rounded
from maxent.models.tables.hierarchies import HierarchySource
from maxent.models.tables.training import Training, stratified
from maxent.models.trees.draft import Publish
from maxent.models.trees.predict import predict_columns, predict_proba_columns
from maxent.models.trees.restate import restate
from maxent.models.trees.rounding import round_counts

if TYPE_CHECKING:
    from maxent.models.defenses.optimal.limits import SubtreeLimits

# The best subtrees for all complexities, from the largest tree to the smallest.
#
# What a subtree is worth falls with the complexity, in a line whose slope is its number of leaves. The best of all are
# the upper envelope of these lines, found where the lines of two that are best next to each other cross (Eisner and
# Severance 1976). Without limits these are the trees of weakest-link pruning (Breiman et al. 1984, chapter 3).
#
# References
# ----------
# Eisner and Severance, "Mathematical techniques for efficient record segmentation in large shared databases", Journal
# of the ACM 23 (1976).

TRIED = 20  # complexities that are compared, at most
ROUNDING = 1e-9  # share of what trees are worth by which they differ for rounding alone


@dataclass(frozen=True, slots=True)
class ComplexityLine:
    """A subtree: what it is worth per record without the cost of its leaves, and how many it has."""

    worth: float
    leaves: int

    def at(self, complexity: float) -> float:
        """What it is worth per record."""
        return self.worth - complexity * self.leaves


def complexities(found: Candidates) -> tuple[float, ...]:
    """Complexities to compare, increasing from 0: one for every subtree that is best for some, `TRIED` at most.

    Each is the geometric mean of two at which the best subtree changes; limits on sums are left aside.
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


def _best_at(found: Candidates, complexity: float) -> ComplexityLine | None:
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
    return ComplexityLine(reached + complexity * leaves, leaves)


Grow = Callable[[Training], Release]  # grows a tree from records, its leaves with their counts


@dataclass(frozen=True, slots=True)
class Validated:
    """A complexity, and what the people of all folds lose with it and without any, each; None: nothing to choose."""

    complexity: float
    loss: float | None
    without: float | None


def validated(
    training: Training,
    grow: Grow,
    limits: SubtreeLimits,
    *,
    remove: bool = False,
    publish: Publish = "counts",
    hierarchies: Mapping[str, HierarchySource] | None = None,
    rounded: Rounded | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Validated:
    """The complexity that is best for people whom the tree was not made from, by stratified folds."""
    folds = limits.complexity_folds or 0
    if len(training) < folds:
        expected = f"at most {len(training)}, the number of records"
        raise invalid("options", ARGUMENT, "complexity_folds", expected, f"{folds}")
    limits = with_costs(replace(limits, complexity_folds=None), training.target)
    asked: dict[str, Any] = {"remove": remove, "publish": publish, "hierarchies": hierarchies, "rounded": rounded}
    whole, _ = searchable(grow(training), limits, training, **asked)
    tried = complexities(whole)
    if len(tried) < 2:
        return Validated(0.0, None, None)
    losses, people = np.zeros(len(tried)), 0
    fold = stratified(training.y, folds, seed)
    for here in range(folds):
        if progress is not None:
            progress("choosing a complexity", here, folds)
        made, tested = training.take(fold != here), training.take(fold == here)
        grown = grow(made)
        found, _ = searchable(grown, limits, made, **asked)
        for i, complexity in enumerate(tried):
            part = priced(found, complexity)
            chosen = within_limits(part)
            if chosen is None:  # whatever a leaf costs
                break
            release = restate(searched(grown, limits, part, chosen, "unstated").release, publish)
            release = release if rounded is None else round_counts(release, rounded, seed)
            losses[i] += _loss(release, tested, limits)
        else:
            people += len(tested)
    if not people:
        return Validated(0.0, None, None)
    least = losses.min()
    last = int(np.flatnonzero(losses <= least + 1e-9 * (1 + abs(least)))[-1])
    return Validated(tried[last], float(losses[last]) / people, float(losses[0]) / people)


def _loss(release: Release, tested: Training, limits: SubtreeLimits) -> float:
    """What people lose by the predictions of a tree, all together."""
    asked = (release, tested.attributes, tested.columns, len(tested))
    if limits.objective == "accuracy":
        return float((predict_columns(*asked) != tested.y).sum())
    shares: FloatArray = predict_proba_columns(*asked)
    if limits.objective == "impurity":
        truth = np.eye(shares.shape[1])[tested.y]
        return float(((shares - truth) ** 2).sum())
    decisions = (shares @ limits.cost.T).argmin(axis=1)
    return float(limits.cost[decisions, tested.y].sum())
