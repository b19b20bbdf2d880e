"""Forests over a hundred people of Adult give their table away."""

import importlib
from pathlib import Path

import pandas as pd
import pytest
from test_real.instances import data_folder

import maxent

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


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
