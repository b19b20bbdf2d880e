"""What a leaf costs: the best subtree for it, all that are best for some cost, and the choice by cross-validation."""

import re
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from support.limited import as_release, ends, gini, held, random_tree, records_of, trees
from test_models.test_optimal_costs import cost
from test_models.test_optimal_removed import right

from maxent.__main__ import main
from maxent.api.defend import defend
from maxent.models.defenses import OptimalSubtree
from maxent.models.defenses.optimal.complexity import complexities, validated
from maxent.models.defenses.optimal.growing import optimal_tree
from maxent.models.defenses.optimal.limits import SubtreeLimits as Limits
from maxent.models.defenses.optimal.places import candidates
from maxent.models.defenses.optimal.subtree import optimal_subtree
from maxent.models.errors import InvalidInput
from maxent.models.induction.inducers import Growth, induce
from maxent.models.tables.training import Training, read_training, stratified
from maxent.models.trees.predict import cases_of, score

QI = ["x", "z"]


def loss(tree: Any, objective: str, costs: Any) -> float:
    """What a subtree is to have little of, without the cost of its leaves."""
    kept, gone = ends(tree)
    if objective == "cost":
        return float(cost(tree, costs, "counts"))
    if objective == "impurity":
        return sum(map(gini, kept)) + sum(sum(x) * 2 / 3 for x in gone)
    return float(sum(map(sum, kept + gone)) - right(tree, "counts"))


def everywhere(tree: Any) -> list[Any]:
    """The counts of all leaves, removed or not."""
    kept, gone = ends(tree)
    return [*kept, *gone]


def priced_check(seed: int, remove: bool) -> bool:
    """One random tree, limits on leaves, and a random cost of a leaf: the least of all subtrees."""
    random = np.random.default_rng(seed)
    shape = random_tree(random, int(random.integers(2, 6 if remove else 9)))
    n = int(held(shape).sum())
    if not n:
        return False
    objective: Any = ("accuracy", "impurity", "cost")[seed % 3]
    costs = random.integers(0, 6, (3, 3)).astype(float)
    limits = Limits(k=int(random.integers(1, 6)), complexity=float(random.choice([0.01, 0.05, 0.2, 0.7])))
    limits = replace(limits, cost=costs) if objective == "cost" else replace(limits, objective=objective)
    release = as_release(shape)
    if objective != "accuracy" and remove and seed % 2:
        limits = replace(limits, max_right_guesses=0.8)  # a limit on sums
    allowed = [
        tree
        for tree in trees(shape)
        if ends(tree)[0]
        and (remove or not ends(tree)[1])
        and min(map(sum, ends(tree)[0])) >= limits.k
        and (limits.max_right_guesses is None or sum(map(max, everywhere(tree))) <= 0.8 * n + 1e-9)
    ]
    if not allowed:
        return False
    values = [loss(t, objective, costs) / n + limits.complexity * len(everywhere(t)) for t in allowed]
    found = optimal_subtree(release, limits, records_of(release, shape), remove=remove)
    assert found.proved, seed
    reached = 1 - found.reached if objective == "accuracy" else found.reached
    assert reached == pytest.approx(min(values), abs=2e-6), seed
    leaves = [np.array(list((leaf.counts or {}).values())) for leaf in found.release.trees[0].leaves]
    same = [v for t, v in zip(allowed, values, strict=True)
            if sorted(map(tuple, ends(t)[0])) == sorted(map(tuple, leaves))]  # fmt: skip
    assert min(same) == pytest.approx(min(values), abs=2e-6), seed
    return True


@pytest.mark.parametrize("remove", [False, True])
def test_the_best_of_all_subtrees_with_what_their_leaves_cost(remove: bool) -> None:
    assert sum(priced_check(seed, remove) for seed in range(24)) > 8


@pytest.mark.slow
@pytest.mark.parametrize("remove", [False, True])
def test_the_best_of_all_subtrees_with_what_their_leaves_cost_of_many_trees(remove: bool) -> None:
    assert sum(priced_check(seed, remove) for seed in range(1000, 1500)) > 200


