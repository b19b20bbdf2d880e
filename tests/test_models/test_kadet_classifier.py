"""kADET as a scikit-learn estimator, and what it refuses."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxent.models.defenses import KADETClassifier
from maxent.models.errors import InvalidInput
from maxent.models.release import Defense, Induction


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
    import maxent

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
    with pytest.raises(InvalidInput, match=message):
        fitted(**parameters)


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
    with pytest.raises(InvalidInput) as caught:
        fitted(**wrong)
    assert {problem.field for problem in caught.value.problems} == set(wrong)
    with pytest.raises(InvalidInput, match="selection: expected gain_ratio: only gain ratios are"):
        fitted(k=1, selection="quinlan")
    with pytest.raises(InvalidInput, match="l and alpha: expected None"):
        fitted(k=1, alpha=0.9, class_public=True)
