"""The table that LightGBM makes of its trees: what a training table proves of it, and what is no such table."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.models import hessian, reads

from maxent.models.errors import InvalidInput
from maxent.models.trees.predict import predict_proba

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


def text(base: float = BASE) -> str:
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


read = reads("trees.csv", "lightgbm-table")


def test_a_table_proves_the_objective_and_the_names_of_categories(tmp_path: Path) -> None:
    found = read(tmp_path, text(), train=TABLE, target="paid")
    shares = 1 / (1 + np.exp(-(BASE + VALUES[LEAF] + SECOND)))
    np.testing.assert_allclose(predict_proba(found.release, TABLE)[:, 1], shares)
    assert found.states == {"counts": False, "n": True, "rates": False, "labels": False, "linear": True}
    assert {attribute.name for attribute in found.release.attributes} == {"age of p", "colour"}


def test_what_no_table_proves_is_refused(tmp_path: Path) -> None:
    for table in (TABLE.iloc[1:], TABLE.assign(colour=COLOURS[::-1]), TABLE.assign(paid=["a"] * 6)):
        with pytest.raises(InvalidInput, match="names whose order the weights of leaves prove"):
            read(tmp_path, text(), train=table, target="paid")
    with pytest.raises(InvalidInput, match="names whose order the weights of leaves prove"):
        read(tmp_path, text(base=1.0).replace("S0,colour,0.5,1,", "S0,colour,0.5,0,"), train=TABLE, target="paid")
    with pytest.raises(InvalidInput, match=r"--param objective=binary"):
        read(tmp_path, text())


def test_the_caller_says_what_the_table_lacks(tmp_path: Path) -> None:
    people = TABLE.assign(colour=["1" if c == "red" else "0" for c in COLOURS])
    found = read(tmp_path, text(), parameters={"objective": "binary"}, features=("colour", "age of p"))
    shares = 1 / (1 + np.exp(-(BASE + VALUES[LEAF] + SECOND)))
    np.testing.assert_allclose(predict_proba(found.release, people)[:, 1], shares)
    content = text().replace("age_of_p", "Column_1").replace("colour", "Column_0")
    found = read(tmp_path, content, parameters={"objective": "multiclass"}, classes=("a", "b"), features=("c", "d"))
    assert [tree.of_class for tree in found.release.trees] == ["a", "b"]
    assert {attribute.name for attribute in found.release.attributes} == {"c", "d"}
    with pytest.raises(InvalidInput, match="a classifier"):
        read(tmp_path, text(), parameters={"objective": "regression"})


TEXT = text()
WRONG = {
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


@pytest.mark.parametrize("words", WRONG)
def test_what_is_no_such_table_is_refused(tmp_path: Path, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        read(tmp_path, WRONG[words], parameters={"objective": "binary"})
