"""CSV as other programs write it: what separates cells, and decimal commas."""

import json

import pytest

from maxent.__main__ import main
from maxent.models.errors import InvalidInput
from maxent.models.reading import Reader, Reading
from maxent.models.tables.out_of_core import aggregate
from maxent.models.tables.qi_table import read_counted
from maxent.models.tables.table_files import read_frame
from maxent.models.tables.training import read_training


def cells(path, names=("A", "B"), merged=False, declared=None, **reading):
    """Cells row by row, lines of rows, problems, and notes, as both ways to read see them."""
    reader = Reader(Reading(**reading))
    frame = (
        aggregate([path], "data", names, None, reader, declared).frame
        if merged
        else read_frame(path, "data", names, reader, declared)
    )
    columns = [[*frame.columns[name].texts(), None] for name in frame.columns]
    codes = [frame.columns[name].codes for name in frame.columns]
    rows = [tuple(texts[code] for texts, code in zip(columns, row, strict=True)) for row in zip(*codes, strict=True)]
    notes = [note.removeprefix(f"{path}: ") for note in reader.noticed.notes]
    return rows, frame.lines.tolist(), [str(problem) for problem in frame.problems], notes


def read(tmp_path, text, **options):
    """What both ways to read agree on."""
    path = tmp_path / "data.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    small, large = cells(path, **options), cells(path, merged=True, **options)
    assert small == large
    return small


SEPARATED = "cells are separated by {!r} (csv_delimiter= names another mark)"


@pytest.mark.parametrize("mark", [";", "\t", "|"])
@pytest.mark.regression(number=16)
def test_cells_separated_by_another_mark_are_recognised_and_noted(tmp_path, mark):
    text = f'A{mark}B\r\n\r\nx{mark}"a{mark}b"\r\n"y, z"{mark}\r\n'
    rows, lines, problems, notes = read(tmp_path, text)
    assert rows == [("x", f"a{mark}b"), ("y, z", None)]
    assert (lines, problems) == ([3, 4], [])
    assert notes == [SEPARATED.format(mark)]


@pytest.mark.parametrize(
    "text",
    [
        "A;B,B\nx;y,z\n",  # the header has a comma between cells
        '"A;B"\nx;y\nz\n',  # the rows differ in their number of cells
        "A;B|C\nx;y|z\n",  # two marks would do
        "A\nx\ny\n",
    ],
)
def test_cells_are_separated_by_commas_unless_one_other_mark_is_clear(tmp_path, text):
    path = tmp_path / "data.csv"
    path.write_text(text)
    reader = Reader()
    assert read_frame(path, "data", [], reader).header == tuple(text.splitlines()[0].replace('"', "").split(","))
    assert reader.noticed.notes == ()


