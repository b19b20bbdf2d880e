"""A small study: ninety people whose secret is not quite what their attributes say."""

import os
from typing import Any

import numpy as np
import pandas as pd

from maxent.studies.points import TIMES, run_point

PEOPLE = 90

STUDY = """
[data.people]
file = "people.csv"
target = "secret"
qi = ["job", "sex", "age"]
missing = "refuse"
[[grid]]
method = "none"
"""


def people(folder):
    """Write people.csv, and return it."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "job": rng.choice(["clerk", "cook", "nurse"], PEOPLE),
            "sex": rng.choice(["f", "m"], PEOPLE),
            "age": rng.integers(20, 30, PEOPLE),
        }
    )
    odds = 0.2 + 0.5 * (table["job"] == "cook") + 0.2 * (table["age"] > 25)
    table["secret"] = np.where(rng.random(PEOPLE) < odds, "yes", "no")
    table.to_csv(folder / "people.csv", index=False)
    return table


def die_at_k_4(point, packed, protocol):
    """Run a point, unless its k is 4: no process survives that."""
    if dict(point.options).get("k") == 4:
        os._exit(9)
    return run_point(point, packed, protocol)


def write_study(folder, text):
    """Write study.toml."""
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    return path


def same(frame):
    """What does not differ from run to run."""
    return frame.drop(columns=list(TIMES))


def check_what_it_lacks(study: Any, folder: Any, monkeypatch: Any, capsys: Any, data: str = "") -> None:
    """Whether the program of a reproduced paper names what it lacks: the page, then the ``data``."""
    assert study.main([str(folder)]) == 2
    (folder / "README.md").touch()
    monkeypatch.setenv("MAXENT_DATA", data)
    if not data:
        monkeypatch.delenv("MAXENT_DATA")
    assert study.main([str(folder)]) == 2
    assert "MAXENT_DATA" in capsys.readouterr().err
