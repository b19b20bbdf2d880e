"""Audits in parts: the numbers and the people of an audit in one piece, whatever the groups and the workers."""

import json
import tempfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.parted import bits, cells, few_rows, public, same, written
from support.paths import D1
from support.strategies import thorough

import maxent
from maxent.__main__ import main
from maxent.models.errors import InvalidInput
from maxent.results.reliability import unwarned

CALL = ["audit", str(D1 / "tree.json"), str(D1 / "qi.csv")]


@settings(parent=thorough(1), max_examples=2)
@given(data=st.data())
def test_the_numbers_and_people_are_those_of_an_audit_in_one_piece(data):
    check_numbers(data)


@pytest.mark.slow
@thorough(150)
@given(data=st.data())
def test_the_numbers_and_people_of_many_are_those_of_an_audit_in_one_piece(data):
    check_numbers(data)


def check_numbers(data):
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


def test_people_who_are_linked_are_taken_together_or_refused_with_the_reason(tmp_path):
    tree, qi, facts = D1 / "tree.json", str(D1 / "qi.csv"), tmp_path / "facts.csv"
    facts.write_text("Education,Salary\nMasters,<=50K\n")
    found = maxent.audit_release(tree, qi, folder=tmp_path / "out", facts=facts)
    assert found.parts is None
    assert len(pd.read_parquet(tmp_path / "out" / "part-00000.parquet")) == len(found.individuals)
    with pytest.raises(InvalidInput, match="as these link them: known classes of some people, found 1 kB"):
        maxent.audit_release(tree, qi, memory="1kB", facts=facts)


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


def test_what_is_in_files_is_not_kept_twice():
    found = maxent.audit_release(D1 / "tree.json", str(D1 / "qi.csv"), memory="1GB")
    with pytest.raises(InvalidInput, match="people are in the folder"):
        found.save("x.csv")
    with pytest.raises(InvalidInput, match="a folder, where people are kept"):
        _ = found.individuals


def test_the_command_writes_a_folder(tmp_path, capsys):
    assert main([*CALL, "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert main([*CALL, "-o", f"{tmp_path}/out/", "--as-table", str(tmp_path / "leaves.csv"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found.pop("parts") == {"leaves": 5, "files": ["part-00000.parquet"]}
    assert found == whole
    assert len(pd.read_csv(tmp_path / "leaves.csv")) == 5
    assert main([*CALL, "--memory", "2GB", "--min-k", "3", "--enforce"]) == 3
    assert "people are in" not in capsys.readouterr().out
    assert main([*CALL, "-o", f"{tmp_path}/more/"]) == 0
    assert "people are in 1 file of" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        ([*CALL, "--memory", "much"], "--memory: expected a size"),
        ([*CALL, "--jobs", "2", "-o", "people.csv"], "-o: expected a FOLDER/"),
        ([*CALL, "--jobs", "0"], "--jobs: expected"),
        ([*CALL, "--memory", "2GB", "--min-size", "0"], "--min-size: expected"),
        ([*CALL[:2], "--memory", "2GB"], "expected the adversary's table"),
    ],
)
def test_what_does_not_go_together(tmp_path, capsys, monkeypatch, call, complaint):
    monkeypatch.chdir(tmp_path)
    assert main(call) == 2
    assert complaint in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"jobs": 2}, {"dask": "local:2"}])
def test_workers_change_no_bit(tmp_path, options):
    if "dask" in options:
        pytest.importorskip("distributed")
    given = D1 / "tree.json", str(D1 / "qi.csv")
    here = bits(maxent.audit_release, *given, folder=tmp_path / "here")
    assert len(here[1]) > 2
    assert here == bits(maxent.audit_release, *given, folder=tmp_path / "there", **options)
