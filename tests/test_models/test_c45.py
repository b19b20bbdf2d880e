"""The inducer `c45` by its definition: which splits compete, which one wins, and which subtrees are pruned."""

import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.calls import refusal
from support.strategies import thorough

from maxent.models.formats.maxent_json.read import validate_release
from maxent.models.induction.growth import Growth
from maxent.models.induction.inducers import c45, id3, induce, prune, upper_error
from maxent.models.release import Branch
from maxent.models.tables.training import read_training
from maxent.models.trees.draft import Draft

DOMAIN = ["w", "x", "y", "z"]


@st.composite
def tables(draw, numbers=True):
    kinds = [st.sampled_from("xyw"), st.sampled_from("xz"), st.sampled_from([-1.5, 0.0, 2.0, 2.0 + 1e-9, 7.0])]
    columns = {
        name: draw(st.sampled_from(kinds if numbers else kinds[:2])) for name in "abc"[: draw(st.integers(1, 3))]
    }
    rows = draw(st.lists(st.tuples(*columns.values(), st.sampled_from("012")), min_size=1, max_size=30))
    return pd.DataFrame(rows, columns=[*columns, "t"])


def entropy(values):
    return -sum(n / len(values) * math.log(n / len(values)) for n in Counter(values).values())


def judged(rows, sides, least):
    """Gain and gain ratio of a split into some sides, None when it does not compete."""
    if sum(len(side) >= least for side in sides) < 2:
        return None
    gain = entropy(list(rows["t"])) - sum(len(side) / len(rows) * entropy(list(side["t"])) for side in sides)
    return gain, gain / -sum(size * math.log(size) for size in [len(side) / len(rows) for side in sides])


def competitors(rows, used, least):
    """Attribute -> {cut, or None for a branch per value: (gain, gain ratio)}."""
    found = {}
    for name in rows.columns.drop("t"):
        column = rows[name]
        if column.dtype == float:
            present = sorted(set(column))
            options = {v: judged(rows, [rows[column <= v], rows[column > v]], least) for v in present[:-1]}
        else:
            options = {} if name in used else {None: judged(rows, [side for _, side in rows.groupby(name)], least)}
        if options := {cut: score for cut, score in options.items() if score}:
            found[name] = options
    return found


def best(found, selection):
    """Every (attribute, cut) that may be chosen."""
    if selection == "quinlan":
        # A number is cut where it gains most; then attributes of less than average gain do not compete.
        kept = {}
        for name, options in found.items():
            most = max(gain for gain, _ in options.values())
            kept[name] = {cut: score for cut, score in options.items() if score[0] >= most - 1e-9}
        gains = {name: max(gain for gain, _ in options.values()) for name, options in kept.items()}
        average = sum(gains.values()) / max(len(gains), 1)
        found = {name: options for name, options in kept.items() if gains[name] >= average - 1e-9}
    ratios = {(name, cut): ratio for name, options in found.items() for cut, (_, ratio) in options.items()}
    return {split for split, ratio in ratios.items() if ratio >= max(ratios.values()) - 1e-9}


