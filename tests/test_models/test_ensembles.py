"""Releases that say how their trees predict together do so; those that cannot be are refused."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import maxent
from maxent.models.errors import InvalidInput
from maxent.models.formats.maxent_json.read import parse_release
from maxent.models.formats.maxent_json.write import release_to_document
from maxent.models.release import Attribute, Boosting, Branch, Node, Release, Target, Tree
from maxent.models.trees.predict import predict, predict_proba

COLOURS = Attribute("Colour", "categorical", ("red", "blue", "(other)"))
PEOPLE = pd.DataFrame({"Colour": ["red", "blue", "green"]})


def stump(*leaves: dict[str, Any], **of_tree: Any) -> Tree:
    """A leaf for red, one for blue and others."""
    branches = (Branch("L0", values=("red",)), Branch("L1", values=("blue", "(other)")))
    return Tree((Node("N", "Colour", branches), *(Node(f"L{i}", **leaf) for i, leaf in enumerate(leaves))), **of_tree)


def release(*trees: Tree, classes: tuple[str, ...] = ("a", "b"), **how: Any) -> Release:
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
    found = predict_proba(release(*trees, predicts=how), PEOPLE)
    np.testing.assert_allclose(found[:, 0], [expected[0], expected[1], expected[1]])


def test_a_tree_votes_for_its_label() -> None:
    decided = stump({"counts": {"a": 9, "b": 1}, "label": "b"}, {"label": "a"})
    assert predict(release(decided, decided, predicts="vote", labels="decided"), PEOPLE).tolist() == ["b", "a", "a"]
    assert predict(release(decided, labels="decided"), PEOPLE).tolist() == ["b", "a", "a"]


def test_scores_of_one_class_are_log_odds() -> None:
    trees = stump({"value": 1.0}, {"value": -2.0}, of_class="b"), stump({"value": 0.5}, {"value": 0.5}, of_class="b")
    boosted = release(*trees, predicts="score", boosting=Boosting("logit", 0.3, 1.0, 0.25))
    odds = np.exp([1.75, -1.25, -1.25])
    np.testing.assert_allclose(predict_proba(boosted, PEOPLE)[:, 1], odds / (1 + odds))
    silent = replace(boosted, boosting=Boosting("none", base=1.0))
    assert predict(silent, PEOPLE).tolist() == ["b", "a", "a"]


def test_scores_of_each_class_are_a_softmax() -> None:
    named = [stump({"value": v}, {"value": -v}, of_class=c) for c, v in (("a", 1.0), ("b", 2.0), ("c", -1.0))]
    together = stump({"value": {"a": 1.0, "b": 2.0, "c": -1.0}}, {"value": {"a": -1.0, "b": -2.0, "c": 1.0}})
    how: Any = {"predicts": "score", "boosting": Boosting("softmax", base={"a": 0.5}), "classes": ("a", "b", "c")}
    odds = np.exp([[1.5, 2.0, -1.0], [-0.5, -2.0, 1.0], [-0.5, -2.0, 1.0]])
    for boosted in (release(*named, **how), release(together, **how)):
        np.testing.assert_allclose(predict_proba(boosted, PEOPLE), odds / odds.sum(axis=1, keepdims=True))
        assert parse_release(release_to_document(boosted), "release") == boosted


def test_a_forest_of_scikit_learn_predicts_as_it_does() -> None:
    from sklearn.ensemble import RandomForestClassifier

    random = np.random.default_rng(0)
    frame = pd.DataFrame({"x": random.random(60), "y": random.random(60)})
    model = RandomForestClassifier(3, random_state=0, max_depth=3).fit(frame, random.integers(0, 3, 60))
    found = maxent.from_sklearn(model, target="Y")
    np.testing.assert_allclose(predict_proba(found, frame), model.predict_proba(frame))


def test_values_that_are_not_named_are_noted_and_take_their_branch() -> None:
    stated = release(FIRST)
    found = maxent.estimate(stated, pd.DataFrame({"Colour": ["red"] * 10 + ["green", "blue"]}))
    assert found.posterior["Colour"].tolist() == ["red", "(other)", "blue"]
    assert any("'green' (1 row): read as '(other)'" in note for note in found.notes), found.notes
    with pytest.raises(InvalidInput, match="blanks"):
        maxent.audit(stated, pd.DataFrame({"Colour": ["red "]}))


def test_an_unknown_class_is_not_one_of_others() -> None:
    stated = replace(release(FIRST), target=Target("Y", ("a", "b", "(other)")))
    document = release_to_document(stated)
    people = pd.DataFrame({"Colour": ["red"] * 10 + ["blue"] * 2})
    with pytest.raises(InvalidInput, match="'z'"):
        maxent.estimate(parse_release(document, "release"), people, truth=people.assign(Y="z"))


def test_decided_labels_prove_nothing_and_scores_are_noted() -> None:
    people = pd.DataFrame({"Colour": ["red"] * 4 + ["blue"] * 4})
    labelled = release(stump({"label": "a", "n": 4}, {"label": "b", "n": 4}))
    decided = replace(labelled, labels="decided")
    assert maxent.estimate(labelled, people).summary["constraints"]["label"] == 2
    assert maxent.estimate(decided, people).summary["constraints"]["label"] == 0
    minority = release(stump({"label": "a", "counts": {"a": 1, "b": 3}, "error_rate": 0.75}, {}), labels="decided")
    assert parse_release(release_to_document(minority), "release").labels == "decided"
    assert maxent.estimate(minority, people).summary["status"] == "optimal"
    boosted = release(
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
        (release(FIRST, FIRST, predicts="label"), "predicts", "vote, mean or score"),
        (release(SCORED, predicts="score"), "boosting", "together with predicts: score"),
        (release(SCORED, boosting=Boosting("logit")), "boosting", "together with predicts: score"),
        (release(SCORED, classes=("a", "b", "c"), **LOGIT), "link", "two classes"),
        (release(SCORED, replace(SCORED, of_class="b"), **LOGIT), "link", "the score of one class"),
        (release(replace(SCORED, of_class="z"), **LOGIT), "class", "a class of the target"),
        (release(replace(SCORED, of_class=None), **LOGIT), "value", "a number for each class"),
        (release(stump({"value": {"a": 1.0}}, {"value": 1.0}, of_class="a"), **LOGIT), "value", "one number"),
        (release(stump({"value": 1.0}, {}, of_class="a"), **LOGIT), "value", "a score"),
        (release(replace(SCORED, weight=-1.0), **LOGIT), "weight", "at least 0"),
        (release(SCORED, predicts="score", boosting=Boosting("probit")), "link", "logit"),  # type: ignore[arg-type]
        (release(SCORED, predicts="score", boosting=Boosting("logit", 0.0)), "rate", "above 0"),
        (release(SCORED, predicts="score", boosting=Boosting("logit", base={"z": 1.0})), "base", "classes"),
        (release(FIRST, labels="guessed"), "labels", "majority"),  # type: ignore[arg-type]
    ],
)
def test_what_does_not_fit_together_is_refused(stated: Release, field: str, words: str) -> None:
    with pytest.raises(InvalidInput) as found:
        parse_release(release_to_document(stated), "release")
    assert any(problem.field == field and words in problem.expected for problem in found.value.problems)


def test_numbers_beyond_all_others_are_no_error() -> None:
    heavy = [replace(tree, weight=1e308) for tree in (FIRST, SECOND)]
    found = predict_proba(release(*heavy, predicts="mean"), PEOPLE)
    np.testing.assert_allclose(found[:, 0], [(0.9 + 0.25) / 2, 0.3125, 0.3125])
    nothing = [replace(tree, weight=0.0) for tree in (FIRST, SECOND)]
    assert predict_proba(release(*nothing, predicts="vote"), PEOPLE).tolist() == [[0.5, 0.5]] * 3
    huge = stump({"value": 1e308}, {"value": -1e308}, of_class="b", weight=10.0)
    boosted = release(huge, huge, predicts="score", boosting=Boosting("logit"))
    assert predict_proba(boosted, PEOPLE).tolist() == [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]
