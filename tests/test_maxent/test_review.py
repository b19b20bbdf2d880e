"""Reviews: a model, its table and quasi-identifiers -> attacks, estimate, verdict and report in one call."""

import json
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_text

import maxent
from maxent.__main__ import main
from maxent.api.estimate import estimate_case
from maxent.api.review import without_private_splits
from maxent.api.review_input import subject_of
from maxent.disclosure.limits import STATUS_WORDS
from maxent.models.errors import InvalidInput, NoAnswerInTime, UnreliableResult
from maxent.models.formats.scikit_learn.ensemble import weighed_alike

QI = ["age", "job"]


def people() -> tuple[pd.DataFrame, pd.Series]:
    dice = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "age": dice.integers(20, 30, 80),
            "job": dice.choice(["baker", "clerk", None], 80, p=[0.5, 0.4, 0.1]),
            "pay": dice.normal(30, 5, 80).round(1),
        }
    )
    y = pd.Series(np.where((frame["pay"] > 31) ^ (frame["age"] > 26), "ill", "well"), name="state")
    return frame, y


@pytest.fixture(scope="module")
def pipeline() -> Any:
    frame, y = people()
    encoder = make_pipeline(SimpleImputer(strategy="constant", fill_value="?"), OneHotEncoder())
    before = ColumnTransformer([("job", encoder, ["job"])], remainder="passthrough")
    return make_pipeline(before, DecisionTreeClassifier(max_depth=3, random_state=0)).fit(frame, y)


@pytest.fixture(scope="module")
def reviewed(pipeline: Any) -> Any:
    return maxent.review(pipeline, *people(), qi=QI, max_certain=0, min_k=500)


def test_a_review_is_what_its_parts_are_by_themselves(reviewed: Any) -> None:
    frame, y = people()
    truth = frame.assign(state=y)
    alone = maxent.estimate(reviewed.release, frame[QI], truth)
    pd.testing.assert_frame_equal(reviewed.estimate.posterior, alone.posterior)
    attacks = maxent.audit(reviewed.release, frame[QI])
    assert {**reviewed.audit.summary, "notes": 0, "missing": 0} == {**attacks, "notes": 0, "missing": 0}
    assert [a.name for a in reviewed.release.public] == QI
    assert reviewed.release.target.classes == ("ill", "well")
    assert reviewed.reliable


@pytest.mark.slow
def test_the_verdict_is_about_the_limits_of_the_call_or_others(reviewed: Any) -> None:
    assert reviewed.verdict().status == "fail"
    assert reviewed.verdict(min_k=1, max_certain=80, max_posterior=1).status == "pass"
    with pytest.raises(InvalidInput, match=r"min_kk: expected a limit .max_posterior, min_k, max_certain.*min_k"):
        reviewed.verdict(min_kk=3)
    with pytest.raises(InvalidInput, match="max_k: expected a limit"):
        maxent.review(DecisionTreeClassifier().fit([[0], [1]], [0, 1]), [[0], [1]], [0, 1], qi=["x0"], max_k=1)


def test_a_review_shows_itself_in_ten_lines_and_as_a_table_without_script(reviewed: Any) -> None:
    text, html = repr(reviewed), reviewed._repr_html_()
    assert text.startswith("Review of DecisionTreeClassifier about state: 1 tree, 80 people\n  verdict: FAIL")
    assert len(text.splitlines()) <= 10
    assert "<table>" in html
    assert "FAIL" in html
    assert "<script" not in html


def test_a_review_as_a_dictionary_is_json(reviewed: Any, tmp_path: Path) -> None:
    found = reviewed.to_dict()
    assert json.loads(json.dumps(found)) == found == reviewed.summary
    assert set(found) == {"model", "reliable", "audit", "estimate", "verdict", "ladder", "unread"}
    assert found["model"]["states"]["counts"]
    reviewed.save(tmp_path / "review.json")
    assert len(json.loads((tmp_path / "review.json").read_text())["posterior"]) == found["estimate"]["distinct_qi"]
    reviewed.save(tmp_path / "review.csv")
    assert list(pd.read_csv(tmp_path / "review.csv").columns) == [*QI, "count", "P(ill)", "P(well)", "divergence"]
    reviewed.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "maxent.review(DecisionTreeClassifier, X, y" in page
    assert "beyond the limit" in page


