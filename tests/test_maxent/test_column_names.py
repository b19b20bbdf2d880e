"""Attributes that are called as columns of ours: no two columns are alike, whatever the output is."""

import json
from pathlib import Path

import pandas as pd
import pytest

import maxent
from maxent.__main__ import main
from maxent.models.tables.cells import own_names

NAMES = ["count", "P(yes)", "divergence", "leaf", "leaf_n", "span", "population", "attack", "disclosed", "tree", "n"]
NAMES += ["label", "count(no)", "people", "rows", "groups", "possible rows", "maxent_count", "node", "branch"]
RENAMED = "maxent_maxent_count"  # There is an attribute ``maxent_count``, too


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = [["a", "b"][i % 2] for i in range(12)]
    people = pd.DataFrame(
        {name: values if j == 0 else [f"v{(i * j) % 3}" for i in range(12)] for j, name in enumerate(NAMES)}
    )
    truth = people.assign(T=[["yes", "no"][i % 3 == 0] for i in range(12)])
    people.to_csv("qi.csv", index=False)
    truth.to_csv("truth.csv", index=False)
    columns = ["--target", "T", "--qi", ",".join(NAMES)]
    assert (
        main(["defend", "none", "truth.csv", *columns, "--inducer", "id3", "--max-depth", "1", "-o", "tree.json"]) == 0
    )
    records = ["--publish", "records", "--k", "2", "-o", "records.csv"]
    assert main(["defend", "erp", "truth.csv", *columns, *records]) == 0
    return tmp_path


def read(path):
    """The names of columns as they are in a file, without anything that pandas does to names that are alike."""
    if path.endswith(".csv"):
        return Path(path).read_text(encoding="utf-8").splitlines()[0].split(",")
    if path.endswith(".parquet"):
        import pyarrow.parquet as pq

        return pq.read_schema(path).names
    document = json.loads(Path(path).read_text(encoding="utf-8"), object_pairs_hook=list)
    (rows,) = (value for key, value in document if key in ("posterior", "rows"))
    return [name for name, _ in rows[0]]


POSTERIOR = [*NAMES, RENAMED, "P(no)", "maxent_P(yes)", "maxent_divergence"]
PEOPLE = [*NAMES, RENAMED, "maxent_leaf", "maxent_leaf_n"]
PEOPLE += ["maxent_span", "maxent_population", "maxent_attack", "maxent_disclosed"]
TABLE = ["maxent_leaf", *NAMES, "maxent_n", "maxent_count(no)", "count(yes)", "maxent_label"]
RECORDS = [*NAMES, RENAMED, "maxent_rows", "maxent_groups", "maxent_possible rows"]
RECORDS += ["maxent_span", "maxent_population", "maxent_attack", "maxent_disclosed"]
RECORDS_TABLE = ["maxent_leaf", *NAMES, "maxent_n", "maxent_count(no)", "count(yes)", "maxent_people"]
CALLS = {
    "estimate": (["estimate", "tree.json", "qi.csv", "--truth", "truth.csv", "-o"], POSTERIOR),
    "audit": (["audit", "tree.json", "qi.csv", "-o"], PEOPLE),
    "anonymised table": (["audit", "tree.json", "--as-table"], TABLE),
    "audit of records": (["audit", "records.csv", "qi.csv", "-o"], RECORDS),
    "table of records": (["audit", "records.csv", "qi.csv", "--as-table"], RECORDS_TABLE),
}


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".json"])
@pytest.mark.parametrize("case", CALLS.values(), ids=CALLS)
@pytest.mark.regression(number=16)
def test_ours_are_prefixed_in_every_file(folder, case, suffix):
    arguments, names = case
    assert main([*arguments, f"out{suffix}"]) == 0
    assert read(f"out{suffix}") == names


def test_ours_are_prefixed_in_python_and_in_text(folder, capsys):
    result = maxent.estimate("tree.json", "qi.csv", "truth.csv")
    assert [*result.posterior.columns] == POSTERIOR == [*result.columns]
    assert result.posterior[RENAMED].sum() == 12
    assert [*maxent.audit_release("tree.json", "qi.csv").individuals.columns] == PEOPLE
    capsys.readouterr()
    assert main(["estimate", "tree.json", "qi.csv", "--truth", "truth.csv"]) == 0
    assert capsys.readouterr().out.splitlines()[0].split("  ")[-1] == "maxent_divergence"


def test_without_such_attributes_all_names_are_the_usual_ones():
    assert own_names(["count", "leaf"], ["Count", "age"]) == ["count", "leaf"]
    assert own_names(["count"], ["count", "maxent_count", "maxent_maxent_count"]) == ["maxent_" * 3 + "count"]
    assert own_names(["a", "b"], ["b"]) == ["a", "maxent_b"]
