"""Excel workbooks as tables: cells as in CSV, sheets, formulas, and what is refused before it is read."""

import datetime
import io
import json
import zipfile
from pathlib import Path

import pytest

import maxent
from maxent.__main__ import main
from maxent.models.errors import InvalidInput, MissingExtra
from maxent.models.reading import Reader, Reading
from maxent.models.tables import excel_files
from maxent.models.tables.out_of_core import aggregate
from maxent.models.tables.table_files import read_frame
from maxent.models.tables.training import read_training

openpyxl = pytest.importorskip("openpyxl", reason="needs openpyxl: pip install '.[excel]'")

ROWS = [
    ["age", "job", "day", "share"],
    [30, "nurse", datetime.date(2020, 1, 31), 0.12],
    [],
    [41.5, None, datetime.datetime(2020, 1, 31, 12), 0.5],
    ["012", True],
    [1, 2, 3, 4, 5],
]


def workbook(path, rows=ROWS, others=(), percent="D"):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "People"
    for row in rows:
        sheet.append(row)
    for cell in sheet[percent][1:]:
        cell.number_format = "0.0%"
    for name in others:
        book.create_sheet(name).append(["age", name])
    book.save(path)
    return path


def read(path, names=("age", "job", "day", "share"), merged=False, **reading):
    reader = Reader(Reading(**reading))
    how = aggregate([path], "data", names, None, reader).frame if merged else None
    frame = how or read_frame(path, "data", names, reader)
    texts = [[*frame.columns[name].texts(), None] for name in frame.columns]
    codes = [frame.columns[name].codes for name in frame.columns]
    rows = [tuple(text[code] for text, code in zip(texts, row, strict=True)) for row in zip(*codes, strict=True)]
    notes = [note.removeprefix(f"{path}: ") for note in reader.noticed.notes]
    return rows, frame.lines.tolist(), [str(problem) for problem in frame.problems], notes


def refusal(path, **reading):
    with pytest.raises(InvalidInput) as refused:
        read(path, **reading)
    (problem,) = refused.value.problems
    return str(problem)


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.regression(number=16)
def test_cells_are_text_as_in_csv(tmp_path, merged):
    rows, lines, problems, notes = read(workbook(tmp_path / "qi.xlsx"), merged=merged)
    assert rows == [
        ("30", "nurse", "2020-01-31", "0.12"),
        ("41.5", None, "2020-01-31 12:00:00", "0.5"),
        ("012", "True", None, None),
    ]
    assert lines == [2, 4, 5]
    assert problems == ["row 6 of sheet 'People': cells: expected at most 4, as in the header, found 5"]
    assert notes == ["column 'share': percentages are read as the numbers that they are, 12% as 0.12"]


def test_columns_of_numbers_and_dates_are_what_csv_makes_of_them(tmp_path):
    rows = [["age", "born", "T"], *([30 + i, datetime.date(1990, 1, 1 + i), "ab"[i % 2]] for i in range(6))]
    path, reader = workbook(tmp_path / "data.xlsx", rows, percent="A"), Reader()
    age, born = read_training(path, target="T", qi=["age", "born"], reader=reader).attributes
    assert (age.type, born.type) == ("numeric", "categorical")
    assert any("'born' is read as categories: its values are dates" in note for note in reader.noticed.notes)


def test_a_sheet_is_named_or_the_first(tmp_path):
    path = workbook(tmp_path / "qi.xlsx", others=("Other", "Third"))
    *_, notes = read(path, ["age"])
    assert notes == ["sheet 'People' is read, the first of 3 (sheet= names another one)"]
    assert read(path, ["age", "Other"], sheet="Other") == ([], [], [], [])
    assert refusal(path, sheet="none") == (
        "workbook: sheet: expected one of 'People', 'Other', 'Third' (sheet=), found 'none'"
    )


