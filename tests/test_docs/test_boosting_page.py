"""The program that fills in docs/boosting.md, on a few people, and the page."""

import runpy
from typing import Any

import numpy as np
import pandas as pd
from support.paths import ROOT

STUDY: dict[str, Any] = runpy.run_path(str(ROOT / "examples" / "boosting.py"))


def test_a_row_is_about_what_a_model_discloses() -> None:
    from sklearn.ensemble import HistGradientBoostingClassifier

    random = np.random.default_rng(0)
    people = pd.DataFrame({name: random.choice(list("abc"), 90) for name in STUDY["WORDS"]})
    people["age"] = random.integers(17, 90, 90)
    people["class"] = np.where((people["age"] > 50) ^ (people["sex"] == "a"), ">50K", "<=50K")
    cells = STUDY["row"]("two trees", HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=4), people, people)
    found = dict(zip(STUDY["HEAD"], cells, strict=True))
    assert found["leaves"] == found["counts"]
    assert 0 < float(found["D_overall"]) <= float(found["H nats"]) < np.log(2)
    assert 0.5 < float(found["accuracy"]) <= 1


def test_the_page_has_the_table_of_the_program() -> None:
    table = STUDY["TABLE"].search((ROOT / "docs" / "boosting.md").read_text(encoding="utf-8"))
    assert table is not None
    head, _, *rows = table[0].splitlines()
    assert head == "| " + " | ".join(STUDY["HEAD"]) + " |"
    assert [row.split(" | ")[0].removeprefix("| ") for row in rows] == [
        name for name, _ in STUDY["models"](STUDY["ROUNDS"])
    ]
