"""Tables that are refused: every message says where, which field, what was expected and what was found."""

import itertools
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from support.calls import refusal

from maxent.models.errors import InvalidInput, printable
from maxent.models.release import Attribute, Release, Target
from maxent.models.tables.qi_table import read_qi, read_rows
from maxent.models.tables.table_files import read_frame
from maxent.models.tables.truth_and_facts import read_facts, read_marginal, read_truth

RELEASE = Release(
    Target("Salary", ("<=50K", ">50K")),
    (
        Attribute("Education", values=("Masters", "Doctorate")),
        Attribute("Age", "numeric"),
        Attribute("Car", values=("yes", "no"), role="private"),
    ),
    (),
)
TABLE = read_qi(pd.DataFrame({"Education": ["Masters", "Masters", "Doctorate"], "Age": [3, 3, 40]}), RELEASE)


def problems(read: Callable[..., object], *args: object, **options: object) -> list[tuple[str, str, str, str]]:
    """Every problem as (where, field, expected, found), after checking that the message has all of it."""
    error = refusal(read, *args, **options)
    lines = str(error).split("\n")
    assert len(lines) == len(error.problems), "one line for each problem"
    for line, p in zip(lines, error.problems, strict=True):
        assert line == printable(f"{error.source}: {p.where}: {p.field}: expected {p.expected}, found {p.found}")
        assert len(line) < 500
    return [(p.where, p.field, p.expected, p.found) for p in error.problems]


def only(read: Callable[..., object], *args: object, **options: object) -> tuple[str, str, str, str]:
    (problem,) = problems(read, *args, **options)
    return problem


def check(found: tuple[str, str, str, str], expected: tuple[str, str, str, str]) -> None:
    """The place and the field are the same, the rest is contained."""
    assert found[:2] == expected[:2]
    assert expected[2] in found[2]
    assert expected[3] in found[3]


