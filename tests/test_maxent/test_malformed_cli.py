"""Wrong input on the command line: exit status 2, a message with place, field, expected and found, no file left."""

import gzip
import json
import os
import subprocess
import sys

import pytest
from support import documents
from support.calls import printed_by
from support.search import some

import maxent
from maxent.__main__ import main
from maxent.models.files.output import write_text

BASE = json.loads(documents.DOCUMENTED) | {"release": {"sampling_rate": 1.0, "suppressed_below": 0}}
QI = "Education,Age\n" + "Masters,30\n" * 4 + "Masters,40\n" * 2 + "Doctorate,50\n" * 4
TRUTH = "Education,Age,Salary\n" + "Masters,30,<=50K\n" * 3 + "Masters,30,>50K\n" + "Masters,40,<=50K\n" * 2
TRUTH += "Doctorate,50,>50K\n" * 3 + "Doctorate,50,<=50K\n"
L1 = ("trees", 0, "nodes", 2)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a release, a table and a truth that are all right."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tree.json").write_text(json.dumps(BASE), encoding="utf-8")
    (tmp_path / "qi.csv").write_text(QI, encoding="utf-8")
    (tmp_path / "truth.csv").write_text(TRUTH, encoding="utf-8")
    return tmp_path


def changed(path, value):
    return documents.changed(BASE, (path, value))


def refused(folder, capsys, *fragments, call=(), command="estimate"):
    """Run a command that must be refused; the lines of its message."""
    before = sorted(os.listdir(folder))
    status = main([command, "tree.json", "qi.csv", "-o", "out.csv", *call])
    printed = capsys.readouterr()
    assert status == 2
    assert printed.out == ""
    assert "Traceback" not in printed.err
    assert sorted(os.listdir(folder)) == before
    lines = printed.err.splitlines()
    assert all(line.startswith("maxent: ") and len(line) < 600 for line in lines)
    for fragment in fragments:
        assert any(fragment in line for line in lines), f"{fragment!r} is not in\n{printed.err}"
    assert all(": expected " in line and ", found " in line for line in lines[:1])
    return lines


def test_what_the_malformed_inputs_are_made_from_is_right(folder, capsys):
    assert printed_by(capsys, ["estimate", "tree.json", "qi.csv", "--truth", "truth.csv", "-o", "out.csv"]).err == ""
    assert (folder / "out.csv").exists()


# Of each kind of file one mistake: test_malformed_releases and test_malformed_tables have all of them.
FILES = {
    "release: rule": ("tree.json", json.dumps(changed(("release", "epsilon"), 1)).encode(),
        "tree.json: release: epsilon: expected only the keys"),
    "release: node no object": ("tree.json", json.dumps(changed(L1, 7)).encode(),
        "tree.json: node number 3: content: expected an object, found 7"),
    "release: truncated": ("tree.json", json.dumps(BASE)[:-40].encode(), "line 1, column"),
    "table: nan": ("qi.csv", b"Education,Age\nMasters,nan\n",
        "no tree can route them), found a missing value ('nan' on 1 line)"),
    "table: UTF-16 without a mark": ("qi.csv", QI.encode("utf-16-le"),
        "expected CSV text in UTF-8 (--csv-encoding names another encoding)"),
    "table: no encoding": ("qi.csv", b"Education,Age\nMa\x81\x8dtres,30\n",
        "can be told (name it: --csv-encoding cp1252, say)"),
    "truth: too few": ("truth.csv", TRUTH[:-20].encode(), "truth.csv: "),
    "facts: nobody": ("facts.csv", b"Age,Salary\n99,>50K\n", "facts.csv: line 2"),
    "marginal: sum": ("marginal.csv", b"Salary,count\n<=50K,1\n>50K,1\n",
        "marginal.csv: rows: count: expected counts that sum"),
}  # fmt: skip


@pytest.mark.parametrize("case", FILES.values(), ids=FILES)
def test_a_file_with_a_mistake(folder, capsys, case):
    name, content, message = case
    (folder / name).write_bytes(content)
    option = name.removesuffix(".csv")
    refused(folder, capsys, message, call=[f"--{option}", name] if option in ("truth", "facts", "marginal") else [])


CALLS = {
    "tree is missing": (
        ["gone.json", "qi.csv"],
        "gone.json: file: path: expected a file that can be read, found no such",
    ),
    "qi is a directory": (["tree.json", "."], "file: path: expected"),
    "over an input": (["tree.json", "qi.csv", "-o", "./qi.csv"], "maxent: -o: expected a file of its own, found"),
    "tolerance nan": (["tree.json", "qi.csv", "--tolerance", "nan"], "tolerance: expected a number between 0 and 1"),
    "seed": (["tree.json", "qi.csv", "--seed", "-1"], "seed: expected a whole number of at least 0"),
    "rounding": (["tree.json", "qi.csv", "--rounding", "foo"], "--rounding: expected one of auto, digits, exact"),
    "count": (["tree.json", "qi.csv", "--count", "n"], "qi.csv: header: n: expected a column of this name"),
}


