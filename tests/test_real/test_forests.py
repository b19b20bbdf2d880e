"""Published forests over Adult have the answers of the benchmark's page, with a certificate."""

import importlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from papers.wakabayashi_2024.protocol import ADULT, DEPTH, PRUNE
from papers.waseda_2025 import audit
from test_real.instances import data_folder

import maxent

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
ENTROPY = {"small": 0.34161782, "classes": 1.59805162, "wide": 0.29915879, "usual": 0.20437085}


@pytest.mark.parametrize(
    "name", ["small", *(pytest.param(name, marks=pytest.mark.slow) for name in ("classes", "wide", "usual"))]
)
def test_a_forest_is_solved(tmp_path, monkeypatch, name):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    forests = importlib.import_module("forests")
    release, table = forests.write_forest(forests.FORESTS[name], Path(data_folder()), tmp_path)
    found = maxent.estimate(release, table)
    assert found.reliable
    assert found.certificate == "global"
    assert found.summary["max_violation"] <= 1e-8
    assert found.summary["entropy"] == pytest.approx(ENTROPY[name], abs=1e-6)


@pytest.mark.parametrize(
    ("seed", "k", "trees"),
    [(0, 0, 5), *(pytest.param(*case, marks=pytest.mark.slow) for case in ((0, 5, 10), (1, 5, 10), (2, 20, 10)))],
)
def test_random_trees_of_nursery_that_leave_hardly_any_choice_are_solved(monkeypatch, seed, k, trees):
    monkeypatch.setenv("MAXENT_DATA", str(data_folder()))
    split = audit.Split.of(audit.load("nursery"), seed)
    truth = audit.frame(split.train)
    release = split.forest(max(audit.SIZES), audit.DEPTHS["nursery"], 1.0, seed).drawn.release(k)
    table = truth.drop(columns=release.target.name)
    found = maxent.estimate(replace(release, trees=release.trees[:trees]), table, truth)
    assert found.certificate == "global"
    assert found.outcome.duality_gap <= 1e-6
    assert np.isfinite(found.summary["divergence"]["overall"])


@pytest.mark.slow
def test_the_people_of_a_forest_are_rebuilt(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    bench = importlib.import_module("reconstruct")
    adult = bench.binary(pd.read_csv(Path(data_folder()) / "adult.csv"))
    # The numbers of ones in the published file of DRAFT.
    assert adult[["age_high", "education_Assoc", "occupation_Service", "workclass_Government"]].sum().tolist() == [
        *(25148, 3662, 7594, 6549)
    ]
    people = adult.sample(bench.DRAWN, random_state=0, ignore_index=True).iloc[: bench.PEOPLE]
    bench.write_release(people, 100, None, 0, tmp_path / "forest.json")
    found = maxent.reconstruct(tmp_path / "forest.json", time_limit=240)
    assert found.reliable
    assert found.missed == ()
    assert bench.error(found.table, people) <= 0.005
    if found.settled:
        assert found.summary["cells_proved"] >= 0.98 * found.summary["cells"]


@pytest.mark.slow
@pytest.mark.parametrize("k", [31, 41, 51])
def test_a_point_that_meets_the_comparisons_is_found_without_more_starts(k: int) -> None:
    data_folder()
    people = ADULT.frame.iloc[ADULT.split(9)[0]].reset_index(drop=True)
    release = PRUNE["prune-leaf"](ADULT.grow(DEPTH, 9), k)
    found = maxent.estimate(release, people.drop(columns="class"), people, jobs=1).summary
    assert found["status"] == "optimal"
    assert found["max_violation"] <= 1e-9
