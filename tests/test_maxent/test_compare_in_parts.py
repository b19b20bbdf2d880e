"""Comparisons in parts: the rows of a comparison in one piece, whatever the groups and the workers."""

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.parted import few_rows, public, same, written
from support.paths import D1
from support.strategies import thorough

import maxent
from maxent.__main__ import main
from maxent.api.out_of_core import opened
from maxent.models.errors import InvalidInput
from maxent.models.release import Tree
from maxent.results.reliability import unwarned
from maxent.solvers.solve import dask_cluster

TREE, QI, TRUTH = (str(D1 / name) for name in ("tree.json", "qi.csv", "truth.csv"))
CALL = ["compare", TREE, TREE, QI, "--truth", TRUTH]


def coarser(release):
    """A release of a root alone that states the number of its people, if the first states counts."""
    root = replace(release.trees[0].nodes[0], attribute=None, branches=())
    return replace(release, trees=(Tree((root,)),))


@pytest.mark.slow
@thorough(100)
@given(data=st.data())
def test_the_rows_are_those_of_a_comparison_in_one_piece(data):
    check_rows(data)


def check_rows(data):
    """Whether a comparison in parts of random trees and people has the rows of one in one piece."""
    case = public(data.draw, trees=(1, 2))
    options = {
        "top": data.draw(st.integers(1, 4)),
        "knowledge": data.draw(st.sampled_from(["label,rate,counts", None])),
    }
    options |= {"min_size": data.draw(st.integers(1, 3)), "background": data.draw(st.integers(1, 2))}
    with tempfile.TemporaryDirectory() as temporary, unwarned():
        folder = Path(temporary)
        given = written(case, folder, rows=data.draw(st.integers(1, 30)), truth=data.draw(st.booleans()))
        case.people.frame.to_csv(folder / "test.csv", index=False)
        releases = {"plain": case.release, "root": coarser(case.release)}
        call = {**given, "test": folder / "test.csv", **options}
        whole = maxent.compare(releases, **call)
        with few_rows(data.draw):
            parts = maxent.compare(releases, **call, memory="1GB")
        found, expected = parts.summary, whole.summary
        for one, other in zip(found["releases"], expected["releases"], strict=True):
            ours, theirs = one.pop("most_disclosed"), other.pop("most_disclosed")
            assert [entry.keys() for entry in ours] == [entry.keys() for entry in theirs]
            hidden = [[-np.log(e["probability"]) + (e.get("divergence") or 0) for e in each] for each in (ours, theirs)]
            np.testing.assert_allclose(*hidden, rtol=1e-9, atol=1e-9)
        same(found, expected)
        limits = {"min_k": 3, "max_posterior": 0.7}
        same(parts.verdict(**limits).summary, whole.verdict(**limits).summary)
        for ours, theirs in zip(parts.people, whole.people, strict=True):
            assert len(ours) == len(theirs)
            assert ours.certain == theirs.certain


def test_the_most_disclosed_are_the_same():
    whole, parts = (maxent.compare([TREE], QI, TRUTH, top=7, memory=memory) for memory in (None, "1GB"))
    ours, theirs = parts.rows[0]["most_disclosed"], whole.rows[0]["most_disclosed"]
    same(sorted(ours, key=str), sorted(theirs, key=str))
    assert parts.rows[0]["train_accuracy"] == whole.rows[0]["train_accuracy"]
    with pytest.raises(InvalidInput, match="none of people who were taken in parts"):
        parts.report("report.html")
    with pytest.raises(InvalidInput, match="not kept of people in parts"):
        parts.plot("divergence")


@pytest.mark.slow
def test_those_who_are_linked_are_taken_together_or_refused_with_the_reason():
    tree = maxent.load_release(TREE)
    releases = {"tree": tree, "forest": replace(tree, trees=tree.trees * 2, predicts="vote")}
    whole, parts = (maxent.compare(releases, QI, TRUTH, memory=memory, control=TRUTH) for memory in (None, "1GB"))
    same(parts.summary, whole.summary)
    with pytest.raises(InvalidInput, match=r"as these link them: .*control people, found 1 kB"):
        maxent.compare(releases, QI, TRUTH, memory="1kB", control=TRUTH)


def test_the_command_writes_rows(tmp_path, capsys):
    assert main(["compare", TREE, QI, "--json", "--memory", "2GB", "-o", str(tmp_path / "rows.csv")]) == 0
    found = json.loads(capsys.readouterr().out)["releases"]
    assert [row["individuals"] for row in found] == [11]
    assert len(pd.read_csv(tmp_path / "rows.csv")) == 1


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--memory", "much"], "--memory: expected a size"),
        (["--memory", "2GB", "--report", "r.html"], "--report: expected none"),
        (["--memory", "2GB", "-o", "x.png", "--plot", "divergence"], "--plot: expected none"),
        (["--memory", "2GB", "--diff"], "--memory: expected none"),
    ],
)
def test_what_does_not_go_together(tmp_path, capsys, monkeypatch, options, complaint):
    monkeypatch.chdir(tmp_path)
    assert main([*CALL, *options]) == 2
    assert complaint in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"jobs": 2}, {"dask": "local:2"}])
def test_workers_change_no_bit(options):
    if "dask" in options:
        pytest.importorskip("distributed")
    with (
        mock.patch.object(opened, "rows_at_a_time", return_value=3),
        mock.patch.object(dask_cluster, "_started", wraps=dask_cluster._started) as started,
    ):
        here, there = (maxent.compare([TREE, TREE], QI, TRUTH, memory="1GB", **more) for more in ({}, options))
    assert started.call_count == ("dask" in options)  # one cluster for all releases
    assert here.summary == there.summary
