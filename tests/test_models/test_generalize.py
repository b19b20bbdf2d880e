"""Generalised records: Table 1 of Yang et al. (2019), what every table guarantees, and the measures."""

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.strategies import Style, cases, populations, thorough
from support.yang import RANGES, figure_1, records

from maxent.models.defenses import generalization
from maxent.models.defenses.error_risk import prune_erp
from maxent.models.defenses.generalization import tiered, uniform
from maxent.models.errors import InvalidInput
from maxent.models.release import Attribute, Branch, Node, Release, Target, Tree
from maxent.models.tables.generalized_records import check_covering, covering
from maxent.models.tables.training import Training, read_training
from maxent.models.trees.places import assign

QI = ["Age", "Marital Status", "Gender"]
DISTANCES = st.sampled_from(("gower", "ranks"))
ONE = "Not Married"
BOTH = "Married|Not Married"


def training_of(people):
    """The people as the records that a tree is grown from."""
    return Training(
        Target("Y", people.classes),
        people.attributes,
        tuple(people.columns[a.name] for a in people.attributes),
        people.y,
    )


def published(case, k, method, distance="gower"):
    """The first tree of a case pruned, and its people generalised."""
    ranges = {a.name: (-3.0, 10.0) for a in case.release.attributes if a.values is None}
    training = training_of(case.people)
    groups = assign(prune_erp(case.release, k, ranges=ranges).trees[0], training.attributes, training.columns)
    if method == "uniform":
        return training, groups, uniform(training, groups, k)
    return training, groups, tiered(training, case.release, k, distance=distance)


def counted_cases():
    return cases(populations(rows=(5, 40)), style=st.just(Style(leaf="counts")))


def held(text, value):
    """Whether a published value, as it is written, holds one of the original."""
    if isinstance(value, str):
        return value in text.split("|")
    number = r"(-?[0-9.]+(?:e[+-][0-9]+)?)"
    low, high = re.fullmatch(f"{number}(?:-{number})?", text).groups()
    return float(low) <= value <= float(high or low)


# --- Table 1 ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", ["gower", "ranks"])
def test_table_1(distance):
    training = read_training(records(), target="Bought", qi=QI)
    rows = tiered(training, figure_1(), 3, distance=distance).frame(in_order=True).head(5)
    assert rows["Age"].tolist() == ["42-61", "42-61", "29-61", "29-42", "29-42"]
    assert rows["Marital Status"].tolist() == [BOTH, BOTH, BOTH, ONE, ONE]
    assert rows["Gender"].tolist() == ["Female"] * 5
    assert rows["Bought"].tolist() == ["Yes", "Yes", "No", "No", "No"]


def test_table_1_with_ages_as_categories():
    training = read_training(records(), target="Bought", qi=QI, categorical=["Age"])
    categories = Attribute("Age", values=training.attributes[0].values)
    nodes = tuple(
        replace(
            node,
            branches=tuple(
                replace(
                    b,
                    le=None,
                    gt=None,
                    values=tuple(v for v in categories.values if (float(v) <= 65) == (b.le is not None)),
                )
                for b in node.branches
            ),
        )
        if node.attribute == "Age"
        else node
        for node in figure_1().trees[0].nodes
    )
    release = Release(figure_1().target, (categories, *figure_1().attributes[1:]), (Tree(nodes),))
    rows = tiered(training, release, 3).frame(in_order=True)["Age"].head(5)
    assert rows.tolist() == ["42|57|61"] * 2 + ["29|38|42|57|61"] + ["29|38|42"] * 2


def test_table_1_generalised_uniformly():
    training = read_training(records(), target="Bought", qi=QI)
    pruned = prune_erp(figure_1(), 3, ranges=RANGES)
    table = uniform(training, assign(pruned.trees[0], training.attributes, training.columns), 3)
    rows = table.frame(in_order=True).head(5)
    assert rows["Age"].tolist() == ["29-61"] * 5
    assert rows["Marital Status"].tolist() == [BOTH] * 5


def test_the_rows_of_table_1_are_no_classes_of_k():
    """What the paper calls k-anonymity: there is a row unlike all others, but each covers three records."""
    training = read_training(records().head(5), target="Bought", qi=QI, domains={"Gender": ["Female", "Male"]})
    table = tiered(training, figure_1(), 3)
    assert sorted(table.frame().groupby(["Age", "Marital Status"]).size()) == [1, 2, 2]
    rows, covered = covering(table, training, np.arange(5), np.zeros(5, np.int64))
    assert rows.tolist() == [3, 3, 5, 3, 3]
    assert covered.tolist() == [3, 3, 5, 3, 3]


