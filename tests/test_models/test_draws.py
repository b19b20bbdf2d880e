"""Who was drawn for each tree: `maxent/1` states it, and readers find what scikit-learn and R drew."""

import copy
import json
from dataclasses import replace
from functools import partial

import jsonschema
import numpy as np
import pytest
import sklearn
import skops.io
from pandas import DataFrame
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier
from support.documents import release_document
from support.search import cases

from maxent import defend, export, strip
from maxent.__main__ import main
from maxent.models.defenses.pruning import prune_leaf, prune_parent
from maxent.models.draws import ANSWERS, DRAWN, MOST_DRAWS, Draws, tells_draws
from maxent.models.errors import InvalidInput
from maxent.models.formats.maxent_json.read import LARGE, parse_release, release_schema, validate_release
from maxent.models.formats.maxent_json.write import release_to_document
from maxent.models.formats.registry import convert_model, load_release
from maxent.models.formats.release_reader import Wanted
from maxent.models.formats.scikit_learn.ensemble import told_draws
from maxent.models.formats.scikit_learn.nodes import depth_first
from maxent.models.formats.scikit_learn.pipelines import aside_in
from maxent.models.formats.scikit_learn.tree import from_sklearn
from maxent.models.formats.writers.registry import WRITERS
from maxent.models.reading import Reader
from maxent.models.successive.releases import join_releases
from maxent.models.trees.predict import predict_proba
from maxent.models.trees.restate import restate

SPLIT = {"id": "N", "attribute": "Age", "branches": [{"le": 3, "child": "A"}, {"gt": 3, "child": "B"}]}
LEAVES = [{"id": "A", "counts": {"low": 3, "high": 1}}, {"id": "B", "counts": {"low": 0, "high": 2}}]
SEEDS = {"generator": "scikit-learn-forest", "version": "1.9.1", "n": 7, "drawn": 6, "replace": True, "seeds": [5, 9]}
COUNTS = {"n": 4, "drawn": 6, "counts": [[3, 0, 1, 2], [0, 6, 0, 0]]}


def document(draws, **more):
    release = {"draws": draws, **more}
    return release_document("Y", ["low", "high"], {"Age": None}, *([[SPLIT, *LEAVES]] * 2), release=release)


@pytest.mark.parametrize("draws", [SEEDS, COUNTS, {**SEEDS, "generator": "scikit-learn-bagging", "replace": False}])
@pytest.mark.parametrize("size", [0, LARGE])
def test_draws_are_read_and_written_as_they_are(draws, size, tmp_path):
    path = tmp_path / "tree.json"
    path.write_text(json.dumps(document(draws)) + " " * size)
    release = load_release(path)
    assert release.resampled == 6
    assert release.draws is not None
    assert release.draws.trees == 2
    assert release.draws.matrix().shape == (2, draws["n"])
    assert (release.draws.matrix().sum(axis=1) == 6).all()
    release.save(tmp_path / "again.json")
    assert load_release(tmp_path / "again.json") == release
    written = json.loads((tmp_path / "again.json").read_text())["release"]
    assert written == {"resampled": 6, "draws": {"replace": True, **draws}}


WRONG = [
    ("release", "draws", [3]),
    ("draws", "n", {**SEEDS, "n": 0}),
    ("draws", "n", {**SEEDS, "n": 2**31}),
    ("draws", "drawn", {key: value for key, value in SEEDS.items() if key != "drawn"}),
    ("draws", "drawn", {**SEEDS, "drawn": 8, "replace": False}),
    ("draws", "replace", {**SEEDS, "replace": "yes"}),
    ("draws", "generator", {**SEEDS, "generator": "dice"}),
    ("draws", "generator", {key: value for key, value in SEEDS.items() if key != "generator"}),
    ("draws", "seeds", {**SEEDS, "seeds": [5]}),
    ("draws", "seeds", {**SEEDS, "seeds": []}),
    ("draws", "seeds", {**SEEDS, "seeds": [5, -1]}),
    ("draws", "seeds", {**SEEDS, "seeds": [5, 2**32]}),
    ("draws", "seeds", {**SEEDS, "counts": COUNTS["counts"], "n": 4}),
    ("draws", "features", {**SEEDS, "features": {"n": 3, "drawn": 4}}),
    ("draws", "counts", {**COUNTS, "counts": [[3, 0, 1, 2]]}),
    ("draws", "counts", {**COUNTS, "counts": [[3, 0, 1, 2], [0, 6, 0]]}),
    ("draws", "counts", {**COUNTS, "counts": [[3, 0, 1, 2], [0, 5, 0, 0]]}),
    ("draws", "counts", {**COUNTS, "counts": [[3, 0, 1, 2], [0, 7, -1, 0]]}),
    ("draws", "counts", {**COUNTS, "drawn": 4, "replace": False, "counts": [[1, 1, 1, 1], [2, 0, 1, 1]]}),
]


