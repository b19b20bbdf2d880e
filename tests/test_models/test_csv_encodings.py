"""CSV in other encodings than UTF-8: recognised and told, named, or refused."""

import gzip
import json
import random

import pytest

from maxent.__main__ import main
from maxent.models.errors import InvalidInput
from maxent.models.reading import Reader, Reading
from maxent.models.tables import csv_files
from maxent.models.tables.out_of_core import aggregate
from maxent.models.tables.table_files import read_frame
from maxent.studies.study_file import load_study

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


def read(path, merged=False, **reading):
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
    (rows, lines, notes), (merged, _, same) = read(path, **reading), read(path, merged=True, **reading)
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
    said = [f"text is in {named[encoding]}, as its byte-order mark says"] if encoding in named else []
    assert notes == said
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
    with pytest.raises(InvalidInput) as refusal:
        read_frame(path, "data", ["A"])
    (problem,) = refusal.value.problems
    assert (problem.where, problem.field) == ("line 2", "encoding")
    assert "or in an encoding that can be told (name it: csv_encoding='cp1252', say)" in problem.expected
    assert encoding in problem.found.partition("; it may be ")[2]


@pytest.mark.parametrize("merged", [False, True])
def test_a_byte_far_below_that_is_none_of_the_encoding_is_refused_by_line(tmp_path, merged):
    path = tmp_path / "data.csv"
    path.write_bytes(b"A,B\r\n" + b"K\xf6ln,x\r\n" * 20_000 + b"y,\x81\r\n")
    found = []
    for reading in ({"csv_encoding": "cp1252"}, {"csv_encoding": "utf-8"}):
        with pytest.raises(InvalidInput) as refusal:
            read(path, merged, **reading)
        (problem,) = refusal.value.problems
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
    records = load_study(study).data["people"].records
    assert records["A"].tolist() == ["žena", "muž", "řidič"]
    study.write_text(text.replace("NAME", "letters"), encoding="utf-8")
    with pytest.raises(InvalidInput, match="csv_encoding: expected an encoding, such as cp1252, found 'letters'"):
        load_study(study)


def test_commands_take_and_tell_the_encoding(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{age},{town},{'yes' if age % 3 else 'no'}\n" for age in range(20, 40) for town in ("Köln", "Bonn"))
    (tmp_path / "people.csv").write_bytes(("age,town,class\n" + rows).encode("cp1252"))
    call = ["defend", "none", "people.csv", "--target", "class", "--qi", "age,town", "-o", "tree.json", "--json"]
    assert main(call) == 0
    (note, *_) = json.loads(capsys.readouterr().out)["notes"]
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
        assert main([*call, option, "letters"]) == 2
        assert f"{option}: expected a" in capsys.readouterr().err
