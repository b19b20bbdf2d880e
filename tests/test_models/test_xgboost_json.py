"""Models that XGBoost saved as JSON: scores, directions of missing values, categories; and what is none of them."""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.models import reads

from maxent.models.errors import InvalidInput
from maxent.models.formats.registry import reader_for
from maxent.models.trees.predict import predict, predict_proba


def tree(**changes: Any) -> dict[str, Any]:
    """age < 30 or missing to the left, where red and missing go right."""
    return {
        "left_children": [1, 3, -1, -1, -1],
        "right_children": [2, 4, -1, -1, -1],
        "split_indices": [0, 1, 0, 0, 0],
        "split_conditions": [30.1, 1e-45, 0.5, -0.25, 0.75],
        "split_type": [0, 1, 0, 0, 0],
        "default_left": [1, 0, 0, 0, 0],
        "categories": [1],
        "categories_nodes": [1],
        "categories_segments": [0],
        "categories_sizes": [1],
        "tree_param": {"size_leaf_vector": "1"},
        **changes,
    }


def model(*trees: dict[str, Any], objective: str = "binary:logistic", base: str = "[2.5E-1]", n: int = 0) -> Any:
    words = ["blue", "red", "green"]
    ends = np.cumsum([0, *(len(word.encode()) for word in words)]).tolist()
    names = {"offsets": ends, "values": list("".join(words).encode())}
    return {
        "learner": {
            "attributes": {},
            "feature_names": ["age", "colour"],
            "feature_types": ["float", "c"],
            "gradient_booster": {
                "name": "gbtree",
                "model": {
                    "cats": {"enc": [{"offsets": [], "values": []}, names]},
                    "tree_info": [i % max(n, 1) for i in range(len(trees))],
                    "trees": list(trees),
                },
            },
            "learner_model_param": {"base_score": base, "num_class": str(n), "num_feature": "2"},
            "objective": {"name": objective},
        },
        "version": [3, 2, 0],
    }


read = reads("model.json")


PEOPLE = pd.DataFrame({"age": [30.0, 30.1, np.nan, np.nan, 1e9], "colour": ["blue", "green", "red", None, "red"]})


def test_scores_add_up_where_the_tool_sends_records(tmp_path: Path) -> None:
    found = read(tmp_path, model(tree(), tree()), classes=("no", "yes"), parameters={"rate": "0.3", "lambda": "1"})
    # 30.1 as a double is less than the single-precision 30.1 that it is compared with once it is one itself.
    scores = np.log(0.25 / 0.75) + 2 * np.array([-0.25, 0.5, 0.75, 0.75, 0.5])
    np.testing.assert_allclose(predict_proba(found.release, PEOPLE)[:, 1], 1 / (1 + np.exp(-scores)))
    assert found.tool == "XGBoost 3.2.0"
    assert found.states == {"counts": False, "n": False, "rates": False, "labels": False, "linear": True}
    assert found.release.boosting is not None
    assert (found.release.boosting.rate, found.release.boosting.l2) == (0.3, 1.0)
    assert not any("--param" in sentence for sentence in found.lost)


def test_each_class_has_its_trees(tmp_path: Path) -> None:
    document = model(
        tree(), tree(split_conditions=[30.1, 1e-45, 5.0, 5.0, 5.0]), tree(), objective="multi:softprob", n=3
    )
    document["learner"]["learner_model_param"]["base_score"] = "[0E0,-1E0,0E0]"
    found = read(tmp_path, document, classes=("a", "b", "c"))
    assert [t.of_class for t in found.release.trees] == ["a", "b", "c"]
    assert set(predict(found.release, PEOPLE)) == {"b"}
    assert found.release.boosting is not None
    assert found.release.boosting.base == {"a": 0.0, "b": -1.0, "c": 0.0}


