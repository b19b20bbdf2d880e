"""Whole tables behind forests over Adult, against DRAFT: python benchmarks/reconstruct.py, with data in MAXENT_DATA.

The case of Ferry, Fukasawa, Pascal and Vidal, "Trained Random Forests Completely Reveal your Dataset" (ICML 2024): 100
people, 19 binary columns and the class, forests of scikit-learn without bootstrap, five seeds. Columns are made as
theirs are, which their shares of all 48,842 people confirm; their rows are in another order, so that the people drawn
are others. Education is one attribute of six values, as they, too, tell their solver. Each row is the mean of one
command, `maxent reconstruct` on the file with a time limit; the error is the share of the 1,900 cells that differ,
after the matching of rows that costs least. Published errors and seconds (8 to 16 threads) are the means of their five
seeds.

Other cases have the people that they drew: ``draws`` of a bootstrap, ``seeds``: it is known who was drawn, ``boosted``
models beside forests with counts, ``many``: 500 people. What no branch tells apart has an error beside that no table is
sure to go below. Of DRAFT-DP the forests are theirs, number for number, of the
first rows of their file: ``noise``, and ``last``, one row beside all others (``last-alike``: which it is like), the
mean of the rows that they drew. Their attack has no uniform prior: beside the likelihood it maximises, with a weight,
how many cells the row shares with the others.
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


def write_release(
    people: pd.DataFrame, trees: int, depth: int | None, seed: int, path: Path, *, bootstrap: bool = False
) -> None:
    """Grow a forest and write its release."""
    from sklearn.ensemble import RandomForestClassifier

    x, y = people.drop(columns="income"), people["income"]
    model = RandomForestClassifier(trees, max_depth=depth, bootstrap=bootstrap, random_state=seed).fit(x.to_numpy(), y)
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

    x = people.drop(columns="income")  # of a set of categories the first is taken
    found = pd.DataFrame(0, index=table.index, columns=x.columns)
    for name in x:
        found[name] = (
            table["education"].str.split("|").str[0] == name
            if name.startswith("education_")
            else table[name].astype(str) == "1"
        )
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


# The people that they drew, from their own coding of Adult; draws of a bootstrap, and noise.
EDUCATIONS = "education_"

# Trees -> error and seconds published for a bootstrap, draws unknown; epsilon -> errors for noise, and of the last row.
BOOTSTRAP = {10: (0.1205, 10_823), 100: (0.0825, 12_463)}
DIFFERENTIAL = {1.0: 0.199, 5.0: 0.122, 10.0: 0.100, 30.0: 0.088}
LAST = {5.0: 0.183, 10.0: 0.089, 20.0: 0.021, 30.0: 0.012}
LAST_PEOPLE = 20_000


def drawn(data: Path, seed: int, n: int, of: int = DRAWN) -> tuple[pd.DataFrame, pd.DataFrame]:
    """People of their case, and others of the population."""
    adult = pd.read_csv(data / "draft" / "adult.csv.gz").sample(of, random_state=seed)
    return adult.iloc[:n], adult.iloc[n:]


def first_rows(data: Path, n: int) -> pd.DataFrame:
    """The people of DRAFT-DP."""
    return pd.read_csv(data / "draft" / "adult.csv.gz", nrows=n)


def one_column(people: pd.DataFrame) -> pd.DataFrame:
    """People with education as one column, as releases have it."""
    school = [name for name in people if name.startswith(EDUCATIONS)]
    found = people.drop(columns=school).astype(str)
    found["education"] = np.array(school)[people[school].to_numpy().argmax(axis=1)]
    return found


def noisy_forest(people: pd.DataFrame, trees: int, depth: int, epsilon: float, seed: int) -> dict[str, Any]:
    """DRAFT-DP's forest of a seed, split for split and number for number: that of diffprivlib, with int(Laplace).

    Each node splits by any column, also by one on its path, behind which a side is empty. The noise has the scale
    trees / epsilon in each tree. Accuracies on all people equal the published ones.
    """
    rng = np.random.RandomState(seed)
    draws = [np.random.RandomState(rng.randint(2**31 - 1)) for _ in range(trees)]
    noise = iter(np.trunc(noise_of(seed, trees, depth, epsilon)[0])[::-1].tolist())
    columns = [name for name in people if name != "income"]
    school = [name for name in columns if name.startswith(EDUCATIONS)]

    def grow(nodes: list[dict[str, Any]], name: str, rows: pd.DataFrame, draw: np.random.RandomState) -> None:
        if len(name) > depth:
            there = {c: int((rows["income"] == int(c)).sum()) for c in ("0", "1")}
            nodes.append({"id": name, "counts": {c: there[c] + next(noise) for c in ("0", "1")}})
            return
        column = columns[draw.randint(len(columns))]
        draw.uniform()  # the threshold: 0 is left of it, 1 right
        is_school = column in school
        sides = ([s for s in school if s != column], [column]) if is_school else (["0"], ["1"])
        branches = [{"in": side, "child": f"{name}{i}"} for i, side in enumerate(sides)]
        nodes.append({"id": name, "attribute": "education" if is_school else column, "branches": branches})
        for value in (1, 0):
            grow(nodes, f"{name}{value}", rows[rows[column] == value], draw)

    made = []
    for draw in draws:
        nodes: list[dict[str, Any]] = []
        grow(nodes, "N", people, draw)
        made.append({"nodes": nodes})
    attributes = [{"name": c, "type": "categorical", "values": ["0", "1"]} for c in columns if c not in school]
    return {
        "format": "maxent/1",
        "target": {"name": "income", "classes": ["0", "1"]},
        "attributes": [*attributes, {"name": "education", "type": "categorical", "values": school}],
        "release": {"noise": {"mechanism": "truncated-laplace", "scale": trees / epsilon}},
        "trees": made,
    }


def noise_of(seed: int, trees: int, depth: int, epsilon: float) -> tuple[Any, np.random.RandomState]:
    """The noise of all counts, from the last one on, and what draws afterwards."""
    rng = np.random.RandomState(seed)
    return rng.laplace(0, trees / epsilon, trees * 2**depth * 2), rng


def boosted_release(people: pd.DataFrame, tool: str, trees: int, path: Path) -> None:
    """Grow a boosted model with the defaults of its tool, and write its release; education is one attribute again."""
    import lightgbm
    import xgboost

    make: Any = {
        "xgboost": lambda: xgboost.XGBClassifier(n_estimators=trees, n_jobs=1),
        "lightgbm": lambda: lightgbm.LGBMClassifier(n_estimators=trees, n_jobs=1, verbose=-1),
    }
    x = people.drop(columns="income").rename(columns=lambda name: name.replace(">", "gt"))
    model = make[tool]().fit(x, people["income"])
    maxent.convert(model, target="income").save(path)
    document = json.loads(path.read_text())
    school = [name for name in people if name.startswith(EDUCATIONS)]
    names = {name.replace(">", "gt"): name for name in people}
    for tree in document["trees"]:
        tree.pop("induction", None)
        for node in tree["nodes"]:
            if "attribute" not in node:
                continue
            column = names[node["attribute"]]
            is_school = column in school
            sides = ([s for s in school if s != column], [column]) if is_school else (["0"], ["1"])
            node["attribute"] = "education" if is_school else column
            node["branches"] = [{"in": sides["le" not in b], "child": b["child"]} for b in node["branches"]]
    columns = [name for name in people if name not in school and name != "income"]
    attributes = [{"name": name, "type": "categorical", "values": ["0", "1"]} for name in columns]
    document["attributes"] = [*attributes, {"name": "education", "type": "categorical", "values": school}]
    path.write_text(json.dumps(document))


# Case -> settings, with what was published of each: error, and seconds where they were.
CASES: dict[str, dict[Any, Any]] = {
    "draws": BOOTSTRAP,
    "seeds": {10: (0.1440, 25), 100: (0.0006, 445)},
    "noise": DIFFERENTIAL,
    "boosted": {(tool, trees): None for trees in (10, 50) for tool in ("xgboost", "lightgbm", "forest")},
    "many": {100: None},
}


def not_told_apart(people: pd.DataFrame, release: Path) -> float:
    """The error of the people themselves, with values that no branch of a release tells apart taken for one."""
    document = json.loads(release.read_text())
    nodes = [node for tree in document["trees"] for node in tree["nodes"] if "attribute" in node]
    table = one_column(people)
    for attribute in document["attributes"]:
        name, groups = attribute["name"], {}
        mine = [branch["in"] for node in nodes if node["attribute"] == name for branch in node["branches"]]
        for value in attribute["values"]:
            groups.setdefault(tuple(value in each for each in mine), []).append(value)
        words = {value: "|".join(group) for group in groups.values() for value in group}
        table[name] = table[name].map(words) if name == "education" or len(groups) > 1 else "*"
    return error(table, people)


def uncertain(
    data: Path, case: str, setting: Any, seed: int, limit: float
) -> tuple[float, Any, dict[str, float], float]:
    """Error, summary and seconds of one command of a case, and the least error that any table can be sure to have."""
    if case == "noise":
        people = first_rows(data, PEOPLE)
    else:
        people, _ = drawn(data, seed, 500 if case == "many" else PEOPLE)
    with tempfile.TemporaryDirectory() as folder:
        release, table = Path(folder) / "release.json", Path(folder) / "table.csv"
        command = [sys.executable, "-m", "maxent", "reconstruct", str(release), "-o", str(table), "--json"]
        if case in ("draws", "seeds", "many") or "forest" in np.atleast_1d(setting):
            trees = int(np.atleast_1d(setting)[-1])
            write_release(people, trees, None, seed, release, bootstrap=case in ("draws", "seeds"))
            if case == "draws":
                document = json.loads(release.read_text())
                document["release"]["resampled"] = document["release"].pop("draws")["drawn"]
                release.write_text(json.dumps(document))
        elif case == "boosted":
            boosted_release(people, *setting, release)
        else:
            release.write_text(json.dumps(noisy_forest(people, 10, 5, setting, seed)))
        command += ["--time-limit", str(limit)]
        command += ["--people", str(PEOPLE)] if case in ("draws", "noise") else []
        said, used = spawn(command)
        return error(pd.read_csv(table, dtype=str), people), json.loads(said), used, not_told_apart(people, release)


def measure_last(data: Path, case: str, seeds: int, only: str | None, n_rows: int) -> None:
    """Print the rows of a case about one row: of the rows that they drew, the first ``n_rows`` of each seed."""
    people, trees, depth = first_rows(data, LAST_PEOPLE), 10, 5
    table = one_column(people)
    print("| case | epsilon | error, published | error | s.e. | rows |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for epsilon, published in LAST.items():
        if only not in (None, str(epsilon)):
            continue
        errors = []
        for seed in range(seeds):
            noisy = noise_of(seed, trees, depth, epsilon)[1]
            rows = noisy.choice(range(LAST_PEOPLE), size=100, replace=False)[:n_rows]
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "release.json"
                path.write_text(json.dumps(noisy_forest(people, trees, depth, epsilon, seed)))
                release = maxent.load_release(path)
            prior = "others" if case == "last-alike" else "uniform"
            found = [maxent.reconstruct(release, others=table.drop(index=row), prior=prior).table for row in rows]
            errors.append([error(of, people.loc[[row]]) for of, row in zip(found, rows, strict=True)])
        mean = np.mean(errors, axis=1)
        spread = f"{np.std(mean, ddof=1) / np.sqrt(seeds):.4f}" if seeds > 1 else ""
        print(
            f"| {case} | {epsilon:g} | {published:g} | {mean.mean():.4f} | {spread} | {seeds * len(rows)} |", flush=True
        )


def measure_uncertain(data: Path, case: str, seeds: int, limit: float, only: str | None) -> None:
    """Print the rows of a case."""
    print("| case | setting | published | error | largest | not told apart | CPU s | clock s | cells proved | status |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    for setting, told in CASES[case].items():
        words = " ".join(map(str, np.atleast_1d(setting)))
        if only not in (None, words):
            continue
        runs = [uncertain(data, case, setting, seed, limit) for seed in range(seeds)]
        errors = [run[0] for run in runs]
        proved = np.mean([answer["cells_proved"] / answer["cells"] for _, answer, _, _ in runs])
        published = "" if told is None else f"{np.atleast_1d(told)[0]:g}"
        row = (case, words, published, f"{np.mean(errors):.4f}", f"{max(errors):.4f}")
        row += (f"{np.mean([run[3] for run in runs]):.4f}",)
        row += tuple(f"{np.mean([run[2][key] for run in runs]):.0f}" for key in ("seconds", "wall"))
        row += (f"{proved:.0%}", ", ".join(sorted({run[1]["status"] for run in runs})))
        print("| " + " | ".join(row) + " |", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", choices=("counts", *CASES, "last", "last-alike"), default="counts")
    parser.add_argument("--setting", help="of another case than counts, as in its column; default: all of them")
    parser.add_argument("--trees", type=int, choices=(10, 100), help="default: both")
    parser.add_argument("--depth", choices=("any", "5"), help="default: both")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=100, help="of each seed, of the cases about one row; default: 100")
    parser.add_argument("--time-limit", type=float, metavar="SECONDS", help="default: a tenth of what was published")
    call = parser.parse_args()
    data = os.environ.get("MAXENT_DATA")
    if data is None:
        parser.error("MAXENT_DATA has to name the folder with adult.csv")
    if call.case.startswith("last"):
        measure_last(Path(data), call.case, call.seeds, call.setting, call.rows)
        return 0
    if call.case != "counts":
        measure_uncertain(Path(data), call.case, call.seeds, call.time_limit or 60.0, call.setting)
        return 0
    adult = binary(pd.read_csv(Path(data) / "adult.csv"))
    print("| " + " | ".join(COLUMNS) + " |\n|" + " --- |" * len(COLUMNS))
    for (trees, depth), (_, seconds) in PUBLISHED.items():
        if call.trees in (None, trees) and call.depth in (None, str(depth or "any")):
            row = measure(adult, trees, depth, call.seeds, call.time_limit or max(seconds / 10, 7.4))
            print("| " + " | ".join(str(row[column]) for column in COLUMNS) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
