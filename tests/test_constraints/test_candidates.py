"""Candidates are exactly what the inducer compared: one too many would be unsound, one too few is too weak."""

import pandas as pd
import pytest

from maxent.engine import compile_release
from maxent.models.reader import parse_release

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
    document = {
        "format": "maxent/1",
        "target": {"name": "Ill", "classes": ["y", "n"]},
        "attributes": [SEX, CITY, AGE],
        "trees": [{"induction": {"impurity": "gini", **induction}, "nodes": nodes}],
    }
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


def test_the_impurity_can_be_overridden_and_says_when_it_is_of_no_use():
    document = {
        "format": "maxent/1",
        "target": {"name": "Ill", "classes": ["y", "n"]},
        "attributes": [SEX, CITY, AGE],
        "trees": [{"nodes": ON_SEX}],
    }
    program = compile_release(parse_release(document, "test"), QI, impurity="entropy")
    assert not program.internal
    assert any("candidates" in note for note in program.notes)
