"""Sweeps: rows are what the single commands give."""

import inspect
import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from sklearn.model_selection import train_test_split
from support.calls import printed_by, refusal, refused
from support.paths import ROOT
from support.studies import PEOPLE, STUDY, die_at_k_4, people, same, write_study

import maxent
from maxent.__main__ import main
from maxent.api import case
from maxent.api import defend as api_defend
from maxent.api.defend import defend
from maxent.disclosure.measures import MEASURES
from maxent.models.errors import InvalidInput
from maxent.models.files.toml import line_numbers
from maxent.studies import sweep as rehearsal_sweep
from maxent.studies import sweep as sweeping
from maxent.studies.data import Protocol, split
from maxent.studies.points import columns
from maxent.studies.results_folder import Folder
from maxent.studies.study_file import OPTIONS, RELEASE, load_study
from maxent.studies.sweep import sweep

EVERYTHING = (
    STUDY.replace('method = "none"', 'method = "none"\nknowledge = ["default", "label,rate"]')
    + """
[protocol]
test_share = 0.2
seeds = 2
[defaults]
max_depth = 3
[[grid]]
method = ["prune-leaf", "prune-parent", "erp"]
k = 4
min_size = 2
background = 2
[[grid]]
method = "kadet"
inducer = "c45"
k = 3
publish = "rates"
[[grid]]
method = "rdt"
max_depth = "default"
beta = 0.9
k = 2
trees = 2
estimate = false
"""
)


def test_rows_are_what_defend_and_compare_give(tmp_path):
    table = people(tmp_path)
    result = maxent.sweep(write_study(tmp_path, EVERYTHING), tmp_path / "out")
    assert [row["status"] for row in result.rows] == ["optimal"] * 12 + ["audited"] * 2
    assert result.reliable
    assert result.frame.columns.tolist() == list(columns())
    given = {"target": "secret", "qi": ["job", "sex", "age"]}
    for row in result.rows:
        rows, aside = train_test_split(np.arange(PEOPLE), test_size=0.2, random_state=row["seed"])
        train, test = table.iloc[rows].reset_index(drop=True), table.iloc[aside].reset_index(drop=True)
        options = {name: row[name] for name in RELEASE if row[name] is not None}
        made = defend(train, **options, **given, test=test, seed=row["seed"])
        for name in ("leaves_before", "leaves", "train_accuracy", "test_accuracy"):
            assert row[name] == made.rows[0][name]
        assert row["guarantee_k"] == (made.rows[0]["guarantee"] or {}).get("k")
        sizes = {name: row[name] or 1 for name in ("min_size", "background")}
        known = {"knowledge": row["knowledge"], "seed": row["seed"], "starts": None if row["estimate"] is None else 1}
        [theirs] = maxent.compare([made.release], train, train, test, **sizes, **known).rows
        for name in theirs.keys() & columns().keys() - {"leaves", "removed_leaves"}:
            if row["status"] == "optimal" or name.endswith(("leaves", "individuals", "spans", "accuracy")):
                assert row[name] == (theirs[name] if theirs[name] is None else columns()[name](theirs[name])), name
        assert row["individuals"] == row["records"] == len(train)


def test_the_records_of_a_point_are_coded_once(tmp_path, monkeypatch):
    people(tmp_path)
    text = STUDY + '[[grid]]\nmethod = "prune-leaf"\nk = 2\nknowledge = ["label", "label,rate"]\n'
    study, calls = load_study(write_study(tmp_path, text)), Counter()

    def counted(name, module):
        whole = getattr(module, name)

        def call(*arguments, **options):
            calls[name] += 1
            return whole(*arguments, **options)

        monkeypatch.setattr(module, name, call)

    for name, module in (("read_training", api_defend), ("read_qi", case), ("build_cells", case)):
        counted(name, module)
    assert len(sweep(study, tmp_path / "out").rows) == 3
    assert calls == {"read_training": 2, "build_cells": 2}


@pytest.mark.slow
def test_the_same_seed_gives_the_same_row_in_one_process_or_two(tmp_path):
    people(tmp_path)
    path = write_study(tmp_path, STUDY + '[[grid]]\nmethod = "prune-leaf"\nk = [2, 5]\n[protocol]\nfolds = 2\n')
    told = []
    one = sweep(path, tmp_path / "one", progress=lambda *what: told.append(what))
    two = sweep(path, tmp_path / "two", jobs=2)
    pd.testing.assert_frame_equal(same(one.frame), same(two.frame))
    assert told == [("study", done, 6) for done in range(7)]