def test_categories_without_names_are_codes(tmp_path: Path) -> None:
    document = model(tree())
    del document["learner"]["gradient_booster"]["model"]["cats"]
    found = read(tmp_path, document)
    colour = next(a for a in found.release.attributes if a.name == "colour")
    assert colour.values == ("0", "1", "(other)", "(missing)")
    assert any("names of categories of colour: they are codes" in sentence for sentence in found.lost)
    # A code that no split of any tree names goes left, where no set has it.
    people = pd.DataFrame({"age": [1.0, 1.0], "colour": ["1", "77"]})
    assert predict_proba(found.release, people)[:, 1].round(3).tolist() == [0.414, 0.206]
    assert found.release.target.classes == ("0", "1")


def test_trees_that_were_dropped_count_less(tmp_path: Path) -> None:
    document = model(tree(), tree())
    booster = document["learner"]["gradient_booster"]
    document["learner"]["gradient_booster"] = {"name": "dart", "gbtree": booster, "weight_drop": [1.0, 0.5]}
    found = read(tmp_path, document)
    assert [t.weight for t in found.release.trees] == [1.0, 0.5]


def named(*words: str, ends: list[int], size: int) -> Any:
    document = model(tree())
    values = list("".join(words).encode())[:size]
    document["learner"]["gradient_booster"]["model"]["cats"]["enc"][1] = {"offsets": ends, "values": values}
    return document


@pytest.mark.parametrize("ends", [[0, 4, 9, 12], [0, 4, 8, 11]], ids=["bytes", "characters"])
def test_names_beyond_ascii_are_those_of_the_table(tmp_path: Path, ends: list[int]) -> None:
    document = named("blue", "grün", "red", ends=ends, size=ends[-1])
    with pytest.raises(InvalidInput, match="names in ASCII, or a table"):
        read(tmp_path, document)
    table = pd.DataFrame({"age": [1.0, 2.0, 3.0], "colour": ["red", "blue", "grün"]})
    found = read(tmp_path, document, train=table)
    assert next(a.values for a in found.release.attributes if a.name == "colour") == (
        *("blue", "grün", "red"),
        "(missing)",
    )
    with pytest.raises(InvalidInput, match="names in ASCII, or a table"):
        read(tmp_path, document, train=table.replace("grün", "grau"))


def coded(**changes: Any) -> Any:
    """A model without names of categories."""
    document = model(tree(split_conditions=[30.1, float("nan"), 0.5, -0.25, 0.75], **changes))
    del document["learner"]["gradient_booster"]["model"]["cats"]
    return document


def test_names_take_the_place_of_codes_where_sums_of_hessians_prove_their_order(tmp_path: Path) -> None:
    ages, colours = [10.0, 20.0, 25.0, 40.0, 50.0], ["blue", "blue", "red", "red", "blue"]
    table = pd.DataFrame({"age": ages, "colour": colours})
    sums = (0.25 * 0.75 * np.array([5, 3, 2, 2, 1])).tolist()
    found = read(tmp_path, coded(sum_hessian=sums), train=table)
    of_codes = read(tmp_path, coded(sum_hessian=sums), train=table.replace({"blue": "0", "red": "1"}))
    shown = [next(a.values for a in each.release.attributes if a.name == "colour") for each in (found, of_codes)]
    assert shown == [("blue", "red", "(other)", "(missing)"), ("0", "1", "(other)", "(missing)")]
    assert (
        predict(found.release, table).tolist()
        == predict(of_codes.release, table.replace({"blue": "0", "red": "1"})).tolist()
    )
    numbered = read(tmp_path, coded(sum_hessian=sums), train=table.assign(colour=[10, 10, 30, 30, 10]))
    assert next(a.values for a in numbered.release.attributes if a.name == "colour")[:2] == ("10", "30")
    for other in (
        table.replace({"blue": "red", "red": "blue"}),
        table.replace({"blue": "x", "red": "x"}),
        table.assign(colour=[30, 30, 10, 10, 30]),
    ):
        with pytest.raises(InvalidInput, match="names whose order the sums of hessians prove"):
            read(tmp_path, coded(sum_hessian=sums), train=other)
    with pytest.raises(InvalidInput, match="names whose order the sums of hessians prove"):
        read(tmp_path, coded(), train=table)


