"""Trees of the least cost within limits, against all trees; costs are those of decisions, added up person by person."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.limited import CLASSES, as_release, ends, held, keeps, random_limits, random_tree, records_of, trees

from maxent.__main__ import main
from maxent.api.defend import defend
from maxent.models.defenses import OptimalSubtree
from maxent.models.defenses.optimal.growing import optimal_tree
from maxent.models.defenses.optimal.limits import SubtreeLimits as Limits
from maxent.models.defenses.optimal.subtree import optimal_subtree
from maxent.models.errors import InvalidInput
from maxent.models.tables.training import read_training


def cost(tree: Any, costs: Any, publish: str, above: Any = None) -> float:
    """What the people of a tree cost: each leaf decides by what it states, a removed one by what is stated above."""
    if not isinstance(tree, list):
        counts, stated = (tree[1], above) if isinstance(tree, tuple) else (tree, said(tree, publish))
        return float(sum(counts * costs[int(np.argmin([stated @ row for row in costs]))]))
    kept = ends(tree)[0]
    answer = sum(said(leaf, publish) for leaf in kept) if kept else above
    return sum(cost(child, costs, publish, answer) for child in tree)


def said(leaf: Any, publish: str) -> Any:
    return np.eye(3)[np.argmax(leaf)] if publish == "labels" else leaf


def costs_check(seed: int, publish: Any, remove: bool) -> bool:
    """One random tree, random costs, limits on leaves and now and then on right guesses."""
    random = np.random.default_rng(seed)
    shape = random_tree(random, int(random.integers(2, 6)))
    n = int(held(shape).sum())
    if not n:
        return False
    limits = replace(
        random_limits(random), min_divergence=None, objective="accuracy", max_posterior=None, sensitive=None
    )
    limits = replace(limits, alpha=None, l=None, max_certain=None if remove else limits.max_certain)
    costs = random.integers(0, 5, (int(random.integers(1, 5)), 3)).astype(float)
    allowed = []
    for tree in trees(shape):
        kept, gone = ends(tree)
        guessed = sum(map(max, kept + gone)) <= (limits.max_right_guesses or 1) * n + 1e-9
        if kept and guessed and (remove or not gone) and keeps(kept, replace(limits, max_right_guesses=None), 0.0):
            allowed.append(tree)
    asked: dict[str, Any] = {"remove": remove, "publish": publish}
    release = as_release(shape)
    if not allowed:
        with pytest.raises(InvalidInput, match="limits"):
            optimal_subtree(release, replace(limits, cost=costs), records_of(release, shape), **asked)
        return False
    found = optimal_subtree(release, replace(limits, cost=costs), records_of(release, shape), **asked)
    least = min(cost(tree, costs, publish) for tree in allowed) / n
    assert found.proved
    assert found.reached == pytest.approx(least, rel=1e-8, abs=1e-12), seed
    leaves = [np.array(list((leaf.counts or {}).values())) for leaf in found.release.trees[0].leaves]
    same = [t for t in allowed if sorted(map(tuple, ends(t)[0])) == sorted(map(tuple, leaves))]
    assert min(cost(tree, costs, publish) for tree in same) / n == pytest.approx(least, abs=1e-12)
    return True


def test_the_least_cost_of_all_subtrees() -> None:
    ways = [(publish, remove) for publish in ("counts", "labels") for remove in (False, True)]
    assert sum(costs_check(seed, *ways[seed % 4]) for seed in range(40)) > 15


@pytest.mark.slow
def test_the_least_cost_of_all_subtrees_of_many_trees() -> None:
    ways = [(publish, remove) for publish in ("counts", "labels") for remove in (False, True)]
    assert sum(costs_check(seed, *ways[seed % 4]) for seed in range(3000, 3500)) > 100


def least_of_all(table: Any, y: Any, depth: int, k: int, costs: Any, publish: str) -> float:
    """The least cost of trees of binary splits, by trying all."""
    counts = np.bincount(y, minlength=3)
    own = cost(counts, costs, publish) if len(y) >= k else np.inf
    for column in range(table.shape[1] if depth else 0):
        for value in np.unique(table[:, column]):
            first = table[:, column] == value
            if first.any() and not first.all():
                own = min(own, sum(least_of_all(table[s], y[s], depth - 1, k, costs, publish) for s in (first, ~first)))
    return own


@pytest.mark.parametrize("publish", ["counts", "labels"])
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_the_least_cost_of_all_grown_trees(depth: int, publish: Any) -> None:
    random = np.random.default_rng(depth)
    for _ in range(4):
        table, k = random.integers(0, 3, (24, 3 if depth < 3 else 2)), int(random.integers(1, 6))
        y = (table.sum(axis=1) + random.integers(0, 2, 24)) % 3
        costs = random.integers(0, 6, (3, 3)).astype(float)
        frame = pd.DataFrame(table, columns=list("uvw")[: table.shape[1]]).astype(str).assign(y=np.array(CLASSES)[y])
        people = read_training(frame, target="y", qi=list("uvw")[: table.shape[1]], domains={"y": CLASSES})
        found = optimal_tree(people, Limits(k=k, cost=costs), depth, publish=publish)
        assert found.proved
        assert found.reached == pytest.approx(least_of_all(table, y, depth, k, costs, publish) / 24)


def test_costs_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Refusing somebody well costs 1, accepting somebody ill 9: one in three who is ill makes a leaf refuse."""
    frame = pd.DataFrame({"a": list("ppppppqqqqqq"), "state": ["well"] * 4 + ["ill"] * 2 + ["well"] * 6})
    frame.to_csv(tmp_path / "data.csv", index=False)
    (tmp_path / "costs.csv").write_text("decision,ill,well\naccept,9,0\nrefuse,0,1\n", encoding="utf-8")
    files = [str(tmp_path / "data.csv"), "--cost", str(tmp_path / "costs.csv"), "-o", str(tmp_path / "best.json")]
    assert main(["defend", "optimal", *files, "--target", "state", "--qi", "a", "--min-k", "3"]) == 0
    told = capsys.readouterr().out
    assert "decisions cost 0.333333 per record" in told
    assert "has a smaller cost" in told
    columns: Any = {"target": "state", "qi": ["a"], "k": 3}
    row = defend(frame, "optimal", cost=tmp_path / "costs.csv", grow=True, **columns).rows[0]
    assert (row["objective"], row["reached"], row["best_possible"]) == ("cost", pytest.approx(1 / 3), row["reached"])
    with pytest.raises(InvalidInput, match=r"well.*column"):
        defend(frame, "optimal", cost=pd.DataFrame({"ill": [1.0]}), **columns)
    empty = pd.DataFrame({"decision": ["a"], "ill": [None], "well": ["1"]})
    with pytest.raises(InvalidInput, match=r"a cost of at least 0 \(0 where there is none: each decision needs one"):
        defend(frame, "optimal", cost=empty, **columns)
    with pytest.raises(InvalidInput, match="cost: expected a table of costs"):
        defend(frame, "optimal", objective="cost", **columns)
    with pytest.raises(InvalidInput, match="objective"):
        defend(frame, "optimal", objective="impurity", cost=tmp_path / "costs.csv", **columns)
    with pytest.raises(InvalidInput, match=r"2 columns, of classes, found an array of shape \(1, 3\)"):
        OptimalSubtree(k=3, cost=np.ones((1, 3))).fit(frame[["a"]], frame["state"])


def test_costs_and_sensitive_classes_as_values_of_python() -> None:
    """A matrix may be an array or rows, wherever it is given; what is neither is refused by name."""
    frame = pd.DataFrame({"a": list("ppppppqqqqqq"), "state": ["well"] * 4 + ["ill"] * 2 + ["well"] * 6})
    columns: Any = {"target": "state", "qi": ["a"], "k": 3}
    rows = [[9, 0], [0, 1]]
    for cost in (rows, tuple(rows), np.array(rows)):
        assert defend(frame, "optimal", cost=cost, **columns).rows[0]["reached"] == pytest.approx(1 / 3)
        OptimalSubtree(k=3, cost=cost).fit(frame[["a"]], frame["state"])
    for wrong, found in (([[1, 2], [1]], "rows of different lengths"), ([], "shape"), ([["x", "y"]], "shape")):
        with pytest.raises(InvalidInput, match=f"cost: expected numbers of at least 0.*{found}"):
            defend(frame, "optimal", cost=wrong, **columns)
    for sensitive in (["ill"], 1):
        with pytest.raises(InvalidInput, match="sensitive: expected None or classes with commas between"):
            OptimalSubtree(k=3, max_posterior=0.9, sensitive=sensitive).fit(frame[["a"]], frame["state"])
