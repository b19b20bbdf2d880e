"""Means and variances of a numeric target: what they state is true of the people, whatever the tree and the bins."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_diabetes
from sklearn.ensemble import BaggingRegressor, ExtraTreesRegressor, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor
from support.calls import refused
from support.strategies import thorough

import maxent
from maxent.__main__ import main
from maxent.api.estimate import compile_release
from maxent.api.predict import predict
from maxent.constraints.program.residuals import Evaluator
from maxent.models.errors import InvalidInput
from maxent.models.formats.maxent_json.read import parse_release
from maxent.models.formats.maxent_json.write import release_to_document
from maxent.models.release import Release
from maxent.models.tables.classes import class_of_numbers
from maxent.models.tables.qi_table import read_qi
from maxent.models.tables.truth_and_facts import read_truth
from maxent.models.trees.places import assign


def violation(release: Release, X: pd.DataFrame, y: pd.Series) -> float:
    """By how much the truth misses what is compiled of a release, individuals; it has to state something."""
    program = compile_release(release, X)
    assert any(constraint.kind == "moments" for constraint in program.linear)
    truth = read_truth(X.assign(**{release.target.name: y}), release, program.table)
    return Evaluator(program).max_violation(truth[program.cells.owner].astype(float))  # all are public: a cell each


@st.composite
def regressions(draw, finite=False):
    """People, a fitted regression of one of three kinds, and how its target is read: by ``finite`` bins, perhaps."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(6, 60))
    X = pd.DataFrame({"a": rng.integers(0, 9, n), "b": rng.integers(0, 3, n) / 4, "c": rng.normal(size=n).round(1)})
    scale = draw(st.sampled_from([1e-3, 1.0, 1e4]))
    y = pd.Series(scale * (X["a"] + rng.integers(0, 5, n)), name="y")
    depth, seed = draw(st.integers(1, 5)), draw(st.integers(0, 9))
    kind = draw(st.sampled_from(["tree", "forest", "extra"]))
    if kind == "tree":
        criterion = draw(st.sampled_from(["squared_error", "poisson"]))
        model = DecisionTreeRegressor(max_depth=depth, criterion=criterion, random_state=seed)
    else:
        make = RandomForestRegressor if kind == "forest" else ExtraTreesRegressor
        model = make(3, max_depth=depth, bootstrap=False, max_features=2, random_state=seed)
    if draw(st.booleans()):
        how = {"values": np.unique(y)}
    else:
        inner = sorted({*rng.choice(y, draw(st.integers(1, 3)))} - {y.min()})
        ends = (-np.inf, np.inf) if not finite and draw(st.booleans()) else (y.min(), y.max() + scale)
        how = {"bins": [ends[0], *inner, ends[1]] if inner else [ends[0], y.mean() + scale / 7, ends[1] + scale]}
    return X, y, model.fit(X, y), how


@given(regressions(), st.sampled_from(["counts", "labels"]), st.booleans())
@thorough(30)
def test_the_truth_satisfies_them(case, publish, inner):
    X, y, model, how = case
    release = maxent.from_sklearn(model, target="y", X=X, publish=publish, inner_counts=inner, **how)
    again = parse_release(json.loads(json.dumps(release_to_document(release))), "r")
    assert again == release
    if np.isfinite(release.target.numbers).all():
        assert violation(release, X, y) < 1e-6
    found = predict(release, X).frame
    np.testing.assert_allclose(found["predicted"].astype(float), model.predict(X), rtol=1e-12, atol=1e-12)


@given(regressions(finite=True), st.integers(1, 4))
@thorough(15)
def test_and_so_where_numbers_were_rounded_for_print(case, digits):
    X, y, model, how = case
    release = maxent.from_sklearn(model, target="y", X=X, **how)

    def printed(number):
        return None if number is None else float(f"{number:.{digits}g}")

    trees = tuple(
        replace(tree, nodes=tuple(replace(n, mean=printed(n.mean), variance=printed(n.variance)) for n in tree.nodes))
        for tree in release.trees
    )
    assert violation(replace(release, trees=trees), X, y) < 1e-6


