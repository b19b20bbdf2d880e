import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.calls import refusal, refused

from maxent.models.errors import InvalidInput
from maxent.models.reading import NOTHING, Reader
from maxent.models.release import Attribute, Release, Target
from maxent.models.tables.domains import Domains, read_domains
from maxent.models.tables.qi_table import people_of, read_qi
from maxent.models.tables.training import Training, read_training
from maxent.models.tables.truth_and_facts import read_truth

DATA = pd.DataFrame(
    {
        "city": ["y", "x", "y", "z"],
        "age": [30, 20, 30, 40],
        "dose": [0.5, -0.0, 1e3, 2.0],
        "code": [10, 9, 9, 10],
        "flag": [True, False, True, True],
        "ill": [1, 10, 9, 1],
    }
)
QI = ["city", "age", "code"]


@pytest.mark.parametrize("order", ["sorted", "appearance"])
def test_the_table_of_a_training_is_what_is_read_of_its_records(order):
    data = pd.concat([DATA, DATA[::-1]], ignore_index=True)
    data.loc[5, "city"] = None
    options = {"missing": "category", "categorical": ["code"], "domains": {"code": ["10", "9", "8"]}, "order": order}
    training = read_training(data, target="ill", qi=[*QI, "dose"], private=["flag"], **options)
    table, truth = people_of(training)
    release = Release(training.target, training.attributes, ())
    expected = read_qi(data, release)
    assert truth.tolist() == read_truth(data, release, expected).tolist()
    for field in fields(table):
        ours, theirs = getattr(table, field.name), getattr(expected, field.name)
        assert (
            [list(o) for o in ours] == [list(t) for t in theirs] if field.name == "levels" else np.all(ours == theirs)
        )


def kinds(training):
    return {a.name: a.values or "numbers" for a in training.attributes}


def saved(tmp_path, suffix, data=DATA):
    path = tmp_path / f"data{suffix}"
    data.to_parquet(path) if suffix == ".parquet" else data.to_csv(path, index=False)
    return path


def test_columns_are_codes_of_their_domain_or_numbers():
    training = read_training(DATA, target="ill", qi=["city", "dose"], private=["flag", "age"])
    assert [(a.name, a.type, a.values, a.role) for a in training.attributes] == [
        ("city", "categorical", ("x", "y", "z"), "public"),
        ("dose", "numeric", None, "public"),
        ("flag", "categorical", ("False", "True"), "private"),
        ("age", "numeric", None, "private"),
    ]
    assert [c.tolist() for c in training.columns] == [
        [1, 0, 1, 2],
        [0.5, 0.0, 1e3, 2.0],
        [1, 0, 1, 1],
        [30, 20, 30, 40],
    ]
    assert [c.dtype for c in training.columns] == [np.int64, np.float64, np.int64, np.float64]
    assert not np.signbit(training.columns[1]).any()
    assert (training.target.name, training.target.classes) == ("ill", ("1", "10", "9"))
    assert training.y.tolist() == [0, 1, 2, 0]
    assert len(training) == 4


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet"])
def test_files_hold_what_the_data_frame_holds(tmp_path, suffix):
    call = {"target": "ill", "qi": [*QI, "dose"], "private": ["flag"]}
    one, other = read_training(DATA, **call), read_training(saved(tmp_path, suffix), **call)
    assert (one.attributes, one.target) == (other.attributes, other.target)
    assert all(np.array_equal(a, b) for a, b in zip((*one.columns, one.y), (*other.columns, other.y), strict=True))


def test_numbers_can_be_names(tmp_path):
    for source in (DATA, saved(tmp_path, ".csv"), saved(tmp_path, ".parquet")):
        training = read_training(source, target="ill", qi=QI, categorical=["code"], domains={"age": ["20", "30", "40"]})
        assert kinds(training) == {"city": ("x", "y", "z"), "age": ("20", "30", "40"), "code": ("10", "9")}
    names = DATA.assign(code=DATA["code"].astype("category"), age=DATA["age"].astype(str))
    assert kinds(read_training(names, target="ill", qi=QI)) == {
        "city": ("x", "y", "z"),
        "age": ("20", "30", "40"),
        "code": ("10", "9"),
    }


