"""Counts that are rounded to a base: the format, and what a published number says."""

import copy
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from strategies import Style, cases, roundings, thorough

from maxent.models.defenses.leaf_pruning import prune_leaf, prune_parent
from maxent.models.errors import InvalidInput
from maxent.models.formats.maxent_json.check_tree import checked_release
from maxent.models.formats.maxent_json.read import parse_release
from maxent.models.formats.maxent_json.typed.document import read_typed
from maxent.models.formats.maxent_json.write import release_to_document
from maxent.models.release import Rounded
from maxent.models.trees.predict import predict_columns
from maxent.models.trees.restate import restate

DOCUMENT = {
    "format": "maxent/1",
    "target": {"name": "Y", "classes": ["well", "ill"]},
    "attributes": [{"name": "Age", "type": "numeric"}],
    "release": {"rounded": {"base": 5, "method": "nearest"}},
    "trees": [
        {
            "nodes": [
                {
                    "id": "N1",
                    "attribute": "Age",
                    "branches": [{"le": 37.5, "child": "L1"}, {"gt": 37.5, "child": "L2"}],
                    "counts": {"well": 15, "ill": 5},
                },
                {"id": "L1", "label": "well", "counts": {"well": 15, "ill": 0}, "n": 15},
                {"id": "L2", "label": "ill", "counts": {"well": 0, "ill": 5}, "n": 5},
            ]
        }
    ],
}
N1, L1, L2 = (("trees", 0, "nodes", i) for i in range(3))


def changed(path, value):
    document = copy.deepcopy(DOCUMENT)
    at = document
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return document


def parsed(document):
    return parse_release(document, "tree.json")


def rounded_to(true, rounded):
    """Every number that a number of records can be published as."""
    below, base = true - true % rounded.base, rounded.base
    both = {below, below if true == below else below + base}
    if rounded.method == "down":
        return {below}
    if rounded.method == "random":
        return both
    return {each for each in both if abs(each - true) == min(abs(other - true) for other in both)}


@pytest.mark.parametrize("method", ["nearest", "random", "down"])
@pytest.mark.parametrize("base", [2, 3, 4, 5, 10])
def test_a_published_number_stands_for_those_that_are_rounded_to_it(base, method):
    rounded = Rounded(base, method)
    for published in range(0, 4 * base, base):
        low, high = rounded.behind(np.array([published]))
        behind = [true for true in range(6 * base) if published in rounded_to(true, rounded)]
        assert behind == list(range(int(low[0]), int(high[0]) + 1))


@thorough(24)
@given(case=cases(trees=(1, 2), style=roundings().map(lambda one: Style(rounded=one, inner="mixture"))))
def test_both_readers_take_numbers_that_were_rounded(case):
    document = release_to_document(case.release)
    careful, fast = checked_release(document, "it"), read_typed(json.dumps(document).encode())
    assert careful == fast
    assert careful.rounded == case.release.rounded
    assert careful.trees == case.release.trees


WRONG = {
    "a base of 0": (("release", "rounded", "base"), 0, "rounded: base: expected a whole number from 2 to"),
    "a base of 1": (("release", "rounded", "base"), 1, "rounded: base: expected a whole number from 2 to"),
    "a negative base": (("release", "rounded", "base"), -5, "rounded: base: expected a whole number from 2 to"),
    "half a base": (("release", "rounded", "base"), 2.5, "rounded: base: expected a whole number from 2 to"),
    "a base in words": (("release", "rounded", "base"), "five", "rounded: base: expected a whole number from 2 to"),
    "no base": (("release", "rounded"), {"method": "down"}, "rounded: base: expected the base, a whole number"),
    "no method": (("release", "rounded"), {"base": 5}, "rounded: method: expected one of nearest, random, down"),
    "another method": (("release", "rounded", "method"), "up", "rounded: method: expected one of nearest, random"),
    "a number": (("release", "rounded"), 5, "release: rounded: expected an object"),
    "another key": (("release", "rounded", "seed"), 5, "rounded: seed: expected only the keys base, method"),
    "a sample": (("release", "sampling_rate"), 0.5, "release: sampling_rate: expected no such key beside rounded"),
    "suppression": (("release", "suppressed_below"), 5, "release: suppressed_below: expected no such key beside"),
    "draws": (("release", "resampled"), 20, "release: resampled: expected no such key beside rounded"),
    "a count that is no multiple": ((*L1, "counts", "ill"), 2, "node L1: counts of ill: expected a multiple of 5"),
    "an n that is no multiple": ((*L2, "n"), 6, "node L2: n: expected a multiple of 5 (release.rounded), found 6"),
    "an error rate": ((*L2, "error_rate"), 0.1, "node L2: error_rate: expected no such key beside release.rounded"),
    "rates": ((*L2, "rates"), {"ill": 1.0}, "node L2: rates: expected no such key beside release.rounded"),
    "an n that no sum is rounded to": ((*L1, "n"), 25, "node L1: n: expected what the sum of counts is rounded to"),
    "a label of too few": ((*L1, "label"), "ill", "node L1: label: expected a class that can be most frequent ('well'"),
    "children of more": ((*N1, "counts", "well"), 30, "node N1: counts of well: expected what the sum of its children"),
    "an n of less": ((*N1, "n"), 0, "node N1: n: expected what the sum of counts is rounded to, 16 to 24, found 0"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(name):
    path, value, said = WRONG[name]
    document = changed(path, value)
    with pytest.raises(InvalidInput) as error:
        parsed(document)
    assert said in str(error.value)
    assert read_typed(json.dumps(document).encode()) is None


def test_totals_need_not_add_up():
    for n in (15, 20, 25):
        assert parsed(changed((*N1, "n"), n)).trees[0].root.n == n
    assert parsed(changed((*L1, "n"), 20)).rounded == Rounded(5, "nearest")  # 13 to 17, and 0 to 2: up to 19
    removed = changed((*N1, "branches", 1, "child"), None)
    del removed["trees"][0]["nodes"][2]
    assert len(parsed(removed).trees[0].nodes) == 2


def test_a_decided_label_says_nothing_of_records():
    assert parsed(changed((*L1, "label"), "ill") | {"labels": "decided"}).rounded is not None


def test_what_needs_exact_counts_is_refused():
    release = parsed(DOCUMENT)
    for prune in (prune_leaf, prune_parent):
        with pytest.raises(InvalidInput, match=r"release: rounded: expected exact counts.*nearest, base 5"):
            prune(release, 3)
    with pytest.raises(InvalidInput, match="an error rate, or counts that imply it"):
        restate(release, "rates")
    assert restate(release, "labels").trees[0].leaves[0].counts is None
    assert restate(release, "counts") == replace(release, trees=restate(release, "counts").trees)


def test_it_is_shown_and_it_predicts():
    release = parsed(changed((*L2, "counts"), {"well": 0, "ill": 0}) | {"release": DOCUMENT["release"]})
    assert "rounded counts: nearest, base 5" in repr(release)
    codes = predict_columns(release, release.attributes, [np.array([20.0, 50.0])], 2)
    assert codes.tolist() == [0, 1]  # by its label where all counts are rounded to 0
