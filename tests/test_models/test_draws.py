"""Who was drawn for each tree: `maxent/1` states it, and readers find what scikit-learn and R drew."""

import json
from dataclasses import replace

import jsonschema
import numpy as np
import pytest
from support.documents import release_document

from maxent.models.draws import ANSWERS, DRAWN, MOST_DRAWS, Draws, tells_draws
from maxent.models.errors import InvalidInput
from maxent.models.formats.maxent_json.read import LARGE, parse_release, release_schema, validate_release
from maxent.models.formats.registry import load_release

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
