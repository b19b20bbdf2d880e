"""What a release predicts is what its leaves state, with a rule for every record that reaches no statement."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import Case, Style, cases, leaves_of, populations, thorough

from maxent.models.errors import InvalidInput
from maxent.models.release import Attribute, Branch, Node, Release, Target, Tree
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
    gone = release(counted("L1", 6, 0, 2), None, None, None)
    np.testing.assert_allclose(ask(gone, "yx"), [[0.75, 0, 0.25]] * 2)


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
    with pytest.raises(InvalidInput) as caught:
        predict_proba(model, pd.DataFrame({"A": ["x", None, "y"], "B": [1.0, 2.0, np.inf]}))
    assert [(p.where, p.field) for p in caught.value.problems] == [("row 2", "A"), ("row 3", "B")]
    with pytest.raises(InvalidInput, match=r"A: .*\n.*B: "):
        predict(model, pd.DataFrame({"C": [1]}))
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
