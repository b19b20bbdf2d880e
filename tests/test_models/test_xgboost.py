"""Models of XGBoost, saved as JSON or UBJSON or dumped: what is read, what a table proves, and what is refused."""

import copy
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.calls import refused
from support.models import hessian, reads

from maxent.models.formats.boosting.xgboost_files import read_ubjson_object
from maxent.models.formats.registry import convert_model, reader_for
from maxent.models.formats.release_reader import Wanted
from maxent.models.reading import Reader
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
    assert [t.weight for t in read(tmp_path, document).release.trees] == [1.0, 0.5]


def named(*words: str, ends: list[int], size: int) -> Any:
    document = model(tree())
    values = list("".join(words).encode())[:size]
    document["learner"]["gradient_booster"]["model"]["cats"]["enc"][1] = {"offsets": ends, "values": values}
    return document


@pytest.mark.parametrize("ends", [[0, 4, 9, 12], [0, 4, 8, 11]], ids=["bytes", "characters"])
def test_names_beyond_ascii_are_those_of_the_table(tmp_path: Path, ends: list[int]) -> None:
    document = named("blue", "grün", "red", ends=ends, size=ends[-1])
    refused("names in ASCII, or a table", read, tmp_path, document)
    table = pd.DataFrame({"age": [1.0, 2.0, 3.0], "colour": ["red", "blue", "grün"]})
    found = read(tmp_path, document, train=table)
    assert next(a.values for a in found.release.attributes if a.name == "colour") == (
        *("blue", "grün", "red"),
        "(missing)",
    )
    refused("names in ASCII, or a table", read, tmp_path, document, train=table.replace("grün", "grau"))


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
        refused("names whose order the sums of hessians prove", read, tmp_path, coded(sum_hessian=sums), train=other)
    refused("names whose order the sums of hessians prove", read, tmp_path, coded(), train=table)


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
    refused(words, read, tmp_path, changed(WRONG[words]))


def test_arguments_are_checked(tmp_path: Path) -> None:
    for said, words in (
        ({"classes": ("a",)}, "2 names"),
        ({"parameters": {"rate": "fast"}}, "rate=NUMBER"),
        ({"parameters": {"rates": "1"}}, "did you mean 'rate'"),
        ({"qi": ("age", "color")}, "did you mean 'colour'"),
    ):
        refused(words, read, tmp_path, model(tree()), **said)
    assert reader_for(tmp_path / "model.json").name == "xgboost-json"


AGES = np.array([20.0, 25.0, 30.0, 40.0, 50.0, np.nan])
COLOURS = ["blue", "red", "red", "blue", "red", "blue"]
PAID = ["no", "no", "yes", "yes", "yes", "no"]
TABLE = pd.DataFrame({"age of p": AGES, "colour": COLOURS, "paid": PAID})
LEFT = np.where(np.isnan(AGES), True, AGES < 35)
RED = np.array(COLOURS) == "red"

FIRST = np.array([-0.4, 0.6, 0.2])  # Below 35 or missing and not red, below 35 and red, and from 35 on

SECOND = 0.25


def reached() -> Any:
    return np.where(LEFT & ~RED, 0, np.where(LEFT, 1, 2))


def covers(base: float) -> list[float]:
    """The sums at node 0 to 4 of the first tree, and of the second, which is a leaf."""
    first = hessian(np.full(6, base))
    leaves = [first[reached() == leaf].sum() for leaf in range(3)]
    return [first.sum(), leaves[0] + leaves[1], leaves[2], leaves[0], leaves[1], hessian(base + FIRST[reached()]).sum()]


def as_text(c: list[float]) -> str:
    return (
        f"booster[0]:\n0:[age of p<35] yes=1,no=2,missing=1,gain=1.5,cover={c[0]}\n"
        f"\t1:[colour:{{1}}] yes=4,no=3,missing=3,gain=0.5,cover={c[1]}\n"
        f"\t\t3:leaf={FIRST[0]},cover={c[3]}\n\t\t4:leaf={FIRST[1]},cover={c[4]}\n\t2:leaf={FIRST[2]},cover={c[2]}\n"
        f"booster[1]:\n0:leaf={SECOND},cover={c[5]}\n"
    )


