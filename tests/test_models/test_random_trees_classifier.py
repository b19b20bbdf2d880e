"""Private random trees as an estimator: what it publishes, promises, predicts and refuses."""

import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxent.models.defenses import KAnonRandomTreesClassifier
from maxent.models.defenses.accounting import RandomTrees, guarantee
from maxent.models.defenses.random_trees import random_trees, vote_shares
from maxent.models.errors import InvalidInput
from maxent.models.release import Attribute
from maxent.models.tables.domains import read_domains
from maxent.models.tables.training import read_training
from maxent.models.trees.predict import predict_proba, read_columns


@pytest.mark.filterwarnings("ignore:domains of:UserWarning")
@parametrize_with_checks(
    [KAnonRandomTreesClassifier(), KAnonRandomTreesClassifier(n_trees=3, depth=4, beta=1.0, k=2, vote="trees")]
)
def test_scikit_learn_is_content(estimator: Any, check: Any) -> None:
    check(estimator)


DOMAINS: dict[str, Any] = {
    "town": ["Ulm", "Bonn", "Kiel", "Rom"],
    "age": (18, 80),
    "member": [True, False],
    "risk": ["high", "low", "none"],
}


def people(n: int = 3000, seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"town": rng.choice(["Ulm", "Bonn", "Kiel"], n), "age": rng.integers(18, 81, n), "member": rng.random(n) < 0.5}
    )
    likely = 0.1 + 0.8 * (frame["member"] ^ (frame["age"] > 50))
    return frame, pd.Series(np.where(rng.random(n) < likely, "high", "low"), name="risk")


def model(**parameters: Any) -> KAnonRandomTreesClassifier:
    return KAnonRandomTreesClassifier(**{"depth": 3, "domains": DOMAINS, "random_state": 0, **parameters})


def test_what_is_published_is_what_the_function_makes(tmp_path: Path) -> None:
    X, y = people()
    fitted = model(private=["member"], epsilon=2.0).fit(X, y)
    training = read_training(
        X.assign(risk=y),
        target="risk",
        qi=["town", "age"],
        private=["member"],
        domains={"town": DOMAINS["town"], "member": ["True", "False"], "risk": ["high", "low", "none"]},
    )
    asked = RandomTrees(10, 3, 0.1, 20, 2.0, 0)
    assert fitted.release_ == random_trees(training, asked, read_domains(DOMAINS, "risk"))
    assert fitted.guarantee_ == guarantee(asked)
    assert fitted.release_.attributes == (
        Attribute("town", "categorical", ("Ulm", "Bonn", "Kiel", "Rom")),
        Attribute("age", "numeric"),
        Attribute("member", "categorical", ("True", "False"), "private"),
    )
    file = tmp_path / "domains.json"
    file.write_text(json.dumps(DOMAINS))
    assert model(domains=file, private=["member"], epsilon=2.0).fit(X, y).release_ == fitted.release_


def test_it_learns_and_votes() -> None:
    X, y = people()
    for vote in ("sums", "trees"):
        fitted = model(vote=vote, n_trees=31, beta=0.4).fit(X, y)
        assert fitted.score(X, y) > 0.75
        found = fitted.predict_proba(X)
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        np.testing.assert_array_equal(fitted.classes_[found.argmax(axis=1)], fitted.predict(X))
        if vote == "trees":
            np.testing.assert_array_equal(found, vote_shares(fitted.release_, *read_columns(fitted.release_, X)))
        else:
            np.testing.assert_array_equal(found, predict_proba(fitted.release_, X))
    with pytest.raises(NotFittedError):
        model(vote="trees").predict(X)


def test_classes_that_are_only_stated_are_among_the_classes() -> None:
    X, y = people(500)
    fitted = model(beta=1.0, k=1).fit(X, y)
    assert fitted.classes_.tolist() == ["high", "low", "none"]
    assert fitted.release_.target.classes == ("high", "low", "none")
    assert fitted.predict_proba(X)[:, 2].max() == 0
    numbers = model(beta=1.0, domains={**DOMAINS, "risk": [9, 10, 11]}).fit(X, y.map({"high": 10, "low": 9}))
    assert numbers.classes_.tolist() == [9, 10, 11]
    assert numbers.release_.target.classes == ("9", "10", "11")
    assert set(numbers.predict(X).tolist()) <= {9, 10}
    for classes in (["low", "none"], [1, 2]):
        with pytest.raises(InvalidInput, match="y: expected classes among"):
            model(domains={**DOMAINS, "risk": classes}).fit(X, y)
    with pytest.raises(InvalidInput, match="of the kind of those in y"):
        model(domains={**DOMAINS, "risk": ["0", "1", "x"]}).fit(X, (y == "low").astype(int))


def test_domains_from_the_data_are_warned_of() -> None:
    X, y = people(300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model().fit(X, y).guarantee_ is not None
    partly = {name: domain for name, domain in DOMAINS.items() if name not in ("age", "risk")}
    with pytest.warns(UserWarning, match=r"domains of 'age', 'risk' are taken from the data"):
        fitted = model(domains=partly).fit(X, y)
    assert fitted.guarantee_ is None
    with pytest.warns(UserWarning, match=r"'town', 'age', 'member', 'risk'"):
        model(domains=None).fit(X, y)


def test_a_seed_decides_everything_and_nothing_else_does() -> None:
    X, y = people(500)
    again = pickle.loads(pickle.dumps(model().fit(X, y)))
    assert clone(again).fit(X, y).release_ == again.release_
    assert model(random_state=1).fit(X, y).release_ != again.release_
    one, other = (model(random_state=np.random.RandomState(5)).fit(X, y).release_ for _ in range(2))
    assert one == other
    one, other = (model(random_state=None).fit(X, y).release_ for _ in range(2))
    assert one != other
    assert one.defense is not None
    assert one.defense.parameters["samples"] == "secret"


def test_what_is_wrong_is_named_as_it_is_called_here() -> None:
    X, y = people(50)
    wrong: dict[str, Any] = {
        "n_trees": 0,
        "depth": -1,
        "beta": 2,
        "k": "5",
        "vote": "all",
        "epsilon": 0,
        "random_state": -1,
        "private": "age",
    }
    with pytest.raises(InvalidInput) as caught:
        KAnonRandomTreesClassifier(**wrong).fit(X, y)
    assert sorted(problem.field for problem in caught.value.problems) == sorted(wrong)
    for domains, message in (
        ({"age": (18, 40)}, "'age': expected numbers from 18 to 40"),
        ({"town": ["Ulm", "Bonn"]}, "every value that occurs"),
        ({"city": ["Ulm"]}, "only columns of target=, qi= and private="),
        ({"city": (0, 1)}, "no such column"),
        ({"town": (0, 1)}, "values, as strings"),
        ({"age": [18, 19, 20]}, "a list of values"),
    ):
        with pytest.raises(InvalidInput, match=message):
            model(domains=domains).fit(X, y)
