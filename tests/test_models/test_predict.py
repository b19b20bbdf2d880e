"""What a release predicts is what its leaves state, with a rule for every record that reaches no statement."""

from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from support.calls import refusal, refused
from support.strategies import Case, Style, cases, leaves_of, populations, thorough

import maxent
from maxent.constraints.program.cells import build_cells
from maxent.models.errors import InvalidInput
from maxent.models.formats.assemble import assemble, rest
from maxent.models.formats.maxent_json.read import parse_release, validate_release
from maxent.models.formats.maxent_json.write import release_to_document
from maxent.models.formats.proof import read_training
from maxent.models.formats.release_reader import Wanted
from maxent.models.out_of_core import descent as out_of_core_descent
from maxent.models.out_of_core import runs
from maxent.models.out_of_core.descent import LOST, descent_of, numbered, steps_of
from maxent.models.out_of_core.runs import Lost, cells_of, columns_of, packing_of
from maxent.models.reading import Reader
from maxent.models.release import Attribute, Boosting, Branch, Node, Release, Target, Tree
from maxent.models.tables.qi_table import read_qi
from maxent.models.trees import places as tree_places
from maxent.models.trees.places import assign, divided, number_places
from maxent.models.trees.predict import predict, predict_proba

CLASSES = ("a", "b", "c")


def release(*leaves: Node | None, more: tuple[Tree, ...] = (), classes: tuple[str, ...] = CLASSES) -> Release:
    """x against the rest, which are y, z and w by a second split; leaves of None are removed."""
    ids = [leaf and leaf.id for leaf in leaves]
    nodes = (
        Node("N1", "A", (Branch(ids[0], ("x",)), Branch("N2", ("y", "z", "w")))),
        Node("N2", "A", tuple(Branch(i, (v,)) for i, v in zip(ids[1:], "yzw", strict=True))),
        *(leaf for leaf in leaves if leaf is not None),
    )
    attributes = (Attribute("A", "categorical", tuple("xyzw")), Attribute("B", "numeric"))
    return Release(Target("Y", classes), attributes, (Tree(nodes), *more))


def counted(name: str, *counts: int, **more: Any) -> Node:
    return Node(name, counts=dict(zip(CLASSES, counts, strict=True)), **more)


def ask(model: Release, values: str = "xyzw", **options: Any) -> Any:
    return predict_proba(model, pd.DataFrame({"A": list(values)}), **options)


def test_leaves_answer_with_counts_then_rate_then_label() -> None:
    model = release(
        counted("L1", 2, 1, 1, label="a"),
        Node("L2", label="b", error_rate=0.5),
        Node("L3", label="c"),
        Node("L4", label="c", error_rate=0.1, counts={"a": 1, "b": 0, "c": 9}),
    )
    expected = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0, 0, 1], [0.1, 0, 0.9]]
    np.testing.assert_allclose(ask(model), expected, rtol=1e-15)


def test_the_stated_label_decides_between_equal_classes() -> None:
    model = release(
        counted("L1", 2, 2, 0, label="b"),
        counted("L2", 2, 2, 0),
        Node("L3", label="c", error_rate=2 / 3),
        counted("L4", 0, 0, 0, label="c"),
    )
    assert predict(model, pd.DataFrame({"A": list("xyzw")})).tolist() == ["b", "a", "c", "c"]


def test_the_nearest_ancestor_with_leaves_answers_for_removed_ones() -> None:
    model = release(counted("L1", 6, 0, 0), counted("L2", 0, 3, 0), None, counted("L4", 0, 0, 1))
    np.testing.assert_allclose(ask(model, "z"), [[0, 0.75, 0.25]])
    np.testing.assert_allclose(ask(model, "z", removed="majority"), [[0.6, 0.3, 0.1]])
    np.testing.assert_allclose(ask(release(counted("L1", 6, 0, 2), None, None, None), "yx"), [[0.75, 0, 0.25]] * 2)