def as_json(c: list[float]) -> str:
    leaf = [{"nodeid": i, "leaf": v, "cover": c[i]} for i, v in ((3, FIRST[0]), (4, FIRST[1]), (2, FIRST[2]))]
    colour = {"nodeid": 1, "depth": 1, "split": "colour", "split_condition": [1], "yes": 4, "no": 3, "missing": 3}
    age = {"nodeid": 0, "depth": 0, "split": "age of p", "split_condition": 35, "yes": 1, "no": 2, "missing": 1}
    below = {**colour, "cover": c[1], "children": leaf[:2]}
    return json.dumps(
        [{**age, "cover": c[0], "children": [below, leaf[2]]}, {"nodeid": 0, "leaf": SECOND, "cover": c[5]}]
    )


def as_table(c: list[float]) -> str:
    return (
        "Tree,Node,ID,Feature,Split,Yes,No,Missing,Gain,Cover,Category\n"
        f"0,0,0-0,age of p,35.0,0-1,0-2,0-1,1.5,{c[0]},\n0,1,0-1,colour,,0-4,0-3,0-3,0.5,{c[1]},['1']\n"
        f"0,2,0-2,Leaf,,,,,{FIRST[2]},{c[2]},\n0,3,0-3,Leaf,,,,,{FIRST[0]},{c[3]},\n"
        f"0,4,0-4,Leaf,,,,,{FIRST[1]},{c[4]},\n1,0,1-0,Leaf,,,,,{SECOND},{c[5]},\n"
    )


FORMS: dict[str, Callable[[list[float]], str]] = {
    "xgboost-dump": as_text,
    "xgboost-dump-json": as_json,
    "xgboost-table": as_table,
}


dump_read = reads("dump")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("base", [0.0, np.log(0.5 / 0.5)])
def test_a_table_proves_how_scores_become_predictions(tmp_path: Path, form: str, base: float) -> None:
    found = dump_read(tmp_path, FORMS[form](covers(base)), train=TABLE, target="paid")
    assert reader_for(tmp_path / "dump").name == form
    shares = 1 / (1 + np.exp(-(base + FIRST[reached()] + SECOND)))
    np.testing.assert_allclose(predict_proba(found.release, TABLE)[:, 1], shares, atol=1e-7)
    assert found.states == {"counts": False, "n": False, "rates": False, "labels": False, "linear": True}


def test_a_base_score_that_xgboost_estimated_is_found(tmp_path: Path) -> None:
    table = TABLE.assign(paid=["no", "no", "yes", "yes", "no", "no"])
    for base in (np.log(1 / 2), 4 * (1 / 3 - 1 / 2)):
        found = dump_read(tmp_path, as_text(covers(base)), train=table, target="paid")
        assert found.release.boosting is not None
        assert found.release.boosting.base == pytest.approx(base)


def test_what_no_table_proves_is_refused(tmp_path: Path) -> None:
    others = {
        "another base score": (as_text(covers(1.0)), TABLE),
        "some of the rows": (as_text(covers(0.0)), TABLE.iloc[1:]),
        "classes in another order": (
            as_text(covers(0.0)),
            TABLE.assign(paid=["yes" if p == "no" else "no" for p in PAID]),
        ),
        "no stats": (
            "\n".join(line.partition(",gain")[0].partition(",cover")[0] for line in as_text(covers(0.0)).split("\n")),
            TABLE,
        ),
    }
    for text, table in others.values():
        refused("the objective and the base score", dump_read, tmp_path, text, train=table, target="paid")
    refused("the objective and the base score", dump_read, tmp_path, as_text(covers(0.0)))