CSV = {
    "outside the domain": ("Education,Age\nMasters,3\nMastrs,3\n",
        ("line 3", "Education", "one of 'Masters', 'Doctorate'", "'Mastrs' (did you mean 'Masters'?)")),
    "other case": ("Education,Age\nMASTERS,3\n",
        ("line 2", "Education", "one of", "'MASTERS' (did you mean 'Masters'?)")),
    "twice the same": ("Education,Age\nPhD,3\nMasters,1\nPhD,3\n",
        ("line 2", "Education", "one of", "'PhD' (on 2 lines)")),
    "space after the comma": ("Age,Education\n3, Masters\n",
        ("line 2", "Education", "one of", "' Masters' (spaces count: 'Masters' would do")),
    "missing category": ("Education,Age\nMasters,3\n,3\n,4\n",
        ("line 3", "Education", "add it to the `values` of 'Education'", "a missing value (and on 1 more lines)")),
    "missing number": ("Education,Age\nMasters,\n", ("line 2", "Age", "impute", "a missing value")),
    "nan": ("Education,Age\nMasters,nan\n", ("line 2", "Age", "a finite number", "'nan'")),
    "infinite": ("Education,Age\nMasters,3\nMasters,-inf\n", ("line 3", "Age", "a finite number", "'-inf'")),
    "too large": ("Education,Age\nMasters,1e999\n", ("line 2", "Age", "a finite number", "'1e999'")),
    "decimal comma": ('Education,Age\nMasters,"1,5"\n',
        ("line 2", "Age", "a finite number", "'1,5' (decimals follow a point)")),
    "a word": ("Education,Age\nMasters,abc\n", ("line 2", "Age", "a finite number", "'abc'")),
    "underscores": ("Education,Age\nMasters,1_000\n", ("line 2", "Age", "a finite number", "'1_000'")),
    "control characters": ("Education,Age\nMasters,\x1f8\n", ("line 2", "Age", "a finite number", "'\\x1f8'")),
    "other digits": ("Education,Age\nMasters,\u0663\n", ("line 2", "Age", "a finite number", "'\u0663'")),
    "after a quoted line end": ('Note,Education,Age\n"a\nb\nc",Masters,3\n\n,PhD,3\n',
        ("line 6", "Education", "one of", "'PhD'")),
    "after leading blank lines": ("\n\nEducation,Age\nPhD,3\n", ("line 4", "Education", "one of", "'PhD'")),
    "missing column": ("education ,Age\nMasters,3\n",
        ("header", "Education", "a column of this name", "none; did you mean 'education '?")),
    "spaces in the header": ("Age, Education\n3,Masters\n",
        ("header", "Education", "a column", "but ' Education' (spaces")),
    "too few cells": ("Education,Age\nMasters,3\nMasters\n", ("line 3", "cells", "2, as in the header", "1")),
    "too many cells": ("Education,Age\n\nMasters,3,\nMasters,3\n", ("line 3", "cells", "2, as in the header", "3")),
    "header only": ("Education,Age\n", ("rows", "individuals", "at least one individual", "no rows")),
    "header only, no line end": ("Education,Age", ("rows", "individuals", "at least one individual", "no rows")),
    "empty": ("", ("file", "header", "names of the columns", "an empty file")),
    "blank": (" \n\n\r\n", ("file", "header", "names of the columns", "an empty file")),
    "repeated column": ("Education,Age,Education\nMasters,3,Masters\n",
        ("header", "Education", "one column of this name", "2 of them")),
    "open quote": ('Education,Age,Note\nMasters,3,"a\nMasters,3,\n',
        ("line 2", "cell", "quotes in pairs", "never closed")),
    "open quote at the end": ('Education,Age\nMasters,3\nMasters,"3',
        ("line 3", "cell", "quotes in pairs", "never closed")),
    "open quote in the header": ('Education,"Age\nMasters,3\n', ("line 1", "cell", "quotes in pairs", "never closed")),
    "open quote above megabytes": ('Education,Age\nMasters,3\nMasters,"3\n' + "Masters,3\n" * 120_000,
        ("line 3", "cell", "at most 131072 characters", "is a quote not closed?")),
    "one endless line": ("x" * 3_000_000, ("line 1", "line", "at most 1048576 characters", "a longer one")),
    "an endless line below": ("Education,Age\nMasters," + "3," * 1_000_000,
        ("line 2", "line", "at most 1048576 characters", "a longer one")),
    "a NUL byte": ("Education,Age\nMasters,3\nMas\0ters,3\n", ("line 3", "encoding", "UTF-8", "a NUL byte")),
    "a long value": ("Education,Age\n" + "x" * 1000 + ",3\n",
        ("line 2", "Education", "one of", "'" + "x" * 56 + "...")),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), CSV.values(), ids=CSV)
def test_csv_with_one_mistake(tmp_path, text, expected):
    path = tmp_path / "qi.csv"
    path.write_text(text, encoding="utf-8", newline="")
    check(only(read_qi, path, RELEASE), expected)
    assert str(refusal(read_qi, path, RELEASE)).startswith(f"{path}: ")


BYTES = {
    "letters of no encoding": (b"Education,Age,Note\nMasters,3,\nMasters,3,K\xf6ln \x81\x8d\n", ("line 3", "encoding",
        "an encoding that can be told (name it: csv_encoding='cp1252', say)", "byte 0xf6 at pos")),
    "utf-16 without a byte-order mark": ("Education,Age\nMasters,3\n".encode("utf-16-le"), ("line 1", "encoding",
        "CSV text in UTF-8 (csv_encoding= names another", "NUL byte (is it a binary file, or UTF-16")),
    "zip": (b"PK\x03\x04....", ("file", "format", "CSV text", "Excel workbook")),
    "parquet": (b"PAR1....", ("file", "format", "CSV text", "a Parquet file (name it .parquet)")),
    "gzip": (b"\x1f\x8b....", ("file", "format", "CSV text", "a gzip archive")),
    "a byte-order mark alone": (b"\xef\xbb\xbf", ("file", "header", "names of the columns", "an empty file")),
    "byte-order marks and blank lines": (b"\xef\xbb\xbf\n\xef\xbb\xbf\r\n",
        ("file", "header", "names of the columns", "an empty file")),
    "a quote alone": (b'"', ("line 1", "cell", "quotes in pairs", "never closed")),
}  # fmt: skip


@pytest.mark.parametrize(("data", "expected"), BYTES.values(), ids=BYTES)
@pytest.mark.regression(number=15)
def test_bytes_that_are_no_csv(tmp_path, data, expected):
    path = tmp_path / "qi.csv"
    path.write_bytes(data)
    check(only(read_qi, path, RELEASE), expected)


