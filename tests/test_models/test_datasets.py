"""Public data sets by name: found in folders, fetched from a server and compared with checksums, or refused."""

import csv
import json
import os
import threading
from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from support.calls import printed_by, refusal, refused

from maxent import datasets
from maxent.__main__ import main
from maxent.models.tables import datasets as tables_datasets
from maxent.models.tables.datasets import DATA_SETS, DataSet
from maxent.models.tables.datasets import FilePart as Part

DATA = os.environ.get("MAXENT_DATA")
TRAIN = b"39, State-gov, <=50K\n50, ?, >50K\n\n"
TEST = b"|1x3 Cross validator\n25, Private, <=50K.\n\n"
TABLE = "age,work,class,fold\n39,State-gov,<=50K,train\n50,?,>50K,train\n25,Private,<=50K,test\n"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        del arguments


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A folder that is served, with a cache elsewhere; the mirror that has it."""
    folder = tmp_path / "served"
    folder.mkdir()
    running = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=running.serve_forever, daemon=True).start()
    monkeypatch.setenv("MAXENT_MIRROR", f"http://127.0.0.1:{running.server_port}/")
    monkeypatch.setenv("MAXENT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MAXENT_DATA", raising=False)
    yield folder
    running.shutdown()
    running.server_close()


@pytest.fixture
def small(server, monkeypatch):
    """A small data set of two files, which are served."""
    parts = []
    for name, content, fold in (("few.data", TRAIN, "train"), ("few.test", TEST, "test")):
        (server / name).write_bytes(content)
        parts.append(Part(f"https://nowhere.invalid/{name}", len(content), sha256(content).hexdigest(), fold))
    few = DataSet("few", "a few", "class", 3, ("age", "work", "class"), tuple(parts), "nobody")
    monkeypatch.setitem(tables_datasets.DATA_SETS, "few", few)
    return server


def test_a_table_is_fetched_once_and_kept(small, tmp_path):
    assert datasets.load("few").to_csv(index=False) == TABLE
    assert (tmp_path / "cache/few.csv").read_text() == TABLE
    for file in small.iterdir():
        file.unlink()
    assert datasets.fetch("few") == tmp_path / "cache/few.csv"


def test_the_folder_of_data_comes_first(small, tmp_path, monkeypatch):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/few.csv").write_text("age\n1\n")
    monkeypatch.setenv("MAXENT_DATA", str(tmp_path / "data"))
    assert datasets.load("few").to_csv(index=False) == "age\n1\n"
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("change", [lambda x: x[:-1], lambda x: x + b" ", lambda x: x.replace(b"39", b"38")])
def test_another_file_is_refused_and_nothing_kept(small, tmp_path, change):
    (small / "few.data").write_bytes(change(TRAIN))
    refused(r"few\.data: download: few: expected the file with the SHA-256", datasets.load, "few")
    assert not list(tmp_path.glob("cache/*"))


def test_without_a_connection_it_says_what_else_there_is(small, capsys, monkeypatch):
    (small / "few.test").unlink()
    error = printed_by(capsys, ["fetch", "few"], 2).err
    for said in ("few.test", "few.csv in a folder that MAXENT_DATA names", "404"):
        assert said in error
    monkeypatch.setenv("MAXENT_MIRROR", "http://127.0.0.1:9")
    refused("expected a connection", datasets.load, "few")
    monkeypatch.setenv("MAXENT_MIRROR", "file:///etc")
    refused("no web address", datasets.load, "few")
    for mirror in ("http://me:hunter2@127.0.0.1:9", "http://me:hunter2/x@h", "http://127.0.0.1:9/?sig=hunter2"):
        monkeypatch.setenv("MAXENT_MIRROR", mirror)
        assert "hunter2" not in str(refusal(datasets.load, "few"))
    refused("did you mean 'adult'", datasets.load, "adlut")


def test_the_command_lists_writes_and_never_replaces_its_source(small, tmp_path, capsys):
    listed = json.loads(printed_by(capsys, ["fetch", "--json"]).out)["data_sets"]
    assert [each["name"] for each in listed] == [*DATA_SETS]
    assert main(["fetch", "few", "-o", str(tmp_path / "out.csv")]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'out.csv'}\n3 rows, class column 'class'; nobody\n"
    assert (tmp_path / "out.csv").read_text() == TABLE
    assert main(["fetch", "few", "-o", str(tmp_path / "cache/few.csv")]) == 2
    assert main(["fetch", "-o", str(tmp_path / "out.csv")]) == 2


def test_the_cache_is_the_user_s_unless_it_is_named(monkeypatch, tmp_path):
    monkeypatch.delenv("MAXENT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(tables_datasets.sys, "platform", "linux")
    assert tables_datasets.cache_folder() == tmp_path / "maxent"


def test_the_docs_list_every_data_set():
    page = (Path(__file__).parents[2] / "docs/datasets.md").read_text()
    for each in DATA_SETS.values():
        assert f"| `{each.name}` | {each.rows:,} | `{each.target}` | {each.words} |\n" in page


def as_served(name, table):
    """The files of the source, made from a table of it."""
    header, *rows = csv.reader(table.read_text().splitlines())
    if name != "adult":
        return [("\n".join(",".join(row) for row in rows) + "\n" * (1 + (name == "nursery"))).encode()]
    del header
    train, test = [[", ".join(row[:-1]) for row in rows if row[-1] == fold] for fold in ("train", "test")]
    return [("\n".join(train) + "\n\n").encode(), ("|1x3 Cross validator\n" + ".\n".join(test) + ".\n\n").encode()]


@pytest.mark.parametrize("name", [*DATA_SETS])
def test_checksums_are_those_of_the_real_files(server, name):
    if not DATA:
        pytest.skip("needs real data: set MAXENT_DATA to the folder with adult.csv, nursery.csv and others")
    real, wanted = Path(DATA) / f"{name}.csv", DATA_SETS[name]
    for part, content in zip(wanted.parts, as_served(name, real), strict=True):
        (server / part.name).write_bytes(content)
    assert datasets.fetch(name).read_bytes() == real.read_bytes()
    assert len(datasets.load(name)) == wanted.rows
    assert wanted.target in datasets.load(name).columns
