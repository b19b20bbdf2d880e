"""Decision trees as they are, and pruned before they are published (Wakabayashi et al. 2024)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, get_args

from maxent.models.defenses.estimator import DefendedClassifier, constructor
from maxent.models.defenses.grown_tree import InducedTree
from maxent.models.defenses.leaf_pruning import k_problems
from maxent.models.defenses.pruning_methods import Plain, PrunedLeaves, PrunedParents
from maxent.models.errors import Problem
from maxent.models.parameters import unknown_choice
from maxent.models.trees.predict import Removed


class PlainTree(DefendedClassifier):
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

    _method: ClassVar[type[InducedTree]] = Plain

    __init__ = constructor(InducedTree, without=["seed"], private=(), random_state=None, reading=None)


class PrunedTree(PlainTree):
    """A tree that is pruned before it is published."""

    __init__ = constructor(PlainTree, k=5)

    def _parameter_problems(self) -> Iterator[Problem]:
        yield from k_problems(self.k)
        yield from (problem for problem in super()._parameter_problems() if problem.field != "k")


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

    _method = PrunedLeaves

    __init__ = constructor(PrunedTree, removed="ancestor")

    def _parameter_problems(self) -> Iterator[Problem]:
        yield from super()._parameter_problems()
        yield from unknown_choice("removed", self.removed, get_args(Removed))


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

    _method = PrunedParents
