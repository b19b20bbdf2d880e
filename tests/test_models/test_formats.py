"""Formats of releases: what a file is recognised by, what is said of files that nobody knows, third parties."""

import pickle
import sys
import tomllib
import zipfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.calls import printed_by, refusal, refused
from support.paths import ROOT
from support.toys import install_package

import maxent
from maxent.__main__ import main
from maxent.models.errors import InvalidInput, MissingExtra
from maxent.models.formats import registry
from maxent.models.formats.registry import (
    OWN,
    load_release,
    open_published,
    own_reader,
    reader_for,
    reader_names,
    refusal_of,
)
from maxent.models.formats.release_reader import Head, ReleaseReader, read_head
from maxent.models.reading import Reader, Reading
from maxent.models.release import Attribute, Release, Target

READERS = tuple(map(own_reader, OWN))
D1 = ROOT / "examples" / "d1" / "tree.json"
STUMP = "stump 1\nSalary low high\nAge 37.5\n3 1\n0 4\n"
PEOPLE = pd.DataFrame({"Age": [20, 25, 30, 35, 40, 50, 60, 70]})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def toy(folder, monkeypatch):
    """The package of a third party, and entry points that are broken in two ways."""
    package = ROOT / "tests" / "toy_reader"
    project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    source = (package / "maxent_toy_reader.py").read_text(encoding="utf-8")
    assert len(source.splitlines()) < 50
    entries = project["entry-points"]["maxent.readers"]
    broken = {"absent": "maxent_absent:READER", "wrong": "maxent_toy_reader:read", "maxent/1": "maxent_absent:READER"}
    install_package(folder, "maxent_toy_reader", source, entries | broken, "maxent.readers")
    monkeypatch.syspath_prepend(folder)
    (folder / "tree.stump").write_text(STUMP, encoding="utf-8")
    (folder / "unnamed").write_text(STUMP, encoding="utf-8")
    PEOPLE.to_csv(folder / "qi.csv", index=False)
    yield folder
    sys.modules.pop("maxent_toy_reader", None)


def name_for(path):
    return reader_for(path).name


def test_files_are_recognised_by_what_is_in_them_then_by_suffix(folder):
    document = D1.read_text(encoding="utf-8")
    for name, content in {"tree": document, "tree.csv": document, "bom": "\ufeff\n" + document}.items():
        Path(name).write_text(content, encoding="utf-8")
        assert name_for(name) == "maxent/1"
    for name in ("a.json", "a.csv", "a.PARQUET", "a.csv.gz", "a.xlsx"):
        Path(name).write_text("x", encoding="utf-8")
        assert name_for(name) == ("maxent/1" if name == "a.json" else "records")


def test_the_first_that_recognises_a_file_reads_it_unless_another_is_named(folder, monkeypatch):
    def other(name, shown):
        return ReleaseReader(name, f"a {name}", (".json",), lambda path, reader: pd.DataFrame(), lambda head: shown)

    def broken(head):
        raise ZeroDivisionError

    failing = ReleaseReader("failing", "nothing", (".json",), READERS[1].read, broken)
    monkeypatch.setattr(registry, "known_readers", lambda: [failing, other("one", True), other("two", True), *READERS])
    assert name_for(D1) == "one"
    assert reader_for(D1, "weka").name == "weka"
    monkeypatch.setattr(registry, "known_readers", lambda: [other("one", False), *READERS])
    assert name_for(D1) == "maxent/1"
    Path("a.json").write_text("{}", encoding="utf-8")
    assert name_for("a.json") == "one"


def test_readers_are_listed_by_their_names():
    assert tuple(OWN) == tuple(reader.name for reader in READERS)


def test_a_model_may_be_a_folder(folder, monkeypatch):
    spark = ReleaseReader("spark", "a folder", (), lambda path, reader: None, lambda head: "metadata" in head.entries)
    monkeypatch.setattr(registry, "known_readers", lambda: [*READERS, spark])
    (folder / "model" / "metadata").mkdir(parents=True)
    assert name_for("model") == "spark"
    assert read_head("model").entries == ("metadata",)
    refused("expected a file that can be read, found a directory", load_release, "model/metadata")


def archive(path):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("schema.json", "secret")


PARTY = "\n\t Conditional inference tree with 2 terminal nodes\n\nsecret"
UNKNOWN = {
    "a pickle, which could run any code and is not loaded": lambda path: path.write_bytes(pickle.dumps(["secret"])),
    "a zip archive": archive,
    "R data": lambda path: path.write_bytes(b"RDX3\nsecret"),
    "XML or HTML": lambda path: path.write_text("\ufeff<html>secret", encoding="utf-8"),
    "a tree of R's party, whose print has no labels": lambda path: path.write_text(PARTY, encoding="utf-8"),
    "what R prints of a forest, which has no trees": lambda path: path.write_text(
        "\nCall:\n randomForest(x)\n", "utf-8"
    ),
    "CatBoost's program of a model": lambda path: path.write_text("###  Model data\nclass catboost_model", "utf-8"),
    "a model of npm's ml-cart or ml-random-forest, without names of columns and classes, and without counts": (
        lambda path: path.write_text('{"options": {"gainFunction": "gini"}, "secret": 1}', "utf-8")
    ),
    "a tree of npm's decision-tree, which keeps the training table in it": lambda path: path.write_text(
        '{"model": {"name": "health", "alias": "secret"}}', "utf-8"
    ),
    "XGBoost's old binary format": lambda path: path.write_bytes(b"binf" + b"\0" * 99 + b"secret gbtree"),
    "a drawing of one of XGBoost's trees, without those before it": lambda path: path.write_text(
        "digraph {\n    graph [ rankdir=TB ]", "utf-8"
    ),
    "a print of ydf, which rounds and leaves out where missing values of the training went": lambda path: (
        path.write_text("Tree #0\n'secret' in ['a'] [score=0.1]", "utf-8")
    ),
    "a JSON object": lambda path: path.write_text('{"learner": "secret"}', encoding="utf-8"),
    "a JSON list": lambda path: path.write_text(' ["secret"]', encoding="utf-8"),
    "a PDF document": lambda path: path.write_bytes(b"%PDF-1.7 secret"),
    "an HDF5 file, in which Keras keeps neural networks": lambda path: path.write_bytes(b"\x89HDF\r\n secret"),
    "binary data": lambda path: path.write_bytes(b"secret\0\xff\xfe"),
    "other text": lambda path: path.write_text("secret Straße", encoding="utf-8"),
}


