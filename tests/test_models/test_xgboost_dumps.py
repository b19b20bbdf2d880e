"""Dumps of XGBoost: what a table proves of them, what the caller says, and what is none of them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.models import hessian, reads

from maxent.models.errors import InvalidInput
from maxent.models.formats.registry import reader_for
from maxent.models.trees.predict import predict_proba

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


read = reads("dump")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("base", [0.0, np.log(0.5 / 0.5)])
def test_a_table_proves_how_scores_become_predictions(tmp_path: Path, form: str, base: float) -> None:
    found = read(tmp_path, FORMS[form](covers(base)), train=TABLE, target="paid")
    assert reader_for(tmp_path / "dump").name == form
    shares = 1 / (1 + np.exp(-(base + FIRST[reached()] + SECOND)))
    np.testing.assert_allclose(predict_proba(found.release, TABLE)[:, 1], shares, atol=1e-7)
    assert found.states == {"counts": False, "n": False, "rates": False, "labels": False, "linear": True}


def test_a_base_score_that_xgboost_estimated_is_found(tmp_path: Path) -> None:
    table = TABLE.assign(paid=["no", "no", "yes", "yes", "no", "no"])
    for base in (np.log(1 / 2), 4 * (1 / 3 - 1 / 2)):
        found = read(tmp_path, as_text(covers(base)), train=table, target="paid")
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
        with pytest.raises(InvalidInput, match="the objective and the base score"):
            read(tmp_path, text, train=table, target="paid")
    with pytest.raises(InvalidInput, match="the objective and the base score"):
        read(tmp_path, as_text(covers(0.0)))


def test_the_caller_says_what_a_dump_lacks(tmp_path: Path) -> None:
    said = {"objective": "binary:logistic", "base_score": "0.2"}
    text = as_text(covers(0.0)).replace("booster[0]:\n", "").replace("booster[1]:\n", "")
    found = read(tmp_path, text, parameters=said, classes=("no", "yes"))
    people = TABLE.assign(colour=["1" if red else "0" for red in RED])
    shares = 1 / (1 + np.exp(-(np.log(0.25) + FIRST[reached()] + SECOND)))
    np.testing.assert_allclose(predict_proba(found.release, people)[:, 1], shares, atol=1e-7)
    several = read(
        tmp_path, text * 3, parameters={"objective": "multi:softprob", "base_score": "0.5"}, classes=("a", "b", "c")
    )
    assert [tree.of_class for tree in several.release.trees] == ["a", "b", "c", "a", "b", "c"]
    parallel = {"objective": "multi:softprob", "base_score": "0.5", "parallel": "2"}
    several = read(tmp_path, text * 3, parameters=parallel, classes=("a", "b", "c"))
    assert [tree.of_class for tree in several.release.trees] == ["a", "a", "b", "b", "c", "c"]
    for wrong, words in (
        ({"objective": "reg:squarederror", "base_score": "1"}, "a classifier"),
        ({"objective": "binary:logistic"}, "base_score=NUMBER: a probability"),
        ({"objective": "binary:logistic", "base_score": "7"}, "a probability"),
        ({**said, "parallel": "0.5"}, "parallel=1 or more"),
        ({"objective": "multi:softprob", "base_score": "0", "parallel": "2"}, "4 for each iteration"),
    ):
        with pytest.raises(InvalidInput, match=words):
            read(tmp_path, text, parameters=wrong)


def test_columns_without_names_are_those_of_the_caller(tmp_path: Path) -> None:
    text = as_text(covers(0.0)).replace("age of p", "f1").replace("colour", "f0")
    found = read(tmp_path, text, train=TABLE, target="paid", features=("colour", "age of p"))
    assert {attribute.name for attribute in found.release.attributes} == {"age of p", "colour"}
    with pytest.raises(InvalidInput, match="the names of the columns"):
        read(tmp_path, text, train=TABLE, target="paid", features=("colour",))


def test_texts_of_get_dump_in_a_list(tmp_path: Path) -> None:
    trees = [json.dumps(tree) for tree in json.loads(as_json(covers(0.0)))]
    assert len(read(tmp_path, json.dumps(trees), train=TABLE, target="paid").release.trees) == 2


TEXT = as_text(covers(0.0))
WRONG = {
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


@pytest.mark.parametrize("words", WRONG)
def test_what_is_no_such_text_is_refused(tmp_path: Path, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        read(tmp_path, WRONG[words], train=TABLE, target="paid")


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
    with pytest.raises(InvalidInput, match=words):
        read(tmp_path, WRONG_OTHERS[words], train=TABLE, target="paid")
