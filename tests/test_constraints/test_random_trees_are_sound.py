"""The truth satisfies everything that is compiled from random trees, however much of them is left out."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from support.anonymity import training_of
from support.soundness import check
from support.strategies import Case, Draw, People, populations, thorough, true_masses

from maxent.constraints.compiler import compile_program
from maxent.constraints.kinds.sampling import n_countable
from maxent.constraints.program.residuals import LinearRows
from maxent.models.defenses.parameters import RandomTrees
from maxent.models.defenses.random_trees import random_trees
from maxent.models.release import Attribute, Node, Release, Tree
from maxent.models.tables.qi_table import read_qi


@st.composite
def forests(draw: Draw, *, rates: tuple[float, ...]) -> Case:
    """People, and random trees that were filled from samples of them."""
    people = draw(populations(rows=(2, 60), public=(1, 4), private=(0, 2), classes=(1, 3)))
    asked = RandomTrees(
        trees=draw(st.integers(1, 3)),
        depth=draw(st.sampled_from((None, 1, 2, 4))),
        beta=draw(st.sampled_from(rates)),
        k=draw(st.sampled_from((0, 1, 2, 3, 5))),
        seed=draw(st.integers(0, 2**32 - 1)),
    )
    return Case(people, random_trees(training_of(people), asked))


@thorough(100)
@given(case=forests(rates=(1.0,)), knowledge=st.sampled_from((None, ("label", "rate"), ("counts",))))
def test_the_truth_satisfies_everything_compiled_from_whole_counts(case: Case, knowledge: Any) -> None:
    check(case, knowledge=knowledge)


@thorough(100)
@given(case=forests(rates=(0.1, 0.5, 0.9)), knowledge=st.sampled_from((None, ("label", "rate"), ("counts",))))
def test_the_truth_satisfies_everything_compiled_from_samples(case: Case, knowledge: Any) -> None:
    check(case, knowledge=knowledge)


def five_of_a_kind() -> Case:
    """Eight kinds of four people each, and one of twelve, who alone are seen from k = 5 on."""
    attributes = tuple(Attribute(name, "categorical", ("x", "y", "z")) for name in "AB")
    kinds = np.repeat(np.arange(9), [12, *[4] * 8])
    people = People(attributes, {"A": kinds // 3, "B": kinds % 3}, np.zeros(len(kinds), np.int64), ("no", "yes"))
    return Case(people, random_trees(training_of(people), RandomTrees(1, 2, 1.0, 5, seed=0)))


def zeros_in_place_of_nothing(release: Release) -> Release:
    """The parts that were left out as leaves with counts of 0."""
    zero = dict.fromkeys(release.target.classes, 0)
    (tree,) = release.trees
    nodes, leaves = [], []
    for node in tree.nodes:
        branches = []
        for number, branch in enumerate(node.branches):
            if branch.child is None:
                leaves.append(Node(f"{node.id} {number}", counts=zero))
            branches.append(replace(branch, child=branch.child or leaves[-1].id))
        nodes.append(replace(node, branches=tuple(branches)))
    return replace(release, trees=(Tree((*nodes, *leaves)),))


def test_what_is_left_out_is_no_leaf_with_counts_of_0() -> None:
    """Twelve people are in what is left out of each of two branches, though fewer than five are of each kind."""
    case = five_of_a_kind()
    check(case)
    with pytest.raises(AssertionError):
        check(replace(case, release=zeros_in_place_of_nothing(case.release)))


def test_a_leaf_of_zeros_says_that_few_are_there() -> None:
    case = five_of_a_kind()
    program = compile_program(case.release, read_qi(case.people.qi, case.release))
    assert [constraint.says for constraint in program.linear] == [
        "counts no: 12, yes: 0 to 4",
        "counts no: 0 to 4, yes: 0 to 4",
        "counts no: 0 to 4, yes: 0 to 4",
    ]


def alike(kinds: int, each: int, classes: int = 2) -> People:
    """Equally many people of every one of ``kinds**2`` quasi-identifiers, and of each class as good as equally many."""
    values = tuple(f"v{i}" for i in range(kinds))
    attributes = tuple(Attribute(name, "categorical", values) for name in "AB")
    kind = np.repeat(np.arange(kinds**2), each)
    names = tuple(f"c{i}" for i in range(classes))
    return People(attributes, {"A": kind // kinds, "B": kind % kinds}, np.arange(len(kind)) % classes, names)


def held(people: People, asked: RandomTrees, confidence: float, releases: int) -> int:
    """Of how many releases the truth satisfies every interval."""
    found = 0
    for seed in range(releases):
        release = random_trees(training_of(people), replace(asked, seed=seed))
        program = compile_program(release, read_qi(people.qi, release), confidence=confidence)
        truth = true_masses(Case(people, release), program)
        found += LinearRows(program).violation(truth).max(initial=0.0) <= 1e-9
    return found


# 225 leaves in each tree, with counts of 10, of which about one of all reaches 5 in a sample of a tenth.
MANY_SMALL = alike(kinds=15, each=20)


@pytest.mark.parametrize("k", [0, 3])
def test_all_intervals_hold_together_as_often_as_is_said(k: int) -> None:
    assert held(alike(kinds=3, each=30), RandomTrees(3, 2, 0.4, k), 0.5, 40) >= binom.ppf(1e-4, 40, 0.5)


def test_few_counts_that_are_shown_for_being_large_are_not_missed() -> None:
    """Only leaves whose sample is by chance far too large are shown: their intervals have to allow for that."""
    assert held(MANY_SMALL, RandomTrees(2, 2, 0.1, 5), 0.5, 40) >= binom.ppf(1e-4, 40, 0.5)


def test_what_is_not_shown_is_counted_too() -> None:
    release = random_trees(training_of(MANY_SMALL), RandomTrees(2, 2, 0.1, 6, seed=0))
    table = read_qi(MANY_SMALL.qi, release)
    program = compile_program(release, table)
    assert sum(leaf.counts is not None for tree in release.trees for leaf in tree.leaves) < 2 * 225
    assert n_countable(release, table, program.cells) >= 2 * 225 * 2


def test_people_who_are_alike_are_in_a_leaf_of_what_was_left_out() -> None:
    """Of 12 people who are alike and in a part of a tree without any count of 10, at most 9 are of a class."""
    people = alike(kinds=3, each=12)
    release = random_trees(training_of(people), RandomTrees(1, 2, 1.0, 10, seed=0))
    program = compile_program(release, read_qi(people.qi, release))
    assert [c.upper.tolist() for c in program.linear if "left out" in c.says] == [[9.0, 9.0]] * 9
    untold = compile_program(replace(release, defense=None), read_qi(people.qi, release))
    assert not [c for c in untold.linear if "left out" in c.says]


@pytest.mark.slow
@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.99])
@pytest.mark.parametrize(
    ("people", "asked"),
    [
        (alike(kinds=4, each=40), RandomTrees(5, 2, 0.1, 3)),
        (alike(kinds=4, each=40, classes=3), RandomTrees(3, 2, 0.4, 0)),
        (MANY_SMALL, RandomTrees(2, 2, 0.1, 5)),
    ],
)
def test_all_intervals_of_many_releases_hold_as_often_as_is_said(
    people: People, asked: RandomTrees, confidence: float
) -> None:
    assert held(people, asked, confidence, 100) >= binom.ppf(1e-4, 100, confidence)
