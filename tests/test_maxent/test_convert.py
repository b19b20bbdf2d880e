"""``maxent convert`` and `maxent.convert`: a model as a release, with what survived; and what is refused."""

import gzip
import json
import pickle
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from sklearn.ensemble import RandomForestClassifier, StackingClassifier, VotingClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from support.calls import printed_by, refused
from support.paths import D1
from support.strategies import Case, cases, leaves_of, thorough

import maxent
from maxent.__main__ import main
from maxent.api.predict import predict
from maxent.models.errors import InvalidInput
from maxent.models.trees.predict import predict as classes_of
from maxent.models.trees.predict import predict_proba

MODEL, TRUTH = str(D1 / "model.txt"), str(D1 / "truth.csv")
QI = ["Education", "Country", "Gender"]


def test_a_model_becomes_a_release_and_json_says_what_survived(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "tree.json"
    call = ["convert", MODEL, "--train", TRUTH, "--target", "Salary", "--qi", "Education,Country", "-o", str(out)]
    found = json.loads(printed_by(capsys, [*call, "--json"]).out)
    assert found == {
        "format": "export-text",
        "tool": "scikit-learn",
        "trees": 1,
        "leaves": 6,
        "states": {"counts": True, "n": True, "rates": False, "labels": True, "linear": False},
        "lost": ["the criterion, so that nothing follows from the choice of splits"],
        "exact": True,
    }
    release = maxent.load_release(out)
    assert {a.name: a.role for a in release.attributes} == {
        "Education": "public",
        "Country": "public",
        "Gender": "private",
    }
    said = printed_by(capsys, call).out
    assert "1 tree with 6 leaves" in said
    assert "lost: the criterion" in said
    assert main(["estimate", str(out), str(D1 / "qi.csv")]) == 0
    assert release == maxent.convert(MODEL, train=TRUTH, target="Salary", qi=QI[:2])


def test_a_training_table_without_the_columns_that_the_model_tests_is_refused(tmp_path: Path) -> None:
    (tmp_path / "dump.txt").write_text("booster[0]:\n0:[f0<2.5] yes=1,no=2,missing=1\n\t1:leaf=0.1\n\t2:leaf=-0.1\n")
    frame = pd.DataFrame({"age": [1, 2, 3, 4], "state": ["a", "b", "a", "b"]})
    given = {"target": "state", "train": frame, "parameters": {"base_score": 0.5, "objective": "binary:logistic"}}
    refused(r"f0: .*features= names the columns of the model's input", maxent.convert, tmp_path / "dump.txt", **given)
    found = maxent.convert(tmp_path / "dump.txt", features=["age"], **given)
    assert [attribute.name for attribute in found.attributes] == ["age"]


def test_predictions_are_made_in_python_too() -> None:
    release = maxent.convert(MODEL, train=TRUTH, target="Salary")
    found = maxent.predict(release, pd.read_csv(TRUTH))
    assert isinstance(found, maxent.Predicted)
    assert found.frame["predicted"].tolist() == maxent.predict(release, TRUTH).frame["predicted"].tolist()
    assert found.summary["rows"] == len(found.frame) == sum(found.summary["predicted"].values())


def test_the_training_table_is_only_there_for_domains(tmp_path: Path) -> None:
    frame = pd.read_csv(TRUTH)
    known = maxent.convert(MODEL, train=frame, target="Salary")
    more = pd.concat([frame, frame.iloc[:1].assign(Education="Bachelor")])
    refused("training table", maxent.convert, MODEL, train=more, target="Salary")
    assert known.attributes[0].values == ("Doctorate", "Masters")


REFUSED = {
    "pickle": ("model.pkl", lambda: pickle.dumps([1]), "maxent.convert(model)"),
    "joblib": ("model.joblib", lambda: b"\x80\x05anything", "skops"),
    "zipped joblib": ("model", lambda: zlib.compress(pickle.dumps([1])), "skops"),
    "rds": ("model.rds", lambda: gzip.compress(b"X\n\0\0\0\3"), "in R, print the tree"),
    "renamed rds": ("model.txt", lambda: gzip.compress(b"X\n\0\0\0\3"), "in R, print the tree"),
    "java": ("weka.model", lambda: b"\xac\xed\0\5sr", "the text that Weka prints"),
    "catboost": ("model.cbm", lambda: b"CBM1....", "save the model as JSON"),
    "unknown": ("model.bin", lambda: b"\0\1\2", "which --from can name"),
    "records": ("model.csv", lambda: b"a,b\n1,2\n", "a model"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_read_soundly_is_refused_with_the_way_out(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, content, words = REFUSED[kind]
    (tmp_path / name).write_bytes(content())
    assert words in printed_by(capsys, ["convert", str(tmp_path / name), "-o", str(tmp_path / "tree.json")], 2).err
    assert not (tmp_path / "tree.json").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--param", "rate"], "--param: expected NAME=VALUE"),
        (["--param", "rate=1"], "--param: expected none"),
        (["--qi", "Age"], "--qi: expected attributes of the model"),
        (["--qi", "Country_USA,Country_USA"], "each name once"),
        (["--classes", "a"], "as many names of classes as weights"),
        (["--train", "none.csv"], "no such file"),
        (["--train", TRUTH, "--target", "Wage"], "Wage"),
    ],
)
def test_a_wrong_call_is_refused(
    options: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in printed_by(capsys, ["convert", MODEL, *options, "-o", str(tmp_path / "tree.json")], 2).err


def test_a_release_is_one_already(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(D1 / "tree.json"), "-o", str(tmp_path / "tree.json"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["format"] == "maxent/1"
    assert maxent.load_release(tmp_path / "tree.json") == maxent.load_release(D1 / "tree.json")


def test_models_of_scikit_learn_are_converted_as_they_are() -> None:
    frame = pd.read_csv(TRUTH)
    x = pd.get_dummies(frame[QI]).astype(int)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(x, frame["Salary"])
    found = maxent.convert(tree, target="Salary", qi=list(x.columns)[:2])
    assert [a.role for a in found.attributes] == ["public", "public", *["private"] * (x.shape[1] - 2)]
    assert maxent.convert(tree).target.name == "class"
    assert len(maxent.convert(RandomForestClassifier(2, random_state=0).fit(x, frame["Salary"])).trees) == 2
    for wrong in ({"qi": ["Age"]}, {"train": frame}, {"parameters": {"a": 1}}, {"classes": "ab"}, {"target": 3}):
        with pytest.raises(InvalidInput):
            maxent.convert(tree, **wrong)


TREE, PREDICT_QI = str(D1 / "tree.json"), str(D1 / "qi.csv")


@thorough(15)
@given(case=cases(trees=(1, 2)))
def test_rows_stay_as_they_are_and_have_class_shares_and_leaf(case: Case) -> None:
    found = predict(case.release, case.people.frame).frame
    assert list(found.columns[: case.people.frame.shape[1]]) == list(case.people.frame.columns)
    assert found["predicted"].tolist() == classes_of(case.release, case.people.frame).tolist()
    shares = [f"P({c})" for c in case.release.target.classes if f"P({c})" in found.columns]
    if shares:
        np.testing.assert_array_equal(found[shares], predict_proba(case.release, case.people.frame))
    for row, reached in zip(found["leaf"], leaves_of(case.release, case.people.frame), strict=True):
        for tree, node, place in zip(case.release.trees, row.split(), reached.tolist(), strict=True):
            if place < len(tree.nodes):
                assert node.split(":")[1] == tree.nodes[place].id


@thorough(10)
@given(case=cases())
def test_shares_are_only_there_where_they_are_stated(case: Case) -> None:
    found = predict(case.release, case.people.frame)
    assert found.summary["shares"] == any(name.startswith("P(") for name in found.frame.columns)


def test_shares_are_not_made_of_labels(tmp_path: Path) -> None:
    document = json.loads(Path(TREE).read_text(encoding="utf-8"))
    for node in document["trees"][0]["nodes"]:
        for key in ("error_rate", "n", "counts"):
            node.pop(key, None)
    (tmp_path / "tree.json").write_text(json.dumps(document), encoding="utf-8")
    assert [*predict(tmp_path / "tree.json", PREDICT_QI).frame.columns[-2:]] == ["predicted", "leaf"]


def test_the_file_has_the_rows_in_their_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.csv"
    assert "rows; predicted" in printed_by(capsys, ["predict", TREE, PREDICT_QI, "-o", str(out)]).out
    before, after = pd.read_csv(PREDICT_QI, dtype=str), pd.read_csv(out, dtype=str)
    pd.testing.assert_frame_equal(after[before.columns], before)
    assert printed_by(capsys, ["predict", TREE, PREDICT_QI]).out == out.read_text(encoding="utf-8")


def test_names_of_columns_do_not_collide(tmp_path: Path) -> None:
    pd.read_csv(PREDICT_QI).assign(predicted="mine", leaf="=1+1").to_csv(tmp_path / "data.csv", index=False)
    out = tmp_path / "out.csv"
    assert main(["predict", TREE, str(tmp_path / "data.csv"), "-o", str(out)]) == 0
    found = pd.read_csv(out)
    assert {"predicted", "leaf", "maxent_predicted", "maxent_leaf"} <= {*found.columns}
    assert set(found["leaf"]) == {"'=1+1"}
    assert main(["predict", TREE, str(tmp_path / "data.csv"), "-o", str(out), "--csv-literal"]) == 0
    assert set(pd.read_csv(out)["leaf"]) == {"=1+1"}


def test_the_object_of_json_is_alone_and_says_what_was_predicted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["predict", TREE, PREDICT_QI, "--json", "-o", str(tmp_path / "out.json")]) == 0
    summary = json.loads(capsys.readouterr().out)
    rows = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["rows"]
    assert summary["rows"] == len(rows) == sum(summary["predicted"].values())
    assert {"trees", "predicts", "shares", "without_leaf", "notes"} <= summary.keys()


def test_what_cannot_be_predicted_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = pd.read_csv(PREDICT_QI)
    table.iloc[:, 1:].to_csv(tmp_path / "data.csv", index=False)
    assert main(["predict", TREE, str(tmp_path / "data.csv"), "-o", str(tmp_path / "out.csv")]) == 2
    assert table.columns[0] in capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()
    assert "a release of trees" in printed_by(capsys, ["predict", PREDICT_QI, PREDICT_QI], 2).err
    assert main(["predict", TREE, PREDICT_QI, "-o", PREDICT_QI]) == 2


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Records with a class in two spellings, and one in two cases; and a table with holes."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"job": rng.choice(list("abc"), 60), "zip": rng.choice(["01102", "10001"], 60)})
    data["y"] = rng.choice(["low", "high"], 60)
    data.to_csv("plain.csv", index=False)
    data.assign(y=data["y"].where(data.index % 2 == 0, data["y"] + " ")).to_csv("blank.csv", index=False)
    data.assign(job=data["job"].where(data.index != 5, "n.a.")).to_csv("holes.csv", index=False)
    data.assign(job=data["job"].where(data.index != 5, "A")).to_csv("case.csv", index=False)
    return tmp_path


def run(capsys, *arguments):
    status = main(list(arguments))
    printed = capsys.readouterr()
    return status, printed.out, printed.err


DEFEND = ("--target", "y", "--qi", "job,zip", "--k", "3", "-o", "tree.json")


@pytest.mark.regression(number=1)
def test_blanks_are_refused_and_stripped_when_asked(folder, capsys):
    status, out, err = run(capsys, "defend", "prune-parent", "blank.csv", *DEFEND)
    assert (status, out) == (2, "")
    for said in ("'low'", "'low '", "--text strip", "--text exact"):
        assert said in err
    assert not (folder / "tree.json").exists()
    status, out, _ = run(capsys, "defend", "prune-parent", "blank.csv", *DEFEND, "--text", "strip", "--json")
    assert status == 0
    assert "blank.csv: column 'y': 'high' and 'high ' are read as one value" in "\n".join(json.loads(out)["notes"])
    assert json.loads((folder / "tree.json").read_text())["target"]["classes"] == ["high", "low"]
    assert run(capsys, "estimate", "tree.json", "blank.csv", "--truth", "blank.csv")[0] == 2
    for command in ("estimate", "compare"):
        call = [command, "tree.json", "blank.csv", "--truth", "blank.csv", "--text", "strip", "--json"]
        assert run(capsys, *call)[0] == 0
    assert run(capsys, "audit", "tree.json", "blank.csv", "--text", "strip")[0] == 0
    assert run(capsys, "explain", "tree.json", "blank.csv", "--text", "strip")[0] == 0


@pytest.mark.regression(number=2)
def test_missing_values_are_what_na_names(folder, capsys):
    call = ["defend", "prune-parent", "holes.csv", *DEFEND, "--missing", "category", "--json"]
    status, out, _ = run(capsys, *call)
    assert status == 0
    assert "missing" not in json.loads(out)
    status, out, err = run(capsys, *call, "--na", "NA,n.a.")
    assert status == 0
    assert json.loads(out)["missing"] == {"holes.csv": {"job": 1}}
    assert "note: holes.csv: column 'job' has no value on 1 line ('n.a.' on 1 line): that is read as '(missing)'" in err
    status, out, err = run(capsys, "audit", "tree.json", "holes.csv", "--na", "NA", "--na", "n.a.", "--json")
    assert status == 0
    assert json.loads(out)["missing"] == {"holes.csv": {"job": 1}}
    assert run(capsys, "audit", "tree.json", "holes.csv")[0] == 2


def test_notes_go_to_standard_error_once(folder, capsys):
    status, out, err = run(capsys, "defend", "prune-parent", "case.csv", *DEFEND)
    assert status == 0
    assert "differ only by case" not in out
    assert err.count("differ only by case") == 1
    assert "has '01102', and a number has no leading zeros" in err


FILES = Path(__file__).parents[1] / "test_models" / "boosted_files"


class Model:
    """A stand-in for a tool's model, which saves a file of that tool; the tools are not here."""

    def __init__(self, name: str) -> None:
        self.file = FILES / name

    def save_model(self, path: str, **how: Any) -> None:
        assert how in ({}, {"format": "json"})
        assert path.endswith(self.file.suffix)
        Path(path).write_text(self.file.read_text() if self.file.exists() else "{}")


class Xgboost(Model):
    __module__ = "xgboost.sklearn"


class Catboost(Model):
    __module__ = "catboost.core"


class Booster(Model):
    def feature_name(self) -> list[str]:
        return self.file.read_text().split("feature_names=")[1].splitlines()[0].split(" ")


class Lightgbm:
    __module__ = "lightgbm.sklearn"
    classes_ = ("no", "yes")

    @property
    def booster_(self) -> Model:
        return Booster("lightgbm-binary.txt")


class Unfitted(Model):
    __module__ = "xgboost.sklearn"

    def save_model(self, path: str, **how: Any) -> None:
        raise ValueError("need to call fit")


def test_a_model_is_what_its_file_is() -> None:
    assert maxent.convert(Xgboost("xgboost-binary.json")) == maxent.convert(FILES / "xgboost-binary.json")
    assert maxent.convert(Catboost("catboost-binary.json")) == maxent.convert(FILES / "catboost-binary.json")
    lightgbm = FILES / "lightgbm-binary.txt"
    assert maxent.convert(Lightgbm()) == maxent.convert(lightgbm, classes=Lightgbm.classes_)
    assert maxent.convert(Lightgbm(), classes=["a", "b"]) == maxent.convert(lightgbm, classes=["a", "b"])


def test_a_review_knows_the_classes_that_lightgbm_keeps() -> None:
    i = np.arange(180)  # the people whom the file is of: test_boosted_counts.py
    age, hours = (i * 37 % 53).astype(float), (i * i % 29).astype(float)
    work = np.array(list("abcdefg"))[(i * 11 + i // 7) % 7]
    reasons = (age > 25).astype(int) + (hours > 12) + np.isin(work, ["b", "e"]) + (i % 5 == 0)
    X = pd.DataFrame({"age": age, "hours": hours, "work": work})
    y = pd.Series(np.where(reasons >= 2, "yes", "no"), name="state")
    found = maxent.review(Lightgbm(), X, y, qi=["age"], time_limit=5)
    assert (found.release.target.name, found.release.target.classes) == ("state", ("no", "yes"))
    assert [attribute.role for attribute in found.release.attributes] == ["public", "private", "private"]
    of_array = maxent.review(Lightgbm(), np.column_stack([age, hours, work == "a"]), y, qi=["x1"], time_limit=5)
    assert [attribute.name for attribute in of_array.release.attributes] == ["x0", "x1", "x2"]


def test_errors_name_the_model() -> None:
    with pytest.raises(InvalidInput, match=r"fitted model that its tool saves.*Unfitted: 'need to call fit'"):
        maxent.review(Unfitted("none.json"), pd.DataFrame({"age": [20, 30]}), [0, 1], qi=["age"])
    refused(r"^Xgboost: ", maxent.convert, Xgboost("broken.json"))


PEOPLE = pd.DataFrame({"years of age": np.arange(120) * 37 % 53, "hours": np.arange(120) ** 2 % 29})
CASE = pd.Series(np.where(PEOPLE["years of age"] + PEOPLE["hours"] > 35, "yes", "no"), name="case")


def live(tool: str) -> Any:
    if tool == "lightgbm":
        return pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=2, min_child_samples=5, verbose=-1)
    if tool == "xgboost":
        return pytest.importorskip("xgboost").XGBClassifier(n_estimators=2, max_depth=3)
    quiet = {"verbose": 0, "allow_writing_files": False}
    return pytest.importorskip("catboost").CatBoostClassifier(n_estimators=2, max_depth=3, **quiet)


@pytest.mark.filterwarnings("ignore")  # of the tools
@pytest.mark.parametrize("tool", ["lightgbm", "xgboost", "catboost"])
def test_behind_steps_and_in_a_search_a_model_predicts_as_its_tool(tool: str) -> None:
    y = (CASE == "yes").astype(int).rename("case")
    models = [
        live(tool).fit(PEOPLE, y),
        GridSearchCV(live(tool), {"max_depth": [2, 3]}, cv=2).fit(PEOPLE, y),
        make_pipeline(StandardScaler(), live(tool)).fit(PEOPLE, y),
        GridSearchCV(make_pipeline(StandardScaler(), live(tool)), {}, cv=2).fit(PEOPLE, y),
    ]
    for model in models:
        release = maxent.convert(model, target="case", train=PEOPLE.assign(case=y))
        assert [attribute.name for attribute in release.attributes] == [*PEOPLE]
        predicted = maxent.predict(release, PEOPLE).frame["predicted"]
        assert predicted.astype(int).tolist() == model.predict(PEOPLE).tolist()
    found = maxent.review(models[2], PEOPLE, y, qi=["years of age"], time_limit=5)
    assert found.release.attributes[0].role == "public"


def test_models_that_cannot_be_read_say_what_leads_on() -> None:
    both = DecisionTreeClassifier(max_depth=2).fit(PEOPLE, np.column_stack([CASE == "yes", PEOPLE["hours"] > 9]))
    with pytest.raises(InvalidInput, match=r"y: node L1 of a tree: classes: expected counts .* as in the model"):
        maxent.review(both, PEOPLE, np.zeros((len(PEOPLE), 2)), qi=["hours"])
    for kind in (StackingClassifier, VotingClassifier):
        model = kind([("tree", DecisionTreeClassifier(max_depth=2))]).fit(PEOPLE, CASE)
        with pytest.raises(InvalidInput, match=r"a release of each of its estimators_.*together to maxent.estimate"):
            maxent.review(model, PEOPLE, CASE, qi=["hours"])
    with pytest.raises(InvalidInput, match=r"bins: expected none, .*cut the target into intervals"):
        maxent.convert(FILES / "xgboost-binary.json", bins=[0, 1, 2])
