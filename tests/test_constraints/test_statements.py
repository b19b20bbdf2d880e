"""Statements beside trees: the truth satisfies every row, and bounds are those of all labellings that agree."""

import itertools
import json
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from support.search import cases

import maxent
from maxent.__main__ import main
from maxent.api.estimate import compile_release
from maxent.constraints.program.program import Program
from maxent.constraints.program.residuals import LinearRows
from maxent.models.errors import InvalidInput
from maxent.models.formats.maxent_json.read import parse_release
from maxent.models.statements.read import parse_statements
from maxent.results.text.audit import audit_lines
from maxent.solvers.certainty import following, stated, sums
from maxent.solvers.certainty.cases import SumCases, impossible
from maxent.solvers.certainty.following import LISTED
from maxent.solvers.certainty.integer import fewest
from maxent.solvers.certainty.stated import StatedCell, stated_cells
from maxent.solvers.certainty.sums import class_ends
from maxent.solvers.control import SOON, Clock

CLASSES = ["no", "yes"]
D1 = Path(__file__).parents[2] / "examples" / "d1"
Fact = dict[str, Any]


def people(rng: np.random.Generator, n: int, classes: int = 2) -> pd.DataFrame:
    """Random people: two categories, an age, a score, predictions, and the class."""
    names = ["no", "yes", "maybe"][:classes]
    age, score = rng.integers(20, 60, n), np.round(rng.uniform(0.02, 0.98, n), 2)
    odds = 1 / (1 + np.exp(-(age - 40) / 6 - 2 * (score - 0.5)))
    label = np.where(rng.random(n) < odds, "yes", "no")
    if classes == 3:
        label = np.where(rng.random(n) < 0.3, "maybe", label)
    return pd.DataFrame(
        {
            "region": rng.choice(["north", "south", "west"], n),
            "sex": rng.choice(["f", "m"], n),
            "age": age.astype(float),
            "score": score,
            "guess": rng.choice(names, n),
            "y": label,
        }
    )


# What is published of each kind: keys, and the numbers that a labelling has, (number, digits) each.


