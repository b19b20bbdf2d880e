"""Audits, bounds in closed form and comparisons in parts: as in one piece, whatever the groups and the workers."""

import json
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.parted import bits, cells, few_rows, public, same, written
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
closed = partial(maxent.bounds, level="closed")


def check_audit(data):
    """Whether an audit in parts of a random tree and people finds what one in one piece finds."""
    case = public(data.draw, sampled=True, trees=(1, 3))
    options = {
        "min_size": data.draw(st.integers(1, 3)),
        "background": data.draw(st.integers(1, 3)),
        "risk": data.draw(st.booleans()) and case.release.sampling_rate == 1,
        "sensitive": data.draw(st.sampled_from([None, case.release.target.classes[0]])),
    }
    with tempfile.TemporaryDirectory() as temporary, unwarned():
        folder = Path(temporary)
        given = written(case, folder, rows=data.draw(st.integers(1, 30)), truth=True)
        controls = data.draw(st.sampled_from([None, given["truth"]]))
        if options["risk"]:
            try:
                maxent.audit(case.release, given["qi"], risk=True)
            except InvalidInput:  # leaves do not say how many records they have
                options["risk"] = False
        call = {"qi": given["qi"], "control": controls, **options}
        whole = maxent.audit_release(case.release, **call)
        with few_rows(data.draw):
            parts = maxent.audit_release(case.release, folder=folder / "out", **call)
        assert parts.parts is not None
        found = parts.summary
        places = "leaves" if len(case.release.trees) == 1 else "cells"
        assert found.pop("parts") == {places: parts.parts.leaves, "files": [path.name for path in parts.parts.files]}
        same(found, whole.summary)
        limits = {"min_k": 3, "max_posterior": 0.7, "max_certain": 0}
        assert parts.verdict(**limits).summary == whole.verdict(**limits).summary
        same(cells(parts.individuals, case), cells(whole.individuals, case))
        pd.testing.assert_frame_equal(parts.leaves, whole.leaves)


def check_bounds(data):
    """Whether bounds in parts of random trees and people are those in one piece."""
    case = public(data.draw, sampled=True, trees=(1, 3))
    with tempfile.TemporaryDirectory() as temporary, unwarned():
        folder = Path(temporary)
        qi = written(case, folder, rows=data.draw(st.integers(1, 30)), truth=False)["qi"]
        options = {"knowledge": data.draw(st.sampled_from([None, "label,rate", "label,rate,counts"]))}
        if data.draw(st.booleans()):
            options["marginal"] = folder / "marginal.csv"
            shares = case.people.frame["Y"].value_counts().reindex(case.people.classes, fill_value=0)
            shares.rename_axis("Y").reset_index(name="count").to_csv(options["marginal"], index=False)
            if options["knowledge"] is not None:
                options["knowledge"] += ",marginal"
        whole = maxent.bounds(case.release, qi, level="closed", **options)
        with few_rows(data.draw):
            parts = maxent.bounds(case.release, qi, folder=folder / "out", level="closed", **options)
        assert parts.parts is not None
        found, expected = parts.summary, whole.summary
        found["constraints"].pop("internal")
        expected["constraints"].pop("internal")
        same(found, expected)
        keys = [*(a.name for a in case.release.attributes), "class"]
        ours, theirs = (each.frame().sort_values(keys).reset_index(drop=True) for each in (parts, whole))
        pd.testing.assert_frame_equal(ours, theirs, check_dtype=False, rtol=1e-9, atol=1e-9)


def coarser(release):
    """A release of a root alone that states the number of its people, if the first states counts."""
    root = replace(release.trees[0].nodes[0], attribute=None, branches=())
    return replace(release, trees=(Tree((root,)),))


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


@pytest.mark.parametrize("check", [check_audit, check_bounds])
@settings(parent=thorough(1), max_examples=2)
@given(data=st.data())
def test_the_numbers_and_people_are_those_of_one_piece(check, data):
    check(data)


@pytest.mark.slow
@pytest.mark.parametrize("check", [check_audit, check_bounds, check_rows])
@thorough(150)
@given(data=st.data())
def test_the_numbers_and_people_of_many_are_those_of_one_piece(check, data):
    check(data)