def test_the_caller_says_what_a_dump_lacks(tmp_path: Path) -> None:
    said = {"objective": "binary:logistic", "base_score": "0.2"}
    text = as_text(covers(0.0)).replace("booster[0]:\n", "").replace("booster[1]:\n", "")
    found = dump_read(tmp_path, text, parameters=said, classes=("no", "yes"))
    people = TABLE.assign(colour=["1" if red else "0" for red in RED])
    shares = 1 / (1 + np.exp(-(np.log(0.25) + FIRST[reached()] + SECOND)))
    np.testing.assert_allclose(predict_proba(found.release, people)[:, 1], shares, atol=1e-7)
    several = dump_read(
        tmp_path, text * 3, parameters={"objective": "multi:softprob", "base_score": "0.5"}, classes=("a", "b", "c")
    )
    assert [tree.of_class for tree in several.release.trees] == ["a", "b", "c", "a", "b", "c"]
    parallel = {"objective": "multi:softprob", "base_score": "0.5", "parallel": "2"}
    several = dump_read(tmp_path, text * 3, parameters=parallel, classes=("a", "b", "c"))
    assert [tree.of_class for tree in several.release.trees] == ["a", "a", "b", "b", "c", "c"]
    for wrong, words in (
        ({"objective": "reg:squarederror", "base_score": "1"}, "a classifier"),
        ({"objective": "binary:logistic"}, "base_score=NUMBER: a probability"),
        ({"objective": "binary:logistic", "base_score": "7"}, "a probability"),
        ({**said, "parallel": "0.5"}, "parallel=1 or more"),
        ({"objective": "multi:softprob", "base_score": "0", "parallel": "2"}, "4 for each iteration"),
    ):
        refused(words, dump_read, tmp_path, text, parameters=wrong)


def test_columns_without_names_are_those_of_the_caller(tmp_path: Path) -> None:
    text = as_text(covers(0.0)).replace("age of p", "f1").replace("colour", "f0")
    found = dump_read(tmp_path, text, train=TABLE, target="paid", features=("colour", "age of p"))
    assert {attribute.name for attribute in found.release.attributes} == {"age of p", "colour"}
    refused("the names of the columns", dump_read, tmp_path, text, train=TABLE, target="paid", features=("colour",))


def test_texts_of_get_dump_in_a_list(tmp_path: Path) -> None:
    trees = [json.dumps(tree) for tree in json.loads(as_json(covers(0.0)))]
    assert len(dump_read(tmp_path, json.dumps(trees), train=TABLE, target="paid").release.trees) == 2


TEXT = as_text(covers(0.0))
DUMP_WRONG = {
    "each below one other, found node 9": TEXT.replace("yes=1,", "yes=9,").replace("missing=1,", "missing=9,"),
    "one of yes and no": TEXT.replace("missing=1", "missing=7"),
    "another line": TEXT.replace("\t2:leaf", "\t2:leaves"),
    "a test of an indicator": TEXT.replace("[colour:{1}]", "[colour]"),
    "nodes that the first one leads to": TEXT.replace("booster[1]:\n0:", "7:"),
    "a tree that begins with 0": TEXT.replace("\t2:leaf", "\t4:leaf"),
    "nodes of every tree": TEXT + "booster[2]:\n",
    "numbers alone, or of codes": TEXT.replace("[colour:{1}]", "[age of p:{1}]"),
    "a number of single precision": TEXT.replace("<35]", "<1e39]"),
    "expected a number of single precision, found 1e\\+39": TEXT.replace("leaf=0.6", "leaf=1e39"),
}


@pytest.mark.parametrize("words", DUMP_WRONG)
def test_what_is_no_such_text_is_refused(tmp_path: Path, words: str) -> None:
    refused(words, dump_read, tmp_path, DUMP_WRONG[words], train=TABLE, target="paid")


LIST, ROWS = as_json(covers(0.0)), as_table(covers(0.0))
WRONG_OTHERS = {
    "one list of trees": LIST + ', "more": [1]',
    "a number for each node": LIST.replace('"nodeid": 3', '"nodeid": 1'),
    "leaves with one score": LIST.replace('"leaf": 0.25', '"leaf": [0.25]'),
    "with q in place of i": LIST.replace('"split_condition": 35, ', ""),
    "codes of categories": LIST.replace("[1]", "[-1]"),
    "expected an object": LIST[:-1] + ", 1]",
    "0-1, once, with its cover": ROWS.replace("0-1,colour", "0-2,colour"),
    "the score of the leaf": ROWS.replace("Leaf,,,,,0.25", "Leaf,,,,,"),
    "a number, or codes as Category": ROWS.replace("['1']", "[1]"),
    "a node of tree 0": ROWS.replace("0-4,0-3,0-3", "1-4,0-3,0-3"),
    "numbers from 0": ROWS.replace("1,0,1-0", "2,0,2-0"),
    "a whole number": ROWS.replace("0,1,0-1,colour", "0,x,0-1,colour"),
    "finite numbers": ROWS.replace("35.0", "inf"),
    "no Cover": ROWS.replace("Cover", "Cove"),
    "11, as the header has": ROWS.replace(",['1']", ""),
}