def test_a_failing_point_is_a_row(tmp_path, capsys):
    people(tmp_path)
    path = write_study(tmp_path, STUDY + '[[grid]]\nmethod = "kadet"\nk = [2, 5000]\n')
    printed = printed_by(capsys, ["sweep", str(path), "-o", str(tmp_path / "out")], 1).out.splitlines()
    assert printed[0] == "3 points, 3 run now: 1 failed, 2 optimal"
    assert printed[1].startswith(
        "failed: 1 point, data=people seed=0 method=kadet k=5000: kadet: root: k: expected at most 90"
    )
    assert printed[2:] == [str(tmp_path / "out" / "results.parquet")]
    found = json.loads(printed_by(capsys, ["sweep", str(path), "-o", str(tmp_path / "out"), "--json"], 1).out)
    assert (found["points"], found["done"], found["new"], found["reliable"]) == (3, 3, 1, False)
    assert [failed["error"][:16] for failed in found["failed"]] == ["kadet: root: k: "]


def test_one_point_is_one(tmp_path, capsys):
    people(tmp_path)
    path = write_study(tmp_path, STUDY)
    for call, said in ((["--dry-run"], "1 point"), (["-o", str(tmp_path / "out")], "1 point, 1 run now: 1 optimal")):
        assert said in printed_by(capsys, ["sweep", str(path), *call]).out.splitlines()


def test_nothing_may_be_published(tmp_path):
    people(tmp_path)
    path = write_study(tmp_path, STUDY.replace('"none"', '"rdt"') + "k = 80\nbeta = 0.5\n")
    [row] = maxent.sweep(path, tmp_path / "out").rows
    assert (row["status"], row["leaves"], row["certain"], row["error"]) == ("optimal", 0, 0, None)


def test_hostile_names_and_values(tmp_path):
    nasty = ["../../x", "<script>", "a\x1b[31m", "=1+1", '"', "\u202e!", "k"]
    rng = np.random.default_rng(0)
    pd.DataFrame({name: rng.choice(nasty, 80) for name in [*nasty, "point"]}).to_parquet(tmp_path / "people.parquet")
    text = f"""
[data.{json.dumps("../<b>")}]
file = "people.parquet"
target = "point"
[[grid]]
data = {json.dumps("../<b>")}
method = ["none", "prune-leaf"]
max_depth = 2
"""
    result = maxent.sweep(write_study(tmp_path, text), tmp_path / "out")
    assert [(row["data"], row["status"]) for row in result.rows] == [("../<b>", "optimal")] * 2
    assert sorted(os.listdir(tmp_path)) == ["out", "people.parquet", "study.toml"]


def test_a_changed_study_adds_points_and_keeps_the_others(tmp_path):
    people(tmp_path)
    first = sweep(write_study(tmp_path, STUDY + "max_depth = [1, 2]\n"), tmp_path / "out")
    second = sweep(write_study(tmp_path, STUDY + "max_depth = [2, 3]\n"), tmp_path / "out")
    assert (first.new, second.new, second.points) == (2, 1, 2)
    assert second.rows[0] == first.rows[1]  # times included: it was not run again
    assert len(os.listdir(tmp_path / "out" / "parts")) == 3
    assert second.frame["max_depth"].tolist() == [2, 3]
    assert (tmp_path / "out" / "study.toml").read_text(encoding="utf-8").endswith("max_depth = [2, 3]\n")
    runs = json.loads((tmp_path / "out" / "provenance.json").read_text(encoding="utf-8"))["runs"]
    assert [(run["to_run"], run["run"], run["versions"]["maxent"]) for run in runs] == [
        (2, 2, maxent.__version__),
        (1, 1, maxent.__version__),
    ]


def test_broken_parts_are_made_again(tmp_path):
    people(tmp_path)
    path = write_study(tmp_path, STUDY + "max_depth = [1, 2, 3]\n")
    first = sweep(path, tmp_path / "out")
    parts = Folder(tmp_path / "out")
    parts.part(first.rows[0]["point"]).write_bytes(b"PAR1")
    parts.part(first.rows[1]["point"]).write_bytes(parts.part(first.rows[2]["point"]).read_bytes())
    (parts.parts / ".maxent-0.tmp").write_bytes(b"")
    again = sweep(path, tmp_path / "out")
    assert again.new == 2
    pd.testing.assert_frame_equal(same(again.frame), same(first.frame))
    assert len(os.listdir(parts.parts)) == 3


def test_one_run_at_a_time(tmp_path, capsys):
    people(tmp_path)
    path = write_study(tmp_path, STUDY)
    with Folder(tmp_path / "out").opened():
        assert main(["sweep", str(path), "-o", str(tmp_path / "out")]) == 2
        assert f"out is in use by another run: process {os.getpid()} on " in capsys.readouterr().err
    assert main(["sweep", str(path), "-o", str(tmp_path / "out")]) == 0  # what it left behind is no lock


@pytest.mark.parametrize("link", [os.symlink, os.link])
@pytest.mark.regression(number=12)
def test_a_lock_that_is_a_link_is_refused(tmp_path, link):
    (tmp_path / "other").write_text("kept", encoding="utf-8")
    (tmp_path / "out").mkdir()
    link(tmp_path / "other", tmp_path / "out" / ".lock")
    with pytest.raises(InvalidInput, match=r"\.lock.*expected a file of its own, found a link"):
        Folder(tmp_path / "out").opened().__enter__()
    assert (tmp_path / "other").read_text(encoding="utf-8") == "kept"


