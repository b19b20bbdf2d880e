"""Reading takes at most 30 times the content, as it is unpacked, and 150 MB: measured in processes of their own."""

import gzip
import json
import os
import pickle
import shutil
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.calls import refusal, refused
from support.documents import release_document
from test_models.test_onnx import SEEDS, field, model, trees

import maxent
from maxent.api.estimate import compile_release
from maxent.constraints.program.residuals import Evaluator
from maxent.models.columns import FEW_CLASSES, LIMIT, SparseCounts, complete_counts, positive_counts, total_count
from maxent.models.errors import InvalidInput
from maxent.models.formats.maxent_json.read import parse_release
from maxent.models.formats.maxent_json.write import release_to_document
from maxent.models.formats.registry import load_release

READ = """
import sys
from maxent.models.errors import InvalidInput
from maxent.models.formats.release_reader import Wanted
from maxent.models.formats.registry import convert_model
from maxent.models.reading import Reader, Reading
from maxent.models.tables.table_files import read_frame
from maxent.models.files.toml import line_numbers, toml_document

def read(path):
    try:
        if how == "table":
            read_frame(path, "data", ["A"])
        elif how == "toml":
            with open(path, encoding="utf-8") as file:
                text = file.read()
            toml_document(text, path)
            line_numbers(text)
        else:
            convert_model(path, Wanted(), Reader(Reading(format=how)))
    except InvalidInput as error:
        return f"refused: {error}"
    return "read"

def most():  # unlike what getrusage knows, without what the process had before it was this one
    [size] = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
    return int(size) / 1000

how, small, path = sys.argv[1:]
read(small)
before = most()
said = read(path)
print(most() - before, said[:300])
"""

ONE = 10**6


def operator(content: bytes) -> bytes:
    """An ensemble of trees, one attribute of which has this for content."""
    return model([trees(nodes_nodeids=None) + field(5, field(1, "nodes_nodeids") + content + field(20, 7))], [])


