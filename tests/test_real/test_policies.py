"""Trees of the Adult data against ACRO's policy: a plain one is beyond it, one that is pruned for it within."""

import json
from pathlib import Path
from typing import Any

import pytest
from test_real.instances import data_folder

from maxent.__main__ import main

QI = "age,education,marital-status,occupation,sex,hours-per-week"
ACRO = """---
safe_threshold: 10
safe_dof_threshold: 10
safe_nk_n: 2
safe_nk_k: 0.90
safe_pratio_p: 0.10
check_missing_values: False
survival_safe_threshold: 10
zeros_are_disclosive: True
safe_round_base: 5
federated: false
blocked_extensions:
  - .svg
  - .gph
...
"""
METHODS = {"plain": (["none"], 3), "pruned": (["optimal", "--k", "200", "--max-posterior", "0.95"], 0)}


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_trees_of_adult_by_the_policy_of_acro(tmp_path: Path, capsys: Any, name: str) -> None:
    data, tree, record = str(data_folder() / "adult.csv"), str(tmp_path / "tree.json"), str(tmp_path / "record.json")
    (tmp_path / "default.yaml").write_text(ACRO, encoding="utf-8")
    (method, *options), status = METHODS[name]
    grown = ["--target", "class", "--qi", QI, "--max-depth", "8", "-o", tree]
    assert main(["defend", method, data, *grown, *options]) == 0
    call = ["check", tree, data, "--policy", str(tmp_path / "default.yaml"), "--record", record]
    capsys.readouterr()
    assert main([*call, "--json"]) == status
    found = json.loads(capsys.readouterr().out)["verdict"]["checks"]
    failed = {row["id"] for row in found if row["status"] == "fail"}
    assert failed == (set() if name == "pruned" else {"MX101", "MX102", "MX103", "MX105", "MX106"})
    assert main(["verify", record]) == 0
