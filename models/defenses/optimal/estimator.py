"""The best subtree within limits, as an estimator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from maxent.models.defenses.estimator import constructor
from maxent.models.defenses.optimal.complexity.folds import validated
from maxent.models.defenses.optimal.growing.grow import optimal_tree
from maxent.models.defenses.optimal.limits import (
    Criterion,
    Limits,
    cautious_conflicts,
    grown_conflicts,
    merged_conflicts,
    rounding_conflicts,
)
from maxent.models.defenses.optimal.subtree import optimal_subtree
from maxent.models.defenses.pruned_trees import PlainTree
from maxent.models.errors import Problem, invalid
from maxent.models.induction.inducers import induce
from maxent.models.parameters import no_flag, picked, problems_of
from maxent.models.reading import reader_of
from maxent.models.release import Release
from maxent.models.rounding.parameters import Rounding
from maxent.models.tables.hierarchies import HierarchySource, read_hierarchies
from maxent.models.tables.training import Training


class OptimalSubtree(PlainTree):
    """A decision tree cut back to the best of its subtrees within limits, proved.

    Parameters
    ----------
    k, max_posterior, sensitive, l, diversity, alpha, max_certain, min_divergence, max_right_guesses, max_lift
        See `maxent.models.defenses.optimal.limits.Limits`.
    objective, cost, complexity, complexity_folds, cautious
        See `maxent.models.defenses.optimal.limits.Limits`.
    grow : bool
        Whether to grow a tree that is optimal within limits on its leaves, and not the best subtree of another, see
        `maxent.models.defenses.optimal.growing.grow.optimal_tree`.
    criterion : {"unstated", "stated"}
        Whether the release states what splits were chosen by, see
        `maxent.models.defenses.optimal.subtree.optimal_subtree`.
    remove : bool
        Whether leaves may be removed, see the same.
    hierarchies : mapping of column to hierarchy, optional
        Along which branches may be merged, see the same: files, or rows, of a value, its parent, its parent's parent...
    inducer, impurity, max_depth, min_samples_leaf, min_samples_split, encoding, private, publish, round_counts
        See `PlainTree`.
    round_method, random_state
        See `PlainTree`.
    reading : Reading, optional
        How cells are read, see `maxent.models.reading.Reading`.

    Attributes
    ----------
    release_, classes_, n_features_in_, feature_names_in_
        See `maxent.models.defenses.estimator.PublishedTreeClassifier`.
    """

    k: int
    grow: bool
    remove: bool
    criterion: Criterion
    hierarchies: Mapping[str, HierarchySource] | None

    __init__ = constructor(PlainTree, Limits, grow=False, remove=False, criterion="unstated", hierarchies=None)

    def _limits(self) -> Limits:
        found: Limits = picked(Limits, self)
        return found

    def _parameter_problems(self) -> Iterator[Problem]:
        yield from super()._parameter_problems()
        yield from problems_of(self._limits())
        for name in ("grow", "remove"):
            yield from no_flag(name, getattr(self, name))
        yield from grown_conflicts(self.grow, self._limits(), self.criterion, self.remove)
        yield from cautious_conflicts(self._limits(), self.remove)
        yield from merged_conflicts(self.hierarchies, self.grow, self.criterion)
        yield from rounding_conflicts(self.round_counts, self.cost, self.remove)

    def _publish(self, training: Training) -> Release:
        if len(training) < self.k:
            raise invalid("fit", "argument", "X", f"at least k = {self.k} records", f"n_samples = {len(training)}")
        if self.grow:
            within = replace(self._limits(), k=max(self.k, self.min_samples_leaf or 1))
            return self._stating(optimal_tree(training, within, self.max_depth, publish=self.publish).release)
        seed = self.random_state
        growth = self._growth(seed.randint(2**31 - 1) if isinstance(seed, np.random.RandomState) else seed)
        grown = induce(training, growth)
        limits = self._limits()
        stated: Any = {"remove": self.remove, "publish": self.publish, "rounded": picked(Rounding, self).rounded}
        stated["hierarchies"] = read_hierarchies(self.hierarchies, reader_of(self.reading))
        if limits.complexity_folds is not None:
            chosen = validated(training, partial(induce, growth=growth), limits, seed=growth.seed or 0, **stated)
            limits = replace(limits, complexity=chosen.complexity, complexity_folds=None)
        found = optimal_subtree(grown, limits, training, criterion=self.criterion, **stated)
        return self._stating(found.release)
