"""CSV as other programs write it: what separates cells, and decimal commas."""

import gzip
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.calls import cells, printed_by, refusal, refused

from maxent.__main__ import main
from maxent.models.errors import InvalidInput
from maxent.models.files.result_files import guarded, is_formula, unguarded
from maxent.models.reading import Reader, Reading
from maxent.models.tables import csv_files
from maxent.models.tables.out_of_core import aggregate
from maxent.models.tables.qi_table import read_counted
from maxent.models.tables.table_files import read_frame
from maxent.models.tables.training import read_training
from maxent.studies.study_file import load_study


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
    rows, lines, problems, notes = read(tmp_path, f'A{mark}B\r\n\r\nx{mark}"a{mark}b"\r\n"y, z"{mark}\r\n')
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
    _, lines, problems, notes = read(tmp_path, f"{first}A;B\nx;1\ny\nz;2\n")
    before = first.count("\n")
    assert lines == [before + 2, before + 4]
    assert problems == [f"line {before + 3}: cells: expected 2, as in the header, found 1"]
    assert notes == [SEPARATED.format(";")]


def test_a_stated_comma_and_an_option_decide_over_what_a_file_shows(tmp_path):
    assert read(tmp_path, "sep=,\nA;B\nx;y\n", names=["A;B"])[0] == [("x;y",)]
    rows, _, _, notes = read(tmp_path, "A;B\nx;y\n", names=["A;B"], csv_delimiter="comma")
    assert (rows, notes) == ([("x;y",)], [])
    assert read(tmp_path, "sep=,\nA;B\nx;y\n", csv_delimiter="semicolon")[0] == [("x", "y")]


@pytest.mark.parametrize(("text", "values"), [("age,sex\n3,sex\n4,f\n", ["sex", "f"]), ("age,sex\n3,m\n", ["m"])])
def test_a_name_is_a_value_only_where_a_row_has_it(tmp_path, text, values):
    (tmp_path / "people.csv").write_text(text)
    column = read_frame(tmp_path / "people.csv", "people", ["age", "sex"], Reader()).columns["sex"]
    assert [column.texts()[code] for code in column.codes] == values
    assert sorted(column.texts()) == sorted(values)


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
    refused("csv_delimiter: expected one of comma, semicolon, tab, pipe, found ';'", Reading, csv_delimiter=";")
    refused("csv_decimal: expected one of point, comma, found ','", Reading, csv_decimal=",")


