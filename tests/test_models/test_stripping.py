"""Files and fitted models without seeds: the tools read them, predict the same, and nothing of draws is left."""

import json
import os
import re
import shutil
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io as io
from sklearn.base import clone
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxent
from maxent.__main__ import main
from maxent.models.draws import DRAWN
from maxent.models.formats.registry import own_reader
from maxent.models.formats.stripping import STRIPPERS
from maxent.models.reading import Reader

GENERATOR = np.random.default_rng(3)
X = GENERATOR.integers(0, 3, (80, 3)).astype(float)
Y = GENERATOR.integers(0, 2, 80)
MODELS = {
    "forest": RandomForestClassifier(4, random_state=5, oob_score=True),
    "own seeds": RandomForestClassifier(4),
    "regression": RandomForestRegressor(4, oob_score=True),
    "extra trees": ExtraTreesClassifier(4, bootstrap=True),
    "bag": BaggingClassifier(n_estimators=4, random_state=np.random.RandomState(3), oob_score=True),
    "part": BaggingClassifier(n_estimators=4, bootstrap=False, max_samples=0.5),
    "boosted": GradientBoostingClassifier(n_estimators=3, subsample=0.7, random_state=1),
    "early": HistGradientBoostingClassifier(max_iter=3, early_stopping=True, random_state=2),
    "pipeline": make_pipeline(StandardScaler(), RandomForestClassifier(3)),
    "search": GridSearchCV(RandomForestClassifier(3), {"random_state": [4, 5], "max_depth": [2]}, cv=2),
}
TOLD = re.compile(r"random_state|_seeds$|_random_seed$|_rng$|^_sample_weight$|^oob_.*_$")