@pytest.mark.parametrize(("call", "frame"), [(maxent.audit_release, "individuals"), (closed, "frame")])
def test_people_who_are_linked_are_taken_together_or_refused_with_the_reason(tmp_path, call, frame):
    facts = tmp_path / "facts.csv"
    facts.write_text("Education,Salary\nMasters,<=50K\n")
    found = call(TREE, QI, folder=tmp_path / "out", facts=facts)
    assert found.parts is None
    kept, told = pd.read_parquet(tmp_path / "out" / "part-00000.parquet"), getattr(found, frame)
    pd.testing.assert_frame_equal(kept, told() if callable(told) else told, check_dtype=False, check_column_type=False)
    with pytest.raises(InvalidInput, match="as these link them: known classes of some people, found 1 kB"):
        call(TREE, QI, memory="1kB", facts=facts)


@pytest.mark.slow
def test_those_whom_a_comparison_links_are_taken_together_or_refused_with_the_reason():
    tree = maxent.load_release(TREE)
    releases = {"tree": tree, "forest": replace(tree, trees=tree.trees * 2, predicts="vote")}
    whole, parts = (maxent.compare(releases, QI, TRUTH, memory=memory, control=TRUTH) for memory in (None, "1GB"))
    same(parts.summary, whole.summary)
    with pytest.raises(InvalidInput, match=r"as these link them: .*control people, found 1 kB"):
        maxent.compare(releases, QI, TRUTH, memory="1kB", control=TRUTH)


@pytest.mark.slow
def test_several_sensitive_columns_are_audited_by_leaf(tmp_path):
    people = pd.DataFrame({"age": [30, 30, 40, 40, 50, 50, 50], "pay": list("abababb"), "ill": list("ynynnnn")})
    release = maxent.defend(people, target=["pay", "ill"], qi=["age"]).release
    people[["age"]].to_csv(tmp_path / "qi.csv", index=False)
    parts = maxent.audit_release(release, str(tmp_path / "qi.csv"), folder=tmp_path / "out")
    whole = maxent.audit_release(release, tmp_path / "qi.csv")
    assert {**parts.summary, "parts": None, "targets": None} == {**whole.summary, "parts": None, "targets": None}
    for name, found in whole.targets.items():
        assert {**found.summary, "parts": parts.targets[name].summary["parts"]} == parts.targets[name].summary


@pytest.mark.parametrize(("call", "people"), [(maxent.audit_release, "people"), (closed, "bounds")])
def test_what_is_in_files_is_not_kept_twice(call, people):
    found = call(TREE, QI, memory="1GB")
    with pytest.raises(InvalidInput, match=f"{people} are in the folder"):
        found.save("x.csv")
    with pytest.raises(InvalidInput, match=f"a folder, where {people} are kept"):
        _ = found.individuals if call is not closed else found.frame()


def test_a_table_of_other_people_is_told(tmp_path):
    pd.read_csv(D1 / "qi.csv").iloc[:4].to_csv(tmp_path / "qi.csv", index=False)
    with pytest.warns(maxent.UnreliableResult):
        found = closed(TREE, str(tmp_path / "qi.csv"), memory="1GB")
    assert found.status == "inconsistent"
    assert found.summary["contradictions"]


def test_the_most_disclosed_are_the_same():
    whole, parts = (maxent.compare([TREE], QI, TRUTH, top=7, memory=memory) for memory in (None, "1GB"))
    ours, theirs = parts.rows[0]["most_disclosed"], whole.rows[0]["most_disclosed"]
    same(sorted(ours, key=str), sorted(theirs, key=str))
    assert parts.rows[0]["train_accuracy"] == whole.rows[0]["train_accuracy"]
    with pytest.raises(InvalidInput, match="none of people who were taken in parts"):
        parts.report("report.html")
    with pytest.raises(InvalidInput, match="not kept of people in parts"):
        parts.plot("divergence")


