"""How often all intervals of a sampled forest hold together, over many forests of the same people."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom
from support.anonymity import training_of
from support.strategies import Case, People, true_masses

from maxent.constraints.compiler import compile_program
from maxent.constraints.kinds.sampling import n_countable
from maxent.constraints.program.residuals import LinearRows
from maxent.models.defenses.random_trees import RandomTrees, random_trees
from maxent.models.release import Attribute
from maxent.models.tables.qi_table import read_qi


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
    shown = sum(leaf.counts is not None for tree in release.trees for leaf in tree.leaves)
    assert shown < 2 * 225
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
    assert held(people, asked, confidence, 200) >= binom.ppf(1e-4, 200, confidence)
