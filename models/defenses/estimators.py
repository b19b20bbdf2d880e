"""The defenses as scikit-learn estimators: people in, a release out, and predictions from that release alone."""

from __future__ import annotations

import inspect
import warnings
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import is_numeric_dtype
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from maxent.models.arguments import entries, parameters_of, picked, problems_of, shorten, shorten_list, unknown_choice
from maxent.models.defenses.accounting import guarantee
from maxent.models.defenses.grown_tree import InducedTree
from maxent.models.defenses.kadet import kadet
from maxent.models.defenses.methods import ErrorRiskPruned, Plain, PrunedLeaves, PrunedParents, RandomForest
from maxent.models.defenses.optimal.limits import SubtreeLimits
from maxent.models.defenses.optimal.method import BestSubtree
from maxent.models.defenses.parameters import Kadet, RandomTrees, Rounding, Rule, Vote
from maxent.models.defenses.pruning import k_problems
from maxent.models.defenses.random_trees import random_trees, vote_shares
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.induction.growth import Growth
from maxent.models.induction.inducers import induce
from maxent.models.reading import USUAL, Reading, reader_of, reading_problems
from maxent.models.release import Release
from maxent.models.tables.cells import MISSING
from maxent.models.tables.domains import DomainSource, read_domains
from maxent.models.tables.hierarchies import HierarchySource, read_hierarchies
from maxent.models.tables.training import Missing, Order, Training, read_training
from maxent.models.trees.draft import Publish
from maxent.models.trees.predict import Removed, predict_columns, predict_proba, read_columns
from maxent.models.trees.reidentification import ranges_of
from maxent.models.trees.rounding import round_counts


def constructor(*kinds: type, without: Collection[str] = (), **others: Any) -> Any:
    """An ``__init__`` that stores the parameters of ``kinds``, but for those in ``without``, and ``others``."""
    found = {
        name: each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for kind in kinds
        for name, each in inspect.signature(kind).parameters.items()
        if name not in without
    }
    for name, default in others.items():
        found[name] = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
    signature = inspect.Signature([inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY), *found.values()])

    def __init__(self: Any, **given: Any) -> None:
        bound = signature.bind(self, **given)
        bound.apply_defaults()
        for name in found:
            setattr(self, name, bound.arguments[name])

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


# What parameters of random trees are called here, where it is not the same
_ARGUMENTS = {"trees": "n_trees", "seed": "random_state"}
# Parameters that are not those of a method, and what is told of them
_TOLD = {
    "private": "Columns (``x0``, ``x1``... of an array) that are not in the adversary's table; all others are public.",
    "random_state": "An int, RandomState instance or None. It decides between splits of cart that are equally good (an "
    "int is scikit-learn's own ``random_state``), and is the seed of rounding by chance.",
    "reading": "How cells are read, see `maxent.models.reading.Reading`.",
    "removed": "What is predicted for a record that reaches a removed leaf: what published leaves below its nearest "
    "ancestor that has any give together (ancestor), or what all leaves do (majority), see "
    "`maxent.models.trees.predict.predict_proba`.",
    "hierarchies": "How the values of categorical columns are generalised: files, or rows, of a value, its parent, its "
    "parent's parent..., see `maxent.models.tables.hierarchies.read_hierarchy`.",
    "missing": "What is done with missing values of categorical columns: nothing, which is an error (refuse), or make "
    "them a category of their own, ``(missing)``. That is right only if what is missing here is missing in the "
    "adversary's table, too.",
    "domains": "The values of columns (strings), and what numbers lie between (two numbers), as they are known without "
    "the data; the classes go by the name of the target. A file is a JSON object. What is missing is taken from the "
    "data, with a warning, as trees and counts may then tell that somebody with a rare value is among them.",
    "vote": "What predictions are made from: counts of all trees together (sums, Algorithm 2 of [1]_), or a vote of "
    "those trees that have counts for a record (trees). Where no tree has, the leaves below the nearest ancestors that "
    "have some decide, and where nothing is published at all, the first class is predicted.",
}
_INHERITED = "release_, classes_, n_features_in_, feature_names_in_\n    See `PublishedTreeClassifier`.\n"


