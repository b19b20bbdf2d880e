"""What output checkers use: rules of SACRO-ML, folders of ACRO, RO-Crates, and folders of SACRO-ML."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import maxent
from maxent.policy.checks.hyperparameters import REGIONS, is_risky
from maxent.policy.checks.page import explained
from maxent.policy.checks.registry import CHECKS

# Settings on both sides of every threshold, and what SACRO-ML 2.0.1 (get_unnecessary_risk) says of each: a bit each.
RISKY: dict[str, tuple[dict[str, list[Any]], int]] = {
    "DecisionTreeClassifier": (
        {
            "max_depth": [None, 3, 4, 7, 8],
            "min_samples_leaf": [0.1, 7, 8, 15, 16],
            "min_samples_split": [15, 16],
            "splitter": ["best", "random"],
            "max_features": [None, "sqrt"],
        },
        0xFEFE888800000000000088880000008888000000FEFE888800,
    ),
    "RandomForestClassifier": (
        {
            "max_depth": [None, 3, 4, 7, 8],
            "n_estimators": [15, 16, 35, 36],
            "min_samples_leaf": [15, 16],
            "min_samples_split": [15, 16],
            "max_features": [None, "sqrt"],
            "bootstrap": [True, False],
        },
        0x55005500B3B30000000000000000000000000000B3B3000000000000B3B3000055005500B3B3,
    ),
    "XGBClassifier": (
        {
            "max_depth": [None, 3, 4],
            "n_estimators": [None, 3, 4, 12, 13, 62, 63],
            "min_child_weight": [None, 1.5, 1.6, 3, 3.1, 6, 6.1],
        },
        0x7E0183078F1F8000000000001F8060C1E3C7E,
    ),
}


def combinations(kind: str) -> list[dict[str, Any]]:
    grid = RISKY[kind][0]
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


@pytest.mark.parametrize("kind", RISKY)
def test_settings_are_judged_as_sacro_ml_does_on_both_sides_of_every_threshold(kind: str) -> None:
    cases = combinations(kind)
    bits = "".join(str(int(bool(is_risky({"model": kind, **case})))) for case in cases)
    assert int(bits, 2) == RISKY[kind][1]
    assert list(RISKY) == list(REGIONS)


@pytest.mark.parametrize("kind", RISKY)
def test_without_a_setting_the_risk_is_told_only_where_it_does_not_matter(kind: str) -> None:
    for case in combinations(kind)[::3]:
        for name, values in RISKY[kind][0].items():
            found = is_risky({"model": kind, **{key: value for key, value in case.items() if key != name}})
            if found is not None:
                assert {is_risky({"model": kind, **case, name: value}) for value in values} == {found}
    assert is_risky({"model": kind}) is None
    assert is_risky({"model": "J48", "max_depth": 3}) is is_risky({}) is None


def people(n: int = 120) -> pd.DataFrame:
    dice = np.random.default_rng(4)
    table = pd.DataFrame({"age": dice.integers(20, 60, n), "sex": dice.integers(0, 2, n)})
    return table.assign(ill=np.where(table["age"] + 10 * dice.random(n) > 45, "yes", "no"))


@pytest.mark.parametrize(("how", "status"), [({"max_depth": 3}, "pass"), ({}, "fail")])
def test_a_skops_file_states_the_settings_of_its_training(tmp_path: Path, how: Any, status: str) -> None:
    from sklearn.tree import DecisionTreeClassifier
    from skops.io import dump

    table = people()
    model = DecisionTreeClassifier(min_samples_leaf=np.int64(5), random_state=0, **how)
    model.fit(table[["age", "sex"]], table["ill"])
    dump(model, tmp_path / "tree.skops")
    said: dict[str, Any] = {"target": "ill", "truth": table}
    found = maxent.check(tmp_path / "tree.skops", table[["age", "sex"]], no_unnecessary_risk=True, **said)
    row = next(row for row in found.rows if row.check.id == "MX120")
    assert row.status == status
    assert "min_samples_leaf=5" in row.finding.said
    assert found.status == ("cannot_tell" if status == "pass" else "fail")  # of settings alone there is no PASS
    found.review.release.save(tmp_path / "tree.json")
    plain = maxent.check(tmp_path / "tree.json", table[["age", "sex"]], truth=table, no_unnecessary_risk=True)
    assert plain.rows[0].status == "cannot_tell"


def test_every_check_names_its_statbarn_or_none() -> None:
    known = {"Frequencies", "LinearAggregations", "CorrelationCoefficients", "LinkedMultilevelTables"}
    for check in CHECKS.values():
        uri = explained(check)["statbarn"]
        assert uri == "none" or uri.removeprefix("https://www.w3id.org/statbarnsdc#") in known
    assert CHECKS["MX101"].statbarn == "Frequencies"