def test_a_word_among_numbers_makes_categories_and_is_noted(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a,b,c,y\n1,x,u,p\n2,y,,q\nunknown,3,v,p\n4,z,w,q\n", encoding="utf-8")
    reader = Reader()
    read_training(path, target="y", qi=["a", "b", "c"], missing="category", reader=reader)
    assert reader.noticed.notes[0] == f"{path}: column 'c' has no value on 1 line: that is read as '(missing)'"
    assert reader.noticed.notes[-1] == (
        f"{path}: column 'a' is read as categories: line 4 has 'unknown', which is no number (where that is written "
        "for missing ones, name it in na=)"
    )
    reader = Reader()
    read_training(path, target="y", qi=["a"], categorical=["a"], reader=reader)
    assert reader.noticed == NOTHING


def test_values_in_order_of_appearance_but_classes_sorted():
    data = DATA.assign(ill=["b", "a", "b", "a"])
    training = read_training(data, target="ill", qi=["city", "flag"], categorical=["city"], order="appearance")
    assert kinds(training) == {"city": ("y", "x", "z"), "flag": ("True", "False")}
    assert training.columns[0].tolist() == [0, 1, 0, 2]
    assert (training.target.classes, training.order) == (("a", "b"), "appearance")
    given = read_training(data, target="ill", qi=["city"], order="appearance", domains={"city": list("zyxw")})
    assert kinds(given) == {"city": ("z", "y", "x", "w")}


def test_what_reads_alike_is_one_value_and_what_no_row_has_is_none():
    data = pd.DataFrame(
        {"a": pd.Series([1, "1", 2], dtype=object), "b": pd.Categorical(list("xxy"), list("xyz")), "t": "t"}
    )
    training = read_training(data, target="t", qi=["a", "b"])
    assert kinds(training) == {"a": ("1", "2"), "b": ("x", "y")}
    assert training.columns[0].tolist() == [0, 0, 1]


def test_some_of_the_records():
    training = read_training(DATA, target="ill", qi=QI)
    for rows in ([3, 0], np.array([True, False, False, True])):
        some = training.take(np.array(rows))
        assert len(some) == 2
        assert (some.attributes, some.target) == (training.attributes, training.target)
    assert training.take(np.array([3, 0])).columns[0].tolist() == [2, 1]
    assert training.take(np.array([3, 0])).y.tolist() == [0, 0]


def test_an_empty_text_is_missing_unless_the_domain_names_it():
    data = DATA.assign(city=["x", "", "y", ""])
    refused(r"column .city.: values: .*2 missing, the first in row 2", read_training, data, target="ill", qi=["city"])
    given = read_training(data, target="ill", qi=["city"], domains={"city": ["", "x", "y"]})
    assert given.columns[0].tolist() == [1, 0, 2, 0]


@pytest.mark.parametrize(("change", "call", "messages"), [
    ({}, {"qi": []}, ["qi: expected at least one column"]),
    ({}, {"qi": "city"}, ["qi: expected a list of columns, such as ['city']"]),
    ({}, {"qi": QI, "private": 3, "order": "size"}, ["private: expected a list", "order: expected one of sorted"]),
    ({}, {"qi": ["city", "city", "ill", 4]}, ["not among", "'city' 2 times", "names of columns, found 4"]),
    ({}, {"qi": QI, "categorical": ["dose"], "domains": {"x": []}}, ["categorical: expected only", "found 'x'"]),
    ({"age": [1.0, None, 2.0, None], "dose": [0.0, np.inf, 1.0, 2.0]}, {"qi": ["citi", "age", "dose"],
        "domains": {"ill": ["1", "10"]}},
        ["columns: citi: expected a column of this name, found none; did you mean 'city'?",
        "column 'age': values: expected no missing values", "2 missing, the first in row 2",
        "row 2: dose: expected a finite number",
        "column 'ill': domains: expected every value that occurs, found no '9'"]),
    ({"ill": [0.5, 1.0, 2.0, 2.0]}, {"qi": ["city"]}, ["column 'ill'", "not numbers with fractions", "found 0.5"]),
    ({"city": pd.Timestamp("2020-01-01")}, {"qi": ["city"]}, ["column 'city': type", "found dates or times"]),
    ({}, {"qi": ["city"], "domains": ["city"]}, ["domains: expected columns with the values of each"]),
    ({}, {"qi": ["city"], "domains": {"city": 3}}, ["domains: expected a list of values, found 3"]),
    ({}, {"qi": ["city"], "domains": {"city": "xyz"}}, ["domains: expected a list of values"]),
    ({}, {"qi": ["city"], "domains": {"city": list("xyzx")}}, ["domains: expected each value once, found 'x'"]),
])  # fmt: skip
def test_refusals_name_every_problem(change, call, messages):
    error = refusal(read_training, DATA.assign(**change), target="ill", **call)
    for message in messages:
        assert message in str(error)


def test_files_are_refused_by_name_and_line(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("city,age,ill\nx,1,a\ny,,b\n,3,a\n")
    error = refusal(read_training, path, target="ill", qi=["city", "age"])
    assert error.source == str(path)
    assert [problem.found for problem in error.problems] == [
        "1 missing, the first in line 4",
        "1 missing, the first in line 3",
    ]
    path.write_text("city,age,ill\n")
    refused("at least one record", read_training, path, target="ill", qi=["city", "age"])


def test_fractions_are_classes_when_named():
    training = read_training(DATA, target="dose", qi=["city"], categorical=["dose"])
    assert training.target.classes == ("0.0", "0.5", "1000.0", "2.0")


GIVEN = {"age": [17, 90.5], "sex": ["F", "M"], "member": [True, False], "risk": [0, 1], "code": ["1", "2"]}
READ = Domains(
    {"sex": ("F", "M"), "member": ("True", "False"), "risk": ("0", "1"), "code": ("1", "2")}, {"age": (17.0, 90.5)}
)


def test_two_numbers_are_a_range_and_strings_are_values(tmp_path: Path) -> None:
    assert read_domains(GIVEN, "risk") == READ
    assert read_domains({**GIVEN, "age": (np.int64(17), np.float64(90.5)), "sex": np.array(["F", "M"])}, "risk") == READ
    file = tmp_path / "domains.json"
    file.write_text(json.dumps(GIVEN))
    assert read_domains(file, "risk") == READ
    assert read_domains(None, "risk") == Domains()


def test_everything_else_is_refused_by_name(tmp_path: Path) -> None:
    wrong: dict[str, Any] = {
        "empty": [],
        "three": [1, 2, 3],
        "mixed": ["a", 1],
        "backwards": [3, 1],
        "endless": [0, float("inf")],
        "huge": [0, 10**400],
        "text": "abc",
        "none": None,
    }
    caught = refusal(read_domains, {"fine": ["a"], **wrong}, "risk")
    assert [problem.field for problem in caught.problems] == [repr(name) for name in wrong]
    file = tmp_path / "domains.json"
    file.write_text('{"a": ["x"], "a": ["y"], "b": [0, NaN]}')
    caught = refusal(read_domains, file, "risk")
    assert [problem.field for problem in caught.problems] == ["'a'", "'b'"]
    assert caught.source == str(file)
    with pytest.raises(InvalidInput, match="columns with their domains"):
        read_domains(["age"], "risk")  # type: ignore[arg-type]


def test_a_number_that_is_none_is_shown_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "domains.json"
    file.write_text('{"A": -1e400, "B": [NaN, 1e999]}', encoding="utf-8")
    assert [problem.found for problem in refusal(read_domains, file, "T").problems] == ["-1e400", "[NaN, 1e999]"]


def test_what_is_unstated_and_what_does_not_fit() -> None:
    attributes = (
        Attribute("age", "numeric"),
        Attribute("sex", "categorical", ("F", "M")),
        Attribute("size", "numeric"),
    )
    columns = (np.array([20.0, 91.0]), np.array([0, 1]), np.array([1.0, 2.0]))
    training = Training(Target("risk", ("0", "1")), attributes, columns, np.array([0, 1]))
    assert READ.unstated(training) == ("size",)
    assert Domains().unstated(training) == ("age", "sex", "size", "risk")
    assert [problem.field for problem in READ.problems(training)] == ["'age'"]
    odd = Domains({}, {"sex": (0.0, 1.0), "nobody": (0.0, 1.0), "size": (1.0, 2.0)})
    assert [problem.field for problem in odd.problems(training)] == ["'sex'", "'nobody'"]
