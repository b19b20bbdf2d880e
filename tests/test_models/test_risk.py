"""The risk of nodes: the worked example of Yang et al. (2019), the definitions told naively, and the lemmas."""

from math import inf, log2

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.calls import refusal
from support.strategies import NUMBERS, Style, cases, populations, thorough
from support.yang import RANGES, chain, figure_1, wide_ranges

from maxent.models.release import Attribute, Branch, Node, Release, Target, Tree
from maxent.models.tables.qi_table import read_qi
from maxent.models.trees.reidentification import error_risk_ratio, measure_risk, ranges_of

COUNTS = st.sampled_from((Style(leaf="counts"), Style(leaf="all", inner="counts"), Style(leaf="counts", removal=True)))


def counted_cases():
    return cases(style=COUNTS)


def boxes(release, ranges):
    """Node id -> attribute -> size of what is still possible, by following every path from the root."""
    nodes = {node.id: node for node in release.trees[0].nodes}
    paths = {release.trees[0].root.id: ()}
    for node in list(nodes.values()):  # parents come before their children
        paths |= {b.child: (*paths[node.id], (node.attribute, b)) for b in node.branches if b.child is not None}
    sizes = {}
    for node, path in paths.items():
        sizes[node] = {}
        for a in release.attributes:
            taken = [b for name, b in path if name == a.name]
            if a.values is None:
                highs = [b.le for b in taken if b.le is not None]
                lows = [b.gt for b in taken if b.gt is not None]
                low, high = ranges.get(a.name, (0.0, 1.0))
                sizes[node][a.name] = max(min([high, *highs]) - max([low, *lows]), 0.0)
            else:
                sizes[node][a.name] = sum(all(v in b.values for b in taken) for v in a.values)
    return sizes


def measured(release, ranges):
    """Node id -> its row of the frame."""
    return measure_risk(release, ranges).frame().set_index("node")


def test_the_worked_example():
    risk = measured(figure_1(), RANGES)
    assert (risk.R["2"], risk.R["6"]) == (pytest.approx(3.322, abs=5e-4), pytest.approx(4.322, abs=5e-4))
    assert (risk.R_branch["6"], risk.R_branch["2"]) == (pytest.approx(3.432, abs=5e-4), risk.R["4"])
    assert risk.E[["2", "3", "6"]].tolist() == [2, 4, 2]
    assert risk.E_branch[["2", "3", "6"]].tolist() == [0, 1, 0]
    assert risk.omega[["1", "2", "3", "6"]].tolist() == pytest.approx([0.135, 0.161, 0.246, 0.445], abs=5e-4)
    assert risk.omega[["4", "5", "7", "8", "9"]].isna().all()


def test_the_parts_of_the_total():
    risk = measured(figure_1(), RANGES)
    assert risk.n.loc[["1", "9"]].tolist() == [14, 3]
    assert risk.BIG["1"] == 0
    assert risk.BIG["9"] == pytest.approx(2 - log2(15 / 58))
    assert risk.ICR["9"] == log2(3)
    assert risk.R.tolist() == (risk.BIG + risk.ICR).tolist()


@thorough(60)
@given(case=counted_cases())
def test_every_measure_is_what_its_definition_says(case):
    release, ranges = case.release, wide_ranges(case.release)
    risk, sizes = measured(release, ranges), boxes(release, ranges)
    whole = sizes[release.trees[0].root.id]
    for node in release.trees[0].nodes:
        below, stack = [], [node]
        while stack:
            at = stack.pop()
            below += [at] if at.is_leaf else []
            children = {b.child for b in at.branches}
            stack += [other for other in release.trees[0].nodes if other.id in children]
        counts = {c: sum(leaf.counts[c] for leaf in below) for c in release.target.classes}
        n, row = sum(counts.values()), risk.loc[node.id]
        shares = [sizes[node.id][name] / whole[name] for name in whole]
        assert row.n == n
        granularity = inf if 0 in shares else -sum(map(log2, shares))
        assert row["BIG"] == pytest.approx(granularity, abs=1e-9)
        assert row["R"] == (pytest.approx(granularity + log2(n)) if n else inf)
        assert row["R_branch"] == min((risk.R[leaf.id] for leaf in below), default=inf)
        errors = n - max(counts.values())
        assert (row.E, row.E_branch) == (errors, sum(risk.E[leaf.id] for leaf in below))


@thorough(60)
@given(case=counted_cases())
def test_a_child_is_finer_and_smaller(case):
    """Lemmas 1 and 2; strict where the domain shrinks, or where siblings have records."""
    risk = measured(case.release, wide_ranges(case.release))
    sizes = boxes(case.release, wide_ranges(case.release))
    for node in case.release.trees[0].nodes:
        children = [b.child for b in node.branches if b.child is not None]
        for child in children:
            assert risk.BIG[child] >= risk.BIG[node.id]
            if risk.BIG[node.id] < inf and sizes[child][node.attribute] < sizes[node.id][node.attribute]:
                assert risk.BIG[child] > risk.BIG[node.id]
            if risk.n[node.id] and risk.n[child]:
                assert risk.ICR[child] <= risk.ICR[node.id]
                if any(risk.n[other] for other in children if other != child):
                    assert risk.ICR[child] < risk.ICR[node.id]


