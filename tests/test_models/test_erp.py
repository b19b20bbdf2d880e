"""Error-risk pruning: the worked example of Yang et al. (2019), the rules told naively, and what is left."""

from dataclasses import replace
from math import isnan

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator
from support.calls import refusal, refused
from support.strategies import Style, cases, leaves_of, populations, thorough
from support.yang import RANGES, chain, figure_1, wide_ranges

from maxent.models.defenses import ERPTreeClassifier
from maxent.models.defenses.error_risk import PrunedAt as Cut
from maxent.models.defenses.error_risk import collapse, erp_cuts, prune_erp
from maxent.models.defenses.pruning import prune_parent
from maxent.models.errors import InvalidInput
from maxent.models.formats.maxent_json.read import validate_release
from maxent.models.induction.growth import Growth
from maxent.models.induction.inducers import induce
from maxent.models.release import Attribute, Branch, Defense, Node, Release, Target, Tree
from maxent.models.tables.training import read_training
from maxent.models.trees.predict import predict_proba
from maxent.models.trees.reidentification import measure_risk
from maxent.models.trees.restate import restate

COUNTS = st.sampled_from((Style(leaf="counts"), Style(leaf="all", inner="counts")))
RULES = st.sampled_from(("twig", "literal"))


def counted_cases():
    return cases(populations(rows=(10, 60)), style=COUNTS, trees=(1, 2))


def subtree(tree, node):
    """A node and all below it."""
    nodes = {n.id: n for n in tree.nodes}
    found = [nodes[node]]
    for at in found:
        found += [nodes[branch.child] for branch in at.branches]
    return found


def records(leaf):
    return sum(leaf.counts.values())


def depth_first(tree):
    nodes, order, stack = {n.id: n for n in tree.nodes}, [], [tree.root.id]
    while stack:
        order.append(stack.pop())
        stack += [branch.child for branch in reversed(nodes[order[-1]].branches)]
    return order


def naive_cuts(release, k, ranges, rule):
    """Figure 2 as it is told: everything is measured again after every branch that is pruned."""
    cuts = []
    while True:
        tree = release.trees[0]
        risk, order = measure_risk(release, ranges).frame().set_index("node"), depth_first(tree)

        def small(node, tree=tree):
            return any(0 < records(leaf) < k for leaf in subtree(tree, node.id) if leaf.is_leaf)

        branches = [node for node in tree.nodes if not node.is_leaf and small(node)]
        if rule == "twig":
            branches = [b for b in branches if not any(other in branches for other in subtree(tree, b.id)[1:])]
        if not branches:
            return tuple(cuts)
        best = max(branches, key=lambda b: (risk.omega[b.id], order.index(b.id)))
        cuts.append(Cut(best.id, float(risk.omega[best.id])))
        release = replace(release, trees=(collapse(release, {best.id}),))


def test_the_worked_example():
    """B_6 first, as the paper says, and what is left has the five records of node 2 as a group, as in Table 1."""
    cuts = erp_cuts(figure_1(), 3, ranges=RANGES)
    assert [cut.node for cut in cuts] == ["6", "2"]
    assert [cut.ratio for cut in cuts] == pytest.approx([0.445, 0.161], abs=5e-4)
    pruned = prune_erp(figure_1(), 3, ranges=RANGES)
    leaves = {leaf.id: dict(leaf.counts) for leaf in pruned.trees[0].leaves}
    assert leaves == {"2": {"Yes": 2, "No": 3}, "6": {"Yes": 2, "No": 3}, "7": {"Yes": 3, "No": 1}}


def test_the_literal_rule_collapses_the_worked_example():
    """After B_6 the whole tree has the largest ratio, and still a leaf of two records."""
    cuts = erp_cuts(figure_1(), 3, ranges=RANGES, rule="literal")
    assert [cut.node for cut in cuts] == ["6", "1"]
    assert [cut.ratio for cut in cuts] == pytest.approx([0.445, 0.202], abs=5e-4)
    after = measure_risk(replace(figure_1(), trees=(collapse(figure_1(), {"6"}),)), RANGES).frame().set_index("node")
    assert after.omega[["1", "3", "2"]].tolist() == pytest.approx([0.202, 0.170, 0.161], abs=5e-4)
    (root,) = prune_erp(figure_1(), 3, ranges=RANGES, rule="literal").trees[0].nodes
    assert root == Node("1", label="Yes", n=14, counts={"Yes": 7, "No": 7})


@thorough(60)
@given(case=counted_cases(), k=st.integers(1, 12), rule=RULES)
def test_the_heap_prunes_as_measuring_everything_again_does(case, k, rule):
    assume(len(case.people) >= k)
    ranges = wide_ranges(case.release)
    for tree in case.release.trees:
        release = replace(case.release, trees=(tree,))
        assert erp_cuts(release, k, ranges=ranges, rule=rule) == naive_cuts(release, k, ranges, rule)