def test_empty_leaves_and_unknown_values_are_answered_for_alike() -> None:
    model = release(counted("L1", 6, 0, 0), counted("L2", 0, 3, 0), counted("L3", 0, 0, 0), counted("L4", 0, 0, 1))
    np.testing.assert_allclose(ask(model, "z"), [[0, 0.75, 0.25]])
    np.testing.assert_allclose(ask(model, "?"), [[0.6, 0.3, 0.1]])
    silent = release(Node("L1", label="a"), Node("L2", n=3), Node("L3", label="b", n=0), Node("L4"))
    np.testing.assert_allclose(ask(silent, "yzw"), [[1, 0, 0]] * 3)


def test_leaves_weigh_their_records_where_all_state_them() -> None:
    rates = (Node("L1", label="a", error_rate=0.5, n=10), None, Node("L3", label="b", n=30), Node("L4"))
    np.testing.assert_allclose(ask(release(*rates), "y", removed="majority"), [[5 / 40, 32.5 / 40, 2.5 / 40]])
    unsized = (Node("L1", label="a", error_rate=0.5), *rates[1:])
    np.testing.assert_allclose(ask(release(*unsized), "y", removed="majority"), [[0.25, 0.625, 0.125]])
    np.testing.assert_allclose(ask(release(*unsized), "y"), [[0, 1, 0]])


def test_where_nothing_is_stated_every_class_is_as_likely() -> None:
    nothing = release(None, None, None, None)
    np.testing.assert_allclose(ask(nothing), np.full((4, 3), 1 / 3))
    assert predict(nothing, pd.DataFrame({"A": ["x"]})).tolist() == ["a"]


def test_a_forest_sums_counts_or_averages_shares() -> None:
    first = (counted("L1", 8, 2, 0), counted("L2", 0, 3, 0), None, counted("L4", 0, 0, 0))
    second = release(counted("L1", 1, 9, 90), None, None, counted("L4", 0, 0, 0)).trees
    forest = release(*first, more=second)
    # x sums both trees; y is answered by the first alone; z and w by the leaves next to them in either tree.
    expected = [[9 / 110, 11 / 110, 90 / 110], [0, 1, 0], [1 / 103, 12 / 103, 90 / 103], [1 / 103, 12 / 103, 90 / 103]]
    np.testing.assert_allclose(ask(forest), expected, rtol=1e-14)
    labels = release(*(Node(f"L{i}", label="a") for i in range(4))).trees
    np.testing.assert_allclose(ask(release(*first, more=labels), "x"), [[0.9, 0.1, 0]], rtol=1e-14)
    assert predict(release(*first, more=second), pd.DataFrame({"A": ["x"]})).tolist() == ["c"]


def test_one_class_and_a_tree_without_splits() -> None:
    model = Release(Target("Y", ("a",)), (), (Tree((Node("L", label="a", error_rate=0.0, n=2),)),))
    assert predict_proba(model, pd.DataFrame({"Z": [1, 2]})).tolist() == [[1.0], [1.0]]
    assert predict(model, pd.DataFrame({"Z": [1, 2]})).tolist() == ["a", "a"]


def test_files_and_frames_are_read_alike(tmp_path: Any) -> None:
    model = release(*(counted(f"L{i}", i, 1, 1) for i in range(4)))
    frame = pd.DataFrame({"other": [1.5, 2.5], "A": ["w", "nowhere"]})
    frame.to_csv(tmp_path / "data.csv", index=False)
    np.testing.assert_array_equal(predict_proba(model, frame), predict_proba(model, tmp_path / "data.csv"))


def test_bad_input_is_refused_with_every_problem() -> None:
    numeric = Tree((Node("N", "B", (Branch("L", le=1.0), Branch("M", gt=1.0))), Node("L"), Node("M")))
    model = release(*(counted(f"L{i}", i, 1, 1) for i in range(4)), more=(numeric,))
    caught = refusal(predict_proba, model, pd.DataFrame({"A": ["x", None, "y"], "B": [1.0, 2.0, np.inf]}))
    assert [(p.where, p.field) for p in caught.problems] == [("row 2", "A"), ("row 3", "B")]
    refused(r"A: .*\n.*B: ", predict, model, pd.DataFrame({"C": [1]}))
    with pytest.raises(InvalidInput, match="removed: expected one of ancestor, majority"):
        predict(model, pd.DataFrame({"A": ["x"], "B": [1]}), removed="nobody")  # type: ignore[arg-type]


