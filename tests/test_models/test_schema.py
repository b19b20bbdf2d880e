"""The JSON Schema that is shipped accepts what the reader accepts, and refuses what is structurally wrong."""

import copy

import pytest
from jsonschema import Draft202012Validator

from maxent.models.errors import InvalidInput
from maxent.models.formats.maxent_json.read import parse_release, release_schema
from maxent.models.formats.maxent_json.write import release_to_document

DOCUMENT = {
    "format": "maxent/1",
    "target": {"name": "Salary", "classes": ["<=50K", ">50K"]},
    "attributes": [
        {"name": "Education", "type": "categorical", "values": ["Masters", "Doctorate"]},
        {"name": "Age", "type": "numeric"},
        {"name": "SportsCar", "type": "categorical", "values": ["yes", "no"], "role": "private"},
    ],
    "release": {"sampling_rate": 0.1, "suppressed_below": 5},
    "trees": [
        {
            "induction": {"algorithm": "id3", "impurity": "entropy", "candidates": "unused"},
            "nodes": [
                {
                    "id": "N1",
                    "attribute": "Education",
                    "branches": [{"in": ["Masters"], "child": "N2"}, {"in": ["Doctorate"], "child": "L1"}],
                },
                {
                    "id": "N2",
                    "attribute": "Age",
                    "branches": [{"le": 37.5, "child": "L2"}, {"gt": 37.5, "child": "L3"}],
                },
                {"id": "L1", "label": ">50K", "error_rate": 0.25, "n": 4},
                {"id": "L2", "counts": {"<=50K": 3, ">50K": 1}},
                {"id": "L3", "label": "<=50K"},
            ],
        }
    ],
}
INDUCTION = ("trees", 0, "induction")
N1, N2, L1, L2, L3 = (("trees", 0, "nodes", i) for i in range(5))
REMOVE = object()
STRUCTURAL = [
    (("format",), "maxent/2"),
    (("format",), REMOVE),
    (("extra",), 1),
    (("target", "classes"), []),
    (("target", "classes"), ["a", "a"]),
    (("target", "name"), ""),
    (("target", "extra"), 1),
    (("attributes",), {}),
    (("attributes", 0, "values"), REMOVE),
    (("attributes", 0, "type"), "ordinal"),
    (("attributes", 0, "extra"), 1),
    (("attributes", 1, "values"), ["1"]),
    (("attributes", 1, "type"), REMOVE),
    (("attributes", 2, "role"), "secret"),
    (("release", "sampling_rate"), 0),
    (("release", "sampling_rate"), True),
    (("release", "suppressed_below"), -1),
    (("release", "rounded"), 5),
    (("release", "rounded"), {"base": 5}),
    (("release", "rounded"), {"base": 1, "method": "nearest"}),
    (("release", "rounded"), {"base": 5, "method": "up"}),
    (("release", "rounded"), {"base": 5, "method": "down", "seed": 1}),
    (("release", "extra"), 1),
    (("trees",), []),
    (("trees", 0, "extra"), 1),
    (("trees", 0, "nodes"), []),
    ((*INDUCTION, "impurity"), "chi2"),
    ((*INDUCTION, "candidates"), None),
    ((*INDUCTION, "encoding"), "hash"),
    ((*INDUCTION, "k"), 0),
    ((*INDUCTION, "min_samples_leaf"), "1"),
    ((*INDUCTION, "algorithm"), 3),
    ((*N1, "label"), "<=50K"),
    ((*N1, "branches"), []),
    ((*N1, "attribute"), REMOVE),
    ((*N1, "branches", 0, "in"), []),
    ((*N1, "branches", 0, "le"), 3),
    ((*N1, "branches", 0, "child"), 3),
    ((*N1, "branches", 0, "child"), REMOVE),
    ((*N2, "branches", 0, "le"), REMOVE),
    ((*N2, "branches", 0, "le"), "37.5"),
    ((*L1, "id"), REMOVE),
    ((*L1, "error_rate"), 1.2),
    ((*L1, "label"), REMOVE),
    ((*L1, "n"), 1.5),
    ((*L1, "n"), 2**60),
    ((*L1, "eror_rate"), 0.1),
    ((*L2, "counts", ">50K"), -1),
    ((*L2, "counts"), [3, 1]),
    ((*L3, "label"), None),
    ((*L3, "part_of"), ""),
    ((*L1, "part_of"), "L"),
    ((*N2, "part_of"), "L"),
]


@pytest.fixture(scope="module")
def validator():
    return Draft202012Validator(release_schema())


def test_checking_the_schema_itself_raises_nothing():
    Draft202012Validator.check_schema(release_schema())


def test_the_documented_example_and_its_saved_form_are_valid(validator):
    release = parse_release(DOCUMENT, "tree.json")
    for document in (DOCUMENT, release_to_document(release)):
        assert [error.message for error in validator.iter_errors(document)] == []


def test_optional_parts_are_valid(validator):
    document = copy.deepcopy(DOCUMENT)
    del document["release"]
    document["trees"][0]["induction"] = {"impurity": None, "min_samples_leaf": 8, "k": 5, "encoding": "onehot"}
    document["trees"][0]["nodes"][1]["branches"] = [
        {"le": 1, "gt": 0, "child": "L2"},
        {"le": 0, "child": "L3"},
        {"gt": 1, "child": None},
    ]
    assert list(validator.iter_errors(document)) == []
    assert parse_release(document, "tree.json").trees[0].induction.k == 5


@pytest.mark.parametrize(("path", "value"), STRUCTURAL)
def test_structural_errors_fail_the_schema_and_the_reader(path, value, validator):
    document = copy.deepcopy(DOCUMENT)
    at = document
    for key in path[:-1]:
        at = at[key]
    if value is REMOVE:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    assert not validator.is_valid(document)
    with pytest.raises(InvalidInput):
        parse_release(document, "tree.json")


def test_the_schema_is_a_fresh_copy_each_time():
    release_schema()["properties"].clear()
    assert "trees" in release_schema()["properties"]
