"""Mondrian against partitions worked out by hand, and what both ways of cutting promise."""

from collections import Counter
from math import log2

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from papers.yang_2019 import mondrian
from support.strategies import populations, thorough

from maxent.models.defenses.generalization import uniform
from maxent.models.formats.maxent_json.read import validate_release
from maxent.models.release import Target
from maxent.models.tables.training import Training, read_training
from maxent.models.trees.places import assign

CHOOSERS = [mondrian.median_cut, mondrian.information_gain_cut]


def training_of(people):
    columns = tuple(people.columns[a.name] for a in people.attributes)
    return Training(Target("Y", people.classes), people.attributes, columns, people.y)


def groups_of(training, release):
    return assign(release.trees[0], training.attributes, training.columns)


def people_on_a_plane():
    """Eight people: wide in x, of one class per half of y."""
    frame = pd.DataFrame({"x": [0, 1, 2, 3, 100, 101, 102, 103], "y": [0, 9, 0, 9, 0, 9, 0, 9], "c": list("abababab")})
    return read_training(frame, target="c", qi=["x", "y"])


def test_the_median_of_the_widest_attribute():
    release = mondrian.partition(people_on_a_plane(), 4, mondrian.median_cut)
    root = release.trees[0].root
    assert (root.attribute, root.branches[0].le) == ("x", 3.0)
    assert [leaf.counts for leaf in release.trees[0].leaves] == [{"a": 2, "b": 2}] * 2


def test_the_cut_that_tells_most_of_the_classes():
    release = mondrian.partition(people_on_a_plane(), 4, mondrian.information_gain_cut)
    root = release.trees[0].root
    assert (root.attribute, root.branches[0].le) == ("y", 0.0)
    assert [leaf.counts for leaf in release.trees[0].leaves] == [{"a": 4, "b": 0}, {"a": 0, "b": 4}]


def test_the_next_attribute_when_the_median_leaves_too_few():
    frame = pd.DataFrame({"x": [0, 9, 9, 9, 9], "y": [0, 0, 1, 1, 1], "c": list("aabbb")})
    release = mondrian.partition(read_training(frame, target="c", qi=["x", "y"]), 2, mondrian.median_cut)
    assert len(release.trees[0].leaves) == 1
    frame["y"] = [0, 0, 0, 1, 1]
    release = mondrian.partition(read_training(frame, target="c", qi=["x", "y"]), 2, mondrian.median_cut)
    assert release.trees[0].root.attribute == "y"


@pytest.mark.parametrize("choose", CHOOSERS)
@thorough(40)
@given(people=populations(rows=(2, 60), public=(1, 3)), k=st.integers(1, 8))
def test_groups_have_k_records_and_are_what_is_published(people, k, choose):
    assume(len(people) >= k)
    training = training_of(people)
    release = mondrian.partition(training, k, choose)
    validate_release(release)
    groups = groups_of(training, release)
    assert min(Counter(groups.tolist()).values()) >= k
    assert {release.trees[0].nodes[g].n for g in set(groups.tolist())} == set(Counter(groups.tolist()).values())
    uniform(training, groups, k)


@thorough(40)
@given(people=populations(rows=(2, 30), public=(1, 3)), k=st.integers(1, 8))
def test_information_gain_goes_on_until_no_cut_is_left(people, k):
    training = training_of(people)
    groups = groups_of(training, mondrian.partition(training, k, mondrian.information_gain_cut))
    for group in set(groups.tolist()):
        for column in training.columns:
            values = column[groups == group]
            for value in values:
                left = int((values <= value).sum())
                assert left < k or len(values) - left < k


@thorough(40)
@given(people=populations(rows=(2, 30), public=(1, 3)), k=st.integers(1, 4))
def test_no_other_cut_has_less_entropy(people, k):
    training, rows = training_of(people), np.arange(len(people))
    found = mondrian.information_gain_cut(training, rows, k)
    scores = {}
    for j, column in enumerate(training.columns):
        for cut in column.tolist():
            sides = people.y[column <= cut], people.y[column > cut]
            if min(map(len, sides)) >= k:
                scores[j, cut] = sum(-m * log2(m / len(s)) for s in sides for m in Counter(s.tolist()).values())
    assert (found is None) == (not scores)
    if found is not None:
        assert scores[found] == pytest.approx(min(scores.values()), abs=1e-6)
