"""``maxent bounds`` and `maxent.bounds`: what is proved, as text, JSON, a table and a notebook's."""

import json

import numpy as np
import pandas as pd
import pytest
from support.calls import printed_by, refused
from support.paths import D1

import maxent
from maxent.__main__ import main
from maxent.command_line.options import LevelName
from maxent.disclosure.limits import Limits, judge_rows
from maxent.models import packages
from maxent.models.errors import MissingExtra, UnreliableResult
from maxent.models.release import Attribute, Branch, Node, Release, Target, Tree
from maxent.results.bounds import Worlds
from maxent.solvers.certainty.levels import level_names
from maxent.solvers.certainty.weighing import WeighedWorlds as Weighed

CALL = [str(D1 / "tree.json"), str(D1 / "qi.csv")]


def test_the_command_prints_bounds_and_what_is_proved(capsys):
    assert main(["bounds", *CALL, "--level", "closed"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "Education Country Gender count P(<=50K) P(>50K)"
    assert lines[1] == "Masters USA Female 1 0.000 to 1.000 0.000 to 1.000"
    assert "Masters Canada Male 2 1.000 0.000" in lines
    assert "11 individuals, 7 distinct quasi-identifiers; the salary of 5 is proved" in lines
    assert "bounds differ for 2 individuals" in lines


def test_json_and_the_table_have_the_names_that_scripts_rely_on(capsys, tmp_path):
    assert main(["bounds", *CALL, "--level", "closed", "--json", "-o", str(tmp_path / "bounds.csv")]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["certain_proved"], summary["individuals_open"]) == (5, 2)
    assert (summary["levels"], summary["status"]) == ({"closed": 14}, "proved")
    table = pd.read_csv(tmp_path / "bounds.csv")
    assert table.columns.tolist() == ["Education", "Country", "Gender", "count", "class", "low", "high", "proved_by"]
    assert table.iloc[4].tolist() == ["Masters", "Canada", "Male", 2, "<=50K", 1.0, 1.0, "closed"]
    assert len(table) == 14


def test_python_has_the_same(tmp_path):
    found = maxent.bounds(*CALL, level="closed")
    assert found.certain_proved == found.summary["certain_proved"] == 5
    assert found.frame()["low"].tolist()[:6] == [0, 0, 0, 0, 1, 0]
    assert repr(found).startswith("Bounds on P(Salary | Education, Country, Gender): proved")
    assert "0.000 to 1.000" in found._repr_html_()
    found.save(tmp_path / "bounds.json")
    document = json.loads((tmp_path / "bounds.json").read_text(encoding="utf-8"))
    assert document["certain_proved"] == 5
    assert len(document["rows"]) == 14


def test_shares_are_rounded_outward():
    people = pd.DataFrame({"A": ["x"] * 3})
    root = Node("N", "A", (Branch("L", ("x",)), Branch("R", ("y",))))
    nodes = (root, Node("L", counts={"a": 1, "b": 2}), Node("R", counts={"a": 0, "b": 0}))
    release = Release(Target("Y", ("a", "b")), (Attribute("A", values=("x", "y")),), (Tree(nodes),))
    found = maxent.bounds(release, people)
    assert found.low[0, 0] <= 1 / 3 <= found.high[0, 0]
    assert found.high[0, 0] - found.low[0, 0] < 1e-15
    assert found.individuals_open == 0


def test_what_contradicts_itself_is_not_to_be_relied_on(capsys):
    people = pd.read_csv(CALL[1]).iloc[1:]
    with pytest.warns(UnreliableResult, match="inconsistent"):
        found = maxent.bounds(CALL[0], people)
    assert found.status == "inconsistent"
    assert found.summary["contradictions"]
    assert (found.high == 1).all()
    assert "contradictions:" in repr(found)


def test_choices_are_those_of_the_registry():
    assert [each.value for each in LevelName] == [*level_names(), "auto"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": "gold"}, "level: expected one of closed"),
        ({"ties": "last"}, "ties: expected one of any, first, found 'last'"),
        ({"time_limit": 0}, "time_limit: expected a positive number of seconds, found 0"),
    ],
)
def test_wrong_options_are_refused(options, message):
    refused(message, maxent.bounds, *CALL, **options)


def test_a_time_limit_leaves_bounds_that_hold():
    found = maxent.bounds(*CALL, time_limit=1e-9)
    assert found.reliable
    assert found.certain_proved >= 5


def test_every_level_is_on_the_page():
    page = (D1.parents[1] / "docs" / "bounds.md").read_text(encoding="utf-8")
    assert [name for name in level_names() if f"| `{name}` |" not in page] == []


def test_an_estimate_says_what_is_proved_beside_it(capsys):
    summary = json.loads(printed_by(capsys, ["estimate", *CALL, "--bounds", "--json"]).out)
    assert summary["certain_estimated"] == summary["disclosure"]["certain"] == 5
    assert summary["certain_proved"] >= 5
    assert summary["bounds"]["status"] == "proved"
    assert main(["estimate", *CALL, "--bounds", "--level", "closed"]) == 0
    said = "proved of all data that agree with this: the salary of 5 is certain; bounds differ for 2 individuals"
    assert said in capsys.readouterr().out


def test_a_limit_on_certain_people_judges_the_proved_number(capsys):
    assert main(["estimate", *CALL, "--bounds", "--level", "closed", "--max-certain", "4", "--enforce"]) == 3
    assert "certain 5 by proof, at most 4: beyond the limit" in capsys.readouterr().out
    found = printed_by(capsys, ["estimate", *CALL, "--bounds", "--level", "closed", "--max-certain", "5"]).out
    assert ("as proofs that were not asked for may find up to 7" in found) == (level_names()[-1] != "closed")


def test_limits_are_judged_by_what_is_proved():
    limits = Limits(max_certain=0)
    known = {"release": "r", "status": "optimal", "max_posterior": 0.9999, "certain": 7, "exposed": 0, "base_rate": 0.5}
    row = {**known, "certain_proved": 0, "certain_at_most": 0}
    assert judge_rows(limits, [known]).status == "fail"
    verdict = judge_rows(limits, [row])
    assert verdict.status == "pass"
    assert verdict.releases[0].checks[0].as_dict()["estimated"] == 7
    assert "certain 0 by proof (7 by the estimate)" in verdict.lines()[1]
    assert judge_rows(limits, [{**row, "certain_at_most": 3}]).status == "cannot_tell"
    assert judge_rows(limits, [{**row, "exposed": 2}]).status == "fail"


def test_a_level_is_about_a_proof(capsys):
    assert main(["estimate", *CALL, "--level", "closed"]) == 2
    assert "--level: expected none without --bounds" in capsys.readouterr().err
    refused("bounds: expected one of closed", maxent.estimate, *CALL, bounds="gold")


def test_the_report_has_what_is_proved(tmp_path):
    report = tmp_path / "report.html"
    assert main(["estimate", *CALL, "--bounds", "--level", "closed", "--report", str(report)]) == 0
    text = report.read_text(encoding="utf-8")
    for said in (">Proved</th>", "<td>certain</td>", "<td>0.000 to 1.000</td>"):
        assert said in text
    assert main(["estimate", *CALL, "--report", str(report)]) == 0
    assert ">Proved</th>" not in report.read_text(encoding="utf-8")


def test_the_command_writes_witnesses_and_worlds(capsys, tmp_path):
    pytest.importorskip("ortools")
    files = ["--witness", str(tmp_path / "people.csv"), "-o", str(tmp_path / "bounds.csv")]
    assert main(["bounds", *CALL, "--knowledge", "label,rate", "--worlds", "--json", *files]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["witness"] is True
    assert summary["worlds"]["log10_number"] == pytest.approx(np.log10(8))
    assert summary["worlds"]["individuals_counted"] == 11
    assert summary["worlds"]["largest_difference"] < 1e-6
    assert summary["worlds"]["fragile"] == 0
    people = pd.read_csv(tmp_path / "people.csv")
    assert people.columns.tolist() == ["Education", "Country", "Gender", "Salary", "Salary_other"]
    assert people.iloc[:, :3].sort_values([*people.columns[:3]]).to_numpy().tolist() == (
        pd.read_csv(CALL[1]).sort_values([*people.columns[:3]]).to_numpy().tolist()
    )
    # The only two people who are open have different classes, and each the other's in the other world.
    at_l1 = people[(people["Education"] == "Masters") & (people["Country"] == "USA")]
    assert set(at_l1["Salary"]) == set(at_l1["Salary_other"]) == {"<=50K", ">50K"}
    assert (at_l1["Salary"] != at_l1["Salary_other"]).all()
    table = pd.read_csv(tmp_path / "bounds.csv")
    assert table.columns.tolist()[-2:] == ["worlds", "estimate"]
    assert table["worlds"].tolist()[:4] == [0.5] * 4


def test_without_or_tools_the_way_to_get_it_is_told(monkeypatch):
    monkeypatch.setattr(packages, "find_spec", lambda module: None if module == "ortools" else True)
    for asked in ({"worlds": True}, {"witness": True}):
        with pytest.raises(MissingExtra, match="OR-Tools: pip install ortools"):
            maxent.bounds(*CALL, **asked)


def test_what_differs_from_the_estimate_is_fragile():
    posterior, r_hat = np.array([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]]), np.full((3, 2), np.nan)
    r_hat[1:] = [[1.0, 1.0], [1.2, 1.0]]
    weighed = Weighed(posterior, np.array([True, False, False]), r_hat, r_hat * 100, None, 0)
    found = Worlds(weighed, np.array([[0.55, 0.45], [0.7, 0.3], [0.9, 0.1]]), np.array([3, 2, 7]))
    assert found.known.tolist() == [True, True, False]
    assert (found.fragile, found.summary["individuals_unknown"]) == (2, 7)
    assert found.summary["largest_difference"] == pytest.approx(0.2)
    assert any("for 2 individuals: there the estimate is fragile" in line for line in found.lines())
