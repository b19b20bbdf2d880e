"""The best subtree within limits, as an estimator."""

from __future__ import annotations

from maxent.models.defenses.estimator import constructor
from maxent.models.defenses.optimal.limits import Limits
from maxent.models.defenses.optimal.method import BestSubtree
from maxent.models.defenses.pruned_trees import PlainTree


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

    _method = BestSubtree

    __init__ = constructor(PlainTree, Limits, grow=False, remove=False, criterion="unstated", hierarchies=None)