@pytest.mark.parametrize(("where", "field", "draws"), WRONG)
@pytest.mark.parametrize("size", [0, LARGE])
def test_draws_that_cannot_be_are_refused_where_they_stand(where, field, draws, size, tmp_path):
    path = tmp_path / "tree.json"
    path.write_text(json.dumps(document(draws)) + " " * size)
    with pytest.raises(InvalidInput) as caught:
        load_release(path)
    assert (where, field) in [(problem.where, problem.field) for problem in caught.value.problems]
    assert all(problem.where in ("release", "draws", "features") for problem in caught.value.problems)


def test_counts_of_draws_state_how_many_there_are():
    """Of any tool's draws, such as ranger's, which may be named."""
    alone = parse_release(document({"counts": COUNTS["counts"]}), "tree.json")
    assert alone == parse_release(document({**COUNTS, "replace": True}), "tree.json")
    named = parse_release(document({"generator": "ranger", "version": "0.17", "counts": COUNTS["counts"]}), "tree.json")
    assert named.draws == replace(alone.draws, generator="ranger", version="0.17")
    for release in (alone, named):
        written = release_to_document(release)
        jsonschema.validate(written, release_schema())
        assert parse_release(written, "tree.json") == release
    jsonschema.validate(document({"counts": COUNTS["counts"]}), release_schema())
    for counts in ([], [[]], [[3, "1"]], [[0, 0], [0, 0]], 3):
        with pytest.raises(InvalidInput, match="draws"):
            parse_release(document({"counts": counts}), "tree.json")


def test_draws_agree_with_what_trees_count():
    for more, where in (({"resampled": 5}, "resampled"), ({"sampling_rate": 0.5}, "sampling_rate")):
        with pytest.raises(InvalidInput, match=where):
            parse_release(document(SEEDS, **more), "tree.json")
    with pytest.raises(InvalidInput, match=r"as many draws as release\.resampled says, 5"):
        parse_release(document({**SEEDS, "drawn": 5}), "tree.json")
    release = parse_release(document(SEEDS), "tree.json")
    with pytest.raises(InvalidInput, match="one for each tree, 2"):
        validate_release(replace(release, draws=replace(release.draws, seeds=(1, 2, 3))))


def test_the_schema_has_what_is_written_and_refuses_what_is_read_wrongly():
    check = jsonschema.Draft202012Validator(release_schema())
    assert check.is_valid(document(SEEDS))
    assert check.is_valid(document(COUNTS))
    assert not check.is_valid(document({**SEEDS, "counts": COUNTS["counts"]}))
    assert not check.is_valid(document({**SEEDS, "seeds": [2**32]}))


def test_no_more_draws_are_made_than_memory_holds():
    draws = Draws(2**31 - 1, 10, generator="scikit-learn-forest", seeds=tuple(range(10**6)))
    with pytest.raises(InvalidInput, match="draws of rows by tree"):
        draws.matrix()
    assert draws.trees * draws.n > MOST_DRAWS


def test_what_tells_draws_is_said_whether_they_are_followed_or_not():
    draws = Draws(4, 6, counts=((3, 0, 1, 2),))
    assert tells_draws(None, "") == tells_draws(None, "impurities of nodes") == ""
    assert tells_draws(draws, "") == "counts of the draws of each tree"
    assert tells_draws(None, f"impurities of nodes; {DRAWN}; {ANSWERS}") == f"{DRAWN}; {ANSWERS}"
    assert np.array_equal(draws.matrix(), [[3, 0, 1, 2]])


def people(seed, n=60):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 4, n), rng.integers(0, 3, n), rng.integers(0, 2, n)]).astype(float)
    return X, (rng.random(n) < 0.2 + 0.15 * X[:, 0]).astype(int) + (rng.random(n) < 0.1)


