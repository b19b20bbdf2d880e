"""The truth satisfies everything that is compiled from random trees, however much of them is left out."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.anonymity import training_of
from support.soundness import check
from support.strategies import Case, Draw, People, populations, thorough

from maxent.constraints.compiler import compile_program
from maxent.models.defenses.random_trees import RandomTrees, random_trees
from maxent.models.formats.maxent_json.read import validate_release
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
    validate_release(case.release)
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
