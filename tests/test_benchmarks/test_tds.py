"""Top-down specialisation against one worked out by hand and a naive one on random tables."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from math import log2
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from papers.friedman_2006 import tds
from papers.yang_2019 import mondrian, tiers
from support.anonymity import training_of
from support.strategies import populations, thorough

from maxent.models.defenses.generalization import uniform
from maxent.models.formats.maxent_json.read import validate_release
from maxent.models.induction.inducers import cart
from maxent.models.release import Attribute
from maxent.models.tables.qi_table import read_rows
from maxent.models.tables.training import read_training
from maxent.models.trees.places import assign

TAXONOMY = [["Engineer", "Professional"], ["Lawyer", "Professional"], ["Dancer", "Artist"], ["Writer", "Artist"]]

PEOPLE = pd.DataFrame(
    [
        ["Engineer", 30, "yes"],
        ["Engineer", 35, "yes"],
        ["Lawyer", 30, "yes"],
        ["Lawyer", 45, "no"],
        ["Dancer", 30, "no"],
        ["Dancer", 45, "no"],
        ["Writer", 35, "no"],
        ["Writer", 45, "no"],
    ],
    columns=["job", "age", "class"],
)


def test_the_example_worked_out_by_hand() -> None:
    found = tds.specialise(PEOPLE, "class", 2, {"job": TAXONOMY})
    # H(3/8) = 0.954434; professionals are 3 of 4 "yes", artists none of 4: 0.548795 bits, the smallest group 8 -> 4.
    # Cutting age between 35 and 45 gains 0.347590 and 8 -> 3; between 30 and 35 it would gain 0.158868.
    # Then professionals: engineers all "yes", lawyers 1 of 2: 0.311278 bits, 4 -> 2. Any cut of age leaves one alone.
    assert [step.members for step in found.steps] == [
        ("Engineer", "Lawyer", "Dancer", "Writer"),
        ("Engineer", "Lawyer"),
    ]
    assert [step.gain for step in found.steps] == pytest.approx([0.548795, 0.311278], abs=1e-6)
    assert [step.score for step in found.steps] == pytest.approx([0.548795 / 4, 0.311278 / 2], abs=1e-6)
    assert [step.smallest for step in found.steps] == [4, 2]
    assert found.names == {"job": {"Engineer": "Engineer", "Lawyer": "Lawyer", "Dancer": "Artist", "Writer": "Artist"}}
    assert found.cuts == {"age": ()}


def test_the_same_example_when_anonymity_does_not_matter() -> None:
    found = tds.specialise(PEOPLE, "class", 1, {"job": TAXONOMY})
    # Age can now be cut; those under 40 are cut once more, which costs no anonymity. Who is older is "no" anyway.
    assert [(step.members, step.smallest) for step in found.steps[2:]] == [((30.0, 35.0, 45.0), 1), ((30.0, 35.0), 1)]
    assert [step.score for step in found.steps[2:]] == pytest.approx([0.347590, 0.019973], abs=1e-6)
    assert (found.cuts, found.names["job"]["Dancer"]) == ({"age": (32.5, 40.0)}, "Artist")
    new = found.apply(PEOPLE.assign(age=[30, 32.5, 33, 40, 41, 90, -1, 35]))
    assert new["age"].tolist() == [0, 0, 1, 1, 2, 2, 0, 1]
    assert new["job"].tolist() == ["Engineer"] * 2 + ["Lawyer"] * 2 + ["Artist"] * 4
    assert new["class"].equals(PEOPLE["class"])


def test_too_few_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="a table of 8 rows cannot be 9-anonymous"):
        tds.specialise(PEOPLE, "class", 9, {"job": TAXONOMY})


@st.composite
def tables(draw: st.DrawFn) -> tuple[pd.DataFrame, dict[str, list[list[str]]]]:
    """A table with the class C and up to four attributes, and the taxonomies of the categorical ones."""
    n = draw(st.integers(1, 30))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=n, max_size=n))

    columns: dict[str, list[Any]] = {}
    taxonomies = {}
    for a in range(draw(st.integers(0, 3))):
        levels = [[f"v{i}" for i in range(draw(st.integers(1, 6)))]]
        for level in range(draw(st.integers(0, 2))):
            below = sorted(set(levels[-1]))
            # A name may stay what it is from one level to the next.
            parents = [draw(st.sampled_from([f"g{level}", f"h{level}", name])) for name in below]
            levels.append([dict(zip(below, parents, strict=True))[name] for name in levels[-1]])
        taxonomies[f"A{a}"] = [list(names) for names in zip(*levels, strict=True)]
        columns[f"A{a}"] = column(st.sampled_from(levels[0]))
    for b in range(draw(st.integers(0, 2))):
        columns[f"B{b}"] = column(st.sampled_from([-1.0, 0.0, 0.25, 2.0, 7.0]))
    columns["C"] = column(st.sampled_from(["x", "y", "z"]))
    return pd.DataFrame(columns), taxonomies


def entropy(classes: Sequence[str]) -> float:
    return -sum(m / len(classes) * log2(m / len(classes)) for m in Counter(classes).values())


def partition(values: Sequence[Any], key: dict[Any, Hashable]) -> list[tuple[Any, ...]]:
    """The values with the same key, in the order of the keys."""
    return [tuple(v for v in values if key[v] == name) for name in sorted(set(key.values()), key=str)]


class Naive:
    """The same algorithm on lists, with every number computed anew from the rows whenever it is needed."""

    def __init__(self, table: pd.DataFrame, taxonomies: dict[str, list[list[str]]], k: int) -> None:
        self.rows: list[dict[str, Any]] = table.to_dict("records")
        self.taxonomies, self.k = taxonomies, k
        self.cut: dict[str, list[tuple[Any, ...]]] = {}
        for name in table.columns.drop("C"):
            known = name in taxonomies
            self.cut[name] = [
                tuple(levels[0] for levels in taxonomies[name]) if known else tuple(sorted(set(table[name])))
            ]

    def having(self, name: str, members: Iterable[Any]) -> list[str]:
        return [row["C"] for row in self.rows if row[name] in set(members)]

    def gain(self, name: str, members: tuple[Any, ...], children: list[tuple[Any, ...]]) -> float:
        before = self.having(name, members)
        parts = [part for child in children if (part := self.having(name, child))]
        return entropy(before) - sum(len(part) / len(before) * entropy(part) for part in parts)

    def children(self, name: str, members: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        if name in self.taxonomies:
            levels = {row[0]: row for row in self.taxonomies[name]}
            depth = len(self.taxonomies[name][0])
            for level in range(depth - 1, -1, -1):
                parts = partition(members, {v: levels[v][level] for v in members})
                if len(parts) > 1:
                    return parts
            return []
        halves = [[members[:i], members[i:]] for i in range(1, len(members))]
        gains = [self.gain(name, members, two) for two in halves]
        return next((two for two, gain in zip(halves, gains, strict=True) if gain >= max(gains) - 1e-12), [])

    def smallest(self, cut: dict[str, list[tuple[Any, ...]]]) -> int:
        def group(row: dict[str, Any]) -> tuple[tuple[Any, ...], ...]:
            return tuple(next(m for m in parts if row[name] in m) for name, parts in cut.items())

        return min(Counter(map(group, self.rows)).values())

    def steps(self) -> Iterable[tuple[str, tuple[Any, ...], float, float, int]]:
        while True:
            options = []
            before = self.smallest(self.cut)
            for name, parts in self.cut.items():
                for at, members in enumerate(parts):
                    children = self.children(name, members)
                    if len(set(self.having(name, members))) < 2 or not children:
                        continue
                    new = self.cut | {name: parts[:at] + children + parts[at + 1 :]}
                    gain, after = self.gain(name, members, children), self.smallest(new)
                    if after >= self.k:
                        score = gain / (before - after) if after < before else gain
                        options.append((name, members, gain, score, after, new))
            if not options:
                return
            best = max(option[3] for option in options)
            *step, self.cut = next(option for option in options if option[3] >= best - 1e-12)
            yield tuple(step)  # type: ignore[misc]


@thorough(200)
@given(case=tables(), k=st.integers(1, 6))
def test_every_step_is_the_naive_one_and_the_table_is_k_anonymous(
    case: tuple[pd.DataFrame, dict[str, list[list[str]]]], k: int
) -> None:
    table, taxonomies = case
    if len(table) < k:
        with pytest.raises(ValueError, match="cannot be"):
            tds.specialise(table, "C", k, taxonomies)
        return
    found = tds.specialise(table, "C", k, taxonomies)
    naive = Naive(table, taxonomies, k)
    expected = list(naive.steps())
    assert [(s.attribute, s.members, s.smallest) for s in found.steps] == [(e[0], e[1], e[4]) for e in expected]
    assert [s.gain for s in found.steps] == pytest.approx([e[2] for e in expected], abs=1e-9)
    assert [s.score for s in found.steps] == pytest.approx([e[3] for e in expected], abs=1e-9)

    new = found.apply(table)
    attributes = list(table.columns.drop("C"))
    for name in attributes:
        together = {frozenset(group) for _, group in table[name].groupby(new[name])}
        parts = {frozenset(v for v in members if v in set(table[name])) for members in naive.cut[name]}
        assert together == parts - {frozenset()}
    if attributes:
        assert new.groupby(attributes).size().min() >= k


@thorough(60)
@given(case=tables(), k=st.integers(1, 3))
def test_a_tree_of_generalised_values_says_the_same_of_the_values_behind_them(
    case: tuple[pd.DataFrame, dict[str, list[list[str]]]], k: int
) -> None:
    table, taxonomies = case
    attributes = list(table.columns.drop("C"))
    if len(table) < k or not attributes:
        return
    recoding = tds.specialise(table, "C", k, taxonomies)
    general = recoding.apply(table)
    domains = {name: list(dict.fromkeys(names.values())) for name, names in recoding.names.items()}
    grown = cart(general, target="C", qi=attributes, domains=domains, seed=0)
    restored = recoding.restore(grown)
    assert (
        restored.attributes
        == read_training(
            table,
            target="C",
            qi=attributes,
            domains={name: [row[0] for row in rows] for name, rows in taxonomies.items()},
        ).attributes
    )
    for tree, release, frame in ((grown.trees[0], grown, general), (restored.trees[0], restored, table)):
        records = read_rows(frame, "data", release, release.attributes, None, target=True)
        columns = [
            codes if a.values else levels[codes]
            for a, codes, levels in zip(records.attributes, records.codes.T, records.levels, strict=True)
        ]
        ends = assign(tree, records.attributes, columns)
        for place, node in enumerate(tree.nodes):
            if node.is_leaf:
                here = Counter(table["C"][ends == place])
                assert {name: n for name, n in (node.counts or {}).items() if n} == here


CHOOSERS = [mondrian.median_cut, mondrian.information_gain_cut]


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


def test_names_are_alike_when_boxes_are():
    ranges, others = np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([[2.0, 3.0], [0.0, 3.0]])
    ((attribute, train, test),) = tiers.names(Attribute("a", "numeric"), ranges, [0, 1, 1], others, [0, 1])
    assert train[1] == train[2] == test[0]
    assert (len({train[0], train[1], test[1]}), len(attribute.values)) == (3, 3)


def test_ends_are_numbers_and_members_of_sets():
    (low, high) = tiers.ends(Attribute("a", "numeric"), np.array([[0.0, 1.0]]), [0, 0], np.array([[2.0, 3.0]]), [0])
    assert [low[1].tolist(), high[1].tolist()] == [[0, 0], [1, 1]]
    assert [low[2].tolist(), high[2].tolist()] == [[2], [3]]
    sets = np.array([[True, False]])
    first, second = tiers.ends(Attribute("a", values=("x", "y")), sets, [0], ~sets, [0])
    assert [*first[1], *second[1], *first[2], *second[2]] == [1, 0, 0, 1]


def test_sets_grow_to_the_groups_of_a_hierarchy():
    """Two races are all races; two work classes of the government are all of these, of one and self-employed any."""
    people = pd.DataFrame(
        {
            "race": ["White", "Black", "White", "White"],
            "workclass": ["Federal-gov", "State-gov", "Local-gov", "Private"],
            "class": list("abab"),
        }
    )
    training = read_training(people, target="class", qi=["race", "workclass"])
    alone = uniform(training, np.arange(4), 1)
    assert tiers.hierarchical_gcp(alone) == alone.gcp() == 0
    table = uniform(training, np.array([0, 0, 1, 1]), 2)
    assert table.gcp() == pytest.approx((1 + 0 + 0.5 + 0.5) / 4)
    assert tiers.hierarchical_gcp(table) == pytest.approx((1 + 0 + 0.75 + 1) / 4)


def test_a_cut_that_tells_nothing_is_not_made():
    training = read_training(pd.DataFrame({"x": [0, 1, 2, 3], "c": list("aaaa")}), target="c", qi=["x"])
    leaves = [len(tiers.PARTITIONS[name](training, 1).trees[0].leaves) for name in ("gain", "positive gain", "median")]
    assert leaves == [4, 1, 4]