def test_classes_may_be_a_column_of_the_table_or_numbers_or_have_names() -> None:
    frame, y = people()
    table = frame[["age", "pay"]].assign(state=y == "ill")
    model = DecisionTreeClassifier(max_depth=2).fit(table[["age", "pay"]].to_numpy(), table["state"])
    by_column = maxent.review(model, table, qi=["age"], target="state")
    assert by_column.release.target.classes == ("False", "True")
    named = maxent.review(model, table[["age", "pay"]].to_numpy(), table["state"], qi=["x0"], classes=["well", "ill"])
    assert [a.name for a in named.release.attributes] == ["x0", "x1"]
    assert named.estimate.disclosure.measures["divergence"] == by_column.estimate.disclosure.measures["divergence"]


def test_a_forest_with_draws_is_reviewed() -> None:
    frame, y = people()
    model = RandomForestClassifier(2, max_depth=2, random_state=0).fit(frame[["age", "pay"]], y)
    found = maxent.review(model, frame, y, qi=["age", "pay"])
    assert found.release.resampled == 80
    assert found.verdict().status == "not stated"
    assert "no limits were stated" in repr(found)


def test_draws_of_a_bootstrap_are_read_by_their_likelihood_unless_the_call_says_otherwise() -> None:
    X, y = people()
    model = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X[["age"]].fillna(0), y)
    given = (X[["age"]].fillna(0), y)
    found = maxent.review(model, *given, qi=["age"]).estimate
    said = maxent.review(model, *given, qi=["age"], noise="intervals").estimate
    assert found is not None
    assert said is not None
    assert found.program.likelihood is not None
    assert said.program.likelihood is None


def test_draws_have_one_default_in_all_functions_that_estimate(tmp_path: Path) -> None:
    X, y = people()
    X = X[["age"]].fillna(0)
    release = maxent.from_sklearn(RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, y), target="ill")
    release.save(tmp_path / "model.json")
    X.to_csv(tmp_path / "qi.csv", index=False)
    X.assign(ill=y).to_csv(tmp_path / "truth.csv", index=False)
    compared: list[Any] = []
    maxent.compare([release, release], X, each=lambda result, row: compared.append(result))
    asked = {"policy": {"limits": {"max_certain": 0}}, "truth": tmp_path / "truth.csv"}
    checked = maxent.check(tmp_path / "model.json", tmp_path / "qi.csv", **asked)
    assert checked.review.estimate is not None
    for found in (maxent.estimate(release, X), *compared, checked.review.estimate):
        assert found.program.likelihood is not None
    assert maxent.bounds(release, X, level="closed").program.likelihood is None
    parted = maxent.estimate(tmp_path / "model.json", tmp_path / "qi.csv", memory="1GB")
    together = maxent.estimate(release, X)
    assert parted.program.likelihood is not None
    for key in ("entropy", "min_capacity"):
        assert parted.summary[key] == pytest.approx(together.summary[key], abs=1e-6)


@pytest.mark.parametrize("weight", [1.0, 3.0, True])
def test_rows_that_weigh_nothing_are_left_out(weight):
    x, y = people()
    x = x[["age"]]
    weights = np.where(np.arange(len(y)) % 3 > 0, weight, 0)
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(x, y, sample_weight=weights)
    found = maxent.review(model, x, y, qi=list(x.columns), sample_weight=weights)
    kept = weights > 0
    assert found.individuals == kept.sum()
    assert found.converted.lost[-1].startswith(f"{(~kept).sum()} rows of the table that weigh 0")
    plain = maxent.review(model, x[kept], np.asarray(y)[kept], qi=list(x.columns), sample_weight=weights[kept])
    assert found.estimate.disclosure == plain.estimate.disclosure


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(3, bootstrap=False, max_depth=4, random_state=0),
        DecisionTreeClassifier(max_depth=3, class_weight="balanced"),
        GradientBoostingClassifier(n_estimators=2),
        HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=5),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("several", [False, True])
def test_classes_in_another_order_than_that_of_the_rows_are_refused(model: Any, several: bool) -> None:
    frame, y = people()
    X = frame[["age", "pay"]]
    y = y.where(~(several & (frame["age"] == 21)), "other")
    fitted = clone(model).fit(X, y)
    found = subject_of(fitted, X, y, WANTED, None)
    states = found.converted.release.boosting is None or found.converted.release.boosting.rate is not None
    assert states or any(node.counts for node in found.converted.release.trees[0].nodes)
    with pytest.raises(InvalidInput, match="row by row"):
        subject_of(fitted, X, y.sample(frac=1, random_state=0).reset_index(drop=True), WANTED, None)


