"""Estimates of several trees in parts: people by cell, with the numbers of an estimate in one piece."""

import json
import multiprocessing
import os
import signal
from dataclasses import replace
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.parted import check_numbers, public, same
from support.strategies import thorough

import maxent
from maxent.api.out_of_core import opened
from maxent.models.errors import InvalidInput
from maxent.models.tables import out_of_core


@settings(parent=thorough(1), max_examples=2)
@given(data=st.data())
def test_the_numbers_are_those_of_an_estimate_in_one_piece(data):
    check_numbers(data, public(data.draw, sampled=True, trees=(2, 4)))


@pytest.mark.slow
@thorough(150)
@given(data=st.data())
def test_the_numbers_of_many_are_those_of_an_estimate_in_one_piece(data):
    check_numbers(data, public(data.draw, sampled=True, trees=(1, 4)))


SIZES = {"A0": 6, "A1": 4, "A2": 4, "A3": 7}
NAMES = list(SIZES)


@pytest.fixture(scope="module")
def people():
    """Rows of four attributes and a class that one of them tells."""
    rng, n = np.random.default_rng(7), 400
    found = pd.DataFrame({name: rng.integers(0, size, n).astype(str) for name, size in SIZES.items()})
    told = found["A0"].astype(int) % 3
    return found.assign(X=np.array(list("abc"))[np.where(rng.random(n) < 0.5, told, rng.integers(0, 3, n))])


@pytest.fixture(scope="module")
def forest(people):
    """Two trees over two of the attributes each, one with counts and one with labels."""
    options = {"target": "X", "min_samples_split": 60, "max_depth": 2}
    trees = [
        maxent.id3(people, qi=names, publish=publish, **options)
        for names, publish in ((NAMES[:2], "counts"), (NAMES[1:3], "labels"))
    ]
    attributes = maxent.id3(people, qi=NAMES, **options).attributes
    return replace(trees[0], attributes=attributes, trees=tuple(tree.trees[0] for tree in trees))


def files(people, folder):
    """The people, and their classes, as files."""
    qi, truth = str(folder / "qi.parquet"), str(folder / "truth.parquet")
    people[NAMES].to_parquet(qi, row_group_size=200)
    people.to_parquet(truth)
    return qi, truth


def in_parts(release, qi, folder, truth=None, **options):
    """An estimate in parts of a few rows each, without choices of splits."""
    with (
        mock.patch.object(opened, "rows_at_a_time", return_value=60),
        mock.patch.multiple(out_of_core, SMALLEST=50, LARGEST=200),
    ):
        return maxent.estimate(release, qi, truth, folder=folder, knowledge="label,counts", **options)


@pytest.mark.parametrize("draws", [None, pytest.param(400, marks=pytest.mark.slow)])
def test_cells_are_solved_in_place_of_people(forest, people, tmp_path, draws):
    forest = replace(forest, resampled=draws)
    qi, truth = files(people, tmp_path)
    whole = maxent.estimate(forest, qi, truth, knowledge="label,counts")
    parts = in_parts(forest, qi, tmp_path / "out", truth)
    assert parts.parts.leaves == len(parts.program.table) == len(people.groupby(NAMES[:3])) < len(whole.program.table)
    assert parts.summary["parts"]["cells"] == parts.parts.leaves
    assert len(parts.parts.files) > 3
    assert "| leaves)" in repr(parts)
    same(parts.summary, whole.summary)
    ours, theirs = (found.posterior.sort_values(NAMES).reset_index(drop=True) for found in (parts, whole))
    pd.testing.assert_frame_equal(ours, theirs, rtol=1e-9)


def test_cells_that_do_not_fit_are_refused(forest, people, tmp_path):
    with pytest.raises(InvalidInput, match="96 cells of people whom 2 trees do not tell apart, found 100 kB"):
        in_parts(forest, files(people, tmp_path)[0], None, memory="100kB")


def test_people_whom_no_branch_of_another_tree_takes(forest, people, tmp_path):
    first, second = forest.trees
    nodes = list(second.nodes)
    branches = nodes[0].branches
    nodes[0] = replace(nodes[0], branches=branches[1:])
    gone = nodes[0].attribute + "=" + branches[0].values[0]
    nodes = [node for node in nodes if node.id != branches[0].child]
    wrong = replace(forest, trees=(first, replace(second, nodes=tuple(nodes))))
    with pytest.raises(InvalidInput, match=r"tree 2: rows: expected values that some branch .*" + gone):
        in_parts(wrong, files(people, tmp_path)[0], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_truth_about_others_is_refused(forest, people, tmp_path):
    qi, _ = files(people, tmp_path)
    people.assign(A3=people["A3"].replace("6", "5")).to_csv(tmp_path / "truth.csv", index=False)
    with pytest.raises(InvalidInput, match=r"rows with A0=.*A3=6: individuals: expected \d+, as in"):
        in_parts(forest, qi, None, str(tmp_path / "truth.csv"), memory="1GB")


def bits(release, people, folder, **options):
    """All that an estimate in parts says, and its files."""
    folder.mkdir()
    qi, truth = files(people, folder)
    found = in_parts(release, qi, folder / "out", truth, **options)
    summary = json.dumps({**found.summary, "seconds": 0}).replace(str(folder), "")
    return summary, [path.read_bytes() for path in found.parts.files]


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"jobs": 2}, {"dask": "local:2"}])
def test_processes_change_no_bit(forest, people, tmp_path, options):
    if "dask" in options:
        pytest.importorskip("distributed")
    assert bits(forest, people, tmp_path / "here") == bits(forest, people, tmp_path / "there", **options)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="no process is ended like that elsewhere")
def test_a_worker_that_is_killed_changes_no_bit(forest, people, tmp_path):
    from joblib.externals.loky import reusable_executor

    left = [("finding cells", 1), ("numbering cells", 2)]

    def kill(text, done, total):
        if (text, done) in left:
            left.remove((text, done))
            started = multiprocessing.active_children() or reusable_executor._executor._processes.values()
            os.kill(next(iter(started)).pid, signal.SIGKILL)

    here = bits(forest, people, tmp_path / "here")
    assert here == bits(forest, people, tmp_path / "there", jobs=2, progress=kill)
    assert not left
