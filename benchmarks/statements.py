"""A tree, a regression and a cross table of Adult together: MAXENT_DATA=/path/to/data python benchmarks/statements.py.

45,222 people, a tree of 615 leaves, a logistic regression of 30 coefficients with six decimals and a cross table of
education and sex with small cells suppressed. Two estimates, each in a process of its own: with the counts of leaves,
and also with the comparisons of splits (--splits, minutes). Seconds are of the processor, imports included.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NUMBERS = ["age", "education-num", "hours-per-week", "capital-gain", "capital-loss"]
CATEGORIES = ["sex", "race", "marital-status", "occupation"]
LEAVES, DIGITS, SUPPRESSED = 615, 6, 5


def write(folder: Path) -> None:
    """The tree, the statements and the table of the adversary."""
    import numpy as np
    import pandas as pd
    from sklearn.linear_model import LogisticRegression
    from sklearn.tree import DecisionTreeClassifier

    import maxent

    data = pd.read_csv(Path(os.environ["MAXENT_DATA"]) / "adult.csv")
    data = data[(data != "?").all(axis=1)].reset_index(drop=True)
    dummies = pd.get_dummies(data[CATEGORIES], drop_first=True)
    table = pd.concat([data[NUMBERS], dummies], axis=1).astype(float)
    rich = data["class"] == ">50K"
    tree = DecisionTreeClassifier(max_leaf_nodes=LEAVES, random_state=0).fit(table, data["class"])
    maxent.from_sklearn(tree, target="class").save(folder / "tree.json")
    mean, scale = table.mean(), table.std()
    model = LogisticRegression(C=np.inf, tol=1e-8, max_iter=10_000, solver="newton-cholesky")
    model.fit((table - mean) / scale, data["class"])
    values = model.coef_[0] / scale
    named = {"": float(model.intercept_[0] - values @ mean), **dict(zip(table.columns, values, strict=True))}
    terms = [
        {**({"column": name} if name else {"intercept": True}), "value": f"{value:.{DIGITS}f}"}
        for name, value in named.items()
    ]
    groups = rich.groupby([table["education-num"], table["sex_Male"]]).sum()
    cells = [
        {"at": list(at), "class": ">50K", "count": n if n >= SUPPRESSED else None}
        for at, n in groups.astype(int).to_dict().items()
    ]
    regression = {"kind": "glm", "family": "logistic", "of": ">50K", "terms": terms, "mean_tolerance": 1e-9}
    cross = {"kind": "table", "by": ["education-num", "sex_Male"], "cells": cells, "suppressed_below": SUPPRESSED}
    said = [{**regression, "source": "Table 2"}, {**cross, "source": "Table 1"}]
    target = {"name": "class", "classes": ["<=50K", ">50K"]}
    paper = {"format": "maxent-statements/1", "target": target, "individuals": len(data), "statements": said}
    (folder / "paper.json").write_text(json.dumps(paper))
    table.to_csv(folder / "people.csv", index=False)


def measure(folder: Path, knowledge: str | None) -> None:
    """Estimate, and print seconds of the processor and the peak of memory."""
    import maxent

    found = maxent.estimate(
        [folder / "tree.json", folder / "paper.json"], folder / "people.csv", knowledge=knowledge
    ).to_dict()
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{knowledge or 'all':14} {found['status']:14} {found['certificate']:8} {found['entropy']:.8f} "
        f"violation {found['max_violation']:.1e} {time.process_time():6.1f} s {megabytes:5.0f} MB",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", action="store_true", help="also with comparisons of splits")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--knowledge", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure is not None:
        measure(given.measure, given.knowledge)
    else:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder))
            for knowledge in ("label,counts", *([""] if given.splits else [])):
                call = [sys.executable, __file__, "--measure", folder]
                subprocess.run(call + (["--knowledge", knowledge] if knowledge else []), check=True)
