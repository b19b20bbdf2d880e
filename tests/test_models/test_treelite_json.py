"""Models that treelite dumped as JSON: shares, counts, scores, signs of tests; and what is none of them."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.calls import refused
from support.models import read_model, reads

from maxent.models.formats.release_reader import Converted
from maxent.models.trees.predict import predict_proba


def split(node: int, feature: int, left: int, right: int, **more: Any) -> dict[str, Any]:
    below = {"left_child": left, "right_child": right}
    return {"node_id": node, "split_feature_id": feature, "default_left": True, **below, **more}


def number(node: int, left: int, right: int, sign: str = "<=", threshold: float = 30.1, **more: Any) -> dict[str, Any]:
    kind = {"node_type": "numerical_test_node", "comparison_op": sign, "threshold": threshold}
    return split(node, 0, left, right, **kind, **more)


def category(node: int, left: int, right: int, codes: list[int], on_right: bool) -> dict[str, Any]:
    kind = {"node_type": "categorical_test_node", "category_list": codes, "category_list_right_child": on_right}
    return split(node, 1, left, right, **kind)


def leaf(node: int, value: Any, **more: Any) -> dict[str, Any]:
    return {"node_id": node, "leaf_value": value, **more}


def model(*trees: list[dict[str, Any]], n: int = 1, **more: Any) -> Any:
    return {
        "threshold_type": "float64",
        "leaf_output_type": "float64",
        "num_feature": 2,
        "task_type": "kBinaryClf",
        "average_tree_output": False,
        "num_target": 1,
        "num_class": [n],
        "class_id": [0] * len(trees),
        "postprocessor": "sigmoid",
        "sigmoid_alpha": 1.0,
        "base_scores": [0.0] * n,
        **more,
        "trees": [{"nodes": nodes} for nodes in trees],
    }


def forest(*trees: list[dict[str, Any]]) -> Any:
    of = {"task_type": "kMultiClf", "average_tree_output": True, "postprocessor": "identity_multiclass"}
    return model(*trees, n=2, **of, class_id=[-1] * len(trees))


# Up to 30.1, or missing: 0.25 for code 1, else -0.5; above: 1.
SCORED = [number(0, 1, 2), category(1, 3, 4, [1], on_right=True), leaf(2, 1.0), leaf(3, -0.5), leaf(4, 0.25)]

PEOPLE = pd.DataFrame({"f0": [30.0, 30.1, np.nan, 31.0], "f1": ["0", "1", "77", None]})
SCORES = np.array([-0.5, 0.25, -0.5, 1.0])


read = reads("model.json", "treelite-json")


def shares(found: Converted, people: pd.DataFrame = PEOPLE) -> Any:
    return predict_proba(found.release, people)[:, 1]


def test_scores_add_up(tmp_path: Path) -> None:
    found = read(tmp_path, model(SCORED, SCORED, base_scores=[0.5], sigmoid_alpha=2.0))
    np.testing.assert_allclose(shares(found), 1 / (1 + np.exp(-2 * (0.5 + 2 * SCORES))))
    assert any("--features" in sentence for sentence in found.lost)
    named = read(tmp_path, model(SCORED), features=("age", "colour"), classes=("no", "yes"))
    np.testing.assert_allclose(
        shares(named, PEOPLE.rename(columns={"f0": "age", "f1": "colour"})), 1 / (1 + np.exp(-SCORES))
    )


@pytest.mark.parametrize(("sign", "at"), [("<", 1.0), ("<=", 0.0), (">", 1.0), (">=", 0.0)])
def test_signs_of_tests(tmp_path: Path, sign: str, at: float) -> None:
    low, high = (leaf(1, 0.0), leaf(2, 1.0)) if sign in ("<", "<=") else (leaf(1, 1.0), leaf(2, 0.0))
    tree = [number(0, 1, 2, sign=sign), low, high]
    people = pd.DataFrame({"f0": [30.0, 30.1, 31.0, np.nan]})
    scores = [0.0, {"<": 1.0, "<=": 0.0, ">": 0.0, ">=": 1.0}[sign], 1.0, low["leaf_value"]]
    np.testing.assert_allclose(shares(read(tmp_path, model(tree)), people), 1 / (1 + np.exp(-np.array(scores))))
    # As a number of single precision 30.1 is more than the double.
    single = read(tmp_path, model(tree, threshold_type="float32"))
    assert shares(single, people)[1] == pytest.approx(1 / (1 + np.exp(-1.0)))


def test_each_class_has_its_trees_or_its_scores(tmp_path: Path) -> None:
    softmax = {"task_type": "kMultiClf", "postprocessor": "softmax"}
    found = read(tmp_path, model(SCORED, SCORED, n=2, **softmax, class_id=[0, 1]))
    assert [tree.of_class for tree in found.release.trees] == ["0", "1"]
    vector = [number(0, 1, 2), leaf(1, [0.0, 1.0]), leaf(2, [2.0, 0.0])]
    found = read(tmp_path, model(vector, n=2, **softmax, class_id=[-1]))
    np.testing.assert_allclose(shares(found)[[0, 3]], [1 / (1 + np.exp(-1.0)), 1 / (1 + np.exp(2.0))])


# 30.1 in single precision, as scikit-learn has it, is more than the threshold.
def counted(records: list[int], weights: list[float]) -> list[dict[str, Any]]:
    said = [{"data_count": n, "sum_hess": w} for n, w in zip(records, weights, strict=True)]
    return [number(0, 1, 2, **said[0]), leaf(1, [0.75, 0.25], **said[1]), leaf(2, [0.0, 1.0], **said[2])]


TABLE = pd.DataFrame({"f0": [1.0, 2.0, 3.0, 4.0, 50.0, 60.0], "f1": ["0"] * 6})


def test_shares_are_counts_where_sizes_prove_them(tmp_path: Path) -> None:
    found = read(tmp_path, forest(counted([6, 4, 2], [6.0, 4.0, 2.0])))
    assert [node.counts for node in found.release.trees[0].leaves] == [{"0": 3, "1": 1}, {"0": 0, "1": 2}]
    np.testing.assert_allclose(shares(found), [0.25, 1.0, 0.25, 1.0])
    drawn = forest(counted([5, 3, 2], [6.0, 4.0, 2.0]))
    found = read(tmp_path, drawn, train=TABLE)
    assert found.release.resampled == 6
    assert [(node.n, node.distinct) for node in found.release.trees[0].nodes] == [(6, 5), (4, 3), (2, 2)]
    for document, said in (
        (drawn, {}),
        (drawn, {"train": TABLE.iloc[1:]}),
        (forest(counted([6, 4, 2], [6.5, 4.5, 2])), {}),
        (forest(counted([6, 4, 2], [5e300, 4.0, 2.0])), {}),  # a whole number, and of nobody
    ):
        weighted = read(tmp_path, document, **said)
        assert weighted.states == {"counts": False, "n": False, "rates": True, "labels": False, "linear": False}
        np.testing.assert_allclose(shares(weighted), [0.25, 1.0, 0.25, 1.0])


def changed(change: Any) -> Any:
    document = copy.deepcopy(model(SCORED))
    change(document, document["trees"][0]["nodes"])
    return document


WRONG = {
    "by sigmoid or softmax": lambda d, n: d.update(task_type="kRegressor"),
    "one target": lambda d, n: d.update(num_target=2),
    "the class of each tree": lambda d, n: d.update(class_id=[1]),
    "a positive sigmoid_alpha": lambda d, n: d.update(sigmoid_alpha=0),
    "float32 or float64": lambda d, n: d.update(threshold_type="float16"),
    "each below one other": lambda d, n: n[0].update(right_child=1),
    "codes from 0": lambda d, n: n[1].update(category_list=[-1]),
    "more than 1, a column": lambda d, n: d.update(num_feature=1),
    "one score": lambda d, n: n[2].update(leaf_value=[1.0, 2.0]),
    "at least one code": lambda d, n: n[1].update(category_list=[], category_list_right_child=True),
    "<, <=, > or >=": lambda d, n: n[0].update(comparison_op="=="),
    "true or false": lambda d, n: n[0].update(default_left=1),
    "nodes that the first one leads to": lambda d, n: n.append(leaf(9, 1.0)),
}


@pytest.mark.parametrize("words", WRONG)
def test_what_is_no_such_model_is_refused(tmp_path: Path, words: str) -> None:
    refused(words, read, tmp_path, changed(WRONG[words]))


def test_shares_and_arguments_are_checked(tmp_path: Path) -> None:
    for value in ([0.5, 0.6], [1.5, -0.5]):
        refused("whose sum is 1", read, tmp_path, forest([leaf(0, value)]))
    refused("a number for each class", read, tmp_path, forest([leaf(0, 0.5)]))
    for said in ({"classes": ("a",)}, {"features": ("a",)}, {"features": ("a", "a")}):
        refused("2 ", read, tmp_path, model(SCORED), **said)


def test_a_checkpoint_is_refused_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "model").write_bytes(bytes([4, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 3, 3]))
    refused("dump_as_json", read_model, tmp_path / "model")
