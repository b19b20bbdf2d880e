"""Whole tables behind forests over Adult, against DRAFT: python benchmarks/reconstruct.py, with data in MAXENT_DATA.

The case of Ferry, Fukasawa, Pascal and Vidal, "Trained Random Forests Completely Reveal your Dataset" (ICML 2024): 100
people, 19 binary columns and the class, forests of scikit-learn without bootstrap, five seeds. Columns are made as
theirs are, which their shares of all 48,842 people confirm; their rows are in another order, so that the people drawn
are others. Education is one attribute of six values, as they, too, tell their solver. Each row is the mean of one
command, `maxent reconstruct` on the file with a time limit; the error is the share of the 1,900 cells that differ,
after the matching of rows that costs least. Published errors and seconds (8 to 16 threads) are the means of their five
seeds.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scale import spawn

import maxent

EDUCATION = {
    "Assoc": ("Assoc-acdm", "Assoc-voc"),
    "Bachelors": ("Bachelors",),
    "HS-grad": ("HS-grad",),
    "Masters_Doctorate": ("Masters", "Doctorate"),
    "Some-college": ("Some-college",),
}
"""Groups of the education; all others are one more, `SCHOOL`."""

SCHOOL = "School_Prof-School"

OCCUPATION = {
    "Blue-Collar": ("Craft-repair", "Machine-op-inspct", "Transport-moving", "Handlers-cleaners", "Farming-fishing"),
    "Professional": ("Prof-specialty",),
    "Sales": ("Sales",),
    "Service": ("Other-service", "Tech-support", "Protective-serv", "Priv-house-serv"),
    "White-Collar": ("Exec-managerial", "Adm-clerical"),
}
WORKCLASS = {
    "Government": ("Local-gov", "State-gov", "Federal-gov"),
    "Private": ("Private",),
    "Self-Employed": ("Self-emp-not-inc", "Self-emp-inc"),
}

PEOPLE, DRAWN = 100, 1500

PUBLISHED = {
    (10, None): (0.0321, 74.2),
    (100, None): (0.0003, 196.3),
    (10, 5): (0.0788, 7.7),
    (100, 5): (0.0064, 1290.7),
}
"""Trees and depth -> error and seconds."""

COLUMNS = (
    *("trees", "depth", "error, published", "error", "largest", "s, published", "CPU s", "clock s", "largest clock s"),
    *("cells proved", "status"),
)


def binary(adult: pd.DataFrame) -> pd.DataFrame:
    """The 19 binary columns of Adult and the class."""
    school = ~adult["education"].isin([value for values in EDUCATION.values() for value in values])
    education = {name: adult["education"].isin(values) for name, values in EDUCATION.items()} | {SCHOOL: school}
    found = {
        "age_high": adult["age"] > 36,
        "capital_gain_>0": adult["capital-gain"] > 0,
        "capital_loss_>0": adult["capital-loss"] > 0,
        **{f"education_{name}": education[name] for name in sorted(education)},
        "gender_Female": adult["sex"] == "Female",
        "hours_per_week_high": adult["hours-per-week"] > 39,
        **{f"occupation_{name}": adult["occupation"].isin(values) for name, values in OCCUPATION.items()},
        **{f"workclass_{name}": adult["workclass"].isin(values) for name, values in WORKCLASS.items()},
        "income": adult["class"] == ">50K",
    }
    return pd.DataFrame(found).astype(int)


def write_release(people: pd.DataFrame, trees: int, depth: int | None, seed: int, path: Path) -> None:
    """Grow a forest and write its release."""
    from sklearn.ensemble import RandomForestClassifier

    x, y = people.drop(columns="income"), people["income"]
    model = RandomForestClassifier(trees, max_depth=depth, bootstrap=False, random_state=seed).fit(x.to_numpy(), y)
    groups = [name for name in x if name.startswith("education_")]
    release = maxent.from_sklearn(
        model,
        target="income",
        features=list(x),
        categories={name: ["0", "1"] for name in x if name not in groups},
        onehot={"education": {name: name for name in groups}},
    )
    release.save(path)


def error(table: pd.DataFrame, people: pd.DataFrame) -> float:
    """The share of cells that differ, after the matching of rows that costs least; a column not tested counts as 0."""
    from scipy.optimize import linear_sum_assignment

    x = people.drop(columns="income")
    found = pd.DataFrame(0, index=table.index, columns=x.columns)
    for name in x:
        found[name] = table["education"] == name if name.startswith("education_") else table[name].astype(str) == "1"
    differ = (found.astype(int).to_numpy()[:, None, :] != x.to_numpy()[None]).mean(axis=2)
    return float(differ[linear_sum_assignment(differ)].mean())


def measure(adult: pd.DataFrame, trees: int, depth: int | None, seeds: int, limit: float) -> dict[str, Any]:
    """A row of the table."""
    runs = []
    for seed in range(seeds):
        people = adult.sample(DRAWN, random_state=seed, ignore_index=True).iloc[:PEOPLE]
        with tempfile.TemporaryDirectory() as folder:
            release, table = Path(folder) / "release.json", Path(folder) / "table.csv"
            write_release(people, trees, depth, seed, release)
            command = [sys.executable, "-m", "maxent", "reconstruct", str(release), "-o", str(table), "--json"]
            said, used = spawn([*command, "--time-limit", str(limit)])
            runs.append((json.loads(said), used, error(pd.read_csv(table, dtype=str), people)))
    errors = [each for _, _, each in runs]
    clocks = [used["wall"] for _, used, _ in runs]
    published = PUBLISHED[trees, depth]
    row = (trees, depth or "any", published[0], f"{np.mean(errors):.4f}", f"{max(errors):.4f}", published[1])
    row += (f"{np.mean([used['seconds'] for _, used, _ in runs]):.1f}", f"{np.mean(clocks):.1f}", f"{max(clocks):.1f}")
    row += (f"{np.mean([answer['cells_proved'] / answer['cells'] for answer, _, _ in runs]):.1%}",)
    row += (", ".join(sorted({answer["status"] for answer, _, _ in runs})),)
    return dict(zip(COLUMNS, row, strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=int, choices=(10, 100), help="default: both")
    parser.add_argument("--depth", choices=("any", "5"), help="default: both")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--time-limit", type=float, metavar="SECONDS", help="default: a tenth of what was published")
    call = parser.parse_args()
    data = os.environ.get("MAXENT_DATA")
    if data is None:
        parser.error("MAXENT_DATA has to name the folder with adult.csv")
    adult = binary(pd.read_csv(Path(data) / "adult.csv"))
    print("| " + " | ".join(COLUMNS) + " |\n|" + " --- |" * len(COLUMNS))
    for (trees, depth), (_, seconds) in PUBLISHED.items():
        if call.trees in (None, trees) and call.depth in (None, str(depth or "any")):
            row = measure(adult, trees, depth, call.seeds, call.time_limit or max(seconds / 10, 7.4))
            print("| " + " | ".join(str(row[column]) for column in COLUMNS) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
