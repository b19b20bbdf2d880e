"""Published forests over Adult have the answers of the benchmark's page, with a certificate."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
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
