"""Decision trees as they are, and pruned before they are published (Wakabayashi et al. 2024)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import get_args

import numpy as np

from maxent.models.defenses.estimator import PublishedTreeClassifier, constructor
from maxent.models.defenses.grown_tree import InducedTree
from maxent.models.defenses.leaf_pruning import k_problems, prune_leaf, prune_parent
from maxent.models.errors import Problem, invalid
from maxent.models.induction.inducers import induce
from maxent.models.induction.parameters import Growth
from maxent.models.parameters import picked, problems_of, unknown_choice
from maxent.models.release import Release
from maxent.models.rounding.of_estimators import rounding_problems, stated
from maxent.models.tables.training import Order, Training
from maxent.models.trees.draft import Publish
from maxent.models.trees.predict import Removed


class PlainTree(PublishedTreeClassifier):
    """A decision tree that is published as it is grown.

    Parameters
    ----------
    inducer, impurity, max_depth, min_samples_leaf, min_samples_split, encoding
        How the tree is grown, see `maxent.models.induction.parameters.Growth`.
    private : sequence of str
        Columns (``x0``, ``x1``... of an array) that are not in the adversary's table; all others are public.
    publish : {"labels", "rates", "counts"}
        What leaves state, and what predictions are made from, see `maxent.models.trees.restate.restate`.
    round_counts, round_method
        How numbers of records are rounded, see `maxent.models.rounding.parameters.Rounding`.
    random_state : int, RandomState instance or None
        cart: decides between splits that are equally good. An int is scikit-learn's own ``random_state``. Of rounding
        by chance it is the seed.
    reading : Reading, optional
        How cells are read, see `maxent.models.reading.Reading`.

    Attributes
    ----------
    release_, classes_, n_features_in_, feature_names_in_
        See `maxent.models.defenses.estimator.PublishedTreeClassifier`.
    """

    publish: Publish
    random_state: int | np.random.RandomState | None

    __init__ = constructor(InducedTree, without=["seed"], private=(), random_state=None, reading=None)

    def _growth(self, seed: int | None) -> Growth:
        """Parameters of growing the tree."""
        found: Growth = picked(Growth, self, seed=seed)
        return found

    def _parameter_problems(self) -> Iterator[Problem]:
        yield from super()._parameter_problems()
        seed = self.random_state
        for problem in problems_of(self._growth(None if isinstance(seed, np.random.RandomState) else seed)):
            yield replace(problem, field="random_state") if problem.field == "seed" else problem
        yield from unknown_choice("publish", self.publish, get_args(Publish))
        yield from rounding_problems(self)

    def _order(self) -> Order:
        return self._growth(None).order

    def _publish(self, training: Training) -> Release:
        seed = self.random_state
        growth = self._growth(seed.randint(2**31 - 1) if isinstance(seed, np.random.RandomState) else seed)
        return self._stating(self._defended(induce(training, growth)))

    def _stating(self, release: Release) -> Release:
        """A release with what it is to state."""
        return stated(release, self)

    def _defended(self, release: Release) -> Release:
        """The release that a defense makes of a tree."""
        return release


class PrunedTree(PlainTree):
    """A tree that is pruned before it is published."""

    k: int

    __init__ = constructor(PlainTree, k=5)

    def _parameter_problems(self) -> Iterator[Problem]:
        yield from k_problems(self.k)
        yield from super()._parameter_problems()

    def _publish(self, training: Training) -> Release:
        if len(training) < self.k:
            raise invalid("fit", "argument", "X", f"at least k = {self.k} records", f"n_samples = {len(training)}")
        return super()._publish(training)


class LeafPrunedTree(PrunedTree):
    """A decision tree that is published without its small leaves: method 1 of Wakabayashi et al. 2024.

    Parameters
    ----------
    k : int
        Records of the smallest leaf that is published, see `maxent.models.defenses.leaf_pruning.prune_leaf`.
    removed : {"ancestor", "majority"}
        What is predicted for a record that reaches a removed leaf: what the published leaves below its nearest ancestor
        that has any give together, or what all leaves do, see `maxent.models.trees.predict.predict_proba`.
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

    __init__ = constructor(PrunedTree, removed="ancestor")

    def _parameter_problems(self) -> Iterator[Problem]:
        yield from super()._parameter_problems()
        yield from unknown_choice("removed", self.removed, get_args(Removed))

    def _defended(self, release: Release) -> Release:
        return prune_leaf(release, self.k)


class ParentPrunedTree(PrunedTree):
    """A decision tree whose small leaves are taken back into larger ones: method 2 of Wakabayashi et al. 2024.

    Parameters
    ----------
    k : int
        Records of the smallest leaf, see `maxent.models.defenses.leaf_pruning.prune_parent`.
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

    def _defended(self, release: Release) -> Release:
        return prune_parent(release, self.k)
