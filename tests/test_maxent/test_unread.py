"""What a model states and the compiler does not read is counted, and no limit is known to be kept beside it."""

import json
import pickle
import warnings
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_selection import (
    RFE,
    SelectFromModel,
    SelectKBest,
    SequentialFeatureSelector,
    VarianceThreshold,
    f_classif,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import maxent
from maxent.__main__ import main
from maxent.models.release import Attribute, Boosting, Branch, Node, Release, Target, Tree
from maxent.results.text.estimate import summary_lines

RNG = np.random.default_rng(0)
X = pd.DataFrame({name: RNG.integers(0, 3, 600) for name in "ABC"})
Y = pd.Series(np.where(RNG.random(600) < 0.2 + 0.2 * X["A"], "yes", "no"), name="Y")
WEIGHTS = RNG.random(600)
LIMITS = {"max_posterior": 0.95, "max_certain": 0, "max_right_guesses": 1.0}

NOT_READ = {
    "a tree with weights": (DecisionTreeClassifier(min_samples_leaf=30, random_state=0), WEIGHTS),
    "a forest with weights": (RandomForestClassifier(3, min_samples_leaf=30, bootstrap=False, random_state=0), WEIGHTS),
    "a monotonic tree": (DecisionTreeClassifier(monotonic_cst=[1, 0, 0], min_samples_leaf=30, random_state=0), None),
    "gradient boosting on samples": (GradientBoostingClassifier(n_estimators=3, subsample=0.8), None),
}


def reviewed(model: Any, weights: Any = None, rows: int = 600, **limits: Any) -> maxent.Review:
    model.fit(X[:rows], Y[:rows], sample_weight=None if weights is None else weights[:rows])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", maxent.UnreliableResult)
        return maxent.review(model, X[:rows], Y[:rows], qi=list("ABC"), target="Y", **limits)


@pytest.mark.parametrize("name", NOT_READ)
@pytest.mark.promise(number=1)
def test_what_is_not_read_is_not_passed(name: str) -> None:
    found = maxent.estimate(reviewed(*NOT_READ[name]).release, X)
    verdict = found.verdict(**LIMITS)
    assert verdict.status == "cannot_tell"
    unread, choices = found.summary["unread"]
    assert (unread["what"], choices["what"]) == ("scores", "choices of splits")
    assert unread["judged"] == choices["judged"] == "not"
    assert 1 <= unread["trees"] <= unread["leaves"]
    assert f"as more is stated than is read: scores ({unread['leaves']}" in "\n".join(verdict.lines())
    assert "; the true classes are not given" in "\n".join(verdict.lines())
    assert [line for line in summary_lines(found) if line.startswith("not read: scores of ")]


def test_a_record_states_what_is_not_read(tmp_path: Path) -> None:
    reviewed(*NOT_READ["a monotonic tree"]).release.save(tmp_path / "release.json")
    X.to_csv(tmp_path / "people.csv", index=False)
    checked = maxent.check(tmp_path / "release.json", tmp_path / "people.csv", max_posterior=0.95)
    found = checked.record(tmp_path / "record.json")
    assert found["verdict"]["unread"][0].startswith("not read: scores")
    assert "not read: scores" in maxent.model_card(found)
    assert maxent.verify(tmp_path / "record.json").status == "pass"
    del found["verdict"]["unread"]
    (tmp_path / "record.json").write_text(json.dumps(found), encoding="utf-8")
    assert maxent.verify(tmp_path / "record.json").first == "verdict.unread"


@pytest.mark.parametrize("name", NOT_READ)
@pytest.mark.promise(number=2)
def test_with_the_truth_it_is_judged_as_if_it_gave_all_counts_away(name: str) -> None:
    found = reviewed(*NOT_READ[name], max_posterior=0.65)
    unread, choices, *kept = found.summary["unread"]
    assert choices["what"] == "choices of splits"
    assert len(kept) == 2 * ("boosting" in name)  # draws that follow from what it keeps, and impurities
    if NOT_READ[name][1] is not None:  # weights that are not given
        assert unread["judged"] == "not"
        assert found.summary["worst_case"] == {"why": "people had weights in training, which are not given"}
        assert found.summary["worst_case"]["why"] in "\n".join(found.verdict().lines())
        found = reviewed(*NOT_READ[name], sample_weight=NOT_READ[name][1], max_posterior=0.65)
        unread, choices = found.summary["unread"]
    assert unread["judged"] == choices["judged"] == "worst_case"
    [check] = found.verdict().releases[0].checks
    assert check.status == "cannot_tell"  # the worst case alone fails nothing
    assert found.verdict().status == ("fail" if kept else "cannot_tell")
    assert found.estimate.disclosure.max_posterior <= 0.65 < found.summary["worst_case"]["max_posterior"]
    if kept:
        return
    assert "if the scores and choices of splits gave all counts away: largest posterior" in "\n".join(
        found.verdict().lines()
    )


def test_proofs_from_what_is_read_pass_nothing_beside_what_is_not() -> None:
    release = reviewed(*NOT_READ["a tree with weights"]).release
    bounds = maxent.bounds(release, X)
    assert bounds.certain_proved == 0
    assert bounds.verdict(max_certain=0).status == "cannot_tell"
    read = reviewed(DecisionTreeClassifier(max_depth=2, min_samples_leaf=50, random_state=0)).release
    assert maxent.bounds(read, X).verdict(max_certain=0).status == "pass"


def test_one_of_several_releases_that_is_not_read_is_enough() -> None:
    read = reviewed(DecisionTreeClassifier(max_depth=2, min_samples_leaf=50, random_state=0)).release
    nodes = (Node("N", "A", (Branch("L", le=0.5), Branch("M", gt=0.5))), Node("L", label="no"), Node("M", label="yes"))
    attributes = (Attribute("A", "numeric"),)
    decided = Release(Target("Y", ("no", "yes")), attributes, (Tree(nodes),), labels="decided")
    found = maxent.estimate([read, decided], X)
    [unread] = found.summary["unread"]
    assert unread["what"].startswith("labels that were decided")
    assert (unread["trees"], unread["leaves"]) == (1, 2)
    assert found.verdict(max_posterior=0.95).status == "cannot_tell"


@pytest.mark.parametrize("labels", ["decided", "majority"])
def test_labels_of_something_else_make_nobody_certain_whom_they_are_right_about(labels: Any) -> None:
    """A table of a tree of ranger: labels of its draws. That all who reach a leaf have its label tells nobody so."""
    nodes = (Node("N", "A", (Branch("L", le=0.5), Branch("M", gt=0.5))), Node("L", label="no"), Node("M", label="yes"))
    release = Release(Target("Y", ("no", "yes")), (Attribute("A", "numeric"),), (Tree(nodes),), labels=labels)
    people = pd.DataFrame({"A": [0.0, 0.0, 0.0, 1.0, 1.0], "Y": ["no", "no", "no", "yes", "no"]})
    found = maxent.review(release, people, target="Y", qi=["A"], max_certain=0)
    assert found.verdict().status == ("cannot_tell" if labels == "decided" else "fail")


def test_an_estimate_in_parts_is_judged_alike(tmp_path: Any) -> None:
    reviewed(*NOT_READ["a tree with weights"]).release.save(tmp_path / "tree.json")
    X.to_csv(tmp_path / "qi.csv", index=False)
    found = maxent.estimate(tmp_path / "tree.json", tmp_path / "qi.csv", folder=tmp_path / "out")
    assert found.verdict(max_posterior=0.95).status == "cannot_tell"


@pytest.mark.parametrize("name", ["weights", "monotonic"])
@pytest.mark.promise(number=3)
def test_a_share_of_0_is_that_nobody_is_there(name: str) -> None:
    """Whoever is in a leaf of one class alone is certain, whatever anybody weighed."""
    weights, how = (WEIGHTS, {}) if name == "weights" else (None, {"monotonic_cst": [1, 0, 0]})
    model = DecisionTreeClassifier(random_state=0, **how)
    found = reviewed(model, weights, 200, max_certain=0)
    leaf = model.apply(X[:200])
    pure = [set(Y[:200][leaf == at]) for at in np.unique(leaf)]
    certain = sum(int((leaf == at).sum()) for at, there in zip(np.unique(leaf), pure, strict=True) if len(there) == 1)
    assert certain > 0
    assert found.verdict().status == "fail"
    assert f"class is certain {certain} by" in "".join(found.verdict().lines())


def test_a_leaf_of_one_person_states_the_class(tmp_path: Any) -> None:
    nodes = (
        Node("N", "A", (Branch("L", le=0.5), Branch("M", gt=0.5))),
        Node("L", n=1, value={"no": 0.0, "yes": 1.0}),
        Node("M", n=3, value={"no": 0.3, "yes": 0.7}),
    )
    release = Release(
        Target("Y", ("no", "yes")),
        (Attribute("A", "numeric"),),
        (Tree(nodes),),
        predicts="score",
        boosting=Boosting("share"),
    )
    release.save(tmp_path / "tree.json")
    people = pd.DataFrame({"A": [0, 1, 1, 1]})
    found = maxent.estimate(tmp_path / "tree.json", people)
    assert found.posterior["P(yes)"].tolist() == pytest.approx([1.0, 0.5])
    assert found.summary["constraints"]["boosting"] == 1
    [unread] = found.summary["unread"]
    assert (unread["trees"], unread["leaves"]) == (1, 1)
    assert found.verdict(max_certain=0).status == "fail"
    assert found.verdict(max_certain=1).status == "cannot_tell"
    # Other people, shares of nobody knows how many, of a sample, or beside negative ones: nothing follows.
    for changed, who in (
        (release, pd.DataFrame({"A": [0, 0, 1, 1, 1]})),
        (replace(release, trees=(Tree((*nodes[:2], replace(nodes[2], n=None))),)), people),
        (replace(release, trees=(Tree((*nodes[:2], replace(nodes[2], value={"no": -0.3, "yes": 1.3}))),)), people),
        (replace(release, resampled=4), people),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", maxent.UnreliableResult)
            assert not maxent.estimate(changed, who).summary["constraints"].get("boosting")


@pytest.mark.parametrize("saved", [True, False])
def test_weights_of_rows_that_a_model_keeps_are_not_passed(tmp_path: Any, saved: bool) -> None:
    """Forests keep them since scikit-learn 1.9: under weights of classes they are the class of each row."""
    how = {"max_depth": 2, "min_samples_leaf": 50, "bootstrap": False, "random_state": 0}
    model = RandomForestClassifier(3, class_weight="balanced", **how).fit(X, Y)
    model._sample_weight = np.where(Y == "yes", 2.0, 0.7)
    for kept, status in ((True, "cannot_tell"), (False, "pass")):
        if not kept:
            model._sample_weight = None
        given = model
        if saved:
            given = tmp_path / "model.skops"
            skops.io.dump(model, given)
        found = maxent.review(given, X.assign(Y=Y), qi=list("ABC"), target="Y", max_certain=0)
        assert found.verdict().status == status
        assert ("weights of the rows" in "\n".join(found.verdict().lines())) is kept


def kept_by(model: Any, y: Any = None, **how: Any) -> maxent.Review:
    """The review of a model that is fitted on large cells, none of one class."""
    model.fit(X, (Y == "yes").astype(int) if y is None else y, **how.pop("fit", {}))
    return maxent.review(model, X, (Y == "yes").astype(int) if y is None else y, qi=list("ABC"), max_certain=0, **how)


def select(step: Any) -> Any:
    return make_pipeline(step, DecisionTreeClassifier(max_depth=1, min_samples_leaf=50, random_state=0))


def boosted(**how: Any) -> Any:
    return GradientBoostingClassifier(n_estimators=1, max_depth=1, min_samples_leaf=50, **how)


def histograms(**how: Any) -> Any:
    return HistGradientBoostingClassifier(max_iter=2, max_depth=1, min_samples_leaf=50, random_state=0, **how)


def of_tool(name: str, **how: Any) -> Any:
    tool = pytest.importorskip(name)
    if name == "catboost":
        quiet = {"thread_count": 1, "verbose": False, "allow_writing_files": False, "boost_from_average": False}
        newton = {"leaf_estimation_method": "Newton", "leaf_estimation_iterations": 1}
        return tool.CatBoostClassifier(iterations=2, depth=1, random_seed=0, **quiet, **newton, **how)
    if name == "xgboost":
        return tool.XGBClassifier(n_estimators=2, max_depth=2, learning_rate=0.5, n_jobs=1, **how)
    return tool.LGBMClassifier(n_estimators=2, num_leaves=4, min_child_samples=30, n_jobs=1, verbose=-1, **how)


def dart() -> Any:
    tool = pytest.importorskip("xgboost")
    if tuple(map(int, tool.__version__.split(".")[:2])) >= (3, 4):
        pytest.skip("XGBoost drops no trees from 3.4 on: it grows those of gbtree")
    return of_tool("xgboost", booster="dart")


STUMP = DecisionTreeClassifier(max_depth=1, min_samples_leaf=50, random_state=0)
KEPT: dict[str, tuple[Any, str]] = {
    "a second round": (lambda: boosted().set_params(n_estimators=2), "impurities of nodes"),
    "samples": (lambda: boosted(subsample=0.6), "state of random numbers"),
    "samples of a generator": (
        lambda: boosted(subsample=0.6, random_state=np.random.RandomState(0)),
        "state of random numbers",
    ),
    "a part for validation": (lambda: boosted(n_iter_no_change=3, random_state=0), "state of random numbers"),
    "early stopping of histograms": (lambda: histograms(early_stopping=True), "state of random numbers"),
    "a forest that weighs classes": (
        lambda: RandomForestClassifier(2, max_depth=1, class_weight="balanced_subsample"),
        "seeds",
    ),
    "answers": (lambda: RandomForestClassifier(9, max_depth=1, oob_score=True), "oob_decision_function_"),
    "best columns": (lambda: select(SelectKBest(f_classif, k=1)), "SelectKBest learned from the classes (scores_"),
    "columns of a model": (lambda: select(SelectFromModel(STUMP)), "SelectFromModel learned from the classes"),
    "columns left": (lambda: select(RFE(STUMP, n_features_to_select=1)), "RFE learned from the classes (estimator_"),
    "columns step by step": (
        lambda: select(SequentialFeatureSelector(STUMP, n_features_to_select=1, cv=2)),
        "SequentialFeatureSelector learned from the classes",
    ),
    "best columns of some": (
        lambda: select(ColumnTransformer([("few", SelectKBest(f_classif, k=1), ["A", "B"])], remainder="passthrough")),
        "SelectKBest learned from the classes",
    ),
    "a search": (lambda: GridSearchCV(STUMP, {"max_depth": [1]}, cv=2), "scores of the search"),
    "a search at the end": (
        lambda: make_pipeline(StandardScaler(), GridSearchCV(STUMP, {"max_depth": [1]}, cv=2)),
        "scores of the search",
    ),
    "bagging of LightGBM": (lambda: of_tool("lightgbm", subsample=0.6, subsample_freq=1), "draws of rows"),
    "rounding of LightGBM": (lambda: of_tool("lightgbm", use_quantized_grad=True), "draws of rows"),
    "L1 of LightGBM": (lambda: of_tool("lightgbm", reg_alpha=0.5), "an L1 penalty hides small sums"),
    "samples of XGBoost": (lambda: of_tool("xgboost", subsample=0.6), "draws or weights of rows"),
    "samples of XGBoost behind a scaler": (
        lambda: make_pipeline(StandardScaler(), of_tool("xgboost", subsample=0.6)),
        "draws or weights of rows",
    ),
    "dropped trees of XGBoost": (dart, "draws or weights of rows"),
    "samples of CatBoost": (
        lambda: of_tool("catboost", bootstrap_type="Bernoulli", subsample=0.6),
        "draws of rows",
    ),
    "measures of CatBoost": (
        lambda: of_tool("catboost", bootstrap_type="No", custom_metric=["Accuracy"]),
        "measures of training",
    ),
}
NOTHING_KEPT: dict[str, Any] = {
    "a round": boosted,
    "histograms": histograms,
    "variance": lambda: select(VarianceThreshold()),
    "a scaler": lambda: select(StandardScaler()),
    "LightGBM": lambda: of_tool("lightgbm"),
    "LightGBM, no bagging": lambda: of_tool("lightgbm", subsample=0.6),
    "XGBoost": lambda: of_tool("xgboost"),
    "XGBoost behind a scaler": lambda: make_pipeline(StandardScaler(), of_tool("xgboost")),
    "XGBoost, a class with weight": lambda: of_tool("xgboost", scale_pos_weight=2.0),
    "CatBoost": lambda: of_tool("catboost", bootstrap_type="No"),
    "CatBoost, samples of all": lambda: of_tool("catboost", bootstrap_type="Bernoulli", subsample=1.0),
}


@pytest.mark.filterwarnings("ignore")  # of the tools
@pytest.mark.parametrize("name", KEPT)
def test_what_a_model_keeps_beside_its_trees_is_not_passed(name: str) -> None:
    make, said = KEPT[name]
    for how in ({}, {"sample_weight": np.ones(len(X))}):
        found = kept_by(make(), **how)
        verdict = found.verdict()
        assert verdict.status == ("fail" if found.converted.tells_draws else "cannot_tell")
        assert [check.status for check in verdict.releases[0].checks] == ["cannot_tell"]
        assert said in found.summary["unread"][-1]["what"]
        assert found.summary["unread"][-1]["judged"] == "not"
        assert said in "\n".join(found.unread_lines)


@pytest.mark.filterwarnings("ignore")  # of the tools
@pytest.mark.parametrize("name", NOTHING_KEPT)
def test_a_model_that_keeps_nothing_is_judged_by_its_trees(name: str) -> None:
    found = kept_by(NOTHING_KEPT[name]())
    assert found.converted.aside == ""
    assert found.verdict().status == "pass"


@pytest.mark.parametrize("name", ["a second round", "samples", "best columns"])
def test_files_of_models_are_judged_as_the_models(tmp_path: Any, name: str) -> None:

    make, said = KEPT[name]
    model, table = make().fit(X, Y), X.assign(Y=Y)
    skops.io.dump(model, tmp_path / "model.skops")
    how: dict[str, Any] = {"qi": list("ABC"), "target": "Y", "max_certain": 0}
    for given in (pickle.loads(pickle.dumps(model)), tmp_path / "model.skops"):
        found = maxent.review(given, table, **how)
        assert found.verdict().status == ("fail" if name == "samples" else "cannot_tell")
        assert [check.status for check in found.verdict().releases[0].checks] == ["cannot_tell"]
        assert said in found.converted.aside
    checked = maxent.check(tmp_path / "model.skops", X, policy=None, target="Y", truth=table, max_certain=0)
    assert checked.status == ("fail" if name == "samples" else "cannot_tell")
    assert said in "\n".join(checked.lines)
    release = maxent.convert(tmp_path / "model.skops", train=table, target="Y", qi=list("ABC"))
    if name != "samples":  # whose scores are not read
        assert maxent.review(release, table, qi=list("ABC"), max_certain=0).verdict().status == "pass"


def test_impurities_tell_who_has_which_class_where_scores_do_not() -> None:
    """Two people of each class, a column of each half: scores allow one who is not sure, impurities less."""
    people = pd.DataFrame({"a": [1, 1, 1, 1, 0, 0, 0, 0, 0, 0], "b": [0, 1, 1, 1, 0, 0, 0, 1, 1, 1]}).astype(float)
    how: dict[str, Any] = {"n_estimators": 2, "max_depth": 1, "learning_rate": 1.0, "random_state": 0}

    def stated(y: Any) -> tuple[Any, Any]:
        trees = [t.tree_ for t in GradientBoostingClassifier(**how).fit(people, y).estimators_.ravel()]
        scores = [(t.feature.tolist(), t.threshold.tolist(), t.value.round(9).tolist()) for t in trees]
        return scores, [t.impurity.round(9).tolist() for t in trees]

    found: dict[str, set[str]] = {}
    for ones in combinations(range(10), 4):
        scores, impurities = stated(np.isin(np.arange(10), ones).astype(int))
        found.setdefault(str(scores), set()).add(str(impurities))
    assert max(map(len, found.values())) > 1


@pytest.mark.filterwarnings("ignore")  # of the tools
@pytest.mark.parametrize("name", ["xgboost", "lightgbm"])
def test_scores_of_an_evaluation_are_not_passed(name: str) -> None:
    model = of_tool(name, **{"eval_metric": "error"} if name == "xgboost" else {})
    more = {"verbose": False} if name == "xgboost" else {"eval_metric": "error"}
    found = kept_by(model, fit={"eval_set": [(X, (Y == "yes").astype(int))], **more})
    assert "scores of an evaluation" in found.converted.aside
    assert found.verdict().status == "cannot_tell"


def test_means_of_counts_keep_impurities_that_are_no_variances() -> None:
    numbers = np.where(Y == "yes", 3.0, 1.0)
    tree = DecisionTreeRegressor(criterion="poisson", max_depth=1, min_samples_leaf=50).fit(X, numbers)
    found = maxent.review(tree, X, numbers, qi=list("ABC"), values=[1.0, 3.0], max_certain=0)
    assert "no variances" in found.converted.aside
    assert found.verdict().status == "cannot_tell"


def test_groups_are_judged_whatever_is_read() -> None:
    model = DecisionTreeClassifier(min_samples_leaf=30, random_state=0)
    assert reviewed(model, WEIGHTS, min_k=5).verdict().status == "pass"


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(max_depth=2, min_samples_leaf=50, random_state=0),
        RandomForestClassifier(10, max_depth=2, min_samples_leaf=50, bootstrap=False, random_state=0),
    ],
)
def test_what_is_read_and_within_limits_passes(model: Any) -> None:
    found = reviewed(model, max_posterior=0.95, max_certain=0)
    unread = {each["what"]: each["judged"] for each in found.estimate.summary["unread"]}
    assert unread == ({"choices of splits": "worst_case"} if hasattr(model, "estimators_") else {})
    assert found.verdict().status == "pass"


