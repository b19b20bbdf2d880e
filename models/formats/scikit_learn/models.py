"""The scikit-learn models that can be published as they are, outputs of several, and advice for all others."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maxent.models.arguments import shorten
from maxent.models.arrays import FloatArray, IntArray
from maxent.models.errors import InvalidInput, invalid
from maxent.models.nodes import Nodes, links_of
from maxent.models.release import Boosting, Release, Tree
from maxent.models.trees.predict import places_of, read_columns

if TYPE_CHECKING:
    from pandas import DataFrame

_TREE = "a fitted sklearn.tree.DecisionTreeClassifier"
_REGRESSIONS = "of regressions a tree, or a forest without bootstrap, with bins of the target"
_CUT = "else cut the target into intervals (pandas.cut) and fit a classifier on these"
# Regressions that are read, as statements.
LASSOS = ("Lasso", "ElasticNet", "LassoCV", "ElasticNetCV")
REGRESSIONS = ("LogisticRegression", "LinearRegression", "Ridge", "PoissonRegressor", *LASSOS)
# Searches whose fit does not say where it stopped, and the same regression without the search.
SEARCHES: Mapping[str, str] = {
    "LogisticRegressionCV": "LogisticRegression with the C_ that the search chose",
    "RidgeCV": "Ridge with the alpha_ that the search chose",
}
_BOOSTING_TOOLS = ("xgboost", "lightgbm", "catboost")
# Sets of rules of imodels: what the numbers of each kind are, of which none counts people of a class.
_LASSO = "coefficients of a lasso whose penalty it does not keep; only how many people a rule covers stands beside them"
_LEFT_OUT = "shares among the rows that each tree left out, and not which rows these are"
RULE_SETS: Mapping[str, str] = {
    "RuleFit": _LASSO,
    "FPLasso": _LASSO,
    "SkopeRules": _LEFT_OUT,
    "FPSkope": _LEFT_OUT,
    "BoostedRules": "weights of boosting in print; the model itself is read in Python, maxent.convert(model)",
    "Slipper": "weights of boosting, of rows that weighed otherwise for each rule",
    "BayesianRuleSet": "rules alone, without numbers",
}
# What is read of imodels in their place.
RULE_LISTS = "a GreedyRuleListClassifier, OneRClassifier or FastFrugalTreeClassifier counts people, and is read"


def check_model(source: str, model: object) -> None:
    """Refuse a model that is no tree, naming the way out."""
    from sklearn.base import is_regressor
    from sklearn.exceptions import NotFittedError
    from sklearn.tree import DecisionTreeClassifier
    from sklearn.utils.validation import check_is_fitted

    piped = type(model).__name__ == "Pipeline"  # has a way of its own, also that of a regression
    linear = type(model).__module__.startswith("sklearn.linear_model.")
    if is_model(model) and not isinstance(model, type) and is_regressor(model) and not piped and not linear:
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
    """Say how to come from a model to a tree that can be published, as the end of a sentence; empty when unknown."""
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
    if type(model).__module__.startswith("imodels.rule_set."):
        said = RULE_SETS.get(re.sub(r"(Classifier|Regressor)$", "", type(model).__name__), "no numbers of people")
        yield f": this set of rules states {said}; {RULE_LISTS}"
    if type(model).__module__.startswith("sklearn.linear_model."):
        way = "--from glm of its file (reading=Reading(format='glm')), or maxent.convert(model), makes statements of it"
        known = type(model).__name__ in REGRESSIONS
        again = SEARCHES.get(type(model).__name__, "")
        again = f"; fit {again}, which is read" if again else ""
        yield f": {way}" if known else f": of regressions {', '.join(REGRESSIONS)} are read, as statements{again}"
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
        fitted = hasattr(model, "estimators_") or hasattr(model, "_predictors")
        yield ": one of trees; what it holds are others" if fitted else ": call fit first"
    elif not hasattr(model, "estimators_"):
        yield ""
    yield ": give one of its estimators_ that is one"


def _kind(model: object) -> str:
    """Kind of a value in messages."""
    return f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__


# Classes of scikit-learn models, and models of several sensitive columns as one model for each.
#
# A tree of several outputs is one tree whose nodes state the classes of each column by itself. How often classes of two
# columns come together no node says.


# What is lost of each column of a tree that several columns share
SHARED = "that splits were better than others: they were compared for all sensitive columns together"

# Stands for the criterion of one output: none by which its own classes tell which split was best
_TOGETHER = "the mean over all outputs"


@dataclass(frozen=True, slots=True, eq=False)
class OneOutput:
    """A live ``tree_`` of several outputs with the values of one: ``value`` has shape (n_nodes, 1, n_classes)."""

    tree: Any
    value: FloatArray

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tree, name)


def n_outputs(model: Any) -> int:
    """How many columns a fitted model, or the last step of a pipeline, predicts."""
    steps = getattr(model, "steps", None)
    if steps:
        return n_outputs(steps[-1][1])
    if _has_model_each(model):
        return len(model.estimators_)
    return int(getattr(model, "n_outputs_", 1))


def is_shared(model: Any) -> bool:
    """Whether the columns share the trees: not so where each has a model of its own (``MultiOutputClassifier``)."""
    steps = getattr(model, "steps", None)
    return is_shared(steps[-1][1]) if steps else n_outputs(model) > 1 and not _has_model_each(model)


def outputs_of(model: Any) -> Iterator[Any]:
    """A model for each column of a fitted one: what `maxent.from_sklearn` takes, or a pipeline that ends in it."""
    steps = getattr(model, "steps", None)
    if steps:
        for last in outputs_of(steps[-1][1]):
            found = copy.copy(model)
            found.steps = [*steps[:-1], (steps[-1][0], last)]
            yield found
    elif _has_model_each(model):
        yield from model.estimators_
    else:
        for output in range(n_outputs(model)):
            yield _one_output(model, output)


def _has_model_each(model: Any) -> bool:
    return type(model).__name__ == "MultiOutputClassifier" and hasattr(model, "estimators_")


def _one_output(model: Any, output: int) -> Any:
    """A tree or a forest about one of its outputs."""
    found = copy.copy(model)
    found.n_outputs_ = 1
    found.classes_ = np.asarray(model.classes_[output])
    found.n_classes_ = len(found.classes_)
    if model.class_weight is not None:  # the weights of several columns multiply: those of one tell no counts
        found.class_weight = [model.class_weight]
    if hasattr(model, "estimators_"):
        found.estimators_ = [_one_output(tree, output) for tree in model.estimators_]
    else:
        found.criterion = _TOGETHER
        value = np.asarray(model.tree_.value[:, [output], : found.n_classes_])
        tree: Any = model.tree_
        found.tree_ = OneOutput(tree, value) if hasattr(tree, "apply") else replace(tree, value=value)
    return found


# Classes of the rows that a model was fitted on: their names, and whether they are those that the model counts.

_ALL = "(X and y as fit was given them, row by row, and sample_weight= where it was given)"
_ENOUGH = 3  # trees that are looked at: classes in another order are others in nearly every leaf


def class_names(model: Any, y: Any, classes: Sequence[str] | None = None) -> np.typing.NDArray[np.object_]:
    """The class of each record by its name in the release, shape (n_rows,)."""
    known = [each.item() if hasattr(each, "item") else each for each in model.classes_]
    names = dict(zip(known, map(str, model.classes_) if classes is None else map(str, classes), strict=True))
    found = []
    for row, label in enumerate(np.asarray(y, object).ravel().tolist(), 1):
        if label not in names:
            expected = f"one of the model's classes ({shorten(', '.join(map(str, known)))})"
            raise invalid("y", f"row {row}", "class", expected, shorten(label))
        found.append(names[label])
    return np.array(found, object)


def check_classes(release: Release, table: DataFrame, labels: Sequence[str]) -> None:
    """Refuse classes that are not those of the rows, as leaves tell that count all records alike, or score them."""
    boosting = release.boosting
    if release.resampled is not None or release.target.numbers is not None:
        return
    counting = [tree for tree in release.trees if isinstance(tree.nodes, Nodes) and _counts(tree.nodes)][:_ENOUGH]
    scoring: list[Tree] = []
    if boosting is not None and boosting.l1 == 0 and not boosting.penalties:
        scoring = list(release.trees[: 1 if isinstance(boosting.base, float) else len(release.target.classes)])
    looked = replace(release, trees=(*counting, *scoring))
    if not looked.trees:
        return
    try:
        attributes, columns, n = read_columns(looked, table)
    except InvalidInput:  # what the table has is for others to judge
        return
    codes = {name: code for code, name in enumerate(release.target.classes)}
    y = np.array([codes[label] for label in labels], np.int64)
    for number, (tree, place) in enumerate(zip(looked.trees, places_of(looked, attributes, columns, n), strict=True)):
        assert isinstance(tree.nodes, Nodes)
        found = np.zeros((int(place.max(initial=0)) + len(tree.nodes) + 1, len(codes)), np.int64)
        np.add.at(found, (place, y), 1)
        here = found[: len(tree.nodes)]
        if number < len(counting):
            _check_counts(tree.nodes, here)
        elif boosting is not None:
            weights = np.array([boosting.weights.get(name, 1.0) for name in release.target.classes])
            _check_scores(tree, boosting, here * weights, release.target.classes)


def _counts(nodes: Nodes) -> bool:
    """Whether leaves state counts."""
    return bool(nodes.columns.statements.counted.any())


def _check_counts(nodes: Nodes, found: IntArray) -> None:
    said = nodes.columns.statements
    stated = said.table(found.shape[1]).astype(np.int64)
    wrong = np.flatnonzero(said.counted & (links_of(nodes)[0] == 0) & (stated != found).any(axis=1))
    for at in wrong[:1].tolist():
        expected, here = (shorten(", ".join(map(str, counts[at].tolist()))) for counts in (stated, found))
        expected = f"counts {expected} of the classes, as in the model {_ALL}"
        raise invalid("y", f"node {nodes.columns.ids[at]} of a tree", "classes", expected, here)


def _check_scores(tree: Tree, boosting: Boosting, found: FloatArray, classes: Sequence[str]) -> None:
    """Compare with the records that the values of a first tree weigh: ``-rate G / (H + l2)``, see `Boosting`."""
    assert isinstance(tree.nodes, Nodes)
    if tree.of_class is None or boosting.rate is None or boosting.l2 is None:
        return
    share = _share(boosting.base, classes, tree.of_class)
    n, own = found.sum(axis=1), found[:, list(classes).index(tree.of_class)]
    curve = n * boosting.hessian * share * (1 - share)
    values = tree.nodes.columns.value
    counted: FloatArray = n * share + values * (curve + boosting.l2) / boosting.rate
    for at in np.flatnonzero(~np.isnan(values) & (np.abs(counted - own) > _OFF + n * _ROUNDED))[:1].tolist():
        expected = f"{max(counted[at], 0):.0f} records of {shorten(tree.of_class)}, as its value is of {_ALL}"
        raise invalid("y", f"node {tree.nodes.columns.ids[at]} of a tree", "classes", expected, f"{own[at]:g}")


# By how much numbers of records may be off, and by what share of those of a leaf: sums are in single precision
_OFF, _ROUNDED = 0.5, 1e-5


def _share(base: float | Mapping[str, float], classes: Sequence[str], of: str) -> float:
    """The probability of a class before the first tree."""
    if not isinstance(base, Mapping):
        return float(1 / (1 + np.exp(-base)))
    odds = np.exp(np.array([base.get(name, 0.0) for name in classes]) - max(base.values()))
    return float(odds[list(classes).index(of)] / odds.sum())