# --- What every table guarantees --------------------------------------------------------------------------------


@thorough(60)
@given(case=counted_cases(), k=st.integers(1, 15), distance=DISTANCES)
def test_tiered_records_are_k_k_anonymous(case, k, distance):
    """Counted on the published text."""
    assume(len(case.people) >= k)
    table = published(case, k, "tiered", distance)[2]
    names = [a.name for a in case.people.attributes]
    rows = table.frame(in_order=True)[names].to_numpy()
    originals = case.people.frame[names].to_numpy()
    holds = np.array([[all(map(held, row, record)) for row in rows] for record in originals])
    assert holds.sum(axis=1).min() >= k
    assert holds.sum(axis=0).min() >= k
    assert holds.diagonal().all()


@thorough(60)
@given(case=counted_cases(), k=st.integers(1, 15))
def test_uniform_records_are_k_anonymous(case, k):
    assume(len(case.people) >= k)
    _, groups, table = published(case, k, "uniform")
    rows = list(map(tuple, table.frame(in_order=True).drop(columns="Y").to_numpy()))
    assert min(Counter(rows).values()) >= k
    assert all(row == rows[groups.tolist().index(group)] for row, group in zip(rows, groups, strict=True))


@pytest.mark.slow
@thorough(60)
@given(case=counted_cases(), k=st.integers(1, 15), distance=DISTANCES)
def test_tiers_lose_no_more_than_uniform_groups(case, k, distance):
    assume(len(case.people) >= k)
    fine, coarse = (published(case, k, method, distance)[2] for method in ("tiered", "uniform"))
    assert (fine.ncp()[fine.box] <= coarse.ncp()[coarse.box] + 1e-12).all()
    assert 0 <= fine.gcp() <= coarse.gcp() + 1e-12 <= 1 + 1e-12


@thorough(60)
@given(case=counted_cases(), k=st.integers(1, 15), method=st.sampled_from(("tiered", "uniform")))
def test_classes_are_those_of_the_records(case, k, method):
    assume(len(case.people) >= k)
    table = published(case, k, method)[2]
    assert table.frame(in_order=True)["Y"].tolist() == case.people.frame["Y"].tolist()
    assert sorted(map(tuple, table.frame().to_numpy())) == sorted(map(tuple, table.frame(in_order=True).to_numpy()))


@pytest.mark.slow
@thorough(60)
@given(case=counted_cases(), k=st.integers(1, 15), seed=st.integers(0, 9))
def test_the_order_of_the_records_does_not_show(case, k, seed):
    """Two tables of the same people in another order are the same file, for which no two distances must be equal."""
    assume(len(case.people) >= k)
    people = case.people
    mixed = np.random.default_rng(seed).permutation(len(people))
    moved = replace(people, columns={n: c[mixed] for n, c in people.columns.items()}, y=people.y[mixed])
    tables = [published(replace(case, people=crowd), k, "uniform")[2].frame() for crowd in (people, moved)]
    assert tables[0].equals(tables[1])


@thorough(60)
@given(case=counted_cases(), k=st.integers(1, 15), method=st.sampled_from(("tiered", "uniform")))
def test_pruned_groups_hold_what_covers_their_records(case, k, method):
    """So it makes no difference to tiers how the tree was pruned; over all records there may be more."""
    assume(len(case.people) >= k)
    training, groups, table = published(case, k, method)
    everyone = np.arange(len(training))
    within, overall = (covering(table, training, everyone, group) for group in (groups, np.zeros_like(groups)))
    for few, all_of_them in zip(within, overall, strict=True):
        assert k <= few.min()
        assert (few <= all_of_them).all()


def test_a_table_that_covers_too_little_is_refused():
    training = read_training(records(), target="Bought", qi=QI)
    everyone, together = np.arange(len(training)), np.zeros(len(training), np.int64)
    table = uniform(training, together, 3)
    alone = replace(table, boxes=tuple(b.copy() for b in table.boxes))
    alone.boxes[0][:] = [57, 57]
    with pytest.raises(InvalidInput) as refused:
        check_covering(alone, training, everyone, together, 3)
    assert [problem.found for problem in refused.value.problems] == ["0 for record 2", "1 for record 1"]