@pytest.mark.slow
def test_killed_in_the_middle_it_goes_on(tmp_path):
    people(tmp_path)
    path = write_study(tmp_path, STUDY + "estimate = false\nmax_depth = 2\n[protocol]\ntest_share = 0.3\nseeds = 40\n")
    command = [sys.executable, "-m", "maxent", "sweep", str(path), "-o", str(tmp_path / "out")]
    parts = tmp_path / "out" / "parts"
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        while process.poll() is None and len(list(parts.glob("*.parquet"))) < 3:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    done = {file.name: file.read_bytes() for file in parts.glob("*.parquet")}
    assert 3 <= len(done) < 40
    assert not (tmp_path / "out" / "results.parquet").exists()
    result = sweep(path, tmp_path / "out")
    assert result.new == 40 - len(done)
    assert result.reliable
    assert all((parts / name).read_bytes() == content for name, content in done.items())
    assert not list(parts.glob(".*"))
    pd.testing.assert_frame_equal(same(result.frame), same(sweep(path, tmp_path / "fresh").frame))


def test_ctrl_c_keeps_what_is_done(tmp_path, monkeypatch, capsys):
    people(tmp_path)
    path = write_study(tmp_path, STUDY + "max_depth = [1, 2, 3]\n")
    original, calls = sweeping.run_point, []

    def run_point(*call):
        calls.append(call)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(*call)

    monkeypatch.setattr(sweeping, "run_point", run_point)
    printed = printed_by(capsys, ["sweep", str(path), "-o", str(tmp_path / "out")], 1)
    assert printed.out.startswith("3 points, 1 run now: 1 optimal\n")
    assert "interrupted: 1 of 3 points are done, the same call goes on" in printed.err
    assert len(pq.ParquetFile(tmp_path / "out" / "results.parquet").read()) == 1
    assert main(["sweep", str(path), "-o", str(tmp_path / "out")]) == 0
    calls.clear()
    with pytest.raises(KeyboardInterrupt):
        sweep(write_study(tmp_path, STUDY + "max_depth = [4, 5]\n"), tmp_path / "out")


@pytest.mark.slow
def test_a_process_that_dies_costs_its_point_alone(tmp_path, monkeypatch):
    people(tmp_path)
    path = write_study(tmp_path, STUDY + '[[grid]]\nmethod = "prune-parent"\nk = [2, 3, 4, 5, 6]\n')
    monkeypatch.setattr(sweeping, "_work", die_at_k_4)
    result = sweep(path, tmp_path / "out", jobs=2)
    assert [(row["k"], row["error"][:40]) for row in result.failed] == [(4, "the process that ran it was ended from o")]
    monkeypatch.undo()
    pd.testing.assert_frame_equal(
        same(sweep(path, tmp_path / "out").frame), same(sweep(path, tmp_path / "fresh").frame)
    )


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_its_processes_end_with_it(tmp_path, number):
    people(tmp_path)
    path = write_study(tmp_path, STUDY + "estimate = false\n[protocol]\ntest_share = 0.3\nseeds = 2000\n")
    command = [sys.executable, "-m", "maxent", "sweep", str(path), "-o", str(tmp_path / "out"), "--jobs", "2"]
    parts = tmp_path / "out" / "parts"
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
        while process.poll() is None and len(list(parts.glob("*.parquet"))) < 5:
            time.sleep(0.02)
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # as a terminal does
        else:
            process.send_signal(number)
        said = process.communicate(timeout=60)[1]  # all who have its end of the pipe are gone
    done = len(list(parts.glob("*.parquet")))
    assert 5 <= done < 2000
    if number == signal.SIGINT:
        assert process.returncode == 1
        assert f"interrupted: {done} of 2000 points are done" in said.decode()
        assert b"Traceback" not in said
        assert len(pq.ParquetFile(tmp_path / "out" / "results.parquet").read()) == done


HEAD = """
[data.people]
file = "people.csv"
target = "secret"
[protocol]
test_share = 0.25
seeds = 3
"""

OTHERS = """
[data.others]
file = "others/people.csv"
target = "secret"
"""


def grid(**options):
    return "[[grid]]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in options.items())


