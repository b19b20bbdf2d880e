"""Nodes that state the share of every class: what is true satisfies it, and exact shares say what counts say."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.soundness import check
from support.strategies import Case, Style, cases, leaves_of, populations, thorough

import maxent
from maxent.api.audit import audit_release
from maxent.models.errors import InvalidInput
from maxent.models.formats.maxent_json.read import parse_release, validate_release
from maxent.models.formats.maxent_json.write import release_to_document
from maxent.models.release import Attribute, Branch, Node, Release, Target, Tree
from maxent.models.trees.predict import predict_proba
from maxent.models.trees.printed_rates import FULL_PRECISION, decimals
from maxent.models.trees.restate import counts_reader

COUNTED = st.builds(Style, leaf=st.just("counts"), inner=st.sampled_from(("nothing", "counts")))


def with_rates(case: Case, digits: int | None, *, sized: bool, single: bool = False) -> Case:
    """The same case, whose nodes state shares in place of counts; nobody's shares are not stated."""

    def node(before: Node) -> Node:
        if before.counts is None:
            return before
        n = sum(before.counts.values())
        shares = {c: k / n for c, k in before.counts.items()} if n else None
        if shares and single:
            shares = {c: float(np.float32(share)) for c, share in shares.items()}
        if shares and digits is not None:
            shares = {c: round(share, digits) for c, share in shares.items()}
        return replace(before, counts=None, rates=shares, n=n if sized else None)

    trees = tuple(replace(tree, nodes=tuple(map(node, tree.nodes))) for tree in case.release.trees)
    return replace(case, release=replace(case.release, trees=trees), digits=digits)


@thorough(40)
@given(
    case=cases(trees=(1, 2), style=COUNTED),
    digits=st.sampled_from((None, 1, 2, 3, 5)),
    sized=st.booleans(),
    knowledge=st.sampled_from((None, ("rate",), ("label", "rate", "internal"))),
)
def test_the_truth_satisfies_class_rates(case: Case, digits: int | None, sized: bool, knowledge: Any) -> None:
    stated = with_rates(case, digits, sized=sized)
    validate_release(stated.release)
    check(stated, knowledge=knowledge)


@thorough(25)
@given(case=cases(style=COUNTED), digits=st.sampled_from((None, 1, 2, 3)), sized=st.booleans(), asked=st.booleans())
def test_an_audit_claims_nothing_of_class_rates_that_is_not_so(
    case: Case, digits: int | None, sized: bool, asked: bool
) -> None:
    stated = with_rates(case, digits, sized=sized)
    found = audit_release(stated.release, case.people.qi if asked else None).trees[0]
    at = leaves_of(case.release, case.people.frame)[:, 0]
    for i, place in enumerate(found.leaves.tolist()):
        truth = case.people.counts(np.flatnonzero(at == place))
        assert (found.bounds.low[i, :-1] <= truth).all()
        assert (truth <= found.bounds.high[i, :-1]).all()


@thorough(8)
@given(case=cases(populations(private=(0, 0)), style=COUNTED), single=st.booleans())
def test_exact_shares_say_what_counts_say(case: Case, single: bool) -> None:
    stated = with_rates(case, None, sized=True, single=single).release
    shares = [share for node in stated.trees[0].nodes for share in (node.rates or {}).values()]
    assume(any(decimals(share) >= FULL_PRECISION for share in shares))  # else they may be rounded
    counts, implied = counts_reader(case.release), counts_reader(stated)
    for before, after in zip(case.release.trees[0].nodes, stated.trees[0].nodes, strict=True):
        assert counts(before) == implied(after)
    unsized = with_rates(case, None, sized=False, single=single).release
    first, second = (maxent.estimate(r, case.people.qi, backend="newton") for r in (case.release, unsized))
    classes = [f"P({c})" for c in case.release.target.classes]
    np.testing.assert_allclose(first.posterior[classes], second.posterior[classes], atol=1e-12)
    np.testing.assert_allclose(
        predict_proba(case.release, case.people.frame), predict_proba(stated, case.people.frame), atol=1e-7
    )


def leaf(**stated: Any) -> Release:
    return Release(Target("Y", ("a", "b", "c")), (), (Tree((Node("L", **stated),)),))


def test_shares_are_kept_in_a_file_and_one_that_is_not_named_is_0(tmp_path: Any) -> None:
    release = leaf(rates={"a": 0.25, "b": 0.75}, label="b")
    release.save(tmp_path / "tree.json")
    again = maxent.load_release(tmp_path / "tree.json")
    assert again == release
    assert predict_proba(again, pd.DataFrame(index=range(2))).tolist() == [[0.25, 0.75, 0.0]] * 2


@pytest.mark.parametrize(
    ("stated", "field", "words"),
    [
        ({"rates": {"a": 0.25, "d": 0.75}}, "rates", "classes of the target"),
        ({"rates": {"a": 0.25, "b": 1.75}}, "rates of b", "from 0 to 1"),
        ({"rates": {"a": 0.25, "b": True}}, "rates of b", "from 0 to 1"),
        ({"rates": {"a": 0.25, "b": 0.5}}, "rates", "sum to 1"),
        ({"rates": {}}, "rates", "an object from classes to shares"),
        ({"rates": {"a": 0.25, "b": 0.75}, "label": "a"}, "label", "most frequent class of rates (b: 0.75)"),
        ({"rates": {"a": 0.25, "b": 0.75}, "label": "b", "error_rate": 0.125}, "error_rate", "0.25"),
        ({"rates": {"a": 0.25, "b": 0.75}, "counts": {"a": 1, "b": 1, "c": 0}}, "rates of a", "0.5"),
        ({"rates": {"a": 0.25, "b": 0.75}, "n": 0}, "rates", "without records"),
    ],
)
def test_shares_that_cannot_be_are_refused(stated: dict[str, Any], field: str, words: str) -> None:
    with pytest.raises(InvalidInput) as found:
        parse_release(release_to_document(leaf(**stated)), "release")
    assert any(problem.field == field and words in problem.expected for problem in found.value.problems)


def test_printed_shares_are_intervals_and_a_note_says_so() -> None:
    split = (Branch("L", values=("x",)), Branch("M", values=("y",)))
    document = release_to_document(
        Release(
            Target("Y", ("a", "b")),
            (Attribute("A", "categorical", ("x", "y")),),
            (Tree((Node("N", "A", split), Node("L", rates={"a": 0.33, "b": 0.67}), Node("M", rates={"a": 1.0}))),),
        )
    )
    people = pd.DataFrame({"A": ["x"] * 300 + ["y"]})
    found = maxent.estimate(parse_release(document, "release"), people)
    assert found.summary["constraints"]["rates"] == 4
    assert any("2 digits and are read as intervals" in note for note in found.notes)
    assert maxent.audit(parse_release(document, "release"), people)["homogeneity"]["leaves"] == 1
