"""The experiments of Friedman, Schuster and Wolff (2006), section 4, on Adult: train and test as the file says."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from test_real.instances import data_folder, table

from maxent.models.defenses import KADETClassifier

EXAMPLES = Path(__file__).parents[2] / "examples" / "hierarchies"
CATEGORICAL = [
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native-country",
]
NUMERIC = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
HIERARCHIES = {name: EXAMPLES / f"{name}.csv" for name in CATEGORICAL}
C45: dict[str, Any] = {"impurity": "gain_ratio", "confidence": 0.25}


@cache
def people(fold: str) -> pd.DataFrame:
    table("adult.csv")  # skips where there is none
    adult = pd.read_csv(data_folder() / "adult.csv")
    adult = adult[~(adult == "?").any(axis=1)]
    return adult[adult["fold"] == fold]


def fitted(columns: list[str], **parameters: Any) -> tuple[KADETClassifier, float]:
    """A tree of the training people, and its error among those of the test."""
    model = KADETClassifier(**parameters).fit(people("train")[columns], people("train")["class"])
    return model, 1 - model.score(people("test")[columns], people("test")["class"])


def exposed(model: KADETClassifier) -> int:
    """People in leaves, which with public attributes are spans, of a single class."""
    sizes = [list((leaf.counts or {}).values()) for leaf in model.release_.trees[0].leaves]
    return sum(sum(size) for size in sizes if np.count_nonzero(size) == 1)


def test_there_are_as_many_people_as_in_the_paper() -> None:
    assert (len(people("train")), len(people("test"))) == (30_162, 15_060)


@pytest.mark.parametrize(("k", "error"), [(2, 0.176), (5, 0.175), (10, 0.186)])
def test_the_error_of_id3_without_hierarchies(k: int, error: float) -> None:
    assert fitted(CATEGORICAL, k=k)[1] == pytest.approx(error, abs=0.001)


@pytest.mark.parametrize("k", [10, 100, 500])
def test_with_hierarchies_id3_stays_below_19_percent(k: int) -> None:
    assert fitted(CATEGORICAL, k=k, hierarchies=HIERARCHIES)[1] < 0.19


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 5, 25, 50, 75, 150, 200, 250, 300, 400])
def test_with_hierarchies_id3_stays_below_19_percent_for_all_k_up_to_500(k: int) -> None:
    assert fitted(CATEGORICAL, k=k, hierarchies=HIERARCHIES)[1] < 0.19


def test_at_750_the_root_is_relationship_and_at_1000_it_cannot_be() -> None:
    """And what is chosen instead classifies better."""
    by_k = {k: fitted(CATEGORICAL, k=k, hierarchies=HIERARCHIES) for k in (750, 1000)}
    roots = {k: model.release_.trees[0].root for k, (model, _) in by_k.items()}
    assert roots[750].attribute == "relationship"
    assert len(roots[750].branches) == 6
    assert (roots[1000].attribute, len(roots[1000].branches)) != ("relationship", 6)
    assert by_k[1000][1] < by_k[750][1]
    assert exposed(by_k[750][0]) == 0


@pytest.mark.parametrize(("k", "least", "most"), [(50, 1, 1000), (100, 0, 0)])
def test_hardly_anybody_is_exposed_by_c45_from_75_on(k: int, least: int, most: int) -> None:
    assert least <= exposed(fitted([*CATEGORICAL, *NUMERIC], k=k, hierarchies=HIERARCHIES, **C45)[0]) <= most


@pytest.mark.slow
@pytest.mark.parametrize("hierarchies", [None, HIERARCHIES])
def test_nobody_is_exposed_by_c45_when_each_span_has_90_people(hierarchies: Any) -> None:
    by_k = {k: exposed(fitted([*CATEGORICAL, *NUMERIC], k=k, hierarchies=hierarchies, **C45)[0]) for k in (2, 75, 90)}
    assert by_k[2] > 1000
    assert by_k[75] < 0.005 * 30_162
    assert by_k[90] == 0


@pytest.mark.parametrize("hierarchies", [None, HIERARCHIES])
def test_with_a_confidence_limit_of_85_percent_id3_cannot_split_the_root(hierarchies: Any) -> None:
    """Every split has a branch where a class is more frequent."""
    limits = {c: 2 ** -(c * np.log2(c) + (1 - c) * np.log2(1 - c)) for c in (0.85, 0.9)}
    assert limits[0.85] == pytest.approx(1.526, abs=0.0005)
    assert fitted(CATEGORICAL, k=1, l=limits[0.85], hierarchies=hierarchies)[0].release_.trees[0].root.is_leaf
    leaves = fitted(CATEGORICAL, k=1, l=limits[0.9], hierarchies=hierarchies)[0].release_.trees[0].leaves
    assert len(leaves) > 1
    assert max(max(leaf.counts.values()) / leaf.n for leaf in leaves if leaf.counts and leaf.n) <= 0.9