@pytest.fixture
def folder(tmp_path, monkeypatch):
    people(tmp_path)
    (tmp_path / "hierarchies").mkdir()
    (tmp_path / "hierarchies" / "job.csv").write_text("clerk;*\ncook;*\n", encoding="utf-8")
    domains = {"job": ["clerk", "cook"], "sex": ["f", "m"], "age": [20, 30], "secret": ["no", "yes"]}
    (tmp_path / "domains.json").write_text(json.dumps(domains), encoding="utf-8")
    (tmp_path / "test.csv").write_text("job,sex,age,secret\nclerk,f,old,no\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def gaps(folder, column, rows=(5, 70)):
    table = pd.read_csv(folder / "people.csv")
    table[column] = table[column].astype(object)
    table.loc[list(rows), column] = None
    table.to_csv(folder / "people.csv", index=False)


STUDIES = {
    "all is well": (HEAD + grid(method=["none", "prune-leaf", "kadet"], k=["default"]), None),
    "random trees": (HEAD + grid(method="rdt", trees=2, depth=1), None),
    "records": (HEAD + grid(method="erp", publish="records"), None),
    "too few people": (HEAD + grid(method="prune-leaf", k=[5, 80]),
        "3 points like data=people method=prune-leaf k=80: release, node L1: n: expected at least k = 80 records"),
    "too few for kadet": (HEAD + grid(method="kadet", k=80),
        "kadet, root: k: expected at most 67, the records there are"),
    "too few for erp": (HEAD + grid(method="erp", k=80),
        "n: expected at least k = 80 records in the whole tree, found 67"),
    "too few for records": (HEAD + grid(method="erp", k=80, publish="records"),
        "3 points like data=people method=erp k=80 publish=records: generalize, training: records: expected"),
    "too diverse": (HEAD + grid(method="kadet", k=2, l=3.0), "kadet, root: l: expected at most"),
    "numbers of id3": (HEAD + grid(method="none", inducer="id3"),
        "column 'age': type: expected categories: bin it, name it"),
    "hierarchies": (HEAD.replace("[protocol]", 'hierarchies = "hierarchies"\n[protocol]') + grid(method="kadet",
        hierarchies=True),
        "kadet, attribute 'job': hierarchies: expected a row for every value, found none for 'nurse'"),
    "domains": (HEAD.replace("[protocol]", 'domains = "domains.json"\n[protocol]') + grid(method="rdt", domains=True),
        "column 'job': domains: expected every value that occurs, found no 'nurse'"),
    "test records": (HEAD.split("[protocol]")[0] + 'test = "test.csv"\n' + grid(method="none"),
        "1 point, data=people method=none: test, row 1: age: expected a finite number, found 'old'"),
    "nothing implies the marginal": (HEAD + grid(method="none", publish="labels", knowledge=["default", "marginal"]),
        "3 points like data=people method=none publish=labels knowledge=marginal: marginal: expected a file with"),
    "knowledge of trees about records": (HEAD + grid(method="erp", publish="records", knowledge="label"),
        "knowledge: expected none: it applies only to trees, and these are records, found one"),
    "only attacks": (HEAD + grid(method="none", publish="labels", estimate=False), None),
}  # fmt: skip


@pytest.mark.parametrize("case", STUDIES.values(), ids=STUDIES)
@pytest.mark.regression(number=18)
def test_what_fails_when_it_runs_is_found_before(folder, capsys, case):
    text, message = case
    write_study(folder, text)
    before = sorted(os.listdir())
    assert main(["sweep", "study.toml", "--dry-run"]) == (0 if message is None else 2)
    printed = capsys.readouterr()
    assert re.search(r"\b(1 point|\d+ points)$", printed.out.splitlines()[-1])
    assert sorted(os.listdir()) == before
    if message is None:
        assert printed.err == ""
    else:
        (line,) = printed.err.splitlines()
        assert line.startswith("maxent: study.toml: ")
        assert message in line
    assert (main(["sweep", "study.toml", "-o", "out"]) == 0) is (message is None)
    ran = capsys.readouterr().out.splitlines()
    assert len(ran) == (2 if message is None else 3)  # one failure is told once


def test_cells_without_a_value_are_found_whichever_draw_they_are_in(folder, capsys):
    gaps(folder, "job", rows=(88,))
    write_study(
        folder, HEAD + OTHERS + grid(data="people", method=["none", "prune-leaf"]) + grid(data="others", method="none")
    )
    (folder / "others").mkdir()
    people(folder / "others")
    (line,) = printed_by(capsys, ["sweep", "study.toml", "--dry-run"], 2).err.splitlines()
    assert "6 points like data=people method=none" in line
    assert "column 'job': values: expected no missing values" in line
    assert '(missing = "category")' in line  # as the study spells it
    write_study(folder, HEAD.replace("[protocol]", 'missing = "category"\n[protocol]') + grid(method="none"))
    assert main(["sweep", "study.toml", "--dry-run"]) == 0


def test_all_that_will_fail_is_told_at_once(folder, capsys):
    write_study(folder, HEAD + grid(method="kadet", k=[5, 70, 80]) + grid(method="none", inducer=["id3", "cart"]))
    call = ["sweep", "study.toml", "--dry-run", "--jobs", "0", "--dask", "nowhere", "-o", "people.csv/out"]
    printed = printed_by(capsys, call, 2)
    assert printed.out.splitlines()[-1] == "15 points"
    lines = printed.err.splitlines()
    for expected in (
        "maxent: --jobs: expected a whole number other than 0, found 0",
        "maxent: -o: expected a folder that can be made and written to, found 'people.csv/out'",
        "maxent: --dask: expected the address of a Dask scheduler, such as tcp://host:8786, "
        "or local:N for N processes here, found 'nowhere'",
        "maxent: study.toml: 3 points like data=people method=kadet k=70: kadet, root: k: expected at most 67",
        "maxent: study.toml: 3 points like data=people method=kadet k=80: kadet, root: k: expected at most 67",
        "maxent: study.toml: 3 points like data=people method=none: id3, column 'age': type: expected categories",
    ):
        assert sum(line.startswith(expected) for line in lines) == 1, expected
    assert lines[-1] == "maxent: 6 problems"
    found = json.loads(printed_by(capsys, [*call, "--json"], 2).out)["error"]["problems"]
    assert len(found) == 6
    assert {problem["source"] for problem in found} == {"command line", "study.toml"}
    assert main(["sweep", "study.toml", "--dry-run", "-o", "people.csv"]) == 2
    assert "-o: expected a folder, which may be new, found 'people.csv'" in capsys.readouterr().err


def test_a_folder_that_may_be_made_is_not_made(folder, capsys):
    write_study(folder, HEAD + grid(method="none"))
    assert main(["sweep", "study.toml", "--dry-run", "-o", "new/folder"]) == 0
    assert not (folder / "new").exists()


def test_each_combination_is_tried_once_and_no_tree_is_grown(folder, capsys, monkeypatch):
    tried = []

    def results(point, packed, protocol):
        tried.append(dict(point.options))

    monkeypatch.setattr(rehearsal_sweep, "results", results)
    many = grid(method=["none", "prune-leaf"], max_depth=[2, 5, 9], tolerance=[1e-6, 1e-8], min_samples_leaf=1)
    write_study(folder, HEAD + many + grid(method="rdt", trees=[2, 20], epsilon=[1.0, 2.0]))
    assert printed_by(capsys, ["sweep", "study.toml", "--dry-run"]).out.splitlines()[-1] == "48 points"
    assert [(options["method"], options.get("max_depth"), options.get("trees")) for options in tried] == [
        ("none", 0, None),
        ("prune-leaf", 0, None),
        ("rdt", None, 1),
        ("rdt", None, 1),
    ]


def test_an_error_that_nobody_thought_of_is_told_too(folder, capsys, monkeypatch):
    def results(*_):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(rehearsal_sweep, "results", results)
    write_study(folder, HEAD + grid(method="none"))
    assert main(["sweep", "study.toml", "--dry-run"]) == 2
    assert (
        "3 points like data=people method=none: results: expected some, found ZeroDivisionError"
        in capsys.readouterr().err
    )


@pytest.mark.regression(number=18)
def test_failures_that_differ_in_numbers_are_one(folder, capsys):
    """Of three draws, each has another row first that lacks a value, and another number of them."""
    gaps(folder, "age", rows=range(0, 90, 3))
    gaps(folder, "job", rows=range(1, 90, 4))
    write_study(folder, HEAD + grid(method=["none", "prune-leaf"]))
    lines = printed_by(capsys, ["sweep", "study.toml", "-o", "out"], 1).out.splitlines()
    assert lines[0] == "6 points, 6 run now: 6 failed"
    assert [line.partition(": data: ")[0] for line in lines[1:3]] == [
        "failed: 6 points like data=people seed=0 method=none"
    ] * 2
    assert len(lines) == 4
    found = json.loads(printed_by(capsys, ["sweep", "study.toml", "-o", "out", "--json"], 1).out)
    assert len(found["failed"]) == 6
    assert [len(failure["points"]) for failure in found["failures"]] == [6, 6]
    assert {point for failure in found["failures"] for point in failure["points"]} == {
        failed["point"] for failed in found["failed"]
    }


def problems(path):
    refused = refusal(load_study, path)
    return [str(problem) for problem in refused.problems]


def test_all_problems_are_told_at_once_with_their_lines(tmp_path, capsys):
    people(tmp_path)
    study = """
[study]
colour = "red"
[data.people]
file = "people.csv"
target = "secret"
qi = ["job", "shoe"]
[data.others]
file = "nobody.csv"
missing = "guess"
[protocol]
test_share = 0.2
folds = 1
seeds = [1, 1]
[defaults]
knowledge = "labels"
[[grid]]
method = ["none", "prune-leaf"]
k = [2, "many"]
[[grid]]
method = "prune-leaf"
k = 0
beta = 0.5
metod = "none"
backend = "ipop"
max_depth = []
data = ["people", "all"]
"""
    path = write_study(tmp_path, study)
    found = problems(path)
    for expected in (
        "line 3, [study]: colour: expected one of description, name, found an unknown key",
        "line 9, [data.others]: file: expected a file or folder that exists, found no 'nobody.csv' in",
        "line 10, [data.others]: missing: expected one of refuse, category, found 'guess'",
        "line 8, [data.others]: target: expected the column of the class, found nothing",
        "line 13, [protocol]: folds: expected a whole number of at least 2, found 1",
        "line 14, [protocol]: seeds: expected how many seeds, or a list of different ones, each at least 0, found [1",
        "line 16, [defaults]: knowledge: expected any of label, rate, counts, marginal, internal, found 'labels'",
        "line 19, grid 1: k: expected a whole number, or a list of such values, or 'default', found 'many'",
        "line 22, grid 2: k: expected a whole number of records, at least 1, found 0",
        "line 23, grid 2: beta: expected none for the method prune-leaf: it is an option of rdt, found 0.5",
        "line 24, grid 2: metod: expected an option of the grid, found an unknown key; did you mean 'method'?",
        "line 25, grid 2: backend: expected one of auto, cvxpy, ipopt, newton, pyomo, scip, scipy, textbook, found 'ip",
        "line 26, grid 2: max_depth: expected at least one value, found none",
        "line 27, grid 2: data: expected names of data sets, of people, others, found 'all'",
        "people.csv: header: shoe: expected a column of this name, found none",
    ):
        assert sum(expected in problem for problem in found) == 1, expected
    assert len(found) == 15
    printed = printed_by(capsys, ["sweep", str(path), "-o", str(tmp_path / "results")], 2)
    assert printed.out == ""
    assert printed.err.endswith("maxent: 15 problems\n")
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(("text", "message"), [
    ("", "data: expected tables with names, such as [data.people], found nothing"),
    ("[data]\n[[grid]]\n", "line 1: data: expected tables with names, such as [data.people], found {}"),
    ("data = 3\ngrid = []\n", "file: content: expected a study, with tables [data.NAME] and [[grid]], found neither"),
    ("x = [", "content: expected a TOML document "),
    ("x = " + "[" * 10_000, "file: content: expected a TOML document, found "),
    ("x = " + "9" * 5_000, "file: content: expected a TOML document, found "),
    (STUDY + "k = 2\n", "grid 1: k: expected none for the method none: it is an option of prune-leaf,"),
    (STUDY + "hierarchies = true\n", "grid 1: hierarchies: expected none for the method none"),
    (STUDY + "max_depth = 9007199254740993\n", "max_depth: expected a whole number, or a list of such"),
    (STUDY + "estimate = false\nstarts = 3\n", "starts: expected none where estimate = false, found 3"),
    (STUDY + "min_size = 0\n", "min_size: expected a whole number of at least 1, found 0"),
    (STUDY + "confidence = 2.0\n", "confidence: expected a probability between 0 and 1, found 2.0"),
    (STUDY + "confidence = nan\n", "confidence: expected a number, or a list of such values, or 'default', found nan"),
    (STUDY + "max_depth = [" + "1," * 400 + "]\nmin_samples_leaf = [" + "1," * 400 + "]\n",
        "grid 1: grid: expected at most 100000 combinations, found more"),
    (STUDY + '[[grid]]\nmethod = "kadet"\nhierarchies = true\n',
        "grid 2: hierarchies: expected a data set with hierarchies, found none in [data.people]"),
    (STUDY.replace("qi =", "colour ="), "[data.people]: colour: expected one of categorical,"),
    (STUDY.replace('"job", "sex"', '"job", "secret"'), "target: expected a column that is not among qi and private"),
    (STUDY.replace("missing =", "fold ="), "fold: expected one of categorical,"),
    (STUDY + "[protocol]\nfolds = 99\n", "[data.people]: file: expected at least 99 records, one for each fold"),
])  # fmt: skip
def test_what_a_study_cannot_say(tmp_path, text, message):
    people(tmp_path)
    path = write_study(tmp_path, text)
    assert any(message in problem for problem in problems(path)), problems(path)


def test_no_study(tmp_path, capsys):
    assert main(["sweep", str(tmp_path / "none.toml"), "-o", str(tmp_path / "out")]) == 2
    assert "a study file that can be read, found no such file or directory" in capsys.readouterr().err
    (tmp_path / "latin.toml").write_bytes(b"name = '\xe9'")
    assert "found bytes that are not UTF-8" in problems(tmp_path / "latin.toml")[0]
    people(tmp_path)
    path = write_study(tmp_path, STUDY)
    (tmp_path / "taken").write_text("", encoding="utf-8")
    for output in (tmp_path / "taken", tmp_path / "taken" / "below"):
        assert main(["sweep", str(path), "-o", str(output)]) == 2
    assert capsys.readouterr().err.count("expected a folder") == 2
    assert main(["sweep", str(path)]) == 2
    refused("jobs: expected a whole number other than 0, found 0", maxent.sweep, path, tmp_path / "out", jobs=0)


def test_the_grid_is_a_product_and_each_point_comes_once(tmp_path, capsys):
    people(tmp_path)
    path = write_study(
        tmp_path,
        STUDY
        + """
[protocol]
folds = 3
seeds = [4, 7]
[defaults]
max_depth = 2
knowledge = ["default", "label"]
[[grid]]
method = ["prune-leaf", "prune-parent"]
k = [2, 3, 2]
max_depth = ["default", 1]
[[grid]]
method = "prune-leaf"
k = 2
max_depth = 1
inducer = "cart"
impurity = "gini"
""",
    )
    study = load_study(path)
    assert len(study.points) == 2 * 3 * 2 * (1 + 2 * 2 * 2)
    assert len({point.id for point in study.points}) == len(study.points)
    assert {(point.seed, point.fold) for point in study.points} == {(s, f) for s in (4, 7) for f in range(3)}
    assert dict(study.points[0].options) == {"method": "none", "inducer": "cart", "impurity": "gini", "max_depth": 2}
    assert dict(study.points[1].options)["knowledge"] == "label"
    printed = printed_by(capsys, ["sweep", str(path), "--dry-run"]).out.splitlines()
    assert printed[-1] == "108 points"
    assert len(printed) == 109
    assert "seed=4 fold=0 method=none inducer=cart impurity=gini max_depth=2 knowledge=label" in printed[1]
    assert main(["sweep", str(path), "--dry-run", "--json"]) == 0
    assert [point["point"] for point in json.loads(capsys.readouterr().out)["grid"]] == [p.id for p in study.points]


def test_what_changes_a_point_changes_its_name(tmp_path):
    table = people(tmp_path)
    names = []

    def add(text=STUDY):
        names.append(load_study(write_study(tmp_path, text)).points[0].id)

    add()
    add(STUDY + "max_depth = 3\n")
    add(STUDY.replace('"job", "sex"', '"sex", "job"'))
    add(STUDY + "[protocol]\ntest_share = 0.2\n")
    add(STUDY + "[protocol]\nseeds = [5]\n")
    table.iloc[::-1].to_csv(tmp_path / "people.csv", index=False)
    add()
    assert len(set(names)) == len(names)
    os.rename(tmp_path / "people.csv", tmp_path / "folk.csv")
    add(STUDY.replace("people.csv", "folk.csv") + '[study]\nname = "other"\n')  # the same content elsewhere
    assert names[-1] == names[-2]


def test_every_option_of_defend_is_one_of_the_grid():
    given = set(inspect.signature(defend).parameters)
    of_data = {"data", "target", "qi", "private", "categorical", "missing", "test", "seed", "model", "reading"}
    of_data |= {"max_posterior", "sensitive"}  # the first is also what is measured; the other names classes
    of_data |= {"cost", "audits", "time_limit", "progress"}  # a table of classes, how long to go on, whom to tell
    assert given - RELEASE.keys() == of_data
    assert RELEASE.keys() <= given
    estimating = set(inspect.signature(maxent.estimate).parameters)
    assert {name for name in OPTIONS.keys() - RELEASE.keys() if name not in estimating} == {
        "estimate",
        "min_size",
        "background",
    }


def test_where_lines_are():
    text = 'a.b = 1\n[c."d e"]\n"x=y" = 2\n# n = 3\nz = 3\n[[g]]\nk = [\n  ["q"],\n]\n[[g]]\nk = 1\n'
    found = line_numbers(text)
    assert found["a", "b"] == found["a",] == 1
    assert (found["c", "d e"], found["c", "d e", "z"]) == (2, 5)
    assert (found["g", "1"], found["g", "1", "k"], found["g", "2"]) == (6, 7, 10)


def test_columns_are_numbers_as_they_are_to_defend(tmp_path):
    """Numbers with leading zeros, categories that are numbers, and empty cells mean what they mean elsewhere."""
    table = pd.DataFrame({"zip": ["010", "10", "x"] * 20, "age": ["1", "2", "3.5"] * 20, "y": ["1", "0", "01"] * 20})
    table.to_csv(tmp_path / "people.csv", index=False)
    path = write_study(tmp_path, '[data.a]\nfile = "people.csv"\ntarget = "y"\n[[grid]]\nmethod = "none"\n')
    study = load_study(path)
    records = study.data["a"].records
    assert records["zip"].tolist() == table["zip"].tolist()
    assert records["age"].tolist() == [1.0, 2.0, 3.5] * 20
    assert records["y"].tolist() == table["y"].tolist()
    assert study.data["a"].columns["qi"] == ["zip", "age"]
    ours = defend(records, **study.data["a"].columns, seed=0)
    assert ours.release == defend(tmp_path / "people.csv", **study.data["a"].columns, seed=0).release


def test_numbers_with_fractions_are_no_classes(tmp_path):
    pd.DataFrame({"x": list("ab" * 10), "y": [0.5, 1.5] * 10}).to_csv(tmp_path / "people.csv", index=False)
    path = write_study(tmp_path, '[data.a]\nfile = "people.csv"\ntarget = "y"\n[[grid]]\nmethod = "none"\n')
    result = maxent.sweep(path, tmp_path / "out")
    assert "expected classes, not numbers with fractions" in result.rows[0]["error"]
    assert not result.reliable


def test_protocols_cut_as_scikit_learn_does(tmp_path):

    table = people(tmp_path)
    study = load_study(write_study(tmp_path, STUDY))
    packed = pickle.dumps(study.data["people"])
    train, test = split(packed, Protocol(test_share=0.25), 3, None)
    expected, aside = train_test_split(np.arange(PEOPLE), test_size=0.25, random_state=3)
    assert train["job"].tolist() == table["job"][expected].tolist()
    assert test["job"].tolist() == table["job"][aside].tolist()
    folds = [split(packed, Protocol(folds=4), 1, fold) for fold in range(4)]
    assert sorted(len(aside) for _, aside in folds) == [22, 22, 23, 23]
    assert all(len(one) + len(other) == len(table) for one, other in folds)
    whole, none = split(packed, Protocol(), 1, None)
    assert len(whole) == len(table)
    assert none is None


def test_test_records_of_a_file_or_a_column(tmp_path):
    table = people(tmp_path)
    table["fold"] = np.where(np.arange(len(table)) % 3 == 0, "test", "train")
    table.to_csv(tmp_path / "folded.csv", index=False)
    table[table["fold"] == "train"].to_csv(tmp_path / "people.csv", index=False)
    table[table["fold"] == "test"].to_csv(tmp_path / "aside.csv", index=False)
    text = STUDY.replace("[[grid]]", 'test = "aside.csv"\n[[grid]]') + "[protocol]\ntest_share = 0.5\nseeds = 2\n"
    by_file = load_study(write_study(tmp_path, text))
    text = STUDY.replace("people.csv", "folded.csv").replace("[[grid]]", 'test = {fold = "test"}\n[[grid]]')
    by_column = load_study(write_study(tmp_path, text))
    for study in (by_file, by_column):
        material = study.data["people"]
        assert material.test is not None
        for found, name in ((material.records, "train"), (material.test, "test")):
            assert found["age"].tolist() == table[table["fold"] == name]["age"].tolist()
    assert [point.seed for point in by_file.points] == [0, 1]
    rows = [maxent.sweep(study, tmp_path / str(i)).rows[0] for i, study in enumerate((by_file, by_column))]
    assert rows[0]["test_records"] == rows[1]["test_records"] == (table["fold"] == "test").sum()
    assert rows[0]["test_accuracy"] == rows[1]["test_accuracy"] > 0
    wrong = write_study(tmp_path, text.replace('fold = "test"', 'fold = "best"'))
    assert "best: expected some records, not all, found 0 of 90" in problems(wrong)[0]


def test_files_are_looked_for_in_three_places(tmp_path, monkeypatch):
    for name in ("beside", "given", "set"):
        (tmp_path / name).mkdir()
    people(tmp_path / "set")
    path = write_study(tmp_path / "beside", STUDY)
    monkeypatch.delenv("MAXENT_DATA", raising=False)
    assert f"found no 'people.csv' in {tmp_path / 'beside'} (the environment variable MAXENT_DATA" in problems(path)[0]
    monkeypatch.setenv("MAXENT_DATA", str(tmp_path / "set"))
    assert load_study(path).files["people"].file == tmp_path / "set" / "people.csv"
    people(tmp_path / "beside")
    assert load_study(path).files["people"].file == tmp_path / "beside" / "people.csv"
    people(tmp_path / "given")
    assert load_study(path, tmp_path / "given").files["people"].file == tmp_path / "given" / "people.csv"


def test_the_page_names_every_column():
    table = (ROOT / "docs" / "sweep.md").read_text(encoding="utf-8").split("<!-- columns -->")[1]
    named = [name for row in table.splitlines() if row.startswith("| `") for name in row.split("|")[1].split("`")[1::2]]
    assert named == [name for name in columns() if name not in {*MEASURES, *RELEASE}]
    assert "(results.md#measures)" in table
    assert "options of `maxent defend` [above](#the-study-file)" in table


@pytest.mark.slow
@pytest.mark.parametrize("file", sorted((ROOT / "examples" / "studies").glob("*.toml")), ids=lambda path: path.stem)
def test_the_studies_of_the_examples_can_run(tmp_path, file):
    if file.stem == "diabetes":
        out = tmp_path / "diabetes"
        subprocess.run([sys.executable, str(ROOT / "examples/diabetes.py"), str(out)], check=True, timeout=120)
        assert len(load_study(file, tmp_path).points) > 10
    elif os.environ.get("MAXENT_DATA"):
        assert len(load_study(file).points) > 10
    else:
        refused = refusal(load_study, file)
        assert {(problem.field, "MAXENT_DATA" in problem.found) for problem in refused.problems} == {("file", True)}