@pytest.mark.parametrize("shuffled", [False, True])
def test_adaboost_whose_first_tree_counts_other_classes_is_read_without_counts(shuffled: bool) -> None:
    """Weights that nobody names can sum to whole numbers, as many as there are rows; so can other classes."""
    X = pd.DataFrame({"a": [2.0, 2, 0, 3, 2, 0, 2, 1, 1, 1, 0, 0, 2, 2, 2]})
    y = pd.Series([1, 1, 1, 1, 0, 1, 1, 1, 0, 1, 0, 0, 0, 1, 1], name="state")
    weights = np.array([2.0, 3, 3, 2, 3, 1, 2, 1, 2, 2, 3, 1, 3, 1, 1])
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=2, random_state=0)
    model.fit(X, y, sample_weight=None if shuffled else weights)
    given = y.iloc[[0, 1, 8, 3, 4, 5, 6, 7, 2, *range(9, 15)]].reset_index(drop=True) if shuffled else y
    assert weighed_alike(model, y)
    found = maxent.review(model, X, given, qi=["a"], max_certain=15, max_posterior=1.0)
    assert "rows weighed differently" in found.converted.lost[-1]
    assert [node.counts for node in found.release.trees[0].nodes if node.counts and min(node.counts.values()) > 0] == []
    assert found.verdict().status == "cannot_tell"
    if not shuffled:
        assert maxent.review(model, X, y, qi=["a"], sample_weight=weights).estimate is not None


WANTED = {"target": "state", "qi": ["age"], "classes": None, "features": None, "parameters": None}


def test_a_regression_is_reviewed_in_bins_of_its_target() -> None:
    frame, _ = people()
    model = make_pipeline(StandardScaler(), DecisionTreeRegressor(max_depth=2)).fit(frame[["age"]], frame["pay"])
    found = maxent.review(model, frame[["age"]], frame["pay"], qi=["age"], bins=[0, 30, 100])
    assert found.release.target.classes == ("0 to 30", "30 to 100")
    assert found.estimate.disclosure.measures["divergence"] > 0


def test_a_boosted_regression_with_bins_is_refused_as_what_it_is() -> None:
    frame, _ = people()
    model = GradientBoostingRegressor(n_estimators=2).fit(frame[["age"]], frame["pay"])
    says = r"of regressions a tree, or a forest without bootstrap, .* \(steps of a boosted one are no means"
    with pytest.raises(InvalidInput, match=says):
        maxent.review(model, frame[["age"]], frame["pay"], qi=["age"], bins=[0, 30, 100])


@pytest.mark.parametrize(("numbers", "says"), [
    ({"bins": [0, 20, 25]}, "bins: expected numbers that cover the target: means of leaves are from .* found 0 to 25"),
    ({"values": [1, 2]}, "values: expected numbers that cover the target: means of leaves are from"),
    ({"bins": [25, 30, 35]}, "pay: expected a number from 25 to 35, as bins have to cover the target, or one of"),
    ({"values": [20, 40]}, "pay: expected a value of the target, which all have to be stated: one of '20', '40'"),
])  # fmt: skip
def test_bins_have_to_cover_the_target(numbers: dict[str, Any], says: str) -> None:
    frame, _ = people()
    model = DecisionTreeRegressor(max_depth=2).fit(frame[["age"]], frame["pay"])
    with pytest.raises(InvalidInput, match=says):
        maxent.review(model, frame[["age"]], frame["pay"], qi=["age"], **numbers)