def test_commands_note_the_marks_and_take_the_options(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("age;job;class\n" + "30,5;nurse;yes\n41;clerk;no\n50,5;nurse;yes\n" * 5)
    call = ["defend", "none", "people.csv", "--target", "class", "--qi", "age,job", "-o", "tree.json", "--json"]
    told = printed_by(capsys, call)
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


GERMAN = ["Köln", "München", "Führungskraft", "Straße", "Ärztin", "Nürnberg", "weiß nicht"]
FRENCH = ["employé", "à l\u2019étranger", "ouvrière", "Île", "garçon", "célibataire"]
POLISH = ["Łódź", "żona", "mąż", "księgowość", "Gdańsk", "nauczyciel", "Częstochowa", "święto"]
RUSSIAN = ["Москва", "женщина", "мужчина", "учитель", "врач", "Казань", "Санкт-Петербург", "инженер"]
JAPANESE = ["東京都", "男性", "女性", "教師", "会社員", "大阪府"]
CZECH = ["žena", "muž", "učitel", "řidič", "Plzeň"]
TURKISH = ["İstanbul", "öğretmen", "kad\u0131n", "şoför"]


def table(words, rows=60):
    chosen = random.Random(1)
    return "A,B\r\n" + "".join(f"{chosen.choice(words)},{chosen.choice(words)}\r\n" for _ in range(rows))


def encoded_read(path, merged=False, **reading):
    """Cells by row, lines, and notes."""
    reader = Reader(Reading(**reading))
    how = aggregate([path], "data", ["A", "B"], None, reader).frame if merged else None
    frame = how or read_frame(path, "data", ["A", "B"], reader)
    texts = [frame.columns[name].texts() for name in "AB"]
    codes = [frame.columns[name].codes for name in "AB"]
    rows = {tuple(texts[i][codes[i][row]] for i in (0, 1)) for row in range(len(codes[0]))}
    return rows, frame.lines.tolist(), [note.removeprefix(f"{path}: ") for note in reader.noticed.notes]


def both(path, **reading):
    """What both ways to read agree on."""
    (rows, lines, notes), (merged, _, same) = encoded_read(path, **reading), encoded_read(path, merged=True, **reading)
    assert (rows, notes) == (merged, same)
    return rows, lines, notes


def expected(text):
    return {tuple(line.split(",")) for line in text.split("\r\n")[1:-1]}


@pytest.mark.parametrize(
    ("words", "encoding", "found"),
    [
        (GERMAN, "cp1252", "cp1252"),
        (GERMAN, "latin-1", "cp1252"),
        (GERMAN, "mac_roman", "mac_roman"),
        (["Köln", "Berlin"], "cp1252", "cp1252"),
        (FRENCH, "cp1252", "cp1252"),
        (POLISH, "cp1250", "cp1250"),
        (RUSSIAN, "cp1251", "cp1251"),
        (JAPANESE, "shift_jis", "cp932"),
    ],
)
@pytest.mark.regression(number=16)
def test_an_encoding_is_recognised_and_told(tmp_path, words, encoding, found):
    path, text = tmp_path / "data.csv", table(words)
    path.write_bytes(text.encode(encoding))
    rows, lines, (note,) = both(path)
    assert rows == expected(text)
    assert lines == list(range(2, 62))
    assert note.startswith(f"text is no UTF-8 and is read as {found}, in which its letters beyond ASCII are ")
    assert note.endswith(" (csv_encoding= names another encoding)")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig"])
def test_a_byte_order_mark_says_the_encoding(tmp_path, encoding):
    path, text = tmp_path / "data.csv", table(GERMAN + RUSSIAN)
    path.write_bytes(text.encode(encoding))
    rows, _, notes = both(path)
    named = {"utf-16": "UTF-16-LE", "utf-32": "UTF-32-LE"}
    assert rows == expected(text)
    assert notes == ([f"text is in {named[encoding]}, as its byte-order mark says"] if encoding in named else [])
    assert both(path, csv_encoding=encoding)[2] == []
    rows, _, (note,) = both(path, csv_encoding="cp1252")
    assert rows == expected(text)
    assert note.endswith("as its byte-order mark says, and not in cp1252")


def test_archives_have_encodings_too(tmp_path):
    path, text = tmp_path / "data.csv.gz", table(GERMAN)
    path.write_bytes(gzip.compress(text.encode("cp1252")))
    assert both(path)[0] == expected(text)


def test_an_encoding_that_is_named_is_read_without_a_word(tmp_path):
    path, text = tmp_path / "data.csv", table(CZECH)
    path.write_bytes(text.encode("cp1250"))
    assert both(path, csv_encoding="windows-1250")[::2] == (expected(text), [])
    path.write_bytes(text.encode("utf-16-le"))
    assert both(path, csv_encoding="utf-16-le")[::2] == (expected(text), [])


@pytest.mark.parametrize(("words", "encoding"), [(CZECH, "cp1250"), (TURKISH, "cp1254"), (["врач"], "cp1251")])
def test_an_encoding_that_cannot_be_told_is_refused_with_those_it_may_be(tmp_path, words, encoding):
    path = tmp_path / "data.csv"
    path.write_bytes(("A,B\n" + "".join(f"{word},x\n" for word in words)).encode(encoding))
    (problem,) = refusal(read_frame, path, "data", ["A"]).problems
    assert (problem.where, problem.field) == ("line 2", "encoding")
    assert "or in an encoding that can be told (name it: csv_encoding='cp1252', say)" in problem.expected
    assert encoding in problem.found.partition("; it may be ")[2]


@pytest.mark.parametrize("merged", [False, True])
def test_a_byte_far_below_that_is_none_of_the_encoding_is_refused_by_line(tmp_path, merged):
    path = tmp_path / "data.csv"
    path.write_bytes(b"A,B\r\n" + b"K\xf6ln,x\r\n" * 20_000 + b"y,\x81\r\n")
    found = []
    for reading in ({"csv_encoding": "cp1252"}, {"csv_encoding": "utf-8"}):
        (problem,) = refusal(encoded_read, path, merged, **reading).problems
        found.append((problem.where, problem.expected.partition(" (")[0], problem.found.partition(",")[0]))
    assert found == [
        ("line 20002", "CSV text in cp1252", "byte 0x81"),
        ("line 2", "CSV text in UTF-8", "byte 0xf6 at position 2"),
    ]


def test_letters_that_come_late_decide_too(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "_BLOCK", 1 << 10)
    path, text = tmp_path / "data.csv", "A,B\r\n" + "x,y\r\n" * 5000 + "Köln,Straße\r\n"
    path.write_bytes(text.encode("cp1252"))
    assert both(path)[0] == expected(text)


def test_ends_of_lines_between_blocks_are_counted_once(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "_BLOCK", 3)
    path = tmp_path / "data.csv"
    path.write_bytes("A,B\r\nü,1\rx,2\n\r\ny,3\r\n".encode("cp1252"))
    assert both(path)[:2] == ({("ü", "1"), ("x", "2"), ("y", "3")}, [2, 3, 5])


@pytest.mark.parametrize("name", ["", "nothing", "hex", "rot13", "idna", "undefined", "a\0b", 3])
def test_what_is_no_encoding_is_refused(name):
    with pytest.raises(
        InvalidInput, match="csv_encoding: expected an encoding of text, such as cp1252 or utf-16, found"
    ):
        Reading(csv_encoding=name)


def test_studies_name_an_encoding(tmp_path):
    (tmp_path / "people.csv").write_bytes("A,T\nžena,x\nmuž,y\nřidič,y\n".encode("cp1250"))
    study = tmp_path / "study.toml"
    text = '[data.people]\nfile = "people.csv"\ntarget = "T"\ncsv_encoding = "NAME"\n[[grid]]\nmethod = "none"\n'
    study.write_text(text.replace("NAME", "windows-1250"), encoding="utf-8")
    assert load_study(study).data["people"].records["A"].tolist() == ["žena", "muž", "řidič"]
    study.write_text(text.replace("NAME", "letters"), encoding="utf-8")
    refused("csv_encoding: expected an encoding, such as cp1252, found 'letters'", load_study, study)


def test_commands_take_and_tell_the_encoding(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{age},{town},{'yes' if age % 3 else 'no'}\n" for age in range(20, 40) for town in ("Köln", "Bonn"))
    (tmp_path / "people.csv").write_bytes(("age,town,class\n" + rows).encode("cp1252"))
    call = ["defend", "none", "people.csv", "--target", "class", "--qi", "age,town", "-o", "tree.json", "--json"]
    (note, *_) = json.loads(printed_by(capsys, call).out)["notes"]
    assert note.endswith("its letters beyond ASCII are ö (--csv-encoding names another encoding)")
    assert json.loads((tmp_path / "tree.json").read_text(encoding="utf-8"))["attributes"][1]["values"] == [
        "Bonn",
        "Köln",
    ]
    assert main([*call, "--csv-encoding", "latin1"]) == 0
    assert not any("UTF-8" in note for note in json.loads(capsys.readouterr().out).get("notes", ()))
    assert main([*call, "--csv-encoding", "utf-8"]) == 2
    assert "expected CSV text in UTF-8 (--csv-encoding names another encoding)" in capsys.readouterr().err
    for option in ("--csv-encoding", "--max-memory"):  # values that have no type of their own on the command line
        assert f"{option}: expected a" in printed_by(capsys, [*call, option, "letters"], 2).err


ALPHABET = "=+-@'a;,|\t\r\n 15.e\"\uff1d\uff0b"


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "@SUM(A1)",
        "+1+cmd|' /C calc'!A0",
        "-2+3",
        "-",
        "\t=1",
        "\r=1",
        "\n=1",
        "\uff1d1",
        "-5--3",
        "+1-555",
        "-x",
    ],
)
def test_a_formula_gets_an_apostrophe(text):
    assert guarded(text).startswith("'")
    assert not is_formula(guarded(text))


@pytest.mark.parametrize("text", ["a;=1", "a\t@b", "a\n-b", "a;;=1", 'x;=HYPERLINK("http://x")'])
def test_so_does_one_that_begins_another_cell(text):
    assert guarded(text) != text
    assert not is_formula(guarded(text))


@pytest.mark.parametrize(
    "text",
    ["", "a", "-5", "+5", "-5.5", "-1e-5", "-.5", "<=50K", "42-61", "a-b", "a=b", "a,=b", "'a", "1;-5;x", "O'Brien"],
)
def test_numbers_and_other_texts_stay_as_they_are(text):
    assert guarded(text) == unguarded(text) == text


@given(st.text(ALPHABET, max_size=8))
def test_it_can_be_read_back(text):
    assert unguarded(guarded(text)) == text
    assert not is_formula(guarded(text))


@given(st.text(ALPHABET, max_size=8), st.text(ALPHABET, max_size=8))
def test_different_texts_stay_different(first, second):
    assert (guarded(first) == guarded(second)) == (first == second)