@pytest.mark.parametrize("case", CALLS.values(), ids=CALLS)
def test_a_call(folder, capsys, case):
    arguments, message = case
    before = sorted(os.listdir(folder))
    printed = printed_by(capsys, ["estimate", *arguments], 2)
    assert printed.out == ""
    assert message in printed.err
    assert ", found " in printed.err
    assert sorted(os.listdir(folder)) == before


def test_a_device_is_never_replaced(folder, capsys):
    """By a link with a suitable name; a named pipe stands for devices, which tests must not touch."""
    os.mkfifo(folder / "pipe")
    (folder / "out.csv").symlink_to(folder / "pipe")
    assert main(["estimate", "tree.json", "qi.csv", "-o", "out.csv"]) == 2
    assert "maxent: -o: expected a file that can be written, found 'out.csv', which is no regular file" in (
        capsys.readouterr().err
    )
    assert (folder / "pipe").is_fifo()
    with pytest.raises(maxent.InvalidInput, match="no regular file"):
        write_text(folder / "out.csv", "text")
    assert (folder / "pipe").is_fifo()


@pytest.mark.parametrize("arguments", [["estimat"], ["estimate"], ["predict", "tree.json"], ["--jsno"]])
def test_a_command_that_is_none(folder, capsys, arguments):
    printed = printed_by(capsys, arguments, 2)
    assert printed.out == ""
    assert "Usage: maxent" in printed.err


@pytest.mark.parametrize("option", ["-o", "--pyomo", "--nl"])
def test_explain_writes_nothing_for_a_wrong_release(folder, capsys, option):
    (folder / "tree.json").write_text(json.dumps(changed((*L1, "n"), -4)), encoding="utf-8")
    before = sorted(os.listdir(folder))
    assert main(["explain", "tree.json", "qi.csv", option, "out.nl" if option == "--nl" else "out.json"]) == 2
    assert "node L1: n: expected" in capsys.readouterr().err
    assert sorted(os.listdir(folder)) == before


def test_explain_refuses_two_outputs_in_one_file(folder, capsys):
    assert main(["explain", "tree.json", "qi.csv", "--pyomo", "m.nl", "--nl", "m.nl"]) == 2
    assert "--nl: expected a file of its own" in capsys.readouterr().err


def test_all_problems_are_listed_with_their_number(folder, capsys):
    document = changed((*L1, "n"), -4)
    document["trees"][0]["nodes"][4]["label"] = "rich"
    (folder / "tree.json").write_text(json.dumps(document), encoding="utf-8")
    assert refused(folder, capsys, "node L1: n: ", "node L3: label: ")[-1] == "maxent: 2 problems"


def test_messages_cannot_control_the_terminal(folder, capsys):
    (folder / "tree.json").write_text(json.dumps(changed((*L1, "label"), "\x1b[2J\n")), encoding="utf-8")
    (line,) = refused(folder, capsys, "node L1: label: ")
    assert line.isprintable()


def test_one_line_of_100_megabytes(folder, capsys):
    with open(folder / "qi.csv", "wb") as file:
        file.write(b"Education,Age\n")
        file.write(b"x" * 100 * 2**20)
    refused(folder, capsys, "qi.csv: line 2")


