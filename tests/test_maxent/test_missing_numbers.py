"""Missing numbers are a value: a release that has them says what one with a number in their place says."""

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from support.calls import refusal, refused
from support.strategies import Case, cases, populations, thorough

import maxent
from maxent.models.formats.maxent_json.read import parse_release
from maxent.models.formats.maxent_json.write import release_to_document
from maxent.models.release import Attribute, Branch, Induction, Node, Release, Target, Tree
from maxent.models.trees.predict import predict_proba

STAND_IN = -1.5  # The number of the strategies that is taken to be missing

AGE = Attribute("Age", "numeric", missing=True)


def with_gaps(release: Release) -> Release:
    """The same release, but for a number that is missing."""
    numeric = {a.name for a in release.attributes if a.values is None}

    def node(before: Node) -> Node:
        if before.attribute not in numeric:
            return before
        return replace(before, branches=tuple(map(branch, before.branches)))

    def branch(before: Branch) -> Branch:
        low, high = (-np.inf if before.gt is None else before.gt), (np.inf if before.le is None else before.le)
        return replace(before, missing=True) if low < STAND_IN <= high else before

    return replace(
        release,
        attributes=tuple(replace(a, missing=a.values is None) for a in release.attributes),
        trees=tuple(Tree(tuple(map(node, tree.nodes))) for tree in release.trees),
    )


def gaps(frame: Any) -> Any:
    return frame.replace(STAND_IN, np.nan)


@thorough(10)
@given(case=cases(populations(rows=(2, 20), public=(1, 3), private=(0, 1)), trees=(1, 2), style=None))
def test_the_answers_are_those_of_a_number_in_their_place(case: Case) -> None:
    plain = replace(case.release, trees=tuple(replace(tree, induction=Induction()) for tree in case.release.trees))
    release = with_gaps(plain)
    assert parse_release(release_to_document(release), "release") == release
    before, after = maxent.audit(plain, case.people.qi), maxent.audit(release, gaps(case.people.qi))
    for key in ("leaves", "individuals", "uniqueness", "background", "spans", "unknown_size"):
        assert before[key] == after[key]
    first = maxent.estimate(plain, case.people.qi, backend="newton")
    second = maxent.estimate(release, gaps(case.people.qi), backend="newton")
    names = [a.name for a in plain.attributes if a.role == "public"]
    left = gaps(first.posterior).sort_values(names).reset_index(drop=True)
    right = second.posterior.sort_values(names).reset_index(drop=True)
    pd.testing.assert_frame_equal(left, right, check_dtype=False, atol=1e-6)
    records = case.people.frame.drop(columns="Y")
    np.testing.assert_allclose(predict_proba(plain, records), predict_proba(release, gaps(records)))


@thorough(8)
@given(case=cases(populations(rows=(2, 20), private=(0, 0)), style=None))
def test_the_truth_has_gaps_too(case: Case) -> None:
    release, frame = with_gaps(case.release), gaps(case.people.frame)
    found = maxent.estimate(release, frame.drop(columns="Y"), truth=frame, backend="newton")
    assert found.summary["individuals"] == len(case.people)


def tree(*branches: Branch, attribute: Attribute = AGE) -> Release:
    leaves = tuple(Node(f"L{i}", counts={"a": i, "b": 1}) for i in range(len(branches)))
    children = tuple(replace(branch, child=f"L{i}") for i, branch in enumerate(branches))
    nodes = (Node("N", attribute.name, children), *leaves)
    return Release(Target("Y", ("a", "b")), (attribute,), (Tree(nodes),))


THIRD = tree(Branch(None, le=30.0), Branch(None, gt=30.0), Branch(None, missing=True))
APART = tree(Branch(None, missing=False), Branch(None, missing=True))


@pytest.mark.parametrize(("release", "leaves"), [(THIRD, [0, 2, 1]), (APART, [0, 1, 0])])
def test_a_branch_of_their_own_is_kept_in_a_file_and_routes(release: Release, leaves: list[int], tmp_path: Any) -> None:
    release.save(tmp_path / "tree.json")
    again = maxent.load_release(tmp_path / "tree.json")
    assert again == release
    table = io.StringIO("Age\n20\n\n40\n")
    shares = [i / (i + 1) for i in leaves]
    np.testing.assert_allclose(predict_proba(again, pd.read_csv(table, skip_blank_lines=False))[:, 0], shares)


def test_words_say_where_missing_numbers_go() -> None:
    release = tree(Branch(None, le=30.0, missing=True), Branch(None, gt=30.0))
    people = pd.DataFrame({"Age": [40.0, 41.0, np.nan]})
    assert "Age <= 30 or (missing)" in str(maxent.audit(release, people))
    assert "(missing)" in maxent.estimate(release, people)._repr_html_()


@pytest.mark.parametrize(
    ("release", "field", "words"),
    [
        (tree(Branch(None, le=3.0), Branch(None, gt=3.0)), "branches", "missing values that can reach the node"),
        (tree(Branch(None, le=3.0, missing=True), Branch(None, gt=3.0, missing=True)), "missing", "one branch only"),
        (
            tree(Branch(None, le=3.0, missing=True), Branch(None, gt=3.0), attribute=Attribute("Age", "numeric")),
            "missing",
            "among the attributes",
        ),
        (tree(Branch(None, le=3.0, missing=False), Branch(None, gt=3.0, missing=True)), "missing", "beside le or gt"),
        (tree(Branch(None, le=3.0), Branch(None, missing=True)), "branches", "cover every value"),
    ],
)
def test_what_does_not_divide_them_is_refused(release: Release, field: str, words: str) -> None:
    found = refusal(parse_release, release_to_document(release), "release")
    assert any(problem.field == field and words in problem.expected for problem in found.problems)


def test_a_categorical_attribute_has_a_value_for_them() -> None:
    document = release_to_document(tree(Branch(None, le=3.0), Branch(None, gt=3.0)))
    document["attributes"] = [{"name": "Age", "type": "categorical", "values": ["x"], "missing": True}]
    document["trees"][0]["nodes"][0]["branches"] = [{"in": ["x"], "missing": True, "child": "L0"}]
    found = refusal(parse_release, document, "release")
    assert sum("'(missing)'" in problem.expected for problem in found.problems) == 2


def test_missing_numbers_are_refused_where_the_release_has_none() -> None:
    release = tree(Branch(None, le=3.0), Branch(None, gt=3.0), attribute=Attribute("Age", "numeric"))
    refused("impute missing ones", maxent.audit, release, pd.DataFrame({"Age": [1.0, np.nan]}))


def test_splits_of_attributes_with_gaps_are_not_compared() -> None:
    induction = Induction("cart", "gini", "thresholds")
    release = tree(Branch(None, gt=3.0), Branch(None, le=3.0, missing=True))
    release = replace(release, trees=(replace(release.trees[0], induction=induction),))
    assert maxent.estimate(release, pd.DataFrame({"Age": [2.0, 4.0, np.nan]})).summary["constraints"]["internal"] == 0
