"""What a release says wrongly of how its records were counted is one problem, on every way to read it."""

import json
from dataclasses import replace

import pytest
from support.calls import refusal
from support.documents import release_document

from maxent.models.formats.maxent_json.read import LARGE, parse_release, validate_release
from maxent.models.formats.registry import load_release
from maxent.models.reading import Reading

SPLIT = {"id": "N", "attribute": "Age", "branches": [{"le": 3, "child": "A"}, {"gt": 3, "child": "B"}]}


def document(publication, *trees):
    """A document of trees with two leaves each, which have what is stated of them."""
    nodes = [[SPLIT, {"id": "A", **left}, {"id": "B", **right}] for left, right in trees]
    return release_document("Y", ["low", "high"], {"Age": None}, *(each for each in nodes), release=publication)


def counted(low, high, **more):
    return {"counts": {"low": low, "high": high}, **more}


DRAWN = [(counted(low, 1, distinct=2), counted(0, 6 - low, n=6 - low, distinct=1)) for low in (1, 2, 3)]
SAMPLED = [
    (counted(low, 1, label="low", error_rate=0.45), counted(0, 3, rates={"low": 0.2, "high": 0.8})) for low in (1, 2, 3)
]
SUPPRESSED = [(counted(0, 9, n=11, label="low"), counted(low, 0, n=low + 2)) for low in (7, 8)]
ROUNDED = [(counted(5, 10, n=20), counted(low, 0, n=low)) for low in (5, 10)]
WRONG = ["yes", -3, 0, 2.5, True, None, [7], {}, 2**60]
STATED = {
    "resampled": (DRAWN, {"resampled": 7}, [{"resampled": wrong} for wrong in WRONG]),
    "sampling_rate": (SAMPLED, {"sampling_rate": 0.5}, [{"sampling_rate": wrong} for wrong in WRONG]),
    "suppressed_below": (
        SUPPRESSED,
        {"suppressed_below": 3},
        [{"suppressed_below": wrong} for wrong in WRONG if wrong != 0],
    ),
    "base": (ROUNDED, {"rounded": {"base": 5, "method": "nearest"}}, [{"rounded": {"base": 1, "method": "nearest"}}]),
    "method": (ROUNDED, {"rounded": {"base": 5, "method": "nearest"}}, [{"rounded": {"base": 5, "method": "up"}}]),
    "rounded": (ROUNDED, {"rounded": {"base": 5, "method": "nearest"}}, [{"rounded": 5}]),
    "release": (DRAWN, {"resampled": 7}, [[{"resampled": 7}], None]),
}


def in_memory(content, tmp_path):
    return parse_release(content, "tree.json")


def in_a_file(content, tmp_path, size=0, **reading):
    path = tmp_path / "tree.json"
    path.write_text(json.dumps(content) + " " * size)
    return load_release(path, **reading)


def in_a_large_file(content, tmp_path):
    return in_a_file(content, tmp_path, LARGE)


def with_stripped_names(content, tmp_path):
    return in_a_file(content, tmp_path, reading=Reading(text="strip"))


READ = [in_memory, in_a_file, in_a_large_file, with_stripped_names]


@pytest.mark.parametrize("read", READ)
@pytest.mark.parametrize("key", STATED)
def test_a_wrong_value_is_one_problem_and_no_number_is_blamed_for_it(key, read, tmp_path):
    trees, right, wrong = STATED[key]
    assert len(read(document(right, *trees), tmp_path).trees) == len(trees)
    for publication in wrong:
        caught = refusal(read, document(publication, *trees), tmp_path)
        assert [problem.field for problem in caught.problems] == [key], publication


@pytest.mark.parametrize("wrong", ["yes", -3, 0, 2.5, True])
def test_so_it_is_of_a_release_that_was_made_in_memory(wrong):
    release = parse_release(document({"resampled": 7}, *DRAWN), "tree.json")
    for one in (release, replace(release, trees=tuple(replace(t, nodes=tuple(t.nodes)) for t in release.trees))):
        caught = refusal(validate_release, replace(one, resampled=wrong))
        assert [problem.field for problem in caught.problems] == ["resampled"]


def test_what_is_wrong_however_records_were_counted_is_reported_beside_it():
    trees = [(counted(4, 1, n=3), counted(0, 2, distinct=5)), *DRAWN]
    caught = refusal(parse_release, document({"resampled": "7", "sampling_rate": 0.5}, *trees), "tree.json")
    found = [(problem.where, problem.field) for problem in caught.problems]
    nodes = [("tree 1, node A", "n"), ("tree 1, node B", "distinct")]
    assert found == [("release", "resampled"), ("release", "sampling_rate"), *nodes]


@pytest.mark.parametrize("read", READ)
@pytest.mark.parametrize(
    ("said", "field"),
    [({"label": "low", "error_rate": 0.3}, "error_rate"), ({"rates": {"low": 0.55, "high": 0.45}}, "rates of low")],
)
def test_rates_of_draws_are_those_of_their_counts(said, field, read, tmp_path):
    right = {"label": "low", "error_rate": 0.2} if "label" in said else {"rates": {"low": 0.8, "high": 0.2}}
    assert read(document({"resampled": 7}, (counted(4, 1, **right), counted(0, 2))), tmp_path).resampled == 7
    caught = refusal(read, document({"resampled": 7}, (counted(4, 1, **said), counted(0, 2))), tmp_path)
    assert caught.problems[0].field == field
