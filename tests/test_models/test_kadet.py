"""kADET against the paper's example, against its definitions, and against plain induction."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.anonymity import groups_by_span, hierarchies, training_of
from support.strategies import People, populations, thorough

from maxent.models.defenses.kadet import Kadet, Rules, Step, criterion, grow, kadet
from maxent.models.errors import InvalidInput
from maxent.models.formats.maxent_json.read import validate_release
from maxent.models.induction.inducers import Growth, induce
from maxent.models.release import Attribute, Release, Target
from maxent.models.tables.training import Training

NAMES = ("Lisa", "John", "Ben", "Laura", "Robert", "Anna")


def table_1() -> People:
    """Table 1; the class, Loan Risk, is called Y."""
    attributes = (
        Attribute("Marital Status", "categorical", ("Married", "Unmarried")),
        Attribute("Sports Car", "categorical", ("No", "Yes"), "private"),
    )
    columns = {"Marital Status": np.array([1, 0, 0, 0, 1, 1]), "Sports Car": np.array([1, 1, 0, 0, 1, 0])}
    return People(attributes, columns, np.array([1, 1, 0, 0, 0, 0]), ("bad", "good"))


def described(release: Release, node_id: str) -> Any:
    """A tree as nested dictionaries."""
    node = next(n for n in release.trees[0].nodes if n.id == node_id)
    if node.is_leaf:
        return dict(node.counts or {})
    return {node.attribute: {b.values: described(release, b.child or "") for b in node.branches}}


def test_table_1_gives_the_tree_of_figure_1() -> None:
    people = table_1()
    release = kadet(training_of(people), Kadet(k=3))
    assert described(release, release.trees[0].root.id) == {
        "Sports Car": {
            ("No",): {"bad": 3, "good": 0},
            ("Yes",): {"Marital Status": {("Married",): {"bad": 0, "good": 1}, ("Unmarried",): {"bad": 1, "good": 1}}},
        }
    }
    groups = groups_by_span(people, release)
    both = [frozenset((leaf, c) for leaf in leaves for c in people.classes) for leaves in (("L1", "L2"), ("L1", "L3"))]
    assert {span: {NAMES[row] for row in rows} for span, rows in groups.items()} == {
        both[0]: {"John", "Ben", "Laura"},
        both[1]: {"Lisa", "Robert", "Anna"},
    }


def test_the_queue_of_table_1() -> None:
    steps: list[Step] = []
    kadet(training_of(table_1()), Kadet(k=3), watch=steps.append)
    bits = [(s.node, s.attribute, round(s.score / np.log(2), 3), s.outcome) for s in steps]
    assert bits == [(0, "Sports Car", 0.459, "split"), (2, "Marital Status", 0.252, "split")]
    steps.clear()
    kadet(training_of(table_1()), Kadet(k=4), watch=steps.append)
    assert [(s.attribute, s.outcome) for s in steps] == [("Sports Car", "split"), ("Marital Status", "breach")]


CROWDS = populations(rows=(4, 40), public=(1, 4), private=(0, 2), classes=(2, 3))
MEASURES = st.sampled_from(
    (
        *({"impurity": impurity} for impurity in ("entropy", "gini", "gain_ratio")),
        {"impurity": "gain_ratio", "selection": "quinlan"},
    )
)
GUARANTEES = st.fixed_dictionaries(
    {"k": st.sampled_from((1, 2, 2, 3, 4, 6))},
    optional={
        "l": st.sampled_from((1.2, 1.5, 2.0)),
        "alpha": st.sampled_from((0.6, 0.75, 0.9)),
        "diversity": st.sampled_from(("entropy", "distinct")),
    },
)


def kept(people: People, asked: Kadet) -> bool:
    """Whether at least a tree of one leaf keeps what is asked."""
    groups = (
        [np.flatnonzero(people.y == c) for c in range(len(people.classes))]
        if asked.class_public
        else [np.arange(len(people))]
    )
    return not any(breaches(people, asked, rows) for rows in groups if len(rows))


def breaches(people: People, asked: Kadet, rows: Any) -> bool:
    """What is asked of a group of people, said again."""
    counts = people.counts(np.asarray(rows))
    p = counts[counts > 0] / counts.sum()
    if len(rows) < asked.k or (asked.alpha is not None and p.max() > asked.alpha + 1e-9):
        return True
    if asked.l is None:
        return False
    return bool(len(p) < asked.l if asked.diversity == "distinct" else np.exp(-(p * np.log(p)).sum()) < asked.l - 1e-9)


def rules_of(people: People, asked: Kadet, groups: dict[str, Any]) -> Rules:
    levels = (
        np.zeros((0, 0), np.int64)
        if a.values is None
        else groups[a.name].groups(a.values)
        if a.name in groups
        else np.arange(len(a.values))[None]
        for a in people.attributes
    )
    quinlan = asked.selection == "quinlan"
    return Rules(asked.impurity, asked.k, criterion(asked), tuple(levels), asked.class_public, above_average=quinlan)


@pytest.mark.slow
@thorough(250)
@given(people=CROWDS, guarantees=GUARANTEES, measure=MEASURES, class_public=st.booleans(), data=st.data())
def test_the_spans_kept_are_those_of_the_definitions(
    people: People, guarantees: Any, measure: Any, class_public: bool, data: st.DataObject
) -> None:
    asked = Kadet(class_public=class_public, **measure, **({"k": guarantees["k"]} if class_public else guarantees))
    assume(kept(people, asked))
    groups = data.draw(hierarchies(people))
    tree = grow(training_of(people), rules_of(people, asked, groups))
    release = kadet(training_of(people), Kadet(**{**as_dict(asked), "hierarchies": groups}))
    validate_release(release)
    # Nodes of the release are in depth-first order.
    order, stack = [], [0]
    while stack:
        order.append(stack.pop())
        stack += reversed(tree.nodes[order[-1]].sons)
    leaf = {number: node.id for number, node in zip(order, release.trees[0].nodes, strict=True)}
    found = {}
    for span in tree.spans.all():
        rows = span.population
        (klass,) = {people.classes[people.y[row]] for row in rows} if class_public else {None}
        classes = people.classes if klass is None else (klass,)
        found[frozenset((leaf[n], c) for n in span.nodes for c in classes)] = sorted(rows.tolist())
    assert len(found) == len(tree.spans.all())
    assert found == groups_by_span(people, release, class_public=class_public)
    bins = {
        (leaf[i], c): n.counts[j] for i, n in enumerate(tree.nodes) if not n.sons for j, c in enumerate(people.classes)
    }
    stated = {(n.id, c): size for n in release.trees[0].leaves for c, size in (n.counts or {}).items()}
    assert bins == stated
    assert all(
        bins[leaf[i], c] == np.sum(people.y[n.rows] == j)
        for i, n in enumerate(tree.nodes)
        if not n.sons
        for j, c in enumerate(people.classes)
    )


def as_dict(asked: Kadet) -> dict[str, Any]:
    return {name: getattr(asked, name) for name in Kadet.__slots__}


@thorough(200)
@given(
    people=CROWDS,
    guarantees=GUARANTEES,
    measure=MEASURES,
    class_public=st.booleans(),
    confidence=st.sampled_from((None, 0.25, 0.5)),
    order=st.sampled_from(("gain", "weighted")),
    data=st.data(),
)
def test_no_span_breaches(
    people: People, guarantees: Any, measure: Any, class_public: bool, data: st.DataObject, **options: Any
) -> None:
    if class_public:
        guarantees = {"k": guarantees["k"]}
    groups = data.draw(hierarchies(people))
    asked = Kadet(class_public=class_public, hierarchies=groups, **guarantees, **measure, **options)
    assume(kept(people, asked))
    release = kadet(training_of(people), asked)
    validate_release(release)
    for rows in groups_by_span(people, release, class_public=class_public).values():
        assert not breaches(people, asked, rows)


@pytest.mark.slow
@thorough(150)
@given(
    people=CROWDS, guarantees=GUARANTEES, measure=MEASURES, order=st.sampled_from(("gain", "weighted")), data=st.data()
)
def test_to_watch_changes_nothing(
    people: People, guarantees: Any, measure: Any, order: Any, data: st.DataObject
) -> None:
    asked = Kadet(hierarchies=data.draw(hierarchies(people)), order=order, **guarantees, **measure)
    assume(kept(people, asked))
    steps: list[Step] = []
    watched = kadet(training_of(people), asked, watch=steps.append)
    assert watched == kadet(training_of(people), asked)
    assert sum(step.outcome == "split" for step in steps) == sum(not n.is_leaf for n in watched.trees[0].nodes)


@thorough(150)
@given(
    people=CROWDS,
    measure=MEASURES,
    min_samples_split=st.integers(1, 6),
    max_depth=st.sampled_from((None, 0, 1, 2)),
    class_public=st.booleans(),
)
def test_asking_for_nothing_gives_the_plain_tree(
    people: People, measure: Any, class_public: bool, **limits: Any
) -> None:
    plain = []
    if all(a.values is not None for a in people.attributes) and "selection" not in measure:
        plain.append(Growth("id3", **measure, **limits))
    if measure["impurity"] == "gain_ratio":
        plain.append(Growth("c45", min_samples_leaf=1, confidence=None, **measure, **limits))
    assume(plain)  # no other inducer cuts numbers by gain
    grown = kadet(training_of(people), Kadet(k=1, class_public=class_public, **measure, **limits)).trees[0].nodes
    assert [induce(training_of(people), growth).trees[0].nodes for growth in plain] == [grown] * len(plain)


def bits(groups: list[Any], y: Any) -> tuple[float, float]:
    """Gain and gain ratio of a partition of records, in the plainest way."""

    def entropy(codes: Any) -> float:
        p = np.unique(codes, return_counts=True)[1] / len(codes)
        return float(-(p * np.log2(p)).sum())

    place = np.concatenate([np.full(len(rows), i) for i, rows in enumerate(groups)])
    together = np.concatenate(groups)
    gain = entropy(y[together]) - sum(len(rows) / len(together) * entropy(y[rows]) for rows in groups)
    return gain, gain / entropy(place)


@thorough(150)
@given(
    people=populations(rows=(4, 40), public=(1, 4), private=(0, 0), classes=(2, 3)),
    k=st.sampled_from((1, 2, 3, 5)),
    data=st.data(),
)
def test_quinlans_selection_is_made_among_what_does_not_breach(people: People, k: int, data: st.DataObject) -> None:
    assume(len(people) >= k)
    groups = data.draw(hierarchies(people))
    asked = Kadet(k=k, impurity="gain_ratio", selection="quinlan", hierarchies=groups)
    levels = rules_of(people, asked, groups).groups
    names = [a.name for a in people.attributes]

    def candidate(a: int, rows: Any) -> tuple[float, float] | None:
        """Gain and ratio of the first level, or of the cut that gains most, that leaves k people everywhere."""
        column, numeric = people.columns[names[a]][rows], people.attributes[a].values is None
        ways = [column > cut for cut in np.unique(column)] if numeric else [group[column] for group in levels[a]]
        parts = [[rows[way == value] for value in np.unique(way)] for way in ways]
        found = [bits(p, people.y) for p in parts if len(p) > 1 and min(map(len, p)) >= k]
        least = max(gain for gain, _ in found) - 1e-9 if numeric and found else -1.0
        return next((pair for pair in found if pair[0] >= least), None)

    tree = grow(training_of(people), rules_of(people, asked, groups))
    rows_of = [node.rows for node in tree.nodes]
    for number in reversed(range(len(tree.nodes))):
        if sons := tree.nodes[number].sons:
            rows_of[number] = np.sort(np.concatenate([rows_of[son] for son in sons]))
    for node, rows in zip(tree.nodes, rows_of, strict=True):
        found = {a: pair for a in range(len(names)) if (pair := candidate(a, rows))}
        least = max(1e-9, sum(gain for gain, _ in found.values()) / max(len(found), 1) - 1e-9)
        ratios = {a: ratio for a, (gain, ratio) in found.items() if gain >= least}
        if len(np.unique(people.y[rows])) < 2 or not ratios:
            assert node.attribute is None
        else:
            assert node.attribute in ratios
            assert ratios[node.attribute] >= max(ratios.values()) - 1e-9


def test_with_quinlans_selection_only_what_does_not_breach_competes() -> None:
    """The values of A are of one person each. Their gain ratio is below B's, that of low and high above."""
    groups = {"A": [[value, "low" if value < "4" else "high"] for value in "01234567"]}
    attributes = (Attribute("A", "categorical", tuple("01234567")), Attribute("B", "categorical", tuple("xyz")))
    columns = np.arange(8), np.array([0, 0, 0, 2, 2, 1, 2, 1])
    training = Training(Target("Y", ("bad", "good")), attributes, columns, np.arange(8) // 4)
    asked = Kadet(k=2, impurity="gain_ratio", selection="quinlan", hierarchies=groups)
    steps: list[Step] = []
    kadet(training, asked, watch=steps.append)
    assert [(step.attribute, step.level, step.outcome) for step in steps] == [("A", 1, "split")]


def test_more_than_there_are_records_cannot_be_kept() -> None:
    with pytest.raises(InvalidInput, match="kadet: root: k: expected at most 6, the records there are, found 7"):
        kadet(training_of(table_1()), Kadet(k=7))
    with pytest.raises(InvalidInput, match="publish: expected one of labels, rates, counts, found 'all'"):
        kadet(training_of(table_1()), Kadet(k=1), publish="all")  # type: ignore[arg-type]


def test_weighted_gains_prefer_the_larger_node() -> None:
    """Below a private split, ten records of which A tells all, and forty of which B tells nine in ten."""
    rows = [(0, 0, 0, 0), (0, 1, 0, 1)] * 5
    rows += [(1, a, b, 2 + b) for a in (0, 1) for b in (0, 1)] * 9 + [(1, a, b, 3 - b) for a in (0, 1) for b in (0, 1)]
    p, a, b, y = np.array(rows).T
    attributes = (
        Attribute("P", "categorical", ("few", "many"), "private"),
        Attribute("A", "categorical", ("0", "1")),
        Attribute("B", "categorical", ("0", "1")),
    )
    training = Training(Target("Y", ("a", "b", "c", "d")), attributes, (p, a, b), y)
    second = {}
    for order in ("gain", "weighted"):
        steps: list[Step] = []
        kadet(training, Kadet(k=1, order=order), watch=steps.append)  # type: ignore[arg-type]
        assert (steps[0].attribute, steps[0].outcome) == ("P", "split")
        second[order] = steps[1].attribute
    assert second == {"gain": "A", "weighted": "B"}