def test_a_report_says_what_is_not_read(tmp_path: Any) -> None:
    found = reviewed(*NOT_READ["a tree with weights"], **LIMITS)
    page = tmp_path / "report.html"
    found.report(page)
    text = page.read_text(encoding="utf-8")
    assert "everything that is published: ." not in text
    assert "Not read, and so no limit is known to be kept: scores of" in text


FEW = pd.DataFrame({"a": np.repeat([0.0, 1.0, 2.0], 8), "b": np.tile([0.0, 1.0], 12)})
OF_FEW = np.array([0, 1, 1, 0, 1, 1, 1, 1, 0, 0, 1, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 0, 0, 0])  # two in each cell
WITH_TRUTH = FEW.assign(**{"class": OF_FEW.astype(str)})


def test_what_a_file_keeps_is_judged_in_estimates_and_comparisons_too(tmp_path: Path) -> None:
    """Impurities of gradient boosting are in its own file, and not in the release that is made of it."""
    model = GradientBoostingClassifier(n_estimators=3, max_depth=1, random_state=0)
    path, release = tmp_path / "model.skops", tmp_path / "release.json"
    skops.io.dump(model.fit(FEW, OF_FEW), path)
    maxent.convert(path).save(release)
    limits = {"max_certain": 0, "max_posterior": 1.0}
    found = maxent.estimate(path, FEW, WITH_TRUTH).verdict(**limits)
    kept = maxent.estimate(release, FEW, WITH_TRUTH).verdict(**limits)
    assert (found.status, kept.status) == ("cannot_tell", "pass")
    assert "impurities" in "\n".join(found.lines())
    compared = maxent.compare([release, path], FEW, WITH_TRUTH)
    assert compared.verdict(**limits).status == "cannot_tell"
    assert [len(row.get("unread", ())) for row in compared.rows] == [1, 2]


