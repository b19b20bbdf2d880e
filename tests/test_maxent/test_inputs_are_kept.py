"""No output replaces an input or another output: by any spelling, pattern, link, case, or file that goes with it."""

import json
import os
import shutil
from pathlib import Path

import pytest
from support.calls import printed_by
from support.paths import copy_d1
from support.studies import STUDY, people, write_study

import maxent
from maxent.__main__ import main
from maxent.models.files.output import check_apart, check_outputs
from maxent.studies.sweep import sweep


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The small release with its tables, under names of all kinds."""
    monkeypatch.chdir(tmp_path)
    copy_d1(tmp_path)
    lines = Path("qi.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    Path("q1.csv").write_text("".join(lines[:6]), encoding="utf-8")
    Path("q2.csv").write_text("".join([lines[0], *lines[6:]]), encoding="utf-8")
    Path("sub").mkdir()
    shutil.copy("q1.csv", "sub/q3.csv")
    return tmp_path


def contents(folder):
    """Every file below a folder, with what is in it."""
    return {str(path): path.read_bytes() for path in sorted(Path(folder).rglob("*")) if path.is_file()}


def refused(folder, capsys, arguments, *told):
    """The call is wrong, says why, and no file has changed or come."""
    before = contents(folder)
    printed = printed_by(capsys, arguments, 2)
    assert printed.out == ""
    assert " of its own, found " in printed.err
    for text in told:
        assert text in printed.err
    assert contents(folder) == before


ESTIMATE = ["estimate", "tree.json"]
CALLS = {
    "the same name": [*ESTIMATE, "qi.csv", "-o", "qi.csv"],
    "another spelling": [*ESTIMATE, "qi.csv", "-o", "sub/../qi.csv"],
    "the release": ["explain", "tree.json", "qi.csv", "-o", "tree.json"],
    "of a pattern": [*ESTIMATE, "q?.csv", "-o", "q1.csv"],
    "of a pattern, by another spelling": [*ESTIMATE, "q?.csv", "-o", "./sub/../q2.csv"],
    "of a pattern, next time": [*ESTIMATE, "q?.csv", "-o", "q3.csv"],
    "of a pattern of folders": [*ESTIMATE, "su*/*.csv", "-o", "sub/q3.csv"],
    "of a pattern of all folders": [*ESTIMATE, "**/q[13].csv", "-o", "sub/q1.csv"],
    "the truth": [*ESTIMATE, "qi.csv", "--truth", "truth.csv", "-o", "truth.csv"],
    "facts": [*ESTIMATE, "qi.csv", "--facts", "q1.csv", "-o", "q1.csv"],
    "a marginal": [*ESTIMATE, "qi.csv", "--marginal", "q1.csv", "-o", "q1.csv"],
    "a report": [*ESTIMATE, "t.html", "--report", "t.html"],
    "a plot": [*ESTIMATE, "t.svg", "-o", "t.svg"],
    "names of an nl file": ["explain", "tree.json", "m.col", "--nl", "m.nl"],
    "names of its rows": ["explain", "tree.json", "m.row", "--nl", "m.nl"],
    "an nl file": ["explain", "tree.json", "m.nl", "--nl", "m.nl"],
    "a Pyomo model": ["explain", "tree.json", "qi.csv", "--pyomo", "qi.csv"],
    "an audit": ["audit", "tree.json", "qi.csv", "--as-table", "qi.csv"],
    "an audit of facts": ["audit", "tree.json", "qi.csv", "--facts", "q1.csv", "-o", "q1.csv"],
    "a release compared": ["compare", "tree.json", "tree.json", "--qi", "qi.csv", "-o", "tree.json"],
    "a test": ["compare", "tree.json", "--qi", "qi.csv", "--test", "truth.csv", "-o", "truth.csv"],
    "a comparison of a pattern": ["compare", "tree.json", "--qi", "q?.csv", "-o", "q1.csv"],
    "a bench": ["bench", "tree.json", "q?.csv", "--backends", "newton", "-o", "q2.csv"],
    "a defended table": ["defend", "none", "t.json", "--target", "Salary", "--qi", "Sex", "-o", "t.json"],
    "a hard link": [*ESTIMATE, "qi.csv", "-o", "hard.csv"],
    "a symbolic link": [*ESTIMATE, "qi.csv", "-o", "soft.csv"],
    "behind a symbolic link": [*ESTIMATE, "soft.csv", "-o", "qi.csv"],
    "another case": [*ESTIMATE, "qi.csv", "-o", "QI.csv"],
    "another Unicode form": [*ESTIMATE, "caf\u00e9.csv", "-o", "cafe\u0301.csv"],
}


@pytest.mark.parametrize("arguments", CALLS.values(), ids=CALLS)
@pytest.mark.regression(number=9)
def test_an_input_is_never_replaced(folder, capsys, arguments):
    for name in ("t.html", "t.svg", "t.json", "m.col", "m.row", "m.nl", "caf\u00e9.csv"):
        shutil.copy("truth.csv" if name == "t.json" else "qi.csv", name)
    os.link("qi.csv", "hard.csv")
    os.symlink("qi.csv", "soft.csv")
    refused(folder, capsys, arguments)


def test_the_message_says_what_would_be_replaced(folder, capsys):
    refused(folder, capsys, [*ESTIMATE, "q?.csv", "-o", "q1.csv"], "-o: ", "found 'q1.csv', which is an input too")
    refused(folder, capsys, [*ESTIMATE, "q?.csv", "-o", "q9.csv"], "which the pattern 'q?.csv' of an input matches")
    refused(folder, capsys, [*ESTIMATE, "qi.csv", "-o", "QI.csv"], "an input too, where systems ignore case")
    shutil.copy("qi.csv", "m.col")
    refused(folder, capsys, ["explain", "tree.json", "m.col", "--nl", "m.nl"], "--nl (.col): ", "'m.col', which is an")


def test_a_name_with_brackets_is_no_pattern(folder):
    shutil.copy("qi.csv", "q[1].csv")
    before = Path("q1.csv").read_bytes()
    assert main([*ESTIMATE, "q[1].csv", "-o", "q2.csv", "--force"]) == 0
    with pytest.raises(maxent.InvalidInput):
        check_outputs({"-o": ("q[1].csv", ())}, ["q[1].csv"])
    assert Path("q1.csv").read_bytes() == before


@pytest.mark.regression(number=9)
def test_outputs_do_not_replace_one_another(folder, capsys):
    call = ["explain", "tree.json", "qi.csv"]
    refused(folder, capsys, [*call, "--nl", "m.nl", "--pyomo", "m.col"], "which is the file of --pyomo too")
    refused(folder, capsys, [*call, "--nl", "m.nl", "--pyomo", "./m.nl"], "which is the file of --pyomo too")
    refused(folder, capsys, ["audit", "tree.json", "-o", "a.csv", "--as-table", "A.csv"], "systems ignore case")


@pytest.mark.regression(number=9)
def test_several_releases_replace_no_input(folder, capsys):
    shutil.copy("truth.csv", "r-k3.json")
    call = ["defend", "prune-leaf", "r-k3.json", "--target", "Salary", "--qi", "Sex", "--k", "2", "--k", "3"]
    refused(folder, capsys, [*call, "-o", "r.json"], "-o (k = 3): ", "found 'r-k3.json', which is an input too")
    refused(folder, capsys, [*call, "-o", "r-k{k}.json"], "-o (k = 3): ")


def test_hierarchies_and_domains_are_not_replaced(folder, capsys):
    Path("h").mkdir()
    Path("h/Sex.csv").write_text("Male;*\nFemale;*\n", encoding="utf-8")
    os.symlink("h/Sex.csv", "out.json")
    call = ["defend", "kadet", "truth.csv", "--target", "Salary", "--qi", "Sex", "--k", "2", "--hierarchies", "h"]
    refused(folder, capsys, [*call, "-o", "out.json"], "found 'out.json', which is an input too")
    Path("domains.json").write_text("{}", encoding="utf-8")
    call = ["defend", "rdt", "truth.csv", "--target", "Salary", "--qi", "Sex", "--domains", "domains.json"]
    refused(folder, capsys, [*call, "-o", "domains.json"])


# --- Studies ---------------------------------------------------------------------------------------------------


STUDIES = {
    "data": ("results.parquet", 'file = "people.csv"', 'file = "results.parquet"'),
    "a test": ("provenance.json", 'file = "people.csv"', 'file = "people.csv"\ntest = "provenance.json"'),
    "a lock": (".lock", 'file = "people.csv"', 'file = "people.csv"\ntest = ".lock"'),
    "data called as the copy of the study": ("study.toml", 'file = "people.csv"', 'file = "study.toml"'),
    "data among the parts": ("parts/x.csv", 'file = "people.csv"', 'file = "parts/x.csv"'),
}


@pytest.mark.parametrize("case", STUDIES.values(), ids=STUDIES)
@pytest.mark.regression(number=9)
def test_a_study_replaces_nothing_that_it_reads(tmp_path, capsys, case):
    name, old, new = case
    table = people(tmp_path)
    (tmp_path / "parts").mkdir()
    if name.endswith(".parquet"):
        table.to_parquet(tmp_path / name)
    else:
        table.to_csv(tmp_path / name, index=False)
    study = tmp_path / "other.toml"
    study.write_text(STUDY.replace(old, new), encoding="utf-8")
    refused(tmp_path, capsys, ["sweep", str(study), "-o", str(tmp_path)])


def test_a_hierarchy_of_a_study_is_not_replaced(tmp_path, capsys):
    people(tmp_path)
    (tmp_path / "h").mkdir()
    (tmp_path / "job.csv").write_text("clerk;*\ncook;*\nnurse;*\n", encoding="utf-8")
    (tmp_path / "h" / "job.csv").symlink_to(tmp_path / "job.csv")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "provenance.json").symlink_to(tmp_path / "job.csv")
    grid = 'method = "kadet"\nk = 3\nhierarchies = true\n'
    text = STUDY.replace("[[grid]]", 'hierarchies = "h"\n[[grid]]').replace('method = "none"\n', grid)
    refused(tmp_path, capsys, ["sweep", str(write_study(tmp_path, text)), "-o", str(tmp_path / "out")])


def test_a_study_that_is_called_as_a_result_is_not_replaced(tmp_path, capsys):
    people(tmp_path)
    study = tmp_path / "provenance.json"
    study.write_text(STUDY, encoding="utf-8")
    refused(tmp_path, capsys, ["sweep", str(study), "-o", str(tmp_path)], "-o (provenance.json)")


def test_a_study_runs_from_its_copy_and_leaves_that_alone(tmp_path):
    """Byte for byte: a copy that was read is an input."""
    people(tmp_path)
    (tmp_path / "out").mkdir()
    study = tmp_path / "out" / "study.toml"
    study.write_bytes(b"\xef\xbb\xbf" + STUDY.replace("\n", "\r\n").encode())
    before = study.read_bytes()
    assert sweep(study, tmp_path / "out", data=tmp_path).reliable
    assert study.read_bytes() == before
    assert json.loads((tmp_path / "out" / "provenance.json").read_text(encoding="utf-8"))["runs"]


# --- Python ----------------------------------------------------------------------------------------------------


def test_files_that_are_not_there_yet_are_told_apart_by_their_folders(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").symlink_to(tmp_path / "a")
    check_apart({"x": tmp_path / "a" / "1", "y": tmp_path / "a" / "2", "z": tmp_path / "1"}, [tmp_path / "2"])
    with pytest.raises(maxent.InvalidInput, match="which is the file of x too"):
        check_apart({"x": tmp_path / "a" / "1", "y": tmp_path / "b" / "1"}, [])