def _documented(kind: Any) -> str:
    """The docstring of an estimator with its parameters, as its methods of defense state them."""
    about = {
        name: each.about
        for method in (getattr(kind, "_method", Plain), *kind._methods)
        for name, each in parameters_of(method).items()
    }
    known = {_ARGUMENTS.get(name, name): each.doc or each.help for name, each in about.items()} | _TOLD | {**kind._told}
    text, _, references = inspect.cleandoc(kind.__doc__).partition("References\n----------\n")
    text, _, attributes = text.partition("Attributes\n----------\n")
    told = [
        (each.name, "" if each.annotation is each.empty else each.annotation, known[each.name])
        for each in inspect.signature(kind).parameters.values()
    ]
    parameters = f"\n\nParameters\n----------\n{entries(told)}\nAttributes\n----------\n"
    sources = references and f"\nReferences\n----------\n{references}"
    return f"{text.rstrip()}{parameters}{attributes.strip()}{attributes and chr(10)}{_INHERITED}{sources}"


class PublishedTreeClassifier(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A classifier whose `fit` ends in a release, and which knows no more than that afterwards.

    A subclass stores its parameters, says in `_parameter_problems` what is wrong with them, and makes the release in
    `_publish`. The parameters ``private``, ``removed`` and ``reading`` are those of the class unless the subclass has
    its own.

    Attributes
    ----------
    release_ : Release
        What would be published. Its attributes are named after the columns, ``x0``, ``x1``... for arrays; its target
        after the Series ``y``, else ``class``; its classes are ``classes_`` as text.
    classes_ : shape (n_classes,)
        The classes as they are in ``y``, sorted, with those that are only stated.
    n_features_in_ : int
    feature_names_in_ : shape (n_features_in_,)
        Where the columns have names.
    """

    _methods: ClassVar[tuple[type, ...]] = ()
    _told: ClassVar[Mapping[str, str]] = {}
    private: Sequence[str] = ()
    reading: Reading | None = None
    removed: Removed = "ancestor"

    def __init_subclass__(cls, **how: Any) -> None:
        super().__init_subclass__(**how)
        if hasattr(cls.__init__, "__signature__"):
            cls.__doc__ = _documented(cls)

    @abstractmethod
    def _publish(self, training: Training) -> Release:
        """The release of a tree, or more, grown from the records."""

    def _parameter_problems(self) -> Iterator[Problem]:
        """Mistakes in the parameters."""
        if isinstance(self.private, str) or not isinstance(self.private, Collection):
            yield Problem("argument", "private", "a list of columns", shorten(self.private))
        yield from reading_problems(self.reading)

    def _order(self) -> Order:
        """Order of the values of categorical attributes."""
        return "sorted"

    def _domains(self, target: str) -> Mapping[str, Sequence[str]]:
        """The values of columns, or of the target, that are known without the data."""
        return {}

    def fit(self, X: Any, y: Any) -> Self:
        """Grow a tree and publish it.

        Parameters
        ----------
        X : DataFrame or array-like, shape (n, n_features)
            Columns of numbers are numeric attributes; strings, booleans and pandas categoricals are categorical ones.
            Columns of an object array count as what they hold.
        y : array-like, shape (n,)
            Classes: strings, whole numbers or booleans.
        """
        if problems := list(self._parameter_problems()):
            raise InvalidInput(type(self).__name__, problems)
        frame = self._frame(X, reset=True)
        classes = _checked_classes(y)
        check_consistent_length(frame, classes)
        target = _target_name(y, self._names)
        domains = self._domains(target)
        self.classes_ = _all_classes(classes, domains.get(target, ()))
        names = [str(c) for c in self.classes_]
        training = read_training(
            frame.assign(**{target: np.array(names, object)[np.searchsorted(self.classes_, classes)]}),
            target=target,
            qi=[name for name in frame.columns if name not in self.private],
            private=list(self.private),
            domains={**domains, target: names},
            order=self._order(),
            reader=reader_of(self.reading),
        )
        self.release_ = self._publish(training)
        return self

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """The probability of each class, shape (n, n_classes), see `maxent.models.trees.predict.predict_proba`."""
        check_is_fitted(self)
        return predict_proba(self.release_, self._frame(X), removed=self.removed, reading=self.reading)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of each record, shape (n,), see `maxent.models.trees.predict.predict`."""
        check_is_fitted(self)
        columns = read_columns(self.release_, self._frame(X), self.reading)
        found: npt.NDArray[Any] = self.classes_[predict_columns(self.release_, *columns, removed=self.removed)]
        return found

    def _frame(self, X: Any, *, reset: bool = False) -> pd.DataFrame:
        """The records with the names of attributes as columns, checked against those of `fit` unless ``reset``."""
        frame: pd.DataFrame
        if isinstance(X, pd.DataFrame):
            frame = validate_data(self, X, reset=reset, skip_check_array=True)
            names = [str(label) for label in frame.columns]
        else:
            frame = pd.DataFrame(validate_data(self, X, reset=reset, dtype=None)).infer_objects()
            names = [f"x{j}" for j in range(frame.shape[1])]
        if reset:
            self._names = names
        return frame.set_axis(self._names, axis=1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


class DefendedClassifier(PublishedTreeClassifier):
    """A classifier that publishes what a method of defense makes of a tree; its ``seed`` is ``random_state``."""

    _method: ClassVar[type[InducedTree]]
    k: int = 1
    random_state: int | np.random.RandomState | None

    def _asked(self, seed: int | None = None) -> InducedTree:
        """The method with the parameters that the estimator has."""
        found: InducedTree = picked(self._method, self, seed=seed)
        return found

    def _parameter_problems(self) -> Iterator[Problem]:
        yield from super()._parameter_problems()
        seed = self.random_state
        first: dict[str, Problem] = {}
        for problem in problems_of(self._asked(None if isinstance(seed, np.random.RandomState) else seed)):
            first.setdefault(problem.field, problem)
        for name, problem in first.items():
            yield replace(problem, field="random_state") if name == "seed" else problem

    def _order(self) -> Order:
        return self._asked().domain_order

    def _publish(self, training: Training) -> Release:
        if len(training) < self.k:
            raise invalid("fit", "argument", "X", f"at least k = {self.k} records", f"n_samples = {len(training)}")
        seed = self.random_state
        asked = self._asked(seed.randint(2**31 - 1) if isinstance(seed, np.random.RandomState) else seed)
        asked = asked.read(training.target.name, self._names, reader_of(self.reading))
        # Without a seed chance decides between splits that are equally good, where the method has one of its own.
        grown = None if getattr(asked, "grow", False) else induce(training, picked(Growth, asked))
        found, _ = asked.publish_from(training, grown)
        assert isinstance(found, Release)
        return found


def _checked_classes(y: Any) -> npt.NDArray[Any]:
    """The classes as an array, shape (n,)."""
    classes: npt.NDArray[Any] = column_or_1d(y, warn=True)
    absent = ~np.isfinite(classes) if classes.dtype.kind == "f" else pd.isna(classes)
    if absent.any():
        raise invalid("fit", "argument", "y", "a class for every record", f"{absent.sum()} missing or infinite")
    check_classification_targets(classes)
    return classes


def _all_classes(found: npt.NDArray[Any], stated: Sequence[str]) -> npt.NDArray[Any]:
    """The classes, sorted and of the kind that was ``found``: those and no others, unless some are stated."""
    classes: npt.NDArray[Any] = np.unique(found)
    if not stated:
        return classes
    names = [str(c) for c in classes]
    if unknown := sorted(set(names) - set(stated)):
        raise invalid("fit", "argument", "y", f"classes among {shorten_list(stated)}", shorten_list(unknown))
    others = np.array([name for name in stated if name not in names], str)
    try:
        return np.unique(
            np.concatenate([classes, others if classes.dtype.kind == "U" else others.astype(classes.dtype)])
        )
    except ValueError:
        expected = f"classes of the kind of those in y ({classes.dtype})"
        raise invalid("fit", "argument", "domains", expected, shorten_list(others)) from None


def _target_name(y: Any, taken: Collection[str]) -> str:
    """The name of a Series, else ``class``, made unlike those of the attributes."""
    name = getattr(y, "name", None)
    name = name if isinstance(name, str) and name else "class"
    while name in taken:
        name += "_"
    return name


# Decision trees as they are, and pruned before they are published (Wakabayashi et al. 2024).


class PlainTree(DefendedClassifier):
    """A decision tree that is published as it is grown."""

    _method: ClassVar[type[InducedTree]] = Plain

    __init__ = constructor(InducedTree, without=["seed"], private=(), random_state=None, reading=None)


class PrunedTree(PlainTree):
    """A tree that is pruned before it is published."""

    _method = PrunedLeaves

    __init__ = constructor(PlainTree, k=5)

    def _parameter_problems(self) -> Iterator[Problem]:
        yield from k_problems(self.k)
        yield from (problem for problem in super()._parameter_problems() if problem.field != "k")


class LeafPrunedTree(PrunedTree):
    """A decision tree that is published without its small leaves: method 1 of Wakabayashi et al. 2024."""

    __init__ = constructor(PrunedTree, removed="ancestor")

    def _parameter_problems(self) -> Iterator[Problem]:
        yield from super()._parameter_problems()
        yield from unknown_choice("removed", self.removed, get_args(Removed))


class ParentPrunedTree(PrunedTree):
    """A decision tree whose small leaves are taken back into larger ones: method 2 of Wakabayashi et al. 2024."""

    _method = PrunedParents


# Decision trees whose risky branches are pruned before they are published (Yang et al. 2019).


class ERPTreeClassifier(PrunedTree):
    """A decision tree that is published after error-risk pruning (Yang et al. 2019).

    Attributes
    ----------
    ranges_ : dict of str to (low, high)
        What the values of numeric columns lie between, in which the risk was measured.
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


# kADET as an estimator (Friedman, Schuster and Wolff 2006).


class KADETClassifier(PublishedTreeClassifier):
    """A decision tree that is k-anonymous by construction.

    Who knows everybody's public columns, and the tree with all its counts, can link what is private to no group of
    fewer than k people (Definition 7 of [1]_).

    References
    ----------
    .. [1] Friedman, Schuster and Wolff, "k-anonymous decision tree induction", PKDD 2006.
    """

    _methods = (Kadet, Rounding)
    _told: ClassVar[Mapping[str, str]] = {"random_state": "Of rounding by chance the seed; nothing else is random."}
    k: int
    hierarchies: Mapping[str, HierarchySource] | None
    missing: Missing
    publish: Publish
    round_counts: int | None
    random_state: int | np.random.RandomState | None

    __init__ = constructor(
        Kadet,
        Rounding,
        hierarchies=None,
        private=(),
        missing="refuse",
        publish="counts",
        random_state=None,
        reading=None,
    )

    def _asked(self) -> Kadet:
        """The parameters that the algorithm has."""
        found: Kadet = picked(Kadet, self, hierarchies={} if self.hierarchies is None else self.hierarchies)
        return found

    def _parameter_problems(self) -> Iterator[Problem]:
        yield from super()._parameter_problems()
        yield from problems_of(self._asked())
        for name, known in (("publish", Publish), ("missing", Missing)):
            yield from unknown_choice(name, getattr(self, name), get_args(known))
        rounding: Rounding = picked(Rounding, self)
        yield from problems_of(rounding) or rounding.conflicts_with(self.publish)

    def _publish(self, training: Training) -> Release:
        if len(training) < self.k:
            raise invalid("fit", "argument", "X", f"at least k = {self.k} records", f"n_samples = {len(training)}")
        asked, reader = self._asked(), reader_of(self.reading)
        read = read_hierarchies(asked.hierarchies, reader) or {}
        found = kadet(training, replace(asked, hierarchies=read), publish=self.publish)
        if (rounded := picked(Rounding, self).rounded) is None:
            return found
        seed = self.random_state
        return round_counts(
            found, rounded, seed.randint(2**31 - 1) if isinstance(seed, np.random.RandomState) else seed
        )

    def _frame(self, X: Any, *, reset: bool = False) -> pd.DataFrame:
        frame = super()._frame(X, reset=reset)
        if self.missing == "category":
            absent = (self.reading or USUAL).absent
            for name, column in frame.items():
                lacking = column.isna() | column.map(lambda cell: isinstance(cell, str) and absent(cell)).astype(bool)
                if not is_numeric_dtype(column.dtype) and lacking.any():
                    frame = frame.assign(**{str(name): column.astype(object).where(~lacking, MISSING)})
        return frame


# The best subtree within limits, as an estimator.


class OptimalSubtree(PlainTree):
    """A decision tree cut back to the best of its subtrees within limits, proved."""

    _method = BestSubtree

    __init__ = constructor(PlainTree, SubtreeLimits, grow=False, remove=False, criterion="unstated", hierarchies=None)


# Private random decision trees as an estimator (Waseda et al. 2025).


class KAnonRandomTreesClassifier(PublishedTreeClassifier):
    """Random decision trees that publish sampled counts of at least k [1]_.

    The structure of the trees does not depend on the data, and what is published is (beta, epsilon,
    delta)-differentially private under sampling, provided that domains are stated and that nobody knows, or guesses, a
    ``random_state``.

    Attributes
    ----------
    guarantee_ : Guarantee or None
        What holds as long as nobody knows the samples, see `maxent.models.defenses.accounting.guarantee`.

    References
    ----------
    .. [1] Waseda, Nojima and Wang, "kAnonToRdt", 2025.
    """

    _methods = (RandomForest,)
    _told: ClassVar[Mapping[str, str]] = {
        "random_state": "None draws samples from the operating system's cryptographic source."
    }
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