def test_so_is_what_a_model_that_is_there_keeps() -> None:
    model = GradientBoostingClassifier(n_estimators=3, max_depth=1, random_state=0).fit(FEW, OF_FEW)
    limits = {"max_certain": 0, "max_posterior": 1.0}
    assert maxent.estimate(model, FEW, WITH_TRUTH).verdict(**limits).status == "cannot_tell"
    release = maxent.from_sklearn(model, target="class")
    assert maxent.estimate(release, FEW, WITH_TRUTH).verdict(**limits).status == "pass"


@pytest.mark.filterwarnings("ignore")  # of the tools
@pytest.mark.parametrize(
    "name", ["a second round", pytest.param("answers", marks=pytest.mark.slow)]
)  # people are linked, and taken in parts
def test_proofs_and_attacks_name_what_a_file_keeps_and_pass_nothing_beside_it(
    tmp_path: Path, capfd: Any, name: str
) -> None:
    path, qi = tmp_path / "model.skops", tmp_path / "qi.csv"
    make, said = KEPT[name]
    people, classes = X[:120], Y[:120]
    model = make().fit(people, classes)
    skops.io.dump(model, path)
    skops.io.dump(STUMP.fit(people, classes), tmp_path / "tree.skops")
    people.to_csv(qi, index=False)
    limits: dict[str, Any] = {"max_certain": 0, "max_posterior": 1.0}
    parts: dict[str, Any] = {"memory": "1GB"}
    closed = {"level": "closed"}
    for call, how in ((maxent.bounds, closed), (maxent.audit, {}), (maxent.estimate, {})):
        given = {**parts, **how}
        for found in (
            call(path, people, **how),
            call(model, people, **how),
            call(path, qi, **given),
            call(model, qi, **given),
        ):
            told = found if isinstance(found, dict) else found.summary
            kept = told["unread"][-1]
            assert said in kept["what"]
            assert kept["judged"] == "not"
            verdict = found.verdict(**limits)
            assert verdict.status == ("fail" if name == "answers" else "cannot_tell")
            assert "pass" not in [check.status for check in verdict.releases[0].checks]
    for memory in (None, "1GB"):
        compared = maxent.compare([tmp_path / "tree.skops", path], qi, memory=memory)
        assert compared.verdict(**limits).status == ("fail" if name == "answers" else "cannot_tell")
    kept = [each["what"] for each in maxent.bounds(tmp_path / "tree.skops", people).summary["unread"]]
    assert kept == ["choices of splits"]  # columns that are not tested may have had missing values
    assert "unread" not in maxent.audit(tmp_path / "tree.skops", people)
    for command in (
        ["bounds", "--level", "closed"],
        ["audit"],
        ["bounds", "--level", "closed", "--memory", "1GB"],
        ["explain"],
    ):
        assert main([*command, str(path), str(qi)]) == 0
        assert "not read: " in capfd.readouterr().out


