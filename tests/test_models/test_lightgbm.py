"""Models of LightGBM, as text and as JSON: directions of missing values, bit sets, sizes; and what is none of them."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.calls import refused
from support.models import hessian, reads

from maxent.models.errors import InvalidInput
from maxent.models.formats.registry import reader_for
from maxent.models.formats.release_reader import Converted
from maxent.models.trees.predict import predict, predict_proba

PARAMETERS = {
    "boosting": "gbdt",
    "tree_learner": "serial",
    "device_type": "cpu",
    "data_sample_strategy": "bagging",
    "bagging_fraction": "1",
    "bagging_freq": "0",
    "categorical_feature": "1",
}
NAMES = 'pandas_categorical:[["blue", "red", "gr\\u00fcn"]]'
TREE = {
    "num_leaves": "3",
    "num_cat": "1",
    "split_feature": "0 1",
    "threshold": "30.5 0",
    "decision_type": "10 1",  # missing numbers to the left; categories
    "left_child": "1 -1",
    "right_child": "-3 -2",
    "leaf_value": "0.5 -0.25 0.75",
    "leaf_count": "1 2 3",
    "internal_count": "6 3",
    "cat_boundaries": "0 1",
    "cat_threshold": "5",  # blue and grün
    "is_linear": "0",
}
PEOPLE = pd.DataFrame(
    {"age": [30.5, 30.0, np.nan, 31.0, 1e9, 40.0], "colour": ["blue", "red", None, "red", "blue", None]}
)
SCORES = np.array([0.5, -0.25, -0.25, 0.75, 0.75, 0.75])


def text(*trees: dict[str, str], parameters: dict[str, str] | None = None, end: str = NAMES, **header: str) -> str:
    about = {
        "version": "v4",
        "num_class": "1",
        "num_tree_per_iteration": "1",
        "max_feature_idx": "1",
        "objective": "binary sigmoid:1",
        "feature_names": "age colour",
        "feature_infos": "[16:80] -1:2:0:1",
        **header,
    }
    lines = ["tree", *(f"{key}={value}" if value != "flag" else key for key, value in about.items()), ""]
    for number, tree in enumerate(trees or (TREE,)):
        lines += [f"Tree={number}", *(f"{key}={value}" for key, value in tree.items()), "", ""]
    said = PARAMETERS if parameters is None else parameters
    lines += ["end of trees", "", "parameters:", *(f"[{key}: {value}]" for key, value in said.items()), "", end, ""]
    return "\n".join(lines)


def dump(**changes: Any) -> dict[str, Any]:
    """The same model as JSON."""
    below = {
        "split_index": 1,
        "split_feature": 1,
        "threshold": "0||2",
        "decision_type": "==",
        "default_left": False,
        "missing_type": "None",
        "internal_count": 3,
        "left_child": {"leaf_index": 0, "leaf_value": 0.5, "leaf_count": 1},
        "right_child": {"leaf_index": 1, "leaf_value": -0.25, "leaf_count": 2},
    }
    root = {
        "split_index": 0,
        "split_feature": 0,
        "threshold": 30.5,
        "decision_type": "<=",
        "default_left": True,
        "missing_type": "NaN",
        "internal_count": 6,
        "left_child": below,
        "right_child": {"leaf_index": 2, "leaf_value": 0.75, "leaf_count": 3},
    }
    return {
        "name": "tree",
        "version": "v4",
        "num_class": 1,
        "num_tree_per_iteration": 1,
        "objective": "binary sigmoid:1",
        "average_output": False,
        "feature_names": ["age", "colour"],
        "feature_infos": {"age": {"values": []}, "colour": {"values": [-1, 2, 0, 1]}},
        "tree_info": [{"tree_index": 0, "tree_structure": {**root, **changes}}],
        "pandas_categorical": [["blue", "red", "grün"]],
    }


read = reads("model")


def scores(found: Converted) -> Any:
    shares = predict_proba(found.release, PEOPLE)
    return np.log(shares[:, 1] / shares[:, 0])


def sizes(found: Converted) -> list[dict[str, int | None]]:
    return [{node.id: node.n for node in tree.nodes} for tree in found.release.trees]


@pytest.mark.parametrize("content", [text(), text().replace("\n", "\r\n"), dump()], ids=["text", "crlf", "json"])
def test_scores_are_those_of_the_leaves_that_records_reach(tmp_path: Path, content: Any) -> None:
    found = read(tmp_path, content, classes=("no", "yes"))
    np.testing.assert_allclose(scores(found), SCORES)
    assert found.tool == "LightGBM (model v4)"
    assert found.exact
    colour = next(a for a in found.release.attributes if a.name == "colour")
    assert colour.values == ("blue", "red", "grün", "(missing)")
    assert reader_for(tmp_path / "model").name == ("lightgbm-json" if isinstance(content, dict) else "lightgbm-text")


def test_sizes_are_of_all_rows_where_the_parameters_say_so(tmp_path: Path) -> None:
    found = read(tmp_path, text())
    assert sizes(found) == [{"S0": 6, "S1": 3, "L0": 1, "L1": 2, "L2": 3}]
    assert not any("sizes" in sentence for sentence in found.lost)
    for parameters, reason in (
        ({"bagging_fraction": "0.5", "bagging_freq": "1"}, "a bag of the rows"),
        ({"neg_bagging_fraction": "0.5", "bagging_freq": "1"}, "a bag of the rows"),
        ({"data_sample_strategy": "goss"}, "a sample of the rows"),
        ({"boosting": "goss"}, "boosting is goss"),
        ({"tree_learner": "data"}, "tree_learner is data"),
    ):
        found = read(tmp_path, text(parameters={**PARAMETERS, **parameters}))
        assert not found.states["n"]
        assert any(reason in sentence for sentence in found.lost)
    assert read(tmp_path, text(parameters={**PARAMETERS, "bagging_fraction": "0.5"})).states["n"]  # every 0 iterations
    other = {**TREE, "leaf_count": "1 2 4", "internal_count": "7 3"}
    assert any("different numbers" in sentence for sentence in read(tmp_path, text(TREE, other)).lost)


def test_a_training_table_proves_sizes_or_refutes_them(tmp_path: Path) -> None:
    assert not read(tmp_path, dump()).states["n"]
    assert sizes(read(tmp_path, dump(), train=PEOPLE)) == [{"S0": 6, "S1": 3, "L0": 1, "L1": 2, "L2": 3}]
    assert not read(tmp_path, dump(), train=PEOPLE[:5]).states["n"]
    labelled = PEOPLE.assign(Salary=["low", "high"] * 3)
    assert read(tmp_path, text(), train=labelled, target="Salary").states["n"]
    refused("age: expected a column of this name", read, tmp_path, dump(), train=PEOPLE[["colour"]])
    refused(r"node L2: .* expected 3 rows, .* found 2", read, tmp_path, text(), train=PEOPLE[:5])


@pytest.mark.parametrize(
    ("kind", "threshold", "left"),
    [
        ("2", "30.5", [-1.0, 0.0, 30.5, np.nan]),  # what is missing counts as 0
        ("0", "-1", [-1.0]),
        ("8", "30.5", [-1.0, 0.0, 30.5]),
        ("10", "-1", [-1.0, np.nan]),
        ("6", "30.5", [-1.0, 0.0, 30.5, np.nan]),  # 0 and what is missing to the left
        ("4", "-1", [-1.0]),
        ("8", "inf", [-1.0, 0.0, 30.5, 31.0]),
    ],
)
def test_missing_numbers_go_where_the_tool_sends_them(
    tmp_path: Path, kind: str, threshold: str, left: list[float]
) -> None:
    tree = {**TREE, "decision_type": f"{kind} 1", "threshold": f"{threshold} 0", "leaf_value": "-1 -1 1"}
    rows = pd.DataFrame({"age": [-1.0, 0.0, 30.5, 31.0, np.nan], "colour": "red"})
    goes_left = predict(read(tmp_path, text(tree)).release, rows) == "0"
    np.testing.assert_array_equal(rows["age"][goes_left], left)


def test_zeros_that_go_apart_from_their_neighbours_are_refused(tmp_path: Path) -> None:
    for kind, threshold in (("4", "30.5"), ("6", "-1")):
        with pytest.raises(InvalidInput, match="without zero_as_missing"):
            read(tmp_path, text({**TREE, "decision_type": f"{kind} 1", "threshold": f"{threshold} 0"}))


def test_the_largest_threshold_of_json_takes_every_number(tmp_path: Path) -> None:
    found = read(tmp_path, dump(threshold=1e300, default_left=False))
    np.testing.assert_allclose(scores(found), [0.5, -0.25, 0.75, -0.25, 0.5, -0.25])


def test_objectives_say_what_scores_become(tmp_path: Path) -> None:
    np.testing.assert_allclose(scores(read(tmp_path, text(objective="binary sigmoid:0.5"))), SCORES / 2)
    np.testing.assert_allclose(scores(read(tmp_path, text(TREE, TREE, average_output="flag"))), SCORES)
    several = {"num_class": "3", "num_tree_per_iteration": "3"}
    trees = [{**TREE, "leaf_value": f"{0.1 * i} {i} -{i}"} for i in range(3)]
    found = read(tmp_path, text(*trees, objective="multiclass num_class:3", **several), classes=("a", "b", "c"))
    assert [t.of_class for t in found.release.trees] == ["a", "b", "c"]
    assert predict(found.release, PEOPLE).tolist() == ["c", "c", "c", "a", "a", "a"]
    odds = np.exp([0.0, 1.0, 2.0])
    np.testing.assert_allclose(predict_proba(found.release, PEOPLE)[1], odds / odds.sum())
    found = read(tmp_path, text(*trees, objective="multiclassova num_class:3 sigmoid:1", **several))
    assert any("probabilities" in sentence for sentence in found.lost)
    assert predict(found.release, PEOPLE).tolist() == ["2", "2", "2", "0", "0", "0"]


def test_categories_without_names_are_codes_and_others_go_right(tmp_path: Path) -> None:
    infos = "[16:80] -1:40:0:2"
    tree = {**TREE, "cat_boundaries": "0 2", "cat_threshold": "1 256"}  # 0 and 40
    found = read(tmp_path, text(tree, end="pandas_categorical:null", feature_infos=infos))
    colour = next(a for a in found.release.attributes if a.name == "colour")
    assert colour.values == ("0", "2", "40", "(other)", "(missing)")
    rows = pd.DataFrame({"age": [1.0] * 4, "colour": ["40", "2", "7", None]})
    assert predict(found.release, rows).tolist() == ["1", "0", "0", "0"]
    assert any("names of categories" in sentence for sentence in found.lost)


def test_a_tree_without_splits_is_one_leaf(tmp_path: Path) -> None:
    stump = {**dict.fromkeys(TREE, ""), "num_leaves": "1", "is_linear": "0", "leaf_value": "-0.5", "leaf_count": "6"}
    assert sizes(read(tmp_path, text(TREE, stump)))[1] == {"L0": 6}
    document = dump()
    document["tree_info"].append({"tree_structure": {"leaf_value": -0.5}})
    np.testing.assert_allclose(scores(read(tmp_path, document)), SCORES - 0.5)


WRONG: dict[str, str] = {
    "v3 or v4": text(version="v2"),
    "a classifier": text(objective="regression"),
    "2 different names": text(feature_names="age age"),
    "1 of two classes": text(num_tree_per_iteration="3"),
    "1 of two classes, else the number of classes, found 0": text(num_tree_per_iteration="0"),
    "3 for each iteration": text(num_tree_per_iteration="3", objective="multiclass num_class:3"),
    "a whole number": text(num_tree_per_iteration="many"),
    "binary sigmoid:NUMBER": text(objective="binary sigmoid:-1"),
    "LEAST:MOST": text(feature_infos="[16:80] red"),
    "a model that is whole": text().partition("end of trees")[0],
    "train without linear_tree": text({**TREE, "is_linear": "1"}),
    "a line leaf_count=": text({key: value for key, value in TREE.items() if key != "leaf_count"}),
    "3 numbers": text({**TREE, "leaf_value": "1 2"}),
    "finite numbers": text({**TREE, "leaf_value": "1 2 inf"}),
    "each below one other": text({**TREE, "right_child": "-3 -1"}),
    "from 0 to 11": text({**TREE, "decision_type": "12 1"}),
    "that has several values": text({**TREE, "split_feature": "0 7"}),
    "a number, of a column of numbers": text({**TREE, "split_feature": "1 1"}),
    "some value is above": text({**TREE, "threshold": "inf 0"}),
    "codes of categories": text({**TREE, "cat_threshold": "8"}),
    "one of 1 sets": text({**TREE, "threshold": "30.5 4"}),
    "where each set ends": text({**TREE, "cat_boundaries": "0 2"}),
    "words of 32 bits": text({**TREE, "cat_threshold": str(2**32)}),
    "values for each of 1 columns": text(end='pandas_categorical:[["a"], ["b"]]'),
    "a different value for each code": text(end='pandas_categorical:[["a", "b"]]'),
    "names, numbers": text(end='pandas_categorical:[["a", "b", {}]]'),
    "a list of lists": text(end='pandas_categorical:{"colour": 1}'),
    "sum of its children": text({**TREE, "internal_count": "6 4"}),
}


@pytest.mark.parametrize("words", WRONG)
def test_what_is_no_such_text_is_refused(tmp_path: Path, words: str) -> None:
    refused(words, read, tmp_path, WRONG[words])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"decision_type": ">"}, "<= or =="),
        ({"default_left": 1}, "and default_left"),
        ({"threshold": "x"}, "a number"),
        ({"decision_type": "==", "threshold": "x"}, "codes of categories"),
        ({"left_child": {"leaf_index": 0, "leaf_value": 1, "leaf_count": 1, "leaf_const": 1}}, "without linear_tree"),
        ({"left_child": 7}, "an object"),
        ({"left_child": {"leaf_index": 2, "leaf_value": 0.5, "leaf_count": 1}}, "L2 twice"),
    ],
)
def test_what_is_no_such_json_is_refused(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    refused(words, read, tmp_path, dump(**changes))


def test_which_columns_names_are_of_has_to_be_known(tmp_path: Path) -> None:
    unused = {**dump(), "feature_names": ["age", "colour", "constant"]}
    refused("save the model as text", read, tmp_path, unused)
    # The text says which columns are categorical.
    assert read(tmp_path, text(feature_names="age colour constant", feature_infos="[16:80] -1:2:0:1 none")).states["n"]


HEADER = (
    "tree_index,node_depth,node_index,left_child,right_child,parent_index,split_feature,split_gain,threshold,"
    "decision_type,missing_direction,missing_type,value,weight,count\n"
)
AGES = np.array([20.0, 25.0, 30.0, 40.0, 50.0, np.nan])
COLOURS = ["blue", "red", "red", "blue", "red", "blue"]
PAID = ["no", "no", "yes", "yes", "no", "no"]
TABLE = pd.DataFrame({"age of p": AGES, "colour": COLOURS, "paid": PAID})
BASE = np.log(1 / 2)
LEAF = np.where(np.where(np.isnan(AGES), False, AGES <= 35), np.where(np.array(COLOURS) == "red", 0, 1), 2)
VALUES = np.array([0.3, -0.4, 0.1])
SECOND = -0.2


def table_text(base: float = BASE) -> str:
    h = [hessian(np.full(6, base))[leaf == LEAF].sum() for leaf in range(3)]
    n = [(leaf == LEAF).sum() for leaf in range(3)]
    last = hessian(base + VALUES[LEAF]).sum()
    rows = [
        f"0,1,0-S0,0-S1,0-L2,,age_of_p,1.5,35.0,<=,right,NaN,{base},{sum(h)},6",
        f"0,2,0-S1,0-L0,0-L1,0-S0,colour,0.5,1,==,right,NaN,0.1,{h[0] + h[1]},{n[0] + n[1]}",
        *(f"0,3,0-L{i},,,0-S0,,,,,,,{base + VALUES[i]},{h[i]},{n[i]}" for i in range(3)),
        f"1,1,1-L0,,,,,,,,,,{SECOND},{last},6",
    ]
    return HEADER + "\n".join(rows) + "\n"


table_read = reads("trees.csv", "lightgbm-table")


def test_a_table_proves_the_objective_and_the_names_of_categories(tmp_path: Path) -> None:
    found = table_read(tmp_path, table_text(), train=TABLE, target="paid")
    shares = 1 / (1 + np.exp(-(BASE + VALUES[LEAF] + SECOND)))
    np.testing.assert_allclose(predict_proba(found.release, TABLE)[:, 1], shares)
    assert found.states == {"counts": False, "n": True, "rates": False, "labels": False, "linear": True}
    assert {attribute.name for attribute in found.release.attributes} == {"age of p", "colour"}


def test_what_no_table_proves_is_refused(tmp_path: Path) -> None:
    for table in (TABLE.iloc[1:], TABLE.assign(colour=COLOURS[::-1]), TABLE.assign(paid=["a"] * 6)):
        with pytest.raises(InvalidInput, match="names whose order the weights of leaves prove"):
            table_read(tmp_path, table_text(), train=table, target="paid")
    with pytest.raises(InvalidInput, match="names whose order the weights of leaves prove"):
        table_read(
            tmp_path, table_text(base=1.0).replace("S0,colour,0.5,1,", "S0,colour,0.5,0,"), train=TABLE, target="paid"
        )
    refused(r"parameters={'objective': 'binary'}", table_read, tmp_path, table_text())


def test_the_caller_says_what_the_table_lacks(tmp_path: Path) -> None:
    people = TABLE.assign(colour=["1" if c == "red" else "0" for c in COLOURS])
    found = table_read(tmp_path, table_text(), parameters={"objective": "binary"}, features=("colour", "age of p"))
    shares = 1 / (1 + np.exp(-(BASE + VALUES[LEAF] + SECOND)))
    np.testing.assert_allclose(predict_proba(found.release, people)[:, 1], shares)
    content = table_text().replace("age_of_p", "Column_1").replace("colour", "Column_0")
    found = table_read(
        tmp_path, content, parameters={"objective": "multiclass"}, classes=("a", "b"), features=("c", "d")
    )
    assert [tree.of_class for tree in found.release.trees] == ["a", "b"]
    assert {attribute.name for attribute in found.release.attributes} == {"c", "d"}
    refused("a classifier", table_read, tmp_path, table_text(), parameters={"objective": "regression"})


TEXT = table_text()
TABLE_WRONG = {
    "no weight": TEXT.replace(",weight,", ",weights,"),
    "a node of tree 0, once": TEXT.replace("0-L1,,", "0-L0,,"),
    "numbers from 0": TEXT.replace("1,1,1-L0", "2,1,2-L0"),
    "tree_index: expected a whole number": TEXT.replace("1,1,1-L0", "x,1,1-L0"),
    "as 0\\|\\|2": TEXT.replace("0.5,1,==", "0.5,red,=="),
    "each below one other": TEXT.replace("0-S1,0-L2", "0-S1,0-S1"),
    "nodes that the first one leads to": TEXT.replace("0-S0,0-S1,0-L2", "0-S0,0-L2,0-L0"),
    "the score of the leaf": TEXT.replace(str(SECOND), ""),
    "a number of records": TEXT.replace(",6\n1", ",6\n1").replace(",6\n", ",x\n"),
    "and directions": TEXT.replace("<=,right", "<=,up"),
    "finite numbers": TEXT.replace(str(SECOND), "many"),
}


@pytest.mark.parametrize("words", TABLE_WRONG)
def test_what_is_no_such_table_is_refused(tmp_path: Path, words: str) -> None:
    refused(words, table_read, tmp_path, TABLE_WRONG[words], parameters={"objective": "binary"})
