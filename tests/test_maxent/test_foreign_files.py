"""A file that is no table or document of ours is refused without a word of what is in it, wherever it is named."""

import gzip
import json
import sys

import pytest
from support.search import some

from maxent.__main__ import main
from tests.test_maxent.test_malformed_cli import BASE, QI, TRUTH

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
CALLS = {
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
def folder(tmp_path, monkeypatch):
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
@pytest.mark.parametrize("role", CALLS)
@pytest.mark.regression(number=13)
def test_nothing_of_a_foreign_file_is_shown(folder, capsys, monkeypatch, role, shape):
    by_bench = shape not in USUAL[1:]
    nothing_shown(folder, capsys, monkeypatch, role, shape, lambda command: command != "bench" or by_bench)


OTHERS = [(role, shape) for shape in SHAPES if shape not in USUAL for role in CALLS]
BENCHED = [role for role, calls in CALLS.items() if any(call[0] == "bench" for call in calls)]


@pytest.mark.slow
@pytest.mark.search
@pytest.mark.parametrize(("role", "shape"), some(OTHERS, 5))
def test_nor_of_files_of_other_shapes(folder, capsys, monkeypatch, role, shape):
    nothing_shown(folder, capsys, monkeypatch, role, shape, lambda command: True)


@pytest.mark.slow
@pytest.mark.search
@pytest.mark.parametrize(("role", "shape"), some([(role, shape) for shape in USUAL[1:] for role in BENCHED], 4))
@pytest.mark.regression(number=13)
def test_nor_by_bench(folder, capsys, monkeypatch, role, shape):
    """It starts a process for each call."""
    nothing_shown(folder, capsys, monkeypatch, role, shape, lambda command: command == "bench")


def nothing_shown(folder, capsys, monkeypatch, role, shape, tried):
    """Refuse a file of a shape in a role, by the commands that are to be ``tried``."""
    content = SHAPES[shape]
    content = content if isinstance(content, bytes) else content.encode()
    for name in ("secret.json", "secret.csv", "secret.parquet", "secret.toml", "groups/Education.csv"):
        (folder / name).write_bytes(content)
    if role.startswith("study: "):
        usual = {"file": "truth.csv", "more": "", "method": "none"}
        study = DATA.format(**usual | STUDY_ROLES[role.removeprefix("study: ")])
        (folder / "study.toml").write_text(study, encoding="utf-8")
    for i, call in enumerate(CALLS[role]):
        if not tried(call[0]):
            continue
        arguments = [*call, "--json"] if i % 2 else call
        status, printed = run(capsys, monkeypatch, arguments)
        if "hierarch" not in role:  # any text with a comma in each line may be one
            assert status == 2, (arguments, printed)
        assert "Traceback" not in printed
        assert pieces_in(printed) == [], (arguments, printed)
