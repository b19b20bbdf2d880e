"""Real instances, cut to a number of distinct quasi-identifiers, with a tree of their own."""

import os
import runpy
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from maxent.models.formats.scikit_learn.tree import from_sklearn
from maxent.models.induction.inducers import id3
from maxent.models.release import Release

ADULT = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "adult.py"))
EDUCATION_QI: list[str] = ADULT["QI"]
INCOME_QI = ["education" if name == "class" else name for name in EDUCATION_QI]
NURSERY_QI = ["parents", "has_nurs", "form", "children", "housing", "finance", "social", "health"]
CONTRACEPTIVE_QI = [
    "wife_age",
    "wife_education_level",
    "husband_education_level",
    "num_children",
    "isMuslim",
    "isNotWorking",
    "husband_occupation",
    "standard_of_living",
    "isNotExposedToMedia",
]

# Name -> (file, sensitive attribute, quasi-identifiers).
TARGETS = {
    "education": ("adult.csv", "education", EDUCATION_QI),
    "income": ("adult.csv", "class", INCOME_QI),
    "nursery": ("nursery.csv", "assessment", NURSERY_QI),
    "contraceptive": ("contraceptive.csv", "contraceptive_method_used", CONTRACEPTIVE_QI),
    "contraceptive-numeric": ("contraceptive.csv", "contraceptive_method_used", CONTRACEPTIVE_QI),
}


@dataclass(frozen=True)
class Instance:
    """``distinct`` quasi-identifiers drawn from a data set with a seed, and how their tree is grown and published."""

    data: str
    distinct: int
    impurity: str
    publish: str
    seed: int = 0

    def __str__(self) -> str:
        return f"{self.data}-{self.distinct}-{self.impurity}-{self.publish}" + (f"-{self.seed}" if self.seed else "")

    def people(self) -> pd.DataFrame:
        file, target, qi = TARGETS[self.data]
        whole = table(file)[[*qi, target]]
        group = whole.groupby(qi, sort=True).ngroup().to_numpy()
        drawn = np.random.default_rng(self.seed).permutation(group.max() + 1)[: self.distinct]
        return whole[np.isin(group, drawn)].reset_index(drop=True)

    def release(self, people: pd.DataFrame) -> Release:
        _, target, qi = TARGETS[self.data]
        if self.data != "contraceptive-numeric":
            return id3(
                people.astype(str),
                target=target,
                qi=qi,
                impurity=self.impurity,  # type: ignore[arg-type]
                publish=self.publish,  # type: ignore[arg-type]
                min_samples_split=8,
            )
        model = DecisionTreeClassifier(criterion=self.impurity, min_samples_leaf=5, random_state=0)
        return from_sklearn(
            model.fit(people[qi], people[target]),
            target=target,
            classes=[str(c) for c in model.classes_],
            publish=self.publish,  # type: ignore[arg-type]
            X=people[qi],
        )


def data_folder() -> Path:
    """The folder in the environment variable MAXENT_DATA; tests that need it are skipped without it."""
    folder = os.environ.get("MAXENT_DATA")
    if not folder:
        pytest.skip("needs real data: set MAXENT_DATA to the folder with adult.csv, nursery.csv and contraceptive.csv")
    return Path(folder)


@cache
def table(file: str) -> pd.DataFrame:
    path = data_folder() / file
    if not path.is_file():
        pytest.skip(f"needs real data: no file {path}")
    return ADULT["adult"]() if file == "adult.csv" else pd.read_csv(path)