@thorough(60)
@given(case=counted_cases())
def test_a_branch_never_takes_more_information_than_its_node(case):
    """Lemma 3. Its proof needs leaves that fill the node's box, so each with records, and a box with an extent."""
    risk = measured(case.release, wide_ranges(case.release))
    leaves = [node.id for node in case.release.trees[0].leaves]
    assume((risk.n[leaves] > 0).all())
    assume(all(b.child is not None for node in case.release.trees[0].nodes for b in node.branches))
    assert (risk.R_branch <= risk.R + 1e-9).all()


def test_the_lemma_fails_when_the_boxes_of_some_leaves_are_left_out():
    leaves = (Node("a", counts={"x": 4}), Node("b", counts={"x": 0}))
    branches = (Branch("a", values=("1",)), Branch("b", values=("2", "3", "4")))
    release = Release(
        Target("y", ("x",)),
        (Attribute("q", values=("1", "2", "3", "4")),),
        (Tree((Node("r", "q", branches), *leaves)),),
    )
    risk = measured(release, {})
    assert risk.R["r"] == 2
    assert risk.R_branch["r"] == risk.R["a"] == 4
    assert risk.R["b"] == inf


def test_deep_trees():
    depth = 10_000
    risk = measured(chain(depth), {"q": (-1.0, float(depth))})
    assert risk.n["N0"] == depth + 1
    assert risk.BIG[f"L{depth - 1}"] == pytest.approx(log2(depth + 1))
    assert risk.E[["N0", f"N{depth - 2}"]].tolist() == [depth // 2, 1]
    assert (risk.E_branch == 0).all()


def test_a_cut_at_the_end_of_the_range_leaves_a_box_without_extent():
    risk = measured(chain(1), {"q": (0.0, 5.0)})
    assert risk.BIG.tolist() == [0, inf, 0]
    assert risk.R_branch["N0"] == 0


def test_an_attribute_with_a_single_value_tells_nothing():
    assert (measured(chain(1), {"q": (3.0, 3.0)}).BIG == 0).all()


@pytest.mark.parametrize(
    ("measures", "ratio"),
    [
        ((4.0, 3.0, 5.0, 3.0), 0.5),
        ((4.0, 3.0, 5.0, 5.0), inf),
        ((4.0, 4.0, 5.0, 5.0), inf),
        ((inf, inf, 5.0, 3.0), 0.0),
        ((4.0, 5.0, 5.0, 3.0), -0.5),
    ],
)
def test_the_ratio_when_nothing_is_lost_or_gained(measures, ratio):
    assert error_risk_ratio(*measures) == ratio


def test_ranges_come_from_records_or_from_a_table():
    release = figure_1()
    people = {"Age": [30.0, 22.0, 80.0], "Gender": ["Male"] * 3, "Marital Status": ["Married"] * 3}
    table = read_qi(pytest.importorskip("pandas").DataFrame(people), release)
    assert ranges_of(table.attributes, table.levels) == RANGES


@thorough(20)
@given(people=populations())
def test_ranges_hold_every_number(people):
    columns = [people.columns[a.name] for a in people.attributes]
    for name, (low, high) in ranges_of(people.attributes, columns).items():
        assert low <= people.columns[name].min() <= people.columns[name].max() <= high
        assert {low, high} <= set(NUMBERS)


def test_errors_are_unknown_without_counts():
    nodes = tuple(
        Node(node.id, node.attribute, node.branches, node.label, n=node.n) for node in figure_1().trees[0].nodes
    )
    release = Release(figure_1().target, figure_1().attributes, (Tree(nodes),))
    risk, whole = measure_risk(release, RANGES), measure_risk(figure_1(), RANGES)
    assert np.array_equal(risk.total, whole.total)
    assert np.isnan(risk.errors).all()
    assert np.isnan(risk.ratio).all()


def test_the_tree_that_is_asked_for():
    one = figure_1()
    alone = Tree((Node("only", counts={"Yes": 1, "No": 1}),))
    risk = measure_risk(Release(one.target, one.attributes, (one.trees[0], alone)), tree=1)
    assert risk.nodes == ("only",)
    assert risk.total.tolist() == [1.0]


def test_what_is_missing_is_named():
    release = figure_1()
    nodes = (*release.trees[0].nodes[:-1], Node("9", label="No"))
    refused = refusal(measure_risk, Release(release.target, release.attributes, (Tree(nodes),)), {"Age": (9.0, 1.0)})
    assert [problem.where for problem in refused.problems] == ["ranges", "node 9"]
