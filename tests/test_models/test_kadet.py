"""kADET against the paper's example, against its definitions, and against plain induction."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks
from support.anonymity import groups_by_span, hierarchies, training_of
from support.calls import refusal, refused
from support.strategies import Case, People, Style, cases, populations, thorough

import maxent
from maxent.models.defenses import KADETClassifier
from maxent.models.defenses.kadet import Rules, Step, criterion, grow, kadet
from maxent.models.defenses.parameters import Kadet
from maxent.models.defenses.pruning import prune_leaf, prune_parent
from maxent.models.errors import InvalidInput
from maxent.models.formats.maxent_json.read import validate_release
from maxent.models.formats.registry import load_release
from maxent.models.induction.growth import Growth
from maxent.models.induction.inducers import induce
from maxent.models.release import Attribute, Branch, Defense, Induction, Node, Release, Target, Tree
from maxent.models.tables.training import Training
from maxent.models.trees.restate import restate

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


@parametrize_with_checks([KADETClassifier(), KADETClassifier(k=2, impurity="gain_ratio", confidence=0.25)])
def test_scikit_learn_is_content(estimator: Any, check: Any) -> None:
    check(estimator)


def cars() -> pd.DataFrame:
    """Whether people pay back, by marital status and, which is private, sports car."""
    rows = ["uy+", "my+", "mn-", "mn-", "uy-", "un-", "wn-"]
    return pd.DataFrame([list(row) for row in rows], columns=["status", "car", "pays"])


def fitted(**parameters: Any) -> KADETClassifier:
    people = cars()
    return KADETClassifier(**parameters).fit(people[["status", "car"]], people["pays"])


def test_what_is_published_says_how_it_was_made(tmp_path: Path) -> None:
    file = tmp_path / "status.csv"
    file.write_text("m;married;*\nu;alone;*\nw;alone;*\n")
    model = fitted(k=3, private=["car"], hierarchies={"status": file})
    (tree,) = model.release_.trees
    assert tree.induction == Induction("kadet", "entropy", "unused", k=3)
    assert model.release_.defense == Defense("kadet", {"k": 3, "class": "private", "pruning": "none"})
    assert {a.name: a.role for a in model.release_.attributes} == {"status": "public", "car": "private"}
    assert [b.values for n in tree.nodes for b in n.branches] == [("n",), ("y",), ("m",), ("u", "w")]
    assert model.predict(cars()[["status", "car"]]).tolist() == list("++--+--")
    model = fitted(k=2, l=1.2, alpha=0.9, confidence=0.25, impurity="gini", publish="labels", order="weighted")
    assert model.release_.defense is not None
    assert model.release_.defense.parameters == {
        "k": 2,
        "class": "private",
        "l": 1.2,
        "diversity": "entropy",
        "alpha": 0.9,
        "pruning": "subtree replacement",
        "confidence": 0.25,
    }
    assert {node.n for node in model.release_.trees[0].nodes} == {None}
    assert clone(model).get_params() == model.get_params()


def test_a_release_can_be_saved_and_read(tmp_path: Path) -> None:
    model = fitted(k=np.int64(2), private=("car",))
    model.release_.save(tmp_path / "tree.json")
    assert maxent.load_release(tmp_path / "tree.json") == model.release_


def test_numbers_are_cut_where_nobody_is_left_alone() -> None:
    ages = pd.DataFrame({"age": [20.0, 30.0, 40.0, 50.0, 60.0, 70.0]})
    classes = list("abbbbb")
    best = KADETClassifier(k=1).fit(ages, classes).release_.trees[0].root
    assert [(b.le, b.gt) for b in best.branches] == [(20.0, None), (None, 20.0)]
    kept = KADETClassifier(k=2).fit(ages, classes).release_.trees[0].root
    assert [(b.le, b.gt) for b in kept.branches] == [(30.0, None), (None, 30.0)]


def test_with_quinlans_selection_numbers_are_cut_where_they_gain_most() -> None:
    """The last person told from the others is the better ratio, five of a class from the others the larger gain."""
    ages = pd.DataFrame({"age": np.arange(21.0, 29.0)})
    classes = list("aaaaabab")
    cuts = {}
    for selection in ("gain_ratio", "quinlan"):
        model = KADETClassifier(k=1, impurity="gain_ratio", selection=selection, max_depth=1).fit(ages, classes)
        (tree,) = model.release_.trees
        cuts[selection] = tree.root.branches[0].le, tree.induction.candidates
    assert cuts == {"gain_ratio": (27.0, "mixed"), "quinlan": (25.0, "none")}


def test_missing_values_are_refused_or_a_category() -> None:
    people = cars().assign(status=["u", None, "m", "m", np.nan, "u", "w"])
    with pytest.raises(InvalidInput, match="no missing values: give them a name"):
        KADETClassifier(k=2).fit(people[["status", "car"]], people["pays"])
    model = KADETClassifier(k=1, missing="category").fit(people[["status", "car"]], people["pays"])
    assert model.release_.attributes[0].values == ("(missing)", "m", "u", "w")
    assert (
        model.predict(people[["status", "car"]]).tolist()
        == model.predict(people[["status", "car"]].fillna("(missing)")).tolist()
    )
    with pytest.raises(InvalidInput, match="no missing values"):
        KADETClassifier(k=1, missing="category").fit(pd.DataFrame({"age": [1.0, np.nan, 3.0]}), ["a", "b", "a"])


@pytest.mark.parametrize(("parameters", "message"), [
    ({"k": 8}, "X: expected at least k = 8 records, found n_samples = 7"),
    ({"k": 3, "class_public": True},
        "k: expected at most 2, the records of the rarest class, as the class is public, found 3, but '\\+' has 2"),
    ({"k": 2, "l": 1.9}, "l: expected at most 1.8\\d*, e to the entropy of all records' classes, found 1.9"),
    ({"k": 2, "l": 3, "diversity": "distinct"}, "l: expected at most 2, the classes that occur, found 3"),
    ({"k": 2, "alpha": 0.7}, "alpha: expected at least 0.714286, the share of '-', found 0.7"),
])  # fmt: skip
def test_what_no_tree_keeps_is_refused_with_what_one_would(parameters: Any, message: str) -> None:
    refused(message, fitted, **parameters)


def test_every_unsuitable_parameter_is_named() -> None:
    wrong = {
        "k": 0,
        "l": 1.0,
        "diversity": "recursive",
        "alpha": 1.0,
        "impurity": "error",
        "selection": "random",
        "confidence": 0.6,
        "hierarchies": "status.csv",
        "private": "car",
        "class_public": "yes",
        "missing": "drop",
        "order": "random",
        "min_samples_split": 1.5,
        "max_depth": -1,
        "publish": "everything",
    }
    assert {problem.field for problem in refusal(fitted, **wrong).problems} == set(wrong)
    refused("selection: expected gain_ratio: only gain ratios are", fitted, k=1, selection="quinlan")
    refused("l and alpha: expected None", fitted, k=1, alpha=0.9, class_public=True)


CLASSES = ("yes", "no")
KS = st.integers(1, 8)


def leaf(name: str, *counts: int, **more: Any) -> Node:
    return Node(name, counts=dict(zip(CLASSES, counts, strict=True)), **more)


def figure_3(*, inner: bool = False) -> Release:
    """Height, then weight below 1.70 m and age above, with the records of Table 4."""
    tree = Tree(
        (
            Node("N1", "height", (Branch("N2", le=169.0), Branch("N3", gt=169.0))),
            Node("N2", "weight", (Branch("L1", le=59.0), Branch("L2", gt=59.0))),
            leaf("L1", 2, 1),
            leaf("L2", 0, 2),
            Node("N3", "age", (Branch("L3", le=14.0), Branch("L4", gt=14.0))),
            leaf("L3", 1, 0),
            leaf("L4", 1, 2),
        )
    )
    if inner:
        counts = {"N1": (4, 5), "N2": (2, 3), "N3": (2, 2)}
        stated = {i: {"n": sum(c), "counts": dict(zip(CLASSES, c, strict=True))} for i, c in counts.items()}
        tree = replace(tree, nodes=tuple(replace(node, **stated.get(node.id, {})) for node in tree.nodes))
    attributes = tuple(Attribute(name, "numeric") for name in ("height", "weight", "age"))
    return Release(Target("label", CLASSES), attributes, (tree,))


def leaves(release: Release) -> dict[str, tuple[int, ...]]:
    return {leaf.id: tuple((leaf.counts or {}).values()) for tree in release.trees for leaf in tree.leaves}


def unique(release: Release) -> int:
    """Leaves that single one person out."""
    return sum(sum(counts) == 1 for counts in leaves(release).values())


def children(release: Release) -> dict[str, list[str | None]]:
    return {node.id: [b.child for b in node.branches] for node in release.trees[0].nodes if not node.is_leaf}


@pytest.mark.parametrize(
    ("k", "stay"), [(1, ["L1", "L2", "L3", "L4"]), (2, ["L1", "L2", "L4"]), (3, ["L1", "L4"]), (4, [])]
)
def test_method_1_removes_the_small_leaves_of_figure_3(k: int, stay: list[str]) -> None:
    release = figure_3()
    pruned = prune_leaf(release, k)
    assert unique(release) == 1
    assert unique(pruned) == (k == 1)
    assert leaves(pruned) == {name: leaves(release)[name] for name in stay}
    assert children(pruned) == {
        name: [child if child in ("N2", "N3", *stay) else None for child in below]
        for name, below in children(release).items()
    }
    assert pruned.defense == Defense("prune-leaf", {"k": k})
    validate_release(pruned)


@pytest.mark.parametrize(
    ("k", "expected"),
    [
        (1, {"L1": (2, 1), "L2": (0, 2), "L3": (1, 0), "L4": (1, 2)}),
        (2, {"L1": (2, 1), "L2": (0, 2), "N3": (2, 2)}),
        (3, {"N2": (2, 3), "N3": (2, 2)}),
        (4, {"N2": (2, 3), "N3": (2, 2)}),
        (5, {"N1": (4, 5)}),
        (9, {"N1": (4, 5)}),
    ],
)
def test_method_2_collapses_the_parents_of_small_leaves_of_figure_3(k: int, expected: dict[str, Any]) -> None:
    pruned = prune_parent(figure_3(), k)
    assert leaves(pruned) == expected
    assert unique(pruned) == (k == 1)
    assert pruned.defense == Defense("prune-parent", {"k": k})
    validate_release(pruned)


def test_a_subtree_goes_when_its_sibling_is_small() -> None:
    """One small child is enough, whatever the other one is."""
    tree = figure_3().trees[0]
    nodes = (*tree.nodes[:1], leaf("N2", 1, 0), *tree.nodes[4:])
    assert leaves(prune_parent(replace(figure_3(), trees=(Tree(nodes),)), 2)) == {"N1": (3, 2)}


def test_a_homogeneous_leaf_survives_both() -> None:
    """Pruning is no defense against homogeneity (section 5)."""
    tenfold = tuple(
        replace(node, counts={c: 10 * n for c, n in (node.counts or {}).items()}) if node.is_leaf else node
        for node in figure_3().trees[0].nodes
    )
    release = replace(figure_3(), trees=(Tree(tenfold),))
    assert leaves(prune_leaf(release, 15)) == {"L1": (20, 10), "L2": (0, 20), "L4": (10, 20)}
    assert leaves(prune_parent(release, 15)) == {"L1": (20, 10), "L2": (0, 20), "N3": (20, 20)}


def test_empty_leaves_are_small_for_every_k() -> None:
    tree = figure_3().trees[0]
    release = replace(figure_3(), trees=(Tree(tuple(leaf("L3", 0, 0) if n.id == "L3" else n for n in tree.nodes)),))
    assert list(leaves(prune_leaf(release, 1))) == ["L1", "L2", "L4"]
    assert leaves(prune_parent(release, 1)) == {"L1": (2, 1), "L2": (0, 2), "N3": (1, 2)}


def counted(kinds: tuple[str, ...] = ("greedy", "private", "anyhow"), **style: Any) -> st.SearchStrategy[Case]:
    """Trees whose leaves state at least counts."""
    people = populations(rows=(8, 40), classes=(2, 3))
    return cases(people, kinds=kinds, style=st.just(Style(**{"leaf": "counts", **style})))


def fixpoint(draw: Any, tree: Tree, k: int) -> dict[str, tuple[int, ...]]:
    """Method 2 as it is written down: any node with a small child becomes a leaf, until there is none."""
    nodes = {node.id: node for node in tree.nodes}
    below = {node.id: [b.child or "" for b in node.branches] for node in tree.nodes}
    counts = {leaf.id: np.array(list((leaf.counts or {}).values())) for leaf in tree.leaves}

    def held(name: str) -> Any:
        return sum(map(held, below[name])) if below[name] else counts[name]

    while True:
        reached, stack = [], [tree.root.id]
        while stack:
            reached.append(stack.pop())
            stack += below[reached[-1]]
        ready = [name for name in reached if any(held(child).sum() < k for child in below[name])]
        if not ready:
            return {name: tuple(counts[name].tolist()) for name in reached if not below[name]}
        name = draw(st.sampled_from(sorted(ready)))
        assert not nodes[name].is_leaf
        counts[name], below[name] = held(name), []


@thorough(120)
@given(case=counted(), k=KS, data=st.data())
def test_method_2_is_the_fixpoint_in_whatever_order(case: Case, k: int, data: st.DataObject) -> None:
    assume(k <= len(case.people))
    pruned = prune_parent(case.release, k)
    validate_release(pruned)
    assert leaves(pruned) == fixpoint(data.draw, case.release.trees[0], k)
    assert min(map(sum, leaves(pruned).values())) >= k
    assert pruned.trees[0].induction == case.release.trees[0].induction


@thorough(80)
@given(case=counted(inner="mixture"), k=KS)
def test_no_leaf_of_either_method_singles_anybody_out(case: Case, k: int) -> None:
    assume(2 <= k <= len(case.people))
    assert unique(prune_leaf(case.release, k)) == unique(prune_parent(case.release, k)) == 0


# --- What a release of method 1 tells about the leaves it has lost -----------------------------------------------


def statements(release: Release, original: Release) -> tuple[Any, list[int]]:
    """Every number a tree states, as sums over (leaf of the original, class); and the columns of removed leaves."""
    nodes = {node.id: node for node in original.trees[0].nodes}
    names = [leaf.id for leaf in original.trees[0].leaves]
    width, rows = len(CLASSES) * len(names), []

    def sums(name: str, classes: list[int]) -> Any:
        row, stack = np.zeros((len(names), len(CLASSES))), [name]
        while stack:
            at = stack.pop()
            stack += [b.child for b in nodes[at].branches if b.child is not None]
            if nodes[at].is_leaf:
                row[names.index(at), classes] = 1
        return row.ravel()

    for node in release.trees[0].nodes:
        if node.n is not None:
            rows.append(sums(node.id, [0, 1]))
        if node.counts is not None:
            rows += [sums(node.id, [0]), sums(node.id, [1])]
    kept = {node.id for node in release.trees[0].nodes}
    gone = [len(CLASSES) * i + x for i, name in enumerate(names) if name not in kept for x in range(len(CLASSES))]
    return np.array(rows or [np.zeros(width)]), gone


def revealed(release: Release, original: Release) -> int:
    """How many independent sums over removed leaves alone follow from the statements."""
    rows, gone = statements(release, original)
    others = np.delete(rows, gone, axis=1)
    # A combination of statements that cancels outside of the removed leaves says something about them, unless it
    # cancels there as well.
    return int(np.linalg.matrix_rank(rows)) - (int(np.linalg.matrix_rank(others)) if others.size else 0)


@thorough(100)
@given(case=cases(populations(rows=(8, 40), classes=(2, 2)), style=st.just(Style("counts", inner="mixture"))), k=KS)
def test_nothing_that_is_left_tells_of_a_removed_leaf(case: Case, k: int) -> None:
    assume(k <= len(case.people))
    pruned = prune_leaf(case.release, k)
    validate_release(pruned)
    assert revealed(pruned, case.release) == 0
    now = {node.id: node for node in pruned.trees[0].nodes}
    for node in case.release.trees[0].nodes:
        if node.is_leaf or (node.n is None and node.counts is None) or now[node.id].n == node.n is not None:
            continue
        if now[node.id].counts == node.counts is not None:
            continue
        # Each of the statements that were dropped would have told something.
        put_back = tuple(
            replace(other, n=node.n, counts=node.counts) if other.id == node.id else other
            for other in pruned.trees[0].nodes
        )
        assert revealed(replace(pruned, trees=(replace(pruned.trees[0], nodes=put_back),)), case.release) > 0


def test_inner_counts_are_dropped_above_removed_leaves_only() -> None:
    pruned = prune_leaf(figure_3(inner=True), 2)
    stated = {node.id: node.counts for node in pruned.trees[0].nodes if not node.is_leaf}
    assert stated == {"N1": None, "N2": {"yes": 2, "no": 3}, "N3": None}
    assert revealed(figure_3(inner=True), figure_3()) == 0
    kept = tuple(n for n in figure_3(inner=True).trees[0].nodes if n.id != "L3")
    assert revealed(replace(pruned, trees=(Tree(kept),)), figure_3()) == 2  # both counts of L3


# --- Repeated, restated, refused ---------------------------------------------------------------------------------


@thorough(60)
@given(case=counted(inner="counts"), first=KS, second=KS)
def test_pruning_again_is_pruning_by_the_larger_k(case: Case, first: int, second: int) -> None:
    assume(max(first, second) <= len(case.people))
    for method in (prune_leaf, prune_parent):
        assert method(method(case.release, first), second) == method(case.release, max(first, second))


def test_an_earlier_defense_stays_known() -> None:
    release = replace(figure_3(), defense=Defense("kadet", {"k": 3, "l": 1.5}))
    assert prune_leaf(release, 2).defense == Defense("prune-leaf", {"k": 2, "kadet.k": 3, "kadet.l": 1.5})
    twice = prune_leaf(prune_parent(release, 3), 2).defense
    assert twice == Defense("prune-leaf", {"k": 2, "prune-parent.k": 3, "kadet.k": 3, "kadet.l": 1.5})


@thorough(80)
@given(case=counted(), k=KS, publish=st.sampled_from(("labels", "rates", "counts")))
def test_what_leaves_state_may_be_reduced_before_or_after(case: Case, k: int, publish: Any) -> None:
    assume(k <= len(case.people))
    labelled = restate(case.release, "counts")
    after = restate(prune_parent(labelled, k), publish)
    validate_release(after)
    assert after.defense == Defense("prune-parent", {"k": k})
    if publish == "counts" or (publish == "rates" and len(case.release.target.classes) == 2):
        assert prune_parent(restate(labelled, publish), k) == after
    if publish != "labels":
        assert prune_leaf(restate(labelled, publish), k) == restate(prune_leaf(labelled, k), publish)


def test_what_a_release_restates() -> None:
    release = figure_3(inner=True)
    rates = restate(release, "rates").trees[0]
    assert rates.leaves == (
        Node("L1", label="yes", error_rate=1 / 3, n=3),
        Node("L2", label="no", error_rate=0.0, n=2),
        Node("L3", label="yes", error_rate=0.0, n=1),
        Node("L4", label="no", error_rate=1 / 3, n=3),
    )
    assert rates.root.counts is rates.root.n is None
    assert [leaf.label for leaf in restate(release, "labels").trees[0].leaves] == ["yes", "no", "yes", "no"]
    counts = restate(release, "counts")
    assert counts.trees[0].root == release.trees[0].root
    assert restate(restate(release, "rates"), "counts").trees[0].leaves == counts.trees[0].leaves
    empty = Release(release.target, (), (Tree((leaf("L", 0, 0),)),))
    assert restate(empty, "labels").trees[0].root == Node("L")
    assert restate(empty, "rates").trees[0].root == Node("L", n=0)


def problems(function: Any, *arguments: Any) -> list[tuple[str, str]]:
    return [(problem.where, problem.field) for problem in refusal(function, *arguments).problems]


def test_what_states_too_little_is_refused_with_the_nodes() -> None:
    labels = restate(figure_3(), "labels")
    of_leaves = [(f"node L{i}", "n") for i in (1, 2, 3, 4)]
    assert problems(prune_leaf, labels, 2) == of_leaves
    assert problems(prune_parent, labels, 2) == of_leaves
    assert problems(restate, labels, "counts") == [(f"node L{i}", "counts") for i in (1, 2, 3, 4)]
    assert problems(restate, labels, "rates") == [(f"node L{i}", f) for i in (1, 2, 3, 4) for f in ("error_rate", "n")]
    rates = restate(figure_3(), "rates")
    three = replace(rates, target=Target("label", (*CLASSES, "perhaps")))
    assert problems(prune_parent, three, 2) == [("node N3", "counts")]  # L4 has errors of one class or the other
    assert leaves(restate(prune_parent(three, 1), "rates")) == leaves(restate(three, "rates"))  # nothing collapses
    no_whole = tuple(replace(node, error_rate=0.2) if node.id == "L1" else node for node in rates.trees[0].nodes)
    assert problems(prune_parent, replace(rates, trees=(Tree(no_whole),)), 3) == [("node N2", "counts")]


@pytest.mark.parametrize("k", [0, -1, 2.0, "2", True, None])
@pytest.mark.parametrize("method", [prune_leaf, prune_parent])
def test_k_is_a_whole_number_of_records(method: Any, k: Any) -> None:
    assert problems(method, figure_3(), k) == [("argument", "k")]


@pytest.mark.parametrize("method", [prune_leaf, prune_parent])
def test_other_refusals(method: Any) -> None:
    assert problems(method, figure_3(), 10) == [("node N1", "n")]
    forest = replace(figure_3(), trees=(figure_3().trees[0], Tree((leaf("L", 1, 1),))))
    assert problems(method, forest, 3) == [("tree 2, node L", "n")]
    assert problems(method, replace(figure_3(), suppressed_below=5), 2) == [("release", "suppressed_below")]
    assert problems(method, replace(prune_leaf(figure_3(), 2), defense=None), 2) == [("node N3", "child")]
    refused("N2", prune_parent, prune_leaf(figure_3(), 3), 3)


def test_numpy_integers_will_do(tmp_path: Any) -> None:
    pruned = prune_leaf(figure_3(), np.int64(2))  # type: ignore[arg-type]
    pruned.save(tmp_path / "tree.json")
    assert load_release(tmp_path / "tree.json") == pruned


def test_every_tree_of_a_forest_is_pruned() -> None:
    forest = replace(figure_3(), trees=figure_3().trees * 2, sampling_rate=0.5)
    for method in (prune_leaf, prune_parent):
        alone = method(figure_3(), 3).trees[0]
        assert method(forest, 3).trees == (alone, alone)


def test_trees_may_be_very_deep() -> None:
    depth, nodes = 20_000, []
    for i in range(depth):
        nodes += [Node(f"N{i}", "height", (Branch(f"L{i}", le=float(i)), Branch(f"N{i + 1}", gt=float(i))))]
        nodes += [leaf(f"L{i}", 3 - (i == depth // 2), 0)]
    release = replace(figure_3(), trees=(Tree((*nodes, leaf(f"N{depth}", 0, 9))),))
    assert len(leaves(prune_leaf(release, 3))) == depth
    pruned = leaves(prune_parent(release, 3))
    assert len(pruned) == depth // 2 + 1
    assert pruned[f"N{depth // 2}"] == (3 * (depth // 2) - 1, 9)