def values(said: Fact, frame: pd.DataFrame, y: np.ndarray) -> list[tuple[float, Any]]:
    """Numbers of a labelling beside what a statement prints of them: a number with its half unit, or an interval."""
    inside = np.ones(len(frame), bool)
    for column, value in said.get("where", {}).items():
        if isinstance(value, dict):
            inside &= (frame[column] > value["gt"]).to_numpy()
        else:
            inside &= frame[column].isin([value]).to_numpy()
    rows, y = frame[inside], y[inside]
    kind = said["kind"]
    klass = said.get("class")
    mine = y == klass
    if kind == "count":
        return [(mine.sum(), said)]
    if kind in ("share", "rate"):
        return [(mine.mean() * said.get("per", 1), said)]
    if kind == "linear":
        return [(rows["age"][mine].sum(), {"low": said["at_least"], "high": said["at_most"]})]
    if kind == "mean":
        return [(rows[said["of"]][mine].mean() if mine.any() else np.nan, said)]
    if kind == "accuracy":
        return [((rows["guess"] == y).mean(), said)]
    if kind == "brier":
        return [(((rows["score"] - mine) ** 2).mean(), said)]
    if kind == "log_loss":
        p = np.where(mine, rows["score"], 1 - rows["score"])
        return [(-np.log(p).mean(), said)]
    if kind == "auc":
        ours, others = rows["score"][mine].to_numpy(), rows["score"][~mine].to_numpy()
        if not len(ours) or not len(others):
            return [(np.nan, said)]
        wins = (ours[:, None] > others).sum() + 0.5 * (ours[:, None] == others).sum()
        return [(wins / len(ours) / len(others), said)]
    if kind == "confusion":
        return [
            (((rows["guess"] == p) & (y == t)).sum(), {"low": n, "high": n})
            for p, row in said["matrix"].items()
            for t, n in row.items()
        ]
    if kind == "table":
        found = []
        for cell in said["cells"]:
            here = y == cell["class"]
            for by, at in zip(said["by"], cell["at"], strict=True):
                if isinstance(at, str) and at == "*":
                    continue
                if isinstance(by, dict):
                    ages = rows[by["column"]]
                    here = here & ((ages >= at[0]) & (ages < at[1])).to_numpy()
                else:
                    here = here & (rows[by] == at).to_numpy()
            count, n = cell["count"], here.sum()
            if count is None:
                found.append((n, {"low": 0, "high": said["suppressed_below"] - 1}))
            else:
                off = {"nearest": said.get("base", 0) // 2, "random": said.get("base", 1) - 1}
                wide = off[said.get("rounding", "random")] if "base" in said else 0
                found.append((n, {"low": count - wide, "high": count + wide}))
        return found
    if kind == "rule":
        mine = y[(rows["age"] > said["if"][0]["gt"]).to_numpy()]
        most = max((mine == name).sum() for name in set(y)) if said.get("majority") else 0
        its = (mine == said["label"]).sum()
        kept = [(its, {"low": most, "high": len(mine)})] if said.get("majority") else []
        return [
            *kept,
            (len(mine), {"low": said["n"], "high": said["n"]}),
            (its, {"low": said["correct"], "high": said["correct"]}),
        ]
    if kind == "rules":
        left, found = np.ones(len(rows), bool), []
        for rule in said["rules"]:
            here = left & (rows["age"] > rule["if"][0]["gt"]).to_numpy()
            left &= ~here
            found.append(((here & (y == rule["label"])).sum(), {"low": rule["correct"], "high": rule["correct"]}))
        return found
    if kind == "sd":
        ages = rows["age"][mine]
        return [(ages.std(ddof=said["ddof"]) if len(ages) > said["ddof"] else np.nan, said)]
    raise AssertionError(kind)


def agrees(said: Fact, frame: pd.DataFrame, y: np.ndarray) -> bool:
    """Whether a labelling rounds to what is printed."""
    for value, printed in values(said, frame, y):
        if "low" in printed:
            ends = printed["low"], printed["high"]
        else:
            half = 0.5 * 10.0 ** -printed["digits"]
            ends = printed["equals"] - half, printed["equals"] + half
        if not ends[0] - 1e-9 <= value <= ends[1] + 1e-9:
            return False
    return True


def statement(kind: str, frame: pd.DataFrame, rng: np.random.Generator) -> Fact | None:
    """A statement of a kind that is true of the people; None where there is nothing to print."""
    y = frame["y"].to_numpy()
    names = sorted(set(y) | {"no", "yes"})
    where = rng.choice(["", "region", "age"])
    said: Fact = {"kind": kind, "class": "yes"}
    if where == "region" and kind not in ("table", "rule", "rules", "confusion"):
        said["where"] = {"region": str(frame["region"].iloc[0])}
    elif where == "age" and kind not in ("table", "rule", "rules", "confusion"):
        said["where"] = {"age": {"gt": float(frame["age"].min()) - 1.0 + 5.0 * int(rng.integers(0, 2))}}
        if not (frame["age"] > said["where"]["age"]["gt"]).any():
            return None
    if kind == "linear":
        total = float(frame["age"][y == "yes"].sum())
        return {"kind": kind, "class": "yes", "weight": "age", "at_least": total - 2, "at_most": total + 1}
    if kind in ("mean", "sd"):
        said["of"] = "age"
    if kind == "sd":
        said["ddof"] = int(rng.integers(0, 2))
    if kind == "rate":
        said["per"] = 1000
    if kind in ("accuracy", "confusion"):
        said["prediction"] = "guess"
        del said["class"]
    if kind in ("auc", "brier", "log_loss"):
        said["score"] = "score"
    if kind == "confusion":
        pairs = pd.crosstab(frame["guess"], frame["y"])
        said["matrix"] = {str(p): {str(t): int(n) for t, n in row.items()} for p, row in pairs.iterrows()}
        return said
    if kind == "rule":
        cut = int(frame["age"].quantile(rng.choice([0.2, 0.7])))
        inside = y[(frame["age"] > cut).to_numpy()]
        label = max(names, key=lambda name: (inside == name).sum()) if len(inside) else "yes"
        found = {"kind": kind, "if": [{"column": "age", "gt": cut}], "label": label, "majority": bool(rng.integers(2))}
        return {**found, "n": len(inside), "correct": int((inside == label).sum())}
    if kind == "rules":
        del said["class"]
        cut = sorted({int(c) for c in frame["age"].quantile([0.7, 0.3])}, reverse=True)
        said["rules"] = [{"if": [{"column": "age", "gt": c}], "label": "yes", "correct": 0} for c in cut]
        for i, (n, _) in enumerate(values(said, frame, y)):
            said["rules"][i]["correct"] = int(n)
        return said
    if kind == "table":
        del said["class"]
        said["by"] = ["region", "sex"] if rng.random() < 0.6 else ["sex", {"column": "age", "edges": [20, 35, 60]}]
        first = sorted(frame[said["by"][0]].unique())
        second: list[Any] = [[20, 35], [35, 60]] if isinstance(said["by"][1], dict) else sorted(frame["sex"].unique())
        cells: list[Fact] = []
        for a, b in itertools.product([*first, "*"], [*second, "*"]):
            for klass in names:
                cells.append({"at": [a, b], "class": klass, "count": 0})
        said["cells"] = cells
        counts = [int(n) for n, _ in values(said, frame, y)]
        form = rng.choice(["plain", "suppressed", "rounded"])
        if form == "suppressed":
            said["suppressed_below"] = 2
        if form == "rounded":
            said["base"], said["rounding"] = 3, "nearest"
        for cell, n in zip(cells, counts, strict=True):
            cell["count"] = None if form == "suppressed" and n < 2 else 3 * round(n / 3) if form == "rounded" else n
        return said
    said["digits"] = int(rng.integers(1, 4))
    [(value, _)] = values({**said, "equals": 0}, frame, y)
    if np.isnan(value):
        return None
    said["equals"] = int(value) if kind == "count" else round(float(value), said["digits"])
    if kind == "count":
        said["digits"] = 0
    return said


def document(frame: pd.DataFrame, *said: Fact) -> Any:
    """A release of statements."""
    names = sorted({"no", "yes"} | set(frame["y"]) | set(frame.get("guess", ())))
    written = json.loads(json.dumps({"format": "maxent-statements/1", "target": {"name": "y", "classes": names}}))
    written["statements"] = json.loads(json.dumps(said))
    return parse_statements(written, "s.json").release


KINDS = [
    "linear",
    "count",
    "share",
    "rate",
    "mean",
    "sd",
    "table",
    "confusion",
    "accuracy",
    "auc",
    "log_loss",
    "brier",
    "rules",
    "rule",
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.search
@pytest.mark.parametrize("seed", cases(0, 3, hunted=40))
def test_the_truth_satisfies_every_row(kind: str, seed: int) -> None:
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    frame = people(rng, int(rng.integers(5, 60)), int(rng.integers(2, 4)))
    said = statement(kind, frame, rng)
    if said is None:
        return
    program = compile_release(document(frame, said), frame.drop(columns="y"))
    assert not program.contradictions, said
    table = program.table.frame()
    truth = frame.assign(one=1).pivot_table(
        index=list(table.columns[:-1]), columns="y", values="one", aggfunc="sum", fill_value=0
    )
    masses = truth.reindex(index=pd.MultiIndex.from_frame(table.iloc[:, :-1])) if table.shape[1] > 2 else truth
    if table.shape[1] == 2:
        masses = truth.reindex(index=table.iloc[:, 0])
    masses = masses.reindex(columns=list(program.release.target.classes), fill_value=0).to_numpy(float)
    assert LinearRows(program).violation(masses[program.cells.owner]).max(initial=0.0) <= 1e-9, said


def brute(frame: pd.DataFrame, said: list[Fact]) -> np.ndarray:
    """All labellings that agree with statements, shape (n, people)."""
    every = (np.array(y) for y in itertools.product(CLASSES, repeat=len(frame)))
    return np.array([y for y in every if all(agrees(each, frame, y) for each in said)])


@pytest.mark.search
@pytest.mark.parametrize("seed", cases(0, 8, hunted=100))
def test_bounds_of_whole_people_are_those_of_all_labellings(seed: int) -> None:
    rng = np.random.default_rng([seed, 99])
    frame = people(rng, 8)
    kinds = rng.choice([kind for kind in KINDS if kind not in ("sd", "auc")], 2, replace=False).tolist()
    said = [each for each in (statement(kind, frame, rng) for kind in kinds) if each is not None]
    found = maxent.bounds(document(frame, *said), frame.drop(columns="y"), level="integer").frame()
    worlds = brute(frame, said)
    columns = [c for c in frame.columns if c in found.columns]
    for _, row in found[found["class"] == "yes"].iterrows():
        mine = (frame[columns] == row[columns]).all(axis=1).to_numpy() if columns else np.ones(len(frame), bool)
        share = (worlds[:, mine] == "yes").mean(axis=1)
        assert (row["low"], row["high"]) == pytest.approx((share.min(), share.max()), abs=1e-9), said


@pytest.mark.parametrize("kind", ["sd", "auc"])
@pytest.mark.search
@pytest.mark.parametrize("seed", cases(0, 2, hunted=40))
def test_bounds_of_what_is_not_linear_are_those_of_all_labellings(kind: str, seed: int) -> None:
    """By cases: over all numbers of people of the class, and all sums of their values, that are left."""
    rng = np.random.default_rng([seed, 7])
    frame = people(rng, 7)
    said = [each for each in (statement(kind, frame, rng), statement("count", frame, rng)) if each is not None]
    if kind == "sd" and rng.random() < 0.3 and said and "of" in said[0]:
        mean = statement("mean", frame, rng)
        said += [{**mean, "where": said[0]["where"]} if "where" in said[0] else mean] if mean else []
        said = [each for each in said if agrees(each, frame, frame["y"].to_numpy())]
    release, qi, worlds = document(frame, *said), frame.drop(columns="y"), brute(frame, said)
    columns = [c for c in frame.columns if c in {a.name for a in release.attributes}]
    for level in ("linear", "integer"):
        found = maxent.bounds(release, qi, level=level)
        assert found.status == "proved"
        for _, row in found.frame().query("`class` == 'yes'").iterrows():
            mine = (frame[columns] == row[columns]).all(axis=1).to_numpy() if columns else np.ones(len(frame), bool)
            share = (worlds[:, mine] == "yes").mean(axis=1)
            assert row["low"] - 1e-9 <= share.min(), said
            assert share.max() <= row["high"] + 1e-9, said
            if level == "integer":
                assert (row["low"], row["high"]) == pytest.approx((share.min(), share.max()), abs=1e-9), said


def test_an_auc_alone_tells_more_by_cases() -> None:
    """Of all numbers of sick people among ten, an AUC of 1 has the one with the lowest score well, and another sick."""
    frame = pd.DataFrame({"score": np.arange(10) / 10})
    auc = {"kind": "auc", "score": "score", "class": "yes", "equals": "1.000"}
    found = maxent.bounds(document(frame.assign(y="no"), auc), frame, level="integer").frame()
    yes = found[found["class"] == "yes"].set_index("score")
    assert (yes.high.iloc[0], yes.low.iloc[-1]) == (0, 1)
    assert ((yes.low.iloc[1:-1] == 0) & (yes.high.iloc[1:-1] == 1)).all()


def test_weights_with_many_digits_rule_out_no_world() -> None:
    """The presolve of OR-Tools 9.15 found no world here, where there is one."""
    ages, guess = [54, 56, 54, 29, 35, 43, 34, 55], ["no"] * 3 + ["yes"] * 2 + ["no"] * 3
    frame = pd.DataFrame({"age": np.array(ages, float), "guess": guess, "y": ["yes"] * 4 + ["no"] * 3 + ["yes"]})
    accuracy = {"kind": "accuracy", "where": {"age": {"gt": 33}}, "prediction": "guess", "equals": 0.3}
    mean = {"kind": "mean", "class": "yes", "where": {"age": {"gt": 28}}, "of": "age", "digits": 3, "equals": 49.6}
    found = maxent.bounds(document(frame, accuracy, mean), frame.drop(columns="y"), level="integer")
    assert found.summary["status"] == "proved"
    assert found.summary["individuals_open"] == 0


def tables(rng: np.random.Generator) -> tuple[pd.DataFrame, list[Fact]]:
    """Random people, and two linked tables of them with suppressed cells."""
    frame = people(rng, 9)
    said = []
    for by in (["region", "sex"], ["sex", "guess"]):
        cells: list[Fact] = []
        values_of = [[*sorted(frame[c].unique()), "*"] for c in by]
        for at in itertools.product(*values_of):
            here = (frame["y"] == "yes").to_numpy()
            for column, value in zip(by, at, strict=True):
                here = here & ((frame[column] == value).to_numpy() if value != "*" else True)
            n = int(here.sum())
            cells.append({"at": list(at), "class": "yes", "count": n if n >= 2 or at == ("*", "*") else None})
        said.append({"kind": "table", "by": by, "cells": cells, "suppressed_below": 2})
    return frame, said


def by_person(frame: pd.DataFrame, said: list[Fact], aim: np.ndarray) -> tuple[float, float]:
    """The least and the largest sum of ``aim``, by a linear program over single people made from the document."""
    rows, sides = [], []
    for table in said:
        for cell in table["cells"]:
            here = np.ones(len(frame), bool)
            for column, value in zip(table["by"], cell["at"], strict=True):
                here &= (frame[column] == value).to_numpy() if value != "*" else True
            ends = (0, 1) if cell["count"] is None else (cell["count"], cell["count"])
            rows += [here.astype(float), -here.astype(float)]
            sides += [ends[1], -ends[0]]
    found = [linprog(sign * aim, np.array(rows), sides, bounds=(0, 1)).fun * sign for sign in (1.0, -1.0)]
    return found[0], found[1]


@pytest.mark.search
@pytest.mark.parametrize("seed", cases(0, 4, hunted=150))
def test_bounds_of_linked_tables_are_those_of_another_program_and_of_enumeration(seed: int) -> None:
    rng = np.random.default_rng([seed, 3])
    frame, said = tables(rng)
    release, qi = document(frame, *said), frame.drop(columns="y")
    linear = maxent.bounds(release, qi, level="linear").frame()
    whole, worlds = maxent.bounds(release, qi, level="integer").frame(), brute(frame, said)
    columns = [c for c in frame.columns if c in linear.columns]
    for (_, row), (_, exact) in zip(linear.iterrows(), whole.iterrows(), strict=True):
        if row["class"] == "yes":
            mine = (frame[columns] == row[columns]).all(axis=1).to_numpy()
            low, high = by_person(frame, said, mine.astype(float))
            assert (row["low"], row["high"]) == pytest.approx((low / mine.sum(), high / mine.sum()), abs=1e-6)
            share = (worlds[:, mine] == "yes").mean(axis=1)
            assert (exact["low"], exact["high"]) == pytest.approx((share.min(), share.max()), abs=1e-9)
    told = maxent.audit(release, qi)["statements"]
    assert told["complete"]
    cells, _ = stated_cells(compile_release(release, qi))
    people_of, members = compile_release(release, qi).cells.owner, members_of(frame, release, qi)
    for cell in cells:
        numbers = (worlds[:, np.isin(members, people_of[cell.cells])] == "yes").sum(axis=1)
        assert cell.low <= numbers.min()
        assert numbers.max() <= cell.high


def members_of(frame: pd.DataFrame, release: Any, qi: pd.DataFrame) -> np.ndarray:
    """The quasi-identifier of each person, as the program numbers them, shape (n_people,)."""
    table = compile_release(release, qi).table
    levels = [[table.levels[j][code] for code in table.codes[:, j]] for j in range(len(table.attributes))]
    number = {key: i for i, key in enumerate(zip(*levels, strict=True))} or {(): 0}
    columns = frame[[attribute.name for attribute in table.attributes]]
    return np.array([number[tuple(row)] for row in columns.values.tolist()])


def linked(rng: np.random.Generator) -> tuple[pd.DataFrame, list[Fact]]:
    """Random people, and two to four linked tables of them, each plain, suppressed or rounded, with its margins."""
    frame = people(rng, int(rng.integers(12, 90)))
    frame["band"] = (frame.age // 10).astype(int).map("age{}".format)
    pairs = list(itertools.combinations(["region", "sex", "guess", "band"], 2))
    said = []
    for pair in rng.permutation(len(pairs))[: int(rng.integers(2, 5))]:
        by, k = list(pairs[pair]), int(rng.integers(2, 7))
        form = rng.choice(["plain", "suppressed", "suppressed", "rounded"])
        cells: list[Fact] = []
        for at in itertools.product(*[[*sorted(frame[c].unique()), "*"] for c in by]):
            here = (frame["y"] == "yes").to_numpy()
            for column, value in zip(by, at, strict=True):
                here = here & ((frame[column] == value).to_numpy() if value != "*" else True)
            n = int(here.sum())
            hidden = form == "suppressed" and n < k and at != ("*", "*")
            ends = [max(n - n % k, 0), n - n % k + k - 1] if form == "rounded" else n
            cells.append({"at": list(at), "class": "yes", "count": None if hidden else ends})
        said.append({"kind": "table", "by": by, "cells": cells, "suppressed_below": k})
    return frame.drop(columns=["score", "age"]), said


def jj(groups: pd.DataFrame, said: list[Fact]) -> str:
    """Linked tables as a file of tau-argus: groups of people are hidden cells, which printed cells add up."""
    lines = [f"{i} 0 1 u 0 {n} 0 0 0" for i, n in enumerate(groups["count"])]
    sums = []
    for table in said:
        for cell in table["cells"]:
            low, high = (0, table["suppressed_below"] - 1) if cell["count"] is None else (cell["count"],) * 2
            low, high = cell["count"] if isinstance(cell["count"], list) else (low, high)
            inside = np.ones(len(groups), bool)
            for column, value in zip(table["by"], cell["at"], strict=True):
                inside &= (groups[column] == value).to_numpy() if value != "*" else True
            at = len(lines)
            lines.append(f"{at} {low} 1 {'s' if low == high else 'u'} {low} {high} 0 0 0")
            terms = " ".join(f"{i} (1)" for i in np.flatnonzero(inside))
            sums.append(f"0 {inside.sum() + 1} : {at} (-1) {terms}")
    return "\n".join(["0", str(len(lines)), *lines, str(len(sums)), *sums, ""])


@pytest.mark.slow
@pytest.mark.search
@pytest.mark.parametrize("seed", cases(0, 40, hunted=400))
def test_bounds_of_linked_tables_are_those_of_tau_argus(seed: int, tmp_path: Path) -> None:
    """Feasibility intervals of pytauargus 0.6.0, an independent engine (HiGHS), in a process of its own."""
    python = Path(__file__).parents[2] / ".peers" / "pytauargus" / "bin" / "python"
    if not python.exists():
        pytest.skip("pytauargus is not there: make peers")
    frame, said = linked(np.random.default_rng([seed, 36]))
    found = maxent.bounds(document(frame, *said), frame.drop(columns="y"), level="linear").frame()
    ours = found[found["class"] == "yes"].reset_index(drop=True)
    (tmp_path / "tables.jj").write_text(jj(ours, said), encoding="utf-8")
    ask = "import json, sys; from pytauargus._tauargus import audit_jj; print(json.dumps(audit_jj(sys.argv[1])))"
    told = subprocess.run([python, "-c", ask, tmp_path / "tables.jj"], capture_output=True, check=True, text=True)
    theirs = [each for each in json.loads(told.stdout[told.stdout.index("[") :]) if each["cell"] < len(ours)]
    assert [each["cell"] for each in theirs] == list(range(len(ours)))
    for side, name in (("low", "min"), ("high", "max")):
        assert (ours[side] * ours["count"]).tolist() == pytest.approx([each[name] for each in theirs], abs=1e-5)


def cases_of(numbers: dict[str, int], more: int = 2) -> pd.DataFrame:
    """People of regions, so many of them with the class."""
    rows = [(r, y) for r, n in numbers.items() for y in ["yes"] * n + ["no"] * more]
    return pd.DataFrame(rows, columns=["region", "y"])


def told_of(frame: pd.DataFrame, *said: Fact) -> dict[str, Any]:
    return dict(maxent.audit(document(frame, *said), frame.drop(columns="y"))["statements"])


@pytest.mark.parametrize(
    ("numbers", "hidden", "least", "follow"),
    [({"a": 10, "b": 5, "c": 0, "d": 0}, "cd", 0, 2), ({"a": 10, "b": 3, "c": 1, "d": 1}, "cd", 1, 2)],
)
def test_zeros_and_ones_that_are_suppressed_follow(
    numbers: dict[str, int], hidden: str, least: int, follow: int
) -> None:
    """Suppressed zeros, and suppressed ones of cells that are known to hold somebody (sdcTools/UserSupport 194)."""
    frame = cases_of(numbers)
    cells: list[Fact] = [
        {"at": [r], "class": "yes", "count": [least, 3] if r in hidden else n} for r, n in numbers.items()
    ]
    cells.append({"at": ["*"], "class": "yes", "count": sum(numbers.values())})
    told = told_of(frame, {"kind": "table", "by": ["region"], "cells": cells})
    assert (told["exact"], told["follow"]) == (5, follow)
    assert told["zeros"] == 2 * (least == 0)


def test_three_suppressed_ones_of_a_row_follow_from_its_margin() -> None:
    """Three cells of 1 or 2 people, which add up to three: a row of sdcTools/UserSupport 135."""
    frame = cases_of({"A": 1, "B": 1, "H": 7, "M": 1, "W": 0})
    cells: list[Fact] = [{"at": [r], "class": "yes", "count": [1, 2]} for r in "ABM"]
    cells += [{"at": [r], "class": "yes", "count": n} for r, n in (("H", 7), ("W", 0), ("*", 10))]
    told = told_of(frame, {"kind": "table", "by": ["region"], "cells": cells})
    assert (told["exact"], told["follow"], told["smallest"]) == (6, 3, 1)


def test_linked_tables_that_are_each_safe_are_not_together() -> None:
    """Regions by county and by group, each of which alone hides every cell (sdcTools/UserSupport 136)."""
    numbers = {"A": 2, "B": 2, "I": 8, "J": 8, "K": 3, "L": 3, "M": 3, "N": 7}
    frame = cases_of(numbers)
    frame["county"] = np.where(frame["region"].isin(list("ABIJ")), "county-1", "county-2")
    frame["group"] = np.where(frame["region"].isin(["L", "M"]), "BIG", "small")
    y = frame["y"] == "yes"

    def table(by: str) -> Fact:
        cells: list[Fact] = [
            {"at": [r, "*"], "class": "yes", "count": n if n > 4 else None} for r, n in numbers.items()
        ]
        cells += [{"at": ["*", v], "class": "yes", "count": int((y & (frame[by] == v)).sum())} for v in set(frame[by])]
        return {"kind": "table", "by": ["region", by], "cells": cells, "suppressed_below": 5}

    alone = [told_of(frame, table(by))["exact"] for by in ("county", "group")]
    both = told_of(frame, table("county"), table("group"))
    # The number of all follows, too, and those of A and B, of K, L and M; of A, B and K
    assert alone == [3 + 2 + 1 + 2, 3 + 2 + 1 + 1]
    assert both["exact"] == 3 + 4 + 2 + 1  # K is what county-2 has beside N and the group of L and M; A and B remain
    assert both["follow"] == 3
    assert any("with what else is published, gives" in each for each in both["words"])
    assert not any(
        "with what else" in each for by in ("county", "group") for each in told_of(frame, table(by))["words"]
    )


FRAME = pd.DataFrame({"region": list("nnss"), "age": [30.0, 40.0, 50.0, 60.0]})


def glm(digits: int | None = None, **more: Any) -> Fact:
    """A regression of one coefficient."""
    term = {"column": "age", "value": 0.5, "within": 0.1, **({} if digits is None else {"digits": digits})}
    return {"kind": "glm", "family": "logistic", "of": "yes", "tolerance": 0.1, "terms": [term], **more}


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"kind": "counts", "class": "yes", "equals": 1}, "kind: expected one of linear"),
        ({"kind": "count", "class": "yes", "equals": 1, "digit": 0}, "an unknown key"),
        ({"kind": "count", "class": "yes", "equals": 1.5}, "equals: expected a whole number of people, found 1.5"),
        ({"kind": "count", "class": "yes", "equals": "-1"}, "equals: expected a whole number of people"),
        ({"kind": "count", "class": "ja", "equals": 1}, "class: expected a class: 'no', 'yes', found 'ja'"),
        (
            {"kind": "share", "class": "yes", "equals": 0.255, "digits": 2},
            "digits: expected the digits that equals has",
        ),
        (
            {"kind": "mean", "of": "age", "class": "yes", "equals": "45.5", "digits": 2, "source": "Table 1"},
            "statement 1 (Table 1): digits: expected 1, as many as equals shows after its point, found 2",
        ),
        (
            {"kind": "sd", "of": "age", "class": "yes", "equals": 9.5, "mean": "45", "mean_digits": 1},
            "mean_digits: expected 0, as many as mean shows after its point",
        ),
        ({"kind": "count", "class": "yes", "equals": 1, "where": {"region": "north"}}, "a value that somebody has"),
        ({"kind": "mean", "of": "y", "class": "yes", "equals": 1.5}, "not the target"),
        ({"kind": "mean", "of": "region", "class": "yes", "equals": 1.5}, "expected a finite number"),
        ({"kind": "mean", "of": "region", "class": "yes", "equals": 1.5}, "number, as s.json, statement 1 has it"),
        (
            {"kind": "count", "class": "yes", "equals": 1, "where": {"region": {"gt": 1}}, "source": "Table 1"},
            "region: expected a finite number, as s.json, statement 1 (Table 1) has it, found 'n'",
        ),
        (
            {"kind": "accuracy", "from": "gone.json", "equals": 0.5, "source": "Table 1"},
            "s.json: statement 1 (Table 1), from, gone.json: file: path: expected a file that can be read",
        ),
        (
            {"kind": "table", "by": ["region"], "cells": [{"at": ["n"], "class": "yes", "count": [4, 2]}]},
            "cell 1: count: expected [low, high], two numbers from 0, the lower one first, found [4, 2]",
        ),
        (glm(reference={"region": ["n"]}), "reference: expected columns of which values have a term: there is none"),
        (glm(mean_tolerance=0.1), "mean_tolerance: expected tolerance or mean_tolerance, as each bounds the gradient"),
        (glm(digits=1), "term 1: digits: expected within or digits, as each says how far the value may be off"),
        ({"kind": "auc", "score": "weight", "class": "yes", "equals": 0.5}, "weight"),
        ({"kind": "table", "by": ["region"], "cells": [{"at": ["n", "s"], "class": "yes", "count": 1}]}, "a list of 1"),
        (
            {"kind": "table", "by": ["region"], "cells": [{"at": ["n"], "class": "yes", "count": k} for k in (1, 2)]},
            "cell 2: at: expected each cell and class once, found n again",
        ),
        (
            {"kind": "table", "by": ["region"], "cells": [{"at": ["n"], "clas": "yes", "count": 1}]},
            "cell 1: clas: expected one of at, class, count, secondary, found an unknown key; did you mean 'class'?",
        ),
        (
            {"kind": "table", "by": [{"column": "age", "edges": [1]}], "cells": []},
            "statement 1, by 1: edges: expected a list of at least two increasing numbers",
        ),
        (
            {"kind": "linear", "weight": "age", "class": "yes", "equals": "90.0", "digits": 1, "within": 0},
            "statement 1: digits: expected digits or within, found both",
        ),
        (
            {"kind": "linear", "weight": "age", "class": "yes", "equals": 90, "within": None},
            "within: expected a number, at most 1e+100 and at least 0",
        ),
        (
            {"kind": "sd", "of": "age", "class": "yes", "equals": "-1"},
            "equals: expected a standard deviation, at least",
        ),
        (
            {"kind": "accuracy", "prediction": "region", "equals": 0.5},
            "column region: values: expected predicted classes: 'no', 'yes', found 'n', 's'",
        ),
        (
            {"kind": "confusion", "prediction": "region", "matrix": {"no": {"no": 0}}},
            "column region: values: expected predicted classes: 'no', 'yes', found 'n', 's'",
        ),
        (
            {"kind": "count", "class": "yes", "equals": 1, "where": {"age": {"above": 30}}},
            "above: expected one of ge, gt, le, lt, found an unknown key",
        ),
        (
            {"kind": "count", "class": "yes", "equals": 1, "where": {"age": {"gt": 30, "ge": 31}}},
            "where age: ge: expected gt or ge, as both are limits of one side, found 31",
        ),
        (
            {"kind": "sd", "of": "age", "class": "yes", "equals": "1e400"},
            "equals: expected a number as it was printed, at most 1e+100, found '1e400'",
        ),
        (
            {"kind": "mean", "of": "age", "class": "yes", "equals": "1e-999999999"},
            "equals: expected a number as it was printed, at most 1e+100, found '1e-999999999'",
        ),
        (
            {"kind": "linear", "weight": -1e300, "class": "yes", "at_least": 0},
            "weight: expected a number, at most 1e+100, found -1e+300",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place(said: Fact, words: str) -> None:
    written = {"format": "maxent-statements/1", "target": {"name": "y", "classes": CLASSES}}
    with pytest.raises(maxent.InvalidInput) as error:
        maxent.bounds(parse_statements({**written, "statements": [said]}, "s.json").release, FRAME)
    assert words in str(error.value)


@pytest.mark.parametrize("form", ["json", "toml"])
@pytest.mark.parametrize(("shown", "half"), [("1.1e1", 0.5), ("1E1", 5.0), ("11.0", 0.05), ("1.10e1", 0.05)])
def test_a_number_with_an_exponent_has_the_digits_that_it_shows(
    form: str, shown: str, half: float, tmp_path: Path
) -> None:
    said = {"kind": "linear", "weight": "w", "class": "yes", "equals": 0}
    text = json.dumps(
        {"format": "maxent-statements/1", "target": {"name": "y", "classes": CLASSES}, "statements": [said]}
    )
    if form == "toml":
        text = f"""format = "maxent-statements/1"
            target = {{ name = "y", classes = {json.dumps(CLASSES)} }}
            statements = [{{ kind = "linear", weight = "w", class = "yes", equals = 0 }}]"""
    path = tmp_path / f"s.{form}"
    path.write_text(text.replace("equals = 0", f"equals = {shown}").replace('equals": 0', f'equals": {shown}'))
    [row] = compile_release(path, pd.DataFrame({"w": [5.0, 6.0, 7.0]})).linear
    ends = [row.lower[0] * row.unit, row.upper[0] * row.unit]
    assert ends == pytest.approx([float(shown) - half, float(shown) + half], rel=1e-9)
    maxent.load_release(path).save(tmp_path / "again.json")
    [again] = compile_release(tmp_path / "again.json", pd.DataFrame({"w": [5.0, 6.0, 7.0]})).linear
    assert [again.lower[0], again.upper[0]] == pytest.approx([row.lower[0], row.upper[0]], rel=1e-9)


@pytest.mark.parametrize(
    ("said", "half"),
    [
        ({"equals": "8.8"}, 0.05),
        ({"equals": 9}, 0.5),
        ({"equals": 9.0, "digits": 0}, 0.5),
        ({"equals": 10, "digits": -1}, 5.0),
        ({"equals": "10", "digits": -1}, 5.0),
        ({"equals": 8.9, "digits": 2}, 0.005),
        ({"equals": "8.83", "within": 0}, 0.0),
        ({"equals": "9", "within": 0.28}, 0.28),
    ],
)
def test_a_printed_sum_is_every_sum_that_rounds_to_it(said: Fact, half: float) -> None:
    frame = pd.DataFrame({"w": [1.37, 2.41, 0.93, 5.12, 3.33, 2.78]})
    worlds = np.array(list(itertools.product([0, 1], repeat=len(frame))))
    left = worlds[np.abs(worlds @ frame["w"] - float(said["equals"])) <= half + 1e-9]
    release = document(frame.assign(y="no"), {"kind": "linear", "weight": "w", "class": "yes", **said})
    found = maxent.bounds(release, frame, level="integer").frame().query("`class` == 'yes'").set_index("w")
    assert found.low.loc[frame["w"]].tolist() == left.min(axis=0).tolist()
    assert found.high.loc[frame["w"]].tolist() == left.max(axis=0).tolist()


def test_a_share_of_nobody_is_refused_unless_it_may_be_none() -> None:
    frame = FRAME.assign(y="no")
    for printed, wrong in (("0.5", True), ("0.1", True), ("0.0", False)):
        for kind in ("share", "rate"):
            said: Fact = {"kind": kind, "class": "yes", "where": {"age": {"gt": 60}}, "equals": printed}
            found = compile_release(document(frame, said), FRAME).contradictions
            assert [str(each.origin) for each in found] == ["s.json, statement 1"] * wrong


def _of_nobody(kind: str, number: Any) -> Fact:
    """A number of a region that nobody lives in, and the cell of another region."""
    if kind != "table":
        return {"kind": kind, "class": "yes", "where": {"region": "w"}, "equals": number}
    cells = [{"at": [at], "class": "yes", "count": count} for at, count in (("n", 1), ("w", number))]
    return {"kind": "table", "by": ["region"], "suppressed_below": 3, "cells": cells}


@pytest.mark.parametrize(
    ("kind", "number"), [("count", 0), ("share", "0.0"), ("rate", 0), ("table", 0), ("table", None), ("table", [0, 4])]
)
def test_nobody_is_counted_among_those_whom_nobody_is(kind: str, number: Any) -> None:
    found = maxent.bounds(document(FRAME.assign(y="no"), _of_nobody(kind, number)), FRAME, level="linear")
    assert found.status == "proved"
    assert any("column region: nobody has 'w'" in note for note in found.notes)


def test_audit_of_statements_that_say_nothing_leaves_all_open() -> None:
    told = maxent.audit(document(FRAME.assign(y="no"), _of_nobody("count", 0)), FRAME)["statements"]
    assert (told["cells"], told["exact"], told["complete"]) == (3, 0, True)


@pytest.mark.parametrize(("kind", "number"), [("count", 1), ("share", "0.5"), ("table", 1), ("table", [1, 4])])
def test_somebody_whom_nobody_is_is_refused_beside_a_zero(kind: str, number: Any) -> None:
    said = [_of_nobody(kind, 0 if kind != "share" else "0.0"), _of_nobody(kind, number)]
    with pytest.raises(InvalidInput, match="region: expected a value that somebody has: 'n', 's', found 'w'"):
        maxent.bounds(document(FRAME.assign(y="no"), *said), FRAME, level="linear")


def test_statements_that_contradict_the_table_are_named() -> None:
    said = {"kind": "count", "class": "yes", "equals": 3, "where": {"region": "n"}, "source": "Table 2, row 1"}
    frame = FRAME.assign(y="no")
    program = compile_release(document(frame, said), FRAME)
    assert [str(each.origin) for each in program.contradictions] == ["s.json, Table 2, row 1"]


def test_statements_of_one_source_are_told_apart() -> None:
    frame = pd.DataFrame({"w": [1.0, 2.0, 3.0, 4.0], "y": ["yes", "no", "no", "yes"]})
    of = {"class": "yes", "source": "Table 1"}
    mean = {"kind": "mean", "of": "w", "equals": "2.5", **of}
    deviation = {"kind": "sd", "of": "w", "equals": "1.50", "ddof": 0, **of}
    for said in ([mean, deviation], [deviation, mean]):
        program = compile_release(document(frame, *said), frame[["w"]])
        alone = compile_release(document(frame, said[0], {**said[1], "source": "Table 2"}), frame[["w"]])
        assert len(program.linear) == len(alone.linear)
    wrong = [{"kind": "count", "equals": number, **of} for number in (1, 2)]
    with pytest.raises(
        InvalidInput, match=r"s\.json, Table 1 \(statement 1\): .* with s\.json, Table 1 \(statement 2\)"
    ):
        maxent.bounds(document(frame, *wrong), frame[["w"]])
    cells = [{"kind": "count", "where": {"w": w}, "class": "yes", "equals": 1, "source": "Table 1"} for w in (1, 4)]
    words = maxent.audit(document(frame, *cells), frame[["w"]])["statements"]["words"]
    assert words == ["s.json, Table 1 gives the number of yes in 2 groups: the smallest is 1"]


def test_two_tables_of_overlapping_people_tell_the_class_of_who_joined() -> None:
    frame = people(np.random.default_rng(3), 12).assign(id=[f"p{i}" for i in range(12)])
    before = frame.iloc[:11]
    first, second = (
        document(each, {"kind": "count", "class": "yes", "equals": int((each.y == "yes").sum())})
        for each in (before, frame)
    )
    tables_of = [each.drop(columns="y") for each in (before, frame)]
    found = maxent.compare_releases([first, second], tables_of, who="id")
    told = found.frame().set_index("id").loc["p11"]
    assert found.reliable
    assert told[f"P({frame.y.iloc[11]})"] == pytest.approx(1, abs=1e-6)
    assert int(found.alone.sum()) == 0
    said = {"kind": "count", "class": "yes", "equals": 1 + int((before.y == "yes").sum()), "source": "Table 1"}
    other = document(before, {"kind": "share", "class": "yes", "equals": "0.0", "source": "Figure 1"}, said)
    with pytest.raises(InvalidInput, match=r"together with .*Figure 1, found yes"):
        maxent.compare_releases([other, second], tables_of, who="id")


@pytest.mark.search
@pytest.mark.parametrize("seed", cases(0, 8, hunted=200))
def test_the_smallest_set_that_contradicts_itself_is_named(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = people(rng, int(rng.integers(5, 30)))
    said = [each for kind in ("count", "share", "mean", "rate") if (each := statement(kind, frame, rng))]
    for i, each in enumerate(said):
        each["source"] = f"Table {i}"
    groups = [{"region": r} for r in sorted(set(frame.region))]
    for where in groups:
        n = int(((frame.region == where["region"]) & (frame.y == "yes")).sum())
        said.append({"kind": "count", "class": "yes", "equals": n, "where": where, "source": f"Row {where['region']}"})
    total = int((frame.y == "yes").sum()) + 1
    wrong = {"kind": "count", "class": "yes", "equals": total, "source": "Total"}
    rng.shuffle(said)
    given = document(frame, *said, wrong)
    table = frame.drop(columns="y")
    with pytest.raises(InvalidInput) as refused:
        maxent.bounds(given, table)
    places = {problem.where.split(",")[1].strip() for problem in refused.value.problems}
    assert "Total" in places or total > len(frame)
    without = [each for each in [*said, wrong] if each["source"] in places]
    with pytest.raises(InvalidInput):
        maxent.bounds(document(frame, *without), table)
    smallest = len(refused.value.problems) == len(places) and "there was no time" not in str(refused.value)
    for place in places if smallest else ():
        rest = [each for each in without if each["source"] != place]
        assert not rest or maxent.bounds(document(frame, *rest), table).reliable, place


@pytest.mark.search
@pytest.mark.parametrize("seed", cases(0, 3, hunted=200))
def test_the_smallest_set_that_only_whole_people_contradict_is_named(seed: int) -> None:
    """Odd circles: one of two neighbours each, which halves of people satisfy; counts of others stand beside."""
    rng = np.random.default_rng(seed)
    n, circle = int(rng.integers(5, 9)), int(rng.choice([3, 5]))
    who = rng.permutation([f"p{i}" for i in range(n)]).tolist()
    truth = dict(zip(who, rng.integers(0, 2, n).tolist(), strict=True))
    groups = [([who[i], who[(i + 1) % circle]], 1) for i in range(circle)]
    for _ in range(4):
        some = rng.choice(who[circle:], int(rng.integers(1, n - circle + 1)), replace=False).tolist()
        groups.append((some, sum(truth[each] for each in some)))
    rng.shuffle(groups)
    table = pd.DataFrame({"id": who})
    frame = table.assign(y=["yes" if truth[each] else "no" for each in who])
    said = [
        {"kind": "count", "class": "yes", "equals": number, "where": {"id": list(some)}, "source": f"Table {i}"}
        for i, (some, number) in enumerate(groups)
    ]
    assert maxent.bounds(document(frame, *said), table, level="linear").reliable
    with pytest.raises(InvalidInput, match="whole people") as refused:
        maxent.bounds(document(frame, *said), table)
    assert "no time" not in str(refused.value)
    named = {int(problem.where.rpartition(" ")[2]) for problem in refused.value.problems}
    assert named == {i for i, (some, _) in enumerate(groups) if set(some) <= set(who[:circle])}


@pytest.mark.search
@pytest.mark.parametrize("seed", [*cases(26, 14, hunted=150), 196])
def test_what_contradicts_an_auc_or_a_deviation_is_named(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Statements of two labellings: what is named contradicts itself, and all of it is needed, by enumeration."""
    monkeypatch.setattr(sums, "SEARCH", 100.0)
    rng = np.random.default_rng([seed, 36])
    frame = people(rng, int(rng.integers(4, 8)))
    other = frame.assign(y=rng.choice(CLASSES, len(frame)))
    kinds = ["auc", "sd", *rng.choice(["auc", "sd", "mean", "mean", "count", "share", "table", "linear"], 3).tolist()]
    said: list[Fact] = []
    for kind in kinds[int(rng.integers(0, 2)) :]:
        each = statement(kind, frame if rng.random() < 0.6 else other, rng)
        if each is not None:
            cells = [cell for cell in each.pop("cells", ()) if "*" not in cell["at"]]
            said += [{**each, "cells": [cell]} for cell in rng.permutation(cells)[:3]] if kind == "table" else [each]
    if rng.random() < 0.5:  # a deviation is then beside the mean of the same people
        all_ = {"where": {"age": {"gt": 0.0}}}
        said = [{**each, **all_} if each["kind"] in ("mean", "sd") else each for each in said]
    said = [{**each, "source": f"Table {i}"} for i, each in enumerate(said)]
    level, refused, status = str(rng.choice(["linear", "integer"])), "", ""
    given, table, places = document(frame, *said), frame.drop(columns="y"), set[str]()
    try:
        status = maxent.bounds(given, table, level=level).status
    except InvalidInput as error:
        refused, places = str(error), {problem.where.split(", ")[1] for problem in error.problems}
    if not places:
        assert status == "proved"
        if level == "integer":
            assert len(brute(frame, said)), said
        else:
            assert not impossible(compile_release(given, table), Clock(), whole=False), said
        return
    named = [each for each in said if each["source"] in places]
    assert "no time" not in refused
    assert not len(brute(frame, named)), named
    for place in places if "whole people" in refused else ():
        rest = [each for each in named if each["source"] != place]
        assert not rest or len(brute(frame, rest)), (place, named)


def test_a_search_whose_time_is_up_looks_at_no_case(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = people(np.random.default_rng(1), 6)
    auc = {"kind": "auc", "score": "score", "class": "yes", "equals": "0.5"}
    program = compile_release(document(frame, auc), frame.drop(columns="y"))
    monkeypatch.setattr(SumCases, "first", lambda cases, clock: pytest.fail("a case was looked for"))
    assert impossible(program, Clock(0.0), whole=False) is None


@pytest.mark.parametrize(("limit", "most"), [(None, sums.SEARCH), (4.0, 4.0 + SOON)])
def test_a_search_for_a_contradiction_ends_with_the_call(
    limit: float | None, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where time ends the statements are refused all the same."""
    seconds: list[float | None] = []

    def contradicting(program: Program, clock: Clock, *, whole: bool) -> stated.Contradiction:
        seconds.append(clock.limit)
        return stated.Contradiction((), fewest=False)

    monkeypatch.setattr(stated, "contradicting", contradicting)
    said = [{"kind": "count", "class": "yes", "equals": number} for number in (1, 2)]
    for call in (maxent.bounds, maxent.estimate):
        with pytest.raises(InvalidInput, match="no time to find the smallest set"):
            call(document(FRAME.assign(y="no"), *said), FRAME, time_limit=limit)
    assert all(found is not None and 0 < found <= most for found in seconds)


@pytest.mark.parametrize("silent", [(), ("b",)])
def test_a_set_is_proved_smallest_where_every_question_was_answered(silent: tuple[str, ...]) -> None:
    def contradict(some: Sequence[tuple[str, str]]) -> bool | None:
        names = {name for name, _ in some}
        if {"b", "d"} <= names:
            return True
        return None if names.isdisjoint(silent) and silent else False

    kept, proved = fewest([[(name, "statements") for name in some] for some in ("ab", "abcdef")], contradict)
    assert [name for name, _ in kept] == ["b", "d"]
    assert proved is not bool(silent)


@pytest.mark.search
@pytest.mark.parametrize("seed", cases(0, 6, hunted=200))
def test_statements_tell_the_base_rate(seed: int) -> None:
    """Numbers of everybody, or of all groups, settle it; whatever is stated allows the true numbers."""
    rng = np.random.default_rng(seed)
    frame = people(rng, int(rng.integers(5, 30)))
    rows = [
        {"kind": "count", "class": "yes", "equals": int((part.y == "yes").sum()), "where": {"region": region}}
        for region, part in frame.groupby("region")
    ]
    yes = int((frame.y == "yes").sum())
    everybody = [{"kind": "count", "class": "yes", "equals": yes}]
    for said, settled in ((everybody, True), (rows, True), (rows[:1], len(rows) == 1)):
        program = compile_release(document(frame, *said), frame.drop(columns="y"))
        low, high = class_ends(program, np.zeros(2), np.full(2, float(len(frame))))
        assert low[1] <= yes <= high[1]
        assert low[0] <= len(frame) - yes <= high[0]
        if settled:
            found = maxent.estimate(document(frame, *said), frame.drop(columns="y"))
            assert found.summary["baseline"]["base_rate"] == pytest.approx(max(yes, len(frame) - yes) / len(frame))


def test_splits_on_columns_that_only_statements_name_did_not_compete() -> None:
    frame = pd.DataFrame(
        {"sex": list("ffffmmmm"), "town": list("bbbabaaa"), "y": ["no"] * 3 + ["yes", "no"] + ["yes"] * 3}
    )
    branches = [{"in": [sex], "child": sex} for sex in ("f", "m")]
    nodes = [{"id": "f", "counts": {"no": 3, "yes": 1}}, {"id": "m", "counts": {"no": 1, "yes": 3}}]
    made = {"algorithm": "id3", "impurity": "entropy", "candidates": "unused"}
    release = parse_release(
        {
            "format": "maxent/1",
            "target": {"name": "y", "classes": ["no", "yes"]},
            "attributes": [{"name": "sex", "type": "categorical", "values": ["f", "m"]}],
            "trees": [{"nodes": [{"id": "root", "attribute": "sex", "branches": branches}, *nodes], "induction": made}],
        },
        "tree.json",
    )
    said = document(frame, {"kind": "count", "class": "yes", "where": {"town": "a"}, "equals": 4})
    found: Any = maxent.check([release, said], frame.drop(columns="y"), max_certain=7)
    assert (found.status, found.review.estimate.outcome.status) == ("fail", "optimal")


def test_classes_of_statements_may_stand_in_another_order_than_those_of_a_tree() -> None:
    tree = maxent.load_release(D1 / "tree.json")
    told = {"format": "maxent-statements/1", "target": {"name": "Salary", "classes": [">50K", "<=50K"]}}
    truth = pd.read_csv(D1 / "truth.csv")
    poor = truth[truth.Salary == "<=50K"].Gender.value_counts()
    told["statements"] = [
        {"kind": "table", "by": ["Gender"], "cells": [{"at": [g], "class": "<=50K", "count": int(poor[g])}]}
        for g in ("Female", "Male")
    ]
    both = [tree, parse_statements(told, "s.json").release]
    bounds = maxent.bounds(both, truth.drop(columns="Salary"))
    assert bounds.reliable
    told["target"]["classes"].reverse()
    again = maxent.bounds([tree, parse_statements(told, "s.json").release], truth.drop(columns="Salary"))
    assert again.frame().equals(bounds.frame())


# Predictions of a release, in place of a column.

D1_CLASSES = ["<=50K", ">50K"]
SCORED: dict[str, Fact] = {
    "accuracy": {"equals": "0.64"},
    "confusion": {"matrix": {">50K": {">50K": 3}}},
    "auc": {"class": ">50K", "equals": "0.65"},
    "brier": {"class": ">50K", "equals": "0.21"},
    "log_loss": {"class": ">50K", "equals": "0.61"},
}
RULES: Fact = {"kind": "rule", "if": [{"column": "Gender", "in": ["Male"]}], "label": ">50K", "n": 5, "correct": 3}


def asked_of(folder: Path, model: Fact | None, *said: Fact) -> Any:
    """Statements about a model in a file beside them; of the tree of the example by default."""
    text = (D1 / "tree.json").read_text(encoding="utf-8") if model is None else json.dumps(model)
    (folder / "model.json").write_text(text, encoding="utf-8")
    told = {"format": "maxent-statements/1", "target": {"name": "Salary", "classes": D1_CLASSES}}
    return parse_statements(
        {**told, "statements": [{**each, "from": "model.json"} for each in said]}, "s.json", str(folder)
    )


def bare_tree(*keys: str) -> Fact:
    """The tree of the example, whose leaves state only some keys."""
    tree: Fact = json.loads((D1 / "tree.json").read_text(encoding="utf-8"))
    nodes = tree["trees"][0]["nodes"]
    tree["trees"][0]["nodes"] = [n if "branches" in n else {k: n[k] for k in ("id", *keys) if k in n} for n in nodes]
    return tree


@pytest.mark.parametrize("kind", SCORED)
@pytest.mark.parametrize("model", ["regression.json", "table1.json", "rules", "leaves without an answer"])
def test_a_release_that_predicts_nothing_is_not_asked_for_predictions(kind: str, model: str, tmp_path: Path) -> None:
    """The true accuracy of the regression of the example, 7 of 11, made a wrong bound of the base rate."""
    if model == "rules":
        said = {"format": "maxent-statements/1", "target": {"name": "Salary", "classes": D1_CLASSES}}
        document = {**said, "statements": [RULES]}
    elif model.endswith(".json"):
        document = json.loads((D1.parent / "statements" / model).read_text(encoding="utf-8"))
    else:
        document = bare_tree("n")
    with pytest.raises(InvalidInput, match=r"statement 1.*: from: expected a release of trees that predict .*others"):
        asked_of(tmp_path, document, {"kind": kind, **SCORED[kind]})


@pytest.mark.parametrize("kind", ["auc", "brier", "log_loss"])
def test_scores_are_not_taken_from_labels_without_probabilities(kind: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="from: expected a release that states the probabilities it predicts"):
        asked_of(tmp_path, bare_tree("label"), {"kind": kind, **SCORED[kind]})
    assert asked_of(tmp_path, bare_tree("label"), {"kind": "accuracy", "equals": "0.64"}).statements


@pytest.mark.parametrize("kind", ["auc", "brier", "log_loss"])
@pytest.mark.parametrize("how", ["a rate of 3", "no n", "rounded counts"])
def test_scores_are_not_taken_from_probabilities_that_were_rounded(kind: str, how: str, tmp_path: Path) -> None:
    """A model that says 1/3 has another score than its printed 0.33, by more than the last digit of the score."""
    tree = bare_tree("label", "error_rate") if how == "no n" else bare_tree("label", "error_rate", "n")
    leaf = tree["trees"][0]["nodes"][-1]
    assert leaf.get("n") == (None if how == "no n" else 2)
    if how == "a rate of 3":
        leaf |= {"n": 3, "error_rate": 0.33}
    elif how == "rounded counts":
        tree = {**bare_tree("label"), "release": {"rounded": {"base": 5, "method": "nearest"}}}
        for node in tree["trees"][0]["nodes"]:
            if "branches" not in node:
                node["counts"] = {"<=50K": 5, ">50K": 5}
    with pytest.raises(InvalidInput, match=r"from: expected a release with the numbers of records of its leaves"):
        asked_of(tmp_path, tree, {"kind": kind, **SCORED[kind]})
    assert asked_of(tmp_path, None, {"kind": kind, **SCORED[kind]}).statements


@pytest.mark.search
@pytest.mark.parametrize("seed", cases(0, 6, hunted=100))
def test_any_classes_satisfy_what_is_true_of_a_tree_that_is_asked(seed: int, tmp_path: Path) -> None:
    """Accuracy, confusion matrix, AUC and Brier score of the tree, computed here from its predictions."""
    rng = np.random.default_rng([seed, 36])
    frame = pd.read_csv(D1 / "truth.csv").drop(columns="Salary")
    y = rng.permutation(np.array(D1_CLASSES)[np.append([0, 1], rng.integers(0, 2, len(frame) - 2))])
    told = maxent.predict(D1 / "tree.json", frame).frame
    guess, score, rich = told["predicted"].to_numpy(), told["P(>50K)"].to_numpy(), y == ">50K"
    wins = (score[rich][:, None] > score[~rich]) + 0.5 * (score[rich][:, None] == score[~rich])
    matrix = {p: {t: int(((guess == p) & (y == t)).sum()) for t in D1_CLASSES} for p in D1_CLASSES}
    said = [
        {"kind": "accuracy", "equals": f"{(guess == y).mean():.3f}"},
        {"kind": "confusion", "matrix": matrix},
        {"kind": "auc", "class": ">50K", "equals": f"{wins.mean():.3f}"},
        {"kind": "brier", "class": ">50K", "equals": f"{((score - rich) ** 2).mean():.3f}"},
    ]
    found = maxent.bounds(asked_of(tmp_path, None, *said).release, frame, level="integer").frame()
    columns = [c for c in frame.columns if c in found.columns]
    for _, row in found.iterrows():
        mine = (frame[columns] == row[columns]).all(axis=1).to_numpy() if columns else np.ones(len(frame), bool)
        assert row["low"] - 1e-9 <= (y[mine] == row["class"]).mean() <= row["high"] + 1e-9, said


def test_statements_without_a_tree_predict_nobody(tmp_path: Path) -> None:
    """Neither predictions, queries, accuracies nor the adversary with the predictions answer for their model."""
    regression = D1.parent / "statements" / "regression.json"
    for answer in (lambda: maxent.predict(regression, D1 / "qi.csv"), lambda: maxent.export(regression, to="sql")):
        with pytest.raises(InvalidInput, match="expected trees that predict, found statements without a tree"):
            answer()
    compared = maxent.compare([regression], D1 / "qi.csv", truth=D1 / "truth.csv", test=D1 / "truth.csv")
    assert all(row.get("test_accuracy") is None for row in compared.rows)
    truth = pd.read_csv(D1 / "truth.csv")
    review = maxent.review(regression, truth, target="Salary", qi=list(truth.columns[:3]))
    [rung] = [each for each in review.ladder if each.adversary == "predictions"]
    assert "statements without a tree predict nothing" in rung.figures.missing


def test_a_later_version_of_the_format_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text('{"format": "maxent-statements/2", "statements": []}', encoding="utf-8")
    with pytest.raises(InvalidInput, match="format: expected one of maxent-statements/1, found 'maxent-statements/2'"):
        maxent.bounds(tmp_path / "s.json", FRAME)


def suppressed(weights: dict[str, int], equals: float) -> list[Fact]:
    """Two hidden cells and the sum of a weight over the cases, which only whole people solve."""
    cells = [{"at": [group], "class": "yes", "count": None} for group in weights]
    table = {"kind": "table", "by": ["g"], "suppressed_below": 5, "cells": cells}
    return [table, {"kind": "linear", "weight": "w", "class": "yes", "equals": equals, "within": 0}]


@pytest.mark.parametrize(
    ("equals", "limit", "numbers", "figure"),
    [(8, {"min_stated_cell": 2}, {1, 2}, 1), (5, {"max_stated_zeros": 0}, {0, 1}, 1)],
)
def test_checks_know_cells_that_only_whole_people_settle(
    equals: int, limit: dict[str, int], numbers: set[int], figure: int
) -> None:
    """3a + 5b = 8 has one case in each, two in both, = 5 none in A: linear programs leave both open."""
    frame = pd.DataFrame({"g": ["A"] * 4 + ["B"] * 4, "w": [3] * 4 + [5] * 4, "y": ["no", "yes"] * 4})
    release, qi = document(frame, *suppressed({"A": 3, "B": 5}, equals)), frame.drop(columns="y")
    told = stated_cells(compile_release(release, qi))
    assert told[1]
    assert {cell.low for cell in told[0]} == {cell.high for cell in told[0]} == numbers
    found = maxent.check(release, qi, {"limits": limit})
    assert [(row.status, row.finding.figure) for row in found.rows if row.check.key in limit] == [("fail", figure)]


def test_what_was_not_settled_for_whole_people_is_not_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    from maxent.solvers.certainty import settled

    monkeypatch.setattr(settled, "SECONDS", 0.0)
    monkeypatch.setattr(following, "SECONDS", 0.0)
    frame = pd.DataFrame({"g": ["A"] * 4 + ["B"] * 4, "w": [3] * 4 + [5] * 4, "y": ["no", "yes"] * 4})
    release, qi = document(frame, *suppressed({"A": 3, "B": 5}, 8)), frame.drop(columns="y")
    for limit in ({"min_stated_cell": 2}, {"max_stated_zeros": 0}):
        rows = maxent.check(release, qi, {"limits": limit}).rows
        assert [row.status for row in rows if row.check.key in limit] == ["cannot_tell"]
    assert not maxent.audit(release, qi)["statements"]["complete"]


@pytest.mark.parametrize(("work", "complete"), [(following.WORK, True), (0, False)])
def test_the_search_for_groups_ends_by_its_work(work: int, complete: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same on a machine that is busy: time is only for one that does not come to an end."""
    monkeypatch.setattr(following, "WORK", work)
    monkeypatch.setattr(following, "SECONDS", 1e6)
    frame, said = tables(np.random.default_rng([0, 3]))
    assert told_of(frame, *said)["complete"] == complete


def test_a_tree_beside_statements_settles_cells_for_whole_people() -> None:
    """The example's tree, a share and two rounded cells: one of the others is alone, as bounds prove."""
    d1 = Path(__file__).parents[2] / "examples" / "d1"
    share = {"kind": "share", "class": ">50K", "equals": "0.55"}
    cells = [{"at": at, "class": ">50K", "count": 3} for at in (["Male", "USA"], ["Female", "*"])]
    table = {"kind": "table", "by": ["Gender", "Country"], "base": 3, "rounding": "random", "cells": cells}
    written = {"format": "maxent-statements/1", "target": {"name": "Salary", "classes": ["<=50K", ">50K"]}}
    beside = parse_statements(json.loads(json.dumps(written | {"statements": [share, table]})), "s.json").release
    releases, qi = [maxent.load_release(d1 / "tree.json"), beside], d1 / "qi.csv"
    told = maxent.audit(releases, qi)["statements"]
    assert (told["exact"], told["smallest"], told["complete"]) == (9, 1, True)


def cell(at: list[Any], n: int) -> Fact:
    return {"at": at, "class": "yes", "count": n}


LEFT_OUT: dict[str, list[Fact]] = {
    "a table": [{"kind": "table", "by": ["sex", "land"], "cells": [cell(["m", "*"], 8), cell(["m", "USA"], 7)]}],
    "a table of some": [
        {"kind": "table", "by": ["land"], "where": {"sex": "m"}, "cells": [cell(["*"], 8), cell(["USA"], 7)]}
    ],
    "counts": [
        {"kind": "count", "class": "yes", "equals": 8, "where": {"sex": "m"}},
        {"kind": "count", "class": "yes", "equals": 7, "where": {"sex": "m", "age": {"lt": 50}}},
    ],
    "a share": [
        {"kind": "share", "class": "yes", "equals": "0.40", "where": {"sex": "m"}},
        {"kind": "count", "class": "yes", "equals": 7, "where": {"sex": "m", "land": ["USA"]}},
    ],
    "outside of edges": [
        {
            "kind": "table",
            "by": ["sex", {"column": "age", "edges": [20, 50]}],
            "cells": [cell(["m", "*"], 8), cell(["m", [20, 50]], 7)],
        }
    ],
}


def people_by_land() -> pd.DataFrame:
    """Twenty men and twenty women, half of them older and of the other of two countries."""
    land, age = ["USA"] * 20 + ["Canada"] * 20, [30.0] * 20 + [60.0] * 20
    return pd.DataFrame({"sex": ["m", "f"] * 20, "land": land, "age": age, "y": "no"})


@pytest.mark.parametrize("kind", LEFT_OUT)
def test_a_cell_that_no_row_lists_and_that_follows_is_not_passed(kind: str) -> None:
    """Eight men, seven of them in one cell: one is in the other, which was left out."""
    frame = people_by_land()
    release, qi = document(frame, *LEFT_OUT[kind]), frame.drop(columns="y")
    proved = maxent.bounds(release, qi, level="integer").frame().query("sex == 'm' and `class` == 'yes'")
    assert sorted((proved["low"] * proved["count"]).tolist()) == [1, 7]
    assert (proved["low"] == proved["high"]).all()
    rows = maxent.check(release, qi, {"limits": {"min_stated_cell": 3}}).rows
    assert [(r.status, r.finding.figure) for r in rows if r.check.key == "min_stated_cell"] == [("fail", 1)]
    audit = maxent.audit(release, qi)
    told = audit["statements"]
    assert (told["exact"], told["follow"], told["smallest"], told["complete"]) == (3, 1, 1, True)
    assert any("; single cells settle the class of 0 individuals" in line for line in audit_lines(audit, "y", 1))


def test_a_class_that_is_called_like_people_outside_of_the_data_is_a_class() -> None:
    """With a name that registers give to non-members, its cells follow, and its people are no strangers."""
    name, said, found = "yes (not a member)", LEFT_OUT["a table"], []
    for klass in ("z", name):
        frame = people_by_land().assign(y=klass)
        named = json.loads(json.dumps(said).replace("yes", klass))
        release, qi = document(frame, *named), frame.drop(columns="y")
        told = maxent.audit(release, qi)["statements"]
        assert (told["exact"], told["follow"], told["smallest"], told["complete"]) == (3, 1, 1, True)
        estimate = maxent.estimate(release, qi)
        assert estimate.posterior.columns[-1] == f"P({klass})"
        found.append((estimate.summary["disclosure"], maxent.bounds(release, qi).frame()["high"].tolist()))
    assert found[0] == found[1]


def test_audit_and_explain_name_statements_that_contradict_each_other(tmp_path: Path, capsys: Any) -> None:
    numbers = ((8, {"sex": "m"}), (7, {"sex": "f"}), (16, {"sex": ["m", "f"]}))
    said = [{"kind": "count", "class": "yes", "equals": n, "where": where} for n, where in numbers]
    written = {"format": "maxent-statements/1", "target": {"name": "y", "classes": ["no", "yes"]}, "statements": said}
    (tmp_path / "s.json").write_text(json.dumps(written), encoding="utf-8")
    people_by_land().drop(columns="y").to_csv(tmp_path / "qi.csv", index=False)
    with pytest.raises(InvalidInput) as refused:
        maxent.audit(tmp_path / "s.json", tmp_path / "qi.csv")
    assert [p.where for p in refused.value.problems] == [f"s.json, statement {i}" for i in (1, 2, 3)]
    assert main(["explain", str(tmp_path / "s.json"), str(tmp_path / "qi.csv")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-4:] == [
        "contradiction: 3 statements cannot be true together:",
        *(f"  {problem.where}: {problem.found}" for problem in refused.value.problems),
    ]


def _counts(*said: tuple[int, Any]) -> list[Fact]:
    """Numbers of people with some ids."""
    return [{"kind": "count", "class": "yes", "equals": n, "where": {"id": ids}} for n, ids in said]


def test_audit_names_statements_that_whole_people_alone_contradict() -> None:
    """One of two each around a circle of three: halves of people."""
    qi = pd.DataFrame({"id": list("abc")})
    release = document(qi.assign(y="no"), *_counts(*((1, list(pair)) for pair in ("ab", "bc", "ca"))))
    for call in (maxent.audit, partial(maxent.check, max_stated_zeros=0)):
        with pytest.raises(InvalidInput, match="what can be true of whole people together with") as refused:
            call(release, qi)
        assert len(refused.value.problems) == 3


def test_a_handful_of_many_statements_that_contradict_each_other_is_shown() -> None:
    qi = pd.DataFrame({"id": [f"p{i}" for i in range(12)]})
    said = _counts(*((0, name) for name in qi["id"]), (1, qi["id"].tolist()))
    with pytest.raises(InvalidInput) as refused:
        maxent.bounds(document(qi.assign(y="no"), *said), qi, level="linear")
    assert [" and 8 more, found " in str(problem) for problem in refused.value.problems] == [True] * 6


def test_a_tree_that_statements_contradict_has_the_name_of_its_file(tmp_path: Path) -> None:
    said = {"kind": "count", "class": ">50K", "equals": 0}
    written = {"format": "maxent-statements/1", "target": {"name": "Salary", "classes": ["<=50K", ">50K"]}}
    (tmp_path / "s.json").write_text(json.dumps(written | {"statements": [said]}), encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"tree\.json, leaf") as refused:
        maxent.bounds([D1 / "tree.json", tmp_path / "s.json"], D1 / "qi.csv", level="linear")
    assert "tree 1" not in str(refused.value)


@pytest.mark.parametrize(
    ("mean", "sd", "named"), [(45, 3, 1), (45, 14, 1), (None, 3, 1), (None, 14, 1), (30, 13, 2), (45, 13, None)]
)
@pytest.mark.parametrize("where", [{}, {"where": {"age": {"le": 60}}}])
def test_a_deviation_of_all_that_the_table_contradicts_is_named(
    mean: int | None, sd: int, named: int | None, where: dict[str, Any]
) -> None:
    """Of all: 45 and 12.9 are true; their mean is that of the table, whatever was printed."""
    frame = pd.concat([FRAME, FRAME[:3].assign(age=90)]) if where else FRAME
    figures = [("sd", sd), ("mean", mean)]
    said = [{"kind": kind, "of": "age", "equals": x, **where} for kind, x in figures if x is not None]
    release = document(frame.assign(y="no"), *said)
    if named is None:
        assert maxent.bounds(release, frame, level="linear").status == "proved"
        return
    with pytest.raises(InvalidInput) as refused:
        maxent.bounds(release, frame, level="linear")
    assert [problem.where for problem in refused.value.problems] == [f"s.json, statement {named}"]


@pytest.mark.parametrize(
    ("more", "noted"),
    [({}, "1 suppressed cell (s.json, statement 1)"), ({"suppressed_below": 3}, ""), ({"secondary": True}, "")],
)
def test_a_suppressed_cell_without_a_limit_is_noted(more: dict[str, Any], noted: str) -> None:
    cells = [{"at": ["n"], "class": "yes", "count": None}, {"at": ["s"], "class": "yes", "count": 1}]
    release = document(FRAME.assign(y="yes"), {"kind": "table", "by": ["region"], "cells": cells, **more})
    notes = maxent.bounds(release, FRAME, level="closed").summary.get("notes", [])
    assert [note.partition(":")[0] for note in notes] == [noted] * bool(noted)


def test_a_deviation_that_nobody_has_is_named_by_its_figure() -> None:
    """Nobody is as old as anybody else."""
    said = {"kind": "sd", "of": "age", "class": "yes", "equals": "0.00"}
    with pytest.raises(InvalidInput, match=r"found standard deviation of age of yes 0$"):
        maxent.bounds(
            document(pd.DataFrame({"age": [1.0, 2.0, 3.0], "y": "no"}), said), pd.DataFrame({"age": [1.0, 2, 3]})
        )


def test_margins_are_asked_before_finer_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine people, eight of them women: one man, whatever his country."""
    monkeypatch.setattr(stated, "ASKED", 4)
    frame, said = people_by_land(), [cell(["*", "*"], 9), cell(["f", "*"], 8)]
    release = document(frame, {"kind": "table", "by": ["sex", "land"], "cells": said})
    rows = maxent.check(release, frame.drop(columns="y"), {"limits": {"min_stated_cell": 3}}).rows
    assert [(row.status, row.finding.figure) for row in rows if row.check.key == "min_stated_cell"] == [("fail", 1)]


@pytest.mark.parametrize(
    ("asked", "atoms", "first", "limit", "status"),
    [
        (0, 200, 0, 3, "cannot_tell"),
        (200, 0, 0, 3, "cannot_tell"),
        (200, 200, 0, 3, "pass"),
        (0, 0, 1, 9, "fail"),
        (0, 0, 2, 3, "fail"),
    ],
)
def test_cells_that_are_too_many_to_ask_for_are_not_passed(
    monkeypatch: pytest.MonkeyPatch, asked: int, atoms: int, first: int, limit: int, status: str
) -> None:
    """Eight men; with seven of the USA the one from elsewhere is seen in any case, as the difference of two."""
    from maxent.solvers.certainty import following

    monkeypatch.setattr(stated, "ASKED", asked)
    monkeypatch.setattr(following, "ATOMS", atoms)
    frame = people_by_land()
    table = {"kind": "table", "by": ["sex", "land"], "cells": [cell(["m", "*"], 8), cell(["m", "USA"], 7)][:first]}
    said = table if first else {"kind": "count", "class": "yes", "equals": 8, "where": {"sex": "m"}}
    release, qi = document(frame, said), frame.drop(columns="y")
    rows = maxent.check(release, qi, {"limits": {"min_stated_cell": limit}}).rows
    assert [row.status for row in rows if row.check.key == "min_stated_cell"] == [status]


def test_a_column_of_margins_alone_has_the_values_of_the_table() -> None:
    """It was taken for numbers, as no cell names a value of it."""
    frame = pd.DataFrame({"g": ["A", "A", "B", "B"], "c": ["x", "y", "x", "y"], "y": ["no", "yes"] * 2})
    said = {"kind": "table", "by": ["g", "c"], "cells": [{"at": ["A", "*"], "class": "yes", "count": 1}]}
    qi = frame.drop(columns="y")
    [statement] = compile_release(document(frame, said), qi).linear
    assert (statement.lower, statement.upper) == (1, 1)


LIMITS = {"min_stated_cell": 2, "max_stated_zeros": 0}


def nested(rng: np.random.Generator, classes: int) -> tuple[pd.DataFrame, list[Fact], np.ndarray]:
    """A few people, statements about groups that overlap, and all labellings that agree, shape (n, people)."""
    n = int(rng.integers(3, 9 if classes == 2 else 7))
    frame = pd.DataFrame({"age": rng.integers(1, 6, n).astype(float), "g": rng.choice(["A", "B"], n)})
    frame["w"] = rng.integers(1, 9, n).astype(float)
    weight, truth = frame["w"].to_numpy(), rng.integers(0, classes, n)
    worlds, said = np.array(list(itertools.product(range(classes), repeat=n))), list[Fact]()
    fits = np.ones(len(worlds), bool)
    for _ in range(int(rng.integers(1, 5))):
        klass, group, limit = int(rng.integers(classes)), str(rng.choice(["A", "B"])), float(rng.integers(1, 6))
        tests = {"age": {"le": limit}} if rng.random() < 0.8 else {}
        tests |= {"g": group} if rng.random() < 0.4 else {}
        here = ((frame["age"] <= limit) | ("age" not in tests)) & ((frame["g"] == group) | ("g" not in tests))
        here = here.to_numpy()
        if not here.any():
            continue
        fact: Fact = {"where": tests} if tests else {}
        fact |= {"kind": rng.choice(["count", "share", "linear", "table"]), "class": ["no", "yes", "maybe"][klass]}
        all_of, mine = (worlds == klass) & here, (truth == klass) & here
        if fact["kind"] == "count":
            fact["equals"] = int(mine.sum())
            fits &= all_of.sum(axis=1) == mine.sum()
        elif fact["kind"] == "share":
            fact["equals"] = f"{mine.sum() / here.sum():.1f}"
            fits &= np.abs(all_of.sum(axis=1) / here.sum() - float(fact["equals"])) <= 0.05 + 1e-12
        elif fact["kind"] == "linear":
            fact |= {"weight": "w", "equals": float(weight @ mine), "within": 0}
            fits &= all_of @ weight == weight @ mine
        else:
            listed = list[Fact]()
            for value in (*sorted(set(frame["g"][here])), "*"):
                inside = ((frame["g"] == value) | (value == "*")).to_numpy()
                number, numbers = int((mine & inside).sum()), (all_of & inside).sum(axis=1)
                hidden = number < 2 and rng.random() < 0.6
                fits &= numbers < 2 if hidden else numbers == number
                listed.append({"at": [value], "class": fact["class"], "count": None if hidden else number})
            del fact["class"]
            fact |= {"by": ["g"], "suppressed_below": 2, "cells": listed}
        said.append(fact)
    assert fits[(worlds == truth).all(axis=1)].all()
    return frame, said, worlds[fits]


def smallest_of(worlds: np.ndarray, members: np.ndarray, klass: int) -> list[tuple[tuple[int, ...], int, int]]:
    """Groups that have one number in all labellings and are not made of such: who, the number, and how many people."""
    found = list[tuple[tuple[int, ...], int, int]]()
    for size in range(1, members.max() + 2):
        for who in itertools.combinations(range(members.max() + 1), size):
            inside = np.isin(members, who)
            numbers = (worlds[:, inside] == klass).sum(axis=1)
            if numbers.min() == numbers.max() and not any(set(part) <= set(who) for part, _, _ in found):
                found.append((who, int(numbers[0]), int(inside.sum())))
    return found


@pytest.mark.search
@pytest.mark.parametrize(("seed", "classes"), [(seed, 2 + seed % 2) for seed in cases(0, 16, hunted=300)])
def test_cells_that_follow_are_those_of_all_labellings(seed: int, classes: int) -> None:
    """Up to eight people, nested groups, hidden cells, weights: all that is known is true, and nothing is missed."""
    frame, said, worlds = nested(np.random.default_rng([seed, 41]), classes)
    if not said:
        return
    written = {"format": "maxent-statements/1", "target": {"name": "y", "classes": ["no", "yes", "maybe"][:classes]}}
    release = parse_statements(written | {"statements": said}, "s.json").release
    used = {c for each in said for c in (*each.get("where", ()), *each.get("by", ()), each.get("weight", "g"))}
    qi = frame[sorted(used)]
    program = compile_release(release, qi)
    members, (cells, complete) = members_of(frame, release, qi), stated_cells(program)
    known = {(frozenset(program.cells.owner[cell.cells].tolist()), cell.klass): cell for cell in cells if cell.exact}
    for (who, klass), cell in known.items():
        numbers = (worlds[:, np.isin(members, list(who))] == klass).sum(axis=1)
        assert (numbers == cell.low).all()
        assert cell.people == np.isin(members, list(who)).sum()
    assert complete
    if classes == 2:  # what is known of one is known of the other
        known |= {(who, 1 - klass): replace_ends(cell) for (who, klass), cell in known.items()}
    ends, plain = [part for c in known.values() for part in (c.low, c.people - c.low) if part], 0
    for klass in range(classes):
        for group, number, people in smallest_of(worlds, members, klass):
            around = [known[key] for key in known if key[1] == klass and key[0] >= set(group)]
            if number in (0, people):
                assert any(cell.low == (cell.people if number else 0) for cell in around), (group, klass, number)
                plain += 1
            else:
                assert min(ends) <= min(number, people - number)
                assert (frozenset(group), klass) in known or len(cells) > LISTED, (group, klass, number)
    rows = maxent.check(release, qi, {"limits": LIMITS}).rows
    passed = {row.check.key: row.status for row in rows if row.check.key in LIMITS}
    assert passed == {
        "min_stated_cell": "fail" if min(ends, default=9) < LIMITS["min_stated_cell"] else "pass",
        "max_stated_zeros": "fail" if plain else "pass",
    }


def replace_ends(cell: StatedCell) -> StatedCell:
    """A cell of the other class of two."""
    return replace(cell, low=cell.people - cell.high, high=cell.people - cell.low)


FOLLOW: dict[str, tuple[list[Fact], tuple[str, int | None], tuple[str, int]]] = {
    "nested counts": (
        [
            {"kind": "count", "class": "yes", "equals": n, "where": {"age": {"le": age}}}
            for n, age in ((5, 30), (6, 31))
        ],
        ("fail", 1),
        ("pass", 0),
    ),
    "a nested share": (
        [
            {"kind": "share", "class": "yes", "equals": "0.10", "where": {"age": {"le": 31}}},
            {"kind": "count", "class": "yes", "equals": 2, "where": {"age": {"le": 30}}},
        ],
        ("fail", 1),
        ("pass", 0),
    ),
    "nested counts of as many": (
        [
            {"kind": "count", "class": "yes", "equals": 5, "where": {"age": {"le": 30}}},
            {"kind": "count", "class": "yes", "equals": 5, "where": {"age": {"le": 31}}},
        ],
        ("pass", 5),
        ("fail", 1),
    ),
    "a margin less what statements count": (
        [
            {
                "kind": "table",
                "by": [{"column": "age", "edges": [20, 31, 41]}],
                "cells": [cell([[20, 31]], 9), cell(["*"], 17)],
            },
            {"kind": "count", "class": "yes", "equals": 6, "where": {"age": {"ge": 40}}},
        ],
        ("fail", 2),
        ("pass", 0),
    ),
    "differences of three": (
        [
            {"kind": "count", "class": "yes", "equals": n, "where": {"age": ages}}
            for n, ages in ((9, [20, 30]), (8, [30, 31]), (5, [20, 31]))
        ],
        ("fail", 2),
        ("pass", 0),
    ),
    "a sum of powers": (
        [{"kind": "linear", "weight": "power", "class": "yes", "equals": 1 + 5 * 11 + 5 * 121 + 5 * 1331, "within": 0}],
        ("fail", 1),
        ("pass", 0),
    ),
}


@pytest.mark.parametrize("case", FOLLOW)
def test_groups_that_no_statement_names_are_checked(case: str) -> None:
    """Ten people of each of four ages, and weights of 1, 11, 121 and 1,331 by age: whole people settle each."""
    said, cells, plain = FOLLOW[case]
    qi = pd.DataFrame({"age": np.repeat([20.0, 30.0, 31.0, 40.0], 10), "power": np.repeat([1, 11, 121, 1331], 10)})
    release = document(qi.assign(y="no"), *said)
    rows = maxent.check(release, qi, {"limits": {"min_stated_cell": 3, "max_stated_zeros": 0}}).rows
    found = {row.check.key: (row.status, row.finding.figure) for row in rows if "stated" in row.check.key}
    assert found == {"min_stated_cell": cells, "max_stated_zeros": plain}


def test_a_leaf_less_what_a_statement_counts_is_checked() -> None:
    """Five up to the age of 50, four of them up to 30: one in between. What leaves alone tell is not of statements."""
    frame = pd.DataFrame({"age": [20.0] * 8 + [40.0] * 8 + [60.0] * 8})
    leaves = [{"id": "N", "counts": {"no": 11, "yes": 5}}, {"id": "S", "counts": {"no": 7, "yes": 1}}]
    branches = [{"le": 50, "child": "N"}, {"gt": 50, "child": "S"}]
    tree = {"nodes": [{"id": "R", "attribute": "age", "branches": branches}, *leaves]}
    attributes = [{"name": "age", "type": "numeric"}]
    target = {"name": "y", "classes": ["no", "yes"]}
    written = {"format": "maxent/1", "target": target, "attributes": attributes, "trees": [tree]}
    said = {"kind": "count", "class": "yes", "equals": 4, "where": {"age": {"le": 30}}}
    releases = [parse_release(written, "tree.json"), document(frame.assign(y="no"), said)]
    cells, complete = stated_cells(compile_release(releases, frame))
    assert complete
    found = [(cell.source, cell.people, cell.low) for cell in cells if cell.exact and not cell.stated]
    assert any("less" in source for source, _, _ in found)
    assert (8, 1) in [(people, low) for _, people, low in found]


def test_people_who_are_alike_together_or_not_at_all_are_told_apart() -> None:
    """2(a + b) + 4(c + d) + 3e = 11: e has the class, and both or none of a and b, so a, c and d have two together."""
    qi = pd.DataFrame({"id": list("abcde"), "w": [2.0, 2.0, 4.0, 4.0, 3.0]})
    said = [
        {"kind": "linear", "weight": "w", "class": "yes", "equals": 11, "within": 0},
        {"kind": "linear", "weight": 0, "class": "yes", "at_most": 0, "where": {"id": list("abcde")}},
    ]
    program = compile_release(document(qi.assign(y="no"), *said), qi)
    cells, complete = stated_cells(program)
    assert complete
    assert any(cell.exact and (cell.people, cell.low) == (3, 2) for cell in cells)


def test_statements_that_name_themselves_or_each_other_are_refused(tmp_path: Path) -> None:
    named = {"a.json": "a.json", "b.json": "c.json", "c.json": "b.json"}
    for name, other in named.items():
        said = {"kind": "accuracy", "from": other, "equals": 0.5}
        document = {"format": "maxent-statements/1", "target": {"name": "T", "classes": ["x", "y"]}}
        (tmp_path / name).write_text(json.dumps({**document, "statements": [said]}), encoding="utf-8")
    for name in named:
        with pytest.raises(InvalidInput, match="from: expected a release of trees that predict"):
            maxent.load_release(tmp_path / name)
