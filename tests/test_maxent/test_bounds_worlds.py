"""``maxent bounds --worlds --witness``: worlds beside the estimate, and tables that agree with everything."""

import json

import numpy as np
import pandas as pd
import pytest
from support.paths import D1

import maxent
from maxent.__main__ import main
from maxent.models import packages
from maxent.models.errors import MissingExtra
from maxent.results.bounds import Worlds
from maxent.solvers.certainty.weighing import WeighedWorlds as Weighed

CALL = [str(D1 / "tree.json"), str(D1 / "qi.csv")]


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
    assert found.fragile == 2
    assert found.summary["individuals_unknown"] == 7
    assert found.summary["largest_difference"] == pytest.approx(0.2)
    assert any("for 2 individuals: there the estimate is fragile" in line for line in found.lines())