def test_every_table_is_counted(monkeypatch):
    """Were the boxes wrong, nothing would be returned."""
    training = read_training(records(), target="Bought", qi=QI)
    monkeypatch.setattr(
        generalization, "united", lambda boxes, members, starts: tuple(b[members[starts]] for b in boxes)
    )
    with pytest.raises(InvalidInput, match="rows that cover a record: expected at least k = 3, found 2"):
        tiered(training, figure_1(), 3)
    first = [np.repeat(column[:1], 2)[None] for column in training.columns[:1]]
    monkeypatch.setattr(generalization, "hulls", lambda *_: (*first, *(np.ones((1, 2), bool) for _ in range(2))))
    with pytest.raises(InvalidInput, match="rows that cover a record: expected at least k = 3, found 0"):
        uniform(training, np.zeros(14, np.int64), 3)


# --- Searching the neighbours -----------------------------------------------------------------------------------


def ladder():
    """Nine records of one number: the leaf of the first hangs beside a branch of two, and that beside all others."""
    nodes = (
        Node("r", "q", (Branch("u", le=3.5), Branch("f", gt=3.5))),
        Node("u", "q", (Branch("a", le=1.5), Branch("v", gt=1.5))),
        Node("v", "q", (Branch("b", le=2.5), Branch("c", gt=2.5))),
        *(Node(name, counts={"x": 1}) for name in "abc"),
        Node("f", counts={"x": 6}),
    )
    release = Release(Target("y", ("x",)), (Attribute("q", "numeric"),), (Tree(nodes),))
    frame = pd.DataFrame({"q": [1.0, 2.0, 3.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0], "y": "x"})
    return read_training(frame, target="y", qi=["q"]), release


@pytest.mark.parametrize(
    ("k", "first", "second"),
    [
        (2, "1-2", "1-3"),  # 1 borrows 2 from the branch beside it, 2 borrows 3 and 3 borrows 2
        (3, "1-3", "1-3"),
        (4, "1-4", "1-4"),  # 1 borrows what is nearest below the root, which 4 is
    ],
)
def test_neighbours_are_searched_tier_by_tier(k, first, second):
    training, release = ladder()
    rows = tiered(training, release, k).frame(in_order=True)["q"]
    assert rows[0] == first
    assert rows[1] == second
    assert rows[3] == "4-9"


def test_of_equally_close_records_the_first_is_borrowed():
    nodes = (
        Node("r", "q", (Branch("a", le=3.0, gt=1.0), Branch("b", gt=3.0), Branch("c", le=1.0))),
        *(Node(name, counts={"x": n}) for name, n in (("a", 1), ("b", 2), ("c", 2))),
    )
    release = Release(Target("y", ("x",)), (Attribute("q", "numeric"),), (Tree(nodes),))
    for numbers, expected in (([2.0, 0.0, 4.0, 0.0, 4.0], "0-2"), ([2.0, 4.0, 0.0, 4.0, 0.0], "2-4")):
        frame = pd.DataFrame({"q": numbers, "y": "x"})
        training = read_training(frame, target="y", qi=["q"])
        assert tiered(training, release, 2).frame(in_order=True)["q"][0] == expected


def test_the_distances_may_choose_differently():
    """A number far from all others is one rank from the next; in a crowd the next rank is close by."""
    nodes = (
        Node("r", "c", (Branch("a", values=("1",)), Branch("b", values=("2",)))),
        Node("a", counts={"x": 1}),
        Node("b", counts={"x": 7}),
    )
    attributes = (Attribute("c", values=("1", "2")), Attribute("u", "numeric"), Attribute("v", "numeric"))
    release = Release(Target("y", ("x",)), attributes, (Tree(nodes),))
    rest = [(100.0, float(v)) for v in (5, 6, 7, 8, 10)]
    frame = pd.DataFrame([(0.0, 0.0), (1.0, 0.0), (0.0, 4.0), *rest], columns=["u", "v"])
    frame = frame.assign(c=["1", *"2222222"], y="x")
    training = read_training(frame, target="y", qi=["c", "u", "v"])
    borrowed = {}
    for distance in ("gower", "ranks"):
        borrowed[distance] = tiered(training, release, 2, distance=distance).frame(in_order=True).loc[0]
    assert borrowed["gower"][["u", "v"]].tolist() == ["0-1", "0"]
    assert borrowed["ranks"][["u", "v"]].tolist() == ["0", "0-4"]