def test_in_a_process_of_its_own(folder):
    (folder / "tree.json").write_text(json.dumps(changed((*L1, "n"), -4)), encoding="utf-8")
    before = sorted(os.listdir(folder))
    call = [sys.executable, "-m", "maxent", "estimate", "tree.json", "qi.csv", "-o", "out.csv"]
    ran = subprocess.run(call, capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "tree.json: node L1: n: expected" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert sorted(os.listdir(folder)) == before


HASH = "$6$Qz81xWvK$Jm4nTb9rLpYc7uHdGe"
TOKEN = "hunter2-Vq93kXzPw"
KEY = "sk_live_8Fj2mNcR"
SHADOW = f"root:{HASH}:19000:0:99999:7:::\ndaemon:{TOKEN}:19000:0\nkeeper:{KEY}:1\n"
SHAPES = {
    "shadow": SHADOW,
    "one line": f"{TOKEN}{HASH}",
    "hierarchy-like": f"{HASH};{TOKEN}\n{HASH};{KEY}\n{TOKEN};x;y\n",
    "parents": f"a,{HASH},{TOKEN}\nb,{HASH},{KEY}\na,{KEY},*\n",
    "json": json.dumps({HASH: TOKEN, "keys": [KEY, {"deep": HASH}], TOKEN: 3}),
    "json lists": json.dumps({HASH: [TOKEN, KEY], TOKEN: [1, 2], KEY: ["a"]}),
    "json repeated": f'{{"{HASH}": 1, "{HASH}": "{TOKEN}"}}',
    "json format": json.dumps({"format": HASH, "target": {"name": TOKEN, "classes": KEY}, "trees": [{KEY: 1}]}),
    "json list": json.dumps([TOKEN, KEY]),
    "json text": json.dumps(TOKEN),
    "json broken": f'{{"password": "{TOKEN}", {HASH}',
    "toml": f'password = "{TOKEN}"\n[{KEY}]\ntoken = "{HASH}"\n',
    "toml twice": f'[{KEY}]\na = 1\n[{KEY}]\npassword = "{TOKEN}"\n',
    "toml inline": f'x = {{"{KEY}" = 1, "{KEY}" = 2}}\n',
    "toml data": f'[data]\npassword = "{TOKEN}"\ntoken = "{HASH}"\n',
    "csv": f"{TOKEN},{KEY}\n{HASH},1\n{HASH},2\n",
    "csv repeated": f"{TOKEN},{TOKEN}\n{HASH},1\n",
    "csv ragged": f"{TOKEN},{KEY}\n{HASH}\n{HASH},{KEY},{TOKEN}\n",
    "csv semicolons": f"{TOKEN};{KEY}\n{HASH};1\n",
    "open quote": f'{TOKEN},{KEY}\n"{HASH},1\n',
    "open quote first": f'"{HASH}\n{TOKEN}\n',
    "long line": f"{TOKEN},{KEY}\n" + f"{HASH}{TOKEN}" * 30_000 + ",1\n",
    "binary": b"\x80\x00" + TOKEN.encode() + b"\xff\xfe\x00" + HASH.encode(),
    "not utf-8": TOKEN.encode() + b"\xff" + HASH.encode() + b"\n",
    "nul": TOKEN.encode() + b"\0" + HASH.encode(),
    "gzip": gzip.compress(SHADOW.encode()),
    "like parquet": b"PAR1" + SHADOW.encode() + b"PAR1",
}
SECRETS = (HASH, TOKEN, KEY)
PIECES = {secret[i : i + 6] for secret in SECRETS for i in range(len(secret) - 5)}

DEFEND = ["--target", "Salary", "--qi", "Education,Age", "-o", "out.json"]
KADET = ["--k", "2"]
DATA = '[data.people]\nfile = "{file}"\ntarget = "Salary"\n{more}[[grid]]\nmethod = "{method}"\n'
STUDY_ROLES = {
    "file": {"file": "secret.csv", "more": 'qi = ["Education", "Age"]\n'},
    "file whose columns are not named": {"file": "secret.csv", "more": ""},
    "test": {"more": 'test = "secret.csv"\n'},
    "domains": {"more": 'domains = "secret.csv"\n', "method": "rdt"},
    "hierarchies": {"more": 'hierarchies = "groups"\n', "method": "kadet"},
}
FOREIGN_CALLS = {
    "release": [[command, "secret.json", "qi.csv"] for command in ("estimate", "audit", "explain", "bench")]
    + [["audit", "secret.json"], ["compare", "tree.json", "secret.json", "qi.csv"]]
    + [["estimate", "secret.json", "qi.csv", "--text", "strip"]],
    "table": [[command, "tree.json", "secret.csv"] for command in ("estimate", "audit", "explain", "bench")]
    + [["compare", "tree.json", "tree.json", "secret.csv"], ["estimate", "tree.json", "secret.csv", "--count", "n"]]
    + [["estimate", "tree.json", "secret.parquet"], ["estimate", "tree.json", "secret*.csv"]]
    + [["audit", "records.csv", "secret.csv", *target] for target in ([], ["--target", "Salary"])],
    "truth": [[command, "tree.json", "qi.csv", "--truth", "secret.csv"] for command in ("estimate", "bench")]
    + [["compare", "tree.json", "tree.json", "qi.csv", "--truth", "secret.csv"]],
    "test": [
        ["compare", "tree.json", "tree.json", "qi.csv", "--truth", "truth.csv", "--test", "secret.csv"],
        ["defend", "none", "truth.csv", *DEFEND, "--test", "secret.csv"],
    ],
    "facts": [
        [command, "tree.json", "qi.csv", "--facts", "secret.csv"]
        for command in ("estimate", "audit", "explain", "bench")
    ],
    "marginal": [
        [command, "tree.json", "qi.csv", "--marginal", "secret.csv"] for command in ("estimate", "explain", "bench")
    ],
    "published records": [[command, "secret.csv", "qi.csv"] for command in ("estimate", "audit", "explain")]
    + [["audit", "secret.csv", "qi.csv", "--target", "Salary"], ["compare", "secret.csv", "tree.json", "qi.csv"]],
    "data": [["defend", method, "secret.csv", *DEFEND] for method in ("none", "erp", "rdt")],
    "hierarchy": [["defend", "kadet", "truth.csv", *DEFEND, *KADET, "--hierarchies", "groups"]],
    "domains": [["defend", "rdt", "truth.csv", *DEFEND, "--domains", "secret.json"]],
    "study": [["sweep", "secret.toml", "--dry-run"], ["sweep", "secret.toml", "-o", "results"]],
    **{f"study: {role}": [["sweep", "study.toml", "--dry-run"]] for role in STUDY_ROLES},
}


def pieces_in(text):
    """The pieces of secrets that a text has."""
    return sorted(piece for piece in PIECES if piece in text)


@pytest.fixture
def foreign_folder(tmp_path, monkeypatch):
    """A folder with a release, tables and records that are all right."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tree.json").write_text(json.dumps(BASE), encoding="utf-8")
    (tmp_path / "qi.csv").write_text(QI, encoding="utf-8")
    (tmp_path / "truth.csv").write_text(TRUTH, encoding="utf-8")
    (tmp_path / "records.csv").write_text("Education,Age,Salary\nMasters,30-40,a\nDoctorate,50,b\n", encoding="utf-8")
    (tmp_path / "groups").mkdir()
    return tmp_path


def run(capsys, monkeypatch, arguments):
    """Run the command, and return its exit status and all that it prints."""
    monkeypatch.setattr(sys, "argv", ["maxent", *arguments])
    try:
        status = main(arguments)
    except SystemExit as end:
        status = end.code
    printed = capsys.readouterr()
    return status, printed.out + printed.err


# Shapes that are tried by default; the others take long together, and so do all but the first with `bench`.
USUAL = ("shadow", "one line", "json", "json broken", "toml", "csv", "csv semicolons", "binary")


@pytest.mark.parametrize("shape", USUAL)
@pytest.mark.parametrize("role", FOREIGN_CALLS)
@pytest.mark.regression(number=13)
def test_nothing_of_a_foreign_file_is_shown(foreign_folder, capsys, monkeypatch, role, shape):
    by_bench = shape not in USUAL[1:]
    nothing_shown(foreign_folder, capsys, monkeypatch, role, shape, lambda command: command != "bench" or by_bench)


OTHERS = [(role, shape) for shape in SHAPES if shape not in USUAL for role in FOREIGN_CALLS]
BENCHED = [role for role, calls in FOREIGN_CALLS.items() if any(call[0] == "bench" for call in calls)]


@pytest.mark.slow
@pytest.mark.search
@pytest.mark.parametrize(("role", "shape"), some(OTHERS, 5))
def test_nor_of_files_of_other_shapes(foreign_folder, capsys, monkeypatch, role, shape):
    nothing_shown(foreign_folder, capsys, monkeypatch, role, shape, lambda command: True)


@pytest.mark.slow
@pytest.mark.search
@pytest.mark.parametrize(("role", "shape"), some([(role, shape) for shape in USUAL[1:] for role in BENCHED], 4))
@pytest.mark.regression(number=13)
def test_nor_by_bench(foreign_folder, capsys, monkeypatch, role, shape):
    """It starts a process for each call."""
    nothing_shown(foreign_folder, capsys, monkeypatch, role, shape, lambda command: command == "bench")


def nothing_shown(foreign_folder, capsys, monkeypatch, role, shape, tried):
    """Refuse a file of a shape in a role, by the commands that are to be ``tried``."""
    content = SHAPES[shape]
    content = content if isinstance(content, bytes) else content.encode()
    for name in ("secret.json", "secret.csv", "secret.parquet", "secret.toml", "groups/Education.csv"):
        (foreign_folder / name).write_bytes(content)
    if role.startswith("study: "):
        usual = {"file": "truth.csv", "more": "", "method": "none"}
        study = DATA.format(**usual | STUDY_ROLES[role.removeprefix("study: ")])
        (foreign_folder / "study.toml").write_text(study, encoding="utf-8")
    for i, call in enumerate(FOREIGN_CALLS[role]):
        if not tried(call[0]):
            continue
        arguments = [*call, "--json"] if i % 2 else call
        status, printed = run(capsys, monkeypatch, arguments)
        if "hierarch" not in role:  # any text with a comma in each line may be one
            assert status == 2, (arguments, printed)
        assert "Traceback" not in printed
        assert pieces_in(printed) == [], (arguments, printed)
