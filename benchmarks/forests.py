"""How long published forests take: python benchmarks/forests.py [NAME ...], with the data in the folder MAXENT_DATA.

The training rows of Adult without missing values (30,162 people) are given to scikit-learn's random forests, without
bootstrap, and every leaf's counts are published. Each row of the table is one command, `maxent estimate` on the files.
Seconds are those of the processor for the command as a whole, on one core.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scale import spawn

import maxent

CATEGORICAL = ("workclass", "marital-status", "occupation", "relationship", "race", "sex", "native-country")
TARGETS = {
    "income": ("class", ("age", "workclass", "education", *CATEGORICAL[1:])),
    "education": ("education", (*CATEGORICAL, "class")),
}
"""The sensitive attribute, and the quasi-identifiers that the trees are given."""

COLUMNS = ("forest", "QIs", "leaves", "status", "certificate", "H nats", "gap", "violation", "command s", "peak MB")


@dataclass(frozen=True)
class Forest:
    """Trees of a depth over Adult."""

    trees: int
    depth: int
    target: str


FORESTS = {
    "small": Forest(10, 6, "income"),
    "wide": Forest(50, 6, "income"),
    "classes": Forest(10, 6, "education"),
    "usual": Forest(100, 8, "income"),
}


def write_forest(forest: Forest, data: Path, folder: Path) -> tuple[Path, Path]:
    """Fit a forest; its release and the adversary's table, as files in the folder."""
    import pandas as pd
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.preprocessing import OrdinalEncoder

    people = pd.read_csv(data / "adult.csv", dtype=str)
    people = people[(people["fold"] == "train") & ~(people == "?").any(axis=1)]
    target, qi = TARGETS[forest.target]
    words = [name for name in qi if name != "age"]
    encoder = OrdinalEncoder()
    X = people[list(qi)].assign(**dict(zip(words, encoder.fit_transform(people[words]).T, strict=True))).astype(float)
    model = RandomForestClassifier(
        forest.trees, max_depth=forest.depth, bootstrap=False, max_features="sqrt", random_state=0
    ).fit(X, people[target])
    categories = {name: list(values) for name, values in zip(words, encoder.categories_, strict=True)}
    classes = [str(name) for name in model.classes_]
    releases = [
        maxent.from_sklearn(tree, target=target, features=list(qi), classes=classes, categories=categories)
        for tree in model.estimators_
    ]
    release, table = folder / "forest.json", folder / "qi.csv"
    replace(releases[0], trees=tuple(one.trees[0] for one in releases)).save(release)
    people[list(qi)].to_csv(table, index=False)
    return release, table


def measure(name: str, data: Path) -> dict[str, Any]:
    """One row of the table."""
    forest = FORESTS[name]
    with tempfile.TemporaryDirectory() as folder:
        release, table = write_forest(forest, data, Path(folder))
        leaves = sum(len(tree["nodes"]) + 1 for tree in json.loads(release.read_text())["trees"]) // 2
        printed, cost = spawn([sys.executable, "-m", "maxent", "estimate", str(release), str(table), "--json"])
    found = json.loads(printed)
    return {
        "forest": f"{forest.trees} trees, depth {forest.depth}, {forest.target}",
        "QIs": found["distinct_qi"],
        "leaves": leaves,
        "status": found["status"],
        "certificate": found["certificate"],
        "H nats": f"{found['entropy']:.8f}",
        "gap": f"{found['duality_gap']:.1e}",
        "violation": f"{found['max_violation']:.1e}",
        "command s": f"{cost['seconds']:.1f}",
        "peak MB": f"{cost['mb']:.0f}",
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(FORESTS)}; default: all of them")
    names = parser.parse_args().names or list(FORESTS)
    data = os.environ.get("MAXENT_DATA")
    if data is None or not {*names} <= {*FORESTS}:
        parser.error("MAXENT_DATA has to name the folder with adult.csv" if data is None else f"of {[*FORESTS]}")
    print("| " + " | ".join(COLUMNS) + " |\n|" + " --- |" * len(COLUMNS))
    for name in names:
        row = measure(name, Path(data))
        print("| " + " | ".join(str(row[column]) for column in COLUMNS) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
