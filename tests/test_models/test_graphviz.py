"""Graphs that scikit-learn draws of trees, with any options of its function; and what is none of them."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_graphviz
from support.models import read_model, reads

from maxent.models.errors import InvalidInput
from maxent.models.trees.predict import predict, predict_proba

PEOPLE = pd.DataFrame(
    {
        "Age": [21.0, 25.5, 30.25, 35.0, 40.0, 41.0, 50.0, 70.0, 33.0, 29.0],
        'Job "title"': ["clerk", "clerk", "smith", "smith", "a <= b", "clerk", "a <= b", "smith", "clerk", "smith"],
    }
)
PAY = np.array(["low", "low", 'h"igh', "low", 'h"igh', 'h"igh', 'h"igh', "low", "low", 'h"igh'])
ENCODED = PEOPLE[["Age"]].join(pd.get_dummies(PEOPLE[['Job "title"']]).astype(int))
TREE = DecisionTreeClassifier(random_state=0).fit(ENCODED, PAY)
NAMED = {"feature_names": list(ENCODED), "class_names": list(TREE.classes_)}


@pytest.fixture
def read(tmp_path: Path) -> Any:
    return partial(reads("tree", "graphviz"), tmp_path)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"filled": True, "rounded": True, "leaves_parallel": True, "rotate": True, "node_ids": True},
        {"special_characters": True, "node_ids": True, "filled": True},
        {"label": "none"},
        {"label": "none", "impurity": False},
        {"label": "root"},
        {"class_names": None},
        {"class_names": True},
    ],
)
def test_counts_are_those_of_the_table_whatever_the_options(read: Any, options: dict[str, Any]) -> None:
    table = PEOPLE.assign(Pay=PAY)
    text = export_graphviz(TREE, **{"precision": 10, **NAMED, **options})
    found = read(text, train=table, target="Pay")
    assert {a.name for a in found.release.attributes} == {"Age", 'Job "title"'}
    assert list(predict(found.release, PEOPLE)) == list(TREE.predict(ENCODED))
    np.testing.assert_allclose(predict_proba(found.release, PEOPLE), TREE.predict_proba(ENCODED))
    assert found.states["counts"]
    assert sum(leaf.n or 0 for leaf in found.release.trees[0].leaves) == 10


def test_columns_without_names_are_told(read: Any) -> None:
    found = read(export_graphviz(TREE, class_names=NAMED["class_names"]), features=tuple(ENCODED))
    assert list(predict(found.release, ENCODED)) == list(TREE.predict(ENCODED))


def test_shares_and_weights_are_no_counts(read: Any) -> None:
    found = read(export_graphviz(TREE, proportion=True, **NAMED))
    assert found.states == {"counts": False, "n": False, "rates": False, "labels": True, "linear": False}
    assert any("proportion" in lost for lost in found.lost)
    balanced = DecisionTreeClassifier(max_depth=1, class_weight={"low": 1, 'h"igh': 3}).fit(ENCODED, PAY)
    forest = RandomForestClassifier(1, random_state=0).fit(ENCODED, PAY)
    for tree in (balanced, forest.estimators_[0]):
        found = read(export_graphviz(tree, **NAMED))
        assert not found.states["counts"]
        assert found.release.labels == "decided"
    with pytest.raises(InvalidInput, match="labels of leaves"):
        read(export_graphviz(TREE, proportion=True, feature_names=NAMED["feature_names"]))


def test_rounded_thresholds_are_said_to_be(read: Any) -> None:
    assert not read(export_graphviz(TREE, precision=1, **NAMED)).exact
    table = PEOPLE.assign(Pay=PAY, Age=PEOPLE["Age"].round())
    encoded = ENCODED.assign(Age=table["Age"])
    tree = DecisionTreeClassifier(random_state=0).fit(encoded, PAY)
    assert read(export_graphviz(tree, **NAMED), train=table, target="Pay").exact


REGRESSION = DecisionTreeRegressor(max_depth=1).fit(ENCODED, np.arange(10.0))
PLAIN = export_graphviz(TREE, **NAMED)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (export_graphviz(REGRESSION), "bin the target"),
        (export_graphviz(TREE, max_depth=1), "without max_depth"),
        (PLAIN.replace("0 -> 1", "0 -> 2", 1), "each node below one other, the root first"),
        (PLAIN.replace('headlabel="True"', 'headlabel="False"', 1), "True before False"),
        (PLAIN.replace("samples = ", "rows: ", 1), "impurity, samples, value and class"),
        (PLAIN.replace("Age <= ", "Age < ", 1), "a test, such as"),
        (PLAIN.replace("}", "secret", 1), "a node or an edge"),
    ],
)
def test_other_graphs_are_refused(tmp_path: Path, text: str, match: str) -> None:
    path = tmp_path / "tree.dot"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=match):
        read_model(path)


def test_trees_of_c50py_are_refused_with_the_way_out(read: Any) -> None:
    text = PLAIN.replace('label="', 'label="Job in {a, b}\\n', 1)
    with pytest.raises(InvalidInput, match="c50py"):
        read(text)
