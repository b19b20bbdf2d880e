"""``maxent sweep --dry-run``: what will fail is found without growing a tree, and each failure told once."""

import json
import os
import re

import pandas as pd
import pytest
from support.studies import people, write_study

from maxent.__main__ import main
from maxent.studies import sweep

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
    assert main(["sweep", "study.toml", "--dry-run"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "6 points like data=people method=none" in line
    assert "column 'job': values: expected no missing values" in line
    assert '(missing = "category")' in line  # as the study spells it
    write_study(folder, HEAD.replace("[protocol]", 'missing = "category"\n[protocol]') + grid(method="none"))
    assert main(["sweep", "study.toml", "--dry-run"]) == 0


def test_all_that_will_fail_is_told_at_once(folder, capsys):
    write_study(folder, HEAD + grid(method="kadet", k=[5, 70, 80]) + grid(method="none", inducer=["id3", "cart"]))
    call = ["sweep", "study.toml", "--dry-run", "--jobs", "0", "--dask", "nowhere", "-o", "people.csv/out"]
    assert main(call) == 2
    printed = capsys.readouterr()
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
    assert main([*call, "--json"]) == 2
    found = json.loads(capsys.readouterr().out)["error"]["problems"]
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

    monkeypatch.setattr(sweep, "results", results)
    many = grid(method=["none", "prune-leaf"], max_depth=[2, 5, 9], tolerance=[1e-6, 1e-8], min_samples_leaf=1)
    write_study(folder, HEAD + many + grid(method="rdt", trees=[2, 20], epsilon=[1.0, 2.0]))
    assert main(["sweep", "study.toml", "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "48 points"
    assert [(options["method"], options.get("max_depth"), options.get("trees")) for options in tried] == [
        ("none", 0, None),
        ("prune-leaf", 0, None),
        ("rdt", None, 1),
        ("rdt", None, 1),
    ]


def test_an_error_that_nobody_thought_of_is_told_too(folder, capsys, monkeypatch):
    def results(*_):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(sweep, "results", results)
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
    assert main(["sweep", "study.toml", "-o", "out"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "6 points, 6 run now: 6 failed"
    assert [line.partition(": data: ")[0] for line in lines[1:3]] == [
        "failed: 6 points like data=people seed=0 method=none"
    ] * 2
    assert len(lines) == 4
    assert main(["sweep", "study.toml", "-o", "out", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert len(found["failed"]) == 6
    assert [len(failure["points"]) for failure in found["failures"]] == [6, 6]
    assert {point for failure in found["failures"] for point in failure["points"]} == {
        failed["point"] for failed in found["failed"]
    }
