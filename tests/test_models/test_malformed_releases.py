"""Everything that makes a release invalid is refused with the place, the field, what was expected and found."""

import json
import os
import sys
from contextlib import suppress
from functools import partial

import pytest
from jsonschema import Draft202012Validator
from support import documents
from support.calls import refusal, refused
from support.documents import REMOVE, release_document

import maxent
from maxent.models.errors import InvalidInput, Problem
from maxent.models.files import json_files as strict_json
from maxent.models.formats.maxent_json.read import parse_release, release_schema
from maxent.models.formats.maxent_json.typed import read_typed
from maxent.models.formats.registry import load_release

NODES = [
    {
        "id": "N1",
        "attribute": "Education",
        "branches": [{"in": ["Masters"], "child": "N2"}, {"in": ["Doctorate"], "child": "L1"}],
        "counts": {"low": 5, "high": 6},
    },
    {"id": "N2", "attribute": "Age", "branches": [{"le": 37.5, "child": "L2"}, {"gt": 37.5, "child": "L3"}], "n": 7},
    {"id": "L1", "label": "high", "error_rate": 0.25, "counts": {"low": 1, "high": 3}},
    {"id": "L2", "counts": {"low": 3, "high": 1}, "n": 4},
    {"id": "L3", "label": "high", "counts": {"low": 1, "high": 2}},
]
INDUCTION = {"algorithm": "id3", "impurity": "entropy", "candidates": "unused"}
ATTRIBUTES = {"Education": ["Masters", "Doctorate"], "Age": None}
BASE = release_document("Salary", ["low", "high"], ATTRIBUTES, {"induction": INDUCTION, "nodes": NODES})
N1, N2, L1, L2, L3 = (("trees", 0, "nodes", i) for i in range(5))
changed = partial(documents.changed, BASE)


def problems_of(document):
    caught = refusal(parse_release, document, "tree.json")
    assert isinstance(caught, ValueError)
    assert str(caught).split("\n") == [f"tree.json: {problem}" for problem in caught.problems]
    with suppress(TypeError, ValueError):  # what json does not write
        assert read_typed(json.dumps(document).encode()) is None
    return caught.problems


def test_the_document_that_the_tests_break_is_valid():
    assert len(parse_release(BASE, "tree.json").trees[0].nodes) == 5


def leaf_pair(*ids):
    return [{"le": 37.5, "child": ids[0]}, {"gt": 37.5, "child": ids[1]}]