@thorough(60)
@given(case=counted_cases(), k=st.integers(1, 12), rule=RULES)
def test_leaves_have_no_record_or_at_least_k(case, k, rule):
    assume(len(case.people) >= k)
    pruned = prune_erp(case.release, k, ranges=wide_ranges(case.release), rule=rule)
    places = leaves_of(pruned, case.people.frame)
    for t, tree in enumerate(pruned.trees):
        for place, node in enumerate(tree.nodes):
            if node.is_leaf:
                members = case.people.counts((places[:, t] == place).nonzero()[0])
                assert [node.counts[c] for c in case.people.classes] == members.tolist()
                assert members.sum() == 0 or members.sum() >= k
    assert pruned.defense == Defense("erp", {"k": k, "rule": rule})
    validate_release(pruned)


@thorough(60)
@given(case=counted_cases(), k=st.integers(1, 12))
def test_twigs_are_the_nodes_that_have_to_go_and_no_others(case, k):
    """The highest nodes with a small child, whatever the ratios; the literal rule prunes these and more."""
    assume(len(case.people) >= k)
    ranges = wide_ranges(case.release)
    pruned = prune_erp(case.release, k, ranges=ranges)
    literal = prune_erp(case.release, k, ranges=ranges, rule="literal")
    for before, after, more in zip(case.release.trees, pruned.trees, literal.trees, strict=True):
        size = {
            node.id: sum(records(leaf) for leaf in subtree(before, node.id) if leaf.is_leaf) for node in before.nodes
        }
        expected, reached = set(), [before.root]
        for node in reached:
            if any(0 < size[branch.child] < k for branch in node.branches) or node.is_leaf:
                expected.add(node.id)
            else:
                reached += [child for child in before.nodes if child.id in {b.child for b in node.branches}]
        assert {leaf.id for leaf in after.leaves} == expected
        assert {node.id for node in more.nodes} <= {node.id for node in after.nodes}


@thorough(60)
@given(case=counted_cases(), k=st.integers(1, 12))
def test_twigs_are_method_2_of_leaf_pruning(case, k):
    """But for leaves without records, which are small there."""
    assume(len(case.people) >= k)
    assume(all(records(leaf) for tree in case.release.trees for leaf in tree.leaves))
    assert prune_erp(case.release, k, ranges=wide_ranges(case.release)).trees == prune_parent(case.release, k).trees


def test_a_leaf_without_records_is_not_small():
    leaves = (Node("a", counts={"x": 4}), Node("b", counts={"x": 5}), Node("c", counts={"x": 0}))
    branches = tuple(Branch(leaf.id, values=(value,)) for leaf, value in zip(leaves, "123", strict=True))
    tree = Tree((Node("r", "q", branches), *leaves))
    release = Release(Target("y", ("x",)), (Attribute("q", values=("1", "2", "3")),), (tree,))
    for rule in ("twig", "literal"):
        assert prune_erp(release, 4, rule=rule).trees == (tree,)


def test_of_equal_ratios_the_innermost_branch_goes_first():
    """Nothing is lost by pruning any of these: their ratios are all infinite."""
    nodes = (
        Node("r", "q", (Branch("u", values=("1", "2", "3")), Branch("v", values=("4",)))),
        Node("u", "q", (Branch("w", values=("1", "2")), Branch("l", values=("3",)))),
        Node("w", "q", (Branch("m", values=("1",)), Branch("n", values=("2",)))),
        *(Node(node, counts={"x": 2, "z": 0}) for node in "vlm"),
        Node("n", counts={"x": 1, "z": 0}),
    )
    release = Release(Target("y", ("x", "z")), (Attribute("q", values=tuple("1234")),), (Tree(nodes),))
    for rule in ("twig", "literal"):
        assert [cut.node for cut in erp_cuts(release, 2, rule=rule)] == ["w"]


@pytest.mark.slow
def test_deep_trees():
    release, ranges = chain(10_000), {"q": (-1.0, 10_000.0)}
    assert len(erp_cuts(release, 2, ranges=ranges)) == 10_000
    assert prune_erp(release, 2, ranges=ranges).trees[0].nodes == (Node("N0", counts={"x": 5001, "z": 5000}),)


@pytest.mark.parametrize("rule", ["twig", "literal"])
def test_what_leaves_state_is_what_new_ones_state(rule):
    nodes = tuple(
        node
        if not node.is_leaf
        else Node(node.id, label=node.label, error_rate=min(node.counts.values()) / node.n, n=node.n)
        for node in figure_1().trees[0].nodes
    )
    release = replace(figure_1(), trees=(Tree(nodes),))
    pruned = prune_erp(release, 4, ranges=RANGES, rule=rule)
    assert [cut.node for cut in erp_cuts(release, 4, ranges=RANGES, rule=rule)] == [
        cut.node for cut in erp_cuts(figure_1(), 4, ranges=RANGES, rule=rule)
    ]
    assert all(leaf.counts is None and leaf.error_rate is not None for leaf in pruned.trees[0].leaves)


