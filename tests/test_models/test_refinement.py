"""Cells of forests: rows of the same leaf of every tree, however many trees and rows go together."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.strategies import cases, populations, thorough

from maxent.models.out_of_core import descent as out_of_core_descent
from maxent.models.out_of_core import runs
from maxent.models.out_of_core.descent import LOST, descent_of, numbered, steps_of
from maxent.models.out_of_core.runs import Lost, cells_of, columns_of, packing_of
from maxent.models.release import Attribute, Branch, Node, Tree
from maxent.models.tables.qi_table import read_qi
from maxent.models.trees.places import number_places


def compiled(trees, attributes, levels):
    """Each tree level by level, and in steps."""
    found = []
    for tree in trees:
        places = number_places(tree)
        descent = descent_of(numbered(tree, places), attributes, levels)
        found.append((descent, steps_of(descent, places, list(map(len, levels)))))
    return found


@settings(parent=thorough(1), max_examples=4)
@given(st.data())
def test_rows_of_a_cell_are_in_the_same_leaf_of_every_tree(data):
    check_cells(data)


@pytest.mark.slow
@thorough(300)
@given(st.data())
def test_rows_of_many_cells_are_in_the_same_leaf_of_every_tree(data):
    check_cells(data)


def check_cells(data):
    """Whether random people are where trees lead level by level, and cells are those who are alike in that."""
    case = data.draw(cases(populations(private=(0, 0), rows=(1, 60)), kinds=("greedy", "anyhow"), trees=(1, 5)))
    table = read_qi(case.people.qi, case.release)
    packing = packing_of([len(level) for level in table.levels], 1)
    words = packing.pack(table.codes)
    trees = compiled(case.release.trees, table.attributes, table.levels)
    leaves = np.column_stack([descent(table.codes)[0] for descent, _ in trees])
    with (
        mock.patch.object(out_of_core_descent, "BLOCK", data.draw(st.integers(1, 70))),
        mock.patch.object(out_of_core_descent, "LOOK", data.draw(st.integers(1, 3))),
        mock.patch.object(runs, "_REFINEMENT_FITS", data.draw(st.sampled_from([1, 2000, 2**62]))),
    ):
        for (_, steps), leaf in zip(trees, leaves.T, strict=True):
            np.testing.assert_array_equal(steps(columns_of(words, packing)), leaf)
            assert not steps.loses
        cells = cells_of(words, packing, [steps for _, steps in trees])
    first, number = np.unique(leaves, axis=0, return_index=True, return_inverse=True)[1:]
    np.testing.assert_array_equal(cells, first[number])


JOB, AGE = Attribute("job", "categorical", ("cook", "clerk", "smith")), Attribute("age", "numeric", missing=True)
LEVELS = (np.array(["cook", "clerk", "smith"], object), np.array([20.0, 30.0, np.nan]))
CODES = np.array([[job, age] for job in range(3) for age in range(3)])


def tree(*below):
    """A tree whose root divides jobs: cooks and clerks are divided again, by ``below``, and smiths are not."""
    root = Node("0", attribute="job", branches=(Branch("1", values=("cook", "clerk")), Branch("2", values=("smith",))))
    attribute = "job" if below[0].values else "age"
    leaves = [Node(branch.child, label="a") for branch in below]
    return Tree((root, Node("1", attribute=attribute, branches=below), Node("2", label="a"), *leaves))


def test_people_whom_no_branch_takes_are_found_however_many_trees_tell_them_apart():
    whole = tree(Branch("3", le=25.0), Branch("4", gt=25.0, missing=True))
    part = tree(Branch("3", le=25.0), Branch("4", gt=25.0))
    packing = packing_of([3, 3], 1)
    words = packing.pack(CODES)
    (_, first), (descent, second) = compiled([whole, part], (JOB, AGE), LEVELS)
    assert (first.loses, second.loses) == (False, True)
    found = second(columns_of(words, packing))
    np.testing.assert_array_equal(found, descent(CODES)[0])
    np.testing.assert_array_equal(np.flatnonzero(found == LOST), [2, 5])
    assert cells_of(words, packing, [first, first, second]) == Lost(2, 2)


def test_values_that_never_come_to_a_place_are_not_lost_there():
    ((_, steps),) = compiled([tree(Branch("3", values=("cook",)), Branch("4", values=("clerk",)))], (JOB, AGE), LEVELS)
    assert not steps.loses
