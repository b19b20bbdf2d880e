"""Excel workbooks as tables: cells as in CSV, sheets, formulas, and what is refused before it is read."""

import datetime
import gc
import io
import json
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from support.calls import cells, printed_by, refused
from support.paths import merging

import maxent
from maxent.__main__ import main
from maxent.models.errors import InvalidInput, MissingExtra
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Release, Target
from maxent.models.tables import excel_files
from maxent.models.tables.parquet_files import _Footer
from maxent.models.tables.qi_table import read_qi
from maxent.models.tables.table_files import read_frame
from maxent.models.tables.training import read_training
from maxent.studies.study_file import load_study

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


def read(path, names=("age", "job", "day", "share"), **how):
    return cells(path, names, **how)


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
    printed_by(capsys, [*call, "--sheet", "People"])
    assert main(["audit", "tree.json", "people.xlsx", "--sheet", "People", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["individuals"] == 30


def test_a_cell_is_refused_by_its_row_and_sheet(tmp_path):
    release = Path(__file__).parents[2] / "examples" / "d1" / "tree.json"
    rows = [["Education", "Country", "Gender"], ["Masters", "USA", "Male"], ["Bachelor", "USA", "Male"]]
    with pytest.raises(InvalidInput) as refused:
        maxent.estimate(release, workbook(tmp_path / "qi.xlsx", rows, percent="C"))
    expected = "row 3 of sheet 'People': Education: expected one of 'Masters', 'Doctorate', found 'Bachelor'"
    assert [str(problem) for problem in refused.value.problems] == [expected]


TARGET = Target("T", ("0", "1"))


def saved(path, **columns):
    parquet.write_table(pa.table(columns), path)
    return path


def raw(numbers, kind):
    """A column of a type that is stored as these numbers, whatever they mean."""
    return pa.array(numbers, pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)


def texts(path):
    """The cells of column A as they are read."""
    column = read_frame(path, "qi", ["A"]).columns["A"]
    values = [*column.texts(), None]
    return [values[code] for code in column.codes]


def refusals(source, release):
    with pytest.raises(InvalidInput) as caught:
        read_qi(source, release)
    return [(problem.where, problem.field, problem.expected, problem.found) for problem in caught.value.problems]


def outcome(source, attribute):
    try:
        table = read_qi(source, Release(TARGET, (attribute,), ()))
    except InvalidInput as error:
        return error.source, error.problems
    return table.codes.tolist(), table.levels[0].tolist(), table.counts.tolist(), table.lines.tolist()


READ = {
    "all empty, as pandas writes it": (pa.nulls(3), [None, None, None]),
    "dates": (raw([0, 2932896, -719162], pa.date32()), ["1970-01-01", "9999-12-31", "0001-01-01"]),
    "dates in milliseconds": (raw([86_400_000, None], pa.date64()), ["1970-01-02", None]),
    "times": (raw([1, None], pa.timestamp("s")), ["1970-01-01 00:00:01", None]),
    "NaT": (raw([-(2**63), 1], pa.timestamp("ns")), [None, "1970-01-01 00:00:00.000000001"]),
    "NaT with a time zone": (raw([-(2**63), 0], pa.timestamp("ns", "UTC")), [None, "1970-01-01 00:00:00+00:00"]),
    "times of day": (raw([0, 86_399_999_999], pa.time64("us")), ["00:00:00", "23:59:59.999999"]),
    "an offset": (raw([0], pa.timestamp("us", "+01:30")), ["1970-01-01 01:30:00+01:30"]),
    "booleans": (pa.array([True, None, False]), ["True", None, "False"]),
    "decimals": (pa.array([150, None, -5], pa.decimal128(9, 2)), ["150.0", None, "-5.0"]),
    "whole decimals": (pa.array([150, None], pa.decimal128(38, 0)), ["150", None]),
    "text as bytes": (pa.array([b"caf\xc3\xa9", None, b"caf\xc3\xa9"]), ["café", None, "café"]),
    "dictionaries of dates": (
        pa.DictionaryArray.from_arrays(pa.array([1, 0, None, 1], pa.int8()), raw([0, 1], pa.date32())),
        ["1970-01-02", "1970-01-01", None, "1970-01-02"],
    ),
    "dictionaries of numbers": (pa.array([1.5, None, 1.5]).dictionary_encode(), ["1.5", None, "1.5"]),
    "large text": (pa.array(["a", None, "é"], pa.large_string()), ["a", None, "é"]),
    "text": (pa.array(["a", None, "", "a"]), ["a", None, None, "a"]),
    "NaN": (pa.array([1.0, float("nan"), None]), ["1.0", None, None]),
}


@pytest.mark.parametrize(("column", "expected"), READ.values(), ids=READ)
@pytest.mark.regression(number=8)
def test_values_that_are_read(tmp_path, column, expected):
    path = saved(tmp_path / "qi.parquet", A=column)
    assert texts(path) == expected
    there = tuple(dict.fromkeys(text for text in expected if text))
    for attribute in (Attribute("A", values=(*there, "(missing)")), Attribute("A", "numeric")):
        assert outcome(merging(path), attribute) == outcome(path, attribute)


NOT_UTF8 = pa.array([b"a", None, b"\xff"], pa.binary())
REFUSED = {
    "after 9999": (raw([0, 2932897], pa.date32()), "row 2", "a date in the years 1 to 9999",
        "2932897 as 'date32[day]'"),
    "before 1": (raw([-719163], pa.date32()), "row 1", "a date in the years 1 to 9999", "date32"),
    "milliseconds after 9999": (raw([0, 0, 2**62], pa.date64()), "row 3", "a date in the years", "date32[day]"),
    "times after 9999": (raw([2**62], pa.timestamp("us")), "row 1", "a date in the years 1 to 9999", "timestamp[us]"),
    "an unknown time zone": (raw([None, 0], pa.timestamp("us", "Mars/Utopia")), "row 2", "in a time zone that is known",
        "0 as 'timestamp[us, tz=Mars/Utopia]'"),
    "nanoseconds beyond": (raw([2**63 - 1], pa.timestamp("ns", "Europe/Berlin")), "row 1",
        "in a time zone that is known", "tz=Europe/Berlin"),
    "a day of 25 hours": (raw([90_000], pa.time32("s")), "row 1", "a time of day", "90000000 as 'time32[ms]'"),
    "a time below 0": (raw([0, -1], pa.time64("ns")), "row 2", "a time of day", "-1 as 'time64[ns]'"),
    "a long duration": (raw([2**62], pa.duration("s")), "row 1", "a duration of at most 999999999 days", "duration[s]"),
    "no UTF-8": (NOT_UTF8.view(pa.string()), "row 3", "text in UTF-8", "bytes that are none"),
    "large text, no UTF-8": (NOT_UTF8.cast(pa.large_binary()).view(pa.large_string()), "row 3", "text in UTF-8",
        "bytes that are none"),
    "bytes": (NOT_UTF8, "row 3", "text in UTF-8", "bytes that are none"),
    "dictionaries of bytes": (NOT_UTF8.dictionary_encode(), "row 3", "text in UTF-8", "bytes that are none"),
    "large decimals": (pa.array([1, 10**30], pa.decimal128(38, 0)), "row 2", "a whole number of at most 18", "'1000"),
    "lists": (pa.array([["a"], None]), "columns", "text, numbers or other plain values", "list"),
    "structs": (pa.array([{"a": 1}]), "columns", "text, numbers or other plain values", "struct"),
    "maps": (pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int8())), "columns", "plain values", "map"),
    "bytes of a fixed size": (pa.array([b"ab"], pa.binary(2)), "columns", "plain values", "fixed_size_binary"),
}  # fmt: skip