def test_byte_order_marks_before_a_quoted_header(tmp_path):
    path = tmp_path / "qi.csv"
    for before in ("\ufeff", "\ufeff\n", "\n\ufeff", "\ufeff\ufeff"):
        path.write_text(before + '"Education",Age\nMasters,3\nPhD,3\n', encoding="utf-8")
        line = 3 + before.count("\n")
        check(only(read_qi, path, RELEASE), (f"line {line}", "Education", "one of", "'PhD'"))


def test_every_small_file_is_read_or_refused(tmp_path):
    path = tmp_path / "qi.csv"
    for size in range(4):
        for parts in itertools.product(["\ufeff", "A", '"', ",", "\n", "\r", " "], repeat=size):
            path.write_text("".join(parts), encoding="utf-8", newline="")
            fields = ["read"]
            try:
                read_frame(path, "qi", ["A"])
            except InvalidInput as error:
                fields = [problem.field for problem in error.problems]
            assert fields in (["read"], ["header"], ["cell"])


@pytest.mark.parametrize("data", [b"", b"Education,Age\n", b"PAR1", b"PAR1" + b"\0" * 100 + b"PAR1"])
def test_bytes_that_are_no_parquet(tmp_path, data):
    path = tmp_path / "qi.parquet"
    path.write_bytes(data)
    check(only(read_qi, path, RELEASE), ("file", "format", "a Parquet file", ""))


def test_damaged_parquet_never_ends_in_a_traceback(tmp_path):
    path = tmp_path / "qi.parquet"
    pd.DataFrame({"Education": ["Masters"] * 9, "Age": range(9)}).to_parquet(path)
    data = path.read_bytes()
    for cut in range(5, len(data), 97):
        path.write_bytes(data[:cut])
        check(only(read_qi, path, RELEASE), ("file", "format", "a Parquet file", ""))


def test_nested_parquet(tmp_path):
    path = tmp_path / "qi.parquet"
    pd.DataFrame({"Education": [["Masters"]], "Age": [3]}).to_parquet(path)
    check(only(read_qi, path, RELEASE), ("columns", "Education", "plain values", "list"))


def test_places_that_are_no_file(tmp_path):
    path = str(tmp_path)
    assert only(read_qi, path, RELEASE) == (
        "file",
        "path",
        "a CSV, Parquet or Excel file that can be read",
        "a directory",
    )
    assert only(read_qi, tmp_path / "no.csv", RELEASE)[3] == "no such file"
    assert only(read_qi, "nul\0.csv", RELEASE)[:2] == ("file", "path")


@pytest.mark.parametrize("source", [None, 7, [1, 2], {"Education": ["Masters"]}])
def test_things_that_are_no_table(source):
    problem = only(read_qi, source, RELEASE)
    assert problem == ("argument", "qi", "a pandas DataFrame or the path of a file", repr(source))


FRAMES = {
    "null category": ({"Education": ["Masters", None], "Age": [3, 3]},
        ("row 2", "Education", "'unknown'", "a missing value")),
    "NaN": ({"Education": ["Masters"] * 2, "Age": [3, np.nan]}, ("row 2", "Age", "impute", "a missing value")),
    "NA": ({"Education": pd.array(["Masters", pd.NA], dtype="string"), "Age": 3},
        ("row 2", "Education", "", "missing")),
    "null in a categorical": ({"Education": pd.Categorical(["Masters", None]), "Age": 3},
        ("row 2", "Education", "", "missing")),
    "infinite": ({"Education": "Masters", "Age": [3, np.inf]}, ("row 2", "Age", "a finite number", "'inf'")),
    "a boolean for a number": ({"Education": "Masters", "Age": [True]}, ("row 1", "Age", "a finite number", "'True'")),
    "a number for a category": ({"Education": [7], "Age": 3}, ("row 1", "Education", "one of 'Masters'", "'7'")),
    "a list in a cell": ({"Education": [["Masters"]], "Age": 3}, ("row 1", "Education", "one of", "\"['Masters']\"")),
    "no rows": ({"Education": [], "Age": []}, ("rows", "individuals", "at least one individual", "no rows")),
    "no such column": ({"Education": ["Masters"], 3: 1},
        ("columns", "Age", "a column of this name", "'Education', '3'")),
}  # fmt: skip


