"""How much is proved, and how long that takes: python benchmarks/bounds.py [NAME ...], with the data in MAXENT_DATA.

Trees: those of `benchmarks/adult.py` (education, 16 classes) with rates or counts, all choices of splits included.
Forest: 10 trees of depth 6 over the 45,222 people of Adult without missing values, income, seven categorical
quasi-identifiers, leaves of at least 10 people, without bootstrap. Each row is one command, `maxent bounds` on the
files with another last level; beside it is how many people are certain by the estimate. Seconds are those of the
processor for the command as a whole.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from adult import WHOLE, instance
from scale import spawn

import maxent

CATEGORICAL = ("workclass", "marital-status", "occupation", "relationship", "race", "sex", "native-country")

TREES = {
    "gini": ("gini", "rates"),
    "entropy": ("entropy", "rates"),
    "counts": ("gini", "counts"),
}
"""Measure that splits are chosen by, and what is published."""

FOREST = "forest"

COLUMNS = ("release", "QIs", "level", "status", "certain, estimate", "certain, proved", "people open", "CPU s", "MB")


def write_release(name: str, data: Path, folder: Path) -> None:
    """Write a release and the adversary's table into a folder."""
    if name in TREES:
        release, people = instance(WHOLE, *TREES[name], seed=0)
    else:
        release, people = _forest(data)
    release.save(folder / "release.json")
    people.to_csv(folder / "qi.csv", index=False)


def _forest(data: Path) -> tuple[Any, Any]:
    """The forest and its people."""
    import pandas as pd
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.preprocessing import OrdinalEncoder

    people = pd.read_csv(data / "adult.csv", dtype=str)
    people = people[~(people == "?").any(axis=1)]
    encoder, qi = OrdinalEncoder(), list(CATEGORICAL)
    model = RandomForestClassifier(10, max_depth=6, min_samples_leaf=10, bootstrap=False, random_state=0)
    model.fit(encoder.fit_transform(people[qi]), people["class"])
    categories = {name: list(values) for name, values in zip(qi, encoder.categories_, strict=True)}
    classes = [str(name) for name in model.classes_]
    release = maxent.from_sklearn(model, target="class", features=qi, classes=classes, categories=categories)
    return release, people[qi]


def measure(name: str, data: Path, levels: list[str], limit: float) -> list[dict[str, Any]]:
    """Rows of the table about a release, one for each level."""
    with tempfile.TemporaryDirectory() as folder:
        # In a process of its own: the memory of this one would count as that of those it starts.
        writer = get_context("spawn").Process(target=write_release, args=(name, data, Path(folder)))
        writer.start()
        writer.join()
        files = [str(Path(folder) / "release.json"), str(Path(folder) / "qi.csv"), "--json"]
        estimate = json.loads(spawn([sys.executable, "-m", "maxent", "estimate", *files])[0])
        found = []
        for level in levels:
            options = ["--level", level, "--time-limit", str(limit)]
            said, used = spawn([sys.executable, "-m", "maxent", "bounds", *files, *options])
            answer = json.loads(said)
            row = (name, answer["distinct_qi"], level, answer["status"], estimate["disclosure"]["certain"])
            row += (answer["certain_proved"], answer["individuals_open"], f"{used['seconds']:.1f}", f"{used['mb']:.0f}")
            found.append(dict(zip(COLUMNS, row, strict=True)))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [*TREES, FOREST]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}; default: all of them")
    parser.add_argument("--levels", default="closed,linear,convex,auto", help="levels, with commas between")
    parser.add_argument("--time-limit", type=float, default=300.0, metavar="SECONDS", help="of each command")
    call = parser.parse_args()
    data = os.environ.get("MAXENT_DATA")
    if data is None or not {*call.names} <= {*names}:
        parser.error("MAXENT_DATA has to name the folder with adult.csv" if data is None else f"of {names}")
    print("| " + " | ".join(COLUMNS) + " |\n|" + " --- |" * len(COLUMNS))
    for name in call.names or names:
        for row in measure(name, Path(data), call.levels.split(","), call.time_limit):
            print("| " + " | ".join(str(row[column]) for column in COLUMNS) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