@pytest.mark.parametrize(("column", "where", "expected", "found"), REFUSED.values(), ids=REFUSED)
@pytest.mark.regression(number=8)
def test_values_that_are_refused(tmp_path, column, where, expected, found):
    path = saved(tmp_path / "qi.parquet", A=column)
    for attribute in (Attribute("A", values=("x",)), Attribute("A", "numeric")):
        ((there, field, wanted, seen),) = refusals(path, Release(TARGET, (attribute,), ()))
        assert (there, field) == (where, "A")
        assert expected in wanted
        assert found in seen
        assert outcome(merging(path), attribute) == outcome(path, attribute)
    refused(f"{where}: A: expected", read_training, path, target="A", qi=["B"])


def test_the_row_is_counted_through_batches_and_row_groups(tmp_path):
    days = [0] * 200_000
    days[177_776] = 3_000_000
    parquet.write_table(pa.table({"A": raw(days, pa.date32())}), tmp_path / "qi.parquet", row_group_size=30_000)
    release = Release(TARGET, (Attribute("A", values=("1970-01-01",)),), ())
    for source in (tmp_path / "qi.parquet", merging(tmp_path / "qi.parquet")):
        assert refusals(source, release)[0][:2] == ("row 177777", "A")


@pytest.mark.regression(number=8)
def test_a_footer_with_any_byte_changed_is_read_or_refused(tmp_path):
    """And does not end the process, as Arrow does when Python asks for a column of which the footer says too little."""
    path = saved(tmp_path / "q.parquet", A=pa.array([["x"]]), B=["b"])
    good = path.read_bytes()
    length = int.from_bytes(good[-8:-4], "little")
    refused = set()
    for i in range(len(good) - 8 - length, len(good) - 8, 2):
        path.write_bytes(good[:i] + bytes([good[i] ^ 1]) + good[i + 1 :])
        try:
            read_frame(path, "qi", ["B"])
        except InvalidInput as error:
            refused |= {problem.found for problem in error.problems}
    assert any("size mismatch" in found for found in refused)