def test_what_was_known_of_the_induction_stays():
    release = figure_1()
    told = replace(
        release.trees[0], induction=replace(release.trees[0].induction, algorithm="c45", impurity="gain_ratio")
    )
    assert prune_erp(replace(release, trees=(told,)), 3, ranges=RANGES).trees[0].induction == told.induction


def test_what_was_done_before_is_kept():
    once = prune_erp(replace(figure_1(), defense=Defense("prune-parent", {"k": 2})), 3, ranges=RANGES)
    assert once.defense == Defense("erp", {"k": 3, "rule": "twig", "prune-parent.k": 2})
    assert prune_erp(once, 5, ranges=RANGES).defense == Defense("erp", {"k": 5, "rule": "twig", "prune-parent.k": 2})


@pytest.mark.parametrize(("change", "arguments", "where"), [
    ({}, {"k": 0}, ["argument"]),
    ({}, {"k": 2.5, "rule": "greedy"}, ["argument", "argument"]),
    ({}, {"k": 15}, ["node 1"]),
    ({}, {"k": 3, "ranges": {}}, ["ranges"]),
    ({"9": Node("9", label="No", n=3)}, {"k": 3}, ["node 9"]),
    ({"2": Node("2", "Marital Status", (Branch(None, values=("Married",)), Branch("5", values=("Not Married",))))},
        {"k": 3}, ["node 2"]),
])  # fmt: skip
def test_what_is_wrong_is_named(change, arguments, where):
    release = figure_1()
    nodes = tuple(change.get(node.id, node) for node in release.trees[0].nodes if node.id != "4" or "2" not in change)
    refused = refusal(prune_erp, replace(release, trees=(Tree(nodes),)), **{"ranges": RANGES, **arguments})
    assert [problem.where for problem in refused.problems] == where


def test_suppressed_counts_are_refused():
    refused("counts", prune_erp, replace(figure_1(), suppressed_below=2), 3, ranges=RANGES)


def test_ratios_are_numbers():
    assert not any(isnan(cut.ratio) for cut in erp_cuts(figure_1(), 5, ranges=RANGES, rule="literal"))


CHECKS = [
    pytest.param(check, id=f"{check.func.__name__}-{i}")
    for i, (_, check) in enumerate(estimator_checks_generator(ERPTreeClassifier()))
    if check.func.__name__ != "check_array_api_input"  # asks for an environment variable to be set
]


@pytest.mark.parametrize("check", CHECKS)
def test_scikit_learn_is_satisfied(check):
    check(ERPTreeClassifier())


def people(n=300, seed=0):
    """Columns of both kinds, and a class that depends on them a little."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"town": rng.choice(["Ulm", "Bonn", "Kiel"], n), "age": rng.integers(18, 80, n)})
    likely = 0.3 + 0.3 * (frame["age"] > 50) + 0.2 * (frame["town"] == "Ulm")
    return frame, pd.Series(np.where(rng.random(n) < likely, "yes", "no"), name="bought")


@pytest.mark.parametrize("rule", ["twig", "literal"])
@pytest.mark.parametrize("publish", ["labels", "rates", "counts"])
@pytest.mark.parametrize("inducer", ["cart", "c45"])
def test_it_publishes_the_pruned_tree(rule, publish, inducer):
    X, y = people()
    model = clone(ERPTreeClassifier(k=np.int64(7), rule=rule, publish=publish, inducer=inducer, random_state=0)).fit(
        X, y
    )
    grown = induce(read_training(X.assign(bought=y), target="bought", qi=["town", "age"]), Growth(inducer, seed=0))
    ranges = {"age": (float(X["age"].min()), float(X["age"].max()))}
    assert model.ranges_ == ranges
    assert model.release_ == restate(prune_erp(grown, 7, ranges=ranges, rule=rule), publish)
    assert model.release_.defense == Defense("erp", {"k": 7, "rule": rule})
    assert np.array_equal(model.predict_proba(X), predict_proba(model.release_, X))


def test_parameters_and_data_that_are_refused():
    X, y = people(6)
    with pytest.raises(InvalidInput) as refused:
        ERPTreeClassifier(k=0, rule="greedy", publish="all").fit(X, y)
    assert [problem.field for problem in refused.value.problems] == ["k", "publish", "rule"]
    with pytest.raises(InvalidInput, match="n_samples = 6"):
        ERPTreeClassifier(k=7).fit(X, y)
