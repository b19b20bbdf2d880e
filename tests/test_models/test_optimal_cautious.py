"""Trees that depart from what `prune_leaf` predicts only for what is more than chance, against all subtrees."""

import re
from collections.abc import Iterator
from math import comb
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.limited import GONE, as_release, ends, held, leaves_of, random_tree, records_of, trees
from test_models.test_optimal_removed import keeps

from maxent.api.defend import defend
from maxent.models.defenses import OptimalSubtree
from maxent.models.defenses.optimal.limits import SubtreeLimits as Limits
from maxent.models.defenses.optimal.subtree import optimal_subtree
from maxent.models.defenses.pruning import prune_leaf
from maxent.models.errors import InvalidInput
from maxent.models.trees.predict import cases_of, predict_columns, score


def told(tree: Any, shape: Any, above: Any) -> Iterator[tuple[Any, int]]:
    """The leaves of a shape with what a subtree predicts there; ``above`` is what answers for removed leaves."""
    if isinstance(tree, list):
        stated = ends(tree)[0]
        for child, inner in zip(tree, shape, strict=True):
            yield from told(child, inner, sum(stated) if stated else above)
        return
    label = int(np.argmax(above if isinstance(tree, tuple) else tree))
    yield from ((leaf, label) for leaf in leaves_of(shape))


def without_small(shape: Any, k: int) -> Any:
    """The tree without leaves of fewer than k."""
    if isinstance(shape, list):
        return [without_small(child, k) for child in shape]
    return shape if sum(shape) >= k else (GONE, shape)


def fewest(others: int, leaves: int) -> int:
    """The fewest people that are so many more than others that chance has them in one of 20 trees, by definition."""
    people = 1
    while leaves * sum(comb(people + others, i) for i in range(people, people + others + 1)) >= 0.05 * 2 ** (
        people + others
    ):
        people += 1
    return people


def counted(tree: Any, shape: Any, k: int) -> int:
    """People who are right, as they are counted."""
    before = list(told(without_small(shape, k), shape, held(shape)))
    small = sum(0 < sum(leaf) < k for leaf, _ in before)
    right = 0
    for (leaf, label), (_, usual) in zip(told(tree, shape, held(shape)), before, strict=True):
        more = int(leaf[label] - leaf[usual])
        if sum(leaf) < k and more > 0:
            more = max(0, int(leaf[label]) - fewest(int(leaf[usual]), small) + 1)
        right += int(leaf[usual]) + more
    return right


def cautious_check(seed: int) -> bool:
    """One random tree: the same optimum as of all subtrees and removals; whether some departure is counted."""
    random = np.random.default_rng(seed)
    shape = random_tree(random, int(random.integers(2, 6)))

    def larger(tree: Any, by: int) -> Any:
        return [larger(child, by) for child in tree] if isinstance(tree, list) else tree * by

    shape = larger(shape, int(random.integers(1, 7)))
    n, k = int(held(shape).sum()), int(random.integers(2, 50))
    limits = Limits(k=k, max_posterior=(None, 0.9)[int(random.integers(0, 2))], cautious=True)
    release = as_release(shape)
    allowed = [tree for tree in trees(shape) if ends(tree)[0] and keeps(*ends(tree), limits, 0.0)] if n else []
    if not allowed:
        return False
    people = records_of(release, shape)
    found = optimal_subtree(release, limits, people, remove=True)
    assert found.proved
    most = max(counted(tree, shape, k) for tree in allowed)
    assert found.reached * n == pytest.approx(most), seed
    own = score(found.release, cases_of(people)).accuracy
    assert own >= found.reached - 1e-12
    usual = without_small(shape, k)
    if not ends(usual)[0] or not keeps(*ends(usual), limits, 0.0):
        return False
    pruned = prune_leaf(release, k)
    assert found.reached >= score(pruned, cases_of(people)).accuracy - 1e-12
    same = [predict_columns(each, people.attributes, people.columns, n) for each in (found.release, pruned)]
    departs = most > counted(usual, shape, k)
    assert departs == (same[0] != same[1]).any()
    return departs


def test_the_optimum_of_all_subtrees_with_what_is_more_than_chance() -> None:
    assert sum(map(cautious_check, range(30))) > 0


@pytest.mark.slow
def test_the_optimum_with_what_is_more_than_chance_of_many_trees() -> None:
    assert sum(map(cautious_check, range(1000, 1500))) > 10


@pytest.mark.parametrize(("many", "counts"), [(12, False), (19, True)])
def test_people_of_small_leaves_count_as_far_as_they_are_no_chance(many: int, counts: bool) -> None:
    """Two leaves of people who say yes, beside 20 who say no: of each 6 may be by chance (2 in 64 is less than 5 %)."""
    shape = [[np.array([0, 20, 0]), np.array([many, 0, 0]), np.array([many, 0, 0])], np.array([60, 0, 0])]
    release = as_release(shape)
    people = records_of(release, shape)
    cautious, plain = (
        optimal_subtree(release, Limits(k=20, cautious=each), people, remove=True) for each in (True, False)
    )
    n = 80 + 2 * many
    assert plain.reached * n == pytest.approx(60 + 2 * many)
    assert cautious.reached * n == pytest.approx(60 + (2 * (many - 5) if counts else 20))
    assert cautious.proved


def test_the_proof_says_what_is_counted() -> None:
    frame = pd.DataFrame({"a": list("pq") * 20, "y": ["no", "yes"] * 20})
    found = defend(frame, "optimal", target="y", qi=["a"], k=20, remove=True, cautious=True)
    assert "right label for more records, counting in small leaves what is more than chance" in str(found.notes)


def test_what_does_not_go_with_it() -> None:
    frame = pd.DataFrame({"a": list("pq") * 20, "b": list("mmnn") * 10, "y": ["no", "yes"] * 20})
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"cautious": True}, "cautious: expected none without removed leaves (remove), found one"),
        ({"cautious": True, "remove": True, "objective": "impurity"}, "cautious: expected none where trees are"),
        (
            {"cautious": True, "remove": True, "cost": [[0, 1], [1, 0]]},
            "by another objective than accuracy, found cost",
        ),
        ({"cautious": "yes", "remove": True}, "cautious: expected True or False, found 'yes'"),
    ]
    for options, said in wrong:
        with pytest.raises(InvalidInput, match=re.escape(said)):
            defend(frame, "optimal", target="y", qi=["a", "b"], **options)
        with pytest.raises(InvalidInput, match=re.escape(said)):
            OptimalSubtree(**options).fit(frame[["a", "b"]], frame["y"])
