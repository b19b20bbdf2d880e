"""Models that CatBoost saved as JSON: levels of tests, nested nodes, hashes of categories; and what is none of them."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.calls import refused
from support.models import reads

from maxent.models.trees.predict import predict, predict_proba

AGE = {"border": 30.100000381469727, "float_feature_index": 0, "split_index": 0, "split_type": "FloatFeature"}
RED = {"cat_feature_index": 0, "split_index": 1, "split_type": "OneHotFeature", "value": -7}


def column(name: str, index: int, flat: int, **more: Any) -> dict[str, Any]:
    return {"feature_id": name, "feature_name": name, "feature_index": index, "flat_feature_index": flat, **more}


def model(*trees: dict[str, Any], loss: str = "Logloss", classes: Any = ("no", "yes"), **more: Any) -> Any:
    return {
        "features_info": {
            "cat_features_hash": [{"hash": 2**32 - 7, "value": "red"}, {"hash": 8, "value": "blue"}],
            "categorical_features": [column("colour", 0, 0, values=[-7])],
            "float_features": [column("age", 0, 1, borders=[30.1], has_nans=True, nan_value_treatment="AsFalse")],
        },
        "model_info": {
            "catboost_version_info": "Summary: CatBoost release 1.2.10. commit",
            "class_params": {"class_names": list(classes)},
            "params": {"loss_function": {"type": loss}},
        },
        "oblivious_trees": list(trees),
        "scale_and_bias": [1, [0.5]],
        **more,
    }


# Above 30.1: 1 more; red: 2 more.
OBLIVIOUS = {"leaf_values": [0.0, 1.0, 2.0, 3.0], "leaf_weights": [2, 1, 1, 0], "splits": [AGE, RED]}

PEOPLE = pd.DataFrame({"age": [30.1, 31.0, np.nan, 99.0], "colour": ["blue", "green", "red", None]})
SCORES = np.array([0.0, 1.0, 2.0, 1.0])


read = reads("model.json", "catboost-json", sort_keys=True, indent=1)


def test_the_last_test_of_an_oblivious_tree_is_on_top(tmp_path: Path) -> None:
    found = read(tmp_path, model(OBLIVIOUS, OBLIVIOUS, scale_and_bias=[0.5, [0.25]]))
    np.testing.assert_allclose(predict_proba(found.release, PEOPLE)[:, 1], 1 / (1 + np.exp(-0.25 - SCORES)))
    assert found.release.trees[0].root.attribute == "colour"
    assert (found.tool, found.release.target.classes) == ("CatBoost 1.2.10", ("no", "yes"))
    assert found.states == {"counts": False, "n": False, "rates": False, "labels": False, "linear": True}


def test_trees_of_nested_nodes(tmp_path: Path) -> None:
    inner = {"left": {"value": 0.0, "weight": 2}, "right": {"value": 1.0, "weight": 1}, "split": AGE}
    other = {"left": {"value": 2.0, "weight": 1}, "right": {"value": 3.0, "weight": 0}, "split": AGE}
    document = model(trees=[{"left": inner, "right": other, "split": RED}])
    del document["oblivious_trees"]
    found = read(tmp_path, document)
    np.testing.assert_allclose(predict_proba(found.release, PEOPLE)[:, 1], 1 / (1 + np.exp(-0.5 - SCORES)))


def test_leaves_have_a_score_for_each_of_several_classes(tmp_path: Path) -> None:
    tree = {"leaf_values": [0.0, 0.1, 0.2, 5.0, 0.0, 0.0], "leaf_weights": [1, 1], "splits": [AGE]}
    found = read(tmp_path, model(tree, loss="MultiClass", classes=("a", "b", "c"), scale_and_bias=[1, [0, 0, 0]]))
    assert predict(found.release, PEOPLE).tolist() == ["c", "a", "c", "a"]
    assert found.release.boosting is not None
    assert found.release.boosting.link == "softmax"


def test_weights_are_sizes_where_a_table_shows_so(tmp_path: Path) -> None:
    table = pd.DataFrame({"colour": ["blue", "green", "blue", "red"], "age": [1.0, 2.0, 99.0, 3.0]})
    assert read(tmp_path, model(OBLIVIOUS), train=table).states["n"]
    assert not read(tmp_path, model(OBLIVIOUS), train=table.iloc[:3]).states["n"]


def test_a_name_that_no_cell_has_stands_for_empty_cells(tmp_path: Path) -> None:
    table = pd.DataFrame({"colour": ["blue", "green", "blue", None], "age": [1.0, 2.0, 99.0, 3.0]})
    found = read(tmp_path, model(OBLIVIOUS), train=table)
    assert found.states["n"]
    assert any("'red' of colour stands for missing ones" in sentence for sentence in found.lost)
    people = PEOPLE.assign(colour=["blue", "green", None, "blue"])
    np.testing.assert_allclose(predict_proba(found.release, people)[:, 1], 1 / (1 + np.exp(-0.5 - SCORES)))


def changed(change: Any) -> Any:
    document = copy.deepcopy(model(OBLIVIOUS))
    change(document, document["features_info"], document["oblivious_trees"][0])
    return document


WRONG = {
    "a classifier": lambda d, *_: d["model_info"]["params"]["loss_function"].update(type="RMSE"),
    "a CTR is a number": lambda d, f, t: (
        t["splits"].append({"split_type": "OnlineCtr", "border": 1})
        or t.update(leaf_values=[0] * 8, leaf_weights=[0] * 8)
    ),
    "a list of 4": lambda d, f, t: t.update(leaf_values=[1.0]),
    "different names of the classes": lambda d, *_: d["model_info"]["class_params"].update(class_names=["a"]),
    "a score for each class": lambda d, *_: d.update(scale_and_bias=[1, [0, 0]]),
    "a hash of which the file has the name": lambda d, f, t: f.pop("cat_features_hash"),
    "one of 1 columns of numbers": lambda d, f, t: t["splits"][0].update(float_feature_index=3),
    "one of 1 columns of categories": lambda d, f, t: t["splits"][1].update(cat_feature_index=3),
    "columns of different names": lambda d, f, t: f["float_features"][0].update(feature_name="colour"),
    "columns of numbers and of categories alone": lambda d, f, t: f.update(text_features=[{"feature_index": 0}]),
    "one of AsTrue, AsFalse, AsIs": lambda d, f, t: f["float_features"][0].update(nan_value_treatment="Other"),
    "FloatFeature or OneHotFeature": lambda d, f, t: t["splits"][0].update(split_type="Other"),
    "at least one tree": lambda d, f, t: d.update(oblivious_trees=[]),
}


@pytest.mark.parametrize("words", WRONG)
def test_what_is_no_such_model_is_refused(tmp_path: Path, words: str) -> None:
    refused(words, read, tmp_path, changed(WRONG[words]))


def test_arguments_are_checked(tmp_path: Path) -> None:
    assert read(tmp_path, model(OBLIVIOUS), classes=("a", "b"), features=("c", "d")).release.target.classes == (
        "a",
        "b",
    )
    for said, words in (
        ({"classes": ("a",)}, "2 names"),
        ({"features": ("a",)}, "2 names"),
        ({"classes": ("yes", "no")}, "the order of the model"),
        ({"features": ("age", "colour")}, "the order of the model"),
    ):
        refused(words, read, tmp_path, model(OBLIVIOUS), **said)