STUMPED = pd.DataFrame({"a": [0.0, 2, 0, 1, 2, 1, 0, 2, 2, 2], "b": [0.0, 0, 1, 1, 1, 0, 0, 0, 1, 1]})
OF_STUMPED = np.array([0, 0, 0, 0, 1, 0, 1, 0, 1, 1])  # two of whom follow from a <= 1.5, chosen over a <= 0.5
ONE = {"n_estimators": 1, "max_depth": 1, "random_state": 0}
CHOOSING: dict[str, Any] = {
    "AdaBoost": lambda: AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=1, random_state=0),
    "weights of classes": lambda: DecisionTreeClassifier(max_depth=1, class_weight="balanced", random_state=0),
    "gradient boosting": lambda: GradientBoostingClassifier(**ONE),
    "exponential loss": lambda: GradientBoostingClassifier(loss="exponential", **ONE),
    "histograms": lambda: HistGradientBoostingClassifier(max_iter=1, max_depth=1, min_samples_leaf=1),
    "LightGBM": lambda: of_tool("lightgbm").set_params(min_child_samples=1, min_child_weight=0.0, **ONE),
    "XGBoost": lambda: of_tool("xgboost").set_params(min_child_weight=0.0, **ONE),
    "CatBoost": lambda: of_tool("catboost", bootstrap_type="No", random_strength=0).set_params(iterations=1),
    "pruned by cost": lambda: DecisionTreeClassifier(max_depth=1, ccp_alpha=0.2, random_state=0),
    "a least gain": lambda: DecisionTreeClassifier(max_depth=1, min_impurity_decrease=0.2, random_state=0),
    "drawn attributes": lambda: RandomForestClassifier(3, max_depth=1, bootstrap=False, max_features=1, random_state=4),
    "a regression": lambda: DecisionTreeRegressor(max_depth=1),
}