@pytest.mark.parametrize(("columns", "expected"), FRAMES.values(), ids=FRAMES)
def test_frames_with_one_mistake(tmp_path, columns, expected):
    check(only(read_qi, pd.DataFrame(columns), RELEASE), expected)


@pytest.mark.parametrize("name", ["null category", "NaN", "NA", "null in a categorical", "infinite", "no rows"])
def test_parquet_with_one_mistake(tmp_path, name):
    columns, expected = FRAMES[name]
    path = tmp_path / "qi.parquet"
    pd.DataFrame(columns).to_parquet(path)
    check(only(read_qi, path, RELEASE), expected)


def test_repeated_columns_of_a_frame():
    frame = pd.DataFrame([["Masters", 3, 3]], columns=["Education", "Age", "Age"])
    assert only(read_qi, frame, RELEASE) == ("columns", "Age", "one column of this name", "2 of them")


def test_floats_where_the_domain_has_whole_numbers():
    release = Release(Target("T", ("0", "1")), (Attribute("A", values=("1", "2")),), ())
    frame = pd.DataFrame({"A": [1, None]})
    found = problems(read_qi, frame, release)
    assert [p[:2] for p in found] == [("row 2", "A")]
    (told,) = problems(read_qi, frame.dropna().astype(str), release)
    assert "'1.0' (a column of floats" in told[3]


@pytest.mark.parametrize(
    ("cell", "found"),
    [
        ("1.5", "'1.5'"),
        ("-1", "'-1'"),
        ("x", "'x'"),
        ("", "a missing value"),
        ("nan", "'nan'"),
        (str(2**60), f"'{2**60}'"),
    ],
)
def test_counts_that_are_no_numbers_of_people(tmp_path, cell, found):
    path = tmp_path / "qi.csv"
    path.write_text(f"Education,Age,n\nMasters,3,2.0\nMasters,3,{cell}\n", encoding="utf-8")
    check(only(read_qi, path, RELEASE, count="n"), ("line 3", "n", "a whole number of individuals, at least 0", found))


def test_counts_that_are_too_many_or_none():
    frame = pd.DataFrame({"Education": ["Masters"] * 4, "Age": 3, "n": 2**52})
    check(only(read_qi, frame, RELEASE, count="n"), ("rows", "n", "below 2**53", "a sum of about 1.801e+16"))
    check(
        only(read_qi, frame.assign(n=0), RELEASE, count="n"),
        ("rows", "n", "at least one individual", "rows of 0 individuals only"),
    )


def test_rows_of_nobody_are_checked_all_the_same():
    frame = pd.DataFrame({"Education": ["PhD", "Masters"], "Age": 3, "n": [0, 1]})
    check(only(read_qi, frame, RELEASE, count="n"), ("row 1", "Education", "one of", "'PhD'"))


def test_count_columns_that_cannot_be():
    frame = pd.DataFrame({"Education": ["Masters"], "Age": 3, "Count": 1})
    check(only(read_qi, frame, RELEASE, count="count"), ("columns", "count", "a column", "did you mean 'Count'?"))
    for name in ("Age", "Car", "Salary", 5):
        check(
            only(read_qi, frame, RELEASE, count=name),
            ("argument", "count", "neither an attribute nor the target", str(name)),
        )


def test_separators_that_are_no_commas(tmp_path):
    path = tmp_path / "qi.csv"
    path.write_text("Education;Age\nMasters;3\nMasters\n", encoding="utf-8")
    found = problems(read_qi, path, RELEASE)
    assert [p[:2] for p in found] == [("header", "Education"), ("header", "Age")]
    assert all("a semicolon? Then give csv_delimiter='semicolon'" in p[2] for p in found)


