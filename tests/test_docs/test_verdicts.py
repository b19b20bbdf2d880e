"""The table of verdicts of docs/results.md: models of many kinds that are right about nearly all of their people."""

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

import maxent

PAGE = Path(__file__).parents[2] / "docs" / "results.md"
LIMITS: dict[str, Any] = {"max_certain": 0, "max_posterior": 0.95}
WORDS = {"fail": "FAIL", "cannot_tell": "CANNOT TELL", "pass": "PASS"}
KEPT = {"draws or weights": "draws are not", "impurities": "impurities are not"}
JUDGED = {"worst_case": "not: the worst case", "not": "not, nor is the worst case known"}


def xgboost(**options: Any) -> Any:
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=10, random_state=0, n_jobs=1, **options)


def xgboost_forest(**options: Any) -> Any:
    return pytest.importorskip("xgboost").XGBRFClassifier(n_estimators=10, random_state=0, n_jobs=1, **options)


def lightgbm(**options: Any) -> Any:
    return pytest.importorskip("lightgbm").LGBMClassifier(
        n_estimators=10, random_state=0, n_jobs=1, verbose=-1, **options
    )


def catboost(**options: Any) -> Any:
    return pytest.importorskip("catboost").CatBoostClassifier(
        iterations=20, random_seed=0, thread_count=1, verbose=False, allow_writing_files=False, **options
    )


def forest(**options: Any) -> Any:
    return RandomForestClassifier(10, random_state=0, **options)


def boosted(**options: Any) -> Any:
    return GradientBoostingClassifier(n_estimators=20, random_state=0, **options)


UP = [1] + [0] * 7

MODELS: dict[str, tuple[Callable[[], Any], bool]] = {
    "tree": (lambda: DecisionTreeClassifier(random_state=0), False),
    "tree, `sample_weight`": (lambda: DecisionTreeClassifier(random_state=0), True),
    "tree, `class_weight`": (lambda: DecisionTreeClassifier(random_state=0, class_weight={"ill": 3}), False),
    "tree, `monotonic_cst`": (lambda: DecisionTreeClassifier(random_state=0, monotonic_cst=UP), False),
    "forest": (forest, False),
    "forest, `bootstrap=False`": (lambda: forest(bootstrap=False), False),
    "forest, `sample_weight`": (forest, True),
    "forest, `class_weight`": (lambda: forest(class_weight="balanced"), False),
    "forest, `class_weight` of each draw": (lambda: forest(class_weight="balanced_subsample"), False),
    "forest, `monotonic_cst`": (lambda: forest(monotonic_cst=UP), False),
    "extra trees, `sample_weight`": (lambda: ExtraTreesClassifier(10, random_state=0), True),
    "bagging, `sample_weight`": (lambda: BaggingClassifier(DecisionTreeClassifier(), 10, random_state=0), True),
    "gradient boosting, `subsample`": (lambda: boosted(subsample=0.8), False),
    "gradient boosting, `sample_weight`": (boosted, True),
    "histogram gradient boosting, `sample_weight`": (
        lambda: HistGradientBoostingClassifier(max_iter=20, random_state=0),
        True,
    ),
    "XGBoost, `subsample`": (lambda: xgboost(subsample=0.8), False),
    "XGBoost, `dart`": (lambda: xgboost(booster="dart", rate_drop=0.3), False),
    "XGBoost forest, several classes": (lambda: xgboost_forest(objective="multi:softprob"), False),
    "LightGBM, `class_weight`": (lambda: lightgbm(class_weight="balanced"), False),
    "LightGBM, bagging": (lambda: lightgbm(subsample=0.8, subsample_freq=1), False),
    "LightGBM, `dart`": (lambda: lightgbm(boosting_type="dart"), False),
    "CatBoost, several classes": (lambda: catboost(loss_function="MultiClass"), False),
}


def people(*, several: bool) -> tuple[Any, Any]:
    """Eight columns of the breast cancers of scikit-learn, and two classes, or three."""
    data = load_breast_cancer(as_frame=True)
    X = data.data.iloc[:, :8].rename(columns=lambda name: name.replace(" ", "_"))
    y = np.where(data.target, "well", "ill").astype(object)
    if several:
        y[(y == "ill") & (X["mean_radius"] > X["mean_radius"].quantile(0.8))] = "very ill"
    return X, y


def row(name: str) -> str:
    """The row of a model."""
    make, weighted = MODELS[name]
    X, y = people(several="several classes" in name)
    weights = np.random.default_rng(0).integers(1, 4, len(X)).astype(float) if weighted else None
    model = make()
    coded = type(model).__module__.startswith("xgboost")
    classes = sorted(set(y))
    labels = np.array([classes.index(each) for each in y]) if coded else y
    with threadpool_limits(1):  # threads that wait for one another take long beside other programs
        model.fit(X, labels, **({} if weights is None else {"sample_weight": weights}))
    right = np.mean(np.ravel(model.predict(X)) == labels)
    assert right > 0.93
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", maxent.UnreliableResult)
        found = maxent.review(model, X, labels, qi=list(X.columns), target="state", **LIMITS)
    told, aside = found.converted.tells_draws, found.converted.aside
    kept = [*["who was drawn follows"] * bool(told), *(words for key, words in KEPT.items() if key in aside)]
    beside = "; ".join([told, aside]).split("; ")
    unread = (each for each in found.summary["unread"] if not set(each["what"].split("; ")) <= set(beside))
    rest = [JUDGED[each["judged"]] for each in unread]
    judged = "; ".join([*kept, *dict.fromkeys(rest)]) or "yes"
    return f"| {name} | {judged} | {WORDS[found.verdict().status]} |"


@pytest.mark.filterwarnings("ignore")  # of the tools
@pytest.mark.parametrize("name", MODELS)
def test_no_model_that_exposes_its_people_is_passed(name: str) -> None:
    found = row(name)
    assert "PASS" not in found
    assert found in PAGE.read_text(encoding="utf-8")


if __name__ == "__main__":
    sys.stdout.write("\n".join(["| model | read | verdict |", "| --- | --- | --- |", *map(row, MODELS)]) + "\n")