def test_the_command_writes_a_folder(tmp_path, capsys):
    call = ["audit", TREE, QI]
    assert main([*call, "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert main([*call, "-o", f"{tmp_path}/out/", "--as-table", str(tmp_path / "leaves.csv"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found.pop("parts") == {"leaves": 5, "files": ["part-00000.parquet"]}
    assert found == whole
    assert len(pd.read_csv(tmp_path / "leaves.csv")) == 5
    assert main([*call, "--memory", "2GB", "--min-k", "3", "--enforce"]) == 3
    assert "people are in" not in capsys.readouterr().out
    assert main([*call, "-o", f"{tmp_path}/more/"]) == 0
    assert "people are in 1 file of" in capsys.readouterr().out
    call = ["bounds", TREE, QI, "--level", "closed"]
    assert main([*call, "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert main([*call, "-o", f"{tmp_path}/proved/", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found.pop("parts") == {"leaves": 5, "files": ["part-00000.parquet"]}
    assert {**found, "seconds": 0, "constraints": 0} == {**whole, "seconds": 0, "constraints": 0}
    assert main([*call, "-o", f"{tmp_path}/again/"]) == 0
    printed = capsys.readouterr().out
    assert "7 distinct quasi-identifiers" in printed
    assert "bounds are in 1 file of" in printed
    assert "P(" not in printed


def test_the_command_writes_rows(tmp_path, capsys):
    assert main(["compare", TREE, QI, "--json", "--memory", "2GB", "-o", str(tmp_path / "rows.csv")]) == 0
    found = json.loads(capsys.readouterr().out)["releases"]
    assert [row["individuals"] for row in found] == [11]
    assert len(pd.read_csv(tmp_path / "rows.csv")) == 1


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        ("audit TREE QI --memory much", "--memory: expected a size"),
        ("audit TREE QI --jobs 2 -o people.csv", "-o: expected a FOLDER/"),
        ("audit TREE QI --jobs 0", "--jobs: expected"),
        ("audit TREE QI --memory 2GB --min-size 0", "--min-size: expected"),
        ("audit TREE --memory 2GB", "expected the adversary's table"),
        ("bounds TREE QI --memory 2GB", "--level: expected closed, where people are taken in parts, found auto"),
        ("bounds TREE QI --memory 2GB --level closed --worlds", "--level: expected closed"),
        ("bounds TREE QI --jobs 2 --level closed -o x.csv", "-o: expected a FOLDER/"),
        ("compare TREE TREE QI --truth TRUTH --memory much", "--memory: expected a size"),
        ("compare TREE TREE QI --truth TRUTH --memory 2GB --report r.html", "--report: expected none"),
        ("compare TREE TREE QI --truth TRUTH --memory 2GB -o x.png --plot divergence", "--plot: expected none"),
        ("compare TREE TREE QI --truth TRUTH --memory 2GB --diff", "--memory: expected none"),
        ("estimate TREE QI --memory much", "--memory: expected a size"),
        ("estimate TREE QI --memory 2GB --report r.html", "--report: expected none with"),
        ("estimate TREE QI --memory 2GB --bounds", "--bounds: expected none with"),
        ("estimate TREE QI --memory 2GB -o x.csv", "-o: expected a FOLDER/"),
        ("estimate TREE QI -o no/where/", "expected a new or empty folder"),
    ],
)
def test_what_does_not_go_together(tmp_path, capsys, monkeypatch, call, complaint):
    monkeypatch.chdir(tmp_path)
    files = {"TREE": TREE, "QI": QI, "TRUTH": TRUTH}
    assert main([files.get(word, word) for word in call.split()]) == 2
    assert complaint in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


WORKERS = [{"jobs": 2}, {"dask": "local:2"}]


@pytest.mark.slow
@pytest.mark.parametrize("call", [maxent.audit_release, closed])
@pytest.mark.parametrize("options", WORKERS)
def test_workers_change_no_bit(tmp_path, call, options):
    if "dask" in options:
        pytest.importorskip("distributed")
    here = bits(call, TREE, QI, folder=tmp_path / "here")
    assert len(here[1]) > 2
    assert here == bits(call, TREE, QI, folder=tmp_path / "there", **options)


@pytest.mark.slow
@pytest.mark.parametrize("options", WORKERS)
def test_workers_change_no_number_of_a_comparison(options):
    if "dask" in options:
        pytest.importorskip("distributed")
    with (
        mock.patch.object(opened, "rows_at_a_time", return_value=3),
        mock.patch.object(dask_cluster, "_started", wraps=dask_cluster._started) as started,
    ):
        here, there = (maxent.compare([TREE, TREE], QI, TRUTH, memory="1GB", **more) for more in ({}, options))
    assert started.call_count == ("dask" in options)  # one cluster for all releases
    assert here.summary == there.summary