def test_a_header_that_may_be_separated_otherwise_is_refused_with_the_way_to_say_so(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("A;B\nx;y\nz\n")
    problems = []
    read_counted(path, "data", ["A"], None, problems)
    assert "(is the mark between cells a semicolon? Then give csv_delimiter='semicolon')" in str(problems[0])
    rows, _, problems, notes = cells(path, csv_delimiter="semicolon")
    assert (rows, problems, notes) == ([("x", "y")], ["line 3: cells: expected 2, as in the header, found 1"], [])


@pytest.mark.parametrize("first", ["sep=;\r\n", '"sep=;"\n', "\ufeffSEP=;\n\n"])
def test_a_line_before_the_header_says_what_separates_cells(tmp_path, first):
    text = f"{first}A;B\nx;1\ny\nz;2\n"
    _, lines, problems, notes = read(tmp_path, text)
    before = first.count("\n")
    assert lines == [before + 2, before + 4]
    assert problems == [f"line {before + 3}: cells: expected 2, as in the header, found 1"]
    assert notes == [SEPARATED.format(";")]


def test_a_stated_comma_and_an_option_decide_over_what_a_file_shows(tmp_path):
    assert read(tmp_path, "sep=,\nA;B\nx;y\n", names=["A;B"])[0] == [("x;y",)]
    rows, _, _, notes = read(tmp_path, "A;B\nx;y\n", names=["A;B"], csv_delimiter="comma")
    assert (rows, notes) == ([("x;y",)], [])
    assert read(tmp_path, "sep=,\nA;B\nx;y\n", csv_delimiter="semicolon")[0] == [("x", "y")]


def test_decimal_commas_are_recognised_by_column(tmp_path):
    rows, _, _, notes = read(tmp_path, "A;B\n3,5;a,b\n-1;1,5\nNA;c\n1e3;d\n")
    assert rows == [("3.5", "a,b"), ("-1", "1,5"), (None, "c"), ("1e3", "d")]
    assert notes == [SEPARATED.format(";"), "decimals follow a comma in column 'A' (csv_decimal= names another mark)"]


@pytest.mark.parametrize("values", [("1,234", "2"), ("1,5", "2.5"), ("1,5", "x"), ("1.234,5", "2,5")])
def test_commas_that_may_mean_something_else_stay(tmp_path, values):
    rows, *_, notes = read(tmp_path, "A;B\n" + "".join(f"{value};0\n" for value in values), names=["A"])
    assert ([value for (value,) in rows], notes) == ([*values], [SEPARATED.format(";")])


def test_decimal_commas_of_declared_values_stay(tmp_path):
    assert read(tmp_path, "A;B\n1,5;0\n", declared={"A": ["1,5", "2,5"]})[0] == [("1,5", "0")]
    assert read(tmp_path, "A;B\n1,5;0\n", declared={"A": ["1.5", "2.5"]})[0] == [("1.5", "0")]


def test_the_mark_before_decimals_is_as_the_option_says(tmp_path):
    text = 'A,B\n"3,5",1\n"1,234",2\nx,3\n'
    assert [a for a, _ in read(tmp_path, text)[0]] == ["3,5", "1,234", "x"]
    assert [a for a, _ in read(tmp_path, text, csv_decimal="comma")[0]] == ["3.5", "1.234", "x"]
    assert [a for a, _ in read(tmp_path, text.replace(",", ";").replace('3;5', "3,5").replace('1;2', "1,2"),
                               csv_decimal="point")[0]] == ["3,5", "1,234", "x"]  # fmt: skip


def test_points_for_thousands_are_not_recognised(tmp_path):
    assert [a for a, _ in read(tmp_path, "A;B\n1.234;1\n3,5;2\n", csv_decimal="comma")[0]] == ["1.234", "3.5"]


def test_missing_numbers_are_missing_with_a_decimal_comma_too(tmp_path):
    assert [a for a, _ in read(tmp_path, "A;B\n3,5;1\n-99,0;2\n", na=["-99"])[0]] == ["3.5", None]


def test_individuals_with_decimals_are_counted_or_refused_never_guessed(tmp_path):
    path = tmp_path / "part-1.csv"
    path.write_text("A;n\nx;3,0\ny;1,0\n")
    for source, merge in ((path, False), (str(tmp_path / "part-*.csv"), True)):
        problems = []
        _, counts = read_counted(
            source, "data", ["A"], "n", problems, merge=merge, reader=Reader(Reading(csv_decimal="comma"))
        )
        assert (counts.tolist(), problems) == ([3, 1], [])
    problems = []
    read_counted(str(tmp_path / "part-*.csv"), "data", ["A"], "n", problems, merge=True)
    assert "whole numbers without decimals (where these follow a comma, give csv_decimal='comma')" in str(problems[0])


def test_training_data_with_semicolons_and_decimal_commas_has_columns_of_numbers(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age;job;class\n30,5;nurse;yes\n41;clerk;no\n")
    table = read_training(path, target="class", qi=["age", "job"])
    assert table.columns[0].tolist() == [30.5, 41.0]
    assert [attribute.values for attribute in table.attributes] == [None, ("clerk", "nurse")]


def test_other_readings_than_these_are_refused():
    with pytest.raises(InvalidInput, match="csv_delimiter: expected one of comma, semicolon, tab, pipe, found ';'"):
        Reading(csv_delimiter=";")
    with pytest.raises(InvalidInput, match="csv_decimal: expected one of point, comma, found ','"):
        Reading(csv_decimal=",")


def test_commands_note_the_marks_and_take_the_options(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("age;job;class\n" + "30,5;nurse;yes\n41;clerk;no\n50,5;nurse;yes\n" * 5)
    call = ["defend", "none", "people.csv", "--target", "class", "--qi", "age,job", "-o", "tree.json", "--json"]
    assert main(call) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["notes"][:2] == [
        "people.csv: cells are separated by ';' (--csv-delimiter names another mark)",
        "people.csv: decimals follow a comma in column 'age' (--csv-decimal names another mark)",
    ]
    assert "separated by ';' (--csv-delimiter names another mark)\n" in told.err
    assert json.loads((tmp_path / "tree.json").read_text())["attributes"][0].get("values") is None
    assert main([*call, "--csv-delimiter", "semicolon", "--csv-decimal", "comma"]) == 0
    assert not any("people.csv" in note for note in json.loads(capsys.readouterr().out).get("notes", ()))
    assert main([*call, "--csv-delimiter", "comma"]) == 2
    assert "a semicolon? Then give --csv-delimiter semicolon)" in capsys.readouterr().err