# --- Against the definition, record by record ---------------------------------------------------------------------


def answer(model: Release, names: list[str | None]) -> Any:
    """The weights of a tree's leaves (None: removed) together, zeros when none has an answer."""
    tree, classes = model.trees[0], model.target.classes
    nodes = {node.id: node for node in tree.nodes}
    sized = all(leaf.n is not None or leaf.counts is not None for leaf in tree.leaves if leaf.label is not None)
    total = np.zeros(len(classes))
    for leaf in (nodes[name] for name in names if name is not None):
        if leaf.counts is not None:
            share = np.array([leaf.counts[c] for c in classes], float)
            total += share if sized else share / max(share.sum(), 1)
        elif leaf.label is not None:
            rate = leaf.error_rate or 0.0
            share = np.array([1 - rate if c == leaf.label else rate / max(len(classes) - 1, 1) for c in classes])
            total += share * (leaf.n or 0) if sized else share * (leaf.n != 0)
    return total


def leaves_below(tree: Tree, name: str | None) -> list[str | None]:
    node = next((node for node in tree.nodes if node.id == name), None)
    if node is None or node.is_leaf:
        return [name]
    return [leaf for branch in node.branches for leaf in leaves_below(tree, branch.child)]


@thorough(100)
@given(
    case=cases(populations(rows=(5, 30)), style=st.sampled_from([Style("mixture", removal=True), Style("counts")])),
    removed=st.sampled_from(("ancestor", "majority")),
)
def test_single_trees_predict_as_defined(case: Case, removed: Any) -> None:
    model, tree = case.release, case.release.trees[0]
    parents = {branch.child: node.id for node in tree.nodes for branch in node.branches if branch.child is not None}
    gone = [node.id for node in tree.nodes for branch in node.branches if branch.child is None]
    places = leaves_of(model, case.people.frame)[:, 0]
    expected, labels = [], []
    for place in places:
        leaf = tree.nodes[place].id if place < len(tree.nodes) else None
        at = leaf
        total = answer(model, [leaf])
        while not total.any():
            above = parents.get(at) if at is not None else gone[place - len(tree.nodes)]
            at = tree.root.id if removed == "majority" or above is None else above
            total = answer(model, leaves_below(tree, at))
            if at == tree.root.id and not total.any():
                total = np.ones(len(model.target.classes))
        expected.append(total / total.sum())
        stated = next((node.label for node in tree.nodes if node.id == leaf), None)
        labels.append(stated or model.target.classes[int(np.argmax(expected[-1] >= expected[-1].max() - 1e-12))])
    found = predict_proba(model, case.people.frame, removed=removed)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
    assert predict(model, case.people.frame, removed=removed).tolist() == labels


@thorough(40)
@given(case=cases(populations(rows=(5, 30)), trees=(2, 3), style=st.just(Style("counts"))))
def test_forests_divide_the_sums_of_their_counts(case: Case) -> None:
    places = leaves_of(case.release, case.people.frame)
    total = sum(
        np.array([list((tree.nodes[i].counts or {}).values()) for i in places[:, t]])
        for t, tree in enumerate(case.release.trees)
    )
    expected = total / total.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(predict_proba(case.release, case.people.frame), expected, rtol=1e-14)
    one = replace(case.release, trees=case.release.trees[:1])
    np.testing.assert_allclose(
        predict_proba(replace(one, trees=one.trees * 3), case.people.frame), predict_proba(one, case.people.frame)
    )


@thorough(60)
@given(case=cases(trees=(1, 2)))
def test_everybody_reaches_the_leaf_that_has_their_values(case: Case) -> None:
    people = case.people
    columns = [people.columns[a.name] for a in people.attributes]
    found = [assign(tree, people.attributes, columns) for tree in case.release.trees]
    np.testing.assert_array_equal(np.column_stack(found), leaves_of(case.release, people.frame))


def walk(tree: Tree, attributes: Any, record: Any) -> int:
    """One record's way down, branch by branch."""
    values = dict(zip([a.name for a in attributes], record, strict=True))
    place, children = 0, number_places(tree).children
    while children[place]:
        for branch, child in zip(tree.nodes[place].branches, children[place], strict=True):
            value = values[tree.nodes[place].attribute]
            if branch.values is not None:
                took = value in branch.values
            else:
                took = (branch.gt is None or value > branch.gt) and (branch.le is None or value <= branch.le)
            if took and value == value:
                place = child
                break
        else:
            return place
    return place


