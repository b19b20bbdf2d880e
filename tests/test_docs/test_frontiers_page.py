"""The page of frontiers: its program on a few people, and a part of its numbers computed again."""

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from papers import frontiers

PAGE = Path(__file__).parents[2] / "docs" / "frontiers.md"


def rows_of(name: str) -> dict[str, list[str]]:
    """The rows of a table of the page, by their first cell."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.search(rf"<!-- table: {name} -->\n(.*?)<!-- end -->", text, re.DOTALL)
    assert found is not None
    cells = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in found[1].splitlines()]
    return {first: rest for first, *rest in cells}


def test_the_page_has_every_defense_and_limit() -> None:
    for name in frontiers.DATA:
        rows = rows_of(f"{name}-accuracy")
        assert rows["defense"] == frontiers.header("")[1:]
        assert [*rows][2:] == ["no defense", *frontiers.defenses_of(name)]


def test_the_best_subtree_is_nowhere_worse_on_the_people_of_its_tree() -> None:
    text = PAGE.read_text(encoding="utf-8")
    least = re.search(r"The least of all folds, data sets and limits: ([-+][\d.]+) points", text)
    assert least is not None
    assert float(least[1]) >= 0


def test_the_cautious_search_is_nowhere_worse_on_other_people() -> None:
    told = "optimal, --remove, cautious over prune-leaf"
    text = PAGE.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if told in line]
    assert len(lines) == len(frontiers.DATA)
    cells = [cell.split("±")[0].strip() for line in lines for cell in line.split("|")[3:-1]]
    assert all(float(cell) >= 0 for cell in cells if cell not in ("alone", "none"))
    assert not any(cell.startswith("-") for cell in cells)


def test_what_is_measured_of_a_few_people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = np.random.default_rng(1)
    frame = pd.DataFrame({name: dice.choice(list("abc"), 240) for name in ("one", "two")})
    sure = (frame["one"] == "a") & (dice.random(240) < 0.9)
    frame["assessment"] = np.where(sure ^ (dice.random(240) < 0.2), "p", "n")
    frame.to_csv(tmp_path / "nursery.csv", index=False)
    defenses = ("optimal", "prune-parent")
    for name, value in {"LADDER": (5, 100), "FOLDS": 2, "KS": (5,), "POSTERIORS": (0.9,)}.items():
        monkeypatch.setattr(frontiers, name, value)
    monkeypatch.setattr(frontiers, "BETTER", (("prune-parent", "optimal"),))
    found = frontiers.measured("nursery", tmp_path, defenses)
    for limit in frontiers.limits():
        assert {*found[limit]} == {*defenses}
        for entry in found[limit].values():
            assert len(entry["test"]) in (0, frontiers.FOLDS)
    assert frontiers.worst({"nursery": found}) >= 0
    assert "| optimal | " in frontiers.accuracies(found)
    assert "Nursery" in frontiers.bests({"nursery": found})


@pytest.mark.slow
def test_a_part_of_the_page_is_computed_again() -> None:
    folder = os.environ.get("MAXENT_DATA")
    if not folder:
        pytest.skip("needs contraceptive.csv in the folder MAXENT_DATA")
    defenses = ("optimal", "optimal, --remove, cautious", "prune-parent", "erp", "kadet, C4.5")
    found: dict[str, Any] = frontiers.measured("contraceptive", Path(folder), defenses)
    page, again = rows_of("contraceptive-accuracy"), frontiers.accuracies(found)
    for each in ("no defense", *defenses):
        line = next(line for line in again.splitlines() if line.startswith(f"| {each} |"))
        assert [cell.strip() for cell in line.strip("|\n").split("|")][1:] == page[each]


@pytest.mark.slow
def test_the_trees_by_hand_are_those_of_the_page() -> None:
    folder = os.environ.get("MAXENT_DATA")
    if not folder:
        pytest.skip("needs adult.csv in the folder MAXENT_DATA")
    again = frontiers.by_hand(Path(folder))
    text = PAGE.read_text(encoding="utf-8")
    assert again in text
    assert "82.876 | 0 |" in again
    assert "60.407 | 0 |" in again
