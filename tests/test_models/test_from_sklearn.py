import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.tree._criterion import Gini
from support.paths import EXAMPLES

import maxent
from maxent.models.columns import Columns
from maxent.models.errors import InvalidInput
from maxent.models.formats.registry import load_release
from maxent.models.formats.release_reader import Converted
from maxent.models.formats.scikit_learn.columns import Feature
from maxent.models.formats.scikit_learn.ensemble import Splits
from maxent.models.formats.scikit_learn.nodes import bare
from maxent.models.formats.scikit_learn.tree import from_sklearn
from maxent.models.nodes import Nodes
from maxent.models.release import Attribute

COLOURS = ["red", "blue", "green", "grey"]
SIZES = ["small", "medium", "large"]
SEX = ["female", "male"]
ONEHOT = {"colour": {f"colour_{value}": value for value in COLOURS}}


def people(seed, n=200):
    """The table as an adversary has it, and a class that depends on all of it."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": rng.normal(0, 1, n).round(2),
            "sex": rng.choice(SEX, n),
            "size": rng.choice(SIZES, n),
            "colour": rng.choice(COLOURS, n),
        }
    )
    signal = (table["age"] > 50) * 1 + (table["colour"] == "blue") + (table["size"] == "medium") + rng.random(n)
    return table, np.floor(signal).astype(int).clip(0, 2).to_numpy()


def encoded(table, *, onehot=(), ordinal=()):
    """What the model sees."""
    domains = {"sex": SEX, "size": SIZES, "colour": COLOURS}
    parts = []
    for name in table.columns:
        if name in onehot:
            parts += [(table[name] == value).astype(float).rename(f"{name}_{value}") for value in domains[name]]
        elif name in ordinal:
            parts.append(table[name].map({value: i for i, value in enumerate(domains[name])}).rename(name))
        else:
            parts.append(table[name])
    return pd.concat(parts, axis=1)


def takes(branch, column):
    if branch.values is not None:
        return column.isin(branch.values).to_numpy()
    return ((column <= branch.le) if branch.gt is None else (column > branch.gt)).to_numpy()


def members(release, table):
    """Leaf id -> mask of the records that reach it; a record that no branch or two branches take is an error."""
    masks = {release.trees[0].root.id: np.ones(len(table), bool)}
    for node in release.trees[0].nodes:  # parents come before their children
        if not node.is_leaf:
            column = table[node.attribute]
            parts = [masks[node.id] & takes(branch, column) for branch in node.branches]
            assert np.array_equal(np.sum(parts, axis=0), masks[node.id])
            masks |= {branch.child: part for branch, part in zip(node.branches, parts, strict=True)}
    return {leaf.id: masks[leaf.id] for leaf in release.trees[0].leaves}


CASES = {
    "numeric": (["age", "income"], {}, {}),
    "ordinal": (["sex", "size", "colour"], {"ordinal": ["sex", "size", "colour"]}, {}),
    "onehot": (["colour"], {"onehot": ["colour"]}, {"onehot": ONEHOT}),
    "all": (
        ["age", "income", "sex", "size", "colour"],
        {"ordinal": ["sex", "size"], "onehot": ["colour"]},
        {"onehot": ONEHOT},
    ),
}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("case", CASES)
def test_branches_take_every_record_where_the_model_does(case, seed, tmp_path):
    columns, encoding, described = CASES[case]
    table, y = people(seed)
    table = table[columns]
    features = encoded(table, **encoding)
    domains = {"sex": SEX, "size": SIZES, "colour": COLOURS}
    described = described | {"categories": {name: domains[name] for name in encoding.get("ordinal", [])}}
    model = DecisionTreeClassifier(
        random_state=seed, max_leaf_nodes=20 if seed % 2 else None, min_samples_leaf=1 + seed % 3
    ).fit(features, y)
    release = from_sklearn(model, target="t", inner_counts=True, **described)
    assert [a.name for a in release.attributes] == columns
    assert release.target.classes == ("0", "1", "2")
    release.save(tmp_path / "tree.json")
    assert load_release(tmp_path / "tree.json") == release

    reached = model.apply(features)
    masks = members(release, table)
    assert len(masks) == model.get_n_leaves()
    assert len(release.trees[0].nodes) == model.tree_.node_count
    for leaf in release.trees[0].leaves:
        mask = masks[leaf.id]
        assert len(set(reached[mask])) == 1
        assert np.array_equal(mask, reached == reached[mask][0])
        assert leaf.counts == {str(c): int((y[mask] == c).sum()) for c in range(3)}
        assert set(model.predict(features[mask])) == {int(leaf.label)}
    by_id = {node.id: node for node in release.trees[0].nodes}
    for node in release.trees[0].nodes:
        if not node.is_leaf:
            assert sum(by_id[branch.child].n for branch in node.branches) == node.n


def test_a_tree_deeper_than_pythons_recursion_limit():
    n = 1100
    x = pd.DataFrame({"x": np.arange(n, dtype=float)})
    model = DecisionTreeClassifier(random_state=0).fit(x, np.arange(n) % 2)  # alternating classes make a chain
    assert model.get_depth() == n - 1
    release = from_sklearn(model, target="t")
    assert [leaf.n for leaf in release.trees[0].leaves] == [1] * n


@pytest.mark.parametrize("publish", ["labels", "rates", "counts"])
def test_what_leaves_state(publish):
    model = DecisionTreeClassifier(max_depth=1).fit([[0.0], [0.0], [0.0], [1.0]], ["b", "b", "a", "a"])
    release = from_sklearn(model, target="t", features=["x"], classes=["A", "B"], publish=publish)
    root, left, right = release.trees[0].nodes
    assert (root.id, left.id, right.id) == ("N1", "L1", "L2")
    assert (root.branches[0].le, root.branches[1].gt) == (0.5, 0.5)
    assert (left.label, right.label) == ("B", "A")
    assert left.error_rate == (1 / 3 if publish == "rates" else None)
    assert left.n == (None if publish == "labels" else 3)
    assert left.counts == ({"A": 1, "B": 2} if publish == "counts" else None)


def fitted(seed=0, **parameters):
    table, y = people(seed)
    features = encoded(table[["age", "income", "sex"]], ordinal=["sex"])
    return DecisionTreeClassifier(**{"random_state": 0, "max_depth": 8} | parameters).fit(features, y)


@pytest.mark.parametrize(
    ("parameters", "impurity", "min_samples_leaf"),
    [
        ({}, "gini", 1),
        ({"criterion": "entropy"}, "entropy", 1),
        ({"criterion": "log_loss", "min_samples_leaf": 7}, "entropy", 7),
        ({"min_samples_leaf": 0.021}, "gini", 5),
        ({"max_features": 3}, "gini", 1),
        ({"max_features": 2}, None, 1),
        ({"splitter": "random"}, None, 1),
        ({"min_weight_fraction_leaf": 0.1}, "gini", 20),
        ({"min_weight_fraction_leaf": 0.1, "min_samples_leaf": 30}, "gini", 30),
        ({"max_leaf_nodes": 5, "min_impurity_decrease": 0.01, "ccp_alpha": 0.001}, "gini", 1),
    ],
)
def test_what_is_known_of_the_induction(parameters, impurity, min_samples_leaf):
    induction = from_sklearn(fitted(**parameters), target="t", categories={"sex": SEX}).trees[0].induction
    assert (induction.algorithm, induction.impurity, induction.min_samples_leaf) == ("cart", impurity, min_samples_leaf)
    assert induction.candidates == ("thresholds" if impurity else "none")
    assert induction.encoding == "ordinal"


@pytest.mark.parametrize(
    ("ordinal", "dropped", "impurity", "encoding"),
    [
        ([], None, "gini", "onehot"),
        (["sex"], None, "gini", "onehot"),  # with two values both encodings are one
        (["size"], None, None, "ordinal"),
        ([], "colour_red", None, "ordinal"),  # red against the rest did not compete
    ],
)
def test_encodings(ordinal, dropped, impurity, encoding):
    table, y = people(1)
    features = encoded(table[["age", *ordinal, "colour"]], ordinal=ordinal, onehot=["colour"])
    indicators = {name: value for name, value in ONEHOT["colour"].items() if name != dropped}
    model = DecisionTreeClassifier(random_state=0, max_depth=5).fit(features.drop(columns=dropped or []), y)
    categories = {name: {"sex": SEX, "size": SIZES}[name] for name in ordinal} | {"colour": COLOURS}
    release = from_sklearn(model, target="t", categories=categories, onehot={"colour": indicators}, private=["colour"])
    induction = release.trees[0].induction
    assert (induction.impurity, induction.encoding) == (impurity, encoding)
    assert [a.name for a in release.private] == ["colour"]
    assert release.private[0].values == tuple(COLOURS)
    assert sum(mask.sum() for mask in members(release, table).values()) == len(table)


def test_whole_sample_weights_are_repeated_records():
    table, y = people(2, n=60)
    features, repeat = table[["age", "income"]], np.arange(60) % 3 + 1
    weighted = DecisionTreeClassifier(max_depth=3, random_state=0).fit(features, y, sample_weight=repeat)
    release = from_sklearn(weighted, target="t", sample_weight=repeat)
    for leaf_id, mask in members(release, features).items():
        leaf = next(leaf for leaf in release.trees[0].leaves if leaf.id == leaf_id)
        assert leaf.counts == {str(c): int(repeat[mask & (y == c)].sum()) for c in range(3)}
    assert release.trees[0].induction.impurity == "gini"
    small = DecisionTreeClassifier(min_samples_leaf=5, random_state=0).fit(features, y, sample_weight=repeat)
    induction = from_sklearn(small, target="t", sample_weight=repeat).trees[0].induction
    assert (induction.impurity, induction.min_samples_leaf) == ("gini", 4 * 3 + 1)  # four rows can weigh 12


def test_a_fraction_is_of_all_rows_that_fit_was_given():
    """Those of weight 0 too, which the tree does not show."""
    table, y = people(2, n=200)
    features, weight = table[["age", "income"]], np.arange(200) % 4 // 3
    model = DecisionTreeClassifier(min_samples_leaf=0.02, random_state=0).fit(features, y, sample_weight=weight)
    assert model.tree_.n_node_samples[0] == 50
    told = from_sklearn(model, target="t", sample_weight=weight).trees[0].induction
    assert told.min_samples_leaf == 4
    untold = from_sklearn(model, target="t").trees[0].induction
    assert untold.min_samples_leaf == min(model.tree_.n_node_samples) >= 4
    rows = DecisionTreeClassifier(min_samples_leaf=0.021, max_depth=1).fit(features, y)
    assert from_sklearn(rows, target="t", X=features).trees[0].induction.min_samples_leaf == 5


@pytest.mark.parametrize(("told", "message"), [
    ({"sample_weight": np.ones(60)}, "60 rows above 0 that weigh 120, found 60 rows above 0 that weigh 60"),
    ({"sample_weight": np.full(60, 0.5)}, "whole number, at least 0, for each row.*found 0.5 for row 0"),
    ({"sample_weight": [-1.0, *[1.0] * 59]}, "found -1 for row 0"),
    ({"sample_weight": [np.nan] * 60}, "found nan for row 0"),
    ({"sample_weight": 2}, r"found an array of shape \(\)"),
    ({"sample_weight": ["much"]}, r"found \['much'\]"),
    ({"sample_weight": "right", "X": "short"}, "X: expected as many rows as sample_weight, 60, found 50"),
    ({"sample_weight": "right", "X": "other"}, r"X: expected the rows that fit was given: (rows|weight) \d+ at node"),
    ({"sample_weight": "right", "X": "narrow"}, "X: expected the rows that fit was given, 2 features"),
    ({"sample_weight": "right", "X": "text"}, "X: expected the rows that fit was given, 2 features"),
])  # fmt: skip
def test_what_fit_was_given_has_to_be_that_of_the_tree(told, message):
    table, y = people(2, n=60)
    features, repeat = table[["age", "income"]], np.arange(60) % 3 + 1
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(features, y, sample_weight=repeat)
    given = {
        "right": repeat,
        "short": features[:50],
        "other": features[::-1],
        "narrow": features[["age"]],
        "text": [["a", "b"]],
    }
    told = {name: given[value] if isinstance(value, str) else value for name, value in told.items()}
    with pytest.raises(InvalidInput, match=message):
        from_sklearn(model, target="t", **told)


@pytest.mark.parametrize("as_given", [pd.DataFrame, np.asarray, csr_matrix], ids=["frame", "array", "sparse"])
def test_without_the_data_only_attributes_that_the_tree_tests_are_compared(as_given):
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"a": rng.random(80), "b": rng.random(80), "c": rng.random(80)})
    y = (x["b"] > 0.4).astype(int)
    model = DecisionTreeClassifier().fit(x, y)
    assert from_sklearn(model, target="t").trees[0].induction.compared == ("b",)
    induction = from_sklearn(model, target="t", X=as_given(x)).trees[0].induction
    assert (induction.impurity, induction.compared) == ("gini", None)


def test_attributes_with_missing_values_are_not_compared(tmp_path):
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"a": rng.random(80), "b": rng.random(80), "c": rng.random(80)})
    y = (x["b"] > 0.4).astype(int)
    x.loc[3, "a"] = np.nan
    model = DecisionTreeClassifier().fit(x, y)
    release = from_sklearn(model, target="t", X=x)
    assert release.trees[0].induction.compared == ("b", "c")
    release.save(tmp_path / "tree.json")
    assert load_release(tmp_path / "tree.json") == release
    alone = from_sklearn(DecisionTreeClassifier().fit(x[["a"]], y), target="t", X=x[["a"]])
    assert alone.trees[0].induction.impurity is None


def test_missing_values_in_training():
    rng = np.random.default_rng(0)
    x = rng.random(200)
    y = (x > 0.7).astype(int)
    x[(y == 1) & (rng.random(200) < 0.5)] = np.nan  # the missing follow the smaller side, which shows
    model = DecisionTreeClassifier(random_state=0, max_depth=1).fit(x[:, None], y)
    assert from_sklearn(model, target="t", features=["x"]).trees[0].induction.impurity is None

    x, y = np.r_[np.ones(10), np.full(5, np.nan)], np.repeat([0, 1], [10, 5])
    alone = DecisionTreeClassifier(random_state=0).fit(x[:, None], y)
    root = from_sklearn(alone, target="t", features=["x"]).trees[0].root
    assert [branch.missing for branch in root.branches] == [False, True]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (DecisionTreeClassifier(), "call fit first"),
        (DecisionTreeRegressor().fit([[0], [1]], [0, 1]), "bins: expected edges of bins"),
        (LogisticRegression(), "found LogisticRegression"),
        (DecisionTreeClassifier().fit([[0], [1]], [[0, 1], [1, 0]]), "2 outputs"),
        (None, "found NoneType"),
        ("model.joblib", "found str"),
    ],
)
def test_models_that_are_refused(model, message):
    with pytest.raises(InvalidInput, match=message):
        from_sklearn(model, target="t", features=["x"])


TWO = ([[0.0], [1.0]], [0, 1])
WAYS_OUT = {
    "class": (DecisionTreeClassifier, "an object, not its class; write DecisionTreeClassifier(...).fit(X, y)"),
    "unfitted forest": (RandomForestClassifier(), "or an ensemble of these: call fit first, found"),
    "bag of something else": (BaggingClassifier(LogisticRegression(), n_estimators=2,
        random_state=0).fit(*(20 * v for v in TWO)), "or an ensemble of these: one of trees; what it holds are others"),
    "boosting": (GradientBoostingClassifier(), "or an ensemble of these: call fit first"),
    "histogram boosting": (HistGradientBoostingClassifier(), "or an ensemble of these: call fit first"),
    "adaboost of something else": (AdaBoostClassifier(LogisticRegression(), n_estimators=1).fit(*TWO),
        "one of trees; what it holds are others"),
    "regression": (DecisionTreeRegressor().fit(*TWO), "edges of bins, or the values"),
    "forest of regressions": (RandomForestRegressor(2).fit(*TWO), "edges of bins, or the values"),
    "boosted regression": (GradientBoostingRegressor(n_estimators=2).fit(*TWO),
        "of regressions a tree, or a forest without bootstrap, with bins of the target"),
    "calibrated": (CalibratedClassifierCV(DecisionTreeClassifier(), cv=2).fit(*(2 * v for v in TWO)),
        "publish the model that it calibrates, fitted on all rows"),
    "search without refit": (GridSearchCV(DecisionTreeClassifier(), {"max_depth": [1]}, refit=False),
        "call fit with refit=True, then give its best_estimator_"),
    "pipeline": (make_pipeline(StandardScaler(), DecisionTreeClassifier()).fit(*TWO),
        "maxent.review takes the whole pipeline, and maxent.convert(model, train=X) makes a release of it"),
    "pipeline of a regression": (make_pipeline(StandardScaler(), DecisionTreeRegressor()).fit(*TWO),
        "maxent.review takes the whole pipeline, and maxent.convert(model, train=X) makes a release of it"),
    "one against the rest": (OneVsRestClassifier(DecisionTreeClassifier()).fit(*TWO),
        "give one of its estimators_ that is"),
    "linear": (LogisticRegression(),
        "--from glm of its file (reading=Reading(format='glm')), or maxent.convert(model), makes statements of it"),
}  # fmt: skip


@pytest.mark.parametrize("case", WAYS_OUT)
@pytest.mark.regression(number=17)
def test_the_way_out_is_named(case):
    model, message = WAYS_OUT[case]
    with pytest.raises(InvalidInput) as refusal:
        from_sklearn(model, target="t", features=["x"])
    assert message in str(refusal.value)


ENSEMBLES = {
    "forest": (RandomForestClassifier(4, max_depth=3, random_state=0), 200),
    "small draws": (RandomForestClassifier(3, max_samples=0.2, random_state=0), 40),
    "extra trees": (ExtraTreesClassifier(3, max_depth=3, bootstrap=True, random_state=0), 200),
    "bag": (BaggingClassifier(DecisionTreeClassifier(max_depth=2), 3, max_features=1, random_state=0), 200),
    "whole": (ExtraTreesClassifier(3, max_depth=3, random_state=0), None),
    "bag of all": (BaggingClassifier(DecisionTreeClassifier(max_depth=2), 3, bootstrap=False), None),
}


@pytest.mark.parametrize("kind", ENSEMBLES)
def test_an_ensemble_is_published_as_it_counts(kind, tmp_path):
    """Draws of each tree by class, and how many records are different among them."""
    table, y = people(3)
    names, (model, draws) = ["age", "income"], ENSEMBLES[kind]
    model.fit(table[names].to_numpy(), y)
    release = from_sklearn(model, features=names, target="t", inner_counts=True)
    assert release.resampled == draws
    assert len(release.trees) == len(model.estimators_)
    for tree, own, rows in zip(release.trees, model.estimators_, model.estimators_samples_, strict=True):
        counts = [int((y[rows] == c).sum()) for c in model.classes_]
        assert list(tree.root.counts.values()) == counts
        assert tree.root.distinct == (None if draws is None else len(np.unique(rows)))
        assert len(tree.nodes) == own.tree_.node_count
    release.save(tmp_path / "forest.json")
    assert load_release(tmp_path / "forest.json") == release


def test_ensembles_with_something_wrong_are_refused():
    table, y = people(3)
    X = table[["age", "income"]].to_numpy()
    weights = np.where(y == y[0], 1.0, 2.0)
    with pytest.raises(InvalidInput, match="2 outputs"):
        from_sklearn(RandomForestClassifier(2).fit(X, np.column_stack([y, y])), features=["age", "income"], target="t")
    with pytest.raises(InvalidInput, match="X: expected the rows that fit was given, 2 features"):
        from_sklearn(RandomForestClassifier(2).fit(X, y), features=["age", "income"], target="t", X=X[:, :1])
    with pytest.raises(InvalidInput, match="sample_weight: expected nothing, for several trees"):
        from_sklearn(RandomForestClassifier(2).fit(X, y), features=["age", "income"], target="t", sample_weight=weights)


def test_the_way_out_of_a_pipeline_works():
    table, y = people(3)
    encoder = make_column_transformer((OrdinalEncoder(categories=[SIZES]), ["size"]), remainder="passthrough")
    model = make_pipeline(encoder, DecisionTreeClassifier(random_state=0)).fit(table[["size", "age"]], y)
    names = list(model[:-1].get_feature_names_out())
    release = from_sklearn(model[-1], features=names, target="t", categories={"ordinalencoder__size": SIZES})
    assert [a.values for a in release.attributes] == [tuple(SIZES), None]


def test_a_criterion_that_is_no_name_says_nothing_of_what_competed():
    model = DecisionTreeClassifier(criterion=Gini(1, np.array([2], dtype=np.intp))).fit(
        [[0.0], [1.0], [2.0]], [0, 1, 1]
    )
    assert from_sklearn(model, target="t", features=["x"]).trees[0].induction.impurity is None


@pytest.mark.parametrize(
    ("call", "messages"),
    [
        ({"publish": "all", "private": "age"}, ["one of labels, rates, counts", "a list of attributes"]),
        ({"target": ""}, ["target"]),
        ({"features": ["x"]}, ["3 names"]),
        ({"features": ["x", "x", "y"]}, ["each name once"]),
        ({"features": ["sex", "income", "age"]}, ["the order of model.feature_names_in_"]),
        ({"classes": ["2", "1", "0"]}, ["the order of model.classes_"]),
        ({"classes": "abc"}, ["3 names"]),
        ({"target": "age", "private": ["nope"]}, ["a name that no attribute has", "'nope'"]),
        ({"categories": {"nope": ["x"], "sex": "ab"}}, ["none of that name", "a list of values"]),
        ({"categories": {"sex": ["female", "female"]}}, ["each once"]),
        ({"categories": {"sex": ["female"]}}, ["codes 0 to 0", "leaves a side without values"]),
        ({"onehot": {"who": {"nope": "x", "sex": "male"}}}, ["'nope'"]),
        ({"onehot": {"age": {"sex": "male"}}}, ["a name that no feature has"]),
        ({"onehot": {"who": {}}}, ["at least one value"]),
        ({"onehot": {"who": {"sex": "male"}}, "categories": {"sex": SEX}}, ["described once"]),
        ({"onehot": {"who": {"sex": "male"}}, "categories": {"who": ["a", "b"]}}, ["at most one more"]),
        ({"onehot": {"old": {"age": "yes"}}}, ["0 or 1, with exactly one 1"]),
    ],
)
def test_descriptions_that_do_not_fit_are_refused(call, messages):
    with pytest.raises(InvalidInput) as refusal:
        from_sklearn(fitted(), **{"target": "t"} | call)
    for message in messages:
        assert message in str(refusal.value)


def test_indicators_that_have_one_name_are_told_apart():
    coding = [Feature("c", "c", ("p", "q", "r"), value) for value in "pq"]
    left, right = np.array([2, -1, 3, -1, -1]), np.array([1, -1, 4, -1, -1])
    splits = Splits(left, right, np.array([0, 0, 1, 0, 0]), np.full(5, 0.5), np.zeros(5, bool))
    nodes, _ = bare("model", splits, coding, [Attribute("c", "categorical", ("p", "q", "r"))], ["a"])
    taken = [branch.values for node in Nodes(nodes) for branch in node.branches]
    assert taken == [("q", "r"), ("p",), ("r",), ("q",)]


def test_the_best_model_of_a_search_is_published():
    table, y = people(5)
    X = table[["age", "income"]]
    search = GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [2, 3]}, cv=2).fit(X, y)
    best = from_sklearn(search.best_estimator_, target="y", X=X)
    assert from_sklearn(search, target="y", X=X) == best
    steps = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2, random_state=0))
    pipeline = GridSearchCV(steps, {"decisiontreeclassifier__max_depth": [2]}, cv=2).fit(X, y)
    assert maxent.convert(pipeline, train=X) == maxent.convert(steps.fit(X, y), train=X)
    with pytest.raises(InvalidInput, match="the DataFrame that fit was given"):
        maxent.convert(pipeline)
    assert maxent.review(pipeline, X, y, qi=["age"]).name == "DecisionTreeClassifier"


@pytest.mark.parametrize("publish", ["labels", "rates", "counts"])
def test_a_model_becomes_arrays_of_nodes_with_the_statements_of_the_model(publish):
    table, y = people(8)
    X = encoded(table, onehot=["colour"], ordinal=["sex", "size"])
    forest = RandomForestClassifier(2, max_depth=4, random_state=0).fit(X, y)
    described = {"categories": {"sex": SEX, "size": SIZES}, "onehot": ONEHOT}
    release = from_sklearn(forest, target="y", publish=publish, inner_counts=publish == "rates", **described)
    for tree, fitted in zip(release.trees, forest.estimators_, strict=True):
        assert isinstance(tree.nodes, Nodes)
        assert len(tree.nodes) == fitted.tree_.node_count
        drawn = fitted.tree_.value[0, 0] * fitted.tree_.weighted_n_node_samples[0]
        root, leaves = tree.nodes[0], tree.leaves
        assert [root.id, leaves[0].id, leaves[-1].id] == ["N1", "L1", f"L{len(leaves)}"]
        if publish == "counts":
            total = np.sum([list(leaf.counts.values()) for leaf in leaves], axis=0)
            assert total.tolist() == np.rint(drawn).tolist()
            assert sum(leaf.distinct for leaf in leaves) == fitted.tree_.n_node_samples[0]
            assert (root.n, root.counts, root.distinct) == (None, None, None)
        elif publish == "rates":
            wrong = sum(leaf.error_rate * leaf.n for leaf in leaves)
            assert root.counts["0"] == np.rint(drawn[0])
            assert 0 < wrong < root.n == forest._n_samples
        else:
            assert {(leaf.n, leaf.counts, leaf.error_rate) for leaf in leaves} == {(None, None, None)}
        assert {leaf.label for leaf in leaves} <= {"0", "1", "2"}


def test_names_are_asked_for_when_the_model_has_none():
    model = DecisionTreeClassifier().fit([[0], [1]], [0, 1])
    with pytest.raises(InvalidInput, match="the 1 column names"):
        from_sklearn(model, target="t")


@pytest.mark.slow
def test_diabetes_example_publishes_what_it_says(tmp_path):
    out = tmp_path / "new" / "diabetes"
    run = subprocess.run([sys.executable, str(EXAMPLES / "diabetes.py"), str(out)], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    assert f"maxent estimate {out / 'tree.json'} {out / 'qi.csv'} --truth {out / 'truth.csv'}" in run.stdout
    assert run.stdout.count("\n") == 1
    release = load_release(out / "tree.json")
    truth = pd.read_csv(out / "truth.csv", dtype={"sex": str})
    qi = pd.read_csv(out / "qi.csv", dtype={"sex": str})
    assert truth[qi.columns].equals(qi)
    assert list(qi.columns) == [a.name for a in release.public]
    assert release.target.classes == ("low", "medium", "high")
    masks = members(release, truth)
    for leaf in release.trees[0].leaves:
        assert (
            leaf.counts == truth["progression"][masks[leaf.id]].value_counts().reindex(leaf.counts).fillna(0).to_dict()
        )


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (RandomForestRegressor, {"bins": [0.0, 1.0, 2.0, 3.0]}),
        (RandomForestClassifier, {}),
        (GradientBoostingClassifier, {}),
    ],
)
def test_what_leaves_state_is_told_without_making_them_objects(kind, options, monkeypatch):
    X, y = people(3)
    X = X[["age", "income"]].to_numpy()
    model = kind(n_estimators=3, random_state=0).fit(X, y)
    release = from_sklearn(model, target="Y", features=["age", "income"], **options)
    leaves = [node for tree in release.trees for node in tree.nodes if node.is_leaf]
    expected = {
        "counts": any(leaf.counts is not None for leaf in leaves),
        "n": any(leaf.n is not None for leaf in leaves),
        "rates": any(leaf.rates is not None or leaf.error_rate is not None for leaf in leaves),
        "labels": any(leaf.label is not None for leaf in leaves),
        "linear": any(leaf.value is not None for leaf in leaves),
    }
    if release.target.numbers is not None:
        expected["means"] = any(node.mean is not None for tree in release.trees for node in tree.nodes)
    assert any(expected.values())
    by_object = Converted(
        replace(release, trees=tuple(replace(t, nodes=tuple(t.nodes)) for t in release.trees)), "tool"
    )
    assert by_object.states == expected
    fresh = from_sklearn(model, target="Y", features=["age", "income"], **options)
    assert all(isinstance(tree.nodes, Nodes) and not tree.nodes.made for tree in fresh.trees)

    def refuse(self, rows):
        raise AssertionError("nodes are made objects")

    monkeypatch.setattr(Columns, "nodes", refuse)
    assert Converted(fresh, "tool").states == expected