def test_everything_is_reported_at_once(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("Education,Age,n,Salary\nPhD,x,1,rich\nMasters\nMasters,3,-2,\n", encoding="utf-8")
    found = problems(read_rows, path, "data", RELEASE, RELEASE.attributes, "n", target=True)
    assert [p[:2] for p in found] == [
        ("line 3", "cells"),
        ("header", "Car"),
        ("line 4", "n"),
        ("line 2", "Education"),
        ("line 2", "Age"),
        ("line 4", "Salary"),
        ("line 2", "Salary"),
    ]
    assert "add it to the `classes` of 'Salary'" in found[5][2]


def test_long_lists_are_cut(tmp_path):
    path = tmp_path / "qi.csv"
    path.write_text("Education,Age\n" + "".join(f"X{i % 50},3\n" for i in range(200)), encoding="utf-8")
    found = problems(read_qi, path, RELEASE)
    assert [p[0] for p in found] == [f"line {i + 2}" for i in range(10)] + ["and 160 more lines"]
    assert found[-1][3] == "40 other values, such as 'X10'"
    path.write_text("Education,Age\nMasters,3\n" + "Masters\n" * 30, encoding="utf-8")
    found = problems(read_qi, path, RELEASE)
    assert [p[0] for p in found] == [f"line {i + 3}" for i in range(10)] + ["and 20 more lines"]


def test_a_large_domain_is_cut():
    release = Release(Target("T", ("0", "1")), (Attribute("A", values=tuple(map(str, range(9999)))),), ())
    problem = only(read_qi, pd.DataFrame({"A": ["x"]}), release)
    assert problem[2].startswith("one of '0', '1', ")
    assert problem[2].endswith("...")
    assert len(problem[2]) < 80


PEOPLE = {"Education": ["Masters", "Masters", "Doctorate"], "Age": [3, 3, 40], "Salary": ["<=50K", ">50K", ">50K"]}


def test_a_truth_about_other_people():
    frame = pd.DataFrame({**PEOPLE, "Age": [3, 5, 40], "Education": ["Masters", "Masters", "Masters"]})
    assert problems(read_truth, frame, RELEASE, TABLE) == [
        ("row 2", "quasi-identifier", "a quasi-identifier of qi", "Education=Masters, Age=5"),
        ("row 3", "quasi-identifier", "a quasi-identifier of qi", "Education=Masters, Age=40"),
        ("rows with Education=Masters, Age=3", "individuals", "2, as in qi (first on row 1)", "1"),
        ("rows with Education=Doctorate, Age=40", "individuals", "1, as in qi (first on row 3)", "0"),
    ]


def test_a_truth_about_more_people():
    frame = pd.DataFrame({**PEOPLE, "n": [1, 1, 9]})
    check(
        only(read_truth, frame, RELEASE, TABLE, count="n"),
        ("rows with Education=Doctorate, Age=40", "individuals", "1, as in qi", "9"),
    )


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"Salary": ["<=50K", ">50k", ">50K"]}, ("row 2", "Salary", "one of '<=50K', '>50K'", "'>50k' (did you mean")),
        ({"Salary": ["<=50K", None, ">50K"]}, ("row 2", "Salary", "`classes` of 'Salary'", "a missing value")),
    ],
)
def test_a_truth_with_other_classes(change, expected):
    check(only(read_truth, pd.DataFrame({**PEOPLE, **change}), RELEASE, TABLE), expected)


def test_a_truth_without_classes():
    frame = pd.DataFrame(PEOPLE).drop(columns="Salary")
    check(only(read_truth, frame, RELEASE, TABLE), ("columns", "Salary", "a column of this name", "'Education', 'Age'"))


FACTS = {
    "nobody": ("Education,Age,Salary\nMasters,3,>50K\nMasters,40,>50K\n",
        ("line 3", "fact", "a quasi-identifier of qi", "none")),
    "no such age": ("Age,Salary\n39,>50K\n", ("line 2", "fact", "a quasi-identifier of qi that matches", "none")),
    "outside the domain": ("Education,Salary\nPhD,>50K\n", ("line 2", "Education", "one of 'Masters'", "'PhD'")),
    "not a number": ("Age,Salary\nold,>50K\n", ("line 2", "Age", "a finite number", "'old'")),
    "no class": ("Age,Salary\n3,\n", ("line 2", "Salary", "a value", "a missing value")),
    "other class": ("Age,Salary\n3,rich\n", ("line 2", "Salary", "one of '<=50K', '>50K'", "'rich'")),
    "no target": ("Age\n3\n", ("header", "Salary", "a column of this name", "none")),
    "only the target": ("Salary\n>50K\n", ("header", "quasi-identifier", "'Education', 'Age'", "none among 'Salary'")),
    "private": ("Age,Car,Salary\n3,yes,>50K\n", ("header", "Car", "public attributes", "a private attribute")),
    "unknown column": ("Age,Eduction,Salary\n3,,>50K\n",
        ("header", "Eduction", "'Education', 'Age'", "another column")),
    "count of none": ("Age,Salary,count\n3,>50K,0\n",
        ("line 2", "count", "a whole number of individuals, at least 1", "'0'")),
    "count of halves": ("Age,Salary,count\n3,>50K,0.5\n", ("line 2", "count", "at least 1", "'0.5'")),
    "count of more than match": ("Age,Salary,count\n3,>50K,3\n", ("line 2", "count", "at most the 2 individuals", "3")),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), FACTS.values(), ids=FACTS)
