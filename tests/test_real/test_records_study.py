"""The page yang_2019/README.md and its figure are what yang_2019/study.py makes of the data."""

import re
from pathlib import Path

import pytest
from papers.yang_2019 import page, study, tiers
from support.paths import ROOT
from test_real.instances import data_folder

PAGE = ROOT / "examples" / "papers" / "yang_2019" / "README.md"


def rows(name: str) -> list[list[str]]:
    """A table of the page, without its header."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.search(rf"<!-- table: {name} -->\n(.*?)<!-- end -->", text, re.DOTALL)
    assert found is not None
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in found[1].splitlines()[2:]]


def test_the_worked_example_is_as_printed() -> None:
    """Needs no data: every figure that the paper prints is marked, and Table 1 is the same record by record."""
    for name, table in study.example().items():
        assert f"<!-- table: {name} -->\n{table}<!-- end -->" in (
            ROOT / "examples" / "papers" / "yang_2019" / "README.md"
        ).read_text("utf-8")
    marked = sum(cell.startswith("**") for row in rows("example") for cell in row)
    assert marked == len(page.RISK)
    assert [row[-1] for row in rows("table-1")] == ["exact"] * 5


def test_tiers_lose_less_than_pruned_groups_in_every_fold() -> None:
    held = {tuple(row[:2]): row[2:] for row in rows("orders")}
    for data in tiers.DATA:
        folds = 3 * tiers.HELD_OUT[data]
        assert held[page.TITLES[data], "Proposed < ERP-only"][0] == f"{folds} of {folds}"


def test_the_page_says_what_is_disclosed(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = data_folder()
    if not (folder / "contraceptive.csv").is_file():
        pytest.skip("needs real data: contraceptive.csv in the folder that MAXENT_DATA names")
    monkeypatch.setenv("MAXENT_DATA", str(folder))
    monkeypatch.setattr(study, "KS", (30,))
    found = dict(study.everything(tiers.load("contraceptive"), "contraceptive"))
    said = {tuple(row[:3]): row[3:8] for row in rows("disclosure")}
    for key, row in found.items():
        if key[1] != "tree":  # other versions of scikit-learn may break ties differently
            line = page.disclosed({key: row}, {}).splitlines()[-1]
            assert said[tuple(page.named(key))] == [cell.strip() for cell in line.strip("|").split(" | ")][3:8]
    plain = found["contraceptive", "tree", 0]
    assert all(plain.divergence < row.divergence for key, row in found.items() if key[1] != "tree")


def test_the_study_says_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert study.main([str(tmp_path)]) == 2
    (tmp_path / "README.md").touch()
    monkeypatch.delenv("MAXENT_DATA", raising=False)
    tiers.load.cache_clear()
    assert study.main([str(tmp_path)]) == 2
    assert "MAXENT_DATA" in capsys.readouterr().err