@thorough(150)
@given(
    data=tables(),
    selection=st.sampled_from(["gain_ratio", "quinlan"]),
    least=st.integers(1, 4),
    min_split=st.integers(1, 6),
    max_depth=st.none() | st.integers(0, 3),
)
def test_every_split_is_the_best_and_every_leaf_has_a_reason(data, selection, least, min_split, max_depth):
    names = [name for name in data.columns if name != "t"]
    release = c45(
        data,
        target="t",
        qi=names,
        min_samples_leaf=least,
        min_samples_split=min_split,
        max_depth=max_depth,
        selection=selection,
        confidence=None,
        inner_counts=True,
        domains={name: DOMAIN for name in names if data[name].dtype != float},
    )
    validate_release(release)
    nodes = {node.id: node for node in release.trees[0].nodes}
    stack = [(release.trees[0].root, data, ())]
    while stack:
        node, rows, path = stack.pop()
        assert node.counts == {c: int((rows["t"] == c).sum()) for c in release.target.classes}
        found = competitors(rows, path, least) if len(rows) else {}
        if node.is_leaf:
            pure = rows["t"].nunique() < 2
            winners = best(found, selection)
            useless = all(found[name][cut][0] <= 1e-9 for name, cut in winners)
            assert pure or len(rows) < min_split or len(path) == max_depth or useless
            continue
        assert len(rows) >= min_split
        column = rows[node.attribute]
        if column.dtype == float:
            (low, high), numbers = node.branches, data[node.attribute]
            assert low.le == high.gt
            assert low.le in set(numbers)
            # It is the largest number up to the middle between those of the node's records around it.
            below, above = column[column <= low.le].max(), column[column > low.le].min()
            assert low.le == numbers[numbers <= max(below, (below + above) / 2)].max() or above - below < 1e-8
            assert (node.attribute, below) in best(found, selection)
            assert found[node.attribute][below][0] > 0
            sides = [(low, rows[column <= low.le]), (high, rows[column > low.le])]
        else:
            assert (node.attribute, None) in best(found, selection)
            assert sorted(v for branch in node.branches for v in branch.values) == DOMAIN
            sides = [(branch, rows[column.isin(branch.values)]) for branch in node.branches]
        stack += [(nodes[branch.child], side, (*path, node.attribute)) for branch, side in sides]


@thorough(60)
@given(data=tables(numbers=False), max_depth=st.none() | st.integers(0, 3))
def test_without_numbers_and_pruning_it_is_id3_with_the_gain_ratio(data, max_depth):
    training = read_training(data, target="t", qi=[name for name in data.columns if name != "t"])
    for split in (2, 5):
        settings = {"max_depth": max_depth, "min_samples_split": split, "min_samples_leaf": 1}
        one = induce(training, Growth("c45", confidence=None, **settings))
        other = induce(training, Growth("id3", "gain_ratio", **settings))
        assert one.trees[0].nodes == other.trees[0].nodes
        assert (one.trees[0].induction.candidates, other.trees[0].induction.candidates) == ("mixed", "unused")


def test_two_branches_of_some_size_are_enough_for_a_split_by_value():
    data = pd.DataFrame({"a": list("xxxyyyw"), "t": list("0001110")})
    by_least = {
        n: len(c45(data, target="t", qi=["a"], min_samples_leaf=n, confidence=None).trees[0].leaves) for n in (3, 4)
    }
    assert by_least == {3: 3, 4: 1}
    assert len(id3(data, target="t", qi=["a"], min_samples_leaf=2).trees[0].leaves) == 1
    assert len(id3(data, target="t", qi=["a"], min_samples_leaf=1).trees[0].leaves) == 3


def test_numbers_next_to_one_another_are_told_apart():
    release = c45(pd.DataFrame({"a": ([1.0, np.nextafter(1.0, 2.0)] * 3), "t": list("010101")}), target="t", qi=["a"])
    root, low, high = release.trees[0].nodes
    assert [branch.le or branch.gt for branch in root.branches] == [1.0, 1.0]
    assert (low.counts, high.counts) == ({"0": 3, "1": 0}, {"0": 0, "1": 3})


def test_what_an_adversary_is_told():
    data = pd.DataFrame({"a": list("xxyy"), "t": list("0011")})
    told = {s: c45(data, target="t", qi=["a"], selection=s).trees[0].induction for s in ("gain_ratio", "quinlan")}
    assert {s: (i.algorithm, i.impurity, i.candidates, i.min_samples_leaf) for s, i in told.items()} == {
        "gain_ratio": ("c45", "gain_ratio", "mixed", 2),
        "quinlan": ("c45", "gain_ratio", "none", 2),
    }


@pytest.mark.parametrize(("errors", "n", "limit"), [(0, 6, 0.206), (0, 9, 0.143), (0, 1, 0.750), (3, 3, 1.0)])
def test_upper_limits_of_error_rates(errors, n, limit):
    """Those of Quinlan 1993, section 4.2, for confidence 25 %."""
    assert upper_error(errors, n, 0.25).round(3) == limit


