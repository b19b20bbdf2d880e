"""The three risks of WP216: singling out, linkability and inference."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import maxent
from maxent.__main__ import main
from maxent.attacks.wp216 import Wp216Risk as Risk
from maxent.attacks.wp216 import _expected

QI = ["a", "b"]


def people(rng: np.random.Generator, n: int) -> pd.DataFrame:
    table = pd.DataFrame(rng.integers(0, 4, (n, 2)), columns=QI).astype(str)
    return table.assign(T=np.where(rng.random(n) < 0.5, "x", "y"))


def test_a_larger_table_is_reduced_to_all_of_its_parts() -> None:
    sizes = np.array([1, 3, 2])
    groups = np.repeat([0, 1, 2], sizes)
    for size in range(1, 7):
        parts = [np.bincount(groups[list(rows)], minlength=3) for rows in combinations(range(6), size)]
        alone = np.mean([(part == 1).sum() / size for part in parts])
        linked = np.mean([(part > 0).sum() / size for part in parts])
        assert _expected(sizes, 6, size) == pytest.approx((alone, linked))


def test_the_risks_are_those_of_the_groups_of_the_release() -> None:
    rng = np.random.default_rng(1)
    members, controls = people(rng, 40), people(rng, 25)
    release = maxent.defend(members, target="T", qi=QI, method="none", max_depth=8).release
    alone = maxent.estimate(release, members[QI], members).summary["wp216"]
    spans = maxent.audit(release, members[QI])["spans"]
    assert alone["linkability"]["members"] == spans["count"] / 40
    assert alone["singling_out"]["controls"] is alone["inference"]["interval"] is None
    found = maxent.estimate(release, members[QI], members, control=controls).summary
    for key, risk in found["wp216"].items():
        low, high = risk["interval"]
        assert low <= risk["difference"] <= high
        assert risk["difference"] == pytest.approx(risk["members"] - risk["controls"])
        assert risk["confidence"] == 0.99
        if key != "inference":
            assert 0 <= risk["members"] <= alone[key]["members"] + 0.5
    assert found["wp216"]["inference"]["members"] == found["control"]["members"] == alone["inference"]["members"]
    assert found["wp216"]["inference"]["interval"] == found["control"]["interval"]
    assert 0 < found["wp216"]["linkability"]["controls"] <= len(controls.groupby(QI)) / 25 + 1e-12


def test_the_risk_of_anonymeter_is_relative() -> None:
    assert Risk(0.9, 0.8).beyond == pytest.approx(0.5)
    assert Risk(1.0, 1.0).beyond == 0.0
    assert Risk(0.9).beyond is None


def test_the_risks_are_in_text_and_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    d1 = Path(__file__).parents[2] / "examples" / "d1"
    files = [str(d1 / name) for name in ("tree.json", "qi.csv")]
    truth = str(d1 / "truth.csv")
    call = ["estimate", *files, "--truth", truth, "--control", truth, "--report", str(tmp_path / "r.html")]
    assert main(call) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "WP216: singling out 0.0 %, of others 0.0 %" in said
    assert "linkability 45.5 %, of others 45.5 %" in said  # 5 leaves, 11 people
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "The three risks of WP216" in text
    assert "Singling out" in text
