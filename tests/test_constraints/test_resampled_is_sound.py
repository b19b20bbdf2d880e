"""The truth satisfies what is compiled from bootstraps: always what is certain, as often as is said what is not."""

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, hypergeom
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from support.soundness import check
from support.strategies import (
    Case,
    Draw,
    People,
    Style,
    grow,
    grow_anyhow,
    leaves_of,
    populations,
    publish,
    recipes,
    thorough,
    true_masses,
)

from maxent.constraints.compiler import compile_program
from maxent.constraints.kinds.bootstrap import UNKNOWN, _Column, certain, draws_of, least_records, log_shares
from maxent.constraints.program.cells import build_cells
from maxent.constraints.program.residuals import LinearRows
from maxent.models.formats.scikit_learn.tree import from_sklearn
from maxent.models.release import Attribute, Induction, Release, Target
from maxent.models.tables.qi_table import read_qi
from maxent.models.trees.places import number_places


@st.composite
def bootstraps(draw: Draw) -> Case:
    """People, and trees that were each grown on a bootstrap of them, or anyhow, and count it."""
    people = draw(populations(rows=(2, 60), public=(1, 3), private=(0, 2), classes=(1, 3)))
    draws, seed = draw(st.integers(1, 80)), draw(st.integers(0, 2**32 - 1))
    style = Style(leaf=draw(st.sampled_from(("counts", "all"))), inner=draw(st.sampled_from(("nothing", "counts"))))
    told = draw(st.booleans())
    trees = []
    for number in range(draw(st.integers(1, 3))):
        rows = np.random.default_rng((seed, number)).integers(0, len(people), draws)
        drawn = replace(people, columns={a: v[rows] for a, v in people.columns.items()}, y=people.y[rows])
        root = grow(drawn, draw(recipes(drawn))) if draw(st.booleans()) else grow_anyhow(draw, drawn)
        tree = publish(draw, drawn, root, style, Induction())
        if told:
            alone = Release(Target("Y", people.classes), people.attributes, (tree,))
            leaf = leaves_of(alone, drawn.frame)[:, 0]
            nodes = [
                replace(node, distinct=len(np.unique(rows[leaf == i]))) if node.is_leaf else node
                for i, node in enumerate(tree.nodes)
            ]
            tree = replace(tree, nodes=tuple(nodes))
        trees.append(tree)
    return Case(people, Release(Target("Y", people.classes), people.attributes, tuple(trees), resampled=draws))


@thorough(60)
@given(case=bootstraps(), knowledge=st.sampled_from((None, ("label", "rate", "internal"), ("counts",))))
def test_the_truth_satisfies_everything_compiled_from_bootstraps(case: Case, knowledge: Any) -> None:
    check(case, knowledge=knowledge)


@thorough(200)
@given(
    records=st.lists(st.integers(0, 3), min_size=1, max_size=12),
    picks=st.lists(st.integers(0, 11), min_size=1, max_size=30),
    told=st.booleans(),
)
def test_what_is_certain_holds_however_unlikely_the_draws(records: list[int], picks: list[int], told: bool) -> None:
    rows, y = np.array(picks) % len(records), np.array(records)
    drawn, distinct = np.bincount(y[rows], minlength=4)[None, :], len(np.unique(rows))
    own, others = certain(drawn, np.array([distinct if told else UNKNOWN]))
    true = np.bincount(y, minlength=4)
    assert (own <= true).all()
    assert (others <= true.sum() - true).all()
    assert (own[drawn > 0] >= 1).all()


def test_draws_without_repetition_are_of_as_many_records() -> None:
    own, others = certain(np.array([[3, 2], [3, 2], [3, 2]]), np.array([5, 4, UNKNOWN]))
    assert own.tolist() == [[3, 2], [2, 1], [1, 1]]
    assert others.tolist() == [[2, 3], [1, 2], [1, 1]]