def test_every_subtree_that_is_best_for_some_complexity_is_tried() -> None:
    """The upper envelope, by trying every subtree at very many complexities."""
    several = 0
    for seed in range(12):
        random = np.random.default_rng(seed)
        shape = random_tree(random, 6)
        n = int(held(shape).sum())
        release, limits = as_release(shape), Limits(k=1)
        if not n or any(not sum(x) for t in trees(shape) for x in ends(t)[0] if not ends(t)[1]):
            continue
        points = {(len(ends(t)[0]), loss(t, "accuracy", None) / n) for t in trees(shape) if not ends(t)[1]}
        grid = np.linspace(0, 1.01, 2000)
        values = np.array([[miss + a * leaves for leaves, miss in sorted(points)] for a in grid])
        margin = np.partition(values, 1, axis=1)[:, :2] if values.shape[1] > 1 else values
        clear = np.ptp(margin, axis=1) > 1e-9 if values.shape[1] > 1 else np.ones(len(grid), bool)
        best = {sorted(points)[i] for i in values.argmin(axis=1)[clear].tolist()}
        found = complexities(candidates(release, 0, limits))
        assert found == tuple(sorted(found))
        assert found[0] == 0
        reached = set()
        for each in found:
            made = optimal_subtree(release, replace(limits, complexity=each))
            leaves = [list((leaf.counts or {}).values()) for leaf in made.release.trees[0].leaves]
            reached.add((len(leaves), (n - sum(map(max, leaves))) / n))
        assert {(leaves, round(miss, 9)) for leaves, miss in best} <= {(a, round(b, 9)) for a, b in reached}
        several += len(best) > 2
    assert several > 1