BAG = {"estimator": DecisionTreeClassifier(min_samples_leaf=2)}
KINDS = {
    "forest": (RandomForestClassifier, {}),
    "small forest": (RandomForestClassifier, {"max_samples": 0.4, "min_samples_leaf": 3}),
    "extra trees": (ExtraTreesClassifier, {"bootstrap": True, "max_depth": 3}),
    "bag": (BaggingClassifier, BAG),
    "bag of few columns": (BaggingClassifier, {**BAG, "max_features": 2, "max_samples": 0.7}),
    "bag of repeated columns": (BaggingClassifier, {**BAG, "bootstrap_features": True}),
    "bag without replacement": (BaggingClassifier, {**BAG, "bootstrap": False, "max_samples": 0.5}),
    "bag of few columns without replacement": (
        BaggingClassifier,
        {**BAG, "bootstrap": False, "max_samples": 0.995, "max_features": 0.7},
    ),
    "regression forest": (RandomForestRegressor, {"max_samples": 0.8, "min_samples_leaf": 4}),
    "regression extra trees": (ExtraTreesRegressor, {"bootstrap": True, "min_samples_leaf": 4}),
    "regression bag": (BaggingRegressor, {"bootstrap": False, "max_samples": 0.5}),
}


@pytest.mark.search
@pytest.mark.parametrize("kind", KINDS)
def test_draws_of_scikit_learn_are_those_that_it_made_and_every_node_counts_them(kind):
    make, said = KINDS[kind]
    for seed in cases(0, 3, hunted=90):
        X, y = people(seed, 60 if "0.995" not in str(said) else 300)
        model = make(n_estimators=4, random_state=np.random.RandomState(seed) if seed % 3 else seed, **said).fit(X, y)
        numeric = {} if hasattr(model, "classes_") else {"values": sorted(set(y.tolist()))}
        release = from_sklearn(model, target="Y", features=["a", "b", "c"], inner_counts=True, **numeric)
        found = release.draws.matrix()
        assert release.draws.n == len(y)
        assert release.draws.replace == model.bootstrap
        assert release.resampled == release.draws.drawn
        drawn = [np.bincount(each, minlength=len(y)) for each in model.estimators_samples_]
        assert np.array_equal(found, drawn), kind
        columns = getattr(model, "estimators_features_", [np.arange(3)] * 4)
        for tree, member, own, of in zip(release.trees, model.estimators_, columns, found, strict=True):
            reached = member.decision_path(X[:, own].astype(np.float32)).toarray()
            order = depth_first(member.tree_.children_left, member.tree_.children_right).order
            for node, at in zip(tree.nodes, order.tolist(), strict=True):
                here = of * reached[:, at]
                assert (node.n, node.distinct) == (here.sum(), (here > 0).sum())
                if numeric:
                    assert node.mean * node.n == pytest.approx(here @ y)
                else:
                    assert list(node.counts.values()) == [here @ (y == c) for c in model.classes_]
        if not numeric:
            shares = predict_proba(release, DataFrame(X, columns=["a", "b", "c"]))
            assert np.allclose(shares, model.predict_proba(X), rtol=0, atol=1e-12)
        assert not any(word in aside_in(model) for word in ("seeds", "state"))
        validate_release(release)
        assert parse_release(release_to_document(release), "again") == release


def test_draws_that_are_not_followed_are_named():
    X, y = people(1)
    weights = np.where(y == 1, 2.0, 1.0)
    models = [
        RandomForestClassifier(4, class_weight="balanced").fit(X, y),
        RandomForestClassifier(4).fit(X, y, sample_weight=weights),
        BaggingClassifier(DecisionTreeClassifier(class_weight="balanced"), 4).fit(X, y),
        BaggingClassifier(DecisionTreeClassifier(), 2, warm_start=True).fit(X, y).set_params(n_estimators=4).fit(X, y),
        RandomForestClassifier(30, oob_score=True).fit(X, y),
        BaggingClassifier(DecisionTreeClassifier(), 30, oob_score=True).fit(X, y),
        RandomForestRegressor(30, oob_score=True).fit(X, y),
        GradientBoostingClassifier(n_estimators=3, subsample=0.5).fit(X, y),
        HistGradientBoostingClassifier(max_iter=3, early_stopping=True).fit(X, y),
    ]
    for model in models:
        assert tells_draws(None, aside_in(model)), model
        assert told_draws(model) is None or "without them" in aside_in(model)
    plain = [RandomForestClassifier(4, bootstrap=False), ExtraTreesClassifier(4), GradientBoostingClassifier()]
    for model in [*plain, DecisionTreeClassifier(), BaggingClassifier(DecisionTreeClassifier(), 4, bootstrap=False)]:
        model.fit(X, y)
        assert told_draws(model) is None
        assert not tells_draws(None, aside_in(model))