@thorough(60)
@given(case=cases(populations(rows=(5, 30))), data=st.data())
def test_a_record_stays_where_no_branch_takes_its_value(case: Case, data: st.DataObject) -> None:
    attributes, tree = case.people.attributes, case.release.trees[0]
    unknown = data.draw(st.lists(st.booleans(), min_size=len(case.people) * len(attributes)))
    gaps = np.resize(unknown, (len(attributes), len(case.people)))
    columns = [
        np.where(gap, np.nan if a.values is None else -1, case.people.columns[a.name])
        for a, gap in zip(attributes, gaps, strict=True)
    ]
    columns = [
        column if a.values is None else column.astype(int) for a, column in zip(attributes, columns, strict=True)
    ]
    names = [
        column if a.values is None else np.array([*a.values, "elsewhere"], object)[column]
        for a, column in zip(attributes, columns, strict=True)
    ]
    expected = [walk(tree, attributes, record) for record in zip(*names, strict=True)]
    assert assign(tree, attributes, columns).tolist() == expected
    with mock.patch.object(tree_places, "WIDEST", 1):  # a table of values for each node by itself
        assert assign(tree, attributes, columns).tolist() == expected


@thorough(60)
@given(case=cases(populations(rows=(5, 30))))
def test_cells_are_in_the_leaves_of_their_people(case: Case) -> None:
    people = case.people
    tested = tuple(replace(attribute, role="public") for attribute in people.attributes)
    table = read_qi(people.frame.drop(columns="Y"), replace(case.release, attributes=tested))
    cells = build_cells(replace(case.release, attributes=tested), table)
    for t, tree in enumerate(case.release.trees):
        columns = [
            table.levels[j][table.codes[:, j]] if a.values is None else table.codes[:, j] for j, a in enumerate(tested)
        ]
        assert cells.leaf[:, t].tolist() == assign(tree, tested, columns)[cells.owner].tolist()
        held = number_places(tree)
        for place in range(len(held)):
            here = [leaf in below(held, place) for leaf in cells.leaf[:, t].tolist()]
            assert sorted(cells.trees[t].at(place).tolist()) == np.flatnonzero(here).tolist()


def test_nodes_that_halve_numbers_look_at_one_branch_unless_numbers_are_missing() -> None:
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = RandomForestClassifier(1, random_state=0).fit(X, X[:, 0] > 0.3 * X[:, 1])
    release = maxent.from_sklearn(model, target="y", features=["a", "b"])
    table, tree = read_qi(pd.DataFrame(X, columns=["a", "b"]), release), release.trees[0]
    held = number_places(tree)
    attributes = release.attributes[0], replace(release.attributes[1], missing=True)
    levels = table.levels[0], np.append(table.levels[1], np.nan)
    routes = tree_places.routes_of(tree, held, attributes, levels)
    assert routes.halved[routes.column == 0].all()
    assert not routes.halved[routes.column != 0].any()
    assert {*routes.column.tolist()} == {-1, 0, 1}


def below(held: Any, place: int) -> set[int]:
    """A place and all below it."""
    return {place}.union(*(below(held, child) for child in held.children[place]))


def test_a_tree_may_be_very_deep() -> None:
    depth = 20_000
    nodes = []
    for i in range(depth):
        nodes.append(Node(f"N{i}", "A", (Branch(f"L{i}", le=float(i)), Branch(f"N{i + 1}", gt=float(i)))))
        nodes.append(Node(f"L{i}"))
    tree = Tree((*nodes, Node(f"N{depth}")))
    values = np.array([-1.0, 0.0, 0.5, 9_999.5, 1e6])
    assert assign(tree, [Attribute("A", "numeric")], [values]).tolist() == [1, 1, 3, 20_001, 40_000]


def test_many_branches_divide_as_few_do() -> None:
    went = np.array([40_000, 3, -1, 40_000, 0])
    parts = [part.tolist() for part in divided(went, 40_001)]
    assert (parts[0], parts[3], parts[40_000], sum(map(len, parts))) == ([4], [1], [0, 3], 4)


