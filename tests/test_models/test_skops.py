"""Models that skops saved: read as they are when they are there, by trusted types alone, in bounded memory."""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_selection import SelectKBest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, KBinsDiscretizer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from support.calls import refused
from support.models import read_model

import maxent
from maxent.models.errors import InvalidInput
from maxent.models.formats.registry import reader_for
from maxent.models.formats.release_reader import Converted
from maxent.models.trees.predict import predict, predict_proba


def saved(model: Any, path: Path, edit: Callable[[dict[str, Any]], None] | None = None, **how: Any) -> Path:
    """Save a model as skops does, after a change to its description."""
    with zipfile.ZipFile(path, "w", **how) as archive:
        schema = state(model, archive)
        if edit is not None:
            edit(schema)
        archive.writestr("schema.json", json.dumps(schema))
    return path


def state(value: Any, archive: zipfile.ZipFile) -> dict[str, Any]:
    """The description of a value; arrays go into the archive."""
    kind = type(value)
    named = {"__class__": kind.__name__, "__module__": kind.__module__}
    if value is None or kind in (str, int, float, bool):
        return {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": json.dumps(value)}
    if isinstance(value, type):
        return {"__class__": value.__name__, "__module__": value.__module__, "__loader__": "TypeNode"}
    if kind in (list, tuple):
        inner = [state(item, archive) for item in value]
        return named | {"__loader__": "ListNode" if kind is list else "TupleNode", "content": inner}
    if kind is dict:
        keys = {"__loader__": "ListNode", "content": [state(type(key), archive) for key in value]}
        inner = {str(key): state(item, archive) for key, item in value.items()}
        return named | {"__loader__": "DictNode", "content": inner, "key_types": keys}
    if kind is slice:
        ends = {"start": value.start, "stop": value.stop, "step": value.step}
        return named | {"__loader__": "SliceNode", "content": ends}
    if isinstance(value, np.ndarray) and value.dtype == object:
        inner = [state(item, archive) for item in value.tolist()]
        shape = state(value.shape, archive)
        return named | {"__loader__": "NdArrayNode", "type": "json", "content": inner, "shape": shape}
    if isinstance(value, np.dtype):
        return {"__loader__": "DTypeNode", "content": state(np.zeros(0, value), archive)}
    if isinstance(value, (np.ndarray, np.generic)):
        buffer, name = io.BytesIO(), f"{len(archive.namelist()) + 1}.npy"
        np.save(buffer, value, allow_pickle=False)
        archive.writestr(name, buffer.getvalue())
        return named | {"__module__": "numpy", "__loader__": "NdArrayNode", "type": "numpy", "file": name}
    if kind.__name__ == "Tree":
        return named | {"__loader__": "TreeNode", "content": state(value.__getstate__(), archive)}
    if kind.__module__.startswith(("sklearn._loss", "numpy.random", "functools")) or callable(value):
        module = getattr(value, "__module__", kind.__module__)
        return {"__class__": getattr(value, "__name__", kind.__name__), "__module__": module, "__loader__": "OtherNode"}
    return named | {"__loader__": "ObjectNode", "content": state(value.__getstate__(), archive)}


def people() -> tuple[pd.DataFrame, Any]:
    rng = np.random.default_rng(5)
    x = pd.DataFrame({"größe": rng.normal(size=120), "age": rng.integers(18, 60, 120) * 1.0})
    signal = (x["größe"].rank(pct=True) + (x["age"] > 40) + rng.random(120)).rank(pct=True)
    return x, np.array(["ja", "no", "maybe"])[np.ceil(3 * signal).astype(int) - 1]


def read(path: Path, **wanted: Any) -> Converted:
    return read_model(path, target="T", **wanted)


X, Y = people()
TREE = DecisionTreeClassifier(max_depth=3, random_state=0)
MODELS = {
    "tree": TREE,
    "balanced": DecisionTreeClassifier(max_depth=3, class_weight="balanced"),
    "by class": DecisionTreeClassifier(max_depth=3, class_weight={"ja": 2.0, "no": 0.5}),
    "forest": RandomForestClassifier(3, max_depth=4, random_state=0),
    "bag": BaggingClassifier(TREE, 3, max_features=0.5, random_state=0),
    "adaptive": AdaBoostClassifier(TREE, n_estimators=2, random_state=0),
    "gradient": GradientBoostingClassifier(n_estimators=2, random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=2),
}


@pytest.mark.parametrize("kind", MODELS)
def test_a_saved_model_is_the_model(kind: str, tmp_path: Path) -> None:
    model = MODELS[kind].fit(X, Y)
    found = read(saved(make_pipeline(model), tmp_path / "model.skops"))
    assert (found.format, found.tool.split()[0]) == ("skops", "scikit-learn")
    assert found.release == maxent.from_sklearn(model, target="T")
    packed = saved(model, tmp_path / "other", compression=zipfile.ZIP_DEFLATED)
    assert reader_for(packed).name == "skops"
    assert read(packed, qi=("age",)).release.public == (found.release.attributes[1],)
    X.assign(T=Y).to_csv(tmp_path / "train.csv", index=False)
    told = read(packed, train=tmp_path / "train.csv").release
    assert predict_proba(told, X) == pytest.approx(model.predict_proba(X), abs=1e-12)
    assert told.trees[0].induction.impurity == ("gini" if kind == "tree" else None)


def test_pipelines_are_undone_with_the_training_table(tmp_path: Path) -> None:
    frame = X.assign(code=np.where(X["age"] > 40, "1", "2"), town=np.where(X["größe"] > 0, "Ulm, Nord", "Köln"))
    frame.loc[::7, "town"] = None
    prepared = make_column_transformer(
        (make_pipeline(StandardScaler()), ["größe"]), (OneHotEncoder(), ["code", "town"]), ("passthrough", ["age"])
    )
    forest = RandomForestClassifier(4, bootstrap=False, max_depth=4, random_state=0)
    model = make_pipeline(prepared, SelectKBest(k=5), forest).fit(frame, Y)
    path = saved(model, tmp_path / "model.skops")
    refused("the training table, which train= gives", read, path)
    frame.assign(T=Y).to_csv(tmp_path / "train.csv", index=False)
    found = read(path, train=tmp_path / "train.csv").release
    assert {a.name: a.type for a in found.attributes}["code"] == "categorical"
    rows = pd.read_csv(tmp_path / "train.csv", dtype=str)
    assert predict(found, rows).tolist() == model.predict(frame).tolist()
    assert predict_proba(found, rows) == pytest.approx(model.predict_proba(frame), abs=1e-12)
    frame.assign(T=np.roll(Y, 1)).to_csv(tmp_path / "other.csv", index=False)
    refused("training table: expected counts", read, path, train=tmp_path / "other.csv")


def test_trees_of_other_versions(tmp_path: Path) -> None:
    """Until 1.3 values were counts, and there was no direction for missing values; AdaBoost voted otherwise."""
    model = TREE.fit(X, Y)

    def older(schema: dict[str, Any]) -> None:
        schema["content"]["content"]["_sklearn_version"]["content"] = '"1.2.2"'

    path = saved(model, tmp_path / "new.skops", older)
    tree = model.tree_.__getstate__()
    fields = [name for name in tree["nodes"].dtype.names if name != "missing_go_to_left"]
    old = {
        "nodes": tree["nodes"][fields].copy(),
        "values": tree["values"] * tree["nodes"]["weighted_n_node_samples"][:, None, None],
    }
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(tmp_path / "old.skops", "w") as older_one:
        schema = json.loads(archive.read("schema.json"))
        content = schema["content"]["content"]["tree_"]["content"]["content"]
        names = {content[key]["file"]: array for key, array in (("nodes", old["nodes"]), ("values", old["values"]))}
        for name in archive.namelist():
            buffer = io.BytesIO()
            if name in names:
                np.save(buffer, names[name])
            older_one.writestr(name, buffer.getvalue() if name in names else archive.read(name))
    found = read(tmp_path / "old.skops")
    assert (found.tool, found.release) == ("scikit-learn 1.2.2", maxent.from_sklearn(model, target="T"))
    boosted = AdaBoostClassifier(TREE, n_estimators=2, random_state=0).fit(X, Y)
    votes = read(saved(boosted, tmp_path / "votes.skops", older)).release
    scores = sum((tree.predict(X.to_numpy())[:, None] == np.arange(3)) * w for tree, w in told(boosted))
    odds = np.exp(scores / boosted.estimator_weights_.sum() / 2)
    assert predict_proba(votes, X) == pytest.approx(odds / odds.sum(axis=1, keepdims=True), abs=1e-12)
    logs = [np.log(np.clip(tree.predict_proba(X.to_numpy()), 2.0**-52, None)) for tree, _ in told(boosted)]
    scores = sum(
        w * (each - each.mean(axis=1, keepdims=True)) for each, (_, w) in zip(logs, told(boosted), strict=True)
    )
    odds = np.exp(scores / boosted.estimator_weights_.sum())
    boosted.algorithm = "SAMME.R"
    found = read(saved(boosted, tmp_path / "real.skops"))
    assert predict_proba(found.release, X) == pytest.approx(odds / odds.sum(axis=1, keepdims=True), abs=1e-12)


def told(model: Any) -> list[tuple[Any, float]]:
    """The trees of AdaBoost, with classes as numbers, and their weights."""
    trees = []
    for tree in model.estimators_:
        known = np.searchsorted(model.classes_, tree.classes_)
        numbered = DecisionTreeClassifier()
        vars(numbered).update(vars(tree), classes_=known)
        vars(numbered).pop("feature_names_in_", None)
        trees.append(numbered)
    return list(zip(trees, model.estimator_weights_, strict=False))


def node(schema: dict[str, Any], *keys: str) -> dict[str, Any]:
    """The description of an attribute of an attribute ..."""
    for key in keys:
        schema = schema["content"]["content"][key]
    return schema


def _untrusted(schema: dict[str, Any]) -> None:
    node(schema, "max_depth").update({"__class__": "system", "__module__": "os", "__loader__": "FunctionNode"})


def _untrusted_object(schema: dict[str, Any]) -> None:
    schema.update({"__class__": "Popen", "__module__": "subprocess"})


def _circle(schema: dict[str, Any]) -> None:
    schema["content"]["content"]["tree_"]["content"]["content"]["nodes"]["file"] = "9.npy"


NONE = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": "0"}
NOTHING = {"type": "json", "content": [], "shape": {"__class__": "tuple", "__loader__": "TupleNode", "content": [NONE]}}
WRONG = {
    "function": (_untrusted, "found os.system, which is not trusted"),
    "object": (_untrusted_object, "found subprocess.Popen, which is not trusted"),
    "type": (
        lambda schema: node(schema, "max_depth").update({"__loader__": "TypeNode", "__module__": "os"}),
        "found os.str, which is not trusted",
    ),
    "array that is not there": (_circle, "file: 9.npy: expected a member of the archive, found none of that name"),
    "columns": (lambda s: node(s, "n_features_in_").update(content="99999999"), "expected at most"),
    "classes": (lambda s: node(s, "classes_").update(NOTHING), "expected numbers of 0 classes"),
    "attribute": (lambda s: node(s, "classes_").update(content="1", __loader__="JsonNode"), "expected a model as sci"),
    "keys": (lambda s: s["content"]["content"].pop("classes_"), "expected a type for each of 20 keys, found 21"),
    "json": (lambda s: node(s, "max_depth").update(content="{"), "content: expected JSON"),
    "deep": (lambda s: node(s, "max_depth").update(content="[" * 100_000), "content: expected JSON"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_wrong_is_named(kind: str, tmp_path: Path) -> None:
    edit, message = WRONG[kind]
    refused(message, read, saved(TREE.fit(X, Y), tmp_path / "model.skops", edit))


def test_models_that_are_none_are_refused(tmp_path: Path) -> None:
    regression = RandomForestRegressor(2, max_depth=2).fit(X, X["age"])
    refused("a classifier; or of a regression bins of the target", read, saved(regression, tmp_path / "model.skops"))
    X.assign(T=Y).to_csv(tmp_path / "train.csv", index=False)
    own = make_pipeline(FunctionTransformer(np.log1p), TREE).fit(X.abs(), Y)
    refused("log1p, which is not trusted", read, saved(own, tmp_path / "own.skops"), train=tmp_path / "train.csv")
    indicators = KBinsDiscretizer(5, encode="onehot-dense", quantile_method="averaged_inverted_cdf")
    path = saved(make_pipeline(indicators, DecisionTreeClassifier(random_state=0)).fit(X, Y), tmp_path / "bins.skops")
    with pytest.raises(InvalidInput, match=r"bins in their order: fit again with KBinsDiscretizer\(encode='ordinal'\)"):
        read(path, train=tmp_path / "train.csv")


def test_bombs_and_damage_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.skops", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", b" " * 50_000_000)
    with pytest.raises(
        InvalidInput, match="bytes in the archive: save the model without compression, found 50,000,000"
    ):
        read(tmp_path / "bomb.skops")
    path = saved(TREE.fit(X, Y), tmp_path / "model.skops")
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    refused("a zip archive, as skops saves it", read, path)
    path.write_bytes(content.replace(b"NUMPY", b"numpy"))
    refused("member that can be read", read, path)
    buffer = io.BytesIO()
    np.save(buffer, np.zeros(3))
    huge = buffer.getvalue().replace(b"(3,), }", b"(3000000000000,), }")[: len(buffer.getvalue())]

    def swollen(schema: dict[str, Any]) -> None:
        node(schema, "classes_").update(type="numpy", file="huge.npy")

    saved(TREE, path, swollen)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("huge.npy", huge)
    refused(r"huge.npy: expected an array of NumPy", read, path)


def test_adaboost_counts_where_the_training_table_does(tmp_path: Path) -> None:
    people = pd.DataFrame({"a": [0.0] * 4 + [1.0] * 4, "b": [0.0, 1.0] * 4})
    labels = np.array(["p", "p", "q", "p", "q", "q", "p", "q"])
    weights = np.array([1.0, 1.0, 2.0, 0.5, 1.0, 1.0, 1.0, 0.5])
    stump = DecisionTreeClassifier(max_depth=1, random_state=0)
    for given, counted in ((None, True), (weights, False)):
        model = AdaBoostClassifier(stump, n_estimators=1, random_state=0).fit(people, labels, sample_weight=given)
        path = saved(model, tmp_path / "model.skops")
        leaves = read(path, train=people.assign(T=labels)).release.trees[0].leaves
        assert [leaf.counts is not None for leaf in leaves] == [counted, counted]
        assert [leaf.counts for leaf in read(path).release.trees[0].leaves] == [None, None]
