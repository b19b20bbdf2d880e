"""Decision trees whose risky branches are pruned before they are published (Yang et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from maxent.models.defenses.error_risk.method import ErrorRiskPruned
from maxent.models.defenses.error_risk.parameters import Rule
from maxent.models.defenses.estimator import constructor
from maxent.models.defenses.pruned_trees import PrunedTree
from maxent.models.errors import Problem
from maxent.models.parameters import unknown_choice
from maxent.models.release import Release
from maxent.models.tables.training import Training
from maxent.models.trees.draft import Publish
from maxent.models.trees.reidentification import ranges_of


class ERPTreeClassifier(PrunedTree):
    """A decision tree that is published after error-risk pruning (Yang et al. 2019).

    Parameters
    ----------
    k : int
        Records of the smallest leaf (of those that have any), see `maxent.models.defenses.error_risk.prune`.
    rule : {"twig", "literal"}
        Which branches compete to be pruned.
    inducer, impurity, max_depth, min_samples_leaf, min_samples_split, encoding, private, publish, round_counts
        See `PlainTree`.
    round_method, random_state
        See `PlainTree`.
    reading : Reading, optional
        How cells are read, see `maxent.models.reading.Reading`.

    Attributes
    ----------
    ranges_ : dict of str to (low, high)
        What the values of numeric columns lie between, in which the risk was measured.
    release_, classes_, n_features_in_, feature_names_in_
        See `maxent.models.defenses.estimator.PublishedTreeClassifier`.
    """

    _method = ErrorRiskPruned

    __init__ = constructor(PrunedTree, rule="twig")

    def _parameter_problems(self) -> Iterator[Problem]:
        choices = {"publish": get_args(Publish), "rule": get_args(Rule)}
        yield from (problem for problem in super()._parameter_problems() if problem.field not in choices)
        for name, known in choices.items():
            yield from unknown_choice(name, getattr(self, name), known)

    def _publish(self, training: Training) -> Release:
        self.ranges_ = ranges_of(training.attributes, training.columns)
        return super()._publish(training)