@pytest.mark.filterwarnings("ignore")  # of the tools
@pytest.mark.parametrize("name", CHOOSING)
@pytest.mark.promise(number=1)
def test_choices_of_splits_that_settle_somebody_are_not_passed(name: str) -> None:
    model, columns = CHOOSING[name](), ["a", "b"] if name == "drawn attributes" else ["a"]
    model.fit(STUMPED[columns], OF_STUMPED)
    people, how = STUMPED[columns].assign(id=range(10)), {"values": [0.0, 1.0]} if "regression" in name else {}
    found = maxent.review(model, people, OF_STUMPED, qi=[*people], target="Y", max_certain=0, **how)
    assert found.verdict().status == "cannot_tell"
    assert "choices of splits" in [each["what"] for each in found.summary["unread"]]


DRAWN_A, DRAWN_B = [2.0, 0, 2, 2, 0, 0, 0, 2, 2, 1], [2.0, 0, 2, 2, 0, 2, 2, 0, 1, 2]
# People, their classes, and trees of whose draws splits or thresholds tell a class of one: found by all labellings.
DRAWN: dict[str, tuple[Any, Any, Any]] = {
    "a split": (
        {"a": DRAWN_A, "b": DRAWN_B},
        [0, 1, 1, 0, 0, 1, 1, 0, 1, 1],
        BaggingClassifier(
            DecisionTreeClassifier(max_depth=1, max_features=1), 1, bootstrap=False, max_samples=8, random_state=13
        ),
    ),
    "repeated people": (
        {"a": [2.0, 0, 0, 0, 0, 1, 1, 1, 0]},
        [0, 1, 0, 0, 1, 1, 0, 1, 0],
        RandomForestClassifier(3, max_depth=1, max_features=None, random_state=12),
    ),
}


