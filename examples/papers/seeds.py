"""Fill in docs/seeds.md, what the seeds in a forest's own file give away: python examples/papers/seeds.py [FOLDER].

Default forests of scikit-learn over four data sets and a made-up one, each fitted several times, and how certainty
grows with trees, depth and leaves. Adult and the contraceptive data are read from the folder in the environment
variable MAXENT_DATA; without it their rows are left out. Some minutes of one core.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import maxent

TARGET = "class"
HEAD = ("data", "people", "smallest group", "forests", "proved, least", "mean", "wrong")
CURVE = ("leaves of at least", "1 tree", *(f"{n} trees" for n in (2, 5, 10, 20, 50, 100)))
TREES = (1, 2, 5, 10, 20, 50, 100)
LEAVES = (1, 10, 50)
DEPTHS = (2, 4, 8, None)
TABLES = {
    name: re.compile(rf"(?<=<!-- table: {name} -->\n)(.*?)(?=<!-- end -->)", re.DOTALL)
    for name in ("forests", "trees", "depths")
}


def answers() -> tuple[pd.DataFrame, pd.Series]:
    """500 people with three answers, yes or no: no group of equal people has fewer than some 50."""
    random = np.random.default_rng(7)
    X = pd.DataFrame(random.integers(0, 2, (500, 3)), columns=["a", "b", "c"])
    return X, pd.Series(np.where(random.random(500) < 0.2 + 0.2 * X.sum(axis=1), "yes", "no"))


def diabetes() -> tuple[pd.DataFrame, pd.Series]:
    """442 patients, ten columns, whether the disease progressed more than in most."""
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    return X, (y > y.median()).map({False: "less", True: "more"})


def breast_cancer() -> tuple[pd.DataFrame, pd.Series]:
    """569 patients, the first eight columns, and the finding."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:, :8], y.map({0: "malignant", 1: "benign"})


def contraceptive() -> tuple[pd.DataFrame, pd.Series]:
    """1,473 women, nine columns, three classes."""
    found = pd.read_csv(_folder() / "contraceptive.csv")
    return found.iloc[:, :-1], found.iloc[:, -1].astype(str)


def adult() -> tuple[pd.DataFrame, pd.Series]:
    """45,222 people, thirteen columns as codes, income."""
    found = pd.read_csv(_folder() / "adult.csv", dtype=str, skipinitialspace=True)
    found = found[~(found == "?").any(axis=1)].reset_index(drop=True)
    y = found.pop("class").str.rstrip(".")
    return found.drop(columns=["fold", "fnlwgt"]).apply(_codes), y


def _codes(column: pd.Series) -> pd.Series:
    number = pd.to_numeric(column, errors="coerce")
    return number if number.notna().all() else pd.Series(pd.factorize(column, sort=True)[0], column.index)


def _folder() -> Path:
    if not os.environ.get("MAXENT_DATA"):
        raise FileNotFoundError("set the environment variable MAXENT_DATA to the folder of the data")
    return Path(os.environ["MAXENT_DATA"])


DATA: dict[str, Callable[[], tuple[pd.DataFrame, pd.Series]]] = {
    "three answers": answers,
    "diabetes": diabetes,
    "breast cancer": breast_cancer,
    "contraceptive": contraceptive,
    "Adult": adult,
}


def proved(X: pd.DataFrame, y: pd.Series, seed: int, **options: Any) -> tuple[int, int]:
    """People whose class is proved from a forest's file and the rows in order, and how many of these wrongly.

    The forest has ``random_state=None``; ``seed`` is that of NumPy, so that the page is the same each time.
    """
    from sklearn.ensemble import RandomForestClassifier

    X = X.reset_index(drop=True).astype(float)
    np.random.seed(seed)  # noqa: NPY002 (from which forests without a seed draw theirs)
    forest = RandomForestClassifier(**options).fit(X, y)
    release = maxent.convert(forest, target=TARGET, features=[*X.columns])
    found = maxent.bounds(release, X, rows=True, level="linear").frame()
    sure = found[found["low"] == 1]
    return len(sure), int((y.to_numpy()[sure["row"].to_numpy() - 1] != sure["class"].to_numpy()).sum())


def forest_row(name: str, X: pd.DataFrame, y: pd.Series, forests: int) -> list[str]:
    """A row of the first table: default forests."""
    found = [proved(X, y, seed) for seed in range(forests)]
    counts, wrong = np.array([each[0] for each in found]), sum(each[1] for each in found)
    groups = X.groupby([*X.columns]).size().min()
    return [
        name,
        f"{len(X):,}",
        f"{groups:,}",
        f"{forests}",
        f"{counts.min():,}",
        f"{counts.mean():,.1f}",
        f"{wrong:,}",
    ]


def curve(X: pd.DataFrame, y: pd.Series, forests: int, **options: Any) -> list[float]:
    """The mean share of people proved, for each number of trees."""
    return [
        float(np.mean([proved(X, y, seed, n_estimators=n, **options)[0] for seed in range(forests)])) / len(X)
        for n in TREES
    ]


def draw(curves: dict[str, list[float]], path: Path) -> None:
    """The share of people proved against the number of trees, a line for each size of leaves."""
    sys.path.append(str(Path(__file__).parents[1]))
    from papers.drawing import panels

    with panels(path, 1) as (axes,):
        for label, shares in curves.items():
            axes.plot(TREES, shares, marker="o", label=label)
        axes.set_xscale("log")
        axes.set_xlabel("trees")
        axes.set_ylabel("share of people proved")
        axes.legend()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path("docs"), metavar="FOLDER")
    folder = parser.parse_args(arguments).folder
    page, figure = folder / "seeds.md", folder / "figures" / "seeds.svg"
    figure.parent.mkdir(exist_ok=True)
    tables: dict[str, list[list[str]]] = {"forests": [list(HEAD)], "trees": [list(CURVE)], "depths": []}
    for name, read in DATA.items():
        try:
            X, y = read()
        except FileNotFoundError as error:
            print(f"{name}: left out: {error}", file=sys.stderr)
            continue
        tables["forests"].append(forest_row(name, X, y, 2 if name == "Adult" else 10))
        print("  ".join(tables["forests"][-1]), flush=True)
    X, y = diabetes()
    curves = {f"leaves of at least {least}": curve(X, y, 5, min_samples_leaf=least) for least in LEAVES}
    for least, shares in zip(LEAVES, curves.values(), strict=True):
        tables["trees"].append([str(least), *(f"{share:.3f}" for share in shares)])
        print("  ".join(tables["trees"][-1]), flush=True)
    tables["depths"].append(["depth at most", *CURVE[1:]])
    for depth in DEPTHS:
        shares = curve(X, y, 5, max_depth=depth)
        tables["depths"].append(["none" if depth is None else str(depth), *(f"{share:.3f}" for share in shares)])
        print("  ".join(tables["depths"][-1]), flush=True)
    draw(curves, figure)
    text = page.read_text(encoding="utf-8")
    for name, rows in tables.items():
        lines = ["| " + " | ".join(cells) + " |" for cells in rows]
        lines.insert(1, "| --- |" + " ---: |" * (len(rows[0]) - 1))
        text = TABLES[name].sub(lambda _, lines=lines: "\n".join(lines) + "\n", text, count=1)
    page.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