def people(seed: int = 0, n: int = 120) -> pd.DataFrame:
    """People of whom much is chance, so that deep trees overfit."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(random.integers(0, 12, (n, 2)), columns=QI)
    return frame.assign(y=np.where((frame["x"] > 5) ^ (random.random(n) < 0.3), "yes", "no"))


def trained(frame: pd.DataFrame) -> Training:
    return read_training(frame, target="y", qi=QI)


def test_the_complexity_is_the_best_of_all_folds() -> None:
    frame = people()
    training, grow = trained(frame), partial(induce, growth=Growth(seed=0, max_depth=5))
    limits = Limits(k=3, complexity_folds=4)
    found = validated(training, grow, limits, seed=1)
    fold = stratified(training.y, 4, 1)
    wrong = {}
    for complexity in complexities(candidates(grow(training), 0, limits)):
        wrong[complexity] = 0
        for here in range(4):
            made = optimal_subtree(grow(training.take(fold != here)), Limits(k=3, complexity=complexity))
            tested = training.take(fold == here)
            wrong[complexity] += round((1 - score(made.release, cases_of(tested)).accuracy) * len(tested))
    least = min(wrong.values())
    assert found.complexity == max(each for each, many in wrong.items() if many == least)
    assert found.loss == pytest.approx(least / len(frame))
    assert found.without == pytest.approx(wrong[0.0] / len(frame))
    assert found.loss < found.without
    other = people(1, 2000)  # whom nobody asked
    shares = [
        defend(frame, "optimal", target="y", qi=QI, k=3, seed=0, max_depth=5, test=other, **how).rows[0][
            "test_accuracy"
        ]
        for how in ({}, {"complexity_folds": 4})
    ]
    assert shares[1] > shares[0] + 0.03


@pytest.mark.slow
@pytest.mark.parametrize("how", [{"objective": "impurity"}, {"cost": np.array([[0.0, 1.0], [3.0, 0.0]])}])
def test_other_objectives_are_validated_by_their_own_loss(how: Any) -> None:
    training = trained(people())
    found = validated(
        training, partial(induce, growth=Growth(seed=0, max_depth=5)), Limits(k=3, complexity_folds=3, **how)
    )
    assert found.complexity > 0
    assert found.loss is not None
    assert found.without is not None
    assert found.loss < found.without


def test_of_people_all_alike_there_is_nothing_to_choose() -> None:
    frame = pd.DataFrame({"x": ["a"] * 8, "y": ["yes"] * 6 + ["no"] * 2})
    found = defend(frame, "optimal", target="y", qi=["x"], k=1, complexity_folds=2)
    assert found.rows[0]["chosen_complexity"] == 0
    assert "complexity 0: there is nothing to choose by 2 folds of the records (k = 1)" in found.notes
    unkept = read_training(frame, target="y", qi=["x"])
    folded = validated(unkept, partial(induce, growth=Growth()), Limits(k=8, complexity_folds=2))
    assert folded.loss is None


def test_a_call_says_what_was_chosen(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    people().to_csv("people.csv", index=False)
    call = ["defend", "optimal", "people.csv", "--target", "y", "--qi", "x,z", "--max-depth", "4", "-o", "best.json"]
    assert main([*call, "--complexity-folds", "4", "--k", "3", "--audited"]) == 0
    printed = capsys.readouterr().out
    assert re.search(
        r"complexity 0\.\d+, chosen by 4 folds of the records \(k = 3\): share of wrong labels 0\.\d+ on their people, "
        r"without it 0\.\d+",
        printed,
    )
    assert "has the right label for more records, less what its leaves cost" in printed
    assert main([*call, "--complexity", "0.5"]) == 0
    assert "best.json  5       1 " in capsys.readouterr().out


def test_it_is_a_parameter_of_the_estimator() -> None:
    frame = people()
    plain = OptimalSubtree(k=3, max_depth=4, random_state=0).fit(frame[QI], frame["y"])
    chosen = OptimalSubtree(k=3, max_depth=4, random_state=0, complexity_folds=4).fit(frame[QI], frame["y"])
    stated = OptimalSubtree(k=3, max_depth=4, random_state=0, complexity=1.0).fit(frame[QI], frame["y"])
    leaves = [len(each.release_.trees[0].leaves) for each in (plain, chosen, stated)]
    assert leaves[0] > leaves[1] > leaves[2] == 1


def test_folds_are_predicted_from_what_is_published() -> None:
    frame = people()
    asked: dict[str, Any] = {"target": "y", "qi": QI, "k": 3, "max_depth": 4, "complexity_folds": 4, "seed": 0}
    asked["objective"] = "impurity"
    exact, coarse = (defend(frame, "optimal", round_counts=base, **asked).rows[0] for base in (None, 40))
    assert coarse["folds_loss"] != exact["folds_loss"]  # a Brier score is about shares


def test_a_grown_tree_has_leaves_that_are_worth_their_cost() -> None:
    training = trained(people(n=300))
    small = optimal_tree(training, Limits(k=3, complexity=0.02), 2)
    large = optimal_tree(training, Limits(k=3), 2)
    counts = [len(each.release.trees[0].leaves) for each in (small, large)]
    assert counts[0] < counts[1]
    rights = [score(each.release, cases_of(training)).accuracy for each in (small, large)]
    assert small.reached == pytest.approx(rights[0] - 0.02 * counts[0])
    assert small.reached >= rights[1] - 0.02 * counts[1]


def test_what_does_not_go_together_is_refused() -> None:
    frame = people()
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(frame[QI], frame["y"])
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"complexity": 0.1, "complexity_folds": 3}, "complexity: expected none: cross-validation chooses it"),
        ({"complexity_folds": 3, "grow": True}, "complexity_folds: expected none for a tree that is grown within"),
        (
            {"complexity_folds": 3, "model": model},
            "complexity_folds: expected none: other trees would have to be grown",
        ),
        ({"complexity_folds": 121}, "complexity_folds: expected at most 120, the number of records"),
        ({"complexity_folds": 1}, "complexity_folds: expected None or a whole number of folds, at least 2"),
        ({"complexity": -1}, "complexity: expected a number, at least 0"),
    ]
    for options, said in wrong:
        with pytest.raises(InvalidInput, match=re.escape(said)):
            defend(frame, "optimal", target="y", qi=QI, **options)