COLOURS = Attribute("Colour", "categorical", ("red", "blue", "(other)"))
PEOPLE = pd.DataFrame({"Colour": ["red", "blue", "green"]})


def stump(*leaves: dict[str, Any], **of_tree: Any) -> Tree:
    """A leaf for red, one for blue and others."""
    branches = (Branch("L0", values=("red",)), Branch("L1", values=("blue", "(other)")))
    return Tree((Node("N", "Colour", branches), *(Node(f"L{i}", **leaf) for i, leaf in enumerate(leaves))), **of_tree)


def ensemble_release(*trees: Tree, classes: tuple[str, ...] = ("a", "b"), **how: Any) -> Release:
    return Release(Target("Y", classes), (COLOURS,), trees, **how)


FIRST = stump({"counts": {"a": 9, "b": 1}}, {"counts": {"a": 0, "b": 2}})
SECOND = stump({"counts": {"a": 1, "b": 3}}, {"counts": {"a": 5, "b": 3}})


@pytest.mark.parametrize(
    ("how", "expected"),
    [(None, [10 / 14, 5 / 10]), ("mean", [(0.9 + 3 * 0.25) / 4, (0.0 + 3 * 0.625) / 4]), ("vote", [0.25, 0.75])],
)
def test_forests_add_counts_or_take_means_or_votes(how: Any, expected: list[float]) -> None:
    weights = (1.0, 1.0) if how is None else (1.0, 3.0)
    trees = [replace(tree, weight=w) for tree, w in zip((FIRST, SECOND), weights, strict=True)]
    found = predict_proba(ensemble_release(*trees, predicts=how), PEOPLE)
    np.testing.assert_allclose(found[:, 0], [expected[0], expected[1], expected[1]])


def test_a_tree_votes_for_its_label() -> None:
    decided = stump({"counts": {"a": 9, "b": 1}, "label": "b"}, {"label": "a"})
    assert predict(ensemble_release(decided, decided, predicts="vote", labels="decided"), PEOPLE).tolist() == [
        "b",
        "a",
        "a",
    ]
    assert predict(ensemble_release(decided, labels="decided"), PEOPLE).tolist() == ["b", "a", "a"]


def test_scores_of_one_class_are_log_odds() -> None:
    trees = stump({"value": 1.0}, {"value": -2.0}, of_class="b"), stump({"value": 0.5}, {"value": 0.5}, of_class="b")
    boosted = ensemble_release(*trees, predicts="score", boosting=Boosting("logit", 0.3, 1.0, 0.25))
    odds = np.exp([1.75, -1.25, -1.25])
    np.testing.assert_allclose(predict_proba(boosted, PEOPLE)[:, 1], odds / (1 + odds))
    assert predict(replace(boosted, boosting=Boosting("none", base=1.0)), PEOPLE).tolist() == ["b", "a", "a"]


def test_scores_of_each_class_are_a_softmax() -> None:
    named = [stump({"value": v}, {"value": -v}, of_class=c) for c, v in (("a", 1.0), ("b", 2.0), ("c", -1.0))]
    together = stump({"value": {"a": 1.0, "b": 2.0, "c": -1.0}}, {"value": {"a": -1.0, "b": -2.0, "c": 1.0}})
    how: Any = {"predicts": "score", "boosting": Boosting("softmax", base={"a": 0.5}), "classes": ("a", "b", "c")}
    odds = np.exp([[1.5, 2.0, -1.0], [-0.5, -2.0, 1.0], [-0.5, -2.0, 1.0]])
    for boosted in (ensemble_release(*named, **how), ensemble_release(together, **how)):
        np.testing.assert_allclose(predict_proba(boosted, PEOPLE), odds / odds.sum(axis=1, keepdims=True))
        assert parse_release(release_to_document(boosted), "release") == boosted


def test_a_forest_of_scikit_learn_predicts_as_it_does() -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"x": random.random(60), "y": random.random(60)})
    model = RandomForestClassifier(3, random_state=0, max_depth=3).fit(frame, random.integers(0, 3, 60))
    found = maxent.from_sklearn(model, target="Y")
    np.testing.assert_allclose(predict_proba(found, frame), model.predict_proba(frame))