@pytest.mark.parametrize("kind", ["forest", "bag of few columns", "bag without replacement", "regression forest"])
def test_files_of_skops_tell_the_draws_of_the_model(kind, tmp_path):
    make, said = KINDS[kind]
    X, y = people(5)
    model = make(n_estimators=3, random_state=1, **said).fit(X, y)
    skops.io.dump(model, tmp_path / "model.skops")
    numeric = {} if hasattr(model, "classes_") else {"parameters": {"values": "0,1,2"}}
    found = convert_model(tmp_path / "model.skops", Wanted(features=("a", "b", "c"), **numeric), Reader())
    drawn = [np.bincount(each, minlength=len(y)) for each in model.estimators_samples_]
    assert np.array_equal(found.release.draws.matrix(), drawn)
    assert found.tells_draws == "seeds of the draws of each tree"
    assert found.release.draws.version == sklearn.__version__


def test_convert_says_that_it_keeps_draws_and_others_drop_them(tmp_path, capsys):
    X, y = people(5)
    skops.io.dump(RandomForestClassifier(3, max_depth=2, random_state=1).fit(X, y), tmp_path / "model.skops")
    model, tree = str(tmp_path / "model.skops"), str(tmp_path / "tree.json")
    assert main(["convert", model, "--features", "a,b,c", "-o", tree]) == 0
    assert "kept seeds of the draws of each tree" in capsys.readouterr().err
    kept = load_release(tree)
    assert kept.draws.trees == 3
    for changed in (prune_leaf(kept, 5), prune_parent(kept, 5), restate(kept, "counts")):
        assert changed.draws is None
    table = DataFrame(X, columns=list("abc")).assign(**{kept.target.name: y.astype(str)})
    started = defend(table, "prune-leaf", target=kept.target.name, qi=list("abc"), model=kept, k=3)
    assert started.release.draws is None
    joined = join_releases([kept, replace(kept, draws=None)], ["a", "b"])
    assert joined.release.draws is None
    assert [part.draws for part in joined.parts] == [kept.draws, None]
    for form in WRITERS:
        text = export(kept, to=form)
        assert not any(str(seed) in text for seed in kept.draws.seeds), form


PARTS = partial(BaggingClassifier, bootstrap=False, max_samples=30)


@pytest.mark.filterwarnings("ignore:When fitting")  # of draws without replacement by weights
@pytest.mark.parametrize("make", [RandomForestClassifier, BaggingClassifier, PARTS, RandomForestRegressor])
def test_rows_drawn_by_weights_are_not_taken_for_draws_of_all_alike_when_weights_are_gone(make, tmp_path):
    X, y = people(5)
    model = make(n_estimators=3, random_state=np.random.RandomState(1))
    model.fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
    skops.io.dump(model, tmp_path / "model.skops")
    bare = strip(model)
    deleted = copy.deepcopy(bare)
    vars(deleted).pop("_sample_weight", None)  # which older versions do not keep
    for given in (model, bare, deleted):
        assert told_draws(given) is None
        if hasattr(model, "classes_"):
            assert from_sklearn(given, target="Y", features=list("abc")).resampled is None
        else:
            with pytest.raises(InvalidInput, match="every record once"):
                from_sklearn(given, target="Y", features=list("abc"), values=[0, 1, 2])
    if hasattr(model, "classes_"):
        removed = strip(tmp_path / "model.skops", tmp_path / "bare.skops").removed
        assert ("_sample_weight" in removed) == ("_sample_weight" in vars(model))
        read = convert_model(tmp_path / "bare.skops", Wanted(features=tuple("abc")), Reader())
        assert read.release.resampled is None
        assert strip(tmp_path / "bare.skops", tmp_path / "again.skops").removed == ()
