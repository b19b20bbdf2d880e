"""The best subtree within limits, against all subtrees of random trees, with measures computed anew."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.limited import as_release, entropy, gini, held, keeps, leaves_of, random_limits, random_tree, training
from support.strategies import Case, Style, cases, populations, thorough

from maxent.api.estimate import estimate
from maxent.models.defenses import OptimalSubtree, ParentPrunedTree
from maxent.models.defenses.optimal.frontier import MANY, unbeaten
from maxent.models.defenses.optimal.limits import SubtreeLimits as Limits
from maxent.models.defenses.optimal.places import candidates
from maxent.models.defenses.optimal.subtree import optimal_subtree
from maxent.models.defenses.pruning import prune_parent
from maxent.models.errors import InvalidInput
from maxent.models.formats.maxent_json.read import validate_release
from maxent.models.release import Defense, Induction
from maxent.models.trees.predict import predict


def subtrees(shape: Any) -> Iterator[list[Any]]:
    """The leaves of every subtree."""
    yield [held(shape)]
    if isinstance(shape, list):
        for parts in product(*(list(subtrees(child)) for child in shape)):
            yield [leaf for part in parts for leaf in part]


def labels(shape: Any, k: int) -> list[int]:
    """What leaves predict of the tree that only k cuts back: nodes with a branch of fewer are leaves."""
    if isinstance(shape, list) and all(held(child).sum() >= k for child in shape):
        return [found for child in shape for found in labels(child, k)]
    return [int(np.argmax(held(shape)))]


def told_otherwise(shape: Any, k: int, above: bool = True) -> Iterator[tuple[list[Any], int]]:
    """The leaves of every subtree, and of how many leaves of the tree that only k cuts back it predicts another class.

    ``above`` is whether such leaves are at or below this place.
    """
    own = int(np.argmax(held(shape)))
    yield [held(shape)], sum(label != own for label in labels(shape, k)) if above else 0
    if isinstance(shape, list):
        inner = above and all(held(child).sum() >= k for child in shape)
        for parts in product(*(list(told_otherwise(child, k, inner)) for child in shape)):
            yield [leaf for leaves, _ in parts for leaf in leaves], sum(others for _, others in parts)


def pruned_check(seed: int) -> bool:
    """One random tree and random limits: the same optimum as of all subtrees; whether there is any."""
    random = np.random.default_rng(seed)
    shape = random_tree(random, int(random.integers(2, 9)))
    whole = held(shape)
    if not whole.sum():
        return False
    limits, release = random_limits(random), as_release(shape)
    # Everybody of a leaf has the same quasi-identifier, so that the truth is what the leaves have.
    people = training(release, leaves_of(shape))
    truth = sum(entropy(leaf) for leaf in leaves_of(shape) if leaf.sum())
    allowed = [leaves for leaves in subtrees(shape) if keeps(leaves, limits, truth)]
    if not allowed:
        with pytest.raises(InvalidInput, match="limits"):
            optimal_subtree(release, limits, people)
        return False
    found = optimal_subtree(release, limits, people)
    validate_release(found.release)
    assert found.proved
    leaves = [np.array(list((leaf.counts or {}).values())) for leaf in found.release.trees[0].leaves]
    assert any(sorted(map(tuple, leaves)) == sorted(map(tuple, each)) for each in subtrees(shape))
    assert keeps(leaves, limits, truth), (seed, limits)
    if limits.objective == "accuracy":
        most = max(sum(map(max, each)) for each in allowed)
        assert sum(map(max, leaves)) == most, seed
        assert found.reached == most / whole.sum()
        if not limits.summed:
            equals = [
                (others, len(each), [tuple(leaf) for leaf in each])
                for each, others in told_otherwise(shape, limits.k)
                if keeps(each, limits, truth) and sum(map(max, each)) == most
            ]
            least = min(found[:2] for found in equals)
            assert [tuple(leaf) for leaf in leaves] in [found[2] for found in equals if found[:2] == least]
    else:
        least = min(sum(gini(leaf) for leaf in each) for each in allowed) / whole.sum()
        assert found.reached == pytest.approx(least, abs=2e-6)
        assert sum(map(gini, leaves)) / whole.sum() == pytest.approx(found.reached, abs=1e-9)
    return True


def test_the_optimum_of_all_subtrees() -> None:
    assert sum(map(pruned_check, range(60))) > 20


@pytest.mark.slow
def test_the_optimum_of_all_subtrees_of_many_trees() -> None:
    assert sum(map(pruned_check, range(1000, 3000))) > 500


def test_patients_of_figure_3() -> None:
    """No leaf of fewer than 3, and nobody certain: the leaf of two pure records goes."""
    shape = [[np.array([2, 1, 0]), np.array([0, 2, 0])], [np.array([1, 0, 0]), np.array([1, 2, 0])]]
    release = as_release(shape)
    found = optimal_subtree(release, Limits(k=2, max_certain=0))
    leaves = {leaf.id: tuple((leaf.counts or {}).values()) for leaf in found.release.trees[0].leaves}
    assert leaves == {"N1": (2, 3, 0), "N4": (2, 2, 0)}  # five of nine are right without the split, too
    assert optimal_subtree(release, Limits(k=2)).reached == 6 / 9
    kept = {"k": 2, "max_certain": 0, "objective": "accuracy"}
    assert found.release.defense == Defense("optimal", kept)
    assert found.release.trees[0].induction == Induction("cart")
    stated = optimal_subtree(release, Limits(k=2), criterion="stated").release
    assert stated.trees[0].induction == release.trees[0].induction


@thorough(60)
@given(
    case=cases(
        populations(rows=(8, 40), classes=(2, 3)), kinds=("greedy", "anyhow"), style=st.just(Style(leaf="counts"))
    ),
    k=st.integers(1, 8),
)
def test_never_worse_than_taking_small_leaves_back(case: Case, k: int) -> None:
    assume(k <= len(case.people))
    found = optimal_subtree(case.release, Limits(k=k))
    pruned = prune_parent(case.release, k)
    right = [
        sum(max((leaf.counts or {}).values()) for leaf in each.trees[0].leaves) for each in (found.release, pruned)
    ]
    assert found.proved
    assert right[0] == right[1]
    table = case.people.frame
    assert (predict(found.release, table) == predict(pruned, table)).all()
    assert len(found.release.trees[0].leaves) <= len(pruned.trees[0].leaves)


def test_limits_are_kept_by_what_an_adversary_infers() -> None:
    """The engine finds no more than the limits, for a tree of public attributes."""
    random = np.random.default_rng(5)
    frame = pd.DataFrame(random.integers(0, 4, (300, 3)), columns=["a", "b", "c"]).astype(str)
    y = pd.Series(np.where(random.random(300) < 0.6, (frame["a"] == "1") ^ (frame["b"] == "2"), False), name="y")
    tree = OptimalSubtree(k=4, max_posterior=0.9, max_certain=0, min_divergence=0.05).fit(frame, y)
    assert len(tree.release_.trees[0].leaves) > 1
    result = estimate(tree.release_, frame, frame.assign(y=y.astype(str)))
    assert result.disclosure.max_posterior <= 0.9 + 1e-9
    assert result.disclosure.certain == 0
    assert (result.summary["divergence"]["overall"] or 0) >= 0.05 - 1e-9
    other = ParentPrunedTree(k=4).fit(frame, y)
    free = OptimalSubtree(k=4).fit(frame, y)
    assert free.score(frame, y) >= other.score(frame, y)


def test_what_cannot_be_reached_is_told() -> None:
    shape = [[np.array([2, 1, 0]), np.array([0, 2, 0])], [np.array([1, 0, 0]), np.array([1, 2, 0])]]
    release = as_release(shape)
    for limits, told in (
        (Limits(k=10), "the whole table as one leaf has 9 records"),
        (Limits(k=1, max_posterior=0.5), "of which 5 are of one class"),
        (Limits(k=1, max_right_guesses=0.5), "at least 0.555556"),
    ):
        with pytest.raises(InvalidInput, match=told):
            optimal_subtree(release, limits)
    with pytest.raises(InvalidInput, match=r"sensitive.*maybe"):
        optimal_subtree(release, Limits(k=1, max_posterior=0.9, sensitive="maybe"))
    with pytest.raises(InvalidInput, match="one tree"):
        optimal_subtree(replace(release, trees=release.trees * 2), Limits(k=1))
    assert [p.field for p in Limits(sensitive="yes").conflicts()] == ["sensitive"]


def test_too_many_points_are_told_apart_from_a_proof() -> None:
    """Where points stay out for being too many, the bound says what they might have been worth."""
    random = np.random.default_rng(0)
    shape = [[np.array([a, b, 0]) for a, b in random.integers(1, 1000, (2, 2))] for _ in range(2)]
    while len(shape) < 12:
        shape.append([np.array([a, b, 0]) for a, b in random.integers(1, 1000, (2, 2))])
    release = as_release(shape)
    found = optimal_subtree(release, Limits(k=1, max_right_guesses=0.65, max_certain=5))
    assert found.reached <= found.most <= 0.65
    assert found.proved == (found.reached == found.most)


@pytest.mark.parametrize("limits", [1, 2, 3])
def test_unbeaten_points(limits: int) -> None:
    random = np.random.default_rng(limits)
    worth = random.integers(0, 12, 80).astype(float)
    costs = random.integers(0, 6, (80, limits)).astype(float)
    kept = set(unbeaten(worth, costs).tolist())
    for i in range(80):
        beaten = [
            j
            for j in range(80)
            if worth[j] >= worth[i]
            and (costs[j] <= costs[i]).all()
            and (worth[j] > worth[i] or (costs[j] < costs[i]).any())
        ]
        assert not (beaten and i in kept)
        same = [j for j in range(80) if worth[j] == worth[i] and (costs[j] == costs[i]).all()]
        assert beaten or len(kept.intersection(same)) == 1
    assert MANY[1] > 1


def test_places_state_what_they_would_disclose() -> None:
    release = as_release([np.array([3, 0, 0]), np.array([1, 1, 0])])
    found = candidates(release, 0, Limits(k=1, max_certain=2, max_right_guesses=1.0))
    assert found.names == ("max_certain", "max_right_guesses")
    assert found.costs.tolist() == [[0, 4], [3, 3], [0, 1]]
    assert found.allowed.tolist() == [True, True, True]


def test_right_guesses_above_the_base_rate() -> None:
    """Of nine people five have the most frequent class; a lift of one ninth is one more right guess."""
    shape = [[np.array([2, 1, 0]), np.array([0, 2, 0])], [np.array([1, 0, 0]), np.array([1, 2, 0])]]
    release = as_release(shape)
    assert optimal_subtree(release, Limits(k=1)).reached == 7 / 9
    for lift, right in ((2 / 9, 7), (0.2, 6), (0.0, 5)):
        assert optimal_subtree(release, Limits(k=1, max_lift=lift)).reached == right / 9
        both = Limits(k=1, max_lift=lift, max_right_guesses=0.6)
        assert optimal_subtree(release, both).reached == 5 / 9
    with pytest.raises(InvalidInput, match=r"max_right_guesses: expected at least 0\.555556, found 0\.5"):
        optimal_subtree(release, Limits(k=1, max_lift=0.1, max_right_guesses=0.5))