def test_values_that_are_not_named_are_noted_and_take_their_branch() -> None:
    stated = ensemble_release(FIRST)
    found = maxent.estimate(stated, pd.DataFrame({"Colour": ["red"] * 10 + ["green", "blue"]}))
    assert found.posterior["Colour"].tolist() == ["red", "(other)", "blue"]
    assert any("'green' (1 row): read as '(other)'" in note for note in found.notes), found.notes
    refused("blanks", maxent.audit, stated, pd.DataFrame({"Colour": ["red "]}))


def test_an_unknown_class_is_not_one_of_others() -> None:
    document = release_to_document(replace(ensemble_release(FIRST), target=Target("Y", ("a", "b", "(other)"))))
    people = pd.DataFrame({"Colour": ["red"] * 10 + ["blue"] * 2})
    refused("'z'", maxent.estimate, parse_release(document, "release"), people, truth=people.assign(Y="z"))


def test_decided_labels_prove_nothing_and_scores_are_noted() -> None:
    people = pd.DataFrame({"Colour": ["red"] * 4 + ["blue"] * 4})
    labelled = ensemble_release(stump({"label": "a", "n": 4}, {"label": "b", "n": 4}))
    decided = replace(labelled, labels="decided")
    assert maxent.estimate(labelled, people).summary["constraints"]["label"] == 2
    assert maxent.estimate(decided, people).summary["constraints"]["label"] == 0
    minority = ensemble_release(
        stump({"label": "a", "counts": {"a": 1, "b": 3}, "error_rate": 0.75}, {}), labels="decided"
    )
    assert parse_release(release_to_document(minority), "release").labels == "decided"
    assert maxent.estimate(minority, people).summary["status"] == "optimal"
    boosted = ensemble_release(
        stump({"value": 1.0, "n": 4}, {"value": 0.0, "n": 4}, of_class="a"),
        predicts="score",
        boosting=Boosting("logit"),
    )
    for notes in (maxent.estimate(boosted, people).notes, maxent.audit(boosted, people)["notes"]):
        assert any("scores of leaves state no counts: the release does not state the learning" in n for n in notes)


LOGIT = {"predicts": "score", "boosting": Boosting("logit")}
SCORED = stump({"value": 1.0}, {"value": -1.0}, of_class="a")


@pytest.mark.parametrize(
    ("stated", "field", "words"),
    [
        (ensemble_release(FIRST, FIRST, predicts="label"), "predicts", "vote, mean or score"),
        (ensemble_release(SCORED, predicts="score"), "boosting", "together with predicts: score"),
        (ensemble_release(SCORED, boosting=Boosting("logit")), "boosting", "together with predicts: score"),
        (ensemble_release(SCORED, classes=("a", "b", "c"), **LOGIT), "link", "two classes"),
        (ensemble_release(SCORED, replace(SCORED, of_class="b"), **LOGIT), "link", "the score of one class"),
        (ensemble_release(replace(SCORED, of_class="z"), **LOGIT), "class", "a class of the target"),
        (ensemble_release(replace(SCORED, of_class=None), **LOGIT), "value", "a number for each class"),
        (ensemble_release(stump({"value": {"a": 1.0}}, {"value": 1.0}, of_class="a"), **LOGIT), "value", "one number"),
        (ensemble_release(stump({"value": 1.0}, {}, of_class="a"), **LOGIT), "value", "a score"),
        (ensemble_release(replace(SCORED, weight=-1.0), **LOGIT), "weight", "at least 0"),
        (ensemble_release(SCORED, predicts="score", boosting=Boosting("probit")), "link", "logit"),  # type: ignore[arg-type]
        (ensemble_release(SCORED, predicts="score", boosting=Boosting("logit", 0.0)), "rate", "above 0"),
        (ensemble_release(SCORED, predicts="score", boosting=Boosting("logit", base={"z": 1.0})), "base", "classes"),
        (ensemble_release(FIRST, labels="guessed"), "labels", "majority"),  # type: ignore[arg-type]
    ],
)
def test_what_does_not_fit_together_is_refused(stated: Release, field: str, words: str) -> None:
    found = refusal(parse_release, release_to_document(stated), "release")
    assert any(problem.field == field and words in problem.expected for problem in found.problems)


