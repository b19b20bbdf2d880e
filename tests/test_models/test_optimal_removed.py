"""Removed leaves in the search for the best subtree, against all subtrees with all removals of random trees."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.anonymity import training_of
from support.limited import (
    as_release,
    ends,
    entropy,
    gini,
    held,
    leaves_of,
    random_limits,
    random_tree,
    records_of,
    trees,
)
from support.soundness import check
from support.strategies import Case, Style, cases, populations, thorough

from maxent.api.estimate import estimate
from maxent.models.defenses import OptimalSubtree
from maxent.models.defenses.optimal.limits import SubtreeLimits as Limits
from maxent.models.defenses.optimal.subtree import optimal_subtree
from maxent.models.defenses.pruning import prune_leaf
from maxent.models.errors import InvalidInput
from maxent.models.formats.maxent_json.read import validate_release
from maxent.models.trees.places import number_places
from maxent.models.trees.predict import cases_of, score
from maxent.models.trees.restate import restate


def right(tree: Any, publish: str, above: Any = None) -> int:
    """Records with the right label: those of a removed leaf have that of the nearest node above with any answer."""
    if isinstance(tree, tuple):
        return int(tree[1][int(np.argmax(above))])
    if not isinstance(tree, list):
        return int(max(tree))
    stated = [np.eye(3)[np.argmax(leaf)] if publish == "labels" else leaf for leaf in ends(tree)[0]]
    answer = sum(stated) if stated else above
    return sum(right(child, publish, answer) for child in tree)


def keeps(kept: list[Any], gone: list[Any], limits: Limits, truth: float) -> bool:
    """The limits, of removed leaves as if all classes were as likely; for guesses they count in full."""
    named = (
        range(3)
        if limits.sensitive is None
        else [("yes", "no", "perhaps").index(c) for c in limits.sensitive.split(",")]
    )
    shares = [leaf[i] / max(1, sum(leaf)) for leaf in kept for i in named] + [1 / 3 for _ in gone]
    if max(shares, default=0.0) > min(limits.max_posterior or 1, limits.alpha or 1) + 1e-9:
        return False
    if any(sum(leaf) < limits.k for leaf in kept):
        return False
    if limits.l is not None and limits.diversity == "distinct" and any(sum(c > 0 for c in x) < limits.l for x in kept):
        return False
    least = 0.0 if limits.l is None or limits.diversity != "entropy" else np.log(limits.l)
    if any(entropy(leaf) / sum(leaf) < least - 1e-9 for leaf in kept):
        return False
    n = sum(map(sum, kept)) + sum(map(sum, gone))
    if limits.max_certain is not None and sum(sum(x) for x in kept if max(x) == sum(x)) > limits.max_certain:
        return False
    if limits.max_right_guesses is not None and sum(map(max, kept + gone)) > limits.max_right_guesses * n + 1e-9:
        return False
    overall = (sum(map(entropy, kept)) + sum(np.log(3) * sum(x) for x in gone) - truth) / n
    return limits.min_divergence is None or overall >= limits.min_divergence - 1e-9


def removed_check(seed: int, publish: Any = "counts") -> bool:
    """One random tree and random limits: the same optimum as of all subtrees and removals."""
    random = np.random.default_rng(seed)
    shape = random_tree(random, int(random.integers(2, 6)))
    n = int(held(shape).sum())
    if not n:
        return False
    limits, release = random_limits(random), as_release(shape)
    people = records_of(release, shape)
    truth = sum(entropy(leaf) for leaf in leaves_of(shape) if leaf.sum())
    allowed = [tree for tree in trees(shape) if ends(tree)[0] and keeps(*ends(tree), limits, truth)]
    if not allowed:
        with pytest.raises(InvalidInput, match="limits"):
            optimal_subtree(release, limits, people, remove=True, publish=publish)
        return False
    found = optimal_subtree(release, limits, people, remove=True, publish=publish)
    validate_release(found.release)
    assert found.proved, seed
    if limits.objective == "accuracy":
        assert found.reached == max(right(tree, publish) for tree in allowed) / n, seed
        assert score(restate(found.release, publish), cases_of(people)).accuracy == found.reached, seed
    else:
        least = min(sum(map(gini, ends(t)[0])) + sum(sum(x) * 2 / 3 for x in ends(t)[1]) for t in allowed) / n
        assert found.reached == pytest.approx(least, abs=2e-6), seed
    leaves = [np.array(list((leaf.counts or {}).values())) for leaf in found.release.trees[0].leaves]
    assert any(sorted(map(tuple, ends(t)[0])) == sorted(map(tuple, leaves)) for t in allowed)
    return len(number_places(found.release.trees[0])) > len(found.release.trees[0].nodes)


def test_the_optimum_of_all_subtrees_and_removals() -> None:
    assert sum(removed_check(seed, ("counts", "labels")[seed % 2]) for seed in range(20)) > 4


@pytest.mark.slow
def test_the_optimum_of_all_subtrees_and_removals_of_many_trees() -> None:
    assert sum(removed_check(seed, ("counts", "labels")[seed % 2]) for seed in range(1000, 1500)) > 80


@thorough(15)
@given(
    case=cases(
        populations(rows=(8, 40), classes=(2, 3)), kinds=("greedy", "anyhow"), style=st.just(Style(leaf="counts"))
    ),
    k=st.integers(1, 8),
)
def test_never_worse_than_removing_small_leaves(case: Case, k: int) -> None:
    """And what is published is true: the truth satisfies all that is compiled from it."""
    assume(k <= len(case.people))
    found = optimal_subtree(case.release, Limits(k=k), remove=True)
    people = cases_of(training_of(case.people))
    accuracy = [score(each, people).accuracy for each in (found.release, prune_leaf(case.release, k))]
    assert found.proved
    assert accuracy[0] == found.reached >= accuracy[1]
    check(replace(case, release=found.release))


def test_nothing_more_is_inferred_of_people_in_removed_leaves() -> None:
    random = np.random.default_rng(2)
    frame = pd.DataFrame({"a": list("pqrs") * 50, "b": random.integers(0, 4, 200)}).astype(str)
    likely = frame["a"].map({"p": 1.0, "q": 0.75, "r": 0.3, "s": 0.25}).to_numpy()
    y = pd.Series((random.random(200) < likely).astype(str), name="y")
    tree = OptimalSubtree(k=8, max_posterior=0.85, max_certain=0, remove=True).fit(frame, y)
    plain = OptimalSubtree(k=8, max_posterior=0.85, max_certain=0).fit(frame, y)
    assert any(branch.child is None for node in tree.release_.trees[0].nodes for branch in node.branches)
    assert tree.score(frame, y) > plain.score(frame, y)
    result = estimate(tree.release_, frame, frame.assign(y=y))
    assert result.disclosure.max_posterior <= 0.85 + 1e-9
    assert result.disclosure.certain == 0
    with pytest.raises(InvalidInput, match="remove"):
        OptimalSubtree(grow=True, remove=True).fit(frame, y)
    with pytest.raises(InvalidInput, match="remove: expected True or False, found 'yes'"):
        OptimalSubtree(remove="yes").fit(frame, y)