def fitted(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rows are out of every bag
        return clone(MODELS[name]).fit(X, Y)


def told(value, name=""):
    """The names of attributes that tell of draws, in a model and in what is inside of it."""
    if TOLD.search(name) and value is not None and not isinstance(value, (dict, list, tuple)):
        return [name]
    inside = value if isinstance(value, dict) else getattr(value, "__dict__", None)
    if isinstance(inside, dict):
        return [found for key, part in inside.items() for found in told(part, str(key))]
    if isinstance(value, np.ndarray) and value.dtype == object:
        value = value.ravel().tolist()
    return [found for part in value for found in told(part)] if isinstance(value, (list, tuple)) else []


def answers(model):
    return (model.predict_proba if hasattr(model, "predict_proba") else model.predict)(X)


@pytest.mark.parametrize("name", MODELS)
def test_a_copy_of_a_fitted_model_tells_nothing_of_draws_and_predicts_the_same(name):
    model = fitted(name)
    before = told(model)
    copied = maxent.strip(model)
    assert before
    assert told(copied) == []
    assert told(model) == before
    assert (answers(copied) == answers(model)).all()
    assert copied.get_params().keys() == model.get_params().keys()


@pytest.mark.parametrize("name", sorted(MODELS.keys() - {"search"}))
def test_a_skops_file_tells_nothing_of_draws_and_predicts_the_same(name, tmp_path):
    model = fitted(name)
    io.dump(model, tmp_path / "model.skops")
    found = maxent.strip(tmp_path / "model.skops", tmp_path / "out.skops")
    trusted = io.get_untrusted_types(file=tmp_path / "out.skops")
    copied = io.load(tmp_path / "out.skops", trusted=trusted)
    assert found.removed
    assert [("small numbers" in what) for what in found.kept] == [True] * (name in {"forest", "boosted"})
    assert told(copied) == []
    assert (answers(copied) == answers(model)).all()
    before, after = (zipfile.ZipFile(tmp_path / f"{name}.skops") for name in ("model", "out"))
    same = [member for member in after.namelist() if member != "schema.json"]
    assert all(after.read(member) == before.read(member) for member in same)
    again = maxent.strip(tmp_path / "out.skops", tmp_path / "again.skops")
    assert again.removed == ()


def test_lightgbm_reads_text_without_seeds(tmp_path):
    import lightgbm

    about = {"n_estimators": 3, "subsample": 0.6, "subsample_freq": 1, "verbose": -1, "min_child_samples": 5}
    model = lightgbm.LGBMClassifier(random_state=4, **about).fit(X, Y)
    model.booster_.save_model(tmp_path / "model.txt")
    found = maxent.strip(tmp_path / "model.txt", tmp_path / "out.txt")
    assert "bagging_seed" in found.removed
    assert "seed" not in (tmp_path / "out.txt").read_text()
    kept, left = Reader(), Reader()
    own_reader("lightgbm-text").read(tmp_path / "model.txt", kept)
    own_reader("lightgbm-text").read(tmp_path / "out.txt", left)
    assert DRAWN in kept.noticed.aside
    assert DRAWN not in left.noticed.aside
    assert (lightgbm.Booster(model_file=tmp_path / "out.txt").predict(X) == model.booster_.predict(X)).all()


def test_seeds_that_everybody_knows_are_said_to_stay(tmp_path):
    import catboost
    import lightgbm

    drawing = lightgbm.LGBMClassifier(n_estimators=2, subsample=0.5, subsample_freq=1, verbose=-1)
    drawing.fit(X, Y).booster_.save_model(tmp_path / "model.txt")
    about = {"bootstrap_type": "Bernoulli", "subsample": 0.5, "verbose": 0, "allow_writing_files": False}
    model = catboost.CatBoostClassifier(iterations=2, **about).fit(X, Y)
    model.save_model(tmp_path / "model.json", format="json")
    for name in ("model.txt", "model.json"):
        found = maxent.strip(tmp_path / name, tmp_path / f"out-{name}")
        assert found.removed == ()
        assert "takes unless a seed is given" in found.kept[0]
        assert (tmp_path / f"out-{name}").read_bytes() == (tmp_path / name).read_bytes()


def test_catboost_reads_json_without_seeds(tmp_path):
    import catboost

    model = catboost.CatBoostClassifier(iterations=3, random_seed=4, verbose=0, allow_writing_files=False).fit(X, Y)
    model.save_model(tmp_path / "model.json", format="json")
    found = maxent.strip(tmp_path / "model.json", tmp_path / "out.json")
    copied = catboost.CatBoostClassifier().load_model(tmp_path / "out.json", format="json")
    assert found.removed == ("random_seed (2 times)",)
    assert "random_seed" not in (tmp_path / "out.json").read_text()
    assert (copied.predict_proba(X) == model.predict_proba(X)).all()


def test_xgboost_reads_json_whose_attributes_lost_their_seed(tmp_path):
    import xgboost

    model = xgboost.XGBClassifier(n_estimators=2).fit(X, Y)
    model.save_model(tmp_path / "model.json")
    document = json.loads((tmp_path / "model.json").read_text())
    document["learner"]["attributes"]["scikit_learn"] = json.dumps({"n_estimators": 2, "random_state": 7})
    (tmp_path / "model.json").write_text(json.dumps(document))
    found = maxent.strip(tmp_path / "model.json", tmp_path / "out.json")
    copied = xgboost.Booster(model_file=tmp_path / "out.json")
    assert found.removed == ("random_state",)
    assert json.loads(copied.attr("scikit_learn")) == {"n_estimators": 2, "random_state": None}
    assert (copied.predict(xgboost.DMatrix(X)) == model.predict_proba(X)[:, 1]).all()


@pytest.mark.skipif("MAXENT_DATA" not in os.environ, reason="MAXENT_DATA names no folder of models")
def test_a_folder_of_spark_without_seeds_reads_as_before(tmp_path):
    model = Path(os.environ["MAXENT_DATA"]) / "models" / "spark_rf_contraceptive" / "model_spark"
    shutil.copytree(model, tmp_path / "model")
    metadata = next((tmp_path / "model").glob("stages/*RandomForest*/metadata/part-*"))
    sums = metadata.with_name(f".{metadata.name}.crc")
    sums.write_bytes(b"crc")  # of the file as it was, which Hadoop would compare
    found = maxent.strip(tmp_path / "model", tmp_path / "out")
    assert found.removed == ("seed (4 times)",)
    assert not (tmp_path / "out" / sums.relative_to(tmp_path / "model")).exists()
    assert maxent.load_release(tmp_path / "out") == maxent.load_release(model)
    with pytest.raises(maxent.InvalidInput, match="which is a directory"):
        maxent.strip(tmp_path / "model", tmp_path / "out")


def test_only_draws_leave_a_release(tmp_path):
    release = maxent.convert(fitted("own seeds"), target="class", features=["a", "b", "c"])
    release.save(tmp_path / "plain.json")
    document = json.loads((tmp_path / "plain.json").read_text())
    document["release"]["draws"] = {"n": 80, "drawn": 80, "replace": True, "counts": [[1] * 80] * 4}
    (tmp_path / "told.json").write_text(json.dumps(document))
    edit = STRIPPERS["maxent/1"](str(tmp_path / "told.json"))
    del document["release"]["draws"]
    assert json.loads(edit.written[""]) == document
    assert edit.removed == {"draws": 1}


def test_the_command_replaces_nothing_without_force_and_never_its_input(tmp_path, capsys):
    io.dump(fitted("forest"), tmp_path / "model.skops")
    for call, code in (("out", 0), ("out", 2), ("model", 2)):
        assert main(["strip", f"{tmp_path}/model.skops", "-o", f"{tmp_path}/{call}.skops", "--json"]) == code
    said = capsys.readouterr()
    assert "-o: expected a new file, or --force, found" in said.err
    assert "which is there\n" in said.err
    told, _ = json.JSONDecoder().raw_decode(said.out)
    assert told == {
        "removed": ["random_state (5 times)", "oob_decision_function_", "oob_score_"],
        "kept": ["draws of random_state=5, as whoever tries small numbers finds them again: train without a seed"],
        "same_predictions": True,
    }


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda folder: maxent.strip(folder / "model.dot", folder / "out"),
            "one that can be stripped: maxent/1, skops",
        ),
        (lambda folder: maxent.strip(folder / "model.dot"), "path: expected the file to write"),
        (lambda folder: maxent.strip(fitted("forest"), folder / "out"), "save the copy yourself"),
        (lambda folder: maxent.strip(3), "a fitted model of scikit-learn"),
    ],
)
def test_what_cannot_be_stripped_is_said(call, message, tmp_path):
    (tmp_path / "model.dot").write_text('digraph Tree {\nnode [shape=box] ;\n0 [label="x"] ;\n}')
    with pytest.raises(maxent.InvalidInput, match=re.escape(message)):
        call(tmp_path)


def test_seeds_of_boosting_libraries_are_in_their_own_files():
    import lightgbm

    model = make_pipeline(StandardScaler(), lightgbm.LGBMClassifier(n_estimators=2, verbose=-1)).fit(pd.DataFrame(X), Y)
    with pytest.raises(maxent.InvalidInput, match=r"save it .as text or JSON., and strip that file"):
        maxent.strip(model)