def test_numbers_beyond_all_others_are_no_error() -> None:
    heavy = [replace(tree, weight=1e308) for tree in (FIRST, SECOND)]
    found = predict_proba(ensemble_release(*heavy, predicts="mean"), PEOPLE)
    np.testing.assert_allclose(found[:, 0], [(0.9 + 0.25) / 2, 0.3125, 0.3125])
    nothing = [replace(tree, weight=0.0) for tree in (FIRST, SECOND)]
    assert predict_proba(ensemble_release(*nothing, predicts="vote"), PEOPLE).tolist() == [[0.5, 0.5]] * 3
    huge = stump({"value": 1e308}, {"value": -1e308}, of_class="b", weight=10.0)
    boosted = ensemble_release(huge, huge, predicts="score", boosting=Boosting("logit"))
    assert predict_proba(boosted, PEOPLE).tolist() == [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]


TREE = Tree(
    (
        Node("N", "colour", (Branch("M", values=("red",)), rest("L0"))),
        Node("M", "age", (Branch("L1", le=3.0), Branch("L2", gt=3.0))),
        *(Node(f"L{i}", label="a") for i in range(3)),
    )
)
FRAME = pd.DataFrame({"age": [1, 2], "colour": ["blue", "red"], "town": ["x", None], "Y": ["b", "a"]})


def made(tree: Tree = TREE, known: Any = None, **said: Any) -> Release:
    wanted = Wanted(**said)
    found = assemble("model", [tree], ("a", "b"), wanted, read_training(wanted, Reader()), known=known)
    validate_release(found)
    return found


def values(release: Release) -> dict[str, tuple[str, ...] | None]:
    return {attribute.name: attribute.values for attribute in release.attributes}


def test_the_rest_of_a_domain_comes_from_the_training_table_or_the_file() -> None:
    found = made(train=FRAME, target="Y")
    assert values(found) == {"age": None, "colour": ("blue", "red")}
    assert found.trees[0].root.branches[1].values == ("blue",)
    assert found.target.name == "Y"
    declared = {"colour": Attribute("colour", "categorical", ("red", "green", "(missing)"))}
    assert made(known=declared).trees[0].root.branches[1].values == ("green", "(missing)")
    assert made().trees[0].root.branches[1].values == ("(other)",)
    assert made(known={"colour": Attribute("colour", "categorical", ("red",))}).attributes[0].values == (
        "red",
        "(other)",
    )
    assert made().target.name == "class"


def test_empty_cells_of_what_no_tree_tests_are_values() -> None:
    frame = FRAME.assign(age=[1, None], wage=[None, 2.5])
    found = {a.name: a for a in made(train=frame, target="Y", qi=("town", "wage", "age")).attributes}
    assert found["town"].values == ("x", "(missing)")
    assert found["wage"].missing
    assert not found["age"].missing  # the tree tests it, and does not say where missing ones go
    assert (
        Attribute("wage", "numeric", missing=True)
        in made(train=frame, target="Y", known={"wage": Attribute("wage", "numeric")}).attributes
    )


def test_what_is_no_quasi_identifier_is_private() -> None:
    roles = {a.name: a.role for a in made(train=FRAME, target="Y", qi=("age", "town")).attributes}
    assert roles == {"age": "public", "colour": "private", "town": "public"}
    for qi in (("Y",), ("ages",)):
        refused("attributes of the model", made, train=FRAME, target="Y", qi=qi)


def test_missing_numbers_are_a_value_where_a_branch_takes_them() -> None:
    third = Tree((Node("N", "age", (Branch("A", le=3.0), Branch("B", gt=3.0), rest("C"))), *(Node(c) for c in "ABC")))
    found = made(third)
    assert found.attributes == (Attribute("age", "numeric", missing=True),)
    assert found.trees[0].root.branches[2] == Branch("C", missing=True)


def test_an_attribute_is_of_numbers_or_of_names() -> None:
    both = Tree((Node("N", "age", (Branch("A", le=3.0), Branch("B", values=("x",)))), Node("A"), Node("B")))
    refused("tests of numbers, or of names", made, both)
    refused("a name that no attribute has", made, target="age")


