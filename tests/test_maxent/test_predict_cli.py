"""``maxent predict``: the rows of a table with what the release predicts for each."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from support.paths import D1
from support.strategies import Case, cases, leaves_of, thorough

from maxent.__main__ import main
from maxent.api.predict import predict
from maxent.models.trees.predict import predict as classes_of
from maxent.models.trees.predict import predict_proba

TREE, QI = str(D1 / "tree.json"), str(D1 / "qi.csv")


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
    found = predict(tmp_path / "tree.json", QI)
    assert [*found.frame.columns[-2:]] == ["predicted", "leaf"]


def test_the_file_has_the_rows_in_their_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.csv"
    assert main(["predict", TREE, QI, "-o", str(out)]) == 0
    assert "rows; predicted" in capsys.readouterr().out
    before, after = pd.read_csv(QI, dtype=str), pd.read_csv(out, dtype=str)
    pd.testing.assert_frame_equal(after[before.columns], before)
    assert main(["predict", TREE, QI]) == 0
    assert capsys.readouterr().out == out.read_text(encoding="utf-8")


def test_names_of_columns_do_not_collide(tmp_path: Path) -> None:
    table = pd.read_csv(QI).assign(predicted="mine", leaf="=1+1")
    table.to_csv(tmp_path / "data.csv", index=False)
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
    assert main(["predict", TREE, QI, "--json", "-o", str(tmp_path / "out.json")]) == 0
    summary = json.loads(capsys.readouterr().out)
    rows = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["rows"]
    assert summary["rows"] == len(rows) == sum(summary["predicted"].values())
    assert {"trees", "predicts", "shares", "without_leaf", "notes"} <= summary.keys()


def test_what_cannot_be_predicted_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = pd.read_csv(QI)
    table.iloc[:, 1:].to_csv(tmp_path / "data.csv", index=False)
    assert main(["predict", TREE, str(tmp_path / "data.csv"), "-o", str(tmp_path / "out.csv")]) == 2
    assert table.columns[0] in capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()
    assert main(["predict", QI, QI]) == 2
    assert "a release of trees" in capsys.readouterr().err
    assert main(["predict", TREE, QI, "-o", QI]) == 2
