"""The base of the estimators: people in, a release out, and predictions from nothing but the release."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from maxent.models.defenses.grown_tree import InducedTree
from maxent.models.errors import InvalidInput, Problem, invalid
from maxent.models.induction.inducers import induce
from maxent.models.induction.parameters import Growth
from maxent.models.parameters import picked, problems_of
from maxent.models.reading import Reading, reader_of, reading_problems
from maxent.models.release import Release
from maxent.models.tables.frame import shorten, shorten_list
from maxent.models.tables.training import Order, Training, read_training
from maxent.models.trees.predict import Removed, predict_columns, predict_proba, read_columns


def constructor(*kinds: type, without: Collection[str] = (), **others: Any) -> Any:
    """An ``__init__`` that stores its arguments: those of other classes, with their defaults, and others.

    ``kinds``: dataclasses of parameters, such as methods of defense, and estimators. ``without``: arguments of theirs
    that this one does not have. ``**others``: more arguments, or other defaults.
    """
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

    private: Sequence[str] = ()
    reading: Reading | None = None
    removed: Removed = "ancestor"

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
