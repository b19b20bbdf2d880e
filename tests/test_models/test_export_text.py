"""Text of scikit-learn: the tree that is read predicts and counts as the model does, or the text is refused."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_graphviz, export_text
from support.calls import refused
from support.models import read_model, reads
from support.strategies import thorough

from maxent.models.errors import InvalidInput
from maxent.models.trees.predict import predict, predict_proba

COLOURS = ("a,b", "dark_blue", "red", "x <= 3")


def people(seed: int, n: int = 60) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    numbers = random.integers(-3, 9, n) / 4
    colours = random.choice(COLOURS, n)
    y = np.where(random.random(n) < 0.7, (numbers > 0.5) ^ (colours == "red"), random.random(n) < 0.5)
    return pd.DataFrame({"how much": numbers, "my_colour": colours, "Y": np.where(y, "class: yes", "no")})


def grown(frame: pd.DataFrame, depth: int | None = 4, **options: Any) -> tuple[Any, pd.DataFrame]:
    """A tree on numbers and indicators, and its input."""
    encoder = OneHotEncoder(sparse_output=False).fit(frame[["my_colour"]])
    names = [*encoder.get_feature_names_out(), "how much"]
    x = pd.DataFrame(np.column_stack([encoder.transform(frame[["my_colour"]]), frame["how much"]]), columns=names)
    return DecisionTreeClassifier(max_depth=depth, random_state=0, **options).fit(x, frame["Y"]), x


read = reads("model.txt")


@thorough(12)
@given(seed=st.integers(0, 999), depth=st.sampled_from((None, 1, 3, 6)), shown=st.booleans(), spacing=st.integers(1, 4))
def test_a_text_predicts_and_counts_as_the_tree_does(
    tmp_path_factory: pytest.TempPathFactory, seed: int, depth: int | None, shown: bool, spacing: int
) -> None:
    frame = people(seed)
    model, x = grown(frame, depth)
    text = export_text(
        model, feature_names=list(x.columns), show_weights=shown, decimals=12, spacing=spacing, max_depth=99
    )
    found = read(tmp_path_factory.mktemp("text"), text, target="Y", train=frame)
    assert found.exact
    assert found.states["counts"] == found.states["n"] == shown
    unseen = people(seed + 1)
    _, x = grown(frame)
    columns = list(x.columns)
    x = pd.DataFrame({c: unseen["my_colour"] == c.removeprefix("my_colour_") for c in columns[:-1]}).astype(float)
    x["how much"] = unseen["how much"]
    assert predict(found.release, unseen).tolist() == model.predict(x).tolist()
    if shown:
        np.testing.assert_allclose(predict_proba(found.release, unseen), model.predict_proba(x))
        assert [sum(leaf.counts.values()) for leaf in found.release.trees[0].leaves] == [
            n for n, left in zip(model.tree_.n_node_samples, model.tree_.children_left, strict=True) if left < 0
        ]


def test_without_a_training_table_columns_are_those_of_the_input(tmp_path: Path) -> None:
    model, x = grown(people(0), 2)
    found = read(tmp_path, export_text(model, feature_names=list(x.columns), show_weights=True))
    assert {a.name for a in found.release.attributes} <= {*x.columns}
    assert predict(found.release, x).tolist() == model.predict(x).tolist()
    assert not found.exact
    assert any("--train" in sentence for sentence in found.lost)
    again = read(tmp_path, export_text(model, show_weights=True), features=tuple(x.columns), target="Z")
    assert (again.release.trees, again.release.target.name) == (found.release.trees, "Z")


def test_weights_that_are_no_records_leave_decided_labels(tmp_path: Path) -> None:
    frame = people(0)
    model, x = grown(frame, 3, class_weight="balanced")
    text = export_text(model, feature_names=list(x.columns), show_weights=True, decimals=12)
    found = read(tmp_path, text, target="Y", train=frame)
    assert found.release.labels == "decided"
    assert not found.states["counts"]
    assert predict(found.release, frame).tolist() == model.predict(x).tolist()


def test_a_leaf_alone_is_a_tree(tmp_path: Path) -> None:
    found = read(tmp_path, "|--- weights: [3.00, 1.00] class: a\n", classes=("a", "b"))
    assert found.release.trees[0].root.counts == {"a": 3, "b": 1}


TREE = "|--- age <= 3.50\n|   |--- class: a\n|--- age >  3.50\n|   |--- class: b\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TREE.replace("3.50", "4"), "numbers with their decimals"),
        (TREE.replace("|--- age >  3.50", "|--- age >  4.50"), "the other branch"),
        (TREE.replace("|   |--- class: b", "|   |--- truncated branch of depth 2"), "without max_depth"),
        (TREE.replace("class: b", "value: [1.5]"), "a classification tree"),
        (TREE + TREE, "the tree is complete"),
        (TREE[: TREE.index("|--- age >")], "both branches"),
        (TREE + "hello\n", "a line of export_text"),
        (TREE.replace("class: b", "weights: [1.0, x] class: b"), "a leaf with class: or weights:"),
        (TREE.replace("class: b", "weights: [1.0, -] class: b"), "numbers"),
        (TREE.replace("class: b", "weights: [1.0] class: b"), "as many names of classes as weights"),
        (TREE.replace("class: b", "weights: [9.0, 1.0] class: b"), "the order of the weights"),
    ],
)
def test_what_is_no_whole_tree_is_refused(tmp_path: Path, text: str, words: str) -> None:
    refused(words, read, tmp_path, text)


@pytest.mark.parametrize("scaled", ["scaler", "other table", "bootstrap"])
def test_the_training_table_shows_what_a_text_is_not_about(tmp_path: Path, scaled: str) -> None:
    frame = people(0)
    x = frame[["how much"]]
    model = DecisionTreeClassifier(max_depth=3, random_state=0)
    if scaled == "scaler":
        model.fit(pd.DataFrame(StandardScaler().fit_transform(x), columns=x.columns), frame["Y"])
    elif scaled == "bootstrap":
        model.fit(x, frame["Y"], sample_weight=np.random.default_rng(0).integers(0, 3, len(x)))
    else:
        model.fit(x, frame["Y"])
        frame = people(7)
    text = export_text(model, feature_names=list(x.columns), show_weights=True, decimals=10)
    refused("training table", read, tmp_path, text, target="Y", train=frame)


def test_codes_of_categories_are_taken_where_counts_prove_their_order(tmp_path: Path) -> None:
    frame = people(3)
    x = pd.DataFrame({"my_colour": [COLOURS.index(c) for c in frame["my_colour"]], "how much": frame["how much"]})
    model = DecisionTreeClassifier(random_state=0).fit(x, frame["Y"])
    shown, plain = (export_text(model, feature_names=list(x), show_weights=s, decimals=10) for s in (True, False))
    found = read(tmp_path, shown, target="Y", train=frame)
    assert predict(found.release, frame).tolist() == model.predict(x).tolist()
    refused("codes of categories", read, tmp_path, plain, target="Y", train=frame)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("my_colour_infrequent_sklearn", "infrequent"),
        ("how much_2.0", "KBinsDiscretizer"),
        ("weight", "a column of the training table"),
    ],
)
def test_names_that_the_training_table_does_not_have_are_refused(tmp_path: Path, name: str, words: str) -> None:
    refused(words, read, tmp_path, TREE.replace("age", name), target="Y", train=people(0))


def test_missing_cells_and_names_of_two_meanings_are_refused(tmp_path: Path) -> None:
    frame = people(0)
    frame.loc[3, "how much"] = np.nan
    refused("missing values", read, tmp_path, TREE.replace("age", "num__how much"), target="Y", train=frame)
    two = pd.DataFrame({"a": ["b_c", "x"], "a_b": ["c", "y"], "Y": ["a", "b"]})
    refused("one meaning", read, tmp_path, TREE.replace("age", "a_b_c").replace("3.50", "0.50"), target="Y", train=two)


def test_a_tree_of_numbers_is_refused(tmp_path: Path) -> None:
    frame = people(0)
    model = DecisionTreeRegressor(max_depth=2).fit(frame[["how much"]], frame["how much"])
    refused("regression", read, tmp_path, export_text(model))


PEOPLE = pd.DataFrame(
    {
        "Age": [21.0, 25.5, 30.25, 35.0, 40.0, 41.0, 50.0, 70.0, 33.0, 29.0],
        'Job "title"': ["clerk", "clerk", "smith", "smith", "a <= b", "clerk", "a <= b", "smith", "clerk", "smith"],
    }
)
PAY = np.array(["low", "low", 'h"igh', "low", 'h"igh', 'h"igh', 'h"igh', "low", "low", 'h"igh'])
ENCODED = PEOPLE[["Age"]].join(pd.get_dummies(PEOPLE[['Job "title"']]).astype(int))
GRAPHVIZ_TREE = DecisionTreeClassifier(random_state=0).fit(ENCODED, PAY)
NAMED = {"feature_names": list(ENCODED), "class_names": list(GRAPHVIZ_TREE.classes_)}


@pytest.fixture
def graphviz_read(tmp_path: Path) -> Any:
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
def test_counts_are_those_of_the_table_whatever_the_options(graphviz_read: Any, options: dict[str, Any]) -> None:
    table = PEOPLE.assign(Pay=PAY)
    text = export_graphviz(GRAPHVIZ_TREE, **{"precision": 10, **NAMED, **options})
    found = graphviz_read(text, train=table, target="Pay")
    assert {a.name for a in found.release.attributes} == {"Age", 'Job "title"'}
    assert list(predict(found.release, PEOPLE)) == list(GRAPHVIZ_TREE.predict(ENCODED))
    np.testing.assert_allclose(predict_proba(found.release, PEOPLE), GRAPHVIZ_TREE.predict_proba(ENCODED))
    assert found.states["counts"]
    assert sum(leaf.n or 0 for leaf in found.release.trees[0].leaves) == 10


def test_columns_without_names_are_told(graphviz_read: Any) -> None:
    found = graphviz_read(export_graphviz(GRAPHVIZ_TREE, class_names=NAMED["class_names"]), features=tuple(ENCODED))
    assert list(predict(found.release, ENCODED)) == list(GRAPHVIZ_TREE.predict(ENCODED))


def test_shares_and_weights_are_no_counts(graphviz_read: Any) -> None:
    found = graphviz_read(export_graphviz(GRAPHVIZ_TREE, proportion=True, **NAMED))
    assert found.states == {"counts": False, "n": False, "rates": False, "labels": True, "linear": False}
    assert any("proportion" in lost for lost in found.lost)
    balanced = DecisionTreeClassifier(max_depth=1, class_weight={"low": 1, 'h"igh': 3}).fit(ENCODED, PAY)
    for tree in (balanced, RandomForestClassifier(1, random_state=0).fit(ENCODED, PAY).estimators_[0]):
        found = graphviz_read(export_graphviz(tree, **NAMED))
        assert not found.states["counts"]
        assert found.release.labels == "decided"
    with pytest.raises(InvalidInput, match="labels of leaves"):
        graphviz_read(export_graphviz(GRAPHVIZ_TREE, proportion=True, feature_names=NAMED["feature_names"]))


def test_rounded_thresholds_are_said_to_be(graphviz_read: Any) -> None:
    assert not graphviz_read(export_graphviz(GRAPHVIZ_TREE, precision=1, **NAMED)).exact
    table = PEOPLE.assign(Pay=PAY, Age=PEOPLE["Age"].round())
    encoded = ENCODED.assign(Age=table["Age"])
    tree = DecisionTreeClassifier(random_state=0).fit(encoded, PAY)
    assert graphviz_read(export_graphviz(tree, **NAMED), train=table, target="Pay").exact


REGRESSION = DecisionTreeRegressor(max_depth=1).fit(ENCODED, np.arange(10.0))
PLAIN = export_graphviz(GRAPHVIZ_TREE, **NAMED)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (export_graphviz(REGRESSION), "bin the target"),
        (export_graphviz(GRAPHVIZ_TREE, max_depth=1), "without max_depth"),
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
    refused(match, read_model, path)


def test_trees_of_c50py_are_refused_with_the_way_out(graphviz_read: Any) -> None:
    text = PLAIN.replace('label="', 'label="Job in {a, b}\\n', 1)
    refused("c50py", graphviz_read, text)
