"""The program that fills in docs/ladder.md, and the page."""

import runpy
import shutil
import sys

import pytest
from support.paths import ROOT


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_page_shows_what_the_program_finds(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "examples"), *sys.path])
    page = tmp_path / "ladder.md"
    shutil.copy(ROOT / "docs" / "ladder.md", page)
    assert runpy.run_path(str(ROOT / "examples" / "papers" / "ladders.py"))["main"](page) == 0
    told, shown = (
        [[cell.strip() for cell in line.split("|")] for line in path.read_text(encoding="utf-8").splitlines()]
        for path in (page, ROOT / "docs" / "ladder.md")
    )
    assert [len(row) for row in told] == [len(row) for row in shown]
    assert [row[:3] for row in told] == [row[:3] for row in shown]  # forests differ by the version that grew them
    proved = next(row for row in told if row[1:2] == ["table"] and "proved" in row[2])[3:5]
    assert ["442 proved" in cell for cell in proved] == [True, True]
