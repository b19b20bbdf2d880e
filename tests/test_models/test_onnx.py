"""Models in ONNX: one ensemble of trees, the columns before it undone, in files that are made here byte by byte."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.calls import refused
from support.models import reads
from support.paths import SEEDS

from maxent.models.files.protobuf import Malformed, fields, packed
from maxent.models.formats.registry import convert_model
from maxent.models.formats.release_reader import Converted, Wanted
from maxent.models.reading import Reader
from maxent.models.release import Boosting
from maxent.models.trees.predict import predict, predict_proba


def varint(number: int) -> bytes:
    number %= 2**64
    found = b""
    while number > 127:
        found += bytes([number & 127 | 128])
        number >>= 7
    return found + bytes([number])


def field(number: int, content: bytes | str | int) -> bytes:
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    data = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(data)) + data


def single(number: int, value: float) -> bytes:
    return varint(number << 3 | 5) + struct.pack("<f", value)


def tensor(name: str, values: list[float], kind: int) -> bytes:
    data = np.array(values, {1: "<f4", 7: "<i8", 11: "<f8"}[kind]).tobytes()
    return field(1, len(values)) + field(2, kind) + field(8, name) + field(9, data)


def attribute(name: str, value: Any) -> bytes:
    """An attribute of the type of its value: doubles are a tensor."""
    head = field(1, name)
    if isinstance(value, str):
        return head + field(4, value) + field(20, 3)
    if isinstance(value, int):
        return head + field(3, value) + field(20, 2)
    if isinstance(value, float):
        return head + single(2, value) + field(20, 1)
    if isinstance(value, np.ndarray):
        return head + field(5, tensor("", value.tolist(), 11)) + field(20, 4)
    if all(isinstance(item, str) for item in value):
        return head + b"".join(field(9, item) for item in value) + field(20, 8)
    if all(isinstance(item, int) for item in value):
        return head + b"".join(field(8, item) for item in value) + field(20, 7)
    return head + b"".join(single(7, item) for item in value) + field(20, 6)


def operator(name: str, inputs: list[str], outputs: list[str], **attributes: Any) -> bytes:
    content = b"".join(field(1, each) for each in inputs) + b"".join(field(2, each) for each in outputs)
    return content + field(4, name) + b"".join(field(5, attribute(k, v)) for k, v in attributes.items())


def given(name: str, kind: int, width: int) -> bytes:
    shape = field(1, field(2, "N")) + field(1, field(1, width))
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))


def model(operators: list[bytes], inputs: list[bytes], constants: list[bytes] | None = None) -> bytes:
    graph = b"".join(field(1, each) for each in operators)
    graph += b"".join(field(5, each) for each in constants or []) + b"".join(field(11, each) for each in inputs)
    return field(1, 8) + field(2, "skl2onnx") + field(3, "1.20") + field(7, graph) + field(8, field(1, "ai.onnx.ml"))


STUMP: dict[str, Any] = {
    "nodes_treeids": [0, 0, 0],
    "nodes_nodeids": [0, 1, 2],
    "nodes_featureids": [0, 0, 0],
    "nodes_values": [1.5, 0.0, 0.0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
    "nodes_truenodeids": [1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0],
    "class_treeids": [0, 0],
    "class_nodeids": [1, 2],
    "class_ids": [1, 1],
    "class_weights": [0.25, 1.0],
    "classlabels_strings": ["nö", "ja"],
    "post_transform": "NONE",
}


def trees(**other: Any) -> bytes:
    attributes = {key: value for key, value in {**STUMP, **other}.items() if value is not None}
    return operator("TreeEnsembleClassifier", ["X"], ["label", "p"], **attributes)


read = reads("model", "onnx")


def stump(folder: Path, features: tuple[str, ...] | None = ("x",), **other: Any) -> Converted:
    return read(folder, model([trees(**other)], [given("X", 1, 1)]), features=features)


NUMBERS = pd.DataFrame({"x": [1.0, 1.5, 1.500001, 2.0]})


def test_a_tree_of_two_classes_says_the_probability_of_one(tmp_path: Path) -> None:
    found = stump(tmp_path)
    assert (found.tool, found.states["linear"], found.states["rates"]) == ("skl2onnx 1.20", True, False)
    assert found.release.boosting is not None
    assert found.release.boosting.link == "share"
    assert predict_proba(found.release, NUMBERS)[:, 1].tolist() == [0.25, 0.25, 1.0, 1.0]
    assert predict(found.release, NUMBERS).tolist() == ["nö", "nö", "ja", "ja"]


def test_a_number_that_signals_to_be_none_is_none(tmp_path: Path) -> None:
    content = model([trees()], [given("X", 1, 1)])
    content = content.replace(struct.pack("<f", 1.5), struct.pack("<I", 0x7FA00000))
    refused("expected finite numbers", read, tmp_path, content, features=("x",))


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("BRANCH_LT", [0.25, 1.0, 1.0, 1.0]),
        ("BRANCH_LEQ", [0.25, 0.25, 1.0, 1.0]),
        ("BRANCH_GT", [1.0, 1.0, 0.25, 0.25]),
        ("BRANCH_GTE", [1.0, 0.25, 0.25, 0.25]),
    ],
)
@pytest.mark.parametrize("tracks", [0, 1])
def test_tests_of_every_mode_and_where_missing_values_go(
    mode: str, expected: list[float], tracks: int, tmp_path: Path
) -> None:
    missing = [tracks, 0, 0]
    found = stump(tmp_path, nodes_modes=[mode, "LEAF", "LEAF"], nodes_missing_value_tracks_true=missing).release
    assert predict_proba(found, NUMBERS)[:, 1].tolist() == expected
    if tracks:  # to the branch of those that pass
        assert predict_proba(found, pd.DataFrame({"x": [None, 1.0]}, dtype=float))[0, 1] == 0.25


def test_an_infinite_threshold_sends_missing_values_alone(tmp_path: Path) -> None:
    found = stump(tmp_path, nodes_values=[float("inf"), 0.0, 0.0]).release
    assert [branch.missing for branch in found.trees[0].root.branches] == [False, True]


def test_scores_of_every_kind(tmp_path: Path) -> None:
    odds = 1 / (1 + np.exp([-(0.5 - 1.0), -(0.5 - 1.0), -(0.5 + 2.0)]))
    binary = stump(tmp_path, class_weights=[-1.0, 2.0], base_values=[0.5], post_transform="LOGISTIC").release
    assert predict_proba(binary, NUMBERS.iloc[[0, 1, 3]])[:, 1] == pytest.approx(odds, abs=1e-12)
    both: dict[str, Any] = {
        "class_treeids": [0] * 4,
        "class_nodeids": [1, 1, 2, 2],
        "class_ids": [0, 1, 0, 1],
        "class_weights": [1.0, -1.0, -2.0, 2.0],
    }
    mirrored = stump(tmp_path, **both, post_transform="LOGISTIC").release
    assert mirrored.boosting == Boosting("logit")
    odds = 1 / (1 + np.exp([1.0, 1.0, -2.0, -2.0]))
    assert predict_proba(mirrored, NUMBERS)[:, 1] == pytest.approx(odds, abs=1e-12)
    several = stump(tmp_path, **both, post_transform="SOFTMAX").release
    odds = np.exp([[1.0, -1.0], [-2.0, 2.0]])
    expected = odds / odds.sum(axis=1, keepdims=True)
    assert predict_proba(several, NUMBERS.iloc[[0, 3]]) == pytest.approx(expected, abs=1e-12)
    doubled = stump(
        tmp_path,
        class_weights=None,
        class_weights_as_tensor=np.array([0.1, 0.9]),
        nodes_values=None,
        nodes_values_as_tensor=np.array([1.5, 0.0, 0.0]),
        classlabels_strings=None,
        classlabels_int64s=[0, 7],
    ).release
    assert doubled.target.classes == ("0", "7")
    assert predict_proba(doubled, NUMBERS)[:, 1] == pytest.approx([0.1, 0.1, 0.9, 0.9], abs=1e-15)


def test_columns_are_undone(tmp_path: Path) -> None:
    before = [
        operator("OneHotEncoder", ["town"], ["hot"], cats_strings=["Ulm", "Köln"], zeros=1),
        operator("Reshape", ["hot", "shape"], ["flat"]),
        operator("LabelEncoder", ["size"], ["code"], keys_strings=["S", "L", "M"], values_int64s=[0, 2, 1]),
        operator("Cast", ["code"], ["number"], to=1),
        operator("Imputer", ["age"], ["full"], imputed_value_floats=[40.0], replaced_value_float=float("nan")),
        operator("Scaler", ["full"], ["even"], offset=[30.0], scale=[0.1]),
        operator("Concat", ["flat", "number", "even"], ["all"], axis=1),
        operator("Gather", ["all", "chosen"], ["X"], axis=1),
    ]
    forest: dict[str, Any] = {
        "nodes_treeids": [0, 0, 0, 1, 1, 1, 2, 2, 2],
        "nodes_nodeids": [0, 1, 2] * 3,
        "nodes_featureids": [0, 0, 0, 1, 0, 0, 2, 0, 0],
        "nodes_values": [0.5, 0.0, 0.0, 1.5, 0.0, 0.0, 0.75, 0.0, 0.0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"] * 3,
        "nodes_truenodeids": [1, 0, 0] * 3,
        "nodes_falsenodeids": [2, 0, 0] * 3,
        "class_treeids": [0, 1, 2],
        "class_nodeids": [2, 2, 2],
        "class_ids": [1, 1, 1],
        "class_weights": [1 / 4, 1 / 4, 1 / 4],
    }
    after = [
        operator("Identity", ["p"], ["q"]),
        operator("ZipMap", ["q"], ["probabilities"], classlabels_strings=["nö", "ja"]),
    ]
    columns = [given("town", 8, 1), given("size", 8, 1), given("age", 1, 1)]
    constants = [tensor("chosen", [1, 2, 3], 7), tensor("shape", [-1, 2], 7)]
    found = read(tmp_path, model([*before, trees(**forest), *after], columns, constants)).release
    assert [a.values for a in found.attributes] == [("Ulm", "Köln", "(other)"), ("S", "M", "L"), None]
    rows = pd.DataFrame(
        {"town": ["Köln", "Bonn", "Ulm"], "size": ["L", "M", "S"], "age": ["37.5", None, "37.6"]}, dtype=object
    )
    # 37.5 becomes 0.75, 37.6 more, and what is missing 1.0.
    assert predict_proba(found, rows)[:, 1].tolist() == [0.5, 0.25, 0.25]


def test_a_training_table_proves_the_shares_of_a_tree(tmp_path: Path) -> None:
    table = pd.DataFrame({"x": [1.0] * 4 + [2.0] * 3, "T": ["ja", "nö", "nö", "nö", "ja", "ja", "ja"]})
    table.to_csv(tmp_path / "train.csv", index=False)
    content = model([trees()], [given("X", 1, 1)])
    found = read(tmp_path, content, target="T", train=tmp_path / "train.csv")
    assert [leaf.rates for leaf in found.release.trees[0].leaves] == [{"nö": 0.75, "ja": 0.25}, {"nö": 0.0, "ja": 1.0}]
    assert [leaf.label for leaf in found.release.trees[0].leaves] == ["nö", "ja"]
    table.assign(T=["ja"] * 7).to_csv(tmp_path / "train.csv", index=False)
    other = read(tmp_path, content, target="T", train=tmp_path / "train.csv")
    assert not other.states["rates"]
    assert any("--train may prove a tree's" in lost for lost in other.lost)


def test_the_seeds_are_of_real_tools() -> None:
    wanted = Wanted(target="Salary", train=SEEDS / "train.csv")
    tree = convert_model(SEEDS / "onnx.onnx", wanted, Reader())
    assert tree.states == {"counts": False, "n": False, "rates": True, "labels": True, "linear": True}
    boosted = convert_model(SEEDS / "onnx.2.onnx", wanted, Reader()).release
    assert boosted.boosting is not None
    assert boosted.boosting.link == "logit"


WRONG: dict[str, tuple[bytes, str]] = {
    "two ensembles": (model([trees(), trees()], [given("X", 1, 1)]), "one ensemble of trees .*, found 2"),
    "regression": (model([operator("TreeEnsembleRegressor", ["X"], ["y"])], [given("X", 1, 1)]),
        "others do not name their classes, found TreeEnsembleRegressor"),
    "after": (model([trees(), operator("Mul", ["p", "p"], ["q"])], [given("X", 1, 1)]),
        "nothing done to the probabilities but .*, found Mul"),
    "before": (model([operator("Less", ["Y"], ["X"]), trees()], [given("Y", 1, 1)]),
        "steps before the trees that can be undone: .*, found Less"),
    "circle": (model([operator("Identity", ["X"], ["X"]), trees()], [given("Y", 1, 1)]),
        "a tensor that an operator makes, or the caller gives"),
    "names": (model([trees()], [given("X", 1, 2)]), "2 different names of columns, which features= gives"),
    "sets": (model([trees(nodes_modes=["BRANCH_EQ", "LEAF", "LEAF"])], [given("X", 1, 1)]), "tests of numbers"),
    "links": (model([trees(nodes_truenodeids=[0, 0, 0])], [given("X", 1, 1)]), "node 0: .*each node below one other"),
    "column": (model([trees(nodes_featureids=[3, 0, 0])], [given("X", 1, 1)]), "of 1 columns, found .* of column 3"),
    "nodes": (model([trees(nodes_treeids=[0, 0])], [given("X", 1, 1)]), "nodes_treeids: expected a list of 3 numbers"),
    "lengths": (model([trees(nodes_values=[1.0])], [given("X", 1, 1)]), "nodes_values: expected a list of 3 numbers"),
    "class": (model([trees(class_ids=[1, 5])], [given("X", 1, 1)]), "classes below 2"),
    "scores": (model([trees(class_weights=[-1.0, 1.0])], [given("X", 1, 1)]), "LOGISTIC of scores of both signs"),
    "cut off": (model([trees()], [given("X", 1, 1)])[:-30], "a model in ONNX"),
}  # fmt: skip


@pytest.mark.parametrize("kind", WRONG)
def test_what_cannot_be_read_is_refused_with_the_reason(kind: str, tmp_path: Path) -> None:
    content, message = WRONG[kind]
    refused(message, read, tmp_path, content, features=None if kind == "names" else ("x",))


def test_numbers_of_the_wire_format() -> None:
    numbers = [0, 1, 127, 128, 300, -1, 2**62, -(2**63)]
    assert packed(memoryview(b"".join(map(varint, numbers)))).tolist() == numbers
    assert packed(memoryview(b"")).tolist() == []
    assert list(fields(memoryview(field(3, 150)))) == [(3, 0, 150)]
    for content in (b"\x80", b"\x0a\x05ab", b"\x0b", b"\xff" * 11):
        with pytest.raises(Malformed):
            list(fields(memoryview(content)))
    with pytest.raises(Malformed):
        packed(memoryview(b"\x80"))
