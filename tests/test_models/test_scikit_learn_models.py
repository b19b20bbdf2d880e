"""Models of scikit-learn as releases: they predict as the model does, and state what is surely known of the records."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import maxent
from maxent.models.arrays import FloatArray
from maxent.models.errors import InvalidInput
from maxent.models.formats.maxent_json.read import parse_release
from maxent.models.formats.maxent_json.write import release_to_document
from maxent.models.release import Boosting, Release
from maxent.models.trees.predict import linked, places_of, predict, predict_proba, read_columns

Labels = npt.NDArray[Any]


def people(missing: bool = False, categories: bool = False, classes: int = 3) -> tuple[pd.DataFrame, Labels]:
    """A table, and a class that depends on it; some values of numbers are between others, where thresholds are."""
    rng = np.random.default_rng(7)
    x = pd.DataFrame({"größe": rng.normal(size=160), "age": rng.integers(18, 60, 160) * 1.0})
    signal = x["größe"].rank(pct=True) + (x["age"] > 40) + 0.6 * rng.random(160)
    y = np.array(["ja", "no, not", "maybe"])[:classes][np.floor(signal.rank(pct=True) * classes - 1e-9).astype(int)]
    if missing:
        x.loc[(y == "ja") & (rng.random(160) < 0.5), "größe"] = np.nan
        x.loc[rng.random(160) < 0.1, "age"] = np.nan
    if categories:
        x["town"] = pd.Categorical(np.where(y == "ja", "a, b", rng.choice(["a, b", "c d", "é"], 160)))
        x.loc[rng.random(160) < 0.1, "town"] = None
        x = x[["größe", "town", "age"]]
    return x, y


def others(x: pd.DataFrame) -> pd.DataFrame:
    """The rows, and rows between them."""
    between = x.sample(frac=1, random_state=0).reset_index(drop=True)
    for name in ("größe", "age"):
        between[name] = (x[name] + between[name]) / 2
    return pd.concat([x, between], ignore_index=True)


def assert_predicts_as(model: Any, release: Release, x: pd.DataFrame) -> None:
    rows = others(x)
    if "town" in rows:
        rows["town"] = rows["town"].astype(x["town"].dtype)
    np.testing.assert_allclose(predict_proba(release, rows), model.predict_proba(rows), rtol=0, atol=1e-12)
    assert predict(release, rows).tolist() == list(map(str, model.predict(rows)))
    assert parse_release(release_to_document(release), "release") == release


def assert_states_what_is_there(release: Release, x: pd.DataFrame, y: Labels) -> None:
    """Sizes and counts of leaves are those of the rows, unless they are of draws."""
    attributes, columns, n = read_columns(release, x)
    for tree, place in zip(release.trees, places_of(release, attributes, columns, n), strict=True):
        for i, node in enumerate(tree.nodes):
            here = [int((y[place == i] == c).sum()) for c in release.target.classes]
            assert node.n in (None, sum(here))
            assert node.counts is None or list(node.counts.values()) == here


def states(release: Release) -> set[str]:
    leaves = [leaf for tree in release.trees for leaf in tree.leaves]
    return {key for key in ("counts", "n", "value") if any(getattr(leaf, key) is not None for leaf in leaves)}


TREE = DecisionTreeClassifier(max_depth=3, random_state=0)
BOOSTED = {
    "gradient": (GradientBoostingClassifier(n_estimators=3, random_state=0), {"n", "value"}),
    "gradient of leaves": (GradientBoostingClassifier(n_estimators=2, max_leaf_nodes=5, init="zero"), {"n", "value"}),
    "part of the rows": (GradientBoostingClassifier(n_estimators=3, subsample=0.5, random_state=0), {"value"}),
    "early": (GradientBoostingClassifier(n_estimators=3, n_iter_no_change=2, random_state=0), {"value"}),
    "histogram": (HistGradientBoostingClassifier(max_iter=3), {"n", "value"}),
    "balanced": (HistGradientBoostingClassifier(max_iter=2, class_weight="balanced"), {"n", "value"}),
    "histogram, early": (HistGradientBoostingClassifier(max_iter=3, early_stopping=True, random_state=0), {"value"}),
    "adaptive": (AdaBoostClassifier(TREE, n_estimators=3, random_state=0), {"counts", "n", "value"}),
}


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", BOOSTED)
def test_boosted_models_predict_as_they_do(kind: str, classes: int) -> None:
    model, stated = BOOSTED[kind]
    x, y = people(classes=classes)
    release = maxent.from_sklearn(model.fit(x, y), target="T")
    assert_predicts_as(model, release, x)
    assert_states_what_is_there(release, x, y)
    assert states(release) == stated


def weighed_to_whole_numbers() -> tuple[pd.DataFrame, Labels, FloatArray]:
    """People whose weighted shares in each leaf come to whole numbers, which are not how many people there are."""
    a = [0.0, 1.0, 2.0, 1.0, 3.0, 1.0, 3.0, 0.0, 3.0, 2.0, 2.0, 0.0, 1.0, 2.0, 2.0]
    y = ["y", "n", "y", "y", "y", "y", "n", "y", "n", "y", "y", "n", "n", "n", "n"]
    weights = [2.0, 3.0, 1.0, 1.0, 3.0, 1.0, 3.0, 2.0, 1.0, 2.0, 2.0, 2.0, 3.0, 3.0, 1.0]
    return pd.DataFrame({"a": a}), np.array(y), np.array(weights)


def test_adaboost_counts_people_only_where_their_weights_are_known() -> None:
    x, y, weights = weighed_to_whole_numbers()
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2, random_state=0), n_estimators=1, random_state=0)
    model.fit(x, y, sample_weight=weights)
    release = maxent.from_sklearn(model, target="T", X=x)
    assert_states_what_is_there(release, x, y)
    assert states(release) == {"n", "value"}
    weighed = maxent.review(model, x, y, qi=["a"], time_limit=5, sample_weight=weights)
    assert states(weighed.release) == {"n", "value"}
    unnamed = maxent.review(model, x, y, qi=["a"], time_limit=5)
    assert states(unnamed.release) == {"n", "value"}
    assert "rows weighed differently" in unnamed.converted.lost[-1]
    model.fit(x, y)
    for same in ({}, {"sample_weight": np.ones(15)}):
        found = maxent.review(model, x, y, qi=["a"], time_limit=5, **same).release
        assert states(found) == {"counts", "n", "value"}
        assert_states_what_is_there(found, x, y)


def test_steps_of_all_records_state_the_rate() -> None:
    x, y = people(classes=3)

    def rate(model: Any, **weights: Any) -> tuple[float | None, float | None]:
        boosting = maxent.from_sklearn(model.fit(x, y, **weights), target="T").boosting
        assert boosting is not None
        return boosting.rate, boosting.l2

    weights = {"sample_weight": np.random.default_rng(0).random(160)}
    assert rate(GradientBoostingClassifier(n_estimators=1, learning_rate=0.3)) == (pytest.approx(0.2), 0.0)
    assert rate(GradientBoostingClassifier(n_estimators=1, subsample=0.5)) == (None, None)
    assert rate(GradientBoostingClassifier(n_estimators=1), **weights) == (None, None)
    assert rate(HistGradientBoostingClassifier(max_iter=1, learning_rate=0.3, l2_regularization=2.0)) == (0.3, 2.0)
    assert rate(HistGradientBoostingClassifier(max_iter=1, class_weight="balanced")) == (None, None)
    assert rate(HistGradientBoostingClassifier(max_iter=1), **weights) == (None, None)
    assert rate(HistGradientBoostingClassifier(max_iter=1, early_stopping=True)) == (None, None)


def test_the_exponential_loss_has_twice_the_score() -> None:
    x, y = people(classes=2)
    model = GradientBoostingClassifier(loss="exponential", n_estimators=3).fit(x, y)
    assert_predicts_as(model, maxent.from_sklearn(model, target="T"), x)


MISSING = {
    "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "random splits": DecisionTreeClassifier(splitter="random", random_state=0),
    "forest": RandomForestClassifier(3, random_state=0),
    "extra trees": ExtraTreesClassifier(3, random_state=0),
    "bag": BaggingClassifier(TREE, 3, random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=3),
}


@pytest.mark.parametrize("kind", MISSING)
def test_missing_values_take_the_branch_that_they_take_in_the_model(kind: str) -> None:
    x, y = people(missing=True)
    model = MISSING[kind].fit(x, y)
    release = maxent.from_sklearn(model, target="T", X=x)
    assert all(attribute.missing for attribute in release.attributes)
    assert_predicts_as(model, release, x)
    if release.resampled is None:
        assert_states_what_is_there(release, x, y)


def test_missing_codes_are_a_value_of_their_own() -> None:
    x = pd.DataFrame({"size": [0.0, 1, 2, np.nan] * 10})
    y = np.array(["a", "b", "b", "a"] * 10)
    model = DecisionTreeClassifier().fit(x, y)
    release = maxent.from_sklearn(model, target="T", categories={"size": ["S", "M", "L"]}, X=x)
    assert release.attributes[0].values == ("S", "M", "L", "(missing)")
    named = x["size"].map({0: "S", 1: "M", 2: "L"}).astype(object)
    assert predict(release, pd.DataFrame({"size": named})).tolist() == y.tolist()


def test_categories_of_histogram_boosting() -> None:
    x, y = people(missing=True, categories=True)
    model = HistGradientBoostingClassifier(max_iter=4, categorical_features="from_dtype").fit(x, y)
    release = maxent.from_sklearn(model, target="T")
    town = next(attribute for attribute in release.attributes if attribute.name == "town")
    assert town.values == ("a, b", "c d", "é", "(other)", "(missing)")
    assert any(node.attribute == "town" for tree in release.trees for node in tree.nodes)
    assert_predicts_as(model, release, x)
    assert_states_what_is_there(release, x, y)
    unknown = x.head(3).assign(town=["Ulm", "Ulm", "Ulm"])
    without = x.head(3).assign(town=pd.Categorical([None] * 3, categories=x["town"].cat.categories))
    np.testing.assert_array_equal(predict_proba(release, unknown), predict_proba(release, without))

    codes = x.assign(town=x["town"].cat.codes.where(x["town"].notna()).astype(float))
    model = HistGradientBoostingClassifier(max_iter=4, categorical_features=["town"]).fit(codes, y)
    named = maxent.from_sklearn(model, target="T", categories={"town": ["a, b", "c d", "é"]})
    np.testing.assert_allclose(predict_proba(named, x), model.predict_proba(codes), rtol=0, atol=1e-12)
    bare = maxent.from_sklearn(model, target="T")
    assert next(a for a in bare.attributes if a.name == "town").values == ("0", "1", "2", "(other)", "(missing)")
    with pytest.raises(InvalidInput, match="no description: the model has 3 categories of its own"):
        maxent.from_sklearn(model, target="T", categories={"town": ["a, b", "c d"]})


X, Y = people()
BY_ROW = np.random.default_rng(1).random(160) + 0.5
WEIGHTED = {
    "balanced": (DecisionTreeClassifier(max_depth=3, class_weight="balanced"), {}, {"counts", "n", "value"}),
    "stated": (DecisionTreeClassifier(max_depth=3, class_weight={"ja": 0.5, "maybe": 3}), {}, {"counts", "n", "value"}),
    "both": (DecisionTreeClassifier(class_weight="balanced"), {"sample_weight": BY_ROW}, {"value"}),
    "weighted": (DecisionTreeClassifier(max_depth=3), {"sample_weight": BY_ROW}, {"value"}),
    "monotonic": (DecisionTreeClassifier(max_depth=4, monotonic_cst=[1, 0]), {}, {"n", "value"}),
    "balanced forest": (ExtraTreesClassifier(3, max_depth=3, class_weight="balanced"), {}, {"counts", "n", "value"}),
    "balanced draws": (RandomForestClassifier(3, class_weight="balanced_subsample"), {}, {"value"}),
    "weighted forest": (RandomForestClassifier(3), {"sample_weight": BY_ROW}, {"value"}),
    "weighted whole": (ExtraTreesClassifier(3), {"sample_weight": BY_ROW}, {"value"}),
    "bag of balanced": (BaggingClassifier(DecisionTreeClassifier(class_weight="balanced"), 3), {}, {"value"}),
    "balanced trees of all": (
        BaggingClassifier(DecisionTreeClassifier(max_depth=3, class_weight="balanced"), 3, bootstrap=False),
        {},
        {"counts", "n", "value"},
    ),
}


@pytest.mark.parametrize("kind", WEIGHTED)
def test_weighted_shares_are_answers_and_no_statements(kind: str) -> None:
    model, weights, stated = WEIGHTED[kind]
    x, y = (X, Y) if kind != "monotonic" else people(classes=2)
    model.set_params(random_state=0).fit(x, y, **weights)
    release = maxent.from_sklearn(model, target="T")
    assert release.boosting == Boosting("share")
    assert_predicts_as(model, release, x)
    assert states(release) == stated
    assert_states_what_is_there(release, x, y)
    drawn = getattr(model, "bootstrap", False) or kind.startswith("bag")
    assert ("n" in states(maxent.from_sklearn(model, target="T", X=x))) != drawn


def test_how_much_is_published_is_asked_for() -> None:
    model = DecisionTreeClassifier(max_depth=3, class_weight="balanced").fit(X, Y)
    assert states(maxent.from_sklearn(model, target="T", publish="rates")) == {"n", "value"}
    assert states(maxent.from_sklearn(model, target="T", publish="labels")) == {"value"}
    boosted = GradientBoostingClassifier(n_estimators=2).fit(X, Y)
    assert all(
        node.n is not None
        for tree in maxent.from_sklearn(boosted, target="T", inner_counts=True).trees
        for node in tree.nodes
    )


def test_first_scores_that_depend_on_the_row_are_refused() -> None:
    model = GradientBoostingClassifier(init=LogisticRegression(), n_estimators=1).fit(X, Y)
    with pytest.raises(InvalidInput, match="None or 'zero': scores before the first tree that depend on the row"):
        maxent.from_sklearn(model, target="T")


def test_scores_that_are_shares_are_divided_by_their_sum() -> None:
    scores = np.array([[1.0, 3.0], [0.0, 0.0], [1e300, 1e300], [-1.0, 2.0]])
    np.testing.assert_allclose(linked(scores, Boosting("share")), [[0.25, 0.75], [0.5, 0.5], [0.5, 0.5], [0, 1]])


@pytest.mark.parametrize(
    "model", [GradientBoostingClassifier(n_estimators=2, max_depth=2), HistGradientBoostingClassifier(max_iter=2)]
)
def test_the_rate_lets_scores_prove_the_counts_of_leaves(model: Any) -> None:
    x = pd.DataFrame({"size": np.arange(120) % 6 * 1.0, "age": np.arange(120) % 4 * 1.0})
    y = np.array(["a", "b", "c"])[(np.arange(120) * 7 % 11 + x["size"].astype(int)) % 3]
    release = maxent.from_sklearn(model.fit(x, y), target="T")
    found = maxent.estimate(release, x, truth=x.assign(T=y))
    assert found.summary["status"] == "optimal"
    assert found.summary["constraints"]["boosting"] == sum(len(tree.leaves) for tree in release.trees)