def test_a_refused_cell_of_several_files_names_its_file(tmp_path):
    saved(tmp_path / "1.parquet", A=["a"])
    second = saved(tmp_path / "2.parquet", A=NOT_UTF8)
    with pytest.raises(InvalidInput) as caught:
        read_qi(f"{tmp_path}/*.parquet", Release(TARGET, (Attribute("A", values=("a",)),), ()))
    assert caught.value.source == str(second)


@pytest.mark.regression(number=8)
def test_a_column_that_is_empty_in_one_of_several_files(tmp_path):
    saved(tmp_path / "1.parquet", A=[1, 2], B=["x", "y"])
    saved(tmp_path / "2.parquet", A=pa.nulls(2), B=pa.nulls(2))
    release = Release(TARGET, (Attribute("A", values=("1", "2", "(missing)")),), ())
    assert read_qi(f"{tmp_path}/*.parquet", release).counts.tolist() == [1, 1, 2]
    release = Release(TARGET, (Attribute("A", "numeric"),), ())
    assert refusals(f"{tmp_path}/*.parquet", release)[0][0] == f"{tmp_path}/2.parquet, row 1"


def test_other_columns_may_hold_anything(tmp_path):
    assert texts(saved(tmp_path / "qi.parquet", A=[1], B=[["a"]], C=raw([2**31 - 1], pa.date32()))) == ["1"]


@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
def test_text_in_every_encoding(tmp_path, encoding):
    cells = [f"value {i % 3000}" for i in range(5000)]
    path = tmp_path / "qi.parquet"
    table = pa.table({"A": cells, "B": list(range(5000))})
    parquet.write_table(table, path, use_dictionary=False, column_encoding={"A": encoding})
    assert texts(path) == cells
    attribute = Attribute("A", values=tuple(dict.fromkeys(cells)))
    assert outcome(merging(path), attribute) == outcome(path, attribute)


def test_text_of_pages_that_stop_using_a_dictionary(tmp_path):
    cells = [str(i % 10) for i in range(100_000)] + [str(i) for i in range(200_000)]
    path = tmp_path / "qi.parquet"
    parquet.write_table(pa.table({"A": cells}), path, dictionary_pagesize_limit=1000)
    assert texts(path) == cells


