"""Closed-form bounds in parts: those of one piece, whatever the groups and the workers."""

import json
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.parted import bits, few_rows, public, same, written
from support.paths import D1
from support.strategies import thorough

import maxent
from maxent.__main__ import main
from maxent.models.errors import InvalidInput
from maxent.results.reliability import unwarned

CALL = ["bounds", str(D1 / "tree.json"), str(D1 / "qi.csv")]


@settings(parent=thorough(1), max_examples=2)
@given(data=st.data())
def test_the_bounds_are_those_of_one_piece(data):
    check_bounds(data)


@pytest.mark.slow
@thorough(150)
@given(data=st.data())
def test_the_bounds_of_many_are_those_of_one_piece(data):
    check_bounds(data)


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


def test_those_who_are_linked_are_taken_together_or_refused_with_the_reason(tmp_path):
    tree, qi, facts = D1 / "tree.json", str(D1 / "qi.csv"), tmp_path / "facts.csv"
    facts.write_text("Education,Salary\nMasters,<=50K\n")
    found = maxent.bounds(tree, qi, folder=tmp_path / "out", level="closed", facts=facts)
    assert found.parts is None
    kept = pd.read_parquet(tmp_path / "out" / "part-00000.parquet")
    np.testing.assert_array_equal(kept["low"], found.frame()["low"])
    with pytest.raises(InvalidInput, match="as these link them: known classes of some people, found 1 kB"):
        maxent.bounds(tree, qi, memory="1kB", level="closed", facts=facts)


def test_what_is_in_files_is_not_kept_twice():
    found = maxent.bounds(D1 / "tree.json", str(D1 / "qi.csv"), level="closed", memory="1GB")
    assert "7 distinct quasi-identifiers" in repr(found)
    with pytest.raises(InvalidInput, match="bounds are in the folder"):
        found.save("x.csv")
    with pytest.raises(InvalidInput, match="a folder, where bounds are kept"):
        found.frame()


def test_a_table_of_other_people_is_told(tmp_path):
    pd.read_csv(D1 / "qi.csv").iloc[:4].to_csv(tmp_path / "qi.csv", index=False)
    with pytest.warns(maxent.UnreliableResult):
        found = maxent.bounds(D1 / "tree.json", str(tmp_path / "qi.csv"), level="closed", memory="1GB")
    assert found.status == "inconsistent"
    assert found.summary["contradictions"]


def test_the_command_writes_a_folder(tmp_path, capsys):
    assert main([*CALL, "--level", "closed", "--json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert main([*CALL, "--level", "closed", "-o", f"{tmp_path}/out/", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found.pop("parts") == {"leaves": 5, "files": ["part-00000.parquet"]}
    assert {**found, "seconds": 0, "constraints": 0} == {**whole, "seconds": 0, "constraints": 0}
    assert main([*CALL, "--level", "closed", "-o", f"{tmp_path}/more/"]) == 0
    printed = capsys.readouterr().out
    assert "bounds are in 1 file of" in printed
    assert "P(" not in printed


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--memory", "2GB"], "--level: expected closed, where people are taken in parts, found auto"),
        (["--memory", "2GB", "--level", "closed", "--worlds"], "--level: expected closed"),
        (["--jobs", "2", "--level", "closed", "-o", "x.csv"], "-o: expected a FOLDER/"),
    ],
)
def test_what_does_not_go_together(tmp_path, capsys, monkeypatch, options, complaint):
    monkeypatch.chdir(tmp_path)
    assert main([*CALL, *options]) == 2
    assert complaint in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"jobs": 2}, {"dask": "local:2"}])
def test_workers_change_no_bit(tmp_path, options):
    if "dask" in options:
        pytest.importorskip("distributed")
    given = D1 / "tree.json", str(D1 / "qi.csv")
    here = bits(maxent.bounds, *given, folder=tmp_path / "here", level="closed")
    assert len(here[1]) > 2
    assert here == bits(maxent.bounds, *given, folder=tmp_path / "there", level="closed", **options)
