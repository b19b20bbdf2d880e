"""``--text`` and ``--na`` of the commands: what is refused, read as asked, and told."""

import json

import numpy as np
import pandas as pd
import pytest

from maxent.__main__ import main


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Records with a class in two spellings, and one in two cases; and a table with holes."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"job": rng.choice(list("abc"), 60), "zip": rng.choice(["01102", "10001"], 60)})
    data["y"] = rng.choice(["low", "high"], 60)
    data.to_csv("plain.csv", index=False)
    data.assign(y=data["y"].where(data.index % 2 == 0, data["y"] + " ")).to_csv("blank.csv", index=False)
    data.assign(job=data["job"].where(data.index != 5, "n.a.")).to_csv("holes.csv", index=False)
    data.assign(job=data["job"].where(data.index != 5, "A")).to_csv("case.csv", index=False)
    return tmp_path


def run(capsys, *arguments):
    status = main(list(arguments))
    printed = capsys.readouterr()
    return status, printed.out, printed.err


DEFEND = ("--target", "y", "--qi", "job,zip", "--k", "3", "-o", "tree.json")


@pytest.mark.regression(number=1)
def test_blanks_are_refused_and_stripped_when_asked(folder, capsys):
    status, out, err = run(capsys, "defend", "prune-parent", "blank.csv", *DEFEND)
    assert (status, out) == (2, "")
    assert "'low'" in err
    assert "'low '" in err
    assert "--text strip" in err
    assert "--text exact" in err
    assert not (folder / "tree.json").exists()
    status, out, _ = run(capsys, "defend", "prune-parent", "blank.csv", *DEFEND, "--text", "strip", "--json")
    assert status == 0
    assert "blank.csv: column 'y': 'high' and 'high ' are read as one value" in "\n".join(json.loads(out)["notes"])
    assert json.loads((folder / "tree.json").read_text())["target"]["classes"] == ["high", "low"]
    assert run(capsys, "estimate", "tree.json", "blank.csv", "--truth", "blank.csv")[0] == 2
    for command in ("estimate", "compare"):
        call = [command, "tree.json", "blank.csv", "--truth", "blank.csv", "--text", "strip", "--json"]
        assert run(capsys, *call)[0] == 0
    assert run(capsys, "audit", "tree.json", "blank.csv", "--text", "strip")[0] == 0
    assert run(capsys, "explain", "tree.json", "blank.csv", "--text", "strip")[0] == 0


@pytest.mark.regression(number=2)
def test_missing_values_are_what_na_names(folder, capsys):
    call = ["defend", "prune-parent", "holes.csv", *DEFEND, "--missing", "category", "--json"]
    status, out, _ = run(capsys, *call)
    assert status == 0
    assert "missing" not in json.loads(out)
    status, out, err = run(capsys, *call, "--na", "NA,n.a.")
    assert status == 0
    assert json.loads(out)["missing"] == {"holes.csv": {"job": 1}}
    assert "note: holes.csv: column 'job' has no value on 1 line ('n.a.' on 1 line): that is read as '(missing)'" in err
    status, out, err = run(capsys, "audit", "tree.json", "holes.csv", "--na", "NA", "--na", "n.a.", "--json")
    assert status == 0
    assert json.loads(out)["missing"] == {"holes.csv": {"job": 1}}
    assert run(capsys, "audit", "tree.json", "holes.csv")[0] == 2


def test_notes_go_to_standard_error_once(folder, capsys):
    status, out, err = run(capsys, "defend", "prune-parent", "case.csv", *DEFEND)
    assert status == 0
    assert "differ only by case" not in out
    assert err.count("differ only by case") == 1
    assert "has '01102', and a number has no leading zeros" in err
