"""``maxent convert`` and `maxent.convert`: a model as a release, with what survived; and what is refused."""

import gzip
import json
import pickle
import zlib
from pathlib import Path

import pandas as pd
import pytest
from support.paths import D1

import maxent
from maxent.__main__ import main
from maxent.models.errors import InvalidInput

MODEL, TRUTH = str(D1 / "model.txt"), str(D1 / "truth.csv")
QI = ["Education", "Country", "Gender"]


def test_a_model_becomes_a_release_and_json_says_what_survived(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "tree.json"
    call = ["convert", MODEL, "--train", TRUTH, "--target", "Salary", "--qi", "Education,Country", "-o", str(out)]
    assert main([*call, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
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
    assert main(call) == 0
    said = capsys.readouterr().out
    assert "1 tree with 6 leaves" in said
    assert "lost: the criterion" in said
    assert main(["estimate", str(out), str(D1 / "qi.csv")]) == 0
    assert release == maxent.convert(MODEL, train=TRUTH, target="Salary", qi=QI[:2])


def test_a_training_table_without_the_columns_that_the_model_tests_is_refused(tmp_path: Path) -> None:
    (tmp_path / "dump.txt").write_text("booster[0]:\n0:[f0<2.5] yes=1,no=2,missing=1\n\t1:leaf=0.1\n\t2:leaf=-0.1\n")
    frame = pd.DataFrame({"age": [1, 2, 3, 4], "state": ["a", "b", "a", "b"]})
    given = {"target": "state", "train": frame, "parameters": {"base_score": 0.5, "objective": "binary:logistic"}}
    with pytest.raises(InvalidInput, match=r"f0: .*features= names the columns of the model's input"):
        maxent.convert(tmp_path / "dump.txt", **given)
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
    with pytest.raises(InvalidInput, match="training table"):
        maxent.convert(MODEL, train=more, target="Salary")
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
    assert main(["convert", str(tmp_path / name), "-o", str(tmp_path / "tree.json")]) == 2
    assert words in capsys.readouterr().err
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
    assert main(["convert", MODEL, *options, "-o", str(tmp_path / "tree.json")]) == 2
    assert words in capsys.readouterr().err


def test_a_release_is_one_already(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", str(D1 / "tree.json"), "-o", str(tmp_path / "tree.json"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["format"] == "maxent/1"
    assert maxent.load_release(tmp_path / "tree.json") == maxent.load_release(D1 / "tree.json")


def test_models_of_scikit_learn_are_converted_as_they_are() -> None:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    frame = pd.read_csv(TRUTH)
    x = pd.get_dummies(frame[QI]).astype(int)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(x, frame["Salary"])
    found = maxent.convert(tree, target="Salary", qi=list(x.columns)[:2])
    assert [a.role for a in found.attributes] == ["public", "public", *["private"] * (x.shape[1] - 2)]
    assert maxent.convert(tree).target.name == "class"
    forest = RandomForestClassifier(2, random_state=0).fit(x, frame["Salary"])
    assert len(maxent.convert(forest).trees) == 2
    for wrong in ({"qi": ["Age"]}, {"train": frame}, {"parameters": {"a": 1}}, {"classes": "ab"}, {"target": 3}):
        with pytest.raises(InvalidInput):
            maxent.convert(tree, **wrong)
