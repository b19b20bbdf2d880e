"""examples/papers/peers/compare.py: what it measures of environments, what the page says of it, and our own answers."""

import json
import os
import re
import subprocess
import sys

import pytest
from papers.peers import compare, environments, maxent_
from papers.peers.page import tables
from papers.tables import fill
from support.paths import ROOT

PAGE = ROOT / "examples" / "papers" / "peers" / "README.md"
TIMES = {"installed": {"version": "2.0", "packages": 3, "bytes": 2_500_000, "largest": {"torch": 9e5}, "seconds": 1.0}}
TIMES |= {"bare": {"cpu": 0.02, "wall": 0.03, "mb": 10.0}, "import": {"cpu": 1.5, "wall": 2.0, "mb": 90.0}}
TIMES |= {"run": {"cpu": 4.0, "wall": 5.0, "mb": 120.0}}
OWN = {
    "leaves": [1, 9, 30],
    "unique": 1,
    "homogeneous_leaves": 1,
    "homogeneous": 9,
    "background_leaves": 2,
    "background": 10,
    "k": 1,
    "exposed": 9,
    "below": 10,
    "status": "optimal",
    "certificate": "global",
    "individuals": 40,
    "certain": 9,
    "max_posterior": 1.0,
    "bayes_vulnerability": 0.75,
    "entropy": 0.4,
    "divergence": 0.3,
    "divergence_max": 2.0,
    **{f"{name}_{kind}": 0.5 for name in ("audit", "estimate") for kind in ("cpu", "wall")},
}
SACRO = {
    "leaves": [1, 9, 30],
    "threshold": 10,
    "k": 1,
    "below": 10,
    "class_disclosure": 9,
    "small_groups": 12,
    "metrics": {
        **{f"{name}_risk": name == "dof" for name in ("k_anonymity", "class_disclosure", "smallgroup", "dof")},
        **{"unnecessary_risk": True, "gen_error_risk": False},
        **{"generalisation_gap": 0.01, "train_acc": 0.9, "test_acc": 0.89},
    },
    "attack_cpu": 0.2,
    "attack_wall": 0.25,
}


@pytest.fixture
def results():
    return {
        "maxent": {**TIMES, "found": OWN},
        "SACRO-ML": {**TIMES, "found": SACRO},
        "ART": {"refused": "does not install: no matching distribution"},
    }


def cells(table):
    """Rows of a Markdown table by their first cell."""
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("|")]
    return {line[0]: line[1:] for line in lines}


def test_tables_say_what_was_found_and_what_does_not_install(results):
    made = tables(results)
    cost, same = cells(made["cost"]), cells(made["same"])
    assert cost[""] == ["maxent", "SACRO-ML", "ART"]
    assert cost["site-packages, MB"] == ["2", "2", "-"]
    assert cost["attack, CPU s"] == ["audit 0.50, estimate 0.50", "0.20", "-"]
    assert cost["why not"] == ["", "", "does not install: no matching distribution"]
    assert "| 9 of 40 |" in made["maxent"]
    assert cells(made["sacroml"])["degrees of freedom risk"] == ["yes"]
    assert set(cells(made["art"])["the most frequent value"]) == {"-"}
    assert same["records in leaves of fewer than ten"][0].endswith(": 10")
    assert "maxent, SACRO-ML: the same sizes of leaves." in made["same"]


def test_another_tree_is_not_passed_over(results):
    results["SACRO-ML"]["found"] = {**SACRO, "leaves": [1, 8, 31]}
    assert "DIFFERENT" in tables(results)["same"]


def test_the_page_has_a_place_for_every_table(results):
    page = PAGE.read_text(encoding="utf-8")
    filled = fill(page, tables(results))
    assert "| 9 of 40 |" in filled
    outside = re.compile(r"<!-- table: .*?<!-- end -->", re.DOTALL)
    assert outside.sub("", filled) == outside.sub("", page)


def test_sizes_are_those_of_files(tmp_path):
    for name, size in {"big/deep/a": 500, "big/b": 7, "small/c": 20, "pip/d": 900, "alone.py": 30}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(bytes(size))
    sizes = environments.bytes_of(tmp_path)
    assert sizes == {"big": 507, "small": 20, "pip": 900, "alone.py": 30}
    assert environments.largest(sizes, ["pip"], 2) == {"big": 507, "alone.py": 30}


def test_cuda_is_refused():

    def report(*names):
        return {"install": [{"metadata": {"name": name}} for name in names]}

    environments.refuse_cuda(report("torch", "numpy"))
    with pytest.raises(environments.NotInstalled, match="CUDA libraries: nvidia-cublas, nvidia-nccl-cu12"):
        environments.refuse_cuda(report("torch", "nvidia-nccl-cu12", "nvidia-cublas"))


def test_a_tool_that_pip_refuses_or_that_does_not_run_says_why(monkeypatch, tmp_path):
    failed = subprocess.CompletedProcess([], 1, "", "WARNING: x\nERROR: first\nERROR: No matching distribution found\n")
    with monkeypatch.context() as patched:
        patched.setattr(subprocess, "run", lambda *_, **__: failed)
        patched.setattr(environments, "bytes_of", lambda _: {})
        patched.setattr(environments, "site_packages", lambda _: tmp_path)
        said = compare.run(environments.PEERS[2], tmp_path / "env", tmp_path)
    assert said == {"refused": "does not install: ERROR: No matching distribution found"}
    with pytest.raises(RuntimeError, match=r"^ModuleNotFoundError: No module named 'nothing_of_that_name'$"):
        compare.measured([sys.executable, "-c", "import nothing_of_that_name"])
    assert compare.measured([sys.executable, "-c", "pass"])["mb"] > 1


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("MAXENT_DATA"), reason="MAXENT_DATA does not name the folder of adult.csv")
def test_our_own_answers_are_those_of_the_page(tmp_path):
    compare.write_instance(tmp_path)
    maxent_.main(str(tmp_path), str(tmp_path / "found.json"))
    own = {**TIMES, "found": json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))}
    made = tables({"maxent": own, "SACRO-ML": {"refused": ""}, "ART": {"refused": ""}})["maxent"]
    assert f"<!-- table: maxent -->\n{made}<!-- end -->" in PAGE.read_text(encoding="utf-8")