@pytest.mark.parametrize("words", WRONG_OTHERS)
def test_what_is_no_such_list_or_table_is_refused(tmp_path: Path, words: str) -> None:
    refused(words, dump_read, tmp_path, WRONG_OTHERS[words], train=TABLE, target="paid")


SEED = Path(__file__).parents[1] / "fuzz" / "seeds" / "xgboost-json.json"
KINDS = {"split_conditions": "d", "default_left": "U", "split_type": "i", "values": "i", "offsets": "l"}
FORMATS = {"i": ">i1", "U": ">u1", "I": ">i2", "l": ">i4", "L": ">i8", "d": ">f4", "D": ">f8"}


def size(n: int) -> bytes:
    return b"L" + struct.pack(">q", n)


def binary(value: Any, key: str = "") -> bytes:
    """A document as XGBoost writes it: lists of numbers with their type."""
    if isinstance(value, str):
        return b"S" + size(len(value.encode())) + value.encode()
    if isinstance(value, int):
        return size(value)
    if isinstance(value, float):
        return b"d" + struct.pack(">f", value)
    if isinstance(value, dict):
        return b"{" + b"".join(size(len(k)) + k.encode() + binary(v, k) for k, v in value.items()) + b"}"
    if key != "version" and value and all(isinstance(item, (int, float)) for item in value):
        kind = KINDS.get(key, "d" if any(isinstance(item, float) for item in value) else "l")
        return b"[$" + kind.encode() + b"#" + size(len(value)) + np.array(value).astype(FORMATS[kind]).tobytes()
    return b"[#" + size(len(value)) + b"".join(map(binary, value))


def test_the_model_is_that_of_the_json(tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(binary(json.loads(SEED.read_text(encoding="utf-8"))))
    assert reader_for(path).name == "xgboost-ubj"
    found = convert_model(path, Wanted(parameters={"rate": "0.3"}), Reader())
    of_json = convert_model(SEED, Wanted(parameters={"rate": "0.3"}), Reader())
    assert (found.release, found.lost) == (of_json.release, of_json.lost)


def test_values_of_every_kind(tmp_path: Path) -> None:
    def read(content: bytes) -> object:
        (tmp_path / "x").write_bytes(b"{U\x01a" + content + b"}")
        return read_ubjson_object(tmp_path / "x")["a"]

    for mark, kind in FORMATS.items():
        assert read(mark.encode() + np.array(-3 if mark != "U" else 250).astype(kind).tobytes()) in (-3, 250)
    assert read(b"[ZTFSU\x02\xc3\xbc]") == [None, True, False, "ü"]
    assert np.array_equal(read(b"[$I#U\x02\x00\x01\xff\xff"), [1, -1])
    assert read(b"{#U\x01U\x01b[]") == {"b": []}


def test_memory_is_bounded_by_the_file(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"{U\x01a[" + b"{}" * 100_000 + b"]}")
    refused("fewer objects, lists and keys", read_ubjson_object, tmp_path / "x")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "an object, found the end"),
        (b"[]", "an object, found something"),
        (b"{}{}", "nothing after"),
        (b"{U\x01a", "more bytes"),
        (b"{U\x09a", "more bytes, found the end"),
        (b"{U\x01a?}", "a value"),
        (b"{U\x01a" + b"[" * 40, "at most 32 levels"),
        (b"{i\xff", "a length"),
        (b"{d\0\0\0\0", "a length"),
        (b"{U\x01\xff", "text in UTF-8"),
        (b"{U\x01aTU\x01aT}", "each key once"),
        (b"{U\x01a[$Z#L\x7f\xff\xff\xff\xff\xff\xff\xff", "numbers of a type"),
        (b"{U\x01a[$lU", "how many"),
        (b"{U\x01a[$l#L\x7f\xff\xff\xff\xff\xff\xff\xff", "fewer numbers"),
        (b"{U\x01a[#L\x7f\xff\xff\xff\xff\xff\xff\xff", "more bytes"),
    ],
)
def test_what_is_no_such_document_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "x").write_bytes(content)
    refused(words, read_ubjson_object, tmp_path / "x")
