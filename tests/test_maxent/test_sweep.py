"""Sweeps: rows are what the single commands give."""

import json
import os
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from support.studies import PEOPLE, STUDY, people, same, write_study

import maxent
from maxent.__main__ import main
from maxent.api import case
from maxent.api import defend as api_defend
from maxent.api.defend import defend
from maxent.studies.points import columns
from maxent.studies.study_file import RELEASE, load_study
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
    from sklearn.model_selection import train_test_split

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
    assert main(["sweep", str(path), "-o", str(tmp_path / "out")]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "3 points, 3 run now: 1 failed, 2 optimal"
    assert printed[1].startswith(
        "failed: 1 point, data=people seed=0 method=kadet k=5000: kadet: root: k: expected at most 90"
    )
    assert printed[2:] == [str(tmp_path / "out" / "results.parquet")]
    assert main(["sweep", str(path), "-o", str(tmp_path / "out"), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["points"], found["done"], found["new"], found["reliable"]) == (3, 3, 1, False)
    assert [failed["error"][:16] for failed in found["failed"]] == ["kadet: root: k: "]


def test_one_point_is_one(tmp_path, capsys):
    people(tmp_path)
    path = write_study(tmp_path, STUDY)
    for call, said in ((["--dry-run"], "1 point"), (["-o", str(tmp_path / "out")], "1 point, 1 run now: 1 optimal")):
        assert main(["sweep", str(path), *call]) == 0
        assert said in capsys.readouterr().out.splitlines()


def test_nothing_may_be_published(tmp_path):
    people(tmp_path)
    path = write_study(tmp_path, STUDY.replace('"none"', '"rdt"') + "k = 80\nbeta = 0.5\n")
    [row] = maxent.sweep(path, tmp_path / "out").rows
    assert (row["status"], row["leaves"], row["certain"], row["error"]) == ("optimal", 0, 0, None)


def test_hostile_names_and_values(tmp_path):
    nasty = ["../../x", "<script>", "a\x1b[31m", "=1+1", '"', "\u202e!", "k"]
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.choice(nasty, 80) for name in [*nasty, "point"]})
    table.to_parquet(tmp_path / "people.parquet")
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
