"""Releases about several sensitive columns: what is inferred of combinations, and of each column by itself."""

import json

import numpy as np
import pandas as pd
import pytest
from support.calls import printed_by

import maxent
from maxent.__main__ import main
from maxent.disclosure.limits import Limits, judge_rows

N = 12
PEOPLE = pd.DataFrame(
    {
        "age": ["young"] * N + ["old"] * N,
        # Of the old everybody is poor, half of them ill: of each combination nobody is certain.
        "pay": ["rich", "poor"] * (N // 2) + ["poor"] * N,
        "ill": ["no", "no", "yes"] * (N // 3) + ["no", "yes"] * (N // 2),
    }
)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PEOPLE.to_csv("people.csv", index=False)
    assert main(["defend", "none", "people.csv", "--target", "pay,ill", "--qi", "age", "-o", "tree.json"]) == 0
    return tmp_path


def test_what_is_inferred_of_a_column_is_the_sum_over_the_others():
    found = maxent.estimate(maxent.defend(PEOPLE, target=["pay", "ill"], qi=["age"]).release, PEOPLE[["age"]], PEOPLE)
    joint, pay, ill = found.probabilities, found.targets["pay"], found.targets["ill"]
    assert pay.probabilities == pytest.approx(np.column_stack([joint[:, :2].sum(1), joint[:, 2:].sum(1)]))
    assert ill.probabilities == pytest.approx(np.column_stack([joint[:, ::2].sum(1), joint[:, 1::2].sum(1)]))
    assert [*pay.posterior.columns] == ["age", "count", "P(poor)", "P(rich)", "divergence"]
    told = found.summary["targets"]
    assert (told["pay"]["disclosure"]["certain"], told["ill"]["disclosure"]["certain"]) == (N, 0)
    assert found.summary["disclosure"]["certain"] == 0
    assert told["pay"]["disclosure"]["possible"]["certain"] == N
    assert told["ill"]["disclosure"]["possible"]["max_posterior"] == pytest.approx(2 / 3)
    assert told["pay"]["divergence"]["overall"] == pytest.approx(0, abs=1e-6)
    assert (told["pay"]["right_guesses"], told["pay"]["base_rate"], told["pay"]["pure"]) == (0.75, 0.75, N)
    assert told["pay"]["entropy"] + told["ill"]["entropy"] >= found.summary["entropy"] - 1e-9


def test_a_class_of_one_column_can_be_certain_while_no_combination_is(files, capsys):
    call = [
        "estimate",
        "tree.json",
        "people.csv",
        "--truth",
        "people.csv",
        "--max-certain",
        "0",
        "--max-posterior",
        "1",
    ]
    assert main([*call, "--min-k", "2", "--enforce", "--json", "--report", "report.html"]) == 3
    posterior, least, certain = json.loads(capsys.readouterr().out)["verdict"]["releases"][0]["checks"]
    assert (posterior["found"], posterior["target"], posterior["status"]) == (1.0, "pay", "pass")
    assert (least["found"], least["status"], "target" in least) == (N, "pass", False)
    assert (certain["found"], certain["target"], certain["status"]) == (N, "pay", "fail")
    report = (files / "report.html").read_text()
    assert f"the pay by itself: that of {N} is certain" in report
    assert f"{N} (pay)" in report
    printed = printed_by(capsys, [*call]).out
    assert (
        f"the pay by itself: that of {N} is certain; largest posterior 1.000; expected right guesses 75.0 %" in printed
    )
    assert "the ill by itself: nobody's is certain; largest posterior 0.667" in printed
    assert (
        f"individuals whose class is certain {N} (pay) by what their leaf or group proves, at most 0: beyond" in printed
    )


def test_labels_of_combinations_allow_any_class_of_a_column(capsys, tmp_path):
    release = maxent.defend(PEOPLE, target=["pay", "ill"], qi=["age"], publish="labels").release
    assert maxent.estimate(release, PEOPLE[["age"]]).targets["pay"].disclosure.possible.max_posterior == 1.0


def test_attacks_look_at_each_column_by_itself(files, capsys):
    found = json.loads(printed_by(capsys, ["audit", "tree.json", "people.csv", "--json"]).out)
    assert found["homogeneity"]["individuals"] == 0
    assert found["targets"]["pay"]["homogeneity"]["individuals"] == N
    assert found["targets"]["ill"]["homogeneity"]["individuals"] == 0
    printed = printed_by(capsys, ["audit", "tree.json"]).out
    assert "pay by itself:\n  uniqueness: no leaf holds a single individual\n  homogeneity: 1 leaf" in printed
    assert f"the pay of {N} individuals (50.0 %) is disclosed" in printed


def test_a_comparison_has_each_column_by_itself(files, capsys):
    call = ["compare", "tree.json", "tree.json", "people.csv", "--truth", "people.csv", "--max-certain", "0"]
    found = json.loads(printed_by(capsys, [*call, "--json"]).out)
    assert [(each["target"], each["certain"]) for each in found["releases"][1]["targets"]] == [("pay", N), ("ill", 0)]
    assert found["releases"][1]["targets"][0]["homogeneous_individuals"] == N
    assert found["verdict"]["status"] == "fail"
    assert main([*call, "-o", "rows.csv"]) == 0
    assert "targets" not in pd.read_csv("rows.csv").columns
    assert f"tree (2), pay by itself: divergence overall 0.0000; certain individuals {N}" in capsys.readouterr().out


def test_defend_says_what_is_not_said_of_each_column(files, capsys):
    assert main(["defend", "prune-leaf", "people.csv", "--target", "pay,ill", "--qi", "age", "-o", "a.json"]) == 0
    assert "people in a leaf of several of these may still be alike in one column" in capsys.readouterr().out
    records = ["defend", "erp", "people.csv", "--publish", "records", "--qi", "age", "-o", "a.csv"]
    assert main([*records, "--target", "pay,ill"]) == 2
    assert "--target: expected one column, for records, found 'pay', 'ill'" in capsys.readouterr().err


def test_a_name_with_a_comma_is_quoted(files, capsys):
    PEOPLE.rename(columns={"pay": "pay, ill"}).to_csv("comma.csv", index=False)
    assert main([*["defend", "none", "comma.csv", "--qi", "age", "-o", "comma.json", "--target"], '"pay, ill"']) == 0
    assert maxent.load_release("comma.json").target.name == "pay, ill"


def test_what_is_proved_of_combinations_bounds_no_column():
    row = {"release": "r", "status": "optimal", "max_posterior": 0.5, "certain": 0, "exposed": 0, "surest": 0.5}
    row |= {
        "base_rate": 0.5,
        "possible_posterior": 0.5,
        "possible_certain": 0,
        "certain_proved": 0,
        "certain_at_most": 0,
    }
    column = {**row, "target": "pay", "max_posterior": 0.9, "surest": 0.9, "possible_posterior": 1.0}
    del column["certain_proved"], column["certain_at_most"]
    column["possible_certain"] = 3
    assert judge_rows(Limits(max_certain=0), [row]).status == "pass"
    assert judge_rows(Limits(max_certain=0), [{**row, "targets": [column]}]).status == "cannot_tell"