@pytest.mark.parametrize("name", DRAWN)
def test_choices_among_draws_are_not_passed_without_the_draws(name: str) -> None:
    table, classes, model = DRAWN[name]
    people = pd.DataFrame(table)
    stripped = maxent.strip(model.fit(people, classes))
    for published, of in ((None, stripped), ("onnx", model), ("pmml", model)):
        each = people.assign(id=range(len(people)))
        found = maxent.review(of, each, classes, qi=[*each], target="Y", max_certain=0, published_as=published)
        assert found.verdict().status == "cannot_tell"
        assert "choices of splits" in [each["what"] for each in found.summary["unread"]]


@pytest.mark.parametrize("name", DRAWN)
def test_choices_of_splits_are_not_passed_in_parts(name: str, tmp_path: Path) -> None:
    table, classes, model = DRAWN[name]
    people = pd.DataFrame(table)
    maxent.convert(maxent.strip(model.fit(people, classes)), target="Y").save(tmp_path / "release.json")
    people.assign(id=range(len(people))).to_csv(tmp_path / "qi.csv", index=False)
    people.assign(id=range(len(people)), Y=classes).to_csv(tmp_path / "truth.csv", index=False)
    given = tmp_path / "release.json", tmp_path / "qi.csv", tmp_path / "truth.csv"
    assert maxent.estimate(*given, memory="1GB").verdict(max_certain=0).status == "cannot_tell"
    for memory in (None, "1GB"):
        found = maxent.compare([given[0]], given[1], truth=given[2], memory=memory)
        assert found.verdict(max_certain=0).status == "cannot_tell"


