"""Optimal trees within limits, against all trees of small tables."""

import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.anonymity import training_of
from support.limited import CLASSES, keeps, random_limits
from support.soundness import check
from support.strategies import Case, People, populations, thorough

from maxent.api.defend import defend
from maxent.models.defenses import OptimalSubtree
from maxent.models.defenses.optimal.growing import optimal_tree
from maxent.models.defenses.optimal.limits import SubtreeLimits as Limits
from maxent.models.errors import InvalidInput
from maxent.models.formats.maxent_json.read import validate_release
from maxent.models.tables.training import read_training
from maxent.models.trees.predict import cases_of, score


def best_of_all(table: Any, y: Any, depth: int, limits: Limits) -> float:
    """Right records of the best tree of binary splits, by trying all; -inf where none keeps the limits."""
    counts = np.bincount(y, minlength=3)
    own = float(counts.max()) if keeps([counts], limits, 0.0) else -np.inf
    if not depth:
        return own
    for column in range(table.shape[1]):
        kind, values = column == 0, np.unique(table[:, column])
        for value in values:
            first = table[:, column] <= value if kind else table[:, column] == value
            if first.any() and not first.all():
                sides = [best_of_all(table[side], y[side], depth - 1, limits) for side in (first, ~first)]
                own = max(own, sum(sides))
    return own


def grown_check(seed: int, depth: int) -> bool:
    random = np.random.default_rng(seed)
    n = int(random.integers(10, 40))
    table = random.integers(0, 4, (n, 3))
    y = (table.sum(axis=1) + random.integers(0, 2, n)) % int(random.integers(2, 4))
    limits = replace(random_limits(random), max_certain=None, min_divergence=None, max_right_guesses=None)
    limits = replace(limits, objective="accuracy", k=int(random.integers(1, 5)))
    words = [pd.Series(table[:, j]).map(dict(enumerate("abcd"))) for j in (1, 2)]
    frame = pd.DataFrame({"x": table[:, 0].astype(float), "u": words[0], "v": words[1], "y": np.array(CLASSES)[y]})
    people = read_training(frame, target="y", qi=["x", "u", "v"], domains={"y": CLASSES})
    most = best_of_all(table, y, depth, limits)
    if np.isinf(most):
        with pytest.raises(InvalidInput, match="limits"):
            optimal_tree(people, limits, depth)
        return False
    found = optimal_tree(people, limits, depth)
    validate_release(found.release)
    assert found.proved
    assert found.reached == most / n, (seed, limits)
    leaves = [np.array(list((leaf.counts or {}).values())) for leaf in found.release.trees[0].leaves]
    assert keeps(leaves, limits, 0.0)
    assert score(found.release, cases_of(people)).accuracy == most / n
    return True


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_the_best_of_all_trees(depth: int) -> None:
    assert sum(grown_check(seed, depth) for seed in range(8 if depth == 3 else 25)) > 3


@pytest.mark.slow
def test_the_best_of_all_trees_of_depth_4() -> None:
    assert sum(grown_check(seed, 4) for seed in range(500, 506)) > 2


def test_deeper_trees_look_ahead() -> None:
    """Three splits ahead see that an exclusive or of three attributes is worth it."""
    random = np.random.default_rng(0)
    table = random.integers(0, 2, (400, 6))
    y = np.array(["no", "yes"])[table[:, :3].sum(axis=1) % 2]
    frame = pd.DataFrame(table, columns=list("abcdef")).astype(str)
    found = OptimalSubtree(k=5, grow=True, max_depth=5).fit(frame, y)
    assert found.score(frame, y) == 1.0
    assert {n.attribute for n in found.release_.trees[0].nodes if n.attribute} == {"a", "b", "c"}
    with pytest.raises(InvalidInput, match="grow"):
        OptimalSubtree(grow=True, max_certain=3).fit(frame, y)
    with pytest.raises(InvalidInput, match="criterion"):
        OptimalSubtree(grow=True, criterion="stated").fit(frame, y)


def test_patients_pay_less_for_a_tree_that_is_grown_within_limits(tmp_path: Path) -> None:
    """Pruning to k = 10 costs 5.7 points (56.3 % of 62.0 %); nobody is certain either way."""
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "diabetes.py"))
    example["publish"](tmp_path)
    asked: Any = {"k": 10, "max_certain": 0, "grow": True, "max_depth": 3}
    qi = ["age", "sex", "bmi", "bp"]
    found = defend(tmp_path / "truth.csv", "optimal", target="progression", qi=qi, **asked)
    assert found.rows[0]["train_accuracy"] == pytest.approx(0.6041, abs=5e-5)
    assert found.rows[0]["pure_records"] == 0


@thorough(40)
@given(people=populations(rows=(4, 40), private=(0, 1)), k=st.integers(1, 4), depth=st.integers(0, 3))
def test_what_is_grown_is_true(people: People, k: int, depth: int) -> None:
    assume(k <= len(people))
    release = optimal_tree(training_of(people), Limits(k=k), depth).release
    check(Case(people, release))


def test_what_takes_long_is_told() -> None:
    """The splits at the top of a tree of depth 4, and audits."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.integers(0, 2, (60, 4)), columns=list("abcd")).astype(str)
    frame["y"] = np.where(random.random(60) < 0.7, frame["a"] == frame["b"], frame["c"] == "1").astype(str)
    told: list[tuple[str, int, int]] = []
    asked: Any = {"target": "y", "qi": list("abcd"), "k": 4, "progress": lambda *each: told.append(each)}
    defend(frame, "optimal", grow=True, max_depth=4, **asked)
    assert told == [("trying splits at the top", done, 4) for done in range(4)]
    told.clear()
    defend(frame, "optimal", audited=True, **asked)
    assert told[0] == ("auditing subtrees", 0, 20)
    assert defend(frame, "prune-parent", **asked).release.trees
    with pytest.raises(InvalidInput, match="progress"):
        defend(frame, "optimal", **{**asked, "progress": "yes"})
