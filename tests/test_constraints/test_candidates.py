"""Candidates are exactly what the inducer compared: one too many would be unsound, one too few is too weak."""

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from support.documents import release_document

from maxent.api.estimate import compile_release
from maxent.models.formats.maxent_json.read import parse_release

SEX = {"name": "Sex", "type": "categorical", "values": ["f", "m"]}
CITY = {"name": "City", "type": "categorical", "values": ["a", "b", "c"]}
AGE = {"name": "Age", "type": "numeric"}
QI = pd.DataFrame(
    {
        "Sex": ["f", "f", "f", "m", "m", "m"],
        "City": ["a", "b", "b", "a", "a", "b"],
        "Age": [20.0, 30.0, 30.0, 40.0, 50.0, 50.00000001],
    }
)
ON_SEX = [
    {"id": "N", "attribute": "Sex", "branches": [{"in": ["f"], "child": "F"}, {"in": ["m"], "child": "M"}]},
    {"id": "F"},
    {"id": "M"},
]


def compared(induction, nodes=ON_SEX, qi=QI, **options):
    document = release_document(
        "Ill", ["y", "n"], [SEX, CITY, AGE], {"induction": {"impurity": "gini", **induction}, "nodes": nodes}
    )
    program = compile_release(parse_release(document, "test"), qi, **options)
    return {(c.origin.node, c.candidate, c.form): c.codes.tolist() for c in program.internal}


def test_multiway_candidates_are_the_other_categorical_attributes():
    assert compared({"candidates": "unused"}) == {("N", "City", "values"): [0]}


def test_nothing_is_known_of_the_algorithm_unless_stated():
    assert compared({"candidates": "none"}) == {}
    assert compared({"candidates": "unused", "impurity": None}) == {}
    assert compared({"candidates": "unused"}, knowledge="label,rate,counts") == {}


def test_an_attribute_with_one_value_present_is_no_candidate():
    assert compared({"candidates": "unused"}, qi=QI.assign(City="a")) == {}


def test_attributes_used_on_the_path_are_no_candidates():
    nodes = [
        {"id": "N", "attribute": "City", "branches": [{"in": ["a"], "child": "M"}, {"in": ["b", "c"], "child": "L"}]},
        {"id": "M", "attribute": "Sex", "branches": [{"in": ["f"], "child": "F"}, {"in": ["m"], "child": "G"}]},
        {"id": "F"},
        {"id": "G"},
        {"id": "L"},
    ]
    assert compared({"candidates": "unused"}, nodes) == {("N", "Sex", "values"): [0]}


def test_thresholds_are_the_cuts_between_values_that_are_present():
    found = compared({"candidates": "thresholds"})
    # City c is absent; ages 50 and 50.00000001 are one value in single precision; Sex's only cut is the chosen one.
    assert found == {("N", "City", "cuts"): [0], ("N", "Age", "cuts"): [0, 1, 2]}


@pytest.mark.parametrize(("least", "cuts"), [(2, [1, 2]), (3, [1])])
def test_cuts_leave_the_smallest_leaf_on_both_sides(least, cuts):
    found = compared({"candidates": "thresholds", "min_samples_leaf": least})
    assert found["N", "Age", "cuts"] == cuts


def test_the_smallest_leaf_and_k_rule_out_multiway_candidates():
    assert compared({"candidates": "unused", "min_samples_leaf": 3}) == {("N", "City", "values"): [0]}
    assert compared({"candidates": "unused", "min_samples_leaf": 4}) == {}
    assert compared({"candidates": "unused", "k": 4}) == {}


def test_onehot_candidates_are_single_values_against_the_rest():
    qi = QI.assign(City=["a", "b", "c", "a", "b", "c"])
    found = compared({"candidates": "thresholds", "encoding": "onehot"}, qi=qi)
    assert found["N", "City", "each"] == [0, 1, 2]