# Each: the change, then where, field, and parts of what the message must say was expected and found. Some the schema of
# the format sees, too.
OF_THE_SCHEMA = {
    "format missing": ([(("format",), REMOVE)], "document", "format", "'maxent/1'", "nothing"),
    "format of another version": ([(("format",), "maxent/2")], "document", "format", "'maxent/1'", "'maxent/2'"),
    "unknown key of the document": ([(("target_name",), "x")], "document", "target_name", "did you mean target?",
        "unknown key 'target_name'"),
    "target missing": ([(("target",), REMOVE)], "document", "target", "an object", "nothing"),
    "target without name": ([(("target", "name"), REMOVE)], "target", "name", "a non-empty string", "nothing"),
    "target with a key too many": ([(("target", "class"), 1)], "target", "class", "did you mean classes?", "'class'"),
    "attributes missing": ([(("attributes",), REMOVE)], "document", "attributes", "list of attributes", "nothing"),
    "attribute no object": ([(("attributes", 1), "Age")], "attribute number 2", "content", "an object", "'Age'"),
    "attribute of no type": ([(("attributes", 1, "type"), REMOVE)], "attribute Age", "type", "categorical, numeric",
        "nothing"),
    "attribute of unknown type": ([(("attributes", 1, "type"), "number")], "attribute Age", "type",
        "categorical, numeric", "'number'"),
    "values of a numeric attribute": ([(("attributes", 1, "values"), ["1"])], "attribute Age", "values",
        "no values for a numeric", "a list of 1"),
    "categorical without values": ([(("attributes", 0, "values"), REMOVE)], "attribute Education", "values",
        "a non-empty list of values", "nothing"),
    "values that repeat": ([(("attributes", 0, "values"), ["Masters", "Doctorate", "Masters"])], "attribute Education",
        "values", "all different", "'Masters' more than once"),
    "values that are numbers": ([(("attributes", 0, "values"), ["Masters", "Doctorate", 3])], "attribute Education",
        "values", "non-empty strings", "3"),
    "unknown role": ([(("attributes", 1, "role"), "secret")], "attribute Age", "role", "public, private", "'secret'"),
    "release no object": ([(("release",), 0.1)], "document", "release", "an object", "0.1"),
    "sampling rate of zero": ([(("release",), {"sampling_rate": 0})], "release", "sampling_rate",
        "above 0 and at most 1", "0"),
    "sampling rate above one": ([(("release",), {"sampling_rate": 1.5})], "release", "sampling_rate",
        "above 0 and at most 1", "1.5"),
    "negative suppression": ([(("release",), {"suppressed_below": -1})], "release", "suppressed_below",
        "whole number from 0", "-1"),
    "no trees": ([(("trees",), [])], "document", "trees", "a non-empty list of trees", "an empty list"),
    "tree no object": ([(("trees", 0), [])], "tree", "content", "an object", "an empty list"),
    "no nodes": ([(("trees", 0, "nodes"), [])], "tree", "nodes", "a non-empty list of nodes", "an empty list"),
    "unknown algorithm type": ([(("trees", 0, "induction", "algorithm"), 3)], "induction", "algorithm",
        "a non-empty string", "3"),
    "unknown impurity": ([(("trees", 0, "induction", "impurity"), "chi2")], "induction", "impurity",
        "gini, entropy, gain_ratio, null", "'chi2'"),
    "unknown candidates": ([(("trees", 0, "induction", "candidates"), "all")], "induction", "candidates",
        "unused, thresholds, mixed, none", "'all'"),
    "unknown encoding": ([(("trees", 0, "induction", "encoding"), "hash")], "induction", "encoding", "ordinal, onehot",
        "'hash'"),
    "min_samples_leaf of zero": ([(("trees", 0, "induction", "min_samples_leaf"), 0)], "induction", "min_samples_leaf",
        "whole number from 1", "0"),
    "k that is true": ([(("trees", 0, "induction", "k"), True)], "induction", "k", "whole number from 1", "true"),
    "compared attributes twice": ([(("trees", 0, "induction", "compared"), ["Education", "Education"])], "induction",
        "compared", "attributes that are all different", "more than once"),
    "compared attributes that are no list": ([(("trees", 0, "induction", "compared"), "Education")], "induction",
        "compared", "a non-empty list of attributes", "'Education'"),
    "misspelt induction key": ([(("trees", 0, "induction", "impurty"), "gini")], "induction", "impurty",
        "did you mean impurity?", "'impurty'"),
    "misspelt node key": ([((*L1, "eror_rate"), 0.1)], "node L1", "eror_rate", "did you mean error_rate?", "eror_rate"),
    "misspelt branch key": ([((*N1, "branches", 0, "childs"), "x")], "node N1, branch 1", "childs",
        "did you mean child?", "'childs'"),
    "id that is a number": ([((*L3, "id"), 3), ((*N2, "branches", 1, "child"), None)], "node number 5", "id",
        "a non-empty string", "3"),
    "inner node with a label": ([((*N2, "label"), "low")], "node N2", "label", "no such key on an inner node", "'low'"),
    "inner node with an error rate": ([((*N2, "error_rate"), 0.5)], "node N2", "error_rate",
        "no such key on an inner node", "0.5"),
    "branches without attribute": ([((*N2, "attribute"), REMOVE)], "node N2", "attribute", "the name of an attribute",
        "nothing"),
    "empty in": ([((*N1, "branches"), [{"in": [], "child": "N2"}, {"in": ["Doctorate"], "child": "L1"}])],
        "node N1, branch 1", "in", "a non-empty list of values of Education", "an empty list"),
    "in that repeats": ([((*N1, "branches", 0, "in"), ["Masters", "Masters"])], "node N1, branch 1", "in",
        "all different", "'Masters' more than once"),
    "in that is a string": ([((*N1, "branches", 0, "in"), "Masters")], "node N1, branch 1", "in", "a non-empty list",
        "'Masters'"),
    "le on a categorical attribute": ([((*N1, "branches", 0, "le"), 3)], "node N1, branch 1", "le",
        "since Education is categorical", "3"),
    "numeric branch without a test": ([((*N2, "branches", 0), {"child": "L2"})], "node N2, branch 1", "le, gt",
        "at least one bound", "nothing"),
    "bound that is a string": ([((*N2, "branches", 0, "le"), "37.5")], "node N2, branch 1", "le", "a finite number",
        "'37.5'"),
    "branch without child": ([((*N2, "branches", 1), {"gt": 37.5}), (L3, REMOVE)], "node N2, branch 2", "child",
        "the id of a node, or null", "nothing"),
    "no branches": ([(("trees", 0, "nodes"), [{"id": "N1", "attribute": "Age", "branches": []}])], "node N1",
        "branches", "a non-empty list of branches", "an empty list"),
    "error rate above one": ([((*L1, "error_rate"), 1.2)], "node L1", "error_rate", "a number from 0 to 1", "1.2"),
    "error rate that is true": ([((*L1, "error_rate"), True)], "node L1", "error_rate", "a number from 0", "true"),
    "error rate without label": ([((*L1, "label"), REMOVE)], "node L1", "label", "that error_rate is about", "nothing"),
    "label that is null": ([((*L1, "label"), None), ((*L1, "error_rate"), REMOVE)], "node L1", "label", "low", "null"),
    "n that is negative": ([(L2, {"id": "L2", "n": -4})], "node L2", "n", "a whole number from 0", "-4"),
    "counts that are a list": ([((*L2, "counts"), [3, 1])], "node L2", "counts", "an object from", "a list of 2"),
    "count that is negative": ([((*L2, "counts", "low"), -3)], "node L2", "counts of low", "a whole number from 0",
        "-3"),
    "no draws": ([(("release",), {"resampled": 0})], "release", "resampled", "a whole number from 1", "0"),
    "mistake in the second induction": ([(("trees",),
        [*BASE["trees"], {"induction": {"k": 0}, "nodes": [{"id": "R"}]}])], "tree 2, induction", "k",
        "a whole number from 1", "0"),
}  # fmt: skip
ONE_MISTAKE = OF_THE_SCHEMA | {
    "attribute named like the target": ([(("target", "name"), "Age")], "attribute Age", "name",
        "other than the target's", "'Age'"),
    "attribute twice": ([(("attributes",), [*BASE["attributes"], BASE["attributes"][1]])], "attribute Age", "name",
        "no other attribute", "'Age'"),
    "half a surrogate pair": ([(("attributes", 0, "values"), ["Masters", "Doctorate", "\ud800"])],
        "attribute Education", "values", "strings", "'\\ud800'"),
    "suppressed count published": ([(("release",), {"suppressed_below": 2}), ((*L2, "counts"), {"low": 3}),
        ((*L3, "counts"), {"high": 2})], "node L1", "counts of low", "0 or at least 2", "1"),
    "compared attributes that there are not": ([(("trees", 0, "induction", "compared"), ["Education", "Educaton"])],
        "induction", "compared", "attributes (Education", "Educaton"),
    "id used twice": ([(L3, {"id": "L2", "counts": {"low": 1, "high": 2}}), ((*N2, "branches", 1, "child"), None)],
        "node L2", "id", "no other node of the tree has", "nodes number 4 and 5"),
    "unknown attribute": ([((*N2, "attribute"), "age")], "node N2", "attribute",
        "name of an attribute (Education, Age)", "'age'"),
    "value outside the domain": ([((*N1, "branches", 1, "in"), ["Doctorate", "PhD"])], "node N1, branch 2", "in",
        "values of Education (Masters, Doctorate)", "'PhD'"),
    "in on a numeric attribute": ([((*N2, "branches", 0), {"in": ["37"], "child": "L2"})], "node N2, branch 1", "in",
        "since Age is numeric", "a list of 1"),
    "bound that is not finite": ([((*N2, "branches", 0, "le"), float("inf"))], "node N2, branch 1", "le",
        "a finite number", "inf"),
    "bound that no float holds": ([((*N2, "branches", 0, "le"), 10**400)], "node N2, branch 1", "le", "a finite number",
        "digits"),
    "bounds the wrong way round": ([((*N2, "branches", 0, "gt"), 37.5)], "node N2, branch 1", "gt", "below le (37.5)",
        "37.5"),
    "categorical overlap": ([((*N1, "branches", 0, "in"), ["Masters", "Doctorate"])], "node N1, branch 2", "in",
        "no overlap", "'Doctorate', also in branch 1"),
    "categorical gap": ([((*N1, "branches"), [{"in": ["Masters"], "child": "N2"}]), ((*N1, "counts"), REMOVE),
        (L1, REMOVE)], "node N1", "branches", "cover every value of Education", "no branch for 'Doctorate'"),
    "numeric overlap": ([((*N2, "branches", 1, "gt"), 30)], "node N2, branch 2", "le, gt", "no overlap",
        "gt 30.0, while branch 1 has le 37.5"),
    "numeric gap": ([((*N2, "branches", 1, "gt"), 40)], "node N2", "branches", "cover every value of Age",
        "no branch for gt 37.5 and le 40.0"),
    "dangling child": ([((*N2, "branches", 1, "child"), "L9"), (L3, REMOVE)], "node N2, branch 2", "child",
        "the id of a node of this tree", "'L9'"),
    "child of two parents": ([((*N2, "branches"), leaf_pair("L2", "L1")), (L3, REMOVE), ((*N2, "n"), REMOVE),
        ((*N1, "counts"), REMOVE)], "node N2, branch 2", "child", "the child of no other branch",
        "'L1', already the child of node N1, branch 2"),
    "child twice of one parent": ([((*N2, "branches"), leaf_pair("L2", "L2")), (L3, REMOVE)], "node N2, branch 2",
        "child", "the child of no other branch", "already the child of node N2, branch 1"),
    "root as a child": ([((*N2, "branches", 1, "child"), "N1"), (L3, REMOVE)], "node N2, branch 2", "child",
        "not above this branch", "'N1', the root, which closes a cycle"),
    "cycle below the root": ([((*N2, "branches", 1, "child"), "N2"), (L3, REMOVE)], "node N2, branch 2", "child",
        "not above this branch", "'N2', which closes a cycle"),
    "cycle apart from the root": ([(("trees", 0, "nodes"), [{"id": "L0"},
        {"id": "A", "attribute": "Age", "branches": [{"le": 1, "child": "B"}, {"gt": 1, "child": None}]},
        {"id": "B", "attribute": "Age", "branches": [{"le": 1, "child": "A"}, {"gt": 1, "child": None}]}])], "node A",
        "branches", "a parent that the root leads to", "a cycle"),
    "node that nothing leads to": ([((*N2, "branches", 1, "child"), None)], "node L3", "id",
        "a node that some branch leads to", "no branch with child 'L3'"),
    "error rate that is NaN": ([((*L1, "error_rate"), float("nan"))], "node L1", "error_rate", "a number from 0 to 1",
        "nan"),
    "error rate against the counts": ([((*L1, "error_rate"), 0.33)], "node L1", "error_rate",
        "counts that are not 'high', 0.25", "0.33"),
    "error rate no majority can have": ([(L1, {"id": "L1", "label": "high", "error_rate": 0.75})], "node L1",
        "error_rate", "at most 0.5, since the label is a most frequent of 2", "0.75"),
    "label that is no class": ([((*L1, "label"), "High")], "node L1", "label", "(low, high)", "'High'"),
    "label against the counts": ([(L1, {"id": "L1", "label": "low", "counts": {"low": 1, "high": 3}})], "node L1",
        "label", "a most frequent class of counts (high: 3)", "'low', which has 1"),
    "n that is a float": ([((*L2, "n"), 4.0)], "node L2", "n", "a whole number from 0", "4.0"),
    "n of thousands of digits": ([(L2, {"id": "L2", "n": 10**5000})], "node L2", "n", "a whole number", "digits"),
    "n against the counts": ([((*L2, "n"), 5)], "node L2", "n", "the sum of counts, 4", "5"),
    "counts of no class": ([((*L2, "counts"), {"low": 3, "middle": 1})], "node L2", "counts",
        "classes of the target (low, high)", "'middle'"),
    "counts against the children": ([((*N1, "counts", "low"), 6)], "node N1", "counts of low",
        "the sum of its children, 5", "6"),
    "counts below what is left of the children": ([((*N1, "counts"), {"low": 3, "high": 8}),
        ((*N2, "branches", 1, "child"), None), (L3, REMOVE)], "node N1", "counts of low",
        "at least what its children state, 4", "3"),
    "n against the children": ([((*N2, "n"), 9), ((*N1, "counts"), REMOVE)], "node N2", "n", "its children, 7", "9"),
    "n below what is left of the children": ([((*N2, "n"), 3), ((*N2, "branches", 1, "child"), None),
        ((*N1, "counts"), REMOVE), (L3, REMOVE)], "node N2", "n", "at least what its children state, 4", "3"),
    "draws beside a sample": ([(("release",), {"resampled": 11, "sampling_rate": 0.5})], "release", "sampling_rate",
        "no such key beside resampled", "0.5"),
    "draws beside suppression": ([(("release",), {"resampled": 11, "suppressed_below": 2})], "release",
        "suppressed_below", "no such key beside resampled", "2"),
    "other draws than were made": ([(("release",), {"resampled": 12})], "node N1", "n",
        "as many draws as release.resampled says, 12", "11"),
    "different records without draws": ([((*L1, "distinct"), 3)], "node L1", "distinct",
        "no such key, unless release.resampled", "3"),
    "more different records than draws": ([(("release",), {"resampled": 11}), ((*L1, "distinct"), 50)], "node L1",
        "distinct", "2 to 4 different records", "50"),
    "trees of different records": ([(("trees",),
        [*BASE["trees"], {"nodes": [{"id": "R", "counts": {"low": 6, "high": 5}}]}])], "tree 2, node R", "counts",
        "the counts of tree 1, node N1, low: 5, high: 6", "low: 6, high: 5"),
    "trees of different sizes": ([(("trees",), [*BASE["trees"], {"nodes": [{"id": "R", "n": 12}]}])], "tree 2, node R",
        "n", "as many records as tree 1, node N1, 11", "12"),
    "mistake in the second tree": ([(("trees",), [*BASE["trees"], {"nodes": [{"id": "R", "label": "none"}]}])],
        "tree 2, node R", "label", "a class of the target (low, high)", "'none'"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", ONE_MISTAKE)
def test_a_single_mistake_is_named_with_place_field_expected_and_found(mistake):
    changes, where, field, expected, found = ONE_MISTAKE[mistake]
    problems = problems_of(changed(*changes))
    assert [(p.where, p.field) for p in problems] == [(where, field)]
    assert expected in problems[0].expected
    assert found in problems[0].found
    assert len(str(problems[0])) < 300


@pytest.mark.parametrize("mistake", OF_THE_SCHEMA)
def test_the_schema_sees_it_too(mistake):
    assert not Draft202012Validator(release_schema()).is_valid(changed(*OF_THE_SCHEMA[mistake][0]))


@pytest.mark.parametrize("classes", [[], ["low", "low"], ["low", ""], ["low", 5], "low", None, {"low": 1}])
def test_classes_that_cannot_be_used_are_refused_and_nothing_else_is_blamed(classes):
    problems = problems_of(changed((("target", "classes"), classes)))
    assert [(p.where, p.field) for p in problems] == [("target", "classes")]


@pytest.mark.parametrize("document", [None, [], "tree", 5, True, 0.5, object()])
def test_a_document_that_is_no_object_is_refused(document):
    (problem,) = problems_of(document)
    assert (problem.where, problem.field, problem.expected) == ("document", "content", "an object")


def test_an_inner_node_with_everything_a_leaf_has_is_refused_twice():
    problems = problems_of(changed((N2, BASE["trees"][0]["nodes"][1] | {"label": "low", "error_rate": 0.1})))
    assert [(p.where, p.field) for p in problems] == [("node N2", "label"), ("node N2", "error_rate")]


def test_independent_mistakes_are_all_reported():
    problems = problems_of(
        changed(
            (("target", "name"), ""),
            (("attributes", 1, "role"), "hidden"),
            ((*N1, "branches", 0, "in"), ["Masters", "PhD"]),
            ((*L1, "error_rate"), -0.1),
            ((*L3, "child"), "x"),
            ((*L2, "n"), "4"),
        )
    )
    assert {(p.where, p.field) for p in problems} == {
        ("target", "name"),
        ("attribute Age", "role"),
        ("node N1, branch 1", "in"),
        ("node L1", "error_rate"),
        ("node L3", "child"),
        ("node L2", "n"),
    }


def test_message_reads_as_a_sentence():
    problems = problems_of(changed(((*L1, "error_rate"), 1.2)))
    assert problems == (Problem("node L1", "error_rate", "a number from 0 to 1", "1.2"),)
    with pytest.raises(
        InvalidInput, match=r"^tree\.json: node L1: error_rate: expected a number from 0 to 1, found 1\.2$"
    ):
        parse_release(changed(((*L1, "error_rate"), 1.2)), "tree.json")


def test_long_and_unprintable_names_stay_short_and_on_one_line():
    problems = problems_of(changed(((*L3, "id"), "x\n" * 500), ((*L2, "a" * 1000), 1)))
    assert all(len(str(p)) < 400 and "\n" not in str(p) for p in problems)


def test_thousands_of_unknown_keys_are_summed_up():
    problems = problems_of(BASE | {f"key{i}": i for i in range(5000)})
    assert len(problems) == 21
    assert problems[-1].found == "4980 more unknown keys"


def test_values_that_cannot_reach_a_node_may_be_named_or_left_out():
    others, middle, high = (
        {"in": ["Doctorate"], "child": "L"},
        {"gt": 3, "le": 5, "child": "D"},
        {"gt": 9, "child": None},
    )
    nodes = [
        {"id": "N", "attribute": "Education", "branches": [{"in": ["Masters"], "child": "M"}, others]},
        {"id": "M", "attribute": "Education", "branches": [{"in": ["Masters"], "child": "A"}]},
        {"id": "A", "attribute": "Age", "branches": [{"le": 5, "child": "B"}, {"gt": 5, "child": None}]},
        {"id": "B", "attribute": "Age", "branches": [{"le": 3, "child": "C"}, middle, high]},
        {"id": "C"}, {"id": "D"}, {"id": "L"},
    ]  # fmt: skip
    assert len(parse_release(changed((("trees", 0, "nodes"), nodes)), "tree.json").trees[0].nodes) == 7
    nodes[1]["branches"][0]["in"] = ["Doctorate"]
    nodes[3]["branches"][1]["le"] = 4
    found = {(p.where, p.found) for p in problems_of(changed((("trees", 0, "nodes"), nodes)))}
    assert found == {("node M", "no branch for 'Masters'")}  # below, nothing can reach any more


def test_every_overlap_with_a_wide_interval_is_reported():
    branches = [{"gt": -5, "child": "L2"}, {"gt": 1, "le": 2, "child": "L3"}, {"le": 9, "gt": 8, "child": None}]
    problems = problems_of(changed(((*N2, "branches"), branches)))
    assert [(p.where, p.field) for p in problems] == [
        ("node N2, branch 2", "le, gt"),
        ("node N2, branch 3", "le, gt"),
        ("node N2", "branches"),
    ]
    assert problems[2].found == "no branch for le -5.0"


@pytest.mark.parametrize(
    ("release", "changes", "accepted"),
    [
        # Suppressed: what is published may be less than what there is, never more.
        ({"suppressed_below": 3}, [((*L1, "counts"), {"high": 3}), ((*L2, "counts"), {"low": 3})], True),
        ({"suppressed_below": 3}, [((*L1, "counts"), {"high": 7}), ((*L2, "counts"), {"low": 3})], False),
        # Sampled: a rate of the whole population need not be the sample's, but sums still have to hold.
        ({"sampling_rate": 0.5}, [((*L1, "error_rate"), 0.4)], True),
        ({"sampling_rate": 0.5}, [((*L1, "counts", "high"), 4)], False),
    ],
)
def test_sampling_and_suppression_loosen_only_what_they_hide(release, changes, accepted):
    hidden = [((*L3, "counts"), REMOVE), ((*L3, "label"), REMOVE)] if "suppressed_below" in release else []
    document = changed((("release",), release), *hidden, *changes)
    if accepted:
        assert parse_release(document, "tree.json").trees
    else:
        assert {p.where for p in problems_of(document)} == {"node N1"}


def test_trees_with_samples_of_their_own_or_removed_leaves_need_not_agree():
    other = {"nodes": [{"id": "R", "counts": {"low": 60, "high": 50}}]}
    sampled = changed((("release",), {"sampling_rate": 0.5}), (("trees",), [*BASE["trees"], other]))
    assert len(parse_release(sampled, "tree.json").trees) == 2
    branches = [{"le": 1, "child": None}, {"gt": 1, "child": None}]
    removed = {"nodes": [{"id": "R", "attribute": "Age", "branches": branches, "n": 3}]}
    assert len(parse_release(changed((("trees",), [*BASE["trees"], removed])), "tree.json").trees) == 2


def write(tmp_path, content):
    path = tmp_path / "tree.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


TEXT = json.dumps(BASE)
NOT_STRICT = {
    "empty": (b"", "file", "content", "a JSON object", "an empty file"),
    "blank": (b"\xef\xbb\xbf \n", "file", "content", "a JSON object", "an empty file"),
    "not UTF-8": (b'{\n"format": "\xff"}', "line 2", "encoding", "text in UTF-8", "byte 0xff at position 13"),
    "UTF-16": (TEXT.encode("utf-16"), "line 1", "encoding", "text in UTF-8", "byte 0xff"),
    "truncated": ('{\n"format": "maxent/1",\n  "target"', "line 3, column 11", "JSON", "':' delimiter", "end of the"),
    "trailing comma": ('{"format": "maxent/1",}', "line 1, column", "JSON", "well-formed JSON", "other text"),
    "text after the end": (TEXT + "\n}", "line 2, column 1", "JSON", "extra data", "other text"),
    "a list": ("[1, 2]", "document", "content", "a JSON object", "a list"),
    "nested lists": ("[" * 200_000, "document", "content", "a JSON object", "a list"),
    "nested lists in an object": ('{"trees": ' + "[" * 200_000, "document", "nesting", "at most 8 levels", "too many"),
    "nested objects": ('{"a":' * 200_000, "document", "nesting", "at most 8 levels", "too many"),
    "NaN": (TEXT.replace("0.25", "NaN"), "node L1", "error_rate", "a number from 0 to 1", "NaN"),
    "Infinity": (TEXT.replace('"le": 37.5', '"le": Infinity'), "node N2, branch 1", "le", "finite", "Infinity"),
    "minus Infinity": (TEXT.replace('"gt": 37.5', '"gt": -Infinity'), "node N2, branch 2", "gt", "finite", "-Infinity"),
    "1e999": (TEXT.replace("0.25", "1e999"), "node L1", "error_rate", "a number from 0 to 1", "1e999"),
    "5,000 digits": (TEXT.replace('"n": 7', '"n": ' + "7" * 5000), "node N2", "n", "a whole number", "777..."),
    "key twice in a node": (TEXT.replace('"n": 7', '"n": 7, "n": 7'), "node N2", "n", "each key once", "'n' 2 times"),
    "key twice in counts": (
        TEXT.replace('"low": 3', '"low": 4, "low": 3'), "node L2, counts", "low", "each key once", "'low' 2 times",
    ),
    "key twice in a branch": (
        TEXT.replace('"le": 37.5', '"le": 37.5, "le": 37.5'), "node N2, branch 1", "le", "each key once", "2 times",
    ),
    "key twice in the document": (
        TEXT.replace("{", '{"format": "x", ', 1), "document", "format", "each key once", "'format' 2 times",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", NOT_STRICT)
def test_a_file_that_is_not_strict_json_is_refused(mistake, tmp_path):
    content, where, field, expected, found = NOT_STRICT[mistake]
    path = write(tmp_path, content)
    caught = refusal(load_release, path)
    (problem,) = caught.problems
    assert caught.source == str(path)
    assert problem.where.startswith(where)
    assert problem.field == field
    assert expected in problem.expected
    assert found in problem.found
    assert len(str(problem)) < 250


def test_deep_nesting_in_a_field_is_refused_and_not_followed(tmp_path):
    depth = sys.getrecursionlimit() // 3
    path = write(tmp_path, TEXT.replace("0.25", "[" * depth + "]" * depth))
    refused("node L1: error_rate: expected a number from 0 to 1, found a list of 1", load_release, path)


@pytest.mark.parametrize(
    ("name", "found"), [("", "a directory"), ("none.json", "no such file or directory"), ("a\0b", "null")]
)
def test_a_path_that_holds_no_file_is_refused(name, found, tmp_path):
    with pytest.raises(InvalidInput, match=f"file: path: expected a file that can be read, found .*{found}"):
        load_release(os.path.join(tmp_path, name))
    with pytest.raises(InvalidInput, match=found):  # whatever else is asked of it
        maxent.convert(os.path.join(tmp_path, name), parameters={"tolerance": "1e-3"})


def test_a_file_without_permission_is_refused(tmp_path, monkeypatch):
    def forbidden(*_):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "tree.json").write_text("{}", encoding="utf-8")
    monkeypatch.setattr("os.open", forbidden)
    refused("expected a file that can be read, found Permission denied", load_release, tmp_path / "tree.json")


def test_a_file_beyond_the_limit_is_refused_unread(tmp_path, monkeypatch):
    monkeypatch.setattr(strict_json, "MAX_BYTES", 2**20)
    with pytest.raises(InvalidInput, match="file: size: expected at most 4 MiB, found a larger file"):
        load_release(write(tmp_path, b"{" + b" " * 2**22))


def test_a_file_up_to_four_times_the_limit_has_no_mistake_in_it(tmp_path, monkeypatch):
    monkeypatch.setattr(strict_json, "MAX_BYTES", 2**20)
    large = TEXT[:-1].encode() + b" " * 2**20
    assert load_release(write(tmp_path, large + b"}")).target.name == "Salary"
    with pytest.raises(InvalidInput, match="file: size: expected at most 1 MiB, or 4 times as much without any mis"):
        load_release(write(tmp_path, large + b"]"))


def test_a_huge_line_that_is_no_object_is_refused_by_its_first_character(tmp_path, monkeypatch):
    monkeypatch.setattr(json, "loads", lambda *_, **__: pytest.fail("decoded"))
    with pytest.raises(InvalidInput, match="document: content: expected a JSON object"):
        load_release(write(tmp_path, b"[" + b"0," * 1_000_000 + b"0]"))