@given(regressions())
@thorough(20)
def test_what_the_moments_of_a_leaf_show_is_true(case):
    X, y, model, how = case
    release = maxent.from_sklearn(model, target="y", X=X, **how)
    found = maxent.audit_release(release, X).leaves
    classes = np.array(release.target.classes)[class_of_numbers(y.to_numpy(), release.target.numbers)]
    columns = [X[attribute.name].to_numpy() for attribute in release.attributes]
    number = found["tree"] if "tree" in found else pd.Series(1, found.index)
    leaves = [each for each in zip(number, found["leaf"], found["disclosed"], strict=True) if isinstance(each[2], str)]
    assume(leaves)
    for tree, leaf, disclosed in leaves:
        (place,) = (i for i, node in enumerate(release.trees[tree - 1].nodes) if node.id == leaf)
        here = assign(release.trees[tree - 1], release.attributes, columns)
        assert set(classes[here == place]) == {disclosed}


def test_moments_of_a_leaf_show_who_is_alike():
    X = pd.DataFrame({"a": [0, 1, 1, 2, 2, 2, 3, 3, 3, 3]})
    y = [0, 1, 1, 2, 2, 4, 2, 2, 2, 2]
    asked = {"target": "y", "X": X, "values": [0, 1, 2, 4]}
    model = DecisionTreeRegressor().fit(X, y)
    found = maxent.audit_release(maxent.from_sklearn(model, **asked), X)
    assert found.leaves["disclosed"].fillna("").tolist() == ["0", "1", "", "2"]
    assert found.leaves["attack"].fillna("").tolist() == ["unique", "homogeneity", "", "homogeneity"]
    means = maxent.from_sklearn(model, **asked, publish="labels")
    assert maxent.audit_release(means, X).leaves["disclosed"].fillna("").tolist() == ["0", "", "", ""]


def test_two_moments_of_three_values_settle_everybody():
    X = pd.DataFrame({"a": [0] * 6 + [1] * 4})
    y = pd.Series([1, 1, 1, 2, 2, 4, 2, 2, 2, 2])
    model = DecisionTreeRegressor(max_depth=1).fit(X, y)
    found = maxent.estimate(maxent.from_sklearn(model, target="y", X=X, values=[1, 2, 4]), X, truth=X.assign(y=y))
    shares = found.posterior.set_index("a")[["P(1)", "P(2)", "P(4)"]]
    np.testing.assert_allclose(shares.loc[0.0], [1 / 2, 1 / 3, 1 / 6], atol=1e-7)
    np.testing.assert_allclose(shares.loc[1.0], [0, 1, 0], atol=1e-7)
    assert found.summary["constraints"]["moments"] == 4
    labels = maxent.from_sklearn(model, target="y", X=X, values=[1, 2, 4], publish="labels")
    assert maxent.estimate(labels, X).summary["constraints"]["moments"] == 2


def test_bins_bound_shares():
    X = pd.DataFrame({"a": [0] * 10})
    y = pd.Series([0.0] * 9 + [100.0])
    release = maxent.from_sklearn(DecisionTreeRegressor(max_depth=1).fit(X, y), target="y", X=X, bins=[0, 20, 100])
    assert release.target.classes == ("0 to 20", "20 to 100")
    high = maxent.estimate(release, X).posterior["P(20 to 100)"].iloc[0]
    # A mean of 10 and a variance of 900 (squares about 10: at most 100 in the lower bin, 8,100 in the upper).
    assert high >= 0.1 - 1e-7


