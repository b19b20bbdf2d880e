"""Reading takes at most 30 times the content, as it is unpacked, and 150 MB: measured in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from test_models.test_onnx import field, model, trees

READ = """
import sys
from maxent.models.errors import InvalidInput
from maxent.models.formats.conversion import Wanted
from maxent.models.formats.registry import convert_model
from maxent.models.reading import Reader, Reading
from maxent.models.tables.table_files import read_frame
from maxent.studies.toml_lines import line_numbers, toml_document

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
FEW = ("carriage returns", "a dotted key", "packed numbers", "operators")
SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in FILES if name not in FEW]


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="no high-water mark of memory")
@pytest.mark.parametrize("name", [*FEW, *SLOW])
def test_reading_takes_memory_by_what_is_read(tmp_path: Path, name: str) -> None:
    how, small, made = FILES[name]
    content = made()
    for path, data in {"small": small, "large": content}.items():
        (tmp_path / path).write_bytes(data)
    command = [sys.executable, "-c", READ, how, str(tmp_path / "small"), str(tmp_path / "large")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    taken, _, said = done.stdout.partition(" ")
    size = ONE if how == "skops" else len(content)
    assert float(taken) < 30 * size / 1e6 + 150, said
