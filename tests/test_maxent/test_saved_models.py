"""Models of XGBoost, LightGBM and CatBoost that are there: read as the files that these tools save of them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import maxent
from maxent.models.errors import InvalidInput

FILES = Path(__file__).parents[1] / "test_models" / "boosted_files"


class Model:
    """A stand-in for a tool's model, which saves a file of that tool; the tools are not here."""

    def __init__(self, name: str) -> None:
        self.file = FILES / name

    def save_model(self, path: str, **how: Any) -> None:
        assert how in ({}, {"format": "json"})
        assert path.endswith(self.file.suffix)
        Path(path).write_text(self.file.read_text() if self.file.exists() else "{}")


class Xgboost(Model):
    __module__ = "xgboost.sklearn"


class Catboost(Model):
    __module__ = "catboost.core"


class Booster(Model):
    def feature_name(self) -> list[str]:
        return self.file.read_text().split("feature_names=")[1].splitlines()[0].split(" ")


class Lightgbm:
    __module__ = "lightgbm.sklearn"
    classes_ = ("no", "yes")

    @property
    def booster_(self) -> Model:
        return Booster("lightgbm-binary.txt")


class Unfitted(Model):
    __module__ = "xgboost.sklearn"

    def save_model(self, path: str, **how: Any) -> None:
        raise ValueError("need to call fit")


def test_a_model_is_what_its_file_is() -> None:
    assert maxent.convert(Xgboost("xgboost-binary.json")) == maxent.convert(FILES / "xgboost-binary.json")
    assert maxent.convert(Catboost("catboost-binary.json")) == maxent.convert(FILES / "catboost-binary.json")
    lightgbm = FILES / "lightgbm-binary.txt"
    assert maxent.convert(Lightgbm()) == maxent.convert(lightgbm, classes=Lightgbm.classes_)
    assert maxent.convert(Lightgbm(), classes=["a", "b"]) == maxent.convert(lightgbm, classes=["a", "b"])


def test_a_review_knows_the_classes_that_lightgbm_keeps() -> None:
    i = np.arange(180)  # the people whom the file is of: test_boosted_counts.py
    age, hours = (i * 37 % 53).astype(float), (i * i % 29).astype(float)
    work = np.array(list("abcdefg"))[(i * 11 + i // 7) % 7]
    reasons = (age > 25).astype(int) + (hours > 12) + np.isin(work, ["b", "e"]) + (i % 5 == 0)
    X = pd.DataFrame({"age": age, "hours": hours, "work": work})
    y = pd.Series(np.where(reasons >= 2, "yes", "no"), name="state")
    found = maxent.review(Lightgbm(), X, y, qi=["age"], time_limit=5)
    assert (found.release.target.name, found.release.target.classes) == ("state", ("no", "yes"))
    assert [attribute.role for attribute in found.release.attributes] == ["public", "private", "private"]
    of_array = maxent.review(Lightgbm(), np.column_stack([age, hours, work == "a"]), y, qi=["x1"], time_limit=5)
    assert [attribute.name for attribute in of_array.release.attributes] == ["x0", "x1", "x2"]


def test_errors_name_the_model() -> None:
    with pytest.raises(InvalidInput, match=r"fitted model that its tool saves.*Unfitted: 'need to call fit'"):
        maxent.review(Unfitted("none.json"), pd.DataFrame({"age": [20, 30]}), [0, 1], qi=["age"])
    with pytest.raises(InvalidInput, match=r"^Xgboost: "):
        maxent.convert(Xgboost("broken.json"))


PEOPLE = pd.DataFrame({"years of age": np.arange(120) * 37 % 53, "hours": np.arange(120) ** 2 % 29})
CASE = pd.Series(np.where(PEOPLE["years of age"] + PEOPLE["hours"] > 35, "yes", "no"), name="case")


def live(tool: str) -> Any:
    if tool == "lightgbm":
        return pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=2, min_child_samples=5, verbose=-1)
    if tool == "xgboost":
        return pytest.importorskip("xgboost").XGBClassifier(n_estimators=2, max_depth=3)
    quiet = {"verbose": 0, "allow_writing_files": False}
    return pytest.importorskip("catboost").CatBoostClassifier(n_estimators=2, max_depth=3, **quiet)


@pytest.mark.filterwarnings("ignore")  # of the tools
@pytest.mark.parametrize("tool", ["lightgbm", "xgboost", "catboost"])
def test_behind_steps_and_in_a_search_a_model_predicts_as_its_tool(tool: str) -> None:
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    y = (CASE == "yes").astype(int).rename("case")
    models = [
        live(tool).fit(PEOPLE, y),
        GridSearchCV(live(tool), {"max_depth": [2, 3]}, cv=2).fit(PEOPLE, y),
        make_pipeline(StandardScaler(), live(tool)).fit(PEOPLE, y),
        GridSearchCV(make_pipeline(StandardScaler(), live(tool)), {}, cv=2).fit(PEOPLE, y),
    ]
    for model in models:
        release = maxent.convert(model, target="case", train=PEOPLE.assign(case=y))
        assert [attribute.name for attribute in release.attributes] == [*PEOPLE]
        predicted = maxent.predict(release, PEOPLE).frame["predicted"]
        assert predicted.astype(int).tolist() == model.predict(PEOPLE).tolist()
    found = maxent.review(models[2], PEOPLE, y, qi=["years of age"], time_limit=5)
    assert found.release.attributes[0].role == "public"


def test_models_that_cannot_be_read_say_what_leads_on() -> None:
    from sklearn.ensemble import StackingClassifier, VotingClassifier
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_depth=2)
    both = tree.fit(PEOPLE, np.column_stack([CASE == "yes", PEOPLE["hours"] > 9]))
    with pytest.raises(InvalidInput, match="target: expected a list with a name for each of the 2 outputs"):
        maxent.review(both, PEOPLE, np.zeros((len(PEOPLE), 2)), qi=["hours"])
    for kind in (StackingClassifier, VotingClassifier):
        model = kind([("tree", DecisionTreeClassifier(max_depth=2))]).fit(PEOPLE, CASE)
        with pytest.raises(InvalidInput, match=r"a release of each of its estimators_.*together to maxent.estimate"):
            maxent.review(model, PEOPLE, CASE, qi=["hours"])
    with pytest.raises(InvalidInput, match=r"bins: expected none, .*cut the target into intervals"):
        maxent.convert(FILES / "xgboost-binary.json", bins=[0, 1, 2])