def test_numbers_of_a_table_are_classes_and_others_are_refused(tmp_path):
    X = pd.DataFrame({"a": [0, 1, 2, 3]})
    model = DecisionTreeRegressor(max_depth=1).fit(X, [1.0, 2.0, 30.0, 50.0])
    release = maxent.from_sklearn(model, target="y", X=X, bins=[0, 20, 50])
    table = read_qi(X, release)
    read = read_truth(X.assign(y=["1.0", "20", "0 to 20", "50"]), release, table)
    assert read.tolist() == [[1, 0], [1, 0], [1, 0], [0, 1]]
    refused("one of '0 to 20', '20 to 50', found '51'", read_truth, X.assign(y=[1, 2, 3, 51]), release, table)
    assert class_of_numbers(np.array([0, 20, 20.5, 50, -1, np.nan]), release.target.numbers).tolist() == [
        0,
        0,
        1,
        1,
        -1,
        -1,
    ]
    release.save(tmp_path / "tree.json")
    X.to_csv(tmp_path / "qi.csv", index=False)
    assert main(["estimate", str(tmp_path / "tree.json"), str(tmp_path / "qi.csv")]) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["target"].pop("numbers"), "node L1: mean: expected none, since the target has no numbers"),
        (lambda d: d["target"].update(numbers=[[0, 20]]), "target: numbers: expected a number, or"),
        (lambda d: d["target"].update(numbers=[[20, 0], [20, 50]]), "target: numbers: expected a number, or"),
        (lambda d: d["target"].update(numbers=[None, [20, 50]]), "target: numbers: expected a number, or"),
        (lambda d: d["trees"][0]["nodes"][1].update(mean="3"), "node L1: mean: expected a finite number"),
        (lambda d: d["trees"][0]["nodes"][1].update(mean=51), "node L1: mean: expected a number from 0 to 50"),
        (lambda d: d["trees"][0]["nodes"][1].pop("mean"), "node L1: mean: expected a mean beside the variance"),
        (lambda d: d["trees"][0]["nodes"][1].update(variance=-1), "node L1: variance: expected a number, at least 0"),
    ],
)
def test_a_document_says_what_is_wrong(change, message):
    X = pd.DataFrame({"a": [0, 1, 2, 3]})
    model = DecisionTreeRegressor(max_depth=1).fit(X, [1.0, 2.0, 30.0, 50.0])
    document = release_to_document(maxent.from_sklearn(model, target="y", X=X, bins=[0, 20, 50]))
    parse_release(document, "r")
    change(document)
    with pytest.raises(InvalidInput) as refused:
        parse_release(document, "r")
    assert message in str(refused.value)


@pytest.mark.filterwarnings("ignore:When fitting BaggingRegressor")
def test_what_states_no_means_of_all_records_is_refused():
    X = pd.DataFrame({"a": [0, 1, 2, 3]})
    y = [1.0, 2.0, 30.0, 50.0]

    def refusal(model, **options):
        with pytest.raises(InvalidInput) as refused:
            maxent.from_sklearn(model.fit(X, y), target="y", **{"bins": [0, 20, 50], **options})
        return str(refused.value)

    assert "criterion: expected one of squared_error" in refusal(DecisionTreeRegressor(criterion="absolute_error"))
    assert "bins: expected edges of bins, or the values" in refusal(DecisionTreeRegressor(), bins=None)
    assert "bins: expected increasing edges" in refusal(DecisionTreeRegressor(), bins=[0, 1])
    assert "values: expected 2 to 1000 finite numbers" in refusal(DecisionTreeRegressor(), bins=None, values=[1, 1])
    weighted = DecisionTreeRegressor().fit(X, y, sample_weight=[1, 2, 1, 1])
    with pytest.raises(InvalidInput, match="sample_weight: expected every record once"):
        maxent.from_sklearn(weighted, target="y", bins=[0, 20, 50])
    # A constraint clips means; trees of records with weights of 0 have other means and sizes.
    assert "monotonic_cst: expected no constraints" in refusal(DecisionTreeRegressor(monotonic_cst=[-1]))
    part = BaggingRegressor(DecisionTreeRegressor(), 2, max_samples=2, bootstrap=False)
    for several in (ExtraTreesRegressor(2), part.set_params(max_samples=3)):
        with pytest.raises(InvalidInput, match="sample_weight: expected every record once"):
            maxent.from_sklearn(several.fit(X, y, sample_weight=[0, 1, 1, 1]), target="y", bins=[0, 20, 50])