def test_means_are_stated_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame, _ = people()
    model = DecisionTreeRegressor(max_depth=2).fit(frame[["age"]], frame["pay"])
    found = maxent.review(model, frame[["age"]], frame["pay"], qi=["age"], bins=[0, 30, 100])
    assert found.summary["model"]["states"]["means"]
    assert "stated: n, means" in str(found)
    found.release.save(tmp_path / "tree.json")
    assert main(["convert", str(tmp_path / "tree.json"), "-o", str(tmp_path / "again.json")]) == 0
    assert "stated: sizes, means" in capsys.readouterr().out


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "qi": ({"qi": "age"}, "qi: expected a list of columns, such as .'age', 'sex'., found 'age'"),
    "unknown qi": ({"qi": ["aged"]}, "qi: expected columns of the table .*did you mean 'age'"),
    "no classes": ({"y": None, "qi": ["age"]}, "y: expected the class of each record"),
    "name": ({"y": "state", "qi": ["age"]}, "y: expected the classes, one for each row; .* target=.state."),
    "too few": ({"y": ["ill"], "qi": ["age"]}, "y: expected 80 classes, one for each row of X, found 1"),
    "another class": ({"y": ["sick"] * 80, "qi": ["age"]}, "row 1: class: expected one of the model's classes"),
    "classes of other rows": ({"y": people()[1][::-1], "qi": ["age"]}, "classes: expected counts .*row by row"),
    "parameters": ({"parameters": {"a": 1}, "qi": ["age"]}, "parameters: expected None: a model that is there"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_call_is_refused(name: str, pipeline: Any) -> None:
    frame, y = people()
    told, message = WRONG[name]
    with pytest.raises(InvalidInput, match=message):
        maxent.review(pipeline, frame, **{"y": y, **told})


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """A model as scikit-learn prints it, and its table."""
    frame, y = people()
    X = frame[["age", "pay"]]
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    text = export_text(model, feature_names=list(X.columns), show_weights=True, class_names=list(model.classes_))
    (tmp_path / "model.txt").write_text(text)
    X.assign(state=y).to_csv(tmp_path / "data.csv", index=False)
    return [str(tmp_path / "model.txt"), str(tmp_path / "data.csv")]


def test_the_command_reviews_a_file(files: list[str], tmp_path: Path, capsys: Any) -> None:
    call = ["review", *files, "--target", "state", "--qi", "age", "--max-certain", "0", "--min-k", "100"]
    assert main([*call, "--json", "-o", str(tmp_path / "p.csv"), "--report", str(tmp_path / "r.html")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"]["status"] == "fail"
    assert found["model"]["format"] == "export-text"
    assert found["estimate"]["status"] == "optimal"
    assert (tmp_path / "p.csv").is_file()
    assert "maxent review " in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert main([*call, "--enforce"]) == 3
    said = capsys.readouterr()
    assert "verdict: FAIL" in said.out
    assert "limits are enforced" in said.err
    release = maxent.review(files[0], files[1], target="state", qi=["age"]).release
    assert [(a.name, a.role) for a in release.attributes] == [("age", "public"), ("pay", "private")]


def test_the_target_of_a_release_is_its_own() -> None:
    tree, truth = (Path(__file__).parents[2] / "examples/d1" / name for name in ("tree.json", "truth.csv"))
    with pytest.raises(InvalidInput, match="target: expected that of the release, 'Salary', found 'Gender'"):
        maxent.review(tree, truth, target="Gender", qi=["Education"])


def test_classes_that_a_file_calls_otherwise_can_be_named(tmp_path: Path, capsys: Any) -> None:
    model = Path(__file__).parents[1] / "test_models" / "boosted_files" / "xgboost-binary.json"
    (tmp_path / "data.csv").write_text("age,hours,work,state\n20,5,1,ill\n30,15,2,well\n")
    assert main(["review", str(model), str(tmp_path / "data.csv"), "--target", "state", "--qi", "age"]) == 2
    said = capsys.readouterr().err
    assert "expected one of '0', '1' (--classes names those of the model, in its order), found 'ill'" in said


def test_a_table_without_the_columns_that_a_file_tests_is_refused(files: list[str], capsys: Any) -> None:
    table = Path(files[1])
    model = Path(__file__).parents[1] / "test_models" / "boosted_files" / "xgboost-binary.json"
    table.write_text("years,hours,work,state\n20,5,1,0\n30,15,2,1\n")
    assert main(["review", str(model), files[1], "--target", "state", "--qi", "years"]) == 2
    assert "age: expected a column of this name (--features names the columns" in capsys.readouterr().err


def test_the_command_reviews_a_regression_in_bins(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "frame.csv").write_text(
        '"node","var","n","wt","dev","yval","complexity","ncompete","nsurrogate"\n'
        '"1","age",4,4,500,25,0.5,0,0\n"2","<leaf>",2,2,50,15,0.01,0,0\n"3","<leaf>",2,2,50,35,0.01,0,0\n'
    )
    (tmp_path / "model" / "splits.csv").write_text(
        '"variable","count","ncat","improve","index","adj"\n"age",4,-1,0.8,30.5,0\n'
    )
    (tmp_path / "data.csv").write_text("age,pay\n20,10\n30,20\n31,30\n40,40\n")
    call = ["review", str(tmp_path / "model"), str(tmp_path / "data.csv"), "--target", "pay", "--qi", "age"]
    assert main([*call, "--bins", "0,30,100", "--report", str(tmp_path / "r.html"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["estimate"]["classes"] == 2
    assert "--bins 0,30,100" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_roles_of_a_release_are_those_of_the_call(files: list[str], tmp_path: Path, capsys: Any) -> None:
    maxent.convert(files[0], target="state").save(tmp_path / "tree.json")
    call = ["review", str(tmp_path / "tree.json"), files[1], "--target", "state"]
    assert main([*call, "--qi", "pay", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["estimate"]["individuals"] == 80
    assert main([*call, "--qi", "wage"]) == 2
    assert "--qi: expected attributes of the model ('pay, age')" in capsys.readouterr().err


def test_without_time_there_is_what_leaves_prove_and_the_reason(
    files: list[str], tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*_: Any, **__: Any) -> Any:
        raise NoAnswerInTime(1.0, "nobody was placed yet")

    monkeypatch.setattr("maxent.api.review.estimate_case", late)
    monkeypatch.setattr("maxent.api.review._placed", lambda *_: False)
    with pytest.warns(UnreliableResult, match="nobody was placed yet"):
        found = maxent.review(*files, target="state", qi=["age"], max_certain=0)
    assert found.estimate is None
    assert found.verdict().status == "cannot_tell"
    assert found.verdict(min_k=2).status == "cannot_tell"
    assert "no estimate" in repr(found)
    with pytest.raises(InvalidInput, match="estimate: expected a review with an estimate: give it more time"):
        found.report(tmp_path / "r.html")
    with pytest.raises(InvalidInput, match=r"a .json file, as there is no posterior"):
        found.save(tmp_path / "p.csv")
    call = ["review", *files, "--target", "state", "--qi", "age", "--report", str(tmp_path / "r.html")]
    assert main([*call, "--json", "-o", str(tmp_path / "p.json")]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out)["estimate"] is None
    assert "no report is written" in said.err
    assert not (tmp_path / "r.html").exists()
    assert json.loads((tmp_path / "p.json").read_text())["unsolved"]


def test_without_time_for_private_splits_the_estimate_leaves_them_out(monkeypatch: pytest.MonkeyPatch) -> None:
    frame, y = people()
    X = frame[["age", "pay"]]
    model = RandomForestClassifier(3, max_depth=3, bootstrap=False, random_state=0).fit(X, y)
    told = []
    whole = maxent.review(model, X, y, qi=["age"], progress=lambda text, done, total: told.append(text))
    assert told[:2] == ["reading the model", "placing people in leaves"]
    monkeypatch.setattr("maxent.api.review._placed", lambda *_: False)
    with pytest.warns(UnreliableResult, match="an adversary may infer more"):
        found = maxent.review(model, X, y, qi=["age"], max_posterior=1)
    assert found.weaker
    assert not found.reliable
    assert found.verdict().status == "cannot_tell"
    assert found.summary["weaker"]
    assert "without what private splits tell" in repr(found)
    assert found.release == whole.release
    assert found.estimate.disclosure.entropy >= whole.estimate.disclosure.entropy - 1e-9
    assert found.estimate.program.release.private == ()


def test_leaves_below_a_private_split_are_one_leaf_with_their_sums() -> None:
    frame, y = people()
    X = frame[["age", "pay"]]
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    release = maxent.convert(model, target="state", train=X, qi=["age"])
    found = without_private_splits(release)
    assert [a.name for a in found.attributes] == ["age"]
    assert {node.attribute for node in found.trees[0].nodes} <= {"age", None}
    total = pd.DataFrame([leaf.counts for leaf in found.trees[0].leaves]).sum()
    assert total.to_dict() == y.value_counts().to_dict()
    assert all(leaf.n == sum(leaf.counts.values()) for leaf in found.trees[0].leaves)
    objects = replace(release, trees=tuple(replace(tree, nodes=tuple(tree.nodes)) for tree in release.trees))
    assert without_private_splits(objects) == found
    assert without_private_splits(replace(release, suppressed_below=3)).trees[0].leaves[0].n is None
    forest = RandomForestClassifier(2, max_depth=4, random_state=0).fit(X, y)
    drawn = maxent.from_sklearn(forest, target="state", private=["age", "pay"], inner_counts=True)
    for tree, less in zip(drawn.trees, without_private_splits(drawn).trees, strict=True):
        (root,) = less.nodes
        assert (root.n, root.counts, root.distinct) == (tree.root.n, tree.root.counts, tree.root.distinct)
    boosted = maxent.convert(GradientBoostingClassifier(n_estimators=2).fit(X, y), target="state", train=X, qi=["age"])
    bare = without_private_splits(boosted)
    assert (bare.predicts, bare.boosting) == (None, None)
    assert all(node.value is None for tree in bare.trees for node in tree.nodes)
    maxent.estimate(bare, frame)


@pytest.mark.parametrize("weights", [{0: 1, 1: 3}, {0: 1.0, 1: 2.5}, "balanced"])
@pytest.mark.promise(number=7)
def test_class_weights_of_gradient_boosting_are_no_other_classes(weights: Any) -> None:
    """Leaves weigh records by class: X and y as they were fitted are taken, and other classes are still refused."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.integers(0, 4, 200), "b": rng.integers(0, 4, 200)})
    y = (X["a"] + X["b"] + rng.integers(0, 3, 200) > 4).astype(int)
    model = HistGradientBoostingClassifier(max_iter=2, class_weight=weights, min_samples_leaf=10).fit(X, y)
    assert maxent.review(model, X, y, qi=["a", "b"]).estimate is not None
    if weights != "balanced":
        with pytest.raises(InvalidInput, match="as fit was given them"):
            maxent.review(model, X, 1 - y, qi=["a", "b"])


def proved_alone() -> tuple[pd.DataFrame, pd.Series]:
    """People of whom no group shows a class, while totals of leaves prove those of four."""
    dice = np.random.default_rng(2)
    X = pd.DataFrame({"age": dice.integers(20, 25, 14), "pay": dice.integers(0, 9, 14)})
    return X, pd.Series(dice.choice(["ill", "well"], 14), name="state")


@pytest.mark.parametrize("ended", [NoAnswerInTime(1.0, "nothing was solved yet"), KeyboardInterrupt()])
def test_a_verdict_that_needs_no_estimate_comes_first_and_stands(
    ended: BaseException, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Solving is ended before there is any answer."""
    X, y = proved_alone()
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    whole = maxent.review(model, X, y, qi=["age"], max_certain=3)
    assert whole.row["exposed"] == 0
    assert "certain_proved" not in whole.row  # an estimate that ended is judged as before
    maxent.convert(model, target="state", train=X, qi=["age"]).save(tmp_path / "tree.json")
    X.assign(state=y).to_csv(tmp_path / "data.csv", index=False)
    said: list[str] = []

    def solving(*_: Any) -> Any:
        said.append(capsys.readouterr().err)
        raise ended

    monkeypatch.setattr("maxent.api.review.MANY", 0)
    monkeypatch.setattr("maxent.api.estimate.solve_in_time", solving)
    call = ["review", str(tmp_path / "tree.json"), str(tmp_path / "data.csv"), "--target", "state", "--qi", "age"]
    for limits, status, words in [
        (["--max-certain", "3"], "fail", "certain 4 by proof, at most 3: beyond the limit"),
        (["--max-certain", "4"], "cannot_tell", ""),
        (["--max-posterior", "0.99"], "fail", "largest posterior 1.000 by proof, at most 0.99: beyond the limit"),
        (["--max-certain", "4", "--min-k", "15"], "fail", "smallest group that is not told apart"),
    ]:
        assert main([*call, *limits, "--json"]) == 1
        found = json.loads(capsys.readouterr().out)
        assert found["estimate"] is None
        assert found["verdict"]["status"] == status
        assert words in said[-1]
        assert ("maxent: verdict: FAIL, whatever the estimate adds" in said[-1]) == (status == "fail")
        assert main([*call, *limits, "--enforce"]) == {"fail": 3, "cannot_tell": 4}[status]
        printed = capsys.readouterr()
        assert ("the verdict stands without the estimate" in printed.err) == (status == "fail")
        assert f"{STATUS_WORDS[status]}" in printed.out
        assert words in printed.out


@pytest.mark.parametrize("ended", [None, NoAnswerInTime(1.0, "nothing was solved yet"), KeyboardInterrupt()])
def test_a_first_answer_without_private_splits_is_refined_or_stands(
    ended: BaseException | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = proved_alone()
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    plain = maxent.review(model, X, y, qi=["age"], max_certain=3)
    assert not plain.first
    assert not plain.refined
    shown: list[Any] = []

    def solved(case: Any, known: Any, how: Any, **more: Any) -> Any:
        if shown and ended is not None:  # what is to refine it does not end
            raise ended
        return estimate_case(case, known, how, **more)

    monkeypatch.setattr("maxent.api.review.SLOW", 0)
    monkeypatch.setattr("maxent.api.review.estimate_case", solved)
    with nullcontext() if ended is None else pytest.warns(UnreliableResult):
        found = maxent.review(
            model, X, y, qi=["age"], max_certain=3, first=shown.append, interruptible=True, time_limit=None
        )
    assert len(shown) == 1
    assert shown[0].weaker
    assert shown[0].first["verdict"] == "cannot_tell"
    assert shown[0].estimate.summary["entropy"] >= plain.estimate.summary["entropy"] - 1e-9
    if ended is None:
        assert not found.weaker
        assert found.verdict().status == plain.verdict().status == "fail"
        refined = {each["what"]: (each["first"], each["now"]) for each in found.summary["refined"]}
        assert refined["verdict"] == ("cannot_tell", "fail")
        assert refined["weaker"] == (True, False)
    else:
        assert found.weaker
        assert found.estimate is shown[0].estimate
        assert not found.reliable
        assert found.verdict().status == "cannot_tell"
        assert found.unsolved
        assert found.interrupted == isinstance(ended, KeyboardInterrupt)


def test_the_command_says_the_first_answer_and_what_was_refined(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = proved_alone()
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    maxent.convert(model, target="state", train=X, qi=["age"]).save(tmp_path / "tree.json")
    X.assign(state=y).to_csv(tmp_path / "data.csv", index=False)
    monkeypatch.setattr("maxent.api.review.SLOW", 0)
    call = ["review", str(tmp_path / "tree.json"), str(tmp_path / "data.csv"), "--target", "state", "--qi", "age"]
    assert main([*call, "--max-certain", "3", "--json"]) == 0
    printed = capsys.readouterr()
    assert "first answer after" in printed.err
    assert "verdict CANNOT TELL" in printed.err
    assert "refined: verdict cannot_tell -> fail" in printed.err
    assert json.loads(printed.out)["refined"][0] == {"what": "verdict", "first": "cannot_tell", "now": "fail"}


def test_an_estimate_that_did_not_end_leaves_the_proof_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = proved_alone()
    model = DecisionTreeClassifier(random_state=0).fit(X, y)

    def stopped(case: Any, known: Any, how: Any, *, before: Any, **_: Any) -> Any:
        found = estimate_case(case, known, how, before=before)
        return replace(found, outcome=replace(found.outcome, status="time_limit"))

    monkeypatch.setattr("maxent.api.review.estimate_case", stopped)
    found = maxent.review(model, X, y, qi=["age"], max_certain=3, max_right_guesses=1)
    [certain, right] = found.verdict().releases[0].checks
    assert (certain.status, certain.origin, certain.found) == ("fail", "proof", 4)
    assert certain.how == "by proof"  # an estimate that did not end is no figure
    assert right.status == "cannot_tell"
    assert not found.reliable
    assert found.unfinished
    # Classes that are not sensitive do not count.
    surely = [maxent.review(model, X, y, qi=["age"], max_certain=0, sensitive=each) for each in ("ill", "well")]
    proved = [review.row["sensitive"].get("proved_least", 0) for review in surely]
    assert sum(proved) == 4
    for review, many in zip(surely, proved, strict=True):
        assert review.verdict().releases[0].checks[0].status == ("fail" if many else "cannot_tell")


def test_what_a_release_guesses_right_counts_without_an_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    frame, y = people()
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(frame[["age"]], y)
    share = float((model.predict(frame[["age"]]) == y).mean())

    def solving(*_: Any) -> Any:
        raise NoAnswerInTime(1.0, "nothing was solved yet")

    monkeypatch.setattr("maxent.api.estimate.solve_in_time", solving)
    with pytest.warns(UnreliableResult, match="nothing was solved yet"):
        found = maxent.review(model, frame[["age"]], y, qi=["age"], max_right_guesses=share - 0.01)
    [right] = found.verdict().releases[0].checks
    assert (right.status, right.origin) == ("fail", "truth")
    assert right.found == pytest.approx(share)
    assert found.verdict(max_right_guesses=share + 0.01).status == "cannot_tell"