def test_intervals_are_those_of_clopper_and_pearson_for_whole_records() -> None:
    for whole, among, miss in ((7, 5, 0.05), (30, 30, 0.005), (1000, 400, 1e-9)):
        for drawn in {0, 1, among // 3, among}:
            tails = binom.sf(drawn - 1, among, np.arange(whole + 1) / whole)
            args = (np.array([v]) for v in (drawn, among, whole))
            assert least_records(*args, np.array([miss])).tolist() == [int(np.argmax(tails > miss))]
            tails = hypergeom.sf(drawn - 1, whole, np.arange(whole + 1), among)
            args = (np.array([v]) for v in (drawn, among, whole))
            assert least_records(*args, np.array([miss]), again=False).tolist() == [int(np.argmax(tails > miss))]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(("kind", "n"), [("categorical", 2), ("categorical", 5), ("numeric", 2), ("numeric", 7)])
def test_shares_of_all_restrictions_of_an_attribute_add_up_to_1_at_most(kind: Any, n: int, missing: bool) -> None:
    if kind == "categorical":
        column = _Column(Attribute("A", kind, tuple("abcde"[:n])), None, n)
        sets: set[Any] = set(range(1, 2**n - 1))
    else:
        column = _Column(Attribute("A", kind, missing=missing), np.arange(n, dtype=float), n)
        levels = list(itertools.combinations(range(n + 1), 2))
        sets = {(*some, taken) for some in levels for taken in {missing, False}} - {column.all}
        sets |= {(n, n, True)} if missing else set()
    assert 0.3 < sum(math.exp(-column.cost(left)) for left in sets) <= 1 + 1e-12


def alike(n: int, levels: int, classes: int = 2) -> People:
    """People with random numbers, and classes that have nothing to do with them."""
    rng = np.random.default_rng(0)
    columns = {name: rng.integers(0, levels, n).astype(float) for name in "ABC"}
    names = tuple(f"c{i}" for i in range(classes))
    return People(tuple(Attribute(a, "numeric") for a in columns), columns, np.arange(n) % classes, names)


def held(people: People, confidence: float, releases: int, make: Any = RandomForestClassifier, **settings: Any) -> int:
    """Of how many forests, each tree of which chose its leaves by what it drew, the truth satisfies every interval."""
    found, X = 0, people.frame[list("ABC")].to_numpy()
    for seed in range(releases):
        model = make(random_state=seed, **settings).fit(X, people.y)
        release = from_sklearn(model, target="Y", features=list("ABC"), classes=people.classes)
        program = compile_program(release, read_qi(people.qi, release), confidence=confidence)
        truth = true_masses(Case(people, release), program)
        found += LinearRows(program).violation(truth).max(initial=0.0) <= 1e-9
    return found


def test_all_intervals_of_a_greedy_forest_hold_together_as_often_as_is_said() -> None:
    """Dividing by the leaves that are shown, those of purest draws, they would in 3 of 20."""
    asked = {"n_estimators": 3, "max_depth": 4, "max_features": None}
    assert held(alike(400, 20), 0.5, 20, **asked) >= binom.ppf(1e-4, 20, 0.5)


def test_all_intervals_of_a_bag_without_replacement_hold_together_as_often_as_is_said() -> None:
    asked = {"estimator": DecisionTreeClassifier(max_depth=4), "bootstrap": False, "n_estimators": 3}
    for share in (0.1, 0.9):
        assert held(alike(400, 20), 0.5, 20, BaggingClassifier, max_samples=share, **asked) >= binom.ppf(1e-4, 20, 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
@pytest.mark.parametrize(
    ("people", "settings"),
    [
        (alike(300, 6), {"n_estimators": 4, "max_depth": 3}),
        (alike(300, 12, 3), {"n_estimators": 2, "max_depth": 5, "max_features": None}),
        (alike(200, 50), {"n_estimators": 2, "max_samples": 0.5}),
    ],
)
def test_all_intervals_of_many_forests_hold_as_often_as_is_said(
    people: People, settings: dict[str, Any], confidence: float
) -> None:
    assert held(people, confidence, 200, **settings) >= binom.ppf(1e-4, 200, confidence)


def test_shares_are_those_of_sets_and_not_of_paths() -> None:
    """A cut that leaves what an earlier one left has no price."""
    people = alike(60, 4)
    X = people.frame[list("ABC")].to_numpy()
    model = RandomForestClassifier(1, max_depth=2, random_state=0).fit(X, people.y)
    release = from_sklearn(model, target="Y", features=list("ABC"), classes=people.classes)
    table = read_qi(people.qi, release)
    (shares,) = log_shares(release, table, build_cells(release, table).trees)
    assert shares[0] == pytest.approx(-math.log(4))  # how many of the three attributes are restricted: none
    two_sided = -math.log(4) - math.log(3) - math.log(2)
    assert shares[1] == pytest.approx(two_sided - math.log(6))  # one attribute, of 4 levels: 3 cuts with two sides
    for place in range(len(shares)):
        (alone,) = log_shares(release, table, build_cells(release, table).trees, [place])
        assert alone[place] == shares[place]


def test_draws_that_a_node_does_not_state_are_those_below_it() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 5, (200, 3)).astype(float), rng.integers(0, 3, 200)
    model = RandomForestClassifier(1, max_depth=4, random_state=0).fit(X, y)
    release = from_sklearn(model, target="t", features=list("ABC"), classes=list("xyz"))
    tree, classes = release.trees[0], release.target.classes
    whole = draws_of(tree, number_places(tree), classes)
    assert whole[0][0].sum() == 200
    bare = replace(
        tree, nodes=tuple(node if node.is_leaf else replace(node, counts=None, distinct=None) for node in tree.nodes)
    )
    for found, expected in zip(draws_of(bare, number_places(bare), classes), whole, strict=True):
        np.testing.assert_array_equal(found, expected)
    places = number_places(tree)
    silent = int(places.leaves[3])
    nodes = list(bare.nodes)
    nodes[silent] = replace(nodes[silent], counts=None)
    draws, distinct = draws_of(replace(bare, nodes=tuple(nodes)), places, classes)
    unknown, place = np.zeros(len(places), bool), silent
    while place >= 0:
        unknown[place], place = True, int(places.parent[place])
    assert (draws[unknown] == UNKNOWN).all()
    np.testing.assert_array_equal(draws[~unknown], whole[0][~unknown])
    np.testing.assert_array_equal(distinct, whole[1])
