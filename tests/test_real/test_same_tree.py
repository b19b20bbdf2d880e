"""One tree over Adult, as the model itself and in the files that tools write of it, tells an adversary the same.

What a format does not keep is what an adversary does not know: there is then a larger divergence.
"""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import maxent
from maxent.results.estimate import Estimate

FOLDER = Path(os.environ.get("MAXENT_DATA", "/nonexistent")) / "models"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="needs the models of MAXENT_DATA")

FULL, SMALL, IRIS = "sk_dt_adult_full", "sk122_dt_adult", "sk122_dt_iris_nyoka"
# As the recipes of the collection grow them.
REFITTED = {
    FULL: DecisionTreeClassifier(max_depth=10, min_samples_leaf=15, random_state=9),
    SMALL: DecisionTreeClassifier(max_depth=5, criterion="entropy", random_state=1),
}

COUNTED = [
    *(pytest.param(FULL, file, marks=pytest.mark.slow) for file in ("model.skops", "tree_weights.txt")),
    *((SMALL, file) for file in ("model.skops", "model.pmml", "tree_weights.txt")),
    *((IRIS, file) for file in ("model.pmml", "model_nyoka.pmml")),
]


@cache
def table(item: str) -> pd.DataFrame:
    return pd.read_csv(FOLDER / item / "train.csv")


@cache
def live(item: str) -> maxent.Release:
    """The pipeline, fitted anew; of iris, what skops saved of it."""
    if item not in REFITTED:
        return converted(item, "model.skops")
    x = table(item).drop(columns="class")
    named = [name for name in x if not pd.api.types.is_numeric_dtype(x[name])]
    prepared = ColumnTransformer([("cat", OneHotEncoder(sparse_output=False), named)], remainder="passthrough")
    model = Pipeline([("prep", prepared), ("tree", REFITTED[item])]).fit(x, table(item)["class"])
    return maxent.convert(model, target="class", train=x, qi=list(x))


def converted(item: str, file: str) -> maxent.Release:
    """What a file tells, about all columns of the table."""
    path, columns = FOLDER / item, list(table(item).drop(columns="class"))
    return maxent.convert(path / file, target="class", train=path / "train.csv", qi=columns)


@cache
def told(item: str, file: str, knowledge: str) -> Estimate:
    """What an adversary infers of the people of the training table."""
    read = converted(item, file) if file else live(item)
    people = table(item)
    return maxent.estimate(read, people.drop(columns="class"), truth=people, knowledge=knowledge.split(","))


def posterior(found: Estimate, like: Estimate) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """The posterior of each quasi-identifier, in one order of columns and rows."""
    columns = [name for name in like.posterior if not name.startswith(("P(", "divergence", "count"))]
    classes = [name for name in like.posterior if name.startswith("P(")]
    return found.posterior.astype(dict.fromkeys(columns, str)).sort_values(columns)[classes].to_numpy(np.float64)


@pytest.mark.parametrize(("item", "file"), COUNTED)
def test_where_counts_survive_the_posterior_is_the_same(item: str, file: str) -> None:
    whole = told(item, "", "counts")
    assert whole.summary["constraints"]["counts"] > 0
    np.testing.assert_allclose(
        posterior(told(item, file, "counts"), whole), posterior(whole, whole), rtol=0, atol=1e-12
    )


@pytest.mark.slow
@pytest.mark.parametrize("file", ["model.pmml", "model.onnx"])
def test_rates_tell_the_counts_of_leaves_whose_people_are_known_but_for_their_digits(file: str) -> None:
    whole, rates = told(FULL, "", "counts"), told(FULL, file, "rate")
    assert rates.summary["constraints"]["counts"] == 0
    np.testing.assert_allclose(posterior(rates, whole), posterior(whole, whole), rtol=0, atol=2e-6)


def test_labels_alone_leave_a_larger_divergence() -> None:
    whole, labels = told(SMALL, "", "counts"), told(SMALL, "tree_names.txt", "label")
    assert labels.summary["constraints"]["counts"] == 0
    assert labels.summary["divergence"]["overall"] > whole.summary["divergence"]["overall"] + 0.05
