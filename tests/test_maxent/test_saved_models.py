"""Models of XGBoost, LightGBM and CatBoost that are there: read as the files that these tools save of them."""

from __future__ import annotations

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


class Lightgbm:
    __module__ = "lightgbm.sklearn"
    classes_ = ("no", "yes")

    @property
    def booster_(self) -> Model:
        return Model("lightgbm-binary.txt")


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
