"""The scikit-learn models that can be published as they are, and advice for all others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from maxent.models.errors import InvalidInput, invalid

_TREE = "a fitted sklearn.tree.DecisionTreeClassifier"
_REGRESSIONS = "of regressions a tree, or a forest without bootstrap, with bins of the target"
_CUT = "else cut the target into intervals (pandas.cut) and fit a classifier on these"
_BOOSTING_TOOLS = ("xgboost", "lightgbm", "catboost")


def check_model(source: str, model: object) -> None:
    """Refuse a model that is no tree, naming the way out."""
    from sklearn.base import is_regressor
    from sklearn.exceptions import NotFittedError
    from sklearn.tree import DecisionTreeClassifier
    from sklearn.utils.validation import check_is_fitted

    piped = type(model).__name__ == "Pipeline"  # has a way of its own, also that of a regression
    if is_model(model) and not isinstance(model, type) and is_regressor(model) and not piped:
        boosted = " (steps of a boosted one are no means of records)" if hasattr(model, "learning_rate") else ""
        raise invalid(source, "argument", "model", f"{_REGRESSIONS}{boosted}; {_CUT}", _kind(model))
    if not isinstance(model, DecisionTreeClassifier):
        raise invalid(source, "argument", "model", f"{_TREE}, or an ensemble of these{way_out(model)}", _kind(model))
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise invalid(source, "argument", "model", f"{_TREE} (call fit first)", "not fitted") from None
    if model.n_outputs_ != 1:
        raise invalid(
            source, "argument", "model", "one output (maxent.review takes several)", f"{model.n_outputs_} outputs"
        )


def searched(model: Any) -> Any:
    """The best model of a search of scikit-learn (``GridSearchCV``), fitted on all rows; any other model itself."""
    while type(model).__module__.startswith("sklearn.model_selection.") and hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    return model


def no_release(value: object) -> InvalidInput:
    """Refuse what is given in place of a release, with what makes one of a model."""
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
    """Whether a value is a tree, or an ensemble of trees, of scikit-learn."""
    from sklearn.tree import DecisionTreeClassifier

    return isinstance(value, (DecisionTreeClassifier, *_ensembles()))


def _ensembles() -> tuple[type, ...]:
    """The ensembles that can be published where they are of trees."""
    from sklearn import ensemble

    return (
        ensemble.AdaBoostClassifier,
        ensemble.BaggingClassifier,
        ensemble.ExtraTreesClassifier,
        ensemble.GradientBoostingClassifier,
        ensemble.HistGradientBoostingClassifier,
        ensemble.RandomForestClassifier,
    )


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
    from sklearn.base import is_regressor
    from sklearn.ensemble import StackingClassifier, VotingClassifier
    from sklearn.pipeline import Pipeline
    from sklearn.tree import DecisionTreeClassifier

    if isinstance(model, Pipeline):
        yield ": maxent.review takes the whole pipeline, and maxent.convert(model, train=X) makes a release of it"
    if type(model).__name__ == "CalibratedClassifierCV":
        yield (
            ": its probabilities are changed after its trees, and it has a model for each fold; publish the model that "
            "it calibrates, fitted on all rows"
        )
    if isinstance(model, (StackingClassifier, VotingClassifier)):
        more = ", beside which final_estimator_ is not read" if isinstance(model, StackingClassifier) else ""
        yield (
            ": make a release of each of its estimators_ that is one of trees, and give them together to "
            f"maxent.estimate{more}"
        )
    if isinstance(model, DecisionTreeClassifier):
        yield ""
    if is_regressor(model):
        yield f": {_REGRESSIONS}; {_CUT}"
    if type(model).__module__.split(".")[0] in _BOOSTING_TOOLS:
        yield ": save the model as its tool does, as JSON or text, and give the path of the file to maxent.convert"
    if isinstance(model, _ensembles()):
        yield ": call fit first" if not _is_fitted(model) else ": one of trees; what it holds are others"
    elif not hasattr(model, "estimators_"):
        yield ""
    yield ": give one of its estimators_ that is one"


def _is_fitted(model: object) -> bool:
    return hasattr(model, "estimators_") or hasattr(model, "_predictors")


def _kind(model: object) -> str:
    """Kind of a value in messages."""
    return f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
