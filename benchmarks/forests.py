"""How long published forests take: python benchmarks/forests.py [NAME ...], with the data in the folder MAXENT_DATA.

The training rows of Adult without missing values (30,162 people) are given to scikit-learn's random forests, most of
them without bootstrap, and every leaf's counts are published. Each row of the table is one command, `maxent estimate`
on the files; beside it is how far the back end cvxpy and proportional fitting come in the same time, but for
bootstraps. With `--growth` forests of depth 6 become larger instead. Seconds are those of the processor for the command
as a whole, on one core.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from scale import spawn

import maxent

CATEGORICAL = ("workclass", "marital-status", "occupation", "relationship", "race", "sex", "native-country")
TARGETS = {
    "income": ("class", ("age", "workclass", "education", *CATEGORICAL[1:])),
    "education": ("education", (*CATEGORICAL, "class")),
}
"""The sensitive attribute, and the quasi-identifiers that the trees are given."""

COLUMNS = (
    "forest", "QIs", "leaves", "by", "status", "certificate", "H nats", "gap", "violation", "CPU s", "peak MB"
)  # fmt: skip


@dataclass(frozen=True)
class Forest:
    """Trees of a depth over Adult, or of any depth; with ``noise``, which `--noise` is, grown on bootstraps."""

    trees: int
    depth: int | None
    target: str
    noise: str | None = None


FORESTS = {
    "small": Forest(10, 6, "income"),
    "wide": Forest(50, 6, "income"),
    "classes": Forest(10, 6, "education"),
    "usual": Forest(100, 8, "income"),
    "drawn": Forest(10, 6, "income", "intervals"),
    "bounded": Forest(100, 8, "income", "intervals"),
    "likely": Forest(10, 6, "income", "likelihood"),
    "default": Forest(100, 8, "income", "likelihood"),
    "whole": Forest(100, None, "income", "intervals"),
    "full": Forest(100, None, "income", "likelihood"),
}


GROWTH = (10, 20, 50, 100, 200)
"""Numbers of trees of depth 6, income, to see how time grows."""

FITTING = Path(__file__).with_name("proportional_fitting.py")


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
        forest.trees, max_depth=forest.depth, bootstrap=forest.noise is not None, max_features="sqrt", random_state=0
    ).fit(X, people[target])
    categories = {name: list(values) for name, values in zip(words, encoder.categories_, strict=True)}
    classes = [str(name) for name in model.classes_]
    release, table = folder / "forest.json", folder / "qi.csv"
    maxent.from_sklearn(model, target=target, features=list(qi), classes=classes, categories=categories).save(release)
    people[list(qi)].to_csv(table, index=False)
    return release, table


def measure(forest: Forest, data: Path, *, others: bool) -> list[dict[str, Any]]:
    """Rows of the table about a forest: ours, and with ``others`` those of other ways in the same time."""
    with tempfile.TemporaryDirectory() as folder:
        release, table = str(Path(folder) / "forest.json"), str(Path(folder) / "qi.csv")
        # In a process of its own: the memory of this one would count as that of those it starts.
        writer = get_context("spawn").Process(target=write_forest, args=(forest, data, Path(folder)))
        writer.start()
        writer.join()
        leaves = sum(len(tree["nodes"]) + 1 for tree in json.loads(Path(release).read_text())["trees"]) // 2
        estimate = [sys.executable, "-m", "maxent", "estimate", release, table, "--json"]
        estimate += [] if forest.noise is None else ["--noise", forest.noise]
        ours, cost = spawn(estimate)
        found = [("maxent", json.loads(ours), cost)]
        depth = "any depth" if forest.depth is None else f"depth {forest.depth}"
        grown = "" if forest.noise is None else f", bootstrap, {forest.noise}"
        about = {
            "forest": f"{forest.trees} trees, {depth}, {forest.target}{grown}",
            "QIs": found[0][1]["distinct_qi"],
            "leaves": leaves,
        }
        if others and forest.noise is None:
            limit = str(found[0][2]["wall"])
            said, used = spawn([*estimate, "--backend", "cvxpy", "--time-limit", limit])
            found.append(("cvxpy", json.loads(said), used))
            said, used = spawn([sys.executable, str(FITTING), release, table, str(cost["seconds"])])
            fitted = json.loads(said)
            found.append(("fitting", fitted | {"status": f"{fitted['sweeps']} sweeps"}, used))
    return [about | _row(by, answer, used) for by, answer, used in found]


def _row(by: str, answer: dict[str, Any], used: dict[str, float]) -> dict[str, Any]:
    gap = answer.get("duality_gap")
    return {
        "by": by,
        "status": answer["status"],
        "certificate": answer.get("certificate", ""),
        "H nats": f"{answer['entropy']:.8f}",
        "gap": "" if gap is None else f"{gap:.1e}",
        "violation": f"{answer['max_violation']:.1e}",
        "CPU s": f"{used['seconds']:.1f}",
        "peak MB": f"{used['mb']:.0f}",
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(FORESTS)}; default: all of them")
    parser.add_argument("--growth", action="store_true", help="forests of depth 6 that become larger, alone")
    call = parser.parse_args()
    data = os.environ.get("MAXENT_DATA")
    if data is None or not {*call.names} <= {*FORESTS}:
        parser.error("MAXENT_DATA has to name the folder with adult.csv" if data is None else f"of {[*FORESTS]}")
    forests = [FORESTS[name] for name in call.names or FORESTS]
    if call.growth:
        forests = [Forest(trees, 6, "income") for trees in GROWTH]
    print("| " + " | ".join(COLUMNS) + " |\n|" + " --- |" * len(COLUMNS))
    seconds = []
    for forest in forests:
        rows = measure(forest, Path(data), others=not call.growth)
        seconds.append(float(rows[0]["CPU s"]))
        for row in rows:
            print("| " + " | ".join(str(row[column]) for column in COLUMNS) + " |", flush=True)
    if call.growth:
        steps = np.diff(np.log(seconds)) / np.diff(np.log(GROWTH))
        whole = np.polyfit(np.log(GROWTH), np.log(seconds), 1)[0]
        print(f"\nseconds grow with trees^{whole:.2f}; from one to the next {', '.join(f'{e:.2f}' for e in steps)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
