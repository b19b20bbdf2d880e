"""Models of Spark: folders of pipelines, whose stages are undone, text of trees; and what is none of them."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.calls import refused
from support.models import read_model as read
from support.paths import SEEDS

from maxent.models.formats.registry import reader_for
from maxent.models.trees.predict import predict, predict_proba

TRAIN = SEEDS / "train.csv"
PEOPLE = pd.read_csv(TRAIN)
NUMBERS = {
    "age": [30.0, 40, 25, 33, 52, 61, 45, 38, 29, 57, 36],
    "hours": [40.0, 38, 20, 45, 50, 40, 60, 35, 30, 44, 41],
}
TREE = ["<=50K", ">50K", "<=50K", "<=50K", *[">50K"] * 7]
# What Spark predicts.
BOOSTED = ["<=50K", ">50K", "<=50K", "<=50K", "<=50K", ">50K", ">50K", ">50K", "<=50K", ">50K", ">50K"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(SEEDS / "spark", tmp_path / "model")
    return tmp_path / "model"


def stage(folder: Path, number: int) -> Path:
    return next((folder / "stages").glob(f"{number}_*"))


def change(folder: Path, how: Callable[[dict[str, Any]], None]) -> None:
    """Change the metadata of a folder."""
    path = folder / "metadata" / "part-00000"
    found = json.loads(path.read_text(encoding="utf-8"))
    how(found)
    path.write_text(json.dumps(found), encoding="utf-8")


def rewrite(folder: Path, how: Callable[[list[dict[str, Any]]], None]) -> None:
    """Change the rows of the data of a folder."""
    path = folder / "data" / "part-00000.snappy.parquet"
    found = parquet.read_table(path)
    rows = found.to_pylist()
    how(rows)
    parquet.write_table(pa.Table.from_pylist(rows, found.schema), path)


def test_a_pipeline_is_undone_and_counts_as_its_table(folder: Path) -> None:
    assert reader_for(folder).name == "spark"
    for wanted in ({}, {"train": TRAIN}):
        found = read(folder, **wanted)
        assert found.release.target.name == "Salary"
        assert {a.name for a in found.release.attributes} == {"Education", "Country", "Gender"}
        assert list(predict(found.release, PEOPLE)) == TREE
        assert found.states["counts"]
        assert sum(leaf.n or 0 for leaf in found.release.trees[0].leaves) == 11
        assert found.exact


def test_categories_that_are_kept_go_where_spark_sends_them(folder: Path) -> None:
    found = read(folder)
    strange = PEOPLE.head(3).assign(Education=["Bachelor", None, "Masters"], Country=["USA", "USA", None])
    predict(found.release, strange)  # they have a value of their own
    change(stage(folder, 1), lambda about: about["paramMap"].update(handleInvalid="error"))
    refused("missing", predict, read(folder).release, strange)


def test_boosted_trees_have_scores(tmp_path: Path) -> None:
    found = read(SEEDS / "spark.2")
    rows = PEOPLE.assign(**NUMBERS)
    assert list(predict(found.release, rows)) == BOOSTED
    assert found.release.boosting is not None
    assert found.release.boosting.link == "logit"
    assert [tree.weight for tree in found.release.trees] == [2.0, 0.2]
    table = tmp_path / "train.csv"
    rows.to_csv(table, index=False)
    assert read(SEEDS / "spark.2", train=table).states["n"]
    text = read(SEEDS / "spark-text.2.txt", features=("c", "sa", "sh", "b"), classes=("<=50K", ">50K"))
    scaled = (rows[["age", "hours"]] - rows[["age", "hours"]].mean()) / rows[["age", "hours"]].std()
    coded = pd.DataFrame({"sa": scaled["age"], "sh": scaled["hours"]})
    np.testing.assert_allclose(predict_proba(text.release, coded), predict_proba(found.release, rows))


def test_a_forest_counts_draws_of_its_own(folder: Path) -> None:
    model = stage(folder, 4)
    change(model, lambda about: about.update({"class": about["class"].replace("DecisionTree", "RandomForest")}))
    schema = pa.schema([("_1", pa.int32()), ("_2", pa.string()), ("_3", pa.float64())])
    (model / "treesMetadata").mkdir()
    rows = [{"_1": i, "_2": "{}", "_3": 1.0} for i in range(2)]
    parquet.write_table(pa.Table.from_pylist(rows, schema), model / "treesMetadata" / "part-0.parquet")
    path = model / "data" / "part-00000.snappy.parquet"
    nodes = parquet.read_table(path).to_pylist()
    several = [{"treeID": tree, "nodeData": node} for tree in range(2) for node in nodes]
    parquet.write_table(pa.Table.from_pylist(several), path)
    found = read(folder)
    assert (found.release.predicts, found.states["counts"], found.release.resampled) == ("score", False, None)
    assert list(predict(found.release, PEOPLE)) == TREE
    assert read(folder, train=TRAIN).states["counts"]  # these trees do count all records
    change(model, lambda about: about["paramMap"].update(bootstrap=False, subsamplingRate=1.0))
    assert read(folder).states["counts"]


def test_a_model_without_its_pipeline_has_places_and_codes(folder: Path) -> None:
    alone = stage(folder, 4)
    found = read(alone)
    assert [a.name for a in found.release.attributes] == ["feature 0", "feature 1", "feature 2"]
    assert found.release.target.classes == ("0", "1")
    coded = pd.DataFrame({"Education": ["0", "1"], "Country": ["0", "1"], "Gender": ["1", "0"]})
    named = read(alone, features=("Education", "Country", "Gender", "more"), classes=(">50K", "<=50K"))
    assert set(predict(named.release, coded)) <= {"<=50K", ">50K"}
    refused("whole pipeline", read, alone, features=("Education", "Country", "Gender", "more"), train=TRAIN)


def test_text_of_a_tree_has_labels_only() -> None:
    found = read(SEEDS / "spark-text.txt", features=("e", "c", "g", "h"), classes=("<=50K", ">50K"))
    assert found.states == {"counts": False, "n": False, "rates": False, "labels": True, "linear": False}
    codes = {"e": ["1", "0", "0", "0"], "c": ["0", "1", "1", "0"], "g": ["0", "0", "1", "1"]}
    assert list(predict(found.release, pd.DataFrame(codes))) == ["<=50K", "<=50K", ">50K", "<=50K"]
    assert any("codes" in lost for lost in found.lost)


@pytest.mark.parametrize(
    ("change_", "match"),
    [
        (("RandomForestClassificationModel: uid=x, numTrees=1",), "shares of classes at every leaf"),
        (("DecisionTreeRegressionModel: uid=x", "Predict: 1.5"), "bin the target"),
        (("DecisionTreeClassificationModel: uid=x", "If (feature 0 <= 1.0)", "Predict: 0.0"), "both branches"),
        (("DecisionTreeClassificationModel: uid=x", "Predict: 0.0", "Predict: 0.0"), "the end of the tree"),
        (("DecisionTreeClassificationModel: uid=x", "Predict: 0.5"), "the code of a class"),
    ],
)
def test_text_that_cannot_be_read_is_refused(tmp_path: Path, change_: tuple[str, ...], match: str) -> None:
    path = tmp_path / "tree.txt"
    path.write_text("\n".join(change_), encoding="utf-8")
    assert reader_for(path).name == "spark-text"
    refused(match, read, path)


def _unknown_stage(folder: Path) -> None:
    change(stage(folder, 2), lambda about: about.update({"class": "org.apache.spark.ml.feature.PCAModel"}))


def _cycle(folder: Path) -> None:
    rewrite(stage(folder, 4), lambda rows: rows[0].update(leftChild=0))


def _no_split(folder: Path) -> None:
    rewrite(stage(folder, 4), lambda rows: rows[0]["split"].update(leftCategoriesOrThreshold=[7.0]))


def _regression(folder: Path) -> None:
    name = "org.apache.spark.ml.regression.DecisionTreeRegressionModel"
    change(stage(folder, 4), lambda about: about.update({"class": name}))


def _damaged(folder: Path) -> None:
    path = stage(folder, 4) / "data" / "part-00000.snappy.parquet"
    path.write_bytes(path.read_bytes()[:-200])


def _other_class(folder: Path) -> None:
    change(folder, lambda about: about.update({"class": "com.example.Model"}))


def _thresholds(folder: Path) -> None:
    change(stage(folder, 4), lambda about: about["paramMap"].update(thresholds=[0.3, 0.7]))


def _huge(folder: Path) -> None:
    """A small file with very many values."""
    path = stage(folder, 4) / "data" / "part-00000.snappy.parquet"
    parquet.write_table(pa.table({"id": np.zeros(3_000_000, np.int32)}), path)


@pytest.mark.parametrize(
    ("spoil", "match"),
    [
        (_unknown_stage, "a stage that can be undone, not PCAModel"),
        (_cycle, "each below one other"),
        (_no_split, "codes of categories"),
        (_regression, "bin the target"),
        (_damaged, "a Parquet file that is whole"),
        (_other_class, "a class of org.apache.spark.ml."),
        (_thresholds, "the largest share"),
        (_huge, "values for each byte"),
    ],
)
def test_folders_that_cannot_be_read_are_refused(folder: Path, spoil: Callable[[Path], None], match: str) -> None:
    spoil(folder)
    refused(match, read, folder)
