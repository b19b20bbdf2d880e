"""The program that fills in docs/seeds.md, on a few forests, and the page."""

import runpy
from typing import Any

import pytest
from support.paths import ROOT

STUDY: dict[str, Any] = runpy.run_path(str(ROOT / "examples" / "papers" / "seeds.py"))


def test_a_row_is_about_what_a_default_forest_gives_away() -> None:
    cells = dict(zip(STUDY["HEAD"], STUDY["forest_row"]("three answers", *STUDY["answers"](), 1), strict=True))
    assert cells["proved, least"] == cells["people"] == "500"
    assert cells["wrong"] == "0"
    assert int(cells["smallest group"]) > 40


def test_the_program_fills_in_every_table_of_the_page(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    main, page = STUDY["main"], tmp_path / "seeds.md"
    text = (ROOT / "docs" / "seeds.md").read_text(encoding="utf-8")
    empty = text
    for pattern in STUDY["TABLES"].values():
        assert len(pattern.search(text)[1].splitlines()) > 4
        empty = pattern.sub("", empty, count=1)
    page.write_text(empty, encoding="utf-8")
    told = main.__globals__
    monkeypatch.setitem(told, "DATA", {"answers": told["answers"]})
    monkeypatch.setitem(told, "forest_row", lambda name, *_: [name] * len(STUDY["HEAD"]))
    monkeypatch.setitem(told, "curve", lambda *_, **options: [0.5] * len(STUDY["TREES"]))
    assert main([str(tmp_path)]) == 0
    filled = page.read_text(encoding="utf-8")
    for pattern in STUDY["TABLES"].values():
        assert len(pattern.search(filled)[1].splitlines()) >= 3
        filled = pattern.sub("", filled, count=1)
    assert filled == empty


def test_the_paper_repeats_the_page():
    page, paper = (
        {
            cells[0]: cells[1:]
            for cells in map(cells_of, (ROOT / "docs" / name).read_text(encoding="utf-8").splitlines())
        }
        for name in ("seeds.md", "paper.md")
    )
    shown = [name for name in paper if name in page and len(page[name]) == 6 and name != "data"]
    assert len(shown) == 4
    for name in shown:
        people, smallest, *_, mean, wrong = page[name]
        assert (paper[name], wrong) == ([people, smallest, mean], "0")


def test_what_the_paper_says_of_leaves_and_limits_was_measured():
    paper = " ".join((ROOT / "docs" / "paper.md").read_text(encoding="utf-8").split())
    shares = table_of("seeds.md", "trees")["50"]  # of people in leaves of at least 50
    assert "Leaves of at least 50 people protect up to 20 trees, and no longer at 50." in paper
    assert [trees for trees, share in shares.items() if float(share) > 0] == ["50 trees", "100 trees"]
    bests = table_of("frontiers.md", "bests")
    assert "On five data sets some defense with groups of at least 20 people is within 0.2 points" in paper
    assert len(bests) == 5
    assert min(float(cells["k = 20"].rpartition(" ")[2]) for cells in bests.values()) >= -0.2


def table_of(page, name):
    """A table that a program filled in: the first cell of a row -> the others by their heads."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8").partition(f"<!-- table: {name} -->")[2]
    head, _, *rows = map(cells_of, text.partition("<!-- end -->")[0].strip().splitlines())
    return {first: dict(zip(head[1:], cells, strict=True)) for first, *cells in rows}


def cells_of(line):
    """The cells of a row of a table, the first alone of anything else."""
    return [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("| ") else [line]
