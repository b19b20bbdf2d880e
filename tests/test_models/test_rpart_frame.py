"""The tables of rpart: the rows of splits and of csplit that are of a node, and what is refused."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.models import read_model

import maxent
from maxent.models.errors import InvalidInput
from maxent.models.formats.release_reader import Converted
from maxent.models.trees.predict import predict

TABLES = {
    "frame": """node,var,n,wt,dev,yval,complexity,ncompete,nsurrogate,yval2.1,yval2.2,yval2.3,yval2.4,yval2.5,yval2.6
"1","a, b",9,9,3,2,0.5,1,1,2,3,6,0.333333333333333,0.666666666666667,1
"2","x",4,4,1,1,0.1,0,0,1,3,1,0.75,0.25,0.444444444444444
"4","<leaf>",3,3,0,1,0.01,0,0,1,3,0,1,0,0.333333333333333
"5","<leaf>",1,1,0,2,0.01,0,0,2,0,1,0,1,0.111111111111111
"3","<leaf>",5,5,0,2,0.01,0,0,2,0,5,0,1,0.555555555555556
""",
    "splits": """variable,"count","ncat","improve","index","adj"
"a, b",9,3,2.5,1,0
"x",9,-1,1.5,2.5,0
"x",0,1,0.6,3.5,0.1
"x",4,1,1.5,2.5,0
""",
    "csplit": '"","V1","V2","V3"\n"1",1,3,3\n',
}
FRAME = pd.DataFrame(
    {"a, b": ["an"] * 4 + ["Be"] * 3 + ["Da"] * 2, "x": [3, 4, 5, 2, 1, 2, 3, 4, 5], "Y": ["A"] * 3 + ["b"] * 6}
)
NUMBERS = {
    "frame": TABLES["frame"].replace('"a, b"', '"z"'),
    "splits": TABLES["splits"].replace('"a, b",9,3,2.5,1,0', '"z",9,-1,2.5,0.5,0'),
}


def read(folder: Path, tables: dict[str, str], *, whole: bool = True, **said: Any) -> Converted:
    for name, text in tables.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    return read_model(folder if whole else folder / "frame.csv", **said)


@pytest.mark.parametrize("whole", [True, False])
def test_nodes_take_their_own_rows_of_splits_whose_levels_counts_prove(tmp_path: Path, whole: bool) -> None:
    found = read(tmp_path, TABLES, whole=whole, train=FRAME, target="Y")
    assert (found.format, found.exact) == ("rpart-frame", True)
    assert {a.name: a.values for a in found.release.attributes} == {"a, b": ("an", "Be", "Da"), "x": None}
    assert predict(found.release, FRAME).tolist() == FRAME["Y"].tolist()
    leaves = {leaf.id: leaf.counts for leaf in found.release.trees[0].leaves}
    assert leaves == {"4": {"A": 3, "b": 0}, "5": {"A": 0, "b": 1}, "3": {"A": 0, "b": 5}}


def test_numbers_may_be_filled_up_with_blanks(tmp_path: Path) -> None:
    filled = TABLES | {"frame": TABLES["frame"].replace(",3,3,0,1,", ",  3,3,0,  1,")}
    assert read(tmp_path, filled, train=FRAME, target="Y").states["counts"]


def test_numbers_alone_need_the_names_of_classes_only(tmp_path: Path) -> None:
    found = read(tmp_path, NUMBERS, classes=("A", "b"))
    assert found.states["counts"]
    with pytest.raises(InvalidInput, match="names of 2 classes"):
        read(tmp_path, NUMBERS)
    with pytest.raises(InvalidInput, match="names of levels"):
        read(tmp_path, TABLES, classes=("A", "b"))


def test_weighted_numbers_are_no_counts(tmp_path: Path) -> None:
    weighted = NUMBERS | {"frame": NUMBERS["frame"].replace(",2,0,5,0,1,0.5", ",2,0,7,0,1,0.5")}
    found = read(tmp_path, weighted, classes=("A", "b"))
    assert found.release.labels == "decided"
    assert found.states == {"counts": False, "n": True, "rates": False, "labels": True, "linear": False}


def test_records_without_a_value_go_by_the_surrogate_then_with_the_majority(tmp_path: Path) -> None:
    frame = FRAME.astype({"a, b": object})
    frame.loc[1, "a, b"] = None
    tables = TABLES | {"splits": TABLES["splits"].replace('"a, b",9', '"a, b",8')}
    found = read(tmp_path, tables, train=frame, target="Y")
    rows = pd.DataFrame({"a, b": [None, None, "an", "Be"], "x": [4.0, 3.0, 3.0, 9.0]})
    assert predict(found.release, rows).tolist() == ["A", "b", "A", "b"]
    leaves = found.release.trees[0].leaves
    assert all(leaf.counts is None for leaf in leaves)
    assert [(leaf.id, leaf.part_of) for leaf in leaves if leaf.part_of] == [
        ("4", "4"),
        ("3", "3"),
        ("m2", "4"),
        ("m3", "3"),
    ]
    assert found.release.labels == "decided"
    assert any("surrogate splits part" in sentence for sentence in found.lost)
    assert found.lost[-1] == (
        "that labels are most frequent classes: they are those of the tool's leaves, of which leaves are parts"
    )
    unread = maxent.estimate(found.release, frame.drop(columns="Y")).summary["unread"]
    parted = "labels of the tool's leaves, of which leaves are parts"
    assert [each["what"] for each in unread] == [parted, "choices of splits"]
    assert predict(found.release, frame).tolist() == FRAME["Y"].tolist()
    frame.loc[1, "x"] = 3.0  # which the surrogate sends right
    with pytest.raises(InvalidInput, match="training table"):
        read(tmp_path, tables, train=frame, target="Y")


def test_without_surrogates_the_majority_keeps_its_counts(tmp_path: Path) -> None:
    frame = FRAME.astype({"x": float})
    frame.loc[0, "x"] = None
    tables = TABLES | {"splits": TABLES["splits"].replace('"x",4', '"x",3')}
    tables["frame"] = TABLES["frame"].replace("0.5,1,1,2,3,6", "0.5,2,0,2,3,6")
    found = read(tmp_path, tables, train=frame, target="Y")
    leaves = {leaf.id: leaf.counts for leaf in found.release.trees[0].leaves}
    assert leaves == {"4": {"A": 3, "b": 0}, "5": {"A": 0, "b": 1}, "3": {"A": 0, "b": 5}}
    assert found.release.attributes[1].missing


def test_a_value_that_no_record_of_a_node_has_goes_by_the_surrogate(tmp_path: Path) -> None:
    tables = TABLES | {"csplit": '"","V1","V2","V3"\n"1",1,3,2\n'}
    frame = FRAME[FRAME["a, b"] != "Da"]
    tables["frame"] = TABLES["frame"].replace(",9,9,3,2,0.5,1,1,2,3,6", ",7,7,3,2,0.5,1,1,2,3,4")
    tables["frame"] = tables["frame"].replace("5,5,0,2,0.01,0,0,2,0,5", "3,3,0,2,0.01,0,0,2,0,3")
    tables["splits"] = TABLES["splits"].replace('"a, b",9', '"a, b",7')
    more = pd.concat([frame, FRAME.tail(1).assign(Y="b")])
    with pytest.raises(InvalidInput, match="training table"):  # Da goes by x, left: one record more than there are
        read(tmp_path, tables, train=more, target="Y")
    two = tables | {"csplit": '"","V1","V2"\n"1",1,3\n', "splits": tables["splits"].replace(",7,3,", ",7,2,")}
    assert read(tmp_path, two, train=frame, target="Y").exact


def test_a_level_na_is_a_value_where_r_has_as_many_levels(tmp_path: Path) -> None:
    frame = FRAME.replace("Da", "NA")
    frame.to_csv(tmp_path / "train.csv", index=False)
    release = read(tmp_path, TABLES, train=tmp_path / "train.csv", target="Y").release
    assert set(release.attributes[0].values or ()) == {"an", "Be", "NA"}
    assert predict(release, frame).tolist() == FRAME["Y"].tolist()


@pytest.mark.parametrize(
    ("table", "old", "new", "words"),
    [
        ("frame", "yval2.1", "deviance", "classification tree"),
        ("frame", '"5","<leaf>",1,', '"5","<leaf>",2,', "usesurrogate"),
        ("frame", '"5","<leaf>"', '"4","<leaf>"', "each node once"),
        ("frame", "0,0,2,0,5", "0,0,3,0,5", "the number of its class"),
        ("frame", "0,0,2,0,5", "0,0,2,nan,5", "a number"),
        ("frame", ",1,1,2,3,6", ",1,0,2,3,6", "training table"),
        ("frame", '"2","x",4,4', '"2","x",4', "as in the header"),
        ("splits", '"x",4,1', '"x",5,1', "at most 4 records of node 2"),
        ("splits", '"x",4,1', '"y",4,1', "a split of node 2"),
        ("splits", "9,3,2.5,1", "9,3,2.5,2", "a row 2 of 3 levels"),
        ("splits", "9,3,2.5,1", "9,2.5,2.5,1", "a row 1 of 2.5 levels"),
        ("splits", '"count"', '"n"', "the splits"),
        ("csplit", "1,3,3", "1,3,0", "1, 2 or 3"),
        ("csplit", "1,3,3", "3,1,1", "training table"),
    ],
)
def test_tables_that_are_of_no_tree_are_refused(tmp_path: Path, table: str, old: str, new: str, words: str) -> None:
    assert old in TABLES[table]
    with pytest.raises(InvalidInput, match=words):
        read(tmp_path, TABLES | {table: TABLES[table].replace(old, new, 1)}, train=FRAME, target="Y")


def test_a_frame_alone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="a file that can be read"):
        read(tmp_path, {"frame": TABLES["frame"]}, whole=False, train=FRAME, target="Y")
    (tmp_path / "model.csv").write_text(TABLES["frame"], encoding="utf-8")
    with pytest.raises(InvalidInput, match="a file called frame"):
        read_model(tmp_path / "model.csv")


def test_a_file_beside_the_frame_names_levels_in_an_order_that_nothing_else_tells(tmp_path: Path) -> None:
    people = FRAME.replace({"a, b": {"an": "low", "Be": "middle", "Da": "high"}})
    with pytest.raises(InvalidInput, match=r"counts"):
        read(tmp_path, TABLES, train=people, target="Y")
    levels = '"values","ind"\n"low","a, b"\n"middle","a, b"\n"high","a, b"\n"A","Y"\n"b","Y"\n'
    found = read(tmp_path, TABLES | {"levels": levels}, train=people, target="Y")
    assert predict(found.release, people).tolist() == people["Y"].tolist()
    alone = read(tmp_path, TABLES, target="Y")
    assert alone.release.target.classes == ("A", "b")
    assert predict(alone.release, people).tolist() == people["Y"].tolist()


def test_levels_of_a_file_that_are_too_few_are_refused(tmp_path: Path) -> None:
    levels = '"values","ind"\n"an","a, b"\n"Be","a, b"\n'
    with pytest.raises(InvalidInput, match=r"as many values in levels\.csv as levels, \[3\] .*found 2"):
        read(tmp_path, TABLES | {"levels": levels}, train=FRAME, target="Y")
