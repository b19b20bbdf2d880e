"""Fill in docs/ladder.md, what five adversaries infer from three models: PYTHONPATH=examples python -m papers.ladders.

The tutorial's tree of 442 diabetes patients, a default forest of the same in its own file, and that file without seeds.
Half a minute of one core.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import maxent
from papers.tables import fill

PAGE = Path(__file__).parents[2] / "docs" / "ladder.md"
SPEEDS = ["slow", "medium", "fast"]
HEAD = "| adversary | tree | default forest | the same, stripped |\n| --- | --- | --- | --- |\n"


def reviews(folder: Path) -> list[Any]:
    """The reviews of the three models, with the limit that nobody is certain."""
    from skops.io import dump

    patients = load_diabetes(as_frame=True, scaled=False)
    known = patients.data[["age", "bmi", "bp"]].round(1)
    table = known.assign(progression=pd.cut(patients.target, [0, 100, 200, 400], labels=SPEEDS).astype(str))
    tree = DecisionTreeClassifier(max_depth=6, random_state=0).fit(known, table["progression"])
    forest = RandomForestClassifier(random_state=0).fit(known, table["progression"])
    files = [folder / "tree.skops", folder / "forest.skops", folder / "stripped.skops"]
    dump(tree, files[0])
    dump(forest, files[1])
    maxent.strip(files[1], files[2])
    return [maxent.review(file, table, target="progression", qi=list(known), max_certain=0) for file in files]


def table(found: list[Any]) -> str:
    """A row for each adversary: how many classes are certain, how many are proved, and the share of right guesses."""
    ladders = [{rung.adversary: rung for rung in each.ladder} for each in found]
    rows = []
    for name in ladders[0]:
        cells = [_cell(ladder[name].as_dict()) for ladder in ladders]
        rows.append(f"| {name.replace('_', ' ')} | {' | '.join(cells)} |\n")
    verdicts = " | ".join(each.verdict().status.replace("_", " ").upper() for each in found)
    return HEAD + "".join(rows) + f"| verdict, nobody certain | {verdicts} |\n"


def _cell(rung: dict[str, Any]) -> str:
    if rung["certain"] is None and rung["certain_proved"] is None:
        return "not assessed"
    certain, proved = ("?" if rung[name] is None else f"{rung[name]:,}" for name in ("certain", "certain_proved"))
    right = "" if rung["right_guesses"] is None else f"; {100 * rung['right_guesses']:.0f} % right"
    return f"{certain} certain, {proved} proved{right}"


def main(page: Path = PAGE) -> int:
    """Fill in the page."""
    with tempfile.TemporaryDirectory() as folder:
        filled = fill(page.read_text(encoding="utf-8"), {"ladders": table(reviews(Path(folder)))})
    page.write_text(filled, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
