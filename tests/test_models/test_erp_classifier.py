"""The estimator publishes what error-risk pruning makes of its tree."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

from maxent.models.defenses import ERPTreeClassifier
from maxent.models.defenses.error_risk import prune_erp
from maxent.models.errors import InvalidInput
from maxent.models.induction.inducers import Growth, induce
from maxent.models.release import Defense
from maxent.models.tables.training import read_training
from maxent.models.trees.predict import predict_proba
from maxent.models.trees.restate import restate

CHECKS = [
    pytest.param(check, id=f"{check.func.__name__}-{i}")
    for i, (_, check) in enumerate(estimator_checks_generator(ERPTreeClassifier()))
    if check.func.__name__ != "check_array_api_input"  # asks for an environment variable to be set
]


@pytest.mark.parametrize("check", CHECKS)
def test_scikit_learn_is_satisfied(check):
    check(ERPTreeClassifier())


def people(n=300, seed=0):
    """Columns of both kinds, and a class that depends on them a little."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"town": rng.choice(["Ulm", "Bonn", "Kiel"], n), "age": rng.integers(18, 80, n)})
    likely = 0.3 + 0.3 * (frame["age"] > 50) + 0.2 * (frame["town"] == "Ulm")
    return frame, pd.Series(np.where(rng.random(n) < likely, "yes", "no"), name="bought")


@pytest.mark.parametrize("rule", ["twig", "literal"])
@pytest.mark.parametrize("publish", ["labels", "rates", "counts"])
@pytest.mark.parametrize("inducer", ["cart", "c45"])
def test_it_publishes_the_pruned_tree(rule, publish, inducer):
    X, y = people()
    model = clone(ERPTreeClassifier(k=np.int64(7), rule=rule, publish=publish, inducer=inducer, random_state=0)).fit(
        X, y
    )
    training = read_training(X.assign(bought=y), target="bought", qi=["town", "age"])
    grown = induce(training, Growth(inducer, seed=0))
    ranges = {"age": (float(X["age"].min()), float(X["age"].max()))}
    assert model.ranges_ == ranges
    assert model.release_ == restate(prune_erp(grown, 7, ranges=ranges, rule=rule), publish)
    assert model.release_.defense == Defense("erp", {"k": 7, "rule": rule})
    assert np.array_equal(model.predict_proba(X), predict_proba(model.release_, X))


def test_parameters_and_data_that_are_refused():
    X, y = people(6)
    with pytest.raises(InvalidInput) as refused:
        ERPTreeClassifier(k=0, rule="greedy", publish="all").fit(X, y)
    assert [problem.field for problem in refused.value.problems] == ["k", "publish", "rule"]
    with pytest.raises(InvalidInput, match="n_samples = 6"):
        ERPTreeClassifier(k=7).fit(X, y)
