"""Means of draws: what regression forests with bootstrap prove of the people, and that it is true of them."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.datasets import load_diabetes
from sklearn.ensemble import BaggingRegressor, ExtraTreesRegressor, RandomForestRegressor
from support.calls import refused
from support.strategies import thorough

import maxent
from maxent.api.estimate import compile_release
from maxent.constraints.kinds import bootstrap
from maxent.constraints.kinds.bootstrap import furthest
from maxent.constraints.program.residuals import Evaluator
from maxent.models.formats.maxent_json.read import parse_release
from maxent.models.formats.maxent_json.write import release_to_document
from maxent.models.tables.truth_and_facts import read_truth

CERTAINLY = 1 - 1e-13  # A confidence at which an interval that misses the truth is a defect


def violation(release, X, y, **options):
    """By how much the truth misses what is compiled of a release, individuals; and how many rows there are."""
    program = compile_release(release, X, **options)
    truth = read_truth(X.assign(**{release.target.name: y}), release, program.table)
    rows = sum(constraint.rows for constraint in program.linear if constraint.kind == "drawn")
    return Evaluator(program).max_violation(truth[program.cells.owner].astype(float)), rows


@st.composite
def drawn_forests(draw):
    """People, a regression forest or bag of draws, and how its target is read."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(6, 80))
    X = pd.DataFrame({"a": rng.integers(0, 9, n), "b": rng.integers(0, 3, n) / 4, "c": rng.normal(size=n).round(1)})
    scale = draw(st.sampled_from([1e-3, 1.0, 1e4]))
    y = pd.Series(scale * (X["a"] + rng.integers(0, 5, n)), name="y")
    depth, seed = draw(st.sampled_from([1, 2, 4, None])), draw(st.integers(0, 9))
    part = draw(st.sampled_from([None, n // 2]))
    kind = draw(st.sampled_from(["forest", "extra", "bag"]))
    if kind == "bag":
        model = BaggingRegressor(n_estimators=2, max_samples=part or n, random_state=seed)
    else:
        make = RandomForestRegressor if kind == "forest" else ExtraTreesRegressor
        model = make(3, max_depth=depth, bootstrap=True, max_samples=part, max_features=2, random_state=seed)
    if draw(st.booleans()):
        how = {"values": np.unique(y)}
    else:
        inner = sorted({*rng.choice(y, draw(st.integers(1, 3)))} - {y.min()})
        how = {
            "bins": [y.min(), *inner, y.max() + scale] if inner else [y.min(), y.mean() + scale / 7, y.max() + scale]
        }
    return X, y, model.fit(X, y), how


@given(drawn_forests(), st.sampled_from(["counts", "labels"]), st.booleans())
@thorough(60)
def test_the_truth_satisfies_them(case, publish, inner):
    X, y, model, how = case
    release = maxent.from_sklearn(model, target="y", X=X, publish=publish, inner_counts=inner, **how)
    assert parse_release(json.loads(json.dumps(release_to_document(release))), "r") == release
    assert release.resampled == int(model.estimators_[0].tree_.weighted_n_node_samples[0])
    missed, _ = violation(release, X, y, confidence=CERTAINLY)
    assert missed < 1e-6


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_a_leaf_of_one_person_gives_them_away(scale):
    X = pd.DataFrame({"a": np.arange(12)})
    y = pd.Series(scale * np.arange(12.0))
    model = RandomForestRegressor(20, random_state=0).fit(X, y)
    release = maxent.from_sklearn(model, target="y", X=X, values=np.unique(y))
    found = maxent.estimate(release, X, truth=X.assign(y=y))
    assert found.summary["status"] == "optimal"
    assert found.summary["constraints"]["drawn"] > 0
    own = found.posterior[[f"P({name})" for name in release.target.classes]].to_numpy()
    assert own.argmax(axis=1).tolist() == list(range(12))
    assert (own.max(axis=1) > 0.9).all()


def test_draws_of_a_large_leaf_bound_the_mean():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": np.repeat([0, 1], 4_000)})
    y = pd.Series(np.where(rng.random(8_000) < np.where(X["a"] == 0, 0.1, 0.8), 1.0, 0.0))
    model = RandomForestRegressor(5, max_depth=1, random_state=0).fit(X, y)
    release = maxent.from_sklearn(model, target="y", X=X, values=[0, 1])
    found = maxent.bounds(release, X, level="linear").frame()
    high = found.loc[(found["a"] == 0) & (found["class"] == "1"), "high"].iloc[0]
    low = found.loc[(found["a"] == 1) & (found["class"] == "1"), "low"].iloc[0]
    assert 0.1 < high < 0.16
    assert 0.74 < low < 0.8
    missed, rows = violation(release, X, y)
    assert missed < 1e-6
    # That some have either value, u of L to H, the sum of the draws, the two ends of the mean; of the root one more.
    assert rows == 5 * (2 * 5 + 6)


def test_what_leaves_repeat_about_the_same_people_is_stated_once(monkeypatch):
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"a": rng.integers(0, 20, 60), "b": rng.integers(0, 3, 60)})
    y = pd.Series(X["a"] + rng.integers(0, 3, 60), name="y").astype(float)
    model = RandomForestRegressor(12, random_state=0).fit(X, y)
    release = maxent.from_sklearn(model, target="y", X=X, bins=[0, 6, 12, 18, 30])
    whole = maxent.estimate(release, X)
    monkeypatch.setattr(bootstrap, "REPEATED", 0)
    once = maxent.estimate(release, X)
    assert len(once.program.linear) < 0.8 * len(whole.program.linear)
    left = len(whole.program.linear) - len(once.program.linear)
    assert any(note.startswith(f"{left} statements of leaves repeat others") for note in once.notes)
    assert (whole.summary["certificate"], once.summary["certificate"]) == ("global", "global")
    assert np.allclose(once.probabilities, whole.probabilities, atol=1e-6)
    assert once.summary["entropy"] == pytest.approx(whole.summary["entropy"], abs=1e-8)
    missed, _ = violation(release, X, y, confidence=CERTAINLY)
    assert missed < 1e-6


def test_labels_alone_state_that_somebody_is_at_either_side_of_the_mean():
    X = pd.DataFrame({"a": [0, 0, 0, 1, 1, 1]})
    model = RandomForestRegressor(1, max_depth=1, random_state=3).fit(X, [0.0, 1, 2, 5, 6, 7])
    asked = {"target": "y", "X": X, "bins": [0, 3, 7], "publish": "labels"}
    assert maxent.estimate(maxent.from_sklearn(model, **asked), X).summary["constraints"]["drawn"] > 0


def test_the_diabetes_forest_that_everybody_fits():
    X, y = load_diabetes(as_frame=True, return_X_y=True)
    X = X[["age", "sex", "bmi"]].round(3)
    model = RandomForestRegressor(10, random_state=0).fit(X, y)
    release = maxent.from_sklearn(model, target="y", X=X, bins=[0, 100, 200, 400])
    assert violation(release, X, y)[0] < 1e-6
    assert maxent.estimate(release, X, truth=X.assign(y=y)).summary["disclosure"]["certain"] > 100


@pytest.mark.parametrize(("mean", "draws", "miss"), [(0.1, 50, 1e-3), (0.0, 7, 1e-2), (0.9, 200, 1e-9), (0.5, 10, 0.1)])
def test_the_interval_is_no_narrower_than_that_of_a_binomial(mean, draws, miss):
    furthest_mean = furthest(mean, draws, math.log(miss))
    assert binom.cdf(round(mean * draws), draws, furthest_mean) <= miss
    assert furthest_mean > mean


def test_likelihood_is_of_counts():
    X = pd.DataFrame({"a": [0, 1, 2, 3]})
    model = RandomForestRegressor(2, random_state=0).fit(X, [1.0, 2.0, 30.0, 50.0])
    release = maxent.from_sklearn(model, target="y", X=X, bins=[0, 20, 50])
    refused("noise: expected intervals", maxent.estimate, release, X, noise="likelihood")
    assert maxent.review(model, X, pd.Series([1.0, 2.0, 30.0, 50.0], name="y"), qi=["a"], bins=[0, 20, 50]).verdict