# --- Refusals ---------------------------------------------------------------------------------------------------


def test_records_that_reach_no_leaf_are_named():
    training = read_training(records(), target="Bought", qi=QI)
    nodes = tuple(node for node in figure_1().trees[0].nodes if node.id != "9")
    holed = replace(nodes[5], branches=(Branch("8", le=65.0), Branch(None, gt=65.0)))
    release = replace(figure_1(), trees=(Tree((*nodes[:5], holed, *nodes[6:])),))
    with pytest.raises(InvalidInput) as refused:
        tiered(training, release, 3)
    assert [problem.where for problem in refused.value.problems] == ["record 12", "record 13", "record 14"]
    young = replace(nodes[5], branches=(Branch("8", le=65.0),))
    release = replace(figure_1(), trees=(Tree((*nodes[:5], young, *nodes[6:])),))
    with pytest.raises(InvalidInput, match="record 12: leaf: expected a leaf of the tree, found node 6"):
        tiered(training, release, 3)


def test_too_few_records_are_refused():
    training = read_training(records(), target="Bought", qi=QI)
    with pytest.raises(InvalidInput, match="records: expected at least k = 15, found 14"):
        tiered(training, figure_1(), 15)
    with pytest.raises(InvalidInput, match="found 1 in the smallest"):
        uniform(training, np.array([0] * 13 + [1]), 2)


def test_unknown_distances_are_refused():
    training = read_training(records(), target="Bought", qi=QI)
    with pytest.raises(InvalidInput, match="gower, ranks"):
        tiered(training, figure_1(), 3, distance="manhattan")


# --- Measures and files -----------------------------------------------------------------------------------------


def small_table():
    """Two groups of three: numbers 0..4 of 0..10 and 10 alone; colours of which two of three occur, and one."""
    frame = pd.DataFrame({"n": [0, 1, 4, 10, 10, 10], "c": ["r", "g", "r", "b", "b", "b"], "y": list("uvuvuv")})
    training = read_training(frame, target="y", qi=["n", "c"], domains={"c": ["r", "g", "b", "never"]})
    return uniform(training, np.array([0, 0, 0, 1, 1, 1]), 3)


def test_penalties():
    table = small_table()
    assert table.ncp().tolist() == [[0.4, pytest.approx(2 / 3)], [0.0, 0.0]]
    assert table.gcp() == pytest.approx((0.4 + 2 / 3) / 4)


def test_the_penalties_of_table_1():
    """Age 29-42 has a width of 13 and the whole set of marital statuses is 1."""
    training = read_training(records(), target="Bought", qi=QI)
    table = tiered(training, figure_1(), 3)
    penalties = dict(zip(table.frame(in_order=True)["Age"], table.ncp()[table.box].tolist(), strict=True))
    assert penalties["29-42"][0] == 13 / 58
    assert penalties["42-61"] == [19 / 58, 1.0, 0.0]


def test_attributes_of_one_value_cost_nothing():
    frame = pd.DataFrame({"n": [3.0] * 4, "c": ["r"] * 4, "y": list("uvuv")})
    training = read_training(frame, target="y", qi=["n", "c"])
    table = uniform(training, np.zeros(4, np.int64), 2)
    assert table.gcp() == 0
    assert table.frame()[["n", "c"]].drop_duplicates().to_numpy().tolist() == [["3", "r"]]


def test_rows_are_sorted_text():
    rows = small_table().frame()
    assert rows.columns.tolist() == ["n", "c", "y"]
    assert rows.to_numpy().tolist() == [*[["0-4", "r|g", y] for y in "uuv"], *[["10", "b", y] for y in "uvv"]]


def test_numbers_and_names_that_look_like_separators():
    frame = pd.DataFrame({"n": [-1.5, 1e-7, 2.25, 1e22], "c": ["a|b", "a", "b\\", "b"], "y": list("uvuv")})
    training = read_training(frame, target="y", qi=["n", "c"])
    rows = uniform(training, np.array([0, 0, 1, 1]), 2).frame(in_order=True)
    assert rows["n"].tolist() == ["-1.5-1e-07"] * 2 + ["2.25-1e+22"] * 2
    assert rows["c"].tolist() == [r"a|a\|b"] * 2 + ["b|b\\\\"] * 2
