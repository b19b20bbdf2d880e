"""Private random decision trees as an estimator (Waseda et al. 2025)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from maxent.models.defenses.estimator import PublishedTreeClassifier, constructor
from maxent.models.defenses.random_trees.guarantee import guarantee
from maxent.models.defenses.random_trees.method import RandomForest
from maxent.models.defenses.random_trees.parameters import RandomTrees, Vote
from maxent.models.defenses.random_trees.trees import random_trees
from maxent.models.defenses.random_trees.votes import vote_shares
from maxent.models.errors import Problem
from maxent.models.parameters import picked, problems_of, unknown_choice
from maxent.models.release import Release
from maxent.models.tables.domains import DomainSource, read_domains
from maxent.models.tables.frame import shorten_list
from maxent.models.tables.training import Training
from maxent.models.trees.predict import read_columns

# What parameters of the algorithm are called here, where it is not the same
_ARGUMENTS = {"trees": "n_trees", "seed": "random_state"}


class KAnonRandomTreesClassifier(PublishedTreeClassifier):
    """Random decision trees that publish sampled counts of at least k [1]_.

    The structure of the trees does not depend on the data, and what is published is (beta, epsilon,
    delta)-differentially private under sampling, provided that domains are stated and that nobody knows, or guesses, a
    ``random_state``.

    Parameters
    ----------
    n_trees, depth, beta, k, epsilon
        See `maxent.models.defenses.random_trees.parameters.RandomTrees`, where the first is called ``trees``.
    vote : {"sums", "trees"}
        What predictions are made from: the counts of all trees together (Algorithm 2 of [1]_), or a vote of those trees
        that have counts for a record. Where no tree has, the leaves below the nearest ancestors that have some decide,
        see `maxent.models.trees.predict.predict_proba`, and where nothing is published at all, the first class is
        predicted.
    domains : mapping of column to domain, or path, optional
        The values of columns (strings), and what numbers lie between (two numbers), as they are known without the data;
        the classes go by the name of the target. A file is a JSON object. What is missing is taken from the data, with
        a warning, as trees and counts may then tell that somebody with a rare value is among them.
    private : sequence of str
        Columns (``x0``, ``x1``... of an array) that are not in the adversary's table; all others are public.
    random_state : int, RandomState instance or None
        None draws samples from the operating system's cryptographic source.
    reading : Reading, optional
        How cells are read, see `maxent.models.reading.Reading`.

    Attributes
    ----------
    guarantee_ : Guarantee or None
        What holds as long as nobody knows the samples, see `maxent.models.defenses.random_trees.guarantee.guarantee`.
    release_, classes_, n_features_in_, feature_names_in_
        See `maxent.models.defenses.estimator.PublishedTreeClassifier`.

    References
    ----------
    .. [1] Waseda, Nojima and Wang, "kAnonToRdt", 2025.
    """

    n_trees: int
    vote: Vote
    domains: DomainSource | None
    random_state: int | np.random.RandomState | None

    __init__ = constructor(
        RandomForest,
        without=["trees", "seed", "publish"],
        n_trees=10,
        private=(),
        random_state=None,
        reading=None,
    )

    def _asked(self, seed: Any) -> RandomTrees:
        """The parameters that the algorithm has."""
        found: RandomTrees = picked(RandomTrees, self, trees=self.n_trees, seed=seed)
        return found

    def _parameter_problems(self) -> Iterator[Problem]:
        yield from super()._parameter_problems()
        seed = self.random_state
        for problem in problems_of(self._asked(None if isinstance(seed, np.random.RandomState) else seed)):
            yield replace(problem, field=_ARGUMENTS.get(problem.field, problem.field))
        yield from unknown_choice("vote", self.vote, get_args(Vote))

    def _domains(self, target: str) -> Mapping[str, Sequence[str]]:
        return read_domains(self.domains, target, self._names).values

    def _publish(self, training: Training) -> Release:
        seed = self.random_state
        asked = self._asked(seed.randint(2**31 - 1) if isinstance(seed, np.random.RandomState) else seed)
        domains = read_domains(self.domains, training.target.name)
        release = random_trees(training, asked, domains)
        unstated = domains.unstated(training)
        if unstated:
            costs = "nothing is guaranteed about people with values that would not be there without them"
            warnings.warn(f"domains of {shorten_list(unstated)} are taken from the data: {costs}", stacklevel=3)
        self.guarantee_ = None if unstated else guarantee(asked)
        return release

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """The probability of each class, or its share of the votes, shape (n, n_classes)."""
        if self.vote == "sums":
            return super().predict_proba(X)
        check_is_fitted(self)
        return vote_shares(self.release_, *read_columns(self.release_, self._frame(X), self.reading))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of each record, shape (n,): the first of those that have the highest probability."""
        if self.vote == "sums":
            return super().predict(X)
        best = self.predict_proba(X).argmax(axis=1)
        found: npt.NDArray[Any] = self.classes_[best]
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # of few records nothing is published
        tags.non_deterministic = self.random_state is None
        return tags