def test_a_formula_has_its_result_or_is_refused(tmp_path):
    path = workbook(tmp_path / "qi.xlsx", [["age", "job"], [30, "x"], ["=1+2", "y"]], percent="A")
    assert refusal(path).startswith("cell A3: formula: expected a formula with its result")
    kept = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(kept, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename == "xl/worksheets/sheet1.xml":
                assert b"<v />" in data or b"<v/>" in data or b"<v></v>" in data
                for empty in (b"<v />", b"<v/>", b"<v></v>"):
                    data = data.replace(empty, b"<v>3</v>")
            new.writestr(entry.filename, data)
    path.write_bytes(kept.getvalue())
    assert [row[0] for row in read(path, ["age"])[0]] == ["30", "3"]


def test_what_is_too_large_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/sharedStrings.xml", b" " * 3_000_000)
    assert path.stat().st_size < 10_000
    with monkeypatch.context() as patched:
        patched.setattr(excel_files, "_opened", None)
        assert "memory: expected at most 10 MB" in refusal(path, max_memory="10MB")
    monkeypatch.setattr(excel_files, "_ROWS", 2)
    assert "more rows than a sheet can have" in refusal(workbook(tmp_path / "qi.xlsx"))


@pytest.mark.parametrize("data", [b"PK\x03\x04....", b"", b"a,b\n1,2\n", b"\xd0\xcf\x11\xe0"])
def test_what_is_no_workbook_is_refused(tmp_path, data):
    path = tmp_path / "qi.xlsx"
    path.write_bytes(data)
    assert refusal(path).startswith("file: format: expected an Excel workbook (.xlsx), found a damaged one")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("other.txt", "nothing")
    assert refusal(path).startswith("file: format: expected an Excel workbook (.xlsx)")
    openpyxl.Workbook().save(path)
    assert refusal(path).startswith("file: header: expected a row with the names of the columns, found an empty sheet")


def test_a_style_that_there_is_not_is_refused_and_nothing_printed(tmp_path, capsys):
    path, damaged = workbook(tmp_path / "qi.xlsx"), io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(damaged, "w") as new:
        for entry in old.infolist():
            new.writestr(entry.filename, old.read(entry).replace(b'name="Normal" xfId="0"', b'name="Normal" xfId="7"'))
    path.write_bytes(damaged.getvalue())
    assert "found a damaged one" in refusal(path)
    assert capsys.readouterr().out == ""  # where openpyxl says so


def test_without_openpyxl_the_way_to_get_it_is_told(tmp_path, monkeypatch):
    path = workbook(tmp_path / "qi.xlsx")
    monkeypatch.setattr("maxent.models.packages.find_spec", lambda module: None)
    with pytest.raises(MissingExtra, match=r"an Excel workbook needs openpyxl: .*pip install '\.\[excel\]'"):
        read(path)


def test_commands_read_workbooks(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [["age", "job", "class"], *([20 + i, "xy"[i % 2], "no" if i % 3 else "yes"] for i in range(30))]
    workbook("people.xlsx", rows, others=("Notes",), percent="B")
    call = ["defend", "none", "people.xlsx", "--target", "class", "--qi", "age,job", "-o", "tree.json", "--json"]
    assert main(call) == 0
    assert json.loads(capsys.readouterr().out)["notes"][0] == (
        "people.xlsx: sheet 'People' is read, the first of 2 (--sheet names another one)"
    )
    assert main([*call, "--sheet", "People"]) == 0
    capsys.readouterr()
    assert main(["audit", "tree.json", "people.xlsx", "--sheet", "People", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["individuals"] == 30


def test_a_cell_is_refused_by_its_row_and_sheet(tmp_path):
    release = Path(__file__).parents[2] / "examples" / "d1" / "tree.json"
    rows = [["Education", "Country", "Gender"], ["Masters", "USA", "Male"], ["Bachelor", "USA", "Male"]]
    with pytest.raises(InvalidInput) as refused:
        maxent.estimate(release, workbook(tmp_path / "qi.xlsx", rows, percent="C"))
    expected = "row 3 of sheet 'People': Education: expected one of 'Masters', 'Doctorate', found 'Bachelor'"
    assert [str(problem) for problem in refused.value.problems] == [expected]
