import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from maxent.models.errors import InvalidInput
from maxent.models.from_sklearn import from_sklearn
from maxent.models.reader import load_release

EXAMPLES = Path(__file__).parents[2] / "examples"
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
        ({"min_weight_fraction_leaf": 0.1}, None, 1),
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
    release = from_sklearn(weighted, target="t")
    for leaf_id, mask in members(release, features).items():
        leaf = next(leaf for leaf in release.trees[0].leaves if leaf.id == leaf_id)
        assert leaf.counts == {str(c): int(repeat[mask & (y == c)].sum()) for c in range(3)}
    assert release.trees[0].induction.impurity == "gini"
    small = DecisionTreeClassifier(min_samples_leaf=5, random_state=0).fit(features, y, sample_weight=repeat)
    assert from_sklearn(small, target="t").trees[0].induction.impurity is None


def test_missing_values_in_training():
    rng = np.random.default_rng(0)
    x = rng.random(200)
    y = (x > 0.7).astype(int)
    x[(y == 1) & (rng.random(200) < 0.5)] = np.nan  # the missing follow the smaller side, which shows
    model = DecisionTreeClassifier(random_state=0, max_depth=1).fit(x[:, None], y)
    assert from_sklearn(model, target="t", features=["x"]).trees[0].induction.impurity is None

    x, y = np.r_[np.ones(10), np.full(5, np.nan)], np.repeat([0, 1], [10, 5])
    alone = DecisionTreeClassifier(random_state=0).fit(x[:, None], y)
    with pytest.raises(InvalidInput, match="finite threshold"):
        from_sklearn(alone, target="t", features=["x"])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (DecisionTreeClassifier(), "call fit first"),
        (DecisionTreeRegressor().fit([[0], [1]], [0, 1]), "found DecisionTreeRegressor"),
        (LogisticRegression(), "found LogisticRegression"),
        (RandomForestClassifier(2).fit([[0], [1]], [0, 1]), "one of its estimators_"),
        (DecisionTreeClassifier().fit([[0], [1]], [[0, 1], [1, 0]]), "2 outputs"),
        (DecisionTreeClassifier(class_weight="balanced").fit([[0], [1]], [0, 1]), "with class weights"),
        (DecisionTreeClassifier(monotonic_cst=[1]).fit([[0], [1]], [0, 1]), "with monotonic constraints"),
        (DecisionTreeClassifier().fit([[0], [1]], [0, 1], sample_weight=[0.3, 1]), "without sample weights"),
        (ExtraTreeClassifier().fit([[0], [1]], [0, 1], sample_weight=[0.3, 1]), "without sample weights"),
        (None, "found NoneType"),
    ],
)
def test_models_that_are_refused(model, message):
    with pytest.raises(InvalidInput, match=message):
        from_sklearn(model, target="t", features=["x"])


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


def test_names_are_asked_for_when_the_model_has_none():
    model = DecisionTreeClassifier().fit([[0], [1]], [0, 1])
    with pytest.raises(InvalidInput, match="the 1 column names"):
        from_sklearn(model, target="t")


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
