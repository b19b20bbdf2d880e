"""A tree, a regression and a cross table of Adult together: MAXENT_DATA=/path/to/data python benchmarks/statements.py.

45,222 people, a tree of 615 leaves, a logistic regression of 30 coefficients with six decimals and a cross table of
education and sex with small cells suppressed. Two estimates, each in a process of its own: with the counts of leaves,
and also with the comparisons of splits (--splits, minutes). Seconds are of the processor, imports included.

With --whole bounds of whole people, each in a process of its own: 20 people under a regression of four covariates at 0
to 6 digits, 60 at two (made up by the seed 0), and two linked tables of 300 people with small cells suppressed.

With --people 1000000 a made-up register of so many, all of them different, in place of Adult: 12 columns, a tree of 500
leaves with counts and a logistic regression of 50 coefficients and an intercept.
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


def write_register(folder: Path, n: int) -> None:
    """People who are made up, a tree and a regression of them."""
    import numpy as np
    import pandas as pd
    from sklearn.linear_model import LogisticRegression
    from sklearn.tree import DecisionTreeClassifier

    import maxent

    random = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": random.integers(18, 90, n),
            "income": np.round(random.lognormal(10, 0.6, n)),
            "bmi": np.round(random.normal(26, 4, n), 1),
            "height": np.round(random.normal(172, 9, n), 1),
            "hours": random.integers(0, 80, n),
            "children": random.poisson(1.3, n),
            "distance": np.round(random.exponential(12, n), 2),
            "visits": random.poisson(3, n),
        }
    ).astype(float)
    numbers = list(table)
    for column, values in {"region": 20, "occupation": 14, "education": 8, "status": 4}.items():
        table[column] = random.choice(values, n, p=random.dirichlet(np.full(values, 3)))
    dummies = pd.get_dummies(table.iloc[:, len(numbers) :].astype(str), drop_first=True)
    design = pd.concat([table[numbers], dummies], axis=1).astype(float)
    mean, scale = design.mean(), design.std()
    scaled = ((design - mean) / scale).to_numpy()
    wave = 0.8 * np.sin(table["age"] / 9) * np.cos(table["bmi"] / 3)
    odds = scaled @ random.normal(0, 0.25, scaled.shape[1]) - 1 + wave
    classes = np.where(random.random(n) < 1 / (1 + np.exp(-odds)), "yes", "no")
    tree = DecisionTreeClassifier(max_leaf_nodes=500, min_samples_leaf=20, random_state=0).fit(table, classes)
    maxent.from_sklearn(tree, target="class").save(folder / "tree.json")
    model = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1_000, solver="newton-cholesky").fit(scaled, classes)
    values = model.coef_[0] / scale
    terms: list[dict[str, object]] = [{"intercept": True, "value": f"{model.intercept_[0] - values @ mean:.{DIGITS}f}"}]
    for name, value in values.items():
        column, _, level = str(name).partition("_")
        of = {"level": float(level)} if level else {}
        terms.append({"column": column, **of, "value": f"{value:.{DIGITS}f}"})
    said = {"kind": "glm", "family": "logistic", "of": "yes", "terms": terms, "mean_tolerance": 1e-9}
    target = {"name": "class", "classes": ["no", "yes"]}
    paper = {"format": "maxent-statements/1", "target": target, "individuals": n, "statements": [said]}
    (folder / "paper.json").write_text(json.dumps(paper))
    table.to_csv(folder / "people.csv", index=False)


def write_whole(folder: Path) -> list[str]:
    """Small cases, whose bounds are of whole people; their names."""
    import numpy as np
    import pandas as pd
    from sklearn.linear_model import LogisticRegression

    cases = [(20, digits) for digits in range(7)] + [(60, 2)]
    target = {"name": "class", "classes": ["no", "yes"]}
    document = {"format": "maxent-statements/1", "target": target}
    names = []
    for people, digits in cases:
        random = np.random.default_rng(0)
        table = pd.DataFrame(np.round(random.normal(0, 1, (people, 4)), 2), columns=list("abcd"))
        classes = np.where(random.random(people) < 0.5, "yes", "no")
        model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000, solver="newton-cholesky").fit(table, classes)
        values = zip(["", *table], [model.intercept_[0], *model.coef_[0]], strict=True)
        terms = [
            {**({"column": name} if name else {"intercept": True}), "value": f"{value:.{digits}f}"}
            for name, value in values
        ]
        said = {"kind": "glm", "family": "logistic", "of": "yes", "terms": terms, "mean_tolerance": 1e-9}
        names.append(f"{people} people, {digits} digits")
        (folder / f"{names[-1]}.json").write_text(json.dumps({**document, "statements": [said]}))
        table.to_csv(folder / f"{names[-1]}.csv", index=False)
    random = np.random.default_rng(0)
    table = pd.DataFrame({name: random.integers(0, n, 300) for name, n in (("area", 12), ("job", 8), ("age", 6))})
    yes = random.random(300) < 0.3
    tables = []
    for by in (["area", "job"], ["job", "age"]):
        numbers = pd.Series(yes).groupby([table[column] for column in by]).sum()
        cells = [
            {"at": [int(one) for one in at], "class": "yes", "count": int(n) if n > 2 else None}
            for at, n in numbers.items()
        ]
        for i, column in enumerate(by):
            for value, n in pd.Series(yes).groupby(table[column]).sum().items():
                at = ["*" if j != i else int(value) for j in range(2)]
                cells.append({"at": at, "class": "yes", "count": int(n)})
        tables.append({"kind": "table", "by": by, "cells": cells, "suppressed_below": 3})
    names.append("two linked tables")
    (folder / f"{names[-1]}.json").write_text(json.dumps({**document, "statements": tables}))
    table.to_csv(folder / f"{names[-1]}.csv", index=False)
    return names


def measure_whole(folder: Path, name: str) -> None:
    """Bounds of whole people, and seconds of the processor, those of other processes included."""
    import maxent

    found = maxent.bounds(folder / f"{name}.json", folder / f"{name}.csv", level="integer", time_limit=60).summary
    seconds = sum(resource.getrusage(who).ru_utime for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(f"{name:20} {found['status']:12} settled {found['certain_proved']:4} {seconds:6.1f} s", flush=True)


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
    parser.add_argument("--whole", action="store_true", help="bounds of whole people in place of estimates")
    parser.add_argument("--people", type=int, help="a made-up register of so many people in place of Adult")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--knowledge", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure is not None and given.whole:
        measure_whole(given.measure, given.knowledge)
    elif given.measure is not None:
        measure(given.measure, given.knowledge)
    elif given.whole:
        with tempfile.TemporaryDirectory() as folder:
            for name in write_whole(Path(folder)):
                call = [sys.executable, __file__, "--whole", "--measure", folder, "--knowledge", name]
                subprocess.run(call, check=True)
    else:
        with tempfile.TemporaryDirectory() as folder:
            if given.people:
                write_register(Path(folder), given.people)
            else:
                write(Path(folder))
            for knowledge in ("label,counts", *([""] if given.splits else [])):
                call = [sys.executable, __file__, "--measure", folder]
                subprocess.run(call + (["--knowledge", knowledge] if knowledge else []), check=True)
