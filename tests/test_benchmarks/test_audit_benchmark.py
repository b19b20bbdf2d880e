"""The releases that the benchmarks of ``maxent audit``, and of reading, make up are valid, and as they say."""

import importlib
from pathlib import Path

import pytest

import maxent

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize("shape", ["binary", "multiway"])
@pytest.mark.parametrize("kind", ["counts", "pruned"])
def test_made_up_releases_are_read_and_their_removed_leaves_found(tmp_path, monkeypatch, shape, kind):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    write_release = importlib.import_module("audit").write_release
    path = tmp_path / "tree.json"
    leaves = write_release(path, 300, shape, kind, seed=1)
    found = maxent.audit(path)
    assert 300 <= leaves <= 307
    assert found["leaves"] + found["differencing"]["removed"] == leaves
    assert (found["differencing"]["removed"] > 0) == (kind == "pruned")
    together = sum(len(group["leaves"]) for group in found["groups"])
    assert sum(row["counts"] is not None for row in found["recovered"]) + together == found["differencing"]["removed"]
    assert found["homogeneity"]["leaves"] > 0


def test_made_up_forests_are_about_the_same_records(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    write_forest = importlib.import_module("reading").write_forest
    path = tmp_path / "forest.json"
    assert write_forest(path, 3, 41, seed=1) == 3 * 41
    trees = maxent.load_release(path).trees
    assert [len(tree.nodes) for tree in trees] == [41] * 3
    assert len({tuple(tree.root.counts.items()) for tree in trees}) == 1