def test_the_diabetes_of_scikit_learn():
    data = load_diabetes(as_frame=True, scaled=False)
    X, y = data.data.round(0), data.target
    model = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, y)
    release = maxent.from_sklearn(model, target="progression", X=X, bins=[0, 100, 200, 400])
    assert violation(release, X, y) < 1e-6
    found = maxent.estimate(release, X, truth=X.assign(progression=y)).summary
    assert (found["status"], found["certificate"], found["constraints"]["moments"]) == ("optimal", "global", 64)


def test_hours_per_week_of_adult():
    folder = os.environ.get("MAXENT_DATA")
    if not folder:
        pytest.skip("needs real data: set MAXENT_DATA to the folder with adult.csv")
    adult = pd.read_csv(f"{folder}/adult.csv")
    X = adult[["age", "education-num"]].assign(male=(adult["sex"] == "Male").astype(int))
    hours = adult["hours-per-week"]
    model = DecisionTreeRegressor(max_depth=6, random_state=0).fit(X, hours)
    release = maxent.from_sklearn(model, target="hours-per-week", X=X, bins=[1, 20, 34, 40, 60, 99])
    assert violation(release, X, hours) < 1e-5
    found = maxent.estimate(release, X).summary
    assert (found["status"], found["certificate"]) == ("optimal", "global")


def test_a_pipeline_of_a_regression_is_undone():
    X = pd.DataFrame({"job": list("abcabcabca"), "age": range(10)})
    y = pd.Series(range(10)) + 3.0 * (X["job"] == "b")
    encode = ColumnTransformer([("job", OneHotEncoder(), ["job"])], remainder="passthrough")
    model = make_pipeline(encode, DecisionTreeRegressor(max_depth=3)).fit(X, y)
    release = maxent.convert(model, train=X, target="y", bins=[0, 4, 8, 12])
    assert violation(release, X, y) < 1e-6
    np.testing.assert_allclose(predict(release, X).frame["predicted"].astype(float), model.predict(X))


R, PYTHON = "rpart_anova_diabetes", "sk_dtreg_diabetes"


@pytest.mark.parametrize(("item", "file"), [(R, "frame.csv"), (R, ""), (PYTHON, "model.skops")])
def test_regressions_in_files_of_other_tools(tmp_path, capsys, item, file):
    folder = os.environ.get("MAXENT_DATA")
    if not folder:
        pytest.skip("needs real models: set MAXENT_DATA to the folder with models/")
    place = Path(folder) / "models" / item
    target = json.loads((place / "meta.json").read_text())["target"]
    train, said = pd.read_csv(place / "train.csv"), pd.read_csv(place / "predictions.csv")
    bins = [train[target].min(), 100, 200, train[target].max()]
    release = maxent.convert(place / file, target=target, train=place / "train.csv", bins=bins)
    assert violation(release, train.drop(columns=target), train[target]) < 1e-5
    found = predict(release, said).frame["predicted"].astype(float)
    np.testing.assert_allclose(found, said["_predicted"].astype(float), rtol=1e-12)
    refused("bins", maxent.convert, place / file, target=target, train=place / "train.csv")
    call = [
        "convert",
        str(place / file),
        "--target",
        target,
        "--train",
        str(place / "train.csv"),
        "-o",
        str(tmp_path / "t.json"),
    ]
    assert main([*call, "--bins", ",".join(map(str, bins))]) == 0
    assert "counts and labels" not in "".join(capsys.readouterr())  # a regression has none to lose
    assert maxent.load_release(tmp_path / "t.json") == release
    assert main([*call, "--bins", "0,much"]) == 2


def test_means_that_were_rounded_beside_whole_variances_are_read_as_rounded():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": rng.integers(0, 9, 60)})
    y = pd.Series(X["a"] + rng.integers(0, 5, 60), name="y").astype(float)
    model = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y)
    release = maxent.from_sklearn(model, target="y", X=X, values=np.unique(y), publish="counts")
    nodes = [n if n.mean is None else replace(n, mean=float(round(n.mean))) for n in release.trees[0].nodes]
    assert any(n.variance is not None and len(repr(n.variance)) > 15 for n in nodes)
    rounded = replace(release, trees=(replace(release.trees[0], nodes=tuple(nodes)),))
    assert violation(rounded, X, y) < 1e-6