def test_an_estimator_predicts_by_the_trees_up_to_its_best_iteration(tmp_path: Path) -> None:
    document = model(tree(), tree(), tree())
    document["learner"]["attributes"] = {"best_iteration": "0"}
    found = read(tmp_path, document)
    assert [t.weight for t in found.release.trees] == [1.0, 1.0, 1.0]
    assert any("all trees predict" in sentence for sentence in found.lost)
    estimator = json.dumps({"learning_rate": None, "reg_lambda": 2.5, "callbacks": None})
    document["learner"]["attributes"]["scikit_learn"] = estimator
    found = read(tmp_path, document)
    assert [t.weight for t in found.release.trees] == [1.0, 0.0, 0.0]
    assert found.release.boosting is not None
    assert (found.release.boosting.rate, found.release.boosting.l2) == (0.3, 2.5)


def changed(change: Any) -> Any:
    document = copy.deepcopy(model(tree()))
    change(document["learner"], document["learner"]["gradient_booster"]["model"])
    return document


WRONG = {
    "a classifier": lambda learner, _: learner["objective"].update(name="reg:squarederror"),
    "gbtree or dart": lambda learner, _: learner["gradient_booster"].update(name="gblinear"),
    "each below one other": lambda _, m: m["trees"][0].update(right_children=[1, 4, -1, -1, -1]),
    "a list of 5": lambda _, m: m["trees"][0].update(split_indices=[0]),
    "columns from 0 to 1": lambda _, m: m["trees"][0].update(split_indices=[7, 1, 0, 0, 0]),
    "a list of finite numbers": lambda _, m: m["trees"][0].update(split_conditions=["x"] * 5),
    "single precision": lambda _, m: m["trees"][0].update(split_conditions=[1e39, 0, 0, 0, 0]),
    "leaves with one score": lambda _, m: m["trees"][0].update(tree_param={"size_leaf_vector": "3"}),
    "all of numbers, or all of categories": lambda _, m: m["trees"][0].update(split_type=[1, 1, 0, 0, 0]),
    "parts of categories": lambda _, m: m["trees"][0].update(categories_sizes=[9]),
    "a different name for each category": lambda _, m: m["trees"][0].update(categories=[7]),
    "where each name ends": lambda _, m: m["cats"]["enc"][1].update(offsets=[0, 99]),
    "bytes of UTF-8": lambda _, m: m["cats"]["enc"][1].update(values=[255] * len(m["cats"]["enc"][1]["values"])),
    "a probability": lambda learner, _: learner["learner_model_param"].update(base_score="2E0"),
    "a number, or one for each class": lambda learner, _: (
        learner["objective"].update(name="multi:softprob"),
        learner["learner_model_param"].update(base_score="many", num_class="3"),
    ),
    "a tree for each": lambda _, m: m.update(trees=[]),
    "classes from 0": lambda _, m: m.update(tree_info=[5]),
    "2 different names": lambda learner, _: learner.update(feature_names=["age", "age"]),
}


@pytest.mark.parametrize("words", WRONG)
def test_what_is_no_such_model_is_refused(tmp_path: Path, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        read(tmp_path, changed(WRONG[words]))


def test_arguments_are_checked(tmp_path: Path) -> None:
    for said, words in (
        ({"classes": ("a",)}, "2 names"),
        ({"parameters": {"rate": "fast"}}, "rate=NUMBER"),
        ({"parameters": {"rates": "1"}}, "did you mean 'rate'"),
        ({"qi": ("age", "color")}, "did you mean 'colour'"),
    ):
        with pytest.raises(InvalidInput, match=words):
            read(tmp_path, model(tree()), **said)
    assert reader_for(tmp_path / "model.json").name == "xgboost-json"