@pytest.mark.parametrize("looks", UNKNOWN)
def test_what_nobody_recognises_is_said_to_be_what_it_looks_like(folder, looks, capsys):
    UNKNOWN[looks](folder / "model")
    [problem] = refusal(load_release, "model").problems
    assert problem.found == f"what looks like {looks}"
    other = refusal_of(read_head("model"))
    if other is None:
        for reader in READERS:
            endings = f" ({', '.join(reader.suffixes)})" if reader.suffixes else ""
            assert f"{reader.name}: {reader.words}{endings}" in problem.expected
        assert "()" not in problem.expected
    else:
        assert problem.expected == f"another export of the model: {other.instead}"
    said = printed_by(capsys, ["audit", "model"], 2).err
    assert other is not None or "--from can name" in said
    assert "secret" not in said


@given(st.binary(max_size=60), st.sampled_from(["", "\ufeff", '{"format": "maxent/1"', "PAR1", "\x80\x04"]))
def test_any_bytes_are_looked_at_without_an_error(content, start):
    head = Head("model", start.encode("latin-1" if start == "\x80\x04" else "utf-8") + content)
    assert head.looks
    known = [reader.name for reader in READERS if reader.recognise is not None and reader.recognise(head)]
    assert known == (["maxent/1"] if "maxent/" in start else [])


def test_an_unknown_format_lists_those_there_are(capsys):
    with pytest.raises(InvalidInput, match=r"format: expected one of maxent/1, .*found 'record'; did you mean"):
        maxent.audit(D1, reading=Reading(format="record"))
    assert main(["audit", str(D1), "--from", "record"]) == 2
    assert f"--from: expected one of {', '.join(reader_names())}" in capsys.readouterr().err


def test_records_are_no_trees(folder):
    Path("records.csv").write_text("A,T\nx,a\n", encoding="utf-8")
    assert open_published("records.csv", Reader()) == "records.csv"
    refused("format: expected a release of trees, found a table of generalised records", load_release, "records.csv")


def test_a_third_party_adds_a_reader(toy, capsys):
    assert reader_names() == (*(reader.name for reader in READERS), "absent", "stump", "wrong")
    release = load_release("unnamed")
    assert [node.counts for node in release.trees[0].leaves] == [{"low": 3, "high": 1}, {"low": 0, "high": 4}]
    release.save("tree.json")
    for call in (["audit"], ["estimate"], ["explain"], ["compare"], ["bench", "--backends", "newton", "--repeat", "1"]):
        command, *more = call
        assert main([command, "tree.stump", "qi.csv", "--json", *more]) == 0
    assert main(["estimate", "unnamed", "qi.csv", "--from", "stump", "--report", "report.html"]) == 0
    assert "--from stump" in Path("report.html").read_text(encoding="utf-8")
    refused("five lines of a stump", load_release, "tree.json", Reading(format="stump"))
    for name in ("absent", "wrong"):
        with pytest.raises(MissingExtra, match=f"reader '{name}' cannot be loaded: "):
            load_release("unnamed", Reading(format=name))


def test_what_a_third_party_reads_is_checked_as_every_release_is(folder, monkeypatch):
    empty = Release(Target("T", ("a", "a ")), (Attribute("x", "numeric"),), ())
    reader = ReleaseReader("other", "others", (".other",), lambda path, reader: empty)
    monkeypatch.setattr(registry, "known_readers", lambda: [*READERS, reader])
    Path("a.other").write_text("x", encoding="utf-8")
    refused(r"a.other: document: trees: expected a non-empty list of trees", load_release, "a.other")


def test_the_docs_list_the_readers():
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    rows = [f"| `{reader.name}` | {reader.words} | {', '.join(reader.suffixes)} |" for reader in READERS]
    assert "\n".join(rows) in text, rows


def test_the_docs_list_the_models():
    text = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    readers = [reader for reader in READERS if reader.convert is not None]
    asked: dict[str, list[str]] = {}
    for reader in readers:
        asked.setdefault(", ".join(f"`{name}`" for name in reader.parameters), []).append(f"`{reader.name}`")
    rows = [f"| {', '.join(names)} | {parameters} |" for parameters, names in asked.items() if parameters]
    assert "\n".join(rows) in text, rows
    assert all(f"\n`{reader.name}`\n:   " in text for reader in readers)
