"""Members and control people of Adult: the rows of docs/evidence.md, and trees with labels alone."""

import importlib
import json
from pathlib import Path

import pandas as pd
import pytest
from support.paths import ROOT
from test_real.instances import data_folder

import maxent
from maxent.__main__ import main
from maxent.models.trees.restate import restate

Halves = tuple[pd.DataFrame, pd.DataFrame]


@pytest.fixture(scope="module")
def benchmark():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "benchmarks"))
        yield importlib.import_module("control")


@pytest.fixture(scope="module")
def halves(benchmark) -> Halves:
    found: Halves = benchmark.halves(Path(data_folder()))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plain", "pruned", "kadet", "forest", "boosted"])
def test_the_page_has_the_row(benchmark, halves, name):
    page = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")
    row = benchmark.row(name, *halves)
    written = next(line for line in page.splitlines() if line.startswith(row[: row.index("%") - 6]))
    assert numbers(written) == pytest.approx(numbers(row), abs=0.11)


def numbers(row: str) -> list[float]:
    """Hit rates, difference and interval, in points."""
    cells = row.replace(" %", "").replace(" to ", " | ").split(" | ")[1:]
    return [float(cell.strip(" |")) for cell in cells]


@pytest.mark.slow
def test_a_tree_with_labels_alone_never_passes(benchmark, halves, tmp_path, capsys):
    members, controls = halves
    release = restate(benchmark.RELEASES["plain"][1](members), "labels")
    tree, qi, truth, others = (str(tmp_path / name) for name in ("tree.json", "qi.csv", "truth.csv", "others.csv"))
    release.save(tree)
    members[benchmark.QI].to_csv(qi, index=False)
    members.to_csv(truth, index=False)
    controls.to_csv(others, index=False)
    limits = {"max-posterior": 0.95, "max-certain": 100, "max-right-guesses": 0.8, "max-lift": 0.05}
    for name, most in limits.items():
        call = ["estimate", tree, qi, f"--{name}", str(most), "--enforce", "--json"]
        assert main(call) in (3, 4)  # somebody alone in a leaf is found by the table and the label
        capsys.readouterr()
        assert main([*call, "--truth", truth, "--control", others]) == 3
        told = json.loads(capsys.readouterr().out)
        assert told["verdict"]["status"] == "fail"
        [judged] = told["verdict"]["releases"]
        assert judged["would_pass"]["reason"].endswith("leaves do not state the counts of their classes")
    assert told["truth"]["right_guesses"] > told["baseline"]["base_rate"] + 0.05
    assert told["truth"]["pure"] > 1500
    assert told["control"]["interval"][0] > 0
    found = maxent.estimate(tree, qi, truth, control=others)
    assert found.verdict(**{name.replace("-", "_"): most for name, most in limits.items()}).status == "fail"
