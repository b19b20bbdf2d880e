"""Processes and clusters: the same options with the same meaning in every command that has them."""

import json

import pandas as pd
import pytest
from support.paths import D1

import maxent
from maxent.__main__ import main
from maxent.commands.main import COMMANDS, made

TREE, QI, TRUTH = (str(D1 / name) for name in ("tree.json", "qi.csv", "truth.csv"))
TRAINING = ["--target", "Salary", "--qi", "Education,Country,Gender"]
# A call of every command with workers. What they are asked of is refused before any of it is read.
CALLS = {
    "estimate": [TREE, QI],
    "bounds": [TREE, QI, "--level", "closed"],
    "audit": [TREE, QI],
    "review": [TREE, TRUTH, *TRAINING],
    "check": [TREE, QI, "--policy", "satre"],
    "compare": [TREE, TREE, QI],
    "bench": [TREE, QI, "--backends", "newton"],
    "advise": [TRUTH, *TRAINING, "--max-certain", "0"],
    "sweep": ["study.toml", "-o", "out"],
}


def options(command):
    """The options of a command: the help of each."""
    found = made(command)
    return {name: option.help for option in found.params for name in option.opts if getattr(option, "help", None)}


def test_whatever_has_jobs_has_dask_and_says_the_same():
    of = {command: options(command) for command in COMMANDS if command != "defend"}
    assert {name for name, found in of.items() if "--jobs" in found or "--dask" in found} == CALLS.keys()
    assert len({of[command]["--dask"] for command in CALLS}) == 1
    meaning = "Number of parallel processes; -1: one for each core"  # before what the default is, which differs
    assert [name for name in CALLS if not of[name]["--jobs"].startswith(meaning)] == []


@pytest.mark.parametrize("command", CALLS)
def test_what_is_no_address_is_refused_before_anything_is_read(tmp_path, monkeypatch, capsys, command):
    pytest.importorskip("distributed")
    monkeypatch.chdir(tmp_path)
    assert main([command, *CALLS[command], "--dask", "local:0"]) == 2
    assert "--dask: expected the address of a Dask scheduler" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def told(capsys, call):
    """What a call says, without seconds and memory."""
    status = main([*call, "--json"])
    printed = capsys.readouterr()
    assert status in (0, 1, 3), printed.err

    def plain(value):
        if isinstance(value, dict):
            keys = (key for key in value if not key.endswith("seconds") and key != "peak_memory_mb")
            return {key: plain(value[key]) for key in keys}
        return [plain(each) for each in value] if isinstance(value, list) else value

    return status, plain(json.loads(printed.out))


@pytest.mark.slow
@pytest.mark.parametrize("where", ["tcp", "local:1"])
@pytest.mark.parametrize("command", [name for name in CALLS if name not in {"advise", "sweep"}])
def test_a_cluster_changes_nothing(command, where, address, capsys):
    call = [command, *CALLS[command]]
    assert told(capsys, [*call, "--dask", address if where == "tcp" else where]) == told(capsys, [*call, "--jobs", "2"])


@pytest.mark.slow
def test_a_cluster_changes_nothing_of_a_difference(tmp_path, address):
    older = tmp_path / "older.csv"
    pd.read_csv(QI).iloc[:-1].to_csv(older, index=False)
    release = maxent.load_release(TREE)
    here, there = (
        maxent.compare_releases([release, release], [older, QI], knowledge="label", **options)
        for options in ({}, {"dask": address})
    )
    pd.testing.assert_frame_equal(here.frame(), there.frame())