def test_an_upper_limit_makes_so_few_errors_as_likely_as_it_says():
    for confidence in (0.05, 0.25, 0.5):
        for n in (1, 2, 7, 16):
            for errors in range(n):
                rate = float(upper_error(errors, n, confidence))
                likely = sum(math.comb(n, e) * rate**e * (1 - rate) ** (n - e) for e in range(errors + 1))
                assert likely == pytest.approx(confidence)


def drafted(shape):
    """A tree as drafts: nested lists, leaves are counts of classes."""
    drafts = []

    def add(part):
        position = len(drafts)
        drafts.append(None)
        if isinstance(part, tuple):
            counts, draft = np.array(part), Draft(np.array(part), int(np.argmax(part)))
        else:
            children = [add(below) for below in part]
            counts = sum(drafts[child].counts for child in children)
            draft = Draft(counts, int(counts.argmax()), "a", (Branch(None),) * len(part), children)
        drafts[position] = draft
        return position

    add(shape)
    return drafts


def test_a_subtree_is_replaced_where_the_leaf_is_predicted_to_err_less():
    # Leaves of 6, 9 and 1 records without errors: 6 * 0.206 + 9 * 0.143 + 0.750 errors against about 2.5 of one leaf.
    (leaf,) = prune(drafted([(6, 0), (9, 0), (0, 1)]), 0.25)
    assert (leaf.attribute, leaf.branches, leaf.counts.tolist(), leaf.label) == (None, (), [15, 1], 0)
    assert len(prune(drafted([(6, 0), (0, 9), (0, 1)]), 0.25)) == 4
    # An empty leaf makes no errors: below, everything else decides.
    assert len(prune(drafted([(6, 0), (0, 9), (0, 0)]), 0.25)) == 4
    kept = prune(drafted([[(6, 0), (9, 0), (0, 1)], [(0, 8), (7, 0)]]), 0.25)
    assert [draft.counts.tolist() for draft in kept] == [[22, 9], [15, 1], [7, 8], [0, 8], [7, 0]]
    assert [draft.children for draft in kept] == [[1, 2], [], [3, 4], [], []]


@thorough(80)
@given(data=tables(), confidence=st.sampled_from([0.001, 0.1, 0.25, 0.5]))
def test_pruning_is_bottom_up_by_predicted_errors(data, confidence):
    training = read_training(data, target="t", qi=[name for name in data.columns if name != "t"])
    whole, pruned = (
        induce(training, Growth("c45", min_samples_leaf=1, confidence=c), inner_counts=True) for c in (None, confidence)
    )
    validate_release(pruned)
    nodes = {node.id: node for node in whole.trees[0].nodes}

    def expected(node):
        """Nested tuples of what is left of a subtree, and its predicted errors."""
        n, errors = node.n, node.n - max(node.counts.values())
        as_leaf = n * float(upper_error(errors, n, confidence)) if n else 0.0
        parts = [expected(nodes[branch.child]) for branch in node.branches]
        below = sum(predicted for _, predicted in parts)
        if node.is_leaf or as_leaf <= below:
            return tuple(node.counts.values()), as_leaf
        return (node.attribute, *(shape for shape, _ in parts)), below

    left = {node.id: node for node in pruned.trees[0].nodes}

    def shape(node):
        if node.is_leaf:
            return tuple(node.counts.values())
        return (node.attribute, *(shape(left[branch.child]) for branch in node.branches))

    assert shape(pruned.trees[0].root) == expected(whole.trees[0].root)[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"impurity": "gini"}, "impurity: expected gain_ratio for c45, found 'gini'"),
        ({"selection": "best"}, "selection: expected one of quinlan, gain_ratio, found 'best'"),
        ({"confidence": 0}, "confidence: expected None or a number above 0 and at most 0.5, found 0"),
        ({"confidence": 0.6, "min_samples_leaf": 0}, "min_samples_leaf: expected None or a whole number of records"),
    ],
)
def test_unsuitable_parameters_are_refused(call, message):
    error = refusal(c45, pd.DataFrame({"a": list("xy"), "t": list("01")}), target="t", qi=["a"], **call)
    assert message in str(error)