def test_a_release_says_that_a_tool_chose(tmp_path: Path) -> None:
    model = CHOOSING["drawn attributes"]().fit(STUMPED, OF_STUMPED)
    maxent.convert(model, target="Y").save(tmp_path / "release.json")
    truth = STUMPED.assign(Y=OF_STUMPED.astype(str))
    found = maxent.estimate(tmp_path / "release.json", STUMPED, truth)
    assert found.program.release.trees[0].induction.among == ("a", "b")
    assert found.summary["worst_case"]["certain"] > 0
    assert found.verdict(max_certain=0).status == "cannot_tell"
    bare = replace(found.program.release, trees=tuple(Tree(tree.nodes) for tree in found.program.release.trees))
    assert maxent.estimate(bare, STUMPED, truth).summary["unread"] == []  # of which nobody says how it was grown


@pytest.mark.parametrize("kind", ["counts", "label", "rate", "internal"])
def test_kinds_of_knowledge_of_which_trees_state_nothing_pass_nothing(kind: str) -> None:
    nodes = (Node("N", "a", (Branch("L", le=0.5), Branch("M", gt=0.5))), Node("L", label="0"), Node("M", label="1"))
    release = Release(Target("Y", ("0", "1")), (Attribute("a", "numeric"),), (Tree(nodes),))
    what = f"all that the trees state (nothing is read of --knowledge {kind})"
    for call in (maxent.estimate, maxent.bounds):
        found = call(release, STUMPED, knowledge=[kind])
        assert (what in [each["what"] for each in found.summary["unread"]]) == (kind != "label")
        assert kind == "label" or found.verdict(max_certain=0).status == "cannot_tell"
    drawn = RandomForestClassifier(2, max_depth=1, random_state=0).fit(STUMPED, OF_STUMPED)
    given: dict[str, Any] = {"qi": [*STUMPED], "target": "Y", "knowledge": [kind], "rows": True}
    in_order = maxent.review(drawn, STUMPED, OF_STUMPED, **given)
    assert (what in [each["what"] for each in in_order.summary["unread"]]) == (kind != "counts")