def test_facts_with_one_mistake(tmp_path, text, expected):
    path = tmp_path / "facts.csv"
    path.write_text(text, encoding="utf-8")
    check(only(read_facts, path, RELEASE, TABLE), expected)


def test_many_facts_about_nobody():
    found = problems(read_facts, pd.DataFrame({"Age": range(100, 130), "Salary": ">50K"}), RELEASE, TABLE)
    assert len(found) == 11
    assert found[-1][0] == "and 20 more rows"


MARGINALS = {
    "other sum": ("Salary,count\n<=50K,3\n>50K,4\n", ("rows", "count", "the 10 individuals", "a sum of 7")),
    "not 1": ("Salary,probability\n<=50K,0.3\n>50K,0.6\n", ("rows", "probability", "sum to 1", "a sum of 0.9")),
    "below 0": ("Salary,probability\n<=50K,-0.3\n>50K,1\n", ("line 2", "probability", "[0, 1]", "'-0.3'")),
    "above 1": ("Salary,probability\n<=50K,1.3\n", ("line 2", "probability", "[0, 1]", "'1.3'")),
    "no probability": ("Salary,probability\n<=50K,\n>50K,1\n", ("line 2", "probability", "[0, 1]", "a missing value")),
    "not whole": ("Salary,count\n<=50K,9.5\n", ("line 2", "count", "a whole number of individuals", "'9.5'")),
    "twice": (
        "Salary,count\n>50K,4\n\n>50K,6\n",
        ("line 4", "Salary", "each class once", "'>50K' again (first on line 2)"),
    ),
    "again and again": (
        "Salary,count\n>50K,4\n>50K,2\n>50K,2\n>50K,2\n",
        ("line 3", "Salary", "each class once", "'>50K' again (first on line 2) (and on 2 lines more)"),
    ),
    "unknown class": ("Salary,count\n>50K,4\nrich,6\n", ("line 3", "Salary", "one of '<=50K', '>50K'", "'rich'")),
    "no target": ("salary,count\n>50K,10\n", ("header", "Salary", "a column of this name", "did you mean 'salary'?")),
    "neither": ("Salary,n\n>50K,10\n", ("header", "count", "'count' or 'probability'", "neither among 'Salary', 'n'")),
    "both": ("Salary,count,probability\n>50K,10,1\n", ("header", "count", "'count' or 'probability'", "both")),
    "no rows": ("Salary,count\n", ("rows", "count", "the 10 individuals", "a sum of 0")),
}


@pytest.mark.parametrize(("text", "expected"), MARGINALS.values(), ids=MARGINALS)
def test_marginals_with_one_mistake(tmp_path, text, expected):
    path = tmp_path / "marginal.csv"
    path.write_text(text, encoding="utf-8")
    check(only(read_marginal, path, RELEASE, 10), expected)


@pytest.mark.regression(number=13)
def test_a_file_without_any_of_the_columns_is_not_shown(tmp_path):
    path = tmp_path / "shadow"
    for text in (
        "root:$6$secret:19000:0\ndaemon:*:19000\n",
        "root,secret\n1,2\n",
        "root;secret\n",
        "secret: Education\n",
    ):
        path.write_text(text, encoding="utf-8")
        caught = refusal(read_qi, path, RELEASE)
        assert not any(word in p.found for p in caught.problems for word in ("root", "secret"))
