"""Generalised records read back: the inverse of writing them, what columns mean, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import thorough

import maxent
from maxent.models.errors import InvalidInput
from maxent.models.formats.published_records import read_published
from maxent.models.reading import Reader, Reading
from maxent.models.release import Attribute, Target
from maxent.models.tables.generalized_records import GeneralizedTable, covering, covering_pairs, hulls
from maxent.models.tables.training import Training

NAMES = ("a|b", "a", "b\\", "|", "\\|", "4-5", "-4", "1e3", " x ", '"', "Ä,", "None")
NUMBERS = (-3.5, -1e-07, 0.0, 2.0, 1e22, 42.0)


@st.composite
def tables(draw):
    """Records with awkward values, their groups, and the table that is published of them."""
    n = draw(st.integers(1, 12))
    drawn = st.lists(st.integers(0, 99), min_size=n, max_size=n).map(np.array)
    some = tuple(draw(st.permutations(NAMES))[:4])
    columns = (draw(drawn) % 4, np.array(NUMBERS)[draw(drawn) % len(NUMBERS)])
    attributes = (Attribute("na|me", "categorical", some), Attribute("number", "numeric"))
    training = Training(Target("class", ("no|", "yes")), attributes, columns, draw(drawn) % 2)
    group = np.unique(draw(drawn) % 3, return_inverse=True)[1]
    boxes = hulls(training, np.arange(n), group, group.max() + 1)
    return training, GeneralizedTable(training.target, attributes, boxes, group, training.y)


@thorough(60)
@given(made=tables(), suffix=st.sampled_from((".csv", ".csv.gz", ".parquet")))
def test_what_was_written_is_read(tmp_path_factory, made, suffix):
    training, table = made
    codes, numbers = training.columns
    qi = pd.DataFrame({"na|me": np.array(training.attributes[0].values, object)[codes], "number": numbers})
    file = str(tmp_path_factory.getbasetemp() / f"records{suffix}")
    frame = table.frame(in_order=True)
    frame.to_parquet(file) if suffix == ".parquet" else frame.to_csv(file, index=False)
    records, people = read_published(file, qi, reader=Reader(Reading(na=())))
    found = records.table
    assert found.target.name == "class"
    assert [found.target.classes[y] for y in found.y] == frame["class"].tolist()
    assert len(records.first) == len(records) == len(frame[["na|me", "number"]].drop_duplicates())
    assert records.lines.tolist() == list(
        range(2, 2 + len(frame)) if records.unit == "line" else range(1, 1 + len(frame))
    )
    assert found.boxes[1][found.box].tolist() == table.boxes[1][table.box].tolist()
    assert found.gcp() == pytest.approx(table.gcp(), abs=1e-12)
    if found.attributes[0].values is not None:  # else all names look like numbers, and none of them shares a box
        for i, held in enumerate(found.boxes[0][found.box]):
            names = {v for v, inside in zip(found.attributes[0].values, held, strict=True) if inside}
            original = table.boxes[0][table.box[i]]
            assert names == {v for v, inside in zip(training.attributes[0].values, original, strict=True) if inside}
    owner, group = covering_pairs(found.boxes, people)
    rows = np.bincount(owner, records.counts.sum(axis=1)[group], len(people))
    everyone = np.arange(len(training))
    expected = covering(table, training, everyone, np.zeros(len(everyone), np.int64))[0]
    place = {pair: i for i, pair in enumerate(people.frame().iloc[:, :2].itertuples(index=False, name=None))}
    if found.attributes[0].values is not None:
        assert [rows[place[pair]] for pair in qi.itertuples(index=False, name=None)] == expected.tolist()


def test_a_table_in_memory_is_read_like_its_frame():
    attributes = (Attribute("A", values=("x", "y")), Attribute("P", "numeric", role="private"))
    boxes = (np.array([[True, False], [True, True]]), np.array([[1.0, 2.0], [1.0, 1.0]]))
    table = GeneralizedTable(Target("T", ("1", "0")), attributes, boxes, np.array([0, 1, 1]), np.array([0, 1, 0]))
    records, people = read_published(table, pd.DataFrame({"A": ["x", "y", "x"]}))
    assert records.table.attributes == (Attribute("A", values=("x", "y")),)
    assert records.table.target == table.target
    assert records.counts.tolist() == [[1, 0], [1, 1]]
    assert people.counts.tolist() == [2, 1]


def test_the_table_says_what_columns_are():
    qi = pd.DataFrame({"code": [0, 1], "number": [3, 4], "name": ["4-5", "x"]})
    rows = pd.DataFrame({"code": ["0|1", "1"], "number": ["3-4", "4"], "name": ["4-5", "4-5"], "T": ["a", "b"]})
    records, _ = read_published(rows, qi)
    assert [attribute.type for attribute in records.table.attributes] == ["categorical", "numeric", "categorical"]
    assert records.table.attributes[0].values == ("0", "1")
    assert records.table.boxes[1].tolist() == [[3, 4], [4, 4]]
    assert records.table.attributes[2].values == ("4-5", "x")


def test_empty_cells_are_a_value_where_the_table_has_them():
    rows = pd.DataFrame({"A": ["", "x|"], "T": ["a", "b"]})
    records, people = read_published(rows, pd.DataFrame({"A": ["x", ""]}))
    assert records.table.attributes[0].values == ("", "x")
    assert covering_pairs(records.table.boxes, people)[0].tolist() == [0, 0, 1]


QI = pd.DataFrame({"Age": [20, 30, 40], "Job": ["a", "b", "b"], "more": [1, 2, 3]})
ROWS = pd.DataFrame({"Age": ["20-30", "20-30", "40"], "Job": ["a|b", "a|b", "b"], "T": ["0", "1", "1"]})


def problems(rows, qi=QI, **options):
    with pytest.raises(InvalidInput) as refused:
        read_published(rows, qi, **options)
    return [str(problem) for problem in refused.value.problems]


def test_every_bad_cell_is_named(tmp_path):
    rows = ROWS.assign(Age=["30-20", "x", "40"], Job=["a\\b", "a|b", None], T=["0", None, "1"])
    file = str(tmp_path / "records.csv")
    rows.to_csv(file, index=False)
    found = problems(file)
    assert [line.split(": ")[:2] for line in found] == [
        ["line 2", "Age"],
        ["line 3", "Age"],
        ["line 4", "Job"],
        ["line 2", "Job"],
        ["line 3", "T"],
    ]
    assert "'30-20'" in found[0]
    assert "a range, such as 42-61" in found[0]
    assert r"'a\\b'" in found[3]


def test_columns_that_are_missing_in_either_table_are_named():
    assert (
        "Age: expected a column of this name, found none; did you mean 'age'?"
        in problems(ROWS, QI.rename(columns={"Age": "age"}), target="T")[0]
    )
    assert problems(ROWS, target="class")[0].startswith("columns: class: expected a column of this name")
    several = problems(ROWS, QI.drop(columns="Job"))
    assert several[0].endswith("found 'Job', 'T'")
    assert problems(ROWS, QI.assign(T="0"))[0].endswith("found none")
    assert problems(ROWS[["T"]])[0].startswith("columns: columns: expected columns of qi")


def test_columns_that_the_adversary_lacks_are_left_out_when_the_class_is_named():
    records, people = read_published(ROWS, QI.drop(columns="Job"), target="T")
    assert records.private == ("Job",)
    assert [a.name for a in people.attributes] == ["Age"]
    expected, _ = read_published(ROWS.drop(columns="Job"), QI.drop(columns="Job"))
    assert records.counts.tolist() == expected.counts.tolist()
    assert problems(ROWS, QI[[]].assign(Other="1"), target="T")[0].startswith("columns: attributes")


def test_what_else_is_refused():
    assert problems(ROWS.iloc[:0])[0].startswith("rows: records")
    assert problems(ROWS, QI.iloc[:0])[0].startswith("rows: individuals")
    assert "'?'" in problems(ROWS, QI.assign(Age=["20", "?", "40"]))[0]
    assert problems(ROWS, QI, count="nothing")[0].startswith("columns: nothing")


def test_records_may_be_in_a_workbook(tmp_path):
    pytest.importorskip("openpyxl")
    ROWS.to_excel(tmp_path / "records.xlsx", index=False)
    ROWS.to_csv(tmp_path / "records.csv", index=False)
    found = [maxent.audit(tmp_path / f"records{suffix}", QI, target="T") for suffix in (".xlsx", ".csv")]
    assert found[0] == found[1]