ON_AGE = [
    {"id": "N", "attribute": "Age", "branches": [{"le": 35.0, "child": "M"}, {"gt": 35.0, "child": "L"}]},
    {"id": "M", "attribute": "Sex", "branches": [{"in": ["f"], "child": "F"}, {"in": ["m"], "child": "G"}]},
    {"id": "F"},
    {"id": "G"},
    {"id": "L", "attribute": "Age", "branches": [{"le": 40.0, "child": "P"}, {"gt": 40.0, "child": "Q"}]},
    {"id": "P"},
    {"id": "Q"},
]
MEN_TOO = pd.concat([QI, pd.DataFrame({"Sex": ["m"], "City": ["a"], "Age": [20.0]})])


def test_mixed_candidates_are_values_of_unused_attributes_and_all_cuts_of_numbers():
    found = compared({"candidates": "mixed", "impurity": "gain_ratio"}, ON_AGE, MEN_TOO)
    assert found == {
        ("N", "Sex", "values"): [0],
        ("N", "City", "values"): [0],
        ("N", "Age", "cuts"): [0, 2],  # the chosen cut is between 1 (30) and 2 (40)
        ("M", "City", "values"): [0],
        ("M", "Age", "cuts"): [0],
        ("L", "City", "values"): [0],
    }


def test_mixed_candidates_leave_the_smallest_leaf_on_every_side():
    found = compared({"candidates": "mixed", "min_samples_leaf": 2}, ON_AGE, MEN_TOO)
    # In L one of three lives in b.
    assert found == {
        ("N", "Sex", "values"): [0],
        ("N", "City", "values"): [0],
        ("N", "Age", "cuts"): [0, 2],
        ("M", "Age", "cuts"): [0],
        ("M", "City", "values"): [0],
    }
    assert ("N", "Age", "cuts") not in compared({"candidates": "mixed", "min_samples_leaf": 3}, ON_AGE, MEN_TOO)


def test_numbers_are_compared_exactly_where_the_algorithm_is_known_to():
    for algorithm, cuts in ((None, [0, 1, 2]), ("cart", [0, 1, 2]), ("c45", [0, 1, 2, 3])):
        found = compared({"candidates": "mixed", "algorithm": algorithm} if algorithm else {"candidates": "mixed"})
        assert found["N", "Age", "cuts"] == cuts
    assert compared({"candidates": "thresholds", "algorithm": "c45"})["N", "Age", "cuts"] == [0, 1, 2]


def test_a_number_that_such_an_algorithm_would_not_divide_in_three_is_compared_with_nothing():
    age = [{"le": 25.0, "child": "F"}, {"gt": 25.0, "le": 45.0, "child": "M"}, {"gt": 45.0, "child": "L"}]
    nodes = [{"id": "N", "attribute": "Age", "branches": age}, {"id": "F"}, {"id": "M"}, {"id": "L"}]
    assert compared({"candidates": "mixed"}, nodes) == {}


@pytest.mark.parametrize("low", [0.5, 0.999, 1.0, 1.5, 2.0, 1000.0])
def test_no_cut_is_compared_that_scikit_learn_does_not_see(low):
    """Numbers one step of single precision apart, and two: what a tree can cut is at least what is compared."""
    step = float(np.spacing(np.float32(low)))
    for gap in (step, 2 * step, 3 * step):
        ages = np.repeat([float(np.float32(low)), float(np.float32(low) + np.float32(gap))], 3)
        tree = DecisionTreeClassifier().fit(ages[:, None], [0, 0, 0, 1, 1, 1]).tree_
        found = compared({"candidates": "thresholds"}, qi=QI.assign(Age=ages, Sex=["f", "m"] * 3))
        assert tree.node_count == 3 or ("N", "Age", "cuts") not in found


def test_the_impurity_can_be_overridden_and_says_when_it_is_of_no_use():
    document = release_document("Ill", ["y", "n"], [SEX, CITY, AGE], ON_SEX)
    program = compile_release(parse_release(document, "test"), QI, impurity="entropy")
    assert not program.internal
    assert any("candidates" in note for note in program.notes)
