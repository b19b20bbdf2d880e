"""Reviews of models with several outputs: of each sensitive column by itself, and of all together."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from test_models.test_skops import saved

import maxent
from maxent.__main__ import main
from maxent.models.errors import InvalidInput
from maxent.models.formats.scikit_learn.models import SHARED, outputs_of
from maxent.models.trees.predict import predict

DICE = np.random.default_rng(0)
X = pd.DataFrame({"age": DICE.integers(0, 9, 60), "job": DICE.integers(0, 4, 60)})
Y = pd.DataFrame(
    {"pay": np.where(X.age > 4, "high", np.where(X.job > 1, "low", "mid")), "ill": DICE.choice([*"yn"], 60)}
)
BOTH = ["pay", "ill"]
QI = ["age", "job"]


@pytest.fixture(scope="module")
def tree() -> Any:
    return DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y)


@pytest.fixture(scope="module")
def reviewed(tree: Any) -> Any:
    return maxent.review(tree, X, Y, qi=QI, target=BOTH, max_certain=3, min_k=2)


@pytest.fixture
def files(tree: Any, tmp_path: Any, monkeypatch: Any) -> Any:
    monkeypatch.chdir(tmp_path)
    saved(tree, tmp_path / "model.skops")
    X.assign(**Y).to_csv("people.csv", index=False)
    return tmp_path


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(max_depth=3, random_state=0),
        RandomForestClassifier(3, max_depth=3, random_state=0),
        ExtraTreesClassifier(3, max_depth=3, random_state=0, class_weight="balanced"),
        make_pipeline(StandardScaler(), make_pipeline(OneHotEncoder(), DecisionTreeClassifier(random_state=0))),
        MultiOutputClassifier(DecisionTreeClassifier(max_depth=2, random_state=0)),
    ],
    ids=["tree", "forest", "weighted", "pipeline", "a model each"],
)
def test_each_output_predicts_as_the_model_does(model: Any) -> None:
    found = model.fit(X, Y)
    for output, single in enumerate(outputs_of(found)):
        release = maxent.convert(single, train=X, target=BOTH[output])
        assert predict(release, X).tolist() == found.predict(X)[:, output].tolist()


def test_joint_posteriors_are_products_and_joint_entropies_sums(reviewed: Any) -> None:
    pay, ill = (reviewed.reviews[name].estimate for name in BOTH)
    expected = (pay.probabilities[:, :, None] * ill.probabilities[:, None]).reshape(-1, 6)
    assert reviewed.joint.probabilities == pytest.approx(expected)
    assert [*reviewed.joint.posterior.columns[3:5]] == ["P(high & n)", "P(high & y)"]
    assert reviewed.joint.disclosure.entropy == pytest.approx(pay.disclosure.entropy + ill.disclosure.entropy)
    people = X.assign(**Y).groupby([*QI, *BOTH]).size()
    truth = [
        people.get((*row[:2], *name.split(" & ")), 0)
        for row in reviewed.joint.posterior.values
        for name in reviewed.joint.program.release.target.classes
    ]
    posterior = reviewed.joint.posterior.iloc[:, 3:9].to_numpy().ravel()
    truth_given = np.array(truth) / np.repeat(reviewed.joint.posterior["count"].to_numpy(), 6)
    there = truth_given > 0
    nats = (np.array(truth)[there] * np.log(truth_given[there] / posterior[there])).sum() / 60
    assert reviewed.joint.disclosure.divergence.overall == pytest.approx(nats)


def test_the_product_is_the_joint_distribution_of_the_largest_entropy() -> None:
    few, both = X[["job"]], Y.assign(pay=np.where(Y["pay"] == "high", "high", "low"))
    model = DecisionTreeClassifier(max_depth=1, random_state=0).fit(few, both)
    found = maxent.review(model, few, both, qi=["job"], target=BOTH).joint
    jobs, people = found.program.table.levels[0], found.program.table.counts
    leaf = model.apply(pd.DataFrame({"job": jobs}))
    statements = []  # the people of each leaf with each class of each column
    for name, shape in (("pay", (2, 1)), ("ill", (1, 2))):
        for code, label in enumerate(np.unique(both[name])[:1]):  # the second follows from the people of a leaf
            of = (np.arange(2) == code).reshape(shape)
            for one in np.unique(leaf):
                inside = (leaf == one)[:, None, None] & np.broadcast_to(of, (2, 2))
                number = ((both[name] == label) & (model.apply(few) == one)).sum()
                statements.append(((inside * people[:, None, None]).ravel() / 60, number / 60))
    statements += [(np.repeat(np.arange(len(jobs)) == q, 4).astype(float), 1.0) for q in range(len(jobs))]
    rows, amounts = (np.array(part) for part in zip(*statements, strict=True))
    weight = np.repeat(people / 60, 4)

    def less(p: Any) -> float:
        return float((weight * p * np.log(np.maximum(p, 1e-12))).sum())

    held = {"type": "eq", "fun": lambda p: rows @ p - amounts}
    start = np.full(len(weight), 0.25)
    solved = minimize(less, start, bounds=[(0, 1)] * len(start), constraints=held, method="SLSQP", tol=1e-10)
    assert solved.success
    assert np.abs(rows @ found.probabilities.ravel() - amounts).max() < 1e-8
    assert -solved.fun == pytest.approx(found.disclosure.entropy, abs=1e-5)


def test_comparisons_of_shared_splits_are_left_out_and_said_to_be(reviewed: Any) -> None:
    for review in reviewed.reviews.values():
        assert review.estimate.summary["constraints"]["internal"] == 0
        assert SHARED in review.converted.lost
    each = MultiOutputClassifier(DecisionTreeClassifier(max_depth=2, random_state=0)).fit(X, Y)
    found = maxent.review(each, X, Y.to_numpy(), qi=QI, target=BOTH)
    assert all(SHARED not in review.converted.lost for review in found.reviews.values())
    assert found.reviews["ill"].estimate.summary["constraints"]["internal"] > 0


def test_each_column_is_judged_and_reported(reviewed: Any, tmp_path: Any) -> None:
    assert reviewed.reliable
    found = reviewed.summary
    assert [*found["targets"]] == BOTH
    assert found["joint"]["classes"] == 6
    assert found["verdict"]["status"] == "fail"
    assert [judged["status"] for judged in found["verdict"]["releases"]] == ["fail", "cannot_tell"]
    assert reviewed.verdict(max_certain=60).passed
    assert "the pay & ill together: nobody's is certain; largest posterior 0.800" in str(reviewed)
    assert [path.rsplit("/")[-1] for path in reviewed.report(tmp_path / "r.html")] == ["r-1.html", "r-2.html"]
    assert "the pay &amp; ill together: nobody" in (tmp_path / "r-2.html").read_text()
    reviewed.save(tmp_path / "joint.csv")
    assert "P(mid & y)" in pd.read_csv(tmp_path / "joint.csv").columns


def test_classes_may_be_columns_of_the_table(tree: Any, reviewed: Any) -> None:
    found = maxent.review(tree, X.assign(**Y), qi=QI, target=BOTH)
    assert found.joint.probabilities == pytest.approx(reviewed.joint.probabilities)


@pytest.mark.parametrize(
    ("y", "names"),
    [(Y, BOTH), (Y.to_numpy(), ["class_1", "class_2"]), (Y.to_numpy().tolist(), ["class_1", "class_2"])],
    ids=["named", "an array", "lists"],
)
def test_the_columns_are_those_that_y_names(tree: Any, reviewed: Any, y: Any, names: list[str]) -> None:
    found = maxent.review(tree, X, y, qi=QI, max_certain=3, min_k=2)
    assert [*found.reviews] == names
    assert found.joint.probabilities == pytest.approx(reviewed.joint.probabilities)
    assert found.verdict().status == reviewed.verdict().status


def test_polars_names_them_too(tree: Any) -> None:
    polars = pytest.importorskip("polars")
    assert [*maxent.review(tree, polars.DataFrame(X), polars.DataFrame(Y), qi=QI).reviews] == BOTH


def test_a_file_has_them_from_y_as_well(files: Any, tree: Any) -> None:
    assert [*maxent.review("model.skops", X, Y, qi=QI).reviews] == BOTH


@pytest.mark.parametrize(
    ("y", "target", "named"),
    [
        (Y[["pay"]], None, "pay"),
        (Y[["pay"]].to_numpy(), None, "class"),
        (Y, "pay", "pay"),
        (Y[["pay"]].to_numpy(), "wage", "wage"),
    ],
)
def test_of_a_model_of_one_column_y_may_be_a_table(y: Any, target: Any, named: str) -> None:
    plain = maxent.review(ONE, X, Y["pay"], qi=QI)
    found = maxent.review(ONE, X, y, qi=QI, target=target)
    assert found.release.target.name == named
    assert found.estimate.probabilities == pytest.approx(plain.estimate.probabilities)


@pytest.mark.parametrize("told", [{"target": BOTH}, {}], ids=["named", "by y"])
def test_a_release_about_combinations_takes_their_columns(told: Any) -> None:
    release = maxent.defend(X.assign(**Y), "none", target=BOTH, qi=QI, max_depth=2).release
    for y in (Y, Y.to_numpy()):
        assert [*maxent.review(release, X, y, qi=QI, **told).estimate.targets] == BOTH
    with pytest.raises(InvalidInput, match="the columns 'pay', 'ill', in this order"):
        maxent.review(release, X, Y[BOTH[::-1]], qi=QI, **told)
    with pytest.raises(InvalidInput, match=r"2 sensitive columns, in their order \('pay', 'ill'\)"):
        maxent.review(release, X.assign(**Y), qi=QI, target=["pay", "age"])


def test_columns_that_leaves_link_are_not_taken_for_independent(tree: Any) -> None:
    found = maxent.review(tree, X, Y, qi=["job"], target=BOTH)
    assert found.joint is None
    assert found.left_out == "private attributes decide who is in which leaf, and leaves link the columns"
    assert "pay and ill together: left out, as private attributes decide" in str(found)


def test_many_combinations_are_left_out(tmp_path: Any) -> None:
    many = pd.DataFrame({"pay": X.age.astype(str), "ill": (X.age + X.job).astype(str)})
    found = maxent.review(DecisionTreeClassifier(max_depth=2).fit(X, many), X, many, qi=QI, target=BOTH)
    assert found.joint is None
    assert "combinations of classes, more than 64" in found.summary["left_out"]
    assert "pay and ill together: left out, as they have" in str(found)
    found.save(tmp_path / "found.json")
    with pytest.raises(InvalidInput, match="as there is no joint posterior"):
        found.save(tmp_path / "found.csv")


ONE = DecisionTreeClassifier(max_depth=2).fit(X, Y["pay"])
NUMBERS = DecisionTreeRegressor(max_depth=2).fit(X, np.column_stack([X.age, X.job]))


@pytest.mark.parametrize(
    ("model", "y", "told", "says"),
    [
        (ONE, Y, {}, "the columns whose classes the model states, one sensitive column"),
        (ONE, Y, {"target": BOTH}, "the columns whose classes the model states, one sensitive column"),
        (NUMBERS, Y, {"target": BOTH}, "the columns whose classes the model states, one sensitive column"),
        ("tree", Y, {"target": [*BOTH, "age"]}, "a column for each of 'pay', 'ill', 'age', and 60 rows"),
        ("tree", Y, {"target": BOTH[::-1]}, "the columns 'ill', 'pay', in this order"),
        ("tree", Y["pay"], {"target": BOTH}, "a column for each of 'pay', 'ill'"),
        ("tree", None, {"target": BOTH}, "a column for each target, or such columns of X, found None"),
        ("tree", Y, {"target": "pay"}, "a name for each of the 2 outputs of the model, in their order, found 'pay'"),
        ("tree", Y, {"target": BOTH, "bins": [0, 1, 2]}, "bins: expected None, of several sensitive columns"),
        ("tree", Y[::-1].reset_index(drop=True), {"target": BOTH}, "X and y as fit was given them"),
        ("tree", Y, {"target": ["pay", "pay"]}, "each column once"),
    ],
)
def test_what_the_model_does_not_state_is_refused(tree: Any, model: Any, y: Any, told: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        maxent.review(tree if isinstance(model, str) else model, X, y, qi=QI, **told)


def test_a_file_with_several_outputs_is_reviewed(files: Any, reviewed: Any, capsys: Any) -> None:
    call = ["review", "model.skops", "people.csv", "--qi", "age,job", "--target", "pay,ill", "--max-certain", "3"]
    assert main([*call, "--json", "--report", "r.html", "-o", "r.csv"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["joint"]["entropy"] == pytest.approx(reviewed.joint.disclosure.entropy)
    assert found["targets"]["pay"]["estimate"]["disclosure"]["certain"] == 60
    assert (files / "r-1.html").exists()
    assert (files / "r-2.html").exists()
    assert main([*call, "--sacro", "checked"]) == 0
    [handed] = json.loads((files / "checked" / "results.json").read_text(encoding="utf-8"))["results"].values()
    told = [line for line in handed["summary"].split("; ") if line.startswith("MX202")]
    assert told == [
        "MX202 max_certain for column 1 limit 3: fail",
        "MX202 max_certain for column 2 limit 3: cannot tell",
    ]
    printed = capsys.readouterr().out
    assert (
        "model: pay: individuals whose class is certain 60 by what their leaf or group proves, at most 3: beyond"
        in printed
    )
    assert "ill by itself:\n    certain individuals 0" in printed
    assert main(["convert", "model.skops", "--param", "output=1", "--target", "ill", "-o", "ill.json"]) == 0
    assert maxent.load_release("ill.json").target.classes == ("n", "y")


@pytest.mark.parametrize("more", [["--max-certain", "3", "--adversary", "all_but_one"], ["--max-member", "0.5"]])
def test_limits_on_another_adversary_say_which_column_they_are_about(files: Any, capsys: Any, more: list[str]) -> None:
    """In words, in JSON and in the folder for checkers, which could not be written."""
    X.to_csv("register.csv", index=False)
    call = ["review", "model.skops", "people.csv", "--qi", "age,job", "--target", "pay,ill", *more]
    assert main([*call, "--population", "register.csv", "--sacro", "checked"]) == 0
    printed = capsys.readouterr().out
    assert main([*call, "--population", "register.csv", "--json"]) == 0
    whom = "all_but_one" if len(more) > 2 else "population"
    checks = [each for each in json.loads(capsys.readouterr().out)["verdict"]["checks"] if "adversary" in each]
    assert [(each["release"], each["adversary"]) for each in checks] == [("model: pay", whom), ("model: ill", whom)]
    [handed] = json.loads((files / "checked" / "results.json").read_text(encoding="utf-8"))["results"].values()
    for number, column in enumerate(BOTH, start=1):
        assert f" for {whom} for column {number} limit " in handed["summary"]
        assert f"model: {column}, for " in printed


@pytest.mark.parametrize(
    ("target", "more", "says"),
    [
        ("pay", [], "takes all where the target names a column for each), found nothing"),
        ("pay", ["--param", "output=2"], "a column for each), found output=2"),
        ("pay,ill,age", [], "the output of one of 2 sensitive columns"),
    ],
)
def test_other_columns_of_a_file_are_refused(files: Any, capsys: Any, target: str, more: list[str], says: str) -> None:
    assert main(["review", "model.skops", "people.csv", "--qi", "job", "--target", target, *more]) == 2
    assert says in capsys.readouterr().err


def test_a_file_about_one_column_is_refused_for_several(files: Any, capsys: Any) -> None:
    saved(ONE, files / "one.skops")
    call = ["people.csv", "--qi", "job", "--target"]
    assert main(["review", "one.skops", *call, "pay,ill"]) == 2
    assert "no output: the model is about one sensitive column" in capsys.readouterr().err
    assert main(["defend", "none", *call, "pay", "-o", "pay.json"]) == 0
    capsys.readouterr()
    assert main(["review", "pay.json", *call, "pay,ill"]) == 2
    told = "one sensitive column ('pay'): of others nothing follows from it, found 'pay', 'ill'"
    assert told in capsys.readouterr().err


def test_a_release_about_combinations_is_reviewed_as_one(files: Any, capsys: Any) -> None:
    table = ["people.csv", "--qi", "age,job", "--target", "pay,ill"]
    assert main(["defend", "none", *table, "--max-depth", "2", "-o", "both.json"]) == 0
    capsys.readouterr()
    assert main(["review", "both.json", *table, "--max-certain", "0"]) == 0
    printed = capsys.readouterr().out
    assert "Review of both about pay & ill: 1 tree, 60 people" in printed
    assert "  the pay by itself: that of " in printed
    found = maxent.review("both.json", X.assign(**Y), qi=QI, target=BOTH)
    assert [*found.estimate.targets] == BOTH


def test_a_notebook_shows_the_verdict_and_a_column_for_each(reviewed: Any) -> None:
    html = reviewed._repr_html_()
    assert html.index("<div>verdict: ") < html.index("<table>")
    assert "<tr><th>measure</th><th>pay</th><th>ill</th></tr>" in html
    for name, review in reviewed.reviews.items():
        assert f"<td>{review.row['certain']}</td>" in html, name