def zipped(content: bytes) -> bytes:
    found = BytesIO()
    with ZipFile(found, "w", ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", content)
    return found.getvalue()


def workbook(row: bytes) -> bytes:
    """A workbook with these rows of XML below its header."""
    openpyxl = pytest.importorskip("openpyxl", reason="needs openpyxl: pip install '.[excel]'")
    book, before, after = openpyxl.Workbook(), BytesIO(), BytesIO()
    book.active.append(["A"])
    book.save(before)
    with ZipFile(before) as old, ZipFile(after, "w", ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "xl/worksheets/sheet1.xml":
                content = content.replace(b"</sheetData>", row + b"</sheetData>")
            new.writestr(name, content)
    return after.getvalue()


def columns(values: pa.Array, name: str = "A") -> bytes:
    """A Parquet file of a column."""
    found = BytesIO()
    parquet.write_table(pa.table({name: values}), found, compression="zstd")
    return found.getvalue()


def unpacked(data: bytes) -> int:
    """Bytes that a file has, unpacked; a cell of Parquet has 8 where runs take less."""
    if data.startswith(b"PK"):
        with ZipFile(BytesIO(data)) as archive:
            return sum(member.file_size for member in archive.infolist())
    if data.startswith(b"PAR1"):
        about = parquet.ParquetFile(BytesIO(data)).metadata
        groups = [about.row_group(i) for i in range(about.num_row_groups)]
        stored = sum(group.column(i).total_uncompressed_size for group in groups for i in range(group.num_columns))
        return max(stored, 8 * about.num_rows * about.num_columns)
    return len(gzip.decompress(data)) if data.startswith(b"\x1f\x8b") else len(data)


JSON = {
    "objects": b"[" + b"{}," * (ONE // 3) + b"{}]",
    "lists": b"[" + b"[]," * (ONE // 3) + b"[]]",
    "keys": b"{" + b",".join(b'"%x":0' % i for i in range(ONE // 9)) + b"}",
    "numbers": b"[" + b"9e9," * (ONE // 4) + b"0]",
}
HEAD: dict[str, bytes] = {
    "maxent/1": b'{"format":"maxent/1","trees":',
    "xgboost-json": b'{"learner":',
    "lightgbm-json": b'{"tree_info":',
    "catboost-json": b'{"oblivious_trees":',
    "treelite-json": b'{"trees":',
}

FILES: dict[str, tuple[str, bytes, Callable[[], bytes]]] = {
    "carriage returns": ("table", b"A\n1\n", lambda: b"\r" * 5 * ONE),
    "carriage returns and a mark": ("table", b"A\n1\n", lambda: b"\xef\xbb\xbf\r" * ONE + b"A\n1\n"),
    "commas": ("table", b"A\n1\n", lambda: b"," * ONE + b"\n"),
    "quotes": ("table", b"A\n1\n", lambda: b"A\n" + b'""\n' * ONE),
    "short rows": ("table", b"A\n1\n", lambda: b"A\n" + b"1\n" * ONE),
    "different texts": ("table", b"A\n1\n", lambda: b"A\n" + b"".join(b"%x\n" % i for i in range(2 * ONE))),
    "a dotted key": ("toml", b"a = 1\n", lambda: b"a." * 20_000 + b"a = 1\n"),
    "headers": ("toml", b"a = 1\n", lambda: b"".join(b"[%x.a.a.a]\n" % i for i in range(24_000))),
    "tables": ("toml", b"a = 1\n", lambda: b"".join(b"[%x]\n" % i for i in range(99_000))),
    "packed numbers": ("onnx", model([trees()], []), lambda: operator(field(8, b"\1" * 6 * ONE))),
    "single numbers": ("onnx", model([trees()], []), lambda: operator(b"\x40\1" * ONE)),
    "operators": ("onnx", model([trees()], []), lambda: model([b""] * (ONE // 2), [])),
    "named operators": ("onnx", model([trees()], []), lambda: model([field(4, "a")] * (ONE // 5), [])),
    "inputs": ("onnx", model([trees()], []), lambda: model([], [b""] * (ONE // 2))),
    "words": ("onnx", model([trees()], []), lambda: operator(b"\x4a\0" * (ONE // 2))),
    "dimensions": ("onnx", model([trees()], []), lambda: model([], [], [field(1, b"\1" * 6 * ONE) + field(2, 1)])),
    "empty doubles": ("onnx", model([trees()], []), lambda: model([], [], [b"\x52\0" * ONE + field(2, 11)])),
    "whole numbers": ("onnx", model([trees()], []), lambda: model([], [], [b"\x38\1" * ONE + field(2, 7)])),
    "objects of UBJSON": ("xgboost-ubj", b"{}", lambda: b"{U\1a[" + b"{}" * (ONE // 2) + b"]}"),
    "lists of UBJSON": ("xgboost-ubj", b"{}", lambda: b"{U\1a[" + b"[]" * (ONE // 2) + b"]}"),
    "empty texts of UBJSON": ("xgboost-ubj", b"{}", lambda: b"{U\1a[" + b"SU\0" * (ONE // 3) + b"]}"),
    "nothings of UBJSON": ("xgboost-ubj", b"{}", lambda: b"{U\1a[" + b"Z" * ONE + b"]}"),
    "elements": ("pmml", b"<PMML/>", lambda: b"<PMML>" + b"<a/>" * (ONE // 4) + b"</PMML>"),
    "attributes": (
        *("pmml", b"<PMML/>"),
        lambda: b"<PMML " + b" ".join(b'a%x=""' % i for i in range(ONE // 9)) + b"/>",
    ),
    "levels": ("pmml", b"<PMML/>", lambda: b"<PMML>" + b"<a>" * (ONE // 7) + b"</a>" * (ONE // 7) + b"</PMML>"),
    **{
        f"{kind} in {name}": (name, start + b"0}", lambda start=start, kind=kind: start + JSON[kind] + b"}")
        for name, start in HEAD.items()
        for kind in (JSON if name == "maxent/1" else ("objects", "numbers"))
    },
    **{
        f"{name} in gzip": ("table.csv.gz", gzip.compress(b"A\n1\n"), lambda data=data: gzip.compress(data()))
        for name, data in {
            "rows": lambda: b"A\n" + b"1\n" * ONE,
            "carriage returns": lambda: b"\r" * 20 * ONE,
            "one line": lambda: b"A\n" + b"x" * 20 * ONE,
        }.items()
    },
    **{
        f"{name} of a workbook": ("table.xlsx", workbook(b""), lambda row=row: workbook(row))
        for name, row in {
            "empty rows": b"<row/>" * (ONE // 6),
            "last cells": b"".join(b'<row r="%d"><c r="XFD%d"><v>1</v></c></row>' % (i, i) for i in range(2, 4000)),
            "cells of a row": b"<row>" + b"<c/>" * 10_000 + b"</row>",
            "parts of a cell": b'<row><c t="inlineStr"><is>' + b"<r/>" * (ONE // 16) + b"</is></c></row>",
        }.items()
    },
    **{
        f"{name} in Parquet": ("table.parquet", columns(pa.array(["1"])), lambda made=made: columns(made()))
        for name, made in {
            "a run of a long text": lambda: pa.DictionaryArray.from_arrays(np.zeros(2 * ONE, np.int32), ["x" * 10_000]),
            "a run of nothings": lambda: pa.nulls(2 * ONE, pa.string()),
            "a text": lambda: pa.array(["x" * 20 * ONE]),
        }.items()
    },
    "arrays in skops": ("skops", zipped(b"{}"), lambda: zipped(b"0" * 100 * ONE)),
    "nodes of YDF": ("ydf", b"", lambda: b"BS\0\0\1\0\0\0" + gzip.compress(bytes(100 * ONE))),
    "a run in Spark": ("spark", b"", lambda: columns(pa.array(np.zeros(30 * ONE, np.int32)), "id")),
    "objects in skops": ("skops", zipped(b"{}"), lambda: zipped(b'{"a":' + JSON["objects"] + b"}")),
    **{
        f"lines of {name}": (name, b"x", lambda line=line: line * (ONE // len(line)))
        for name, line in {
            "weka": b"A > 1\n",
            "graphviz": b"0;\n",
            "spark-text": b"If (a <= 1)\n",
            "xgboost-dump": b"0:leaf=1\n",
            "lightgbm-table": b"1,1\n",
            "xgboost-table": b"1,1\n",
        }.items()
    },
}
# Models that are folders, and the file in them that is changed.
FOLDERS = {"ydf": "nodes-*", "spark": "stages/4_*/data/part-*.parquet"}

FEW = ("carriage returns", "a dotted key", "packed numbers", "operators")
SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in FILES if name not in FEW]


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="no high-water mark of memory")
@pytest.mark.parametrize("name", [*FEW, *SLOW])
def test_reading_takes_memory_by_what_is_read(tmp_path: Path, name: str) -> None:
    how, small, made = FILES[name]
    content = made()
    kind, _, suffix = how.partition(".")
    paths = [tmp_path / f"{which}.{suffix}" for which in ("small", "large")]
    if how in FOLDERS:
        for path in paths:
            shutil.copytree(SEEDS / how, path)
        [changed] = paths[1].glob(FOLDERS[how])
        changed.write_bytes(content)
    else:
        for path, data in zip(paths, (small, content), strict=True):
            path.write_bytes(data)
    command = [sys.executable, "-c", READ, kind, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    taken, _, said = done.stdout.partition(" ")
    # What is packed too tightly is refused before it is unpacked.
    size = len(content) if how in (*FOLDERS, "skops") else unpacked(content)
    assert float(taken) < 30 * size / 1e6 + 150, said


def document(n: int, *, inner: bool = False, size: int = 3) -> dict:
    """A chain of cuts of x into n leaves; everybody in leaf i has class i, and so has the node above, if stated."""
    classes = [f"c{i}" for i in range(n)]
    nodes = []
    for i in range(n - 1):
        node = {
            "id": f"N{i}",
            "attribute": "x",
            "branches": [
                {"le": i + 0.5, "child": f"L{i}"},
                {"gt": i + 0.5, "child": f"N{i + 1}" if i < n - 2 else "Z"},
            ],
        }
        if inner and i == 0:
            node["counts"] = dict.fromkeys(classes, size)
        nodes += [node, {"id": f"L{i}", "counts": {classes[i]: size}}]
    nodes.append({"id": "Z", "label": classes[-1], "n": size, "counts": {classes[-1]: size, classes[0]: 0}})
    return release_document("t", classes, {"x": None}, nodes)


def test_counts_are_a_mapping_of_every_class():
    every = dict.fromkeys([f"c{i}" for i in range(FEW_CLASSES + 1)], 0)
    counts = complete_counts(every, {"c3": 2, "c5": 0})
    assert isinstance(counts, SparseCounts)
    assert isinstance(counts, Mapping)
    assert (counts["c3"], counts["c4"], counts.get("nobody"), len(counts)) == (2, 0, None, len(every))
    assert list(counts) == list(every)
    assert sum(counts.values()) == total_count(counts) == 2
    assert positive_counts(counts) == {"c3": 2}
    assert counts == every | {"c3": 2}
    assert every | {"c3": 2} == counts
    assert pickle.loads(pickle.dumps(counts)) == counts
    assert repr(counts) == "{'c3': 2} of 65 classes"
    with pytest.raises(KeyError):
        counts["nobody"]
    assert complete_counts({"a": 0, "b": 0}, {"b": 2}) == {"a": 0, "b": 2}


def test_few_classes_or_many_read_alike():
    small, large = (parse_release(document(n), "r").trees[0].nodes[1].counts for n in (FEW_CLASSES, FEW_CLASSES + 1))
    assert isinstance(small, dict)
    assert isinstance(large, SparseCounts)
    assert small == {label: large[label] for label in small}


@pytest.mark.regression(number=11)
def test_memory_of_a_release_grows_with_the_document(tmp_path):
    """2,000 classes and leaves: 4 million counts, of which 2,000 are stated."""
    path = tmp_path / "tree.json"
    text = json.dumps(document(2000))
    path.write_text(text)
    tracemalloc.start()
    release = parse_release(json.loads(text), str(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40 * path.stat().st_size, "a dictionary of all classes for each leaf takes 1,000 times the file"
    assert load_release(path) == release
    release.save(tmp_path / "again.json")
    assert load_release(tmp_path / "again.json") == release
    assert (tmp_path / "again.json").stat().st_size < 3 * path.stat().st_size
    assert release_to_document(release)["trees"][0]["nodes"][1]["counts"] == {"c0": 3}


@pytest.mark.parametrize(
    ("change", "where", "found"),
    [
        (lambda d: d["trees"][0]["nodes"][0]["counts"].update(c7=2), "counts of c7", "2"),
        (lambda d: d["trees"][0]["nodes"][1].update(label="c9"), "label", "'c9', which has 0"),
        (lambda d: d["trees"][0]["nodes"][-1].update(n=4), "n", "4"),
    ],
)
def test_what_contradicts_itself_is_still_found(change, where, found):
    wrong = document(100, inner=True)
    parse_release(wrong, "r")
    change(wrong)
    refused = refusal(parse_release, wrong, "r")
    assert (refused.problems[0].field, refused.problems[0].found) == (where, found)


def test_what_needs_a_number_per_class_and_row_names_its_limit(monkeypatch):
    release = parse_release(document(100), "r")
    table = pd.DataFrame({"x": [float(i) for i in range(100) for _ in range(3)]})
    assert maxent.audit(release, table)["homogeneity"]["leaves"] == 100
    assert maxent.estimate(release, table).disclosure.certain == 300
    monkeypatch.setenv(LIMIT, "5000")
    for ask in (maxent.audit, maxent.estimate):
        refused(f"at most 5,000 numbers.*{LIMIT}=N raises the limit.*10,000 numbers", ask, release, table)
    monkeypatch.setenv(LIMIT, "many")
    refused(f"{LIMIT}: expected a whole number, found 'many'", maxent.audit, release, table)


@pytest.mark.regression(number=15)
def test_the_rows_of_a_program_take_memory_for_what_is_not_0():
    """300 leaves that count 300 classes: 90,000 rows, of one coefficient each."""
    release = parse_release(document(300), "r")
    program = compile_release(release, pd.DataFrame({"x": [float(i) for i in range(300) for _ in range(3)]}))
    masses = 3.0 * np.eye(300)[program.cells.owner]
    tracemalloc.start()
    assert Evaluator(program).max_violation(masses) == 0.0
    assert Evaluator(program).max_violation(np.roll(masses, 1, axis=1)) > 0.5
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6, "a number for every row and class takes 216 MB"


def test_labels_of_very_many_classes_name_the_limit(monkeypatch):
    wrong = document(100)
    for node in wrong["trees"][0]["nodes"]:
        if "counts" in node:
            node["label"] = max(node["counts"], key=node["counts"].get)
            del node["counts"]
    table = pd.DataFrame({"x": [float(i) for i in range(100) for _ in range(3)]})
    assert maxent.estimate(parse_release(wrong, "r"), table).reliable
    monkeypatch.setenv(LIMIT, "20000")
    with pytest.raises(InvalidInput, match=f"comparisons of labels with classes.*{LIMIT}=N raises the limit"):
        maxent.estimate(parse_release(wrong, "r"), table)
