"""The estimators publish what the functions make of a tree, and predict from nothing but what they publish."""

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import estimator_checks_generator
from support.calls import refusal, refused

import maxent.models.defenses
from maxent.models.defenses import LeafPrunedTree, ParentPrunedTree, PlainTree
from maxent.models.defenses.pruning import prune_leaf, prune_parent
from maxent.models.formats.maxent_json.read import validate_release
from maxent.models.formats.registry import load_release
from maxent.models.induction.growth import Growth
from maxent.models.induction.inducers import induce
from maxent.models.release import Attribute, Defense
from maxent.models.tables.training import read_training
from maxent.models.trees.predict import predict_proba

ESTIMATORS = (PlainTree, LeafPrunedTree, ParentPrunedTree)

CHECKS = [
    pytest.param(estimator, check, id=f"{kind.__name__}-{check.func.__name__}-{i}")
    for kind in ESTIMATORS
    for i, (estimator, check) in enumerate(estimator_checks_generator(kind()))
    if check.func.__name__ != "check_array_api_input"  # asks for an environment variable to be set
]


@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_scikit_learn_is_satisfied(estimator: Any, check: Any) -> None:
    check(estimator)


def people(n: int = 200, seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    """Columns of every kind, and a class that depends on them."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "town": rng.choice(["Ulm", "Bonn", "Kiel"], n),
            "age": rng.integers(18, 80, n),
            "size": pd.Categorical(rng.choice(["S", "M", "L"], n), ["S", "M", "L"]),
            "member": rng.random(n) < 0.5,
            "income": rng.normal(3000.0, 500.0, n),
        }
    )
    likely = 0.2 + 0.5 * (frame["age"] > 50) * frame["member"] + 0.2 * (frame["town"] == "Ulm")
    return frame, pd.Series(np.where(rng.random(n) < likely, 10, 9), name="risk")


def test_columns_are_attributes_as_they_are() -> None:
    X, y = people()
    model = LeafPrunedTree(k=4, private=["income"], random_state=0).fit(X, y)
    assert model.release_.target.name == "risk"
    assert model.release_.target.classes == ("9", "10")
    assert {a.name: a for a in model.release_.attributes} == {
        "town": Attribute("town", "categorical", ("Bonn", "Kiel", "Ulm")),
        "age": Attribute("age", "numeric"),
        "size": Attribute("size", "categorical", ("L", "M", "S")),
        "member": Attribute("member", "categorical", ("False", "True")),
        "income": Attribute("income", "numeric", None, "private"),
    }
    assert model.feature_names_in_.tolist() == list(X.columns)
    assert model.n_features_in_ == 5
    validate_release(model.release_)


@pytest.mark.parametrize(
    "y", [np.array([3, 20, 100]), np.array(["b", "a", "c"]), np.array([True, False, True]), np.array([1.0, 2.0, 0.0])]
)
def test_classes_come_back_as_they_were(y: Any) -> None:
    model = PlainTree().fit([[0], [1], [2]], y)
    assert model.predict([[2], [0], [1]]).tolist() == y[[2, 0, 1]].tolist()
    assert model.predict([[2]]).dtype == y.dtype
    assert model.classes_.tolist() == sorted(set(y.tolist()))
    assert model.release_.target.classes == tuple(str(c) for c in model.classes_)


def test_arrays_get_names() -> None:
    X = np.array([["a", 1.5], ["b", 2.5], ["b", 0.5], ["a", 2.0]], object)
    model = PlainTree(private=["x1"], random_state=0).fit(X, [0, 0, 1, 0])
    assert model.release_.attributes == (
        Attribute("x0", "categorical", ("a", "b")),
        Attribute("x1", "numeric", None, "private"),
    )
    assert model.release_.target.name == "class"
    assert not hasattr(model, "feature_names_in_")
    assert model.predict(X).tolist() == [0, 0, 1, 0]
    assert model.predict(pd.DataFrame(X)).tolist() == [0, 0, 1, 0]


def test_a_target_named_as_a_column_is_renamed() -> None:
    frame, y = people(30)
    assert PlainTree().fit(frame, y.rename("age")).release_.target.name == "age_"


@pytest.mark.parametrize("inducer", ["cart", "c45"])
@pytest.mark.parametrize("publish", ["labels", "rates", "counts"])
@pytest.mark.parametrize("encoding", ["ordinal", "appearance", "onehot"])
def test_what_is_published_is_what_the_functions_make(inducer: Any, publish: Any, encoding: Any) -> None:
    X, y = people()
    growth = Growth(inducer, max_depth=6, encoding=encoding, seed=3)
    training = read_training(
        X.assign(risk=y), target="risk", qi=list(X.columns), domains={"risk": ["9", "10"]}, order=growth.order
    )
    options: Any = {"inducer": inducer, "max_depth": 6, "encoding": encoding, "publish": publish, "random_state": 3}
    plain = induce(training, growth, publish=publish)
    assert PlainTree(**options).fit(X, y).release_ == plain
    if publish != "labels":
        assert LeafPrunedTree(k=7, **options).fit(X, y).release_ == prune_leaf(plain, 7)
        assert ParentPrunedTree(k=7, **options).fit(X, y).release_ == prune_parent(plain, 7)
    else:
        assert LeafPrunedTree(k=7, **options).fit(X, y).release_.defense == Defense("prune-leaf", {"k": 7})


@pytest.mark.parametrize("publish", ["labels", "rates", "counts"])
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_predictions_need_nothing_but_the_release(kind: Any, publish: Any, tmp_path: Any) -> None:
    X, y = people()
    model = kind(publish=publish, max_depth=5, random_state=0).fit(X, y)
    unseen = people(60, seed=1)[0].assign(town="Mainz")
    model.release_.save(tmp_path / "tree.json")
    published = predict_proba(load_release(tmp_path / "tree.json"), unseen)
    np.testing.assert_array_equal(model.predict_proba(unseen), published)
    np.testing.assert_array_equal(model.predict(unseen), model.classes_[published.argmax(axis=1)])


def test_plain_trees_predict_as_scikit_learn_does() -> None:
    for X, y in (load_iris(return_X_y=True), load_breast_cancer(return_X_y=True)):
        ours, theirs = PlainTree(random_state=1, max_depth=4), DecisionTreeClassifier(random_state=1, max_depth=4)
        ours.fit(X[::2], y[::2])
        theirs.fit(X[::2], y[::2])
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-12)
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_who_answers_for_removed_leaves() -> None:
    X = pd.DataFrame({"A": ["x"] * 10 + ["y"] * 4 + ["z"] * 6})
    y = ["no"] * 10 + ["yes"] * 1 + ["maybe"] * 3 + ["yes"] * 6
    near = LeafPrunedTree(k=5, inducer="cart", random_state=0).fit(X, y)
    far = clone(near).set_params(removed="majority").fit(X, y)
    row = X.iloc[[10]]
    assert near.predict(row).tolist() == ["yes"]
    assert far.predict(row).tolist() == ["no"]
    np.testing.assert_allclose(far.predict_proba(row), [[0, 10 / 16, 6 / 16]])


@pytest.mark.parametrize("inducer", ["cart", "id3", "c45"])
def test_all_inducers_take_strings(inducer: Any) -> None:
    X, y = people()
    X = X[["town", "size", "member"]]
    for kind in ESTIMATORS:
        model = kind(inducer=inducer, random_state=0).fit(X, y)
        assert model.release_.trees[0].induction.algorithm == inducer
        assert set(model.predict(X).tolist()) <= {9, 10}
        if kind is ParentPrunedTree:
            assert min(leaf.n or 0 for leaf in model.release_.trees[0].leaves) >= 5


def test_searches_clones_and_pickles() -> None:
    X, y = people()
    search = GridSearchCV(LeafPrunedTree(random_state=0), {"k": np.array([2, 10, 30]), "max_depth": [3, 6]}, cv=3)
    search.fit(X, y)
    best = search.best_estimator_
    assert best.release_.defense == Defense("prune-leaf", {"k": int(search.best_params_["k"])})
    again = pickle.loads(pickle.dumps(best))
    assert again.release_ == best.release_
    np.testing.assert_array_equal(again.predict(X), best.predict(X))
    fresh = clone(best)
    assert fresh.get_params() == best.get_params()
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    assert cross_val_score(ParentPrunedTree(k=10, max_depth=3), X, y, cv=3).mean() > 0.6


def test_a_random_state_may_be_a_generator_of_states() -> None:
    X, y = people()
    for kind in ESTIMATORS:
        one, other = (kind(random_state=np.random.RandomState(5)).fit(X, y) for _ in range(2))
        assert one.release_ == other.release_


def fit_problems(model: Any, X: Any = None, y: Any = None) -> list[str]:
    frame, classes = people(20)
    caught = refusal(model.fit, frame if X is None else X, classes if y is None else y)
    return [problem.field for problem in caught.problems]


def test_all_bad_parameters_are_named_at_once() -> None:
    wrong = LeafPrunedTree(
        k=0,
        removed="nobody",
        inducer="cart",
        impurity="gain_ratio",
        max_depth=-1,
        min_samples_leaf=0,
        min_samples_split=1.5,
        encoding="hot",
        private="age",
        publish="all",
        round_counts=1,
        round_method="up",
        random_state=-1,
        reading="strip",
    )
    assert sorted(fit_problems(wrong)) == sorted(wrong.get_params().keys() - {"inducer"})
    assert fit_problems(PlainTree(inducer="id4")) == ["inducer"]
    assert fit_problems(ParentPrunedTree(k=True)) == ["k"]


def test_bad_data_are_refused_with_reasons() -> None:
    X, y = people(20)
    assert fit_problems(LeafPrunedTree(k=21)) == ["X"]
    assert fit_problems(PlainTree(private=["nobody"])) == ["nobody"]
    assert fit_problems(PlainTree(private=list(X.columns))) == ["qi"]
    assert fit_problems(PlainTree(), y=y.where(y > 9)) == ["y"]
    assert fit_problems(PlainTree(), y=[None, *"abcdefghijklmnopqrs"]) == ["y"]
    assert fit_problems(PlainTree(), X=X.assign(income=np.nan))
    assert fit_problems(PlainTree(inducer="id3"))
    model = PlainTree().fit(X, y)
    refused(r"row 1: (age|income)", model.predict, X.assign(age=np.inf, income=np.inf))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X[X.columns[::-1]])


def test_only_what_is_asked_for_is_imported() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        maxent.models.defenses.Nothing  # noqa: B018
    code = "import sys, maxent.models.defenses.pruning; assert 'sklearn' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