def test_decimals_are_numbers_to_train_on(tmp_path):
    path = saved(tmp_path / "data.parquet", A=pa.array([1, 2, 3], pa.decimal128(9, 2)), T=["a", "b", "a"])
    (attribute,) = read_training(path, target="T", qi=["A"]).attributes
    assert attribute.type == "numeric"


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("us"), pa.time64("us"), pa.duration("s")])
def test_dates_are_no_categories_to_train_on(tmp_path, kind):
    path = saved(tmp_path / "data.parquet", A=raw([1, 2, 3], kind), T=["a", "b", "a"])
    with pytest.raises(InvalidInput, match=r"column 'A': type: expected categories or numbers.*found dates or times"):
        read_training(path, target="T", qi=["A"])
    assert read_training(path, target="T", qi=["A"], categorical=["A"]).attributes[0].type == "categorical"


def test_dates_are_no_categories_of_a_study_either(tmp_path):
    path = saved(tmp_path / "data.parquet", A=raw([1, 2, 3], pa.date32()), T=["a", "b", "a"])
    study = tmp_path / "study.toml"
    text = f'[data.people]\nfile = "{path.name}"\ntarget = "T"\n[[grid]]\nmethod = "none"\n'
    study.write_text(text, encoding="utf-8")
    refused(r"column 'A': type: .* name it in categorical when .*found dates or times", load_study, study)
    study.write_text(text.replace("[[grid]]", 'categorical = ["A"]\n[[grid]]'), encoding="utf-8")
    assert len(load_study(study).points) == 1


UNITS = ["s", "ms", "us", "ns"]
ZONES = [None, "UTC", "Europe/Berlin", "+05:30", "Mars/Utopia", "", "../../etc/passwd", "Ünknown"]
kinds = st.one_of(
    st.sampled_from([pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")]),
    st.builds(pa.timestamp, st.sampled_from(UNITS), st.sampled_from(ZONES)),
    st.builds(pa.duration, st.sampled_from(UNITS)),
)
edges = st.sampled_from([None, 0, 1, -1, 86_400, 2932897, -719163, 253402300800, 2**31 - 1, -(2**31), -(2**63)])
columns = st.one_of(
    st.builds(
        lambda kind, numbers: (
            raw([None if n is None else max(-(2**31), min(2**31 - 1, n)) for n in numbers], kind)
            if kind.bit_width == 32
            else raw(numbers, kind)
        ),
        kinds,
        st.lists(edges | st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5),
    ),
    st.builds(
        lambda cells, kind: pa.array(cells, pa.binary()).view(kind),
        st.lists(st.none() | st.binary(max_size=4) | st.just(b"a"), min_size=1, max_size=5),
        st.sampled_from([pa.binary(), pa.string()]),
    ),
    st.lists(st.none() | st.floats() | st.just(-0.0), min_size=1, max_size=5).map(
        lambda cells: pa.array(cells, pa.float64())
    ),
    st.lists(st.none() | st.decimals(-10, 10, places=2), min_size=1, max_size=5).map(
        lambda cells: pa.array(cells, pa.decimal128(20, 2))
    ),
    st.integers(1, 4).map(pa.nulls),
    st.sampled_from([pa.array([["a"]]), pa.array([{"a": 1}]), pa.array([[1, 2]], pa.list_(pa.int8(), 2))]),
)


@settings(max_examples=60)
@given(columns, st.booleans(), st.sampled_from(["1", "1970-01-01", "a", "(missing)"]))
@pytest.mark.regression(number=8)
def test_any_values_are_read_or_refused_alike(tmp_path_factory, column, coded, value):
    if coded and not pa.types.is_nested(column.type):
        column = column.dictionary_encode()
    try:
        path = saved(tmp_path_factory.mktemp("any") / "qi.parquet", A=column)
    except (pa.ArrowException, ValueError, OverflowError):
        return  # no such file can be written
    for attribute in (Attribute("A", values=(value, "x")), Attribute("A", "numeric")):
        assert outcome(merging(path), attribute) == outcome(path, attribute)
    with pytest.raises(InvalidInput):  # there is no column B
        read_training(path, target="A", qi=["B"])


def test_nothing_of_a_file_that_was_read_is_kept(tmp_path):
    parquet.write_table(pa.table({"A": ["x", "y"]}), tmp_path / "qi.parquet")
    for _ in range(3):
        read_frame(tmp_path / "qi.parquet", "qi", ["A"])
    gc.collect()
    assert not [each for each in gc.get_objects() if type(each) is _Footer]
