"""The scikit-learn models that can be published as they are, and advice for all others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from maxent.models.errors import InvalidInput, invalid
from maxent.models.tables.frame import shorten

_TREE = "a fitted sklearn.tree.DecisionTreeClassifier"
_BOOSTING_TOOLS = ("xgboost", "lightgbm", "catboost")
_CHANGE_NUMBERS = ("Scaler", "Normalizer", "Transformer", "Discretizer", "PCA", "SVD", "Features")
"""Endings of the names of scikit-learn's steps after which thresholds are no longer those of the table's numbers."""


def check_model(source: str, model: object) -> None:
    """Refuse a model whose tree does not hold the records' counts, naming the way out.

    Raises
    ------
    InvalidInput
        Of ``source``, when the model is no single, fitted classification tree, or was fitted with class weights or
        monotonic constraints.
    """
    from sklearn.exceptions import NotFittedError
    from sklearn.tree import DecisionTreeClassifier
    from sklearn.utils.validation import check_is_fitted

    if not isinstance(model, DecisionTreeClassifier):
        raise invalid(source, "argument", "model", f"{_TREE}, or a forest of these{way_out(model)}", _kind(model))
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise invalid(source, "argument", "model", f"{_TREE} (call fit first)", "not fitted") from None
    if model.n_outputs_ != 1:
        raise invalid(source, "argument", "model", "one output: fit a tree per target", f"{model.n_outputs_} outputs")
    if model.class_weight is not None:
        expected = "None: with class weights neither labels nor counts are those of the records; fit again without"
        raise invalid(source, "model", "class_weight", expected, shorten(model.class_weight))
    if model.monotonic_cst is not None and np.any(model.monotonic_cst):
        # The tree then stores class shares clipped to its ancestors', from which the records' cannot be told.
        expected = (
            "None: with monotonic constraints the model does not hold the counts of the records; fit again without"
        )
        raise invalid(source, "model", "monotonic_cst", expected, shorten(model.monotonic_cst))


def no_release(value: object) -> InvalidInput:
    """Refuse what is given in place of a release, with what makes one of a model.

    Returns
    -------
    InvalidInput
        To be raised.
    """
    expected = "a Release, or the path of a maxent/1 document"
    if is_model(value) and not isinstance(value, type):
        expected = f"a release, which maxent.from_sklearn makes of {_TREE}{way_out(value)}"
        if _is_tree(value):
            named = "" if hasattr(value, "feature_names_in_") else " features=[...],"
            expected = (
                f"a release: release = maxent.from_sklearn(model, target='...',{named} X=X), then the same call with "
                "release, and with tables that hold values as people read them, not as the model was given them"
            )
    return invalid("release", "argument", "release", expected, _kind(value))


def _is_tree(value: object) -> bool:
    """Whether a value is a tree, or a forest or bag, of scikit-learn."""
    from sklearn import ensemble
    from sklearn.tree import DecisionTreeClassifier

    forests = (ensemble.RandomForestClassifier, ensemble.ExtraTreesClassifier, ensemble.BaggingClassifier)
    return isinstance(value, (DecisionTreeClassifier, *forests))


def is_model(value: object) -> bool:
    """Whether a value is a model as scikit-learn and libraries like it have them, or the class of one."""
    return all(callable(getattr(value, method, None)) for method in ("fit", "get_params"))


def way_out(model: object) -> str:
    """Say how to come from a model to a tree that can be published, as the end of a sentence; empty when unknown.

    A tree itself, fitted or not, needs none.
    """
    if isinstance(model, type):
        return f": an object, not its class; write {model.__name__}(...).fit(X, y)" if is_model(model) else ""
    if not is_model(model):
        return ""
    if hasattr(model, "best_estimator_"):
        return ": give its best_estimator_"
    if type(model).__name__.endswith(("SearchCV", "HalvingSearch")):
        return ": call fit with refit=True, then give its best_estimator_"
    return next(_ways_out(model), "")


def _ways_out(model: Any) -> Iterator[str]:
    """Advice for a model, the most specific first."""
    from sklearn import ensemble
    from sklearn.base import is_regressor
    from sklearn.pipeline import Pipeline
    from sklearn.tree import DecisionTreeClassifier

    boosting = (
        ensemble.AdaBoostClassifier,
        ensemble.GradientBoostingClassifier,
        ensemble.HistGradientBoostingClassifier,
    )
    if isinstance(model, Pipeline):
        yield _of_pipeline(model)
    if isinstance(model, DecisionTreeClassifier):
        yield ""
    if is_regressor(model):
        yield ": a release is about classes; cut the target into intervals (pandas.cut) and fit one on these"
    if isinstance(model, boosting) or type(model).__module__.split(".")[0] in _BOOSTING_TOOLS:
        yield ": leaves of boosted trees hold scores, not counts of records; fit a single tree on the same table"
    forests = (ensemble.RandomForestClassifier, ensemble.ExtraTreesClassifier, ensemble.BaggingClassifier)
    if isinstance(model, forests) and not hasattr(model, "estimators_"):
        yield ": call fit first"
    elif isinstance(model, ensemble.BaggingClassifier):
        yield ": a bag of trees; what it holds are others"
    elif not hasattr(model, "estimators_"):
        yield ""
    yield ": give one of its estimators_ that is one"


def _of_pipeline(model: Any) -> str:
    """Advice for a pipeline: the step that can be published, and the effect of the steps before it."""
    before = [type(step).__name__ for step in _steps(model.steps[:-1])]
    if changed := [name for name in before if name.endswith(_CHANGE_NUMBERS)]:
        return (
            f": give the tree alone, fitted without {', '.join(dict.fromkeys(changed))}, which a tree does not need: "
            "its thresholds have to be numbers of the adversary's table"
        )
    encoders = [
        f"{argument} what {name} did"
        for name, argument in (("OneHotEncoder", "onehot="), ("OrdinalEncoder", "categories="))
        if name in before
    ]
    say = f", and say in {' and in '.join(encoders)}" if encoders else ""
    return f": give its last step, model[-1], with features=list(model[:-1].get_feature_names_out()){say}"


def _steps(named: list[Any]) -> Iterator[object]:
    """The steps of a pipeline, and those inside pipelines and column transformers among them."""
    for _, step, *_ in named:
        inside = getattr(step, "steps", None) or getattr(step, "transformers", None)
        if inside is None:
            yield step
        else:
            yield from _steps(inside)


def _kind(model: object) -> str:
    """Kind of a value in messages."""
    return f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
