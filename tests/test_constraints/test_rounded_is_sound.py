"""Rounded counts: the truth keeps everything that is concluded from them, by estimates, attacks and rebuilt tables."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.calls import refused
from support.soundness import check
from support.strategies import Style, cases, leaves_of, roundings, thorough

import maxent
from maxent.api.attack import audit_case
from maxent.api.case import Case
from maxent.constraints.compiler import compile_program, implied_marginal
from maxent.constraints.patterns import stated_counts
from maxent.models.errors import InvalidInput
from maxent.models.release import Attribute, Branch, Coarsened, Node, Release, Rounded, Target, Tree
from maxent.models.successive.releases import join_releases
from maxent.models.tables.classes import product_classes
from maxent.models.tables.qi_table import read_qi
from maxent.models.trees.restate import of_target

STYLES = st.builds(
    Style,
    leaf=st.sampled_from(("label", "counts", "mixture", "all")),
    inner=st.sampled_from(("nothing", "counts", "n", "mixture")),
    removal=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
    rounded=roundings(),
)


@pytest.mark.slow  # some of the releases of test_soundness.py are such ones, too
@thorough(200)
@given(
    case=cases(trees=(1, 2), style=STYLES),
    knowledge=st.sampled_from((None, ("counts",), ("label",), ("rate",), ("internal",))),
)
def test_the_truth_satisfies_everything_compiled_from_rounded_counts(case, knowledge):
    check(case, knowledge=knowledge)


@thorough(20)
@given(case=cases(trees=(1, 2), style=STYLES), with_qi=st.booleans())
def test_the_truth_is_within_the_bounds_of_attacks(case, with_qi):
    table = read_qi(case.people.qi, case.release) if with_qi else None
    found = audit_case(Case(case.release, table))
    assert found.reliable
    for tree, place in zip(found.trees, leaves_of(case.release, case.people.frame).T, strict=True):
        truth = np.zeros((len(tree.places), len(case.people.classes) + 1))
        np.add.at(truth, (place, case.people.y), 1)
        truth[:, -1] = truth[:, :-1].sum(axis=1)
        of_leaves = truth[tree.leaves]
        assert ((tree.bounds.low <= of_leaves) & (of_leaves <= tree.bounds.high)).all()
        assert tree.records <= len(case.people)
        if tree.difference is not None:
            assert not tree.difference.contradicted
            every = tree.difference.bounds.take(tree.places.leaves)
            of_leaves = truth[tree.places.leaves]
            assert ((every.low <= of_leaves) & (of_leaves <= every.high)).all()


@thorough(12)
@given(case=cases(style=STYLES))
def test_the_truth_agrees_with_what_tables_are_rebuilt_from(case):
    try:
        (tree,) = stated_counts(case.release)
    except InvalidInput:
        return  # labels alone
    place = leaves_of(case.release, case.people.frame)[:, 0]
    truth = np.zeros((len(tree.places), len(case.people.classes)))
    np.add.at(truth, (place, case.people.y), 1)
    for level in reversed(tree.places.levels[1:]):
        np.add.at(truth, tree.places.parent[level], truth[level])
    assert ((tree.low <= truth) & (truth <= tree.high)).all()
    total = truth.sum(axis=1)
    assert ((tree.least <= total) & (total <= tree.most)).all()
    rows = np.flatnonzero(tree.label >= 0)
    assert (truth[rows, tree.label[rows]] == truth[rows].max(axis=1)).all()


def people(ages, classes):
    return pd.DataFrame({"Age": np.array(ages, float), "Y": classes})


def release(rounded, *counts, n=None, **more):
    """Those up to 37 and those above it, with counts of the classes well and ill."""
    leaves = tuple(
        Node(f"L{i}", n=None if n is None else n[i], counts=dict(zip(("well", "ill"), pair, strict=True)))
        for i, pair in enumerate(counts)
    )
    root = Node("N", "Age", (Branch("L0", le=37.0), Branch("L1", gt=37.0)))
    return Release(
        Target("Y", ("well", "ill")), (Attribute("Age", "numeric"),), (Tree((root, *leaves)),), rounded=rounded, **more
    )


PEOPLE = people([20] * 12 + [50] * 4, ["well"] * 11 + ["ill"] + ["ill"] * 4)


def test_an_estimate_is_within_what_the_counts_stand_for():
    published = release(Rounded(5, "nearest"), (10, 0), (0, 5))
    found = maxent.estimate(published, PEOPLE)
    assert found.reliable
    ill = found.posterior["P(ill)"].tolist()
    assert ill[0] == pytest.approx(2 / 12)  # 8 to 12 well, 0 to 2 ill
    assert ill[1] == pytest.approx(3 / 4)  # 0 to 2 well, 3 to 7 ill, of 4
    (note,) = [note for note in found.notes if "rounded" in note]
    assert note.endswith("to the nearest multiple of 5: the true one may be up to 2 fewer or up to 2 more")
    bounds = maxent.bounds(published, PEOPLE[["Age"]]).frame()
    spans = {(row["Age"], row["class"]): (row["low"], row["high"]) for _, row in bounds.iterrows()}
    assert spans[50.0, "ill"] == pytest.approx((3 / 4, 1.0))
    assert spans[20.0, "ill"] == pytest.approx((0.0, 2 / 12))


def test_counts_imply_no_labels_rates_or_totals():
    published = release(Rounded(5, "random"), (10, 0), (0, 5))
    table = read_qi(PEOPLE[["Age"]], published)
    for knowledge in (("label",), ("rate",)):
        assert compile_program(published, table, knowledge=knowledge).linear == ()
    refused("marginal", implied_marginal, published)
    assert [c.lower.tolist() for c in compile_program(published, table).linear] == [[6.0, 0.0], [0.0, 1.0]]
    assert [c.upper.tolist() for c in compile_program(published, table).linear] == [[12.0, 4.0], [4.0, 4.0]]


def test_attacks_take_a_rounded_number_for_all_that_it_stands_for():
    published = release(Rounded(5, "down"), (10, 0), (0, 0), n=(10, 0))
    found = maxent.audit(published)
    assert (found["homogeneity"]["leaves"], found["uniqueness"]["leaves"]) == (0, 0)
    assert found["individuals"] == 10
    assert any("the true one may be up to 4 more" in note for note in found["notes"])
    assert maxent.audit(replace(published, rounded=None))["homogeneity"]["leaves"] == 1


@pytest.mark.parametrize(("n", "told"), [(15, "13 to 17 records"), (0, "0 to 2 records")])
def test_a_table_of_others_is_noticed(n, told):
    published = release(Rounded(5, "nearest"), (10, 0), (0, 5), n=(10, 5))
    table = read_qi(PEOPLE[["Age"]], published)
    assert compile_program(published, table).contradictions == ()
    nodes = published.trees[0].nodes
    other = replace(published, trees=(Tree((nodes[0], replace(nodes[1], n=n), nodes[2])),))
    (wrong,) = compile_program(other, table).contradictions
    assert wrong.says == f"{told}, but 12 individuals of the table reach it"


def test_sizes_where_private_attributes_decide_are_intervals():
    published = release(Rounded(5, "down"), (10, 0), (0, 0), n=(10, 0))
    hidden = replace(published, attributes=(Attribute("Age", "numeric", role="private"), Attribute("Z", values=("z",))))
    program = compile_program(hidden, read_qi(pd.DataFrame({"Z": ["z"] * 16}), hidden))
    sizes = [(c.lower.tolist(), c.upper.tolist(), c.says) for c in program.linear if c.kind == "n"]
    assert sizes == [([10.0], [14.0], "n 10 to 14"), ([0.0], [4.0], "n 0 to 4")]


def test_a_release_with_exact_counts_beside_it_keeps_them():
    rounded, exact = release(Rounded(5, "nearest"), (10, 0), (0, 5)), release(None, (11, 1), (0, 4))
    alone, both = maxent.estimate(exact, PEOPLE), maxent.estimate([rounded, exact], PEOPLE)
    assert both.posterior["P(ill)"].tolist() == pytest.approx(alone.posterior["P(ill)"].tolist())
    assert maxent.audit([rounded, exact], PEOPLE[["Age"]])["homogeneity"]["leaves"] <= 1
    joined = join_releases([rounded, release(Rounded(3, "down"), (9, 0), (0, 3))], ["a", "b"]).release
    assert joined.rounded == Coarsened(3, "random")  # off by up to 2, up and down: what both can be


def test_one_of_two_columns_keeps_what_is_stated_of_sizes():
    classes = product_classes([("a", "b"), ("c", "d")])
    target = Target("A & B", classes, of=(Target("A", ("a", "b")), Target("B", ("c", "d"))))
    leaf = Node("L", n=10, counts=dict(zip(classes, (5, 5, 0, 0), strict=True)))
    alone = of_target(Release(target, (), (Tree((leaf,)),), rounded=Rounded(5, "nearest")), 0)
    assert alone.rounded == Rounded(5, "nearest")
    assert (alone.trees[0].root.n, alone.trees[0].root.counts) == (10, None)
