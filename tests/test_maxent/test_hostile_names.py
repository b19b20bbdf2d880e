"""Names from files, of whatever characters, reach a terminal as text: results, tables, notes, errors, progress."""

import ast
import json
import os
from pathlib import Path

import pandas as pd
import pytest
from support.documents import release_document
from support.studies import write_study
from support.terminals import in_terminal, many_in_terminal, steering

import maxent

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")

# Sequences that set the title, clear the screen, turn the text; a line separator, and markup of Rich's.
BAD = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\u2028\x7f\u200b[red]"

SHOWN = b"\\x1b]0;owned\\x07\\x1b[2J\\x9b31m\\u202e\\u2028\\x7f\\u200b[red]"

CLASSES = [f"yes{BAD}", f"no{BAD}"]
VALUES = [f"a{BAD}", f"b{BAD}"]
FILE, QI = f"tree{BAD}.json", f"qi{BAD}.csv"


def document(**leaf):
    """A release all of whose names are bad."""
    return release_document(
        f"T{BAD}",
        CLASSES,
        {f"V{BAD}": VALUES, f"W{BAD}": None},
        {
            "induction": {"algorithm": "id3", "impurity": "entropy", "candidates": "thresholds"},
            "nodes": [
                {
                    "id": f"N{BAD}",
                    "attribute": f"V{BAD}",
                    "branches": [{"in": VALUES[:1], "child": f"A{BAD}"}, {"in": VALUES[1:], "child": f"B{BAD}"}],
                },
                {"id": f"A{BAD}", "counts": {CLASSES[0]: 3, CLASSES[1]: 1}},
                {"id": f"B{BAD}", "label": CLASSES[0], **leaf},
            ],
        },
    )


STUDY = """
[study]
name = {name}
[data.{data}]
file = {file}
target = {target}
qi = {qi}
[[grid]]
method = ["none", "prune-leaf"]
max_depth = 2
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    people = pd.DataFrame({f"V{BAD}": [*VALUES * 4], f"W{BAD}": range(8)})
    truth = people.assign(**{f"T{BAD}": [CLASSES[i] for i in (0, 0, 0, 1, 1, 0, 0, 0)]})
    people.to_csv(folder / QI, index=False)
    people.to_csv(folder / "qi.csv", index=False)
    truth.to_csv(folder / "truth.csv", index=False)
    truth.to_csv(folder / "records.csv", index=False)
    truth.assign(**{f"V{BAD}": f"c{BAD}"}).to_csv(folder / "unknown.csv", index=False)
    (folder / FILE).write_text(json.dumps(document()), encoding="utf-8")
    (folder / "wrong.json").write_text(json.dumps(document(n=3, counts={f"what{BAD}": 1})), encoding="utf-8")
    (folder / "facts.csv").write_text("x\n", encoding="utf-8")
    names = {key: json.dumps(value) for key, value in {"name": "a [/b]" + BAD, "file": "truth.csv"}.items()}
    names |= {"data": json.dumps(f"d{BAD}"), "target": json.dumps(f"T{BAD}"), "qi": json.dumps([*people.columns])}
    write_study(folder, STUDY.format(**names))
    names["qi"] = json.dumps([f"Q{BAD}"])
    (folder / "wrong.toml").write_text(STUDY.format(**names), encoding="utf-8")
    return folder


DEFEND = ["truth.csv", "--target", f"T{BAD}", "--qi", f'"V{BAD}","W{BAD}"']
CALLS = {
    "estimate": (0, ["estimate", FILE, QI]),
    "estimate with a truth": (0, ["estimate", FILE, QI, "--truth", "truth.csv", "--min-k", "9", "-o", "p.csv"]),
    "estimate records": (0, ["estimate", "records.csv", "qi.csv"]),
    "bounds": (0, ["bounds", FILE, QI]),
    "audit": (0, ["audit", FILE, QI]),
    "audit records": (0, ["audit", "records.csv", "qi.csv"]),
    "compare": (0, ["compare", FILE, FILE, "--qi", QI, "--truth", "truth.csv", "--test", "truth.csv"]),
    "explain": (0, ["explain", FILE, QI]),
    "explain as LaTeX": (0, ["explain", FILE, QI, "--latex"]),
    "defend": (0, ["defend", "prune-leaf", *DEFEND, "-o", f"out{FILE}", "--k", "2", "--k", "3"]),
    "bench": (0, ["bench", FILE, QI, "--backends", "newton"]),
    "backends": (0, ["backends"]),
    "sweep": (0, ["sweep", "study.toml", "-o", f"out{FILE}.d"]),
    "sweep, listed": (0, ["sweep", "study.toml", "--dry-run"]),
    "json": (0, ["explain", FILE, QI, "--json"]),
    "a wrong release": (2, ["estimate", "wrong.json", QI]),
    "a wrong table": (2, ["estimate", FILE, "unknown.csv"]),
    "wrong facts": (2, ["audit", FILE, QI, "--facts", "facts.csv"]),
    "a wrong truth": (2, ["compare", FILE, "--qi", QI, "--truth", "unknown.csv"]),
    "wrong columns": (2, ["defend", "none", "truth.csv", "--target", f"X{BAD}", "--qi", BAD, "-o", "x.json"]),
    "a wrong back end": (2, ["bench", FILE, QI, "--backends", BAD]),
    "a wrong study": (2, ["sweep", "wrong.toml", "-o", "elsewhere"]),
    "a folder that is a file": (2, ["sweep", "study.toml", "-o", FILE]),
    "a file that is not there": (2, ["explain", f"gone{FILE}", QI]),
    "an output of no kind": (2, ["estimate", FILE, QI, "-o", f"out{BAD}"]),
}


UNNAMED = ("backends", "bench")  # Calls whose results have no names from files


@pytest.fixture(scope="module")
def ran(folder):
    return dict(zip(CALLS, many_in_terminal([arguments for _, arguments in CALLS.values()], folder), strict=True))


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.regression(number=10)
def test_no_name_steers_the_terminal(ran, name):
    status, arrived = ran[name]
    assert steering(arrived) == []
    assert b"Traceback" not in arrived
    assert status == CALLS[name][0]
    shown = {"json": rb"\u001b]0;owned", "explain as LaTeX": rb"\textbackslash{}x1b"}.get(name, SHOWN)
    assert (shown in arrived) == (name not in UNNAMED)


@pytest.mark.regression(number=10)
def test_what_a_progress_bar_says_is_no_markup(ran):
    """It used to end the study that is called so."""
    assert rb"a [/b]\x1b]0;owned" in ran["sweep"][1]


def test_terminals_without_escape_sequences_get_none(folder):
    status, arrived = in_terminal(["estimate", FILE, QI], folder, term="dumb")
    assert status == 0
    assert b"\x1b" not in arrived


@pytest.mark.regression(number=10)
def test_nothing_is_printed_but_where_text_is_made_printable():
    """Of all modules of the package."""
    allowed = {"results/text/terminal.py", "command_line/progress.py", "commands/main.py", "__main__.py"}
    root = Path(maxent.__file__).parent
    folders = [root, *(root.parent / name for name in ("models", "constraints", "solvers"))]
    found = set()
    for folder in folders:
        for path in folder.rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call):
                    called = ast.unparse(node.func)
                    if called in ("print", "Console") or called.endswith(("stdout.write", "stderr.write")):
                        found.add(path.relative_to(folder).as_posix())
    assert found == allowed
