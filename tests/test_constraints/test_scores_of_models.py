"""Scores `from` a release, as the library of its model computes them: in single precision, too."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.metrics import accuracy_score, brier_score_loss, confusion_matrix, log_loss, roc_auc_score

import maxent
from maxent.models.errors import InvalidInput
from tests.support.satisfied import satisfied
from tests.support.search import cases

MODELS = ["xgboost", "lightgbm", "catboost", "gradient", "histogram", "adaboost", "forest"]
CLASSES = ["0", "1", "2"]


def model_of(name: str, rng: np.random.Generator) -> Any:
    """A model of a library, with random settings."""
    trees, depth, rate = int(rng.integers(1, 40)), int(rng.integers(1, 5)), float(rng.choice([0.1, 0.3, 1.0]))
    if name == "xgboost":
        from xgboost import XGBClassifier

        return XGBClassifier(n_estimators=trees, max_depth=depth, learning_rate=rate, n_jobs=1)
    if name == "lightgbm":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_estimators=trees, max_depth=depth, learning_rate=rate, n_jobs=1, verbose=-1)
    if name == "catboost":
        from catboost import CatBoostClassifier

        said: dict[str, Any] = {"verbose": False, "thread_count": 1, "allow_writing_files": False}
        return CatBoostClassifier(n_estimators=trees, max_depth=depth, learning_rate=rate, **said)
    if name == "gradient":
        return GradientBoostingClassifier(n_estimators=trees, max_depth=depth, learning_rate=rate, random_state=0)
    if name == "histogram":
        return HistGradientBoostingClassifier(max_iter=trees, max_depth=depth, min_samples_leaf=5, random_state=0)
    if name == "adaboost":
        return AdaBoostClassifier(n_estimators=trees, learning_rate=rate, random_state=0)
    return RandomForestClassifier(trees, max_depth=depth, bootstrap=False, random_state=0)


def printed(value: float, rng: np.random.Generator) -> Any:
    """A number in full, or rounded."""
    digits = int(rng.integers(2, 7))
    return float(value) if rng.random() < 0.5 else f"{value:.{digits}f}"


@pytest.mark.search
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", cases(0, 2, hunted=60))
def test_what_the_library_says_of_its_model_holds_of_the_people(name: str, seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng([seed, MODELS.index(name)])
    n, k = int(rng.integers(30, 400)), 2 + seed % 2
    x = pd.DataFrame({"a": rng.integers(0, 6, n), "b": rng.integers(0, 40, n), "c": rng.integers(0, 2, n)}) * 1.0
    y = np.clip(np.rint(x.a / 4 + x.c / 2 + rng.normal(size=n) / 2), 0, k - 1).to_numpy(int, copy=True)
    y[:k] = np.arange(k)
    model = model_of(name, rng).fit(x, y)
    shares, guess = np.asarray(model.predict_proba(x)), np.ravel(model.predict(x)).astype(int)
    maxent.convert(model, target="y", classes=CLASSES[:k], features=list(x)).save(tmp_path / "model.json")
    klass = int(rng.integers(k))
    mine, own = y == klass, {"class": CLASSES[klass]}
    matrix = confusion_matrix(y, guess, labels=range(k)).T.tolist()
    said: list[dict[str, Any]] = [
        {"kind": "auc", **own, "equals": printed(roc_auc_score(mine, shares[:, klass]), rng)},
        {"kind": "brier", **own, "equals": printed(brier_score_loss(mine, shares[:, klass]), rng)},
        {"kind": "brier", "equals": printed(float(((shares - np.eye(k)[y]) ** 2).sum(axis=1).mean()), rng)},
        {"kind": "log_loss", **own, "equals": printed(log_loss(mine, shares[:, klass]), rng)},
        {"kind": "log_loss", "equals": printed(log_loss(y, shares), rng)},
        {"kind": "accuracy", "equals": printed(accuracy_score(y, guess), rng)},
        {
            "kind": "confusion",
            "matrix": {p: dict(zip(CLASSES, r, strict=False)) for p, r in zip(CLASSES, matrix, strict=False)},
        },
    ]
    document = {
        "format": "maxent-statements/1",
        "target": {"name": "y", "classes": CLASSES[:k]},
        "statements": [{**each, "from": "model.json"} for each in said],
    }
    (tmp_path / "scores.json").write_text(json.dumps(document), encoding="utf-8")
    satisfied(maxent.load_release(tmp_path / "scores.json"), x.assign(y=y), "y")


def stump(*thirds: float) -> dict[str, Any]:
    """A boosted model of four people's columns a, b, c, each with a tree that adds a value where it is 1."""
    values = {"type": "categorical", "values": ["0", "1"]}
    trees = [
        {
            "class": "1",
            "nodes": [
                {
                    "id": "top",
                    "attribute": name,
                    "branches": [{"in": ["0"], "child": "l"}, {"in": ["1"], "child": "r"}],
                },
                {"id": "l", "value": 0.0},
                {"id": "r", "value": value},
            ],
        }
        for name, value in zip("abc", thirds, strict=True)
    ]
    return {
        "format": "maxent/1",
        "target": {"name": "y", "classes": CLASSES[:2]},
        "attributes": [{"name": name, **values} for name in "abc"],
        "predicts": "score",
        "boosting": {"link": "logit"},
        "trees": trees,
    }


def asked(folder: Path, *said: dict[str, Any]) -> maxent.Release:
    (folder / "model.json").write_text(json.dumps(stump(0.1, 0.2, 0.3)), encoding="utf-8")
    told = {"format": "maxent-statements/1", "target": {"name": "y", "classes": CLASSES[:2]}, "statements": list(said)}
    (folder / "scores.json").write_text(json.dumps(told), encoding="utf-8")
    return maxent.load_release(folder / "scores.json")


@pytest.mark.parametrize("equals", [1.0, 0.5, 0.0])
def test_scores_that_only_rounding_tells_apart_may_stand_in_any_order(equals: float, tmp_path: Path) -> None:
    """0.1 + 0.2 is above 0.3 in double precision, and the same in single precision."""
    people = pd.DataFrame({"a": ["1", "0"], "b": ["1", "0"], "c": ["0", "1"], "y": ["1", "0"]})
    said = {"kind": "auc", "class": "1", "from": "model.json", "equals": equals}
    assert satisfied(asked(tmp_path, said), people, "y")
    apart = people.assign(c="0")
    if equals == 1.0:
        assert satisfied(asked(tmp_path, said), apart, "y")
    else:
        with pytest.raises((AssertionError, InvalidInput)):
            satisfied(asked(tmp_path, said), apart, "y")


def test_who_has_a_value_that_a_model_does_not_know_has_no_score(tmp_path: Path) -> None:
    people = pd.DataFrame({"a": ["1", "2"], "b": ["1", "0"], "c": ["0", "1"]})
    for said in ({"kind": "accuracy"}, {"kind": "brier", "class": "1"}):
        release = asked(tmp_path, {**said, "from": "model.json", "equals": 0.5})
        with pytest.raises(InvalidInput, match=r"column a: .*expected values that model.json knows: '0', '1'"):
            maxent.bounds(release, people, level="closed")


def test_a_brier_score_of_numbers_that_are_no_probabilities_is_refused(tmp_path: Path) -> None:
    people = pd.DataFrame({"a": ["1", "0"], "score": [0.5, 1.5]})
    release = asked(tmp_path, {"kind": "brier", "class": "1", "score": "score", "equals": 0.5})
    with pytest.raises(InvalidInput, match=r"column score: .*expected probabilities, from 0 to 1"):
        maxent.bounds(release, people, level="closed")