def test_labels_are_decided_where_one_is_no_majority() -> None:
    assert made(Tree((Node("L", label="a", n=4, counts={"a": 1, "b": 3}),))).labels == "decided"
    assert made(Tree((Node("L", label="a", n=4, error_rate=0.75),))).labels == "decided"
    assert made(Tree((Node("L", label="a", n=4, error_rate=0.5),))).labels == "majority"


def compiled(trees, attributes, levels):
    """Each tree level by level, and in steps."""
    found = []
    for tree in trees:
        places = number_places(tree)
        descent = descent_of(numbered(tree, places), attributes, levels)
        found.append((descent, steps_of(descent, places, list(map(len, levels)))))
    return found


@settings(parent=thorough(1), max_examples=4)
@given(st.data())
def test_rows_of_a_cell_are_in_the_same_leaf_of_every_tree(data):
    check_cells(data)


@pytest.mark.slow
@thorough(300)
@given(st.data())
def test_rows_of_many_cells_are_in_the_same_leaf_of_every_tree(data):
    check_cells(data)


def check_cells(data):
    """Whether random people are where trees lead level by level, and cells are those who are alike in that."""
    case = data.draw(cases(populations(private=(0, 0), rows=(1, 60)), kinds=("greedy", "anyhow"), trees=(1, 5)))
    table = read_qi(case.people.qi, case.release)
    packing = packing_of([len(level) for level in table.levels], 1)
    words = packing.pack(table.codes)
    trees = compiled(case.release.trees, table.attributes, table.levels)
    leaves = np.column_stack([descent(table.codes)[0] for descent, _ in trees])
    with (
        mock.patch.object(out_of_core_descent, "BLOCK", data.draw(st.integers(1, 70))),
        mock.patch.object(out_of_core_descent, "LOOK", data.draw(st.integers(1, 3))),
        mock.patch.object(runs, "_REFINEMENT_FITS", data.draw(st.sampled_from([1, 2000, 2**62]))),
    ):
        for (_, steps), leaf in zip(trees, leaves.T, strict=True):
            np.testing.assert_array_equal(steps(columns_of(words, packing)), leaf)
            assert not steps.loses
        cells = cells_of(words, packing, [steps for _, steps in trees])
    first, number = np.unique(leaves, axis=0, return_index=True, return_inverse=True)[1:]
    np.testing.assert_array_equal(cells, first[number])


JOB, AGE = Attribute("job", "categorical", ("cook", "clerk", "smith")), Attribute("age", "numeric", missing=True)
LEVELS = (np.array(["cook", "clerk", "smith"], object), np.array([20.0, 30.0, np.nan]))
CODES = np.array([[job, age] for job in range(3) for age in range(3)])


def tree(*below):
    """A tree whose root divides jobs: cooks and clerks are divided again, by ``below``, and smiths are not."""
    root = Node("0", attribute="job", branches=(Branch("1", values=("cook", "clerk")), Branch("2", values=("smith",))))
    attribute = "job" if below[0].values else "age"
    leaves = [Node(branch.child, label="a") for branch in below]
    return Tree((root, Node("1", attribute=attribute, branches=below), Node("2", label="a"), *leaves))


def test_people_whom_no_branch_takes_are_found_however_many_trees_tell_them_apart():
    whole = tree(Branch("3", le=25.0), Branch("4", gt=25.0, missing=True))
    part = tree(Branch("3", le=25.0), Branch("4", gt=25.0))
    packing = packing_of([3, 3], 1)
    words = packing.pack(CODES)
    (_, first), (descent, second) = compiled([whole, part], (JOB, AGE), LEVELS)
    assert (first.loses, second.loses) == (False, True)
    found = second(columns_of(words, packing))
    np.testing.assert_array_equal(found, descent(CODES)[0])
    np.testing.assert_array_equal(np.flatnonzero(found == LOST), [2, 5])
    assert cells_of(words, packing, [first, first, second]) == Lost(2, 2)


def test_values_that_never_come_to_a_place_are_not_lost_there():
    ((_, steps),) = compiled([tree(Branch("3", values=("cook",)), Branch("4", values=("clerk",)))], (JOB, AGE), LEVELS)
    assert not steps.loses
