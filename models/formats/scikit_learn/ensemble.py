"""Forests and bags of scikit-learn as their trees: what each was given, and whether it counts draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.models.errors import invalid
from maxent.models.formats.scikit_learn.models import check_model
from maxent.models.tables.frame import shorten

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sklearn.tree import DecisionTreeClassifier


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A tree, the columns of the input that it was given, and its classes, both as indices into the ensemble's."""

    tree: DecisionTreeClassifier
    features: NDArray[np.int64]
    classes: NDArray[np.int64]


def is_ensemble(model: object) -> bool:
    """Whether a model is a fitted forest, or a fitted bag of trees."""
    from sklearn import ensemble
    from sklearn.tree import DecisionTreeClassifier

    kinds = (ensemble.RandomForestClassifier, ensemble.ExtraTreesClassifier, ensemble.BaggingClassifier)
    trees = getattr(model, "estimators_", ()) if isinstance(model, kinds) else ()
    return bool(len(trees)) and all(isinstance(tree, DecisionTreeClassifier) for tree in trees)


def members_of(source: str, model: Any) -> tuple[list[Member], int | None]:
    """The trees of a tree or of a fitted ensemble, and how many draws with replacement each of these counts.

    Without a number they count every record once.

    Raises
    ------
    InvalidInput
        Of ``source``, when a tree counts something else: records that weigh differently, or that were drawn without
        replacement; or when it is none that can be published.
    """
    if not is_ensemble(model):
        check_model(source, model)
        return [Member(model, np.arange(model.n_features_in_), np.arange(len(model.classes_)))], None
    if getattr(model, "n_outputs_", 1) != 1:
        raise invalid(source, "argument", "model", "one output: fit a forest per target", f"{model.n_outputs_} outputs")
    if getattr(model, "class_weight", None) is not None:
        expected = "None: with class weights neither labels nor counts are those of the records; fit again without"
        raise invalid(source, "model", "class_weight", expected, shorten(model.class_weight))
    every = np.arange(model.n_features_in_)
    given = getattr(model, "estimators_features_", [every] * len(model.estimators_))
    found = []
    for tree, columns in zip(model.estimators_, given, strict=True):
        check_model(source, tree)
        found.append(Member(tree, np.asarray(columns, np.int64), np.asarray(tree.classes_, np.int64)))
    return found, _draws(source, model)


def _draws(source: str, model: Any) -> int | None:
    """The draws of each tree, which have to be those that the model was asked for."""
    rows = int(model._n_samples)
    drawn = int(getattr(model, "_n_samples_bootstrap", None) or getattr(model, "_max_samples", None) or rows)
    weights = {float(tree.tree_.weighted_n_node_samples[0]) for tree in model.estimators_}
    if getattr(model, "_sample_weight", None) is not None or weights != {float(drawn)}:
        expected = "no sample_weight, with which trees do not count records, or not equally probable ones; fit again"
        found = "sample_weight" if weights == {float(drawn)} else f"trees that weigh {shorten(sorted(weights))}"
        raise invalid(source, "model", "fit", expected, found)
    if model.bootstrap:
        return drawn
    if drawn < rows:
        expected = f"{rows}, all rows, or bootstrap=True: a part drawn without replacement cannot be stated; fit again"
        raise invalid(source, "model", "max_samples", expected, shorten(model.max_samples))
    return None
